"""Checks pod templates as an API server does, beyond types: names, mounts, ports, restart policies and selectors.
Follows ``pkg/apis/core/validation``, ``apps/validation`` and ``batch/validation`` of Kubernetes 1.35.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from kubectl_tas.base.diagnostics import Diagnostic, Related, Rule
from kubectl_tas.base.words import did_you_mean, shortened
from kubectl_tas.check.companion_names import REFERENCE_UNKNOWN
from kubectl_tas.check.conflicts import Fields, repetitions
from kubectl_tas.facts import spellings
from kubectl_tas.facts.node_places import fulfils
from kubectl_tas.kinds import page_of_document
from kubectl_tas.kinds.section import key_path, listed, mappings
from kubectl_tas.load.schema import MISSING_FIELD, invalid_value, missing_field
from kubectl_tas.model.base import KeyPath
from kubectl_tas.model.repository import Declared, Origin
from kubectl_tas.resolve.fleet import Fleet

if TYPE_CHECKING:
    from kubectl_tas.model.osmo_workflow import Workflow
    from kubectl_tas.model.workloads import Workload

ITEM_DUPLICATE = Rule.error(
    "item-duplicate",
    "Two containers or volumes of a pod share a name, or two mounts a path.",
    "The API server refuses the pod. It accepts some duplicates (variables, ports, pull secrets) unless Flux or Argo "
    "CD applies them server-side. Rename or remove one of the two.",
)
RESTART_POLICY = Rule.error(
    "restart-policy",
    "The kind of a workload refuses the restart policy of its pods.",
    "A kind whose pods end, such as a Job, accepts Never or OnFailure and has no default. A kind whose pods run for "
    "ever accepts only Always. The API server refuses other values, or refuses the pods that an operator makes.",
)
SELECTOR_MISMATCH = Rule.error(
    "selector-mismatch",
    "The selector of a workload is empty, or does not match its pods.",
    "The workload would not find its own pods, so the API server refuses it. Write the same labels in both.",
)
_List = tuple[str, str, str]
"""A list, the field that must be unique among its items, and words for that field."""
_IN_PODS: tuple[_List, ...] = (
    ("volumes", "name", "volume name"),
    ("imagePullSecrets", "name", "pull secret"),
    ("resourceClaims", "name", "resource claim"),
    ("schedulingGates", "name", "scheduling gate"),
)
_IN_CONTAINERS: tuple[_List, ...] = (
    ("env", "name", "variable"),
    ("ports", "name", "port name"),
    ("volumeMounts", "mountPath", "mount path"),
    ("volumeDevices", "devicePath", "device path"),
)
CALLS: tuple[KeyPath, ...] = (
    *((probe,) for probe in ("livenessProbe", "readinessProbe", "startupProbe")),
    *(("lifecycle", hook) for hook in ("postStart", "preStop")),
)
"""Paths of what a kubelet may call at a port of the container itself."""


def check_pod_templates(declared: Declared[Workload], _fleet: Fleet) -> Iterator[Diagnostic]:
    """Checks the pod templates of a workload: that they are there, their restart policies, and the selector."""
    pod_sets = declared.spec.pod_sets
    for path in dict.fromkeys(pods.path for pods in pod_sets if pods.template is not None and pods.is_pod_spec):
        yield from _absent(declared.origin, path)
    if declared.spec.page.is_declared:
        for path in dict.fromkeys(declared.spec.absent):
            hint = "spec.kinds of the Config, or its Karta, says that its pods stand there; correct one of the two."
            yield replace(missing_field(declared.origin, path[:-1], str(path[-1]), {}), hint=hint)
    # Checks that pods which end may end, and that others have no deadline.
    kind, rules = str(declared.spec.kind), declared.spec.page.pod_rules
    allowed, demanded = rules.restart, rules.states_restart
    if allowed:
        for path in dict.fromkeys(item.spec_path for item in declared.spec.pod_sets):
            spec = Fields(declared.origin, path, declared.origin.value(path))
            written = spec.get("restartPolicy")
            is_known = written is None or written in ("Always", "OnFailure", "Never")  # check.fields says of others
            if is_known and written not in allowed and (written is not None or demanded):
                shown = f'not "{written}"' if written is not None else "and say none"
                article = "an" if kind.startswith("I") else "a"
                message = f"the pods of {article} {kind} need restartPolicy {' or '.join(allowed)}, {shown}"
                hint = f"Write restartPolicy: {allowed[0]}{'' if demanded else ', or leave it out'}."
                location = declared.origin.locate((*path, "restartPolicy"), key=written is None)
                yield Diagnostic(RESTART_POLICY, message, location, hint=hint)
            if allowed == ("Always",) and spec.get("activeDeadlineSeconds") is not None:
                yield spec.refuse("activeDeadlineSeconds", "is for pods that end", "Remove it; jobs have one.")
    yield from _selector(declared)


def check_tasks(declared: Declared[Workflow], _fleet: Fleet) -> Iterator[Diagnostic]:
    """Checks the image and the mounts of each task of a workflow."""
    for _, task, at in declared.spec.all_tasks:
        refusal = None if "{{" in task.image else spellings.image(task.image)
        if refusal is not None:
            yield invalid_value(declared.origin, (*at, "image"), refusal[0], task.image, refusal[1])
        if task.volumeMounts:
            path, mounted = (*at, "volumeMounts"), [mount.rpartition(":")[2] for mount in task.volumeMounts]
            named = ((text, (*path, index)) for index, text in enumerate(mounted))
            yield from _duplicates(declared.origin, "mount path", named)


def _absent(origin: Origin, path: KeyPath) -> Iterator[Diagnostic]:
    """Reports a missing pod template, or one without a spec."""
    for part in (path, (*path, "spec")):
        if origin.value(part) is None:
            found = missing_field(origin, part[:-1], str(part[-1]), {})
            if found.rule is MISSING_FIELD:  # check.fields says that a key is unknown
                yield found
            return


def check_made_pod(origin: Origin, fleet: Fleet) -> Iterator[Diagnostic]:
    """Checks a Pod that kubectl-tas makes."""
    spec = Fields(origin, ("spec",), origin.value(("spec",)))
    yield from check_pod_spec(spec, fleet)
    for container in spec.containers:
        yield from check_container(container, fleet)


def check_container(container: Fields, _fleet: Fleet) -> Iterator[Diagnostic]:
    """Checks the lists of a container, and the ports that its probes and hooks name."""
    yield from _once(container, _IN_CONTAINERS)
    for call in CALLS:
        if call[0] in container.value:
            for action in (container.below(*call, name) for name in ("httpGet", "tcpSocket")):
                yield from _called(container, action)


def _called(container: Fields, action: Fields) -> Iterator[Diagnostic]:
    """Checks that a container has the port that its kubelet calls by name (``ResolveContainerPort`` of pkg/probe). An
    operator may add ports; then only a misspelled name is certain to be wrong.
    """
    port = action.get("port")
    names = [str(other["name"]) for other in mappings(container.get("ports")) if other.get("name")]
    if not isinstance(port, str) or port in names or "{{" in "".join((port, *names)) or spellings.port(port):
        return
    names, refused = spellings.usable_ports(names)
    if port in refused:
        return
    page = page_of_document(container.origin.data)
    hint = did_you_mean(port, names)
    if hint or (page is not None and page.pod_rules.ports_known):
        message = f'this container has no port "{port}", so its kubelet cannot call it'
        hint = hint or (f"Write its number, or one of {shortened(names)}." if names else "Write its number.")
        yield Diagnostic(REFERENCE_UNKNOWN, message, container.origin.locate((*action.path, "port")), hint=hint)


def check_pod_spec(spec: Fields, _fleet: Fleet) -> Iterator[Diagnostic]:
    """Checks a PodSpec, or the fields that a kind has in its place."""
    origin, containers = spec.origin, spec.containers
    if len(containers) > 1:
        names = [(str(part.get("name")), (*part.path, "name")) for part in containers if part.get("name")]
        yield from _duplicates(origin, "container name", names)
    yield from _once(spec, _IN_PODS)
    # Containers that must not run as root, and name root as their user. What a container says comes before what
    # its pod says (`DetermineEffectiveSecurityContext` of pkg/securitycontext, `verifyRunAsNonRoot` of the kubelet).
    page = page_of_document(spec.origin.data)
    of_pod, defaults = spec.below("securityContext"), page.pod_rules.defaults_at if page is not None else ""
    if not of_pod.value and defaults:
        path = (*key_path(defaults), "securityContext")
        of_pod = Fields(spec.origin, path, spec.origin.value(path))
    wrong: dict[KeyPath, Fields] = {}
    for container in spec.containers or [spec]:
        of_container = container.below("securityContext")
        above = of_pod if container.path != spec.path else spec.below("podSecurityContext")
        rule, named = (
            of_container if of_container.get(key) is not None else above for key in ("runAsNonRoot", "runAsUser")
        )
        user = named.get("runAsUser")
        if rule.get("runAsNonRoot") is True and type(user) is int and user == 0:
            wrong[named.path] = named
    for context in wrong.values():
        hint = "Write another user, such as 1000, or remove runAsNonRoot."
        yield context.refuse("runAsUser", "is 0, which is root, but runAsNonRoot is true: no container starts", hint)
    on_node: dict[str, KeyPath] = {}
    for container in containers:
        if "ports" in container.value and "initContainers" not in container.path[-2:]:
            yield from _ports(container, on_node, is_shared=spec.get("hostNetwork") is True)


def _once(fields: Fields, table: Iterable[_List]) -> Iterator[Diagnostic]:
    """Checks that the items of lists are unique by a field."""
    for field, key, what in table:
        items = mappings(fields.value.get(field)) if field in fields.value else ()
        if len(items) > 1:
            found = [(str(item[key]), (*fields.path, field, n, key)) for n, item in enumerate(items) if item.get(key)]
            yield from _duplicates(fields.origin, what, found)


def _ports(container: Fields, on_node: dict[str, KeyPath], *, is_shared: bool) -> Iterator[Diagnostic]:
    """Finds repeated ports of a container, and of the pod on its node. With hostNetwork every port is on the node."""
    own: dict[str, KeyPath] = {}
    for port in container.each("ports"):
        protocol, address = port.get("protocol") or "TCP", port.get("hostIP") or ""
        host = "hostPort" if port.get("hostPort") or not is_shared else "containerPort"
        for field, first, text in (
            ("containerPort", own, f"{port.get('containerPort')}/{protocol}"),
            (host, on_node, f"{address}:{port.get(host)}/{protocol}".removeprefix(":")),
        ):
            place = (*port.path, field)
            earlier = first.setdefault(text, place) if port.get(field) else None
            if earlier is not None and earlier != place:
                yield from _duplicates(container.origin, field, [(text, earlier), (text, place)])
                break


def _duplicates(origin: Origin, what: str, found: Iterable[tuple[str, KeyPath]]) -> Iterator[Diagnostic]:
    for text, earlier, path in repetitions(found):
        related = (Related("first here", origin.locate(earlier)),)
        message = f'the {what} "{text}" appears twice'
        yield Diagnostic(ITEM_DUPLICATE, message, origin.locate(path), related, hint="Rename or remove one.")


def _selector(declared: Declared[Workload]) -> Iterator[Diagnostic]:
    rules, origin, kind = declared.spec.page.pod_rules, declared.origin, declared.spec.kind
    path = key_path(rules.selector)
    selector = origin.value(path) if path else None
    if not isinstance(selector, dict):
        return
    labels = origin.value(("spec", "template", "metadata", "labels"))
    carried = labels if isinstance(labels, dict) else {}
    has_labels_alone = rules.selects_by_labels  # and without any, it selects the labels of its template
    at = path if has_labels_alone else (*path, "matchLabels")
    wanted = origin.value(at) or {}
    expressions = [part for part in listed(selector.get("matchExpressions")) if isinstance(part, dict)]
    if not wanted and not selector.get("matchExpressions") and not has_labels_alone:
        message = f"the selector of this {kind} is empty, so it matches no pods of its own"
        location = origin.locate(path, key=True)
        yield Diagnostic(SELECTOR_MISMATCH, message, location, hint="Write matchLabels with labels of the template.")
    for key, value in wanted.items() if isinstance(wanted, dict) else ():
        if carried.get(key) != value:
            has = f'has "{carried[key]}"' if key in carried else "lacks it"
            message = f'the selector wants the label {key}: "{value}"; the template {has}'
            hint = "Write the same label in spec.template.metadata.labels and in the selector."
            yield Diagnostic(SELECTOR_MISMATCH, message, declared.at(*at, key), hint=hint)
    for index, part in enumerate(expressions):
        if not fulfils(part, carried):
            message = f"the template's labels do not fulfil the condition on {part.get('key')} of the selector"
            location = declared.at(*path, "matchExpressions", index)
            yield Diagnostic(SELECTOR_MISMATCH, message, location, hint="Change one of the two.")
