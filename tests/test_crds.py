"""Tests the CRD validator of the tests: it finds each kind of violation, and accepts valid objects."""

from __future__ import annotations

import copy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from kubectl_tas.facts import kai
from tests.support import crds
from tests.support.crds import server
from tests.support.webhooks import refusals

HOSTNAME = "kubernetes.io/hostname"


def queue(name: str = "a", **spec: Any) -> dict[str, Any]:
    share = {"quota": 1, "limit": -1, "overQuotaWeight": 1}
    resources = {"gpu": share, "cpu": share, "memory": share}
    spec = {"displayName": name, "resources": resources, **spec}
    return copy.deepcopy(
        {"apiVersion": "scheduling.run.ai/v2", "kind": "Queue", "metadata": {"name": name}, "spec": spec}
    )


def topology(*labels: str, api: str = "kai.scheduler/v1alpha1") -> dict[str, Any]:
    levels = [{"nodeLabel": label} for label in labels]
    return {"apiVersion": api, "kind": "Topology", "metadata": {"name": "t"}, "spec": {"levels": levels}}


def pod_group(*sub_groups: dict[str, Any], **spec: Any) -> dict[str, Any]:
    groups = {"subGroups": list(sub_groups)} if sub_groups else {}
    return {
        "apiVersion": "scheduling.run.ai/v2alpha2",
        "kind": "PodGroup",
        "metadata": {"name": "g", "namespace": "n"},
        "spec": {"queue": "q", **groups, **spec},
    }


def pod(**labels: str) -> dict[str, Any]:
    marks = {"kai.scheduler/queue": "q", **{f"kai.scheduler/{key.replace('_', '-')}": v for key, v in labels.items()}}
    notes = {"pod-group-name": "g", "kai.scheduler/skip-podgrouper": "true"}
    metadata = {"name": "p", "namespace": "n", "labels": marks, "annotations": notes}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": {}}


LEAF = {"name": "leaf", "minMember": 2}
CONSTRAINT = {"topology": "t", "requiredTopologyLevel": "zone"}


@pytest.mark.parametrize("row", kai.TABLE, ids=lambda row: f"{row.since[0]}.{row.since[1]}")
def test_right_objects_are_taken(row: kai.Row) -> None:
    judge = server(f"{row.since[0]}.{row.since[1]}")
    assert judge.violations(queue()) == []
    assert judge.violations(pod_group(minMember=1, priorityClassName="p")) == []
    if row.topology_api:
        assert judge.violations(topology("zone", HOSTNAME, api=row.topology_api)) == []
    else:
        assert judge.violations(topology("zone")) == ["no kind Topology in kai.scheduler/v1alpha1"]


def test_every_row_of_the_table_has_crds() -> None:
    assert crds.FOLDERS.keys() == {row.since for row in kai.TABLE}


