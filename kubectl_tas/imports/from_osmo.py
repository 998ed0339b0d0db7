"""Imports OSMO's configuration as a Config, pools with platforms, pod templates and resource validations."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import field, replace
from typing import Any, Literal

from kubectl_tas.base.diagnostics import TasError
from kubectl_tas.base.late import dataclass
from kubectl_tas.check.task_platforms import reserved_in
from kubectl_tas.imports.written import Imported, Making, Unplaced, config, distinct, document, plain_name
from kubectl_tas.live.objects import shown
from kubectl_tas.load.osmofiles import SINGLE, is_values, layered, sections
from kubectl_tas.model.base import API_VERSION
from kubectl_tas.model.config import DEFAULTS
from kubectl_tas.model.labels import MAX_LABEL
from kubectl_tas.model.pool_kinds import UNLIMITED
from kubectl_tas.resolve import names
from kubectl_tas.resolve.platforms import OSMO_CONTAINERS

_TIMEOUTS = ("default_exec_timeout", "max_exec_timeout", "default_queue_timeout", "max_queue_timeout")
_LABELS = "labels_config"
"""The part of OSMO's workflow configuration that a Config has in the same shape."""
_POOL = (
    "description",
    "backend",
    "resources",
    "topology_keys",
    *_TIMEOUTS,
    "default_exit_actions",
    "common_default_variables",
    "common_resource_validations",
    "common_pod_template",
    "default_platform",
    "platforms",
)
"""Fields of OSMO's pools that a Pool has with the same meaning."""
_PLATFORM = (
    "description",
    "host_network_allowed",
    "privileged_allowed",
    "allowed_mounts",
    "default_variables",
    "resource_validations",
    "override_pod_template",
)
_SHARE = {"guarantee": UNLIMITED, "maximum": UNLIMITED, "weight": 1}
"""OSMO's defaults for a pool's resources. OSMO's kb_objects.py makes quota, limit and overQuotaWeight of the pool's
Queue from them, with -1 for no limit. KAI gives a queue no more than its limit, whatever its quota. So a guarantee
above the maximum is written as the maximum (resource_division.go, quota_check.go of KAI 0.17).
"""
_NAMESPACE = DEFAULTS.backends[0].namespace
"""The namespace of a backend that does not name one."""
_MADE = "OSMO makes it of the templates and validations that are named"
_SEEN = "what OSMO's service saw last is no configuration"
_SERVICE = "it is for OSMO's service, which is not needed here"
_UNKNOWN = "OSMO is not known to read it"
_REASONS: dict[str, dict[str, str]] = {
    "Pool": {
        **dict.fromkeys(("status", "last_heartbeat"), _SEEN),
        **dict.fromkeys(("parsed_pod_template", "parsed_pod_template_for_accounting"), _MADE),
        **dict.fromkeys(("parsed_resource_validations", "parsed_group_templates"), _MADE),
        "download_type": "it is for OSMO's data service",
        "enable_maintenance": "nothing here keeps work out of a pool for a time",
        "common_group_templates": "objects of other kinds are not made for each group of a workflow",
    },
    "Platform": {
        **dict.fromkeys(("tolerations", "labels", "default_mounts", "parsed_resource_validations"), _MADE),
        **dict.fromkeys(("parsed_pod_template", "parsed_pod_template_for_accounting"), _MADE),
    },
    "Backend": {
        **dict.fromkeys(("version", "k8s_uid", "last_heartbeat", "created_date", "online"), _SEEN),
        **dict.fromkeys(("description", "dashboard_url", "grafana_url"), _SERVICE),
        **dict.fromkeys(("router_address", "scheduler_timeout"), _SERVICE),
        **dict.fromkeys(("tests", "node_conditions"), "OSMO's agent looks after nodes; Kubernetes and KAI do here"),
    },
    "Role": dict.fromkeys(("description", "immutable", "sync_mode"), _SERVICE),
}
"""Reasons why fields cannot be imported, by kind."""
_NAMED = {
    "POD_TEMPLATE": ("common_pod_template", "override_pod_template"),
    "RESOURCE_VALIDATION": ("common_resource_validations", "resource_validations"),
}
"""Fields of pools and platforms that refer to things of other kinds."""
_WHOLE = {
    "GROUP_TEMPLATE": ("GroupTemplate", _REASONS["Pool"]["common_group_templates"]),
    "BACKEND_TEST": ("BackendTest", "OSMO's agent runs it"),
    "SERVICE": ("SERVICE", _SERVICE),
    "DATASET": ("DATASET", "it is for OSMO's data service"),
    "CHART": ("Key", "it is for OSMO's Helm chart"),
    "": ("Key", _UNKNOWN),
}
"""Kinds that cannot be imported, each with its displayed name and the reason."""


