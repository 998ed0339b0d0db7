"""Tests which files are judged together, and what is told of a run while it goes on."""

from __future__ import annotations

import pytest

from kubectl_tas.load.source import MemorySource
from kubectl_tas.work import run as running
from kubectl_tas.work.run import Effort, JudgedFiles, SourceFiles, judge_files, judge_repository
from tests.support import grove
from tests.support.cli import pool, subpool
from tests.work import repositories

POOLS = {f"pools/{name}.yaml": repositories.POOL.format(name=name, gpus=64) for name in "ab"}
GROUPS = repositories.WORKFLOW.format(name="w", pool="a", priority="LOW", group="g", gpus=1, key="rack")
JOB = repositories.JOB.format(name="j", pool="a", label="", pods=2, gpus=1)
IN_GANG = JOB.replace("pool: a", "pool: a, kubectl-tas/gang: all")
GROUP = repositories.GROUP.format(name="other", pool="a")
POD = """\
apiVersion: v1
kind: Pod
metadata: {name: %s, labels: {kubectl-tas/pool: a}}
spec: {containers: [{name: c, image: i}]}
"""
MAP = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: m}\ndata: {%s: all}\n"
WITH_MAP = JOB.replace("image: busybox:1.37", "image: busybox:1.37\n        envFrom: [{configMapRef: {name: m}}]")
SCALER = repositories.SCALER.format(name="serve", pool="a")
SERVE = """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: serve, labels: {kubectl-tas/pool: a}}
spec:
  selector: {matchLabels: {app: serve}}
  template: {metadata: {labels: {app: serve}}, spec: {containers: [{name: c, image: i}]}}
"""


def surveyed(files: dict[str, str], effort: Effort = Effort(1), **more: JudgedFiles) -> JudgedFiles:  # noqa: B008
    source = MemorySource({path: text.encode() for path, text in files.items()})
    return judge_files(SourceFiles(source), (), effort, **more)


def together(*work: str) -> list[int]:
    """The numbers of those of these files of work that are judged together."""
    files = {f"workflows/{number}.yaml": text for number, text in enumerate(work)}
    return sorted(int(path[10:-5]) for path in surveyed({**POOLS, **files}).together if path in files)


@pytest.mark.parametrize(
    ("work", "expected"),
    [
        ((GROUPS, JOB, POD % "p", SERVE, MAP % "A"), []),
        ((JOB, JOB, GROUPS), [0, 1]),
        ((JOB, JOB.replace("name: j", "name: k")), []),
        ((GROUPS, JOB, GROUPS), [0, 2]),
        ((IN_GANG, IN_GANG.replace("name: j", "name: k"), JOB.replace("name: j", "name: l")), [0, 1]),
        ((GROUPS, POD % "w-g-1", POD % "w-h-1"), [0, 1]),
        ((GROUPS, GROUPS.replace("name: w\n", "name: w-g\n", 1)), [0, 1]),
        ((GROUPS, GROUP), [1]),
        ((GROUPS, GROUP.replace("name: other", "name: w-g-1")), [0, 1]),
        ((SERVE, SCALER, JOB), [0, 1]),
        ((SERVE, SCALER.replace("name: serve}", "name: other}")), []),
        ((WITH_MAP, MAP % "NVIDIA_VISIBLE_DEVICES"), [0, 1]),
        ((WITH_MAP, MAP % "A"), []),
        ((JOB, POOLS["pools/b.yaml"].replace("name: b", "name: c")), [0, 1]),
        ((JOB, grove.clique_set(None, grove.clique("c", replicas=1, gpus=1), name="s")), [1]),
    ],
    ids=range(15),
)
def test_files_that_have_to_do_with_each_other_are_judged_together(work: tuple[str, ...], expected: list[int]) -> None:
    """Names that only one file may have, names that it uses, and names that begin alike."""
    assert together(*work) == expected


def test_files_are_found_by_the_names_of_their_work() -> None:
    files = {**POOLS, "workflows/w.yaml": GROUPS, "workflows/j.yaml": JOB, "workflows/p.yaml": POD % "j"}
    found = surveyed(files)
    for words, expected in (
        (["w"], {"w"}), (["Workflow/w"], {"w"}), (["Job/w"], set()), (["j"], {"j", "p"}), (["Pod/j"], {"p"}),
        (["w", "Job/j"], {"w", "j"}), ([], set()), (["gone"], set()),
    ):  # fmt: skip
        assert found.files_called(words) == {f"workflows/{name}.yaml" for name in expected}


def test_what_differs_from_another_survey_is_what_has_changed_or_depends_on_it() -> None:
    of_b = JOB.replace("name: j", "name: b").replace("pool: a", "pool: b")
    files = {**POOLS, "workflows/a.yaml": JOB, "workflows/b.yaml": of_b, "workflows/w.yaml": GROUPS}
    before = surveyed(files)
    assert before.differing(surveyed(files)) == set()
    changed = {**files, "pools/a.yaml": f"{files['pools/a.yaml']}# more\n", "workflows/new.yaml": POD % "p"}
    del changed["workflows/w.yaml"]
    after = surveyed(changed)
    expected = {"pools/a.yaml", "workflows/a.yaml", "workflows/new.yaml", "workflows/w.yaml"}
    assert before.differing(after) == after.differing(before) | {"workflows/w.yaml"} == expected
    like = surveyed(changed, like=before)
    assert like.outcomes["workflows/b.yaml"] is before.outcomes["workflows/b.yaml"]
    assert like.outcomes["workflows/a.yaml"] is not before.outcomes["workflows/a.yaml"]
    assert like.outcomes == after.outcomes


def test_each_file_that_is_done_is_told() -> None:
    ticks: list[tuple[int, int]] = []
    files = {**POOLS, "workflows/a.yaml": JOB, "workflows/w.yaml": GROUPS}
    surveyed(files, Effort(1, tick=lambda done, total: ticks.append((done, total))))
    assert ticks == [(1, 2), (2, 2)]
    ticks.clear()
    surveyed(POOLS, Effort(1, tick=lambda done, total: ticks.append((done, total))))
    assert ticks == [(1, 2), (2, 2)], "where there is no work the shared files are"


def test_a_run_has_the_files_that_it_judged_alone_as_summaries() -> None:
    files = {
        **POOLS,
        "subpools/s.yaml": subpool("s", 8, "a"),
        "workflows/a.yaml": f"# kubectl-tas: ignore[suspended]\n{JOB.replace('pool: a', 'pool: a--s')}",
        "workflows/g.yaml": GROUP,
    }
    found = judge_repository(surveyed(files))
    (item,) = found.fleet.summaries
    assert (item.kind, item.name, item.pool.name, item.subpool and item.subpool.name) == ("Job", "j", "a", "s")
    assert list(found.outcomes) == ["workflows/a.yaml"]
    assert found.fleet.repository.files == tuple(sorted(files))
    assert [waiver.rules for waiver in found.fleet.repository.waivers] == [("suspended",)]
    assert not found.is_empty
    full = judge_repository(surveyed(files), ["workflows/a.yaml", "workflows/gone.yaml"])
    assert (full.outcomes, full.fleet.summaries, len(full.fleet.workloads)) == ({}, (), 1)
    assert judge_repository(surveyed({"tas.yaml": ""})).is_empty
    assert not judge_repository(surveyed({"pools/a.yaml": pool("a")})).is_empty


def test_few_files_are_not_kept(store: running.Store) -> None:
    """Reading what was kept would take longer than judging them."""
    assert Effort(store=store).store_for(19) is None
    assert Effort(store=store).store_for(20) is store
    assert Effort().store_for(20) is None
