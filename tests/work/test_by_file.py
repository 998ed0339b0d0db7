"""Tests that judging each file alone gives the same findings and manifests as judging all files together."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

from kubectl_tas.base.diagnostics import Diagnostic, TasError, has_errors
from kubectl_tas.check.judging import counted_and_waived, judge
from kubectl_tas.compile import compile_fleet
from kubectl_tas.emit import manifest_text
from kubectl_tas.emit.file_plan import layout
from kubectl_tas.load.source import FolderSource, MemorySource, Source
from kubectl_tas.store.cache import Store
from kubectl_tas.work import run as running
from kubectl_tas.work.run import (
    Effort,
    JudgedRepository,
    SourceFiles,
    judge_both,
    judge_files,
    judge_repository,
    manifests_in_order,
    texts_of,
)
from kubectl_tas.work.stored_run import RenderedFiles, judge_or_recall
from tests.support import grove
from tests.support.golden import EXAMPLES, GOLDEN, find, laid_out
from tests.work import repositories
from tests.work.repositories import changed, repository, run

ALL = [*find(GOLDEN), *sorted(path.parent for path in EXAMPLES.rglob("tas.yaml"))]


@dataclass
class Came:
    """What comes of a repository."""

    findings: list[object]
    files: dict[str, str] | None
    """None where there are errors."""
    failure: str = ""


def told(found: Diagnostic) -> object:
    return (*found.sort_key, found.hint, found.severity, found.related, found.cause, found.location)


def whole(source: Source) -> Came:
    try:
        found = judge(source)
    except TasError as error:
        return Came([], None, error.message)
    counted, _ = counted_and_waived(found.found, found.fleet, None, complete=found.complete)
    files = None
    if not has_errors(counted):
        files = layout(compile_fleet(found.fleet), found.fleet.config, found.fleet.settings_source)
    return Came([told(item) for item in counted], texts(files))


def by_file(source: Source, effort: Effort) -> Came:
    try:
        found = judge_or_recall(source, (), effort, render=True)
    except TasError as error:
        return Came([], None, error.message)
    counted, _ = counted_and_waived(found.findings, found.fleet, None, complete=found.loaded.complete)
    files = None
    if not has_errors(counted):
        files = laid_out_by(found.full)
        if found.stored is not None:
            digests = {path: manifest_text.digest(content) for path, content in files.items()}
            assert found.judged is not None or found.stored.rendered in (None, RenderedFiles(digests, {})), (
                "what was kept of it is another"
            )
            found.stored.keep_rendered(RenderedFiles(digests, {}))
    return Came([told(item) for item in counted], texts(files))


def laid_out_by(run: JudgedRepository) -> dict[str, str | manifest_text.Deferred]:
    fleet = run.fleet
    return layout(manifests_in_order(run, fleet), fleet.config, fleet.settings_source, read=texts_of(run))


def texts(files: Mapping[str, str | manifest_text.Deferred] | None) -> dict[str, str] | None:
    return None if files is None else {path: manifest_text.whole(content) for path, content in files.items()}


@pytest.fixture(autouse=True)
def small_repositories_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(running, "LEAST_KEPT", 0)


@pytest.mark.parametrize(
    "case", ALL[::4], ids=lambda path: path.as_posix().rpartition("golden/")[2].rpartition("examples/")[2]
)
def test_goldens_and_examples(case: Path, tmp_path: Path) -> None:
    folders = [case] if case.is_relative_to(EXAMPLES) else [f for f in laid_out(case).iterdir() if f.is_dir()]
    for number, folder in enumerate(folders):
        expected = whole(FolderSource(folder))
        store = Store(tmp_path / str(number))
        assert by_file(FolderSource(folder), Effort(1, store)) == expected, "nothing is kept yet"
        assert by_file(FolderSource(folder), Effort(1, store)) == expected, "all of it is kept"
        store.close()


@pytest.mark.parametrize("processes", [1, 2, 8])
def test_processes(processes: int) -> None:
    """However many there are."""
    files = {path: content for seed in range(12) for path, content in repository(seed, prefix=f"r{seed}-").items()}
    files = {path: content for path, content in files.items() if not path.endswith("tas.yaml")}
    assert by_file(MemorySource(files), Effort(processes)) == whole(MemorySource(files))


@pytest.mark.parametrize("seed", range(30))
def test_random_repositories_that_change(seed: int, store: Store) -> None:
    """A file is added, changed, removed, renamed, a pool changes, the tool changes, and all of it goes back."""
    chance = random.Random(seed)
    files = repository(seed)
    states = [files]
    for _ in range(3):
        files = changed(chance, files)
        states.append(files)
    for state in (*states, states[0]):
        assert by_file(MemorySource(state), Effort(1, store)) == whole(MemorySource(state))


@pytest.mark.parametrize("seed", range(12))
def test_what_differs_from_a_base(seed: int) -> None:
    """Two states of a repository: the findings of each are the same with the other beside it as without."""
    chance = random.Random(seed)
    earlier = repository(seed)
    later = changed(chance, changed(chance, earlier))
    after = judge_files(SourceFiles(MemorySource(later)), (), Effort())
    before = judge_files(SourceFiles(MemorySource(earlier)), (), Effort(), like=after)
    for found, alone in zip(
        judge_both(before, after), (judge_repository(before), judge_repository(after)), strict=True
    ):
        assert sorted(map(told, found.findings), key=str) == sorted(map(told, alone.findings), key=str)
    kept, now = judge_both(before, after)
    same = {path for path in earlier.keys() & later.keys() if earlier[path] == later[path]}
    assert kept.outcomes.keys() == now.outcomes.keys() <= same, "only what is the same has no documents"


def test_another_version_of_the_tool(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """What another version kept is not read."""
    files = MemorySource(repository(1))
    run(files, Effort(1, store))
    made: list[str] = []
    from kubectl_tas.work import processes, stored_outcomes

    really = processes.outcome
    monkeypatch.setattr(processes, "outcome", lambda raw, *rest: made.append(raw.path) or really(raw, *rest))
    run(files, Effort(1, store))
    assert made == []
    monkeypatch.setattr(stored_outcomes, "tool_digest", lambda: b"another")
    run(files, Effort(1, store))
    assert made
    store.close()


def test_a_pool_that_changes_makes_its_own_work_anew_and_no_other(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    from kubectl_tas.work import processes

    files = {
        "pools/a.yaml": POOL.format("a", 16).encode(),
        "pools/b.yaml": POOL.format("b", 16).encode(),
        "workflows/a.yaml": WORKFLOW.format("one", "a").encode(),
        "workflows/b.yaml": WORKFLOW.format("two", "b").encode(),
    }
    run(MemorySource(files), Effort(1, store))
    made: list[str] = []
    really = processes.outcome
    monkeypatch.setattr(processes, "outcome", lambda raw, *rest: made.append(raw.path) or really(raw, *rest))
    run(MemorySource({**files, "pools/a.yaml": POOL.format("a", 17).encode()}), Effort(1, store))
    assert made == ["workflows/a.yaml"]
    store.close()


POOL = """\
apiVersion: tas/v1alpha1
kind: Pool
metadata: {{name: {0}}}
spec: {{resources: {{gpu: {{guarantee: {1}}}}}}}
"""
WORKFLOW = """\
workflow:
  name: {0}
  pool: {1}
  tasks:
  - {{name: main, image: "busybox:1.37", command: [sleep, "1"]}}
  resources: {{default: {{gpu: 1, cpu: 1, memory: 1Gi}}}}
