"""Tests what is said of templates and their values: each finding with its place and its hint."""

from __future__ import annotations

from typing import Any

import pytest

from kubectl_tas.base.diagnostics import Location
from kubectl_tas.load.templates import FILE_STEPS, REPOSITORY_STEPS, Allowance
from tests.support.cli import pool
from tests.support.judged import told, told_of

HEAD = "default-values: {n: 1}\nworkflow:\n  name: w\n  pool: team\n  tasks:\n"


@pytest.mark.parametrize(
    "tasks",
    [
        "  - {name: t, image: '{{ n }}', command: [{% print n %}]}\n",
        "  - {name: t, image: i, command: ['{{ \"\\x01\" }}{{ n }}']}\n",
        "  - {name: t, image: i, command: ['{{ \"\\N{BULLET}\" }}{{ n }}']}\n",
        "  - {name: t, image: i, command: [x{{ .Values.a }}]}\n",
        "{{- range $x := .a }}\n",
        "{{ end }}\n",
        "  - {name: t, image: i, command: [x{{ a }}]}\n",
        "{% if n %}\n  - {name: t, image: i, command: [x]}\n",
        "{% if n %}{% endif %}\n{%- for x in [n] %}\n{% with %}{% endwith %}",
        "  - {name: t, image: i, command: [x{# ]}\n",
        "  - {name: t, image: i, command: ['{{ n + }}']}\n",
        f"  - {{name: t, image: i, command: ['{{{{ {'1' * 5000} }}}}']}}\n",
        f"  - {{name: t, image: i, command: ['{{{{ n }}}}{{{{ {'(' * 3000}{')' * 3000} }}}}']}}\n",
        "{{ n }}" * 10_001,
        "  - {name: t, image: 'i{{ n }}'}\n---\na: b\n",
    ],
)
def test_tags(tasks: str, snapshot: Any) -> None:
    assert "\n".join(told_of(HEAD + tasks)) == snapshot


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (
            "default-values: {n: 1}\nworkflow: {name: w}\ndefault-values: {n: 1}\n",
            "3:1 template-syntax: the file has default-values twice (Write all of them in one place.)",
        ),
        (
            "default-values: [a]\nworkflow: {name: w}\n",
            "1:1 template-syntax: default-values is no mapping (Write a name and a value in each line.)",
        ),
        (
            "workflow:\n  name: w{{ a }}\n  pool: team\n  tasks: []\n  default-values: {a: 1}\n",
            "2:10 template-undefined: a is not defined; defined: nothing "
            "(default-values begins its line, like workflow; here it is indented.)",
        ),
        (
            "# first\ndefault-values: {n: 1}\n{% if n > 3 %}\nworkflow: {name: w}\n{% endif %}\n",
            "2:1 template-unsupported: the template expands to nothing "
            "(Write the workflow without a condition, or remove the file.)",
        ),
        (
            HEAD.replace("1", '"\\x07"') + "  - {name: t, image: '{{ n }}'}\n",
            "6:23 file-not-text: the control character U+0007 is not text (Remove it from the value.)",
        ),
    ],
)
def test_files(text: str, found: str) -> None:
    assert told_of(text) == [f"w.yaml:{found}"]


TEMPLATE = HEAD.replace("n: 1", "n: 1, s: a") + "  - {name: t, image: 'i{{ n }}{{ s }}'}\n"


@pytest.mark.parametrize(
    ("values", "text", "found"),
    [
        (
            "{w: {n: a}}",
            TEMPLATE,
            "4:19 value-type: n is a number in default-values, here text "
            "(Write a value of the same type as the default.)",
        ),
        ("{w: {s: 1}}", TEMPLATE, "4:19 value-type: s is text in default-values, here a number (Put it in quotes.)"),
        ("{w: {q: 1}}", TEMPLATE, '4:19 value-unknown: the template uses no value "q" (It uses n, s.)'),
        ("{w: {name: x}}", TEMPLATE, '4:22 value-unknown: the template uses no value "name" (It uses n, s.)'),
        (
            "{w: {instances: [{name: a, n: 2}, {name: b, q: 2}]}}",
            TEMPLATE,
            '4:58 value-unknown: the template uses no value "q" (It uses n, s.)',
        ),
        (
            "{w: {n: 1}}",
            TEMPLATE.partition("\n")[2].replace("{{ n }}{{ s }}", "{{ 1 }}"),
            '4:19 value-unknown: the template uses no value "n" (It uses none.)',
        ),
        (
            "{w: {instances: []}}",
            TEMPLATE,
            "4:27 invalid-value: instances has no entry, and the template itself would be a workflow "
            "(Remove instances where that is meant; or remove the template with its values.)",
        ),
        (
            "{w: {instances: [{name: a}]}}",
            f"{TEMPLATE}---\n{TEMPLATE.partition(chr(10))[2]}",
            "4:35 invalid-value: instances are of one workflow, and the template has 2 "
            "(Write each workflow into a file of its own.)",
        ),
        (
            "{x: {n: 1}}",
            TEMPLATE,
            "4:15 values-unused: no template has the name x; these values count for nothing (Available: w.)",
        ),
        (
            "{a/w: {n: 1}}",
            TEMPLATE,
            '4:17 values-unused: no template has the name a/w; these values count for nothing (Did you mean "w"?)',
        ),
        (
            "{x: {n: 1}}",
            TEMPLATE.partition("\n")[2].replace("{{ n }}{{ s }}", ""),
            "4:15 values-unused: no template has the name x; these values count for nothing (There is no template.)",
        ),
    ],
)
def test_values_of_the_config(values: str, text: str, found: str) -> None:
    config = f"apiVersion: tas/v1alpha1\nkind: Config\nspec:\n  values: {values}\n"
    files = {"tas.yaml": config, "pools/team.yaml": pool(), "workflows/w.yaml": text}
    assert told(files) == [f"tas.yaml:{found}"]


def test_templates_share_their_steps() -> None:
    """Each has some of its own; the first that exceeds what is left is named by all behind it."""
    shared = Allowance()
    assert shared.most == REPOSITORY_STEPS + FILE_STEPS == 2_010_000
    for steps in (0, 10_000, 1_010_000, 1_010_000):
        assert shared.spend("a.yaml", steps, lambda: Location("a.yaml")) is None
    assert shared.most == 10_000
    first = shared.spend("b.yaml", 10_001, lambda: Location("b.yaml", 3))
    again = shared.spend("c.yaml", 10_001, lambda: Location("c.yaml"))
    own = shared.spend("d.yaml", 10_000, lambda: Location("d.yaml"))
    assert first is not None
    assert again is not None
    assert own is None
    assert (first.rule.code, first.location) == ("template-limit", Location("b.yaml", 3))
    share = "the templates share 2,000,000 steps beyond 10,000 of each"
    assert [first.message, again.message] == [f"{share}; this one uses them up", f"{share}; b.yaml has used them up"]
    assert first.hint == "Write shorter loops in the templates before this one too, or fewer templates."
