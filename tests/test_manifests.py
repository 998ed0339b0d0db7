"""Tests every case of golden/manifests: the rendered files, and that each cluster accepts them."""

from __future__ import annotations

import json
import shutil
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import yaml
from jsonschema import Draft202012Validator
from ruamel.yaml import YAML

from kubectl_tas.compile import compile_fleet
from kubectl_tas.kinds import LISTED
from kubectl_tas.model.artifact import PassThrough
from tests.support.cli import kubectl_tas
from tests.support.crds import CORE, server
from tests.support.golden import ROOT, assert_files, at, case_input, cases
from tests.support.pyyaml import safe_load, safe_load_all
from tests.support.rendered import KUSTOMIZATION, PREVIEW, Object, Rendered, files_below, load, render_copy, text
from tests.support.webhooks import refusals
from tools.goldens import read
from tools.schemas import MODELS, named

RANKS = {
    "SchedulingShard": -2,
    "Namespace": -1,
    "PriorityClass": 0,
    "ValidatingAdmissionPolicy": 1,
    "ValidatingAdmissionPolicyBinding": 1,
    "Role": 1,
    "ClusterRole": 1,
    "ClusterRoleBinding": 1,
    "RoleBinding": 1,
    "ClusterTopologyBinding": 2,
    "Topology": 2,
    "Queue": 3,
    **dict.fromkeys(("ComputeDomain", "ConfigMap", "NetworkPolicy", "Service", "ServiceAccount"), 4),
    "PodGroup": 5,
    "PersistentVolumeClaim": 6,
    **dict.fromkeys(("HorizontalPodAutoscaler", "Ingress", "PodDisruptionBudget", "PodMonitor"), 8),
}
"""The order of application. All other kinds are pods and workloads, of rank 7."""
WORKFLOW = "kubectl-tas/workflow"
BY_AUTHORS = {"workloads", "companions", "shards"}
"""Folders of objects in the words of their authors."""
SCHEMAS = {
    named(model): Draft202012Validator(json.loads(text(ROOT / f"schemas/{named(model).lower()}.json")))
    for model in MODELS
}
SCHEMAS["ClusterTopologyBinding"] = SCHEMAS["ClusterTopology"]


@pytest.fixture(scope="module", params=cases("manifests"), ids=lambda case: case.name)
def case(request: pytest.FixtureRequest) -> Path:
    folder: Path = request.param
    return folder


@pytest.fixture(scope="module")
def rendered(case: Path, tmp_path_factory: pytest.TempPathFactory) -> Rendered:
    return render_copy(case_input(case), tmp_path_factory.mktemp("case") / "repository")


@pytest.mark.every_case
def test_manifests(case: Path, rendered: Rendered, snapshot: Any, update: bool) -> None:
    shared = read(case).layers["manifests"]
    assert_files(snapshot, case / "manifests", rendered.files, update=update, shared=shared)


def test_findings(case: Path, rendered: Rendered, snapshot: Any) -> None:
    result = kubectl_tas("validate", "-C", rendered.root)
    assert result.code == 0
    assert str(rendered.root) not in result.out
    assert result.out == snapshot(extension_class=at(case / "output.txt"))


def test_rendering_twice_changes_nothing(rendered: Rendered) -> None:
    before = {path: path.stat() for path in files_below(rendered.root)}
    result = kubectl_tas("render", "-C", rendered.root)
    assert result.out == ""
    assert f"0 written, 0 removed, {len(rendered.files)} unchanged" in result.err
    after = {path: path.stat() for path in files_below(rendered.root)}
    assert {path: (s.st_ino, s.st_mtime_ns) for path, s in after.items()} == {
        path: (s.st_ino, s.st_mtime_ns) for path, s in before.items()
    }


def test_check_is_clean(rendered: Rendered) -> None:
    result = kubectl_tas("check", "-C", rendered.root)
    assert (result.code, result.out) == (0, "")


def test_a_touched_file_is_found_and_mended(rendered: Rendered, tmp_path: Path) -> None:
    root = tmp_path / "copy"
    shutil.copytree(rendered.root, root)
    file = root / rendered.output.relative_to(rendered.root) / next(iter(rendered.files))
    before = text(file)
    file.write_text(before.replace("kubectl-tas\n", "someone\n", 1) + "# by hand\n")
    result = kubectl_tas("check", "-C", root)
    assert result.code == 1
    assert "-# by hand\n" in result.out
    assert kubectl_tas("render", "-C", root).code == 0
    assert text(file) == before


def test_every_yaml_parser_reads_the_same(rendered: Rendered) -> None:
    """A file of each folder; ``python -m fuzz.mutate`` tries many more."""
    of_each_folder = {path.rpartition("/")[0]: path for path in rendered.files}
    for path, content in rendered.files.items():
        old = list(safe_load_all(content))
        assert len(old) == 1, path
        if path in of_each_folder.values():
            assert repr(list(yaml.safe_load_all(content))) == repr(list(YAML(typ="safe", pure=True).load_all(content)))
        assert "\r" not in content, path
        assert content.endswith("\n"), path


