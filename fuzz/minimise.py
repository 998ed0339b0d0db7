"""Reduces a failing repository to a small one with the same failure, by omitting files, lines and words in turn."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Mapping

Files = Mapping[str, bytes]
SECONDS = 20.0
_WORD = re.compile(r"\s+|[\w./-]+|.", re.DOTALL)


def minimise(files: Files, fails: Callable[[Files], bool], seconds: float = SECONDS) -> dict[str, bytes]:
    """Returns the smallest repository found in the given time. ``fails`` says whether the failure still occurs."""
    until = time.monotonic() + seconds
    best = dict(files)

    def attempt(path: str, content: bytes | None) -> bool:
        if time.monotonic() > until:
            return False
        tried = {key: item for key, item in best.items() if key != path}
        if content is not None:
            tried[path] = content
        if not tried or not fails(tried):
            return False
        best.clear()
        best.update(tried)
        return True

    for path in sorted(best):
        attempt(path, None)
    for split in (_lines, _words):
        for path in sorted(best):
            _leave_out(path, best, split, attempt)
    return best


def _leave_out(
    path: str,
    best: Files,
    split: Callable[[bytes], list[bytes]],
    attempt: Callable[[str, bytes | None], bool],
) -> None:
    """Omits runs of parts, ever shorter ones, as long as the failure remains."""
    size = max(1, len(split(best[path])) // 2)
    while size:
        at = 0
        while at < len(parts := split(best[path])):
            if not attempt(path, b"".join(parts[:at] + parts[at + size :])):
                at += size
        size //= 2


def _lines(content: bytes) -> list[bytes]:
    return content.splitlines(keepends=True)


def _words(content: bytes) -> list[bytes]:
    text = content.decode("utf-8", "surrogateescape")
    return [part.encode("utf-8", "surrogateescape") for part in _WORD.findall(text)]
