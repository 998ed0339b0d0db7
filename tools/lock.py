"""Writes the exact versions, with hashes, of what kubectl-tas and its tests install, for every platform and Python that
pyproject.toml allows: ``python -m tools.lock``, with uv of the extra ``release``. Versions that fit stay as they are;
``--upgrade`` takes the newest.
"""

from __future__ import annotations

import subprocess
import sys

from tools.goldens import ROOT

LOCKS: dict[str, tuple[str, ...]] = {
    "templates/init/requirements.lock": (),
    ".ci/requirements.txt": ("lsp", "mcp", "test", "fit", "lint", "release"),
}
"""Files, and the extras of which they have the dependencies beside those of the package."""


def command(path: str, extras: tuple[str, ...]) -> list[str]:
    """What writes the lock of some extras."""
    chosen = [f"--extra={name}" for name in extras]
    fixed = ["--universal", "--generate-hashes", "--no-header", "--no-annotate", "--quiet"]
    return [sys.executable, "-m", "uv", "pip", "compile", *fixed, *chosen, "-o", path, "pyproject.toml"]


def main() -> None:
    """Writes all of them."""
    for path, extras in LOCKS.items():
        found = subprocess.run(
            [*command(path, extras), *sys.argv[1:]], cwd=ROOT, check=False, stdout=subprocess.DEVNULL
        )
        if found.returncode:
            sys.exit(f"{path}: uv ended with {found.returncode}")
        print(f"wrote {path}")


if __name__ == "__main__":
    main()
