"""Builds a searchable site from README, docs and the files that they link: ``python -m tools.docsite DIR``.

A broken link fails the build. Addresses of pages that were merged lead to the page that has their text now. The command
needs the packages of the extra ``docs``.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from tools.goldens import ROOT

PAGES = ("README.md", "CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md", "LICENSE")
FOLDERS = ("docs", "examples", "integrations", "schemas")
MOVED = {
    "adopt": "workloads#adopt-work-that-runs-already",
    "agents": "tools#agents",
    "clusters": "platform-admin#several-clusters",
    "compared": "faq#compared-with-other-tools",
    "editors": "tools#schemas",
    "glossary": "faq#words",
    "gpu-kinds": "topologies#kinds-of-gpu",
    "labels": "topologies#see-what-your-nodes-have",
    "monorepos": "git#many-teams-in-one-repository",
    "performance": "git#what-is-kept",
    "reliability": "versions#promises",
    "shell": "tools#completion",
    "site": "pictures#a-site-of-the-repository",
}
"""Names of former pages of docs/, and the page and heading that have their text now."""
_LINK = re.compile(r"\]\((?!https?://)([^)#]+)[^)]*\)")
_REDIRECT = """\
<!doctype html>
<meta charset="utf-8">
<title>This page has moved</title>
<meta name="robots" content="noindex">
<link rel="canonical" href="../{page}/">
<meta http-equiv="refresh" content="0; url=../{page}/#{heading}">
<script>location.replace("../{page}/" + (location.hash || "#{heading}"))</script>
<p>This page has moved to <a href="../{page}/#{heading}">another</a>.</p>
"""


def build(target: Path) -> None:
    """Builds the site into a folder. Exits with the warnings of mkdocs if a link is broken."""
    with tempfile.TemporaryDirectory() as name:
        work = Path(name)
        for page in PAGES:
            shutil.copy(ROOT / page, work / page)
        for folder in FOLDERS:
            shutil.copytree(ROOT / folder, work / folder, ignore=shutil.ignore_patterns("__pycache__", "node_modules"))
        for path in linked_files():
            (work / path).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / path, work / path)
        text = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
        if "\ndocs_dir: ." not in text:
            sys.exit("mkdocs.yml has no line that begins with docs_dir: .")
        (work.parent / f"{work.name}.yml").write_text(
            text.replace("docs_dir: .", f"docs_dir: {work}"), encoding="utf-8"
        )
        words = ["build", "--strict", "--config-file", f"{work}.yml", "--site-dir", str(target.resolve())]
        try:
            environment = os.environ | {"NO_MKDOCS_2_WARNING": "1"}
            command = [sys.executable, "-m", "mkdocs", *words]
            made = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
            if made.returncode:  # with --quiet, mkdocs counts no warning
                sys.exit("\n".join(line for line in made.stderr.splitlines() if "WARNING" in line or "ERROR" in line))
        finally:
            Path(f"{work}.yml").unlink()
    for name, text in redirects().items():
        (target / name).parent.mkdir(parents=True, exist_ok=True)
        (target / name).write_text(text, encoding="utf-8")


def linked_files() -> Iterator[Path]:
    """Yields files outside of FOLDERS that pages link, such as pictures of golden cases, by path in the repository."""
    pages = [*(ROOT / page for page in PAGES), *(page for folder in FOLDERS for page in (ROOT / folder).rglob("*.md"))]
    for page in pages:
        for link in _LINK.findall(page.read_text(encoding="utf-8")) if "node_modules" not in page.parts else ():
            target = (page.parent / link).resolve()
            path = target.relative_to(ROOT) if target.is_relative_to(ROOT) else Path()
            if target.is_file() and path.parts[0] not in (*FOLDERS, *PAGES):
                yield path


def redirects() -> dict[str, str]:
    """Returns the pages that lead from former addresses to the new ones, by their path in the site. A heading in the
    address stays: most headings kept their words.
    """
    places = {old: new.split("#") for old, new in MOVED.items()}
    return {
        f"docs/{old}/index.html": _REDIRECT.format(page=page, heading=heading)
        for old, (page, heading) in places.items()
    }


def main() -> None:
    """Runs the command."""
    parser = argparse.ArgumentParser(description="Builds the documentation as a site.")
    parser.add_argument("folder", type=Path)
    target = parser.parse_args().folder
    build(target)
    print(f"wrote {len(list(target.rglob('*.html')))} pages to {target}")


if __name__ == "__main__":
    main()
