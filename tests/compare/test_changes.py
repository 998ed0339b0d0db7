"""Tests what is found in a change of files in cases that need several clusters, another tool or a known state."""

from __future__ import annotations

from typing import Any, ClassVar

import pytest

from kubectl_tas.base.diagnostics import Diagnostic, Location
from kubectl_tas.compare.change import Change
from kubectl_tas.compare.grove_changes import (
    changed_constraints,
    changed_levels,
    changed_references,
    is_recreated,
    removed_topologies,
)
from kubectl_tas.compare.object_changes import changed_namespaces, unappliable_changes
from kubectl_tas.compare.pool_changes import after_rename, changed_subpools, gone_pools, moved_pools
from kubectl_tas.compare.topology_drift import check_drift, declared_uses, drifts
from kubectl_tas.live.cliquesets import GroveState, LiveSet
from kubectl_tas.resolve.topologies import Level
from tests.support.cli import pool, subpool
from tests.support.fleets import fleet_of, said
from tests.support.grove import KEYS, clique, clique_set, job, of, pod_group, scaling_group, topology, workflow

JOB = """\
apiVersion: batch/v1
kind: Job
metadata:
  name: sweep
  labels: {kubectl-tas/pool: team, x: y}
spec: {template: {spec: {restartPolicy: Never, containers: [{name: main, image: "i:1"}]}}}
"""
RAY = """\
apiVersion: ray.io/v1
kind: RayJob
metadata:
  name: sweep
  labels: {kubectl-tas/pool: team, x: y}
spec:
  entrypoint: "1"
  rayClusterSpec:
    headGroupSpec: {template: {spec: {containers: [{name: ray-head, image: i}]}}}
"""
REPLACED = ("x: y", 'kubectl-tas/replace: "true"')
TWO = "{backends: [{name: a}, {name: b}]}"
RACKS = {"topologies/t.yaml": topology()}
SET = "workflows/set.yaml"


def config(spec: str) -> dict[str, str]:
    """The file of a Config with this spec, a flow mapping."""
    return {"tas.yaml": f"apiVersion: tas/v1alpha1\nkind: Config\nspec: {spec}\n"}


def change(before: dict[str, str], after: dict[str, str], **state: Any) -> Change:
    """From some files to others."""
    return Change(fleet_of(before), fleet_of(after), "HEAD", **state)


def pools(*names: str, backend: bool = True) -> dict[str, str]:
    """A pool for each name, on the backend of its name."""
    return {f"pools/{name}.yaml": pool(name, 0, f"  backend: {name}\n" if backend else "") for name in names}


