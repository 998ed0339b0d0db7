"""``python -m tools.baseline``: the digests of what a release renders of each case of ``golden/manifests``, written to
``tests/release.json``. Run it when a release is made: ``tests/test_release.py`` compares with it.
"""

from __future__ import annotations

import hashlib
import json

from kubectl_tas import __version__
from tools.goldens import GOLDEN, ROOT

BASELINE = ROOT / "tests/release.json"


def digests() -> dict[str, str]:
    """The digest of all rendered files of each case, with their paths, by the name of the case."""
    found = {}
    for folder in sorted(GOLDEN.glob("manifests/*/manifests")):
        whole = hashlib.sha256()
        for path in sorted(path for path in folder.rglob("*") if path.is_file()):
            content = path.read_bytes()
            whole.update(f"{path.relative_to(folder).as_posix()} {len(content)}\n".encode())
            whole.update(content)
        found[folder.parent.name] = whole.hexdigest()
    return found


def main() -> None:
    """Writes it."""
    data = {"release": __version__, "cases": digests()}
    BASELINE.write_text(json.dumps(data, indent=2) + "\n", encoding="utf-8")
    print(f"wrote {BASELINE.name} with {len(data['cases'])} cases")


if __name__ == "__main__":
    main()
