"""Builds kubectl-tas as one file that needs no Python, in an archive for krew: ``python -m tools.freeze [DIR]``.

The file runs on the system and architecture of the build, with a C library that is at least as new.
"""

from __future__ import annotations

import argparse
import gzip
import io
import platform
import subprocess
import sys
import tarfile
import tempfile
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
ARCHITECTURES = {"x86_64": "amd64", "amd64": "amd64", "aarch64": "arm64", "arm64": "arm64"}
_LEFT_OUT = ("tkinter", "unittest", "pydoc", "sqlite3", "test")


def freeze(folder: Path) -> Path:
    """Builds the program and its archive in ``folder``, and returns the archive."""
    with tempfile.TemporaryDirectory() as name:
        work = Path(name)
        venv.create(work / "venv", with_pip=True)
        run = [str(work / "venv/bin/python"), "-m"]
        subprocess.run([*run, "pip", "install", "--quiet", str(ROOT), "pyinstaller>=6.10,<7"], check=True)
        subprocess.run(
            [
                *(*run, "PyInstaller", "--onefile", "--name", "kubectl-tas", "--log-level", "ERROR"),
                *("--distpath", str(folder), "--workpath", str(work / "build"), "--specpath", str(work)),
                *("--collect-submodules", "kubectl_tas", "--collect-data", "kubectl_tas"),
                *("--copy-metadata", "kubectl-tas"),
                *(word for module in _LEFT_OUT for word in ("--exclude-module", module)),
                str(ROOT / "tools/frozen.py"),
            ],
            check=True,
            cwd=work,  # not the checkout, whose package would be taken in place of the installed one
        )
    archive = folder / f"kubectl-tas-{platform.system().lower()}-{ARCHITECTURES[platform.machine().lower()]}.tar.gz"
    archive.write_bytes(packed([folder / "kubectl-tas", ROOT / "LICENSE"]))
    return archive


def packed(files: list[Path]) -> bytes:
    """Returns a ``tar.gz`` of ``files``, with the same bytes for the same contents."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.USTAR_FORMAT) as archive:
        for path in files:
            about, content = tarfile.TarInfo(path.name), path.read_bytes()
            about.size, about.mode = len(content), 0o755 if path.suffix == "" and path.name != "LICENSE" else 0o644
            archive.addfile(about, io.BytesIO(content))
    return gzip.compress(out.getvalue(), mtime=0)


def main() -> int:
    """Builds the archive and prints its path."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", nargs="?", default="dist", type=Path, metavar="DIR", help="where it is written")
    folder: Path = parser.parse_args().folder.resolve()
    folder.mkdir(parents=True, exist_ok=True)
    print(freeze(folder))
    return 0


if __name__ == "__main__":
    sys.exit(main())