class TestObjects:
    """Changes of one object, which no cluster takes in place."""

    def found(self, before: str, after: str, gitops: str = "none") -> list[Diagnostic]:
        shared = {**config(f"{{gitops: {gitops}}}"), "pools/p.yaml": pool()}
        return list(unappliable_changes(change({**shared, "w.yaml": before}, {**shared, "w.yaml": after})))

    @pytest.mark.parametrize(
        ("gitops", "hint"),
        [("argocd", "Argo CD does so at each change until the label is gone."), ("flux", "")],
        ids=["Argo CD", "Flux"],
    )
    def test_only_argo_cd_makes_it_anew_in_each_sync(self, gitops: str, hint: str) -> None:
        work = JOB.replace(*REPLACED)
        (only,) = self.found(JOB, work.replace("i:1", "i:2"), gitops)
        assert (only.rule.code, only.hint) == ("change-replaced", hint)

    @pytest.mark.parametrize(
        ("gitops", "hint"),
        [
            ("argocd", ', or the label kubectl-tas/replace: "true": Argo CD then ends it and makes it anew'),
            ("flux", ""),
            ("none", ""),
        ],
    )
    def test_what_keeps_running_is_replaced_by_argo_cd_alone(self, gitops: str, hint: str) -> None:
        (only,) = self.found(RAY, RAY.replace('"1"', '"2"'), gitops)
        assert only.rule.code == "change-kept"
        assert only.hint == f"Give it a new name{hint}, or delete it first: kubectl delete rayjob sweep -n default"

    def test_a_label_that_goes_is_not_left(self) -> None:
        marked = JOB.replace(*REPLACED)
        assert [item.rule.code for item in self.found(marked, marked, "argocd")] == ["replace-left"]
        assert self.found(marked, JOB, "argocd") == []
        assert self.found(JOB, marked, "argocd") == []

    @pytest.mark.parametrize(("gitops", "rule"), [("argocd", "replace-removed"), ("flux", "replace-removed")])
    def test_a_label_that_goes_with_a_change_still_counts(self, gitops: str, rule: str) -> None:
        """The object in the cluster has the label until that sync is done."""
        (only,) = self.found(JOB.replace(*REPLACED), JOB.replace("i:1", "i:2"), gitops)
        assert (only.rule.code, only.severity.value) == (rule, "warning")

    def test_without_a_tool_nobody_reads_the_label_in_the_cluster(self) -> None:
        (only,) = self.found(JOB.replace(*REPLACED), JOB.replace("i:1", "i:2"))
        assert only.rule.code == "change-refused"

    def test_another_tool_does_not_read_the_label_of_before(self) -> None:
        files = [{**config(f"{{gitops: {tool}}}"), "pools/p.yaml": pool()} for tool in ("none", "argocd")]
        before, after = JOB.replace(*REPLACED), JOB.replace("i:1", "i:2")
        (only,) = unappliable_changes(change({**files[0], "w.yaml": before}, {**files[1], "w.yaml": after}))
        assert only.rule.code == "change-refused"

    @pytest.mark.parametrize(("letters", "cut"), [(58, False), (59, True)])
    def test_a_long_value_is_cut(self, letters: int, cut: bool) -> None:
        """The quotes count too: 60 characters are shown."""
        value = "v" * letters
        (only,) = self.found(JOB, JOB.replace("i:1", value))
        written = f'goes from "i:1" to "{value[:59]}'
        assert f"{written}{'...' if cut else chr(34)} since HEAD" in only.message

    def test_an_object_of_each_of_two_clusters(self) -> None:
        shared = {**config(TWO), **pools("a", "b")}
        jobs = [{f"{name}.yaml": JOB.replace("pool: team", f"pool: {name}") for name in "ab"} for _ in range(2)]
        jobs[1]["b.yaml"] = jobs[1]["b.yaml"].replace("i:1", "i:2")
        (only,) = unappliable_changes(change({**shared, **jobs[0]}, {**shared, **jobs[1]}))
        assert said(only).startswith("b.yaml:6:81: Job sweep: spec.template.spec.containers[0].image goes from")

    def test_an_object_of_a_cluster_with_a_new_name(self) -> None:
        both = [{**config(f"{{backends: [{{name: {name}}}]}}"), "pools/p.yaml": pool()} for name in "ab"]
        (only,) = unappliable_changes(
            change({**both[0], "w.yaml": JOB}, {**both[1], "w.yaml": JOB.replace(":1", ":2")})
        )
        assert only.rule.code == "change-refused"

    @pytest.mark.parametrize(("queues", "is_told"), [({}, True), (True, True), (False, False)])
    def test_work_goes_to_another_namespace(self, queues: Any, is_told: bool) -> None:
        """Unless nothing of it runs."""
        known = {("default", "osmo-pool-default-team--shared"): queues} if isinstance(queues, bool) else {}
        files = [{"pools/p.yaml": pool(spec=f"  namespaces: [{name}]\n"), "w.yaml": JOB} for name in ("one", "two")]
        found = [said(item) for item in changed_namespaces(change(files[0], files[1], queues=known))]
        about = "Job sweep goes from namespace one to two since HEAD: what runs there ends, and starts again here"
        assert found == is_told * [f"w.yaml:5:30: {about}"]

    def test_work_of_one_name_in_two_namespaces_has_not_moved(self) -> None:
        files = {"pools/p.yaml": pool(spec="  namespaces: [one, two, three]\n")}
        one, two, three = (
            JOB.replace("name: sweep", f"name: sweep\n  namespace: {x}") for x in ("one", "two", "three")
        )
        both = {**files, "a.yaml": one, "b.yaml": two}
        assert list(changed_namespaces(change(both, {**files, "a.yaml": one, "b.yaml": three}))) == []
        assert list(changed_namespaces(change(both, {**files, "b.yaml": three}))) == []
        assert (
            list(changed_namespaces(change({**files, "a.yaml": one}, {**files, "a.yaml": two, "b.yaml": three}))) == []
        )