STRUCTURE: dict[str, tuple[str, dict[str, Any], str]] = {
    "unknown field in spec": ("0.17", pod_group(subgroups=[LEAF]), "'subgroups' was unexpected"),
    "unknown field at the top": ("0.17", {**queue(), "extra": 1}, "'extra' was unexpected"),
    "unknown field in a list": ("0.17", pod_group({**LEAF, "size": 1}), "spec.subGroups[0]: Additional"),
    "unknown field deep down": ("0.17", pod_group(topologyConstraint={"level": "x"}), "'level' was unexpected"),
    "unknown field in metadata": ("0.17", {**queue(), "metadata": {"name": "a", "uid": "x"}}, "'uid' was unexpected"),
    "field of a later version": ("0.15", pod_group(preemptionDelay="30s"), "'preemptionDelay' was unexpected"),
    "field of an earlier version": ("0.17", pod_group(parallelism=1), "'parallelism' was unexpected"),
    "alias before 0.17": (
        "0.15",
        {**topology(), "spec": {"levels": [{"nodeLabel": "z", "alias": "a"}]}},
        "'alias' was unexpected",
    ),
    "minSubGroup before 0.15": ("0.13", pod_group(minSubGroup=1), "'minSubGroup' was unexpected"),
    "preemptibility before 0.10": ("0.9", pod_group(preemptibility="preemptible"), "'preemptibility' was unexpected"),
    "parent before 0.10": ("0.9", pod_group({**LEAF, "parent": "p"}), "'parent' was unexpected"),
    "SubGroup constraint before 0.10": ("0.9", pod_group({**LEAF, "topologyConstraint": CONSTRAINT}), "was unexpected"),
    "SubGroups before 0.9": ("0.2", pod_group(LEAF), "'subGroups' was unexpected"),
    "constraint before 0.9": ("0.2", pod_group(topologyConstraint=CONSTRAINT), "'topologyConstraint' was unexpected"),
    "version that is not served": ("0.17", {**queue(), "apiVersion": "scheduling.run.ai/v3"}, "no kind Queue"),
    "Kueue's topology from 0.12": ("0.12", topology("z", api="kueue.x-k8s.io/v1alpha1"), "no kind Topology"),
    "KAI's topology before 0.12": ("0.10", topology("z"), "no kind Topology"),
    "unknown kind": ("0.17", {**queue(), "kind": "Quota"}, "no kind Quota"),
    "required field": ("0.17", pod_group({"minMember": 1}), "'name' is a required property"),
    "neither integer nor text": (
        "0.17",
        {**pod_group(), "status": {"resourcesStatus": {"requested": {"gpu": 4.5}}}},
        "4.5 is not valid under any of the given schemas",
    ),
    "no spec": ("0.17", {key: part for key, part in topology("z").items() if key != "spec"}, "'spec' is a required"),
    "wrong type": ("0.17", pod_group(minMember="4"), "spec.minMember: '4' is not of type 'integer'"),
    "float for an integer": ("0.17", pod_group(minMember=4.0), "4.0 is not of type 'integer'"),
    "boolean for an integer": ("0.17", pod_group(minMember=True), "True is not of type 'integer'"),
    "null": ("0.17", pod_group(queue=None), "None is not of type 'string'"),
    "more than 32 bits": ("0.17", pod_group(minMember=2**31), "is greater than the maximum"),
    "enum": ("0.17", pod_group(preemptibility="maybe"), "'maybe' is not one of"),
    "below the minimum": ("0.17", pod_group(minMember=0), "less than the minimum of 1"),
    "SubGroup minMember 0 before 0.15": (
        "0.13",
        pod_group({"name": "a", "minMember": 0}),
        "less than the minimum of 1",
    ),
    "pattern": ("0.17", topology("-zone"), "does not match"),
    "pattern with a line break": ("0.17", topology("zone\n"), "does not match"),
    "upper case in a SubGroup": ("0.17", pod_group({"name": "A", "minMember": 1}), "does not match"),
    "empty text": ("0.13", pod_group({"name": "", "minMember": 1}), "spec.subGroups[0].name: "),
    "long text": ("0.17", topology("z" * 317), "is too long"),
    "no levels": ("0.17", topology(), "should be non-empty"),
    "too many levels": ("0.17", topology(*(f"l{n}" for n in range(17))), "is too long"),
    "object name": ("0.17", queue("a_b"), "metadata.name: 'a_b' does not match"),
    "long object name": ("0.17", queue("a" * 254), "metadata.name: "),
    "no metadata": ("0.17", {key: part for key, part in queue().items() if key != "metadata"}, "metadata: None is"),
    "namespace of a cluster-scoped kind": (
        "0.17",
        {**queue(), "metadata": {"name": "a", "namespace": "n"}},
        "cluster-scoped",
    ),
    "no namespace on a namespaced kind": ("0.17", {**pod_group(), "metadata": {"name": "g"}}, "is namespaced"),
    "label value": ("0.17", {**queue(), "metadata": {"name": "a", "labels": {"k": "v" * 64}}}, "does not match"),
    "label value that is no text": ("0.17", {**queue(), "metadata": {"name": "a", "labels": {"k": 1}}}, "not of type"),
    "label key": ("0.17", {**queue(), "metadata": {"name": "a", "labels": {"k" * 64: "v"}}}, "does not match"),
    "label prefix": (
        "0.17",
        {**queue(), "metadata": {"name": "a", "labels": {"p" * 254 + "/k": ""}}},
        "does not match",
    ),
    "annotation value": ("0.17", {**queue(), "metadata": {"name": "a", "annotations": {"k": 1}}}, "not of type"),
    "metadata of a pod": ("0.17", {**pod(), "metadata": {"name": "P", "namespace": "n"}}, "'P' does not match"),
}


@pytest.mark.parametrize("case", STRUCTURE, ids=lambda case: case.replace(" ", "-"))
def test_structure(case: str) -> None:
    version, manifest, reason = STRUCTURE[case]
    found = server(version).violations(manifest)
    assert len(found) == 1, found
    assert reason in found[0]


@pytest.mark.parametrize("version", ["0.10", "0.12", "0.13", "0.15", "0.17"])
def test_rules_of_a_topology(version: str) -> None:
    release = kai.release(version)
    assert release is not None
    api, judge = str(release.topology_api), server(version)
    hostname_first = judge.violations(topology(HOSTNAME, "zone", api=api))
    assert len(hostname_first) == 1
    assert "can only be used at the lowest level" in hostname_first[0]
    assert any("unique" in reason for reason in judge.violations(topology("zone", "rack", "zone", api=api)))


@pytest.mark.parametrize("version", ["0.10", "0.17"])
def test_transitions_of_a_topology(version: str) -> None:
    release = kai.release(version)
    assert release is not None
    api, judge = str(release.topology_api), server(version)
    old = topology("zone", "rack", api=api)
    assert judge.violations(old, old) == []
    assert [r for r in judge.violations(topology("zone", api=api), old) if "immutable" in r]
    assert [r for r in judge.violations(topology("rack", "zone", api=api), old) if "immutable" in r]


def test_aliases_may_change() -> None:
    old, new = topology("zone"), topology("zone")
    new["spec"]["levels"][0]["alias"] = "z"
    assert server("0.17").violations(new, old) == []


