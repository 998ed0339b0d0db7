"""Pod templates hold what an API server's validation demands beyond types: names, mounts, limits, restart policies and
selectors. Follows ``pkg/apis/core/validation``, ``apps/validation`` and ``batch/validation`` of Kubernetes 1.35.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from kubectl_tas.diagnostics import Diagnostic, Related, Rule, Severity
from kubectl_tas.load.schema import INVALID_VALUE, MISSING_FIELD, invalid_value, missing_field
from kubectl_tas.model.base import KeyPath
from kubectl_tas.model.repository import Declared, Origin
from kubectl_tas.resolve import names
from kubectl_tas.resolve.fleet import Fleet
from kubectl_tas.resolve.workflows import groups_of, task_path

if TYPE_CHECKING:
    from kubectl_tas.model.workload import AnyWorkload

ITEM_DUPLICATE = Rule(
    "item-duplicate",
    Severity.ERROR,
    "Two containers or volumes of a pod share a name, or two mounts of a container share a path.",
    "An API server refuses the pod; or it does where Flux or Argo CD applies server-side: so of two variables of a "
    "name, and of two equal ports or pull secrets. Rename or remove one of the two.",
)
RESTART_POLICY = Rule(
    "restart-policy",
    Severity.ERROR,
    "The pods of a workload have a restart policy that their kind does not allow.",
    "Pods of a Job end, so it takes Never or OnFailure and has no default; those of a Deployment, a StatefulSet, a "
    "LeaderWorkerSet or a Notebook are to run for ever, so these take Always alone. Others are refused, some only once "
    "the operator makes the pods.",
)
SELECTOR_MISMATCH = Rule(
    "selector-mismatch",
    Severity.ERROR,
    "The selector of a Deployment or StatefulSet is empty, or does not match the labels of its pods.",
    "The workload would not find the pods that it makes, so an API server refuses it. Write the same labels in both.",
)
_VARIABLE = re.compile(r"[ -<>-~]+")
"""The name of an environment variable."""


def check_pods(fleet: Fleet) -> Iterator[Diagnostic]:
    """Every pod template of workloads and of PodCliqueSets, and the mounts of every task."""
    for declared in fleet.repository.workloads:
        for path in dict.fromkeys(item.path for item in declared.spec.pod_sets if item.template is not None):
            yield from _absent(declared.origin, path)
            yield from check_spec(declared.origin, (*path, "spec"))
        yield from _restart_policies(declared)
        yield from _name_length(declared)
        yield from _selector(declared)
    for item in fleet.repository.pod_clique_sets:
        for index in range(len(item.spec.spec.template.cliques)):
            yield from check_spec(item.origin, ("spec", "template", "cliques", index, "spec", "podSpec"))
    for workflow in fleet.repository.workflows:
        for group, where in groups_of(workflow.spec):
            for index, task in enumerate(group.tasks):
                path = (*task_path(workflow.spec, where, index), "volumeMounts")
                mounted = [mount.rpartition(":")[2] for mount in task.volumeMounts]
                yield from _duplicates(
                    workflow.origin, "mount path", mounted, [(*path, i) for i in range(len(mounted))]
                )


def _absent(origin: Origin, path: KeyPath) -> Iterator[Diagnostic]:
    """A pod template is there, and says what its pods are."""
    for part in (path, (*path, "spec")):
        if origin.value(part) is None:
            found = missing_field(origin, part[:-1], str(part[-1]), {})
            if found.rule is MISSING_FIELD:  # check.fields says that a key is unknown
                yield found
            return


def check_spec(origin: Origin, path: KeyPath) -> Iterator[Diagnostic]:
    """The PodSpec at ``path``."""
    containers = [
        (part, (*path, field, index))
        for field in ("initContainers", "containers")
        for index, part in _items(origin, (*path, field))
    ]
    volumes = [(part, (*path, "volumes", index)) for index, part in _items(origin, (*path, "volumes"))]
    for what, parts in (("container", containers), ("volume", volumes)):
        named = [(part["name"], (*where, "name")) for part, where in parts if isinstance(part.get("name"), str)]
        yield from _duplicates(origin, f"{what} name", [name for name, _ in named], [where for _, where in named])
        for name, where in named:
            if not names.is_label(name) or len(name) > names.MAX_LABEL:
                rule = "must be at most 63 lower-case letters, digits and '-', a letter or digit first and last"
                yield invalid_value(origin, where, rule, name)
    for field, what in (("imagePullSecrets", "pull secret"), ("resourceClaims", "resource claim")):
        yield from _named_once(origin, (*path, field), what)
    ports, is_shared = dict[str, KeyPath](), origin.value((*path, "hostNetwork")) is True
    for container, where in containers:
        yield from _container(origin, container, where)
        if where[-2] == "containers":
            yield from _ports(origin, where, ports, is_shared=is_shared)
    for volume, where in volumes:
        host = volume.get("hostPath")
        target = host.get("path") if isinstance(host, dict) else None
        if isinstance(target, str) and ".." in target.split("/"):
            yield invalid_value(origin, (*where, "hostPath", "path"), "must not hold '..'", target)


def _container(origin: Origin, container: dict[str, Any], path: KeyPath) -> Iterator[Diagnostic]:
    image = container.get("image")
    if isinstance(image, str) and image != image.strip():
        yield invalid_value(origin, (*path, "image"), "must have no blanks around it", image, f"Write {image.strip()}.")
    yield from _named_once(origin, (*path, "env"), "variable")
    for index, variable in _items(origin, (*path, "env")):
        name = variable.get("name")
        if isinstance(name, str) and not _VARIABLE.fullmatch(name):
            rule = "must be the name of a variable: printable ASCII without '='"
            yield invalid_value(origin, (*path, "env", index, "name"), rule, name)
    yield from _named_once(origin, (*path, "volumeMounts"), "mount path", "mountPath")
    yield from _named_once(origin, (*path, "volumeDevices"), "device path", "devicePath")


def _ports(origin: Origin, path: KeyPath, on_node: dict[str, KeyPath], *, is_shared: bool) -> Iterator[Diagnostic]:
    """Each port of a container once, and each that a pod has on its node: all where it shares the node's network."""
    own: dict[str, KeyPath] = {}
    for index, port in _items(origin, (*path, "ports")):
        where, protocol = (*path, "ports", index), port.get("protocol") or "TCP"
        host = "hostPort" if port.get("hostPort") or not is_shared else "containerPort"
        address = port.get("hostIP") or ""
        for field, first, text in (
            ("containerPort", own, f"{port.get('containerPort')}/{protocol}"),
            (host, on_node, f"{address}:{port.get(host)}/{protocol}".removeprefix(":")),
        ):
            earlier = first.setdefault(text, (*where, field)) if port.get(field) else None
            if earlier is not None and earlier != (*where, field):
                yield from _duplicates(origin, field, [text, text], [earlier, (*where, field)])
                break


