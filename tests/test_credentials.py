"""Tests which texts are secrets, and that lines are shown without them."""

from __future__ import annotations

import pytest

from kubectl_tas.base.credentials import hidden, hidden_lines, kind_of, shape_of
from kubectl_tas.base.diagnostics import Diagnostic, Location, Rule, Severity

AWS = "AKIA" + "Q" * 16
KEY = "-----BEGIN RSA PRIVATE KEY-----"


NAMES = (
    *("PASSWORD", "PASSWD", "PASSPHRASE", "PRIVATE_KEY", "SECRET_KEY", "SECRET_ACCESS_KEY", "API_KEY", "APIKEY"),
    *("API_TOKEN", "ACCESS_TOKEN", "AUTH_TOKEN", "SESSION_TOKEN", "BEARER_TOKEN", "REFRESH_TOKEN", "CLIENT_SECRET"),
    *("WEBHOOK_SECRET", "HF_TOKEN", "HUGGINGFACE_TOKEN", "GITHUB_TOKEN", "GH_TOKEN", "GITLAB_TOKEN", "SLACK_TOKEN"),
    *("WANDB_TOKEN", "NPM_TOKEN", "PYPI_TOKEN", "VAULT_TOKEN", "JUPYTER_TOKEN", "CI_JOB_TOKEN", "NGC_TOKEN"),
)
HARMLESS = (
    *("/run/secrets", "./secrets", "~/secrets", "https://vault/a", "99999999", "xxxxxxxx", "********", "CHANGE-ME-NOW"),
    *("an-example", "placeholder", "my-dummy-one", "redacted-one", "replace-this", "your-password", "TO-DO-LATER"),
    *("<password>", "$(PASSWORD)", "$PASSWORD", "{{password}}", "%(password)s", "two words"),
)


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
        ("DB_PASSWORD", "hunter22", "a secret"),
        ("DB_PASSWORD", "hunter2", ""),
        *((name, "hunter2hunter2", "a secret") for name in NAMES),
        *((f"x_{name}", "hunter2hunter2", "a secret") for name in NAMES),
        *((f"{name}_FILE", "hunter2hunter2", "") for name in NAMES),
        *(("DB_PASSWORD", value, "") for value in HARMLESS),
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
        ("ASIA" + "Q" * 16, "an access key of AWS"),
        ("hf_" + "q" * 30, "a token of Hugging Face"),
        ("hf_" + "q" * 29, ""),
        *((f"{start}_" + "q" * 36, "a token of GitHub") for start in ("ghp", "gho", "ghr", "ghs", "ghu")),
        ("ghp_" + "q" * 35, ""),
        ("github_pat_" + "q" * 50, "a token of GitHub"),
        *((f"{start}-" + "q" * 20, "a token of GitLab") for start in ("glpat", "gldt", "glrt")),
        ("sk-" + "q" * 40, "an API key of a model's provider"),
        ("sk-" + "q" * 39, ""),
        *((f"sk-{who}-" + "q" * 32, "an API key of a model's provider") for who in ("admin", "ant", "proj", "svcacct")),
        ("nvapi-" + "q" * 40, "an API key of NVIDIA"),
        *((f"xox{kind}-" + "q" * 20, "a token of Slack") for kind in "abprs"),
        ("AIza" + "q" * 35, "an API key of Google"),
        ("-----BEGIN PGP PRIVATE KEY BLOCK-----", "a private key"),
        ("-----BEGIN PRIVATE KEY-----", "a private key"),
        ("-----BEGIN PUBLIC KEY-----", ""),
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
        ("DB_PASSWORD=hunter2hunter2 x", "DB_PASSWORD=************** x"),
        ("{DB_PASSWORD: 'hunter2,hunter2'}", "{DB_PASSWORD: '***************'}"),
        ('{name: DB_PASSWORD, value: "hunter2,hunter2"}', '{name: DB_PASSWORD, value: "***************"}'),
        ("{'name': 'DB_PASSWORD', 'value': 'hunter2hunter2'}", "{'name': 'DB_PASSWORD', 'value': '**************'}"),
        ('"DB_PASSWORD": ""', '"DB_PASSWORD": ""'),
        ("DB_USER=hunter2hunter2", "DB_USER=hunter2hunter2"),
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


SECRETS = (
    *("ASIA" + "Q" * 16, AWS, "hf_" + "q" * 30, "github_pat_" + "q" * 50, "sk-" + "q" * 40, "nvapi-" + "q" * 40),
    *(f"{start}_" + "q" * 36 for start in ("ghp", "gho", "ghr", "ghs", "ghu")),
    *(f"{start}-" + "q" * 20 for start in ("glpat", "gldt", "glrt", "xoxb")),
    "AIza" + "q" * 35,
)


@pytest.mark.parametrize(
    ("line", "secret"),
    [
        *((f"- {secret}", secret) for secret in SECRETS),
        *((f"{spelled}: hunter2hunter2", "hunter2hunter2") for name in NAMES for spelled in (name, name.lower())),
        *((f"{name.lower().replace('_', '-')}: hunter2hunter2", "hunter2hunter2") for name in NAMES),
    ],
)
def test_no_finding_shows_a_secret(line: str, secret: str) -> None:
    place = Location("a.yaml", 1, 1, source=line)
    found = Diagnostic(Rule("x", Severity.ERROR, "", ""), f"odd {line}", place, hint=f"Drop {line}")
    assert found.location is not None
    shown = line.replace(secret, "*" * len(secret))
    assert (found.message, found.hint, found.location.source) == (f"odd {shown}", f"Drop {shown}", shown)
