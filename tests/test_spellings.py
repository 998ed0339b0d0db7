"""Tests the spelling of texts against Kubernetes' own validation."""

from __future__ import annotations

import pytest

from kubectl_tas import spellings

TAKEN = {
    "image": (
        "busybox",
        "busybox:1.37",
        "a/b_c/d-e.f",
        "A/b:1",
        "localhost:5000/a",
        "[2001:db8::1]:5000/a",
        "ghcr.io/team/trainer:v1@sha256:" + "0" * 64,
    ),
    "label_key": ("a", "example.com/a", "A_b.c-d", "x" * 63),
    "label_value": ("", "a", "A_b.c", "x" * 63),
    "subdomain": ("a", "a.b-c", "x" * 253),
    "config_key": ("a", "A_b-c.d"),
    "search_domain": (".", "svc.cluster.local.", "_a.b", "a_b.c"),
    "local_path": ("a", "a/b", "a..b", ""),
    "port": (80, "http"),
    "number_or_text": (2**31 - 1, -(2**31), "99999999999", ""),
    "share": (0, 3, 2**31 - 1, "25%", "150%"),
    "share_of_all": (0, "100%"),
    "mode": (0, 420, 511),
    "file_path": ("a", "a/b"),
    "medium": ("", "Memory", "HugePages", "HugePages-2Mi"),
    "domain_path": ("kueue.x-k8s.io/multikueue",),
}
REFUSED = {
    "image": ("", " a", "a:", "a:1:2", "a b", "https://a/b", "a/Team", "a@sha256:12", "a:-1"),
    "label_key": ("", "a b", "/a", "a/", "-a", "x" * 64, "A.com/a", "x" * 254 + "/a"),
    "label_value": ("a b", "-a", "x" * 64, "a/b"),
    "subdomain": ("", "A", "a b", "a..b", "-a", "x" * 254, "a\n"),
    "config_key": ("", ".", "..", "..a", "a b", "a/b"),
    "search_domain": ("", "a b", "A", "-a"),
    "local_path": ("/a", "..", "a/../b", "..a"),
    "port": (0, 65536, "80", "", "a b", "x" * 16),
    "number_or_text": (2**31, -(2**31) - 1),
    "share": (-1, 2**31, "1", "a%", "-1%", ""),
    "share_of_all": ("101%", -1, 2**31),
    "mode": (-1, 512, 644, 777),
    "file_path": ("", "/a", "../a"),
    "medium": ("memory", "Disk"),
    "domain_path": ("kueue", "a b/c", "/a"),
}


@pytest.mark.parametrize("name", TAKEN)
def test_of_each(name: str) -> None:
    refused = getattr(spellings, name)
    assert [text for text in TAKEN[name] if refused(text) is not None] == []
    assert [text for text in REFUSED[name] if refused(text) is None] == []


@pytest.mark.parametrize(
    ("text", "advice"),
    [
        ("https://example.com/a:1", "Write example.com/a:1."),
        (" a:1", "Write a:1."),
        ("a:", "Write a."),
        ("Trainer", "Write an image such as busybox:1.37."),
    ],
)
def test_images_that_are_meant(text: str, advice: str) -> None:
    refusal = spellings.image(text)
    assert refusal is not None
    assert refusal[1] == advice
    assert advice.startswith("Write an") or spellings.image(advice.removeprefix("Write ").removesuffix(".")) is None


def test_a_share_below_zero_is_told_the_least() -> None:
    assert spellings.share(-1) == ("must be at least 0", "Use 0 or more.")


@pytest.mark.parametrize(
    ("text", "advice"), [("/a/b", "Write a/b without '/' before it."), ("//", "Write a path without '/' before it.")]
)
def test_a_path_in_a_volume_begins_with_no_slash(text: str, advice: str) -> None:
    assert spellings.local_path(text) == ("must be a relative path", advice)


@pytest.mark.parametrize(
    ("text", "is_known"),
    [
        ("10.0.0.0/8", True),
        ("10.1.2.3/8", True),
        ("fe80::/10", True),
        ("fe80::1%eth0/64", False),
        ("10.0.0.0", False),
        ("10.0.0.0/255.0.0.0", False),
    ],
)
def test_a_network_has_a_prefix_and_no_zone(text: str, is_known: bool) -> None:
    assert (spellings.network(text) is not None) is is_known
