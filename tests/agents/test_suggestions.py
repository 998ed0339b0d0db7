"""Tests patches without a command that answers: the edits that are tried, and the reasons for having no patch."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

import pytest

from kubectl_tas.agents import patching
from kubectl_tas.agents.asking import AgentServer, Call, Said
from kubectl_tas.base.diagnostics import TasError
from kubectl_tas.base.late import dataclass
from tests.support.cli import write

Answer = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Scripted(Call):
    """A call whose commands have these answers, by the first words; of a list, each call takes the next."""

    answers: Mapping[str, Any] = None  # type: ignore[assignment]

    def ask(self, words: Sequence[str], *, stdin: str = "", root: Path | None = None) -> Said:
        name = " ".join(word for word in words[:2] if not word.startswith("-"))
        found = self.answers[name]
        return Said(found.pop(0) if isinstance(found, list) else found, f"{name} has no answer")


def suggested(
    root: Path, given: Answer, nodes: Sequence[str] = (), **answers: Any
) -> tuple[str, str | None, list[str]]:
    """The message, the patch and the other changes that come of these answers."""
    named = {name.replace("_", " "): answer for name, answer in answers.items()}
    said = patching.suggest(Scripted(AgentServer(root, 60, nodes=tuple(nodes)), answers=named), given)
    if said.answer is None:
        return said.notes, None, []
    assert said.answer["version"] == 1
    assert said.notes == ""
    return said.answer["message"], said.answer["patch"], said.answer["others"]


def finding(line: int, column: int, fix: tuple[str, str] | None = None, **fields: Any) -> Answer:
    """A finding of a file, with the word that is written and the one that is meant."""
    return {
        "message": "m.",
        "hint": "h",
        "waiver": None,
        "location": {"path": "w.yaml", "line": line, "column": column},
        "fix": fix and {"written": fix[0], "meant": fix[1]},
        **fields,
    }


FIX = ("teem", "team")


class TestFile:
    @pytest.mark.parametrize(
        ("found", "left", "message", "others"),
        [
            ([], [], "There is no patch: the file has no findings.", []),
            (
                [finding(1, 1)],
                [],
                "There is no patch: no finding says exactly what to write instead.",
                ["m. h"],
            ),
            ([finding(1, 7, FIX, waiver="w")], [], "There is no patch: the file has no findings.", []),
            ([finding(1, 7, FIX, location=None)], [], "There is no patch: the file has no findings.", []),
            ([finding(1, 1, FIX)], [], "There is no patch: no finding says exactly what to write instead.", []),
            ([finding(3, 7, FIX)], [], "There is no patch: no finding says exactly what to write instead.", []),
            ([finding(0, 0, FIX)], [], "There is no patch: no finding says exactly what to write instead.", []),
            (
                [finding(1, 7, FIX)],
                [finding(1, 7)],
                "There is no patch: the words that findings suggest lead to other findings.",
                [],
            ),
            ([finding(1, 7, FIX)], [finding(1, 7, waiver="w")], "The patch mends 1 of 1 findings.", []),
            ([finding(1, 7, FIX), finding(1, 1, hint="")], [finding(1, 1)], "The patch mends 1 of 2 findings.", ["m."]),
        ],
    )
    def test_words(
        self, tmp_path: Path, found: list[Answer], left: list[Answer], message: str, others: list[str]
    ) -> None:
        write(tmp_path, {"w.yaml": "pool: teem # teem\n"})
        first, then = {"diagnostics": found}, {"diagnostics": left}
        said, patch, beside = suggested(tmp_path, {"path": "w.yaml"}, validate=[first, then])
        assert (said, beside) == (message, others)
        assert (patch is not None) == message.startswith("The patch")
        if patch is not None:
            assert patch.splitlines()[-2:] == ["-pool: teem # teem", "+pool: team # teem"]

    def test_words_are_replaced_from_the_last_place_on(self) -> None:
        """A place may be that of the quote before a word, and several findings may have one place."""
        found = [
            finding(2, 5, ("b", "long")),
            finding(2, 10, ("c", "x")),
            finding(2, 5, ("b", "long")),
            finding(1, 1, ("a", "z")),
        ]
        assert patching._mended("a\na: ['b', c]\n", found) == "z\na: ['long', x]\n".replace("['", "['")

    def test_a_command_without_an_answer_is_told(self, tmp_path: Path) -> None:
        assert suggested(tmp_path, {"path": "w.yaml"}, validate=None) == ("validate has no answer", None, [])

    def test_a_file_that_is_no_text(self, tmp_path: Path) -> None:
        (tmp_path / "w.yaml").write_bytes(b"\xff")
        with pytest.raises(TasError) as caught:
            suggested(tmp_path, {"path": "w.yaml"}, validate={"diagnostics": []})
        assert (caught.value.message, caught.value.hint) == ("the file is not UTF-8", "Save it as UTF-8.")
        with pytest.raises(TasError) as caught:
            suggested(tmp_path, {"path": "x.yaml"}, validate={"diagnostics": []})
        assert caught.value.hint == "Name a file of the repository."


WORK = "a: b\nreplicas: 4\n"


def change(kind: str = "pods", text: str = "Make it smaller.", fewer: int = 0) -> Answer:
    return {"kind": kind, "text": text, "fewer": fewer}


def fit(outcome: str, *changes: Answer, left_out: Sequence[str] = ()) -> Answer:
    return {"leftOut": list(left_out), "gangs": [{"outcome": outcome, "changes": list(changes), "levels": ["rack"]}]}


WAITS = fit("waits", change(fewer=1), change())


class TestWork:
    """Work that its queue admits, and that may have no place on the nodes."""

    ADMITTED: ClassVar[Answer] = {"workflows": [{"verdict": "admitted", "hint": ""}]}
    EXPLAINED: ClassVar[Answer] = {"file": "w.yaml"}

    @pytest.mark.parametrize(
        ("fits", "explained", "text", "message"),
        [
            ([{"gangs": [], "leftOut": []}], EXPLAINED, WORK, "There is no patch: there is no answer for it."),
            ([fit("fits")], EXPLAINED, WORK, "There is no patch: KAI places it."),
            ([fit("runs")], EXPLAINED, WORK, "There is no patch: KAI places it."),
            (
                [WAITS],
                {"items": [{"file": "w.yaml"}, {"file": "x.yaml"}]},
                WORK,
                "There is no patch: several files have work of that name. Write KIND/NAME.",
            ),
            (
                [WAITS],
                EXPLAINED,
                "a: b\n",
                "There is no patch: no small edit is known that helps. Choose from `others`.",
            ),
            ([WAITS, WAITS], EXPLAINED, WORK, "There is no patch: none of the edits that were tried is enough."),
            (
                [WAITS, fit("fits", left_out=["x"])],
                EXPLAINED,
                WORK,
                "There is no patch: none of the edits that were tried is enough.",
            ),
            ([WAITS, None], EXPLAINED, WORK, "There is no patch: none of the edits that were tried is enough."),
            ([WAITS, fit("fits")], EXPLAINED, WORK, "With the patch, KAI places x."),
            ([WAITS, fit("fits")], {"items": [{"file": "w.yaml"}] * 2}, WORK, "With the patch, KAI places x."),
            (
                [WAITS, fit("fits")],
                EXPLAINED,
                f"{WORK}password: hunter2hunter2\n",
                "There is no patch: the file holds a secret, which no answer shows.",
            ),
            ([None], EXPLAINED, WORK, "fit has no answer"),
            ([WAITS], None, WORK, "workflow explain has no answer"),
        ],
    )
    def test_placement(
        self, tmp_path: Path, fits: list[Any], explained: Answer | None, text: str, message: str
    ) -> None:
        write(tmp_path, {"w.yaml": text})
        answers = {"admit": self.ADMITTED, "fit": fits, "workflow_explain": explained}
        said, patch, others = suggested(tmp_path, {"work": "x"}, ["--nodes=n"], **answers)
        assert said == message
        assert (patch is None) == (not message.startswith("With"))
        if "KAI places" not in message and "answer" not in message:
            assert others == ["Make it smaller."]
        assert (tmp_path / "w.yaml").read_text() == text

    def test_without_an_answer_of_admit(self, tmp_path: Path) -> None:
        assert suggested(tmp_path, {"work": "x"}, admit=None)[0] == "admit has no answer"

    def test_a_large_repository_is_not_copied(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        root = tmp_path / "repository"
        write(root, {"w.yaml": WORK, "big": "", ".git/objects/big": ""})
        os.truncate(root / ".git/objects/big", 65 * 1024 * 1024)
        answers = {"admit": self.ADMITTED, "fit": [WAITS, WAITS], "workflow_explain": self.EXPLAINED}
        os.truncate(root / "big", 65 * 1024 * 1024)
        with pytest.raises(TasError) as caught:
            suggested(root, {"work": "x"}, ["--nodes=n"], **answers)
        assert (caught.value.message, caught.value.hint) == (
            "the repository has more than 64 MiB or 20000 files, too many to try an edit",
            "Ask `fit`, which names the changes that help.",
        )
        (root / "big").unlink()
        copy = patching._copied(root, tmp_path / "copy")
        assert sorted(path.name for path in copy.rglob("*")) == ["w.yaml"]


class TestQueue:
    """Work that its queue never admits."""

    ASKED: ClassVar[Answer] = {
        "verdict": "rejected",
        "hint": "Ask for less.",
        "pool": "team--a",
        "gpus": 10,
        "quota": 8,
        "used": 3,
        "priority": "NORMAL",
    }
    TEXT = "workflow:\n  name: x\n  pool: team--a\n  tasks: [{name: t, image: i}]\nsize: 10\n"

    def tried(self, tmp_path: Path, **asked: Any) -> list[str]:
        """The lines that each edit of work in a queue puts in place of others, in the order in which it is tried."""

        def row(name: str, available: int | None, limit: int | None = None, state: str | None = None) -> Answer:
            above, _, part = name.partition("--")
            parent = above if part else None if name == "org" else "org"
            return {"name": name, "state": state, "available": available, "limit": limit, "parent": parent}

        pools = [
            *(row("org", None, 7), row("team", 10, 20), row("team--a", 99, 40), row("team--b", None, state="ACTIVE")),
            *(row("team--c", 9), row("team--d", 50, state="DELETING"), row("team--e", 30), row("team--f", 20)),
            *(row("other", 90), row("other--a", 90)),
        ]
        call = Scripted(AgentServer(tmp_path, 60), answers={"pool list": {"pools": pools}})
        edits = patching._of_queue(call, "x", {**self.ASKED, **asked}, "w.yaml", self.TEXT)
        before = self.TEXT.splitlines()
        return [" ".join(line.strip() for line in text.splitlines() if line not in before) for text in edits]

    def test_another_queue_with_room_then_another_priority_then_less(self, tmp_path: Path) -> None:
        others = ["pool: team--b", "pool: team--e", "pool: team--f", "priority: LOW"]
        assert self.tried(tmp_path) == [*others, "size: 8", "size: 5"]
        assert self.tried(tmp_path, quota="unlimited") == others
        assert self.tried(tmp_path, quota=10, used=0) == others
        assert self.tried(tmp_path, quota=5, used=5) == [*others, "size: 5"]
        low = self.tried(tmp_path, priority="LOW", used=0, gpus=30)
        assert low == ["pool: team--b", "pool: team--e", "priority: LOW", "size: 2"]

    def test_it_is_sent_there(self, tmp_path: Path) -> None:
        write(tmp_path, {"w.yaml": self.TEXT})
        answers: Answer = {
            "admit": [{"workflows": [self.ASKED]}, {"workflows": [{**self.ASKED, "verdict": "admitted"}]}],
            "workflow_explain": {"file": "w.yaml"},
            "pool_list": None,
        }
        message, patch, others = suggested(tmp_path, {"work": "x"}, **answers)
        assert (message, others) == ("With the patch, its queue admits x.", ["Ask for less."])
        assert patch is not None
        assert "+  priority: LOW" in patch.splitlines()


@pytest.mark.parametrize(
    ("line", "kinds", "edited"),
    [
        ("- {requirementType: required}", ["preferred"], "- {requirementType: preferred}"),
        ('"requirementType": "required"', ["preferred"], '"requirementType": "preferred"'),
        (
            "kai.scheduler/topology-required-placement: a",
            ["preferred"],
            "kai.scheduler/topology-preferred-placement: a",
        ),
        ('"x/topology-required-placement": a', ["preferred"], '"x/topology-preferred-placement": a'),
        ("requiredTopologyLevel: rack", ["preferred"], "preferredTopologyLevel: rack"),
        ('"requiredTopologyLevel": "rack"', ["preferred"], '"preferredTopologyLevel": "rack"'),
        ("- {key: rack}", ["preferred"], "- {key: rack, requirementType: preferred}"),
        ("- {group: a, key: 'rack' }", ["preferred"], "- {group: a, key: 'rack', requirementType: preferred }"),
        ("  - key: rack", ["preferred"], "  - key: rack\n    requirementType: preferred"),
        ('    key: "rack"', ["preferred"], '    key: "rack"\n    requirementType: preferred'),
        ("- {key: racks}", ["preferred"], None),
        ("- {key: host}", ["preferred"], None),
        ("key: rack", ["level"], "key: zone"),
        ("'key': 'rack'}", ["level"], "'key': 'zone'}"),
        (
            "kai.scheduler/topology-required-placement: rack",
            ["level"],
            "kai.scheduler/topology-required-placement: zone",
        ),
        ("requiredTopologyLevel: rack", ["level"], "requiredTopologyLevel: zone"),
        ("key: zone", ["level"], None),
        ("key: rack-2", ["level"], None),
        ("key: rack", ["pods"], None),
        (f"key: rack, {'x' * 489}", ["level"], f"key: zone, {'x' * 489}"),
        (f"key: rack, {'x' * 490}", ["level"], None),
    ],
)
def test_levels_of_a_line(line: str, kinds: list[str], edited: str | None) -> None:
    found = list(patching._candidates(f"a\n{line}\nb", kinds, ["zone", "rack"]))
    assert found == ([] if edited is None else [f"a\n{edited}\nb"])


def test_the_finest_level_changes_first_and_lines_one_by_one() -> None:
    text = "key: rack\nkey: host\nkey: rack"
    assert list(patching._candidates(text, ["level"], ["zone", "rack", "host"])) == [
        "key: rack\nkey: rack\nkey: rack",
        "key: zone\nkey: host\nkey: rack",
        "key: rack\nkey: host\nkey: zone",
        "key: zone\nkey: host\nkey: zone",
    ]
    many = list(patching._candidates("key: rack\n" * 9, ["level"], ["zone", "rack"]))
    assert [text.count("zone") for text in many] == [1, 1, 1, 1, 9]


@pytest.mark.parametrize(
    ("line", "edited"),
    [
        *((f"{field}: 4", f"{field}: 3") for field in ("replicas", "parallelism", "completions", "size")),
        *((f"{field}: 4", f"{field}: 3") for field in ("minReplicas", "minAvailable", "minMember")),
        ('{"replicas": 4, "a": 1}', '{"replicas": 3, "a": 1}'),
        ("replicas: 4 # pods", "replicas: 3 # pods"),
        ("replicas: 1", None),
        ("replicas: 1234567", None),
        ("replicas: 4Gi", None),
        ("maxReplicas: 4", None),
    ],
)
def test_a_smaller_number(line: str, edited: str | None) -> None:
    assert list(patching._smaller(line, fewer=1)) == ([] if edited is None else [edited])


def test_fewer_tasks_of_one_resource() -> None:
    text = """\
  tasks:
  - {name: a, image: i}
  - name: b
    image: i
    resource: r
    files:
    - path: p
  - {name: c, resource: r, image: i}
  - {name: d, resource: s, image: i}
  - other: x
resources:
"""
    lines = text.splitlines(keepends=True)
    without = text.replace("  - {name: c, resource: r, image: i}\n", "")
    assert list(patching._smaller(text, fewer=1)) == [without]
    assert list(patching._smaller(text, 0.5)) == [without]
    assert list(patching._smaller(text, 0.4)) == []
    assert list(patching._smaller(text, 1)) == []
    more = [text.replace("resource: s", "resource: r"), "".join(lines)]
    assert [item.count("image") for item in patching._smaller(more[0], 1 / 3)] == [2]
    assert [item.count("image") for item in patching._smaller(more[0], 2 / 3)] == [3]
