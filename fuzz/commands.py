"""Judges whole commands, which read and write a folder, as ``oracle`` judges validation and rendering in memory."""

from __future__ import annotations

import contextlib
import io
import json
import os
import re
import shutil
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from difflib import SequenceMatcher
from pathlib import Path
from random import Random
from unittest import mock

from fuzz.oracle import RAW, Failure, MemorySource, thrown
from kubectl_tas.base.diagnostics import Severity, in_order
from kubectl_tas.cli import main
from kubectl_tas.compare.change import Earlier
from kubectl_tas.load.loading import load_repository
from kubectl_tas.resolve.fleet import resolve

_NAME = re.compile(r"^\s*(?:- |\{)?\"?name\"?: *[\"']?([A-Za-z0-9][\w.-]*)", re.MULTILINE)
_PARENT = re.compile(r"^\s*parent: *[\"']?([\w.-]+)", re.MULTILINE)
_MOST_CHANGED = 4
"""Maximum number of lines that an edit of one subpool may change."""


@dataclass(frozen=True)
class _Done:
    code: int
    out: str
    err: str


class Commands:
    """Runs commands in a folder, for one case after the other."""

    def __init__(self, folder: Path) -> None:
        self.root = folder / "repository"
        self.state = folder / "cluster.json"
        self.failures: list[Failure] = []

    def judge(self, files: Mapping[str, bytes], base: Mapping[str, bytes], cluster: bytes) -> tuple[Failure, ...]:
        """Runs the commands on a repository and returns failures. Raises only MemoryError."""
        self.failures = []
        shutil.rmtree(self.root, ignore_errors=True)
        self.root.mkdir(parents=True)
        for path, content in files.items():
            with contextlib.suppress(OSError, ValueError):  # a name that the disk does not take either
                target = self.root / path
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_bytes(content)
        self.state.write_bytes(cluster)
        random = Random(zlib.crc32(b"".join(files.values())))
        with mock.patch("kubectl_tas.cli.validate.read_revision", side_effect=lambda *_: _earlier(base)):  # without git
            self._validate_and_render()
            self._read(random, files)
            self._edit(random, files)
        return tuple(self.failures)

    def _fail(self, kind: str, where: str, detail: str) -> None:
        self.failures.append(Failure(kind, where, detail))

    def _run(self, *arguments: str) -> _Done:
        """Runs one command. Checks its exit code, and that a terminal may show its output."""
        out, err = io.StringIO(), io.StringIO()
        command = " ".join(part for part in arguments[:2] if not part.startswith("-") and "/" not in part)
        code = 3
        try:
            with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
                code = main.run([*arguments, "-C", str(self.root)], "kubectl tas")
        except MemoryError:
            raise
        except Exception as error:
            self.failures.append(thrown(error))
        done = _Done(code, out.getvalue(), err.getvalue())
        if code not in range(4):
            self._fail("exit-code", f"{command} exits with {code}", done.err)
        if code == 2 and not done.err.strip():
            self._fail("exit-code", f"{command} says nothing", done.out)
        raw = RAW.search(done.out + done.err)
        if raw and arguments[0] != "render":
            shown = (done.out + done.err)[max(0, raw.start() - 80) : raw.end() + 20]
            self._fail("terminal", f"U+{ord(raw[0]):04X} printed by {command}", repr(shown))
        return done

    def _validate_and_render(self) -> None:
        done = self._run("validate", "-o", "json")
        self._json("validate", done)
        self._run("validate")
        if done.code != 0:
            rendered = self._run("render")
            if rendered.code == 0:
                self._fail("exit-code", "render works where validate fails", done.out)
            return
        before = self._snapshot()
        first = self._run("render")
        if first.code != 0:
            if first.code != 3 or "nothing to render" not in first.err:
                self._fail("unrendered", re.sub(r"[\"'].*|\d+", "", first.err)[:80], first.err)
            return
        written = self._snapshot()
        changed = [path for path in written if before.get(path) != written[path]]
        changed += [path for path in before if path not in written]
        outside = [path for path in changed if not _is_manifest(written.get(path, before.get(path, b"")))]
        if outside or any(path.startswith(".git") for path in changed):
            self._fail("path", "render touches what is not its own", ", ".join(outside))
        again = self._run("render")
        if again.code != 0 or " 0 written, 0 removed" not in again.err:
            self._fail("unstable", "render again", again.err)
        check = self._run("check")
        if check.code != 0 or check.out:
            self._fail("unstable", "check after render", check.out[:2000] + check.err)
        self._run("render", "--to", "-")

    def _read(self, random: Random, files: Mapping[str, bytes]) -> None:
        names = _named(files)
        state = ("--cluster-state", str(self.state))
        for arguments in (
            ("pool", "list"),
            ("pool", "list", "-o", "json", *state),
            ("subpool", "list", "-o", "json"),
            ("validate", "--base", "main", "-o", "json"),
            ("validate", "--base", "main", *state),
            ("workflow", "explain", random.choice(names)),
            ("workflow", "explain", "-o", "json", random.choice(names)),
            ("topology", "show", random.choice(names)),
            ("admit", "-o", "json", str(self.root / random.choice(sorted(files)))),
            ("admit", str(self.root / random.choice(sorted(files))), *state),
        ):
            done = self._run(*arguments)
            if "json" in arguments and done.code in (0, 1) and done.out:
                self._json(f"{arguments[0]} {arguments[1]}", done)

    def _json(self, command: str, done: _Done) -> None:
        if done.code not in (0, 1):
            return
        try:
            json.loads(done.out)
        except ValueError:
            self._fail("exit-code", f"{command} prints no JSON", done.out[:500] + done.err)

    def _edit(self, random: Random, files: Mapping[str, bytes]) -> None:
        """Runs edits of subpools. Each may change at most one file, and few lines of it."""
        names = _named(files)
        parents = _found(_PARENT, files) or names
        for arguments in (
            ("create", random.choice(names), "new", "--quota", "1"),
            ("update", random.choice(parents), random.choice(names), "--quota", "2"),
            ("delete", random.choice(parents), random.choice(names), "--used", "0"),
            ("drain", "--used", "0"),
            ("drain", "--cluster-state", str(self.state)),
            ("recreate", random.choice(parents), random.choice(names), "--quota", "3"),
        ):
            before = self._snapshot()
            done = self._run("subpool", *arguments)
            after = self._snapshot()
            changed = [path for path in {**before, **after} if before.get(path) != after.get(path)]
            if done.code and changed:
                self._fail("edit", f"{arguments[0]} fails and writes", ", ".join(changed))
            for path in changed:
                old, new = before.get(path), after.get(path)
                if old is None and arguments[0] == "create":
                    continue
                if old is None or new is None or _lines_changed(old, new) > _MOST_CHANGED:
                    self._fail("edit", f"{arguments[0]} changes too much", f"{path}\n{old!r}\n{new!r}"[:4000])
            if len(changed) > 1 and arguments[0] not in ("drain", "create"):  # the pool may list what is over its quota
                self._fail("edit", f"{arguments[0]} changes several files", ", ".join(changed))

    def _snapshot(self) -> dict[str, bytes]:
        found = {}
        for folder, _, names in os.walk(self.root):
            for name in names:
                path = Path(folder, name)
                found[path.relative_to(self.root).as_posix()] = path.read_bytes()
        return found


def _earlier(files: Mapping[str, bytes]) -> Earlier:
    """Returns the fleet of a revision."""
    loaded = load_repository(MemorySource(files))
    errors = (item for item in in_order(loaded.diagnostics) if item.severity is Severity.ERROR)
    return Earlier(resolve(loaded.repository), "main", tuple(str(item.location) for item in errors))


def _is_manifest(content: bytes) -> bool:
    return content.startswith(b"# Generated by kubectl-tas from ")


def _lines_changed(old: bytes, new: bytes) -> int:
    """Counts lines that only one of the two texts has."""
    matcher = SequenceMatcher(None, old.splitlines(), new.splitlines(), autojunk=False)
    return sum(max(a2 - a1, b2 - b1) for tag, a1, a2, b1, b2 in matcher.get_opcodes() if tag != "equal")


def _named(files: Mapping[str, bytes]) -> list[str]:
    return _found(_NAME, files) or ["none"]


def _found(pattern: re.Pattern[str], files: Mapping[str, bytes]) -> list[str]:
    text = "\n".join(content.decode("utf-8", "replace") for _, content in sorted(files.items()))
    return sorted(set(pattern.findall(text)))
