"""Imports the objects of a cluster as a Config, pools, subpools and topologies that render the same objects."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from kubectl_tas.base.diagnostics import TasError
from kubectl_tas.base.late import dataclass
from kubectl_tas.facts import kai
from kubectl_tas.facts.kai import Feature
from kubectl_tas.facts.quantities import NO_LIMIT, RESOURCES, Amounts, ResourceName, said, show
from kubectl_tas.imports.queuetree import MARKS, Forest, LivePool, LiveQueue, forest, live_queue
from kubectl_tas.imports.written import Imported, Making, Unplaced, config, distinct, document, plain_name
from kubectl_tas.live.cluster_state import Record
from kubectl_tas.live.objects import RUNS_KAI, shown
from kubectl_tas.model.config import DEFAULTS, PRIORITY_VALUES, ConfigSpec
from kubectl_tas.model.labels import MAX_LABEL, setter
from kubectl_tas.model.pool_kinds import UNLIMITED
from kubectl_tas.model.scheduling_shard import SchedulingShard
from kubectl_tas.model.topology_kinds import ClusterTopology
from kubectl_tas.report.text import plural
from kubectl_tas.resolve import names

if TYPE_CHECKING:
    from kubectl_tas.model.artifact import Artifact
    from kubectl_tas.resolve.fleet import Fleet


_IMAGE = re.compile(r"kai-scheduler/[a-z-]+:v?([0-9]{1,4}\.[0-9]{1,4}\.[0-9]{1,4})(?![0-9.])")
"""A pattern for an image of KAI with its release."""
_KAI_TOPOLOGY = "kai.scheduler/"
DEFAULT_PRIORITY = 100
"""The priority that KAI assumes for a queue without one."""


@dataclass(frozen=True, slots=True)
class ImportOptions:
    """Options of an import."""

    context: str | None = None
    """The kubeconfig context to write into the Config."""
    sums: bool = False
    """Whether a pool gets at least the sum of its subpools' quotas as its guarantee."""
    backend: str = "default"
    """Name of the backend for the cluster."""
    repository: Fleet | None = None
    """The repository to add the cluster to; None: the import makes a new repository."""

    @property
    def config(self) -> ConfigSpec:
        """The settings that determine the names of objects."""
        return self.repository.config if self.repository else DEFAULTS


@dataclass(slots=True, kw_only=True)
class _ClusterMaking(Making):
    options: ImportOptions
    namespace: str
    release: kai.Release
    usage: Mapping[str, Counter[str]]
    """Number of PodGroups by queue and namespace."""

    @property
    def prefix(self) -> str:
        """Prefix of queue names in the naming scheme."""
        return self.options.config.queuePrefix

    def namespaces(self, queues: Iterable[LiveQueue]) -> list[str]:
        """Returns the namespaces with work of the given queues, most work first."""
        counts: Counter[str] = sum((self.usage.get(queue.name, Counter()) for queue in queues), Counter())
        return sorted(counts, key=lambda name: (-counts[name], name))


def import_cluster(record: Record, options: ImportOptions) -> Imported:
    """Makes the files for the objects of a cluster. Raises TasError if its KAI is too old."""
    queues = [live_queue(queue_object) for queue_object in record.objects if queue_object.get("kind") == "Queue"]
    usage = _namespaces(record.objects)
    version, note = _version(record)
    release = kai.release(version or f"{kai.NEWEST[0]}.{kai.NEWEST[1]}")
    if release is None:
        raise TasError(f"the cluster runs KAI {version}, which is older than {kai.known()}", hint="Update KAI.")
    start = names.root_queue(options.config.queuePrefix, "")
    roots = [queue.name.removeprefix(start) for queue in queues if queue.name.startswith(start)]
    used = sorted({namespace for counts in usage.values() for namespace in counts})
    namespace = roots[0] if roots else used[0] if len(used) == 1 else "default"
    making = _ClusterMaking(options=options, namespace=namespace, release=release, usage=usage, notes=note)
    deep = release.has(Feature.DEEP_QUEUES)
    queue_forest = forest(queues, has_root=deep, sums=options.sums)
    held = {str(each["metadata"]["name"]): _held_gpus(each) for each in record.objects if each.get("kind") == "Queue"}
    making.unplaced += (Unplaced("Queue", name, text, held[name]) for name, text in queue_forest.unplaced.items())
    pool_names = _pool_names(making, queue_forest.pools)
    pool_by_topology = {names.pool_topology(making.prefix, making.namespace, name): name for name in pool_names}
    topologies = _topologies(making, record, pool_by_topology)
    for pool, name in zip(queue_forest.pools, pool_names, strict=True):
        _write_pool(making, pool, name, topologies.get(name))
    _shards(making, record)
    classes = _priority_classes(making, record)
    backend = _backend(making, queue_forest, version, record)
    if options.repository is None:
        spec = {"backends": [backend], **({"priorityClasses": classes} if classes else {})}
        making.write("tas.yaml", "Imported from a cluster.", config(spec))
    return making.done({"backends": [backend]})


