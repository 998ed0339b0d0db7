"""Checks which fields of Jobs, and of update strategies of Deployments and StatefulSets, need or exclude each other.
Follows ``ValidateJobSpec`` in pkg/apis/batch/validation and pkg/apis/apps/validation of Kubernetes 1.35.
"""

from __future__ import annotations

import re

from kubectl_tas.check.conflicts import NOT_EMPTY, Fields, Found, named
from kubectl_tas.kinds import page_of_document
from kubectl_tas.kinds.page import ANY_PODS
from kubectl_tas.kinds.section import mappings
from kubectl_tas.load.schema import invalid_value
from kubectl_tas.node_places import fulfils
from kubectl_tas.words import did_you_mean

_PROGRESS = 600
"""Seconds: Kubernetes' default for progressDeadlineSeconds of a Deployment."""


def job(of: Fields) -> Found:
    """Checks a JobSpec. A JobSet makes its jobs Indexed (v0.12.0: pkg/webhooks/jobset_webhook.go). A Job without
    completions and parallelism has one of each (``SetDefaults_Job`` of pkg/apis/batch/v1/defaults.go); a CronJob gets
    no defaults.
    """
    page, completions, parallelism = page_of_document(of.origin.data), of.get("completions"), of.get("parallelism")
    rules, kind = page.pod_rules if page is not None else ANY_PODS, of.origin.value(("kind",))
    mode = of.get("completionMode") or ("Indexed" if rules.indexed_jobs else "NonIndexed")
    if mode == "Indexed":
        if completions is None and parallelism is None and rules.fills_completions:
            completions = 1
        if completions is None:
            why = f", as jobs of a {kind} are" if rules.indexed_jobs and not of.get("completionMode") else ""
            place = [name for name in ("completionMode", "parallelism") if name in of.value]
            hint = f"Write completions: {parallelism or 1}, as many as there are indices."
            yield of.wrong(f"has no completions, which an Indexed job needs{why}", hint, *place[:1])
    else:
        for name in ("backoffLimitPerIndex", "maxFailedIndexes", "successPolicy"):
            if of.get(name) is not None:
                hint = "Write completionMode: Indexed, or remove it."
                yield of.refuse(name, "is for jobs with completionMode Indexed", hint)
    selector, is_own = of.get("selector"), of.get("manualSelector") is True
    if is_own and not rules.own_selector:
        what = f"is refused in a {kind}, whose jobs have selectors of their own"
        yield of.refuse("manualSelector", what, "Remove it, and the selector.")
    elif is_own and selector is None:
        yield of.missing("selector", of.value)
    elif is_own and isinstance(selector, dict):
        yield from _own_selector(of)
    elif selector and not is_own and "controller-uid" not in str(selector):
        yield of.refuse("selector", "is made by Kubernetes itself: another one is refused", "Remove it.")
    if of.get("maxFailedIndexes") is not None and of.get("backoffLimitPerIndex") is None:
        yield of.refuse("maxFailedIndexes", "needs backoffLimitPerIndex", "Write both, or neither.")
    restarts = of.below("template", "spec").get("restartPolicy")
    for name in ("podFailurePolicy", "backoffLimitPerIndex"):
        if of.get(name) is not None and restarts is not None and restarts != "Never":
            what = f"needs pods with restartPolicy Never, not {restarts}"
            yield of.refuse(name, what, "Write restartPolicy: Never in template.spec.")
    most = of.get("maxFailedIndexes")
    if type(most) is int and completions is not None and most > completions:
        what = f"is {most}, more than completions, {completions}"
        yield of.refuse("maxFailedIndexes", what, f"Write {completions} or less.")
    if isinstance(of.get("podFailurePolicy"), dict):
        yield from _failures(of)
    if mode == "Indexed" and isinstance(of.get("successPolicy"), dict):
        yield from _successes(of.below("successPolicy"), completions)


def _own_selector(of: Fields) -> Found:
    """Checks that the selector of a job matches the labels of its template."""
    labels, selector = of.below("template", "metadata", "labels").value, of.below("selector")
    wanted = selector.below("matchLabels").value
    conditions = mappings(selector.get("matchExpressions"))
    if any(labels.get(key) != value for key, value in wanted.items()) or not all(
        fulfils(condition, labels) for condition in conditions
    ):
        what, hint = "does not match the labels of template.metadata", "Write the same labels in both, or remove it."
        yield of.refuse("selector", what, hint)


def _failures(of: Fields) -> Found:
    if of.get("podReplacementPolicy") == "TerminatingOrFailed":
        what = "has a podFailurePolicy, which needs podReplacementPolicy Failed"
        yield of.wrong(what, "Write Failed, or remove it.", "podReplacementPolicy")
    pods = of.below("template", "spec")
    names = named(item for field in ("initContainers", "containers") for item in mappings(pods.get(field)))
    for rule in of.below("podFailurePolicy").each("rules"):
        if rule.get("action") == "FailIndex" and of.get("backoffLimitPerIndex") is None:
            hint = "Write backoffLimitPerIndex, or action: FailJob."
            yield rule.refuse("action", "is FailIndex, which needs backoffLimitPerIndex", hint)
        name = rule.below("onExitCodes").get("containerName")
        if name and name not in names:
            hint = did_you_mean(str(name), names, f"Their containers are {', '.join(names)}.")
            yield rule.conflict(f'the pods have no container "{name}"', hint, "onExitCodes", "containerName")