def _named_once(origin: Origin, path: KeyPath, what: str, field: str = "name") -> Iterator[Diagnostic]:
    """The items of a list have a text of their own in a field."""
    found = [(part[field], (*path, index, field)) for index, part in _items(origin, path) if part.get(field)]
    yield from _duplicates(origin, what, [str(text) for text, _ in found], [where for _, where in found])


def _duplicates(origin: Origin, what: str, texts: list[str], paths: Iterable[KeyPath]) -> Iterator[Diagnostic]:
    first: dict[str, KeyPath] = {}
    for text, path in zip(texts, paths, strict=True):
        earlier = first.setdefault(text, path)
        if earlier != path:
            related = (Related("first here", origin.locate(earlier)),)
            message = f'the {what} "{text}" is there twice'
            yield Diagnostic(ITEM_DUPLICATE, message, origin.locate(path), related, hint="Rename or remove one.")


def _restart_policies(declared: Declared[AnyWorkload]) -> Iterator[Diagnostic]:
    workload = declared.spec
    if workload.kind in ("Job", "CronJob", "JobSet"):
        allowed = ["Never", "OnFailure"]
    elif workload.kind in ("Deployment", "StatefulSet", "LeaderWorkerSet", "Notebook"):
        allowed = ["Always"]
    else:
        return
    demanded = workload.kind in ("Job", "CronJob")
    for path in dict.fromkeys(item.path for item in workload.pod_sets):
        where = (*path, "spec", "restartPolicy")
        written = declared.origin.value(where)
        is_known = written is None or written in ("Always", "OnFailure", "Never")  # check.fields says of others
        if is_known and written not in allowed and (written is not None or demanded):
            shown = f'not "{written}"' if written is not None else "and there is none"
            message = f"the pods of a {workload.kind} need restartPolicy {' or '.join(allowed)}, {shown}"
            place = declared.origin.locate(where, key=written is None)
            hint = f"Write restartPolicy: {allowed[0]}{'' if demanded else ', or leave it out'}."
            yield Diagnostic(RESTART_POLICY, message, place, hint=hint)


