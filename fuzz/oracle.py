"""Judges every input by promises that must always hold. Both fuzzers use it."""

from __future__ import annotations

import copy
import re
import traceback
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path, PurePosixPath
from typing import Any

from fuzz import readers
from kubectl_tas.base.diagnostics import Diagnostic, Location, TasError
from kubectl_tas.cli.session import Session, check_source
from kubectl_tas.compile import compile_fleet
from kubectl_tas.emit import manifest_text as emitted
from kubectl_tas.emit.file_plan import layout
from kubectl_tas.emit.manifest_text import Deferred, whole
from kubectl_tas.gangs.pool_demands import Mode, demands
from kubectl_tas.load import source
from kubectl_tas.load.source import CONFIG_FILE, SUFFIXES, RawFile
from kubectl_tas.model.artifact import Artifact, PassThrough
from kubectl_tas.model.kindlists import written
from kubectl_tas.model.labels import WORKFLOW
from kubectl_tas.model.repository import Declared
from kubectl_tas.report import text as report
from kubectl_tas.resolve.fleet import Fleet

PACKAGE = str(Path(emitted.__file__).parents[1])
ROOT = Path("/repository")
MAX_NAME = 255
"""Maximum number of bytes of a file's name."""
PURE_SHARE = 25
"""One document in this many is also read by an independent parser, which is a hundred times slower and refuses tabs."""
BREAKS = re.compile("[\x85\u2028\u2029]")
"""Line breaks that only YAML 1.1 has."""
TWICE = 4
"""One repository in this many is compiled a second time."""
WITHOUT_PLACE = frozenset({"topology-undeployed", "base-unread", "subpool-unknown"})
"""Rules about no file: what a cluster lacks, what a revision contains, what a command names."""
WITHOUT_LINE = frozenset({"file-too-large", "file-not-regular", "file-outside-repository", "file-not-text"})
"""Rules about a file as a whole."""
RAW = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]")
"""Characters that a terminal may interpret."""
_LINE_BREAK = re.compile(r"\r\n|\r|\n")


@dataclass(frozen=True)
class Failure:
    """A broken promise."""

    kind: str
    """The promise, one of KINDS."""
    where: str
    """Details that distinguish failures of the same kind."""
    detail: str
    """A description for people."""

    @property
    def key(self) -> str:
        """A key that is equal for failures with probably the same cause."""
        return f"{self.kind}: {self.where}"


KINDS = (
    "traceback",
    "hang",
    "memory",
    "crash",
    "place",
    "exit-code",
    "apart",
    "unrendered",
    "unstable",
    "terminal",
    "path",
    "edit",
)
"""An exception that is no TasError; over 5 seconds; over 1 GiB; a process that died; a finding without a valid place;
an exit code outside 0 to 3; output that readers read differently, or that differs from the judged input; ``validate``
passes but ``render`` fails; a second rendering that differs; control characters on the terminal; a path outside of the
output folder; an edit that changes too much.
"""
RENDERED, REFUSED, NOTHING, UNABLE = "rendered", "refused with findings", "declares nothing", "unable (TasError)"
OUTCOMES = (RENDERED, REFUSED, NOTHING, UNABLE)


@dataclass(frozen=True)
class Judgement:
    """The result for an input."""

    outcome: str
    failures: tuple[Failure, ...] = ()


class MemorySource(source.MemorySource):
    """The files of a repository that exists only in memory."""

    def has_folder(self, folder: str) -> bool:
        """Whether a file is below ``folder``."""
        base = PurePosixPath(folder).as_posix()
        return base == "." or any(path.startswith(f"{base}/") for path in self._files)

    def files(self, folders: Sequence[str], *, exclude: str) -> tuple[RawFile, ...]:
        """Returns all manifests below ``folders``, sorted by path; none below ``exclude`` or in hidden folders."""
        bases = [PurePosixPath(folder).as_posix() for folder in folders]
        found = []
        for path in sorted(self._files):
            inside = any(base == "." or path.startswith(f"{base}/") for base in bases)
            hidden = any(part.startswith(".") for part in path.split("/"))
            excluded = path == exclude or path.startswith(f"{exclude}/")
            if inside and not hidden and not excluded and path != CONFIG_FILE and path.endswith(SUFFIXES):
                found.append(RawFile(path, self._files[path]))
        return tuple(found)


