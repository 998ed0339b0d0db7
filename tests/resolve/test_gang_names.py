"""Tests that names of a workflow's gangs and pods depend on their content: equal for equal content only."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kubectl_tas.cli.session import check_source
from kubectl_tas.compile import compile_fleet
from kubectl_tas.emit import manifest_text
from kubectl_tas.load.source import FolderSource, OverlaySource
from tests.support.pyyaml import safe_load

REPOSITORY: dict[str, Any] = {
    "config": {
        "scheduler": {"type": "kai", "version": "0.17"},
        "priorityClasses": {"HIGH": "high", "NORMAL": "normal", "LOW": "low"},
        "queuePrefix": "osmo",
        "gitops": "none",
    },
    "prefix": "",
    "pools": {},
    "levels": [{"key": "zone", "label": "a/zone"}, {"key": "rack", "label": "a/rack"}],
    "workflow": {"name": "train", "pool": "team", "priority": "NORMAL"},
    "task": {"image": "busybox", "environment": {"A": "1", "B": "$(A)2"}, "args": ["1", "x"]},
    "resource": {"cpu": 1, "gpu": 1},
    "topology": {"one": [{"key": "zone"}], "two": [{"key": "zone"}, {"key": "rack"}]},
}
"""A repository by its parts: one workflow of one group of two tasks, which differ in what they ask of a topology."""


def changed(path: str, value: Any) -> dict[str, Any]:
    """The repository with another value at ``path``, such as ``task.image``; None: without it."""
    result = copy.deepcopy(REPOSITORY)
    *steps, last = path.split(".")
    inner = result
    for step in steps:
        inner = inner.setdefault(step, {})
    if value is None:
        del inner[last]
    else:
        inner[last] = value
    return result


def files(parts: dict[str, Any], workflow: str = "workflows/train.yaml") -> dict[str, bytes]:
    """The files of a repository; JSON is YAML."""
    config = {key: value for key, value in parts["config"].items() if key != "scheduler"}
    config["backends"] = [{"name": "prod", "scheduler": parts["config"]["scheduler"]}]
    is_kai = parts["config"]["scheduler"].get("type", "kai") == "kai"
    pools = [
        {
            "apiVersion": "tas/v1alpha1",
            "kind": "Pool",
            "metadata": {"name": name},
            "spec": {**parts["pools"], "topology_keys": parts["levels"] if is_kai else []},
        }
        for name in ("team", "other")
    ]
    resources = {
        f"{parts['prefix']}{name}": {**parts["resource"], "topology": topology if is_kai else []}
        for name, topology in parts["topology"].items()
    }
    tasks = [
        {"name": name, "resource": resource, **parts["task"]}
        for name, resource in zip(parts["topology"], resources, strict=True)
    ]
    documents = {
        "tas.yaml": [{"apiVersion": "tas/v1alpha1", "kind": "Config", "spec": config}],
        "pools/pools.yaml": pools,
        workflow: [
            {
                "workflow": {**parts["workflow"], "groups": [{"name": "gang", "tasks": tasks}]},
                "resources": resources,
            }
        ],
    }
    return {name: "".join(f"---\n{json.dumps(item)}\n" for item in items).encode() for name, items in documents.items()}


def gang(root: Path, texts: dict[str, bytes]) -> tuple[frozenset[str], str]:
    """The names of the gang and its pods, and what they are: the pods' specs to the byte, their places in the
    gang, and the PodGroup but for what may change while it runs.
    """
    session = check_source(root, OverlaySource(FolderSource(root), texts))
    assert not session.failed(), session.diagnostics
    found, content = set(), []
    for artifact in compile_fleet(session.fleet):
        kind, name = artifact.manifest.kind, artifact.manifest.metadata.name
        document = manifest_text.object_text(artifact)
        spec = document.partition("\nspec:\n")[2]
        if kind in ("Pod", "Job"):
            metadata = safe_load(document)["metadata"]
            labels = [metadata["labels"].get(f"kai.scheduler/{key}") for key in ("subgroup-name", "node-pool")]
            content.append((name.rpartition("-")[2], spec, [metadata["namespace"], *labels]))
        elif kind == "PodGroup":
            content.append(("", "".join(line for line in spec.splitlines() if "preemptib" not in line), None))
        else:
            continue
        found.add(name)
    return frozenset(found), json.dumps(sorted(content, key=str))


OTHERS = {
    "order-of-variables": ("task.environment", {"B": "$(A)2", "A": "1"}),
    "value-of-a-variable": ("task.environment", {"A": "1", "B": ""}),
    "variable-less": ("task.environment", {"A": "1"}),
    "class-renamed": ("config.priorityClasses.NORMAL", "medium"),
    "classes-swapped": ("config.priorityClasses", {"HIGH": "normal", "NORMAL": "high"}),
    "scheduler-name": ("config.scheduler.name", "kai-two"),
    "scheduler-type": ("config.scheduler.type", "default"),
    "queue-prefix": ("config.queuePrefix", "gpu"),
    "namespace": ("pools.namespaces", ["other", "default"]),
    "node-selector": ("pools.nodes", {"selector": {"a": "b"}}),
    "toleration": ("pools.nodes", {"tolerations": [{"key": "a", "operator": "Exists"}]}),
    "node-pool": ("pools.nodePool", "h100"),
    "label-of-a-level": ("levels", [{"key": "zone", "label": "a/room"}, {"key": "rack", "label": "a/rack"}]),
    "priority": ("workflow.priority", "HIGH"),
    "pool": ("workflow.pool", "other"),
    "workflow": ("workflow.name", "train-two"),
    "image": ("task.image", "busybox:2"),
    "order-of-arguments": ("task.args", ["x", "1"]),
    "command": ("task.command", ["sh"]),
    "privileged": ("task.privileged", True),
    "host-network": ("task.hostNetwork", True),
    "mount": ("task.volumeMounts", ["/a"]),
    "gpus": ("resource.gpu", 2),
    "memory": ("resource.memory", "1Gi"),
    "nodes-excluded": ("resource.nodesExcluded", ["a"]),
    "order-of-levels": ("levels", REPOSITORY["levels"][::-1]),
    "level": ("topology.one", [{"key": "rack"}]),
    "preferred": ("topology.two", [{"key": "zone"}, {"key": "rack", "requirementType": "preferred"}]),
    "place": ("topology.two", [{"key": "zone"}, {"key": "rack", "group": "mine"}]),
    "timeout": ("workflow.timeout", {"exec_timeout": "1h"}),
    "default-timeout": ("pools.default_exec_timeout", "1h"),
    "jobs": ("config.workflowsAs", "jobs"),
    "no-topology": ("topology", {"one": [], "two": []}),
}
"""Changes of what is emitted that an API server refuses, or that make it another gang."""
SAME = {
    "number-or-text": ("task.args", [1, "x"]),
    "variable-as-number": ("task.environment", {"A": 1, "B": "$(A)2"}),
    "cpu-as-text": ("resource.cpu", "1"),
    "default-written": ("task.privileged", False),
    "empty-list": ("task.command", []),
    "name-in-another-case": ("workflow.name", "TRAIN"),
    "resources-renamed": ("prefix", "my-"),
    "order-of-keys": ("resource", {"gpu": 1, "cpu": 1}),
    "order-of-requirements": ("topology.two", [{"key": "rack"}, {"key": "zone"}]),
    "release": ("config.scheduler.version", "0.10"),
    "namespace-of-the-backend": ("pools.namespaces", ["default", "other"]),
    "nodes-of-any-kind": ("pools.nodes", {"selector": {}, "tolerations": []}),
    "default-scheduler-named": ("config.scheduler.name", "kai-scheduler"),
    "gitops": ("config.gitops", "argocd"),
    "another-priority's-class": ("config.priorityClasses.HIGH", "urgent"),
    "level-that-nobody-asks-for": (
        "levels",
        [*REPOSITORY["levels"], {"key": "host", "label": "kubernetes.io/hostname"}],
    ),
    "labels": ("workflow.labels", {"team": "a"}),
    "only-for-osmo": ("task.lead", True),
    "platform": ("resource.platform", "dgx"),
    "queue-timeout": ("workflow.timeout", {"queue_timeout": "1h"}),
    "exit-actions-of-pods": ("task.exitActions", {"RESCHEDULE": 3}),
    "retries-of-pods": ("config.maxRetries", 5),
}
"""Changes that leave the pods and the gang as they are, or that can be made while they run."""


@pytest.mark.parametrize("change", OTHERS)
def test_other_content_has_other_names(repository: Path, change: str) -> None:
    before, was = gang(repository, files(REPOSITORY))
    after, now = gang(repository, files(changed(*OTHERS[change])))
    assert was != now or change == "workflow"
    assert not before & after


@pytest.mark.parametrize("change", SAME)
def test_the_same_content_has_the_same_names(repository: Path, change: str) -> None:
    assert gang(repository, files(changed(*SAME[change]))) == gang(repository, files(REPOSITORY))


def as_jobs(path: str, value: Any) -> dict[str, Any]:
    """The repository with Jobs and an exit code that is to be rescheduled, and another value at ``path``."""
    result = changed(path, value)
    result["config"]["workflowsAs"] = "jobs"
    result["task"].setdefault("exitActions", {"RESCHEDULE": 3})
    return result


JOBS = as_jobs("prefix", "")


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("workflow.labels", {"team": "a"}),
        ("task.exitActions", {"RESCHEDULE": 4}),
        ("task.exitActions", {}),
        ("config.maxRetries", 5),
        ("pools.default_exit_actions", {"RESCHEDULE": 4}),
    ],
)
def test_what_cannot_change_in_a_job_makes_another_one(repository: Path, path: str, value: Any) -> None:
    before, was = gang(repository, files(JOBS))
    after, now = gang(repository, files(as_jobs(path, value)))
    assert was != now
    assert not before & after


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("config.gitops", "argocd"),
        ("task.exitActions", {"COMPLETE": 0, "fail": "1-2,4-255", "reschedule": "3"}),
        ("pools.default_exit_actions", {"FAIL": 3}),
    ],
)
def test_a_job_that_stays_the_same_keeps_its_name(repository: Path, path: str, value: Any) -> None:
    assert gang(repository, files(as_jobs(path, value))) == gang(repository, files(JOBS))


def test_each_part_of_a_name_that_is_cut_can_be_told(repository: Path) -> None:
    texts = files(changed("workflow.name", f"speech-{'a' * 60}"))
    long = texts["workflows/train.yaml"].replace(b'"gang"', b'"decode-%b"' % (b"b" * 60))
    long = long.replace(b'"name": "two"', b'"name": "two-%b"' % (b"c" * 60))
    names, _ = gang(repository, {**texts, "workflows/train.yaml": long})
    assert {len(name) for name in names} <= {62, 63}
    assert all(name.startswith("speech-aaaa") and "-decode-bbbb" in name for name in names)
    assert sum("-two-cccc" in name for name in names) == 1
    assert sum("-one-" in name for name in names) == 1


def test_the_name_of_a_group_that_all_are_in_is_not_emitted(repository: Path) -> None:
    one, other = ([{"key": "zone", "group": name}] for name in ("one", "other"))
    expected = gang(repository, files(changed("topology", {"one": one, "two": one})))
    assert gang(repository, files(changed("topology", {"one": other, "two": other}))) == expected


def test_files_do_not_count(repository: Path) -> None:
    texts = files(REPOSITORY, "workflows/z/other.json.yaml")
    two = dict(reversed(texts.items()))
    one = {"pools/all.yaml": b"".join(content for name, content in texts.items() if name != "tas.yaml")}
    expected = gang(repository, files(REPOSITORY))
    assert gang(repository, two) == expected
    assert gang(repository, {**one, "tas.yaml": texts["tas.yaml"]}) == expected


def test_names_that_join_alike_do_not_meet(repository: Path) -> None:
    """Workflow a-b with group c, and a with b-c."""
    texts = files(REPOSITORY)
    document = json.loads(texts["workflows/train.yaml"].removeprefix(b"---\n"))
    for name, group in (("a-b", "c"), ("a", "b-c")):
        document["workflow"]["name"], document["workflow"]["groups"][0]["name"] = name, group
        texts[f"workflows/{name}.yaml"] = json.dumps(document).encode()
    names, _ = gang(repository, texts)
    assert len([name for name in names if name.startswith("a-b-c-")]) == 6


TOPOLOGIES: list[list[dict[str, str]]] = [
    [],
    [{"key": "rack"}],
    [{"key": "zone"}],
    [{"key": "rack"}, {"key": "zone"}],
    [{"key": "zone", "group": "other"}, {"key": "rack"}],
    [{"key": "zone"}, {"key": "rack", "group": "other", "requirementType": "preferred"}],
]
CHOICES: dict[str, list[Any]] = {
    "config.scheduler.type": ["kai", "default"],
    "config.scheduler.name": ["placer", "other"],
    "config.scheduler.version": ["0.10", "0.12", "0.14", "0.17"],
    "config.priorityClasses": [
        {"HIGH": "high", "NORMAL": "low", "LOW": "normal"},
        {"HIGH": "low", "NORMAL": "normal", "LOW": "high"},
    ],
    "config.queuePrefix": ["gpu"],
    "config.gitops": ["argocd", "flux"],
    "levels": [
        REPOSITORY["levels"][::-1],
        [{"key": "zone", "label": "a/rack"}, {"key": "rack", "label": "a/zone"}],
        [{"key": "row", "label": "a/row"}, *REPOSITORY["levels"]],
    ],
    "workflow.priority": ["HIGH", "LOW"],
    "workflow.pool": ["other", "TEAM"],
    "workflow.labels": [{"a": "b"}],
    "task.environment": [{}, {"A": 1, "B": "$(A)2"}, {"B": "$(A)2", "A": "1"}, {"A": ""}],
    "task.args": [[], [1, "x"], ["1 x"], ["x", "1"]],
    "task.command": [[], ["1", "x"]],
    "task.image": ["busybox:1"],
    "task.privileged": [True, False],
    "task.hostNetwork": [True, False],
    "task.volumeMounts": [["/a"], ["/a:/a"], ["/a:/b"], ["/a", "/b"]],
    "prefix": ["my-"],
    "resource.cpu": ["1", 1.0, 0.1, "100m"],
    "resource.gpu": [0, 2],
    "resource.memory": ["1Gi", "1024Mi"],
    "resource.storage": ["1Gi"],
    "resource.platform": ["dgx"],
    "resource.nodesExcluded": [[], ["a", "b"], ["b", "a"], ["a", "b", "a"]],
    "topology.one": TOPOLOGIES,
    "topology.two": TOPOLOGIES,
}


@st.composite
def repositories(draw: st.DrawFn) -> dict[str, Any]:
    """A repository with up to three changes."""
    result = copy.deepcopy(REPOSITORY)
    for path in draw(st.lists(st.sampled_from(sorted(CHOICES)), max_size=3, unique=True)):
        *steps, last = path.split(".")
        inner = result
        for step in steps:
            inner = inner[step]
        inner[last] = draw(st.sampled_from(CHOICES[path]))
    return result


@settings(
    max_examples=150,
    deadline=None,
    derandomize=True,
    suppress_health_check=list(HealthCheck),
)
@given(one=repositories(), other=repositories())
def test_one_name_for_one_content(repository: Path, one: dict[str, Any], other: dict[str, Any]) -> None:
    """Two repositories give a gang one name exactly where they give it one content."""
    names, content = gang(repository, files(one))
    other_names, other_content = gang(repository, files(other))
    assert (names == other_names) == (content == other_content)
    assert names == other_names or not names & other_names
