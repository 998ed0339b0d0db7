"""Platforms of a pool, pod templates and resource validations; the field names are those of OSMO's configuration.

Values of a pod template may hold tokens such as ``{{USER_CPU}}``, so what they are is known once a task fills them in.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, JsonValue, StringConstraints

from kubectl_tas.model.base import AnyText, LabelKey, LabelValue, Many, Model, Named, Text, nothing, said

Operator = Literal["GT", "GE", "LT", "LE", "EQ"]
"""Greater, greater or equal, less, less or equal, equal."""
Operand = AnyText | int | float
"""An amount, or text with tokens."""
Token = Annotated[
    str,
    StringConstraints(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$"),
    said("must be the name of a token: letters, digits and '_', no digit first"),
]
"""What stands between {{ and }}."""
Variables = dict[Token, AnyText | bool | int | float]
"""Values of tokens, by name."""
NodePath = Annotated[
    str,
    StringConstraints(pattern=r"^/[^:\x00]*$"),
    said("must be an absolute path"),
]
"""A path of a node."""
PlatformName = Annotated[LabelValue, StringConstraints(min_length=1)]
"""What resources of workflows call a platform."""


class Toleration(Model):
    """A taint of nodes that a pod may run on all the same, as Kubernetes has it."""

    key: LabelKey | None = None
    """Key of the taint; none, with operator Exists: every taint."""
    operator: Literal["Exists", "Equal"] | None = None
    """Equal, which is the default, compares the value; Exists does not, and has none."""
    value: LabelValue | None = None
    """Value of the taint."""
    effect: Literal["NoSchedule", "PreferNoSchedule", "NoExecute"] | None = None
    """Effect of the taint; none: every effect."""
    tolerationSeconds: Annotated[int, Field(ge=-(2**63), le=2**63 - 1)] | None = None
    """With effect NoExecute: seconds for which a pod that runs is left alone; none: for ever."""

    @property
    def data(self) -> dict[str, str | int]:
        """Its fields as an API server keeps them."""
        fields: dict[str, str | int | None] = self.model_dump()
        return {name: value for name, value in fields.items() if value is not None and value != ""}


class Nodes(Model):
    """What pods need of a node. What a workload says itself stays."""

    selector: dict[LabelKey, LabelValue] = nothing()
    """Labels of the nodes, which become nodeSelector."""
    tolerations: Many[Toleration] = ()
    """Taints of the nodes that the pods tolerate."""


class TemplateMeta(Model):
    """Labels and annotations that a pod template adds."""

    labels: dict[LabelKey, AnyText] = nothing()
    """Labels."""
    annotations: dict[LabelKey, AnyText] = nothing()
    """Annotations."""


class PodTemplateBody(Model):
    """What is put over the pod of a task: a mapping over a mapping, items of lists by their name, all else replaced."""

    metadata: TemplateMeta = TemplateMeta.model_construct()
    """Labels and annotations."""
    spec: dict[AnyText, JsonValue] = nothing()
    """Fields of Kubernetes' PodSpec. The container of the task is called "{{USER_CONTAINER_NAME}}"."""


class PodTemplate(Model):
    """A pod template that pools and platforms name."""

    apiVersion: Literal["tas/v1alpha1"]
    kind: Literal["PodTemplate"]
    metadata: Named
    """Its name."""
    template: PodTemplateBody
    """What is put over the pod of a task."""


class ResourceAssertion(Model):
    """What must be true of what a task asks for: left_operand compared with right_operand."""

    operator: Operator
    """GT, GE, LT, LE or EQ."""
    left_operand: Operand
    """Such as "{{USER_MEMORY}}"."""
    right_operand: Operand
    """Such as 64Gi or "{{K8_MEMORY}}", which is what a node has."""
    assert_message: AnyText
    """What whoever sent the work is told where it is not true; may hold tokens."""


class ResourceValidation(Model):
    """Resource validations that pools and platforms name."""

    apiVersion: Literal["tas/v1alpha1"]
    kind: Literal["ResourceValidation"]
    metadata: Named
    """Its name."""
    rules: Annotated[Many[ResourceAssertion], Field(min_length=1)]
    """What must be true, all of it."""


PodTemplates = Many[Text | PodTemplateBody]
"""Names of PodTemplate documents, or pod templates themselves."""
ResourceValidations = Many[Text | ResourceAssertion]
"""Names of ResourceValidation documents, or rules themselves."""


class Platform(Model):
    """A kind of nodes of a pool, which a resource of a workflow picks by its name."""

    description: AnyText = ""
    """For people."""
    host_network_allowed: bool = False
    """Whether tasks may share the network of their node."""
    privileged_allowed: bool = False
    """Whether tasks may run privileged."""
    allowed_mounts: Many[NodePath] = ()
    """Paths of the node that tasks may mount."""
    default_mounts: Many[NodePath] = ()
    """Paths of the node that are mounted into every task, at the same path, unless a pod template mounts something
    there.
    """
    default_variables: Variables = nothing()
    """Values of tokens that a resource does not set; they count before common_default_variables."""
    resource_validations: ResourceValidations = ()
    """What must be true of what tasks ask for, besides common_resource_validations."""
    override_pod_template: PodTemplates = ()
    """Pod templates that are put over common_pod_template, one after the other."""
    nodes: Nodes = Nodes.model_construct()
    """What its pods need of a node, besides what the pool says: a short form of a pod template."""
