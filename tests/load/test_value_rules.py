"""Tests what is said of values that do not match the pattern of their field: the whole message, and the whole hint."""

from __future__ import annotations

import json
from typing import Any

from tests.support.cli import pool
from tests.support.judged import told

LABEL = "must be a label such as topology.kubernetes.io/zone"
LABEL_HINT = "(Write its key alone: letters, digits, '-', '_' and '.', perhaps behind a domain and '/'.)"
LABEL_VALUE = "must be the value of a label: letters, digits, '-', '_' and '.', a letter or digit at both ends"
LABEL_VALUE_HINT = "(Write '-' or '_' in place of other characters, such as blanks, '/', ':' and '@'.)"
TIME_HINT = "(Write a number and s, m or h, without a blank.)"
GROUP = "must be the name of a group such as team-nlp, without a blank at either end"
GROUP_HINT = "(Write it as the API server knows it: with its prefix, such as oidc:team-nlp, where it gives one.)"
CPU = 'must be cores such as 600, or a quantity such as "500m"'
MEMORY = "must be a quantity with a unit such as 8Ti or 64Gi"
UNIT = "(Add the unit: memory is counted in bytes.)"
WORK = "must be a kind and a name such as Job/train or Workflow/pretrain"
SHARE = 'or a share such as "33%"'
QUANTITY = "must be a quantity such as 500m or 64Gi"
QUANTITY_HINT = "(Write a unit of Kubernetes right after the number, such as Mi or Gi, not GB.)"
OSMO_TIME, OSMO_TIME_HINT = "must be a time such as 30m", "(Write a whole number and one unit: d, h, m or s.)"
ACTION, CODES = "must be COMPLETE, FAIL or RESCHEDULE", 'must be exit codes such as "1,3-127"'
GPUS, GPUS_HINT = (
    "must be whole GPUs, such as 8",
    "(Write a whole number, such as 8. A part of a GPU is the annotation gpu-fraction of the pod.)",
)
CONFIG: list[tuple[dict[str, Any], str]] = [
    ({"rules": {"A": "off"}}, 'a key in spec.rules must be the code of a rule, not "A" ()'),
    (
        {"operators": {"kuberay": "x"}},
        'spec.operators.kuberay must be a release such as "1.5", not "x" (Write its first two numbers, in quotes, such '
        'as "1.5".)',
    ),
    (
        {"backends": [{"name": "a", "grove": {"version": "1"}}]},
        'spec.backends[0].grove.version must be a release such as "0.1.0-alpha.11", not "1" (Write all of it: '
        '"0.1.0-alpha.11".)',
    ),
    (
        {"backends": [{"name": "a", "kubernetes": "1"}]},
        'spec.backends[0].kubernetes must be a release such as "1.33", not "1" (Write its first two numbers alone, '
        'such as "1.33".)',
    ),
    (
        {"backends": [{"name": "a", "scheduler": {"version": "x"}}]},
        'spec.backends[0].scheduler.version must be a release such as "0.17", not "x" (Write its numbers alone, such '
        'as "0.17" or "0.16.5".)',
    ),
    ({"drainInterval": "0s"}, f'spec.drainInterval must be a time such as 90s, 15m or 1h, not "0s" {TIME_HINT}'),
    ({"maxGracePeriod": "1 m"}, f'spec.maxGracePeriod must be a time such as 90s, 15m or 1h, not "1 m" {TIME_HINT}'),
    (
        {"labels_config": {"pod_label_prefix": "a b"}},
        'spec.labels_config.pod_label_prefix must be a prefix such as example.com/, without blanks, not "a b" ()',
    ),
    (
        {"labels_config": {"policy": [{"key": "a b"}]}},
        f'spec.labels_config.policy[0].key {LABEL}, not "a b" {LABEL_HINT}',
    ),
    (
        {"labels_config": {"policy": [{"key": "a", "allow_list": ["a b"]}]}},
        f'spec.labels_config.policy[0].allow_list[0] {LABEL_VALUE}, not "a b" {LABEL_VALUE_HINT}',
    ),
    (
        {"kinds": [{"apiVersion": "a/v1", "kind": "A", "pods": [{"template": ".spec"}]}]},
        'spec.kinds[0].pods[0].template must be a path such as "spec.template" or "spec.roles[].template", not ".spec" '
        "(Join keys with dots; [] is each item of a list, .* each key of a mapping.)",
    ),
    ({"trusted": [" a"]}, f'spec.trusted[0] {GROUP}, not " a" {GROUP_HINT}'),
]
POOL: list[tuple[dict[str, Any], str]] = [
    ({"resources": {"cpu": {"maximum": "1x"}}}, f'spec.resources.cpu.maximum {CPU}, not "1x" ()'),
    (
        {"resources": {"cpu": {"maximum": -2}}},
        "spec.resources.cpu.maximum must be at least -1, not -2 (Use -1 or more.)",
    ),
    ({"resources": {"memory": {"maximum": "1"}}}, f'spec.resources.memory.maximum {MEMORY}, not "1" ()'),
    ({"resources": {"memory": {"maximum": 5}}}, f"spec.resources.memory.maximum {MEMORY}, not 5 {UNIT}"),
    ({"overQuota": {"Job": {"gpu": 1}}}, f'a key in spec.overQuota {WORK}, not "Job" ()'),
    ({"overQuota": {"Job/a": {"cpu": "1x"}}}, f'spec.overQuota.Job/a.cpu {CPU}, not "1x" ()'),
    ({"overQuota": {"Job/a": {"memory": 5}}}, f"spec.overQuota.Job/a.memory {MEMORY}, not 5 {UNIT}"),
    ({"access": {"submit": ["a "]}}, f'spec.access.submit[0] {GROUP}, not "a " {GROUP_HINT}'),
    (
        {"queue": {"name": "A"}},
        "spec.queue.name must be the name of a Queue, at most 63 characters: lower-case letters, digits, '-' and '.', "
        'not "A" ()',
    ),
    (
        {"preemptMinRuntime": "1"},
        'spec.preemptMinRuntime must be a duration such as 1h30m, in hours, minutes and seconds, not "1" ()',
    ),
    (
        {"topology_keys": [{"key": "a b", "label": "x"}]},
        "spec.topology_keys[0].key must be letters, digits, '-', '_' and '.', a letter or digit at both ends, not "
        '"a b" ()',
    ),
    (
        {"topology_keys": [{"key": "a", "label": "x y"}]},
        f'spec.topology_keys[0].label {LABEL}, not "x y" {LABEL_HINT}',
    ),
    ({"nodePool": "a b"}, f'spec.nodePool {LABEL_VALUE}, not "a b" {LABEL_VALUE_HINT}'),
    (
        {"common_default_variables": {"1a": 1}},
        "a key in spec.common_default_variables must be the name of a token: letters, digits and '_', no digit first, "
        'not "1a" ()',
    ),
    (
        {"platforms": {"p": {"allowed_mounts": ["a"]}}},
        'spec.platforms.p.allowed_mounts[0] must be an absolute path, not "a" ()',
    ),
    ({"nodes": {"selector": {"a b": "c"}}}, f'a key in spec.nodes.selector {LABEL}, not "a b" {LABEL_HINT}'),
    ({"max_exec_timeout": "1x"}, f'spec.max_exec_timeout {OSMO_TIME}, not "1x" {OSMO_TIME_HINT}'),
    ({"default_exit_actions": {"STOP": "1"}}, f'a key in spec.default_exit_actions {ACTION}, not "STOP" ()'),
    ({"default_exit_actions": {"FAIL": "1;2"}}, f'spec.default_exit_actions.FAIL {CODES}, not "1;2" ()'),
]
SUBPOOL: list[tuple[dict[str, Any], str]] = [
    (
        {"quota": "101%"},
        'spec.quota must be whole GPUs such as 30, or a share of the parent such as "33%", not "101%" (Write a whole '
        "number, or a share of at most 100% without a blank.)",
    ),
    ({"quota": {"cpu": "1x"}}, f'spec.quota.cpu {CPU}, {SHARE}, not "1x" ()'),
    ({"quota": {"memory": "5"}}, f'spec.quota.memory {MEMORY}, {SHARE}, not "5" ()'),
    ({"quota": {"memory": 5}}, f"spec.quota.memory {MEMORY}, not 5 {UNIT}"),
    ({"maximum": {"memory": 1}}, f"spec.maximum.memory {MEMORY}, not 1 {UNIT}"),
    ({"draining": ["Job"]}, f'spec.draining[0] {WORK}, not "Job" ()'),
]
TASK: list[tuple[dict[str, Any], str]] = [
    ({"exitActions": {"STOP": 1}}, f'a key in workflow.tasks[0].exitActions {ACTION}, not "STOP" ()'),
    ({"exitActions": {"FAIL": "a"}}, f'workflow.tasks[0].exitActions.FAIL {CODES}, not "a" ()'),
    (
        {"volumeMounts": ["a/.."]},
        "workflow.tasks[0].volumeMounts[0] must be an absolute path without '..', or /path-on-node:/path-in-container, "
        'not "a/.." ()',
    ),
    (
        {"environment": {"A=B": "c"}},
        "a key in workflow.tasks[0].environment must be the name of a variable: printable ASCII without '=', not "
        '"A=B" ()',
    ),
    (
        {"image": "a b"},
        'workflow.tasks[0].image must be an image such as busybox:1.37: printable ASCII without blanks, not "a b" ()',
    ),
    ({"cacheSize": "1GB"}, f'workflow.tasks[0].cacheSize {QUANTITY}, not "1GB" {QUANTITY_HINT}'),
]
RESOURCE: list[tuple[dict[str, Any], str]] = [
    (
        {"gpu": "1x"},
        'workflow.resources.default.gpu must be a whole number, not "1x" (Write the number alone, without a unit or a '
        "fraction.)",
    ),
    ({"memory": "1GB"}, f'workflow.resources.default.memory {QUANTITY}, not "1GB" {QUANTITY_HINT}'),
    (
        {"nodesExcluded": ["a b"]},
        "workflow.resources.default.nodesExcluded[0] must be the name of a node, which is the value of a label: "
        "letters, digits, '-', '_' and '.', not \"a b\" ()",
    ),
]
LEVEL: list[tuple[dict[str, Any], str]] = [
    (
        {"domain": "Rack", "key": "a"},
        "spec.levels[0].domain must be a name such as rack: lower-case letters, digits and '-', a letter first, not "
        '"Rack" ()',
    ),
    (
        {"domain": "rack", "key": "a b"},
        f'spec.levels[0].key must be a node label such as topology.kubernetes.io/zone, not "a b" {LABEL_HINT}',
    ),
]


