"""Tests that the right example on a rule's page is the wrong file with the change, marked."""

from __future__ import annotations

from pathlib import Path

import pytest

from tools.goldens import ROOT

PAGES = sorted(path for path in (ROOT / "docs/rules").glob("*.md") if "## Wrong" in path.read_text(encoding="utf-8"))
OTHER = {
    *("output-foreign", "output-moved", "pool-busy", "pool-gone", "review-hidden", "subpool-removed", "suspended"),
    *("topology-drift", "topology-removed", "topology-undeployed", "set-reference-changed", "set-reference-locked"),
    *("file-not-regular", "file-outside-repository", "file-unread", "values-unused"),
    *(
        "access-unguarded",
        "karta-unread",
        "shard-undeclared",
        "set-topology-default",
        "workload-scheduler",
        "segment-unsupported",
    ),
}
"""Rules about a change or a cluster, and those that another file mends, or another place of the file."""


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_right_is_the_wrong_file_mended(page: Path) -> None:
    wrong, _, right = page.read_text(encoding="utf-8").partition("## Right")
    is_mended = "```diff" in right
    assert is_mended == (page.stem not in OTHER), "let the help or a silent case mend the file that fires, or see OTHER"
    if is_mended:
        rows = right.partition("```diff\n")[2].partition("```")[0].splitlines()
        assert any(row.startswith(("+", "-")) for row in rows)
        kept = [row[1:] for row in rows[1:] if row[:1] in (" ", "-") and row[1:].strip()]
        path = rows[0].removeprefix("# ")
        assert f"# {path}\n" not in wrong or any(row in wrong for row in kept) or not kept
