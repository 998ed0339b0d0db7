"""Resolves the platforms of a pool, and fills in its pod templates for one task.

Follows OSMO (September 2026: src/utils/connectors/postgres.py, ``calculate_pod_template`` and
``get_allocatable_tokens``; src/utils/job/task.py, ``substitute_pod_template_tokens``; src/lib/utils/common.py,
``recursive_dict_update``). The templates of the platform are merged over those of the pool, then tokens are replaced,
and the result is merged over the pod of the task.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from functools import cached_property
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from kubectl_tas.base.diagnostics import Location
from kubectl_tas.base.late import dataclass, late_pattern
from kubectl_tas.base.words import did_you_mean, question
from kubectl_tas.facts import quantities
from kubectl_tas.facts.quantities import Amounts
from kubectl_tas.jinja.bounds import TEMPLATE_UNDEFINED, Budget, Refusal
from kubectl_tas.model.base import KeyPath
from kubectl_tas.model.osmo_workflow import Resource, Task
from kubectl_tas.model.platform import (
    Nodes,
    Platform,
    PodTemplate,
    PodTemplateBody,
    ResourceAssertion,
    ResourceValidation,
)
from kubectl_tas.model.pool_kinds import Pool
from kubectl_tas.model.repository import Declared
from kubectl_tas.resolve.clusters import Dangling

if TYPE_CHECKING:
    from kubectl_tas.model.podtemplate import PodSpec

OSMO_CONTAINERS = {"containers": "osmo-ctrl", "initContainers": "osmo-init"}
"""OSMO's own containers, which do not exist here. The tool drops their settings from pod templates."""
UNKNOWABLE = ("WF_UUID", "WF_GROUP_UUID", "WF_TASK_UUID", "WF_RETRY_ID", "WF_SUBMITTED_BY")
"""Tokens whose values only OSMO's service knows."""
NODE_TOKENS = ("K8_CPU", "K8_MEMORY", "K8_STORAGE", "K8_GPU")
"""Tokens of resource validations for the resources of a node."""
_SIZES = ("Ti", "Gi", "Mi", "Ki")
AMOUNT = late_pattern(r"([0-9]+(?:\.[0-9]+)?)([A-Za-z]*)")
"""A number with an optional unit."""
_ARRAY = late_pattern(r"ARRAY:\[(.*)\]", re.DOTALL)
"""OSMO's syntax for a token whose value is a list."""


@dataclass(frozen=True, slots=True)
class DocumentPart:
    """A part of a document, with its path."""

    declared: Declared[Any]
    path: KeyPath

    def at(self, path: KeyPath = (), *, key: bool = False) -> Location:
        """Returns the place of the value at ``path`` below this part."""
        return self.declared.origin.locate((*self.path, *path), key=key)


@dataclass(frozen=True, slots=True)
class PlatformTemplate(DocumentPart):
    """A pod template of a pool or a platform."""

    body: PodTemplateBody

    @property
    def data(self) -> dict[str, Any]:
        """The labels, annotations and fields of the template."""
        spec: dict[str, Any] = dict(self.body.spec)
        meta = {name: pairs for name in ("labels", "annotations") if (pairs := getattr(self.body.metadata, name))}
        return ({"metadata": meta} if meta else {}) | ({"spec": spec} if spec else {})


@dataclass(frozen=True, slots=True)
class PlatformValidation(DocumentPart):
    """One resource validation."""

    rule: ResourceAssertion


@dataclass(frozen=True, slots=True)
class Problem:
    """A text of a template whose tokens have no value."""

    location: Location
    message: str
    hint: str


