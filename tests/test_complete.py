"""Tests ``kubectl_complete-tas``: completions of the last word for kubectl's shells, in cobra's protocol."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from kubectl_tas.cli import complete as complete_module
from kubectl_tas.cli import options
from kubectl_tas.cli.complete import DIRECTIVES, OFFERS, contexts, text
from kubectl_tas.cli.main import COMMANDS
from kubectl_tas.cli.options import Word
from tests.support.cli import kubectl_tas, pool, subpool, write
from tests.support.history import commit, git
from tests.support.process import call

NO_FILES, FILES, SUFFIXES, FOLDERS, IN_ORDER = ":4", ":0", ":8", ":16", ":36"
"""The last line: what else the shell offers."""


def complete(*words: str, cwd: Path | None = None, **extra: str) -> list[str]:
    """The lines that are printed."""
    result = call("kubectl_complete-tas", *words, cwd=cwd, **extra)
    assert (result.code, result.err) == (0, "")
    return result.out.splitlines()


def choices(*words: str, cwd: Path | None = None, **extra: str) -> list[str]:
    """The same without what the choices are."""
    return [line.partition("\t")[0] for line in complete(*words, cwd=cwd, **extra)]


@pytest.fixture
def small(repository: Path) -> Path:
    """The repository that ``init`` writes, with a subpool of each state."""
    assert kubectl_tas("init", repository).code == 0
    states = {"old": "ARCHIVED", "leaving": "DELETING"}
    write(repository, {f"subpools/{name}.yaml": subpool(name, 4, state=state) for name, state in states.items()})
    return write(repository, {"pools/plain.yaml": pool("plain")})


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["va"], ["validate", IN_ORDER]),
        (["pool", ""], ["create", "describe", "list", "plan", "remove", "rename", "share", IN_ORDER]),
        (["pool", "rename", ""], ["plain", "team", NO_FILES]),
        (["pool", "rename", "team", ""], [NO_FILES]),
        (["pool", "list", "team", "team--r"], ["team--research", NO_FILES]),
        (["pool", "list", "team", "t"], ["team--leaving", "team--old", "team--research", NO_FILES]),
        (["pool", "describe", "nobody"], [NO_FILES]),
        (["subpool", "create", ""], ["plain", "team", NO_FILES]),
        (["subpool", "create", "team", ""], [NO_FILES]),
        (["subpool", "update", ""], ["team", "team--research", NO_FILES]),
        (["subpool", "retire", ""], ["team", "team--research", NO_FILES]),
        (["subpool", "retire", "team", ""], ["research", NO_FILES]),
        (["subpool", "retire", "plain", ""], [NO_FILES]),
        (["subpool", "recreate", ""], ["team", "team--old", NO_FILES]),
        (["subpool", "recreate", "Team", ""], ["old", NO_FILES]),
        (["admit", "x.yaml", "--pool", "team"], ["team", "team--research", NO_FILES]),
        (["admit", "--priority", ""], ["HIGH", "NORMAL", "LOW", IN_ORDER]),
        (["workflow", "explain", ""], ["train", FILES]),
        (["workflow", "explain", "./w"], [FILES]),
        (["workflow", "list", "-o", "n"], ["name", IN_ORDER]),
        (["render", "--backend", ""], ["prod", NO_FILES]),
        (["render", "--backend=p"], ["prod", NO_FILES]),
        (["render", "--fail"], ["--fail-on-change", NO_FILES]),
        (["render", "--strict", "--str"], [NO_FILES]),
        (["render", "--set", "a=b", "--set"], ["--set", "--set-string", NO_FILES]),
        (["validate", ""], ["yaml", "yml", "json", SUFFIXES]),
        (["validate", "pools", "--", "-"], ["yaml", "yml", "json", SUFFIXES]),
        (["validate", "-o", "js"], ["json", IN_ORDER]),
        (["validate", "--output=g"], ["github", "gitlab", IN_ORDER]),
        (["validate", "--kubeconfig", ""], [FILES]),
        (["validate", "-C", ""], [FOLDERS]),
        (["init", ""], [FOLDERS]),
        (["schema", "po"], ["pod", "podcliqueset", "podgang", "podgroup", "podtemplate", "pool", NO_FILES]),
        (["rule", "yaml-t"], ["yaml-tag", NO_FILES]),
        (["help", "subpool", "d"], ["drain", NO_FILES]),
        (["--ver"], ["--version", NO_FILES]),
        (["--color", ""], ["auto", "always", "never", IN_ORDER]),
        (["nonsense", "--x"], [NO_FILES]),
        (["nonsense", "more", ""], [NO_FILES]),
        (["version", ""], [NO_FILES]),
    ],
    ids=str,
)
def test_choices(small: Path, words: list[str], expected: list[str]) -> None:
    assert choices(*words, cwd=small) == expected


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["pool", "rename", "--", ""], ["plain", "team", NO_FILES]),
        (["pool", "rename", "--", "-x", ""], [NO_FILES]),
        (["pool", "rename", "--", "--", ""], [NO_FILES]),
        (["pool", "rename", "-", ""], [NO_FILES]),
        (["pool", "rename", "--nope", ""], ["plain", "team", NO_FILES]),
        (["pool", "list", "-ojson", "te"], ["team", "team--leaving", "team--old", "team--research", NO_FILES]),
        (["pool", "list", "-ojson", "-"], None),
        (["subpool", "retire", "a", "team", ""], [NO_FILES]),
        (["pool", "list", "x=te"], [NO_FILES]),
    ],
    ids=str,
)
def test_words_of_a_line(
    small: Path, words: list[str], expected: list[str] | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What stands before the word decides which one it is."""
    monkeypatch.chdir(small)
    found = [line.partition("\t")[0] for line in text(words).splitlines()]
    if expected is None:
        assert "--output" not in found
        assert "--backend" in found
    else:
        assert found == expected


