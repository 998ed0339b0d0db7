"""Tests pull requests that change files beside the manifests that a cluster obeys, but no manifest."""

from __future__ import annotations

import json
import os
from itertools import cycle
from pathlib import Path
from zlib import crc32

import pytest

from kubectl_tas.base.diagnostics import TasError
from kubectl_tas.base.folders import MAX_DEPTH
from kubectl_tas.emit.disk import MARK
from kubectl_tas.emit.foreign import foreign, kept_changes, left_behind
from kubectl_tas.model.config import ConfigSpec
from tests.support.cli import Result, kubectl_tas, pool, subpool, write
from tests.support.history import commit

CONFIG = "apiVersion: tas/v1alpha1\nkind: Config\n"
QUEUE = "manifests/queues/osmo-pool-default-team--a.yaml"
EVIL = "apiVersion: scheduling.run.ai/v2\nkind: Queue\nmetadata: {name: evil}\n"
PATCH = "kustomize:\n  patches:\n  - target: {kind: Queue}\n    patch: '[{op: replace, path: /spec, value: {}}]'\n"
TWO = "  backends: [{name: prod, namespace: ml}, {name: lab, namespace: lab}]\n"
COMMANDS = (("validate", "--strict", "--base", "HEAD"), ("check",), ("render", "--fail-on-change"))


def settings(spec: str = "") -> str:
    """A Config; ``spec`` is YAML, indented by two spaces."""
    return f"{CONFIG}spec:\n{spec}" if spec else CONFIG


def made(root: Path, spec: str = "", backend: str = "", top: Path | None = None) -> Path:
    """A repository with rendered manifests, all of it committed in the folder ``top``."""
    more = f"  backend: {backend}\n" if backend else ""
    write(root, {"tas.yaml": settings(spec), "pools/team.yaml": pool(spec=more), "subpools/a.yaml": subpool("a", 30)})
    write(root, {"workflows/train.yaml": "workflow: {name: train, pool: team--a, tasks: [{name: t, image: i}]}\n"})
    if backend:
        write(root, {"pools/other.yaml": pool("other", spec="  backend: lab\n")})
    assert kubectl_tas("render", "-C", root).code == 0
    commit(top or root)
    return root


@pytest.fixture
def team(repository: Path) -> Path:
    return made(repository)


def answer(root: Path, *command: str) -> tuple[int, str]:
    """The exit code of a gate, and all that it says."""
    result = kubectl_tas(*command, "-C", root)
    return result.code, result.out + result.err


def diff(root: Path, *arguments: str) -> Result:
    return kubectl_tas("diff", "-C", root, "--base", "HEAD", *arguments)


def refused(root: Path, path: str, words: str = "", gates: tuple[tuple[str, ...], ...] = ()) -> None:
    """A gate refuses what stands at ``path``, once, and ``diff`` names it at the highest risk. All gates ask the same
    function, so paths take turns.
    """
    for gate in gates or (COMMANDS[crc32(path.encode()) % len(COMMANDS)],):
        code, said = answer(root, *gate)
        assert code == 1, said
        assert said.count(f"{path}: error: ") == 1, said
        assert words in said
        assert "[output-foreign]" in said
    told = diff(root)
    assert told.code == 1
    assert path in told.out
    assert "\nrisk: high - " in told.out


def passed(root: Path) -> None:
    """No gate says anything, and neither does ``diff``."""
    for gate in COMMANDS:
        code, said = answer(root, *gate)
        assert (code, "[" in said) == (0, False), said
    assert diff(root).out.endswith("risk: none - nothing changes\n")


