"""Makes the files of a release: ``python -m tools.release [DIR]``.

They are the source distribution, the wheel, an SBOM (CycloneDX) of all that the wheel installs, and SHA256SUMS. The
same commit gives the same bytes. The command needs the extra ``release``, locked in ``.ci/release.txt``.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import subprocess
import sys
from pathlib import Path

from kubectl_tas import __version__
from tools.goldens import ROOT

LOCK = ROOT / "templates/init/requirements.lock"
SUMS = "SHA256SUMS"


def release(folder: Path) -> list[Path]:
    """Writes the files into an empty folder, and returns them. Raises CalledProcessError if a tool fails."""
    folder.mkdir(parents=True, exist_ok=True)
    if any(folder.iterdir()):
        raise FileExistsError(f"{folder} is not empty")
    build: list[str | Path] = [sys.executable, "-m", "build", "--no-isolation", "--outdir", folder, ROOT]
    subprocess.run(build, check=True, stdout=subprocess.DEVNULL)
    bill = folder / f"kubectl_tas-{__version__}.cdx.json"
    told = ["requirements", str(LOCK), "--pyproject", str(ROOT / "pyproject.toml"), "--output-reproducible"]
    found = subprocess.run(
        [sys.executable, "-W", "ignore", "-m", "cyclonedx_py", *told], check=True, stdout=subprocess.PIPE
    )
    data = json.loads(found.stdout)
    data["metadata"]["component"]["version"] = __version__  # pyproject.toml leaves it to the package
    bill.write_text(json.dumps(data, indent=2) + "\n", encoding="utf-8")
    files = sorted(folder.iterdir())
    sums = (f"{hashlib.sha256(file.read_bytes()).hexdigest()}  {file.name}\n" for file in files)
    (folder / SUMS).write_text("".join(sums), encoding="utf-8")
    return [*files, folder / SUMS]


def main() -> None:
    """Runs the command."""
    parser = argparse.ArgumentParser(description="Builds what a release publishes.")
    parser.add_argument("folder", nargs="?", default="dist", type=Path)
    for file in release(parser.parse_args().folder):
        print(f"{file.stat().st_size:>9}  {file}")


if __name__ == "__main__":
    main()
