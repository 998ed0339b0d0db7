"""Tests hostile templates of workflows by the hundred thousand: ``python -m fuzz.templates``.

Each must end within the processor time and memory that SECURITY.md promises, with a text or with findings that have
places. The text must equal the one of Jinja's sandbox with OSMO's settings (``SandboxedJinjaRenderer`` of
src/lib/utils/jinja_sandbox.py in NVIDIA/OSMO). Case K of a seed is always the same, so ``--only K`` runs it alone.
"""

from __future__ import annotations

import argparse
import gc
import multiprocessing
import os
import re
import resource
import signal
import sys
import time
import traceback
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

from jinja2 import StrictUndefined
from jinja2.filters import FILTERS as JINJA_FILTERS
from jinja2.sandbox import SandboxedEnvironment
from jinja2.tests import TESTS as JINJA_TESTS

from kubectl_tas.base.diagnostics import Diagnostic
from kubectl_tas.jinja.bounds import Budget
from kubectl_tas.jinja.filters import FILTERS, METHODS, TESTS
from kubectl_tas.load.expansion import UnreadableError, WorkflowTemplate
from kubectl_tas.load.templates import Templates
from kubectl_tas.model.config import Setting

SECONDS = 1.0
"""Processor time of one expansion that SECURITY.md promises."""
STUCK = 4
"""Whole seconds of processor time after which the kernel ends a worker."""
MEMORY = 200 << 20
"""Bytes that an expansion may use."""
CHUNK = 500
"""Cases per process."""
COMPARED = 20_000
"""Maximum number of steps of an expansion whose text is compared with Jinja's."""
LARGE = re.compile(r"[0-9]{6}")
"""Numbers that Jinja's optimizer expands to large constants, even in code that never runs."""
HEAD = "workflow:\n  name: train\n  pool: team\n# "
VALUES: dict[str, Any] = {
    "n": 8,
    "ratio": 2.5,
    "x": "abc",
    "line": "a b-c\n  (d) <e> 'f' \"g\" & é",
    "flag": True,
    "nothing": [],
    "items": [3, 1, 2],
    "words": ["b", "A", "c"],
    "rows": [{"name": "b", "size": 2}, {"name": "a", "size": 1}, {"name": "C"}],
    "map": {"a": 1, "b": {"c": "d"}, "items": 5, "keys": "k"},
}
FORK = multiprocessing.get_context("fork")


@dataclass(frozen=True)
class Failure:
    """A broken promise."""

    case: int
    kind: str
    detail: str
    template: str


@dataclass
class Totals:
    """The results of all cases."""

    outcomes: Counter[str] = field(default_factory=Counter)
    failures: list[Failure] = field(default_factory=list)
    slowest: tuple[float, int] = (0.0, -1)