class TestWhatToolsRead:
    @pytest.mark.parametrize(
        ("name", "words"),
        [
            (".argocd-source.yaml", "Argo CD merges it"),
            (".argocd-source-prod.yaml", "Argo CD merges it"),
            (".sourceignore", "Flux leaves out"),
            ("queues/.sourceignore", "Flux leaves out"),
            ("Kustomization", "two kustomizations"),
            ("kustomization.yml", "two kustomizations"),
            ("queues/kustomization.yaml", "kustomize builds"),
            ("Chart.yaml", "Helm chart"),
            ("zChart.yaml", "Helm chart"),
            ("values.yaml", "applies all of the folder"),
            ("main.jsonnet", "Argo CD runs it"),
            ("lib.libsonnet", "Argo CD runs it"),
            ("evil.yaml", "applies all of the folder"),
            ("evil.YML", "applies all of the folder"),
            ("evil.json", "applies all of the folder"),
            ("preview/evil.yaml", "applies all of the folder"),
            (".hidden/evil.yaml", "applies all of the folder"),
            ("workflows/train/.hidden/evil.yaml", "applies all of the folder"),
            ("workflows/train/evil.yaml", "applies all of the folder"),
            ("new/evil.yaml", "applies all of the folder"),
            ("plugin.star", "plugin of Argo CD"),
            (".krmignore", "plugin of Argo CD"),
            (".helmignore", "plugin of Argo CD"),
            ("Makefile", "plugin of Argo CD"),
        ],
    )
    def test_a_file(self, team: Path, name: str, words: str) -> None:
        write(team, {f"manifests/{name}": PATCH})
        refused(team, f"manifests/{name}", words)

    def test_each_gate(self, team: Path) -> None:
        write(team, {"manifests/evil.yaml": EVIL})
        refused(team, "manifests/evil.yaml", "applies all of the folder", COMMANDS)

    @pytest.mark.parametrize("folder", ["platform", "pools/team", "pools/new", "preview", "platform/queues", "."])
    def test_the_sharded_layout(self, repository: Path, folder: str) -> None:
        made(repository, "  layout: sharded\n")
        path = os.path.normpath(f"manifests/{folder}/.argocd-source.yaml")
        write(repository, {path: PATCH})
        refused(repository, path)

    @pytest.mark.parametrize("folder", ["prod", "lab", "new", "."])
    def test_each_backend(self, repository: Path, folder: str) -> None:
        made(repository, TWO, "prod")
        path = os.path.normpath(f"manifests/{folder}/evil.yaml")
        write(repository, {path: EVIL})
        refused(repository, path)

    def test_check_of_one_backend_looks_at_its_folder(self, repository: Path) -> None:
        write(made(repository, TWO, "prod"), {"manifests/prod/evil.yaml": EVIL})
        assert kubectl_tas("check", "-C", repository, "--backend", "prod").code == 1
        assert kubectl_tas("check", "-C", repository, "--backend", "lab").code == 0

    def test_above_the_output(self, repository: Path) -> None:
        made(repository, "  output: deploy/cluster\n")
        write(repository, {"deploy/.sourceignore": "/cluster/kustomization.yaml\n"})
        refused(repository, "deploy/.sourceignore", "Flux leaves out")

    def test_above_the_repository_up_to_that_of_git(self, tmp_path: Path) -> None:
        write(tmp_path, {".sourceignore": "team\n"})
        root = made(tmp_path / "git/team", top=tmp_path / "git")
        passed(root)
        write(tmp_path / "git", {".sourceignore": "/team/manifests/kustomization.yaml\n"})
        refused(root, "../.sourceignore", "Flux leaves out")

    def test_a_link_to_a_file_and_to_a_folder(self, team: Path) -> None:
        write(team, {"elsewhere/x.txt": EVIL})
        (team / "manifests/notes.md").symlink_to("../elsewhere/x.txt")
        refused(team, "manifests/notes.md", "symbolic link")
        (team / "manifests/notes.md").unlink()
        (team / "manifests/more").symlink_to("../elsewhere")
        refused(team, "manifests/more", "symbolic link")

    def test_a_repository_in_the_folder(self, team: Path) -> None:
        write(team, {"manifests/more/.git": "gitdir: ../../elsewhere\n"})
        refused(team, "manifests/more/.git", "another repository")

    @pytest.mark.parametrize(
        "text",
        [
            '[submodule "x"]\n\tpath = manifests/more\n',
            '[submodule "x"] PATH="manifests/pools/new"\n',
            "[submodule]\npath = ./mani\\\nfests//more # words\n",
            "[submodule]\npath = manifests\n",
        ],
    )
    def test_a_submodule_in_the_folder(self, team: Path, text: str) -> None:
        """A checkout without submodules has an empty folder there, and Argo CD fills it."""
        write(team, {".gitmodules": text})
        refused(team, ".gitmodules", "from another repository")
        passed(write(team, {".gitmodules": text.replace("manifests", "elsewhere").replace("mani", "else")}))

    @pytest.mark.parametrize("path", ["evil.yaml", "queues/x.yaml", "preview/queue-x.yaml", "new/kustomization.yaml"])
    def test_a_forged_header(self, team: Path, path: str) -> None:
        """``check`` says it as a manifest that is not rendered, and ``render`` removes it."""
        write(team, {f"manifests/{path}": f"{MARK}tas.yaml\n{EVIL}"})
        for arguments in (("validate",), ("validate", "--base", "HEAD")):
            result = kubectl_tas(*arguments, "-C", team)
            assert (result.code, result.out.count("[output-foreign]")) == (1, 1)
        assert f"manifests/{path}" in diff(team).out
        assert kubectl_tas("check", "-C", team).code == 1
        assert kubectl_tas("render", "-C", team).code == 0
        passed(team)

    def test_a_file_that_bears_the_mark_is_said_once(self, team: Path) -> None:
        write(team, {"manifests/evil.yaml": f"{MARK}tas.yaml\n{EVIL}"})
        result = kubectl_tas("check", "-C", team)
        assert (result.code, "[output-foreign]" in result.out + result.err) == (1, False)
        (team / "manifests/evil.yaml").unlink()
        write(team, {"manifests/.argocd-source.yaml": f"{MARK}tas.yaml\n{PATCH}"})
        result = kubectl_tas("validate", "-C", team)
        assert (result.code, result.out.count("[output-foreign]")) == (1, 1)

    def test_many_documents_of_a_folder_are_one_finding(self, team: Path) -> None:
        write(team, {f"manifests/more/{name}.yaml": EVIL for name in "abc"})
        result = kubectl_tas("validate", "-C", team)
        assert result.out.count(": error: ") == 1
        assert "likewise (manifests/more/c.yaml)" in result.out

    @pytest.mark.parametrize("output", ["json", "sarif", "github", "gitlab", "junit"])
    def test_the_formats_of_check(self, team: Path, output: str) -> None:
        write(team, {"manifests/evil.yaml": EVIL})
        result = kubectl_tas("check", "-C", team, "-o", output)
        assert (result.code, "output-foreign" in result.out) == (1, True)


