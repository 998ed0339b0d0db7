"""Tests that each operation of a template takes no longer than its cost in steps, so that steps bound the time."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from jinja2 import Environment

from kubectl_tas.jinja import bounds, filters, sandbox
from kubectl_tas.jinja.bounds import Budget, Refusal
from kubectl_tas.jinja.filters import FILTERS, TESTS, Operation, applied, method
from kubectl_tas.jinja.sandbox import expanded
from kubectl_tas.load import templates
from kubectl_tas.load.templates import FILE_STEPS, REPOSITORY_STEPS, Allowance, Templates
from tests.load.test_sandbox import HEAD, expand, refusal
from tests.support.cli import kubectl_tas, pool, write
from tests.support.effort import in_a_minute

A_STEP = 20e-6
"""Seconds that a step may take: ten times what it takes on most machines."""
SLACK = 0.05
TRIES = 5
"""How often something has to be slow to count: a machine with other work is slow once."""


def deep(value: Any) -> Any:
    """A value in which it is found more often than there is time for."""
    for _ in range(50):
        value = (value, value)
    return value


TEXTS = ("a" * 100_000, "€" * 50_000 + "b", "a b\n" * 25_000, "%" + "0" * 50_000, "9" * 400, "ab")
LISTS = (
    [*range(5_000)],
    ["a" * 40_000 + str(number) for number in range(50)] * 30,
    [{"a": {"b": number}} for number in range(1_000)],
    [[]] * 5_000,
    (deep(1),),
)
VALUES = (*TEXTS, *LISTS, {str(number): "a" * 99 for number in range(1_000)}, range(9_000), 2**60, 1e300, None)
ARGUMENTS: tuple[tuple[tuple[Any, ...], dict[str, Any]], ...] = (
    ((), {}),
    (("ab" + "a" * 50_000,), {}),
    (("a" * 50_000 + "ba",), {}),
    (("b" * 400_000 + "a",), {}),
    (("a",), {}),
    (("a", "b" * 1000), {}),
    (("", "b" * 1000, -1), {}),
    ((["a" * 1000] * 1000,), {}),
    ((10**9,), {}),
    ((-(10**9), "ceil"), {}),
    (("upper",), {}),
    ((), {"attribute": "a.b"}),
    ((), {"attribute": "a." * 90_000}),
    ((True, True), {}),
)
DEEP: tuple[tuple[tuple[Any, ...], dict[str, Any]], ...] = (
    ((deep(1),), {}),
    ((0, deep(1)), {}),
    (("eq", deep(1)), {}),
    ((), {"attribute": deep("a")}),
)
CALLS = (*product(VALUES, ARGUMENTS), *product(("ab", 1, [1], {"a": 1}, deep(1)), DEEP))


def operations() -> Iterator[tuple[str, tuple[Operation, type]]]:
    """All filters, tests and methods by a name for each, with the type that they are for."""
    for what, table in (("filter", FILTERS), ("test", TESTS)):
        yield from ((f"{what} {name}", (operation, object)) for name, operation in table.items())
    for value in ("", {}, []):
        for name in sorted(filters.METHODS):
            with contextlib.suppress(Refusal):
                yield f"{name} of {bounds.kind(value)}", (method(value, name), type(value))


OPERATIONS = dict(operations())


@pytest.mark.parametrize("name", OPERATIONS)
def test_an_operation_takes_no_longer_than_it_costs(name: str) -> None:
    operation, kind = OPERATIONS[name]
    calls = [(value, *arguments) for value, arguments in CALLS if isinstance(value, kind)]
    slow = []
    for number, (value, given, named) in enumerate(calls):
        for _ in range(TRIES):
            budget = Budget(2_000)
            begun = time.process_time()
            with contextlib.suppress(Refusal, TypeError, ValueError, LookupError, ArithmeticError, AttributeError):
                budget.made(applied(budget, operation, (value, *given), named))
            taken = time.process_time() - begun
            if taken <= budget.spent * A_STEP + SLACK:
                break
        else:
            slow.append((number, budget.spent, taken))
    assert slow == []


LONG, SHORT = "a" * 6400, "b" * 640
"""Texts that are read in 100 steps and in 10."""
MANY = {str(number): number for number in range(10)}
EACH = 16
"""Characters that an item of a list counts as."""
COSTS: tuple[tuple[str, tuple[Any, ...], dict[str, Any], int, int], ...] = (
    # one step, and those of reading each text once
    ("filter upper", (LONG,), {}, 1 + 100, 0),
    ("filter length", (LONG,), {}, 1 + 100, 0),
    ("filter default", (LONG, SHORT), {}, 1 + 100 + 10, 0),
    ("filter default", (LONG,), {"default_value": SHORT}, 1 + 100 + 10, 0),
    ("filter default", (LONG, [1] * 10), {}, 1 + 100 + 11, 0),
    ("filter reverse", (LONG,), {}, 1 + 100, 0),
    ("test lower", (LONG,), {}, 1 + 100, 0),
    ("startswith of text", (LONG, SHORT), {}, 1 + 100 + 10, 0),
    # each part is compared at each position of the text, 1024 characters in a step
    ("count of text", (LONG, SHORT), {}, 1 + 110 + 5761 * 640 // 1024 + 100, 0),
    ("count of text", (SHORT, LONG), {}, 1 + 110 + 10, 0),
    ("test in", (SHORT, LONG), {}, 1 + 110 + 5761 * 640 // 1024 + 100, 0),
    ("split of text", (LONG, SHORT), {}, 1 + 110 + 5761 * 640 // 1024 + 100, 8 * 6400),
    ("splitlines of text", (LONG,), {}, 1 + 100 + 100, 8 * 6400),
    ("filter replace", (LONG, "a", "bb"), {}, 1 + 100 + 12 + 6 + 100, 6400 + 2 * 6400),
    ("filter replace", (LONG, "a", "bb", 10), {}, 1 + 100 + 12 + 6 + 100, 6400 + 2 * 10),
    ("filter replace", (LONG, "a", "bb"), {"count": -1}, 1 + 100 + 12 + 6 + 100, 6400 + 2 * 6400),
    ("filter trim", (LONG, SHORT), {}, 1 + 110 + 6400 * 640 // 64 // 4, 0),
    ("filter trim", (LONG,), {"chars": SHORT}, 1 + 110 + 6400 * 640 // 64 // 4, 0),
    # the characters of what is made, and of the items of lists
    ("filter title", ("a " * 3200,), {}, 1 + 100 + 6400 // 8, 8 * 6400),
    ("filter format", ("%5d%d%%" * 100 + "x" * 200, *range(200)), {}, 1 + 14 + 900 // 8 + 300, 100 * 1064 + 900),
    ("filter format", ("%s" * 10, *[LONG] * 10), {}, 1 + 1000 + 20 // 8 + 10, 10 * 32 + 20 + 10 * 6400),
    ("filter join", ([LONG] * 10, ", "), {}, 1 + 10, 10 * EACH + 10 * 6400 + 10 * 2),
    ("filter join", ([{"a": "b"}] * 10,), {"attribute": "a"}, 1 + 10 + 10, 10 * EACH + 10),
    ("join of text", (", ", ["ab"] * 10), {}, 1 + 11 + 10, 10 * EACH + 10 * 2 + 10 * 2),
    ("filter indent", ("ab\n" * 100, 2), {}, 1 + 4 + 101, 300 + 101 * (2 + EACH)),
    ("filter tojson", ("<>&'" * 10,), {}, 1 + 1 + 1, 42 + 40 * 5),
    ("filter tojson", ([1, 2],), {}, 1 + 3 + 3, 6),
    ("filter string", ([1] * 10,), {}, 1 + 1 + 10, 11 * EACH),
    ("filter string", (["\n"] * 10,), {}, 1 + 1 + 10, 11 * EACH + 10),
    ("filter list", (range(10),), {}, 1 + 10, 10 * EACH),
    ("filter items", (MANY,), {}, 1 + 10, 4 * 10 * EACH),
    ("values of a mapping", (MANY,), {}, 1 + 10, 4 * 10 * EACH),
    ("keys of a mapping", (MANY,), {}, 1 + 10, 10 * EACH),
    ("filter dictsort", (MANY,), {}, 1 + 10 + 10 + 10, 4 * 10 * EACH + 10),
    ("filter map", ([LONG] * 10, "upper"), {}, 1 + 10 + 10 * 101, 10 * EACH + 10 * 6400),
    ("filter map", ([{"a": 1}] * 10,), {"attribute": "a"}, 1 + 10 + 10, 10 * EACH),
    ("filter select", (range(10), "odd"), {}, 1 + 10 + 10, 10 * EACH),
    ("filter selectattr", ([{"a": 1}] * 10, "a"), {}, 1 + 10 + 10, 10 * EACH),
    ("filter sum", ([1] * 10,), {}, 1 + 10, 10 * EACH),
    # a comparison for each digit of their number in binary
    ("filter sort", (["A" * 2048] * 16,), {}, 1 + 16 + 16 * 33 + 32 * 5, 16 * EACH + 16 * 2048),
    ("filter sort", (["A" * 2048] * 16, False, True), {}, 1 + 16 + 32 * 5, 16 * EACH),
    ("filter sort", ([{"a": {"b": 1}}] * 16,), {"attribute": "a.b"}, 1 + 16 + 32, 16 * EACH),
    # all that is within a value
    ("test eq", ([LONG] * 2, [LONG]), {}, 1 + 102 + (1 + 2 * 101) + 102, 0),
    ("test eq", ({"a": 1}, {"a": LONG}), {}, 1 + 103 + 3 + 103, 0),
    ("test eq", (range(10), 1), {}, 1 + 11 + 1, 0),
    ("test in", ("a", [LONG] * 10), {}, 1 + 1011 + 10 + 10 * (1 + 101), 10 * EACH),
    ("count of a list", ([LONG] * 10, LONG), {}, 1 + 100 + 10 + 10 * (101 + 101), 10 * EACH),
)


@pytest.mark.parametrize(("name", "given", "named", "steps", "made"), COSTS)
def test_what_an_operation_costs(
    name: str, given: tuple[Any, ...], named: dict[str, Any], steps: int, made: int
) -> None:
    """In steps, and in characters of what it makes, beside those of its result."""
    budget = Budget()
    applied(budget, OPERATIONS[name][0], given, named)
    assert (budget.spent, budget._made) == (steps, made)


@pytest.mark.parametrize(
    ("template", "steps", "made"),
    [
        ("", 0, 0),
        ("abc", 1 + 1, 3),
        ("{{ 'abc' }}", 1 + 1 + 1, 3 + 3),
        ("{{ 1 }}", 1 + 1 + 1 + 1, EACH + 1),
        ("{% set x = 1 %}", 1 + 1, 0),
        ("{% set x %}abc{% endset %}", 1 + 2, 3 + 3),
        ("{% filter upper %}abc{% endfilter %}", 1 + 2 + 1 + 1, 3 + 3 + 3),
        ("{% macro m() %}abc{% endmacro %}", 1, 0),
        ("{% macro m() %}abc{% endmacro %}{{ m() }}", 1 + 1 + 1 + 3 + 2, 3 + 3 + 3),
        ("{% for x in [1, 2] %}b{% endfor %}", 1 + 3 + 2 + 2 * 3, 2 * EACH + 2 * EACH + 2),
        ("{% for x in [1, 2] if x %}b{% endfor %}", 1 + 3 + 2 + 2 * 4, 2 * EACH + 2 * EACH + 2),
        ("{% if 1 %}b{% endif %}", 1 + 1 + 2, 1),
        ("{% set x, y = [1, 2] %}", 1 + 3 + 2, 2 * EACH + 2 * EACH),
        ("{% set x = {'b': 1} %}", 1 + 1 + 2, 2 * EACH + 1),
        ("{% set x = 'b' ~ 'c' %}", 1 + 1 + 2, 2 + 2),
        ("{% set x = 'b' + 'c' %}", 1 + 1 + 2 + 1, 2 + 2),
        ("{% set x = ('b'|tojson) + 'c' %}", 1 + 1 + 3 + 3 + 1 + 1, 1 + 3 + 3 + 1 + 4 * 6),
        ("{% set x = [1] + [2] %}", 1 + 1 + 4 + 1, 2 * EACH + 2 * EACH),
        ("{% set x = 'bc' * 3 %}", 1 + 1 + 2 + 1, 2 + 6),
        ("{% set x = [1] * 3 %}", 1 + 1 + 3 + 1, EACH + 3 * EACH),
        ("{% set x = 'bcd'[1:] %}", 1 + 1 + 1 + 1 + 1, 3 + 2),
        ("{% set x = a.b.c %}", 1 + 3, 0),
        ("{% set x = dict(b=1) %}", 1 + 1 + 1 + 1, EACH + EACH),
        ("{% set x = range(3) %}", 1 + 1 + 1 + 1 + 1, 0),
    ],
)
def test_what_statements_and_expressions_cost(template: str, steps: int, made: int) -> None:
    """A step each, and the characters and items of what they make."""
    budget = Budget()
    expanded(Environment().parse(template), {"a": {"b": {"c": 1}}}, budget)
    assert (budget.spent, budget._made) == (steps, made)


@pytest.mark.parametrize("operator", ["+", "-", "*", "/", "//", "%", "**", "~", "==", "<", "in", "and", "or"])
@pytest.mark.parametrize(
    "value", ["'a' * 1000000", "range(90000)|list", "2 ** 60", "'%' ~ '0' * 100000", "[[1] * 999] * 99"]
)
def test_an_operator_takes_no_longer_than_it_costs(operator: str, value: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bounds, "MAX_SECONDS", 10.0)  # of processor time; the longest of them takes a second
    many = f"{{% set x = {value} %}}{{% for i in range(90000) %}}{{% set y = x {operator} x %}}{{% endfor %}}"
    with in_a_minute(10):
        code, message = expand(many)
    assert code in ("template-limit", "template-value")
    assert "of processor time" not in message


def test_the_clock_ends_what_steps_do_not(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bounds, "MAX_SECONDS", 0.01)
    monkeypatch.setattr(bounds, "WATCHED", 100)
    monkeypatch.setitem(TESTS, "odd", Operation(filters.by_item, lambda _budget, _value: spin()))  # type: ignore[index]
    code, said = refusal("{% for i in range(9999) %}{% if i is odd %}{% endif %}{% endfor %}")
    assert code == "template-limit"
    assert said == (
        "4: the template takes more than 0.01 seconds of processor time = Write fewer loops and less text, or make "
        "several templates."
    )


def spin() -> bool:
    return sum(range(20_000)) > 0


LOOPS = "{% for a in range(9999) %}{% for b in range(9999) %}{% endfor %}{% endfor %}"


@pytest.mark.sweep
def test_templates_share_steps_in_the_order_of_their_paths() -> None:
    found = Templates(["workflows"], [])
    outcomes = [found.expand(f"workflows/{number:02}.yaml", f"{HEAD}  # {LOOPS}\n") for number in range(14)]
    messages = [outcome.problems[0].message for outcome in outcomes]
    assert all(outcome.problems[0].location.line for outcome in outcomes if outcome.problems[0].location)
    (first,) = (number for number, message in enumerate(messages) if message.endswith("; this one uses them up"))
    assert {message.partition(" steps")[0] for message in messages[:first]} == {"the template takes more than 200,000"}
    assert all(message.endswith(f"workflows/{first:02}.yaml has used them up") for message in messages[first + 1 :])
    assert sum(outcome.steps for outcome in outcomes) <= REPOSITORY_STEPS + 14 * (FILE_STEPS + 1)


@pytest.mark.sweep
def test_ordinary_templates_take_nothing_from_one_another() -> None:
    found = Templates(["workflows"], [])
    for number in range(12):
        assert found.expand(f"workflows/{number:02}.yaml", f"{HEAD}  # {LOOPS}\n").problems
    text = HEAD + "  tasks:{% for i in range(100) %}\n  - {name: a{{ i }}, image: b}{% endfor %}\n"
    outcome = found.expand("workflows/z.yaml", text)
    assert (outcome.problems, len(outcome.documents)) == ([], 1)


def test_the_verdict_follows_from_the_steps_of_each() -> None:
    """Whether they were counted with what is left as their bound, or each alone: then they may be more."""
    cut, whole = Allowance(), Allowance()
    for number, steps in enumerate((5_000, 1_500_000, 3_000, 900_000, 9_000, 20_000)):
        path = f"{number}.yaml"
        place = partial(templates.Location, path, 1, 1)
        assert cut.spend(path, min(steps, cut.most + 1), place) == whole.spend(path, steps, place)


def test_instances_take_steps() -> None:
    settings = {f"x{number}": number for number in range(2_000)}
    found = Templates(["workflows"], [])
    given = templates.TemplateValues(
        settings, [{"name": f"a{number}"} for number in range(9_000)], lambda *_: templates.Location("v")
    )
    found._given["x"] = given
    used = "".join(f"{{{{ {name} }}}}" for name in settings)
    (problem,) = found.expand("workflows/x.yaml", f"workflow: {{name: a, pool: b}}\n# {used}\n").problems
    assert problem.rule.code == "template-limit"


def test_many_values_that_no_template_uses(repository: Path) -> None:
    names = "".join(f"value-{number}: 1\n" for number in range(5_000))
    files = {"workflows/a.yaml": "default-values: {n: 1}\nworkflow: {name: a, pool: team}\n", "values/a.yaml": names}
    with in_a_minute():
        result = kubectl_tas("validate", "-C", write(repository, {"pools/team.yaml": pool("team"), **files}))
        assert result.code == 1


def test_comments_behind_default_values() -> None:
    text = "default-values:\n  n: 1\n" + "\n" * 300_000 + "  m: 2\nworkflow: {name: a, pool: b}\n"
    with in_a_minute():
        assert not Templates(["workflows"], []).expand("workflows/x.yaml", text).problems


def test_a_text_with_tokens_is_short() -> None:
    with in_a_minute():
        with pytest.raises(Refusal, match="65,536 characters"):
            sandbox.filled("{{ a }}" * 10_000, {"a": 1}, Budget())
        assert sandbox.filled("b" * 100_000, {}, Budget()) == "b" * 100_000
