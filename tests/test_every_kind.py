"""Tests each kind of work in the same way: every slip in every pod is found, and every question has an answer.

``tests/support/every_kind.py`` gives an example of each kind, and ``tests/support/pod_slips.py`` lists the slips. What
is still silent stands in ``test_every_kind.yaml``, with the reason. A row that is no longer true fails a test, so the
file can only shrink.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from dataclasses import replace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import NamedTuple

import pytest

from kubectl_tas.check.fields import shape_of
from kubectl_tas.check.judging import Judged
from kubectl_tas.compare.change import Change
from kubectl_tas.compare.object_changes import object_changes
from kubectl_tas.gangs.pool_demands import demands
from kubectl_tas.kinds import pages
from kubectl_tas.live.owners import stop_path
from kubectl_tas.model.base import KeyPath
from kubectl_tas.place.gangs_to_place import GangToPlace, unplaced
from kubectl_tas.resolve.fleet_workload import FleetWorkload
from kubectl_tas.resolve.podcliqueset import SubmittedSet
from kubectl_tas.resolve.pools import Submission
from tests.support.every_kind import NAME, Example, Object, Pods, at_path, examples, files_of
from tests.support.fleets import judged_files
from tests.support.pod_slips import SLIPS, UNKNOWN, Slipped, slipped
from tests.support.pyyaml import places, safe_load


class Silent(NamedTuple):
    """Slips that nothing finds."""

    kinds: str
    """The kinds, as a pattern."""
    pods: str
    """The names of the pods in them, as a pattern."""
    reason: str
    slips: list[str]


_WRITTEN = safe_load(Path(__file__).with_suffix(".yaml").read_text(encoding="utf-8"))
SILENT = tuple(Silent(**row) for row in _WRITTEN["silent"])
UNANSWERED: dict[str, dict[str, str]] = _WRITTEN["unanswered"]
"""The questions without an answer by kind, each with the reason."""


def judged(example: Example, document: Object | None = None) -> Judged:
    """Judges a repository with the example, or with a document in its place."""
    text = example.text(example.document if document is None else document, NAME)
    return judged_files(files_of(example, {example.path: text}))


def findings_by_place(found: Judged, path: str) -> dict[tuple[int, int], set[str]]:
    """The rules that find something in the file, by line and column."""
    by_place: dict[tuple[int, int], set[str]] = {}
    for item in found.found:
        if item.location is not None and item.location.path == path:
            by_place.setdefault((item.location.line, item.location.column), set()).add(item.rule.code)
    return by_place


def not_found(example: Example, pods: Pods, made: Slipped) -> Iterator[str]:
    """Yields the slips in a document that no rule finds at their places. A kind may lack the field altogether."""
    where = places(example.text(made.document, NAME).partition("---\n")[0])
    found = findings_by_place(judged(example, made.document), example.path)
    for slip, place in made.places.items():
        codes = {code for spot in where[place] for code in found.get(spot, ())}
        above = range(len(getattr(pods, slip.part)) + 1, len(place) + 1)
        spots = {spot for end in above for spot in where[place[:end]]}
        is_refused = not pods.is_pod_spec and any(found.get(spot, set()) & UNKNOWN for spot in spots)
        if not codes & slip.rules and not is_refused:
            yield slip.name


@pytest.mark.parametrize("kind", examples())
def test_nothing_is_found_in_an_example(kind: str) -> None:
    """The example of a JobSet shows ``dependsOn``, with which a gang of all its pods never starts."""
    expected = {"workload-scheduler", "replicas-refused" if kind == "JobSet" else ""}
    errors = [item for item in judged(examples()[kind]).found if item.rule.code not in expected]
    assert errors == []


@pytest.mark.parametrize("kind", examples())
def test_every_slip_in_every_pod_is_found(kind: str) -> None:
    example = examples()[kind]
    assert example.pods
    for pods in example.pods:
        silent = [name for made in slipped(example, pods) for name in not_found(example, pods, made)]
        rows = [row for row in SILENT if fnmatchcase(kind, row.kinds) and fnmatchcase(pods.name, row.pods)]
        known = [name for row in rows for name in row.slips]
        assert sorted(silent) == sorted(known), f"{pods.name} of {kind}"


def test_every_row_is_about_something() -> None:
    """A pattern without a kind or a slip would be a row that nobody checks."""
    names = {slip.name for slip in SLIPS}
    for row in SILENT:
        assert names.issuperset(row.slips), row
        assert any(
            fnmatchcase(kind, row.kinds) and fnmatchcase(pods.name, row.pods)
            for kind, example in examples().items()
            for pods in example.pods
        ), row


def spec_fields(example: Example) -> frozenset[str]:
    """Returns the fields of the kind's spec."""
    if "kind" not in example.document:
        return frozenset()
    spec = (shape_of(example.document["apiVersion"], example.document["kind"], 35).fields or {}).get("spec")
    return frozenset(spec.fields or ()) if spec is not None else frozenset()


