"""Fields of Jobs, and of what replaces pods, as an API server takes or refuses them together."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.judged import told_of

PODS = "containers: [{name: m, image: i, resources: {limits: {nvidia.com/gpu: 1}}}]"


def job(*fields: str, pods: str = f"restartPolicy: Never, {PODS}") -> str:
    """A Job with these fields, each in a line of its own from line 5 on."""
    head = "apiVersion: batch/v1\nkind: Job\nmetadata: {name: a, labels: {kubectl-tas/pool: team}}\nspec:\n"
    own = "".join(f"  {field}\n" for field in fields)
    return f"{head}{own}  template: {{metadata: {{labels: {{app: x}}}}, spec: {{{pods}}}}}\n"


def indexed(*fields: str, pods: str = f"restartPolicy: Never, {PODS}") -> str:
    """The same of four indices; what is added begins in line 8."""
    return job("completionMode: Indexed", "completions: 4", "parallelism: 4", *fields, pods=pods)


def cron_job(*fields: str) -> str:
    """A CronJob whose jobs have these fields, from line 8 on."""
    head = "apiVersion: batch/v1\nkind: CronJob\nmetadata: {name: a, labels: {kubectl-tas/pool: team}}\nspec:\n"
    own = "".join(f"      {field}\n" for field in fields)
    every = '  schedule: "@daily"\n  concurrencyPolicy: Forbid\n  jobTemplate:\n    spec:\n'
    return f"{head}{every}{own}      template: {{spec: {{restartPolicy: Never, {PODS}}}}}\n"


def job_set(*fields: str) -> str:
    """A JobSet whose one job has these fields, from line 9 on."""
    head = "apiVersion: jobset.x-k8s.io/v1alpha2\nkind: JobSet\nmetadata: {name: a, labels: {kubectl-tas/pool: team}}\n"
    own = "".join(f"        {field}\n" for field in fields)
    every = "spec:\n  replicatedJobs:\n  - name: a\n    template:\n      spec:\n"
    return f"{head}{every}{own}        template: {{spec: {{restartPolicy: Never, {PODS}}}}}\n"


def failures(action: str, operator: str, codes: str) -> str:
    return (
        f"podFailurePolicy: {{rules: [{{action: {action}, onExitCodes: {{operator: {operator}, values: {codes}}}}}]}}"
    )


def successes(*rules: str) -> str:
    return f"successPolicy: {{rules: [{', '.join(f'{{{rule}}}' for rule in rules)}]}}"


def replaced(kind: str, *fields: str) -> str:
    """A Deployment or a StatefulSet with these fields, from line 5 on."""
    head = f"apiVersion: apps/v1\nkind: {kind}\nmetadata: {{name: a, labels: {{kubectl-tas/pool: team}}}}\nspec:\n"
    own = "".join(f"  {field}\n" for field in fields)
    pods = "metadata: {labels: {app: x}}, spec: {containers: [{name: m, image: i}]}"
    return f"{head}{own}  selector: {{matchLabels: {{app: x}}}}\n  template: {{{pods}}}\n"


SILENT = {
    "an Indexed job says nothing of its one pod": job("completionMode: Indexed"),
    "a selector of its own": job("manualSelector: true", "selector: {matchLabels: {app: x}}"),
    "failed indexes with their limit": indexed("maxFailedIndexes: 4", "backoffLimitPerIndex: 1"),
    "an index fails with a limit": indexed("backoffLimitPerIndex: 1", failures("FailIndex", "In", "[1]")),
    "any code but 0": job(failures("FailJob", "NotIn", "[0]")),
    "indexes in order": indexed(successes("succeededIndexes: '0,2-3', succeededCount: 3")),
    "all of the indexes": indexed(successes("succeededCount: 4")),
    "one pod of a set is replaced": replaced("StatefulSet", "updateStrategy: {rollingUpdate: {maxUnavailable: 1}}"),
    "ready before the deadline": replaced("Deployment", "progressDeadlineSeconds: 9", "minReadySeconds: 8"),
}
ROWS = {
    "an Indexed job lacks completions": job("completionMode: Indexed", "parallelism: 3"),
    "an Indexed job that waits lacks completions": job("completionMode: Indexed", "parallelism: 0"),
    "nothing fills in the completions of a CronJob": cron_job("completionMode: Indexed"),
    "a selector of its own in a CronJob": cron_job("manualSelector: true", "selector: {matchLabels: {app: x}}"),
    "failed indexes without their limit": indexed("maxFailedIndexes: 1"),
    "more failed indexes than there are": indexed("backoffLimitPerIndex: 1", "maxFailedIndexes: 5"),
    "more failed indexes than one pod has": job(
        "completionMode: Indexed", "backoffLimitPerIndex: 1", "maxFailedIndexes: 2"
    ),
    "failed indexes of unreadable completions": job(
        "completionMode: Indexed", "completions: x", "backoffLimitPerIndex: 1", "maxFailedIndexes: 2"
    ),
    "failed indexes of a CronJob with unreadable completions": cron_job(
        "completionMode: Indexed", "completions: x", "maxFailedIndexes: 2", successes("succeededIndexes: 0-1")
    ),
    "failed indexes of a JobSet with unreadable completions": job_set(
        "completions: x", "backoffLimitPerIndex: 1", "maxFailedIndexes: 2", successes("succeededIndexes: 0-1")
    ),
    "failed indexes of a JobSet": job_set("backoffLimitPerIndex: 1", "maxFailedIndexes: 2"),
    "failed indexes that are no number": indexed("backoffLimitPerIndex: 1", "maxFailedIndexes: x"),
    "failed indexes of a job without indexes": job("backoffLimitPerIndex: 1", "maxFailedIndexes: 2"),
    "a limit for each index where pods restart": indexed(
        "backoffLimitPerIndex: 1", pods=f"restartPolicy: OnFailure, {PODS}"
    ),
    "a limit for each index where pods say nothing": indexed("backoffLimitPerIndex: 1", pods=PODS),
    "an index fails without a limit": indexed(failures("FailIndex", "In", "[1]")),
    "the code 0": job(failures("FailJob", "In", "[0]")),
    "a code is no list": job(failures("FailJob", "In", "7")),
    "a code is no number": job(failures("FailJob", "In", "[x, 0]")),
    "more than the indexes": indexed(successes("succeededIndexes: '0,2-3', succeededCount: 4")),
    "an index twice": indexed(successes("succeededIndexes: '1,1'")),
    "a range of one": indexed(successes("succeededIndexes: '2-2'")),
    "a range backwards": indexed(successes("succeededIndexes: 3-2")),
    "the index behind the last": indexed(successes("succeededIndexes: 0-4")),
    "no index": indexed(successes("succeededIndexes: a")),
    "more than all": indexed(successes("succeededCount: 5")),
    "of how many is not known": job(
        "completionMode: Indexed",
        "parallelism: 4",
        successes("succeededIndexes: 0-9", "succeededIndexes: 2-1", "succeededCount: 9"),
    ),
    "the index behind the only one": job("completionMode: Indexed", successes("succeededIndexes: 0-1")),
    "no pod of a set is replaced": replaced("StatefulSet", "updateStrategy: {rollingUpdate: {maxUnavailable: 0%}}"),
    "ready as late as the deadline": replaced("Deployment", "progressDeadlineSeconds: 9", "minReadySeconds: 9"),
    "a deadline is no number": replaced("Deployment", "progressDeadlineSeconds: x", "minReadySeconds: 9"),
}


@pytest.mark.parametrize("name", ROWS)
def test_fields_together(name: str, snapshot: Any) -> None:
    assert "\n".join(told_of(ROWS[name])) == snapshot


@pytest.mark.parametrize("name", SILENT)
def test_fields_together_silent(name: str) -> None:
    assert told_of(SILENT[name]) == []
