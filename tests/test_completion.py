"""Tests completions in the editor. ``|`` marks the cursor."""

from __future__ import annotations

from pathlib import Path

import pytest

from kubectl_tas.editor.completion import completion
from kubectl_tas.editor.definition import Reference, definitions, reference_at
from kubectl_tas.editor.project import judged, parsed
from kubectl_tas.editor.views import hover_of_reference
from kubectl_tas.model.base import KeyPath
from kubectl_tas.resolve.fleet import Fleet
from tests.support.cli import pool, subpool, write

WORKFLOW = "workflow:\n  name: a\n  pool: team\n"
JOB = "apiVersion: batch/v1\nkind: Job\n"
SET = "apiVersion: grove.io/v1alpha1\nkind: PodCliqueSet\n"
GROUP = "apiVersion: scheduling.run.ai/v2alpha2\nkind: PodGroup\n"
LEVELS = """\
  topology_keys:
  - {key: zone, label: topology.kubernetes.io/zone}
  - {key: rack, label: example.com/rack}
  platforms: {h100: {}, "1e3": {}}
"""


@pytest.fixture(scope="module")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> Fleet:
    files = {
        "tas.yaml": "apiVersion: tas/v1alpha1\nkind: Config\nspec: {backends: [{name: east}, {name: west}]}\n",
        "pools/team.yaml": pool(spec=f"  backend: east\n  description: Ours\n{LEVELS}"),
        "pools/other.yaml": pool("other", spec="  backend: west\n  topology: racks\n"),
        "subpools/a.yaml": subpool("research", 8),
        "subpools/b.yaml": subpool("old", 8, state="ARCHIVED"),
        "topologies/t.yaml": "apiVersion: grove.io/v1alpha1\nkind: ClusterTopology\nmetadata: {name: racks}\n"
        "spec: {levels: [{domain: rack, key: example.com/rack}]}\n",
        "workflows/g.yaml": f"{GROUP}metadata: {{name: g, namespace: team}}\n"
        "spec: {queue: osmo-pool-default-team--shared, minMember: 1}\n",
    }
    root = tmp_path_factory.mktemp("completion")
    return judged(write(root, files), {}).fleet


