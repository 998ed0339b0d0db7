"""Tests ``validate --base`` in an untrusted checkout: nothing of it runs or chooses the base.

Every attack would create a file, the marker. If plain git is vulnerable, the test shows it.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.cli import Result, kubectl_tas, pool, subpool, write
from tests.support.history import commit, git

ABSENT = "1234567890123456789012345678901234567890"
"""The name of an object that no repository has, so that a promisor remote is asked for it."""


@pytest.fixture
def marker(tmp_path: Path) -> Path:
    return tmp_path / "marker"


@pytest.fixture
def program(marker: Path) -> Path:
    """A program of the attacker's, in a folder of its own."""
    path = write(marker.parent / "programs", {"git": f"#!/bin/sh\ntouch {marker}\nexit 1\n"}) / "git"
    path.chmod(0o755)
    return path


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A repository below the top of a checkout, whose subpool is on ``origin/main`` and no longer in the files."""
    root = write(tmp_path / "git/tas", {"tas.yaml": "apiVersion: tas/v1alpha1\nkind: Config\n"})
    write(root, {"pools/team.yaml": pool(), "subpools/a.yaml": subpool("a", 10)})
    commit(tmp_path / "git")
    git(root, "update-ref", "refs/remotes/origin/main", "HEAD")
    (root / "subpools/a.yaml").unlink()
    return root


def validate(root: Path, base: str = "origin/main", cwd: Path | None = None) -> Result:
    return kubectl_tas("validate", "-C", root, "--base", base, cwd=cwd)


def assert_base_counts(root: Path, base: str = "origin/main") -> None:
    """The subpool of the real base is missed, whatever else the checkout says."""
    result = validate(root, base)
    assert (result.code, result.err) == (1, "")
    assert "[subpool-removed]" in result.out


def promisor(url: str, *lines: str) -> str:
    """The configuration of a repository that fetches what it lacks from ``url``."""
    return "\n".join(
        (
            "[core]\n\trepositoryformatversion = 1\n[extensions]\n\tpartialClone = origin",
            f'[remote "origin"]\n\turl = {url}\n\tpromisor = true\n\tpartialclonefilter = blob:none',
            *lines,
            "",
        )
    )


def configurations(touch: str, folder: Path) -> dict[str, str]:
    """Configurations that make git run ``touch``, or read more configuration that does; by what they use."""
    missing = str(folder / "missing")
    external = promisor(f"ext::{touch}", '[protocol "ext"]\n\tallow = always')
    write(folder, {"included": external})
    return {
        "ext": external,
        "uploadpack": promisor(missing, f'\tuploadpack = "{touch};"', "[protocol]\n\tallow = always"),
        "ssh": promisor("ssh://host/x", f'[core]\n\tsshCommand = "{touch};"', "[ssh]\n\tvariant = simple"),
        "gitproxy": promisor("git://host/x", f'[core]\n\tgitProxy = "{folder}/programs/git"'),
        "credentials": promisor("http://127.0.0.1:9/x", f'[credential]\n\thelper = "!{touch}"'),
        "insteadof": promisor(
            "http://x", f'[url "ext::{touch} "]\n\tinsteadOf = http://x', '[protocol "ext"]\n\tallow = always'
        ),
        "include": f"[include]\n\tpath = {folder}/included\n",
        "includeif": f'[includeIf "gitdir:**"]\n\tpath = {folder}/included\n',
        "fsmonitor": f'[core]\n\tfsmonitor = "{touch};"\n\tworktree = .\n',
        "hooks": f"[core]\n\thooksPath = {folder}/programs\n",
        "pager": f'[core]\n\tpager = "{touch};"\n[pager]\n\trev-parse = true\n\tls-tree = true\n\tconfig = true\n',
        "alias": "".join(
            f'[alias "{name}"]\n\tcommand = "!{touch}"\n[alias]\n\t{name} = "!{touch}"\n'
            for name in ("rev-parse", "ls-tree", "cat-file", "config")
        ),
        "filter": f'[filter "x"]\n\tsmudge = {touch}\n\tclean = {touch}\n\tprocess = {touch}\n\trequired = true\n',
        "textconv": f'[diff "x"]\n\ttextconv = "{touch};"\n\tcommand = "{touch};"\n[diff]\n\texternal = "{touch};"\n',
        "alternates": f'[core]\n\talternateRefsCommand = "{touch};"\n\taskPass = {folder}/programs/git\n',
        "trace": f"[trace2]\n\teventTarget = {folder}/marker\n\tnormalTarget = {folder}/marker\n",
    }


AT_ONCE = ["ext", "gitproxy", "include", "includeif", "insteadof", "ssh", "uploadpack"]
"""Those that plain git follows as soon as it is asked for a commit that it lacks."""
USES = [*AT_ONCE, "alias", "alternates", "credentials", "filter", "fsmonitor", "hooks", "pager", "textconv", "trace"]


@pytest.fixture
def configuration(request: pytest.FixtureRequest, program: Path, marker: Path) -> str:
    found = configurations(f"touch {marker}", marker.parent)
    assert sorted(found) == sorted(USES)
    return found[request.param]


every_use = pytest.mark.parametrize("configuration", USES, indirect=True)


class TestRepositoryAsContent:
    """A pull request may commit a bare repository, and git takes any folder that looks like one for it."""

    @staticmethod
    def plant(folder: Path, configuration: str) -> None:
        """A repository whose ``origin/main`` is a commit that it would have to fetch."""
        write(folder, {"HEAD": "ref: refs/heads/main\n", "config": configuration, "objects/keep": ""})
        for name in ("heads/main", "remotes/origin/main", "tags/v1"):
            write(folder, {f"refs/{name}": f"{ABSENT}\n"})

    @pytest.mark.parametrize("configuration", AT_ONCE, indirect=True)
    def test_plain_git_runs_the_command(self, root: Path, configuration: str, marker: Path) -> None:
        self.plant(root, configuration)
        subprocess.run(["git", "rev-parse", "origin/main^{commit}"], cwd=root, check=False, capture_output=True)
        assert marker.exists()

    @every_use
    def test_nothing_runs(self, root: Path, configuration: str, marker: Path) -> None:
        self.plant(root, configuration)
        commit(root.parent)
        assert_base_counts(root)
        assert not marker.exists()

    @pytest.mark.parametrize("folder", ["pools", "subpools", "deep/er", "elsewhere"])
    def test_below_the_root(self, root: Path, program: Path, marker: Path, folder: str) -> None:
        self.plant(root / folder, configurations(f"touch {marker}", marker.parent)["ext"])
        commit(root.parent)
        assert_base_counts(root)
        assert validate(root / folder).code in (0, 1, 3)
        assert not marker.exists()

    def test_at_the_top(self, root: Path, program: Path, marker: Path) -> None:
        self.plant(root.parent, configurations(f"touch {marker}", marker.parent)["ext"])
        commit(root.parent)
        assert_base_counts(root)
        assert not marker.exists()

    def test_outside_of_any_checkout(self, tmp_path: Path, program: Path, marker: Path) -> None:
        """An archive that somebody unpacked."""
        root = write(tmp_path / "unpacked", {"pools/team.yaml": pool()})
        self.plant(root, configurations(f"touch {marker}", marker.parent)["ext"])
        result = validate(root)
        assert result.code == 3
        assert "is in no git repository" in result.err
        assert not marker.exists()

    def test_it_has_a_base_of_its_own(self, root: Path) -> None:
        """All that it names is there: a base without the subpool."""
        other = root.parent.parent / "other"
        write(other / "tas", {"pools/team.yaml": pool()})
        write(other, {"pools/team.yaml": pool()})
        commit(other)
        git(other, "update-ref", "refs/remotes/origin/main", "HEAD")
        git(other, "config", "core.worktree", str(root))
        for name in ("HEAD", "config", "objects", "refs"):
            (other / ".git" / name).rename(root / name)
        assert git(root, "rev-parse", "--absolute-git-dir") == str(root)
        assert_base_counts(root)


class TestConfiguration:
    """What stands in the configuration of the checkout, of the user or of the machine is not followed either."""

    @every_use
    def test_of_the_checkout(self, root: Path, configuration: str, marker: Path) -> None:
        with (root.parent / ".git/config").open("a") as file:
            file.write(configuration.replace("\tworktree = .\n", ""))
        assert_base_counts(root)
        assert not marker.exists()

    @every_use
    def test_of_a_partial_clone(self, root: Path, configuration: str, marker: Path) -> None:
        """What is missing, here and in the working tree, is not fetched, but said to be missing."""
        name = git(root, "rev-parse", "origin/main:tas/subpools/a.yaml")
        (root.parent / ".git/objects" / name[:2] / name[2:]).unlink()
        with (root.parent / ".git/config").open("a") as file:
            file.write(configuration.replace("\tworktree = .\n", ""))
        result = validate(root)
        assert result.code == 3
        assert result.err.startswith(f"error: git lacks the content of {name}\n  = help: The clone is ")
        assert validate(root, ABSENT).code == 3
        assert not marker.exists()

    @pytest.mark.parametrize("path", ["home/.gitconfig", "home/.config/git/config", "xdg/git/config"])
    @every_use
    def test_of_the_user(
        self, root: Path, configuration: str, marker: Path, monkeypatch: pytest.MonkeyPatch, path: str
    ) -> None:
        write(marker.parent, {path: configuration})
        monkeypatch.setenv("HOME", str(marker.parent / "home"))
        if path.startswith("xdg"):
            monkeypatch.setenv("XDG_CONFIG_HOME", str(marker.parent / "xdg"))
        assert_base_counts(root)
        assert validate(root, ABSENT).code == 3
        assert not marker.exists()

    def test_of_the_work_tree(self, root: Path, marker: Path) -> None:
        git(root, "config", "extensions.worktreeConfig", "true")
        external = configurations(f"touch {marker}", marker.parent)["ext"].partition("[remote")
        write(root.parent, {".git/config.worktree": external[1] + external[2]})
        assert_base_counts(root)
        assert validate(root, ABSENT).code == 3
        assert not marker.exists()

    def test_hooks(self, root: Path, program: Path, marker: Path) -> None:
        hooks = root.parent / ".git/hooks"
        hooks.mkdir(exist_ok=True)
        for name in ("reference-transaction", "post-index-change", "post-checkout", "fsmonitor-watchman", "update"):
            (hooks / name).write_bytes(program.read_bytes())
            (hooks / name).chmod(0o755)
        assert_base_counts(root)
        assert not marker.exists()

    def test_attributes(self, root: Path, marker: Path) -> None:
        """A file is what was committed, not what a filter makes of it."""
        text = "* filter=x diff=x ident export-subst working-tree-encoding=UTF-16 text eol=crlf\n"
        write(root, {".gitattributes": text, "../.gitattributes": text, "../.git/info/attributes": text})
        with (root.parent / ".git/config").open("a") as file:
            file.write(configurations(f"touch {marker}", marker.parent)["filter"])
        (root.parent / ".git/index").unlink()
        assert_base_counts(root)
        assert not marker.exists()

    def test_replaced_and_grafted(self, root: Path) -> None:
        """Neither a ref nor a file says that a commit is another one."""
        first = git(root, "rev-parse", "HEAD")
        commit(root.parent)
        git(root, "replace", first, "HEAD")
        assert_base_counts(root)
        git(root, "replace", "--delete", first)
        empty = git(root, "hash-object", "-t", "tree", "-w", "--stdin")
        bare = git(root, "commit-tree", "-m", "empty", empty)
        write(root.parent, {".git/info/grafts": f"{git(root, 'rev-parse', 'HEAD')} {bare}\n"})
        assert_base_counts(root, "HEAD~1")


class TestEnvironment:
    @pytest.mark.parametrize(
        "variables",
        [
            {"GIT_DIR": "{other}/.git"},
            {"GIT_DIR": "{other}/.git", "GIT_WORK_TREE": "{other}"},
            {"GIT_COMMON_DIR": "{other}/.git"},
            {"GIT_OBJECT_DIRECTORY": "{other}/.git/objects"},
            {"GIT_ALTERNATE_OBJECT_DIRECTORIES": "{other}/.git/objects"},
            {"GIT_NAMESPACE": "other"},
            {"GIT_INDEX_FILE": "{other}/.git/index"},
            {"GIT_SHALLOW_FILE": "{other}/shallow"},
            {"GIT_GRAFT_FILE": "{other}/grafts"},
            {"GIT_REPLACE_REF_BASE": "refs/heads"},
            {"GIT_CEILING_DIRECTORIES": "{root}:{root}/..:/"},
            {"GIT_PREFIX": "other/"},
            {"GIT_LITERAL_PATHSPECS": "0", "GIT_ICASE_PATHSPECS": "1"},
            {"GIT_DEFAULT_HASH": "sha256", "GIT_DEFAULT_REF_FORMAT": "reftable"},
            {"GIT_EXEC_PATH": "{programs}"},
            {"GIT_SSH": "{programs}/git", "GIT_ASKPASS": "{programs}/git", "GIT_PROXY_COMMAND": "{programs}/git"},
            {"GIT_SSH_COMMAND": "touch {marker};", "GIT_PAGER": "touch {marker};", "PAGER": "touch {marker};"},
            {"GIT_EXTERNAL_DIFF": "{programs}/git", "GIT_EDITOR": "{programs}/git"},
            {"GIT_TRACE": "{marker}", "GIT_TRACE_SETUP": "{marker}", "GIT_TRACE_PACKET": "{marker}"},
            {"GIT_TRACE2": "{marker}", "GIT_TRACE2_EVENT": "{marker}", "GIT_TRACE2_PERF": "{marker}"},
            {"GIT_CONFIG": "{configuration}"},
            {"GIT_CONFIG_GLOBAL": "{configuration}", "GIT_CONFIG_NOSYSTEM": "0"},
            {"GIT_CONFIG_SYSTEM": "{configuration}", "GIT_CONFIG_NOSYSTEM": "0"},
            {"GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "include.path", "GIT_CONFIG_VALUE_0": "{configuration}"},
            {"GIT_CONFIG_PARAMETERS": "'include.path'='{configuration}'"},
            {"GIT_ALLOW_PROTOCOL": "ext", "GIT_PROTOCOL_FROM_USER": "1", "GIT_NO_LAZY_FETCH": "0"},
        ],
        ids=lambda variables: "+".join(variables),
    )
    def test_nothing_is_followed(
        self, root: Path, program: Path, marker: Path, monkeypatch: pytest.MonkeyPatch, variables: dict[str, str]
    ) -> None:
        other = write(root.parent.parent / "other", {"tas/pools/team.yaml": pool()})
        commit(other)
        git(other, "update-ref", "refs/remotes/origin/main", "HEAD")
        found = configurations(f"touch {marker}", marker.parent)
        write(marker.parent, {"configuration": found["ext"] + found["trace"] + found["alias"]})
        places = {"other": other, "root": root, "marker": marker, "programs": program.parent}
        for name, value in variables.items():
            monkeypatch.setenv(name, value.format(**places, configuration=marker.parent / "configuration"))
        assert_base_counts(root)
        assert validate(root, ABSENT).code == 3
        assert not marker.exists()

    def test_program_of_the_checkout(
        self, root: Path, program: Path, marker: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """A relative folder on the PATH is no folder of the checkout's."""
        (root / "git").write_bytes(program.read_bytes())
        (root / "git").chmod(0o755)
        monkeypatch.setenv("PATH", f".:{os.environ['PATH']}")
        assert "[subpool-removed]" in validate(root, cwd=root).out
        assert not marker.exists()


