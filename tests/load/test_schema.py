"""Tests documents that break the schema of their kind: the place of the error, the message and the remedy."""

from __future__ import annotations

import pytest

from kubectl_tas.base.diagnostics import Diagnostic
from kubectl_tas.load.document import parse
from kubectl_tas.load.kinds import Kind, recognise
from kubectl_tas.load.schema import read_model
from kubectl_tas.model.kindlists import why_elsewhere
from kubectl_tas.model.pool_kinds import Pool
from tests.support.judged import told_of

POOL = "apiVersion: tas/v1alpha1\nkind: Pool\nmetadata: {name: team}\n"
SUBPOOL = "apiVersion: tas/v1alpha1\nkind: Subpool\nmetadata: {name: a}\n"
CONFIG = "apiVersion: tas/v1alpha1\nkind: Config\n"
GANG = "apiVersion: scheduling.run.ai/v2alpha2\nkind: PodGroup\nmetadata: {name: gang}\n"
JOB = "apiVersion: batch/v1\nkind: Job\nmetadata: {{name: a, labels: {{kubectl-tas/{label}}}}}\nspec: {{}}\n"
TASK = "workflow:\n  name: w\n  pool: team\n  tasks:\n  - {name: t, image: i}\n"


def findings(text: str) -> list[Diagnostic]:
    """All that is wrong with the one document of ``text``."""
    documents, problems = parse("f.yaml", text)
    assert not problems
    kind = recognise(documents[0])
    if isinstance(kind, Diagnostic):
        return [kind]
    model, found = read_model(kind, documents[0])
    assert (model is None) == bool(found)
    return found


def only(text: str) -> tuple[str, str, str, str]:
    """Place, rule, message and hint of the one finding."""
    found = findings(text)
    assert len(found) == 1, [diagnostic.message for diagnostic in found]
    place = found[0].location
    assert place is not None
    return f"{place.line}:{place.column}", found[0].rule.code, found[0].message, found[0].hint


@pytest.mark.parametrize(
    ("text", "place", "message", "hint"),
    [
        (POOL + "specs: {}\n", "4:1", 'unknown field "specs"', 'Did you mean "spec"?'),
        (POOL + "spec: {Backend: b}\n", "4:8", 'unknown field "Backend" in spec', 'Did you mean "backend"?'),
        (
            SUBPOOL + "spec: {parent: team, quota: 1, cpu: 1}\n",
            "4:32",
            'unknown field "cpu" in spec',
            "Fields here: parent, quota, maximum, weight, priority, namespaces, access, queue, state, draining, "
            "overQuota.",
        ),
        (
            POOL + "spec:\n  topology_keys:\n  - {key: a, label: b}\n  - {key: c, label: d, alias: e}\n",
            "7:24",
            'unknown field "alias" in spec.topology_keys[1]',
            "Fields here: key, label.",
        ),
        (
            TASK + "resources:\n  default: {gpus: 1}\n",
            "7:13",
            'unknown field "gpus" in resources.default',
            'Did you mean "gpu"?',
        ),
        (
            POOL + "spec:\n  topology_keys:\n  - {key: a, label: b, clusterTopologyName: c}\n",
            "6:24",
            'unknown field "clusterTopologyName" in spec.topology_keys[0]',
            "Fields here: key, label.",
        ),
        (
            GANG + "spec: {queue: q, minMember: 1, subgroups: [], subGroups: []}\n",
            "4:32",
            'unknown field "subgroups" in spec',
            'Did you mean "subGroups"?',
        ),
        (POOL + "spec: {zzzz: 1}\n", "4:8", 'unknown field "zzzz" in spec', ""),
    ],
)
def test_unknown_field(text: str, place: str, message: str, hint: str) -> None:
    assert only(text) == (place, "unknown-field", message, hint)


