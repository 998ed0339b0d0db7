"""Tests that old names of commands and options work for one release and name the new ones; see ``cli/options.py``."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from kubectl_tas.cli.failures import VERBS, of_command
from kubectl_tas.cli.options import LIST, RENAMED, RENAMED_OPTIONS
from tests.support.cli import kubectl_tas, pool, subpool, write
from tests.support.golden import GOLDEN, case_input
from tests.support.pyyaml import safe_load
from tools.generate import commands

COMMANDS = {" ".join(context.command_path.split()[2:]): context.command for context in commands()}


@pytest.fixture
def small(repository: Path) -> Path:
    assert kubectl_tas("init", repository).code == 0
    return repository


def test_each_option_that_says_where_a_command_writes_has_an_old_name() -> None:
    """The table is complete, and every new name is one. `adopt` never had another."""
    named = {name: {option for item in command.params for option in item.opts} for name, command in COMMANDS.items()}
    assert {*RENAMED_OPTIONS, "adopt"} == {name for name, options in named.items() if "--to" in options}
    assert all(new in named[name] for name, own in RENAMED_OPTIONS.items() for new in own.values())


def test_each_new_name_of_a_command_is_one() -> None:
    for old, new in RENAMED.items():
        words = [word for word in new.split() if not word.startswith("-")]
        assert " ".join(words) in COMMANDS
        assert old not in COMMANDS, "it is neither listed nor completed"


@pytest.mark.parametrize("given", [["-o", "-"], ["-o-"], ["--output", "-"], ["--output=-"]], ids=" ".join)
def test_where_it_is_written(small: Path, given: list[str]) -> None:
    old, new = (kubectl_tas("render", "-C", small, *words) for words in (given, ["--to", "-"]))
    assert (old.code, old.out) == (new.code, new.out)
    note = "Note: `render -o` is now `render --to`; the next release no longer takes the old name."
    assert old.err == f"{note} Run: kubectl tas migrate\n{new.err}"


@pytest.mark.parametrize(
    ("command", "file"),
    [("report", "x/index.html"), ("cluster state", "x"), ("import cluster", "x/tas.yaml"), ("snapshot", "x")],
)
def test_each_command_takes_both(tmp_path: Path, command: str, file: str) -> None:
    case = GOLDEN / "commands/pool-share"
    state = f"--cluster-state={case / 'cluster.json'}"
    where = [] if command.startswith("import") else ["-C", case_input(case)]
    told = []
    for option in ("-o", "--to"):
        folder = tmp_path / option.strip("-")
        folder.mkdir()
        more = [state] if command != "cluster state" else []
        result = kubectl_tas(*command.split(), *where, *more, option, "x", cwd=folder)
        told.append((result.code, (folder / file).exists(), " --to`; the next" in result.err))
    assert [item[:2] for item in told[:1]] == [item[:2] for item in told[1:]]
    assert [item[2] for item in told] == [True, False]


def test_both_names_are_one_too_many(small: Path) -> None:
    result = kubectl_tas("render", "-C", small, "-o", "-", "--to", "-")
    assert (result.code, "-o is the old name of --to: give one of them" in result.err) == (2, True)


def test_render_prints_one_format(small: Path) -> None:
    result = kubectl_tas("render", "-C", small, "-o", "yaml")
    assert result.code == 2
    assert "--to names a file, and yaml is a format" in result.err


class TestHelp:
    def test_each_command_is_under_a_heading_and_whole(self) -> None:
        out = kubectl_tas("--help").out
        assert [line for line in out.splitlines() if line in ("Write:", "Review:", "Ask:", "Clusters:", "Tools:")] == [
            "Write:",
            "Review:",
            "Ask:",
            "Clusters:",
            "Tools:",
        ]
        for group in ("", "pool", "subpool", "topology", "workflow", "nodes", "import"):
            assert "..." not in kubectl_tas(*group.split(), "--help").out.partition("[ARGS]...")[2]

    def test_without_a_command(self) -> None:
        assert kubectl_tas() == kubectl_tas("--help")


@pytest.mark.parametrize(
    ("typed", "error", "answer"),
    [
        ("get pool team", 'no command "get"', "Run: kubectl tas pool list team"),
        ("delete workflow train", 'no command "delete"', "Delete its file, then run: kubectl tas render"),
        ("--context prod pool list", "--context goes behind the command", "Run: kubectl tas pool list --context prod"),
        ("-n team pool list", "-n goes behind the command", "Run: kubectl tas pool list -n team"),
        ("pool --context=prod list", "--context goes behind the command", "Run: kubectl tas pool list --context=prod"),
        ("--namespace a fit b", "--namespace goes behind the command", "Run: kubectl tas fit b --namespace a"),
        ("--kubeconfig a fit b", "--kubeconfig goes behind the command", "Run: kubectl tas fit b --kubeconfig a"),
        ("--backend a fit b", "--backend goes behind the command", "Run: kubectl tas fit b --backend a"),
        ("--output json fit b", "--output goes behind the command", "Run: kubectl tas fit b --output json"),
        ("-o json fit b", "-o goes behind the command", "Run: kubectl tas fit b -o json"),
        ("--base a validate", "--base goes behind the command", "Run: kubectl tas validate --base a"),
        ("pool list -A", "-A is not needed: commands read all namespaces", "Run: kubectl tas pool list"),
        (
            "workflow list --all-namespaces -o wide",
            "--all-namespaces is not needed: commands read all namespaces",
            "Run: kubectl tas workflow list -o wide",
        ),
        (
            "pool list -w",
            "no -w here: only `subpool drain` watches",
            "Run: watch -n 30 kubectl tas pool list",
        ),
        (
            "pool list --watch team",
            "no --watch here: only `subpool drain` watches",
            "Run: watch -n 30 kubectl tas pool list team",
        ),
    ],
)
def test_habits_of_kubectl(typed: str, error: str, answer: str) -> None:
    result = kubectl_tas(*typed.split())
    assert (result.code, result.out, result.err) == (2, "", f"error: {error}\n  = help: {answer}\n")


ANSWERS = {
    "get list ls": {
        "": "pool list",
        "a": "pool list",
        "pool a b": "pool list a b",
        "pools -o json -A": "pool list",
        "-l x=y -n x -f x --filename x -C x --selector x=y pool/a": "pool list a",
        "subpool a": "subpool list",
        "queue a": "pool list -o wide",
        "topology a": "topology list",
        "workflow a": "workflow list",
        "node a": "pool plan",
    },
    "describe": {
        "": "explain NAME",
        "a": "explain a",
        "pool a": "pool describe a",
        "subpool/a--b": "pool describe a--b",
        "queue a": "pool describe a",
        "topology a": "topology describe a",
        "workflow a$": "explain 'a$'",
        "node a": "topology suggest --live",
    },
    "apply": {"-f a": "render --to - | kubectl apply -f -"},
    "build": {"a": "render --to -"},
    "lint": {"a": "validate"},
    "create": {"subpool a": "subpool create a", "pool a": "Write its file: validate"},
    "delete": {"a": "Delete its file: render", "pool a": "pool remove a", "subpool a": "subpool retire a"},
    "edit patch": {"a": "Edit its file: validate", "pool a": "pool rename a", "subpool a": "subpool update a"},
    "drain": {"a": "subpool drain"},
    "events logs": {"a": "why a", "pods a": "why a"},
    "top": {"node": "pool list --live"},
    "api-resources": {"": "schema"},
    "plan": {"a": "pool plan a"},
    "share": {"a": "pool share a"},
    "retire": {"a": "subpool retire a"},
    "suggest": {"a": "topology suggest"},
}
"""The command to run instead of each verb with these words; before a colon, what to do first."""


@pytest.mark.parametrize("verb", [verb for verbs in ANSWERS for verb in verbs.split()])
def test_each_verb_of_kubectl_leads_to_a_command(verb: str) -> None:
    (answers,) = (answers for verbs, answers in ANSWERS.items() if verb in verbs.split())
    for words, answer in answers.items():
        found = of_command([verb, *words.split()])
        first, colon, command = answer.rpartition(": ")
        assert found is not None
        assert found.hint == (f"{first}, then run: kubectl tas {command}" if colon else f"Run: kubectl tas {command}")


def test_all_verbs_have_an_answer() -> None:
    assert VERBS.keys() == {verb for verbs in ANSWERS for verb in verbs.split()}
    assert of_command(["frobnicate", "pool"]) is None


@pytest.mark.parametrize(
    ("words", "command"),
    [
        ("pool pools Pool", "pool list a"),
        ("subpool subpools", "subpool list"),
        ("queue queues", "pool list -o wide"),
        ("node nodes no", "pool plan"),
        ("topology topologies clustertopology clustertopologies", "topology list"),
        ("workflow workflows workload workloads work job jobs Job", "workflow list"),
        ("pod pods po podgroup podgroups pcs podcliqueset podcliquesets", "workflow list"),
    ],
)
def test_each_word_for_a_kind_is_known(words: str, command: str) -> None:
    for word in words.split():
        found = of_command(["get", word, "a"])
        assert found is not None
        assert (word, found.hint) == (word, f"Run: kubectl tas {command}")


def test_what_habits_answer_is_taken() -> None:
    for line in (line for answers in VERBS.values() for line in answers.values()):
        words = line.split()
        assert {words[0], " ".join(words[:2])} & COMMANDS.keys()


def test_a_format_with_an_equals_sign(repository: Path) -> None:
    """As kubectl takes it."""
    write(repository, {"pools/team.yaml": pool(), "subpools/a.yaml": subpool("a", 3)})
    assert kubectl_tas("pool", "list", "-o=name", "-C", repository).out == "team\nteam--a\n"


def test_old_commands_do_what_the_new_ones_do(small: Path) -> None:
    old = kubectl_tas("subpool", "delete", "team", "research", "--used", "0", "--dry-run", "-C", small)
    new = kubectl_tas("subpool", "retire", "team", "research", "--used", "0", "--dry-run", "-C", small)
    assert (old.code, old.out) == (new.code, new.out)
    assert old.err.startswith("Note: `subpool delete` is now `subpool retire`; ")
    for more in ([], ["-o", "json"]):
        old = kubectl_tas("pool", "topology-keys", *more, "team", "-C", small)
        new = kubectl_tas("topology", "list", "--pool", "team", *more, "-C", small)
        assert (old.code, old.out) == (new.code, new.out)
        assert old.err.startswith("Note: `pool topology-keys` is now `topology list --pool`; ")


@pytest.mark.parametrize("command", ["pool list", "subpool list", "topology list", "workflow list"])
def test_lists_have_the_same_formats(small: Path, command: str) -> None:
    shown = {name: kubectl_tas(*command.split(), "-o", name, "-C", small) for name in LIST}
    assert {result.code for result in shown.values()} == {0}
    assert json.loads(shown["json"].out) == safe_load(shown["yaml"].out)
    table, wide = (shown[name].out.splitlines()[0] for name in ("table", "wide"))
    assert len(wide.split()) > len(table.split())
    assert len(shown["name"].out.splitlines()) >= 1