class TestPools:
    def test_two_pools_that_are_alike_get_a_new_name_each(self) -> None:
        before, after = pools("a", "b", backend=False), pools("c", "d", backend=False)
        found = [item.message.partition(" since")[0] for item in gone_pools(change(before, after))]
        assert found == ["pool a is called c", "pool b is called d"]

    def test_queues_that_keep_their_names(self) -> None:
        spec = "  queue: {name: q}\n  sharedQueue: {name: q-rest}\n"
        both = [{"pools/p.yaml": pool(name, spec=spec)} for name in ("team", "group")]
        assert list(gone_pools(change(*both))) == []

    @pytest.mark.parametrize(
        ("was_listed", "before", "after", "found"),
        [
            (False, JOB, JOB, []),
            (False, JOB, "", []),
            (False, "", "", ["s.yaml:9:14: subpool team--a lists Job/sweep as draining, which was not there at HEAD"]),
            (True, "", "", []),
            (True, "", JOB, ["w.yaml:1:1: Job/sweep is new since HEAD in subpool team--a, which is DELETING"]),
        ],
        ids=["runs on", "has ended", "was never there", "ended before", "comes again"],
    )
    def test_work_that_may_finish(self, was_listed: bool, before: str, after: str, found: list[str]) -> None:
        listed = subpool("a", 8, state="DELETING") + "  draining: [Job/sweep]\n"
        files = [
            {"pools/p.yaml": pool(), "s.yaml": text, "w.yaml": work.replace("pool: team", "pool: team--a")}
            for text, work in ((listed if was_listed else subpool("a", 8), before), (listed, after))
        ]
        assert [said(item) for item in changed_subpools(change(*files))] == found

    @pytest.mark.parametrize(
        ("kind", "gitops", "said"),
        [
            ("Pod", "none", "Work whose running pods stay in the old queue: Pod/sweep in namespace default."),
            ("RayJob", "none", "Work whose running pods stay in the old queue: RayJob/sweep in namespace default."),
            (
                "Job",
                "none",
                "Delete first, since the API server refuses their new queue: Job/sweep in namespace default.",
            ),
            ("marked Job", "flux", "Flux deletes and makes anew: Job/sweep in namespace default."),
        ],
    )
    def test_work_of_a_pool_with_a_new_name(self, kind: str, gitops: str, said: str) -> None:
        pod = (
            "apiVersion: v1\nkind: Pod\nmetadata: {name: sweep, labels: {kubectl-tas/pool: team}}\n"
            "spec: {restartPolicy: Never, containers: [{name: main, image: i}]}\n"
        )
        work = {"Pod": pod, "RayJob": RAY, "Job": JOB, "marked Job": JOB.replace(*REPLACED)}[kind]
        other = work.replace("sweep", "other").replace("pool: team", "pool: rest")
        shared = {**config(f"{{gitops: {gitops}}}"), "pools/rest.yaml": pool("rest", 1), "other.yaml": other}
        both = [
            {**shared, "pools/p.yaml": pool(name), "w.yaml": work.replace("pool: team", f"pool: {name}")}
            for name in ("team", "group")
        ]
        assert list(after_rename(*map(fleet_of, both))) == [said]