"""


@pytest.mark.parametrize("key", ["kai.scheduler/topology", r"kai.scheduler\/topology"])
def test_the_topology_of_another_pool_however_its_annotation_is_written(key: str) -> None:
    files = {f"pools/{name}.yaml": repositories.POOL.format(name=name, gpus=8).encode() for name in ("one", "two")}
    job = repositories.JOB.format(name="j", pool="one", label="", pods=1, gpus=1)
    annotations = f'  annotations: {{"{key}": osmo-pool-default-two-topology}}\nspec:'
    files["workflows/j.yaml"] = job.replace("spec:", annotations, 1).encode()
    source = MemorySource(files)
    assert by_file(source, Effort()) == whole(source)


JOB = repositories.JOB.format(name="j", pool="team", label="", pods=1, gpus=1)
TOGETHER = {
    "a-pod-that-names-a-pod-group": """\
apiVersion: v1
kind: Pod
metadata: {name: p, labels: {kubectl-tas/pool: team}, annotations: {pod-group-name: g}}
spec: {containers: [{name: main, image: i, resources: {limits: {nvidia.com/gpu: 9}}}]}
""",
    "an-autoscaler-of-a-clique": repositories.SCALER.format(name="s-0-c", pool="team").replace(
        "apps/v1, kind: Deployment", "grove.io/v1alpha1, kind: PodClique"
    ),
    "variables-of-a-map": JOB.replace(
        "image: busybox:1.37", "image: busybox:1.37\n        envFrom: [{configMapRef: {name: m}}]", 1
    ),
}


@pytest.mark.parametrize("name", TOGETHER)
def test_what_is_judged_with_others_comes_out_the_same(name: str) -> None:
    """Beside the objects that it may have to do with."""
    named = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: m}\ndata: {NVIDIA_VISIBLE_DEVICES: all}\n"
    files = {
        "pools/team.yaml": repositories.POOL.format(name="team", gpus=8),
        "workflows/it.yaml": TOGETHER[name],
        "workflows/group.yaml": repositories.GROUP.format(name="g", pool="team"),
        "workflows/map.yaml": named,
        "workflows/set.yaml": grove.clique_set(None, grove.clique("c", replicas=2, gpus=4), name="s"),
        "workflows/other.yaml": repositories.JOB.format(name="other", pool="team", label="", pods=1, gpus=1),
    }
    source = MemorySource({path: text.encode() for path, text in files.items()})
    assert by_file(source, Effort(processes=1)) == whole(source)


def test_names_that_begin_with_a_stem_of_another_file() -> None:
    stems = [("a", "1"), ("a-b", "2"), ("c", "3"), ("c", "4")]
    points = [("a-b-x", "5"), ("b", "6"), ("c-1", "3")]
    found = {frozenset(pair) for pair in running._with_common_prefix(stems, points)}
    assert found == {frozenset(pair) for pair in ("12", "15", "25", "34")}


@pytest.mark.parametrize("kind", ["StatefulSet", "Deployment"])
def test_an_autoscaler_is_judged_with_what_it_scales(kind: str) -> None:
    """Whatever its kind, and in another file: how many pods there may be is known of the two together."""
    service = f"""\
