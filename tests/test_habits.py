"""Tests habits of the command line: words that people try, and commands where they look for them."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from tests.support.cli import kubectl_tas, pool, write
from tests.support.golden import GOLDEN, case_input

WHY = GOLDEN / "commands/workflow-why"
STATE = f"--cluster-state={WHY / 'cluster.json'}"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return write(tmp_path / "r", {"pools/team.yaml": pool()})


@pytest.mark.parametrize("arguments", [("explain", "running"), ("why", "running", STATE)], ids=lambda words: words[0])
def test_explain_and_why_are_on_top_and_below_workflow(arguments: tuple[str, ...]) -> None:
    repository = case_input(WHY)
    on_top, below = (kubectl_tas("-C", repository, *above, *arguments) for above in ((), ("workflow",)))
    assert (on_top.code, on_top.out) == (below.code, below.out)
    assert on_top.out


def test_why_takes_a_pod_and_a_podgroup() -> None:
    items = json.loads((WHY / "cluster.json").read_text())["items"]
    pod = next(item["metadata"] for item in items if item["kind"] == "Pod")
    group = pod["annotations"]["pod-group-name"]
    words = (pod["name"], f"pod/{pod['name']}", group, f"podgroup/{group}", "over-quota")
    answers = [kubectl_tas("-C", case_input(WHY), "why", word, STATE, "-o", "json") for word in words]
    assert len({answer.out for answer in answers}) == 1, [answer.err for answer in answers]
    assert json.loads(answers[0].out)["workflows"]
    assert kubectl_tas("-C", case_input(WHY), "why", "no-such-pod", STATE).code == 2


def test_diff_takes_the_revision_as_a_word(root: Path) -> None:
    for words in (("init", "-q"), ("add", "."), ("-c", "user.name=x", "-c", "user.email=x@y", "commit", "-qm", "x")):
        subprocess.run(["git", "-C", root, *words], check=True)
    (root / "pools/team.yaml").write_text(pool(guarantee=50))
    by_word, by_option = (kubectl_tas("-C", root, "diff", *words) for words in (("HEAD",), ("--base", "HEAD")))
    assert (by_word.code, by_word.out) == (by_option.code, by_option.out)
    assert by_word.code == 1
    both = kubectl_tas("-C", root, "diff", "HEAD", "--base", "HEAD")
    assert (both.code, "give one of them" in both.err) == (2, True)
    neither = kubectl_tas("-C", root, "diff")
    assert (neither.code, "kubectl tas diff REF" in neither.err) == (2, True)


def test_render_shows_the_diff_and_writes_nothing(root: Path) -> None:
    result = kubectl_tas("-C", root, "render", "--dry-run")
    assert (result.code, "+++ b/manifests/kustomization.yaml" in result.out) == (0, True)
    assert not (root / "manifests").exists()


def test_check_without_manifests_says_one_line(root: Path) -> None:
    result = kubectl_tas("-C", root, "check")
    assert (result.code, result.out) == (1, "")
    assert [line for line in result.err.splitlines() if "manifests/ is not there" in line], result.err
    assert len(result.err.splitlines()) <= 2


@pytest.mark.parametrize("words", [("--color", "always"), ("--color=always",)])
def test_the_colour_may_be_said_behind_the_command(words: tuple[str, ...], root: Path) -> None:
    before, behind = (
        kubectl_tas(*place) for place in ((*words, "-C", root, "validate"), ("-C", root, "validate", *words))
    )
    assert (behind.code, behind.out, behind.err) == (before.code, before.out, before.err)
    wrong = kubectl_tas("-C", root, "validate", "--color", "pink")
    assert wrong.code == 2


def test_a_verb_behind_a_group_has_a_hint() -> None:
    result = kubectl_tas("pool", "get", "team")
    assert result.err == 'error: no command "pool get"\n  = help: Run: kubectl tas pool list team\n'


def test_rule_searches_texts() -> None:
    result = kubectl_tas("rule", "topology")
    assert result.code == 0
    assert "topology-key-unknown" in result.out
    assert "over-quota" not in result.out.split()
    assert kubectl_tas("rule", "quota-share").code == 2
    assert kubectl_tas("rule", "zebra").code == 2
