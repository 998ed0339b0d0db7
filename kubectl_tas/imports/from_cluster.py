"""The objects of a cluster in; a Config, pools, subpools and topologies that render the same objects out."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from kubectl_tas import kai
from kubectl_tas.errors import TasError
from kubectl_tas.imports.queuetree import Forest, LivePool, LiveQueue, forest, live_queue
from kubectl_tas.imports.written import Imported, Making, Unplaced, config, distinct, document, plain_name
from kubectl_tas.kai import Feature
from kubectl_tas.live.cluster_state import Record
from kubectl_tas.live.kubectl import shown
from kubectl_tas.model.config import PRIORITY_VALUES, ConfigSpec
from kubectl_tas.model.pool_kinds import UNLIMITED
from kubectl_tas.model.topology_kinds import ClusterTopology
from kubectl_tas.quantities import NO_LIMIT, RESOURCES, Amounts, ResourceName, show
from kubectl_tas.records import dataclass
from kubectl_tas.resolve import names

if TYPE_CHECKING:
    from kubectl_tas.model.artifact import Artifact


PREFIX: str = ConfigSpec().queuePrefix
_IMAGE = re.compile(r"kai-scheduler/[a-z-]+:v?([0-9]{1,4}\.[0-9]{1,4}\.[0-9]{1,4})(?![0-9.])")
"""An image of KAI with its release."""
_KAI_TOPOLOGY = "kai.scheduler/"
DEFAULT_PRIORITY = 100
"""What KAI takes for the priority of a queue that has none."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """What an import is asked for, beside the cluster."""

    context: str | None = None
    """The context that is written into the Config."""
    sums: bool = False
    """Whether a pool is guaranteed at least what its subpools come to."""


@dataclass(slots=True, kw_only=True)
class _Making(Making):
    namespace: str
    release: kai.Release


def import_cluster(record: Record, wanted: Wanted) -> Imported:
    """The files for what a cluster has. Raises TasError where it has objects that are none."""
    try:
        return _imported(record, wanted)
    except (KeyError, TypeError, AttributeError, ValueError, OverflowError) as error:
        hint = "It must be what `kubectl tas cluster state`, or `kubectl get ... -o json`, prints."
        raise TasError("the objects of the cluster cannot be read: one is not built as its kind", hint=hint) from error


def _imported(record: Record, wanted: Wanted) -> Imported:
    queues = [live_queue(item) for item in record.objects if item.get("kind") == "Queue"]
    usage = _namespaces(record.objects)
    version, note = _version(record)
    release = kai.release(version or f"{kai.NEWEST[0]}.{kai.NEWEST[1]}")
    if release is None:
        raise TasError(f"the cluster runs KAI {version}, which is older than {kai.known()}", hint="Update KAI.")
    making = _Making(namespace=_main_namespace(queues, usage), release=release, notes=note)
    deep = release.has(Feature.DEEP_QUEUES)
    found = forest(queues, has_root=deep, sums=wanted.sums)
    held = {str(item["metadata"]["name"]): _held(item) for item in record.objects if item.get("kind") == "Queue"}
    making.unplaced += (Unplaced("Queue", name, text, held[name]) for name, text in found.unplaced.items())
    pool_names = distinct(_pool_name(making, pool) for pool in found.pools)
    topologies = _topologies(making, record, {names.pool_topology(PREFIX, making.namespace, x): x for x in pool_names})
    for pool, name in zip(found.pools, pool_names, strict=True):
        _write_pool(making, pool, name, usage, topologies.get(name))
    classes = _priority_classes(making, record)
    _write_config(making, found, wanted, version, classes, record)
    return making.done()


def _namespaces(objects: Iterable[Mapping[str, Any]]) -> dict[str, Counter[str]]:
    """How many PodGroups of each queue there are in each namespace."""
    found: dict[str, Counter[str]] = {}
    for item in objects:
        if item.get("kind") == "PodGroup":
            metadata, spec = item.get("metadata") or {}, item.get("spec") or {}
            namespace = str(metadata.get("namespace") or "default")
            found.setdefault(str(spec.get("queue")), Counter())[namespace] += 1
    return found


def _main_namespace(queues: Sequence[LiveQueue], usage: Mapping[str, Counter[str]]) -> str:
    """The namespace that a root queue of the scheme names, else the only one with work."""
    prefix = names.root_queue(PREFIX, "")
    roots = [queue.name.removeprefix(prefix) for queue in queues if queue.name.startswith(prefix)]
    used = sorted({namespace for counts in usage.values() for namespace in counts})
    return roots[0] if roots else used[0] if len(used) == 1 else "default"


def _version(record: Record) -> tuple[str | None, list[str]]:
    """KAI's release, by its images, else as far as Topologies tell it; and what is to be said of it."""
    images = [
        str(container.get("image"))
        for item in record.objects
        if item.get("kind") == "Deployment"
        for container in item["spec"]["template"]["spec"]["containers"]
    ]
    releases = [found[1] for found in map(_IMAGE.search, images) if found]
    if releases:
        return max(releases, key=lambda text: tuple(map(int, text.split(".")))), []
    apis = {str(item.get("apiVersion")) for item in record.objects if item.get("kind") == "Topology"}
    version = "0.11" if apis and not any(api.startswith(_KAI_TOPOLOGY) for api in apis) else None
    note = "The cluster does not tell which release of KAI it runs: set scheduler.version of the backend in tas.yaml."
    return version, [note]


