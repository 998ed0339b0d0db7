"""Checks which fields of Jobs, and of update strategies of Deployments and StatefulSets, need or exclude each other.
Follows ``ValidateJobSpec`` in pkg/apis/batch/validation and pkg/apis/apps/validation of Kubernetes 1.35.
"""

from __future__ import annotations

import re

from kubectl_tas.base.diagnostics import Diagnostic
from kubectl_tas.base.words import did_you_mean
from kubectl_tas.check.command_words import COMMAND_DOUBTFUL
from kubectl_tas.check.conflicts import NOT_EMPTY, Fields, Found, named
from kubectl_tas.facts.node_places import fulfils
from kubectl_tas.kinds import page_of_document
from kubectl_tas.kinds.page import ANY_PODS
from kubectl_tas.kinds.section import listed, mappings, written
from kubectl_tas.load.schema import invalid_value

_INDEX = "JOB_COMPLETION_INDEX"
_PROGRESS = 600
"""Seconds: Kubernetes' default for progressDeadlineSeconds of a Deployment."""


def job(fields: Fields) -> Found:
    """Checks a JobSpec. A JobSet makes its jobs Indexed (v0.12.0: pkg/webhooks/jobset_webhook.go). A Job without
    completions and parallelism has one of each (``SetDefaults_Job`` of pkg/apis/batch/v1/defaults.go); a CronJob gets
    no defaults.
    """
    page = page_of_document(fields.origin.data)
    completions = fields.get("completions")
    parallelism = fields.get("parallelism")
    rules, kind = page.pod_rules if page is not None else ANY_PODS, fields.origin.value(("kind",))
    mode = fields.get("completionMode") or ("Indexed" if rules.indexed_jobs else "NonIndexed")
    if mode == "Indexed":
        if completions is None and parallelism is None and rules.fills_completions:
            completions = 1
        if completions is None:
            reason = f", as jobs of a {kind} are" if rules.indexed_jobs and not fields.get("completionMode") else ""
            related_fields = [name for name in ("completionMode", "parallelism") if name in fields.value]
            hint = f"Write completions: {parallelism or 1}, as many as there are indices."
            yield fields.wrong(f"has no completions, which an Indexed job needs{reason}", hint, *related_fields[:1])
    else:
        yield from _index_used(fields)
        for name in ("backoffLimitPerIndex", "maxFailedIndexes", "successPolicy"):
            if fields.get(name) is not None:
                hint = "Write completionMode: Indexed, or remove it."
                yield fields.refuse(name, "is for jobs with completionMode Indexed", hint)
    selector, is_own = fields.get("selector"), fields.get("manualSelector") is True
    if is_own and not rules.own_selector:
        problem = f"is refused in a {kind}, whose jobs have selectors of their own"
        yield fields.refuse("manualSelector", problem, "Remove it, and the selector.")
    elif is_own and selector is None:
        yield fields.missing("selector", fields.value)
    elif is_own and isinstance(selector, dict):
        yield from _own_selector(fields)
    elif selector and not is_own and "controller-uid" not in str(selector):
        yield fields.refuse("selector", "is made by Kubernetes itself: another one is refused", "Remove it.")
    if fields.get("maxFailedIndexes") is not None and fields.get("backoffLimitPerIndex") is None:
        yield fields.refuse("maxFailedIndexes", "needs backoffLimitPerIndex", "Write both, or neither.")
    restarts = fields.below("template", "spec").get("restartPolicy")
    for name in ("podFailurePolicy", "backoffLimitPerIndex"):
        if fields.get(name) is not None and restarts is not None and restarts != "Never":
            problem = f"needs pods with restartPolicy Never, not {restarts}"
            yield fields.refuse(name, problem, "Write restartPolicy: Never in template.spec.")
    most = fields.get("maxFailedIndexes")
    if type(most) is int and completions is not None and most > completions:
        problem = f"is {most}, more than completions, {completions}"
        yield fields.refuse("maxFailedIndexes", problem, f"Write {completions} or less.")
    if isinstance(fields.get("podFailurePolicy"), dict):
        yield from _failures(fields)
    if mode == "Indexed" and isinstance(fields.get("successPolicy"), dict):
        yield from _successes(fields.below("successPolicy"), completions)


def _index_used(fields: Fields) -> Found:
    """Finds commands that use the index of a pod in a job whose pods have none."""
    for container in fields.below("template", "spec").containers:
        if any(variable.get("name") == _INDEX for variable in mappings(container.get("env"))):
            continue
        for name in ("command", "args"):
            for at, text in enumerate(listed(container.get(name))):
                if _INDEX in str(text):
                    message = f"{_INDEX} is empty: the pods of a job that is not Indexed have no index"
                    hint = f"Write completionMode: Indexed in {written(fields.path)}."
                    yield Diagnostic(
                        COMMAND_DOUBTFUL, message, fields.origin.locate((*container.path, name, at)), hint=hint
                    )


def _own_selector(fields: Fields) -> Found:
    """Checks that the selector of a job matches the labels of its template."""
    labels, selector = fields.below("template", "metadata", "labels").value, fields.below("selector")
    required_labels = selector.below("matchLabels").value
    conditions = mappings(selector.get("matchExpressions"))
    if any(labels.get(key) != value for key, value in required_labels.items()) or not all(
        fulfils(condition, labels) for condition in conditions
    ):
        problem, hint = "does not match the labels of template.metadata", "Write the same labels in both, or remove it."
        yield fields.refuse("selector", problem, hint)


