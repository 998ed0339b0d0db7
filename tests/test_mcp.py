"""Tests ``mcp`` with the SDK's client, which checks each answer against the schema of its tool."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
import time
from itertools import islice
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from mcp import MCPError

from kubectl_tas.agents import patching
from kubectl_tas.agents.asking import page_of
from kubectl_tas.base.diagnostics import TasError
from kubectl_tas.cli.servers import _words as cluster_words
from tests.support.agent import Ask, in_process, speak, words
from tests.support.cli import kubectl_tas, pool, subpool, write
from tests.support.effort import in_a_minute
from tests.support.golden import GOLDEN, ROOT, case_input
from tests.support.history import commit, git

FIT, WHY = GOLDEN / "commands/fit", GOLDEN / "commands/workflow-why"
NODES = ("--nodes", FIT / "nodes.json", "--nodes", FIT / "pods.json")
WORKFLOW = "workflows/train.yaml"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """What ``init`` writes, committed."""
    assert kubectl_tas("init", "repository", cwd=tmp_path).code == 0
    commit(tmp_path / "repository")
    return tmp_path / "repository"


def state(root: Path) -> dict[str, str]:
    """Each file of a repository with its content, and those of git."""
    return {
        path.relative_to(root).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(root.rglob("*"))
        if path.is_file()
    }


def printed(root: Path, *arguments: str | Path) -> Any:
    return json.loads(kubectl_tas("-C", root, *arguments, "-o", "json").out)


def same(result: Any, expected: dict[str, Any]) -> None:
    """The answer is what the command prints, and says that nothing is left out."""
    assert not result.is_error, result.content
    found = dict(result.structured_content)
    assert found.pop("page")["leftOut"] == {}
    found.pop("notes")
    assert json.dumps(found, indent=1).splitlines() == json.dumps(expected, indent=1).splitlines()
    assert json.loads(result.content[0].text) == result.structured_content


def test_tools_are_read_only_and_have_schemas(root: Path) -> None:
    async def talk(client: Any, ask: Ask) -> None:
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
        assert {*tools} == {
            *("validate_manifest", "validate", "explain", "admit", "fit", "forecast", "why"),
            *("pools", "diff", "rule", "suggest"),
        }
        for tool in tools.values():
            assert tool.annotations.read_only_hint
            assert not tool.annotations.destructive_hint
            assert not tool.annotations.open_world_hint
            assert tool.input_schema["type"] == tool.output_schema["type"] == "object"
            for field in tool.input_schema["properties"].values():
                assert "description" in field.get("items", field)
            if offset := tool.input_schema["properties"].get("offset"):
                assert not Draft202012Validator(offset).is_valid(-1)

    speak(root, talk)


def test_answers_are_those_of_commands_and_nothing_is_written(root: Path) -> None:
    text = (root / WORKFLOW).read_text()
    (root / WORKFLOW).write_text(text.replace("priority: NORMAL", "priority: LOW"))
    before = state(root)

    async def talk(client: Any, ask: Ask) -> None:
        manifest = await ask("validate_manifest", manifest=text, path=WORKFLOW)
        assert manifest.structured_content["summary"]["error"] == 0
        same(await ask("validate"), printed(root, "validate"))
        same(await ask("validate", paths=[WORKFLOW]), printed(root, "validate", root / WORKFLOW))
        same(await ask("explain", work="train"), printed(root, "workflow", "explain", "train"))
        for named in ({"work": WORKFLOW}, {"path": WORKFLOW}):
            same(await ask("admit", **named), printed(root, "admit", root / WORKFLOW))
        same(await ask("admit", work="train"), printed(root, "admit", "train"))
        assert (await ask("admit", manifest=text)).structured_content["workflows"][0]["name"] == "train"
        same(await ask("pools"), printed(root, "pool", "list"))
        same(await ask("diff", base="HEAD"), printed(root, "diff", "--base", "HEAD"))
        same(await ask("rule", code="over-quota"), printed(root, "rule", "over-quota"))
        assert (await ask("suggest", path=WORKFLOW)).structured_content["patch"] is None

    speak(root, talk)
    assert state(root) == before


def test_a_text_is_judged_as_if_it_were_in_the_repository(root: Path) -> None:
    text = (root / WORKFLOW).read_text()

    async def talk(client: Any, ask: Ask) -> None:
        wrong = await ask("validate_manifest", manifest=text.replace("team--research", "team--reserch"))
        (finding,) = wrong.structured_content["diagnostics"]
        assert finding["rule"] == "pool-unknown"
        assert finding["fix"] == {"written": "team--reserch", "meant": "team--research"}
        broken = await ask("validate_manifest", manifest="a: [")
        assert broken.structured_content["diagnostics"][0]["rule"] == "yaml-syntax"
        assert "standard input is empty" in words(await ask("validate_manifest", manifest=" "))
        assert "is not read" in words(await ask("validate_manifest", manifest=text, path="elsewhere/x.yaml"))

    speak(root, talk)


@pytest.mark.solver
def test_placement_is_asked_of_nodes(tmp_path: Path) -> None:
    root = shutil.copytree(case_input(FIT), tmp_path / "repository")

    async def talk(client: Any, ask: Ask) -> None:
        same(await ask("fit", work=["missed"]), printed(root, "fit", "missed", *NODES))
        same(await ask("fit"), printed(root, "fit", "--all", *NODES))
        times = {"horizon": "1d", "now": "2026-11-29T04:00:00Z"}
        options = [f"--{name}={value}" for name, value in times.items()]
        same(await ask("forecast", work=["missed"], **times), printed(root, "forecast", "missed", *options, *NODES))
        assert "knows no cluster" in words(await ask("why", work="missed"))

    speak(root, talk, *NODES)


@pytest.mark.solver
def test_the_cluster_is_asked_where_the_server_has_one(tmp_path: Path) -> None:
    root = shutil.copytree(case_input(WHY), tmp_path / "repository")
    shutil.copy(WHY / "cluster.json", tmp_path)
    given = f"--cluster-state={WHY / 'cluster.json'}"

    async def talk(client: Any, ask: Ask) -> None:
        same(await ask("why", work="one-rack"), printed(root, "workflow", "why", "one-rack", given))
        same(await ask("pools"), printed(root, "pool", "list", given))
        assert not (await ask("fit", work=["one-rack"])).is_error
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
        assert tools["why"].annotations.open_world_hint

    speak(root, talk, "--cluster-state", "cluster.json", cwd=tmp_path)


def test_tools_that_ask_a_cluster_say_so(root: Path) -> None:
    async def talk(client: Any, ask: Ask) -> None:
        found = {tool.name for tool in (await client.list_tools()).tools if tool.annotations.open_world_hint}
        assert found == {"validate_manifest", "validate", "admit", "fit", "forecast", "why", "pools", "suggest"}

    speak(root, talk, "--cluster-state", str(WHY / "cluster.json"))


def test_no_cluster(root: Path) -> None:
    async def talk(client: Any, ask: Ask) -> None:
        for tool, given in (("fit", {}), ("fit", {"work": ["train"]}), ("why", {"work": "train"})):
            assert "--cluster-state" in words(await ask(tool, **given))
        assert "knows no cluster" in words(await ask("suggest", work="train"))

    speak(root, talk)


@pytest.mark.parametrize("has_nodes", [False, True])
def test_a_patch_for_work_that_is_not_there_is_refused_by_name(has_nodes: bool, root: Path) -> None:
    said = patching.suggest(in_process(root, *NODES[: 4 * has_nodes]), {"work": "trian"})
    message = 'Error: no file, workflow, workload, PodCliqueSet or PodGroup "trian"; did you mean "train"?'
    assert (said.answer, said.notes.splitlines()[-1]) == (None, message)


OUTSIDE = ("../outside.yaml", "/etc/passwd", "link.yaml", "folder/x.yaml", "C:/x", ".git/config")


@pytest.mark.parametrize("path", OUTSIDE)
def test_no_path_leads_out(root: Path, path: str) -> None:
    write(root.parent, {"outside.yaml": "secret: yes\n", "away/x.yaml": "secret: yes\n"})
    (root / "link.yaml").symlink_to(root.parent / "outside.yaml")
    (root / "folder").symlink_to(root.parent / "away")

    async def talk(client: Any, ask: Ask) -> None:
        calls: tuple[tuple[str, dict[str, Any]], ...] = (
            ("admit", {"path": path}),
            ("validate", {"paths": [path]}),
            ("validate_manifest", {"manifest": "a: 1", "path": path}),
            ("suggest", {"path": path}),
            ("explain", {"work": path}),
            ("why", {"work": path}),
            ("fit", {"work": [path]}),
        )
        for tool, given in calls:
            said = words(await ask(tool, **given))
            assert "repository" in said or "folder of git" in said, tool
            assert "secret" not in said

    speak(root, talk, "--cluster-state", WHY / "cluster.json")


def test_words_that_look_like_options_are_words(root: Path) -> None:
    async def talk(client: Any, ask: Ask) -> None:
        assert "no pool" in words(await ask("pools", names=["--help"]))
        assert "--help" in words(await ask("explain", work="--help"))
        assert "no rule" in words(await ask("rule", code="--no-such-rule"))
        assert words(await ask("diff", base="--output=x"))
        assert not (root / "x").exists()

    speak(root, talk)


def test_wrong_arguments_and_tools_are_told(root: Path) -> None:
    async def talk(client: Any, ask: Ask) -> None:
        assert "'work' is a required property" in words(await ask("explain"))
        assert "limit: 0 is less than the minimum" in words(await ask("pools", limit=0))
        assert "'nmae' was unexpected" in words(await ask("pools", nmae="x"))
        assert "either manifest or work" in words(await ask("admit"))
        assert "either manifest or work" in words(await ask("admit", work="train", path=WORKFLOW))
        assert 'no rule "over-qota"; did you mean "over-quota"?' in words(await ask("rule", code="over-qota"))
        assert "nobody" in words(await ask("explain", work="nobody"))
        with pytest.raises(MCPError, match='no tool "validat"'):
            await ask("validat")
        assert not (await ask("pools")).is_error

    speak(root, talk)


def test_each_call_reads_what_has_changed(root: Path) -> None:
    text = (root / WORKFLOW).read_text()

    async def talk(client: Any, ask: Ask) -> None:
        assert (await ask("validate")).structured_content["summary"]["error"] == 0
        (root / WORKFLOW).write_text(text.replace("team--research", "team--reserch"))
        assert (await ask("validate")).structured_content["summary"]["error"] == 1
        assert "pool-unknown" in words(await ask("explain", work="train"))
        (root / "tas.yaml").write_text("a: [")
        assert not (await ask("validate")).is_error
        assert "yaml-syntax" in words(await ask("diff", base="HEAD"))
        shutil.move(root, root.parent / "away")
        assert "is not a folder" in words(await ask("validate"))
        shutil.move(root.parent / "away", root)
        git(root, "checkout", "--quiet", ".")
        assert (await ask("validate")).structured_content["summary"]["error"] == 0

    speak(root, talk)


def test_answers_are_bounded(repository: Path) -> None:
    names = [f"s{number:03}" for number in range(120)]
    write(repository, {"pools/team.yaml": pool(), **{f"subpools/{name}.yaml": subpool(name, 0) for name in names}})

    async def talk(client: Any, ask: Ask) -> None:
        first = (await ask("pools")).structured_content
        assert len(first["pools"]) == 50
        assert first["page"] == {"offset": 0, "limit": 50, "next": 50, "leftOut": {"pools": 71}}
        seen = [item["name"] for item in first["pools"]]
        offset = 50
        while offset:
            answer = (await ask("pools", offset=offset, limit=30)).structured_content
            seen += [item["name"] for item in answer["pools"]]
            offset = answer["page"]["next"]
        assert len(set(seen)) == len(seen) == 121
        rules = await ask("rule", limit=500)
        assert rules.structured_content["page"]["leftOut"]["rules"] > 0
        assert len(rules.content[0].text) < 70_000

    speak(repository, talk)


def test_a_call_ends_in_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = shutil.copytree(case_input(FIT), tmp_path / "repository")
    slow = write(tmp_path, {"kubectl": "#!/bin/sh\nsleep 60\n"}) / "kubectl"
    slow.chmod(0o755)
    monkeypatch.setattr("mcp.client.stdio.get_default_environment", lambda: {"KUBECTL_PATH": str(slow)})

    async def talk(client: Any, ask: Ask) -> None:
        assert "longer than 3 s" in words(await ask("fit", work=["missed"]))
        assert not (await ask("rule", code="over-quota")).is_error

    speak(root, talk, "--live", "--time-limit", "3")


@pytest.mark.sweep
@pytest.mark.parametrize("how", ["goes away", "ends the server"])
def test_a_client_that_leaves_ends_what_runs_for_it(tmp_path: Path, how: str) -> None:
    root = shutil.copytree(case_input(FIT), tmp_path / "repository")
    script = f"#!/bin/sh\necho $$ > {tmp_path}/new\nmv {tmp_path}/new {tmp_path}/pid\nexec sleep 60\n"
    slow = write(tmp_path, {"kubectl": script})
    (slow / "kubectl").chmod(0o755)
    environment = {**os.environ, "KUBECTL_PATH": str(slow / "kubectl"), "KUBECTL_TAS_CACHE": str(tmp_path / "cache")}
    command = [sys.executable, "-m", "kubectl_tas", "-C", str(root), "mcp", "--live"]
    pipe = subprocess.PIPE
    about = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "x", "version": "1"}}
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, env=environment) as server:
        assert server.stdin is not None
        assert server.stdout is not None
        assert server.stderr is not None
        for message in (
            {"id": 1, "method": "initialize", "params": about},
            {"method": "notifications/initialized"},
            {"id": 2, "method": "tools/call", "params": {"name": "fit", "arguments": {"work": ["missed"]}}},
        ):
            server.stdin.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")
            server.stdin.flush()
            if message.get("id") == 1:
                server.stdout.readline()
        end = time.monotonic() + 300
        while not (tmp_path / "pid").is_file():
            assert time.monotonic() < end
            time.sleep(0.05)
        if how == "goes away":
            server.stdin.close()
            server.stdout.close()
        else:
            server.terminate()
        assert server.wait(10) == (0 if how == "goes away" else 143)
        assert server.stderr.read() == b""
    with pytest.raises(ProcessLookupError):
        os.kill(int((tmp_path / "pid").read_text()), 0)


def applied(root: Path, patch: str, *options: str) -> None:
    subprocess.run(["git", "apply", *options, "-"], cwd=root, input=patch.encode(), check=True)


def test_a_patch_mends_words(root: Path) -> None:
    text = (root / WORKFLOW).read_text()
    (root / WORKFLOW).write_text(text.replace("team--research", "team--reserch"))

    async def talk(client: Any, ask: Ask) -> None:
        answer = (await ask("suggest", path=WORKFLOW)).structured_content
        assert answer["message"] == "The patch mends 1 of 1 findings."
        applied(root, answer["patch"])
        assert (root / WORKFLOW).read_text() == text
        again = (await ask("suggest", path=f"./{WORKFLOW}")).structured_content
        assert (again["patch"], again["message"]) == (None, "There is no patch: the file has no findings.")

    speak(root, talk)


def test_a_patch_makes_room(tmp_path: Path) -> None:
    root = shutil.copytree(case_input(FIT), tmp_path / "repository")
    git(tmp_path, "init", "--quiet")
    before = state(root)

    call = in_process(root, *NODES)
    patched = {}
    for name in ("missed", "mended", "too-large", "too-many", "placed"):
        answer = patching.suggest(call, {"work": name}).answer
        assert state(root) == before
        if answer["patch"] is None:
            assert answer["message"].startswith("There is no patch: ")
            continue
        patched[name] = [line for line in answer["patch"].splitlines()[2:] if line.startswith("+")]
        applied(root, answer["patch"])
        fit = call.ask(["fit", "-o", "json", *call.server.nodes, "--", name]).answer
        assert all(gang["outcome"] == "fits" for gang in fit["gangs"])
        applied(root, answer["patch"], "--reverse")
    soft = "+    - {key: rack, group: red, requirementType: preferred}"
    low = ["+  priority: LOW"]  # others have the quota
    assert patched == {
        "missed": [soft],
        "too-large": [soft.replace("group: red", "group: blue")],
        "too-many": [],
        "mended": low,
        "placed": low,
    }
    assert (root / "workflows/too-many.yaml").read_text().count("blue-3") == 1
    for old, new in (
        ("- {key: rack, group: blue}", "- key: rack\n      group: blue"),
        ("- {key: rack, group: blue}", "- group: blue\n      key: rack"),
        ("- {key: rack, group: blue}", "- {key: rack, group: blue, requirementType: required}"),
    ):
        path = root / "workflows/too-large.yaml"
        text = path.read_text()
        path.write_text(text.replace(old, new))
        answer = patching.suggest(call, {"work": "too-large"}).answer
        assert "requirementType: preferred" in answer["patch"]
        applied(root, answer["patch"])
        path.write_text(text)
    # one level that two resources ask for: a patch of one line alone does not make room
    text = text.replace("blue-3, image: trainer, resource: blue", "blue-3, image: trainer, resource: navy")
    path.write_text(f"{text}  navy:\n    gpu: 8\n    topology:\n    - {{key: rack, group: blue}}\n")
    answer = patching.suggest(call, {"work": "too-large"}).answer
    assert answer["patch"].count("+    - {key: rack, group: blue, requirementType: preferred}") == 2
    applied(root, answer["patch"])


TASK = "\n    - {{name: t{0}, image: x, resource: gpus}}"
BLOCK = "\n    - name: t{0}\n      image: x\n      # its place\n      resource: gpus"


def _train(tasks: int, target: str, priority: str, task: str = TASK) -> str:
    listed = "".join(task.format(number) for number in range(tasks))
    head = f"workflow:\n  name: train\n  pool: {target}\n  priority: {priority}\n  groups:\n  - name: all\n    tasks:"
    return f"{head}{listed}\nresources:\n  gpus: {{gpu: 8}}\n"


def _job(target: str, priority: str, pods: int) -> str:
    return f"""apiVersion: kubeflow.org/v1
