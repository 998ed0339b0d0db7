"""What is kept of the manifests of a file that was compiled by itself, and their texts."""

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


class Object(NamedTuple):
    """What is kept of a manifest: where it is written, when it is applied, and a digest of its text."""

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
    """The file that it is compiled from."""
    at: int
    """Bytes of the texts of that file which stand before its own."""
    size: int
    """Bytes of its text."""

    def in_file(self, file: str) -> Object:
        """The same in another file of its folder."""
        return self._replace(file=file)


def objects(fleet: Fleet, texts: list[bytes]) -> str:
    """The manifests of the work of a fleet, as JSON; the text of each is added to ``texts``."""
    return to_text([_object(item, texts) for item in compile_work(fleet)])


def objects_of(written: str, source: str) -> Iterator[Object]:
    """The manifests of an outcome of the file ``source``. What many of them have in common is there once."""
    at = 0
    for backend, folder, file, version, apply, pool, is_work, order, digest, size in json.loads(written):
        phase, namespace, name, kind = order
        yield Object(
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


def _object(artifact: Artifact, texts: list[bytes]) -> Plain:
    content = manifest_text.file_text(artifact).encode("utf-8", "surrogatepass")
    texts.append(content)
    places = [artifact.backend, artifact.folder, artifact.file, artifact.api_version]
    phase, *rest = artifact.order
    kept = [*places, artifact.apply, artifact.pool, artifact.is_work, [int(phase), *rest]]
    return [*kept, manifest_text.digest_of_bytes(content), len(content)]
