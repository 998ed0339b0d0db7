"""Computes the outcomes of many files, in several processes if that saves time, and keeps the texts of manifests.

Each process takes every n-th file, and writes the result of each to a pipe. A process only ever writes, so it ends when
nobody reads any more. Texts go to a file without a name, one for each process, and are read back when they are written
to their final place.
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

from kubectl_tas.base.diagnostics import TasError
from kubectl_tas.base.late import dataclass
from kubectl_tas.load.source import RawFile
from kubectl_tas.work.outcome import Outcome, SharedContext, outcome
from kubectl_tas.work.plain import of_bytes, to_bytes

LEAST_FILES = 150
"""The fewest files per process; with fewer, another process costs more than it saves."""
MOST_PROCESSES = 8
"""The most processes, regardless of the number of processors."""
_HEAD = struct.Struct("<IQI")
"""The header of a result: index of the file, start of the file's texts, and size of the result in bytes."""
_FAILED = 2**32 - 1
"""A size that means: the process raised an exception."""
_FIRST = 4
"""Files that the first process does alone; the others inherit objects made once, such as validators."""
_COLLECT = 250
"""Files that a process does between garbage collections."""
_READ = 64 * 1024
"""Bytes that a pipe holds."""


class NamelessFile:
    """A nameless file for texts. One process writes; processes that had the file before that process began can read."""

    def __init__(self) -> None:
        self.end = 0
        """The size in bytes."""
        self._held = bytearray()  # holds the texts on systems without nameless files
        self._handle: int | None = None
        if os.name == "posix":
            import tempfile  # only texts that are kept need it

            self._handle, path = tempfile.mkstemp(prefix="kubectl-tas-")
            os.unlink(path)  # noqa: PTH108 - nobody else knows it
            weakref.finalize(self, os.close, self._handle)

    def put(self, texts: Sequence[bytes]) -> int:
        """Adds texts one behind another, and returns where the first begins."""
        start = self.end
        content = b"".join(texts)
        if self._handle is None:
            self._held += content
        else:
            _write(self._handle, content)
        self.end += len(content)
        return start

    def get(self, start: int, size: int) -> str:
        """Returns a text by its start and size in bytes."""
        content = self._held[start : start + size] if self._handle is None else os.pread(self._handle, size, start)
        return content.decode("utf-8", "surrogatepass")


class TextsOnDisk:
    """Keeps one text for each of many files, in a nameless file instead of memory."""

    def __init__(self) -> None:
        self._spool: NamelessFile | None = None
        self._extents: dict[str, tuple[int, int]] = {}

    def put(self, path: str, text: str) -> None:
        """Keeps the text of a file."""
        self._spool = self._spool or NamelessFile()
        start = self._spool.put([text.encode("utf-8", "surrogatepass")])
        self._extents[path] = start, self._spool.end - start

    def get(self, path: str) -> str | None:
        """Returns the text of a file; None if none was kept."""
        extent = self._extents.get(path)
        return self._spool.get(*extent) if self._spool and extent else None


@dataclass(frozen=True, slots=True)
class FileTexts:
    """The place of the texts of one file."""

    spool: NamelessFile
    start: int
    """The start of the first text, in bytes."""

    def text(self, at: int, size: int) -> str:
        """Returns a text by its start among the texts of the file, and its size, in bytes."""
        return self.spool.get(self.start + at, size)


@dataclass(frozen=True, slots=True)
class FileResult:
    """The result for one file."""

    raw: RawFile
    outcome: Outcome
    texts: FileTexts | None
    """None if texts were not requested."""


