"""What gets more than its pool gives, or past whoever would see it: the keys of the table of back doors."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from kubectl_tas.check.parts import Part
from kubectl_tas.check.workload import conflict
from kubectl_tas.diagnostics import Diagnostic, Rule, Severity, Waiving
from kubectl_tas.model.backdoors import ANNOTATIONS, FIELDS, LABELS, Backdoor, Decides
from kubectl_tas.model.base import KeyPath
from kubectl_tas.model.repository import Origin

QUOTA_BYPASS = Rule(
    "quota-bypass",
    Severity.ERROR,
    "Pods name their node, or the shard of a scheduler, themselves.",
    "With nodeName the kubelet starts a pod that no scheduler has seen, whatever is left of any quota; "
    "with kai.scheduler/node-pool another scheduler than that of the pool's nodes takes it, or none does. Remove the "
    "key; to run on certain nodes, use nodeSelector or affinity. The shard of a pool's work is nodePool of the pool.",
    protects=Waiving.CONFIG,
)
SYNC_BYPASS = Rule(
    "sync-bypass",
    Severity.ERROR,
    "An annotation takes an object out of what kustomize, Argo CD or Flux apply, compare or prune.",
    "What is in the repository and what is in the cluster would differ without a word: work that was removed runs on "
    "and holds its GPUs, or work that was reviewed never runs. Remove the annotation. Where a repository needs it, "
    "spec.rules of the Config allows it for all: sync-bypass: off.",
    protects=Waiving.CONFIG,
)
_TABLES = {"labels": LABELS, "annotations": ANNOTATIONS}


def backdoors_of(origin: Origin, part: Part, values: Mapping[Decides, tuple[str, str]]) -> Iterator[Diagnostic]:
    """Keys that are not as the pool has them, which is in ``values``; those that may not be there at all."""
    what, path, written = part
    if what == "field":
        yield from _found(origin, FIELDS[str(path[-1])], path, written, values)
        return
    table = _TABLES.get(what, {})
    for key in written.keys() & table.keys():
        if table[key].decides is not Decides.SYNC or path == ("metadata", "annotations"):
            yield from _found(origin, table[key], (*path, key), written[key], values)


def _found(
    origin: Origin, door: Backdoor, path: KeyPath, written: object, values: Mapping[Decides, tuple[str, str]]
) -> Iterator[Diagnostic]:
    if door.decides in values:
        value, why = values[door.decides]
        if written is not None and written != value:
            yield conflict(origin, path, value, why)
    elif door.decides is Decides.SYNC:
        if re.search(door.values, str(written)):
            message = f"{door.key}: {written} takes the object out of the sync: {door.effect}"
            hint = "Remove it, or let spec.rules of the Config allow it."
            yield Diagnostic(SYNC_BYPASS, message, origin.locate(path, key=True), hint=hint)
    elif door.effect and written:
        message = f'{door.key} is "{written}": {door.effect}'
        hint = "Remove it; nodeSelector and affinity choose nodes too."
        yield Diagnostic(QUOTA_BYPASS, message, origin.locate(path, key=True), hint=hint)
