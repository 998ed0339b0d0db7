"""Describes KubeRay's RayService, which embeds a RayCluster. Source: KubeRay 1.7, rayservice_controller.go."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from kubectl_tas.kinds import page, ray, raycluster
from kubectl_tas.kinds.section import Section

_AT = "spec.rayClusterConfig"
_DELAY = 3600
"""The most seconds for which the cluster of an earlier version may stay (cleanUpRayClusterInstance)."""
_CLUSTER = page.embedded(raycluster.PAGE, _AT)


def _second_cluster(growing: page.Growing, spec: Section) -> Iterator[page.Grown]:
    """Yields the cluster that an upgrade makes beside the first one (``shouldPrepareNewCluster``)."""
    strategy = spec.below("upgradeStrategy").get("type")
    if strategy != "None":
        path, when = (*spec.path, "upgradeStrategy", "type"), " during an upgrade"
        hint, is_default = "Write None: an upgrade then waits until you delete the cluster.", strategy is None
        yield page.Grown(path, 1, 2, growing.gpus, "the clusters", when, hint, is_default=is_default)
        delay = spec.get("rayClusterDeletionDelaySeconds")
        if page.is_count(delay) and delay > _DELAY:
            path, when = (*spec.path, "rayClusterDeletionDelaySeconds"), " if it is upgraded again within that time"
            hint = f"Write at most {_DELAY}: each upgrade leaves a cluster for so long."
            yield page.Grown(path, 1, None, growing.gpus, "the clusters", when, hint)


PAGE = replace(
    _CLUSTER,
    recognition=page.Recognition("RayService", ray.VERSIONS, operator=ray.OPERATOR),
    fields=(
        *_CLUSTER.fields,
        page.Field("spec", "Settings of the service.", is_required=True),
        page.Field(_AT, "The cluster that runs the service. An upgrade creates a second one.", is_required=True),
    ),
    gang=ray.grouping("spec", "rayClusterConfig"),
    stop=page.Stop(suspended_by=("spec.suspend", *_CLUSTER.stop.suspended_by)),
    changes=(page.restarted("a second cluster next to the first", *ray.POD_FIELDS, below=_AT),),
    ends=page.SERVICE,
    growth=page.Growth((*_CLUSTER.growth.rows, ("spec", _second_cluster)), by_default=True),
    makes=page.Makes((page.Made("RayCluster", "ray.io"),), services=("{}-head-svc", "{}-serve-svc")),
    refusals=replace(_CLUSTER.refusals, yaml=("spec.serveConfigV2",)),
    names=ray.names(47, "spec.rayClusterConfig"),
)