@pytest.mark.parametrize(
    ("text", "place", "message", "hint"),
    [
        (POOL.replace("{name: team}", "{}"), "3:1", 'the field "name" is missing in metadata', "Add name: "),
        (POOL.replace("metadata: {name: team}\n", ""), "1:1", 'the field "metadata" is missing', "Add metadata: "),
        (SUBPOOL + "spec:\n  quota: 1\n", "4:1", 'the field "parent" is missing in spec', "Add parent: The pool that"),
        (
            TASK.replace(", image: i", ""),
            "5:5",
            'the field "image" is missing in workflow.tasks[0]',
            "Add image: Container image.",
        ),
    ],
)
def test_missing_field(text: str, place: str, message: str, hint: str) -> None:
    """The hint says what the field means."""
    found = only(text)
    assert found[:3] == (place, "missing-field", message)
    assert found[3].startswith(hint)


def gpu(value: str) -> str:
    return POOL + f"spec:\n  resources:\n    gpu:\n      guarantee: {value}\n"


def version(value: str) -> str:
    return CONFIG + f"spec:\n  backends:\n  - name: b\n    scheduler:\n      version: {value}\n"


GUARANTEE = "spec.resources.gpu.guarantee"
ALONE = "Write the number alone, without quotes or a unit: 8."
EMPTY = "Write one, or remove the key."
WHOLE_OR_SHARE = "Write a whole number, or a share of at most 100% without a blank."
LABEL = "the value of a label: letters, digits, '-', '_' and '.', a letter or digit at both ends"
QUOTA = 'spec.quota must be whole GPUs such as 30, or a share of the parent such as "33%"'


@pytest.mark.parametrize(
    ("text", "place", "message", "hint"),
    [
        (gpu('"8"'), "7:18", f'{GUARANTEE} must be a whole number, not "8"', ALONE),
        (gpu("8 GPUs"), "7:18", f'{GUARANTEE} must be a whole number, not "8 GPUs"', ALONE),
        (gpu("9" * 20), "7:18", f'{GUARANTEE} is too large a number: "{"9" * 20}"', "Use at most 18 digits."),
        (gpu("0.5"), "7:18", f"{GUARANTEE} must be a whole number, not 0.5", "Write it without a fraction."),
        (gpu("8.0"), "7:18", f"{GUARANTEE} must be a whole number, not 8.0", "Write 8."),
        (gpu("true"), "7:18", f"{GUARANTEE} must be a whole number, not true", ""),
        (gpu("[8]"), "7:18", f"{GUARANTEE} must be a whole number, not a list", "Write one value, not a list."),
        (gpu(""), "7:7", f"{GUARANTEE} has no value; it must be a whole number", EMPTY),
        (POOL + "spec:\n", "4:1", "spec has no value; it must be a mapping", EMPTY),
        (
            POOL + "spec:\n  resources: 8\n",
            "5:14",
            "spec.resources must be a mapping, not 8",
            "Write a mapping with gpu, cpu, memory.",
        ),
        (
            POOL + "spec: {topology_keys: zone}\n",
            "4:23",
            'spec.topology_keys must be a list, not "zone"',
            "Write a list: a '-' before each item.",
        ),
        (
            POOL + "spec:\n  description:\n    a: b\n",
            "6:5",
            "spec.description must be text, not a mapping",
            "",
        ),
        (
            version("0.10"),
            "7:16",
            "spec.backends[0].scheduler.version must be text, not 0.10",
            'Put it in quotes: "0.10".',
        ),
        (SUBPOOL + "spec: {parent: team, quota: 1.5}\n", "4:29", f"{QUOTA}, not 1.5", WHOLE_OR_SHARE),
        (SUBPOOL + "spec: {parent: team, quota: }\n", "4:22", QUOTA.replace("quota", "quota has no value; it"), EMPTY),
        (
            TASK + "resources:\n  default: {memory: 240}\n",
            "7:21",
            "resources.default.memory must be text, not 240",
            'Write it with its unit, such as "64Gi".',
        ),
        (
            TASK.replace("image: i", "image: i, hostNetwork: no"),
            "5:38",
            'workflow.tasks[0].hostNetwork must be true or false, not "no"',
            'YAML 1.2 reads "no" as text; write true or false.',
        ),
        (
            JOB.format(label="replace: true"),
            "3:51",
            "metadata.labels.kubectl-tas/replace must be text, not true",
            'Put it in quotes: "true".',
        ),
    ],
)
def test_wrong_type(text: str, place: str, message: str, hint: str) -> None:
    assert only(text) == (place, "wrong-type", message, hint)


