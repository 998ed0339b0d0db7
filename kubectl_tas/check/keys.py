"""Labels and annotations that KAI, Grove or this tool reads: each is one of theirs, and stands where it is read."""

from __future__ import annotations

from collections.abc import Iterator

from kubectl_tas import gpus
from kubectl_tas.check.parts import Part
from kubectl_tas.diagnostics import Diagnostic, Rule, Severity, Waiving
from kubectl_tas.model import labels
from kubectl_tas.model.base import KeyPath
from kubectl_tas.model.labelkeys import KEYS, Reader
from kubectl_tas.model.repository import Origin
from kubectl_tas.words import closest, question

KEY_UNKNOWN = Rule(
    "key-unknown",
    Severity.ERROR,
    "A label or an annotation looks like one of KAI's, Grove's or this tool's, and is none.",
    "Nothing reads it, and nothing says so: a placement with a slip in its name places nothing. Correct the name. "
    "Where the key belongs to somebody else, waive the rule there.",
    protects=Waiving.ANYBODY,
)
KEY_MISPLACED = Rule(
    "key-misplaced",
    Severity.ERROR,
    "A label stands among the annotations, or an annotation among the labels.",
    "KAI reads each in one of the two places only. Move it to the other.",
    protects=Waiving.ANYBODY,
)
OTHER_QUEUE = Rule(
    "other-queue",
    Severity.WARNING,
    "A workload names a queue of Kueue or of Volcano.",
    "Kueue suspends a workload with kueue.x-k8s.io/queue-name until its own quota has room, and KAI then counts it "
    "against the pool's: it waits twice, and without a LocalQueue of that name for ever. KAI ignores Volcano's queue: "
    "the pool says which queue work is in. Remove the key.",
)
KUEUE = "kueue.x-k8s.io/queue-name"
"""The label of work that Kueue suspends, and starts itself."""
_VOLCANO = ("scheduling.volcano.sh/queue-name", "volcano.sh/queue-name")
"""Volcano 1.12: pkg/apis of volcano.sh/apis, scheduling/v1beta1 and batch/v1alpha1."""
_ENDINGS = (".x-k8s.io", ".io", ".dev", ".com", ".ai")
"""What people put behind a domain that has no such ending."""
DOMAINS = ("kai.scheduler", "kubectl-tas", "grove.io", "runai")
_SLIPS = 2
"""Slips that a domain may have to be taken for one of these."""


def keys_of(origin: Origin, part: Part) -> Iterator[Diagnostic]:
    """Keys of labels and annotations."""
    where, path, keys = part
    if where in ("labels", "annotations"):
        for key in keys:
            yield from _check(origin, where, (*path, key))


def _check(origin: Origin, where: str, path: KeyPath) -> Iterator[Diagnostic]:
    key = str(path[-1])
    other = "labels" if where == "annotations" else "annotations"
    if key in KNOWN[where] or key in KNOWN["both"]:
        return
    place = origin.locate(path, key=True)
    if key == KUEUE and where == "labels":
        message = "Kueue holds this workload until a queue of its own has room, beside the quota of its pool"
        yield Diagnostic(OTHER_QUEUE, message, place, hint=f"Remove the label {key}.")
        return
    if key in _VOLCANO:
        message = "KAI ignores the queue of Volcano: the pool says which queue this work is in"
        yield Diagnostic(OTHER_QUEUE, message, place, hint=f"Remove {key}.")
        return
    if key.startswith(labels.OWN_PREFIX) and (where == "labels" or key in KNOWN[other]):
        return  # check.workload says more of those
    if key in KNOWN[other]:
        message = f"{key} is read among the {other}, not among the {where}"
        hint = f"Remove it: {_WRITTEN}." if key in _BY_NOBODY else f"Move it to {other}."
        yield Diagnostic(KEY_MISPLACED, message, place, hint=hint)
        return
    domain, slash, name = key.partition("/")
    if not slash:
        near = closest(key, PLAIN, most=1, folds=True)
        if near is not None:
            yield Diagnostic(KEY_UNKNOWN, f'nothing reads "{key}"', place, hint=question(key, near))
        return
    bare = next((domain.removesuffix(ending) for ending in _ENDINGS if domain.endswith(ending)), domain)
    likely = (closest(text, DOMAINS, most=min(_SLIPS, len(text) // 4), folds=True) for text in (domain, bare))
    meant = domain if domain in DOMAINS else next(filter(None, likely), None)
    if meant is None:
        return
    known = sorted(item for items in KNOWN.values() for item in items if item.startswith(f"{meant}/"))
    here = (item for item in known if item not in KNOWN[other])
    near = closest(f"{meant}/{name}", known)
    hint = question(key, near) if near else f"Known are: {', '.join(here)}."
    hint = f"Did you mean {near}? Remove it: {_WRITTEN}." if near in _BY_NOBODY else hint
    yield Diagnostic(KEY_UNKNOWN, f'nothing reads the key "{key}"', place, hint=hint)


PLAIN = (labels.PRIORITY_CLASS, labels.POD_GROUP, *gpus.ANNOTATIONS)
"""Keys of KAI's without a domain."""
_BY_NOBODY = frozenset(key.name for key in KEYS if key.reader is Reader.NOBODY)
_WRITTEN = "kubectl-tas, KAI or Grove writes it"
KNOWN = {
    where: frozenset(key.name for key in KEYS if key.where == where) for where in ("labels", "annotations", "both")
}
