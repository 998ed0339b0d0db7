"""Describes Kubeflow Trainer's TrainJob, whose pods come from a runtime. Sources: Trainer 2.3, trainjob_types.go; KAI's
skiptopowner.go.
"""

from __future__ import annotations

from kubectl_tas.kinds import page
from kubectl_tas.kinds.grouping import Grouping, every_pod
from kubectl_tas.kinds.naming import REFUSED, Alphabet, Names, Naming

_TRAINER = "spec.trainer"
PAGE = page.WorkloadKind(
    recognition=page.Recognition("TrainJob", ("trainer.kubeflow.org/v1alpha1",), operator="trainer"),
    fields=(
        page.Field("spec", "Settings of the training.", is_required=True),
        page.Field(_TRAINER, "Trainer settings.", "trainer"),
        page.Field(f"{_TRAINER}.numNodes", "Number of pods. The default comes from the runtime.", "positive"),
        page.Field("spec.labels", "Labels of the objects that the controller creates.", "labels"),
    ),
    pods=(
        page.Pods(
            _TRAINER, f"{_TRAINER}.numNodes", name="node", metadata=f"{_TRAINER}.metadata", form="podforms:Trainer"
        ),
    ),
    pod_rules=page.PodRules(  # manifests/base/runtimes; those of torchtune ask for GPUs
        restart=(),
        without_gpus=tuple(f"{name}-distributed" for name in ("torch", "deepspeed", "jax", "mlx", "xgboost")),
    ),
    gang=Grouping(
        every_pod,
        templates_elsewhere=True,
        not_owned="it has no pod template to mark",
        segment_template="Remove it: the pod template of a TrainJob is in its runtime.",
    ),
    start=page.ALL_AT_ONCE,
    filled_in=page.FilledIn(),
    stop=page.Stop(switch=("spec", "suspend"), suspended_by=("spec.suspend",), deletes_itself=page.never_deleted),
    changes=(
        page.Fixed(
            page.Effect.REFUSED,
            page.paths("spec.runtimePatches", "spec.podTemplateOverrides"),
            "Kubeflow Trainer's webhook",
            only=page.unless(page.either_suspended),
        ),
        page.Fixed(
            page.Effect.KEPT,
            page.paths("initializer", "trainer", "activeDeadlineSeconds", "labels", "annotations", below="spec"),
            "Kubeflow Trainer",
            only=page.unless(page.either_suspended),
        ),
    ),
    growth=page.Growth(),
    makes=page.Makes(
        (page.Made("JobSet", "jobset.x-k8s.io"), page.Made("Job", "batch")),
        services=("{}",),
        name_labels=("jobset.sigs.k8s.io/jobset-name",),
    ),
    marks=page.Marks(),
    names=Names((Naming(Alphabet.SERVICE, REFUSED),)),
    refusals=page.Refusals(),
)