def _held(queue: Mapping[str, Any]) -> str:
    allocated = (queue.get("status") or {}).get("allocated") or {}
    held = str(allocated.get("nvidia.com/gpu", 0)) if isinstance(allocated, dict) else "0"
    return held if held not in ("0", "") else ""


def _pool_name(making: _Making, pool: LivePool) -> str:
    """What a pool is called: as its queue, without what the scheme adds."""
    scheme = names.pool_queue(PREFIX, making.namespace, "")
    name = plain_name(pool.container.name.removeprefix(scheme))
    room = names.MAX_LABEL - len(names.leaf_queue(PREFIX, making.namespace, "", names.SHARED))
    return names.shorten(name, max(room, names.HASH + 2))


def _subpool_name(pool: LivePool, name: str, queue: LiveQueue) -> str:
    """What a subpool is called: as its queue, without the name of the pool or of its queue."""
    short = queue.name
    for start in (pool.container.name, name):
        for separator in (names.SEPARATOR, "-", "."):
            short = short.removeprefix(f"{start}{separator}")
    found = plain_name(short)
    return f"{found}-queue" if found == names.SHARED else found


def _kept(queue: LiveQueue, scheme: str, display: str) -> dict[str, str]:
    """What is written of the name of a queue where it does not follow the scheme."""
    named = {} if queue.name == scheme else {"name": queue.name}
    return named if queue.display == display else {**named, "displayName": queue.display or ""}


def _write_pool(
    making: _Making, pool: LivePool, name: str, usage: Mapping[str, Counter[str]], keys: list[dict[str, str]] | None
) -> None:
    where, queue, shared = (PREFIX, making.namespace, name), pool.container, pool.shared
    counts: Counter[str] = sum((usage.get(item.name, Counter()) for item in pool.queues), Counter())
    namespaces = tuple(sorted(counts, key=lambda name: (-counts[name], name)))
    own = _kept(queue, names.pool_queue(*where), name)
    rest = _kept(shared, names.leaf_queue(*where, names.SHARED), f"{name}--_shared") if shared else {}
    spec: dict[str, Any] = {}
    if namespaces not in ((), (making.namespace,)):
        spec["namespaces"] = list(namespaces)
    spec["resources"] = _resources(pool.guarantee, queue)
    spec |= {"priority": queue.priority} if queue.priority is not None else {}
    for runtime in ("preemptMinRuntime", "reclaimMinRuntime"):
        spec |= {runtime: found} if (found := queue.runtime(runtime)) else {}
    spec |= {"nodePool": queue.shard} if queue.shard else {}
    spec |= {"queue": own} if own else {}
    spec |= {"sharedQueue": rest} if rest else {}
    spec |= {"topology_keys": keys} if keys else {}
    below = f", with {', '.join(item.name for item in pool.queues[1:])} below it" if pool.queues[1:] else ""
    making.write(f"pools/{name}.yaml", f"Imported: the Queue {queue.name}{below}.", document("Pool", name, spec))
    shorts = distinct(_subpool_name(pool, name, leaf) for leaf in pool.leaves)
    for leaf, short in zip(pool.leaves, shorts, strict=True):
        kept = _kept(leaf, names.leaf_queue(*where, short), f"{name}{names.SEPARATOR}{short}")
        data = document("Subpool", short, _subpool(pool, leaf, name, kept))
        making.write(f"subpools/{name}--{short}.yaml", f"Imported: the Queue {leaf.name}.", data)


def _resources(guarantee: Amounts, queue: LiveQueue) -> dict[str, Any]:
    """GPUs, and what else is limited."""
    found: dict[str, Any] = {}
    for name in RESOURCES:
        most, weight = _written(name, queue.limit), int(queue.weight.of(name))
        share = {"guarantee": _written(name, guarantee), "maximum": most, "weight": weight}
        if name == "gpu" or share != {"guarantee": UNLIMITED, "maximum": UNLIMITED, "weight": 1}:
            found[name] = share
    return found


