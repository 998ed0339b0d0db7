"""Expands a template, and maps each place in the expanded text to a place in the template."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from jinja2 import Environment, TemplateError, nodes

from kubectl_tas.base.diagnostics import Diagnostic, Location, Rule, Severity
from kubectl_tas.base.late import dataclass
from kubectl_tas.jinja.bounds import TEMPLATE_LIMIT, TEMPLATE_UNDEFINED, TEMPLATE_UNSUPPORTED, Budget, Refusal
from kubectl_tas.jinja.sandbox import Piece, expanded, names_used, prepared, walk
from kubectl_tas.load.document import Lines, parse
from kubectl_tas.load.osmofiles import DEFAULTS, TOKEN

TEMPLATE_SYNTAX = Rule(
    "template-syntax",
    Severity.ERROR,
    "A template is not valid: its Jinja, or its default-values.",
    "In OSMO, a workflow with default-values or with {{ }}, {% %} or {# #} is a template. kubectl-tas reads it only "
    "after it is expanded. Put text that is no template between {% raw %} and {% endraw %}.",
)
_ENVIRONMENT = Environment(keep_trailing_newline=True)
_INDENTED_DEFAULTS = re.compile(r"^[ \t]+default-values[ \t]*:", re.MULTILINE)
_SECTION = re.compile(r"""^(?:["']?[A-Za-z][\w-]*["']?[ \t]*:|---|\.\.\.|\{[%{#])""", re.MULTILINE)
_NO_WORKFLOW = re.compile(
    r"""["']?default-values["']?[ \t]*:[\s\S]*|version:[ \t]*[0-9]+[ \t]*(?:(?:#.*)?\n[ \t]*)*(?:#.*)?"""
)
"""Sections below the workflow that OSMO removes."""
_NO_BREAK = re.compile(r"[^\n]")
_HEAD = re.compile(r"(?:(?:[ \t]*(?:#[^\n]*)?|---[ \t]*)\n)*")
"""Comments at the top of the file, which may mention tags."""
_COMMENT = re.compile(r"[ \t]*(?:#.*)?")
_SHIELD = str.maketrans("{}", "\x01\x02")
"""Replaces braces that are plain text with characters that no file may contain."""
_UNSHIELD = {1: "{", 2: "}"}
_ESCAPED = re.compile(r"\\(?:x0[12]|u000[12]|U0000000[12]|0{0,2}[12](?![0-7])|N\{)")
"""Escapes in the strings of a tag that would make the characters of _SHIELD."""
_GO_HINT = "This looks like a template of Go or Helm; OSMO's are Jinja: {% if gpus > 8 %} ... {% endif %}."
_BLOCK = re.compile(r"\{%[-+]?\s*(end)?(if|for|macro|call|filter|with)\b")
_LONG_NUMBER = re.compile(r"(?<![0-9_])[0-9][0-9_]{3999}")
_GO = re.compile(r"\{\{-?[ \t]*(?:\.|\$|(?:if|else|end|range|with|include|define|template)\b(?!\())")
MAX_TOKENS = 30_000
"""The most words and signs within the tags of one template."""
EACH = 50
"""Steps charged for each workflow that a template makes after its first, besides the steps of the tags."""
PARSED = 8
"""Characters of expanded YAML that cost one step. As many characters as the template has are free."""
COPIED = 16
"""Copied values that cost one step."""
_BEGINS = ("variable_begin", "block_begin", "comment_begin", "raw_begin")
_ENDS = ("variable_end", "block_end", "comment_end", "raw_end")


@dataclass(frozen=True, slots=True)
class Span:
    """A range of characters of a template, from 0."""

    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Line:
    """A line of a text."""

    start: int
    """The index of the first character, from 0."""
    words: Span
    """The line without the blanks around its words."""


@dataclass(frozen=True, slots=True)
class Layout:
    """The places of all tags and texts of a template."""

    data: tuple[Span, ...]
    """Texts between tags."""
    outputs: tuple[Span, ...]
    """The ``{{ }}`` tags."""
    tags: tuple[Span, ...]
    """All tags."""


def layout(environment: Environment, text: str) -> Layout:
    """Finds the tags of a template. Raises Refusal if the tags are too many, and Jinja's errors."""
    data: list[Span] = []
    outputs: list[Span] = []
    tags: list[Span] = []
    position, start, tag = 0, 0, ""
    for number, (line, token, value) in enumerate(environment.lex(text)):
        if number > MAX_TOKENS:
            message = f"more than {MAX_TOKENS:,} words and signs within tags"
            raise Refusal(TEMPLATE_LIMIT, message, "Write less in tags, or make several templates.", line)
        position = max(text.find(value, position), position)  # behind blanks that a tag takes away, as {{- does
        if token == "data":
            data.append(Span(position, position + len(value)))
        if token in _BEGINS:
            start = position
        if tag == "block_begin" and token == "name" and value == "print":
            hint = "Write {{ value }}."
            raise Refusal(TEMPLATE_UNSUPPORTED, "{% print %} is not available in a template here", hint, line)
        tag = tag if token == "whitespace" else token
        position += len(value)
        if token in _ENDS:
            tags.append(Span(start, position))
            if token == "variable_end":
                outputs.append(tags[-1])
    return Layout(tuple(data), tuple(outputs), tuple(tags))


def spans(template: nodes.Template, tags_of_template: Layout) -> dict[int, Span]:
    """Returns the span of each node that prints text, by the node's id(). Nodes and spans are in the text's order."""
    span_by_node: dict[int, Span] = {}
    data, outputs = iter(tags_of_template.data), iter(tags_of_template.outputs)
    for node in walk(template):
        for printed_node in node.nodes if isinstance(node, nodes.Output) else ():
            span = next(data if isinstance(printed_node, nodes.TemplateData) else outputs, None)
            if span is not None:
                span_by_node[id(printed_node)] = span
    return span_by_node


class ExpandedLines(Lines):
    """The lines of an expanded text; places in these lines are places in the template."""

    __slots__ = ("_begins", "_rows", "_source", "_spans", "_whole")

    def __init__(
        self, source: Lines, lines: Sequence[Line], pieces: Iterable[Piece], span_by_node: dict[int, Span]
    ) -> None:
        printed_pieces = [piece for piece in pieces if piece.text]
        super().__init__(source.path, "".join(piece.text for piece in printed_pieces))
        self._source = source
        self._rows: Sequence[Line] | None = None
        self._begins: list[int] = []
        self._spans: list[Span] = []
        self._whole: list[bool] = []
        position = 0
        for piece in printed_pieces:
            span = span_by_node.get(id(piece.node))
            self._begins.append(position)
            self._spans.append(span or lines[piece.node.lineno - 1].words)
            self._whole.append(not isinstance(piece.node, nodes.TemplateData))
            position += len(piece.text)

    def at(self, start: int, end: int | None = None) -> Location:
        """Returns the place in the template of a range of characters of the expanded text."""
        first_span = self._place(start)
        if end is None:
            return self._source.at(first_span.start)
        last_span = self._place(max(end - 1, start))
        return self._source.at(first_span.start, last_span.end if last_span.end > first_span.start else None)

    def original(self, location: Location) -> Location:
        """Returns the place in the template for a place in the expanded text."""
        if not location.line:
            return location
        start = self._lines_of_text()[location.line - 1].start + location.column - 1
        location_in_template = self.at(start, start + location.length)
        return replace(location_in_template, length=max(location_in_template.length, 1))

    def start(self) -> Location:
        """Returns the place of the first line of the template that is not a comment."""
        return _start(self._source)

    def line(self, number: int) -> int:
        """Returns the line of the template that made a line of the expanded text."""
        lines = self._lines_of_text()
        return self.at(lines[min(number, len(lines)) - 1].words.start).line

    def _lines_of_text(self) -> Sequence[Line]:
        if self._rows is None:
            self._rows = rows(self.text)
        return self._rows

    def _place(self, index: int) -> Span:
        """Returns the source of the character at ``index``: the character itself in text, the whole tag for a value."""
        piece_index = bisect_right(self._begins, index) - 1
        span = self._spans[piece_index]
        if self._whole[piece_index]:
            return span
        start = min(span.start + index - self._begins[piece_index], span.end)
        return Span(start, min(start + 1, span.end))


def rows(text: str) -> list[Line]:
    """Returns the lines of a text."""
    lines, start = [], 0
    for line in text.split("\n"):
        lines.append(Line(start, Span(start + len(line) - len(line.lstrip()), start + len(line.rstrip()))))
        start += len(line) + 1
    return lines


def _start(lines: Lines) -> Location:
    """Returns the place of the first line of a file that is not a comment."""
    return lines.at(_behind_head(lines.text, 0))


def _behind_head(text: str, start: int) -> int:
    """Returns the place behind the comments, the blank lines and the ``---`` at ``start``."""
    head = _HEAD.match(text, start)
    return head.end() if head else start


def _refuse_escapes(text: str, tags: Sequence[Span]) -> None:
    for tag in tags if "\\" in text else ():
        escape = _ESCAPED.search(text, tag.start, tag.end)
        if escape is not None:
            line = text.count("\n", 0, escape.start()) + 1
            message, hint = f"the escape {escape[0]} is not available", "Write the character itself."
            raise Refusal(TEMPLATE_UNSUPPORTED, message, hint, line)


def _without_comments(section: str) -> str:
    """Returns a section, whose first line is no comment, without the comments and blank lines at its end."""
    end = len(section)
    while _COMMENT.fullmatch(section, start := section.rfind("\n", 0, end - 1) + 1, end - 1):
        end = start
    return section[:end]


class UnreadableError(Exception):
    """A template cannot be expanded."""

    def __init__(self, diagnostic: Diagnostic) -> None:
        super().__init__(diagnostic.message)
        self.diagnostic = diagnostic


class WorkflowTemplate:
    """The text of one template, read once and expanded for each instance."""

    def __init__(self, path: str, text: str) -> None:
        self.path = path
        self.lines = Lines(path, text)
        self.names: frozenset[str] = frozenset()
        self._rows = rows(text)
        self._tags: Sequence[Span] = ()
        self._places: dict[int, Span] = {}
        self._printed = 0
        """The number of characters in all expansions so far."""
        self._charged = 0
        """The number of steps charged for all expansions so far."""

    def start(self) -> Location:
        """Returns the place of the first line that is not a comment."""
        return _start(self.lines)

    def read(self, value_names: Collection[str]) -> dict[str, Any]:
        """Reads the template and returns its defaults; ``value_names`` are those of all other values.

        Raises UnreadableError if the text is not a valid template.
        """
        text, defaults = self._without_defaults(self.lines.text)
        end = _behind_head(text, 0)
        defined = {*defaults, *value_names}
        text = text[:end].translate(_SHIELD) + text[end:]
        text = TOKEN.sub(
            lambda token: token[0] if token[1] and token[2] in defined else token[0].translate(_SHIELD), text
        )
        try:
            tags_of_template = layout(_ENVIRONMENT, text)
            self._tags = tags_of_template.tags
            _refuse_escapes(text, tags_of_template.tags)
            self._tree = _ENVIRONMENT.parse(text)
            self._places = spans(self._tree, tags_of_template)
            prepared(self._tree, _UNSHIELD)
            self.names = names_used(self._tree)
        except Refusal as refusal:
            raise UnreadableError(self._refused(refusal)) from refusal
        except (RecursionError, MemoryError) as error:
            longest = max(self._tags, key=lambda tag: tag.end - tag.start, default=Span(0, 0))
            line = text.count("\n", 0, longest.start) + 1
            deep = Refusal(TEMPLATE_LIMIT, "the template nests too deep", "Nest it less.", line)
            raise UnreadableError(self._refused(deep)) from error
        except (TemplateError, ValueError, OverflowError) as error:  # of the parser, and of numbers that it reads
            long = _LONG_NUMBER.search(text)
            line = getattr(error, "lineno", None) or text.count("\n", 0, long.start() if long else 0) + 1
            message = str(getattr(error, "message", None) or "a number of too many digits").translate(_UNSHIELD)
            unclosed = self._unclosed() if "end of template" in message else None
            if unclosed is not None:
                line, message = text.count("\n", 0, unclosed[1].start) + 1, f"the block {unclosed[0]} is not closed"
            wrong = Refusal(
                TEMPLATE_SYNTAX, message[:1].lower() + message[1:].rstrip("."), self._advice(line, message), line
            )
            raise UnreadableError(self._refused(wrong)) from error
        return defaults

    def expand(self, values: Mapping[str, Any], budget: Budget) -> ExpandedLines:
        """Returns the lines that the template prints with these values. Raises UnreadableError if expansion fails."""
        try:
            budget.step(len(values) // COPIED + (EACH if self._printed else 0))
            pieces = expanded(self._tree, values, budget)
            self._printed += sum(len(piece.text) for piece in pieces)
            before, self._charged = self._charged, max(self._printed - len(self.lines.text), 0) // PARSED
            budget.step(self._charged - before)
        except Refusal as refusal:
            refusal.line = refusal.line or self.start().line
            raise UnreadableError(self._refused(refusal)) from refusal
        return ExpandedLines(self.lines, self._rows, pieces, self._places)

    def _without_defaults(self, text: str) -> tuple[str, dict[str, Any]]:
        """Returns the text without default-values, and the defaults. All other characters keep their places.

        OSMO expands and reads only the section ``workflow``, up to the next root key, and without the last line break
        of the section (``parse_workflow_spec`` of src/lib/utils/workflow.py, and Jinja's default). A scalar that ends
        the section must stay the same to the byte.
        """
        roots = [*(match.start() for match in _SECTION.finditer(text)), len(text)]
        sections = [number for number, start in enumerate(roots) if DEFAULTS.match(text, start)]
        last = len(roots) - 1
        while last and _NO_WORKFLOW.fullmatch(text, roots[last - 1], roots[last]):
            last -= 1
        retained = text[: roots[last]].removesuffix("\n")
        if not sections:
            return retained, {}
        start, end = roots[sections[0]], roots[sections[0] + 1]
        if len(sections) > 1:
            self._fail("the file has default-values twice", roots[sections[1]], "Write all of them in one place.")
        documents, problems = parse(self.path, _NO_BREAK.sub(" ", text[:start]) + text[start:end])
        if problems:
            raise UnreadableError(problems[0])
        defaults = documents[0].data.get("default-values") if isinstance(documents[0].data, dict) else None
        if defaults is not None and not isinstance(defaults, dict):
            self._fail("default-values is no mapping", start, "Write a name and a value in each line.")
        if start < len(retained):  # a comment of Jinja in its place, which gives no text
            section = _without_comments(text[start:end])
            breaks = section.count("\n")
            blank = "{#" + "\n" * breaks + " " * (len(section) - breaks - 4) + "#}"
            end = start + len(section)
            comments = retained[end : _behind_head(retained, end)]
            retained = retained[:start] + blank + comments.translate(_SHIELD) + retained[end + len(comments) :]
        return retained, defaults or {}

    def _fail(self, message: str, start: int, hint: str) -> None:
        raise UnreadableError(Diagnostic(TEMPLATE_SYNTAX, message, self.lines.at(start), hint=hint))

    def _unclosed(self) -> tuple[str, Span] | None:
        """Returns the innermost block that is open at the end of the text, and its tag."""
        blocks: list[tuple[str, Span]] = []
        for tag in self._tags:
            match = _BLOCK.match(self.lines.text, tag.start)
            if match is not None and match[1]:
                blocks.pop()
            elif match is not None:
                blocks.append((match[2], tag))
        return blocks[-1] if blocks else None

    def _advice(self, line: int, message: str) -> str:
        text = self.lines.text.split("\n")[line - 1]
        if _GO.search(text):
            return _GO_HINT
        if "comment" in message:
            return "A comment is {# ... #}; a shell's ${#name} belongs between {% raw %} and {% endraw %}."
        return "Compare Jinja's docs. Text that is no template belongs between {% raw %} and {% endraw %}."

    def _refused(self, refusal: Refusal) -> Diagnostic:
        """Returns the finding for a refusal, at the tag that did not print, else the line's first tag or the line."""
        span = self._rows[min(max(refusal.line, 1), len(self._rows)) - 1].words
        first_tag = next((tag for tag in self._tags if span.start <= tag.start < span.end), span)
        tag = self._places.get(refusal.node, first_tag)
        location = self.lines.at(tag.start, tag.end)
        if refusal.rule is not TEMPLATE_UNDEFINED:
            return Diagnostic(refusal.rule, refusal.message, location, hint=refusal.hint)
        if _GO.match(self.lines.text, tag.start):
            return Diagnostic(TEMPLATE_SYNTAX, "a tag of a Go template is no tag of Jinja", location, hint=_GO_HINT)
        indented = _INDENTED_DEFAULTS.search(self.lines.text)
        hint = "default-values begins its line, like workflow; here it is indented." if indented else refusal.hint
        return Diagnostic(refusal.rule, refusal.message, location, hint=hint)
