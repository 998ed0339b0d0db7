"""Finds how long gangs run at most: from their files, the pages of their kinds, and the pods of a cluster.

Without a limit of its own, work that ends by itself takes the ``default_exec_timeout`` of its pool. All work that has
none, services too, takes the time that the user assumes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from datetime import UTC, datetime, timedelta
from itertools import islice
from typing import Any

from kubectl_tas.base.late import dataclass
from kubectl_tas.facts import times
from kubectl_tas.gangs import podgrouper
from kubectl_tas.gangs.task_pods import seconds
from kubectl_tas.kinds import SET
from kubectl_tas.kinds.bare_pod import PAGE as BARE_POD
from kubectl_tas.kinds.page import WorkloadKind
from kubectl_tas.kinds.section import Document, key_path, value_at
from kubectl_tas.model.labels import EXPECTED_RUNTIME, POD_GROUP
from kubectl_tas.place.gangs_to_place import GangToPlace
from kubectl_tas.place.schedulers import ShardScheduler
from kubectl_tas.place.scheduling_session import SessionPod, Work
from kubectl_tas.place.timeline import Overlap, PlannedGang, RunLimit
from kubectl_tas.resolve.fleet_workload import FleetWorkload
from kubectl_tas.resolve.handwritten import SubmittedPodGroup
from kubectl_tas.resolve.podcliqueset import SubmittedSet
from kubectl_tas.resolve.workflows import FleetWorkflow

DEADLINE = "activeDeadlineSeconds"
MAX_RUNS = 200
"""Most runs of one schedule that are played."""
_SECOND = 10**9


@dataclass(frozen=True, slots=True)
class Clock:
    """The times of a forecast."""

    now: datetime
    horizon: int
    """Seconds from now."""
    assumed: int | None = None
    """Seconds that work without a limit is assumed to run; None: without end."""

    def since(self, text: object) -> int | None:
        """Returns the seconds from now to a time as Kubernetes writes it; None if the text is no time."""
        try:
            time = datetime.fromisoformat(str(text))
        except ValueError:
            return None
        time = time if time.tzinfo else time.replace(tzinfo=UTC)
        return round((time - self.now).total_seconds())


@dataclass(frozen=True, slots=True)
class ShardPlan:
    """The gangs of one scheduler, with their limits."""

    gangs: tuple[PlannedGang, ...]
    suspended: tuple[GangToPlace, ...]
    """Gangs that nobody starts, since their objects are suspended."""
    without_runs: tuple[GangToPlace, ...]
    """Gangs whose schedules have no run within the horizon."""
    gangs_to_place: Mapping[str, GangToPlace]
    """The gang of the repository for each name of a PodGroup."""
    runs: Mapping[str, int] = field(default_factory=dict)
    """Number of runs within the horizon, by the name of each first run of a schedule."""
    cut_at: int | None = None
    """Time of the first run of a schedule that is not played; later starts may be too early. None: all are played."""

    def is_first(self, gang: PlannedGang) -> bool:
        """Whether the gang is the first run of its schedule, or comes from no schedule."""
        return not gang.series or gang.work.name in self.runs


def planned(scheduler: ShardScheduler, objects: Sequence[Mapping[str, Any]], clock: Clock) -> ShardPlan:
    """Returns the gangs that run, wait or come within the horizon."""
    of_repository = {group: gang for gang, groups in scheduler.running for group in groups}
    groups = [fields for fields in objects if fields.get("kind") == "PodGroup"]
    times_made = {str(group["metadata"].get("name")): group["metadata"].get("creationTimestamp") for group in groups}
    pods = _pods_of_cluster(objects)
    gangs: list[PlannedGang] = []
    for work in scheduler.start.works:
        gangs.append(_running(work, of_repository.get(work.name), pods.get(work.name, {}), groups, clock))
    suspended, without_runs = dict[int, GangToPlace](), list[GangToPlace]()
    names, runs, cuts = dict(of_repository), dict[str, int](), list[int]()
    for work in scheduler.jobs:
        gang = scheduler.gangs[work.name]
        if is_suspended(gang):
            suspended.setdefault(id(gang), gang)
            continue
        names[work.name] = gang
        page, document = _page_and_document(gang)
        if page is not None and page.makes.is_scheduled:
            coming = list(islice(_runs(work, gang, document, clock), MAX_RUNS + 1))
            cuts += [run.comes for run in coming[MAX_RUNS:]]
            gangs += coming[:MAX_RUNS]
            names |= {run.work.name: gang for run in coming[:MAX_RUNS]}
            if not coming:
                without_runs.append(gang)
            else:
                runs[coming[0].work.name] = len(coming[:MAX_RUNS])
            continue
        created = min((clock.since(times_made[name]) or 0 for name in gang.called_among(times_made)), default=0)
        gangs.append(PlannedGang(work, limit_of(gang, clock), min(0, created)))
    return ShardPlan(tuple(gangs), tuple(suspended.values()), tuple(without_runs), names, runs, min(cuts, default=None))


def is_suspended(gang: GangToPlace) -> bool:
    """Whether the gang's object says that nobody starts its pods."""
    page, document = _page_and_document(gang)
    paths = page.stop.suspended_by if page is not None else ()
    return any(value_at(document, *key_path(path)) is True for path in paths)


