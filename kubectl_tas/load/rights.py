"""Finds documents that affect other teams, such as on quotas, and lie outside the folders that may hold them."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from kubectl_tas.base.diagnostics import Diagnostic, Rule, Severity, Waiving
from kubectl_tas.base.words import shortened
from kubectl_tas.load.source import CONFIG_FILE
from kubectl_tas.model.repository import Repository
from kubectl_tas.report import STDIN

OUTSIDE_ADMIN_SOURCES = Rule(
    "outside-admin-sources",
    Severity.ERROR,
    "A document that affects other teams lies outside of spec.adminSources.",
    "If such a document counted next to workflows, anybody who may add a workflow could take the quota of another "
    "team. Move it to one of those folders, and let CODEOWNERS name its reviewers. Or add its "
    "folder to spec.adminSources. tas.yaml itself always counts. A link counts only if its target is in such a folder "
    "too. With `--base`, the folders of the base count for new and changed documents.",
    protects=Waiving.CONFIG,
)
ADMIN_SOURCE_UNREAD = Rule(
    "admin-source-unread",
    Severity.WARNING,
    "spec.adminSources names a folder without a file that is read.",
    "`render` writes no Pool and no Subpool of that folder. Correct its name, or add it to spec.sources.",
)
if TYPE_CHECKING:
    from kubectl_tas.model.repository import Deciding

    Outside = tuple[Deciding, str]
    """A document, and the folder in which it lies although it does not count there."""


def outside(repository: Repository, folders: Collection[str]) -> Iterator[Outside]:
    """Yields the documents that affect other teams and lie in none of these folders."""
    if not repository.has_folders or "." in folders:
        return
    files, below = {CONFIG_FILE, *folders}, tuple(f"{folder}/" for folder in folders)
    for declared in repository.deciding:
        path = declared.origin.path
        for place in (path, repository.links.get(path, path)):
            if not place.startswith(below) and place not in files:
                yield declared, place.rpartition("/")[0] or "."
                break


def is_within(path: str, folders: Collection[str]) -> bool:
    """Whether a path is one of these folders, or lies below one."""
    return any(folder in (".", path) or path.startswith(f"{folder}/") for folder in folders)


def holds_nothing(folder: str, sources: Sequence[str]) -> bool:
    """Whether the tool reads no file below a folder."""
    return not is_within(folder, sources) and not any(is_within(source, (folder,)) for source in sources)


def misplaced(found: Outside, folders: Sequence[str], revision: str = "") -> Diagnostic:
    """Returns the finding for a document outside the allowed ``folders``, or the folders allowed at ``revision``."""
    declared, folder = found
    path, known = declared.origin.path, name_of(declared)
    name = f' "{known}"' if known else ""
    at = f" at {revision}" if revision else ""
    message = f"the {declared.spec.kind}{name} affects other teams, so it is allowed only in {_either(folders)}{at}"
    if path == STDIN or path.startswith("/"):  # what is submitted lies in no folder of the repository
        hint = "Take it out of what is submitted; `validate - --stdin-filename PATH` says which file it is to be."
    else:
        is_link = folder != (path.rpartition("/")[0] or ".")
        message += f", not in {folder}{', to which a link leads' if is_link else ''}"
        to = folders[0] if folders else CONFIG_FILE
        first = "first merge a change that adds" if revision else "add"
        hint = f'Move it to {to}, or {first} "{folder}" to spec.adminSources of {CONFIG_FILE}.'
    return Diagnostic(OUTSIDE_ADMIN_SOURCES, message, declared.at("kind"), hint=hint)


def name_of(declared: Deciding) -> str:
    """Returns the name of such a document; '' for the configuration of Grove's operator, which has no name."""
    spec: Any = declared.spec
    return "" if spec.kind == "OperatorConfiguration" else str(spec.metadata.name)


def _either(folders: Sequence[str]) -> str:
    """Returns the folders as text for a message; tas.yaml if the list is empty."""
    *others, last = folders or (CONFIG_FILE,)
    return f"{shortened(others)} or {last}" if others else last
