"""Tests what a comparison says of parts that cannot be read, and that it reads no more of a cluster than it needs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, ClassVar, cast

import pytest

from kubectl_tas.base.diagnostics import Diagnostic, TasError
from kubectl_tas.compare.change import Change, Earlier, is_deployed, kept_sets, scheduled_pods
from kubectl_tas.compare.grove_changes import changed_references
from kubectl_tas.compare.topology_drift import check_drift, live_uses
from kubectl_tas.compare.transitions import Comparison, compare
from kubectl_tas.live.cliquesets import GroveState, LiveSet
from kubectl_tas.live.kubectl import ForbiddenError, NoSuchResourceError
from kubectl_tas.live.live_cluster import Cluster, Clusters, LiveNode
from kubectl_tas.resolve.fleet import Fleet
from tests.support.cli import pool
from tests.support.fleets import fleet_of, said
from tests.support.grove import KEYS, clique_set, of, operator, topology

POOL = {"pools/p.yaml": pool()}
CONFIG = "apiVersion: tas/v1alpha1\nkind: Config\nspec: {SPEC}\n"
BACKENDS = {"tas.yaml": CONFIG.replace("SPEC", "backends: [{name: a}, {name: b}]")}


def told(found: list[Diagnostic]) -> list[tuple[str, str, str]]:
    return [(item.rule.code, said(item), item.hint) for item in found]


def since(before: Earlier, files: dict[str, str] = POOL, **more: Any) -> list[tuple[str, str, str]]:
    return told(compare(fleet_of(files), before, None, **more).findings)


@pytest.mark.parametrize(
    ("places", "shown"),
    [(("a", "b", "c"), "a, b, c"), (("a", "b", "c", "d"), "a, b, c, ..."), (("a",), "a")],
    ids=["three", "four", "one"],
)
def test_places_that_cannot_be_read_are_named(places: tuple[str, ...], shown: str) -> None:
    assert since(Earlier(fleet_of(POOL), "HEAD", places)) == [
        (
            "base-unread",
            f"what cannot be read at HEAD, and what depends on it, is not compared: {shown}",
            "Review the changes by hand, or compare with a valid revision.",
        )
    ]


def test_a_repository_that_was_elsewhere_or_nowhere() -> None:
    nothing = fleet_of({})
    assert since(Earlier(nothing, "HEAD", elsewhere=("old", "older"))) == [
        (
            "base-unread",
            "HEAD has no file of this repository here, but one in old, older, which is not compared",
            "Merge the move in a change of its own, which changes nothing else.",
        )
    ]
    assert since(Earlier(nothing, "HEAD")) == [
        ("base-empty", "HEAD has no file of this repository, so all of it counts as new", "")
    ]
    assert since(Earlier(fleet_of(POOL), "HEAD")) == []


def test_stored_run_revisions() -> None:
    fleet = fleet_of(POOL)
    assert Earlier(fleet, "HEAD").whole is fleet
    assert Earlier(fleet, "HEAD", ("a",)).whole is None
    assert Earlier(fleet_of({}), "HEAD").whole is None


CLASSES = CONFIG.replace("SPEC", "priorityClasses: {HIGH: b, NORMAL: a}")


def test_a_priority_class_gets_another_priority() -> None:
    before = {**POOL, "tas.yaml": CLASSES.replace("b, NORMAL: a", "a, NORMAL: b")}
    message = (
        'the PriorityClass "{}" goes from {}, value {}, to {}, value {}, since HEAD, but the value of a PriorityClass '
        "cannot be changed"
    )
    place = "tas.yaml:3:"
    assert since(Earlier(fleet_of(before), "HEAD"), {**POOL, "tas.yaml": CLASSES}) == [
        (
            "priority-class-changed",
            f"{place}32: {message.format('b', 'NORMAL', 100, 'HIGH', 125)}",
            "Choose a name for HIGH that is new.",
        ),
        (
            "priority-class-changed",
            f"{place}43: {message.format('a', 'HIGH', 125, 'NORMAL', 100)}",
            "Choose a name for NORMAL that is new.",
        ),
    ]


@pytest.mark.parametrize(
    ("before", "after", "unreadable", "complete", "count"),
    [
        (
            {**POOL, "tas.yaml": CLASSES},
            {**POOL, "tas.yaml": CLASSES.replace("b, NORMAL: a", "a, NORMAL: b")},
            (),
            True,
            2,
        ),
        (POOL, {**POOL, "tas.yaml": CLASSES.replace("b, NORMAL: a", "osmo-normal, NORMAL: x")}, (), True, 1),
        (POOL, {**POOL, "tas.yaml": CLASSES.replace("b, NORMAL: a", "osmo-normal, NORMAL: x")}, ("tas.yaml",), True, 0),
        ({**POOL, "tas.yaml": CLASSES.replace("b, NORMAL: a", "osmo-normal, NORMAL: x")}, POOL, (), True, 1),
        ({**POOL, "tas.yaml": CLASSES.replace("b, NORMAL: a", "osmo-normal, NORMAL: x")}, POOL, (), False, 0),
        ({}, {**POOL, "tas.yaml": CLASSES.replace("b, NORMAL: a", "osmo-normal, NORMAL: x")}, (), True, 0),
    ],
    ids=["both", "new Config", "unread before", "no Config any more", "unread now", "first Config"],
)
def test_classes_are_compared_where_both_configs_are_known(
    before: dict[str, str], after: dict[str, str], unreadable: tuple[str, ...], count: int, *, complete: bool
) -> None:
    found = since(Earlier(fleet_of(before), "HEAD", unreadable), after, complete=complete)
    assert [code for code, _, _ in found].count("priority-class-changed") == count


@dataclass
class Answering:
    """A cluster in memory. What it has been asked for is in ``asked``."""

    has: list[LiveNode] | TasError = field(default_factory=list)
    sets: GroveState | TasError = field(default_factory=lambda: GroveState({}, {}, {}))
    file: str | None = None
    asked: list[str] = field(default_factory=list)

    def nodes(self) -> list[LiveNode]:
        self.asked.append("nodes")
        if isinstance(self.has, TasError):
            raise self.has
        return self.has

    def grove(self) -> GroveState:
        self.asked.append("grove")
        if isinstance(self.sets, TasError):
            raise self.sets
        return self.sets

    def state(self) -> Any:
        self.asked.append("queues")
        raise TasError("no queues", hint="None.")


def ask(files: dict[str, str], before: Fleet | None = None, **clusters: Answering) -> Comparison:
    known = cast("dict[str, Cluster]", clusters)
    return compare(fleet_of(files), Earlier(before, "HEAD") if before else None, Clusters(known))


def test_a_cluster_that_does_not_answer_is_one_finding_of_several() -> None:
    two = {**BACKENDS, "pools/p.yaml": pool(guarantee=0, spec="  backend: a\n")}
    broken = Answering(TasError("it is down", hint="Start it."))
    found = ask(two, a=Answering(), b=broken)
    assert told(found.findings) == [("cluster-unread", "tas.yaml:3:30: backend b: it is down", "Start it.")]
    assert found.unread == {"b"}
    with pytest.raises(TasError, match="it is down"):
        ask(POOL, default=broken)


def test_nodes_that_may_not_be_read_are_not_counted() -> None:
    hidden = ForbiddenError("nodes are forbidden")
    found = ask(POOL, default=Answering(hidden))
    assert told(found.findings) == [
        (
            "nodes-unread",
            "the nodes of backend default are not counted: nodes are forbidden",
            "Ask the administrator of the cluster, or pass --cluster-state FILE.",
        )
    ]
    assert found.unread == {"default"}
    with pytest.raises(ForbiddenError):
        ask(POOL, default=Answering(hidden, file="cluster.json"))
    whole = ask({"pools/p.yaml": pool(guarantee=0)}, default=Answering())
    assert (whole.findings, whole.unread) == ([], frozenset())


SET = {"workflows/s.yaml": clique_set()}
RACKS, OPERATOR = {"topologies/t.yaml": topology()}, {"topologies/o.yaml": operator()}
JOB = "apiVersion: batch/v1\nkind: Job\nmetadata: {name: j, labels: {kubectl-tas/pool: team}}\n"
JOB += "spec: {template: {spec: {restartPolicy: Never, containers: [{name: c, image: i}]}}}\n"


@pytest.mark.parametrize(
    ("before", "after", "asked"),
    [
        (None, POOL, []),
        (None, {**POOL, **RACKS}, ["grove"]),
        (None, {**POOL, **SET}, ["grove"]),
        (None, {**POOL, **OPERATOR}, ["grove"]),
        (POOL, POOL, ["queues"]),
        (SET, POOL, ["grove"]),
        (RACKS, POOL, ["grove"]),
        (RACKS, {**POOL, "w.yaml": JOB}, ["grove", "queues"]),
        (OPERATOR, {**POOL, "w.yaml": JOB}, ["grove", "queues"]),
        ({}, {**POOL, "w.yaml": JOB}, []),
    ],
)
def test_only_what_is_needed_is_read(before: dict[str, str] | None, after: dict[str, str], asked: list[str]) -> None:
    cluster = Answering()
    try:
        ask(after, None if before is None else fleet_of(before), default=cluster)
    except TasError:
        assert cluster.asked[-1] == "queues"
    assert [what for what in cluster.asked if what != "nodes"] == asked


def test_topologies_alone_need_no_grove() -> None:
    absent = NoSuchResourceError("no Grove")
    assert ask({**POOL, **RACKS}, default=Answering(sets=absent)).unread == frozenset()
    for needed in (SET, OPERATOR):
        with pytest.raises(NoSuchResourceError):
            ask({**POOL, **needed}, default=Answering(sets=absent))


class TestStates:
    """What is known of a set in a cluster."""

    KEY = ("default", "chat")
    LIVE: ClassVar = {KEY: LiveSet("racks", True, ("rack",))}

    @pytest.mark.parametrize(
        ("state", "deployed", "pods"),
        [
            (None, None, None),
            (GroveState(None, {}, {}), None, 0),
            (GroveState(None, {}, None), None, None),
            (GroveState(LIVE, {}, {}), True, 0),
            (GroveState(LIVE, {}, {KEY: 3}), True, 3),
            (GroveState(LIVE, {}, {KEY: None}), True, None),
            (GroveState({}, {}, {KEY: 3}), False, 0),
            (GroveState({}, {}, {}, "default"), False, 0),
            (GroveState({}, {}, {}, "other"), None, None),
            (GroveState(None, {}, {KEY: 2}, "other"), None, 2),
        ],
    )
    def test_a_set(self, state: GroveState | None, deployed: bool | None, pods: int | None) -> None:
        fleet = fleet_of({**POOL, **SET})
        change = Change(fleet, fleet, "HEAD", states={"default": state} if state else {})
        (item,) = fleet.pod_clique_sets
        assert (is_deployed(change, item), scheduled_pods(change, item)) == (deployed, pods)

    @pytest.mark.parametrize(
        ("state", "code", "rest", "hint"),
        [
            (
                None,
                "set-reference-changed",
                ", which is allowed only while no pod of the set is scheduled",
                "Pass --cluster-state, or --context, to check that no pod of the set is scheduled.",
            ),
            (
                GroveState(None, {}, None),
                "set-reference-changed",
                ", which is allowed only while no pod of the set is scheduled",
                "What was read of the cluster does not tell: it needs the PodCliqueSets and their PodCliques.",
            ),
            (
                GroveState(LIVE, {}, {KEY: 1}),
                "set-reference-locked",
                ", but the set has 1 scheduled pod",
                "Delete the set and deploy it again.",
            ),
            (
                GroveState(LIVE, {}, {KEY: 2}),
                "set-reference-locked",
                ", but the set has 2 scheduled pods",
                "Delete the set and deploy it again.",
            ),
            (GroveState(LIVE, {}, {KEY: 0}), "", "", ""),
        ],
        ids=["unknown", "partly known", "one pod", "two pods", "no pod"],
    )
    def test_another_topology(self, state: GroveState | None, code: str, rest: str, hint: str) -> None:
        topologies = {**RACKS, "topologies/o.yaml": topology("others")}
        files = [{**POOL, **topologies, "s.yaml": clique_set("rack", named=name)} for name in ("racks", "others")]
        change = Change(*map(fleet_of, files), "HEAD", states={"default": state} if state else {})
        message = f's.yaml:9:26: rule 3: the cluster topology changes since HEAD from "racks" to "others"{rest}'
        assert told(list(changed_references(change))) == ([(code, message, hint)] if code else [])

    def test_a_set_stays_the_same_where_its_backend_has_another_name(self) -> None:
        def sets(*names: str) -> dict[str, str]:
            listed = ", ".join(f"{{name: {name}}}" for name in names)
            pools = {f"pools/{name}.yaml": pool(name, 0, f"  backend: {name}\n") for name in names}
            own = {f"{name}.yaml": clique_set(labels=of(name)) for name in names}
            return {"tas.yaml": CONFIG.replace("SPEC", f"backends: [{listed}]"), **pools, **own}

        def kept(before: tuple[str, ...], after: tuple[str, ...]) -> Iterator[tuple[str, str]]:
            for old, new in kept_sets(Change(fleet_of(sets(*before)), fleet_of(sets(*after)), "HEAD")):
                yield str(old.backend and old.backend.name), str(new.backend and new.backend.name)

        assert list(kept(("a",), ("b",))) == [("a", "b")]
        assert list(kept(("a", "b"), ("b", "c"))) == [("b", "b")]
        assert list(kept(("a", "b"), ("b",))) == [("b", "b")]
        assert list(kept(("a",), ("b", "c"))) == []


class TestDriftOfTopologies:
    LIVE = (("zone", KEYS["zone"]), ("rack", KEYS["rack"]))
    FILE = f"zone ({KEYS['zone']}) > rack ({KEYS['rack']}) > host ({KEYS['host']})"

    @pytest.mark.parametrize(
        ("files", "live", "found"),
        [
            (
                RACKS,
                {"racks": LIVE},
                (
                    "topology-drift",
                    f'topologies/t.yaml:6:3: the cluster topology "racks" has {FILE} here, but zone ({KEYS["zone"]}) > '
                    f"rack ({KEYS['rack']}) in the cluster",
                    "Apply the file, or take over the cluster's levels.",
                ),
            ),
            (
                RACKS,
                {},
                (
                    "topology-undeployed",
                    'topologies/t.yaml:6:3: the cluster topology "racks" is not in the cluster',
                    "Apply the file.",
                ),
            ),
            (
                {},
                {"racks": LIVE},
                (
                    "topology-undeployed",
                    'the cluster topology "racks" is in the cluster, but not in this repository',
                    "If it is managed elsewhere, do nothing. Otherwise declare it here, or delete it there.",
                ),
            ),
            (
                {"topologies/o.yaml": operator("zone rack host")},
                {},
                (
                    "topology-undeployed",
                    'topologies/o.yaml:5:3: the cluster topology "grove-topology" is not in the cluster',
                    "Start Grove's operator with this configuration.",
                ),
            ),
            (
                {"topologies/o.yaml": operator("zone rack host")},
                {"grove-topology": LIVE},
                (
                    "topology-drift",
                    f'topologies/o.yaml:5:3: the cluster topology "grove-topology" has {FILE} here, but zone '
                    f"({KEYS['zone']}) > rack ({KEYS['rack']}) in the cluster",
                    "Start Grove's operator with this configuration, or take over the cluster's levels.",
                ),
            ),
            (
                {"topologies/o.yaml": operator(enabled=False)},
                {"grove-topology": LIVE},
                (
                    "topology-undeployed",
                    'the cluster topology "grove-topology" is in the cluster, but not in this repository',
                    "Grove's operator deletes it when it starts with topologyAwareScheduling disabled.",
                ),
            ),
        ],
        ids=["differs", "only here", "only there", "operator here", "operator differs", "operator disabled"],
    )
    def test_topologies(self, files: dict[str, str], live: dict[str, Any], found: tuple[str, str, str]) -> None:
        state = GroveState({}, live, {})
        assert told(list(check_drift(fleet_of({**POOL, **files}), "default", state))) == [found]

    @pytest.mark.parametrize(
        ("topologies", "text", "hint"),
        [
            (
                {"racks": LIVE[:1]},
                "True for the set default/chat of the cluster (ClusterTopologyLevelsUnavailable): it uses the cluster "
                'topology "racks", and it lacks rack, host',
                "Restore the levels, or deploy the set again.",
            ),
            (
                {},
                "Unknown for the set default/chat of the cluster (ClusterTopologyNotFound): it uses the cluster "
                'topology "racks", and it is gone',
                "Restore the topology, or deploy the set again.",
            ),
        ],
    )
    def test_sets(self, topologies: dict[str, Any], text: str, hint: str) -> None:
        live = {("default", "chat"): LiveSet("racks", True, ("zone", "rack", "host"))}
        found = check_drift(fleet_of(POOL), "default", GroveState(live, topologies, {}))
        (only,) = [item for item in told(list(found)) if item[0] == "set-levels-unavailable"]
        assert only == ("set-levels-unavailable", f"TopologyLevelsUnavailable is {text}", hint)

    def test_uses_of_a_file_that_lacks_a_kind(self) -> None:
        hint = "Add what `kubectl get podcliquesets,clustertopologies -A -o json` prints."
        live = {
            ("default", "chat"): LiveSet("racks", True, ("rack",)),
            ("x", "y"): LiveSet("grove-topology", False, ()),
        }
        for state, check, message in (
            (GroveState(None, {}, {}), False, "the file has no PodCliqueSets, so the users of topologies are unknown"),
            (GroveState(live, None, {}), True, "the file has no cluster topologies, so no level can be checked"),
        ):
            with pytest.raises(TasError) as caught:
                live_uses(state, check=check)
            assert (caught.value.message, caught.value.hint) == (message, hint)
        assert live_uses(GroveState({}, None, {}), check=True) == []
        first, second = live_uses(GroveState(live, None, {}), check=False, backend="a")
        assert (first.full_name, first.label, first.condition, first.is_unavailable) == (
            "a/default/chat",
            "racks",
            None,
            False,
        )
        assert (second.full_name, second.label) == ("a/x/y", "grove-topology (default)")
