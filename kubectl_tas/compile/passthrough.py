"""Passes on the objects that authors write: the same text, plus the fields that the pool demands.

kubectl reads YAML 1.1 in its own way; other tools read 1.2. If readers disagree about a text, the tool writes the data
anew instead of copying the text.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from ruamel.yaml.error import YAMLError
from ruamel.yaml.nodes import MappingNode, ScalarNode

from kubectl_tas.base.late import late_pattern
from kubectl_tas.base.yaml import block
from kubectl_tas.compile.metadata import folder
from kubectl_tas.compile.podgroups import WORKLOADS
from kubectl_tas.facts.grove import TEMPLATE
from kubectl_tas.gangs.apply_demands import entries_of, merged
from kubectl_tas.gangs.pool_demands import Demand, companion_demands, demands, member_demands, shard_demands
from kubectl_tas.load.compose import TooDeepError, TooManyError
from kubectl_tas.load.document import roots
from kubectl_tas.load.reader import is_certain_text
from kubectl_tas.load.reader import reads_alike as scalar_reads_alike
from kubectl_tas.load.splice import FIRST, Entry, RenamedEntry, with_values
from kubectl_tas.model.artifact import Artifact, PassThrough
from kubectl_tas.model.base import KeyPath
from kubectl_tas.model.kindlists import Phase
from kubectl_tas.model.manifest import Metadata
from kubectl_tas.model.repository import Declared, Origin
from kubectl_tas.resolve import names
from kubectl_tas.resolve.companions import ClusterNamespace
from kubectl_tas.resolve.fleet import Fleet
from kubectl_tas.resolve.podcliqueset import SubmittedSet


def compile_shards(fleet: Fleet) -> Iterator[Artifact]:
    """Yields the SchedulingShards of each cluster of KAI that needs them, if the Config wants them rendered."""
    for shard in fleet.shards if fleet.config.shards == "rendered" else ():
        spec, text = shard.declared.spec, with_demands(shard.declared.origin, shard_demands(fleet, shard))
        meta, file = Metadata(name=shard.name), names.file(shard.name)
        manifest = PassThrough(apiVersion=spec.apiVersion, kind=spec.kind, metadata=meta, target=None, text=text)
        for backend in shard.backends:
            yield Artifact(backend.name, Phase.SHARD, "shards", file, manifest, shard.declared.origin.path)


def compile_workloads(fleet: Fleet) -> Iterator[Artifact]:
    """Yields every workload of the fleet."""
    for workload in fleet.workloads:
        text = with_demands(workload.declared.origin, demands(fleet, workload))
        yield _passed(workload.declared, (workload.pool.backend, workload.namespace), workload.target, text)


def compile_member_pods(fleet: Fleet) -> Iterator[Artifact]:
    """Yields the Pods that join hand-written PodGroups."""
    for group in fleet.pod_groups:
        for pod in group.pods:
            text = with_demands(pod.origin, member_demands(fleet, group, pod.origin))
            yield _passed(pod, (group.backend, group.namespace), group.pool.name if group.pool else None, text)


def compile_clique_sets(fleet: Fleet) -> Iterator[Artifact]:
    """Yields every PodCliqueSet with a known pool, in the spelling of the cluster's Grove."""
    for submitted in fleet.submitted_sets:
        text = with_demands(submitted.declared.origin, demands(fleet, submitted), tuple(_respelled(submitted)))
        yield _passed(submitted.declared, (submitted.pool.backend, submitted.namespace), submitted.target, text)


def compile_companions(fleet: Fleet) -> Iterator[Artifact]:
    """Yields every companion, for its pool if it has exactly one.

    Flux dry-runs all objects of a folder before it applies the first, and the API server refuses a Pod without its
    ServiceAccount. So these are in no pool's folder with Flux.
    """
    for companion in fleet.companions:
        is_shared = fleet.config.gitops == "flux" and companion.kind == "ServiceAccount"
        pool, *other_pools = (() if is_shared else fleet.pools_of(companion)) or (None,)
        text = with_demands(companion.declared.origin, companion_demands(fleet, companion))
        place, target = (companion.backend, companion.namespace), None if other_pools else pool
        yield _passed(companion.declared, place, target, text, phase=companion.phase)