def later_pods(gang: GangToPlace) -> str:
    """Returns why some pods of a gang exist only after others, although the forecast counts all from the start of the
    gang: a sentence without its period; empty if all exist at once.
    """
    page, _ = _page_and_document(gang)
    if page is None or not isinstance(gang.sent, FleetWorkload) or gang.order is not None:
        return ""
    return next((wait.reason for wait in page.start.waits(podgrouper.gathered(gang.sent))), "")


def limit_of(gang: GangToPlace, clock: Clock) -> RunLimit:
    """Returns the limit of a gang of the repository."""
    page, document = _page_and_document(gang)
    if isinstance(gang.sent, FleetWorkflow):
        limit = _of_workflow(gang, gang.sent)
    elif page is None:
        limit = RunLimit()
    else:
        limit = _of_kind(page, document, gang)
    expected = _expected(value_at(document, "metadata", "annotations"))
    if expected is not None:
        return replace(limit, run=expected, source=EXPECTED_RUNTIME)
    if limit.is_known or limit.again is None or limit.stays:
        return _assumed(limit, clock)
    default = gang.sent.pool.declared.spec.spec.default_exec_timeout
    if default and seconds(default):
        return replace(limit, run=seconds(default), source=f"default_exec_timeout of pool {gang.sent.pool.name}")
    return _assumed(limit, clock)


def _assumed(limit: RunLimit, clock: Clock) -> RunLimit:
    if limit.is_known or clock.assumed is None:
        return limit
    return replace(limit, run=clock.assumed, source="--assume")


def _page_and_document(gang: GangToPlace) -> tuple[WorkloadKind | None, Document]:
    sent = gang.sent
    if isinstance(sent, FleetWorkload):
        return sent.declared.spec.page, sent.declared.spec.document
    if isinstance(sent, SubmittedSet):
        return SET.page, {}
    if isinstance(sent, SubmittedPodGroup):
        annotations = sent.declared.spec.metadata.annotations
        return BARE_POD, {"metadata": {"annotations": annotations}}
    return None, {}


def _of_workflow(gang: GangToPlace, workflow: FleetWorkflow) -> RunLimit:
    members = gang.gang.all_members
    limits = [member.spec.get(DEADLINE) for member in members]
    timeout, pool = workflow.declared.spec.workflow.timeout, workflow.pool.declared.spec.spec
    patience = seconds(timeout.queue_timeout or pool.default_queue_timeout or 0) or None
    return RunLimit(
        pod=_longest(limits),
        patience=patience,
        wait_source="queue_timeout of OSMO",
        again=sum((member.job or {}).get("backoffLimit", 0) for member in members),
        is_remade=any(member.job is not None for member in members),
        source="exec_timeout",
    )


def _of_kind(page: WorkloadKind, document: Document, gang: GangToPlace) -> RunLimit:
    ends = page.ends
    patience = value_at(document, *key_path(ends.patience)) if ends.patience else None
    limits: list[object] = []
    if isinstance(gang.sent, SubmittedPodGroup):
        limits = [pod.origin.value(("spec", DEADLINE)) for pod in gang.sent.group.pods]
    elif isinstance(gang.sent, FleetWorkload):
        limits = [value_at(document, *pods.spec_path, DEADLINE) for pods in gang.sent.replicas]
    stays = ends.stays(document)
    return RunLimit(
        pod=None if stays else _longest(limits),
        whole=None if stays else ends.deadline(document),
        attempts=ends.attempts(document),
        is_final=ends.is_final,
        lingers=ends.lingers(document),
        patience=patience if type(patience) is int else None,
        wait_source=ends.patience.rpartition(".")[2],
        again=ends.again(document),
        is_remade=ends.is_remade,
        stays=stays,
        source=DEADLINE,
    )


