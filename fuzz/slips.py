"""Finds slips of one key that the tool accepts silently although they change the meaning.

``python -m fuzz.slips`` deletes, misspells or moves one key at a time in valid repositories of ``examples/`` and
``golden/``, and in ``golden/documents/``. It tries each key of each kind in up to three of them. It also misspells
names of other objects, which are values.

A slip is accepted silently if the findings stay the same and, except for a misspelled key, the rendering changes. Each
needs a reason in ``reasons.txt``. Slips without a reason are listed and make the exit code 1; unused reasons are listed
too. ``--elsewhere`` lists findings in other files than the changed one.
"""

from __future__ import annotations

import argparse
import copy
import json
import sys
from collections import Counter
from collections.abc import Container, Iterator, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cache
from typing import Any

import yaml

from fuzz import corpus
from fuzz.oracle import ROOT, MemorySource
from fuzz.reasons import REASONS, Row, reason
from kubectl_tas.base.diagnostics import Diagnostic, TasError, has_errors
from kubectl_tas.cli.session import check_source
from kubectl_tas.compile import compile_fleet
from kubectl_tas.emit import manifest_text
from kubectl_tas.load.source import CONFIG_FILE

WHATS = ("delete", "misspell", "move", "rename")
NAMES = (
    *("claimName", "serviceAccountName", "serviceName", "subdomain", "targetPort", "containerName"),
    *("configMap.name", "configMapRef.name", "configMapKeyRef.*", "scaleTargetRef.name", "dependsOn.*.name"),
    *("secretName", "secretRef.name", "secretKeyRef.name", "imagePullSecrets.*.name", "service.name", "port.name"),
    *("backendRefs.*.name", "containerResource.container", "spec.selector.app", "matchLabels.*"),
)
"""Fields that ``rename`` misspells, by the last steps of their paths."""
MOST = 3
"""Maximum number of repositories in which a slip is tried until one accepts it silently: its meaning varies."""
Path = tuple[str | int, ...]


@dataclass(frozen=True)
class Slip:
    """One key that was deleted, misspelled, or moved to the surrounding mapping (from the root: into the next mapping),
    or whose value, a name, was misspelled.
    """

    what: str
    kind: str
    path: Path
    repository: str
    file: str

    @property
    def name(self) -> str:
        """A name that is equal for slips of one key of one kind, at any index of a list."""
        return f"{self.what} {self.kind} {shape(self.path)}"


@dataclass(frozen=True)
class Outcome:
    """The findings of ``validate`` and the output of ``render``."""

    findings: Counter[tuple[str, str]]
    """Pairs of rule and message."""
    files: Mapping[str, int]
    """Number of findings by file."""
    rendered: str | None
    """The rendered text; None if there are errors."""
    read: frozenset[str]
    """The files that the tool reads."""


def main(arguments: list[str] | None = None) -> int:
    """Tries all slips, and prints the counts."""
    parser = argparse.ArgumentParser(prog="python -m fuzz.slips", description=__doc__)
    parser.add_argument("--only", default="*", metavar="PATTERN", help="slips to try, such as 'misspell Job spec.*'")
    parser.add_argument("--repository", default="*", metavar="PATTERN", help="repositories to try, such as quickstart")
    parser.add_argument("--elsewhere", action="store_true", help="list what is found in files that were not changed")
    options = parser.parse_args(arguments)
    tried: Counter[str] = Counter()
    accepted: dict[str, Slip] = {}
    silent: list[Slip] = []
    explained: Counter[Row] = Counter()
    elsewhere: dict[str, int] = {}
    for slip, before, after in outcomes(options.only, options.repository, accepted):
        tried[slip.name] += 1
        for file, count in after.files.items():
            if file != slip.file and count > before.files.get(file, 0):
                elsewhere[slip.name] = elsewhere.get(slip.name, 0) + count - before.files.get(file, 0)
        is_same = slip.what != "misspell" and before.rendered is not None and after.rendered == before.rendered
        if after.findings != before.findings or is_same:
            continue
        accepted[slip.name] = slip
        row = reason(slip.what, slip.kind, shape(slip.path))
        if row is None:
            silent.append(slip)
        else:
            explained[row] += 1
    kinds = Counter(name.split()[0] for name in tried)
    print(f"{len(tried):,} slips: " + ", ".join(f"{kinds[what]:,} {what}" for what in WHATS))
    total = explained.total() + len(silent)
    print(f"{total:,} accepted in silence, {explained.total():,} of them for one of {len(explained)} reasons")
    for row in REASONS:
        if explained[row]:
            print(f"{explained[row]:>6,}  {row[0]} {row[2]}: {row[3]}")
        elif options.only == options.repository == "*":
            print(f"explains nothing: {row[0]} {row[2]}: {row[3]}")
    for item in sorted(silent, key=lambda item: item.name):
        print(f"not explained: {item.name}  ({item.repository}: {item.file})")
    if options.elsewhere:
        for name, count in sorted(elsewhere.items(), key=lambda pair: -pair[1]):
            print(f"{count:>6,} findings in other files: {name}")
    return 1 if silent else 0


