"""What commands and options were called before, and what they are called now. The old ones work for one release."""

from __future__ import annotations

COMMANDS = {"subpool delete": "subpool retire", "pool topology-keys": "topology list --pool"}
"""The new name of each command, behind ``kubectl tas``."""
OPTIONS = {
    "render": {"-o": "--to"},
    "report": {"-o": "--to"},
    "snapshot": {"-o": "--to"},
    "cluster state": {"-o": "--to"},
    "import cluster": {"-o": "--to"},
    "import kueue": {"-o": "--to"},
    "import osmo": {"-o": "--to"},
}
"""The new name of each option, by its command. ``--output`` is a long spelling of ``-o``."""


def note(old: str, new: str) -> str:
    """What is said of an old name."""
    return f"Note: `{old}` is now `{new}`; the next release no longer takes the old name. Run: kubectl tas migrate"
