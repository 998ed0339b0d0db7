"""Measures how long one TAB takes on a repository of 1,000 files, compared with the start of Python.

Writes 100 pools, 300 subpools and 600 workflows into a temporary folder. Then times completions of several words and
`kubectl-tas --version`, alternating with `python -c pass`. Prints medians and their ratios.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import sysconfig
import tempfile
import time
from pathlib import Path

from bench.fleet import write_repository

SCRIPTS = Path(sysconfig.get_path("scripts"))
WORDS = (
    ("pool", "describe", ""),
    ("subpool", "recreate", ""),
    ("workflow", "explain", ""),
    ("validate", "--base", ""),
    ("rule", ""),
    ("",),
)


def timed(command: list[str], root: Path) -> float:
    """Returns the seconds that a command takes."""
    start = time.perf_counter()
    subprocess.run(command, cwd=root, check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - start


def main(arguments: list[str]) -> int:
    """Runs the benchmark. Returns the exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=20)
    runs = parser.parse_args(arguments).runs
    commands = {"python -c pass": [sys.executable, "-c", "pass"]}
    commands |= {" ".join(words): [str(SCRIPTS / "kubectl_complete-tas"), *words] for words in WORDS}
    commands["kubectl-tas --version"] = [str(SCRIPTS / "kubectl-tas"), "--version"]
    with tempfile.TemporaryDirectory() as folder:
        write_repository(Path(folder), pools=100, workflows=600)
        taken = [{name: timed(command, Path(folder)) for name, command in commands.items()} for _ in range(runs)]
    medians = {name: statistics.median(run[name] for run in taken) for name in commands}
    least = medians["python -c pass"]
    for name, seconds in medians.items():
        print(f"{seconds * 1000:6.0f} ms  {seconds / least:5.1f} x  {name or '(commands)'}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