class TestMeaningOfTheBase:
    """Whoever opens a pull request names its branch, and chooses its submodules and links."""

    @pytest.mark.parametrize("kind", ["heads", "tags"])
    def test_another_ref_of_the_name(self, root: Path, kind: str) -> None:
        commit(root.parent)
        git(root, "update-ref", f"refs/{kind}/origin/main", "HEAD")
        assert git(root, "rev-parse", "origin/main") == git(root, "rev-parse", "HEAD")
        result = validate(root)
        assert result.code == 3
        assert result.err == (
            f'error: the revision "origin/main" means more than one thing in {root.parent}\n'
            "  = help: Write refs/heads/NAME for a branch, refs/remotes/origin/NAME for one of the remote, "
            "refs/tags/NAME for a tag.\n"
        )
        assert_base_counts(root, "refs/remotes/origin/main")

    def test_ref_that_looks_like_a_commit(self, root: Path) -> None:
        """git takes the full name of an object for the object."""
        first = git(root, "rev-parse", "HEAD")
        commit(root.parent)
        git(root, "update-ref", f"refs/heads/{first}", "HEAD")
        git(root, "update-ref", f"refs/heads/{first[:8]}", "HEAD")
        assert_base_counts(root, first)
        assert validate(root, first[:8]).code == 3

    def test_root_becomes_a_submodule(self, root: Path) -> None:
        """Its repository has a branch ``origin/main``, too."""
        other = write(root.parent.parent / "other", {"pools/team.yaml": pool()})
        commit(other)
        git(root.parent, "rm", "-rqf", "--cached", "tas")
        subprocess.run(["rm", "-r", root], check=True)
        git(root.parent, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(other), "tas")
        commit(root.parent)
        assert git(root, "rev-parse", "origin/main") == git(other, "rev-parse", "HEAD")
        result = validate(root)
        assert result.code == 3
        assert result.err == (
            "error: tas is a submodule, but not at origin/main of the git repository around it\n"
            "  = help: To compare within the inner one, name a commit by its full name.\n"
        )
        assert validate(root, git(other, "rev-parse", "HEAD")).code == 0

    def test_submodule_where_nothing_was(self, root: Path) -> None:
        other = write(root.parent.parent / "other", {"pools/team.yaml": pool()})
        commit(other)
        git(root.parent, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(other), "new")
        commit(root.parent)
        result = validate(root.parent / "new")
        assert result.code == 3
        assert "new is a submodule, but not at origin/main" in result.err

    @pytest.mark.parametrize("name", ["--git-dir=/x", "--exec-path=x", "-c", "--help", "--", "--output=/x"])
    def test_revision_like_an_option(self, root: Path, name: str) -> None:
        result = validate(root, name)
        assert result.code in (2, 3)
        assert "git knows no revision" in result.err or "Usage" in result.err


