"""Tests that a Kubernetes List is read, rendered and edited as its items."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from kubectl_tas.load.document import Document, parse
from kubectl_tas.load.schema import items_of
from kubectl_tas.load.splice import sent_elsewhere
from tests.support.cli import kubectl_tas, pool, write

JOB = {
    "apiVersion": "batch/v1",
    "kind": "Job",
    "metadata": {"name": "a", "labels": {"kubectl-tas/pool": "team"}},
    "spec": {"template": {"spec": {"restartPolicy": "Never", "containers": [{"name": "main", "image": "busybox"}]}}},
}
LIST = """\
# all of them
apiVersion: v1
kind: List
items:
# the first
- kind: A
  text: |
    # kept

    end
# the second
-   kind: B   # far to the right
    of:
    - c
- {kind: C}
- apiVersion: v1
  kind: List
  items:
  # the last
  - kind: D
"""


def items(text: str) -> list[Document]:
    """The items of the one document of a text, which has nothing wrong."""
    (document,), problems = parse("l.yaml", text)
    assert problems == ()
    found = list(items_of(document))
    assert all(isinstance(item, Document) for item in found)
    return [item for item in found if isinstance(item, Document)]


def test_items_know_where_they_stand() -> None:
    found = items(LIST)
    assert [item.data["kind"] for item in found] == ["A", "B", "C", "D"]
    assert [item.within for item in found] == [
        ("items", 0),
        ("items", 1),
        ("items", 2),
        ("items", 3, "items", 0),
    ]
    assert [str(item.locate(("kind",))) for item in found] == [
        "l.yaml:6:9",
        "l.yaml:12:11",
        "l.yaml:15:10",
        "l.yaml:20:11",
    ]


def test_items_have_texts_of_their_own() -> None:
    assert [item.text for item in items(LIST)] == [
        "# the first\nkind: A\ntext: |\n  # kept\n\n  end\n",
        "# the second\nkind: B   # far to the right\nof:\n- c\n",
        "{kind: C}\n",
        "# the last\nkind: D\n",
    ]


def test_a_comment_belongs_to_one_item() -> None:
    """To the one whose keys it is as far in as, else to the next."""
    head = "apiVersion: v1\nkind: List\nitems:\n"
    assert [item.text for item in items(f"{head}- kind: A\n\n  # of A\n# of B\n- kind: B\n  # of B, too\n")] == [
        "kind: A\n\n# of A\n",
        "# of B\nkind: B\n# of B, too\n",
    ]


def test_items_in_one_line() -> None:
    text = '{"apiVersion": "v1", "kind": "List", "items": [{"kind": "A"}, {"kind": "B"}]}'
    assert [item.text for item in items(text)] == ['{"kind": "A"}\n', '{"kind": "B"}\n']


@pytest.mark.parametrize("items_", ["[]", ""])
def test_an_empty_list_is_nothing(items_: str) -> None:
    assert items(f"apiVersion: v1\nkind: List\nitems: {items_}\n") == []


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("apiVersion: v1\nkind: List\n", ['the field "items" is missing']),
        ("apiVersion: v1\nkind: List\nitms: []\n", ['unknown field "itms"', 'unknown field "itms"']),
        ("apiVersion: v1\nkind: List\nitems: []\nitms: []  # no Karta\n", ['unknown field "itms"']),
        ("- Karta\n", ["this document is a list, not a mapping"]),
        ("apiVersion: v1\nkind: List\nitems: {}\n", ["items must be a list, not a mapping"]),
        ("apiVersion: v1\nkind: List\nitems: [1]\n", ["this document is a single value, not a mapping"]),
        ("apiVersion: v2\nkind: List\nitems: []\n", ['the kind "List" of v2 is not read']),
    ],
)
def test_what_is_wrong_with_a_list(repository: Path, text: str, expected: list[str]) -> None:
    write(repository, {"workflows/l.yaml": text})
    out = kubectl_tas("validate", "-C", repository).out
    found = [line.partition("error: ")[2] for line in out.splitlines() if "error: " in line]
    assert [message.rpartition(" [")[0] for message in found] == list(dict.fromkeys(expected))


def test_what_is_wrong_with_a_list_beside_the_config(repository: Path) -> None:
    config = "apiVersion: tas/v1alpha1\nkind: Config\nspec: {}\n"
    write(repository, {"tas.yaml": f"apiVersion: v1\nkind: List\nitems: []\nitms: []\n---\n- a\n---\n{config}"})
    out = kubectl_tas("validate", "-C", repository).out
    assert 'tas.yaml:4:1: error: unknown field "itms"' in out
    assert "tas.yaml:6:1: error: this document is a list, not a mapping" in out


def test_json_lists_are_rendered(repository: Path) -> None:
    inner = {"apiVersion": "v1", "kind": "List", "items": [JOB]}
    write(repository, {"pools/p.yaml": pool(), "workflows/l.json": json.dumps({**inner, "items": [inner]})})
    assert kubectl_tas("render", "-C", repository).code == 0
    assert "parallelism" not in (repository / "manifests/workloads/job-a.yaml").read_text()


def test_a_subpool_within_a_list_is_edited_in_place(repository: Path) -> None:
    before = """\
apiVersion: v1
kind: List
items:
- apiVersion: tas/v1alpha1
  kind: Pool
  metadata: {name: team}
  spec: {resources: {gpu: {guarantee: 16}}}
- apiVersion: tas/v1alpha1
  kind: Subpool
  metadata: {name: a}   # the first
  spec: {parent: team, quota: 3}
"""
    write(repository, {"pools/all.yaml": before})
    assert kubectl_tas("subpool", "update", "team", "a", "--quota", "5", "-C", repository).code == 0
    assert (repository / "pools/all.yaml").read_text() == before.replace("quota: 3", "quota: 5")


def test_work_within_a_list_is_sent_elsewhere() -> None:
    text = json.dumps({"apiVersion": "v1", "kind": "List", "items": [JOB]}, indent=1)
    moved = json.loads(sent_elsewhere("l.json", text.encode(), "other", "LOW"))
    assert moved["items"][0]["metadata"]["labels"] == {"kubectl-tas/pool": "other", "kubectl-tas/priority": "LOW"}
