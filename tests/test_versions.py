"""Tests a repository with every KAI release: it renders to accepted objects, or names a release that it needs."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from kubectl_tas.facts import grove, kai
from tests.support.cli import Result, kubectl_tas
from tests.support.crds import server
from tests.support.golden import GOLDEN, assert_files, case_input, cases
from tests.support.pyyaml import safe_load_all
from tests.support.webhooks import refusals

VERSIONS = tuple(f"{major}.{minor}" for major, minor in (row.since for row in kai.TABLE))
WRITTEN = 'version: "0.17"'
"""How the repositories' tas.yaml names its release; each test puts its own there."""


@dataclass(frozen=True)
class Facts:
    """What the manifests for a release look like."""

    topology_api: str | None
    queue_levels: int
    preemptibility: bool
    parents: bool
    skip_podgrouper: bool
    aliases: bool


KUEUE, KAI = "kueue.x-k8s.io/v1alpha1", "kai.scheduler/v1alpha1"
FACTS = {
    "0.2": Facts(None, 2, preemptibility=False, parents=False, skip_podgrouper=False, aliases=False),
    "0.9": Facts(KUEUE, 2, preemptibility=False, parents=False, skip_podgrouper=False, aliases=False),
    "0.10": Facts(KUEUE, 2, preemptibility=True, parents=True, skip_podgrouper=False, aliases=False),
    "0.12": Facts(KAI, 2, preemptibility=True, parents=True, skip_podgrouper=False, aliases=False),
    "0.13": Facts(KAI, 3, preemptibility=True, parents=True, skip_podgrouper=False, aliases=False),
    "0.15": Facts(KAI, 3, preemptibility=True, parents=True, skip_podgrouper=True, aliases=False),
    "0.17": Facts(KAI, 3, preemptibility=True, parents=True, skip_podgrouper=True, aliases=True),
}
FIRST = {
    "without-topology": "0.2",
    "without-subgroups": "0.9",
    "with-subgroups": "0.10",
    "handwritten-podgroup": "0.17",
}
"""The first release that takes each repository."""


def repository(name: str, version: str, folder: Path) -> Path:
    """A copy of the repository ``name`` for clusters with KAI ``version``."""
    root = folder / f"{name}-{version}"
    shutil.copytree(case_input(GOLDEN / "versions" / name), root)
    config = (root / "tas.yaml").read_text()
    assert config.count(WRITTEN) == 1
    (root / "tas.yaml").write_text(config.replace(WRITTEN, f'version: "{version}"'))
    return root


def render(root: Path) -> Result:
    return kubectl_tas("render", "--to", "-", "-C", root)


def number(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split("."))


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.every_case
@pytest.mark.parametrize("case", cases("versions"), ids=lambda case: case.name)
def test_version(case: Path, version: str, tmp_path: Path, snapshot: Any, update: bool) -> None:
    root = repository(case.name, version, tmp_path)
    result = render(root)
    if number(version) < number(FIRST[case.name]):
        assert (result.code, result.out) == (1, "")
        found = kubectl_tas("validate", "-C", root).out
        assert_files(snapshot, case / version, {"output.txt": found}, update=update)
    else:
        assert result.code == 0
        assert_files(snapshot, case / version, {"manifests.yaml": result.out}, update=update)


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("name", FIRST)
def test_the_server_takes_what_is_rendered(name: str, version: str, tmp_path: Path) -> None:
    if number(version) < number(FIRST[name]):
        return
    objects = list(safe_load_all(render(repository(name, version, tmp_path)).out))
    judge = server(version)
    assert [reason for item in objects for reason in judge.violations(item)] == []
    assert refusals(objects, version) == []


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("name", FIRST)
def test_the_release_that_a_refusal_names_takes_it(name: str, version: str, tmp_path: Path) -> None:
    if number(version) >= number(FIRST[name]):
        return
    found = kubectl_tas("validate", "-C", repository(name, version, tmp_path)).out
    assert set(re.findall(r"error: .* \[([-a-z]+)\]", found)) == {"version-unsupported"}
    named = re.findall(r"needs KAI ([0-9.]+) or later; backend prod runs ([0-9.]+)", found)
    assert {runs for _, runs in named} == {version}
    assert max((needs for needs, _ in named), key=number) == FIRST[name]


