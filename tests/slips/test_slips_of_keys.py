"""Tests ``python -m fuzz.slips`` on a small repository, and the table of its reasons."""

import pytest

from fuzz import reasons
from fuzz.slips import main


@pytest.mark.sweep
def test_every_silence_of_the_quickstart_has_a_reason(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--repository", "quickstart"]) == 0
    assert "resources.*.gpu: a pod without it asks for none" in capsys.readouterr().out


def test_silence_without_a_reason_fails_the_run(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reasons, "REASONS", ())
    assert main(["--repository", "quickstart", "--only", "delete Workflow *.priority"]) == 1
    assert "not explained: delete Workflow workflow.priority" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("kind", "path", "is_known"),
    [
        ("TFJob", "spec.tfReplicaSpecs.PS", True),
        ("TFJob", "spec.tfReplicaSpecs.PS.template.spec.containers.*.image", False),
        ("Workflow", "workflow.priority", True),
        ("Job", "spec.template.spec.priority", False),
    ],
)
def test_a_reason_is_of_one_field(kind: str, path: str, *, is_known: bool) -> None:
    assert (reasons.reason("delete", kind, path) is not None) is is_known


@pytest.mark.parametrize("row", reasons.REASONS)
def test_no_reason_is_of_all_fields(row: reasons.Row) -> None:
    assert all(field.strip("*.") for field in row[2].split())
