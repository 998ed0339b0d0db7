"""When objects are applied, and pruned."""

from __future__ import annotations

from enum import IntEnum


class Phase(IntEnum):
    """The order in which objects are applied; the reverse is the order in which they are pruned.

    KAI's webhook refuses a queue whose parent is missing, and the removal of one that has children. The container of
    a pool with child pools is applied before POOL_QUEUE, one step for each level of pools below it, and the root before
    all of them: what has none keeps its place, and pools that change places form no circle meanwhile. A changed
    admission policy takes about a second to count, so policies stand as far before the work as they can; Roles follow
    them in the same phase.
    """

    NAMESPACE = -1
    PRIORITY_CLASS = 0
    GUARD = 1
    TOPOLOGY = 2
    ROOT_QUEUE = 3
    POOL_QUEUE = 4
    LEAF_QUEUE = 5
    COMPANION = 6
    POD_GROUP = 7
    POD = 8
