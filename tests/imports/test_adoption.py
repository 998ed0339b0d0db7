"""Tests the adoption of work of other schedulers: for work of every kind, nothing is left, and `validate` passes."""

from __future__ import annotations

import copy
import re
import shutil
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from kubectl_tas.base.diagnostics import Severity
from kubectl_tas.imports.adoption import adopt
from kubectl_tas.imports.foreign_keys import scheduler_of
from kubectl_tas.imports.written import Wishes
from kubectl_tas.kinds import SET, page_of
from tests.support.cli import kubectl_tas
from tests.support.every_kind import Example, at_path, examples, files_of
from tests.support.fleets import fleet_of, judged_files, said
from tests.support.golden import at, case_input, cases
from tests.support.pyyaml import dumped, safe_load

CASES = cases("commands/adopt")
PATH = "workflows/work.yaml"


class Dialect(NamedTuple):
    """What work says to a scheduler: on the object, and on each of its pods."""

    labels: dict[str, str]
    annotations: dict[str, str]
    pod_labels: dict[str, str]
    pod_annotations: dict[str, str]
    pod_fields: dict[str, Any]
    priority: str
    """The priority that the work has here."""


DIALECTS = {
    "kueue": Dialect(
        {
            "kueue.x-k8s.io/queue-name": "team-queue",
            "kueue.x-k8s.io/priority-class": "background",
            "kueue.x-k8s.io/managed": "true",
        },
        {"kueue.x-k8s.io/job-min-parallelism": "1"},
        {"kueue.x-k8s.io/podset": "main"},
        {"kueue.x-k8s.io/podset-required-topology": "topology.kubernetes.io/rack"},
        {"schedulingGates": [{"name": "kueue.x-k8s.io/admission"}]},
        "LOW",
    ),
    "volcano": Dialect(
        {"volcano.sh/queue-name": "team-queue"},
        {"scheduling.volcano.sh/group-min-member": "1"},
        {"volcano.sh/preemptable": "true"},
        {"scheduling.k8s.io/group-name": "group", "scheduling.volcano.sh/queue-name": "team-queue"},
        {"schedulerName": "volcano", "priorityClassName": "background"},
        "LOW",
    ),
    "yunikorn": Dialect(
        {"yunikorn.apache.org/queue": "root.team-queue"},
        {},
        {"yunikorn.apache.org/app-id": "a", "yunikorn.apache.org/queue": "root.team-queue"},
        {"yunikorn.apache.org/task-group-name": "a", "yunikorn.apache.org/task-groups": "[]"},
        {"schedulerName": "yunikorn", "priorityClassName": "urgent"},
        "HIGH",
    ),
    "co-scheduling": Dialect(
        {},
        {},
        {"scheduling.x-k8s.io/pod-group": "group"},
        {},
        {"schedulerName": "scheduler-plugins-scheduler"},
        "NORMAL",
    ),
    "kai": Dialect(
        {"kai.scheduler/queue": "team-queue", "kai.scheduler/preemptibility": "preemptible"},
        {"kai.scheduler/topology-required-placement": "topology.kubernetes.io/rack"},
        {"kai.scheduler/queue": "team-queue", "runai/queue": "team-queue"},
        {"pod-group-name": "pg-example-1", "kai.scheduler/last-start-timestamp": "2026-01-01T00:00:00Z"},
        {"schedulerName": "kai-scheduler", "priorityClassName": "train"},
        "LOW",
    ),
    "default": Dialect({}, {}, {}, {}, {"schedulerName": "default-scheduler"}, "NORMAL"),
}
_PAGES = [kind for kind in examples() if kind == SET.name or page_of(kind) is not None]
WISHES = Wishes("", {"team-queue": "team", "root.team-queue": "team"}, {"background": "LOW", "urgent": "HIGH"})


