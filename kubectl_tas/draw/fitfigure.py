"""An answer of ``fit`` as a figure: the domains of the topology with what their nodes have, and where the pods go."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

from kubectl_tas.draw import fit as pages
from kubectl_tas.draw.figure import Bar, Box, Figure, Look, folded
from kubectl_tas.gpus import GPU
from kubectl_tas.place.fit import Fit, nodes_of
from kubectl_tas.place.nodes import CPU, Domain, Node, Nodes, domain_of
from kubectl_tas.place.room import multiples
from kubectl_tas.place.shapes import Shape
from kubectl_tas.quantities import ResourceName, said, show
from kubectl_tas.report.text import plural


def figure(answer: Fit, nodes: Nodes) -> Figure:
    """The answer, and the nodes that it was given for."""
    sent = answer.sent
    facts = tuple((name.strip(), text) for name, text in pages.about(answer)[1:])
    return Figure(sent.kind, sent.name, sent.declared.origin.path, facts, _boxes(answer, nodes))


def _boxes(answer: Fit, nodes: Nodes) -> tuple[Box, ...]:
    own = nodes_of(answer.item, nodes)
    inside: dict[Domain | None, list[Node]] = {}
    for node in own:
        inside.setdefault(domain_of(node, answer.item.labels), []).append(node)
    drawing = _Drawing(answer, inside, answer.item.wanted.shapes)
    tops = {domain[:1] for domain in inside if domain is not None}
    boxes = [drawing.domain(tops.pop() if len(tops) == 1 else ())] if tops else []
    if None in inside:
        boxes.append(drawing.outside(inside[None]))
    elsewhere = len(nodes.nodes) - len(own)
    if elsewhere:
        boxes.append(Box("of another shard of the scheduler", words=(plural(elsewhere, "node"),), look=Look.OUT))
    return tuple(boxes)


@dataclass(frozen=True)
class _Drawing:
    """What all boxes are made of."""

    answer: Fit
    inside: dict[Domain | None, list[Node]]
    """The nodes by finest domain; None: outside."""
    shapes: Sequence[Shape]

    def domain(self, domain: Domain) -> Box:
        """A domain with those in it, those that take pods first."""
        levels, depth = self.answer.levels, len(domain)
        kind, name = (levels[depth - 1].key, domain[-1]) if domain else ("", "all nodes")
        known = [found for found in self.inside if found is not None and found[:depth] == domain]
        placed = self._placed(known)
        if depth == len(levels):
            return self._box(Box(name, kind), self.inside[domain], placed)
        below = sorted({found[: depth + 1] for found in known}, key=lambda one: (not self._takes(one), one))
        box = Box(name, kind, children=folded([self.domain(one) for one in below]))
        return self._box(box, [node for found in known for node in self.inside[found]], placed)

    def outside(self, nodes: Sequence[Node]) -> Box:
        """The nodes that lack the label of a level, which a gang with levels cannot use."""
        if not any(unit.is_constrained for unit in self.answer.item.wanted.unit.units):
            return self._box(Box("outside of the topology"), nodes, self._placed([None]))
        lacks = Counter(label for node in nodes for label in self.answer.item.labels if label not in node.labels)
        words = [f"{count} without the label {label}" for label, count in lacks.items()]
        return Box("outside of the topology", words=(plural(len(nodes), "node"), *words), look=Look.OUT)

    def _placed(self, domains: Sequence[Domain | None]) -> dict[str, int]:
        """How many pods of each SubGroup go to finest domains."""
        found = {name: sum(places.get(domain, 0) for domain in domains) for name, places in self.answer.placed.items()}
        return {name: pods for name, pods in found.items() if pods}

    def _takes(self, domain: Domain) -> bool:
        places = (place for found in self.answer.placed.values() for place in found)
        return any(place is not None and place[: len(domain)] == domain for place in places)

    def _box(self, box: Box, nodes: Sequence[Node], placed: dict[str, int]) -> Box:
        """The box with what its nodes have, and what goes there."""
        refusals = [self._refusal(node) for node in nodes]
        usable = [node for node, refusal in zip(nodes, refusals, strict=True) if not refusal]
        reasons = sorted(Counter(filter(None, refusals)).items())
        goes = [] if box.children else [self._goes(name, pods) for name, pods in placed.items()]
        number = plural(len(nodes), "node")
        room = self._room(usable) if usable else ()
        words = (*goes, *room, f"{len(usable)} of {number} can be used" if reasons else number)
        look = Look.CHOSEN if goes else box.look if usable else Look.OUT
        bars = (self._bar(usable, placed),) if usable else ()
        return replace(box, words=(*words, *(f"{count} {reason}" for reason, count in reasons)), look=look, bars=bars)

    def _room(self, nodes: Sequence[Node]) -> tuple[str, ...]:
        """For how many pods nodes have room, where all ask for the same."""
        if len(self.shapes) != 1:
            return ()
        (shape,) = self.shapes
        asks = [amount for _, amount in shape.asks]
        takes = sum(multiples(asks, [node.free.get(name, 0) for name, _ in shape.asks]) for node in nodes)
        return (f"room for {plural(takes, 'pod')}",)

    def _refusal(self, node: Node) -> str:
        """Why no pod may use a node; empty where one may."""
        refusals = [shape.rules.refusal(node) for shape in self.shapes]
        return refusals[0] if refusals and all(refusals) else ""

    def _bar(self, nodes: Sequence[Node], placed: dict[str, int]) -> Bar:
        """What the nodes have of GPUs, or of cpu where no pod asks for a GPU."""
        name: ResourceName = "gpu" if any(dict(shape.asks).get(GPU) for shape in self.shapes) else "cpu"
        resource = GPU if name == "gpu" else CPU
        size = sum(node.allocatable.get(resource, 0) for node in nodes)
        filled = size - sum(node.free.get(resource, 0) for node in nodes)
        each = self._asks(resource)
        added = sum(each.get(unit, 0) * pods for unit, pods in placed.items())
        return Bar(f"{show(name, size - filled)} of {said(name, size)} free", size, filled, added)

    def _goes(self, unit: str, pods: int) -> str:
        gpus = self._asks(GPU).get(unit, 0) * pods
        return f"{unit}: {plural(pods, 'pod')}" + (f", {plural(gpus, 'GPU')}" if gpus else "")

    def _asks(self, resource: str) -> dict[str, int]:
        """What a pod of each SubGroup asks for, where all of its pods ask for the same."""
        found = {}
        for unit in self.answer.item.wanted.unit.units:
            asked = {dict(self.shapes[shape].asks).get(resource, 0) for shape in unit.pods}
            if len(asked) == 1:
                found[unit.name] = asked.pop()
        return found
