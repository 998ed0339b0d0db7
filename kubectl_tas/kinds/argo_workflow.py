"""Describes Argo's Workflow, whose templates are pods. Sources: Argo Workflows 3.7, workflowpod.go; KAI skips the
Workflow and makes a PodGroup of each pod (skiptopowner.go, podjob.go).
"""

from __future__ import annotations

from collections.abc import Iterator

from kubectl_tas.kinds import page
from kubectl_tas.kinds.grouping import Grouping, first_pod
from kubectl_tas.kinds.naming import LABELLED, REFUSED, Alphabet, Names, Naming, PartNaming
from kubectl_tas.kinds.section import Section
from kubectl_tas.kinds.step_names import check_names
from kubectl_tas.kinds.step_pods import NO_LIMIT, StepPods

_TEMPLATES = ("spec.templates[]", "spec.templates[].steps[][].inline", "spec.templates[].dag.tasks[].inline")
_VOLUMES = ("input-artifacts", "tmp-dir-argo", "var-run-argo")
"""Volumes of the executor (workflowpod.go)."""


def _loops(growing: page.Growing, spec: Section) -> Iterator[page.Grown]:
    """Yields the growth of a workflow of steps. Each template is counted once."""
    steps = StepPods(spec.value, spec.path, {pods.path: pods.gpus for pods in growing.pods})
    few = int(growing.gpus // steps.largest) if steps.largest else 0
    hint = f"Write parallelism: {max(1, few)} in {spec.at()}, or fewer items."
    most = None if steps.most == NO_LIMIT else steps.most
    yield page.Grown(steps.place, growing.gpus, most, 1, "the GPUs of its pods", " at a time", hint)


PAGE = page.WorkloadKind(
    recognition=page.Recognition(
        "Workflow",
        ("argoproj.io/v1alpha1",),
        "argo-workflows",
        name="Workflow.argoproj.io",
        schema="ArgoWorkflow",
    ),
    fields=(),
    pods=tuple(page.Pods(path, is_optional=True, form="podforms:ArgoTemplate") for path in _TEMPLATES),
    pod_rules=page.PodRules(
        restart=(), defaults_at="spec", ports_known=True, has_parameters=True, added_volumes=_VOLUMES
    ),
    gang=Grouping(first_pod, one_pod_group=False, not_owned="the file does not say how many of its pods run at a time"),
    start=page.ALL_AT_ONCE,  # each step is a gang of its own
    filled_in=page.FilledIn(),
    stop=page.Stop(suspended_by=("spec.suspend",)),
    changes=(page.kept("Argo's controller", "spec.templates"),),
    ends=page.Ends(deadline=page.seconds_at("spec", "activeDeadlineSeconds")),
    growth=page.Growth((("spec", _loops),)),
    makes=page.Makes(),
    marks=page.Marks(),
    names=Names(
        (Naming(Alphabet.SUBDOMAIN, LABELLED),),
        (PartNaming("spec.templates[].name", "template", Alphabet.MIXED, REFUSED, 128),),
    ),
    refusals=page.Refusals((("spec", check_names),)),
)
