"""Collects the names and labels with which documents refer to objects, and the objects that they declare.

The result is plain data. It stays when the tool drops the documents of a file, so names are searched in all files.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from kubectl_tas.base.late import dataclass
from kubectl_tas.kinds import DEFAULT_SCALED
from kubectl_tas.kinds.backdoors import containers_in, pods_at
from kubectl_tas.kinds.section import key_path, path_steps, values_at
from kubectl_tas.model.base import KeyPath
from kubectl_tas.model.repository import Origin
from kubectl_tas.resolve import names
from kubectl_tas.resolve.companions import FleetCompanion
from kubectl_tas.resolve.fleet_workload import FleetWorkload
from kubectl_tas.resolve.handwritten import FleetPodGroup
from kubectl_tas.resolve.platforms import Finder
from kubectl_tas.resolve.podcliqueset import SubmittedSet
from kubectl_tas.resolve.pools import FleetPool
from kubectl_tas.resolve.workflows import FleetWorkflow

Space = tuple[str, str]
"""A cluster and one of its namespaces."""
Source = tuple[int, str]
"""The number and the kind of a document."""
SCALED: KeyPath = ("spec", "scaleTargetRef", "name")
"""Path of the name of the scaled object in autoscalers."""
EACH = "#"
"""Stands for any number in a name: the claims of a StatefulSet's pods have numbers."""
_VOLUMES = {
    "persistentVolumeClaim": ("PersistentVolumeClaim", "claimName"),
    "configMap": ("ConfigMap", "name"),
    "secret": ("Secret", "secretName"),
}
"""Sources of volumes, by field: the kind that they name, and the field with the name."""
_CLAIM_NAMES = "volumes[].persistentVolumeClaim.claimName"
CLAIM_TEMPLATE = "ResourceClaimTemplate"
_CLAIMS = {"resourceClaimName": "ResourceClaim", "resourceClaimTemplateName": CLAIM_TEMPLATE}
_KEYS = {"configMapKeyRef": "ConfigMap", "secretKeyRef": "Secret"}
_SOURCES = {"configMapRef": "ConfigMap", "secretRef": "Secret"}
_SELECTORS = {
    "Service": ("spec", "selector"),
    "PodDisruptionBudget": ("spec", "selector"),
    "NetworkPolicy": ("spec", "podSelector"),
    "CiliumNetworkPolicy": ("spec", "endpointSelector"),
    **dict.fromkeys(("PodMonitor", "PodMonitoring", "VMPodScrape"), ("spec", "selector")),
}
"""Kinds that select pods, with the path of the selector."""
_PORTS = {
    "Service": "ports[].targetPort",
    "NetworkPolicy": "ingress[].ports[].port",
    "CiliumNetworkPolicy": "ingress[].toPorts[].ports[].port",
    **dict.fromkeys(("PodMonitor", "VMPodScrape"), "podMetricsEndpoints[].port"),
    "PodMonitoring": "endpoints[].port",
}
"""Paths below ``spec`` of the ports of the selected pods."""
_ROUTES = ("GRPCRoute", "HTTPRoute", "TCPRoute", "TLSRoute")


class Held(NamedTuple):
    """An object that others may name."""

    kind: str
    space: Space
    name: str
    keys_or_ports: Sequence[str] | None = None
    """The port numbers and names of a Service, the keys of a ConfigMap, or the modes of a claim. None if unknown."""


class LabelledPods(NamedTuple):
    """Identical pods with labels."""

    kind: str
    """Kind of the owner."""
    name: str
    space: Space
    at_once: int
    """The number of pods."""
    labels: Mapping[str, Any] | None
    """Labels of the pods. None if unknown."""
    ports: Sequence[str] = ()
    """Names of the ports of the containers."""
    numbers: Sequence[int] = ()
    """Numbers of these ports."""


class Use(NamedTuple):
    """A reference to an object by name."""

    document: int
    """The number of the document with the reference."""
    by: str
    """Kind of that document."""
    path: KeyPath
    kind: str
    space: Space
    name: str
    is_optional: bool = False
    """Whether pods run without the object."""
    key_or_port: str = ""
    """The port or the key of the object, if the reference names one."""
    part_path: KeyPath = ()


