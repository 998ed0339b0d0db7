"""How long a task of a workflow may run, and what its exit codes make of it.

Timeouts and exit actions mean what they mean in OSMO (src/utils/job/workflow.py, jobs.py of its repository). A Job's
podFailurePolicy is what Kubernetes has for exit actions.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from fractions import Fraction
from typing import Any

from kubectl_tas.model.base import MAX_COUNT
from kubectl_tas.model.osmo_workflow import Task, Timeout
from kubectl_tas.model.pool_kinds import PoolSpec
from kubectl_tas.records import dataclass
from kubectl_tas.resolve import names

CODES = range(1, 256)
"""The codes that a container can fail with; those above are OSMO's own."""
_UNITS = {
    "d": Fraction(86400),
    "h": Fraction(3600),
    "m": Fraction(60),
    "s": Fraction(1),
    "ms": Fraction(1, 10**3),
    "us": Fraction(1, 10**6),
}
_NUMBER = re.compile(r"([0-9]+)(d|h|m|s|ms|us)")
_ISO = re.compile(r"P(?:([0-9]+)D)?(?:T(?:([0-9]+)H)?(?:([0-9]+)M)?(?:([0-9]+(?:\.[0-9]+)?)S)?)?")
_EVICTED = {"action": "Ignore", "onPodConditions": [{"type": "DisruptionTarget", "status": "True"}]}
"""A pod that its node or an eviction took away is made anew, as often as it takes."""
_KILLED = (137, 143)
"""The codes of containers that SIGKILL and SIGTERM end. KAI preempts a pod by deleting it, and gives it the condition
DisruptionTarget only with ``--update-pod-eviction-condition``, which is off by default (default_evictor.go, 0.17).
"""


def seconds(duration: str | int | float) -> int:
    """Whole seconds, rounded up, of a time as OSMO reads it: a number and its unit, seconds, or ISO 8601."""
    if not isinstance(duration, str):
        return math.ceil(duration)
    if found := _NUMBER.fullmatch(duration):
        return math.ceil(int(found[1]) * _UNITS[found[2]])
    iso = _ISO.fullmatch(duration)
    if iso is None:
        raise ValueError(f"not a time: {duration!r}")
    return math.ceil(sum(Fraction(part or "0") * _UNITS[unit] for part, unit in zip(iso.groups(), "dhms", strict=True)))


def deadline(timeout: Timeout, pool: PoolSpec) -> dict[str, int]:
    """What ends a pod after the time of its workflow, else of its pool, whose maximum bounds its default; 0: none."""
    most = seconds(pool.max_exec_timeout or 0) or MAX_COUNT
    limit = seconds(timeout.exec_timeout or 0) or min(seconds(pool.default_exec_timeout or 0) or most, most)
    return {} if limit >= MAX_COUNT else {"activeDeadlineSeconds": limit}


@dataclass(frozen=True, slots=True)
class CodeRange:
    """Exit codes from ``first`` to ``last``, and the action that they are written for."""

    action: str
    """As it is written."""
    text: str
    """As it is written: 1-10."""
    first: int
    last: int

    @property
    def does(self) -> str:
        """COMPLETE, FAIL or RESCHEDULE."""
        return self.action.upper()


def code_ranges(actions: Mapping[str, str | int]) -> tuple[CodeRange, ...]:
    """All ranges of exit codes as they are written; of two that hold one code the first counts."""
    found = []
    for action, codes in actions.items():
        for text in str(codes).split(","):
            first, _, last = text.partition("-")
            found.append(CodeRange(action, text, int(first), int(last or first)))
    return tuple(found)


def actions_by_code(ranges: Iterable[CodeRange]) -> dict[int, CodeRange]:
    """What is written for each exit code of a container, 0 included, as far as anything is."""
    found: dict[int, CodeRange] = {}
    for item in ranges:
        for code in range(item.first, min(item.last, CODES[-1]) + 1):
            found.setdefault(code, item)
    return found


def rescheduled(task: Task, pool: PoolSpec, *, is_preemptible: bool = False) -> tuple[int, ...]:
    """The codes with which a container fails and is to run again; the pool's actions come after those of the task.
    Those of killed containers are among them where KAI may preempt the task, unless an action names them.
    """
    ranges = (*code_ranges(task.exitActions), *code_ranges(pool.default_exit_actions))
    by_code = actions_by_code(ranges)
    found = {code for code, item in by_code.items() if code in CODES and item.does == "RESCHEDULE"}
    return tuple(sorted(found.union(code for code in _KILLED if is_preemptible and code not in by_code)))


def job(task: Task, pool: PoolSpec, retries: int, *, is_preemptible: bool = False) -> dict[str, Any]:
    """The ``JobSpec`` of a task without template: ``retries`` count for codes that are rescheduled; others fail it."""
    codes = rescheduled(task, pool, is_preemptible=is_preemptible)
    rules = list[dict[str, Any]]([_EVICTED])
    if 0 < len(codes) < len(CODES):
        on = {"containerName": names.shorten(names.fold(task.name)), "operator": "NotIn", "values": list(codes)}
        rules.append({"action": "FailJob", "onExitCodes": on})
    return {"backoffLimit": retries if codes else 0, "podFailurePolicy": {"rules": rules}}