@pytest.mark.parametrize("version", VERSIONS)
def test_what_each_release_is_given(version: str, tmp_path: Path) -> None:
    taken = [name for name, first in FIRST.items() if number(version) >= number(first)]
    objects = [item for name in taken for item in safe_load_all(render(repository(name, version, tmp_path)).out)]
    kinds: dict[str, list[Any]] = {}
    for item in objects:
        kinds.setdefault(item["kind"], []).append(item)
    levels = [level for topology in kinds.get("Topology", []) for level in topology["spec"]["levels"]]
    groups = kinds["PodGroup"]
    facts = Facts(
        topology_api=next(iter({topology["apiVersion"] for topology in kinds.get("Topology", [])}), None),
        queue_levels=2
        if any("parentQueue" not in q["spec"] and "pool" in q["metadata"]["name"] for q in kinds["Queue"])
        else 3,
        preemptibility=all("preemptibility" in group["spec"] for group in groups),
        parents=any("parent" in sub for group in groups for sub in group["spec"].get("subGroups", ())),
        skip_podgrouper=any("kai.scheduler/skip-podgrouper" in p["metadata"]["annotations"] for p in kinds["Pod"]),
        aliases=any("alias" in level for level in levels),
    )
    assert facts == FACTS[version]


def test_facts_and_table_have_the_same_rows() -> None:
    assert tuple(FACTS) == VERSIONS


@pytest.mark.parametrize(
    ("version", "like"),
    [
        ("0.5", "0.2"),
        ("0.11", "0.10"),
        ("0.14", "0.13"),
        ("0.16", "0.15"),
        ("v0.17.0", "0.17"),
        ("0.17.3", "0.17"),
        ("1.2", "0.17"),
    ],
)
def test_releases_between_rows(version: str, like: str, tmp_path: Path) -> None:
    for name in (name for name, first in FIRST.items() if number(like) >= number(first)):
        result = render(repository(name, version, tmp_path))
        assert result.code == 0
        assert result.out == render(repository(name, like, tmp_path)).out


@pytest.mark.parametrize("version", ["0.1", "0.0.9"])
def test_a_release_before_the_table(version: str, tmp_path: Path) -> None:
    root = repository("without-topology", version, tmp_path)
    result = kubectl_tas("validate", "-C", root)
    assert result.code == 1
    assert "[version-unknown]" in result.out
    assert "0.2 to 0.17" in result.out
    assert render(root).code == 1


@pytest.mark.parametrize(
    ("version", "newest"),
    [("0.18", "0.17"), ("1.0", "0.17"), ("v0.99.1", "0.17"), ("0.17.1", "0.17"), ("0.16.99", "0.16.8")],
)
def test_a_release_newer_than_the_table_is_read_as_the_newest(version: str, newest: str, tmp_path: Path) -> None:
    result = kubectl_tas("validate", "-C", repository("without-topology", version, tmp_path))
    assert result.code == 0
    assert f"warning: kubectl-tas does not know KAI {version} yet, and checks for {newest} [version-newer]" in (
        result.out
    )


def test_a_version_without_a_patch_is_its_newest_known_patch() -> None:
    for (major, minor), patch in kai.NEWEST_PATCHES.items():
        named, whole = kai.release(f"{major}.{minor}.{patch}"), kai.release(f"v{major}.{minor}")
        assert named is not None
        assert whole is not None
        assert (named.patch, named.features) == (whole.patch, whole.features) == ((major, minor, patch), whole.features)


