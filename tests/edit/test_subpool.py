"""Tests the ``subpool`` commands: allowed steps in each state, messages of refusals, and drains."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from kubectl_tas.cli import subpool as commands
from tests.support.cli import Result, kubectl_tas, pool, subpool, write
from tests.support.kubectl import FakeKubectl, pod_group, queue
from tests.support.process import SCRIPTS, environment
from tests.support.rendered import files_below

A, B = "osmo-pool-default-team--a", "osmo-pool-default-team--b"
WORKFLOW = """\
workflow: {{name: w, pool: {}, priority: {}, tasks: [{{name: t, image: i}}]}}
resources: {{default: {{gpu: {}}}}}
"""

ALLOWED = {
    ("ACTIVE", "update team a --quota 5"): "ACTIVE",
    ("ACTIVE", "retire team a --used 0"): "ARCHIVED",
    ("ACTIVE", "retire team a --used 1"): "DELETING",
    ("ACTIVE", "drain --used 0"): "ACTIVE",
    ("DELETING", "drain --used 1"): "DELETING",
    ("DELETING", "drain --used 0"): "ARCHIVED",
    ("ARCHIVED", "drain --used 0"): "ARCHIVED",
    ("ARCHIVED", "recreate team a"): "ACTIVE",
    ("ARCHIVED", "recreate team a --quota 5"): "ACTIVE",
}
"""State, command and the state that it leads to."""
REFUSED = {
    ("ACTIVE", "recreate team a"): (
        "cannot recreate team--a: it is ACTIVE and takes work; its quota can be changed and it can be deleted",
        "Nothing to do: it takes work already.",
    ),
    ("DELETING", "update team a --quota 5"): (
        "cannot update team--a: it is DELETING and is frozen until it is empty; then it is archived",
        "Run `kubectl tas subpool drain` when nothing is declared and nothing runs there any more.",
    ),
    ("DELETING", "retire team a --used 0"): (
        "cannot retire team--a: it is DELETING and is frozen until it is empty; then it is archived",
        "Run `kubectl tas subpool drain` when nothing is declared and nothing runs there any more.",
    ),
    ("DELETING", "recreate team a"): (
        "cannot recreate team--a: it is DELETING and is frozen until it is empty; then it is archived",
        "Run `kubectl tas subpool drain` when nothing is declared and nothing runs there any more.",
    ),
    ("ARCHIVED", "update team a --quota 5"): (
        "cannot update team--a: it is ARCHIVED and is only a record; it can only be recreated",
        "Use: kubectl tas subpool recreate team a",
    ),
    ("ARCHIVED", "retire team a --used 0"): (
        "cannot retire team--a: it is ARCHIVED and is only a record; it can only be recreated",
        "Use: kubectl tas subpool recreate team a",
    ),
}
"""State, command, and the complaint with its hint."""
UNKNOWN = {
    "create tean b --quota 1": ('there is no pool "tean"; there is team', "Did you mean team?"),
    "create team--a b --quota 1": ('there is no pool "team--a"; there is team', "Did you mean team?"),
    "update xyz a --quota 1": ('there is no pool "xyz"; there is team', None),
    "update team aa --quota 1": ('pool team has no subpool "aa"; it has a', "Did you mean a?"),
    "retire team xyz --used 0": (
        'pool team has no subpool "xyz"; it has a',
        "Use: kubectl tas subpool create team xyz --quota N",
    ),
    "recreate team xyz": (
        'pool team has no subpool "xyz"; it has a',
        "Use: kubectl tas subpool create team xyz --quota N",
    ),
}
IDLE_OR_NOT = {
    "idle": ([queue(A, 0)], [], "ARCHIVED"),
    "never-used": ([queue(A)], [], "ARCHIVED"),
    "holds-gpus": ([queue(A, "8")], [], "DELETING"),
    "holds-preemptible-gpus": ([queue(A, 8, "0")], [], "DELETING"),
    "runs-without-gpus": ([queue(A, 0)], [pod_group(A, running=1)], "DELETING"),
    "only-waits": ([queue(A, 0)], [pod_group(A, pending=1)], "ARCHIVED"),
    "others-run": ([queue(A, 0), queue(B, 8)], [pod_group(B, running=1)], "ARCHIVED"),
}


TOO_MUCH = "the subpools of pool team add up to 101 GPUs, but the pool is guaranteed 100"


@pytest.fixture
def team(repository: Path) -> Path:
    return write(repository, {"pools/team.yaml": pool(), "subpools/a.yaml": subpool("a", 30)})


def run(root: Path, command: str) -> Result:
    return kubectl_tas("subpool", *command.split(), "-C", root)


def content(root: Path) -> dict[str, bytes]:
    return {path.relative_to(root).as_posix(): path.read_bytes() for path in files_below(root)}


def refused(root: Path, command: str) -> str:
    """What is said of a command that is refused and leaves every byte."""
    before = content(root)
    result = run(root, command)
    assert (result.code, result.out) == (1, "")
    assert content(root) == before
    return result.err


def state(root: Path, name: str = "a") -> str:
    listed = json.loads(run(root, "list -o json").out)["subpools"]
    return next(str(item["state"]) for item in listed if item["name"] == name)


class TestStates:
    @pytest.mark.parametrize(("before", "command"), ALLOWED)
    def test_allowed(self, team: Path, before: str, command: str) -> None:
        write(team, {"subpools/a.yaml": subpool("a", 30, state=before)})
        assert run(team, command).code == 0
        assert state(team) == ALLOWED[before, command]

    @pytest.mark.parametrize(("before", "command"), REFUSED)
    def test_refused(self, team: Path, before: str, command: str) -> None:
        write(team, {"subpools/a.yaml": subpool("a", 30, state=before)})
        message, hint = REFUSED[before, command]
        assert refused(team, command) == (
            f"subpools/a.yaml:8:10: error: {message} [subpool-transition]\n"
            f"  8 |   state: {before}\n"
            f"    |          {'^' * len(before)}\n"
            f"  = help: {hint}\n"
        )

    @pytest.mark.parametrize("before", ["ACTIVE", "DELETING", "ARCHIVED"])
    def test_created_once(self, team: Path, before: str) -> None:
        write(team, {"subpools/a.yaml": subpool("a", 30, state=before)})
        said = refused(team, "create team a --quota 5")
        verb = "recreate" if before == "ARCHIVED" else "update"
        assert f"error: subpool team--a already exists and is {before} [subpool-transition]\n" in said
        hint = f"Use: kubectl tas subpool {verb} team a --quota 5"
        if before == "DELETING":
            hint = "Run `kubectl tas subpool drain` when nothing is declared and nothing runs there any more."
        assert said.endswith(f"  = help: {hint}\n")

    def test_what_is_asked_of_a_frozen_subpool_asks_no_cluster(
        self, team: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        kubectl = FakeKubectl(tmp_path, monkeypatch)
        write(team, {"subpools/a.yaml": subpool("a", 30, state="DELETING")})
        assert "[subpool-transition]" in refused(team, "retire team a")
        assert kubectl.calls == []


class TestNames:
    @pytest.mark.parametrize("command", UNKNOWN)
    def test_unknown(self, team: Path, command: str) -> None:
        message, hint = UNKNOWN[command]
        assert refused(team, command) == (
            f"error: {message} [subpool-unknown]\n" + (f"  = help: {hint}\n" if hint else "")
        )

    @pytest.mark.parametrize("quota", ["-1", "1.5", "101%", "-5%", "3 0", "1e3", "", "0x1", "٣"])
    def test_quotas_that_are_none(self, team: Path, quota: str) -> None:
        result = kubectl_tas("subpool", "update", "team", "a", f"--quota={quota}", "-C", team)
        assert (result.code, result.out) == (2, "")
        assert "is neither whole GPUs such as 30 nor a share of the parent" in result.err

    def test_a_name_that_is_too_long_for_a_file_too(self, team: Path) -> None:
        assert "[queue-name-too-long]" in refused(team, f"create team {'x' * 300} --quota 1")

    def test_a_name_that_leads_elsewhere(self, team: Path) -> None:
        assert "[name-invalid]" in refused(team, "create team ../../x --quota 1")


class TestCreate:
    def test_what_is_written(self, team: Path) -> None:
        result = run(team, "create team b --quota 33%")
        assert (result.code, result.out) == (0, "created team--b, quota 33% (subpools/team--b.yaml)\n")
        assert (team / "subpools/team--b.yaml").read_text() == subpool("b", '"33%"')

    def test_dry_run(self, team: Path) -> None:
        before = content(team)
        result = run(team, "create team b --quota 5 --dry-run")
        assert (result.code, result.err) == (0, "")
        assert result.out.startswith("--- /dev/null\n+++ b/subpools/team--b.yaml\n@@ -0,0 +1,8 @@\n+apiVersion: ")
        assert content(team) == before

    @pytest.mark.parametrize(
        ("sources", "path"),
        [
            ("[pools, subpools]", "subpools/team--b.yaml"),
            ("[fleet/subpools/, pools]", "pools/team--b.yaml"),  # where it counts
            ("[fleet/subpools/, pools], adminSources: [pools, fleet]", "fleet/subpools/team--b.yaml"),
            ("[pools, ./fleet/], adminSources: [.]", "fleet/team--b.yaml"),
            ("[.]", "subpools/team--b.yaml"),
            ("[.], adminSources: [pools, fleet]", "fleet/team--b.yaml"),
            ("[.], adminSources: [.]", "team--b.yaml"),
        ],
    )
    def test_in_the_folder_that_is_read(self, repository: Path, sources: str, path: str) -> None:
        config = f"apiVersion: tas/v1alpha1\nkind: Config\nspec: {{sources: {sources}}}\n"
        for folder in ("fleet/subpools", "subpools"):
            (repository / folder).mkdir(parents=True)
        write(repository, {"tas.yaml": config, "pools/team.yaml": pool()})
        assert run(repository, "create team b --quota 5").out == f"created team--b, quota 5 ({path})\n"
        assert state(repository, "b") == "ACTIVE"

    def test_a_file_that_is_there_already(self, team: Path) -> None:
        write(team, {"subpools/team--b.yaml": subpool("c", 1)})
        before = content(team)
        result = run(team, "create team b --quota 5")
        assert (result.code, result.out) == (3, "")
        assert result.err == "error: subpools/team--b.yaml already exists\n  = help: Rename it, and run again.\n"
        assert content(team) == before


class TestCheckedFirst:
    def test_quota_beyond_the_pool(self, team: Path) -> None:
        said = refused(team, "update team a --quota 101")
        assert f"error: {TOO_MUCH}; a has 101 [quota-exceeds-pool]\n" in said
        assert said.endswith("Nothing was written: the repository would have these errors.\n")

    def test_a_pool_without_a_finite_guarantee(self, team: Path) -> None:
        write(team, {"pools/other.yaml": pool("other", -1)})
        assert "[quota-unlimited-pool]" in refused(team, "create other a --quota 1")

    def test_a_share_of_what_the_pool_does_not_divide(self, team: Path) -> None:
        """Though it be the same as that of GPUs, which means all that the pool does divide."""
        assert "no finite guarantee of memory" in refused(team, "create team c --quota 5% --memory 5%")

    def test_a_workflow_to_which_less_is_left_is_listed(self, team: Path) -> None:
        write(team, {"workflows/w.yaml": WORKFLOW.format("team", "HIGH", 70)})
        for command in ("update team a --quota 31", "create team b --quota 1"):
            write(team, {"pools/team.yaml": pool(), "subpools/a.yaml": subpool("a", 30)})
            assert "team: lets Workflow/w run on (pools/team.yaml)\n" in run(team, command).out
            assert kubectl_tas("validate", "-C", team).code == 0

    def test_a_workflow_that_may_finish(self, team: Path) -> None:
        write(team, {"workflows/w.yaml": WORKFLOW.format("team--a", "LOW", 1)})
        result = run(team, "retire team a --used 8")
        assert result.out == "team--a: ACTIVE -> DELETING, lets Workflow/w finish (subpools/a.yaml)\n"
        assert kubectl_tas("validate", "-C", team).code == 0

    def test_errors_that_are_there_already_do_not_count(self, team: Path) -> None:
        write(team, {"pools/broken.yaml": pool("broken", spec="  topology: no-such\n")})
        assert run(team, "update team a --quota 31").code == 0
        assert "[quota-exceeds-pool]" in refused(team, "update team a --quota 101")

    def test_an_error_of_the_same_rule_in_another_file_does(self, team: Path) -> None:
        write(team, {"pools/other.yaml": pool("other", 5), "subpools/o.yaml": subpool("o", 6, parent="other")})
        said = refused(team, "update team a --quota 101")
        assert f"subpools/a.yaml:7:10: error: {TOO_MUCH}" in said
        assert "subpools/o.yaml" not in said

    def test_a_repository_is_mended_by_an_edit(self, team: Path) -> None:
        write(team, {"subpools/a.yaml": subpool("a", 120)})
        assert run(team, "update team a --quota 90").code == 0
        assert kubectl_tas("validate", "-C", team).code == 0

    def test_what_cannot_be_edited_without_changing_more(self, team: Path) -> None:
        text = subpool("a", 30).split("spec:")[0] + "spec:\n  ? # the pool\n    parent\n  : team\n  quota: 30\n"
        write(team, {"subpools/a.yaml": text})
        result = run(team, "retire team a --used 0")
        assert (result.code, result.err) == (
            3,
            "error: subpools/a.yaml: cannot set spec.state without changing anything else in the file\n"
            "  = help: Its anchors, its lists or its layout stand in the way; edit the file by hand.\n",
        )
        assert (team / "subpools/a.yaml").read_text() == text


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ("--quota 40", "quota 30 -> 40"),
        ("--cpu 5", "quota cpu 4 -> 5"),
        ("--cpu 5 --memory 2Gi", "quota cpu 4 -> 5, memory 0 -> 2Gi"),
        ("--memory 1Gi --quota 20", "quota gpu 30 -> 20, memory 0 -> 1Gi"),
    ],
)
def test_each_resource_is_named(team: Path, asked: str, said: str) -> None:
    spec = "    cpu: {guarantee: 100}\n    memory: {guarantee: 10Gi}\n"
    write(team, {"pools/team.yaml": pool(spec=spec), "subpools/a.yaml": subpool("a", "{gpu: 30, cpu: 4}")})
    assert run(team, f"update team a {asked}").out == f"updated team--a, {said} (subpools/a.yaml)\n"


class TestRender:
    def test_afterwards(self, team: Path) -> None:
        assert kubectl_tas("render", "-C", team).code == 0
        result = run(team, "update team a --quota 40 --render")
        assert (result.code, result.out.splitlines()) == (
            0,
            [
                "updated team--a, quota 30 -> 40 (subpools/a.yaml)",
                f"wrote manifests/queues/{A}.yaml",
                "wrote manifests/queues/osmo-pool-default-team--shared.yaml",
            ],
        )
        assert kubectl_tas("check", "-C", team).code == 0

    def test_an_archived_subpool_loses_its_queue(self, team: Path) -> None:
        assert kubectl_tas("render", "-C", team).code == 0
        assert f"removed manifests/queues/{A}.yaml" in run(team, "retire team a --used 0 --render").out

    def test_not_where_nothing_was_edited(self, team: Path) -> None:
        assert run(team, "drain --used 0 --render") == Result(0, "", "No subpool is DELETING.\n")
        assert not (team / "manifests").exists()

    def test_not_in_a_dry_run(self, team: Path) -> None:
        assert run(team, "update team a --quota 40 --render --dry-run").code == 0
        assert not (team / "manifests").exists()

    def test_not_where_the_repository_has_errors(self, team: Path) -> None:
        write(team, {"workflows/broken.yaml": "workflow: {name: w}\n"})
        result = run(team, "update team a --quota 40 --render")
        assert (result.code, "workflows/broken.yaml:1:1: error: " in result.err) == (1, True)
        assert not (team / "manifests").exists()


class TestUsage:
    @pytest.fixture
    def kubectl(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FakeKubectl:
        return FakeKubectl(tmp_path, monkeypatch)

    @pytest.mark.parametrize("name", IDLE_OR_NOT)
    def test_delete(self, name: str, team: Path, kubectl: FakeKubectl) -> None:
        queues, groups, after = IDLE_OR_NOT[name]
        kubectl.answers(queues, groups)
        result = run(team, "retire team a")
        assert (result.code, result.out) == (0, f"team--a: ACTIVE -> {after} (subpools/a.yaml)\n")
        assert state(team) == after

    def test_a_queue_that_the_cluster_does_not_have(self, team: Path, kubectl: FakeKubectl) -> None:
        kubectl.answers([queue(B, 0)], [])
        result = run(team, "retire team a")
        assert (result.code, result.out) == (3, "")
        assert result.err == (
            f"error: cannot tell whether anything runs there: the cluster has no queue {A}\n"
            "  = help: Name the right cluster with --context. "
            "If there is no cluster to ask, pass --used N (GPUs in use) or --cluster-state FILE.\n"
        )
        assert state(team) == "ACTIVE"

    @pytest.mark.parametrize("command", ["retire team a", "drain"])
    def test_without_a_cluster(self, command: str, team: Path, kubectl: FakeKubectl) -> None:
        write(team, {"subpools/b.yaml": subpool("b", 1, state="DELETING")})
        kubectl.program.unlink()
        before = content(team)
        result = run(team, command)
        assert (result.code, result.out) == (3, "")
        assert result.err.startswith("error: cannot tell whether anything runs there: cannot run ")
        assert "pass --used N (GPUs in use) or --cluster-state FILE" in result.err
        assert content(team) == before


class TestDrain:
    @pytest.fixture
    def draining(self, team: Path) -> Path:
        """Subpools a and b are DELETING, and looked at every second hour."""
        write(team, {f"subpools/{name}.yaml": subpool(name, 9, state="DELETING") for name in "ab"})
        return write(team, {"tas.yaml": "apiVersion: tas/v1alpha1\nkind: Config\nspec: {drainInterval: 2h}\n"})

    @pytest.fixture
    def kubectl(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FakeKubectl:
        fake = FakeKubectl(tmp_path, monkeypatch)
        fake.answers([queue(A, 4), queue(B, 4)], [])
        return fake

    def test_only_what_is_empty(self, draining: Path, kubectl: FakeKubectl) -> None:
        kubectl.answers([queue(A, 0), queue(B, 4)], [])
        result = run(draining, "drain")
        assert (result.code, result.out) == (0, "team--a: DELETING -> ARCHIVED (subpools/a.yaml)\n")
        assert result.err == "team--b: still DELETING; work still runs there\n"
        assert (state(draining, "a"), state(draining, "b")) == ("ARCHIVED", "DELETING")

    def test_what_still_runs_is_named(self, draining: Path, kubectl: FakeKubectl) -> None:
        def group(name: str, gpus: int, **about: Any) -> dict[str, Any]:
            item = pod_group(B, resourcesStatus={"allocated": {"nvidia.com/gpu": gpus}})
            return {**item, "metadata": {"name": name, "namespace": "ml", **about}}

        owned = group("pg-x", 1, ownerReferences=[{"kind": "Job", "name": "sweep"}])
        parts = [group(f"train-{part}", 2, labels={"kubectl-tas/workflow": "train"}) for part in "ab"]
        kubectl.answers([queue(A, 0), queue(B, 6)], [owned, *parts, group("by-hand", 1)])
        assert run(draining, "drain").err == (
            "team--b: still DELETING; still running: Job/sweep (1 GPU in namespace ml), "
            "PodGroup/by-hand (1 GPU in namespace ml), Workflow/train (4 GPUs in namespace ml)\n"
        )

    def test_what_is_still_declared_is_named(self, draining: Path, kubectl: FakeKubectl) -> None:
        """Whatever runs: it would be made again."""
        write(draining, {"workflows/w.yaml": WORKFLOW.format("team--b", "LOW", 1)})
        kubectl.answers([queue(A, 0), queue(B, 0)], [])
        result = run(draining, "drain")
        assert result.err == "team--b: still DELETING; still declared: Workflow/w (workflows/w.yaml)\n"
        assert (state(draining, "a"), state(draining, "b")) == ("ARCHIVED", "DELETING")

    def test_what_lives_in_another_cluster_stays(self, draining: Path, kubectl: FakeKubectl) -> None:
        kubectl.answers([queue(A, 0)], [])
        assert run(draining, "drain").code == 0
        assert (state(draining, "a"), state(draining, "b")) == ("ARCHIVED", "DELETING")

    def test_a_cluster_that_has_none_of_them(self, draining: Path, kubectl: FakeKubectl) -> None:
        kubectl.answers([], [])
        result = run(draining, "drain")
        assert (result.code, f"the cluster has no queue {A} or {B}\n" in result.err) == (3, True)

    def test_nothing_drains(self, team: Path) -> None:
        assert run(team, "drain") == Result(0, "", "No subpool is DELETING.\n")

    def test_dry_run(self, draining: Path) -> None:
        before = content(draining)
        result = run(draining, "drain --used 0 --dry-run")
        assert (result.code, result.err, result.out.count("+  state: ARCHIVED")) == (0, "", 2)
        assert content(draining) == before

    def test_a_dry_run_says_what_stays(self, draining: Path, kubectl: FakeKubectl) -> None:
        kubectl.answers([queue(A, 4), queue(B, 0)], [])
        result = run(draining, "drain --dry-run")
        assert (result.code, result.out.count("+  state: ARCHIVED")) == (0, 1)
        assert result.err == "team--a: still DELETING; work still runs there\n"
        kubectl.answers([queue(A, 4), queue(B, 4)], [])
        result = run(draining, "drain --dry-run")
        assert (result.code, result.out, result.err.count("still DELETING")) == (0, "", 2)

    def test_watch_until_none_is_left(
        self, draining: Path, kubectl: FakeKubectl, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        later = [
            ([queue(A, 4), queue(B, 0)], "ARCHIVED"),
            ([queue(A, 4), queue(B, 9)], "ARCHIVED"),
            ([queue(A, 0), queue(B, 9)], "ARCHIVED"),
        ]
        slept: list[float] = []

        def sleep(seconds: float) -> None:
            if slept:
                assert state(draining, "b") == later[len(slept) - 1][1]
            kubectl.answers(later[len(slept)][0], [])
            slept.append(seconds)

        monkeypatch.setattr(commands, "time", SimpleNamespace(sleep=sleep))
        result = run(draining, "drain --watch")
        assert (result.code, slept) == (0, [7200, 7200, 7200])
        assert result.out == (
            "team--b: DELETING -> ARCHIVED (subpools/b.yaml)\nteam--a: DELETING -> ARCHIVED (subpools/a.yaml)\n"
        )
        assert (
            result.err.splitlines()
            == ["team--a: still DELETING; work still runs there", "team--b: still DELETING; work still runs there"]
            + ["team--a: still DELETING; work still runs there"] * 2
        )

    @pytest.mark.parametrize(("interval", "seconds"), [(None, 900), ("90s", 90), ("15m", 900), ("1h", 3600)])
    def test_interval(
        self, draining: Path, kubectl: FakeKubectl, monkeypatch: pytest.MonkeyPatch, interval: str | None, seconds: int
    ) -> None:
        spec = f"spec: {{drainInterval: {interval}}}\n" if interval else ""
        write(draining, {"tas.yaml": f"apiVersion: tas/v1alpha1\nkind: Config\n{spec}"})
        slept: list[float] = []

        def sleep(number: float) -> None:
            kubectl.answers([queue(A, 0), queue(B, 0)], [])
            slept.append(number)

        monkeypatch.setattr(commands, "time", SimpleNamespace(sleep=sleep))
        assert run(draining, "drain --watch").code == 0
        assert slept == [seconds]

    def test_watch_ends_on_interrupt(
        self, draining: Path, kubectl: FakeKubectl, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def interrupt(_: float) -> None:
            raise KeyboardInterrupt

        monkeypatch.setattr(commands, "time", SimpleNamespace(sleep=interrupt))
        before = content(draining)
        result = run(draining, "drain --watch")
        assert (result.code, result.err.splitlines()[-1]) == (130, "interrupted")
        assert content(draining) == before

    def test_watch_ends_on_a_real_interrupt(self, draining: Path, kubectl: FakeKubectl) -> None:
        command = [SCRIPTS / "kubectl-tas", "subpool", "drain", "--watch", "-C", draining]
        running = subprocess.Popen(
            command, env=environment(KUBECTL_PATH=str(kubectl.program)), stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )
        assert running.stderr is not None
        assert [running.stderr.readline() for _ in "ab"] == [
            f"team--{x}: still DELETING; work still runs there\n".encode() for x in "ab"
        ]
        os.kill(running.pid, signal.SIGINT)
        out, err = running.communicate(timeout=120)
        assert (running.returncode, out, err) == (130, b"", b"interrupted\n")

    def test_watch_says_what_went_wrong(
        self, draining: Path, kubectl: FakeKubectl, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(
            commands, "time", SimpleNamespace(sleep=lambda _: kubectl.fails("the connection was refused"))
        )
        result = run(draining, "drain --watch")
        assert result.code == 3
        assert "error: cannot tell whether anything runs there: the cluster cannot be reached: " in result.err

    def test_watch_with_a_number_would_never_end(self, draining: Path) -> None:
        result = run(draining, "drain --watch --used 1")
        assert (result.code, result.out) == (2, "")


class TestList:
    def test_table(self, team: Path) -> None:
        write(team, {"subpools/b.yaml": subpool("b", '"33%"', state="DELETING"), "pools/other.yaml": pool("other")})
        write(team, {"subpools/c.yaml": subpool("c", 5, parent="other", state="ARCHIVED")})
        assert run(team, "list").out == (
            "POOL   NAME  STATE     DECLARED  QUOTA  FILE\n"
            "other  c     ARCHIVED  5         0      subpools/c.yaml\n"
            "team   a     ACTIVE    30        30     subpools/a.yaml\n"
            "team   b     DELETING  33%       0      subpools/b.yaml\n"
        )
        assert run(team, "list other").out.splitlines()[1:] == [
            "other  c     ARCHIVED  5         0      subpools/c.yaml"
        ]

    def test_json(self, team: Path) -> None:
        write(team, {"subpools/b.yaml": subpool("b", '"33%"', state="ARCHIVED")})
        assert json.loads(run(team, "list team -o json").out) == {
            "version": 1,
            "subpools": [self.item("a", "ACTIVE", 30, 30, A), self.item("b", "ARCHIVED", "33%", 0, None)],
        }

    @staticmethod
    def item(name: str, state: str, declared: int | str, quota: int, queue: str | None) -> dict[str, Any]:
        file = f"subpools/{name}.yaml"
        values = ("team", name, state, declared, quota, queue, file)
        known = dict(zip(("pool", "name", "state", "declaredQuota", "quota", "queue", "file"), values, strict=True))
        return known | {"cpu": None, "memory": None}

    def test_none(self, repository: Path) -> None:
        write(repository, {"pools/team.yaml": pool()})
        assert run(repository, "list") == Result(0, "", "There are no subpools.\n")
        assert run(repository, "list team") == Result(0, "", "There are no subpools.\n")

    def test_unknown_pool(self, team: Path) -> None:
        result = run(team, "list tean")
        assert (result.code, 'no pool "tean"; did you mean "team"?' in result.err) == (2, True)
