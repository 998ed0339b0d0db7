"""Tests what is known of running work in subpools: what the user says, what clusters say, and what nobody says."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from kubectl_tas.base.diagnostics import TasError
from kubectl_tas.edit.subpool_edits import Usage, ask, reason
from kubectl_tas.facts.quantities import NOTHING, Amounts
from kubectl_tas.live.live_cluster import Cluster, Clusters, ClusterState, LiveQueueUsage, RunningGroup, state_of
from kubectl_tas.resolve.fleet import Fleet
from tests.support.cli import pool, subpool
from tests.support.fleets import fleet_of
from tests.support.kubectl import pod_group, queue

CONFIG = "apiVersion: tas/v1alpha1\nkind: Config\nspec: {backends: [{name: east}, {name: west}]}\n"
A, B = "osmo-pool-default-team--a", "osmo-pool-default-lab--b"
INSTEAD = "If there is no cluster to ask, pass --used N (GPUs in use) or --cluster-state FILE."
UNTOLD = "cannot tell whether anything runs there: "


@pytest.fixture(scope="module")
def fleet() -> Fleet:
    return fleet_of(
        {
            "tas.yaml": CONFIG,
            "pools/team.yaml": pool(spec="  backend: east\n"),
            "pools/lab.yaml": pool("lab", spec="  backend: west\n"),
            "subpools/a.yaml": subpool("a", 8, state="DELETING"),
            "subpools/b.yaml": subpool("b", 8, parent="lab", state="DELETING"),
        }
    )


class Told(Cluster):
    """A cluster that says this, or gives no answer."""

    def __init__(self, state: ClusterState | TasError) -> None:
        object.__setattr__(self, "said", state)

    def state(self) -> ClusterState:
        said: ClusterState | TasError = self.said  # type: ignore[attr-defined]
        if isinstance(said, TasError):
            raise said
        return said


def asked(fleet: Fleet, names: Sequence[str], **states: ClusterState | TasError) -> Usage:
    subpools = [item for pool_ in fleet.pools for item in pool_.subpools if item.name in names]
    return ask(fleet, Clusters({name: Told(state) for name, state in states.items()}), subpools)


def test_each_cluster_tells_of_its_own_subpools(fleet: Fleet) -> None:
    east = state_of([queue(A, 8), queue(B, 4), pod_group(A, running=1), pod_group(B, running=1)])
    west = state_of([queue(B, 0)])
    found = asked(fleet, "ab", east=east, west=west)
    assert {name: usage.in_use for name, usage in found.queues.items()} == {"team--a": True, "lab--b": False}
    assert {name: len(groups) for name, groups in found.running.items()} == {"team--a": 1, "lab--b": 0}
    assert found.failed == {}
    assert asked(fleet, "", east=TasError("no")) == Usage()


FAILED: dict[str, tuple[ClusterState | TasError, str, str]] = {
    "no answer": (TasError("refused", hint="Wait."), "refused", ""),
    "no queues in a file": (ClusterState({}, lacks=TasError("no Queue", hint="Add it.")), "no Queue", "Add it. "),
    "another cluster": (
        state_of([queue("other", 1)]),
        f"the cluster has no queue {B}",
        "Name the right cluster with --context. ",
    ),
}


@pytest.mark.parametrize("name", FAILED)
def test_a_cluster_that_does_not_tell(fleet: Fleet, name: str) -> None:
    """The only one that is asked is an error; of several the others count."""
    state, message, hint = FAILED[name]
    found = asked(fleet, "ab", east=state_of([queue(A, 8)]), west=state)
    assert list(found.queues) == ["team--a"]
    ((backend, error),) = found.failed.items()
    assert (backend, error.message, error.hint) == ("west", UNTOLD + message, hint + INSTEAD)
    with pytest.raises(TasError) as raised:
        asked(fleet, "b", west=state)
    assert (raised.value.message, raised.value.hint) == (UNTOLD + message, hint + INSTEAD)


def usage(gpus: int, workflows: int = 0, doubt: str = "") -> LiveQueueUsage:
    return LiveQueueUsage(Amounts(gpus), NOTHING, workflows, doubt)


IN_DOUBT = "of the queue osmo-pool-default-team--a the cluster does not say what it holds: odd"


@pytest.mark.parametrize(
    ("given", "in_use", "said", "hint", "doubt"),
    [
        (Usage(given_gpus=0), False, "", "", ""),
        (Usage(given_gpus=1), True, "", "", ""),
        (Usage(queues={"team--a": usage(0)}), False, "", "", ""),
        (Usage(queues={"team--a": usage(1)}), True, "", "", ""),
        (
            Usage(queues={"team--a": usage(0, doubt="odd")}),
            None,
            IN_DOUBT,
            "",
            "; it is unknown whether anything runs there: odd. If nothing runs, pass --used 0",
        ),
        (Usage(), None, "the subpool was changed while the cluster was asked", "Run again. ", ""),
    ],
)
def test_whether_work_runs(fleet: Fleet, given: Usage, in_use: bool | None, said: str, hint: str, doubt: str) -> None:
    item = fleet.pool_by_name["team"].subpools[0]
    assert (given.in_use(item), given.doubt(item)) == (in_use, doubt)
    if in_use is not None:
        assert given.must_be_known(item) is in_use
        return
    with pytest.raises(TasError) as raised:
        given.must_be_known(item)
    assert (raised.value.message, raised.value.hint) == (UNTOLD + said, hint + INSTEAD)


def group(work: str, gpus: int, namespace: str = "ml") -> RunningGroup:
    return RunningGroup(namespace, "g", A, (), Amounts(gpus), work)


@pytest.mark.parametrize(
    ("running", "said"),
    [
        ([], "work still runs there"),
        (
            [group("Job/b", 1), group("Job/a", 0)],
            "still running: Job/a (in namespace ml), Job/b (1 GPU in namespace ml)",
        ),
        ([group("Job/b", 2), group("Job/b", 3)], "still running: Job/b (5 GPUs in namespace ml)"),
        (
            [group("Job/b", 2), group("Job/b", 3, "other")],
            "still running: Job/b (2 GPUs in namespace ml), Job/b (3 GPUs in namespace other)",
        ),
        (
            [group(f"Job/{number}", 0) for number in range(7)],
            f"still running: {', '.join(f'Job/{number} (in namespace ml)' for number in range(5))} and 2 more",
        ),
    ],
)
def test_why_a_subpool_still_drains(fleet: Fleet, running: list[RunningGroup], said: str) -> None:
    item = fleet.pool_by_name["team"].subpools[0]
    assert reason(fleet, item, Usage(queues={"team--a": usage(8)}, running={"team--a": running})) == f"; {said}"
    assert reason(fleet, item, Usage(given_gpus=0)) == ""