def _namespaces(objects: Iterable[Mapping[str, Any]]) -> dict[str, Counter[str]]:
    counts_by_queue: dict[str, Counter[str]] = {}
    for cluster_object in objects:
        if cluster_object.get("kind") == "PodGroup":
            metadata, spec = cluster_object.get("metadata") or {}, cluster_object.get("spec") or {}
            namespace = str(metadata.get("namespace") or "default")
            counts_by_queue.setdefault(str(spec.get("queue")), Counter())[namespace] += 1
    return counts_by_queue


def _version(record: Record) -> tuple[str | None, list[str]]:
    """Returns KAI's release, from its images or else from the API of Topologies, and notes for the user."""
    if release := release_of_images(record.objects):
        return release, []
    apis = {str(each.get("apiVersion")) for each in record.objects if each.get("kind") == "Topology"}
    version = "0.11" if apis and not any(api.startswith(_KAI_TOPOLOGY) for api in apis) else None
    note = "The cluster does not tell which release of KAI it runs: set scheduler.version of the backend in tas.yaml."
    return version, [note]


def release_of_images(objects: Iterable[Mapping[str, Any]]) -> str:
    """Returns KAI's release by the images of its Deployments. Empty: no image tells it."""
    images = (str(container.get("image")) for x in objects if x.get("kind") == RUNS_KAI for container in _containers(x))
    releases = [match[1] for match in map(_IMAGE.search, images) if match]
    return max(releases, key=lambda text: tuple(map(int, text.split("."))), default="")


def _containers(deployment: Mapping[str, Any]) -> Iterable[Mapping[str, Any]]:
    template = (deployment.get("spec") or {}).get("template") or {}
    return (template.get("spec") or {}).get("containers") or ()


def _held_gpus(queue: Mapping[str, Any]) -> str:
    allocated = (queue.get("status") or {}).get("allocated") or {}
    held = str(allocated.get("nvidia.com/gpu", 0))
    return held if held not in ("0", "") else ""


def _pool_names(making: _ClusterMaking, pools: Sequence[LivePool]) -> list[str]:
    """Returns the names of pools: the queue names without the parts of the naming scheme. If a pool with the name is
    there, it keeps its name, and the new pool gets the name of its cluster as a suffix.
    """
    scheme = names.pool_queue(making.prefix, making.namespace, "")
    room = MAX_LABEL - len(names.leaf_queue(making.prefix, making.namespace, "", names.SHARED))
    repository = making.options.repository
    existing_names = {pool.spec.metadata.name for pool in repository.repository.pools} if repository else set()
    new_names, plain_names = [], []
    for pool in pools:
        full = plain_name(pool.container.name.removeprefix(scheme))
        name = names.shorten(full, max(room, names.HASH + 2))
        wanted_name = f"{full}-{plain_name(making.options.backend)}" if name in existing_names else full
        plain_names.append(name)
        new_names.append(names.shorten(wanted_name, max(room, names.HASH + 2)))
    called = distinct(new_names, existing_names)
    for pool, name, new in zip(pools, plain_names, called, strict=True):
        if name in existing_names:
            making.clashes.append(_clash(making.options, pool, name, new))
    return called