def test_text_says_what_was_compiled(rendered: Rendered) -> None:
    written = 0
    for cluster in rendered.clusters:
        for artifact in compile_fleet(rendered.session.fleet):
            if artifact.backend == cluster.name:
                (path,) = cluster.folder.rglob(f"{artifact.folder}/{artifact.file}")
                found = load(path)
                compiled = _present(artifact.manifest.model_dump(mode="json"))
                if isinstance(artifact.manifest, PassThrough):
                    assert found["metadata"].items() >= compiled["metadata"].items()
                    assert (found["apiVersion"], found["kind"]) == (compiled["apiVersion"], compiled["kind"])
                    assert found == safe_load(artifact.manifest.text)
                else:
                    assert _present(found) == compiled
                written += artifact.apply
    assert written == sum(len(cluster.resources) for cluster in rendered.clusters)


def _present(value: Any) -> Any:
    """Without what a manifest leaves out: null, and empty lists and mappings."""
    if isinstance(value, dict):
        parts = {key: _present(part) for key, part in value.items()}
        return {key: part for key, part in parts.items() if part is not None and part not in ([], {})}
    return [_present(part) for part in value] if isinstance(value, list) else value


CALLED_ALIKE = ("v1", *(version for listed in LISTED if listed.name != listed.kind for version in listed.versions))
"""The apiVersions of kinds that have the name of another one."""


def _is_by_author(path: str) -> bool:
    return not BY_AUTHORS.isdisjoint(path.split("/"))


def test_objects_are_valid_under_their_schema(rendered: Rendered) -> None:
    made = compile_fleet(rendered.session.fleet)
    by_authors = {f"{item.folder}/{item.file}" for item in made if isinstance(item.manifest, PassThrough)}
    for cluster in rendered.clusters:
        for path, item in zip(cluster.resources, cluster.objects, strict=True):
            by_author = path in by_authors or _is_by_author(path)
            if item["kind"] not in SCHEMAS or (item["apiVersion"] in CALLED_ALIKE and by_author):
                assert by_author, f"no schema for {item['kind']} in {path}"
                continue
            assert [error.message for error in SCHEMAS[item["kind"]].iter_errors(item)] == [], path


def test_a_strict_server_takes_every_object(rendered: Rendered) -> None:
    for cluster in rendered.clusters:
        judge = server(cluster.version or "0.17")
        for path, item in zip(cluster.resources, cluster.objects, strict=True):
            if cluster.version is None:
                assert (item["apiVersion"], item["kind"]) in CORE, f"{path} needs KAI, which {cluster.name} lacks"
            if not _is_by_author(path) and item["kind"] != "ClusterTopologyBinding":
                assert judge.violations(item) == [], path
                assert judge.violations(item, old=item) == [], path


def test_previews_are_valid(rendered: Rendered) -> None:
    for cluster in rendered.clusters:
        previews = [load(path) for path in sorted((cluster.folder / PREVIEW).glob("*.yaml"))]
        for item in previews:
            assert [error.message for error in SCHEMAS[item["kind"]].iter_errors(item)] == []
        pod_groups = [item for item in previews if item["kind"] == "PodGroup"]
        if cluster.version is not None:
            assert [server(cluster.version).violations(item) for item in pod_groups] == [[] for _ in pod_groups]
            assert refusals([*cluster.objects, *pod_groups], cluster.version) == []


def test_webhooks_take_every_object(rendered: Rendered) -> None:
    for cluster in rendered.clusters:
        if cluster.version is not None:
            assert refusals(cluster.objects, cluster.version) == []


def test_quotas_of_leaves_add_up_to_their_pool(rendered: Rendered) -> None:
    for cluster in rendered.clusters:
        queues = cluster.of("Queue")
        parents = {queue["spec"].get("parentQueue") for queue in queues}
        for queue in queues:
            below = [child for child in queues if child["spec"].get("parentQueue") == queue["metadata"]["name"]]
            if below and not any(child["metadata"]["name"] in parents for child in below):
                for resource in ("gpu", "cpu", "memory"):
                    whole = queue["spec"]["resources"][resource]["quota"]
                    quotas = [child["spec"]["resources"][resource]["quota"] for child in below]
                    if whole == -1 and resource != "gpu":
                        assert set(quotas) == {-1}, queue["metadata"]["name"]
                    else:  # memory in bytes, as KAI reads it
                        assert sum(round(quota * 10**6) for quota in quotas) == round(whole * 10**6), queue["metadata"]