@pytest.mark.parametrize(
    ("text", "place", "message", "hint"),
    [
        (gpu("-2"), "7:18", f"{GUARANTEE} must be at least -1, not -2", "Use -1 or more."),
        (POOL.replace("team", "''"), "3:18", "metadata.name must not be empty", ""),
        (
            CONFIG + "spec:\n  gitops: ArgoCD\n",
            "4:11",
            'spec.gitops must be one of argocd, flux, none, not "ArgoCD"',
            'Did you mean "argocd"?',
        ),
        (
            CONFIG + "spec:\n  gitops: tekton\n",
            "4:11",
            'spec.gitops must be one of argocd, flux, none, not "tekton"',
            "The tool that applies the manifests. It decides their annotations.",
        ),
        (
            CONFIG + "spec:\n  drainInterval: 15 minutes\n",
            "4:18",
            'spec.drainInterval must be a time such as 90s, 15m or 1h, not "15 minutes"',
            "Write a number and s, m or h, without a blank.",
        ),
        (
            version("latest"),
            "7:16",
            'spec.backends[0].scheduler.version must be a release such as "0.17", not "latest"',
            'Write its numbers alone, such as "0.17" or "0.16.5".',
        ),
        (SUBPOOL + 'spec: {parent: team, quota: "101%"}\n', "4:29", f'{QUOTA}, not "101%"', WHOLE_OR_SHARE),
        (
            TASK.replace("  tasks:", "  labels: {cost centre: a}\n  tasks:"),
            "4:12",
            'a key in workflow.labels must be a label such as topology.kubernetes.io/zone, not "cost centre"',
            "Write its key alone: letters, digits, '-', '_' and '.', perhaps behind a domain and '/'.",
        ),
        (
            GANG + "spec: {queue: q, minMember: 0}\n",
            "4:29",
            "spec.minMember must be at least 1, not 0",
            "Use 1 or more.",
        ),
        (
            JOB.format(label="priority: a b"),
            "3:52",
            f'metadata.labels.kubectl-tas/priority must be {LABEL}, not "a b"',
            "Write '-' or '_' in place of other characters, such as blanks, '/', ':' and '@'.",
        ),
        (
            CONFIG + "spec:\n  kinds: [{apiVersion: a/v1, kind: B, pods: [{template: spec.t}], minimum: '1.5'}]\n",
            "4:76",
            'spec.kinds[0].minimum must be a path such as "spec.template" or "spec.roles[].template", not "1.5"',
            "Join keys with dots; [] is each item of a list, .* each key of a mapping.",
        ),
        (
            "apiVersion: kubeflow.org/v1\nkind: PyTorchJob\nmetadata: {name: a}\nspec: {pytorchReplicaSpecs: {}}\n",
            "4:29",
            "spec.pytorchReplicaSpecs must not be empty",
            "",
        ),
    ],
)
def test_invalid_value(text: str, place: str, message: str, hint: str) -> None:
    assert only(text) == (place, "invalid-value", message, hint)


KNOWN = (
    "Kinds that are read: Config, Pool, Subpool, PodTemplate, ResourceValidation, ClusterTopology, "
    "ClusterTopologyBinding, "
)


