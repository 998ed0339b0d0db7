"""Defines Kartas, which describe where a kind has its pods and how KAI groups them, from KAI 0.17.

Follows pkg/api/runai/v1alpha1 of github.com/run-ai/karta, and pkg/podgrouper/podgrouper/plugins/karta of KAI 0.17.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

from kubectl_tas import kinds
from kubectl_tas.base.late import dataclass
from kubectl_tas.facts.kai import Feature
from kubectl_tas.kinds import page
from kubectl_tas.kinds.grouping import Grouping, first_pod
from kubectl_tas.model.base import AnyText, KeyPath, LabelKey, LabelValue, Many, Model, Text, nothing
from kubectl_tas.model.kindlists import OWN
from kubectl_tas.model.podkinds import DeclaredKind, recognition
from kubectl_tas.model.podtemplate import Open

if TYPE_CHECKING:
    from kubectl_tas.model.config import ConfigSpec

PLUGINS = frozenset(
    {
        ("amlarc.azureml.com", "AmlJob"),
        ("egx.nvidia.io", "SPOTRequest"),
        ("grove.io", "PodGangSet"),
        ("kubeflow.org", "ScheduledWorkflow"),
        ("kubevirt.io", "VirtualMachineInstance"),
        ("run.ai", "RunaiJob"),
        ("serving.knative.dev", "Service"),
        ("tekton.dev", "PipelineRun"),
        ("tekton.dev", "TaskRun"),
        ("workspace.devfile.io", "DevWorkspace"),
    }
)
"""Kinds that the tool does not read but KAI 0.17 has a plugin for (hub.go), by group and name."""

_PLAIN = re.compile(r"\.([A-Za-z_][\w-]*(?:\[\]|\.[A-Za-z_][\w-]*)*)")
_NUMBER = re.compile(rf"{_PLAIN.pattern}(?:( // 1)?| \| {_PLAIN.pattern} // 1)|1")


class KindName(Model):
    """A Kubernetes kind."""

    group: AnyText = ""
    """API group of the kind."""
    version: Text
    """API version of the kind."""
    kind: Text
    """Name of the kind."""

    @property
    def apiVersion(self) -> str:  # noqa: N802
        """The apiVersion as documents write it."""
        return f"{self.group}/{self.version}" if self.group else self.version


class SpecDefinition(Model):
    """Paths of the pod description of a component."""

    podTemplateSpecPath: Text | None = None
    """Path of a pod template."""
    podSpecPath: Text | None = None
    """Path of a PodSpec without metadata."""
    metadataPath: Text | None = None
    """Path of the metadata for that PodSpec."""
    fragmentedPodSpecDefinition: dict[AnyText, Any] | None = None
    """Paths of single fields of pods."""


class ScaleDefinition(Model):
    """Paths of the numbers of a component."""

    replicasPath: Text | None = None
    """Path of the number of pods."""
    minReplicasPath: Text | None = None
    """Path of the number of pods that must start together."""
    maxReplicasPath: Text | None = None
    """Path of the largest number of pods that a controller creates."""


class PodSelector(Model):
    """The rules by which KAI finds the pods of a component."""

    componentTypeSelector: dict[AnyText, Any] | None = None
    """Selection by a key of the pod."""
    componentInstanceSelector: dict[AnyText, Any] | None = None
    """Selection by the name of one of several identical parts."""
    replicaSelector: dict[AnyText, Any] | None = None
    """Selection by a number."""


class Root(Model):
    """The kind that a Karta describes."""

    name: Text
    """Name of the component in the Karta."""
    kind: KindName
    """Kubernetes kind of the component."""
    statusDefinition: dict[AnyText, Any]
    """Meaning of the status. KAI skips a Karta without this field."""
    specDefinition: SpecDefinition | None = None
    """Paths of the pods."""
    scaleDefinition: ScaleDefinition | None = None
    """Paths of the number of pods."""
    podSelector: PodSelector | None = None
    """The rules by which KAI finds the pods."""
    instanceIdPath: Text | None = None
    """Path of the names of several identical parts."""
    suspendDefinition: dict[AnyText, Any] | None = None
    """Definition of the suspended state."""


class Child(Model):
    """A part of the kind that a Karta describes."""

    name: Text
    """Name of the component in the Karta."""
    ownerRef: Text
    """The component that this part belongs to."""
    kind: KindName | None = None
    """The kind that owns the pods of the component."""
    statusDefinition: dict[AnyText, Any] | None = None
    """Meaning of the status."""
    specDefinition: SpecDefinition | None = None
    """Paths of the pods."""
    scaleDefinition: ScaleDefinition | None = None
    """Paths of the number of pods."""
    podSelector: PodSelector | None = None
    """The rules by which KAI finds the pods."""
    instanceIdPath: Text | None = None
    """Path of the names of several identical parts."""
    suspendDefinition: dict[AnyText, Any] | None = None
    """Definition of the suspended state."""


class SubGroupMapping(Model):
    """A component that becomes a SubGroup."""

    componentName: Text
    """Name of the component."""
    topology: dict[AnyText, Any] | None = None
    """Topology constraint of the pods."""


class PodGroupMapping(Model):
    """One PodGroup for each object."""

    name: Text
    """Suffix of the PodGroup's name."""
    subGroups: Many[SubGroupMapping] = ()
    """SubGroups, which must all start."""
    topology: dict[AnyText, Any] | None = None
    """Topology constraint of the pods."""


