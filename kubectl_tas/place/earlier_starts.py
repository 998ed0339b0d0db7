"""Looks for the one change of a gang, or of the nodes, that brings its start forward most. Each change is played."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace

from kubectl_tas.base.contract import json_fields
from kubectl_tas.base.late import dataclass
from kubectl_tas.facts.quantities import NO_LIMIT, total
from kubectl_tas.place.fairshare import QueueTree, QuotaQueue
from kubectl_tas.place.gangs_to_place import GangToPlace
from kubectl_tas.place.grow import further_racks
from kubectl_tas.place.node_cells import PlacementRequest, Space
from kubectl_tas.place.node_resources import NodeResources
from kubectl_tas.place.queues import counted
from kubectl_tas.place.scheduling_session import SessionPod, ShardStart, Work, with_pods
from kubectl_tas.place.suggestions import other_levels
from kubectl_tas.place.timeline import Forecast, GangForecast, PlannedGang, StartOutcome, play
from kubectl_tas.report.text import plural

LOW_PRIORITY = 50
RACKS = (1, 2, 4, 8)
"""Numbers of racks that are tried."""
STARTED = (StartOutcome.RUNS, StartOutcome.AT_ONCE)


@json_fields("kind change=text startsAfterSeconds=starts")
@dataclass(frozen=True, slots=True)
class EarlierStart:
    """A change with which a gang starts earlier."""

    kind: str
    """level, priority, size or nodes."""
    text: str
    starts: int
    """Time at which the gang then starts."""


@dataclass(frozen=True, slots=True)
class Grown:
    """The forecast of a scheduler with further racks."""

    forecast: Forecast
    words: str
    """The number of racks."""
    like: str
    """The domain that they copy; empty without levels."""


@dataclass(frozen=True, slots=True)
class Played:
    """One scheduler that was played, and what it began with."""

    start: ShardStart
    planned: tuple[PlannedGang, ...]
    forecast: Forecast

    def changed(self, start: ShardStart, planned: Sequence[PlannedGang]) -> Forecast:
        """Plays the scheduler with another start."""
        return play(start, planned, self.forecast.horizon)


def further_nodes(
    start: ShardStart, gangs: Sequence[GangToPlace], count: int
) -> tuple[tuple[NodeResources, ...], str, str] | None:
    """Returns the nodes of some racks more, the number of racks in words, and the domain that they copy; None without
    a rack to copy.
    """
    growth = further_racks(gangs, start.nodes, count)
    words = plural(count, growth.word)
    words = words if len(growth.added) == count else f"{words} ({len(growth.added)} nodes)"
    return (growth.added, words, "/".join(growth.like)) if growth.added else None


def with_nodes(start: ShardStart, added: Sequence[NodeResources]) -> ShardStart:
    """Returns the start of a scheduler that has some nodes more."""
    resources = start.total + total(counted(node.allocatable) for node in added)
    return replace(start, nodes=(*start.nodes, *added), total=resources)


def with_guarantee(start: ShardStart, queues: Collection[str], further: int) -> ShardStart:
    """Returns the start of a scheduler with further GPUs in the quotas of queues, or fewer if negative."""

    def changed(queue: QuotaQueue) -> QuotaQueue:
        if queue.name not in queues or queue.quota.gpu == NO_LIMIT:
            return queue
        gpus = max(0, queue.quota.gpu + further)
        limit = queue.limit if queue.limit.gpu == NO_LIMIT else replace(queue.limit, gpu=max(queue.limit.gpu, gpus))
        return replace(queue, quota=replace(queue.quota, gpu=gpus), limit=limit)

    return replace(start, tree=QueueTree(tuple(map(changed, start.tree.queues))))


def without_gangs(start: ShardStart, names: Collection[str]) -> ShardStart:
    """Returns the start of a scheduler on whose nodes gangs no longer run."""
    space = Space(start.nodes)
    for work in start.works:
        for pod in work.active if work.name in names else ():
            space.give_back(str(pod.node), pod.asks)
    return replace(start, nodes=space.now(), works=tuple(work for work in start.works if work.name not in names))


def with_racks(played: Played, gangs: Sequence[GangToPlace], count: int) -> Grown | None:
    """Plays the scheduler with some racks more; None without a rack to copy."""
    further = further_nodes(played.start, gangs, count)
    if further is None:
        return None
    added, words, like = further
    return Grown(played.changed(with_nodes(played.start, added), played.planned), words, like)


def earlier_start(played: Played, answer: GangForecast, gang: GangToPlace) -> EarlierStart | None:
    """Returns the change that brings a gang forward most; None if it starts at once, or if no change helps."""
    best: EarlierStart | None = None
    if answer.outcome in STARTED:
        return None
    for kind, text, forecast in _tries(played, answer.name, gang):
        starts = next((other.starts for other in forecast.gangs if other.name == answer.name), None)
        if starts is None or (answer.starts is not None and starts >= answer.starts):
            continue
        if best is None or starts < best.starts:
            best = EarlierStart(kind, text, starts)
        if starts <= answer.planned.comes:
            break
    return best


def _tries(played: Played, name: str, gang: GangToPlace) -> Iterator[tuple[str, str, Forecast]]:
    """Yields each change with the forecast that it leads to, the smallest changes first."""
    work = next(planned.work for planned in played.planned if planned.work.name == name)

    def with_work(changed: Work) -> Forecast:
        planned = [replace(each, work=changed) if each.work is work else each for each in played.planned]
        return played.changed(played.start, planned)

    for softened in other_levels(gang):
        yield "level", softened.text, with_work(_with_request(work, gang, softened.request))
    for changed, text in _smaller(work):
        yield "size", text, with_work(changed)
    if not work.is_preemptible:
        yield "priority", "priority LOW", with_work(replace(work, priority=LOW_PRIORITY, is_preemptible=True))
    for count in RACKS:
        grown = with_racks(played, [gang], count)
        if grown is None:
            break
        yield "nodes", f"{grown.words} more", grown.forecast


def _with_request(work: Work, gang: GangToPlace, request: PlacementRequest) -> Work:
    """Returns a gang with other levels; the tree of a workflow's gang, and so the units of its pods, differ too."""
    if gang.group is None and work.request is not None:
        return replace(work, request=replace(work.request, unit=request.unit))
    pods = tuple(
        SessionPod(str(number), unit, dict(request.shapes[shape].asks), shape)
        for number, (unit, shape) in enumerate((unit.name, shape) for unit in request.unit.units for shape in unit.pods)
    )
    least = {unit.name: len(unit.pods) for unit in request.unit.units if unit.pods}
    return replace(work, request=request, pods=pods, least=least)


def _smaller(work: Work) -> Iterator[tuple[Work, str]]:
    """Yields a gang with fewer pods in its largest unit, the next smaller size first."""
    if work.request is None or not work.least:
        return
    name = max(work.least, key=lambda unit: work.least[unit])
    count = work.least[name]
    of_unit = [pod for pod in work.pods if pod.unit == name]
    for fewer in sorted({count - 1, count * 3 // 4, count // 2, count // 4} - {0, count}, reverse=True):
        gone = set(of_unit[fewer:])
        pods = tuple(pod for pod in work.pods if pod not in gone)
        request = replace(work.request, unit=with_pods(work.request.unit, pods))
        where = f" in {name}" if len(work.least) > 1 else ""
        text = f"{plural(fewer, 'pod')}{where} instead of {len(of_unit)}"
        yield replace(work, request=request, pods=pods, least={**work.least, name: fewer}), text