class TestWhatIsHarmless:
    def test_no_tool_reads_it(self, team: Path) -> None:
        names = (
            *("README.md", "README", "OWNERS", "OWNERS_ALIASES", "CODEOWNERS", "LICENSE", "NOTICE", "queues/.gitkeep"),
            *(".gitignore", ".keep", ".editorconfig", ".DS_Store", "notes.txt", "notes.rst", "notes.adoc", "a.png"),
            *("picture.svg", "a.jpg", "a.jpeg", "a.gif", "a.yaml~", "a.swp", "a.orig", "a.rej", "a.bak"),
        )
        passed(write(team, {f"manifests/{name}": "words\n" for name in names}))

    @pytest.mark.parametrize("folder", ["", "manifests/"])
    def test_attributes_that_change_no_manifest(self, team: Path, folder: str) -> None:
        lines = (
            "* text=auto eol=lf",
            "*.yaml diff=yaml merge merge=text linguist-language=YAML !diff -linguist-generated",
            "*.yaml linguist-generated=false -merge merge=binary",
            "*.png filter=lfs -text -diff",
            "/*.lock linguist-generated",
            "# *.yaml ident",
        )
        passed(write(team, {f"{folder}.gitattributes": "".join(f"{line}\n" for line in lines)}))

    def test_attributes_of_another_folder(self, team: Path) -> None:
        other = "docs/** filter=lfs\n/manifest/* ident\nworkflows/data/** -diff\n/*.json linguist-generated\n"
        passed(write(team, {".gitattributes": other, "workflows/data/.gitattributes": "* -diff merge=union\n"}))

    @pytest.mark.parametrize(
        "text",
        [
            "*.yaml ident\n",
            "* working-tree-encoding=UTF-7\n",
            "*.y?ml filter=x\n",
            "manifests/** filter=x\n",
            "/manifests/queues/* text ident\n",
            "[attr]quiet ident\n*.yaml quiet\n",
            '"manifests/queues/*" ident\n',
        ],
    )
    def test_attributes_that_change_manifests(self, team: Path, text: str) -> None:
        """``$Id: ...$`` is one thing in the checkout that CI judges, and another in the commit that Flux reads."""
        write(team, {".gitattributes": text})
        refused(team, ".gitattributes", "git checks a manifest out with other bytes")


HIDING = ("-diff", "binary", "linguist-generated", "linguist-generated=true", "gitlab-generated", "merge=union")
HIDING += ("merge=ours", "quiet")
PLACES = {
    "manifests": ("*", "*.yaml", "manifests/**", "/manifests/queues/*.yaml", "m*/**", '"manifests/*"'),
    "files in pools": ("*.yml", "pools/*", "/pools/team.yaml", "**/team.yaml", "p[^x]ols/*"),
    "files in subpools": ("subpools/**/*.yaml",),
    "tas.yaml": ("tas.yaml", "/tas.yaml", "t?s.*"),
    "requirements-tas.txt": ("*.txt", "requirements-*"),
    "files in .github": (".github/**", ".github/workflows/*.yaml"),
    ".gitlab-ci.yml": (".gitlab-ci.yml", "/.gitlab*"),
    "docs/CODEOWNERS": ("CODEOWNERS", "docs/*", "**/CODEOWNERS"),
    ".gitattributes": (".gitattributes", "/.git*"),
}