def _passed(
    declared: Declared[Any], place: ClusterNamespace, target: str | None, text: str, *, phase: Phase = Phase.POD
) -> Artifact:
    """Returns an object for the pool or subpool ``target``, which is None if unknown."""
    spec, (backend, namespace), name = declared.spec, place, declared.spec.metadata.name
    meta = Metadata(name=name, namespace=namespace)
    kind = declared.origin.data["kind"]
    manifest = PassThrough(apiVersion=spec.apiVersion, kind=kind, metadata=meta, target=target, text=text)
    where = folder(WORKLOADS if phase is Phase.POD else "companions", backend, namespace)
    file = names.file(f"{spec.kind.lower()}-{name}")
    return Artifact(backend.name, phase, where, file, manifest, declared.origin.path)


def with_demands(origin: Origin, demanded: Sequence[Demand], further: Sequence[Entry] = ()) -> str:
    """Returns the text of a document that meets the demands ``demanded``, with ``further`` entries changed after that.

    The text is the author's with added lines, if all YAML readers then read the checked data. Otherwise, for example
    after an anchor or in JSON, the function writes the data anew, without comments. No value may contradict a demand
    (check.workload_labels); else it raises TasError.
    """
    changes = [*entries_of(origin, demanded), *further]
    if not origin.path.endswith(".json"):
        text = origin.text.replace("\r\n", "\n")
        edited = with_values(text, origin.data, changes) if reads_alike(text) else None
        if edited is not None:
            return edited
    return block(merged(origin.data, changes))


def _respelled(submitted: SubmittedSet) -> Iterator[Entry]:
    """Yields changes that adapt a set to its cluster's release of Grove, without changing the meaning. The changes add
    numbers and roles of cliques, which every release requires, and spell constraints as the release does.

    The release must be able to express the constraints (check.grove_api).
    """
    clique_set, release = submitted.set, submitted.pool.backend.grove_release
    template = clique_set.declared.origin.value(TEMPLATE)
    if isinstance(template, dict) and "clusterTopologyName" in template:
        yield (*TEMPLATE, "clusterTopologyName"), None, None
    for clique in clique_set.cliques:
        if clique.spec.spec.roleName is None:
            yield (*clique.path, "spec", "roleName"), clique.name, FIRST
        if "replicas" not in clique.spec.spec.model_fields_set:
            yield (*clique.path, "spec", "replicas"), 1, "roleName"
    top: KeyPath = (*TEMPLATE, "topologyConstraint")
    inherited = any(constraint.asks and path == top for constraint, path in clique_set.spec.constraints)
    for constraint, path in clique_set.spec.constraints:
        if not constraint.asks:
            yield path, None, None  # no release has one that names a topology and no domain
            continue
        if release.has_names and constraint.topologyName is None and (path == top or not inherited):
            yield (*path, "topologyName"), clique_set.topology_name, FIRST
        elif not release.has_names and constraint.topologyName is not None:
            yield (*path, "topologyName"), None, None
        if release.has_pack and constraint.packDomain is not None:
            if constraint.pack is None:
                yield (*path, "packDomain"), RenamedEntry("pack", {"required": constraint.packDomain}), None
            else:
                yield (*path, "pack", "required"), constraint.packDomain, FIRST
                yield (*path, "packDomain"), None, None
        elif not release.has_pack and constraint.pack is not None and constraint.pack.required is not None:
            yield (*path, "pack"), RenamedEntry("packDomain", constraint.pack.required), None


