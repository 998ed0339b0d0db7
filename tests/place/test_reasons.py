"""Tests which cause each message of KAI and Kubernetes is about, and what is said where no more is known than that."""

from __future__ import annotations

import pytest

from kubectl_tas.live.reasons import ClusterAnswers, LiveGroup, LivePod, Saying
from kubectl_tas.place.livework import LiveWork
from kubectl_tas.place.message_families import cause_kind_of, is_of_waiting
from kubectl_tas.place.pending_reasons import CauseKind, ReportedRefusal, refusal_of
from kubectl_tas.place.pending_work import why
from kubectl_tas.resolve.fleet import Fleet
from tests.support.fleets import fleet_of
from tests.support.whycauses import FILES, POD, job

GROUP = "pg-train-0a1b2c3d-0000-0000-0000-000000000000"
NAMED = {
    "PodGrouperWarning": "refused",
    "FailedCreate": "refused",
    "QueueDoesNotExist": "queue",
    "NotReady": "not-ready",
    "SchedulingGated": "gated",
    "NonPreemptibleOverQuota": "quota",
    "OverLimit": "quota",
    "PreemptionDelayNotElapsed": "delay",
    "BindingError": "binding",
    "FailedBinding": "binding",
    "FailedScheduling": "room",
    "BackoffLimitExceeded": "failed",
    "DeadlineExceeded": "failed",
    "PodFailurePolicy": "failed",
    "FailedIndexes": "failed",
    "StaleJob": "evicted",
    "Evict": "evicted",
    "Preempted": "evicted",
    "Evicted": "evicted",
    "Preempting": "evicted",
    "Terminated": "evicted",
    "Unschedulable": "other",
    "ImagePullBackOff": "starting",
}
"""Reasons that tell the cause alone, whatever the text is."""
TEXTS = [
    ('Pod references subgroup "a" that does not exist', "differs"),
    ("Requested topology racks does not exist.", "differs"),
    ("pod has unbound immediate PersistentVolumeClaims. not found", "needs"),
    ('persistentvolumeclaim "data" not found', "needs"),
    ("3 PersistentVolumeClaims are lost", "needs"),
    ("Missing required configmaps: [settings]", "needs"),
    ('MountVolume.SetUp failed for volume "s" : configmap "settings" not found', "needs"),
    ('MountVolume.SetUp failed for volume "s" : secret "key" not found', "needs"),
    ('resourceclaim "gpus" not found', "needs"),
    ("cannot allocate all resource claims", "needs"),
    ("Resource claim is not allocated", "needs"),
    ("device class gpu.nvidia.com does not exist", "needs"),
    ("Device class gpu.nvidia.com does not exist", "needs"),
    ("2 node(s) had volume node affinity conflict", "needs"),
    ("QueueDoesNotExist: gone", "queue"),
    ("Queue 'gone' does not exist", "queue"),
    ("the queue gone doesn't exist", "queue"),
    ("NonPreemptibleOverQuota: more", "quota"),
    ("OverLimit: more", "quota"),
    ("Non-preemptible workload is over quota.", "quota"),
    ("team quota has reached the allowable limit of GPUs.", "quota"),
    ("Limit is 8 GPUs", "quota"),
    ("Workload is within its preemption delay window", "delay"),
    ("topology racks, requirement rack couldn't be satisfied for job <default/g>", "topology"),
    ("node-group a.1 can allocate only 2 of 3 required pods", "topology"),
    ("Resources were found for 1 pods while 3 are required for gang scheduling.", "room"),
    ("no resources were found", "room"),
    ("Not enough resources due to pod overhead resources", "room"),
    ("not enough resources in the cluster", "room"),
    ("no nodes with enough resources were found", "room"),
    ("2 node(s) didn't have enough: GPUs", "room"),
    ("2 Node(s) are cordoned", "room"),
    ("The node-pool has 16 GPUs", "room"),
    ("no single node has 16 GPUs", "room"),
    ("<n1>: GPUs", "room"),
    ("a reason of a later release", "other"),
]
"""Texts that tell the cause where the reason does not, as KAI 0.12 to 0.17 and Kubernetes write them."""


@pytest.mark.parametrize(("reason", "about"), NAMED.items())
def test_a_reason_tells_the_cause(reason: str, about: str) -> None:
    assert cause_kind_of(Saying("Pod", reason, "a text")).value == about