@dataclass(frozen=True, slots=True)
class OsmoDocument:
    """A document of OSMO's configuration."""

    source: str
    """File of the document, for messages."""
    name: str
    """Name of an unnamed document: the name of its file without suffix; empty without a file."""
    data: Any


@dataclass(slots=True, kw_only=True)
class _OsmoMaking(Making):
    by_kind: dict[str, dict[str, Any]]
    """All things by kind and name."""
    dropped: set[str] = field(default_factory=set)
    """Pod templates from which nothing remains."""

    def all_of(self, kind: str) -> dict[str, dict[str, Any]]:
        """Returns all things of a kind, as mappings. Raises TasError if one is not a mapping."""
        return {name: _mapping(kind, name, data) for name, data in self.by_kind.get(kind, {}).items()}

    def placed(self, kind: str, name: str, data: Mapping[str, Any], fields: Iterable[str]) -> dict[str, Any]:
        """Returns the non-empty values of the given fields, in this order. Lists all other fields by reason."""
        field_names = tuple(fields)
        reasons: dict[str, list[str]] = {}
        for key, value in data.items():
            if key not in field_names and key != "name" and not _says_nothing(value):
                reasons.setdefault(_REASONS[kind].get(key, _UNKNOWN), []).append(key)
        self.unplaced += (Unplaced(kind, name, f"{', '.join(keys)}: {reason}") for reason, keys in reasons.items())
        return {key: data[key] for key in field_names if not _says_nothing(data.get(key))}


def import_osmo(documents: Iterable[OsmoDocument]) -> Imported:
    """Makes the files for a configuration. Raises TasError if a document is malformed or not from OSMO."""
    making = _OsmoMaking(by_kind=_gathered(documents))
    for kind, (called, reason) in _WHOLE.items():
        for name, data in making.by_kind.get(kind, {}).items():
            keys = _mapping(kind, "configuration", data) if kind in SINGLE else (name,)
            making.unplaced += (Unplaced(called, key, reason) for key in keys)
    _pod_templates(making)
    _resource_validations(making)
    backends = _backends(making)
    pools = _new_names(making, "Pool", making.all_of("POOL"))
    access = _access(making, pools)
    defaults, settings = _workflow_settings(making)
    for name, data in making.all_of("POOL").items():
        spec = _pool(making, name, {**defaults, **{key: x for key, x in data.items() if not _says_nothing(x)}})
        if "backend" in spec:
            backend = backends[_text("POOL", name, spec["backend"])]
            spec["backend"] = backend["name"]
            spec |= _shared_queue(making, str(backend.get("namespace", _NAMESPACE)), pools[name])
        spec |= {"access": access[name]} if access.get(name) else {}
        data = document("Pool", pools[name], spec)
        making.write(f"pools/{names.file(pools[name])}", f"Imported: OSMO's pool {name}.", data)
    settings |= {"backends": list(backends.values())} if backends else {}
    if settings:
        making.write("tas.yaml", "Imported from OSMO.", config(settings))
    return making.done(settings, _missing(making))


def _shared_queue(making: _OsmoMaking, namespace: str, pool: str) -> dict[str, Any]:
    """Shortens the name of a pool's shared queue if it would be too long. OSMO has no such queue."""
    queue_name = names.leaf_queue(DEFAULTS.queuePrefix, namespace, pool, names.SHARED)
    if len(queue_name) <= MAX_LABEL:
        return {}
    making.notes.append(
        f"The queue of pool {pool}'s own work is called {names.shorten(queue_name)}: {queue_name} is too long."
    )
    return {"sharedQueue": {"name": names.shorten(queue_name)}}


