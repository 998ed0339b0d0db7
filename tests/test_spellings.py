"""Tests the spelling of texts against Kubernetes' own validation."""

from __future__ import annotations

import pytest

from kubectl_tas.facts import spellings

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
    "domain_path": ("kueue.x-k8s.io/multikueue", "x" * 60 + "/~a"),
    "label": ("a", "data-1", "x" * 63),
    "variable": ("A", "LOG_LEVEL", "a.b-c", " !<>~"),
    "variable_prefix": ("", "APP_", "~"),
    "header": ("X-Health", "a1"),
    "sysctl": ("a", "net.core.somaxconn", "net/ipv4/a_b-c", "x" * 253),
    "some": ("a", " \n"),
    "absolute": ("/", "/a\nb"),
    "node_path": ("/a", "a/..b"),
    "port_name": ("", "http", "a-1", "1-a", "x" * 15),
    "cluster_ip_refused": ("", "None", "10.0.0.1", "2001:db8::1"),
    "address_refused": ("10.0.0.1", "010.0.0.1", "::", "2001:db8::1"),
    "external_ip_refused": ("10.0.0.1", "224.0.1.1", "ff05::1", "2001:db8::1"),
    "range_refused": ("10.0.0.0/8", "10.1.2.3/8", "2001:db8::/64"),
    "source_refused": (" 10.0.0.0/8 ",),
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
    "domain_path": ("kueue", "a b/c", "/a", "x" * 62 + "/a"),
    "label": ("", "A", "a.b", "-a", "a-", "x" * 64),
    "variable": ("", "A=1", "Ä", "a\n"),
    "variable_prefix": ("A=", "Ä"),
    "header": ("", "X_Health", "a:"),
    "sysctl": ("", "net..core", "A", "x" * 254),
    "some": ("",),
    "absolute": ("", "a/b"),
    "node_path": ("", "/a/../b"),
    "port_name": ("A", "8080", "a--b", "-a", "x" * 16),
    "cluster_ip_refused": ("none", "10.0.0", "10.0.0.0/8"),
    "address_refused": ("", "10.0.0", "10.0.0.256", "fe80::1%eth0", "10.0.0.0/8"),
    "external_ip_refused": ("a", "0.0.0.0", "::", "127.0.0.1", "::1", "169.254.1.1", "fe80::1", "224.0.0.1", "ff02::1"),
    "range_refused": ("", "10.0.0.1", "::1", "10.0.0.0/33", "fe80::1%eth0/64"),
    "source_refused": (" 10.0.0.1",),
}


@pytest.mark.parametrize("name", TAKEN)
def test_of_each(name: str) -> None:
    refused = getattr(spellings, name)
    assert [text for text in TAKEN[name] if refused(text) is not None] == []
    assert [text for text in REFUSED[name] if refused(text) is None] == []