class TestWhatReviewersDoNotSee:
    """A change of what affects other teams is shown to those who approve it, and merged with a conflict."""

    @pytest.fixture
    def team(self, team: Path) -> Path:
        files = ("requirements-tas.txt", ".github/workflows/ci.yaml", ".gitlab-ci.yml", "docs/CODEOWNERS")
        write(team, dict.fromkeys(files, "x\n"))
        commit(team)
        return team

    def hidden(self, root: Path, path: str, words: str) -> None:
        result = kubectl_tas("validate", "--strict", "-C", root)
        assert result.code == 1, result
        assert "[review-hidden]" in result.out
        assert f"{path}:" in result.out
        assert words in result.out
        assert "[review-hidden]" in diff(root).out

    @pytest.mark.parametrize(("attribute", "place"), [*zip(cycle(HIDING), PLACES, strict=False)])
    def test_an_attribute(self, team: Path, place: str, attribute: str) -> None:
        for pattern in PLACES[place]:
            write(team, {".gitattributes": f"[attr]quiet -diff\n# words\n{pattern} text {attribute}\n"})
            there = foreign(team, ConfigSpec())
            assert [(item.path, item.rule.code) for item in there] == [(".gitattributes", "review-hidden")], pattern
            assert place in there[0].effect or " and " in there[0].effect, pattern
            assert str(there[0].location) == f".gitattributes:3:{len(pattern) + 7}"

    @pytest.mark.parametrize("attribute", ["ident", "filter=lfs", "working-tree-encoding=UTF-7"])
    def test_other_bytes_of_a_file_of_admins(self, team: Path, attribute: str) -> None:
        write(team, {".gitattributes": f"/pools/* {attribute}\n"})
        self.hidden(team, ".gitattributes", f"{attribute} counts for files in pools: git checks out other bytes")

    @pytest.mark.parametrize("folder", ["pools", "subpools", ".github", "manifests", "manifests/queues", "pools/a/b"])
    def test_a_file_in_the_folder(self, team: Path, folder: str) -> None:
        write(team, {f"{folder}/.gitattributes": "* -diff\n"})
        self.hidden(team, f"{folder}/.gitattributes", "-diff counts for ")

    def test_a_macro_of_the_top(self, team: Path) -> None:
        write(team, {".gitattributes": "[attr]quiet -diff\n", "pools/.gitattributes": "* quiet\n"})
        self.hidden(team, "pools/.gitattributes", "quiet counts for files in pools")

    def test_above_the_repository(self, tmp_path: Path) -> None:
        root = made(tmp_path / "git/team", top=tmp_path / "git")
        write(tmp_path / "git", {".gitattributes": "/team/pools/* merge=union\n"})
        self.hidden(root, "../.gitattributes", "merge=union counts for files in pools: git merges two changes")

    def test_each_line_is_told(self, team: Path) -> None:
        write(team, {".gitattributes": "pools/* -diff\nmanifests/** linguist-generated\n"})
        assert kubectl_tas("validate", "-C", team).out.count("[review-hidden]") == 2

    def test_a_link_that_nobody_reads(self, team: Path) -> None:
        (team / "pools/.gitattributes").symlink_to("../tas.yaml")
        self.hidden(team, "pools/.gitattributes", "it is no plain file of at most 1 MiB")

    def test_the_config_keeps_it(self, repository: Path) -> None:
        made(repository, "  outputKeeps: [.gitattributes]\n")
        write(repository, {".gitattributes": "manifests/** linguist-generated\n"})
        assert [answer(repository, *gate)[0] for gate in COMMANDS] == [0, 0, 0]
        told = diff(repository)
        assert ".gitattributes" in told.out
        assert "\nrisk: high - " in told.out

    def test_the_config_of_the_base_counts(self, team: Path) -> None:
        write(team, {"tas.yaml": settings("  outputKeeps: [.gitattributes]\n"), ".gitattributes": "pools/* -diff\n"})
        result = kubectl_tas("validate", "--strict", "-C", team, "--base", "HEAD")
        assert result.code == 1
        assert "= help: Remove the attribute. spec.outputKeeps counts as it is at HEAD." in result.out