def of_kind(kind: str, spec: dict[str, Any], version: str = "tas/v1alpha1") -> dict[str, Any]:
    labels = {} if version == "tas/v1alpha1" else {"labels": {"kubectl-tas/pool": "team"}}
    return {"apiVersion": version, "kind": kind, "metadata": {"name": "a", **labels}, "spec": spec}


def workflow(task: dict[str, Any], resource: dict[str, Any]) -> dict[str, Any]:
    tasks = [{"name": "t", "image": "i", **task}]
    return {"workflow": {"name": "w", "pool": "team", "resources": {"default": resource}, "tasks": tasks}}


def test_each_pattern_says_what_it_is_for() -> None:
    pods = {"containers": [{"name": "c", "image": "i", "resources": {"limits": {"nvidia.com/gpu": "8.5"}}}]}
    rules = {"failurePolicy": {"rules": [{"name": "1", "action": "FailJobSet"}]}, "replicatedJobs": []}
    rows = [
        *((f"pools/p{at:02}.yaml", of_kind("Pool", spec), said) for at, (spec, said) in enumerate(POOL)),
        *(
            (f"subpools/s{at}.yaml", of_kind("Subpool", {"parent": "team", "quota": 1, **spec}), said)
            for at, (spec, said) in enumerate(SUBPOOL)
        ),
        *(
            (f"topologies/t{at}.yaml", of_kind("ClusterTopology", {"levels": [level]}, "grove.io/v1alpha1"), said)
            for at, (level, said) in enumerate(LEVEL)
        ),
        (
            "workflows/j.yaml",
            of_kind("Job", {"template": {"spec": pods}}, "batch/v1"),
            f'spec.template.spec.containers[0].resources.limits.nvidia.com/gpu {GPUS}, not "8.5" {GPUS_HINT}',
        ),
        *((f"workflows/r{at}.yaml", workflow({}, asked), said) for at, (asked, said) in enumerate(RESOURCE)),
        (
            "workflows/s.yaml",
            of_kind("JobSet", rules, "jobset.x-k8s.io/v1alpha2"),
            "spec.failurePolicy.rules[0].name must be the name of a failure rule: a letter, then letters, digits, '_', "
            "',' and ':', not \"1\" (End it with a letter, a digit or '_', and use at most 128 characters.)",
        ),
        *((f"workflows/w{at}.yaml", workflow(task, {}), said) for at, (task, said) in enumerate(TASK)),
    ]
    files = {path: json.dumps(data) for path, data, _ in rows}
    found = told({"pools/team.yaml": pool(), **files})
    lines = [line.partition(":")[::2] for line in found if " invalid-value: " in line]
    assert [(path, line.partition(" invalid-value: ")[2]) for path, line in lines] == [
        (path, said) for path, _, said in rows
    ]


def test_each_pattern_of_the_config_says_what_it_is_for() -> None:
    for spec, said in CONFIG:
        config = {"apiVersion": "tas/v1alpha1", "kind": "Config", "spec": spec}
        found = told({"tas.yaml": json.dumps(config)})
        assert [line.partition(": ")[2] for line in found if " invalid-value: " in line] == [said]


def test_a_label_has_at_most_253_characters_before_its_slash() -> None:
    for length, said in ((253, []), (254, ["the part before '/' has more than 253 characters"])):
        selector = {f"{'a' * length}/{'b' * 62}": "c"}
        found = told({"pools/p.yaml": json.dumps(of_kind("Pool", {"nodes": {"selector": selector}}))})
        texts = [
            line.partition(" is not valid: ")[2].partition(", not ")[0] for line in found if "invalid-value" in line
        ]
        assert texts == said