class Selection(NamedTuple):
    """A selector of pods."""

    document: int
    by: str
    path: KeyPath
    space: Space
    selector: Mapping[str, Any]
    """``matchLabels`` and ``matchExpressions``."""
    ports: Sequence[tuple[KeyPath, str]] = ()
    """The names of ports of the pods, each with its path."""
    least: int = 0
    """The number of pods that a disruption budget keeps."""
    is_peer: bool = False
    """Whether the pods are those to which a policy allows connections, which may belong to others."""
    numbers: Sequence[tuple[KeyPath, int, str | int | None]] = ()
    """Port numbers of a Service or a NetworkPolicy, each with its path. A Service also has the pods' port."""


class Claiming(NamedTuple):
    """Pods of one document that mount a claim."""

    document: int
    path: KeyPath
    """The path of the claim's name."""
    space: Space
    name: str
    pods: int
    """The number of pods at a time."""


@dataclass(frozen=True, slots=True)
class Mentions:
    """All objects, pods, references and selectors in some documents."""

    finder: Callable[[int], Finder]
    """Returns a function that finds places in the document with a number."""
    path: Callable[[int], str]
    """Returns the file of the document with a number."""
    held: Sequence[Held] = ()
    pods: Sequence[LabelledPods] = ()
    uses: Sequence[Use] = ()
    selections: Sequence[Selection] = ()
    claiming: Sequence[Claiming] = ()

    @property
    def rows(self) -> tuple[Sequence[Any], ...]:
        """The content as rows for JSON. Empty if nothing was found."""
        rows = self.held, self.pods, self.uses, self.selections, self.claiming
        return rows if any(rows) else ()


def read_rows(rows: Sequence[Any], path: str, finder: Callable[[int], Finder]) -> Mentions:
    """Restores the mentions of the file at ``path`` from its ``rows``."""
    held, pods, uses, selections, claiming = rows
    return Mentions(
        finder,
        lambda number: path,
        [Held(kind, tuple(space), name, parts) for kind, space, name, parts in held],
        [LabelledPods(kind, name, tuple(space), *further_fields) for kind, name, space, *further_fields in pods],
        [
            Use(document, by, tuple(where), kind, tuple(space), name, is_optional, key_or_port, tuple(part_path))
            for document, by, where, kind, space, name, is_optional, key_or_port, part_path in uses
        ],
        [
            Selection(
                document,
                by,
                tuple(where),
                tuple(space),
                selector,
                [(tuple(at), port) for at, port in ports],
                least,
                is_peer,
                [(tuple(at), port, target) for at, port, target in numbers],
            )
            for document, by, where, space, selector, ports, least, is_peer, numbers in selections
        ],
        [Claiming(document, tuple(where), tuple(space), *rest) for document, where, space, *rest in claiming],
    )


