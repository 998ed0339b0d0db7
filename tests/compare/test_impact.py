"""Tests what a change means: the effects of it that no example has."""

from __future__ import annotations

from typing import ClassVar

import pytest

from kubectl_tas.compare.change import Change
from kubectl_tas.compare.impact import Impact, impact
from kubectl_tas.compile import compile_fleet
from tests.support.cli import pool, subpool
from tests.support.fleets import fleet_of

WORKFLOW = """\
workflow:
  name: train
  pool: team
  priority: NORMAL
  groups:
  - name: g
    tasks: [{name: a, image: i, lead: true, files: [{path: /run.sh, localpath: run.sh}]}, {name: b, image: i}]
resources: {default: {gpu: 8}}
"""
FILES = {"pools/team.yaml": pool(), "workflows/train.yaml": WORKFLOW, "workflows/run.sh": "true\n"}


def config(spec: str) -> dict[str, str]:
    """The file of a Config with this spec, a flow mapping."""
    return {"tas.yaml": f"apiVersion: tas/v1alpha1\nkind: Config\nspec: {spec}\n"}


def meaning(before: dict[str, str], after: dict[str, str]) -> Impact:
    """What it means to go from some files to others."""
    old, new = fleet_of(before), fleet_of(after)
    return impact(Change(old, new, "HEAD"), (), compile_fleet(old), compile_fleet(new))


def settings(before: str, after: str) -> list[tuple[str, str, str]]:
    """The settings that change with the spec of the Config."""
    found = meaning({**config(before), **FILES}, {**config(after), **FILES}).settings
    return [(item.path, item.before, item.after) for item in found]


@pytest.mark.parametrize(
    ("before", "after", "modes", "level", "reason"),
    [
        ("true", "false", ("enforce", "off"), "high", "the guard goes"),
        ("warn", "off", ("warn", "off"), "high", "the guard goes"),
        ("true", "warn", ("enforce", "warn"), "medium", "the guard refuses nothing any more"),
        ("false", "warn", ("off", "warn"), "medium", "the guard warns"),
        ("warn", "enforce", ("warn", "enforce"), "medium", "the guard refuses from now on"),
    ],
)
def test_the_guard_gets_another_mode(before: str, after: str, modes: tuple[str, str], level: str, reason: str) -> None:
    specs = [f"{{guard: {mode}}}".replace("{guard: off}", "{}") for mode in (before, after)]
    found = meaning(*({**config(spec), "pools/team.yaml": pool()} for spec in specs))
    assert found.guard == modes
    assert found.risk == (level, (reason,))


def test_one_mode_of_the_guard_has_two_spellings() -> None:
    assert meaning(*({**config(f"{{guard: {mode}}}"), **FILES} for mode in ("true", "enforce"))).guard is None


@pytest.mark.parametrize(
    ("before", "after", "found"),
    [
        (
            '{name: a, scheduler: {version: "0.16"}}',
            '{name: a, scheduler: {version: "0.17"}}',
            [("backends.a.scheduler", "type: kai, version: 0.16", "type: kai, version: 0.17")],
        ),
        ("{name: a}", "{name: a, context: eu}", [("backends.a.context", "-", "eu")]),
        ("{name: a, context: eu}", "{name: b, context: us}", [("backends", "a", "b")]),
    ],
    ids=["nested", "from nothing", "another"],
)
def test_settings_of_a_cluster(before: str, after: str, found: list[tuple[str, str, str]]) -> None:
    specs = (f"{{backends: [{backend}]}}" for backend in (before, after))
    assert settings(*specs) == found


def test_a_rule_that_nobody_knows_was_off_and_is_off() -> None:
    """Only the Config of a revision may have such a line: in the present one it is an error."""
    before = {**config("{rules: {pool-gone: error, no-such-rule: error, over-quota: off}}"), **FILES}
    found = meaning(before, {**config("{rules: {over-quota: off}}"), **FILES}).rules
    assert [(item.code, item.before, item.after, item.is_milder) for item in found] == [
        ("no-such-rule", "error", "off", True),
        ("pool-gone", "error", "info", True),
    ]


def test_a_cluster_without_kai_has_no_queues() -> None:
    backend = config("{backends: [{name: a, scheduler: {type: default}}]}")
    found = meaning({**backend, "pools/p.yaml": pool()}, {**backend, "pools/p.yaml": pool(guarantee=50)})
    assert found.queues == ()


class TestWork:
    def test_work_that_is_refused_as_before_is_no_risk(self) -> None:
        """It changes all the same: it asks for more."""
        before = {**FILES, "pools/team.yaml": pool(guarantee=4)}
        found = meaning(before, {**before, "workflows/train.yaml": WORKFLOW.replace("gpu: 8", "gpu: 9")})
        assert [(item.name, item.kind, item.is_worse) for item in found.work] == [("train", "changed", False)]
        assert not any("refused" in reason for reason in found.risk[1])

    @pytest.mark.parametrize(
        ("guarantee", "is_worse", "reasons"), [(100, False, 0), (8, True, 1)], ids=["has room", "has no room"]
    )
    def test_work_that_asks_for_more(self, guarantee: int, is_worse: bool, reasons: int) -> None:
        files = {**FILES, "pools/team.yaml": pool(guarantee=guarantee)}
        less = WORKFLOW.replace("gpu: 8", "gpu: 4")
        found = meaning({**files, "workflows/train.yaml": less}, files)
        assert [item.is_worse for item in found.work] == [is_worse]
        assert found.risk[1].count("1 piece of work is refused") == reasons

    def test_work_that_goes(self) -> None:
        found = meaning(FILES, {"pools/team.yaml": pool()})
        assert [(item.kind, item.is_worse) for item in found.work] == [("dropped", False)]

    @pytest.mark.parametrize(
        ("file", "old", "new", "why"),
        [
            ("workflows/train.yaml", "gpu: 8", "gpu: 4", "its file changes"),
            (
                "workflows/run.sh",
                "true",
                "false",
                "a file that it names, its pool or the Config changes what it is made of",
            ),
            ("workflows/train.yaml", "NORMAL", "LOW", "its priority goes from NORMAL to LOW"),
        ],
        ids=["its file", "a file that it names", "priority"],
    )
    def test_why_a_gang_restarts(self, file: str, old: str, new: str, why: str) -> None:
        found = meaning(FILES, {**FILES, file: FILES[file].replace(old, new)})
        assert [item.why for item in found.restarts] == [f"{why}, and Pods that run cannot be changed"]


class TestRenamedPools:
    BEFORE: ClassVar = {"pools/team.yaml": pool(), "subpools/a.yaml": subpool("a", 10)}
    AFTER: ClassVar = {"pools/team.yaml": pool("group"), "subpools/a.yaml": subpool("a", 10, "group")}

    def test_subpools_take_no_step(self) -> None:
        assert meaning(self.BEFORE, self.AFTER).subpools == ()

    def test_a_subpool_takes_a_step(self) -> None:
        closed = {**self.AFTER, "subpools/a.yaml": subpool("a", 10, "group", state="DELETING")}
        (step,) = meaning(self.BEFORE, closed).subpools
        assert (step.name, step.before, step.after) == ("team--a", "ACTIVE", "DELETING")

    def test_a_subpool_of_a_pool_that_is_new(self) -> None:
        files = {"pools/other.yaml": pool("other", 7), "subpools/b.yaml": subpool("b", 5, "other")}
        (step,) = meaning(self.BEFORE, {**self.AFTER, **files}).subpools
        assert (step.name, step.before, step.after) == ("other--b", None, "ACTIVE")
