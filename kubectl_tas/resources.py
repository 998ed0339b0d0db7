"""What the package carries beside its code: ``schemas/`` and ``templates/``."""

from __future__ import annotations

from functools import cache
from pathlib import Path


@cache
def resource_root() -> Path:
    """The folder that holds ``schemas/`` and ``templates/``."""
    package = Path(__file__).resolve().parent
    return package if (package / "schemas").is_dir() else package.parent


def read_resource(name: str) -> str:
    """The text of a packed file, such as ``schemas/pool.json``. Raises OSError where there is none."""
    return (resource_root() / name).read_text(encoding="utf-8")