def test_int_or_string_takes_both() -> None:
    status = {"resourcesStatus": {"requested": {"nvidia.com/gpu": 4, "memory": "1500Mi"}}}
    assert server("0.17").violations({**pod_group(), "status": status}) == []


def test_a_schema_with_an_unknown_keyword_is_no_silent_pass() -> None:
    with pytest.raises(AssertionError, match="multipleOf"):
        crds._closed({"type": "integer", "multipleOf": 2})


def test_missing_crds_skip_and_say_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Everywhere: a plain clone has none."""
    monkeypatch.setattr(crds, "CRDS", tmp_path / "absent")
    for ci in ("true", ""):
        monkeypatch.setenv("CI", ci)
        with pytest.raises(pytest.skip.Exception, match=f"no CRDs of KAI in {tmp_path / 'absent'}"):
            server("0.17")


PARENT = {"name": "top"}
CHILD = {"name": "child", "parent": "top", "minMember": 1}
TREE = pod_group(PARENT, CHILD)


def _aliased(*levels: tuple[str, str]) -> dict[str, Any]:
    return {**topology(), "spec": {"levels": [{"nodeLabel": label, "alias": alias} for label, alias in levels]}}


WEBHOOKS: dict[str, tuple[str, list[dict[str, Any]], str]] = {
    "leaf without minMember": ("0.15", [pod_group({"name": "a"})], "SubGroup a is a leaf without minMember"),
    "minMember above leaves": ("0.15", [pod_group({"name": "top", "minMember": 1}, CHILD)], "children and minMember"),
    "both minimums": ("0.15", [pod_group({**LEAF, "minSubGroup": 0})], "SubGroup leaf has both"),
    "both minimums on top": ("0.15", [pod_group(minMember=1, minSubGroup=1)], "the PodGroup has both"),
    "SubGroup twice": ("0.17", [pod_group(LEAF, LEAF)], "names are not unique"),
    "SubGroup without its parent": ("0.17", [pod_group(CHILD)], "the parent top of SubGroup child does not exist"),
    "SubGroups in a ring": (
        "0.13",
        [pod_group({"name": "a", "parent": "b"}, {"name": "b", "parent": "a"})],
        "SubGroup a is its own ancestor",
    ),
    "SubGroup in upper case": ("0.10", [pod_group({"name": "A", "minMember": 1})], "no lower-case label"),
    "alias twice": ("0.17", [_aliased(("z", "a"), ("r", "a"))], "the alias a is not unique"),
    "alias that is a label": ("0.17", [_aliased(("z", "r"), ("r", "s"))], "the alias r is a nodeLabel"),
    "queue without its parent": ("0.17", [queue(parentQueue="b")], "the parent b does not exist"),
    "queues in a ring": ("0.17", [queue("a", parentQueue="b"), queue("b", parentQueue="a")], "is its own ancestor"),
    "three levels of queues": (
        "0.12",
        [queue("a"), queue("b", parentQueue="a"), queue("c", parentQueue="b")],
        "has 3 levels; KAI 0.12 knows 2",
    ),
    "pod without its gang": ("0.17", [queue("q"), pod()], "the PodGroup g does not exist"),
    "pod without its queue": ("0.17", [pod_group(minMember=1), pod()], "the queue q is no leaf"),
    "pod in a container": (
        "0.17",
        [queue("q"), queue("a", parentQueue="q"), pod_group(minMember=1), pod()],
        "the queue q is no leaf",
    ),
    "pod of another queue": ("0.17", [queue("q"), queue("o"), pod_group(queue="o"), pod()], "not that of the PodGroup"),
    "pod without a SubGroup": ("0.17", [queue("q"), TREE, pod()], "the SubGroup None is no leaf of g"),
    "pod on an inner SubGroup": ("0.17", [queue("q"), TREE, pod(subgroup_name="top")], "top is no leaf of g"),
    "pod on an unknown SubGroup": ("0.17", [queue("q"), TREE, pod(subgroup_name="x")], "x is no leaf of g"),
    "skip-podgrouper before 0.15": ("0.13", [queue("q"), pod_group(minMember=1), pod()], "skip-podgrouper"),
}


@pytest.mark.parametrize("case", WEBHOOKS, ids=lambda case: case.replace(" ", "-"))
def test_webhooks(case: str) -> None:
    version, objects, reason = WEBHOOKS[case]
    found = refusals(objects, version)
    assert any(reason in refusal for refusal in found), found


@pytest.mark.parametrize(
    ("version", "objects"),
    [
        pytest.param("0.17", lambda: [queue("q"), TREE, pod(subgroup_name="child")], id="a-gang"),
        pytest.param("0.13", lambda: [pod_group({"name": "a"})], id="no-minMember-before-0.15"),
        pytest.param("0.13", lambda: [queue("a"), queue("b", parentQueue="a"), queue("c", parentQueue="b")], id="deep"),
        pytest.param("0.17", lambda: [_aliased(("z", "zone"), ("r", "rack"))], id="aliases"),
    ],
)
def test_webhooks_take_what_is_right(version: str, objects: Callable[[], list[dict[str, Any]]]) -> None:
    assert refusals(objects(), version) == []
