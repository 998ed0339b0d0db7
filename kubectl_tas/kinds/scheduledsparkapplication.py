"""Describes the ScheduledSparkApplication, which embeds a SparkApplication. Source: spark-operator 2.5,
api/v1beta2/scheduledsparkapplication_types.go and internal/controller/scheduledsparkapplication.
"""

from __future__ import annotations

from dataclasses import replace

from kubectl_tas.kinds import cronjob, page, sparkapplication
from kubectl_tas.kinds.naming import Alphabet, Names, Naming
from kubectl_tas.model.labels import MAX_LABEL

_TIME = len("-1700000000000000000")
"""The characters that a run adds to the name of its SparkApplication: the time in nanoseconds (controller.go)."""
_APPLICATION = page.embedded(sparkapplication.PAGE, "spec.template")
PAGE = replace(
    _APPLICATION,
    recognition=page.Recognition(
        "ScheduledSparkApplication", ("sparkoperator.k8s.io/v1beta2",), sparkapplication.OPERATOR
    ),
    gang=replace(sparkapplication.PAGE.gang, placed_at=("spec", "template", "driver", "annotations")),
    stop=page.Stop(suspended_by=("spec.suspend", *_APPLICATION.stop.suspended_by)),
    changes=(),  # the next run has all changes
    ends=page.Ends(),
    growth=page.Growth((("spec", cronjob.overlapping_runs),)),
    makes=page.Makes((page.Made("SparkApplication", "sparkoperator.k8s.io"),), is_scheduled=True),
    refusals=replace(_APPLICATION.refusals, operator=(*_APPLICATION.refusals.operator, ("spec", page.schedule))),
    names=Names((Naming(Alphabet.SERVICE, "the time of a run is added to it", MAX_LABEL - _TIME, since="2.4"),)),
)
