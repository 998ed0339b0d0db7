"""Tests ``import cluster``: the result renders the objects of the cluster, and omissions are reported."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kubectl_tas.base.diagnostics import TasError
from kubectl_tas.facts.quantities import NO_LIMIT, kai_number
from kubectl_tas.imports import queuetree
from kubectl_tas.imports.from_cluster import ImportOptions, import_cluster, level_name
from kubectl_tas.imports.queuetree import Forest, forest
from kubectl_tas.imports.written import Imported
from kubectl_tas.live.cluster_state import Record
from tests.support.cli import Result, kubectl_tas, write
from tests.support.clusters import FREE, kai, live_kai_topology, live_queue, priority_class, saved
from tests.support.history import commit
from tests.support.kubectl import FakeKubectl, pod_group, queue
from tests.support.pyyaml import safe_load, safe_load_all
from tests.support.rendered import files_below

Item = dict[str, Any]


def imported(folder: Path, *items: Item, arguments: tuple[str, ...] = ()) -> Result:
    """What the command says; the repository is ``folder/work``."""
    state = saved(folder, *items)
    return kubectl_tas("import", "cluster", "--cluster-state", state, "--to", folder / "work", *arguments)


def rendered(folder: Path) -> dict[tuple[str, str], Item]:
    """What the repository renders."""
    result = kubectl_tas("render", "-C", folder / "work", "--to", "-")
    assert result.code == 0, result.err
    return {(item["kind"], item["metadata"]["name"]): item for item in safe_load_all(result.out)}


def unchanged(folder: Path, *items: Item) -> set[str]:
    """The objects that are rendered as they are, after it has been made sure that nothing else of them is."""
    found = rendered(folder)
    own = {(item["kind"], item["metadata"]["name"]): item for item in items}
    for key in own.keys() & found.keys():
        assert found[key]["apiVersion"] == own[key]["apiVersion"]
        assert found[key]["spec"] == own[key]["spec"], key
    return {name for _, name in own.keys() & found.keys()}


DEFAULT = (
    live_queue("default-parent-queue", None, (0, -1, 1), (0, -1, 1), (0, -1, 1)),
    live_queue("default-queue", "default-parent-queue", (0, -1, 1), (0, -1, 1), (0, -1, 1)),
)
"""The queues of KAI's chart."""
TEAM = (
    live_queue("research", None, (64, 96, 2), displayName="Research", priority=110, reclaimMinRuntime="30m"),
    live_queue("research-nlp", "research", (40, -1, 2), priority=110),
    live_queue("research.vision", "research", (16, 32, 1), displayName="Vision", priority=90),
)


WRITTEN = """\
# == tas.yaml
# Imported from a cluster.
apiVersion: tas/v1alpha1
kind: Config
spec:
  backends:
  - name: default
    namespace: default
    scheduler:
      type: kai
      version: "0.17.0"
    context: prod
    rootQueue: none
  priorityClasses:
    HIGH: osmo-high
    NORMAL: osmo-normal
    LOW: tas-low
# == pools/research.yaml
# Imported: the Queue research, with research-nlp, research.vision below it.
apiVersion: tas/v1alpha1
kind: Pool
metadata:
  name: research
spec:
  namespaces:
  - extra
  - cv
  - nlp
  resources:
    gpu:
      guarantee: 64
      maximum: 96
      weight: 2
  priority: 110
  reclaimMinRuntime: "30m"
  queue:
    name: research
    displayName: Research
# == subpools/research--nlp.yaml
# Imported: the Queue research-nlp.
apiVersion: tas/v1alpha1
kind: Subpool
metadata:
  name: nlp
spec:
  parent: research
  quota: 40
  maximum:
    gpu: -1
  namespaces:
  - nlp
  state: ACTIVE
  queue:
    name: research-nlp
    displayName: ""
# == subpools/research--vision.yaml
# Imported: the Queue research.vision.
apiVersion: tas/v1alpha1
kind: Subpool
metadata:
  name: vision
spec:
  parent: research
  quota: 16
  maximum:
    gpu: 32
  weight:
    gpu: 1
  priority: 90
  namespaces:
  - cv
  state: ACTIVE
  queue:
    name: research.vision
    displayName: Vision
# == topologies/fabric.yaml
# Imported: the Topology fabric.
apiVersion: grove.io/v1alpha1
kind: ClusterTopology
metadata:
  name: fabric
spec:
  levels:
  - domain: zone
    key: topology.kubernetes.io/zone
  - domain: row
    key: a/rack
  - domain: host
    key: kubernetes.io/hostname
  - domain: level-9a-b
    key: x/9a_B
"""
"""The files for them, for a topology, and for a PriorityClass whose name has another value."""


def made(*items: Item, **wanted: Any) -> Imported:
    """What becomes of these objects, in memory."""
    return import_cluster(Record(items, (), {}), ImportOptions(**wanted))


def test_the_files_of_a_whole_cluster() -> None:
    groups = [pod_group(name, running=1) for name in ("research-nlp", "research", "research.vision")]
    for group, namespace in zip(groups, ("nlp", "extra", "cv"), strict=True):
        group["metadata"]["namespace"] = namespace
    levels = ("topology.kubernetes.io/zone", ("a/rack", "row"), "kubernetes.io/hostname", "x/9a_B")
    classes = (priority_class("osmo-low", 7), priority_class("urgent", 1000), priority_class("system-x", 2))
    found = made(*TEAM, *groups, kai(), live_kai_topology("fabric", *levels), *classes, context="prod")
    assert "".join(f"# == {path}\n{text}" for path, text in found.files.items()) == WRITTEN
    three = "there are three priorities here, HIGH 125, NORMAL 100, LOW 50, each with a class of its own"
    assert [(item.kind, item.name, item.reason) for item in found.unplaced] == [
        ("PriorityClass", "osmo-low", f"its value is 7; {three}"),
        ("PriorityClass", "urgent", f"its value is 1000; {three}"),
    ]
    assert (found.notes, found.clashes) == ((), ())


def test_what_tells_the_release() -> None:
    """KAI's images, of which the newest counts; else the API of Topologies, which is Kueue's before 0.12."""
    note = "The cluster does not tell which release of KAI it runs: set scheduler.version of the backend in tas.yaml."
    of_kueue = live_kai_topology("t", "a/zone", api="kueue.x-k8s.io/v1alpha1")
    for items, version, notes in (
        ((), None, (note,)),
        ((of_kueue,), "0.11", (note,)),
        ((of_kueue, live_kai_topology("u", "a/zone")), None, (note,)),
        ((kai("0.16.0"), kai("0.17.0"), kai("0.9.10"), of_kueue), "0.17.0", ()),
    ):
        found = made(*TEAM, *items)
        (backend,) = found.settings["backends"]
        assert (backend.get("scheduler"), found.notes) == (version and {"type": "kai", "version": version}, notes)


