"""Tests how platforms and pod templates change the pods of workflows, and findings about slips in them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from kubectl_tas.base.diagnostics import Location
from kubectl_tas.model.base import KeyPath
from kubectl_tas.model.platform import Platform
from kubectl_tas.resolve.platforms import Merged, tokens_in
from tests.support.cli import kubectl_tas, pool, write
from tests.support.pyyaml import safe_load
from tests.support.rendered import files_below

WORKFLOW = """\
workflow:
  name: train
  pool: team
  tasks:
  - name: trainer
    image: busybox
{task}  resources:
    default: {{{resource}}}
"""


def repository(root: Path, spec: str, *, resource: str = "gpu: 8", task: str = "") -> Path:
    """A pool with ``spec``, indented by two spaces, and a workflow with one task."""
    workflow = WORKFLOW.format(resource=resource, task=task)
    return write(root, {"pools/team.yaml": pool(guarantee=16, spec=spec), "workflows/train.yaml": workflow})


def rendered(root: Path) -> dict[str, Any]:
    """The pod of the task."""
    result = kubectl_tas("render", "-C", root)
    assert result.code == 0, result.out + result.err
    (file,) = [path for path in files_below(root / "manifests") if path.name.startswith("pod-")]
    found: dict[str, Any] = safe_load(file.read_text())
    return found


def spec(root: Path, body: str, **other: str) -> dict[str, Any]:
    """The spec of the pod, over which the pool puts ``body``, a PodSpec as YAML of one line."""
    found: dict[str, Any] = rendered(repository(root, f"  common_pod_template: [{{spec: {body}}}]\n", **other))["spec"]
    return found


def findings(root: Path) -> str:
    result = kubectl_tas("validate", "-C", root)
    assert "Traceback" not in result.err
    return result.out


USER = '"{{USER_CONTAINER_NAME}}"'


def place(path: KeyPath, *, key: bool = False) -> Location:
    return Location(repr(path) + "key" * key)


def test_mappings_are_merged_items_by_name_and_all_else_is_replaced() -> None:
    merged = Merged()
    for data in (
        {"a": {"b": 1, "c": 2}, "items": [{"name": "x", "v": 1}, {"v": 0}, "text"], "gone": 1, "text": "old"},
        {"a": {"c": 3}, "items": [{"name": "x", "w": 2}, {"name": "y"}, {"v": 0}], "gone": None, "text": "new"},
    ):
        merged.put(data, place)
    assert merged.data == {
        "a": {"b": 1, "c": 3},
        "items": [{"name": "x", "v": 1, "w": 2}, {"v": 0}, "text", {"name": "y"}, {"v": 0}],
        "text": "new",
    }
    assert merged.locate(("items", 0, "w")) == place(("items", 0, "w"))
    assert merged.locate(("items", 3, "name"), key=True) == place(("items", 1, "name"), key=True)
    assert merged.locate(("other",)) is None


def test_what_is_put_over_a_pod_leaves_its_parts_alone() -> None:
    amounts = {"cpu": "1"}
    own = {"limits": amounts, "requests": amounts}
    merged = Merged(own)
    merged.put({"limits": {"cpu": "2"}}, place)
    assert merged.data == {"limits": {"cpu": "2"}, "requests": {"cpu": "1"}}
    assert own == {"limits": {"cpu": "1"}, "requests": {"cpu": "1"}}


@pytest.mark.parametrize(
    ("resource", "token", "value"),
    [
        ("cpu: 4", "{{USER_CPU}}", "4"),
        ("cpu: 0.5", "{{USER_CPU}}", "0.5"),
        ("gpu: 2", "{{ USER_GPU * 2 }}", "4"),
        ("memory: 64Gi", "{{USER_MEMORY_VAL}} {{USER_MEMORY_UNIT}} {{USER_MEMORY_Mi}}", "64 Gi 65536"),
        ('memory: "1048576"', "{{USER_MEMORY_VAL}} {{USER_MEMORY_UNIT}} {{USER_MEMORY_Mi}}", "1048576 B 1"),
        ("storage: 1536Mi", "{{USER_STORAGE_Gi}}", "1.5"),
        ("storage: 100Gi", "{{USER_CACHE}}", "90Gi"),
        ('storage: "1000"', "{{USER_CACHE}}", "900"),
        ("cpu: 1", "{{WF_ID}} {{WF_TASK_NAME}} {{WF_POOL}} {{WF_PRIORITY}}", "train trainer team normal"),
        ("cpu: 4", "{% if USER_CPU > 2 %}2{% else %}{{USER_CPU}}{% endif %}", "2"),
        ("cpu: 1", "{{ WF_PLATFORM or 'none' }}", "none"),
        ("cpu: 1", "{{ other | default('x') }}", "x"),
    ],
)  # fmt: skip
def test_tokens(tmp_path: Path, resource: str, token: str, value: str) -> None:
    body = f'{{containers: [{{name: {USER}, env: [{{name: T, value: "{token}"}}]}}]}}'
    assert spec(tmp_path, body, resource=resource)["containers"][0]["env"][-1:] == [{"name": "T", "value": value}]


@pytest.mark.parametrize(("share", "value"), [("5Gi", "5Gi"), ("50%", "50Gi"), ("33.5%", "33Gi"), ("all%", "0")])
def test_a_share_of_the_storage_as_cache(tmp_path: Path, share: str, value: str) -> None:
    """As OSMO reads it: whole percents; a share that is no number leaves nothing."""
    body = f'{{containers: [{{name: {USER}, env: [{{name: T, value: "{{{{USER_CACHE}}}}"}}]}}]}}'
    text = f"  common_default_variables: {{USER_CACHE: {share}}}\n  common_pod_template: [{{spec: {body}}}]\n"
    made = rendered(repository(tmp_path, text, resource="storage: 100Gi"))["spec"]["containers"][0]
    assert made["env"][-1:] == [{"name": "T", "value": value}]


@pytest.mark.parametrize(
    ("text", "names"),
    [("{{ a }} {{ b.c }}", {"a", "b"}), ("a", set()), ("{{ a b }}", set()), ("{% if %}", set()), ("{{ '", set())],
)
def test_names_that_a_text_uses(text: str, names: set[str]) -> None:
    """A text that cannot be read uses none; what is wrong with it says another rule."""
    assert tokens_in(text) == names


def test_a_token_without_a_value_takes_its_key_along(tmp_path: Path) -> None:
    amounts = '{cpu: "{{USER_CPU}}", memory: "{{USER_MEMORY}}"}'
    body = f"{{containers: [{{name: {USER}, resources: {{limits: {amounts}}}}}]}}"
    found = spec(tmp_path, body, resource="cpu: 2")["containers"][0]["resources"]
    assert found == {"limits": {"cpu": "2"}}


def test_variables_count_where_the_resource_says_nothing_and_those_of_the_platform_first(tmp_path: Path) -> None:
    text = f"""\
  common_default_variables: {{USER_CPU: 1, USER_MEMORY: 1Gi, zone: a, rack: b}}
  default_platform: h100
  platforms: {{h100: {{default_variables: {{USER_CPU: 2, zone: c}}}}}}
  common_pod_template:
  - spec:
      containers:
      - name: {USER}
        env: [{{name: T, value: "{{{{USER_CPU}}}} {{{{USER_MEMORY}}}} {{{{zone}}}} {{{{rack}}}}"}}]
