"""Draws an answer of ``fit`` as a figure: the domains of the topology, their free resources, and where the pods go."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property

from kubectl_tas.base.late import dataclass
from kubectl_tas.draw import fitpages as pages
from kubectl_tas.draw.figure import ALL_SHOWN, FIRST_SHOWN, Bar, Box, BoxLook, Figure, folded
from kubectl_tas.facts.gpus import GPU
from kubectl_tas.facts.quantities import ResourceName, said, show
from kubectl_tas.place.answers import Fit, nodes_of
from kubectl_tas.place.node_cells import multiples
from kubectl_tas.place.node_resources import CPU, ClusterNodes, Domain, NodeResources, domain_of
from kubectl_tas.place.shapes import PodShape
from kubectl_tas.report.text import plural


def figure(answer: Fit, nodes: ClusterNodes, node_options: str) -> Figure:
    """Draws the answer on the nodes that it was computed for. ``node_options`` names the source of the nodes."""
    sent = answer.sent
    facts = tuple((name.strip(), text) for name, text in pages.about(answer, node_options)[1:])
    return Figure(sent.kind, sent.name, sent.declared.origin.path, facts, _boxes(answer, nodes))


def _boxes(answer: Fit, nodes: ClusterNodes) -> tuple[Box, ...]:
    usable = nodes_of(answer.to_place, nodes)
    within: dict[Domain, list[NodeResources]] = {}
    outside: list[NodeResources] = []
    for node in usable:
        domain = domain_of(node, answer.to_place.labels)
        (outside if domain is None else within.setdefault(domain, [])).append(node)
    drawing = _Drawing(answer, answer.to_place.request.shapes)
    tops = {domain[:1] for domain in within}
    boxes = [drawing.domain(tops.pop() if len(tops) == 1 else (), within)] if tops else []
    if outside:
        boxes.append(drawing.outside(outside))
    elsewhere = len(nodes.nodes) - len(usable)
    if elsewhere:
        boxes.append(Box("of another shard of the scheduler", words=(plural(elsewhere, "node"),), look=BoxLook.OUT))
    return tuple(boxes)


@dataclass(frozen=True)
class _Drawing:
    """Draws boxes from one answer and the shapes of its pods."""

    answer: Fit
    shapes: Sequence[PodShape]

    def domain(self, domain: Domain, inside: Mapping[Domain, Sequence[NodeResources]]) -> Box:
        """Draws a domain and the domains in it, those with pods first. ``inside`` maps finest domains to nodes. A
        domain without pods is drawn closed if pods go elsewhere.
        """
        levels, depth = self.answer.levels, len(domain)
        kind = "".join(pages.level_words(levels[depth - 1].key, domain)) if domain else ""
        name = domain[-1] if domain else "all nodes"
        below: dict[Domain, dict[Domain, Sequence[NodeResources]]] = {}
        is_closed = depth == len(levels) or (self._taken and domain not in self._taken)
        for finest, nodes in () if is_closed else inside.items():
            below.setdefault(finest[: depth + 1], {})[finest] = nodes
        box = Box(name, kind, children=tuple(self._inside(below)))
        return self._box(box, [node for nodes in inside.values() for node in nodes], self._placed(inside))

    def _inside(self, below: Mapping[Domain, Mapping[Domain, Sequence[NodeResources]]]) -> Iterator[Box]:
        """Draws the domains in another one, those with pods first, and only a few of many different domains without
        pods. ``below`` maps each domain to its nodes by finest domain.
        """
        taken = [domain for domain in sorted(below) if domain in self._taken]
        empty = [domain for domain in sorted(below) if domain not in self._taken]
        boxes = folded([self.domain(domain, below[domain]) for domain in (*taken, *empty)])
        if len(boxes) <= len(taken) + ALL_SHOWN:
            yield from boxes
            return
        hidden = empty[FIRST_SHOWN:]
        yield from (self.domain(domain, below[domain]) for domain in (*taken, *empty[:FIRST_SHOWN]))
        nodes = [
            node
            for hidden_domain in hidden
            for nodes_of_domain in below[hidden_domain].values()
            for node in nodes_of_domain
        ]
        yield self._box(Box(f"and {len(hidden)} more", look=BoxLook.MORE, count=len(hidden)), nodes, {})

    def outside(self, nodes: Sequence[NodeResources]) -> Box:
        """Draws the nodes that lack the label of a level. A gang with levels cannot use them."""
        if not any(unit.is_constrained for unit in self.answer.to_place.request.unit.units):
            return self._box(Box("outside of the topology"), nodes, self._placed([None]))
        lacks = Counter(label for node in nodes for label in self.answer.to_place.labels if label not in node.labels)
        words = [f"{count} without the label {label}" for label, count in lacks.items()]
        return Box("outside of the topology", words=(plural(len(nodes), "node"), *words), look=BoxLook.OUT)

    @cached_property
    def _taken(self) -> set[Domain]:
        """All domains that take pods."""
        domains = (domain for counts in self.answer.placed.values() for domain in counts if domain is not None)
        return {domain[:depth] for domain in domains for depth in range(len(domain) + 1)}

    def _placed(self, domains: Collection[Domain | None]) -> dict[str, int]:
        """Returns how many pods of each SubGroup go to the given finest domains."""
        pods_by_unit = {
            name: sum(pods for domain, pods in places.items() if domain in domains)
            for name, places in self.answer.placed.items()
        }
        return {name: pods for name, pods in pods_by_unit.items() if pods}

    def _box(self, box: Box, nodes: Sequence[NodeResources], placed: dict[str, int]) -> Box:
        """Adds to a box the resources of its nodes and the pods that go there."""
        refusals = [self._refusal(node) for node in nodes]
        usable = [node for node, refusal in zip(nodes, refusals, strict=True) if not refusal]
        reasons = sorted(Counter(filter(None, refusals)).items())
        goes = [] if box.children else [self._goes(name, pods) for name, pods in placed.items()]
        number = plural(len(nodes), "node")
        room = self._room(usable) if usable else ()
        words = (*goes, *room, f"{len(usable)} of {number} can be used" if reasons else number)
        look = BoxLook.CHOSEN if goes else box.look if usable else BoxLook.OUT
        bars = (self._bar(usable, placed),) if usable else ()
        return replace(box, words=(*words, *(f"{count} {reason}" for reason, count in reasons)), look=look, bars=bars)

    def _room(self, nodes: Sequence[NodeResources]) -> tuple[str, ...]:
        """Says how many pods the nodes have room for; says nothing if the pods ask for different amounts."""
        if len(self.shapes) != 1:
            return ()
        (shape,) = self.shapes
        asks = [amount for _, amount in shape.asks]
        takes = sum(multiples(asks, [node.free.get(name, 0) for name, _ in shape.asks]) for node in nodes)
        return (f"room for {plural(takes, 'pod')}",)

    def _refusal(self, node: NodeResources) -> str:
        """Returns why no pod may use a node; empty if a pod may."""
        refusals = [shape.rules.refusal(node) for shape in self.shapes]
        return refusals[0] if refusals and all(refusals) else ""

    def _bar(self, nodes: Sequence[NodeResources], placed: dict[str, int]) -> Bar:
        """Returns the bar of the nodes' GPUs, or of their cpu if no pod asks for a GPU."""
        name: ResourceName = "gpu" if any(dict(shape.asks).get(GPU) for shape in self.shapes) else "cpu"
        resource = GPU if name == "gpu" else CPU
        size = sum(node.allocatable.get(resource, 0) for node in nodes)
        filled = size - sum(node.free.get(resource, 0) for node in nodes)
        added = sum(self._asked(unit, pods, resource) for unit, pods in placed.items())
        return Bar(f"{show(name, size - filled)} of {said(name, size)} free", size, filled, added)

    def _goes(self, unit: str, pods: int) -> str:
        gpus = self._asked(unit, pods, GPU)
        return f"{unit}: {plural(pods, 'pod')}" + (f", {plural(gpus, 'GPU')}" if gpus else "")

    @cached_property
    def _pods(self) -> dict[str, list[PodShape]]:
        """The pods of each SubGroup in one copy of the gang."""
        return {
            unit.name: [self.shapes[index] for index in unit.pods] for unit in self.answer.to_place.request.unit.units
        }

    def _asked(self, unit: str, pods: int, resource: str) -> int:
        """Returns what this many pods of a SubGroup ask for; 0 if the amount depends on which pods they are."""
        each = [dict(shape.asks).get(resource, 0) for shape in self._pods[unit]]
        is_known = len(set(each)) == 1 or pods == len(each) * self.answer.copies
        return sum(each) * pods // len(each) if is_known else 0