@pytest.mark.parametrize(("text", "about"), TEXTS)
def test_a_text_tells_the_cause_where_its_reason_does_not(text: str, about: str) -> None:
    assert cause_kind_of(Saying("PodGroup g", "Unschedulable", text)).value == about
    assert cause_kind_of(Saying("Pod", "Unschedulable", text)).value == about
    assert cause_kind_of(Saying("PodGroup g", "PodSchedulingErrors", text)).value == about


def test_what_a_pod_says_of_itself_is_about_its_start() -> None:
    assert cause_kind_of(Saying("PodGroup g", "Puzzled", "a reason of a later release")) is CauseKind.OTHER
    assert cause_kind_of(Saying("Pod", "Puzzled", "a reason of a later release")) is CauseKind.STARTING


@pytest.mark.parametrize(("reason", "about"), NAMED.items())
def test_which_reasons_say_why_work_has_no_nodes(reason: str, about: str) -> None:
    keeps = {"queue", "quota", "delay", "room", "binding"}
    assert is_of_waiting(Saying("Pod", reason, "a text")) == (about in keeps or reason == "Unschedulable")


@pytest.mark.parametrize(("text", "about"), TEXTS)
def test_which_texts_say_why_work_has_no_nodes(text: str, about: str) -> None:
    """All but those of kubelets, and of Kubernetes for volumes, which write once a pod has a node."""
    assert is_of_waiting(Saying("PodGroup g", "PodSchedulingErrors", text)) == (about != "other")
    for reason in ("FailedMount", "FailedAttachVolume", "CreateContainerConfigError"):
        assert not is_of_waiting(Saying("Pod", reason, text))


LIMIT = "{} quota has reached the allowable limit of {}. Limit is {} {unit}"
HELD = ", currently {} {unit} allocated and workload requested {} {unit}."
QUOTA = "Non-preemptible workload is over quota. Workload requested {} {}, but {} quota is {} {unit}"
USED = ", while {} {unit} are already allocated for non-preemptible pods."


@pytest.mark.parametrize(
    ("text", "refusal"),
    [
        (LIMIT.format("q", "GPUs", 16, unit="GPUs"), ReportedRefusal("q", "gpu", "16 GPUs", is_limit=True)),
        (
            LIMIT.format("q", "GPUs", 16, unit="GPUs") + HELD.format(8, 12, unit="GPUs"),
            ReportedRefusal("q", "gpu", "16 GPUs", "8", "12", is_limit=True),
        ),
        (
            LIMIT.format("q", "CPU cores", 1.5, unit="cores") + HELD.format(1, 0.8, unit="cores"),
            ReportedRefusal("q", "cpu", "1.5 cores", "1", "0.8", is_limit=True),
        ),
        (
            LIMIT.format("q", "memory", 64, unit="GB") + HELD.format(32, 40, unit="GB"),
            ReportedRefusal("q", "memory", "64 GB", "32", "40", is_limit=True),
        ),
        (QUOTA.format(24, "GPUs", "q", 16, unit="GPUs"), ReportedRefusal("q", "gpu", "16 GPUs", "", "24")),
        (
            QUOTA.format(24, "GPUs", "q", 16, unit="GPUs") + USED.format(8, unit="GPUs"),
            ReportedRefusal("q", "gpu", "16 GPUs", "8", "24"),
        ),
        (
            QUOTA.format(2, "CPU cores", "q", 1, unit="cores") + USED.format(0, unit="cores"),
            ReportedRefusal("q", "cpu", "1 cores", "0", "2"),
        ),
        (
            QUOTA.format(2, "GB memory", "q", 1, unit="GB") + USED.format(0, unit="GB"),
            ReportedRefusal("q", "memory", "1 GB", "0", "2"),
        ),
        ("team is over quota", None),
    ],
)
def test_the_queue_that_refuses_is_read_from_what_kai_says(text: str, refusal: ReportedRefusal | None) -> None:
    """As ``unschedule_info.go`` of KAI writes it, with and without what is held."""
    assert refusal_of(Saying("PodGroup g", "Unschedulable", text)) == refusal


@pytest.fixture(scope="module")
def fleet() -> Fleet:
    return fleet_of(FILES)


