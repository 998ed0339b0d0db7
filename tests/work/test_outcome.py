"""Tests what is kept of a file that is judged alone: what it names, and what it depends on."""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest

from kubectl_tas.load.loading import load_repository
from kubectl_tas.load.source import MemorySource, RawFile
from kubectl_tas.resolve.fleet import resolve_context
from kubectl_tas.work.outcome import Outcome, SharedContext, outcome
from tests.support import grove
from tests.support.cli import pool, subpool
from tests.support.golden import GOLDEN
from tests.work import repositories

POOLS = {f"pools/{name}.yaml": repositories.POOL.format(name=name, gpus=64) for name in "ab"}
JOB = repositories.JOB.format(name="j", pool="a", label="", pods=2, gpus=1)
GROUPS = repositories.WORKFLOW.format(name="w", pool="a", priority="LOW", group="g", gpus=1, key="rack")
LONG = GROUPS.replace("name: w\n", f"name: {'w' * 70}\n", 1)


def shared(files: dict[str, str]) -> SharedContext:
    loaded = load_repository(MemorySource({path: text.encode() for path, text in files.items()}))
    return SharedContext(
        resolve_context(loaded.repository), loaded.repository, {path: text.encode() for path, text in files.items()}
    )


def outcome_of(text: str, *, render: bool = False) -> Outcome:
    return outcome(RawFile("workflows/w.yaml", text.encode()), shared(POOLS), [] if render else None)


@dataclass
class Named:
    """What a file names."""

    wanted: list[str] | None = field(default_factory=lambda: ["a"])
    claims: list[str] = field(default_factory=list)
    uses: list[str] = field(default_factory=list)
    stems: list[str] = field(default_factory=list)
    points: list[str] = field(default_factory=list)


OF_JOB = "default/Job/default/j"
ALONE = {
    "workflow": (GROUPS, Named(claims=["Workflow/w"], stems=["w-g-"])),
    "workflow-of-a-long-name": (LONG, Named(claims=[f"Workflow/{'w' * 70}"], stems=["w" * 54])),
    "workflow-of-a-pool-in-capitals": (
        GROUPS.replace("pool: a", "pool: A"),
        Named(["A"], claims=["Workflow/w"], stems=["w-g-"]),
    ),
    "job": (JOB, Named(claims=[OF_JOB])),
    "two-jobs": (
        f"{JOB}---\n{JOB.replace('name: j', 'name: i').replace('pool: a', 'pool: b')}",
        Named(["a", "b"], claims=["default/Job/default/i", OF_JOB]),
    ),
    "job-of-a-gang": (
        JOB.replace("pool: a", "pool: a, kubectl-tas/gang: all"),
        Named(claims=[OF_JOB, "gang/default/all"], points=["all-781d3d76"]),
    ),
    "job-with-variables": (
        JOB.replace(
            "image: busybox:1.37",
            "image: busybox:1.37\n        envFrom: [{secretRef: {name: s}}, {configMapRef: {name: m}}]",
        ),
        Named(claims=[OF_JOB], uses=["variables/default/m"]),
    ),
    "job-of-a-topology": (
        JOB.replace("spec:", '  annotations: {"kai.scheduler/topology": osmo-pool-default-a-topology}\nspec:', 1),
        Named(None, claims=[OF_JOB]),
    ),
    "pod": (
        "apiVersion: v1\nkind: Pod\nmetadata: {name: p, labels: {kubectl-tas/pool: a}}\n"
        "spec: {containers: [{name: main, image: i}]}\n",
        Named(claims=["default/Pod/default/p"], points=["p"]),
    ),
    "autoscaler": (
        repositories.SCALER.format(name="serve", pool="a"),
        Named(
            None,
            claims=["default/default/autoscaling/HorizontalPodAutoscaler/serve"],
            uses=["default/Deployment/default/serve"],
        ),
    ),
    "map-of-gpus": (
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: m}\ndata: {NVIDIA_VISIBLE_DEVICES: all}\n",
        Named(None, claims=["default/default//ConfigMap/m", "variables/default/m"]),
    ),
    "map": (
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: m}\ndata: {A: all}\n",
        Named(None, claims=["default/default//ConfigMap/m"]),
    ),
    "compute-domain": (
        "apiVersion: resource.nvidia.com/v1beta1\nkind: ComputeDomain\nmetadata: {name: d}\n"
        "spec: {numNodes: 2, channel: {resourceClaimTemplate: {name: t}}}\n",
        Named(
            None,
            claims=["ResourceClaimTemplate/default/default/t", "default/default/resource.nvidia.com/ComputeDomain/d"],
        ),
    ),
    "user-of-a-compute-domain": (
        JOB.replace(
            "restartPolicy: Never",
            "restartPolicy: Never\n      resourceClaims: [{name: c, resourceClaimTemplateName: t}]",
        ),
        Named(claims=[OF_JOB], uses=["ResourceClaimTemplate/default/default/t"]),
    ),
}


@pytest.mark.parametrize("name", ALONE)
def test_what_a_file_names(name: str) -> None:
    text, named = ALONE[name]
    found = outcome_of(text)
    assert found.is_alone
    assert Named(found.pools, found.claims, found.uses, found.name_prefixes, found.names_to_compare) == named
    assert (found.is_shared, found.is_empty, found.manifests) == (False, False, None)
    assert found.pool_names == (None if named.wanted is None else frozenset(named.wanted))


