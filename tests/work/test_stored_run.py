"""Tests that results of unchanged bytes are not computed again, and that every change on disk is noticed."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from kubectl_tas.emit.disk import COARSE, TICK, Stamps
from kubectl_tas.load.source import FolderSource, MemorySource
from kubectl_tas.store.cache import Store
from kubectl_tas.work import processes, stored_run
from kubectl_tas.work import run as running
from kubectl_tas.work.run import Effort, SourceFiles
from kubectl_tas.work.stored_run import RecordedSource, RenderedFiles, RunOutcome, StoredRun, judge_or_recall
from tests.support.cli import kubectl_tas, write
from tests.work.repositories import POOL

WORKFLOW = """\
workflow:
  name: {name}
  pool: team
  tasks:
  - name: main
    image: busybox:1.37
    command: [sleep, "{seconds}"]
    files:
    - {{path: /tmp/run.sh, localpath: ../scripts/run.sh}}
  resources: {{default: {{gpu: 1, cpu: 1, memory: 1Gi}}}}
"""


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository that was rendered, and rendered again."""
    monkeypatch.setattr(running, "LEAST_KEPT", 0)
    monkeypatch.setenv("KUBECTL_TAS_CACHE", str(tmp_path / "kept"))
    files = {f"workflows/w{n}.yaml": WORKFLOW.format(name=f"train-{n}", seconds=n) for n in range(3)}
    write(tmp_path / "repository", {"pools/team.yaml": POOL.format(name="team", gpus=8), **files})
    root = tmp_path / "repository"
    (root / "scripts").mkdir()
    (root / "scripts/run.sh").write_text("echo one\n")
    assert "0 unchanged" in kubectl_tas("render", cwd=root).err
    assert " 0 written, 0 removed" in kubectl_tas("render", cwd=root).err
    return root


def manifest(root: Path) -> Path:
    """One of those that were rendered; all are older than the clock can mistake."""
    found = sorted((root / "manifests").rglob("podgroup-*.yaml"))[0]
    kubectl_tas("render", cwd=root)
    return found


