"""Tests verdicts on work: their words and hints, and that the quick verdict equals the complete one."""

from __future__ import annotations

import pytest
import yaml

from kubectl_tas.base.diagnostics import Diagnostic, Location, Rule, Severity, TasError
from kubectl_tas.facts.quantities import Amounts
from kubectl_tas.gangs.admission import Admission, answers, over_quota_amounts, split_findings
from kubectl_tas.load.loading import load_repository
from kubectl_tas.load.source import FolderSource
from kubectl_tas.resolve.fleet import resolve
from tests.support.cli import pool, subpool
from tests.support.fleets import fleet_of
from tests.support.golden import case_input, rule_cases
from tests.support.judged import told
from tests.support.workloads import template, workload


@pytest.mark.sweep
def test_what_has_room_is_admitted() -> None:
    said: dict[bool, set[str]] = {True: set(), False: set()}
    for case in rule_cases():
        fleet = resolve(load_repository(FolderSource(case_input(case))).repository)
        admission = Admission(fleet)
        for item in fleet.submissions:
            verdict = admission.verdict(item)
            said[admission.is_admitted(item)].add(verdict.outcome)
            assert verdict.rule is None or not admission.is_admitted(item), case
    assert said == {
        True: {"admitted", "draining", "unknown"},
        False: {"pending", "rejected", "unschedulable", "draining"},
    }


def job(name: str, gpus: int, pods: int = 1, where: str = "team", gang: str = "", priority: str = "NORMAL") -> str:
    """A PyTorchJob with pods of so many GPUs."""
    labels = {"kubectl-tas/pool": where, "kubectl-tas/priority": priority}
    labels |= {"kubectl-tas/gang": gang} if gang else {}
    types = {"Worker": {"replicas": pods, "template": template(gpus)}}
    text: str = yaml.safe_dump(workload("kubeflow.org/v1", "PyTorchJob", name, labels, {"pytorchReplicaSpecs": types}))
    return text


def workflow(name: str, groups: int, tasks: int, gpus: int = 8, **amounts: str) -> str:
    """A workflow with gangs of so many tasks."""
    spec = [
        {"name": f"g{group}", "tasks": [{"name": f"t{group}-{task}", "image": "i"} for task in range(tasks)]}
        for group in range(groups)
    ]
    resource: dict[str, object] = {"gpu": gpus, **amounts}
    return str(
        yaml.safe_dump(
            {"workflow": {"name": name, "pool": "team", "groups": spec}, "resources": {"default": resource}},
            sort_keys=False,
        )
    )


PLAIN = {"pools/team.yaml": pool()}
SPLIT = {**PLAIN, "subpools/a.yaml": subpool("a", 60), "subpools/b.yaml": subpool("b", 30)}
BOUNDED = {"pools/team.yaml": pool(guarantee=50, spec="      maximum: 80\n")}
FREE = {"pools/team.yaml": pool(guarantee=-1)}
CORES = {"pools/team.yaml": pool(spec="    cpu: {guarantee: 10}\n    memory: {guarantee: 64Gi}\n")}


@pytest.mark.parametrize(
    ("pools", "work", "verdict"),
    [
        (PLAIN, [job("x", 8, 2), job("y", 8, 3)], "admitted: 24 of 100 GPUs of team are used, it asks for 16"),
        (
            CORES,
            [workflow("x", 1, 1, 1, cpu="4", memory="16Gi")],
            "admitted: 0 of 100 GPUs of team are used, it asks for 1; 0 of 10 cpu of team are used, it asks for 4; "
            "0 of 64Gi memory of team are used, it asks for 16Gi",
        ),
        (
            PLAIN,
            [job("x", 8, 14, priority="LOW"), job("y", 8, 2)],
            "admitted: 84 GPUs in quota, 28 over quota, preemptible",
        ),
        (
            PLAIN,
            [job("x", 8, 1, gang="g", priority="LOW")],
            'admitted: 8 GPUs in quota, 0 over quota, asked for the gang "g", preemptible',
        ),
        (PLAIN, [job("x", 0)], "admitted: no GPUs asked, so no quota is needed"),
        (PLAIN, [job("x", 0, gang="g")], 'admitted: no GPUs asked for the gang "g", so no quota is needed'),
        (FREE, [job("x", 8, 2)], "admitted: 16 GPUs; the quota of team has no limit"),
        (FREE, [job("x", 1, gang="g")], 'admitted: 1 GPU for the gang "g"; the quota of team has no limit'),
        (
            SPLIT,
            [job("x", 8, 4, "team--a"), job("y", 8, 4, "team--a")],
            "pending: it asks for 32 GPUs, others use 32; the quota of team--a is 60: it stays Pending "
            "(Wait until others of the queue have ended, or use priority LOW.)",
        ),
        (
            SPLIT,
            [job("x", 8, 1, "team--a", "g"), job("y", 8, 7, "team--a")],
            'pending: it asks for 8 GPUs for the gang "g", others use 56; the quota of team--a is 60: it stays Pending '
            "(Wait until others of the queue have ended, use priority LOW for all of the gang, "
            "or use team--b (30 free) or team (10 free) for all of the gang.)",
        ),
        (
            PLAIN,
            [workflow("x", 4, 4)],
            "pending: it asks for 128 GPUs; the quota of team is 100: not all of it can run at once "
            "(Ask for 100 or less, or use priority LOW.)",
        ),
        (
            PLAIN,
            [workflow("x", 2, 6), job("y", 8, 1)],
            "pending: it asks for 96 GPUs, others use 8; the quota of team is 100: not all of it can run at once "
            "(Wait until others of the queue have ended, or use priority LOW.)",
        ),
        (
            PLAIN,
            [workflow("x", 2, 6), job("y", 8, 7)],
            "pending: it asks for 96 GPUs, others use 56; the quota of team is 100: it stays Pending "
            "(Wait until others of the queue have ended, or use priority LOW.)",
        ),
    ],
)
def test_verdicts_on_work_that_may_start(pools: dict[str, str], work: list[str], verdict: str) -> None:
    fleet = fleet_of({**pools, **{f"workflows/{number}.yaml": text for number, text in enumerate(work)}})
    (found,) = (Admission(fleet).verdict(item) for item in fleet.submissions if item.name == "x")
    assert f"{found.outcome}: {found.text}{found.hint and f' ({found.hint})'}" == verdict


