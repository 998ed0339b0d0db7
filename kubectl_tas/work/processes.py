"""The map over files: outcomes by several processes where there is enough work, and the texts that they made.

Each process takes every n-th file, and tells through a pipe what came of each. It only ever writes, so it ends when
nobody reads any more. Texts go to a file without a name, one a process, from which they come back when they are written
to their place.
"""

from __future__ import annotations

import contextlib
import gc
import os
import signal
import struct
import sys
import weakref
from collections.abc import Iterator, Sequence
from dataclasses import field
from typing import NoReturn

from kubectl_tas.errors import TasError
from kubectl_tas.load.source import RawFile
from kubectl_tas.records import dataclass
from kubectl_tas.work.outcome import Outcome, Shared, outcome
from kubectl_tas.work.plain import of_bytes, to_bytes

LEAST = 150
"""Files for each process, below which it costs more than it saves."""
MOST = 8
"""Processes, however many processors there are."""
_HEAD = struct.Struct("<IQI")
"""What stands before a result: the place of its file, where its texts begin, and the bytes of what follows."""
_FAILED = 2**32 - 1
"""In place of a number of bytes: there was an exception."""
_FIRST = 4
"""Files that the first process does by itself: what is made once, such as validators, the others have then too."""
_COLLECT = 250
"""Files after which garbage is collected."""
_READ = 64 * 1024
"""Bytes that a pipe holds."""


class Spool:
    """A file for texts, which has no name. One process writes; whoever had it when that one began can read."""

    def __init__(self) -> None:
        self.end = 0
        """Bytes that it has."""
        self._held = bytearray()  # where the system keeps no file that has no name
        self._handle: int | None = None
        if os.name == "posix":
            import tempfile  # only texts that are kept need it

            self._handle, path = tempfile.mkstemp(prefix="kubectl-tas-")
            os.unlink(path)  # noqa: PTH108 - nobody else knows it
            weakref.finalize(self, os.close, self._handle)

    def put(self, texts: Sequence[bytes]) -> int:
        """Adds texts one behind the other; where the first begins."""
        start = self.end
        content = b"".join(texts)
        if self._handle is None:
            self._held += content
        else:
            _write(self._handle, content)
        self.end += len(content)
        return start

    def get(self, start: int, size: int) -> str:
        """A text by where it begins, and its bytes."""
        found = self._held[start : start + size] if self._handle is None else os.pread(self._handle, size, start)
        return found.decode("utf-8", "surrogatepass")


class Shelf:
    """A text of each of many files, in a file without a name, where it takes no memory."""

    def __init__(self) -> None:
        self._spool: Spool | None = None
        self._places: dict[str, tuple[int, int]] = {}

    def put(self, path: str, text: str) -> None:
        """Keeps the text of a file."""
        self._spool = self._spool or Spool()
        start = self._spool.put([text.encode("utf-8", "surrogatepass")])
        self._places[path] = start, self._spool.end - start

    def get(self, path: str) -> str | None:
        """The text of a file; None where it has none."""
        place = self._places.get(path)
        return self._spool.get(*place) if self._spool and place else None


@dataclass(frozen=True, slots=True)
class Strip:
    """Where the texts of one file are."""

    spool: Spool
    start: int
    """Byte of the first text."""

    def text(self, at: int, size: int) -> str:
        """A text by the bytes that stand before it, and its own."""
        return self.spool.get(self.start + at, size)


@dataclass(frozen=True, slots=True)
class Done:
    """What came of a file."""

    raw: RawFile
    outcome: Outcome
    texts: Strip | None
    """None where nobody asked for them."""