class Maker:
    """Generates the template of one case."""

    def __init__(self, random: Random) -> None:
        self.random = random
        self.hostile = random.random() < 0.4
        self.tame = not self.hostile and random.random() < 0.8
        self.names = [*VALUES, "q"]

    def text(self) -> str:
        """Returns a whole template. A small share of the templates is damaged."""
        found = "".join(self.statement(3) for _ in range(self.random.randint(1, 4)))
        if self.random.random() < (0.03 if self.tame else 0.12):
            for _ in range(self.random.randint(1, 4)):
                place = self.random.randrange(len(found) + 1)
                end = place + self.random.choice((0, 1, 1, 3, 9))
                piece = self.random.choice(
                    ("", "{{", "}}", "{%", "%}", "(", "[", "'", "\\", ".", "|", " " * 99, "é", "9")
                )
                found = found[:place] + piece + found[end:]
        return found

    def pick(self, *choices: str) -> str:
        """Returns one of several texts."""
        return self.random.choice(choices)

    def often(self, share: float) -> bool:
        """Returns True with the probability ``share``."""
        return self.random.random() < share

    def statement(self, depth: int) -> str:
        """Returns text, a tag, or a block."""
        if depth <= 0 or self.often(0.45):
            return self.pick("", " ", "\n", "text ") + self.output(depth)
        return self.random.choice(
            (self.loop, self.loop, self.branch, self.branch, self.assignment, self.assignment, self.block, self.macro)
        )(depth)

    def output(self, depth: int) -> str:
        """Returns a tag that prints a value."""
        minus = self.pick("", "", "", "-")
        return "{{" + minus + " " + self.value(depth + 1) + " " + self.pick("", "", "-") + "}}"

    def body(self, depth: int) -> str:
        """Returns the content of a block."""
        return "".join(self.statement(depth - 1) for _ in range(self.random.randint(0, 2)))

    def loop(self, depth: int) -> str:
        """Returns a ``for`` block, whose body may use the loop variables."""
        name = self.pick("i", "i", "j", "k, v", "x", "loop" if self.often(0.02) else "i")
        over = f"range({self.amount()})" if self.often(0.3) else self.value(1)
        if self.tame:
            over = self.typed("map", 1) + ".items()" if "," in name else self.typed("items", 1)
        test = (
            f" if {self.value(1)}"
            if self.often(0.2)
            else self.pick("", "", "", " recursive" if self.often(0.1) else "")
        )
        outer, self.names = self.names, [*self.names, *name.split(", "), "loop", *(f"loop.{it}" for it in LOOP)]
        inner = self.body(depth)
        self.names = outer
        other = "{% else %}" + self.body(depth) if self.often(0.2) else ""
        return f"{{% for {name} in {over}{test} %}}{inner}{other}{{% endfor %}}"

    def branch(self, depth: int) -> str:
        """Returns an ``if`` block."""
        others = f"{{% elif {self.value(2)} %}}{self.body(depth)}" if self.often(0.3) else ""
        others += "{% else %}" + self.body(depth) if self.often(0.5) else ""
        return f"{{% if {self.value(2)} %}}{self.body(depth)}{others}{{% endif %}}"

    def assignment(self, depth: int) -> str:
        """Returns a ``set`` tag or block."""
        name = self.pick("a", "b", "x", "n", "space", "a, b", "space.f", "space.g")
        if "." in name and "space" not in self.names:
            name = "space"
        self.names += [part for part in name.split(", ") if part not in self.names]
        if name == "space":
            return f"{{% set space = namespace({self.pick('', 'f=1', 'f=' + self.value(1))}) %}}"
        if self.often(0.2):
            return f"{{% set {name}{self.pick('', '|upper', '|trim|title')} %}}{self.body(depth)}{{% endset %}}"
        if self.hostile and self.often(0.3):
            return f"{{% set {name} = {self.large(2)} %}}" + f"{{% set {name} = {self.pick(*DOUBLED)} %}}".replace(
                "it", name
            ) * self.random.choice((1, 2, 20, 60))
        return f"{{% set {name} = {self.value(2)} %}}"

    def block(self, depth: int) -> str:
        """Returns a ``with``, ``filter`` or ``raw`` block, a comment, or an unsupported tag."""
        kind = self.random.random()
        if kind < 0.3:
            return f"{{% with a = {self.value(2)}, b = {self.value(1)} %}}{self.body(depth)}{{% endwith %}}"
        if kind < 0.55:
            filters = "|".join(self.filter(1) for _ in range(self.random.randint(1, 2)))
            return f"{{% filter {filters} %}}{self.body(depth)}{{% endfilter %}}"
        if kind < 0.65:
            return "{% raw %}{{ raw }}{% endraw %}{# comment #}"
        if self.tame and self.often(0.9):
            return self.output(depth)
        return self.pick(*OTHERS).replace("BODY", self.body(depth)).replace("VALUE", self.value(1))

    def macro(self, depth: int) -> str:
        """Returns a macro with calls of it."""
        parameters = self.pick("", "a", "a, b", f"a, b={self.value(1)}", f"a={self.value(1)}, b=a", "n, x='y'")
        outer, self.names = self.names, [*self.names, "a", "b", "caller()", "caller"]
        inner = self.body(depth) + self.pick(
            "", "", "{{ a }}", "{{ caller() }}", "{{ m() }}" if self.often(0.1) else ""
        )
        self.names = outer
        given = ", ".join(self.pick("", "a=", "b=") + self.value(1) for _ in range(self.random.randint(0, 2)))
        call = f"{{{{ m({given}) }}}}" * self.random.randint(0, 2)
        if self.often(0.25):
            call += f"{{% call m({given}) %}}{self.body(depth)}{{% endcall %}}"
        self.names += ["m", f"m({self.value(1)})"]
        return f"{{% macro m({parameters}) %}}{inner}{{% endmacro %}}{call}"

    def typed(self, kind: str, depth: int) -> str:
        """Returns an expression of a type, which most likely has a value."""
        if depth <= 0 or self.often(0.2):
            return self.pick(*PLAIN[kind])
        pattern = self.pick(*TYPED[kind])
        for name in TYPED:
            while f"<{name}>" in pattern:
                pattern = pattern.replace(f"<{name}>", self.typed(name, depth - 1), 1)
        return f"({pattern})"

    def value(self, depth: int) -> str:
        """Returns an expression."""
        if self.tame and self.often(0.95):
            return self.pick(self.typed(self.pick(*TYPED), depth), self.random.choice(self.names))
        if depth <= 0 or self.often(0.25):
            return self.atom(depth)
        kind = self.random.random()
        if kind < 0.34:
            return f"{self.operand(depth)}|{self.filter(depth)}"
        if kind < 0.5:
            operator = self.pick(
                "+", "-", "*", "/", "//", "%", "**", "~", "~", "+", "and", "or", "==", "<", "in", "not in", "!="
            )
            return f"{self.operand(depth)} {operator} {self.operand(depth)}"
        if kind < 0.58:
            return f"{self.operand(depth)} is {self.pick('', '', 'not ')}{self.test(depth)}"
        if kind < 0.68:
            return f"{self.operand(depth)}.{self.method(depth)}"
        if kind < 0.78:
            return self.operand(depth) + self.part(depth)
        if kind < 0.84:
            other = f" else {self.value(depth - 1)}" if self.often(0.6) else ""
            return f"({self.value(depth - 1)} if {self.value(depth - 1)}{other})"
        if kind < 0.88:
            return self.pick("not ", "-", "+") + self.operand(depth)
        if kind < 0.92:
            return self.pick(*GLOBALS) + f"({self.arguments(depth)})"
        return self.literal(depth)

    def operand(self, depth: int) -> str:
        """Returns an expression that is safe beside an operator."""
        found = self.value(depth - 1)
        return found if found.isalnum() else f"({found})"

    def atom(self, depth: int) -> str:
        """Returns a name or a literal."""
        if self.hostile and self.often(0.25):
            return self.large(depth)
        return self.random.choice(self.names) if self.often(0.6) else self.literal(0)

    def literal(self, depth: int) -> str:
        """Returns a literal; lists and mappings only above depth 0."""
        if depth <= 0:
            return self.pick(*LITERALS)
        inner = [self.value(depth - 1) for _ in range(self.random.randint(0, 3))]
        kind = self.random.random()
        if kind < 0.5:
            return f"[{', '.join(inner)}]"
        if kind < 0.7:
            return f"({', '.join(inner)},)" if inner else "()"
        return "{" + ", ".join(f"{self.pick(*KEYS)}: {item}" for item in inner) + "}"

    def large(self, depth: int) -> str:
        """Returns an expression with a large value, or nearly so."""
        if depth > 0 and self.often(0.2):
            return f"({self.large(depth - 1)} {self.pick('+', '~', '*', '**', '%')} {self.large(depth - 1)})"
        amount = self.amount()
        text = self.pick("a", "ab ", "a\\n", "€", "ΐ", "a.", "0.", "9", " ", "-", "%", "%s", "<", "\\x01")
        return self.pick(
            f"('{text}' * {amount})",
            f"('{text}' * {amount})",
            f"range({amount})",
            f"([{self.pick('0', 'x', 'rows', '()', '0.5')}] * {amount})",
            f"('{text}' * {amount} ~ 'b')",
            f"('b' ~ '{text}' * {amount})",
            amount,
            f"-{amount}",
            f"1e{self.random.randint(1, 400)}",
        )

    def amount(self) -> str:
        """Returns a number of items."""
        if not self.hostile:
            return self.pick("0", "1", "2", "3", "5")
        return str(self.random.choice((1, 9, 99, 999, 9999, 90_000, 200_000, 1_000_000, 4_000_000, 10**9, 2**62)))

    def filter(self, depth: int) -> str:
        """Returns a filter with arguments."""
        name = self.random.choice(SUPPORTED if self.often(0.93) else sorted(JINJA_FILTERS))
        if name in ("map", "select", "reject") and self.often(0.8):
            inner = self.filter(0) if name == "map" else self.test(0)
            own, _, rest = inner.partition("(")
            return f"{name}('{own}'{', ' + rest if rest else ')'}"
        if name in ("map", "sort", "selectattr", "rejectattr", "sum", "unique", "max", "min", "join") and self.often(
            0.5
        ):
            key = "" if name.endswith("attr") else "attribute="
            return f"{name}({key}{self.pick(*ATTRIBUTES)})"
        if self.often(0.6):
            return name + self.pick(*PLAUSIBLE.get(name, ("",)))
        return f"{name}({self.arguments(depth)})"

    def test(self, depth: int) -> str:
        """Returns a test with arguments."""
        name = self.random.choice([it for it in (TESTS if self.often(0.95) else JINJA_TESTS) if it.isalpha()])
        one = name in ("divisibleby", "eq", "equalto", "ge", "gt", "in", "le", "lt", "ne", "greaterthan", "lessthan")
        return f"{name}({self.value(depth - 1)})" if one or self.often(0.03) else name

    def method(self, depth: int) -> str:
        """Returns a method with arguments, rarely without a call."""
        name = self.random.choice(NAMES if self.often(0.93) else OTHER_METHODS)
        if self.often(0.04):
            return name
        return f"{name}({self.arguments(depth) if self.often(0.75) else ''})"

    def part(self, depth: int) -> str:
        """Returns an item access, a field access or a slice."""
        if self.often(0.3):
            return f".{self.pick('a', 'b', 'c', 'name', 'items', 'keys', 'size', '0', '__class__', 'index')}"
        if self.often(0.4):
            parts = [
                self.pick("", "", "0", "1", "-1", "2", self.value(depth - 2)) for _ in range(self.random.randint(2, 3))
            ]
            return f"[{':'.join(parts)}]"
        return f"[{self.value(depth - 2)}]"

    def arguments(self, depth: int) -> str:
        """Returns the arguments of a call."""
        count = self.random.choice((0, 1, 1, 1, 2, 2, 3))
        keys = ("", "", "", "", "", "count=", "default=", "width=", "first=", "attribute=", "indent=", "base=", "sep=")
        return ", ".join(self.pick(*keys) + self.value(depth - 2) for _ in range(count))


