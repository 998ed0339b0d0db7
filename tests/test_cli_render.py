"""Tests ``render`` and ``check``: written files, removed files, and untouched files."""

from __future__ import annotations

import json
import os
import re
import sys
from pathlib import Path
from typing import Any

import pytest

from kubectl_tas.emit.disk import MARK
from kubectl_tas.work.processes import NamelessFile
from tests.support.cli import kubectl_tas, pool, subpool, write
from tests.support.golden import GOLDEN, at
from tests.support.process import call
from tests.support.pyyaml import safe_load, safe_load_all
from tests.work.repositories import POOL, WORKFLOW

CONFIG = "apiVersion: tas/v1alpha1\nkind: Config\n"
TWO_BACKENDS = f"{CONFIG}spec:\n  backends:\n  - name: east\n  - name: west\n"
QUEUE = "manifests/queues/osmo-pool-default-team--a.yaml"


@pytest.fixture
def declared(repository: Path) -> Path:
    """A pool with a subpool, not rendered yet."""
    return write(repository, {"tas.yaml": CONFIG, "pools/team.yaml": pool(), "subpools/a.yaml": subpool("a", 30)})


@pytest.fixture
def rendered(declared: Path) -> Path:
    """A pool with a subpool, and its manifests."""
    assert kubectl_tas("render", "-C", declared).code == 0
    return declared


def contents(root: Path) -> dict[str, str]:
    """The text of every file below ``root``."""
    return {str(path.relative_to(root)): path.read_text() for path in root.rglob("*") if path.is_file()}


def documents(stream: str) -> list[Any]:
    """The documents of a YAML stream."""
    return list(safe_load_all(stream))


