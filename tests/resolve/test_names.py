"""Tests that names are unique, valid and within their limits, and that a cut name keeps a hash of all of it."""

from __future__ import annotations

import hashlib

import pytest

from kubectl_tas.resolve import names
from kubectl_tas.resolve.names import digest, distinct


def test_a_hashed_name_is_nobodys_own_label() -> None:
    hashed = f"a-{digest('x/second')}"
    given = distinct([("x/first", "a"), ("x/second", "a"), ("x/third", hashed)])
    assert (given[0], given[2]) == ("a", hashed)
    assert len(set(given)) == 3


def test_a_label_is_of_the_identity_that_equals_it() -> None:
    assert distinct([("a/b", "b"), ("b", "b")]) == (f"b-{digest('a/b')}", "b")
    assert distinct([("a/b", "b"), ("c/b", "b")]) == ("b", f"b-{digest('c/b')}")


def test_an_identity_that_is_there_twice_has_two_names() -> None:
    given = distinct([("a", "a"), ("a", "a"), ("a", "a")])
    assert given == ("a", f"a-{digest('a')}", f"a-{digest('a1')}")


def test_a_digest_is_the_beginning_of_a_sha256() -> None:
    assert digest("a") == hashlib.sha256(b"a").hexdigest()[:8]


LONG, LONGER = "a" * 63, "a" * 64
CUT = f"{'a' * 54}-{digest(LONGER)}"


@pytest.mark.parametrize(
    ("name", "is_label", "is_object_name", "is_service_name"),
    [
        ("a", True, True, True),
        ("1", True, True, False),
        ("a-1", True, True, True),
        ("a-", False, False, False),
        ("-a", False, False, False),
        ("A", False, False, False),
        ("a_b", False, False, False),
        ("", False, False, False),
        ("a.b", False, True, False),
        ("a..b", False, False, False),
        (LONG, True, True, True),
        (LONGER, True, True, False),
        ("a" * 253, True, True, False),
        ("a" * 254, True, False, False),
    ],
)
def test_what_kubernetes_allows(name: str, *, is_label: bool, is_object_name: bool, is_service_name: bool) -> None:
    assert names.is_label(name) is is_label
    assert names.is_object_name(name) is is_object_name
    assert names.is_service_name(name) is is_service_name


@pytest.mark.parametrize(
    ("text", "label"),
    [
        ("worker", "worker"),
        (LONG, LONG),
        (LONGER, CUT),
        ("Worker", f"worker-{digest('Worker')}"),
        ("_a._b_", f"a-b-{digest('_a._b_')}"),
        ("__", f"x-{digest('__')}"),
        ("", f"x-{digest('')}"),
        ("A" * 70, f"{'a' * 54}-{digest('A' * 70)}"),
        (f"A{'a' * 52}_b", f"{'a' * 53}-{digest(f'A{chr(97) * 52}_b')}"),
    ],
)
def test_labels_of_any_text(text: str, label: str) -> None:
    assert names.as_label(text) == label
    assert len(label) <= 63


def test_names_are_cut_at_their_limits() -> None:
    assert names.shorten(LONG) == LONG
    assert names.shorten(LONGER) == CUT
    assert names.shorten(f"{'a' * 53}-{'b' * 20}") == f"{'a' * 53}-{digest(f'{chr(97) * 53}-{chr(98) * 20}')}"
    assert names.shorten("b" * 20, 12) == f"bbb-{digest('b' * 20)}"
    assert names.file("a" * 250) == f"{'a' * 250}.yaml"
    assert names.file("a" * 251) == f"{'a' * 241}-{digest('a' * 251)}.yaml"


def test_the_longest_parts_of_a_name_are_cut() -> None:
    assert names.label_of_parts(("a", "b"), "end") == "a-b-end"
    assert names.label_of_parts(("a" * 60, "bb"), "end") == f"{'a' * 56}-bb-end"
    assert names.label_of_parts(("a" * 60, "b" * 60), "end") == f"{'a' * 29}-{'b' * 29}-end"
    assert names.label_of_parts(("a" * 60, "b" * 20), "end") == f"{'a' * 38}-{'b' * 20}-end"
    assert names.label_of_parts((f"{'a' * 28}-{'c' * 60}", "b" * 60), "end") == f"{'a' * 28}-{'b' * 29}-end"


def test_names_of_queues_and_topologies() -> None:
    where = ("osmo", "ml", "team")
    assert names.root_queue("osmo", "ml") == "osmo-default-ml"
    assert names.pool_queue(*where) == "osmo-pool-ml-team"
    assert names.leaf_queue(*where, "a") == "osmo-pool-ml-team--a"
    assert names.leaf_queue(*where, names.SHARED) == "osmo-pool-ml-team--shared"
    assert names.pool_topology(*where) == "osmo-pool-ml-team-topology"


def test_names_of_gangs() -> None:
    assert names.pod_group("train", "g", "x") == f"train-g-{digest('x')}"
    assert names.pod("train-g-0", "train", "g", "t") == "train-g-0-t"
    long = f"{LONG}-t"
    assert names.pod(LONG, "w", "g", "t") == f"w-g-t-{digest(long)}"
    assert names.pod("a" * 61, "w", "g", "t") == f"{'a' * 61}-t"
    assert names.service("train") == "train"
    assert names.service("1train") == "x-1train"
    assert names.service(f"1{'a' * 62}") == names.shorten(f"x-1{'a' * 62}")
    assert names.owned_pod_group("Big_One", "a", "b") == f"big-one-{digest('a/b')}"
    assert names.owned_pod_group("__", "a") == f"x-{digest('a')}"
    assert names.owned_pod_group("a" * 80, "a") == f"{'a' * 54}-{digest('a')}"


def test_names_that_grove_gives() -> None:
    assert names.base_gang("chat", 1) == "chat-1"
    assert names.scaled_gang("chat", 1, "sg", 2) == "chat-1-sg-2"
    assert names.scaled_gang("chat", 1, "sg", 2) == "chat-1-sg-2"
    assert names.pod_clique("chat-1", "server") == "chat-1-server"


def test_names_of_workflows_are_folded_as_in_osmo() -> None:
    assert names.fold("My_Run-A") == "my-run-a"
