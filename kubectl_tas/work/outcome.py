"""The unit of work: the bytes of one file and its context in; findings, what others must know of it, and manifests out.

It is a pure function, and its result is plain data. A file that only makes sense together with others is not judged
here: the result says so, and all such files are judged together.

The context is what all work shares, cut down to what one file can know of it: its own pools, and all that stands above
these. A file that is judged with nothing else in sight cannot depend on anything else, so the digest of what it may see
tells whether what was made of it still holds.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import field, replace
from typing import TYPE_CHECKING, Any

from kubectl_tas.check import check_work
from kubectl_tas.check.growth import waits_for_sums
from kubectl_tas.check.task_platforms import check_platforms
from kubectl_tas.check.visibledevices import config_maps
from kubectl_tas.diagnostics import has_errors
from kubectl_tas.errors import TasError
from kubectl_tas.gangs.admission import Admission
from kubectl_tas.gangs.podgrouper import pod_group_name
from kubectl_tas.gangs.summary import sent
from kubectl_tas.load.loading import Loaded, load_work
from kubectl_tas.load.source import RawFile
from kubectl_tas.model import labels
from kubectl_tas.model.repository import Repository
from kubectl_tas.records import dataclass
from kubectl_tas.resolve import names
from kubectl_tas.resolve.companions import FleetCompanion
from kubectl_tas.resolve.fleet import Context, Fleet, resolve_work
from kubectl_tas.resolve.mentions import CLAIM_TEMPLATE, DEFAULT_SCALED, SCALED
from kubectl_tas.resolve.pools import FleetPool
from kubectl_tas.work.plain import Plain, from_diagnostic, from_location, from_sent, from_waiver

if TYPE_CHECKING:
    from kubectl_tas.model.workload_kinds import AnyWorkload


_SHARED = ("pools", "subpools", "topologies", "pod_templates", "resource_validations", "operators", "kartas")
"""What a file may declare that others depend on."""
_WITH_OTHERS = ("pod_groups", "pod_clique_sets")
"""What is judged together with what other files declare."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What one file comes to, as plain data."""

    wanted: Plain | None
    """The pools that its context was narrowed to."""
    is_alone: bool
    """False: it only makes sense together with others, and nothing below says anything."""
    is_shared: bool = False
    """Whether it declares what work depends on."""
    findings: Plain = field(default_factory=list)
    sent: Plain = field(default_factory=list)
    """What it sends to queues, each behind its pool, its subpool and the place of these."""
    claims: Plain = field(default_factory=list)
    """Names that no other file may have or use; with one that does, it is judged together."""
    uses: Plain = field(default_factory=list)
    """Names that are used here; a file that has one is judged together with this one."""
    stems: Plain = field(default_factory=list)
    """What the names of objects begin with that it becomes."""
    points: Plain = field(default_factory=list)
    """Names of objects that may begin with such a stem."""
    mentions: Plain = field(default_factory=list)
    """What its documents name, and what they declare that others name."""
    waivers: Plain = field(default_factory=list)
    is_empty: bool = True
    objects: str | None = None
    """Of its manifests, as JSON; None where nobody asked for these, where they are not made because of errors, and in
    a run, which has them in a file."""

    @property
    def seen(self) -> Wanted:
        """What of the context it may depend on."""
        return None if self.wanted is None else frozenset(self.wanted)

    @property
    def plain(self) -> Plain:
        """As JSON has it; ``Outcome(*plain)`` is the same again."""
        return [getattr(self, name) for name in self.__slots__]


def outcome(raw: RawFile, shared: Shared, texts: list[bytes] | None = None) -> Outcome:
    """What a file comes to among what all share. With ``texts`` its manifests are made, and their texts added there."""
    loaded = load_work(raw, shared.context.config)
    if loaded is None or not loaded.complete:
        return Outcome([], is_alone=False)
    repository = loaded.repository
    if repository.config is not None or any(getattr(repository, name) for name in _SHARED):
        return Outcome([], is_alone=False, is_shared=True)
    if any(getattr(repository, name) for name in _WITH_OTHERS):
        return Outcome([], is_alone=False)
    wanted = _wanted(repository, raw)
    fleet = resolve_work(repository, shared.narrowed(wanted))
    named = None if wanted is None else sorted(wanted)
    found = (*loaded.diagnostics, *check_work(fleet))
    if not _is_alone(fleet) or any(item.location is None or item.location.path != raw.path for item in found):
        return Outcome(named, is_alone=False)
    admission = Admission(fleet)
    work = [
        [
            item.pool.name,
            item.subpool.name if item.subpool else None,
            from_location(item.place),
            from_sent(sent(item, admission.request(item))),
        ]
        for item in fleet.submissions
    ]
    return Outcome(
        named,
        is_alone=True,
        findings=[from_diagnostic(item) for item in found],
        sent=work,
        claims=sorted(claims(fleet)),
        uses=sorted(uses(fleet)),
        stems=sorted(stems_of(fleet)),
        points=sorted(points_of(fleet)),
        mentions=[*fleet.own_mentions.rows],
        waivers=[from_waiver(item) for item in repository.waivers],
        is_empty=repository.is_empty,
        objects=None if texts is None or has_errors(found) else _objects(fleet, texts),
    )


