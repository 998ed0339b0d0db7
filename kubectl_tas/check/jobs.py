"""What fields of Jobs, and of what replaces the pods of Deployments and StatefulSets, need of one another. Follows
``ValidateJobSpec`` in pkg/apis/batch/validation and pkg/apis/apps/validation of Kubernetes 1.35.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from kubectl_tas.check.conflicts import Found, conflict, has, mappings
from kubectl_tas.load.schema import invalid_value, written
from kubectl_tas.model.base import KeyPath
from kubectl_tas.model.repository import Origin
from kubectl_tas.words import did_you_mean

_PROGRESS = 600
"""Seconds, where a Deployment does not say how long it may take."""


def job(origin: Origin, path: KeyPath, value: Mapping[str, Any]) -> Found:
    """A JobSet makes its jobs Indexed (v0.12.0: pkg/webhooks/jobset_webhook.go)."""
    kind = origin.value(("kind",))
    is_set = kind == "JobSet"
    mode = value.get("completionMode") or ("Indexed" if is_set else "NonIndexed")
    if mode == "Indexed":
        if value.get("completions") is None and (value.get("parallelism") is not None or not is_set):
            why = ", as jobs of a JobSet are" if is_set and not value.get("completionMode") else ""
            number = value.get("parallelism") or 1
            message = f"{written(path)} has no completions, which an Indexed job needs{why}"
            place = next((name for name in ("completionMode", "parallelism") if name in value), "")
            hint = f"Write completions: {number}, as many as there are indices."
            yield conflict(origin, (*path, place) if place else path, message, hint)
    else:
        for name in ("backoffLimitPerIndex", "maxFailedIndexes", "successPolicy"):
            if value.get(name) is not None:
                message = f"{written((*path, name))} is for jobs with completionMode Indexed"
                yield conflict(origin, (*path, name), message, "Write completionMode: Indexed, or remove it.")
    selector, is_own = value.get("selector"), value.get("manualSelector") is True
    if is_own and kind == "CronJob":
        message = (
            f"{written((*path, 'manualSelector'))} is refused in a CronJob, whose jobs have selectors of their own"
        )
        yield conflict(origin, (*path, "manualSelector"), message, "Remove it, and the selector.")
    elif selector and not is_own and "controller-uid" not in str(selector):
        message = f"{written((*path, 'selector'))} is made by Kubernetes itself: another one is refused"
        yield conflict(origin, (*path, "selector"), message, "Remove it.")
    if value.get("maxFailedIndexes") is not None and value.get("backoffLimitPerIndex") is None:
        message = f"{written((*path, 'maxFailedIndexes'))} needs backoffLimitPerIndex"
        yield conflict(origin, (*path, "maxFailedIndexes"), message, "Write both, or neither.")
    pods: KeyPath = (*path, "template", "spec", "restartPolicy")
    for name in ("podFailurePolicy", "backoffLimitPerIndex"):
        restarts = origin.value(pods)
        if value.get(name) is not None and restarts is not None and restarts != "Never":
            message = f"{written((*path, name))} needs pods with restartPolicy Never, not {restarts}"
            yield conflict(origin, (*path, name), message, "Write restartPolicy: Never in template.spec.")
    completions, failed = value.get("completions"), value.get("maxFailedIndexes")
    if type(failed) is int and type(completions) is int and failed > completions:
        message = f"{written((*path, 'maxFailedIndexes'))} is {failed}, more than completions, {completions}"
        yield conflict(origin, (*path, "maxFailedIndexes"), message, f"Write {completions} or less.")
    yield from _failures(origin, path, value)
    if mode == "Indexed":
        yield from _successes(origin, (*path, "successPolicy"), value.get("successPolicy"), completions)


def _failures(origin: Origin, path: KeyPath, value: Mapping[str, Any]) -> Found:
    policy = value.get("podFailurePolicy")
    if not isinstance(policy, dict):
        return
    if value.get("podReplacementPolicy") == "TerminatingOrFailed":
        message = f"{written(path)} has a podFailurePolicy, which needs podReplacementPolicy Failed"
        yield conflict(origin, (*path, "podReplacementPolicy"), message, "Write Failed, or remove it.")
    pods = origin.value((*path, "template", "spec"))
    lists = [pods.get(name) for name in ("initContainers", "containers")] if isinstance(pods, dict) else []
    names = [str(item.get("name")) for part in lists for item in mappings(part)]
    for index, rule in enumerate(mappings(policy.get("rules"))):
        where: KeyPath = (*path, "podFailurePolicy", "rules", index)
        if rule.get("action") == "FailIndex" and value.get("backoffLimitPerIndex") is None:
            message = f"{written((*where, 'action'))} is FailIndex, which needs backoffLimitPerIndex"
            yield conflict(origin, (*where, "action"), message, "Write backoffLimitPerIndex, or action: FailJob.")
        codes = rule.get("onExitCodes")
        name = codes.get("containerName") if isinstance(codes, dict) else None
        if name and name not in names:
            message = f'the pods have no container "{name}"'
            hint = did_you_mean(str(name), names, f"Their containers are {', '.join(names)}.")
            yield conflict(origin, (*where, "onExitCodes", "containerName"), message, hint)


def failure_rule(origin: Origin, path: KeyPath, value: Mapping[str, Any]) -> Found:
    """A rule of a podFailurePolicy is about exit codes or about conditions of the pod."""
    kinds = [name for name in ("onExitCodes", "onPodConditions") if has(value, name)]
    if len(kinds) != 1:
        message = f"{written(path)} has {' and '.join(kinds) or 'no condition'}"
        yield conflict(origin, path, message, "Write one of onExitCodes, onPodConditions.")


def exit_codes(origin: Origin, path: KeyPath, value: Mapping[str, Any]) -> Found:
    """Codes are in order, each once, and a container that succeeded is none that failed."""
    codes = value.get("values")
    if codes == []:
        yield invalid_value(origin, (*path, "values"), "must not be empty", codes, "Write the codes.")
    if not isinstance(codes, list) or not all(type(code) is int for code in codes):
        return
    where = (*path, "values")
    if 0 in codes and value.get("operator") == "In":
        yield invalid_value(origin, (*where, codes.index(0)), "must not be 0 with operator In", 0, "Remove it.")
    elif codes != sorted(set(codes)):
        message = f"{written(where)} must be in order, each code once"
        yield conflict(origin, where, message, f"Write {sorted(set(codes))}.")


def _successes(origin: Origin, path: KeyPath, policy: object, completions: object) -> Found:
    if not isinstance(policy, dict):
        return
    if policy.get("rules") == []:
        yield invalid_value(origin, (*path, "rules"), "must not be empty", [], "Write one, or remove the policy.")
    for index, rule in enumerate(mappings(policy.get("rules"))):
        where: KeyPath = (*path, "rules", index)
        indexes, count = rule.get("succeededIndexes"), rule.get("succeededCount")
        if indexes is None and count is None:
            message = f"{written(where)} has no condition"
            yield conflict(origin, where, message, "Write one of succeededCount, succeededIndexes.")
        most = completions if type(completions) is int else None
        if isinstance(indexes, str):
            number = _counted(indexes, most)
            if number is None:
                last = "" if most is None else f" below {most}"
                rule_ = f"must be indexes{last} and ranges of them in order, such as 0,2-3"
                yield invalid_value(origin, (*where, "succeededIndexes"), rule_, indexes)
                continue
            most = number
        if type(count) is int and most is not None and count > most:
            message = f"{written((*where, 'succeededCount'))} is {count}, and there are {most} indexes"
            yield conflict(origin, (*where, "succeededCount"), message, f"Write {most} or less.")


def _counted(text: str, completions: int | None) -> int | None:
    """How many indexes a text such as ``0,2-3`` names; None where the API server cannot read it."""
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


def rolling(origin: Origin, path: KeyPath, value: Mapping[str, Any]) -> Found:
    """How a Deployment or a StatefulSet replaces its pods."""
    kind = value.get("type")
    if kind in ("Recreate", "OnDelete") and value.get("rollingUpdate") is not None:
        message = f"{written(path)} has type {kind}, which takes no rollingUpdate"
        yield conflict(origin, (*path, "rollingUpdate"), message, "Remove it, or write type: RollingUpdate.")


def _is_none(value: object) -> bool:
    return value == 0 or (isinstance(value, str) and re.fullmatch(r"0+%", value) is not None)


def rolling_pods(origin: Origin, path: KeyPath, value: Mapping[str, Any]) -> Found:
    """A Deployment that neither adds pods nor takes any away could replace none."""
    if _is_none(value.get("maxSurge")) and _is_none(value.get("maxUnavailable")):
        message = f"{written(path)} has neither maxSurge nor maxUnavailable above 0, so no pod could be replaced"
        yield conflict(origin, (*path, "maxUnavailable"), message, "Write maxUnavailable: 1, or maxSurge: 1.")


def rolling_members(origin: Origin, path: KeyPath, value: Mapping[str, Any]) -> Found:
    """The same of a StatefulSet."""
    if _is_none(value.get("maxUnavailable")):
        where = (*path, "maxUnavailable")
        yield invalid_value(origin, where, "must be more than 0", value["maxUnavailable"], "Write 1, or remove it.")


def deployment(origin: Origin, path: KeyPath, value: Mapping[str, Any]) -> Found:
    """A Deployment may take longer than its pods need to count as ready."""
    yield from endless(origin, path, value)
    progress, ready = value.get("progressDeadlineSeconds", _PROGRESS), value.get("minReadySeconds")
    if type(progress) is int and type(ready) is int and ready >= progress:
        message = f"{written((*path, 'minReadySeconds'))} is {ready}, not less than progressDeadlineSeconds, {progress}"
        yield conflict(origin, (*path, "minReadySeconds"), message, f"Write progressDeadlineSeconds: {ready + 1}.")


def endless(origin: Origin, path: KeyPath, value: Mapping[str, Any]) -> Found:
    """Pods that are to run for ever have no time by which they end."""
    where: KeyPath = (*path, "template", "spec", "activeDeadlineSeconds")
    if origin.value(where) is not None:
        message = f"{written(where)} is for pods that end"
        yield conflict(origin, where, message, "Remove it; jobs have one.")
