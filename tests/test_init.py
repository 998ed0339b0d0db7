"""Tests that ``init`` writes a working repository, and keeps existing files."""

from __future__ import annotations

import json
import os
import re
import shlex
from importlib.metadata import PackageNotFoundError
from pathlib import Path
from typing import NoReturn

import pytest
import yaml
from jsonschema.validators import validator_for

from kubectl_tas.base import process
from kubectl_tas.base.diagnostics import TasError
from kubectl_tas.edit import scaffold
from kubectl_tas.emit import disk
from tests.support.cli import kubectl_tas, write
from tests.support.history import commit, git
from tests.support.pyyaml import safe_load, safe_load_all

FILES = {
    ".gitattributes",
    ".github/CODEOWNERS",
    ".github/workflows/manifests.yaml",
    ".pre-commit-config.yaml",
    ".schemas/all.json",
    ".schemas/values.json",
    ".vscode/settings.json",
    "pools/team.yaml",
    "requirements-tas.txt",
    "subpools/team--research.yaml",
    "tas.yaml",
    "workflows/train.yaml",
}

HOST = "https://git.example.com/a"
GITHUB = ".github/workflows/manifests.yaml"
KNOWN = (
    *("--owner", "@acme/gpu-admins"),
    *("--source", f"kubectl-tas @ git+https://git.example.com/kubectl-tas.git@{'0' * 40}"),
)
"""What init would ask for otherwise."""


def files(root: Path) -> dict[str, str]:
    """The text of every file below ``root``."""
    return {path.relative_to(root).as_posix(): path.read_text() for path in root.rglob("*") if path.is_file()}


def test_what_it_writes(repository: Path) -> None:
    result = kubectl_tas("init", *KNOWN, cwd=repository)
    assert result.code == 0
    assert result.out == "".join(f"wrote {name}\n" for name in sorted(FILES))
    assert result.err == "Next: kubectl tas validate && kubectl tas render\n"
    assert files(repository).keys() == FILES


def test_it_works(repository: Path) -> None:
    kubectl_tas("init", cwd=repository)
    validated = kubectl_tas("validate", "--strict", cwd=repository)
    assert (validated.code, validated.out) == (0, "No problems found in 4 files.\n")
    assert kubectl_tas("render", cwd=repository).code == 0
    assert kubectl_tas("check", cwd=repository).code == 0
    assert kubectl_tas("render", "--fail-on-change", cwd=repository).code == 0
    assert kubectl_tas("workflow", "explain", "train", cwd=repository).code == 0


def test_editors_find_the_schemas(repository: Path) -> None:
    """Every schema that the settings or a sample name is there, is the tool's own, and accepts the samples."""
    kubectl_tas("init", cwd=repository)
    settings = json.loads((repository / ".vscode/settings.json").read_text())["yaml.schemas"]
    samples = [name for name in FILES if name.endswith(".yaml") and not name.startswith(".")]
    for name in samples:
        text = (repository / name).read_text()
        (named,) = re.findall(r"^# yaml-language-server: \$schema=(\S+)$", text, re.MULTILINE)
        schema = json.loads(((repository / name).parent / named).read_text())
        validator_for(schema)(schema).validate(safe_load(text))
    for name in settings:
        kind = Path(name).stem
        assert (repository / name).read_text() == kubectl_tas("schema", kind).out
    assert kubectl_tas("schema", "--all", ".schemas", cwd=repository).code == 0
    assert {f".schemas/{path.name}" for path in (repository / ".schemas").iterdir()} > set(settings)


def test_the_hooks_are_those_of_the_project(repository: Path) -> None:
    """The local hooks of the pre-commit file run the same commands as the ones that the project offers."""
    kubectl_tas("init", cwd=repository)
    local = safe_load((repository / ".pre-commit-config.yaml").read_text())["repos"][0]["hooks"]
    offered = safe_load((Path(__file__).parents[1] / ".pre-commit-hooks.yaml").read_text())
    assert [{key: hook[key] for key in hook if key not in ("language", "description")} for hook in offered] == [
        {key: hook[key] for key in hook if key != "language"} for hook in local
    ]


class TestWhere:
    def test_folder_that_is_made(self, tmp_path: Path) -> None:
        result = kubectl_tas("init", "new/place", *KNOWN, cwd=tmp_path)
        assert result.err == "Next: kubectl tas validate -C new/place && kubectl tas render -C new/place\n"
        assert files(tmp_path / "new/place").keys() == FILES

    def test_directory_before_the_command(self, tmp_path: Path) -> None:
        assert kubectl_tas("-C", tmp_path / "a", "init").code == 0
        assert kubectl_tas("-C", tmp_path / "a", "init", "b").code == 0
        assert files(tmp_path / "a/b").keys() == FILES

    def test_name_with_a_space(self, tmp_path: Path) -> None:
        assert "validate -C 'my repository' &&" in kubectl_tas("init", "my repository", cwd=tmp_path).err


