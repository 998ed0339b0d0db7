"""Describes the JobSet, whose replicated jobs embed Jobs. Sources: JobSet 0.12, pkg/webhooks/jobset_webhook.go and
pkg/controllers; KAI's jobset_grouper.go.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from kubectl_tas.base.words import did_you_mean, shortened, within
from kubectl_tas.facts.kai import Feature, first_with
from kubectl_tas.kinds import job, page
from kubectl_tas.kinds.grouping import ANNOTATIONS, Gathered, Grouping, batch_minimum, batch_path, first_pods
from kubectl_tas.kinds.naming import REFUSED, Alphabet, Names, Naming, PartNaming, last_index, longest
from kubectl_tas.kinds.section import Document, Refused, Section, mappings, value_at
from kubectl_tas.model import labels
from kubectl_tas.model.base import KeyPath

_JOBS = "spec.replicatedJobs[]"
_JOB = page.embedded(job.PAGE, f"{_JOBS}.template.spec")
_WEBHOOK = "JobSet's webhook"
_EXCLUSIVE = "alpha.jobset.sigs.k8s.io/exclusive-topology"
_BY_NODE_SELECTOR = "alpha.jobset.sigs.k8s.io/node-selector"


def is_in_order(document: Document) -> bool:
    """Whether the controller creates each replicated job only once the previous one is ready."""
    return bool(value_at(document, "spec", "startupPolicy", "startupPolicyOrder") == "InOrder")


def _jobs_before(document: Document) -> dict[str, list[str]]:
    """Returns the replicated jobs that each replicated job waits for: the one before it with InOrder, and those of its
    dependsOn (jobset_controller.go, 0.12).
    """
    before: dict[str, list[str]] = {}
    names: list[str] = []
    for replicated in Section(document, ("spec",)).each("replicatedJobs"):
        in_order = names[-1:] if is_in_order(document) else []
        named = [str(other.get("name")) for other in replicated.each("dependsOn")]
        names.append(str(replicated.get("name")))
        before[names[-1]] = [*in_order, *named]
    return before


def job_minimums(gathered: Gathered) -> list[int]:
    """Returns the needed pods of each job, by replicated job (from 0.16)."""
    minimums = []
    for replicated in value_at(gathered.document, "spec", "replicatedJobs") or ():
        parallelism = value_at(replicated, "template", "spec", "parallelism")
        minimums.append(
            batch_minimum(value_at(replicated, "template", "metadata")) or (1 if parallelism is None else parallelism)
        )
    return minimums


def _needed_jobs(gathered: Gathered) -> int:
    """Returns how many replicated jobs the set needs; KAI does not wait for jobs that are made in order."""
    count, least = len(gathered.pods), batch_minimum(gathered.document.get("metadata"))
    return min(count, least or (1 if is_in_order(gathered.document) else count))


def _minimums(gathered: Gathered) -> list[int]:
    """Returns the needed pods: all of each job from 0.16, one in 0.15, all before that, one before 0.13."""
    pods = gathered.pods
    if gathered.is_owned:
        return gathered.counts
    if gathered.has(Feature.JOBSET_SUBGROUPS):
        needed = _needed_jobs(gathered)
        all_pods = [job_pods.jobs * least for job_pods, least in zip(pods, job_minimums(gathered), strict=True)]
        return [least if index < needed else 0 for index, least in enumerate(all_pods)]
    stated_minimum = batch_minimum(gathered.document.get("metadata"))
    waits_for_all = gathered.has(Feature.REPLICA_SUBGROUPS) and not gathered.has(Feature.STRICT_MIN_MEMBER)
    number = (
        stated_minimum
        if stated_minimum and gathered.has(Feature.JOB_GANGS)
        else sum(gathered.counts)
        if waits_for_all
        else 1
    )
    if is_in_order(gathered.document):  # a PodGroup for each: what is needed at once is the largest
        largest = [min(number, count) for count in gathered.counts]
        return [least if index == largest.index(max(largest)) else 0 for index, least in enumerate(largest)]
    return first_pods(gathered, number)


def _waits(gathered: Gathered) -> Iterator[page.Wait]:
    """Yields replicated jobs that come after others (jobset_controller.go), and the pods of jobs with an exclusive
    topology: JobSet's webhook refuses all but the first pod of a job until that pod has a node (pod_webhook.go). KAI
    reads startupPolicyOrder alone, and only if no annotation says how many jobs it waits for.
    """
    spec, pods = Section(gathered.document, ("spec",)), {each.written or each.name: each for each in gathered.pods}
    jobs = [replicated for replicated in spec.each("replicatedJobs") if replicated.get("name") in pods]
    if is_in_order(gathered.document):
        reason = "each replicated job is made only when the one before it is ready"
        annotation = None if gathered.is_owned else batch_path(gathered.document)
        path = annotation or ("spec", "startupPolicy", "startupPolicyOrder")
        instead = "Remove it" if annotation else "Set startupPolicyOrder: AnyOrder"
        yield page.Wait(
            path, reason, instead, [0 if index else each.replicas for index, each in enumerate(gathered.pods)]
        )
    names = list(pods)
    late = [
        each
        for index, each in enumerate(jobs)
        if any(earlier_job.get("name") in names[:index] for earlier_job in each.each("dependsOn"))
    ]
    if late:
        named = {replicated.get("name") for replicated in late}
        name, earlier_job = late[0].get("name"), next(late[0].each("dependsOn")).get("name")
        first_replicas = [0 if name in named else each.replicas for name, each in pods.items()]
        reason = f"{name} is made only when {earlier_job} is ready or complete"
        instead = (
            "Remove dependsOn" if gathered.is_owned else enough(gathered, len(pods) - len(late), sum(first_replicas))
        )
        yield page.Wait((*late[0].path, "dependsOn"), reason, instead, first_replicas)
    for replicated in jobs:
        exclusive = _exclusive(gathered.document, replicated)
        if exclusive is not None:
            first_replicas = [e.jobs if n == replicated.get("name") else e.replicas for n, e in pods.items()]
            reason = (
                f"JobSet makes the pods of {replicated.get('name')} only when the first pod of their job has a node"
            )
            has_jobs = gathered.makes_jobs
            at = "template.metadata.annotations of each replicated job"
            instead = f'Add {labels.BATCH_MIN_MEMBER}: "1" to {at}' if has_jobs else "Remove it"
            level = str(value_at(gathered.document, *exclusive)) if has_jobs else ""
            yield page.Wait(exclusive, reason, instead, first_replicas, level=level, level_at=at)


def enough(gathered: Gathered, jobs: int, pods: int) -> str:
    """Returns the change with which KAI waits only for the replicated jobs that are made at first, or their pods."""
    if not gathered.has(Feature.JOB_GANGS):
        return f"Update KAI to {first_with(Feature.JOB_GANGS)} or later"
    number = jobs if gathered.has(Feature.JOBSET_SUBGROUPS) else pods
    return f'Write {labels.BATCH_MIN_MEMBER}: "{number}" in metadata.annotations'


def _exclusive(document: Document, replicated: Section) -> KeyPath | None:
    """Returns the path of the annotation that places a replicated job exclusively, if nodes are not labelled for it
    (``labelAndAnnotateObject`` of jobset_controller.go).
    """
    root, of_job = ANNOTATIONS, (*replicated.path, "template", *ANNOTATIONS)
    of_pods = (*replicated.path, "template", "spec", "template", *ANNOTATIONS)
    exclusive = [at for at in (of_pods, of_job, root) if value_at(document, *at, _EXCLUSIVE) is not None]
    labelled = any(value_at(document, *at, _BY_NODE_SELECTOR) is not None for at in (of_pods, *exclusive))
    return (*exclusive[0], _EXCLUSIVE) if exclusive and not labelled else None


def _rule_names(spec: Section) -> Iterator[tuple[KeyPath, str]]:
    """Yields the names of failure rules. The webhook adds them only on CREATE (0.10 to 0.12), but the CRD requires
    them.
    """
    for index, rule in enumerate(spec.below("failurePolicy").each("rules")):
        if not rule.get("name"):
            yield (*rule.path, "name"), f"failurePolicyRule{index}"


def _references(spec: Section) -> Iterator[Refused]:
    """Checks references to replicated jobs, as the webhook does."""
    if not spec.get("replicatedJobs"):
        message = f"{spec.at()} has no replicatedJobs: this JobSet makes no pods"
        yield Refused(spec.path, message, "Add replicatedJobs.", is_key=True)
    job_names: list[str] = []
    for replicated in spec.each("replicatedJobs"):
        name = str(replicated.get("name") or "")
        for dependency in replicated.each("dependsOn"):
            yield from _unknown(
                dependency, dependency.get("name"), job_names, f"replicated job before {name} called", "name"
            )
        job_names.append(name)
    for policy in (spec.below("successPolicy"), *spec.below("failurePolicy").each("rules")):
        targets = policy.get("targetReplicatedJobs")
        for index, target in enumerate(targets if isinstance(targets, list) else ()):
            yield from _unknown(policy, target, job_names, "replicated job", "targetReplicatedJobs", index)
    leader = spec.below("coordinator")
    yield from _unknown(leader, leader.get("replicatedJob"), job_names, "replicated job", "replicatedJob")


def _unknown(
    section: Section, name: Any, known_names: Sequence[str], what_is_named: str, *steps: str | int
) -> Iterator[Refused]:
    if isinstance(name, str) and name not in known_names:
        hint = did_you_mean(name, known_names, f"Name {shortened(known_names)}." if known_names else "Remove it.")
        yield section.refused(f'this JobSet has no {what_is_named} "{name}"', hint, *steps)


def _too_few(gathered: Gathered, spec: Section) -> Iterator[Refused]:
    """Yields jobs that run fewer pods at a time than KAI waits for."""
    if not gathered.makes_jobs:
        return
    for replicated, needed in zip(spec.each("replicatedJobs"), job_minimums(gathered), strict=True):
        job_spec = replicated.below("template", "spec")
        most = min(job_spec.count("parallelism", 1), job_spec.count("completions", 2**31))
        annotation = ("template", "metadata", "annotations", labels.BATCH_MIN_MEMBER)
        stated_minimum = value_at(replicated.value, *annotation)
        if stated_minimum is not None and batch_minimum(value_at(replicated.value, "template", "metadata")) is None:
            message = f'{labels.BATCH_MIN_MEMBER} must be a number from 1 to {most}, not "{stated_minimum}"'
            yield Refused((*replicated.path, *annotation), message, within(None, most), rule="replicas-refused")
        elif needed > most:
            message = f"KAI waits for {needed} pods of each job of {replicated.get('name')}, which has {most}"
            path = annotation if stated_minimum else ("template", "spec", "parallelism")
            yield Refused((*replicated.path, *path), message, f"Write {most}.", rule="replicas-refused")


def _longest_end(document: Document) -> str:
    """Returns the end of the longest name of a Job, or of a pod of an Indexed Job."""
    return longest(map(_end, mappings(value_at(document, "spec", "replicatedJobs"))))


def _end(replicated_job: Document) -> str:
    end = f"-{replicated_job.get('name')}-{last_index(replicated_job.get('replicas'))}"
    completions = value_at(replicated_job, "template", "spec", "completions")
    is_plain = value_at(replicated_job, "template", "spec", "completionMode") == "NonIndexed"
    return end if is_plain or completions is None else f"{end}-{last_index(completions)}-abcde"


def _attempts(document: Document) -> int:
    """Returns how often the controller makes all Jobs: it makes them anew after a failure."""
    restarts = value_at(document, "spec", "failurePolicy", "maxRestarts")
    return 1 + restarts if page.is_count(restarts) else 1


def _is_endless(document: Document) -> bool:
    """Whether a rule makes the Jobs anew without a bound."""
    rules = mappings(value_at(document, "spec", "failurePolicy", "rules"))
    return any(str(rule.get("action")).endswith("IgnoreMaxRestarts") for rule in rules)


def _deadline(document: Document) -> int | None:
    """Returns the seconds after which all Jobs have ended; None if one of them has no limit.

    JobSet has no limit itself. That of a Job counts from the creation of the Job (constructJob). A Job that comes after
    others exists at the latest when their limits end: otherwise they have failed, and so has the JobSet.
    """
    ends: dict[str, int] = {}
    in_order = is_in_order(document)
    for replicated_job in mappings(value_at(document, "spec", "replicatedJobs")):
        seconds = job.PAGE.ends.deadline({page.SPEC: value_at(replicated_job, "template", "spec")})
        if seconds is None or _is_endless(document):
            return None
        earlier = [str(each.get("name")) for each in mappings(replicated_job.get("dependsOn"))]
        before = list(ends.values()) if in_order else [ends[name] for name in earlier if name in ends]
        ends[str(replicated_job.get("name"))] = seconds + max(before, default=0)
    return max(ends.values(), default=None)


def _again(document: Document) -> int | None:
    """Returns the pods that the Jobs make in place of others, and those of further attempts; None: without a bound."""
    if _is_endless(document):
        return None
    attempts, pods = _attempts(document), 0
    for replicated_job in mappings(value_at(document, "spec", "replicatedJobs")):
        jobs, spec = replicated_job.get("replicas"), value_at(replicated_job, "template", "spec") or {}
        beside, again = spec.get("parallelism"), job.PAGE.ends.again({page.SPEC: spec}) or 0
        first = beside if page.is_count(beside) else 1
        pods += (jobs if page.is_count(jobs) else 1) * (attempts * (first + again) - first)
    return pods


PAGE = page.WorkloadKind(
    recognition=page.Recognition("JobSet", ("jobset.x-k8s.io/v1alpha2",), operator="jobset"),
    fields=(
        *_JOB.fields,
        page.Field("spec", "Settings of the JobSet.", is_required=True),
        page.Field("spec.failurePolicy", "The effect of failed Jobs on the JobSet."),
        page.Field("spec.failurePolicy.rules[]", "Rules. The first matching rule applies."),
        page.Field(
            "spec.failurePolicy.rules[].name",
            "Name of the rule. The default is failurePolicyRuleN for the N-th rule, from 0.",
            "rule name",
        ),
        page.Field("spec.startupPolicy", "The start order of the Jobs."),
        page.Field(
            "spec.startupPolicy.startupPolicyOrder",
            "AnyOrder: all Jobs at once. InOrder: a replicated job starts once the previous one is ready.",
            "AnyOrder|InOrder",
        ),
        page.Field(_JOBS, "The Jobs."),
        page.Field(f"{_JOBS}.name", "Name of the replicated job, unique within the JobSet.", "text", is_required=True),
        page.Field(f"{_JOBS}.replicas", "Number of Jobs.", "count"),
        page.Field(f"{_JOBS}.template", "Template for the Jobs.", is_required=True),
        page.Field(f"{_JOBS}.template.metadata", "Labels and annotations of the Jobs.", "metadata"),
        page.Field(f"{_JOBS}.template.spec", "Settings of the Jobs."),
        page.Field(
            f"{_JOBS}.dependsOn[]",
            "Replicated jobs that must be ready or complete before the controller creates these Jobs.",
        ),
        page.Field(f"{_JOBS}.dependsOn[].name", "Name of another replicated job.", "text", is_required=True),
    ),
    pods=tuple(
        replace(
            pods,
            factor=f"{_JOBS}.replicas",
            name="",
            word="replicated job",
            sub_group=lambda _: "",
            index_label="",
            completions="",
            job=f"{_JOBS}.template",
            jobs=f"{_JOBS}.replicas",
        )
        for pods in _JOB.pods
    ),
    pod_rules=page.PodRules(
        restart=("Never", "OnFailure"), indexed_jobs=True, ports_known=True, injected=job.PAGE.pod_rules.injected
    ),
    gang=Grouping(
        _minimums,
        batch_path,
        one_pod_group=Feature.JOBSETS,
        may_be_read=Feature.JOBSETS,
        minimum_since=Feature.JOB_GANGS,
        placed_parts=Feature.JOBSET_SUBGROUPS,
        part_name=lambda pods: pods.written or pods.name,
        sub_groups_of_jobs=Feature.JOBSET_SUBGROUPS,
        job_minimums=job_minimums,
        needed_jobs=_needed_jobs,
        in_order=is_in_order,
        segment_template="Move it to the pod template.",
    ),
    start=page.Start(
        waits=_waits,
        parts_before=_jobs_before,
        holds_back="JobSet makes its pods only when those are ready or complete",
    ),
    filled_in=page.FilledIn(names=_rule_names),
    stop=page.Stop(
        suspended_by=("spec.suspend",),
        deletes_itself=page.lifetime("spec.ttlSecondsAfterFinished"),  # pkg/controllers/ttl_after_finished.go
    ),
    changes=(  # ValidateUpdate of jobset_webhook.go
        page.refused(_WEBHOOK, "spec.replicatedJobs", only=page.unless(page.either_suspended)),
        page.refused(
            _WEBHOOK,
            "spec.replicatedJobs",
            but=page.paths(*page.SCHEDULING, below="spec.replicatedJobs.*.template.spec.template"),
            only=page.either_suspended,
        ),
        page.refused(_WEBHOOK, "spec.managedBy"),
        page.Fixed(
            page.Effect.REFUSED,
            page.paths(*("network", "successPolicy", "startupPolicy"), below="spec"),
            page.OF_CRD,
            filled={  # the webhook, so that the rule always sees an old value
                ("spec", "network", "enableDNSHostnames"): True,
                ("spec", "network", "publishNotReadyAddresses"): True,
                ("spec", "successPolicy", "operator"): "All",
                ("spec", "startupPolicy", "startupPolicyOrder"): "AnyOrder",
            },
        ),
    ),
    ends=page.Ends(deadline=_deadline, attempts=_attempts, again=_again),
    growth=page.Growth(),
    makes=page.Makes((page.Made("Job", "batch"),), services=("{}",), name_labels=("jobset.sigs.k8s.io/jobset-name",)),
    marks=page.Marks(),
    names=Names(
        (Naming(Alphabet.SERVICE, "the names of its Jobs and pods begin with it", added=_longest_end),),
        (
            PartNaming(
                "spec.replicatedJobs[].name", "replicated job", Alphabet.LABEL, "the names of its Jobs contain it"
            ),
            PartNaming("spec.replicatedJobs[].groupName", "group", Alphabet.SERVICE, REFUSED),
        ),
    ),
    refusals=page.Refusals(operator=(("spec", _references),), kai=_too_few),
)
