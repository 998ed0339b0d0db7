"""What tells that a file is as it was when somebody last read it: its size, times and inode, as git's index has them.

Only ``render`` trusts it, as git does with a file that it would write: what judges a repository reads each file.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping

TICK = 20_000_000
"""Nanoseconds within which two changes of a file may have one time: twice the longest tick of a Linux clock."""
COARSE = 2_000_000_000
"""The same on a file system whose times are whole seconds, or every second one."""
_SECOND = 1_000_000_000


def stamp(status: os.stat_result) -> str:
    """The stamp of a file, by what the system says of it."""
    return f"{status.st_size} {status.st_ino} {status.st_mtime_ns} {status.st_ctime_ns}"


class Stamps:
    """The stamps of files, each with the digest of the text that was read then."""

    def __init__(self, known: Mapping[str, str], newest: int = 0) -> None:
        self._known = known
        self._newest = newest
        self._read: dict[str, tuple[str, str]] = {}

    def tells(self, path: str, now: str, digest: str) -> bool:
        """Whether a file with the stamp ``now`` is known to have the text of that digest."""
        return self._known.get(path) == f"{digest} {now}"

    def note(self, path: str, before: str, digest: str) -> None:
        """Keeps what was read of a file; ``before`` is the stamp that it had before it was read."""
        self._read[path] = (before, digest)

    def settled(self, paths: Collection[str]) -> tuple[dict[str, str], int] | None:
        """What to keep of these files, for ``Stamps(*settled)``; None where nothing was read.

        A file that changed as lately as the latest one is left out: it may change again without another time. Times
        are those of the change itself, which nobody can set.
        """
        if not self._read:
            return None
        times = {path: int(before.rpartition(" ")[2]) for path, (before, _) in self._read.items()}
        newest = max(self._newest, *times.values())
        limit = newest - (TICK if any(time % _SECOND for time in times.values()) else COARSE)
        found = {path: kept for path, kept in self._known.items() if path in paths and path not in times}
        found |= {path: f"{digest} {before}" for path, (before, digest) in self._read.items() if times[path] < limit}
        return found, newest
