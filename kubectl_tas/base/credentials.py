"""Recognises passwords, tokens and private keys in texts, and hides them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from kubectl_tas.base.late import late_pattern

_SHAPES = late_pattern(
    r"\b(?P<aws>A(?:KI|SI)A[0-9A-Z]{16})\b"
    r"|\b(?P<hf>hf_[A-Za-z0-9]{30,})\b"
    r"|\b(?P<github>gh[oprsu]_[A-Za-z0-9]{36,}|github_pat_[A-Za-z0-9_]{50,})\b"
    r"|\b(?P<gitlab>gl(?:pat|dt|rt)-[A-Za-z0-9_-]{20,})"
    r"|\b(?P<sk>sk-[A-Za-z0-9]{40,}|sk-(?:admin|ant|proj|svcacct)-[A-Za-z0-9_-]{32,})"
    r"|\b(?P<ngc>nvapi-[A-Za-z0-9_-]{40,})"
    r"|\b(?P<slack>xox[abprs]-[0-9A-Za-z-]{20,})"
    r"|\b(?P<google>AIza[0-9A-Za-z_-]{35})\b"
    r"|(?P<private>-----BEGIN (?:[A-Z]+ )*PRIVATE KEY(?: BLOCK)?-----)"
)
_CALLED = {
    "aws": "an access key of AWS",
    "hf": "a token of Hugging Face",
    "github": "a token of GitHub",
    "gitlab": "a token of GitLab",
    "sk": "an API key of a model's provider",
    "ngc": "an API key of NVIDIA",
    "slack": "a token of Slack",
    "google": "an API key of Google",
    "private": "a private key",
}
MARKS = (
    *("AKIA", "ASIA", "hf_", "ghp_", "gho_", "ghr_", "ghs_", "ghu_", "github_pat_", "glpat-", "gldt-", "glrt-"),
    *("sk-", "nvapi-", "xox", "AIza", "PRIVATE KEY"),
)
"""Marks of secrets. Every text of a known shape contains one of them, and searching for marks is cheap."""
_NAMES = late_pattern(
    r"(?:^|_)(?:PASSWORD|PASSWD|PASSPHRASE|PRIVATE_KEY|SECRET_KEY|SECRET_ACCESS_KEY|API_?KEY|API_?TOKEN|ACCESS_TOKEN"
    r"|AUTH_TOKEN|SESSION_TOKEN|BEARER_TOKEN|REFRESH_TOKEN|CLIENT_SECRET|WEBHOOK_SECRET"
    r"|(?:HF|HUB|HUGGINGFACE|GITHUB|GH|GITLAB|SLACK|WANDB|NPM|PYPI|VAULT|JUPYTER|INFLUX|CI_JOB|NGC)_TOKEN)$"
)
"""Names of variables that hold secrets."""
_LEAST = 8
"""The fewest characters of a value that counts as a secret because of its name."""
_HARMLESS = late_pattern(
    r"[./~]|[a-z]+://|true$|false$|none$|null$|[0-9]+$|x+$|\*+$|.*(?:change-?_?me|example|placeholder|dummy|redacted"
    r"|replace|your[-_]|to-?do|<.*>|\$[({A-Za-z]|\{\{|%\(|\s)",
    re.IGNORECASE | re.DOTALL,
)
"""Values that are not secrets: paths, addresses, switches, numbers, placeholders, references and sentences."""
_NAMED = r"""[A-Za-z][A-Za-z0-9_.-]{0,100}"""
_PAIR = late_pattern(
    rf"""(?<![A-Za-z0-9_.-])(?:name["']?\s*:\s*["']?)?(?P<name>{_NAMED})["']?(?:\s*[:=]|\s*,\s*["']?value["']?\s*:)\s*"""
    r"""(?:"(?P<double>[^"]*)|'(?P<single>[^']*)|(?P<plain>[^\s"']+))"""
)
"""A name and its value, on one line."""
_NAME = late_pattern(rf"""[-+ ]*["']?name["']?\s*:\s*["']?({_NAMED})""")
_VALUE = late_pattern(r"""[-+ ]*["']?value["']?\s*:\s*["']?([^\s"']+)""")


def kind_of(name: object, value: object) -> str:
    """Returns the kind of secret that a variable holds; '' if none."""
    if not isinstance(value, str) or len(value) < _LEAST:
        return ""
    if kind := shape_of(value):
        return kind
    named = isinstance(name, str) and _NAMES.search(name.upper().replace("-", "_").replace(".", "_"))
    return "a secret" if named and not _HARMLESS.match(value) else ""


def shape_of(text: object) -> str:
    """Returns the kind of secret that a text is, by its shape alone; '' if none."""
    if not isinstance(text, str) or not is_marked(text):
        return ""
    match = next((match for match in _SHAPES.finditer(text) if "EXAMPLE" not in match[0]), None)
    return _CALLED[match.lastgroup or ""] if match is not None else ""


def is_marked(text: str) -> bool:
    """Whether a text may contain a secret of a known shape; a cheap test."""
    return any(map(text.__contains__, MARKS))


def hidden(line: str) -> str:
    """Returns a line of a file with stars for each value that is a secret by its shape, or by the name before it."""
    if is_marked(line):
        line = _SHAPES.sub(lambda match: match[0] if "EXAMPLE" in match[0] or match["private"] else _stars(match), line)
    return _PAIR.sub(_without_value, line)


def hidden_lines(lines: Iterable[str]) -> Iterator[str]:
    """Yields successive lines with secrets hidden; a variable and its value, or a key, may span several lines."""
    name, is_key = "", False
    for line in lines:
        is_key = is_key and "-----END" not in line
        value = _VALUE.match(line)
        if is_key:
            yield re.sub(r"[A-Za-z0-9+/=]{20,}", _stars, line)
        elif value and kind_of(name, value[1]):
            yield f"{line[: value.start(1)]}{'*' * len(value[1])}{line[value.end(1) :]}"
        else:
            yield hidden(line)
        is_key = is_key or ("-----BEGIN" in line and "PRIVATE KEY" in line)
        match = _NAME.match(line)
        name = match[1] if match else ""


def _without_value(pair: re.Match[str]) -> str:
    value = pair["double"] or pair["single"] or pair["plain"] or ""
    return pair[0].removesuffix(value) + "*" * len(value) if kind_of(pair["name"], value) else pair[0]


def _stars(match: re.Match[str]) -> str:
    return "*" * len(match[0])
