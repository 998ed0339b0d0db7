"""Tests ``import kueue``: pools and subpools share a cluster as in Kueue, and differences of KAI are reported."""

from __future__ import annotations

import io
import json
import os
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from kubectl_tas.imports.from_kueue import import_kueue
from kubectl_tas.imports.written import Imported
from kubectl_tas.load.document import parse
from tests.support.cli import Result, kubectl_tas, pool, write
from tests.support.golden import GOLDEN, at, cases
from tests.support.kubectl import FakeKubectl
from tests.support.pyyaml import safe_load, safe_load_all
from tests.support.rendered import files_below

Item = dict[str, Any]
CASES = cases("commands/import-kueue")


def kueue(kind: str, name: str, spec: object = None, namespace: str | None = None, **fields: object) -> Item:
    """An object of Kueue."""
    metadata = {"name": name, **({"namespace": namespace} if namespace else {})}
    about = {"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": kind, "metadata": metadata}
    return {**about, **({"spec": spec} if spec is not None else {}), **fields}


def groups(gpus: object = 8, **quotas: object) -> list[Item]:
    """Quotas of one flavor; those beside GPUs by resource, and fields beside nominalQuota as ``more``."""
    more = quotas.pop("more", {})
    amounts = {"nvidia.com/gpu": gpus, **quotas}
    resources = [{"name": name, "nominalQuota": value, **more} for name, value in amounts.items()]  # type: ignore[dict-item]
    return [{"coveredResources": [*amounts], "flavors": [{"name": "all", "resources": resources}]}]


def cluster_queue(name: str, cohort: str | None = None, gpus: object = 8, more: object = None, **spec: object) -> Item:
    """A ClusterQueue with GPUs of the flavor all."""
    upper = {"cohortName": cohort} if cohort else {}
    quotas = groups(gpus, **({"more": more} if more else {}))
    return kueue("ClusterQueue", name, {**upper, "namespaceSelector": {}, "resourceGroups": quotas, **spec})


def imported(folder: Path, *items: object, name: str = "kueue.json") -> Result:
    """What the command says; the repository is ``folder/work``."""
    (folder / name).write_text("---\n".join(json.dumps(item) + "\n" for item in items))
    return kubectl_tas("import", "kueue", folder / name, "--to", folder / "work")


def made(*items: object) -> tuple[Imported, list[str]]:
    """What becomes of objects, in memory, and each finding on one line with its hint."""
    documents, problems = parse("kueue.json", "---\n".join(json.dumps(item) + "\n" for item in items))
    assert problems == ()
    found, findings = import_kueue(documents, None)
    return found, [f"{item.location}: {item.message} ({item.hint})" for item in findings]


def unplaced(*items: object) -> list[str]:
    """What is said of that which has no place."""
    found, findings = made(*items)
    assert findings == []
    return [f"{item.kind} {item.name}: {item.reason}" for item in found.unplaced]


def read(folder: Path, path: str) -> Item:
    found: Item = safe_load((folder / "work" / path).read_text())["spec"]
    return found


def texts(root: Path) -> dict[str, str]:
    """All files, by path."""
    return {path.relative_to(root).as_posix(): path.read_text() for path in files_below(root)}


def sound(root: Path) -> None:
    """The repository has neither errors nor warnings, and renders."""
    result = kubectl_tas("validate", "--strict", "-C", root)
    assert result.code == 0, result.out
    result = kubectl_tas("render", "-C", root)
    assert result.code == 0, result.err


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_what_is_written(case: Path, tmp_path: Path, snapshot: Any) -> None:
    result = kubectl_tas("import", "kueue", case / "kueue.yaml", "--to", "work", cwd=tmp_path)
    assert result.code == 0, result.err
    files = {path: text for path, text in texts(tmp_path / "work").items() if path != "tas.yaml"}
    written = "".join(f"\n== {path}\n{text}" for path, text in sorted(files.items()))
    assert f"{result.out}{result.err}{written}" == snapshot(extension_class=at(case / "output.txt"))
    sound(tmp_path / "work")


def test_all_shapes_have_a_case() -> None:
    assert len(CASES) == len([*(GOLDEN / "commands/import-kueue").iterdir()]) >= 8