def offered(text: str, fleet: Fleet) -> dict[str, tuple[str, str]]:
    """What is offered at ``|``, with the text as it would be, and what is said of it."""
    before, _, after = text.partition("|")
    text = before + after
    found = completion("workflows/x.yaml", text, len(before), fleet)
    return {item.word: (text[: found.start] + item.text + text[found.end :], item.about) for item in found.choices}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("|", ["apiVersion", "kind", "workflow"]),
        ("kin|", ["apiVersion", "kind", "workflow"]),
        ("apiVersion: |\nkind: Job\n", ["batch/v1"]),
        ("workflow:\n  name: a\n  pool: te|\n", ["other", "team", "team--research"]),
        ("workflow: {name: a, pool: 't|'}\n", ["other", "team", "team--research"]),
        (f"{WORKFLOW}  backend: |\n", ["east", "west"]),
        (f"{WORKFLOW}  priority: |\n", ["HIGH", "NORMAL", "LOW"]),
        (
            f"{WORKFLOW}  |\n  tasks: [{{name: t}}]\n",
            ["priority", "labels", "timeout", "backend", "groups", "resources"],
        ),
        (f"{WORKFLOW}  tasks:\n  - name: t\n    resource: |\nresources: {{big: {{gpu: 1}}, s: {{}}}}\n", ["big", "s"]),
        ("workflow: {resources: {b: {}}, tasks: [{name: t, resource: |}]}\n", ["b"]),
        (f"{WORKFLOW}  tasks:\n  - name: t\n  - name: u\n    inputs: [{{task: |}}]\n", ["t", "u"]),
        (f"{WORKFLOW}resources:\n  big:\n    topology: [{{key: |}}]\n", ["zone", "rack"]),
        (f"{WORKFLOW}resources:\n  big:\n    topology:\n    - |\n", ["key", "group", "requirementType"]),
        (f"{WORKFLOW}resources:\n  big:\n    platform: |\n", ["h100", "1e3"]),
        ("workflow: {pool: none}\nresources: {big: {platform: |}}\n", []),
        ("kind: Pool\nmetadata: {name: team}\nspec: {default_platform: |}\n", ["h100", "1e3"]),
        (f"{WORKFLOW}resources:\n  big:\n    gpu: |\n", []),
        ("apiVersion: tas/v1alpha1\nkind: Subpool\nspec:\n  parent: |\n", ["other", "team"]),
        (
            "apiVersion: tas/v1alpha1\nkind: Subpool\nspec:\n  parent: a\n  state: |\n",
            ["ACTIVE", "DELETING", "ARCHIVED"],
        ),
        ("apiVersion: tas/v1alpha1\nkind: Pool\nspec: {topology: |}\n", ["racks", "osmo-pool-default-team-topology"]),
        ("kind: Config\nspec: {guard: {x|}}\n", []),
        (f"{GROUP}spec:\n  queue: |\n", ["osmo-pool-default-other--shared", "osmo-pool-default-team--shared"]),
        (f"{JOB}metadata:\n  labels:\n    kubectl-tas/pool: |\n", ["other", "team", "team--research"]),
        (
            f"{JOB}metadata:\n  labels:\n    kubectl-tas/pr|\n",
            [f"kubectl-tas/{key}" for key in ("pool", "priority", "podgroup", "gang", "replace")],
        ),
        (
            f"{JOB}metadata: {{annotations: {{kai.scheduler/topology-required-placement: |}}}}\n",
            ["rack", "example.com/rack", "zone", "topology.kubernetes.io/zone"],
        ),
        (
            f"{GROUP}spec: {{topologyConstraint: {{topology: racks, requiredTopologyLevel: |}}}}\n",
            ["example.com/rack"],
        ),
        (f"{JOB}spec: {{template: {{metadata: {{annotations: {{pod-group-name: |}}}}}}}}\n", ["g"]),
        (f"{SET}spec: {{template: {{topologyConstraint: {{topologyName: racks, packDomain: |}}}}}}\n", ["rack"]),
        (f"{SET}spec: {{template: {{cliques: [{{name: a}}, {{name: b, spec: {{startsAfter: [|]}}}}]}}}}\n", ["a", "b"]),
        (f"{SET}spec: {{template: {{cliques: [{{name: b, spec: {{startsAfter: [|\n]}}}}]}}}}\n", ["b"]),
        (f"{JOB}spec:\n  template:\n    spec:\n      hostIPC: |\n", ["true", "false"]),
        ("kind: Job\nspec:\n  template:\n    spec: {hostPID: |}\n", ["true", "false"]),
        ("- |", []),
        (": |: ]", []),
        ("a: |\n---\nkind: [\n", []),
    ],
)
def test_what_is_offered(text: str, words: list[str], fleet: Fleet) -> None:
    found = [word for word in offered(text, fleet) if "old" not in word]
    assert found == words if len(words) != 2 or "shared" not in words[0] else set(found) >= set(words)


def test_what_is_broken_further_down_does_not_matter(fleet: Fleet) -> None:
    assert list(offered(f"{WORKFLOW}  priority: |\n  tasks: [\n{{% x\n", fleet)) == ["HIGH", "NORMAL", "LOW"]


@pytest.mark.parametrize(
    ("text", "word", "expected"),
    [
        ("workflow: {pool: te|am}", "other", "workflow: {pool: other}"),
        ('workflow: {pool: "te|"}', "other", 'workflow: {pool: "other"}'),
        ("workflow:\n  po|\n", "pool", "workflow:\n  pool: \n"),
        ("workflow:\n  po|l: team\n", "pool", "workflow:\n  pool: team\n"),
        ("workflow: {na|}\n", "name", "workflow: {name: }\n"),
        ("workflow: {'na|'}\n", "name", "workflow: {'name'}\n"),
        (f"{WORKFLOW}resources: {{r: {{platform: |}}}}", "1e3", f'{WORKFLOW}resources: {{r: {{platform: "1e3"}}}}'),
        (f"{JOB}spec: {{suspend: |}}\n", "true", f"{JOB}spec: {{suspend: true}}\n"),
    ],
)
def test_what_is_written(text: str, word: str, expected: str, fleet: Fleet) -> None:
    assert offered(text, fleet)[word][0] == expected


