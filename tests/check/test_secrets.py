"""Tests that secrets in clear text are found by name and by shape, and never printed, without false findings."""

from __future__ import annotations

from pathlib import Path

import pytest

from kubectl_tas.base.credentials import kind_of, shape_of
from kubectl_tas.check.judging import counted_and_waived
from tests.check.test_backdoors import JOB, put, validated
from tests.support.cli import kubectl_tas, pool, write
from tests.support.effort import in_a_minute
from tests.support.fleets import judged_files

BODY = "notARealKey0123456789abcdefghijklmnopqrstuvwx"
SHAPES = {
    "AKIA" + "NOTAREALKEY01234": "AWS",
    "hf_" + BODY[:34]: "Hugging Face",
    "ghp_" + BODY[:36]: "GitHub",
    "github_pat_" + (BODY * 2)[:60]: "GitHub",
    "glpat-" + BODY[:20]: "GitLab",
    "sk-" + (BODY * 2)[:48]: "model",
    "sk-ant-" + (BODY * 2)[:48]: "model",
    "nvapi-" + (BODY * 2)[:64]: "NVIDIA",
    "-----BEGIN RSA PRIVATE KEY-----\nnot a real key": "private key",
    "-----BEGIN PRIVATE KEY-----": "private key",
}


@pytest.mark.parametrize("secret", SHAPES)
def test_shapes(secret: str) -> None:
    assert SHAPES[secret] in shape_of(secret)
    assert SHAPES[secret] in shape_of(f"curl -H 'Authorization: Bearer {secret}' https://example.com")
    assert SHAPES[secret] in kind_of("ANY", secret)


@pytest.mark.parametrize(
    "name",
    ["AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "HF_TOKEN", "WANDB_API_KEY", "OPENAI_API_KEY", "DB_PASSWORD",
     "PASSWORD", "db.password", "SLACK_TOKEN", "OAUTH_CLIENT_SECRET", "TLS_PRIVATE_KEY", "MINIO_SECRET_KEY", "apikey"],
)  # fmt: skip
def test_names(name: str) -> None:
    assert kind_of(name, "correct-horse-battery") == "a secret"


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("HF_TOKEN", "$(HUB_TOKEN)"), ("HF_TOKEN", "${HUB_TOKEN}"), ("HF_TOKEN", "{{hub_token}}"), ("HF_TOKEN", ""),
        ("HF_TOKEN", None), ("HF_TOKEN", "changeme"), ("HF_TOKEN", "<your token>"), ("HF_TOKEN", "your-token-here"),
        ("HF_TOKEN", "xxxxxxxxxxxx"), ("HF_TOKEN", "/var/run/secrets/hf"), ("HF_TOKEN", "placeholder"),
        ("HF_TOKEN_PATH", "somewhere-else"), ("HF_TOKEN_FILE", "token-of-the-hub"), ("SECRET_NAME", "team-credentials"),
        ("AWS_SECRET_NAME", "team-credentials"), ("MAX_TOKENS", "104857600"), ("PAD_TOKEN", "<pad_token>"),
        ("EOS_TOKEN", "end-of-text"), ("TOKENIZERS_PARALLELISM", "disabled"), ("PUBLIC_KEY", "ssh-ed25519 AAAAC3NzaC1"),
        ("SSH_AUTHORIZED", "-----BEGIN PUBLIC KEY-----"), ("CERT", "-----BEGIN CERTIFICATE-----"),
        ("AWS_ACCESS_KEY_ID", "AKIAIOSFODNN7EXAMPLE"), ("API_KEY", "https://vault.acme.io/key"),
        ("RUN", "our-sk-learn-of-many-words-that-go-on-and-on-and-on"),
        ("RUN", "hf_model_with_a_long_name_in_it_of_many_words"), ("CACHE_KEY", "train-2026-11-22-abcdef"),
        ("NAME", "ghp_short"), ("TASK", "task-disk-risk-sk-mask"), ("PARTITION_KEY", "user_id_and_more"),
    ],
)  # fmt: skip
def test_what_is_no_secret(name: str, value: str | None) -> None:
    assert kind_of(name, value) == ""


@pytest.mark.parametrize("form", ["text", "json", "github", "gitlab", "junit", "sarif"])
def test_a_secret_is_never_printed(repository: Path, form: str) -> None:
    secret = next(item for item in SHAPES if item.startswith("hf_"))
    container = "spec template spec containers 0"
    item = put(put(JOB, f"{container} env", [{"name": "A", "value": secret}]), f"{container} args", [secret])
    result, _ = validated(repository, item)
    assert result.out.count("[secret-in-clear]") == 2, result.out
    workflow = (
        f"workflow: {{name: w, pool: team, tasks: [{{name: t, image: i, environment: {{HF_TOKEN: {secret}}}, "
        f"files: [{{path: /a, contents: {secret}}}]}}]}}\n"
    )
    settings = f"apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: m}}\ndata: {{token: {secret}}}\n"
    write(repository, {"pools/p.yaml": pool(), "workflows/v.yaml": workflow, "workflows/m.yaml": settings})
    result = kubectl_tas("validate", "-o", form, "-C", repository)
    assert result.out.count("secret-in-clear") >= 5, result.out
    assert secret not in result.out + result.err


def test_looking_for_secrets_takes_no_time() -> None:
    """A text with every mark of a shape, and none of the shapes."""
    text = "AKIA ASIA hf_ gh gl sk- nvapi- xox AIza -----BEGIN RSA PRIVATE -----PRIVATE KEY " * 12_000
    with in_a_minute():
        assert shape_of(text) == ""
        assert kind_of("PASSWORD", "a" * 1_000_000) == "a secret"


def test_no_finding_has_the_line_of_a_secret() -> None:
    secret = next(iter(SHAPES))
    container = f"{{name: m, image: i, env: [{{name: A, value: {secret}, valueFrom: {{}}}}]}}"
    spec = f"spec:\n  template: {{spec: {{containers: [{container}]}}}}\n"
    head = "apiVersion: batch/v1\nkind: Job\nmetadata: {name: a, labels: {kubectl-tas/pool: taem}}\n"
    judged = judged_files({"pools/team.yaml": pool(), "workflows/w.yaml": f"{head}{spec}"})
    found, _ = counted_and_waived(judged.found, judged.fleet, None, complete=judged.complete)
    assert {(item.location.line, item.location.source != "") for item in found if item.location} == {
        (3, True),
        (5, False),
    }
    assert len([item for item in found if item.location and item.location.line == 5]) > 1
