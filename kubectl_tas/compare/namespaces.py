"""Work that goes to another namespace."""

from __future__ import annotations

from collections.abc import Iterator

from kubectl_tas.compare.change import Change
from kubectl_tas.diagnostics import Diagnostic, Related, Rule, Severity, Waiving
from kubectl_tas.resolve.fleet import Fleet
from kubectl_tas.resolve.pools import Submission

NAMESPACE_CHANGED = Rule(
    "namespace-changed",
    Severity.WARNING,
    "Work goes to another namespace than before.",
    "No object can move: what runs in the old namespace is removed, or runs on beside the new where nothing prunes, "
    "and all of it starts again in the new one, without the Secrets and volumes of the old. Make the change once "
    "the work is done, or keep the namespace: on the workload itself, or as the first of its pool's or subpool's.",
    protects=Waiving.CONFIG,
)
_Key = tuple[str, str, str]


def changed_namespaces(change: Change) -> Iterator[Diagnostic]:
    """What ``moved`` finds, told."""
    for old, new in moved(change):
        message = (
            f"{new.kind} {new.name} goes from namespace {old.namespace} to {new.namespace} since "
            f"{change.revision}: what runs there ends, and starts again here"
        )
        related = (Related(f"declared at {change.revision}", old.place),)
        hint = f"Wait until it is done, or let it run in {old.namespace}."
        place = new.declared.at("metadata", "namespace") if new.own_namespace else new.place
        yield Diagnostic(NAMESPACE_CHANGED, message, place, related, hint=hint)


def moved(change: Change) -> Iterator[tuple[Submission, Submission]]:
    """Work that is there before and after, each time in one namespace of a cluster, but in another one, unless nothing
    runs in its queue.
    """
    before, after = _by_name(change.before), _by_name(change.after)
    for key, there in after.items():
        earlier = before.get(key, [])
        if len(there) != 1 or len(earlier) != 1 or _is_idle(change, earlier[0]):
            continue
        if earlier[0].namespace != there[0].namespace:
            yield earlier[0], there[0]


def _by_name(fleet: Fleet) -> dict[_Key, list[Submission]]:
    """By cluster, kind and name: one name may be there in several namespaces."""
    found: dict[_Key, list[Submission]] = {}
    for item in fleet.submissions:
        found.setdefault((item.pool.backend.name, item.kind, item.name), []).append(item)
    return found


def _is_idle(change: Change, item: Submission) -> bool:
    """Whether it is known that nothing runs in the queue of a submission."""
    return change.queues.get((item.pool.backend.name, item.queue)) is False