PLAIN: dict[str, Sequence[str]] = {
    "text": (
        "x",
        "line",
        "'a'",
        "'b-c d'",
        "''",
        "'3'",
        "' 7.5 '",
        "'a\\nb\\n'",
        "'<&\\'>'",
        "'é€'",
        "'a,b,,c'",
        "words[0]",
    ),
    "number": ("n", "ratio", "0", "1", "-3", "2.5", "7", "map.a", "0.1", "12345", "2.0"),
    "small": ("0", "1", "2", "-1", "3"),
    "items": ("items", "words", "nothing", "[]", "[1, 2.5, 3]", "(2, 1)", "['x', 'Y']", "range(4)"),
    "rows": ("rows", "rows[:2]", "[map]", "[{'name': 'z', 'size': 0}]"),
    "map": ("map", "rows[0]", "{}", "{'k': 1, 'B': 2, 'a': 'z'}", "dict(a=1, b='c')"),
    "flag": ("flag", "true", "false", "n > 3", "x == 'abc'", "q is defined"),
}
TYPED: dict[str, Sequence[str]] = {
    "text": (
        *(
            "<text>|upper",
            "<text>|lower",
            "<text>|title",
            "<text>|capitalize",
            "<text>|trim",
            "<text>|indent",
            "<flag>|string",
        ),
        *(
            "<text>|indent(<small>, <flag>, <flag>)",
            "<text>|replace(<text>, <text>)",
            "<text>|replace('a', 'b', <small>)",
        ),
        *(
            "<text> ~ <number>",
            "<text> + <text>",
            "<text> * <small>",
            "<text>[<small>:]",
            "<text>[::-1]",
            "<text>|reverse",
        ),
        *(
            "'%s-%05d' % (<text>, <number>)",
            "'%s|%.2f'|format(<items>, <number>)",
            "<items>|join(<text>)",
            "<number>|string",
        ),
        *(
            "<items>|tojson",
            "<map>|tojson(indent=<small>)",
            "<text>|tojson",
            "<text> + (<text>|tojson)",
            "(<text>|tojson) ~ <text>",
        ),
        *(
            "<text>.replace('a', <text>)",
            "<text>.upper()",
            "<text>.title()",
            "<text>.strip('a ')",
            "<text>.zfill(<number>|int)",
        ),
        *(
            "'-'.join(<text>)",
            "<text> if <flag>",
            "<text> if <flag> else <text>",
            "<rows>|map(attribute='name')|join",
            "q|d(<text>)",
        ),
        *(
            "<text>|default(<text>, true)",
            "(<text> if <flag>)|default(<text>)",
            "<items>|string",
            "<text>.removeprefix('a')",
        ),
        *(
            "<items>|map('string')|sort|join(',')",
            "<text>.swapcase()",
            "<text>|tojson|upper",
            "(<text>|tojson)[1:]",
            "<text>|trim('a')",
        ),
        *(
            "(<text>|tojson) * 2",
            "[<text>|tojson]|join",
            "<text>|tojson|replace('\"', '')",
            "<text>|tojson|indent(2)",
            "<map>|string",
        ),
        *(
            "<text>.partition('-')",
            "<text>|first|default('z')",
            "<text>|list|last|default('z')",
            "<text> and <text>",
            "<text> or <text>",
        ),
    ),
    "number": (
        *(
            "<number> + <number>",
            "<number> - <number>",
            "<number> * <number>",
            "<number> / 3",
            "<number> // 2",
            "<number> % 4",
        ),
        *(
            "<number>|round",
            "<number>|round(<small>)",
            "<number>|round(<small>, 'ceil')",
            "<number>|round(1, 'floor')",
            "-<number>",
        ),
        *(
            "<number>|abs",
            "<number>|int",
            "<number>|float",
            "<text>|int",
            "<text>|int(<number>)",
            "<text>|float",
            "<text>|length",
        ),
        *(
            "<items>|length",
            "<items>|count",
            "items|sum",
            "items|max",
            "items|min",
            "<rows>|map(attribute='size', default=1)|sum",
        ),
        *(
            "2 ** <small>",
            "<text>.find('a')",
            "<text>.count('b')",
            "<text>.rfind('c')",
            "<items>|first|default(2)",
            "<flag>|int",
        ),
        *(
            "'ff'|int(base=16)",
            "<items>|list|length",
            "<text>|int('x')|string|length",
            "rows[0]|length",
            "<map>.keys()|length",
        ),
        *("items[<small>]|default(0)", "<map>.get('a', 1)", "<number> if <flag> else <number>", "<items>|sum(start=1)"),
    ),
    "small": ("<text>|length % 3", "<flag>|int", "2 - 1"),
    "items": (
        *(
            "<items>|sort",
            "<items>|sort(reverse=<flag>)",
            "<items>|unique|list",
            "<items>|reverse|list",
            "<items>|list",
            "words|sort",
        ),
        *(
            "<items>|map('string')|list",
            "words|map('upper')|list",
            "<items>|select('odd')|list",
            "<items>|reject('gt', 2)|list",
        ),
        *(
            "[<text>, <number>]",
            "(<number>, <flag>)",
            "items + [<number>]",
            "[<text>] * 2",
            "<text>.split(',')",
            "<text>|list",
        ),
        *(
            "<items>[1:]",
            "<items>[::-1]",
            "<map>|dictsort",
            "<map>.items()|list",
            "<map>|items|list",
            "<map>.keys()",
            "<map>|list",
        ),
        *(
            "<rows>|map(attribute='size', default=0)|list",
            "<rows>|sort(attribute='name')",
            "<rows>|selectattr('size', 'defined')|list",
        ),
        *(
            "<items>|map('tojson')|list",
            "<items>|map('upper')",
            "<text>.rsplit(None, 1)",
            "<text>.splitlines()",
            "range(<small>, 5)",
        ),
        *(
            "<map>.values()|sort",
            "words|sort(case_sensitive=<flag>)",
            "<rows>|map(attribute='name')",
            "<items>|select|list",
        ),
        *(
            "<items> if <flag> else <items>",
            "words|map('replace', 'b', <text>)|list",
            "rows|rejectattr('size', 'gt', 1)|list",
        ),
    ),
    "rows": ("<rows>|sort(attribute='name')", "<rows>|selectattr('name', 'ne', 'a')|list", "<rows> + <rows>"),
    "map": ("{'a': <text>, 'b': <number>}", "{<number>: <items>}", "dict(b=<text>)", "{'t': <map>}", "<rows>|first"),
    "flag": (
        *(
            "<number> > <number>",
            "<text> == <text>",
            "<text> in <text>",
            "<number> in <items>",
            "not <flag>",
            "<flag> and <flag>",
        ),
        *(
            "<text> is string",
            "<items> is iterable",
            "<items> is sequence",
            "<flag> is number",
            "<number> is integer",
            "q is undefined",
        ),
        *(
            "<map> is mapping",
            "<number> is float",
            "<text> is lower",
            "<number>|int is even",
            "<text> is in(words)",
            "<items> == <items>",
        ),
        *(
            "<text>.startswith('a')",
            "<text>.isdigit()",
            "<text> < <text>",
            "1 < <number> <= 8",
            "'a' in <map>",
            "<map>.b is defined",
        ),
        *(
            "<text> is upper",
            "<items>",
            "<text>",
            "<number>",
            "<flag> is true",
            "<flag> is boolean",
            "<items> != <items>",
            "<map> == <map>",
        ),
        *(
            "<items>|map('string')",
            "<text> is not none",
            "(<text> if <flag>) is defined",
            "<number> is divisibleby(2)",
            "<flag> or <text>",
        ),
    ),
}
LOOP = (
    "index",
    "index0",
    "revindex",
    "revindex0",
    "first",
    "last",
    "length",
    "previtem",
    "nextitem",
    "depth",
    "cycle(1, 2)",
)
SUPPORTED = sorted(FILTERS)
NAMES = sorted(METHODS)
OTHER_METHODS = (
    "append",
    "update",
    "copy",
    "format",
    "center",
    "ljust",
    "encode",
    "pop",
    "__init__",
    "nothing",
    "popitem",
)
GLOBALS = ("range", "range", "dict", "namespace", "lipsum", "cycler", "joiner", "nothing")
KEYS = ("'a'", "'b'", "1", "true", "x", "2.5", "none", "'items'", "(1,)", "n")
ATTRIBUTES = (
    "'name'",
    "'size'",
    "'b.c'",
    "0",
    "'0'",
    "'name,size'",
    "'items'",
    "'a.' * 90000",
    "n",
    "rows",
    "''",
    "'__class__'",
)
LITERALS = (
    *(
        "0",
        "1",
        "2",
        "-3",
        "7",
        "2.5",
        "0.1",
        "1e3",
        "2.0",
        "true",
        "false",
        "none",
        "''",
        "'a'",
        "'b c'",
        "'A-b'",
        "'3'",
    ),
    *(
        "' 7.5 '",
        "'a\\nb\\n'",
        "'<&\\'>'",
        "'é€'",
        "'%s'",
        "'%05d|%.2f'",
        "'a,b,,c'",
        "'-'",
        "[]",
        "{}",
        "()",
        "'0x1F'",
    ),
)
PLAUSIBLE: dict[str, Sequence[str]] = {
    "default": ("('d')", "('d', true)", "(default_value=2)", ""),
    "d": ("('d')", "(n)"),
    "dictsort": ("", "(true)", "(by='value')", "(reverse=true)"),
    "format": ("('a')", "(3, 2.5)", "(x)", "(items)"),
    "indent": ("", "(2)", "(4, true)", "('> ')", "(2, true, true)", "(width=3, blank=true)"),
    "int": ("", "(5)", "(base=16)", "(0, 2)", "('none')"),
    "float": ("", "(1.5)"),
    "join": ("", "(', ')", "('-')", "(n)"),
    "replace": ("('a', 'b')", "('', '-')", "('a', 'bb', 1)", "('a', 'b', -1)", "(1, 2)", "('a', 'b', 0)"),
    "round": ("", "(1)", "(-1)", "(0, 'ceil')", "(1, 'floor')", "(-1000000000)", "(precision=2)", "(400)"),
    "sort": ("", "(true)", "(case_sensitive=true)", "(reverse=true)"),
    "sum": ("", "(start=2)", "(start=0.5)"),
    "tojson": ("", "(2)", "(indent=1)"),
    "trim": ("", "('a')", "(chars=' a')"),
    "unique": ("", "(true)"),
}
DOUBLED = (
    "it + it",
    "it ~ it",
    "[it, it]",
    "(it, it)",
    "{'a': it, 'b': it}",
    "it * 9",
    "it|upper",
    "it|list",
    "it|tojson",
)
OTHERS = (
    "{% autoescape VALUE %}BODY{% endautoescape %}",
    "{% block a %}BODY{% endblock %}",
    "{% include 'a' %}",
    "{% import 'a' as a %}",
    "{% from 'a' import b %}",
    "{% extends 'a' %}",
    "{% print VALUE %}",
    "{% do VALUE %}",
    "{% trans %}BODY{% endtrans %}",
    "{% break %}",
    "{{ self.a() }}",
    "{{ super() }}",
    "{% set x = VALUE if VALUE %}",
    "{{ VALUE if VALUE }}",
    "{{ VALUE[1:2, 3] }}",
    "{{ x(*items) }}",
)


