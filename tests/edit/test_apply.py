"""Tests edits on disk: several at once, files that change at the same time, and killed processes."""

from __future__ import annotations

import json
import os
import random
import signal
import stat
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from kubectl_tas.base.diagnostics import TasError
from kubectl_tas.edit import subpool_edits as subpools
from kubectl_tas.edit.apply import FileEdit, lock
from kubectl_tas.edit.apply import write as write_edits
from kubectl_tas.emit.disk import TEMPORARY
from tests.support.cli import kubectl_tas, pool, subpool, write
from tests.support.process import SCRIPTS, call, environment
from tests.support.rendered import files_below

COMMENTED = f"# why\n{subpool('a', 30)}# end"


def start(root: Path, *arguments: str) -> subprocess.Popen[bytes]:
    """A ``subpool`` command that runs beside us."""
    command = [SCRIPTS / "kubectl-tas", "subpool", *arguments, "-C", root]
    return subprocess.Popen(command, env=environment(), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def quotas(root: Path) -> dict[str, int]:
    listed = json.loads(kubectl_tas("subpool", "list", "-o", "json", "-C", root).out)["subpools"]
    return {item["name"]: item["quota"] for item in listed}


@pytest.mark.sweep
class TestAtOnce:
    def test_creations_never_take_more_than_there_is(self, repository: Path) -> None:
        write(repository, {"pools/team.yaml": pool()})
        running = [start(repository, "create", "team", name, "--quota", "25") for name in "abcde"]
        codes = [process.wait(timeout=120) for process in running]
        assert sorted(codes) == [0] * 4 + [1]
        assert quotas(repository) == {name: 25 for name, code in zip("abcde", codes, strict=True) if code == 0}
        assert kubectl_tas("validate", "-C", repository).code == 0

    def test_updates_of_one_file_are_all_kept(self, repository: Path) -> None:
        names = "abcd"
        text = "---\n".join(f"# {name}\n{subpool(name, 1)}" for name in names)
        write(repository, {"pools/team.yaml": pool(), "subpools/all.yaml": text})
        running = [start(repository, "update", "team", name, "--quota", str(i)) for i, name in enumerate(names, 10)]
        assert [process.wait(timeout=120) for process in running] == [0] * 4
        expected = "---\n".join(f"# {name}\n{subpool(name, i)}" for i, name in enumerate(names, 10))
        assert (repository / "subpools/all.yaml").read_text() == expected

    def test_renderings_are_those_of_the_last_edit(self, repository: Path) -> None:
        write(repository, {"pools/team.yaml": pool()})
        running = [start(repository, "create", "team", name, "--quota", "20", "--render") for name in "abcd"]
        assert [process.wait(timeout=120) for process in running] == [0] * 4
        assert kubectl_tas("check", "-C", repository).code == 0

    def test_an_edit_waits_for_the_lock(self, repository: Path) -> None:
        write(repository, {"pools/team.yaml": pool()})
        with lock(repository):
            waiting = start(repository, "create", "team", "a", "--quota", "20")
            with pytest.raises(subprocess.TimeoutExpired):
                waiting.wait(timeout=1.5)
            assert quotas(repository) == {}
        assert waiting.wait(timeout=120) == 0
        assert quotas(repository) == {"a": 20}


class TestChangedMeanwhile:
    """An editor that knows nothing of the lock saves the file after it was read."""

    def delete(self, root: Path, monkeypatch: pytest.MonkeyPatch, meanwhile: str) -> tuple[int, str]:
        write(root, {"pools/team.yaml": pool(), "subpools/a.yaml": COMMENTED})

        def planned(*arguments: Any, **named: Any) -> Any:
            subprocess.run(["sh", "-c", meanwhile], cwd=root, check=True)
            return plan(*arguments, **named)

        plan = subpools.retire
        monkeypatch.setattr(subpools, "retire", planned)
        result = kubectl_tas("subpool", "retire", "team", "a", "--used", "0", "-C", root)
        return result.code, result.err

    def test_its_document_says_something_else(self, repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        code, err = self.delete(repository, monkeypatch, "sed -i 's/quota: 30/quota: 31/' subpools/a.yaml")
        assert (code, err) == (
            3,
            "error: subpools/a.yaml was changed meanwhile; nothing was written to it\n  = help: Run again.\n",
        )
        assert (repository / "subpools/a.yaml").read_text() == COMMENTED.replace("30", "31")

    def test_it_is_gone(self, repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        code, err = self.delete(repository, monkeypatch, "rm -f subpools/a.yaml")
        assert (code, "was changed meanwhile" in err) == (3, True)
        assert not (repository / "subpools/a.yaml").exists()

    def test_it_is_no_yaml_any_more(self, repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        code, err = self.delete(repository, monkeypatch, "printf '{\\377' > subpools/a.yaml")
        assert (code, "was changed meanwhile" in err) == (3, True)
        assert (repository / "subpools/a.yaml").read_bytes() == b"{\xff"

    def test_a_new_comment_is_kept(self, repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        code, _ = self.delete(repository, monkeypatch, "sed -i '1s/^/# new\\n/' subpools/a.yaml")
        assert code == 0
        assert (repository / "subpools/a.yaml").read_text() == f"# new\n{COMMENTED}".replace("ACTIVE", "ARCHIVED")

    @pytest.mark.parametrize("before", [b"other", None])
    def test_between_the_check_and_the_writing(self, tmp_path: Path, before: bytes | None) -> None:
        (tmp_path / "a.yaml").write_bytes(b"theirs")
        with pytest.raises(TasError, match=r"^a\.yaml was changed meanwhile"):
            write_edits(tmp_path, [FileEdit("a.yaml", before, b"ours")])
        assert (tmp_path / "a.yaml").read_bytes() == b"theirs"


class TestKilled:
    @pytest.mark.sweep
    @pytest.mark.parametrize(
        "command",
        [("update", "team", "a", "--quota", "7"), ("create", "team", "z", "--quota", "7"), ("drain", "--used", "0")],
        ids=lambda command: command[0],
    )
    def test_at_every_step(self, command: tuple[str, ...], repository: Path) -> None:
        files = {f"subpools/{name}.yaml": f"# {name}\n{subpool(name, 9, state='DELETING')}" for name in "xy"}
        write(repository, {"pools/team.yaml": pool(), "subpools/a.yaml": COMMENTED, **files})
        result = call(
            sys.executable, "-m", "tests.support.killed_edit", repository, "subpool", *command, cwd=repository.parent
        )
        assert (result.code, result.err) == (0, "")
        assert int(result.out) >= 2

    @pytest.mark.sweep
    def test_at_random_moments(self, repository: Path) -> None:
        write(repository, {"pools/team.yaml": pool(), "subpools/a.yaml": COMMENTED})
        file, moments = repository / "subpools/a.yaml", random.Random(7)
        for quota in range(40, 52):
            before = file.read_text()
            running = start(repository, "update", "team", "a", "--quota", str(quota))
            time.sleep(moments.uniform(0.0, 0.5))
            running.send_signal(signal.SIGKILL)
            running.wait(timeout=120)
            assert file.read_text() in (before, COMMENTED.replace("30", str(quota)))
        (repository / f"subpools/.0123456789abcdef{TEMPORARY}").write_text("half of it")
        assert kubectl_tas("subpool", "update", "team", "a", "--quota", "60", "-C", repository).code == 0
        assert [path.name for path in files_below(repository / "subpools")] == ["a.yaml"]
        assert file.read_text() == COMMENTED.replace("30", "60")


class TestFiles:
    @pytest.fixture
    def team(self, repository: Path) -> Path:
        return write(repository, {"pools/team.yaml": pool(), "subpools/a.yaml": COMMENTED})

    def test_the_mode_stays(self, team: Path) -> None:
        file = team / "subpools/a.yaml"
        file.chmod(0o640)
        assert kubectl_tas("subpool", "update", "team", "a", "--quota", "7", "-C", team).code == 0
        assert stat.S_IMODE(file.stat().st_mode) == 0o640

    def test_a_link_stays_a_link(self, team: Path) -> None:
        (team / "subpools/a.yaml").rename(team / "a.txt")
        (team / "subpools/a.yaml").symlink_to("../a.txt")
        assert kubectl_tas("subpool", "update", "team", "a", "--quota", "7", "-C", team).code == 0
        assert (team / "subpools/a.yaml").is_symlink()
        assert (team / "a.txt").read_text() == COMMENTED.replace("30", "7")

    def test_a_full_disk(self, team: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        def full(_: int) -> None:
            raise OSError(28, "No space left on device")

        monkeypatch.setattr(os, "fsync", full)
        result = kubectl_tas("subpool", "update", "team", "a", "--quota", "7", "-C", team)
        assert result.code == 3
        assert result.err.startswith("error: cannot write subpools/a.yaml: No space left on device\n")
        assert (team / "subpools/a.yaml").read_text() == COMMENTED
        assert [path.name for path in files_below(team / "subpools")] == ["a.yaml"]
