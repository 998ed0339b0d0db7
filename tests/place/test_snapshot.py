"""Tests snapshots for KAI's own tool: their format, and that they are complete."""

from __future__ import annotations

import json
import zipfile
from collections import Counter
from collections.abc import Iterable
from io import BytesIO
from pathlib import Path
from random import Random
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from kubectl_tas.cli.session import open_session
from kubectl_tas.compile.controllers import seen
from kubectl_tas.facts import kai
from kubectl_tas.live.kubectl import STATE
from kubectl_tas.place.kai_snapshot import Doubts, SnapshotScheduler, snapshot
from kubectl_tas.place.synthetic import Broken, Size, SyntheticCluster, SyntheticDomains, generate
from kubectl_tas.resolve.names import digest
from tests.support.golden import EXAMPLES, GOLDEN, case_input

SCHEMA = Draft202012Validator(json.loads((Path(__file__).parent / "snapshot.schema.json").read_text()))
REPOSITORIES = (
    *(EXAMPLES / name for name in ("heterogeneous", "osmo", "use-cases", "workloads")),
    *(
        case_input(GOLDEN / "manifests" / name)
        for name in ("files", "leader-worker-sets", "owned-podgroups", "segments-elastic", "workflows-as-jobs", "kinds")
    ),
    *(case_input(GOLDEN / "manifests" / name) for name in ("kinds-in-0.13", "kinds-in-0.15", "grove-alpha.8")),
)
RELEASES = [f"0.{minor}" for minor in range(12, 18)]
Object = dict[str, Any]


@pytest.fixture(scope="module")
def work() -> list[list[Object]]:
    """What the scheduler sees of each repository."""
    fleets = [open_session(str(path)).fleet for path in REPOSITORIES]
    found = [seen(fleet, fleet.backends[0]) for fleet in fleets]
    return [[*item.elsewhere, *item.objects] for item in found]


def scheduler(version: str = "0.17", shard: str | None = None) -> SnapshotScheduler:
    release = kai.release(version)
    assert release is not None
    return SnapshotScheduler(release, "kai-scheduler", "kai.scheduler/queue", shard)


def written(there: Iterable[Object], rendered: Iterable[Object] = (), **more: Any) -> tuple[Any, Doubts]:
    content, doubts = snapshot(scheduler(**more), there, rendered)
    with zipfile.ZipFile(BytesIO(content)) as archive:
        assert archive.namelist() == ["snapshot.json"]
        return json.loads(archive.read("snapshot.json")), doubts


def a_cluster(random: Random) -> list[Object]:
    """Nodes by chance, and pods on them as people and API servers write them."""
    levels = tuple(
        SyntheticDomains(key, f"example.com/{key}", random.randint(1, 3)) for key in "abc"[: random.randint(0, 3)]
    )
    broken = Broken(random.randint(0, 1), random.randint(0, 1), random.randint(0, 1) if levels else 0)
    made = SyntheticCluster(levels, random.randint(3, 4), Size(random.randint(0, 8), 8, 64), broken)
    items: list[Object] = json.loads(generate(made))["items"]
    names = [item["metadata"]["name"] for item in items]
    for index in range(random.randint(0, 4)):
        about: Object = {"name": f"pod-{index}", "namespace": random.choice("xy")}
        if random.random() < 0.5:
            about |= {"uid": f"uid-{index}", "managedFields": [], "annotations": {"pod-group-name": "unknown"}}
        limits = {"cpu": "1", "nvidia.com/gpu": 1}
        container = {"name": "main", "resources": {random.choice(("limits", "requests")): limits}}
        phase = random.choice(("Running", "Succeeded"))
        spec = {"nodeName": random.choice(names), "containers": [container]}
        items.append({"kind": "Pod", "metadata": about, "spec": spec, "status": {"phase": phase}})
    return items


@pytest.mark.sweep
def test_a_hundred_snapshots_are_valid(work: list[list[Object]]) -> None:
    random = Random(16)
    for number in range(100):
        there, rendered = a_cluster(random), work[number % len(work)]
        data, _ = written(there, rendered, version=random.choice(RELEASES), shard=random.choice((None, "a")))
        errors = [f"{error.json_path}: {error.message}" for error in SCHEMA.iter_errors(data)]
        assert errors == []
        uids = Counter(pod["metadata"]["uid"] for pod in data["rawObjects"]["pods"])
        assert max(uids.values(), default=1) == 1