class TestAmounts:
    def test_limits_of_a_cohort(self, tmp_path: Path) -> None:
        """It holds what its ClusterQueues have together; what one borrows counts no more than what others have."""
        more = [{"borrowingLimit": 2}, {"borrowingLimit": 100}, None]
        items = [cluster_queue(name, "c", 8, most) for name, most in zip("abd", more, strict=True)]
        assert imported(tmp_path, *items).code == 0
        assert read(tmp_path, "pools/c.yaml")["resources"] == {"gpu": {"guarantee": 24, "maximum": 24, "weight": 1}}
        assert read(tmp_path, "subpools/c--a.yaml")["maximum"] == {"gpu": 10}
        assert all("maximum" not in read(tmp_path, f"subpools/c--{name}.yaml") for name in "bd")
        sound(tmp_path / "work")

    def test_memory_that_no_unit_tells(self, tmp_path: Path) -> None:
        """Sums are not less than their parts, however these are written."""
        quotas = [groups(1, memory="100M"), groups(1, memory="1Gi"), groups(1, memory="1500m"), groups(1, memory=1025)]
        items = [kueue("Cohort", "c", {"parentName": "top"}), kueue("Cohort", "top", {})]
        items += [
            kueue("ClusterQueue", f"q{index}", {"cohortName": ("c", "top")[index % 2], "resourceGroups": quota})
            for index, quota in enumerate(quotas)
        ]
        assert imported(tmp_path, *items).code == 0
        assert read(tmp_path, "subpools/c--q0.yaml")["quota"] == {"gpu": 1, "memory": "100M"}
        assert read(tmp_path, "pools/top.yaml")["resources"]["memory"]["guarantee"] == "1120Mi"
        assert kubectl_tas("validate", "-C", tmp_path / "work").code == 0

    def test_a_resource_that_only_others_of_the_cohort_have(self, tmp_path: Path) -> None:
        """Kueue starts no work that asks for it, and neither does KAI."""
        both = kueue("ClusterQueue", "a", {"cohortName": "c", "resourceGroups": groups(1, cpu="3500m")})
        assert imported(tmp_path, both, cluster_queue("b", "c")).code == 0
        assert read(tmp_path, "pools/c.yaml")["resources"]["cpu"]["guarantee"] == "3.5"
        assert read(tmp_path, "subpools/c--b.yaml")["quota"] == {"gpu": 8, "cpu": 0}
        assert read(tmp_path, "subpools/c--b.yaml")["maximum"] == {"cpu": 0}

    def test_without_gpus(self, tmp_path: Path) -> None:
        quotas = [{"flavors": [{"name": "all", "resources": [{"name": "cpu", "nominalQuota": 9}]}]}]
        assert imported(tmp_path, kueue("ClusterQueue", "a", {"resourceGroups": quotas})).code == 0
        resources = read(tmp_path, "pools/a.yaml")["resources"]
        assert resources["gpu"] == {"guarantee": 0, "maximum": 0, "weight": 1}
        assert (resources["cpu"]["maximum"], "memory" in resources) == (9, False)

    def test_parts_of_a_gpu(self, tmp_path: Path) -> None:
        result = imported(tmp_path, cluster_queue("a", gpus="2500m"))
        assert read(tmp_path, "pools/a.yaml")["resources"]["gpu"]["guarantee"] == 2
        parts = "quotas of parts of a GPU: a queue here has whole GPUs, so they are rounded down"
        assert f"  ClusterQueue a: {parts}\n" in result.out

    @pytest.mark.parametrize(
        ("weights", "whole"),
        [
            (["0.5", 2], [1, 4]),
            ([0, 0], [0, 0]),
            (["1e-9", 1], [1, 10**6]),
            ([3, 6], [1, 2]),
            (["10", "0.1"], [100, 1]),
        ],
    )
    def test_weights(self, tmp_path: Path, weights: list[object], whole: list[int]) -> None:
        items = [cluster_queue(f"q{n}", "c", fairSharing={"weight": weight}) for n, weight in enumerate(weights)]
        assert imported(tmp_path, *items).code == 0
        assert [read(tmp_path, f"subpools/c--q{n}.yaml").get("weight", 1) for n in range(len(weights))] == whole
        sound(tmp_path / "work")


NOT_KNOWN = "kubectl-tas does not know this field"
UNLED = [
    "ClusterQueue q: no LocalQueue leads to it: set spec.namespaces to where its work may run",
    "ClusterQueue q: flavor all is not among what was given: it says nothing of nodes here",
]
NO_CPU = "ClusterQueue q: no quota of cpu, memory: Kueue starts no work that asks for it; here it has no limit"


@pytest.mark.parametrize(
    ("name", "quota", "resource"),
    [("memory", "1000000000Gi", "memory"), ("cpu", 10**9, "cpu"), ("nvidia.com/gpu", 10**17 + 1, "gpu")],
)
def test_a_quota_that_no_cluster_has(tmp_path: Path, name: str, quota: object, resource: str) -> None:
    """Kueue has no other way to say that there is no limit."""
    amounts: dict[str, object] = {"nvidia.com/gpu": 8, "cpu": 100, "memory": "500Gi", name: quota}
    resources = [{"name": key, "nominalQuota": amount} for key, amount in amounts.items()]
    group = [{"coveredResources": [*amounts], "flavors": [{"name": "all", "resources": resources}]}]
    result = imported(tmp_path, cluster_queue("a", resourceGroups=group))
    assert f"ClusterQueue a: the quota of {name}: no cluster has as much, so here it has no limit" in result.out
    shares = read(tmp_path, "pools/a.yaml")["resources"]
    assert [key for key, share in shares.items() if share["guarantee"] == share["maximum"] == -1] == [resource]
    sound(tmp_path / "work")


def test_a_cohort_in_which_one_queue_has_no_limit(tmp_path: Path) -> None:
    def queue(name: str, cpu: int) -> Item:
        resources = [{"name": "nvidia.com/gpu", "nominalQuota": 8}, {"name": "cpu", "nominalQuota": cpu}]
        group = {"coveredResources": ["nvidia.com/gpu", "cpu"], "flavors": [{"name": "all", "resources": resources}]}
        return cluster_queue(name, "c", resourceGroups=[group])

    result = imported(tmp_path, queue("a", 10**9), queue("b", 100))
    assert "ClusterQueue b: the guarantee of cpu: pool c has no limit of it" in result.out
    assert read(tmp_path, "pools/c.yaml")["resources"]["cpu"]["guarantee"] == -1
    assert read(tmp_path, "subpools/c--b.yaml")["quota"] == 8
    sound(tmp_path / "work")