class TestInAGitRepository:
    """What CI and pre-commit read at the top alone goes there, and names the folder."""

    @pytest.fixture
    def mono(self, tmp_path: Path) -> Path:
        git(tmp_path, "init", "--quiet", "--initial-branch=trunk")
        git(tmp_path, "remote", "add", "origin", "git@git.example.com:team/mono.git")
        return tmp_path

    @pytest.mark.parametrize("ci", ["github", "gitlab"])
    def test_hooks_and_jobs_are_at_the_top(self, mono: Path, ci: str) -> None:
        result = kubectl_tas("init", "a team/gpus", "--ci", ci, "--gitops", "argocd", cwd=mono)
        assert (result.code, "git knows no remote" in result.err) == (0, False)
        assert kubectl_tas("render", "-C", mono / "a team/gpus").code == 0
        job, name = (GITHUB, "env") if ci == "github" else (".gitlab-ci.yml", "variables")
        told = safe_load((mono / job).read_text())
        where = told if ci == "github" else told["manifests"]
        assert where[name]["KUBECTL_TAS_DIRECTORY"] == "a team/gpus"
        (hooks,) = safe_load((mono / ".pre-commit-config.yaml").read_text())["repos"]
        for hook in hooks["hooks"]:
            program, *words = shlex.split(hook["entry"])
            commit(mono)
            assert (program, kubectl_tas(*words, cwd=mono).code) == ("kubectl-tas", 0)
        source = safe_load((mono / "a team/gpus/argocd/application.yaml").read_text())["spec"]["source"]
        assert (mono / source["path"] / "kustomization.yaml").is_file()
        assert not (mono / "a team/gpus/.pre-commit-config.yaml").exists()

    @pytest.mark.parametrize("layout", ["flat", "sharded"])
    @pytest.mark.parametrize("tool", ["argocd", "flux"])
    @pytest.mark.parametrize("name", ["2026", "1e3", "0x10", "on", "null", "y"])
    def test_a_repository_whose_name_is_no_text_in_yaml(self, mono: Path, name: str, tool: str, layout: str) -> None:
        git(mono, "remote", "set-url", "origin", f"https://git.example.com/team/{name}.git")
        write(mono, {"tas.yaml": f"apiVersion: tas/v1alpha1\nkind: Config\nspec: {{layout: {layout}}}\n"})
        assert kubectl_tas("init", "--gitops", tool, cwd=mono).code == 0
        file = "argocd/application.yaml" if tool == "argocd" else "flux/gpu-pools.yaml"
        items = list(safe_load_all((mono / file).read_text()))
        for item in items:
            spec = item["spec"]
            needed = [*spec.get("dependsOn", ()), *filter(None, [spec.get("sourceRef")])]
            assert {type(found["name"]) for found in (item["metadata"], *needed)} == {str}
        assert items[0]["metadata"]["name"] == name

    def test_places_are_told_from_the_working_folder(self, mono: Path) -> None:
        (mono / "gpus").mkdir()
        assert "wrote ../.pre-commit-config.yaml\n" in kubectl_tas("init", cwd=mono / "gpus").out

    def test_branch(self, mono: Path) -> None:
        """The one that is there, where there is no main."""
        kubectl_tas("init", "--gitops", "argocd", cwd=mono)
        job = yaml.load((mono / GITHUB).read_text(), yaml.BaseLoader)
        assert job["on"]["push"]["branches"] == ["trunk"]
        assert "targetRevision: trunk\n" in (mono / "argocd/application.yaml").read_text()

    @pytest.mark.parametrize(
        ("answers", "url", "branch"),
        [
            ({"remote": HOST, "symbolic-ref origin": "origin/prod", "for-each-ref": "x"}, HOST, "prod"),
            ({"for-each-ref": "x refs/heads/main", "symbolic-ref": "topic"}, scaffold.NO_REMOTE, "main"),
            ({"symbolic-ref": "trunk"}, scaffold.NO_REMOTE, "trunk"),
            ({}, scaffold.NO_REMOTE, "main"),
        ],
    )
    def test_what_git_says_of_a_checkout(
        self, answers: dict[str, str], url: str, branch: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """origin's default branch, else main, else the one that is checked out, if any is."""

        def run(command: list[str]) -> process.Finished:
            _, _, _, verb, *rest = command
            key = f"{verb} origin" if rest[-1:] == ["refs/remotes/origin/HEAD"] else verb
            found = str(tmp_path) if verb == "rev-parse" else answers.get(key, "")
            return process.Finished(0 if found else 1, found.encode(), "")

        monkeypatch.setattr(process, "run", run)
        assert scaffold.checkout_of(tmp_path / "new") == scaffold.Checkout(tmp_path, url, branch)

    def test_without_git(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        def run(_command: list[str]) -> NoReturn:
            raise TasError("cannot run git", hint="Install it.")

        monkeypatch.setattr(process, "run", run)
        assert scaffold.checkout_of(tmp_path) == scaffold.Checkout(tmp_path, scaffold.NO_REMOTE, "main")
        monkeypatch.setattr(scaffold, "distribution", _absent)
        folder = scaffold.resource_root()
        assert scaffold.own_requirement() == ("", f"it comes from {folder}, and there is no git to ask")

    def test_outside_of_git(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(process, "run", lambda _command: process.Finished(128, b"", "not a git repository"))
        assert scaffold.checkout_of(tmp_path) == scaffold.Checkout(tmp_path, scaffold.NO_REMOTE, "main")


@pytest.mark.parametrize(
    ("text", "is_one"),
    [
        *(
            (text, True)
            for text in ("a", "a==1.0", "a>=1", "a~=1", "a!=2", "a<3", "a [b, c.d-e] @ x", "a; python>3", " a ")
        ),
        *((text, True) for text in ("./a", "https://a/b", "a:b", " /a ")),
        *((text, False) for text in ("", " ", "a b", "a 1.0", "a[b", "a/b c", "@a", "a[b]c")),
    ],
)
def test_a_line_that_pip_reads(text: str, is_one: bool) -> None:
    assert scaffold.is_requirement(text) is is_one


@pytest.mark.parametrize(
    ("text", "is_one"),
    [
        *((text, True) for text in ("@user", "@group/team", "@a/b-c/d.e_f", "a.b+c@example.com")),
        *((text, False) for text in ("", "user", "@", "@a/", "@a b", "a@", "a@b c", "@a\n")),
    ],
)
def test_an_owner_that_hosts_of_git_read(text: str, is_one: bool) -> None:
    assert scaffold.is_owner(text) is is_one


@pytest.mark.parametrize(
    ("address", "url"),
    [
        ("git@git.example.com:team/pools.git", "ssh://git@git.example.com/team/pools.git"),
        ("git@git.example.com:/team/pools.git", "git@git.example.com:/team/pools.git"),
        ("https://git.example.com/a", "https://git.example.com/a"),
        ("ssh://git@git.example.com/a", "ssh://git@git.example.com/a"),
    ],
)
def test_a_short_address_of_git_is_a_url(address: str, url: str) -> None:
    assert scaffold.as_url(address) == url


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("https://me:token@git.example.com/a", "https://git.example.com/a"),
        ("http://token@git.example.com:8080/a?b#c", "http://git.example.com:8080/a?b#c"),
        ("https://a@b@git.example.com/a", "https://git.example.com/a"),
        ("https://git.example.com/a@b", "https://git.example.com/a@b"),
        ("ssh://git@git.example.com/a", "ssh://git@git.example.com/a"),
    ],
)
def test_an_address_is_written_without_its_password(url: str, shown: str) -> None:
    assert scaffold.without_secrets(url) == shown


@pytest.mark.parametrize(
    ("url", "name"),
    [
        ("https://git.example.com/Team/GPU_pools.git/", "gpu-pools"),
        ("git@git.example.com:pools", "pools"),
        ("https://git.example.com/---.git", "gpu-pools"),
    ],
)
def test_argo_calls_the_application_as_the_repository(url: str, name: str, tmp_path: Path) -> None:
    checkout = scaffold.Checkout(tmp_path, url, "main")
    files_ = scaffold.Scaffold("none", "argocd", "", ["@a"], checkout).files(tmp_path)
    application = safe_load(files_["argocd/application.yaml"].decode())
    assert application["metadata"]["name"] == name
    assert application["spec"]["source"]["repoURL"] == url


def _absent(name: str) -> NoReturn:
    raise PackageNotFoundError(name)


class TestFilesThatAreThere:
    def test_hooks_without_this_tool(self, repository: Path) -> None:
        write(repository, {".pre-commit-config.yaml": "repos: []\n"})
        assert "Nothing in .pre-commit-config.yaml names kubectl-tas" in kubectl_tas("init", cwd=repository).err
        assert "names kubectl-tas" not in kubectl_tas("init", "other", cwd=repository).err

    def test_all_are_kept(self, repository: Path) -> None:
        assert kubectl_tas("init", repository).code == 0
        before = files(repository)
        result = kubectl_tas("init", cwd=repository)
        own = {name for name in FILES if not name.startswith(("pools/", "subpools/", "workflows/"))}
        assert (result.code, result.out) == (0, "".join(f"kept {n}, which is there already\n" for n in sorted(own)))
        assert files(repository) == before

    @pytest.mark.parametrize("owners", [".github/CODEOWNERS", "docs/CODEOWNERS"])
    def test_options_that_they_leave_without_effect(self, owners: str, repository: Path) -> None:
        write(repository, {"tas.yaml": "mine\n", "requirements-tas.txt": "kubectl-tas==9\n", owners: "/x @acme/a\n"})
        source = f"kubectl-tas @ git+https://git.example.com/kubectl-tas.git@{'1' * 40}"
        said = kubectl_tas("init", "--source", source, "--owner", "@acme/a", "--owner", "@acme/b", cwd=repository).err
        assert f"Ignored --source: requirements-tas.txt is there already. Write {source} into it.\n" in said
        assert f"Ignored --owner: {owners} is there already. Write @acme/b into it.\n" in said
        assert "@acme/a" not in said
        write(repository, {"requirements-tas.txt": f"{source}\n"})
        assert "--source" not in kubectl_tas("init", "--source", source, cwd=repository).err

    def test_repository_of_others_gets_no_example(self, repository: Path) -> None:
        write(repository, {"tas.yaml": "mine\n"})
        result = kubectl_tas("init", cwd=repository)
        assert "kept tas.yaml, which is there already\n" in result.out
        assert files(repository).keys() == {name for name in FILES if "/" not in name or name.startswith(".")}
        assert (repository / "tas.yaml").read_text() == "mine\n"

    def test_settings_that_are_kept(self, repository: Path) -> None:
        write(repository, {"tas.yaml": "mine\n"})
        result = kubectl_tas("init", "--gitops", "flux", cwd=repository)
        assert result.err.startswith("Set spec.gitops: flux in tas.yaml, if it is not there.\n")

    def test_link_that_leads_nowhere(self, repository: Path, tmp_path: Path) -> None:
        (repository / ".pre-commit-config.yaml").symlink_to(tmp_path / "elsewhere")
        assert "kept .pre-commit-config.yaml" in kubectl_tas("init", cwd=repository).out
        assert not (tmp_path / "elsewhere").exists()


class TestRefusals:
    def refused(self, root: Path, message: str) -> None:
        before = files(root)
        result = kubectl_tas("init", root)
        assert (result.code, result.out) == (3, "")
        assert result.err.startswith(f"error: {message}")
        assert files(root) == before
        assert not (root / "workflows/train.yaml").exists()

    def test_file_where_a_folder_must_be(self, repository: Path) -> None:
        write(repository, {"pools": "mine\n"})
        self.refused(repository, "pools already exists")

    def test_folder_that_is_a_link(self, repository: Path, tmp_path: Path) -> None:
        (tmp_path / "elsewhere").mkdir()
        (repository / "workflows").symlink_to(tmp_path / "elsewhere")
        self.refused(repository, "workflows already exists")
        assert not list((tmp_path / "elsewhere").iterdir())

    def test_target_is_a_file(self, tmp_path: Path) -> None:
        (tmp_path / "file").touch()
        result = kubectl_tas("init", "file", cwd=tmp_path)
        assert (result.code, result.out) == (2, "")

    @pytest.mark.parametrize("source", ["", "two words", "kubectl-tas 1.0", "a\nb", "a @ https://b/\x1b[1m"])
    def test_source_that_pip_does_not_read(self, repository: Path, source: str) -> None:
        assert kubectl_tas("init", "--source", source, cwd=repository).code == 2
        assert files(repository) == {}

    def test_full_disk(self, repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        def full(source: str, target: str, **folders: int) -> None:
            if target.endswith("train.yaml"):
                raise OSError(28, "No space left on device", source, None, target)
            real(source, target, **folders)

        real = os.replace
        monkeypatch.setattr(disk.os, "replace", full)
        write(repository, {"notes.txt": "mine\n"})
        train = repository / "workflows/train.yaml"
        self.refused(repository, f"cannot write {train}: No space left on device; nothing was written\n")


def test_files_of_others_stay(repository: Path) -> None:
    write(repository, {"README.md": "mine\n", "pools/own.yaml": "mine\n"})
    assert kubectl_tas("init", repository).code == 0
    assert files(repository).keys() == FILES | {"README.md", "pools/own.yaml"}
    assert (repository / "pools/own.yaml").read_text() == "mine\n"
