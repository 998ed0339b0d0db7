"""Writes ``tests/release.json``: digests of what a release renders for each case of ``golden/manifests``. Whoever makes
a release runs ``python -m tools.baseline``; ``tests/test_release.py`` compares with the file.
"""

from __future__ import annotations

import hashlib
import json

from kubectl_tas import __version__
from tools.goldens import GOLDEN, ROOT, find, read

BASELINE = ROOT / "tests/release.json"


def digests() -> dict[str, str]:
    """Returns the digest of the paths and contents of all rendered files, by the name of the case."""
    found = {}
    for folder in find(GOLDEN / "manifests"):
        whole = hashlib.sha256()
        for name, path in sorted(read(folder).files("manifests").items()):
            content = path.read_bytes()
            whole.update(f"{name} {len(content)}\n".encode())
            whole.update(content)
        found[folder.name] = whole.hexdigest()
    return found


def main() -> None:
    """Writes the digests."""
    data = {"release": __version__, "cases": digests()}
    BASELINE.write_text(json.dumps(data, indent=2) + "\n", encoding="utf-8")
    print(f"wrote {BASELINE.name} with {len(data['cases'])} cases")


if __name__ == "__main__":
    main()