def test_gangs_count_their_pods(rendered: Rendered) -> None:
    for cluster in rendered.clusters:
        jobs = [job["spec"]["template"] for job in cluster.of("Job") if WORKFLOW in job["metadata"]["labels"]]
        pods = Counter(_gang(pod) for pod in (*cluster.of("Pod"), *jobs))
        for group in cluster.of("PodGroup"):
            name, spec = group["metadata"]["name"], group["spec"]
            if WORKFLOW not in group["metadata"]["labels"]:
                continue  # written by hand: its pods come from elsewhere
            wanted = {(name, None): spec["minMember"]} if "minMember" in spec else {}
            leaves = [sub_group for sub_group in spec.get("subGroups", ()) if "minMember" in sub_group]
            wanted |= {(name, sub_group["name"]): sub_group["minMember"] for sub_group in leaves}
            assert {gang: number for gang, number in pods.items() if gang[0] == name} == wanted


def _gang(pod: Object) -> tuple[str | None, str | None]:
    """The PodGroup and the SubGroup that a pod names."""
    metadata = pod["metadata"]
    group = metadata.get("annotations", {}).get("pod-group-name")
    return group, metadata["labels"].get("kai.scheduler/subgroup-name")


def test_constraints_name_levels_of_a_topology(rendered: Rendered) -> None:
    for cluster in rendered.clusters:
        topologies = {item["metadata"]["name"]: item["spec"]["levels"] for item in cluster.of("Topology")}
        for group in cluster.of("PodGroup"):
            for spec in (group["spec"], *group["spec"].get("subGroups", ())):
                constraint = spec.get("topologyConstraint", {})
                if constraint.get("topology") in topologies:
                    levels = topologies[constraint["topology"]]
                    known = {name for level in levels for name in level.values()}
                    assert {name for field, name in constraint.items() if field.endswith("Level")} <= known
                else:
                    assert not constraint or WORKFLOW not in group["metadata"]["labels"]


def test_kustomization_lists_what_is_to_be_applied(rendered: Rendered) -> None:
    for cluster in rendered.clusters:
        present = [path.relative_to(cluster.folder).as_posix() for path in files_below(cluster.folder)]
        applied = [path for path in present if not path.endswith(KUSTOMIZATION) and not path.startswith(f"{PREVIEW}/")]
        assert sorted(cluster.resources) == sorted(applied)
    if rendered.session.fleet.config.layout == "flat":
        assert sum(path.endswith(KUSTOMIZATION) for path in rendered.files) == len(rendered.clusters)


def test_objects_stand_in_the_order_of_application(rendered: Rendered) -> None:
    for cluster in rendered.clusters:
        for unit in cluster.units:
            places = [_place(load(cluster.folder / path), cluster.of("Queue")) for path in unit]
            assert places == sorted(places)
            assert len(set(places)) == len(places)


def _place(item: Object, queues: list[Object]) -> tuple[int, int, str, str, str]:
    """An object's place among all: by kind, queues from the root down, then by name."""
    kind, metadata = item["kind"], item["metadata"]
    height = _height(item, queues) if kind == "Queue" else 0
    return RANKS.get(kind, 7), -height, metadata.get("namespace", ""), metadata["name"], kind


def _height(queue: Object, queues: list[Object]) -> int:
    """How many queues are one below the other, down from this one."""
    below = [q for q in queues if q["spec"].get("parentQueue") == queue["metadata"]["name"]]
    return 1 + max((_height(q, queues) for q in below), default=0)


def test_nothing_differs_from_what_a_server_keeps(rendered: Rendered) -> None:
    """A server drops ``globalDefault: false`` and fills in the scope of a policy's rules, so that kubectl would find a
    change in every apply.
    """
    for cluster in rendered.clusters:
        assert not any("globalDefault" in item for item in cluster.of("PriorityClass"))
        for policy in cluster.of("ValidatingAdmissionPolicy"):
            rules = policy["spec"]["matchConstraints"]["resourceRules"]
            assert {rule["scope"] for rule in rules} <= {"*", "Namespaced"}


def test_sync_waves_follow_the_order_of_application(rendered: Rendered) -> None:
    if rendered.session.fleet.config.gitops != "argocd":
        assert not any("sync-wave" in content for content in rendered.files.values())
        return
    for cluster in rendered.clusters:
        waves = [item["metadata"]["annotations"]["argocd.argoproj.io/sync-wave"] for item in cluster.objects]
        assert [int(wave) for wave in waves] == sorted(int(wave) for wave in waves)


def test_the_stream_is_the_files_in_order(rendered: Rendered) -> None:
    for cluster in rendered.clusters:
        result = kubectl_tas("render", "--to", "-", "--backend", cluster.name, "-C", rendered.root)
        assert result.code == 0
        assert list(safe_load_all(result.out)) == list(cluster.objects)
