"""Who uses which cluster topology in, Grove's overview of it out, or the same as data."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from kubectl_tas.report import table

HEADER = ("TOPOLOGY", "PODCLIQUESET", "TopologyLevelsUnavailable", "REASON", "MISSING")
CONDITION = HEADER[2]
DRIFT_HEADER = ("TOPOLOGY", "IN THE REPOSITORY", "IN THE CLUSTER")
NONE = "-"


@dataclass(frozen=True, slots=True)
class Use:
    """One PodCliqueSet."""

    namespace: str
    name: str
    topology: str | None
    """None: no topology applies, since it asks for no placement."""
    is_default: bool
    """Whether the topology is the default, which the set does not name."""
    status: str | None
    """The condition of its levels: True where some are unavailable; None where no topology applies."""
    reason: str
    missing: tuple[str, ...]
    """Domains that it asks for and the topology lacks."""
    backend: str | None = None
    """The cluster that it is for, where there are several."""

    @property
    def label(self) -> str:
        """The topology as the overview has it."""
        return f"{self.topology} (default)" if self.is_default else self.topology or NONE

    @property
    def full_name(self) -> str:
        """Cluster, where there are several, namespace and name."""
        return full_name(self.backend, self.namespace, self.name)


@dataclass(frozen=True, slots=True)
class Difference:
    """A cluster topology that is not the same in the repository and in the cluster."""

    topology: str
    declared: tuple[tuple[str, str], ...] | None
    """Domain and node label of each level; None: no file has it."""
    live: tuple[tuple[str, str], ...] | None


def full_name(backend: str | None, namespace: str, name: str) -> str:
    """What a set is called; ``backend`` is None where there is one cluster."""
    return "/".join(part for part in (backend, namespace, name) if part is not None)


def render(uses: Sequence[Use]) -> str:
    """A line for each set, grouped by topology."""
    rows = [(use.label, use.full_name) for use in _in_order(uses)]
    return table.render(("", ""), rows).partition("\n")[2] if rows else ""


def render_conditions(uses: Sequence[Use]) -> str:
    """The same with the condition that Grove reports of each set."""
    rows = [
        (
            use.label,
            use.full_name,
            use.status or NONE,
            use.reason or NONE,
            ", ".join(use.missing) or NONE,
        )
        for use in _in_order(uses)
    ]
    return table.render(HEADER, rows) if rows else ""


def render_differences(differences: Sequence[Difference]) -> str:
    """The topologies that differ, with both hierarchies."""
    rows = [(item.topology, _levels(item.declared), _levels(item.live)) for item in differences]
    return table.render(DRIFT_HEADER, rows) if rows else ""


def data(uses: Sequence[Use], source: str, differences: Sequence[Difference] | None) -> dict[str, Any]:
    """The same for programs; ``differences`` is None where nothing was compared."""
    found: dict[str, Any] = {
        "version": 1,
        "from": source,
        "podCliqueSets": [
            {
                "namespace": use.namespace,
                "name": use.name,
                "backend": use.backend,
                "topology": use.topology,
                "default": use.is_default,
                "condition": _condition(use),
            }
            for use in _in_order(uses)
        ],
    }
    if differences is not None:
        found["differences"] = [
            {"topology": item.topology, "repository": _data(item.declared), "cluster": _data(item.live)}
            for item in differences
        ]
    return found


def _in_order(uses: Sequence[Use]) -> list[Use]:
    return sorted(uses, key=lambda use: (use.topology is None, use.label, use.full_name))


def _condition(use: Use) -> dict[str, Any] | None:
    if use.status is None:
        return None
    return {"type": CONDITION, "status": use.status, "reason": use.reason, "missing": list(use.missing)}


def _levels(levels: tuple[tuple[str, str], ...] | None) -> str:
    return NONE if levels is None else " > ".join(f"{domain} ({key})" for domain, key in levels)


def _data(levels: tuple[tuple[str, str], ...] | None) -> list[dict[str, str]] | None:
    return None if levels is None else [{"domain": domain, "key": key} for domain, key in levels]
