"""Tests the tool's own labels at places where nothing reads them."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.cli import kubectl_tas, pool, write
from tests.support.kinds import RUN, Pairs, root, template

LOW = {"kubectl-tas/priority": "LOW"}


def job(labels: Pairs, own: Pairs | None = None) -> str:
    return f"{root('Job', 'sweep', own)}spec: {{template: {template(labels=labels, spec=RUN)}}}\n"


def cron_job(labels: Pairs) -> str:
    text = ", ".join(f"{name}: {value}" for name, value in labels.items())
    return (
        f"{root('CronJob', 'nightly')}spec: {{schedule: '@daily', jobTemplate: {{metadata: {{labels: {{{text}}}}}, "
        f"spec: {{template: {template(spec=RUN)}}}}}}}\n"
    )


def ray_job(labels: Pairs) -> str:
    return (
        f"{root('RayJob', 'tune')}spec: {{entrypoint: x, "
        f"rayClusterSpec: {{headGroupSpec: {{template: {template()}}}}}, "
        f"submitterPodTemplate: {template(labels=labels)}}}\n"
    )


def train_job(labels: Pairs) -> str:
    text = ", ".join(f"{name}: {value}" for name, value in labels.items())
    return f"{root('TrainJob', 'tune')}spec: {{labels: {{{text}}}}}\n"


def annotated(labels: Pairs) -> str:
    return f"{root('Job', 'sweep')}spec: {{template: {template(labels, spec=RUN)}}}\n"


@pytest.mark.parametrize("make", [job, cron_job, ray_job, train_job, annotated])
@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("kubectl-tas/gang", "x"),
        ("kubectl-tas/priority", "LOW"),
        ("kubectl-tas/podgroup", "owned"),
        ("kubectl-tas/pool", "a"),
    ],
)
def test_a_label_on_pods_is_an_error(repository: Path, make, name: str, value: str) -> None:  # type: ignore[no-untyped-def]
    text = make({name: value})
    write(repository, {"pools/p.yaml": pool(), "workflows/w.yaml": text})
    out = kubectl_tas("validate", "-C", repository).out
    line = next(number for number, line in enumerate(text.splitlines(), 1) if f"{name}: " in line and number > 6)
    assert f"workflows/w.yaml:{line}:" in out
    assert f"{name} is read on the workload itself, not on " in out
    assert "Move it to metadata.labels of the " in out
    assert "[workload-label]" in out


def test_the_same_label_on_both_says_nothing_else(repository: Path) -> None:
    write(repository, {"pools/p.yaml": pool(), "workflows/w.yaml": job({"kubectl-tas/pool": "team", **LOW}, LOW)})
    assert kubectl_tas("validate", "-C", repository).out.startswith("No problems")


def test_without_a_pool_too(repository: Path) -> None:
    text = job({"kubectl-tas/pool": "team"}).replace('labels: {kubectl-tas/pool: "team"}', "labels: {}", 1)
    write(repository, {"pools/p.yaml": pool(), "workflows/w.yaml": text})
    out = kubectl_tas("validate", "-C", repository).out
    assert "[workload-label]" in out
    assert "[workload-pool]" not in out  # which follows from it