def _missing(making: _OsmoMaking) -> Iterator[str]:
    pools = making.all_of("POOL").values()
    specs = [*pools, *(platform for pool in pools for platform in (pool.get("platforms") or {}).values())]
    for kind, keys in _NAMED.items():
        lists = [value for spec in specs for key in keys if isinstance(value := spec.get(key), list)]
        named = dict.fromkeys(name for value in lists for name in value if isinstance(name, str))
        lacking = [name for name in named if name not in making.by_kind.get(kind, {})]
        if lacking:
            yield f"Pools name {', '.join(lacking)}: give what `osmo config show {kind}` prints too."


def _gathered(documents: Iterable[OsmoDocument]) -> dict[str, dict[str, Any]]:
    """Collects all things by kind and name. Raises TasError for a wrong document, a missing name or a conflict."""
    gathered: dict[str, dict[str, Any]] = {}
    every = list(documents)
    values = layered([osmo_document.data for osmo_document in every])
    if values is not None:
        first_values = next(osmo_document for osmo_document in every if is_values(osmo_document.data))
        every = [replace(first_values, data=values), *(each for each in every if not is_values(each.data))]
    for document_ in every:
        osmo_sections = sections(document_.data)
        if osmo_sections is None:
            hint = (
                "It must be what `osmo config show POOL` (or BACKEND, ROLE, POD_TEMPLATE, ...) prints. Workflows are "
                "read as they are: put them into workflows/."
            )
            raise TasError(f"{document_.source} is no configuration of OSMO", hint=hint)
        for section in osmo_sections:
            for listed_name, data in section.items.items():
                name = listed_name if listed_name or section.kind in SINGLE else document_.name
                if not name and section.kind not in SINGLE:
                    hint = "Print all of them, which have their names: leave the name out of `osmo config show`."
                    raise TasError(f"{document_.source} has a {section.kind} without a name", hint=hint)
                if gathered.setdefault(section.kind, {}).setdefault(name, data) != data:
                    called = f"the {section.kind} {name}" if name else f"the {section.kind} configuration"
                    raise TasError(f"{called} appears twice, with different content", hint="Give one of them.")
    return gathered


def _mapping(kind: str, name: str, data: Any) -> dict[str, Any]:
    if not isinstance(data, dict):
        raise TasError(f"the {kind} {name} is {_kind_of(data)}, not a mapping", hint="OSMO has fields there.")
    return data


def _text(kind: str, name: str, data: Any) -> str:
    if not isinstance(data, str):
        raise TasError(f"the backend of the {kind} {name} is {_kind_of(data)}, not a name", hint="OSMO has text there.")
    return data


def _kind_of(data: Any) -> str:
    return "a list" if isinstance(data, list) else shown(data)


def _says_nothing(value: object) -> bool:
    """Whether a field is missing or has the value that OSMO assumes for a missing field."""
    return value is None or value is False or (isinstance(value, str | list | dict) and not value)


def _new_names(making: _OsmoMaking, kind: str, osmo_names: Iterable[str]) -> dict[str, str]:
    """Returns new names of things: as in OSMO, if that can be the name of an object in a cluster."""
    old_names = list(osmo_names)
    fit = [name if names.is_label(name) and names.SEPARATOR not in name else plain_name(name) for name in old_names]
    called = dict(zip(old_names, distinct(fit), strict=True))
    making.notes += (f"{kind} {name} is called {new} here." for name, new in called.items() if name != new)
    return called


def _workflow_settings(making: _OsmoMaking) -> tuple[dict[str, Any], dict[str, Any]]:
    """Reads OSMO's workflow configuration. Returns the default timeouts of pools, and the settings for the Config."""
    timeouts: dict[str, Any] = {}
    settings: dict[str, Any] = {}
    for data in making.all_of("WORKFLOW").values():
        stated = {key: value for key, value in data.items() if not _says_nothing(value)}
        labels = _mapping(_LABELS, "of the WORKFLOW", stated.pop(_LABELS, {}))
        labels = {key: value for key, value in labels.items() if not _says_nothing(value)}
        if isinstance(labels.get("policy"), list):
            labels["policy"] = [
                {key: x for key, x in policy.items() if not _says_nothing(x) and (key, x) != ("enforcement", "off")}
                if isinstance(policy, dict)
                else policy
                for policy in labels["policy"]
            ]
        settings |= {_LABELS: labels} if labels else {}
        making.unplaced += (Unplaced("WORKFLOW", key, _SERVICE) for key in stated if key not in _TIMEOUTS)
        timeouts |= {key: stated[key] for key in _TIMEOUTS if key in stated}
    return timeouts, settings


