"""Edits the data of a YAML text and changes nothing else in the text.

The module cuts the text at the parser's marks, so comments, blank lines, quotes and indentation elsewhere stay. It
parses the result again. It refuses an edit that changes another value too, such as an anchor with other uses.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from ruamel.yaml.error import YAMLError
from ruamel.yaml.nodes import MappingNode, ScalarNode, SequenceNode

from kubectl_tas.base import yaml
from kubectl_tas.base.diagnostics import TasError
from kubectl_tas.base.late import late_pattern
from kubectl_tas.kinds import SET
from kubectl_tas.load.document import MARKER, Document, parse, roots
from kubectl_tas.load.kinds import WORKFLOW, Kind, recognise
from kubectl_tas.load.osmofiles import template_root
from kubectl_tas.load.schema import items_of
from kubectl_tas.load.source import decode
from kubectl_tas.model.base import KeyPath
from kubectl_tas.model.labels import OWN_PREFIX

BOM = "\ufeff"
_BREAK = late_pattern(r"\r\n|\r|\n")
_REST_OF_LINE = late_pattern(r"[ \t]*(,?)[ \t]*(?:#[^\r\n]*)?(?=[\r\n])")
"""The text behind an entry with a line of its own in a flow mapping: a comma and a comment."""
_BLOCK_HEADER = late_pattern(r"[|>][-+1-9]*([ \t]+#[^\r\n]*)?")
_QUOTES = {"'": "'", '"': '"'}
"""The styles of scalars that a replacement keeps."""
Value = str | int | bool | Mapping[str, "Value"] | Sequence["Value"] | None
"""A value to write: a scalar, or a mapping or list of values. None removes the key."""
FIRST = ""
"""The value of ``after`` that means: add before all other keys."""


class RenamedEntry(NamedTuple):
    """Replaces an existing entry by one with another key and value."""

    key: str
    value: Value


class Appended(NamedTuple):
    """Items to add at the end of a list, which need not exist."""

    items: Sequence[Mapping[str, Value]]


Change = Value | RenamedEntry | Appended
"""The change to the value of a key."""
Entry = tuple[KeyPath, Change, str | None]
"""A path, the change there, and the key to add behind. A change of None removes the entry."""


def set_value(text: str, document: int, path: KeyPath, value: Value, *, after: str | None = None) -> str:
    """Returns ``text`` with ``value`` at ``path`` of its ``document``-th document (from 0, without empty ones).

    Replaces an existing value. Adds a new key behind the key ``after``, else at the end of its mapping, and adds
    missing mappings on the way. Returns a text that already has the value unchanged. Raises TasError if the edit would
    change anything else.
    """
    return set_values(text, document, [(path, value, after)])


def set_values(text: str, document: int, entries: Sequence[Entry]) -> str:
    """Does the same for several values of one document, one after another. Skips a value that an earlier edit of an
    anchor has already set at its aliases.
    """
    mark, body = (BOM, text[1:]) if text.startswith(BOM) else ("", text)
    now = _data(body)
    expected = _with_values(now, document, entries)
    for entry in entries:
        if _with_values(now, document, [entry]) != now:
            body = _edited(body, document, [entry])
            now = _data(body)
    if now != expected:
        raise _refusal(entries[0][0])
    return mark + body


def without_document(text: str, document: int) -> str:
    """Returns ``text`` without its ``document``-th document, from its ``---`` to the next; '' if it is the only one.

    Raises TasError if the removal would change other documents.
    """
    mark, body = (BOM, text[1:]) if text.startswith(BOM) else ("", text)
    expected = _data(body)
    del expected[document]
    if not expected:
        return ""
    start = int(roots(body)[document].node.start_mark.index)
    markers = list(MARKER.finditer(body))
    above = [marker for marker in markers if marker.start() <= start]
    below = next((marker for marker in markers if marker.start() > start), None)
    start_of_document = above[-1].start() if above else 0
    behind = "" if below is None else body[below.end() if below[0].startswith(".") else below.start() :]
    edited = body[:start_of_document] + behind
    if _data(edited) != expected:
        message = f"cannot take document {document + 1} out without changing the others"
        raise TasError(message, hint="Edit the file by hand.")
    return mark + edited


def with_values(text: str, data: Any, entries: Sequence[Entry]) -> str | None:
    """Returns the text of one document, which should contain ``data``, with several values set one after another.

    Returns None if the edited text does not parse to that result: the text is cut from a file, where it may end
    differently. Raises TasError if ``data`` lacks these paths.
    """
    expected = _with_values([data], 0, entries)
    try:
        edited = _edited(text, 0, entries)
    except TasError:
        return None
    return edited if _data(edited) == expected else None


def _edited(text: str, document: int, entries: Sequence[Entry]) -> str:
    """Returns the text with the values set, without checking for other changes.

    Parses the text once for all entries of different mappings, not once per entry.
    """
    while entries:
        try:
            root = roots(text)[document].node
        except (YAMLError, IndexError) as error:  # a value before has broken the text
            raise _refusal(entries[0][0]) from error
        text, entries = _Editor(text).set(root, entries)
    return text


def _data(text: str) -> list[Any]:
    """Returns the data of all documents of a text."""
    return [document.data for document in parse("", text)[0]]


def sent_elsewhere(
    path: str,
    content: bytes,
    pool: str | None,
    priority: str | None,
    is_meant: Callable[[str, str], bool] = lambda _kind, _name: True,
) -> bytes:
    """Returns a file with another ``pool`` and ``priority`` in its workflows, workloads and PodCliqueSets.

    A value of None changes nothing. Changes only items for which ``is_meant`` accepts kind and name. Returns a file
    that is not text unchanged. Raises TasError like ``set_value``.
    """
    text, problem = decode(path, content)
    if problem is not None or (pool is None and priority is None):
        return content
    if template_root(text) is not None:
        hint = "Where it has a value for them, use --set; or edit the file."
        raise TasError(f"{path} is a template: its pool and priority are what it expands to", hint=hint)
    parsed_documents, _ = parse(path, text)
    documents_and_items = [
        item for parsed in parsed_documents for item in items_of(parsed) if isinstance(item, Document)
    ]
    for key, value in (("pool", pool), ("priority", priority)):
        for document in documents_and_items if value is not None else ():
            kind, data = recognise(document), document.data
            if kind is WORKFLOW and isinstance(data.get("workflow"), dict):
                if is_meant("Workflow", str(data["workflow"].get("name"))):
                    text = set_value(
                        text, document.index, (*document.within, "workflow", key), str(value), after="name"
                    )
            elif isinstance(kind, Kind) and (kind.described is not None or kind.name == SET.kind):
                named = data.get("metadata")
                if is_meant(str(data.get("kind")), str(named.get("name") if isinstance(named, dict) else None)):
                    label: KeyPath = (*document.within, "metadata", "labels", f"{OWN_PREFIX}{key}")
                    text = set_value(text, document.index, label, str(value))
    return text.encode("utf-8")


class _Cut(NamedTuple):
    """A part of the text, and its replacement."""

    start: int
    end: int
    new: str


class _Editor:
    """Edits one text."""

    def __init__(self, text: str) -> None:
        self._text = text

    def set(self, root: Any, entries: Sequence[Entry]) -> tuple[str, list[Entry]]:
        """Returns the edited text, and the entries that are still to be set. Changes each mapping once, because its
        next change may need the marks of the text just added.
        """
        pending: list[Entry] = []
        cuts: list[tuple[int, int, _Cut]] = []
        taken: set[int] = set()
        for path, value, after in entries:
            node, depth = self._parent(root, path)
            if id(node) in taken:
                pending.append((path, value, after))
                continue
            taken.add(id(node))
            cut = self._cut(node, path, depth, (value, after))
            cuts.append((cut.start, -depth, cut))  # where two mappings end in one place, the inner one ends first
        pieces: list[str] = []
        position = 0
        for _, _, cut in sorted(cuts):
            pieces += self._text[position : cut.start], cut.new
            position = cut.end
        return "".join((*pieces, self._text[position:])), pending

    def _parent(self, root: Any, path: KeyPath) -> tuple[Any, int]:
        """Returns the innermost existing node on the way to ``path``, without the last step, and its depth."""
        node = root
        for depth, step in enumerate(path[:-1]):
            key_and_child = _own_child(node, step)
            if key_and_child is None:
                return node, depth
            key, child = key_and_child
            if key is not None and self._is_elsewhere(key, child):
                raise _refusal(path)
            node = child
        return node, len(path) - 1

    def _cut(self, node: Any, path: KeyPath, depth: int, new: tuple[Change, str | None]) -> _Cut:
        """Returns the edit of ``node``, ``depth`` steps down the path, that sets a value behind a key."""
        value, after = new
        key_and_child = _own_child(node, path[depth])
        if isinstance(value, RenamedEntry):
            if key_and_child is None:
                raise _refusal(path)
            return self._rename(*key_and_child, value)
        if isinstance(value, Appended):
            if (
                key_and_child is not None
                and type(key_and_child[1]) is SequenceNode
                and not self._is_elsewhere(*key_and_child)
            ):
                return self._append(path, key_and_child[1], value.items)
            value = list(value.items)
        if value is None:
            return self._remove(node, path, depth)
        if key_and_child is None:
            return self._add(node, path[depth:], value, after)
        return self._replace(path, *key_and_child, value)

    def _rename(self, key: Any, child: Any, new: RenamedEntry) -> _Cut:
        entry = yaml.flow({new.key: new.value}, _QUOTES.get(key.style, ""))[1:-1]
        return _Cut(key.start_mark.index, self._end(key, child), entry)

    def _remove(self, node: Any, path: KeyPath, depth: int) -> _Cut:
        """Removes an entry that is not the only one of its mapping or list: its lines in block style, the entry in flow
        style.
        """
        is_list, step = type(node) is SequenceNode, path[depth]
        entries: list[tuple[Any, Any]] = (
            [(None, member) for member in node.value] if is_list else node.value if type(node) is MappingNode else []
        )
        keys = range(len(entries)) if is_list else [key.value for key, _ in entries]
        index = next((index for index, key in enumerate(keys) if key == step), None)
        if index is None or len(entries) < 2:
            raise _refusal(path)
        start, end = _start(*entries[index]), self._end(*entries[index])
        if node.flow_style:
            if index > 0:
                return _Cut(self._end(*entries[index - 1]), end, "")
            return _Cut(start, _start(*entries[1]), "")
        line = self._text.rfind("\n", 0, start) + 1
        if self._text[line:start].strip(" ") != "-" * is_list:
            raise _refusal(path)
        if self._text[end - 1] not in "\r\n":
            line_break = _BREAK.search(self._text, end)
            end = line_break.end() if line_break else len(self._text)
        return _Cut(line, end, "")

    def _replace(self, path: KeyPath, key: Any, child: Any, value: Value) -> _Cut:
        is_alias = self._is_elsewhere(key, child)
        is_scalar = isinstance(value, (str, int)) or value is None
        if type(child) is not ScalarNode and not is_alias:
            raise _refusal(path)
        if not is_scalar and is_alias:
            raise _refusal(path)
        if is_alias:
            start = self._text.index("*", key.end_mark.index)
            end = self._end_of_word(start)
            new = yaml.scalar(value, flow=True)
        else:
            start, end = self._scalar_span(child)
            new = yaml.flow(value, _QUOTES.get(child.style, "") if is_scalar else "")
            if child.style in ("|", ">"):
                header = _BLOCK_HEADER.match(self._text, start)
                new += (header[1] or "") if header else ""
            elif start == end and self._text[start - 1] == ":":  # an empty value
                new = f" {new}"
        return _Cut(start, end, new)

    def _append(self, path: KeyPath, node: Any, members: Sequence[Mapping[str, Value]]) -> _Cut:
        """Adds items behind the last item of a list."""
        if node.flow_style:
            text = ", ".join(yaml.flow(member) for member in members)
            if not node.value:
                position = self._text.index("[", node.start_mark.index) + 1
                return _Cut(position, position, text)
            position = self._end(None, node.value[-1])
            return _Cut(position, position, f", {text}")
        dash = node.start_mark
        if self._text[dash.index : dash.index + 1] != "-":
            raise _refusal(path)
        return self._add_lines(self._end(None, node), [" " * dash.column + line for line in yaml.items(members)])

    def _scalar_span(self, node: Any) -> tuple[int, int]:
        """Returns the span of a scalar, without the anchor before and the blank lines behind a block scalar."""
        start, end = node.start_mark.index, node.end_mark.index
        if self._text[start : start + 1] == "&":
            start = self._end_of_word(start)
            while start < end and self._text[start] in " \t\r\n":
                start += 1
        return start, start + len(self._text[start:end].rstrip(" \t\r\n"))

    def _end_of_word(self, position: int) -> int:
        """Returns the end of an anchor or alias."""
        while position < len(self._text) and self._text[position] not in " \t\r\n,]}":
            position += 1
        return position

    def _break(self, position: int) -> str:
        """Returns the line break in use around ``position``."""
        line_break = _BREAK.search(self._text, position) or _BREAK.search(self._text)
        return line_break[0] if line_break else "\n"

    @staticmethod
    def _is_elsewhere(key: Any, child: Any) -> bool:
        """Whether a key's value is an alias, so that its node is where the anchor is."""
        return key is not None and child.start_mark.index < key.end_mark.index

    def _add(self, node: Any, path: KeyPath, value: Value, after: str | None) -> _Cut:
        """Adds the key ``path[0]`` to the mapping ``node``, with mappings for the rest of the path."""
        for step in reversed(path[1:]):
            value = {str(step): value}
        if type(node) is ScalarNode:  # a null: the data say so
            start, end = self._scalar_span(node)
            gap = "" if self._text[start - 1].isspace() else " "
            return _Cut(start, end, gap + yaml.flow({str(path[0]): value}))
        if type(node) is not MappingNode:
            raise _refusal(path)
        quoted = bool(node.value) and all(key.style == '"' for key, _ in node.value)
        if node.flow_style:
            return self._add_flow(node, str(path[0]), value, after, quoted=quoted)
        return self._add_block(node, str(path[0]), value, after)

    def _add_flow(self, node: Any, key: str, value: Value, after: str | None, *, quoted: bool) -> _Cut:
        entry = yaml.flow({key: value}, '"' if quoted else "")[1:-1]
        if not node.value:
            position = self._text.index("{", node.start_mark.index) + 1
            return _Cut(position, position, entry)
        if after == FIRST:
            start_of_first = int(node.value[0][0].start_mark.index)
            if "?" not in self._text[node.start_mark.index : start_of_first]:
                return _Cut(start_of_first, start_of_first, f"{entry}, ")
        before, child = _entry_before(node, after)
        position = self._end(before, child)
        start = int(before.start_mark.index)
        indent = self._text[self._text.rfind("\n", 0, start) + 1 : start]
        rest_of_line = _REST_OF_LINE.match(self._text, position)
        if rest_of_line is None or indent.strip(" \t"):
            return _Cut(position, position, f", {entry}")
        line, end = f"{self._break(position)}{indent}{entry}", rest_of_line.end()
        if rest_of_line[1]:
            return _Cut(end, end, f"{line},")
        return _Cut(position, end, f",{self._text[position:end]}{line}")

    def _add_block(self, node: Any, key: str, value: Value, after: str | None) -> _Cut:
        before, child = _entry_before(node, after)
        indent = " " * self._column(node)
        top = self._top(node) if after == FIRST else None
        lines = yaml.entry(key, value, indent)
        if top is not None:
            newline = self._break(top)
            return _Cut(top, top, f"{newline.join(lines)}{newline}")
        return self._add_lines(self._end(before, child), lines)

    def _add_lines(self, position: int, added: Sequence[str]) -> _Cut:
        """Adds lines behind the entry that ends at ``position``, and behind its comment."""
        newline = self._break(position)
        lines = newline.join(added)
        if self._text[position - 1] in "\r\n":  # behind a block scalar, which ends with its line
            return _Cut(position, position, f"{lines}{newline}")
        while position < len(self._text) and self._text[position] not in "\r\n":
            position += 1
        return _Cut(position, position, f"{newline}{lines}")

    def _column(self, node: Any) -> int:
        """Returns the indentation of the keys of a block mapping; a key may follow a '?'."""
        mark = node.value[0][0].start_mark
        lead = self._text[mark.index - mark.column : mark.index].rstrip()
        return len(lead) - 1 if lead.endswith("?") else int(mark.column)

    def _top(self, node: Any) -> int | None:
        """Returns where the lines of a block mapping start, with comments above; None if it starts within a line."""
        mark = node.value[0][0].start_mark
        position = int(mark.index) - int(mark.column)
        if self._text[position : position + self._column(node)].strip():
            return None
        while position > 0:
            above = self._text.rfind("\n", 0, position - 1) + 1
            line = self._text[above:position].strip()
            if line and not line.startswith("#"):
                break
            position = above
        return position

    def _end(self, key: Any, child: Any) -> int:
        """Returns the end of an entry, without comments behind the entry."""
        if self._is_elsewhere(key, child):
            return self._end_of_word(self._text.index("*", key.end_mark.index))
        if type(child) is ScalarNode or child.flow_style:
            return int(child.end_mark.index)
        last = child.value[-1]
        return self._end(*last) if type(child) is MappingNode else self._end(None, last)


