"""Workloads in; the same, those of one gang knowing each other and what each one's SubGroups are called, out."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from kubectl_tas.resolve import names
from kubectl_tas.resolve.workload import FleetWorkload, JointGang


def join_gangs(workloads: Sequence[FleetWorkload]) -> tuple[FleetWorkload, ...]:
    """The workloads in their order; a gang is one of its cluster."""
    members: dict[tuple[str, str], list[FleetWorkload]] = {}
    for workload in workloads:
        if workload.gang is not None:
            members.setdefault(_key(workload), []).append(workload)
    gangs = {key: JointGang(key[1], tuple(own), _names(own)) for key, own in members.items()}
    return tuple(replace(item, joint=gangs[_key(item)]) if item.gang is not None else item for item in workloads)


def _key(workload: FleetWorkload) -> tuple[str, str]:
    return workload.pool.backend.name, workload.gang or ""


def _names(workloads: Iterable[FleetWorkload]) -> dict[tuple[str, str], str]:
    """A workload's SubGroup is called like its files; those of its replica types begin with that name."""
    keys: list[tuple[str, str]] = []
    wanted: list[tuple[str, str]] = []
    for workload in workloads:
        own = names.as_label(workload.file_name)
        types = [item.type.name for item in workload.replicas] if workload.has_sub_groups else []
        keys += [(workload.file_name, ""), *((workload.file_name, name) for name in types)]
        wanted.append((workload.file_name, own))
        wanted += [(f"{workload.file_name}/{name}", names.as_label(f"{own}-{name}")) for name in types]
    return dict(zip(keys, names.distinct(wanted), strict=True))
