"""Describes Kubeflow's Notebook. Sources: notebook_controller.go of Kubeflow 1.9; KAI's notebook_grouper.go."""

from __future__ import annotations

from kubectl_tas.kinds import page
from kubectl_tas.kinds.grouping import Grouping, every_pod
from kubectl_tas.kinds.naming import HASH, HASHED, SERVED, Alphabet, Names, Naming
from kubectl_tas.model import labels
from kubectl_tas.model.labels import MAX_LABEL

PAGE = page.WorkloadKind(
    recognition=page.Recognition("Notebook", ("kubeflow.org/v1", "kubeflow.org/v1beta1"), operator="notebooks"),
    fields=(page.Field("spec", "Settings of the Notebook.", is_required=True),),
    pods=(
        page.Pods(
            "spec.template",
            name="pod",
            metadata="metadata",
            stopped_by=labels.NOTEBOOK_STOPPED,
            form="podforms:OwnTemplate",
        ),
    ),
    pod_rules=page.PodRules(restart=("Always",)),
    gang=Grouping(  # notebook_grouper.go
        every_pod,
        segment_template="Remove it: a Notebook is one pod.",
        plugin_versions=("kubeflow.org/v1beta1",),
        default_class="build",
    ),
    start=page.ALL_AT_ONCE,  # one pod
    filled_in=page.FilledIn(),
    stop=page.Stop(),
    changes=(page.restarted("the Notebook", "spec.template"),),
    ends=page.SERVICE,
    growth=page.Growth(),
    makes=page.Makes(
        (page.Made("StatefulSet", "apps", ("spec", "replicas")),), services=("{}",), name_labels=("notebook-name",)
    ),
    marks=page.Marks(),
    names=Names((Naming(Alphabet.SERVICE, SERVED), Naming(Alphabet.SERVICE, HASHED, MAX_LABEL - HASH))),
    refusals=page.Refusals(),
)