@dataclass(frozen=True)
class FleetPlatform:
    """The settings of a pool and one of its platforms for the pods of a task. Without a name, of the pool alone."""

    name: str
    spec: Platform
    pool: Declared[Pool]
    templates: tuple[PlatformTemplate, ...]
    """The pool's templates, then the platform's own."""
    validations: tuple[PlatformValidation, ...]
    """The pool's validations, then the platform's own."""

    @cached_property
    def nodes(self) -> Nodes:
        """Node labels and tolerations for the pods: the pool's, then the platform's own."""
        pool_nodes, platform_nodes = self.pool.spec.spec.nodes, self.spec.nodes
        if platform_nodes == Nodes.model_construct():
            return pool_nodes
        return Nodes(
            selector=pool_nodes.selector | platform_nodes.selector,
            tolerations=(*pool_nodes.tolerations, *platform_nodes.tolerations),
        )

    @property
    def chosen(self) -> dict[str, str]:
        """The node labels that the pods select with nodeSelector."""
        pod_spec = self.merged.data.get("spec") if self.templates else None
        selector = pod_spec.get("nodeSelector") if isinstance(pod_spec, dict) else None
        labels = selector.items() if isinstance(selector, dict) else ()
        plain = {str(key): str(value) for key, value in labels if "{{" not in f"{key}{value}"}
        return {**plain, **self.nodes.selector}

    @property
    def variables(self) -> dict[str, Any]:
        """Values of tokens that a resource does not set."""
        return {**self.pool.spec.spec.common_default_variables, **self.spec.default_variables}

    @property
    def path(self) -> KeyPath:
        """Path of the platform in the document of its pool."""
        return ("spec", "platforms", self.name) if self.name else ("spec",)

    @cached_property
    def merged(self) -> Merged:
        """The templates, merged."""
        merged = Merged()
        for template in self.templates:
            merged.put(template.data, template.at)
        for kind, name in OSMO_CONTAINERS.items():
            merged.without(("spec", kind), name)
        return merged

    @property
    def is_plain(self) -> bool:
        """Whether the platform leaves pods unchanged, except for their nodes."""
        return not self.templates and not self.spec.default_mounts


@dataclass(frozen=True)
class Platforms:
    """The platforms of a pool."""

    base: FleetPlatform
    """The settings without a platform."""
    by_name: Mapping[str, FleetPlatform]
    default: FleetPlatform | None
    """The platform for resources that name none."""

    def of(self, name: str | None) -> FleetPlatform:
        """Returns the platform with this name, or the default without a name. If unknown, returns ``base``."""
        named = self.default if name is None else self.by_name.get(name)
        return named or self.base


Finder = Callable[..., Location]
"""Returns the place of the value at a path, or with ``key`` that of its key."""


