"""Makes fleets in memory, without files."""

from __future__ import annotations

from collections.abc import Mapping

from kubectl_tas.base.diagnostics import Diagnostic
from kubectl_tas.check.judging import Judged, judge
from kubectl_tas.load.source import MemorySource
from kubectl_tas.resolve.fleet import Fleet


def judged_files(files: Mapping[str, str]) -> Judged:
    """Loads and checks a repository of these texts by path."""
    return judge(MemorySource({path: text.encode() for path, text in files.items()}))


def fleet_of(files: Mapping[str, str]) -> Fleet:
    """Returns the fleet that these texts, by path, declare."""
    return judged_files(files).fleet


def said(item: Diagnostic) -> str:
    """Returns a finding as ``PATH:LINE:COLUMN: MESSAGE``, without the place if it has none."""
    place = item.location
    return f"{place.path}:{place.line}:{place.column}: {item.message}" if place else item.message