def test_all_pods_have_the_place_that_their_pod_group_has_for_them(work: list[list[Object]]) -> None:
    """Each pod is in a PodGroup and in a SubGroup of that without others below it; each has as many as it needs."""
    for objects in work:
        groups = {item["metadata"]["name"]: item["spec"] for item in objects if item["kind"] == "PodGroup"}
        assert len(groups) == sum(item["kind"] == "PodGroup" for item in objects)
        pods: Counter[tuple[str, str | None]] = Counter()
        for item in objects:
            if item["kind"] == "Pod":
                about = item["metadata"]
                sub_group = (about.get("labels") or {}).get("kai.scheduler/subgroup-name")
                pods[about["annotations"]["pod-group-name"], sub_group] += 1
        for name, spec in groups.items():
            parents = {part.get("parent") for part in spec.get("subGroups", ())}
            leaves = {p["name"]: p.get("minMember") or 0 for p in spec.get("subGroups", ()) if p["name"] not in parents}
            least = leaves or {None: spec.get("minMember") or 1}
            there = {sub_group: count for (group, sub_group), count in pods.items() if group == name}
            assert there.keys() <= least.keys()
            assert {part: count for part, count in least.items() if there.get(part, 0) < count} == {}
        assert {group for group, _ in pods} <= groups.keys()


def test_the_queues_of_all_pod_groups_are_there_up_to_the_root(work: list[list[Object]]) -> None:
    for objects in work:
        data, doubts = written((), objects)
        raw = data["rawObjects"]
        queues = {item["metadata"]["name"]: item["spec"].get("parentQueue") for item in raw["queues"]}
        assert {item["spec"]["queue"] for item in raw["podGroups"]} <= queues.keys()
        assert {parent for parent in queues.values() if parent} <= queues.keys()
        assert (doubts.classes, doubts.topologies) == ((), ())


def test_older_tools_get_the_plugins_that_they_know() -> None:
    found = {}
    for release in ("0.12", "0.13", "0.15", "0.17"):
        (tier,) = written((), version=release)[0]["config"]["tiers"]
        found[release] = [plugin["name"] for plugin in tier["plugins"]]
    assert found["0.17"] == CONFIG.split()
    assert [name for name in found["0.17"] if name not in found["0.15"]] == ["sg-nodelocalgreedy", "sg-multinodegang"]
    assert found["0.15"] == found["0.13"]
    assert [name for name in found["0.13"] if name not in found["0.12"]] == ["snapshot"]


CONFIG = """\
predicates proportion priority elastic kubeflow ray nodeavailability gpusharingorder gpupack resourcetype subgrouporder
taskorder nominatednode dynamicresources nodeplacement minruntime topology snapshot sg-nodelocalgreedy sg-multinodegang
"""
"""The plugins of ``defaultSchedulerConf`` in scheduler_conf_util.go of KAI 0.17, in their order."""


def test_the_scheduler_is_configured_as_kai_configures_it() -> None:
    """With the defaults of its command line, but with detailed errors; durations are in nanoseconds."""
    arguments = {"nodeplacement": {"arguments": {"cpu": "binpack", "gpu": "binpack"}}}
    plugins = [{"name": name, **arguments.get(name, {})} for name in CONFIG.split()]
    data, doubts = written((), shard="a")
    assert data["config"] == {
        "actions": "allocate, consolidation, reclaim, preempt, stalegangeviction",
        "tiers": [{"plugins": plugins}],
    }
    assert data["schedulerParams"] == {
        "schedulerName": "kai-scheduler",
        "partitionParams": {"NodePoolLabelKey": "kai.scheduler/node-pool", "NodePoolLabelValue": "a"},
        "queueLabelKey": "kai.scheduler/queue",
        "maxNumberConsolidationPreemptees": 16,
        "useSchedulingSignatures": True,
        "fullHierarchyFairness": True,
        "allowConsolidatingReclaim": True,
        "detailedFitErrors": True,
        "numOfStatusRecordingWorkers": 5,
        "globalDefaultStalenessGracePeriod": 60_000_000_000,
        "schedulePeriod": 1_000_000_000,
        "stuckInReleasingThreshold": 120_000_000_000,
    }
    assert doubts == Doubts((), (), 0)
    assert written(())[0]["schedulerParams"]["partitionParams"]["NodePoolLabelValue"] == ""


