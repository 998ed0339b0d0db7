"""libyaml's complaints in, messages for people out."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from kubectl_tas.diagnostics import Diagnostic, Location, Related, Rule, Severity

YAML_SYNTAX = Rule(
    "yaml-syntax",
    Severity.ERROR,
    "A file is not valid YAML.",
    "Nothing of the file is read until it parses. The message says where the parser stopped, which is "
    "sometimes a line below the slip.",
)

_INDENTATION = "Check the indentation of this line and the one above."
_MESSAGES: dict[str, tuple[str, str]] = {
    "mapping values are not allowed in this context": (
        "a second ':' in one line, or a key that is indented wrongly",
        "Put text that contains ': ' in quotes, or mend the indentation.",
    ),
    "did not find expected key": ("this line does not fit the mapping it stands in", _INDENTATION),
    "did not find expected '-' indicator": ("this line does not fit the list it stands in", _INDENTATION),
    "could not find expected ':'": ("a key without ':'", "Write 'key: value'."),
    "did not find expected ',' or ']'": ("a '[' is not closed", "Close it with ']'."),
    "did not find expected ',' or '}'": ("a '{' is not closed", "Close it with '}'."),
    "did not find expected <document start>": (
        "text after the end of the document",
        "Check the indentation, or start a new document with '---'.",
    ),
    "found unexpected end of stream": ("a quote is not closed", "Close it."),
    "found undefined alias": ("an alias without an anchor", "Define the anchor above, or quote the text."),
    "did not find expected node content": ("a value is missing", "Write one."),
    "second occurrence": ("an anchor of this name is there already", "Give it another name."),
}


def explain(error: Any, locate: Callable[[Any], Location]) -> Diagnostic:
    """A parser's error as a diagnostic at the place where the parser stopped."""
    mark = error.problem_mark or error.context_mark
    place = locate(mark)
    problem = (error.problem or error.context or "not valid YAML").strip()
    message, hint = _MESSAGES.get(problem, (problem, "Compare the line with YAML's syntax."))
    if problem == "found character that cannot start any token":
        message, hint = _bad_start(place)
    related: tuple[Related, ...] = ()
    if error.context_mark is not None and error.context_mark.line != mark.line:
        start = locate(error.context_mark)
        context = (error.context or "it").strip().rpartition("; ")[2]
        for verb in ("while parsing ", "while scanning "):
            context = context.removeprefix(verb)
        related = (Related(f"{context} begins here", start),)
    return Diagnostic(YAML_SYNTAX, message, place, related, hint=hint)


def unreadable(path: str, message: str) -> Diagnostic:
    """A parser's error that has no place."""
    return Diagnostic(YAML_SYNTAX, message, Location(path, 1, 1), hint="Save the file as UTF-8 text.")


def _bad_start(place: Location) -> tuple[str, str]:
    character = place.source[place.column - 1 : place.column]
    if character == "\t":
        return "a tab indents this line; YAML allows spaces only", "Replace the tab by spaces."
    return f"a value cannot begin with {character!r}", "Put it in quotes."