@pytest.mark.parametrize(
    ("levels", "reason"),
    [
        ((), "it has no levels"),
        (("a/zone", "-"), "no cluster topology can have its level '-'"),
        ((("a/zone", "Zone"),), "no cluster topology can have its level 'Zone'"),
        ((f"a/{'b' * 62}",), f"no cluster topology can have its level 'a/{'b' * 62}'"),
    ],
)
def test_a_topology_that_no_file_can_have(levels: tuple[Any, ...], reason: str) -> None:
    found = made(*TEAM, live_kai_topology("t", *levels), kai())
    assert [(item.kind, item.name, item.reason) for item in found.unplaced] == [("Topology", "t", reason)]
    assert not any("topologies" in path for path in found.files)


@pytest.mark.parametrize(
    ("label", "name"),
    [
        ("topology.kubernetes.io/zone", "zone"), ("kubernetes.io/hostname", "host"), ("a/topology-rack", "rack"),
        ("x/9a_B", "level-9a-b"), ("A/Rack.Unit_", "rack-unit"), ("block", "block"),
    ],
)  # fmt: skip
def test_what_a_level_is_called(label: str, name: str) -> None:
    assert level_name(label) == name
    assert level_name(label, {label: "leaf", "other": "spine"}) == "leaf"
    assert level_name(label, {"other": "spine"}) == name


@pytest.mark.parametrize(
    ("items", "said"),
    [
        ((kai("0.1.9"), *TEAM), "the cluster runs KAI 0.1.9, which is older than 0.2 to 0.17; Update KAI."),
    ],
)  # fmt: skip
def test_a_cluster_that_cannot_be_imported(items: tuple[Item, ...], said: str) -> None:
    with pytest.raises(TasError) as refused:
        made(*items)
    assert f"{refused.value}; {refused.value.hint}" == said


@pytest.mark.parametrize(
    "item",
    [
        {"kind": "Queue", "metadata": {"name": "a"}, "spec": {"parentQueue": 1}},
        {"kind": "Topology"},
        {"kind": "PodGroup", "metadata": [1]},
        {"kind": "ClusterTopology", "metadata": {"name": "t"}},
    ],
    ids=lambda item: item["kind"],
)
def test_objects_that_are_not_built_as_their_kinds(item: Item, tmp_path: Path) -> None:
    result = imported(tmp_path, *TEAM, item)
    assert result.code == 3
    assert f"error: a {item['kind']} of the cluster cannot be read: " in result.err
    assert not (tmp_path / "work").exists()


def test_queues_thousands_deep(tmp_path: Path) -> None:
    """No depth ends the program: they have no place here, and that is said of each."""
    deep = [live_queue(f"q{n}", f"q{n - 1}" if n else None, (8, 8, 1)) for n in range(3000)]
    result = imported(tmp_path, *deep, *TEAM, kai())
    assert result.code == 0, result.err
    assert "q1 below q0 has queues of its own: departments are not imported" in result.out
    assert "q2999" in result.out
    assert unchanged(tmp_path, *TEAM) == {"research", "research-nlp", "research.vision"}


def test_a_folder_is_one_of_the_working_folder_or_of_that_of_the_option(tmp_path: Path) -> None:
    state = saved(tmp_path, *TEAM, kai())
    options = ("import", "cluster", "--cluster-state", state, "--to", "work")
    (tmp_path / "there").mkdir()
    assert kubectl_tas(*options, cwd=tmp_path).code == 0
    assert kubectl_tas("-C", "there", *options, cwd=tmp_path).code == 0
    assert (tmp_path / "work/pools/research.yaml").is_file()
    assert (tmp_path / "there/work/pools/research.yaml").is_file()


