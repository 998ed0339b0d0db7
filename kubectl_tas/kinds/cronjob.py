"""Describes the CronJob of Kubernetes, which embeds a Job. Sources: Kubernetes 1.35, pkg/controller/cronjob; KAI's
cron_job_grouper.go.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from kubectl_tas.facts import times
from kubectl_tas.kinds import job, page
from kubectl_tas.kinds.grouping import Grouping, one_pod
from kubectl_tas.kinds.naming import TIMED
from kubectl_tas.kinds.section import Section, value_at

_JOB = page.embedded(job.PAGE, "spec.jobTemplate.spec")


_GRACE, _DEFAULT_GRACE, _LONG_GRACE = "terminationGracePeriodSeconds", 30, 600
"""The field for the seconds that a pod has to end, its default, and more than that of ``maxGracePeriod``."""


def overlapping_runs(growing: page.Growing, spec: Section) -> Iterator[page.Grown]:
    """Yields the growth of runs by a schedule: the controller starts the next run during the last one, unless told
    otherwise. With Replace, the pods of the last run keep their GPUs until they have ended.
    """
    path, policy = (*spec.path, "concurrencyPolicy"), spec.get("concurrencyPolicy")
    if spec.get("suspend") is True:
        return
    if policy in (None, "", "Allow"):
        hint = "Write concurrencyPolicy: Forbid, or Replace."
        yield page.Grown(path, 1, None, growing.gpus, "the runs", " at a time", hint)
    elif policy == "Replace":
        grace, at = max(((_grace(growing, pods), pods.spec_path) for pods in growing.pods), default=(0, path))
        interval = times.shortest_interval(str(spec.get("schedule")))
        if grace > min(interval, _LONG_GRACE):
            when = f" while pods of earlier runs end, each within {times.duration(grace * 10**9)}"
            hint = f"Write concurrencyPolicy: Forbid, or a shorter {_GRACE}."
            yield page.Grown((*at, _GRACE), 1, 1 - -grace // interval, growing.gpus, "the runs", when, hint)


def _grace(growing: page.Growing, pods: page.GrowingPods) -> int:
    """Returns the seconds that pods have to end."""
    value = value_at(growing.document, *pods.spec_path, _GRACE)
    return value if type(value) is int else _DEFAULT_GRACE


PAGE = replace(
    _JOB,
    recognition=page.Recognition("CronJob", ("batch/v1",), operator=""),
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
    stop=page.Stop(suspended_by=("spec.suspend", "spec.jobTemplate.spec.suspend")),
    changes=(),  # the next run has all changes
    growth=page.Growth((("spec", overlapping_runs),)),
    makes=page.Makes((page.Made("Job", "batch"),), is_scheduled=True),
    names=TIMED,
)