class TestSets:
    """PodCliqueSets of which not all is known."""

    def two(self, *sets: str) -> dict[str, str]:
        """Two clusters with a pool each."""
        return {**config(TWO), **RACKS, **pools("a", "b"), SET: "---\n".join(sets)}

    def test_a_set_of_which_nobody_knows_the_cluster(self) -> None:
        """The set itself is an error; that its domain must not change is said as well."""
        both = [self.two(clique_set(domain, named="racks", labels="{}")) for domain in ("rack", "host")]
        (only,) = changed_constraints(change(*both, states={"a": GroveState({}, {}, {})}))
        assert said(only).startswith(f'{SET}:10:38: rule 1: the domain of PodCliqueSet "chat" changes since HEAD')

    def test_a_set_that_only_another_cluster_has(self) -> None:
        before = self.two(clique_set("rack", named="racks", labels=of("b")))
        after = {**self.two(clique_set("host", named="grove", labels=of("b"))), "topologies/t.yaml": topology("grove")}
        live = {("default", "chat"): LiveSet("racks", True, ("rack",))}
        states = {"a": GroveState(live, {}, {}), "b": GroveState(None, {}, {})}
        (only,) = removed_topologies(change(before, after, states=states))
        assert only.message.endswith("but PodCliqueSet default/chat of the cluster a uses it")

    @pytest.mark.parametrize(
        ("before", "after", "place", "words"),
        [
            ("rack", "{pack: {required: rack, preferred: host}}", "9:64", "from rack to rack and preferred host"),
            (
                "{pack: {required: rack, preferred: host}}",
                "{pack: {preferred: host}}",
                "9:5",
                "from rack and preferred host to preferred host",
            ),
            ("rack", None, "8:3", "from rack to none"),
        ],
    )
    def test_the_domains_of_a_set_change(self, before: str, after: str | None, place: str, words: str) -> None:
        alpha9 = config('{backends: [{name: a, grove: {version: "0.1.0-alpha.9"}}]}')
        named = [("{topologyName: racks, " + item[1:]) if item and item[0] == "{" else item for item in (before, after)]
        files = [
            {
                **alpha9,
                **RACKS,
                "pools/p.yaml": pool(),
                SET: clique_set(item, named=None if item and item[0] == "{" else "racks"),
            }
            for item in named
        ]
        (only,) = changed_constraints(change(*files))
        assert said(only).startswith(f"{SET}:{place}: rule 1: ")
        assert words in only.message

    @pytest.mark.parametrize(("before", "after"), [(None, "racks"), ("racks", None)])
    def test_a_set_that_begins_or_ceases_to_name_a_topology_breaks_rule_1_alone(
        self, before: str | None, after: str | None
    ) -> None:
        files = [
            {**RACKS, "pools/p.yaml": pool(), SET: clique_set(name and "rack", named=name)} for name in (before, after)
        ]
        made = change(*files)
        assert list(changed_references(made)) == []
        assert [item.rule.code for item in changed_constraints(made)] == ["set-constraint-changed"]


class TestDrift:
    """Cluster topologies and sets of a cluster, beside those of the files."""

    LIVE = (("zone", KEYS["zone"]),)

    def test_topologies_and_sets_of_several_clusters_are_told_apart(self) -> None:
        state = GroveState({}, {"racks": self.LIVE}, {})
        files = {**RACKS, "pools/a.yaml": pool("a", 0), SET: clique_set("rack", named="racks", labels=of("a"))}
        one, two = fleet_of(files), fleet_of({**files, **config(TWO), **pools("a", "b")})
        assert [item.full_name for item in (*drifts(two, state, "b"), *declared_uses(two))] == [
            "b/racks",
            "a/default/chat",
        ]
        assert [item.full_name for item in (*drifts(one, state), *declared_uses(one))] == ["racks", "default/chat"]
        unknown = {**files, **config(TWO), SET: clique_set("rack", named="racks", labels="{}")}
        assert [item.full_name for item in declared_uses(fleet_of(unknown))] == ["default/chat"]

    def test_the_default_topology_of_a_cluster_is_of_the_operator(self) -> None:
        """Where the files have no operator, nothing is said of it."""
        state = GroveState({}, {"grove-topology": self.LIVE, "other": self.LIVE}, {})
        fleet = fleet_of({"pools/p.yaml": pool(), **RACKS})
        found = [item.message for item in check_drift(fleet, "default", state)]
        assert found == [
            'the cluster topology "other" is in the cluster, but not in this repository',
            'the cluster topology "racks" is not in the cluster',
        ]

    def test_a_set_is_shown_in_the_file_of_its_own_cluster(self) -> None:
        live = {("default", "chat"): LiveSet("racks", True, ("rack",)), ("default", "free"): LiveSet(None, False, ())}
        state = GroveState(live, {}, {})
        texts = {f"{name}.yaml": clique_set("rack", named="racks", labels=of(name)) for name in "ab"}
        fleet = fleet_of({**config(TWO), **RACKS, **pools("a", "b"), **texts})
        for name in "ab":
            first, _ = check_drift(fleet, name, state)
            assert said(first).startswith(f"{name}.yaml:4:9: TopologyLevelsUnavailable is Unknown for the set")
            assert f"of the cluster {name} (ClusterTopologyNotFound)" in first.message


