"""Rules about keys that may stand anywhere in a workload, a PodCliqueSet or a PodGroup, in one walk over each."""

from __future__ import annotations

from collections.abc import Iterator

from kubectl_tas.check.backdoors import backdoors_of
from kubectl_tas.check.keys import keys_of
from kubectl_tas.check.parts import parts
from kubectl_tas.check.resourcenames import resources_of
from kubectl_tas.check.secrets import secrets_of
from kubectl_tas.check.visibledevices import config_maps, devices_of
from kubectl_tas.diagnostics import Diagnostic
from kubectl_tas.gangs.pool_demands import agreed, agreed_shard, agreed_with
from kubectl_tas.model.backdoors import Decides
from kubectl_tas.resolve.fleet import Fleet


def check_documents(fleet: Fleet) -> Iterator[Diagnostic]:
    """Every such document, whether its pool exists or not."""
    repository = fleet.repository
    sent = {id(item.declared.origin): agreed(fleet, item) for item in (*fleet.workloads, *fleet.submitted_sets)}
    for group in fleet.pod_groups:
        sent |= {id(pod.origin): agreed_with(group) for pod in group.pods}
        if group.pool is not None:
            sent[id(group.declared.origin)] = agreed_shard(group.pool)
    origins = [item.origin for item in repository.workloads]
    origins += [item.origin for item in repository.pod_clique_sets]
    origins += [item.origin for item in repository.pod_groups]
    maps = config_maps(fleet)
    for origin in origins:
        values = sent.get(id(origin), {})
        namespace = values.get(Decides.NAMESPACE, ("", ""))[0]
        for part in parts(origin):
            if part[0] == "container":
                yield from devices_of(origin, part, maps, namespace)
                yield from secrets_of(origin, part)
                continue
            yield from keys_of(origin, part)
            yield from backdoors_of(origin, part, values)
            yield from resources_of(origin, part)
            if part[0] == "annotations":
                yield from devices_of(origin, part, maps, namespace)
