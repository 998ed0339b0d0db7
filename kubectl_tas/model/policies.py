"""Kubernetes' admission policies, Roles and their bindings, as far as they are emitted."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from kubectl_tas.model.base import AnyText, LabelKey, LabelValue, Many, Model, Text
from kubectl_tas.model.manifest import Metadata, ObjectName
from kubectl_tas.model.pool_kinds import Group


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
    scope: Literal["*", "Namespaced"] = "*"
    """Objects with a namespace and without, or with one alone. An API server fills it in, and with it kubectl would
    find a change in every apply of a list that lacks it.
    """


class LabelRequirement(Model):
    """A label, and the values of which it must have one."""

    key: LabelKey
    """The label."""
    operator: Literal["In", "Exists"] = "In"
    """In: one of the values. Exists: any value."""
    values: Many[LabelValue] = ()
    """The values; none with Exists."""


class LabelSelector(Model):
    """Labels that an object must have; without any, every object will do."""

    matchExpressions: Many[LabelRequirement] = ()
    """The labels."""


class ParamKind(Model):
    """The kind of the objects that a policy compares requests with."""

    apiVersion: Text
    """Group and version."""
    kind: Text
    """Kind."""


class MatchConstraints(Model):
    """Which requests reach a policy."""

    namespaceSelector: LabelSelector | None = None
    """Namespaces; None: all. It stands here and not in a binding, since a policy whose ``paramKind`` a cluster does not
    have refuses all that reaches it, whatever its bindings say.
    """
    objectSelector: LabelSelector | None = None
    """Objects that have these labels, or had them before the change; None: all."""
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

    failurePolicy: Literal["Fail", "Ignore"]
    """Whether a request is refused whose conditions cannot be evaluated."""
    paramKind: ParamKind | None = None
    """What requests are compared with, as ``params`` in CEL; None: with nothing."""
    matchConstraints: MatchConstraints
    """Which requests are looked at."""
    matchConditions: Many[Expression] = ()
    """Conditions for a request to be looked at."""
    variables: Many[Expression] = ()
    """Values that conditions use."""
    validations: Annotated[Many[Validation], Field(min_length=1)]
    """What must hold."""


class ValidatingAdmissionPolicy(Model):
    """Kubernetes' ValidatingAdmissionPolicy: cluster-scoped, from 1.30."""

    apiVersion: Literal["admissionregistration.k8s.io/v1"] = "admissionregistration.k8s.io/v1"
    kind: Literal["ValidatingAdmissionPolicy"] = "ValidatingAdmissionPolicy"
    metadata: Metadata
    """Its name."""
    spec: PolicySpec
    """What is refused."""


class ParamRef(Model):
    """The objects that each request is compared with, one after the other: those of its own namespace."""

    selector: LabelSelector = LabelSelector.model_construct()
    """Which of them."""
    parameterNotFoundAction: Literal["Allow"] = "Allow"
    """What follows where there is none."""


Action = Literal["Deny", "Warn", "Audit"]
"""What happens to a request that breaks a policy: refused, told to whoever asks, written to the audit log."""


class BindingSpec(Model):
    """What a policy compares with, and what follows."""

    policyName: ObjectName
    """The policy."""
    paramRef: ParamRef | None = None
    """For a policy with ``paramKind``."""
    validationActions: Annotated[Many[Action], Field(min_length=1)]
    """What happens to a request that breaks it."""


class ValidatingAdmissionPolicyBinding(Model):
    """Kubernetes' ValidatingAdmissionPolicyBinding: cluster-scoped."""

    apiVersion: Literal["admissionregistration.k8s.io/v1"] = "admissionregistration.k8s.io/v1"
    kind: Literal["ValidatingAdmissionPolicyBinding"] = "ValidatingAdmissionPolicyBinding"
    metadata: Metadata
    """Its name."""
    spec: BindingSpec
    """What follows from the policy."""


Verb = Literal["create", "delete", "get", "list", "patch", "update", "watch"]


class PolicyRule(Model):
    """What may be done with some resources."""

    apiGroups: Annotated[Many[AnyText], Field(min_length=1)]
    """Groups; the core group is ""."""
    resources: Annotated[Many[Text], Field(min_length=1)]
    """Resources, in the plural."""
    verbs: Annotated[Many[Verb], Field(min_length=1)]
    """What may be done."""


class Role(Model):
    """Kubernetes' Role: rights in its namespace."""

    apiVersion: Literal["rbac.authorization.k8s.io/v1"] = "rbac.authorization.k8s.io/v1"
    kind: Literal["Role"] = "Role"
    metadata: Metadata
    """Its name and namespace."""
    rules: Annotated[Many[PolicyRule], Field(min_length=1)]
    """The rights."""


class ClusterRole(Role):
    """Kubernetes' ClusterRole: rights to what is in no namespace."""

    kind: Literal["ClusterRole"] = "ClusterRole"  # type: ignore[assignment]
    metadata: Metadata
    """Its name."""


class RoleRef(Model):
    """The Role, or ClusterRole, that a binding gives; it cannot change."""

    apiGroup: Literal["rbac.authorization.k8s.io"] = "rbac.authorization.k8s.io"
    kind: Literal["Role", "ClusterRole"] = "Role"
    """Role or ClusterRole"""
    name: ObjectName
    """Its name."""


class Subject(Model):
    """Who gets a Role."""

    apiGroup: Literal["rbac.authorization.k8s.io"] = "rbac.authorization.k8s.io"
    kind: Literal["Group"] = "Group"
    name: Group
    """The group."""


class RoleBinding(Model):
    """Kubernetes' RoleBinding: gives a Role of its namespace to groups."""

    apiVersion: Literal["rbac.authorization.k8s.io/v1"] = "rbac.authorization.k8s.io/v1"
    kind: Literal["RoleBinding"] = "RoleBinding"
    metadata: Metadata
    """Its name and namespace."""
    roleRef: RoleRef
    """What is given."""
    subjects: Annotated[Many[Subject], Field(min_length=1)]
    """Who gets it."""


class ClusterRoleBinding(RoleBinding):
    """Kubernetes' ClusterRoleBinding: gives a ClusterRole to groups."""

    kind: Literal["ClusterRoleBinding"] = "ClusterRoleBinding"  # type: ignore[assignment]
    metadata: Metadata
    """Its name."""