class TestUnchanged:
    def test_the_queues_of_an_installation(self, tmp_path: Path) -> None:
        assert imported(tmp_path, *DEFAULT, kai()).code == 0
        assert unchanged(tmp_path, *DEFAULT) == {"default-parent-queue", "default-queue"}
        assert len([kind for kind, _ in rendered(tmp_path) if kind == "Queue"]) == 2

    def test_a_department_with_teams(self, tmp_path: Path) -> None:
        result = imported(tmp_path, *TEAM, kai())
        assert result.code == 0
        assert "Would change" not in result.out
        assert "no place" not in result.out
        assert unchanged(tmp_path, *TEAM) == {"research", "research-nlp", "research.vision"}
        assert (
            "New:\n  PriorityClass osmo-high, osmo-low, osmo-normal\n  Queue osmo-pool-default-research--shared\n"
            in (result.out)
        )
        assert (tmp_path / "work/subpools/research--nlp.yaml").is_file()

    def test_cpu_and_memory(self, tmp_path: Path) -> None:
        """KAI counts thousandths of a core and 10^6 bytes; files say cores and quantities."""
        items = (
            live_queue("a", None, (8, 8, 1), (2500, 4000, 3), (kai_number("memory", 249 * 2**30), -1, 1)),
            live_queue("a-b", "a", (4, 8, 1), (500, 4000, 2), (1073.741824, -1, 1)),
        )
        assert imported(tmp_path, *items, kai()).code == 0
        assert unchanged(tmp_path, *items) == {"a", "a-b"}
        text = (tmp_path / "work/pools/a.yaml").read_text()
        assert 'guarantee: "249Gi"' in text
        assert 'guarantee: "2.5"' in text

    def test_three_levels_below_an_unlimited_root(self, tmp_path: Path) -> None:
        items = (
            live_queue("cluster"),
            live_queue("dep", "cluster", (8, -1, 1)),
            live_queue("dep-a", "dep", (8, -1, 1), displayName="A"),
        )
        assert imported(tmp_path, *items, kai()).code == 0
        assert unchanged(tmp_path, *items) == {"cluster", "dep", "dep-a"}

    def test_the_scheme_of_osmo(self, tmp_path: Path) -> None:
        """Queues that are called as OSMO calls them need no names of their own."""
        root = live_queue("osmo-default-ml", displayName="osmo-default-ml")
        pool = live_queue("osmo-pool-ml-team", "osmo-default-ml", (64, -1, 1), displayName="team")
        shared = live_queue("osmo-pool-ml-team--shared", "osmo-pool-ml-team", (48, -1, 1), displayName="team--_shared")
        leaf = live_queue("osmo-pool-ml-team--a", "osmo-pool-ml-team", (16, -1, 1), displayName="team--a")
        levels = live_kai_topology("osmo-pool-ml-team-topology", ("z", "zone"), ("r", "rack"))
        items = (root, pool, shared, leaf, levels)
        result = imported(tmp_path, *items, kai())
        assert (result.code, "New:\n  PriorityClass" in result.out) == (0, True)
        assert unchanged(tmp_path, *items) == {item["metadata"]["name"] for item in items}
        texts = "".join((tmp_path / "work" / path).read_text() for path in ("tas.yaml", "pools/team.yaml"))
        assert "queue:" not in texts
        assert "- key: zone\n    label: z\n" in texts
        assert not (tmp_path / "work/topologies").exists()

    def test_two_levels_of_queues(self, tmp_path: Path) -> None:
        items = (live_queue("a", None, (8, 8, 1)), live_queue("b", "a", (8, 8, 1)))
        assert imported(tmp_path, *items, kai("0.12.4")).code == 0
        assert unchanged(tmp_path, *items) == {"a", "b"}
        assert "rootQueue" not in (tmp_path / "work/tas.yaml").read_text()

    def test_a_shard(self, tmp_path: Path) -> None:
        items = [live_queue(name, parent, (8, 8, 1), labels={"kai.scheduler/node-pool": "h100"}) for name, parent in (
            ("a", None), ("b", "a"),
        )]  # fmt: skip
        assert imported(tmp_path, *items, kai()).code == 0
        assert unchanged(tmp_path, *items) == {"a", "b"}
        assert rendered(tmp_path)["Queue", "b"]["metadata"]["labels"]["kai.scheduler/node-pool"] == "h100"

    @pytest.mark.parametrize("levels", [("a/zone", "a/rack"), (("a/zone", "zone"), ("a/rack", "row"))])
    def test_topologies(self, tmp_path: Path, levels: tuple[Any, ...]) -> None:
        items = (*DEFAULT, live_kai_topology("fabric", *levels))
        assert imported(tmp_path, *items, kai()).code == 0
        assert "fabric" in unchanged(tmp_path, *items)

    def test_a_topology_of_an_earlier_api(self, tmp_path: Path) -> None:
        items = (*DEFAULT, live_kai_topology("fabric", "a/zone", api="kueue.x-k8s.io/v1alpha1"))
        assert imported(tmp_path, *items).code == 0
        assert "fabric" in unchanged(tmp_path, *items)

    def test_namespaces_of_what_runs(self, tmp_path: Path) -> None:
        groups = [
            pod_group("research-nlp", running=1),
            pod_group("research-nlp", running=1),
            pod_group("research", running=0),
        ]
        for group, namespace in zip(groups, ("nlp", "nlp", "extra"), strict=True):
            group["metadata"]["namespace"] = namespace
        assert imported(tmp_path, *TEAM, *groups, kai()).code == 0
        assert "  namespaces:\n  - extra\n  - nlp\n" in (tmp_path / "work/pools/research.yaml").read_text()

    @settings(max_examples=40, deadline=None)
    @given(data=st.data())
    def test_any_cluster(self, data: st.DataObject, tmp_path_factory: pytest.TempPathFactory) -> None:
        """Whatever queues there are: each is rendered as it is, or is named with the reason."""
        folder = tmp_path_factory.mktemp("any")
        share = st.tuples(st.sampled_from([-1, 0, 2, 8, 64, 0.5]), st.sampled_from([-1, 0, 8, 96]), st.integers(0, 2))
        names_ = [f"q{number}" for number in range(data.draw(st.integers(1, 8)))]
        items = []
        for index, name in enumerate(names_):
            parent = data.draw(st.sampled_from([None, *names_[:index], "gone"]))
            cpu = data.draw(st.sampled_from([FREE, FREE, (1000, -1, 1)]))
            extra = data.draw(
                st.sampled_from([{}, {}, {"priority": 7}, {"displayName": "x"}, {"preemptMinRuntime": "5m"}])
            )
            items.append(live_queue(name, parent, data.draw(share), cpu, **extra))
        result = imported(folder, *items, kai(data.draw(st.sampled_from(["0.17.0", "0.12.4"]))))
        assert "Traceback" not in result.err
        assert "would have these errors" not in result.err
        placed = unchanged_but_for_written(folder, *items) if result.code == 0 else set()
        said = result.out.partition("Not imported")[2]
        assert {name for name in names_ if f"{name}," in said or f"{name}:" in said or f"{name} " in said} >= (
            set(names_) - placed
        )


def unchanged_but_for_written(folder: Path, *items: Item) -> set[str]:
    """The same, where what KAI reads for what is left out may be written out."""
    found, read = rendered(folder), {"priority": 100}
    placed = set()
    for item in items:
        name = item["metadata"]["name"]
        if ("Queue", name) in found:
            placed.add(name)
            spec = found["Queue", name]["spec"]
            assert {**read, **spec} == {**read, **item["spec"]}
    return placed


SHARD = {"kai.scheduler/node-pool": "h100"}
LEAVES = "work runs in leaves below a pool's own queue"
DEPARTMENT = "has queues of its own: departments are not imported, but declared by hand, with spec.parent"
REFUSED: dict[str, tuple[tuple[Item, ...], str]] = {
    "alone": ((live_queue("interns"),), f"Queue interns: it has neither a parent nor children; {LEAVES}"),
    "beside-pools": (
        (
            live_queue("top"), live_queue("p", "top", (8, -1, 1)), live_queue("a", "p", (8, -1, 1)),
            live_queue("b", "top", (2, 2, 1)),
        ),
        f"Queue b: it is a leaf next to pools, below top; {LEAVES}",
    ),
    "four-levels": (
        (live_queue("t"), live_queue("d", "t"), live_queue("e", "d"), live_queue("f", "e")),
        f"Queue d, e, f, t: d below t {DEPARTMENT}",
    ),
    "limited-root": (
        (live_queue("t", None, (9, 9, 1)), live_queue("d", "t", (8, -1, 1)), live_queue("e", "d", (8, -1, 1))),
        f"Queue d, e, t: d below t {DEPARTMENT}",
    ),
    "more-than-there-is": (
        (
            live_queue("p", None, (8, -1, 1)), live_queue("a", "p", (8, -1, 1), displayName="A"),
            live_queue("b", "p", (2, -1, 1)),
        ),
        "Queue a, b, p: the gpu quota of p is 8 GPUs, its children need 10 GPUs. `--sums` sets 10 GPUs",
    ),
    "a-part": (
        (live_queue("p", None, (8, -1, 1)), live_queue("a", "p", (0.5, -1, 1))),
        "Queue a, p: a: the quota of its gpu is 0.5, which is not in whole GPUs",
    ),
    "weight": ((live_queue("p", None, (8, -1, 1.5)), live_queue("a", "p", (8, -1, 1))),
        "Queue a, p: the weight of its gpu is 1.5; weights are whole numbers here",
    ),
    "below-quota": (
        (live_queue("p", None, (8, 4, 1)), live_queue("a", "p", (8, 4, 1))),
        "Queue a, p: p has a quota of 8 GPUs, but may hold at most 4 GPUs",
    ),
    "runtime": (
        (live_queue("p", None, (8, -1, 1)), live_queue("a", "p", (4, -1, 1), preemptMinRuntime="5m")),
        "Queue a, p: a has a least runtime of its own; here it is that of the pool",
    ),
    "runtime-of-reclaim": (
        (live_queue("p", None, (8, -1, 1)), live_queue("a", "p", (4, -1, 1), reclaimMinRuntime="5m")),
        "Queue a, p: a has a least runtime of its own; here it is that of the pool",
    ),
    "shards": (
        (live_queue("p", None, (8, -1, 1), labels=SHARD), live_queue("a", "p", (8, -1, 1))),
        "Queue a, p: a and p are of different shards of the scheduler",
    ),
    "long-name": (
        (live_queue("p" * 64, None, (8, -1, 1)), live_queue("a", "p" * 64, (8, -1, 1))),
        f"Queue a, {'p' * 64}: the name {'p' * 64} has more than 63 characters",
    ),
    "limit-below-no-limit": (
        (live_queue("p", None, (-1, 4, 1)), live_queue("a", "p", (-1, 4, 1))),
        "Queue a, p: p has no limit to its quota of gpu, but may hold at most 4 GPUs",
    ),
    "gone": ((live_queue("p", "gone"),), "Queue p: its parent gone is not there"),
    "circle": ((live_queue("p", "q"), live_queue("q", "p")), "Queue p, q: no queue at the top is above it"),
    "bytes": (
        (live_queue("p", None, (8, -1, 1), memory=(1.000001, -1, 1)), live_queue("a", "p", (8, -1, 1))),
        "Queue a, p: the quota of its memory is 1.000001, which is not in whole bytes that can be written with a unit",
    ),
}  # fmt: skip


