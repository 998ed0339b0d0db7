"""Tests which texts are secrets, and that lines are shown without them."""

from __future__ import annotations

import pytest

from kubectl_tas.credentials import hidden, hidden_lines, kind_of, shape_of

AWS = "AKIA" + "Q" * 16
KEY = "-----BEGIN RSA PRIVATE KEY-----"


@pytest.mark.parametrize(
    ("name", "value", "kind"),
    [
        ("DB_PASSWORD", "hunter2hunter2", "a secret"),
        ("db.api-key", "hunter2hunter2", "a secret"),
        ("DB_USER", "hunter2hunter2", ""),
        (3, "hunter2hunter2", ""),
        ("DB_PASSWORD", "short", ""),
        ("DB_PASSWORD", "${PASSWORD}", ""),
        ("DB_PASSWORD", 12345678, ""),
        ("DB_USER", AWS, "an access key of AWS"),
    ],
)
def test_a_secret_is_known_by_its_shape_or_its_name(name: object, value: object, kind: str) -> None:
    assert kind_of(name, value) == kind


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        (AWS, "an access key of AWS"),
        ("AKIAIOSFODNN7EXAMPLE", ""),
        (f"AKIAIOSFODNN7EXAMPLE {AWS}", "an access key of AWS"),
        (KEY, "a private key"),
        ("AKIA", ""),
        ("plain", ""),
        (None, ""),
        ([AWS], ""),
    ],
)
def test_a_shape_is_known_in_text_alone(text: object, kind: str) -> None:
    assert shape_of(text) == kind


@pytest.mark.parametrize(
    ("line", "shown"),
    [
        (f"a {AWS} b", f"a {'*' * 20} b"),
        ("a AKIAIOSFODNN7EXAMPLE b", "a AKIAIOSFODNN7EXAMPLE b"),
        (KEY, KEY),
    ],
)
def test_examples_and_the_first_line_of_a_key_are_shown(line: str, shown: str) -> None:
    assert hidden(line) == shown


def test_a_key_and_a_value_below_its_name_are_hidden_over_lines() -> None:
    body = "MIIEpAIBAAKCAQEA" * 4
    lines = [
        "- name: DB_PASSWORD",
        "  value: hunter2hunter2",
        "- name: DB_USER",
        "  value: hunter2hunter2",
        "  value: hunter2hunter2",
        "- name: DB_PASSWORD",
        "  valueFrom: {}",
        "  value: hunter2hunter2",
        f"key: {KEY}",
        f"  {body}",
        "  -----END RSA PRIVATE KEY-----",
        f"  {body}",
        "-----BEGIN CERTIFICATE-----",
        f"  {body}",
    ]
    shown = list(lines)
    shown[1] = f"  value: {'*' * 14}"
    shown[9] = f"  {'*' * 64}"
    assert list(hidden_lines(lines)) == shown
