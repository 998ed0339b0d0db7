"""For which gangs KAI looks for no work to end, since it found none for another one like them.

Follows pkg/scheduler/actions/common/minimal_job_comparison.go and the signatures of scheduling constraints in
pkg/scheduler/api, which are the same in 0.12 to 0.17.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from kubectl_tas.place.cycle import Job
from kubectl_tas.place.room import Unit
from kubectl_tas.place.victims import Search

Asks = tuple[tuple[str, int], ...]


class Failed:
    """The gangs for which one action found nothing, of each kind the one that asks for least."""

    def __init__(self) -> None:
        self._least: dict[object, tuple[list[Asks], Search]] = {}

    def covering(self, job: Job) -> Search | None:
        """What came out for one of its kind, than which it is not easier to place; None where there is none."""
        known, found = self._least.get(_kind(job), ([], None))
        is_easier = any(_is_within(one, other) and one != other for one, other in zip(_pods(job), known, strict=False))
        return None if is_easier else found

    def add(self, job: Job, found: Search) -> None:
        """One that failed."""
        kind, pods = _kind(job), _pods(job)
        if kind not in self._least or all(map(_is_within, pods, self._least[kind][0])):
            self._least[kind] = pods, found


def _kind(job: Job) -> object:
    """Equal for gangs of a queue that differ in names, in what each pod asks for, and in no more."""
    wanted = job.asked.wanted

    def parts(unit: Unit, above: tuple[object, ...]) -> Iterator[object]:
        levels = (unit.required, unit.preferred, *above)
        if unit.pods:
            yield levels, frozenset(Counter(wanted.shapes[pod].rules for pod in unit.pods).items())
        for item in unit.below:
            yield from parts(item, levels)

    return job.queue, job.priority, job.asked.levels, frozenset(Counter(parts(wanted.unit, ())).items())


def _pods(job: Job) -> list[Asks]:
    """What each pod asks for, sorted."""
    wanted = job.asked.wanted
    return sorted(wanted.shapes[pod].asks for pod in wanted.unit.all_pods)


def _is_within(one: Asks, other: Asks) -> bool:
    most = dict(other)
    return all(amount <= most.get(name, 0) for name, amount in one)