"""
    made = rendered(repository(tmp_path, text, resource="memory: 3Gi"))["spec"]["containers"][0]
    assert made["env"][-1:] == [{"name": "T", "value": "2 3Gi c b"}]


def test_hosts_that_a_task_keeps_away_from_hold_beside_every_term_of_a_template(tmp_path: Path) -> None:
    required = "requiredDuringSchedulingIgnoredDuringExecution"
    fields = "{matchFields: [{key: metadata.name, operator: In, values: [n]}]}"
    terms = f"[{{matchExpressions: [{{key: a, operator: Exists}}]}}, {fields}]"
    body = f"{{affinity: {{nodeAffinity: {{{required}: {{nodeSelectorTerms: {terms}}}}}}}}}"
    found = spec(tmp_path, body, resource="nodesExcluded: [x]")["affinity"]["nodeAffinity"][required]
    away = {"key": "kubernetes.io/hostname", "operator": "NotIn", "values": ["x"]}
    first, second = found["nodeSelectorTerms"]
    assert first["matchExpressions"] == [{"key": "a", "operator": "Exists"}, away]
    assert second["matchExpressions"] == [away]


@pytest.mark.parametrize(
    ("body", "gpus"),
    [
        (f"spec: {{containers: [{{name: {USER}, resources: {{limits: {{nvidia.com/gpu: 4}}}}}}]}}", "4"),
        ("spec: {containers: [{name: side, image: i, resources: {limits: {nvidia.com/gpu: 1}}}]}", "9"),
        ("spec: {containers: [{name: side, image: i, resources: {limits: {amd.com/gpu: 12}}}]}", "20"),
        ("spec: {initContainers: [{name: i, image: i, resources: {limits: {nvidia.com/gpu: 9}}}]}", "9"),
    ],
)
def test_gpus_are_those_of_the_pod_that_comes_out(tmp_path: Path, body: str, gpus: str) -> None:
    root = repository(tmp_path, f"  common_pod_template: [{{{body}}}]\n")
    result = kubectl_tas("workflow", "explain", "train", "-C", root)
    assert f"GPUs:       {gpus}\n" in result.out
    assert ("over-quota" in findings(root)) == (int(gpus) > 16)


def test_a_part_of_a_gpu_by_an_annotation_is_counted(tmp_path: Path) -> None:
    root = repository(
        tmp_path, '  common_pod_template: [{metadata: {annotations: {gpu-fraction: "0.5"}}}]\n', resource="cpu: 1"
    )
    assert "GPUs:       0.5\n" in kubectl_tas("workflow", "explain", "train", "-C", root).out


def test_labels_and_annotations_of_templates_are_in_the_name_of_the_gang(tmp_path: Path) -> None:
    names = set()
    for value in ("a", "b"):
        text = f"  common_pod_template: [{{metadata: {{labels: {{x: {value}}}}}}}]\n"
        pod = rendered(repository(tmp_path / value, text))
        assert pod["metadata"]["labels"]["x"] == value
        names.add(pod["metadata"]["annotations"]["pod-group-name"])
    assert len(names) == 2


def test_a_platform_that_says_nothing_changes_no_name(tmp_path: Path) -> None:
    without = rendered(repository(tmp_path / "a", ""))
    plain = rendered(repository(tmp_path / "b", "  platforms: {h100: {description: x}}\n  default_platform: h100\n"))
    assert plain == without


def test_osmos_own_containers_are_left_out(tmp_path: Path) -> None:
    body = "{containers: [{name: osmo-ctrl, resources: {limits: {cpu: 1}}}, {name: side, image: i}], "
    body += "initContainers: [{name: osmo-init}]}"
    found = spec(tmp_path, body)
    assert [item["name"] for item in found["containers"]] == ["trainer", "side"]
    assert "initContainers" not in found


@pytest.mark.parametrize(
    ("body", "place", "words"),
    [
        ("{nodeSelectr: {a: b}}", "10:12", 'unknown field "nodeSelectr" in spec'),
        ("{containers: [{name: side}]}", "10:25", 'the field "image" is missing'),
        ("{containers: x}", "10:24", "must be a list"),
        ("{volumes: 3}", "10:21", "must be a list"),
        ("{tolerations: [x]}", "10:26", "must be a mapping"),
        ("{affinity: {nodeAffinity: 3}}", "10:37", "must be a mapping"),
        ("{nodeName: n1}", "10:12", "no scheduler sees the pod"),
        ("{schedulingGates: [{name: x}]}", "10:12", "scheduling gates"),
        (f"{{containers: [{{name: {USER}, resources: {{limits: {{nvidia.com/gpus: 1}}}}}}]}}", "10:80", "gpu-name"),
        (f"{{containers: [{{name: {USER}, resources: {{limits: {{nvidia.com/gpu: 0.5}}}}}}]}}", "10:80", "0.5"),
        (f"{{containers: [{{name: {USER}, volumeMounts: [{{name: x, mountPath: /x}}]}}]}}", "10:81", 'no volume "x"'),
    ],
)  # fmt: skip
def test_slips_in_a_pod_template_are_found_where_they_stand(tmp_path: Path, body: str, place: str, words: str) -> None:
    text = f"  common_pod_template:\n  - spec: {body}\n"
    out = findings(repository(tmp_path, text, resource="gpu: 8, nodesExcluded: [n]"))
    line = next(line for line in out.splitlines() if words in line)
    assert ": error: " in line or "scheduling gates" in line
    assert f"pools/team.yaml:{place}: " in line
    for command in (("workflow", "explain", "train"), ("pool", "list"), ("render",), ("check",)):
        result = kubectl_tas(*command, "-C", tmp_path)
        assert result.code in (0, 1), result.err


def test_a_template_is_judged_without_any_workflow(tmp_path: Path) -> None:
    text = "  platforms: {h100: {override_pod_template: [{spec: {nodeSelectr: {}}}]}}\n"
    write(tmp_path, {"pools/team.yaml": pool(spec=text)})
    assert 'unknown field "nodeSelectr"' in findings(tmp_path)


def test_a_slip_in_a_template_is_found_once(tmp_path: Path) -> None:
    root = repository(tmp_path, "  common_pod_template: [{spec: {nodeSelectr: {}}}]\n")
    tasks = "".join(f"  - {{name: t{index}, image: i, command: [run]}}\n" for index in range(5))
    write(root, {"workflows/other.yaml": f"workflow:\n  name: other\n  pool: team\n  tasks:\n{tasks}"})
    assert findings(root).count("nodeSelectr") == 2  # in the message and in the line that it shows


def test_the_warning_of_tasks_that_reach_their_node_is_for_pools_without_platforms(tmp_path: Path) -> None:
    task = "    privileged: true\n"
    text = "  default_platform: h100\n  platforms: {h100: {privileged_allowed: true}}\n"
    assert "privileged-task" in findings(repository(tmp_path / "a", "", task=task))
    assert findings(repository(tmp_path / "b", text, task=task)) == "No problems found in 2 files.\n"


def test_the_platform_of_a_resource_is_not_read_where_the_pool_has_none(tmp_path: Path) -> None:
    resource = "gpu: 8, platform: h100"
    assert "platform" in findings(repository(tmp_path / "a", "", resource=resource))
    text = "  platforms: {h100: {}}\n"
    assert findings(repository(tmp_path / "b", text, resource=resource)) == "No problems found in 2 files.\n"


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ("{% for a in [1] %}{{a}}{% endfor %}", "there are no loops and macros here"),
        ("{{ USER_CPU }", "unexpected '}'"),
        ("{{ " + "9" * 5000 + " }}", "it nests too deep, or has a number of too many digits"),
        ("{{ USER_CPU[1:2, 3] }}", "Slice is not available in a template here"),
    ],
)
def test_an_expression_that_cannot_be_computed(tmp_path: Path, value: str, words: str) -> None:
    text = f'  common_pod_template: [{{metadata: {{labels: {{x: "{value}"}}}}}}]\n'
    assert f"the expression cannot be computed: {words}" in findings(repository(tmp_path, text))


def test_of_two_pod_templates_with_one_name_there_is_a_finding(tmp_path: Path) -> None:
    text = "apiVersion: tas/v1alpha1\nkind: PodTemplate\nmetadata: {name: x}\ntemplate: {}\n"
    root = repository(tmp_path, "  common_pod_template: [x]\n")
    write(root, {"pools/x.yaml": text, "pools/y.yaml": text})
    assert "name-duplicate" in findings(root)


def test_the_value_of_a_label_is_one(tmp_path: Path) -> None:
    text = '  common_pod_template: [{metadata: {labels: {x: "{{USER_MEMORY}} of memory"}}}]\n'
    out = findings(repository(tmp_path, text, resource="memory: 1Gi"))
    assert 'the label x would have the value "1Gi of memory", which no label can have' in out


def test_a_platform_allows_nothing_by_default() -> None:
    allowed = Platform()
    assert (allowed.privileged_allowed, allowed.host_network_allowed, allowed.allowed_mounts) == (False, False, ())


def test_describe_names_platforms(tmp_path: Path) -> None:
    text = """\
  default_platform: l40s
  platforms:
    l40s: {nodes: {selector: {gpu: l40s}}}
    h100: {privileged_allowed: true, allowed_mounts: [/x], override_pod_template: [{spec: {nodeSelector: {gpu: h100}}}]}
"""
    out = kubectl_tas("pool", "describe", "team", "-C", repository(tmp_path, text)).out
    assert "Platform:     l40s (default): gpu=l40s\n" in out
    assert "Platform:     h100: gpu=h100; allows privileged, mounts of /x\n" in out