def _longest(limits: Sequence[object]) -> int | None:
    """Returns the largest limit of some pods; None if one of them has none."""
    numbers = [limit for limit in limits if type(limit) is int]
    return max(numbers) if numbers and len(numbers) == len(limits) else None


def _expected(annotations: object) -> int | None:
    """Returns the seconds of the annotation for the expected runtime; None without it, or if Go refuses its value."""
    text = annotations.get(EXPECTED_RUNTIME) if isinstance(annotations, Mapping) else None
    duration = times.nanoseconds(text) if isinstance(text, str) else None
    return -(-duration // _SECOND) if duration is not None and duration > 0 else None


def _pods_of_cluster(objects: Iterable[Mapping[str, Any]]) -> dict[str, dict[str, tuple[object, object]]]:
    """Returns the start time and the deadline of each pod on a node, by PodGroup and name."""
    pods: dict[str, dict[str, tuple[object, object]]] = {}
    for fields in objects:
        if fields.get("kind") != "Pod" or not (fields.get("spec") or {}).get("nodeName"):
            continue
        metadata = fields["metadata"]
        group = (metadata.get("annotations") or {}).get(POD_GROUP)
        since = (fields.get("status") or {}).get("startTime") or metadata.get("creationTimestamp")
        pods.setdefault(str(group), {})[str(metadata.get("name"))] = since, fields["spec"].get(DEADLINE)
    return pods


def _running(
    work: Work,
    gang: GangToPlace | None,
    pods: Mapping[str, tuple[object, object]],
    groups: Sequence[Mapping[str, Any]],
    clock: Clock,
) -> PlannedGang:
    since = {name: min(0, clock.since(started) or 0) for name, (started, _) in pods.items()}
    created = min(0, clock.since(work.age[1]) or 0)
    if gang is not None:
        return PlannedGang(work, limit_of(gang, clock), created, 0, since)
    limits = [limit for _, limit in pods.values()]
    limit = RunLimit(pod=_longest(limits), source=DEADLINE)
    metadata: Mapping[str, Any] = next(
        (group["metadata"] for group in groups if group["metadata"].get("name") == work.name), {}
    )
    expected = _expected(metadata.get("annotations"))
    if expected is not None:
        limit = replace(limit, run=expected, source=EXPECTED_RUNTIME)
    return PlannedGang(work, _assumed(limit, clock), created, 0, since)


def _runs(work: Work, gang: GangToPlace, document: Document, clock: Clock) -> Iterator[PlannedGang]:
    """Yields a gang for each run of a schedule within the horizon."""
    spec = value_at(document, "spec") or {}
    zone = spec.get("timeZone") or spec.get("timezone") or "Etc/UTC"
    schedules = [spec.get("schedule"), *(spec.get("schedules") or ())]
    end = clock.now + timedelta(seconds=clock.horizon)
    moments = sorted(
        {
            moment
            for text in schedules
            if isinstance(text, str)
            for moment in islice(times.runs(text, zone, clock.now, end), MAX_RUNS + 1)
        }
    )
    policy = str(spec.get("concurrencyPolicy") or Overlap.ALLOW.value)
    overlap = Overlap(policy) if policy in [choice.value for choice in Overlap] else Overlap.ALLOW
    limit = limit_of(gang, clock)
    for number, moment in enumerate(moments):
        comes = round((moment - clock.now).total_seconds())
        name = work.name if number == 0 else f"{work.name} ({moment:%Y-%m-%d %H:%M})"
        pods = tuple(SessionPod(pod.name, pod.unit, pod.asks, pod.shape) for pod in work.pods)
        run = replace(work, name=name, age=(True, f"9{number:08}", name), pods=pods)
        yield PlannedGang(run, limit, comes, comes, series=work.name, overlap=overlap)