@pytest.mark.parametrize(
    ("text", "word", "about"),
    [
        ("workflow: {pool: |}", "team", "Pool. Ours"),
        ("workflow: {pool: |}", "team--research", "Subpool with a quota of 8 GPUs."),
        ("workflow: {pool: |}", "other", "Pool."),
        (f"{WORKFLOW}  backend: |\n", "east", "Backend."),
        (f"{WORKFLOW}  tasks: [{{resource: |}}]\nresources: {{big: {{}}}}", "big", "Resource of this file."),
        (f"{WORKFLOW}  tasks: [{{name: t}}, {{inputs: [{{task: |}}]}}]\n", "t", "Task of this file."),
        (
            f"{SET}spec: {{template: {{cliques: [{{name: a, spec: {{startsAfter: [|]}}}}]}}}}",
            "a",
            "Clique of this file.",
        ),
        ("|", "workflow", "An OSMO workflow."),
        (f"{GROUP}spec:\n  queue: |\n", "osmo-pool-default-team--shared", "Queue of pool team."),
        (f"{GROUP}spec:\n  queue: |\n", "osmo-pool-default-team--research", "Queue of subpool team--research."),
        (f"{JOB}spec: {{template: {{metadata: {{annotations: {{pod-group-name: |}}}}}}}}\n", "g", "PodGroup."),
        (
            f"{GROUP}spec: {{topologyConstraint: {{topology: racks, requiredTopologyLevel: |}}}}\n",
            "example.com/rack",
            "Level rack.",
        ),
        (
            "apiVersion: tas/v1alpha1\nkind: Pool\nspec: {topology: |}",
            "osmo-pool-default-team-topology",
            "Topology with the levels zone, rack.",
        ),
        (f"{JOB}spec: {{template: {{spec: {{|}}}}}}", "activeDeadlineSeconds", "integer"),
        (
            f"{JOB}spec: {{template: {{spec: {{containers: [{{livenessProbe: {{httpGet: {{|}}}}}}]}}}}}}",
            "port",
            "string or integer",
        ),
        (f"{WORKFLOW}resources: {{r: {{topology: [{{key: |}}]}}}}", "rack", "Node label example.com/rack."),
        (
            f"{JOB}metadata: {{annotations: {{kai.scheduler/topology-required-placement: |}}}}\n",
            "rack",
            "Node label example.com/rack.",
        ),
        (f"{WORKFLOW}resources: {{r: {{platform: |}}}}", "h100", "Platform of pool team."),
        ("kind: |", "Pool", "A share of a cluster's GPUs."),
        ("apiVersion: tas/v1alpha1\nkind: Pool\nspec: {topology: |}", "racks", "Topology with the levels rack."),
        (
            f"{JOB}metadata: {{annotations: {{k|}}}}",
            "kai.scheduler/topology",
            "The Topology whose levels the placement below names.",
        ),
        (
            f"{JOB}metadata: {{labels: {{kubectl-tas/priority: |}}}}",
            "LOW",
            "HIGH and NORMAL work stays within the quota. LOW work may exceed it until other queues need the GPUs.",
        ),
    ],
)
def test_what_is_said(text: str, word: str, about: str, fleet: Fleet) -> None:
    assert offered(text, fleet)[word][1] == about


@pytest.mark.parametrize(
    "text", ["apiVersion: tas/v1alpha1\nkind: Config\nspec:\n  guard: |", f"{JOB}spec:\n  suspend: |"]
)
def test_booleans(text: str, fleet: Fleet) -> None:
    assert {"true", "false"} <= offered(text, fleet).keys()


def test_fields_of_kubernetes(fleet: Fleet) -> None:
    text = f"{JOB}spec:\n  template:\n    spec:\n      containers:\n      - name: a\n        im|\n"
    found = offered(text, fleet)
    assert found["image"] == (text.replace("im|", "image: "), found["image"][1])
    assert found["image"][1] == "string"
    assert "name" not in found
    assert next(iter(offered(f"{JOB}spec:\n  |\n", fleet))) == "template"  # what must be there comes first
    head = "apiVersion: kubeflow.org/v1\nkind: PyTorchJob\nspec: {"
    assert {"nprocPerNode", "elasticPolicy", "runPolicy"} <= offered(f"{head}|}}", fleet).keys()


def test_nothing_that_a_terminal_would_obey(tmp_path: Path) -> None:
    write(tmp_path, {"tas.yaml": "apiVersion: tas/v1alpha1\nkind: Config\n"})
    evil = f'{WORKFLOW}  tasks: [{{name: t, resource: |}}]\nresources: {{"\\e[2J": {{}}, right: {{}}}}\n'
    assert list(offered(evil, judged(tmp_path, {}).fleet)) == ["right"]


