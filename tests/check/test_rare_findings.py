"""Findings that are rare in repositories: a few files, and all that is said of them."""

from __future__ import annotations

from typing import Any

import pytest

from kubectl_tas.check.judging import judge
from kubectl_tas.load.source import MemorySource
from kubectl_tas.model.config import Setting
from tests.check.test_growth import torch
from tests.check.test_jobs import job, replaced
from tests.check.test_platform_mounts import POOL, WORKFLOW
from tests.check.test_visible_devices import workflow
from tests.slips.repository import FILES
from tests.support.cli import pool
from tests.support.fleets import judged_files
from tests.support.judged import told
from tests.test_published import SELDON, SHARED

Files = dict[str, str]
GROUP = "workflows/podgroup.yaml"


def config(spec: str) -> Files:
    return {"tas.yaml": f"apiVersion: tas/v1alpha1\nkind: Config\nspec: {{{spec}}}\n"}


def kinds(*names: str, more: str = "") -> Files:
    """A Config that declares kinds, each with a pod template."""
    all_ = (dict(zip(("apiVersion", "kind"), name.split(), strict=True)) for name in names)
    rows = (
        f"{{apiVersion: {kind['apiVersion']}, kind: {kind['kind']}, pods: [{{template: spec.template}}]{more}}}"
        for kind in all_
    )
    return config(f"kinds: [{', '.join(rows)}]")


def companions(*names: str) -> Files:
    """A Config that declares companions."""
    rows = ("{{apiVersion: {}, kind: {}}}".format(*name.split()) for name in names)
    return config(f"companions: [{', '.join(rows)}]")


def task(fields: str, pools: str = POOL) -> Files:
    """A task with these fields in the pool lab, whose pod template mounts /data."""
    return {"pools/lab.yaml": pools.replace("MOUNT", "/data"), "workflows/w.yaml": WORKFLOW.replace("TASK", fields)}


def cliques(number: int, replicas: int) -> Files:
    """A PodCliqueSet with cliques of one pod."""
    own = "spec: {replicas: 1, podSpec: {containers: [{name: m, image: i}]}}"
    text = "".join(f"    - {{name: c{place}, {own}}}\n" for place in range(number))
    top = "apiVersion: grove.io/v1alpha1\nkind: PodCliqueSet\nmetadata: {name: a, labels: {kubectl-tas/pool: team}}\n"
    spec = f"spec:\n  replicas: {replicas}\n  template:\n    cliques:\n{text}"
    return {"pools/team.yaml": pool(), "workflows/w.yaml": f"{top}{spec}"}


def waiting(version: str) -> Files:
    """A Job that says how long it waits, on a release of KAI."""
    notes = "annotations: {kai.scheduler/preemption-delay: 5m, kai.scheduler/staleness-grace-period: 5m}"
    text = job().replace("kubectl-tas/pool: team}", f"kubectl-tas/pool: team}}, {notes}")
    backend = f"backends: [{{name: default, scheduler: {{version: '{version}'}}}}]"
    return {**config(backend), "pools/team.yaml": pool(), "workflows/w.yaml": text}


def named(length: int) -> Files:
    """A Deployment with a name of a length."""
    text = replaced("Deployment").replace("name: a,", f"name: {'a' * length},")
    return {"pools/team.yaml": pool(), "workflows/w.yaml": text}


def ranked(name: str) -> Files:
    """A PodGroup with a PriorityClass."""
    text = FILES[GROUP].replace("spec:\n", f"spec:\n  priorityClassName: {name}\n", 1)
    return {
        "tas.yaml": FILES["tas.yaml"],
        **{path: text for path, text in FILES.items() if "workflows" not in path},
        GROUP: text,
    }


def labelled(replace: str) -> Files:
    """A Job with a value of the label that lets a GitOps tool make it anew."""
    text = job().replace("team}", f"team, kubectl-tas/replace: {replace}}}")
    return {"pools/team.yaml": pool(), "workflows/w.yaml": text}


