"""Recognises OSMO's files by content: workflow templates, and OSMO's configuration. The configuration is the output of
``osmo config show``, or files of OSMO's service.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any

from kubectl_tas.base.late import dataclass, late_pattern
from kubectl_tas.model.base import API_VERSION

SECTIONS = {
    "pools": "POOL",
    "backends": "BACKEND",
    "roles": "ROLE",
    "pod_templates": "POD_TEMPLATE",
    "podTemplates": "POD_TEMPLATE",
    "resource_validations": "RESOURCE_VALIDATION",
    "resourceValidations": "RESOURCE_VALIDATION",
    "group_templates": "GROUP_TEMPLATE",
    "groupTemplates": "GROUP_TEMPLATE",
    "backend_tests": "BACKEND_TEST",
    "backendTests": "BACKEND_TEST",
    "service": "SERVICE",
    "workflow": "WORKFLOW",
    "dataset": "DATASET",
}
"""The kind of each key in a file of OSMO's service, or in the values of its Helm chart."""
_CHART = frozenset({"enabled", "extraConfigMaps", "extraAnnotations"})
"""Other keys in the values of the chart."""
SINGLE = frozenset({"SERVICE", "WORKFLOW", "DATASET"})
"""Kinds with a single item each, without a name."""
_OWN_FIELDS: tuple[tuple[str, frozenset[str]], ...] = (
    ("BACKEND_TEST", frozenset({"cron_schedule", "test_timeout"})),
    ("BACKEND", frozenset({"scheduler_settings", "k8s_namespace", "k8s_uid", "router_address", "dashboard_url"})),
    ("ROLE", frozenset({"policies", "external_roles"})),
    (
        "POOL",
        frozenset(
            {"backend", "platforms", "default_platform", "topology_keys", "enable_maintenance", "common_pod_template"}
            | {"common_resource_validations", "common_default_variables", "common_group_templates"}
        ),
    ),
    ("WORKFLOW", frozenset({"workflow_data", "workflow_log", "user_workflow_limits", "max_num_tasks"})),
    ("SERVICE", frozenset({"service_base_url", "service_auth", "cli_config", "max_pod_restart_limit"})),
    ("DATASET", frozenset({"buckets", "default_bucket"})),
)
"""Fields that identify a kind. Kinds are tried in this order, and no later kind has such a field."""
_POD = frozenset({"apiVersion", "kind", "metadata", "spec"})


@dataclass(frozen=True, slots=True)
class OsmoSection:
    """Items of one kind."""

    kind: str
    """The kind as ``osmo config show`` names it, such as POOL."""
    items: Mapping[str, Any]
    """The items by name; the name is empty if the document has none."""


def sections(data: Any) -> list[OsmoSection] | None:
    """Returns the sections of a document of OSMO's configuration; None for any other document."""
    if not data and isinstance(data, dict | list):
        return []
    if isinstance(data, dict):
        settings = _of_chart(data)
        for inner in (settings, data.get("configs"), data.get("configs_dict")):
            if inner is not None and (found := sections(inner)) is not None:
                others = data if inner is settings else {}
                left = {key: value for key, value in others.items() if value and not _holds(value, inner)}
                return [*found, *([OsmoSection("CHART", left)] if left else [])]
        if any(isinstance(data.get(key), dict | list) for key in SECTIONS):
            return None if _is_workflow(data.get("workflow")) else list(_of_file(data))
    elif isinstance(data, list) and all(isinstance(item, dict) and "config_type" in item for item in data):
        return list(_of_history(data))
    kind = _kind_of(data)
    if kind is not None:
        return [OsmoSection(kind, {_name_of(data): data})]
    items = _named(data)
    kinds = {_kind_of(item) for item in items.values()}
    kind = kinds.pop() if len(kinds) == 1 else None
    return None if kind is None else [OsmoSection(kind, items)]


def _is_workflow(data: Any) -> bool:
    """Whether the data are a workflow itself, rather than the settings for all workflows."""
    return isinstance(data, dict) and not data.keys().isdisjoint(("tasks", "groups"))


def _of_chart(data: Any) -> dict[str, Any] | None:
    """Returns OSMO's settings in values of its Helm chart ``deployments/charts/osmo`` or ``charts/service`` (older)."""
    services = data.get("services") if isinstance(data, dict) else None
    found = data.get("configuration") if isinstance(data, dict) else None
    found = found if found is not None or not isinstance(services, dict) else services.get("configs")
    return found if isinstance(found, dict) else None


def _holds(value: Any, settings: Any) -> bool:
    return value is settings or (isinstance(value, dict) and value.get("configs") is settings)


def layered(documents: Sequence[Any]) -> Any:
    """Merges values files of the Helm chart as ``helm -f FIRST -f SECOND`` does; None if no document is a values file.
    Follows ``mergeMaps`` of Helm 3.19, pkg/cli/values/options.go.
    """
    if not any(_of_chart(data) is not None for data in documents):
        return None
    merged: dict[str, Any] = {}
    for data in documents:
        if is_values(data):
            merged = _over(merged, data)
    return merged


