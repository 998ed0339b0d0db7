"""Tests several processes: none remains, however one of them ends, and their errors are raised here."""

from __future__ import annotations

import os
import signal
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from kubectl_tas.base.diagnostics import TasError
from kubectl_tas.load.loading import load_repository
from kubectl_tas.load.source import MemorySource, RawFile
from kubectl_tas.resolve.fleet import resolve_context
from kubectl_tas.work import processes
from kubectl_tas.work.outcome import Outcome, SharedContext
from kubectl_tas.work.plain import of_text
from tests.work.repositories import POOL, WORKFLOW

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="one process does all of it elsewhere")


@pytest.fixture
def shared() -> SharedContext:
    files = {"pools/a.yaml": POOL.format(name="a", gpus=64).encode()}
    loaded = load_repository(MemorySource(files))
    return SharedContext(resolve_context(loaded.repository), loaded.repository, {"pools/a.yaml": b""})


@pytest.fixture
def work() -> list[RawFile]:
    about = {"pool": "a", "priority": "LOW", "group": "g", "gpus": 1, "key": "rack"}
    return [RawFile(f"workflows/{n}.yaml", WORKFLOW.format(name=f"w{n}", **about).encode()) for n in range(40)]


@pytest.fixture(autouse=True)
def no_process_stays() -> Iterator[None]:
    yield
    with pytest.raises(ChildProcessError):
        os.waitpid(-1, os.WNOHANG)


def test_all_of_it_comes_back(shared: SharedContext, work: list[RawFile]) -> None:
    alone = {done.raw.path: done.outcome for done in processes.outcomes(work, shared, 1, render=True)}
    several = {done.raw.path: done.outcome for done in processes.outcomes(work, shared, 3, render=True)}
    assert several == alone
    assert len(alone) == 40


def test_texts_come_back_from_the_process_that_made_them(shared: SharedContext, work: list[RawFile]) -> None:
    from kubectl_tas.emit.manifest_text import digest_of
    from kubectl_tas.work.manifests import kept_manifests

    for done in processes.outcomes(work, shared, 3, render=True):
        assert done.texts is not None
        for item in kept_manifests(done.outcome.manifests or "[]", done.raw.path):
            assert digest_of(done.texts.text(item.at, item.size)) == item.digest


def test_one_that_is_killed(shared: SharedContext, work: list[RawFile], monkeypatch: pytest.MonkeyPatch) -> None:
    parent, really = os.getpid(), processes.outcome

    def outcome(raw: RawFile, *rest: object) -> Outcome:
        if os.getpid() != parent and raw.path.endswith("/21.yaml"):
            os.kill(os.getpid(), signal.SIGKILL)
        return really(raw, *rest)  # type: ignore[arg-type]

    monkeypatch.setattr(processes, "outcome", outcome)
    with pytest.raises(TasError) as caught:
        list(processes.outcomes(work, shared, 2, render=False))
    assert caught.value.message == "a process of this command was ended by signal 9"
    assert caught.value.hint == MEMORY


MEMORY = "Most likely memory ran out. Free some, or use fewer processes: --processes 1."