def test_each_kind_that_the_scheduler_reads_has_its_list() -> None:
    """KAI's own classes are there in any case; other kinds are left out."""
    kinds = {
        "Pod": "pods", "Node": "nodes", "Queue": "queues", "PodGroup": "podGroups", "BindRequest": "bindRequests",
        "ConfigMap": "configMaps", "PersistentVolume": "persistentVolumes",
        "PersistentVolumeClaim": "persistentVolumeClaims", "CSIStorageCapacity": "csiStorageCapacities",
        "StorageClass": "storageClasses", "CSIDriver": "csiDrivers", "ResourceClaim": "resourceClaims",
        "ResourceSlice": "resourceSlices", "DeviceClass": "deviceClasses", "Topology": "topologies",
        "NodeResourceTopology": "nodeResourceTopologies",
    }  # fmt: skip
    there = [{"kind": kind, "metadata": {"name": kind.lower()}} for kind in (*kinds, "Secret")]
    raw = written(there)[0]["rawObjects"]
    assert {name: [item["metadata"]["name"] for item in items] for name, items in raw.items()} == {
        **{name: [kind.lower()] for kind, name in kinds.items()},
        "priorityClasses": ["build", "build-preemptible", "inference", "train"],
    }
    values = {item["metadata"]["name"]: item["value"] for item in raw["priorityClasses"]}
    assert values == {"train": 50, "build-preemptible": 75, "build": 100, "inference": 125}
    assert all(item["apiVersion"] == "scheduling.k8s.io/v1" for item in raw["priorityClasses"])


def test_objects_are_as_they_were_but_for_what_the_scheduler_does_not_read() -> None:
    about = {"name": "a", "labels": {"b": "c"}, "managedFields": [{}], "annotations": {"kubectl.kubernetes.io/x": "y"}}
    images = {"allocatable": {"cpu": "1"}, "images": [{"names": ["i"]}]}
    claims = {"volumeMounts": [{"name": "v"}], "volumeDevices": [{"name": "v"}], "ports": [{"containerPort": 80}]}
    asked = {"limits": {"cpu": 2, "memory": 3}, "requests": {"cpu": 1}}
    container = {**claims, "name": "c", "image": "i", "restartPolicy": "Always", "resources": asked, "tty": True}
    pod = {
        "kind": "Pod",
        "metadata": about,
        "spec": {"containers": [container], "nodeName": "a", "volumes": [{"name": "v"}]},
    }
    raw = written([{"kind": "Node", "metadata": about, "spec": {}, "status": images}, pod])[0]["rawObjects"]
    kept = {name: value for name, value in about.items() if name != "managedFields"}
    assert raw["nodes"] == [{"kind": "Node", "metadata": kept, "spec": {}, "status": {"allocatable": {"cpu": "1"}}}]
    (found,) = raw["pods"]
    assert found["metadata"].pop("uid").startswith("00000000-")
    asked = {"limits": {"cpu": 2, "memory": 3}, "requests": {"cpu": 1, "memory": 3}}
    container = {**claims, "name": "c", "image": "i", "restartPolicy": "Always", "resources": asked}
    assert found == {
        "kind": "Pod",
        "metadata": kept,
        "spec": {"containers": [container], "nodeName": "a", "volumes": [{"name": "v"}]},
        "status": {"phase": "Pending"},
    }


def test_of_a_config_map_only_its_name_is_kept() -> None:
    there = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}}
    raw = written([{**there, "data": {"key": "secret"}, "binaryData": {}}])[0]["rawObjects"]
    assert raw["configMaps"] == [there]


def test_the_archive_has_the_same_bytes_at_any_time() -> None:
    content, _ = snapshot(scheduler(), (), ())
    (member,) = zipfile.ZipFile(BytesIO(content)).infolist()
    assert (member.date_time, member.create_system, member.external_attr >> 16, member.compress_type) == (
        (1980, 1, 1, 0, 0, 0),
        3,
        0o644,
        zipfile.ZIP_STORED,
    )


def test_a_claim_that_is_taken_to_be_there_is_bound_to_a_volume_of_every_node() -> None:
    volumes = [{"name": "data", "persistentVolumeClaim": {"claimName": "data"}}]
    raw = written((), [pod("new", volumes=volumes)])[0]["rawObjects"]
    ((claim,), (volume,)) = raw["persistentVolumeClaims"], raw["persistentVolumes"]
    name = f"data-{digest('ml/data')}"
    assert claim == {
        "kind": "PersistentVolumeClaim",
        "metadata": {"namespace": "ml", "name": "data", "annotations": {"pv.kubernetes.io/bind-completed": "yes"}},
        "spec": {"accessModes": ["ReadWriteMany"], "volumeName": name},
        "status": {"phase": "Bound"},
    }
    assert volume == {
        "kind": "PersistentVolume",
        "metadata": {"name": name},
        "spec": {"accessModes": ["ReadWriteMany"], "claimRef": {"namespace": "ml", "name": "data"}},
        "status": {"phase": "Bound"},
    }