class GangScheduling(Model):
    """The rules by which KAI groups the pods."""

    podGroup: PodGroupMapping | None = None
    """A single PodGroup."""
    podGroups: Many[dict[AnyText, Any]] = ()
    """The older form: PodGroups by labels of pods."""


class Instructions(Model):
    """Instructions to schedulers."""

    gangScheduling: GangScheduling | None = None
    """The rules by which KAI groups the pods."""


class Structure(Model):
    """The components of a kind."""

    rootComponent: Root
    """The kind itself."""
    childComponents: Many[Child] = ()
    """The parts of the kind."""
    additionalChildKinds: Many[KindName] = ()
    """Other kinds that the kind's controller creates."""


class KartaSpec(Model):
    """Settings of a Karta."""

    structureDefinition: Structure
    """The components and the paths of their pods."""
    optimizationInstructions: Instructions = Instructions.model_construct()
    """Instructions for grouping the pods."""


class KartaMeta(Open):
    """Name and labels of a Karta."""

    name: Text
    """Name of the Karta."""
    labels: dict[LabelKey, LabelValue] = nothing()
    """Labels. KAI finds a Karta by three of them."""


Fault = tuple[KeyPath, str, str]
"""Path, problem and hint for a part of a Karta that the tool does not support."""
_STRUCTURE: KeyPath = ("spec", "structureDefinition")
_GROUPS: KeyPath = ("spec", "optimizationInstructions", "gangScheduling", "podGroup", "subGroups")
_OTHERWISE = "describe the kind in spec.kinds of the Config, and move the Karta out of the folders that are read."
_ELSE = f"Instead, {_OTHERWISE}"
_PATHS = f"Write a path such as .spec.template or .spec.roles[].template. If none fits: {_OTHERWISE}"
_NUMBERS = f"Write a path such as .spec.replicas or .spec.roles[] | .replicas // 1. If none fits: {_OTHERWISE}"


class Karta(Open):
    """A rule by which KAI finds and groups the pods of a kind. `render` does not write it: apply it where KAI runs."""

    apiVersion: Literal["run.ai/v1alpha1"]
    """API of the Karta."""
    kind: Literal["Karta"]
    """Kind of the object."""
    metadata: KartaMeta
    """Name of the Karta, and the labels by which KAI finds it."""
    spec: KartaSpec
    """Settings of the Karta."""

    @property
    def root(self) -> Root:
        """The kind that the Karta describes."""
        return self.spec.structureDefinition.rootComponent

    @property
    def gang(self) -> GangScheduling:
        """The rules by which KAI groups the pods."""
        return self.spec.optimizationInstructions.gangScheduling or GangScheduling.model_construct()

    @property
    def labels(self) -> dict[str, str]:
        """The labels by which KAI finds the Karta."""
        kind = self.root.kind
        names_of_kind = {"group": kind.group, "version": kind.version, "kind": kind.kind}
        return {f"run.ai/karta-{label_end}": value for label_end, value in names_of_kind.items()}

    @property
    def is_found(self) -> bool:
        """Whether KAI finds the Karta and grouping rules in it."""
        has_groups = self.gang.podGroup is not None or bool(self.gang.podGroups)
        return has_groups and self.labels.items() <= self.metadata.labels.items()

    @cached_property
    def read(self) -> _Read:
        """The page and the faults of the Karta."""
        return _Read(self)


@dataclass(frozen=True, slots=True)
class _Located:
    """A component and its path."""

    component: Root | Child
    path: KeyPath