def found(*items: Item, sums: bool = False) -> Forest:
    """What becomes of these queues with KAI's newest release."""
    return forest([queuetree.live_queue(item) for item in items], has_root=True, sums=sums)


NO_AMOUNT, MANY = "which is no amount", "more than files count to"


@pytest.mark.parametrize(
    ("field", "value", "said"),
    [
        ("gpu quota", -2, f"the quota of its gpu is -2, {NO_AMOUNT}"),
        ("gpu quota", True, f"the quota of its gpu is True, {NO_AMOUNT}"),
        ("gpu quota", "4", f"the quota of its gpu is '4', {NO_AMOUNT}"),
        ("gpu limit", 10**18, f"the limit of its gpu is 1000000000000000000, {NO_AMOUNT}"),
        ("gpu limit", 2**31, f"the limit of its gpu is 2147483648, {MANY}"),
        ("cpu limit", 2**31 * 1000, f"the limit of its cpu is 2147483648000, {MANY}"),
        ("memory limit", 2**31 * 10**8, f"the limit of its memory is 214748364800000000, {MANY}"),
        ("gpu limit", 2.5, "the limit of its gpu is 2.5, which is not in whole GPUs"),
        ("cpu limit", 0.0001, "the limit of its cpu is 0.0001, which is not in whole thousandths of a core"),
        (
            "memory limit",
            0.0001,
            "the limit of its memory is 0.0001, which is not in whole bytes that can be written with a unit",
        ),
        ("gpu overQuotaWeight", -1, "the weight of its gpu is -1; weights are whole numbers here"),
        ("cpu overQuotaWeight", 0.5, "the weight of its cpu is 0.5; weights are whole numbers here"),
        ("gpu", [1], f"the quota of its gpu is None, {NO_AMOUNT}"),
    ],
)
def test_amounts_that_no_file_has(field: str, value: Any, said: str) -> None:
    """A pool is left out with all its queues, whichever of them has the amount."""
    resource, _, name = field.partition(" ")
    for index, prefix in enumerate(("", "a: ")):
        items = [live_queue("p", None, (8, -1, 1)), live_queue("a", "p", (4, -1, 1))]
        shares = items[index]["spec"]["resources"]
        shares[resource] = {**shares[resource], name: value} if name else value
        assert found(*items).unplaced == dict.fromkeys(("a", "p"), f"{prefix}{said}")


@pytest.mark.parametrize(
    ("field", "value", "shown"),
    [
        ("priority", 2**31, "2147483648"), ("priority", "x", "'x'"), ("preemptMinRuntime", "5 minutes", "'5 minutes'"),
        ("reclaimMinRuntime", 5, "5"),
    ],
)  # fmt: skip
def test_fields_that_no_file_has(field: str, value: Any, shown: str) -> None:
    for index, name in enumerate("pa"):
        items = [live_queue("p", None, (8, -1, 1)), live_queue("a", "p", (4, -1, 1))]
        items[index]["spec"][field] = value
        said = f"the {field} of {name} is {shown}, which no file can express"
        assert found(*items).unplaced == dict.fromkeys(("a", "p"), said)


@pytest.mark.parametrize(
    ("pool", "leaf", "said"),
    [
        ((8, -1, 1), (-1, -1, 1), "a has no limit to its quota of gpu, but a subpool is guaranteed a number"),
        (
            (-1, -1, 1),
            (4, -1, 1),
            "the gpu quota of p is unlimited, its children need 4 GPUs. `--sums` sets 4 GPUs",
        ),
        (
            (3, -1, 1),
            (4, -1, 1),
            "the gpu quota of p is 3 GPUs, its children need 4 GPUs. `--sums` sets 4 GPUs",
        ),
        ((8, 2, 1), (1, 2, 1), "p has a quota of 8 GPUs, but may hold at most 2 GPUs"),
        ((8, -1, 1), (4, 3, 1), "a has a quota of 4 GPUs, but may hold at most 3 GPUs"),
    ],
)
def test_quotas_that_are_no_guarantees(pool: tuple[int, int, int], leaf: tuple[int, int, int], said: str) -> None:
    items = (live_queue("p", None, pool), live_queue("a", "p", leaf))
    assert found(*items).unplaced == dict.fromkeys(("a", "p"), said)
    summed = found(*items, sums=True)
    assert [item.guarantee.gpu for item in summed.pools] == ([4] if "--sums" in said else [])


def test_amounts_without_limit_of_others_than_gpus() -> None:
    """If neither the pool nor a subpool has a limit, there is none; a limit of one of them is no sum."""
    free = live_queue("p", None, (8, -1, 1)), live_queue("a", "p", (4, -1, 1))
    (pool,) = found(*free).pools
    assert (pool.guarantee.cpu, pool.guarantee.memory) == (NO_LIMIT, NO_LIMIT)
    said = "unlimited, its children need 1500k memory. `--sums` sets 1500k memory"
    mixed = free[0], live_queue("a", "p", (4, -1, 1), memory=(1.5, -1, 1))
    assert found(*mixed).unplaced == dict.fromkeys(("a", "p"), f"the memory quota of p is {said}")
    both = live_queue("b", "p", (1, -1, 1))
    said = "b has no limit to its quota of memory, but a subpool is guaranteed a number"
    assert found(*mixed, both).unplaced == dict.fromkeys(("a", "b", "p"), said)


