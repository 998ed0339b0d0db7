"""Describes the CronJob of Kubernetes, which embeds a Job. Sources: Kubernetes 1.35, pkg/controller/cronjob; KAI's
cron_job_grouper.go.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from kubectl_tas.kinds import job, page
from kubectl_tas.kinds.grouping import Grouping, one_pod
from kubectl_tas.kinds.section import Section

_JOB = page.embedded(job.PAGE, "spec.jobTemplate.spec")


def overlapping_runs(spec: Section) -> Iterator[page.Grown]:
    """Yields the runs: the controller starts the next one during the last one, unless told otherwise."""
    if spec.get("concurrencyPolicy") in (None, "Allow") and spec.get("suspend") is not True:
        hint = "Write concurrencyPolicy: Forbid, or Replace."
        yield page.Grown((*spec.path, "concurrencyPolicy"), 1, None, "the runs", None, when=" at a time", hint=hint)


PAGE = page.WorkloadKind(
    recognition=page.Recognition("CronJob", ("batch/v1",), operator=""),
    naming=page.Naming(longest=52, why="the time of a run is added to it"),
    fields=(
        *_JOB.fields,
        page.Field("spec", "Settings of the CronJob.", is_required=True),
        page.Field("spec.jobTemplate", "Template for the Jobs.", is_required=True),
        page.Field("spec.jobTemplate.spec", "Settings of the Jobs."),
        page.Field("spec.jobTemplate.metadata", "Labels and annotations of the Jobs.", "metadata"),
    ),
    pods=tuple(replace(pods, index_label="", job="spec.jobTemplate") for pods in _JOB.pods),
    pod_rules=replace(job.PAGE.pod_rules, fills_completions=False, own_selector=False, makes_selector=False),
    gang=Grouping(
        one_pod,
        named_by=("", "the number of the run and its UID, one for each run"),
        name_middle="(-[0-9]+)?",
        placed_at=("spec", "jobTemplate", "metadata", "annotations"),
        not_owned="all its runs would join one PodGroup",
        segment_template="Move it to the pod template.",
    ),
    start=page.ALL_AT_ONCE,
    filled_in=page.FilledIn(),
    stop=page.Stop(
        switch=("spec", "suspend"),
        suspended_by=("spec.suspend", "spec.jobTemplate.spec.suspend"),
        deletes_itself=page.never_deleted,
    ),
    changes=(),  # the next run has all changes
    growth=page.Growth((("spec", overlapping_runs),)),
    makes=page.Makes((page.Made("Job", "batch"),), is_scheduled=True),
    marks=page.Marks(),
    refusals=_JOB.refusals,
)