@pytest.mark.parametrize(
    ("pools", "work", "rule", "message"),
    [
        (
            PLAIN,
            job("x", 8, 13),
            "over-quota",
            "a gang needs 104 GPUs; the quota of team is 100: it can never start "
            "(Ask for 100 or less, or use priority LOW.)",
        ),
        (
            PLAIN,
            job("x", 8, 13, gang="g"),
            "over-quota",
            'the gang "g" needs 104 GPUs; the quota of team is 100: it can never start '
            "(Let the gang ask for 100 or less, or use priority LOW for all of the gang.)",
        ),
        (
            SPLIT,
            job("x", 8, 5, "team--b"),
            "over-quota",
            "a gang needs 40 GPUs; the quota of team--b is 30: it can never start "
            "(Ask for 30 or less, use priority LOW, or use team--a (60 free).)",
        ),
        (
            SPLIT,
            job("x", 8, 2),
            "over-shared-quota",
            "it asks for 16 GPUs; the subpools leave 10 to pool team "
            "(Ask for 10 or less, use priority LOW, or use team--a (60 free) or team--b (30 free).)",
        ),
        (
            SPLIT,
            job("x", 8, 2, gang="g"),
            "over-shared-quota",
            'the gang "g" asks for 16 GPUs; the subpools leave 10 to pool team (Let the gang ask for 10 or less, use '
            "priority LOW for all of the gang, or use team--a (60 free) or team--b (30 free) for all of the gang.)",
        ),
        (
            BOUNDED,
            job("x", 8, 11),
            "over-quota",
            "a gang needs 88 GPUs; the maximum of pool team is 80: it can never start "
            "(Ask for 50 or less, or use priority LOW and ask for 80 or less.)",
        ),
        (
            BOUNDED,
            job("x", 8, 11, priority="LOW"),
            "over-quota",
            "a gang needs 88 GPUs; the maximum of pool team is 80: it can never start (Ask for 80 or less.)",
        ),
        (
            {"pools/team.yaml": pool(guarantee=0, spec="      maximum: 0\n")},
            job("x", 8, priority="LOW"),
            "over-quota",
            "a gang needs 8 GPUs; the maximum of pool team is 0: it can never start (Raise the maximum of pool team.)",
        ),
        (
            {"pools/team.yaml": pool(guarantee=1, spec="      maximum: 1\n")},
            job("x", 8, priority="LOW"),
            "over-quota",
            "a gang needs 8 GPUs; the maximum of pool team is 1: it can never start (Ask for 1 or less.)",
        ),
        (
            {"pools/team.yaml": pool(guarantee=0)},
            job("x", 8),
            "over-quota",
            "a gang needs 8 GPUs; the quota of team is 0: it can never start (Use priority LOW.)",
        ),
        (
            CORES,
            workflow("x", 1, 1, 1, cpu="11", memory="80Gi"),
            "over-quota",
            "a gang needs 11 cpu; the quota of team is 10: it can never start "
            "(Ask for 10 cpu and 64Gi memory or less, or use priority LOW.)",
        ),
        *(
            (
                {**SPLIT, "subpools/c.yaml": subpool("c", 0, state=state)},
                text,
                "subpool-closed",
                f"subpool team--c is {state} and takes no {work} (Use team--a (60 free) or team--b (30 free).)",
            )
            for state in ("DELETING", "ARCHIVED")
            for work, text in (
                ("workloads", job("x", 8, 2, "team--c")),
                ("workflows", workflow("x", 1, 2).replace("pool: team", "pool: team--c")),
            )
        ),
        (
            {**SPLIT, "subpools/c.yaml": subpool("c", 0, state="ARCHIVED")},
            job("x", 8, 20, "team--c"),
            "subpool-closed",
            "subpool team--c is ARCHIVED and takes no workloads (Use team--a, team--b or team.)",
        ),
    ],
)
def test_work_that_can_never_start(pools: dict[str, str], work: str, rule: str, message: str) -> None:
    (line,) = told({**pools, "workflows/w.yaml": work})
    assert line.partition(" ")[2] == f"{rule}: {message}"


