"""One repository as an editor has it: the files on the disk, and in place of some of them what is typed."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from kubectl_tas.check.references import RULES as OF_NAMES
from kubectl_tas.check.run_checks import settled
from kubectl_tas.diagnostics import Diagnostic, Location
from kubectl_tas.errors import TasError
from kubectl_tas.load.document import Document, parse
from kubectl_tas.load.ignored_files import unread
from kubectl_tas.load.osmofiles import template_root
from kubectl_tas.load.schema import items_of
from kubectl_tas.load.source import CONFIG_FILE, FolderSource, OverlaySource, RawFile, decode, is_read
from kubectl_tas.records import dataclass
from kubectl_tas.resolve.fleet import Fleet
from kubectl_tas.work import run
from kubectl_tas.work.run import Effort, Parts, Survey, survey


class Buffers(OverlaySource):
    """The files of a repository, with what is typed in place of them; a file that is not read stays so."""

    def __init__(self, root: Path, typed: Mapping[str, bytes]) -> None:
        super().__init__(FolderSource(root), typed)
        self._typed = typed

    def files(self, folders: Sequence[str], *, exclude: str) -> tuple[RawFile, ...]:
        """All manifests below ``folders``, sorted by path."""
        found = super().files(folders, exclude=exclude)
        return tuple(raw for raw in found if raw.path not in self._typed or is_read(raw.path, folders, exclude=exclude))


@dataclass(frozen=True)
class Judgement:
    """What is known of a repository."""

    root: Path
    fleet: Fleet
    found: tuple[Diagnostic, ...]
    """The findings that count, as ``validate`` has them, in order."""
    typed: Mapping[str, bytes]
    """What was read in place of files, by their paths below ``root``."""
    survey: Survey
    """Of each file by itself: what has not changed is not judged again."""

    def shown_in(self, path: str) -> list[tuple[Diagnostic, Location]]:
        """The findings that are shown in a file, each with its place there."""
        return [(item, place) for item, place in shown(self.found) if place.path == path]


def find_root(file: Path, typed: Iterable[Path] = ()) -> Path | None:
    """The repository of a file: the nearest folder above it with ``tas.yaml``, on the disk or among what is ``typed``;
    None where there is none.
    """
    configs = {path for path in typed if path.name == CONFIG_FILE}
    above = file.parents
    return next((x for x in above if x / CONFIG_FILE in configs or os.path.isfile(x / CONFIG_FILE)), None)  # noqa: PTH113


def judged(root: Path, typed: Mapping[str, bytes], before: Judgement | None = None) -> Judgement:
    """The repository at ``root``, read with ``typed`` in place of files; ``before`` is what was known of it.

    Raises TasError where it cannot be read.
    """
    like = before.survey if before else None
    each = survey(Parts(Buffers(root, typed)), (), Effort(processes=1), like=like)
    result = run.judged(each, typed)
    config = result.fleet.config
    found = (*result.found, *unread(root, config.sources, config.output))
    counted, _ = settled(found, result.fleet, None, complete=result.loaded.complete)
    return Judgement(root, result.fleet, counted, typed, each)


def shown(found: Iterable[Diagnostic]) -> Iterable[tuple[Diagnostic, Location]]:
    """Each finding with each place that it is shown at. A name that nothing defines is shown wherever it is used; what
    has no place is shown in the Config.
    """
    for item in found:
        yield item, item.location or Location(CONFIG_FILE)
        if item.rule in OF_NAMES:
            yield from ((item, other.location) for other in item.related if other.location is not None)


def text_of(root: Path, path: str, typed: Mapping[str, bytes]) -> str:
    """The text of a file of the repository; '' where it is none, or cannot be read."""
    content = typed.get(path)
    if content is None:
        try:
            content = FolderSource(root, asks_git=False).local_file(path).content
        except TasError:  # it vanished; its findings go with the next check
            return ""
    return decode(path, content)[0]


def documents(path: str, text: str) -> list[Document]:
    """The documents of a file, items of lists too; none where it cannot be read as it is, or is a template."""
    if template_root(text) is not None:
        return []
    found, _ = parse(path, text)
    items = [item for document in found for item in items_of(document)]
    return [item for item in items if isinstance(item, Document)]
