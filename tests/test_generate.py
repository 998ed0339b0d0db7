"""What is generated and committed is what ``python -m tools.generate`` writes."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tools import generate
from tools.generate import COMMAND, differences, main, texts, write
from tools.goldens import ROOT


@pytest.fixture(scope="module", autouse=True)
def generated_once() -> Iterator[None]:
    """Nothing here changes what is generated, which takes seconds."""
    found = texts()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(generate, "texts", lambda: dict(found))
        yield


def test_what_is_committed_is_fresh() -> None:
    assert differences() == [], f"run {COMMAND}"


def test_everything_is_written_once(tmp_path: Path) -> None:
    assert write(tmp_path) == sorted(generate.texts())
    assert write(tmp_path) == []
    assert (tmp_path / "docs/rules.md").read_bytes() == (ROOT / "docs/rules.md").read_bytes()


def test_what_differs_is_found_and_mended(tmp_path: Path) -> None:
    write(tmp_path)
    (tmp_path / "schemas/gone.json").write_text("{}")
    (tmp_path / "schemas/pool.json").write_text("{}")
    (tmp_path / "docs/cli.md").unlink()
    stale = ["docs/cli.md", "schemas/gone.json", "schemas/pool.json"]
    assert differences(tmp_path) == stale
    assert write(tmp_path) == stale
    assert not (tmp_path / "schemas/gone.json").exists()
    assert differences(tmp_path) == []


def test_the_command_checks(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--check"]) == 0
    assert capsys.readouterr().out == ""
    assert main(["--chekc"]) == 2
    assert capsys.readouterr().err == f"usage: {COMMAND} [--check]\n"
