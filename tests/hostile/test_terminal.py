"""Tests that input reaches a terminal or a CI log only as plain text."""

from __future__ import annotations

import ast
import json
import os
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from kubectl_tas.cli import complete
from kubectl_tas.cli.main import cli
from kubectl_tas.report.style import BLUE, RESET, escaped, paint, printable, printable_lines
from tests.support.cli import Result, kubectl_tas, pool, subpool, write
from tests.support.golden import ROOT
from tests.support.history import commit
from tests.support.kubectl import FakeKubectl, pod_group, queue
from tests.support.pyyaml import safe_load_all
from tests.test_cli_terminal import on_terminal

EVIL = (
    "x\x1b[2J\x1b[1;31m\x1b]8;;http://e\x1b\\y\x07\x9b31m\x9d0;t\x9c\x7f\b\r\v\f\x85\u2028\u2029"
    "\u202e\u202a\u2066\u2069\u200e\u200f\u061c\u200b\u200d\u2060\ufeff\u00ad\U000e0041"
    "\n::error file=a::owned\n  ::stop-commands::z\n##[error]owned\n##vso[task.setvariable variable=a]b\n"
    "pools/team.yaml:1:1: error: forged [name-invalid]\nx"
)
"""What a terminal, a CI job or a person might take for something else."""
NAME = EVIL.replace("/", "|")
"""The same as the name of a file."""
SHORT = "e\x1b[2J\u202e\n::error::o\n"
RAW = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\U000e0000-\U000e0fff\ud800-\udfff]"
)
COMMAND = re.compile(r"^\s*::|##\[|##vso\[", re.MULTILINE)
FORGED = re.compile(r"^pools/team.yaml:1:1: error: forged", re.MULTILINE)
LEAVES = {
    "init": ["init {evil}"],
    "migrate": ["migrate --dry-run"],
    "validate": ["validate", "validate -o json", "validate {evil}", "validate --base {evil}", "validate --live"],
    "render": ["render", "render --to -", "render --backend {evil} --to -", "render --fail-on-change"],
    "check": ["check", "check -o json"],
    "diff": [f"diff --base HEAD -o {form}" for form in ("text", "json", "markdown", "html")]
    + ["diff --base {evil}", "diff HEAD --nodes {file}"],
    "fn": ["fn"],
    "fit": ["fit --all --nodes {file}", "fit {evil} --nodes {evil}", "fit --all --cluster-state {evil}"],
    "snapshot": [
        "snapshot --to {evil} --nodes {evil}",
        "snapshot {evil} --to x --nodes {file}",
        "snapshot w --to - --live",
    ],
    "nodes generate": ["nodes generate --racks 1 --pool {evil}", "nodes generate --topology {evil}"],
    "mcp": [],  # likewise: its answers are those of the other commands
    "lsp": [],  # it prints what its protocol says, and what it finds is what validate finds
    "version": ["version", "version -o json"],
    "help": ["help", "help pool list", "help {evil}"],
    "pool list": [f"pool list {flags}" for flags in ("", "-o wide", "-o json", "-o yaml", "-o csv", "--live")],
    "pool describe": [
        "pool describe {evil}",
        *(f"pool describe team -o {form}" for form in ("text", "tree", "mermaid", "dot", "svg", "html", "json")),
    ],
    "pool plan": [
        "pool plan --nodes {file} --grow 1",
        "pool plan {evil} --nodes {evil}",
        "pool plan --cluster-state {evil}",
    ],
    "pool share": ["pool share --gpus 8", "pool share {evil}", "pool share --gpus 8 --demand {evil}=1"],
    "workflow why": ["workflow why w --cluster-state {file}", "workflow why {evil}", "workflow why w --context {evil}"],
    "pool create": [
        "pool create new --quota 8 --dry-run",
        "pool create {evil} --quota 8",
        "pool create x --parent {evil}",
    ],
    "pool rename": ["pool rename team other --dry-run", "pool rename {evil} other", "pool rename team {evil}"],
    "pool remove": ["pool remove team --dry-run", "pool remove {evil}"],
    "workflow list": [f"workflow list {flags}" for flags in ("", "-o wide", "-o name", "-o json")],
    "subpool create": ["subpool create team {evil} --quota 1", "subpool create team c --quota 1 --dry-run"],
    "subpool update": ["subpool update team {evil} --quota 1", "subpool update team a --quota {evil}"],
    "subpool recreate": ["subpool recreate {evil} a"],
    "subpool retire": ["subpool retire team a --dry-run --used 0", "subpool retire team a", "subpool retire {evil} x"],
    "subpool drain": ["subpool drain --dry-run", "subpool drain --context {evil}"],
    "subpool list": ["subpool list", "subpool list -o json", "subpool list {evil}"],
    "topology list": [f"topology list {flags}" for flags in ("", "-o json", "--pool team", "--pool {evil}")],
    "topology describe": ["topology describe t", "topology describe {evil}"],
    "topology suggest": ["topology suggest --live", "topology suggest --live --pool {evil}"],
    "topology usage": [f"topology usage {flags}" for flags in ("", "--check", "--live", "--live --check", "-o json")],
    "cluster state": [
        "cluster state --to -",
        "cluster state --to {evil} --context {evil}",
        "cluster state --to - --backend {evil}",
    ],
    "report": ["report", "report --to {evil} --live", "report --to pools --title {evil}"],
    "import cluster": ["import cluster --to {evil}", "import cluster --cluster-state {evil}"],
    "import kueue": ["import kueue {file}", "import kueue {evil}", "import kueue --to {evil}"],
    "import osmo": ["import osmo {file}", "import osmo {evil}"],
    "explain": ["explain w", "explain {evil}"],
    "forecast": ["forecast --nodes {file}", "forecast {evil} --nodes {evil}", "forecast --now {evil} --assume {evil}"],
    "why": ["why w --cluster-state {file}", "why {evil}"],
    "doctor": ["doctor", "doctor --context {evil}"],
    "adopt": ["adopt {evil} --pool {evil} --dry-run", "adopt {file} --dry-run"],
    "workflow explain": [
        "workflow explain {evil}",
        *(f"workflow explain w -o {form}" for form in ("tree", "mermaid", "dot", "svg", "html", "json")),
    ],
    "admit": [
        "admit {file}",
        "admit {file} -o json",
        "admit {file} --live",
        "admit {evil}",
        "admit {file} --pool {evil}",
    ],
    "schema": ["schema", "schema Pool", "schema {evil}"],
    "rule": ["rule", "rule name-invalid", "rule {evil}"],
}
"""Calls of each command; ``{evil}`` stands for EVIL, ``{file}`` for a workflow in a file with such a name."""


