"""Tests that CI jobs run the kubectl-tas that the base names, and nothing of a hostile branch."""

from __future__ import annotations

import hashlib
import json
import re
import shutil
import stat
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.support.cli import Result, kubectl_tas, write
from tests.support.golden import ROOT
from tests.support.history import commit, git
from tests.support.jobs import ACTIONS, TOKEN, Github, address, gitlab, notes_api
from tests.support.process import call
from tests.support.pyyaml import safe_load
from tests.support.warm import tool

WHEEL = "kubectl_tas-9.0.0-py3-none-any.whl"
URL = "https://git.example.com/kubectl-tas.git"
CHOSEN = f"""\
import json, os, sys
def main():
    with open({{ran!r}}, "a") as file:
        print(json.dumps([sys.argv[1:], dict(os.environ)]), file=file)
    # the real one, in a process that knows nothing of this environment
    words = [*{{words!r}}, *sys.argv[1:]]
    os.execve(words[0], words, {{{{**os.environ, "PYTHONPATH": {str(ROOT)!r}}}}})
"""
"""What the tool of the base does: it says that it ran and what it was given, and is this checkout's."""


def wheel(path: Path, code: str, more: dict[str, str] | None = None) -> str:
    """Makes a wheel of kubectl-tas whose command runs ``code``'s main; its SHA-256."""
    path.parent.mkdir(parents=True, exist_ok=True)
    about = "kubectl_tas-9.0.0.dist-info"
    files = {
        "chosen_main.py": code,
        **(more or {}),
        f"{about}/METADATA": "Metadata-Version: 2.1\nName: kubectl-tas\nVersion: 9.0.0\n",
        f"{about}/WHEEL": "Wheel-Version: 1.0\nGenerator: tests\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        f"{about}/entry_points.txt": "[console_scripts]\nkubectl-tas = chosen_main:main\n",
    }
    record = "".join(f"{name},,\n" for name in (*files, f"{about}/RECORD"))
    with zipfile.ZipFile(path, "w") as archive:
        for name, text in {**files, f"{about}/RECORD": record}.items():
            archive.writestr(name, text)
    return hashlib.sha256(path.read_bytes()).hexdigest()