class TestWriting:
    def test_lists_what_it_wrote(self, declared: Path) -> None:
        result = kubectl_tas("render", "-C", declared)
        written = sorted(name for name in contents(declared) if name.startswith("manifests/"))
        assert sorted(result.out.splitlines()) == [f"wrote {name}" for name in written]
        objects = len(written) - 1  # the kustomization lists them
        assert (
            result.err == f"Rendered {objects} objects to manifests: {len(written)} written, 0 removed, 0 unchanged.\n"
        )
        assert result.code == 0

    def test_reads_each_text_once(self, declared: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """Texts of work lie in a file until they are written; what counts or lists the changes needs none of them."""
        write(declared, {"pools/team.yaml": POOL.format(name="team", gpus=100)})
        work = {"pool": "team", "priority": "LOW", "group": "g", "gpus": 1, "key": "rack"}
        write(declared, {f"workflows/w{n}.yaml": WORKFLOW.format(name=f"w{n}", **work) for n in range(3)})
        read: list[tuple[int, int]] = []
        get = NamelessFile.get

        def counted(spool: NamelessFile, start: int, size: int) -> str:
            found = get(spool, start, size)
            if found.startswith(MARK):
                read.append((start, size))
            return found

        monkeypatch.setattr(NamelessFile, "get", counted)
        assert kubectl_tas("render", "-C", declared).code == 0
        pods = list((declared / "manifests").rglob("pod-*.yaml"))
        assert len(pods) == 6
        assert len(read) == len(set(read)) >= len(pods)

    def test_long_lists_are_cut(self, declared: Path) -> None:
        write(declared, {f"subpools/{n}.yaml": subpool(f"n{n}", 0) for n in range(30)})
        lines = kubectl_tas("render", "-C", declared).out.splitlines()
        more = f"... and {len(contents(declared / 'manifests')) - 20} more"
        assert [line.split()[0] for line in lines] == ["wrote"] * 20 + ["..."]
        assert lines[-1] == more

    def test_again_changes_nothing(self, rendered: Path) -> None:
        before = {path: path.stat().st_mtime_ns for path in rendered.rglob("*.yaml")}
        result = kubectl_tas("render", "-C", rendered)
        assert (result.code, result.out) == (0, "")
        assert {path: path.stat().st_mtime_ns for path in rendered.rglob("*.yaml")} == before

    def test_fail_on_change(self, declared: Path) -> None:
        first = kubectl_tas("render", "-C", declared, "--fail-on-change")
        assert first.code == 1
        assert f"wrote {QUEUE}\n" in first.out
        second = kubectl_tas("render", "-C", declared, "--fail-on-change")
        assert (second.code, second.out) == (0, "")

    def test_fail_on_change_lists_every_file(self, declared: Path) -> None:
        write(declared, {f"subpools/{n}.yaml": subpool(f"n{n}", 0) for n in range(30)})
        result = kubectl_tas("render", "-C", declared, "--fail-on-change")
        assert len(result.out.splitlines()) == len(contents(declared / "manifests"))

    def test_errors_write_nothing(self, rendered: Path) -> None:
        before = contents(rendered / "manifests")
        write(rendered, {"subpools/a.yaml": subpool("a", 101), "pools/other.yaml": pool("other")})
        result = kubectl_tas("render", "-C", rendered)
        assert (result.code, result.out) == (1, "")
        assert "subpools/a.yaml:7:10: error: " in result.err
        assert contents(rendered / "manifests") == before

    def test_strict_refuses_warnings(self, declared: Path) -> None:
        tasks = "[{name: t, image: i}, {name: u, image: i}]"
        asks = f"workflow: {{name: w, pool: team--a, tasks: {tasks}}}\nresources: {{default: {{gpu: 16}}}}\n"
        warns = f"{CONFIG}spec: {{rules: {{quota-shared: warning}}}}\n"
        write(declared, {"workflows/w.yaml": asks, "tas.yaml": warns})
        assert kubectl_tas("render", "-C", declared, "--strict").code == 1
        assert not (declared / "manifests").exists()
        assert kubectl_tas("render", "-C", declared).code == 0

    def test_another_output_folder(self, declared: Path) -> None:
        write(declared, {"tas.yaml": f"{CONFIG}spec: {{output: deploy/kai}}\n"})
        assert kubectl_tas("render", "-C", declared).code == 0
        assert (declared / "deploy/kai/kustomization.yaml").is_file()
        assert not (declared / "manifests").exists()


class TestRemoving:
    def test_what_nothing_produces_any_more(self, rendered: Path) -> None:
        (rendered / "subpools/a.yaml").unlink()
        result = kubectl_tas("render", "-C", rendered)
        assert sorted(result.out.splitlines()) == [
            f"removed {QUEUE}",
            "wrote manifests/kustomization.yaml",
            f"wrote {QUEUE.replace('--a', '--shared')}",
        ]
        assert re.fullmatch(r"Rendered \d+ objects to manifests: 2 written, 1 removed, \d+ unchanged\.\n", result.err)
        assert not (rendered / QUEUE).exists()

    def test_folders_that_become_empty(self, rendered: Path) -> None:
        old = f"{MARK}pools/gone.yaml; edit that.\nkind: Queue\n"
        write(rendered, {"manifests/workflows/gone/pod-x.yaml": old})
        assert kubectl_tas("render", "-C", rendered).out == "removed manifests/workflows/gone/pod-x.yaml\n"
        assert not (rendered / "manifests/workflows").exists()

    @pytest.mark.parametrize("name", ["manifests/README.md", "manifests/queues/own.yaml", "manifests/.git/x.yaml"])
    def test_files_of_others_stay(self, rendered: Path, name: str) -> None:
        write(rendered, {name: "mine\n"})
        result = kubectl_tas("render", "-C", rendered)
        assert (result.code, result.out) == (0, "")
        assert (rendered / name).read_text() == "mine\n"

    def test_files_of_others_that_speak_of_us_stay(self, rendered: Path) -> None:
        write(rendered, {"manifests/own.yaml": f"# Not this:\n{MARK}nothing\n"})
        assert kubectl_tas("render", "-C", rendered).out == ""

    def test_leftovers_of_a_killed_run(self, rendered: Path) -> None:
        leftover = "manifests/queues/.0123456789abcdef.kubectl-tas.tmp"
        write(rendered, {leftover: MARK})
        assert kubectl_tas("check", "-C", rendered).code == 0
        assert kubectl_tas("render", "-C", rendered).out == f"removed {leftover}\n"
        assert not (rendered / leftover).exists()

    def test_links_are_never_followed(self, rendered: Path, tmp_path: Path) -> None:
        foreign = write(tmp_path / "elsewhere", {"x.yaml": f"{MARK}x\n"})
        (rendered / "manifests/link").symlink_to(foreign)
        (rendered / "manifests/link.yaml").symlink_to(foreign / "x.yaml")
        assert kubectl_tas("render", "-C", rendered).out == ""
        assert (foreign / "x.yaml").exists()
        assert (rendered / "manifests/link.yaml").is_symlink()


class TestRefusals:
    def refused(self, root: Path, message: str) -> None:
        before = contents(root)
        for command in ("render", "check"):
            result = kubectl_tas(command, "-C", root)
            assert (result.code, result.out) == (3, "")
            assert result.err.startswith(f"error: {message}")
        assert contents(root) == before

    def test_foreign_file_in_the_way(self, declared: Path) -> None:
        write(declared, {QUEUE: "kind: Queue\n"})
        self.refused(declared, f"{QUEUE} is in the way: kubectl-tas did not write it\n")

    def test_binary_file_in_the_way(self, declared: Path) -> None:
        (declared / QUEUE).parent.mkdir(parents=True)
        (declared / QUEUE).write_bytes(b"\xff\x00")
        result = kubectl_tas("render", "-C", declared)
        assert result.code == 3
        assert (declared / QUEUE).read_bytes() == b"\xff\x00"

    def test_folder_in_the_way(self, declared: Path) -> None:
        (declared / QUEUE).mkdir(parents=True)
        self.refused(declared, f"{QUEUE} is in the way")

    def test_file_where_a_folder_must_be(self, declared: Path) -> None:
        write(declared, {"manifests/queues": "mine\n"})
        self.refused(declared, "manifests/queues is in the way")

    def test_pipe_in_the_way(self, declared: Path) -> None:
        (declared / QUEUE).parent.mkdir(parents=True)
        os.mkfifo(declared / QUEUE)
        self.refused(declared, f"{QUEUE} is in the way")

    def test_link_in_the_way(self, declared: Path, tmp_path: Path) -> None:
        (tmp_path / "elsewhere").mkdir()
        (declared / "manifests").mkdir()
        (declared / "manifests/queues").symlink_to(tmp_path / "elsewhere")
        self.refused(declared, "manifests/queues is in the way")
        assert not list((tmp_path / "elsewhere").iterdir())

    def test_output_leads_out_of_the_repository(self, declared: Path, tmp_path: Path) -> None:
        (tmp_path / "elsewhere").mkdir()
        (declared / "manifests").symlink_to(tmp_path / "elsewhere")
        self.refused(declared, "the output folder manifests leads out of the repository\n")
        assert not list((tmp_path / "elsewhere").iterdir())

    def test_output_is_a_file(self, declared: Path) -> None:
        write(declared, {"manifests": ""})
        self.refused(declared, "the output manifests is a file, not a folder\n")


class TestEmpty:
    @pytest.fixture
    def empty(self, rendered: Path) -> Path:
        """A rendered repository that declares nothing any more."""
        (rendered / "pools/team.yaml").unlink()
        (rendered / "subpools/a.yaml").unlink()
        return rendered

    @pytest.mark.parametrize("output", [(), ("--to", "-")])
    def test_is_refused(self, empty: Path, output: tuple[str, ...]) -> None:
        result = kubectl_tas("render", "-C", empty, *output)
        assert (result.code, result.out) == (3, "")
        assert result.err == (
            f"error: nothing to render: {empty} declares no pool, topology, workflow, workload or PodGroup\n"
            "  = help: Run `kubectl tas init`, name the repository with -C, or pass --allow-empty to remove all "
            "manifests.\n"
        )
        assert (empty / QUEUE).exists()

    def test_allow_empty_removes_everything(self, empty: Path) -> None:
        assert kubectl_tas("render", "-C", empty, "--allow-empty").code == 0
        assert not (empty / "manifests").exists()

    def test_allow_empty_without_any_file(self, empty: Path) -> None:
        (empty / "tas.yaml").unlink()
        assert kubectl_tas("render", "-C", empty, "--allow-empty").code == 0
        assert not (empty / "manifests").exists()

    def test_allow_empty_stream(self, empty: Path) -> None:
        result = kubectl_tas("render", "-C", empty, "--allow-empty", "--to", "-")
        assert (result.code, result.out) == (0, "")

    def test_check_shows_what_would_go(self, empty: Path) -> None:
        result = kubectl_tas("check", "-C", empty)
        assert result.code == 1
        assert f"--- a/{QUEUE}\n+++ /dev/null\n" in result.out
        assert "[nothing-declared]" in result.err
        found = json.loads(kubectl_tas("check", "-C", empty, "-o", "json").out)["diagnostics"]
        assert {item["rule"] for item in found} == {"nothing-declared", "manifests-stale"}


class TestBackends:
    @pytest.fixture
    def two(self, repository: Path) -> Path:
        """Two backends with a pool each."""
        pools = {f"pools/{name}.yaml": pool(name, spec=f"  backend: {name}\n") for name in ("east", "west")}
        return write(repository, {"tas.yaml": TWO_BACKENDS, **pools})

    def test_a_folder_each(self, two: Path) -> None:
        assert kubectl_tas("render", "-C", two).code == 0
        assert sorted(path.name for path in (two / "manifests").iterdir()) == ["east", "west"]
        for name in ("east", "west"):
            listed = documents((two / f"manifests/{name}/kustomization.yaml").read_text())[0]["resources"]
            assert f"queues/osmo-pool-default-{name}.yaml" in listed
            found = {path.relative_to(two / f"manifests/{name}").as_posix() for path in two.rglob(f"{name}/*/*.yaml")}
            assert set(listed) == found

    def test_from_one_to_two(self, repository: Path) -> None:
        write(repository, {"tas.yaml": CONFIG, "pools/team.yaml": pool()})
        kubectl_tas("render", "-C", repository)
        write(repository, {"tas.yaml": TWO_BACKENDS, "pools/team.yaml": pool(spec="  backend: west\n")})
        assert kubectl_tas("render", "-C", repository).code == 0
        assert sorted(path.name for path in (repository / "manifests").iterdir()) == ["east", "west"]

    def test_stream_needs_one(self, two: Path) -> None:
        result = kubectl_tas("render", "-C", two, "--to", "-")
        assert (result.code, result.out) == (2, "")
        assert result.err.endswith("\nError: there are several backends; name one with --backend: east, west\n")

    def test_stream_of_one(self, two: Path) -> None:
        names = [item["metadata"]["name"] for item in documents(self.stream(two, "west"))]
        assert "osmo-pool-default-west" in names
        assert "osmo-pool-default-east" not in names

    def test_streams_are_the_files(self, two: Path) -> None:
        kubectl_tas("render", "-C", two)
        resources = documents((two / "manifests/east/kustomization.yaml").read_text())[0]["resources"]
        files = [documents((two / "manifests/east" / name).read_text())[0] for name in resources]
        assert documents(self.stream(two, "east")) == files

    def test_unknown(self, two: Path) -> None:
        result = kubectl_tas("render", "-C", two, "--to", "-", "--backend", "north")
        assert result.code == 2
        assert 'no backend "north"; there is east, west' in result.err

    def stream(self, root: Path, backend: str) -> str:
        result = kubectl_tas("render", "-C", root, "--to", "-", "--backend", backend)
        assert (result.code, result.err) == (0, "")
        return result.out


class TestCheck:
    def test_up_to_date(self, rendered: Path) -> None:
        result = kubectl_tas("check", "-C", rendered)
        count = sum(path.is_file() for path in (rendered / "manifests").rglob("*"))
        assert (result.code, result.out, result.err) == (0, "", f"manifests/ is up to date: {count} files.\n")
        assert kubectl_tas("check", "-C", rendered, "-o", "github").err == ""

    def test_diff(self, rendered: Path, snapshot: Any) -> None:
        write(rendered, {"subpools/a.yaml": subpool("a", 25), "subpools/b.yaml": subpool("b", 5)})
        write(rendered, {"manifests/queues/old.yaml": f"{MARK}subpools/old.yaml\nkind: Queue"})
        before = contents(rendered)
        result = kubectl_tas("check", "-C", rendered)
        assert result.code == 1
        assert result.err == "The manifests are not up to date. Run: kubectl tas render\n"
        assert result.out == snapshot(extension_class=at(GOLDEN / "commands/check-diff/output.diff"))
        assert contents(rendered) == before

    def test_diff_is_a_patch(self, rendered: Path) -> None:
        write(rendered, {"subpools/a.yaml": subpool("a", 25), "subpools/b.yaml": subpool("b", 5)})
        (rendered / "check.patch").write_text(kubectl_tas("check", "-C", rendered).out)
        patched = call("git", "apply", "check.patch", cwd=rendered)
        assert (patched.code, patched.err) == (0, "")
        assert kubectl_tas("check", "-C", rendered).code == 0

    def test_errors(self, rendered: Path) -> None:
        write(rendered, {"subpools/a.yaml": subpool("a", 101)})
        result = kubectl_tas("check", "-C", rendered)
        assert (result.code, result.out) == (1, "")
        assert "subpools/a.yaml:7:10: error: " in result.err

    def test_line_endings_of_another_system(self, rendered: Path) -> None:
        """Git may write them into a working copy; what it keeps is the same."""
        path = rendered / QUEUE
        path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))
        assert kubectl_tas("check", "-C", rendered).code == 0
        assert kubectl_tas("render", "-C", rendered).out == ""


