"""Resolves the platforms of a pool, and fills in its pod templates for one task.

Follows OSMO (September 2026: src/utils/connectors/postgres.py, ``calculate_pod_template`` and
``get_allocatable_tokens``; src/utils/job/task.py, ``substitute_pod_template_tokens``; src/lib/utils/common.py,
``recursive_dict_update``). The templates of the platform are merged over those of the pool, then tokens are replaced,
and the result is merged over the pod of the task.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol

from pydantic import ValidationError

from kubectl_tas import quantities
from kubectl_tas.diagnostics import Location
from kubectl_tas.jinja.bounds import TEMPLATE_UNDEFINED, Budget, Refusal
from kubectl_tas.late import dataclass, late_pattern
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
from kubectl_tas.quantities import Amounts
from kubectl_tas.resolve.clusters import Dangling
from kubectl_tas.words import did_you_mean

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
class Placed:
    """A part of a document, with its path."""

    declared: Declared[Any]
    path: KeyPath

    def at(self, path: KeyPath = (), *, key: bool = False) -> Location:
        """Returns the place of the value at ``path`` below this part."""
        return self.declared.origin.locate((*self.path, *path), key=key)


@dataclass(frozen=True, slots=True)
class Template(Placed):
    """A pod template of a pool or a platform."""

    body: PodTemplateBody

    @property
    def data(self) -> dict[str, Any]:
        """The labels, annotations and fields of the template."""
        spec: dict[str, Any] = dict(self.body.spec)
        meta = {name: part for name in ("labels", "annotations") if (part := getattr(self.body.metadata, name))}
        return ({"metadata": meta} if meta else {}) | ({"spec": spec} if spec else {})


@dataclass(frozen=True, slots=True)
class Validation(Placed):
    """One resource validation."""

    rule: ResourceAssertion


@dataclass(frozen=True, slots=True)
class Problem:
    """A text of a template whose tokens have no value."""

    place: Location
    message: str
    hint: str


@dataclass(frozen=True)
class FleetPlatform:
    """The settings of a pool and one of its platforms for the pods of a task. Without a name, of the pool alone."""

    name: str
    spec: Platform
    pool: Declared[Pool]
    templates: tuple[Template, ...]
    """The pool's templates, then the platform's own."""
    validations: tuple[Validation, ...]
    """The pool's validations, then the platform's own."""

    @cached_property
    def nodes(self) -> Nodes:
        """Node labels and tolerations for the pods: the pool's, then the platform's own."""
        shared, own = self.pool.spec.spec.nodes, self.spec.nodes
        if own == Nodes.model_construct():
            return shared
        return Nodes(selector=shared.selector | own.selector, tolerations=(*shared.tolerations, *own.tolerations))

    @property
    def chosen(self) -> dict[str, str]:
        """The node labels that the pods select with nodeSelector."""
        written = self.merged.data.get("spec") if self.templates else None
        selector = written.get("nodeSelector") if isinstance(written, dict) else None
        known = selector.items() if isinstance(selector, dict) else ()
        plain = {str(key): str(value) for key, value in known if "{{" not in f"{key}{value}"}
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
        found = Merged()
        for template in self.templates:
            found.put(template.data, template.at)
        for kind, name in OSMO_CONTAINERS.items():
            found.without(("spec", kind), name)
        return found

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


class Finder(Protocol):
    """Finds places in a document, or in merged pod templates."""

    def __call__(self, path: KeyPath, *, key: bool = False) -> Location:
        """Returns the place of the value (or of the key) at ``path``."""


class Merged:
    """Data from mappings that are merged one over another, with the place of each part. The mappings themselves do not
    change.
    """

    def __init__(self, data: dict[str, Any] | None = None) -> None:
        self.data: dict[str, Any] = dict(data or {})
        self.places: dict[KeyPath, tuple[Finder, KeyPath]] = {}

    def put(self, over: Mapping[str, Any], place: Finder) -> None:
        """Merges ``over`` into the data. Mappings are merged, list items are merged by name, other values are replaced,
        and None removes a value.
        """
        self._mapping(self.data, over, (), (), place)

    def locate(self, path: KeyPath, *, key: bool = False) -> Location | None:
        """Returns the place of the merged value at ``path``. None if nothing was merged there."""
        for length in range(len(path), 0, -1):
            found = self.places.get(path[:length])
            if found is not None:
                place, own = found
                return place((*own, *path[length:]), key=key)
        return None

    def at(self, path: KeyPath, *, key: bool = False) -> Location:
        """Returns the place of the merged value at ``path``, which must exist."""
        found = self.locate(path, key=key)
        assert found is not None, path
        return found

    def without(self, path: KeyPath, name: str) -> None:
        """Removes the items called ``name`` from the list at ``path``. The other items keep their places."""
        holder: Any = self.data
        for step in path[:-1]:
            holder = holder.get(step) if isinstance(holder, dict) else None
        items = holder.get(path[-1]) if isinstance(holder, dict) else None
        if not isinstance(items, list):
            return
        kept = [index for index, item in enumerate(items) if not (isinstance(item, dict) and item.get("name") == name)]
        if len(kept) == len(items):
            return
        depth = len(path)
        moved = {old: new for new, old in enumerate(kept)}
        places = {where: found for where, found in self.places.items() if where[:depth] != path or len(where) == depth}
        for where, found in self.places.items():
            if where[:depth] == path and len(where) > depth and where[depth] in moved:
                places[(*path, moved[int(where[depth])], *where[depth + 1 :])] = found
        self.places = places
        holder[path[-1]] = [items[index] for index in kept]
        if not kept:
            del holder[path[-1]]

    def _mapping(
        self, under: dict[str, Any], over: Mapping[str, Any], path: KeyPath, own: KeyPath, place: Finder
    ) -> None:
        for key, value in over.items():
            here, there = (*path, key), (*own, key)
            if value is None:
                under.pop(key, None)
            elif isinstance(value, dict):
                present = under.get(key)
                under[key] = dict(present) if isinstance(present, dict) else {}
                if not isinstance(present, dict):
                    self.places[here] = place, there
                self._mapping(under[key], value, here, there, place)
            elif isinstance(value, list):
                present = under.get(key)
                under[key] = list(present) if isinstance(present, list) else []
                if not isinstance(present, list):
                    self.places[here] = place, there
                self._list(under[key], value, here, there, place)
            else:
                under[key] = value
                self.places[here] = place, there

    def _list(self, under: list[Any], over: Sequence[Any], path: KeyPath, own: KeyPath, place: Finder) -> None:
        named = {_name(item): index for index, item in enumerate(under)}
        for index, item in enumerate(over):
            is_mapping, name = isinstance(item, dict), _name(item)
            known = None if name is None else named.get(name)
            if known is None:
                known = len(under)
                under.append({} if is_mapping else item)
                self.places[*path, known] = place, (*own, index)
            if is_mapping:
                under[known] = dict(under[known])
                self._mapping(under[known], item, (*path, known), (*own, index), place)


def _name(item: Any) -> str | None:
    name = item.get("name") if isinstance(item, dict) else None
    return name if isinstance(name, str) else None


@dataclass(frozen=True, slots=True)
class Filled:
    """Pod templates of a platform with the token values of one task."""

    data: dict[str, Any]
    problems: tuple[Problem, ...]
    source: Merged
    """The merged templates, with the same paths."""

    def amounts_of(self, container: str) -> frozenset[str]:
        """Returns the resources whose limits or requests the templates set for a container."""
        spec = self.data.get("spec", {})
        containers = spec.get("containers") if isinstance(spec, dict) else None
        items = containers if isinstance(containers, list) else []
        own = [item for item in items if isinstance(item, dict) and item.get("name") == container]
        resources = [item["resources"] for item in own if isinstance(item.get("resources"), dict)]
        amounts = [part.get(kind) for part in resources for kind in ("limits", "requests")]
        return frozenset(name for part in amounts if isinstance(part, dict) for name in part)

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
        hint = did_you_mean(name, list(values), f"Known: {', '.join(sorted(values))}.")
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


def fill(platform: FleetPlatform, values: Mapping[str, Any]) -> Filled:
    """Returns the pod templates of ``platform`` with ``values``. A text without all values stays unchanged."""
    merged, problems, spent = platform.merged, list[Problem](), Budget()

    def walk(value: Any, path: KeyPath) -> Any:
        if isinstance(value, dict):
            parts = {key: walk(item, (*path, key)) for key, item in value.items()}
            return {key: part for key, part in parts.items() if part is not None}
        if isinstance(value, list):
            return [part for index, item in enumerate(value) if (part := walk(item, (*path, index))) is not None]
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

    return Filled(walk(merged.data, ()), tuple(problems), merged)


def values_of(platform: FleetPlatform, resource: Resource, task: Task, about: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the values of the tokens for one task. None for a known token without a value. ``about`` has the tokens
    that identify the task's pool, workflow and group.
    """
    own = {
        "USER_CPU": resource.cpu or None,
        "USER_GPU": resource.asks.gpu or None,
        "USER_MEMORY": resource.memory,
        "USER_STORAGE": resource.storage,
    }
    values = {**platform.variables}
    values |= {name: value for name, value in own.items() if value is not None or name not in values}
    values["USER_EXCLUDED_NODES"] = f"ARRAY:[{','.join(resource.nodesExcluded)}]"
    for name in ("USER_STORAGE", "USER_MEMORY"):
        values |= _parts(name, values[name])
    values["USER_CACHE"] = _cache(task.cacheSize or values.get("USER_CACHE"), values["USER_STORAGE"])
    return {**values, **about}


