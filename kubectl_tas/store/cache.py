"""Stores entries by key in one file of the user; several processes may use the file, and any of them may be killed.

An entry that is cut off, changed or of another version counts as absent; so does a file of another program. Entries are
bytes, and nothing read from the file is ever executed.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import stat
import time
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import sqlite3

FILE = "outcomes-1.sqlite"
"""The name of the file. Its number changes with the format of entries."""
MOST = 512 * 1024 * 1024
"""The most bytes in the file; beyond that, the store removes the entries unused for the longest time."""
AT_ONCE = 500
"""The most keys in one query: every SQLite allows 999."""
_DAY = 24 * 60 * 60
_WAIT = 5.0
"""Seconds that a process waits for others that write."""
_DIGEST = 16
_DAMAGED = (1, 11, 24, 26)
"""Codes of SQLite: an unknown statement, damage, another format, and not a database."""


def default_folder(environment: Mapping[str, str]) -> Path | None:
    """Returns the folder that KUBECTL_TAS_CACHE names, else the user's cache folder, else None. The cache folder
    follows the XDG Base Directory Specification.
    """
    named_folder = environment.get("KUBECTL_TAS_CACHE")
    if named_folder:
        return Path(named_folder)
    base = environment.get("XDG_CACHE_HOME") or ""
    if not os.path.isabs(base):  # noqa: PTH117 - a relative one is to be ignored
        home = environment.get("HOME") or ""
        base = f"{home}/.cache" if os.path.isabs(home) else ""  # noqa: PTH117
    return Path(base, "kubectl-tas") if base else None


class Store:
    """The entries below a folder, which is made on first use. If the folder cannot be used, nothing is kept."""

    def __init__(self, folder: Path, most: int = MOST) -> None:
        self._path = folder / FILE
        self._most = most
        self._today = int(time.time()) // _DAY
        self._used: list[bytes] = []
        """Keys of entries that were read now and are not yet marked as used today."""
        self._open: sqlite3.Connection | None = None
        self._is_tried = False

    def get(self, key: bytes) -> bytes | None:
        """Returns an entry; None if absent."""
        return self.get_all([key]).get(key)

    def get_all(self, keys: Sequence[bytes]) -> dict[bytes, bytes]:
        """Returns the existing entries of these keys; at most ``AT_ONCE`` keys."""
        rows: list[tuple[bytes, int, object]] = []
        database = self._file()
        with self._failing():
            if database is not None:
                placeholders = ",".join("?" * len(keys))
                query = f"SELECT key, used, body FROM entry WHERE key IN ({placeholders})"
                rows = database.execute(query, keys).fetchall()
        contents = {key: content for key, _, body in rows if (content := _opened(key, body)) is not None}
        self._used += (key for key, used, _ in rows if used != self._today and key in contents)
        return contents

    def put(self, contents: Iterable[tuple[bytes, bytes]]) -> None:
        """Adds entries, and replaces those with the same keys."""
        rows = [(key, self._today, _closed(key, content)) for key, content in contents]
        database = self._file() if rows else None
        with self._failing():
            if database is not None:
                database.execute("BEGIN IMMEDIATE")
                database.executemany("INSERT OR REPLACE INTO entry VALUES (?, ?, ?)", rows)
                database.execute("COMMIT")

    def close(self) -> None:
        """Records which entries were used, removes excess entries, and closes the file."""
        if self._open is not None:
            with self._failing():
                self._note(self._open)
                self._open.close()
        self._open, self._is_tried = None, True

    def _file(self) -> sqlite3.Connection | None:
        """Returns the open file; None if the file cannot be used."""
        if not self._is_tried:
            self._is_tried = True
            with self._failing():
                self._connect()
        return self._open

    def _connect(self) -> None:
        import sqlite3  # where nothing is kept, nobody waits for it

        self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        if not _is_own(self._path.parent.stat()) or (self._path.exists() and not _is_own(self._path.lstat())):
            return
        self._open = sqlite3.connect(self._path, timeout=_WAIT, isolation_level=None)
        self._open.execute("PRAGMA synchronous = OFF")  # a power cut may lose all: it is made again, and digests tell
        self._open.execute("PRAGMA trusted_schema = OFF")
        self._open.execute("CREATE TABLE IF NOT EXISTS entry (key BLOB PRIMARY KEY, used INTEGER, body BLOB)")

    def _note(self, open_: sqlite3.Connection) -> None:
        if self._used:
            open_.execute("BEGIN IMMEDIATE")
            open_.executemany("UPDATE entry SET used = ? WHERE key = ?", ((self._today, key) for key in self._used))
            open_.execute("COMMIT")
        if self._path.stat().st_size > self._most:
            (half,) = open_.execute("SELECT count(*) / 2 FROM entry").fetchone()
            open_.execute("DELETE FROM entry WHERE key IN (SELECT key FROM entry ORDER BY used LIMIT ?)", (half + 1,))
            open_.execute("VACUUM")

    @contextlib.contextmanager
    def _failing(self) -> Iterator[None]:
        """Ignores any failure, which only costs time because the result is computed again. Removes a damaged file."""
        try:
            import sqlite3
        except ImportError:  # a Python that was built without it
            with contextlib.suppress(ImportError):
                yield
            return
        try:
            yield
        except (sqlite3.Error, UnicodeError, OSError) as error:
            if self._open is not None:
                self._open.close()
                self._open = None
            code = getattr(error, "sqlite_errorcode", None) or sqlite3.SQLITE_CORRUPT
            if not isinstance(error, OSError) and code & 0xFF in _DAMAGED:
                with contextlib.suppress(OSError):
                    self._path.unlink()


def _is_own(status: os.stat_result) -> bool:
    """Whether a file or folder belongs to this user, and nobody else may write to it."""
    mine = not hasattr(os, "geteuid") or status.st_uid == os.geteuid()
    return mine and not status.st_mode & 0o022 and (stat.S_ISDIR(status.st_mode) or stat.S_ISREG(status.st_mode))


def _closed(key: bytes, content: bytes) -> bytes:
    body = zlib.compress(content, 1)
    return _digest(key, body) + body


def _opened(key: bytes, sealed: object) -> bytes | None:
    """Returns the content of an entry; None if the entry is damaged."""
    if not isinstance(sealed, bytes) or sealed[:_DIGEST] != _digest(key, sealed[_DIGEST:]):
        return None
    return zlib.decompress(sealed[_DIGEST:])


def _digest(key: bytes, body: bytes) -> bytes:
    return hashlib.blake2b(key + body, digest_size=_DIGEST).digest()
