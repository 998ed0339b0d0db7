"""Kills commands that write, at random moments, and checks the files that are left.

    python fuzz/kills.py --runs 300 --seed 1

Each run copies a small rendered repository, starts one command on it and ends it with SIGKILL. Half of the runs do so
at any moment, the other half within milliseconds after the first change on disk. Then every file must be old or new,
none may be lost, and a kustomization may list only existing files. After a second run of an interrupted command, the
work must be complete and nothing half-written may remain. Prints counts by command, and meanwhile on stderr how far it
is. Exits with 1 if a file was half-written or lost, and names the run. The same seed makes the same choices; the effect
depends on the machine.
"""

from __future__ import annotations

import argparse
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
CONFIG = "apiVersion: tas/v1alpha1\nkind: Config\nspec:\n  gitops: {gitops}\n"
POOL = """\
apiVersion: tas/v1alpha1
kind: Pool
metadata:
  name: team
spec:
  resources:
    gpu:
      guarantee: 100
"""
SUBPOOL = """\
# {name}
apiVersion: tas/v1alpha1
kind: Subpool
metadata:
  name: {name}
spec:
  parent: team
  quota: 9
  state: {state}
"""
WORKFLOW = """\
workflow:
  name: train-{number}
  pool: team
  tasks:
  - {{name: one, image: "registry.example/image:{number}"}}
  - {{name: two, image: "registry.example/image:{number}"}}
"""
LEFTOVER = re.compile(r"\.[0-9a-f]{16}\.kubectl-tas\.tmp")
LISTED = re.compile(r"^- (\S+)$", re.MULTILINE)
MOMENTS = ("early", "midway", "ended")
EVERY = 5.0
"""Seconds between two lines that say how far it is."""
COMMANDS: Mapping[str, Sequence[str]] = {
    "render": ["render"],
    "update": ["subpool", "update", "team", "a", "--quota", "7"],
    "create": ["subpool", "create", "team", "z", "--quota", "7", "--render"],
    "delete": ["subpool", "delete", "team", "a", "--used", "0", "--render"],
    "drain": ["subpool", "drain", "--used", "0"],
    "drain and render": ["subpool", "drain", "--used", "0", "--render"],
}

Content = Mapping[str, bytes]
"""Every file of a repository by path."""


@dataclass(frozen=True)
class Scenario:
    """One command, and the repository before and after the command."""

    name: str
    folder: Path
    """The repository before the command."""
    old: Content
    new: Content
    seconds: float
    """Duration of the command."""


def main() -> int:
    """Runs everything. Returns 1 if a file was half-written or lost."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=300)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    chance = random.Random(options.seed)
    counts: Counter[tuple[str, str]] = Counter()
    wrong = 0
    with tempfile.TemporaryDirectory() as folder:
        scenarios = []
        for name in COMMANDS:
            say(f"preparing {name}")
            scenarios.append(prepare(Path(folder), name))
        begun = said = time.monotonic()
        for run in range(options.runs):
            if run == 0 or time.monotonic() - said >= EVERY:
                said = time.monotonic()
                say(f"run {run} of {options.runs}, {said - begun:.0f} s, {wrong} wrong")
            scenario = scenarios[run % len(scenarios)]
            moment, problems = killed(scenario, Path(folder, "work"), chance)
            counts[scenario.name, moment] += 1
            for problem in problems:
                wrong += 1
                say(f"run {run} of seed {options.seed}, {scenario.name}: {problem}")
    print(f"{'killed':18}" + "".join(f"{moment:>8}" for moment in MOMENTS))
    for name in COMMANDS:
        print(f"{name:18}" + "".join(f"{counts[name, moment]:8}" for moment in MOMENTS))
    print(f"{options.runs} runs, seed {options.seed}: {wrong} files or folders half-written, lost or left behind")
    return 1 if wrong else 0


def say(text: str) -> None:
    """Prints a line on stderr at once, also where stderr is a file."""
    print(text, file=sys.stderr, flush=True)


def prepare(folder: Path, name: str) -> Scenario:
    """Prepares the rendered repository for a command. For ``render``, its sources are changed."""
    root = folder / name.replace(" ", "-")
    write_sources(root)
    command(root, ["render"])
    if name == "render":
        (root / "tas.yaml").write_text(CONFIG.format(gitops="argocd"))
        for number in range(0, 30, 3):
            (root / f"workflows/train-{number}.yaml").unlink()
        (root / "workflows/more.yaml").write_text(WORKFLOW.format(number="more"))
    done = folder / f"{root.name}-done"
    shutil.copytree(root, done)
    start = time.perf_counter()
    command(done, COMMANDS[name])
    return Scenario(name, root, content(root), content(done), time.perf_counter() - start)


def write_sources(root: Path) -> None:
    """Writes a pool, six subpools and thirty workflows."""
    for part in ("pools", "subpools", "workflows"):
        (root / part).mkdir(parents=True)
    (root / "tas.yaml").write_text(CONFIG.format(gitops="none"))
    (root / "pools/team.yaml").write_text(POOL)
    for name in "abcdef":
        state = "ACTIVE" if name in "ab" else "DELETING"
        (root / f"subpools/{name}.yaml").write_text(SUBPOOL.format(name=name, state=state))
    for number in range(30):
        (root / f"workflows/train-{number}.yaml").write_text(WORKFLOW.format(number=number))


def killed(scenario: Scenario, work: Path, chance: random.Random) -> tuple[str, list[str]]:
    """Performs one run. Returns the moment of the command's death and the problems."""
    shutil.rmtree(work, ignore_errors=True)
    shutil.copytree(scenario.folder, work)
    wait, while_writing = chance.uniform(0, 1), chance.random() < 0.5
    running = start(work, COMMANDS[scenario.name])
    if while_writing:
        await_change(running, work)
        time.sleep(wait * 0.02)
    else:
        time.sleep(wait * scenario.seconds * 1.1)
    running.kill()
    running.wait()
    found = content(work)
    problems = judge(scenario.old, scenario.new, found)
    moment = "early" if found == scenario.old else "ended" if found == scenario.new else "midway"
    return moment, problems + (finish(scenario, work, found) if moment == "midway" else [])