def template(seed: int, case: int) -> str:
    """Returns the template of a case."""
    return Maker(Random(f"{seed} {case}")).text()


def expanded(text: str) -> tuple[str | None, Diagnostic | None, int]:
    """Expands a template with this tool. Returns the text or the reason for none, and the number of steps."""
    budget = Budget()
    found = WorkflowTemplate("workflows/x.yaml", HEAD + text)
    try:
        found.read(VALUES)
        return found.expand(VALUES, budget).text, None, budget.spent
    except UnreadableError as wrong:
        return None, wrong.diagnostic, budget.spent


def rendered(text: str, *, optimized: bool = True) -> tuple[str | None, str]:
    """Renders with Jinja's sandbox and OSMO's settings. Returns the text, or the reason for none."""
    environment = SandboxedEnvironment(undefined=StrictUndefined, keep_trailing_newline=True, optimized=optimized)
    try:
        return environment.from_string(HEAD + text).render(VALUES), ""
    except Exception as error:  # it lets through what Python raises
        return None, f"{type(error).__name__}: {error}"


def apart(text: str) -> str:
    """Returns how the text differs from Jinja's; empty if it does not, or if the tool refuses the template."""
    ours, _, steps = expanded(text)
    if ours is None or steps > COMPARED or LARGE.search(text):
        return ""
    theirs, why = rendered(text)
    if theirs is None:  # its optimizer computes with constants where nothing is run, as in a branch that is not taken
        theirs, _ = rendered(text, optimized=False)
    if theirs is None and "MemoryError" in why:
        return ""
    if theirs is None:
        return f"here {ours[len(HEAD) :][:300]!r}, while Jinja raises {why[:300]}"
    return "" if ours == theirs else f"here {ours[len(HEAD) :][:300]!r}, Jinja {theirs[len(HEAD) :][:300]!r}"