def _own_child(node: Any, step: str | int) -> tuple[Any, Any] | None:
    """Returns the key and value nodes one step below ``node``, without those of a merge key."""
    if type(node) is SequenceNode and isinstance(step, int) and step < len(node.value):
        return None, node.value[step]
    if type(node) is MappingNode:
        return next(((key, value) for key, value in node.value if key.value == step), None)
    return None


def _start(key: Any, child: Any) -> int:
    """Returns the start of an entry of a mapping or of a list."""
    return int((child if key is None else key).start_mark.index)


def _entry_before(node: Any, after: str | None) -> tuple[Any, Any]:
    """Returns the entry to add behind: the one with the key ``after``, else the last."""
    named = ((key, value) for key, value in node.value if key.value == after)
    entry: tuple[Any, Any] = next(named, node.value[-1])
    return entry


def _with_values(documents: list[Any], document: int, entries: Sequence[Entry]) -> list[Any]:
    """Returns the data of a file with ``entries`` in one document."""
    changed: list[Any] = without_aliases(documents)
    for path, value, _ in entries:
        target = changed[document]
        try:
            for step in path[:-1]:
                if not isinstance(step, int) and target.get(step) is None:
                    target[step] = {}
                target = target[step]
            if value is None or isinstance(value, RenamedEntry):
                del target[path[-1]]
            if isinstance(value, RenamedEntry):
                target[value.key] = without_aliases(value.value)
            elif isinstance(value, Appended):
                target[path[-1]] = extended(target.get(path[-1]), value)
            elif value is not None:
                target[path[-1]] = without_aliases(value)
        except (AttributeError, IndexError, KeyError, TypeError) as error:
            raise _refusal(path) from error
    return changed


def without_aliases(data: Any) -> Any:
    """Returns a copy in which aliases share nothing with their anchors."""
    if isinstance(data, Mapping):
        return {key: without_aliases(value) for key, value in data.items()}
    return [without_aliases(member) for member in data] if isinstance(data, list) else data


def extended(present: object, added: Appended) -> list[Any]:
    """Returns ``present`` with the items appended; anything but a list counts as empty."""
    return [*(present if isinstance(present, list) else ()), *map(without_aliases, added.items)]


def _refusal(path: KeyPath) -> TasError:
    name = ".".join(str(step) for step in path)
    return TasError(
        f"cannot set {name} without changing anything else in the file",
        hint="Its anchors, its lists or its layout stand in the way; edit the file by hand.",
    )