def _failures(fields: Fields) -> Found:
    if fields.get("podReplacementPolicy") == "TerminatingOrFailed":
        problem = "has a podFailurePolicy, which needs podReplacementPolicy Failed"
        yield fields.wrong(problem, "Write Failed, or remove it.", "podReplacementPolicy")
    pods = fields.below("template", "spec")
    names = named(container for field in ("initContainers", "containers") for container in mappings(pods.get(field)))
    for rule in fields.below("podFailurePolicy").each("rules"):
        if rule.get("action") == "FailIndex" and fields.get("backoffLimitPerIndex") is None:
            hint = "Write backoffLimitPerIndex, or action: FailJob."
            yield rule.refuse("action", "is FailIndex, which needs backoffLimitPerIndex", hint)
        name = rule.below("onExitCodes").get("containerName")
        if name and name not in names:
            hint = did_you_mean(str(name), names, f"Their containers are {', '.join(names)}.")
            yield rule.conflict(f'the pods have no container "{name}"', hint, "onExitCodes", "containerName")


def failure_rule(fields: Fields) -> Found:
    """Checks that a rule of a podFailurePolicy is either about exit codes or about conditions of the pod."""
    kinds = [name for name in ("onExitCodes", "onPodConditions") if fields.has(name)]
    if len(kinds) != 1:
        yield fields.wrong(f"has {' and '.join(kinds) or 'no condition'}", "Write one of onExitCodes, onPodConditions.")


def exit_codes(fields: Fields) -> Found:
    """Checks that exit codes are sorted and unique, and that code 0 does not count as a failure."""
    codes = fields.get("values")
    if codes == []:
        yield fields.invalid(NOT_EMPTY, codes, "Write the codes.", "values")
    if not isinstance(codes, list) or not all(type(code) is int for code in codes):
        return
    if 0 in codes and fields.get("operator") == "In":
        yield fields.invalid("must not be 0 with operator In", 0, "Remove it.", "values", codes.index(0))
    elif codes != sorted(set(codes)):
        yield fields.refuse("values", "must be in order, each code once", f"Write {sorted(set(codes))}.")


def _successes(fields: Fields, completions: int | None) -> Found:
    if fields.get("rules") == []:
        yield fields.invalid(NOT_EMPTY, [], "Write one, or remove the policy.", "rules")
    for rule in fields.each("rules"):
        indexes, count = rule.get("succeededIndexes"), rule.get("succeededCount")
        if indexes is None and count is None:
            yield rule.wrong("has no condition", "Write one of succeededCount, succeededIndexes.")
        most = completions
        if isinstance(indexes, str):
            number = _counted(indexes, most)
            if number is None:
                last = "" if most is None else f" below {most}"
                problem = f"must be indexes{last} and ranges of them in order, such as 0,2-3"
                yield invalid_value(rule.origin, (*rule.path, "succeededIndexes"), problem, indexes)
                continue
            most = number
        if type(count) is int and most is not None and count > most:
            yield rule.refuse("succeededCount", f"is {count}, and there are {most} indexes", f"Write {most} or less.")


def _counted(text: str, completions: int | None) -> int | None:
    """Returns how many indexes a text such as ``0,2-3`` names; None if the API server cannot read the text."""
    number, last = 0, -1
    for index_range in text.split(","):
        match = re.fullmatch(r"([0-9]{1,9})(?:-([0-9]{1,9}))?", index_range)
        if match is None:
            return None
        begin, end = int(match[1]), int(match[2] or match[1])
        if not last < begin <= end or (match[2] and begin == end) or (completions is not None and end >= completions):
            return None
        number, last = number + end - begin + 1, end
    return number


def rolling(fields: Fields) -> Found:
    """Checks the update strategy of a Deployment or a StatefulSet."""
    kind = fields.get("type")
    if kind in ("Recreate", "OnDelete") and fields.get("rollingUpdate") is not None:
        hint = "Remove it, or write type: RollingUpdate."
        yield fields.wrong(f"has type {kind}, which takes no rollingUpdate", hint, "rollingUpdate")


def _is_none(value: object) -> bool:
    return value == 0 or (isinstance(value, str) and re.fullmatch(r"0+%", value) is not None)


def rolling_pods(fields: Fields) -> Found:
    """Checks that a Deployment may add or remove pods during an update; else it could replace none."""
    if _is_none(fields.get("maxSurge")) and _is_none(fields.get("maxUnavailable")):
        problem = "has neither maxSurge nor maxUnavailable above 0, so no pod could be replaced"
        yield fields.wrong(problem, "Write maxUnavailable: 1, or maxSurge: 1.", "maxUnavailable")


def rolling_members(fields: Fields) -> Found:
    """Checks that a StatefulSet may remove pods during an update; else it could replace none."""
    most = fields.get("maxUnavailable")
    if _is_none(most):
        yield fields.invalid("must be more than 0", most, "Write 1, or remove it.", "maxUnavailable")


def deployment(fields: Fields) -> Found:
    """Checks that progressDeadlineSeconds is longer than minReadySeconds."""
    progress, ready = fields.get("progressDeadlineSeconds", _PROGRESS), fields.get("minReadySeconds", 0)
    if type(progress) is int and type(ready) is int and ready >= progress >= 0:
        problem = f"is {ready}, not less than progressDeadlineSeconds, {progress}"
        hint = f"Write progressDeadlineSeconds: {ready + 1}."
        if "minReadySeconds" in fields.value:
            yield fields.refuse("minReadySeconds", problem, hint)
        else:
            yield fields.refuse(
                "progressDeadlineSeconds", f"is {progress}, not more than minReadySeconds, {ready}", hint
            )
