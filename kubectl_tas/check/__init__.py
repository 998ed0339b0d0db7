"""A fleet in, diagnostics out: the rules of the whole repository, an ordered tuple of plain functions."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from kubectl_tas.check.access import check_access
from kubectl_tas.check.adminsources import check_admin_sources
from kubectl_tas.check.cliques import check_cliques
from kubectl_tas.check.cliquesets import check_default_topology, check_grove
from kubectl_tas.check.companions import check_companions
from kubectl_tas.check.config import check_config, check_operator
from kubectl_tas.check.departments import check_departments
from kubectl_tas.check.documents import check_documents
from kubectl_tas.check.draining import check_draining
from kubectl_tas.check.exported import check_exported
from kubectl_tas.check.fields import check_fields, check_kubernetes
from kubectl_tas.check.finished import check_finished
from kubectl_tas.check.gpurequests import check_gpu_requests
from kubectl_tas.check.grove import check_grove_versions
from kubectl_tas.check.grovefields import check_grove_fields
from kubectl_tas.check.growth import check_growth
from kubectl_tas.check.layout import check_layout
from kubectl_tas.check.lifetime import check_lifetimes
from kubectl_tas.check.mounts import check_mounts
from kubectl_tas.check.names import check_names
from kubectl_tas.check.namespaces import check_namespaces
from kubectl_tas.check.nodes import check_nodes
from kubectl_tas.check.osmoonly import check_osmo_only
from kubectl_tas.check.owned import check_gangs
from kubectl_tas.check.placement import check_placement, check_pod_placement
from kubectl_tas.check.platforms import check_platforms
from kubectl_tas.check.podgroup import check_pod_groups
from kubectl_tas.check.pods import check_pods
from kubectl_tas.check.quota import check_admission, check_quotas
from kubectl_tas.check.references import check_references
from kubectl_tas.check.replicas import check_replicas
from kubectl_tas.check.segments import check_segments
from kubectl_tas.check.segmentsize import check_segment_sizes
from kubectl_tas.check.tokens import check_tokens
from kubectl_tas.check.topology import check_bindings, check_topologies
from kubectl_tas.check.unique import check_unique
from kubectl_tas.check.versions import check_versions
from kubectl_tas.check.workflow import check_workflows
from kubectl_tas.check.workload import check_workloads
from kubectl_tas.diagnostics import Diagnostic
from kubectl_tas.resolve.fleet import Fleet

CHECKS: tuple[Callable[[Fleet], Iterable[Diagnostic]], ...] = (
    check_config,
    check_admin_sources,
    check_layout,
    check_kubernetes,
    check_names,
    check_namespaces,
    check_access,
    check_nodes,
    check_unique,
    check_references,
    check_departments,
    check_quotas,
    check_draining,
    check_topologies,
    check_bindings,
    check_workflows,
    check_mounts,
    check_tokens,
    check_platforms,
    check_osmo_only,
    check_lifetimes,
    check_placement,
    check_fields,
    check_exported,
    check_pods,
    check_workloads,
    check_finished,
    check_documents,
    check_companions,
    check_pod_placement,
    check_replicas,
    check_segment_sizes,
    check_segments,
    check_gangs,
    check_gpu_requests,
    check_growth,
    check_pod_groups,
    check_operator,
    check_grove,
    check_grove_versions,
    check_default_topology,
    check_cliques,
    check_grove_fields,
    check_versions,
    check_admission,
)
NEED_ALL = (check_references, check_draining, check_default_topology)
"""Those that look for what is missing."""


def check_fleet(fleet: Fleet, *, complete: bool) -> tuple[Diagnostic, ...]:
    """What all rules find. Where loading was not ``complete``, a name that nothing defines is not reported:
    it may stand in the document that could not be read.
    """
    checks = CHECKS if complete else tuple(check for check in CHECKS if check not in NEED_ALL)
    return tuple(diagnostic for check in checks for diagnostic in check(fleet))
