"""Defines platforms, pod templates and resource validations, with the field names of OSMO's configuration.

Values of a pod template may contain tokens such as ``{{USER_CPU}}``. Their type is known only once a task fills them
in.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, JsonValue, StringConstraints

from kubectl_tas.model.base import AnnotationKey, AnyText, LabelKey, LabelValue, Many, Model, Named, Text, nothing, said

Operator = Literal["GT", "GE", "LT", "LE", "EQ"]
"""Comparison: greater, greater or equal, less, less or equal, equal."""
Operand = AnyText | int | float
"""An amount, or text with tokens."""
Token = Annotated[
    str,
    StringConstraints(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$"),
    said("must be the name of a token: letters, digits and '_', no digit first"),
]
"""The name of a token, without {{ and }}."""
Variables = dict[Token, AnyText | bool | int | float]
"""Values of tokens, by name."""
NodePath = Annotated[
    str,
    StringConstraints(pattern=r"^/[^:\x00]*$"),
    said("must be an absolute path"),
]
"""A path on a node."""
PlatformName = Annotated[LabelValue, StringConstraints(min_length=1)]
"""The name by which resources of workflows pick a platform."""


class Toleration(Model):
    """A taint of nodes that a pod tolerates, as in Kubernetes."""

    key: LabelKey | None = None
    """Key of the taint. Without it, and with operator Exists: every taint."""
    operator: Literal["Exists", "Equal"] | None = None
    """Equal (the default) compares the value. Exists compares no value."""
    value: LabelValue | None = None
    """Value of the taint."""
    effect: Literal["NoSchedule", "PreferNoSchedule", "NoExecute"] | None = None
    """Effect of the taint. Without it: every effect."""
    tolerationSeconds: Annotated[int, Field(ge=-(2**63), le=2**63 - 1)] | None = None
    """Seconds before the node evicts a running pod, with effect NoExecute. Without it: never."""

    @property
    def data(self) -> dict[str, str | int]:
        """The fields of the toleration as the API server stores them."""
        fields: dict[str, str | int | None] = self.model_dump()
        return {name: value for name, value in fields.items() if value is not None and value != ""}


class Nodes(Model):
    """Node labels and tolerations for pods. They do not replace what a workload itself sets."""

    selector: dict[LabelKey, LabelValue] = nothing()
    """Labels of the nodes. They become nodeSelector."""
    tolerations: Many[Toleration] = ()
    """Taints of the nodes that the pods tolerate."""


class TemplateMeta(Model):
    """Labels and annotations that a pod template adds."""

    labels: dict[LabelKey, AnyText] = nothing()
    """Labels to add."""
    annotations: dict[AnnotationKey, AnyText] = nothing()
    """Annotations to add."""


class PodTemplateBody(Model):
    """A patch for the pod of a task. It merges mappings, merges list items by name, and replaces all other values."""

    metadata: TemplateMeta = TemplateMeta.model_construct()
    """Labels and annotations to add."""
    spec: dict[AnyText, JsonValue] = nothing()
    """Fields of Kubernetes' PodSpec. The container of the task is called "{{USER_CONTAINER_NAME}}"."""


class PodTemplate(Model):
    """A pod template that pools and platforms name."""

    apiVersion: Literal["tas/v1alpha1"]
    kind: Literal["PodTemplate"]
    metadata: Named
    """Name of the pod template."""
    template: PodTemplateBody
    """The patch for the pod of a task."""


class ResourceAssertion(Model):
    """A condition on the resource requests of a task: a comparison of left_operand with right_operand."""

    operator: Operator
    """GT, GE, LT, LE or EQ."""
    left_operand: Operand
    """Left side of the comparison, such as "{{USER_MEMORY}}"."""
    right_operand: Operand
    """Right side of the comparison, such as 64Gi, or "{{K8_MEMORY}}" for the memory of a node."""
    assert_message: AnyText
    """Message to the author of the work if the condition is false. It may contain tokens."""


class ResourceValidation(Model):
    """Resource validations that pools and platforms name."""

    apiVersion: Literal["tas/v1alpha1"]
    kind: Literal["ResourceValidation"]
    metadata: Named
    """Name of the resource validation."""
    rules: Annotated[Many[ResourceAssertion], Field(min_length=1)]
    """Conditions that must all be true."""


PodTemplates = Many[Text | PodTemplateBody]
"""Names of PodTemplate documents, or pod templates themselves."""
ResourceValidations = Many[Text | ResourceAssertion]
"""Names of ResourceValidation documents, or rules themselves."""


class Platform(Model):
    """A kind of nodes in a pool. A resource of a workflow picks a platform by name."""

    description: AnyText = ""
    """Text for people."""
    host_network_allowed: bool = False
    """Whether tasks may share the network of their node."""
    privileged_allowed: bool = False
    """Whether tasks may run privileged."""
    allowed_mounts: Many[NodePath] = ()
    """Paths of the node that tasks may mount."""
    default_mounts: Many[NodePath] = ()
    """Paths of the node that every task mounts at the same path, unless a pod template mounts something at that path.
    """
    default_variables: Variables = nothing()
    """Values of tokens that a resource does not set. These values override common_default_variables."""
    resource_validations: ResourceValidations = ()
    """Conditions on the resource requests of tasks, in addition to common_resource_validations."""
    override_pod_template: PodTemplates = ()
    """Pod templates merged over common_pod_template, in this order."""
    nodes: Nodes = Nodes.model_construct()
    """Node labels and tolerations in addition to the pool's: a short form of a pod template."""
