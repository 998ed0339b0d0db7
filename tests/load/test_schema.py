"""Tests documents that break the schema of their kind: the place of the error, the message and the remedy."""

from __future__ import annotations

from typing import Any

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
    "text",
    [
        POOL + "specs: {}\n",
        POOL + "spec: {Backend: b}\n",
        SUBPOOL + "spec: {parent: team, quota: 1, cpu: 1}\n",
        POOL + "spec:\n  topology_keys:\n  - {key: a, label: b}\n  - {key: c, label: d, alias: e}\n",
        TASK + "resources:\n  default: {gpus: 1}\n",
        POOL + "spec:\n  topology_keys:\n  - {key: a, label: b, clusterTopologyName: c}\n",
        GANG + "spec: {queue: q, minMember: 1, subgroups: [], subGroups: []}\n",
        POOL + "spec: {zzzz: 1}\n",
    ],
)
def test_unknown_field(text: str, snapshot: Any) -> None:
    place, rule, message, hint = only(text)
    assert rule == "unknown-field"
    assert f"{place} {message} ({hint})" == snapshot


@pytest.mark.parametrize(
    "text",
    [
        POOL.replace("{name: team}", "{}"),
        POOL.replace("metadata: {name: team}\n", ""),
        SUBPOOL + "spec:\n  quota: 1\n",
        TASK.replace(", image: i", ""),
    ],
)
def test_missing_field(text: str, snapshot: Any) -> None:
    place, rule, message, hint = only(text)
    assert rule == "missing-field"
    assert f"{place} {message} ({hint})" == snapshot


def gpu(value: str) -> str:
    return POOL + f"spec:\n  resources:\n    gpu:\n      guarantee: {value}\n"


def version(value: str) -> str:
    return CONFIG + f"spec:\n  backends:\n  - name: b\n    scheduler:\n      version: {value}\n"


@pytest.mark.parametrize(
    "text",
    [
        gpu('"8"'),
        gpu("8 GPUs"),
        gpu("9" * 20),
        gpu("0.5"),
        gpu("8.0"),
        gpu("true"),
        gpu("[8]"),
        gpu(""),
        POOL + "spec:\n",
        POOL + "spec:\n  resources: 8\n",
        POOL + "spec: {topology_keys: zone}\n",
        POOL + "spec:\n  description:\n    a: b\n",
        version("0.10"),
        SUBPOOL + "spec: {parent: team, quota: 1.5}\n",
        SUBPOOL + "spec: {parent: team, quota: }\n",
        TASK + "resources:\n  default: {memory: 240}\n",
        TASK.replace("image: i", "image: i, hostNetwork: no"),
        JOB.format(label="replace: true"),
    ],
)
def test_wrong_type(text: str, snapshot: Any) -> None:
    place, rule, message, hint = only(text)
    assert rule == "wrong-type"
    assert f"{place} {message} ({hint})" == snapshot


@pytest.mark.parametrize(
    "text",
    [
        gpu("-2"),
        POOL.replace("team", "''"),
        CONFIG + "spec:\n  gitops: ArgoCD\n",
        CONFIG + "spec:\n  gitops: tekton\n",
        CONFIG + "spec:\n  drainInterval: 15 minutes\n",
        version("latest"),
        SUBPOOL + 'spec: {parent: team, quota: "101%"}\n',
        TASK.replace("  tasks:", "  labels: {cost centre: a}\n  tasks:"),
        GANG + "spec: {queue: q, minMember: 0}\n",
        JOB.format(label="priority: a b"),
        CONFIG + "spec:\n  kinds: [{apiVersion: a/v1, kind: B, pods: [{template: spec.t}], minimum: '1.5'}]\n",
        "apiVersion: kubeflow.org/v1\nkind: PyTorchJob\nmetadata: {name: a}\nspec: {pytorchReplicaSpecs: {}}\n",
    ],
)
def test_invalid_value(text: str, snapshot: Any) -> None:
    place, rule, message, hint = only(text)
    assert rule == "invalid-value"
    assert f"{place} {message} ({hint})" == snapshot


@pytest.mark.parametrize(
    "text",
    [
        "- a\n",
        "a: b\n",
        "apiVersion: tas/v1alpha1\n",
        "kind: Pool\n",
        "kind: Pool\napiVersion: tas/v1\n",
        "apiVersion: tas/v1alpha1\nkind: SubPool\n",
        "apiVersion: a.io/v1\nkind: A\n",
        "apiVersion: kubernetes.dask.org/v1\nkind: DaskCluster\n",
        "apiVersion: serving.knative.dev/v1\nkind: Service\n",
        "apiVersion: kubevirt.io/v1\nkind: VirtualMachineInstance\n",
        "apiVersion: run.ai/v1\nkind: RunaiJob\n",
        "apiVersion: scheduling.volcano.sh/v1beta1\nkind: PodGroup\n",
        "apiVersion: keda.sh/v1alpha1\nkind: ScaledObject\n",
        "apiVersion: tekton.dev/v1\nkind: TaskRun\n",
        "apiVersion: cert-manager.io/v1\nkind: Certificate\n",
        "apiVersion: apps/v1\nkind: DaemonSet\n",
        "apiVersion: v1\nkind: Servic\n",
        "apiVersion: autoscaling/v2beta2\nkind: HorizontalPodAutoscaler\n",
        "kind: Service\n",
    ],
)
def test_unknown_kind(text: str, snapshot: Any) -> None:
    place, rule, message, hint = only(text)
    assert rule == "unknown-kind"
    assert f"{place} {message} ({hint})" == snapshot


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


BELOW_QUEUE = "Write it below queue, as queue: {{{}: {{team: a}}}}: the Queue gets it."


@pytest.mark.parametrize(
    "text",
    [
        "apiVersion: x\n" + TASK,
        "kind: x\n" + TASK,
        POOL + "spec: {namespace: a}\n",
        POOL + "spec: {subpools: []}\n",
        *(
            head + f"spec: {{{more}{key}: {{}}}}\n"
            for head, more in ((POOL, ""), (SUBPOOL, "parent: team, quota: 1, "))
            for key in ("labels", "annotations")
            for message, hint in ((f'unknown field "{key}" in spec', BELOW_QUEUE.format(key)),)
        ),
        POOL + "spec: {namespaces: ml}\n",
        POOL + "spec: {namespaces: 3}\n",
        POOL + "spec: {namespaces: a b}\n",
        POOL + "spec: {topology_keys: rack}\n",
        POOL + "spec: {backend: [a]}\n",
        POOL + "spec: {backend: ''}\n",
        POOL + "spec:\n",
        POOL + "spec: {resources: 3}\n",
        POOL + "spec: {nodes: {selector: a}}\n",
        JOB.format(label="pool: a").replace("kubectl-tas/pool: a}", "a]").replace("labels: {", "labels: ["),
        JOB.format(label="pool: a").replace("spec: {}", "spec: {parallelism: 99999999999999999999}"),
        *(
            GANG.replace("{name: gang}", f"{{name: gang, namespace: {name}}}") + "spec: {queue: a}\n"
            for name in ("A_B", "-a", "a.")
        ),
        CONFIG + "spec: {labels_config: {pod_label_prefix: a b}}\n",
        TASK.replace("image: i", "image: i, privileged: yes"),
        *(
            JOB.format(label="pool: a").replace("spec: {}", f"spec: {{parallelism: {written}}}")
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
def test_what_to_write_instead(text: str, snapshot: Any) -> None:
    said = (f"{item.location} {item.rule.code}: {item.message} ({item.hint})" for item in findings(text))
    assert "\n".join(said) == snapshot


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