def processes_for(files: int) -> int:
    """Returns how many processes pay off for a number of files, on the processors that this process may use. Returns 1
    on systems where copying a process is expensive.
    """
    if sys.platform != "linux":
        return 1
    return max(1, min(MOST_PROCESSES, len(os.sched_getaffinity(0)), files // LEAST_FILES))


def outcomes(work: Sequence[RawFile], shared: SharedContext, processes: int, *, render: bool) -> Iterator[FileResult]:
    """Yields the outcomes of files, in no particular order; with ``render``, also the texts of their manifests.

    Raises TasError if a process was ended from outside.
    """
    if processes > 1:
        yield from _by_several(work, shared, processes, render=render)
        return
    spool = NamelessFile() if render else None
    for raw in work:
        yield _done(raw, shared, spool)


def _by_several(
    work: Sequence[RawFile], shared: SharedContext, processes: int, *, render: bool
) -> Iterator[FileResult]:
    import selectors  # only several processes need it

    yield from outcomes(work[:_FIRST], shared, 1, render=render)
    work = work[_FIRST:]
    sys.stdout.flush()
    sys.stderr.flush()
    gc.freeze()  # objects made so far stay in memory, in all processes
    workers: dict[int, _Worker] = {}
    with selectors.DefaultSelector() as ready:
        try:
            for offset in range(processes):
                worker = _start(work[offset::processes], shared, [*workers], render=render)
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


def _done(raw: RawFile, shared: SharedContext, spool: NamelessFile | None) -> FileResult:
    texts: list[bytes] | None = None if spool is None else []
    return FileResult(raw, outcome(raw, shared, texts), FileTexts(spool, spool.put(texts or ())) if spool else None)


@dataclass
class _Worker:
    """Another process, as seen by this one."""

    pid: int
    pipe: int
    """The pipe from which this process reads the results of the other."""
    work: Sequence[RawFile]
    spool: NamelessFile | None
    _unread: bytearray = field(default_factory=bytearray)
    _ended: bool = False

    def is_at_end(self) -> bool:
        """Reads what the process has written since the last call, and returns whether that was the end."""
        content = os.read(self.pipe, _READ)
        self._unread += content
        return not content

    def results(self, shared: SharedContext) -> Iterator[FileResult]:
        """Yields the results that have arrived completely."""
        start_of_next = 0
        while len(self._unread) - start_of_next >= _HEAD.size:
            number, start, size = _HEAD.unpack_from(self._unread, start_of_next)
            if size == _FAILED:  # the same exception, with a traceback of this process
                _done(self.work[number], shared, self.spool)
                raise TasError(f"a process failed at {self.work[number].path}", hint="Run again.")
            if len(self._unread) - start_of_next < _HEAD.size + size:
                break
            start_of_next += _HEAD.size
            received = Outcome(*of_bytes(bytes(self._unread[start_of_next : start_of_next + size])))
            start_of_next += size
            yield FileResult(self.work[number], received, FileTexts(self.spool, start) if self.spool else None)
        del self._unread[:start_of_next]

    def wait(self) -> None:
        """Waits for the end of the process. Raises TasError if the process was ended from outside."""
        _, status = os.waitpid(self.pid, 0)
        self._ended = True
        code = os.waitstatus_to_exitcode(status)
        if code != 0 or self._unread:
            cause = f"by signal {-code}" if code < 0 else f"with exit code {code}"
            hint = "Most likely memory ran out. Free some, or use fewer processes: --processes 1."
            raise TasError(f"a process of this command was ended {cause}", hint=hint)

    def end(self) -> None:
        """Ends the process in any state."""
        os.close(self.pipe)
        if not self._ended:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pid, signal.SIGKILL)
            os.waitpid(self.pid, 0)


def _start(work: Sequence[RawFile], shared: SharedContext, older_pipes: Sequence[int], *, render: bool) -> _Worker:
    spool = NamelessFile() if render else None
    reads, writes = os.pipe()
    pid = os.fork()
    if pid == 0:
        for pipe in (reads, *older_pipes):
            os.close(pipe)
        _run(work, shared, spool, writes)
    os.close(writes)
    return _Worker(pid, reads, work, spool)


def _run(work: Sequence[RawFile], shared: SharedContext, spool: NamelessFile | None, pipe: int) -> NoReturn:
    """Does the work of the other process and ends it, without flushing or tidying anything of this process."""
    code = 1
    try:
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent ends this process
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        gc.disable()
        with open(pipe, "wb", buffering=_READ) as pipe_end:
            for number, raw in enumerate(work):
                if number % _COLLECT == _COLLECT - 1:
                    gc.collect()
                try:
                    done = _done(raw, shared, spool)
                except Exception:  # the parent repeats the file and reports the exception
                    pipe_end.write(_HEAD.pack(number, 0, _FAILED))
                    break
                content = to_bytes(done.outcome.plain)
                pipe_end.write(_HEAD.pack(number, done.texts.start if done.texts else 0, len(content)) + content)
        code = 0
    finally:
        os._exit(code)


def _write(handle: int, content: bytes) -> None:
    """Writes all content, since the system may take a part at a time."""
    unwritten = memoryview(content)
    while unwritten:
        unwritten = unwritten[os.write(handle, unwritten) :]
