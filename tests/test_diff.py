"""Tests ``diff``: the meaning of a change in every format, and messages if nothing can be compared."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.support.cli import Result, kubectl_tas, pool, subpool, write
from tests.support.golden import GOLDEN, at, laid_out
from tests.support.history import commit

CASE = GOLDEN / "commands/diff"
WORKFLOW = """\
workflow:
  name: train
  pool: team
  groups: [{name: g, tasks: [{name: a, image: i}, {name: b, image: i}]}]
resources: {default: {gpu: 1}}
"""
JOB = """\
apiVersion: batch/v1
kind: Job
metadata: {name: nightly, labels: {kubectl-tas/pool: team}}
spec: {template: {spec: {restartPolicy: Never, containers: [{name: main, image: i}]}}}
"""
FORMATS = {"text": "output.txt", "json": "output.json", "markdown": "output.md", "html": "output.html"}


def changed(folder: Path, before: dict[str, str], after: dict[str, str]) -> Path:
    """A repository of which ``before`` is committed, and that has ``after`` now."""
    root = write(folder, before)
    commit(root)
    for name in before:
        (root / name).unlink()
    return write(root, after)


@pytest.fixture(scope="module")
def case(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = laid_out(CASE)
    root = tmp_path_factory.mktemp("diff") / "repository"
    shutil.copytree(folder / "base", root)
    commit(root)
    for item in root.iterdir():
        if item.name != ".git":
            shutil.rmtree(item) if item.is_dir() else item.unlink()
    return Path(shutil.copytree(folder / "input", root, dirs_exist_ok=True))


def diff(root: Path, *arguments: str) -> Result:
    return kubectl_tas("diff", "-C", root, "--base", "HEAD", *arguments)


def test_the_base_of_the_environment(case: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KUBECTL_TAS_BASE", "HEAD")
    assert kubectl_tas("diff", "-C", case) == diff(case)


@pytest.mark.parametrize("output", FORMATS)
def test_what_is_printed(case: Path, output: str, snapshot: Any) -> None:
    done = diff(case, "-o", output)
    assert (done.code, done.err) == (1, "")
    assert done.out == snapshot(extension_class=at(CASE / FORMATS[output]))


def test_nothing_changes(tmp_path: Path) -> None:
    files = {"tas.yaml": "apiVersion: tas/v1alpha1\nkind: Config\n", "pools/team.yaml": pool()}
    root = changed(tmp_path, files, {**files, "pools/team.yaml": f"# the same\n{pool()}"})
    done = diff(root)
    assert (done.code, done.out) == (0, "Changes since HEAD: nothing\n\nrisk: none - nothing changes\n")
    for output in ("json", "markdown", "html"):
        assert diff(root, "-o", output).code == 0


def test_without_a_base_it_is_wrong_usage(tmp_path: Path) -> None:
    done = kubectl_tas("diff", "-C", write(tmp_path, {"pools/team.yaml": pool()}))
    assert done.code == 2
    assert "name the git revision to compare with: kubectl tas diff REF, such as origin/main" in done.err


@pytest.mark.parametrize("output", FORMATS)
def test_a_repository_with_errors_is_not_compared(tmp_path: Path, output: str) -> None:
    root = changed(tmp_path, {"pools/team.yaml": pool()}, {"pools/team.yaml": pool().replace("gpu", "gpus")})
    done = diff(root, "-o", output)
    assert (done.code, done.out) == (3, "")
    assert "pools/team.yaml:7:5: error: " in done.err


def test_an_unknown_revision_is_a_failure(tmp_path: Path) -> None:
    root = changed(tmp_path, {"pools/team.yaml": pool()}, {"pools/team.yaml": pool()})
    done = kubectl_tas("diff", "-C", root, "--base", "nowhere")
    assert done.code == 3
    assert "nowhere" in done.err


def test_a_revision_with_errors_is_compared_as_far_as_it_goes(tmp_path: Path) -> None:
    broken = {"pools/team.yaml": pool(), "pools/lab.yaml": "apiVersion: tas/v1alpha1\nkind: Pool\n"}
    done = diff(changed(tmp_path, broken, {"pools/team.yaml": pool(guarantee=50)}))
    assert done.code == 1
    assert "osmo-pool-default-team          team (all of it)  changed  100 -> 50 (-50)" in done.out
    assert "HEAD has errors itself, so its objects and admission policies are not compared" in done.out


def test_the_first_files_are_all_new(tmp_path: Path) -> None:
    root = changed(tmp_path, {"README.md": "nothing\n"}, {"pools/team.yaml": pool()})
    done = diff(root, "-o", "json")
    assert done.code == 1
    found = json.loads(done.out)
    assert {item["change"] for item in found["queues"]} == {"made"}
    assert found["risk"] == {"level": "low", "reasons": ["nothing restarts and nothing is dropped"]}


@pytest.mark.parametrize("value", ["[]", "x", "1", "[[]]", "true", '""', "null"])
@pytest.mark.parametrize("command", ["validate", "diff"])
def test_what_has_no_place_in_a_wrong_document_is_left_out(tmp_path: Path, command: str, value: str) -> None:
    job = """\
apiVersion: batch/v1
kind: Job
metadata: {name: train, labels: {kubectl-tas/pool: team}}
spec:
  template:
    spec:
      restartPolicy: Never
      nodeSelector: {a: b}
      containers:
      - {name: main, image: "trainer:1"}