def pod(name: str, **spec: Any) -> Object:
    container = {"name": "main", "image": "image", **spec.pop("container", {})}
    about = {"name": name, "namespace": "ml", "annotations": {"pod-group-name": "gang"}}
    return {"kind": "Pod", "metadata": about, "spec": {"containers": [container], **spec}}


def gang(**spec: Any) -> Object:
    return {"kind": "PodGroup", "metadata": {"name": "gang", "namespace": "ml"}, "spec": {"queue": "q", **spec}}


def test_nothing_that_pods_are_given_is_in_it() -> None:
    """Snapshots are sent around: neither commands nor values of the environment are in them, by whichever way."""
    kept = {"name": "KEPT", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}}
    container = {"command": ["secret"], "args": ["secret"], "env": [{"name": "A", "value": "secret"}, kept]}
    there = pod("running", nodeName="n", container=container)
    there["metadata"]["annotations"]["kubectl.kubernetes.io/last-applied-configuration"] = "secret"
    files = {"kind": "ConfigMap", "metadata": {"name": "files", "namespace": "ml"}, "data": {"key": "secret"}}
    raw = written([there], [pod("new", container=container), files])[0]["rawObjects"]
    assert "secret" not in json.dumps(raw)
    assert [item["spec"]["containers"][0]["env"] for item in raw["pods"]] == [[kept], [kept]]


def test_what_is_applied_changes_what_is_there_and_keeps_what_the_cluster_knows() -> None:
    there = {**gang(minMember=1), "status": {"phase": "x"}}
    there["metadata"] = {**there["metadata"], "uid": "of-the-cluster"}
    running = {**pod("worker", nodeName="n"), "status": {"phase": "Running"}}
    raw = written([there, running], [gang(minMember=2), pod("worker"), pod("other")])[0]["rawObjects"]
    (group,) = raw["podGroups"]
    assert (group["metadata"]["uid"], group["spec"]["minMember"], group["status"]) == (
        "of-the-cluster",
        2,
        {"phase": "x"},
    )
    phases = {item["metadata"]["name"]: item["status"]["phase"] for item in raw["pods"]}
    assert phases == {"worker": "Running", "other": "Pending"}


def test_a_recorded_pod_is_filled_up_with_what_is_rendered() -> None:
    """A record keeps of pods where they are and what they ask for, but not their SubGroup."""
    state = {"kind": STATE, "kinds": ["Pod"]}
    there = pod("worker", nodeName="n")
    rendered = pod("worker", schedulerName="kai-scheduler")
    rendered["metadata"]["labels"] = {"kai.scheduler/subgroup-name": "workers"}
    (found,) = written([state, there], [rendered])[0]["rawObjects"]["pods"]
    assert (found["spec"]["nodeName"], found["spec"]["schedulerName"]) == ("n", "kai-scheduler")
    assert found["metadata"]["labels"] == {"kai.scheduler/subgroup-name": "workers"}


def test_pods_of_a_gang_come_in_the_order_of_the_file() -> None:
    """Of pods that were created at one time KAI takes the one with the smaller UID first."""
    raw = written((), [pod("z"), pod("a"), pod("m")])[0]["rawObjects"]
    by_uid = sorted(raw["pods"], key=lambda item: item["metadata"]["uid"])
    assert [item["metadata"]["name"] for item in by_uid] == ["z", "a", "m"]


def test_what_pods_need_and_nobody_knows_is_taken_to_be_there() -> None:
    """Without it KAI places no such pod, and would answer another question."""
    volumes = [
        {"name": "data", "persistentVolumeClaim": {"claimName": "data"}},
        {"name": "own", "ephemeral": {"volumeClaimTemplate": {}}},
        {"name": "settings", "projected": {"sources": [{"configMap": {"name": "settings"}}]}},
    ]
    source = [{"configMapRef": {"name": "environment"}}]
    claim = {"kind": "PersistentVolumeClaim", "metadata": {"name": "data", "namespace": "ml"}, "spec": {}}
    data, doubts = written((), [claim, pod("new", volumes=volumes, container={"envFrom": source})])
    raw = data["rawObjects"]
    assert doubts.taken == ("ConfigMap ml/environment", "ConfigMap ml/settings", "PersistentVolumeClaim ml/data")
    assert [item["metadata"]["name"] for item in raw["configMaps"]] == ["environment", "settings"]
    (bound,), (volume,) = raw["persistentVolumeClaims"], raw["persistentVolumes"]
    assert bound["spec"]["volumeName"] == volume["metadata"]["name"]
    assert bound["status"] == volume["status"] == {"phase": "Bound"}
    assert raw["pods"][0]["spec"]["volumes"][1] == {"name": "own", "emptyDir": {}}
    there = {**claim, "spec": {"volumeName": "disk"}, "status": {"phase": "Bound"}}
    assert (
        written([there], [claim, pod("new", volumes=volumes[:1])])[0]["rawObjects"]["persistentVolumeClaims"][0]["spec"]
        == there["spec"]
    )