def sent(example: Example) -> tuple[Judged, Submission]:
    """Judges the example, and returns its work."""
    found = judged(example)
    (work,) = found.fleet.submissions
    return found, work


def says_queue(example: Example) -> bool:
    """Whether the objects of the work name its queue where KAI reads it."""
    found, work = sent(example)
    wanted = demands(found.fleet, work) if isinstance(work, FleetWorkload | SubmittedSet) else ()
    is_written = any(item.value == work.queue for item in wanted) or example.kind in ("Workflow", "PodGroup")
    return work.queue == "osmo-pool-ml-team--shared" and is_written


def says_priority(example: Example) -> bool:
    """Whether work that says its priority has it, and its objects have the class."""
    document, beside = copy.deepcopy(example.document), copy.deepcopy(example.beside)
    if example.kind == "Workflow":
        document["workflow"]["priority"] = "HIGH"
    elif example.kind == "PodGroup":
        beside[0]["spec"]["priorityClassName"] = "osmo-high"
    else:
        document["metadata"]["labels"]["kubectl-tas/priority"] = "HIGH"
    found, work = sent(replace(example, document=document, beside=beside))
    wanted = demands(found.fleet, work) if isinstance(work, FleetWorkload | SubmittedSet) else ()
    is_written = any(item.value == "osmo-high" for item in wanted) or example.kind in ("Workflow", "PodGroup")
    return work.priority == "HIGH" and is_written


def says_pods(example: Example) -> bool:
    """Whether the GPUs of all pods are known."""
    return sent(example)[1].asks.gpu > 0


def says_minimum(example: Example) -> bool:
    """Whether it is known which pods must start together, or why it is not."""
    found, work = sent(example)
    gangs = list(unplaced(found.fleet, [work]))
    return bool(gangs) and all(isinstance(item, GangToPlace) or item.reason for item in gangs)


def says_how_to_stop(example: Example) -> bool:
    """Whether the kind has the field that stops its pods."""
    if "kind" not in example.document:
        return False
    shape = shape_of(example.document["apiVersion"], example.document["kind"], 35)
    for step in stop_path(example.kind):
        below = (shape.fields or {}).get(step)
        if below is None:
            return False
        shape = below
    return True


def says_what_a_change_does(example: Example) -> bool:
    """Whether it is known what another image does to pods that run."""
    changed = copy.deepcopy(example.document)
    pods = example.pods[0]
    container = pods.container or pods.task
    assert container is not None
    at_path(changed, container, None)["image"] = "trainer:2"
    change = Change(judged(example).fleet, judged(example, changed).fleet, "HEAD")
    return any(item.fields for item in object_changes(change))


def refuses(example: Example, name: str) -> bool:
    """Whether a rule refuses a name of the work, at its place."""
    path = ("workflow", "name") if "workflow" in example.document else ("metadata", "name")
    text = example.text(example.document, name)
    found = findings_by_place(judged_files(files_of(example, {example.path: text})), example.path)
    spots = places(text.partition("---\n")[0])[path]
    return any(found.get(spot, set()) & {"name-invalid", "invalid-value"} for spot in spots)


def refuses_long_names(example: Example) -> bool:
    """Whether a rule refuses a name that no object may have."""
    return refuses(example, "a" * 254)


def refuses_other_alphabets(example: Example) -> bool:
    """Whether a rule refuses a name that no object may have."""
    return refuses(example, "Übung")


def refuses_two_of_one_name(example: Example) -> bool:
    """Whether a rule finds two of the kind with one name."""
    text = example.text(example.document, NAME)
    found = judged_files(files_of(example, {example.path: text, f"{example.path.removesuffix('.yaml')}-2.yaml": text}))
    return any(item.rule.code in ("name-duplicate", "name-collision") for item in found.found)


