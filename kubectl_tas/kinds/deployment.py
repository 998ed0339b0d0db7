"""Describes the Deployment of Kubernetes. Sources: Kubernetes 1.35, pkg/apis/apps and pkg/controller/deployment; KAI's
deployment_grouper.go.
"""

from __future__ import annotations

from kubectl_tas.kinds import page
from kubectl_tas.kinds.grouping import Grouping, every_pod
from kubectl_tas.kinds.naming import HASH, Alphabet, Names, Naming
from kubectl_tas.kinds.replicated import FIELDS, PODS
from kubectl_tas.model.labels import MAX_NAME

OWNER = "ReplicaSet"
"""Kind of the owners of the pods."""
PAGE = page.WorkloadKind(
    recognition=page.Recognition("Deployment", ("apps/v1",), operator=""),
    fields=FIELDS,
    pods=PODS,
    pod_rules=page.PodRules(restart=("Always",), selector="spec.selector", ports_known=True, injected=()),
    gang=Grouping(
        every_pod,
        starts_one_by_one=True,
        one_pod_group=False,
        names_part=False,
        segment_template="Move it to the pod template.",
        default_class="inference",  # deployment_grouper.go
    ),
    start=page.ALL_AT_ONCE,  # each pod is a gang of its own
    filled_in=page.FilledIn(),
    stop=page.Stop(
        switch=("spec", "replicas"),
        suspended_by=("spec.paused",),  # syncDeployment: a paused one makes no new ReplicaSet
    ),
    changes=(  # ValidateDeploymentUpdate of pkg/apis/apps/validation
        page.refused(page.SERVER, "spec.selector"),
        page.restarted("the Deployment", "spec.template"),
    ),
    ends=page.SERVICE,
    growth=page.surge("strategy", "rollingUpdate", page.QUARTER),
    makes=page.Makes((page.Made(OWNER, "apps", ("spec", "replicas")),), pods_of=(OWNER, "{}-[a-z0-9]+")),
    marks=page.Marks(),
    names=Names((Naming(Alphabet.SUBDOMAIN, "the names of its ReplicaSets add a hash to it", MAX_NAME - HASH),)),
    refusals=page.Refusals(),
)
