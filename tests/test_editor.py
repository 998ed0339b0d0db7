"""Positions as editors count them, and edits that replace no more than a word."""

from __future__ import annotations

import pytest
from lsprotocol.types import Position

from kubectl_tas.diagnostics import Diagnostic, Location, Rule, Severity
from kubectl_tas.editor.definition import reference_at
from kubectl_tas.editor.positions import Text, fix
from kubectl_tas.load.document import parse
from kubectl_tas.words import question

RULE = Rule("x", Severity.ERROR, "", "")
LINES = "ab\r\n\U0001f680c\rä\u2028\n"


@pytest.mark.parametrize(
    ("encoding", "column"), [("utf-8", 4), ("utf-16", 2), ("utf-32", 1)], ids=["utf-8", "utf-16", "utf-32"]
)
def test_columns(encoding: str, column: int) -> None:
    text = Text(LINES, encoding)
    place = Location("x", 2, 2, length=1)
    assert text.range(place).start == Position(1, column)
    assert text.offset(Position(1, column)) == LINES.index("c")


def test_every_position_leads_back() -> None:
    text = Text(LINES)
    for offset in range(len(LINES)):
        if LINES[offset - 1 : offset + 1] != "\r\n":
            assert text.offset(text.position(offset)) == offset


def test_places_that_the_text_has_no_more() -> None:
    text = Text("a\n")
    assert text.range(Location("x", 9, 9, length=9)).start == Position(1, 0)
    assert text.offset(Position(9, 9)) == 2
    assert text.offset(Position(0, 9)) == 1
    assert text.range(Location("x")).end == Position(0, 1)


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("pool: teem", "pool: team"),
        ("pool: 'teem'", "pool: 'team'"),
        ('pool: "teem"', 'pool: "team"'),
        ("pool: {{ x }}", None),  # what a template says is not what it means
        ("pool: &a teem", None),
        ("pool: team", None),  # it has been mended since
    ],
)
def test_fixes(line: str, expected: str | None) -> None:
    place = Location("x", 1, 7, length=len(line) - 6)
    found = fix(Diagnostic(RULE, "", place, hint=question("teem", "team")), place, Text(line))
    assert expected == (line[: found.start] + found.text + line[found.end :] if found else None)


def test_what_would_be_something_else_is_quoted() -> None:
    place = Location("x", 1, 1, length=3)
    found = fix(Diagnostic(RULE, "", place, hint=question("yse", "yes: 1")), place, Text("yse"))
    assert found is not None
    assert found.text in ("'yes: 1'", '"yes: 1"')


def test_a_hint_that_says_more_is_no_fix() -> None:
    place = Location("x", 1, 1, length=3)
    assert fix(Diagnostic(RULE, "", place, hint="Use a or b."), place, Text("abc")) is None


REFERENCES = """\
workflow: {name: a, pool: POOL, backend: BACKEND,
  groups: [{name: g, tasks: [{name: t, resource: RESOURCE, inputs: [{task: TASK}]}]}]}
resources: {r: {topology: [{key: LEVEL}]}}
---
apiVersion: tas/v1alpha1
kind: Pool
metadata: {name: NONE}
spec: {parent: POOL, topology: TOPOLOGY, backend: BACKEND, description: NONE}
---
apiVersion: scheduling.run.ai/v2alpha2
kind: PodGroup
spec: {queue: QUEUE, topologyConstraint: {topology: TOPOLOGY, requiredTopologyLevel: LEVEL},
  subGroups: [{name: NONE, topologyConstraint: {preferredTopologyLevel: LEVEL}}]}
---
apiVersion: grove.io/v1alpha1
kind: PodCliqueSet
metadata: {labels: {kubectl-tas/pool: POOL}}
spec: {template: {topologyConstraint: {topologyName: TOPOLOGY, packDomain: LEVEL},
  cliques: [{name: NONE, spec: {startsAfter: [CLIQUE]}}],
  podCliqueScalingGroups: [{name: NONE, cliqueNames: [CLIQUE]}]}}
---
apiVersion: batch/v1
kind: Job
metadata: {labels: {kubectl-tas/pool: POOL, kubectl-tas/gang: NONE}}
spec: {template: {metadata: {annotations: {
  kai.scheduler/topology: TOPOLOGY, kai.scheduler/topology-required-placement: LEVEL}}}}
"""


def test_what_names_something() -> None:
    documents, _ = parse("x", REFERENCES)
    seen = 0
    for document in documents:
        for word in ("POOL", "BACKEND", "RESOURCE", "TASK", "LEVEL", "TOPOLOGY", "QUEUE", "CLIQUE", "NONE"):
            start = -1
            while (start := REFERENCES.find(word, start + 1)) >= 0:
                path = document.path_around(start + 1)
                if path is None or document.value(path) != word:
                    continue
                found = reference_at(document, path)
                assert (found.what.upper() if found else "NONE") == word, path
                seen += 1
    assert seen == 26