def judge(files: Mapping[str, bytes]) -> Judgement:
    """Validates a repository and renders it in memory. Raises only MemoryError."""
    try:
        session = check_source(ROOT, MemorySource(files))
        failures = [*places(session.diagnostics, files), *_printed(session)]
    except TasError:
        return Judgement(UNABLE)
    except MemoryError:
        raise
    except Exception as error:
        return Judgement(REFUSED, (thrown(error),))
    if session.failed():
        return Judgement(REFUSED, tuple(failures))
    twice = zlib.crc32(b"".join(files.values())) % TWICE == 0
    return _rendered(session, failures, twice=twice)


def _rendered(session: Session, failures: list[Failure], *, twice: bool) -> Judgement:
    """Renders and judges a repository without errors."""
    try:
        artifacts = compile_fleet(session.fleet)
        config, settings = session.fleet.config, session.fleet.settings_source
        texts = _texts(layout(artifacts, config, settings))
        again = _texts(layout(compile_fleet(session.fleet), config, settings)) if twice else texts
    except TasError as error:
        failures.append(Failure("unrendered", _shape(error.message), error.message))
        return Judgement(RENDERED, tuple(failures))
    except MemoryError:
        raise
    except Exception as error:
        failure = thrown(error)
        return Judgement(RENDERED, (*failures, Failure("unrendered", failure.where, failure.detail)))
    failures += _paths(texts, config.output)
    failures += _read(session, artifacts, texts)
    if again != texts:
        failures.append(Failure("unstable", "layout", "two layouts of one fleet differ"))
    return Judgement(RENDERED if artifacts else NOTHING, tuple(failures))


def thrown(error: BaseException) -> Failure:
    """Returns an exception as a failure, identified by its type and the innermost frame of the package."""
    frames = traceback.extract_tb(error.__traceback__)
    own = [frame for frame in frames if frame.filename.startswith(PACKAGE)] or list(frames)
    frame = own[-1]
    name = frame.filename.removeprefix(PACKAGE).lstrip("/")
    detail = "".join(traceback.format_exception(error)[-12:])
    return Failure("traceback", f"{type(error).__name__} in {name}:{frame.name}", detail)


def places(diagnostics: Sequence[Diagnostic], files: Mapping[str, bytes]) -> Iterator[Failure]:
    """Yields failures for findings without a place or with an invalid place."""
    for diagnostic in diagnostics:
        code = diagnostic.rule.code
        if diagnostic.location is None:
            if code not in WITHOUT_PLACE:
                yield Failure("place", f"{code} has none", diagnostic.message)
            continue
        for place in (diagnostic.location, *(item.location for item in diagnostic.related if item.location)):
            wrong = _wrong_place(place, files, code)
            if wrong:
                yield Failure("place", f"{code}: {wrong}", f"{place}: {diagnostic.message}")


def _wrong_place(place: Location, files: Mapping[str, bytes], code: str) -> str | None:
    content = files.get(place.path)
    if content is None:
        return None if any(path.startswith(f"{place.path}/") for path in files) else "no such file"
    if place.line == 0:
        return None if code in WITHOUT_LINE else "no line"
    lines = _lines(content)
    if not 1 <= place.line <= len(lines):
        return "a line beyond the file"
    line = lines[place.line - 1]
    if not 1 <= place.column <= len(line) + 1:
        return "a column beyond the line"
    there = line[place.source_column - 1 :][: len(place.source)]
    if len(there) < len(place.source) or any(a not in (b, "*") for a, b in zip(place.source, there, strict=True)):
        return "another line than it shows"  # a secret is shown as asterisks
    return None


@lru_cache(maxsize=64)
def _lines(content: bytes) -> list[str]:
    return _LINE_BREAK.split(content.decode("utf-8", "replace").removeprefix("\ufeff"))