def placed(version: str) -> Files:
    """A Workflow of Argo, of whose pods KAI makes no gang, within a level, on a release of KAI."""
    note = "kai.scheduler/topology-required-placement: zone"
    head = "apiVersion: argoproj.io/v1alpha1\nkind: Workflow\n"
    metadata = f"metadata: {{name: a, labels: {{kubectl-tas/pool: team}}, annotations: {{{note}}}}}\n"
    level = "  topology_keys: [{key: zone, label: topology.kubernetes.io/zone}]\n"
    return {
        **config(f"backends: [{{name: default, scheduler: {{version: '{version}'}}}}]"),
        "pools/team.yaml": pool(spec=level),
        "workflows/w.yaml": f"{head}{metadata}spec: {{templates: [{{name: a, container: {{image: a}}}}]}}\n",
    }


OPERATOR = "apiVersion: operator.config.grove.io/v1alpha1\nkind: OperatorConfiguration\n"


SILENT: dict[str, Files] = {
    "the longest name of a backend": config(f"backends: [{{name: {'b' * 253}}}]"),
    "the largest file": task(f"files: [{{path: /a, contents: {'x' * 2**20}}}]"),
    "as many cliques as are previewed": cliques(20, 1000),
    "waits that the release reads": waiting("0.17"),
    "work that may be made anew": labelled('"true"'),
    "a rule that stays what it is": config("rules: {wrong-type: error}"),
    "the longest name of a workload": named(242),
}
ROWS: dict[str, Files] = {
    "servers that no template describes": {**SHARED, "workflows/one.yaml": SELDON.partition("    componentSpecs:")[0]},
    "kinds that belong elsewhere": kinds("v1 ConfigMap", "batch/v1 Job", "rbac.authorization.k8s.io/v1 Role"),
    "a kind of two APIs, and twice": kinds("a.com/v1 A", "b.com/v1 A", "a.com/v1 A", "a.com/v2 A"),
    "a minimum that is not read": kinds("a.com/v1 A", more=", minimum: all"),
    "companions that belong elsewhere": companions(
        "batch/v1 Job",
        "a.com/v1 A",
        "rbac.authorization.k8s.io/v1 Role",
        "tas/v1alpha1 Pool",
        "argoproj.io/v1alpha1 Rollout",
        "v1 ReplicationController",
    ),
    "a longer name of a backend": config(f"backends: [{{name: {'b' * 254}}}]"),
    "a file where a pod template mounts": task("files: [{path: /data, contents: x}]"),
    "a file where a platform mounts": task("files: [{path: /mnt/nfs, contents: x}]"),
    "a larger file": task(f"files: [{{path: /a, contents: {'x' * (2**20 + 2**19)}}}]"),
    "half a GPU in a pod template": task(
        "command: [a]",
        POOL.replace("volumeMounts:", "resources: {limits: {nvidia.com/gpu: 0.5}}\n        volumeMounts:"),
    ),
    "devices by a credential": {
        "pools/p.yaml": pool(),
        "workflows/w.yaml": workflow("    credentials:\n      secret:\n        NVIDIA_VISIBLE_DEVICES: key\n"),
    },
    "more cliques than are previewed": cliques(21, 1000),
    "more gangs than are previewed": cliques(1, 1001),
    "waits that no release reads": waiting("0.12"),
    "a PriorityClass of the system": ranked("system-node-critical"),
    "a PriorityClass of nobody": ranked("mine"),
    "two configurations of Grove": {"topologies/a.yaml": OPERATOR, "topologies/b.yaml": OPERATOR},
    "work that says in other words that it may be made anew": labelled("yes"),
    "rules that stay what they are": config("rules: {wrong-type: warning, missing-field: off}"),
    "a placement that KAI never reads": placed("0.9"),
    "a placement where KAI reads none": placed("0.8"),
    "a longer name of a workload": named(254),
}


