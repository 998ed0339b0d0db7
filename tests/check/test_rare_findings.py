"""Findings that are rare in repositories: a few files, and all that is said of them."""

from __future__ import annotations

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


ROWS: dict[str, tuple[Files, list[str]]] = {
    "servers that no template describes": (
        {**SHARED, "workflows/one.yaml": SELDON.partition("    componentSpecs:")[0]},
        [
            (
                "workflows/one.yaml:2:7 workload-scheduler: this SeldonDeployment has no pod template, so the "
                "default scheduler of the cluster runs its pods (Add componentSpecs to each predictor, with a "
                "container for each server of its graph.)"
            ),
        ],
    ),
    "kinds that belong elsewhere": (
        kinds("v1 ConfigMap", "batch/v1 Job", "rbac.authorization.k8s.io/v1 Role"),
        [
            (
                "tas.yaml:3:16 kind-elsewhere: ConfigMap of v1 cannot be declared in spec.kinds: it makes no "
                "pods, and already belongs to workloads (Remove it, or move it to spec.companions.)"
            ),
            (
                "tas.yaml:3:86 kind-elsewhere: Job of batch/v1 cannot be declared in spec.kinds: it is read and "
                "checked as what it is (Remove it; such documents are read without it.)"
            ),
            (
                "tas.yaml:3:156 kind-elsewhere: Role of rbac.authorization.k8s.io/v1 cannot be declared in "
                "spec.kinds: it could change quotas or rights (Move it to the files that set up the cluster: "
                "authors of work must not change it.)"
            ),
        ],
    ),
    "a kind of two APIs, and twice": (
        kinds("a.com/v1 A", "b.com/v1 A", "a.com/v1 A", "a.com/v2 A"),
        [
            (
                "tas.yaml:3:113 invalid-value: spec.kinds[1].kind is declared of another API too, a.com/v1 "
                "(Declare one of the two: kubectl-tas tells declared kinds by their names.)"
            ),
            "tas.yaml:3:181 invalid-value: spec.kinds[2].kind appears twice (Remove one of the two.)",
            (
                "tas.yaml:3:181 invalid-value: spec.kinds[2].kind is declared of another API too, b.com/v1 "
                "(Declare one of the two: kubectl-tas tells declared kinds by their names.)"
            ),
            (
                "tas.yaml:3:249 invalid-value: spec.kinds[3].kind is declared of another API too, b.com/v1 "
                "(Declare one of the two: kubectl-tas tells declared kinds by their names.)"
            ),
        ],
    ),
    "a minimum that is not read": (
        kinds("a.com/v1 A", more=", minimum: all"),
        [
            (
                'tas.yaml:3:92 invalid-value: spec.kinds[0].minimum is read with podGroups: one alone, not "all" '
                "(Add podGroups: one, or remove it.)"
            ),
        ],
    ),
    "companions that belong elsewhere": (
        companions(
            "batch/v1 Job",
            "a.com/v1 A",
            "rbac.authorization.k8s.io/v1 Role",
            "tas/v1alpha1 Pool",
            "argoproj.io/v1alpha1 Rollout",
            "v1 ReplicationController",
        ),
        [
            (
                "tas.yaml:3:21 kind-elsewhere: Job of batch/v1 cannot be a companion of workloads: it is read "
                "and checked as what it is (Remove it; such documents are read without it.)"
            ),
            (
                "tas.yaml:3:56 companion-kind: kubectl-tas does not know what controllers make of A of a.com/v1 "
                "(Remove it. If controllers make no pods and no other objects of it, set companion-kind: off in "
                "spec.rules.)"
            ),
            (
                "tas.yaml:3:89 kind-elsewhere: Role of rbac.authorization.k8s.io/v1 cannot be a companion of "
                "workloads: it could change quotas or rights (Move it to the files that set up the cluster: "
                "authors of work must not change it.)"
            ),
            (
                "tas.yaml:3:145 kind-elsewhere: Pool of tas/v1alpha1 cannot be a companion of workloads: it is "
                "read and checked as what it is (Remove it; such documents are read without it.)"
            ),
            (
                "tas.yaml:3:185 kind-elsewhere: Rollout of argoproj.io/v1alpha1 cannot be a companion of "
                "workloads: it makes pods, which no quota would count (Say in spec.kinds where its pods are, or "
                "write a workload of a kind that is read.)"
            ),
            (
                "tas.yaml:3:236 kind-elsewhere: ReplicationController of v1 cannot be a companion of workloads: "
                "it is read and checked as what it is (Remove it; such documents are read without it.)"
            ),
        ],
    ),
    "the longest name of a backend": (
        config(f"backends: [{{name: {'b' * 253}}}]"),
        [],
    ),
    "a longer name of a backend": (
        config(f"backends: [{{name: {'b' * 254}}}]"),
        [
            (
                "tas.yaml:3:26 name-invalid: the backend name has 254 characters, more than the 253 of a "
                "Kubernetes name (Shorten it.)"
            ),
        ],
    ),
    "a file where a pod template mounts": (
        task("files: [{path: /data, contents: x}]"),
        [
            (
                'workflows/w.yaml:5:40 mount-path: the file "/data" stands where its platform or a pod template '
                "mounts something (Change one of the paths.)"
            ),
        ],
    ),
    "a file where a platform mounts": (
        task("files: [{path: /mnt/nfs, contents: x}]"),
        [
            (
                'workflows/w.yaml:5:40 mount-path: the file "/mnt/nfs" stands where its platform or a pod '
                "template mounts something (Change one of the paths.)"
            ),
        ],
    ),
    "the largest file": (
        task(f"files: [{{path: /a, contents: {'x' * 2**20}}}]"),
        [],
    ),
    "a larger file": (
        task(f"files: [{{path: /a, contents: {'x' * (2**20 + 2**19)}}}]"),
        [
            (
                'workflows/w.yaml:5:54 file-size: the file "/a" of the task "t" has 1.50 MiB (At most 1 MiB '
                "fits; put it into the image, or let the task fetch it.)"
            ),
        ],
    ),
    "half a GPU in a pod template": (
        task(
            "command: [a]",
            POOL.replace("volumeMounts:", "resources: {limits: {nvidia.com/gpu: 0.5}}\n        volumeMounts:"),
        ),
        [
            (
                'pools/lab.yaml:11:30 invalid-value: "0.5" cannot be what a pod asks for (Write a whole number '
                "of GPUs, or a quantity.)"
            ),
            (
                "pools/lab.yaml:11:46 resource-amount: spec.containers[0].resources.limits.nvidia.com/gpu is "
                "0.5; the API server takes whole numbers of it (Write a whole number.)"
            ),
        ],
    ),
    "devices by a credential": (
        {
            "pools/p.yaml": pool(),
            "workflows/w.yaml": workflow("    credentials:\n      secret:\n        NVIDIA_VISIBLE_DEVICES: key\n"),
        },
        [
            (
                "workflows/w.yaml:9:9 gpu-bypass: NVIDIA_VISIBLE_DEVICES comes from elsewhere: the container may "
                "see GPUs that no queue is charged for (Remove it; a container that needs GPUs asks for them in "
                "its resources. To hide all GPUs, write void.)"
            ),
        ],
    ),
    "as many cliques as are previewed": (
        cliques(20, 1000),
        [],
    ),
    "more cliques than are previewed": (
        cliques(21, 1000),
        [
            (
                "workflows/w.yaml:5:13 set-preview: no preview is written: cliques of all gangs: 21000; at most "
                "20000 are previewed ()"
            ),
        ],
    ),
    "more gangs than are previewed": (
        cliques(1, 1001),
        [
            (
                "workflows/w.yaml:5:13 set-preview: no preview is written: gangs of this set: 1001, cliques of "
                "its base gang: 1; at most 1000 of either are previewed ()"
            ),
        ],
    ),
    "waits that no release reads": (
        waiting("0.12"),
        [
            (
                "workflows/w.yaml:3:69 version-unsupported: kai.scheduler/preemption-delay needs KAI 0.17 or "
                "later; backend default runs 0.12 (Update KAI there to 0.17 or later, or leave it out.)"
            ),
            (
                "workflows/w.yaml:3:105 version-unsupported: kai.scheduler/staleness-grace-period needs KAI 0.17 "
                "or later; backend default runs 0.12 (Update KAI there to 0.17 or later, or leave it out.)"
            ),
        ],
    ),
    "waits that the release reads": (
        waiting("0.17"),
        [],
    ),
    "a PriorityClass of the system": (
        ranked("system-node-critical"),
        [
            (
                'workflows/podgroup.yaml:7:22 podgroup-priority: the PriorityClass "system-node-critical" ranks '
                "above everything that this repository renders (Use one of osmo-high, osmo-normal, osmo-low, "
                "train, build-preemptible, build, inference.)"
            ),
        ],
    ),
    "a PriorityClass of nobody": (
        ranked("mine"),
        [
            (
                'workflows/podgroup.yaml:7:22 podgroup-priority: the PriorityClass "mine" is not declared here; '
                "if it does not exist, the gang has priority 50 (If it exists elsewhere, do nothing.)"
            ),
        ],
    ),
    "two configurations of Grove": (
        {"topologies/a.yaml": OPERATOR, "topologies/b.yaml": OPERATOR},
        [
            (
                'topologies/b.yaml:2:7 name-duplicate: the document "OperatorConfiguration" is already defined '
                "at topologies/a.yaml:2:7 (Rename or remove one of the two.)"
            ),
        ],
    ),
    "work that may be made anew": (
        labelled('"true"'),
        [],
    ),
    "work that says in other words that it may be made anew": (
        labelled("yes"),
        [
            (
                'workflows/w.yaml:3:75 workload-label: kubectl-tas/replace must be "true", not "yes" (Write '
                '"true", in quotes, or remove it.)'
            ),
        ],
    ),
    "a rule that stays what it is": (
        config("rules: {wrong-type: error}"),
        [],
    ),
    "rules that stay what they are": (
        config("rules: {wrong-type: warning, missing-field: off}"),
        [
            (
                "tas.yaml:3:16 rule-setting: wrong-type stays an error: its findings would make wrong or invalid "
                "manifests (Remove the line, and correct what the rule finds.)"
            ),
            (
                "tas.yaml:3:37 rule-setting: missing-field stays an error: its findings would make wrong or "
                "invalid manifests (Remove the line, and correct what the rule finds.)"
            ),
        ],
    ),
    "a placement that KAI never reads": (
        placed("0.9"),
        [
            (
                "workflows/w.yaml:3:69 placement-unsupported: each pod of this Workflow.argoproj.io is a "
                'PodGroup of its own, so nothing keeps its pods within one "zone" (Leave it out.)'
            ),
        ],
    ),
    "a placement where KAI reads none": (
        placed("0.8"),
        [
            (
                "pools/team.yaml:9:3 version-unsupported: a topology needs KAI 0.9 or later; backend default "
                "runs 0.8 (Update KAI there to 0.9 or later, or leave it out.)"
            ),
        ],
    ),
    "the longest name of a workload": (named(242), []),
    "a longer name of a workload": (
        named(254),
        [
            "workflows/w.yaml:3:18 name-invalid: the Deployment name has 254 characters, more than the 253 of a "
            "Kubernetes name (Shorten it.)"
        ],
    ),
}


@pytest.mark.parametrize(("files", "expected"), ROWS.values(), ids=ROWS)
def test_all_that_is_said(files: Files, expected: list[str]) -> None:
    assert told(files) == expected


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
