"""Describes KubeRay's RayCronJob, which embeds a RayJob. Source: KubeRay 1.7, raycronjob_controller.go. It copies no
label and no annotation to its RayJobs. KAI 0.17 groups these: its podgrouper may not read RayCronJobs.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from kubectl_tas.kinds import page, ray, rayjob
from kubectl_tas.kinds.naming import Alphabet, Names, Naming
from kubectl_tas.kinds.section import Section

_AT = "spec.jobTemplate"
_JOB = page.embedded(rayjob.PAGE, _AT)


def _second_run(growing: page.Growing, spec: Section) -> Iterator[page.Grown]:
    """Yields a run beside the one before it: the controller starts each at its time, and no field can forbid it."""
    if spec.get("suspend") is not True:
        path, hint = (*spec.path, "schedule"), "Leave more time between two runs than one takes, and waive the rule."
        yield page.Grown(path, 1, 2, growing.gpus, "the runs", " at a time", hint, is_default=True)


PAGE = replace(
    _JOB,
    recognition=page.Recognition("RayCronJob", ("ray.io/v1",), operator=ray.OPERATOR),
    fields=(
        *_JOB.fields,
        page.Field("spec", "Settings of the RayCronJob.", is_required=True),
        page.Field(_AT, "The spec of the RayJobs.", is_required=True),
    ),
    gang=replace(
        ray.grouping("spec", "jobTemplate", "rayClusterSpec"),
        named_by=("", "the number of the run and its UID, one for each run"),
        name_middle="(-[0-9]+)?",
        may_be_read=False,
        not_owned="all its runs would join one PodGroup",
    ),
    stop=page.Stop(suspended_by=("spec.suspend", *_JOB.stop.suspended_by)),
    changes=(),  # the next run has all changes
    growth=page.Growth((*_JOB.growth.rows, ("spec", _second_run)), by_default=True),
    makes=page.Makes((page.Made("RayJob", "ray.io"), *rayjob.PAGE.makes.objects), is_scheduled=True),
    refusals=replace(_JOB.refusals, operator=(*_JOB.refusals.operator, ("spec", page.schedule))),
    names=Names(
        (Naming(Alphabet.SERVICE, "KubeRay adds the minute of a run, and the RayCluster's suffix", 36),),
        _JOB.names.parts,
    ),
)
