"""Recognises the kind of a document by its content, with the table of all kinds that the tool reads."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any

from kubectl_tas import kinds
from kubectl_tas.base.diagnostics import Diagnostic, Rule, Severity, Suggestion
from kubectl_tas.base.late import dataclass, imported
from kubectl_tas.base.words import closest, did_you_mean
from kubectl_tas.kinds import Listed
from kubectl_tas.load.document import Document
from kubectl_tas.load.osmofiles import sections
from kubectl_tas.model.base import API_VERSION
from kubectl_tas.model.kindlists import (
    COMPANIONS,
    OWN,
    POD_GROUPS,
    belongs_elsewhere,
    group_of,
    is_harmless,
    makes_pods,
    why_elsewhere,
)

if TYPE_CHECKING:
    from pydantic import BaseModel

    from kubectl_tas.kinds.page import WorkloadKind
    from kubectl_tas.model.config import ConfigSpec

UNKNOWN_KIND = Rule(
    "unknown-kind",
    Severity.ERROR,
    "kubectl-tas does not read a document of this kind.",
    "The manifests would lack a document that kubectl-tas does not read. Correct its apiVersion and kind, or move it "
    "out of the folders that kubectl-tas reads. For an object that asks for no GPU and belongs to workloads, add its "
    "kind to spec.companions of the Config if it is harmless.",
)
KIND_ELSEWHERE = Rule(
    "kind-elsewhere",
    Severity.ERROR,
    "A document, or a kind of the Config, could change quotas or rights of others.",
    "Queues, topologies, priority classes, roles, admission policies, quotas, namespaces and secrets decide what "
    "others may do. If `render` passed them through next to workloads, everybody who may send work could change them. "
    "The message says where each belongs.",
)


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of document."""

    name: str
    """The kind, and the name of its JSON Schema."""
    api_version: str
    """The apiVersion; empty for an OSMO workflow, which has none."""
    model_path: str
    """The path of the model, ``module:class`` below ``model``. The tool imports only models of kinds in use."""
    normalize: Callable[[dict[str, Any]], dict[str, Any]] | None = None
    """Converts other accepted spellings to the spelling of the model."""
    described: Listed | WorkloadKind | None = None
    """The page of a kind of workload, or where it is."""

    @property
    def page(self) -> WorkloadKind | None:
        """The page of a kind of workload."""
        return self.described.page if isinstance(self.described, Listed) else self.described

    @property
    def unique_name(self) -> str:
        """The kind, with its group if another kind has the same name."""
        return self.described.name if isinstance(self.described, Listed) else self.name

    @property
    def schema(self) -> str:
        """The name of the JSON Schema file, without suffix; empty for a kind that the Config declares."""
        page = self.page or kinds.page_of(self.name)
        if page is not None:
            recognition = page.recognition
            return "" if page.is_declared else (recognition.schema or recognition.kind).lower()
        return self.model_path.rpartition(":")[2].lower()

    @property
    def model(self) -> type[BaseModel]:
        """The model of the kind."""
        found: type[BaseModel] = imported(f"kubectl_tas.model.{self.model_path}")
        return found


def decides(kind: Kind) -> bool:
    """Whether documents of a kind affect other teams, as pools and settings do."""
    return kind.page is None and kind.name in _DECIDING


def _pod_group(data: dict[str, Any]) -> dict[str, Any]:
    """Returns a PodGroup with ``subGroups`` spelled as in the API, and without nulls."""
    data = without_nulls(data)
    spec = data.get("spec")
    if isinstance(spec, dict) and "subgroups" in spec and "subGroups" not in spec:
        spec = {"subGroups" if key == "subgroups" else key: value for key, value in spec.items()}
        data = {**data, "spec": spec}
    return data


def _workload(data: dict[str, Any]) -> dict[str, Any]:
    """Returns a workload as an API server reads it: a label or annotation without a value is an empty text."""
    return dict(without_nulls(data, texts=("labels", "annotations")))


def _texts(data: Any) -> Any:
    return {key: "" if value is None else value for key, value in data.items()} if isinstance(data, dict) else data