def _clash(options: ImportOptions, pool: LivePool, name: str, new_name: str) -> str:
    """Says how a pool is named, and how its quota differs from the pool that already has its name."""
    assert options.repository is not None
    existing_pool = options.repository.pool_by_name.get(name)
    said_of = f"Queue {pool.container.name}: pool {new_name}, since pool {name} is there"
    if existing_pool is None:
        return said_of
    guarantees = ((name, existing_pool.guarantee.of(name), pool.guarantee.of(name)) for name in RESOURCES)
    quotas = [f"{said(name, old)} there, {said(name, new)} here" for name, old, new in guarantees if old != new]
    return f"{said_of} on backend {existing_pool.backend.name}, with {'; '.join(quotas) or 'the same quota'}"


def _subpool_name(pool: LivePool, name: str, queue: LiveQueue) -> str:
    """Returns the name of a subpool: the queue name without the name of the pool or of the pool's queue."""
    short = queue.name
    for start in (pool.container.name, name):
        for separator in (names.SEPARATOR, "-", "."):
            short = short.removeprefix(f"{start}{separator}")
    subpool_name = plain_name(short)
    return f"{subpool_name}-queue" if subpool_name == names.SHARED else subpool_name


def _queue_fields(queue: LiveQueue, scheme: str, display: str) -> dict[str, Any]:
    """Returns what a file states about a queue: labels, annotations, and names that deviate from the naming scheme."""
    named: dict[str, Any] = {} if queue.name == scheme else {"name": queue.name}
    named |= {} if queue.display == display else {"displayName": queue.display or ""}
    return {**named, **queue.marks}


def _write_pool(making: _ClusterMaking, pool: LivePool, name: str, keys: list[dict[str, str]] | None) -> None:
    where, queue, shared = (making.prefix, making.namespace, name), pool.container, pool.shared
    own_work = making.namespaces([queue, *((shared,) if shared else ())])
    namespaces = list(dict.fromkeys((*own_work, *making.namespaces(pool.leaves))))
    pool_queue = _queue_fields(queue, names.pool_queue(*where), name)
    shared_queue = _queue_fields(shared, names.leaf_queue(*where, names.SHARED), f"{name}--_shared") if shared else {}
    spec: dict[str, Any] = {"backend": making.options.backend} if making.options.repository else {}
    if namespaces not in ([], [making.namespace]):
        spec["namespaces"] = namespaces
    spec["resources"] = _resources(pool.guarantee, queue)
    spec |= {"priority": queue.priority} if queue.priority is not None else {}
    for runtime in ("preemptMinRuntime", "reclaimMinRuntime"):
        spec |= {runtime: minimum_runtime} if (minimum_runtime := queue.runtime(runtime)) else {}
    spec |= {"nodePool": queue.shard} if queue.shard else {}
    spec |= {"queue": pool_queue} if pool_queue else {}
    spec |= {"sharedQueue": shared_queue} if shared_queue else {}
    spec |= {"topology_keys": keys} if keys else {}
    below = f", with {', '.join(leaf_queue.name for leaf_queue in pool.queues[1:])} below it"
    making.write(f"pools/{name}.yaml", f"Imported: the Queue {queue.name}{below}.", document("Pool", name, spec))
    shorts = distinct(_subpool_name(pool, name, leaf) for leaf in pool.leaves)
    for leaf, short in zip(pool.leaves, shorts, strict=True):
        subpool_queue = _queue_fields(leaf, names.leaf_queue(*where, short), f"{name}{names.SEPARATOR}{short}")
        own_work = making.namespaces([leaf]) if len(namespaces) > 1 else []
        data = document("Subpool", short, _subpool(pool, leaf, name, own_work, subpool_queue))
        making.write(f"subpools/{name}--{short}.yaml", f"Imported: the Queue {leaf.name}.", data)


