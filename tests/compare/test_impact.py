"""Tests what a change means: the effects of it that no example has."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar

import pytest

from kubectl_tas.base.diagnostics import Diagnostic, Rule
from kubectl_tas.compare.change import Change
from kubectl_tas.compare.grove_changes import TOPOLOGY_REMOVED
from kubectl_tas.compare.impact import (
    Impact,
    ObjectCount,
    PolicyChange,
    QueueChange,
    QueueState,
    Restart,
    RuleChange,
    SettingChange,
    SubpoolStep,
    TopologyChange,
    WorkChange,
    WorkState,
    impact,
)
from kubectl_tas.compare.object_changes import CHANGE_KEPT, CHANGE_REFUSED, CHANGE_REPLACED
from kubectl_tas.compile import compile_fleet
from kubectl_tas.emit.foreign import FileBeside
from kubectl_tas.facts.quantities import Amounts
from kubectl_tas.gangs.admission import Verdict
from tests.support.cli import pool, subpool
from tests.support.fleets import fleet_of

WORKFLOW = """\
workflow:
  name: train
  pool: team
  priority: NORMAL
  groups:
  - name: g
    tasks: [{name: a, image: i, lead: true, files: [{path: /run.sh, localpath: run.sh}]}, {name: b, image: i}]
