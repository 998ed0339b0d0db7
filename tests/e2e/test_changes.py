"""Tests how changes of pools, quotas and files affect running work, on a cluster that runs KAI."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.cli import kubectl_tas, pool, subpool, write
from tests.support.running import QUEUE, SCHEDULING, Running
from tests.support.sleeping import LEVELS, RESEARCH, SHARED, TAS, job, nodes, workflow

pytestmark = pytest.mark.e2e


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A pool of 32 GPUs, 16 of them a subpool's."""
    files = {"tas.yaml": TAS, "pools/team.yaml": pool(guarantee=32, spec=LEVELS)}
    return write(tmp_path / "repository", files | {"subpools/research.yaml": subpool("research", 16)})


def test_a_higher_quota_lets_waiting_work_start(kai: Running, root: Path) -> None:
    kai.have_nodes(nodes(4))
    write(root, {"workflows/a.yaml": workflow("a", 2, 8), "workflows/b.yaml": workflow("b", 1, 8)})
    kai.apply(root)
    kai.wait("one of them runs", kai.bound)
    assert len(kai.settled()) in (1, 2)
    waiting = "a" if len(kai.bound()) == 1 else "b"
    assert kai.state(root, waiting) == "waits"
    assert kubectl_tas("-C", root, "subpool", "update", "team", "research", "--quota=24").code == 0
    kai.apply(root)
    kai.wait("all run", lambda: len(kai.bound()) == 3)
    kai.wait("its queue is charged", lambda: kai.held(RESEARCH) == 24)


def test_a_quota_below_what_is_used_ends_nothing(kai: Running, root: Path) -> None:
    kai.have_nodes(nodes(4))
    write(root, {"workflows/a.yaml": workflow("a", 2, 8)})
    kai.apply(root)
    kai.wait("it runs", lambda: len(kai.bound()) == 2)
    kai.wait("its queue is charged", lambda: kai.held(RESEARCH) == 16)
    placed = kai.settled()
    assert kubectl_tas("-C", root, "subpool", "update", "team", "research", "--quota=8").code == 0
    kai.apply(root)
    assert kai.settled() == placed
    assert kai.held(RESEARCH) == 16
    assert kai.queue(RESEARCH)["spec"]["resources"]["gpu"]["quota"] == 8


def test_a_drained_subpool_is_archived_when_its_work_has_ended(kai: Running, root: Path) -> None:
    kai.have_nodes(nodes(4))
    write(root, {"workflows/a.yaml": workflow("a", 1, 8)})
    before = kai.apply(root)
    kai.wait("it runs", lambda: kai.held(RESEARCH) == 8)
    placed = kai.settled()
    deleted = kai.tas(root, "subpool", "retire", "team", "research")
    assert "ACTIVE -> DELETING" in deleted.out + deleted.err
    kai.apply(root)
    assert kai.settled() == placed
    (pod,) = kai.pods().values()
    kai.api.end(pod)
    (root / "workflows/a.yaml").unlink()
    kai.prune(before, after := kai.apply(root))
    kai.wait("its queue is idle", lambda: kai.held(RESEARCH) == 0)
    drained = kai.tas(root, "subpool", "drain")
    assert drained.code == 0, drained.err
    kai.prune(after, kai.apply(root))
    assert kai.queue(RESEARCH) == {}
    assert kai.queue(SHARED)["spec"]["resources"]["gpu"]["quota"] == 32


def test_after_a_rename_what_runs_stays_in_the_old_queue(kai: Running, root: Path) -> None:
    kai.have_nodes(nodes(4))
    write(root, {"workflows/a.yaml": job("a", 2, 8, pool="team--research")})
    before = kai.apply(root)
    kai.wait("it runs", lambda: len(kai.bound()) == 2)
    placed = kai.settled()
    assert kubectl_tas("-C", root, "pool", "rename", "team", "crew").code == 0
    after = kai.rendered(root)
    (work,) = [path for path, item in after.items() if item["kind"] == "Job"]
    refused = kai.kubectl("apply", "--server-side", files=[work])
    assert "field is immutable" in refused.stderr
    kai.must("apply", "--server-side", files=[path for path in after if path != work])
    kai.prune(before, after)
    assert kai.settled() == placed
    (group,) = kai.api.items(f"{SCHEDULING}/v2alpha2/podgroups")
    assert group["spec"]["queue"] == RESEARCH
    assert kai.queue(RESEARCH) == {}
    assert {pod["metadata"]["labels"][QUEUE] for pod in kai.pods().values()} == {RESEARCH}


def test_removed_work_is_pruned_and_its_queue_is_idle(kai: Running, root: Path) -> None:
    kai.have_nodes(nodes(4))
    write(root, {"workflows/a.yaml": workflow("a", 2, 8), "workflows/b.yaml": job("b", 2, 4)})
    before = kai.apply(root)
    kai.wait("all run", lambda: len(kai.bound()) == 4)
    (root / "workflows/a.yaml").unlink()
    (root / "workflows/b.yaml").unlink()
    kai.prune(before, kai.apply(root))
    kai.wait("nothing is left", lambda: not kai.api.items("/api/v1/namespaces/ml/pods"))
    kai.wait("no queue is charged", lambda: not kai.held(RESEARCH) and not kai.held(SHARED))
    assert kai.api.items(f"{SCHEDULING}/v2alpha2/podgroups") == []


def test_a_gang_takes_the_place_of_a_flood_of_low_work(kai: Running, root: Path) -> None:
    kai.have_nodes(nodes(4))
    write(root, {f"workflows/low-{number}.yaml": job(f"low-{number}", 4, 4) for number in range(3)})
    kai.apply(root)
    kai.wait("the flood has all GPUs", lambda: len(kai.bound()) == 8)
    kai.settled()
    write(root, {"workflows/high.yaml": workflow("high", 2, 8, "HIGH")})
    (scheduler,) = kai.answers(root, "fit", "--all")["schedulers"]
    (plan,) = [gang for gang in scheduler["gangs"] if gang["workflow"] == "high"]
    kai.apply(root)
    kai.wait("the gang runs", lambda: sum(name.startswith("high") for name in kai.bound()) == 2)
    placed = kai.settled()
    assert sum(name.startswith("low") for name in placed) == 4
    assert plan["outcome"] == "evicts", plan
