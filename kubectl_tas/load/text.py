"""Bytes in, text out, or a diagnostic that says why they are no text."""

from __future__ import annotations

import codecs
import re

from kubectl_tas.diagnostics import Diagnostic, Location, Rule, Severity

FILE_NOT_TEXT = Rule(
    "file-not-text",
    Severity.ERROR,
    "A file is not UTF-8 text.",
    "YAML for Kubernetes is UTF-8. A binary file, or one saved in another encoding, has got into the folder.",
)
_CONTROL = re.compile("[^\t\n\r\x20-\x7e\x85\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_UTF16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


def decode(path: str, content: bytes) -> tuple[str, Diagnostic | None]:
    """The text of a file without its byte order mark; '' and a diagnostic where it is none."""
    if content.startswith(_UTF16):
        return "", _problem(path, "", "the file is UTF-16", "Save it as UTF-8.")
    try:
        text = content.decode("utf-8").removeprefix("\ufeff")
    except UnicodeDecodeError as error:
        before = content[: error.start].decode("utf-8").removeprefix("\ufeff")
        message = f"the byte 0x{content[error.start]:02x} is not UTF-8"
        return "", _problem(path, before, message, "Save the file as UTF-8, or remove it.")
    control = _CONTROL.search(text)
    if control:
        before = text[: control.start()]
        message = f"the control character U+{ord(control[0]):04X} is not text"
        return "", _problem(path, before, message, "Remove it; a binary file does not belong here.")
    return text, None


def _problem(path: str, before: str, message: str, hint: str) -> Diagnostic:
    """A finding at the end of the text ``before`` it."""
    lines = re.split(r"\r\n|\r|\n", before)
    return Diagnostic(FILE_NOT_TEXT, message, Location(path, len(lines), len(lines[-1]) + 1), hint=hint)
