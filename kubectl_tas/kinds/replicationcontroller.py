"""Describes the ReplicationController of Kubernetes, which KAI may not read. Source: Kubernetes 1.35, pkg/apis/core."""

from __future__ import annotations

from kubectl_tas.kinds import page
from kubectl_tas.kinds.grouping import Grouping, first_pod
from kubectl_tas.kinds.naming import ANY
from kubectl_tas.kinds.replicated import FIELDS, PODS

PAGE = page.WorkloadKind(
    recognition=page.Recognition("ReplicationController", ("v1",), operator=""),
    fields=FIELDS,
    pods=PODS,
    pod_rules=page.PodRules(
        restart=("Always",), selector="spec.selector", selects_by_labels=True, ports_known=True, injected=()
    ),
    gang=Grouping(first_pod, one_pod_group=False, has_plugin=False, may_be_read=False),
    start=page.ALL_AT_ONCE,  # each pod is a gang of its own
    filled_in=page.FilledIn(),
    stop=page.Stop(switch=("spec", "replicas")),
    changes=(page.kept("the ReplicationController", "spec.template"),),
    ends=page.SERVICE,
    growth=page.Growth(scaled_alone=True),
    makes=page.Makes(),
    marks=page.Marks(),
    names=ANY,
    refusals=page.Refusals(),
)