@pytest.mark.parametrize(
    ("text", "places"),
    [
        ("workflow: {pool: te|am}", ["pools/team.yaml:4:9"]),
        ("workflow: {pool: team--research|}", ["subpools/a.yaml:4:9"]),
        ("workflow: {pool: TEAM--nobody|}", ["pools/team.yaml:4:9"]),
        ("workflow: {pool: nobody|}", []),
        ("workflow: {pool: team, backend: west|}", ["tas.yaml:3:40"]),
        ("workflow: {pool: team}\nresources: {r: {platform: h1|00}}", ["pools/team.yaml:14:15"]),
        ("workflow: {pool: other}\nresources: {r: {platform: h1|00}}", []),
        ("kind: Pool\nmetadata: {name: team}\nspec: {default_platform: h1|00}", ["pools/team.yaml:14:15"]),
        ("workflow: {pool: team}\nresources: {r: {topology: [{key: ra|ck}]}}", ["pools/team.yaml:13:5"]),
        ("workflow: {pool: other}\nresources: {r: {topology: [{key: ra|ck}]}}", ["topologies/t.yaml:4:17"]),
        ("apiVersion: tas/v1alpha1\nkind: Pool\nspec: {topology: rac|ks}", ["topologies/t.yaml:3:18"]),
        (f"{GROUP}spec: {{queue: osmo-pool-default-team--re|search}}", ["subpools/a.yaml:4:9"]),
        (f"{GROUP}spec: {{queue: osmo-pool-default-te|am}}", ["pools/team.yaml:4:9"]),
        (f"{GROUP}spec: {{queue: osmo-pool-default-team--sh|ared}}", ["pools/team.yaml:4:9"]),
        (f"{JOB}spec: {{template: {{metadata: {{annotations: {{pod-group-name: g|}}}}}}}}", ["workflows/g.yaml:3:18"]),
        (f"{JOB}spec: {{template: {{metadata: {{annotations: {{pod-group-name: h|}}}}}}}}", []),
        (
            f"{JOB}metadata: {{annotations: {{kai.scheduler/topology: racks, "
            "kai.scheduler/topology-required-placement: example.com/ra|ck}}",
            ["topologies/t.yaml:4:17"],
        ),
        (f"{WORKFLOW}  tasks: [{{name: t}}, {{name: u, inputs: [{{task: t|}}]}}]", ["workflows/x.yaml:4:18"]),
        (f"{WORKFLOW}  tasks: [{{name: t, resource: b|}}]\nresources: {{a: {{}}, b: {{}}}}", ["workflows/x.yaml:5:20"]),
        (f"{WORKFLOW}  resources: {{b: {{}}}}\n  tasks: [{{resource: b|}}]", ["workflows/x.yaml:4:15"]),
        (
            f"{SET}spec: {{template: {{cliques: [{{name: a}}, {{spec: {{startsAfter: [a|]}}}}]}}}}",
            ["workflows/x.yaml:3:36"],
        ),
    ],
)
def test_definitions(text: str, places: list[str], fleet: Fleet) -> None:
    before, _, after = text.partition("|")
    (document,) = parsed("workflows/x.yaml", before + after)
    path = document.path_around(len(before))
    reference = reference_at(document, path) if path is not None else None
    assert reference is not None
    assert [str(place) for place in definitions(reference, fleet)] == places


