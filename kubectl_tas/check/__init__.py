"""Lists the rules of the repository: each check with the nodes that it looks at, in the order in which they run."""

from __future__ import annotations

from typing import Any

from kubectl_tas.base.diagnostics import Diagnostic
from kubectl_tas.check import walk as nodes
from kubectl_tas.check.clique_placement import check_default_topology, check_grove
from kubectl_tas.check.cliques import check_cliques
from kubectl_tas.check.commands import check_command, check_processes
from kubectl_tas.check.companion_names import (
    check_companion,
    check_companion_name,
    check_kinds,
    check_named,
    check_repeated,
)
from kubectl_tas.check.compute_domains import Claims, check_channels, check_compute_domain
from kubectl_tas.check.fields import (
    check_fields,
    check_fields_of_companion,
    check_fields_of_group,
    check_fields_of_set,
    check_kubernetes,
)
from kubectl_tas.check.gitops import (
    check_controlled,
    check_exported,
    check_finished,
    check_platform,
    check_scaled,
    check_suspended,
)
from kubectl_tas.check.grove_api import (
    check_grove_fields,
    check_grove_release,
    check_operator_fields,
    check_set_release,
    check_topology_release,
)
from kubectl_tas.check.growth import check_autoscaler, check_growth, check_scale_targets, held_gpus
from kubectl_tas.check.hierarchy import check_bindings, check_bound_levels, check_pool_topology, check_topology
from kubectl_tas.check.keys import Surroundings, check_argo_plugin, check_document, check_reserved
from kubectl_tas.check.launch_nodes import check_launched_nodes, check_launched_tasks, check_named_files, check_ranks
from kubectl_tas.check.mounts import check_mounts
from kubectl_tas.check.node_labels import check_labels_of_levels, check_level_labels
from kubectl_tas.check.object_names import (
    check_names,
    check_pool_name,
    check_shard_name,
    check_subpool_name,
    check_topology_name,
    check_workflow_names,
)
from kubectl_tas.check.osmo_refusals import check_osmo_refusals
from kubectl_tas.check.osmo_service import check_osmo_pool, check_osmo_workflow, check_tokens
from kubectl_tas.check.other_schedulers import check_gang_of_pods, check_leftovers
from kubectl_tas.check.owned import check_gangs
from kubectl_tas.check.placement_rules import check_placement, check_pod_placement
from kubectl_tas.check.pod_templates import check_container, check_pod_spec, check_pod_templates, check_tasks
from kubectl_tas.check.pool_settings import (
    check_access,
    check_backend_namespace,
    check_default_namespace,
    check_default_namespace_of_companion,
    check_default_namespace_of_group,
    check_departments,
    check_guarded_access,
    check_namespaces,
    check_nodes,
    check_queue_labels,
    check_subpool_namespaces,
)
from kubectl_tas.check.quota import check_admission, check_draining, check_quotas
from kubectl_tas.check.references import check_references
from kubectl_tas.check.replicas import check_durations, check_replicas
from kubectl_tas.check.resource_requests import check_gpu_requests, check_members
from kubectl_tas.check.secrets import check_companion_secrets, check_workflow_secrets
from kubectl_tas.check.segment_annotations import check_segment_sizes, check_segments
from kubectl_tas.check.selectors import check_selected, check_selectors
from kubectl_tas.check.settings import (
    check_admin_sources,
    check_config,
    check_given,
    check_kartas,
    check_layout,
    check_operator,
)
from kubectl_tas.check.shard_settings import check_served, check_shard, check_shard_values, check_undeclared
from kubectl_tas.check.task_platforms import JudgedTasks, check_task_platform, check_unused_platforms
from kubectl_tas.check.timeouts import Evictions, check_default_lifetimes, check_evictions, check_lifetimes
from kubectl_tas.check.unique import check_folded_names, check_part_names, check_unique, check_unique_work
from kubectl_tas.check.versions import (
    check_guard,
    check_pod_group_release,
    check_pool_release,
    check_workflow_jobs,
    check_workflow_release,
    check_workload_release,
)
from kubectl_tas.check.visibledevices import check_visible_devices
from kubectl_tas.check.walk import Look, look_at_fleet, walk
from kubectl_tas.check.without_effect import check_claims, check_measured, check_policy
from kubectl_tas.check.work_names import check_kind_names
from kubectl_tas.check.workflow_fields import (
    check_privileged,
    check_workflow,
    check_workflow_backend,
)
from kubectl_tas.check.workload_labels import check_labels, check_submitted, check_workload
from kubectl_tas.check.written_podgroups import check_pod_groups
from kubectl_tas.resolve.fleet import Fleet