@pytest.mark.parametrize(
    ("text", "place", "message", "hint"),
    [
        ("- a\n", "1:1", "this document is a list, not a mapping", "Write apiVersion and kind, or an OSMO"),
        ("a: b\n", "1:1", "this document has neither a kind nor a workflow", "Write apiVersion and kind, or an OSMO"),
        (
            "apiVersion: tas/v1alpha1\n",
            "1:1",
            "this document has neither a kind nor a workflow",
            "Add kind: Config or Pool or Subpool or PodTemplate or ResourceValidation.",
        ),
        ("kind: Pool\n", "1:7", "Pool has apiVersion tas/v1alpha1, and this document has none", "Write apiVersion: "),
        (
            "kind: Pool\napiVersion: tas/v1\n",
            "2:13",
            'Pool has apiVersion tas/v1alpha1, not "tas/v1"',
            "Write apiVersion: tas/v1alpha1.",
        ),
        (
            "apiVersion: tas/v1alpha1\nkind: SubPool\n",
            "2:7",
            'the kind "SubPool" of tas/v1alpha1 is not read',
            'Did you mean "Subpool"?',
        ),
        (
            "apiVersion: a.io/v1\nkind: A\n",
            "2:7",
            'the kind "A" of a.io/v1 is not read',
            "If it makes pods, say in spec.kinds",
        ),
        (
            "apiVersion: kubernetes.dask.org/v1\nkind: DaskCluster\n",
            "2:7",
            'the kind "DaskCluster" of kubernetes.dask.org/v1 is not read',
            "If it makes pods, say in spec.kinds",
        ),
        (
            "apiVersion: serving.knative.dev/v1\nkind: Service\n",
            "2:7",
            'the kind "Service" of serving.knative.dev/v1 is not read',
            "Write a Deployment, or",
        ),
        (
            "apiVersion: kubevirt.io/v1\nkind: VirtualMachineInstance\n",
            "2:7",
            'the kind "VirtualMachineInstance" of kubevirt.io/v1 is not read',
            "Move it out of the folders",
        ),
        (
            "apiVersion: run.ai/v1\nkind: RunaiJob\n",
            "2:7",
            'the kind "RunaiJob" of run.ai/v1 is not read',
            "Write a Job, PyTorchJob or MPIJob",
        ),
        (
            "apiVersion: scheduling.volcano.sh/v1beta1\nkind: PodGroup\n",
            "2:7",
            'the kind "PodGroup" of scheduling.volcano.sh/v1beta1 is not read',
            "Remove it: KAI makes",
        ),
        (
            "apiVersion: keda.sh/v1alpha1\nkind: ScaledObject\n",
            "2:7",
            'the kind "ScaledObject" of keda.sh/v1alpha1 is not read',
            "Write a HorizontalPodAutoscaler",
        ),
        (
            "apiVersion: tekton.dev/v1\nkind: TaskRun\n",
            "2:7",
            'the kind "TaskRun" of tekton.dev/v1 is not read',
            "Move it out of the folders",
        ),
        (
            "apiVersion: cert-manager.io/v1\nkind: Certificate\n",
            "2:7",
            'the kind "Certificate" of cert-manager.io/v1 is not read',
            "The Config may add it: spec.companions: [{apiVersion: cert-manager.io/v1, kind: Certificate}].",
        ),
        (
            "apiVersion: apps/v1\nkind: DaemonSet\n",
            "2:7",
            'the kind "DaemonSet" of apps/v1 is not read',
            "Its pods run",
        ),
        (
            "apiVersion: v1\nkind: Servic\n",
            "2:7",
            'the kind "Servic" of v1 is not read',
            'Did you mean "Service"?',
        ),
        (
            "apiVersion: autoscaling/v2beta2\nkind: HorizontalPodAutoscaler\n",
            "1:13",
            'HorizontalPodAutoscaler has apiVersion autoscaling/v2 or autoscaling/v1, not "autoscaling/v2beta2"',
            "Write apiVersion: autoscaling/v2.",
        ),
        (
            "kind: Service\n",
            "1:7",
            "Service has apiVersion v1, and this document has none",
            "Write apiVersion: v1.",
        ),
    ],
)
def test_unknown_kind(text: str, place: str, message: str, hint: str) -> None:
    found = only(text)
    assert found[:3] == (place, "unknown-kind", message)
    assert found[3].startswith(hint)


