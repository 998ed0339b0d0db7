"""Tests values of a workload that contradict its pool, at any place."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.cli import kubectl_tas, pool, write
from tests.support.kinds import GPU, RUN, config, job, pytorch, root, selected, template
from tests.support.pyyaml import safe_load_all

OTHER = "other"
QUEUE = "osmo-pool-default-team--shared"


def cron_job(label: str, value: str) -> str:
    run = f"metadata: {{labels: {{{label}: {value}}}}}, spec: {{template: {template(spec=RUN)}}}"
    return f"{root('CronJob', 'nightly')}spec: {{schedule: '@daily', jobTemplate: {{{run}}}}}\n"


def job_set(label: str, value: str) -> str:
    run = f"metadata: {{labels: {{{label}: {value}}}}}, spec: {{template: {template()}}}"
    return f"{root('JobSet', 'train')}spec: {{replicatedJobs: [{{name: worker, template: {{{run}}}}}]}}\n"


def pod_label(label: str, value: str) -> str:
    return job("parallelism: 1").replace("labels: {}, ", f"labels: {{{label}: {value}}}, ")


RUNTIME = "runtimeRef: {name: torch-distributed}"


def train_job(label: str, value: str) -> str:
    return f"{root('TrainJob', 'tune')}spec: {{{RUNTIME}, labels: {{{label}: {value}}}}}\n"


def train_override(label: str, value: str) -> str:
    """Kubeflow Trainer 2.1."""
    override = f"{{targetJobs: [{{name: node}}], metadata: {{labels: {{{label}: {value}}}}}}}"
    return f"{root('TrainJob', 'tune')}spec: {{{RUNTIME}, podTemplateOverrides: [{override}]}}\n"


def train_patch(label: str, value: str) -> str:
    """Kubeflow Trainer from 2.2: the labels of the JobSet."""
    return _patched(f"{{metadata: {{labels: {{{label}: {value}}}}}}}")


def train_pods(label: str, value: str) -> str:
    """The same of the pods of one of its jobs."""
    pods = f"{{metadata: {{labels: {{{label}: {value}}}}}}}"
    return _patched(f"{{spec: {{replicatedJobs: [{{name: node, template: {{spec: {{template: {pods}}}}}}}]}}}}")


def _patched(template: str) -> str:
    patch = f"{{manager: people, trainingRuntimeSpec: {{template: {template}}}}}"
    return f"{root('TrainJob', 'tune')}spec: {{{RUNTIME}, runtimePatches: [{patch}]}}\n"


@pytest.mark.parametrize(
    "make",
    [
        *(cron_job, job_set, pod_label, train_job, train_override, train_patch, train_pods),
        lambda label, value: pytorch(2, labels={label: value}),
    ],
    ids=["jobTemplate", "replicatedJobs", "pods", "trainjob", "override", "patch", "patched pods", "root"],
)
@pytest.mark.parametrize(
    ("label", "right"),
    [
        ("kai.scheduler/queue", QUEUE),
        ("priorityClassName", "osmo-normal"),
        ("kai.scheduler/preemptibility", "non-preemptible"),
    ],
    ids=["queue", "priority", "preemptibility"],
)
def test_a_label_that_says_something_else(repository: Path, make, label: str, right: str) -> None:  # type: ignore[no-untyped-def]
    text = make(label, OTHER)
    write(repository, {"pools/p.yaml": pool(), "workflows/w.yaml": text})
    result = kubectl_tas("validate", "-C", repository)
    line = next(number for number, line in enumerate(text.splitlines(), 1) if OTHER in line)
    assert f"workflows/w.yaml:{line}:" in result.out
    assert 'is "other", but ' in result.out
    assert "[workload-conflict]" in result.out
    write(repository, {"workflows/w.yaml": make(label, right)})
    assert kubectl_tas("validate", "-C", repository).code == 0


def test_nothing_is_added_to_templates_of_jobs(repository: Path) -> None:
    write(repository, {"pools/p.yaml": pool(), "workflows/w.yaml": cron_job("app", "x")})
    out = kubectl_tas("render", "--to", "-", "-C", repository).out
    assert "metadata: {labels: {app: x}}, spec" in out


def test_labels_of_a_low_workload_that_lift_it(repository: Path) -> None:
    text = pytorch(2, labels={"kubectl-tas/priority": "LOW", "kai.scheduler/preemptibility": "non-preemptible"})
    write(repository, {"pools/p.yaml": pool(), "workflows/w.yaml": text})
    out = kubectl_tas("validate", "-C", repository).out
    assert (
        'preemptibility is "non-preemptible", but the preemptibility of LOW is "preemptible" [workload-conflict]' in out
    )


@pytest.mark.parametrize(("priority", "name"), [("HIGH", "osmo-high"), ("NORMAL", "osmo-normal"), ("LOW", "osmo-low")])
def test_kai_is_told_the_priority_of_a_train_job(repository: Path, priority: str, name: str) -> None:
    """KAI sees no pod template of it, and would take it for `train`, which can be preempted."""
    text = root("TrainJob", "tune", {"kubectl-tas/priority": priority}) + f"spec: {{{RUNTIME}}}\n"
    write(repository, {"pools/p.yaml": pool(), "workflows/w.yaml": text})
    out = kubectl_tas("render", "--to", "-", "-C", repository).out
    (job_,) = (item for item in safe_load_all(out) if item["kind"] == "TrainJob")
    assert job_["metadata"]["labels"]["priorityClassName"] == name


def test_the_queue_of_a_train_job_is_on_the_train_job_alone(repository: Path) -> None:
    """There every release of Kubeflow Trainer takes it; ``spec.labels`` is unknown from 2.2."""
    text = root("TrainJob", "tune") + f"spec: {{{RUNTIME}}}\n"
    write(repository, {"pools/p.yaml": pool(), "workflows/w.yaml": text})
    out = kubectl_tas("render", "--to", "-", "-C", repository).out
    (job_,) = (item for item in safe_load_all(out) if item["kind"] == "TrainJob")
    assert job_["metadata"]["labels"]["kai.scheduler/queue"] == QUEUE
    assert job_["spec"] == {"runtimeRef": {"name": "torch-distributed"}}


def test_under_the_guard_pods_of_a_train_job_need_the_queue(repository: Path) -> None:
    text = root("TrainJob", "tune") + f"spec: {{{RUNTIME}}}\n"
    write(repository, {"pools/p.yaml": pool(), "workflows/w.yaml": text})
    label = f", and its pods need the label kai.scheduler/queue: {QUEUE} [workload-scheduler]"
    assert label not in kubectl_tas("validate", "-C", repository).out
    write(repository, {"tas.yaml": config("0.17") + "  guard: true\n"})
    assert label in kubectl_tas("validate", "-C", repository).out


@pytest.mark.parametrize("priority", ["HIGH", "NORMAL", "LOW", None])
def test_a_deployment_has_the_class_of_its_priority(repository: Path, priority: str | None) -> None:
    """Without one KAI gives it `inference`, which cannot be preempted."""
    own = {"kubectl-tas/priority": priority} if priority else {}
    text = f"{root('Deployment', 'web', own)}spec: {{{selected()}}}\n"
    write(repository, {"pools/p.yaml": pool(), "workflows/w.yaml": text})
    out = kubectl_tas("render", "--to", "-", "-C", repository).out
    (web,) = (item for item in safe_load_all(out) if item["kind"] == "Deployment")
    assert web["spec"]["template"]["spec"]["priorityClassName"] == f"osmo-{(priority or 'NORMAL').lower()}"


@pytest.mark.parametrize("place", ["metadata", "clique"])
@pytest.mark.parametrize("label", ["priorityClassName: other", "kai.scheduler/preemptibility: preemptible"])
def test_labels_that_lift_a_set(repository: Path, place: str, label: str) -> None:
    own, below = (f", {label}", "") if place == "metadata" else ("", f"labels: {{{label}}}, ")
    text = (
        "apiVersion: grove.io/v1alpha1\nkind: PodCliqueSet\n"
        f"metadata: {{name: s, labels: {{kubectl-tas/pool: team{own}}}}}\n"
        f"spec: {{replicas: 1, template: {{cliques: [{{name: c, {below}spec: {{replicas: 1, podSpec: {GPU}}}}}]}}}}\n"
    )
    write(repository, {"pools/p.yaml": pool(), "workflows/w.yaml": text})
    out = kubectl_tas("validate", "-C", repository).out
    assert "[workload-conflict]" in out, out
