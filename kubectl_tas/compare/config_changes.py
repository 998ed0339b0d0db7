"""What a Config decides, before and after: the values of PriorityClasses, and which folders may decide for others."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from kubectl_tas.compare.change import Change
from kubectl_tas.diagnostics import Diagnostic, Related, Rule, Severity, Waiving
from kubectl_tas.load.rights import misplaced, name_of, outside
from kubectl_tas.model.config import PRIORITY_VALUES
from kubectl_tas.resolve.fleet import Fleet

if TYPE_CHECKING:
    from kubectl_tas.model.repository import Deciding


PRIORITY_CLASS_CHANGED = Rule(
    "priority-class-changed",
    Severity.ERROR,
    "A PriorityClass stands for another priority than before.",
    "Each priority has a value of its own, and an API server refuses to change the value of a PriorityClass, so the "
    "manifests could not be applied. Give the priority a class with a name that was not used before.",
    protects=Waiving.CONFIG,
)
_PATH = ("spec", "priorityClasses")


def changed_classes(change: Change) -> Iterator[Diagnostic]:
    """The names of PriorityClasses that went from one priority to another."""
    config, earlier = change.after.repository.config, change.before.repository.config
    is_unreadable = (earlier is None and bool(change.unreadable)) or (config is None and not change.complete)
    if change.before.repository.is_empty or is_unreadable:  # the defaults may stand in for a Config
        return
    before = _priorities(change.before)
    for name, priority in _priorities(change.after).items():
        old = before.get(name, priority)
        if old == priority:
            continue
        message = (
            f'the PriorityClass "{name}" goes from {old}, value {PRIORITY_VALUES[old]}, to {priority}, value '
            f"{PRIORITY_VALUES[priority]}, since {change.revision}, but the value of a PriorityClass cannot be changed"
        )
        related = (Related(f"{old} at {change.revision}", earlier.at(*_PATH, old)),) if earlier else ()
        place = config.at(*_PATH, priority) if config else None
        hint = f"Choose a name for {priority} that is new."
        yield Diagnostic(PRIORITY_CLASS_CHANGED, message, place, related, hint=hint)


def _priorities(fleet: Fleet) -> dict[str, str]:
    """The priority of each PriorityClass by its name."""
    return {name: priority for priority, name in fleet.config.priorityClasses.model_dump().items()}


def new_rights(change: Change) -> Iterator[Diagnostic]:
    """What is new or changed and would not count at the revision: nobody gives themselves the right to decide.

    What says the same at the same place as before may be declared in its folder at any time, and where there was no
    repository, nobody had a right to be taken.
    """
    before, after = change.before, change.after
    if not before.repository.files:
        return
    folders = before.config.adminSources
    refused = {id(declared) for declared, _ in outside(after.repository, after.config.adminSources)}
    found = [item for item in outside(after.repository, folders) if id(item[0]) not in refused]
    earlier = {_identity(item): item.origin.data for item in before.repository.deciding} if found else {}
    for item in found:
        if earlier.get(_identity(item[0])) != item[0].origin.data:
            yield misplaced(item, folders, change.revision)


def _identity(declared: Deciding) -> tuple[str, str, str]:
    return declared.origin.path, declared.spec.kind, name_of(declared)
