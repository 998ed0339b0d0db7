"""Tests a kubectl that hangs, floods or lies, and invalid cluster files: each is reported in time."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kubectl_tas.base import process
from kubectl_tas.base.process import LimitError, Limits, run
from kubectl_tas.live import kubectl as caller
from tests.support.cli import Result, kubectl_tas, pool, subpool, write
from tests.support.kubectl import GPU, FakeKubectl, node, pod_group, queue

A, SHARED = "osmo-pool-default-team--a", "osmo-pool-default-team--shared"
WORKFLOW = """\
workflow: {name: w, pool: team--a, tasks: [{name: t, image: i}]}
resources: {default: {gpu: 4}}
"""
COMMANDS = {
    "pool list": ("pool", "list", "--live"),
    "admit": ("admit", "job.yaml", "--live"),
    "subpool retire": ("subpool", "retire", "team", "a"),
    "subpool drain": ("subpool", "drain"),
    "validate": ("validate", "--live"),
    "topology usage": ("topology", "usage", "--live"),
}


@pytest.fixture
def team(repository: Path) -> Path:
    topology = "apiVersion: grove.io/v1alpha1\nkind: ClusterTopology\nmetadata: {name: t}\n"
    topology += "spec: {levels: [{domain: rack, key: example.com/rack}]}\n"
    return write(
        repository,
        {
            "pools/team.yaml": pool(),
            "subpools/a.yaml": subpool("a", 30),
            "subpools/b.yaml": subpool("b", 3, state="DELETING"),
            "topologies/t.yaml": topology,
            "job.yaml": WORKFLOW,
        },
    )


@pytest.fixture
def kubectl(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FakeKubectl:
    fake = FakeKubectl(tmp_path, monkeypatch)
    fake.answers([queue(A, "2"), queue(SHARED, 0)], [])
    return fake


def lower(monkeypatch: pytest.MonkeyPatch, **limits: float) -> None:
    """Lower limits for kubectl."""
    monkeypatch.setattr(caller, "LIMITS", Limits(**limits))  # type: ignore[arg-type]


@contextlib.contextmanager
def quickly(seconds: float = 50) -> Iterator[None]:
    start = time.monotonic()
    yield
    assert time.monotonic() - start < seconds


def is_running(mark: str) -> bool:
    """Whether any process has ``mark`` among its arguments."""
    for folder in Path("/proc").iterdir():
        with contextlib.suppress(OSError):
            if folder.name.isdigit() and mark.encode() in (folder / "cmdline").read_bytes():
                return True
    return False


class TestHangs:
    @pytest.mark.parametrize("command", COMMANDS)
    def test_it_is_told_which_call_it_was(
        self, command: str, team: Path, kubectl: FakeKubectl, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        lower(monkeypatch, seconds=0.3)
        kubectl.runs("sleep 1000")
        with quickly():
            result = kubectl_tas(*COMMANDS[command], cwd=team)
        assert result.code == 3, result
        first, second = result.err.splitlines()
        assert " get " in first
        assert first.endswith(" -o json did not answer within 0.3 s")
        assert "--cluster-state FILE" in second

    def test_nothing_of_it_goes_on(self, team: Path, kubectl: FakeKubectl, monkeypatch: pytest.MonkeyPatch) -> None:
        lower(monkeypatch, seconds=0.3)
        mark = f"1000.{os.getpid()}"
        kubectl.runs(f"sleep {mark} & sleep {mark}")
        assert kubectl_tas("pool", "list", "--live", cwd=team).code == 3
        assert not is_running(mark)

    def test_what_it_leaves_behind_is_not_waited_for(
        self, team: Path, kubectl: FakeKubectl, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        lower(monkeypatch, seconds=0.3)
        kubectl.runs("setsid sleep 60 & exit 0")
        with quickly():
            assert kubectl_tas("pool", "list", "--live", cwd=team).code == 3

    @pytest.mark.parametrize("command", ["subpool retire", "subpool drain"])
    def test_no_lock_is_held(
        self, command: str, team: Path, kubectl: FakeKubectl, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
    ) -> None:
        """What kubectl runs meanwhile gets the lock of the repository at once."""
        code = f"import fcntl, os; fcntl.flock(os.open({str(team)!r}, os.O_RDONLY), fcntl.LOCK_EX | fcntl.LOCK_NB)"
        kubectl.runs(f'{sys.executable} -c "{code}" && touch {tmp_path}/free; exit 1')
        assert kubectl_tas(*COMMANDS[command], cwd=team).code == 3
        assert (tmp_path / "free").exists()

    def test_what_changes_while_it_is_asked(self, team: Path, kubectl: FakeKubectl) -> None:
        """The subpool is made again by somebody else before kubectl answers: no answer was meant for what it is now."""
        again = subpool("b", 3)
        kubectl.runs(f"printf %s '{again}' > {team}/subpools/b.yaml; echo '{json.dumps(queue(A, 0))}'")
        kubectl_tas("subpool", "drain", cwd=team)
        assert (team / "subpools/b.yaml").read_text() == again


class TestFloods:
    def test_stdout(self, team: Path, kubectl: FakeKubectl, monkeypatch: pytest.MonkeyPatch) -> None:
        lower(monkeypatch, out=8 * 1024 * 1024)
        kubectl.runs("cat /dev/zero")
        with quickly():
            result = kubectl_tas("pool", "list", "--live", cwd=team)
        assert result.code == 3
        assert "get queues.scheduling.run.ai -o json printed more than 8 MiB\n" in result.err

    def test_memory_stays_bounded(self, team: Path, kubectl: FakeKubectl) -> None:
        """A gigabyte, with the limits that users have."""
        kubectl.runs("head -c 1073741824 /dev/zero")
        code = (
            "import sys; from kubectl_tas.cli.main import run; "
            "code = run(sys.argv[1:], 'kubectl tas'); "
            # not getrusage, which counts what this process had before it began the program
            "print(next(line.split()[1] for line in open('/proc/self/status') if line.startswith('VmHWM'))); "
            "sys.exit(code)"
        )
        with quickly():
            done = subprocess.run(
                [sys.executable, "-c", code, "pool", "list", "--live", "-C", team], capture_output=True, text=True
            )
        assert (done.returncode, "printed more than 256 MiB" in done.stderr) == (3, True), done
        assert int(done.stdout) < 600 * 1024, "KiB at the most"

    def test_stderr(self, team: Path, kubectl: FakeKubectl) -> None:
        kubectl.runs("echo first >&2; head -c 300000000 /dev/zero | tr '\\0' x >&2; exit 1")
        with quickly():
            result = kubectl_tas("pool", "list", "--live", cwd=team)
        assert result.code == 3
        assert result.err.startswith("error: the cluster cannot be reached: xxx")
        assert len(result.err) < 3000

    def test_stderr_that_never_ends(self, team: Path, kubectl: FakeKubectl, monkeypatch: pytest.MonkeyPatch) -> None:
        lower(monkeypatch, seconds=0.5)
        kubectl.runs("yes >&2")
        with quickly():
            assert "did not answer within 0.5 s" in kubectl_tas("pool", "list", "--live", cwd=team).err

    def test_warnings_of_a_call_that_succeeds(self, team: Path, kubectl: FakeKubectl) -> None:
        kubectl.runs("head -c 1000000 /dev/zero >&2; echo '{\"items\": []}'")
        assert kubectl_tas("pool", "list", "--live", cwd=team).code == 0


class TestProgram:
    """``process.run``, which git is started by too."""

    def test_input_that_nobody_reads(self) -> None:
        with quickly():
            assert run(["true"], stdin=b"x" * 10_000_000).code == 0
        with quickly(), pytest.raises(LimitError, match=r"^sleep 1000 did not answer within 0\.2 s$"):
            run(["sleep", "1000"], stdin=b"x" * 10_000_000, limits=Limits(seconds=0.2))

    def test_input_and_output_at_once(self) -> None:
        content = os.urandom(5_000_000)
        assert run(["cat"], stdin=content).out == content

    def test_a_pipe_that_outlives_the_program(self) -> None:
        with quickly():
            done = run(["sh", "-c", "sleep 64.271 & echo hi; exit 7"], limits=Limits(seconds=100))
        assert (done.code, done.out) == (7, b"hi\n")
        with quickly():  # the rest of it was told to end, which takes a moment
            while is_running("64.271"):
                time.sleep(0.01)

    def test_a_pipe_that_has_left_the_group(self) -> None:
        with quickly():
            done = run(["sh", "-c", "setsid sleep 60 & echo hi"], limits=Limits(seconds=100))
        assert (done.code, done.out) == (0, b"hi\n")

    def test_a_program_that_has_closed_its_pipes(self) -> None:
        with quickly(), pytest.raises(LimitError, match=r"did not answer within 0\.2 s$"):
            run(["sh", "-c", "exec <&- >&- 2>&-; sleep 1000"], limits=Limits(seconds=0.2))

    def test_as_much_as_is_allowed(self) -> None:
        assert len(run(["head", "-c", "100000", "/dev/zero"], limits=Limits(out=100_000)).out) == 100_000
        with pytest.raises(LimitError, match=r"printed more than 0\.0953674 MiB$"):
            run(["head", "-c", "100001", "/dev/zero"], limits=Limits(out=100_000))

    def test_stderr_is_cut(self) -> None:
        assert run(["sh", "-c", "printf 123456 >&2"], limits=Limits(err=4)).err == "1234"
        assert len(run(["sh", "-c", "head -c 70000 /dev/zero | tr '\\0' x >&2"]).err) == 65536

    @pytest.mark.parametrize("argument", ["a\0b", "\ud800"])
    def test_arguments_that_are_none(self, argument: str) -> None:
        with pytest.raises(process.TasError, match="cannot run") as raised:
            run(["true", argument])
        assert raised.value.hint == "Correct the argument."

    def test_what_to_do_about_a_limit(self) -> None:
        with pytest.raises(LimitError) as raised:
            run(["head", "-c", "100001", "/dev/zero"], limits=Limits(out=100_000))
        assert raised.value.hint == "Look at what it prints."
        with pytest.raises(LimitError) as raised:
            run(["sleep", "1000"], limits=Limits(seconds=0.05))
        assert raised.value.hint == "Run it by hand to see what it waits for."

    def test_no_descriptors_are_left(self) -> None:
        before = len(list(Path("/proc/self/fd").iterdir()))
        for command in (["true"], ["false"], ["cat", "/dev/zero"]):
            with contextlib.suppress(LimitError):
                run(command, limits=Limits(out=100_000))
        assert len(list(Path("/proc/self/fd").iterdir())) == before

    def test_an_interruption_ends_it(self) -> None:
        mark = f"1001.{os.getpid()}"
        code = f"from kubectl_tas.base.process import run; run(['sleep', '{mark}'])"
        started = subprocess.Popen([sys.executable, "-c", code], stderr=subprocess.DEVNULL)
        while not is_running(f"sleep\0{mark}"):
            time.sleep(0.05)
        while len(list(Path(f"/proc/{started.pid}/task").iterdir())) < 2:  # the threads that wait for it
            time.sleep(0.05)
        started.send_signal(2)
        started.wait(300)
        assert not is_running(f"sleep\0{mark}")


class TestHome:
    """Without an absolute ``HOME`` kubectl looks into the working folder, where a checkout may bring a kubeconfig along
    that names programs to run.
    """

    @pytest.mark.parametrize("home", [None, "", ".", "home"])
    def test_it_is_never_the_checkout(
        self, home: str | None, team: Path, kubectl: FakeKubectl, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        if home is None:
            monkeypatch.delenv("HOME")
        else:
            monkeypatch.setenv("HOME", home)
        kubectl.runs(f'printf %s "$HOME" > {kubectl.folder}/home; echo \'{{"items": []}}\'')
        assert kubectl_tas("pool", "list", "--live", cwd=team).code == 0
        told = (kubectl.folder / "home").read_text()
        assert told.startswith("/")
        assert not told.startswith(str(team))

    def test_what_the_user_has_stays(self, team: Path, kubectl: FakeKubectl, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("HOME", "/home/somebody")
        kubectl.runs(f'printf %s "$HOME" > {kubectl.folder}/home; echo \'{{"items": []}}\'')
        assert kubectl_tas("pool", "list", "--live", cwd=team).code == 0
        assert (kubectl.folder / "home").read_text() == "/home/somebody"

    @pytest.mark.skipif(shutil.which("kubectl") is None, reason="no kubectl")
    def test_no_program_of_the_checkout_runs(self, team: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        program = {"apiVersion": "client.authentication.k8s.io/v1", "interactiveMode": "Never"}
        program |= {"command": "sh", "args": ["-c", "touch owned"]}  # type: ignore[dict-item]
        named = {"cluster": {"server": "https://127.0.0.1:1"}, "context": {"cluster": "c", "user": "u"}}
        kubeconfig = {
            "apiVersion": "v1",
            "kind": "Config",
            "current-context": "c",
            "clusters": [{"name": "c", "cluster": named["cluster"]}],
            "contexts": [{"name": "c", "context": named["context"]}],
            "users": [{"name": "u", "user": {"exec": program}}],
        }
        write(team, {".kube/config": json.dumps(kubeconfig)})
        monkeypatch.delenv("HOME")
        monkeypatch.delenv("KUBECONFIG", raising=False)
        assert kubectl_tas("pool", "list", "--live", cwd=team).code == 3
        assert not (team / "owned").exists()


class TestFiles:
    """What is no plain file of a sensible size is refused, and not waited for."""

    COMMANDS = (("pool", "list", "--cluster-state"), ("validate", "--cluster-state"), ("admit",))

    def refusal(self, team: Path, file: Path | str) -> set[str]:
        said = set()
        for command in self.COMMANDS:
            with quickly():
                result = kubectl_tas(*command, file, cwd=team)
            assert (result.code, result.out) == (3, "")
            said.add(result.err.splitlines()[0])
        return said

    def test_a_device(self, team: Path) -> None:
        assert self.refusal(team, "/dev/zero") == {"error: cannot read /dev/zero: it is a device, not a plain file"}

    def test_a_pipe(self, team: Path) -> None:
        os.mkfifo(team / "pipe")
        assert self.refusal(team, "pipe") == {"error: cannot read pipe: it is a pipe, not a plain file"}

    def test_a_socket(self, team: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.chdir(team)
        with socket.socket(socket.AF_UNIX) as listening:
            listening.bind("s")
            assert self.refusal(team, "s") == {"error: cannot read s: No such device or address"}

    def test_a_folder(self, team: Path) -> None:
        for command in self.COMMANDS[:2]:
            result = kubectl_tas(*command, "pools", cwd=team)
            assert result.err.startswith("error: cannot read pools: it is a folder, not a plain file\n")

    def test_a_file_of_ten_gigabytes(self, team: Path) -> None:
        with (team / "large.json").open("wb") as file:
            file.truncate(10 * 1024**3)
        assert self.refusal(team, "large.json") == {
            "error: cannot read large.json: it has 10240 MiB; at most 256 are read",
            "error: cannot read large.json: it has 10240 MiB; at most 4 are read",
        }


DEEP = 200_000
LIES = {
    "html": "<html><body>502 Bad Gateway</body></html>",
    "truncated": '{"items": [{"kind": "Queue", "metadata": {"na',
    "deep-list": "[" * DEEP,
    "deep-object": '{"a":' * DEEP,
    "deep-but-whole": '{"a":' * 5000 + "1" + "}" * 5000,
    "items-null": '{"items": null}',
    "items-object": '{"items": {}}',
    "items-of-text": '{"items": ["a"]}',
    "list-of-lists": "[[]]",
    "number": "1" * 5000,
    "many-digits": '{"items": [{"kind": "Queue", "metadata": {"name": "q"}, "spec": ' + "1" * 5000 + "}]}",
    "latin-1": "\udce9",
    "two-documents-one-broken": '{"items": []} {"items"',
}


@pytest.mark.parametrize("name", LIES)
def test_json_that_is_none(name: str, team: Path, kubectl: FakeKubectl) -> None:
    (team / "state.json").write_text(LIES[name], errors="surrogateescape")
    for command in (("pool", "list"), ("validate",), ("topology", "usage"), ("admit", "job.yaml")):
        with quickly():
            result = kubectl_tas(*command, "--cluster-state", "state.json", cwd=team)
        assert "internal error" not in result.err
        assert "set_int_max_str_digits" not in result.err
        if name == "deep-but-whole":
            continue
        assert result.code == 3, result
        assert result.err.startswith("error: state.json is not JSON of Kubernetes objects: ")


NESTED: object = 1
for _ in range(500):
    NESTED = [NESTED]
ODD_VALUES = [
    None, True, -1, 2**70, 10**4000, 1.5, float("nan"), float("inf"), "", "x" * 100_000, "1" * 5000, "-1", "1e99Ei",
    [], [1], {}, {"a": 1}, NESTED,
]  # fmt: skip


@pytest.mark.parametrize("value", ODD_VALUES, ids=lambda value: repr(value)[:12])
def test_objects_of_another_shape(value: object, team: Path) -> None:
    """Each value in the place of a third of the fields that are read: an answer or a refusal, and never a traceback."""
    clique_set = {"kind": "PodCliqueSet", "metadata": {"name": "s"}, "spec": {"template": {"cliques": []}}}
    topology = {"kind": "ClusterTopology", "metadata": {"name": "t"}, "spec": {"levels": [{"domain": "a", "key": "b"}]}}
    clique = {"kind": "PodClique", "metadata": {"name": "c", "labels": {}}, "status": {"scheduledReplicas": 1}}
    fine = [queue(A, 1), queue(SHARED, 0), pod_group(A, running=1), clique_set, topology, clique]
    for index, item in enumerate(fine):
        for path in [*paths(item)][len(repr(value)) % 3 :: 3]:
            state = [*fine[:index], replaced(item, path, value), *fine[index + 1 :]]
            (team / "state.json").write_text(json.dumps(state))
            for command in (("pool", "list"), ("topology", "usage")):
                result = kubectl_tas(*command, "--cluster-state", "state.json", cwd=team)
                assert result.code in (0, 3), (path, result)
                assert "internal error" not in result.err, (path, result)
                assert len(result.err) + len(result.out) < 10_000, path


def paths(value: object, above: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    if above:
        yield above
    if isinstance(value, dict | list):
        for key, item in value.items() if isinstance(value, dict) else enumerate(value):
            yield from paths(item, (*above, key))


def replaced(value: object, path: tuple[str | int, ...], new: object) -> object:
    if not path:
        return new
    copy = json.loads(json.dumps(value))
    place = copy
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = new
    return copy


UNKNOWN = {
    "no-status": ({**queue(A), "status": None}, "it has no status"),
    "negative": (queue(A, "-1"), "it says that -1 GPUs are allocated"),
    "negative-non-preemptible": (queue(A, 0, "-2"), "it says that -2 GPUs are allocated"),
}


@pytest.mark.parametrize("name", UNKNOWN)
class TestUnknown:
    """A queue of which the cluster does not say what it holds is not an empty one."""

    @pytest.fixture(autouse=True)
    def asked(self, name: str, team: Path, kubectl: FakeKubectl) -> None:
        write(team, {"subpools/a.yaml": subpool("a", 30)})
        waiting = {**pod_group(A), "status": None}  # without any PodGroup the queue would hold nothing
        kubectl.answers([UNKNOWN[name][0], queue(SHARED, 0)], [waiting] if name == "no-status" else [])

    def test_drain(self, name: str, team: Path) -> None:
        write(team, {"subpools/a.yaml": subpool("a", 30, state="DELETING")})
        before = (team / "subpools/a.yaml").read_bytes()
        result = kubectl_tas("subpool", "drain", cwd=team)
        assert (result.code, result.out) == (0, "")
        assert f"team--a: still DELETING; it is unknown whether anything runs there: {UNKNOWN[name][1]}" in result.err
        assert (team / "subpools/a.yaml").read_bytes() == before

    def test_delete(self, name: str, team: Path) -> None:
        before = (team / "subpools/a.yaml").read_bytes()
        result = kubectl_tas("subpool", "retire", "team", "a", cwd=team)
        assert (result.code, result.out) == (3, "")
        assert result.err.startswith(
            f"error: cannot tell whether anything runs there: of the queue {A} the cluster does not say what it holds: "
            f"{UNKNOWN[name][1]}\n"
        )
        assert "pass --used N" in result.err
        assert (team / "subpools/a.yaml").read_bytes() == before

    def test_delete_where_pods_run(self, name: str, team: Path, kubectl: FakeKubectl) -> None:
        kubectl.answers([UNKNOWN[name][0]], [pod_group(A, running=1)])
        result = kubectl_tas("subpool", "retire", "team", "a", cwd=team)
        assert (result.code, result.out) == (0, "team--a: ACTIVE -> DELETING (subpools/a.yaml)\n")

    def test_pool_list(self, name: str, team: Path) -> None:
        rows = json.loads(kubectl_tas("pool", "list", "--live", "-o", "json", cwd=team).out)["pools"]
        row = next(row for row in rows if row["name"] == "team--a")
        assert (row["used"], row["available"], row["running"]) == (None, None, None)
        line = kubectl_tas("pool", "list", "--live", cwd=team).out.splitlines()[3]
        assert line.split()[-2:] == ["unknown", "unknown"]

    def test_admit(self, name: str, team: Path) -> None:
        result = kubectl_tas("admit", "job.yaml", "--live", cwd=team)
        assert (result.code, result.out) == (3, "")
        assert result.err == (
            f"error: of the queue {A} the cluster does not say what it holds: {UNKNOWN[name][1]}\n"
            "  = help: Look at it with kubectl, or pass --used N.\n"
        )
        assert kubectl_tas("admit", "job.yaml", "--live", "--used", "0", cwd=team).code == 0

    def test_admit_does_not_send_work_there(self, name: str, team: Path) -> None:
        write(team, {"job.yaml": WORKFLOW.replace("team--a", "team").replace("gpu: 4", "gpu: 80")})
        small = {"subpools/b.yaml": subpool("b", 30)}
        write(team, {**small, "job.yaml": WORKFLOW.replace("team--a", "team--b").replace("gpu: 4", "gpu: 8")})
        kubectl_state = [UNKNOWN[name][0], queue(SHARED, 40), queue("osmo-pool-default-team--b", 29)]
        (team / "state.json").write_text(json.dumps(kubectl_state))
        result = kubectl_tas("admit", "job.yaml", "--cluster-state", "state.json", cwd=team)
        assert "PENDING" in result.out
        assert "team--a" not in result.out


def test_a_queue_that_is_there_twice(team: Path) -> None:
    (team / "state.json").write_text(json.dumps([queue(A, 0), queue(A, 8)]))
    rows = json.loads(kubectl_tas("pool", "list", "--cluster-state", "state.json", "-o", "json", cwd=team).out)["pools"]
    assert next(row["used"] for row in rows if row["name"] == "team--a") is None


def test_a_pod_group_with_fewer_than_no_pods(team: Path, kubectl: FakeKubectl) -> None:
    kubectl.answers([queue(A, 0)], [pod_group(A, running=-1)])
    assert kubectl_tas("subpool", "retire", "team", "a", cwd=team).code == 3


def state_of(*documents: object) -> str:
    """The text of a file with these documents behind each other."""
    return "\n".join(map(json.dumps, documents))


def listed(kind: str, items: list[dict[str, Any]], **metadata: object) -> dict[str, object]:
    """A list as an API server answers it, which does not say the kind of each item."""
    bare = [{key: value for key, value in item.items() if key not in ("kind", "apiVersion")} for item in items]
    return {"apiVersion": "v1", "kind": f"{kind}List", "metadata": metadata, "items": bare}


def pod(**spec: object) -> dict[str, Any]:
    """A pod that holds the whole of node n."""
    containers = [{"name": "c", "resources": {"requests": {GPU: "8"}}}]
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "p", "namespace": "default"},
        "spec": {"nodeName": "n", "containers": containers, **spec},
        "status": {"phase": "Running"},
    }


class TestUnknownPods:
    """Pods of which a file does not say what they hold do not leave their node free."""

    @pytest.fixture
    def roomy(self) -> dict[str, Any]:
        found = node("n", 8)
        found["status"]["allocatable"] |= {"memory": "1Ti", "pods": "110"}
        return found

    def fit(self, team: Path, *documents: object) -> Result:
        (team / "workflows").mkdir(exist_ok=True)
        (team / "job.yaml").rename(team / "workflows/w.yaml")
        (team / "state.json").write_text(state_of(*documents))
        return kubectl_tas("fit", "w", "--nodes", "state.json", cwd=team)

    def test_it_fits_where_nothing_runs(self, team: Path, roomy: dict[str, Any]) -> None:
        assert self.fit(team, listed("Node", [roomy]), listed("Pod", [])).code == 0

    @pytest.mark.parametrize("kind", ["PodList", "List"])
    def test_lists_of_an_api_server(self, team: Path, kind: str, roomy: dict[str, Any]) -> None:
        pods = listed("Pod", [pod()]) if kind == "PodList" else {"kind": "List", "items": [pod()]}
        result = self.fit(team, listed("Node", [roomy]), pods)
        assert (result.code, result.err) == (1, ""), result

    @pytest.mark.parametrize(
        ("pods", "reason"),
        [
            (listed("Pod", [], **{"continue": "abc"}), "it is only a part of a list"),
            ({"kind": "Status", "status": "Failure", "message": "expired"}, "the API server answers: 'expired'"),
            ({"items": [{"metadata": {"name": "p"}}]}, "an object has no kind"),
            ({**pod(), "kind": ["Pod"]}, "an object has no kind"),
            ({**pod(), "spec": None}, "it has no containers"),
            (pod(containers=[]), "it has no containers"),
            (pod(containers={}), "spec.containers is an object, not a list"),
            (pod(containers=None), "it has no containers"),
            (pod(containers=[{"resources": {"requests": {GPU: "-8"}}}]), "'-8', not a quantity of 0 or more"),
            (pod(containers=[{"resources": {"requests": {GPU: float("nan")}}}]), "nan, not a quantity of 0 or more"),
            (pod(nodeName=["n"]), "spec.nodeName is a list, not a name"),
        ],
    )
    def test_what_does_not_say(self, team: Path, pods: object, reason: str, roomy: dict[str, Any]) -> None:
        result = self.fit(team, roomy, pods)
        assert (result.code, result.out) == (3, ""), result
        assert reason in result.err
        assert "internal error" not in result.err
