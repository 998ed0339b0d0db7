"""Renders pictures, and the segments of pods, as JSON. The shape is a versioned contract."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from kubectl_tas.draw.gangfigure import Picture
from kubectl_tas.gangs.gang import Gang, Part, SubGroup
from kubectl_tas.gangs.workload_gang import PodSegment
from kubectl_tas.report.json import dump
from kubectl_tas.resolve.fleet_workload import FleetWorkload
from kubectl_tas.resolve.topologies import Level

if TYPE_CHECKING:
    from kubectl_tas.report import json_shapes as shapes

VERSION = 1


def render(pictures: Sequence[Picture]) -> str:
    """Renders the facts and gangs as one JSON object; several pictures become a list in one object."""
    found = [_picture(picture) for picture in pictures]
    several: shapes.SeveralExplained = {"version": VERSION, "items": found}
    return dump(found[0] if len(found) == 1 else several)


def pod_segments(index: int, found: Sequence[tuple[FleetWorkload, PodSegment]]) -> str:
    """Renders the segments that contain the pods with ``index``."""
    segments: list[shapes.Segment] = [
        {
            "kind": item.kind,
            "workload": item.name,
            "replicaType": segment.replica_type,
            "segment": segment.segment,
            "indices": list(segment.indices),
            "indexLabel": segment.index_label,
        }
        for item, segment in found
    ]
    answer: shapes.Segments = {"version": VERSION, "podIndex": index, "segments": segments}
    return dump(answer)


def _picture(picture: Picture) -> shapes.Explained:
    item, verdict = picture.item, picture.verdict
    return {
        "version": VERSION,
        "kind": item.kind,
        "workflow": item.name,
        "file": item.declared.origin.path,
        "pool": item.target,
        "backend": item.pool.backend.name,
        "queue": item.queue,
        "priority": item.priority,
        "preemptible": item.is_preemptible,
        "gpus": item.gpus,
        "topology": picture.topology,
        "admission": {
            "outcome": verdict.outcome,
            "rule": verdict.rule.code if verdict.rule else None,
            "message": verdict.text,
            "inQuota": verdict.in_quota.gpu,
            "overQuota": verdict.over_quota.gpu,
            "hint": verdict.hint,
        },
        "podGroups": [_part(gang, gang) for gang in picture.gangs],
        "facts": [{"name": name, "text": text} for name, text in picture.facts],
    }


def _part(gang: Gang, part: Part) -> shapes.Part:
    below = gang.below(part)
    tasks: list[shapes.Part] = [{"kind": "Task", "name": member.name, "gpus": member.gpus} for member in part.members]
    found: shapes.Part = {
        "kind": "SubGroup" if isinstance(part, SubGroup) else gang.kind,
        "name": part.name,
        "pods": part.pods,
        "minMember": None if below else part.minimum,
        "gpus": part.gpus,
        "required": _level(part.constraint.required if part.constraint else None),
        "preferred": _level(part.constraint.preferred if part.constraint else None),
        "children": [*(_part(gang, child) for child in below), *tasks],
    }
    if part.indices:
        found["indices"] = list(part.indices)
    return found


def _level(level: Level | None) -> shapes.Level | None:
    return None if level is None else {"key": level.key, "label": level.label}
