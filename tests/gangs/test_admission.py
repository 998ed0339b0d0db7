"""Tests that the quick verdict on work equals the complete one."""

from __future__ import annotations

from kubectl_tas.gangs.admission import Admission
from kubectl_tas.load.loading import load_repository
from kubectl_tas.load.source import FolderSource
from kubectl_tas.resolve.fleet import resolve
from tests.support.golden import case_input, rule_cases


def test_what_has_room_is_admitted() -> None:
    said: dict[bool, set[str]] = {True: set(), False: set()}
    for case in rule_cases():
        fleet = resolve(load_repository(FolderSource(case_input(case))).repository)
        admission = Admission(fleet)
        for item in fleet.submissions:
            verdict = admission.verdict(item)
            said[admission.is_admitted(item)].add(verdict.outcome)
            assert verdict.rule is None or not admission.is_admitted(item), case
    assert said == {True: {"admitted", "draining"}, False: {"pending", "rejected", "unschedulable", "draining"}}
