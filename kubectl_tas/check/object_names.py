"""Checks that every name is valid in Kubernetes, and that the resulting queue names are not too long."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from kubectl_tas.base.diagnostics import Diagnostic, Location, Rule
from kubectl_tas.facts.spellings import TEMPLATED
from kubectl_tas.model.base import KeyPath
from kubectl_tas.model.labels import MAX_LABEL, MAX_NAME, POOL
from kubectl_tas.model.osmo_workflow import Workflow
from kubectl_tas.model.pool_kinds import Pool, Subpool
from kubectl_tas.model.repository import Declared
from kubectl_tas.model.topology_kinds import ClusterTopology
from kubectl_tas.resolve import names
from kubectl_tas.resolve.fleet import Fleet

if TYPE_CHECKING:
    from kubectl_tas.model.scheduling_shard import SchedulingShard

NAME_INVALID = Rule.error(
    "name-invalid",
    "A name cannot become the name of a Kubernetes object.",
    "An API server accepts lower-case letters, digits and '-', with a letter or digit at both ends. In "
    "workflows upper case and '_' are accepted too, because OSMO folds them. Many operators accept less: they make "
    "Services, labels and host names of the name, so it must begin with a letter, without a '.'.",
)
NAME_DELIMITER = Rule.error(
    "name-delimiter",
    "The name of a pool, subpool or namespace contains '--'.",
    "'--' separates a pool from its subpool. In a name of its own it would make two different paths read the same.",
)
NAME_RESERVED = Rule.error(
    "name-reserved",
    "A subpool is called shared or '_...', or a topology grove-topology.",
    "shared is the queue of work that is sent to the pool itself. Names that begin with '_' are reserved for such "
    "queues. Before 0.1.0-alpha.9 Grove's operator writes grove-topology from its own configuration.",
)
QUEUE_NAME_TOO_LONG = Rule.error(
    "queue-name-too-long",
    "The name of a queue has more than 63 characters.",
    "Pods name their queue in a label, and a label value has at most 63 characters. Shorten the name of the subpool, "
    "the pool or the namespace, or the prefix.",
)
RESERVED_TOPOLOGY = "grove-topology"


def check_names(fleet: Fleet) -> Iterator[Diagnostic]:
    """Checks the names in the Config, and the lengths of the names of queues."""
    config = fleet.repository.config
    if config is not None:
        for index, declared_backend in enumerate(fleet.config.backends):
            path, name, namespace = ("spec", "backends", index), declared_backend.name, declared_backend.namespace
            limit = MAX_LABEL if declared_backend.rootQueue is not None else None  # else its queue has too long a name
            yield from label_problems("namespace", namespace, config.at(*path, "namespace"), limit=limit)
            if not names.is_label(name):
                yield _invalid("backend name", name, config.at(*path, "name"))
            elif len(name) > MAX_NAME:  # a folder is called so
                yield _long("backend name", name, config.at(*path, "name"))
        if not names.is_label(fleet.config.queuePrefix):
            yield _invalid("queue prefix", fleet.config.queuePrefix, config.at("spec", "queuePrefix"))
        elif len(fleet.config.queuePrefix) > MAX_LABEL:  # where all queues keep their names
            yield _long("queue prefix", fleet.config.queuePrefix, config.at("spec", "queuePrefix"), MAX_LABEL)
        for priority, name in fleet.config.priorityClasses:
            yield from _subdomain("priority class", name, config.at("spec", "priorityClasses", priority))
    config, prefix = fleet.repository.config, fleet.config.queuePrefix
    for backend in fleet.backends:
        root = backend.root_queue(prefix)
        if config is not None and root is not None and len(root) > MAX_LABEL:
            yield _too_long(root, config.at("spec", "backends", backend.index, "namespace"), "namespace")
    for pool in fleet.pools:
        if len(pool.shared_queue) > MAX_LABEL:
            yield _too_long(pool.shared_queue, pool.declared.at("metadata", "name"), "name of the pool")
            continue
        targets: list[tuple[str, Declared[Pool] | Declared[Subpool]]] = [(pool.name, pool.declared)]
        for target, declared in targets + [(subpool.canonical, subpool.declared) for subpool in pool.subpools]:
            if len(target) > MAX_LABEL:  # its queue has a name of its own then
                location = declared.at("metadata", "name")
                message = f"its objects get the label {POOL}: {target}, which has {len(target)} characters"
                yield Diagnostic(NAME_INVALID, message, location, hint=f"Shorten it: a label has at most {MAX_LABEL}.")
        for subpool in pool.subpools:
            if len(subpool.queue) > MAX_LABEL:
                yield _too_long(subpool.queue, subpool.declared.at("metadata", "name"), "name of the subpool")


def check_pool_name(pool: Declared[Pool], _fleet: Fleet) -> Iterator[Diagnostic]:
    """Checks the name of a pool."""
    yield from label_problems("pool", pool.spec.metadata.name, pool.at("metadata", "name"))


def check_topology_name(topology: Declared[ClusterTopology], fleet: Fleet) -> Iterator[Diagnostic]:
    """Checks the name of a cluster topology, and the names that its bindings refer to."""
    name, location = topology.spec.metadata.name, topology.at("metadata", "name")
    early = [backend for backend in fleet.backends if not backend.grove_release.has_names]
    if name == RESERVED_TOPOLOGY and early:
        version = early[0].spec.grove.version
        message = f'the topology name "{name}" is reserved for the operator of Grove {version}'
        hint = "Choose another name, and let pools and workloads refer to that."
        yield Diagnostic(NAME_RESERVED, message, location, hint=hint)
    else:
        yield from _subdomain("topology name", name, location)
    for index, binding in enumerate(topology.spec.spec.schedulerTopologyBindings):
        location = topology.at("spec", "schedulerTopologyBindings", index, "topologyReference")
        yield from _subdomain("topologyReference", binding.topologyReference, location)


def check_shard_name(shard: Declared[SchedulingShard], fleet: Fleet) -> Iterator[Diagnostic]:
    """Checks the name of a shard. KAI's operator makes a Service of it, named after the scheduler and the shard."""
    schedulers = [backend.scheduler_name for backend in fleet.backends if backend.is_kai]
    limit = MAX_LABEL - max(map(len, schedulers), default=0) - 1
    name, location = shard.spec.metadata.name, shard.at("metadata", "name")
    if not names.is_label(name):
        yield _invalid("shard name", name, location)
    elif len(name) > limit:
        yield _long("shard name", name, location, limit)


