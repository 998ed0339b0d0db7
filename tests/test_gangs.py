"""Tests owned PodGroups and gangs of several workloads: unique names, and pods that find their SubGroup."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kubectl_tas.resolve.names import as_label
from tests.support.cli import kubectl_tas, pool, write
from tests.support.pyyaml import safe_load, safe_load_all
from tests.support.webhooks import refusals
from tests.support.workloads import LEVELS, deployment, pytorch_job, ray_job, template

Object = dict[str, Any]
VERSION = "0.17"


def rendered(root: Path, *workloads: Object, guarantee: int = 100) -> list[Object]:
    """What a repository with one pool and these workloads is rendered to."""
    files = {"pools/p.yaml": pool(guarantee=guarantee, spec=LEVELS), "workflows/w.yaml": yaml.safe_dump_all(workloads)}
    write(root, files)
    result = kubectl_tas("render", "--to", "-", "-C", root)
    assert result.code == 0, result.err
    return list(safe_load_all(result.out))


def pods(found: Any) -> dict[str, int]:
    """Pods that each SubGroup is given, by the labels of pod templates anywhere below ``found``."""
    if isinstance(found, list):
        parts = [pods(item) for item in found]
    elif isinstance(found, dict):
        label = found.get("template", {}).get("metadata", {}).get("labels", {}).get("kai.scheduler/subgroup-name")
        parts = [{label: found.get("replicas", 1)} if label else {}, *(pods(item) for item in found.values())]
    else:
        return {}
    return {name: sum(part.get(name, 0) for part in parts) for part in parts for name in part}


def labelled(found: Any) -> set[str]:
    """The SubGroups that labels anywhere below ``found`` name."""
    if isinstance(found, list):
        return set().union(*(labelled(item) for item in found))
    if not isinstance(found, dict):
        return set()
    own = found.get("kai.scheduler/subgroup-name")
    return ({own} if isinstance(own, str) else set()).union(*(labelled(item) for item in found.values()))


def sub_groups(objects: list[Object]) -> list[Object]:
    """The SubGroups of the one PodGroup, which the cluster takes and whose leaves the pods fill."""
    (group,) = (item for item in objects if item["kind"] == "PodGroup")
    assert refusals(objects, VERSION) == []
    found: list[Object] = group["spec"]["subGroups"]
    leaves = {item["name"]: item["minMember"] for item in found if "minMember" in item}
    assert pods([item for item in objects if item["kind"] != "PodGroup"]) == leaves
    return found


GANG = {"kubectl-tas/gang": "g1"}
OWNED = {"kubectl-tas/podgroup": "owned"}


@pytest.mark.parametrize("other", ["p-worker", "p-master"])
def test_names_of_a_gang_do_not_meet(repository: Path, other: str) -> None:
    jobs = [pytorch_job(name, GANG, workers=workers) for name, workers in (("p", 2), (other, 3))]
    names = [item["name"] for item in sub_groups(rendered(repository, *jobs))]
    assert {"pytorchjob-p", f"pytorchjob-{other}", f"pytorchjob-{other}-worker"} <= set(names)
    assert len(set(names)) == len(names) == 6


def test_names_of_a_gang_do_not_depend_on_the_order(repository: Path) -> None:
    jobs = [pytorch_job("p", GANG), pytorch_job("p-worker", GANG), deployment("d", GANG)]
    objects = [rendered(repository, *order) for order in (jobs, jobs[::-1])]
    assert sub_groups(objects[0]) == sub_groups(objects[1])


@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.data())
def test_any_names_in_a_gang(repository: Path, data: st.DataObject) -> None:
    words = st.lists(st.sampled_from(["a", "b", "head", "rayjob"]), min_size=1, max_size=4)
    groups = st.lists(words.map("-".join), max_size=3)
    jobs = data.draw(st.dictionaries(words.map("-".join), groups.map(set), min_size=2, max_size=4))
    sub_groups(rendered(repository, *(ray_job(name, GANG, sorted(own)) for name, own in jobs.items())))


@pytest.mark.parametrize(
    ("groups", "kept"),
    [(["a.b", "a-b"], {"head", "a-b"}), (["a-b", "a.b"], {"head", "a-b"}), (["head", "x"], {"head", "x"})],
)
def test_worker_groups_of_one_folded_name(repository: Path, groups: list[str], kept: set[str]) -> None:
    names = [item["name"] for item in sub_groups(rendered(repository, ray_job("r", OWNED, groups)))]
    assert len(set(names)) == len(names) == 3
    assert kept < set(names)


def clustered(labels: dict[str, str], *groups: str) -> Object:
    return ray_job("r", labels, list(groups))


def submitted(labels: dict[str, str], *groups: str) -> Object:
    found = ray_job("r", labels, list(groups))
    found["spec"]["submitterPodTemplate"] = template()
    return found


MEETING = [
    (clustered, ("a.b", as_label("a.b"))),
    (clustered, (as_label("a.b"), "a.b")),
    (submitted, ("submitter", "submitter-pod-6cb0719d")),
    (submitted, ("submitter", as_label("submitter/pod"), "submitter-pod")),
]


@pytest.mark.parametrize("labels", [OWNED, GANG], ids=["owned", "gang"])
@pytest.mark.parametrize(("make", "names"), MEETING, ids=range(len(MEETING)))
def test_names_within_a_workload_do_not_meet(repository: Path, make: Any, names: tuple[str, ...], labels: Any) -> None:
    """Each SubGroup has its own pods, by the label on their template."""
    objects = rendered(repository, make(labels, *names))
    (group,) = (item for item in objects if item["kind"] == "PodGroup")
    parents = {item.get("parent") for item in group["spec"]["subGroups"]}
    leaves = {item["name"] for item in group["spec"]["subGroups"]} - parents
    assert refusals(objects, VERSION) == []
    assert labelled([item for item in objects if item["kind"] != "PodGroup"]) == leaves


def clusters(version: str = VERSION) -> str:
    """Two clusters, a and b, each with KAI of that version."""
    backends = [{"name": name, "namespace": name, "scheduler": {"version": version}} for name in "ab"]
    return yaml.safe_dump({"apiVersion": "tas/v1alpha1", "kind": "Config", "spec": {"backends": backends}})


def test_an_owned_job_of_one_replica_type_needs_no_subgroup(repository: Path) -> None:
    job = pytorch_job("p", OWNED)
    del job["spec"]["pytorchReplicaSpecs"]["Master"]
    objects = rendered(repository, job)
    (group,) = (item for item in objects if item["kind"] == "PodGroup")
    assert (group["spec"]["minMember"], group["spec"].get("subGroups")) == (2, None)
    assert labelled(objects) == set()


def test_one_name_of_a_gang_in_two_clusters(repository: Path) -> None:
    files = {f"pools/{name}.yaml": pool(name, spec=f"  backend: {name}\n") for name in "ab"}
    for name in "ab":
        gang = {**GANG, "kubectl-tas/pool": name}
        files[f"workflows/{name}.yaml"] = yaml.safe_dump(deployment(f"d-{name}", gang))
    write(repository, {"tas.yaml": clusters(), **files})
    result = kubectl_tas("render", "-C", repository)
    assert result.code == 0, result.err
    named = set()
    for name in "ab":
        (file,) = (repository / f"manifests/{name}/workloads").glob("podgroup-g1-*.yaml")
        group = safe_load(file.read_text())
        assert [item["name"] for item in group["spec"]["subGroups"]] == [f"deployment-d-{name}"]
        member = safe_load((file.parent / f"deployment-d-{name}.yaml").read_text())
        annotations = member["spec"]["template"]["metadata"]["annotations"]
        assert annotations["pod-group-name"] == group["metadata"]["name"]
        named.add(group["metadata"]["name"])
    assert len(named) == 2


def test_one_name_of_a_job_and_of_a_gang(repository: Path) -> None:
    """KAI knows a PodGroup by its name alone, so what is called alike must not meet."""
    own = [ray_job("g1", OWNED, []), deployment("g1", OWNED), deployment("d", GANG)]
    groups = [item["metadata"]["name"] for item in rendered(repository, *own) if item["kind"] == "PodGroup"]
    assert all(re.fullmatch(r"g1-[0-9a-f]{8}", name) for name in groups)
    assert len(set(groups)) == 3


@pytest.mark.parametrize("name", ["a" * 63, "a" * 53 + ".b", "a.b"])
def test_the_name_of_a_pod_group_is_a_label(repository: Path, name: str) -> None:
    (group,) = (item for item in rendered(repository, deployment(name, OWNED)) if item["kind"] == "PodGroup")
    assert re.fullmatch(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?", group["metadata"]["name"])


@pytest.mark.parametrize(
    ("version", "fires"), [("0.10", True), ("0.13", True), ("0.14", True), ("0.15", False), ("0.17", False)]
)
@pytest.mark.parametrize("label", ["kubectl-tas/podgroup", "kubectl-tas/gang"])
def test_owned_from_the_release_that_skips_the_grouper(
    repository: Path, version: str, label: str, *, fires: bool
) -> None:
    own = deployment("d", {label: "owned", "kubectl-tas/pool": "a"})
    files = {"pools/a.yaml": pool("a", spec="  backend: a\n"), "workflows/w.yaml": yaml.safe_dump(own)}
    result = kubectl_tas("validate", "-C", write(repository, {"tas.yaml": clusters(version), **files}))
    message = f"error: {label} needs KAI 0.15 or later; backend a runs {version} [version-unsupported]"
    assert (message in result.out, result.code) == (fires, int(fires))


@pytest.mark.parametrize(
    ("place", "name", "value"),
    [
        ("annotations", "pod-group-name", "d-1fbb1b51"),
        ("annotations", "kai.scheduler/skip-podgrouper", "true"),
        ("labels", "kai.scheduler/subgroup-name", "deployment-d"),
    ],
)
def test_what_the_user_wrote_on_an_owned_pod(repository: Path, place: str, name: str, value: str) -> None:
    own = deployment("d", GANG if place == "labels" else OWNED)
    metadata = own["spec"]["template"].setdefault("metadata", {})
    metadata[place] = {**metadata.get(place, {}), name: value}
    found = next(item for item in rendered(repository, own) if item["kind"] == "Deployment")
    assert found["spec"]["template"]["metadata"][place][name] == value
    metadata[place][name] = "other"
    write(repository, {"workflows/w.yaml": yaml.safe_dump(own)})
    result = kubectl_tas("validate", "-C", repository)
    assert result.code == 1
    assert f'{name} is "other", but the PodGroup that the workload\'s labels ask for is "{value}"' in result.out
    assert "[workload-conflict]" in result.out