class Merged:
    """Data from mappings that are merged one over another, with the place of each part. The mappings themselves do not
    change.
    """

    def __init__(self, data: dict[str, Any] | None = None) -> None:
        self.data: dict[str, Any] = dict(data or {})
        self.places: dict[KeyPath, tuple[Finder, KeyPath]] = {}

    def put(self, over: Mapping[str, Any], finder: Finder) -> None:
        """Merges ``over`` into the data. Mappings are merged, list items are merged by name, other values are replaced,
        and None removes a value.
        """
        self._mapping(self.data, over, (), (), finder)

    def locate(self, path: KeyPath, *, key: bool = False) -> Location | None:
        """Returns the place of the merged value at ``path``. None if nothing was merged there."""
        for length in range(len(path), 0, -1):
            source = self.places.get(path[:length])
            if source is not None:
                finder, source_path = source
                return finder((*source_path, *path[length:]), key=key)
        return None

    def at(self, path: KeyPath, *, key: bool = False) -> Location:
        """Returns the place of the merged value at ``path``, which must exist."""
        location = self.locate(path, key=key)
        assert location is not None, path
        return location

    def without(self, path: KeyPath, name: str) -> None:
        """Removes the items called ``name`` from the list at ``path``. The other items keep their places."""
        holder: Any = self.data
        for step in path[:-1]:
            holder = holder.get(step) if isinstance(holder, dict) else None
        members = holder.get(path[-1]) if isinstance(holder, dict) else None
        if not isinstance(members, list):
            return
        is_gone = [isinstance(member, dict) and member.get("name") == name for member in members]
        kept_indices = [index for index, is_named in enumerate(is_gone) if not is_named]
        if len(kept_indices) == len(members):
            return
        depth = len(path)
        moved = {old: new for new, old in enumerate(kept_indices)}
        places: dict[KeyPath, tuple[Finder, KeyPath]] = {}
        for place_path, source in self.places.items():
            if place_path[:depth] != path or len(place_path) == depth:
                places[place_path] = source
            elif place_path[depth] in moved:
                places[(*path, moved[int(place_path[depth])], *place_path[depth + 1 :])] = source
        self.places = places
        holder[path[-1]] = [members[index] for index in kept_indices]
        if not kept_indices:
            del holder[path[-1]]

    def _mapping(
        self, under: dict[str, Any], over: Mapping[str, Any], path: KeyPath, source_path: KeyPath, finder: Finder
    ) -> None:
        for key, value in over.items():
            merged_path, value_path = (*path, key), (*source_path, key)
            if value is None:
                under.pop(key, None)
            elif isinstance(value, dict):
                present = under.get(key)
                under[key] = dict(present) if isinstance(present, dict) else {}
                if not isinstance(present, dict):
                    self.places[merged_path] = finder, value_path
                self._mapping(under[key], value, merged_path, value_path, finder)
            elif isinstance(value, list):
                present = under.get(key)
                under[key] = list(present) if isinstance(present, list) else []
                if not isinstance(present, list):
                    self.places[merged_path] = finder, value_path
                self._list(under[key], value, merged_path, value_path, finder)
            else:
                under[key] = value
                self.places[merged_path] = finder, value_path

    def _list(self, under: list[Any], over: Sequence[Any], path: KeyPath, source_path: KeyPath, finder: Finder) -> None:
        position_by_name = {_name(member): index for index, member in enumerate(under)}
        for index, member in enumerate(over):
            is_mapping, name = isinstance(member, dict), _name(member)
            position = None if name is None else position_by_name.get(name)
            if position is None:
                position = len(under)
                under.append({} if is_mapping else member)
                self.places[*path, position] = finder, (*source_path, index)
            if is_mapping:
                under[position] = dict(under[position])
                self._mapping(under[position], member, (*path, position), (*source_path, index), finder)


def _name(member: Any) -> str | None:
    name = member.get("name") if isinstance(member, dict) else None
    return name if isinstance(name, str) else None


@dataclass(frozen=True, slots=True)
class FilledTemplates:
    """Pod templates of a platform with the token values of one task."""

    data: dict[str, Any]
    problems: tuple[Problem, ...]
    source: Merged
    """The merged templates, with the same paths."""

    def amounts_of(self, container: str) -> frozenset[str]:
        """Returns the resources whose limits or requests the templates set for a container."""
        spec = self.data.get("spec", {})
        containers = spec.get("containers") if isinstance(spec, dict) else None
        resources = [
            each["resources"]
            for each in (containers if isinstance(containers, list) else ())
            if isinstance(each, dict) and each.get("name") == container and isinstance(each.get("resources"), dict)
        ]
        amounts = [amounts_by_kind.get(kind) for amounts_by_kind in resources for kind in ("limits", "requests")]
        return frozenset(name for by_name in amounts if isinstance(by_name, dict) for name in by_name)

    def at(self, path: KeyPath, *, key: bool = False) -> Location:
        """Returns the place of the value at ``path``."""
        return self.source.at(path, key=key)


class NotFilledError(Exception):
    """Raised for a text whose tokens have no value, with a message and a hint."""

    def __init__(self, message: str, hint: str) -> None:
        super().__init__(message)
        self.message, self.hint = message, hint


def filled(text: str, values: Mapping[str, Any], spent: Budget | None = None) -> str | None:
    """Returns ``text`` with the values of its tokens. None if the text is a single token without a value. ``spent``
    counts the steps of several texts. Raises NotFilledError.
    """
    if "{" not in text:
        return text
    from kubectl_tas.jinja.sandbox import filled as expanded  # most repositories do not wait for Jinja

    try:
        return expanded(text, values, spent or Budget())
    except Refusal as refusal:
        if refusal.rule is not TEMPLATE_UNDEFINED:
            message = f"the expression cannot be computed: {refusal.message}"
            raise NotFilledError(message, refusal.hint) from refusal
        name = refusal.message.partition(" ")[0]
        if name in UNKNOWABLE:
            raise NotFilledError(f"only OSMO's service knows {{{{{name}}}}}", "Remove it.") from refusal
        begun = sorted((known for known in values if known.startswith(name)), key=len)
        known_names = f"Known: {', '.join(sorted(values))}."
        hint = question(name, begun[0]) if begun else did_you_mean(name, list(values), known_names)
        hint += f" Or give {name} a value in common_default_variables."
        raise NotFilledError(f"nothing gives {{{{{name}}}}} a value", hint) from refusal


