"""A submission with its gangs as a figure: a box for the gang, one for each SubGroup, and one for each task."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kubectl_tas.draw.figure import CUT, MOST_DEEP, Box, Figure, Look, folded
from kubectl_tas.draw.picture import Picture
from kubectl_tas.gangs.gang import Gang, Member, Part, SubGroup
from kubectl_tas.report.text import plural


def figure(picture: Picture) -> Figure:
    """Its facts, and the trees of its gangs."""
    item = picture.item
    preemptible = "preemptible" if item.is_preemptible else "non-preemptible"
    facts = (
        ("Pool", item.target),
        ("Queue", item.queue),
        ("Priority", f"{item.priority}, {preemptible}"),
        ("GPUs", str(item.gpus)),
        ("Admission", f"{picture.verdict.outcome}: {picture.verdict.text}"),
        ("Topology", picture.topology or "none"),
        *picture.facts,
    )
    boxes = folded([tree_of(gang) for gang in picture.gangs])
    return Figure(item.kind, item.name, item.declared.origin.path, facts, boxes)


def tree_of(gang: Gang) -> Box:
    """The box of a gang, with those of its SubGroups and tasks."""
    return _part(gang, gang, MOST_DEEP)


def _part(gang: Gang, part: Part, deep: int) -> Box:
    constraint = part.constraint
    is_required = constraint is not None and constraint.required is not None
    is_preferred = constraint is not None and constraint.preferred is not None
    kind = "SubGroup" if isinstance(part, SubGroup) else gang.kind
    below = gang.below(part)
    inside = [*(_part(gang, child, deep - 1) for child in below), *map(_task, part.members)] if deep else []
    gpus = f"with {plural(part.gpus, 'GPU')}" if part.gpus else ""
    pods = "" if part.indices else f"{plural(part.pods, 'pod')} {gpus}".rstrip()
    return Box(
        part.name,
        kind,
        note=f"{_indices(*part.indices)} {gpus}".rstrip() if part.indices else "",
        words=tuple(word for word in (pods, *_words(gang, part), *_cut(part, below, deep)) if word),
        look=Look.REQUIRED if is_required else Look.PREFERRED if is_preferred else Look.PLAIN,
        children=folded(inside),
        count=part.pods,
    )


def _words(gang: Gang, part: Part) -> Iterator[str]:
    if part.minimum is not None and part.minimum != part.pods and not gang.below(part):
        yield f"{part.minimum} needed" if part.minimum else "elastic"
    if part.constraint is not None and part.constraint.required is not None:
        yield f"required in one {part.constraint.required.key} ({part.constraint.required.label})"
    if part.constraint is not None and part.constraint.preferred is not None:
        yield f"preferred in one {part.constraint.preferred.key} ({part.constraint.preferred.label})"


def _cut(part: Part, below: Sequence[Part], deep: int) -> Iterator[str]:
    """What is not drawn of it."""
    if not deep and (below or part.members):
        yield CUT


def _indices(first: int, last: int) -> str:
    return f"pod {first}" if first == last else f"pods {first} to {last}"


def _task(member: Member) -> Box:
    return Box(member.name, words=(plural(member.gpus, "GPU"),), look=Look.ITEM)
