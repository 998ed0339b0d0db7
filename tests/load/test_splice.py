"""Tests how a text changes when one value is set in it, case by case."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from ruamel.yaml import YAML

from kubectl_tas.base.diagnostics import TasError
from kubectl_tas.base.yaml import scalar
from kubectl_tas.load.document import parse
from kubectl_tas.load.splice import (
    FIRST,
    Appended,
    Change,
    RenamedEntry,
    sent_elsewhere,
    set_value,
    with_values,
    without_document,
)
from kubectl_tas.model.base import KeyPath

QUOTA, STATE = ("spec", "quota"), ("spec", "state")

REPLACED = {
    "plain": ("spec:\n  quota: 30 # c\n", "spec:\n  quota: 50 # c\n"),
    "single-quoted": ("spec:\n  quota: '30%' # c\n", "spec:\n  quota: 50 # c\n"),
    "double-quoted-over-lines": ('spec:\n  quota: "3\\\n    0%" # c\n', "spec:\n  quota: 50 # c\n"),
    "on-the-next-line": ("spec:\n  quota:\n    # why\n    30 # c\n", "spec:\n  quota:\n    # why\n    50 # c\n"),
    "in-flow": ("spec: {quota: 30, a: b}\n", "spec: {quota: 50, a: b}\n"),
    "in-json": ('{"spec":{"quota":30}}', '{"spec":{"quota":50}}'),
    "anchored": ("spec:\n  quota: &q 30\n", "spec:\n  quota: &q 50\n"),
    "anchored-on-the-next-line": ("spec:\n  quota: &q\n    30\n", "spec:\n  quota: &q\n    50\n"),
    "an-alias": ("a: &q 30\nspec:\n  quota: *q # c\n", "a: &q 30\nspec:\n  quota: 50 # c\n"),
    "an-alias-in-flow": ("a: &q 30\nspec: {quota: *q }\n", "a: &q 30\nspec: {quota: 50 }\n"),
    "an-alias-of-a-mapping": ("a: &q {b: c}\nspec: {quota: *q}\n", "a: &q {b: c}\nspec: {quota: 50}\n"),
    "folded": ("spec:\n  quota: >-\n    30%\n\n  # c\n  a: b\n", "spec:\n  quota: 50\n\n  # c\n  a: b\n"),
    "literal-with-comment": ("spec:\n  quota: |-2 # c\n    30%\n# d\n", "spec:\n  quota: 50 # c\n# d\n"),
    "literal-at-the-end": ("spec:\n  quota: |-\n    30%", "spec:\n  quota: 50"),
    "literal-that-keeps-lines": ("spec:\n  quota: |+\n    30%\n\n\na: b\n", "spec:\n  quota: 50\n\n\na: b\n"),
    "empty": ("spec:\n  quota:\n  a: b\n", "spec:\n  quota: 50\n  a: b\n"),
    "empty-with-comment": ("spec:\n  quota: # c\n", "spec:\n  quota: 50 # c\n"),
    "empty-at-the-end": ("spec:\n  quota:", "spec:\n  quota: 50"),
    "empty-in-flow": ("spec: {quota: , a: b}\n", "spec: {quota: 50, a: b}\n"),
    "null": ("spec:\n  quota: ~ # c\n", "spec:\n  quota: 50 # c\n"),
    "key-in-quotes": ("'spec':\n  \"quota\": 30\n", "'spec':\n  \"quota\": 50\n"),
    "explicit-key": ("? spec\n: ? quota\n  : 30\n", "? spec\n: ? quota\n  : 50\n"),
    "tab-before-comment": ("spec:\n  quota:\t30\t# c\n", "spec:\n  quota:\t50\t# c\n"),
    "carriage-returns": ("spec:\r\n  quota: 30 # c\r\n", "spec:\r\n  quota: 50 # c\r\n"),
    "byte-order-mark": ("\ufeffspec: {quota: 30}\n", "\ufeffspec: {quota: 50}\n"),
    "beyond-ascii": ("# ü日🤖\nspec: {a: 🤖, quota: 30}\n", "# ü日🤖\nspec: {a: 🤖, quota: 50}\n"),
    "what-libyaml-does-not-read": ("spec: {a: b:c, quota: 30} # d\n", "spec: {a: b:c, quota: 50} # d\n"),
}

ADDED = {
    "below-nothing": ("spec: # c\na: b\n", "spec: {state: ARCHIVED} # c\na: b\n"),
    "below-nothing-at-the-end": ("spec:", "spec: {state: ARCHIVED}"),
    "below-nothing-in-flow": ("{a: {spec: }, spec: }\n", "{a: {spec: }, spec: {state: ARCHIVED}}\n"),
    "below-a-null": ("spec: ~ # c\n", "spec: {state: ARCHIVED} # c\n"),
    "below-a-null-in-capitals": ("spec: NULL # c\n", "spec: {state: ARCHIVED} # c\n"),
    "below-an-anchored-nothing": ("spec: &s\na: b\n", "spec: &s {state: ARCHIVED}\na: b\n"),
    "behind-its-comment": ("spec:\n  quota: 1 # c\n  a: b\n", "spec:\n  quota: 1 # c\n  state: ARCHIVED\n  a: b\n"),
    "at-the-end": ("spec:\n  a: b # c\n\n# d\n", "spec:\n  a: b # c\n  state: ARCHIVED\n\n# d\n"),
    "without-final-newline": ("spec:\n  quota: 1 # c", "spec:\n  quota: 1 # c\n  state: ARCHIVED"),
    "carriage-returns": ("spec:\r\n  quota: 1\r\n", "spec:\r\n  quota: 1\r\n  state: ARCHIVED\r\n"),
    "old-carriage-returns": ("spec:\r  quota: 1 # c\r", "spec:\r  quota: 1 # c\r  state: ARCHIVED\r"),
    "behind-a-literal": ("spec:\n  quota: |-\n    1\n# c\n", "spec:\n  quota: |-\n    1\n  state: ARCHIVED\n# c\n"),
    "behind-an-unfinished-literal": ("spec:\n  quota: |-\n    1", "spec:\n  quota: |-\n    1\n  state: ARCHIVED"),
    "behind-a-mapping": ("spec:\n  a:\n    b: c # d\n  # e\n", "spec:\n  a:\n    b: c # d\n  state: ARCHIVED\n  # e\n"),
    "behind-a-list": ("spec:\n  a:\n  - b\n  - c # d\n", "spec:\n  a:\n  - b\n  - c # d\n  state: ARCHIVED\n"),
    "behind-a-flow": ("spec:\n  quota: {a:\n    b}\n", "spec:\n  quota: {a:\n    b}\n  state: ARCHIVED\n"),
    "behind-an-alias": ("a: &a 1\nspec:\n  quota: *a # c\n", "a: &a 1\nspec:\n  quota: *a # c\n  state: ARCHIVED\n"),
    "behind-a-merge-key": ("spec:\n  <<: {quota: 1} # c\n", "spec:\n  <<: {quota: 1} # c\n  state: ARCHIVED\n"),
    "as-far-in-as-its-siblings": ("spec:\n      quota: 1\n", "spec:\n      quota: 1\n      state: ARCHIVED\n"),
    "before-the-next-document": ("spec:\n  quota: 1\n---\na: b\n", "spec:\n  quota: 1\n  state: ARCHIVED\n---\na: b\n"),
    "before-the-end-of-the-document": ("spec:\n  quota: 1\n...\n", "spec:\n  quota: 1\n  state: ARCHIVED\n...\n"),
    "flow": ("spec: {quota: 1, a: b}\n", "spec: {quota: 1, state: ARCHIVED, a: b}\n"),
    "flow-with-spaces": ("spec: { a: b }\n", "spec: { a: b, state: ARCHIVED }\n"),
    "flow-with-final-comma": ("spec: {a: b, }\n", "spec: {a: b, state: ARCHIVED, }\n"),
    "flow-over-lines": ("spec: {a: b,\n  quota: 1 # d\n}\n", "spec: {a: b,\n  quota: 1, # d\n  state: ARCHIVED\n}\n"),
    "flow-over-lines-with-comma": (
        "spec: {\n  quota: 1, # c\n\n  a: b }\n",
        "spec: {\n  quota: 1, # c\n  state: ARCHIVED,\n\n  a: b }\n",
    ),
    "flow-that-ends-on-the-line": ("spec: {\n  a: b }\n", "spec: {\n  a: b, state: ARCHIVED }\n"),
    "flow-behind-an-alias": ("a: &a 1\nspec: {quota: *a}\n", "a: &a 1\nspec: {quota: *a, state: ARCHIVED}\n"),
    "empty-flow": ("spec: &s {}\n", "spec: &s {state: ARCHIVED}\n"),
    "json": ('{"spec": {"quota": 1}}', '{"spec": {"quota": 1, "state": "ARCHIVED"}}'),
    "json-over-lines": (
        '{\n  "spec": {\n    "quota": 1\n  }\n}\n',
        '{\n  "spec": {\n    "quota": 1,\n    "state": "ARCHIVED"\n  }\n}\n',
    ),
    "flow-with-other-keys-on-the-line": (
        "spec: {a: b,\n  c: d, quota: 1,\n  e: f}\n",
        "spec: {a: b,\n  c: d, quota: 1, state: ARCHIVED,\n  e: f}\n",
    ),
    "behind-an-explicit-key": ("spec:\n  ? quota\n  : 1\n", "spec:\n  ? quota\n  : 1\n  state: ARCHIVED\n"),
    "with-its-mapping-on-one-line": ("a: b", "a: b\nspec:\n  state: ARCHIVED"),
    "with-its-mapping": ("a: b # c\n", "a: b # c\nspec:\n  state: ARCHIVED\n"),
    "with-its-mapping-in-flow": ("{a: b}\n", "{a: b, spec: {state: ARCHIVED}}\n"),
}  # fmt: skip

REFUSED = {
    "an-anchor-that-others-use": "spec:\n  quota: &q 30\na: *q\n",
    "a-mapping-that-others-use": "spec: &s\n  quota: 30\na: *s\n",
    "a-mapping-that-others-merge": "spec: &s {quota: 30}\na: {<<: *s}\n",
    "an-alias-on-the-way": "a: &s {quota: 30}\nspec: *s\n",
    "a-list": "spec:\n  quota: [30]\n",
    "a-mapping": "spec:\n  quota: {gpu: 30}\n",
    "a-list-on-the-way": "spec: [quota]\n",
    "a-word-on-the-way": "spec: quota\n",
    "no-mapping-at-all": "- a\n",
}


@pytest.mark.parametrize("name", REPLACED)
def test_replaced(name: str) -> None:
    before, after = REPLACED[name]
    assert set_value(before, 0, QUOTA, 50, after="parent") == after


@pytest.mark.parametrize("name", ADDED)
def test_added(name: str) -> None:
    before, after = ADDED[name]
    assert set_value(before, 0, STATE, "ARCHIVED", after="quota") == after


@pytest.mark.parametrize("name", REFUSED)
def test_refused(name: str) -> None:
    with pytest.raises(TasError) as caught:
        set_value(REFUSED[name], 0, QUOTA, 50)
    assert caught.value.message == "cannot set spec.quota without changing anything else in the file"
    assert caught.value.hint == "Its anchors, its lists or its layout stand in the way; edit the file by hand."


QUOTES = {
    "plain": ("a: x\n", "a: y2\n"),
    "single": ("a: 'x'\n", "a: 'y2'\n"),
    "double": ('a: "x"\n', 'a: "y2"\n'),
    "literal": ("a: |\n  x\n", "a: y2\n"),
}


@pytest.mark.parametrize("name", QUOTES)
def test_quotes_stay(name: str) -> None:
    before, after = QUOTES[name]
    assert set_value(before, 0, ("a",), "y2") == after


@pytest.mark.parametrize(
    "text", ["a: 30 # c", "a: '30%'", "{a: {b: 30}}", "x: &x {a: 30}\n<<: *x\n", "a: >-\n  30%\n\n"]
)
def test_a_text_that_says_so_already_stays(text: str) -> None:
    value = "30%" if "%" in text else 30
    path = ("a", "b") if "b" in text else ("a",)
    assert set_value(text, 0, path, value) == text


@pytest.mark.parametrize("before", ["", "---\n# none\n---\n", "# none\n---\n"])
def test_documents_that_are_empty_do_not_count(before: str) -> None:
    text = f"{before}a: 1\n---\n---\na: 2 # c\n---\na: 3\n"
    assert set_value(text, 1, ("a",), 9) == f"{before}a: 1\n---\n---\na: 9 # c\n---\na: 3\n"


def test_a_place_within_a_list() -> None:
    assert set_value("a:\n- b: 1\n- b: 2 # c\n", 0, ("a", 1, "b"), 3) == "a:\n- b: 1\n- b: 3 # c\n"
    assert set_value("a:\n- 1\n- 2 # c\n", 0, ("a", 1), 3) == "a:\n- 1\n- 3 # c\n"
    with pytest.raises(TasError):
        set_value("a:\n- b: 1\n", 0, ("a", 1, "b"), 3)
    with pytest.raises(TasError):
        set_value("x: &x 1\na:\n- *x\n", 0, ("a", 0), 3)


WORDS = [
    "on",
    "No",
    "null",
    "~",
    "1",
    "1.5",
    "0x1F",
    "1e3",
    ".5",
    "33%",
    "a: b",
    "a #b",
    "- a",
    "'",
    '"',
    "\\",
    "",
    " a",
    "ü",
]


@pytest.mark.parametrize("word", WORDS)
@pytest.mark.parametrize("style", ["", "'", '"'])
def test_every_word_reads_back(word: str, style: str) -> None:
    text = f"a: {scalar(word, style)}\n"
    assert parse("", text)[0][0].data == {"a": word}
    assert YAML(typ="safe", pure=True).load(f"%YAML 1.1\n---\n{text}") == {"a": word}


comments = st.sampled_from(["", " # c", "  #", " # {a: b}", "\t# 'x"])
lines = st.sampled_from(["", "\n", "# c\n", "  # far\n\n"])
newlines = st.sampled_from(["\n", "\r\n"])
values: st.SearchStrategy[Any] = st.sampled_from(["7", "'7%'", '"7"', "&NAME 7", "~", "[1, 2]", "{x: y}", "|-\n    7"])


@settings(max_examples=150, deadline=None)
@given(st.lists(st.tuples(lines, st.sampled_from("abcdef"), values, comments), min_size=1, unique_by=lambda x: x[1]),
       newlines, st.booleans(), st.sampled_from("abcdefg"))  # fmt: skip
def test_all_other_lines_stay(entries: list[tuple[str, str, str, str]], newline: str, final: bool, key: str) -> None:
    """However the lines of a mapping look, the text minus the edited entry is the same before and after."""
    texts = {
        name: f"{above}  {name}: {value.replace('NAME', name)}{'' if '|' in value else comment}\n"
        for above, name, value, comment in entries
    }
    body = f"spec:\n{''.join(texts.values())}"
    before = (body if final else body.rstrip("\n")).replace("\n", newline)
    try:
        after = set_value(before, 0, ("spec", key), 5)
    except TasError:
        assert key in texts
        assert "[" in texts[key] or "{" in texts[key]
        return
    rest = {name: text.replace("\n", newline).rstrip() for name, text in texts.items() if name != key}
    assert all(text in after for text in rest.values())
    assert parse("", after)[0][0].data["spec"][key] == 5
    if key in texts:
        assert after.count("#") == before.count("#")
        assert len(after.splitlines()) == len(before.splitlines()) - texts[key].count("|")
    else:
        assert after.count(newline) == before.count(newline) + 1
        assert after.endswith(newline) == before.endswith(newline)


@pytest.mark.parametrize(
    ("text", "edited"),
    [
        ("a: {b: 1}\n", "a: {x: z, b: 1}\n"),
        ("a: {}\n", "a: {x: z}\n"),
        ("a: { # why\n  b: 1,\n  c: 2}\n", "a: { # why\n  x: z, b: 1,\n  c: 2}\n"),
        ("a: {? b : 1}\n", "a: {? b : 1, x: z}\n"),
        ("a: {&k b: 1, c: *k}\n", "a: {x: z, &k b: 1, c: *k}\n"),
    ],
)
def test_first_of_a_flow_mapping(text: str, edited: str) -> None:
    assert set_value(text, 0, ("a", "x"), "z", after=FIRST) == edited


@pytest.mark.parametrize(
    ("text", "edited"),
    [
        ("a:\n  b: 1\n", "a:\n  x: z\n  b: 1\n"),
        ("a:\n\n  # why\n\n  b: 1\n", "a:\n  x: z\n\n  # why\n\n  b: 1\n"),
        ("a:\n  ? b\n  : 1\n", "a:\n  x: z\n  ? b\n  : 1\n"),
    ],
)
def test_first_of_a_block_mapping(text: str, edited: str) -> None:
    assert set_value(text, 0, ("a", "x"), "z", after=FIRST) == edited


REMOVED = {
    "first": ("spec:\n  quota: 30 # c\n  b: 1\n", "spec:\n  b: 1\n"),
    "last": ("spec:\n  b: 1\n  # why\n  quota: 30", "spec:\n  b: 1\n  # why\n"),
    "a-mapping": ("spec:\n  quota:\n    c: 1\n    d: 2\n  b: 1\n", "spec:\n  b: 1\n"),
    "a-block-scalar": ("spec:\n  quota: |\n    30\n  b: 1\n", "spec:\n  b: 1\n"),
    "of-windows": ("spec:\r\n  quota: 30\r\n  b: 1\r\n", "spec:\r\n  b: 1\r\n"),
    "first-in-flow": ("spec: {quota: 30, b: 1}\n", "spec: {b: 1}\n"),
    "last-in-flow": ("spec: {b: 1, quota: 30} # c\n", "spec: {b: 1} # c\n"),
}


@pytest.mark.parametrize(("before", "after"), REMOVED.values(), ids=REMOVED)
def test_removed(before: str, after: str) -> None:
    (document,), _ = parse("", before)
    assert with_values(before, document.data, [(QUOTA, None, None)]) == after


@pytest.mark.parametrize("text", ["spec:\n  quota: 30\n", "spec: {quota: 30}\n", "spec:\n  ? quota\n  : 30\n  b: 1\n"])
def test_what_cannot_be_removed(text: str) -> None:
    """The only key of a mapping, which would have no value then; a key that does not begin its line."""
    (document,), _ = parse("", text)
    assert with_values(text, document.data, [(QUOTA, None, None)]) is None


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("a", "x"), None),
        (("a", "x"), RenamedEntry("z", 1)),
        (("a", "m", "y"), None),
    ],
)
def test_what_a_merge_key_gives_is_not_removed(path: KeyPath, value: Change) -> None:
    text = "base: &b {x: 1, m: {y: 1, z: 2}}\na: {<<: *b, c: 1}\n"
    (document,), _ = parse("", text)
    assert with_values(text, document.data, [(path, value, None)]) is None


@pytest.mark.parametrize(
    ("text", "edited"),
    [
        ("a: [1, 2, 3]\n", "a: [1, 3]\n"),
        ("a: [{x: 1}, {y: 2}] # both\n", "a: [{x: 1}] # both\n"),
        ("a:\n- 1\n# two\n- 2  # second\n- 3\n", "a:\n- 1\n# two\n- 3\n"),
        ("a:\n  - x: 1\n    y: 2\n  - z: 3\n    w:\n    - 1\n  - v: 1\n", "a:\n  - x: 1\n    y: 2\n  - v: 1\n"),
        ("a:\n- - 1\n- - 2\n", None),
    ],
)
def test_an_item_of_a_list_is_removed(text: str, edited: str | None) -> None:
    (document,), _ = parse("", text)
    assert with_values(text, document.data, [(("a", 1), None, None)]) == (edited or "a:\n- - 1\n")


def test_a_value_is_not_set_within_what_is_removed() -> None:
    text = "spec:\n  quota: {c: 1, d: 2}\n  b: 1\n"
    (document,), _ = parse("", text)
    assert with_values(text, document.data, [(QUOTA, None, None), ((*QUOTA, "c"), 3, None)]) is None


@pytest.mark.parametrize(
    ("text", "document", "edited"),
    [
        ("a: 1\n---\nb: 2\n", 0, "---\nb: 2\n"),
        ("\ufeffa: 1\n---\nb: 2\n", 0, "\ufeff---\nb: 2\n"),
        ("\ufeffa: 1\n---\nb: 2\n", 1, "\ufeffa: 1\n"),
        ("a: 1\n...\n%YAML 1.2\n---\nb: 2\n", 0, "%YAML 1.2\n---\nb: 2\n"),
        ("\ufeffa: 1\n", 0, ""),
    ],
)
def test_a_document_is_taken_out(text: str, document: int, edited: str) -> None:
    assert without_document(text, document) == edited


def test_a_document_with_a_directive_above_is_left_to_the_user() -> None:
    with pytest.raises(TasError) as caught:
        without_document("a: 1\n...\n%YAML 1.2\n---\nb: 2\n", 1)
    assert caught.value.message == "cannot take document 2 out without changing the others"
    assert caught.value.hint == "Edit the file by hand."


def test_a_template_is_left_to_the_user() -> None:
    with pytest.raises(TasError) as caught:
        sent("workflow: {name: '{{ a }}', pool: b}\n")
    assert caught.value.message == "w.yaml is a template: its pool and priority are what it expands to"
    assert caught.value.hint == "Where it has a value for them, use --set; or edit the file."


@pytest.mark.parametrize("text", ["a: \xff", "workflow: {name: a, pool: b}\n"])
def test_without_a_wish_or_text_nothing_changes(text: str) -> None:
    content = text.encode("latin-1")
    assert sent_elsewhere("w.yaml", content, None, None) == content
    if "\xff" in text:
        assert sent_elsewhere("w.yaml", content, "other", None) == content


def test_pool_and_priority_change_in_every_item() -> None:
    job = "apiVersion: batch/v1, kind: Job, metadata: {name: a, labels: {x: y}}"
    text = f"workflow: {{name: a, tasks: []}}\n---\napiVersion: v1\nkind: List\nitems:\n- {{{job}}}\n"
    assert sent_elsewhere("w.yaml", text.encode(), "p", "LOW").decode() == (
        "workflow: {name: a, priority: LOW, pool: p, tasks: []}\n---\napiVersion: v1\nkind: List\nitems:\n- "
        f"{{{job.replace('x: y', 'x: y, kubectl-tas/pool: p, kubectl-tas/priority: LOW')}}}\n"
    )


def sent(text: str, **asked: Any) -> str:
    return sent_elsewhere("w.yaml", text.encode(), "other", None, **asked).decode()


MOVED = {
    "a-kind-of-another-project": (
        "apiVersion: argoproj.io/v1alpha1\nkind: Workflow\nmetadata: {name: a}\n",
        "apiVersion: argoproj.io/v1alpha1\nkind: Workflow\nmetadata: {name: a, labels: {kubectl-tas/pool: other}}\n",
    ),
    "without-a-name": (
        "apiVersion: batch/v1\nkind: Job\nspec: {}\n",
        "apiVersion: batch/v1\nkind: Job\nspec: {}\nmetadata:\n  labels:\n    kubectl-tas/pool: other\n",
    ),
    "a-workflow": ("workflow: {name: a, pool: b}\n", "workflow: {name: a, pool: other}\n"),
    "a-workflow-that-is-no-mapping": ("workflow: a\n", "workflow: a\n"),
    "a-pool": (
        "apiVersion: tas/v1alpha1\nkind: Pool\nmetadata: {name: a}\n",
        "apiVersion: tas/v1alpha1\nkind: Pool\nmetadata: {name: a}\n",
    ),
}


@pytest.mark.parametrize(("before", "after"), MOVED.values(), ids=MOVED)
def test_work_is_sent_to_another_pool(before: str, after: str) -> None:
    assert sent(before) == after


def test_only_the_work_that_is_meant_is_sent_elsewhere() -> None:
    text = "workflow: {name: a, pool: b}\n---\nworkflow: {name: c, pool: b}\n"
    assert sent(text, is_meant=lambda kind, name: (kind, name) == ("Workflow", "c")) == text.replace(
        "c, pool: b", "c, pool: other"
    )


LISTED = {
    "block": ("a:\n- x: 1 # c\n# d\nb: 2\n", "a:\n- x: 1 # c\n- k: v\n  m: 1\n- k: w\n# d\nb: 2\n"),
    "block-further-in": (
        "a:\n    -   x: 1\n        y: 2\n",
        "a:\n    -   x: 1\n        y: 2\n    - k: v\n      m: 1\n    - k: w\n",
    ),
    "block-without-final-newline": ("a:\n- x: 1", "a:\n- x: 1\n- k: v\n  m: 1\n- k: w"),
    "block-behind-a-literal": ("a:\n- |-\n  x\nb: 2\n", "a:\n- |-\n  x\n- k: v\n  m: 1\n- k: w\nb: 2\n"),
    "block-behind-a-list": ("a:\n- - x\n  - y\n", "a:\n- - x\n  - y\n- k: v\n  m: 1\n- k: w\n"),
    "flow": ("a: [{x: 1}] # c\n", "a: [{x: 1}, {k: v, m: 1}, {k: w}] # c\n"),
    "flow-that-ends-in-a-comma": ("a: [\n  {x: 1}, # c\n]\n", "a: [\n  {x: 1}, {k: v, m: 1}, {k: w}, # c\n]\n"),
    "flow-without-items": ("a: [ ]\n", "a: [{k: v, m: 1}, {k: w} ]\n"),
    "none-yet": ("b: 2 # c\n", "b: 2 # c\na:\n- k: v\n  m: 1\n- k: w\n"),
    "a-literal": ("a: | # c\n  x\nb: 1\n", "a: [{k: v, m: 1}, {k: w}] # c\nb: 1\n"),
    "no-value": ("a:  # c\nb: 1\n", "a: [{k: v, m: 1}, {k: w}]  # c\nb: 1\n"),
    "none-yet-in-flow": ("{b: 2}\n", "{b: 2, a: [{k: v, m: 1}, {k: w}]}\n"),
}


@pytest.mark.parametrize(("before", "after"), LISTED.values(), ids=LISTED)
def test_items_are_appended_to_a_list(before: str, after: str) -> None:
    (document,), _ = parse("", before)
    assert with_values(before, document.data, [(("a",), Appended(({"k": "v", "m": 1}, {"k": "w"})), None)]) == after


@pytest.mark.parametrize("text", ["a: &x [1]\nb: *x\n", "b: &x [1]\na: *x\n", "a: &x\n- 1\n"])
def test_a_list_that_stands_elsewhere_too_is_left_alone(text: str) -> None:
    """What is left alone is written anew by whoever asks."""
    (document,), _ = parse("", text)
    edited = with_values(text, document.data, [(("a",), Appended(({"k": "v"},)), None)])
    assert edited is None
