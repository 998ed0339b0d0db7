"""Tests that the first cause of `workflow why` is the cause that the test gave to a cluster."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.support.cli import pool, subpool, write
from tests.support.running import Running
from tests.support.sleeping import LEVELS, RESEARCH, TAS, job, nodes, workflow

pytestmark = pytest.mark.e2e
Change = Callable[[Running], object]


def nothing(kai: Running) -> None:
    """The cluster stays as it is."""


@dataclass(frozen=True)
class Cause:
    """Work ``w`` that waits in a cluster of six nodes of 8 GPUs, in three racks."""

    work: str
    words: tuple[str, ...]
    """What stands in the first cause, in our words or in the cluster's."""
    others: str = ""
    """Work that runs before."""
    before: Change = nothing
    """What is done to the cluster before the work comes."""
    after: Change = nothing
    """What is done to it once the work is there."""


def deleted(kind: str, name: str) -> Change:
    return lambda kai: kai.must("delete", kind, *name.split())


def first_pod_fails(kai: Running) -> None:
    kai.wait("it runs", lambda: len(kai.bound()) == 2)
    kai.api.end(next(iter(kai.pods().values())), failed=True)


def in_one_rack(text: str) -> str:
    return text.replace("gpu: 8}", "gpu: 8, topology: [{key: rack, group: all}]}")


def with_field(text: str, field: str) -> str:
    """The Job with a further field of its pods."""
    return text.replace("      restartPolicy", f"      {field}\n      restartPolicy")


TOPOLOGY = "osmo-pool-ml-team-topology"
CAUSES = {
    "over quota": Cause(workflow("w", 2, 8), ("16 GPUs", "team--research"), workflow("a", 1, 8)),
    "over the limit": Cause(workflow("w", 4, 8, "LOW", "team"), ("64",), job("a", 5, 8)),
    "no such queue": Cause(workflow("w", 1, 8), (RESEARCH,), before=deleted("queues.scheduling.run.ai", RESEARCH)),
    "no such topology": Cause(
        in_one_rack(workflow("w", 2, 8)), (TOPOLOGY,), before=deleted("topologies.kai.scheduler", TOPOLOGY)
    ),
    "no rack has room": Cause(in_one_rack(workflow("w", 3, 8, "LOW", "team")), ("can allocate only",)),
    "nodes too small": Cause(job("w", 1, 9), ("GPU: 9",)),
    "no node has the label": Cause(with_field(job("w", 1, 8), "nodeSelector: {disk: ssd}"), ("node",)),
    "others hold all": Cause(workflow("w", 2, 8, "LOW", "team"), ("node",), job("a", 5, 8)),
    "not enough pods": Cause(
        workflow("w", 2, 4), ("1 of the 2 pods",), after=deleted("pod", "--namespace=ml --selector=kubectl-tas/task=t0")
    ),
    "a pod failed": Cause(workflow("w", 2, 4), ("failed",), after=first_pod_fails),
    "no such service account": Cause(with_field(job("w", 1, 8), "serviceAccountName: trainer"), ("serviceaccount",)),
}


@pytest.mark.parametrize("name", CAUSES)
def test_why_names_the_cause(name: str, kai: Running, tmp_path: Path) -> None:
    cause = CAUSES[name]
    files = {"tas.yaml": TAS, "pools/team.yaml": pool(guarantee=48, spec="      maximum: 64\n" + LEVELS)}
    root = write(tmp_path / "repository", files | {"subpools/research.yaml": subpool("research", 16)})
    kai.have_nodes(nodes(6))
    if cause.others:
        write(root, {"workflows/a.yaml": cause.others})
    shared = kai.apply(root)
    if cause.others:
        kai.wait("others run", kai.bound)
        kai.settled()
    cause.before(kai)
    write(root, {"workflows/w.yaml": cause.work})
    kai.must("apply", "--server-side", files=[path for path in kai.rendered(root) if path not in shared])
    kai.wait("it is there", lambda: kai.pods() or "service" in name)
    cause.after(kai)
    kai.settled()
    (found,) = kai.answers(root, "workflow", "why", "w")["workflows"]
    first = json.dumps(found["causes"][:1])
    assert [word for word in cause.words if word not in first] == [], first
