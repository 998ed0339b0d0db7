"""Tests repositories that try to make the tool write, remove or read files elsewhere."""

from __future__ import annotations

import contextlib
import json
import os
import socket
import stat
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from kubectl_tas.base.diagnostics import TasError
from kubectl_tas.emit import disk
from kubectl_tas.emit.create_only import WRITTEN, standing, write_new, write_schemas
from kubectl_tas.emit.disk import MARK, TEMPORARY, Disk
from kubectl_tas.emit.file_plan import apply_plan, folder_of, plan, stale
from kubectl_tas.load import source
from tests.support.cli import Result, kubectl_tas, pool, subpool, write
from tests.support.history import commit
from tests.support.process import SCRIPTS, call

CONFIG = "apiVersion: tas/v1alpha1\nkind: Config\n"
QUEUE = "manifests/queues/osmo-pool-default-team--a.yaml"
SECRET = "do not touch\n"
WORKFLOW = "workflow: {name: train, pool: team--a, tasks: [{name: t, image: i}]}\n"
LEFTOVER = f".0123456789abcdef{TEMPORARY}"


@pytest.fixture(params=[True, False], ids=["descriptors", "paths"])
def ways(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Both ways to reach a folder: by descriptors, and as where the system has none."""
    if not request.param:
        monkeypatch.setattr(disk, "_BY_DESCRIPTOR", False)


@pytest.fixture
def team(repository: Path) -> Path:
    """A pool with a subpool and a workflow."""
    write(repository, {"tas.yaml": CONFIG, "pools/team.yaml": pool(), "subpools/a.yaml": subpool("a", 30)})
    return write(repository, {"workflows/train.yaml": WORKFLOW})


@pytest.fixture
def rendered(team: Path) -> Path:
    assert kubectl_tas("render", "-C", team).code == 0
    return team


@pytest.fixture
def outside(tmp_path: Path) -> Iterator[Path]:
    """A folder beside the repository, in which nothing must ever change."""
    folder = write(tmp_path / "outside", {"secret.yaml": SECRET, "mine.yaml": f"{MARK}mine\n"})
    before = content(folder)
    yield folder
    assert content(folder) == before


def content(root: Path) -> dict[str, bytes | str]:
    """Every file and link below ``root``."""
    found: dict[str, bytes | str] = {}
    for path in root.rglob("*"):
        if path.is_symlink():
            found[str(path.relative_to(root))] = str(path.readlink())
        elif path.is_file():
            found[str(path.relative_to(root))] = path.read_bytes()
    return found


def refused(result: Result, message: str) -> None:
    """The tool could not do its work, and says why; exit code 3."""
    assert message in result.err
    assert (result.code, result.err.startswith("error: "), "Traceback" in result.err) == (3, True, False)


def unread(result: Result, message: str) -> None:
    """The tool cannot read a document on which the edit depends, and refuses it; exit code 1."""
    assert message in result.err
    assert (result.code, "\nNothing was written: " in result.err, "Traceback" in result.err) == (1, True, False)


def create(root: Path, *arguments: str) -> Result:
    return kubectl_tas("subpool", "create", "team", "b", "--quota", "5", *arguments, "-C", root)


@pytest.mark.usefixtures("ways")
class TestTemporaryNames:
    def test_one_that_is_planted_is_not_followed(
        self, team: Path, outside: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Even if somebody knew the name."""
        monkeypatch.setattr(disk.os, "urandom", lambda count: bytes(count))
        for folder in ("manifests", "manifests/queues", "subpools"):
            (team / folder).mkdir(parents=True, exist_ok=True)
            (team / folder / f".{'00' * 8}{TEMPORARY}").symlink_to(outside / "secret.yaml")
        refused(kubectl_tas("render", "-C", team), "File exists")
        refused(create(team), "cannot write subpools/team--b.yaml: File exists")

    def test_they_cannot_be_guessed(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        seen = set()

        def look(temporary: str, path: str, **folders: int) -> None:
            seen.add(temporary)
            real(temporary, path, **folders)

        real = os.replace
        monkeypatch.setattr(disk.os, "replace", look)
        with Disk(tmp_path) as files:
            for number in range(50):
                files.replace(f"{'ä' * 127}{number % 2}", b"")
        assert len({name.rpartition("/")[2] for name in seen}) == 50
        assert str(os.getpid()) not in {name.split(".")[1] for name in seen}

    def test_leftovers_are_removed(self, rendered: Path) -> None:
        write(rendered, {f"manifests/queues/{LEFTOVER}": "half", f"subpools/{LEFTOVER}": "half"})
        assert kubectl_tas("check", "-C", rendered).code == 0
        assert kubectl_tas("render", "-C", rendered).out == f"removed manifests/queues/{LEFTOVER}\n"
        assert create(rendered).code == 0
        assert not list(rendered.rglob(f"*{TEMPORARY}"))

    @pytest.mark.parametrize("name", [f"notes{TEMPORARY}", TEMPORARY, f".queue.yaml.77{TEMPORARY}", f"{LEFTOVER}.txt"])
    def test_what_only_ends_like_one_stays(self, rendered: Path, name: str) -> None:
        write(rendered, {f"manifests/queues/{name}": "mine", f"subpools/{name}": "mine"})
        assert kubectl_tas("render", "-C", rendered).out == ""
        assert create(rendered).code == 0
        assert [(rendered / folder / name).read_text() for folder in ("manifests/queues", "subpools")] == ["mine"] * 2

    def test_links_and_folders_with_the_name_of_one_stay(self, rendered: Path, outside: Path) -> None:
        (rendered / "subpools" / LEFTOVER).symlink_to(outside / "secret.yaml")
        write(rendered, {f"manifests/queues/{LEFTOVER}/x": "mine"})
        (rendered / "manifests" / LEFTOVER).symlink_to(outside)
        before = content(rendered)
        assert kubectl_tas("render", "-C", rendered).code == 0
        assert kubectl_tas("subpool", "update", "team", "a", "--quota", "30", "-C", rendered).code == 0
        assert content(rendered) == before


@pytest.mark.usefixtures("ways")
class TestLinksOnTheWay:
    """A link that comes between the look and the writing."""

    @pytest.mark.parametrize("folder", ["manifests", "manifests/queues", "manifests/workflows/train"])
    def test_writing(self, team: Path, outside: Path, folder: str) -> None:
        files = {f"manifests/{name}.yaml": MARK for name in ("queues/q", "workflows/train/p", "kustomization")}
        planned = plan(files, team, "manifests", ["pools"])
        (team / folder).parent.mkdir(parents=True, exist_ok=True)
        (team / folder).symlink_to(outside)
        with pytest.raises(TasError, match=f"{folder} is a link or a file, not a folder"):
            apply_plan(planned, team)

    def test_removing(self, rendered: Path, outside: Path) -> None:
        planned = plan({}, rendered, "manifests", ["pools"])
        (rendered / "manifests/queues").rename(outside.parent / "queues")
        (rendered / "manifests/queues").symlink_to(outside.parent / "queues")
        kept = content(outside.parent / "queues")
        with pytest.raises(TasError, match="manifests/queues is a link or a file, not a folder"):
            apply_plan(planned, rendered)
        assert content(outside.parent / "queues") == kept

    def test_a_link_in_place_of_a_file_is_replaced(self, team: Path, outside: Path) -> None:
        planned = plan({"manifests/secret.yaml": MARK}, team, "manifests", ["pools"])
        (team / "manifests").mkdir()
        (team / "manifests/secret.yaml").symlink_to(outside / "secret.yaml")
        apply_plan(planned, team)
        assert (team / "manifests/secret.yaml").read_text() == MARK
        assert not (team / "manifests/secret.yaml").is_symlink()

    def test_hard_links_are_not_written_through(self, rendered: Path, outside: Path) -> None:
        (rendered / QUEUE).unlink()
        os.link(outside / "mine.yaml", rendered / QUEUE)
        assert kubectl_tas("render", "-C", rendered).code == 0
        assert not (rendered / QUEUE).samefile(outside / "mine.yaml")

    @pytest.mark.parametrize("there", [True, False], ids=["there", "dangling"])
    def test_links_in_the_output_stop_the_run(self, rendered: Path, outside: Path, there: bool) -> None:
        (rendered / QUEUE).unlink()
        (rendered / QUEUE).symlink_to(outside / ("mine.yaml" if there else "nothing.yaml"))
        refused(kubectl_tas("render", "-C", rendered), f"{QUEUE} is in the way")


def pipe(path: Path) -> None:
    os.mkfifo(path)


def listener(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as made, pytest.MonkeyPatch.context() as patch:
        patch.chdir(path.parent)
        made.bind(path.name)


def to_nothing(path: Path) -> None:
    path.symlink_to("../nothing.yaml")


def to_nothing_outside(path: Path) -> None:
    path.symlink_to("../../outside/nothing.yaml")


def to_a_file_outside(path: Path) -> None:
    path.symlink_to("../../outside/secret.yaml")


def to_a_device(path: Path) -> None:
    path.symlink_to("/dev/null")


@pytest.mark.usefixtures("ways", "outside")
class TestEdits:
    @pytest.mark.parametrize("render", [(), ("--render",)], ids=["", "--render"])
    @pytest.mark.parametrize(
        "make",
        [pipe, listener, to_nothing, to_nothing_outside, to_a_file_outside, to_a_device],
        ids=lambda f: f.__name__,
    )
    def test_what_has_the_name_of_a_new_file(
        self, team: Path, make: Callable[[Path], None], render: tuple[str, ...]
    ) -> None:
        make(team / "subpools/team--b.yaml")
        result = create(team, *render)
        unread(result, "subpools/team--b.yaml")
        assert not (team / "manifests").exists()
        assert not (team / "nothing.yaml").exists()

    @pytest.mark.parametrize("render", [(), ("--render",)], ids=["", "--render"])
    def test_the_folder_is_a_link_out(self, team: Path, outside: Path, render: tuple[str, ...]) -> None:
        (team / "subpools").rename(team / "old")
        (team / "subpools").symlink_to(outside)
        unread(create(team, *render), "subpools: error: this symbolic link leads out of the repository")
        assert not (team / "manifests").exists()

    def test_a_folder_above_is_a_link_out(self, team: Path, outside: Path) -> None:
        write(team, {"tas.yaml": f"{CONFIG}spec: {{sources: [pools, all/subpools], adminSources: [pools, all]}}\n"})
        (outside.parent / "subpools").mkdir()
        (team / "all").symlink_to(outside.parent)
        unread(create(team), "all/subpools: error: this symbolic link leads out of the repository")
        assert not list((outside.parent / "subpools").iterdir())

    def test_the_folder_is_git_s_own(self, team: Path) -> None:
        commit(team)
        (team / "subpools").rename(team / "old")
        (team / "subpools").symlink_to(".git/hooks")
        before = content(team / ".git")
        unread(create(team), "subpools: error: this symbolic link leads out of the repository")
        assert content(team / ".git") == before

    def test_a_link_to_a_folder_inside_is_followed(self, team: Path) -> None:
        (team / "subpools").rename(team / "catalogue")
        (team / "subpools").symlink_to("catalogue")
        assert create(team).code == 0
        assert (team / "catalogue/team--b.yaml").is_file()

    def test_another_name_of_the_file_keeps_what_it_says(self, team: Path) -> None:
        os.link(team / "subpools/a.yaml", team / "other")
        assert kubectl_tas("subpool", "update", "team", "a", "--quota", "7", "-C", team).code == 0
        assert (team / "other").read_text() == subpool("a", 30)
        assert (team / "subpools/a.yaml").read_text() == subpool("a", 7)

    def test_chains_of_links_inside_stay(self, team: Path) -> None:
        (team / "subpools/a.yaml").rename(team / "a.txt")
        (team / "b").mkdir()
        (team / "b/link").symlink_to("../a.txt")
        (team / "subpools/a.yaml").symlink_to("../b/link")
        (team / "a.txt").chmod(0o640)
        assert kubectl_tas("subpool", "update", "team", "a", "--quota", "7", "-C", team).code == 0
        assert (team / "a.txt").read_text() == subpool("a", 7)
        assert stat.S_IMODE((team / "a.txt").stat().st_mode) == 0o640
        assert (team / "subpools/a.yaml").is_symlink()
        assert (team / "b/link").is_symlink()

    def test_drain_does_not_follow_a_link_that_comes_meanwhile(
        self, team: Path, outside: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        write(team, {"subpools/a.yaml": subpool("a", 30, state="DELETING"), "workflows/train.yaml": ""})

        def swap(*_: object) -> tuple[()]:
            (team / "subpools").rename(team / "old")
            (team / "subpools").symlink_to(outside)
            return ()

        monkeypatch.setattr("kubectl_tas.cli.editing.new_errors", swap)
        refused(kubectl_tas("subpool", "drain", "--used", "0", "-C", team), "leads out of the repository")


@pytest.mark.usefixtures("ways", "outside")
class TestInit:
    @pytest.mark.parametrize("name", ["tas.yaml", "workflows/train.yaml"])
    @pytest.mark.parametrize("target", ["outside", "outside/nothing", "outside/secret.yaml"])
    def test_links_are_kept(self, repository: Path, outside: Path, name: str, target: str) -> None:
        (repository / name).parent.mkdir(exist_ok=True)
        (repository / name).symlink_to(repository.parent / target)
        before = content(outside)
        assert f"kept {repository}/{name}, which is there already\n" in kubectl_tas("init", repository).out
        assert content(repository)[name] == str(repository.parent / target)
        assert content(outside) == before

    @pytest.mark.parametrize("name", ["pools", ".github"])
    @pytest.mark.parametrize("target", ["outside", "outside/nothing", "outside/secret.yaml"])
    def test_links_are_in_the_way(self, repository: Path, name: str, target: str) -> None:
        (repository / name).parent.mkdir(exist_ok=True)
        (repository / name).symlink_to(repository.parent / target)
        refused(kubectl_tas("init", repository), f"{name} already exists; nothing was written")
        assert content(repository) == {name: str(repository.parent / target)}

    def test_a_link_that_comes_meanwhile(
        self, repository: Path, outside: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(
            "kubectl_tas.emit.create_only._taken", lambda *_: (repository / "subpools").symlink_to(outside)
        )
        refused(kubectl_tas("init", repository), "nothing was written")
        assert content(repository) == {"subpools": str(outside)}


class TestNewFiles:
    """Files that are written once, and never over what is there."""

    def test_all_that_is_there_already_is_named(self, tmp_path: Path) -> None:
        write(tmp_path, {"a": "", "b": ""})
        (tmp_path / "d").symlink_to("nothing")
        files = {"a/c": b"", "b": b"", "d": b"", "e": b""}
        with pytest.raises(TasError, match=r"^a, b, d already exist; nothing was written$"):
            write_new(tmp_path, files)
        with pytest.raises(TasError, match=r"^d already exists; nothing was written$"):
            write_new(tmp_path, {"d": b"", "e": b""})
        assert not (tmp_path / "e").exists()

    def test_what_comes_meanwhile_stays_and_the_rest_is_removed(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("kubectl_tas.emit.create_only._taken", lambda *_: write(tmp_path, {"b/c": "mine"}) and [])
        with pytest.raises(TasError, match=r"cannot write .*/b/c: File exists; nothing was written"):
            write_new(tmp_path, {"a": b"", "b/c": b""})
        assert content(tmp_path) == {"b/c": b"mine"}

    def test_what_cannot_be_read_is_named(self, tmp_path: Path) -> None:
        write(tmp_path, {"a": "x", "b/c": ""})
        assert standing(tmp_path, ["a", "d"]) == {"a": b"x"}
        with pytest.raises(TasError, match=r"cannot read .*/b: .*; nothing was written"):
            standing(tmp_path, ["a", "b"])

    @pytest.mark.parametrize("text", ["[]", "{}", '{"$comment": "mine"}', "no JSON"])
    def test_a_schema_of_others_stays(self, tmp_path: Path, text: str) -> None:
        write(tmp_path, {"pool.json": text, "old.json": json.dumps({"$comment": WRITTEN})})
        with pytest.raises(TasError, match=r"^pool\.json in .* was not written by kubectl-tas"):
            write_schemas(tmp_path, {"pool.json": "{ }", "old.json": "{ }"})
        assert write_schemas(tmp_path, {"old.json": "{ }"}) == ["old.json"]


def test_a_half_written_file_is_no_stale_manifest(tmp_path: Path) -> None:
    write(tmp_path, {f"manifests/{LEFTOVER}": "", "manifests/a.yaml": f"{MARK}a\n"})
    found = stale(plan({}, tmp_path, "manifests", ()), "render")
    assert [(item.location and item.location.path, item.message) for item in found] == [
        ("manifests/a.yaml", "nothing declares this manifest any more")
    ]


@pytest.mark.parametrize(("backends", "folder"), [(["prod"], "m"), (["prod", "lab"], "m/prod"), (["lab"], None)])
def test_the_folder_of_a_backend(backends: list[str], folder: str | None) -> None:
    assert folder_of("prod", backends, "m") == folder


def config(output: str = "manifests", sources: str = "") -> str:
    return f"{CONFIG}spec:\n  output: {output}\n" + (f"  sources: {sources}\n" if sources else "")


class TestOutputBySpelling:
    @pytest.mark.parametrize(
        "output",
        [
            ".git",
            ".git/hooks",
            ".GIT",
            "a/.git/x",
            "a/.Git",
            "git~1",
            "GIT~2/hooks",
            "'.git.'",
            "'.git '",
            ".git::$INDEX_ALLOCATION",
            "./.git//hooks/",
            ".",
            "./",
            "..",
            "workflows/..",
            "../repository",
            "/tmp/manifests",
            "//tmp",
            "a\\b",
            '"a\\tb"',
            '"a\\u200bb"',
            '""',
            '"~"',
            "~/manifests",
            '"C:"',
            "c:/manifests",
            "a" * 300,
            f"x/{'ä' * 128}",
            "/".join(["abc"] * 300),
            "pools",
            "./workflows/",
            "pools//",
        ],
    )
    def test_is_a_finding_at_its_place(self, team: Path, output: str) -> None:
        write(team, {"tas.yaml": config(output)})
        before = content(team)
        for command in ("validate", "render", "check"):
            result = kubectl_tas(command, "-C", team)
            assert (result.code, "Traceback" in result.err) == (1, False)
            assert "tas.yaml:4:11: error: " in result.out + result.err
        assert content(team) == before

    @pytest.mark.parametrize("folder", [".git", "x/.GIT", "~", "C:x", "a" * 300, "..", "pools/../workflows"])
    def test_so_is_a_folder_that_is_read(self, team: Path, folder: str) -> None:
        write(team, {"tas.yaml": config(sources=f"[pools, {folder}]")})
        result = kubectl_tas("validate", "-C", team)
        assert result.code == 1
        assert "tas.yaml:5:20: error: " in result.out

    @pytest.mark.parametrize("sources", ["[manifests]", "[pools, manifests/queues]", "[./manifests/]"])
    def test_so_is_the_output_among_what_is_read(self, team: Path, sources: str) -> None:
        write(team, {"tas.yaml": config(sources=sources), "manifests/queues/q.yaml": ""})
        result = kubectl_tas("validate", "-C", team)
        assert "[output-in-sources]" in result.out
        assert kubectl_tas("render", "-C", team).code == 1

    @pytest.mark.parametrize("output", ["./manifests", "manifests/", "./manifests//", "manifests/./", '"manifests"'])
    def test_spellings_of_one_folder(self, rendered: Path, output: str) -> None:
        write(rendered, {"tas.yaml": config(output)})
        result = kubectl_tas("render", "-C", rendered)
        assert (result.code, result.out) == (0, "")
        assert " objects to manifests: 0 written, 0 removed, " in result.err
        assert kubectl_tas("check", "-C", rendered).out == ""

    def test_a_deeper_one_is_spelled_anew_everywhere(self, team: Path) -> None:
        write(team, {"tas.yaml": config(".//a/./b/")})
        result = kubectl_tas("render", "-C", team)
        assert "wrote a/b/kustomization.yaml\n" in result.out
        assert kubectl_tas("render", "--fail-on-change", "-C", team).code == 0

    @pytest.mark.parametrize("sources", ["[.]", "[pools, subpools, ./workflows/]"])
    def test_an_output_within_what_is_read_is_never_read(self, team: Path, sources: str) -> None:
        write(team, {"tas.yaml": config("./workflows//out/", sources)})
        for _ in range(2):
            assert kubectl_tas("render", "-C", team).code == 0
            assert kubectl_tas("check", "-C", team).code == 0
        assert (team / "workflows/out/kustomization.yaml").is_file()

    @pytest.mark.parametrize(
        "output", ["gitops", "m.anifests", "git", "x.git", "a.git~1", "a" * 255, "~a/b".lstrip("~")]
    )
    def test_names_that_only_look_alike(self, team: Path, output: str) -> None:
        write(team, {"tas.yaml": config(output)})
        assert kubectl_tas("render", "-C", team).code == 0
        assert (team / output / "kustomization.yaml").is_file()


@pytest.mark.usefixtures("outside")
class TestOutputByWhatItIs:
    @pytest.mark.parametrize(
        ("target", "message"),
        [
            ("pools", "is, or contains, the folder pools that is read"),
            ("all", "is, or contains, the folder workflows that is read"),
            (".", "is the repository itself"),
            ("pools/..", "is the repository itself"),
            ("..", "leads out of the repository"),
            ("../outside", "leads out of the repository"),
            ("../outside/nothing", "leads out of the repository"),
            (".git", "lies in the folder of git itself"),
            (".git/hooks", "lies in the folder of git itself"),
            ("bare/hooks", "lies in the folder of git itself"),
        ],
    )
    def test_a_link_is_what_it_leads_to(self, team: Path, target: str, message: str) -> None:
        commit(team)
        (team / "workflows").rename(team / "elsewhere")
        (team / "all").mkdir()
        (team / "elsewhere").rename(team / "all/workflows")
        (team / "workflows").symlink_to("all/workflows")
        call("git", "init", "--quiet", "--bare", str(team / "bare"))
        (team / "manifests").symlink_to(target)
        before = content(team)
        for command in ("validate", "render", "check"):
            result = kubectl_tas(command, "-C", team)
            refused(result, f"the output folder manifests {message}")
        refused(kubectl_tas("render", "--allow-empty", "-C", team), message)
        refused(kubectl_tas("subpool", "update", "team", "a", "--quota", "7", "--render", "-C", team), message)
        assert content(team) == before

    def test_a_link_above_counts_too(self, team: Path) -> None:
        write(team, {"tas.yaml": config("deploy/hooks")})
        commit(team)
        (team / "deploy").symlink_to(".git")
        refused(kubectl_tas("render", "-C", team), "lies in the folder of git itself")
        assert not (team / ".git/hooks/kustomization.yaml").exists()

    @pytest.mark.parametrize("missing", ["HEAD", "objects", "refs"])
    def test_a_folder_that_git_takes_for_no_repository(self, team: Path, missing: str) -> None:
        """Without one of the three, git reads no configuration there."""
        write(team, {"tas.yaml": config("storage")})
        for name in {"HEAD", "objects", "refs"} - {missing}:
            write(team, {f"storage/{name}/kept.txt": ""})
        assert kubectl_tas("render", "-C", team).code == 0
        assert (team / "storage/kustomization.yaml").is_file()

    def test_where_git_keeps_itself_under_another_name(self, team: Path) -> None:
        write(team, {"tas.yaml": config("storage")})
        call("git", "init", "--quiet", "--separate-git-dir", str(team / "storage"), str(team))
        refused(kubectl_tas("render", "-C", team), "the output folder storage lies in the folder of git itself")

    def test_a_link_to_another_folder_inside_is_followed(self, team: Path) -> None:
        (team / "manifests").symlink_to("deploy/kai")
        assert kubectl_tas("render", "-C", team).code == 0
        assert (team / "deploy/kai/kustomization.yaml").is_file()
        assert (team / "manifests").is_symlink()
        assert kubectl_tas("check", "-C", team).code == 0
        (team / "subpools/a.yaml").write_text(subpool("c", 30))
        (team / "workflows/train.yaml").write_text("")
        assert f"removed {QUEUE}\n" in kubectl_tas("render", "-C", team).out
        assert not (team / QUEUE).exists()

    def test_what_was_written_is_not_read_through_a_link(self, rendered: Path) -> None:
        (rendered / "workflows/again").symlink_to("../manifests/workflows")
        result = kubectl_tas("validate", "-C", rendered)
        assert "workflows/again: error: this symbolic link leads to what kubectl-tas writes" in result.out

    def test_an_output_that_is_a_link_into_what_is_read_is_not_read(self, team: Path) -> None:
        (team / "manifests").symlink_to("workflows/out")
        for _ in range(2):
            assert kubectl_tas("render", "-C", team).code == 0
        assert kubectl_tas("check", "-C", team).code == 0

    def test_git_s_own_files_are_not_read_through_a_link(self, team: Path) -> None:
        """They hold credentials, and a finding shows the line."""
        commit(team)
        (team / "pools/x.yaml").symlink_to("../.git/config")
        result = kubectl_tas("validate", "-C", team)
        assert "pools/x.yaml: error: this symbolic link leads out of the repository" in result.out
        assert "repositoryformatversion" not in result.out


class TestNames:
    @pytest.mark.parametrize("what", ["name", "namespace"])
    def test_of_a_backend(self, team: Path, what: str) -> None:
        other = "namespace" if what == "name" else "name"
        backends = f"  backends:\n  - {what}: {'b' * 300}\n    {other}: b\n  - name: c\n"
        write(team, {"tas.yaml": f"{config()}{backends}"})
        result = kubectl_tas("validate", "-C", team)
        assert result.code == 1
        assert "tas.yaml:6:" in result.out

    @pytest.mark.parametrize("name", ["w", "p"])
    def test_of_a_pool_or_workflow_of_300_characters(self, team: Path, name: str) -> None:
        """What validate passes, render writes."""
        long = name * 300
        files = {"w": {"workflows/w.yaml": WORKFLOW.replace("train", long)}, "p": {"pools/p.yaml": pool(long, 1)}}
        write(team, files[name])
        assert kubectl_tas("validate", "-C", team).code == kubectl_tas("render", "-C", team).code


class TestMissing:
    @pytest.mark.parametrize("command", [("render",), ("render", "--fail-on-change")], ids=" ".join)
    @pytest.mark.parametrize(
        ("gone", "named"),
        [
            (["workflows"], "workflows is"),
            (["subpools", "workflows"], "subpools and workflows are"),
            (["tas.yaml"], "tas.yaml is"),
        ],
        ids=lambda value: "".join(value),
    )
    def test_manifests_are_kept(self, rendered: Path, gone: list[str], named: str, command: tuple[str, ...]) -> None:
        if "tas.yaml" in gone:
            write(rendered, {"tas.yaml": config(sources="[pools, subpools, jobs]")})
            (rendered / "workflows").rename(rendered / "jobs")
            assert kubectl_tas("render", "-C", rendered).code == 0
        for name in gone:
            (rendered / name).rename(rendered.parent / name)
        before = content(rendered)
        result = call(SCRIPTS / "kubectl-tas", *command, "-C", rendered)
        lost = f"{named} not there, and manifests from there would be removed"
        refused(result, lost)
        assert f"error: {lost}\n  = help: Restore it, or pass --allow-empty to remove them.\n" in result.err
        assert content(rendered) == before
        shown = kubectl_tas("check", "-C", rendered)
        assert shown.code == 1
        assert f"\nBut {lost}; render does that only with --allow-empty.\n" in f"\n{shown.err}"
        assert kubectl_tas("render", "--allow-empty", "-C", rendered).code == 0
        assert not (rendered / "manifests/workflows").exists()

    def test_a_folder_that_the_config_names(self, rendered: Path) -> None:
        write(rendered, {"tas.yaml": config(sources="[pools, subpools, workflows]")})
        (rendered / "workflows").rename(rendered / "away")
        for arguments in ((), ("--allow-empty",)):
            result = kubectl_tas("render", *arguments, "-C", rendered)
            assert result.code == 1
            assert "[source-missing]" in result.err
        assert (rendered / "manifests/workflows").exists()

    def test_all_folders_where_the_settings_declare_something(self, rendered: Path) -> None:
        write(rendered, {"tas.yaml": f"{CONFIG}---\n{pool('other')}"})
        for name in ("pools", "subpools", "workflows"):
            (rendered / name).rename(rendered.parent / name)
        refused(kubectl_tas("render", "-C", rendered), "pools and subpools and workflows are not there")

    def test_an_edit_that_renders(self, rendered: Path) -> None:
        (rendered / "workflows").rename(rendered / "away")
        result = kubectl_tas("subpool", "update", "team", "a", "--quota", "7", "--render", "-C", rendered)
        refused(
            Result(result.code, "", result.err), "workflows is not there, and manifests from there would be removed"
        )
        assert (rendered / "manifests/workflows").exists()

    def test_a_folder_from_which_nothing_came(self, rendered: Path) -> None:
        """Most repositories lack one of the folders, and what was elsewhere may go."""
        (rendered / "workflows/train.yaml").unlink()
        assert kubectl_tas("render", "-C", rendered).code == 0
        assert not (rendered / "manifests/workflows").exists()
        assert not (rendered / "topologies").exists()

    def test_a_file_that_was_removed_on_purpose(self, rendered: Path) -> None:
        (rendered / "workflows").rename(rendered / "jobs")
        write(rendered, {"tas.yaml": config(sources="[pools, subpools]")})
        assert kubectl_tas("render", "-C", rendered).code == 0
        assert not (rendered / "manifests/workflows").exists()


class TestVanishing:
    """Something is removed after it was listed, as when git checks out another branch meanwhile."""

    def vanish(self, monkeypatch: pytest.MonkeyPatch, listed: Path, gone: Path) -> None:
        real = os.scandir

        class Listed(list[os.DirEntry[str]]):
            def __enter__(self) -> Listed:
                return self

            def __exit__(self, *_: object) -> None:
                gone.rename(gone.with_name("gone"))

        monkeypatch.setattr(
            source.os,
            "scandir",
            lambda path: Listed(real(path)) if Path(path) == listed and gone.exists() else real(path),
        )

    @pytest.mark.parametrize("command", ["validate", "render", "check"])
    def test_a_file(self, rendered: Path, monkeypatch: pytest.MonkeyPatch, command: str) -> None:
        before = content(rendered / "manifests")
        self.vanish(monkeypatch, rendered / "workflows", rendered / "workflows/train.yaml")
        result = kubectl_tas(command, "-C", rendered)
        refused(result, "workflows/train.yaml vanished while it was read")
        assert "= help: Run again when nothing changes the files any more.\n" in result.err
        assert content(rendered / "manifests") == before

    def test_a_folder(self, rendered: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        (rendered / "workflows/deep").mkdir()
        (rendered / "workflows/train.yaml").rename(rendered / "workflows/deep/train.yaml")
        self.vanish(monkeypatch, rendered / "workflows", rendered / "workflows/deep")
        refused(kubectl_tas("render", "-C", rendered), "workflows/deep vanished while it was read")

    def test_a_folder_that_was_there_a_moment_ago(self, rendered: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.vanish(monkeypatch, rendered / "pools", rendered / "workflows")
        refused(kubectl_tas("render", "-C", rendered), "workflows vanished while it was read")

    def test_a_manifest(self, rendered: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        real = Disk.read
        monkeypatch.setattr(Disk, "read", lambda self, path: None if path == QUEUE else real(self, path))
        refused(kubectl_tas("check", "-C", rendered), f"{QUEUE} vanished while it was read")


@contextlib.contextmanager
def nested(folder: Path, depth: int) -> Iterator[None]:
    """So many folders within one another, which are gone afterwards: pytest cannot remove them either."""
    place = os.open(folder, os.O_RDONLY)
    for _ in range(depth):
        os.mkdir("d", dir_fd=place)
        inner = os.open("d", os.O_RDONLY, dir_fd=place)
        os.close(place)
        place = inner
    os.close(place)
    yield
    subprocess.run(["rm", "-r", folder / "d"], check=True)


class TestDepth:
    """Folders that lie within one another more often than a program may call itself."""

    def test_in_the_output(self, rendered: Path, ways: None) -> None:
        with nested(rendered / "manifests", 1200):
            result = kubectl_tas("render", "-C", rendered)
        assert (result.code, result.out) == (3, "")
        assert "error: manifests/d/d/d" in result.err
        assert "lies too deep: at most 64 folders" in result.err
        assert len(result.err) < 300

    def test_in_what_is_read(self, team: Path) -> None:
        with nested(team / "pools", 1200):
            result = kubectl_tas("validate", "-C", team)
        assert (result.code, result.err) == (1, "")
        assert "pools/d/d/d" in result.out
        assert "more than 64 folders within one another [file-not-regular]" in result.out
        assert len(result.out) < 500

    def test_as_deep_as_may_be(self, rendered: Path) -> None:
        with nested(rendered / "manifests", 64), nested(rendered / "pools", 64):
            assert kubectl_tas("validate", "-C", rendered).code == 0
            assert kubectl_tas("render", "-C", rendered).code == 0

    def test_in_the_settings(self, team: Path) -> None:
        write(team, {"tas.yaml": config("/".join("d" * 65))})
        result = kubectl_tas("validate", "-C", team)
        assert (result.code, result.err) == (1, "")
        assert "tas.yaml:" in result.out
        assert "65 folders within one another; at most 64" in result.out
