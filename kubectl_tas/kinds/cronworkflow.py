"""Describes Argo's CronWorkflow, which embeds a Workflow. Source: Argo Workflows 3.7."""

from __future__ import annotations

from dataclasses import replace

from kubectl_tas.kinds import argo_workflow, cronjob, page
from kubectl_tas.kinds.naming import TIMED, Names

_WORKFLOW = page.embedded(argo_workflow.PAGE, "spec.workflowSpec")
PAGE = replace(
    _WORKFLOW,
    recognition=page.Recognition("CronWorkflow", ("argoproj.io/v1alpha1",), "argo-workflows"),
    gang=replace(argo_workflow.PAGE.gang, has_plugin=False, may_be_read=False),
    stop=page.Stop(suspended_by=("spec.suspend", *_WORKFLOW.stop.suspended_by)),
    growth=page.Growth((("spec", cronjob.overlapping_runs), *_WORKFLOW.growth.rows)),
    changes=(),  # the next run has all changes
    makes=page.Makes((page.Made("Workflow", "argoproj.io"),), is_scheduled=True),
    names=Names(TIMED.work, _WORKFLOW.names.parts),
)