def _resources(guarantee: Amounts, queue: LiveQueue) -> dict[str, Any]:
    """Returns the resources of a pool: GPUs, and others that are limited."""
    resources: dict[str, Any] = {}
    for name in RESOURCES:
        most, weight = file_amount(name, queue.limit), int(queue.weight.of(name))
        share = {"guarantee": file_amount(name, guarantee), "maximum": most, "weight": weight}
        if name == "gpu" or share != {"guarantee": UNLIMITED, "maximum": UNLIMITED, "weight": 1}:
            resources[name] = share
    return resources


def file_amount(name: ResourceName, amounts: Amounts) -> int | str:
    """Returns an amount in the form that files use."""
    amount = amounts.of(name)
    if amount == NO_LIMIT:
        return UNLIMITED
    text = show(name, amount)
    return int(text) if text.isdecimal() else text


def _subpool(
    pool: LivePool, leaf: LiveQueue, parent: str, namespaces: Sequence[str], queue_fields: Mapping[str, Any]
) -> dict[str, Any]:
    finite = [name for name in RESOURCES if pool.guarantee.of(name) != NO_LIMIT]
    quota = {name: file_amount(name, leaf.quota) for name in finite}
    whole = pool.container
    maximum = {name: file_amount(name, leaf.limit) for name in RESOURCES if leaf.limit.of(name) != whole.limit.of(name)}
    weight = {name: int(leaf.weight.of(name)) for name in RESOURCES if leaf.weight.of(name) != whole.weight.of(name)}
    spec: dict[str, Any] = {"parent": parent, "quota": quota["gpu"] if finite == ["gpu"] else quota}
    spec |= {"maximum": maximum} if maximum else {}
    spec |= {"weight": weight} if weight else {}
    if leaf.priority != whole.priority:
        spec["priority"] = DEFAULT_PRIORITY if leaf.priority is None else leaf.priority
    spec |= {"namespaces": namespaces} if namespaces else {}
    return {**spec, "state": "ACTIVE", **({"queue": queue_fields} if queue_fields else {})}


def _topologies(
    making: _ClusterMaking, record: Record, pool_by_topology: Mapping[str, str]
) -> dict[str, list[dict[str, str]]]:
    """Writes cluster topologies. Returns, by pool, the keys of Topologies that are named as a pool's topology."""
    domains = {
        str(topology["metadata"]["name"]): {level["key"]: level["domain"] for level in topology["spec"]["levels"]}
        for topology in record.objects
        if topology.get("kind") in ("ClusterTopology", "ClusterTopologyBinding")
    }
    keys_by_pool: dict[str, list[dict[str, str]]] = {}
    existing_topologies = making.options.repository.cluster_topologies if making.options.repository else {}
    for topology in record.objects:
        if topology.get("kind") != "Topology":
            continue
        name = str(topology["metadata"]["name"])
        levels = (topology.get("spec") or {}).get("levels") or []
        labels = [str(level["nodeLabel"]) for level in levels]
        named = zip(levels, labels, strict=True)
        called = distinct(str(level.get("alias") or level_name(label, domains.get(name))) for level, label in named)
        if name in pool_by_topology:
            keys_by_pool[pool_by_topology[name]] = [
                {"key": key, "label": label} for key, label in zip(called, labels, strict=True)
            ]
            continue
        if name in existing_topologies:
            continue  # it is the same one, or what is rendered differs
        write_topology(making, name, list(zip(called, labels, strict=True)))
    return keys_by_pool


def write_topology(making: Making, name: str, levels: Iterable[tuple[str, str]]) -> bool:
    """Writes a cluster topology of keys and node labels. Lists an invalid one instead, and returns False."""
    levels = list(levels)
    data = {
        "apiVersion": "grove.io/v1alpha1",
        "kind": "ClusterTopology",
        "metadata": {"name": name},
        "spec": {"levels": [{"domain": key, "key": label} for key, label in levels]},
    }
    try:
        ClusterTopology.model_validate(data)
    except ValidationError as error:
        level = shown(error.errors()[0]["input"])
        reason = f"no cluster topology can have its level {level}" if levels else "it has no levels"
        making.unplaced.append(Unplaced("Topology", name, reason))
        return False
    making.write(f"topologies/{names.file(plain_name(name))}", f"Imported: the Topology {name}.", data)
    return True