QUESTIONS: dict[str, Callable[[Example], bool]] = {
    "the queue": says_queue,
    "the priority": says_priority,
    "the pods": says_pods,
    "the minimum": says_minimum,
    "how it is stopped": says_how_to_stop,
    "what a change of its pods does": says_what_a_change_does,
    "a name that is too long": refuses_long_names,
    "a name of another alphabet": refuses_other_alphabets,
    "two of one name": refuses_two_of_one_name,
}
WORK = [kind for kind in examples() if kind != "PodTemplate"]


@pytest.mark.parametrize("kind", WORK)
def test_every_question_has_an_answer(kind: str) -> None:
    example = examples()[kind]
    without = [question for question, answers in QUESTIONS.items() if not answers(example)]
    assert without == list(UNANSWERED.get(kind, ()))


TRAINING = sorted(kind for kind, example in examples().items() if "runPolicy" in spec_fields(example))
"""The kinds of Kubeflow's operators, which share the fields of their run policy."""


@pytest.mark.parametrize("kind", sorted(page.recognition.kind for page in pages() if page.pod_rules.container))
def test_the_operator_looks_for_a_container_of_its_name(kind: str) -> None:
    example = examples()[kind]
    document = copy.deepcopy(example.document)
    for pods in example.pods:
        at_path(document, pods.container or (), None)["name"] = "main"
    where = places(example.text(document, NAME))
    found = findings_by_place(judged(example, document), example.path)
    for pods in example.pods:
        spots = where[(*(pods.container or ()), "name")]
        assert any("operator-refuses" in found.get(spot, ()) for spot in spots), pods.name


@pytest.mark.parametrize("kind", TRAINING)
def test_a_time_to_live_makes_a_gitops_tool_run_work_again(kind: str) -> None:
    example = replace(examples()[kind], config={"gitops": "argocd"})
    document = copy.deepcopy(example.document)
    document["spec"].setdefault("runPolicy", {})["ttlSecondsAfterFinished"] = 60
    codes = [item.rule.code for item in judged(example, document).found]
    assert codes == ([] if document["apiVersion"] == "kubeflow.org/v2beta1" else ["finished-recreated"])


NAMES = {
    "Job": (True, False, 61),
    "CronJob": (True, True, 52),
    "Pod": (True, True, 253),
    "Deployment": (True, True, 242),
    "StatefulSet": (True, False, 52),
    "Notebook": (False, False, 52),
    "JobSet": (False, False, 45),
    "RayJob": (False, False, 47),
    "RayCluster": (False, False, 53),
    "RayService": (False, False, 47),
    "TrainJob": (False, False, 63),
    **dict.fromkeys(("PyTorchJob", "TFJob", "XGBoostJob", "JAXJob", "PaddleJob", "MPIJob"), (False, False, 54)),
    "LeaderWorkerSet": (False, False, 50),
    "ReplicaSet": (True, True, 253),
    "ReplicationController": (True, True, 253),
    "Job.batch.volcano.sh": (True, True, 54),
    "DynamoGraphDeployment": (False, False, 54),
    "Workflow.argoproj.io": (True, True, 63),
    "CronWorkflow": (True, True, 52),
    "InferenceService": (False, False, 51),
    "SparkApplication": (False, False, 63),
    "RayCronJob": (False, False, 36),
    "ScheduledSparkApplication": (False, False, 43),
    "SeldonDeployment": (False, False, 253),
    "of spec.kinds": (True, True, 253),
    "of a Karta": (True, True, 253),
    "PodCliqueSet": (False, False, 61),
    "PodGroup": (True, True, 253),
    "Workflow": (True, False, 254),
}
"""Whether a name of each example may begin with a digit, whether it may have a dot, and how long it may be. OSMO has
longer names shortened, and no file has them in full.
"""


@pytest.mark.parametrize("kind", WORK)
def test_the_names_that_each_kind_takes(kind: str) -> None:
    example = examples()[kind]
    first_digit, dot, longest = NAMES[kind]
    assert refuses(example, "7b") is not first_digit
    assert refuses(example, "a.b") is not dot
    assert not refuses(example, "a" * longest)
    assert refuses(example, "a" * (longest + 1)) or kind == "Workflow"


