"""Tests ``pool rename`` and ``pool remove``, which change all files that name a pool, or none."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest

from kubectl_tas.emit.disk import Disk
from kubectl_tas.report.style import printable_lines, unified
from tests.support.cli import Result, kubectl_tas, pool, subpool, write
from tests.support.golden import at, case_input, cases
from tests.support.history import commit, git
from tests.support.process import call
from tests.support.rendered import files_below

WORKFLOW = "workflow: {{name: {}, pool: {}, tasks: [{{name: t, image: i}}]}}\n"


@pytest.fixture
def team(repository: Path) -> Path:
    return write(
        repository,
        {
            "pools/team.yaml": pool(),
            "pools/other.yaml": pool("other", 7),
            "subpools/a.yaml": f"# why\n{subpool('a', 30)}",
            "workflows/w.yaml": WORKFLOW.format("w", "Team--A"),
        },
    )


def run(root: Path, *arguments: str) -> Result:
    return kubectl_tas("pool", *arguments, "-C", root)


def content(root: Path) -> dict[str, bytes]:
    return {path.relative_to(root).as_posix(): path.read_bytes() for path in files_below(root)}


def refused(root: Path, *arguments: str, code: int = 1) -> str:
    """What is said of a command that is refused and leaves every byte."""
    before = content(root)
    result = run(root, *arguments)
    assert (result.code, result.out) == (code, "")
    assert content(root) == before
    return result.err


@pytest.mark.every_case
@pytest.mark.parametrize("case", cases("pools"), ids=lambda case: case.name)
def test_what_changes(case: Path, tmp_path: Path, snapshot: Any) -> None:
    root = Path(shutil.copytree(case_input(case), tmp_path / "repository"))
    findings = kubectl_tas("validate", "-C", root).out
    before = content(root)
    command = (case / "command.txt").read_text().split()
    dry = run(root, *command, "--dry-run")
    assert dry.code == 0
    assert content(root) == before
    assert dry.out == snapshot(extension_class=at(case / "changes.diff"))
    done = run(root, *command)
    assert (done.code, dry.err in done.err) == (0, True)
    after = content(root)
    changed = (
        (path, *(None if files.get(path) is None else files[path].decode() for files in (before, after)))
        for path in sorted(before)
        if after.get(path) != before[path]
    )
    assert printable_lines(unified(changed)) == dry.out
    assert (
        kubectl_tas("validate", "-C", root).out.splitlines()[-1].partition(" in ")[0] == findings.partition(" in ")[0]
    )
    assert kubectl_tas("render", "--to", "-", "-C", root).code == 0


class TestRename:
    def test_what_is_said(self, team: Path) -> None:
        result = run(team, "rename", "team", "core")
        assert (result.code, result.out.splitlines()) == (
            0,
            [
                "renamed team -> core in Subpool/a (subpools/a.yaml)",
                "renamed team -> core in Workflow/w (workflows/w.yaml)",
                "renamed team -> core in Pool/team (pools/team.yaml)",
            ],
        )
        assert result.err.startswith("Pods that run keep the old queue and their GPUs")
        assert (team / "workflows/w.yaml").read_text() == WORKFLOW.format("w", "core--A")

    def test_children_follow_their_parent(self, team: Path) -> None:
        text = pool("nlp", 1, "  parent: team # why\n")
        write(team, {"pools/nlp.yaml": text})
        said = run(team, "rename", "team", "core").out
        assert "renamed team -> core in Pool/nlp (pools/nlp.yaml)" in said
        assert (team / "pools/nlp.yaml").read_text() == text.replace("parent: team", "parent: core")
        assert run(team, "rename", "nlp", "text").code == 0
        assert kubectl_tas("pool", "list", "core", "-o", "name", "-C", team).out == "core\ncore--a\ntext\n"

    def test_back_again_leaves_every_byte(self, team: Path) -> None:
        write(team, {"workflows/w.yaml": WORKFLOW.format("w", "team--A")})
        before = content(team)
        assert run(team, "rename", "team", "core").code == 0
        assert run(team, "rename", "CORE", "team").code == 0
        assert content(team) == before

    def test_names_that_are_taken_or_unknown(self, team: Path) -> None:
        said = refused(team, "rename", "team", "other")
        assert "pools/other.yaml:4:9: error: there is a pool other already [subpool-unknown]\n" in said
        assert said.endswith("  = help: Choose another name.\n")
        for spelling in ("team", "Team"):
            said = refused(team, "rename", "team", spelling)
            assert f'error: "{spelling}" is the name that pool team has [subpool-unknown]\n' in said
            assert said.endswith("  = help: Choose another; case does not count.\n")
        said = refused(team, "rename", "tean", "core")
        assert said == (
            'error: there is no pool "tean"; there is other, team [subpool-unknown]\n  = help: Did you mean team?\n'
        )

    @pytest.mark.parametrize(
        ("command", "hint"),
        [
            (
                ("rename", "team--A", "b"),
                "A subpool keeps its name. Create another one, send its work there, then use:",
            ),
            (("remove", "team--a"), "Use:"),
        ],
    )
    def test_a_subpool_is_no_pool(self, team: Path, command: tuple[str, ...], hint: str) -> None:
        """What is proposed is never the whole pool."""
        said = refused(team, *command)
        assert "subpools/a.yaml:5:9: error: team--a is a subpool [subpool-unknown]\n" in said
        assert said.endswith(f"  = help: {hint} kubectl tas subpool retire team a\n")

    @pytest.mark.parametrize(
        ("name", "rule"),
        [
            ("Core", "name-invalid"),
            ("a--b", "name-delimiter"),
            ("x" * 60, "queue-name-too-long"),
            ("", "invalid-value"),
        ],
    )
    def test_a_name_that_cannot_be(self, team: Path, name: str, rule: str) -> None:
        assert f"[{rule}]" in refused(team, "rename", "team", name)

    def test_errors_that_are_there_already_do_not_count(self, team: Path) -> None:
        write(team, {"subpools/b.yaml": subpool("b", 90)})
        assert "of pool team add up" in kubectl_tas("validate", "-C", team).out
        assert run(team, "rename", "team", "core").code == 0
        assert "of pool core add up" in kubectl_tas("validate", "-C", team).out

    def test_a_file_that_cannot_be_read_may_name_it_too(self, team: Path) -> None:
        write(team, {"workflows/broken.yaml": "workflow: {name: x"})
        said = refused(team, "rename", "team", "core")
        assert "workflows/broken.yaml" in said
        assert said.endswith("Nothing was written: what workflows/broken.yaml:1:19 declares is not counted.\n")

    def test_a_label_that_an_anchor_shares(self, team: Path) -> None:
        text = (
            "apiVersion: apps/v1\nkind: Deployment\n"
            "metadata: {name: d, labels: {app: d, kubectl-tas/pool: &p team}}\n"
            "spec:\n  selector: {matchLabels: {app: d}}\n  template:\n"
            "    metadata: {labels: {app: d, kubectl-tas/pool: *p}}\n"
            "    spec: {containers: [{name: c, image: i}]}\n"
        )
        write(team, {"workflows/d.yaml": text})
        assert run(team, "rename", "team", "core").code == 0
        assert (team / "workflows/d.yaml").read_text() == text.replace("&p team", "&p core")

    def test_afterwards(self, team: Path) -> None:
        assert kubectl_tas("render", "-C", team).code == 0
        result = run(team, "rename", "team", "core", "--render")
        assert result.code == 0
        assert "removed manifests/queues/osmo-pool-default-team--a.yaml" in result.out
        assert kubectl_tas("check", "-C", team).code == 0


class TestRemove:
    def test_work_stands_in_the_way(self, team: Path) -> None:
        write(team, {f"workflows/w{n}.yaml": WORKFLOW.format(f"w{n}", "team") for n in range(6)})
        assert refused(team, "remove", "team").splitlines()[3:] == [
            *(f"  = note: Workflow/w{n} (workflows/w{n}.yaml:1:1)" for n in range(5)),
            "  = help: Remove the files of that work, or send it to another pool; then remove this one.",
        ]

    def test_a_podgroup_by_hand_is_work_too(self, team: Path) -> None:
        group = "apiVersion: scheduling.run.ai/v2alpha2\nkind: PodGroup\nmetadata: {name: g}\n"
        write(team, {"workflows/w.yaml": f"{group}spec: {{queue: osmo-pool-default-team--a, minMember: 1}}\n"})
        assert "work is declared for it: PodGroup/g [pool-in-use]" in refused(team, "remove", "team")

    def test_an_archived_subpool_stays_and_comes_back_with_its_pool(self, team: Path) -> None:
        write(
            team,
            {"workflows/w.yaml": WORKFLOW.format("w", "other"), "subpools/a.yaml": subpool("a", 30, state="ARCHIVED")},
        )
        text = (team / "pools/team.yaml").read_text()
        assert run(team, "remove", "Team").out == "removed pool team (pools/team.yaml)\n"
        assert kubectl_tas("validate", "-C", team, "--strict").code == 0
        assert kubectl_tas("subpool", "list", "-o", "name", "-C", team).out == "team--a\n"
        assert kubectl_tas("subpool", "list", "team", "-C", team).out.splitlines()[1].split() == [
            "team", "a", "ARCHIVED", "30", "0", "subpools/a.yaml",
        ]  # fmt: skip
        write(team, {"pools/new.yaml": text})
        assert kubectl_tas("subpool", "recreate", "team--a", "-C", team).code == 0

    def test_pools_below_stand_in_the_way(self, team: Path) -> None:
        write(team, {"workflows/w.yaml": WORKFLOW.format("w", "other")})
        write(team, {f"pools/{name}.yaml": pool(name, 1, "  parent: team\n") for name in ("nlp", "cv")})
        said = refused(team, "remove", "team")
        assert "error: cannot remove pool team: it is the parent of cv, nlp [pool-in-use]" in said
        assert "= note: pool cv (pools/cv.yaml:9:11)" in said
        hint = "Remove those pools, or give them another parent; then remove this one."
        assert said.endswith(f"  = help: {hint}\n")
        assert run(team, "remove", "cv").code == 0
        assert run(team, "remove", "nlp").code == 0
        assert run(team, "remove", "team").code == 0

    def test_a_folder_that_the_config_names_would_be_gone(self, team: Path) -> None:
        config = "apiVersion: tas/v1alpha1\nkind: Config\nspec: {sources: [pools, subpools, workflows]}\n"
        write(team, {"tas.yaml": config, "workflows/w.yaml": WORKFLOW.format("w", "other")})
        assert 'the folder "subpools" does not exist [source-missing]' in refused(team, "remove", "team")

    def test_an_item_of_a_list_is_not_taken_out_of_it(self, team: Path) -> None:
        listed = pool("new").replace("\n", "\n  ").rstrip()
        write(team, {"pools/list.yaml": f"apiVersion: v1\nkind: List\nitems:\n- {listed}\n"})
        said = refused(team, "remove", "new", code=3)
        assert said == (
            "error: pools/list.yaml: an item of a List is not taken out of it\n  = help: Remove it by hand.\n"
        )

    def test_a_link(self, team: Path) -> None:
        write(team, {"workflows/w.yaml": WORKFLOW.format("w", "other")})
        (team / "subpools/a.yaml").rename(team / "a.txt")
        (team / "subpools/a.yaml").symlink_to("../a.txt")
        assert refused(team, "remove", "team", code=3) == (
            "error: subpools/a.yaml is a link, which is not removed\n  = help: Remove it, and what it points at.\n"
        )


class TestWhole:
    """Of several files all are written, or none."""

    @pytest.mark.parametrize("fails_at", range(3))
    def test_a_disk_that_fails_halfway(self, team: Path, monkeypatch: pytest.MonkeyPatch, fails_at: int) -> None:
        replaced: list[str] = []
        real = Disk.replace

        def replace(disk: Disk, path: str, *arguments: Any, **named: Any) -> None:
            replaced.append(path)
            if len(replaced) == fails_at + 1:
                raise OSError(28, "No space left on device")
            real(disk, path, *arguments, **named)

        monkeypatch.setattr(Disk, "replace", replace)
        said = refused(team, "rename", "team", "core", code=3)
        said_of = replaced[fails_at]
        assert said == f"error: cannot write {said_of}: No space left on device\n  = help: Check permissions.\n"

    def test_what_was_removed_comes_back_as_it_was(self, team: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        write(team, {"workflows/w.yaml": WORKFLOW.format("w", "other")})
        (team / "subpools/a.yaml").chmod(0o640)
        removed: list[str] = []
        real = Disk.remove

        def remove(disk: Disk, path: str) -> None:
            removed.append(path)
            if path == "pools/team.yaml":
                raise PermissionError(13, "Permission denied")
            real(disk, path)

        monkeypatch.setattr(Disk, "remove", remove)
        said = refused(team, "remove", "team", code=3)
        assert said == "error: cannot write pools/team.yaml: Permission denied\n  = help: Check permissions.\n"
        assert removed == ["subpools/a.yaml", "pools/team.yaml"]
        assert (team / "subpools/a.yaml").stat().st_mode & 0o777 == 0o640

    @pytest.mark.sweep
    @pytest.mark.parametrize(
        "command", [("rename", "team", "core"), ("remove", "team")], ids=lambda command: command[0]
    )
    def test_killed_at_every_step_it_can_be_run_again(self, command: tuple[str, ...], team: Path) -> None:
        if command[0] == "remove":
            write(team, {"workflows/w.yaml": WORKFLOW.format("w", "other")})
        module = "tests.support.killed_edit"
        result = call(sys.executable, "-m", module, team, "pool", *command, cwd=team.parent)
        assert (result.code, result.err) == (0, "")
        assert int(result.out) >= 2


class TestBase:
    @pytest.fixture
    def past(self, team: Path) -> Path:
        write(team, {"workflows/w.yaml": WORKFLOW.format("w", "other")})
        commit(team)
        return team

    def errors(self, root: Path) -> str:
        result = kubectl_tas("validate", "--strict", "--base", "HEAD", "-C", root)
        assert result.code == (1 if " error" in result.out.splitlines()[-1] else 0)
        return result.out

    def test_children_that_follow_their_parent_are_not_moved(self, past: Path) -> None:
        write(past, {"pools/nlp.yaml": pool("nlp", 1, "  parent: team\n")})
        commit(past)
        assert run(past, "rename", "team", "core").code == 0
        said = self.errors(past)
        assert "info: pool team is called core since HEAD" in said
        assert "pool-moved" not in said

    def test_a_pool_that_moves_with_another_name(self, past: Path) -> None:
        write(past, {"pools/team.yaml": pool("core", 100, "  parent: top\n"), "pools/top.yaml": pool("top", 100)})
        write(past, {"subpools/a.yaml": f"# why\n{subpool('a', 30, parent='core')}"})
        said = self.errors(past)
        assert "info: pool team is called core since HEAD" in said
        assert "info: pool core moves from the top to below top since HEAD" in said

    def test_what_the_commands_do_is_accepted_and_told(self, past: Path) -> None:
        assert run(past, "rename", "team", "core").code == 0
        said = self.errors(past)
        assert "pools/team.yaml:4:9: info: pool team is called core since HEAD" in said
        assert "osmo-pool-default-team--a -> osmo-pool-default-core--a (pools/team.yaml:4:9)" in said
        assert said.endswith("1 info in 4 files.\n")
        git(past, "checkout", "--", ".")
        assert run(past, "remove", "team").code == 0
        said = self.errors(past)
        assert "info: pool team is gone since HEAD, and its queues: osmo-pool-default-team, " in said
        assert said.endswith("1 info in 2 files.\n")

    def test_a_rename_is_no_way_around_the_life_of_a_subpool(self, past: Path) -> None:
        write(past, {"subpools/a.yaml": subpool("a", 30, state="DELETING")})
        commit(past)
        assert run(past, "rename", "team", "core").code == 0
        write(past, {"subpools/a.yaml": subpool("a", 30, parent="core")})
        assert "subpool team--a goes from DELETING to ACTIVE since HEAD" in self.errors(past)

    def test_the_record_stays_once_the_pool_is_gone(self, past: Path) -> None:
        write(past, {"subpools/a.yaml": subpool("a", 30, state="ARCHIVED")})
        (past / "pools/team.yaml").unlink()
        commit(past)
        (past / "subpools/a.yaml").unlink()
        assert "error: the document of subpool team--a is gone since HEAD" in self.errors(past)


def test_modes_and_other_names_stay(team: Path) -> None:
    os.link(team / "subpools/a.yaml", team / "copy")
    (team / "pools/team.yaml").chmod(0o640)
    assert run(team, "rename", "team", "core").code == 0
    assert (team / "pools/team.yaml").stat().st_mode & 0o777 == 0o640
    assert b"parent: team" in (team / "copy").read_bytes()


def test_a_template_is_not_edited(team: Path) -> None:
    text = "default-values: {gpus: 1}\nworkflow:\n  name: ft\n  pool: team\n  resources: {default: {gpu: {{ gpus }}}}\n"
    write(team, {"workflows/ft.yaml": f"{text}  tasks:\n  - {{name: t, image: i}}\n"})
    before = content(team)
    said = refused(team, "rename", "team", "core", code=3)
    assert said == (
        "error: workflows/ft.yaml is a template, and what it expands to is not edited\n"
        "  = help: Change the value by hand, there or where its values stand, and run again.\n"
    )
    assert content(team) == before


def test_a_rename_lists_what_must_go_first_and_what_goes_on(team: Path) -> None:
    about = "metadata: {{name: {}, namespace: ml, labels: {{kubectl-tas/pool: team}}}}\n"
    pods = "template: {spec: {restartPolicy: Never, containers: [{name: pytorch, image: i}]}}"
    job = f"apiVersion: batch/v1\nkind: Job\n{about.format('sweep')}spec: {{{pods}}}\n"
    replaced = job.replace("sweep", "again").replace(
        "kubectl-tas/pool", 'kubectl-tas/replace: "true", kubectl-tas/pool'
    )
    torch = (
        f"apiVersion: kubeflow.org/v1\nkind: PyTorchJob\n{about.format('tune')}"
        f"spec: {{pytorchReplicaSpecs: {{Master: {{replicas: 1, {pods}}}}}}}\n"
    )
    pod = f"apiVersion: v1\nkind: Pod\n{about.format('shell')}spec: {{containers: [{{name: c, image: i}}]}}\n"
    config = "apiVersion: tas/v1alpha1\nkind: Config\nspec: {gitops: flux, backends: [{name: a, namespace: ml}]}\n"
    write(team, {"tas.yaml": config, "workflows/all.yaml": "---\n".join([job, replaced, torch, pod])})
    said = [
        "Delete first, since the API server refuses their new queue: Job/sweep in namespace ml.",
        "Flux deletes and makes anew: Job/again in namespace ml.",
        "Work whose running pods stay in the old queue: Pod/shell in namespace ml, PyTorchJob/tune in namespace ml.",
    ]
    tried = run(team, "rename", "team", "core", "--dry-run")
    assert (tried.code, tried.err.splitlines()[:-1]) == (0, said)
    assert tried.err.endswith("let work end first.\n"), "what it means is told before it is done"
    assert run(team, "rename", "team", "core").err.splitlines()[-4:] == tried.err.splitlines()