def found(root: Path, output: str = "manifests") -> list[tuple[str, str]]:
    """Path and effect of what is in or above the output folder of a repository without any Config."""
    return [(item.path, item.effect) for item in foreign(root, ConfigSpec(output=output))]


class TestWhatIsJudgedByItsContent:
    """Each file alone, without git: what stands there, and whether a tool obeys it."""

    ATTRIBUTES = "git checks a manifest out with other bytes than the commit has, and Flux reads the commit"
    MODULES = "Argo CD fills a folder of the output from another repository"
    LINK = "it is a symbolic link, which tools follow or leave out"

    def test_attributes_within_the_output(self, tmp_path: Path) -> None:
        write(tmp_path, {"manifests/.gitattributes": "*.yaml ident\n"})
        assert found(tmp_path) == [("manifests/.gitattributes", self.ATTRIBUTES)]

    @pytest.mark.parametrize(("pattern", "count"), [('"a.png b*"', 1), ("a.png", 0)])
    def test_a_quoted_pattern_may_mean_anything(self, tmp_path: Path, pattern: str, count: int) -> None:
        (tmp_path / "manifests").mkdir()
        write(tmp_path, {".gitattributes": f"{pattern} ident\n"})
        assert found(tmp_path) == [(".gitattributes", self.ATTRIBUTES)] * count

    @pytest.mark.parametrize(("name", "effect"), [(".gitattributes", ATTRIBUTES), (".gitmodules", MODULES)])
    def test_settings_of_git_that_are_not_read_count(self, tmp_path: Path, name: str, effect: str) -> None:
        write(tmp_path, {"manifests/README.md": "", "empty": "", name: "#" * (1024 * 1024 + 1)})
        assert found(tmp_path) == [(name, effect)]
        (tmp_path / name).write_text("#" * (1024 * 1024))
        assert found(tmp_path) == []
        (tmp_path / name).unlink()
        (tmp_path / name).symlink_to("empty")
        assert found(tmp_path) == [(name, effect)]
        (tmp_path / name).unlink()
        (tmp_path / name).mkdir()
        assert found(tmp_path) == [(name, effect)]

    @pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes")
    def test_a_pipe(self, tmp_path: Path) -> None:
        (tmp_path / "manifests").mkdir()
        os.mkfifo(tmp_path / "manifests/README.md")
        assert found(tmp_path) == [("manifests/README.md", "it is no plain file")]

    def test_what_a_kustomization_lists_is_left_to_check(self, tmp_path: Path) -> None:
        write(tmp_path, {"manifests/kustomization.yaml": f"{MARK}tas.yaml\nresources:\n- q.yaml\n- r.yaml\n"})
        write(tmp_path, {"manifests/q.yaml": EVIL})
        (tmp_path / "manifests/r.yaml").symlink_to("q.yaml")
        assert found(tmp_path) == [("manifests/r.yaml", self.LINK)]

    def test_a_kustomization_cannot_list_what_a_tool_reads(self, tmp_path: Path) -> None:
        listed = "resources:\n- .argocd-source.yaml\n"
        write(tmp_path, {"manifests/kustomization.yaml": f"{MARK}tas.yaml\n{listed}"})
        write(tmp_path, {"manifests/.argocd-source.yaml": PATCH})
        assert [path for path, _ in found(tmp_path)] == ["manifests/.argocd-source.yaml"]

    def test_folders_that_are_nested_too_deep(self, tmp_path: Path) -> None:
        (tmp_path / "manifests" / "/".join("a" * MAX_DEPTH)).mkdir(parents=True)
        assert found(tmp_path) == []
        (tmp_path / "manifests" / "/".join("a" * (MAX_DEPTH + 1))).mkdir()
        with pytest.raises(TasError, match=str(MAX_DEPTH)):
            found(tmp_path)


