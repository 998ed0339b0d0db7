from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture
def update(request: pytest.FixtureRequest) -> bool:
    """Whether goldens are being written."""
    return bool(request.config.getoption("update_snapshots", default=False))


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """An empty folder for a repository."""
    root = tmp_path / "repository"
    root.mkdir()
    return root