class MentionReader:
    """Reads documents one by one. The number of a document is its index in ``origins``."""

    def __init__(self, origins: Sequence[Origin] = ()) -> None:
        self._origins = origins
        self._numbers = {id(origin): number for number, origin in enumerate(origins)}
        self._of_pools: list[tuple[str, Finder]] = []
        self._held: list[Held] = []
        self._pods: list[LabelledPods] = []
        self._claiming: list[Claiming] = []
        self._uses: list[Use] = []
        self._selections: list[Selection] = []

    @property
    def mentions(self) -> Mentions:
        """Everything that was read."""
        return Mentions(
            lambda number: self._of_pools[number][1] if self._of_pools else self._origins[number].locate,
            lambda number: self._of_pools[number][0] if self._of_pools else self._origins[number].path,
            self._held,
            self._pods,
            self._uses,
            self._selections,
            self._claiming,
        )

    def pool(self, pool: FleetPool) -> None:
        """Reads the names in a pool's pod templates for all namespaces of its work. Skips names with tokens."""
        for platform in (pool.platforms.base, *pool.platforms.by_name.values()):
            if not platform.templates:
                continue
            source = len(self._of_pools), "PodTemplate"
            self._of_pools.append((pool.declared.origin.path, platform.merged.at))
            for namespace in dict.fromkeys(pool.namespaces):  # those of its subpools are among them
                self._spec(source, (pool.backend.name, namespace), platform.merged.data.get("spec"), ("spec",))
        self._uses = [use for use in self._uses if "{{" not in use.name + use.key_or_port]

    def workflow(self, workflow: FleetWorkflow) -> None:
        """Reads the credentials of the workflow's tasks, and the labels of its pods."""
        space = workflow.pool.backend.name, workflow.namespace
        for task in (task for group in workflow.groups for task in group.tasks if task.spec.credentials):
            source = self._source(workflow.declared.origin, "task")
            for name in task.spec.credentials:
                path = (*task.path, "credentials", name)
                self._uses.append(Use(*source, path, "Secret", space, names.fold(name)))
        workflow_labels = workflow.declared.spec.workflow.labels
        for platform in {id(task.platform): task.platform for each in workflow.groups for task in each.tasks}.values():
            metadata = platform.merged.data.get("metadata") if platform.templates else None
            pod_labels = {**_mapping(_mapping(metadata).get("labels")), **workflow_labels}
            if pod_labels:
                has_token = any("{{" in str(value) for value in pod_labels.values())
                count = sum(task.platform is platform for group in workflow.groups for task in group.tasks)
                known_labels = None if has_token else pod_labels
                self._pods.append(LabelledPods(workflow.kind, workflow.name, space, count, known_labels))

    def workload(self, workload: FleetWorkload) -> None:
        """Reads the names in the workload's pods, the labels of the pods, and the claims that it creates for them."""
        origin, kind, space = workload.declared.origin, workload.kind, (workload.pool.backend.name, workload.namespace)
        source = self._source(origin, kind)
        for replica_type in workload.templates:
            count = workload.copies * replica_type.replicas
            for where in pods_at(origin.data, replica_type.spec_path or replica_type.path):
                self._spec(source, space, origin.value(where), where)
                for at, name in values_at(origin.value(where), path_steps(_CLAIM_NAMES), where):
                    if isinstance(name, str):
                        self._claiming.append(Claiming(source[0], at, space, name, count))
            if replica_type.template is None:
                self._pods.append(LabelledPods(kind, workload.name, space, count, None))
            elif pod_labels := replica_type.template.metadata.labels:
                self._carrying(kind, workload.name, space, count, pod_labels, origin.value(replica_type.path))
        makes = workload.declared.spec.page.makes
        if path := key_path(makes.service):
            self._use(source, path, "Service", space, origin.value(path))
        for _, claim in _mappings_in(origin.value(key_path(makes.claims)) if makes.claims else ()):
            name = f"{_mapping(claim.get('metadata')).get('name')}-{workload.name}-{EACH}"
            self._held.append(Held("PersistentVolumeClaim", space, name))

    def group(self, pod_group: FleetPodGroup) -> None:
        """Reads the Pods that join a hand-written PodGroup."""
        space = pod_group.backend.name, pod_group.namespace
        for pod in pod_group.pods:
            self._spec(self._source(pod.origin, "Pod"), space, pod.origin.value(("spec",)), ("spec",))
            if pod.spec.metadata.labels:
                self._carrying("Pod", pod.spec.metadata.name, space, 1, pod.spec.metadata.labels, pod.origin.data)

    def clique_set(self, clique_set: SubmittedSet) -> None:
        """Reads the pods of a set's cliques."""
        origin, space = clique_set.declared.origin, (clique_set.pool.backend.name, clique_set.namespace)
        for clique in clique_set.set.cliques:
            path = (*clique.path, "spec", "podSpec")
            spec = origin.value(path)
            self._spec(self._source(origin, clique_set.kind), space, spec, path)
            labels = _mapping(origin.value((*clique.path, "labels")))
            if labels:
                count = clique_set.set.replicas * clique.spec.spec.replicas
                self._carrying(clique_set.kind, clique_set.name, space, count, labels, {"spec": spec})

    def companion(self, companion: FleetCompanion) -> None:
        """Reads a companion: the object itself, the names in it, and its selector."""
        origin, kind, space = companion.declared.origin, companion.kind, (companion.backend.name, companion.namespace)
        data = origin.data
        spec = _mapping(data.get("spec"))
        source = self._source(origin, kind)
        keys_or_ports: Iterable[object] | None = None
        if kind == "Service":
            keys_or_ports = [port.get(key) for _, port in _mappings_in(spec.get("ports")) for key in ("port", "name")]
        elif kind == "ConfigMap":
            keys_or_ports = [*_mapping(data.get("data")), *_mapping(data.get("binaryData"))]
        elif kind == "PersistentVolumeClaim" and isinstance(spec.get("accessModes"), list):
            keys_or_ports = spec["accessModes"]
        made = tuple(str(text) for text in keys_or_ports if text is not None) if keys_or_ports is not None else None
        self._held.append(Held(kind, space, companion.name, made))
        if companion.claim_template:
            self._held.append(Held(CLAIM_TEMPLATE, space, companion.claim_template))
        self._held += (Held("Secret", space, x) for x in _secrets(kind, companion.name, spec) if isinstance(x, str))
        if "scaleTargetRef" in spec:
            target = _mapping(spec["scaleTargetRef"])
            self._use(source, SCALED, str(target.get("kind") or DEFAULT_SCALED), space, target.get("name"))
        elif kind == "ServiceAccount":
            for index, secret in _mappings_in(data.get("imagePullSecrets")):
                self._use(source, ("imagePullSecrets", index, "name"), "Secret", space, secret.get("name"))
        elif kind == "Ingress":
            self._ingress(source, space, spec)
        elif kind in _ROUTES:
            for rule_index, rule in _mappings_in(spec.get("rules")):
                for index, backend in _mappings_in(rule.get("backendRefs")):
                    where: KeyPath = ("spec", "rules", rule_index, "backendRefs", index)
                    backend_space = (space[0], str(backend.get("namespace") or space[1]))
                    if backend.get("kind") in (None, "Service"):
                        self._use(
                            source, (*where, "name"), "Service", backend_space, backend.get("name"), backend, ("port",)
                        )
        if kind in _SELECTORS:
            self._selection(source, space, spec, _SELECTORS[kind])

    def _source(self, origin: Origin, kind: str) -> Source:
        return self._numbers[id(origin)], kind

    def _use(
        self,
        source: Source,
        path: KeyPath,
        kind: str,
        space: Space,
        name: object,
        reference: Mapping[str, Any] | None = None,
        part_keys: Sequence[str] = (),
    ) -> None:
        """Adds the name at ``path`` in the mapping ``reference``. One of ``part_keys`` may name a part of it."""
        if not isinstance(name, str) or not name:  # other rules say that it is missing
            return
        mapping = reference or {}
        key = next((key for key in part_keys if mapping.get(key) is not None), "")
        is_optional, key_or_port = mapping.get("optional") is True, str(mapping[key]) if key else ""
        if "{{" in name + key_or_port:  # Argo and OSMO fill it in
            return
        path_of_key = (*path[:-1], key) if key else ()
        self._uses.append(Use(*source, path, kind, space, name, is_optional, key_or_port, path_of_key))

    def _carrying(
        self, kind: str, name: str, space: Space, count: int, labels: Mapping[str, Any], template: object
    ) -> None:
        spec = _mapping(_mapping(template).get("spec"))
        containers = [container for x in ("containers", "initContainers") for _, container in _mappings_in(spec.get(x))]
        ports = [port.get("name") for container in containers for _, port in _mappings_in(container.get("ports"))]
        named = tuple(port for port in ports if isinstance(port, str))
        numbers = [port.get("containerPort") for item in containers for _, port in _mappings_in(item.get("ports"))]
        known = tuple(number for number in numbers if type(number) is int)
        self._pods.append(LabelledPods(kind, name, space, count, labels, named, known))

    def _spec(self, source: Source, space: Space, value: object, path: KeyPath) -> None:
        """Reads the PodSpec at ``path``."""
        spec = _mapping(value)
        if "serviceAccountName" in spec:
            where = (*path, "serviceAccountName")
            self._use(source, where, "ServiceAccount", space, spec["serviceAccountName"])
        if "subdomain" in spec:
            self._use(source, (*path, "subdomain"), "Service", space, spec["subdomain"])
        for index, reference in _mappings_in(spec.get("imagePullSecrets")):
            self._use(source, (*path, "imagePullSecrets", index, "name"), "Secret", space, reference.get("name"))
        for index, claim in _mappings_in(spec["resourceClaims"]) if "resourceClaims" in spec else ():
            for key, kind in _CLAIMS.items():
                self._use(source, (*path, "resourceClaims", index, key), kind, space, claim.get(key))
        for index, volume in _mappings_in(spec.get("volumes")):
            self._volume(source, space, volume, (*path, "volumes", index))
        for where, container in containers_in(spec, path):
            if "env" in container or "envFrom" in container:
                self._variables(source, space, container, where)

    def _volume(self, source: Source, space: Space, volume: Mapping[str, Any], path: KeyPath) -> None:
        for source_kind in volume:
            if source_kind in _VOLUMES:
                self._files(source, space, _VOLUMES[source_kind], _mapping(volume[source_kind]), (*path, source_kind))
            elif source_kind == "projected":
                for index, projection in _mappings_in(_mapping(volume[source_kind]).get("sources")):
                    for key in (key for key in ("configMap", "secret") if key in projection):
                        kind, where = _VOLUMES[key][0], (*path, source_kind, "sources", index, key)
                        self._files(source, space, (kind, "name"), _mapping(projection[key]), where)

    def _files(
        self, source: Source, space: Space, named: tuple[str, str], volume_source: Mapping[str, Any], path: KeyPath
    ) -> None:
        kind, key = named
        where, name = (*path, key), volume_source.get(key)
        keys = [
            (index, key_item) for index, key_item in _mappings_in(volume_source.get("items")) if key_item.get("key")
        ]
        if not keys:
            self._use(source, where, kind, space, name, volume_source)
        for index, key_item in keys if isinstance(name, str) else ():
            is_optional, path_of_key = volume_source.get("optional") is True, (*path, "items", index, "key")
            self._uses.append(
                Use(*source, where, kind, space, str(name), is_optional, str(key_item["key"]), path_of_key)
            )

    def _variables(self, source: Source, space: Space, container: Mapping[str, Any], path: KeyPath) -> None:
        for index, variable in _mappings_in(container.get("env")):
            value = _mapping(variable.get("valueFrom"))
            for key in value:
                if key in _KEYS:
                    where, reference = (*path, "env", index, "valueFrom", key, "name"), _mapping(value[key])
                    self._use(source, where, _KEYS[key], space, reference.get("name"), reference, ("key",))
        for index, env_source in _mappings_in(container.get("envFrom")):
            for key in env_source:
                if key in _SOURCES:
                    where, reference = (*path, "envFrom", index, key, "name"), _mapping(env_source[key])
                    self._use(source, where, _SOURCES[key], space, reference.get("name"), reference)

    def _ingress(self, source: Source, space: Space, spec: Mapping[str, Any]) -> None:
        backends: list[tuple[KeyPath, object]] = [(("spec", "defaultBackend"), spec.get("defaultBackend"))]
        for rule_index, rule in _mappings_in(spec.get("rules")):
            for index, http_path in _mappings_in(_mapping(rule.get("http")).get("paths")):
                where = ("spec", "rules", rule_index, "http", "paths", index, "backend")
                backends.append((where, http_path.get("backend")))
        for path, backend in backends:
            service, at_name = _mapping(_mapping(backend).get("service")), (*path, "service", "name")
            port = _mapping(service.get("port"))
            key = next((key for key in ("number", "name") if port.get(key) is not None), None)
            if isinstance(name := service.get("name"), str):
                port_text, at = ("", ()) if key is None else (str(port[key]), (*path, "service", "port", key))
                self._uses.append(Use(*source, at_name, "Service", space, name, key_or_port=port_text, part_path=at))
        for index, tls in _mappings_in(spec.get("tls")):
            self._use(source, ("spec", "tls", index, "secretName"), "Secret", space, tls.get("secretName"))

    def _selection(self, source: Source, space: Space, spec: Mapping[str, Any], path: KeyPath) -> None:
        selector, kind = spec.get(str(path[-1])), source[1]
        if not isinstance(selector, dict) or "namespaceSelector" in spec:  # of a monitor
            return
        ports = _named_ports(spec, _PORTS.get(kind, ""), ("spec",))
        numbers = _numbers(spec, kind)
        if selector or (ports and kind != "Service"):
            least = spec.get("minAvailable") if kind == "PodDisruptionBudget" else 0
            pods_kept = least if type(least) is int else 0
            selector = {"matchLabels": selector} if kind == "Service" else selector
            self._selections.append(Selection(*source, path, space, selector, ports, pods_kept, numbers=numbers))
        for index, rule in _mappings_in(spec.get("egress")) if kind == "NetworkPolicy" else ():
            where: KeyPath = ("spec", "egress", index)
            ports = _named_ports(rule, "ports[].port", where)
            for peer_index, peer in _mappings_in(rule.get("to")) if ports else ():
                if isinstance(pods := peer.get("podSelector"), dict) and "namespaceSelector" not in peer:
                    at = (*where, "to", peer_index, "podSelector")
                    self._selections.append(Selection(*source, at, space, pods, ports, is_peer=True))


