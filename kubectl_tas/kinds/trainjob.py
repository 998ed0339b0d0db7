"""Describes Kubeflow Trainer's TrainJob, whose pods come from a runtime. Sources: Trainer 2.3, trainjob_types.go; KAI's
skiptopowner.go.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from kubectl_tas.facts.kai import Feature
from kubectl_tas.kinds import jobset, page
from kubectl_tas.kinds.grouping import Gathered, Grouping, batch_minimum, batch_path, every_pod
from kubectl_tas.kinds.naming import REFUSED, Alphabet, Names, Naming
from kubectl_tas.kinds.section import value_at

_TRAINER = "spec.trainer"
_RUNTIME = ("spec", "runtimeRef", "name")


class _Order(NamedTuple):
    """The order of the replicated jobs of a runtime."""

    jobs_at_once: int
    """Number of replicated jobs that are made at once."""
    late: str
    """The replicated job that waits for others."""
    condition: str
    since: str = ""
    """The release of Trainer from which on the job waits."""


_ORDERS = {
    "deepspeed-distributed": _Order(1, "launcher", "node is ready", "2.3"),
    "mlx-distributed": _Order(1, "launcher", "node is ready", "2.3"),
    "torch-distributed-with-cache": _Order(1, "node", "dataset-initializer is complete"),
    "torchtune-": _Order(2, "node", "dataset-initializer and model-initializer are complete"),
}
"""Runtimes of Trainer with dependsOn, by the beginning of their names (manifests/base/runtimes of 2.0 to 2.3)."""


def _waits(gathered: Gathered) -> Iterator[page.Wait]:
    """Yields the late job of a runtime. KAI skips the TrainJob, copies its annotations to the JobSet (skiptopowner.go),
    and waits for all replicated jobs of that from 0.16, for all their pods before 0.15.
    """
    name = str(value_at(gathered.document, *_RUNTIME) or "")
    order = next((order for begins, order in _ORDERS.items() if name.startswith(begins)), None)
    if order is None or not gathered.has(Feature.REPLICA_SUBGROUPS):
        return
    has_jobs, least = gathered.has(Feature.JOBSET_SUBGROUPS), batch_minimum(gathered.document.get("metadata"))
    waits_for_all = has_jobs or not gathered.has(Feature.STRICT_MIN_MEMBER)
    if least is not None and gathered.has(Feature.JOB_GANGS):
        waits_for_all = has_jobs and least > order.jobs_at_once
    if waits_for_all:
        reason = f"its runtime makes {order.late} only when {order.condition}"
        yield page.Wait(_RUNTIME, reason, jobset.enough(gathered, 1, 1), [0], since=order.since)


PAGE = page.WorkloadKind(
    recognition=page.Recognition("TrainJob", ("trainer.kubeflow.org/v1alpha1",), operator="trainer"),
    fields=(
        page.Field("spec", "Settings of the training.", is_required=True),
        page.Field(_TRAINER, "Trainer settings.", "trainer"),
        page.Field(f"{_TRAINER}.numNodes", "Number of pods. The default comes from the runtime.", "positive"),
        page.Field("spec.labels", "Labels of the objects that the controller creates.", "labels"),
    ),
    pods=(
        page.Pods(
            _TRAINER,
            f"{_TRAINER}.numNodes",
            name="node",
            metadata=f"{_TRAINER}.metadata",
            form="podforms:Trainer",
            gpus_used=f"{_TRAINER}.numProcPerNode",
        ),
    ),
    pod_rules=page.PodRules(  # manifests/base/runtimes; those of torchtune ask for GPUs
        restart=(),
        without_gpus=tuple(f"{name}-distributed" for name in ("torch", "deepspeed", "jax", "mlx", "xgboost")),
    ),
    gang=Grouping(
        every_pod,
        batch_path,
        may_be_read=Feature.JOBSETS,
        minimum_since=Feature.JOB_GANGS,
        templates_elsewhere=True,
        not_owned="it has no pod template to mark",
        segment_template="Remove it: the pod template of a TrainJob is in its runtime.",
    ),
    start=page.Start(waits=_waits),
    filled_in=page.FilledIn(),
    stop=page.Stop(suspended_by=("spec.suspend",)),
    changes=(
        page.refused(
            "Kubeflow Trainer's webhook",
            "spec.runtimePatches",
            "spec.podTemplateOverrides",
            only=page.unless(page.either_suspended),
        ),
        page.kept(
            "Kubeflow Trainer",
            "initializer",
            "trainer",
            "activeDeadlineSeconds",
            "labels",
            "annotations",
            below="spec",
            only=page.unless(page.either_suspended),
        ),
    ),
    ends=page.Ends(deadline=page.seconds_at("spec", "activeDeadlineSeconds")),  # reconcileDeadline, since 2.2
    growth=page.Growth(),
    makes=page.Makes(
        (page.Made("JobSet", "jobset.x-k8s.io"), page.Made("Job", "batch")),
        services=("{}",),
        name_labels=("jobset.sigs.k8s.io/jobset-name",),
    ),
    marks=page.Marks(),
    names=Names((Naming(Alphabet.SERVICE, REFUSED),)),
    refusals=page.Refusals(),
)
