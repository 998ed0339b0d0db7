"""Starts the single-file program."""

from __future__ import annotations

import os

# PyInstaller points LD_LIBRARY_PATH at its own libraries, which git and kubectl must not get.
before = os.environ.pop("LD_LIBRARY_PATH_ORIG", None)
if before is not None:
    os.environ["LD_LIBRARY_PATH"] = before
else:
    os.environ.pop("LD_LIBRARY_PATH", None)

from kubectl_tas.cli.main import main  # noqa: E402

main()