class TestSubmodule:
    """The root is a submodule at the base already, and a pull request chooses where it comes from."""

    @pytest.fixture
    def inner(self, tmp_path: Path) -> Path:
        """The repository that is deployed: a pool with a subpool."""
        inner = write(tmp_path / "inner", {"pools/team.yaml": pool(), "subpools/a.yaml": subpool("a", 10)})
        commit(inner)
        return inner

    @pytest.fixture
    def outer(self, inner: Path) -> Path:
        outer = write(inner.parent / "outer", {"readme.md": ""})
        commit(outer)
        return self.added(outer, inner)

    def added(self, outer: Path, inner: Path, branch: str = "refs/remotes/origin/main") -> Path:
        git(outer, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", "--force", str(inner), "tas")
        commit(outer)
        git(outer, "update-ref", branch, "HEAD")
        return outer

    def swapped(self, outer: Path, other: Path) -> Path:
        git(outer, "rm", "-qf", "tas")
        subprocess.run(["rm", "-r", outer / ".git/modules/tas"], check=True)
        git(outer, "config", "--remove-section", "submodule.tas")
        return self.added(outer, other, "refs/heads/request") / "tas"

    def test_ordinary(self, inner: Path, outer: Path) -> None:
        (outer / "tas/subpools/a.yaml").unlink()
        assert_base_counts(outer / "tas")
        commit(outer / "tas")
        commit(outer)
        assert_base_counts(outer / "tas")

    def test_whose_branch_went_on(self, inner: Path, outer: Path) -> None:
        write(inner, {"subpools/b.yaml": subpool("b", 5)})
        commit(inner)
        git(outer / "tas", "pull", "--quiet")
        (outer / "tas/subpools/b.yaml").unlink()
        assert_base_counts(outer / "tas")

    def test_whose_branch_is_another(self, outer: Path) -> None:
        root = outer / "tas"
        name = git(root, "rev-parse", "HEAD")
        git(root, "checkout", "--quiet", "--orphan", "new")
        git(root, "rm", "-qf", "subpools/a.yaml")
        commit(root)
        git(root, "update-ref", "refs/remotes/origin/main", "HEAD")
        result = validate(root)
        assert result.code == 3
        assert result.err == (
            "error: origin/main of the submodule tas does not contain what it was at origin/main of the git repository "
            f"around it\n  = help: To compare with what it was there, name that commit in full: {name}\n"
        )
        assert_base_counts(root, name)

    def test_from_another_repository(self, outer: Path, tmp_path: Path) -> None:
        other = write(tmp_path / "other", {"pools/team.yaml": pool()})
        commit(other)
        name = git(outer, "rev-parse", "HEAD:tas")
        root = self.swapped(outer, other)
        result = validate(root)
        assert result.code == 3
        assert result.err == (
            f"error: the submodule tas lacks the commit {name}, which it was at origin/main of the git repository "
            "around it\n  = help: See whether .gitmodules names another repository now; fetch all of a shallow clone.\n"
        )
        assert validate(root, name).code == 3
        assert validate(root, git(other, "rev-parse", "HEAD")).code == 0

    def test_from_a_fork(self, outer: Path, inner: Path, tmp_path: Path) -> None:
        """It contains the commit, and its branch goes on without the subpool."""
        git(tmp_path, "clone", "--quiet", str(inner), "fork")
        (tmp_path / "fork/subpools/a.yaml").unlink()
        commit(tmp_path / "fork")
        root = self.swapped(outer, tmp_path / "fork")
        result = validate(root)
        assert result.code == 3
        name = git(inner, "rev-parse", "HEAD")
        assert result.err == (
            "error: .gitmodules is not what it was at origin/main, so origin/main of the submodule tas proves nothing\n"
            f"  = help: To compare with what it was there, name that commit in full: {name}\n"
        )
        assert_base_counts(root, name)


class TestLinkToTheRoot:
    """A pull request that puts a link in place of the folder would choose what that is compared with."""

    @pytest.fixture
    def planted(self, root: Path) -> Path:
        """The link, which leads to a folder that is new, and so has nothing to be compared with."""
        root.rename(root.parent / "other")
        root.symlink_to("other")
        return root

    def test_named(self, planted: Path) -> None:
        result = kubectl_tas("validate", "-C", planted, "--base", "origin/main")
        assert (result.code, result.out) == (3, "")
        assert result.err == (
            f"error: {planted} is a link of the checkout that is compared\n"
            f"  = help: Name the folder that it leads to: {planted.resolve()}\n"
        )

    def test_named_before_the_command(self, planted: Path) -> None:
        assert kubectl_tas("-C", planted, "validate", "--base", "origin/main").code == 3

    def test_where_the_shell_is(self, planted: Path) -> None:
        command = ["sh", "-c", 'cd "$1" && exec "$2" -m kubectl_tas validate --base origin/main', "-", planted]
        done = subprocess.run([*command, sys.executable], capture_output=True, text=True, check=False)
        assert done.returncode == 3, done.stdout
        assert "is a link of the checkout" in done.stderr

    def test_without_a_base_nothing_is_compared(self, planted: Path) -> None:
        assert kubectl_tas("validate", "-C", planted).code == 0

    def test_a_link_outside_of_the_checkout_is_the_users_own(self, root: Path, tmp_path: Path) -> None:
        (tmp_path / "link").symlink_to(root)
        assert_base_counts(tmp_path / "link")


class TestDepth:
    @pytest.mark.parametrize("depth", [200, 400])
    def test_of_folders_at_the_base(self, root: Path, depth: int) -> None:
        """The commit is made of trees: no work tree is as deep."""
        name = git(root, "rev-parse", "HEAD:tas/pools/team.yaml").strip()
        name = tree(root, f"100644 blob {name}\tteam.yaml")
        for _ in range(depth):
            name = tree(root, f"040000 tree {name}\td")
        for folder in ("pools", "tas"):
            name = tree(root, f"040000 tree {name}\t{folder}")
        result = validate(root, git(root, "commit-tree", "-m", "deep", name).strip())
        assert (result.code, result.out) == (3, "")
        assert result.err.startswith("error: tas/pools/d/d/d/")
        assert "lies too deep: at most 192 folders" in result.err
        assert len(result.out + result.err) < 600


def tree(root: Path, line: str) -> str:
    """The name of a new tree with one entry."""
    done = subprocess.run(["git", "mktree"], cwd=root, input=f"{line}\n", check=True, capture_output=True, text=True)
    return done.stdout.strip()