def _printed(session: Session) -> Iterator[Failure]:
    """Yields failures for raw characters that the report would send to a terminal."""
    shown = report.render(session.diagnostics, session.files)
    raw = RAW.search(shown)
    if raw:
        around = shown[max(0, raw.start() - 60) : raw.end() + 20]
        yield Failure("terminal", f"U+{ord(raw[0]):04X} in a report", repr(around))


def _texts(files: Mapping[str, str | Deferred]) -> dict[str, str]:
    return {path: whole(content) for path, content in files.items()}


def _paths(texts: Mapping[str, str], output: str) -> Iterator[Failure]:
    for path in texts:
        parts = path.split("/")
        if not path.startswith(f"{PurePosixPath(output).as_posix()}/") or ".." in parts:
            yield Failure("path", "outside of the output folder", path)
        elif not path.isprintable() or any(len(part.encode("utf-8", "replace")) > MAX_NAME for part in parts):
            yield Failure("path", "a name that no disk takes", path)
        elif any(part.casefold() == ".git" for part in parts):
            yield Failure("path", "in git's own folder", path)


def _read(session: Session, artifacts: Sequence[Artifact], texts: Mapping[str, str]) -> Iterator[Failure]:
    """Yields failures for emitted texts that readers read differently."""
    for path, text in texts.items():
        told = read_apart(text)
        if told is not None:
            where, what = told
            kind = path.rpartition("/")[0].rpartition("/")[2]
            yield Failure("apart", where, f"{kind}: {what}\n{text[:3000]}")
    for artifact in artifacts:
        found = _data(emitted.object_text(artifact))
        if isinstance(found, str):
            yield Failure("apart", f"YAML 1.2 does not read it: {_shape(found)}", found)
        elif isinstance(artifact.manifest, PassThrough) and WORKFLOW not in found["metadata"].get("labels", {}):
            yield from _judged(session, artifact, found)
        elif not isinstance(found, dict) or found.get("metadata", {}).get("name") != artifact.manifest.metadata.name:
            yield Failure("apart", f"another name than the {artifact.manifest.kind} has", str(found)[:500])


def _judged(session: Session, artifact: Artifact, found: Any) -> Iterator[Failure]:
    """Checks that the emitted object contains everything that was judged, unchanged."""
    repository, manifest = session.fleet.repository, artifact.manifest
    declared: list[Declared[Any]] = [*repository.workloads, *repository.pod_clique_sets, *repository.pod_groups]
    declared += [*repository.companions, *repository.shards]
    lacking = []
    for item in declared:
        same = (item.origin.path, written(item.spec.kind), item.spec.metadata.name)
        if same == (artifact.source, manifest.kind, manifest.metadata.name):
            data = _kept(session.fleet, item)
            lacking.append((data, readers.lacks(_neutral(data), _neutral(found))))
    if not lacking:
        yield Failure("apart", f"nothing of that name was judged: {manifest.kind}", manifest.metadata.name)
    elif all(path is not None for _, path in lacking):
        data, path = lacking[0]
        judged, read = readers.at(data, path or ()), readers.at(found, path or ())
        where = f"{_called(judged)} was judged and {_called(read)} is emitted"
        yield Failure("apart", where, f"{path}: {judged!r}, {read!r}\n{emitted.object_text(artifact)[:3000]}")


def _kept(fleet: Fleet, item: Declared[Any]) -> Any:
    """Returns an object as written, with the pool's names, with the pool's additions to lists, and without removed
    fields.
    """
    sent = next((workload for workload in fleet.workloads if workload.declared is item), None)
    known = (Mode.REMOVE, Mode.RESOLVE, Mode.APPEND)
    wanted = [item for item in demands(fleet, sent) if item.mode in known] if sent else []
    data = copy.deepcopy(item.origin.data) if wanted else item.origin.data
    for demand in wanted:
        path = demand.path
        if demand.mode is Mode.RESOLVE:
            holder = readers.at(data, path[:-1])
            if isinstance(holder, dict) and path[-1] in holder:
                holder[path[-1]] = demand.value
            continue
        if demand.mode is Mode.APPEND:
            there = readers.at(data, path)
            if isinstance(there, list) and isinstance(demand.value, tuple):
                there.extend(demand.value)
            continue
        for depth in range(len(path) - 1, -1, -1):  # a mapping that holds nothing else goes too
            holder = readers.at(data, path[:depth])
            if isinstance(holder, dict) and (depth == len(path) - 1 or not holder.get(path[depth])):
                holder.pop(path[depth], None)
    return data


