"""How many objects are built as one: those of a whole backend, or of one pool."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from kubectl_tas.diagnostics import Diagnostic, Rule, Severity
from kubectl_tas.model.repository import Declared
from kubectl_tas.resolve.clusters import FleetBackend
from kubectl_tas.resolve.fleet import Fleet
from kubectl_tas.resolve.handwritten import SubmittedPodGroup
from kubectl_tas.resolve.pools import FleetPool

MOST = 1000
"""Objects that kustomize builds in a second or a few."""

LAYOUT_LARGE = Rule(
    "layout-large",
    Severity.WARNING,
    "More than 1,000 objects are listed in one kustomization.yaml.",
    "kustomize compares each object with all before it, so twice as many take four times as long: a second or a few "
    "for 1,000, minutes for 10,000. Argo CD and Flux build the folder anew at each sync. Write `layout: sharded` in "
    "the Config, which gives each pool a folder of its own; where one pool alone has so many, divide it into child "
    "pools, or let `kubectl tas render -o -` build instead of kustomize.",
)


def check_layout(fleet: Fleet) -> Iterator[Diagnostic]:
    """What has a folder with a kustomization of its own. Objects that are counted are there at least."""
    units: dict[tuple[str, str], list[_Counted]] = {}
    for item in _objects(fleet):
        name = item.pool.name if item.pool is not None and fleet.config.layout == "sharded" else ""
        units.setdefault((item.backend.name, name), []).append(item)
    for (cluster, name), found in sorted(units.items()):
        count = sum(item.objects for item in found)
        if count > MOST:
            yield _large(fleet, f"pool {name}" if name else f"backend {cluster}", count, found[0].declared)


class _Counted(NamedTuple):
    backend: FleetBackend
    pool: FleetPool | None
    """Where it is work of one."""
    declared: Declared[Any]
    objects: int
    """How many it becomes."""


def _objects(fleet: Fleet) -> Iterator[_Counted]:
    for pool in fleet.pools:
        yield _Counted(pool.backend, None, pool.declared, 2 + len(pool.subpools))
    for sent in fleet.submissions:
        if not isinstance(sent, SubmittedPodGroup):
            yield _Counted(sent.pool.backend, sent.pool, sent.declared, sent.objects)
    for group in fleet.pod_groups:
        yield _Counted(group.backend, group.pool, group.declared, 1 + len(group.pods))


def _large(fleet: Fleet, whose: str, count: int, first: Declared[Any]) -> Diagnostic:
    config, is_sharded = fleet.repository.config, fleet.config.layout == "sharded"
    place = config.at("spec", "layout") if config is not None else first.at()
    message = f"{whose} has at least {count:,} objects in one folder, which takes kustomize long"
    hint = "Divide what is there into child pools, or let `kubectl tas render -o -` build instead."
    if not is_sharded:
        hint = "Write layout: sharded, which gives each pool a folder of its own."
    return Diagnostic(LAYOUT_LARGE, message, place, hint=hint)
