"""Runs the tours of README and of the examples as written, and compares their output with the pages.

A line ``...`` stands for one or more lines that a page omits.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from collections import Counter
from pathlib import Path

import pytest

from tests.support.cli import kubectl_tas
from tests.support.golden import ROOT, laid_out
from tests.support.warm import script
from tools.goldens import ABOUT

PAGES = [*sorted((ROOT / "docs").glob("*.md")), ROOT / "SECURITY.md", ROOT / "CONTRIBUTING.md"]
TUTORIALS = [
    ROOT / f"docs/{name}.md"
    for name in ("draining", "from-kueue", "ml-engineer", "osmo", "platform-admin", "review", "tutorial-import")
]
TOURS = [ROOT / "README.md", *TUTORIALS, *sorted((ROOT / "examples").glob("*/README.md"))]
LINK = re.compile(r"\]\((?!https?://)([^)]+)\)")


def _blocks(text: str) -> list[tuple[str, str]]:
    """The commands of all console blocks, with the output that the text shows."""
    found = []
    for block in re.findall(r"```console\n(.*?)```", text, re.DOTALL):
        for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            command, _, output = part.partition("\n")
            found.append((command, output))
    return found


def _shortened(printed: str, shown: str) -> str:
    """What is printed, or what is shown if the two agree."""
    parts = [re.escape(part) for part in re.split(r"^\.\.\.$\n", shown, flags=re.MULTILINE)]
    return shown if re.fullmatch(r"(?:.*\n)+".join(parts), printed) else printed


@pytest.mark.parametrize("shown", ["a\n...\nd\n", "a\n...\n", "...\nd\n", "a\nb\nc\nd\n"])
def test_lines_that_a_page_may_leave_out(shown: str) -> None:
    assert _shortened("a\nb\nc\nd\n", shown) == shown


@pytest.mark.parametrize("shown", ["a\n...\nc\n", "b\n...\nd\n", "a\n...\nx\nd\n", "a\nb\nc\n...\nd\n", "a ...\nd\n"])
def test_lines_that_are_not_printed(shown: str) -> None:
    assert _shortened("a\nb\nc\nd\n", shown) != shown


def _folder(tour: Path) -> Path | None:
    """What a tour begins with: that of an example, or what a page has beside it; None: an empty folder."""
    folder = tour.with_suffix("") if tour in TUTORIALS else tour.parent
    return folder if folder.is_dir() and folder != ROOT else None


@pytest.fixture
def installed(tmp_path: Path) -> Path:
    """A folder for the PYTHONPATH that says where the tool was installed from, the same on every machine."""
    about = tmp_path / "installed/kubectl_tas-0.dist-info"
    about.mkdir(parents=True)
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: kubectl-tas\nVersion: 0\n")
    told = {"url": "https://git.example.com/kubectl-tas.git", "vcs_info": {"vcs": "git", "commit_id": "0" * 40}}
    (about / "direct_url.json").write_text(json.dumps(told))
    return about.parent


@pytest.mark.parametrize("tour", TOURS, ids=lambda path: path.stem if path in TUTORIALS else path.parent.name)
def test_tour(tour: Path, installed: Path, tmp_path: Path) -> None:
    kubectl = tmp_path / "bin/kubectl"
    kubectl.parent.mkdir()
    kubectl.write_text(f"#!/bin/sh\nshift\n{script()}\n")
    kubectl.chmod(0o755)
    path = f"{kubectl.parent}:{os.environ['PATH']}"
    environment = {**os.environ, "PATH": path, "PYTHONPATH": f"{installed}:{ROOT}", "NO_COLOR": "1"}
    for who in ("AUTHOR", "COMMITTER"):
        environment |= {f"GIT_{who}_NAME": "tester", f"GIT_{who}_EMAIL": "tester@example.com"}
    folder = tmp_path / "work"
    begun = _folder(tour)
    if begun is None:
        folder.mkdir()
    else:
        shutil.copytree(begun, folder, ignore=shutil.ignore_patterns("manifests"))
    blocks = _blocks(tour.read_text())
    assert len(blocks) > 3
    for command, expected in blocks:
        if command.startswith("cd "):
            folder = folder / command.removeprefix("cd ")
            continue
        done = subprocess.run(
            ["sh", "-c", command],
            cwd=folder,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        assert _shortened(done.stdout.replace("python -m kubectl_tas", "kubectl tas"), expected) == expected, command


@pytest.mark.parametrize(
    ("folder", "command", "expected"),
    [
        (folder, *block)
        for page in PAGES
        for folder, text in re.findall(r"<!-- run in (\S+) -->\n(```console\n.*?```)", page.read_text(), re.DOTALL)
        for block in _blocks(text)
    ],
)
def test_what_a_page_shows(folder: str, command: str, expected: str) -> None:
    arguments = command.removeprefix("kubectl tas ").split()
    case = ROOT / folder
    where = laid_out(case) if (case / ABOUT).is_file() else case
    assert _shortened(kubectl_tas(*arguments, cwd=where).out, expected) == expected


def test_links_lead_somewhere() -> None:
    broken = []
    for page in (*TOURS, *PAGES):
        for link in sorted(set(LINK.findall(page.read_text()))):
            path, _, heading = link.partition("#")
            target = page.parent / path if path else page
            is_there = target.exists() and (
                not heading or target.suffix != ".md" or heading in headings(target.read_text())
            )
            if not is_there:
                broken.append(f"{page.relative_to(ROOT)}: {link}")
    assert broken == []


def headings(text: str) -> set[str]:
    """The addresses of the headings of a page. A heading that a page has twice has none."""
    text = re.sub(r"^```.*?^```$", "", text, flags=re.MULTILINE | re.DOTALL)
    titles = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
    found = Counter(re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles)
    return {address for address, count in found.items() if count == 1}


def test_picture_of_readme_is_what_its_command_prints() -> None:
    """README has one picture, and below it the command that draws it."""
    readme = (ROOT / "README.md").read_text()
    ((picture, command),) = re.findall(r"!\[[^]]*\]\((\S+\.svg)\)\s+\(`kubectl tas ([^`]+)`\)", readme)
    assert kubectl_tas(*command.split(), cwd=ROOT).out == (ROOT / picture).read_text()


def test_readme_is_short() -> None:
    assert len((ROOT / "README.md").read_text().split()) < 800


def test_one_page_says_how_to_install() -> None:
    """Until the project is on PyPI, its name alone installs nothing: docs/ci.md says so, and others link to it."""
    by_name = re.compile(r"(pip|pipx|uv tool) install '?kubectl-tas")
    pages = {page for page in (*TOURS, *PAGES) if by_name.search(page.read_text())}
    assert pages == {ROOT / "docs/ci.md"}
