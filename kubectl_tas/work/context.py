"""What all work shares, cut down to what one file can know of it: its own pools, and all that stands above these.

A file that is judged with nothing else in sight cannot depend on anything else, so the digest of what it may see tells
whether what was made of it still holds.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

from kubectl_tas.model.repository import Repository
from kubectl_tas.resolve import names
from kubectl_tas.resolve.fleet import Context
from kubectl_tas.resolve.pools import FleetPool

Wanted = frozenset[str] | None
"""Names of pools as work spells them; None stands for all that is shared."""


class Shared:
    """The context of a repository, and its parts."""

    def __init__(self, context: Context, repository: Repository, digests: Mapping[str, bytes]) -> None:
        self.context = context
        self._digests = digests
        self._narrow: dict[Wanted, Context] = {}
        self._known: dict[Wanted, str] = {}
        self._everywhere = frozenset(
            item.origin.path
            for item in (
                *([repository.config] if repository.config else ()),
                *repository.topologies,
                *repository.pod_templates,
                *repository.resource_validations,
                *repository.operators,
                *repository.kartas,
            )
        )

    def narrowed(self, wanted: Wanted) -> Context:
        """The context with the pools that ``wanted`` names, and those above them, alone."""
        if wanted not in self._narrow:
            pools = {pool.name: pool for pool in self._pools(wanted)}
            self._narrow[wanted] = replace(self.context, pools=dict(sorted(pools.items())), dangling=())
        return self._narrow[wanted]

    def digest(self, wanted: Wanted) -> str:
        """A digest of all files that the narrowed context is read from."""
        if wanted not in self._known:
            paths = self._digests if wanted is None else self._files(self._pools(wanted))
            found = hashlib.blake2b(digest_size=16)
            for path in sorted(paths):
                found.update(path.encode() + b"\0" + self._digests[path])
            found.update("\0".join(sorted(self.context.declared_pools)).encode() if wanted is None else b"")
            self._known[wanted] = found.hexdigest()
        return self._known[wanted]

    def _pools(self, wanted: Wanted) -> Iterator[FleetPool]:
        if wanted is None:
            yield from self.context.pools.values()
            return
        for name in wanted:
            pool = self.context.pools.get(names.fold(name).partition(names.SEPARATOR)[0])
            yield from pool.chain if pool else ()

    def _files(self, pools: Iterable[FleetPool]) -> set[str]:
        found = set(self._everywhere)
        for pool in pools:
            found.add(pool.declared.origin.path)
            found.update(part.declared.origin.path for part in pool.subpools)
            found.update(part.declared.origin.path for part in pool.children)
        return found
