"""Lists the rules of the repository, as ordered tuples of functions, and runs them on a fleet."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from kubectl_tas.check.clique_placement import check_default_topology, check_grove
from kubectl_tas.check.cliques import check_cliques
from kubectl_tas.check.companion_names import check_companions, check_named
from kubectl_tas.check.compute_domains import check_compute_domains
from kubectl_tas.check.fields import check_fields, check_kubernetes
from kubectl_tas.check.gitops import check_exported, check_finished, check_owners, check_platform, check_suspended
from kubectl_tas.check.grove_api import check_grove_fields, check_grove_versions
from kubectl_tas.check.growth import check_growth, check_scale_targets
from kubectl_tas.check.hierarchy import check_bindings, check_topologies
from kubectl_tas.check.keys import check_documents
from kubectl_tas.check.mounts import check_mounts
from kubectl_tas.check.node_labels import check_level_labels
from kubectl_tas.check.object_names import check_names, check_work_names
from kubectl_tas.check.osmo_service import check_osmo_only, check_tokens
from kubectl_tas.check.owned import check_gangs
from kubectl_tas.check.placement_rules import check_placement, check_pod_placement
from kubectl_tas.check.pod_templates import check_pods
from kubectl_tas.check.pool_settings import (
    check_access,
    check_default_namespaces,
    check_departments,
    check_namespaces,
    check_nodes,
    check_queue_labels,
)
from kubectl_tas.check.quota import check_admission, check_draining, check_quotas
from kubectl_tas.check.references import check_references
from kubectl_tas.check.replicas import check_replicas
from kubectl_tas.check.resource_requests import check_gpu_requests
from kubectl_tas.check.secrets import check_secrets
from kubectl_tas.check.segment_annotations import check_segment_sizes, check_segments
from kubectl_tas.check.selectors import check_selected, check_selectors
from kubectl_tas.check.settings import check_admin_sources, check_config, check_kartas, check_layout, check_operator
from kubectl_tas.check.task_platforms import check_platforms, check_unused_platforms
from kubectl_tas.check.timeouts import check_default_lifetimes, check_evictions, check_lifetimes
from kubectl_tas.check.unique import check_unique, check_unique_work
from kubectl_tas.check.versions import check_versions, check_work_versions
from kubectl_tas.check.visibledevices import check_visible_devices
from kubectl_tas.check.workflow_fields import check_workflows
from kubectl_tas.check.workload_labels import check_workloads
from kubectl_tas.check.written_podgroups import check_pod_groups
from kubectl_tas.diagnostics import Diagnostic
from kubectl_tas.resolve.fleet import Fleet

Check = Callable[[Fleet], Iterable[Diagnostic]]
FLEET_CHECKS: tuple[Check, ...] = (
    check_config,
    check_admin_sources,
    check_layout,
    check_kubernetes,
    check_names,
    check_namespaces,
    check_access,
    check_nodes,
    check_queue_labels,
    check_unique,
    check_references,
    check_named,
    check_selected,
    check_departments,
    check_quotas,
    check_draining,
    check_scale_targets,
    check_topologies,
    check_level_labels,
    check_bindings,
    check_default_lifetimes,
    check_unused_platforms,
    check_operator,
    check_kartas,
    check_grove_versions,
    check_default_topology,
    check_versions,
    check_admission,
)
"""Checks of shared objects and of all work together. The checks read only those fields that ``Submission`` has."""
WORK_CHECKS: tuple[Check, ...] = (
    check_work_names,
    check_default_namespaces,
    check_unique_work,
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
    check_suspended,
    check_documents,
    check_visible_devices,
    check_companions,
    check_owners,
    check_platform,
    check_selectors,
    check_secrets,
    check_pod_placement,
    check_replicas,
    check_segment_sizes,
    check_segments,
    check_gangs,
    check_gpu_requests,
    check_compute_domains,
    check_evictions,
    check_growth,
    check_pod_groups,
    check_grove,
    check_cliques,
    check_grove_fields,
    check_work_versions,
)
"""Checks of the work in some files. The rest of the fleet serves only as context."""
NEED_ALL = (
    check_references,
    check_named,
    check_selected,
    check_draining,
    check_scale_targets,
    check_default_topology,
)
"""Checks that look for missing objects."""


def check_fleet(fleet: Fleet, *, complete: bool) -> tuple[Diagnostic, ...]:
    """Returns the findings of all rules."""
    return (*check_all(fleet, complete=complete), *check_work(fleet))


def check_all(fleet: Fleet, *, complete: bool) -> tuple[Diagnostic, ...]:
    """Returns the findings of the rules about shared objects and about all work together. If loading was not
    ``complete``, the checks of NEED_ALL are skipped: a missing object may be in the document that could not be read.
    """
    checks = (check for check in FLEET_CHECKS if complete or check not in NEED_ALL)
    return tuple(found for check in checks for found in check(fleet))


def check_work(fleet: Fleet) -> tuple[Diagnostic, ...]:
    """Returns the findings of the rules about one piece of work, or about one file of work."""
    return tuple(found for check in WORK_CHECKS for found in check(fleet))