@pytest.mark.parametrize(
    ("version", "kind", "hint"),
    [
        (
            "scheduling.run.ai/v2",
            "Queue",
            "Declare a Pool or Subpool instead: `render` makes the queues from them.",
        ),
        ("kueue.x-k8s.io/v1beta1", "ClusterQueue", "Declare a Pool or Subpool instead"),
        ("kai.scheduler/v1alpha1", "Topology", "Write topology_keys of a Pool"),
        ("kai.scheduler/v1", "Config", "PodGroups and SchedulingShards are the only objects of KAI"),
        ("scheduling.k8s.io/v1", "PriorityClass", "Name it in spec.priorityClasses"),
        ("rbac.authorization.k8s.io/v1", "ClusterRole", "Move it to the files that set up the cluster"),
        ("admissionregistration.k8s.io/v1", "MutatingWebhookConfiguration", "spec.guard of the Config"),
        ("apiextensions.k8s.io/v1", "CustomResourceDefinition", "Move it to the files that set up the cluster"),
        ("resource.k8s.io/v1", "ResourceClaimTemplate", "Its devices are not counted here"),
        ("v1", "Namespace", "Name it in namespaces of a Pool"),
        ("v1", "Node", "Move it to the files that set up the cluster"),
        ("v1", "Secret", "Create it in the cluster"),
        ("v1", "LimitRange", "Declare it as quota and maximum"),
    ],
)
def test_kinds_that_belong_elsewhere(version: str, kind: str, hint: str) -> None:
    found = only(f"apiVersion: {version}\nkind: {kind}\n")
    message = f"{kind} of {version} cannot be declared here: {why_elsewhere(kind)}"
    assert found[:3] == ("2:7", "kind-elsewhere", message)
    assert found[3].startswith(hint)


@pytest.mark.parametrize(
    ("version", "kind", "right"),
    [
        ("kai.scheduler/v1alpha1", "SchedulingShard", "kai.scheduler/v1"),
        ("scheduling.run.ai/v1", "SchedulingShard", "kai.scheduler/v1"),
        ("scheduling.run.ai/v2", "PodGroup", "scheduling.run.ai/v2alpha2"),
    ],
)
def test_kinds_of_kai_that_may_be_written_in_another_version(version: str, kind: str, right: str) -> None:
    found = only(f"apiVersion: {version}\nkind: {kind}\n")
    message = f'{kind} has apiVersion {right}, not "{version}"'
    assert found == ("1:13", "unknown-kind", message, f"Write apiVersion: {right}.")


def test_all_findings_of_a_document_are_reported() -> None:
    text = POOL + "spec:\n  garantee: 1\n  backend: 7\n  topology_keys:\n  - {key: a b}\n"
    assert sorted((d.rule.code, str(d.location)) for d in findings(text)) == [
        ("invalid-value", "f.yaml:8:11"),
        ("missing-field", "f.yaml:8:5"),
        ("unknown-field", "f.yaml:5:3"),
        ("wrong-type", "f.yaml:6:12"),
    ]


def test_valid_document_becomes_its_model() -> None:
    documents, _ = parse("f.yaml", gpu("8"))
    kind = recognise(documents[0])
    assert isinstance(kind, Kind)
    model, found = read_model(kind, documents[0])
    assert isinstance(model, Pool)
    assert model.spec.resources.gpu.guarantee == 8
    assert not found


ENVIRONMENT = TASK.replace("image: i}", "image: i, environment: {@: x}}")


@pytest.mark.parametrize("name", ["A", "a.b-c", "1", "A B", "~", "0.5"])
def test_variable_that_kubernetes_accepts(name: str) -> None:
    assert findings(ENVIRONMENT.replace("@", f'"{name}"')) == []


@pytest.mark.parametrize("name", ["A=B", "=", "\u00e9", r"\t", r"A\n", r"\x7f"])
def test_variable_that_kubernetes_refuses(name: str) -> None:
    place, rule, message, _ = only(ENVIRONMENT.replace("@", f'"{name}"'))
    assert (place, rule) == ("5:39", "invalid-value")
    assert message.startswith(
        "a key in workflow.tasks[0].environment must be the name of a variable: printable ASCII without '=', not "
    )


def test_variable_without_a_name() -> None:
    message = 'a key in workflow.tasks[0].environment must not be empty, not ""'
    assert only(ENVIRONMENT.replace("@", '""')) == ("5:39", "invalid-value", message, "")


