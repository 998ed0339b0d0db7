"""Holds what the jobs of Kubeflow's training operator and MPI operator share: pods by replica type, and a minimum of
pods. Sources: training operator 1.9 (pkg/webhooks, pkg/controller.v1/common), MPI operator 0.8; KAI's
kubeflow_grouper.go.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

from kubectl_tas.kinds import page
from kubectl_tas.kinds.grouping import Gathered, Grouping
from kubectl_tas.kinds.naming import SERVICES, Alphabet, Names, Naming, last_index, longest
from kubectl_tas.kinds.section import Document, Refused, Section, value_at
from kubectl_tas.model import labels
from kubectl_tas.model.base import KeyPath

TRAINING_OPERATOR = "training-operator"
VERSIONS = ("kubeflow.org/v1",)
REPLICA_TYPE = "replica type"
"""Kubeflow's word for identical pods."""
WORKER = "worker"
"""Replica type that may have fewer pods than it asks for."""
_SERVICES = tuple(f"{{}}-{kind}-#" for kind in ("chief", "evaluator", "master", "ps", "worker"))
"""Names of the Services (GenGeneralName of pkg/common/util/util.go)."""
_TIME = "spec.runPolicy.ttlSecondsAfterFinished"
_RUN_POLICY = ("spec", "runPolicy")
MIN_AVAILABLE: KeyPath = (*_RUN_POLICY, "schedulingPolicy", "minAvailable")


def replica_types(specs: Section) -> Iterator[Section]:
    """Yields the replica types that a job has."""
    return (specs.below(name) for name in specs.value)


def _implied_counts(specs: Section) -> Iterator[tuple[KeyPath, int]]:
    """Yields one pod for each replica type that omits replicas."""
    for replicas in replica_types(specs):
        if "replicas" not in replicas.value:
            yield (*replicas.path, "replicas"), 1


def minimum_at(at: Sequence[KeyPath], document: Document) -> KeyPath | None:
    """Returns the first of some paths at which the job states its minimum number of pods."""
    return next((path for path in at if value_at(document, *path) is not None), None)


def minimums(at: Sequence[KeyPath], gathered: Gathered) -> list[int]:
    """Returns all pods, or the minimum in the job, shared out among the types: workers come last."""
    path = minimum_at(at, gathered.document)
    if path is None:
        return gathered.counts
    remaining_pods = max(0, value_at(gathered.document, *path))
    shares: dict[str, int] = {}
    for pods in sorted(gathered.pods, key=lambda pods: pods.name == WORKER):
        shares[pods.name] = min(pods.replicas, remaining_pods)
        remaining_pods -= shares[pods.name]
    return [shares[pods.name] for pods in gathered.pods]


def grouping(*at: KeyPath, replica_types: tuple[str, ...] = ()) -> Grouping:
    """Returns what KAI makes of a job that states its minimum at one of some paths."""
    return Grouping(
        partial(minimums, at),
        partial(minimum_at, at),
        replica_types=replica_types,
        segment_template="Move it to the pod template.",
    )


def _refused(kind: str, needed: tuple[str, ...], _gathered: Gathered, specs: Section) -> Iterator[Refused]:
    """Yields replica types that are missing or have 0 pods. KAI's podgrouper then makes no PodGroup."""
    if value_at(specs.document, *MIN_AVAILABLE) is not None:
        return
    name = value_at(specs.document, "metadata", "name")
    hint = "Or set the number of needed pods with runPolicy.schedulingPolicy.minAvailable."
    for replica_type in needed:
        if replica_type not in specs.value:
            message = f"KAI makes no PodGroup of {kind} {name} without {replica_type}: its pods stay Pending"
            hint_ = f"Add {replica_type}. {hint}"
            yield Refused(specs.path, message, hint_, is_key=True, rule="replicas-refused")
    for replicas in replica_types(specs):
        if replicas.count("replicas", 1) == 0:
            message = f"KAI makes no PodGroup of {kind} {name} with 0 {replicas.path[-1]} pods: all stay Pending"
            hint_ = f"Raise it, or remove {replicas.path[-1]}. {hint}"
            yield Refused((*replicas.path, "replicas"), message, hint_, rule="replicas-refused")


def _pods_of_types(kind: str, leader: str, container: str, specs: Section) -> Iterator[Refused]:
    """Checks the leader, and that each pod has the container that the operator looks for (pkg/webhooks, and
    mpi_validation.go for MPIJobs; pkg/apis/kubeflow/validation of the MPI operator).
    """
    for replicas in replica_types(specs):
        number = replicas.get("replicas")
        if replicas.path[-1] == leader and type(number) is int and number != 1:
            hint = "Write 1; the other pods belong to Worker."
            yield replicas.refused(f"a {kind} has one {leader}, not {number}", hint, "replicas")
        pods = replicas.below("template", "spec")
        names = [str(each.get("name")) for each in pods.each("containers")]
        if container and names and container not in names:
            listed = ", ".join(names)
            message = f"a {kind} needs a container that is called {container} in each pod, not only {listed}"
            hint = f"Call the one that trains {container}: its operator gives that one the addresses of the others."
            yield pods.refused(message, hint, "containers", 0, "name")