class World:
    """A repository whose base names a tool, an index that has it, and a branch that must not be run."""

    def __init__(self, folder: Path, environment: Path) -> None:
        self.root, self.programs, self.index = folder / "repository", folder / "programs", folder / "index"
        self.ran, self.broken, self.outside = folder / "ran", folder / "broken", folder / "outside"
        self.commented = folder / "commented"
        self.programs.mkdir()
        self.outside.mkdir()
        self.code = CHOSEN.format(ran=str(self.ran), words=tool()).replace("{{", "{").replace("}}", "}")
        self.digest = wheel(self.index / WHEEL, self.code)
        linked = " || ".join(f'cp {how} "{environment}/." kubectl-tas' for how in ("-al", "-a"))  # pip changes no file
        for name, text in {
            "gh": f'env -0 > "{self.commented}"; echo',
            "python": f'[ "$*" = "-I -m venv --clear kubectl-tas" ] && ({linked}) 2> /dev/null',
            "python3": f'exec "{sys.executable}" "$@"',
        }.items():
            (self.programs / name).write_text(f"#!/bin/sh\n{text}\n")
            (self.programs / name).chmod(stat.S_IRWXU)
        self.machine = {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(self.index), "PYTHONPATH": ""}

    def begin(self, ci: str, requirements: str | None) -> None:
        """The base, with those requirements or without a file of them."""
        kubectl_tas("init", self.root, "--ci", ci, "--gitops", "argocd")
        kubectl_tas("render", "-C", self.root)
        if requirements is None:
            (self.root / "requirements-tas.txt").unlink()
        else:
            write(self.root, {"requirements-tas.txt": requirements})
        commit(self.root)
        git(self.root, "update-ref", "refs/remotes/origin/main", "HEAD")
        git(self.root, "switch", "--quiet", "--create", "change")

    def attack(self, *, settings: bool) -> None:
        """Commits what could be run, or be read by what runs; with ``settings`` that make no sense."""
        mark = f"open({str(self.broken)!r}, 'a').write(__file__ + chr(10))\n"
        tool = f"def main():\n    {mark}"
        wheel(self.root / "wheels" / WHEEL, mark + tool, {"hostile.pth": f"import os; {mark}"})
        shell = f'#!/bin/sh\necho "$0" >> "{self.broken}"\n'
        modules = (
            "sitecustomize",
            "usercustomize",
            "json",
            "os",
            "venv",
            "pip",
            "site",
            "encodings",
            "urllib",
            "base64",
        )
        files = {
            "requirements-tas.txt": f"./wheels/{WHEEL}\n",
            **{f"{name}/__init__.py": mark for name in ("kubectl_tas", "chosen_main", "urllib", "pip", "venv")},
            **{f"{name}/__main__.py": mark for name in ("kubectl_tas", "pip", "venv")},
            **{f"{name}.py": mark for name in (*modules, "setup", "conftest", "kubectl_tas", "chosen_main")},
            **dict.fromkeys(("pip.conf", "pip.ini", ".pip/pip.conf"), "[global]\nfind-links = ./wheels\n"),
            ".config/pip/pip.conf": "[global]\nfind-links = ./wheels\n",
            "setup.cfg": "[install]\nprefix = wheels\n",
            "pyproject.toml": '[build-system]\nrequires = []\nbuild-backend = "setup"\nbackend-path = ["."]\n',
            ".python-version": "../../wheels\n",
            "pyvenv.cfg": "home = wheels\n",
            ".env": "PIP_FIND_LINKS=./wheels\nPYTHONPATH=.\n",
            ".envrc": shell,
            ".gitattributes": "*.py filter=hostile diff=hostile\n",  # of manifests it would be refused
            ".gitconfig": f'[core]\n\tfsmonitor = "echo >> {self.broken}"\n',
            ".pre-commit-config.yaml": "repos: [{repo: local, hooks: [{id: x, name: x, entry: ./git}]}]\n",
            **dict.fromkeys(("kubectl-tas", "git", "gh", "bash", "grep", "base64", "head", "rm", "mktemp"), shell),
            "chosen.pth": f"import os; {mark}",
            "notes.md": "a harmless change\n",
            **({"tas.yaml": "kind: Nonsense\n"} if settings else {}),
        }
        write(self.root, files)
        for name in ("kubectl-tas", "git", "gh", "bash", "grep", "base64", "head", "rm", "mktemp"):
            (self.root / name).chmod(stat.S_IRWXU)
        for name in ("code-quality.json", "diff.html", "diff.md"):
            (self.root / name).symlink_to(self.outside / name)
        (self.root / "requirements.txt").symlink_to(self.outside / "requirements.txt")
        git(self.root, "add", "--all", "--force")
        commit(self.root)

    def judge(self, ci: str, **more: str) -> Result:
        """The last step that ran of a pull request's or merge request's jobs."""
        if ci == "gitlab":
            return gitlab(self.root, self.programs, git(self.root, "rev-parse", "main"), **{**self.machine, **more})
        return Github(self.root, self.programs, more={**self.machine, **more}).job()[-1]

    def runs(self) -> list[tuple[list[str], dict[str, str]]]:
        """What the tool of the base was told, and its environment, by run."""
        return [json.loads(line) for line in self.ran.read_text().splitlines()] if self.ran.exists() else []

    def assert_whole(self) -> None:
        """Nothing of the branch ran, nothing outside was written, and no run of the tool knew the token."""
        assert not self.broken.exists(), self.broken.read_text()
        assert not list(self.outside.iterdir())
        assert not [words for words, variables in self.runs() if TOKEN in variables.values()]


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What ``python -I -m venv`` makes, made once."""
    folder = tmp_path_factory.mktemp("environment") / "kubectl-tas"
    assert call(sys.executable, "-I", "-m", "venv", folder).code == 0
    return folder


@pytest.fixture
def world(tmp_path: Path, environment: Path) -> World:
    return World(tmp_path, environment)


def hashed(world: World) -> str:
    """A release of an index."""
    return f"kubectl-tas==9.0.0 \\\n    --hash=sha256:{world.digest}\n"


def repository_of_the_tool(world: World) -> str:
    """A full commit of a repository, which builds the wheel itself."""
    folder = world.index.parent / "tool"
    shutil.copytree(world.index, folder)
    copy = f"def build_wheel(to, *_):\n    import shutil; return shutil.copy({WHEEL!r}, to).rpartition('/')[2]\n"
    metadata = "Metadata-Version: 2.1\nName: kubectl-tas\nVersion: 9.0.0\n"
    build = 'build-backend = "backend"\nbackend-path = ["."]\n'
    write(
        folder, {"backend.py": copy, "pyproject.toml": f"[build-system]\nrequires = []\n{build}", "PKG-INFO": metadata}
    )
    commit(folder)
    config = {"GIT_CONFIG_COUNT": "2", "GIT_CONFIG_KEY_1": "protocol.file.allow", "GIT_CONFIG_VALUE_1": "always"}
    config |= {"GIT_CONFIG_KEY_0": f"url.file://{folder}.insteadOf", "GIT_CONFIG_VALUE_0": URL}
    world.machine |= config
    return f"# a comment\n\nkubectl-tas @ git+{URL}@{git(folder, 'rev-parse', 'HEAD')}\n"


@pytest.mark.parametrize("ci", ["github", "gitlab"])
class TestTool:
    @pytest.mark.parametrize("base", [hashed, repository_of_the_tool])
    def test_a_branch_cannot_judge_itself(self, world: World, ci: str, base: Callable[[World], str]) -> None:
        world.begin(ci, base(world))
        world.attack(settings=True)
        judged = world.judge(ci)
        assert judged.code == 1, judged
        assert "tas.yaml" in judged.out
        assert world.runs(), judged
        world.assert_whole()

    def test_a_branch_of_which_nothing_runs(self, world: World, ci: str) -> None:
        """All steps pass, so all of them have been in the checkout."""
        world.begin(ci, hashed(world))
        world.attack(settings=False)
        judged = world.judge(ci)
        assert judged.code == 0, judged
        assert {words[0] for words, _ in world.runs()} == {"validate", "check", "diff"}
        world.assert_whole()
        if ci == "gitlab":
            with notes_api() as api:
                commented = gitlab(world.root, world.programs, "main", "comment", **{**world.machine, **address(api)})
            assert commented.code == 0, commented
            world.assert_whole()
        else:
            assert TOKEN in world.commented.read_text()

    def test_a_push_is_judged_by_its_own(self, world: World, ci: str) -> None:
        world.begin(ci, hashed(world))
        if ci == "gitlab":
            assert gitlab(world.root, world.programs, "", **world.machine).code == 0
        else:
            steps = Github(world.root, world.programs, "push", more=world.machine).job()
            assert all(step.code == 0 for step in steps)
        assert [words[0] for words, _ in world.runs()][-1] == "check"


class TestBases:
    """Each by the job of one forge: both install what the base names by the same lines."""

    @pytest.mark.parametrize(
        ("ci", "requirements", "said"),
        [
            ("github", None, "has no ./requirements-tas.txt"),
            ("gitlab", "", "names no kubectl-tas"),
            ("github", "# kubectl-tas==9.0.0\n", "names no kubectl-tas"),
            ("gitlab", "kubectl-tas==9.0.0\n", "Hashes are required"),
            ("gitlab", f"kubectl-tas==9.0.0 --hash=sha256:{'0' * 64}\n", "DO NOT MATCH THE HASHES"),
            ("github", f"./wheels/{WHEEL}\n", "No such file or directory"),
            ("github", f"kubectl-tas @ git+{URL}@main\n", "Can't verify hashes"),
            ("gitlab", f"kubectl-tas @ git+{URL}@main#egg=x@{'0' * 40}\n", "Can't verify hashes"),
            ("github", f"kubectl-tas @ git+{URL}@{'0' * 40} ; python_version > '3'\n", "Can't verify hashes"),
            ("gitlab", f"kubectl-tas @ git+{URL}@{'0' * 40}\nkubectl-tas==9.0.0\n", "Can't verify hashes"),
        ],
    )
    def test_a_base_that_names_none(self, world: World, ci: str, requirements: str | None, said: str) -> None:
        world.begin(ci, requirements)
        world.attack(settings=False)
        judged = world.judge(ci)
        assert judged.code not in (0, 3)
        assert said in judged.out + judged.err, judged
        assert world.runs() == []
        world.assert_whole()

    @pytest.mark.parametrize(
        ("ci", "name"),
        [("github", "origin/main"), ("gitlab", "heads/origin/main"), ("github", "main"), ("gitlab", "HEAD")],
    )
    def test_a_tag_is_no_branch(self, world: World, ci: str, name: str) -> None:
        """Whoever may push tags cannot choose what the base is."""
        world.begin(ci, hashed(world))
        world.attack(settings=True)
        git(world.root, "update-ref", f"refs/tags/{name}", "HEAD")
        assert world.judge(ci).code != 0
        world.assert_whole()


def test_the_actions_do_the_same(world: World) -> None:
    world.begin("github", hashed(world))
    world.attack(settings=False)
    steps = Github(world.root, world.programs, more=world.machine).action()
    assert [step.code for step in steps] == [0, 0, 0, 0, 0], steps
    world.assert_whole()


def test_a_token_for_all_jobs_is_refused(world: World) -> None:
    world.begin("gitlab", hashed(world))
    judged = world.judge("gitlab", KUBECTL_TAS_TOKEN=TOKEN)
    assert judged.code == 1
    assert "give the variable the environment scope kubectl-tas-comment" in judged.out
    assert world.runs() == []


def test_the_comment_reads_no_link(world: World) -> None:
    world.begin("gitlab", hashed(world))
    (world.root / "diff.md").symlink_to("/etc/hostname")
    with notes_api() as api:
        assert gitlab(world.root, world.programs, "main", "comment", **address(api)).code != 0


class TestWords:
    """What cannot be run here is read: whom the runner gives what."""

    @pytest.fixture
    def flow(self) -> dict[Any, Any]:
        text = (ROOT / "templates/init/ci/github/dot-github/workflows/manifests.yaml").read_text()
        flow: dict[Any, Any] = safe_load(text.replace("<< branch >>", "main").replace("<< folder >>", "."))
        return flow

    def test_permissions(self, flow: dict[Any, Any]) -> None:
        assert flow["permissions"] == {}
        permissions = {name: job["permissions"] for name, job in flow["jobs"].items()}
        assert permissions == {"manifests": {"contents": "read"}, "comment": {"pull-requests": "write"}}

    def test_a_base_that_anybody_may_push_to_is_none(self, flow: dict[Any, Any]) -> None:
        assert flow[True]["pull_request"] == {
            "branches": ["main"],
            "types": ["opened", "synchronize", "reopened", "edited"],
        }
        assert "pull_request_target" not in flow[True]

    def test_the_checkout_keeps_no_token(self, flow: dict[Any, Any]) -> None:
        uses = [step for job in flow["jobs"].values() for step in job["steps"] if "uses" in step]
        assert [step["with"]["persist-credentials"] for step in uses if "checkout" in step["uses"]] == [False]
        assert not [step for step in flow["jobs"]["comment"]["steps"] if "uses" in step]

    def test_the_token_is_for_the_comment(self, flow: dict[Any, Any]) -> None:
        actions = [safe_load((ACTIONS / name).read_text()) for name in ("action.yml", "comment/action.yml")]
        assert "token" not in str({**flow, "jobs": flow["jobs"]["manifests"]})
        assert "token" not in str(actions[0]["runs"])
        assert "github.token" in str(actions[1]["runs"])

    @pytest.mark.parametrize("path", [*ROOT.glob("integrations/**/*.yml"), *ROOT.glob("templates/init/ci/**/*.y*ml")])
    def test_no_script_has_the_words_of_others(self, path: Path) -> None:
        scripts = re.findall(r"run: \|\n((?: +.*\n|\n)+?)(?= *- |\S|$)|run: ([^|\n].*)\n", path.read_text())
        assert not [script for script in scripts if "${{" in "".join(script).partition("\n    -")[0]]

    @pytest.mark.parametrize(
        "path",
        [
            *ROOT.glob("integrations/**/*.y*ml"),
            *ROOT.glob("templates/init/**/*.y*ml"),
            *ROOT.glob("docs/*.md"),
            ROOT / "README.md",
            ROOT / "SECURITY.md",
        ],
        ids=lambda path: path.relative_to(ROOT).as_posix(),
    )
    def test_actions_are_pinned(self, path: Path) -> None:
        versions = re.findall(r"uses: \S+@(\S+)", path.read_text())
        assert not [version for version in versions if not re.fullmatch(r"[0-9a-f]{40}|COMMIT", version)]