@pytest.mark.parametrize("part", [1, 4, 5, 100])
def test_a_layout_is_kept_in_parts(store: Store, monkeypatch: pytest.MonkeyPatch, part: int) -> None:
    """Without one of them nothing of it is there."""
    monkeypatch.setattr(stored_run, "_BATCH", part)
    stored = StoredRun(
        store, RecordedSource(MemorySource({})), SourceFiles(MemorySource({})), (), Effort(store=store), render=True
    )
    kept = RenderedFiles({f"manifests/{number}.yaml": str(number) for number in range(9)}, {"prod": 9})
    stored.keep_rendered(kept)
    assert stored.rendered == kept
    lost = stored_run._batch_key(stored.rendered_key, -(-9 // part) - 1)
    store.put([(lost, b"[[]]")])
    assert stored.rendered is None


def test_a_source_still_answers_what_it_was_asked(tmp_path: Path) -> None:
    """Which folders are there, and any part of a file: its bytes, whether it can be read, and whether it may be run."""
    file = write(tmp_path, {"a/b": "content"}) / "a/b"
    asked = RecordedSource(FolderSource(tmp_path))
    assert (asked.has_folder("a"), asked.has_folder("c"), asked.local_file("a/b").content) == (True, False, b"content")

    def still() -> bool:
        return RecordedSource(FolderSource(tmp_path)).still_answers(asked.answers)

    assert still()
    for change, back in (
        (lambda: file.write_text("other"), lambda: file.write_text("content")),
        (lambda: file.chmod(0o755), lambda: file.chmod(0o644)),
        (lambda: file.rename(tmp_path / "x"), lambda: (tmp_path / "x").rename(file)),
        (lambda: (tmp_path / "c").mkdir(), lambda: (tmp_path / "c").rmdir()),
    ):
        change()
        assert not still()
        back()
        assert still()
    (tmp_path / "a").rename(tmp_path / "d")
    assert not still()


def test_a_run_is_kept_with_its_findings_waivers_and_refusals(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(running, "LEAST_KEPT", 0)
    files = {
        "pools/team.yaml": POOL.format(name="team", gpus=8),
        "workflows/a.yaml": "# kubectl-tas: ignore[suspended]\nworkflow: {name: a}\n",
    }
    effort = Effort(1, store)

    def run(**more: str) -> RunOutcome:
        source = MemorySource({path: text.encode() for path, text in {**files, **more}.items()})
        return judge_or_recall(source, (), effort, render=False)

    first, again = run(), run()
    assert first.judged is not None
    assert again.judged is None
    assert again.findings == first.findings != ()
    assert again.fleet.repository.files == tuple(sorted(files))
    assert again.fleet.repository.waivers == first.fleet.repository.waivers != ()
    assert (again.is_empty, again.loaded.complete, again.loaded.refused) == (
        first.is_empty,
        first.loaded.complete,
        first.loaded.refused,
    )
    assert again.full.findings == first.findings
    assert run(**{"pools/team.yaml": POOL.format(name="team", gpus=9)}).judged is not None
    assert run().judged is None


def test_nothing_is_compiled_where_nothing_has_changed(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def none(*_rest: object) -> object:
        raise AssertionError

    monkeypatch.setattr(processes, "outcome", none)
    monkeypatch.setattr("kubectl_tas.compile.compile_work", none)
    done = kubectl_tas("render", cwd=root)
    assert (done.code, done.out) == (0, "")
    assert done.err.startswith("Rendered 16 objects to manifests: 0 written, 0 removed, 17 unchanged.")
    assert kubectl_tas("check", cwd=root).code == 0
    assert kubectl_tas("validate", cwd=root).code == 0


def test_what_was_rendered_was_judged_too(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(3):  # files that make sense alone
        file = root / f"workflows/w{number}.yaml"
        file.write_text(file.read_text().partition("    files:")[0] + "  resources: {default: {gpu: 1, cpu: 1}}\n")
    kubectl_tas("render", cwd=root)
    made: list[str] = []
    really = processes.outcome
    monkeypatch.setattr(processes, "outcome", lambda raw, *rest: made.append(raw.path) or really(raw, *rest))
    changed = root / "workflows/w1.yaml"
    changed.write_text(changed.read_text().replace("busybox:1.37", "busybox:1.38"))
    assert kubectl_tas("validate", cwd=root).code == 0
    assert made == ["workflows/w1.yaml"]


def test_findings_are_the_same_again(root: Path) -> None:
    (root / "tas.yaml").write_text(
        "apiVersion: tas/v1alpha1\nkind: Config\nmetadata: {name: c}\nspec: {rules: {no-such: off}}\n"
    )
    (root / "workflows/bad.yaml").write_text("# kubectl-tas: ignore[quota-shared]\nworkflow: {name: a}\n")
    first = kubectl_tas("validate", "-o", "json", cwd=root)
    assert first.code == 1
    assert kubectl_tas("validate", "-o", "json", cwd=root) == first
    assert kubectl_tas("render", cwd=root) == kubectl_tas("render", "--no-cache", cwd=root)


@pytest.mark.parametrize("command", ["check", "validate", "render"])
def test_a_file_that_git_has_and_no_folder_holds(root: Path, command: str) -> None:
    """A localpath is read again."""
    (root / "scripts/run.sh").write_text("echo two\n")
    assert kubectl_tas(command, cwd=root) == kubectl_tas(command, "--no-cache", cwd=root) or command == "render"
    assert kubectl_tas("check", cwd=root).code == (0 if command == "render" else 1)
    (root / "scripts/run.sh").unlink()
    assert "local-file" in kubectl_tas("validate", cwd=root).out


def test_a_folder_that_is_gone(root: Path) -> None:
    (root / "workflows").rename(root / "elsewhere")
    assert kubectl_tas("render", cwd=root).code == 3
    (root / "elsewhere").rename(root / "workflows")
    assert kubectl_tas("render", cwd=root).code == 0


def test_values_of_templates_on_the_command_line(root: Path) -> None:
    (root / "workflows/t.yaml").write_text(
        WORKFLOW.format(name="templated", seconds="{{ n }}").replace("\n", "\n", 1) + "default-values: {n: 7}\n"
    )
    assert kubectl_tas("render", cwd=root).code == 0
    assert kubectl_tas("check", cwd=root).code == 0
    assert kubectl_tas("check", "--set", "n=8", cwd=root).code == 1
    assert kubectl_tas("check", cwd=root).code == 0


def test_the_guard_on_the_command_line(root: Path) -> None:
    assert kubectl_tas("check", cwd=root).code == 0
    assert kubectl_tas("check", "--guard", cwd=root).code == 1
    assert kubectl_tas("render", "--guard", cwd=root).code == 0
    assert kubectl_tas("check", "--guard", cwd=root).code == 0
    assert kubectl_tas("check", cwd=root).code == 1


@pytest.mark.parametrize("edit", ["text", "size", "times", "moved", "link", "removed", "added"])
def test_what_has_changed_in_the_output(root: Path, edit: str) -> None:
    """``render`` mends it and ``check`` tells of it, also where the size and the time of change are as they were."""
    file = manifest(root)
    status, content = file.stat(), file.read_text()
    other = content.replace("train-0", "train-9")
    if edit == "text":
        file.write_text(content + "# more\n")
    elif edit == "size":
        file.write_text(other)
    elif edit in ("times", "moved"):
        file.write_text(other)
        back = 10**9 * 3600 if edit == "moved" else 0
        os.utime(file, ns=(status.st_atime_ns - back, status.st_mtime_ns - back))
    elif edit == "link":
        (root / "aside").write_text(content)
        file.unlink()
        file.symlink_to(root / "aside")
    elif edit == "removed":
        file.unlink()
    else:
        file.with_name("extra.yaml").write_text(content)
    assert kubectl_tas("check", cwd=root).code != 0
    done = kubectl_tas("render", cwd=root)
    if edit == "link":
        assert "in the way" in done.err
        return
    assert "1 written, 0 removed" in done.err or (edit == "added" and "0 written, 1 removed" in done.err)
    assert file.read_text() == content
    assert kubectl_tas("check", cwd=root).code == 0


def test_render_reads_no_file_that_is_as_it_was(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """And reads the latest ones, which may change again within one tick of the clock; ``check`` reads all."""
    from kubectl_tas.emit.disk import Disk

    latest = min((root / "manifests").rglob("*.yaml"))
    time.sleep(2 * TICK / 10**9)
    os.utime(latest)
    kubectl_tas("render", cwd=root)
    read: list[str] = []
    really = Disk.read
    monkeypatch.setattr(Disk, "read", lambda self, path: read.append(path) or really(self, path))
    kubectl_tas("render", cwd=root)
    assert read == [latest.relative_to(root).as_posix()]
    for command in (["check"], ["render", "--no-cache"]):
        read.clear()
        kubectl_tas(*command, cwd=root)
        assert len(read) == 17


def status(size: int, time: int) -> str:
    return f"{size} 1 {time} {time}"


def test_stamps() -> None:
    """A file is known by its stamp once it is older than the latest one by more than a tick."""
    stamps = Stamps({})
    assert not stamps.tells("a", status(5, 10**9 + 1), "digest")
    stamps.note("a", status(5, 10**9 + 1), "digest")
    stamps.note("b", status(5, 10**9 + 1 + TICK), "digest")
    stamps.note("c", status(5, 10**9 + 2 + TICK), "digest")
    settled = stamps.to_keep({"a", "b", "c"})
    assert settled is not None
    later = Stamps(*settled)
    assert later.tells("a", status(5, 10**9 + 1), "digest")
    assert not later.tells("a", status(5, 10**9 + 1), "other")
    assert not later.tells("a", status(6, 10**9 + 1), "digest")
    assert not later.tells("a", status(5, 10**9), "digest")
    assert not later.tells("b", status(5, 10**9 + 1 + TICK), "digest"), "within a tick of the latest"
    assert later.to_keep({"a"}) is None, "nothing was read"
    later.note("d", status(1, 7), "digest")
    assert later.to_keep({"d"}) == ({"d": "digest 1 1 7 7"}, 10**9 + 2 + TICK), "a file that is gone is forgotten"


def test_stamps_of_whole_seconds() -> None:
    """A file system with coarse times needs a longer wait."""
    stamps = Stamps({})
    stamps.note("a", status(5, 10**9), "digest")
    stamps.note("b", status(5, 10**9 + COARSE), "digest")
    stamps.note("c", status(5, 2 * 10**9 + COARSE), "digest")
    assert stamps.to_keep({"a", "b", "c"}) == ({"a": f"digest {status(5, 10**9)}"}, 2 * 10**9 + COARSE)
