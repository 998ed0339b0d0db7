"""Checks objects that select pods: whether they select any, only pods of their own work, and with existing ports."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from kubectl_tas.base.diagnostics import Diagnostic, Rule, Waiving
from kubectl_tas.base.words import closest, did_you_mean, misspelled, question, shortened
from kubectl_tas.check.companion_names import REFERENCE_UNKNOWN
from kubectl_tas.check.without_effect import WITHOUT_EFFECT
from kubectl_tas.facts import spellings
from kubectl_tas.facts.node_places import fulfils
from kubectl_tas.kinds import LISTED, page_of
from kubectl_tas.kinds.section import listed
from kubectl_tas.model import labels
from kubectl_tas.model.base import KeyPath
from kubectl_tas.resolve.companions import FleetCompanion
from kubectl_tas.resolve.fleet import Fleet
from kubectl_tas.resolve.mentions import SCALED, LabelledPods, Selection, Space
from kubectl_tas.resolve.platforms import Finder

SELECTS_OTHERS = Rule.error(
    "selects-others",
    "A PodDisruptionBudget or NetworkPolicy selects all pods of a shared namespace.",
    "An empty selector, or one that only excludes labels, selects the pods of other teams too. A NetworkPolicy then "
    "cuts these pods off, and a PodDisruptionBudget keeps their nodes from being drained. Select labels of your own "
    "pods. If you mean the whole namespace, allow it in spec.rules of the Config: selects-others: off.",
    protects=Waiving.CONFIG,
)
SELECTS_TOO_FEW = Rule.warning(
    "selects-too-few",
    "A Service, NetworkPolicy or PodDisruptionBudget selects no pods, or too few for its budget.",
    "A Service without pods answers nobody, and a NetworkPolicy without pods protects nothing. If a budget keeps more "
    "pods than exist, or all pods of a Deployment, nobody can drain their nodes. Select labels that pod templates of "
    "the namespace have. If something else makes the pods, waive the rule with a comment.",
)
_BY_CONTROLLERS = frozenset(
    {
        *("apps.kubernetes.io", "batch.kubernetes.io", "statefulset.kubernetes.io", "kubectl-tas", "kai.scheduler"),
        *("grove.io", "jobset.sigs.k8s.io", "leaderworkerset.sigs.k8s.io", "ray.io", "training.kubeflow.org"),
        *(
            "trainer.kubeflow.org",
            "controller-revision-hash",
            "controller-uid",
            "job-name",
            "job-role",
            "notebook-name",
        ),
        *("pod-template-hash", "replica-index", "replica-type", "statefulset"),
        *(f"app.kubernetes.io/{name}" for name in ("created-by", "managed-by", "part-of")),
    }
)
"""Labels, and domains of labels, that Kubernetes, operators or kubectl-tas add to pods. Templates lack these labels."""
_WITHOUT = ("NotIn", "DoesNotExist")
"""Operators of conditions that pods without any label fulfil."""
_SELECTORS = {
    "PodDisruptionBudget": "selector",
    "NetworkPolicy": "podSelector",
    "CiliumNetworkPolicy": "endpointSelector",
}
_Carried = dict[Space, dict[str, dict[str, list[LabelledPods]]]]
"""Pods by space, label key and label value."""


def check_selectors(companion: FleetCompanion, fleet: Fleet) -> Iterator[Diagnostic]:
    """Checks a network policy or a PodDisruptionBudget. An object without a selector selects nothing or is refused."""
    field = _SELECTORS.get(companion.kind)
    selector = companion.declared.origin.value(("spec", field)) if field is not None else None
    if field is None or not isinstance(selector, dict) or _is_own(selector):
        return
    places = fleet.namespaces(companion.backend)
    leaves = fleet.leaf_queues(companion.backend)
    queue_owners = tuple(
        sorted(target for queue, target in leaves.items() if companion.namespace in places.get(queue, ()))
    )
    if len(queue_owners) > 1:
        reason = "is empty" if not any(selector.values()) else "only excludes labels"
        message = (
            f"spec.{field} of this {companion.kind} {reason}: it selects all pods in namespace "
            f"{companion.namespace}, where "
            f"several queues run work: {shortened(queue_owners)}"
        )
        location = companion.declared.at_key("spec", field)
        yield Diagnostic(SELECTS_OTHERS, message, location, hint="Write matchLabels with labels of your own pods.")


def check_selected(fleet: Fleet) -> Iterator[Diagnostic]:
    """Compares every selector that requires a label with the pods of its namespace."""
    selections = [(mentions, selection) for mentions in fleet.mentions for selection in mentions.selections]
    if not selections:
        return
    carried: _Carried = {}
    all_ = [pods for mentions in fleet.mentions for pods in mentions.pods]
    for pods in all_:
        for key, value in (pods.labels or {}).items():
            carried.setdefault(pods.space, {}).setdefault(key, {}).setdefault(str(value), []).append(pods)
    unknown = {pods.space for pods in all_ if pods.labels is None}
    scaled = {(u.space, u.kind, u.name) for m in fleet.mentions for u in m.uses if u.path == SCALED}
    chosen: list[_Chosen] = []
    called: dict[tuple[Space, str], set[str]] = {}
    for work in fleet.submissions:
        called.setdefault(((work.pool.backend.name, work.namespace), work.kind), set()).add(work.name)
    for mentions, selection in selections:
        locate = mentions.finder(selection.document)
        if not selection.is_peer and (slip := _of_work(called, locate, selection)) is not None:
            yield slip
            continue
        required_labels, conditions = _wanted(selection.selector)
        if selection.ports and not any(selection.selector.values()):
            yield from _ports(locate, selection, [pods for pods in all_ if pods.space == selection.space])
        if not required_labels and all(c.get("operator") in _WITHOUT for c in conditions):  # pods without labels, too
            continue
        carriers = carried.get(selection.space, {})
        selected = [
            pods
            for pods in _near(carriers, required_labels, conditions)
            if _selects(required_labels, conditions, pods.labels or {})
        ]
        if not selected:
            lacking = _nothing(locate, selection, required_labels, carriers)
            if not selection.is_peer and (lacking.fix or selection.space not in unknown):
                yield lacking
            continue
        yield from _ports(locate, selection, selected)
        yield from _targets(locate, selection, selected)
        chosen.append(_Chosen(selection, locate, selected))
        pod_count = sum(pods.at_once for pods in selected)
        is_whole = selection.least == pod_count > 1 and all(map(_is_moved, selected))
        if (
            pod_count
            and (selection.least > pod_count or is_whole)
            and not any((selection.space, pods.kind, pods.name) in scaled for pods in selected)
        ):
            message = f"this {selection.by} keeps {selection.least} pods of {pod_count}: nobody can drain their nodes"
            location = locate(("spec", "minAvailable"))
            yield Diagnostic(SELECTS_TOO_FEW, message, location, hint=f"Use at most {max(1, pod_count - 1)}.")
    yield from _ports_of_services(chosen)


class _Chosen(NamedTuple):
    """A selector, and the pods that it selects."""

    selection: Selection
    locate: Finder
    pods: Sequence[LabelledPods]


def _ports_of_services(chosen: Sequence[_Chosen]) -> Iterator[Diagnostic]:
    """Finds policies that let traffic to the port of a Service in, while its pods listen on another one (comment of
    NetworkPolicyPort in networking/v1 of Kubernetes 1.35).
    """
    services = [row for row in chosen if row.selection.by == "Service"]
    for selection, locate, selected in chosen if services else ():
        listening = {number for pods in selected for number in pods.numbers}
        allowed = {number for _, number, _ in selection.numbers}
        if selection.by != "NetworkPolicy" or selection.ports or not listening or listening & allowed:
            continue
        for path, number, _ in selection.numbers:
            forwarded = (
                target
                for service in services
                if any(pods in selected for pods in service.pods)
                for _, port, target in service.selection.numbers
                if port == number != target
            )
            target = next(forwarded, None)
            if target is not None:
                message = f"{number} is the port of a Service; the pods that this NetworkPolicy selects have {target}"
                yield Diagnostic(WITHOUT_EFFECT, message, locate(path), hint=f"Write {target}.")


def _of_work(called: Mapping[tuple[Space, str], set[str]], locate: Finder, selection: Selection) -> Diagnostic | None:
    """Returns a finding if a label misspells the name of work. Other unknown names may belong to work elsewhere."""
    for key, value in _demands(selection.selector)[0].items():
        work_names = {
            name
            for kind in _named_by(key, {kind for _, kind in called})
            for name in called.get((selection.space, kind), ())
        }
        intended = misspelled(str(value), sorted(work_names)) if str(value) not in work_names else None
        if intended is not None:
            kinds = " or ".join(_named_by(key, sorted(listed.name for listed in LISTED)))
            message = f'this {selection.by} selects no pods: namespace {selection.space[1]} has no {kinds} "{value}"'
            return Diagnostic(
                SELECTS_TOO_FEW, message, locate((*_labels(selection), key)), hint=question(str(value), intended)
            )
    return None


def _named_by(key: str, kinds: Iterable[str]) -> list[str]:
    """Returns those of ``kinds`` whose pods have the name of their work in the label ``key``."""
    pages = ((kind, page_of(kind)) for kind in kinds)
    return [kind for kind, page in pages if page is not None and key in page.makes.name_labels]


def _labels(selection: Selection) -> KeyPath:
    return selection.path if selection.by == "Service" else (*selection.path, "matchLabels")


def _near(
    carriers: Mapping[str, Mapping[str, list[LabelledPods]]],
    required_labels: Mapping[str, str],
    conditions: Iterable[dict[str, Any]],
) -> Iterator[LabelledPods]:
    """Yields the pods that fulfil the first requirement of a selector."""
    for key, value in required_labels.items():
        yield from carriers.get(key, {}).get(value, ())
        return
    required_condition = next(condition for condition in conditions if condition.get("operator") not in _WITHOUT)
    for pods in carriers.get(str(required_condition.get("key")), {}).values():
        yield from pods


def _wanted(selector: Mapping[str, Any]) -> tuple[dict[str, str], list[dict[str, Any]]]:
    """Returns a selector's labels and conditions on labels, without those for labels that controllers write."""
    pairs, conditions = _demands(selector)
    labels_ = {str(key): str(value) for key, value in pairs.items() if _is_written(key)}
    return labels_, [condition for condition in conditions if _is_written(condition.get("key"))]


