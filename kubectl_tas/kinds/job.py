"""Describes the Job of Kubernetes. Sources: Kubernetes 1.35, pkg/apis/batch; KAI's job_grouper.go."""

from __future__ import annotations

from kubectl_tas.facts.kai import Feature
from kubectl_tas.kinds import page
from kubectl_tas.kinds.grouping import Gathered, Grouping, batch_minimum, batch_path
from kubectl_tas.kinds.naming import LABELLED, Alphabet, Names, Naming, last_index
from kubectl_tas.kinds.section import Document, value_at
from kubectl_tas.model import labels

_IS_SUSPENDED = page.suspended("spec.suspend")


def _batch(gathered: Gathered) -> list[int]:
    """Returns 1, since pods start one by one, or the annotation batch-min-member."""
    least = batch_minimum(gathered.document.get("metadata")) or 1
    return [min(least, count) for count in gathered.counts]


def _is_completed_in_tandem(_before: Document, after: Document) -> bool:
    """Whether an Indexed Job has as many completions as parallelism. Both may then change together."""
    spec = value_at(after, "spec") or {}
    return bool(spec.get("completionMode") == "Indexed" and spec.get("completions") == spec.get("parallelism"))


def _is_indexed(document: Document) -> bool:
    return bool(value_at(document, "spec", "completionMode") == "Indexed")


def _last_pod(document: Document) -> str:
    return f"-{last_index(value_at(document, 'spec', 'completions'))}"


_BACKOFF_LIMIT = 6
"""The default (pkg/apis/batch/v1/defaults.go)."""


def _again(document: Document) -> int:
    """Returns the pods for further completions, and those in place of failed ones."""
    spec = value_at(document, "spec") or {}
    parallelism, completions, each = (spec.get(name) for name in ("parallelism", "completions", "backoffLimitPerIndex"))
    beside = parallelism if page.is_count(parallelism) else 1
    all_pods = completions if page.is_count(completions) else beside
    limit = spec.get("backoffLimit")
    failures = all_pods * each if page.is_count(each) else limit if page.is_count(limit) else _BACKOFF_LIMIT
    return max(0, all_pods - beside) + failures


PAGE = page.WorkloadKind(
    recognition=page.Recognition("Job", ("batch/v1",), operator=""),
    fields=(
        page.Field("spec", "Settings of the Job.", is_required=True),
        page.Field("spec.parallelism", "Pods that run at the same time.", "count"),
        page.Field("spec.completions", "Pods that must succeed. For an Indexed Job, the number of indices.", "count"),
        page.Field("spec.completionMode", "Indexed: each pod has an index.", "any text"),
    ),
    pods=(
        page.Pods(
            "spec.template",
            "spec.parallelism",
            at_most="spec.completions",
            name="worker",
            completions="spec.completions",
            indexed=("spec.completionMode", "Indexed"),
            index_label=labels.JOB_INDEX,
        ),
    ),
    pod_rules=page.PodRules(
        restart=("Never", "OnFailure"),
        states_restart=True,
        ports_known=True,
        makes_selector=True,
        injected=("JOB_COMPLETION_INDEX",),  # addCompletionIndexEnvVariables of pkg/controller/job/indexed_job_utils.go
    ),
    gang=Grouping(
        _batch,
        batch_path,
        one_pod_group=Feature.JOB_GANGS,
        names_part=False,
        no_index="the pods of a Job bear an index only with completionMode: Indexed",
        segment_template="Move it to the pod template.",
    ),
    start=page.ALL_AT_ONCE,  # as many as parallelism: manageJob of job_controller.go
    filled_in=page.FilledIn(),
    stop=page.Stop(
        suspended_by=("spec.suspend",),
        deletes_itself=page.lifetime("spec.ttlSecondsAfterFinished"),  # pkg/controller/ttlafterfinished
    ),
    changes=(  # ValidateJobSpecUpdate of pkg/apis/batch/validation/validation.go
        page.refused(
            page.SERVER,
            *("selector", "completionMode", "podFailurePolicy", "backoffLimitPerIndex", "managedBy"),
            "successPolicy",
            below="spec",
            filled={("spec", "completionMode"): "NonIndexed"},
        ),
        page.refused(page.SERVER, "spec.completions", only=page.unless(_is_completed_in_tandem)),
        page.refused(page.SERVER, "spec.template", only=page.unless(_IS_SUSPENDED)),
        page.refused(
            page.SERVER,
            "spec.template",
            but=page.paths(*page.SCHEDULING, "spec.affinity.nodeAffinity", below="spec.template"),
            only=_IS_SUSPENDED,
        ),
    ),
    ends=page.Ends(deadline=page.seconds_at("spec", "activeDeadlineSeconds"), again=_again),
    growth=page.Growth(),
    makes=page.Makes(name_labels=("batch.kubernetes.io/job-name", "job-name")),
    marks=page.Marks(),
    names=Names(
        (
            Naming(Alphabet.SUBDOMAIN, LABELLED),
            Naming(Alphabet.LABEL, "the host names of its pods begin with it", added=_last_pod, only=_is_indexed),
        )
    ),
    refusals=page.Refusals(),
)
