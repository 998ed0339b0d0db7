"""Describes KubeRay's RayService, which embeds a RayCluster. Source: KubeRay 1.7, rayservice_controller.go."""

from __future__ import annotations

from dataclasses import replace

from kubectl_tas.kinds import page, ray, raycluster

_AT = "spec.rayClusterConfig"
_CLUSTER = page.embedded(raycluster.PAGE, _AT)
PAGE = replace(
    _CLUSTER,
    recognition=page.Recognition("RayService", ray.VERSIONS, operator=ray.OPERATOR),
    fields=(
        *_CLUSTER.fields,
        page.Field("spec", "Settings of the service.", is_required=True),
        page.Field(_AT, "The cluster that runs the service. An upgrade creates a second one.", is_required=True),
    ),
    gang=ray.grouping("spec", "rayClusterConfig"),
    stop=page.Stop(
        switch=("spec", "suspend"),
        suspended_by=("spec.suspend", f"{_AT}.suspend"),
        deletes_itself=page.never_deleted,
    ),
    changes=(
        page.Fixed(
            page.Effect.RESTARTED,
            page.paths(*ray.POD_FIELDS, below=_AT),
            "a second cluster next to the first",
        ),
    ),
    makes=page.Makes((page.Made("RayCluster", "ray.io"),), services=("{}-head-svc", "{}-serve-svc")),
    refusals=replace(_CLUSTER.refusals, yaml=("spec.serveConfigV2",)),
)
