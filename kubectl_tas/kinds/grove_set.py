"""Describes Grove's PodCliqueSet. Grove makes its gangs: resolve/podcliqueset.py and gangs/written_gangs.py have them.
Sources: Grove 0.1.0-alpha.11, operator/api/core/v1alpha1 and operator/api/common/namegen.go.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from kubectl_tas.base.words import did_you_mean
from kubectl_tas.facts import times
from kubectl_tas.kinds import SET, page
from kubectl_tas.kinds.grouping import Grouping, every_pod
from kubectl_tas.kinds.naming import SERVED, Alphabet, Names, Naming, last_index
from kubectl_tas.kinds.section import Document, Refused, Section, listed, value_at

_CLIQUES = "spec.template.cliques[]"
_REPLICAS = ("spec", "replicas")
_ON_DELETE = page.becomes("OnDelete", "spec.updateStrategy.type")
_PODS = page.paths(
    *("priorityClassName", "cliques.*.spec.podSpec", "cliques.*.labels", "cliques.*.annotations"), below="spec.template"
)
"""Fields from which Grove computes the hash of its pods' templates."""


_MINIMUM = "minAvailable"
_SCOPES = ("AllReplicas", "PerReplica")


def _webhook(template: Section) -> Iterator[Refused]:
    """Checks a template as Grove's webhook does (validatePodCliqueSetTemplateSpec of validation/podcliqueset.go, after
    defaulting/podcliqueset.go, 0.1.0-alpha.1 to alpha.12). Names and minimums: check/cliques.py.
    """
    groups = list(template.each("podCliqueScalingGroups"))
    scaled = {name: group.get("name") for group in groups for name in listed(group.get("cliqueNames"))}
    cliques = {clique.get("name"): clique.below("spec") for clique in template.each("cliques")}
    for name, spec in cliques.items():
        if spec.get("autoScalingConfig") is not None and name in scaled:
            message = f"the clique {name} cannot scale by itself: it belongs to the scaling group {scaled[name]}"
            hint = f"Remove it, or write scaleConfig in the group {scaled[name]}."
            yield replace(spec.refused(message, hint, "autoScalingConfig"), is_key=True)
        else:
            yield from _span(spec, "autoScalingConfig")
        if spec.below("podSpec").get("topologySpreadConstraints") is not None:
            message = f"Grove takes no topologySpreadConstraints, as in the clique {name}"
            hint = "Remove it. Write topologyConstraint to place the pods in a domain."
            yield replace(spec.refused(message, hint, "podSpec", "topologySpreadConstraints"), is_key=True)
    for group in groups:
        yield from _span(group, "scaleConfig")
    delay = template.get("terminationDelay")
    span = times.nanoseconds(delay) if isinstance(delay, str) else None
    if span is not None and span <= 0:
        hint = "Write a duration above 0, such as 4h, or remove it: the default is 4h."
        yield template.refused(f"Grove takes no terminationDelay of {delay}", hint, "terminationDelay")
    if template.get("cliqueStartupType") == "CliqueStartupTypeExplicit":
        # Checks an explicit order: each clique once, and no circle (validateCliqueDependencies).
        after = {name: listed(spec.get("startsAfter")) for name, spec in cliques.items()}
        for name, spec in cliques.items():
            for index, earlier_clique in enumerate(after[name]):
                if earlier_clique in after[name][:index]:
                    message = f'the clique "{name}" starts after "{earlier_clique}" twice'
                    yield spec.refused(message, "Remove one of the two.", "startsAfter", index)
        reached = {name: _reached(name, after) for name in cliques}
        for name, spec in cliques.items():
            circle = [c for c in cliques if c in reached[name] and name in reached[c]]
            if len(circle) > 1 and name == circle[0]:
                message = f"cliques start after each other in a circle: {', '.join(circle)}"
                hint = "Take one name out, so that one of them starts first."
                yield replace(spec.refused(message, hint, "startsAfter"), is_key=True)
    yield from _packs(template, groups)
    yield from _claims(template, list(cliques), [group.get("name") for group in groups])


def _span(spec: Section, field: str) -> Iterator[Refused]:
    """Checks the numbers of an autoscaler (validateScaleConfig). Of a group, the webhook checks the least number alone,
    and the API server refuses the HorizontalPodAutoscaler that Grove makes.
    """
    limits, replicas = spec.below(field), spec.count("replicas", 1)
    is_clique = field == "autoScalingConfig"
    minimum = spec.count(_MINIMUM, replicas if is_clique else 1)
    least, most = limits.count("minReplicas", replicas), limits.get("maxReplicas")
    if spec.get(field) is None:
        return
    if least < minimum:
        message = f"{limits.at('minReplicas')} is {least}, less than {_MINIMUM}, {minimum}"
        yield limits.refused(message, f"Write {minimum} or more, or lower {_MINIMUM}.", "minReplicas")
    floor = max(least, minimum, replicas if is_clique else 0)
    if type(most) is int and most < floor:
        message = f"{limits.at('maxReplicas')} is {most}, and the autoscaler needs at least {floor}"
        yield limits.refused(message, f"Write {floor} or more, or lower minReplicas and replicas.", "maxReplicas")


def _reached(name: Any, after: dict[Any, list[Any]]) -> set[Any]:
    """Returns the cliques that a clique starts after, directly or by way of others."""
    reached: set[Any] = set()
    unvisited = list(after[name])
    while unvisited:
        clique = unvisited.pop()
        if clique in after and clique not in reached:
            reached.add(clique)
            unvisited += after[clique]
    return reached