def is_values(data: Any) -> bool:
    """Whether a document can be a values file of the Helm chart, next to one that certainly is."""
    if not isinstance(data, dict) or "apiVersion" in data or _is_workflow(data.get("workflow")):
        return False
    return _of_chart(data) is not None or sections(data) is None


def _over(below: dict[str, Any], above: dict[str, Any]) -> dict[str, Any]:
    """Returns one mapping merged over another; a null value removes a key."""
    merged = dict(below)
    for key, value in above.items():
        old = below.get(key)
        merged[key] = _over(old, value) if isinstance(old, dict) and isinstance(value, dict) else value
        if value is None and key in below:
            del merged[key]
    return merged


def _of_file(data: Mapping[str, Any]) -> Iterator[OsmoSection]:
    for key, value in data.items():
        kind = SECTIONS.get(key, "CHART" if key in _CHART else "")
        if kind in ("", "CHART"):
            yield OsmoSection(kind, {key: value} if value or not kind else {})
        elif kind in SINGLE:
            yield OsmoSection(kind, {"": value})
        elif value:
            yield OsmoSection(kind, _named(value))


def _of_history(entries: list[dict[str, Any]]) -> Iterator[OsmoSection]:
    """Yields the newest revision of each kind."""
    newest: dict[str, dict[str, Any]] = {}
    for entry in entries:
        kind = str(entry["config_type"])
        if kind not in newest or _revision(entry) > _revision(newest[kind]):
            newest[kind] = entry
    for kind, entry in newest.items():
        data = entry.get("data")
        if isinstance(data, dict) and len(data) == 1 and SECTIONS.get(next(iter(data))) == kind:
            data = next(iter(data.values()))
        yield OsmoSection(kind, {"": data} if kind in SINGLE else _named(data))


def _revision(entry: Mapping[str, Any]) -> int:
    revision = entry.get("revision")
    return revision if isinstance(revision, int) else 0


def _kind_of(item: Any) -> str | None:
    """Returns the kind of a single item; None if unknown."""
    if isinstance(item, list):
        is_checks = item and all(isinstance(check, dict) and "left_operand" in check for check in item)
        return "RESOURCE_VALIDATION" if is_checks else None
    if not isinstance(item, dict) or item.get("apiVersion") == API_VERSION:
        return None
    for kind, marks in _OWN_FIELDS:
        if not marks.isdisjoint(item):
            return kind
    if item.get("kind", "Pod") != "Pod":
        return "GROUP_TEMPLATE" if {"apiVersion", "metadata"} <= item.keys() else None
    is_pod = item.keys() <= _POD and any(isinstance(item.get(key), dict) for key in ("spec", "metadata"))
    return "POD_TEMPLATE" if is_pod else None


def _named(data: Any) -> dict[str, Any]:
    """Returns items by name: the keys of a mapping, or the field ``name`` of each item in a list."""
    if isinstance(data, dict):
        return data
    return {_name_of(item): item for item in data} if isinstance(data, list) else {"": data}


def _name_of(item: Any) -> str:
    name = item.get("name") if isinstance(item, dict) else None
    return name if isinstance(name, str) else ""


TOKEN = late_pattern(r"\{\{([ ]*)(uuid|workflow_id|output|(?:input|host):(?:[^{}]*[^{} ]|[ ]))[ ]*\}\}")
"""Tokens that OSMO replaces at run time, plain text to its templates. Captures the blanks in front, and the token. No
two parts of the pattern match the same blank, so that a long run of blanks is scanned once.
"""
DEFAULTS = late_pattern(r"""^["']?default-values["']?[ \t]*:""", re.MULTILINE)
"""The root key for a template's own default values."""
_MARKS = ("{{", "{%", "{#", "default-values")
_ROOT = late_pattern(r"""^(?:\{\s*)?["']?(?:workflow|default-values)["']?[ \t]*:""", re.MULTILINE)
_MARK = late_pattern(r"(?<!\$)\{#|\{\{|\{%")
"""The beginning of a tag. A shell's ``${#`` is excluded, because alone it does not make a workflow a template."""


@lru_cache(maxsize=1)
def _may_have_tags(text: str) -> bool:
    """Whether a text may contain tags. Cached, because two callers check each file."""
    return any(mark in text for mark in _MARKS)


def expanded_by_osmo(text: str) -> str:
    """Returns the text of a file as OSMO reads it.

    If the text may have tags, such as tokens, Jinja expands the text and drops its last line break
    (``is_templated_workflow`` of OSMO's src/lib/utils/workflow.py). So a block scalar at the end loses that line break.
    """
    if _may_have_tags(text) and "\n---" not in text and _ROOT.search(text):
        return text.removesuffix("\n").removesuffix("\r")
    return text


def template_root(text: str) -> int | None:
    """Returns the index of the root key of a workflow template in a file; None if the file is not a template.

    A template has default-values, or tags that OSMO does not replace when the workflow runs. A workload with such tags
    is not a template.
    """
    if not _may_have_tags(text):
        return None
    root = _ROOT.search(text)
    tagged = root is not None and (DEFAULTS.search(text) or _MARK.search(TOKEN.sub("", text)))
    return root.start() if root is not None and tagged else None