def leaves(group: click.Group, above: tuple[str, ...] = ()) -> Iterator[str]:
    context = click.Context(group)
    for name in group.list_commands(context):
        _, command, _ = group.resolve_command(context, [name])
        if isinstance(command, click.Group):
            yield from leaves(command, (*above, name))
        else:
            yield " ".join((*above, name))


def test_every_command_is_tried() -> None:
    assert set(leaves(cli)) == set(LEAVES)


def assert_is_text(result: Result, *, is_data: bool = False) -> None:
    for text in (result.out, result.err):
        found = RAW.search(text)
        assert found is None, (found, text)
        if not is_data:
            assert COMMAND.search(text) is None, text
            assert FORGED.search(text) is None, text
    assert "internal error" not in result.err


def quoted(text: str) -> str:
    """A scalar of YAML; JSON's pairs of surrogates are none there."""
    return '"' + "".join(f"\\U{ord(char):08x}" if not char.isalnum() else char for char in text) + '"'


def workflow(value: str, name: str = "w") -> str:
    spec = {"name": name, "pool": "team", "priority": "LOW", "tasks": [{"name": "t", "image": "i", "args": [value]}]}
    return json.dumps({"workflow": spec}).replace("\x7f", "\\u007f")


TOPOLOGY = "apiVersion: grove.io/v1alpha1\nkind: ClusterTopology\nmetadata: {{name: {}}}\nspec: {{levels: [{}]}}\n"


def sound(root: Path) -> Path:
    """Nothing is wrong here, but every file is called like this, and every free text says it."""
    return write(
        root,
        {
            f"pools/{NAME}.yaml": pool(spec=f"  description: {quoted(EVIL)}\n"),
            f"subpools/{NAME}.yaml": subpool("a", 30),
            f"subpools/b{NAME}.yaml": subpool("b", 3, state="DELETING"),
            f"topologies/{NAME}.yaml": TOPOLOGY.format("t", "{domain: rack, key: example.com/rack}"),
            f"workflows/{NAME}.json": workflow(EVIL),
        },
    )