def _shards(making: _ClusterMaking, record: Record) -> None:
    """Writes the SchedulingShards of the cluster, as it has them. The repository keeps those that it declares."""
    repository = making.options.repository
    declared = {shard.name for shard in repository.shards} if repository else set()
    for shard in record.objects:
        name = str((shard.get("metadata") or {}).get("name"))
        if shard.get("kind") != "SchedulingShard" or name in declared:
            continue
        data = {**{key: shard[key] for key in ("apiVersion", "kind")}, "metadata": {"name": name}}
        data |= {"spec": shard["spec"]} if shard.get("spec") else {}
        try:
            SchedulingShard.model_validate(data)
        except ValidationError as error:
            path = ".".join(map(str, error.errors()[0]["loc"]))
            making.unplaced.append(Unplaced("SchedulingShard", name, f"{path} has a value that is not read here"))
            continue
        file = names.file(f"shard-{plain_name(name)}")
        making.write(f"pools/{file}", f"Imported: the SchedulingShard {name}.", data)


def level_name(label: str, domains: Mapping[str, str] | None = None) -> str:
    """Returns the name of a level: the name in Grove, else a name derived from the node label."""
    if domains and label in domains:
        return domains[label]
    last = label.rpartition("/")[2].lower()
    name = "host" if last == "hostname" else re.sub(r"[^a-z0-9]+", "-", last.removeprefix("topology-")).strip("-")
    return name if name[:1].isalpha() else f"level-{name}"


def _priority_classes(making: _ClusterMaking, record: Record) -> dict[str, str]:
    """Returns the PriorityClasses of all priorities, if a default name already has another value in the cluster."""
    values = {str(x["metadata"]["name"]): x.get("value") for x in record.objects if x.get("kind") == "PriorityClass"}
    new_names: dict[str, str] = {}
    default: dict[str, str] = making.options.config.priorityClasses.model_dump()
    for priority, name in default.items() if making.options.repository is None else ():
        if name in values and values[name] != PRIORITY_VALUES[priority]:
            *_, new_names[priority] = distinct([*values, f"tas-{priority.lower()}"])
    known_names = (*default.values(), *kai.PRIORITY_CLASSES)
    three = ", ".join(f"{priority} {value}" for priority, value in PRIORITY_VALUES.items())
    for name, value in sorted(values.items()):
        is_taken = any(own_name == name and priority in new_names for priority, own_name in default.items())
        if is_taken or (name not in known_names and not name.startswith("system-")):
            reason = f"its value is {value}; there are three priorities here, {three}, each with a class of its own"
            making.unplaced.append(Unplaced("PriorityClass", name, reason))
    return {**default, **new_names} if new_names else {}


def _backend(making: _ClusterMaking, queue_forest: Forest, version: str | None, record: Record) -> dict[str, Any]:
    options = making.options
    backend: dict[str, Any] = {"name": options.backend, "namespace": making.namespace}
    backend |= {"scheduler": {"type": "kai", "version": version}} if version else {}
    backend |= {"context": options.context} if options.context else {}
    if making.release.has(Feature.DEEP_QUEUES):
        scheme = names.root_queue(making.prefix, making.namespace)
        root_queue: object = _queue_fields(queue_forest.root, scheme, scheme) if queue_forest.root else "none"
        backend |= {"rootQueue": root_queue} if root_queue else {}
    topologies = [x.get("spec") or {} for x in record.objects if x.get("kind") == "Topology"]
    levels = [level for spec in topologies for level in spec.get("levels") or ()]
    if making.release.has(Feature.LEVEL_ALIAS) and levels and not any(level.get("alias") for level in levels):
        backend["levelAliases"] = False
    return backend


COMPARED = ("Queue", "Topology", "PriorityClass")
_IDENTIFYING = ("apiVersion", "kind", "metadata")
_READ_AS = {"priority": DEFAULT_PRIORITY, "quota": 0, "limit": 0, "overQuotaWeight": 0}
"""The values that KAI assumes for omitted fields of a Queue."""