resources: {default: {gpu: 8}}
"""
FILES = {"pools/team.yaml": pool(), "workflows/train.yaml": WORKFLOW, "workflows/run.sh": "# true\n"}


def config(spec: str) -> dict[str, str]:
    """The file of a Config with this spec, a flow mapping."""
    return {"tas.yaml": f"apiVersion: tas/v1alpha1\nkind: Config\nspec: {spec}\n"}


def meaning(before: dict[str, str], after: dict[str, str]) -> Impact:
    """What it means to go from some files to others."""
    old, new = fleet_of(before), fleet_of(after)
    return impact(Change(old, new, "HEAD"), (), compile_fleet(old), compile_fleet(new))


def settings(before: str, after: str) -> list[tuple[str, str, str]]:
    """The settings that change with the spec of the Config."""
    found = meaning({**config(before), **FILES}, {**config(after), **FILES}).settings
    return [(item.path, item.before, item.after) for item in found]


@pytest.mark.parametrize(
    ("before", "after", "modes", "level", "reason"),
    [
        ("true", "false", ("enforce", "off"), "high", "the guard goes"),
        ("warn", "off", ("warn", "off"), "high", "the guard goes"),
        ("true", "warn", ("enforce", "warn"), "medium", "the guard refuses nothing any more"),
        ("false", "warn", ("off", "warn"), "medium", "the guard warns"),
        ("warn", "enforce", ("warn", "enforce"), "medium", "the guard refuses from now on"),
    ],
)
def test_the_guard_gets_another_mode(before: str, after: str, modes: tuple[str, str], level: str, reason: str) -> None:
    specs = [f"{{guard: {mode}}}".replace("{guard: off}", "{}") for mode in (before, after)]
    found = meaning(*({**config(spec), "pools/team.yaml": pool()} for spec in specs))
    assert found.guard == modes
    assert found.risk == (level, (reason,))


def test_one_mode_of_the_guard_has_two_spellings() -> None:
    assert meaning(*({**config(f"{{guard: {mode}}}"), **FILES} for mode in ("true", "enforce"))).guard is None


@pytest.mark.parametrize(
    ("before", "after", "found"),
    [
        (
            '{name: a, scheduler: {version: "0.16"}}',
            '{name: a, scheduler: {version: "0.17"}}',
            [("backends.a.scheduler", "type: kai, version: 0.16", "type: kai, version: 0.17")],
        ),
        ("{name: a}", "{name: a, context: eu}", [("backends.a.context", "-", "eu")]),
        ("{name: a, context: eu}", "{name: b, context: us}", [("backends", "a", "b")]),
    ],
    ids=["nested", "from nothing", "another"],
)
def test_settings_of_a_cluster(before: str, after: str, found: list[tuple[str, str, str]]) -> None:
    specs = (f"{{backends: [{backend}]}}" for backend in (before, after))
    assert settings(*specs) == found


def test_a_rule_that_nobody_knows_was_off_and_is_off() -> None:
    """Only the Config of a revision may have such a line: in the present one it is an error."""
    before = {**config("{rules: {pool-gone: error, no-such-rule: error, over-quota: off}}"), **FILES}
    found = meaning(before, {**config("{rules: {over-quota: off}}"), **FILES}).rules
    assert [(item.code, item.before, item.after, item.is_milder) for item in found] == [
        ("no-such-rule", "error", "off", True),
        ("pool-gone", "error", "info", True),
    ]


def test_a_cluster_without_kai_has_no_queues() -> None:
    backend = config("{backends: [{name: a, scheduler: {type: default}}]}")
    found = meaning({**backend, "pools/p.yaml": pool()}, {**backend, "pools/p.yaml": pool(guarantee=50)})
    assert found.queues == ()


class TestWork:
    def test_work_that_is_refused_as_before_is_no_risk(self) -> None:
        """It changes all the same: it asks for more."""
        before = {**FILES, "pools/team.yaml": pool(guarantee=4)}
        found = meaning(before, {**before, "workflows/train.yaml": WORKFLOW.replace("gpu: 8", "gpu: 9")})
        assert [(item.name, item.kind, item.is_worse) for item in found.work] == [("train", "changed", False)]
        assert not any("refused" in reason for reason in found.risk[1])

    @pytest.mark.parametrize(
        ("guarantee", "is_worse", "reasons"), [(100, False, 0), (8, True, 1)], ids=["has room", "has no room"]
    )
    def test_work_that_asks_for_more(self, guarantee: int, is_worse: bool, reasons: int) -> None:
        files = {**FILES, "pools/team.yaml": pool(guarantee=guarantee)}
        less = WORKFLOW.replace("gpu: 8", "gpu: 4")
        found = meaning({**files, "workflows/train.yaml": less}, files)
        assert [item.is_worse for item in found.work] == [is_worse]
        assert found.risk[1].count("1 piece of work is refused") == reasons

    def test_work_that_goes(self) -> None:
        found = meaning(FILES, {"pools/team.yaml": pool()})
        assert [(item.kind, item.is_worse) for item in found.work] == [("dropped", False)]

    @pytest.mark.parametrize(
        ("file", "old", "new", "why"),
        [
            ("workflows/train.yaml", "gpu: 8", "gpu: 4", "its file changes"),
            (
                "workflows/run.sh",
                "true",
                "false",
                "a file that it names, its pool or the Config changes what it is made of",
            ),
            ("workflows/train.yaml", "NORMAL", "LOW", "its priority goes from NORMAL to LOW"),
        ],
        ids=["its file", "a file that it names", "priority"],
    )
    def test_why_a_gang_restarts(self, file: str, old: str, new: str, why: str) -> None:
        found = meaning(FILES, {**FILES, file: FILES[file].replace(old, new)})
        assert [item.reason for item in found.restarts] == [f"{why}, and Pods that run cannot be changed"]


class TestRenamedPools:
    BEFORE: ClassVar = {"pools/team.yaml": pool(), "subpools/a.yaml": subpool("a", 10)}
    AFTER: ClassVar = {"pools/team.yaml": pool("group"), "subpools/a.yaml": subpool("a", 10, "group")}

    def test_subpools_take_no_step(self) -> None:
        assert meaning(self.BEFORE, self.AFTER).subpools == ()

    def test_a_subpool_takes_a_step(self) -> None:
        closed = {**self.AFTER, "subpools/a.yaml": subpool("a", 10, "group", state="DELETING")}
        (step,) = meaning(self.BEFORE, closed).subpools
        assert (step.name, step.before, step.after) == ("team--a", "ACTIVE", "DELETING")

    def test_a_subpool_of_a_pool_that_is_new(self) -> None:
        files = {"pools/other.yaml": pool("other", 7), "subpools/b.yaml": subpool("b", 5, "other")}
        (step,) = meaning(self.BEFORE, {**self.AFTER, **files}).subpools
        assert (step.name, step.before, step.after) == ("other--b", None, "ACTIVE")


NOTHING = Impact("HEAD", (), (), (), (), (), (), None, (), (), ())


def having(**fields: Any) -> Impact:
    """A change with these effects, and no others."""
    return replace(NOTHING, **fields)


def queue(gpus: int, target: str = "team", *, is_container: bool = False) -> QueueState:
    return QueueState(target, None, Amounts(gpus), Amounts(), Amounts(), None, {}, {}, is_container)


def work(outcome: Any) -> WorkState:
    return WorkState("team", "q", "NORMAL", Amounts(1), Verdict(outcome, None, "", Amounts(), Amounts()))


def finding(rule: Rule) -> Diagnostic:
    return Diagnostic(rule, "", None)


class TestRisk:
    """What a change may break, each reason with one and with two."""

    HIGH: ClassVar[list[tuple[str, object, str, str]]] = [
        ("beside", FileBeside("a", None, ""), "1 file changes what is applied", "2 files change what is applied"),
        ("findings", finding(CHANGE_REFUSED), "1 change cannot be applied", "2 changes cannot be applied"),
        ("findings", finding(TOPOLOGY_REMOVED), "1 change must not be made", "2 changes must not be made"),
        ("restarts", Restart("PodGroup", "a", "b", ""), "1 gang restarts", "2 gangs restart"),
        ("restarts", Restart("Job", "a", "a", ""), "1 workload restarts", "2 workloads restart"),
        ("queues", QueueChange("a", "b", queue(0), None), "1 queue is dropped", "2 queues are dropped"),
        (
            "topologies",
            TopologyChange("a", (), (), "recreated"),
            "1 topology is recreated",
            "2 topologies are recreated",
        ),
    ]
    MEDIUM: ClassVar[list[tuple[str, object, str, str]]] = [
        (
            "work",
            WorkChange("a", "Job", "b", work("admitted"), None),
            "1 piece of work is gone",
            "2 pieces of work are gone",
        ),
        (
            "work",
            WorkChange("a", "Job", "b", work("admitted"), work("pending")),
            "1 piece of work waits",
            "2 pieces of work wait",
        ),
        (
            "work",
            WorkChange("a", "Job", "b", None, work("refused")),
            "1 piece of work is refused",
            "2 pieces of work are refused",
        ),
        ("queues", QueueChange("a", "b", queue(2), queue(1)), "1 queue loses quota", "2 queues lose quota"),
        ("subpools", SubpoolStep("a", "ACTIVE", "DELETING"), "1 subpool is closed", "2 subpools are closed"),
        ("subpools", SubpoolStep("a", "ACTIVE", "ARCHIVED"), "1 subpool is closed", "2 subpools are closed"),
        ("rules", RuleChange("a", "error", "info", is_milder=True), "1 rule counts for less", "2 rules count for less"),
        ("findings", finding(CHANGE_KEPT), "1 warning", "2 warnings"),
    ]
    LOW: ClassVar[list[tuple[str, object]]] = [
        ("findings", finding(CHANGE_REPLACED)),
        ("queues", QueueChange("a", "b", None, queue(0))),
        ("queues", QueueChange("a", "b", queue(1), queue(2))),
        ("queues", QueueChange("a", "b", queue(2, is_container=True), queue(1, is_container=True))),
        ("topologies", TopologyChange("a", (), (), "changed")),
        ("work", WorkChange("a", "Job", "b", work("pending"), work("refused"))),
        ("work", WorkChange("a", "Job", "b", work("admitted"), work("draining"))),
        ("subpools", SubpoolStep("a", "DELETING", "ACTIVE")),
        ("subpools", SubpoolStep("a", "ARCHIVED", None)),
        ("rules", RuleChange("a", "info", "error", is_milder=False)),
        ("policies", PolicyChange("a", "b", "changed", ())),
        ("objects", ObjectCount("Pod", 1, 1, 1)),
    ]

    @pytest.mark.parametrize(("field", "item", "one", "several"), HIGH)
    def test_high(self, field: str, item: object, one: str, several: str) -> None:
        assert having(**{field: (item,)}).risk == ("high", (one,))
        assert having(**{field: (item, item)}).risk == ("high", (several,))

    @pytest.mark.parametrize(("field", "item", "one", "several"), MEDIUM)
    def test_medium(self, field: str, item: object, one: str, several: str) -> None:
        assert having(**{field: (item,)}).risk == ("medium", (one,))
        assert having(**{field: (item, item)}).risk == ("medium", (several,))

    @pytest.mark.parametrize(("field", "item"), LOW)
    def test_low(self, field: str, item: object) -> None:
        found = having(**{field: (item,)}).risk
        assert found == (("none", ("nothing changes",)) if field == "findings" else LOW)

    def test_settings_and_policies_are_named_once(self) -> None:
        settings = tuple(SettingChange(path, "a", "b") for path in ("output", "backends.a.context", "backends.b.name"))
        assert having(settings=settings).risk == ("high", ("the Config changes output and backends",))
        policies = tuple(PolicyChange("a", name, "dropped", ()) for name in ("x", "x", "y"))
        assert having(policies=policies[:2]).risk == ("high", ("1 admission policy is dropped",))
        assert having(policies=policies).risk == ("high", ("2 admission policies are dropped",))
        assert having(policies=policies, guard=("enforce", "off")).risk == ("high", ("the guard goes",))

    def test_what_could_not_be_read_or_may_exceed_its_quota_is_a_medium_risk(self) -> None:
        assert having(unread=("a",)).risk == ("medium", ("not all could be compared",))
        assert having(listed=("overQuota of team lists Job/a",)).risk == (
            "medium",
            ("overQuota of team lists Job/a",),
        )

    def test_high_reasons_come_first(self) -> None:
        refused, kept = finding(CHANGE_REFUSED), finding(CHANGE_KEPT)
        found = having(findings=(kept, refused), unread=("a",))
        assert found.risk == ("high", ("1 change cannot be applied", "1 warning", "not all could be compared"))


LOW = ("low", ("nothing restarts and nothing is dropped",))


def test_quotas_move_within_a_pool() -> None:
    moves = [
        QueueChange("a", "q1", queue(2, "team"), queue(1, "team")),
        QueueChange("a", "q2", queue(1, "team--x"), queue(2, "team--x")),
        QueueChange("a", "q3", None, queue(3, "team--new")),
        QueueChange("a", "q4", queue(4, "team--old"), None),
        QueueChange("a", "q5", queue(5, "team"), replace(queue(5, "team"), priority=1)),
        QueueChange("a", "q6", queue(9, is_container=True), queue(8, is_container=True)),
        QueueChange("b", "q1", queue(1, "team"), queue(0, "team")),
    ]
    found = having(queues=tuple(moves))
    assert [(backend, name, [(x, y.gpu, z.gpu) for x, y, z in rows]) for backend, name, rows in found.gains] == [
        ("a", "team", [("team", 2, 1), ("team--x", 1, 2), ("team--new", 0, 3), ("team--old", 4, 0)]),
        ("b", "team", [("team", 1, 0)]),
    ]
    assert [item.name for item in found.losers] == ["q1", "q1"]
    assert [item.kind for item in moves[:4]] == ["changed", "changed", "made", "dropped"]


@pytest.mark.parametrize(
    ("unreadable", "unread"),
    [
        (
            ("tas.yaml:3:1",),
            (
                "tas.yaml:3:1 at HEAD cannot be read",
                "without tas.yaml the earlier names of its queues, topologies and work are unknown",
            ),
        ),
        (
            ("pools/a.yaml:3:1",),
            (
                "pools/a.yaml:3:1 at HEAD cannot be read",
                "what seems to be new is not listed here, as it may be declared there",
            ),
        ),
    ],
    ids=["Config", "another file"],
)
def test_what_cannot_be_read_at_the_revision(unreadable: tuple[str, ...], unread: tuple[str, ...]) -> None:
    before = fleet_of({"pools/other.yaml": pool("other")})
    after = fleet_of({**FILES, "subpools/a.yaml": subpool("a", 1)})
    made = compile_fleet(after)
    found = impact(Change(before, after, "HEAD", unreadable=unreadable), (), None, made)
    errors = "HEAD has errors itself, so its objects and admission policies are not compared"
    assert found.unread == (*unread, errors)
    assert not any(item.before is None for part in (found.queues, found.subpools, found.work) for item in part)
    assert (found.policies, found.objects) == ((), ())
    dropped = [item.name for item in found.queues if item.kind == "dropped"]
    assert dropped == (
        [] if unreadable[0].startswith("tas") else [f"osmo-pool-default-other{x}" for x in ("", "--shared")]
    )


def test_parts_of_a_policy_are_named() -> None:
    """Another quota is another table; another scheduler, what is refused; another mode, what follows."""
    guarded = {**config("{guard: true}"), "pools/team.yaml": pool()}
    backend = "{guard: true, backends: [{name: default, scheduler: {name: other}}]}"

    def parts(after: dict[str, str]) -> dict[str, tuple[str, ...]]:
        return {item.name.rpartition("-")[2]: item.changed_parts for item in meaning(guarded, after).policies}

    all_of_pods = ("members", "podgroups", "pods")
    assert parts({**guarded, "pools/team.yaml": pool(guarantee=7)}) == dict.fromkeys(all_of_pods, ("table leaves",))
    assert parts({**guarded, **config("{guard: warn}")}) == dict.fromkeys(
        (*all_of_pods, "devices", "subresources"), ("what is refused", "what follows")
    )
    assert parts({**guarded, **config(backend)}) == {"pods": ("table guarded", "what is refused")}
    elsewhere = parts({**guarded, "pools/team.yaml": pool(spec="  namespaces: [ml]\n")})
    assert elsewhere == {
        **dict.fromkeys(("pods", "podgroups"), ("whom it concerns", "table guarded", "what is refused")),
        **dict.fromkeys(("devices", "members", "subresources"), ("whom it concerns",)),
    }
    gone = meaning(guarded, {"pools/team.yaml": pool()}).policies
    assert [(item.kind, item.changed_parts) for item in gone] == [("dropped", ())] * 5


JOB = """\
apiVersion: batch/v1
kind: Job
metadata: {name: sweep, labels: {kubectl-tas/pool: team, x: y}}
spec: {template: {spec: {restartPolicy: Never, containers: [{name: main, image: "i:1"}]}}}
"""
MARKED = JOB.replace("x: y", 'kubectl-tas/replace: "true"')
DEPLOYMENT = """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, labels: {kubectl-tas/pool: team}}
spec:
  selector: {matchLabels: {app: web}}
  template: {metadata: {labels: {app: web}}, spec: {containers: [{name: main, image: "i:1"}]}}
