"""Names that kubectl-tas knows: of Services that controllers make, of labels, of folders, and of fields of exports."""

from __future__ import annotations

import pytest

from kubectl_tas.base.words import MAX_LISTED, shortened
from tests.check.test_jobs import job
from tests.check.test_platform_mounts import WORKFLOW
from tests.slips.repository import FILES
from tests.support.cli import pool
from tests.support.judged import told, told_of

MADE = (
    *("jobset", "leaderworkerset", "mpijob", "notebook", "trainjob", "podcliqueset-0", "kubernetes"),
    *("jaxjob-worker-0", "pytorchjob-master-0", "pytorchjob-worker-1", "xgboostjob-master-0", "xgboostjob-worker-0"),
    *("tfjob-chief-0", "tfjob-ps-0", "tfjob-evaluator-0", "tfjob-worker-0"),
    *("raycluster-head-svc", "raycluster-serve-svc", "rayservice-head-svc", "rayservice-serve-svc"),
)
"""Services that Kubernetes and operators make, some for each pod."""

NOTEBOOK = """\
apiVersion: kubeflow.org/v1
kind: Notebook
metadata: {name: notebook, labels: {kubectl-tas/pool: team--speech}}
spec: {template: {spec: {containers: [{name: notebook, image: a}]}}}
"""


def behind(*services: str) -> str:
    """An Ingress in front of Services, each in a line of its own from line 8 on."""
    backend = "backend: {{service: {{name: {}, port: {{number: 80}}}}}}"
    paths = "".join(f"      - {{pathType: Exact, path: /, {backend.format(name)}}}\n" for name in services)
    top = "apiVersion: networking.k8s.io/v1\nkind: Ingress\nmetadata: {name: all}\n"
    return f"{top}spec:\n  rules:\n  - http:\n      paths:\n{paths}"


def said_of(ingress: str) -> list[str]:
    """What is said of an Ingress beside work of all kinds."""
    work = {path: text for path, text in FILES.items() if path.endswith(".yaml")}
    found = told({**work, "workflows/notebook.yaml": NOTEBOOK, "workflows/ingress.yaml": ingress})
    return [line.removeprefix("workflows/ingress.yaml:") for line in found if "ingress" in line.partition(":")[0]]


def test_services_that_controllers_make() -> None:
    assert said_of(behind(*MADE)) == []


def test_services_that_nobody_makes() -> None:
    known = "raycluster-head-svc"
    assert said_of(behind(f"{known}x", "deployment", "job", "default")) == [
        f'8:62 reference-unknown: the Service "{known}x" does not exist in namespace ml (Did you mean "{known}"?)',
        "11:62 reference-elsewhere: no file declares the Services default, deployment, job, x in namespace ml "
        "(Somebody else must create it there. Declare it, or list it in spec.given of the Config.)",
    ]


OF_NODES = (
    *("beta.kubernetes.io/arch", "beta.kubernetes.io/instance-type", "beta.kubernetes.io/os"),
    *("failure-domain.beta.kubernetes.io/region", "failure-domain.beta.kubernetes.io/zone"),
    *("kubernetes.io/arch", "kubernetes.io/hostname", "kubernetes.io/os", "node-role.kubernetes.io/control-plane"),
    *("node.kubernetes.io/instance-type", "node.kubernetes.io/windows-build"),
    *("topology.kubernetes.io/region", "topology.kubernetes.io/zone"),
)
"""Labels of nodes in Kubernetes' list of well-known labels, older ones too."""


def chosen(*labels: str) -> str:
    """A Job whose pods choose nodes by labels."""
    selector = ", ".join(f"{label}: a" for label in labels)
    return job(pods=f"restartPolicy: Never, nodeSelector: {{{selector}}}, containers: [{{name: m, image: i}}]")


def test_labels_of_nodes() -> None:
    assert told_of(chosen(*OF_NODES)) == []
    found = told_of(chosen(*(f"{label}s" for label in OF_NODES)))
    assert [line.partition(" ")[2] for line in found] == [
        f'node-label: no node has the label "{label}s" (Did you mean "{label}"?)' for label in OF_NODES
    ]


