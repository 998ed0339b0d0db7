"""Fields of Jobs, and of what replaces pods, as an API server takes or refuses them together."""

from __future__ import annotations

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


ROWS = {
    "an Indexed job says nothing of its one pod": (job("completionMode: Indexed"), []),
    "an Indexed job lacks completions": (
        job("completionMode: Indexed", "parallelism: 3"),
        [
            "w.yaml:5:3 fields-conflict: spec has no completions, which an Indexed job needs (Write completions: "
            "3, as many as there are indices.)"
        ],
    ),
    "an Indexed job that waits lacks completions": (
        job("completionMode: Indexed", "parallelism: 0"),
        [
            "w.yaml:5:3 fields-conflict: spec has no completions, which an Indexed job needs (Write completions: "
            "1, as many as there are indices.)"
        ],
    ),
    "nothing fills in the completions of a CronJob": (
        cron_job("completionMode: Indexed"),
        [
            "w.yaml:9:7 fields-conflict: spec.jobTemplate.spec has no completions, which an Indexed job needs "
            "(Write completions: 1, as many as there are indices.)"
        ],
    ),
    "a selector of its own": (job("manualSelector: true", "selector: {matchLabels: {app: x}}"), []),
    "a selector of its own in a CronJob": (
        cron_job("manualSelector: true", "selector: {matchLabels: {app: x}}"),
        [
            "w.yaml:9:7 fields-conflict: spec.jobTemplate.spec.manualSelector is refused in a CronJob, whose "
            "jobs have selectors of their own (Remove it, and the selector.)"
        ],
    ),
    "failed indexes without their limit": (
        indexed("maxFailedIndexes: 1"),
        ["w.yaml:8:3 fields-conflict: spec.maxFailedIndexes needs backoffLimitPerIndex (Write both, or neither.)"],
    ),
    "failed indexes with their limit": (indexed("maxFailedIndexes: 4", "backoffLimitPerIndex: 1"), []),
    "more failed indexes than there are": (
        indexed("backoffLimitPerIndex: 1", "maxFailedIndexes: 5"),
        ["w.yaml:9:3 fields-conflict: spec.maxFailedIndexes is 5, more than completions, 4 (Write 4 or less.)"],
    ),
    "more failed indexes than one pod has": (
        job("completionMode: Indexed", "backoffLimitPerIndex: 1", "maxFailedIndexes: 2"),
        ["w.yaml:7:3 fields-conflict: spec.maxFailedIndexes is 2, more than completions, 1 (Write 1 or less.)"],
    ),
    "failed indexes of unreadable completions": (
        job("completionMode: Indexed", "completions: x", "backoffLimitPerIndex: 1", "maxFailedIndexes: 2"),
        ['w.yaml:6:16 wrong-type: spec.completions must be a whole number, not "x" ()'],
    ),
    "failed indexes of a CronJob with unreadable completions": (
        cron_job(
            "completionMode: Indexed", "completions: x", "maxFailedIndexes: 2", successes("succeededIndexes: 0-1")
        ),
        ['w.yaml:10:20 wrong-type: spec.jobTemplate.spec.completions must be a whole number, not "x" ()'],
    ),
    "failed indexes of a JobSet with unreadable completions": (
        job_set("completions: x", "backoffLimitPerIndex: 1", "maxFailedIndexes: 2", successes("succeededIndexes: 0-1")),
        ['w.yaml:9:22 wrong-type: spec.replicatedJobs[0].template.spec.completions must be a whole number, not "x" ()'],
    ),
    "failed indexes of a JobSet": (
        job_set("backoffLimitPerIndex: 1", "maxFailedIndexes: 2"),
        [
            "w.yaml:10:9 fields-conflict: spec.replicatedJobs[0].template.spec.maxFailedIndexes is 2, more than "
            "completions, 1 (Write 1 or less.)"
        ],
    ),
    "failed indexes that are no number": (
        indexed("backoffLimitPerIndex: 1", "maxFailedIndexes: x"),
        ['w.yaml:9:21 wrong-type: spec.maxFailedIndexes must be a whole number, not "x" ()'],
    ),
    "failed indexes of a job without indexes": (
        job("backoffLimitPerIndex: 1", "maxFailedIndexes: 2"),
        [
            (
                "w.yaml:5:3 fields-conflict: spec.backoffLimitPerIndex is for jobs with completionMode Indexed "
                "(Write completionMode: Indexed, or remove it.)"
            ),
            (
                "w.yaml:6:3 fields-conflict: spec.maxFailedIndexes is for jobs with completionMode Indexed (Write "
                "completionMode: Indexed, or remove it.)"
            ),
        ],
    ),
    "a limit for each index where pods restart": (
        indexed("backoffLimitPerIndex: 1", pods=f"restartPolicy: OnFailure, {PODS}"),
        [
            "w.yaml:8:3 fields-conflict: spec.backoffLimitPerIndex needs pods with restartPolicy Never, not "
            "OnFailure (Write restartPolicy: Never in template.spec.)"
        ],
    ),
    "a limit for each index where pods say nothing": (
        indexed("backoffLimitPerIndex: 1", pods=PODS),
        [
            "w.yaml:9:44 restart-policy: the pods of a Job need restartPolicy Never or OnFailure, and say none "
            "(Write restartPolicy: Never.)"
        ],
    ),
    "an index fails without a limit": (
        indexed(failures("FailIndex", "In", "[1]")),
        [
            "w.yaml:8:31 fields-conflict: spec.podFailurePolicy.rules[0].action is FailIndex, which needs "
            "backoffLimitPerIndex (Write backoffLimitPerIndex, or action: FailJob.)"
        ],
    ),
    "an index fails with a limit": (indexed("backoffLimitPerIndex: 1", failures("FailIndex", "In", "[1]")), []),
    "any code but 0": (job(failures("FailJob", "NotIn", "[0]")), []),
    "the code 0": (
        job(failures("FailJob", "In", "[0]")),
        [
            "w.yaml:5:85 invalid-value: spec.podFailurePolicy.rules[0].onExitCodes.values[0] must not be 0 with "
            "operator In, not 0 (Remove it.)"
        ],
    ),
    "a code is no list": (
        job(failures("FailJob", "In", "7")),
        [
            "w.yaml:5:84 wrong-type: spec.podFailurePolicy.rules[0].onExitCodes.values must be a list, not 7 "
            "(Write a list: a '-' before each item.)"
        ],
    ),
    "a code is no number": (
        job(failures("FailJob", "In", "[x, 0]")),
        [
            "w.yaml:5:85 wrong-type: spec.podFailurePolicy.rules[0].onExitCodes.values[0] must be a whole "
            'number, not "x" ()'
        ],
    ),
    "indexes in order": (indexed(successes("succeededIndexes: '0,2-3', succeededCount: 3")), []),
    "more than the indexes": (
        indexed(successes("succeededIndexes: '0,2-3', succeededCount: 4")),
        [
            "w.yaml:8:55 fields-conflict: spec.successPolicy.rules[0].succeededCount is 4, and there are 3 "
            "indexes (Write 3 or less.)"
        ],
    ),
    "an index twice": (
        indexed(successes("succeededIndexes: '1,1'")),
        [
            "w.yaml:8:46 invalid-value: spec.successPolicy.rules[0].succeededIndexes must be indexes below 4 and "
            'ranges of them in order, such as 0,2-3, not "1,1" ()'
        ],
    ),
    "a range of one": (
        indexed(successes("succeededIndexes: '2-2'")),
        [
            "w.yaml:8:46 invalid-value: spec.successPolicy.rules[0].succeededIndexes must be indexes below 4 and "
            'ranges of them in order, such as 0,2-3, not "2-2" ()'
        ],
    ),
    "a range backwards": (
        indexed(successes("succeededIndexes: 3-2")),
        [
            "w.yaml:8:46 invalid-value: spec.successPolicy.rules[0].succeededIndexes must be indexes below 4 and "
            'ranges of them in order, such as 0,2-3, not "3-2" ()'
        ],
    ),
    "the index behind the last": (
        indexed(successes("succeededIndexes: 0-4")),
        [
            "w.yaml:8:46 invalid-value: spec.successPolicy.rules[0].succeededIndexes must be indexes below 4 and "
            'ranges of them in order, such as 0,2-3, not "0-4" ()'
        ],
    ),
    "no index": (
        indexed(successes("succeededIndexes: a")),
        [
            "w.yaml:8:46 invalid-value: spec.successPolicy.rules[0].succeededIndexes must be indexes below 4 and "
            'ranges of them in order, such as 0,2-3, not "a" ()'
        ],
    ),
    "all of the indexes": (indexed(successes("succeededCount: 4")), []),
    "more than all": (
        indexed(successes("succeededCount: 5")),
        [
            "w.yaml:8:28 fields-conflict: spec.successPolicy.rules[0].succeededCount is 5, and there are 4 "
            "indexes (Write 4 or less.)"
        ],
    ),
    "of how many is not known": (
        job(
            "completionMode: Indexed",
            "parallelism: 4",
            successes("succeededIndexes: 0-9", "succeededIndexes: 2-1", "succeededCount: 9"),
        ),
        [
            (
                "w.yaml:5:3 fields-conflict: spec has no completions, which an Indexed job needs (Write completions: "
                "4, as many as there are indices.)"
            ),
            (
                "w.yaml:7:71 invalid-value: spec.successPolicy.rules[1].succeededIndexes must be indexes and ranges "
                'of them in order, such as 0,2-3, not "2-1" ()'
            ),
        ],
    ),
    "the index behind the only one": (
        job("completionMode: Indexed", successes("succeededIndexes: 0-1")),
        [
            "w.yaml:6:46 invalid-value: spec.successPolicy.rules[0].succeededIndexes must be indexes below 1 and "
            'ranges of them in order, such as 0,2-3, not "0-1" ()'
        ],
    ),
    "no pod of a set is replaced": (
        replaced("StatefulSet", "updateStrategy: {rollingUpdate: {maxUnavailable: 0%}}"),
        [
            "w.yaml:5:52 invalid-value: spec.updateStrategy.rollingUpdate.maxUnavailable must be more than 0, "
            'not "0%" (Write 1, or remove it.)'
        ],
    ),
    "one pod of a set is replaced": (
        replaced("StatefulSet", "updateStrategy: {rollingUpdate: {maxUnavailable: 1}}"),
        [],
    ),
    "ready as late as the deadline": (
        replaced("Deployment", "progressDeadlineSeconds: 9", "minReadySeconds: 9"),
        [
            "w.yaml:6:3 fields-conflict: spec.minReadySeconds is 9, not less than progressDeadlineSeconds, 9 "
            "(Write progressDeadlineSeconds: 10.)"
        ],
    ),
    "ready before the deadline": (replaced("Deployment", "progressDeadlineSeconds: 9", "minReadySeconds: 8"), []),
    "a deadline is no number": (
        replaced("Deployment", "progressDeadlineSeconds: x", "minReadySeconds: 9"),
        ['w.yaml:5:28 wrong-type: spec.progressDeadlineSeconds must be a whole number, not "x" ()'],
    ),
}


@pytest.mark.parametrize(("text", "expected"), ROWS.values(), ids=ROWS)
def test_fields_together(text: str, expected: list[str]) -> None:
    assert told_of(text) == expected