class TestUnplaced:
    def test_what_kai_has_no_field_for(self) -> None:
        """At every depth, with the other fields that have the same reason."""
        spec = {
            "queueingStrategy": "StrictFIFO",
            "flavorFungibility": {"whenCanBorrow": "TryNextFlavor"},
            "concurrentAdmissionPolicy": {"maxBatch": 1},
            "preemption": {"withinClusterQueue": "LowerPriority"},
            "admissionChecks": ["check"],
            "admissionChecksStrategy": {"admissionChecks": []},
            "stopPolicy": "Hold",
            "admissionScope": {"admissionMode": "UsageBased"},
            "later": 1,
            "fairSharing": {"wait": 1},
        }
        queue = cluster_queue("q", **spec)
        del queue["spec"]["namespaceSelector"]
        (group,) = queue["spec"]["resourceGroups"]
        for index, part in enumerate((group, group["flavors"][0], group["flavors"][0]["resources"][0])):
            part[f"f{index}"] = 1
        others = [
            kueue("LocalQueue", "l", {"clusterQueue": "q", "stopPolicy": "Hold", "fairSharing": {}, "f3": 1}, "n"),
            kueue("LocalQueue", "m", {"clusterQueue": "q", "fairSharing": {"weight": 2}}, "n"),
            kueue("ResourceFlavor", "all", {"nodeTaints": [{"key": "a"}], "f4": 2}),
            kueue("Cohort", "c", {"f5": 1, "resourceGroups": groups(1)}),
            kueue("Topology", "t", {"levels": [{"nodeLabel": "a/b"}], "f6": 1}),
        ]
        assert unplaced(queue, *others) == [
            "ClusterQueue q: queueingStrategy: KAI skips work that has no room, and starts later work",
            "ClusterQueue q: flavorFungibility, concurrentAdmissionPolicy: KAI tries no flavors one after the other; "
            "work goes to any node that its pods may run on",
            "ClusterQueue q: preemption: KAI reclaims LOW work for queues below their share, and preempts it for a "
            "higher priority in its queue",
            "ClusterQueue q: admissionChecks, admissionChecksStrategy: KAI waits for no admission check",
            "ClusterQueue q: stopPolicy: KAI starts work in each queue; no field stops that",
            "ClusterQueue q: admissionScope: KAI weighs past use for all queues or for none, by a setting of its own",
            f"ClusterQueue q: later: {NOT_KNOWN}",
            "ClusterQueue q: namespaceSelector: without it Kueue takes work of no namespace; here it is taken",
            "LocalQueue n/l: stopPolicy: KAI starts work in each queue; no field stops that",
            f"LocalQueue n/l: f3: {NOT_KNOWN}",
            "LocalQueue n/m: fairSharing: the work of all LocalQueues of a ClusterQueue is in one queue of KAI",
            "ResourceFlavor all: nodeTaints: Kubernetes compares the taints of nodes; pods must tolerate these, as "
            "with Kueue",
            f"ResourceFlavor all: f4: {NOT_KNOWN}",
            f"Cohort c: f5: {NOT_KNOWN}",
            f"ClusterQueue q: wait, f0, f1, f2: {NOT_KNOWN}",
            "Cohort c: its own quota goes to the pool's own queue; LOW work of its sibling queues borrows it",
            NO_CPU,
        ]

    @pytest.mark.parametrize("borrow", ["MayStopSearch", "Borrow"])
    def test_what_the_api_server_fills_in_is_not_listed(self, borrow: str) -> None:
        queue = cluster_queue(
            "q",
            queueingStrategy="BestEffortFIFO",
            stopPolicy="None",
            flavorFungibility={"whenCanBorrow": borrow, "whenCanPreempt": "TryNextFlavor"},
            admissionScope={"admissionMode": "NoAdmissionFairSharing"},
            admissionChecks=[],
            preemption={},
            later=None,
            latest="",
        )
        assert unplaced(queue) == [NO_CPU, *UNLED]
        by_order = {"whenCanBorrow": borrow, "whenCanPreempt": "Preempt"}
        assert unplaced(cluster_queue("q", flavorFungibility=by_order))[0].startswith("ClusterQueue q: flavorFungib")

    def test_other_kinds(self) -> None:
        clusters = "one repository may be for several clusters, each a backend of tas.yaml; no work moves"
        others = [
            *(kueue(kind, "a") for kind in ("AdmissionCheck", "MultiKueueConfig", "MultiKueueCluster")),
            *(kueue(kind, "a") for kind in ("ProvisioningRequestConfig", "Workload", "Newest")),
            {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"}},
            {"apiVersion": "kueue.x-k8s.io.b/v1", "kind": "ClusterQueue", "metadata": {"name": "a"}},
        ]
        assert unplaced(cluster_queue("q"), *others) == [
            "AdmissionCheck a: KAI waits for no admission check",
            f"MultiKueueConfig a: {clusters}",
            f"MultiKueueCluster a: {clusters}",
            "ProvisioningRequestConfig a: a cluster autoscaler sees the pods that KAI leaves Pending",
            "Workload a: Kueue makes it",
            "Newest a: kubectl-tas does not know this kind of Kueue",
            "Pod a: it is no object of Kueue, and its labels name no LocalQueue",
            "ClusterQueue a: it is no object of Kueue, and its labels name no LocalQueue",
            NO_CPU,
            *UNLED,
        ]


QUANTITY = "must be a quantity such as 500m or 64Gi"
RESOURCE = "spec.resourceGroups[0].flavors[0].resources[0]"
MAPPING, LIST = "Write a mapping: 'key: value' lines.", "Write a list: a '-' before each item."


def test_classes_that_become_one_priority_are_listed(tmp_path: Path) -> None:
    classes = [
        {
            "apiVersion": "kueue.x-k8s.io/v1beta1",
            "kind": "WorkloadPriorityClass",
            "metadata": {"name": name},
            "value": value,
        }
        for name, value in (("low", 1000), ("mid", 5000), ("top", 10000))
    ]
    said = "WorkloadPriorityClass low, mid, top: all become HIGH; choose otherwise with --priority-class NAME=LOW"
    assert any(text.startswith(said) for text in unplaced(cluster_queue("q"), *classes))
    result = kubectl_tas(
        *(
            "import",
            "kueue",
            write(
                tmp_path,
                {"k.json": json.dumps({"apiVersion": "v1", "kind": "List", "items": [cluster_queue("q"), *classes]})},
            ),
        ),
        *("--to", tmp_path / "r", "--priority-class", "low=LOW", "--priority-class", "mid=NORMAL"),
    )
    assert "all become" not in result.out + result.err
    assert "WorkloadPriorityClass low (1000): label kubectl-tas/priority: LOW (50)" in result.out + result.err


class TestOdd:
    @pytest.mark.parametrize(
        "item",
        [
            cluster_queue("a", gpus="ten"),
            cluster_queue("a", gpus=-3),
            cluster_queue("a", gpus=[1]),
            cluster_queue("a", gpus=None),
            cluster_queue("a", more={"borrowingLimit": "4 GPUs"}),
            cluster_queue("a", more={"lendingLimit": -1}),
            cluster_queue("a", fairSharing={"weight": "x"}),
            cluster_queue("a", fairSharing=[]),
            "hello",
            {"a": 1},
            {"apiVersion": "v1"},
            kueue("Cohort", "", {}),
            kueue("Cohort", "a", [1]),
            kueue("Cohort", "a", {"resourceGroups": "x"}),
            kueue("Cohort", "a", {"resourceGroups": ["x"]}),
            kueue("Cohort", "a", {"resourceGroups": [{"flavors": [{}]}]}),
            kueue("Cohort", "a", {"resourceGroups": [{"flavors": [{"name": "x", "resources": [{"name": ""}]}]}]}),
            kueue("Cohort", "a", {"resourceGroups": [{"flavors": [{"name": 5}]}]}),
            kueue("Cohort", "a", {"parentName": 3}),
            kueue("WorkloadPriorityClass", "a", value="high"),
            kueue("WorkloadPriorityClass", "a", value=True),
            kueue("Topology", "a", {"levels": [{"nodeLabel": 1}]}),
        ],
        ids=json.dumps,
    )
    def test_what_is_not_built_as_its_kind(self, item: object, snapshot: Any) -> None:
        found, findings = made(item)
        assert dict(found.files) == {}
        assert "\n".join(findings) == snapshot

    def test_what_only_pools_read(self) -> None:
        """A flavor is looked at where a ClusterQueue uses it."""
        findings = made(cluster_queue("q"), kueue("ResourceFlavor", "all", {"nodeLabels": ["x"]}))[1]
        assert findings == [f"kueue.json:3:120: spec.nodeLabels must be a mapping, not a list ({MAPPING})"]

    def test_the_largest_quantity(self) -> None:
        assert "maximum: 100000000000000000\n" in made(cluster_queue("a", gpus=10**17))[0].files["pools/a.yaml"]

    def test_the_command_writes_nothing_then(self, tmp_path: Path) -> None:
        result = imported(tmp_path, cluster_queue("a", gpus="ten"))
        said = f'{tmp_path}/kueue.json:1:272: error: {RESOURCE}.nominalQuota {QUANTITY}, not "ten" [invalid-value]\n'
        assert (result.code, result.err.startswith(said), (tmp_path / "work").exists()) == (1, True, False)

    def test_cohorts_in_a_circle(self, tmp_path: Path) -> None:
        circle = [kueue("Cohort", name, {"parentName": upper}) for name, upper in zip("abc", "bca", strict=True)]
        below = [kueue("Cohort", "d", {"parentName": "a"}), cluster_queue("q", "d")]
        local = kueue("LocalQueue", "q", {"clusterQueue": "q"}, "n")
        result = imported(tmp_path, *circle, *below, local, cluster_queue("ok"))
        assert result.code == 0
        why = "the parents of cohorts form a circle, a -> b -> c -> a; Kueue starts no work there"
        assert f"  Cohort a, c, d, b: {why}\n  ClusterQueue q: {why}\n" in result.out
        assert "LocalQueue n/q: ClusterQueue q has no place" in result.out
        assert sorted(texts(tmp_path / "work")) == ["pools/ok.yaml", "tas.yaml"]

    @pytest.mark.sweep
    def test_thousands_of_cohorts_below_one_another(self, tmp_path: Path) -> None:
        deep = [kueue("Cohort", f"c{n}", {"parentName": f"c{n - 1}"} if n else {}) for n in range(3000)]
        assert imported(tmp_path, *deep, cluster_queue("q", "c2999")).code == 0
        assert read(tmp_path, "pools/c2999.yaml")["parent"] == "c2998"
        assert read(tmp_path, "pools/c0.yaml")["resources"]["gpu"]["guarantee"] == 8
        assert kubectl_tas("validate", "-C", tmp_path / "work").code == 0

    def test_thousands_of_cohorts_in_a_circle(self, tmp_path: Path) -> None:
        deep = [kueue("Cohort", f"c{n}", {"parentName": f"c{(n or 3000) - 1}"}) for n in range(3000)]
        result = imported(tmp_path, *deep, cluster_queue("q", "c7"))
        assert result.code == 1
        assert "c0 -> c2999 -> c2998 -> c2997 -> c2996 -> ... -> c0; Kueue starts no work there" in result.out
        assert result.err == "Nothing was written: nothing of the input has a place here.\n"

    def test_names_that_become_the_same(self, tmp_path: Path) -> None:
        items = [cluster_queue("a.b"), cluster_queue("a-b"), cluster_queue("c.d", "e"), cluster_queue("c-d", "e")]
        result = imported(
            tmp_path, *items, cluster_queue("shared", "e"), kueue("Cohort", "a--b", {"resourceGroups": groups()})
        )
        assert "Cohort a--b: pool a-b\n" in result.out
        assert "ClusterQueue a-b: pool a-b-2\n  ClusterQueue a.b: pool a-b-3\n" in result.out
        assert "ClusterQueue c.d: subpool e--c-d-2\n  ClusterQueue shared: subpool e--shared-queue\n" in result.out
        sound(tmp_path / "work")

    def test_long_names(self, tmp_path: Path) -> None:
        items = [
            cluster_queue("q" * 253),
            cluster_queue("q" * 252),
            *(cluster_queue("s" * n, "c" * 253) for n in (252, 253)),
        ]
        result = imported(tmp_path, *items, kueue("LocalQueue", "l" * 253, {"clusterQueue": "q" * 253}, "n" * 63))
        assert result.code == 0, result.err
        sound(tmp_path / "work")

    def test_a_local_queue_of_no_cluster_queue(self, tmp_path: Path) -> None:
        lost = [kueue("LocalQueue", "q", {"clusterQueue": "gone"}, "n"), kueue("LocalQueue", "r", {}, "n")]
        system = kueue("LocalQueue", "s", {"clusterQueue": "a"}, "kube-system")
        result = imported(tmp_path, cluster_queue("a"), *lost, system)
        system_only = "the namespace belongs to Kubernetes; work of a pool must not run there"
        assert "  LocalQueue n/q: ClusterQueue gone is not among what was given\n" in result.out
        assert "  LocalQueue n/r: ClusterQueue (none) is not among what was given\n" in result.out
        assert f"  LocalQueue kube-system/s: {system_only}\n" in result.out
        assert (tmp_path / "work/tas.yaml").read_text().startswith("# Imported from Kueue.\napiVersion: ")
        sound(tmp_path / "work")

    def test_the_same_object_twice(self, tmp_path: Path) -> None:
        assert imported(tmp_path, cluster_queue("a"), cluster_queue("a")).code == 0
        result = imported(tmp_path / "work", cluster_queue("a"), cluster_queue("a", gpus=9))
        assert "the ClusterQueue a appears twice, with different content [name-duplicate]" in result.err
        assert "  = help: Give one of them.\n" in result.err
        assert f"defined here too ({tmp_path}/work/kueue.json:1:87)\n" in result.err
        locals_ = [kueue("LocalQueue", "l", {"clusterQueue": name}, space) for name, space in ("an", "bn", "bm")]
        twice = "the LocalQueue n/l appears twice, with different content (Give one of them.)"
        assert made(*locals_)[1] == [f"kueue.json:3:85: {twice}"]

    def test_an_empty_document_is_none(self, tmp_path: Path) -> None:
        assert imported(tmp_path, None, cluster_queue("q")).code == 0

    def test_work_says_the_pool_of_its_local_queue(self, tmp_path: Path) -> None:
        labels = {"kueue.x-k8s.io/queue-name": "l", "kueue.x-k8s.io/priority-class": "high"}
        work = {
            "made": {"generateName": "made-", "namespace": "n", "labels": labels},
            "plain": {"name": "plain", "namespace": "n", "labels": {**labels, "kueue.x-k8s.io/priority-class": "x"}},
            "lost": {"name": "lost", "namespace": "m", "labels": labels},
        }
        containers = [{"name": "a", "image": "a:1", "resources": {"limits": {"nvidia.com/gpu": 1}}}]
        spec = {"template": {"spec": {"restartPolicy": "Never", "containers": containers}}, "suspend": True}
        items = [
            {"apiVersion": "batch/v1", "kind": "Job", "metadata": metadata, "spec": spec} for metadata in work.values()
        ]
        local = kueue("LocalQueue", "l", {"clusterQueue": "q"}, "n")
        level = kueue("WorkloadPriorityClass", "high", value=1000)
        result = imported(tmp_path, cluster_queue("q"), local, level, *items)
        assert (result.code, result.out) == (1, "")
        assert 'nothing says which priority the class "x" is here' in result.err
        arguments = (tmp_path / "kueue.json", "--to", tmp_path / "work", "--priority-class", "x=LOW")
        result = kubectl_tas("import", "kueue", *arguments)
        assert result.code == 0, result.err
        assert "Job lost: LocalQueue m/l has no place" in result.out
        made, plain = safe_load_all((tmp_path / "work/workflows/kueue.json").read_text())
        assert (made["metadata"]["name"], plain["metadata"]["name"]) == ("made", "plain")
        labels = {"kubectl-tas/pool": "q", "kubectl-tas/priority": "HIGH"}
        assert made["metadata"]["labels"] == labels
        assert plain["metadata"]["labels"] == {**labels, "kubectl-tas/priority": "LOW"}
        assert "suspend" not in made["spec"]

    def test_weights_outside_of_a_cohort_mean_nothing(self, tmp_path: Path) -> None:
        queues = [
            cluster_queue(name, fairSharing={"weight": weight}) for name, weight in (("a", 1), ("b", 3), ("c", 0))
        ]
        result = imported(tmp_path, *queues)
        left_out = "fairSharing: Kueue compares weights within a cohort, and this is in none"
        assert f"  ClusterQueue b, c: {left_out}\n" in result.out
        assert [read(tmp_path, f"pools/{x}.yaml")["resources"]["gpu"]["weight"] for x in "abc"] == [1, 1, 1]

    def test_as_many_letters_as_a_queue_may_have(self) -> None:
        """Where the name of the pool's own queue would be too long, a name ends in a hash, with room for a number."""
        for length, name in ((34, "q" * 34), (35, f"{'q' * 25}-1249d505")):
            assert made(cluster_queue("q" * length))[0].becomes == (f"ClusterQueue {'q' * length}: pool {name}",)
        for length, name in ((57, "s" * 57), (58, f"{'s' * 48}-71ba0078")):
            became = made(cluster_queue("s" * length, "c"))[0].becomes
            assert became == ("Cohort c: pool c", f"ClusterQueue {'s' * length}: subpool c--{name}")

    def test_five_cohorts_of_a_circle_are_named(self) -> None:
        circle = [kueue("Cohort", name, {"parentName": upper}) for name, upper in zip("abcde", "bcdea", strict=True)]
        why = "the parents of cohorts form a circle, a -> b -> c -> d -> e -> a; Kueue starts no work there"
        assert unplaced(*circle, cluster_queue("q", "c")) == [
            *(f"Cohort {name}: {why}" for name in "aedcb"),
            f"ClusterQueue q: {why}",
        ]

    def test_flavors_with_and_without_nodes_and_of_two_topologies(self, tmp_path: Path) -> None:
        queue = cluster_queue("q")
        first = queue["spec"]["resourceGroups"][0]["flavors"][0]
        queue["spec"]["resourceGroups"][0]["flavors"] = [{**first, "name": name} for name in ("a", "b")]
        named = {"a": {"nodeLabels": {"x": "y"}, "topologyName": "s"}, "b": {"topologyName": "t"}}
        topologies = [kueue("Topology", name, {"levels": [{"nodeLabel": "a/rack"}]}) for name in "st"]
        flavors = [kueue("ResourceFlavor", name, spec) for name, spec in named.items()]
        result = imported(tmp_path, queue, *flavors, *topologies)
        assert result.code == 0, result.err
        spec = read(tmp_path, "pools/q.yaml")
        assert spec["platforms"] == {"a": {"nodes": {"selector": {"x": "y"}}}, "b": {}}
        assert (spec["default_platform"], spec["topology"]) == ("a", "s")
        assert "ClusterQueue q: topology t of flavor b: a pool has one, s" in result.out

    def test_a_topology_that_has_no_place(self, tmp_path: Path) -> None:
        flavor = kueue("ResourceFlavor", "all", {"nodeLabels": {"a": "b"}, "topologyName": "t"})
        result = imported(tmp_path, cluster_queue("a"), flavor, kueue("Topology", "t", {"levels": []}))
        assert "Topology t: it has no levels" in result.out
        assert "ClusterQueue a: topology t is not among what has a place" in result.out
        sound(tmp_path / "work")


QUOTAS = st.tuples(st.integers(0, 9), st.none() | st.integers(0, 9), st.none() | st.integers(0, 9))
FLAVORS = st.dictionaries(st.sampled_from("xyz"), QUOTAS, max_size=3)


@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_what_may_be_held_is_what_kueue_lets_be_held(
    data: st.DataObject, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Beside Kueue's own sums, ``potentialAvailable`` of pkg/cache/scheduler/resource_node.go, of any tree."""
    number = data.draw(st.integers(1, 4))
    upper = {"c0": "", **{f"c{n}": f"c{data.draw(st.integers(0, n - 1))}" for n in range(1, number)}}
    queues = {f"q{n}": f"c{data.draw(st.integers(0, number - 1))}" for n in range(data.draw(st.integers(1, 4)))}
    quotas = {name: data.draw(FLAVORS) for name in (*upper, *queues)}
    quotas["c0"] = {flavor: (nominal, None, None) for flavor, (nominal, _, _) in quotas["c0"].items()}

    def subtree(name: str, flavor: str) -> int:
        below = (child for child, above in (upper | queues).items() if above == name)
        own = quotas[name].get(flavor, (0, None, None))[0]
        return own + sum(subtree(child, flavor) - local(child, flavor) for child in below)

    def local(name: str, flavor: str) -> int:
        lending = quotas[name].get(flavor, (0, None, None))[2]
        return 0 if lending is None else max(0, subtree(name, flavor) - lending)

    def available(name: str, flavor: str) -> int:
        above = (upper | queues)[name]
        if not above:
            return subtree(name, flavor)
        borrowing = quotas[name].get(flavor, (0, None, None))[1]
        found = local(name, flavor) + available(above, flavor)
        return found if borrowing is None else min(found, subtree(name, flavor) + borrowing)

    items = []
    for name, above in (upper | queues).items():
        flavors = [
            {"name": flavor, "resources": [{"name": "nvidia.com/gpu", **_named(quota)}]}
            for flavor, quota in quotas[name].items()
        ]
        key, kind = ("cohortName", "ClusterQueue") if name in queues else ("parentName", "Cohort")
        spec = {**({key: above} if above else {}), "resourceGroups": [{"flavors": flavors}]}
        items.append(kueue(kind, name, spec))
    folder = tmp_path_factory.mktemp("tree")
    assert imported(folder, *items).code == 0
    pools = {path.stem: read(folder, f"pools/{path.name}") for path in (folder / "work/pools").iterdir()}
    for name, cohort in queues.items():
        path, limits = folder / f"work/subpools/{cohort}--{name}.yaml", []
        above = cohort if path.exists() else name
        if path.exists():
            limits.append(read(folder, f"subpools/{path.name}").get("maximum", {}).get("gpu", -1))
        while above:
            limits.append(pools[above]["resources"]["gpu"]["maximum"])
            above = pools[above].get("parent", "")
        expected = sum(available(name, flavor) for flavor in quotas[name])
        assert min(limit for limit in limits if limit != -1) == expected, name
    assert kubectl_tas("validate", "-C", folder / "work").code == 0


def _named(quota: tuple[int, int | None, int | None]) -> dict[str, int]:
    names = ("nominalQuota", "borrowingLimit", "lendingLimit")
    return {name: value for name, value in zip(names, quota, strict=True) if value is not None}


@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_nothing_ends_the_program(data: st.DataObject, tmp_path_factory: pytest.TempPathFactory) -> None:
    """Any value in place of any other: findings, or a repository without errors."""
    items = [
        kueue("Cohort", "c", {"parentName": "top", "resourceGroups": groups(1)}),
        cluster_queue("a", "c", more={"borrowingLimit": 1}, fairSharing={"weight": 2}),
        kueue("ResourceFlavor", "all", {"nodeLabels": {"a": "b"}, "tolerations": [{"key": "t"}], "topologyName": "t"}),
        kueue("Topology", "t", {"levels": [{"nodeLabel": "x/rack"}]}),
        kueue("LocalQueue", "l", {"clusterQueue": "a"}, "n"),
        kueue("WorkloadPriorityClass", "p", value=7),
    ]
    holder: Any = data.draw(st.sampled_from(items))
    while True:
        key = data.draw(st.sampled_from([*holder] if isinstance(holder, dict) else range(len(holder))))
        if not isinstance(holder[key], dict | list) or not holder[key] or data.draw(st.booleans()):
            break
        holder = holder[key]
    holder[key] = data.draw(st.sampled_from([None, True, -1, 0.5, "", "x", "9e99", [], {}, [1], {"a": 1}, "a\u0000b"]))
    folder = tmp_path_factory.mktemp("any")
    result = imported(folder, *items)
    assert result.code in (0, 1), result.err
    assert "internal error" not in result.err
    if result.code == 0:
        assert kubectl_tas("validate", "-C", folder / "work").code == 0


class TestWhere:
    def test_a_folder(self, tmp_path: Path) -> None:
        text = {"b/q.yaml": yaml.safe_dump(cluster_queue("q")), ".git/x.yaml": "{", "a.txt": "{"}
        write(tmp_path / "in", text | {"l.yml": yaml.safe_dump(kueue("LocalQueue", "l", {"clusterQueue": "q"}, "n"))})
        result = kubectl_tas("import", "kueue", tmp_path / "in", "--to", tmp_path / "work")
        assert "LocalQueue n/l: label kubectl-tas/pool: q" in result.out

    def test_a_cluster(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        answers = {"clusterqueues": [cluster_queue("q", gpus="many")], "localqueues": []}
        for resource, items in answers.items():
            (tmp_path / resource).write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": items}))
        script = (
            f'for last in "$@"; do case $last in *.kueue.x-k8s.io) file={tmp_path}/${{last%%.*}};; esac; done\n'
            '[ -f $file ] && exec cat $file\necho "error: the server doesn\'t have a resource type" >&2; exit 1'
        )
        fake = FakeKubectl(tmp_path, monkeypatch)
        (tmp_path / "kubectl").write_text(f"#!/bin/sh\n{script}\n")
        assert fake.program.exists()
        result = kubectl_tas("import", "kueue", "--context", "prod", "--to", tmp_path / "work")
        assert result.code == 1
        assert result.err.startswith(
            "error: ClusterQueue q: spec.resourceGroups[0].flavors[0].resources[0].nominalQuota"
        )
        answers["clusterqueues"][0] = cluster_queue("q")
        (tmp_path / "clusterqueues").write_text(
            json.dumps({"apiVersion": "v1", "kind": "List", "items": answers["clusterqueues"]})
        )
        result = kubectl_tas("import", "kueue", "--context", "prod", "--to", tmp_path / "work")
        assert result.code == 0, result.err
        assert read(tmp_path, "tas.yaml") == {"backends": [{"name": "default", "context": "prod"}]}
        (tmp_path / "clusterqueues").unlink()
        result = kubectl_tas("import", "kueue", "--context", "prod", "--to", tmp_path / "other")
        assert (result.code, "Kueue's CustomResourceDefinitions are not installed" in result.err) == (3, True)

    def test_a_cluster_that_forbids_one_kind(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """Without it, the numbers would be wrong."""
        queues = json.dumps({"apiVersion": "v1", "kind": "List", "items": [cluster_queue("q")]})
        (tmp_path / "queues").write_text(queues)
        FakeKubectl(tmp_path, monkeypatch).runs(
            f'case "$*" in *clusterqueues*) cat {tmp_path}/queues ;; '
            '*) echo "Error from server (Forbidden): cohorts is forbidden" >&2; exit 1 ;; esac'
        )
        result = kubectl_tas("import", "kueue", "--context", "prod", "--to", tmp_path / "work")
        assert (result.code, "the cluster forbids reading" in result.err) == (3, True)
        assert result.err.endswith("\n  = help: Name files with objects of Kueue, or another --context.\n")
        assert not (tmp_path / "work").exists()

    @pytest.mark.parametrize("option", ["--context", "--kubeconfig"])
    def test_files_and_a_cluster(self, option: str, tmp_path: Path) -> None:
        result = kubectl_tas("import", "kueue", tmp_path, option, "prod")
        assert (result.code, "FILE stands for a cluster" in result.err) == (2, True)

    def test_standard_input(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        class Stdin:
            buffer = io.BytesIO(json.dumps(cluster_queue("q")).encode())

        monkeypatch.setattr("sys.stdin", Stdin)
        assert kubectl_tas("import", "kueue", "-", "--to", tmp_path / "work").code == 0
        Stdin.buffer = io.BytesIO(b"{")
        assert "<stdin>:1:" in kubectl_tas("import", "kueue", "-", "--to", tmp_path / "other").err

    def test_a_folder_of_the_option(self, tmp_path: Path) -> None:
        (tmp_path / "there").mkdir()
        write(tmp_path, {"q.json": json.dumps(cluster_queue("q"))})
        result = kubectl_tas("-C", "there", "import", "kueue", tmp_path / "q.json", "--to", "work", cwd=tmp_path)
        assert result.code == 0, result.err
        assert (tmp_path / "there/work/pools/q.yaml").is_file()

    @pytest.mark.parametrize(
        ("content", "said"),
        [
            (b"kind: \xff\n", "x.yaml:1:7: error: "),
            (b"{apiVersion: v1, kind: List, items: [1]}\n", "x.yaml:1:38: error: "),
            (b"{apiVersion: v1, kind: List, items: 1}\n", "x.yaml:1:37: error: "),
        ],
    )
    def test_what_cannot_be_read(self, content: bytes, said: str, tmp_path: Path) -> None:
        (tmp_path / "x.yaml").write_bytes(content)
        result = kubectl_tas("import", "kueue", "x.yaml", "--to", "work", cwd=tmp_path)
        assert (result.code, said in result.err) == (1, True), result.err
        assert result.err.endswith("\nNothing was written.\n")
        assert not (tmp_path / "work").exists()

    def test_a_folder_that_may_not_be_read(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        def refuse(path: str) -> None:
            raise PermissionError(13, "Permission denied", path)

        monkeypatch.setattr(os, "scandir", refuse)
        result = kubectl_tas("import", "kueue", tmp_path, "--to", "work")
        told = f"error: cannot read {tmp_path}: Permission denied\n  = help: Name a folder that may be read.\n"
        assert (result.code, result.err) == (3, told)

    def test_files_that_would_not_be_read_are_not_written(self, tmp_path: Path) -> None:
        config = "apiVersion: tas/v1alpha1\nkind: Config\nspec: {sources: [workflows]}\n"
        write(tmp_path / "work", {"tas.yaml": config, "workflows/a.yaml": ""})
        result = imported(tmp_path, cluster_queue("q"))
        assert (result.code, result.out) == (3, "")
        assert result.err == (
            "error: pools/q.yaml would not be read; nothing was written\n"
            "  = help: Add their folders to spec.sources of tas.yaml.\n"
        )
        assert not (tmp_path / "work/pools").exists()

    def test_into_a_repository(self, tmp_path: Path) -> None:
        """What is there stays, and is judged together with what is new."""
        write(tmp_path / "work", {"tas.yaml": "apiVersion: tas/v1alpha1\nkind: Config\n", "pools/team.yaml": pool()})
        result = imported(tmp_path, cluster_queue("q"))
        assert result.code == 0, result.err
        assert f"unchanged {tmp_path}/work/tas.yaml\nwrote {tmp_path}/work/pools/q.yaml\n" in result.out
        assert f"unchanged {tmp_path}/work/pools/q.yaml" in imported(tmp_path, cluster_queue("q")).out
        before = texts(tmp_path / "work")
        result = imported(tmp_path, cluster_queue("q", gpus=9), cluster_queue("new"))
        assert result.code == 1
        assert "-      maximum: 8\n+      guarantee: 9\n" in result.out
        write(tmp_path / "work", {"pools/other.yaml": pool("new")})
        result = imported(tmp_path, cluster_queue("new"))
        assert (result.code, 'pool "new"' in result.err) == (1, True)
        assert texts(tmp_path / "work") == {**before, "pools/other.yaml": pool("new")}