class TestWhatIsLeftBehind:
    def left(self, root: Path, old: str, new: str = "m2") -> list[str]:
        found = left_behind(root, ConfigSpec(output=old), ConfigSpec(output=new), None, "main")
        return [item.message for item in found]

    def test_one_file(self, tmp_path: Path) -> None:
        write(tmp_path, {"m/a.yaml": EVIL, "m/README.md": ""})
        assert self.left(tmp_path, "m") == [
            'the output goes from "m" to "m2" since main, and 1 file is left in "m", which Argo CD and Flux may '
            "still apply"
        ]

    def test_what_no_tool_reads(self, tmp_path: Path) -> None:
        assert self.left(write(tmp_path, {"m/README.md": ""}), "m") == []

    @pytest.mark.parametrize("old", [".m", "../m", "a\\b"])
    def test_a_folder_that_no_output_can_be(self, tmp_path: Path, old: str) -> None:
        write(tmp_path, {"m/a.yaml": EVIL, "top/.m/a.yaml": EVIL, "top/a\\b/a.yaml": EVIL})
        assert self.left(tmp_path / "top", old) == []
        assert self.left(write(tmp_path / "top", {"m/a.yaml": EVIL}), "m", old) == []

    def test_a_link_out_of_the_repository(self, tmp_path: Path) -> None:
        write(tmp_path, {"elsewhere/a.yaml": EVIL, "top/b": ""})
        (tmp_path / "top/m").symlink_to("../elsewhere")
        assert self.left(tmp_path / "top", "m") == []


class TestWhatChangedOfWhatIsKept:
    KEEPS = ("manifests/x.yaml",)

    def changes(self, root: Path, **before: bytes) -> list[tuple[str, str | None]]:
        """Path and change of what the Config keeps, where each name of ``before`` had this content."""
        there = foreign(root, ConfigSpec())
        known = {f"manifests/{name}.yaml": content for name, content in before.items()}
        return [(item.path, item.kind) for item in kept_changes(root, there, self.KEEPS, known)]

    def test_a_link_is_what_it_leads_to(self, tmp_path: Path) -> None:
        (tmp_path / "manifests").mkdir()
        (tmp_path / "manifests/x.yaml").symlink_to("../elsewhere")
        assert self.changes(tmp_path, x=b"../elsewhere") == []
        assert self.changes(tmp_path, x=b"../else") == [("manifests/x.yaml", "changed")]

    @pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes")
    def test_a_pipe_has_no_content(self, tmp_path: Path) -> None:
        (tmp_path / "manifests").mkdir()
        os.mkfifo(tmp_path / "manifests/x.yaml")
        assert self.changes(tmp_path, x=b"") == []
        assert self.changes(tmp_path, x=b"a") == [("manifests/x.yaml", "changed")]

    def test_only_what_went_is_dropped(self, tmp_path: Path) -> None:
        write(tmp_path, {"manifests/y.yaml": EVIL})
        assert self.changes(tmp_path, y=b"a", z=b"a") == [("manifests/z.yaml", "dropped")]

    def test_what_was_rendered_or_harmless_is_not_dropped(self, tmp_path: Path) -> None:
        rendered = f"{MARK}tas.yaml\n".encode()
        assert self.changes(tmp_path, z=rendered) == []
        harmless = {"manifests/README.md": b"a"}
        assert list(kept_changes(tmp_path, (), self.KEEPS, harmless)) == []


class TestWhatTheConfigKeeps:
    KEEPS = "  outputKeeps: [manifests/.argocd-source.yaml, manifests/extra/*.yaml, .sourceignore]\n"

    def files(self, root: Path) -> Path:
        return write(
            root, {"manifests/.argocd-source.yaml": PATCH, "manifests/extra/q.yaml": EVIL, ".sourceignore": "x"}
        )

    def test_it_is_let_alone(self, repository: Path) -> None:
        made(repository, self.KEEPS)
        commit(self.files(repository))
        passed(repository)
        write(repository, {"manifests/extra/more/q.yaml": EVIL})
        refused(repository, "manifests/extra/more/q.yaml")

    def test_a_pull_request_cannot_allow_itself(self, team: Path) -> None:
        self.files(write(team, {"tas.yaml": settings(self.KEEPS)}))
        assert kubectl_tas("check", "-C", team).code == 0
        result = kubectl_tas("validate", "-C", team, "--base", "HEAD")
        assert result.code == 1
        assert "spec.outputKeeps counts as it is at HEAD." in result.out
        told = diff(team).out
        assert told.splitlines()[2:5] == [
            "Settings that decide what is read and what is applied:",
            "  SETTING      BEFORE  AFTER",
            "  outputKeeps  -       manifests/.argocd-source.yaml, manifests/extra/*.yaml, .sourceignore",
        ]
        assert "3 files beside the manifests" in told.splitlines()[0]
        section = told.partition("Files that kubectl-tas did not write:\n")[2].splitlines()
        assert section[0].split() == ["FILE", "STATE", "WHAT", "IT", "DOES"]
        assert section[2].split()[:2] == ["manifests/.argocd-source.yaml", "refused"]
        assert "risk: high - the Config changes outputKeeps, " in told

    def test_what_a_tool_reads_is_named_in_full(self, repository: Path) -> None:
        made(repository, "  outputKeeps: [manifests/*.yml, manifests/.argocd-source*.yaml]\n")
        write(repository, {"manifests/kustomization.yml": ""})
        refused(repository, "manifests/kustomization.yml")
        (repository / "manifests/kustomization.yml").unlink()
        write(repository, {"manifests/.argocd-source.yaml": PATCH})
        refused(repository, "manifests/.argocd-source.yaml")

    @pytest.mark.parametrize("name", ["manifests/.argocd-source.yaml", "manifests/extra/q.yaml", ".sourceignore"])
    def test_its_changes_are_told(self, repository: Path, name: str) -> None:
        made(repository, self.KEEPS)
        write(repository, {name: "changed"})
        for change in ("made", "changed", "dropped"):
            told = diff(repository)
            assert (told.code, "risk: high" in told.out) == (1, True)
            assert any(name in line and change in line for line in told.out.splitlines()), told.out
            found = json.loads(diff(repository, "-o", "json").out)["beside"]
            assert [(item["path"], item["change"]) for item in found] == [(name, change)]
            commit(repository)
            passed(repository)
            if change == "made":
                write(repository, {name: "again"})
            else:
                (repository / name).unlink(missing_ok=True)

    def test_the_rule_is_lowered_by_the_base_alone(self, team: Path) -> None:
        write(team, {"tas.yaml": settings("  rules: {output-foreign: off}\n"), "manifests/evil.yaml": EVIL})
        assert kubectl_tas("check", "-C", team).code == 0
        assert kubectl_tas("validate", "-C", team, "--base", "HEAD").code == 1
        commit(team)
        assert kubectl_tas("validate", "-C", team, "--base", "HEAD").code == 0


