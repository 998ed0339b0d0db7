"""Documents that decide for others, in a folder in which such did not count before."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from kubectl_tas.compare.change import Change
from kubectl_tas.diagnostics import Diagnostic
from kubectl_tas.load.rights import misplaced, name_of, outside

if TYPE_CHECKING:
    from kubectl_tas.model.repository import Deciding


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