@pytest.mark.parametrize("image", [" ", " i", "i ", "a b", r"i\n", "\u00a0i"])
def test_image_with_blanks(image: str) -> None:
    place, rule, message, _ = only(TASK.replace("image: i", f'image: "{image}"'))
    assert (place, rule) == ("5:22", "invalid-value")
    assert message.startswith(
        "workflow.tasks[0].image must be an image such as busybox:1.37: printable ASCII without blanks, not "
    )


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("  - {name: t, image: i}", "    ..."),
        ("{name: t, image: i}", "..."),
        ("image: i}", "image: i, ...}"),
        ("{name: t, image: i}\n", "name: t\n    ...\n"),
        ("{name: t, image: i}\n", "name: t\n    ...\n    # more\n\n  - name: u\n    ...\n"),
        ("  name: w", "  ...\n  name: w"),
        ("image: i}", "image: i}\n  ..."),
    ],
)
@pytest.mark.parametrize("ends", ["\n", "\r\n"])
def test_dots_of_an_example_are_named(old: str, new: str, ends: str) -> None:
    text = TASK.replace(old, new)
    _, problems = parse("f.yaml", text.replace("\n", ends))
    found = problems[0] if problems else findings(text)[0]
    assert found.location is not None
    assert found.location.line == text[: text.index("...")].count("\n") + 1
    assert "..." in found.message
    assert found.hint.startswith("Replace the '...'")


OSMO_HAS_NONE = (
    "An OSMO workflow is recognized by its root key workflow, and has neither apiVersion nor kind; remove it."
)
BELOW_QUEUE = "Write it below queue, as queue: {{{}: {{team: a}}}}: the Queue gets it."
TEXTS = "Write a mapping: 'key: value' lines."


