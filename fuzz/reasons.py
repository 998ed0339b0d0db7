"""Why slips of one key may be accepted without a word, by the table ``reasons.txt``."""

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
"""What is done, to which kinds, to which fields, and why that may be; but for the last, words with blanks between."""


def rows() -> tuple[Row, ...]:
    """The table, in its order."""
    lines = (Path(__file__).parent / "reasons.txt").read_text(encoding="utf-8").splitlines()
    cells = (line.split(" | ") for line in lines if line and not line.startswith("#"))
    return tuple((what, KINDS.get(kinds, kinds), fields, why) for what, kinds, fields, why in cells)


REASONS = rows()


def reason(what: str, kind: str, path: str) -> Row | None:
    """The first row that is of this slip: ``delete``, ``Job``, ``spec.suspend``."""
    for row in REASONS:
        whats, kinds, fields, _ = row
        is_kind = what in whats.split() and any(fnmatchcase(kind, pattern) for pattern in kinds.split())
        if is_kind and _fields(fields).search(path):
            return row
    return None


@cache
def _fields(patterns: str) -> re.Pattern[str]:
    """A pattern of paths that end as one of these does."""
    steps = (re.escape(pattern).replace(r"\*", "[^.]*") for pattern in patterns.split())
    return re.compile(rf"(^|\.)({'|'.join(steps)})$")
