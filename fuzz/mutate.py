"""Judges damaged repositories in memory, by the hundred thousand: ``python -m fuzz.mutate``.

Case K of a seed is always the same, so ``--only K`` runs it alone. A worker that hangs, or exceeds its memory, is
killed and replaced. The others continue.
"""

from __future__ import annotations

import argparse
import contextlib
import ctypes
import faulthandler
import gc
import multiprocessing
import os
import re
import resource
import shutil
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from multiprocessing.connection import Connection
from multiprocessing.sharedctypes import Synchronized
from pathlib import Path
from typing import Any

from fuzz import corpus, mutations, oracle
from fuzz.commands import Commands
from fuzz.minimise import minimise
from fuzz.oracle import Failure, Judgement

HANG = 5.0
"""Seconds of processor time after which a case counts as hanging."""
STUCK = 60.0
"""Wall clock seconds after which a case counts as hanging."""
MEMORY = 1 << 30
"""Bytes that a case may use in addition to the worker's own."""
COLLECT = 100
"""Cases between two garbage collections, which the commands switch off."""
TICKS = os.sysconf("SC_CLK_TCK")
FORK = multiprocessing.get_context("fork")


@dataclass(frozen=True)
class Found:
    """A failure, and the smallest known input that causes it."""

    case: int
    failure: Failure
    files: Mapping[str, bytes]
    times: int = 1


@dataclass
class Totals:
    """The results of all cases."""

    outcomes: Counter[str] = field(default_factory=Counter)
    failures: Counter[str] = field(default_factory=Counter)
    """Number of failures by kind."""
    found: dict[str, Found] = field(default_factory=dict)
    """The first failure of each key."""


class Board:
    """Shared memory for the state of a worker, which survives the worker."""

    def __init__(self) -> None:
        self.case: Synchronized[int] = FORK.Value(ctypes.c_longlong, -1)
        self.cpu: Synchronized[float] = FORK.Value(ctypes.c_double, 0.0)
        self.clock: Synchronized[float] = FORK.Value(ctypes.c_double, time.monotonic())
        self.outcomes: Any = FORK.Array(ctypes.c_longlong, len(oracle.OUTCOMES))

    def begin(self, case: int) -> None:
        """Notes the start of a case, or of an attempt to reduce its input."""
        self.case.value, self.cpu.value, self.clock.value = case, time.process_time(), time.monotonic()


class Worker:
    """A process that judges every case whose number is ``job`` modulo ``jobs``."""

    def __init__(self, options: argparse.Namespace, job: int, start: int) -> None:
        self.options, self.job = options, job
        self.board = Board()
        self.folder = Path(tempfile.mkdtemp(prefix="fuzz-", dir="/dev/shm" if Path("/dev/shm").is_dir() else None))
        self.here, there = FORK.Pipe(duplex=False)
        self.process = FORK.Process(target=work, args=(options, start, self.board, there, self.folder), daemon=True)
        self.process.start()
        there.close()

    @property
    def hangs(self) -> bool:
        """Whether the current case takes too long."""
        if self.board.case.value < 0:
            return False
        try:
            stat = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        except OSError:  # it has just ended
            return False
        used = (int(stat[11]) + int(stat[12])) / TICKS - self.board.cpu.value
        return used > HANG or time.monotonic() - self.board.clock.value > STUCK

    def where(self) -> str:
        """Kills the worker, and returns the innermost frame of the package in its stack."""
        if self.process.pid is not None:
            os.kill(self.process.pid, signal.SIGUSR1)
            time.sleep(0.3)
        self.process.kill()
        self.process.join()
        trace = self.folder / "trace"
        text = trace.read_text() if trace.is_file() else ""
        frames = re.findall(r'File ".*?/kubectl_tas/(\S+?)", line \d+ in (\S+)', text)
        return ":".join(frames[0]) if frames else "outside of the package"

    def close(self) -> None:
        """Ends the worker and removes its folder."""
        if self.process.is_alive():
            self.process.kill()
        self.process.join()
        self.here.close()
        shutil.rmtree(self.folder, ignore_errors=True)