@pytest.mark.parametrize(
    ("text", "place", "rule", "message", "hint"),
    [
        ("apiVersion: x\n" + TASK, "1:1", "unknown-field", 'unknown field "apiVersion"', OSMO_HAS_NONE),
        ("kind: x\n" + TASK, "1:1", "unknown-field", 'unknown field "kind"', OSMO_HAS_NONE),
        (
            POOL + "spec: {namespace: a}\n",
            "4:8",
            "unknown-field",
            'unknown field "namespace" in spec',
            "Write namespaces, which is a list, such as [ml].",
        ),
        (
            POOL + "spec: {subpools: []}\n",
            "4:8",
            "unknown-field",
            'unknown field "subpools" in spec',
            "A subpool is a document of its own: kind Subpool, with spec.parent.",
        ),
        *(
            (head + f"spec: {{{more}{key}: {{}}}}\n", f"4:{8 + len(more)}", "unknown-field", message, hint)
            for head, more in ((POOL, ""), (SUBPOOL, "parent: team, quota: 1, "))
            for key in ("labels", "annotations")
            for message, hint in ((f'unknown field "{key}" in spec', BELOW_QUEUE.format(key)),)
        ),
        (
            POOL + "spec: {namespaces: ml}\n",
            "4:20",
            "wrong-type",
            'spec.namespaces must be a list, not "ml"',
            "Write a list: [ml].",
        ),
        (
            POOL + "spec: {namespaces: 3}\n",
            "4:20",
            "wrong-type",
            "spec.namespaces must be a list, not 3",
            'Write a list: ["3"].',
        ),
        (
            POOL + "spec: {namespaces: a b}\n",
            "4:20",
            "wrong-type",
            'spec.namespaces must be a list, not "a b"',
            "Write a list: a '-' before each item.",
        ),
        (
            POOL + "spec: {topology_keys: rack}\n",
            "4:23",
            "wrong-type",
            'spec.topology_keys must be a list, not "rack"',
            "Write a list: a '-' before each item.",
        ),
        (
            POOL + "spec: {backend: [a]}\n",
            "4:17",
            "wrong-type",
            "spec.backend must be text, not a list",
            "Write one value, not a list.",
        ),
        (POOL + "spec: {backend: ''}\n", "4:17", "invalid-value", "spec.backend must not be empty", ""),
        (
            POOL + "spec:\n",
            "4:1",
            "wrong-type",
            "spec has no value; it must be a mapping",
            "Write one, or remove the key.",
        ),
        (
            POOL + "spec: {resources: 3}\n",
            "4:19",
            "wrong-type",
            "spec.resources must be a mapping, not 3",
            "Write a mapping with gpu, cpu, memory.",
        ),
        (
            POOL + "spec: {nodes: {selector: a}}\n",
            "4:26",
            "wrong-type",
            'spec.nodes.selector must be a mapping, not "a"',
            TEXTS,
        ),
        (
            JOB.format(label="pool: a").replace("kubectl-tas/pool: a}", "a]").replace("labels: {", "labels: ["),
            "3:29",
            "wrong-type",
            "metadata.labels must be a mapping, not a list",
            TEXTS,
        ),
        (
            JOB.format(label="pool: a").replace("spec: {}", "spec: {parallelism: 99999999999999999999}"),
            "4:21",
            "wrong-type",
            'spec.parallelism is too large a number: "99999999999999999999"',
            "Use at most 18 digits.",
        ),
        *(
            (
                GANG.replace("{name: gang}", f"{{name: gang, namespace: {name}}}") + "spec: {queue: a}\n",
                "3:35",
                "invalid-value",
                "metadata.namespace must be lower-case letters, digits, '-' and '.', a letter or digit first and last, "
                f'not "{name}"',
                "",
            )
            for name in ("A_B", "-a", "a.")
        ),
        (
            CONFIG + "spec: {labels_config: {pod_label_prefix: a b}}\n",
            "3:42",
            "invalid-value",
            'spec.labels_config.pod_label_prefix must be a prefix such as example.com/, without blanks, not "a b"',
            "",
        ),
        (
            TASK.replace("image: i", "image: i, privileged: yes"),
            "5:37",
            "wrong-type",
            'workflow.tasks[0].privileged must be true or false, not "yes"',
            'YAML 1.2 reads "yes" as text; write true or false.',
        ),
        *(
            (
                JOB.format(label="pool: a").replace("spec: {}", f"spec: {{parallelism: {written}}}"),
                "4:21",
                "wrong-type",
                f"spec.parallelism must be a whole number, not {shown}",
                hint,
            )
            for written, shown, hint in (
                ("'2'", '"2"', "Write the number alone, without quotes or a unit: 2."),
                (
                    "2k",
                    '"2k"',
                    "Write the number alone, without quotes or a unit: 2000.",
                ),
                (
                    "1 200",
                    '"1 200"',
                    "Write the number alone, without quotes or a unit: 1200.",
                ),
                ("'2.5'", '"2.5"', "Write a whole number, without quotes or a unit."),
                (f"'{'9' * 19}'", f'"{"9" * 19}"', "The number is too large."),
                (
                    "10%",
                    '"10%"',
                    "Write a number; only the quota of a subpool can be a share.",
                ),
                ("2.0", "2.0", "Write 2."),
                ("2.5", "2.5", "Write it without a fraction."),
                ("two", '"two"', ""),
            )
        ),
    ],
)
def test_what_to_write_instead(text: str, place: str, rule: str, message: str, hint: str) -> None:
    assert (place, rule, message, hint) in [
        (f"{item.location.line}:{item.location.column}", item.rule.code, item.message, item.hint)
        for item in findings(text)
        if item.location is not None
    ]


def test_a_time_is_written_in_the_unit_of_its_field() -> None:
    pods = "{template: {spec: {restartPolicy: Never, activeDeadlineSeconds: 5m, containers: [{name: a, image: i}]}}}"
    assert told_of(JOB.format(label="pool: team").replace("spec: {}", f"spec: {pods}")) == [
        "w.yaml:4:71 wrong-type: spec.template.spec.activeDeadlineSeconds must be a whole number, "
        'not "5m" (The unit is that of the field: write 300, without quotes.)'
    ]


def test_what_only_the_model_of_a_kind_refuses() -> None:
    text = POOL + f"spec:\n  nodes:\n    selector:\n      {'a' * 254}/b: c\n"
    place, rule, message, hint = only(text)
    shown = f"{'a' * 57}..."
    assert (place, rule, hint) == ("7:7", "invalid-value", "")
    assert message == (
        f"a key in spec.nodes.selector is not valid: the part before '/' has more than 253 characters, not \"{shown}\""
    )
