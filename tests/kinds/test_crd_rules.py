"""Tests what CRDs ask of values beyond their types."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from kubectl_tas.kinds import crd_rules, kubernetes
from tools.crdrules import UNREAD, UnreadableRuleError, read

OPERATORS = sorted(kubernetes.operators())
MANAGED = "self in ['a', \"b\"]"
OF_ALL = "self.all(t, !(has(t.steps) && has(t.dag)))"
Judge = Callable[..., list[tuple[tuple[str | int, ...], str]]]


@pytest.fixture
def judge(monkeypatch: pytest.MonkeyPatch) -> Judge:
    """Judges a value by rules, each a rule with its releases and those of the field; an update with ``old``."""

    def judged(
        value: Any, *rules: tuple[Any, ...], version: str | None = "1.1", old: Any = None, at: str = "a"
    ) -> list[tuple[tuple[str | int, ...], str]]:
        trees = [[read(rule), rule, True, defaults[0] if defaults else {}] for rule, _, *defaults in rules]
        rows = [[at, *span, number] for number, (_, span, *_) in enumerate(rules)]
        packed = {"releases": ["1.0", "1.1"], "rules": {"example.com/v1 Train": rows}, "trees": trees}
        monkeypatch.setattr(crd_rules, "read_packed", lambda _: packed)
        monkeypatch.setattr(crd_rules, "nearest_of", lambda _, release: packed["releases"].index(release))
        crd_rules._rules.cache_clear()
        new, before = ({"apiVersion": "example.com/v1", "kind": "Train", "a": each} for each in (value, old))
        broken = (
            crd_rules.broken_rules("train", version, new)
            if old is None
            else crd_rules.rules_broken_by_update("train", version, before, new)
        )
        found = [(each.path, each.message) for each in broken]
        crd_rules._rules.cache_clear()
        return found

    return judged


BOTH = (0, 1, 0, 1)
RULES: list[tuple[str, Any, Any]] = [
    (MANAGED, "a", "c"),
    ("self.x.startsWith('/') && !self.x.contains('..')", {"x": "/a"}, {"x": "/a/.."}),
    ("self == '' || self.matches('^[a-z]+://.+$')", "gs://a", "gs"),
    ("self == '' || self.matches('^[a-z]+$')", "a", "a\n"),
    ("size(self) <= 2", ["a"], ["a", "b", "c"]),
    ("self.size() <= 2", "éé", "ééé"),
    ("(has(self.x) ? 1 : 0) + (has(self.y) ? 1 : 0) <= 1", {"x": 1}, {"x": 1, "y": 0}),
    (OF_ALL, [{"steps": 1}, {"dag": 1}], [{}, {"dag": 1, "steps": 1}]),
    ("self.exists(t, t.x == true)", [{"x": False}, {"x": True}], [{"x": False}]),
    ("self.exists(t, t.x == true)", [{}, {"x": True}], [{"x": False}]),
    ("self.x == 1 || self.y != 2", {"y": 1}, {"x": 2, "y": 2}),
]


@pytest.mark.parametrize(("rule", "good", "bad"), RULES)
def test_a_rule_is_judged_as_the_api_server_does(judge: Judge, rule: str, good: Any, bad: Any) -> None:
    assert judge(good, (rule, BOTH)) == []
    ((path, message),) = judge(bad, (rule, BOTH))
    assert (path[0], message) == ("a", rule)
    assert judge(None, (rule, BOTH)) == [], "an absent field has no rules"


@pytest.mark.parametrize(
    ("rule", "value"),
    [
        ("self.exists(t, t.x == true)", [{}]),
        ("!has(self.y) || self.y.x > 1", {"y": {}}),
        ("self.x == 1 || self.y != 2", {"y": 2}),
        ("self.x != self.y && has(self.y)", {"y": 2}),
    ],
)
def test_a_rule_without_a_value_refuses_the_object(judge: Judge, rule: str, value: Any) -> None:
    assert [message for _, message in judge(value, (rule, BOTH))] == ["a rule reads x, which is absent"]


@pytest.mark.parametrize(
    ("rule", "value", "path"),
    [
        (OF_ALL, [{}, {"dag": 1, "steps": 1}], ("a", 1, "steps")),
        ("!(has(self.x.z) && has(self.y))", {"x": {"z": 1}, "y": 1}, ("a", "x", "z")),
        ("has(self.x) || has(self.y)", {}, ("a",)),
        ("!has(self.x) || has(self.y)", {"x": 1}, ("a", "x")),
    ],
)
def test_a_finding_is_at_the_first_field_that_the_rule_names(
    judge: Judge, rule: str, value: Any, path: tuple[str | int, ...]
) -> None:
    assert [found for found, _ in judge(value, (rule, BOTH))] == [path]


@pytest.mark.parametrize(
    ("version", "spans", "is_refused"),
    [
        ("1.0", [(0, 0, 0, 1)], True),
        ("1.1", [(0, 0, 0, 1)], False),
        (None, [(0, 0, 0, 1)], False),
        (None, [(1, 1, 1, 1)], True),
        (None, [(0, 1, 0, 1)], True),
        (None, [(0, 0, 0, 1), (1, 1, 0, 1)], True),
    ],
)
def test_without_a_release_a_value_is_refused_if_each_release_with_the_field_refuses_it(
    judge: Judge, version: str | None, spans: list[tuple[int, ...]], *, is_refused: bool
) -> None:
    rules = [(f"self == '{number}'", span) for number, span in enumerate(spans)]
    assert bool(judge("c", *rules, version=version)) is is_refused


def test_rules_see_the_defaults_of_the_crd(judge: Judge) -> None:
    rule = "has(self.x) && self.y.z == 1"
    defaults = {"self.x": 2, "self.y.z": 1}
    assert judge({"y": {}}, (rule, BOTH, defaults)) == []
    assert judge({}, (rule, BOTH, defaults)) != [], "no default makes the mapping above it"


FIXED = ("self == oldSelf", BOTH)


@pytest.mark.parametrize(
    ("old", "new", "paths"),
    [
        ("b", "c", [("a",)]),
        ("b", "b", []),
        ("b", None, []),
    ],
)
def test_an_update_may_not_change_what_a_rule_keeps(judge: Judge, old: Any, new: Any, paths: list[Any]) -> None:
    assert [path for path, _ in judge(new, FIXED, old=old)] == paths
    assert judge(new, FIXED) == [], "no rule of updates for a new object"


def test_a_default_is_the_value_before_and_after_an_update(judge: Judge) -> None:
    rule = (*FIXED, {"self": "c"})
    assert judge({"b": "c"}, rule, old={}, at="a.b") == []
    assert judge({"b": "d"}, rule, old={"x": 1}, at="a.b") == [(("a", "b"), "self == oldSelf")]


def test_an_update_compares_items_by_their_keys(judge: Judge) -> None:
    old = [{"name": "b", "of": "y", "x": 1}, {"name": "a", "of": "y", "x": 1}]
    new = [{"name": "a", "of": "y", "x": 1}, {"name": "b", "of": "y", "x": 2}, {"name": "b", "of": "z", "x": 2}]
    assert judge(new, FIXED, old=old, at="a[name,of].x") == [(("a", 1, "x"), "self == oldSelf")]
    assert judge({"k": 1, "l": 2}, FIXED, old={"k": 2}, at="a.*") == [(("a", "k"), "self == oldSelf")]


@pytest.mark.parametrize(
    "rule", ["self.x[0] == 1", "self.map(t, t.x)", "oldSelf.hasValue()", "self ==", "1 - 2", "a b"]
)
def test_a_rule_of_another_form_is_unreadable(rule: str) -> None:
    with pytest.raises(UnreadableRuleError):
        read(rule)


@pytest.mark.parametrize("operator", OPERATORS)
def test_a_rule_of_a_crd_is_judged_or_listed_with_a_reason(operator: str) -> None:
    packed = kubernetes.read_packed(operator)
    placed = {number for rows in packed["rules"].values() for *_, number in rows}
    assert placed == set(range(len(packed["trees"])))
    listed = [begin for name, begin in UNREAD if name == operator]
    assert [rule for rule in packed["unread"] if not rule.startswith(tuple(listed))] == []
    assert [begin for begin in listed if not any(rule.startswith(begin) for rule in packed["unread"])] == []
