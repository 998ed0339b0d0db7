"""JSON Schemas into a folder, for editors: files of others are not overwritten, what is right is not touched."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

from kubectl_tas.emit.disk import Disk
from kubectl_tas.errors import TasError

WRITTEN = "Written by kubectl-tas, which writes it anew where its schemas have changed."
"""What every schema says of itself. A file that says so may be replaced."""


def write_schemas(root: Path, texts: Mapping[str, str]) -> list[str]:
    """Writes what differs below ``root``, which is made where it is not there, and returns the names.

    A file that is there is ours where it is JSON that says so in its ``$comment``. Raises TasError, with nothing
    written, where one is not, or where one cannot be written.
    """
    try:
        there = {name: _content(root / name) for name in texts}
        differ = [name for name, text in texts.items() if there[name] != text.encode()]
        others = [name for name in differ if there[name] is not None and not _is_ours(there[name] or b"")]
        if others:
            message = f"{', '.join(others)} in {root} was not written by kubectl-tas; nothing was written"
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
    """What a file holds; None where there is none. A link is nothing of ours."""
    if path.is_symlink():
        return b""
    return path.read_bytes() if path.exists() else None


def _is_ours(content: bytes) -> bool:
    try:
        found = json.loads(content)
    except (ValueError, RecursionError):
        return False
    return isinstance(found, dict) and found.get("$comment") == WRITTEN