class TestSettings:
    @pytest.mark.parametrize(
        ("before", "after", "name"),
        [
            ("", "  output: m2\n", "output"),
            ("", "  layout: sharded\n", "layout"),
            ("", "  sources: [pools, subpools, workflows]\n", "sources"),
            ("", "  backends: [{name: default, namespace: other}]\n", "backends"),
            (TWO, "  backends: [{name: prod, namespace: ml}, {name: lab, namespace: other}]\n", "backends"),
            (TWO, "  backends: [{name: lab, namespace: lab}, {name: prod, namespace: ml}]\n", "backends"),
        ],
    )
    def test_they_are_said_first(self, repository: Path, before: str, after: str, name: str) -> None:
        made(repository, before, "prod" if before else "")
        write(repository, {"tas.yaml": settings(after)})
        told = diff(repository)
        lines = told.out.splitlines()
        assert told.code == 1
        assert "1 setting" in lines[0]
        assert lines[2] == "Settings that decide what is read and what is applied:"
        assert lines[4].split()[0].startswith(name)
        assert lines[-1].startswith(f"risk: high - the Config changes {name}")
        found = json.loads(diff(repository, "-o", "json").out)
        assert found["settings"][0]["setting"].startswith(name)
        assert found["risk"]["level"] == "high"
        assert "Settings that decide" in diff(repository, "-o", "markdown").out.split("<details>")[1]
        assert "Settings that decide" in diff(repository, "-o", "html").out

    def test_files_of_the_old_folder_are_stale(self, team: Path) -> None:
        write(team, {"tas.yaml": settings("  output: m2\n"), QUEUE: EVIL})
        assert kubectl_tas("render", "-C", team).code == 0
        result = kubectl_tas("validate", "-C", team, "--base", "HEAD")
        assert result.code == 1
        assert "tas.yaml:4:11: error: " in result.out
        assert "[output-moved]" in result.out
        told = diff(team).out
        assert "risk: high - the Config changes output, 1 change must not be made" in told
        assert "manifests/kustomization.yaml" in told

    def test_a_folder_that_went_is_not_stale(self, team: Path) -> None:
        (team / "manifests").rename(team / "m2")
        write(team, {"tas.yaml": settings("  output: m2\n")})
        assert kubectl_tas("validate", "-C", team, "--base", "HEAD").code == 0

    @pytest.mark.parametrize("output", ["deploy", "manifests/prod"])
    def test_one_within_the_other(self, repository: Path, output: str) -> None:
        """What lies in the new folder is judged there."""
        before = {"deploy": "deploy/all", "manifests/prod": "manifests"}[output]
        made(repository, f"  output: {before}\n")
        write(repository, {"tas.yaml": settings(f"  output: {output}\n")})
        assert kubectl_tas("render", "-C", repository).code == 0
        found = kubectl_tas("validate", "-C", repository, "--base", "HEAD").out
        assert ("[output-moved]" in found) == (output == "manifests/prod")
        assert "[output-foreign]" not in found

    def test_a_config_that_went(self, repository: Path) -> None:
        made(repository, "  output: m2\n")
        (repository / "tas.yaml").unlink()
        assert "risk: high - the Config changes output" in diff(repository).out
        assert "[output-moved]" in kubectl_tas("validate", "-C", repository, "--base", "HEAD").out


