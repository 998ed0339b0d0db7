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

from kubectl_tas.base.diagnostics import TasError, has_errors
from kubectl_tas.base.late import dataclass
from kubectl_tas.check import TASK_PLATFORMS, work_findings
from kubectl_tas.check.growth import waits_for_sums
from kubectl_tas.check.visibledevices import config_maps
from kubectl_tas.check.walk import walk
from kubectl_tas.gangs.admission import Admission
from kubectl_tas.gangs.podgrouper import pod_group_name
from kubectl_tas.gangs.summary import kept_values
from kubectl_tas.kinds import DEFAULT_SCALED
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
from kubectl_tas.work.plain import Plain, from_diagnostic, from_kept_values, from_location, from_waiver

if TYPE_CHECKING:
    from kubectl_tas.model.workloads import Workload


_SHARED = ("pools", "subpools", "topologies", "pod_templates", "resource_validations", "operators", "kartas", "shards")
"""Documents that other files depend on."""
_WITH_OTHERS = ("pod_groups", "pod_clique_sets")
"""Documents that are judged together with other files."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """The outcome of one file, as plain data."""

    pools: Plain | None
    """The pools to which the context of the file was narrowed."""
    is_alone: bool
    """False if the file only makes sense together with others; then the fields below mean nothing."""
    is_shared: bool = False
    """Whether the file declares something that work depends on."""
    findings: Plain = field(default_factory=list)
    summaries: Plain = field(default_factory=list)
    """The work that the file sends to queues, each behind its pool, its subpool and the place that names these."""
    claims: Plain = field(default_factory=list)
    """Names that no other file may have or use. A file is judged together with any other file that does."""
    uses: Plain = field(default_factory=list)
    """Names that the file uses. A file that claims such a name is judged together with this file."""
    name_prefixes: Plain = field(default_factory=list)
    """The beginnings of names of the objects that the file becomes."""
    names_to_compare: Plain = field(default_factory=list)
    """Names of objects that may begin with a prefix of another file."""
    mentions: Plain = field(default_factory=list)
    """Names in the documents of the file: references, and declarations that other files may reference."""
    waivers: Plain = field(default_factory=list)
    is_empty: bool = True
    manifests: str | None = None
    """The manifests as JSON; None if not requested, not made because of errors, or moved to a file by a run."""

    @property
    def pool_names(self) -> PoolNames:
        """The pools that the file may depend on."""
        return None if self.pools is None else frozenset(self.pools)

    @property
    def plain(self) -> Plain:
        """The outcome as data for JSON; ``Outcome(*plain)`` restores the outcome."""
        return [getattr(self, name) for name in self.__slots__]


def outcome(raw: RawFile, shared: SharedContext, texts: list[bytes] | None = None) -> Outcome:
    """Returns the outcome of a file in the shared context. With ``texts``, makes the manifests and adds their texts."""
    loaded = load_work(raw, shared.context.config)
    if loaded is None or not loaded.complete:
        return Outcome([], is_alone=False)
    repository = loaded.repository
    if any(getattr(repository, name) for name in _SHARED):
        return Outcome([], is_alone=False, is_shared=True)
    if any(getattr(repository, name) for name in _WITH_OTHERS):
        return Outcome([], is_alone=False)
    pools = _pools_named_in(repository, raw)
    fleet = resolve_work(repository, shared.narrowed(pools))
    sorted_pools = None if pools is None else sorted(pools)
    findings = (*loaded.diagnostics, *work_findings(fleet))
    if not _is_alone(fleet) or any(
        finding.location is None or finding.location.path != raw.path for finding in findings
    ):
        return Outcome(sorted_pools, is_alone=False)
    admission = Admission(fleet)
    summaries = [
        [
            submission.pool.name,
            submission.subpool.name if submission.subpool else None,
            from_location(submission.place),
            from_kept_values(kept_values(submission, admission.request(submission))),
        ]
        for submission in fleet.submissions
    ]
    return Outcome(
        sorted_pools,
        is_alone=True,
        findings=[from_diagnostic(finding) for finding in findings],
        summaries=summaries,
        claims=sorted(claims(fleet)),
        uses=sorted(uses(fleet)),
        name_prefixes=sorted(name_prefixes(fleet)),
        names_to_compare=sorted(names_to_compare(fleet)),
        mentions=[*fleet.own_mentions.rows],
        waivers=[from_waiver(waiver) for waiver in repository.waivers],
        is_empty=repository.is_empty,
        manifests=None if texts is None or has_errors(findings) else _manifests(fleet, texts),
    )


def _manifests(fleet: Fleet, texts: list[bytes]) -> str | None:
    """Returns the manifests; None if only a rule over all work together refuses them."""
    from kubectl_tas.work.manifests import manifests_as_json  # only rendering waits for the compiler and its templates

    try:
        return manifests_as_json(fleet, texts)
    except (TasError, ValueError):  # Rendering repeats this step and reports the error.
        texts.clear()
        return None


def work_alone(loaded: Loaded, raw: RawFile, shared: SharedContext) -> Fleet | None:
    """Returns the loaded work of a file; None if the work can be judged only together with other files."""
    declared = loaded.repository
    if not loaded.complete or any(getattr(declared, name) for name in ("config", *_SHARED, *_WITH_OTHERS)):
        return None
    fleet = resolve_work(declared, shared.narrowed(_pools_named_in(declared, raw)))
    return fleet if _is_alone(fleet) else None


def work_of(raw: RawFile, shared: SharedContext) -> Fleet:
    """Returns the work of a file that makes sense alone, regardless of findings."""
    loaded = load_work(raw, shared.context.config)
    assert loaded is not None
    return resolve_work(loaded.repository, shared.narrowed(_pools_named_in(loaded.repository, raw)))


def _pools_named_in(repository: Repository, raw: RawFile) -> PoolNames:
    """Returns the pools that the work of a file names; None for all."""
    names_topology = any(
        _annotates(workload.spec, labels.TOPOLOGY) for workload in repository.workloads
    )  # escaped, too
    if repository.companions or names_topology or labels.TOPOLOGY.encode() in raw.content:
        return None  # all pools together declare the namespaces and the topologies
    pools = {workflow.spec.workflow.pool for workflow in repository.workflows}
    pools |= {workload.spec.metadata.labels.get(labels.POOL, "") for workload in repository.workloads}
    return frozenset(pools)


def _is_alone(fleet: Fleet) -> bool:
    """Whether the work in a file can be judged without any other file."""
    repository = fleet.repository
    are_resolved = (len(fleet.workflows), len(fleet.workloads), len(fleet.companions)) == (
        len(repository.workflows),
        len(repository.workloads),
        len(repository.companions),
    )
    in_groups = any(_annotates(workload.spec, labels.POD_GROUP) for workload in repository.workloads)
    metadata = [workload.spec.metadata for workload in repository.workloads]
    metadata += [companion.spec.metadata for companion in repository.companions]
    replaced = any(
        labels.REPLACE in meta.labels for meta in metadata
    )  # --base has a finding about it even for unchanged files
    of_sets = any(
        kind.startswith("PodClique") for _, kind, _ in _scaled(fleet)
    )  # Grove makes PodCliques from a PodCliqueSet
    is_known = are_resolved and not fleet.dangling and not (in_groups or replaced or of_sets or waits_for_sums(fleet))
    return is_known and not any(walk(fleet, (TASK_PLATFORMS,)))


def _annotates(workload: Workload, key: str) -> bool:
    """Whether a workload or any of its pods has the annotation ``key``, which names something of another file."""
    templates = (pod_set.template for pod_set in workload.pod_sets)
    every = (
        workload.metadata.annotations,
        *(template.metadata.annotations for template in templates if template is not None),
    )
    return any(key in annotations for annotations in every)


def claims(fleet: Fleet) -> Iterator[str]:
    """Yields names that only one file may have: those of work, companions and gangs."""
    for workflow in fleet.workflows:
        yield f"Workflow/{workflow.name}"
    for workload in fleet.workloads:
        yield _identity(workload.pool.backend.name, workload.kind, workload.namespace, workload.name)
        if workload.gang is not None:
            yield f"gang/{workload.pool.backend.name}/{workload.gang}"
    for companion in fleet.companions:
        yield "/".join(companion.identity)
    yield from (_variables(*key) for key in config_maps(fleet))
    if fleet.companions:
        yield from ("/".join((CLAIM_TEMPLATE, *key)) for key in fleet.compute_domains)


def uses(fleet: Fleet) -> Iterator[str]:
    """Yields names that other files may declare. These are targets of autoscalers, ConfigMaps that may show GPUs to
    containers, and claim templates of ComputeDomains.
    """
    for autoscaler, kind, name in _scaled(fleet):
        yield _identity(autoscaler.backend.name, kind, autoscaler.namespace, name)
    for use in fleet.own_mentions.uses:
        if use.kind == CLAIM_TEMPLATE:
            yield "/".join((CLAIM_TEMPLATE, *use.space, use.name))
    for workload in fleet.workloads:
        for named in _config_maps(workload.declared.origin.data):
            yield _variables(workload.namespace, named)


def _scaled(fleet: Fleet) -> Iterator[tuple[FleetCompanion, str, object]]:
    """Yields autoscalers, each with the kind and name of its target."""
    for companion in fleet.companions:
        target = companion.declared.origin.value(SCALED[:-1])
        if isinstance(target, dict):
            yield companion, str(target.get("kind") or DEFAULT_SCALED), target.get("name")


def _config_maps(document: object) -> Iterator[object]:
    """Yields the names of ConfigMaps from which containers take all variables, anywhere in a document."""
    waiting: list[Any] = [document]
    while waiting:
        value = waiting.pop()
        if isinstance(value, dict):
            source = value.get("configMapRef")
            if isinstance(source, dict):
                yield source.get("name")
            value = value.values()
        waiting += [inner for inner in value if isinstance(inner, (dict, list))]


def _variables(namespace: str, name: object) -> str:
    return f"variables/{namespace}/{name}"


def _identity(backend: str, kind: object, namespace: str, name: object) -> str:
    return f"{backend}/{kind}/{namespace}/{name}"


def name_prefixes(fleet: Fleet) -> Iterator[str]:
    """Returns the beginnings of the names of PodGroups and pods of workflows."""
    max_prefix = MAX_LABEL - names.HASH - 1  # a longer name is cut here, and gets a hash
    return (f"{workflow.name}-{group.name}-"[:max_prefix] for workflow in fleet.workflows for group in workflow.groups)


def names_to_compare(fleet: Fleet) -> Iterator[str]:
    """Yields the names of other PodGroups and Pods."""
    for pod_group in fleet.pod_groups:
        yield pod_group.name
        yield from (pod.spec.metadata.name for pod in pod_group.pods)
    for workload in fleet.workloads:
        if workload.kind == "Pod":
            yield workload.name
        if workload.is_owned:
            yield pod_group_name(workload)


PoolNames = frozenset[str] | None
"""Names of pools as work spells them; None stands for the whole context."""


class SharedContext:
    """The context of a repository, and its parts."""

    def __init__(self, context: Context, repository: Repository, digests: Mapping[str, bytes]) -> None:
        self.context = context
        self._digests = digests
        self._narrow: dict[PoolNames, Context] = {}
        self._digests_of_pools: dict[PoolNames, str] = {}
        self._everywhere = frozenset(
            declared.origin.path
            for declared in (
                *([repository.config] if repository.config else ()),
                *repository.topologies,
                *repository.pod_templates,
                *repository.resource_validations,
                *repository.operators,
                *repository.kartas,
            )
        )

    def narrowed(self, pool_names: PoolNames) -> Context:
        """Returns the context with only the pools in ``pool_names``, and the pools above these."""
        if pool_names not in self._narrow:
            pools = {pool.name: pool for pool in self._pools(pool_names)}
            self._narrow[pool_names] = replace(self.context, pools=dict(sorted(pools.items())), dangling=())
        return self._narrow[pool_names]

    def digest(self, pool_names: PoolNames) -> str:
        """Returns a digest of all files from which the narrowed context is read."""
        if pool_names not in self._digests_of_pools:
            paths = self._digests if pool_names is None else self._files(self._pools(pool_names))
            digest = hashlib.blake2b(digest_size=16)
            for path in sorted(paths):
                digest.update(path.encode() + b"\0" + self._digests[path])
            digest.update("\0".join(sorted(self.context.declared_pools)).encode() if pool_names is None else b"")
            self._digests_of_pools[pool_names] = digest.hexdigest()
        return self._digests_of_pools[pool_names]

    def _pools(self, pool_names: PoolNames) -> Iterator[FleetPool]:
        if pool_names is None:
            yield from self.context.pools.values()
            return
        for name in pool_names:
            pool = self.context.pools.get(names.fold(name).partition(names.SEPARATOR)[0])
            yield from pool.chain if pool else ()

    def _files(self, pools: Iterable[FleetPool]) -> set[str]:
        paths = set(self._everywhere)
        for pool in pools:
            paths.add(pool.declared.origin.path)
            paths.update(subpool.declared.origin.path for subpool in pool.subpools)
            paths.update(child.declared.origin.path for child in pool.children)
        return paths
