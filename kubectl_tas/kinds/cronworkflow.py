"""Describes Argo's CronWorkflow, which embeds a Workflow. Source: Argo Workflows 3.7."""

from __future__ import annotations

from dataclasses import replace

from kubectl_tas.kinds import argo_workflow, cronjob, page
from kubectl_tas.kinds.naming import TIMED, Names

_WORKFLOW = page.embedded(argo_workflow.PAGE, "spec.workflowSpec")
PAGE = page.WorkloadKind(
    recognition=page.Recognition("CronWorkflow", ("argoproj.io/v1alpha1",), "argo-workflows"),
    fields=_WORKFLOW.fields,
    pods=_WORKFLOW.pods,
    pod_rules=_WORKFLOW.pod_rules,
    gang=replace(argo_workflow.PAGE.gang, has_plugin=False, may_be_read=False),
    start=_WORKFLOW.start,
    filled_in=_WORKFLOW.filled_in,
    stop=page.Stop(suspended_by=("spec.suspend", *_WORKFLOW.suspended_by)),
    ends=_WORKFLOW.ends,
    growth=page.Growth((("spec", cronjob.overlapping_runs), *_WORKFLOW.growth.rows)),
    changes=(),  # the next run has all changes
    makes=page.Makes((page.Made("Workflow", "argoproj.io"),), is_scheduled=True),
    marks=page.Marks(),
    names=Names(TIMED.work, _WORKFLOW.names),
    refusals=_WORKFLOW.refusals,
)
