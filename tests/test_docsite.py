"""Tests that old addresses of the documentation lead to the pages that have their text now."""

from __future__ import annotations

import re
from pathlib import Path, PurePosixPath

import pytest

from tests.support.golden import ROOT
from tests.test_readme import headings
from tools.docsite import MOVED, linked_files, redirects


@pytest.mark.parametrize(("address", "text"), redirects().items())
def test_a_former_page_leads_to_a_heading(address: str, text: str) -> None:
    former = PurePosixPath(address).parent
    assert not (ROOT / f"{former}.md").exists(), "the page exists: its redirect would replace it"
    targets = {*re.findall(r"\.\./([\w-]+)/#([\w-]+)", text)}
    assert len(targets) == 1
    for page, heading in targets:
        assert heading in headings((ROOT / f"docs/{page}.md").read_text())


def test_pages_of_the_site_are_those_of_the_folder() -> None:
    """A page that the menu lacks is found by nobody; a page that is gone needs a redirect."""
    menu = {*re.findall(r"docs/([\w-]+)\.md", (ROOT / "mkdocs.yml").read_text())}
    assert menu == {path.stem for path in (ROOT / "docs").glob("*.md")}
    assert not menu & MOVED.keys()


def test_the_site_has_the_pictures_that_pages_show() -> None:
    pictures = re.findall(r"!\[[^]]*\]\(\.\./(\S+\.svg)\)", (ROOT / "docs/pictures.md").read_text())
    assert pictures
    assert {*map(Path, pictures)} <= {*linked_files()}
