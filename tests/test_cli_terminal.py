"""Tests the behaviour of commands with terminals, pipes, signals and full disks."""

from __future__ import annotations

import contextlib
import io
import os
import pty
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from kubectl_tas.cli import terminal
from kubectl_tas.cli.main import run
from kubectl_tas.report.style import printable_lines
from tests.support.cli import kubectl_tas, pool, subpool, write
from tests.support.history import commit
from tests.support.kubectl import FakeKubectl, queue
from tests.support.process import SCRIPTS, call, environment

COMMAND = str(SCRIPTS / "kubectl-tas")
PATIENT = f"""
import sys
from kubectl_tas.cli import main, terminal
terminal.DELAY, sys.argv[0] = 86_400.0, {COMMAND!r}
main.main()
"""
ESCAPE = "\x1b["


@pytest.fixture
def broken(repository: Path) -> Path:
    """A repository with one error."""
    return write(repository, {"pools/team.yaml": pool(), "subpools/a.yaml": subpool("a", 101)})


@pytest.fixture
def large(repository: Path) -> Path:
    """A repository whose manifests do not fit into a pipe, which holds 64 KiB."""
    names = [f"p{number}" for number in range(150)]
    return write(repository, {f"pools/{name}.yaml": pool(name) for name in names})


def on_terminal(*arguments: str | Path, **extra: str) -> tuple[int, str]:
    """Exit code and output of a command whose stdout and stderr are a terminal, and which shows no progress: that comes
    after a second, and a machine with other work takes one.
    """
    leader, follower = pty.openpty()
    env = environment(**{"TERM": "xterm", **extra})
    process = subprocess.Popen(
        [sys.executable, "-c", PATIENT, *arguments], env=env, stdin=follower, stdout=follower, stderr=follower
    )
    os.close(follower)
    shown = b""
    with contextlib.suppress(OSError):  # Linux ends a terminal that nobody holds open any more with an error
        while part := os.read(leader, 4096):
            shown += part
    os.close(leader)
    return process.wait(), shown.decode().replace("\r\n", "\n")


