"""Renders the impact of a change as JSON. The shape is a versioned contract."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kubectl_tas.compare.impact import Impact, QueueState, WorkState
from kubectl_tas.facts.quantities import Amounts, as_data
from kubectl_tas.report import json
from kubectl_tas.resolve.topologies import Level

if TYPE_CHECKING:
    from kubectl_tas.report import json_shapes as shapes

VERSION = 1
"""Version of the format. It rises when a field changes its meaning or disappears; new fields may appear at any time."""


def render(impact: Impact) -> str:
    """Renders one JSON object. ``before`` of a created thing is null, and so is ``after`` of a dropped thing."""
    risk, reasons = impact.risk
    record: shapes.ImpactJson = {
        "version": VERSION,
        "base": impact.revision,
        "risk": {"level": risk, "reasons": list(reasons)},
        "settings": [
            {"setting": setting.path, "before": setting.before, "after": setting.after} for setting in impact.settings
        ],
        "beside": [{"path": file.path, "change": file.kind, "why": file.effect} for file in impact.beside],
        "queues": [
            {
                "cluster": queue.backend,
                "queue": queue.name,
                "change": queue.kind,
                "before": _queue(queue.before),
                "after": _queue(queue.after),
            }
            for queue in impact.queues
        ],
        "subpools": [
            {"subpool": subpool.name, "before": subpool.before, "after": subpool.after} for subpool in impact.subpools
        ],
        "topologies": [
            {
                "topology": topology.name,
                "change": topology.kind,
                "before": _levels(topology.before),
                "after": _levels(topology.after),
            }
            for topology in impact.topologies
        ],
        "work": [
            {
                "cluster": work.backend,
                "kind": work.work_kind,
                "name": work.name,
                "change": work.kind,
                "before": _work(work.before),
                "after": _work(work.after),
            }
            for work in impact.work
        ],
        "restarts": [
            {"kind": restart.kind, "before": restart.name, "after": restart.successor, "why": restart.reason}
            for restart in impact.restarts
        ],
        "guard": {
            "before": impact.guard[0] if impact.guard else None,
            "after": impact.guard[1] if impact.guard else None,
            "rules": [{"rule": rule.code, "before": rule.before, "after": rule.after} for rule in impact.rules],
            "policies": [
                {
                    "cluster": policy.backend,
                    "policy": policy.name,
                    "change": policy.kind,
                    "what": list(policy.changed_parts),
                }
                for policy in impact.policies
            ],
        },
        "objects": [
            {"kind": counts.kind, "made": counts.made, "changed": counts.changed, "dropped": counts.dropped}
            for counts in impact.objects
        ],
        "diagnostics": [json.record(finding) for finding in impact.findings],
        "notCompared": list(impact.unread),
    }
    return json.dump(record)


def _queue(state: QueueState | None) -> shapes.QueueStateJson | None:
    if state is None:
        return None
    return {
        "of": state.target,
        "container": state.is_container,
        "parent": state.parent,
        "quota": _amounts(state.quota),
        "limit": _amounts(state.limit),
        "weight": {"gpu": state.weight.gpu, "cpu": state.weight.cpu, "memory": state.weight.memory},
        "priority": state.priority,
        "labels": dict(state.labels),
        "annotations": dict(state.annotations),
    }


def _amounts(amounts: Amounts) -> shapes.CapacityJson:
    """Returns GPUs as a number, and cpu and memory as Kubernetes quantities. Null means: no limit."""
    return {
        "gpu": as_data("gpu", amounts.gpu),
        "cpu": as_data("cpu", amounts.cpu),
        "memory": as_data("memory", amounts.memory),
    }


def _work(state: WorkState | None) -> shapes.WorkStateJson | None:
    if state is None:
        return None
    return {
        "pool": state.target,
        "queue": state.queue,
        "priority": state.priority,
        "asks": _amounts(state.asks),
        "verdict": state.verdict.outcome,
        "rule": state.verdict.rule.code if state.verdict.rule else None,
        "message": state.verdict.text,
    }


def _levels(levels: tuple[Level, ...] | None) -> list[shapes.LevelJson] | None:
    return None if levels is None else [{"key": level.key, "label": level.label} for level in levels]
