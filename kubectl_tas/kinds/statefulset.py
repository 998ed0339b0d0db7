"""Describes the StatefulSet of Kubernetes, whose pods have fixed names. Source: Kubernetes 1.35, pkg/apis/apps."""

from __future__ import annotations

from collections.abc import Iterator

from kubectl_tas.kinds import page
from kubectl_tas.kinds.grouping import Gathered, Grouping, every_pod, one_pod
from kubectl_tas.kinds.naming import HASH, HASHED, Alphabet, Names, Naming
from kubectl_tas.kinds.replicated import FIELDS, PODS
from kubectl_tas.kinds.section import value_at
from kubectl_tas.model.labels import MAX_LABEL

_ON_DELETE = page.becomes("OnDelete", "spec.updateStrategy.type")


def _waits(gathered: Gathered) -> Iterator[page.Wait]:
    """Yields the order of the pods (``processReplica`` of pkg/controller/statefulset/stateful_set_control.go)."""
    policy = value_at(gathered.document, "spec", "podManagementPolicy") or "OrderedReady"
    if policy == "OrderedReady":
        reason = "podManagementPolicy: OrderedReady makes each pod only when the one before it is ready"
        yield page.Wait(("spec", "podManagementPolicy"), reason, "Set podManagementPolicy: Parallel", one_pod(gathered))


PAGE = page.WorkloadKind(
    recognition=page.Recognition("StatefulSet", ("apps/v1",), operator=""),
    fields=(
        *FIELDS,
        page.Field(
            "spec.podManagementPolicy",
            "OrderedReady: the controller creates a pod once the previous one is ready. Parallel: all pods at once.",
            "OrderedReady|Parallel",
        ),
    ),
    pods=PODS,
    pod_rules=page.PodRules(restart=("Always",), selector="spec.selector", ports_known=True, injected=()),
    gang=Grouping(every_pod, starts_one_by_one=True, segment_template="Move it to the pod template."),
    start=page.Start(waits=_waits),
    filled_in=page.FilledIn(),
    stop=page.Stop(switch=("spec", "replicas")),
    changes=(  # ValidateStatefulSetUpdate of pkg/apis/apps/validation
        page.refused(
            page.SERVER,
            "spec",
            but=page.paths(
                *("replicas", "ordinals", "template", "updateStrategy", "revisionHistoryLimit"),
                *("persistentVolumeClaimRetentionPolicy", "minReadySeconds"),
                below="spec",
            ),
            filled={("spec", "podManagementPolicy"): "OrderedReady"},
        ),
        page.restarted("the StatefulSet", "spec.template", only=page.unless(_ON_DELETE)),
        page.kept("the update strategy OnDelete", "spec.template", only=_ON_DELETE),
    ),
    ends=page.SERVICE,
    growth=page.Growth(scaled_alone=True),
    makes=page.Makes(claims="spec.volumeClaimTemplates", service="spec.serviceName"),
    marks=page.Marks(),
    names=Names((Naming(Alphabet.LABEL, HASHED, MAX_LABEL - HASH),)),
    refusals=page.Refusals(),
)