@pytest.mark.parametrize("name", ROWS)
def test_all_that_is_said(name: str, snapshot: Any) -> None:
    assert "\n".join(told(ROWS[name])) == snapshot


@pytest.mark.parametrize("name", SILENT)
def test_all_that_is_said_silent(name: str) -> None:
    assert told(SILENT[name]) == []


@pytest.mark.parametrize(
    ("kind", "version", "field"),
    [
        ("PodDisruptionBudget", "policy/v1", "selector"),
        ("NetworkPolicy", "networking.k8s.io/v1", "podSelector"),
        ("CiliumNetworkPolicy", "cilium.io/v2", "endpointSelector"),
    ],
)
def test_a_selector_of_all_pods_of_several_queues(kind: str, version: str, field: str) -> None:
    shared = {path: text for path, text in FILES.items() if not path.startswith("workflows")}
    known = "  companions: [{apiVersion: cilium.io/v2, kind: CiliumNetworkPolicy}]\n"
    config = FILES["tas.yaml"].replace("release-fault: off", "release-fault: off, companion-kind: off") + known
    bound = ", maxUnavailable: 1" if kind == "PodDisruptionBudget" else ""
    text = f"apiVersion: {version}\nkind: {kind}\nmetadata: {{name: n}}\nspec: {{{field}: {{}}{bound}}}\n"
    assert told(
        {
            **shared,
            "tas.yaml": config,
            "workflows/n.yaml": text,
        }
    ) == [
        f"workflows/n.yaml:4:8 selects-others: spec.{field} of this {kind} is empty: it selects all pods in namespace "
        "ml, where several queues run work: serving, team, team--speech (Write matchLabels with labels of your own "
        "pods.)"
    ]


@pytest.mark.parametrize(("priority", "place"), [("LOW", "pools/team.yaml:9:16"), ("HIGH", "pools/team.yaml:8:18")])
def test_the_cause_of_work_that_is_too_large(priority: str, place: str) -> None:
    text = torch(Master=1, Worker=8).replace("team}", f"team, kubectl-tas/priority: {priority}}}")
    team = pool(guarantee=2, spec="      maximum: 4\n")
    (found,) = judged_files({"pools/team.yaml": team, "workflows/w.yaml": text}).found
    assert (found.rule.code, str(found.cause)) == ("over-quota", place)


def test_a_setting_that_no_template_uses() -> None:
    source = MemorySource(
        {"pools/team.yaml": pool().encode(), "workflows/w.yaml": task("command: [a]")["workflows/w.yaml"].encode()}
    )
    judged = judge(source, settings=[Setting("gpus", 1, "1")])
    assert judged.refused == ('no template uses the value "gpus". Available: none.',)
    assert judged.found == ()


def test_queues_without_a_guard_are_one_finding() -> None:
    pools = {f"pools/{name}.yaml": pool(name, spec="  access: {submit: [dev]}\n") for name in "abcd"}
    found = [item for item in judged_files(pools).found if item.rule.code == "access-unguarded"]
    assert [(str(item.location), [str(note.location) for note in item.related]) for item in found] == [
        ("pools/a.yaml:9:20", ["pools/b.yaml:9:20", "pools/c.yaml:9:20"])
    ]


def test_two_levels_of_one_domain_are_in_any_order() -> None:
    levels = ["{key: zone, label: example.com/a}", "{key: b, label: topology.kubernetes.io/zone}"]
    for order in (levels, levels[::-1]):
        assert told({"pools/team.yaml": pool(spec=f"  topology_keys: [{', '.join(order)}]\n")}) == []


def test_a_queue_with_the_name_of_the_root() -> None:
    backend = config("backends: [{name: default, rootQueue: {name: top}}]")
    (found,) = judged_files({**backend, "pools/team.yaml": pool(spec="  queue: {name: top}\n")}).found
    assert (found.message, str(found.location)) == ('two sources lead to the Queue "top"', "pools/team.yaml:9:17")
    assert [str(note.location) for note in found.related] == ["tas.yaml:3:46"]