def test_a_root_below_which_nothing_has_a_place() -> None:
    items = (live_queue("t"), live_queue("d", "t"), live_queue("e", "d"), live_queue("f", "e"))
    without = "e below d has queues of its own: departments are not imported, but declared by hand, with spec.parent"
    assert found(*items).unplaced == {**dict.fromkeys("def", without), "t": "no pool below it has a place"}
    shards = live_queue("h", None, (8, -1, 1), labels=SHARD), live_queue("g", "h", (8, -1, 1), labels=SHARD)
    assert found(*items, *shards).root is None


def test_what_is_next_to_a_root() -> None:
    rooted = live_queue("top"), live_queue("p", "top", (8, -1, 1)), live_queue("a", "p", (8, -1, 1))
    other = live_queue("q", None, (8, -1, 1)), live_queue("b", "q", (4, -1, 1)), live_queue("c", "b", (4, -1, 1))
    said = "q is at the top next to top, the parent of the other pools"
    assert found(*rooted, *other).unplaced == dict.fromkeys(("b", "c", "q"), said)


@pytest.mark.parametrize(
    "change",
    [
        {"priority": 7}, {"parentQueue": "gone"},
        {"resources": {"gpu": {"quota": -1, "limit": -1, "overQuotaWeight": 1}}},
        {"resources": {name: {"quota": -1, "limit": -1, "overQuotaWeight": 2} for name in ("gpu", "cpu", "memory")}},
        {"resources": {name: {"quota": -1, "limit": 9, "overQuotaWeight": 1} for name in ("gpu", "cpu", "memory")}},
        {"resources": {name: {"quota": 0, "limit": -1, "overQuotaWeight": 1} for name in ("gpu", "cpu", "memory")}},
        {"resources": {"gpu": {"quota": "x"}}},
    ],
)  # fmt: skip
def test_only_a_queue_without_limits_is_the_root(change: Item) -> None:
    """That is what ``render`` makes; a display name may be another one."""
    below = live_queue("p", "top", (8, -1, 1)), live_queue("a", "p", (8, -1, 1))
    root = found(live_queue("top", displayName="All"), *below).root
    assert root is not None
    assert root.name == "top"
    top = live_queue("top")
    top["spec"] |= change
    assert found(top, *below).root is None


def test_the_root_with_most_queues_below_it_is_chosen() -> None:
    items = [
        *(live_queue(name) for name in ("few", "many")),
        *(live_queue(f"{name}-p", name, (8, -1, 1)) for name in ("few", "many")),
        *(live_queue(name, f"{name.partition('-')[0]}-p", (2, -1, 1)) for name in ("few-a", "many-a", "many-b")),
    ]
    root = found(*items).root
    assert root is not None
    assert root.name == "many"


def test_a_shard_beside_a_root_is_a_pool(tmp_path: Path) -> None:
    """Its queues cannot be below the root, which is of another shard."""
    shard = [live_queue("h", None, (8, -1, 1), labels=SHARD), live_queue("h-a", "h", (8, -1, 1), labels=SHARD)]
    rooted = [live_queue("top"), live_queue("p", "top", (8, -1, 1)), live_queue("a", "p", (8, -1, 1))]
    result = imported(tmp_path, *shard, *rooted, kai())
    assert (result.code, "no place" in result.out) == (0, False), result.out
    assert unchanged(tmp_path, *shard, *rooted) == {"h", "h-a", "top", "p", "a"}


def test_a_shard_below_a_root_has_no_place(tmp_path: Path) -> None:
    shard = [live_queue("h", "top", (8, -1, 1), labels=SHARD), live_queue("h-a", "h", (8, -1, 1), labels=SHARD)]
    rooted = [live_queue("top"), live_queue("p", "top", (8, -1, 1)), live_queue("a", "p", (8, -1, 1))]
    assert "Queue h, h-a: h is of the shard h100, but has a parent\n" in imported(tmp_path, *shard, *rooted, kai()).out
    assert unchanged(tmp_path, *shard, *rooted) == {"top", "p", "a"}


def test_a_leaf_that_is_called_shared_is_no_queue_of_the_pool_itself(tmp_path: Path) -> None:
    """The name is that of the rest of a pool, which this leaf is not."""
    items = (live_queue("p", None, (8, -1, 1)), *(live_queue(f"p-{x}", "p", (4, -1, 1)) for x in ("shared", "b")))
    assert imported(tmp_path, *items, kai()).code == 0
    assert unchanged(tmp_path, *items) == {"p", "p-shared", "p-b"}
    assert sorted(path.stem for path in files_below(tmp_path / "work/subpools")) == ["p--b", "p--shared-queue"]


def test_the_queue_of_the_pool_itself_is_known_by_what_it_is_called(tmp_path: Path) -> None:
    """Any leaf with the rest of the quota would do, and the first is another one."""
    leaves = (
        live_queue("a", "p", (0, -1, 1)),
        live_queue("z", "p", (8, -1, 1)),
        live_queue("rest", "p", (0, -1, 1), displayName="p--_shared"),
    )
    assert imported(tmp_path, live_queue("p", None, (8, -1, 1)), *leaves, kai()).code == 0
    assert safe_load((tmp_path / "work/pools/p.yaml").read_text())["spec"]["sharedQueue"] == {"name": "rest"}
    assert sorted(path.stem for path in files_below(tmp_path / "work/subpools")) == ["p--a", "p--z"]


def test_a_level_is_called_as_grove_calls_it(tmp_path: Path) -> None:
    grove = {
        "kind": "ClusterTopology",
        "metadata": {"name": "fabric"},
        "spec": {"levels": [{"domain": "block", "key": "a/spine"}]},
    }
    result = imported(tmp_path, *TEAM, live_kai_topology("fabric", "a/spine", "a/leaf"), grove, kai())
    assert result.code == 0, result.err
    levels = safe_load((tmp_path / "work/topologies/fabric.yaml").read_text())["spec"]["levels"]
    assert levels == [{"domain": "block", "key": "a/spine"}, {"domain": "leaf", "key": "a/leaf"}]


def test_a_field_that_no_file_can_express_would_go(tmp_path: Path) -> None:
    first, *others = TEAM
    later = {**first, "spec": {**first["spec"], "fairness": "strict", "empty": {}}}
    result = imported(tmp_path, later, *others, kai())
    assert "Would change:\n  Queue research: spec.fairness: 'strict' -> not there\n" in result.out
    assert "spec.empty" not in result.out