class TestHiddenOutput:
    @pytest.mark.parametrize("output", [".github/workflows", "a/.hidden", ".m/x", "./.m", "a/.hidden/x"])
    def test_by_its_spelling(self, team: Path, output: str) -> None:
        write(team, {"tas.yaml": settings(f"  output: {output}\n")})
        for command in (("validate",), ("check",), ("render",)):
            result = kubectl_tas(*command, "-C", team)
            assert result.code == 1
            assert "tas.yaml:4:11: error: " in result.out + result.err
            assert "[invalid-value]" in result.out + result.err
        assert not (team / Path(output)).exists()

    def test_by_what_it_is(self, team: Path) -> None:
        (team / ".github/workflows").mkdir(parents=True)
        (team / "m").symlink_to(".github/workflows")
        write(team, {"tas.yaml": settings("  output: m\n")})
        result = kubectl_tas("render", "-C", team)
        assert (result.code, list((team / ".github/workflows").iterdir())) == (3, [])
        assert "hidden folder" in result.err


MAKERS = [
    ("keda.sh/v1alpha1", "ScaledObject"),
    ("apps.kruise.io/v1alpha1", "CloneSet"),
    ("kubernetes.crossplane.io/v1alpha2", "Object"),
    ("work.open-cluster-management.io/v1", "ManifestWork"),
    ("fluxcd.controlplane.io/v1", "ResourceSet"),
    ("kro.run/v1alpha1", "WebApplication"),
    ("monitoring.coreos.com/v1", "Prometheus"),
    ("external-secrets.io/v1", "ExternalSecret"),
    ("k8s.cni.cncf.io/v1", "NetworkAttachmentDefinition"),
    ("v1", "Endpoints"),
]


class TestCompanions:
    @pytest.mark.parametrize(("version", "kind"), MAKERS, ids=[kind for _, kind in MAKERS])
    def test_a_kind_of_which_nobody_knows_what_it_makes(self, team: Path, version: str, kind: str) -> None:
        added = f"  companions: [{{apiVersion: {version}, kind: {kind}}}]\n"
        write(team, {"tas.yaml": settings(added)})
        write(team, {"workflows/x.yaml": f"apiVersion: {version}\nkind: {kind}\nmetadata: {{name: x}}\n"})
        result = kubectl_tas("validate", "-C", team, "--base", "HEAD")
        assert (result.code, result.out.count(": error: ")) == (1, 1)
        assert "tas.yaml:4:16: error: " in result.out
        assert "[companion-kind]" in result.out

    def test_a_kind_that_makes_pods_is_never_one(self, team: Path) -> None:
        write(team, {"tas.yaml": settings("  companions: [{apiVersion: keda.sh/v1alpha1, kind: ScaledJob}]\n")})
        result = kubectl_tas("validate", "-C", team)
        assert result.code == 1
        assert "it makes pods, which no quota would count [kind-elsewhere]" in result.out

    def test_the_config_of_the_base_allows_it(self, team: Path) -> None:
        added = "  companions: [{apiVersion: keda.sh/v1alpha1, kind: ScaledObject}]\n"
        lowered = "  rules: {companion-kind: off}\n"
        write(team, {"tas.yaml": settings(lowered + added)})
        assert kubectl_tas("validate", "-C", team).code == 0
        assert kubectl_tas("validate", "-C", team, "--base", "HEAD").code == 1
        write(team, {"tas.yaml": settings(lowered)})
        commit(team)
        write(team, {"tas.yaml": settings(lowered + added)})
        assert kubectl_tas("validate", "-C", team, "--base", "HEAD").code == 0

    @pytest.mark.parametrize(
        ("version", "kind"),
        [("monitoring.coreos.com/v1", "ServiceMonitor"), ("gateway.networking.k8s.io/v1", "HTTPRoute")],
    )
    def test_what_is_known_to_be_harmless(self, team: Path, version: str, kind: str) -> None:
        write(team, {"tas.yaml": settings(f"  companions: [{{apiVersion: {version}, kind: {kind}}}]\n")})
        assert kubectl_tas("validate", "-C", team, "--base", "HEAD").code == 0
