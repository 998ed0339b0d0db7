"""Checks ComputeDomains, which let the pods of a gang read each other's GPU memory over NVLink, and their gangs.

Follows NVIDIA's DRA driver v0.4.0 (kubernetes-sigs/dra-driver-nvidia-gpu): api/nvidia.com/resource/v1beta1 defines
numNodes. cmd/compute-domain-kubelet-plugin/driver.go offers one channel per node, so each pod with a claim needs its
own node. CoreWeave's page "ComputeDomains" says that gangs of one domain share memory.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from kubectl_tas.base.diagnostics import Diagnostic, Location, Related, Rule
from kubectl_tas.base.late import dataclass
from kubectl_tas.base.words import shortened
from kubectl_tas.check.resource_requests import CountedPod, pods_of
from kubectl_tas.check.unique import NAME_DUPLICATE
from kubectl_tas.facts.kai import Feature
from kubectl_tas.facts.node_places import GPU_CLIQUE, HOSTNAME, place_of
from kubectl_tas.gangs.gang import Gang, Part
from kubectl_tas.gangs.podgrouper import is_one_pod_group
from kubectl_tas.gangs.workload_gang import gang_of, sub_group_name
from kubectl_tas.gangs.written_gangs import gang_of_pod_group, gangs_of_set
from kubectl_tas.model import labels
from kubectl_tas.model.base import KeyPath
from kubectl_tas.report.text import plural
from kubectl_tas.resolve.companions import CLAIM_TEMPLATE_NAME, FleetCompanion
from kubectl_tas.resolve.fleet import Fleet
from kubectl_tas.resolve.fleet_workload import FleetWorkload
from kubectl_tas.resolve.handwritten import FleetPodGroup
from kubectl_tas.resolve.mentions import CLAIM_TEMPLATE
from kubectl_tas.resolve.podcliqueset import SubmittedSet
from kubectl_tas.resolve.topologies import Level

COMPUTE_DOMAIN = Rule.warning(
    "compute-domain",
    "A ComputeDomain does not match the gang that uses it.",
    "Write one ComputeDomain for each gang: all gangs of one ComputeDomain can read each other's GPU memory. Each pod "
    "that claims a channel takes a whole node, so numNodes is the number of these pods. With another number the "
    "ComputeDomain is never Ready, and drivers before 25.8 hold the pods back. From 25.8 on write 0: the pods find "
    "each other. A container gets the channel only if resources.claims names the claim.",
)
COMPUTE_DOMAIN_SPREAD = Rule.warning(
    "compute-domain-spread",
    "KAI may place a gang with a ComputeDomain in several NVLink domains.",
    "A ComputeDomain follows the pods. In two NVLink domains, such as two racks, GPUs do not reach each other over "
    "NVLink, whatever the ComputeDomain says. Require the level of NVLink domains or a finer one, for the gang or for "
    "each of its SubGroups. If the work also runs across NVLink domains, waive the rule.",
)
_REQUIRED = (
    *("affinity", "nodeAffinity", "podAffinity", "requiredDuringSchedulingIgnoredDuringExecution"),
    *("nodeSelectorTerms", "matchExpressions"),
)
"""Required fields of a PodSpec that ``_is_near`` searches. Preferences are missing on purpose."""
ChannelKey = tuple[str, str, str]
"""A cluster, one of its namespaces, and the name of a claim template."""
ClaimedDomain = tuple[ChannelKey, list[FleetCompanion]]
"""The ComputeDomains that make one claim template."""
_Work = FleetWorkload | SubmittedSet | FleetPodGroup


@dataclass(frozen=True, slots=True)
class _User:
    """Pods of one piece of work that claim a channel."""

    work: _Work
    pod: CountedPod
    claim: int
    """Index of the claim in resourceClaims."""

    @property
    def gang(self) -> tuple[str, int]:
        """Name and number of the gangs that the pods belong to."""
        match self.work:
            case FleetWorkload() if self.work.gang is not None:
                return f"gang {self.work.gang}", 1
            case FleetWorkload():
                return f"{self.work.kind} {self.work.name}", self.work.copies if is_one_pod_group(self.work) else 1
            case SubmittedSet():
                return f"{self.work.kind} {self.work.name}", self.work.set.replicas
            case _:
                return f"PodGroup {self.work.name}", 1

    @property
    def path(self) -> KeyPath:
        """Path of the claim."""
        return (*self.pod.path, "resourceClaims", self.claim)

    @property
    def place(self) -> Location:
        """Place where the claim names the claim template."""
        return self.pod.origin.locate((*self.path, "resourceClaimTemplateName"))


def check_channels(work: _Work, fleet: Fleet) -> Iterator[Diagnostic]:
    """Checks work whose pods claim channels of ComputeDomains."""
    users = [user for _, user in _users(fleet, work)]
    # Claims that no container uses.
    for user in {user.place: user for user in users}.values():
        name = user.pod.spec.resourceClaims[user.claim].name
        claims_of_containers = (
            user.pod.origin.value((*user.pod.path, container_field, index, "resources", "claims"))
            for container_field in ("containers", "initContainers")
            for index, _ in enumerate(getattr(user.pod.spec, container_field))
        )
        # check.containers reports claims with a wrong name.
        if not any(isinstance(c, list) and c for c in claims_of_containers):
            message = f'no container uses the claim "{name}", so none gets a channel'
            location = user.pod.origin.locate((*user.path, "name"))
            hint = f"Write claims: [{{name: {name}}}] below resources of the container."
            yield Diagnostic(COMPUTE_DOMAIN, message, location, hint=hint)
    if isinstance(work, FleetWorkload) and work.declared.spec.page.pod_rules.by_type and users:
        # Pods with GPUs that claim no channel while other pods of the same workload do.
        claiming = {user.pod.path for user in users}
        for pod in pods_of(work):
            if pod.path not in claiming and pod.count and pod.spec.gpus_with(pod.annotations):
                template = users[0].pod.spec.resourceClaims[users[0].claim].resourceClaimTemplateName
                message = f"these pods of {work.kind} {work.name} have GPUs and claim no channel of its ComputeDomain"
                related = (Related("other pods claim it here", users[0].place),)
                hint = f"Add {template} to their resourceClaims, and the claim to resources of their container."
                yield Diagnostic(COMPUTE_DOMAIN, message, pod.origin.locate(pod.path, key=True), related, hint=hint)
    yield from _spread(fleet, work, users)


def check_compute_domain(claimed: ClaimedDomain, claims: Claims) -> Iterator[Diagnostic]:
    """Checks the ComputeDomains of one claim template together with the work that uses it, in any file."""
    key, (domain, *repeated_domains) = claimed
    for repeated_domain in repeated_domains:
        message = (
            f'the {CLAIM_TEMPLATE} "{repeated_domain.claim_template}" is already made of ComputeDomain {domain.name}'
        )
        location = repeated_domain.declared.at(*CLAIM_TEMPLATE_NAME)
        related = (Related("first named here", domain.declared.at(*CLAIM_TEMPLATE_NAME)),)
        yield Diagnostic(NAME_DUPLICATE, message, location, related, hint="Write another name.")
    if key in claims.users:
        users = claims.users[key]
        gangs = dict(user.gang for user in users)
        count = sum(gangs.values())
        places = dict.fromkeys(user.place for user in users)
        if count > 1:
            message = f"{count} gangs use this ComputeDomain: {shortened(sorted(gangs))}"
            uses = tuple(Related("used here", place) for place in places)
            hint = "Write a ComputeDomain for each gang: pods of one ComputeDomain may read each other's GPU memory."
            yield Diagnostic(COMPUTE_DOMAIN, message, domain.place, uses, hint=hint)
        declared_nodes, pods = domain.declared.origin.value(("spec", "numNodes")), sum(user.pod.count for user in users)
        if type(declared_nodes) is int and declared_nodes > 0 and declared_nodes != pods:
            claim = f"{plural(pods, 'pod')} {'claims' if pods == 1 else 'claim'}"
            message = f"numNodes is {declared_nodes}, but {claim} a channel of it, each on a node of its own"
            uses = tuple(Related("claimed here", place) for place in places)
            hint = f"Write {pods}; or 0, which drivers from 25.8 on recommend."
            yield Diagnostic(COMPUTE_DOMAIN, message, domain.declared.at("spec", "numNodes"), uses, hint=hint)
    elif domain.claim_template not in claims.of_pools:
        hint = f"Name {domain.claim_template} as resourceClaimTemplateName in resourceClaims of the pods."
        location = domain.declared.at(*CLAIM_TEMPLATE_NAME)
        yield Diagnostic(COMPUTE_DOMAIN, "no pod claims a channel of this ComputeDomain", location, hint=hint)


class Claims:
    """The claims of channels in a repository."""

    def __init__(self, fleet: Fleet, works: Iterable[_Work]) -> None:
        self.of_pools = {use.name for use in fleet.mentions[0].uses if use.kind == CLAIM_TEMPLATE}
        self.users: dict[ChannelKey, list[_User]] = {}
        for key, user in (claim for work in works for claim in _users(fleet, work)):
            self.users.setdefault(key, []).append(user)


def _users(fleet: Fleet, work: _Work) -> list[tuple[ChannelKey, _User]]:
    if not fleet.compute_domains:
        return []
    backend = work.backend if isinstance(work, FleetPodGroup) else work.pool.backend
    named = (
        ((backend.name, work.namespace, claim.resourceClaimTemplateName or ""), _User(work, pod, index))
        for pod in pods_of(work)
        for index, claim in enumerate(pod.spec.resourceClaims)
    )
    return [(key, user) for key, user in named if key in fleet.compute_domains]


def _spread(fleet: Fleet, work: _Work, users: Sequence[_User]) -> Iterator[Diagnostic]:
    """Reports the first claim of the work if nothing keeps the pods of its gang in one NVLink domain."""
    pool = work.pool
    if not users or pool is None or not pool.backend.has(Feature.TOPOLOGY):
        return
    is_one_each = sum(user.pod.count for user in users) <= users[0].gang[1]
    if is_one_each and not (isinstance(work, FleetWorkload) and work.gang):
        return
    if any(map(_joins, pool.nodes.selector)) or all(_is_near(user.pod.origin.value(user.pod.path)) for user in users):
        return
    are_apart = isinstance(work, FleetWorkload) and not is_one_pod_group(work)
    if not are_apart and all(_is_covered(fleet, gang, users) for gang in _gangs(fleet, work)):
        return
    level = next((level.key for level in pool.levels if _joins(level.label)), None)
    message = "nothing keeps the pods that claim this channel in one NVLink domain"
    if are_apart:
        hint = f"KAI places each pod by itself: keep them together by podAffinity with topologyKey: {GPU_CLIQUE}."
    elif level is None:
        hint = f"Add a level with the node label {GPU_CLIQUE} to the topology of pool {pool.name}, and require it."
    elif isinstance(work, FleetWorkload):
        key = labels.SEGMENT_REQUIRED if work.is_segmented else labels.PLACEMENT_REQUIRED
        hint = f"Require a level: write the annotation {key}: {level}."
    else:
        hint = f"Require the level {level}."
    yield Diagnostic(COMPUTE_DOMAIN_SPREAD, message, users[0].place, hint=hint)


def _gangs(fleet: Fleet, work: _Work) -> Iterator[Gang]:
    """Yields the gangs of the work; only the first of several equal gangs."""
    if isinstance(work, FleetWorkload):
        yield gang_of(fleet, work)
    elif isinstance(work, FleetPodGroup):
        yield gang_of_pod_group(fleet, work)
    elif work.set.is_previewed:
        yield from gangs_of_set(work.set)


def _is_covered(fleet: Fleet, gang: Gang, users: Sequence[_User]) -> bool:
    """Whether each part of a gang with claiming pods requires a level that lies within one NVLink domain."""
    above = {sub_group.name: sub_group.parent for sub_group in gang.sub_groups}
    named = {name for user in users for name in _parts(user)}
    leaves: Sequence[Part] = [leaf for leaf in gang.leaves if named & set(_chain(leaf.name, above))]
    leaves = leaves or [leaf for leaf in gang.leaves if leaf.gpus] or gang.leaves or [gang]
    by_name: dict[str, Part] = {sub_group.name: sub_group for sub_group in gang.sub_groups}
    for leaf in leaves if sum(leaf.pods for leaf in leaves) > 1 else ():
        ancestry = [gang, *(by_name[name] for name in _chain(leaf.name, above) if name in by_name)]
        constraints = [sub_group.constraint for sub_group in ancestry if sub_group.constraint is not None]
        if not any(c.required and _is_fine(fleet, c.topology, c.required) for c in constraints):
            return False
    return True


def _chain(name: str, above: Mapping[str, str | None]) -> Iterator[str]:
    """Yields a SubGroup and its ancestors."""
    ancestor: str | None = name
    while ancestor is not None:
        yield ancestor
        ancestor = above.get(ancestor)


def _parts(user: _User) -> Iterator[str]:
    """Yields the names of the SubGroups that the pods belong to, if known; none for a gang of several workloads."""
    if isinstance(user.work, FleetWorkload):
        replica_types = () if user.work.gang else user.work.replicas
        claiming_types = [item for item in replica_types if item.spec_path == user.pod.path]
        yield from (name for item in claiming_types if (name := sub_group_name(user.work, item)) is not None)
    elif isinstance(user.work, SubmittedSet):
        item = user.work.set
        cliques = [clique for clique in item.cliques if user.pod.path[: len(clique.path)] == clique.path]
        yield from (name for name, clique in item.pod_cliques if clique in cliques)
    else:
        label = user.pod.origin.value(("metadata", "labels", labels.SUBGROUP))
        yield from [label] if isinstance(label, str) else []


def _is_fine(fleet: Fleet, topology: str | None, required: Level) -> bool:
    """Whether each domain of a level lies within one NVLink domain. Assumed for a level with an unknown label."""
    if _joins(required.label) or required.label == HOSTNAME:
        return True
    matching_levels = (t.levels for t in fleet.topologies if topology in (t.name, *map(t.name_on, fleet.backends)))
    levels = next(matching_levels, ())
    joining = next((index for index, level in enumerate(levels) if _joins(level.label)), None)
    if joining is None or required not in levels:
        return place_of(required.label) is None
    return levels.index(required) > joining


def _joins(label: str) -> bool:
    level_place = place_of(label)
    return level_place is not None and level_place.joins_gpus


def _is_near(spec: object) -> bool:
    """Whether a PodSpec itself keeps its pods in one NVLink domain, by pod affinity or by a node label."""
    waiting = [spec]
    while waiting:
        value = waiting.pop()
        if isinstance(value, dict):
            selects = value.get("nodeSelector")
            if isinstance(selects, dict) and any(map(_joins, selects)):
                return True
            if _joins(str(value.get("topologyKey"))):
                return True
            values, is_in = value.get("values"), value.get("operator") == "In"
            if is_in and _joins(str(value.get("key"))) and isinstance(values, list) and len(values) == 1:
                return True
            waiting += [value[key] for key in _REQUIRED if key in value]
        elif isinstance(value, list):
            waiting += value
    return False
