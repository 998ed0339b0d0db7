"""YAML text in, nodes with marks out: by libyaml, and where that is not up to YAML 1.2, by ruamel's own parser."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import _ruamel_yaml
from ruamel.yaml.error import MarkedYAMLError

MAX_DEPTH = 64
"""How deep a document may be nested."""

_NOT_IN_LIBYAML = ("found unexpected ':'", "second occurrence")
"""libyaml takes ``image: python:3.13`` within braces, and an anchor's second use, for errors; YAML 1.2 does not."""
_SURROGATE = "found invalid Unicode character escape code"
"""libyaml's word for half a character; JSON has no other way to escape one beyond the first 65,536."""
_PAIR = re.compile(r"(?<!\\)((?:\\\\)*)\\u([dD][89abAB][0-9a-fA-F]{2})\\u([dD][c-fC-F][0-9a-fA-F]{2})")


class TooDeepError(Exception):
    """A document is nested deeper than MAX_DEPTH; ``mark`` is where."""

    def __init__(self, mark: Any) -> None:
        super().__init__()
        self.mark = mark


class _Untagged:
    """What a composer asks about tags and depth: every node keeps the tag '' unless one is written."""

    def __init__(self) -> None:
        self._depth = 0
        self._untagged = 0

    @property
    def has_tags(self) -> bool:
        """Whether any node so far carries a tag: a composer asks for the tag of those that have none."""
        return self._untagged < 0

    def resolve(self, kind: type, value: Any, implicit: Any) -> str:
        self._untagged += 1
        return ""

    def descend_resolver(self, parent: Any, index: Any) -> None:
        self._untagged -= 1
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise TooDeepError(parent.start_mark)

    def ascend_resolver(self) -> None:
        self._depth -= 1


class _Composer(_Untagged, _ruamel_yaml.CParser):  # type: ignore[misc]
    """libyaml's composer."""

    def __init__(self, text: str) -> None:
        _ruamel_yaml.CParser.__init__(self, text)
        _Untagged.__init__(self)


def compose(text: str) -> list[tuple[Any, bool]]:
    """The root node of every document, and whether any node up to there carries a tag.

    Raises TooDeepError, and ruamel's YAMLError for text that is no YAML.
    """
    try:
        return _composed(text)
    except MarkedYAMLError as error:
        if error.problem == _SURROGATE and _is_json(text):
            return _json(text)
        if error.problem not in _NOT_IN_LIBYAML:
            raise
    return list(_pure(text))


def _composed(text: str) -> list[tuple[Any, bool]]:
    """The same by libyaml."""
    composer = _Composer(text)
    try:
        return list(_documents(composer, composer))
    finally:
        composer.dispose()


def _json(text: str) -> list[tuple[Any, bool]]:
    """The same of JSON, in which a character may be written as two escapes.

    Both become one escape behind an escaped line break, which means nothing and makes up the length, so that every
    mark stays where it is. A key must be on one line: where one has such a character, what follows stands two
    characters too far to the left for each.
    """
    try:
        return _composed(_PAIR.sub(lambda pair: f"{pair[1]}\\\n{_escape(pair)}", text))
    except MarkedYAMLError:
        return _composed(_PAIR.sub(lambda pair: f"{pair[1]}{_escape(pair)}", text))


def _escape(pair: re.Match[str]) -> str:
    """The escape of one character for two surrogates."""
    character = 0x10000 + ((int(pair[2], 16) & 0x3FF) << 10) + (int(pair[3], 16) & 0x3FF)
    return f"\\U{character:08X}"


def _is_json(text: str) -> bool:
    """Whether a text is JSON as a whole."""
    try:
        json.loads(text.removeprefix("\ufeff"))
    except (ValueError, RecursionError):
        return False
    return True


def _documents(composer: Any, tags: Any) -> Iterator[tuple[Any, bool]]:
    while composer.check_node():
        yield composer.get_node(), tags.has_tags


def _pure(text: str) -> Iterator[tuple[Any, bool]]:
    """The same by ruamel's own parser, some forty times slower."""
    from ruamel.yaml import YAML
    from ruamel.yaml.resolver import VersionedResolver
    from ruamel.yaml.tag import Tag

    class Resolver(_Untagged, VersionedResolver):
        def __init__(self, *arguments: Any, **options: Any) -> None:
            VersionedResolver.__init__(self, *arguments, **options)
            _Untagged.__init__(self)

        def resolve(self, kind: type, value: Any, implicit: Any) -> Any:
            return Tag(suffix=super().resolve(kind, value, implicit))

    yaml = YAML(typ="safe", pure=True)
    yaml.Resolver = Resolver
    constructor, _ = yaml.get_constructor_parser(text)
    constructor.composer.warn_double_anchors = False
    yield from _documents(constructor.composer, yaml.resolver)
