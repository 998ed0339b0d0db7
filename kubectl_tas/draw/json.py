"""A picture as JSON: a versioned contract."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kubectl_tas.draw.picture import Branch, Picture
from kubectl_tas.report.json import dump
from kubectl_tas.resolve.fleet import Level

VERSION = 1


def render(pictures: Sequence[Picture]) -> str:
    """The facts and the trees as one JSON object; of several pictures a list of them."""
    found = [_picture(picture) for picture in pictures]
    return dump(found[0] if len(found) == 1 else {"version": VERSION, "items": found})


def _picture(picture: Picture) -> dict[str, Any]:
    verdict = picture.verdict
    return {
        "version": VERSION,
        "kind": picture.kind,
        "workflow": picture.workflow,
        "file": picture.file,
        "pool": picture.target,
        "backend": picture.backend,
        "queue": picture.queue,
        "priority": picture.priority,
        "preemptible": picture.preemptible,
        "gpus": picture.gpus,
        "topology": picture.topology,
        "admission": {
            "outcome": verdict.outcome,
            "rule": verdict.rule.code if verdict.rule else None,
            "message": verdict.text,
            "inQuota": verdict.in_quota,
            "overQuota": verdict.over_quota,
            "hint": verdict.hint,
        },
        "podGroups": [_branch(group) for group in picture.pod_groups],
        "facts": [{"name": name, "text": text} for name, text in picture.facts],
    }


def _branch(branch: Branch) -> dict[str, Any]:
    if branch.kind == "Task":
        return {"kind": branch.kind, "name": branch.name, "gpus": branch.gpus}
    return {
        "kind": branch.kind,
        "name": branch.name,
        "pods": branch.pods,
        "minMember": branch.minimum,
        "gpus": branch.gpus,
        "required": _level(branch.required),
        "preferred": _level(branch.preferred),
        "children": [_branch(child) for child in branch.branches],
        **({"indices": list(branch.indices)} if branch.indices else {}),
    }


def _level(level: Level | None) -> dict[str, str] | None:
    return None if level is None else {"key": level.key, "label": level.label}