TOGETHER = {
    "none": ("kind: Job\n", [], False),
    "config": (f"{JOB}---\napiVersion: tas/v1alpha1\nkind: Config\nmetadata: {{name: c}}\n", [], False),
    "pool": (POOLS["pools/a.yaml"], [], True),
    "subpool": (subpool("s", 8, "a"), [], True),
    "pod-group": (repositories.GROUP.format(name="g", pool="a"), [], False),
    "clique-set": (grove.clique_set(None, grove.clique("c", replicas=2, gpus=4), name="s"), [], False),
    "job-of-another-pool": (JOB.replace("pool: a", "pool: c"), ["c"], False),
    "job-without-a-pool": (JOB.replace("kubectl-tas/pool: a", "b: c"), [""], False),
    "job-that-replaces-another": (JOB.replace("pool: a", "pool: a, kubectl-tas/replace: x"), ["a"], False),
    "job-in-a-pod-group": (JOB.replace("spec:", "  annotations: {pod-group-name: g}\nspec:", 1), ["a"], False),
    "pods-in-a-pod-group": (
        JOB.replace("  template:\n", "  template:\n    metadata: {annotations: {pod-group-name: g}}\n"),
        ["a"],
        False,
    ),
    "autoscaler-of-a-clique": (
        repositories.SCALER.format(name="s-0-c", pool="a").replace(
            "apps/v1, kind: Deployment", "grove.io/v1alpha1, kind: PodClique"
        ),
        None,
        False,
    ),
}


@pytest.mark.parametrize("name", TOGETHER)
def test_what_only_makes_sense_with_others_is_not_judged(name: str) -> None:
    text, wanted, is_shared = TOGETHER[name]
    assert outcome_of(text, render=True) == Outcome(wanted, is_alone=False, is_shared=is_shared)


def test_what_work_depends_on_is_shared() -> None:
    for path in FILES.keys() - {"tas.yaml"}:
        found = outcome(RawFile("workflows/w.yaml", f"{JOB}---\n{FILES[path]}".encode()), shared(POOLS))
        assert found == Outcome([], is_alone=False, is_shared=True), path


def test_the_work_of_a_file_is_summed_up() -> None:
    found = outcome_of(GROUPS.replace("pool: a", "pool: a # here"), render=True)
    place = ["workflows/w.yaml", 3, 9, "  pool: a # here", 1, 1]
    amounts = [2, 2000, 2 * 2**30]
    sent = ["Workflow", "w", "LOW", "default", None, amounts, [amounts, amounts, amounts, True], [""], 3, ""]
    assert found.summaries == [["a", None, place, sent]]
    assert (found.findings, found.waivers, found.mentions) == ([], [], [])
    assert found.manifests is not None
    assert Outcome(*found.plain) == found


def test_a_file_with_errors_has_no_manifests() -> None:
    amounts = "limits: {nvidia.com/gpu: 1}"
    found = outcome_of(JOB.replace(amounts, f"{amounts}, requests: {{nvidia.com/gpu: 2}}"), render=True)
    assert found.is_alone
    assert [item[0] for item in found.findings] == ["gpu-limit"]
    assert found.manifests is None


def test_an_empty_file_is_alone_and_empty() -> None:
    found = outcome_of("")
    assert (found.is_alone, found.is_empty, found.pools, found.findings) == (True, True, [], [])


FILES = {
    "tas.yaml": "apiVersion: tas/v1alpha1\nkind: Config\nmetadata: {name: c}\nspec: {}\n",
    "pools/top.yaml": pool("top"),
    "pools/a.yaml": pool("a", 8, "  parent: top\n"),
    "pools/b.yaml": pool("b", 8),
    "subpools/s.yaml": subpool("s", 4, "a"),
    "topologies/t.yaml": grove.topology(),
    "pools/templates.yaml": "apiVersion: tas/v1alpha1\nkind: PodTemplate\nmetadata: {name: p}\ntemplate: {spec: {}}\n",
    "pools/rules.yaml": (GOLDEN / "documents/resourcevalidation.yaml").read_text(),
    "pools/grove.yaml": (GOLDEN / "rules/host-label/fires/input/topologies/operator.yaml").read_text(),
    "pools/karta.yaml": (GOLDEN / "rules/karta-unread/plugin-of-kai/input/pools/karta.yaml").read_text(),
}
OF_POOLS = {"pools/top.yaml", "pools/a.yaml", "pools/b.yaml", "subpools/s.yaml"}


@pytest.mark.parametrize(
    ("wanted", "pools", "files"),
    [
        (["a"], ["a", "top"], {"pools/a.yaml", "pools/top.yaml", "subpools/s.yaml"}),
        (["A--s"], ["a", "top"], {"pools/a.yaml", "pools/top.yaml", "subpools/s.yaml"}),
        (["top"], ["top"], {"pools/a.yaml", "pools/top.yaml"}),
        (["b"], ["b"], {"pools/b.yaml"}),
        (["b", "top"], ["b", "top"], {"pools/b.yaml", "pools/a.yaml", "pools/top.yaml"}),
        (["gone"], [], set()),
        ([], [], set()),
        (None, ["a", "b", "top"], {"pools/a.yaml", "pools/b.yaml", "pools/top.yaml", "subpools/s.yaml"}),
    ],
)
def test_a_file_depends_on_its_pools_and_on_what_is_for_all(
    wanted: list[str] | None, pools: list[str], files: set[str]
) -> None:
    """A pool comes with the pools above, and with the files of its subpools and of the pools below."""
    seen = None if wanted is None else frozenset(wanted)
    there = shared(FILES)
    assert list(there.narrowed(seen).pools) == pools
    assert there.narrowed(seen) is there.narrowed(seen)
    changed = {
        path for path in FILES if shared({**FILES, path: f"{FILES[path]}# more\n"}).digest(seen) != there.digest(seen)
    }
    assert changed == files | (FILES.keys() - OF_POOLS)
