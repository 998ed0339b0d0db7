"""Tests that kubectl reads emitted text as it was judged, in whatever style the text was written."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from ruamel.yaml import YAML

from kubectl_tas.base.yaml import LargeNumber, block
from kubectl_tas.compile.passthrough import with_demands
from kubectl_tas.load.document import Document, parse
from tests.support.cli import kubectl_tas, pool, write
from tests.support.effort import MINUTE, in_a_minute

HEAD = "apiVersion: x.example/v1\nkind: Thing\nmetadata: {name: a}\n"
BATCHES = settings(
    max_examples=6,
    deadline=None,
    suppress_health_check=list(HealthCheck),
    phases=[Phase.explicit, Phase.reuse, Phase.generate],
)
"""Each example is a batch of documents, which kubectl reads in one go."""
needs_kubectl = pytest.mark.skipif(shutil.which("kubectl") is None, reason="kubectl is not installed")


def judged(text: str) -> Document:
    """The one document of ``text``."""
    (document,), problems = parse("w.yaml", text)
    assert not problems
    return document


def number(value: float | str) -> tuple[str, Any]:
    """A number to compare: exact as far as a double is."""
    exact = float(value) if isinstance(value, str) else value
    return "number", float(exact) if abs(exact) >= 2**53 else exact


def plain(data: Any) -> Any:
    """Data to compare: 1 is 1.0, and neither is true nor '1'."""
    if isinstance(data, dict):
        return {key: plain(value) for key, value in data.items()}
    if isinstance(data, list):
        return [plain(item) for item in data]
    if isinstance(data, LargeNumber) or (isinstance(data, int | float) and not isinstance(data, bool)):
        return number(data)
    return data


def by_kubectl(texts: list[str]) -> list[Any]:
    """What the real kubectl reads from a stream of documents."""
    command = ["kubectl", "label", "--local", "--overwrite", "-f", "-", "read=yes", "-o", "json"]
    stream = "".join(f"---\n{text}" for text in texts)
    done = subprocess.run(command, input=stream, capture_output=True, text=True, check=False, encoding="utf-8")
    assert done.returncode == 0, f"{done.stderr}\n{stream}"
    found, rest, decoder = [], done.stdout.lstrip(), json.JSONDecoder()
    while rest:
        data, end = decoder.raw_decode(rest)
        assert data["metadata"].pop("labels") == {"read": "yes"}
        found.append(data)
        rest = rest[end:].lstrip()
    return found


def agree(texts: list[str]) -> None:
    """Every text is emitted so that readers of YAML 1.1, of 1.2 and kubectl find what was judged."""
    documents = [judged(HEAD + text) for text in texts]
    emitted = [with_demands(document, []) for document in documents]
    for document, text in zip(documents, emitted, strict=True):
        expected = plain(document.data)
        assert plain(yaml.safe_load(text)) == expected, text
        assert plain(YAML(typ="safe", pure=True).load(text)) == expected, text
        assert plain(judged(text).data) == expected, text
    if shutil.which("kubectl"):
        assert [plain(data) for data in by_kubectl(emitted)] == [plain(document.data) for document in documents]


KEPT = {
    "comments": "# why\nspec: # c\n  a: b # d\n\n  # e\n",
    "numbers": "spec: [0, 1, -12, 0.5, 123456789012345678]\n",
    "words": "spec: [true, False, null, ~, yesterday, tRUE, 500m, 64Gi, 1.2.3, 10.0.0.1, 25.10-py3, -c, --flag]\n",
    "quotes": "spec: ['on', \"010\", 'it''s', \"a\\tb\\u00d8\"]\n",
    "images in braces": "spec: {image: registry.example.com:5000/a/b:3.13, url: http://x:80/y}\n",
    "scripts": "spec:\n  a: |\n    set -e # ! a\n    ! b && [ ! c ]\n    \tdone\t# c\n    sed 's/\\//x/'\n    ---\n"
    "  b: >-\n    c\n    d\n",
    "aliases": "spec:\n  a: &a {b: c}\n  d: *a\n  e: *a\n",
    "tabs in comments": "spec: b # c\td\n",
    "long lines": f"spec: {'a ' * 3000}b\n",
    "carriage returns": "spec: b # c\r\nx: z\r\n",
    "explicit keys": "spec:\n  ? a\n  : b\n",
    "unicode": "spec: {größe: 日本 🤖}\n",
}
REWRITTEN = {
    "a merge key": "x: &x {a: 1, b: 1}\nspec: {a: 2, <<: *x}\n",
    "a merge key of several": "x: &x {a: 1}\ny: &y {a: 2, b: 2}\nspec: {<<: [*x, *y]}\n",
    "octal": "spec: 010\n",
    "octal of 1.2": "spec: 0o17\n",
    "binary": "spec: 0b11\n",
    "words of 1.1": "spec: [y, Y, n, N, yes, Yes, NO, on, On, OFF, off]\n",
    "exponent": "spec: [1e3, 1.5E3, 1e-3, .5, 5., +1, -.5]\n",
    "sexagesimal": "spec: ['a', 1:30, 190:20:30.15, 22:22]\n",
    "underscores": "spec: [1_000, 0_x1f, 9E_+7, 1__0.5, 0b-1]\n",
    "infinity": "spec: [.inf, -.Inf, .nan, .NAN]\n",
    "dates": "spec: [2026-11-21, 2001-12-14t21:59:43.10-05:00, 2001-12-14 21:59:43]\n",
    "value and merge as words": "spec: [=, <<]\n",
    "large numbers": "spec: [1234567890123456789, 0123456789012345678901, +99999999999999999999]\n",
    "keys that are words": "spec: {on: 1, y: 2, null: 3, ~: 4, true: 5}\n",
    "keys that are numbers": "spec: {1: a, 010: b, 0x10: c, 1.0: d, 1e3: e}\n",
    "keys in block style": "spec:\n  on: 1\n  2026-11-21: 2\n",
    "an anchor again": "x: &x 1\ny: &x 2\nspec: *x\n",
    "a comment right behind the head of a block": "spec:\n- |#c\n  a\n- >-#c\n  a\n",
    "a tab as space": "spec:\ta\n",
    "a tab before a comment": "spec: a\t# b\n",
    "a tab in a word": "spec: a\tb\n",
    "a tab behind a comment sign in a word": "spec: a#b\tc\n",
    "carriage returns alone": "x: a\rspec: b\r",
    "next lines": "x: a\x85spec: b\n",
    "line separators": "x: 'a\u2028b'\nspec: c # d\u2029y: e\n",
    "a byte order mark": "spec: \ufeffa\n",
    "what kubectl takes for a separator": "---x: 1\nspec: a\n",
    "a separator in quotes": 'spec: "a\n---b\n  c"\n',
    "a percent sign that begins a line": "spec: 'a\n%b'\n",
    "a slash that is escaped": 'spec: "a\\/b"\n',
    "many aliases": "x: &x [1, 2, 3]\nspec: [" + "*x, " * 300 + "]\n",
    "multiplying aliases": "a: &a [1, 1, 1, 1, 1, 1, 1, 1, 1, 1]\n"
    + "".join(f"{b}: &{b} [{', '.join([f'*{a}'] * 10)}]\n" for a, b in ("ab", "bc", "cd")),
    "a long key": f"spec:\n  ? {'k' * 2000}\n  : a\n  ? {'l' * 2000}\n  : [b]\n  on: 1\n",
}  # fmt: skip


@pytest.mark.parametrize("name", KEPT)
def test_ordinary_text_stays(name: str) -> None:
    document = judged(HEAD + KEPT[name])
    assert with_demands(document, []) == (HEAD + KEPT[name]).replace("\r\n", "\n")


@pytest.mark.parametrize("name", REWRITTEN)
def test_what_readers_read_apart_is_written_anew(name: str) -> None:
    document = judged(HEAD + REWRITTEN[name])
    assert with_demands(document, []) == block(document.data)


def test_every_reader_agrees() -> None:
    agree([*KEPT.values(), *REWRITTEN.values()])


def test_a_block_scalar_at_the_end_of_a_file_keeps_its_end() -> None:
    """The line break that ends a file must not become a part of it."""
    agree(["spec: |\n  a", "spec: |+\n  a\n\n", "spec: |-\n  a", "spec: >\n  a"])
    assert judged(with_demands(judged(f"{HEAD}spec: |\n  a"), [])).data["spec"] == "a"


scalars = st.one_of(
    st.sampled_from(
        [
            "a",
            "b:c",
            "yes",
            "N",
            "on",
            "~",
            "null",
            "=",
            "<<",
            "010",
            "0x1F",
            "0o7",
            "1_0",
            "1e3",
            "1.0",
            ".5",
            "+1",
            "-0",
            "00",
            "1:30",
            "2026-1-1",
            ".inf",
            "'on'",
            '"\\u0085"',
            "'a\tb'",
            "http://x:80/y",
            "a?b",
            "?a",
            ":a",
            "-a",
            "a#b",
            "[]",
            "{}",
            "|",
        ]
    ),
    st.text("0189-+._:eExobT", min_size=1, max_size=7),
    st.text("ab \t'\"\\:#,[]{}&*!|>-?%@`\x85\u2028\ufeffé", min_size=1, max_size=6),
)
ends = st.sampled_from(["\n", "\n", "\n", " # c\n", "\t# c\n", "\r\n", "\r", "\n\n", "\n# c\n"])
entries = st.one_of(
    st.builds("{}: {}{}".format, scalars, scalars, ends),
    st.builds("k: [{}, {}]{}".format, scalars, scalars, ends),
    st.builds("l: {{a: {}, {}: {}}}{}".format, scalars, scalars, scalars, ends),
    st.builds("m:\n  - {}{}  - {}\n".format, scalars, ends, scalars),
    st.builds("n: &n {}{}".format, scalars, ends),
    st.builds("o: *n{}".format, ends),
    st.builds("p: &p {{a: {}}}\nq: {{a: 1, <<: *p}}\n".format, scalars),
    st.builds('r: "{}\n  {}"{}'.format, scalars, scalars, ends),
    st.builds("s: {}\n    {}{}".format, scalars, scalars, ends),
    st.builds("t: {}\n  {}\n\n   {}\n".format, st.sampled_from(["|", ">", "|-", ">+", "|2", "|1"]), scalars, scalars),
    st.builds("? {}{}: {}\n".format, scalars, ends, scalars),
)


def is_read(text: str) -> bool:
    documents, problems = parse("w.yaml", HEAD + text)
    return len(documents) == 1 and not problems and "<<" not in documents[0].data


@BATCHES
@given(st.lists(st.lists(entries, min_size=1, max_size=3).map("".join), min_size=30, max_size=60))
def test_any_text_that_is_read(texts: list[str]) -> None:
    agree([text for text in texts if is_read(text)] or ["a: b\n"])


values = st.recursive(
    st.one_of(
        st.none(),
        st.booleans(),
        st.integers(-(10**18) + 1, 10**18 - 1),
        st.floats(allow_nan=False, allow_infinity=False),
        st.text(),
        scalars,
    ),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text() | scalars, inner, max_size=3),
    max_leaves=8,
)


@BATCHES
@given(st.lists(values, min_size=10, max_size=30))
def test_any_data_that_is_written(items: list[Any]) -> None:
    data = [{"apiVersion": "x.example/v1", "kind": "Thing", "metadata": {"name": "a"}, "spec": item} for item in items]
    for written in data:
        text = block(written)
        assert plain(yaml.safe_load(text)) == plain(written)
        assert plain(YAML(typ="safe", pure=True).load(text)) == plain(written)
    if shutil.which("kubectl"):
        assert [plain(read) for read in by_kubectl([block(written) for written in data])] == [plain(d) for d in data]


JOB = """\
apiVersion: batch/v1
kind: Job
metadata:
  name: train
  labels: &l
    kubectl-tas/pool: team
