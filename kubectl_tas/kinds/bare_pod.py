"""Describes a Pod without an owner. Sources: Kubernetes 1.35, ValidatePodUpdate of pkg/apis/core/validation; KAI's
podjob.go, and isOrphanPodWithPodGroup of pod_controller.go (0.5 to 0.17).
"""

from __future__ import annotations

from kubectl_tas.kinds import page
from kubectl_tas.kinds.grouping import Grouping, every_pod
from kubectl_tas.kinds.naming import ANY
from kubectl_tas.kinds.section import Document, value_at


def _loses_tolerations(before: Document, after: Document) -> bool:
    """Whether a toleration is removed or changed. New ones are allowed."""
    old, new = (value_at(data, "spec", "tolerations") or [] for data in (before, after))
    return any(toleration not in new for toleration in old)


PAGE = page.WorkloadKind(
    recognition=page.Recognition("Pod", ("v1",), operator="", schema="BarePod"),
    fields=(page.Field("spec", "Settings of the Pod.", is_required=True),),
    pods=(page.Pods("", name="pod", metadata="metadata"),),
    pod_rules=page.PodRules(restart=(), ports_known=True, injected=()),
    gang=Grouping(every_pod, names_its_own=True, segment_template="Remove it: a Pod is not divided."),
    start=page.ALL_AT_ONCE,  # one pod
    filled_in=page.FilledIn(),
    stop=page.Stop(),
    changes=(
        page.refused(
            page.SERVER,
            "spec",
            but=page.paths(
                *("containers.*.image", "initContainers.*.image", "activeDeadlineSeconds", "schedulingGates"),
                "tolerations",
                below="spec",
            ),
            filled={("spec", "restartPolicy"): "Always"},
        ),
        page.refused(page.SERVER, "spec.tolerations", only=_loses_tolerations),
        # the kubelet starts a container of another image anew (containerChanged of pkg/kubelet/kuberuntime)
        page.restarted("the kubelet", "spec.containers.*.image"),
    ),
    ends=page.Ends(is_remade=False),
    growth=page.Growth(),
    makes=page.Makes(),
    marks=page.Marks(),
    names=ANY,
    refusals=page.Refusals(),
)
