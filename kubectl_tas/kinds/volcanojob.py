"""Describes Volcano's Job, which KAI may not read. Source: Volcano 1.13."""

from __future__ import annotations

from collections.abc import Iterator

from kubectl_tas.base.words import did_you_mean
from kubectl_tas.kinds import page
from kubectl_tas.kinds.grouping import Gathered, Grouping, first_pod
from kubectl_tas.kinds.naming import REFUSED, Alphabet, Names, Naming, PartNaming, last_index, longest
from kubectl_tas.kinds.section import Document, Refused, Section, listed, mappings, value_at

_MINIMUM = "minAvailable"
_APART = "each pod starts without the others"
_OWNED = "Write the label kubectl-tas/podgroup: owned. All pods then start together."
_PLACED = (
    "Remove it. Write a level in the annotation kai.scheduler/topology-required-placement, and the label "
    "kubectl-tas/podgroup: owned."
)


def _longest_end(document: Document) -> str:
    """Returns the end of the longest name of a pod."""
    tasks = mappings(value_at(document, "spec", "tasks"))
    return longest(f"-{task.get('name')}-{last_index(task.get('replicas'))}" for task in tasks)


def _waits(gathered: Gathered) -> Iterator[page.Wait]:
    """Yields tasks with dependsOn (``waitDependsOnTaskMeetCondition`` of job_controller_actions.go)."""
    late = {t.get("name"): t for t in Section(gathered.document, ("spec",)).each("tasks") if t.get("dependsOn")}
    first_replicas = [0 if (pods.written or pods.name) in late else pods.replicas for pods in gathered.pods]
    for name, task in late.items():
        reason = f"{name} is made only when the tasks in its dependsOn are ready or complete"
        yield page.Wait((*task.path, "dependsOn"), reason, "Remove dependsOn", first_replicas)


_EVENTS = (*("*", "PodFailed", "PodEvicted", "PodPending", "Unknown", "TaskCompleted", "TaskFailed", "JobUpdated"),)
_ACTIONS = (
    *("AbortJob", "RestartJob", "RestartTask", "RestartPod", "RestartPartition", "TerminateJob", "CompleteJob"),
    "ResumeJob",
)


def _webhook(spec: Section) -> Iterator[Refused]:
    """Checks minimums and policies (``validateJobCreate`` of pkg/webhooks/admission/jobs/validate/admit_job.go, read in
    Volcano 1.15).
    """
    tasks = list(spec.each("tasks"))
    pods, least = sum(task.count("replicas", 1) for task in tasks), spec.count(_MINIMUM)
    if tasks and least > pods:
        message = f"{spec.at(_MINIMUM)} is {least}, more than the {pods} pods of all tasks"
        yield spec.refused(message, f"Write {pods} or less, or raise replicas of a task.", _MINIMUM)
    yield from _policies(spec)
    for task in tasks:
        replicas, of_task = task.count("replicas", 1), task.count(_MINIMUM)
        if of_task > replicas:
            message = f"{task.at(_MINIMUM)} is {of_task}, more than replicas, {replicas}"
            yield task.refused(message, f"Write {replicas} or less, or raise replicas.", _MINIMUM)
        yield from _policies(task)


def _policies(holder: Section) -> Iterator[Refused]:
    """Checks the events and the actions of policies (policyEventMap and policyActionMap of util.go in that folder).
    The webhook takes any action for an exit code, and the controller does nothing then.
    """
    for policy in holder.each("policies"):
        events = (("event",), *(("events", index) for index in range(len(listed(policy.get("events"))))))
        for steps, known, word in (*((steps, _EVENTS, "event") for steps in events), (("action",), _ACTIONS, "action")):
            name = value_at(policy.value, *steps)
            if isinstance(name, str) and name and name not in known:
                hint = did_you_mean(name, known, f"Known: {', '.join(known)}.", folds=True)
                yield policy.refused(f'Volcano knows no {word} "{name}" of a policy', hint, *steps)


PAGE = page.WorkloadKind(
    recognition=page.Recognition(
        "Job", ("batch.volcano.sh/v1alpha1",), "volcano", name="Job.batch.volcano.sh", schema="VolcanoJob"
    ),
    fields=(),
    pods=(page.Pods("spec.tasks[].template", "spec.tasks[].replicas"),),
    pod_rules=page.PodRules(restart=(), added_volumes=("{}-ssh", "{}-svc")),  # ssh.go and svc.go of job/plugins
    gang=Grouping(first_pod, one_pod_group=False, has_plugin=False, may_be_read=False),
    start=page.Start(waits=_waits),
    filled_in=page.FilledIn(),
    stop=page.Stop(),
    changes=(page.refused("Volcano's webhook", "spec", but=page.paths("spec.minAvailable", "spec.tasks.*.replicas")),),
    ends=page.Ends(),
    growth=page.Growth(),
    makes=page.Makes(),
    marks=page.Marks(
        lost=(
            *(page.Lost(p, _APART, _OWNED, is_gang=True) for p in ("spec.minAvailable", "spec.tasks[].minAvailable")),
            page.Lost("spec.networkTopology", "its pods run anywhere", _PLACED),
            page.Lost("spec.tasks[].partitionPolicy", "its partitions run anywhere", "Remove it."),
            page.Lost("spec.queue", "the pool says which queue it is in", "Remove it."),
        )
    ),
    names=Names(
        (Naming(Alphabet.SUBDOMAIN, "the names of its pods begin with it", added=_longest_end),),
        (PartNaming("spec.tasks[].name", "task", Alphabet.LABEL, REFUSED),),
    ),
    refusals=page.Refusals((("spec", _webhook),)),
)