def _written(name: ResourceName, amounts: Amounts) -> int | str:
    """An amount as files have it."""
    amount = amounts.of(name)
    if amount == NO_LIMIT:
        return UNLIMITED
    text = show(name, amount)
    return int(text) if text.isdecimal() else text


def _subpool(pool: LivePool, leaf: LiveQueue, parent: str, kept: Mapping[str, str]) -> dict[str, Any]:
    finite = [name for name in RESOURCES if pool.guarantee.of(name) != NO_LIMIT]
    quota = {name: _written(name, leaf.quota) for name in finite}
    whole = pool.container
    maximum = {name: _written(name, leaf.limit) for name in RESOURCES if leaf.limit.of(name) != whole.limit.of(name)}
    weight = {name: int(leaf.weight.of(name)) for name in RESOURCES if leaf.weight.of(name) != whole.weight.of(name)}
    spec: dict[str, Any] = {"parent": parent, "quota": quota["gpu"] if finite == ["gpu"] else quota}
    spec |= {"maximum": maximum} if maximum else {}
    spec |= {"weight": weight} if weight else {}
    if leaf.priority != whole.priority:
        spec["priority"] = DEFAULT_PRIORITY if leaf.priority is None else leaf.priority
    return {**spec, "state": "ACTIVE", **({"queue": kept} if kept else {})}


def _topologies(making: _Making, record: Record, own: Mapping[str, str]) -> dict[str, list[dict[str, str]]]:
    """Writes cluster topologies. The keys of Topologies that are called as those of pools are returned, by pool."""
    domains = {
        str(item["metadata"]["name"]): {level["key"]: level["domain"] for level in item["spec"]["levels"]}
        for item in record.objects
        if item.get("kind") in ("ClusterTopology", "ClusterTopologyBinding")
    }
    found: dict[str, list[dict[str, str]]] = {}
    for item in record.objects:
        if item.get("kind") != "Topology":
            continue
        name = str(item["metadata"]["name"])
        levels = (item.get("spec") or {}).get("levels") or []
        labels = [str(level["nodeLabel"]) for level in levels]
        named = zip(levels, labels, strict=True)
        called = distinct(str(level.get("alias") or level_name(label, domains.get(name))) for level, label in named)
        if name in own:
            found[own[name]] = [{"key": key, "label": label} for key, label in zip(called, labels, strict=True)]
            continue
        write_topology(making, name, list(zip(called, labels, strict=True)))
    return found


def write_topology(making: Making, name: str, levels: Iterable[tuple[str, str]]) -> bool:
    """Writes a cluster topology of keys and node labels; lists it where it has no place, and returns whether it has."""
    data = {
        "apiVersion": "grove.io/v1alpha1",
        "kind": "ClusterTopology",
        "metadata": {"name": name},
        "spec": {"levels": [{"domain": key, "key": label} for key, label in levels]},
    }
    try:
        ClusterTopology.model_validate(data)
    except ValidationError as error:
        first = error.errors()[0]
        reason = f"its level {shown(first['input'])} is none of a cluster topology: {first['msg']}"
        making.unplaced.append(Unplaced("Topology", name, reason))
        return False
    making.write(f"topologies/{names.file(plain_name(name))}", f"Imported: the Topology {name}.", data)
    return True


def level_name(label: str, domains: Mapping[str, str] | None = None) -> str:
    """What a level is called: as Grove calls it there, or after its label."""
    if domains and label in domains:
        return domains[label]
    last = label.rpartition("/")[2].lower()
    name = "host" if last == "hostname" else re.sub(r"[^a-z0-9]+", "-", last.removeprefix("topology-")).strip("-")
    return name if name[:1].isalpha() else f"level-{name}"


def _priority_classes(making: _Making, record: Record) -> dict[str, str]:
    """The PriorityClass of each priority, where it is not the default: that name stands for another value."""
    values = {str(x["metadata"]["name"]): x.get("value") for x in record.objects if x.get("kind") == "PriorityClass"}
    given: dict[str, str] = {}
    default: dict[str, str] = ConfigSpec().priorityClasses.model_dump()
    for priority, name in default.items():
        if name in values and values[name] != PRIORITY_VALUES[priority]:
            *_, given[priority] = distinct([*values, f"tas-{priority.lower()}"])
    own = (*default.values(), *kai.PRIORITY_CLASSES)
    three = ", ".join(f"{priority} {value}" for priority, value in PRIORITY_VALUES.items())
    for name, value in sorted(values.items()):
        is_taken = any(own_name == name and priority in given for priority, own_name in default.items())
        if is_taken or (name not in own and not name.startswith("system-")):
            reason = f"its value is {value}; there are three priorities here, {three}, each with a class of its own"
            making.unplaced.append(Unplaced("PriorityClass", name, reason))
    return {**default, **given} if given else {}


