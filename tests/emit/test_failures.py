"""Tests what is said of files that cannot be read or written, and that nothing is half-written then."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Callable
from pathlib import Path

import pytest

from kubectl_tas.base.diagnostics import Location, TasError
from kubectl_tas.emit import disk
from kubectl_tas.emit.create_only import WRITTEN, standing, write_missing, write_new, write_schemas
from kubectl_tas.emit.disk import COARSE, MARK, TICK, Disk, Stamps, is_leftover, unreadable, write_file
from kubectl_tas.emit.file_plan import FileChange, Plan, apply_plan, bereft, plan, stale
from tests.support.cli import write

EMPTY, PERMISSIONS = "Choose an empty folder.", "Check permissions and free space."
NAMED = "Name a file in a folder that exists and may be written to."
OTHER = "Choose another folder, or remove what is in the way."
MANIFEST = {"m/a.yaml": f"{MARK}x\n"}


def make_plan(root: Path) -> None:
    plan(MANIFEST, root, "m", ())


def apply(root: Path) -> None:
    change = FileChange("m/a.yaml", None, "text\n")
    apply_plan(Plan((change,), (), "m", "m"), root, above=Path("top"))


@pytest.mark.parametrize(
    ("files", "act", "message", "hint"),
    [
        ({"a": ""}, lambda root: write_new(root, {"a": b""}), "a already exists; nothing was written", EMPTY),
        (
            {"a": ""},
            lambda root: write_new(root / "a", {"b": b""}),
            "cannot write ROOT/a: File exists; nothing was written",
            PERMISSIONS,
        ),
        (
            {"a": ""},
            lambda root: write_missing(root, {"a": b"", "a/b": b""}),
            "a already exists; nothing was written",
            EMPTY,
        ),
        (
            {"a/b": ""},
            lambda root: standing(root, ["a"]),
            "cannot read ROOT/a: it is not a plain file; nothing was written",
            EMPTY,
        ),
        (
            {"a": "", "b": ""},
            lambda root: write_schemas(root, {"a": "x", "b": "y"}),
            "a, b in ROOT was not written by kubectl-tas; nothing was written",
            OTHER,
        ),
        (
            {"a": ""},
            lambda root: write_schemas(root / "a", {"b": "x"}),
            "cannot write schemas to ROOT/a: File exists",
            PERMISSIONS,
        ),
        ({"a/b": ""}, lambda root: write_file(root / "a", b""), "cannot write ROOT/a: it is a folder", NAMED),
        (
            {},
            lambda root: write_file(root / ("a" * 300), b""),
            f"cannot write ROOT/{'a' * 300}: File name too long",
            NAMED,
        ),
        (
            {"a": "", "b": ""},
            lambda root: write_new(root, {"a": b"", "b": b""}),
            "a, b already exist; nothing was written",
            EMPTY,
        ),
        (
            {"a": "[" * 100_000},
            lambda root: write_schemas(root, {"a": "x"}),
            "a in ROOT was not written by kubectl-tas; nothing was written",
            OTHER,
        ),
        (
            {"a": ""},
            lambda root: Disk(root / "b"),
            "cannot open the folder ROOT/b: No such file or directory",
            "Check its permissions.",
        ),
        ({"m": ""}, make_plan, "the output m is a file, not a folder", "Move it elsewhere."),
        (
            {"m/a.yaml": "x: y\n"},
            make_plan,
            "m/a.yaml is in the way: kubectl-tas did not write it",
            "Move it elsewhere, or choose another output folder in tas.yaml.",
        ),
        (
            {"m/a.yaml/b": ""},
            make_plan,
            "m/a.yaml is in the way: kubectl-tas did not write it",
            "Move it elsewhere, or choose another output folder in tas.yaml.",
        ),
        (
            {"m": ""},
            apply,
            "cannot write top/m/a.yaml: m is a link or a file, not a folder",
            "Check permissions and free space; run again to finish.",
        ),
    ],
)
def test_the_reason_and_what_to_do(
    tmp_path: Path, files: dict[str, str], act: Callable[[Path], object], message: str, hint: str
) -> None:
    write(tmp_path, files)
    with pytest.raises(TasError) as caught:
        act(tmp_path)
    assert (caught.value.message.replace(str(tmp_path), "ROOT"), caught.value.hint) == (message, hint)
    assert {path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*") if path.is_file()} == files.keys()


def test_new_and_missing_files(tmp_path: Path) -> None:
    root = tmp_path / "a/b"
    write_new(root, {"c": b"1", "d/e": b"2"})
    assert write_missing(root, {"c": b"3", "d/e": b"4", "f": b"5"}) == {"c", "d/e"}
    assert [(root / name).read_bytes() for name in ("c", "d/e", "f")] == [b"1", b"2", b"5"]
    assert standing(root, ["c", "g"]) == {"c": b"1"}
    assert standing(root / "g", ["c"]) == {}
    assert standing(root / "c", ["c"]) == {}


def test_schemas_are_written_where_they_differ(tmp_path: Path) -> None:
    texts = {"a": f'{{"$comment": "{WRITTEN}"}}', "b": f'{{"$comment": "{WRITTEN}", "x": 1}}'}
    assert write_schemas(tmp_path / "s", texts) == ["a", "b"]
    (tmp_path / "s/b").write_text(texts["a"])
    assert write_schemas(tmp_path / "s", texts) == ["b"]
    assert write_schemas(tmp_path / "s", texts) == []
    assert (tmp_path / "s/b").read_text() == texts["b"]
    (tmp_path / "s/b").unlink()
    (tmp_path / "s/b").symlink_to("a")
    with pytest.raises(TasError, match=r"^b in "):
        write_schemas(tmp_path / "s", texts)


@pytest.mark.parametrize("by_descriptor", [True, False])
def test_files_of_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, by_descriptor: bool) -> None:
    monkeypatch.setattr(disk, "_BY_DESCRIPTOR", by_descriptor)
    with Disk(tmp_path) as files:
        files.replace("a/b/c", b"1", mode=0o640)
        files.replace("a/d", b"2", durable=True)
        assert (files.read("a/b/c"), files.read("a/d"), files.read("a/e"), files.read("f/g")) == (
            b"1",
            b"2",
            None,
            None,
        )
        assert stat.S_IMODE((tmp_path / "a/b/c").stat().st_mode) == 0o640
        assert sorted(entry.name for entry in files.entries("a", statuses=True)) == ["b", "d"]
        assert [entry.name for entry in files.entries("")] == ["a"]
        assert files.status("f/g") is None
        (tmp_path / "link").symlink_to("a/d")
        status = files.status("link")
        assert status is not None
        assert stat.S_ISLNK(status.st_mode)
        with pytest.raises(OSError, match=r".") as caught:
            files.read("link")
        assert caught.value.errno == errno.ELOOP
        with pytest.raises(NotADirectoryError, match="a/d is a link or a file, not a folder"):
            files.read("a/d/e")
        with pytest.raises(NotADirectoryError, match="link is a link or a file, not a folder"):
            files.replace("link/e", b"")
        files.remove("a/b/c")
        assert sorted(path.name for path in (tmp_path / "a").iterdir()) == ["d"]
        files.remove("a/d")
        files.remove("a/d")
        files.remove("link")
        assert list(tmp_path.iterdir()) == []
        files.replace("x/y/z", b"")
        files.remove("x/y/z")
        assert list(tmp_path.iterdir()) == []
        write(
            tmp_path, {"a/b": "", "a/.0123456789abcdef.kubectl-tas.tmp": "", "a/.0123456789abcdeg.kubectl-tas.tmp": ""}
        )
        files.remove_leftovers("a")
        files.remove_leftovers("c")
        assert sorted(path.name for path in (tmp_path / "a").iterdir()) == [".0123456789abcdeg.kubectl-tas.tmp", "b"]


def test_the_root_may_be_a_link(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "b").symlink_to("a")
    with Disk(tmp_path / "b") as files:
        files.replace("c", b"1")
    assert (tmp_path / "a/c").read_bytes() == b"1"


@pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="no list of descriptors")
def test_no_descriptor_stays_open(tmp_path: Path) -> None:
    before = len(os.listdir("/proc/self/fd"))  # noqa: PTH208 - pathlib opens it differently in each release
    with Disk(tmp_path) as files:
        for name in ("a/b/c", "a/d/e", "f"):
            files.replace(name, b"1")
        files.entries("a/b")
    assert len(os.listdir("/proc/self/fd")) == before  # noqa: PTH208


@pytest.mark.parametrize(("durable", "count"), [(True, 1), (False, 0)])
def test_what_must_survive_a_power_cut_is_synced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, count: int, *, durable: bool
) -> None:
    synced: list[int] = []
    monkeypatch.setattr(disk.os, "fsync", synced.append)
    with Disk(tmp_path) as files:
        files.replace("a", b"1", durable=durable)
    assert len(synced) == count


def test_what_cannot_be_read() -> None:
    found = unreadable("the folder a", PermissionError(errno.EACCES, "Permission denied"))
    assert (found.message, found.hint) == ("cannot read the folder a: Permission denied", "Check its permissions.")


def test_a_file_that_cannot_be_put_in_place_leaves_nothing(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    with Disk(tmp_path) as files, pytest.raises(IsADirectoryError):
        files.replace("a", b"1")
    assert [path.name for path in tmp_path.iterdir()] == ["a"]


def test_a_system_that_writes_in_parts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = os.write
    monkeypatch.setattr(disk.os, "write", lambda handle, content: whole(handle, content[:2]))
    write_file(tmp_path / "a", b"12345")
    assert (tmp_path / "a").read_bytes() == b"12345"


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        (".0123456789abcdef.kubectl-tas.tmp", True),
        ("a/b/.0123456789abcdef.kubectl-tas.tmp", True),
        (".0123456789abcde.kubectl-tas.tmp", False),
        (".0123456789ABCDEF.kubectl-tas.tmp", False),
        ("0123456789abcdef.kubectl-tas.tmp", False),
        (".0123456789abcdef.kubectl-tas.tmp.x", False),
        (".0123456789abcdefxkubectl-tas.tmp", False),
    ],
)
def test_names_of_half_written_files(name: str, *, expected: bool) -> None:
    assert is_leftover(name) is expected


class TestStamps:
    """A file that changed about as late as the latest one may change again within the same tick of the clock."""

    LATE = 10_000_000_000

    def settled(self, *times: int, newest: int = 0) -> tuple[dict[str, str], int] | None:
        stamps = Stamps({"old": "o 1 2 3", "gone": "g 1 2 3", "a": "b 1 2 3"}, newest)
        for name, time in zip("abc", times, strict=False):
            stamps.note(name, f"1 2 3 {time}", "d")
        return stamps.to_keep(["old", "a", "b", "c"])

    def test_nothing_is_kept_without_reading(self) -> None:
        assert self.settled() is None

    def test_times_of_a_fine_clock(self) -> None:
        early, late = self.LATE - TICK - 1, self.LATE - TICK + 1
        assert self.settled(early, late, self.LATE + 1) == (
            {"old": "o 1 2 3", "a": f"d 1 2 3 {early}"},
            self.LATE + 1,
        )

    def test_times_of_a_coarse_clock(self) -> None:
        early, late = self.LATE - COARSE - 1_000_000_000, self.LATE - COARSE
        assert self.settled(early, late, self.LATE) == ({"old": "o 1 2 3", "a": f"d 1 2 3 {early}"}, self.LATE)

    def test_the_latest_of_earlier_runs_counts(self) -> None:
        assert self.settled(1, newest=TICK) == ({"old": "o 1 2 3"}, TICK)
        assert self.settled(1, newest=TICK + 2) == ({"old": "o 1 2 3", "a": "d 1 2 3 1"}, TICK + 2)

    def test_a_file_is_known_by_its_stamp_and_its_text(self) -> None:
        stamps = Stamps({"a": "d 1 2 3 4"})
        assert stamps.tells("a", "1 2 3 4", "d")
        assert not any(
            stamps.tells(*other) for other in (("b", "1 2 3 4", "d"), ("a", "1 2 3 5", "d"), ("a", "1 2 3 4", "e"))
        )


class TestPlans:
    BOTH = (
        FileChange("m/p/new.yaml", None, "a\n"),
        FileChange("m/p/x.yaml", f"{MARK}a\nb\nc\n", f"{MARK}a\nB\nc\n"),
        FileChange(
            "m/q/old.yaml", f"{MARK}workflows/a.yaml and pools/b.yaml; edit that and run `kubectl tas render`.\n", None
        ),
        FileChange("m/q/.0123456789abcdef.kubectl-tas.tmp", "", None),
    )
    PLAN = Plan(BOTH, ("m/p/same.yaml", "m/q/same.yaml"), "m", "real", frozenset({"m/p"}))

    def test_counts(self) -> None:
        assert self.PLAN.counts == "2 written, 2 removed, 2 unchanged"

    def test_a_part_of_it(self) -> None:
        assert self.PLAN.within("m/p") == Plan(self.BOTH[:2], ("m/p/same.yaml",), "m/p", "real/p")
        assert self.PLAN.within("m/p").locate(self.BOTH[0]) == self.PLAN.locate(self.BOTH[0]) == "real/p/new.yaml"

    def test_what_a_reader_sees_of_it(self) -> None:
        assert self.PLAN.differences == (
            ("m/p/new.yaml", None, "a\n"),
            ("m/p/x.yaml", self.BOTH[1].before, self.BOTH[1].content),
            ("m/q/old.yaml", self.BOTH[2].before, None),
        )

    def test_each_stale_manifest_is_a_finding(self) -> None:
        line = Location("m/p/x.yaml", 2, 1, source="b", length=1)
        assert [(item.message, item.location, item.hint) for item in stale(self.PLAN, "Run: tas render")] == [
            ("this manifest is missing", Location("m/p/new.yaml"), "Run: tas render"),
            ("this manifest differs from what is rendered", line, "Run: tas render"),
            ("nothing declares this manifest any more", Location("m/q/old.yaml"), "Run: tas render"),
        ]

    @pytest.mark.parametrize(
        ("before", "after", "place"),
        [
            ("a\nb", "a\nb\nc", (2, "b", 1)),
            ("a\nbb\n", "a\n", (2, "bb", 2)),
            ("\nb\n", "a\nb\n", (1, "", 1)),
        ],
        ids=["lines are missing", "lines are too many", "an empty line"],
    )
    def test_the_place_of_a_difference(self, before: str, after: str, place: tuple[int, str, int]) -> None:
        (only,) = stale(Plan((FileChange("a", before, after),), (), "m", "m"), "x")
        found = only.location
        assert found is not None
        assert (found.line, found.source, found.length, found.column) == (*place, 1)

    def test_sources_that_are_gone(self) -> None:
        assert bereft(self.PLAN, ["workflows", "pools", "other"]) == {"workflows": 1, "pools": 1}
        listing = FileChange("m/kustomization.yaml", f"{MARK}tas.yaml; edit that and run `kubectl tas render`.\n", "x")
        assert bereft(Plan((*self.BOTH, listing), (), "m", "m"), ["tas.yaml"]) == {"tas.yaml": 2}

    def test_objects_are_written_before_what_lists_them_and_removed_after_it(self, tmp_path: Path) -> None:
        write(tmp_path, {"m/b/kustomization.yaml": MARK, "m/b/a.yaml": MARK})
        written = plan({"m/kustomization.yaml": MARK, "m/z.yaml": MARK}, tmp_path, "m", ())
        seen: list[set[str]] = []
        ticks: list[tuple[int, int]] = []

        def tick(done: int, total: int) -> None:
            ticks.append((done, total))
            seen.append({path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*.yaml")})

        apply_plan(written, tmp_path, tick)
        old = {"m/b/kustomization.yaml", "m/b/a.yaml"}
        assert seen == [
            {"m/z.yaml", *old},
            {"m/z.yaml", "m/kustomization.yaml", *old},
            {"m/z.yaml", "m/kustomization.yaml", "m/b/a.yaml"},
            {"m/z.yaml", "m/kustomization.yaml"},
        ]
        assert ticks == [(1, 4), (2, 4), (3, 4), (4, 4)]

    def test_folders_that_hold_only_what_is_rendered_are_unchanged(self, tmp_path: Path) -> None:
        texts = dict.fromkeys(("m/a/x.yaml", "m/b/x.yaml", "m/c/x.yaml", "m/d/x.yaml"), f"{MARK}a\n")
        write(tmp_path, {**texts, "m/b/README": "", "m/c/x.yaml": f"{MARK}b\n", "m/d/e/f": ""})
        made = plan(texts, tmp_path, "m", ())
        assert made.unchanged_folders == {"m/a"}
        assert sorted(made.same) == ["m/a/x.yaml", "m/b/x.yaml", "m/d/x.yaml"]
        assert [item.path for item in made.changes] == ["m/c/x.yaml"]

    def test_files_with_a_known_stamp_are_not_read_again(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(disk, "TICK", -(10**15))  # all files count as old
        monkeypatch.setattr(disk, "COARSE", -(10**15))
        texts = dict.fromkeys(("m/a/x.yaml", "m/b/x.yaml", "m/c.yaml"), f"{MARK}a\n")
        write(tmp_path, {**texts, "m/c.yaml": f"{MARK}b\n"})
        first = Stamps({})
        assert [item.path for item in plan(texts, tmp_path, "m", (), first).changes] == ["m/c.yaml"]
        settled = first.to_keep(["m/a/x.yaml", "m/b/x.yaml", "m/c.yaml"])
        assert settled is not None
        assert settled[0].keys() == {"m/a/x.yaml", "m/b/x.yaml"}
        read: list[str] = []
        whole = Disk.read
        monkeypatch.setattr(Disk, "read", lambda own, path: (read.append(path), whole(own, path))[1])
        made = plan({**texts, "m/b/x.yaml": f"{MARK}c\n"}, tmp_path, "m", (), Stamps(*settled))
        assert [item.path for item in made.changes] == ["m/b/x.yaml", "m/c.yaml"]
        assert sorted(read) == ["m/b/x.yaml", "m/c.yaml"]
