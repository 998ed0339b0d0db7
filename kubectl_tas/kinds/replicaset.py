"""Describes the ReplicaSet of Kubernetes. Source: Kubernetes 1.35, pkg/apis/apps."""

from __future__ import annotations

from kubectl_tas.kinds import page
from kubectl_tas.kinds.grouping import Grouping, first_pod
from kubectl_tas.kinds.naming import ANY
from kubectl_tas.kinds.replicated import FIELDS, PODS

PAGE = page.WorkloadKind(
    recognition=page.Recognition("ReplicaSet", ("apps/v1",), operator=""),
    fields=FIELDS,
    pods=PODS,
    pod_rules=page.PodRules(restart=("Always",), selector="spec.selector", ports_known=True, injected=()),
    gang=Grouping(first_pod),
    start=page.ALL_AT_ONCE,  # manageReplicas of replica_set.go
    filled_in=page.FilledIn(),
    stop=page.Stop(switch=("spec", "replicas")),
    changes=(
        page.refused(page.SERVER, "spec.selector"),
        page.kept("the ReplicaSet", "spec.template"),
    ),
    ends=page.SERVICE,
    growth=page.Growth(scaled_alone=True),
    makes=page.Makes(),
    marks=page.Marks(),
    names=ANY,
    refusals=page.Refusals(),
)