def _demands(selector: Mapping[str, Any]) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Returns a selector's labels and conditions on labels."""
    pairs = selector.get("matchLabels")
    conditions = [condition for condition in listed(selector.get("matchExpressions")) if isinstance(condition, dict)]
    return pairs if isinstance(pairs, dict) else {}, conditions


def _is_written(key: object) -> bool:
    """Whether only the author of a pod template writes a label."""
    name = str(key)
    return name not in _BY_CONTROLLERS and name.rpartition("/")[0] not in _BY_CONTROLLERS


def _selects(
    required_labels: Mapping[str, str], conditions: Iterable[dict[str, Any]], carried: Mapping[str, Any]
) -> bool:
    of_labels = all(carried.get(key) == value for key, value in required_labels.items())
    return of_labels and all(fulfils(condition, dict(carried)) for condition in conditions)


def _nothing(
    locate: Finder,
    selection: Selection,
    required_labels: Mapping[str, str],
    carriers: Mapping[str, Mapping[str, object]],
) -> Diagnostic:
    """Returns a finding at the first label that no pod of the namespace has, else at the selector."""
    path = selection.path
    hint = f"Select labels that pod templates in namespace {selection.space[1]} have."
    is_key = False
    lacking = "its labels"
    for key, value in required_labels.items():
        values = carriers.get(key, {})
        if value not in values:
            path, is_key = (*_labels(selection), key), not values
            suggestion = did_you_mean(key, sorted(carriers)) if is_key else did_you_mean(value, sorted(values))
            lacking, hint = f'the label {key}: "{value}"', suggestion or hint
            break
    message = f"this {selection.by} selects no pods: none in namespace {selection.space[1]} has {lacking}"
    return Diagnostic(SELECTS_TOO_FEW, message, locate(path, key=is_key), hint=hint)


