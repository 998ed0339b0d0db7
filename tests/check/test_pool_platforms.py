"""What pod templates of pools may not set, and how resource validations compare, as OSMO does."""

from __future__ import annotations

import pytest

from tests.support.judged import told

POOL = """\
apiVersion: tas/v1alpha1
kind: Pool
metadata: {name: lab}
spec:
  resources: {gpu: {guarantee: 8}}
  default_platform: a
  common_pod_template: [TEMPLATE]
  platforms: {a: {resource_validations: [v]}}
"""
WORKFLOW = """\
workflow: {name: w, pool: lab, tasks: [{name: t, image: i, resource: r}]}
resources: {r: {gpu: 1, cpu: 2, memory: 4Gi, storage: 8Gi}}
"""
HINT = "Change what its resource asks for, or choose another platform."


def lab(*rules: str, template: str = "spec: {}") -> list[str]:
    """What is said of a pool with a pod template and resource validations, and of a workflow in it."""
    rules = rules or (rule("EQ", "a", "a"),)
    files = {
        "pools/lab.yaml": POOL.replace("TEMPLATE", f"{{{template}}}"),
        "pools/v.yaml": f"apiVersion: tas/v1alpha1\nkind: ResourceValidation\nmetadata: {{name: v}}\n"
        f"rules: [{', '.join(rules)}]\n",
        "workflows/w.yaml": WORKFLOW,
    }
    return told(files)


def rule(operator: str, left: str, right: str, message: str = "no") -> str:
    return f"{{operator: {operator}, left_operand: '{left}', right_operand: '{right}', assert_message: '{message}'}}"


def test_labels_and_annotations_that_kubectl_tas_sets() -> None:
    labels = ("kai.scheduler/queue", "kubectl-tas/x", "app.kubernetes.io/managed-by", "runai/queue")
    notes = ("pod-group-name", "argocd.argoproj.io/sync-wave", "kai.scheduler/x")
    metadata = [
        f"{kind}: {{{', '.join(f'{key}: x' for key in (*keys, 'example.com/a'))}}}"
        for kind, keys in (("labels", labels), ("annotations", notes))
    ]
    found = lab(template=f"metadata: {{{', '.join(metadata)}}}")
    assert [line.partition(" ")[2] for line in found] == [
        *(f'pod-template-reserved: the label "{key}" is set by kubectl-tas (Remove it.)' for key in labels),
        *(f'pod-template-reserved: the annotation "{key}" is set by kubectl-tas (Remove it.)' for key in notes),
    ]


def test_fields_that_kubectl_tas_sets() -> None:
    fields = ("schedulerName", "priorityClassName", "restartPolicy", "hostname")
    found = lab(template=f"spec: {{{', '.join(f'{field}: Always' for field in fields)}, dnsPolicy: Default}}")
    assert [line.partition(" ")[2] for line in found if "pod-template-reserved" in line] == [
        f"pod-template-reserved: the field {field} of a workflow's pods is set by kubectl-tas (Remove it.)"
        for field in fields
    ]
    assert lab(template="spec: {restartPolicy: Never}") == []


@pytest.mark.parametrize(
    ("operator", "words", "held"),
    [
        ("GT", "more than ", "1"),
        ("GE", "at least ", "1 2"),
        ("LT", "less than ", "3"),
        ("LE", "at most ", "2 3"),
        ("EQ", "", "2"),
    ],
)
def test_operators(operator: str, words: str, held: str) -> None:
    numbers = ("1", "2", "3")
    assert lab(*(rule(operator, "{{USER_CPU}}", number) for number in numbers)) == [
        f'workflows/w.yaml:2:30 resource-validation: no: for the task "t", 2 must be {words}{number} ({HINT})'
        for number in numbers
        if number not in held.split()
    ]


EQUAL = (
    *(("4Gi", other) for other in ("4GiB", "4096Mi", "4194304Ki", "4194304K", "4194304", "4294967296B", "4194304000m")),
    *(("1000k", "1M"), ("1000M", "1G"), ("1000G", "1T"), ("1000T", "1P"), ("1000P", "1E"), ("1024k", "1000Ki")),
    *(("1024Ki", "1Mi"), ("1024Mi", "1Gi"), ("1024Gi", "1Ti"), ("1024Ti", "1Pi"), ("1024Pi", "1Ei")),
    *(("1Ki", "1KiB"), ("1Mi", "1MiB"), ("1Gi", "1GiB"), ("1Ti", "1TiB"), ("1Pi", "1PiB"), ("1Ei", "1EiB")),
)
"""Amounts that are the same in OSMO, which counts those without a unit in KiB."""


def test_units() -> None:
    assert lab(*(rule("EQ", left, right) for left, right in EQUAL)) == []
    assert len(lab(*(rule("LT", left, right) for left, right in EQUAL))) == len(EQUAL)


def test_where_a_validation_fails() -> None:
    found = lab(
        rule("LE", "{{USER_GPU}}", "0"),
        rule("LE", "{{USER_CPU}}", "0"),
        rule("LE", "{{USER_MEMORY}}", "1Gi", "{{USER_MEMORY}} is too much"),
        rule("LE", "{{USER_MEMORY}}", "2Gi", "{{USER_NOBODY}} is too much"),
        rule("EQ", "{{USER_STORAGE}}", "a lot"),
        rule("EQ", "a", "b"),
        rule("GT", "{{USER_STORAGE}}", "a lot"),
    )
    assert found == [
        'pools/v.yaml:4:594 pod-template-token: GT cannot compare "8Gi" with "a lot": one is an amount, the other text '
        "(Compare two amounts, or two texts.)",
        *(
            f'workflows/w.yaml:2:{column} resource-validation: {what}: for the task "t", {asked} ({HINT})'
            for column, what, asked in (
                (13, "no", "a must be b"),
                (22, "no", "1 must be at most 0"),
                (30, "no", "2 must be at most 0"),
                (41, "4Gi is too much", "4Gi must be at most 1Gi"),
                (41, "{{USER_NOBODY}} is too much", "4Gi must be at most 2Gi"),
                (55, "no", "8Gi must be a lot"),
            )
        ),
    ]
