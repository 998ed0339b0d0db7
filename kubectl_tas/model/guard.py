"""Kubernetes' ValidatingAdmissionPolicy and its binding, as far as the guard uses them."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from kubectl_tas.model.base import AnyText, LabelKey, LabelValue, Many, Model, Text
from kubectl_tas.model.manifest import Metadata, ObjectName


class ResourceRule(Model):
    """Requests that a policy looks at."""

    apiGroups: Many[AnyText]
    """Groups; the core group is ""."""
    apiVersions: Many[Text]
    """Versions."""
    operations: Many[Literal["CREATE", "UPDATE"]]
    """What is done."""
    resources: Many[Text]
    """Resources, in the plural."""


class MatchConstraints(Model):
    """Which requests reach a policy."""

    resourceRules: Annotated[Many[ResourceRule], Field(min_length=1)]
    """The requests."""


class Expression(Model):
    """A named CEL expression."""

    name: Text
    """What other expressions call it."""
    expression: Text
    """CEL."""


class Validation(Model):
    """A condition that must hold."""

    expression: Text
    """CEL that gives a boolean."""
    messageExpression: Text
    """CEL that gives the message of a refusal."""
    reason: Literal["Forbidden", "Invalid"]
    """Class of the refusal."""


class PolicySpec(Model):
    """What is refused."""

    failurePolicy: Literal["Fail"] = "Fail"
    """A request whose conditions cannot be evaluated is refused."""
    matchConstraints: MatchConstraints
    """Which requests are looked at."""
    matchConditions: Many[Expression] = ()
    """Conditions for a request to be looked at."""
    variables: Many[Expression]
    """Values that conditions use."""
    validations: Annotated[Many[Validation], Field(min_length=1)]
    """What must hold."""


class ValidatingAdmissionPolicy(Model):
    """Kubernetes' ValidatingAdmissionPolicy: cluster-scoped, from 1.30."""

    apiVersion: Literal["admissionregistration.k8s.io/v1"] = "admissionregistration.k8s.io/v1"
    """admissionregistration.k8s.io/v1"""
    kind: Literal["ValidatingAdmissionPolicy"] = "ValidatingAdmissionPolicy"
    """ValidatingAdmissionPolicy"""
    metadata: Metadata
    """Its name."""
    spec: PolicySpec
    """What is refused."""


class LabelSelector(Model):
    """Labels that an object must have."""

    matchLabels: dict[LabelKey, LabelValue]
    """The labels."""


class MatchResources(Model):
    """Where a policy holds."""

    namespaceSelector: LabelSelector
    """Namespaces."""


class BindingSpec(Model):
    """Where a policy holds, and what follows."""

    policyName: ObjectName
    """The policy."""
    validationActions: Many[Literal["Deny"]] = ("Deny",)
    """What happens to a request that breaks it."""
    matchResources: MatchResources
    """Where it holds."""


class ValidatingAdmissionPolicyBinding(Model):
    """Kubernetes' ValidatingAdmissionPolicyBinding: cluster-scoped."""

    apiVersion: Literal["admissionregistration.k8s.io/v1"] = "admissionregistration.k8s.io/v1"
    """admissionregistration.k8s.io/v1"""
    kind: Literal["ValidatingAdmissionPolicyBinding"] = "ValidatingAdmissionPolicyBinding"
    """ValidatingAdmissionPolicyBinding"""
    metadata: Metadata
    """Its name."""
    spec: BindingSpec
    """Where the policy holds."""