def _packs(template: Section, groups: list[Section]) -> Iterator[Refused]:
    """Checks groups of cliques in one network (validateNetworkPackGroupConfigs, 0.1.0-alpha.1 to alpha.3)."""
    seen: list[Any] = []
    for pack in template.below("schedulingPolicyConfig").each("networkPackGroupConfigs"):
        names = listed(pack.get("cliqueNames"))
        for index, name in enumerate(names):
            if name in seen:
                message = f'the clique "{name}" belongs to two of networkPackGroupConfigs'
                yield pack.refused(message, "Keep one of the two.", "cliqueNames", index)
            seen.append(name)
            whole = next(
                (listed(group.get("cliqueNames")) for group in groups if name in listed(group.get("cliqueNames"))), []
            )
            if missing := [clique_name for clique_name in whole if clique_name not in names]:
                message = f"{pack.at('cliqueNames')} has {name}, and not the rest of its scaling group"
                yield pack.refused(message, f"Add {', '.join(missing)}, or take {name} out.", "cliqueNames", index)


def _claims(template: Section, cliques: list[Any], groups: list[Any]) -> Iterator[Refused]:
    """Checks claims that pods share (validateResourceClaimTemplates, validateResourceSharingSpecs and the two functions
    for filters; alpha.8 and later).
    """
    templates = list(template.each("resourceClaimTemplates"))
    yield from _require_distinct_names(templates)
    for each in templates:
        if not listed(each.below("templateSpec", "spec", "devices").get("requests")):
            message = f"{each.at('templateSpec', 'spec', 'devices')} requests no device"
            yield Refused(each.path, message, "Add requests, each with a name and a deviceClassName.", is_key=True)
    template_names = [each.get("name") for each in templates]
    yield from _sharing(template, template_names, {"childCliqueNames": cliques, "childScalingGroupNames": groups})
    for group in template.each("podCliqueScalingGroups"):
        yield from _sharing(group, template_names, {"childCliqueNames": listed(group.get("cliqueNames"))})
    for clique in template.each("cliques"):
        yield from _sharing(clique, template_names, {})


def _sharing(section: Section, template_names: list[Any], children: Mapping[str, list[Any]]) -> Iterator[Refused]:
    """Checks the shared claims of a set, a group or a clique. A filter names ``children``, by its fields."""
    shared = list(section.each("resourceSharing"))
    yield from _require_distinct_names(shared)
    for each in shared:
        if each.get("namespace") and each.get("name") in template_names:
            message = f'{each.at("namespace")} is set, but "{each.get("name")}" is a template of this set'
            yield replace(each.refused(message, "Remove it.", "namespace"), is_key=True)
        scope = each.get("scope")
        if scope not in _SCOPES:
            message, hint = f"must be one of {', '.join(_SCOPES)}", did_you_mean(str(scope), _SCOPES, folds=True)
            yield Refused((*each.path, "scope"), message, hint, rule="invalid-value")
        names = each.below("filter")
        if each.get("filter") is not None and children and not any(names.get(field) for field in children):
            message = f"{names.at()} names nothing"
            yield replace(each.refused(message, f"Add {' or '.join(children)}, or remove it.", "filter"), is_key=True)
        for field, child_names in children.items():
            for index, name in enumerate(listed(names.get(field))):
                if name not in child_names:
                    message = f'{names.at(field)} names "{name}", which is not there'
                    yield names.refused(message, did_you_mean(str(name), child_names, "Remove it."), field, index)


def _require_distinct_names(sections: list[Section]) -> Iterator[Refused]:
    """Checks that each part has a name, and that no two have the same."""
    names = [section.get("name") for section in sections]
    for index, section in enumerate(sections):
        if not names[index]:
            yield Refused((*section.path, "name"), "", "", rule="missing-field")
        elif names[index] in names[:index]:
            yield section.refused(f'the name "{names[index]}" appears twice', "Keep one of the two.", "name")


def _last_replica(document: Document) -> str:
    return f"-{last_index(value_at(document, 'spec', 'replicas'))}"


PAGE = page.WorkloadKind(
    recognition=page.Recognition(SET.kind, SET.versions, "grove"),
    fields=(),  # model/grovekinds.py
    pods=(page.Pods(f"{_CLIQUES}.spec.podSpec", f"{_CLIQUES}.spec.replicas", factor="spec.replicas"),),
    pod_rules=page.PodRules(restart=(), ports_known=True),
    gang=Grouping(every_pod, not_owned="Grove makes its gangs"),
    # startsAfter holds back containers, not pods (initcontainer.go). checkAndRemovePodSchedulingGates of syncflow.go
    # (operator/internal/controller/podclique/components/pod) holds back scaled gangs.
    start=page.Start(holds_back="Grove removes the scheduling gates of its pods only then"),
    filled_in=page.FilledIn(),
    stop=page.Stop(switch=_REPLICAS),
    changes=(  # constraints: compare/grove_changes.py. Pods: ComputePCLQPodTemplateHash, Grove 0.1.0-alpha.11
        page.Fixed(page.Effect.RESTARTED, _PODS, "Grove", only=page.unless(_ON_DELETE)),
        page.Fixed(page.Effect.KEPT, _PODS, "the update strategy OnDelete", only=_ON_DELETE),
    ),
    ends=page.SERVICE,
    growth=page.Growth(),  # autoScalingConfig of cliques and scaling groups: check/growth.py
    makes=page.Makes(
        (page.Made("PodCliqueScalingGroup", "grove.io"), page.Made("PodClique", "grove.io", _REPLICAS)),
        services=("{}-#",),
        is_set=True,
    ),
    marks=page.Marks(),
    names=Names((Naming(Alphabet.SERVICE, SERVED, added=_last_replica),)),
    refusals=page.Refusals((("spec.template", _webhook),)),  # what depends on the release: check/grove_api.py
)