"""
    before = {"pools/team.yaml": pool(spec="  nodes: {selector: {c: d}}\n"), "workflows/train.yaml": job}
    wrong = {**before, "workflows/train.yaml": job.replace("{a: b}", value).replace("trainer:1", "trainer:2")}
    for number, (old, new) in enumerate(((before, wrong), (wrong, before))):
        done = kubectl_tas(command, "-C", changed(tmp_path / str(number), old, new), "--base", "HEAD")
        assert "internal error" not in done.err
        assert done.code in (1, 3)


def test_a_subpool_takes_from_the_rest_of_its_pool(tmp_path: Path) -> None:
    before = {"pools/team.yaml": pool(), "subpools/a.yaml": subpool("a", 30), "subpools/b.yaml": subpool("b", 30)}
    done = diff(changed(tmp_path, before, {**before, "subpools/a.yaml": subpool("a", 50)}))
    assert "  default  team  team--a +20 GPUs  team -20 GPUs\n" in done.out
    assert done.out.endswith("\nrisk: medium - 1 queue loses quota\n")


def test_the_level_of_a_topology_may_have_another_name_in_place(tmp_path: Path) -> None:
    def keys(key: str, label: str) -> str:
        return pool(spec=f"  topology_keys:\n  - {{key: {key}, label: {label}}}\n")

    before = {"pools/team.yaml": keys("rack", "example.com/rack")}
    root = changed(tmp_path, before, {"pools/team.yaml": keys("row", "example.com/rack")})
    (found,) = json.loads(diff(root, "-o", "json").out)["topologies"]
    assert found["change"] == "changed"
    write(root, {"pools/team.yaml": keys("rack", "example.com/row")})
    (found,) = json.loads(diff(root, "-o", "json").out)["topologies"]
    assert found["change"] == "recreated"


def test_the_base_decides_what_a_rule_counts_for(tmp_path: Path) -> None:
    config = "apiVersion: tas/v1alpha1\nkind: Config\n"
    milder = f"{config}spec: {{rules: {{pool-gone: off}}}}\n"
    before = {"tas.yaml": config, "pools/team.yaml": pool(), "pools/lab.yaml": pool("lab")}
    done = diff(changed(tmp_path, before, {"tas.yaml": milder, "pools/team.yaml": pool()}))
    assert "[pool-gone]" in done.out
    assert "1 rule counts for less" in done.out


def test_queues_of_several_clusters_are_told_apart(tmp_path: Path) -> None:
    config = "apiVersion: tas/v1alpha1\nkind: Config\nspec:\n  backends: [{name: eu}, {name: us}]\n"
    files = {name: pool(name, spec=f"  backend: {name}\n") for name in ("eu", "us")}
    before = {"tas.yaml": config, **{f"pools/{name}.yaml": text for name, text in files.items()}}
    after = {name: text.replace("guarantee: 100", "guarantee: 90") for name, text in before.items()}
    done = diff(changed(tmp_path, before, after))
    assert "  CLUSTER  QUEUE                         OF" in done.out
    assert "  us       osmo-pool-default-us--shared  us" in done.out


def test_queues_that_are_called_otherwise(tmp_path: Path) -> None:
    files = {
        "tas.yaml": "apiVersion: tas/v1alpha1\nkind: Config\n",
        "pools/team.yaml": pool(),
        "workflows/a.yaml": WORKFLOW,
    }
    root = changed(tmp_path, files, {**files, "tas.yaml": f"{files['tas.yaml']}spec: {{queuePrefix: own}}\n"})
    (restart,) = json.loads(diff(root, "-o", "json").out)["restarts"]
    assert restart["why"].startswith("its queue is called own-pool-")


def test_work_that_goes_to_another_namespace(tmp_path: Path) -> None:
    """What runs of it ends, whatever it is called."""
    files = {
        "tas.yaml": "apiVersion: tas/v1alpha1\nkind: Config\n",
        "pools/team.yaml": pool(),
        "workflows/a.yaml": WORKFLOW,
    }
    before = {**files, "workflows/job.yaml": JOB, "pools/team.yaml": pool(spec="  namespaces: [one]\n")}
    root = changed(tmp_path, before, {**before, "pools/team.yaml": pool(spec="  namespaces: [two]\n")})
    told = json.loads(diff(root, "-o", "json").out)
    restarts = [(item["kind"], item["why"].partition(",")[0]) for item in told["restarts"]]
    assert restarts == [(kind, "it goes from namespace one to two") for kind in ("PodGroup", "Job")]
    assert told["risk"]["level"] == "high"


def test_policies_of_several_clusters_are_told_apart(tmp_path: Path) -> None:
    backends = "apiVersion: tas/v1alpha1\nkind: Config\nspec:\n  backends: [{name: eu}, {name: us}]\n"
    pools = {f"pools/{name}.yaml": pool(name, spec=f"  backend: {name}\n") for name in ("eu", "us")}
    files = {"tas.yaml": backends, **pools}
    root = changed(tmp_path, files, {**files, "tas.yaml": f"{backends}  guard: warn\n"})
    rows = [line.split("  ")[1] for line in diff(root).out.splitlines() if line.startswith("  policy ")]
    assert len(rows) == len(set(rows)) == 10


def test_a_policy_of_the_guard_that_goes_is_the_highest_risk(tmp_path: Path) -> None:
    config = "apiVersion: tas/v1alpha1\nkind: Config\nspec: {guard: enforce%s}\n"
    files = {"tas.yaml": config % "", "pools/team.yaml": pool()}
    root = changed(tmp_path, files, {**files, "tas.yaml": config % ", guardMembers: false"})
    told = json.loads(diff(root, "-o", "json").out)
    assert told["risk"] == {"level": "high", "reasons": ["1 admission policy is dropped"]}
    assert [item["policy"] for item in told["guard"]["policies"]] == ["osmo-guard-default-members"]