class TestNoPlace:
    @pytest.mark.parametrize("name", REFUSED)
    def test_it_is_said_why(self, tmp_path: Path, name: str) -> None:
        items, said = REFUSED[name]
        result = imported(tmp_path, *items, *DEFAULT, kai())
        assert f"\n  {said}\n" in result.out
        placed = unchanged(tmp_path, *items, *DEFAULT)
        assert placed >= {"default-queue"} or name == "beside-pools"

    def test_nothing_has_a_place(self, tmp_path: Path) -> None:
        result = imported(tmp_path, live_queue("interns"), kai())
        assert result.code == 1
        assert result.err == "Nothing was written: nothing of the cluster can be declared.\n"
        assert not (tmp_path / "work").exists()

    def test_what_is_used_is_said(self, tmp_path: Path) -> None:
        alone = {**live_queue("interns"), "status": queue("x", 3)["status"]}
        assert "Queue interns (GPUs in use: 3): it has" in imported(tmp_path, alone, *DEFAULT, kai()).out

    def test_priority_classes(self, tmp_path: Path) -> None:
        classes = (
            priority_class("train", 50), priority_class("urgent", 1000), priority_class("system-x", 2),
            priority_class("osmo-low", 7),
        )  # fmt: skip
        result = imported(tmp_path, *DEFAULT, *classes, kai())
        assert "PriorityClass osmo-low: its value is 7;" in result.out
        assert "PriorityClass urgent: its value is 1000;" in result.out
        assert "train" not in result.out
        assert "system-x" not in result.out
        assert ("PriorityClass", "tas-low") in rendered(tmp_path)

    def test_a_label_with_another_value(self, tmp_path: Path) -> None:
        helm = {"app.kubernetes.io/managed-by": "Helm"}
        items = (live_queue("p", None, (8, -1, 1), labels=helm), live_queue("a", "p", (8, -1, 1)))
        said = "Queue p: metadata.labels[app.kubernetes.io/managed-by]: 'Helm' -> 'kubectl-tas'"
        assert said in imported(tmp_path, *items, kai()).out

    def test_what_is_left_out_is_written_out(self, tmp_path: Path) -> None:
        bare = live_queue("p", None, (8, -1, 1))
        del bare["spec"]["resources"]["cpu"]
        result = imported(
            tmp_path,
            bare,
            {**live_queue("a", "p", (8, -1, 1)), "spec": {"parentQueue": "p", "resources": bare["spec"]["resources"]}},
            kai(),
        )
        assert result.code == 0
        assert (
            "Written explicitly, with the value that KAI assumes already:\n  Queue p: spec.resources.cpu.quota: 0\n"
            in result.out
        )

    def test_a_number_with_other_digits(self, tmp_path: Path) -> None:
        """What is written by hand for 249Gi is a little less, as KAI counts."""
        memory = (267361.714176, -1, 1)
        items = [live_queue("p", None, (8, -1, 1), memory=memory), live_queue("a", "p", (8, -1, 1), memory=memory)]
        result = imported(tmp_path, *items, kai())
        assert "Queue p: spec.resources.memory.quota: 267361.714176 -> 267361.71417600004" in result.out

    def test_sums(self, tmp_path: Path) -> None:
        items = (live_queue("p"), live_queue("a", "p", (8, -1, 1)), live_queue("b", "p", (2, -1, 1)))
        result = imported(tmp_path, *items, kai(), arguments=("--sums",))
        assert result.code == 0
        assert "Would change:\n  Queue p: spec.resources.gpu.quota: -1 -> 10\n" in result.out
        assert "no place" not in result.out

    def test_the_release_is_not_known(self, tmp_path: Path) -> None:
        result = imported(tmp_path, *DEFAULT)
        assert "The cluster does not tell which release of KAI it runs" in result.err
        assert "version" not in (tmp_path / "work/tas.yaml").read_text()


