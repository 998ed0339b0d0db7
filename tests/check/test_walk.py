"""Tests that checks leave it to the walk to find their subjects."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from kubectl_tas.check import FLEET_CHECKS, WORK_CHECKS
from kubectl_tas.check.walk import CONTAINER, FLEET, POD_SPEC
from tests.support.every_kind import NAME, examples, files_of
from tests.support.fleets import fleet_of
from tests.support.golden import ROOT

WHOLE = {
    "check_admin_sources": "the Config alone",
    "check_admission": "the sum of all work of a queue",
    "check_claims": "claims and the pods of all documents",
    "check_config": "the Config alone",
    "check_departments": "the Config and all pools",
    "check_draining": "lists of a subpool and all its work",
    "check_given": "the Config and the pools",
    "check_guarded_access": "the Config and all pools",
    "check_kartas": "two documents of one kind",
    "check_kinds": "the Config alone",
    "check_kubernetes": "the Config alone",
    "check_layout": "counts the objects of all work in a folder",
    "check_named": "names that no document has",
    "check_names": "the Config alone",
    "check_operator": "two documents of one kind",
    "check_operator_fields": "the first document of a kind",
    "check_queue_labels": "the Config and all pools",
    "check_references": "names that no document has",
    "check_shard_values": "two documents with one value",
    "check_scale_targets": "names that no document has",
    "check_selected": "selectors and the pods of all documents",
    "check_undeclared": "all shards and the pools",
    "check_unique": "two documents with one name",
    "check_unique_work": "two documents with one name",
    "check_unused_platforms": "platforms that no document uses",
    "check_workflow_jobs": "the Config and the workflows of each backend",
}
"""The checks that look at a repository as a whole, and why."""
LISTS = {"workflows", "workloads", "submissions", "submitted_sets", "pod_clique_sets", "pod_groups", "companions"}
"""Lists of a fleet, or of a repository, that have work or pods."""
READERS = {
    "companion_names.py": {"_known": "the names of Services that controllers make"},
    "deduplicate.py": {"_contents": "compares all files with an earlier revision"},
    "grove_api.py": {"check_topology_release": "the clusters whose sets use a topology"},
    "growth.py": {
        "check_scale_targets": "names that no document has",
        "held_gpus": "the sum of all work of a queue",
        "scalers": "autoscalers and their targets: a node of the walk",
        "waits_for_sums": "whether the sum is needed",
    },
    "hierarchy.py": {"_other_name": "the sets that use a topology"},
    "owned.py": {"_elsewhere": "the PodGroup that the pods of a node join"},
    "quota.py": {
        "_places": "the places of work that a list names",
        "check_admission": "the sum of all work of a queue",
        "check_draining": "lists of a subpool and all its work",
    },
    "selectors.py": {"check_selected": "selectors and the pods of all documents"},
    "settings.py": {"_objects": "counts the objects of all work in a folder"},
    "unique.py": {
        "_generated_of_work": "two documents with one name",
        "_groups_that_could_meet": "two documents with one name",
        "check_unique_work": "two documents with one name",
    },
    "versions.py": {"check_workflow_jobs": "the workflows of each backend"},
    "visibledevices.py": {"config_maps": "ConfigMaps that containers of other files read"},
    "written_podgroups.py": {"_pods": "the pods of other documents that join a PodGroup"},
}
"""The functions that go over such a list, by module, and why: each compares several documents."""

NOT_SEEN = {"PodTemplate": "a pool's template is judged in each pod that the tool makes of it: check_task_platform"}
"""Kinds of documents whose pods are no nodes of the walk, and why."""


def _readers(path: Path) -> Iterator[str]:
    """The functions of a module that read one of the lists."""
    for function in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(function, (ast.FunctionDef, ast.ClassDef)):
            for node in ast.walk(function):
                is_list = isinstance(node, ast.Attribute) and node.attr in LISTS
                if is_list and ast.unparse(node.value) in ("fleet", "repository", "fleet.repository", "self.fleet"):
                    yield function.name


def test_checks_that_look_at_a_repository_as_a_whole_say_why() -> None:
    rows = [look for look in (*FLEET_CHECKS, *WORK_CHECKS) if look.node is FLEET]
    named = {look.check.__closure__[0].cell_contents.__name__: look.why for look in rows if look.check.__closure__}
    assert named == WHOLE
    assert len(rows) == len(WHOLE)


def test_no_check_goes_over_the_fleet_to_find_pods() -> None:
    modules = [path for path in (ROOT / "kubectl_tas/check").glob("*.py") if path.name != "walk.py"]
    readers = {path.name: set(_readers(path)) for path in modules}
    assert {name: found for name, found in readers.items() if found} == {
        name: set(functions) for name, functions in READERS.items()
    }


@pytest.mark.parametrize("kind", examples())
def test_the_walk_has_the_pods_and_containers_of_every_kind(kind: str) -> None:
    """A check of a container's own field sees tasks, and the pods of workloads, sets, PodGroups and declared kinds."""
    example = examples()[kind]
    fleet = fleet_of(files_of(example, {example.path: example.text(example.document, NAME)}))
    for node, place in ((POD_SPEC, "spec"), (CONTAINER, "container"), (CONTAINER, "task")):
        seen = {fields.path for fields in node.of(fleet)}
        written = {path for pods in example.pods if (path := getattr(pods, place)) is not None}
        assert written <= seen or kind in NOT_SEEN
