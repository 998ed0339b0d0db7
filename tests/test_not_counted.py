"""Tests that no command takes a document that it cannot read for one that does not exist."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import click
import pytest

from kubectl_tas.cli.main import cli, load
from kubectl_tas.editor.project import judged
from kubectl_tas.editor.views import hint, hover_of_name
from kubectl_tas.load.document import parse
from tests.support.cli import Result, kubectl_tas, pool, subpool, write
from tests.support.kubectl import node

WORKFLOW = 'workflow: {name: train, pool: team, tasks: [{name: t, image: "i:1"}]}\nresources: {default: {gpu: 5}}\n'
WHOLE = {
    "pools/team.yaml": pool("team", 64, "  topology_keys: [{key: rack, label: example.com/rack}]\n"),
    "subpools/a.yaml": subpool("a", 4),
    "workflows/train.yaml": WORKFLOW,
}
SUBPOOL = subpool("big", 60)
GAPS: dict[str, tuple[dict[str, str], str]] = {
    "a misspelled field": ({"subpools/big.yaml": f"{SUBPOOL}  wieght: 2\n"}, "subpools/big.yaml:9:3"),
    "no YAML": ({"subpools/big.yaml": f"{SUBPOOL}  weight: [\n"}, "subpools/big.yaml"),
    "a wrong type": ({"subpools/big.yaml": SUBPOOL.replace("60", "many")}, "subpools/big.yaml:7:10"),
    "an unknown kind": ({"subpools/big.yaml": SUBPOOL.replace("Subpool", "Subpol")}, "subpools/big.yaml:2:7"),
    "no UTF-8": ({"subpools/big.yaml": "\udcff"}, "subpools/big.yaml"),
    "an unknown parent": ({"subpools/big.yaml": SUBPOOL.replace("team", "taem")}, "subpools/big.yaml:4:9"),
    "a name that is there": ({"subpools/big.yaml": SUBPOOL.replace("big", "a")}, "subpools/big.yaml:4:9"),
    "a child pool": ({"pools/z.yaml": pool("z", 60, "  parent: team\n  wieght: 2\n")}, "pools/z.yaml:10:3"),
    "settings": ({"tas.yaml": "apiVersion: tas/v1alpha1\nkind: Config\nspec: {queuePrefx: x}\n"}, "tas.yaml:3:8"),
    "an absent folder": (
        {"tas.yaml": "apiVersion: tas/v1alpha1\nkind: Config\nspec: {sources: [pools, workflows, subpool]}\n"},
        "tas.yaml:3:36",
    ),
    "work": ({"workflows/other.yaml": WORKFLOW.replace("train", "other").replace("tasks", "taks")}, "workflows/other"),
}
HUNG = ("an unknown parent", "a name that is there")
"""Gaps of documents that were read."""
ANSWERS = {
    "admit": ["train"],
    "explain": ["train"],
    "fit": ["train", "--nodes", "nodes.json"],
    "forecast": ["train", "--nodes", "nodes.json", "--assume", "1h", "--now", "2026-11-29T04:00Z"],
    "pool describe": ["team"],
    "pool list": [],
    "pool plan": ["--nodes", "nodes.json", "--grow", "1"],
    "pool share": ["--gpus", "8"],
    "snapshot": ["train", "--to", "out.gz", "--nodes", "nodes.json"],
    "subpool list": [],
    "topology describe": ["osmo-pool-default-team-topology"],
    "topology list": [],
    "topology usage": [],
    "why": ["train", "--cluster-state", "nodes.json"],
    "workflow explain": ["train"],
    "workflow list": [],
    "workflow why": ["train", "--cluster-state", "nodes.json"],
}
"""Commands that answer by what a repository declares, each with its arguments."""
EDITS = {
    "pool create": ["new", "--quota", "1"],
    "pool remove": ["team"],
    "pool rename": ["team", "blue"],
    "subpool create": ["team", "new", "--quota", "1"],
    "subpool drain": [],
    "subpool recreate": ["team", "a", "--quota", "1"],
    "subpool retire": ["team", "a", "--used", "0"],
    "subpool update": ["team", "a", "--quota", "3"],
}
JUDGES = {"check", "diff", "fn", "render", "report", "validate"}
"""Commands that print the findings themselves, or that write nothing while there are errors."""
OTHERS = {
    "adopt", "cluster state", "doctor", "help", "import cluster", "import kueue", "import osmo", "init", "lsp", "mcp",
    "migrate", "nodes generate", "rule", "schema", "topology suggest", "version",
}  # fmt: skip
"""Commands that compute nothing from what a repository declares, or that serve the others."""
NAMES_ALONE = {"name"}
"""Formats that have no place for more than names. Standard error says what they lack."""


def commands(command: Any = cli, words: tuple[str, ...] = ()) -> Iterator[tuple[str, click.Command]]:
    for name in command.list_commands(click.Context(command)):
        below = load(name) if command is cli else command.get_command(click.Context(command), name)
        if hasattr(below, "list_commands"):
            yield from commands(below, (*words, name))
        else:
            yield " ".join((*words, name)), below


def outputs(command: click.Command) -> list[str]:
    options = (option for option in command.params if option.name == "output")
    return [name for option in options for name in getattr(option.type, "choices", ())]


def repository(folder: Path, files: Mapping[str, str]) -> Path:
    write(folder, {path: text for path, text in (WHOLE | dict(files)).items() if "\udcff" not in text})
    for path, text in files.items():
        (folder / path).write_bytes(text.encode("utf-8", "surrogateescape"))
    labelled = node("n1", 8, **{"example.com/rack": "r1"})
    (folder / "nodes.json").write_text(json.dumps({"kind": "List", "items": [labelled]}))
    return folder


def test_no_command_is_forgotten() -> None:
    assert sorted(name for name, _ in commands()) == sorted({*ANSWERS, *EDITS, *JUDGES, *OTHERS})


def answered(root: Path, command: str, output: str | None) -> Result:
    return kubectl_tas(*command.split(), *ANSWERS[command], *(["-o", output] if output else []), cwd=root)


@pytest.mark.parametrize("gap", GAPS)
def test_an_answer_says_what_it_lacks(tmp_path: Path, gap: str) -> None:
    files, place = GAPS[gap]
    root = repository(tmp_path, files)
    for name, command in commands():
        formats = outputs(command) or [None]
        for output in (formats if gap == "a misspelled field" else formats[:1]) if name in ANSWERS else ():
            result = answered(root, name, output)
            assert result.code != 0, (name, output)
            if output in NAMES_ALONE or not result.out:
                assert place in result.err or "error" in result.err, (name, output, result.err)
            else:
                assert place in result.out or place_in(result.out, place), (name, output, result.out)


def place_in(out: str, place: str) -> bool:
    """Whether JSON or YAML names a place as ``path``."""
    return "notCounted" in out and place.partition(":")[0] in out


def test_a_whole_repository_lacks_nothing(tmp_path: Path) -> None:
    """So that no command is refused for another reason."""
    root = repository(tmp_path, {})
    for name, command in commands():
        for output in (outputs(command) or [None]) if name in ANSWERS else ():
            result = answered(root, name, output)
            assert "Incomplete" not in result.out + result.err, (name, output)
            assert "notCounted" not in result.out or output == "csv", (name, output)
            assert result.code == 0 or name.endswith("why") or result.out, (name, output, result.err)


def test_numbers_are_unknown(tmp_path: Path) -> None:
    root = repository(tmp_path, GAPS["a misspelled field"][0])
    team, small = json.loads(kubectl_tas("pool", "list", "-o", "json", cwd=root).out)["pools"]
    assert [team[key] for key in ("quota", "total", "used", "available")] == [None, 64, None, None]
    assert [small[key] for key in ("quota", "used", "available")] == [4, None, None]
    row = next(csv.DictReader(kubectl_tas("pool", "list", "-o", "csv", cwd=root).out.splitlines()))
    assert (row["quota"], row["available"], row["notCounted"]) == ("", "", "subpools/big.yaml:9:3")
    (work,) = json.loads(kubectl_tas("workflow", "list", "-o", "json", cwd=root).out)["workflows"]
    assert work["verdict"] == "unknown"
    asked = json.loads(kubectl_tas("admit", "train", "-o", "json", cwd=root).out)["workflows"][0]
    assert (asked["verdict"], asked["quota"], asked["used"]) == ("unknown", None, None)


def test_usage_that_is_given_makes_up_for_unread_work_alone(tmp_path: Path) -> None:
    root = repository(tmp_path / "work", GAPS["work"][0])
    assert "Verdict:   ADMITTED" in kubectl_tas("admit", "train", "--used", "0", cwd=root).out
    assert "Verdict:   UNKNOWN" in kubectl_tas("admit", "train", cwd=root).out
    root = repository(tmp_path / "quota", GAPS["a misspelled field"][0])
    assert "Verdict:   UNKNOWN" in kubectl_tas("admit", "train", "--used", "0", cwd=root).out


def test_a_refusal_stays_a_refusal(tmp_path: Path) -> None:
    files = {**GAPS["a misspelled field"][0], "workflows/train.yaml": WORKFLOW.replace("5", "100")}
    assert "Verdict:   REJECTED" in kubectl_tas("admit", "train", cwd=repository(tmp_path, files)).out


@pytest.mark.parametrize("gap", GAPS)
def test_no_edit_is_made_beside_an_unread_document(tmp_path: Path, gap: str) -> None:
    files, place = GAPS[gap]
    root = repository(tmp_path, files)
    before = {path: path.read_bytes() for path in root.rglob("*") if path.is_file()}
    for name, words in EDITS.items():
        if gap in HUNG and name.startswith("pool"):  # a rename that was killed is finished by another
            continue
        result = kubectl_tas(*name.split(), *words, cwd=root)
        assert result.code == 1 or name == "subpool drain", (name, result.err)
        assert place in result.err, (name, result.err)
        assert {path: path.read_bytes() for path in root.rglob("*") if path.is_file()} == before


@pytest.mark.parametrize("gap", ["a misspelled field", "an unknown parent", "settings"])
def test_pages_and_pictures_for_people(tmp_path: Path, gap: str) -> None:
    files, place = GAPS[gap]
    root = repository(tmp_path, files)
    kubectl_tas("report", "--to", "site", cwd=root)
    for page in (root / "site").rglob("*.html"):
        assert f"what {place} declares is not counted" in page.read_text(), page


def test_what_an_editor_shows(tmp_path: Path) -> None:
    root = repository(tmp_path, GAPS["a misspelled field"][0])
    judgement = judged(root, {"workflows/train.yaml": WORKFLOW.encode()})
    (work,) = judgement.fleet.submissions
    assert hint(judgement, work).endswith("UNKNOWN")
    for path, at in (("pools/team.yaml", ("metadata", "name")), ("workflows/train.yaml", ("workflow", "name"))):
        documents, _ = parse(path, (root / path).read_text())
        (card,) = hover_of_name(documents[0], at, judgement.fleet)
        assert "subpools/big.yaml:9:3" in card, card
