"""Writes the names of time zones that API servers accept: those in Go's copy of the tz database, which kube-apiserver
is built with. Run it by hand when a new release of the database has other names.

``python -m tools.timezones $(go env GOROOT)/lib/time/zoneinfo.zip``
"""

from __future__ import annotations

import sys
from pathlib import Path
from zipfile import ZipFile

from tools.goldens import ROOT

NAMES = ROOT / "kubectl_tas" / "facts" / "timezones.txt"


def names(archive: Path) -> str:
    """Returns the zones of an archive, sorted, one per line."""
    with ZipFile(archive) as file:
        return "".join(f"{name}\n" for name in sorted(file.namelist()) if not name.endswith("/"))


if __name__ == "__main__":
    NAMES.write_text(names(Path(sys.argv[1])), encoding="utf-8", newline="\n")