def _pool(making: _OsmoMaking, name: str, data: Mapping[str, Any]) -> dict[str, Any]:
    spec = making.placed("Pool", name, data, _POOL)
    resources = _mapping("resources of the POOL", name, spec.get("resources", {}))
    share = _mapping("gpu of the POOL", name, resources.get("gpu") or {})
    unread_keys = [key for key, value in resources.items() if key != "gpu" and not _says_nothing(value)]
    unread_keys += [f"gpu.{key}" for key in share if key not in _SHARE]
    if unread_keys:
        making.unplaced.append(Unplaced("Pool", name, f"resources.{', resources.'.join(unread_keys)}: {_UNKNOWN}"))
    gpu = {key: share.get(key, value) for key, value in _SHARE.items()}
    guarantee, maximum = gpu["guarantee"], gpu["maximum"]
    if (
        type(guarantee) is type(maximum) is int
        and maximum > UNLIMITED
        and (guarantee == UNLIMITED or guarantee > maximum)
    ):
        was = "no limit" if guarantee == UNLIMITED else guarantee
        making.notes.append(f"Pool {name} is guaranteed {maximum} GPUs, not {was}: it gets no more than its maximum.")
        gpu["guarantee"] = maximum
    spec["resources"] = {"gpu": gpu}
    if "platforms" in spec:
        platforms = _mapping("platforms of the POOL", name, spec["platforms"])
        spec["platforms"] = {key: _platform(making, f"{name}/{key}", value) for key, value in platforms.items()}
    return _without_dropped(making, spec, "common_pod_template")


def _platform(making: _OsmoMaking, name: str, data: Any) -> dict[str, Any]:
    platform = making.placed("Platform", name, _mapping("platform", name, data), _PLATFORM)
    return _without_dropped(making, platform, "override_pod_template")


def _without_dropped(making: _OsmoMaking, spec: dict[str, Any], key: str) -> dict[str, Any]:
    if isinstance(spec.get(key), list):
        spec[key] = [name for name in spec[key] if not isinstance(name, str) or name not in making.dropped]
    return spec if spec.get(key) else {field_: value for field_, value in spec.items() if field_ != key}


def _pod_templates(making: _OsmoMaking) -> None:
    templates = making.all_of("POD_TEMPLATE")
    files = distinct(plain_name(name) for name in templates)
    for (name, data), file in zip(templates.items(), files, strict=True):
        body = _pod_template(making, name, data)
        if body:
            pod_template = {
                "apiVersion": API_VERSION,
                "kind": "PodTemplate",
                "metadata": {"name": name},
                "template": body,
            }
            making.write(
                f"pools/pod-templates/{names.file(file)}", f"Imported: OSMO's pod template {name}.", pod_template
            )
        else:
            making.dropped.add(name)


