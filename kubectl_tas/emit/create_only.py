"""Writes files that are new, or that kubectl-tas wrote: either all of them, or none."""

from __future__ import annotations

import errno
import json
import os
from collections.abc import Iterable, Mapping
from pathlib import Path, PurePosixPath

from kubectl_tas.base.diagnostics import TasError
from kubectl_tas.emit.disk import Disk

WRITTEN = "Written by kubectl-tas, which writes it anew where its schemas have changed."
"""Comment in every schema that kubectl-tas writes. A file with this comment may be replaced."""


def write_new(root: Path, files: Mapping[str, bytes]) -> None:
    """Writes files below ``root``, which is made if missing; paths have forward slashes.

    Raises TasError, with nothing written, if a path is taken or a file cannot be written.
    """
    taken = _taken(root, files)
    if taken:
        verb = "exist" if len(taken) > 1 else "exists"
        message = f"{', '.join(taken)} already {verb}; nothing was written"
        raise TasError(message, hint="Choose an empty folder.")
    try:
        root.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise _failed(root, error) from error
    with Disk(root) as disk:
        for count, (name, content) in enumerate(files.items()):
            try:
                if disk.status(name) is not None:
                    raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST))
                disk.replace(name, content)
            except OSError as error:
                for earlier in list(files)[:count]:
                    disk.remove(earlier)
                raise _failed(root / name, error) from error


def write_missing(root: Path, files: Mapping[str, bytes]) -> set[str]:
    """Writes the missing ``files``, and returns the names of the others. Raises TasError as ``write_new`` does."""
    existing = {name for name in files if (root / name).exists() or (root / name).is_symlink()}
    write_new(root, {name: content for name, content in files.items() if name not in existing})
    return existing


def standing(root: Path, names: Iterable[str]) -> dict[str, bytes]:
    """Returns the content of the existing files. Raises TasError if one cannot be read."""
    if not root.is_dir():
        return {}
    contents = {}
    with Disk(root) as disk:
        for name in names:
            try:
                content = disk.read(name)
            except OSError as error:
                message = f"cannot read {root / name}: {error.strerror}; nothing was written"
                raise TasError(message, hint="Choose an empty folder.") from error
            if content is not None:
                contents[name] = content
    return contents


def _taken(root: Path, names: Iterable[str]) -> list[str]:
    taken = []
    for name in names:
        path = root / name
        above = [root / folder for folder in PurePosixPath(name).parents if folder.name]
        taken += [folder for folder in above if folder.is_symlink() or (folder.exists() and not folder.is_dir())]
        taken += [path] if path.exists() or path.is_symlink() else []
    return list(dict.fromkeys(path.relative_to(root).as_posix() for path in taken))


def _failed(path: Path, error: OSError) -> TasError:
    message = f"cannot write {path}: {error.strerror}; nothing was written"
    return TasError(message, hint="Check permissions and free space.")


def write_schemas(root: Path, texts: Mapping[str, str]) -> list[str]:
    """Writes the schemas that differ below ``root``, which is made if missing, and returns their names.

    An existing file may be replaced if it is JSON with WRITTEN as its ``$comment``. Raises TasError, with nothing
    written, if any other file is in the way, or if a file cannot be written.
    """
    try:
        contents = {name: _content(root / name) for name in texts}
        differ = [name for name, text in texts.items() if contents[name] != text.encode()]
        foreign = [name for name in differ if (content := contents[name]) is not None and not _is_ours(content)]
        if foreign:
            message = f"{', '.join(foreign)} in {root} was not written by kubectl-tas; nothing was written"
            raise TasError(message, hint="Choose another folder, or remove what is in the way.")
        root.mkdir(parents=True, exist_ok=True)
        with Disk(root) as disk:
            for name in differ:
                disk.replace(name, texts[name].encode())
    except OSError as error:
        message = f"cannot write schemas to {root}: {error.strerror}"
        raise TasError(message, hint="Check permissions and free space.") from error
    return differ


def _content(path: Path) -> bytes | None:
    """Returns the content of a file; None if missing. A link counts as a file of somebody else."""
    if path.is_symlink():
        return b""
    return path.read_bytes() if path.exists() else None


def _is_ours(content: bytes) -> bool:
    try:
        schema = json.loads(content)
    except (ValueError, RecursionError):
        return False
    return isinstance(schema, dict) and schema.get("$comment") == WRITTEN
