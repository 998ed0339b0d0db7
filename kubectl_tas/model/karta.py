"""Karta definitions: where the pods of a kind are, and how KAI groups them from 0.17 on.

Follows pkg/api/runai/v1alpha1 of github.com/run-ai/karta, and pkg/podgrouper/podgrouper/plugins/karta of KAI 0.17.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

from kubectl_tas.model.base import AnyText, KeyPath, LabelKey, LabelValue, Many, Model, Text, nothing
from kubectl_tas.model.kindlists import OWN, WORKLOADS
from kubectl_tas.model.podkinds import KINDS, DeclaredKind, PodKind, PodPart
from kubectl_tas.model.podtemplate import Open
from kubectl_tas.records import dataclass

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
"""Kinds besides those that are read for which KAI 0.17 has a plugin (hub.go), by group and name."""
WITHOUT_PLUGIN = frozenset(
    {
        "CronWorkflow",
        "InferenceService",
        "Job.batch.volcano.sh",
        "PaddleJob",
        "ReplicationController",
        "SparkApplication",
    }
)
"""Kinds that are read and for which KAI has none: it would group them by a Karta."""

_PLAIN = re.compile(r"\.([A-Za-z_][\w-]*(?:\[\]|\.[A-Za-z_][\w-]*)*)")
_NUMBER = re.compile(rf"{_PLAIN.pattern}(?:( // 1)?| \| {_PLAIN.pattern} // 1)|1")


class KindName(Model):
    """A kind of Kubernetes."""

    group: AnyText = ""
    """Its API group."""
    version: Text
    """Its version."""
    kind: Text
    """Its name."""

    @property
    def apiVersion(self) -> str:  # noqa: N802
        """As documents write it."""
        return f"{self.group}/{self.version}" if self.group else self.version


class SpecDefinition(Model):
    """Where the pods of a component are described."""

    podTemplateSpecPath: Text | None = None
    """The path of a pod template."""
    podSpecPath: Text | None = None
    """The path of a pod without metadata."""
    metadataPath: Text | None = None
    """The path of that metadata."""
    fragmentedPodSpecDefinition: dict[AnyText, Any] | None = None
    """Paths of single fields of pods."""


class ScaleDefinition(Model):
    """Where the numbers of a component stand."""

    replicasPath: Text | None = None
    """Pods."""
    minReplicasPath: Text | None = None
    """Pods that start together."""
    maxReplicasPath: Text | None = None
    """The most pods that a controller makes."""


class PodSelector(Model):
    """How KAI finds the pods of a component."""

    componentTypeSelector: dict[AnyText, Any] | None = None
    """By a key of the pod."""
    componentInstanceSelector: dict[AnyText, Any] | None = None
    """By the name of one of several equal parts."""
    replicaSelector: dict[AnyText, Any] | None = None
    """By a number."""


class Root(Model):
    """What a Karta describes."""

    name: Text
    """Its name in the Karta."""
    kind: KindName
    """Its kind."""
    statusDefinition: dict[AnyText, Any]
    """What its status means; KAI skips a Karta without it."""
    specDefinition: SpecDefinition | None = None
    """Its pods."""
    scaleDefinition: ScaleDefinition | None = None
    """Their number."""
    podSelector: PodSelector | None = None
    """How KAI finds them."""
    instanceIdPath: Text | None = None
    """Where the names of several equal parts stand."""
    suspendDefinition: dict[AnyText, Any] | None = None
    """How it is suspended."""


class Child(Model):
    """A part of what a Karta describes."""

    name: Text
    """Its name in the Karta."""
    ownerRef: Text
    """The component that it is a part of."""
    kind: KindName | None = None
    """What its pods are owned by."""
    statusDefinition: dict[AnyText, Any] | None = None
    """What its status means."""
    specDefinition: SpecDefinition | None = None
    """Its pods."""
    scaleDefinition: ScaleDefinition | None = None
    """Their number."""
    podSelector: PodSelector | None = None
    """How KAI finds them."""
    instanceIdPath: Text | None = None
    """Where the names of several equal parts stand."""
    suspendDefinition: dict[AnyText, Any] | None = None
    """How it is suspended."""


class SubGroupMapping(Model):
    """A component that is a SubGroup."""

    componentName: Text
    """Its name."""
    topology: dict[AnyText, Any] | None = None
    """Where its pods run."""


class PodGroupMapping(Model):
    """One PodGroup for an object."""

    name: Text
    """The end of its name."""
    subGroups: Many[SubGroupMapping] = ()
    """Its SubGroups, which all have to start."""
    topology: dict[AnyText, Any] | None = None
    """Where its pods run."""


class GangScheduling(Model):
    """How KAI groups the pods."""

    podGroup: PodGroupMapping | None = None
    """One PodGroup."""
    podGroups: Many[dict[AnyText, Any]] = ()
    """The older form: PodGroups by labels of pods."""


class Instructions(Model):
    """What schedulers make of the structure."""

    gangScheduling: GangScheduling | None = None
    """What KAI makes of it."""


class Structure(Model):
    """The components of a kind."""

    rootComponent: Root
    """The kind itself."""
    childComponents: Many[Child] = ()
    """Its parts."""
    additionalChildKinds: Many[KindName] = ()
    """Other kinds that its controller makes."""


class KartaSpec(Model):
    """What a Karta says."""

    structureDefinition: Structure
    """Where the pods are."""
    optimizationInstructions: Instructions = Instructions.model_construct()
    """How they are grouped."""


class KartaMeta(Open):
    """Name and labels."""

    name: Text
    """Its name."""
    labels: dict[LabelKey, LabelValue] = nothing()
    """KAI finds a Karta by three of them."""


Fault = tuple[KeyPath, str, str]
"""Where a Karta says what is not read, what it is, and what to do."""
_STRUCTURE: KeyPath = ("spec", "structureDefinition")
_GROUPS: KeyPath = ("spec", "optimizationInstructions", "gangScheduling", "podGroup", "subGroups")
_OTHERWISE = "describe the kind in spec.kinds of the Config, and move the Karta out of the folders that are read."
_ELSE = f"Instead, {_OTHERWISE}"
_PATHS = f"Write a path such as .spec.template or .spec.roles[].template. If none fits: {_OTHERWISE}"


class Karta(Open):
    """How the pods of a kind are found and grouped. `render` does not write it: apply it where KAI is installed."""

    apiVersion: Literal["run.ai/v1alpha1"]
    """Its API."""
    kind: Literal["Karta"]
    """Its kind."""
    metadata: KartaMeta
    """Its name, and the labels by which KAI finds it."""
    spec: KartaSpec
    """What it says."""

    @property
    def root(self) -> Root:
        """The kind that it describes."""
        return self.spec.structureDefinition.rootComponent

    @property
    def gang(self) -> GangScheduling:
        """How KAI groups the pods."""
        return self.spec.optimizationInstructions.gangScheduling or GangScheduling.model_construct()

    @property
    def labels(self) -> dict[str, str]:
        """The labels by which KAI finds it."""
        kind = self.root.kind
        parts = {"group": kind.group, "version": kind.version, "kind": kind.kind}
        return {f"run.ai/karta-{part}": value for part, value in parts.items()}

    @property
    def is_found(self) -> bool:
        """Whether KAI finds it, and instructions in it."""
        has_groups = self.gang.podGroup is not None or bool(self.gang.podGroups)
        return has_groups and self.labels.items() <= self.metadata.labels.items()

    @cached_property
    def read(self) -> _Read:
        """What is read of it."""
        return _Read(self)


@dataclass(frozen=True, slots=True)
class _Part:
    """A component and its place."""

    component: Root | Child
    path: KeyPath


class _Read:
    """What a Karta comes to: ``row``, and the ``faults`` for which there is none."""

    def __init__(self, karta: Karta) -> None:
        structure = karta.spec.structureDefinition
        children = structure.childComponents
        self._parts = [
            _Part(structure.rootComponent, (*_STRUCTURE, "rootComponent")),
            *(_Part(item, (*_STRUCTURE, "childComponents", index)) for index, item in enumerate(children)),
        ]
        self._known = {item.component.name: item for item in self._parts}
        self._owner = {item.name: item.ownerRef for item in children}
        self._karta = karta
        self.faults: list[Fault] = [*self._structure()]
        pods = [] if self.faults else [item for item in self._parts if item.component.specDefinition is not None]
        found = [self._pods(item) for item in pods]
        if not found and not self.faults:
            self._fault(_STRUCTURE, "no component says where its pods are", "Add specDefinition.podTemplateSpecPath.")
        is_grouped, unpredicted = karta.is_found, ""
        if is_grouped and not self.faults:
            self.faults += self._sub_groups()
            unpredicted = self._unpredicted(found)
        groups = karta.gang.podGroup.subGroups if is_grouped and karta.gang.podGroup else ()
        kind = karta.root.kind
        self.row = PodKind(
            kind.kind,
            (kind.apiVersion,),
            tuple(found),
            minimum="least" if is_grouped else 1,
            group_name=karta.gang.podGroup.name if is_grouped and karta.gang.podGroup else "",
            sub_groups=bool(groups) and not unpredicted,
            unpredicted=unpredicted,
        )

    @property
    def _names(self) -> str:
        return f"Known are {', '.join(self._known)}."

    def _fault(self, path: KeyPath, message: str, hint: str) -> None:
        self.faults.append((path, message, hint))

    def _structure(self) -> Iterator[Fault]:
        """What KAI's validation refuses (validation.go of Karta), and chains of owners that are not read."""
        seen: set[str] = set()
        for item in self._parts:
            name, path = item.component.name, item.path
            if name in seen:
                yield (*path, "name"), f'two components are called "{name}"', "Rename one of them."
            seen.add(name)
            owner = self._owner.get(name)
            if owner is not None and owner not in self._known:
                yield (*path, "ownerRef"), f'the Karta has no component "{owner}"', self._names
            elif owner is not None and owner in self._owner:
                what = f'"{owner}" is a component below another one: kubectl-tas reads components of the root alone'
                yield (*path, "ownerRef"), what, _ELSE
        if self._owner and self._karta.root.specDefinition is not None:
            what = "the root has pods and components: KAI counts those of the components alone"
            yield (*self._parts[0].path, "specDefinition"), what, "Make its pods a component of their own."

    def _pods(self, item: _Part) -> PodPart:
        """The pods of a component."""
        component, at = item.component, (*item.path, "specDefinition")
        assert component.specDefinition is not None
        written = component.specDefinition.podTemplateSpecPath
        template = _PLAIN.fullmatch(written or "")
        if written is None:
            others = ("podSpecPath", "fragmentedPodSpecDefinition")
            other = next((key for key in others if getattr(component.specDefinition, key) is not None), None)
            what = f"not the {other}" if other else "which is missing here"
            message = f'of "{component.name}" kubectl-tas reads podTemplateSpecPath alone, {what}'
            self._fault((*at, *([other] if other else [])), message, _ELSE)
        elif template is None:
            self._fault((*at, "podTemplateSpecPath"), f"kubectl-tas does not read the jq expression {written}", _PATHS)
        elif "[]" in written and component.instanceIdPath is None:
            what = f'"{component.name}" has several pod templates and no instanceIdPath'
            self._fault((*at, "podTemplateSpecPath"), what, "Add instanceIdPath, and the selector that belongs to it.")
        own = self._scale(item, template[1] if template else "")
        root = self._scale(self._parts[0], "") if item is not self._parts[0] else ("", "", "", False)
        if root[1]:
            what = "kubectl-tas does not read a minimum of the root: KAI multiplies those of the components by it"
            self._fault((*self._parts[0].path, "scaleDefinition", "minReplicasPath"), what, _ELSE)
        return PodPart(
            template[1] if template else "",
            count=own[0],
            times=root[0],
            most=own[2],
            least=own[1],
            is_counted=own[3] or not self._is_scaled,
            name="" if "[]" in (written or "") else component.name,
        )

    @property
    def _is_scaled(self) -> bool:
        return any(item.component.scaleDefinition is not None for item in self._parts)

    def _scale(self, item: _Part, template: str) -> tuple[str, str, str, bool]:
        """The paths of replicas, minimum and maximum of a component, and whether KAI counts what is left out as 1."""
        scale = item.component.scaleDefinition
        found, is_counted = [], False
        for key in ("replicasPath", "minReplicasPath", "maxReplicasPath"):
            written = getattr(scale, key, None)
            number = _NUMBER.fullmatch(written or "")
            path = ".".join(filter(None, (number[1], number[3]))) if number else ""
            if written is not None and number is not None and "[]" in path and number[2]:
                what = f"of {written} jq leaves out the items without that number, and KAI then makes no PodGroup"
                hint = f"Write .{path.replace('[].', '[] | .')} // 1."
                self._fault((*item.path, "scaleDefinition", key), what, hint)
            elif written is not None and number is None:
                what = f"kubectl-tas does not read the jq expression {written}"
                self._fault((*item.path, "scaleDefinition", key), what, _PATHS)
            elif "[]" in path and not template.startswith(path[: path.rindex("[]") + 2]):
                what = f"{written} counts items of a list that the pod templates are not in"
                self._fault((*item.path, "scaleDefinition", key), what, _ELSE)
            if key == "replicasPath" and number is not None:
                is_counted = not number[1] or "//" in number[0]
            found.append(path)
        return found[0], found[1], found[2], is_counted

    def _sub_groups(self) -> Iterator[Fault]:
        """SubGroups that KAI refuses (constructSubgroup of grouper.go), or puts no pod in (component_matching.go)."""
        gang = self._karta.gang.podGroup
        for index, item in enumerate(gang.subGroups if gang else ()):
            at = (*_GROUPS, index, "componentName")
            if item.componentName not in self._known:
                yield at, f'the Karta has no component "{item.componentName}"', self._names
                continue
            below = self._below(item.componentName)
            if self._is_scaled and not any(part.scaleDefinition for part in below):
                what = f'KAI refuses the SubGroup "{item.componentName}": its component has no scaleDefinition'
                yield at, what, "Add scaleDefinition.replicasPath to the component."
            if not any(part.podSelector and part.podSelector.componentTypeSelector for part in below):
                what = f'KAI finds no pod of the SubGroup "{item.componentName}", so the gang never starts'
                yield at, what, "Add podSelector.componentTypeSelector to the component."

    def _below(self, name: str) -> list[Root | Child]:
        children = [part.component for part in self._parts if self._owner.get(part.component.name) == name]
        return [self._known[name].component, *children]

    def _unpredicted(self, pods: list[PodPart]) -> str:
        """Why the file does not say what KAI makes of it."""
        gang = self._karta.gang.podGroup
        if gang is None:
            return "its Karta groups pods by labels that their controller sets"
        if gang.topology or any(item.topology for item in gang.subGroups):
            return "its Karta places the pods by a topology of its own"
        grouped = {item.componentName for item in gang.subGroups}
        if grouped and grouped != {part.name for part in pods}:
            return "the SubGroups of its Karta are not its pod templates one by one"
        return ""


class KartaKind(DeclaredKind):
    """A kind that a Karta declares."""

    karta: Karta
    """The definition."""

    @property
    def row(self) -> PodKind:
        """Its row."""
        return self.karta.read.row


def with_kartas(config: ConfigSpec, found: Iterable[Karta]) -> ConfigSpec:
    """The settings with the kinds that Kartas declare, after its own."""
    known = {(version, kind) for kind, (_, versions) in WORKLOADS.items() for version in versions}
    known |= (
        KINDS | {(version, kind) for kind, version, _ in OWN} | {(item.apiVersion, item.kind) for item in config.kinds}
    )
    more = []
    for karta in found:
        own = karta.root.kind
        named = (own.apiVersion, own.kind)
        if named not in known and (own.group, own.kind) not in PLUGINS and not karta.read.faults:
            more.append(KartaKind.model_construct(apiVersion=own.apiVersion, kind=own.kind, pods=(), karta=karta))
        known.add(named)
    return config.model_copy(update={"kinds": (*config.kinds, *more)}) if more else config