apiVersion: apps/v1
kind: {kind}
metadata: {{name: serve, labels: {{kubectl-tas/pool: team}}}}
spec:
  selector: {{matchLabels: {{app: serve}}}}
  template:
    metadata: {{labels: {{app: serve}}}}
    spec: {{containers: [{{name: main, image: "busybox:1.37", resources: {{limits: {{nvidia.com/gpu: 4}}}}}}]}}
"""
    if kind == "StatefulSet":
        service = service.replace("spec:\n", "spec:\n  serviceName: serve\n", 1)
    scaler = repositories.SCALER.format(name="serve", pool="team").replace("Deployment", kind)
    files = {
        "pools/team.yaml": repositories.POOL.format(name="team", gpus=8).encode(),
        "workflows/scaler.yaml": scaler.encode(),
        "workflows/serve.yaml": service.encode(),
        "workflows/other.yaml": repositories.JOB.format(name="other", pool="team", label="", pods=1, gpus=1).encode(),
    }
    found = run(MemorySource(files), Effort(processes=1), render=True)
    assert set(found.outcomes) == {"workflows/other.yaml"}
    came = by_file(MemorySource(files), Effort(processes=1))
    assert came == whole(MemorySource(files))
    assert [item for item in came.findings if "workflows/s" in repr(item)]
