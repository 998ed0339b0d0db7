"""Renders the impact of a change as JSON. The shape is a versioned contract."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kubectl_tas.compare.impact import Impact, QueueState, WorkState
from kubectl_tas.quantities import Amounts, as_data
from kubectl_tas.report import json
from kubectl_tas.resolve.topologies import Level

if TYPE_CHECKING:
    from kubectl_tas.report import json_shapes as shapes

VERSION = 1
"""Version of the format. It rises when a field changes its meaning or disappears; new fields may appear at any time."""


def render(impact: Impact) -> str:
    """Renders one JSON object. ``before`` of a created thing is null, and so is ``after`` of a dropped thing."""
    risk, reasons = impact.risk
    found: shapes.Impact = {
        "version": VERSION,
        "base": impact.revision,
        "risk": {"level": risk, "reasons": list(reasons)},
        "settings": [{"setting": item.path, "before": item.before, "after": item.after} for item in impact.settings],
        "beside": [{"path": item.path, "change": item.kind, "why": item.effect} for item in impact.beside],
        "queues": [
            {
                "cluster": item.backend,
                "queue": item.name,
                "change": item.kind,
                "before": _queue(item.before),
                "after": _queue(item.after),
            }
            for item in impact.queues
        ],
        "subpools": [{"subpool": item.name, "before": item.before, "after": item.after} for item in impact.subpools],
        "topologies": [
            {
                "topology": item.name,
                "change": item.kind,
                "before": _levels(item.before),
                "after": _levels(item.after),
            }
            for item in impact.topologies
        ],
        "work": [
            {
                "cluster": item.backend,
                "kind": item.work_kind,
                "name": item.name,
                "change": item.kind,
                "before": _work(item.before),
                "after": _work(item.after),
            }
            for item in impact.work
        ],
        "restarts": [
            {"kind": item.kind, "before": item.name, "after": item.successor, "why": item.why}
            for item in impact.restarts
        ],
        "guard": {
            "before": impact.guard[0] if impact.guard else None,
            "after": impact.guard[1] if impact.guard else None,
            "rules": [{"rule": item.code, "before": item.before, "after": item.after} for item in impact.rules],
            "policies": [
                {"cluster": item.backend, "policy": item.name, "change": item.kind, "what": list(item.what)}
                for item in impact.policies
            ],
        },
        "objects": [
            {"kind": item.kind, "made": item.made, "changed": item.changed, "dropped": item.dropped}
            for item in impact.objects
        ],
        "diagnostics": [json.record(item) for item in impact.findings],
        "notCompared": list(impact.unread),
    }
    return json.dump(found)


def _queue(state: QueueState | None) -> shapes.QueueState | None:
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


def _amounts(amounts: Amounts) -> shapes.Capacity:
    """Returns GPUs as a number, and cpu and memory as Kubernetes quantities. Null means: no limit."""
    return {
        "gpu": as_data("gpu", amounts.gpu),
        "cpu": as_data("cpu", amounts.cpu),
        "memory": as_data("memory", amounts.memory),
    }


def _work(state: WorkState | None) -> shapes.WorkState | None:
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


def _levels(levels: tuple[Level, ...] | None) -> list[shapes.Level] | None:
    return None if levels is None else [{"key": level.key, "label": level.label} for level in levels]