def _parts(name: str, written: Any) -> dict[str, Any]:
    """Returns the number and the unit of an amount of bytes, and the amount in each unit."""
    found = AMOUNT.fullmatch(str(written)) if written is not None else None
    parts: dict[str, Any] = {f"{name}_VAL": found[1] if found else None, f"{name}_UNIT": None}
    if found:
        parts[f"{name}_UNIT"] = found[2] or "B"
    amount = quantities.parse(str(written)) if found else None
    for unit, size in (("B", quantities.SUFFIXES[""]), *((unit, quantities.SUFFIXES[unit]) for unit in _SIZES)):
        number = None if amount is None else float(amount / size)
        parts[f"{name}_{unit}"] = int(number) if number is not None and number.is_integer() else number
    return parts


def _cache(wanted: Any, storage: Any) -> str:
    """Returns the space for cached inputs: as requested, or as a share of the storage, by default 90%."""
    if wanted is not None and not str(wanted).endswith("%"):
        return str(wanted)
    share = AMOUNT.fullmatch(str(wanted or "90%").removesuffix("%"))
    found = AMOUNT.fullmatch(str(storage)) if storage is not None else None
    if found is None or share is None:
        return "0"
    return f"{math.floor(float(found[1]) * math.floor(float(share[1])) / 100)}{found[2]}"


