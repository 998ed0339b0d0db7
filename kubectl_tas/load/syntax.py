"""Translates libyaml's errors to readable messages."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from kubectl_tas.base.diagnostics import Diagnostic, Location, Related, Rule, Severity
from kubectl_tas.base.late import dataclass, late_pattern

YAML_SYNTAX = Rule(
    "yaml-syntax",
    Severity.ERROR,
    "A file is not valid YAML.",
    "kubectl-tas reads nothing of the file until it parses. The message says where the parser stopped, sometimes a "
    "line below the mistake.",
)


@dataclass(frozen=True, slots=True)
class _Words:
    """The message and hint for a parser's error."""

    message: str
    hint: str
    at_start: bool = False
    """Whether the mistake is at the start of the construct, which the parser has read to the end."""
    whole_line: bool = False
    """Whether to underline the rest of the line, instead of one character."""


LEFT_OUT = "..."
"""The mark for omitted text in documentation."""
_DOTS = late_pattern(r"([ \t]+)\.\.\.\s*")
LEFT_OUT_HINT = "Replace the '...' with the fields or values that it stands for, or remove it."
_INDENTATION = "Check the indentation of this line and the one above."
_ANCHOR = _Words(
    "a '*' or '&' must be followed by the name of an anchor", "Put text that begins with it in quotes.", at_start=True
)
_OPEN_LIST = _Words("a ',' or the closing ']' is missing before this", "Write ',' between items and ']' at the end.")
_OPEN_MAPPING = _Words(
    "a ',' or the closing '}' is missing before this", "Write ',' between fields and '}' at the end."
)
_SECOND_COLON = _Words(
    "a second ':' in one line, or a key that is indented wrongly",
    "Put text that contains ': ' in quotes, or correct the indentation.",
)
_WORDS: dict[str, _Words] = {
    "mapping values are not allowed in this context": _SECOND_COLON,
    "did not find expected key": _Words(
        "this line does not fit the mapping it stands in", _INDENTATION, whole_line=True
    ),
    "did not find expected '-' indicator": _Words(
        "this line does not fit the list it stands in", _INDENTATION, whole_line=True
    ),
    "could not find expected ':'": _Words("a key without ':'", "Write 'key: value'.", at_start=True, whole_line=True),
    "did not find expected ',' or ']'": _OPEN_LIST,
    "did not find expected ',' or '}'": _OPEN_MAPPING,
    "did not find expected <document start>": _Words(
        "text after the end of the document, or without '---' before it",
        "Check the indentation, or start a new document with '---'.",
        whole_line=True,
    ),
    "found unexpected end of stream": _Words("a quote is not closed", "Close it.", at_start=True),
    "found undefined alias": _Words(
        "an alias without an anchor", "Define the anchor above, or put the text in quotes."
    ),
    "did not find expected node content": _Words("a value is missing", "Write one, or remove the ','."),
    "did not find expected alphabetic or numeric character": _ANCHOR,
    "block sequence entries are not allowed in this context": _Words(
        "a list cannot begin in the middle of a line", "Begin it in a line of its own, or put the text in quotes."
    ),
    "did not find expected comment or line break": _Words(
        "text in the same line as '|' or '>'", "Begin it in the next line, or put text that begins so in quotes."
    ),
    "found unexpected ':'": _Words("a ':' within a word in braces", "Put the text in quotes."),
    "found unknown escape character": _Words(
        "YAML has no such escape", "In double quotes write '\\\\' for a backslash, or use single quotes."
    ),
}
ODD_SPACE = late_pattern("[\u00a0\u1680\u2000-\u200b\u202f\u205f\u3000\ufeff]")
"""Characters that look like a space or are invisible, and are text to YAML."""
_TEMPLATE = late_pattern(r"\{\{-|\{\{[^{}]*-\}\}|\{%|\{\{[ \t]*(if|else|end|range|with|include|define|template)\b")
"""Blocks of Go and Jinja templates."""
_BLOCK = late_pattern(r"(^|[-:][ \t]+)[|>][-+0-9]*[ \t]*(#.*)?$")
"""The end of a line that begins a block of text."""
_LINE_BREAK = late_pattern(r"\r\n|\r|\n")
_DASHES = late_pattern(r"(-{2}|-{4,}|[\u2010-\u2015]+)[ \t]*")
"""A line that is nearly the separator of documents."""
_NO_BLANK = late_pattern(r"[ \t]*(?:- +)*([A-Za-z_][\w./-]*):([^\s:/][^\s:]*)[ \t]*(#.*)?")
"""A key and a value without the blank that YAML needs between them. URLs do not match."""
_CONFLICT = late_pattern(r"^(<<<<<<<|>>>>>>>) .*", re.MULTILINE)
"""The markers of git for the sides of a conflict."""