kind: PyTorchJob
metadata:
  name: train
  labels: {{kubectl-tas/pool: {target}, kubectl-tas/priority: {priority}}}
spec:
  pytorchReplicaSpecs:
    Worker:
      replicas: {pods}
      template:
        spec:
          containers:
          - {{name: pytorch, image: x, resources: {{limits: {{nvidia.com/gpu: 8}}}}}}
"""


@pytest.mark.parametrize(
    ("text", "changed", "verdict"),
    [
        (_train(3, "team--a", "NORMAL"), {"+  pool: team--b"}, "admitted"),
        (_train(3, "team", "HIGH"), {"+  pool: team--b"}, "admitted"),
        (_train(3, "team--gone", "HIGH"), {"+  pool: team--b"}, "admitted"),
        (_train(6, "team--a", "NORMAL"), {"+  priority: LOW"}, "admitted"),
        (_train(9, "team--a", "LOW"), {"-    - {name: t8, image: x, resource: gpus}"}, "admitted"),
        (
            _train(9, "team--a", "LOW", BLOCK),
            {"-    - name: t8", "-      image: x", "-      # its place", "-      resource: gpus"},
            "admitted",
        ),
        (
            _job("team--a", "NORMAL", 3),
            {"+  labels: {kubectl-tas/pool: team--b, kubectl-tas/priority: NORMAL}"},
            "admitted",
        ),
        (_job("team--a", "LOW", 9), {"+      replicas: 8"}, "admitted"),
        (_train(8, "lone", "NORMAL"), {"+  priority: LOW"}, "admitted"),
    ],
)
def test_a_patch_has_the_queue_admit_work(repository: Path, text: str, changed: set[str], verdict: str) -> None:
    write(
        repository,
        {
            "tas.yaml": "apiVersion: tas/v1alpha1\nkind: Config\nspec: {backends: [{name: prod}]}\n",
            "pools/team.yaml": pool(guarantee=64, spec="      maximum: 64\n"),
            "pools/lone.yaml": pool("lone", 16),
            "subpools/a.yaml": subpool("a", 16),
            "subpools/b.yaml": subpool("b", 40),
            "subpools/gone.yaml": subpool("gone", 0, state="DELETING"),
            WORKFLOW: text,
        },
    )
    git(repository, "init", "--quiet")

    call = in_process(repository)
    (first,) = call.ask(["admit", "-o", "json", "--", str(repository / WORKFLOW)]).answer["workflows"]
    assert first["verdict"] != verdict
    before = state(repository)
    answer = patching.suggest(call, {"work": "train"}).answer
    assert state(repository) == before
    assert answer["message"] == "With the patch, its queue admits train."
    assert answer["others"] == [first["hint"]]
    lines = {line for line in answer["patch"].splitlines()[2:] if line.startswith(("+", "-"))}
    assert changed <= lines
    assert len(lines) == 2 or lines == changed
    applied(repository, answer["patch"])
    (item,) = call.ask(["admit", "-o", "json", "--", str(repository / WORKFLOW)]).answer["workflows"]
    assert item["verdict"] == verdict
    assert call.ask(["validate", "-o", "json"]).answer["summary"]["error"] == 0


def test_a_copy_with_a_link_writes_nothing(tmp_path: Path) -> None:
    """A folder that links to where it lies really, by a whole path, is the same folder in a copy."""
    root = shutil.copytree(case_input(FIT), tmp_path / "repository")
    (root / "workflows").rename(root / "real")
    (root / "workflows").symlink_to(root / "real")
    before = state(root)

    async def talk(client: Any, ask: Ask) -> None:
        for name in ("missed", "mended", "too-large"):
            result = await ask("suggest", work=name)
            assert result.is_error or result.structured_content["patch"] is None
        assert state(root) == before

    speak(root, talk, *NODES)


def test_nothing_of_the_repository_is_imported(root: Path) -> None:
    """A server that starts in the repository has it as its working folder."""
    write(root, {f"{name}.py": "raise SystemExit('imported')\n" for name in ("json", "click", "kubectl_tas")})

    async def talk(client: Any, ask: Ask) -> None:
        assert (await ask("validate")).structured_content["summary"]["error"] == 0

    speak(root, talk, cwd=root, isolated=True)


def test_standard_input_has_no_nodes() -> None:
    result = kubectl_tas("mcp", "--nodes", "-")
    assert (result.code, result.out) == (2, "")
    assert result.err.endswith("Error: --nodes - does not go with mcp: standard input has the agent's questions\n")


@pytest.mark.parametrize(
    ("cluster", "live", "expected"),
    [
        ({"backend": "prod", "namespace": "ml", "cluster_state": ()}, False, ()),
        ({"backend": "prod"}, True, ("--live", "--backend=prod")),
        ({"context": None, "cluster_state": ("a=x", "b=y")}, False, ("--cluster-state=a=x", "--cluster-state=b=y")),
        ({"kubeconfig": "k", "namespace": "n"}, False, ("--kubeconfig=k", "--namespace=n")),
    ],
)
def test_words_for_the_cluster(cluster: dict[str, Any], live: bool, expected: tuple[str, ...]) -> None:
    assert cluster_words(cluster, live=live) == expected


def test_without_the_extra(tmp_path: Path) -> None:
    write(tmp_path, {"mcp.py": "raise ModuleNotFoundError(name='mcp')\n"})
    code = "import sys; sys.path.insert(0, sys.argv.pop(1)); from kubectl_tas.cli.main import main; main()"
    done = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path), "mcp"], capture_output=True, text=True, cwd=ROOT, check=False
    )
    assert (done.returncode, done.stdout) == (3, "")
    assert done.stderr == (
        "error: the server for agents needs the package mcp\n  = help: Install it: pip install 'mcp>=2,<3'\n"
    )


@pytest.mark.sweep
@pytest.mark.parametrize(
    "line", ["- {" + "key: rack, " * 50_000, "- key: rack\n" * 50_000, "required" * 100_000, "- a: 1\n  b:\n" * 50_000]
)
def test_edits_of_a_hostile_file_are_few_and_fast(line: str) -> None:
    with in_a_minute():
        found = list(islice(patching._candidates(line, ["preferred", "level"], ["zone", "rack"]), patching.MAX_TRIED))
        assert len(found) <= patching.MAX_TRIED
        assert len(list(patching._smaller(line, fewer=1))) <= patching.MAX_TRIED


def test_a_repository_that_is_too_large_is_not_copied(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = shutil.copytree(case_input(FIT), tmp_path / "repository")
    assert (patching._copied(root, tmp_path / "copy") / "workflows/missed.yaml").is_file()
    monkeypatch.setattr(patching, "MAX_FILES", 2)
    with pytest.raises(TasError, match="too many to try an edit"):
        patching._copied(root, tmp_path / "other")
    assert not (tmp_path / "other").exists()


def test_an_item_that_is_too_large_is_cut_or_refused() -> None:
    item = {"name": "x", "pods": [f"pod-{number:05}" for number in range(20_000)]}
    found = page_of({"version": 1, "gangs": [item, item]}, 0, 50)
    assert found["page"] == {"offset": 0, "limit": 1, "next": 1, "leftOut": {"gangs": 1}, "cutTo": 200}
    assert len(found["gangs"][0]["pods"]) == 200
    with pytest.raises(TasError, match="one item of the answer alone has more than 60000 characters"):
        page_of({"version": 1, "patch": "x" * 70_000}, 0, 50)