def _write_config(
    making: _Making, found: Forest, wanted: Wanted, version: str | None, classes: Mapping[str, str], record: Record
) -> None:
    backend: dict[str, Any] = {"name": "default", "namespace": making.namespace}
    backend |= {"scheduler": {"type": "kai", "version": version}} if version else {}
    backend |= {"context": wanted.context} if wanted.context else {}
    if making.release.has(Feature.DEEP_QUEUES):
        scheme = names.root_queue(PREFIX, making.namespace)
        kept: object = _kept(found.root, scheme, scheme) if found.root else "none"
        backend |= {"rootQueue": kept} if kept else {}
    levels = [level for x in record.objects if x.get("kind") == "Topology" for level in x["spec"].get("levels") or ()]
    if making.release.has(Feature.LEVEL_ALIAS) and levels and not any(level.get("alias") for level in levels):
        backend["levelAliases"] = False
    spec: dict[str, Any] = {"backends": [backend]}
    spec |= {"priorityClasses": dict(classes)} if classes else {}
    making.write("tas.yaml", "Imported from a cluster.", config(spec))


COMPARED = ("Queue", "Topology", "PriorityClass")
_ABOUT = ("apiVersion", "kind", "metadata")
_READ_AS = {"priority": DEFAULT_PRIORITY, "quota": 0, "limit": 0, "overQuotaWeight": 0}
"""What KAI takes for fields of a Queue that are left out."""


@dataclass(frozen=True, slots=True)
class Difference:
    """A field that would be another one."""

    path: str
    before: str
    after: str
    is_same: bool
    """Whether KAI reads both alike."""


@dataclass(frozen=True, slots=True)
class Compared:
    """An object that is rendered."""

    kind: str
    name: str
    differences: tuple[Difference, ...] | None
    """None: the cluster does not have it."""


def compared(artifacts: Iterable[Artifact], record: Record) -> list[Compared]:
    """Each object that is applied, in order. Labels and annotations that only one of both has do not count."""
    own = (item for item in record.objects if item["kind"] in COMPARED)
    live = {(str(item["kind"]), str(item["metadata"]["name"])): item for item in own}
    found = []
    for artifact in artifacts:
        manifest = artifact.manifest.model_dump(mode="json", exclude_none=True, by_alias=True)
        kind, name = str(manifest["kind"]), str(manifest["metadata"]["name"])
        if artifact.apply and kind in COMPARED:
            there = live.get((kind, name))
            found.append(Compared(kind, name, None if there is None else tuple(_differences(there, manifest))))
    return found


def _differences(live: Mapping[str, Any], manifest: Mapping[str, Any]) -> Iterator[Difference]:
    if live.get("apiVersion") != manifest["apiVersion"]:
        yield Difference("apiVersion", shown(live.get("apiVersion")), shown(manifest["apiVersion"]), is_same=False)
    for part in ("labels", "annotations"):
        there = live["metadata"].get(part) or {}
        if not isinstance(there, dict):
            message = f"the {live['kind']} {manifest['metadata']['name']} of the cluster cannot be read"
            hint = "It must be what `kubectl get ... -o json` prints."
            raise TasError(f"{message}: its {part} are {shown(there)}", hint=hint)
        for key, value in manifest["metadata"].get(part, {}).items():
            if there.get(key, value) != value:
                yield Difference(f"metadata.{part}[{key}]", shown(there[key]), shown(value), is_same=False)
    for name, value in manifest.items():
        if name not in _ABOUT:
            yield from _between(name, live.get(name), value)


def _between(path: str, before: Any, after: Any) -> Iterator[Difference]:
    """What an object says otherwise at a path. What only the cluster has stays there, and is no difference."""
    if isinstance(after, dict) and isinstance(before, dict | None):
        for key, value in after.items():
            yield from _between(f"{path}.{key}", (before or {}).get(key), value)
    elif isinstance(after, list) and isinstance(before, list) and len(after) == len(before):
        for index, (old, new) in enumerate(zip(before, after, strict=True)):
            yield from _between(f"{path}[{index}]", old, new)
    elif before != after:
        read = _READ_AS.get(path.rpartition(".")[2]) if before is None else before
        yield Difference(path, "not there" if before is None else _text(before), _text(after), is_same=read == after)


def _text(value: object) -> str:
    return f"{len(value)} items" if isinstance(value, list) else shown(value)
