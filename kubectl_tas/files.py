"""The one way to read a file that a user names: no pipe that nobody fills and no file without end is waited for."""

from __future__ import annotations

import math
import os
import stat

from kubectl_tas.errors import TasError

MEBIBYTE = 1024 * 1024
_KINDS = (
    (stat.S_ISDIR, "a folder"),
    (stat.S_ISFIFO, "a pipe"),
    (stat.S_ISSOCK, "a socket"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
)


def read_plain(path: str, most: int, *, hint: str) -> bytes:
    """The content of a plain file of at most so many bytes. Raises TasError with the reason for anything else."""
    try:
        number = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    except OSError as error:
        raise TasError(f"cannot read {path}: {error.strerror}", hint=hint) from error
    try:
        status = os.fstat(number)
        kind = next((name for has, name in _KINDS if has(status.st_mode)), None)
        if kind is not None:
            raise TasError(f"cannot read {path}: it is {kind}, not a plain file", hint=hint)
        with open(number, "rb", closefd=False) as file:
            content = file.read(most + 1) if status.st_size <= most else b""
    except OSError as error:
        raise TasError(f"cannot read {path}: {error.strerror}", hint=hint) from error
    finally:
        os.close(number)
    size = max(status.st_size, len(content))
    if size > most:
        shown = math.ceil(size / MEBIBYTE * 10) / 10
        raise TasError(f"cannot read {path}: it has {shown:g} MiB; at most {most / MEBIBYTE:g} are read", hint=hint)
    return content