def processes_for(files: int) -> int:
    """How many processes are worth their cost for so many files, on as many processors as this one may use; where the
    system has no cheap copy of a process, one.
    """
    if sys.platform != "linux":
        return 1
    return max(1, min(MOST, len(os.sched_getaffinity(0)), files // LEAST))


def outcomes(work: Sequence[RawFile], shared: Shared, processes: int, *, render: bool) -> Iterator[Done]:
    """The outcomes of files, in no particular order; with ``render`` the texts of their manifests too.

    Raises TasError where a process was ended from outside.
    """
    if processes > 1:
        yield from _by_several(work, shared, processes, render=render)
        return
    spool = Spool() if render else None
    for raw in work:
        yield _done(raw, shared, spool)


def _by_several(work: Sequence[RawFile], shared: Shared, processes: int, *, render: bool) -> Iterator[Done]:
    import selectors  # only several processes need it

    yield from outcomes(work[:_FIRST], shared, 1, render=render)
    work = work[_FIRST:]
    sys.stdout.flush()
    sys.stderr.flush()
    gc.freeze()  # what is there already stays, in all processes
    workers: dict[int, _Worker] = {}
    with selectors.DefaultSelector() as ready:
        try:
            for first in range(processes):
                worker = _start(work[first::processes], shared, [*workers], render=render)
                workers[worker.pipe] = worker
                ready.register(worker.pipe, selectors.EVENT_READ)
            while ready.get_map():
                for key, _ in ready.select():
                    if workers[key.fd].is_at_end():
                        ready.unregister(key.fd)
                    yield from workers[key.fd].results(shared)
            for worker in workers.values():
                worker.wait()
        finally:
            for worker in workers.values():
                worker.end()


def _done(raw: RawFile, shared: Shared, spool: Spool | None) -> Done:
    texts: list[bytes] | None = None if spool is None else []
    found = outcome(raw, shared, texts)
    return Done(raw, found, Strip(spool, spool.put(texts or ())) if spool else None)


@dataclass
class _Worker:
    """Another process, as this one sees it."""

    pid: int
    pipe: int
    """What it writes to is read here."""
    work: Sequence[RawFile]
    spool: Spool | None
    _unread: bytearray = field(default_factory=bytearray)
    _ended: bool = False

    def is_at_end(self) -> bool:
        """Reads what it has written since; whether there is no more to come."""
        content = os.read(self.pipe, _READ)
        self._unread += content
        return not content

    def results(self, shared: Shared) -> Iterator[Done]:
        """What it has said in full."""
        place = 0
        while len(self._unread) - place >= _HEAD.size:
            number, start, size = _HEAD.unpack_from(self._unread, place)
            if size == _FAILED:  # the same exception, with a traceback of this process
                _done(self.work[number], shared, self.spool)
                raise TasError(f"a process failed at {self.work[number].path}", hint="Run again.")
            if len(self._unread) - place < _HEAD.size + size:
                break
            place += _HEAD.size
            found = Outcome(*of_bytes(bytes(self._unread[place : place + size])))
            place += size
            yield Done(self.work[number], found, Strip(self.spool, start) if self.spool else None)
        del self._unread[:place]

    def wait(self) -> None:
        """Waits for its end. Raises TasError where that came from outside."""
        _, status = os.waitpid(self.pid, 0)
        self._ended = True
        code = os.waitstatus_to_exitcode(status)
        if code != 0 or self._unread:
            why = f"by signal {-code}" if code < 0 else f"with exit code {code}"
            hint = "Most likely memory ran out. Free some, or use fewer processes: --processes 1."
            raise TasError(f"a process of this command was ended {why}", hint=hint)

    def end(self) -> None:
        """Ends it, whatever it does."""
        os.close(self.pipe)
        if not self._ended:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pid, signal.SIGKILL)
            os.waitpid(self.pid, 0)


def _start(work: Sequence[RawFile], shared: Shared, others: Sequence[int], *, render: bool) -> _Worker:
    spool = Spool() if render else None
    reads, writes = os.pipe()
    pid = os.fork()
    if pid == 0:
        for pipe in (reads, *others):
            os.close(pipe)
        _run(work, shared, spool, writes)
    os.close(writes)
    return _Worker(pid, reads, work, spool)


def _run(work: Sequence[RawFile], shared: Shared, spool: Spool | None, pipe: int) -> NoReturn:
    """What the other process does, to its end: nothing of this one's is flushed or tidied there."""
    code = 1
    try:
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # who asked for it ends it
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        gc.disable()
        with open(pipe, "wb", buffering=_READ) as told:
            for number, raw in enumerate(work):
                if number % _COLLECT == _COLLECT - 1:
                    gc.collect()
                try:
                    done = _done(raw, shared, spool)
                except Exception:  # the other process meets it too, and tells
                    told.write(_HEAD.pack(number, 0, _FAILED))
                    break
                content = to_bytes(done.outcome.plain)
                told.write(_HEAD.pack(number, done.texts.start if done.texts else 0, len(content)) + content)
        code = 0
    except BrokenPipeError:
        code = 0
    finally:
        os._exit(code)


def _write(handle: int, content: bytes) -> None:
    """All of it: the system may take a part at a time."""
    rest = memoryview(content)
    while rest:
        rest = rest[os.write(handle, rest) :]
