"""Tests that data kept between runs never changes a result, whatever happens to the data."""

from __future__ import annotations

import os
import random
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterable
from contextlib import closing
from importlib import metadata
from pathlib import Path
from types import SimpleNamespace

import pytest

from kubectl_tas.load.source import MemorySource
from kubectl_tas.store import cache
from kubectl_tas.store.cache import FILE, Store, default_folder
from kubectl_tas.work import run as running
from kubectl_tas.work import stored_outcomes
from kubectl_tas.work.run import Effort
from tests.support.cli import kubectl_tas
from tests.work.repositories import repository
from tests.work.test_by_file import by_file, whole


def test_what_was_put_is_got(tmp_path: Path) -> None:
    store = Store(tmp_path)
    store.put([(b"a", b"one"), (b"b", b"two")])
    assert store.get(b"a") == b"one"
    store.close()
    again = Store(tmp_path)
    assert (again.get(b"b"), again.get(b"c")) == (b"two", None)
    again.close()


@pytest.mark.sweep
def test_every_bit_that_flips(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A bit of a hundred bytes, in turn: what is read from such a store is what is computed without."""
    monkeypatch.setattr(running, "LEAST_KEPT", 0)
    files = MemorySource({**repository(3), **repository(4)})
    expected = whole(files)
    store = Store(tmp_path)
    by_file(files, Effort(1, store))
    store.close()
    kept = (tmp_path / FILE).read_bytes()
    used = [place for place in range(len(kept)) if kept[place]]
    for place in used[:: max(1, len(used) // 100)]:
        damaged = bytearray(kept)
        damaged[place] ^= 1 << place % 8
        (tmp_path / FILE).write_bytes(damaged)
        store = Store(tmp_path)
        assert by_file(files, Effort(1, store)) == expected, f"byte {place}"
        store.close()


@pytest.mark.parametrize("content", [b"", b"SQLite format 3\0", b"not a database at all" * 99, b"\0" * 8192])
def test_a_file_that_is_none_of_ours(content: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(running, "LEAST_KEPT", 0)
    (tmp_path / FILE).write_bytes(content)
    files = MemorySource(repository(5))
    store = Store(tmp_path)
    assert by_file(files, Effort(1, store)) == whole(files)
    store.close()
    with closing(Store(tmp_path)) as store:
        store.put([(b"a", b"one")])
        assert store.get(b"a") == b"one", "the file is removed, and another one made"


@pytest.mark.parametrize("table", ["entry (key BLOB PRIMARY KEY, other INTEGER)", "other (key BLOB)"])
def test_a_table_of_another_version_is_made_anew(table: str, tmp_path: Path) -> None:
    tmp_path.chmod(0o700)
    with closing(sqlite3.connect(tmp_path / FILE)) as other:
        other.execute(f"CREATE TABLE {table}")
    (tmp_path / FILE).chmod(0o600)
    for content in (None, b"one"):
        with closing(Store(tmp_path)) as store:
            assert store.get(b"a") == content
        with closing(Store(tmp_path)) as store:
            store.put([(b"a", b"one")])


def test_what_is_cut_off(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(running, "LEAST_KEPT", 0)
    files = MemorySource(repository(6))
    store = Store(tmp_path)
    expected = by_file(files, Effort(1, store))
    store.close()
    kept = (tmp_path / FILE).read_bytes()
    for part in range(0, len(kept), max(1, len(kept) // 20)):
        (tmp_path / FILE).write_bytes(kept[:part])
        store = Store(tmp_path)
        assert by_file(files, Effort(1, store)) == expected
        store.close()


@pytest.mark.skipif(not hasattr(os, "geteuid"), reason="this system has no owners of files")
def test_a_folder_that_others_may_write_to_is_not_used(tmp_path: Path) -> None:
    tmp_path.chmod(0o777)
    store = Store(tmp_path)
    store.put([(b"a", b"one")])
    assert store.get(b"a") is None
    store.close()
    assert not (tmp_path / FILE).exists()


@pytest.mark.skipif(not hasattr(os, "geteuid"), reason="this system has no owners of files")
@pytest.mark.parametrize("how", ["writable", "link"])
def test_a_file_that_others_may_have_made_is_not_used(how: str, tmp_path: Path) -> None:
    file, other = tmp_path / "own" / FILE, tmp_path / "other"
    with closing(Store(file.parent)) as store:
        store.put([(b"a", b"one")])
    if how == "writable":
        file.chmod(0o666)
    else:
        file.rename(other)
        file.symlink_to(other)
    with closing(Store(file.parent)) as store:
        assert store.get(b"a") is None


@pytest.mark.skipif(not hasattr(os, "geteuid"), reason="this system has no owners of files")
def test_a_folder_of_somebody_else_is_not_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with closing(Store(tmp_path)) as store:
        store.put([(b"a", b"one")])
    monkeypatch.setattr(os, "geteuid", lambda: tmp_path.stat().st_uid + 1)
    with closing(Store(tmp_path)) as store:
        assert store.get(b"a") is None


@pytest.mark.skipif(not hasattr(os, "geteuid"), reason="this system has no owners of files")
@pytest.mark.parametrize("mode", [0o720, 0o702])
def test_a_folder_that_a_group_or_others_may_write_to_is_not_used(mode: int, tmp_path: Path) -> None:
    tmp_path.chmod(mode)
    with closing(Store(tmp_path)) as store:
        store.put([(b"a", b"one")])
    assert not (tmp_path / FILE).exists()


def test_a_folder_is_made_for_its_user_alone(tmp_path: Path) -> None:
    folder = tmp_path / "a" / "b"
    for _ in range(2):
        with closing(Store(folder)) as store:
            store.put([(b"a", b"one")])
            assert store.get(b"a") == b"one"
        assert store.get(b"a") is None, "it is closed"
    assert folder.stat().st_mode & 0o777 == 0o700


def test_nothing_is_made_where_nothing_is_kept(tmp_path: Path) -> None:
    with closing(Store(tmp_path / "a")) as store:
        store.put([])
    assert not (tmp_path / "a").exists()


def test_entries_that_were_not_used_for_the_longest_time_go_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The day of the last use is kept with each; what goes is half of them, and one more."""

    def on(day: int, most: int = cache.MOST) -> Store:
        monkeypatch.setattr(cache.time, "time", lambda: 86400.0 * day + 86399)
        return Store(tmp_path, most)

    def days() -> dict[bytes, int]:
        with closing(sqlite3.connect(tmp_path / FILE)) as other:
            return dict(other.execute("SELECT key, used FROM entry").fetchall())

    with closing(on(10)) as store:
        store.put((bytes([number]), os.urandom(3000)) for number in range(6))
    assert days() == {bytes([number]): 10 for number in range(6)}
    with closing(on(11)) as store:
        assert store.get_all([b"\1", b"\2", b"\7"]).keys() == {b"\1", b"\2"}
    assert days() == {bytes([number]): 11 if number in (1, 2) else 10 for number in range(6)}
    size = (tmp_path / FILE).stat().st_size
    with closing(on(12, size)) as store:
        assert store.get(b"\1") is not None
    assert len(days()) == 6
    with closing(on(12, size - 1)) as store:
        assert store.get(b"\1") is not None
    assert days() == {b"\1": 12, b"\2": 11}
    assert (tmp_path / FILE).stat().st_size < size


def test_a_file_that_is_locked_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Only a damaged one is removed: another process has this one open."""
    monkeypatch.setattr(cache, "_WAIT", 0.0)
    with closing(Store(tmp_path)) as store:
        store.put([(b"a", b"one")])
    with closing(sqlite3.connect(tmp_path / FILE, isolation_level=None)) as other, closing(Store(tmp_path)) as store:
        other.execute("BEGIN EXCLUSIVE")
        store.put([(b"b", b"two")])
        other.execute("COMMIT")
    with closing(Store(tmp_path)) as store:
        assert (store.get(b"a"), store.get(b"b")) == (b"one", None)


def test_a_body_of_another_type_is_none(tmp_path: Path) -> None:
    with closing(Store(tmp_path)) as store:
        store.put([(b"a", b"one")])
    with closing(sqlite3.connect(tmp_path / FILE, isolation_level=None)) as other:
        other.execute("UPDATE entry SET body = 'text'")
    with closing(Store(tmp_path)) as store:
        assert store.get(b"a") is None


def test_a_python_without_sqlite_keeps_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "sqlite3", None)
    store = Store(tmp_path)
    store.put([(b"key", b"content")])
    assert store.get(b"key") is None
    store.close()


def test_it_is_bounded(tmp_path: Path) -> None:
    for day in range(8):
        store = Store(tmp_path, most=400_000)
        store.put((os.urandom(8), os.urandom(10_000)) for _ in range(20))
        store.close()
        assert (tmp_path / FILE).stat().st_size < 700_000, day


def test_many_at_once(tmp_path: Path) -> None:
    """Processes that write at one time lose nothing of each other."""
    program = (
        "import sys; from pathlib import Path; from kubectl_tas.store.cache import Store\n"
        "store = Store(Path(sys.argv[1]))\n"
        "for n in range(40): store.put([(f'{sys.argv[2]}-{n}'.encode(), b'x' * 500)])\n"
        "store.close()\n"
    )
    running_ = [subprocess.Popen([sys.executable, "-c", program, str(tmp_path), str(number)]) for number in range(4)]
    assert [process.wait(timeout=300) for process in running_] == [0] * 4
    store = Store(tmp_path)
    assert all(store.get(f"{number}-{n}".encode()) == b"x" * 500 for number in range(4) for n in range(40))
    store.close()


@pytest.mark.sweep
@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork")
def test_a_hundred_kills(tmp_path: Path) -> None:
    """Whatever moment a process is ended at, what was there before stays, and the file can be used."""
    store = Store(tmp_path)
    store.put([(b"before", b"stays")])
    store.close()
    chance = random.Random(1)
    for _ in range(100):
        child = os.fork()
        if child == 0:
            writer = Store(tmp_path)
            while True:
                writer.put([(b"%d" % n, os.urandom(3000)) for n in range(50)])
        time.sleep(chance.uniform(0, 0.02))
        os.kill(child, signal.SIGKILL)
        assert os.waitpid(child, 0) == (child, signal.SIGKILL), "it was still writing"
        store = Store(tmp_path)
        assert store.get(b"before") == b"stays"
        store.put([(b"after", b"written")])
        assert store.get(b"after") == b"written"
        store.close()


def test_outcomes_are_written_some_at_a_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The last are those that ``save`` writes."""
    monkeypatch.setattr(running, "LEAST_KEPT", 0)
    monkeypatch.setattr(stored_outcomes, "AT_ONCE", 1)
    written = []
    really = Store.put

    def put(self: Store, entries: Iterable[tuple[bytes, bytes]]) -> None:
        written.append(len(list(entries)))
        really(self, ())

    monkeypatch.setattr(Store, "put", put)
    with closing(Store(tmp_path)) as store:
        by_file(MemorySource(repository(3)), Effort(1, store))
    assert written.count(1) > 1


def test_a_package_that_is_not_installed_is_part_of_the_tool(monkeypatch: pytest.MonkeyPatch) -> None:
    found = set()
    for names in (("no-such-package",), ("no-such-package", "none-either"), ()):
        monkeypatch.setattr(stored_outcomes, "BUILT_ON", names)
        found.add(stored_outcomes.tool_digest.__wrapped__())
    assert len(found) == 3


class TestTool:
    """Another tool finds nothing of this one, although its files have the same names, sizes and times."""

    def test_another_version(self, monkeypatch: pytest.MonkeyPatch) -> None:
        before = stored_outcomes.tool_digest.__wrapped__()
        assert stored_outcomes.tool_digest.__wrapped__() == before
        monkeypatch.setattr(stored_outcomes, "__version__", "0.0.0")
        assert stored_outcomes.tool_digest.__wrapped__() != before

    @pytest.mark.parametrize("name", ["kubectl-tas", *stored_outcomes.BUILT_ON])
    def test_another_version_of_a_package(self, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
        before = stored_outcomes.tool_digest.__wrapped__()
        really = metadata.distribution
        other = SimpleNamespace(version="0.0.0", read_text=lambda _name: None)
        monkeypatch.setattr(metadata, "distribution", lambda asked: other if asked == name else really(asked))
        assert stored_outcomes.tool_digest.__wrapped__() != before

    def test_other_bytes_of_an_installed_file(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """An image or a package manager may give all files the same time."""
        really, digests = metadata.distribution, set()
        for digest in "ab":
            record = f"kubectl_tas/facts/kai.py,sha256={digest},7\n"
            installed = SimpleNamespace(version="1.0.0", read_text={"RECORD": record}.get)
            chosen = {"kubectl-tas": installed}
            monkeypatch.setattr(metadata, "distribution", lambda name, chosen=chosen: chosen.get(name) or really(name))
            digests.add(stored_outcomes.tool_digest.__wrapped__())
        assert len(digests) == 2


class TestPlace:
    """Where it is kept."""

    def test_by_default(self) -> None:
        assert default_folder({"XDG_CACHE_HOME": "/c", "HOME": "/h"}) == Path("/c/kubectl-tas")
        assert default_folder({"XDG_CACHE_HOME": "c", "HOME": "/h"}) == Path("/h/.cache/kubectl-tas")
        assert default_folder({}) is None
        assert default_folder({"HOME": "h"}) is None
        assert default_folder({"KUBECTL_TAS_CACHE": "own", "XDG_CACHE_HOME": "/c"}) == Path("own")

    def test_never_in_the_repository(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        for path, content in repository(0).items():
            (tmp_path / path).parent.mkdir(exist_ok=True)
            (tmp_path / path).write_bytes(content)
        found = kubectl_tas("validate", "-C", tmp_path, "--cache-dir", tmp_path / "cache")
        assert found.code == 2
        assert "lies in the repository" in found.err
        monkeypatch.setattr(running, "LEAST_KEPT", 0)
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "home"))
        kubectl_tas("validate", "-C", tmp_path)
        assert not (tmp_path / "home").exists()

    def test_nor_beside_it_in_its_checkout(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        (tmp_path / ".git").mkdir()
        root = tmp_path / "gpu-pools"
        for path, content in repository(0).items():
            (root / path).parent.mkdir(parents=True, exist_ok=True)
            (root / path).write_bytes(content)
        found = kubectl_tas("validate", "-C", root, "--cache-dir", tmp_path / "cache")
        assert found.code == 2
        assert "lies in the repository" in found.err
        monkeypatch.setattr(running, "LEAST_KEPT", 0)
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "home"))
        kubectl_tas("validate", "-C", root)
        assert not (tmp_path / "home").exists()

    def test_where_it_is_asked_for(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        root, kept = tmp_path / "repository", tmp_path / "kept"
        for path, content in repository(0).items():
            (root / path).parent.mkdir(parents=True, exist_ok=True)
            (root / path).write_bytes(content)
        monkeypatch.setattr(running, "LEAST_KEPT", 0)
        kubectl_tas("validate", "-C", root, "--cache-dir", kept, "--no-cache")
        assert not kept.exists()
        kubectl_tas("validate", "-C", root, "--cache-dir", kept)
        assert (kept / FILE).exists()
