"""Describes the StatefulSet of Kubernetes, whose pods have fixed names. Source: Kubernetes 1.35, pkg/apis/apps."""

from __future__ import annotations

from collections.abc import Iterator

from kubectl_tas.kinds import page
from kubectl_tas.kinds.grouping import Grouping, every_pod
from kubectl_tas.kinds.naming import HASH, HASHED, Alphabet, Names, Naming
from kubectl_tas.kinds.replicated import FIELDS, PODS
from kubectl_tas.kinds.section import Document, value_at
from kubectl_tas.model.labels import MAX_LABEL

_ON_DELETE = page.becomes("OnDelete", "spec.updateStrategy.type")


def _waits(document: Document) -> Iterator[page.Wait]:
    policy = value_at(document, "spec", "podManagementPolicy") or "OrderedReady"
    if policy == "OrderedReady" and (value_at(document, "spec", "replicas") or 0) > 1:
        why = "podManagementPolicy: OrderedReady makes each pod only when the one before it is ready"
        yield page.Wait(("spec", "podManagementPolicy"), why, "Parallel", of_several=False)


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
    pod_rules=page.PodRules(restart=("Always",), selector="spec.selector", ports_known=True),
    gang=Grouping(every_pod, starts_one_by_one=True, segment_template="Move it to the pod template."),
    start=page.Start(waits=_waits),
    filled_in=page.FilledIn(),
    stop=page.Stop(switch=("spec", "replicas"), suspended_by=(), deletes_itself=page.never_deleted),
    changes=(  # ValidateStatefulSetUpdate of pkg/apis/apps/validation
        page.Fixed(
            page.Effect.REFUSED,
            page.paths("spec"),
            page.SERVER,
            but=page.paths(
                *("replicas", "ordinals", "template", "updateStrategy", "revisionHistoryLimit"),
                *("persistentVolumeClaimRetentionPolicy", "minReadySeconds"),
                below="spec",
            ),
            filled={("spec", "podManagementPolicy"): "OrderedReady"},
        ),
        page.Fixed(page.Effect.RESTARTED, page.TEMPLATE, "the StatefulSet", only=page.unless(_ON_DELETE)),
        page.Fixed(page.Effect.KEPT, page.TEMPLATE, "the update strategy OnDelete", only=_ON_DELETE),
    ),
    growth=page.Growth(scaled_alone=True),
    makes=page.Makes(claims="spec.volumeClaimTemplates", service="spec.serviceName"),
    marks=page.Marks(),
    names=Names((Naming(Alphabet.LABEL, HASHED, MAX_LABEL - HASH),)),
    refusals=page.Refusals(),
)
