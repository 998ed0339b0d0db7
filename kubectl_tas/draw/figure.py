"""Holds the model of a picture before it has a format: nested boxes with words and bars. Equal boxes are folded."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from enum import Enum

from kubectl_tas.base.late import dataclass
from kubectl_tas.facts.quantities import Amount

Facts = tuple[tuple[str, str], ...]
"""Pairs of a name and a text."""
ALL_SHOWN = 8
"""Maximum number of equal sibling boxes that are all shown. Of more, only the first FIRST_SHOWN are shown."""
FIRST_SHOWN = 3
"""Equal sibling boxes that are shown when there are more than ALL_SHOWN."""
MOST_DEEP = 20
"""Maximum depth of nested boxes that are drawn, of SubGroups or of pools. Real input hardly ever nests so deep."""
CUT = "with more in it"
"""Words on the innermost drawn box if more boxes are nested in it."""
MOST_BESIDE = 60
"""Maximum number of sibling boxes that are drawn."""


class BoxLook(Enum):
    """The visual style of a box. The words of the box say the same."""

    PLAIN = "plain"
    REQUIRED = "required"
    """The pods of the box must share a domain."""
    PREFERRED = "preferred"
    """The pods of the box share a domain if possible."""
    CHOSEN = "chosen"
    """A domain that takes pods."""
    OUT = "out"
    """A box that takes no pods or no new work."""
    ITEM = "item"
    """One pod, or one piece of work."""
    MORE = "more"
    """A box that replaces folded boxes."""


SMALL = (BoxLook.ITEM, BoxLook.MORE)
"""The looks whose boxes are only as large as their content."""


@dataclass(frozen=True, slots=True)
class Bar:
    """A bar that compares an amount with the whole."""

    text: str
    """The same facts as the bar, in words."""
    size: Amount
    """The whole: a quota, or the resources of nodes."""
    filled: Amount = 0
    """The amount in use; may be more than ``size``."""
    added: Amount = 0
    """The amount that would be used in addition."""

    def part(self, amount: Amount) -> float:
        """Returns the length of an amount as a fraction of the whole bar, from 0 to 1."""
        whole = max(self.size, self.filled + self.added)
        return float(max(0, amount) / whole) if whole > 0 else 0.0


@dataclass(frozen=True, slots=True)
class Box:
    """One part of a picture."""

    name: str
    kind: str = ""
    """The kind of the thing, shown before the name."""
    note: str = ""
    """Words about this box alone, shown after the name. Boxes that differ only in name and note count as equal."""
    words: tuple[str, ...] = ()
    """One line each."""
    look: BoxLook = BoxLook.PLAIN
    bars: tuple[Bar, ...] = ()
    children: tuple[Box, ...] = ()
    count: int = 1
    """The number of pods, or of folded boxes, that the box represents."""

    @property
    def title(self) -> str:
        """The kind and the name."""
        return f"{self.kind} {self.name}".lstrip()

    @property
    def lines(self) -> tuple[str, ...]:
        """The note, then the words."""
        return (self.note, *self.words) if self.note else self.words

    @property
    def all(self) -> Iterator[Box]:
        """The box itself and all boxes in it; each box comes before the boxes inside it."""
        yield self
        for child in self.children:
            yield from child.all


@dataclass(frozen=True, slots=True)
class Figure:
    """A picture of one thing."""

    kind: str
    """The kind of the thing."""
    name: str
    file: str
    """Path of the file that declares the thing."""
    facts: Facts
    boxes: tuple[Box, ...]

    @property
    def title(self) -> str:
        """The kind and the name."""
        return f"{self.kind} {self.name}"

    @property
    def all(self) -> Iterator[Box]:
        """All boxes of the figure."""
        for box in self.boxes:
            yield from box.all


def folded(boxes: Sequence[Box]) -> tuple[Box, ...]:
    """Returns the boxes with only the first few of many equal ones, and a box that counts the rest."""
    shapes = [_shape(box) for box in boxes]
    counts = Counter(shapes)
    last = dict(zip(shapes, boxes, strict=True))
    shown_by_shape: dict[object, list[Box]] = {}
    drawn: list[Box] = []
    for shape, box in zip(shapes, boxes, strict=True):
        shown = shown_by_shape.setdefault(shape, [])
        if counts[shape] <= ALL_SHOWN or len(shown) < FIRST_SHOWN:
            drawn.append(box)
        elif len(shown) == FIRST_SHOWN:
            hidden = counts[shape] - FIRST_SHOWN
            drawn.append(_more(hidden, f"like {shown[-1].name}", f"the last is {last[shape].name}"))
        shown.append(box)
    if len(drawn) > MOST_BESIDE:
        cut = drawn[MOST_BESIDE - 1 :]
        hidden = sum(box.count if box.look is BoxLook.MORE else 1 for box in cut)
        drawn = [*drawn[: MOST_BESIDE - 1], _more(hidden, "", "")]
    return tuple(drawn)


def rooted(figure: Figure) -> Box:
    """Returns one box that has the facts as words and contains all boxes of the figure."""
    words = tuple(f"{name}: {text}" for name, text in figure.facts)
    return Box(figure.name, figure.kind, words=words, look=BoxLook.ITEM, children=figure.boxes)


def within(box: Box, most: int) -> Box:
    """Limits a box to ``most`` boxes inside it. Whole layers are kept while they fit."""
    depth, wide = 1, box.children
    number = len(wide)
    while wide and number <= most:
        wide = tuple(child for parent in wide for child in parent.children)
        number, depth = number + len(wide), depth + 1
    return _cut(box, depth) if wide else box


def _cut(box: Box, depth: int) -> Box:
    """Keeps the boxes down to a depth, and counts the boxes that were removed."""
    if depth > 1:
        return replace(box, children=tuple(_cut(child, depth - 1) for child in box.children))
    inside = sum(1 for _ in box.all) - 1
    return replace(box, words=(*box.words, f"with {inside} more in it"), children=()) if inside else box


def _more(count: int, like: str, note: str) -> Box:
    return Box(f"and {count} more {like}".rstrip(), note=note, look=BoxLook.MORE, count=count)


def _shape(box: Box) -> object:
    """Returns the attributes that equal boxes have in common."""
    name = box.name if box.look is BoxLook.MORE else ""
    return box.kind, name, box.words, box.look, box.bars, box.count, tuple(map(_shape, box.children))