def _numbers(spec: Mapping[str, Any], kind: str) -> tuple[tuple[KeyPath, int, str | int | None], ...]:
    """Returns the numbers of ports of a Service, with those of its pods, and of what a NetworkPolicy lets in."""
    found: list[tuple[KeyPath, Any, Any]]
    if kind == "Service":
        of_service = list(_mappings_in(spec.get("ports")))
        targets = [port.get("targetPort") or port.get("port") for _, port in of_service]
        found = [
            (("spec", "ports", index, "port"), port.get("port"), target)
            for (index, port), target in zip(of_service, targets, strict=True)
        ]
    else:
        ports = values_at(spec, ("ingress", "[]", "ports", "[]"), ("spec",)) if kind == "NetworkPolicy" else ()
        known = ((at, _mapping(port)) for at, port in ports)
        found = [((*at, "port"), port.get("port"), None) for at, port in known if "endPort" not in port]
    return tuple((at, number, target) for at, number, target in found if type(number) is int)


def _named_ports(section: Mapping[str, Any], pattern: str, path: KeyPath) -> tuple[tuple[KeyPath, str], ...]:
    """Returns the names of ports at the pattern's paths. Cilium writes numbers as text."""
    ports = values_at(section, path_steps(pattern), path) if pattern else ()
    names = ((at, port) for at, port in ports if isinstance(port, str))
    return tuple((at, port) for at, port in names if not port.isdecimal() and "{{" not in port)


def _secrets(kind: str, name: str, spec: Mapping[str, Any]) -> Iterator[object]:
    """Yields the Secrets that controllers create for an object: Sealed Secrets, cert-manager, the Secrets Store CSI
    driver, the External Secrets Operator.
    """
    match kind:
        case "SealedSecret":
            yield name
        case "Certificate":
            yield spec.get("secretName")
        case "SecretProviderClass":
            yield from (secret_object.get("secretName") for _, secret_object in _mappings_in(spec.get("secretObjects")))
        case "ExternalSecret":
            yield _mapping(spec.get("target")).get("name") or name


def _mapping(value: object) -> Mapping[str, Any]:
    """Returns a mapping. Empty if the value is no mapping."""
    return value if isinstance(value, dict) else {}


def _mappings_in(value: object) -> Iterator[tuple[int, Mapping[str, Any]]]:
    """Yields the items of a list, each with its index and as a mapping."""
    return ((index, _mapping(member)) for index, member in enumerate(value if isinstance(value, list) else ()))