@pytest.mark.parametrize(
    ("feature", "last_without", "first_with"),
    [
        (kai.Feature.QUEUE_LABEL, "0.5.5", "0.6.0"),
        (kai.Feature.SEGMENTS, "0.12.23", "0.13.0"),
        (kai.Feature.SEGMENT_PARENTS, "0.15.0", "0.14.7"),
        (kai.Feature.SEGMENT_PARENTS, "0.16.5", "0.16.6"),
        (kai.Feature.ELASTIC_SEGMENTS, "0.16.6", "0.16.7"),
        (kai.Feature.JOB_GANGS, "0.14.0", "0.14.1"),
        (kai.Feature.RAY_CONSTRAINTS, "0.13.4", "0.14.0"),
        (kai.Feature.JOBSET_SUBGROUPS, "0.15.3", "0.16.0"),
        (kai.Feature.SCALING_GROUPS, "0.15.0", "0.14.7"),
        (kai.Feature.SCALING_GROUPS, "0.15.1", "0.15.2"),
        (kai.Feature.SCALING_GROUPS, "0.12.23", "0.13.0"),
        (kai.Feature.SEGMENT_PARENTS, "0.12.23", "0.13.0"),
        (kai.Feature.MIN_RUNTIME, "0.5.5", "0.6.0"),
        (kai.Feature.TOPOLOGY, "0.8.5", "0.9.0"),
        (kai.Feature.SUBGROUPS, "0.8.5", "0.9.0"),
        (kai.Feature.COARSE_REQUIRED, "0.8.5", "0.9.0"),
        (kai.Feature.COARSE_REQUIRED, "0.12.0", "0.11.0"),
        (kai.Feature.COARSE_REQUIRED, "0.17.0", "0.11.0"),
        (kai.Feature.COARSE_PREFERRED, "0.8.5", "0.9.0"),
        (kai.Feature.COARSE_PREFERRED, "0.12.0", "0.11.0"),
        (kai.Feature.COARSE_PREFERRED, "0.12.8", "0.12.9"),
        (kai.Feature.SUBGROUP_TREE, "0.9.20", "0.10.0"),
        (kai.Feature.PREEMPTIBILITY, "0.9.20", "0.10.0"),
        (kai.Feature.REPLICA_SUBGROUPS, "0.12.23", "0.13.0"),
        (kai.Feature.RAY_SUBGROUPS, "0.12.11", "0.12.12"),
        (kai.Feature.JOBSETS, "0.12.23", "0.13.0"),
        (kai.Feature.GROVE_CONSTRAINTS, "0.12.23", "0.13.0"),
        (kai.Feature.MIXED_SUBGROUPS, "0.12.23", "0.13.0"),
        (kai.Feature.LEVEL_OF_BOTH, "0.12.23", "0.13.0"),
        (kai.Feature.DEEP_QUEUES, "0.12.23", "0.13.0"),
        (kai.Feature.ROOM_OF_MILLICORES, "0.13.4", "0.14.0"),
        (kai.Feature.SUBGROUPS_BY_NAME, "0.14.7", "0.15.0"),
        (kai.Feature.MIN_SUBGROUP, "0.14.7", "0.15.0"),
        (kai.Feature.ZERO_MIN_MEMBER, "0.14.7", "0.15.0"),
        (kai.Feature.SKIP_PODGROUPER, "0.14.7", "0.15.0"),
        (kai.Feature.STRICT_MIN_MEMBER, "0.14.7", "0.15.0"),
        (kai.Feature.KARTA, "0.16.8", "0.17.0"),
        (kai.Feature.LEVEL_ALIAS, "0.16.8", "0.17.0"),
        (kai.Feature.PREEMPTION_DELAY, "0.16.8", "0.17.0"),
        (kai.Feature.STALENESS_GRACE, "0.16.8", "0.17.0"),
    ],
)
def test_what_works_from_a_patch_on(feature: kai.Feature, last_without: str, first_with: str) -> None:
    without, having = kai.release(last_without), kai.release(first_with)
    assert without is not None
    assert not without.has(feature)
    assert having is not None
    assert having.has(feature)


def test_of_every_feature_a_release_has_it() -> None:
    (marker,) = test_what_works_from_a_patch_on.pytestmark  # type: ignore[attr-defined]
    assert {feature for feature, _, _ in marker.args[1]} == set(kai.Feature)


def test_the_release_to_update_to_is_a_later_one() -> None:
    assert kai.first_with(kai.Feature.SEGMENT_PARENTS, kai.release("0.12")) == "0.13"
    assert kai.first_with(kai.Feature.SEGMENT_PARENTS, kai.release("0.15")) == "0.16.6"


