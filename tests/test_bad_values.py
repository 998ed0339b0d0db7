"""Tests every field of every kind with every type of value, and mangled files: no traceback, always a place."""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kubectl_tas.base.diagnostics import Diagnostic
from kubectl_tas.cli.session import Session, check_source
from kubectl_tas.compile import compile_fleet
from kubectl_tas.emit.file_plan import layout
from kubectl_tas.load import document, loading
from kubectl_tas.load.kinds import KINDS, WORKFLOW
from kubectl_tas.load.source import FolderSource, OverlaySource
from kubectl_tas.model.base import KeyPath
from kubectl_tas.report import text as report
from tests.support.cli import write
from tests.support.golden import EXAMPLES, GOLDEN
from tests.support.pyyaml import safe_load
from tests.support.workloads import named

VALUES = (
    *("null", "true", "0", "-1", "1.5", "1e999", "99999999999999999999999", "999999999999999999"),
    *('""', '"x"', '"X_ x"', '"a\\0b"', f'"{"x" * 400}"', "[]", '["x", null]', "[[]]", "{}", '{"x": {}}'),
)
"""What is put in place of every value, as it is written in YAML."""
PLACEHOLDER = "@value@"
SOURCES = {
    kind.schema: kind for kind in reversed((*KINDS, WORKFLOW)) if kind.described is None and kind.name != "Karta"
}
"""The tool's own kinds; workloads have a test of their own."""


def coherent() -> dict[str, Any]:
    """A document of every kind with nearly every field; together they are a repository without errors."""
    found = {name: safe_load((GOLDEN / f"documents/{name}.yaml").read_text()) for name in SOURCES}
    del found["pool"]["spec"]["topology"], found["pool"]["spec"]["parent"]
    found["subpool"]["spec"]["maximum"]["cpu"] = -1
    found["config"]["spec"]["sources"] = ["pools"]
    tasks = found["workflow"]["workflow"].pop("tasks")
    found["workflow"]["workflow"]["groups"].append({"name": "second", "tasks": tasks})
    found["workflow"]["resources"]["default"] = {"gpu": 1, "topology": [{"key": "zone"}, {"key": "rack"}]}
    found["podgroup"]["metadata"]["namespace"] = "team-cv"
    spec = found["podgroup"]["spec"]
    spec["queue"] = "team-a"
    spec["topologyConstraint"]["preferredTopologyLevel"] = "kubernetes.io/hostname"
    spec["subGroups"][1]["topologyConstraint"]["requiredTopologyLevel"] = "kubernetes.io/hostname"
    for name in ("minMember", "backoffLimit", "completions", "parallelism"):
        del spec[name]
    found["podcliqueset"]["metadata"]["namespace"] = "team-cv"
    template = found["podcliqueset"]["spec"]["template"]
    template["priorityClassName"] = found["config"]["spec"]["priorityClasses"]["NORMAL"]
    template["cliques"][0]["spec"]["podSpec"]["resources"] = {"limits": {"cpu": 1}}
    template["topologyConstraint"] = {"topologyName": "t", "pack": {"required": "zone"}}
    template["podCliqueScalingGroups"][0]["topologyConstraint"] = {"pack": {"required": "zone"}}
    shard = found["schedulingshard"]["spec"]
    shard["partitionLabelValue"] = found["pool"]["spec"]["nodePool"]
    del shard["usageDBConfig"]["connectionStringEnvVar"]
    return {name: named(document) for name, document in found.items()}


def files(documents: dict[str, Any]) -> dict[str, bytes]:
    """The files of a repository; JSON is YAML."""
    return {
        "tas.yaml" if name == "config" else f"pools/{name}.yaml": json.dumps(document).encode()
        for name, document in documents.items()
    }


def places(data: Any, path: KeyPath = ()) -> Iterator[KeyPath]:
    """The key path of every value in ``data``."""
    yield path
    steps = data.items() if isinstance(data, dict) else enumerate(data) if isinstance(data, list) else ()
    for step, value in steps:
        yield from places(value, (*path, step))


def with_placeholder(data: Any, path: KeyPath) -> Any:
    """``data`` with the placeholder at ``path``."""
    if not path:
        return PLACEHOLDER
    result = copy.deepcopy(data)
    inner = result
    for step in path[:-1]:
        inner = inner[step]
    inner[path[-1]] = PLACEHOLDER
    return result


def assert_placed(found: Iterable[Diagnostic], texts: dict[str, bytes]) -> None:
    """All findings are at places that their files have."""
    for item in found:
        assert item.location is not None, item
        for place in (item.location, *(related.location for related in item.related if related.location)):
            lines = re.split("\r\n|\r|\n", texts[place.path].decode("utf-8", "replace").removeprefix("\ufeff"))
            assert 1 <= place.column <= len(lines[place.line - 1]) + 1, item