FLEET_CHECKS: tuple[Look[Any], ...] = (
    look_at_fleet(check_config, "the Config alone"),
    look_at_fleet(check_admin_sources, "the Config alone"),
    look_at_fleet(check_given, "the Config and the pools"),
    look_at_fleet(check_layout, "counts the objects of all work in a folder"),
    look_at_fleet(check_kubernetes, "the Config alone"),
    look_at_fleet(check_names, "the Config alone"),
    Look(nodes.POOL_FILE, check_pool_name),
    Look(nodes.SUBPOOL_FILE, check_subpool_name),
    Look(nodes.TOPOLOGY_FILE, check_topology_name),
    Look(nodes.SHARD_FILE, check_shard_name),
    Look(nodes.POOL_OR_SUBPOOL_FILE, check_namespaces),
    Look(nodes.BACKEND, check_backend_namespace),
    Look(nodes.POOL, check_subpool_namespaces),
    Look(nodes.POOL_OR_SUBPOOL_FILE, check_access),
    look_at_fleet(check_guarded_access, "the Config and all pools"),
    Look(nodes.POOL_FILE, check_nodes),
    look_at_fleet(check_queue_labels, "the Config and all pools"),
    look_at_fleet(check_unique, "two documents with one name"),
    look_at_fleet(check_references, "names that no document has", needs_all=True),
    look_at_fleet(check_named, "names that no document has", needs_all=True),
    look_at_fleet(check_selected, "selectors and the pods of all documents", needs_all=True),
    look_at_fleet(check_claims, "claims and the pods of all documents", needs_all=True),
    look_at_fleet(check_departments, "the Config and all pools"),
    Look(nodes.POOL, check_quotas),
    look_at_fleet(check_draining, "lists of a subpool and all its work", needs_all=True),
    look_at_fleet(check_scale_targets, "names that no document has", needs_all=True),
    Look(nodes.POOL, check_pool_topology),
    Look(nodes.TOPOLOGY, check_topology),
    Look(nodes.TOPOLOGY, check_level_labels),
    Look(nodes.TOPOLOGY, check_bindings),
    Look(nodes.BACKEND, check_bound_levels),
    Look(nodes.POOL, check_default_lifetimes),
    Look(nodes.POOL_FILE, check_osmo_pool),
    look_at_fleet(check_unused_platforms, "platforms that no document uses"),
    look_at_fleet(check_operator, "two documents of one kind"),
    look_at_fleet(check_kartas, "two documents of one kind"),
    look_at_fleet(check_shard_values, "two documents with one value"),
    look_at_fleet(check_undeclared, "all shards and the pools", needs_all=True),
    Look(nodes.POOL, check_served, needs_all=True),
    Look(nodes.SHARD, check_shard),
    Look(nodes.BACKEND, check_grove_release),
    Look(nodes.CLIQUE_SET, check_set_release),
    Look(nodes.TOPOLOGY, check_topology_release),
    look_at_fleet(check_operator_fields, "the first document of a kind"),
    Look(nodes.CLIQUE_SET, check_default_topology, needs_all=True),
    look_at_fleet(check_workflow_jobs, "the Config and the workflows of each backend"),
    Look(nodes.POOL, check_pool_release),
    Look(nodes.BACKEND, check_guard),
    look_at_fleet(check_admission, "the sum of all work of a queue"),
)
"""Checks of shared objects and of all work together. The checks read only those fields that ``Submission`` has."""
TASK_PLATFORMS = Look(nodes.TASK, check_task_platform, shared=JudgedTasks)
WORK_CHECKS: tuple[Look[Any], ...] = (
    Look(nodes.WORKFLOW_FILE, check_workflow_names),
    Look(nodes.WORK_FILE, check_kind_names),
    Look(nodes.SENT, check_default_namespace),
    Look(nodes.POD_GROUP, check_default_namespace_of_group),
    Look(nodes.COMPANION, check_default_namespace_of_companion),
    look_at_fleet(check_unique_work, "two documents with one name"),
    Look(nodes.WORKFLOW_FILE, check_folded_names),
    Look(nodes.WORKLOAD_FILE, check_part_names),
    Look(nodes.WORKFLOW_FILE, check_workflow),
    Look(nodes.WORKFLOW, check_workflow_backend),
    Look(nodes.WORKFLOW_FILE, check_mounts),
    Look(nodes.WORKFLOW_FILE, check_tokens),
    TASK_PLATFORMS,
    Look(nodes.WORKFLOW_FILE, check_osmo_workflow),
    Look(nodes.WORKFLOW_FILE, check_osmo_refusals),
    Look(nodes.WORKFLOW, check_lifetimes),
    Look(nodes.WORKFLOW, check_placement),
    Look(nodes.WORKLOAD_FILE, check_fields),
    Look(nodes.COMPANION_FILE, check_fields_of_companion),
    Look(nodes.POD_GROUP_FILE, check_fields_of_group),
    Look(nodes.CLIQUE_SET_FILE, check_fields_of_set),
    Look(nodes.WORK_FILE, check_exported),
    Look(nodes.WORKLOAD_FILE, check_pod_templates),
    Look(nodes.POD_SPEC, check_pod_spec),
    Look(nodes.CONTAINER, check_container),
    Look(nodes.CONTAINER, check_command),
    Look(nodes.WORKLOAD_FILE, check_processes),
    Look(nodes.WORKLOAD_FILE, check_launched_nodes),
    Look(nodes.WORKFLOW_FILE, check_launched_tasks),
    Look(nodes.WORKFLOW_FILE, check_ranks),
    Look(nodes.WORKFLOW_FILE, check_named_files),
    Look(nodes.POD_SPEC, check_privileged),
    Look(nodes.WORKFLOW_FILE, check_tasks),
    Look(nodes.WORK_FILE, check_labels),
    Look(nodes.SUBMITTED, check_submitted),
    Look(nodes.WORKLOAD, check_workload),
    Look(nodes.WORKLOAD, check_finished),
    Look(nodes.WORKLOAD_FILE, check_suspended),
    Look(nodes.DOCUMENT, check_document, shared=Surroundings),
    Look(nodes.WORKLOAD_FILE, check_leftovers),
    Look(nodes.POD_SPEC, check_gang_of_pods),
    Look(nodes.COMPANION_FILE, check_reserved),
    Look(nodes.COMPANION, check_argo_plugin),
    Look(nodes.WORKFLOW, check_visible_devices),
    Look(nodes.COMPANION_FILE, check_companion_name),
    Look(nodes.COMPANION, check_companion),
    Look(nodes.COMPANION, check_repeated, shared=lambda _fleet: {}),
    look_at_fleet(check_kinds, "the Config alone"),
    Look(nodes.AUTOSCALER, check_scaled),
    Look(nodes.WORKLOAD, check_controlled),
    Look(nodes.COMPANION, check_platform),
    Look(nodes.COMPANION, check_selectors),
    Look(nodes.WORKFLOW, check_workflow_secrets),
    Look(nodes.COMPANION, check_companion_secrets),
    Look(nodes.WORKLOAD, check_pod_placement),
    Look(nodes.SUBMITTED, check_labels_of_levels),
    Look(nodes.WORKLOAD, check_replicas),
    Look(nodes.POD_GROUP, check_durations),
    Look(nodes.WORKLOAD, check_segment_sizes),
    Look(nodes.WORKLOAD, check_segments),
    Look(nodes.WORKLOAD, check_gangs),
    Look(nodes.POD_GROUP, check_members),
    Look(nodes.SUBMITTED, check_gpu_requests),
    Look(nodes.POD_OWNER, check_channels),
    Look(nodes.COMPUTE_DOMAIN, check_compute_domain, shared=lambda fleet: Claims(fleet, nodes.POD_OWNER.of(fleet))),
    Look(nodes.WORK, check_evictions, shared=lambda fleet: Evictions(fleet.config, set())),
    Look(nodes.SUBMITTED, check_growth, shared=held_gpus),
    Look(nodes.AUTOSCALER, check_autoscaler),
    Look(nodes.AUTOSCALER, check_measured),
    Look(nodes.COMPANION_FILE, check_policy),
    Look(nodes.POD_GROUP, check_pod_groups),
    Look(nodes.CLIQUE_SET, check_grove),
    Look(nodes.CLIQUE_SET, check_cliques),
    Look(nodes.CLIQUE_SET, check_grove_fields),
    Look(nodes.WORKFLOW, check_workflow_release),
    Look(nodes.POD_GROUP, check_pod_group_release),
    Look(nodes.WORKLOAD, check_workload_release),
)
"""Checks of the work in some files. The rest of the fleet serves only as context."""


def check_fleet(fleet: Fleet, *, complete: bool) -> tuple[Diagnostic, ...]:
    """Returns the findings of all rules."""
    return (*check_all(fleet, complete=complete), *check_work(fleet))


def check_all(fleet: Fleet, *, complete: bool) -> tuple[Diagnostic, ...]:
    """Returns the findings of the rules about shared objects and about all work together. If loading was not
    ``complete``, checks that need all documents are skipped: a missing object may be in one that could not be read.
    """
    return tuple(walk(fleet, (look for look in FLEET_CHECKS if complete or not look.needs_all)))


def check_work(fleet: Fleet) -> tuple[Diagnostic, ...]:
    """Returns the findings of the rules about one piece of work, or about one file of work."""
    return tuple(walk(fleet, WORK_CHECKS))