class TestColour:
    def test_on_a_terminal(self, broken: Path) -> None:
        code, shown = on_terminal("validate", "-C", broken)
        assert code == 1
        assert f"{ESCAPE}1;31merror{ESCAPE}0m: " in shown

    def test_same_words_without(self, broken: Path) -> None:
        code, shown = on_terminal("validate", "-C", broken, NO_COLOR="1")
        assert (code, shown) == (1, kubectl_tas("validate", "-C", broken).out)

    def test_no_color_must_say_something(self, broken: Path) -> None:
        assert ESCAPE in on_terminal("validate", "-C", broken, NO_COLOR="")[1]

    def test_dumb_terminal(self, broken: Path) -> None:
        assert ESCAPE not in on_terminal("validate", "-C", broken, TERM="dumb")[1]

    def test_not_in_a_pipe(self, broken: Path) -> None:
        assert ESCAPE not in call(COMMAND, "validate", "-C", broken).out

    def test_where_it_is_asked_for(self, broken: Path) -> None:
        assert ESCAPE in call(COMMAND, "--color", "always", "validate", "-C", broken).out
        assert ESCAPE not in on_terminal("--color", "never", "validate", "-C", broken)[1]
        assert ESCAPE not in call(COMMAND, "--color", "auto", "validate", "-C", broken).out

    def test_where_the_environment_asks_for_it(self, broken: Path) -> None:
        assert ESCAPE in call(COMMAND, "validate", "-C", broken, KUBECTL_TAS_COLOR="always").out
        assert ESCAPE not in call(COMMAND, "--color", "never", "validate", "-C", broken, KUBECTL_TAS_COLOR="always").out
        assert call(COMMAND, "validate", "-C", broken, KUBECTL_TAS_COLOR="green").code == 2

    def test_not_in_json(self, broken: Path) -> None:
        assert ESCAPE not in on_terminal("validate", "-C", broken, "-o", "json")[1]


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize("is_terminal", [True, False])
def test_what_programs_get_commands_no_terminal(is_terminal: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """A comment of a workload may hold anything, also across parts; what a program writes itself is known."""
    monkeypatch.setattr(terminal, "_AT_ONCE", 1)
    parts = ["a", ESCAPE, "1m\n", ":", ":error::b\n"]
    printed = {}
    for name, prints in {
        "whole": lambda: terminal.hand_over("".join(parts)),
        "in-parts": lambda: terminal.hand_over_parts(iter(parts)),
        "safe": lambda: terminal.hand_over("".join(parts), is_safe=True),
    }.items():
        out = Terminal() if is_terminal else io.StringIO()
        with contextlib.redirect_stdout(out):
            prints()
        printed[name] = out.getvalue()
    escaped = f"a\\x1b[1m\n{printable_lines('::error::b')}\n" if is_terminal else "".join(parts)
    assert printed == {"whole": escaped, "in-parts": escaped, "safe": "".join(parts)}


class AtOnce(threading.Timer):
    """A timer that does not wait."""

    def start(self) -> None:
        self.function()

    def join(self, timeout: float | None = None) -> None:
        pass


WORKFLOW = "workflow: {name: train, pool: team, tasks: [{name: t, image: i, command: [x]}]}\n"


class TestProgress:
    """A bar is drawn once work has taken ``terminal.DELAY``; the tests set that instead of waiting."""

    @pytest.fixture(autouse=True)
    def at_once(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(terminal, "DELAY", 0.0)

    def shown(self, stream: io.StringIO, steps: int = 4) -> str:
        """What so many steps of work show on ``stream``."""
        with contextlib.redirect_stderr(stream), terminal.progress("Reading") as tick:
            for done in range(steps):
                tick(done + 1, steps)
        return stream.getvalue()

    def test_long_work(self) -> None:
        shown = self.shown(Terminal())
        assert re.findall(r"\r.*?Reading  \[([#-]*)\]  (\d/\d)", shown) == [
            ("#" * (36 * done // 4) + "-" * (36 - 36 * done // 4), f"{done}/4") for done in range(5)
        ]
        assert shown.endswith("\n"), "what follows starts on a line of its own"

    def test_short_work(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(terminal, "DELAY", float("inf"))
        assert self.shown(Terminal()) == ""

    def test_appears_where_the_work_is(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """The steps of the first second count, although nobody saw them."""
        stream = Terminal()
        with contextlib.redirect_stderr(stream), terminal.progress("Reading") as tick:
            monkeypatch.setattr(terminal, "DELAY", float("inf"))
            tick(1, 4)
            assert stream.getvalue() == ""
            monkeypatch.setattr(terminal, "DELAY", 0.0)
            tick(2, 4)
            assert "2/4" in stream.getvalue()

    def test_is_not_redrawn_at_every_step(self) -> None:
        assert self.shown(Terminal(), 100_000).count("Reading") <= terminal.STEPS + 1

    def test_no_terminal(self) -> None:
        assert self.shown(io.StringIO()) == ""

    def test_a_second_is_the_limit(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.undo()
        assert terminal.DELAY == 1.0

    def test_commands_show_it(self, large: Path) -> None:
        out, err = io.StringIO(), Terminal()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            assert run(["render", "-C", str(large)], "kubectl tas") == 0
        for label in ("Compiling", "Rendering", "Writing"):
            assert f"{label}  [" in err.getvalue()
        assert "Compiling" not in out.getvalue()

    def test_how_long_it_took(self) -> None:
        assert re.search(r"4/4 +0 s", self.shown(Terminal()))

    def test_what_nobody_counts(self, monkeypatch: pytest.MonkeyPatch) -> None:
        def shown(stream: io.StringIO) -> str:
            with contextlib.redirect_stderr(stream), terminal.waiting("Reading nodes"):
                return stream.getvalue()

        monkeypatch.setattr(terminal, "DELAY", 60.0)
        assert shown(Terminal()) == ""
        monkeypatch.setattr("threading.Timer", AtOnce)
        assert shown(Terminal()) == "Reading nodes ..."
        assert shown(io.StringIO()) == ""

    def test_what_nobody_counts_ends_before_an_error(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("threading.Timer", AtOnce)
        stream = Terminal()
        with contextlib.redirect_stderr(stream), pytest.raises(KeyboardInterrupt), terminal.waiting("Reading nodes"):
            raise KeyboardInterrupt
        assert stream.getvalue() == "Reading nodes ... 0 s\n"

    @pytest.mark.parametrize(
        ("command", "label"),
        [
            ("validate", "Reading"),
            ("check", "Rendering"),
            ("report --to {root}/site", "Drawing"),
            ("fit --all --nodes {nodes}", "Placing"),
            ("fit Train --nodes {nodes}", "Placing"),
            ("snapshot --to {root}/snapshot.zip --nodes {nodes}", "Writing the snapshot"),
            ("diff --base HEAD", "Reading the base"),
            ("diff --base HEAD", "Comparing"),
            ("pool list --live", "Reading queues.scheduling.run.ai"),
            ("import cluster --to {root}/new", "Reading queues.scheduling.run.ai"),
        ],
    )
    def test_every_command_that_takes_long_shows_it(
        self, repository: Path, monkeypatch: pytest.MonkeyPatch, command: str, label: str
    ) -> None:
        monkeypatch.setattr("threading.Timer", AtOnce)
        root = write(repository, {"pools/team.yaml": pool(), "workflows/w.yaml": WORKFLOW})
        commit(root)
        write(root, {"workflows/w.yaml": WORKFLOW.replace("[x]", "[y]")})
        fake = FakeKubectl(repository.parent, monkeypatch)
        fake.answers([queue("team", 2)], [])
        nodes = repository.parent / "nodes.json"
        nodes.write_text('{"items": [{"kind": "Node", "metadata": {"name": "n"}}]}')
        err = Terminal()
        words = command.format(root=root, nodes=nodes).split()
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(err):
            run(["-C", str(root), *words], "kubectl tas")
        assert label in err.getvalue(), err.getvalue()

    def test_ends_before_an_error(self) -> None:
        def interrupted() -> None:
            with terminal.progress("Reading") as tick:
                tick(1, 2)
                raise KeyboardInterrupt

        stream = Terminal()
        with contextlib.redirect_stderr(stream), pytest.raises(KeyboardInterrupt):
            interrupted()
        assert stream.getvalue().endswith("\n")


@contextmanager
def writing(root: Path, **extra: str) -> Iterator[subprocess.Popen[bytes]]:
    """A process that renders more into a pipe than the pipe holds: it waits in the middle of its output."""
    pipe, command = subprocess.PIPE, [COMMAND, "render", "-C", root, "--to", "-"]
    process = subprocess.Popen(command, env=environment(**extra), stdout=pipe, stderr=pipe)
    assert process.stdout is not None
    assert process.stderr is not None
    with process:
        process.stdout.read(1)
        yield process


class TestInterruption:
    def test_ctrl_c(self, large: Path) -> None:
        with writing(large) as process:
            process.send_signal(signal.SIGINT)
            _, told = process.communicate()
        assert told == b"interrupted\n"
        assert process.returncode == 130

    @pytest.mark.parametrize("unbuffered", ["", "1"])
    def test_closed_pipe(self, large: Path, unbuffered: str) -> None:
        with writing(large, PYTHONUNBUFFERED=unbuffered) as process:
            assert process.stdout is not None
            process.stdout.close()
            assert process.stderr is not None
            assert process.stderr.read() == b""
        assert process.returncode == 141

    def test_head(self, large: Path) -> None:
        result = call("bash", "-c", f"{COMMAND} render -C {large} --to - | head -1")
        assert (result.code, result.out, result.err) == (0, "---\n", "")

    def test_full_disk(self, large: Path) -> None:
        result = call("bash", "-c", f"{COMMAND} render -C {large} --to - >/dev/full")
        assert (result.code, result.err) == (3, "error: No space left on device\n")

    @pytest.mark.parametrize("closed", ["", ">&-", "2>&-", ">&- 2>&-"])
    def test_closed_streams(self, broken: Path, closed: str) -> None:
        assert call("bash", "-c", f"{COMMAND} validate -C {broken} {closed}").code == 1


class TestText:
    @pytest.mark.parametrize("locale", [{"LC_ALL": "C", "PYTHONUTF8": "0"}, {"PYTHONIOENCODING": "latin-1"}])
    def test_output_is_utf8_whatever_the_locale(self, repository: Path, locale: dict[str, str]) -> None:
        write(repository, {"pools/team.yaml": pool(), "subpools/a.yaml": subpool("a", 30)})
        assert "└─ team--a" in call(COMMAND, "pool", "list", "-C", repository, PYTHONCOERCECLOCALE="0", **locale).out

    def test_file_name_that_is_no_text(self, repository: Path) -> None:
        folder = os.fsencode(write(repository, {"pools/team.yaml": pool()}) / "pools")
        Path(os.fsdecode(folder + b"/\xff.yaml")).write_text("a: [\n")
        result = call(COMMAND, "validate", "-C", repository)
        assert (result.code, result.err) == (1, "")
        assert result.out.startswith("pools/\\udcff.yaml:1:")
        assert '"path": "pools/\\udcff.yaml"' in call(COMMAND, "validate", "-C", repository, "-o", "json").out

    def test_names_command_no_terminal(self, repository: Path) -> None:
        name = "a\x1b]0;owned\x07\nb.yaml"
        write(repository, {f"pools/{name}": 'apiVersion: tas/v1alpha1\nkind: "Po\\e[2Jol"\n'})
        result = kubectl_tas("validate", "-C", repository)
        assert result.out.startswith("pools/a\\x1b]0;owned\\x07\\nb.yaml:2:7: error: ")
        assert 'the kind "Po\\x1b[2Jol"' in result.out
