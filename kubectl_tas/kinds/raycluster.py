"""Describes KubeRay's RayCluster. Source: KubeRay 1.7, raycluster_controller.go."""

from __future__ import annotations

from kubectl_tas.kinds import page, ray

_GROUPS = "spec.workerGroupSpecs[]"
_RECREATES = page.becomes("Recreate", "spec.upgradeStrategy.type")
PAGE = page.WorkloadKind(
    recognition=page.Recognition("RayCluster", ray.VERSIONS, operator=ray.OPERATOR),
    fields=(
        page.Field("spec", "Settings of the cluster.", is_required=True),
        page.Field("spec.enableInTreeAutoscaling", "Whether KubeRay adds the autoscaler to the head.", "boolean"),
        page.Field("spec.autoscalerOptions", "Settings of the autoscaler, a container that KubeRay adds to the head."),
        page.Field(
            "spec.autoscalerOptions.resources",
            "Resource requests and limits of the container. KubeRay's own are 500m cpu and 512Mi memory.",
            "resources",
        ),
        page.Field("spec.headGroupSpec", "The head.", is_required=True),
        page.Field(_GROUPS, "The workers."),
        page.Field(f"{_GROUPS}.groupName", "Name of the group, unique within the cluster.", "text", is_required=True),
        page.Field(f"{_GROUPS}.replicas", "Workers at the start. The default is minReplicas.", "count"),
        page.Field(
            f"{_GROUPS}.minReplicas", "The least number of workers. With 0, KAI waits for all workers.", "count"
        ),
        page.Field(f"{_GROUPS}.numOfHosts", "Pods of one worker.", "positive"),
        page.Field(f"{_GROUPS}.suspend", "Whether the group has no pods for now.", "boolean"),
    ),
    pods=(
        page.Pods(
            "spec.headGroupSpec.template",
            name="head",
            within="spec",
            beside="spec.autoscalerOptions",  # mergeAutoscalerOverrides
            beside_where="spec.enableInTreeAutoscaling",
            gpus_used="spec.headGroupSpec.rayStartParams.num-gpus",
        ),
        page.Pods(
            f"{_GROUPS}.template",
            f"{_GROUPS}.replicas",
            default=f"{_GROUPS}.minReplicas",
            factor=f"{_GROUPS}.numOfHosts",
            paused=f"{_GROUPS}.suspend",
            name_field="groupName",
            word="worker group",
            gpus_used=f"{_GROUPS}.rayStartParams.num-gpus",
            sub_group=ray.sub_group,
        ),
    ),
    pod_rules=page.PodRules(restart=(), added_volumes=("ray-logs", "shared-mem")),  # DefaultHeadPodTemplate of pod.go
    gang=ray.grouping("spec"),
    start=page.ALL_AT_ONCE,  # reconcilePods of raycluster_controller.go; init containers wait for a head that exists
    filled_in=page.FilledIn(counts=ray.implied_counts),
    stop=page.Stop(suspended_by=("spec.suspend",)),
    changes=(  # shouldRecreatePodsForUpgrade
        page.kept(ray.BY, *ray.POD_FIELDS, below="spec", only=page.unless(_RECREATES)),
        page.restarted(ray.BY, *ray.POD_FIELDS, below="spec", only=_RECREATES),
    ),
    ends=page.SERVICE,
    growth=page.Growth((("spec", ray.autoscaled),)),
    makes=page.Makes(services=("{}-head-svc", "{}-serve-svc"), name_labels=(ray.CLUSTER_NAME,)),
    marks=page.Marks(),
    names=ray.names(53, "spec"),
    refusals=page.Refusals(operator=((_GROUPS, ray.group_replicas),), kai=ray.refused_groups),
)
