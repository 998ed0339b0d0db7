"""Tests what is found in a change of files in cases that need several clusters, another tool or a known state."""

from __future__ import annotations

from typing import Any

import pytest

from kubectl_tas.compare.change import Change
from kubectl_tas.compare.grove_changes import changed_constraints, changed_references, removed_topologies
from kubectl_tas.compare.object_changes import changed_namespaces, unappliable_changes
from kubectl_tas.compare.pool_changes import after_rename, changed_subpools, gone_pools
from kubectl_tas.compare.topology_drift import check_drift, declared_uses, drifts
from kubectl_tas.diagnostics import Diagnostic
from kubectl_tas.live.cliquesets import GroveState, LiveSet
from tests.support.cli import pool, subpool
from tests.support.fleets import fleet_of, said
from tests.support.grove import KEYS, clique_set, of, topology

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
        ("gitops", "hint"), [("argocd", "Remove the label once that is done."), ("flux", "")], ids=["Argo CD", "Flux"]
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
