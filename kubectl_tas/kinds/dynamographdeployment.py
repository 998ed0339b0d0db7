"""Describes Dynamo's DynamoGraphDeployment. Source: Dynamo 1.2, ``v1alpha1`` and ``v1beta1``, and
deploy/operator/internal/consts/consts.go.
"""

from __future__ import annotations

from kubectl_tas.kinds import page
from kubectl_tas.kinds.grouping import Grouping, first_pod
from kubectl_tas.model import labels

_COMPONENTS, _SERVICES = "spec.components[]", "spec.services.*"
PAGE = page.WorkloadKind(
    recognition=page.Recognition(
        "DynamoGraphDeployment", ("nvidia.com/v1beta1", "nvidia.com/v1alpha1"), operator=page.UNPACKED
    ),
    naming=page.UNBOUNDED,
    fields=(),
    pods=(
        page.Pods(f"{_COMPONENTS}.podTemplate", f"{_COMPONENTS}.replicas", factor=f"{_COMPONENTS}.multinode.nodeCount"),
        page.Pods(
            _SERVICES,
            f"{_SERVICES}.replicas",
            factor=f"{_SERVICES}.multinode.nodeCount",
            is_optional=True,
            form="podforms:DynamoService",
        ),
    ),
    pod_rules=page.PodRules(restart=(), own_amounts="spec.services"),
    gang=Grouping(
        first_pod,
        unpredicted="Dynamo's operator makes a PodCliqueSet, or a Deployment of each component, and KAI goes by that",
        not_owned="Grove makes its gangs",
    ),
    start=page.ALL_AT_ONCE,
    filled_in=page.FilledIn(),
    stop=page.Stop(switch=("spec", "suspend"), suspended_by=(), deletes_itself=page.never_deleted),
    changes=(
        page.Fixed(
            page.Effect.RESTARTED,
            page.paths("spec"),
            "Dynamo's operator",
            but=page.paths("spec.services.*.replicas", "spec.components.*.replicas"),
        ),
    ),
    growth=page.Growth(),
    makes=page.Makes(is_set=True),  # Dynamo names its PodCliqueSet like the graph
    marks=page.Marks(queue=labels.DYNAMO_QUEUE),
    refusals=page.Refusals(),
)
