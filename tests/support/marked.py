"""Files in which ``^`` stands before the place of the finding that is expected, and what is found in a repository."""

from __future__ import annotations

import json
from pathlib import Path

from tests.support.cli import kubectl_tas

Found = tuple[str, str, str, str]
"""A place, a rule, a message, and its help."""


def marked(path: str, text: str) -> tuple[str, str]:
    """The text of a file without its mark, and the place of that."""
    before, behind = text.split("^")
    return before + behind, f"{path}:{before.count(chr(10)) + 1}:{len(before) - before.rfind(chr(10))}"


def findings(root: Path) -> list[Found]:
    """What ``validate`` finds, notes aside."""
    result = kubectl_tas("validate", "-o", "json", "-C", root)
    return [
        ("{path}:{line}:{column}".format_map(item["location"]), item["rule"], item["message"], item["hint"])
        for item in json.loads(result.out)["diagnostics"]
        if item["severity"] != "info"
    ]
