"""Keeps the manifests of files that were compiled by themselves: data about each, and their texts."""

from __future__ import annotations

import json
from collections.abc import Iterator
from sys import intern
from typing import NamedTuple

from kubectl_tas.compile import compile_work
from kubectl_tas.emit import manifest_text
from kubectl_tas.model.artifact import Artifact
from kubectl_tas.resolve.fleet import Fleet
from kubectl_tas.work.plain import Plain, to_text


class KeptManifest(NamedTuple):
    """The data kept of a manifest: its file, its place in the order of application, and a digest of its text."""

    backend: str
    folder: str
    file: str
    api_version: str
    apply: bool
    pool: str | None
    is_work: bool
    order: tuple[int, str, str, str]
    digest: str
    source: str
    """The file that the manifest is compiled from."""
    at: int
    """The start of the manifest's text among the texts of the source file, in bytes."""
    size: int
    """The size of the text in bytes."""

    def in_file(self, file: str) -> KeptManifest:
        """Returns the object in another file of its folder."""
        return self._replace(file=file)


def manifests_as_json(fleet: Fleet, texts: list[bytes]) -> str:
    """Returns the manifests of a fleet's work as JSON, and adds the text of each to ``texts``."""
    return to_text([_row(artifact, texts) for artifact in compile_work(fleet)])


def kept_manifests(as_json: str, source: str) -> Iterator[KeptManifest]:
    """Yields the manifests of the file ``source`` from JSON. Shares strings that many manifests have in common."""
    at = 0
    for backend, folder, file, version, apply, pool, is_work, order, digest, size in json.loads(as_json):
        phase, namespace, name, kind = order
        yield KeptManifest(
            intern(backend),
            intern(folder),
            file,
            intern(version),
            apply,
            pool and intern(pool),
            is_work,
            (phase, intern(namespace), name, intern(kind)),
            digest,
            source,
            at,
            size,
        )
        at += size


def _row(artifact: Artifact, texts: list[bytes]) -> Plain:
    content = manifest_text.file_text(artifact).encode("utf-8", "surrogatepass")
    texts.append(content)
    location = [artifact.backend, artifact.folder, artifact.file, artifact.api_version]
    phase, *names = artifact.order
    columns = [*location, artifact.apply, artifact.pool, artifact.is_work, [int(phase), *names]]
    return [*columns, manifest_text.digest_of_bytes(content), len(content)]
