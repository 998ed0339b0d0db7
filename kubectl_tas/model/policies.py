"""Defines the Kubernetes admission policies, Roles and bindings that `render` writes, with the fields that it uses."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from kubectl_tas.model.base import AnyText, LabelKey, LabelValue, Many, Model, Text
from kubectl_tas.model.manifest import Metadata, ObjectName
from kubectl_tas.model.pool_kinds import Group


class ResourceRule(Model):
    """Requests that a policy checks."""

    apiGroups: Many[AnyText]
    """API groups; the core group is ""."""
    apiVersions: Many[Text]
    """API versions."""
    operations: Many[Literal["CREATE", "UPDATE", "DELETE"]]
    """Operations of the requests."""
    resources: Many[Text]
    """Resources, in the plural."""
    scope: Literal["*", "Namespaced"] = "*"
    """Whether the rule covers all objects or only namespaced ones. The API server sets this field if it is absent, and
    kubectl would then find a change in every apply of the list.
    """


class LabelRequirement(Model):
    """A label, and the values that satisfy the requirement."""

    key: LabelKey
    """Key of the label."""
    operator: Literal["In", "Exists"] = "In"
    """In: the label has one of the values. Exists: the label has any value."""
    values: Many[LabelValue] = ()
    """The allowed values; none with Exists."""


class LabelSelector(Model):
    """Labels that an object must have. Without any, every object matches."""

    matchExpressions: Many[LabelRequirement] = ()
    """The required labels."""


class ParamKind(Model):
    """The kind of the objects with which a policy compares requests."""

    apiVersion: Text
    """API group and version."""
    kind: Text
    """Name of the kind."""


class MatchConstraints(Model):
    """The requests that a policy checks."""

    namespaceSelector: LabelSelector | None = None
    """Namespaces; None: all. The selector is not in a binding: if the cluster lacks the kind in ``paramKind``, the
    policy refuses all requests that reach it, whatever its bindings say.
    """
    objectSelector: LabelSelector | None = None
    """Labels that the object has now or had before the change; None: all objects."""
    resourceRules: Annotated[Many[ResourceRule], Field(min_length=1)]
    """The resources and operations."""


class Expression(Model):
    """A named CEL expression."""

    name: Text
    """Name for use in other expressions."""
    expression: Text
    """CEL expression."""


class Validation(Model):
    """A condition that a request must satisfy."""

    expression: Text
    """CEL expression that returns a boolean."""
    messageExpression: Text
    """CEL expression that returns the message of a refusal."""
    reason: Literal["Forbidden", "Invalid"]
    """Reason code of the refusal."""


class PolicySpec(Model):
    """Conditions of a policy."""

    failurePolicy: Literal["Fail", "Ignore"]
    """Whether the API server refuses (Fail) or admits (Ignore) a request if it cannot evaluate the conditions."""
    paramKind: ParamKind | None = None
    """The kind of the objects that CEL expressions use as ``params``; None: the policy uses no objects."""
    matchConstraints: MatchConstraints
    """The requests that the policy checks."""
    matchConditions: Many[Expression] = ()
    """Conditions under which the policy checks a request."""
    variables: Many[Expression] = ()
    """Values that the conditions use."""
    validations: Annotated[Many[Validation], Field(min_length=1)]
    """The conditions that a request must satisfy."""


class ValidatingAdmissionPolicy(Model):
    """Kubernetes' ValidatingAdmissionPolicy: cluster-scoped, from 1.30."""

    apiVersion: Literal["admissionregistration.k8s.io/v1"] = "admissionregistration.k8s.io/v1"
    kind: Literal["ValidatingAdmissionPolicy"] = "ValidatingAdmissionPolicy"
    metadata: Metadata
    """Name of the policy."""
    spec: PolicySpec
    """Conditions of the policy."""


