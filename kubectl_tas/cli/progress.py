"""A progress bar on stderr, for work that takes longer than a second on a terminal."""

from __future__ import annotations

import sys
import time
from types import TracebackType

_DELAY = 1.0
"""Seconds before the bar appears."""
_INTERVAL = 0.1
"""Seconds between two redraws."""
_WIDTH = 30


class Progress:
    """Draws nothing where stderr is no terminal, or where the work is done within a second."""

    def __init__(self, label: str) -> None:
        self._label = label
        self._active = sys.stderr.isatty()
        self._next = time.monotonic() + _DELAY
        self._drawn = False

    def __enter__(self) -> Progress:
        return self

    def tick(self, done: int, total: int) -> None:
        """Tells how many of how many steps are done."""
        if not self._active:
            return
        now = time.monotonic()
        if now < self._next:
            return
        self._next, self._drawn = now + _INTERVAL, True
        filled = _WIDTH * done // max(total, 1)
        bar = "#" * filled + "-" * (_WIDTH - filled)
        sys.stderr.write(f"\r{self._label} [{bar}] {done}/{total}")
        sys.stderr.flush()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._drawn:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()