def _name_length(declared: Declared[AnyWorkload]) -> Iterator[Diagnostic]:
    """Names that become a label or the name of a host: of an Indexed Job with an index behind."""
    workload, most, why = declared.spec, 0, ""
    if workload.kind == "CronJob":
        most, why = names.MAX_LABEL - 11, "the time of a run is added to it"
    elif workload.kind == "Job":
        most, why = names.MAX_LABEL, "its pods bear it as a label"
        if workload.spec.completionMode == "Indexed":
            last = str(max(0, (workload.spec.completions or 1) - 1))
            most, why = most - len(last) - 1, f"its last pod is called -{last} behind it"
    elif workload.kind in ("StatefulSet", "Notebook"):
        most, why = names.MAX_LABEL, "its pods bear it as a label"
    name = workload.metadata.name
    if most and most < len(name) <= names.MAX_NAME:
        message = f"the name of a {workload.kind} may have {most} characters here, not {len(name)}: {why}"
        hint = f"Cut {len(name) - most} from it."
        yield Diagnostic(INVALID_VALUE, message, declared.at("metadata", "name"), hint=hint)


def _selector(declared: Declared[AnyWorkload]) -> Iterator[Diagnostic]:
    path: KeyPath = ("spec", "selector")
    selector = declared.origin.value(path)
    workload = declared.spec
    if not (workload.kind == "Deployment" or workload.kind == "StatefulSet") or not isinstance(selector, dict):
        return
    kind, carried = workload.kind, workload.spec.template.metadata.labels
    wanted = selector.get("matchLabels") or {}
    expressions = [part for _, part in _items(declared.origin, (*path, "matchExpressions"))]
    if not wanted and not expressions:
        message = f"the selector of this {kind} is empty, so it matches no pods of its own"
        place = declared.origin.locate(path, key=True)
        yield Diagnostic(SELECTOR_MISMATCH, message, place, hint="Write matchLabels with labels of the template.")
    for key, value in wanted.items() if isinstance(wanted, dict) else ():
        if carried.get(key) != value:
            has = f'"{carried[key]}"' if key in carried else "none"
            message = f'the selector wants the label {key}: "{value}", of which the template has {has}'
            hint = "Write the same label in spec.template.metadata.labels and in the selector."
            yield Diagnostic(SELECTOR_MISMATCH, message, declared.at(*path, "matchLabels", key), hint=hint)
    for index, part in enumerate(expressions):
        if not _matches(part, carried):
            message = f"the template's labels do not fulfil the condition on {part.get('key')} of the selector"
            place = declared.at(*path, "matchExpressions", index)
            yield Diagnostic(SELECTOR_MISMATCH, message, place, hint="Change one of the two.")


def _matches(expression: dict[str, Any], labels: dict[str, str]) -> bool:
    """Whether labels fulfil a condition; one that is none is left to others."""
    key, values = expression.get("key"), expression.get("values") or []
    match expression.get("operator"):
        case "In":
            return labels.get(str(key)) in values
        case "NotIn":
            return labels.get(str(key)) not in values
        case "Exists":
            return key in labels
        case "DoesNotExist":
            return key not in labels
        case _:
            return True


def _items(origin: Origin, path: KeyPath) -> Iterator[tuple[int, dict[str, Any]]]:
    """The mappings of a list, with their indices; nothing where there is none."""
    written = origin.value(path)
    for index, item in enumerate(written if isinstance(written, list) else ()):
        if isinstance(item, dict):
            yield index, item
