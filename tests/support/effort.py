"""Limits the effort of tests. The slow code that these tests guard against took minutes, so they allow one minute of
processor time. Other work on the machine hardly changes that time.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

MINUTE = 60.0
"""Seconds of processor time, many times what any of these tests takes."""


@contextmanager
def in_a_minute(seconds: float = MINUTE) -> Iterator[None]:
    """Fails if this process works for more than ``seconds``."""
    begun = time.process_time()
    yield
    assert time.process_time() - begun < seconds