def _pod_template(making: _OsmoMaking, name: str, data: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the overlay for pods, without the parts about OSMO's own containers."""
    metadata = dict(_mapping("metadata of the POD_TEMPLATE", name, data.get("metadata") or {}))
    spec = dict(_mapping("spec of the POD_TEMPLATE", name, data.get("spec") or {}))
    reserved = list(reserved_in(metadata, spec))
    if reserved:
        fields = ", ".join(".".join(path) for path in reserved)
        making.unplaced.append(Unplaced("PodTemplate", name, f"{fields}: kubectl-tas sets it itself"))
    for kind, *keys in reserved:
        if kind == "spec":
            del spec[keys[0]]
        else:
            metadata[keys[0]] = {key: value for key, value in metadata[keys[0]].items() if key != keys[1]}
    unread_keys = [f"metadata.{key}" for key in metadata if key not in ("labels", "annotations")]
    unread_keys += [key for key in data if key not in ("apiVersion", "kind", "metadata", "spec")]
    if unread_keys:
        making.unplaced.append(Unplaced("PodTemplate", name, f"{', '.join(unread_keys)}: {_UNKNOWN}"))
    for key, osmo_container in OSMO_CONTAINERS.items():
        containers = spec.get(key)
        if not isinstance(containers, list):
            continue
        spec[key] = [x for x in containers if not (isinstance(x, dict) and x.get("name") == osmo_container)]
        if len(spec[key]) < len(containers):
            reason = f"{key} {osmo_container}: there is no such container here"
            making.unplaced.append(Unplaced("PodTemplate", name, reason))
            if not spec[key]:
                del spec[key]
    kept_metadata = {key: metadata[key] for key in ("labels", "annotations") if metadata.get(key)}
    return {**({"metadata": kept_metadata} if kept_metadata else {}), **({"spec": spec} if spec else {})}


def _resource_validations(making: _OsmoMaking) -> None:
    validations = making.by_kind.get("RESOURCE_VALIDATION", {})
    files = distinct(plain_name(name) for name in validations)
    for (name, rules), file in zip(validations.items(), files, strict=True):
        validation = {
            "apiVersion": API_VERSION,
            "kind": "ResourceValidation",
            "metadata": {"name": name},
            "rules": rules,
        }
        path = f"pools/resource-validations/{names.file(file)}"
        making.write(path, f"Imported: OSMO's resource validation {name}.", validation)


def _backends(making: _OsmoMaking) -> dict[str, dict[str, Any]]:
    """Returns the backends of the Config by their names in OSMO: the given ones, and others that pools name."""
    osmo_backends = making.all_of("BACKEND")
    named = {data["backend"]: None for data in making.all_of("POOL").values() if isinstance(data.get("backend"), str)}
    called = _new_names(making, "Backend", (*osmo_backends, *(name for name in named if name not in osmo_backends)))
    backends = {name: _backend(making, name, new_name, osmo_backends.get(name)) for name, new_name in called.items()}
    if backends:
        making.notes.append(
            "OSMO does not tell which release of KAI a backend runs: set scheduler.version of each in tas.yaml."
        )
    return backends


def _backend(making: _OsmoMaking, name: str, called: str, data: Mapping[str, Any] | None) -> dict[str, Any]:
    stated = dict(data or {})
    settings = _mapping("scheduler_settings of the BACKEND", name, stated.pop("scheduler_settings", {}))
    fields = ("k8s_namespace", "scheduler_type", "scheduler_name")
    settings_here = making.placed("Backend", name, {**stated, **settings}, fields)
    namespace = {"namespace": settings_here.pop("k8s_namespace")} if "k8s_namespace" in settings_here else {}
    if not namespace:
        reason = "its agent has not told OSMO" if data is not None else "`osmo config show BACKEND` tells"
        making.notes.append(f"The namespace of backend {name} is taken to be {_NAMESPACE}: {reason} another one.")
    scheduler = {key.removeprefix("scheduler_"): value for key, value in settings_here.items()}
    return {"name": called, **namespace, **({"scheduler": scheduler} if scheduler else {})}


def _access(making: _OsmoMaking, pools: Mapping[str, str]) -> dict[str, dict[str, list[str]]]:
    """Returns who may submit to each pool and who may view it, by the pool's name in OSMO."""
    osmo_roles = making.all_of("ROLE")
    roles: list[OsmoRole] = []
    for name, data in osmo_roles.items():
        making.placed("Role", name, data, ("policies", "external_roles"))
        external_roles = data.get("external_roles")
        groups = [name] if external_roles is None else external_roles
        policies = data.get("policies") or []
        if not isinstance(policies, list) or not all(isinstance(policy, dict) for policy in policies):
            raise TasError(f"the policies of the ROLE {name} are no list of mappings", hint="OSMO has a list there.")
        role = OsmoRole(_tuple_of_texts(name, "external_roles", groups), tuple(_role_policy(name, x) for x in policies))
        roles.append(role)
        making.unplaced += (Unplaced("Role", name, reason) for reason in role.unplaced(pools))
    access: dict[str, dict[str, list[str]]] = {}
    for pool in pools:
        submit = groups_of(roles, "workflow:Create", pool)
        view = [group for group in groups_of(roles, "workflow:Read", pool) if group not in submit]
        access[pool] = {**({"submit": submit} if submit else {}), **({"view": view} if view else {})}
        if osmo_roles and not submit:
            making.notes.append(f"No role lets anybody send work to pool {pool}; without access.submit everybody may.")
    if any(access.values()):
        making.notes.append(
            "The groups of access are those of OSMO's identity provider: write them as the API server knows them."
        )
    return access


Action = Literal["workflow:Create", "workflow:Read"]
"""The actions that become ``submit`` and ``view`` of a pool's ``access``."""
ACCESS_ACTIONS: tuple[Action, ...] = ("workflow:Create", "workflow:Read")


@dataclass(frozen=True, slots=True)
class Policy:
    """A policy that allows or denies actions."""

    denies: bool
    actions: tuple[str, ...]
    """Actions, for example ``workflow:Create``, with ``*`` for any part."""
    resources: tuple[str, ...]
    """Resources, for example ``pool/research``, with ``*`` at the end for any."""
    unknown_fields: tuple[str, ...]
    """Further fields, which OSMO does not know."""

    def decides(self, action: str, pool: str) -> bool:
        """Whether the policy applies to an action in a pool, by the rules of OSMO's roles/action_registry.go."""
        return any(_has_action(x, action) for x in self.actions) and any(_has_pool(x, pool) for x in self.resources)


@dataclass(frozen=True, slots=True)
class OsmoRole:
    """A role with the groups that have it."""

    groups: tuple[str, ...]
    policies: tuple[Policy, ...]

    def allows(self, action: str, pool: str) -> bool:
        """Whether the role allows an action in a pool. A denial has precedence."""
        decisive = [policy for policy in self.policies if policy.decides(action, pool)]
        return bool(decisive) and not any(policy.denies for policy in decisive)

    def unplaced(self, pools: Iterable[str]) -> Iterator[str]:
        """Yields the parts of the role that ``access`` of these pools cannot express, with reasons."""
        pool_names = tuple(pools)
        elsewhere: list[str] = []
        for policy in self.policies:
            if policy.unknown_fields:
                yield f"policies: {', '.join(policy.unknown_fields)}: OSMO is not known to read it"
            mine = [x for x in policy.resources if any(_has_pool(x, pool) for pool in pool_names)]
            if policy.denies:
                denial = f"Deny {', '.join(policy.actions)} of {', '.join(policy.resources) or 'all'}"
                reason = "it counts only within this role; members of another group also have that group's rights"
                yield f"{denial}: {reason}"
                continue
            lost = (x for x in policy.resources if x.startswith("pool/") and x not in mine)
            yield from (f"{x}: there is no such pool among those that are imported" for x in lost)
            elsewhere += [
                x for x in policy.actions if not mine or not any(_has_action(x, action) for action in ACCESS_ACTIONS)
            ]
        if elsewhere:
            yield f"{', '.join(dict.fromkeys(elsewhere))}: access of a pool has submit and view alone"
        if not self.groups:
            yield "external_roles: no group has it, and OSMO does not list the users who have it"


def groups_of(roles: Iterable[OsmoRole], action: Action, pool: str) -> list[str]:
    """Returns the groups that a role allows this action in a pool, in order, each once."""
    return list(dict.fromkeys(group for role in roles if role.allows(action, pool) for group in role.groups))


def _role_policy(name: str, data: dict[str, Any]) -> Policy:
    actions = data.get("actions", [])
    listed = actions if isinstance(actions, list) else [actions]
    plain = [action.get("action") if isinstance(action, dict) else action for action in listed]
    return Policy(
        data.get("effect") == "Deny",
        _tuple_of_texts(name, "actions", plain),
        _tuple_of_texts(name, "resources", data.get("resources") or []),
        tuple(key for key in data if key not in ("effect", "actions", "resources")),
    )


def _tuple_of_texts(name: str, field: str, data: Any) -> tuple[str, ...]:
    if not isinstance(data, list) or not all(isinstance(text, str) for text in data):
        raise TasError(f"{field} of the ROLE {name} is no list of texts", hint="OSMO has a list of texts there.")
    return tuple(data)


def _has_action(pattern: str, action: str) -> bool:
    subject, _, verb = pattern.partition(":")
    own_subject, _, own_verb = action.partition(":")
    return pattern == "*" or (subject in ("*", own_subject) and verb in ("*", own_verb))


def _has_pool(pattern: str, pool: str) -> bool:
    resource = f"pool/{pool}"
    return resource.startswith(pattern[:-1]) if pattern.endswith("*") else pattern == resource