def _neutral(data: Any) -> Any:
    """Replaces the constraints of a PodCliqueSet by the requested domains, so that releases of Grove are comparable.
    Other data is unchanged.
    """
    if not isinstance(data, dict) or data.get("kind") != "PodCliqueSet":
        return data
    neutral = _without_aliases(data)
    template = neutral["spec"]["template"]
    template.pop("clusterTopologyName", None)
    for part in (template, *(template.get("podCliqueScalingGroups") or ()), *template["cliques"]):
        constraint = part.pop("topologyConstraint", None) or {}
        pack = constraint.get("pack") or {}
        asked = {"required": constraint.get("packDomain") or pack.get("required"), "preferred": pack.get("preferred")}
        if any(asked.values()):
            part["topologyConstraint"] = {kind: domain for kind, domain in asked.items() if domain}
    return neutral


def _without_aliases(data: Any) -> Any:
    """Copies a value. What an alias repeats is a copy of its own."""
    if isinstance(data, dict):
        return {key: _without_aliases(value) for key, value in data.items()}
    return [_without_aliases(value) for value in data] if isinstance(data, list) else data


@lru_cache(maxsize=8192)
def _data(text: str) -> Any:
    """Returns the data of one document by YAML 1.2, or the error as text."""
    try:
        nodes = readers.compose(text)
        if len(nodes) != 1:
            return f"{len(nodes)} documents"
        return readers.read(nodes[0], readers.YAML_12)
    except readers.UnreadableError as error:
        return str(error)


@lru_cache(maxsize=8192)
def read_apart(text: str) -> tuple[str, str] | None:
    """Returns how and where readers differ on a text of one document; None if all agree."""
    cut = readers.chunks(text)
    if len(cut) != 1 or cut[0] != text:
        return "kubectl cuts it in pieces", f"{len(cut)} pieces"
    try:
        nodes = readers.compose(text)
    except readers.UnreadableError as error:
        return f"not YAML: {_shape(str(error))}", str(error)
    if len(nodes) != 1:
        return f"{min(len(nodes), 2)} documents", ""
    found: list[Any] = []
    for reader in readers.READERS:
        try:
            found.append(readers.read(nodes[0], reader))
        except readers.UnreadableError as error:
            return f"{reader.name} refuses {_shape(str(error))}", str(error)
    for reader, data in zip(readers.READERS[1:], found[1:], strict=True):
        path = readers.differ(found[0], data)
        if path is not None:
            left, right = readers.at(found[0], path), readers.at(data, path)
            where = f"{reader.name} reads {_called(right)} where YAML 1.2 reads {_called(left)}"
            return where, f"{path}: {right!r}, not {left!r}"
    if BREAKS.search(text) or (zlib.crc32(text.encode("utf-8", "replace")) % PURE_SHARE == 0 and "\t" not in text):
        return _apart_from_pure(text, found[0])
    return None


def _apart_from_pure(text: str, data: Any) -> tuple[str, str] | None:
    try:
        documents = readers.pure(text)
    except readers.UnreadableError as error:
        return f"a parser of its own refuses {_shape(str(error))}", str(error)
    path = readers.differ(data, documents[0]) if len(documents) == 1 else ("documents",)
    return None if path is None else (f"a parser of its own reads another value: {_dotted(path)}", str(path))


def _called(value: object) -> str:
    return "nothing" if value is readers.ABSENT else type(value).__name__


def _dotted(path: readers.Path) -> str:
    """Returns a path without names and numbers that are specific to one input."""
    return ".".join(step if isinstance(step, str) and step.isalpha() else "*" for step in path[:6])


def _shape(text: str) -> str:
    """Returns a message without details that are specific to one input."""
    short = re.sub(r"\"[^\"]*\"|'[^']*'|`[^`]*`", "'...'", text.split("\n")[0])
    return re.sub(r"\d+", "N", short)[:90]
