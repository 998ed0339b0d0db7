"""Judges one file of work: from its bytes and its context to findings, manifests, and a summary for other files.

``outcome`` is a pure function with plain data as result. A file that only makes sense together with others is not
judged here; its outcome says so, and all such files are judged together.

The context is what all work shares, narrowed to what one file can see: its own pools, and everything above these pools.
A file that is judged with nothing else in sight cannot depend on anything else. So the digest of what the file can see
tells whether a kept outcome is still valid.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import field, replace
from typing import TYPE_CHECKING, Any

from kubectl_tas.check import TASK_PLATFORMS, check_work
from kubectl_tas.check.growth import waits_for_sums
from kubectl_tas.check.visibledevices import config_maps
from kubectl_tas.check.walk import walk
from kubectl_tas.diagnostics import TasError, has_errors
from kubectl_tas.gangs.admission import Admission
from kubectl_tas.gangs.podgrouper import pod_group_name
from kubectl_tas.gangs.summary import sent
from kubectl_tas.kinds import DEFAULT_SCALED
from kubectl_tas.late import dataclass
from kubectl_tas.load.loading import Loaded, load_work
from kubectl_tas.load.source import RawFile
from kubectl_tas.model import labels
from kubectl_tas.model.labels import MAX_LABEL
from kubectl_tas.model.repository import Repository
from kubectl_tas.resolve import names
from kubectl_tas.resolve.companions import FleetCompanion
from kubectl_tas.resolve.fleet import Context, Fleet, resolve_work
from kubectl_tas.resolve.mentions import CLAIM_TEMPLATE, SCALED
from kubectl_tas.resolve.pools import FleetPool
from kubectl_tas.work.plain import Plain, from_diagnostic, from_location, from_sent, from_waiver

if TYPE_CHECKING:
    from kubectl_tas.model.workloads import Workload


_SHARED = ("pools", "subpools", "topologies", "pod_templates", "resource_validations", "operators", "kartas")
"""Documents that other files depend on."""
_WITH_OTHERS = ("pod_groups", "pod_clique_sets")
"""Documents that are judged together with other files."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """The outcome of one file, as plain data."""

    wanted: Plain | None
    """The pools to which the context of the file was narrowed."""
    is_alone: bool
    """False if the file only makes sense together with others; then the fields below mean nothing."""
    is_shared: bool = False
    """Whether the file declares something that work depends on."""
    findings: Plain = field(default_factory=list)
    sent: Plain = field(default_factory=list)
    """The work that the file sends to queues, each behind its pool, its subpool and the place that names these."""
    claims: Plain = field(default_factory=list)
    """Names that no other file may have or use. A file is judged together with any other file that does."""
    uses: Plain = field(default_factory=list)
    """Names that the file uses. A file that claims such a name is judged together with this file."""
    stems: Plain = field(default_factory=list)
    """The beginnings of names of the objects that the file becomes."""
    points: Plain = field(default_factory=list)
    """Names of objects that may begin with a stem of another file."""
    mentions: Plain = field(default_factory=list)
    """Names in the documents of the file: references, and declarations that other files may reference."""
    waivers: Plain = field(default_factory=list)
    is_empty: bool = True
    objects: str | None = None
    """The manifests as JSON; None if not requested, not made because of errors, or moved to a file by a run."""

    @property
    def seen(self) -> Wanted:
        """The part of the context that the file may depend on."""
        return None if self.wanted is None else frozenset(self.wanted)

    @property
    def plain(self) -> Plain:
        """The outcome as data for JSON; ``Outcome(*plain)`` restores the outcome."""
        return [getattr(self, name) for name in self.__slots__]


def outcome(raw: RawFile, shared: Shared, texts: list[bytes] | None = None) -> Outcome:
    """Returns the outcome of a file in the shared context. With ``texts``, makes the manifests and adds their texts."""
    loaded = load_work(raw, shared.context.config)
    if loaded is None or not loaded.complete:
        return Outcome([], is_alone=False)
    repository = loaded.repository
    if any(getattr(repository, name) for name in _SHARED):
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
    """Returns the manifests; None if only a rule over all work together refuses them."""
    from kubectl_tas.work.manifests import objects  # only rendering waits for the compiler and its templates

    try:
        return objects(fleet, texts)
    except (TasError, ValueError):  # where no rule refuses it, rendering comes here again, and says so
        texts.clear()
        return None


def work_alone(loaded: Loaded, raw: RawFile, shared: Shared) -> Fleet | None:
    """Returns the loaded work of a file; None if the work can be judged only together with other files."""
    declared = loaded.repository
    if not loaded.complete or any(getattr(declared, name) for name in ("config", *_SHARED, *_WITH_OTHERS)):
        return None
    fleet = resolve_work(declared, shared.narrowed(_wanted(declared, raw)))
    return fleet if _is_alone(fleet) else None


def work_of(raw: RawFile, shared: Shared) -> Fleet:
    """Returns the work of a file that makes sense alone, regardless of findings."""
    loaded = load_work(raw, shared.context.config)
    assert loaded is not None
    return resolve_work(loaded.repository, shared.narrowed(_wanted(loaded.repository, raw)))


def _wanted(repository: Repository, raw: RawFile) -> Wanted:
    """Returns the pools that the work of a file names; None for all."""
    names_topology = any(_annotates(item.spec, labels.TOPOLOGY) for item in repository.workloads)  # escaped, too
    if repository.companions or names_topology or labels.TOPOLOGY.encode() in raw.content:
        return None  # which namespaces there are, or which topologies, is told by all pools
    found = {item.spec.workflow.pool for item in repository.workflows}
    found |= {item.spec.metadata.labels.get(labels.POOL, "") for item in repository.workloads}
    return frozenset(found)


def _is_alone(fleet: Fleet) -> bool:
    """Whether the work in a file can be judged without any other file."""
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
    return is_known and not any(walk(fleet, (TASK_PLATFORMS,)))


def _annotates(workload: Workload, key: str) -> bool:
    """Whether a workload or any of its pods has the annotation ``key``, which names something of another file."""
    templates = (item.template for item in workload.pod_sets)
    every = (workload.metadata.annotations, *(item.metadata.annotations for item in templates if item is not None))
    return any(key in annotations for annotations in every)


def claims(fleet: Fleet) -> Iterator[str]:
    """Yields names that only one file may have: those of work, companions and gangs."""
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
    """Yields names that other files may declare. These are targets of autoscalers, ConfigMaps that may show GPUs to
    containers, and claim templates of ComputeDomains.
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
    """Yields autoscalers, each with the kind and name of its target."""
    for item in fleet.companions:
        target = item.declared.origin.value(SCALED[:-1])
        if isinstance(target, dict):
            yield item, str(target.get("kind") or DEFAULT_SCALED), target.get("name")