MAX_EXPANSION = 50
"""The greatest growth of a document when aliases are expanded; kubectl refuses a growth of 100."""
_ODD_TEXT = late_pattern("^(?:---|\\.\\.\\.|%)|\r|[\x85\u2028\u2029\ufeff]", re.MULTILINE)
"""A document separator of kubectl at the start of any line, or a line break of YAML 1.1 only."""
_ODD_ESCAPE = late_pattern(r"(?<!\\)(?:\\\\)*\\(?:/|u[dD][89a-fA-F]|U0000[dD][89a-fA-F]|\t)")
"""Escapes in double quotes that YAML 1.1 lacks."""
_INDICATOR_IN_WORD = late_pattern(r":(?![A-Za-z0-9/_.-])|(?<![A-Za-z0-9/_.-]):|\?")
"""Colons and question marks at which parsers may end a plain scalar within braces."""
_ODD_HEAD = late_pattern(r"[^\n]*[|>][-+0-9]*#")
"""The head of a block scalar with a comment directly behind it."""
_ODD_TAB = late_pattern(r"^(?:(?!(?:^|[ ])#)[^\n\t])*\t", re.MULTILINE)
"""A tab outside of comments."""
_ODD_TAB_IN_BLOCK = late_pattern(r"\A[^\n]*\t|^[ ]*\t[ \t]*$", re.MULTILINE)
"""A tab in the head of a block scalar, or in one of its empty lines."""


def reads_alike(text: str) -> bool:
    """Whether all readers agree on a text of one document with plain line feeds. Never raises for bad input."""
    if _ODD_TEXT.search(text):
        return False
    try:
        (root,) = roots(text)
    except (YAMLError, ValueError, TooDeepError, TooManyError):  # a part of a file that is no document by itself
        return False
    if root.reuses_anchors or ("*" in text and _is_mostly_aliases(root.node)):
        return False
    scalars = list(_scalars(root.node))
    if any(scalar is None for scalar in scalars):
        return False
    if any(scalar.style in ("|", ">") and _ODD_HEAD.match(_source(scalar, text)) for scalar in scalars):
        return False
    quoted = [scalar for scalar in scalars if scalar.style] if "\t" in text or "\\" in text else []
    if any(scalar.style == '"' and _ODD_ESCAPE.search(_source(scalar, text)) for scalar in quoted):
        return False
    return "\t" not in text or not _has_odd_tab(quoted, text)


def _scalars(root: Any) -> Iterator[Any]:
    """Yields all scalars of a document; None in place of a scalar that readers may disagree on."""
    seen: set[int] = set()
    waiting: list[tuple[Any, bool]] = [(root, False)]
    while waiting:
        node, in_flow = waiting.pop()
        if id(node) in seen:
            continue
        if type(node) is ScalarNode:
            yield node if node.style or _is_alike(node.value, scalar_reads_alike, in_flow=in_flow) else None
            continue
        seen.add(id(node))
        in_flow = bool(node.flow_style)
        if type(node) is MappingNode:
            for key, value in node.value:
                yield key if key.style or _is_alike(key.value, is_certain_text, in_flow=in_flow) else None
                waiting.append((value, in_flow))
        else:
            waiting += [(child, in_flow) for child in node.value]


def _is_mostly_aliases(root: Any) -> bool:
    sizes: dict[int, int] = {}

    def size(node: Any) -> int:
        if id(node) not in sizes:
            children = node.value if type(node) is not ScalarNode else ()
            pairs = (child if isinstance(child, tuple) else (child,) for child in children)
            sizes[id(node)] = 1 + sum(size(child) for pair in pairs for child in pair)
        return sizes[id(node)]

    return size(root) > MAX_EXPANSION * len(sizes)


def _is_alike(plain: str, reads: Callable[[str], bool], *, in_flow: bool) -> bool:
    """Whether all readers agree on a plain value, or read a plain key as the same text; false for a merge key."""
    return reads(plain) and not (in_flow and _INDICATOR_IN_WORD.search(plain))


def _has_odd_tab(quoted: list[Any], text: str) -> bool:
    """Whether the text has a tab that some parsers refuse: anywhere but in quotes, comments and block scalars."""
    unquoted = []
    position = 0
    for scalar in sorted(quoted, key=lambda scalar: scalar.start_mark.index):
        if scalar.style in "|>" and _ODD_TAB_IN_BLOCK.search(_source(scalar, text)):
            return True
        unquoted.append(text[position : scalar.start_mark.index])
        position = max(position, scalar.end_mark.index)
    unquoted.append(text[position:])
    return bool(_ODD_TAB.search('""'.join(unquoted)))


def _source(scalar: Any, text: str) -> str:
    """Returns a scalar as written, with its quotes or its head."""
    return text[scalar.start_mark.index : scalar.end_mark.index]
