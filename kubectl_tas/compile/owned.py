"""Workloads whose labels ask for it in; the PodGroups that the tool writes for them, alone or as one gang, out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kubectl_tas.compile.gangs import Part, gang_of, joint_gang
from kubectl_tas.compile.gangspec import gang_spec
from kubectl_tas.compile.metadata import POOL, QUEUE, metadata
from kubectl_tas.compile.workloads import FOLDER
from kubectl_tas.model.artifact import Artifact, Phase
from kubectl_tas.model.manifest import PodGroup
from kubectl_tas.resolve.fleet import Fleet
from kubectl_tas.resolve.workload import FleetWorkload, JointGang


def compile_owned(fleet: Fleet) -> Iterator[Artifact]:
    """One PodGroup for each workload that owns one, and for each gang of several."""
    owned = [item for item in fleet.workloads if item.is_owned and item.pool.backend.is_kai]
    for workload in owned:
        if workload.gang is None:
            yield _pod_group(fleet, [workload], gang_of(workload))
    gangs: dict[JointGang, list[FleetWorkload]] = {}
    for workload in owned:
        if workload.joint is not None:
            gangs.setdefault(workload.joint, []).append(workload)
    for joint, members in gangs.items():
        yield _pod_group(fleet, members, joint_gang(joint.name, members))


def _pod_group(fleet: Fleet, members: Sequence[FleetWorkload], gang: Part) -> Artifact:
    """Queue and priority are those of the first member; all have the same."""
    workload = members[0]
    backend = workload.pool.backend
    manifest = PodGroup(
        metadata=metadata(
            fleet,
            gang.name,
            Phase.POD_GROUP,
            namespace=backend.namespace,
            labels={QUEUE: workload.queue, POOL: workload.target},
        ),
        spec=gang_spec(fleet, workload, gang, preemptibility=True),
    )
    source = " and ".join(dict.fromkeys(member.declared.origin.path for member in members))
    return Artifact(backend.name, Phase.POD_GROUP, FOLDER, f"podgroup-{gang.name}.yaml", manifest, source)
