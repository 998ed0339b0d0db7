"""Tests what Prometheus is asked for past usage, with the answers of a fake kubectl."""

from __future__ import annotations

import json
from pathlib import Path
from urllib.parse import unquote

import pytest

from kubectl_tas.base.diagnostics import TasError
from kubectl_tas.live.kubectl import ClusterAccess
from kubectl_tas.live.prometheus import past_usage
from kubectl_tas.model.scheduling_shard import UsageDatabase
from tests.support.kubectl import FakeKubectl

ADDRESS = "http://prometheus.monitoring.svc.cluster.local:9090"
PROXY = "/api/v1/namespaces/monitoring/services/http:prometheus:9090/proxy"
GPUS = 'sum(kube_node_status_capacity{resource="nvidia_com_gpu"})'
ACCESS = ClusterAccess("prod")


def vector(**values: object) -> str:
    series = [{"metric": {"queue_name": queue}, "value": [1, str(value)]} for queue, value in values.items()]
    return json.dumps({"status": "success", "data": {"resultType": "vector", "result": series}})


class FakePrometheus:
    """Answers each question alike, unless the question has one of some words."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.kubectl = FakeKubectl(folder, monkeypatch)
        self.answers(capacity=vector(all=200), allocated=vector(a=50, b=0))

    def answers(self, **answers: str) -> None:
        cases = "".join(f"  *{word}*) cat <<'END'\n{answer}\nEND\n;;\n" for word, answer in answers.items())
        self.runs(f'case "$*" in\n{cases}  *) echo no >&2; exit 1 ;;\nesac')

    def runs(self, script: str) -> None:
        self.kubectl.runs(f'echo "$@" >> "{self.kubectl.folder}/calls"\n{script}')

    @property
    def queries(self) -> list[str]:
        """The queries that were asked, each once."""
        calls = (unquote(call) for call in self.kubectl.calls if "--raw" in call)
        return list(dict.fromkeys(call.partition("query=")[2] for call in calls))


@pytest.fixture
def prometheus(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FakePrometheus:
    return FakePrometheus(tmp_path, monkeypatch)


def database(address: str = ADDRESS, **params: object) -> UsageDatabase:
    fields = {"clientType": "prometheus", "connectionString": address, "usageParams": params}
    return UsageDatabase.model_validate(fields)


def failure(asked: UsageDatabase) -> str:
    with pytest.raises(TasError) as raised:
        past_usage(ACCESS, asked)
    return f"{raised.value.message} {raised.value.hint}"


def test_the_queries_are_those_of_kai(prometheus: FakePrometheus) -> None:
    """Those of KAI 0.17.0 were read in the log of a Prometheus that its client asked."""
    used = dict.fromkeys(("gpu", "cpu", "memory"), 0.25)
    assert past_usage(ACCESS, database(windowSize="2d"))["a"] == used
    assert prometheus.queries == [
        *(
            f'sum_over_time((sum(kube_node_status_capacity{{resource="{name}"}}))[2d:1m0s])'
            for name in ("nvidia_com_gpu", "cpu", "memory")
        ),
        *(f"sum_over_time((kai_queue_allocated_{name})[2d:1m0s])" for name in ("gpus", "cpu_cores", "memory_bytes")),
    ]
    call = prometheus.kubectl.calls[0]
    assert call.startswith(f"--context=prod --request-timeout=10s get --raw {PROXY}/api/v1/query?query=sum_over_time")


def test_a_half_life_decays_the_metric_and_the_shard_may_name_others(
    prometheus: FakePrometheus, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("time.time", lambda: 1764000000.9)
    params = {"gpuAllocationMetric": "allocated_of_mine", "queryResolution": "90s"}
    past_usage(ACCESS, database(halfLifePeriod="1h30m", extraParams=params))
    decay = "(0.5^((1764000000 - time()) / 5400.000000))"
    assert prometheus.queries[0] == f"sum_over_time(((({GPUS}) * {decay}))[1w:1m30s])"
    assert prometheus.queries[3] == f"sum_over_time((((allocated_of_mine) * {decay}))[1w:1m30s])"


@pytest.mark.parametrize(
    ("address", "words"),
    [
        ("http://prom.kai.svc:80/base/", "/api/v1/namespaces/kai/services/http:prom:80/proxy/base/api/v1/query"),
        ("https://prom.kai", "/api/v1/namespaces/kai/services/https:prom:443/proxy/api/v1/query"),
        ("http://prom:9090", "/api/v1/namespaces/kai-scheduler/services/http:prom:9090/proxy/api/v1/query"),
        ("http://p-0.prom.kai.svc.cluster.local", "/api/v1/namespaces/kai/services/http:prom:80/proxy/api/v1/query"),
        ("https://metrics.example.com/prom", "--server=https://metrics.example.com --request"),
        ("http://localhost:9090", "--server=http://localhost:9090 --request"),
        ("http://10.0.0.1:9090", "--server=http://10.0.0.1:9090 --request"),
        ("http://[::1]:9090", "--server=http://[::1]:9090 --request"),
    ],
)
def test_services_are_reached_through_the_api_server_and_others_without_credentials(
    address: str, words: str, prometheus: FakePrometheus
) -> None:
    past_usage(ACCESS, database(address))
    call = prometheus.kubectl.calls[0]
    assert words in call
    assert ("--context=prod" in call, "--kubeconfig=/dev/null" in call) == (
        "--server" not in words,
        "--server" in words,
    )


@pytest.mark.parametrize(
    ("spec", "host"),
    [
        ({"prometheus": {"enabled": True}}, "kai-scheduler/services/http:usage-prometheus:9090/"),
        ({"namespace": "kai", "prometheus": {"enabled": True}}, "kai/services/http:usage-prometheus:9090/"),
        ({"prometheus": {"externalPrometheusUrl": "http://p.example.com:1"}}, "--server=http://p.example.com:1"),
    ],
)
def test_without_an_address_it_is_that_of_the_operator(
    spec: dict[str, object], host: str, prometheus: FakePrometheus
) -> None:
    config = {"kind": "Config", "metadata": {"name": "kai-config"}, "spec": spec}
    prometheus.answers(configs=json.dumps({"items": [config]}), capacity=vector(all=200), allocated=vector(a=50))
    assert past_usage(ACCESS, database(""))["a"]["gpu"] == 0.25
    assert host in prometheus.kubectl.calls[1]


@pytest.mark.parametrize("spec", [None, 3, {}, {"prometheus": 3}, {"prometheus": {"enabled": False}}])
def test_an_operator_without_prometheus_is_told(spec: object, prometheus: FakePrometheus) -> None:
    config = {"kind": "Config", "metadata": {"name": "kai-config"}, "spec": spec}
    prometheus.answers(configs=json.dumps({"items": [config]}))
    assert "neither the shard nor KAI's Config kai-config names a Prometheus" in failure(database(""))


@pytest.mark.parametrize(
    ("capacity", "allocated", "words"),
    [
        (vector(), vector(), f"it has nothing for {GPUS}, without which KAI counts no past usage either"),
        (vector(all=0), vector(), "it has nothing for"),
        (vector(all=1), vector(a="NaN"), "not finite"),
        (vector(all=1), "{}", "its answer is not one of Prometheus"),
        (vector(all=1), "<html>", "its answer is not one of Prometheus"),
        (vector(all=1), '{"data": {"resultType": "matrix", "result": []}}', "its answer is not one of Prometheus"),
        (vector(all=1), '{"data": {"resultType": "vector", "result": [3]}}', "its answer is not one of Prometheus"),
        (vector(all=1), '{"data": 3}', "its answer is not one of Prometheus"),
    ],
)
def test_an_answer_that_says_nothing_is_told(
    capacity: str, allocated: str, words: str, prometheus: FakePrometheus
) -> None:
    prometheus.answers(capacity=capacity, allocated=allocated)
    assert failure(database()).startswith(f"Prometheus at {ADDRESS} does not tell past usage: ")
    assert words in failure(database())


@pytest.mark.parametrize(
    ("script", "words"),
    [("echo refused >&2; exit 1", "refused"), ("exit 1", "it gave no reason"), ("sleep 5", "did not answer within")],
)
def test_a_prometheus_that_is_not_reached_is_told(script: str, words: str, prometheus: FakePrometheus) -> None:
    prometheus.runs(script)
    assert words in failure(database(extraParams={"usageQueryTimeout": "500ms"}))


def test_a_password_is_not_told(prometheus: FakePrometheus) -> None:
    prometheus.runs("exit 1")
    assert "Prometheus at http://p.example.com:9090 does" in failure(database("http://me:secret@p.example.com:9090"))


@pytest.mark.parametrize("address", ["ftp://a.b", "prometheus:9090", "http://", "http://a.b:port", "http://a.b:99999"])
def test_what_is_no_address_is_told(address: str, prometheus: FakePrometheus) -> None:
    assert "is not the address of a Prometheus" in failure(database(address))


def test_an_address_that_only_the_scheduler_knows_is_told(prometheus: FakePrometheus) -> None:
    asked = UsageDatabase.model_validate({"clientType": "prometheus", "connectionStringEnvVar": "PROMETHEUS"})
    assert "only the scheduler knows the variable PROMETHEUS" in failure(asked)
