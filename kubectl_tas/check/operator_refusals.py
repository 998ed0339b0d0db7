"""Reports what the API server or an operator refuses of a kind, by the page of the kind."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from kubectl_tas.base.diagnostics import Diagnostic, Rule, Waiving
from kubectl_tas.check.conflicts import FIELDS_CONFLICT
from kubectl_tas.kinds import kubernetes
from kubectl_tas.kinds.crd_rules import BrokenRule, broken_rules
from kubectl_tas.kinds.section import Refused, Section, key_path, mappings, path_steps, value_at, values_at, written
from kubectl_tas.load.document import parse
from kubectl_tas.load.schema import INVALID_VALUE, MISSING_FIELD, invalid_value, missing_field
from kubectl_tas.load.syntax import YAML_SYNTAX
from kubectl_tas.model.repository import Declared, Origin

if TYPE_CHECKING:
    from kubectl_tas.kinds.page import Refusals
    from kubectl_tas.model.workloads import Workload

OPERATOR_REFUSES = Rule.error(
    "operator-refuses",
    "An operator refuses a workload, or never makes its pods.",
    "The object exists and nothing runs, or the operator's webhook or CRD refuses it. Examples: more minReplicas than "
    "maxReplicas; a Kubeflow job with two masters, or without a container of the name that its operator expects; a "
    "job of Ray without an entrypoint; a suspended or retried one with clusterSelector; a set of jobs without jobs; "
    "cliques that start after each other in a circle. If "
    "another release of the operator accepts it, waive the rule.",
    protects=Waiving.ANYBODY,
)


def refused(origin: Origin, refusals: Refusals) -> Iterator[Diagnostic]:
    """Yields what the page of a kind finds wrong in a document."""
    document = origin.data
    for at, check in refusals.operator:
        for path, value in values_at(document, path_steps(at)):
            if isinstance(value, dict):
                yield from (_finding(origin, refusal) for refusal in check(Section(document, path)))
    for text in refusals.yaml:
        yield from _as_yaml(origin, text)


def refused_by_crd(declared: Declared[Workload], releases: Mapping[str, str]) -> Iterator[Diagnostic]:
    """Yields what the CRD of a workload's kind, in one of the operators' ``releases``, finds wrong."""
    document = declared.origin.data
    operator = kubernetes.operator_of(declared.spec.apiVersion, str(document["kind"]))
    for broken in broken_rules(operator, releases.get(operator), document) if operator else ():
        yield _of_crd(declared.origin, broken)


def _of_crd(origin: Origin, broken: BrokenRule) -> Diagnostic:
    """Returns the finding about a value that breaks a rule of the CRD. A CEL rule has words of its own."""
    path, message = broken.path, broken.message
    if not broken.rule.is_cel:
        return invalid_value(origin, path, message, broken.value)
    text = f"the CRD refuses {written(path)}: {message}"
    return Diagnostic(OPERATOR_REFUSES, text, origin.locate(path, key=isinstance(broken.value, dict)))


def _finding(origin: Origin, refusal: Refused) -> Diagnostic:
    if refusal.rule == MISSING_FIELD.code:
        return missing_field(origin, refusal.path[:-1], str(refusal.path[-1]), {})
    if refusal.rule == INVALID_VALUE.code:
        return invalid_value(origin, refusal.path, refusal.message, origin.value(refusal.path), refusal.hint)
    rule = FIELDS_CONFLICT if refusal.rule == FIELDS_CONFLICT.code else OPERATOR_REFUSES
    return Diagnostic(rule, refusal.message, origin.locate(refusal.path, key=refusal.is_key), hint=refusal.hint)


def _as_yaml(origin: Origin, field: str) -> Iterator[Diagnostic]:
    """Checks a text that must be a YAML mapping; else KubeRay refuses the object or never submits it (1.7:
    ``UnmarshalRuntimeEnvYAML`` of dashboardclient, and rayservice_controller.go).
    """
    path = key_path(field)
    text = value_at(origin.data, *path)
    if not isinstance(text, str):
        return
    documents, findings = parse(origin.path, text)
    if findings and findings[0].rule is YAML_SYNTAX:
        location, reason = findings[0].location, findings[0].message.partition("\n")[0]
        line = (
            f", line {location.line} of the text" if location and location.line else ""
        )  # none of a character unknown to YAML
        message = f"{written(path)} is no YAML, so KubeRay refuses it{line}: {reason}"
        hint = findings[0].hint if line else "Remove it."
        yield Diagnostic(OPERATOR_REFUSES, message, origin.locate(path), hint=hint)
    elif documents and not isinstance(documents[0].data, dict):
        message = f"{written(path)} must be a mapping in YAML"
        yield Diagnostic(OPERATOR_REFUSES, message, origin.locate(path), hint="Write it as 'key: value' lines.")
    elif documents and path[-1] == "serveConfigV2":
        for application in mappings(value_at(documents[0].data, "applications")):
            for name, problem, hint in _of_serve(application):
                message = f"Ray Serve refuses {name} {application[name]} of {written(path)}: it {problem}"
                yield Diagnostic(OPERATOR_REFUSES, message, origin.locate(path), hint=hint)


def _of_serve(application: Mapping[str, Any]) -> Iterator[tuple[str, str, str]]:
    """Yields the fields of an application that Ray Serve refuses, each with the reason and a hint
    (``route_prefix_format`` and ``import_path_format_valid`` of python/ray/serve/schema.py). With ``app.py`` it looks
    for the object ``py`` of the module ``app``.
    """
    route, place = application.get("route_prefix"), application.get("import_path")
    if isinstance(route, str) and (not route.startswith("/") or route[1:].endswith("/")):
        yield "route_prefix", "must begin with /, and not end with it", f"Write /{route.strip('/')}."
    if isinstance(place, str) and ":" not in place and ("." not in place or place.endswith(".py")):
        module = place.removesuffix(".py").replace("/", ".")
        yield (
            "import_path",
            "must name a module and an object in it",
            f"Write {module}:NAME, with the bound application.",
        )