def explain(error: Any, text: str, locate: Callable[[int], Location]) -> Diagnostic:
    """Returns a parser's error about ``text`` as a diagnostic at the mistake; ``locate`` maps an index to a place."""
    conflict = _CONFLICT.search(text)
    if conflict is not None:
        place = locate(conflict.start())
        hint = "Keep one of the two sides and remove the markers."
        return Diagnostic(YAML_SYNTAX, "a merge conflict that is not resolved", place, hint=hint)
    stopped, began = error.problem_mark or error.context_mark, error.context_mark
    dots = _left_out(text, [mark.line for mark in (began, stopped) if mark is not None])
    if dots is not None:
        place = replace(locate(dots), length=len(LEFT_OUT))
        return Diagnostic(YAML_SYNTAX, "the '...' is no YAML", place, hint=LEFT_OUT_HINT)
    near = [mark for mark in (began, stopped) if mark is not None and mark.line >= stopped.line - 1]
    odd = _odd_space(text, near[0].line, stopped.line)
    if odd is not None:
        message = f"a space that YAML takes for text (U+{ord(text[odd]):04X})"
        place = replace(locate(odd), length=1)
        return Diagnostic(YAML_SYNTAX, message, place, hint="Type a plain space in its place.")
    told = next(((words, mark) for mark in near if (words := _around(text, mark.line))), None)
    words, seen = told or (_choose(error, locate(stopped.index)), stopped)
    place = locate((began if words.at_start and began is not None else seen).index)
    if not words.whole_line:
        place = replace(place, length=1)
    related: tuple[Related, ...] = ()
    if began is not None and not words.at_start and began.line not in (stopped.line, seen.line):
        context = (error.context or "it").strip().rpartition("; ")[2]
        for verb in ("while parsing ", "while scanning "):
            context = context.removeprefix(verb)
        related = (Related(f"{context} begins here", replace(locate(began.index), length=1)),)
    return Diagnostic(YAML_SYNTAX, words.message, place, related, hint=words.hint)


def _left_out(text: str, numbers: Sequence[int]) -> int | None:
    """Returns the index of dots alone in one of these lines, from 0, or in the line above with the same indentation."""
    lines = [*text.splitlines(keepends=True), ""]
    below = lines[min(numbers[-1], len(lines) - 1)]
    for number in (*numbers, numbers[-1] - 1):
        dots = _DOTS.fullmatch(lines[number]) if 0 <= number < len(lines) else None
        if dots is None:
            continue
        if number in numbers or (below.startswith(dots[1]) and not below[len(dots[1])].isspace()):
            return sum(map(len, lines[:number])) + len(dots[1])
    return None


def _odd_space(text: str, first: int, last: int) -> int | None:
    """Returns the first look-alike of a space in these lines, from 0, or in the line above."""
    starts = [0, *(match.end() for match in _LINE_BREAK.finditer(text)), len(text), len(text)]
    begin, end = max(first - 1, 0), last + 1
    found = ODD_SPACE.search(text, starts[min(begin, len(starts) - 1)], starts[min(end, len(starts) - 1)])
    return found.start() if found else None


def _around(text: str, line: int) -> _Words | None:
    """Returns a message from the line at which a parser stopped, from 0, and the lines above; None if unclear."""
    lines = _LINE_BREAK.split(text)
    if line < len(lines) and _DASHES.fullmatch(lines[line]):
        return _Words("this is no separator of documents", "Write '---'.", whole_line=True)
    if line < len(lines) and (joined := _NO_BLANK.fullmatch(lines[line])):
        key, value = joined[1], joined[2]
        message = f"'{key}:{value}' is one word to YAML, a key without a blank behind its ':'"
        return _Words(message, f"Write '{key}: {value}'.", whole_line=True)
    if line < len(lines) and _TEMPLATE.search(lines[line]):
        return _Words(
            "a block of a template is no YAML",
            "Only workflows are templates here; expand this one first, and commit what it gives.",
        )
    above = next((number for number in range(min(line, len(lines)) - 1, -1, -1) if lines[number].strip()), None)
    if above is None or line >= len(lines):
        return None
    if lines[above].rstrip() == "...":
        return _Words("the '...' above ends the document", "Remove it, or write '---'.", whole_line=True)
    depth, base = (len(text) - len(text.lstrip()) for text in (lines[line], lines[above]))
    if _BLOCK.search(lines[above]) and depth <= base:
        hint = "Indent every line of the text more than the line that ends with '|' or '>'."
        return _Words("this line is not in the block of text above", hint, whole_line=True)
    return None


def _choose(error: Any, stopped: Location) -> _Words:
    problem = (error.problem or error.context or "not valid YAML").strip()
    if "cannot start any token" in problem or problem.startswith("found a tab character"):
        return _bad_start(stopped)
    return _WORDS.get(problem) or _Words(problem, "Compare the line with YAML's syntax.", whole_line=True)


def unreadable(path: str, message: str) -> Diagnostic:
    """Returns the diagnostic for a parser's error without a place."""
    return Diagnostic(YAML_SYNTAX, message, Location(path), hint="Save the file as UTF-8 text.")


def _bad_start(location: Location) -> _Words:
    character = location.source[location.column - 1 : location.column]
    if character == "\t":
        return _Words("a tab indents this line; YAML allows spaces only", "Replace the tab by spaces.")
    return _Words(f"a value cannot begin with {character!r}", "Put it in quotes.")