@pytest.fixture(scope="module")
def bare(tmp_path_factory: pytest.TempPathFactory) -> Fleet:
    """A repository without a Config, a pool without a topology, and a set that names no topology."""
    clique = "{name: c, spec: {roleName: c, replicas: 1, podSpec: {containers: [{name: a, image: i}]}}}"
    files = {
        "pools/bare.yaml": pool("bare", -1),
        "pools/team.yaml": pool(spec=LEVELS),
        "subpools/a.yaml": subpool("a", 8, state="ARCHIVED"),
        "topologies/t.yaml": "apiVersion: grove.io/v1alpha1\nkind: ClusterTopology\nmetadata: {name: rows}\n"
        "spec: {levels: [{domain: row, key: example.com/row}]}\n",
        "workflows/x.yaml": f"{SET}metadata: {{name: s, labels: {{kubectl-tas/pool: team}}}}\nspec: {{replicas: 1, "
        f"template: {{topologyConstraint: {{topologyName: rows, packDomain: row}}, cliques: [{clique}]}}}}\n",
    }
    return judged(write(tmp_path_factory.mktemp("bare"), files), {}).fleet


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (f"{SET}spec: {{template: {{cliques: [{{spec: {{topologyConstraint: {{packDomain: |}}}}}}]}}}}\n", ["row"]),
        (f"{WORKFLOW}resources:\n  big:\n    topology: [{{key: |}}]\n", ["zone", "rack"]),
        ("workflow: {pool: bare}\nresources: {big: {topology: [{key: |}]}}\n", ["row", "zone", "rack"]),
        ("workflow: {pool: [bare]}\nresources: {big: {topology: [{key: |}]}}\n", ["row", "zone", "rack"]),
        ("workflow: {pool: [team]}\nresources: {big: {platform: |}}\n", []),
        ("workflow:\n  tasks: [a, {name: [t]}, {name: u}, {inputs: [{task: |}]}]\n", ["u"]),
    ],
)
def test_levels_and_names_are_those_that_can_be_meant(text: str, words: list[str], bare: Fleet) -> None:
    assert list(offered(text, bare)) == words


@pytest.mark.parametrize(
    "text",
    [
        "workflow: {pool: team, backend: default|}",
        "workflow: {pool: team}\nresources: {r: {topology: [{key: ro|w}]}}",
        "workflow: {pool: [team]}\nresources: {r: {platform: h1|00}}",
        "workflow: {pool: team}\nresources: {r: {platform: a1|00}}",
        f"{JOB}spec: {{template: {{metadata: {{annotations: {{pod-group-name: g|}}}}}}}}",
    ],
)
def test_what_is_not_declared_is_found_nowhere(text: str, bare: Fleet) -> None:
    before, _, after = text.partition("|")
    (document,) = parsed("workflows/y.yaml", before + after)
    path = document.path_around(len(before))
    reference = reference_at(document, path) if path is not None else None
    assert reference is not None
    assert definitions(reference, bare) == []


@pytest.mark.parametrize(
    ("text", "path"),
    [("workflow: {pool: ''}", ("workflow", "pool")), ("workflow: {pool: 3}", ("workflow", "pool")), ("- a", (0,))],
)
def test_what_names_nothing_is_no_reference(text: str, path: KeyPath) -> None:
    (document,) = parsed("workflows/y.yaml", text)
    assert reference_at(document, path) is None


@pytest.mark.parametrize(
    ("what", "name", "lines"),
    [
        ("pool", "BARE", ["Pool:", "Queue:", "Quota:     no limit", "Declared:  no limit", "Left:      no limit"]),
        ("pool", "team", ["Pool:", "Queue:", "Quota:     100 GPUs", "Declared:  0 GPUs", "Left:      100 GPUs"]),
        ("pool", "team--a", ["Pool:", "State:     ARCHIVED", "Quota:     0 GPUs"]),
        ("queue", "osmo-pool-default-bare--shared", ["Pool:      bare", "Queue:     osmo-pool-default-bare--shared"]),
        ("queue", "bare", []),
        ("level", "osmo-pool-default-bare--shared", []),
    ],
)
def test_a_hover_over_a_pool_or_queue_is_a_card(what: str, name: str, lines: list[str], bare: Fleet) -> None:
    (document,) = parsed("workflows/y.yaml", "a: b")
    cards = list(hover_of_reference(Reference(what, name, document, ()), bare))
    shown = [line for card in cards for line in card.splitlines()[1:-1]]
    assert len(cards) == bool(lines)
    assert [line[: len(start)] for line, start in zip(shown, lines, strict=False)] == lines


@pytest.mark.parametrize(
    ("version", "own", "other"),
    [("batch/v1", "parallelism", "minAvailable"), ("batch.volcano.sh/v1alpha1", "minAvailable", "parallelism")],
)
def test_two_kinds_of_one_name_have_their_own_fields(version: str, own: str, other: str, fleet: Fleet) -> None:
    found = offered(f"apiVersion: {version}\nkind: Job\nspec: {{|}}\n", fleet)
    assert (own in found, other in found) == (True, False)