def dressed(example: Example, dialect: Dialect) -> dict[str, Any]:
    """The document of an example as it runs under another scheduler."""
    document = copy.deepcopy(example.document)
    metadata = document["metadata"]
    metadata["namespace"] = "elsewhere"
    metadata["labels"] = {"app": "x", **dialect.labels}
    if dialect.annotations:
        metadata["annotations"] = {**metadata.get("annotations", {}), **dialect.annotations}
    for pods in example.pods:
        above = at_path(document, pods.metadata, None) if pods.metadata is not None else None
        if isinstance(above, dict):
            for field, more in (("labels", dialect.pod_labels), ("annotations", dialect.pod_annotations)):
                if more:
                    above[field] = {**(above.get(field) or {}), **more}
        if pods.spec is not None and pods.is_pod_spec:
            at_path(document, pods.spec, None).update(copy.deepcopy(dialect.pod_fields))
    metadata["labels"].pop("kubectl-tas/pool", None)
    return document


def strings(value: Any) -> list[str]:
    """All keys and texts of a document."""
    if isinstance(value, dict):
        return [text for key, below in value.items() for text in (str(key), *strings(below))]
    if isinstance(value, list):
        return [text for below in value for text in strings(below)]
    return [value] if isinstance(value, str) else []


def errors(files: dict[str, str]) -> list[str]:
    return [item.message for item in judged_files(files).found if item.severity is not Severity.INFO]


@pytest.mark.parametrize(
    ("kind", "dialect"),
    [(kind, dialect) for number, kind in enumerate(_PAGES) for dialect in [*DIALECTS][number % 3 :: 3]],
)
def test_work_of_every_kind_passes_with_nothing_of_the_other_scheduler(kind: str, dialect: str) -> None:
    example, spoken = examples()[kind], DIALECTS[dialect]
    shared = files_of(example, {})
    document = dressed(example, spoken)
    text = "# work\n" + dumped(document)
    pool = "" if any("queue" in key for key in (*spoken.labels, *spoken.pod_labels)) else "team"
    adopted = adopt({PATH: text}, fleet_of(shared), Wishes(pool, WISHES.queues, WISHES.priorities))
    assert [said(item) for item in adopted.refusals] == []
    after = adopted.texts[PATH]
    data = safe_load(after)
    assert after.startswith("# work\n")
    assert data["metadata"]["labels"]["kubectl-tas/pool"] == "team"
    if not spoken.pod_fields or any(pods.is_pod_spec for pods in example.pods):
        assert data["metadata"]["labels"].get("kubectl-tas/priority", "NORMAL") == spoken.priority
    assert "namespace" not in data["metadata"]
    left = [word for word in strings(data) if scheduler_of(word) or re.fullmatch("schedulerName|volcano", word)]
    assert left == [] or (page_of(kind) is not None and scheduler_of(f"{data['apiVersion']}/"))
    before = errors(files_of(example, {PATH: example.text(example.document, "example")}))
    assert [line for line in errors({**shared, PATH: after}) if line not in before] == []
    again = adopt({PATH: after}, fleet_of(shared), Wishes())
    assert (again.texts, again.refusals) == ({}, [])


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_what_is_written(case: Path, tmp_path: Path, snapshot: Any) -> None:
    """Each case is read as if one had to apply it; what is written passes `validate`."""
    root = tmp_path / "r"
    shutil.copytree(case_input(case), root)
    (root / "old").mkdir()
    (root / "old/work.yaml").write_text((case / "work.yaml").read_text())
    pool = () if "queue" in (case / "work.yaml").read_text() else ("--pool", "team--research")
    arguments = ("-C", root, "adopt", root / "old/work.yaml", *pool, "--priority-class", "urgent=HIGH")
    dry = kubectl_tas(*arguments, "--dry-run")
    assert not (root / "workflows").exists()
    result = kubectl_tas(*arguments)
    assert (result.code, result.out.replace("wrote workflows/work.yaml\n", "")) == (0, dry.out), result.err
    written = (root / "workflows/work.yaml").read_text()
    told = result.out.partition("Becomes:")
    assert f"{told[1]}{told[2]}{result.err}\n{written}" == snapshot(extension_class=at(case / "output.txt"))
    found = kubectl_tas("-C", root, "validate")
    assert (found.code, scheduler_of(found.out)) == (0, ""), found.out


