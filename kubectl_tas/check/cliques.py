"""Checks the cliques and scaling groups of PodCliqueSets against the rules of Grove's webhook."""

from __future__ import annotations

from collections.abc import Iterator

from kubectl_tas.base.diagnostics import Diagnostic, Location, Related, Rule
from kubectl_tas.base.words import did_you_mean, write_instead
from kubectl_tas.check.grove_api import SET_FIELD
from kubectl_tas.check.object_names import NAME_INVALID
from kubectl_tas.check.operator_refusals import refused
from kubectl_tas.check.versions import unsupported
from kubectl_tas.facts.grove import TEMPLATE
from kubectl_tas.facts.kai import Feature
from kubectl_tas.kinds import SET
from kubectl_tas.load.schema import invalid_value
from kubectl_tas.model.base import KeyPath
from kubectl_tas.resolve import names
from kubectl_tas.resolve.fleet import Fleet
from kubectl_tas.resolve.podcliqueset import MAX_CLIQUES, MAX_PREVIEWED, FleetClique, FleetPodCliqueSet

STARTUP_TYPES = ("CliqueStartupTypeAnyOrder", "CliqueStartupTypeInOrder", "CliqueStartupTypeExplicit")
"""The values of cliqueStartupType."""
MAX_NAME = 45
"""Maximum length of the names of a set, a scaling group and a clique together. Grove appends indices to the names."""

CLIQUE_DUPLICATE = Rule.error(
    "clique-duplicate",
    "Cliques or scaling groups share a name or a roleName, or a clique is scaled twice.",
    "Grove names pods after their clique and its one scaling group, and its webhook accepts each role once. Rename "
    "one, or take the clique out of one group.",
)
CLIQUE_UNKNOWN = Rule.error(
    "clique-unknown",
    "A scaling group or startsAfter names an unknown clique, or itself.",
    "Grove's webhook refuses the set. Correct the name, or add the clique.",
)
CLIQUE_MINIMUM = Rule.error(
    "clique-minimum",
    "minAvailable is 0 or above the replicas, or a clique has no replicas.",
    "The gang would wait for pods that never exist. Use a number from 1 to replicas.",
)
CLIQUE_NAME_LENGTH = Rule.error(
    "clique-name-length",
    "The names of a set, a scaling group and a clique have over 45 characters together.",
    "Grove joins the names and adds indices and a random part, and a pod name has at most 63 characters. Grove's "
    "webhook refuses the set. Shorten one of the names.",
)
SET_REPLICAS = Rule.warning(
    "set-replicas",
    "A Grove set does not say how many replicas it has.",
    "Grove reads a missing number as 0 and starts nothing. Write replicas, even if you mean 0.",
)
CLIQUE_RESTART = Rule.warning(
    "clique-restart-policy",
    "The pods of a clique have another restart policy than Always.",
    "Grove means the pods of a clique to restart, and ends the whole gang when too few of them run. Its webhook warns "
    "at each apply that the field is ignored and set to Always (validatePodSpec of podcliqueset.go, 0.1.0-alpha.8 to "
    "alpha.11). Remove it. For work that ends, write a Job.",
)
SET_PREVIEW = Rule.info(
    "set-preview",
    "The gangs of a Grove set are too many or too large for a preview.",
    "A thousand more files would hide what a reviewer looks for. `render` still writes the set itself.",
)


