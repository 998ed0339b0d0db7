"""Reads ``reasons.txt``: the reasons why the tool may accept slips of one key silently."""

from __future__ import annotations

import re
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path

KINDS = {
    "workloads": "*Job JobSet Deployment StatefulSet LeaderWorkerSet RayCluster RayService PodCliqueSet Pod List",
    "kubeflow": "JAXJob MPIJob PyTorchJob TFJob XGBoostJob",
    "ray": "RayCluster RayJob RayService",
}
Row = tuple[str, str, str, str]
"""The actions, kinds and fields of a row, each as words with blanks between, and the reason."""


def rows() -> tuple[Row, ...]:
    """Returns the rows of the table in order."""
    lines = (Path(__file__).parent / "reasons.txt").read_text(encoding="utf-8").splitlines()
    cells = (line.split(" | ") for line in lines if line and not line.startswith("#"))
    return tuple((what, KINDS.get(kinds, kinds), fields, why) for what, kinds, fields, why in cells)


REASONS = rows()


def reason(what: str, kind: str, path: str) -> Row | None:
    """Returns the first row for a slip, for example ``delete``, ``Job``, ``spec.suspend``."""
    for row in REASONS:
        whats, kinds, fields, _ = row
        is_kind = what in whats.split() and any(fnmatchcase(kind, pattern) for pattern in kinds.split())
        if is_kind and _fields(fields).search(path):
            return row
    return None


@cache
def _fields(patterns: str) -> re.Pattern[str]:
    """Returns a pattern for paths that end with one of these patterns."""
    steps = (re.escape(pattern).replace(r"\*", "[^.]*") for pattern in patterns.split())
    return re.compile(rf"(^|\.)({'|'.join(steps)})$")