@pytest.mark.sweep
@pytest.mark.parametrize("settings", ["gitops: argocd", "layout: sharded"])
def test_killed_at_any_moment(rendered: Path, tmp_path: Path, settings: str) -> None:
    """However a run ends, every file is the old one or the new one, and the next run mends the rest."""
    after = tmp_path / "after"
    sources = {"tas.yaml": f"{CONFIG}spec: {{{settings}}}\n", "subpools/b.yaml": subpool("b", 7)}
    write(after, {"tas.yaml": CONFIG, "pools/team.yaml": pool(), **sources})
    result = call(sys.executable, "-m", "tests.support.killed", rendered, after, cwd=tmp_path)
    assert (result.code, result.err) == (0, "")
    assert int(result.out) > 15


def test_no_two_objects_share_a_file(repository: Path) -> None:
    """Namespace a-b and name c join to what namespace a and name b-c join to."""
    places = [("a-b", "c"), ("a", "b-c"), ("a", "d")]
    documents = [
        f"apiVersion: scheduling.run.ai/v2alpha2\nkind: PodGroup\nmetadata: {{name: {name}, namespace: {namespace}}}\n"
        "spec: {queue: elsewhere, minMember: 1}\n"
        for namespace, name in places
    ]
    write(repository, {"workflows/groups.yaml": "---\n".join(documents)})
    assert kubectl_tas("render", "-C", repository).code == 0
    files = sorted((repository / "manifests/workflows").iterdir())
    found = {(item["metadata"]["namespace"], item["metadata"]["name"]) for item in map(load, files)}
    assert found == set(places)
    assert "podgroup-a-d.yaml" in {file.name for file in files}
    listed = load(repository / "manifests/kustomization.yaml")["resources"]
    assert len(set(listed)) == len(listed)
    assert {f"workflows/{file.name}" for file in files} <= set(listed)


def load(path: Path) -> Any:
    """The document in a file."""
    return safe_load(path.read_text())