def tokens_in(text: str) -> frozenset[str]:
    """Returns the names that ``text`` uses. Empty if the text is invalid."""
    if "{" not in text:
        return frozenset()
    from kubectl_tas.jinja.sandbox import tokens_in as names_in

    try:
        return names_in(text)
    except Refusal:
        return frozenset()


def fill(platform: FleetPlatform, values: Mapping[str, Any]) -> FilledTemplates:
    """Returns the pod templates of ``platform`` with ``values``. A text without all values stays unchanged."""
    merged, problems, spent = platform.merged, list[Problem](), Budget()

    def walk(value: Any, path: KeyPath) -> Any:
        if isinstance(value, dict):
            children = {key: walk(child, (*path, key)) for key, child in value.items()}
            return {key: child for key, child in children.items() if child is not None}
        if isinstance(value, list):
            members = (walk(member, (*path, index)) for index, member in enumerate(value))
            return [member for member in members if member is not None]
        if not isinstance(value, str):
            return value
        try:
            text = filled(value, values, spent)
        except NotFilledError as error:
            location = merged.locate(path)
            assert location is not None, path
            problems.append(Problem(location, error.message, error.hint))
            return value
        array = _ARRAY.fullmatch(text) if text is not None else None
        return array[1].split(",") if array is not None else text

    return FilledTemplates(walk(merged.data, ()), tuple(problems), merged)


def values_of(
    platform: FleetPlatform, resource: Resource, task: Task, identity_tokens: Mapping[str, Any]
) -> dict[str, Any]:
    """Returns the values of the tokens for one task. None for a known token without a value.
    ``identity_tokens`` identify the task's pool, workflow and group.
    """
    amounts_of_resource = {
        "USER_CPU": resource.cpu or None,
        "USER_GPU": resource.asks.gpu or None,
        "USER_MEMORY": resource.memory,
        "USER_STORAGE": resource.storage,
    }
    values = {**platform.variables}
    values |= {name: value for name, value in amounts_of_resource.items() if value is not None or name not in values}
    values["USER_EXCLUDED_NODES"] = f"ARRAY:[{','.join(resource.nodesExcluded)}]"
    for name in ("USER_STORAGE", "USER_MEMORY"):
        size_text = values[name]
        match = AMOUNT.fullmatch(str(size_text)) if size_text is not None else None
        tokens: dict[str, Any] = {f"{name}_VAL": match[1] if match else None, f"{name}_UNIT": None}
        if match:
            tokens[f"{name}_UNIT"] = match[2] or "B"
        amount = quantities.parse(str(size_text)) if match else None
        for unit, size in (("B", quantities.SUFFIXES[""]), *((unit, quantities.SUFFIXES[unit]) for unit in _SIZES)):
            number = None if amount is None else float(amount / size)
            tokens[f"{name}_{unit}"] = int(number) if number is not None and number.is_integer() else number
        values |= tokens
    values["USER_CACHE"] = _cache_size(task.cacheSize or values.get("USER_CACHE"), values["USER_STORAGE"])
    return {**values, **identity_tokens}


def _cache_size(requested: Any, storage: Any) -> str:
    """Returns the space for cached inputs: as requested, or as a share of the storage, by default 90%."""
    if requested is not None and not str(requested).endswith("%"):
        return str(requested)
    share = AMOUNT.fullmatch(str(requested or "90%").removesuffix("%"))
    size = AMOUNT.fullmatch(str(storage)) if storage is not None else None
    if size is None or share is None:
        return "0"
    return f"{math.floor(float(size[1]) * math.floor(float(share[1])) / 100)}{size[2]}"


