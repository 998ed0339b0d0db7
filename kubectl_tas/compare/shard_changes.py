"""Compares the SchedulingShards of two fleets, and says which pools and GPUs a change concerns."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, Literal

from kubectl_tas.base.contract import json_fields
from kubectl_tas.base.late import dataclass
from kubectl_tas.base.words import shortened
from kubectl_tas.facts.quantities import NO_LIMIT
from kubectl_tas.resolve.fleet import Fleet
from kubectl_tas.resolve.pools import FleetPool
from kubectl_tas.resolve.shards import FleetShard

if TYPE_CHECKING:
    from kubectl_tas.model.scheduling_shard import SchedulingShardSpec


@json_fields("field=path before after")
@dataclass(frozen=True, slots=True)
class ChangedField:
    """A field of a shard with another value."""

    path: str
    """The path below spec, such as placementStrategy.gpu."""
    before: str
    after: str


@json_fields("shard=name change=kind fields pools=pools.name")
@dataclass(frozen=True, slots=True)
class ShardChange:
    """A changed, new or removed shard."""

    name: str
    before: FleetShard | None
    after: FleetShard | None
    fields: tuple[ChangedField, ...]
    """The changed fields, with defaults filled in. Empty for a new or removed shard."""
    pools: tuple[FleetPool, ...]
    """The pools that the shard serves before or after, sorted by name, without pools below these."""

    @property
    def kind(self) -> Literal["made", "changed", "dropped"]:
        """Kind of the change."""
        return "made" if self.before is None else "dropped" if self.after is None else "changed"

    @property
    def effect(self) -> str:
        """The effect on the scheduler of a shard that was declared before, in words."""
        if self.after is None:
            return "goes"
        strategies = ((part.path, part.before, part.after) for part in self.fields)
        told = [f"{was} -> {now}" for path, was, now in strategies if path.startswith("placementStrategy.")]
        return f"places otherwise ({', '.join(dict.fromkeys(told))})" if told else "changes"

    @property
    def concerns(self) -> str:
        """The pools with their guaranteed GPUs, in words."""
        if not self.pools:
            return "no pool"
        guaranteed = [pool.guarantee.gpu for pool in self.pools]
        names = shortened([pool.name for pool in self.pools])
        is_bounded = NO_LIMIT not in guaranteed
        gpus = f"{sum(map(int, guaranteed))} GPUs guaranteed" if is_bounded else "GPUs without a bound"
        return f"{'pool' if len(self.pools) == 1 else 'pools'} {names} ({gpus})"


def shard_changes(before: Fleet, after: Fleet) -> Iterator[ShardChange]:
    """Yields the shards that differ, by name."""
    earlier, later = ({shard.name: shard for shard in fleet.shards} for fleet in (before, after))
    for name in sorted({*earlier, *later}):
        was, now = earlier.get(name), later.get(name)
        fields = tuple(_differing(was.spec, now.spec)) if was and now else ()
        if was is None or now is None or fields:
            served = {pool.name: pool for shard in (was, now) if shard for pool in shard.pools if pool.parent is None}
            yield ShardChange(name, was, now, fields, tuple(served[key] for key in sorted(served)))


def differing_fields(live: Mapping[str, Any], declared: SchedulingShardSpec) -> list[ChangedField]:
    """Returns the fields of a shard in a cluster that differ from the declared ones, with defaults filled in. The whole
    spec is one field if it is no valid one.
    """
    from pydantic import ValidationError

    try:
        return [*_differing(type(declared).model_validate(live), declared)]
    except ValidationError:
        return [ChangedField("spec", "something that kubectl-tas does not read", "what is declared")]


def _differing(before: SchedulingShardSpec, after: SchedulingShardSpec) -> Iterator[ChangedField]:
    was, now = (dict(_flat(spec.model_dump(), "")) for spec in (before, after))
    for path in dict.fromkeys((*was, *now)):
        if was.get(path) != now.get(path):
            yield ChangedField(path, was.get(path, "-"), now.get(path, "-"))


def _flat(fields: Mapping[str, Any], path: str) -> Iterator[tuple[str, str]]:
    """Yields the path and the text of each value."""
    for key, value in fields.items():
        if isinstance(value, dict):
            yield from _flat(value, f"{path}{key}.")
        elif value is not None and value != "":
            yield f"{path}{key}", str(value).lower() if isinstance(value, bool) else str(value)
