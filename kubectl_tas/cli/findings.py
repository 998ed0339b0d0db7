"""How ``validate`` and ``check`` print what they found for programs."""

from __future__ import annotations

import os
from pathlib import Path

from kubectl_tas.cli.terminal import hand_over
from kubectl_tas.errors import TasError
from kubectl_tas.report import github
from kubectl_tas.report.findings import Findings
from kubectl_tas.report.formats import FORMATS, OF_CHECKOUTS

SUMMARY = "GITHUB_STEP_SUMMARY"
"""The environment variable in which GitHub names the file that a step appends its summary to."""


def print_findings(findings: Findings, output: str, root: Path) -> None:
    """Prints what was found in the repository ``root`` in one of FORMATS; ``github`` writes the step's summary too.

    Raises TasError where that cannot be written.
    """
    if output in OF_CHECKOUTS:
        findings = findings.below(_folder(root))
    hand_over(FORMATS[output](findings), is_safe=True)
    path = os.environ.get(SUMMARY) if output == "github" else None
    if path:
        _append(Path(path), findings)


def _folder(root: Path) -> str:
    """The repository as a folder of its checkout; empty where it is the checkout, or in none."""
    top = next((folder for folder in (root, *root.parents) if os.path.lexists(folder / ".git")), root)
    return "" if top == root else root.relative_to(top).as_posix()


def _append(path: Path, findings: Findings) -> None:
    try:
        room = github.MAX_SUMMARY - (path.stat().st_size if path.exists() else 0)
        with path.open("a", encoding="utf-8", errors="backslashreplace", newline="\n") as file:
            file.write(github.summary(findings, room))
    except OSError as error:
        hint = f"Unset {SUMMARY}, or let it name a file that may be written to."
        raise TasError(f"cannot append to the summary {path}: {error.strerror}", hint=hint) from error
