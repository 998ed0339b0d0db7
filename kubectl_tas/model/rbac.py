"""Kubernetes' Role and RoleBinding, as far as the access of pools uses them."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from kubectl_tas.model.access import Group
from kubectl_tas.model.base import AnyText, Many, Model, Text
from kubectl_tas.model.manifest import Metadata, ObjectName

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
    """rbac.authorization.k8s.io/v1"""
    kind: Literal["Role"] = "Role"
    """Role"""
    metadata: Metadata
    """Its name and namespace."""
    rules: Annotated[Many[PolicyRule], Field(min_length=1)]
    """The rights."""


class ClusterRole(Role):
    """Kubernetes' ClusterRole: rights to what is in no namespace."""

    kind: Literal["ClusterRole"] = "ClusterRole"  # type: ignore[assignment]
    """ClusterRole"""
    metadata: Metadata
    """Its name."""


class RoleRef(Model):
    """The Role, or ClusterRole, that a binding gives; it cannot change."""

    apiGroup: Literal["rbac.authorization.k8s.io"] = "rbac.authorization.k8s.io"
    """rbac.authorization.k8s.io"""
    kind: Literal["Role", "ClusterRole"] = "Role"
    """Role or ClusterRole"""
    name: ObjectName
    """Its name."""


class Subject(Model):
    """Who gets a Role."""

    apiGroup: Literal["rbac.authorization.k8s.io"] = "rbac.authorization.k8s.io"
    """rbac.authorization.k8s.io"""
    kind: Literal["Group"] = "Group"
    """Group"""
    name: Group
    """The group."""


class RoleBinding(Model):
    """Kubernetes' RoleBinding: gives a Role of its namespace to groups."""

    apiVersion: Literal["rbac.authorization.k8s.io/v1"] = "rbac.authorization.k8s.io/v1"
    """rbac.authorization.k8s.io/v1"""
    kind: Literal["RoleBinding"] = "RoleBinding"
    """RoleBinding"""
    metadata: Metadata
    """Its name and namespace."""
    roleRef: RoleRef
    """What is given."""
    subjects: Annotated[Many[Subject], Field(min_length=1)]
    """Who gets it."""


class ClusterRoleBinding(RoleBinding):
    """Kubernetes' ClusterRoleBinding: gives a ClusterRole to groups."""

    kind: Literal["ClusterRoleBinding"] = "ClusterRoleBinding"  # type: ignore[assignment]
    """ClusterRoleBinding"""
    metadata: Metadata
    """Its name."""
