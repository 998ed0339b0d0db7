"""Tests which kept outcome of a file is taken."""

from __future__ import annotations

import re
from dataclasses import replace
from importlib.metadata import requires

import pytest

from kubectl_tas.load.source import RawFile
from kubectl_tas.store.cache import Store
from kubectl_tas.work import stored_outcomes
from kubectl_tas.work.outcome import Outcome, SharedContext, outcome
from kubectl_tas.work.stored_outcomes import StoredOutcomes
from tests.work import repositories
from tests.work.test_outcome import shared

JOB = RawFile("workflows/j.yaml", repositories.JOB.format(name="j", pool="a", label="", pods=2, gpus=1).encode())


def with_gpus(gpus: int) -> SharedContext:
    return shared({"pools/a.yaml": repositories.POOL.format(name="a", gpus=gpus)})


def found(store: Store, there: SharedContext, raw: RawFile = JOB, *, render: bool = False) -> Outcome | None:
    ((file, outcome),) = StoredOutcomes(store, there).find([raw], render=render)
    assert file is raw
    return outcome


def test_an_outcome_is_found_for_the_same_bytes_in_the_same_context(store: Store) -> None:
    there = with_gpus(8)
    made = outcome(JOB, there, [])
    outcomes = StoredOutcomes(store, there)
    outcomes.add(JOB, made)
    assert found(store, there) is None, "it is not written yet"
    outcomes.save()
    assert made.manifests
    assert found(store, with_gpus(8), render=True) == made
    assert found(store, there) == replace(made, manifests=None)
    assert found(store, with_gpus(9)) is None
    for other in (
        RawFile("workflows/k.yaml", JOB.content),
        RawFile(JOB.path, JOB.content + b"\n"),
        RawFile(JOB.path, JOB.content, problem="unreadable"),
    ):
        assert found(store, there, other) is None


def test_outcomes_of_the_latest_four_contexts_are_kept(store: Store) -> None:
    """As of a few branches; that of the same context is replaced by one with manifests."""
    made = {gpus: outcome(JOB, with_gpus(gpus), []) for gpus in range(8, 13)}
    for gpus, item in [*list(made.items())[:2], (10, replace(made[10], manifests=None)), *list(made.items())[2:]]:
        outcomes = StoredOutcomes(store, with_gpus(gpus))
        list(outcomes.find([JOB], render=True))
        outcomes.add(JOB, item)
        outcomes.save()
    assert found(store, with_gpus(8)) is None
    assert {gpus: found(store, with_gpus(gpus), render=True) for gpus in range(9, 13)} == {
        gpus: made[gpus] for gpus in range(9, 13)
    }


def test_an_outcome_without_manifests_is_none_where_they_are_asked_for(store: Store) -> None:
    there = with_gpus(8)
    outcomes = StoredOutcomes(store, there)
    outcomes.add(JOB, outcome(JOB, there))
    outcomes.save()
    assert found(store, there, render=True) is None
    assert found(store, there) == outcome(JOB, there)


def test_many_files_are_asked_for_some_at_a_time(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stored_outcomes, "AT_ONCE", 2)
    there = with_gpus(8)
    files = [RawFile(f"workflows/{number}.yaml", JOB.content) for number in range(5)]
    outcomes = StoredOutcomes(store, there)
    for raw in files[:3]:
        outcomes.add(raw, outcome(raw, there))
    outcomes.save()
    there_now = [
        (raw.path[10], item is not None) for raw, item in StoredOutcomes(store, there).find(files, render=False)
    ]
    assert there_now == [("0", True), ("1", True), ("2", True), ("3", False), ("4", False)]


def test_what_the_tool_is_built_on_is_what_it_requires() -> None:
    """And the compiled part of pydantic."""
    needed = [item for item in requires("kubectl-tas") or () if "extra ==" not in item]
    names = {re.split("[<>=!~]", item)[0].replace("ruamel-yaml-clib", "ruamel.yaml.clib") for item in needed}
    assert {name.replace("ruamel-yaml", "ruamel.yaml") for name in names} | {"pydantic-core"} == set(
        stored_outcomes.BUILT_ON
    )
