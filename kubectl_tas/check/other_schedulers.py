"""Finds what work says to schedulers other than KAI: says what is lost, and how kubectl-tas says the same.

Follows Kueue 0.19 (pkg/controller/constants, pkg/controller/jobs/pod/constants, apis/kueue/v1beta2), Volcano 1.15
(labels.go of scheduling/v1beta1 and batch/v1alpha1), YuniKorn 1.7 (pkg/common/constants), scheduler-plugins
(apis/scheduling/v1alpha1) and Koordinator (apis/extension). KAI 0.17 reads none of these keys.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from kubectl_tas.base.diagnostics import Diagnostic, Rule
from kubectl_tas.base.late import late_pattern
from kubectl_tas.check.conflicts import Fields
from kubectl_tas.kinds import page_of_document
from kubectl_tas.kinds.grouping import Gathered, Grouping
from kubectl_tas.kinds.page import WorkloadKind
from kubectl_tas.kinds.section import Document, path_steps, value_at, values_at, written
from kubectl_tas.model import labels
from kubectl_tas.model.base import OWN_METADATA, KeyPath
from kubectl_tas.model.foreign_schedulers import scheduler_of
from kubectl_tas.model.repository import Declared, Origin
from kubectl_tas.resolve.fleet import Fleet

if TYPE_CHECKING:
    from kubectl_tas.model.workloads import Workload

OTHER_QUEUE = Rule.warning(
    "other-queue",
    "A workload has a label, an annotation or a field that only another scheduler reads.",
    "KAI ignores queues, priorities, gangs and placements for Kueue, Volcano, YuniKorn, Koordinator, Run:ai or the "
    "co-scheduling plugin: work that was preemptible is NORMAL, and pods start one by one or anywhere. The help says "
    "how kubectl-tas says the same. Kueue itself suspends a workload with kueue.x-k8s.io/queue-name until its own "
    "quota has room, and then KAI counts it against the pool's quota. So it waits twice, and for ever if no LocalQueue "
    "has that name.",
)
KUEUE = "kueue.x-k8s.io/queue-name"
"""Label of work that Kueue suspends and starts."""
_QUEUE, _PRIORITY, _TIME = late_pattern("queue|quota"), late_pattern("priority|preempt"), late_pattern("exec-time")
_LEVEL = late_pattern("topology|podset-group|podset-slice")
_NO_LEVEL = late_pattern("unconstrained|numa|decision|spreading")
_GANG = late_pattern("pod-group|group-|gang|task-group|min-|total-|jdb-")
_MINIMUM = late_pattern("min-(member|available|parallelism|num)|total-(count|number)")


def leftover(origin: Origin, path: KeyPath) -> Diagnostic | None:
    """Returns a finding about a label or an annotation of another scheduler; None for any other."""
    key, where = str(path[-1]), str(path[-2])
    scheduler = scheduler_of(key)
    if not scheduler:
        return None
    page = page_of_document(origin.data)
    lost, hint = _meaning(origin, key, origin.value(path), page)
    if not lost and page is not None and page.recognition.operator == scheduler.lower():
        return None  # its controllers may read the key
    message = f"KAI ignores {key}, which is {scheduler}'s{lost and f': {lost}'}"
    if key == KUEUE and where == "labels":
        message = "Kueue holds this workload until a queue of Kueue has room, in addition to the quota of its pool"
        hint = f"Remove the label {key}."
    return Diagnostic(OTHER_QUEUE, message, origin.locate(path, key=True), hint=hint or f"Remove {key}.")


def _meaning(origin: Origin, key: str, value: object, page: WorkloadKind | None) -> tuple[str, str]:
    """Returns what is lost with a key, and what says it here. Empty texts: nothing is lost."""
    notes, marks = (value_at(origin.data, *OWN_METADATA, name) or {} for name in ("annotations", "labels"))
    if _LEVEL.search(key):
        is_said = _NO_LEVEL.search(key) or labels.PLACEMENT_REQUIRED in notes or labels.PLACEMENT_PREFERRED in notes
        return ("", "") if is_said and "slice" not in key else ("these pods run anywhere", _level(key))
    if _PRIORITY.search(key):
        lost = "this work is NORMAL, and no other work preempts it"
        advice = f"Write the label {labels.PRIORITY} instead: LOW, if other work may preempt it."
        return ("", "") if labels.PRIORITY in marks or value == "false" else (lost, advice)
    if _TIME.search(key):
        return "nothing ends this work", "Write activeDeadlineSeconds in the Job or its pods instead."
    if _GANG.search(key):
        return _gang(origin.data, key, value, page)
    return ("the pool says which queue this work is in", "") if _QUEUE.search(key) else ("", "")


def _level(key: str) -> str:
    if key.endswith("slice-size"):
        return f"Write {labels.SEGMENT_SIZE} instead."
    if "slice" in key:
        return f"Write {labels.SEGMENT_REQUIRED} instead."
    level = labels.PLACEMENT_PREFERRED if "preferred" in key else labels.PLACEMENT_REQUIRED
    return f"Write {level} among the annotations of the workload instead."


def _gang(document: Document, key: str, value: object, page: WorkloadKind | None) -> tuple[str, str]:
    """Returns what is lost of a gang. KAI makes a gang of the pods of most kinds, but not of all."""
    gang = page.gang if page is not None else None
    notes, marks = (value_at(document, *OWN_METADATA, name) or {} for name in ("annotations", "labels"))
    is_said = labels.BATCH_MIN_MEMBER in notes or not {labels.OWNED, labels.GANG}.isdisjoint(marks)
    if gang is None or is_said or gang.not_owned:
        return "", ""
    if _starts_together(gang, document):
        return "", ""
    if gang.reads_batch_minimum:
        is_number = _MINIMUM.search(key) is not None and str(value).isdecimal()
        advice = (
            f'{labels.BATCH_MIN_MEMBER}: "{value}"' if is_number else f"the number of pods in {labels.BATCH_MIN_MEMBER}"
        )
        return "its pods start one by one", f"Write {advice} among the annotations of the workload instead."
    name = f": {value}" if key.endswith(("-name", "/pod-group", ".io")) and "{" not in str(value) else ""
    return "each pod starts without the others", f"Write the label {labels.GANG}{name} on all work of the gang instead."


class _TwoPods:
    """Two identical pods."""

    name, written, replicas, jobs = "worker", None, 2, 1


def _starts_together(gang: Grouping, document: Document) -> bool:
    """Whether KAI starts no pod of two before both are there. A Pod is a document of its own."""
    gathered = Gathered(document, [_TwoPods()], lambda _: True, is_owned=False)
    is_one = gang.one_pod_group is not False and not gang.starts_one_by_one and not gang.names_its_own
    return is_one and sum(gang.minimums(gathered)) > 1


def check_gang_of_pods(spec: Fields, _fleet: Fleet) -> Iterator[Diagnostic]:
    """Checks fields of a PodSpec by which kube-scheduler makes gangs (since Kubernetes 1.35)."""
    for field in filter(spec.has, ("workloadRef", "schedulingGroup")):
        lost, hint = _gang(spec.origin.data, field, "", page_of_document(spec.origin.data))
        message = f"KAI ignores {spec.at(field)}, which is kube-scheduler's{lost and f': {lost}'}"
        location = spec.origin.locate((*spec.path, field), key=True)
        yield Diagnostic(OTHER_QUEUE, message, location, hint=hint or "Remove it.")


def check_leftovers(declared: Declared[Workload], _fleet: Fleet) -> Iterator[Diagnostic]:
    """Checks the fields of a workload that only another scheduler reads."""
    origin = declared.origin
    for row in declared.spec.page.marks.lost:
        marks = declared.spec.metadata.labels
        for path, value in values_at(origin.data, path_steps(row.path)):
            if value in (None, 0, 1, "", {}) or (row.is_gang and (labels.OWNED in marks or labels.GANG in marks)):
                continue
            message = f"KAI ignores {written(path)}: {row.lost}"
            yield Diagnostic(OTHER_QUEUE, message, origin.locate(path, key=True), hint=row.instead)