class TestGonePools:
    """Pools that go, get another name, or another parent, with the places and notes of what is said."""

    NAMED = "  queue: {name: q}\n  sharedQueue: {name: q-rest}\n"

    def test_one_that_keeps_its_queues_hides_no_other(self) -> None:
        before = {"a.yaml": pool("a", 1, self.NAMED), "b.yaml": pool("b", 2)}
        after = {"c.yaml": pool("c", 1, self.NAMED), "d.yaml": pool("d", 2)}
        (only,) = gone_pools(change(before, after))
        assert said(only) == "d.yaml:4:9: pool b is called d since HEAD, so its queues have other names"
        assert [(item.message, item.location) for item in only.related] == [
            (f"osmo-pool-default-b{end} -> osmo-pool-default-d{end}", only.location) for end in ("", "--shared")
        ]

    def test_parent_and_child_get_a_new_name(self) -> None:
        before = {"a.yaml": pool("a", 9), "b.yaml": pool("b", 2, "  parent: a\n"), "s.yaml": subpool("x", 1, "b")}
        after = {"a.yaml": pool("c", 9), "b.yaml": pool("d", 2, "  parent: c\n"), "s.yaml": subpool("x", 1, "d")}
        made = change(before, after)
        assert [item.message.partition(" since")[0] for item in gone_pools(made)] == [
            "pool a is called c",
            "pool b is called d",
        ]
        assert list(moved_pools(made)) == []
        assert list(changed_subpools(made)) == []
        closed = {**after, "s.yaml": subpool("x", 1, "d", "ARCHIVED")}
        busy = {("default", "osmo-pool-default-b--x"): True}
        assert [said(item) for item in changed_subpools(change(before, closed, queues=busy))] == [
            "s.yaml:8:10: subpool b--x goes from ACTIVE to ARCHIVED, but workloads still run in it"
        ]

    @pytest.mark.parametrize(
        ("queues", "code", "runs"),
        [
            ({}, "pool-gone", ""),
            ({("default", "osmo-pool-default-a"): False}, "pool-gone", ""),
            ({("other", "osmo-pool-default-a"): True}, "pool-gone", ""),
            (
                {("default", f"osmo-pool-default-a{end}"): True for end in ("", "--shared", "--x")},
                "pool-busy",
                "; work still runs in osmo-pool-default-a, osmo-pool-default-a--shared",
            ),
        ],
        ids=["unknown", "idle", "another cluster", "busy"],
    )
    def test_one_that_goes(self, queues: dict[tuple[str, str], bool], code: str, runs: str) -> None:
        before = {"a.yaml": pool("a", 1), "b.yaml": pool("b", 2)}
        after = {"b.yaml": pool("b", 2)}
        (only,) = gone_pools(change(before, after, queues=queues))
        message = "pool a is gone since HEAD, and its queues: osmo-pool-default-a, osmo-pool-default-a--shared"
        assert (only.rule.code, said(only)) == (code, f"{message}{runs}")
        assert only.hint == (
            "Pods that run keep the old queue and their GPUs, but count for no pool once it is pruned; those that wait "
            "there never run. Best where nothing runs: let work end first."
        )
        assert [(item.message, said_at(item.location)) for item in only.related] == [("declared at HEAD", "a.yaml:4:9")]
        assert list(gone_pools(change(before, after, complete=False))) == []

    @pytest.mark.parametrize(
        ("before", "after", "found"),
        [
            ("", "  parent: a\n", "t.yaml:9:11: pool team moves from the top to below a"),
            ("  parent: a\n", "", "t.yaml:4:9: pool team moves from below a to the top"),
            ("  parent: a\n", "  parent: b\n", "t.yaml:9:11: pool team moves from below a to below b"),
            ("  parent: a\n", "  parent: a\n", None),
            ("  parent: a\n", "  parent: gone\n", None),
        ],
    )
    def test_one_with_another_parent(self, before: str, after: str, found: str | None) -> None:
        """A parent that nothing declares has a finding of its own, and hides no other move."""
        files = [
            {
                **{f"{name}.yaml": pool(name, 100) for name in "ab"},
                "t.yaml": pool(guarantee=1, spec=spec),
                "z.yaml": pool("z", 1, last),
            }
            for spec, last in ((before, ""), (after, "  parent: b\n"))
        ]
        rest = " since HEAD; its queues keep their names and their work"
        made = list(moved_pools(change(*files)))
        assert [said(item) for item in made] == [
            *([f"{found}{rest}"] if found else []),
            f"z.yaml:9:11: pool z moves from the top to below b{rest}",
        ]
        assert {item.hint for item in made} == {
            "Work that runs goes on, and counts for the new parent from the next cycle of the scheduler on."
        }


