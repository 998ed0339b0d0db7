"""Reads a file that tells what queues used in the past."""

from __future__ import annotations

from kubectl_tas.base.diagnostics import Diagnostic, Location
from kubectl_tas.load.document import parse
from kubectl_tas.load.kinds import USAGE
from kubectl_tas.load.schema import INVALID_VALUE, read_model
from kubectl_tas.load.source import decode
from kubectl_tas.model.repository import Declared
from kubectl_tas.model.usage_record import UsageRecord


def read_usage(path: str, content: bytes) -> tuple[Declared[UsageRecord] | None, list[Diagnostic]]:
    """Returns the usage in a file, or None and at least one diagnostic."""
    text, problem = decode(path, content)
    documents, problems = ((), (problem,)) if problem else parse(path, text)
    if len(documents) != 1 and not problems:
        place = documents[1].locate(()) if documents else Location(path)
        hint = "Write one mapping with queues, as docs/fit.md shows."
        problems = (Diagnostic(INVALID_VALUE, "a file of usage holds one document", place, hint=hint),)
    if problems:
        return None, list(problems)
    model, found = read_model(USAGE, documents[0])
    return (Declared(model, documents[0]) if isinstance(model, UsageRecord) else None), found
