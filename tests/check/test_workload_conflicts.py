"""Values of a workload that its pool contradicts, wherever they stand."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from tests.support.cli import kubectl_tas, pool, write
from tests.support.kinds import GPU, RUN, job, pytorch, root, selected, template

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


def train_job(label: str, value: str) -> str:
    return f"{root('TrainJob', 'tune')}spec: {{labels: {{{label}: {value}}}}}\n"


@pytest.mark.parametrize(
    "make",
    [cron_job, job_set, pod_label, train_job, lambda label, value: pytorch(2, labels={label: value})],
    ids=["jobTemplate", "replicatedJobs", "pods", "trainjob", "root"],
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
    out = kubectl_tas("render", "-o", "-", "-C", repository).out
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
    text = root("TrainJob", "tune", {"kubectl-tas/priority": priority}) + "spec: {}\n"
    write(repository, {"pools/p.yaml": pool(), "workflows/w.yaml": text})
    out = kubectl_tas("render", "-o", "-", "-C", repository).out
    (job_,) = (item for item in yaml.safe_load_all(out) if item["kind"] == "TrainJob")
    assert job_["metadata"]["labels"]["priorityClassName"] == name


@pytest.mark.parametrize("priority", ["HIGH", "NORMAL", "LOW", None])
def test_a_deployment_has_the_class_of_its_priority(repository: Path, priority: str | None) -> None:
    """Without one KAI gives it `inference`, which cannot be preempted."""
    own = {"kubectl-tas/priority": priority} if priority else {}
    text = f"{root('Deployment', 'web', own)}spec: {{{selected()}}}\n"
    write(repository, {"pools/p.yaml": pool(), "workflows/w.yaml": text})
    out = kubectl_tas("render", "-o", "-", "-C", repository).out
    (web,) = (item for item in yaml.safe_load_all(out) if item["kind"] == "Deployment")
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