@pytest.mark.parametrize(
    "folder",
    [
        *("/", "/bin", "/boot", "/etc", "/home", "/lib", "/lib64", "/opt", "/root", "/run", "/sbin", "/srv", "/tmp"),
        *("/usr", "/usr/bin", "/usr/lib", "/usr/local", "/usr/local/bin", "/usr/sbin"),
        *("/var", "/var/run", "/var/tmp"),
    ],
)
def test_folders_of_an_image_that_a_secret_would_hide(folder: str) -> None:
    text = WORKFLOW.replace("TASK", f"credentials: {{a: {folder}, b: {folder.rstrip('/')}/secret}}")
    assert told({"pools/p.yaml": pool("lab"), "workflows/w.yaml": text}) == [
        f'workflows/w.yaml:5:42 mount-path: the Secret "{folder}" would hide all that the image has there (Give it a '
        f"folder of its own, such as {folder.rstrip('/')}/secret.)"
    ]


@pytest.mark.parametrize(
    ("folder", "why"),
    [
        *(
            (folder, "lies where the node fills in its own")
            for folder in ("/proc", "/sys", "/dev", "/var/run/secrets/kubernetes.io", "/run/secrets/kubernetes.io")
        ),
        ("/osmo", "lies in /osmo, which OSMO keeps for itself"),
    ],
)
def test_folders_that_are_not_free(folder: str, why: str) -> None:
    text = WORKFLOW.replace("TASK", f"files: [{{path: {folder}, contents: a}}, {{path: {folder}/b, contents: a}}]")
    found = told({"pools/p.yaml": pool("lab"), "workflows/w.yaml": text})
    assert [line.partition(" ")[2] for line in found] == [
        f'mount-path: the file "{path}" {why} (Choose another folder.)' for path in (folder, f"{folder}/b")
    ]


WRITTEN = {
    "creationTimestamp": '"2026-01-01T00:00:00Z"',
    "deletionGracePeriodSeconds": "1",
    "deletionTimestamp": '"2026-01-01T00:00:00Z"',
    "generation": "1",
    "selfLink": "/a",
}
"""Fields of metadata that an API server writes."""
REFUSED = {
    "managedFields": "[{manager: a}]",
    "ownerReferences": "[{apiVersion: v1, kind: Pod, name: a, uid: b}]",
    "resourceVersion": '"1"',
    "uid": "a",
}
"""Fields with which an API server refuses an object that it does not have as it was."""
OF_UID = ("controller-uid", "batch.kubernetes.io/controller-uid")
NOTES = ("kubectl.kubernetes.io/last-applied-configuration", "deployment.kubernetes.io/revision")


def test_an_export_with_what_the_server_writes() -> None:
    metadata = "".join(f"  {name}: {text}\n" for name, text in WRITTEN.items())
    notes = f"  annotations: {{{', '.join(f'{name}: a' for name in NOTES)}}}\n"
    labels = f"  labels: {{{', '.join(f'{name}: a' for name in OF_UID)}, kubectl-tas/pool: team}}\n"
    text = job().replace(
        "metadata: {name: a, labels: {kubectl-tas/pool: team}}\n",
        f"metadata:\n  name: a\n{labels}{notes}{metadata}status: {{ready: 0}}\n",
    )
    paths = ", ".join(
        (
            *(f"metadata.{name}" for name in WRITTEN),
            *(f"metadata.annotations.{name}" for name in NOTES),
            *(f"metadata.labels.{name}" for name in OF_UID),
            "status",
        )
    )
    assert told_of(text) == [
        f"w.yaml:7:3 server-fields: this Job is an export of an object in a cluster: it has {paths}, which the API "
        f"server writes itself (Delete {paths}.)"
    ]