def test_config_maps_of_variables_are_needed_and_secrets_are_not() -> None:
    env = [
        {"name": "A", "valueFrom": {"configMapKeyRef": {"name": "keyed", "key": "a"}}},
        {"name": "B", "valueFrom": {"secretKeyRef": {"name": "hidden", "key": "b"}}},
        {"name": "C", "value": "c"},
    ]
    from_all = [{"secretRef": {"name": "hidden"}}, {"configMapRef": {"name": "all"}}]
    _, doubts = written((), [pod("new", container={"env": env, "envFrom": from_all})])
    assert doubts.taken == ("ConfigMap ml/all", "ConfigMap ml/keyed")


def test_pods_that_have_a_node_or_have_ended_need_nothing_more() -> None:
    envs = {"envFrom": [{"configMapRef": {"name": "all"}}]}
    volumes = [{"name": "data", "persistentVolumeClaim": {"claimName": "data"}}]
    running = pod("a", nodeName="n", container=envs, volumes=volumes, resourceClaims=[{"name": "gpu"}])
    ended = {**pod("b", container=envs, volumes=volumes), "status": {"phase": "Failed"}}
    data, doubts = written([running, ended])
    assert (doubts.taken, doubts.claims) == ((), 0)
    assert [data["rawObjects"][name] for name in ("configMaps", "persistentVolumeClaims")] == [[], []]


def test_claims_of_devices_are_no_doubt_where_they_are_known() -> None:
    claim = {"kind": "ResourceClaim", "metadata": {"name": "gpu", "namespace": "ml"}, "spec": {}}
    claiming = pod("claiming", resourceClaims=[{"name": "gpu"}])
    assert [written(there, [claiming])[1].claims for there in ([], [claim])] == [1, 0]


def test_doubts() -> None:
    stranger = {**pod("stranger", nodeName="n"), "status": {"phase": "Running"}}
    ended = {**pod("ended", nodeName="n"), "status": {"phase": "Succeeded"}}
    claiming = pod("claiming", resourceClaims=[{"name": "gpu"}])
    claiming["metadata"]["annotations"] = {}
    assert written([stranger, ended], [claiming])[1] == Doubts((), (), 1, claims=1)
    assert written([stranger], [gang(priorityClassName="mine")])[1] == Doubts(("mine",), (), 0)
    level = {"topology": "lost", "requiredTopologyLevel": "rack"}
    assert written([], [gang(subGroups=[{"name": "a", "topologyConstraint": level}])])[1].topologies == ("lost",)
    assert written([stranger], [gang(priorityClassName="train")])[1] == Doubts((), (), 0)


def test_pod_groups_of_a_recorded_state_are_left_out() -> None:
    """A record keeps no more of them than their queue: as they are there they would ask for one pod, preemptible."""
    state = {"kind": STATE, "kinds": ["PodGroup"]}
    assert written([gang(), state])[0]["rawObjects"]["podGroups"] == []
    assert len(written([gang()])[0]["rawObjects"]["podGroups"]) == 1


@pytest.mark.parametrize("part", ["containers", "initContainers"])
def test_what_a_container_asks_for_is_written_out(part: str) -> None:
    """The API server makes requests of limits, and KAI reads requests alone."""
    container = {"name": "c", "resources": {"limits": {"nvidia.com/gpu": 2}}}
    pod = {"kind": "Pod", "metadata": {"name": "a", "namespace": "x"}, "spec": {part: [container], "nodeName": "n"}}
    data, _ = written([pod, {"kind": "Node", "metadata": {"name": "n"}}])
    (found,) = data["rawObjects"]["pods"]
    assert found["spec"][part][0]["resources"]["requests"] == {"nvidia.com/gpu": 2}


def test_what_is_empty_is_read() -> None:
    about = {"name": "a", "namespace": None, "labels": None, "annotations": None}
    empty = {"containers": None, "initContainers": None, "volumes": None, "nodeName": None}
    written([{"kind": "Pod", "metadata": about, "spec": empty, "status": None}, {"kind": "Node", "metadata": about}])
