"""Pictures before they have a format: boxes in boxes with words and bars, of which those that are alike are folded."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from enum import Enum

from kubectl_tas.quantities import Amount
from kubectl_tas.records import dataclass

Facts = tuple[tuple[str, str], ...]
"""A name and a text each."""
ALL_SHOWN = 8
"""Boxes beside each other that are alike, and are all shown; of more than these only the first few."""
FIRST_SHOWN = 3
"""How many of them."""
MOST_DEEP = 20
"""Boxes within each other that are drawn, of SubGroups or of pools; there are hardly ever so many."""
CUT = "with more in it"
"""What is said of the innermost, where there are more."""
MOST_BESIDE = 60
"""Boxes beside each other, at most."""


class Look(Enum):
    """What a box shows besides its words, which say the same."""

    PLAIN = "plain"
    REQUIRED = "required"
    """Its pods must share a domain."""
    PREFERRED = "preferred"
    """Its pods share a domain if possible."""
    CHOSEN = "chosen"
    """A domain that takes pods."""
    OUT = "out"
    """What takes nothing."""
    ITEM = "item"
    """One pod, or one piece of work."""
    MORE = "more"
    """What is folded."""


SMALL = (Look.ITEM, Look.MORE)
"""Boxes that are no larger than they must be."""


@dataclass(frozen=True, slots=True)
class Bar:
    """An amount beside what there is of it."""

    text: str
    """All that it shows."""
    size: Amount
    """What there is: a quota, or what nodes have."""
    filled: Amount = 0
    """What of it is taken; may be more."""
    added: Amount = 0
    """What would be taken besides."""

    def part(self, amount: Amount) -> float:
        """How much of the whole bar an amount is, from 0 to 1."""
        whole = max(self.size, self.filled + self.added)
        return float(max(0, amount) / whole) if whole > 0 else 0.0


@dataclass(frozen=True, slots=True)
class Box:
    """One part of a picture."""

    name: str
    kind: str = ""
    """What it is, in front of its name."""
    note: str = ""
    """What it alone is, beside its name: boxes that differ in no more than these are alike."""
    words: tuple[str, ...] = ()
    """A line each."""
    look: Look = Look.PLAIN
    bars: tuple[Bar, ...] = ()
    children: tuple[Box, ...] = ()
    count: int = 1
    """How many pods, or folded boxes, it stands for."""

    @property
    def title(self) -> str:
        """The kind and the name."""
        return f"{self.kind} {self.name}".lstrip()

    @property
    def lines(self) -> tuple[str, ...]:
        """The words, the note first."""
        return (self.note, *self.words) if self.note else self.words

    @property
    def all(self) -> Iterator[Box]:
        """Itself and all in it, each before those in it."""
        yield self
        for child in self.children:
            yield from child.all


@dataclass(frozen=True, slots=True)
class Figure:
    """A picture of one thing."""

    kind: str
    """Of the thing."""
    name: str
    file: str
    """Where it is declared."""
    facts: Facts
    boxes: tuple[Box, ...]

    @property
    def title(self) -> str:
        """The kind and the name."""
        return f"{self.kind} {self.name}"

    @property
    def all(self) -> Iterator[Box]:
        """All boxes."""
        for box in self.boxes:
            yield from box.all


def folded(boxes: Sequence[Box]) -> tuple[Box, ...]:
    """The boxes, the first of those that are alike, and how many more there are."""
    shapes = [_shape(box) for box in boxes]
    counts = Counter(shapes)
    last = dict(zip(shapes, boxes, strict=True))
    first: dict[object, list[Box]] = {}
    found: list[Box] = []
    for shape, box in zip(shapes, boxes, strict=True):
        shown = first.setdefault(shape, [])
        if counts[shape] <= ALL_SHOWN or len(shown) < FIRST_SHOWN:
            found.append(box)
        elif len(shown) == FIRST_SHOWN:
            rest = counts[shape] - FIRST_SHOWN
            found.append(_more(rest, f"like {shown[-1].name}", f"the last is {last[shape].name}"))
        shown.append(box)
    if len(found) > MOST_BESIDE:
        cut = found[MOST_BESIDE - 1 :]
        rest = sum(box.count if box.look is Look.MORE else 1 for box in cut)
        found = [*found[: MOST_BESIDE - 1], _more(rest, "", "")]
    return tuple(found)


def rooted(figure: Figure) -> Box:
    """One box with the facts, which holds all others."""
    words = tuple(f"{name}: {text}" for name, text in figure.facts)
    return Box(figure.name, figure.kind, words=words, look=Look.ITEM, children=figure.boxes)


def within(box: Box, most: int) -> Box:
    """The box with no more boxes in it than that, as deep as there is room for all of one depth, and once at least."""
    depth, wide = 1, box.children
    number = len(wide)
    while wide and number <= most:
        wide = tuple(child for item in wide for child in item.children)
        number, depth = number + len(wide), depth + 1
    return _cut(box, depth) if wide else box


def _cut(box: Box, depth: int) -> Box:
    """The box with those in it down to that depth; what is left out is counted."""
    if depth > 1:
        return replace(box, children=tuple(_cut(child, depth - 1) for child in box.children))
    inside = sum(1 for _ in box.all) - 1
    return replace(box, words=(*box.words, f"with {inside} more in it"), children=()) if inside else box


def _more(count: int, like: str, note: str) -> Box:
    return Box(f"and {count} more {like}".rstrip(), note=note, look=Look.MORE, count=count)


def _shape(box: Box) -> object:
    """What is the same of boxes that are alike."""
    name = box.name if box.look is Look.MORE else ""
    return box.kind, name, box.words, box.look, box.bars, box.count, tuple(map(_shape, box.children))