def test_an_export_that_cannot_be_applied() -> None:
    metadata = "".join(f"  {name}: {text}\n" for name, text in REFUSED.items())
    of_pods = {**dict.fromkeys(OF_UID, "a"), "job-name": "b", "batch.kubernetes.io/job-name": "b"}
    labels = ", ".join(f"{name}: {text}" for name, text in of_pods.items())
    text = job(f"selector: {{matchLabels: {{{OF_UID[1]}: a}}}}").replace("{app: x}", f"{{{labels}}}")
    text = text.replace(
        "metadata: {name: a, labels: {kubectl-tas/pool: team}}\n",
        f"metadata:\n  name: a\n  labels: {{kubectl-tas/pool: team}}\n{metadata}",
    )
    paths = ", ".join(
        (
            *(f"metadata.{name}" for name in REFUSED),
            "spec.selector",
            *(f"spec.template.metadata.labels.{name}" for name in of_pods),
        )
    )
    assert told_of(text) == [
        f"w.yaml:6:3 object-exported: this Job is an export of an object in a cluster: it has {paths}, which cannot be "
        f"applied (Delete {paths}.)"
    ]


@pytest.mark.parametrize(
    ("file", "cluster", "place", "kind"),
    [
        ("workflows/rayjob.yaml", "rayClusterSpec", "11:5", "RayJob"),
        ("workflows/rayservice.yaml", "rayClusterConfig", "10:5", "RayService"),
    ],
)
def test_a_cluster_of_ray_that_is_suspended(file: str, cluster: str, place: str, kind: str) -> None:
    text = FILES[file].replace(f"  {cluster}:\n", f"  {cluster}:\n    suspend: true\n")
    work = {path: text for path, text in FILES.items() if not path.startswith("workflows")}
    assert told({**work, file: text}) == [
        f"{file}:{place} suspended: {kind} {kind.lower()} is suspended: no new pod of it starts until you change this "
        "file (Remove suspend, or remove the file.)"
    ]


OF_CONTROLLERS = (
    *("apps.kubernetes.io/pod-index", "batch.kubernetes.io/job-completion-index", "controller-revision-hash"),
    *("controller-uid", "job-role", "pod-template-hash", "statefulset.kubernetes.io/pod-name"),
    *("grove.io/podclique", "jobset.sigs.k8s.io/job-index", "leaderworkerset.sigs.k8s.io/group-index"),
    *("ray.io/node-type", "replica-index", "replica-type", "training.kubeflow.org/replica-type"),
    *("notebook-name", "statefulset", "trainer.kubeflow.org/trainjob-ancestor-step", "job-name"),
    *("app.kubernetes.io/created-by", "app.kubernetes.io/part-of", "kai.scheduler/queue", "kubectl-tas/pool"),
)
"""Labels that Kubernetes, operators, notebooks or kubectl-tas itself give to pods."""
OF_WORK = (
    *(("batch.kubernetes.io/job-name", "job", "Job"), ("job-name", "job", "Job")),
    *(("jobset.sigs.k8s.io/jobset-name", name, "JobSet or TrainJob") for name in ("jobset", "trainjob")),
    ("leaderworkerset.sigs.k8s.io/name", "leaderworkerset", "LeaderWorkerSet"),
    ("notebook-name", "notebook", "Notebook"),
    ("ray.io/cluster", "raycluster", "RayCluster"),
    *(
        ("training.kubeflow.org/job-name", name, "JAXJob or MPIJob or PaddleJob or PyTorchJob or TFJob or XGBoostJob")
        for name in ("jaxjob", "mpijob", "pytorchjob", "tfjob", "xgboostjob")
    ),
)
"""Labels whose value is the name of work, a name of such work in the repository of all kinds, and the kinds."""


def policies(*labels: tuple[str, str]) -> str:
    """NetworkPolicies that select pods by a label each, in one file."""
    return "---\n".join(
        f"apiVersion: networking.k8s.io/v1\nkind: NetworkPolicy\nmetadata: {{name: n{place}}}\n"
        f"spec: {{podSelector: {{matchLabels: {{{key}: {value}}}}}, policyTypes: [Ingress]}}\n"
        for place, (key, value) in enumerate(labels)
    )