def _objects(fleet: Fleet, texts: list[bytes]) -> str | None:
    """The manifests; None where there are none because of what only a rule of all work together refuses."""
    from kubectl_tas.work.manifests import objects  # only rendering waits for the compiler and its templates

    try:
        return objects(fleet, texts)
    except (TasError, ValueError):  # where no rule refuses it, rendering comes here again, and says so
        texts.clear()
        return None


def work_alone(loaded: Loaded, raw: RawFile, shared: Shared) -> Fleet | None:
    """The work that was loaded of a file; None where something can be said of it only with other files."""
    declared = loaded.repository
    if not loaded.complete or any(getattr(declared, name) for name in ("config", *_SHARED, *_WITH_OTHERS)):
        return None
    fleet = resolve_work(declared, shared.narrowed(_wanted(declared, raw)))
    return fleet if _is_alone(fleet) else None


def work_of(raw: RawFile, shared: Shared) -> Fleet:
    """The work of a file that makes sense alone, whatever rules say of it."""
    loaded = load_work(raw, shared.context.config)
    assert loaded is not None
    return resolve_work(loaded.repository, shared.narrowed(_wanted(loaded.repository, raw)))


def _wanted(repository: Repository, raw: RawFile) -> Wanted:
    """The pools that the work of a file names."""
    names_topology = any(_annotates(item.spec, labels.TOPOLOGY) for item in repository.workloads)  # escaped, too
    if repository.companions or names_topology or labels.TOPOLOGY.encode() in raw.content:
        return None  # which namespaces there are, or which topologies, is told by all pools
    found = {item.spec.workflow.pool for item in repository.workflows}
    found |= {item.spec.metadata.labels.get(labels.POOL, "") for item in repository.workloads}
    return frozenset(found)


def _is_alone(fleet: Fleet) -> bool:
    """Whether all that can be said of the work in a file can be said without any other file."""
    repository = fleet.repository
    are_resolved = (len(fleet.workflows), len(fleet.workloads), len(fleet.companions)) == (
        len(repository.workflows),
        len(repository.workloads),
        len(repository.companions),
    )
    in_groups = any(_annotates(item.spec, labels.POD_GROUP) for item in repository.workloads)
    metadata = [item.spec.metadata for item in repository.workloads]
    metadata += [item.spec.metadata for item in repository.companions]
    replaced = any(labels.REPLACE in item.labels for item in metadata)  # --base tells of it where nothing has changed
    of_sets = any(kind.startswith("PodClique") for _, kind, _ in _scaled(fleet))  # Grove makes them of a set
    is_known = are_resolved and not fleet.dangling and not (in_groups or replaced or of_sets or waits_for_sums(fleet))
    return is_known and not any(check_platforms(fleet))


def _annotates(workload: AnyWorkload, key: str) -> bool:
    """Whether a workload or any of its pods has an annotation, which names what another file may declare."""
    templates = (item.template for item in workload.pod_sets)
    every = (workload.metadata.annotations, *(item.metadata.annotations for item in templates if item is not None))
    return any(key in annotations for annotations in every)


def claims(fleet: Fleet) -> Iterator[str]:
    """Names that only one file may have: those of work, of companions, and of gangs."""
    for workflow in fleet.workflows:
        yield f"Workflow/{workflow.name}"
    for workload in fleet.workloads:
        yield _identity(workload.pool.backend.name, workload.kind, workload.namespace, workload.name)
        if workload.gang is not None:
            yield f"gang/{workload.pool.backend.name}/{workload.gang}"
    for item in fleet.companions:
        yield "/".join(item.identity)
    yield from (_variables(*key) for key in config_maps(fleet))
    if fleet.companions:
        yield from ("/".join((CLAIM_TEMPLATE, *key)) for key in fleet.compute_domains)


