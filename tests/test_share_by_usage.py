"""Tests ``pool share`` with past usage. ``tests/place/test_share.py`` compares it with KAI."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.support.cli import Result, kubectl_tas, pool, write
from tests.support.golden import GOLDEN, at, case_input
from tests.support.kubectl import FakeKubectl

CASE = GOLDEN / "commands/pool-share-by-usage"
ASKS = "--gpus", "16", "--demand", "a=40", "--demand", "b=40"
QUEUE = "osmo-pool-default-"
ADDRESS = "http://prometheus.monitoring.svc:9090"
REFUSED = "Error from server (ServiceUnavailable): no endpoints available"


def shard(settings: str = "", database: str = f'clientType: prometheus, connectionString: "{ADDRESS}"') -> str:
    usage = f"  usageDBConfig: {{{database}}}\n" if database else ""
    return (
        "apiVersion: kai.scheduler/v1\nkind: SchedulingShard\nmetadata: {name: default}\n"
        f"spec:\n  partitionLabelValue: ''\n{usage}{settings}"
    )


def two(root: Path, *files: str, **more: str) -> Path:
    pools = {f"pools/{name}.yaml": pool(name, 0) for name in "ab"}
    shards = {f"pools/shard-{index}.yaml": text for index, text in enumerate(files)}
    return write(root, {**pools, **shards, **more})


def share(root: Path, *arguments: str | Path) -> Result:
    return kubectl_tas("-C", root, "pool", "share", *arguments)


def answer(root: Path, *arguments: str | Path) -> dict[str, Any]:
    result = share(root, *ASKS, *arguments, "-o", "json")
    assert result.code == 0, result.err
    (cluster,) = json.loads(result.out)["clusters"]
    return dict(cluster)


def gpus(root: Path, *arguments: str | Path, field: str = "share") -> dict[str, Any]:
    return {queue["name"]: queue["gpu"].get(field) for queue in answer(root, *arguments)["queues"]}


def usage(root: Path, text: str) -> str:
    write(root, {"usage.yaml": text})
    return f"--usage={root / 'usage.yaml'}"


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("unknown.txt", ["--gpus", "88"]),
        ("usage.txt", ["--gpus", "88", f"--usage={CASE / 'usage.yaml'}"]),
        ("usage.json", ["--gpus", "88", f"--usage={CASE / 'usage.yaml'}", "students", "-o", "json"]),
        ("unknown.json", ["--gpus", "88", "students", "-o", "json"]),
    ],
)
def test_golden(name: str, arguments: list[str], snapshot: Any) -> None:
    result = share(case_input(CASE), *arguments)
    assert result.code == 0, result.err
    assert result.out == snapshot(extension_class=at(CASE / name))


def test_a_pool_that_used_more_borrows_less(repository: Path) -> None:
    root = two(repository, shard("  kValue: 2\n"))
    assert gpus(root, usage(root, "queues: {a: {gpu: 0}}")) == {"a": 8, "b": 8}
    assert gpus(root, usage(root, "queues: {a: {gpu: 0.25}}")) == {"a": 6, "b": 10}
    assert gpus(root, usage(root, "queues: {a: {gpu: 0.75}}")) == {"a": 0, "b": 16}
    assert "it used so much before that it borrows nothing" in share(root, *ASKS, f"--usage={root / 'usage.yaml'}").out


def test_usage_is_divided_by_what_the_cluster_had(repository: Path) -> None:
    root = two(repository, shard("  kValue: 2\n"))
    text = f"capacity: {{gpu: 16000}}\nqueues: {{{QUEUE}a--shared: {{gpu: 4000}}}}"
    assert gpus(root, usage(root, text), field="pastUsage") == {"a": 0.25, "b": 0}
    assert answer(root, usage(root, text))["pastUsage"] == {"kValue": 2, "source": "file"}
    assert answer(root, f"--usage={root / 'usage.yaml'}")["queues"][0]["cpu"]["pastUsage"] == 0


def test_a_queue_above_others_used_what_they_used_unless_the_file_names_it(repository: Path) -> None:
    root = two(repository, shard())
    assert gpus(root, usage(root, "queues: {a: {gpu: 0.5}}")) == {"a": 5, "b": 11}
    assert gpus(root, usage(root, f"queues: {{a: {{gpu: 0.5}}, {QUEUE}a: {{gpu: 0}}}}")) == {"a": 8, "b": 8}


def test_without_a_shard_the_default_of_kai_counts_or_an_option(repository: Path) -> None:
    root = two(repository)
    given = usage(root, "queues: {a: {gpu: 0.25}}")
    assert (gpus(root, given), gpus(root, given, "--k-value", "2")) == ({"a": 7, "b": 9}, {"a": 6, "b": 10})
    assert gpus(root, given, "--k-value", "0") == {"a": 8, "b": 8}
    assert [note for note in answer(root, given)["notes"] if "kValue" in note] == [
        "kValue 1 counts, the default of KAI, since the repository declares no shard; --k-value names another."
    ]
    assert (gpus(root, "--k-value", "1", field="least"), gpus(root, "--k-value", "1", field="most")) == (
        {"a": 0, "b": 0},
        {"a": 16, "b": 16},
    )
    assert "pastUsage" not in answer(root)


def test_the_shard_gives_the_k_value(repository: Path) -> None:
    root = two(repository, shard())
    refused = share(root, *ASKS, "--k-value", "2")
    assert (refused.code, "--k-value: shard default says its kValue" in refused.err) == (2, True)
    assert "pools/shard-0.yaml:" in refused.err


@pytest.mark.parametrize("value", ["-1", "nan", "inf", "x", "1000001"])
def test_a_k_value_is_a_number_from_0(value: str, repository: Path) -> None:
    assert share(two(repository), *ASKS, "--k-value", value).code == 2


@pytest.mark.parametrize(
    ("document", "note"),
    [
        (shard(database=""), "Shard default has no usageDBConfig, so its scheduler counts no past usage yet."),
        (
            shard(
                database="clientType: prometheus, usageParams: {windowType: tumbling, "
                "tumblingWindowStartTime: '2026-01-01T00:00:00Z'}"
            ),
            "Prometheus refuses KAI's query for a tumbling window",
        ),
    ],
)
def test_a_shard_that_counts_no_usage_is_told(document: str, note: str, repository: Path) -> None:
    root = two(repository, document)
    without = answer(root)
    assert ("pastUsage" in without, gpus(root, field="least")) == (False, {"a": None, "b": None})
    divided = answer(root, usage(root, "queues: {a: {gpu: 0.5}}"))
    assert [text for text in divided["notes"] if note in text] != []
    assert divided["queues"][0]["gpu"]["share"] == 5


def test_a_k_value_of_0_counts_nothing(repository: Path) -> None:
    assert "pastUsage" not in answer(two(repository, shard("  kValue: 0\n")))


@pytest.mark.parametrize(
    ("text", "finding"),
    [
        ("capacity: {gpu: 0}\nqueues: {}\n", "usage.yaml:1:17: error: capacity.gpu must be at least 1"),
        ("queues: {a: {gpu: -1}}", "usage.yaml:1:19: error: queues.a.gpu must be at least 0"),
        ("queues: {a: {gpu: .inf}}", "usage.yaml:1:19: error:"),
        ("queues: {a: {gpus: 1}}", 'usage.yaml:1:14: error: unknown field "gpus"'),
        ("queues: {a: 3}", "usage.yaml:1:13: error: queues.a must be a mapping"),
        ("queue: {}", 'usage.yaml:1:1: error: unknown field "queue"'),
        ("queues: [", "usage.yaml:1:10: error:"),
        ("", "usage.yaml: error: a file of usage holds one document"),
        ("queues: {}\n---\nqueues: {}\n", "usage.yaml:3:1: error: a file of usage holds one document"),
        ("queues: {a: {}, A: {}}", "usage.yaml:1:17: the past usage of"),
        ("\xff", "usage.yaml:1:1: error:"),
    ],
    ids=str,
)
def test_a_file_that_cannot_be_used_is_refused_where_it_is_wrong(text: str, finding: str, repository: Path) -> None:
    root = two(repository)
    (root / "usage.yaml").write_text(text, encoding="latin-1")
    result = share(root, *ASKS, f"--usage={root / 'usage.yaml'}")
    assert (result.code in (1, 2), result.out, finding in result.err) == (True, "", True), result.err


def test_a_name_that_is_no_queue_is_told_with_its_place(repository: Path) -> None:
    root = two(repository)
    result = share(root, *ASKS, usage(root, "queues: {aa: {gpu: 1}}"))
    assert (result.code, 'usage.yaml:1:10: no pool or queue "aa"' in result.err) == (0, True)


def test_usage_is_that_of_one_cluster(repository: Path) -> None:
    backends = "spec:\n  backends:\n  - {name: prod}\n  - {name: lab, namespace: lab}\n"
    pools = {f"pools/{name}.yaml": pool(name, 4, f"  backend: {name}\n") for name in ("prod", "lab")}
    write(repository, {"tas.yaml": f"apiVersion: tas/v1alpha1\nkind: Config\n{backends}", **pools})
    result = share(repository, usage(repository, "queues: {}"), "--live")
    assert (result.code, "name it with --backend" in result.err) == (2, True)


ANSWER = '{"data": {"resultType": "vector", "result": [{"metric": {"queue_name": "%s"}, "value": [1, "%s"]}]}}'
LIVE = f"""
case "$*" in
  *"get --raw"*kube_node_status_capacity*) echo '{ANSWER % ("", 100)}' ;;
  *"get --raw"*allocated_gpus*) echo '{ANSWER % (f"{QUEUE}a", 25)}' ;;
  *"get --raw"*) echo '{{"data": {{"resultType": "vector", "result": []}}}}' ;;
  *) echo '{{"kind": "List", "items": []}}' ;;
