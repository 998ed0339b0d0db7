"""Builds a searchable site from README, docs and the files that they link: ``python -m tools.docsite DIR``.

A broken link fails the build. The command needs the packages of the extra ``docs``.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from tools.goldens import ROOT

PAGES = ("README.md", "CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md", "LICENSE")
FOLDERS = ("docs", "examples", "integrations", "schemas")


def build(target: Path) -> None:
    """Builds the site into a folder. Raises CalledProcessError if a link is broken."""
    with tempfile.TemporaryDirectory() as name:
        work = Path(name)
        for page in PAGES:
            shutil.copy(ROOT / page, work / page)
        for folder in FOLDERS:
            shutil.copytree(ROOT / folder, work / folder, ignore=shutil.ignore_patterns("__pycache__", "node_modules"))
        text = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
        if "\ndocs_dir: ." not in text:
            sys.exit("mkdocs.yml has no line that begins with docs_dir: .")
        (work.parent / f"{work.name}.yml").write_text(
            text.replace("docs_dir: .", f"docs_dir: {work}"), encoding="utf-8"
        )
        words = ["build", "--strict", "--quiet", "--config-file", f"{work}.yml", "--site-dir", str(target.resolve())]
        try:
            environment = os.environ | {"NO_MKDOCS_2_WARNING": "1"}
            subprocess.run([sys.executable, "-m", "mkdocs", *words], check=True, env=environment)
        finally:
            Path(f"{work}.yml").unlink()


def main() -> None:
    """Runs the command."""
    parser = argparse.ArgumentParser(description="Builds the documentation as a site.")
    parser.add_argument("folder", type=Path)
    target = parser.parse_args().folder
    build(target)
    print(f"wrote {len(list(target.rglob('*.html')))} pages to {target}")


if __name__ == "__main__":
    main()