def uses(fleet: Fleet) -> Iterator[str]:
    """Names of what others may declare: what companions scale, ConfigMaps that may show GPUs to containers, and claim
    templates that may be those of ComputeDomains.
    """
    for item, kind, name in _scaled(fleet):
        yield _identity(item.backend.name, kind, item.namespace, name)
    for use in fleet.own_mentions.uses:
        if use.kind == CLAIM_TEMPLATE:
            yield "/".join((CLAIM_TEMPLATE, *use.space, use.name))
    for workload in fleet.workloads:
        for named in _config_maps(workload.declared.origin.data):
            yield _variables(workload.namespace, named)


def _scaled(fleet: Fleet) -> Iterator[tuple[FleetCompanion, str, object]]:
    """Autoscalers, each with the kind and the name of what it scales."""
    for item in fleet.companions:
        target = item.declared.origin.value(SCALED[:-1])
        if isinstance(target, dict):
            yield item, str(target.get("kind") or DEFAULT_SCALED), target.get("name")


def _config_maps(data: object) -> Iterator[object]:
    """The names of ConfigMaps of which containers have all variables, wherever in a document."""
    waiting: list[Any] = [data]
    while waiting:
        value = waiting.pop()
        for key, item in value.items() if isinstance(value, dict) else enumerate(value):
            if isinstance(item, (dict, list)):
                waiting.append(item)
                if key == "configMapRef" and isinstance(item, dict):
                    yield item.get("name")


def _variables(namespace: str, name: object) -> str:
    return f"variables/{namespace}/{name}"


def _identity(backend: str, kind: object, namespace: str, name: object) -> str:
    return f"{backend}/{kind}/{namespace}/{name}"


def stems_of(fleet: Fleet) -> Iterator[str]:
    """What the names of PodGroups and pods of workflows begin with."""
    kept = names.MAX_LABEL - names.HASH - 1  # of a name that is too long
    return (f"{workflow.name}-{group.name}-"[:kept] for workflow in fleet.workflows for group in workflow.groups)


def points_of(fleet: Fleet) -> Iterator[str]:
    """Names of other PodGroups and Pods."""
    for item in fleet.pod_groups:
        yield item.name
        yield from (pod.spec.metadata.name for pod in item.pods)
    for workload in fleet.workloads:
        if workload.kind == "Pod":
            yield workload.name
        if workload.is_owned:
            yield pod_group_name(workload)


Wanted = frozenset[str] | None
"""Names of pools as work spells them; None stands for all that is shared."""


class Shared:
    """The context of a repository, and its parts."""

    def __init__(self, context: Context, repository: Repository, digests: Mapping[str, bytes]) -> None:
        self.context = context
        self._digests = digests
        self._narrow: dict[Wanted, Context] = {}
        self._known: dict[Wanted, str] = {}
        self._everywhere = frozenset(
            item.origin.path
            for item in (
                *([repository.config] if repository.config else ()),
                *repository.topologies,
                *repository.pod_templates,
                *repository.resource_validations,
                *repository.operators,
                *repository.kartas,
            )
        )

    def narrowed(self, wanted: Wanted) -> Context:
        """The context with the pools that ``wanted`` names, and those above them, alone."""
        if wanted not in self._narrow:
            pools = {pool.name: pool for pool in self._pools(wanted)}
            self._narrow[wanted] = replace(self.context, pools=dict(sorted(pools.items())), dangling=())
        return self._narrow[wanted]

    def digest(self, wanted: Wanted) -> str:
        """A digest of all files that the narrowed context is read from."""
        if wanted not in self._known:
            paths = self._digests if wanted is None else self._files(self._pools(wanted))
            found = hashlib.blake2b(digest_size=16)
            for path in sorted(paths):
                found.update(path.encode() + b"\0" + self._digests[path])
            found.update("\0".join(sorted(self.context.declared_pools)).encode() if wanted is None else b"")
            self._known[wanted] = found.hexdigest()
        return self._known[wanted]

    def _pools(self, wanted: Wanted) -> Iterator[FleetPool]:
        if wanted is None:
            yield from self.context.pools.values()
            return
        for name in wanted:
            pool = self.context.pools.get(names.fold(name).partition(names.SEPARATOR)[0])
            yield from pool.chain if pool else ()

    def _files(self, pools: Iterable[FleetPool]) -> set[str]:
        found = set(self._everywhere)
        for pool in pools:
            found.add(pool.declared.origin.path)
            found.update(part.declared.origin.path for part in pool.subpools)
            found.update(part.declared.origin.path for part in pool.children)
        return found
