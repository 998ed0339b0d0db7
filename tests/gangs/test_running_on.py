"""Tests which work may run on beyond its quota, by what its cluster or an earlier revision has of it."""

from __future__ import annotations

import pytest

from kubectl_tas.facts.quantities import Amounts
from kubectl_tas.gangs.admission import Admission
from kubectl_tas.gangs.lasting import Past
from kubectl_tas.gangs.podgrouper import pod_group_name
from kubectl_tas.gangs.workflow_gang import gangs_of_workflow
from kubectl_tas.live.live_cluster import RunningGroup
from kubectl_tas.resolve.pools import Submission
from tests.support.cli import pool, subpool
from tests.support.fleets import fleet_of
from tests.support.grove import clique, clique_set

RESOURCES = "  resources: {large: {gpu: 1, cpu: 2, memory: 1Gi}, small: {gpu: 1, cpu: 2, memory: 1Gi}}"
QUEUE = "osmo-pool-default-team--shared"


def job(name: str = "big", gpus: int = 40, labels: str = "") -> str:
    return f"""\
apiVersion: batch/v1
kind: Job
metadata: {{name: {name}, labels: {{kubectl-tas/pool: team{labels}}}}}
spec:
  parallelism: 1
  template:
    spec:
      restartPolicy: Never
      containers: [{{name: c, image: i, resources: {{limits: {{nvidia.com/gpu: {gpus}}}}}}}]
"""


def workflow(name: str = "big") -> str:
    """A workflow with a gang of 40 GPUs and one of 1 GPU."""
    groups = "".join(
        f"  - {{name: {g}, tasks: [{{name: {g}, image: i, resource: {g}}}]}}\n" for g in ("large", "small")
    )
    resources = "  resources: {large: {gpu: 40}, small: {gpu: 1}}\n"
    return f"workflow:\n  name: {name}\n  pool: team\n  groups:\n{groups}{resources}"


POD_GROUP = f"""\
apiVersion: scheduling.run.ai/v2alpha2
kind: PodGroup
metadata: {{name: big, namespace: default}}
spec: {{queue: {QUEUE}, minMember: 1, preemptibility: non-preemptible}}
---
apiVersion: v1
kind: Pod
metadata: {{name: p, namespace: default, annotations: {{pod-group-name: big}}}}
spec: {{restartPolicy: Never, containers: [{{name: c, image: i, resources: {{limits: {{nvidia.com/gpu: 40}}}}}}]}}
"""


def group(
    name: str, *owners: tuple[str, str], gpus: int = 40, queue: str = QUEUE, namespace: str = "default"
) -> RunningGroup:
    return RunningGroup(namespace, name, queue, owners, Amounts(gpus))


def outcome(work: str, *running: RunningGroup) -> str:
    """What becomes of work that asks for 40 GPUs of 30."""
    fleet = fleet_of({"pools/p.yaml": pool(guarantee=30), "workflows/w.yaml": work})
    (item,) = fleet.submissions
    found = Admission(fleet, Past(None, {"default": running})).verdict(item)
    assert ("it runs in the cluster, so it may run on" in found.text) == (found.outcome == "draining")
    return found.outcome


def own_name(text: str) -> str:
    """The name of the PodGroup that the tool writes for a Job."""
    (item,) = fleet_of({"pools/p.yaml": pool(), "workflows/w.yaml": text}).workloads
    return pod_group_name(item)


class TestCluster:
    OWNED = job(labels=", kubectl-tas/podgroup: owned")

    @pytest.mark.parametrize(
        ("running", "runs"),
        [
            (group("any", ("Job", "big")), True),
            (group("any", ("Job", "other")), False),
            (group("any", ("CronJob", "big")), False),
            (group("any", ("Job", "big"), gpus=39), False),
            (group("any", ("Job", "big"), queue="another"), False),
            (group("any", ("Job", "big"), namespace="another"), False),
        ],
    )
    def test_a_job(self, running: RunningGroup, runs: bool) -> None:
        assert outcome(job(), running) == ("draining" if runs else "unschedulable")

    def test_a_job_whose_podgroup_the_tool_writes(self) -> None:
        name = own_name(self.OWNED)
        assert outcome(self.OWNED, group(name)) == "draining"
        assert outcome(self.OWNED, group("pg-big", ("Job", "big"))) == "unschedulable"

    def test_a_podgroup(self) -> None:
        assert outcome(POD_GROUP, group("big")) == "draining"
        assert outcome(POD_GROUP, group("other", ("PodGroup", "big"))) == "unschedulable"

    @pytest.mark.parametrize(
        ("owner", "runs"),
        [
            (("PodGang", "chat-0"), True),
            (("PodGang", "chat-0-workers-1"), True),
            (("PodGang", "chat-other-0"), False),
            (("PodGang", "chat-0x-0"), False),
            (("PodGang", "chat"), False),
            (("Job", "chat-0"), False),
        ],
    )
    def test_a_set(self, owner: tuple[str, str], runs: bool) -> None:
        work = clique_set(cliques=clique(gpus=40))
        assert outcome(work, group("any", owner)) == ("draining" if runs else "unschedulable")

    def test_of_a_workflow_only_gangs_that_are_too_large(self) -> None:
        fleet = fleet_of({"pools/p.yaml": pool(), "workflows/w.yaml": workflow()})
        large, small = (gang.name for gang in gangs_of_workflow(fleet, fleet.workflows[0]))
        assert outcome(workflow(), group(large)) == "draining"
        assert outcome(workflow(), group(small)) == "unschedulable"