LEFT = [
    ("Unschedulable", "Pod references subgroup a that does not exist", "differs", "the cluster differs from the file",
     "Apply its manifests, or change the file."),
    ("FailedCreate", "no", "refused", "the API server refuses the pods of PodGroup pg-train: no",
     "Correct what is refused; the controller tries again by itself."),
    ("PodGrouperWarning", "no", "refused", "it is refused before the scheduler sees it",
     "Correct what is refused: KAI tries again by itself."),
    ("SchedulingGated", "no", "gated", "its pods wait for their scheduling gates",
     "Ask who set the gates; KAI places the pods as soon as they are gone."),
    ("QueueDoesNotExist", "no", "queue", "KAI does not know its queue", "Apply the manifests of its pool."),
    ("Unschedulable", "2 PersistentVolumeClaims are lost", "needs", "KAI waits for something that its pods name",
     "Create what is named; KAI tries again by itself."),
    ("NotReady", "no", "not-ready", "KAI waits until as many of its pods are there as it starts with",
     "Look at what makes its pods: it may be suspended, refused by a quota of the namespace, or slow."),
    ("OverLimit", "no", "quota", "its queue has no room for it",
     "Wait until others of the queue have ended, or ask for less."),
    ("PreemptionDelayNotElapsed", "no", "delay", "it must wait before it may make others go", ""),
    ("Unschedulable", "no topology", "topology", "no domain of a level that it requires has room for it",
     "Require a coarser level, prefer it, or free nodes."),
    ("FailedScheduling", "no", "room", "nodes have no room for all that it starts with",
     "Ask for less, or free nodes."),
    ("FailedBinding", "no: why", "binding", "KAI's binder could not bind its pods to nodes: why",
     "Look at the nodes and volumes that are named; KAI tries again by itself."),
    ("BackoffLimitExceeded", "no", "failed", "pods of it have failed",
     "Look at its logs. Failed pods do not start again; a Job makes others up to its backoffLimit."),
    ("Evict", "no", "evicted", "it has run and was evicted", "It waits for room again."),
    ("Puzzled", "no", "other", "the cluster says", ""),
]  # fmt: skip


def pod(name: str, group: str, phase: str = "Pending") -> LivePod:
    """A pod of Job train in a PodGroup, without a node."""
    owners = (("Job", "train"),)
    none = (None, None, False, "", (), (), {}, {})
    return LivePod("default", name, phase, False, group, None, owners, None, (), *none)


def podgroup(name: str, minimum: int | None, *said: Saying) -> LiveGroup:
    """The PodGroup of Job train in a cluster, of which KAI says this."""
    owners = (("Job", "train"),)
    return LiveGroup("default", name, owners, None, False, said, None, None, "", (), minimum, None, frozenset())


@pytest.mark.parametrize(("reason", "message", "about", "text", "hint"), LEFT)
def test_what_only_the_cluster_explains_has_a_text_and_a_hint(
    reason: str, message: str, about: str, text: str, hint: str, fleet: Fleet
) -> None:
    """Of a gang of two pods that needs three, by its PodGroup, where neither nodes nor queues are known."""
    (sent,) = [item for item in fleet.submissions if item.name == "train"]
    said = Saying("PodGroup pg-train", reason, message)
    group = podgroup(GROUP, 3, said)
    gaps = {"Node": "unread", "Queue": "unread"}
    found = why(fleet, sent, ClusterAnswers((), (group,), (pod("train-a", GROUP), pod("train-b", GROUP)), {}, gaps))
    assert found.queue == "osmo-pool-default-team--shared"
    assert [(cause.kind.value, cause.text, cause.hint) for cause in found.causes if cause.sayings] == [
        (about, text, hint)
    ]


@pytest.mark.parametrize(
    ("pods", "minimum", "gaps", "is_complete"),
    [
        (1, None, {}, True),
        (0, None, {}, False),
        (1, 2, {}, False),
        (2, 2, {}, True),
        (2, 0, {}, True),
        (2, 2, {"Pod": "unread"}, False),
    ],
)
def test_a_gang_whose_file_does_not_tell_its_pods_is_complete_by_its_pod_group(
    pods: int, minimum: int | None, gaps: dict[str, str], is_complete: bool
) -> None:
    """And by one pod where that says nothing. Pods that have ended count for nothing."""
    port = POD.replace("image: trainer", "image: trainer, ports: [{containerPort: 80, hostPort: 80, hostIP: 10.0.0.1}]")
    fleet = fleet_of({**FILES, "workflows/train.yaml": job("train", "team").replace(POD, port)})
    (sent,) = [item for item in fleet.submissions if item.name == "train"]
    group = podgroup("odd", minimum)
    phases = [*["Pending", "Running"][:pods], "Succeeded", "Failed"]
    made = [pod(f"p{at}", "odd", phase) for at, phase in enumerate(phases)]
    work = LiveWork(fleet, sent, ClusterAnswers((), (group,), tuple(made), {}, gaps))
    assert (work.known, work.groups, len(work.pods)) == ([], [group], pods + 2)
    assert work.is_complete(group) is is_complete
