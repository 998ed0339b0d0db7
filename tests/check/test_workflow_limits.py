"""Times and labels of workflows against what pools and the Config allow, word by word."""

from __future__ import annotations

import pytest

from tests.support.cli import pool
from tests.support.judged import told


def flow(field: str = "", spec: str = "", labels: str = "") -> dict[str, str]:
    """A workflow with a field in line 4, of a pool with a field, and a Config with settings of labels."""
    tasks = "tasks: [{name: t, image: i, command: [c], resource: r}]"
    text = f"workflow:\n  name: w\n  pool: team\n  {field}\n  {tasks}\nresources: {{r: {{gpu: 1}}}}\n"
    config = f"apiVersion: tas/v1alpha1\nkind: Config\nspec: {{labels_config: {{{labels}}}}}\n"
    files = {"pools/team.yaml": pool(spec=f"  {spec}\n"), "workflows/w.yaml": text}
    return {**files, "tas.yaml": config} if labels else files


def timed(asked: str, most: str) -> dict[str, str]:
    return flow(f"timeout: {{exec_timeout: {asked}}}", f"max_exec_timeout: {most}")


POLICY = "policy: [{key: team, enforcement: enforce, allow_list: [nlp, cv]}]"
LONG = ".".join(["a" * 50] * 6)
ROWS = {
    "longer than the pool lets work run": (
        timed("2h", "1h"),
        [
            "workflows/w.yaml:4:27 timeout-too-long: exec_timeout is 2h, but pool team lets work run for 1h "
            "(Write 1h or less.)"
        ],
    ),
    "as long as the pool lets work run": (timed("1h", "1h"), []),
    "shorter than the pool lets work run": (timed("30m", "1h"), []),
    "a pool without a limit": (timed("2h", "0"), []),
    "a label behind a prefix": (flow("labels: {a: b}", labels="pod_label_prefix: example.com/"), []),
    "a label with a domain behind a prefix": (
        flow("labels: {a/b: b}", labels="pod_label_prefix: example.com/"),
        [
            'workflows/w.yaml:4:12 invalid-value: pods would carry the label "example.com/a/b", which is no valid '
            'label key (pod_label_prefix of the Config puts "example.com/" before the key. Write a key without '
            '"/".)'
        ],
    ),
    "a label behind a long prefix": (
        flow("labels: {b: b}", labels=f"pod_label_prefix: {LONG}/"),
        [
            "tas.yaml:3:42 invalid-value: spec.labels_config.pod_label_prefix must have at most 253 characters, "
            'not "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa.aaaaaa..." ()'
        ],
    ),
    "a label with a long domain behind a prefix": (
        flow(f"labels: {{{'b.' * 125}c/d: b}}", labels="pod_label_prefix: example.com."),
        [
            "workflows/w.yaml:4:12 invalid-value: pods would carry the label "
            '"example.com.b.b.b.b.b.b.b.b.b.b.b.b.b.b.b.b.b.b.b.b.b.b.b.b.b.b.b.b.b.b.b.b.b.b.b.b.b.b.b.b.b.b.b.b'
            ".b.b.b.b.b.b.b.b.b.b.b.b.b.b.b.b.b.b.b.b.b.b.b.b.b.b.b.b.b.b.b.b.b.b.b.b.b.b.b.b.b.b.b.b.b.b.b.b.b.b"
            '.b.b.b.b.b.b.b.b.b.b.b.b.b.b.b.b.b.b.b.b.b.b.b.b.b.b.b.b.b.b.b.c/d", which is no valid '
            'label key (pod_label_prefix of the Config puts "example.com." before the key. Write a key without "/".)'
        ],
    ),
    "a value of the policy": (flow("labels: {team: nlp}", labels=POLICY), []),
    "nearly a value of the policy": (
        flow("labels: {team: nlpp}", labels=POLICY),
        [
            'workflows/w.yaml:4:18 label-policy: the value "nlpp" of the label "team" is not one that the Config '
            'allows (Did you mean "nlp"?)'
        ],
    ),
    "no value of the policy": (
        flow("labels: {team: ''}", labels=POLICY),
        [
            'workflows/w.yaml:4:18 label-policy: the value "" of the label "team" is not one that the Config '
            "allows (Values: nlp, cv.)"
        ],
    ),
    "a label of the policy that is missing": (
        flow("labels: {}", labels=POLICY),
        ['workflows/w.yaml:2:9 label-policy: the label "team" is missing (Add it to labels. Values: nlp, cv.)'],
    ),
}


@pytest.mark.parametrize(("files", "expected"), ROWS.values(), ids=ROWS)
def test_workflows(files: dict[str, str], expected: list[str]) -> None:
    assert told(files) == expected