def check_cliques(clique_set: FleetPodCliqueSet, _fleet: Fleet) -> Iterator[Diagnostic]:
    """Checks a PodCliqueSet by itself, and against the KAI release of its backend."""
    if "replicas" not in clique_set.declared.spec.spec.model_fields_set:
        location = clique_set.declared.at_key("spec")
        yield Diagnostic(
            SET_REPLICAS, "spec.replicas is not set, so Grove starts nothing", location, hint="Add replicas."
        )
    if not clique_set.is_previewed:
        message = (
            f"no preview is written: gangs of this set: {clique_set.gang_count}, cliques of its base "
            f"gang: {clique_set.base_size}; "
            f"at most {MAX_PREVIEWED} of either are previewed"
        )
        if max(clique_set.gang_count, clique_set.base_size) <= MAX_PREVIEWED:
            message = (
                f"no preview is written: cliques of all gangs: {clique_set.size}; at most {MAX_CLIQUES} are previewed"
            )
        yield Diagnostic(SET_PREVIEW, message, clique_set.declared.at("spec", "replicas"))
    yield from _names(clique_set)
    yield from _members(clique_set)
    yield from _startup(clique_set)
    for clique in clique_set.cliques:
        path = (*clique.path, "spec", "podSpec", "restartPolicy")
        restart_policy = clique_set.declared.origin.value(path)
        if restart_policy in ("OnFailure", "Never"):
            message = (
                f'clique {clique.name} has restartPolicy "{restart_policy}": Grove\'s webhook warns that it sets Always'
            )
            yield Diagnostic(CLIQUE_RESTART, message, clique_set.declared.at_key(*path), hint="Remove it.")
    for clique in clique_set.cliques:
        spec, path = clique.spec.spec, (*clique.path, "spec")
        owner = f'the clique "{clique.name}"'
        if spec.replicas == 0:
            location = clique_set.declared.at(*path, "replicas")
            hint = "Raise replicas, or leave the clique out."
            yield Diagnostic(CLIQUE_MINIMUM, f"{owner} has 0 replicas; Grove needs at least 1", location, hint=hint)
        else:
            yield from _minimum(clique_set, owner, spec.minAvailable, spec.replicas, path)
    for group in clique_set.groups:
        owner = f'the scaling group "{group.name}"'
        yield from _minimum(clique_set, owner, group.spec.minAvailable, group.spec.replicas, group.path)
    yield from _versions(clique_set)
    yield from refused(clique_set.declared.origin, SET.page.refusals)


def _names(clique_set: FleetPodCliqueSet) -> Iterator[Diagnostic]:
    named_parts = [("scaling group", group.name, group.path) for group in clique_set.groups]
    named_parts += [("clique", clique.name, clique.path) for clique in clique_set.cliques]
    first_paths: dict[tuple[str, str], KeyPath] = {}
    for kind, name, path in named_parts:
        location = clique_set.declared.at(*path, "name")
        if not names.is_label(name):
            message = f'the {kind} name "{name}" must be lower-case letters, digits and "-", not "-" at either end'
            suggestion = names.fold(name).strip("-")
            hint = f"For example: {suggestion}." if names.is_label(suggestion) else "Choose another name."
            yield Diagnostic(NAME_INVALID, message, location, hint=hint)
        earlier = first_paths.setdefault((kind, name), path)
        if earlier != path:
            yield _duplicate(
                clique_set, f'the {kind} "{name}" appears twice', location, clique_set.declared.at(*earlier, "name")
            )
    roles: dict[str, FleetClique] = {}
    for clique in clique_set.cliques:
        role = clique.spec.spec.roleName or clique.name
        earlier_clique = roles.setdefault(role, clique)
        if earlier_clique is not clique and earlier_clique.name != clique.name:
            location, first_place = (_role_place(clique_set, r) for r in (clique, earlier_clique))
            yield _duplicate(clique_set, f'the roleName "{role}" appears twice', location, first_place)
        group = clique_set.group_of(clique)
        name_parts = [clique_set.name, *([group.name] if group else []), clique.name]
        length = sum(map(len, name_parts))
        if length > MAX_NAME:
            message = f"the names {', '.join(name_parts)} have {length} characters together; Grove accepts {MAX_NAME}"
            hint = f"Cut {length - MAX_NAME} from one of them."
            yield Diagnostic(CLIQUE_NAME_LENGTH, message, clique_set.declared.at(*clique.path, "name"), hint=hint)


def _role_place(clique_set: FleetPodCliqueSet, clique: FleetClique) -> Location:
    """Returns the place of a clique's roleName, or of its name if the clique has no roleName."""
    named = clique.spec.spec.roleName is not None
    return clique_set.declared.at(*clique.path, *(("spec", "roleName") if named else ("name",)))


def _duplicate(clique_set: FleetPodCliqueSet, message: str, location: Location, first_location: Location) -> Diagnostic:
    return Diagnostic(
        CLIQUE_DUPLICATE, message, location, (Related("first here", first_location),), hint="Keep one of the two."
    )