def read_spec(written: object) -> PodSpec:
    """Returns the fields of a merged PodSpec that the tool reads. Raises ValidationError if they are invalid."""
    from kubectl_tas.model.podtemplate import PodSpec as Read  # nothing else of workflows needs it

    return Read.model_validate(written)


def asks_of(resource: Resource, container: str, template: Filled) -> Amounts:
    """Returns the request of a task's pod with the merged templates. If these make no valid pod, which
    check.task_platforms reports, returns the request of the resource.
    """
    if not template.data:
        return resource.asks
    own = {name: amount for name, amount in resource.amounts.items() if name not in template.amounts_of(container)}
    pod = Merged({"spec": {"containers": [{"name": container, "resources": {"limits": own, "requests": own}}]}})
    pod.put(template.data, template.at)
    notes = pod.data.get("metadata", {}).get("annotations", {})
    try:
        return read_spec(pod.data["spec"]).asks_with(notes)
    except ValidationError:
        return resource.asks


@dataclass(frozen=True, slots=True)
class Shared:
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
        found = {}
        for name, own in spec.platforms.items():
            where: KeyPath = ("spec", "platforms", name)
            further = self._templates(pool, own.override_pod_template, (*where, "override_pod_template"))
            judged = self._validations(pool, own.resource_validations, (*where, "resource_validations"))
            found[name] = FleetPlatform(name, own, pool, (*templates, *further), (*rules, *judged))
        wanted = spec.default_platform
        if wanted is not None and wanted not in found:
            known = (pool, ("spec", "default_platform"), f"pool {pool.spec.metadata.name}")
            self.dangling.append(Dangling("platform", wanted, tuple(found), *known))
        return Platforms(base, found, found.get(wanted or ""))

    def _templates(
        self, pool: Declared[Pool], written: Iterable[str | PodTemplateBody], path: KeyPath
    ) -> Iterator[Template]:
        for index, item in enumerate(written):
            if isinstance(item, PodTemplateBody):
                yield Template(pool, (*path, index), item)
            elif item in self.templates:
                declared = self.templates[item]
                yield Template(declared, ("template",), declared.spec.template)
            else:
                self.dangling.append(Dangling("pod template", item, tuple(self.templates), pool, (*path, index)))

    def _validations(
        self, pool: Declared[Pool], written: Iterable[str | ResourceAssertion], path: KeyPath
    ) -> Iterator[Validation]:
        for index, item in enumerate(written):
            if isinstance(item, ResourceAssertion):
                yield Validation(pool, (*path, index), item)
            elif item in self.validations:
                declared = self.validations[item]
                yield from (
                    Validation(declared, ("rules", place), rule) for place, rule in enumerate(declared.spec.rules)
                )
            else:
                known = tuple(self.validations)
                self.dangling.append(Dangling("resource validation", item, known, pool, (*path, index)))