def await_change(running: subprocess.Popen[bytes], work: Path) -> None:
    """Waits until the command has changed the first file or has ended."""
    folders = [work, *(path for path in work.rglob("*") if path.is_dir())]
    before = [folder.stat().st_mtime_ns for folder in folders]
    while running.poll() is None:
        try:
            if [folder.stat().st_mtime_ns for folder in folders] != before:
                return
        except FileNotFoundError:  # an empty folder was removed
            return


def judge(old: Content, new: Content, found: Content) -> list[str]:
    """Returns the files that are half-written, lost, or listed but missing after a kill."""
    problems = []
    for path, text in found.items():
        if LEFTOVER.fullmatch(Path(path).name):
            continue
        if text not in (old.get(path), new.get(path)):
            problems.append(f"{path} is neither the old file nor the new one")
    problems += [f"{path} is lost" for path in old.keys() & new.keys() - found.keys()]
    for path, text in found.items():
        if Path(path).name == "kustomization.yaml":
            listed = {f"{Path(path).parent.as_posix()}/{name}" for name in LISTED.findall(text.decode())}
            problems += [f"{path} lists {name}, which is not there" for name in sorted(listed - found.keys())]
    return problems


def finish(scenario: Scenario, work: Path, found: Content) -> list[str]:
    """Runs an interrupted command again, and returns the remaining differences."""

    def edited(files: Content) -> Content:
        return {path: text for path, text in files.items() if not is_written(path)}

    arguments = COMMANDS[scenario.name]
    if edited(found) != edited(scenario.new):
        command(work, arguments)
    if "render" in arguments or "--render" in arguments:
        command(work, ["render"])
    after = content(work)
    differing = {path for path in after.keys() | scenario.new.keys() if after.get(path) != scenario.new.get(path)}
    if edited(found) == edited(scenario.new):  # no edit came after, which would have removed what is left behind
        differing = {path for path in differing if is_written(path) or not LEFTOVER.fullmatch(Path(path).name)}
    return [f"{path} is not as it should be after the command was run again" for path in sorted(differing)]


def is_written(path: str) -> bool:
    """Whether ``render`` writes this file."""
    return path.startswith("manifests/")


def content(root: Path) -> Content:
    """Returns every file below a folder."""
    return {path.relative_to(root).as_posix(): path.read_bytes() for path in root.rglob("*") if path.is_file()}


def start(root: Path, arguments: Sequence[str]) -> subprocess.Popen[bytes]:
    """Starts a command of this checkout."""
    program = [sys.executable, "-m", "kubectl_tas", "-C", str(root), *arguments]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    return subprocess.Popen(program, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)


def command(root: Path, arguments: Sequence[str]) -> None:
    """Runs a command to its end. Raises RuntimeError if it fails."""
    running = start(root, arguments)
    _, err = running.communicate()
    if running.returncode:
        raise RuntimeError(f"{' '.join(arguments)} exits {running.returncode}: {err.decode()}")


if __name__ == "__main__":
    sys.exit(main())
