"""Locks the exact versions and hashes of all packages to use, test, build and sign kubectl-tas, for every platform and
Python that pyproject.toml allows. Run ``python -m tools.lock`` with uv of the extra ``supply``. Versions that fit are
kept; ``--upgrade`` takes the newest.
"""

from __future__ import annotations

import subprocess
import sys
import tomllib

from tools.goldens import ROOT

EXTRAS = {
    ".ci/requirements.txt": ("lsp", "mcp", "test", "fit", "lint", "docs", "release", "sign", "supply"),
    ".ci/release.txt": ("release",),
    ".ci/sign.txt": ("sign",),
}
"""Extras of each lock. The first also has the dependencies of the package. Jobs that publish use only the others."""


def locks() -> dict[str, list[str]]:
    """Returns the requirements of each lock, as pyproject.toml writes them."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    own = project["project"]["dependencies"]
    extras = project["project"]["optional-dependencies"]
    found = {path: [line for name in names for line in extras[name]] for path, names in EXTRAS.items()}
    found[".ci/requirements.txt"] += own
    return {"templates/init/requirements.lock": own, ".ci/build.txt": project["build-system"]["requires"], **found}


def main() -> None:
    """Writes all lock files."""
    fixed = ["--universal", "--generate-hashes", "--no-header", "--no-annotate", "--quiet", "--python-version", "3.11"]
    for path, lines in locks().items():
        told = [sys.executable, "-m", "uv", "pip", "compile", *fixed, "-o", path, "-", *sys.argv[1:]]
        found = subprocess.run(
            told, cwd=ROOT, check=False, stdout=subprocess.DEVNULL, input="\n".join(lines), text=True
        )
        if found.returncode:
            sys.exit(f"{path}: uv ended with {found.returncode}")
        print(f"wrote {path}")


if __name__ == "__main__":
    main()