def work(options: argparse.Namespace, start: int, board: Board, pipe: Connection, folder: Path) -> None:
    """Runs in a worker. Sends a Found for every failure, and None at the end."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # who interrupts speaks to the one that counts
    trace = (folder / "trace").open("w")
    faulthandler.register(signal.SIGUSR1, file=trace, all_threads=False)
    os.environ.update(KUBECTL_TAS_DEBUG="1", KUBECTL_PATH="/bin/false", NO_COLOR="1")
    commands = Commands(folder)
    seen: set[str] = set()
    gc.collect()
    gc.freeze()
    gc.disable()
    limit_memory()
    for count, number in enumerate(range(start, options.start + options.inputs, options.jobs)):
        board.begin(number)
        case = mutations.case(options.seed, number)
        try:
            judgement = judge(case, commands)
        except MemoryError:
            pipe.send(Found(number, Failure("memory", case.origin, "more than 1 GiB"), case.files))
            os._exit(1)
        board.outcomes[oracle.OUTCOMES.index(judgement.outcome)] += 1
        for failure in judgement.failures:
            new = failure.key not in seen
            pipe.send(Found(number, failure, case.files if new else {}))
            if new:
                seen.add(failure.key)
                with contextlib.suppress(MemoryError):
                    pipe.send(Found(number, failure, smaller(case, failure, commands, board), 0))
        if count % COLLECT == COLLECT - 1:
            gc.collect()
    board.case.value = -1
    pipe.send(None)


def limit_memory() -> None:
    """Limits this process to MEMORY more than it uses now."""
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    most = pages * resource.getpagesize() + MEMORY
    resource.setrlimit(resource.RLIMIT_AS, (most, most))


def judge(case: mutations.Case, commands: Commands) -> Judgement:
    """Judges the case in memory and, if the case asks for it, with whole commands."""
    judgement = oracle.judge(case.files)
    if case.commands:
        more = commands.judge(case.files, case.base, case.cluster)
        judgement = replace(judgement, failures=(*judgement.failures, *more))
    unique = {failure.key: failure for failure in judgement.failures}
    return replace(judgement, failures=tuple(unique.values()))


def smaller(case: mutations.Case, failure: Failure, commands: Commands, board: Board) -> Mapping[str, bytes]:
    """Returns the smallest repository found that has the same failure."""
    in_memory = any(item.key == failure.key for item in oracle.judge(case.files).failures)

    def fails(files: Mapping[str, bytes]) -> bool:
        board.begin(case.number)
        return any(
            item.key == failure.key
            for item in judge(replace(case, files=dict(files), commands=not in_memory), commands).failures
        )

    return minimise(case.files, fails)


def fuzz(options: argparse.Namespace) -> Totals:
    """Runs all cases, or those before an interrupt. Prints progress and failures to stderr."""
    totals = Totals()
    workers = [Worker(options, job, options.start + job) for job in range(options.jobs)]
    try:
        watch(options, workers, totals)
    except KeyboardInterrupt:
        for worker in workers:
            totals.outcomes.update(dict(zip(oracle.OUTCOMES, worker.board.outcomes, strict=True)))
            worker.process.kill()
    return totals


def watch(options: argparse.Namespace, workers: list[Worker], totals: Totals) -> None:
    """Receives the findings of workers until all cases are done, and replaces workers that hang or have died."""
    begun = told = time.monotonic()
    while workers:
        for worker in list(workers):
            done = receive(worker, totals)
            number = worker.board.case.value
            if worker.process.is_alive() and not done:
                if not worker.hangs:
                    continue
                failure = Failure("hang", worker.where(), f"over {HANG:g} seconds")
                note(totals, Found(number, failure, mutations.case(options.seed, number).files))
            elif not done:
                worker.process.join()
                if not receive(worker, totals) and worker.process.exitcode != 1:
                    failure = Failure("crash", f"exit code {worker.process.exitcode}", "the process died")
                    note(totals, Found(number, failure, mutations.case(options.seed, number).files))
            totals.outcomes.update(dict(zip(oracle.OUTCOMES, worker.board.outcomes, strict=True)))
            worker.close()
            workers.remove(worker)
            if not done and number + options.jobs < options.start + options.inputs:
                workers.append(Worker(options, worker.job, number + options.jobs))
        if time.monotonic() - told > 20:
            told = time.monotonic()
            finished = totals.outcomes.total() + sum(sum(worker.board.outcomes) for worker in workers)
            rate = finished / (told - begun)
            print(f"{finished:,} of {options.inputs:,}, {rate:.0f} a second", file=sys.stderr, flush=True)
        time.sleep(0.05)


def receive(worker: Worker, totals: Totals) -> bool:
    """Receives the messages of a worker. Returns True if the worker has finished."""
    try:
        while worker.here.poll():
            found = worker.here.recv()
            if found is None:
                return True
            note(totals, found)
    except (EOFError, OSError):  # it has died
        pass
    return False


def note(totals: Totals, found: Found) -> None:
    """Counts a failure. Keeps the first of each key, or a smaller input for it."""
    key = found.failure.key
    known = totals.found.get(key)
    totals.failures[found.failure.kind] += found.times
    if known is None:
        print(f"case {found.case}: {key}", file=sys.stderr, flush=True)
        totals.found[key] = found
    elif found.times:
        totals.found[key] = replace(known, times=known.times + 1)
    elif sum(map(len, found.files.values())) < sum(map(len, known.files.values())):
        totals.found[key] = replace(known, files=found.files)


def tell(totals: Totals, seconds: float) -> None:
    """Prints the counts, and one small input for each distinct failure."""
    inputs = totals.outcomes.total() + totals.failures["hang"] + totals.failures["crash"] + totals.failures["memory"]
    print(f"{inputs:,} inputs in {seconds:.0f} s, {inputs / max(seconds, 0.001):.0f} a second")
    for name in oracle.OUTCOMES:
        print(f"  {totals.outcomes[name]:>9,}  {name}")
    print("failures")
    for kind in oracle.KINDS:
        distinct = sum(found.failure.kind == kind for found in totals.found.values())
        print(f"  {totals.failures[kind]:>9,}  {kind}" + (f", {distinct} distinct" if distinct else ""))
    for key, found in sorted(totals.found.items()):
        print(f"\n{key} ({found.times} times, first in case {found.case})")
        print("  " + shortened(found.failure.detail.strip()).replace("\n", "\n  "))
        for path, content in sorted(found.files.items()):
            print(f"  --- {path}\n      {content[:3000]!r}")


def shortened(text: str, most: int = 1500) -> str:
    """Returns both ends of a text."""
    return text if len(text) <= most else f"{text[: most // 2]}\n...\n{text[-most // 2 :]}"


def save(totals: Totals, folder: Path) -> None:
    """Writes every small input to a separate folder."""
    for key, found in totals.found.items():
        root = folder / re.sub(r"[^\w.-]+", "-", key)[:100]
        for path, content in found.files.items():
            with contextlib.suppress(OSError, ValueError):  # the name itself may be the failure
                target = root / "input" / path
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_bytes(content)
        root.mkdir(parents=True, exist_ok=True)
        (root / "failure.txt").write_text(f"{key}\ncase {found.case}\n\n{found.failure.detail}\n", errors="replace")


def parse_arguments(arguments: list[str] | None) -> Any:
    """Parses the command line."""
    parser = argparse.ArgumentParser(prog="python -m fuzz.mutate", description=__doc__)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--inputs", type=int, default=10_000, metavar="N", help="how many cases")
    parser.add_argument("--start", type=int, default=0, metavar="K", help="the number of the first case")
    parser.add_argument("--jobs", type=int, default=2, metavar="N", help="how many processes")
    parser.add_argument("--only", type=int, metavar="K", help="run case K alone and show its files")
    parser.add_argument("--save", type=Path, metavar="DIR", help="write a small input for each distinct failure there")
    return parser.parse_args(arguments)


def main(arguments: list[str] | None = None) -> int:
    """Exits with 1 after a failure."""
    options = parse_arguments(arguments)
    if options.only is not None:
        options.start, options.inputs, options.jobs = options.only, 1, 1
        case = mutations.case(options.seed, options.only)
        print(f"case {case.number} of {case.origin}: {', '.join(case.steps)}{', by commands' if case.commands else ''}")
        for path, content in sorted(case.files.items()):
            print(f"--- {path}\n{content.decode('utf-8', 'backslashreplace')}")
    corpus.documents()
    begun = time.monotonic()
    totals = fuzz(options)
    tell(totals, time.monotonic() - begun)
    if options.save is not None:
        save(totals, options.save)
    return 1 if totals.found else 0


if __name__ == "__main__":
    sys.exit(main())