"""
IMAGE = "spec.template.spec.containers[0].image changes"


class TestRestarts:
    @pytest.mark.parametrize(
        ("gitops", "work", "why"),
        [
            ("none", JOB, None),
            ("argocd", JOB, None),
            ("none", MARKED, f"{IMAGE}, and it must be deleted by hand"),
            ("argocd", MARKED, f"{IMAGE}, and it is replaced"),
            ("flux", MARKED, f"{IMAGE}, and it is replaced"),
            ("none", DEPLOYMENT, f"{IMAGE}, which the Deployment rolls out"),
            ("argocd", DEPLOYMENT, f"{IMAGE}, which the Deployment rolls out"),
        ],
        ids=["job", "job and Argo CD", "marked", "Argo CD", "Flux", "deployment", "deployment and Argo CD"],
    )
    def test_an_object_with_another_image(self, gitops: str, work: str, why: str | None) -> None:
        shared = {**config(f"{{gitops: {gitops}}}"), "pools/team.yaml": pool()}
        before, after = ({**shared, "workflows/w.yaml": work.replace("i:1", image)} for image in ("i:1", "i:2"))
        name = "web" if work == DEPLOYMENT else "sweep"
        kind = "Deployment" if work == DEPLOYMENT else "Job"
        assert meaning(before, after).restarts == ((Restart(kind, name, name, why),) if why else ())
        assert meaning(before, before).restarts == ()

    @pytest.mark.parametrize(
        ("gitops", "why"), [("none", ()), ("argocd", ("it changes, and it is replaced",)), ("flux", ())]
    )
    def test_a_label_that_goes_or_comes_alone(self, gitops: str, why: tuple[str, ...]) -> None:
        """Argo CD replaces what differs, by the label in the file or in the cluster."""
        shared = {**config(f"{{gitops: {gitops}}}"), "pools/team.yaml": pool()}
        with_label, without = ({**shared, "workflows/w.yaml": work} for work in (MARKED, JOB))
        for before, after in ((with_label, without), (without, with_label)):
            assert tuple(item.reason for item in meaning(before, after).restarts) == why
        assert meaning(with_label, with_label).restarts == ()

    def test_an_object_in_another_namespace(self) -> None:
        files = [
            {"pools/team.yaml": pool(spec=f"  namespaces: [{name}]\n"), "workflows/w.yaml": JOB} for name in ("a", "b")
        ]
        assert meaning(*files).restarts == (Restart("Job", "sweep", "sweep", "it goes from namespace a to b"),)

    @pytest.mark.parametrize(
        ("before", "after", "why"),
        [
            ({}, {"workflows/train.yaml": WORKFLOW.replace("pool: team", "pool: other")}, "it goes from team to other"),
            (
                {},
                {"pools/team.yaml": pool(spec="  sharedQueue: {name: q}\n")},
                "its queue is called q, no longer osmo-pool-default-team--shared",
            ),
            ({}, {"pools/team.yaml": pool(spec="  namespaces: [a]\n")}, "it goes from namespace default to a"),
            (
                {},
                {"workflows/train.yaml": WORKFLOW.replace("NORMAL", "LOW").replace("gpu: 8", "gpu: 4")},
                "its priority goes from NORMAL to LOW",
            ),
        ],
        ids=["pool", "queue", "namespace", "priority and file"],
    )
    def test_a_gang_of_a_workflow(self, before: dict[str, str], after: dict[str, str], why: str) -> None:
        files = {**FILES, "pools/other.yaml": pool("other", 8)}
        (only,) = meaning({**files, **before}, {**files, **after}).restarts
        assert (only.kind, only.reason) == ("PodGroup", f"{why}, and Pods that run cannot be changed")
        assert only.name != only.successor
        assert only.name.startswith("train-g-")
        assert only.successor.startswith("train-g-")

    def test_a_workflow_that_is_gone_or_new_restarts_nothing(self) -> None:
        alone = {"pools/team.yaml": pool()}
        assert meaning(FILES, alone).restarts == ()
        assert meaning(alone, FILES).restarts == ()
        assert meaning(FILES, FILES).is_empty


@pytest.mark.parametrize(
    ("before", "after", "listed"),
    [
        ("", "Job/a: {gpu: 1}", ("overQuota of team lists Job/a",)),
        ("Job/a: {gpu: 1}", "Job/a: {gpu: 2}", ("overQuota of team lists Job/a",)),
        ("Job/a: {gpu: 2}", "Job/a: {gpu: 1}", ()),
        ("Job/a: {gpu: 1}", "", ()),
        ("Job/a: {gpu: 1}", "Job/a: {gpu: 1}, Job/b: {cpu: 1}", ("overQuota of team lists Job/b",)),
        ("", "Job/a: {gpu: 1}, Job/b: {cpu: 1}", ("overQuota of team lists Job/a, Job/b",)),
    ],
)
def test_work_that_may_exceed_its_quota_anew(before: str, after: str, listed: tuple[str, ...]) -> None:
    files = [{"pools/team.yaml": pool(spec=f"  overQuota: {{{text}}}\n")} for text in (before, after)]
    found = meaning(*files)
    assert found.listed == listed
    assert replace(NOTHING, listed=listed).is_empty == (not listed)


@pytest.mark.parametrize(
    ("before", "after", "kind"),
    [
        ("[{key: a, label: x}]", "[{key: b, label: x}]", "changed"),
        ("[{key: a, label: x}]", "[{key: a, label: y}]", "recreated"),
        ("[{key: a, label: x}]", "[{key: a, label: x}, {key: b, label: y}]", "recreated"),
        ("[]", "[{key: a, label: x}]", "made"),
        ("[{key: a, label: x}]", "[]", "dropped"),
    ],
)
def test_levels_of_a_topology(before: str, after: str, kind: str) -> None:
    files = [{"pools/team.yaml": pool(spec=f"  topology_keys: {keys}\n")} for keys in (before, after)]
    (only,) = meaning(*files).topologies
    assert (only.name, only.kind) == ("osmo-pool-default-team-topology", kind)


def test_queues_before_and_after() -> None:
    """A queue of a subpool has the priority of its pool, unless it has one itself."""
    group = pool("group", 50, "  priority: 3\n  queue: {labels: {a: b}, annotations: {c: d}}\n")
    files = {
        "g.yaml": group,
        "t.yaml": pool(guarantee=20, spec="  parent: group\n"),
        "s.yaml": subpool("a", 5, "group"),
        "r.yaml": subpool("b", 5, "group").replace("state", "priority: 7\n  queue: {labels: {e: f}}\n  state"),
        "x.yaml": subpool("c", 5, "group", "ARCHIVED"),
    }
    found = {item.name.removeprefix("osmo-pool-default-"): item.state for item in meaning({}, files).queues}
    assert [
        (name, x.target, x.parent, x.quota.gpu, x.priority, dict(x.labels), dict(x.annotations), x.is_container)
        for name, x in found.items()
    ] == [
        ("group", "group", None, 50, 3, {"a": "b"}, {"c": "d"}, True),
        ("group--shared", "group", "osmo-pool-default-group", 20, 3, {}, {}, False),
        ("group--a", "group--a", "osmo-pool-default-group", 5, 3, {}, {}, False),
        ("group--b", "group--b", "osmo-pool-default-group", 5, 7, {"e": "f"}, {}, False),
        ("team", "team", "osmo-pool-default-group", 20, None, {}, {}, True),
        ("team--shared", "team", "osmo-pool-default-team", 20, None, {}, {}, False),
    ]
    assert {item.kind for item in meaning(files, {}).queues} == {"dropped"}


def test_objects_are_counted_by_kind() -> None:
    less = {"pools/team.yaml": pool()}
    counts = {item.kind: (item.made, item.changed, item.dropped) for item in meaning(less, FILES).objects}
    assert counts == {"ConfigMap": (1, 0, 0), "Pod": (2, 0, 0), "PodGroup": (1, 0, 0)}
    assert {item.kind: item.dropped for item in meaning(FILES, less).objects} == {
        kind: made for kind, (made, _, _) in counts.items()
    }
    (queues,) = meaning(less, {"pools/team.yaml": pool(guarantee=7)}).objects
    assert (queues.kind, queues.made, queues.changed, queues.dropped) == ("Queue", 0, 2, 0)