def without_nulls(data: Any, texts: Sequence[str] = ()) -> Any:
    """Removes null fields, as Kubernetes does; below a key of ``texts``, replaces a null with an empty text."""
    if isinstance(data, dict):
        return {
            key: without_nulls(_texts(value) if key in texts else value, texts)
            for key, value in data.items()
            if value is not None
        }
    return [without_nulls(item, texts) for item in data] if isinstance(data, list) else data


_DECIDING = {name for name, version, _ in OWN if version != POD_GROUPS and name != kinds.SET.kind}
WORKFLOW = Kind("Workflow", "", "osmo_workflow:Workflow")
FUNCTION = Kind("Function", API_VERSION, "function:Function")
"""The configuration in a ResourceList; no file holds this kind."""
VALUES = Kind("Values", "", "config:Values")
"""A values file, recognised by its folder."""
USAGE = Kind("UsageRecord", "", "usage_record:UsageRecord")
"""A file with the past usage of queues, named on the command line."""
KINDS: tuple[Kind, ...] = (
    *(
        Kind(kind, version, place, {API_VERSION: None, POD_GROUPS: _pod_group}.get(version, without_nulls))
        for kind, version, place in OWN
    ),
    *(Kind(kind, version, "", _workload, listed) for (version, kind), listed in kinds.BY_API.items()),
)
_BY_API = {(kind.api_version, kind.name): kind for kind in reversed(KINDS)}
_BUILT = "Keep the {} elsewhere, and put here what `{}` makes of it."
_MOVE = "move it out of the folders that are read."
_ELSEWHERE = _MOVE.capitalize()
_UNTOLD = "Move it out of the folders that are read: its file does not say which pods it makes."
_NO_PODGROUP = "Remove it: KAI makes a PodGroup of each workload."
_ADVICE: dict[tuple[str | None, str], str] = {
    (None, "DaemonSet"): "Its pods run on every node, so no queue is charged for them; keep it elsewhere.",
    (None, "Workflow"): "An OSMO workflow has neither apiVersion nor kind: its root key is workflow.",
    (None, "Kustomization"): _BUILT.format("kustomization", "kustomize build"),
    ("argoproj.io", "Application"): _UNTOLD,
    ("kubeflow.org", "Experiment"): _UNTOLD,
    ("kubeflow.org", "Profile"): "Name its namespace in namespaces of a Pool, and keep the Profile elsewhere.",
    ("kubeflow.org", "ScheduledWorkflow"): _UNTOLD,
    **kinds.INSTEAD,
    ("keda.sh", "ScaledObject"): "Write a HorizontalPodAutoscaler, or move it out of the folders that are read.",
    ("scheduling.volcano.sh", "PodGroup"): _NO_PODGROUP,
    ("scheduling.volcano.sh", "Queue"): "Declare a Pool or Subpool: `render` makes the queues of KAI from them.",
    ("scheduling.x-k8s.io", "PodGroup"): _NO_PODGROUP,
    **{
        (group, ""): _UNTOLD
        for group in (
            "helm.toolkit.fluxcd.io",
            "kubevirt.io",
            "kustomize.toolkit.fluxcd.io",
            "source.toolkit.fluxcd.io",
            "tekton.dev",
            "workspace.devfile.io",
        )
    },
}
"""Advice about a kind, by group (None: any) and kind (empty: any)."""
_WITHOUT_KIND: tuple[tuple[tuple[str, ...], type, str, str], ...] = (
    (("apiVersion", "name", "version"), str, "the Chart.yaml of a Helm chart", _BUILT.format("chart", "helm template")),
    (("services",), dict, "a file of Docker Compose", _ELSEWHERE),
    (("on", "jobs"), dict, "a workflow of GitHub Actions", _ELSEWHERE),
    (("resources",), list, "a kustomization", _BUILT.format("kustomization", "kustomize build")),
)
"""Files of other tools: the keys of each, the type of the last key's value, a description and a hint."""
_TEXTS_OF_GIT: tuple[tuple[str, str, str], ...] = (
    ("version https://git-lfs", "a pointer of Git LFS", "Fetch the file itself: git lfs pull."),
    *((marker * 7, "a merge conflict", "Keep one of the two sides and remove the markers.") for marker in "<="),
)
"""Texts that git leaves in or instead of a file: the beginning of each, a description and a hint."""
_NEITHER = (
    "Write apiVersion and kind, or an OSMO workflow (root key workflow); or move it out of the folders that are read."
)