def _members(clique_set: FleetPodCliqueSet) -> Iterator[Diagnostic]:
    clique_names = [clique.name for clique in clique_set.cliques]
    first_paths: dict[str, KeyPath] = {}
    for group in clique_set.groups:
        for index, name in enumerate(group.spec.cliqueNames):
            path = (*group.path, "cliqueNames", index)
            location = clique_set.declared.at(*path)
            if name not in clique_names:
                hint = did_you_mean(name, clique_names, f"Cliques here: {', '.join(clique_names)}.")
                message = f'the scaling group "{group.name}" names the clique "{name}", which the set does not have'
                yield Diagnostic(CLIQUE_UNKNOWN, message, location, hint=hint)
            earlier = first_paths.setdefault(name, path)
            if earlier != path:
                yield _duplicate(
                    clique_set, f'the clique "{name}" is scaled twice', location, clique_set.declared.at(*earlier)
                )


def _startup(clique_set: FleetPodCliqueSet) -> Iterator[Diagnostic]:
    """Checks the startup order: the values that Grove's CRD allows, and what its webhook requires of startsAfter
    (validateCliqueDependencies, 0.1.0-alpha.8 to alpha.11). The webhook reads startsAfter only with the explicit order.
    """
    origin, path = clique_set.declared.origin, (*TEMPLATE, "cliqueStartupType")
    startup_type = origin.value(path)
    if startup_type is not None and startup_type not in STARTUP_TYPES:
        intended_type = next((kind for kind in STARTUP_TYPES if kind.endswith(str(startup_type))), "")
        hint = (
            write_instead(str(startup_type), intended_type)
            if intended_type
            else did_you_mean(str(startup_type), STARTUP_TYPES, folds=True)
        )
        yield invalid_value(origin, path, f"must be one of {', '.join(STARTUP_TYPES)}", startup_type, hint)
    for clique in clique_set.cliques:
        where = (*clique.path, "spec", "startsAfter")
        after = origin.value(where)
        other_names = [other_clique.name for other_clique in clique_set.cliques if other_clique is not clique]
        unknown = [(p, n) for p, n in enumerate(after if isinstance(after, list) else ()) if n not in other_names]
        for index, name in unknown:
            named_clique = "itself" if name == clique.name else f'"{name}", which is no other clique of the set'
            message = f'the clique "{clique.name}" starts after {named_clique}'
            hint = did_you_mean(
                str(name), other_names, f"Other cliques: {', '.join(other_names)}." if other_names else "Remove it."
            )
            yield Diagnostic(CLIQUE_UNKNOWN, message, origin.locate((*where, index)), hint=hint)
        if after and not unknown and startup_type != STARTUP_TYPES[-1]:
            message = f"startsAfter is read with cliqueStartupType: {STARTUP_TYPES[-1]} only, so it does nothing"
            yield Diagnostic(SET_FIELD, message, origin.locate(where, key=True), hint="Write that, or remove it.")


def _minimum(
    clique_set: FleetPodCliqueSet, owner: str, minimum: int | None, replicas: int, path: KeyPath
) -> Iterator[Diagnostic]:
    if minimum is None or 1 <= minimum <= replicas:
        return
    message = f"{owner} needs minAvailable {minimum} of {replicas} replicas"
    hint = f"Use a number from 1 to {replicas}." if replicas else "Raise replicas, or leave the part out."
    yield Diagnostic(CLIQUE_MINIMUM, message, clique_set.declared.at(*path, "minAvailable"), hint=hint)


def _versions(clique_set: FleetPodCliqueSet) -> Iterator[Diagnostic]:
    """Finds constraints that KAI's release cannot handle. Skipped if Grove itself writes the PodGroups."""
    backend = clique_set.backend
    if backend is None or backend.release is None or backend.writes_pod_groups_of_sets:
        return
    scaled = {(*group.path, "topologyConstraint") for group in clique_set.groups}
    for constraint, path in clique_set.spec.constraints:
        feature = Feature.SCALING_GROUPS if path in scaled else Feature.GROVE_CONSTRAINTS
        if constraint.asks and not backend.has(feature):
            used_field = "a topologyConstraint of a scaling group" if path in scaled else "a topologyConstraint here"
            yield unsupported(backend, feature, used_field, clique_set.declared.at_key(*path))
