"""Tests ``version``, ``help``, and environment variables that replace options."""

from __future__ import annotations

import json
import platform
from pathlib import Path

import pytest

from kubectl_tas import __version__
from kubectl_tas.facts import kai
from tests.support.cli import kubectl_tas, pool, subpool, write
from tests.support.history import commit


class TestVersion:
    def test_text(self) -> None:
        lines = kubectl_tas("version").out.splitlines()
        assert lines[0].split() == ["kubectl-tas:", __version__]
        assert lines[1].split() == ["Python:", platform.python_version()]
        assert lines[2].split()[:2] == ["KAI:", "0.2.0"]
        assert lines[3].startswith("Grove: ")

    def test_json(self) -> None:
        found = json.loads(kubectl_tas("version", "-o", "json").out)
        assert found.keys() == {"version", "tool", "python", "kai", "grove"}
        assert (found["version"], found["tool"]) == (1, __version__)
        assert all(kai.release(version) is not None for version in found["kai"])
        assert len(found["kai"]) == len(kai.NEWEST_PATCHES)


class TestHelp:
    @pytest.mark.parametrize("words", ["", "validate", "pool", "pool list", "help"])
    def test_is_that_of_the_command(self, words: str) -> None:
        told = kubectl_tas("help", *words.split())
        assert (told.code, told.err) == (0, "")
        assert told.out == kubectl_tas(*words.split(), "--help").out

    @pytest.mark.parametrize("words", ["valdate", "pool lst", "validate pools"])
    def test_of_no_command(self, words: str) -> None:
        result = kubectl_tas("help", *words.split())
        assert (result.code, result.out) == (2, "")


class TestEnvironment:
    @pytest.fixture
    def team(self, repository: Path) -> Path:
        return write(repository, {"pools/team.yaml": pool(), "subpools/a.yaml": subpool("a", 90)})

    def test_directory(self, team: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("KUBECTL_TAS_DIRECTORY", str(team))
        assert kubectl_tas("pool", "list", "-o", "name", cwd=tmp_path).out == "team\nteam--a\n"
        monkeypatch.setenv("KUBECTL_TAS_DIRECTORY", str(tmp_path))
        for arguments in (["-C", team, "validate"], ["validate", "-C", team]):
            assert kubectl_tas(*arguments, cwd=tmp_path).code == 0
        assert kubectl_tas("validate", cwd=team).code == 3

    def test_base(self, team: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        commit(team)
        (team / "subpools/a.yaml").unlink()
        monkeypatch.setenv("KUBECTL_TAS_BASE", "HEAD")
        result = kubectl_tas("validate", "-C", team)
        assert (result.code, "[subpool-removed]" in result.out) == (1, True)
        monkeypatch.setenv("KUBECTL_TAS_BASE", "")
        assert kubectl_tas("validate", "-C", team).code == 0

    @pytest.mark.parametrize("words", [(), ("validate",)])
    def test_is_documented(self, words: tuple[str, ...]) -> None:
        name = "KUBECTL_TAS_BASE" if words else "KUBECTL_TAS_DIRECTORY"
        assert f"[env var: {name}]" in " ".join(kubectl_tas(*words, "--help").out.split())
