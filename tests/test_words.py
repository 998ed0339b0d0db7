"""Tests suggestions for misspelled words."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from kubectl_tas.base.words import Misspellings, closest, misspelled, nothing_called, within
from kubectl_tas.cli.failures import told
from tests.support.cli import kubectl_tas, pool, subpool, write

FIELDS = ("command", "cpu", "environment", "gpu", "image", "memory", "metadata", "quota", "resource", "state", "weight")


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("comand", "command"),
        ("commnad", "command"),
        ("gpus", "gpu"),
        ("cup", "cpu"),
        ("env", "environment"),
        ("Quota", "quota"),
        ("enviroment", "environment"),
        ("reosurces", "resource"),
        ("cpx", None),
        ("retries", None),
        ("stale", "state"),
        ("nodes", None),
        ("me", None),
        ("x" * 300, None),
        ("", None),
    ],
)
def test_the_closest(written: str, meant: str | None) -> None:
    assert closest(written, FIELDS, folds=True) == meant


@pytest.mark.parametrize(("written", "known"), [("cpu", ["gpu"]), ("gpu", ["cpu"]), ("env", ["envFrom", "envs-of"])])
def test_no_suggestion_is_better_than_a_far_one(written: str, known: list[str]) -> None:
    assert closest(written, known) is None


@pytest.mark.parametrize(
    ("written", "known", "is_near"),
    [
        ("abcd", "abcx", True),
        ("abcd", "abxy", False),
        ("abcde", "abcxy", True),
        ("abcdefg", "abcdexy", True),
        ("abcdefg", "abcdxyz", False),
        ("abcdefgh", "abcdexyz", True),
        ("abcdefghijkl", "abcdefghixyz", True),
        ("abcdefghijkl", "abcdefghwxyz", False),
        ("abcdefgh", "badcefgh", True),
        ("abc", "abcd", True),
        ("abc", "acb", True),
        ("abc", "abx", False),
        ("abc", "abcdefgh", True),
        ("ab", "abcdefgh", False),
        ("x" * 253, "x" * 252 + "y", True),
        ("x" * 254, "x" * 253 + "y", False),
    ],
)
def test_how_many_slips_a_word_may_have(written: str, known: str, is_near: bool) -> None:
    """One for three characters, and three at most; a beginning of three characters is enough."""
    assert closest(written, [known]) == (known if is_near else None)


@pytest.mark.parametrize(
    ("name", "known", "found"),
    [
        ("trainr", ("trainer", "server"), "trainer"),
        ("trainer", ("trainer",), None),
        ("trinr", ("trainer",), None),
        ("run-1", ("run-2", "run-11"), None),
        ("a-eu", ("a-us",), None),
        ("a-eur", ("a-eux",), "a-eux"),
        ("trainerx", ("trainer", "trainery"), "trainer"),
    ],
)
def test_one_slip_among_many_names(name: str, known: tuple[str, ...], found: str | None) -> None:
    """Names of one series are none: they differ in numbers, or in words of two letters."""
    assert Misspellings(known).of(name) == misspelled(name, known) == found


@pytest.mark.parametrize(
    ("value", "most", "hint"),
    [
        (2, 1, "Use 1."),
        (None, 1, "Use 1."),
        (0, 2, "Use a number from 1 to 2."),
        (3, 2, "Use at most 2."),
        (None, 2, "Use a number from 1 to 2."),
        (3, 0, "Use a number from 1."),
    ],
)
def test_a_number_out_of_range(value: int | None, most: int, hint: str) -> None:
    assert within(value, most) == hint


def test_of_many_names_the_last_is_compared_too() -> None:
    """There are 598 time zones."""
    assert closest("Europe/Zurch", [*(f"Africa/{number}" for number in range(600)), "Europe/Zurich"]) == "Europe/Zurich"


def test_of_two_the_nearer_one() -> None:
    assert closest("worker-gruop", ["worker-grp", "worker-group"]) == "worker-group"


def test_few_names_are_listed() -> None:
    names = [f"pool-{number:03}" for number in range(12)]
    listed = ", ".join(names[:10])
    assert nothing_called("pool", "zebra", names) == f'no pool "zebra"; there is {listed} and 2 more'
    assert nothing_called("pool", "zebra", []) == 'no pool "zebra"; there is none'


@pytest.mark.parametrize(
    ("arguments", "question"),
    [
        (("valdate",), 'no command "valdate"; did you mean "validate"?'),
        (("subpool", "crate"), 'no command "crate"; did you mean "create"?'),
        (
            ("pool", "frobnicate"),
            'no command "frobnicate"; there is create, describe, list, plan, remove, rename, share',
        ),
        (("validate", "--strikt"), "--strict"),
        (("rule", "quota-share"), 'no rule "quota-share"; did you mean "quota-shared"?'),
        (("schema", "pol"), 'no schema for "pol"; did you mean "pool"?'),
        (("pool", "describe", "tema"), 'no pool "tema"; did you mean "team"?'),
        (("pool", "describe", "team-speech"), 'no pool "team-speech"; did you mean "team--speech"?'),
        (("subpool", "list", "tema"), 'no pool "tema"; did you mean "team"?'),
        (
            ("workflow", "explain", "tarin"),
            'PodCliqueSet or PodGroup "tarin"; did you mean "train"?',
        ),
        (("topology", "describe", "rack"), 'no topology "rack"; there is none'),
        (("render", "--to", "-", "--backend", "defualt"), 'no backend "defualt"; did you mean "default"?'),
    ],
)
def test_usage(tmp_path: Path, arguments: tuple[str, ...], question: str) -> None:
    files = {"pools/team.yaml": pool(), "subpools/speech.yaml": subpool("speech", 3), "workflows/t.yaml": sent("team")}
    result = kubectl_tas("-C", write(tmp_path, files), *arguments)
    assert result.code == 2
    assert question in result.err


@pytest.mark.parametrize(
    ("target", "meant"),
    [
        ("team-speech", "team--speech"),
        ("tema--speech", "team--speech"),
        ("research--speech", "team--speech"),
        ("team--speach", "team--speech"),
        ("teams", "team"),
        ("team/speech", "team--speech"),
        ("speech", "team--speech"),
    ],
)
def test_a_pool_keeps_the_part_of_its_subpool(tmp_path: Path, target: str, meant: str) -> None:
    """What is suggested would not send the work to what the pool shares."""
    files = {"pools/team.yaml": pool(), "subpools/speech.yaml": subpool("speech", 3), "workflows/t.yaml": sent(target)}
    found = kubectl_tas("validate", "-C", write(tmp_path, files))
    assert f'Did you mean "{meant}"?' in found.out


def sent(target: str) -> str:
    return f"""\
