"""The life of a subpool: which state may follow which."""

from __future__ import annotations

from kubectl_tas.model.pool import SubpoolState

TRANSITIONS: dict[SubpoolState, tuple[SubpoolState, ...]] = {
    "ACTIVE": ("DELETING", "ARCHIVED"),
    "DELETING": ("ARCHIVED",),
    "ARCHIVED": ("ACTIVE",),
}
"""An ACTIVE subpool is ARCHIVED at once where nothing runs in it, and by way of DELETING otherwise."""

BEHAVIOUR: dict[SubpoolState, str] = {
    "ACTIVE": "takes work; its quota can be changed and it can be deleted",
    "DELETING": "is frozen until it is empty; then it is archived",
    "ARCHIVED": "is only a record; it can only be recreated",
}
"""What each state means, for messages."""