@pytest.mark.parametrize(("version", "count"), [("0.5", 2), ("0.5.5", 2), ("0.6.0", 1), ("0.8", 1)])
def test_before_0_6_the_queue_is_in_a_second_label(version: str, count: int, tmp_path: Path) -> None:
    root = repository("without-topology", version, tmp_path)
    (root / "workflows/server.yaml").write_text(
        "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: server, labels: {kubectl-tas/pool: team}}\n"
        "spec: {replicas: 1, selector: {matchLabels: {a: b}}, "
        "template: {metadata: {labels: {a: b}}, spec: {containers: [{name: a, image: a}]}}}\n"
    )
    objects = list(safe_load_all(render(root).out))
    (server,) = (item for item in objects if item["kind"] == "Deployment")
    labelled = [item["metadata"]["labels"] for item in (*objects, server["spec"]["template"])]
    queues = [[labels[name] for name in labels if name.endswith("/queue")] for labels in labelled]
    assert {len(found) for found in queues if found} == {count}
    assert all(len(set(found)) == 1 for found in queues if found)


@pytest.mark.parametrize("field", ["backoffLimit", "completions", "parallelism"])
def test_a_field_that_is_gone(field: str, tmp_path: Path) -> None:
    for version, code in (("0.13", 0), ("0.14", 0), ("0.15", 1), ("0.17", 1)):
        root = repository("without-topology", version, tmp_path)
        (root / "workflows/gang.yaml").write_text(
            "apiVersion: scheduling.run.ai/v2alpha2\nkind: PodGroup\nmetadata: {name: gang}\n"
            f"spec: {{queue: osmo-pool-ml-team--shared, minMember: 1, {field}: 3}}\n"
        )
        found = kubectl_tas("validate", "-C", root)
        assert found.code == code
        if code:
            assert f"workflows/gang.yaml:4:56: error: KAI {version} no longer has spec.{field}" in found.out
            assert "the last release with it is 0.14" in found.out
        else:
            objects = list(safe_load_all(render(root).out))
            assert [reason for item in objects for reason in server(version).violations(item)] == []


GROVE = (
    ("0.1.0-alpha.0", None),
    ("0.1.0-alpha.1", "lists"),
    ("0.1.0-alpha.3", "lists"),
    ("0.1.0-alpha.4", "constraints lists"),
    ("v0.1.0-alpha.8", "constraints lists"),
    ("0.1.0-alpha.9-rc1", "constraints lists"),
    ("0.1.0-alpha.9", "constraints names kai-scheduler default-scheduler"),
    ("0.1.0-alpha.10", "constraints names pack kai-scheduler default-scheduler volcano lpx-scheduler"),
    ("0.1.0-alpha.12-rc1", "constraints names pack kai-scheduler default-scheduler volcano lpx-scheduler"),
    *(
        (version, "constraints names pack PodGroups kai-scheduler default-scheduler volcano lpx-scheduler")
        for version in ("0.1.0-alpha.12", "0.1.0-beta.1", "0.1.0-rc.1", "0.1.0", "0.1.1-alpha.1", "1.0.0")
    ),
)
"""What sets have in each release of Grove; lists: domains only with listed names."""


@pytest.mark.parametrize(("version", "told"), GROVE)
def test_what_grove_accepts(version: str, told: str | None) -> None:
    found = grove.release(version)
    if found is None:
        assert told is None
        return
    has = {
        "constraints": found.has_constraints,
        "names": found.has_names,
        "pack": found.has_pack,
        "PodGroups": found.writes_pod_groups,
        "lists": not found.has_free_domains,
    }
    assert " ".join((*(name for name, is_there in has.items() if is_there), *found.schedulers)) == told


def test_releases_of_grove_in_their_order() -> None:
    """A release candidate comes before its release, and alpha before beta."""
    newer = [version for version, _ in GROVE if grove.is_newer(version)]
    assert newer == ["0.1.0-beta.1", "0.1.0-rc.1", "0.1.0", "0.1.1-alpha.1", "1.0.0"]
    assert not grove.is_newer("0.1.0-alpha.12-rc2")
    assert grove.is_newer("0.1.0-alpha.13-rc1")
    assert grove.first_with(lambda row: row.has_pack) == "0.1.0-alpha.10"


@pytest.mark.parametrize("read", [kai.release, grove.release])
@pytest.mark.parametrize("version", ["", "latest", "0.x", "0.17.0.1", "1"])
def test_what_is_no_version_is_refused(read: Callable[[str], object], version: str) -> None:
    with pytest.raises(ValueError, match=f"not a version: '{version}'"):
        read(version)