def job(
    kind: str,
    field: str,
    types: str,
    *,
    leader: str = "",
    container: str = "",
    needed: tuple[str, ...] = (),
    gpus_used: str = "",
    injected: tuple[str, ...] | None = None,
    endless: str = "",
) -> page.WorkloadKind:
    """Returns the page of a job of the training operator with its pods in ``spec.FIELD``. ``types`` lists the replica
    types in words, KAI refuses a job without one of ``needed``. ``injected``: envvar.go of pkg/controller.v1/KIND.
    Pods of the type ``endless`` do not end when the others do.
    """
    at = f"spec.{field}"
    return page.WorkloadKind(
        recognition=page.Recognition(kind, VERSIONS, operator=TRAINING_OPERATOR),
        fields=(
            page.Field("spec", "Settings of the training.", is_required=True),
            page.Field("spec.runPolicy", "Run settings of the job."),
            page.Field("spec.runPolicy.schedulingPolicy", "Scheduling settings of the job."),
            page.Field(".".join(map(str, MIN_AVAILABLE)), "Pods that must start together.", "number"),
            page.Field(at, types, "not empty", is_required=True),
            page.Field(f"{at}.*.replicas", "Number of pods.", "count"),
        ),
        pods=(
            page.Pods(
                f"{at}.*.template",
                f"{at}.*.replicas",
                index_label=labels.KUBEFLOW_INDEX,
                word=REPLICA_TYPE,
                case_counts=False,
                sub_group=str.lower,
                gpus_used=gpus_used,
            ),
        ),
        pod_rules=page.PodRules(restart=(), container=container, by_type=True, injected=injected),
        gang=grouping(MIN_AVAILABLE, replica_types=needed),
        start=page.ALL_AT_ONCE,  # ReconcilePods of pod.go; init containers wait for a master that exists
        filled_in=page.FilledIn(counts=_implied_counts, at=at),
        stop=page.Stop(
            switch=("spec", "runPolicy", "suspend"),
            suspended_by=("spec.runPolicy.suspend",),
            deletes_itself=page.lifetime(_TIME, version=VERSIONS[0]),  # CleanupJob of pkg/controller.v1/common/job.go
        ),
        changes=templates_kept(field),
        ends=page.Ends(  # PastActiveDeadline of pkg/core/job.go: from startTime, which the first reconciliation sets
            deadline=page.seconds_at(*_RUN_POLICY, "activeDeadlineSeconds"),
            stays=partial(_keeps_pods, ("spec", field, endless)) if endless else lambda _: False,
        ),
        growth=page.Growth(),
        makes=page.Makes(services=_SERVICES, name_labels=("training.kubeflow.org/job-name",)),
        marks=page.Marks(),
        names=Names((Naming(Alphabet.SERVICE, SERVICES, added=_longest_pod),)),
        refusals=page.Refusals(
            operator=((at, partial(_pods_of_types, kind, leader, container)),),
            kai=partial(_refused, kind, needed),
            kai_at=at,
        ),
    )


def _keeps_pods(endless: KeyPath, document: Document) -> bool:
    """Whether the operator leaves pods that do not end by themselves on their nodes when the job is done
    (DeletePodsAndServices of pkg/controller.v1/common/job.go, isCleanUpPods of the MPI operator). That is the default.
    """
    policy = value_at(document, *_RUN_POLICY, "cleanPodPolicy") or value_at(document, "spec", "cleanPodPolicy")
    return value_at(document, *endless) is not None and policy not in ("Running", "All")


def _longest_pod(document: Document) -> str:
    """Returns the end of the longest name of a pod, which a Service has too (CreateNewService of pkg/controller.v1)."""
    specs = next((value for key, value in document.get("spec", {}).items() if key.endswith("ReplicaSpecs")), None)
    types = specs.items() if isinstance(specs, dict) else ()
    return longest(f"-{name.lower()}-{last_index(value_at(spec, 'replicas'))}" for name, spec in types)


def elastic(field: str) -> page.Growth:
    """Returns the growth of an elastic job, whose workers may be as many as ``elasticPolicy`` says."""

    def workers(growing: page.Growing, policy: Section) -> Iterator[page.Grown]:
        most, path = policy.get("maxReplicas"), ("spec", field, "Worker", "template")
        for pods in growing.pods if page.is_count(most) else ():
            if pods.path == path:  # a master is always one
                start = sum(each.replicas for each in growing.pods)
                yield page.Grown((*policy.path, "maxReplicas"), start, most, pods.gpus, "the pods")

    return page.Growth((("spec.elasticPolicy", workers),))


def templates_kept(field: str) -> tuple[page.Fixed, ...]:
    """Returns the effect of changed templates. The operators only make missing pods, and compare no existing ones:
    ReconcilePods of pkg/controller.v1/common/pod.go, and getOrCreateWorker of the MPI operator.
    """
    runs = page.unless(page.suspended("spec.runPolicy.suspend"))
    return (page.kept("its operator", f"spec.{field}.*.template", only=runs),)