COMPANION = "podtemplate:Companion"
"""The path of the model for all kinds of companions."""
LIST = "apiVersion: v1, kind: List, items: [...]"
"""The way to write several objects as one document (load.schema)."""


def recognise(document: Document, config: ConfigSpec | None = None) -> Kind | Diagnostic:
    """Returns the kind of a document, or the diagnostic that says why the kind is unknown. ``config`` may add workloads
    and companions to the known kinds.
    """
    data = document.data
    if not isinstance(data, dict):
        if isinstance(data, list) and (of_osmo := _of_osmo(document)):
            return of_osmo
        for start, what, hint in _TEXTS_OF_GIT if isinstance(data, str) else ():
            if data.startswith(start):
                return _unknown(document, (), f"this is {what}", hint)
        found = "a list" if isinstance(data, list) else "a single value"
        return _unknown(document, (), f"this document is {found}, not a mapping", _NEITHER)
    if "workflow" in data:
        return WORKFLOW
    api_version, kind = data.get("apiVersion"), data.get("kind")
    if isinstance(api_version, str) and isinstance(kind, str) and (api_version, kind) in _BY_API:
        return _BY_API[api_version, kind]
    for declared in config.kinds if config is not None else ():
        if (declared.apiVersion, declared.kind) == (api_version, kind):
            return Kind(declared.kind, declared.apiVersion, "", _workload, declared.described)
    related = [candidate.name for candidate in KINDS if candidate.api_version == api_version]
    if not isinstance(kind, str):
        message = "this document has neither a kind nor a workflow"
        if "apiVersion" not in data and (of_osmo := _of_osmo(document)):
            return of_osmo
        for keys, type_, what, advice in _WITHOUT_KIND if data.keys().isdisjoint(("kind", "metadata", "spec")) else ():
            if data.keys() >= {*keys} and isinstance(data[keys[-1]], type_):
                return _unknown(document, (), f"this is {what}", advice)
        hint = f"Add kind: {' or '.join(related)}." if related else _NEITHER
        return _unknown(document, ("kind",), message, hint)
    elsewhere = belongs_elsewhere(api_version, kind) if isinstance(api_version, str) else None
    is_another_version = elsewhere is not None and any(
        candidate.name == kind and belongs_elsewhere(candidate.api_version, kind) == elsewhere for candidate in KINDS
    )
    if elsewhere is not None and not is_another_version and not did_you_mean(kind, related, folds=True):
        message = f"{kind} of {api_version} cannot be declared here: {why_elsewhere(kind)}"
        return Diagnostic(KIND_ELSEWHERE, message, document.locate(("kind",)), hint=elsewhere)
    for item in (*COMPANIONS, *(config.companions if config is not None else ())):
        if (item.apiVersion, item.kind) == (api_version, kind):
            return Kind(kind, item.apiVersion, COMPANION, _workload)
    group = group_of(api_version) if isinstance(api_version, str) else ""
    own = [item for item in KINDS if item.unique_name == item.name or group_of(item.api_version) == group]
    is_of_others = "." in group and not group.endswith("k8s.io")
    own = [item for item in own if not (is_of_others and "." not in group_of(item.api_version))]
    same = [candidate for candidate in own if candidate.name == kind] or _other_versions(api_version, kind)
    advice = _ADVICE.get((group, kind), "")
    if same and not advice:
        found = f'not "{api_version}"' if "apiVersion" in data else "and this document has none"
        versions = " or ".join(dict.fromkeys(candidate.api_version for candidate in same))
        message = f"{kind} has apiVersion {versions}, {found}"
        where = "apiVersion" if "apiVersion" in data else "kind"
        hint = f"Write apiVersion: {same[0].api_version}."
        if isinstance(api_version, str):
            hint = Suggestion(hint, api_version, same[0].api_version)
        return _unknown(document, (where,), message, hint)
    near = did_you_mean(kind, [*related, *(item.kind for item in COMPANIONS if item.apiVersion == api_version)])
    of_group = _ADVICE.get((group, ""), "")
    if not (advice or near or of_group):
        advice = _ADVICE.get((None, kind), "")
    hint = advice or near or of_group or _of_other_api(group, kind) or _addition(api_version, kind)
    hint = hint or _known_kinds(api_version, kind)
    if kind.endswith("List"):
        hint = f"Write it as {LIST}."
    return _unknown(document, ("kind",), not_read(kind, data.get("apiVersion", "")), hint)