def failure_rule(of: Fields) -> Found:
    """Checks that a rule of a podFailurePolicy is either about exit codes or about conditions of the pod."""
    kinds = [name for name in ("onExitCodes", "onPodConditions") if of.has(name)]
    if len(kinds) != 1:
        yield of.wrong(f"has {' and '.join(kinds) or 'no condition'}", "Write one of onExitCodes, onPodConditions.")


def exit_codes(of: Fields) -> Found:
    """Checks that exit codes are sorted and unique, and that code 0 does not count as a failure."""
    codes = of.get("values")
    if codes == []:
        yield of.invalid(NOT_EMPTY, codes, "Write the codes.", "values")
    if not isinstance(codes, list) or not all(type(code) is int for code in codes):
        return
    if 0 in codes and of.get("operator") == "In":
        yield of.invalid("must not be 0 with operator In", 0, "Remove it.", "values", codes.index(0))
    elif codes != sorted(set(codes)):
        yield of.refuse("values", "must be in order, each code once", f"Write {sorted(set(codes))}.")


def _successes(of: Fields, completions: int | None) -> Found:
    if of.get("rules") == []:
        yield of.invalid(NOT_EMPTY, [], "Write one, or remove the policy.", "rules")
    for rule in of.each("rules"):
        indexes, count = rule.get("succeededIndexes"), rule.get("succeededCount")
        if indexes is None and count is None:
            yield rule.wrong("has no condition", "Write one of succeededCount, succeededIndexes.")
        most = completions
        if isinstance(indexes, str):
            number = _counted(indexes, most)
            if number is None:
                last = "" if most is None else f" below {most}"
                what = f"must be indexes{last} and ranges of them in order, such as 0,2-3"
                yield invalid_value(rule.origin, (*rule.path, "succeededIndexes"), what, indexes)
                continue
            most = number
        if type(count) is int and most is not None and count > most:
            yield rule.refuse("succeededCount", f"is {count}, and there are {most} indexes", f"Write {most} or less.")


def _counted(text: str, completions: int | None) -> int | None:
    """Returns how many indexes a text such as ``0,2-3`` names; None if the API server cannot read the text."""
    number, last = 0, -1
    for part in text.split(","):
        found = re.fullmatch(r"([0-9]{1,9})(?:-([0-9]{1,9}))?", part)
        if found is None:
            return None
        begin, end = int(found[1]), int(found[2] or found[1])
        if not last < begin <= end or (found[2] and begin == end) or (completions is not None and end >= completions):
            return None
        number, last = number + end - begin + 1, end
    return number


def rolling(of: Fields) -> Found:
    """Checks the update strategy of a Deployment or a StatefulSet."""
    kind = of.get("type")
    if kind in ("Recreate", "OnDelete") and of.get("rollingUpdate") is not None:
        hint = "Remove it, or write type: RollingUpdate."
        yield of.wrong(f"has type {kind}, which takes no rollingUpdate", hint, "rollingUpdate")


def _is_none(value: object) -> bool:
    return value == 0 or (isinstance(value, str) and re.fullmatch(r"0+%", value) is not None)


def rolling_pods(of: Fields) -> Found:
    """Checks that a Deployment may add or remove pods during an update; else it could replace none."""
    if _is_none(of.get("maxSurge")) and _is_none(of.get("maxUnavailable")):
        what = "has neither maxSurge nor maxUnavailable above 0, so no pod could be replaced"
        yield of.wrong(what, "Write maxUnavailable: 1, or maxSurge: 1.", "maxUnavailable")


def rolling_members(of: Fields) -> Found:
    """Checks that a StatefulSet may remove pods during an update; else it could replace none."""
    most = of.get("maxUnavailable")
    if _is_none(most):
        yield of.invalid("must be more than 0", most, "Write 1, or remove it.", "maxUnavailable")


def deployment(of: Fields) -> Found:
    """Checks that progressDeadlineSeconds is longer than minReadySeconds."""
    progress, ready = of.get("progressDeadlineSeconds", _PROGRESS), of.get("minReadySeconds", 0)
    if type(progress) is int and type(ready) is int and ready >= progress >= 0:
        what = f"is {ready}, not less than progressDeadlineSeconds, {progress}"
        hint = f"Write progressDeadlineSeconds: {ready + 1}."
        if "minReadySeconds" in of.value:
            yield of.refuse("minReadySeconds", what, hint)
        else:
            yield of.refuse("progressDeadlineSeconds", f"is {progress}, not more than minReadySeconds, {ready}", hint)