OBJECT = (
    "must be lower-case letters, digits, '-' and '.', a letter or digit first and last",
    "Write the name of an object, such as trainer-1.",
)
ADDRESS = "must be an IP address", "Write one such as 10.0.0.1 or 2001:db8::1."
RANGE = "must be a range of IP addresses such as 10.0.0.0/8"
REACHED = "Write an address that others can reach."
PORT_NAME = (
    "must be at most 15 lower-case letters, digits and single '-', with a letter among them",
    "Write a short one such as http.",
)
OCTAL = "must be from 0 to 511, which is 777 in octal digits"
REFUSALS: tuple[tuple[str, str | int, tuple[str, str]], ...] = (
    (
        "label",
        "A",
        (
            "must be at most 63 lower-case letters, digits and '-', a letter or digit first and last",
            "Write it like data-1.",
        ),
    ),
    ("subdomain", "A", OBJECT),
    ("search_domain", "A", ("must be a domain in lower-case letters", "Write one domain, such as svc.cluster.local.")),
    (
        "label_key",
        "a b",
        (
            "must be the key of a label: letters, digits, '-', '_' and '.', perhaps behind a domain and '/'",
            "Write one such as example.com/zone.",
        ),
    ),
    (
        "label_value",
        "a b",
        (
            "must be the value of a label: at most 63 letters, digits, '-', '_' and '.', "
            "a letter or digit at both ends",
            "Write '-' or '_' in place of other characters.",
        ),
    ),
    ("domain_path", "a", ("must be a name behind a domain", "Write one such as kueue.x-k8s.io/multikueue.")),
    (
        "config_key",
        "a b",
        (
            "must be a key of a ConfigMap or Secret: letters, digits, '-', '_' and '.'",
            "Write the key as the object has it.",
        ),
    ),
    (
        "variable",
        "A=",
        ("must be the name of a variable: printable ASCII without '='", "Write one such as LOG_LEVEL."),
    ),
    (
        "variable_prefix",
        "A=",
        ("must be printable ASCII without '='", "Write the beginning of variables' names, such as APP_."),
    ),
    ("header", "a:", ("must be the name of an HTTP header", "Write one such as X-Health.")),
    ("sysctl", "A", ("must be the name of a sysctl", "Write one such as net.core.somaxconn.")),
    ("some", "", ("must not be empty", "Write one.")),
    ("absolute", "a", ("must be an absolute path", "Begin it with '/'.")),
    ("medium", "Disk", ("must be Memory, HugePages or empty", "Write Memory, or leave it out.")),
    ("image", "", ("must not be empty", "Write one.")),
    ("image", " a", ("must have no blanks around it", "Write a.")),
    (
        "image",
        "Trainer",
        (
            "must be an image that a kubelet can pull: NAME:TAG or NAME@DIGEST, its name in lower-case letters",
            "Write an image such as busybox:1.37.",
        ),
    ),
    ("port", 0, ("must be from 1 to 65535", "Write a port of the container.")),
    ("port", "80", ("must be a number, or a name with a letter in it", "Write it without quotes: 80.")),
    ("port", "A", PORT_NAME),
    ("port_name", "A", PORT_NAME),
    ("number_or_text", 2**31, ("must be at most 2147483647", "Use 2147483647 or less.")),
    ("number_or_text", -(2**31) - 1, ("must be at least -2147483648", "Use -2147483648 or more.")),
    ("share", -1, ("must be at least 0", "Use 0 or more.")),
    ("share", "1", ("must be a number, or a share such as 25%", "Write it without quotes: 1.")),
    ("share", "a%", ("must be a number, or a share such as 25%", "Write a number such as 1, or a share: 25%.")),
    ("share_of_all", "101%", ("must be at most 100%", "Write 100% or less.")),
    ("local_path", "../a", ("must not begin with '..' or hold it", "Write the path without.")),
    ("node_path", "/a/..", ("must not hold '..'", "Write the path without.")),
    ("node_path", "", ("must not be empty", "Write one.")),
    ("mode", 512, (OCTAL, "Write 330, which is 512 in octal digits.")),
    ("mode", 1000, (OCTAL, "Write a number from 0 to 511.")),
    ("address_refused", "a", ADDRESS),
    ("cluster_ip_refused", "none", ("must be an IP address or None", "Write None.")),
    ("cluster_ip_refused", "a", ADDRESS),
    ("external_ip_refused", "a", ADDRESS),
    ("external_ip_refused", "0.0.0.0", ("must not be an unspecified address", REACHED)),
    ("external_ip_refused", "127.0.0.1", ("must not be a loopback address", REACHED)),
    ("external_ip_refused", "169.254.1.1", ("must not be a link-local address", REACHED)),
    ("range_refused", "a", (RANGE, "")),
    (
        "range_refused",
        "10.0.0.0",
        (RANGE, "Add a prefix: 10.0.0.0/32 is this address alone, 10.0.0.0/8 is a network."),
    ),
    ("range_refused", "fe80::", (RANGE, "Add a prefix: fe80::/128 is this address alone, fe80::/64 is a network.")),
)
"""A kind of text, one that is refused, the rule and the advice."""


@pytest.mark.parametrize(("name", "value", "refusal"), REFUSALS)
def test_what_is_said_of_each(name: str, value: str | int, refusal: tuple[str, str]) -> None:
    assert getattr(spellings, name)(value) == refusal


def test_every_kind_of_text_is_said() -> None:
    assert {name for name, _, _ in REFUSALS} >= TAKEN.keys() - {"file_path", "source_refused"}


@pytest.mark.parametrize(
    ("text", "advice"),
    [
        ("https://example.com/a:1", "Write example.com/a:1."),
        ("docker://a:1", "Write a:1."),
        (" a:1", "Write a:1."),
        ("a:", "Write a."),
        ("nvcr.io/nvidia/PyTorch:25.10-PY3", "Write nvcr.io/nvidia/pytorch:25.10-PY3."),
        ("example.com/a: 7", "Write example.com/a:7."),
        ("My image:7", "Write an image such as busybox:1.37."),
        ("Trainer", "Write an image such as busybox:1.37."),
    ],
)
def test_images_that_are_meant(text: str, advice: str) -> None:
    refusal = spellings.image(text)
    assert refusal is not None
    assert refusal[1] == advice
    assert advice.startswith("Write an") or spellings.image(advice.removeprefix("Write ").removesuffix(".")) is None


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