def label_problems(
    described_name: str, name: str, location: Location, *, limit: int | None = None
) -> Iterator[Diagnostic]:
    """Checks the name of a pool, subpool or namespace. ``limit`` is its maximum number of characters."""
    if not names.is_label(name) and names.SEPARATOR not in name.strip("-"):
        yield _invalid(f"{described_name} name", name, location)
    elif names.SEPARATOR in name:
        message = f'the {described_name} name "{name}" contains "--", which separates a pool from its subpool'
        yield Diagnostic(NAME_DELIMITER, message, location, hint="Use a single '-'.")
    elif limit is not None and len(name) > limit:
        yield _long(f"{described_name} name", name, location, limit)


def check_subpool_name(subpool: Declared[Subpool], _fleet: Fleet) -> Iterator[Diagnostic]:
    """Checks the name of a subpool."""
    name, location = subpool.spec.metadata.name, subpool.at("metadata", "name")
    short = name.removeprefix(f"{subpool.spec.spec.parent}{names.SEPARATOR}")
    if short != name and names.is_label(short):
        message = f'the subpool name "{name}" contains the name of its pool, which spec.parent says'
        yield Diagnostic(NAME_DELIMITER, message, location, hint=f"Write {short}.")
    elif names.fold(name) == names.SHARED:
        message = f'the subpool name "{name}" is reserved for the queue of the pool itself'
        yield Diagnostic(NAME_RESERVED, message, location, hint="Choose another name.")
    elif name.startswith("_"):
        message = f'the subpool name "{name}" begins with "_", which is reserved for queues of the tool'
        yield Diagnostic(NAME_RESERVED, message, location, hint="Choose a name without the '_' in front.")
    else:
        yield from label_problems("subpool", name, location)


def _subdomain(described_name: str, name: str, location: Location) -> Iterator[Diagnostic]:
    if len(name) > MAX_NAME:
        yield _long(described_name, name, location)
    elif not all(names.is_label(label_of_name) for label_of_name in name.split(".")):
        yield _invalid(described_name, name, location, dots=True)


def _long(described_name: str, name: str, location: Location, limit: int = MAX_NAME) -> Diagnostic:
    message = f"the {described_name} has {len(name)} characters, more than the {limit} of a Kubernetes name"
    return Diagnostic(NAME_INVALID, message, location, hint="Shorten it.")


def _invalid(described_name: str, name: str, location: Location, *, dots: bool = False) -> Diagnostic:
    characters = "lower-case letters, digits, '-' and '.'" if dots else "lower-case letters, digits and '-'"
    message = f'the {described_name} "{name}" must be {characters}, a letter or digit first and last'
    return Diagnostic(NAME_INVALID, message, location, hint=_example(name))


def _example(name: str) -> str:
    if "{{" in name:
        return TEMPLATED
    suggestion = re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")
    return f"For example: {suggestion}." if suggestion else "Choose another name."


def check_workflow_names(declared: Declared[Workflow], _fleet: Fleet) -> Iterator[Diagnostic]:
    """Checks the names in a workflow. Each name must be a valid label after folding."""
    for described_name, name, path in (*workflow_names(declared.spec), *_topology_groups(declared.spec)):
        if not names.is_label(names.fold(name)):
            message = (
                f"the {described_name} name \"{name}\" must be letters, digits, '-' and '_', "
                "a letter or digit first and last"
            )
            location = declared.origin.locate(path, key=described_name == "resource")
            yield Diagnostic(NAME_INVALID, message, location, hint=_example(name))


def _topology_groups(workflow: Workflow) -> Iterator[tuple[str, str, KeyPath]]:
    for _, resource, path in workflow.all_resources:
        for index, requirement in enumerate(resource.topology):
            yield "topology group", requirement.group, (*path, "topology", index, "group")


def workflow_names(workflow: Workflow) -> Iterator[tuple[str, str, KeyPath]]:
    """Yields every name that a workflow defines: what has the name, the name as written, and its path."""
    yield "workflow", workflow.workflow.name, ("workflow", "name")
    for group, path, places in workflow.all_groups:
        if workflow.workflow.groups:
            yield "group", group.name, (*path, "name")
        for task, task_path in zip(group.tasks, places, strict=True):
            yield "task", task.name, (*task_path, "name")
    for name, _, path in workflow.all_resources:
        yield "resource", name, path


def _too_long(queue: str, location: Location, described_owner: str) -> Diagnostic:
    over = len(queue) - MAX_LABEL
    message = f'the queue name "{queue}" has {len(queue)} characters, {over} more than the {MAX_LABEL} allowed'
    plural = "character" if over == 1 else "characters"
    return Diagnostic(QUEUE_NAME_TOO_LONG, message, location, hint=f"Cut {over} {plural} from the {described_owner}.")
