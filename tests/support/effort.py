"""Work that must not grow beyond measure. What these tests protect from took minutes, so they bound minutes of
processor time, which a machine with other work does not change much.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

MINUTE = 60.0
"""Seconds of processor time, many times what any of them takes."""


@contextmanager
def in_a_minute(seconds: float = MINUTE) -> Iterator[None]:
    """Fails where this process works for longer than a minute, or these seconds."""
    begun = time.process_time()
    yield
    assert time.process_time() - begun < seconds