KUEUE_JOB = """\
apiVersion: kubeflow.org/v1
kind: PyTorchJob
metadata: {name: train, labels: {kueue.x-k8s.io/queue-name: team}}
spec:
  pytorchReplicaSpecs:
    Master: {replicas: 1, template: &pods {metadata: {annotations: {PLACED}}, spec: {containers: [CONTAINER]}}}
    Worker: {replicas: 3, template: *pods}
""".replace("PLACED", "kueue.x-k8s.io/podset-required-topology: topology.kubernetes.io/rack").replace(
    "CONTAINER", "{name: pytorch, image: busybox:1.37, resources: {limits: {nvidia.com/gpu: 1}}}"
)
FLAVORS = """\
apiVersion: tas/v1alpha1
kind: Pool
metadata: {name: team}
spec:
  resources: {gpu: {guarantee: 8}}
  topology_keys: [{key: rack, label: topology.kubernetes.io/rack}]
  platforms:
    h100: {nodes: {selector: {gpu: h100}}}
    a100: {nodes: {selector: {gpu: a100}}}
"""


def test_what_kueue_adds_by_flavor_and_places_by_podset_is_listed() -> None:
    fleet = fleet_of({"pools/team.yaml": FLAVORS})
    adopted = adopt({PATH: KUEUE_JOB}, fleet, Wishes("", {}, {}))
    reasons = [each.reason for each in adopted.unequal]
    assert any(
        reason.startswith("level rack of each pod template by itself, as Kueue places them") for reason in reasons
    )
    flavor = "the node labels and tolerations of its flavor: its pods may run on any node; write a nodeSelector and"
    assert any(reason.startswith(flavor) and "a100" in reason for reason in reasons)


JOB_SET = """\
apiVersion: jobset.x-k8s.io/v1alpha2
kind: JobSet
metadata: {name: train, labels: {kueue.x-k8s.io/queue-name: team}}
spec:
  replicatedJobs:
  - name: workers
    replicas: 4
    template:
      spec:
        parallelism: 2
        completions: 2
        template:
          metadata:
            annotations:
              kueue.x-k8s.io/podset-slice-required-topology: topology.kubernetes.io/rack
              kueue.x-k8s.io/podset-slice-size: "SIZE"
          spec: {restartPolicy: Never, containers: [{name: a, image: a, resources: {limits: {nvidia.com/gpu: 1}}}]}
"""


@pytest.mark.parametrize(
    ("size", "version", "is_placed"), [("2", "0.17", True), ("1", "0.17", False), ("2", "0.15", False)]
)
def test_slices_of_a_job_set_are_its_jobs(size: str, version: str, is_placed: bool) -> None:
    backend = f"{{name: a, scheduler: {{version: '{version}'}}}}"
    config = f"apiVersion: tas/v1alpha1\nkind: Config\nspec: {{backends: [{backend}]}}\n"
    fleet = fleet_of({"tas.yaml": config, "pools/team.yaml": FLAVORS})
    adopted = adopt({PATH: JOB_SET.replace("SIZE", size)}, fleet, Wishes("", {}, {}))
    template = safe_load(adopted.texts[PATH])["spec"]["replicatedJobs"][0]["template"]["spec"]["template"]
    annotations = template.get("metadata", {}).get("annotations")
    assert annotations == ({"kai.scheduler/topology-required-placement": "rack"} if is_placed else None)
    lost = f"slices of {size} pods: KAI divides no JobSet into segments"
    assert (lost in [each.reason for each in adopted.unequal]) is not is_placed
