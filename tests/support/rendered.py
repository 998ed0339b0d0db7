"""A rendered repository read back from disk: what each cluster is given, in the order in which it is applied."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from kubectl_tas.cli.session import Session, open_session
from tests.support.cli import kubectl_tas
from tests.support.pyyaml import safe_load

Object = dict[str, Any]
KUSTOMIZATION = "kustomization.yaml"
PREVIEW = "preview"
"""Folder of what the scheduler will make itself: for reviewers, never applied."""


@dataclass(frozen=True)
class Cluster:
    """What one backend is given."""

    name: str
    version: str | None
    """Its KAI release; None where another scheduler runs there."""
    grove: str
    """Its Grove release."""
    folder: Path
    units: tuple[tuple[str, ...], ...]
    """Files that each kustomization lists, relative to ``folder``; that of the platform comes first."""

    @property
    def resources(self) -> tuple[str, ...]:
        """All of these files."""
        return tuple(path for unit in self.units for path in unit)

    @cached_property
    def objects(self) -> tuple[Object, ...]:
        """What those files hold, in their order."""
        return tuple(load(self.folder / path) for path in self.resources)

    def of(self, kind: str) -> list[Object]:
        """The objects of one kind."""
        return [item for item in self.objects if item["kind"] == kind]


@dataclass(frozen=True)
class Rendered:
    """A repository with its manifests."""

    session: Session
    output: Path
    """The folder that was written."""
    clusters: tuple[Cluster, ...]

    @property
    def root(self) -> Path:
        return self.session.root

    @property
    def files(self) -> dict[str, str]:
        """The text of every file that was written, by its path below the output."""
        return {path.relative_to(self.output).as_posix(): text(path) for path in files_below(self.output)}


def render_copy(source: Path, root: Path) -> Rendered:
    """Renders a copy of the repository ``source``, without what was ever rendered there, at ``root``."""
    shutil.copytree(source, root, ignore=shutil.ignore_patterns("manifests"))
    result = kubectl_tas("render", "-C", root)
    assert result.code == 0, result.err
    return read_back(root)


def read_back(root: Path) -> Rendered:
    """The repository at ``root`` and what was rendered there."""
    session = open_session(str(root))
    output = root / session.fleet.config.output
    clusters = []
    for backend in session.fleet.backends:
        folder = output / backend.name if len(session.fleet.backends) > 1 else output
        if folder.is_dir():
            kustomizations = sorted(folder.rglob(KUSTOMIZATION))
            assert len(kustomizations) == 1 or folder / KUSTOMIZATION not in kustomizations
            units = tuple(listed(path, folder) for path in kustomizations)
            version = backend.spec.scheduler.version if backend.is_kai else None
            clusters.append(Cluster(backend.name, version, backend.spec.grove.version, folder, units))
    return Rendered(session, output, tuple(clusters))


def listed(kustomization: Path, folder: Path) -> tuple[str, ...]:
    """The files that a kustomization lists, relative to ``folder``."""
    own = kustomization.parent.relative_to(folder)
    return tuple((own / path).as_posix() for path in load(kustomization)["resources"])


def load(path: Path) -> Any:
    """The one document of a YAML file."""
    return safe_load(text(path))


def text(path: Path) -> str:
    """The text of a file, line ends as they are."""
    return path.read_bytes().decode()


def files_below(folder: Path) -> list[Path]:
    """Every file below a folder."""
    return sorted(path for path in folder.rglob("*") if path.is_file())
