"""Tests ``pool list``: exactly OSMO's table, other formats, and the source of usage."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from tests.support.cli import kubectl_tas, pool, subpool, write
from tests.support.golden import GOLDEN, at, case_input
from tests.support.kubectl import FakeKubectl, node

CASE = GOLDEN / "commands/pool-list"
STATES = [f"--cluster-state={backend}={CASE / 'cluster.json'}" for backend in ("prod", "lab")]
FROM_CLUSTER = "Used: held in the cluster by work that cannot be preempted.\n"
FROM_FILES = "Used: declared by the HIGH and NORMAL work of this repository.\n"

SAMPLE = """\
Pool            Status         Subpool State  GPU Quota        Used  Available
--------------  -------------  -------------  ---------------  ----  ---------
team            ONLINE         -              10 (Total: 100)  50    -40
├─ team--a      ONLINE         ACTIVE         30               5     25
├─ team--b      ONLINE         ACTIVE         40               10    30
└─ team--c      ONLINE         ACTIVE         20               0     20
"""
"""The example of the specification of dynamic subpools."""


WORKFLOW = """\
workflow: {{name: {}, pool: {}, priority: {}, tasks: [{{name: t, image: i}}]}}
resources: {{default: {{gpu: {}}}}}
"""


def queue(name: str, used: int | str, prefix: str = "osmo-pool-default-") -> dict[str, Any]:
    held = {"nvidia.com/gpu": used}
    return {
        "kind": "Queue",
        "metadata": {"name": f"{prefix}{name}"},
        "status": {"allocated": held, "allocatedNonPreemptible": held},
    }


def cluster(folder: Path, *queues: dict[str, Any]) -> Path:
    file = folder / "cluster.json"
    file.write_text(json.dumps({"kind": "List", "items": queues}))
    return file


@pytest.fixture
def team(repository: Path) -> Path:
    """The repository of the sample."""
    quotas = {"a": 30, "b": 40, "c": 20}
    files = {f"subpools/{name}.yaml": subpool(name, quota) for name, quota in quotas.items()}
    return write(repository, {"pools/team.yaml": pool(), **files})


def test_the_sample_to_the_letter(team: Path, tmp_path: Path) -> None:
    state = cluster(
        tmp_path, queue("team--shared", 50), queue("team--a", "5"), queue("team--b", 10), queue("team--c", 0)
    )
    result = kubectl_tas("pool", "list", "--cluster-state", state, "-C", team)
    assert result.out == SAMPLE
    assert (result.code, result.err) == (0, FROM_CLUSTER)


def test_declared_usage(team: Path) -> None:
    jobs = [("one", "team", "HIGH", 6), ("two", "team", "NORMAL", 7), ("three", "team", "LOW", 9)]
    write(team, {f"workflows/{job[0]}.yaml": WORKFLOW.format(*job) for job in jobs})
    result = kubectl_tas("pool", "list", "-C", team)
    assert result.out.splitlines()[2] == "team            ONLINE         -              10 (Total: 100)  13    -3"
    assert (result.code, result.err) == (0, FROM_FILES)


UNKNOWN = (
    "Note: the cluster of backend lab has no queue osmo-pool-lab-lab--shared; apply its manifests, or name the right "
    "cluster.\n"
    "Note: of the queue osmo-pool-ml-scratch--shared the cluster does not say what it holds: it has no status.\n"
)
FORMATS = [
    ("output.txt", ()),
    ("all.txt", ("--all",)),
    ("wide.txt", ("-o", "wide", "--all")),
    ("output.json", ("-o", "json", "--all")),
    ("output.yaml", ("-o", "yaml", "--all")),
    ("output.csv", ("-o", "csv", "--all")),
]


@pytest.mark.parametrize(("name", "arguments"), FORMATS, ids=[name for name, _ in FORMATS])
def test_formats(name: str, arguments: tuple[str, ...], snapshot: Any) -> None:
    result = kubectl_tas("pool", "list", *arguments, *STATES, "-C", case_input(CASE))
    assert (result.code, result.err) == (0, FROM_CLUSTER + UNKNOWN)
    assert result.out == snapshot(extension_class=at(CASE / name))


TREE = GOLDEN / "commands/pool-list-tree"
TREE_FORMATS = [
    ("output.txt", ()),
    ("subtree.txt", ("vision",)),
    ("wide.txt", ("-o", "wide")),
    ("output.json", ("-o", "json")),
    ("output.csv", ("-o", "csv")),
]


@pytest.mark.parametrize(("name", "arguments"), TREE_FORMATS, ids=[name for name, _ in TREE_FORMATS])
def test_pools_below_pools(name: str, arguments: tuple[str, ...], snapshot: Any) -> None:
    result = kubectl_tas("pool", "list", *arguments, "-C", case_input(TREE))
    assert (result.code, result.err) == (0, FROM_FILES)
    assert result.out == snapshot(extension_class=at(TREE / name))


def test_the_sum_of_a_cluster_is_unknown_where_a_queue_is(repository: Path, tmp_path: Path) -> None:
    write(repository, {"pools/a.yaml": pool("a", 8), "pools/b.yaml": pool("b", 8)})
    lines = kubectl_tas("pool", "list", "--cluster-state", cluster(tmp_path, queue("a--shared", 4)), "-C", repository)
    assert lines.out.splitlines()[-1].split() == ["Total", "(default)", "-", "-", "16", "unknown", "unknown"]


WHOLE = {"kind": "ClusterState", "kinds": ["Node", "Pod", "PodGroup", "PriorityClass", "Queue"]}


def test_an_idle_queue_uses_nothing(repository: Path, tmp_path: Path) -> None:
    write(repository, {"pools/a.yaml": pool("a", 8), "pools/b.yaml": pool("b", 8)})
    idle = {"kind": "Queue", "metadata": {"name": "osmo-pool-default-b--shared"}}
    state = cluster(tmp_path, WHOLE, queue("a--shared", 4), idle)
    lines = kubectl_tas("pool", "list", "--cluster-state", state, "-C", repository).out.splitlines()
    assert [line.split()[-3:] for line in lines[-3:]] == [["8", "4", "4"], ["8", "0", "8"], ["16", "4", "12"]]


def running(name: str, gpus: int, group: str, scheduler: str = "kai-scheduler") -> dict[str, Any]:
    asks = {"name": "c", "resources": {"requests": {"nvidia.com/gpu": str(gpus)}}}
    return {
        "kind": "Pod",
        "metadata": {"name": name, "namespace": "ml", "annotations": {"pod-group-name": group} if group else {}},
        "spec": {"nodeName": "n", "schedulerName": scheduler, "containers": [asks]},
        "status": {"phase": "Running", "startTime": "2026-11-01T08:00:00Z"},
    }


def group(name: str, queue_name: str, priority: str) -> dict[str, Any]:
    about = {"name": name, "namespace": "ml", "ownerReferences": [{"kind": "Job", "name": name}]}
    spec = {"queue": f"osmo-pool-default-{queue_name}", "preemptibility": priority}
    return {"kind": "PodGroup", "metadata": about, "spec": spec, "status": {}}


HELD = (
    WHOLE,
    node("n", 32),
    node("cordoned", 8, cordoned=True),
    queue("a--shared", 4),
    queue("b--shared", 0),
    *(group("train", "a--shared", "non-preemptible"), running("train", 4, "train")),
    *(group("sweep", "b--shared", "preemptible"), running("sweep", 8, "sweep")),
    *(group("lost", "old--shared", "non-preemptible"), running("lost", 16, "lost")),
    running("other", 2, "", "default-scheduler"),
)


def test_available_is_what_is_really_free(repository: Path, tmp_path: Path) -> None:
    """Of 32 GPUs guaranteed work cannot have 4 of train, 16 of a queue that is gone and 2 of another scheduler."""
    write(repository, {"pools/a.yaml": pool("a", 16), "pools/b.yaml": pool("b", 8)})
    command = ("pool", "list", "--cluster-state", cluster(tmp_path, *HELD), "-C", repository)
    result = kubectl_tas(*command)
    assert [line.split()[-3:] for line in result.out.splitlines()[-3:]] == [
        ["16", "4", "10"], ["8", "0", "8"], ["24", "4", "10"],
    ]  # fmt: skip
    assert result.err.splitlines()[1:] == [
        "Note: backend default: 2 GPUs are held by pods of the scheduler default-scheduler: Pod/other in namespace ml "
        "(2 GPUs since 2026-11-01T08:00:00Z).",
        "Note: backend default: 16 GPUs are held in the queue osmo-pool-default-old--shared, which is gone: Job/lost "
        "in namespace ml (16 GPUs since 2026-11-01T08:00:00Z).",
    ]
    listed = json.loads(kubectl_tas(*command, "-o", "json").out)["uncharged"]
    assert [(item["work"], item["gpus"], item["since"]) for item in listed] == [
        ("Pod/other", 2, "2026-11-01T08:00:00Z"), ("Job/lost", 16, "2026-11-01T08:00:00Z"),
    ]  # fmt: skip


def test_pods_that_may_not_be_read_are_said(repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(repository, {"pools/a.yaml": pool("a", 16)})
    FakeKubectl(tmp_path, monkeypatch).knows("default", {**queue("a--shared", 4)}, node("n", 1), forbidden="pods")
    result = kubectl_tas("pool", "list", "--live", "-C", repository)
    assert result.out.splitlines()[-1].split()[-3:] == ["16", "4", "12"]
    assert "Note: who holds the GPUs of backend default is not known: the cluster forbids reading pods" in result.err


def test_a_department_uses_the_sum_below_it(repository: Path) -> None:
    jobs = {"one": "top", "two": "low", "three": "lowest"}
    write(repository, {f"workflows/{name}.yaml": WORKFLOW.format(name, to, "HIGH", 2) for name, to in jobs.items()})
    upper = {"top": "", "low": "  parent: top\n", "lowest": "  parent: low\n"}
    write(repository, {f"pools/{name}.yaml": pool(name, 8, more) for name, more in upper.items()})
    found = json.loads(kubectl_tas("pool", "list", "-o", "json", "-C", repository).out)["pools"]
    assert [(item["name"], item["used"], item["totalUsed"]) for item in found] == [
        ("top", 2, 6), ("low", 2, 4), ("lowest", 2, None),
    ]  # fmt: skip


def test_the_work_of_a_pool_or_of_one_subpool_is_described(repository: Path) -> None:
    jobs = {"one": "ours", "two": "ours--a", "three": "others", "four": "others--a"}
    write(repository, {f"workflows/{name}.yaml": WORKFLOW.format(name, to, "HIGH", 1) for name, to in jobs.items()})
    both = {f"pools/{name}.yaml": f"{pool(name)}---\n{subpool('a', 30, parent=name)}" for name in ("ours", "others")}
    write(repository, both)
    for name, expected in {"ours": {"one", "two"}, "others--a": {"four"}}.items():
        result = kubectl_tas("pool", "describe", name, "-C", repository)
        rows = result.out.partition("Workflows:")[2].splitlines()[2:]
        assert {row.split()[0] for row in rows if row.startswith("  ")} == expected


def test_names_of_25_characters_fit_80_columns(repository: Path, tmp_path: Path) -> None:
    """Also where it is not known what is used, and deep down."""
    top, low = "r" * 25, "v" * 25
    files = {"pools/a.yaml": pool(top, 1000), "pools/b.yaml": pool(low, 100, f"  parent: {top}\n")}
    write(
        repository, {**files, "subpools/a.yaml": subpool("w" * 8, 10, parent="v" * 15), "pools/c.yaml": pool("v" * 15)}
    )
    out = kubectl_tas("pool", "list", "--cluster-state", cluster(tmp_path), "-C", repository).out
    assert max(map(len, out.splitlines())) <= 80
    assert f"└─ {low}" in out
    assert "Status" not in out
    assert "Status" in kubectl_tas("pool", "list", "-o", "wide", "-C", repository).out


@pytest.mark.sweep
def test_a_chain_of_a_thousand_pools(repository: Path) -> None:
    last = [pool(f"p{n}", 2000 - n, f"  parent: p{n - 1}\n" if n else "") for n in range(1100)]
    write(repository, {"pools/all.yaml": "---\n".join(last)})
    listed = json.loads(kubectl_tas("pool", "list", "-o", "json", "-C", repository).out)
    assert listed["pools"][-1]["depth"] == 1099
    assert kubectl_tas("validate", "-C", repository).code == 0
    assert kubectl_tas("render", "--to", "-", "-C", repository).code == 0


def test_json_of_declared_usage_names_its_source() -> None:
    listed = json.loads(kubectl_tas("pool", "list", "-o", "json", "-C", case_input(CASE)).out)
    assert listed["usedFrom"] == "declared"
    assert {item["name"]: item["used"] for item in listed["pools"]} == {
        "lab": 0, "scratch": 0, "team": 0, "team--a": 8, "team--b": 0, "team--c": 0, "team--d": 0,
    }  # fmt: skip


def test_an_archived_subpool_that_is_named_is_shown(team: Path) -> None:
    write(team, {f"subpools/{name}.yaml": subpool(name, 20, state="ARCHIVED") for name in "cd"})
    for wanted, found in (
        ("team--c", "team--c"),
        ("team", "team team--a team--b"),
        ("team team--c", "team team--a team--b team--c"),
    ):
        assert kubectl_tas("pool", "list", *wanted.split(), "-o", "name", "-C", team).out.split() == found.split()


def test_a_deleting_subpool_counts_as_quota_0_and_an_archived_one_is_left_out(team: Path, tmp_path: Path) -> None:
    write(team, {"subpools/a.yaml": subpool("a", 30, state="DELETING")})
    write(team, {"subpools/c.yaml": subpool("c", 20, state="ARCHIVED")})
    state = cluster(tmp_path, queue("team--shared", 0), queue("team--a", 5), queue("team--b", 0))
    lines = kubectl_tas("pool", "list", "--cluster-state", state, "-C", team).out.splitlines()[2:]
    assert lines == [
        "team            ONLINE         -              60 (Total: 100)  0     60",
        "├─ team--a      ONLINE         DELETING       0                5     -5",
        "└─ team--b      ONLINE         ACTIVE         40               0     40",
    ]


def test_a_queue_that_the_cluster_does_not_have_is_unknown(team: Path, tmp_path: Path) -> None:
    state = cluster(tmp_path, queue("team--shared", 4))
    lines = kubectl_tas("pool", "list", "--cluster-state", state, "-C", team).out.splitlines()
    assert lines[3] == "├─ team--a  ONLINE  ACTIVE         30               unknown  unknown"


def test_a_pool_whose_subpools_hold_too_much(team: Path) -> None:
    write(team, {"subpools/a.yaml": subpool("a", 41)})
    result = kubectl_tas("pool", "list", "-C", team)
    assert result.out.splitlines()[2] == "team            ONLINE         -              0 (Total: 100)   0     0"
    assert result.code == 1
    assert result.err.endswith("This repository has 1 error; run: kubectl tas validate\n")


def test_names_that_yaml_reads_otherwise(repository: Path) -> None:
    write(repository, {"pools/no.yaml": pool('"no"'), "pools/1.yaml": pool('"1"')})
    out = kubectl_tas("pool", "list", "-o", "yaml", "-C", repository).out
    assert '- name: "no"\n' in out
    assert '- name: "1"\n' in out


def test_where_work_of_a_pool_runs_is_described(repository: Path) -> None:
    places = "  namespaces: [a, b]\n  nodePool: blue\n  nodes:\n    selector: {gpu: h100, zone: east}\n"
    places += "    tolerations: [{key: gpu, operator: Exists, effect: NoSchedule}, {key: x, value: y}, "
    places += "{operator: Exists, effect: NoExecute, tolerationSeconds: 0}]\n"
    write(repository, {"pools/team.yaml": pool(spec=places)})
    lines = kubectl_tas("pool", "describe", "team", "-C", repository).out.splitlines()
    told = {name.strip(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
    assert (told["Namespaces"], told["Node pool"]) == ("a, b", "blue")
    assert told["Node selector"] == "gpu=h100, zone=east"
    assert told["Tolerations"] == "gpu:NoSchedule op=Exists, x=y, :NoExecute op=Exists for 0s"


def described(root: Path, name: str = "team") -> dict[str, str]:
    lines = kubectl_tas("pool", "describe", name, "-C", root).out.splitlines()
    return {name.strip(): value.strip() for name, _, value in (line.partition(": ") for line in lines)}


@pytest.mark.parametrize(
    ("scheduler", "text"),
    [
        ("{type: kai, version: '0.17'}", "prod (namespace ml, kai-scheduler 0.17)"),
        ("{type: default}", "prod (namespace ml, default-scheduler)"),
    ],
)
def test_the_scheduler_of_a_pool_is_described_with_its_release(repository: Path, scheduler: str, text: str) -> None:
    backends = f"spec: {{backends: [{{name: prod, namespace: ml, scheduler: {scheduler}}}]}}"
    config = f"apiVersion: tas/v1alpha1\nkind: Config\n{backends}\n"
    assert described(write(repository, {"tas.yaml": config, "pools/team.yaml": pool()}))["Backend"] == text


@pytest.mark.parametrize(
    ("platform", "selector", "text"),
    [
        ("{}", "{a: b}", "h (default)"),
        ("{override_pod_template: [nodes]}", "{a: b, c: d}", "h (default): a=b, c=d"),
        ("{override_pod_template: [nodes]}", "[a]", "h (default)"),
        ("{nodes: {selector: {x: y}}, override_pod_template: [nodes]}", "{a: b}", "h (default): x=y, a=b"),
        (
            "{privileged_allowed: true, host_network_allowed: true, allowed_mounts: [/data]}",
            "{}",
            "h (default): allows privileged, hostNetwork, mounts of /data",
        ),
    ],
)
def test_a_platform_is_described(repository: Path, platform: str, selector: str, text: str) -> None:
    template = (
        "apiVersion: tas/v1alpha1\nkind: PodTemplate\nmetadata: {name: nodes}\n"
        f"template: {{spec: {{nodeSelector: {selector}}}}}\n"
    )
    spec = f"  default_platform: h\n  platforms: {{h: {platform}}}\n"
    assert (
        described(write(repository, {"pools/t.yaml": template, "pools/team.yaml": pool(spec=spec)}))["Platform"] == text
    )


@pytest.mark.parametrize(
    ("access", "submit", "view"),
    [
        ("{}", None, None),
        ("{view: [audit]}", "everybody who may create work", "audit"),
        ("{submit: [team]}", "team", None),
        ("{submit: [team], view: [audit]}", "team", "audit"),
    ],
)
def test_who_may_use_a_pool_is_described(repository: Path, access: str, submit: str | None, view: str | None) -> None:
    told = described(write(repository, {"pools/team.yaml": pool(spec=f"  access: {access}\n")}))
    assert (told.get("May submit"), told.get("May view")) == (submit, view)


@pytest.mark.parametrize(("weights", "text"), [("", "1"), (", weight: 3", "gpu 3, cpu 1, memory 1")])
def test_weights_that_differ_are_described_each(repository: Path, weights: str, text: str) -> None:
    spec = pool().replace("    gpu:\n      guarantee: 100\n", f"    gpu: {{guarantee: 100{weights}}}\n")
    assert described(write(repository, {"pools/team.yaml": spec}))["Weight"] == text


LEVEL = "  topology_keys: [{key: rack, label: example.com/rack}]\n"


@pytest.mark.parametrize(
    ("name", "kind", "spec", "topology"),
    [
        ("team", "pool", LEVEL, "osmo-pool-default-team-topology"),
        ("team--a", "subpool", LEVEL, "osmo-pool-default-team-topology"),
        ("team", "pool", "", None),
    ],
)
def test_data_about_a_pool_or_subpool_names_it(
    repository: Path, name: str, kind: str, spec: str, topology: str | None
) -> None:
    write(repository, {"pools/team.yaml": pool(spec=spec), "subpools/a.yaml": subpool("a", 30)})
    found = json.loads(kubectl_tas("pool", "describe", name, "-o", "json", "-C", repository).out)
    assert (found["name"], found["kind"], found["topology"]) == (name, kind, topology)


def test_a_wide_list_of_levels_names_their_topology(repository: Path) -> None:
    write(repository, {"pools/team.yaml": pool(spec=LEVEL)})
    listed = [
        kubectl_tas("topology", "list", "--pool", "team", "-o", how, "-C", repository).out for how in ("table", "wide")
    ]
    assert [[line.split() for line in out.splitlines()] for out in listed] == [
        [["KEY", "LABEL"], ["rack", "example.com/rack"]],
        [["KEY", "LABEL", "TOPOLOGY"], ["rack", "example.com/rack", "osmo-pool-default-team-topology"]],
    ]


def test_an_archived_subpool_has_no_queue_in_a_wide_list(team: Path) -> None:
    write(team, {"subpools/c.yaml": subpool("c", 20, state="ARCHIVED")})
    lines = kubectl_tas("subpool", "list", "-o", "wide", "-C", team).out.splitlines()
    assert [line.split()[-1] for line in lines] == [
        "QUEUE",
        "osmo-pool-default-team--a",
        "osmo-pool-default-team--b",
        "-",
    ]


def test_since_when_gpus_are_held_may_not_be_known(repository: Path, tmp_path: Path) -> None:
    other = running("other", 2, "", "default-scheduler")
    del other["status"]["startTime"]
    write(repository, {"pools/a.yaml": pool("a", 16)})
    state = cluster(tmp_path, WHOLE, node("n", 32), queue("a--shared", 4), other)
    (found,) = json.loads(kubectl_tas("pool", "list", "--cluster-state", state, "-o", "json", "-C", repository).out)[
        "uncharged"
    ]
    assert (found["work"], found["gpus"], found["since"]) == ("Pod/other", 2, None)


def test_a_page_has_the_rows_of_the_table_and_a_bar_for_each_quota(team: Path, tmp_path: Path) -> None:
    state = cluster(tmp_path, queue("team--shared", 50), queue("team--a", "5"), queue("team--b", 50))
    result = kubectl_tas("pool", "list", "--cluster-state", state, "-C", team, "-o", "html")
    assert "<script" not in result.out
    assert ".share { white-space: nowrap; }" in result.out, "the style of the site"
    rows = re.findall(r'<tr><th scope="row">(.*?)</th>(.*)</tr>', result.out)
    cells = [re.findall(r"<td>(.*?)</td>", row) for _, row in rows]
    assert [re.sub("<.*?>", "", name) for name, _ in rows] == ["team", "team--a", "team--b", "team--c"]
    assert [name.count("indented") for name, _ in rows] == [0, 1, 1, 1]
    assert [row[1:4] for row in cells][:3] == [["10 (Total: 100)", "50", "-40"], ["30", "5", "25"], ["40", "50", "-10"]]
    assert [re.sub("<.*?>", "", row[4]).strip() for row in cells] == ["", "16%", "125%", ""], "unknown has no share"
    assert [re.findall(r'class="bar (\w+)".*?<rect width="(\d+)%"', row[4]) for row in cells[1:3]] == [
        [("good", "16")],
        [("bad", "100")],
    ]
    assert f"<p>{FROM_CLUSTER.strip()}</p>" in result.out


def test_names_on_a_page_are_text(repository: Path) -> None:
    root = write(repository, {"pools/team.yaml": pool(), "broken/<b>.yaml": "a: b\n"})
    (root / "pools/<i>.yaml").write_text("kind: Pool\n")
    result = kubectl_tas("pool", "list", "-C", root, "-o", "html")
    assert "&lt;i&gt;" in result.out
    assert "<i>" not in result.out