def refusals(name: str, path: KeyPath, file: str, text: bytes) -> tuple[str, Sequence[Diagnostic]]:
    """Why a document of a kind is not read, and how the rest of its repository meets that: the same for each value."""
    if len(path) < 2 or "metadata" in path:  # the rest asks for kinds and names
        return "", ()
    written = text.decode()
    documents, problems = loading.parse(file, written, document.Lines(file, written))
    if problems:
        return "unread", problems
    return "refused", loading.read_model(SOURCES[name], documents[0])[1]


def handled(root: Path, texts: dict[str, bytes]) -> Session:
    """What is found in a repository: whatever stands in it, all errors have places in it, or it renders."""
    session = check_source(root, OverlaySource(FolderSource(root), texts))
    assert_placed(session.diagnostics, texts)
    assert report.render(session.diagnostics, session.files)
    if not session.failed():
        artifacts = compile_fleet(session.fleet)
        assert layout(artifacts, session.fleet.config, session.fleet.settings_source) or not artifacts
    return session


@pytest.fixture
def repository(repository: Path) -> Path:
    """With the localpath of the workflow."""
    return write(repository, {"pools/d": "a file"})


def test_the_repository_renders(repository: Path) -> None:
    session = handled(repository, files(coherent()))
    assert not session.failed(), report.render(session.diagnostics, session.files)
    assert len(compile_fleet(session.fleet)) > 15


@pytest.fixture
def unchanged_files_are_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """What reading a file gives is never changed, so files that stay as they are need not be read for each value."""
    keep = lru_cache(4 * len(SOURCES))
    read = keep(lambda path, text, whole: document.parse(path, text, document.Lines(path, whole)))
    monkeypatch.setattr(loading, "parse", lambda path, text, lines: read(path, text, lines.text))
    for module, reader in ((loading, "read_model"), (document, "compose")):
        monkeypatch.setattr(module, reader, keep(getattr(module, reader)))


@pytest.mark.usefixtures("unchanged_files_are_read_once")
@pytest.mark.parametrize("name", SOURCES)
def test_every_value_of_every_field(repository: Path, name: str) -> None:
    """An eighth of the values for each field, in turn."""
    documents = coherent()
    texts = files(documents)
    for number, path in enumerate(places(documents[name])):
        ((file, template),) = files({name: with_placeholder(documents[name], path)}).items()
        met = set[str]()
        for value in VALUES[number % 8 :: 8]:
            text = template.replace(f'"{PLACEHOLDER}"'.encode(), value.encode())
            try:
                how, why = refusals(name, path, file, text)
                assert_placed(why, {file: text})
                if not why or how not in met:
                    handled(repository, {**texts, file: text})
                if why:
                    met.add(how)
            except Exception as error:
                error.add_note(f"{name}: {path} = {value}")
                raise


FUZZ = settings(
    max_examples=60,
    deadline=None,
    derandomize=True,
    suppress_health_check=list(HealthCheck),
)
"""``root`` stays an empty folder: the files of an example exist in memory only."""
TOKENS = (
    *("\n", "\r\n", "\r", "\t", "  ", "\u0085", "\u2028", "\u00a0", "\ufeff", "\0", "\x1b", "\U0001f680", "e\u0301"),
    *("- ", ": ", "? ", "[", "]", "{", "}", ",", "|\n", ">-\n", "#", " #", "'", '"', "\\", "%", "@", "`"),
    *("&a ", "*a", "<<: ", "<<: *a", "!", "!!str ", "!<x> ", "---\n", "...\n", "%YAML 1.1\n---\n", "%TAG ! !\n"),
    *("null", "~", "yes", "0", "-1", "1e999", "0x1f", "1_000", "\\ud800", "x" * 100),
)
"""What YAML, or its parsers, give a meaning to."""
VALID = sorted(
    path.read_text() for path in (*GOLDEN.glob("documents/*.yaml"), *EXAMPLES.glob("*/*/*.yaml")) if path.is_file()
)


@FUZZ
@given(content=st.binary(max_size=200))
def test_bytes(repository: Path, content: bytes) -> None:
    handled(repository, {"workflows/x.yaml": content})


@FUZZ
@given(content=st.lists(st.sampled_from(TOKENS) | st.text(max_size=5), max_size=30).map("".join))
def test_words(repository: Path, content: str) -> None:
    handled(repository, {"workflows/x.yaml": content.encode("utf-8", "replace")})


@FUZZ
@given(
    text=st.sampled_from(VALID),
    edits=st.lists(
        st.tuples(st.integers(0, 5000), st.integers(0, 30), st.sampled_from(TOKENS)), min_size=1, max_size=4
    ),
)
def test_mangled_files(repository: Path, text: str, edits: list[tuple[int, int, str]]) -> None:
    for place, length, token in edits:
        start = place % (len(text) + 1)
        text = text[:start] + token + text[start + length :]
    handled(repository, {"workflows/x.yaml": text.encode()})