def _targets(locate: Finder, selection: Selection, selected: Sequence[LabelledPods]) -> Iterator[Diagnostic]:
    """Finds a Service none of whose ports leads to a port that its pods name, if one is a slip of such a port.
    Containers need not name their ports, and a port of metrics says nothing about others.
    """
    listening = sorted({number for pods in selected for number in pods.numbers})
    targets = {target for *_, target in selection.numbers}
    if selection.by == "Service" and targets and listening and not selection.ports and targets.isdisjoint(listening):
        path, port, target = selection.numbers[0]
        meant = closest(str(target), map(str, listening), most=1)
        if meant is None:
            return
        path = path if port == target else (*path[:-1], "targetPort")
        message = f"this Service leads to port {target}; its pods have {', '.join(map(str, listening))}"
        hint = f"Write targetPort: {meant}, or add {target} to the ports of the container."
        yield Diagnostic(WITHOUT_EFFECT, message, locate(path), hint=hint)


def _ports(locate: Finder, selection: Selection, selected: Sequence[LabelledPods]) -> Iterator[Diagnostic]:
    """Reports names of ports that none of the selected pods has."""
    port_names, refused = spellings.usable_ports(sorted({port for pods in selected for port in pods.ports}))
    is_known = any(selection.selector.values()) and all(_has_known_ports(pods.kind) for pods in selected)
    for path, port in selection.ports:
        hint = did_you_mean(port, port_names)
        if port not in port_names and port not in refused and (hint or is_known):
            message = f'{path[-1]} "{port}" is no port of the pods that this {selection.by} selects'
            hint = hint or (f"Their ports are {', '.join(port_names)}." if port_names else "")
            hint = hint or "Write its number, or give a port of a container this name."
            yield Diagnostic(REFERENCE_UNKNOWN, message, locate(path), hint=hint)


def _is_moved(pods: LabelledPods) -> bool:
    """Whether each pod is made again elsewhere by itself. A budget may keep all pods of a gang on purpose."""
    page = page_of(pods.kind)
    return page is not None and page.growth.scaled_alone


def _has_known_ports(kind: str) -> bool:
    page = page_of(kind)
    return page is not None and page.pod_rules.ports_known


def _is_own(selector: Mapping[str, Any]) -> bool:
    """Whether a selector requires a label that distinguishes pods, so not the one that all pods of kubectl-tas have."""
    pairs, conditions = _demands(selector)
    keys = [*pairs, *(condition.get("key") for condition in conditions if condition.get("operator") not in _WITHOUT)]
    return any(key != labels.MANAGED_BY for key in keys)
