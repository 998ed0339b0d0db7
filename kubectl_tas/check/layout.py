"""How many objects are built as one: those of a whole backend, or of one pool."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from kubectl_tas.diagnostics import Diagnostic, Rule, Severity
from kubectl_tas.model.repository import Declared
from kubectl_tas.resolve.clusters import FleetBackend
from kubectl_tas.resolve.fleet import Fleet
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
    units: dict[tuple[str, str], list[Declared[Any]]] = {}
    for backend, pool, declared, count in _objects(fleet):
        name = pool.name if pool is not None and fleet.config.layout == "sharded" else ""
        units.setdefault((backend.name, name), []).extend([declared] * count)
    for (cluster, name), found in sorted(units.items()):
        if len(found) > MOST:
            yield _large(fleet, f"pool {name}" if name else f"backend {cluster}", found)


def _objects(fleet: Fleet) -> Iterator[tuple[FleetBackend, FleetPool | None, Declared[Any], int]]:
    """The cluster of what is declared, its pool where it is work of one, and how many objects it becomes."""
    for pool in fleet.pools:
        yield pool.backend, None, pool.declared, 2 + len(pool.subpools)
    for workflow in fleet.workflows:
        count = sum(1 + len(group.tasks) for group in workflow.groups)
        yield workflow.pool.backend, workflow.pool, workflow.declared, count
    for sent in (*fleet.workloads, *fleet.submitted_sets):
        yield sent.pool.backend, sent.pool, sent.declared, 1
    for group in fleet.pod_groups:
        yield group.backend, group.pool, group.declared, 1 + len(group.pods)


def _large(fleet: Fleet, whose: str, found: list[Declared[Any]]) -> Diagnostic:
    config, is_sharded = fleet.repository.config, fleet.config.layout == "sharded"
    place = config.at("spec", "layout") if config is not None else found[0].at()
    message = f"{whose} has at least {len(found):,} objects in one folder, which takes kustomize long"
    hint = "Divide what is there into child pools, or let `kubectl tas render -o -` build instead."
    if not is_sharded:
        hint = "Write layout: sharded, which gives each pool a folder of its own."
    return Diagnostic(LAYOUT_LARGE, message, place, hint=hint)