def said_at(place: Location | None) -> str:
    return f"{place.path}:{place.line}:{place.column}" if place else ""


class TestTopologiesInUse:
    """Cluster topologies that go or change, and who uses them."""

    USERS: ClassVar = {
        "p.yaml": pool(spec="  topology: racks\n"),
        "s.yaml": clique_set("rack", named="racks"),
        "w.yaml": workflow("zone"),
        "j.yaml": job("zone"),
        "g.yaml": pod_group("zone"),
    }

    def test_each_user_of_one_that_goes(self) -> None:
        found = list(removed_topologies(change({**RACKS, **self.USERS}, self.USERS)))
        assert [(said(item).partition(" is removed")[0], item.message.partition(", but ")[2]) for item in found] == [
            ('p.yaml:9:13: the cluster topology "racks"', "pool team uses it"),
            ('s.yaml:9:26: the cluster topology "racks"', "PodCliqueSet default/chat uses it"),
            ('j.yaml:5:9: the cluster topology "racks"', "Job sweep uses it"),
            ('g.yaml:4:18: the cluster topology "racks"', "PodGroup by-hand uses it"),
        ]
        assert {item.hint for item in found} == {"Restore it, or move its users to another topology first."}
        assert {(item.related[0].message, said_at(item.cause)) for item in found} == {
            ("declared at HEAD", "topologies/t.yaml:6:11")
        }
        assert list(removed_topologies(change({**RACKS, **self.USERS}, self.USERS, complete=False))) == []

    @pytest.mark.parametrize(
        ("after", "used_by"),
        [
            ("zone rack host", None),
            ("region zone rack host", "default/chat"),
            ("zone host", "default/chat, workflow train, Job sweep, PodGroup by-hand"),
            ("zone host rack", "default/chat, workflow train, Job sweep, PodGroup by-hand"),
        ],
        ids=["same", "one more", "one less", "other order"],
    )
    def test_each_user_of_one_that_changes(self, after: str, used_by: str | None) -> None:
        """A further level moves only what Grove placed."""
        changed = {**self.USERS, "topologies/t.yaml": topology(domains=after)}
        found = list(changed_levels(change({**RACKS, **self.USERS}, changed)))
        assert [item.message.partition("used by ")[2] for item in found] == ([used_by] if used_by else [])
        hint = "Drain them first, or declare a second topology."
        more = " With --cluster-state, or --context, work that does not run is not counted."
        assert {item.hint for item in found} == ({f"{hint}{more}"} if used_by else set())
        states = {"default": GroveState({}, {}, {})}
        idle = {("default", "osmo-pool-default-team--shared"): False}
        assert list(changed_levels(change({**RACKS, **self.USERS}, changed, states=states, queues=idle))) == []
        busy = list(changed_levels(change({**RACKS, **self.USERS}, changed, states=states)))
        rest = (used_by or "").removeprefix("default/chat").removeprefix(", ")
        assert [(item.message.partition("used by ")[2], item.hint) for item in busy] == ([(rest, hint)] if rest else [])

    def test_levels_in_words(self) -> None:
        changed = {**self.USERS, "topologies/t.yaml": topology(domains="zone rack")}
        (only,) = changed_levels(change({**RACKS, **self.USERS}, changed))
        zone, rack = f"zone ({KEYS['zone']})", f"rack ({KEYS['rack']})"
        assert said(only).startswith(
            f'topologies/t.yaml:6:3: the levels of the cluster topology "racks" change since HEAD from {zone} > {rack} '
            f"> host ({KEYS['host']}) to {zone} > {rack}, but it is used by "
        )
        assert [(item.message, said_at(item.location)) for item in only.related] == [
            ("the levels at HEAD", "topologies/t.yaml:6:11")
        ]

    def test_only_other_labels_recreate_a_topology(self) -> None:
        a, b = Level("a", "x"), Level("b", "x")
        assert not is_recreated([a], [b])
        assert is_recreated([a], [Level("a", "y")])
        assert is_recreated([a], [a, Level("c", "y")])

    def test_a_set_of_the_cluster_alone_keeps_its_topology(self) -> None:
        live = {("default", "live"): LiveSet("racks", True, ("rack",)), ("default", "other"): LiveSet("x", True, ())}
        alone = {"p.yaml": pool()}
        changed = {**alone, "topologies/t.yaml": topology(domains="zone")}
        for pods, used in (({("default", "live"): 1}, ["default/live"]), ({}, []), (None, ["default/live"])):
            made = change({**RACKS, **alone}, changed, states={"default": GroveState(live, {}, pods)})
            assert [item.message.partition("used by ")[2] for item in changed_levels(made)] == used


