"""Values of a workload that its pool contradicts, wherever they stand."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.cli import kubectl_tas, pool, write
from tests.support.kinds import job, pytorch, root, template

OTHER = "other"
QUEUE = "osmo-pool-default-team--shared"


def cron_job(label: str, value: str) -> str:
    run = f"metadata: {{labels: {{{label}: {value}}}}}, spec: {{template: {template()}}}"
    return f"{root('CronJob', 'nightly')}spec: {{jobTemplate: {{{run}}}}}\n"


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
    [("kai.scheduler/queue", QUEUE), ("priorityClassName", "osmo-normal")],
    ids=["queue", "priority"],
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