def broken(root: Path) -> Path:
    """Every name and every value that has rules says it."""
    evil = quoted(EVIL)
    level = f"{{domain: {evil}, key: {evil}, label: {evil}}}"
    clique = f"{{name: {evil}, topologyConstraint: {{packDomain: {evil}}}, spec: {{podSpec: {{}}}}}}"
    lacking = "apiVersion: tas/v1alpha1\nkind: Pool\nspec: {resources: {gpu: {guarantee: 1}}, "
    return write(
        root,
        {
            "tas.yaml": f"apiVersion: tas/v1alpha1\nkind: Config\nspec: {{clusterName: {evil}, output: {evil}}}\n",
            "pools/team.yaml": pool(),
            "pools/evil.yaml": pool(evil, spec=f"  {evil}: {evil}\n  topology: {evil}\n  backend: {evil}\n"),
            "pools/keys.yaml": f"{lacking}topologyKeys: [{level}]}}\nmetadata: {{name: {evil}}}\n",
            f"pools/{NAME}.yaml": "a: [\n",
            "subpools/a.yaml": subpool("a", 30),
            "subpools/evil.yaml": subpool(evil, evil, parent=evil, state=evil),
            "topologies/evil.yaml": TOPOLOGY.format(evil, level),
            "topologies/twice.yaml": TOPOLOGY.format(evil, level),
            "workflows/w.json": workflow("x"),
            "workflows/evil.json": workflow(EVIL, EVIL),
            "workflows/kind.yaml": f"apiVersion: {evil}\nkind: {evil}\n",
            "workflows/raw.yaml": "a: &\u202ex [\u202e\u200b, *\u202e, '\u2066']\nb: !\u202ey 1\n\u200b\u202e: 1\n",
            "workflows/set.yaml": "apiVersion: grove.io/v1alpha1\nkind: PodCliqueSet\n"
            f"metadata: {{name: {evil}, labels: {{kubectl-tas/pool: {evil}, {evil}: {evil}}}}}\n"
            f"spec: {{template: {{cliques: [{clique}]}}}}\n",
            "workflows/job.yaml": f"apiVersion: batch/v1\nkind: Job\nmetadata: {{name: {evil}, labels: "
            f"{{kubectl-tas/pool: {evil}, kai.scheduler/queue: {evil}}}, annotations: {{{evil}: {evil}}}}}\n"
            f"spec: {{{evil}: 1, parallelism: {evil}, template: {{spec: {{containers: [{{name: {evil}}}]}}}}}}\n",
        },
    )


def cluster(evil: str) -> list[dict[str, object]]:
    """A cluster of which every name says it."""
    constraint = {"topologyName": evil, "packDomain": evil}
    template = {"cliques": [{"name": "c", "topologyConstraint": constraint}]}
    return [
        queue("osmo-pool-default-team--a", 1),
        queue("osmo-pool-default-team--shared", 0),
        queue("osmo-pool-default-team--b", -1),
        queue(evil, 1),
        pod_group(evil, running=1),
        {"kind": "PodCliqueSet", "metadata": {"name": evil, "namespace": evil}, "spec": {"template": template}},
        {"kind": "ClusterTopology", "metadata": {"name": evil}, "spec": {"levels": [{"domain": evil, "key": evil}]}},
        {"kind": "ClusterTopology", "metadata": {"name": "t"}, "spec": {"levels": [{"domain": evil, "key": evil}]}},
    ]


