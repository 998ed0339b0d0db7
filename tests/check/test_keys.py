"""Keys of labels and annotations that others read, word by word."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.judged import told_of

PODS = "restartPolicy: Never, containers: [{name: m, image: i, resources: {limits: {nvidia.com/gpu: 1}}}]"


def job(own: str = "", labels: str = "", pods: str = "", spec: str = "") -> str:
    """A Job with these annotations, labels (both in line 3), annotations of its pods and fields of these in line 4."""
    metadata = f"{{name: a, labels: {{kubectl-tas/pool: team{labels}}}, annotations: {{{own}}}}}"
    template = f"{{metadata: {{annotations: {{{pods}}}}}, spec: {{{PODS}{spec}}}}}"
    return f"apiVersion: batch/v1\nkind: Job\nmetadata: {metadata}\nspec: {{template: {template}}}\n"


def spark(fields: str) -> str:
    metadata = "{name: a, labels: {kubectl-tas/pool: team}}"
    spec = f"type: Python, sparkVersion: 3.5.3, mainApplicationFile: 'local:///a.py', {fields}"
    head = "apiVersion: sparkoperator.k8s.io/v1beta2\nkind: SparkApplication\n"
    return f"{head}metadata: {metadata}\nspec: {{{spec}, driver: {{cores: 1}}, executor: {{instances: 2}}}}\n"


SLIPS = (
    *("kai.scheduler.x-k8s.io/topology", "kai.scheduler.io/topology", "kai.scheduler.dev/topology"),
    *("kai.scheduler.com/topology", "kai.scheduler.ai/topology", "kai.scheduler.org/topology"),
    *("kai-scheduler/topology", "kai.schedulre/topology", "kai.schdlr/x", "kai.scheduler/topologi", "kai.scheduler/x"),
    *("kubectl-tsa/pool", "kubectl-tas.io/priority", "grove/x", "gorve.io/x", "runnai/queue", "runai/x", "rn/x"),
    *("pod-group-nam", "gpu-fractoin", "GPU-memory", "priorityClassname", "gpus"),
)


def own(keys: tuple[str, ...]) -> str:
    return job(own=", ".join(f'{key}: "1"' for key in keys))


def labelled(keys: tuple[str, ...]) -> str:
    return job(labels="".join(f', {key}: "1"' for key in keys))


SILENT = {
    "a domain in capital letters, as an annotation": job(own="Example.COM/owner: me", pods="Example.COM/owner: me"),
    "a hook among the annotations of pods": job(pods="argocd.argoproj.io/hook: Sync"),
    "no node": job(spec=', nodeName: ""'),
    "harmless settings of Spark": spark("sparkConf: {spark.eventLog.enabled: 'true'}"),
    "no executors of any number": spark("dynamicAllocation: {}"),
}
ROWS = {
    "what KAI writes, as an annotation": job(own="kai.scheduler/last-start-timestamp: x"),
    "what KAI writes, as a label": job(labels=", kai.scheduler/last-start-timestamp: x"),
    "the queue of Kueue as a label": job(labels=", kueue.x-k8s.io/queue-name: q"),
    "a domain in capital letters, as a label": job(labels=", Example.COM/owner: me"),
    "a domain that no name has": job(own="Exa_mple.com/owner: me"),
    "a key of KAI in capital letters": job(own="KAI.scheduler/topology: x"),
    "the queue of Kueue as an annotation": job(own="kueue.x-k8s.io/queue-name: q"),
    "a level of Kueue as an annotation": job(pods="kueue.x-k8s.io/podset-required-topology: rack"),
    "a hook": job(own="argocd.argoproj.io/hook: Sync"),
    "a node": job(spec=", nodeName: n"),
    "settings of Spark": spark("sparkConf: {spark.executor.instances: '9'}"),
    "settings of Spark that are no mapping": spark("sparkConf: spark.executor.instances=9"),
    "settings of Spark that are a list": spark("sparkConf: [spark.executor.instances=9]"),
    "executors of any number": spark("dynamicAllocation: {enabled: true}"),
    "annotations that are misspelled": own(SLIPS),
    "labels that are misspelled": labelled(SLIPS),
}


@pytest.mark.parametrize("name", ROWS)
def test_keys(name: str, snapshot: Any) -> None:
    assert "\n".join(told_of(ROWS[name])) == snapshot


@pytest.mark.parametrize("name", SILENT)
def test_keys_silent(name: str) -> None:
    assert told_of(SILENT[name]) == []


BY_PEOPLE = ("grove.io/disable-managed-resource-protection", "grove.io/mnnvl-group", "grove.io/reconcile-trigger")
"""Keys of Grove that people write, as labels or as annotations."""
LABELS = ("kai.scheduler/accounting", "kai.scheduler/task-priority")


def test_keys_of_kai_and_grove_are_known_where_they_read_them() -> None:
    labels = "".join(f", {key}: x" for key in (*BY_PEOPLE, *LABELS))
    assert told_of(job(own=", ".join(f"{key}: x" for key in BY_PEOPLE), labels=labels)) == []
    swapped = job(own=", ".join(f"{key}: x" for key in LABELS))
    by_whom = "Remove it: kubectl-tas, KAI or Grove writes it."
    assert [line.partition(": ")[2] for line in told_of(swapped)] == [
        f"{key} is read among the labels, not among the annotations ({by_whom})" for key in LABELS
    ]


GONE, NEVER = "Argo CD does not remove it when its file is gone", "Flux no longer applies it"
SYNC = (
    ("config.kubernetes.io/local-config", "true", "kustomize leaves it out of what it builds"),
    ("argocd.argoproj.io/hook", "PreSync", "Argo CD runs it at each sync, and neither compares nor prunes it"),
    ("helm.sh/hook", "pre-install", "Argo CD takes it for a hook, and neither compares nor prunes it"),
    ("argocd.argoproj.io/sync-options", "Validate=false,Prune=false", GONE),
    ("argocd.argoproj.io/sync-options", "Prune=confirm", GONE),
    ("argocd.argoproj.io/sync-options", "Delete=confirm", GONE),
    ("argocd.argoproj.io/sync-options", "Delete=false", GONE),
    ("helm.sh/resource-policy", "keep", GONE),
    (
        "argocd.argoproj.io/compare-options",
        "IgnoreExtraneous",
        "Argo CD calls the application synced though the object has no file",
    ),
    ("kustomize.toolkit.fluxcd.io/reconcile", "Disabled", NEVER),
    ("kustomize.toolkit.fluxcd.io/prune", "disabled", "Flux does not remove it when its file is gone"),
    ("kustomize.toolkit.fluxcd.io/ssa", "IfNotPresent", f"{NEVER}, or only creates it if it is missing"),
    ("kustomize.toolkit.fluxcd.io/ssa", "ignore", f"{NEVER}, or only creates it if it is missing"),
)


@pytest.mark.parametrize(("key", "value", "effect"), SYNC)
def test_what_takes_an_object_out_of_the_sync(key: str, value: str, effect: str) -> None:
    said = f"{key}: {value} takes the object out of the sync: {effect}"
    hint = "Remove it, or let spec.rules of the Config allow it."
    assert told_of(job(own=f"{key}: '{value}'")) == [f"w.yaml:3:69 sync-bypass: {said} ({hint})"]


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("argocd.argoproj.io/sync-options", "Prune=true,Replace=true"),
        ("argocd.argoproj.io/sync-options", "NoPrune=false"),
        ("helm.sh/resource-policy", "keeper"),
        ("argocd.argoproj.io/compare-options", "ServerSideDiff=true"),
        ("kustomize.toolkit.fluxcd.io/reconcile", "enabled"),
        ("kustomize.toolkit.fluxcd.io/prune", "not disabled"),
        ("kustomize.toolkit.fluxcd.io/ssa", "Merge"),
    ],
)
def test_other_values_of_these_keys(key: str, value: str) -> None:
    assert told_of(job(own=f"{key}: '{value}'")) == []


def argo(fields: str) -> str:
    head = "apiVersion: argoproj.io/v1alpha1\nkind: Workflow\nmetadata: {name: a, labels: {kubectl-tas/pool: team}}\n"
    return f"{head}spec: {{entrypoint: a, {fields}}}\n"


UNSEEN = (
    ("templates: [{name: a, podSpecPatch: x}]", "podSpecPatch: it changes pods after validate has judged them"),
    (
        "templateDefaults: {activeDeadlineSeconds: 5}, templates: [{name: a, container: {image: i}}]",
        "templateDefaults: it adds what validate cannot see to templates",
    ),
    (
        "templates: [{name: a, resource: {action: create, manifest: x}}]",
        "manifest: it makes an object that validate cannot see",
    ),
    ("workflowTemplateRef: {name: x}", "name: its templates are in an object that validate cannot see"),
    (
        "templates: [{name: a, steps: [[{name: s, templateRef: {name: x, template: y}}]]}]",
        "template: it is in an object that validate cannot see",
    ),
)


@pytest.mark.parametrize(("text", "said"), [(argo(fields), said) for fields, said in UNSEEN])
def test_work_that_is_not_in_the_file(text: str, said: str) -> None:
    hint = "Remove it, and write what it is for in the object itself."
    assert [line.partition(" ")[2] for line in told_of(text)] == [f"quota-bypass: {said} ({hint})"]


def test_other_schedulers_and_pods_that_are_not_seen() -> None:
    hint = "Remove it, and write what it is for in the object itself."
    said = "batchScheduler: another scheduler than KAI places its pods"
    assert told_of(spark("batchScheduler: volcano")) == [f"w.yaml:4:81 quota-bypass: {said} ({hint})"]
    head = "apiVersion: serving.kserve.io/v1beta1\nkind: InferenceService\n"
    metadata = "metadata: {name: a, labels: {kubectl-tas/pool: team}}\n"
    served = f"{head}{metadata}spec: {{predictor: {{model: {{modelFormat: {{name: x}}}}, workerSpec: {{size: 2}}}}}}\n"
    assert told_of(served) == [f"w.yaml:4:53 quota-bypass: workerSpec: validate cannot see its pods ({hint})"]
    shard = 'kai.scheduler/node-pool is "x": the scheduler of another shard takes the pods, or none does'
    assert told_of(job(labels=", kai.scheduler/node-pool: x")) == [
        f"w.yaml:3:54 quota-bypass: {shard} (Remove it; nodeSelector and affinity choose nodes too.)"
    ]