workflow:
  name: train
  pool: {target}
  tasks: [{{name: a, image: a, command: [run], resource: none}}]
resources:
  none: {{cpu: 1, gpu: 1, memory: 1Gi}}
"""


ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
LONGEST = 40
"""Words of a sentence; about 25 is the aim."""
MOST_PAGES = 25
MOST_WORDS = 25_310
"""All words of these pages but the list of rules, with tables, examples and the help of commands."""


def prose(page: Path) -> str:
    """What people read as sentences, on one line each; of the page of commands the blocks too, which are help texts."""
    text = re.sub(r"<!--.*?-->", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    return text if page.name == "cli.md" else re.sub(r"^ *```.*?^ *```", "\n\n", text, flags=re.DOTALL | re.MULTILINE)


def overlong(text: str) -> list[str]:
    text = re.sub(r"`[^`\n]*`", "code", re.sub(r"\]\([^)]*\)", "", text))
    pieces = re.split(r"\n\s*\n|\n(?=\s*(?:[-*#|]|\d+\.|```))|\||(?<=[.!?:;])\s+|\n\s*-+\w", text)
    return [" ".join(piece.split()) for piece in pieces if len(piece.split()) > LONGEST]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (
            ("pool", "--context", "x", "list"),
            "error: --context goes behind the command\n  = help: Run: kubectl tas pool list --context x\n",
        ),
        (
            ("pool", "--context=x", "list"),
            "error: --context goes behind the command\n  = help: Run: kubectl tas pool list --context=x\n",
        ),
        (("pool", "--context", "x"), "Error: No such option '--context'.\n"),
        (("rule", "--context", "x", "pool-unknown"), "Error: No such option '--context'.\n"),
        (("pool", "list", "-Aw"), "Error: No such option '-A'.\n"),
        (("get", "pool/"), 'error: no command "get"\n  = help: Run: kubectl tas pool list\n'),
    ],
    ids=" ".join,
)
def test_habits_of_kubectl(arguments: tuple[str, ...], said: str) -> None:
    result = kubectl_tas(*arguments)
    assert (result.code, result.out, result.err.endswith(said)) == (2, "", True), result.err


@pytest.mark.parametrize(
    ("error", "code", "said"),
    [
        (OSError(2, "No such file or directory", "a"), 3, "error: a: No such file or directory\n"),
        (OSError("odd"), 3, "error: odd\n"),
        (click.ClickException("odd"), 1, "Error: odd\n"),
    ],
)
def test_failures_of_the_system(error: Exception, code: int, said: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert told(error, None, []) == code
    assert capsys.readouterr().err == said


@pytest.fixture(scope="module")
def phrases() -> re.Pattern[str]:
    lines = (ROOT / "tests" / "phrases.txt").read_text(encoding="utf-8").splitlines()
    return re.compile("|".join(line for line in lines if not line.startswith("#")), re.IGNORECASE)


def test_pages_and_help_have_plain_words(phrases: re.Pattern[str]) -> None:
    found = [
        f"{page.relative_to(ROOT)}: {match[0]}"
        for page in PAGES
        for match in phrases.finditer(" ".join(prose(page).split()))
    ]
    assert found == []


HEADLESS = re.compile(r"(What|How|Where|Who|Whose|Which|Why|When|That)\b|.* in[,;:] .* out[.,;]")
"""Openings of docstrings that name nothing: "What it holds", or "A file in, its text out"."""


def docstrings(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            yield " ".join(node.value.value.split())


def test_docstrings_have_plain_words(phrases: re.Pattern[str]) -> None:
    found = [
        f"{path.relative_to(ROOT)}: {avoided[0]}: {text}"
        for path in sorted((ROOT / "kubectl_tas").rglob("*.py"))
        for text in docstrings(path)
        if (avoided := HEADLESS.match(text) or phrases.search(text.replace("None", "null")))
    ]
    assert found == []


def test_pages_and_help_have_short_sentences() -> None:
    found = [f"{page.relative_to(ROOT)}: {sentence}" for page in PAGES for sentence in overlong(prose(page))]
    assert found == []


def test_pages_are_few_and_short() -> None:
    """Pages of rules are not counted, since a reader comes to one from a finding, nor is their list, in which each new
    rule has a line. README has a bound of its own.
    """
    pages = sorted((ROOT / "docs").glob("*.md"))
    texts = [page.read_text(encoding="utf-8") for page in pages if page.name != "rules.md"]
    words = [word for text in texts for word in text.split() if re.search(r"\w", word)]
    assert len(pages) <= MOST_PAGES, "merge a page; tools/docsite.py leads its old address to the new one"
    assert len(words) <= MOST_WORDS, "say it once, in the page that readers look at for it"


def test_a_long_sentence_is_found() -> None:
    assert overlong("word " * 41) != []
    assert overlong("word. " * 41 + "word " * 40) == []


def test_names_that_are_too_long_are_no_misspellings() -> None:
    known = Misspellings(["a" * 253, "b" * 254])
    assert known.of("a" * 252) == "a" * 253
    assert (known.of("b" * 253), known.of("b" * 254)) == (None, None)