class _Read:
    """Converts a Karta to the page of its kind, and lists the ``faults`` that make the conversion impossible."""

    def __init__(self, karta: Karta) -> None:
        structure = karta.spec.structureDefinition
        children = structure.childComponents
        self._components = [
            _Located(structure.rootComponent, (*_STRUCTURE, "rootComponent")),
            *(_Located(child, (*_STRUCTURE, "childComponents", index)) for index, child in enumerate(children)),
        ]
        self._by_name = {located.component.name: located for located in self._components}
        self._owner = {child.name: child.ownerRef for child in children}
        self._karta = karta
        self.faults: list[Fault] = [*self._structure()]
        pods = (
            []
            if self.faults
            else [located for located in self._components if located.component.specDefinition is not None]
        )
        page_pods = [self._pods(located) for located in pods]
        if not page_pods and not self.faults:
            self._fault(_STRUCTURE, "no component says where its pods are", "Add specDefinition.podTemplateSpecPath.")
        is_grouped, unpredicted = karta.is_found, ""
        if is_grouped and not self.faults:
            self.faults += self._sub_groups()
            unpredicted = self._unpredicted(page_pods)
        groups = karta.gang.podGroup.subGroups if is_grouped and karta.gang.podGroup else ()
        kind = karta.root.kind
        gang = Grouping(
            first_pod,
            sub_groups=Feature.KARTA if groups and not unpredicted else None,
            ends_in=karta.gang.podGroup.name if is_grouped and karta.gang.podGroup else "",
            unpredicted=unpredicted,
            by_karta=is_grouped,
        )
        self.described = page.declared(recognition(kind.kind, kind.apiVersion), tuple(page_pods), gang)

    @property
    def _names(self) -> str:
        return f"Known: {', '.join(self._by_name)}."

    def _fault(self, path: KeyPath, message: str, hint: str) -> None:
        self.faults.append((path, message, hint))

    def _structure(self) -> Iterator[Fault]:
        """Yields faults that KAI refuses (validation.go of Karta), and nested owners, which the tool does not read."""
        seen: set[str] = set()
        for located in self._components:
            name, path = located.component.name, located.path
            if name in seen:
                yield (*path, "name"), f'two components are called "{name}"', "Rename one of them."
            seen.add(name)
            owner = self._owner.get(name)
            if owner is not None and owner not in self._by_name:
                yield (*path, "ownerRef"), f'the Karta has no component "{owner}"', self._names
            elif owner is not None and owner in self._owner:
                message = f'"{owner}" is a component below another one: kubectl-tas reads components of the root alone'
                yield (*path, "ownerRef"), message, _ELSE
        if self._owner and self._karta.root.specDefinition is not None:
            message = "the root has pods and components: KAI counts those of the components alone"
            yield (*self._components[0].path, "specDefinition"), message, "Make its pods a component of their own."

    def _pods(self, located: _Located) -> page.Pods:
        """Converts the pods of a component."""
        component, at = located.component, (*located.path, "specDefinition")
        assert component.specDefinition is not None
        template_path = component.specDefinition.podTemplateSpecPath
        template = _PLAIN.fullmatch(template_path or "")
        if template_path is None:
            other_keys = ("podSpecPath", "fragmentedPodSpecDefinition")
            stated_key = next((key for key in other_keys if getattr(component.specDefinition, key) is not None), None)
            what = f"not the {stated_key}" if stated_key else "which is missing here"
            message = f'of "{component.name}" kubectl-tas reads podTemplateSpecPath alone, {what}'
            self._fault((*at, *([stated_key] if stated_key else [])), message, _ELSE)
        elif template is None:
            self._fault(
                (*at, "podTemplateSpecPath"), f"kubectl-tas does not read the jq expression {template_path}", _PATHS
            )
        elif "[]" in template_path and component.instanceIdPath is None:
            what = f'"{component.name}" has several pod templates and no instanceIdPath'
            self._fault((*at, "podTemplateSpecPath"), what, "Add instanceIdPath, and the selector that belongs to it.")
        own_paths = self._scale(located, template[1] if template else "")
        root = self._scale(self._components[0], "") if located is not self._components[0] else ("", "", "", False)
        if root[1]:
            what = "kubectl-tas does not read a minimum of the root: KAI multiplies those of the components by it"
            self._fault((*self._components[0].path, "scaleDefinition", "minReplicasPath"), what, _ELSE)
        return page.Pods(
            template[1] if template else "",
            count=own_paths[0],
            factor=root[0],
            most=own_paths[2],
            least=own_paths[1],
            is_counted=own_paths[3] or not self._is_scaled,
            name="" if "[]" in (template_path or "") else component.name,
            is_optional=True,
        )

    @property
    def _is_scaled(self) -> bool:
        return any(located.component.scaleDefinition is not None for located in self._components)

    def _scale(self, located: _Located, template: str) -> tuple[str, str, str, bool]:
        """Returns the paths of replicas, minimum and maximum of a component, and whether KAI assumes 1 if absent."""
        scale = located.component.scaleDefinition
        number_paths, is_counted = [], False
        for key in ("replicasPath", "minReplicasPath", "maxReplicasPath"):
            expression = getattr(scale, key, None)
            number = _NUMBER.fullmatch(expression or "")
            path = ".".join(filter(None, (number[1], number[3]))) if number else ""
            if expression is not None and number is not None and "[]" in path and number[2]:
                message = f"of {expression} jq leaves out the items without that number, and KAI then makes no PodGroup"
                hint = f"Write .{path.replace('[].', '[] | .')} // 1."
                self._fault((*located.path, "scaleDefinition", key), message, hint)
            elif expression is not None and number is None:
                message = f"kubectl-tas does not read the jq expression {expression}"
                self._fault((*located.path, "scaleDefinition", key), message, _NUMBERS)
            elif "[]" in path and not template.startswith(path[: path.rindex("[]") + 2]):
                message = f"{expression} counts items of a list that the pod templates are not in"
                self._fault((*located.path, "scaleDefinition", key), message, _ELSE)
            if key == "replicasPath" and number is not None:
                is_counted = not number[1] or "//" in number[0]
            number_paths.append(path)
        return number_paths[0], number_paths[1], number_paths[2], is_counted

    def _sub_groups(self) -> Iterator[Fault]:
        """Yields SubGroups that KAI refuses (constructSubgroup, grouper.go) or leaves empty (component_matching.go)."""
        gang = self._karta.gang.podGroup
        for index, sub_group in enumerate(gang.subGroups if gang else ()):
            at = (*_GROUPS, index, "componentName")
            if sub_group.componentName not in self._by_name:
                yield at, f'the Karta has no component "{sub_group.componentName}"', self._names
                continue
            below = self._below(sub_group.componentName)
            if self._is_scaled and not any(component.scaleDefinition for component in below):
                message = f'KAI refuses the SubGroup "{sub_group.componentName}": its component has no scaleDefinition'
                yield at, message, "Add scaleDefinition.replicasPath to the component."
            if not any(component.podSelector and component.podSelector.componentTypeSelector for component in below):
                message = f'KAI finds no pod of the SubGroup "{sub_group.componentName}", so the gang never starts'
                yield at, message, "Add podSelector.componentTypeSelector to the component."

    def _below(self, name: str) -> list[Root | Child]:
        children = [x.component for x in self._components if self._owner.get(x.component.name) == name]
        return [self._by_name[name].component, *children]

    def _unpredicted(self, pods: list[page.Pods]) -> str:
        """Returns the reason why the tool cannot predict the PodGroup from the file."""
        gang = self._karta.gang.podGroup
        if gang is None:
            return "its Karta groups pods by labels that their controller sets"
        if gang.topology or any(sub_group.topology for sub_group in gang.subGroups):
            return "its Karta places the pods by a topology of its own"
        grouped = {sub_group.componentName for sub_group in gang.subGroups}
        if grouped and grouped != {pods_of_component.name for pods_of_component in pods}:
            return "the SubGroups of its Karta are not its pod templates one by one"
        return ""


class KartaKind(DeclaredKind):
    """A kind that a Karta declares."""

    karta: Karta
    """The Karta."""

    @property
    def described(self) -> page.WorkloadKind:
        """The page of the kind."""
        return self.karta.read.described


def with_kartas(config: ConfigSpec, kartas: Iterable[Karta]) -> ConfigSpec:
    """Returns the settings with the kinds that Kartas declare after the Config's own kinds."""
    known_kinds = {*kinds.BY_API, *((version, kind) for kind, version, _ in OWN)}
    known_kinds |= {(declared_kind.apiVersion, declared_kind.kind) for declared_kind in config.kinds}
    new_kinds = []
    for karta in kartas:
        root_kind = karta.root.kind
        named = (root_kind.apiVersion, root_kind.kind)
        if named not in known_kinds and (root_kind.group, root_kind.kind) not in PLUGINS and not karta.read.faults:
            new_kinds.append(
                KartaKind.model_construct(apiVersion=root_kind.apiVersion, kind=root_kind.kind, pods=(), karta=karta)
            )
        known_kinds.add(named)
    return config.model_copy(update={"kinds": (*config.kinds, *new_kinds)}) if new_kinds else config