def test_what_a_choice_is(small: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lines = subpool("bare", 4).replace("  quota: 4\n", "")
    topology = "apiVersion: grove.io/v1alpha1\nkind: ClusterTopology\nmetadata: {name: racks}\n"
    write(small, {"subpools/bare.yaml": lines, "topologies/racks.yaml": topology})
    monkeypatch.chdir(small)
    found = text(["subpool", "update", ""]).splitlines()
    assert "team--bare\tsubpool: ACTIVE" in found
    assert any(line.startswith("team--research\tsubpool: ACTIVE, quota ") for line in found)
    assert "racks\ttopologies/racks.yaml" in text(["topology", "describe", ""]).splitlines()


def test_what_else_a_choice_is(small: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    job = "kind: {}\nmetadata: {{name: both}}\n"
    write(small, {"workflows/b.yaml": f"{job.format('Job')}---\n{job.format('JobSet')}"})
    monkeypatch.chdir(small)
    assert text(["workflow", "explain", "b"]) == f"both\t2 of that name\n{FILES}\n"
    assert text(["workflow", "explain", "Job/"]) == f"Job/both\tworkflows/b.yaml\n{FILES}\n"
    assert text(["render", "--backend", ""]) == f"prod\tbackend\n{NO_FILES}\n"
    assert text(["rule", "yaml-t"]) == f"yaml-tag\tA key or a value has a YAML tag such as str.\n{NO_FILES}\n"
    assert text(["schema", "topologyb"]) == f"{NO_FILES}\n"
    assert text(["subpool", "retire", "team", ""]).startswith("research\tsubpool: ACTIVE, quota ")


@pytest.mark.parametrize("length", [79, 80, 81])
def test_a_long_description_is_cut(length: int, small: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    told = "x" * (length - len("pool: "))
    write(small, {"pools/plain.yaml": pool("plain", spec=f"  description: {told}\n")})
    monkeypatch.chdir(small)
    (line, _) = text(["pool", "describe", "pl"]).splitlines()
    about = f"pool: {told}"
    assert line == f"plain\t{about if length <= 80 else about[:77] + '...'}"


def test_an_error_offers_nothing_unless_a_developer_asks(
    monkeypatch: pytest.MonkeyPatch, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    monkeypatch.setattr(complete_module, "text", lambda _: 1 // 0)
    monkeypatch.delenv("KUBECTL_TAS_DEBUG", raising=False)
    complete_module.main()
    sys.stdout.flush()
    assert capfdbinary.readouterr().out == b":4\n"
    monkeypatch.setenv("KUBECTL_TAS_DEBUG", "1")
    with pytest.raises(ZeroDivisionError):
        complete_module.main()


def test_contexts_of_a_named_file(tmp_path: Path) -> None:
    (tmp_path / "config").write_text("contexts:\n- name: prod\n- name: lab\n")
    asked = ["validate", "--kubeconfig", f"{tmp_path}/config", "--context", ""]
    assert text(asked) == f"prod\tcontext\nlab\tcontext\n{NO_FILES}\n"


@pytest.mark.parametrize("words", [[], [""]])
def test_commands(words: list[str]) -> None:
    assert choices(*words) == [*COMMANDS, IN_ORDER]


def test_schemas() -> None:
    assert choices("schema", "") == [*kubectl_tas("schema").out.splitlines(), NO_FILES]


def test_all_types_of_words_are_known() -> None:
    words = [word for word in vars(options).values() if isinstance(word, Word)]
    assert {word.name for word in words if not word.shell} - {"rule", "schema"} == OFFERS.keys() - {"submission"}
    assert {word.shell for word in words} == DIRECTIVES.keys()


class TestDescriptions:
    def test_of_names(self, small: Path) -> None:
        found = complete("pool", "describe", "", cwd=small)
        assert found[:2] == [
            "plain\tpool: 100 GPUs",
            "team\tpool: Shared training pool",
        ]
        write(small, {"pools/zero.yaml": "apiVersion: tas/v1alpha1\nkind: Pool\nmetadata: {name: zero}\nspec: {}\n"})
        assert complete("pool", "describe", "zer", cwd=small)[0] == "zero\tpool"
        assert complete("subpool", "recreate", "team--", cwd=small)[0] == "team--old\tsubpool: ARCHIVED, quota 4"
        assert complete("workflow", "explain", "", cwd=small)[0] == "train\tWorkflow in workflows/train.yaml"

    def test_of_options_and_commands(self) -> None:
        assert complete("render", "--strict") == ["--strict\tWarnings fail the run too.", NO_FILES]
        assert complete("check") == [
            "check\tCheck that the committed manifests are up to date.",
            IN_ORDER,
        ]

    def test_hold_nothing_that_a_shell_may_take_for_more(self, small: Path) -> None:
        write(small, {"pools/plain.yaml": pool("plain", spec="  description: a\x1b(31m `id` $(id) \\ \t | é\n")})
        assert complete("pool", "describe", "pl", cwd=small)[0] == "plain\tpool: a(31m id (id)    é"

    @pytest.mark.parametrize("name", ["a$(id)", "a b", "a;b", "-`id`"])
    def test_odd_names_are_not_offered(self, small: Path, name: str) -> None:
        write(small, {"pools/odd.yaml": pool(f"'{name}'")})
        assert name not in choices("pool", "describe", "", cwd=small)


class TestRepository:
    @pytest.mark.parametrize(
        "words", [["-C", "{}", "pool", "rename"], ["pool", "rename", "-C", "{}"], ["-C{}", "pool", "rename"]]
    )
    def test_of_another_folder(self, small: Path, tmp_path: Path, words: list[str]) -> None:
        found = choices(*(word.format(small) for word in words), "", cwd=tmp_path)
        assert found == ["plain", "team", NO_FILES]

    def test_of_the_environment(self, small: Path, tmp_path: Path) -> None:
        assert "team" in choices("pool", "rename", "", cwd=tmp_path, KUBECTL_TAS_DIRECTORY=str(small))

    def test_from_a_folder_of_it(self, small: Path) -> None:
        assert "team" in choices("pool", "rename", "", cwd=small / "workflows")

    @pytest.mark.parametrize("text", ["a: [", "\t", "kind: Pool", "- 1"])
    def test_with_errors(self, small: Path, text: str) -> None:
        write(small, {"pools/broken.yaml": text})
        assert choices("pool", "rename", "", cwd=small) == ["plain", "team", NO_FILES]

    @pytest.mark.parametrize("words", [["-C", "/nonexistent", "pool", "describe", ""], ["pool", "describe", ""]])
    def test_none(self, tmp_path: Path, words: list[str]) -> None:
        assert complete(*words, cwd=tmp_path) == [NO_FILES]

    def test_names_that_two_kinds_share(self, small: Path) -> None:
        job = "kind: {}\nmetadata: {{name: both}}\n"
        write(small, {"workflows/b.yaml": f"{job.format('Job')}---\n{job.format('JobSet')}"})
        assert choices("workflow", "explain", "", cwd=small) == ["both", "Job/both", "JobSet/both", "train", FILES]


def test_revisions(small: Path) -> None:
    commit(small)
    git(small, "tag", "v1.0")
    expected = ["HEAD\twhat is checked out", "main\tbranch", "v1.0\ttag", NO_FILES]
    assert complete("validate", "--base", "", cwd=small) == expected
    assert complete("validate", "--base=v", cwd=small) == ["v1.0\ttag", NO_FILES]


class TestContexts:
    CONFIG = """\
apiVersion: v1
clusters:
- cluster: {server: https://example.com}
  name: cluster
contexts:
- context:
    cluster: cluster
    user: user
  name: prod
- context: {cluster: cluster, user: user}
  name: "gpu@eu"
current-context: prod
users:
- name: user
  user: {}
"""

    def test_of_the_environment(self, tmp_path: Path) -> None:
        one, two = tmp_path / "one", tmp_path / "two"
        one.write_text(self.CONFIG)
        two.write_text(self.CONFIG.replace("prod", "test"))
        found = choices("subpool", "drain", "--context", "", KUBECONFIG=f"{one}:/nonexistent:{two}")
        assert found == ["prod", "gpu@eu", "test", NO_FILES]

    def test_of_the_option(self, tmp_path: Path) -> None:
        (tmp_path / "config").write_text(self.CONFIG)
        words = ["validate", "--kubeconfig", str(tmp_path / "config"), "--context", "p"]
        assert choices(*words, KUBECONFIG="/nonexistent") == ["prod", NO_FILES]


CONFIG = "apiVersion: v1\ncontexts:\n- context: {cluster: c}\n  name: %s\n- name: both\nusers:\n- name: ada\n"


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home folder with a file of kubectl, and no other."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("KUBECONFIG", raising=False)
    (tmp_path / ".kube").mkdir()
    (tmp_path / ".kube/config").write_text(CONFIG % "home")
    return tmp_path


def test_contexts_of_the_home_folder(home: Path) -> None:
    assert contexts(None) == ["home", "both"]


def test_contexts_of_all_files_of_the_variable(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """kubectl skips an empty name and a file that is not there."""
    (home / "one").write_text(CONFIG % "one")
    (home / "two").write_text(CONFIG % '"two"')
    (home / "none").write_text("apiVersion: v1\nusers:\n- name: ada\n")
    monkeypatch.setenv("KUBECONFIG", f"{home}/one::{home}/gone:{home}/none:{home}/two")
    monkeypatch.chdir(home)
    assert contexts(None) == ["one", "both", "two"]


def test_contexts_of_a_named_file_alone(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (home / "named").write_text(CONFIG % "named")
    monkeypatch.setenv("KUBECONFIG", f"{home}/.kube/config")
    assert contexts(f"{home}/named") == ["named", "both"]