spec:
  parallelism: 2
  template:
    spec:
      restartPolicy: Never
      containers:
      - name: a
        image: b
"""


def rendered_job(root: Path, text: str) -> Any:
    """What kubectl reads of the Job that ``render`` makes of ``text``, once ``validate`` is content."""
    (root / "workflows").mkdir(exist_ok=True)
    (root / "workflows/w.yaml").write_text(text, encoding="utf-8", newline="")
    write(root, {"pools/p.yaml": pool()})
    assert kubectl_tas("validate", "-C", root).code == 0
    result = kubectl_tas("render", "--to", "-", "-C", root)
    assert result.code == 0, result.err
    (job,) = (part for part in re.split(r"^---\n", result.out, flags=re.MULTILINE) if "kind: Job\n" in part)
    return by_kubectl([re.sub(r"^  labels:\n(    .*\n)+", "", job, flags=re.MULTILINE)])[0]


@needs_kubectl
def test_a_merge_key_does_not_win_over_what_was_judged(repository: Path) -> None:
    text = JOB.replace("  parallelism: 2\n", "  parallelism: 2\n  <<: {parallelism: 500, suspend: true}\n")
    found = rendered_job(repository, text)
    assert (found["spec"]["parallelism"], found["spec"]["suspend"]) == (2, True)


@needs_kubectl
def test_an_octal_count_is_the_one_that_was_judged(repository: Path) -> None:
    assert rendered_job(repository, JOB.replace("parallelism: 2", "parallelism: 010"))["spec"]["parallelism"] == 8


@needs_kubectl
def test_carriage_returns_alone_are_rendered(repository: Path) -> None:
    assert rendered_job(repository, JOB.replace("\n", "\r"))["spec"]["parallelism"] == 2


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("!!binary bGFiZWxz: {}\n", "4:1"),
        ("spec: {!!str on: 1}\n", "4:8"),
        ("? !!str a\n: b\n", "4:3"),
        ("spec: ! 010\n", "4:7"),
        ("spec: &a ! 010\n", "4:7"),
        ("spec: ! &a 010\n", "4:7"),
        ("spec:\n- !\n- a\n", "5:3"),
        ("! on: a\n", "4:1"),
        ("spec: !\n  a: b\n", "4:7"),
        ("x: &x !!str a\n*x : b\n", "4:4"),
    ],
)
def test_tags_are_refused_where_they_stand(text: str, place: str) -> None:
    _, (problem,) = parse("w.yaml", HEAD + text)
    assert (problem.rule.code, str(problem.location)) == ("yaml-tag", f"w.yaml:{place}")


def test_escaped_nul_is_refused_where_it_stands() -> None:
    for text in ('a: "b\\0"\n', 'a: {"b\\x00": c}\n', 'a: ["\\u0000"]\n'):
        _, (problem,) = parse("w.yaml", text)
        assert problem.rule.code == "file-not-text"
        assert problem.location is not None
        assert problem.location.column == text.index('"') + 1


MIB = 1024 * 1024
SLOW = {
    "colons in braces": "k{}: {{image: python:3.13, name: abc}}\n",
    "anchors used twice": "k{}: &a x\n",
    "values": "- 1\n",
    "documents": "---\na: {}\n",
    "empty documents": "---\n",
    "merges": "a{}: &a {{<<: {{b: c}}}}\n",
    "a chain of merges": "a{0}: &a{0} {{<<: *a{1}, k{0}: 1}}\n",
}


@pytest.mark.parametrize("name", SLOW)
def test_four_mebibytes_are_read_or_refused_in_time(name: str) -> None:
    """At most half a second in a mebibyte here; some took minutes for four, which a file may have."""
    line = SLOW[name]
    before = "a0: &a0 {x: y}\n" if name == "a chain of merges" else ""
    text = before + "".join(line.format(n + 1, n) for n in range(4 * MIB // len(line.format(10**5, 10**5))))
    with in_a_minute(MINUTE):
        _, problems = parse("f.yaml", text)
    assert {problem.rule.code for problem in problems} <= {"file-too-large", "yaml-alias"}


def test_the_limit_of_values_is_told_where_it_is_passed() -> None:
    _, (problem,) = parse("f.yaml", "a:\n" + "- 1\n" * 600_000)
    assert problem.message == "more than 500,000 keys and values"
    assert str(problem.location) == "f.yaml:499998:4"


def test_merges_that_grow_are_refused_early() -> None:
    chain = "a0: &a0 {x: y}\n" + "".join(f"a{n + 1}: &a{n + 1} {{<<: *a{n}, k{n}: 1}}\n" for n in range(50_000))
    _, (problem,) = parse("f.yaml", chain)
    assert problem.message == "more than 500,000 values once aliases are written out"


def test_a_tab_around_braces_is_not_passed_on() -> None:
    whole = "{apiVersion: x.example/v1, kind: Thing, metadata: {name: a}}"
    for text in (f"---\t{whole}\n", f"{whole}\t# c\n"):
        document = judged(text)
        assert with_demands(document, []) == block(document.data)