@dataclass(frozen=True, slots=True)
class Difference:
    """A field with different values in the cluster and in the rendered object."""

    path: str
    before: str
    after: str
    is_same: bool
    """Whether KAI treats both values alike."""


@dataclass(frozen=True, slots=True)
class Compared:
    """A rendered object, compared with the cluster."""

    kind: str
    name: str
    differences: tuple[Difference, ...] | None
    """None means: the cluster does not have the object."""
    marks: tuple[tuple[str, str], ...] = ()
    """Labels and annotations in the cluster that no file keeps, each with the tool that sets it."""

    @property
    def is_clash(self) -> bool:
        """Whether the cluster has a different object with this name: a Topology with other levels, or a PriorityClass
        with another value. Neither can be changed in place.
        """
        start = {"Topology": "spec", "PriorityClass": "value"}.get(self.kind, "-")
        return any(not each.is_same and each.path.startswith(start) for each in self.differences or ())


def compared(artifacts: Iterable[Artifact], record: Record) -> list[Compared]:
    """Compares each applied object, in order. Labels and annotations that only the rendered object has are ignored."""
    compared_objects = (cluster_object for cluster_object in record.objects if cluster_object["kind"] in COMPARED)
    live = {(str(each["kind"]), str(each["metadata"]["name"])): each for each in compared_objects}
    comparisons = []
    for artifact in artifacts:
        manifest = artifact.manifest.model_dump(mode="json", exclude_none=True, by_alias=True)
        kind, name = str(manifest["kind"]), str(manifest["metadata"]["name"])
        if kind in COMPARED:
            live_object = live.get((kind, name))
            differences = None if live_object is None else tuple(_differences(live_object, manifest))
            marks = () if live_object is None else tuple(_marks(live_object))
            comparisons.append(Compared(kind, name, differences, marks))
    return comparisons


def _marks(live: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for field in MARKS:
        for key in live["metadata"].get(field) or {}:
            if (tool := setter(str(key))) not in (None, "kubectl-tas"):
                yield f"{field[:-1]} {key}", str(tool)


def _differences(live: Mapping[str, Any], manifest: Mapping[str, Any]) -> Iterator[Difference]:
    if live.get("apiVersion") != manifest["apiVersion"]:
        yield Difference("apiVersion", shown(live.get("apiVersion")), shown(manifest["apiVersion"]), is_same=False)
    for field in MARKS:
        live_marks = live["metadata"].get(field) or {}
        for key, value in manifest["metadata"].get(field, {}).items():
            if live_marks.get(key, value) != value:
                yield Difference(f"metadata.{field}[{key}]", shown(live_marks[key]), shown(value), is_same=False)
        for key, value in live_marks.items():
            if key not in manifest["metadata"].get(field, {}) and setter(str(key)) in (None, "kubectl-tas"):
                yield Difference(f"metadata.{field}[{key}]", shown(value), "not there", is_same=False)
    for name, value in manifest.items():
        if name not in _IDENTIFYING:
            yield from _differences_between(name, live.get(name), value)


def _differences_between(path: str, before: Any, after: Any) -> Iterator[Difference]:
    if isinstance(after, dict) and isinstance(before, dict | None):
        for key, value in after.items():
            yield from _differences_between(f"{path}.{key}", (before or {}).get(key), value)
        for key, value in (before or {}).items():
            if key not in after and value not in (None, "", {}, []):
                yield Difference(f"{path}.{key}", _text(value), "not there", is_same=False)
    elif isinstance(after, list) and isinstance(before, list) and len(after) == len(before):
        for index, (old, new) in enumerate(zip(before, after, strict=True)):
            yield from _differences_between(f"{path}[{index}]", old, new)
    elif before != after:
        read = _READ_AS.get(path.rpartition(".")[2]) if before is None else before
        yield Difference(path, "not there" if before is None else _text(before), _text(after), is_same=read == after)


def _text(value: object) -> str:
    return plural(len(value), "item") if isinstance(value, list) else shown(value)
