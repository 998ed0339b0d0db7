"""Fills in one text with tokens such as ``{{USER_CPU}}``, as in pod templates and resource validations."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from jinja2 import Environment, TemplateError, nodes

from kubectl_tas.jinja.bounds import TEMPLATE_LIMIT, TEMPLATE_VALUE, Budget, Refusal
from kubectl_tas.jinja.sandbox import expanded, names_used, walk

_MARK = re.compile(r"\{[{%#]")
_ALONE = re.compile(r"\{\{-?\s*([A-Za-z_][A-Za-z0-9_]*)\s*-?\}\}")
MAX_LENGTH = 65_536
"""The most characters of a text with tokens."""
_ENVIRONMENT = Environment(keep_trailing_newline=True)


def is_template(text: str) -> bool:
    """Whether the text has tokens or tags to fill in."""
    return _MARK.search(text) is not None


def filled(text: str, values: Mapping[str, Any], budget: Budget) -> str | None:
    """Returns ``text`` with ``values``; None if the text is a single token with the value None. Raises Refusal."""
    if not is_template(text):
        return text
    alone = _ALONE.fullmatch(text.strip())
    if alone is not None and alone[1] in values and values[alone[1]] is None:
        return None
    return "".join(piece.text for piece in expanded(_tree(text), values, budget))


def tokens_in(text: str) -> frozenset[str]:
    """Returns the names that ``text`` uses. Raises Refusal if the text is not a valid template."""
    return names_used(_tree(text))


@lru_cache(maxsize=1024)
def _tree(text: str) -> nodes.Template:
    if len(text) > MAX_LENGTH:
        message = f"a text with tokens of more than {MAX_LENGTH:,} characters"
        raise Refusal(TEMPLATE_LIMIT, message, "Make several of it; text without tokens may be longer.")
    try:
        tree = _ENVIRONMENT.parse(text)
        if any(isinstance(node, (nodes.For, nodes.Macro, nodes.CallBlock)) for node in walk(tree)):
            raise Refusal(TEMPLATE_VALUE, "there are no loops and macros here", "Use tokens, filters and if.")
        return tree
    except (TemplateError, ValueError, OverflowError, RecursionError, MemoryError) as error:
        message = str(getattr(error, "message", None) or "it nests too deep, or has a number of too many digits")
        raise Refusal(TEMPLATE_VALUE, message[:1].lower() + message[1:].rstrip("."), "Compare Jinja's docs.") from error
