"""A picture as a tree for terminals."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kubectl_tas.draw.picture import Branch, Picture
from kubectl_tas.report import table
from kubectl_tas.report.style import printable
from kubectl_tas.report.text import plural


def render(pictures: Sequence[Picture]) -> str:
    """Of each picture the facts, then a tree for each PodGroup."""
    return "\n".join(map(_picture, pictures))


def _picture(picture: Picture) -> str:
    preemptible = "preemptible" if picture.preemptible else "non-preemptible"
    facts = [
        (picture.kind, f"{picture.workflow} ({picture.file})"),
        ("Pool", picture.target),
        ("Queue", picture.queue),
        ("Priority", f"{picture.priority}, {preemptible}"),
        ("GPUs", str(picture.gpus)),
        ("Admission", f"{picture.verdict.outcome}: {picture.verdict.text}"),
        ("Topology", picture.topology or "none"),
        *picture.facts,
    ]
    trees = [
        "\n".join(map(printable, [_title(group), *_below(group.branches, "")])) + "\n" for group in picture.pod_groups
    ]
    return "\n".join([table.pairs(facts), *trees])


def _below(branches: Sequence[Branch], indent: str) -> Iterator[str]:
    for index, branch in enumerate(branches):
        last = index == len(branches) - 1
        yield f"{indent}{'└─ ' if last else '├─ '}{_title(branch)}"
        yield from _below(branch.branches, indent + ("   " if last else "│  "))


def _title(branch: Branch) -> str:
    if branch.kind == "Task":
        return f"{branch.name} ({plural(branch.gpus, 'GPU')})"
    words = [f"{branch.kind} {branch.name}: {_pods(branch)}"]
    if branch.minimum is not None and branch.minimum != branch.pods:
        words.append(f"{branch.minimum} needed" if branch.minimum else "elastic")
    if branch.required is not None:
        words.append(f"required in one {branch.required.key} ({branch.required.label})")
    if branch.preferred is not None:
        words.append(f"preferred in one {branch.preferred.key} ({branch.preferred.label})")
    return ", ".join(words)


def _pods(branch: Branch) -> str:
    if branch.indices is None:
        return plural(branch.pods, "pod")
    first, last = branch.indices
    return f"pod {first}" if first == last else f"pods {first} to {last}"