@pytest.fixture(params=["sound", "broken"])
def root(request: pytest.FixtureRequest, repository: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The repository, in a folder with such a name, and a cluster beside it."""
    folder = repository / NAME
    folder.mkdir()
    {"sound": sound, "broken": broken}[request.param](folder)
    answer = repository / "answer.json"
    answer.write_text(json.dumps({"items": cluster(SHORT)}))
    FakeKubectl(repository, monkeypatch).runs(f"cat {answer}")
    return folder


@pytest.mark.parametrize("command", LEAVES)
def test_commands(command: str, root: Path) -> None:
    file = next((root / "workflows").glob("*.json"))
    for line in LEAVES[command]:
        words = [{"{evil}": EVIL, "{file}": str(file)}.get(word, word) for word in line.split(" ")]
        folder = () if command in ("schema", "rule", "init") else ("-C", root)
        result = kubectl_tas(*filter(None, words), *folder, cwd=root)
        assert_is_text(result, is_data="--to -" in line)


def test_the_sound_repository_is_sound(repository: Path) -> None:
    """Otherwise the test above would see nothing but refusals."""
    root = sound(repository)
    assert kubectl_tas("validate", "-C", root).code == 0
    assert kubectl_tas("render", "-C", root).out.count("wrote ") > 5
    assert "\\x1b[2J" in kubectl_tas("pool", "describe", "team", "-C", root).out
    assert "\\n\\x3a:" not in kubectl_tas("pool", "describe", "team", "-C", root).out, (
        "a colon is escaped in front only"
    )


def test_changes_of_a_revision(repository: Path) -> None:
    root = sound(repository)
    commit(root)
    for name in ("pools", "topologies", "subpools"):
        shutil.rmtree(root / name)
    broken(root)
    for arguments in ((), ("-o", "json")):
        result = kubectl_tas("validate", "--base", "HEAD", "-C", root, *arguments)
        assert result.code == 1
        assert_is_text(result)


def test_differences_of_committed_manifests(repository: Path) -> None:
    root = sound(repository)
    assert kubectl_tas("render", "-C", root).code == 0
    for path in (root / "manifests").rglob("*.yaml"):
        path.write_text(path.read_text() + EVIL)
    stray = next((root / "manifests").rglob("*.yaml"))
    (stray.parent / f"{NAME}.yaml").write_text(stray.read_text())
    result = kubectl_tas("check", "-C", root)
    assert result.code == 1
    assert_is_text(result)


@pytest.mark.parametrize("program", ["kubectl", "git"])
def test_what_other_programs_say(
    program: str, repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = sound(repository)
    (tmp_path / "said").write_text(EVIL)
    write(tmp_path, {f"bin/{program}": f"#!/bin/sh\ncat {tmp_path}/said >&2; cat {tmp_path}/said; exit 1\n"})
    (tmp_path / "bin" / program).chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path / "bin"), prepend=":")
    for command in (
        ("validate", "--base", EVIL),
        ("validate", "--live"),
        ("pool", "list", "--live"),
    ):
        assert_is_text(kubectl_tas(*command, "-C", root))


def test_files_that_are_no_json(repository: Path) -> None:
    root = sound(repository)
    (root / NAME).write_text(EVIL)
    for option in ("--cluster-state", "--kubeconfig", "--context"):
        assert_is_text(kubectl_tas("pool", "list", option, NAME, "-C", root, cwd=root))


def test_bytes_that_are_no_text(repository: Path) -> None:
    folder = os.fsencode(sound(repository) / "pools")
    Path(os.fsdecode(folder + b"/\xff\xfe\x9b.yaml")).write_text("a: [\n")
    for arguments in ((), ("-o", "json")):
        assert_is_text(kubectl_tas("validate", "-C", repository, *arguments))


def test_wrong_usage() -> None:
    evil = EVIL
    for words in (
        (evil,),
        (f"--{evil}",),
        ("render", f"--{evil}"),
        ("pool", "list", "-o", evil),
        ("admit", "a", "--used", evil),
    ):
        result = kubectl_tas(*words)
        assert result.code == 2
        assert_is_text(result)


def test_a_folder_that_is_not_there() -> None:
    result = kubectl_tas("validate", "-C", EVIL)
    assert result.code == 3
    assert_is_text(result)


class TestJson:
    """JSON says the same as ever; only what a terminal would obey stands in it as an escape."""

    def test_values_are_the_same(self) -> None:
        text = json.dumps({EVIL: [EVIL, "é🚀漢"]}, indent=2, ensure_ascii=False)
        assert json.loads(escaped(text)) == json.loads(text)
        assert "é🚀漢" in escaped(text)
        assert RAW.search(escaped(text)) is None
        assert COMMAND.search(escaped(text)) is None

    def test_nothing_to_escape(self) -> None:
        text = json.dumps({"a": ["é", '"\\', "a::b", "# [", "::x"]}, indent=2, ensure_ascii=False)
        assert escaped(text) == text

    def test_paths(self, repository: Path) -> None:
        write(repository, {f"pools/{NAME}.yaml": "a: [\n"})
        told = json.loads(kubectl_tas("validate", "-o", "json", "-C", repository).out)
        assert told["diagnostics"][0]["location"]["path"] == f"pools/{NAME}.yaml"


class TestManifests:
    def test_values_reach_the_pod(self, repository: Path) -> None:
        evil = EVIL
        out = kubectl_tas("render", "--to", "-", "-C", sound(repository)).out
        assert RAW.search(out) is None
        pod = next(item for item in safe_load_all(out) if item["kind"] == "Pod")
        assert pod["spec"]["containers"][0]["args"] == [evil]

    @pytest.fixture
    def commented(self, repository: Path) -> Path:
        job = "apiVersion: batch/v1\nkind: Job\nmetadata: {name: j, labels: {kubectl-tas/pool: team}}\n"
        job += "spec: {template: {spec: {restartPolicy: Never, containers: [{name: c, image: i}]}}} # \u202e\n"
        return write(repository, {"pools/team.yaml": pool(), "workflows/j.yaml": job})

    def test_comments_stay_in_a_pipe(self, commented: Path) -> None:
        assert "# \u202e\n" in kubectl_tas("render", "--to", "-", "-C", commented).out

    def test_comments_on_a_terminal(self, commented: Path) -> None:
        code, shown = on_terminal("render", "--to", "-", "-C", commented)
        assert (code, "# \\u202e\n" in shown, "\u202e" in shown) == (0, True, False)


class TestColour:
    def test_only_ours(self, repository: Path) -> None:
        code, shown = on_terminal("validate", "-C", broken(repository))
        assert code == 1
        rest = re.sub("\x1b\\[(?:0|1|2|34|1;31|1;33|1;36)m", "", shown.replace("\r", ""))
        assert rest != shown
        assert RAW.search(rest) is None
        assert kubectl_tas("validate", "-C", repository).out == rest

    def test_paint(self) -> None:
        painted = paint("a", BLUE, colour=True)
        assert printable_lines(f"{painted}\x1b[2J\n", colour=True) == f"{painted}\\x1b[2J\n"
        assert printable_lines(painted) == f"\\x1b[34ma{RESET}".replace("\x1b", "\\x1b")


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a b é 漢 🚀 ā::b #[", "a b é 漢 🚀 ā::b #["),
        ("::error::x", "\\x3a:error::x"),
        ("  ::error::x", "  \\x3a:error::x"),
        ("\u00a0\u3000::error::x", "\u00a0\u3000\\x3a:error::x"),
        ("a ##[error]", "a \\x23#[error]"),
        ("a ###[error]", "a #\\x23#[error]"),
        ("\t\n\x1b\x9b\u202e\U000e0041\ud800", "\\t\\n\\x1b\\x9b\\u202e\\U000e0041\\ud800"),
    ],
)
def test_one_line(text: str, shown: str) -> None:
    assert printable(text) == shown
    assert printable(shown) == shown


class TestCompletion:
    def test_names_that_are_no_words(self, repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """Shells split the choices at line breaks, and some evaluate what they get."""
        names = ["te\nam", "$(id)", "`id`", "a b", ":4", "x\ty", "é", "a;b", SHORT]
        write(repository, {f"pools/{number}.yaml": pool(quoted(name)) for number, name in enumerate(names)})
        write(repository, {"pools/team.yaml": pool("team"), "workflows/w.json": workflow("x")})
        monkeypatch.chdir(repository)
        assert offered("pool", "describe", "") == ["team"]
        assert offered("workflow", "explain", "") == ["w"]

    def test_options_stay(self) -> None:
        assert offered("pool", "list", "--al") == ["--all"]


def offered(*words: str) -> list[str]:
    return [choice.value for choice in complete.complete(list(words))[0]]


def test_nothing_else_prints() -> None:
    """Text leaves the program in one module; the bar of progress has no text but our own."""
    for path in sorted((ROOT / "kubectl_tas").rglob("*.py")):
        if path.name in ("terminal.py", "process.py") or path == ROOT / "kubectl_tas/cli/complete.py":
            continue  # completion prints plain names alone, without what terminals take a while to import
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if not isinstance(node, ast.Call):
                continue
            called = ast.unparse(node.func)
            assert called not in ("print", "input"), f"{path}:{node.lineno}"
            assert not re.fullmatch(r"click\.(echo\w*|secho|style|confirm|prompt|progressbar)", called), path
            assert not re.fullmatch(r"(sys\.(__)?std(out|err)(__)?|stream|out)(\.buffer)?\.write(lines)?", called), path