class TestBase:
    """Work that was there before the quota was lowered."""

    def verdicts(self, before: dict[str, str], after: dict[str, str]) -> dict[str, str]:
        old = fleet_of({"pools/p.yaml": pool(guarantee=50), **before})
        new = fleet_of({"pools/p.yaml": pool(guarantee=30), **after})
        admission = Admission(new, Past(old))
        return {item.name: admission.verdict(item).outcome for item in new.submissions}

    def test_work_that_has_not_changed_runs_on(self) -> None:
        assert self.verdicts({"w.yaml": job()}, {"w.yaml": job()}) == {"big": "draining"}
        assert self.verdicts({"w.yaml": workflow()}, {"w.yaml": workflow()}) == {"big": "draining"}

    def test_work_that_has_changed_does_not(self) -> None:
        changed = job().replace("image: i", "image: j")
        assert self.verdicts({"w.yaml": job()}, {"w.yaml": changed}) == {"big": "unschedulable"}

    def test_a_gang_that_others_have_joined_does_not(self) -> None:
        first, second = (job(name, gpus, ", kubectl-tas/gang: both") for name, gpus in (("big", 40), ("more", 1)))
        assert self.verdicts({"a.yaml": first}, {"a.yaml": first}) == {"big": "draining"}
        found = self.verdicts({"a.yaml": first}, {"a.yaml": first, "b.yaml": second})
        assert found == {"big": "unschedulable", "more": "unschedulable"}


NEEDS = "a gang needs 40 GPUs; the quota of team is 30"
NEW = "it can never start; overQuota lists it, but it is new or has changed"
CHANGED = job().replace("image: i", "image: j")


@pytest.mark.parametrize(
    ("before", "now", "listed", "outcome", "text"),
    [
        (None, job(), 40, "draining", f"{NEEDS}; overQuota lists it, so it may run on"),
        (None, job(), 35, "unschedulable", f"{NEEDS}: it can never start; overQuota lets it have 35 GPUs"),
        (None, job(), 0, "unschedulable", f"{NEEDS}: it can never start"),
        (job(), job(), 0, "draining", f"{NEEDS}; it had room before and has not changed, so it may run on"),
        (job(), job(), 40, "draining", f"{NEEDS}; overQuota lists it, so it may run on"),
        (job("other"), job(), 40, "unschedulable", f"{NEEDS}: {NEW}"),
        (job(), CHANGED, 40, "unschedulable", f"{NEEDS}: {NEW}"),
    ],
)
def test_words_about_work_that_may_run_on(before: str | None, now: str, listed: int, outcome: str, text: str) -> None:
    spec = f"  overQuota: {{Job/big: {{gpu: {listed}}}}}\n" if listed else ""
    fleet = fleet_of({"pools/p.yaml": pool(guarantee=30, spec=spec), "w.yaml": now})
    old = None if before is None else fleet_of({"pools/p.yaml": pool(guarantee=50), "w.yaml": before})
    (item,) = fleet.submissions
    verdict = Admission(fleet, Past(old)).verdict(item)
    may = outcome == "draining"
    assert (verdict.outcome, verdict.text) == (outcome, text)
    assert verdict.hint == ("" if may else "Ask for 30 or less, or use priority LOW.")
    assert verdict.unlisted == (("gpu",) if may and not listed else ())
    assert verdict.rule is not None
    assert verdict.rule.code == ("over-quota-running" if may else "over-quota")


def submission(files: dict[str, str], kind: str) -> tuple[Admission, Submission]:
    fleet = fleet_of(files)
    return Admission(fleet), next(item for item in fleet.submissions if item.kind == kind)


def test_only_work_of_the_same_kind_counts_for_an_entry_of_over_quota() -> None:
    both = {"pools/p.yaml": pool(guarantee=30), "a.yaml": job(), "b.yaml": workflow()}
    for kind, gpus in (("Job", 40), ("Workflow", 41)):
        admission, item = submission(both, kind)
        assert admission.to_be_listed(item).gpu == gpus


@pytest.mark.parametrize(
    ("room", "hint"),
    [(100, "Use team--b (100 free) or team (100 free)."), (1, "Use team--b or team.")],
    ids=["somewhere", "nowhere"],
)
def test_a_subpool_that_is_closed_names_those_that_are_open(room: int, hint: str) -> None:
    files = {
        "pools/p.yaml": pool(guarantee=2 * room),
        "a.yaml": subpool("a", 0, state="ARCHIVED"),
        "b.yaml": subpool("b", room),
        "w.yaml": job().replace("pool: team", "pool: team--a"),
    }
    admission, item = submission(files, "Job")
    assert admission.verdict(item).hint == hint


@pytest.mark.parametrize(
    ("gpus", "text"),
    [
        (10, "0 of 10 GPUs of team are used, it asks for 2; 0 of 8 cpu of team are used, it asks for 4"),
        (-1, "0 of 8 cpu of team are used, it asks for 4"),
    ],
)
def test_only_quotas_with_a_limit_are_counted_up(gpus: int, text: str) -> None:
    work = workflow().replace("  resources: {large: {gpu: 40}, small: {gpu: 1}}", RESOURCES)
    bounded = pool(guarantee=gpus, spec="    cpu: {guarantee: 8}\n")
    admission, item = submission({"pools/p.yaml": bounded, "w.yaml": work}, "Workflow")
    assert admission.verdict(item).text == text