@pytest.mark.parametrize(
    ("kind", "path", "refused", "accepted"),
    [
        ("JobSet", ("spec", "replicatedJobs", 1, "name"), "Learner", "0-learner"),
        ("JobSet", ("spec", "replicatedJobs", 1, "groupName"), "0-group", "group"),
        ("RayCluster", ("spec", "workerGroupSpecs", 0, "groupName"), "gpu_workers", "GPU-workers"),
        ("RayJob", ("spec", "rayClusterSpec", "workerGroupSpecs", 0, "groupName"), "gpu_workers", "0-workers"),
        ("RayService", ("spec", "rayClusterConfig", "workerGroupSpecs", 0, "groupName"), "gpu_workers", "0-workers"),
        ("Workflow.argoproj.io", ("spec", "templates", 1, "name"), "eval_code", "Eval-code"),
        ("CronWorkflow", ("spec", "workflowSpec", "templates", 1, "name"), "eval.code", "0-code"),
        ("Job.batch.volcano.sh", ("spec", "tasks", 0, "name"), "Worker", "0-worker"),
        ("SeldonDeployment", ("spec", "predictors", 0, "name"), "Main", "0-main"),
        ("DynamoGraphDeployment", ("spec", "components", 0, "name"), "Front_end", "Frontend"),
    ],
)
def test_the_names_of_parts(kind: str, path: KeyPath, refused: str, accepted: str) -> None:
    """On KAI 0.14, which does not look at the names of Ray's groups itself."""
    example = examples()[kind]
    backend = {"name": "prod", "namespace": "ml", "scheduler": {"version": "0.14"}}
    config = {"backends": [backend], "rules": {"gpus-unknown": "off"}}
    for name, is_refused in ((refused, True), (accepted, False)):
        document = copy.deepcopy(example.document)
        at_path(document, path[:-1], None)[path[-1]] = name
        found = findings_by_place(judged(replace(example, config=config), document), example.path)
        spots = places(example.text(document, NAME))[path]
        assert any("name-invalid" in found.get(spot, ()) for spot in spots) is is_refused, name


ENDING = frozenset({"Job", "CronJob", "JobSet"})
"""Kinds whose pods end, so that none may start anew for ever."""
LASTING = frozenset({"Deployment", "ReplicaSet", "ReplicationController", "StatefulSet", "LeaderWorkerSet", "Notebook"})
"""Kinds whose pods start anew for ever, with those of operators that make such objects."""
LASTING |= {"InferenceService", "SeldonDeployment"}
READY = sorted(kind for kind, example in examples().items() if "minReadySeconds" in spec_fields(example))
SELECTING = sorted(set(READY) & LASTING)


def codes_at(example: Example, changes: dict[KeyPath, object], place: KeyPath) -> set[str]:
    """The rules that find something at a path of the example with other values."""
    document = copy.deepcopy(example.document)
    for path, value in changes.items():
        at_path(document, path[:-1], None)[path[-1]] = value
    found = findings_by_place(judged(example, document), example.path)
    where = places(example.text(document, NAME).partition("---\n")[0])
    return {code for spot in where[place] for code in found.get(spot, ())}


RESTARTED = sorted(kind for kind, example in examples().items() if example.pods[0].is_pod_spec or kind in LASTING)


@pytest.mark.parametrize("kind", RESTARTED)
def test_the_restart_policies_that_each_kind_takes(kind: str) -> None:
    example = examples()[kind]
    refused = {"Always"} if kind in ENDING else {"Never", "OnFailure"} if kind in LASTING else set()
    for pods in example.pods:
        for policy in ("Always", "Never", "OnFailure"):
            path = (*(pods.spec or ()), "restartPolicy")
            assert ("restart-policy" in codes_at(example, {path: policy}, path)) is (policy in refused), pods.name


@pytest.mark.parametrize("kind", sorted(LASTING))
def test_pods_that_last_have_no_deadline(kind: str) -> None:
    for pods in examples()[kind].pods:
        path = (*(pods.spec or ()), "activeDeadlineSeconds")
        assert codes_at(examples()[kind], {path: 60}, path) == {"fields-conflict"}, pods.name


@pytest.mark.parametrize("kind", READY)
def test_pods_are_not_ready_before_they_start(kind: str) -> None:
    path = ("spec", "minReadySeconds")
    assert codes_at(examples()[kind], {path: -1}, path) == {"invalid-value"}


@pytest.mark.parametrize("kind", SELECTING)
def test_a_selector_of_other_pods(kind: str) -> None:
    example = examples()[kind]
    inner = () if kind == "ReplicationController" else ("matchLabels",)
    path = ("spec", "selector", *inner, "app")
    assert codes_at(example, {path: "y"}, path) == {"selector-mismatch"}