esac
"""


def test_a_live_cluster_is_asked_for_its_prometheus(
    repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = two(repository, shard("  kValue: 2\n"))
    kubectl = FakeKubectl(tmp_path, monkeypatch)
    kubectl.runs(LIVE)
    divided = answer(root, "--live")
    assert divided["pastUsage"] == {"kValue": 2, "source": "prometheus"}
    assert [(queue["gpu"]["pastUsage"], queue["gpu"]["share"]) for queue in divided["queues"]] == [(0.25, 6), (0, 10)]
    assert gpus(root, "--live", usage(root, "queues: {b: {gpu: 0.25}}")) == {"a": 10, "b": 6}


def test_a_prometheus_that_does_not_answer_leaves_the_range(
    repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kubectl = FakeKubectl(tmp_path, monkeypatch)
    kubectl.runs(f"""case "$*" in *"get --raw"*) echo "{REFUSED}" >&2; exit 1 ;; *) echo '{{"items": []}}' ;; esac""")
    divided = answer(two(repository, shard()), "--live")
    assert divided["pastUsage"] == {"kValue": 1, "source": "unknown"}
    assert divided["notes"][0] == f"Prometheus at {ADDRESS} does not tell past usage: {REFUSED}. Pass --usage FILE."
    assert [(queue["gpu"]["least"], queue["gpu"]["most"]) for queue in divided["queues"]] == [(0, 16), (0, 16)]


def test_a_recorded_cluster_has_no_prometheus(repository: Path) -> None:
    root = two(repository, shard(), **{"state.json": '{"kind": "List", "items": []}\n'})
    state = {"kind": "ClusterState", "kinds": ["Queue", "PodGroup", "Node", "Pod"]}
    (root / "state.json").write_text(json.dumps({"items": [state]}))
    assert answer(root, f"--cluster-state={root / 'state.json'}")["pastUsage"]["source"] == "unknown"
