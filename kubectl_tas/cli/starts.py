"""Plays clusters forward for `why`, which needs the start of a few gangs, and for `report`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from kubectl_tas.cli.backends import time_in
from kubectl_tas.cli.clock import clock
from kubectl_tas.cli.played_shards import forecasted, seen_cluster
from kubectl_tas.draw.forecasttable import Forecasted, last_start
from kubectl_tas.live.kubectl import complete_kinds
from kubectl_tas.live.live_cluster import Cluster, Clusters
from kubectl_tas.live.reasons import ClusterAnswers
from kubectl_tas.place.answers import Fit
from kubectl_tas.place.gangs_to_place import GangToPlace, unplaced
from kubectl_tas.place.node_resources import ClusterNodes, read_nodes
from kubectl_tas.place.pending_work import PredictedStart, Why
from kubectl_tas.place.schedulers import in_cluster, schedulers
from kubectl_tas.place.volumes import with_volumes
from kubectl_tas.resolve.clusters import FleetBackend
from kubectl_tas.resolve.fleet import Fleet
from kubectl_tas.resolve.pools import Submission

OF_WHY, OF_REPORT = (10_000, 100), (100_000, 1000)
"""Most turns of gangs, and scenarios for evictions, that `why` and `report` play."""


def with_starts(fleet: Fleet, answers: Sequence[Why], said: Sequence[ClusterAnswers], clusters: Clusters) -> list[Why]:
    """Adds to the answers for waiting work when it starts, if its cluster has said which nodes and pods there are."""
    starts: dict[int, PredictedStart | None] = {}
    for backend in fleet.backends:
        waiting = [
            (answer.sent, cluster_answers.objects)
            for answer, cluster_answers in zip(answers, said, strict=True)
            if answer.sent.pool.backend == backend and any(isinstance(one, Fit) for one in answer.fits)
        ]
        if waiting:
            works = [work for work, _ in waiting]
            starts |= _starts(fleet, works, waiting[0][1], clusters.of(backend.name))
    return [replace(answer, start=starts.get(id(answer.sent))) for answer in answers]


def _starts(
    fleet: Fleet, works: Sequence[Submission], objects: Sequence[Mapping[str, Any]], cluster: Cluster
) -> dict[int, PredictedStart | None]:
    """Returns the starts of work of one cluster, by the identity of the work."""
    backend, shards = works[0].pool.backend, {work.pool.shard for work in works}
    chosen = [item for item in fleet.submissions if item.pool.backend == backend and item.pool.shard in shards]
    nodes = with_volumes(read_nodes(objects, complete_kinds(objects)), objects)
    objects = [*objects, *cluster.priority_classes().objects]
    now, starts = time_in(cluster, objects), dict[int, PredictedStart | None]()
    asked = frozenset(map(id, works))
    gangs = list(in_cluster(fleet, chosen, objects, asked))
    for scheduler in schedulers(backend, gangs, seen_cluster(fleet, backend, nodes, objects, now)):
        each = forecasted(scheduler, objects, clock(now), asked, effort=OF_WHY)
        if each is not None:
            starts |= {id(work): last_start(each, work) for work in works if work.pool.shard == scheduler.shard}
    return starts


def forecasts_of(
    fleet: Fleet, backend: FleetBackend, nodes: ClusterNodes, objects: Sequence[Mapping[str, Any]], now: datetime
) -> Iterator[Forecasted]:
    """Yields the forecast of each scheduler of a cluster."""
    works = [item for item in fleet.submissions if item.pool.backend == backend]
    gangs = [gang for gang in unplaced(fleet, works) if isinstance(gang, GangToPlace)]
    for scheduler in schedulers(backend, gangs, seen_cluster(fleet, backend, nodes, objects, now)):
        each = forecasted(scheduler, objects, clock(now), effort=OF_REPORT)
        assert each is not None  # all work is shown
        yield each
