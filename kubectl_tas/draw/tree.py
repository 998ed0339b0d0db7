"""Pictures as trees for terminals; the segments of pods in words."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kubectl_tas.compile.podgroups import indices
from kubectl_tas.draw.picture import Picture
from kubectl_tas.gangs.gang import Gang, Part, SubGroup
from kubectl_tas.gangs.workload import PodSegment
from kubectl_tas.report import table
from kubectl_tas.report.style import printable
from kubectl_tas.report.text import plural
from kubectl_tas.resolve.workload import FleetWorkload


def render(pictures: Sequence[Picture]) -> str:
    """Of each picture the facts, then a tree for each gang."""
    return "\n".join(map(_picture, pictures))


def pod_segments(index: int, found: Sequence[tuple[FleetWorkload, PodSegment]]) -> str:
    """The segments that the pods with ``index`` are in, a line each."""
    return "".join(
        f"{item.name}: pod {index} of {segment.replica_type} is in segment {segment.segment}, "
        f"{'pod' if segment.indices[0] == segment.indices[1] else 'pods'} {indices(segment.indices)} "
        f"({segment.index_label})\n"
        for item, segment in found
    )


def _picture(picture: Picture) -> str:
    item = picture.item
    preemptible = "preemptible" if item.is_preemptible else "non-preemptible"
    facts = [
        (item.kind, f"{item.name} ({item.declared.origin.path})"),
        ("Pool", item.target),
        ("Queue", item.queue),
        ("Priority", f"{item.priority}, {preemptible}"),
        ("GPUs", str(item.gpus)),
        ("Admission", f"{picture.verdict.outcome}: {picture.verdict.text}"),
        ("Topology", picture.topology or "none"),
        *picture.facts,
    ]
    trees = ["\n".join(map(printable, [_title(gang, gang), *_below(gang, gang, "")])) + "\n" for gang in picture.gangs]
    return "\n".join([table.pairs(facts), *trees])


def _below(gang: Gang, part: Part, indent: str) -> Iterator[str]:
    """The lines of all that is below a part: its SubGroups, or its tasks."""
    children: list[tuple[str, Part | None]] = [(_title(gang, child), child) for child in gang.below(part)]
    children += [(f"{member.name} ({plural(member.gpus, 'GPU')})", None) for member in part.members]
    for index, (title, child) in enumerate(children):
        is_last = index == len(children) - 1
        yield f"{indent}{'└─ ' if is_last else '├─ '}{title}"
        if child is not None:
            yield from _below(gang, child, indent + ("   " if is_last else "│  "))


def _title(gang: Gang, part: Part) -> str:
    kind = "SubGroup" if isinstance(part, SubGroup) else gang.kind
    words = [f"{kind} {part.name}: {_pods(part)}"]
    if part.minimum is not None and part.minimum != part.pods and not gang.below(part):
        words.append(f"{part.minimum} needed" if part.minimum else "elastic")
    required, preferred = (part.constraint.required, part.constraint.preferred) if part.constraint else (None, None)
    if required is not None:
        words.append(f"required in one {required.key} ({required.label})")
    if preferred is not None:
        words.append(f"preferred in one {preferred.key} ({preferred.label})")
    return ", ".join(words)


def _pods(part: Part) -> str:
    if part.indices is None:
        return plural(part.pods, "pod")
    first, last = part.indices
    return f"pod {first}" if first == last else f"pods {first} to {last}"
