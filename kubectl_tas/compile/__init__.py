"""Compiles a fleet to the objects to apply, with an ordered tuple of functions, one for each kind of object."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from operator import attrgetter
from typing import TypeVar

from kubectl_tas.compile.access import compile_access
from kubectl_tas.compile.cluster_objects import (
    compile_bindings,
    compile_namespaces,
    compile_priority_classes,
    compile_queues,
    compile_topologies,
)
from kubectl_tas.compile.guard_policies import compile_guards
from kubectl_tas.compile.passthrough import (
    compile_clique_sets,
    compile_companions,
    compile_member_pods,
    compile_shards,
    compile_workloads,
)
from kubectl_tas.compile.podgroups import (
    compile_owned_pod_groups,
    pass_pod_groups,
    preview_pod_gangs,
    preview_pod_groups,
    preview_set_pod_groups,
)
from kubectl_tas.compile.workflow_objects import compile_workflows
from kubectl_tas.model.artifact import Artifact, Placed
from kubectl_tas.resolve import names
from kubectl_tas.resolve.fleet import Fleet

P = TypeVar("P", bound=Placed)
Pass = Callable[[Fleet], Iterable[Artifact]]
FLEET_PASSES: tuple[Pass, ...] = (
    compile_shards,
    compile_namespaces,
    compile_priority_classes,
    compile_guards,
    compile_access,
    compile_topologies,
    compile_bindings,
    compile_queues,
)
"""Functions that make the objects that all work shares."""
WORK_PASSES: tuple[Pass, ...] = (
    compile_companions,
    compile_workflows,
    pass_pod_groups,
    compile_owned_pod_groups,
    compile_workloads,
    compile_member_pods,
    compile_clique_sets,
    preview_pod_groups,
    preview_pod_gangs,
    preview_set_pod_groups,
)
"""Functions that make the objects of work in some files. The rest of the fleet serves only as context."""


def compile_fleet(fleet: Fleet) -> tuple[Artifact, ...]:
    """Returns all objects of a fleet without errors, by backend and in order of application; none if it is empty."""
    if fleet.repository.is_empty:
        return ()
    return in_order_of_application(fleet, (*compile_shared(fleet), *compile_work(fleet)))


def compile_shared(fleet: Fleet) -> Iterator[Artifact]:
    """Yields the objects that all work shares, for example queues and topologies."""
    return (artifact for run in FLEET_PASSES for artifact in run(fleet))


def compile_work(fleet: Fleet) -> Iterator[Artifact]:
    """Yields the objects of the fleet's work."""
    return (artifact for run in WORK_PASSES for artifact in run(fleet))


def in_order_of_application(fleet: Fleet, made: Sequence[P]) -> tuple[P, ...]:
    """Sorts objects by backend and then in the order of application. Gives each object its own file."""
    backends = {backend.name: backend.index for backend in fleet.backends}
    ordered = sorted(_in_own_files(made), key=attrgetter("order"))
    return tuple(sorted(ordered, key=lambda artifact: backends[artifact.backend]))


def _in_own_files(made: Sequence[P]) -> Iterable[P]:
    """Gives each object its own file: two pairs of namespace and name may join to one file name."""
    places = attrgetter("backend", "folder", "file")
    hashes = {hash(places(artifact)) for artifact in made}  # a third of the memory of the places themselves
    if len(hashes) == len(made):
        return made
    uses = Counter(map(places, made))
    return (_in_own_file(artifact, uses) for artifact in made)


def _in_own_file(artifact: P, uses: Mapping[tuple[str, str, str], int]) -> P:
    if uses[artifact.backend, artifact.folder, artifact.file] == 1:
        return artifact
    identity = "/".join((artifact.api_version, *map(str, artifact.order)))
    stem = artifact.file.removesuffix(".yaml")
    return artifact.in_file(names.file(f"{stem}-{names.digest(identity)}"))
