"""Tests several clusters: which one a command asks, messages about unreachable ones, and files in their place."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.support.cli import kubectl_tas, pool, subpool, write
from tests.support.grove import findings, rules, state
from tests.support.history import commit
from tests.support.kubectl import FakeKubectl, node, pod_group, queue

CONFIG = """\
apiVersion: tas/v1alpha1
kind: Config
spec: {backends: [{name: prod, namespace: ml, context: prod-eu}, {name: lab, context: lab-eu}]}
"""
PROD, LAB = "osmo-pool-ml-big--shared", "osmo-pool-default-small--shared"


@pytest.fixture
def two(repository: Path) -> Path:
    """A repository of two clusters, each with a pool."""
    pools = {
        "pools/big.yaml": pool("big", 64, "  backend: prod\n"),
        "pools/small.yaml": pool("small", 8, "  backend: lab\n"),
    }
    return write(repository, {"tas.yaml": CONFIG, **pools})


@pytest.fixture
def kubectl(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FakeKubectl:
    """Both clusters, of which each knows its own queue."""
    fake = FakeKubectl(tmp_path, monkeypatch)
    fake.knows("prod-eu", queue(PROD, 40), node("a", 64))
    fake.knows("lab-eu", queue(LAB, 3), node("b", 8))
    return fake


def used(root: Path, *arguments: str | Path, code: int = 0) -> dict[str, Any]:
    """The GPUs that are used in each pool."""
    result = kubectl_tas("pool", "list", "-C", root, "-o", "json", *arguments)
    assert result.code == code, result.err
    return {item["name"]: item["used"] for item in json.loads(result.out)["pools"]}


class TestAsking:
    def test_each_backend_by_its_context(self, two: Path, kubectl: FakeKubectl) -> None:
        assert used(two, "--live") == {"big": 40, "small": 3}
        assert {call.split()[0] for call in kubectl.calls} == {"--context=prod-eu", "--context=lab-eu"}

    def test_the_usage_of_one_cluster_is_not_that_of_another(self, two: Path, kubectl: FakeKubectl) -> None:
        kubectl.knows("lab-eu", queue(LAB, 3), queue(PROD, 7))
        assert used(two, "--live") == {"big": 40, "small": 3}

    def test_one_backend(self, two: Path, kubectl: FakeKubectl) -> None:
        assert used(two, "--live", "--backend", "lab") == {"small": 3}
        assert {call.split()[0] for call in kubectl.calls} == {"--context=lab-eu"}

    def test_another_context(self, two: Path, kubectl: FakeKubectl) -> None:
        kubectl.knows("other", queue(LAB, 5))
        assert used(two, "--context", "other", "--backend", "lab") == {"small": 5}
        result = kubectl_tas("pool", "list", "-C", two, "--context", "other")
        assert result.code == 2
        assert "--context names one cluster; name its backend too: backends are prod, lab" in result.err

    def test_one_that_is_not_reached_is_named(self, two: Path, kubectl: FakeKubectl) -> None:
        write(two, {"tas.yaml": CONFIG.replace("lab-eu", "gone")})
        assert used(two, "--live", code=3) == {"big": 40, "small": None}
        result = kubectl_tas("pool", "list", "-C", two, "--live")
        assert "error: backend lab: kubectl knows no such context: " in result.err

    def test_one_without_a_context_is_not_guessed(self, two: Path, kubectl: FakeKubectl) -> None:
        kubectl.knows("default", queue(LAB, 6))
        write(two, {"tas.yaml": CONFIG.replace(", context: lab-eu", "")})
        assert used(two, "--live", code=3) == {"big": 40, "small": None}
        result = kubectl_tas("pool", "list", "-C", two, "--live", "--backend", "lab")
        assert (result.code, result.out) == (3, "")
        assert "the backend lab has no context that names its cluster" in result.err

    def test_the_only_backend_is_the_cluster_of_kubectl(self, repository: Path, kubectl: FakeKubectl) -> None:
        kubectl.knows("default", queue("osmo-pool-default-team--shared", 2))
        assert used(write(repository, {"pools/team.yaml": pool()}), "--live") == {"team": 2}

    def test_an_unknown_backend(self, two: Path) -> None:
        for command in (
            "pool list",
            "validate",
            "render",
            "check",
            "cluster state --to -",
            "topology usage",
            "workflow list",
        ):
            result = kubectl_tas(*command.split(), "-C", two, "--backend", "labs")
            assert result.code == 2, command
            assert 'no backend "labs"; did you mean "lab"?' in result.err


class TestFiles:
    def test_a_file_for_each(self, two: Path, tmp_path: Path) -> None:
        for name, held in (("prod", queue(PROD, 1)), ("lab", queue(LAB, 2))):
            state(tmp_path, held).replace(tmp_path / f"{name}=1.json")
        files = [f"--cluster-state={name}={tmp_path / f'{name}=1.json'}" for name in ("prod", "lab")]
        assert used(two, *files) == {"big": 1, "small": 2}
        assert used(two, files[0]) == {"big": 1, "small": None}
        alone = f"--cluster-state={tmp_path / 'lab=1.json'}"
        assert used(two, alone, "--backend", "lab") == {"small": 2}

    def test_with_live_the_others_are_asked(self, two: Path, tmp_path: Path, kubectl: FakeKubectl) -> None:
        assert used(two, f"--cluster-state=lab={state(tmp_path, queue(LAB, 2))}", "--live") == {"big": 40, "small": 2}

    def test_one_file_of_which_nobody_knows_the_cluster(self, two: Path, tmp_path: Path) -> None:
        file = state(tmp_path, queue(LAB))
        for arguments, said in (
            ([f"--cluster-state={file}"], "of which cluster? Write BACKEND=FILE; backends are prod, lab"),
            ([f"--cluster-state=lab={file}"] * 2, "--cluster-state is given twice for the backend lab"),
        ):
            result = kubectl_tas("pool", "list", "-C", two, *arguments)
            assert result.code == 2
            assert said in result.err


class TestValidate:
    def test_one_that_is_not_reached_is_an_error(self, two: Path, kubectl: FakeKubectl) -> None:
        write(
            two, {"tas.yaml": CONFIG.replace("lab-eu", "gone"), "pools/big.yaml": pool("big", 65, "  backend: prod\n")}
        )
        assert rules(two, "--live") == ["guarantee-exceeds-nodes", "cluster-unread"]
        result = kubectl_tas("validate", "-C", two, "--live")
        assert result.code == 1
        assert ": error: backend lab: kubectl knows no such context" in result.out

    def test_none_is_reached(self, two: Path, kubectl: FakeKubectl) -> None:
        result = kubectl_tas("validate", "-C", two, "--context", "gone", "--backend", "lab")
        assert result.code == 3

    def test_what_runs_in_the_cluster_of_the_subpool(self, two: Path, kubectl: FakeKubectl) -> None:
        leaf = "osmo-pool-default-small--a"
        commit(write(two, {"subpools/a.yaml": subpool("a", 4, "small")}))
        write(two, {"subpools/a.yaml": subpool("a", 4, "small", state="ARCHIVED")})
        kubectl.knows("prod-eu", queue(leaf, 4), node("a", 64))
        assert rules(two, "--base", "HEAD", "--live") == []
        kubectl.knows("lab-eu", queue(leaf, 4), node("b", 8))
        assert rules(two, "--base", "HEAD", "--live") == ["subpool-state-changed"]


class TestSubpools:
    @pytest.fixture
    def draining(self, two: Path) -> Path:
        """A subpool in each cluster that is to be emptied."""
        return write(
            two,
            {f"subpools/{parent}--a.yaml": subpool("a", 4, parent, state="DELETING") for parent in ("big", "small")},
        )

    def test_each_is_asked_of_its_own_cluster(self, draining: Path, kubectl: FakeKubectl) -> None:
        kubectl.knows("prod-eu", queue("osmo-pool-ml-big--a", 0), queue("osmo-pool-default-small--a", 0))
        kubectl.knows("lab-eu", queue("osmo-pool-default-small--a", 2))
        result = kubectl_tas("subpool", "drain", "-C", draining)
        assert (result.code, result.out) == (0, "big--a: DELETING -> ARCHIVED (subpools/big--a.yaml)\n")
        assert "small--a: still DELETING" in result.err

    def test_one_that_is_not_reached_keeps_none_of_the_others(self, draining: Path, kubectl: FakeKubectl) -> None:
        kubectl.knows("prod-eu", queue("osmo-pool-ml-big--a", 0))
        write(draining, {"tas.yaml": CONFIG.replace("lab-eu", "gone")})
        result = kubectl_tas("subpool", "drain", "-C", draining)
        assert (result.code, result.out) == (3, "big--a: DELETING -> ARCHIVED (subpools/big--a.yaml)\n")
        assert (
            "error: backend lab: cannot tell whether anything runs there: kubectl knows no such context" in result.err
        )


def test_a_file_of_another_cluster_does_not_say_what_drains(two: Path, tmp_path: Path) -> None:
    write(two, {"subpools/a.yaml": subpool("a", 4, parent="big", state="DELETING")})
    file = f"--cluster-state=lab={state(tmp_path, queue(LAB, 0))}"
    result = kubectl_tas("subpool", "drain", "-C", two, file)
    assert (result.code, result.out) == (3, "")
    assert "cannot tell whether anything runs there: the cluster of the backend prod is not asked" in result.err


def test_admit_asks_the_cluster_of_the_pool(two: Path, tmp_path: Path, kubectl: FakeKubectl) -> None:
    task = "{name: t, image: i, lead: true}"
    job = f"workflow:\n  name: w\n  pool: small\n  resources: {{default: {{gpu: 6}}}}\n  tasks: [{task}]\n"
    (tmp_path / "job.yaml").write_text(job)
    result = kubectl_tas("admit", tmp_path / "job.yaml", "-C", two, "--live")
    assert "3 used" in result.out, result.out
    assert {call.split()[0] for call in kubectl.calls} == {"--context=lab-eu"}


def test_admit_says_that_the_cluster_of_the_pool_is_not_asked(two: Path, tmp_path: Path) -> None:
    (tmp_path / "job.yaml").write_text("workflow: {name: w, pool: small, tasks: [{name: t, image: i}]}\n")
    file = f"--cluster-state=prod={state(tmp_path, queue(PROD, 1))}"
    result = kubectl_tas("admit", tmp_path / "job.yaml", "-C", two, file)
    assert result.code == 3
    assert "error: the cluster of the backend lab is not asked\n" in result.err
    assert "Pass --cluster-state lab=FILE, or --live." in result.err


def test_work_of_one_backend(two: Path) -> None:
    for name in ("big", "small"):
        task = "{name: t, image: i, lead: true}"
        write(two, {f"workflows/{name}.yaml": f"workflow:\n  name: in-{name}\n  pool: {name}\n  tasks: [{task}]\n"})
    listed = [kubectl_tas("workflow", "list", "-C", two, "-o", "name", "--backend", x).out for x in ("prod", "lab")]
    assert listed == ["Workflow/in-big\n", "Workflow/in-small\n"]


class TestRender:
    def test_one_backend_leaves_the_others(self, two: Path) -> None:
        assert kubectl_tas("render", "-C", two).code == 0
        write(
            two,
            {
                "pools/big.yaml": pool("big", 32, "  backend: prod\n"),
                "pools/small.yaml": pool("tiny", 8, "  backend: lab\n"),
            },
        )
        before = (two / f"manifests/lab/queues/{LAB}.yaml").read_text()
        result = kubectl_tas("render", "-C", two, "--backend", "prod")
        assert result.code == 0
        assert "wrote manifests/lab" not in result.out
        assert "removed" not in result.out
        assert (two / f"manifests/lab/queues/{LAB}.yaml").read_text() == before
        assert "quota: 32" in (two / f"manifests/prod/queues/{PROD}.yaml").read_text()
        assert result.err == (
            "Rendered 6 objects to manifests/prod: 2 written, 0 removed, 5 unchanged.\n"
            "Left unchanged: 5 files of other backends that are not up to date.\n"
        )
        assert kubectl_tas("check", "-C", two, "--backend", "prod").code == 0
        lab = kubectl_tas("check", "-C", two, "--backend", "lab")
        stale = "The manifests are not up to date. Run: kubectl tas render --backend lab\n"
        assert (lab.code, lab.err) == (1, stale)
        assert "manifests/prod" not in lab.out

    def test_a_backend_without_objects(self, two: Path) -> None:
        (two / "pools/small.yaml").unlink()
        write(two, {"tas.yaml": CONFIG.replace("name: lab", "name: lab, scheduler: {type: default}")})
        assert kubectl_tas("render", "-C", two, "--backend", "lab").code == 0
        assert sorted(path.name for path in (two / "manifests").iterdir()) == ["lab"]

    def test_a_backend_without_anything(self, repository: Path) -> None:
        write(repository, {"tas.yaml": CONFIG})
        result = kubectl_tas("render", "-C", repository, "--backend", "lab", "--allow-empty")
        assert result.code == 3
        assert result.err == (
            "error: nothing to render for the backend lab\n"
            "  = help: Render without --backend to remove its manifests.\n"
        )


class TestState:
    def test_what_is_written_is_what_is_read(self, two: Path, tmp_path: Path, kubectl: FakeKubectl) -> None:
        kubectl.knows("lab-eu", queue(LAB, 3), pod_group(LAB, running=2), node("b", 4))
        file = tmp_path / "lab.json"
        result = kubectl_tas("cluster", "state", "-C", two, "--backend", "lab", "--to", file)
        assert (result.code, result.out) == (0, "")
        assert "1 Node, 0 Pod, 1 PodGroup, 0 PriorityClass, 1 Queue" in result.err
        asked = len(kubectl.calls)
        given = f"--cluster-state=lab={file}"
        assert used(two, given) == {"big": None, "small": 3}
        assert findings(two, given) == findings(two, "--live", "--backend", "lab")
        assert rules(two, given) == ["guarantee-exceeds-nodes"]
        assert len(kubectl.calls) > asked

    def test_the_same_cluster_gives_the_same_bytes(self, two: Path, kubectl: FakeKubectl) -> None:
        items = [queue("b"), queue("a"), node("y", 1, z="1", a="2"), node("x", 1)]
        printed = []
        for order in (items, items[::-1]):
            kubectl.knows("lab-eu", *order)
            printed.append(kubectl_tas("cluster", "state", "-C", two, "--backend", "lab", "--to", "-").out)
        assert printed[0] == printed[1]
        assert "lastHeartbeatTime" not in printed[0]

    def test_what_is_kept_of_metadata(self, two: Path, kubectl: FakeKubectl) -> None:
        """Of queues all annotations, since `import cluster` reads them; of pods, what says how KAI sees them."""
        mirror = {"kubernetes.io/config.mirror": "1f3a", "pod-group-name": "pg-train"}
        pod = {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": "p", "namespace": "ml", "annotations": {**mirror, "token": "secret"}},
            "spec": {"nodeName": "b", "containers": [{"name": "main", "env": [{"name": "KEY", "value": "secret"}]}]},
            "status": {"phase": "Running"},
        }
        asked = {"pod-group-name": "pg-train", "kai.scheduler/skip-podgrouper": "true"}
        labels = {"kai.scheduler/subgroup-name": "main", "app.kubernetes.io/part-of": "set"}
        labels |= {"kubectl-tas/workflow": "train", "kubectl-tas/task": "main"}
        waiting = {
            **pod,
            "metadata": {
                "name": "w",
                "namespace": "ml",
                "annotations": {**asked, "token": "secret"},
                "labels": {**labels, "note": "secret"},
            },
            "spec": {"containers": [{"name": "main"}], "nodeSelector": {"gpu": "a"}},
            "status": {"phase": "Pending"},
        }
        named = queue(LAB, 3)
        named["metadata"] |= {
            "annotations": {"argocd.argoproj.io/tracking-id": "lab"},
            "managedFields": [{"time": "now"}],
        }
        kubectl.knows("lab-eu", named, pod, waiting, node("b", 8))
        printed = kubectl_tas("cluster", "state", "-C", two, "--backend", "lab", "--to", "-").out
        kept = {item.get("metadata", {}).get("name"): item.get("metadata") for item in json.loads(printed)["items"]}
        assert kept["p"] == {"name": "p", "namespace": "ml", "annotations": mirror}
        assert kept["w"] == {"name": "w", "namespace": "ml", "annotations": asked, "labels": labels}
        assert kept[LAB]["annotations"] == {"argocd.argoproj.io/tracking-id": "lab"}
        assert "managedFields" not in kept[LAB]
        assert "secret" not in printed

    def test_what_is_kept_of_a_pod_group(self, two: Path, kubectl: FakeKubectl) -> None:
        """All that says whether it holds GPUs, since `subpool drain` archives a queue by that."""
        status = {"running": 2, "resourcesStatus": {"allocated": {"nvidia.com/gpu": "3"}, "requested": {"cpu": "1"}}}
        kubectl.knows("lab-eu", queue(LAB, 3), {**pod_group(LAB), "status": status})
        printed = kubectl_tas("cluster", "state", "-C", two, "--backend", "lab", "--to", "-").out
        kept = next(item["status"] for item in json.loads(printed)["items"] if item.get("kind") == "PodGroup")
        assert kept == {"running": 2, "resourcesStatus": {"allocated": {"nvidia.com/gpu": "3"}}}

    @pytest.mark.parametrize("resource", ["queues.scheduling.run.ai", "podgroups.scheduling.run.ai"])
    def test_without_queues_and_pod_groups_there_is_no_state(
        self, resource: str, two: Path, kubectl: FakeKubectl
    ) -> None:
        command = ("cluster", "state", "-C", two, "--backend", "lab", "--to", "-")
        file = kubectl.folder / "lab-eu" / resource
        hidden = file.with_name(f"{resource}.forbidden")
        hidden.touch()
        result = kubectl_tas(*command)
        assert (result.code, f"the cluster forbids reading {resource}" in result.err) == (3, True)
        hidden.unlink()
        file.unlink()
        result = kubectl_tas(*command)
        assert (result.code, f"the cluster has no {resource}" in result.err) == (3, True)

    def test_what_may_be_hidden(self, two: Path, kubectl: FakeKubectl) -> None:
        """Of nodes any failure is: pods of all namespaces may be too many. Of others only what is forbidden."""
        command = ("cluster", "state", "-C", two, "--backend", "lab", "--to", "-")
        kubectl.knows("lab-eu", queue(LAB, 3), forbidden="deployments.apps")
        (kubectl.folder / "lab-eu/pods").write_text("x")
        result = kubectl_tas(*command)
        assert result.code == 0, result.err
        assert "the cluster forbids reading deployments.apps" in result.err
        about = json.loads(result.out)["items"][0]
        assert ("Pod" in about["kinds"], "Node" in about["kinds"]) == (False, True)
        (kubectl.folder / "lab-eu/nodes").write_text("x")
        assert kubectl_tas(*command).code == 3

    def test_what_was_not_asked_for(self, two: Path, kubectl: FakeKubectl) -> None:
        secret = {"items": [{"kind": "Secret", "metadata": {"name": "s"}}]}
        (kubectl.folder / "lab-eu/queues.scheduling.run.ai").write_text(json.dumps(secret))
        result = kubectl_tas("cluster", "state", "-C", two, "--backend", "lab", "--to", "-")
        assert (result.code, result.out) == (3, "")
        assert "the cluster answers with a 'Secret', which was not asked for" in result.err
        assert "KUBECTL_PATH may name a program that is not kubectl." in result.err

    @pytest.mark.parametrize(
        ("odd", "words"),
        [
            (
                {"kind": "PodGroup", "metadata": None},
                "a PodGroup of the cluster cannot be read: without a name: it has no",
            ),
            (
                {"kind": "Node", "metadata": {"name": "n"}, "status": "x"},
                "a Node of the cluster cannot be read: n: status",
            ),
        ],
    )
    def test_objects_that_no_api_server_gives(
        self, two: Path, kubectl: FakeKubectl, odd: dict[str, Any], words: str
    ) -> None:
        kubectl.knows("lab-eu", queue(LAB, 3), odd)
        result = kubectl_tas("cluster", "state", "-C", two, "--backend", "lab", "--to", "-")
        assert (result.code, result.out) == (3, "")
        assert words in result.err

    def test_several_clusters(self, two: Path, kubectl: FakeKubectl) -> None:
        result = kubectl_tas("cluster", "state", "-C", two, "--to", "-")
        assert result.code == 2
        assert "a file is for one cluster; name its backend with --backend: lab, prod" in result.err

    def test_a_config_with_an_error(self, two: Path, kubectl: FakeKubectl) -> None:
        (two / "tas.yaml").write_text("apiVersion: tas/v1alpha1\nkind: Config\nspec: {backends: 3}\n")
        result = kubectl_tas("cluster", "state", "-C", two, "--backend", "lab", "--to", "-")
        assert (result.code, result.out) == (1, "")
        assert "tas.yaml:3:" in result.err

    def test_outside_of_a_repository(self, tmp_path: Path, kubectl: FakeKubectl) -> None:
        kubectl.knows("prod", queue("research"))
        folder = tmp_path / "empty"
        folder.mkdir()
        result = kubectl_tas("cluster", "state", "--context", "prod", "--to", "state.json", cwd=folder)
        assert result.code == 0, result.err
        names = [item["metadata"]["name"] for item in json.loads((folder / "state.json").read_text())["items"][1:]]
        assert names == ["research"]

    def test_nodes_that_may_not_be_seen(self, two: Path, tmp_path: Path, kubectl: FakeKubectl) -> None:
        kubectl.knows("lab-eu", queue(LAB), forbidden="nodes")
        file = tmp_path / "lab.json"
        result = kubectl_tas("cluster", "state", "-C", two, "--backend", "lab", "--to", file)
        assert result.code == 0
        assert "Without any Node: the cluster forbids reading nodes" in result.err
        assert rules(two, f"--cluster-state=lab={file}") == []
        assert rules(two, "--live", "--backend", "lab") == ["nodes-unread"]

    def test_pods_that_may_not_be_seen(self, two: Path, kubectl: FakeKubectl) -> None:
        kubectl.knows("lab-eu", queue(LAB), node("n", 8), forbidden="pods")
        ((rule, message),) = findings(two, "--live", "--backend", "lab")
        assert rule == "nodes-unread"
        assert message.startswith("who holds the GPUs of backend lab is not known: the cluster forbids reading pods")
        result = kubectl_tas("validate", "-C", two, "--live", "--backend", "lab", "-o", "json")
        (told,) = json.loads(result.out)["diagnostics"]
        assert told["hint"] == "Ask the administrator of the cluster, or pass --cluster-state FILE."

    def test_what_cannot_be_written(self, two: Path, tmp_path: Path, kubectl: FakeKubectl) -> None:
        for output in (tmp_path, tmp_path / "nowhere/state.json"):
            result = kubectl_tas("cluster", "state", "-C", two, "--backend", "lab", "--to", output)
            assert result.code == 3
            assert "Traceback" not in result.err


class TestCapacity:
    @pytest.fixture
    def team(self, repository: Path) -> Path:
        return write(repository, {"pools/a.yaml": pool("a", 64), "pools/b.yaml": pool("b", 16)})

    def found(self, root: Path, tmp_path: Path, *nodes: dict[str, Any]) -> list[tuple[str, str]]:
        return findings(root, "--cluster-state", state(tmp_path, *nodes))

    def test_enough(self, team: Path, tmp_path: Path) -> None:
        assert self.found(team, tmp_path, node("x", 40), node("y", 40)) == []

    def test_numbers(self, team: Path, tmp_path: Path) -> None:
        nodes = (node("x", 40), node("y", 8, cordoned=True), node("z", 40, ready=False))
        assert self.found(team, tmp_path, *nodes) == [
            (
                "guarantee-exceeds-nodes",
                "on backend default 80 GPUs are guaranteed (a 64, b 16), but its 1 node has 40 "
                "(8 more on nodes that are cordoned; 40 more on nodes that are not ready)",
            )
        ]

    def test_a_department_counts_once(self, repository: Path, tmp_path: Path) -> None:
        """What its child pools are guaranteed is a part of its guarantee, on the nodes that they ask for."""
        child = pool("a", 40, "  parent: dep\n  nodes: {selector: {gpu: b}}\n")
        write(repository, {"pools/dep.yaml": pool("dep", 48, "  nodes: {selector: {gpu: a}}\n"), "pools/a.yaml": child})
        assert self.found(repository, tmp_path, node("x", 8, gpu="a"), node("y", 40, gpu="b")) == []
        assert self.found(repository, tmp_path, node("x", 7, gpu="a"), node("y", 40, gpu="b")) == [
            (
                "guarantee-exceeds-nodes",
                "on backend default 8 GPUs are guaranteed (dep 8 besides its child pools), but its "
                "1 node with gpu=a has 7",
            )
        ]

    def test_slices_count(self, repository: Path, tmp_path: Path) -> None:
        """KAI counts each device of a MIG profile by its slices."""
        write(repository, {"pools/a.yaml": pool("a", 7)})
        sliced = node("x", 0)
        sliced["status"]["allocatable"]["nvidia.com/mig-3g.20gb"] = "2"
        (found,) = self.found(repository, tmp_path, sliced)
        assert found[1].endswith("but its 1 node has 6")

    def test_unlimited_pools_are_guaranteed_nothing(self, repository: Path, tmp_path: Path) -> None:
        write(repository, {"pools/a.yaml": pool("a", -1), "pools/b.yaml": pool("b", 8)})
        assert self.found(repository, tmp_path, node("x", 8)) == []

    def test_the_nodes_of_a_selector(self, repository: Path, tmp_path: Path) -> None:
        """What too few nodes of one kind lack is said once, and by itself."""
        selector = "  nodes: {selector: {gpu: h100}}\n"
        write(repository, {"pools/a.yaml": pool("a", 64, selector), "pools/b.yaml": pool("b", 16)})
        few = (node("x", 32, gpu="h100"), node("y", 16))
        assert [text for _, text in self.found(repository, tmp_path, *few)] == [
            "on backend default 64 GPUs are guaranteed (a 64), but its 1 node with gpu=h100 has 32"
        ]
        assert self.found(repository, tmp_path, node("x", 64, gpu="h100"), node("y", 16)) == []
        fewer = (node("x", 64, gpu="h100"), node("y", 8))
        assert [text for _, text in self.found(repository, tmp_path, *fewer)] == [
            "on backend default 80 GPUs are guaranteed (a 64, b 16), but its 2 nodes have 72"
        ]

    def test_a_selector_that_no_node_has(self, repository: Path, tmp_path: Path) -> None:
        write(repository, {"pools/a.yaml": pool("a", 64, "  nodes: {selector: {gpu: h100}}\n")})
        assert self.found(repository, tmp_path, node("x", 64, gpu="a100")) == [
            ("selector-without-nodes", "no node of backend default has gpu=h100, which pool a asks for")
        ]

    def test_shards(self, repository: Path, tmp_path: Path) -> None:
        write(repository, {"pools/a.yaml": pool("a", 8, "  nodePool: h100\n"), "pools/b.yaml": pool("b", 8)})
        sharded = {"kai.scheduler/node-pool": "h100"}
        both = self.found(repository, tmp_path, node("x", 8, **sharded), node("y", 8))
        assert [rule for rule, _ in both] == ["shard-undeclared"]
        found = self.found(repository, tmp_path, node("x", 8, **sharded))
        texts = [text for rule, text in found if rule != "shard-undeclared"]
        assert texts == ["every node of backend default is of a shard, but pool b names no nodePool"]

    @pytest.mark.parametrize(
        ("labels", "said"),
        [
            ([{"z": "1", "r": "1"}, {}], []),
            ([{"z": "1"}], ["the label r of level rack of pool a, so all nodes (1)"]),
            ([{"z": "1"}, {"r": "1"}], ["the labels of all levels of pool a, so all nodes (2)"]),
        ],
    )  # fmt: skip
    def test_levels(self, repository: Path, tmp_path: Path, labels: list[dict[str, str]], said: list[str]) -> None:
        keys = "  topology_keys: [{key: zone, label: z}, {key: rack, label: r}]\n"
        write(repository, {"pools/a.yaml": pool("a", 8, keys)})
        nodes = [node(f"n{index}", 8, **item) for index, item in enumerate(labels)]
        about = "no node of backend default has {} are outside of the topology"
        assert [text for _, text in self.found(repository, tmp_path, *nodes)] == [about.format(text) for text in said]
