"""Tests earlier findings of the fuzzers, and runs the fuzzers briefly."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from fuzz import corpus, mutations, oracle, readers
from fuzz.coverage_guided import pack, unpack
from fuzz.minimise import minimise
from kubectl_tas.cli.session import check_source
from tests.support.golden import ROOT

POOL = b"""\
apiVersion: tas/v1alpha1
kind: Pool
metadata:
  name: team
spec:
  resources:
    gpu: {guarantee: 100}
"""
JOB = """\
apiVersion: batch/v1
kind: Job
metadata:
  name: sweep
  labels:
    kubectl-tas/pool: team
spec:
  template:
    spec:
      restartPolicy: Never
      containers:
      - name: main
        image: ghcr.io/example/sweep:1
"""
SET = """\
apiVersion: grove.io/v1alpha1
kind: PodCliqueSet
metadata:
  name: chat
  labels:
    kubectl-tas/pool: team
spec:
  replicas: 1
  template:
    cliques:
    - name: server-
      spec:
        replicas: 2
        podSpec:
          containers:
          - {name: main, image: "vllm/vllm-openai:v0.11.0"}
    podCliqueScalingGroups:
    - name: one
      cliqueNames: [server]
      replicas: 1000000000
      minAvailable: 1000000000
"""
JSON = """\
{"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "sweep", "labels": {"kubectl-tas/pool": "team"},
"annotations": {"smile": "\\ud83d\\ude00"}}, "spec": {"template": {"spec": {"restartPolicy": "Never", "containers": [
{"name": "main", "image": "ghcr.io/example/sweep:1"}]}}}}
"""


def spec(entry: str) -> str:
    """A Job with one more entry, which nothing is known of."""
    return JOB.replace("spec:\n", f"spec:\n  {entry}\n", 1)


FOUND: dict[str, str] = {
    "a-directive-in-a-file-that-libyaml-refuses": "%YAML 1.1\n--- {guarantee:,",
    "a-billion-replicas-of-a-clique-that-is-not-there": SET,
    "json-with-surrogates-in-a-yaml-file": JSON,
    "a-colon-before-a-comma-in-braces": JOB.replace(
        "- name: main\n        image: ghcr.io/example/sweep:1", '- {name: main:, image: "ghcr.io/example/sweep:1"}'
    ),
    "lines-that-end-at-u2028": JOB.replace("\n", "\u2028", 4),
    "lines-that-end-at-u0085": JOB.replace("\n", "\u0085", 4),
    "lines-that-end-at-a-lone-carriage-return": JOB.replace("\n", "\r"),
    "a-field-behind-a-comment-and-u2028": JOB.replace("spec:\n", "# a note\u2028spec:\n", 1),
    "a-merge-key-behind-a-key": spec("x: {a: 1, <<: {a: 2}}"),
    "a-number-beyond-all-numbers": spec("x: 1E400"),
    "a-tag-on-a-key": f"!!str {JOB}",
    "a-binary-key": JOB.replace("  labels:", "  !!binary bGFiZWxz: {a: b}\n  labels:", 1),
    "a-tag-that-says-nothing": JOB.replace("Never", "! Never"),
    "a-number-that-a-tag-makes-text": spec("parallelism: ! 5"),
    "a-tag-that-says-nothing-on-a-mapping": JOB.replace("metadata:\n", "metadata: !\n", 1),
    **{
        f"a-key-{name}": spec(f"{key}: x")
        for name, key in {
            "that-is-not-a-number": ".nan",
            "that-is-infinite": "-.INF",
            "that-is-null": "~",
            "that-is-true": "TRUE",
            "that-is-yes": "y",
            "that-is-octal": "010",
            "that-has-an-exponent": "1E400",
            "that-is-a-date": "2024-01-01",
            "that-is-an-equals-sign": "=",
        }.items()
    },
    **{
        f"a-value-{name}": spec(f"x: {value}")
        for name, value in {
            "that-is-not-a-number": ".nan",
            "that-is-infinite": "-.inf",
            "that-is-yes": "on",
            "that-is-octal": "010",
            "that-is-octal-since-1.2": "0o17",
            "that-is-binary": "0b11",
            "with-underscores": "1_000",
            "with-an-exponent": "1e3",
            "of-base-60": "190:20:30",
            "that-is-a-date": "2024-01-01",
            "that-is-an-equals-sign": "=",
        }.items()
    },
}
"""Small inputs, by what they show: each was read apart, not rendered, or ended in a traceback or not at all."""


@pytest.fixture
def in_time() -> Iterator[None]:
    """Ends a test that takes longer than an input may."""

    def end(_number: int, _frame: object) -> None:
        raise TimeoutError("over 5 seconds")

    before = signal.signal(signal.SIGALRM, end)
    signal.setitimer(signal.ITIMER_REAL, 5)
    yield
    signal.setitimer(signal.ITIMER_REAL, 0)
    signal.signal(signal.SIGALRM, before)


@pytest.mark.usefixtures("in_time")
@pytest.mark.parametrize("name", FOUND)
def test_found_once(name: str) -> None:
    judgement = oracle.judge({"pools/team.yaml": POOL, "workflows/found.yaml": FOUND[name].encode()})
    assert [failure.key for failure in judgement.failures] == []
    assert judgement.outcome in (oracle.RENDERED, oracle.REFUSED)


def test_short_run(tmp_path: Path) -> None:
    """Enough to see that it works; CI runs two thousand cases by its command."""
    count = 60
    command = [sys.executable, "-m", "fuzz.mutate", "--seed", "9", "--inputs", str(count), "--save", str(tmp_path)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.startswith(f"{count:,} inputs")


class TestCases:
    def test_each_is_the_same_again(self) -> None:
        assert mutations.case(1, 7) == mutations.case(1, 7)
        assert mutations.case(1, 7) != mutations.case(2, 7)

    def test_all_ways_to_damage_a_file_are_taken(self) -> None:
        steps = {step.split()[0] for number in range(600) for step in mutations.case(1, number).steps}
        assert {"bytes", "tokens", "lines", "scalars", "keys", "merges", "free", "splice", "style", "data"} <= steps


class TestOracle:
    """It sees what it is there to see."""

    def test_what_is_well(self) -> None:
        judgement = oracle.judge({"pools/team.yaml": POOL, "workflows/sweep.yaml": JOB.encode()})
        assert judgement == oracle.Judgement(oracle.RENDERED)

    @pytest.mark.parametrize("share", range(4))
    def test_nothing_is_wrong_with_what_nobody_has_damaged(self, share: int) -> None:
        """A quarter of all repositories; ``python -m fuzz.mutate`` judges the others too."""
        failures = [
            (seed.name, failure.key)
            for seed in corpus.repositories()[share::16]
            for failure in oracle.judge(seed.files).failures
        ]
        assert failures == []

    @pytest.mark.parametrize(
        ("text", "reader"),
        [
            ("a: y\n", "YAML 1.1"),
            ("a: 010\n", "YAML 1.1"),
            ("a: 0o17\n", "YAML 1.1"),
            ("a: 1e3\n", "YAML 1.1"),
            ("a: 1:30\n", "YAML 1.1"),
            ("a: {b: 1, <<: {b: 2}}\n", "kubectl"),
            ("a: !!str 1\n", "YAML 1.2"),
            ("!!binary bGFiZWxz: 1\n", "YAML 1.2"),
        ],
    )
    def test_output_that_readers_read_apart(self, text: str, reader: str) -> None:
        told = oracle.read_apart(text)
        assert told is not None
        assert reader in told[0]

    @pytest.mark.parametrize("text", ["a: 'y'\n", "a: {b: 1.5}\n", "a: [x, 1]\n", 'a: "010"\n', "a: &x b\nc: *x\n"])
    def test_output_that_all_read_alike(self, text: str) -> None:
        assert oracle.read_apart(text) is None

    def test_more_than_one_document_for_kubectl(self) -> None:
        assert oracle.read_apart("a: 1\n---\nb: 2\n") == ("kubectl cuts it in pieces", "2 pieces")

    def test_what_was_judged_is_in_what_is_read(self) -> None:
        assert readers.lacks({"a": [1, {"b": "c"}]}, {"a": [1, {"b": "c", "d": 2}], "e": 3}) is None
        assert readers.lacks({"a": [1, {"b": "c"}]}, {"a": [1, {"b": "d"}]}) == ("a", 1, "b")
        assert readers.lacks({"a": "1"}, {"a": 1}) == ("a",)

    def test_a_place_beyond_the_file(self) -> None:
        session = check_source(oracle.ROOT, oracle.MemorySource({"pools/team.yaml": b"a: 1\n"}))
        assert list(oracle.places(session.diagnostics, {"pools/team.yaml": b"a: 1\n"})) == []
        assert [item.where for item in oracle.places(session.diagnostics, {"pools/team.yaml": b""})] != []


def test_a_failing_input_becomes_small() -> None:
    files = {"a": b"one\ntwo\nthree four five\n", "b": b"six\n"}
    assert minimise(files, lambda tried: b"four" in tried.get("a", b"")) == {"a": b"four"}


def test_a_repository_as_one_string() -> None:
    files = {"pools/team.yaml": POOL, "workflows/a.yaml": b""}
    assert unpack(pack(files)) == files
    assert unpack(b"\xff\x00") != {}