def judge(case: int, text: str, totals: Totals) -> None:
    """Counts the result of a template and the promises that it breaks."""

    def fail(kind: str, detail: str) -> None:
        totals.failures.append(Failure(case, kind, detail, text))

    begun = time.process_time()
    try:
        settings = [Setting(name, value, str(value)) for name, value in VALUES.items()]
        found = Templates(["workflows"], settings).expand("workflows/x.yaml", HEAD + text)
    except Exception:
        return fail("traceback", traceback.format_exc()[-1500:])
    taken = time.process_time() - begun
    totals.slowest = max(totals.slowest, (taken, case))
    if taken > SECONDS:
        fail("hang", f"{taken:.2f} s")
    lines = (HEAD + text).count("\n") + 1
    for problem in found.problems:
        totals.outcomes[problem.rule.code] += 1
        if problem.location is None or not 1 <= problem.location.line <= lines or problem.location.column < 1:
            fail("place", f"{problem.location}")
        if "as no such value" in problem.message:  # what Python raised was not foreseen
            fail("traceback", problem.message)
        if "no memory" in problem.message:
            fail("memory", problem.message)
        if not problem.hint or len(problem.message) + len(problem.hint) > 4000:
            fail("message", f"{problem.message[:200]} {problem.hint[:200]}")
    if not found.problems:
        totals.outcomes["expanded"] += 1
    difference = apart(text)
    return fail("apart", difference) if difference else None