def not_read(kind: str, api_version: object) -> str:
    """Returns the message about a kind that the tool does not read."""
    return f'the kind "{kind}" of {api_version} is not read' if api_version != "" else f'the kind "{kind}" is not read'


def _of_other_api(group: str, kind: str) -> str:
    """Returns a suggestion of a similar kind with another apiVersion; '' for a kind of an unknown group."""
    if _is_foreign(group):
        return ""
    found = closest(kind, [candidate.name for candidate in KINDS], folds=True)
    version = next((candidate.api_version for candidate in KINDS if candidate.name == found), "")
    return f'Did you mean "{found}", of apiVersion: {version}?' if found and found != kind else ""


def _of_osmo(document: Document) -> Diagnostic | None:
    """Returns the finding about a document of OSMO's configuration; None for any other document."""
    data = document.data
    is_object = isinstance(data, dict) and not data.keys().isdisjoint(("metadata", "spec"))  # without its kind
    kinds = [section.kind for section in sections(data) or () if section.kind not in ("", "CHART") and not is_object]
    if not kinds:
        return None
    message = f"this is a configuration of OSMO ({', '.join(dict.fromkeys(kinds))})"
    hint = f"Move it elsewhere, and make files of it: kubectl tas import osmo {PurePosixPath(document.path).name}"
    return _unknown(document, (), message, hint)


def _is_foreign(group: str) -> bool:
    """Whether no kind that the tool reads has this group."""
    return "." in group and all(group != group_of(candidate.api_version) for candidate in KINDS)


def _known_kinds(api_version: object, kind: str) -> str:
    if isinstance(api_version, str) and makes_pods(api_version, kind):
        return f"Say in spec.kinds of the Config where its pods are, or {_MOVE}"
    if isinstance(api_version, str) and _is_foreign(group_of(api_version)):
        return f"If it makes pods, say in spec.kinds of the Config where they are. Else {_MOVE}"
    names = ", ".join(dict.fromkeys(kind.name for kind in KINDS))
    beside = ", ".join(dict.fromkeys(item.kind for item in COMPANIONS))
    return f"Kinds that are read: {names}, OSMO workflows (root key workflow), List, and beside workloads {beside}."


def _other_versions(api_version: object, kind: str) -> list[Kind]:
    """Returns the companions of that kind in the same API group, or in any group if none is given."""
    group = group_of(api_version) if isinstance(api_version, str) else None
    return [
        Kind(kind, item.apiVersion, COMPANION)
        for item in COMPANIONS
        if item.kind == kind and group in (None, group_of(item.apiVersion))
    ]


def _addition(api_version: object, kind: str) -> str:
    """Returns a hint to add a kind to spec.companions, if the kind is harmless; else ''."""
    if not isinstance(api_version, str) or not is_harmless(api_version, kind):
        return ""
    return f"The Config may add it: spec.companions: [{{apiVersion: {api_version}, kind: {kind}}}]."


def _unknown(document: Document, path: tuple[str, ...], message: str, hint: str) -> Diagnostic:
    return Diagnostic(UNKNOWN_KIND, message, document.locate(path), hint=hint)
