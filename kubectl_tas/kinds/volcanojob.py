"""Describes Volcano's Job, which KAI may not read. Source: Volcano 1.13."""

from __future__ import annotations

from kubectl_tas.kinds import page
from kubectl_tas.kinds.grouping import Grouping, first_pod

PAGE = page.WorkloadKind(
    recognition=page.Recognition(
        "Job", ("batch.volcano.sh/v1alpha1",), "volcano", name="Job.batch.volcano.sh", schema="VolcanoJob"
    ),
    fields=(),
    pods=(page.Pods("spec.tasks[].template", "spec.tasks[].replicas"),),
    pod_rules=page.ANY_PODS,
    gang=Grouping(first_pod, one_pod_group=False, has_plugin=False),
    start=page.ALL_AT_ONCE,
    filled_in=page.FilledIn(),
    stop=page.Stop(switch=("spec", "suspend"), suspended_by=(), deletes_itself=page.never_deleted),
    changes=(
        page.Fixed(
            page.Effect.REFUSED,
            page.paths("spec"),
            "Volcano's webhook",
            but=page.paths("spec.minAvailable", "spec.tasks.*.replicas"),
        ),
    ),
    growth=page.Growth(),
    makes=page.Makes(),
    marks=page.Marks(),
    refusals=page.Refusals(),
)
