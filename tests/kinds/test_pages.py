"""Tests what holds for the page of every kind: its name, its example, and what it embeds."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields
from typing import Any

import pytest

from kubectl_tas.kinds import BY_API, LISTED, SET, Listed, kubernetes, page_of, page_of_document, pages
from kubectl_tas.kinds.grouping import Gathered
from kubectl_tas.kinds.page import SPEC, UNPACKED, WorkloadKind, embedded
from kubectl_tas.kinds.section import path_steps, value_at, values_at
from kubectl_tas.load.kinds import without_nulls
from kubectl_tas.model.workloads import read, typed_fields
from tests.support.golden import GOLDEN, ROOT
from tests.support.pyyaml import safe_load

EMBEDDED = {
    "CronJob": ("Job", "spec.jobTemplate.spec"),
    "CronWorkflow": ("Workflow.argoproj.io", "spec.workflowSpec"),
    "JobSet": ("Job", "spec.replicatedJobs[].template.spec"),
    "RayCronJob": ("RayJob", "spec.jobTemplate"),
    "RayJob": ("RayCluster", "spec.rayClusterSpec"),
    "RayService": ("RayCluster", "spec.rayClusterConfig"),
    "ScheduledSparkApplication": ("SparkApplication", "spec.template"),
}
"""Kinds that embed another, with the path of its spec."""


def name_of(page: WorkloadKind) -> str:
    return page.recognition.unique_name


def example(page: WorkloadKind) -> dict[str, Any]:
    """The golden document of a kind."""
    name = (page.recognition.schema or page.recognition.kind).lower()
    document: dict[str, Any] = safe_load((GOLDEN / f"documents/{name}.yaml").read_text())
    return document


@pytest.mark.parametrize("listed", [*LISTED, SET], ids=lambda listed: listed.name)
def test_a_kind_is_listed_as_its_page_says(listed: Listed) -> None:
    recognition = listed.page.recognition
    assert (listed.kind, listed.versions, listed.name) == (
        recognition.kind,
        recognition.versions,
        recognition.unique_name,
    )
    assert page_of(listed.name) is listed.page


def test_every_page_is_listed() -> None:
    helpers = {
        "__init__",
        "backdoors",
        "crd_rules",
        "environment",
        "grouping",
        "kubeflow",
        "kubernetes",
        "naming",
        "page",
        "ray",
        "replicated",
        "section",
        "step_names",
        "step_pods",
    }
    modules = {path.stem for path in (ROOT / "kubectl_tas/kinds").glob("*.py")} - helpers
    assert modules == {listed.module for listed in (*LISTED, SET)}
    assert len(pages()) == len(LISTED) == len({listed.name for listed in LISTED})
    assert len(BY_API) == sum(len(listed.versions) for listed in LISTED)


def test_a_page_has_every_fact() -> None:
    """No field has a default that speaks for a kind in silence."""
    required = [field.name for field in fields(WorkloadKind) if field.name != "is_declared"]  # type: ignore[arg-type]
    page = page_of("Job")
    assert page is not None
    for left_out in required:
        given = {name: getattr(page, name) for name in required if name != left_out}
        with pytest.raises(TypeError, match=left_out):
            WorkloadKind(**given)


@pytest.mark.parametrize("page", pages(), ids=name_of)
def test_the_packed_fields_are_those_of_the_operators_that_the_page_names(page: WorkloadKind) -> None:
    recognition = page.recognition
    operators = {kubernetes.operator_of(version, recognition.kind) for version in recognition.versions}
    named = set(recognition.operator.split()) - {UNPACKED}
    assert operators - {None} == named


@pytest.mark.parametrize("page", pages(), ids=name_of)
def test_the_example_of_a_kind_has_its_pods(page: WorkloadKind) -> None:
    document = without_nulls(example(page), texts=("labels", "annotations"))
    assert page_of_document(document) is page
    workload, errors = read(page, document)
    assert errors == []
    assert workload is not None
    found = {pods.path for pods in workload.pod_sets}
    assert found or name_of(page) == "RayJob", "an example that selects a cluster has the submitter alone"
    for pods in workload.pod_sets:
        assert pods.replicas >= 0
        assert pods.template is not None or page.gang.templates_elsewhere


def wrong(document: Any, steps: tuple[str, ...]) -> Iterator[Any]:
    """Yields the document once for each value at a path, with a list of numbers in its place."""
    for path, _ in list(values_at(document, steps)):
        if path:
            yield _with(document, path)


def _with(value: Any, path: tuple[str | int, ...]) -> Any:
    if not path:
        return [1]
    copy = dict(value) if isinstance(value, dict) else list(value)
    copy[path[0]] = _with(value[path[0]], path[1:])  # type: ignore[index]
    return copy


@pytest.mark.parametrize("page", pages(), ids=name_of)
def test_a_value_of_a_wrong_type_is_refused_at_its_path(page: WorkloadKind) -> None:
    document = without_nulls(example(page))
    for steps, _, _ in typed_fields(page):
        for changed in wrong(document, steps):
            workload, errors = read(page, changed)
            assert workload is None, steps
            assert errors, steps


@pytest.mark.parametrize("name", EMBEDDED)
def test_what_a_kind_embeds_comes_along(name: str) -> None:
    """Pods, growth, and what the operator refuses, each at the path where the embedded spec stands."""
    inner_name, at = EMBEDDED[name]
    page, inner = page_of(name), page_of(inner_name)
    assert page is not None
    assert inner is not None

    def moved(path: str) -> str:
        return f"{at}{path.removeprefix(SPEC)}"

    assert {moved(pods.path) for pods in inner.pods} <= {pods.path for pods in page.pods}
    assert {moved(field.path) for field in inner.fields} <= {field.path for field in page.fields}
    assert {(moved(path), check) for path, check in inner.refusals.operator} <= set(page.refusals.operator)
    assert {moved(path) for path in inner.refusals.yaml} <= set(page.refusals.yaml)
    assert {moved(part.path) for part in inner.names.parts} <= {part.path for part in page.names.parts}
    if name != "JobSet":  # its controller sets suspend of its Jobs
        assert {moved(path) for path in inner.stop.suspended_by} <= set(page.stop.suspended_by)
    if name != "ScheduledSparkApplication":  # nothing grows in the embedded one
        assert {(moved(path), grown) for path, grown in inner.growth.rows} <= set(page.growth.rows)


def test_the_start_of_pods_comes_along() -> None:
    """Pods that wait, a leader that is first and a division, at the path where the embedded spec stands."""
    jobs, groups = page_of("JobSet"), page_of("LeaderWorkerSet")
    assert jobs is not None
    assert groups is not None
    start = embedded(jobs, "spec.sets[].spec").start
    ordered = {"replicatedJobs": [], "startupPolicy": {"startupPolicyOrder": "InOrder"}}
    document: dict[str, Any] = {"spec": {"sets": [{"spec": {}}, {"spec": ordered}]}}
    (wait,) = start.waits(Gathered(document, [], lambda _: True, is_owned=False))
    assert wait.path == ("spec", "sets", 1, "spec", "startupPolicy", "startupPolicyOrder")
    start = embedded(groups, "spec.group").start
    pods = {"size": 5, "subGroupPolicy": {"subGroupSize": 2}}
    document = {"spec": {"group": {"startupPolicy": "LeaderReady", "leaderWorkerTemplate": pods}}}
    division = start.division(document)
    assert start.leader_first(document)
    assert division is not None
    assert division.path == ("spec", "group", *division.path[2:])
    assert value_at(document, *division.path) == division.size == 2
    assert start.copies == "spec.group.replicas"
    assert start.division({"spec": {}}) is None


@pytest.mark.parametrize("page", pages(), ids=name_of)
def test_paths_of_numbers_run_beside_the_path_of_their_pods(page: WorkloadKind) -> None:
    """A number belongs to the list item or key of its pods."""
    for pods in page.pods:
        for number in pods.numbers:
            steps, own = path_steps(number), path_steps(pods.path)
            for index, step in enumerate(steps):
                if step in ("[]", "*"):
                    assert own[: index + 1] == steps[: index + 1], number