class Used:
    """What a cluster says of a queue."""

    running = None

    def __init__(self, gpus: int | None) -> None:
        self.used = None if gpus is None else Amounts(gpu=gpus)

    def unknown(self, queue: str) -> str:
        return f"nobody knows what {queue} holds"


TEAM = "osmo-pool-default-team--shared"


@pytest.mark.parametrize(
    ("queues", "used", "message", "hint"),
    [
        ({}, None, f"the cluster has no queue {TEAM}", "Name the right cluster, or pass --used N."),
        (
            {TEAM: Used(None)},
            None,
            f"nobody knows what {TEAM} holds",
            "Look at it with kubectl, or pass --used N.",
        ),
        (
            {TEAM: Used(90)},
            None,
            "it asks for 16 GPUs, others use 90; the quota of team is 100: it stays Pending",
            None,
        ),
        ({TEAM: Used(90)}, 95, "it asks for 16 GPUs, others use 95; the quota of team is 100: it stays Pending", None),
        ({}, 4, "4 of 100 GPUs of team are used, it asks for 16", None),
        (None, None, "8 of 100 GPUs of team are used, it asks for 16", None),
        (None, 4, "4 of 100 GPUs of team are used, it asks for 16", None),
    ],
)
def test_what_others_use(queues: dict[str, Used] | None, used: int | None, message: str, hint: str | None) -> None:
    fleet = fleet_of({**PLAIN, "workflows/x.yaml": job("x", 8, 2), "workflows/y.yaml": job("y", 8)})
    items = [item for item in fleet.submissions if item.name == "x"]
    if hint is None:
        (found,) = answers(fleet, items, used, queues)
        assert found.verdict.text == message
        return
    with pytest.raises(TasError) as caught:
        answers(fleet, items, used, queues)
    assert (caught.value.message, caught.value.hint) == (message, hint)


def test_of_a_gang_only_what_is_sent_now_is_new() -> None:
    gang = [job("x", 8, 6, gang="g"), job("y", 8, 2, gang="g")]
    fleet = fleet_of({**PLAIN, **{f"workflows/{number}.yaml": text for number, text in enumerate(gang)}})
    items = [item for item in fleet.submissions if item.name == "y"]
    for queues, used in (({TEAM: Used(48)}, None), (None, 48)):
        (found,) = answers(fleet, items, used, queues)
        assert found.verdict.text == (
            '48 of 100 GPUs of team are used, it asks for 16 for the gang "g" (the rest of it counts as used)'
        )
    (found,) = answers(fleet, items, 90, None)
    assert found.verdict.text == (
        'it asks for 16 GPUs for the gang "g" (the rest of it counts as used), others use 90; '
        "the quota of team is 100: it stays Pending"
    )


def test_what_overquota_is_to_list() -> None:
    asks = Amounts(gpu=12, cpu=2500, memory=5 * 1024**2 + 1)
    assert over_quota_amounts(asks, ("gpu", "cpu", "memory")) == {"gpu": 12, "cpu": "2.5", "memory": "6Mi"}


@pytest.mark.parametrize("is_new", [False, True])
def test_findings_that_prevent_an_answer_and_others(is_new: bool) -> None:
    """A file outside of the repository may send what the repository has already."""
    rules = ("over-quota", "over-shared-quota", "subpool-closed", "name-duplicate", "name-collision", "pool-unknown")
    found = [
        Diagnostic(Rule(code, Severity.ERROR, "", ""), "", place)
        for code in rules
        for place in (Location("w.yaml"), Location("x.yaml"), None)
    ]
    own, others = split_findings(found, "w.yaml", is_new=is_new)
    twice = [] if is_new else ["name-duplicate", "name-collision"]
    assert [item.rule.code for item in own] == [*twice, "pool-unknown"]
    assert all(item.location == Location("w.yaml") for item in own)
    assert [item.rule.code for item in others] == ["pool-unknown"] * 3