def work(seed: int, cases: range, board: Any, pipe: Any) -> None:
    """Runs the cases of one process."""
    gc.disable()
    totals = Totals()
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    most = pages * resource.getpagesize() + MEMORY
    resource.setrlimit(resource.RLIMIT_AS, (most, most))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    for case in cases:
        board.value = case
        resource.setrlimit(resource.RLIMIT_CPU, (int(time.process_time()) + STUCK, resource.RLIM_INFINITY))
        judge(case, template(seed, case), totals)
        if case % 50 == 0:
            gc.collect()
    pipe.send(totals)
    pipe.close()
    os._exit(0)


def fuzz(seed: int, start: int, inputs: int, jobs: int) -> Totals:
    """Runs all cases in processes of CHUNK each. The kernel ends one that hangs; another runs the remaining cases."""
    totals = Totals()
    waiting = [range(first, min(first + CHUNK, start + inputs)) for first in range(start, start + inputs, CHUNK)]
    running: list[tuple[Any, Any, Any, range]] = []
    while waiting or running:
        while waiting and len(running) < jobs:
            cases = waiting.pop(0)
            board = FORK.Value("q", cases.start)
            here, there = FORK.Pipe(duplex=False)
            process = FORK.Process(target=work, args=(seed, cases, board, there))
            process.start()
            there.close()
            running.append((process, here, board, cases))
        process, here, board, cases = running.pop(0)
        try:
            part: Totals | None = here.recv()
        except EOFError:
            part = None
        process.join()
        if part is not None:
            totals.outcomes += part.outcomes
            totals.failures += part.failures
            totals.slowest = max(totals.slowest, part.slowest)
            continue
        case = board.value
        kind = "hang" if process.exitcode == -signal.SIGXCPU else "crash"
        totals.failures.append(Failure(case, kind, f"exit code {process.exitcode}", template(seed, case)))
        waiting[:0] = [part for part in (range(cases.start, case), range(case + 1, cases.stop)) if part]
    return totals