class TestParts:
    """Parts of a PodCliqueSet, each with a domain of its own."""

    def sets(self, group: str | None, clique_asks: str | None = None, *, names: str = "worker", at: str = "sg") -> str:
        cliques = clique("leader", clique_asks) + clique("worker")
        return clique_set("zone", cliques, scaling_group(at, names, group), named="racks")

    @pytest.mark.parametrize(
        ("before", "after", "found"),
        [
            (("rack",), ("rack",), []),
            (("rack",), ("host",), [('scaling group "sg"', "rack", "host")]),
            ((None, "rack"), (None, "host"), [('clique "leader"', "rack", "host")]),
            ((None, "rack"), (None, None), [('clique "leader"', "rack", "none")]),
        ],
        ids=["same", "scaling group", "clique", "clique without"],
    )
    def test_domains(self, before: Any, after: Any, found: list[tuple[str, str, str]]) -> None:
        files = [{**RACKS, "p.yaml": pool(), SET: self.sets(*asks)} for asks in (before, after)]
        made = list(changed_constraints(change(*files)))
        assert [item.message for item in made] == [
            f"rule 1: the domain of {what} changes since HEAD from {old} to {new}; domains of a deployed set cannot be "
            "changed"
            for what, old, new in found
        ]
        hint = "Undo the change, delete the set chat first, or give it another name."
        assert all(item.hint == hint for item in made)

    @pytest.mark.parametrize(
        ("before", "after", "found"),
        [
            ({"names": "worker"}, {"names": "leader, worker"}, [("leader", "none", "rack")]),
            ({"names": "leader, worker"}, {"names": "worker"}, [("leader", "rack", "none")]),
            ({"at": "sg"}, {"at": "other"}, []),
        ],
        ids=["joins a group", "leaves a group", "its group has another name"],
    )
    def test_domains_by_the_scaling_group(self, before: Any, after: Any, found: list[tuple[str, str, str]]) -> None:
        files = [{**RACKS, "p.yaml": pool(), SET: self.sets("rack", **more)} for more in (before, after)]
        made = list(changed_constraints(change(*files)))
        assert [item.message.partition(";")[0] for item in made] == [
            f'rule 1: the domain of clique "{name}" by its scaling group changes since HEAD from {old} to {new}'
            for name, old, new in found
        ]