def _config_maps(data: object) -> Iterator[object]:
    """Yields the names of ConfigMaps from which containers take all variables, anywhere in a document."""
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
    """Returns the beginnings of the names of PodGroups and pods of workflows."""
    kept = MAX_LABEL - names.HASH - 1  # of a name that is too long
    return (f"{workflow.name}-{group.name}-"[:kept] for workflow in fleet.workflows for group in workflow.groups)


def points_of(fleet: Fleet) -> Iterator[str]:
    """Yields the names of other PodGroups and Pods."""
    for item in fleet.pod_groups:
        yield item.name
        yield from (pod.spec.metadata.name for pod in item.pods)
    for workload in fleet.workloads:
        if workload.kind == "Pod":
            yield workload.name
        if workload.is_owned:
            yield pod_group_name(workload)


Wanted = frozenset[str] | None
"""Names of pools as work spells them; None stands for the whole context."""


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
        """Returns the context with only the pools in ``wanted``, and the pools above these."""
        if wanted not in self._narrow:
            pools = {pool.name: pool for pool in self._pools(wanted)}
            self._narrow[wanted] = replace(self.context, pools=dict(sorted(pools.items())), dangling=())
        return self._narrow[wanted]

    def digest(self, wanted: Wanted) -> str:
        """Returns a digest of all files from which the narrowed context is read."""
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
