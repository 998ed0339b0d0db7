"""Describes the ScheduledSparkApplication, which embeds a SparkApplication. Source: spark-operator 2.5,
api/v1beta2/scheduledsparkapplication_types.go and internal/controller/scheduledsparkapplication.
"""

from __future__ import annotations

from dataclasses import replace

from kubectl_tas.kinds import cronjob, page, sparkapplication
from kubectl_tas.kinds.naming import ANY

_AT = "spec.template"
_APPLICATION = page.embedded(sparkapplication.PAGE, _AT)
PAGE = replace(
    _APPLICATION,
    recognition=page.Recognition(
        "ScheduledSparkApplication", ("sparkoperator.k8s.io/v1beta2",), sparkapplication.OPERATOR
    ),
    gang=replace(_APPLICATION.gang, placed_at=("spec", "template", "driver", "annotations")),
    stop=page.Stop(
        switch=("spec", "suspend"),
        suspended_by=("spec.suspend", f"{_AT}.suspend"),
        deletes_itself=page.never_deleted,
    ),
    changes=(),  # the next run has all changes
    growth=page.Growth((("spec", cronjob.overlapping_runs),)),
    makes=page.Makes((page.Made("SparkApplication", "sparkoperator.k8s.io"),), is_scheduled=True),
    refusals=replace(_APPLICATION.refusals, operator=(*_APPLICATION.refusals.operator, ("spec", page.schedule))),
    names=ANY,
)
