"""Describes Grove's PodCliqueSet. Grove makes its gangs: resolve/podcliqueset.py and gangs/written_gangs.py have them.
Sources: Grove 0.1.0-alpha.11, operator/api/core/v1alpha1 and operator/api/common/namegen.go.
"""

from __future__ import annotations

from kubectl_tas.kinds import SET, page
from kubectl_tas.kinds.grouping import Grouping, every_pod
from kubectl_tas.kinds.naming import SERVED, Alphabet, Names, Naming, last_index
from kubectl_tas.kinds.section import Document, value_at

_CLIQUES = "spec.template.cliques[]"
_REPLICAS = ("spec", "replicas")
_ON_DELETE = page.becomes("OnDelete", "spec.updateStrategy.type")
_PODS = page.paths(
    *("priorityClassName", "cliques.*.spec.podSpec", "cliques.*.labels", "cliques.*.annotations"), below="spec.template"
)
"""Fields from which Grove computes the hash of its pods' templates."""


def _last_replica(document: Document) -> str:
    return f"-{last_index(value_at(document, 'spec', 'replicas'))}"


PAGE = page.WorkloadKind(
    recognition=page.Recognition(SET.kind, SET.versions, "grove"),
    fields=(),  # model/grovekinds.py
    pods=(page.Pods(f"{_CLIQUES}.spec.podSpec", f"{_CLIQUES}.spec.replicas", factor="spec.replicas"),),
    pod_rules=page.ANY_PODS,
    gang=Grouping(every_pod, not_owned="Grove makes its gangs"),
    start=page.ALL_AT_ONCE,
    filled_in=page.FilledIn(),
    stop=page.Stop(switch=_REPLICAS, suspended_by=(), deletes_itself=page.never_deleted),
    changes=(  # constraints: compare/grove_changes.py. Pods: ComputePCLQPodTemplateHash, Grove 0.1.0-alpha.11
        page.Fixed(page.Effect.RESTARTED, _PODS, "Grove", only=page.unless(_ON_DELETE)),
        page.Fixed(page.Effect.KEPT, _PODS, "the update strategy OnDelete", only=_ON_DELETE),
    ),
    growth=page.Growth(),  # autoScalingConfig of cliques and scaling groups: check/growth.py
    makes=page.Makes(
        (page.Made("PodCliqueScalingGroup", "grove.io"), page.Made("PodClique", "grove.io", _REPLICAS)),
        services=("{}-#",),
        is_set=True,
    ),
    marks=page.Marks(),
    names=Names((Naming(Alphabet.SERVICE, SERVED, added=_last_replica),)),
    refusals=page.Refusals(),  # check/grove_api.py
)