def outcomes(pattern: str, repositories: str, settled: Container[str]) -> Iterator[tuple[Slip, Outcome, Outcome]]:
    """Yields every slip that matches ``pattern`` and is not ``settled``, with the outcomes before and after it."""
    tried: Counter[str] = Counter()
    for repository in (*corpus.clean(), documents()):
        if not fnmatchcase(repository.name, repositories):
            continue
        read = {path: load(path, content) for path, content in sorted(repository.files.items())}
        written = {path: dump(path, found) if found else repository.files[path] for path, found in read.items()}
        before = judge(written)
        for file in sorted(before.read & read.keys()):
            for slip, changed in slips(repository.name, file, read[file]):
                if tried[slip.name] == MOST or slip.name in settled or not fnmatchcase(slip.name, pattern):
                    continue
                tried[slip.name] += 1
                yield slip, before, judge({**written, file: dump(file, changed)})


def slips(repository: str, file: str, found: list[Any]) -> Iterator[tuple[Slip, list[Any]]]:
    """Yields every slip in the documents of one file, with the changed documents."""
    for index, document in enumerate(found):
        kind = "Workflow" if isinstance(document, dict) and "workflow" in document else kind_of(document)
        for path in keys(document):
            for what in WHATS:
                changed = copy.deepcopy(document)
                if apply(what, changed, path):
                    yield Slip(what, kind, path, repository, file), [*found[:index], changed, *found[index + 1 :]]


def kind_of(document: Any) -> str:
    """Returns the kind field of a document."""
    return str(document.get("kind", "none")) if isinstance(document, dict) else "none"


def keys(value: Any, path: Path = ()) -> Iterator[Path]:
    """Yields the paths of all keys."""
    for key, item in value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ():
        if isinstance(value, dict):
            yield (*path, key)
        yield from keys(item, (*path, key))


def apply(what: str, document: Any, path: Path) -> bool:
    """Changes a document. Returns False if the key cannot move, or if its value is not a name."""
    around = [document]
    for part in path[:-1]:
        around.append(around[-1][part])
    holder, key = around[-1], path[-1]
    if what == "rename":
        name = holder[key]
        if not isinstance(name, str) or not any(fnmatchcase(f".{shape(path)}", f"*.{field}") for field in NAMES):
            return False
        holder[key] = misspelled(name)
        return True
    if what == "move":
        others = [item for name, item in holder.items() if name != key and isinstance(item, dict)]
        outer = [item for item in around[:-1] if isinstance(item, dict)][-1:] or others[:1]
        if not outer or key in outer[0]:
            return False
        outer[0][key] = holder.pop(key)
        return True
    changed = {
        misspelled(str(key)) if what == "misspell" and name == key else name: item
        for name, item in holder.items()
        if name != key or what == "misspell"
    }
    holder.clear()
    holder.update(changed)
    return True


def misspelled(key: str) -> str:
    """Swaps two characters in the middle; removes one if they are equal."""
    name = key.rpartition("/")[2]
    begin, middle = key[: len(key) - len(name)], len(name) // 2
    swapped = name[: middle - 1] + name[middle : middle + 1] + name[middle - 1 : middle] + name[middle + 1 :]
    return begin + (swapped if swapped != name and len(name) > 1 else name[:-1] or "xx")


def shape(path: Path) -> str:
    """Returns a path with all list indices replaced by ``*``."""
    return ".".join("*" if isinstance(part, int) else str(part) for part in path)


def judge(files: Mapping[str, bytes]) -> Outcome:
    """Returns the findings and the rendered text of a repository."""
    session = check_source(ROOT, MemorySource(files))
    found: tuple[Diagnostic, ...] = session.diagnostics
    places = Counter(item.location.path for item in found if item.location is not None)
    rendered = None
    if not has_errors(found):
        try:
            rendered = manifest_text.stream(compile_fleet(session.fleet))
        except TasError as error:
            rendered = error.message
    source = MemorySource(files)
    read = {file.path for file in source.files(session.fleet.config.sources, exclude=session.fleet.config.output)}
    findings = Counter((item.rule.code, item.message) for item in found)
    return Outcome(findings, places, rendered, frozenset({CONFIG_FILE, *read}))


def load(path: str, content: bytes) -> list[Any]:
    """Returns the documents of a file; none if this simple reader cannot read it."""
    try:
        return [json.loads(content)] if path.endswith(".json") else list(yaml.load_all(content, yaml.CSafeLoader))
    except (yaml.YAMLError, ValueError):
        return []


def dump(path: str, found: list[Any]) -> bytes:
    """Returns a file with these documents."""
    if path.endswith(".json"):
        return json.dumps(found[0], indent=1).encode()
    text_of: str = yaml.dump_all(found, Dumper=yaml.CSafeDumper, sort_keys=False, allow_unicode=True)
    return text_of.encode()


@cache
def documents() -> corpus.Repository:
    """Returns all documents of ``golden/documents/`` as one repository, which has errors."""
    folder = corpus.ROOT / "golden" / "documents"
    output = {"configmap", "namespace", "pod", "podgang", "priorityclass", "queue", "service", "topology"}
    output |= {"function", "role", "rolebinding"}  # the first is read by fn alone
    names = [path for path in sorted(folder.glob("*.yaml")) if path.stem not in output | {"config"}]
    names = [path for path in names if not path.stem.startswith("validating")]
    files = {f"workflows/{path.name}": path.read_bytes() for path in names}
    return corpus.Repository(
        "documents",
        {CONFIG_FILE: (folder / "config.yaml").read_bytes().replace(b"  sources: [pools, workflows]\n", b""), **files},
    )


if __name__ == "__main__":
    sys.exit(main())
