"""No two things have one name."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator

from kubectl_tas.check.names import workflow_names
from kubectl_tas.diagnostics import Diagnostic, Location, Related, Rule, Severity
from kubectl_tas.model.pool import Pool
from kubectl_tas.model.repository import Declared
from kubectl_tas.model.topology import ClusterTopology
from kubectl_tas.model.workflow import Workflow
from kubectl_tas.resolve import names
from kubectl_tas.resolve.fleet import Fleet
from kubectl_tas.resolve.workflows import resource_paths

NAME_DUPLICATE = Rule(
    "name-duplicate",
    Severity.ERROR,
    "Two documents define the same thing.",
    "Which of the two counts would depend on the order of files. Rename or remove one.",
)
NAME_FOLDED = Rule(
    "name-folded",
    Severity.ERROR,
    "Two names of a workflow are one name once case and '_' are folded.",
    "OSMO compares names without regard to case and takes '_' for '-', so the two would become one pod or "
    "one group. Rename one; spell a topology group the same way wherever it is used.",
)
NAME_COLLISION = Rule(
    "name-collision",
    Severity.ERROR,
    "Two different sources lead to objects of one kind with one name.",
    "The second would overwrite the first in the cluster. Rename one of the sources.",
)


def check_unique(fleet: Fleet) -> Iterator[Diagnostic]:
    """Names within their kind, within a workflow, and among the generated objects."""
    repository = fleet.repository
    config = repository.config
    if config is not None:
        backends = ((b.name, config.at("spec", "backends", b.index, "name")) for b in fleet.backends)
        yield from _repeated("backend", backends)
    yield from _repeated("pool", _metadata_names(repository.pools))
    subpools = (
        (f"{item.spec.spec.parent}{names.SEPARATOR}{item.spec.metadata.name}", item.at("metadata", "name"))
        for item in repository.subpools
    )
    yield from _repeated("subpool", subpools)
    yield from _repeated("topology", _metadata_names(repository.topologies))
    workflows = ((names.fold(w.spec.workflow.name), w.at("workflow", "name")) for w in repository.workflows)
    yield from _repeated("workflow", workflows)
    for workflow in repository.workflows:
        yield from _folded(workflow)
    yield from _collisions(fleet)


def _metadata_names(
    items: Iterable[Declared[Pool] | Declared[ClusterTopology]],
) -> Iterator[tuple[str, Location]]:
    for item in items:
        yield item.spec.metadata.name, item.at("metadata", "name")


def _repeated(what: str, named: Iterable[tuple[str, Location]]) -> Iterator[Diagnostic]:
    seen: dict[str, Location] = {}
    for name, place in named:
        first = seen.setdefault(name, place)
        if first is not place:
            message = f'the {what} "{name}" is already defined at {first}'
            related = (Related("first defined here", first),)
            yield Diagnostic(NAME_DUPLICATE, message, place, related, hint="Rename or remove one of the two.")


def _folded(declared: Declared[Workflow]) -> Iterator[Diagnostic]:
    """Groups, tasks, resources, and topology groups that are spelled in two ways."""
    seen: dict[tuple[str, str], tuple[str, Location]] = {}
    for what, name, path in workflow_names(declared.spec):
        place = declared.origin.locate(path, key=what == "resource")
        earlier, first = seen.setdefault((what, names.fold(name)), (name, place))
        if first is not place:
            yield _two_names(what, earlier, name, first, place)
    spelled: dict[tuple[str, str], tuple[str, Location]] = {}
    for _, resource, path in resource_paths(declared.spec):
        for index, requirement in enumerate(resource.topology):
            place = declared.at(*path, "topology", index, "group")
            key = (requirement.key, names.fold(requirement.group))
            earlier, first = spelled.setdefault(key, (requirement.group, place))
            if earlier != requirement.group:
                yield _two_names("topology group", earlier, requirement.group, first, place)


def _two_names(what: str, earlier: str, name: str, first: Location, place: Location) -> Diagnostic:
    if earlier == name:
        message = f'the {what} "{name}" is already defined at line {first.line}'
    else:
        message = f'the {what} names "{earlier}" and "{name}" are one name: case and "_" do not count'
    related = (Related("the other one", first),)
    return Diagnostic(NAME_FOLDED, message, place, related, hint="Rename one, or spell both alike.")


def _collisions(fleet: Fleet) -> Iterator[Diagnostic]:
    """Generated names that meet although their sources differ."""
    seen: dict[Hashable, tuple[Location, object]] = {}
    for identity, source, place in _generated(fleet):
        first, owner = seen.setdefault(identity, (place, source))
        if owner != source:
            kind, name = identity[0], identity[-1]
            message = f'two sources lead to the {kind} "{name}"'
            related = (Related("the other source", first),)
            yield Diagnostic(NAME_COLLISION, message, place, related, hint="Rename one of them.")


def _generated(fleet: Fleet) -> Iterator[tuple[tuple[str, ...], object, Location]]:
    """Identity, source and place of every generated object whose name could meet another's."""
    kai_backends = [backend for backend in fleet.backends if backend.is_kai]
    for topology in fleet.topologies:
        for backend in [topology.backend] if topology.backend else kai_backends:
            place = topology.declared.at("metadata", "name")
            yield ("Topology", backend.name, topology.name), str(place), place
    for item in fleet.pod_groups:
        place = item.declared.at("metadata", "name")
        yield (
            ("PodGroup", item.backend.name, item.namespace, item.declared.spec.metadata.name),
            str(place),
            place,
        )
    for workflow in fleet.workflows:
        backend = workflow.pool.backend
        for group in workflow.groups:
            where = (backend.name, backend.namespace)
            source, place = (workflow.name, group.name), workflow.declared.at(*group.path, "name")
            yield ("PodGroup", *where, group.pod_group), source, place
            for task in group.tasks:
                place = workflow.declared.at(*task.path, "name")
                yield ("Pod", *where, task.pod), (*source, task.name), place
