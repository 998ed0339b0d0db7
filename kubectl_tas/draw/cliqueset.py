"""A PodCliqueSet in; its picture, with a tree for each gang of every replica, out."""

from __future__ import annotations

from kubectl_tas.compile.grove import Gang, Member, Part, gangs
from kubectl_tas.draw.picture import Branch, Picture, picture_of
from kubectl_tas.model.grove import PackConstraint
from kubectl_tas.resolve.cliqueset import MAX_PREVIEWED, FleetPodCliqueSet, SubmittedSet
from kubectl_tas.resolve.fleet import Fleet, FleetTopology, Level


def picture(fleet: Fleet, submitted: SubmittedSet) -> Picture:
    """The picture of one set."""
    item = submitted.set
    topology = item.topology.name_on(submitted.pool.backend) if item.topology else item.topology_name
    trees = tuple(_gang(gang, item.topology) for gang in gangs(item)) if item.is_previewed else ()
    return picture_of(fleet, submitted, topology, trees, (("Gangs", _count(item)),))


def _count(item: FleetPodCliqueSet) -> str:
    scaled = item.gang_count - item.replicas
    text = f"{item.gang_count}: {item.replicas} base and {scaled} scaled"
    return text if item.is_previewed else f"{text}; more than {MAX_PREVIEWED} gangs or cliques are not shown"


def _gang(gang: Gang, topology: FleetTopology | None) -> Branch:
    return _branch("PodGang", gang.name, gang.constraint, topology, _parts(gang.parts, topology))


def _parts(parts: tuple[Part, ...], topology: FleetTopology | None) -> tuple[Branch, ...]:
    """A replica of a scaling group that has a constraint, with its cliques below it; other cliques by themselves."""
    found: list[Branch] = []
    for part in parts:
        members = tuple(_member(member, topology) for member in part.members)
        if part.name is None:
            found += members
        else:
            found.append(_branch("SubGroup", part.name, part.constraint, topology, members))
    return tuple(found)


def _member(member: Member, topology: FleetTopology | None) -> Branch:
    clique = member.clique
    required, preferred = _levels(clique.spec.topologyConstraint, topology)
    pods = clique.spec.spec.replicas
    return Branch("SubGroup", member.name, pods, clique.minimum, pods * clique.gpus, required, preferred, ())


def _branch(
    kind: str,
    name: str,
    constraint: PackConstraint | None,
    topology: FleetTopology | None,
    branches: tuple[Branch, ...],
) -> Branch:
    pods, gpus = sum(branch.pods for branch in branches), sum(branch.gpus for branch in branches)
    return Branch(kind, name, pods, None, gpus, *_levels(constraint, topology), branches)


def _levels(constraint: PackConstraint | None, topology: FleetTopology | None) -> tuple[Level | None, Level | None]:
    """Domains as levels; those of a topology that is not declared stand for themselves."""
    known = {level.key: level for level in topology.levels} if topology else {}
    asked = (constraint.required, constraint.preferred) if constraint else (None, None)
    required, preferred = (known.get(domain, Level(domain, domain)) if domain else None for domain in asked)
    return required, preferred
