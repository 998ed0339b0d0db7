"""Reads a rendered repository from disk: the objects of each cluster, in the order of application."""

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
"""Folder of objects that the scheduler will make itself: for reviewers, never applied."""


@dataclass(frozen=True)
class Cluster:
    """The files of one backend."""

    name: str
    version: str | None
    """KAI release of the backend; None if it has another scheduler."""
    grove: str
    """Grove release of the backend."""
    folder: Path
    units: tuple[tuple[str, ...], ...]
    """Files that each kustomization lists, relative to ``folder``. The kustomization of the platform is first."""

    @property
    def resources(self) -> tuple[str, ...]:
        """All of these files."""
        return tuple(path for unit in self.units for path in unit)

    @cached_property
    def objects(self) -> tuple[Object, ...]:
        """The objects in those files, in their order."""
        return tuple(load(self.folder / path) for path in self.resources)

    def of(self, kind: str) -> list[Object]:
        """Returns the objects of one kind."""
        return [item for item in self.objects if item["kind"] == kind]


@dataclass(frozen=True)
class Rendered:
    """A repository with its manifests."""

    session: Session
    output: Path
    """The output folder."""
    clusters: tuple[Cluster, ...]

    @property
    def root(self) -> Path:
        return self.session.root

    @property
    def files(self) -> dict[str, str]:
        """The text of every written file, by path below the output folder."""
        return {path.relative_to(self.output).as_posix(): text(path) for path in files_below(self.output)}


def render_copy(source: Path, root: Path) -> Rendered:
    """Copies the repository ``source`` to ``root``, without its manifests, and renders the copy."""
    shutil.copytree(source, root, ignore=shutil.ignore_patterns("manifests"))
    result = kubectl_tas("render", "-C", root)
    assert result.code == 0, result.err
    return read_back(root)


def read_back(root: Path) -> Rendered:
    """Reads the repository at ``root`` and its manifests."""
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
    """Returns the files that a kustomization lists, relative to ``folder``."""
    own = kustomization.parent.relative_to(folder)
    return tuple((own / path).as_posix() for path in load(kustomization)["resources"])


def load(path: Path) -> Any:
    """Returns the only document of a YAML file."""
    return safe_load(text(path))


def text(path: Path) -> str:
    """Returns the text of a file with its original line ends."""
    return path.read_bytes().decode()


def files_below(folder: Path) -> list[Path]:
    """Returns every file below a folder."""
    return sorted(path for path in folder.rglob("*") if path.is_file())