def read_spec(pod_spec: object) -> PodSpec:
    """Returns the fields of a merged PodSpec that the tool reads. Raises ValidationError if they are invalid."""
    from kubectl_tas.model.podtemplate import PodSpec as Read  # nothing else of workflows needs it

    return Read.model_validate(pod_spec)


def asks_of(resource: Resource, container: str, template: FilledTemplates) -> Amounts:
    """Returns the request of a task's pod with the merged templates. If these make no valid pod, which
    check.task_platforms reports, returns the request of the resource.
    """
    if not template.data:
        return resource.asks
    amounts = {name: amount for name, amount in resource.amounts.items() if name not in template.amounts_of(container)}
    pod = Merged({"spec": {"containers": [{"name": container, "resources": {"limits": amounts, "requests": amounts}}]}})
    pod.put(template.data, template.at)
    notes = pod.data.get("metadata", {}).get("annotations", {})
    try:
        return read_spec(pod.data["spec"]).asks_with(notes)
    except ValidationError:
        return resource.asks


@dataclass(frozen=True, slots=True)
class RepositoryTemplates:
    """The pod templates and resource validations of a repository by name. The first of each name counts."""

    templates: Mapping[str, Declared[PodTemplate]]
    validations: Mapping[str, Declared[ResourceValidation]]
    dangling: list[Dangling] = field(default_factory=list)

    def platforms(self, pool: Declared[Pool]) -> Platforms:
        """Resolves the platforms of ``pool``."""
        spec = pool.spec.spec
        templates = tuple(self._templates(pool, spec.common_pod_template, ("spec", "common_pod_template")))
        path: KeyPath = ("spec", "common_resource_validations")
        rules = tuple(self._validations(pool, spec.common_resource_validations, path))
        base = FleetPlatform("", Platform.model_construct(), pool, templates, rules)
        by_name = {}
        for name, platform in spec.platforms.items():
            where: KeyPath = ("spec", "platforms", name)
            further = self._templates(pool, platform.override_pod_template, (*where, "override_pod_template"))
            judged = self._validations(pool, platform.resource_validations, (*where, "resource_validations"))
            by_name[name] = FleetPlatform(name, platform, pool, (*templates, *further), (*rules, *judged))
        default_name = spec.default_platform
        if default_name is not None and default_name not in by_name:
            location_of_default = (pool, ("spec", "default_platform"), f"pool {pool.spec.metadata.name}")
            self.dangling.append(Dangling("platform", default_name, tuple(by_name), *location_of_default))
        return Platforms(base, by_name, by_name.get(default_name or ""))

    def _templates(
        self, pool: Declared[Pool], names_or_bodies: Iterable[str | PodTemplateBody], path: KeyPath
    ) -> Iterator[PlatformTemplate]:
        for index, name_or_body in enumerate(names_or_bodies):
            if isinstance(name_or_body, PodTemplateBody):
                yield PlatformTemplate(pool, (*path, index), name_or_body)
            elif name_or_body in self.templates:
                declared = self.templates[name_or_body]
                yield PlatformTemplate(declared, ("template",), declared.spec.template)
            else:
                self.dangling.append(
                    Dangling("pod template", name_or_body, tuple(self.templates), pool, (*path, index))
                )

    def _validations(
        self, pool: Declared[Pool], names_or_assertions: Iterable[str | ResourceAssertion], path: KeyPath
    ) -> Iterator[PlatformValidation]:
        for index, name_or_assertion in enumerate(names_or_assertions):
            if isinstance(name_or_assertion, ResourceAssertion):
                yield PlatformValidation(pool, (*path, index), name_or_assertion)
            elif name_or_assertion in self.validations:
                declared = self.validations[name_or_assertion]
                yield from (
                    PlatformValidation(declared, ("rules", rule_index), rule)
                    for rule_index, rule in enumerate(declared.spec.rules)
                )
            else:
                known_names = tuple(self.validations)
                self.dangling.append(
                    Dangling("resource validation", name_or_assertion, known_names, pool, (*path, index))
                )
