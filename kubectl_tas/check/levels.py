"""The two levels of one constraint: what is preferred is finer than what is required."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kubectl_tas.check.nodes import NODE_LABELS
from kubectl_tas.diagnostics import Diagnostic, Location, Related, Rule, Severity, Waiving
from kubectl_tas.resolve.topologies import FleetTopology
from kubectl_tas.words import closest

PLACEMENT_ORDER = Rule(
    "placement-order",
    Severity.ERROR,
    "The preferred level of a constraint is coarser than the required one.",
    "KAI looks at the levels from the finest one up to the required one, does not meet the preferred one there, and "
    "never places the pods (0.10 to 0.17). Prefer a finer level than the required one, or leave it out: what is "
    "required holds for every coarser level too.",
    protects=Waiving.ANYBODY,
)
CONSTRAINT_ORDER = Rule(
    "constraint-order",
    Severity.INFO,
    "The preferred level of a constraint is the required one.",
    "KAI and Grove take it, and place the pods as without it: what is required holds in any case. Prefer a finer "
    "level, or leave it out.",
)


GPU_CLIQUE = "nvidia.com/gpu.clique"
"""What the GPU operator calls the NVLink domain of a node (GPU Feature Discovery, docs/README.md)."""


def mended_level(name: str, topology: FleetTopology | None) -> str:
    """How to mend a level where work is right and asks for a label as nodes have it; nothing where it is none of it."""
    wrong = closest(name, [level.label for level in topology.levels], most=1) if topology else None
    if wrong in (None, name) or name not in (GPU_CLIQUE, *NODE_LABELS):
        return ""
    return f'Nodes have {name}, and the level of the topology says "{wrong}": write {name} there.'


def check_order(
    levels: Sequence[str], required: str, preferred: str, place: Location, related: tuple[Related, ...] = ()
) -> Iterator[Diagnostic]:
    """The ``preferred`` level of a constraint, which stands at ``place``, beside the ``required`` one: two of
    ``levels``, which go from the coarsest to the finest. Follows ``job_filtering.go`` of KAI's topology plugin.
    """
    finer = levels[levels.index(required) + 1 :]
    hint = f"Prefer {' or '.join(finer)}, or leave it out." if finer else "Nothing is finer; leave it out."
    if preferred == required:
        message = f'the preferred level "{preferred}" is the required one, so it says nothing'
        yield Diagnostic(CONSTRAINT_ORDER, message, place, related, hint=hint)
    elif preferred not in finer:
        message = f'the preferred level "{preferred}" is coarser than the required "{required}": the pods never run'
        yield Diagnostic(PLACEMENT_ORDER, message, place, related, hint=hint)