class TestCommand:
    def test_nothing_is_overwritten(self, tmp_path: Path) -> None:
        assert imported(tmp_path, *DEFAULT, kai()).code == 0
        before = {path: path.read_bytes() for path in files_below(tmp_path / "work")}
        (tmp_path / "work/tas.yaml").unlink()
        result = imported(tmp_path, *DEFAULT, kai())
        assert result.code == 3
        assert "pools/default-parent-queue.yaml already exists; nothing was written" in result.err
        assert files_below(tmp_path / "work") == [path for path in before if path.name != "tas.yaml"]

    def test_a_second_import_of_what_was_rendered(self, tmp_path: Path) -> None:
        """What this tool rendered comes back as the same repository."""
        assert imported(tmp_path, *TEAM, kai()).code == 0
        found = [
            item for (kind, _), item in rendered(tmp_path).items() if kind in ("Queue", "Topology", "PriorityClass")
        ]
        again = tmp_path / "again"
        again.mkdir()
        result = imported(again, *found, kai())
        assert (result.code, "New:" in result.out, "Would change" in result.out) == (0, False, False)

    def test_from_a_cluster(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        kubectl = FakeKubectl(tmp_path, monkeypatch)
        kubectl.knows("prod", *TEAM, kai())
        result = kubectl_tas("import", "cluster", "--context", "prod", "--to", tmp_path / "work")
        assert result.code == 0, result.err
        assert unchanged(tmp_path, *TEAM) == {"research", "research-nlp", "research.vision"}
        assert "context: prod" in (tmp_path / "work/tas.yaml").read_text()
        state = tmp_path / "state.json"
        assert kubectl_tas("cluster", "state", "--context", "prod", "--to", state, cwd=tmp_path).code == 0
        again = kubectl_tas("import", "cluster", "--cluster-state", state, "--to", tmp_path / "again")
        assert again.out.replace("/again/", "/work/") == result.out

    @pytest.mark.parametrize("option", ["--context", "--kubeconfig"])
    def test_a_file_and_a_cluster(self, option: str, tmp_path: Path) -> None:
        result = imported(tmp_path, *TEAM, arguments=(option, "prod"))
        assert (result.code, "--cluster-state stands for a cluster" in result.err) == (2, True)

    def test_a_config_is_not_overwritten(self, tmp_path: Path) -> None:
        write(tmp_path / "work", {"tas.yaml": ""})
        result = imported(tmp_path, *TEAM, kai())
        assert (result.code, "work/tas.yaml is there already; nothing was written" in result.err) == (3, True)
        assert "add the cluster to the repository: --backend NAME" in result.err
        assert [path.name for path in files_below(tmp_path / "work")] == ["tas.yaml"]

    def test_the_next_commands_name_the_repository_unless_it_is_the_working_folder(self, tmp_path: Path) -> None:
        state = saved(tmp_path, *TEAM, kai())
        (tmp_path / "here").mkdir()
        ends = {
            ".": "Next: kubectl tas validate && kubectl tas render\n",
            "a b": "validate -C 'a b' && kubectl tas render -C 'a b'\n",
        }
        for to, end in ends.items():
            result = kubectl_tas("import", "cluster", "--cluster-state", state, "--to", to, cwd=tmp_path / "here")
            assert (result.code, result.err.endswith(end)) == (0, True), result.err

    def test_an_old_release_is_refused(self, tmp_path: Path) -> None:
        result = imported(tmp_path, *TEAM, kai("0.1.9"))
        assert (result.code, (tmp_path / "work").exists()) == (3, False)
        assert "the cluster runs KAI 0.1.9, which is older than 0.2 to 0." in result.err

    @pytest.mark.parametrize(
        "item",
        [
            {"kind": "Queue"}, {"kind": "Queue", "metadata": 1},
            {"kind": "Queue", "metadata": {"name": "a"}, "spec": 1},
            {"kind": "Queue", "metadata": {"name": "a"}, "spec": {"resources": {"gpu": {"quota": "x"}}}},
            {"kind": "Queue", "metadata": {"name": "a"}, "spec": {"resources": [1]}},
            {"kind": "Queue", "metadata": {"name": "a", "labels": [1]}, "status": 4}, {"kind": "Topology"},
            {"kind": "Topology", "metadata": {"name": "t"}, "spec": {"levels": [1]}},
            {"kind": "Topology", "metadata": {"name": "t"}, "spec": {"levels": [{"nodeLabel": "-"}]}},
            {"kind": "Topology", "metadata": {"name": "t"}, "spec": {"levels": []}},
            {"kind": "PriorityClass"}, {"kind": "PodGroup", "metadata": []}, {"kind": "Deployment", "spec": None},
            {"kind": "ClusterTopology", "metadata": {"name": "t"}},
        ],
    )  # fmt: skip
    def test_what_is_no_object(self, tmp_path: Path, item: Item) -> None:
        result = imported(tmp_path, item, *DEFAULT)
        assert result.code in (0, 3)
        assert "internal error" not in result.err


def test_a_name_that_is_kept_is_used_everywhere(tmp_path: Path) -> None:
    """Pods, PodGroups, workloads, and the guard say the queue by its own name."""
    assert imported(tmp_path, *TEAM, kai()).code == 0
    work = tmp_path / "work"
    (work / "workflows").mkdir()
    task = "{name: t, image: i, lead: true}"
    (work / "workflows/w.yaml").write_text(
        f"workflow:\n  name: w\n  pool: research--nlp\n  resources: {{default: {{gpu: 2}}}}\n  tasks: [{task}]\n"
    )
    found = kubectl_tas("render", "-C", work, "--to", "-", "--guard").out
    items = list(safe_load_all(found))
    (group,) = (item for item in items if item["kind"] == "PodGroup")
    (pod,) = (item for item in items if item["kind"] == "Pod")
    assert group["spec"]["queue"] == "research-nlp" == pod["metadata"]["labels"]["kai.scheduler/queue"]
    policies = [item for item in items if item["kind"] == "ValidatingAdmissionPolicy"]
    assert any("'research-nlp': 40" in str(policy["spec"].get("variables")) for policy in policies)
    reach = [c["expression"] for p in policies for c in p["spec"]["matchConditions"] if c["name"] == "within-reach"]
    assert reach
    assert all("'research-nlp'" in expression for expression in reach)
    listed = kubectl_tas("pool", "describe", "research", "-C", work).out
    assert "research-nlp" in listed
    held = saved(tmp_path, queue("research-nlp", 38), queue("osmo-pool-default-research--shared", 0))
    assert "cluster" in kubectl_tas("pool", "list", "-C", work, "--cluster-state", held).err
    late = kubectl_tas("admit", work / "workflows/w.yaml", "-C", work, "--cluster-state", held)
    assert "38" in late.out


def test_two_queues_of_one_name(tmp_path: Path) -> None:
    assert imported(tmp_path, *TEAM, kai()).code == 0
    file = tmp_path / "work/subpools/research--vision.yaml"
    file.write_text(file.read_text().replace("name: research.vision", "name: research-nlp"))
    result = kubectl_tas("validate", "-C", tmp_path / "work")
    assert 'two sources lead to the Queue "research-nlp" [name-collision]' in result.out


def test_a_pool_with_names_of_its_own_is_renamed(tmp_path: Path) -> None:
    """Only the queues that follow the scheme have other names then."""
    work = tmp_path / "work"
    assert imported(tmp_path, *TEAM, kai()).code == 0
    commit(work)
    assert kubectl_tas("pool", "rename", "research", "science", "-C", work).code == 0
    found = kubectl_tas("validate", "-C", work, "--base", "HEAD").out
    assert "osmo-pool-default-research--shared -> osmo-pool-default-science--shared" in found
    assert "research-nlp ->" not in found
    assert unchanged(tmp_path, *TEAM) == {"research", "research-nlp", "research.vision"}


def test_one_name_in_two_clusters(tmp_path: Path) -> None:
    """What is declared for a queue of one cluster is not in the queue of that name of another."""
    assert imported(tmp_path, *DEFAULT, kai()).code == 0
    work = tmp_path / "work"
    config = (work / "tas.yaml").read_text()
    (work / "tas.yaml").write_text(config + config[config.index("  - name: default") :].replace("default", "lab", 1))
    first = work / "pools/default-parent-queue.yaml"
    text = first.read_text().replace("guarantee: 0", "guarantee: 8", 1)
    first.write_text(text.replace("spec:\n", "spec:\n  backend: default\n"))
    lab = text.replace("spec:\n", "spec:\n  backend: lab\n").replace("name: default-parent-queue", "name: lab", 1)
    (work / "pools/lab.yaml").write_text(lab)
    (work / "workflows").mkdir()
    for pool in ("default-parent-queue", "lab"):
        task = "{name: t, image: i, lead: true}"
        (work / f"workflows/{pool}.yaml").write_text(
            f"workflow:\n  name: w-{pool}\n  pool: {pool}\n  resources: {{default: {{gpu: 8}}}}\n  tasks: [{task}]\n"
        )
    result = kubectl_tas("validate", "-C", work)
    assert (result.code, "warning" in result.out) == (0, False), result.out
    listed = kubectl_tas("pool", "list", "-C", work, "-o", "json").out
    assert [item["used"] for item in json.loads(listed)["pools"]] == [8, 8]


class TestAllThatIsSaid:
    """Every heading with its lines."""

    ADDED = """\
  Queue p-a
Written explicitly, with the value that KAI assumes already:
  Queue p: spec.resources.cpu.quota: 0
  Queue p: spec.resources.cpu.limit: 0
  Queue p: spec.resources.cpu.overQuotaWeight: 0
  Queue p-a: spec.resources.cpu.quota: 0
  Queue p-a: spec.resources.cpu.limit: 0
  Queue p-a: spec.resources.cpu.overQuotaWeight: 0
Would change:
  Queue p: spec.fairness: 'strict' -> not there
"""
    NEW = """\
Not kept, since these tools set them for their own use:
  Argo CD: label argocd.argoproj.io/instance of Queue p, p-a
New:
  PriorityClass osmo-high, osmo-normal, tas-low
"""
    LEFT = """\
Not imported; it stays in the cluster as it is:
  Queue interns (GPUs in use: 3): it has neither a parent nor children; work runs in leaves below a pool's own queue
  PriorityClass osmo-low: its value is 7; there are three priorities here, HIGH 125, NORMAL 100, LOW 50, \
each with a class of its own
"""
    NEXT = "Next: kubectl tas validate -C {work} && kubectl tas render -C {work}\n"

    def items(self, *more: Item) -> list[Item]:
        marks = {"argocd.argoproj.io/instance": "x"}
        queues = [
            live_queue("p", None, (8, -1, 1), fairness="strict", labels=marks),
            live_queue("p-a", "p", (8, -1, 1), labels=marks),
        ]
        for item in queues:
            del item["spec"]["resources"]["cpu"]
        alone = {**live_queue("interns"), "status": queue("x", 3)["status"]}
        return [*queues, alone, priority_class("osmo-low", 7), kai(), *more]

    def test_of_an_import(self, tmp_path: Path) -> None:
        result = imported(tmp_path, *self.items())
        work = tmp_path / "work"
        assert (result.code, result.err) == (0, self.NEXT.format(work=work))
        assert result.out == (
            f"wrote {work}/tas.yaml\nwrote {work}/pools/p.yaml\n\n"
            "Rendered as in the cluster, with these labels and annotations added:\n"
            f"{self.ADDED}{self.NEW}{self.LEFT}"
        )

    def test_of_another_cluster(self, tmp_path: Path) -> None:
        work = tmp_path / "work"
        assert imported(tmp_path, *self.items()).code == 0
        result = imported(
            tmp_path, *self.items(live_kai_topology("racks", "example.com/rack")), arguments=("--backend", "new")
        )
        assert (result.code, result.err) == (
            0,
            "Each cluster has its own folder of manifests now: manifests/default and manifests/new. "
            f"Change what applies them.\n{self.NEXT.format(work=work)}",
        )
        assert result.out == (
            f"added backend new {work}/tas.yaml\nset backend: default {work}/pools/p.yaml\n"
            f"wrote {work}/pools/p-new.yaml\nwrote {work}/topologies/racks.yaml\n\n"
            "Rendered as in the cluster, with these labels and annotations added:\n"
            f"  Topology racks\n{self.ADDED}"
            "Renamed here, since their names are taken; their queues keep their names:\n"
            "  Queue p: pool p-new, since pool p is there on backend default, with the same quota\n"
            f"{self.NEW}{self.LEFT}"
            "New on other clusters too, since the repository declares these for all:\n"
            "  default: Topology racks\n"
        )
        other = live_kai_topology("racks", "example.com/row")
        result = imported(tmp_path, *self.items(other), arguments=("--backend", "third"))
        assert (result.code, result.out, result.err) == (
            1,
            "",
            "The cluster and the repository have different objects with one name:\n"
            "  Topology racks: spec.levels[0].nodeLabel: 'example.com/row' there, 'example.com/rack' here\n"
            "Nothing was written. Rename them in the cluster or in the repository, and import again.\n",
        )

    def test_of_an_import_that_is_refused(self, tmp_path: Path) -> None:
        work = tmp_path / "work"
        assert imported(tmp_path, *self.items()).code == 0
        nothing = imported(tmp_path, live_queue("interns"), arguments=("--backend", "new"))
        assert (nothing.code, nothing.out, nothing.err) == (
            1,
            "Not imported; it stays in the cluster as it is:\n"
            "  Queue interns: it has neither a parent nor children; work runs in leaves below a pool's own queue\n",
            "Nothing was written: nothing of the cluster can be declared.\n",
        )
        there = imported(tmp_path, *self.items(), arguments=("--backend", "default"))
        assert (there.code, there.out, there.err) == (
            3,
            "",
            "error: the backend default is there already; nothing was written\n"
            "  = help: Choose another name. An import adds one; it does not change one.\n",
        )
        twice = imported(tmp_path, *self.items())
        assert (twice.code, twice.out, twice.err) == (
            3,
            "",
            f"error: {work}/tas.yaml is there already; nothing was written\n"
            "  = help: Choose an empty folder, or add the cluster to the repository: --backend NAME.\n",
        )
        write(work, {"pools/p.yaml": "a: ["})
        broken = imported(tmp_path, *self.items(), arguments=("--backend", "new"))
        assert (broken.code, broken.out) == (1, "")
        assert broken.err.endswith("\nNothing was written: the repository has these errors.\n")


def shard(name: str, **spec: Any) -> Item:
    return {"apiVersion": "kai.scheduler/v1", "kind": "SchedulingShard", "metadata": {"name": name}, "spec": spec}


def test_shards_are_kept_as_the_cluster_has_them(tmp_path: Path) -> None:
    shards = (shard("default", partitionLabelValue=""), shard("h100", partitionLabelValue="h100", kValue=1.5))
    result = imported(tmp_path, *DEFAULT, *TEAM, *shards)
    assert "wrote work/pools/shard-default.yaml" in result.out.replace(f"{tmp_path}/", "")
    written = safe_load((tmp_path / "work/pools/shard-h100.yaml").read_text(encoding="utf-8"))
    assert written == {**shards[1], "spec": {"partitionLabelValue": "h100", "kValue": 1.5}}


def test_a_shard_that_cannot_be_read_is_listed(tmp_path: Path) -> None:
    result = imported(tmp_path, *DEFAULT, *TEAM, shard("default", placementStrategy={"gpu": "pack"}))
    assert "SchedulingShard default: spec.placementStrategy.gpu has a value that is not read here" in result.out


def test_a_shard_that_the_repository_declares_is_not_imported_again(tmp_path: Path) -> None:
    imported(tmp_path, *DEFAULT, *TEAM, shard("default", kValue=1.0))
    again = imported(tmp_path, *DEFAULT, *TEAM, shard("default", kValue=2.0), arguments=("--backend", "lab"))
    assert again.code == 0, again.err
    assert "kValue: 1.0" in (tmp_path / "work/pools/shard-default.yaml").read_text(encoding="utf-8")