def test_labels_that_controllers_give_to_pods() -> None:
    work = {"pools/team.yaml": pool(), "workflows/job.yaml": job()}
    own = ("job-names", "x"), ("example.com/app", "x"), ("app.kubernetes.io/name", "x")
    found = told({**work, "workflows/n.yaml": policies(*((key, "x") for key in OF_CONTROLLERS), *own)})
    assert [line.partition(" ")[2] for line in found] == [
        f'selects-too-few: this NetworkPolicy selects no pods: none in namespace default has the label {key}: "x" '
        "(Select labels that pod templates in namespace default have.)"
        for key, _ in own
    ]


def test_labels_that_name_work() -> None:
    work = {path: text for path, text in FILES.items() if path.endswith(".yaml")} | {
        "workflows/notebook.yaml": NOTEBOOK
    }
    for suffix in ("", "s"):
        found = told({**work, "workflows/n.yaml": policies(*((key, f"{name}{suffix}") for key, name, _ in OF_WORK))})
        assert [line.partition(" ")[2] for line in found if line.startswith("workflows/n.yaml")] == [
            f'selects-too-few: this NetworkPolicy selects no pods: namespace ml has no {kinds} "{name}s" (Did you mean '
            f'"{name}"?)'
            for _, name, kinds in OF_WORK
            if suffix
        ]


@pytest.mark.parametrize(
    ("namespace", "owner"),
    [
        *((name, "Kubernetes") for name in ("kube-system", "kube-public", "kube-node-lease")),
        *((name, "KAI") for name in ("kai-scheduler", "kai-resource-reservation", "kai-scale-adjust")),
        ("kube-systems", ""),
    ],
)
def test_namespaces_of_the_system(namespace: str, owner: str) -> None:
    config = "apiVersion: tas/v1alpha1\nkind: Config\n"
    spec = f"spec: {{backends: [{{name: default, namespace: {namespace}}}]}}\n"
    said = (
        f'tas.yaml:3:46 namespace-of-system: the namespace "{namespace}" belongs to {owner}: work must not run there '
        "(Use a namespace for work, such as ml.)"
    )
    assert told({"tas.yaml": config + spec, "pools/team.yaml": pool()}) == ([said] if owner else [])


def test_groups_of_everybody() -> None:
    groups = {
        "system:authenticated": "every user and every service account is in it",
        "system:serviceaccounts": "every service account of the cluster is in it",
        "system:unauthenticated": "whoever reaches the API server is in it",
    }
    pools = {
        f"pools/{place}.yaml": pool(f"p{place}", spec=f"  access: {{submit: ['{group}']}}\n")
        for place, group in enumerate((*groups, "system:masters", "dev"))
    }
    config = "apiVersion: tas/v1alpha1\nkind: Config\nspec: {guard: warn}\n"
    assert told({"tas.yaml": config, **pools}) == [
        f'pools/{place}.yaml:9:21 access-everybody: "{group}" is no group of a team: {why} (Name the groups that the '
        "pool is for.)"
        for place, (group, why) in enumerate(groups.items())
    ]


def test_annotations_that_give_devices() -> None:
    keys = (
        *("cdi.k8s.io", "cdi.k8s.io/gpus", "nvidia.cdi.k8s.io/container.m"),
        *("cdi-devices.noderesource.dev/pod", "cdi-devices.nri.io/pod", "devices.noderesource.dev/pod"),
        "devices.nri.io/pod",
    )
    notes = ", ".join(f"{key}: nvidia.com/gpu=all" for key in (*keys, "example.com/devices"))
    metadata = f"metadata: {{name: a, labels: {{kubectl-tas/pool: team}}, annotations: {{{notes}}}}}\n"
    found = told_of(f"apiVersion: v1\nkind: Pod\n{metadata}spec: {{containers: [{{name: m, image: i}}]}}\n")
    assert [line.partition(" ")[2] for line in found] == [
        f"gpu-bypass: {key} gives the pod devices of its node that no queue is charged for (Remove it; a container "
        "that needs GPUs asks for them in its resources.)"
        for key in keys
    ]


def test_as_many_names_as_are_listed_are_listed_whole() -> None:
    names = [f"n{number}" for number in range(MAX_LISTED)]
    assert shortened(names) == ", ".join(names)
    assert shortened([*names, "last"]) == f"{', '.join(names)} and 1 more"