class ParamRef(Model):
    """The objects with which the policy compares each request, one after another, in the namespace of the request."""

    selector: LabelSelector = LabelSelector.model_construct()
    """Labels of these objects."""
    parameterNotFoundAction: Literal["Allow"] = "Allow"
    """Effect on the request if no such object exists."""


Action = Literal["Deny", "Warn", "Audit"]
"""The API server's response to a request that breaks a policy: refuse, warn the client, or write to the audit log."""


class BindingSpec(Model):
    """The objects that a policy uses, and its effect."""

    policyName: ObjectName
    """Name of the policy."""
    paramRef: ParamRef | None = None
    """The objects for a policy with ``paramKind``."""
    validationActions: Annotated[Many[Action], Field(min_length=1)]
    """The API server's responses to a request that breaks the policy."""


class ValidatingAdmissionPolicyBinding(Model):
    """Kubernetes' ValidatingAdmissionPolicyBinding: cluster-scoped."""

    apiVersion: Literal["admissionregistration.k8s.io/v1"] = "admissionregistration.k8s.io/v1"
    kind: Literal["ValidatingAdmissionPolicyBinding"] = "ValidatingAdmissionPolicyBinding"
    metadata: Metadata
    """Name of the binding."""
    spec: BindingSpec
    """The policy and its effect."""


Verb = Literal["create", "delete", "get", "list", "patch", "update", "watch"]


class PolicyRule(Model):
    """Verbs that a Role allows for some resources."""

    apiGroups: Annotated[Many[AnyText], Field(min_length=1)]
    """API groups; the core group is ""."""
    resources: Annotated[Many[Text], Field(min_length=1)]
    """Resources, in the plural."""
    verbs: Annotated[Many[Verb], Field(min_length=1)]
    """Allowed verbs."""


class Role(Model):
    """Kubernetes' Role: rights in its namespace."""

    apiVersion: Literal["rbac.authorization.k8s.io/v1"] = "rbac.authorization.k8s.io/v1"
    kind: Literal["Role"] = "Role"
    metadata: Metadata
    """Name and namespace of the Role."""
    rules: Annotated[Many[PolicyRule], Field(min_length=1)]
    """The rights."""


class ClusterRole(Role):
    """Kubernetes' ClusterRole: rights to cluster-scoped resources."""

    kind: Literal["ClusterRole"] = "ClusterRole"  # type: ignore[assignment]
    metadata: Metadata
    """Name of the ClusterRole."""


class RoleRef(Model):
    """The Role or ClusterRole that a binding grants. Kubernetes does not allow changes to this reference."""

    apiGroup: Literal["rbac.authorization.k8s.io"] = "rbac.authorization.k8s.io"
    kind: Literal["Role", "ClusterRole"] = "Role"
    """Role or ClusterRole."""
    name: ObjectName
    """Name of the Role or ClusterRole."""


class Subject(Model):
    """A group that receives a Role."""

    apiGroup: Literal["rbac.authorization.k8s.io"] = "rbac.authorization.k8s.io"
    kind: Literal["Group"] = "Group"
    name: Group
    """Name of the group."""


class RoleBinding(Model):
    """Kubernetes' RoleBinding: grants a Role of its namespace to groups."""

    apiVersion: Literal["rbac.authorization.k8s.io/v1"] = "rbac.authorization.k8s.io/v1"
    kind: Literal["RoleBinding"] = "RoleBinding"
    metadata: Metadata
    """Name and namespace of the binding."""
    roleRef: RoleRef
    """The Role that the binding grants."""
    subjects: Annotated[Many[Subject], Field(min_length=1)]
    """The groups that receive the Role."""


class ClusterRoleBinding(RoleBinding):
    """Kubernetes' ClusterRoleBinding: grants a ClusterRole to groups."""

    kind: Literal["ClusterRoleBinding"] = "ClusterRoleBinding"  # type: ignore[assignment]
    metadata: Metadata
    """Name of the binding."""
