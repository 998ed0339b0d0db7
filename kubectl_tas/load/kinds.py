"""What a document is, told by its content: the table of the kinds that are read."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, get_args

from pydantic import BaseModel

from kubectl_tas.diagnostics import Diagnostic, Rule, Severity
from kubectl_tas.load.document import Document
from kubectl_tas.model.base import API_VERSION
from kubectl_tas.model.config import Config
from kubectl_tas.model.grove import OperatorConfiguration, PodCliqueSet
from kubectl_tas.model.manifest import PodGroup
from kubectl_tas.model.pool import Pool, Subpool
from kubectl_tas.model.topology import ClusterTopology
from kubectl_tas.model.workflow import Workflow
from kubectl_tas.model.workload import WORKLOADS
from kubectl_tas.words import did_you_mean

UNKNOWN_KIND = Rule(
    "unknown-kind",
    Severity.ERROR,
    "A document is none of the kinds that are read.",
    "A document that is not understood would be left out of the manifests. Mend its apiVersion and kind, "
    "or move it out of the folders that are read.",
)


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of document."""

    name: str
    """The kind, and the name of its JSON Schema."""
    api_version: str
    """Empty for an OSMO workflow, which has none."""
    model: type[BaseModel]
    normalize: Callable[[dict[str, Any]], dict[str, Any]] | None = None
    """Brings other spellings that are accepted into the model's own."""

    @property
    def schema(self) -> str:
        """Name of the JSON Schema file, without its ending."""
        return self.model.__name__.lower()


def _pod_group(data: dict[str, Any]) -> dict[str, Any]:
    """A PodGroup with ``subGroups`` spelled as the API has it, without what only a cluster writes."""
    data = without_nulls(data)
    spec = data.get("spec")
    if isinstance(spec, dict) and "subgroups" in spec and "subGroups" not in spec:
        spec = {"subGroups" if key == "subgroups" else key: value for key, value in spec.items()}
        data = {**data, "spec": spec}
    return data


def _workload(data: dict[str, Any]) -> dict[str, Any]:
    """A workload as an API server reads it: a label or an annotation without a value is empty text."""
    return dict(without_nulls(_with_texts(data)))


def _with_texts(data: Any) -> Any:
    if isinstance(data, dict):
        return {key: _texts(value) if key in _TEXTS else _with_texts(value) for key, value in data.items()}
    return [_with_texts(item) for item in data] if isinstance(data, list) else data


def _texts(data: Any) -> Any:
    return {key: "" if value is None else value for key, value in data.items()} if isinstance(data, dict) else data


def without_nulls(data: Any) -> Any:
    """Kubernetes takes a null field for an absent one."""
    if isinstance(data, dict):
        return {key: without_nulls(value) for key, value in data.items() if value is not None}
    if isinstance(data, list):
        return [without_nulls(item) for item in data]
    return data


_TEXTS = ("labels", "annotations")
GROVE = "grove.io/v1alpha1"
WORKFLOW = Kind("Workflow", "", Workflow)
KINDS: tuple[Kind, ...] = (
    Kind("Config", API_VERSION, Config),
    Kind("Pool", API_VERSION, Pool),
    Kind("Subpool", API_VERSION, Subpool),
    Kind("ClusterTopology", GROVE, ClusterTopology, without_nulls),
    Kind("ClusterTopologyBinding", GROVE, ClusterTopology, without_nulls),
    Kind("PodGroup", "scheduling.run.ai/v2alpha2", PodGroup, _pod_group),
    Kind("PodCliqueSet", GROVE, PodCliqueSet, without_nulls),
    Kind("OperatorConfiguration", "operator.config.grove.io/v1alpha1", OperatorConfiguration, without_nulls),
    *(
        Kind(model.__name__, version, model, _workload)
        for model in WORKLOADS
        for version in get_args(model.model_fields["apiVersion"].annotation)
    ),
)
_ADVICE = {
    "ConfigMap": "Where it holds Grove's OperatorConfiguration, write that as a document of its own.",
    "DaemonSet": "Its pods run on every node, so no queue is charged for them; keep it elsewhere.",
    "Workflow": "An OSMO workflow has neither apiVersion nor kind: its root key is workflow.",
    "ReplicaSet": "Write a Deployment, which makes ReplicaSets.",
    "Pod": "A Pod alone is no workload; write a Job of one pod, or a workflow with one task.",
    "Queue": "Queues are rendered from Pool and Subpool documents; declare those instead.",
    "Topology": "Topologies are rendered from topology_keys or a ClusterTopology; declare those instead.",
}


_OSMO_POOL = frozenset(
    {"pools", "platforms", "default_platform", "topology_keys", "common_pod_template", "common_resource_validations"}
)
"""Fields at the top of OSMO's pool configuration, and of no kind that is read."""


def recognise(document: Document) -> Kind | Diagnostic:
    """The kind of a document, or the diagnostic that says why it has none."""
    data = document.data
    if not isinstance(data, dict):
        found = "a list" if isinstance(data, list) else "a single value"
        return _unknown(document, (), f"this document is {found}, not a mapping", _known_kinds())
    if "workflow" in data:
        return WORKFLOW
    api_version, kind = data.get("apiVersion"), data.get("kind")
    for candidate in KINDS:
        if (candidate.api_version, candidate.name) == (api_version, kind):
            return candidate
    related = [candidate.name for candidate in KINDS if candidate.api_version == api_version]
    if not isinstance(kind, str):
        message = "this document has neither a kind nor a workflow"
        if _OSMO_POOL & data.keys():
            message = "this is a pool as OSMO's configuration has it"
            hint = "Write a Pool of it: apiVersion tas/v1alpha1, kind Pool, metadata.name, and spec with its fields."
            return _unknown(document, (next(key for key in data if key in _OSMO_POOL),), message, hint)
        hint = f"Add kind: {' or '.join(related)}." if related else _known_kinds()
        return _unknown(document, ("kind",), message, hint)
    same = [candidate for candidate in KINDS if candidate.name == kind]
    if same:
        found = f'not "{api_version}"' if "apiVersion" in data else "and this document has none"
        versions = " or ".join(candidate.api_version for candidate in same)
        message = f"{kind} has apiVersion {versions}, {found}"
        where = "apiVersion" if "apiVersion" in data else "kind"
        return _unknown(document, (where,), message, f"Write apiVersion: {same[0].api_version}.")
    near = did_you_mean(kind, related) or did_you_mean(kind, [candidate.name for candidate in KINDS], folds=True)
    hint = _ADVICE.get(kind) or f"{near} {_known_kinds()}".strip()
    what = f'the kind "{kind}" of {api_version}' if "apiVersion" in data else f'the kind "{kind}"'
    return _unknown(document, ("kind",), f"{what} is not read", hint)


def _known_kinds() -> str:
    names = ", ".join(dict.fromkeys(kind.name for kind in KINDS))
    return f"Kinds that are read: {names}, and OSMO workflows (root key workflow)."


def _unknown(document: Document, path: tuple[str, ...], message: str, hint: str) -> Diagnostic:
    return Diagnostic(UNKNOWN_KIND, message, document.locate(path), hint=hint)