@pytest.mark.parametrize(
    ("how", "message", "hint"),
    [
        (ZeroDivisionError("there"), "a process failed at workflows/21.yaml", "Run again."),
        (None, "a process of this command was ended with exit code 3", MEMORY),
    ],
)
def test_what_fails_only_there(
    how: Exception | None,
    message: str,
    hint: str,
    shared: SharedContext,
    work: list[RawFile],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    parent, really = os.getpid(), processes.outcome

    def outcome(raw: RawFile, *rest: object) -> Outcome:
        if os.getpid() != parent and raw.path.endswith("/21.yaml"):
            if how is None:
                os._exit(3)
            raise how
        return really(raw, *rest)  # type: ignore[arg-type]

    monkeypatch.setattr(processes, "outcome", outcome)
    with pytest.raises(TasError) as caught:
        list(processes.outcomes(work, shared, 2, render=False))
    assert (caught.value.message, caught.value.hint) == (message, hint)


@pytest.mark.parametrize(
    ("system", "processors", "files", "expected"),
    [
        ("linux", 4, 10**6, 4), ("linux", 4, 1, 1), ("linux", 1, 10**6, 1), ("linux", 99, 10**6, 8),
        ("linux", 4, 299, 1), ("linux", 4, 300, 2), ("linux", 4, 0, 1), ("darwin", 4, 10**6, 1),
    ],
)  # fmt: skip
def test_several_processes_pay_off_only_where_copying_one_is_cheap(
    system: str, processors: int, files: int, expected: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And for 150 files each, up to eight."""
    monkeypatch.setattr(sys, "platform", system)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: range(processors))
    assert processes.processes_for(files) == expected


def test_a_shelf_keeps_the_last_text_of_each_file() -> None:
    shelf = processes.TextsOnDisk()
    assert shelf.get("a") is None
    for path, text in (("a", "é\udcff"), ("b", ""), ("c", "three"), ("a", "again")):
        shelf.put(path, text)
    assert [shelf.get(path) for path in "abcd"] == ["again", "", "three", None]
    shelf.put("a", "é\udcff")
    assert shelf.get("a") == "é\udcff"


def test_a_spool_says_where_texts_begin() -> None:
    spool = processes.NamelessFile()
    assert [spool.put(texts) for texts in ([b"a", b"bc"], [], [b"d"])] == [0, 3, 3]
    assert (spool.end, spool.get(1, 2), spool.get(3, 1)) == (4, "bc", "d")
    assert processes.FileTexts(spool, 1).text(1, 2) == "cd"


def test_a_system_without_nameless_files_keeps_texts(monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as system:
        system.setattr(os, "name", "nt")
        system.delattr(tempfile, "mkstemp")
        spool = processes.NamelessFile()
    assert (spool.put([b"a", b"bc"]), spool.put([b"d"])) == (0, 3)
    assert [spool.get(*place) for place in ((0, 1), (1, 2), (3, 1))] == ["a", "bc", "d"]


@pytest.mark.parametrize("text", ["{}", "1", "[" * 200_000, "[1", ""])
def test_what_is_no_list_is_no_plain_data(text: str) -> None:
    with pytest.raises(ValueError):  # noqa: PT011 - json has messages of its own
        of_text(text)
    assert of_text("[1]") == [1]


def test_what_fails_there_fails_here(
    shared: SharedContext, work: list[RawFile], monkeypatch: pytest.MonkeyPatch
) -> None:
    really = processes.outcome

    def outcome(raw: RawFile, *rest: object) -> Outcome:
        if raw.path.endswith("/30.yaml"):
            raise ZeroDivisionError("in 30")
        return really(raw, *rest)  # type: ignore[arg-type]

    monkeypatch.setattr(processes, "outcome", outcome)
    with pytest.raises(ZeroDivisionError, match="in 30"):
        list(processes.outcomes(work, shared, 2, render=False))


def test_who_stops_listening_ends_all(shared: SharedContext, work: list[RawFile]) -> None:
    found = processes.outcomes(work, shared, 2, render=False)
    for _ in range(6):
        next(found)
    found.close()  # type: ignore[attr-defined]


def test_no_pipe_stays_open(shared: SharedContext, work: list[RawFile]) -> None:
    opened = Path("/proc/self/fd")
    before = len(list(opened.iterdir()))
    assert len(list(processes.outcomes(work, shared, 3, render=False))) == 40
    assert len(list(opened.iterdir())) == before


def test_an_interrupt_ends_all(shared: SharedContext, work: list[RawFile]) -> None:
    found = processes.outcomes(work, shared, 2, render=False)
    next(found)
    with pytest.raises(KeyboardInterrupt):
        found.throw(KeyboardInterrupt)  # type: ignore[attr-defined]
