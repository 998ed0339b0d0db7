"""Names the schedulers other than KAI whose labels, annotations and API groups work may have."""

from __future__ import annotations

from kubectl_tas.base.late import late_pattern

KUEUE, VOLCANO, YUNIKORN, RUN_AI = "Kueue", "Volcano", "YuniKorn", "Run:ai"
_PREFIXES = (
    (r"(.*\.)?kueue\.x-k8s\.io/", KUEUE),
    (r"(.*\.)?volcano\.sh/|scheduling\.k8s\.io/group-name$", VOLCANO),
    (r"(.*\.)?yunikorn\.apache\.org/", YUNIKORN),
    (r"scheduling\.x-k8s\.io/|pod-group\.scheduling\.sigs\.k8s\.io(/|$)", "the co-scheduling plugin"),
    (r"(.*\.)?scheduling\.koordinator\.sh/", "Koordinator"),
    (r"run\.ai/", RUN_AI),
)
"""The beginnings of keys, and who reads them."""
_ANY = late_pattern("|".join(pattern for pattern, _ in _PREFIXES))


def scheduler_of(key: str) -> str:
    """Returns who reads a label, an annotation or an apiVersion with a slash behind its group. Empty: none of these."""
    if _ANY.match(key) is None:
        return ""
    return next(name for pattern, name in _PREFIXES if late_pattern(pattern).match(key))