def main(arguments: list[str] | None = None) -> int:
    """Exits with 1 after a failure."""
    parser = argparse.ArgumentParser(prog="python -m fuzz.templates", description=__doc__)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--inputs", type=int, default=10_000, metavar="N", help="how many templates")
    parser.add_argument("--start", type=int, default=0, metavar="K", help="the number of the first")
    parser.add_argument("--jobs", type=int, default=2, metavar="N", help="how many processes")
    parser.add_argument("--only", type=int, metavar="K", help="run case K alone and show it")
    options = parser.parse_args(arguments)
    if options.only is not None:
        options.start, options.inputs, options.jobs = options.only, 1, 1
        print(template(options.seed, options.only))
    begun = time.monotonic()
    totals = fuzz(options.seed, options.start, options.inputs, options.jobs)
    seconds = time.monotonic() - begun
    print(f"{options.inputs:,} templates in {seconds:.0f} s; the slowest took {totals.slowest[0]:.2f} s")
    for name, count in sorted(totals.outcomes.items()):
        print(f"  {count:>9,}  {name}")
    print(f"failures: {len(totals.failures):,}")
    shown: Counter[str] = Counter()
    for failure in totals.failures:
        shown[failure.kind] += 1
        if shown[failure.kind] <= 20:
            print(f"\n{failure.kind} in case {failure.case}: {failure.detail}\n  {failure.template[:1500]!r}")
    return 1 if totals.failures else 0


if __name__ == "__main__":
    sys.exit(main())
