"""What a template may hold and how much it may take: plain values alone, and a count of all that is done and made.

A template is evaluated by ``jinja.sandbox``; whatever it does passes here, so nothing runs, grows or nests without end.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from math import inf
from time import thread_time
from typing import Any

from kubectl_tas.diagnostics import Rule, Severity
from kubectl_tas.records import dataclass
from kubectl_tas.words import did_you_mean, shortened

TEMPLATE_UNDEFINED = Rule(
    "template-undefined",
    Severity.ERROR,
    "A template uses a value that nothing defines.",
    "With an empty text in its place it would be another workflow. Set the value in default-values, in the values "
    "file, in spec.values of the Config or with --set. Or write a default: {{ name | default(1) }}.",
)
TEMPLATE_UNSUPPORTED = Rule(
    "template-unsupported",
    Severity.ERROR,
    "A template does what a template may not do here.",
    "Many people may write to the repositories of templates, and every check expands them. Templates may compute with "
    "values. They may not use files, other templates, random numbers or Python.",
)
TEMPLATE_VALUE = Rule(
    "template-value",
    Severity.ERROR,
    "A template uses a value in a way that does not fit, or prints an empty one.",
    "Jinja would write the word None, or stop. The message names the value and its type.",
)
TEMPLATE_LIMIT = Rule(
    "template-limit",
    Severity.ERROR,
    "A template takes too many steps, makes too much text, or nests too deep.",
    "Such a template does not end, or uses all memory first. The bounds are far beyond those of a workflow with a "
    "thousand tasks.",
)

MAX_STEPS = 200_000
"""Steps that all expansions of one file may take; a step is a value that is looked at or made, about 2 microseconds."""
MAX_SECONDS = 30.0
"""Processor time that all expansions of one file may take. Steps end any template long before, on slow machines too;
this is for what takes longer than its steps say.
"""
WATCHED = 2_000
"""Steps between two looks at the clock; an expansion that takes fewer does not look at it."""
MAX_MADE = 8 * 1024 * 1024
"""Characters, and items of lists times ``ITEM``, that all expansions of one file may make."""
MAX_NESTING = 60
"""Levels that expressions, blocks, macros and values may be nested deep."""
MAX_ITEMS = 100_000
"""Items of a range."""
MAX_NUMBER = 2**63
"""Whole numbers lie below."""
ITEM = 16
"""What an item of a list counts as, in characters: about its memory."""
LOOKED_AT = 64
"""Characters that are read in a step."""
COMPARED = 1024
"""Characters of two texts that are compared with one another in a step."""
_NAMED = 20
"""Values that a message lists."""
_SHOWN = 100
"""Characters of a name that a message shows."""
_WHOLE = "Write | list behind it."


class Refusal(Exception):  # noqa: N818 - no error of ours
    """A template cannot be expanded; ``line`` is its own, from 1, and 0 where it is not known yet.

    ``node`` is the identity of the node whose value was to be printed.
    """

    def __init__(self, rule: Rule, message: str, hint: str = "", line: int = 0) -> None:
        super().__init__(message)
        self.rule, self.message, self.hint, self.line = rule, message, hint, line
        self.node = 0


@dataclass(frozen=True, slots=True)
class Missing:
    """A value that is not there. It may be asked whether it is, and given a default; all else is refused."""

    name: str
    known: Collection[str] = ()
    """What there is in its place."""


class Blank:
    """What an ``if`` without ``else`` gives in an expression: printed it is nothing, and it is not defined."""


class Json(str):
    """Text that ``tojson`` made. Jinja marks it as safe for HTML, and escapes what ``+`` joins to it."""

    __slots__ = ()


class View(list[Any]):
    """What ``keys()``, ``values()`` and ``items()`` give: it has items, but no place among them and no text."""


class Once(list[Any]):
    """What ``map``, ``select`` and their like give: items that are read once, one after the other."""

    def __init__(self, items: Iterable[Any]) -> None:
        super().__init__(items)
        self.is_read = False


class Namespace(dict[str, Any]):
    """What ``namespace()`` makes: values that a loop may set for what follows it. It is no value itself."""


class Loop(dict[str, Any]):
    """What a loop tells of itself. It is no value itself."""


class Budget:
    """Counts what is done and made. ``spent`` are the steps so far; ``most`` how many there may be."""

    def __init__(self, most: int = MAX_STEPS) -> None:
        self.spent = 0
        self._most = most
        self._made = 0
        self._watched = min(WATCHED, most)
        """Steps at which the clock is looked at next."""
        self._seconds = MAX_SECONDS
        self._until: float | None = None

    def pause(self) -> None:
        """An expansion has ended, and what comes next does not count as its processor time."""
        if self._until is not None:
            self._seconds, self._until = self._until - thread_time(), None

    def step(self, number: int = 1) -> None:
        """Counts steps. Raises Refusal where they are too many."""
        self.spent += number
        if self.spent > self._watched:
            self._watch()

    def _watch(self) -> None:
        if self.spent > self._most:
            self.spent = self._most + 1  # what would have come next is not done
            hint = "Is a loop longer than it was meant to be? Write fewer, or make several templates."
            raise Refusal(TEMPLATE_LIMIT, f"the template takes more than {self._most:,} steps", hint)
        now = thread_time()
        self._until = now + self._seconds if self._until is None else self._until
        if now > self._until:
            message = f"the template takes more than {MAX_SECONDS:g} seconds of processor time"
            raise Refusal(TEMPLATE_LIMIT, message, "Write fewer loops and less text, or make several templates.")
        self._watched = min(self.spent + WATCHED, self._most)

    def search(self, text: str, *parts: str) -> None:
        """Counts the steps of looking for parts in a text: at worst each is compared at each place."""
        places = sum(max(len(text) - len(part) + 1, 0) * len(part) for part in parts)
        self.step(places // COMPARED + len(text) // LOOKED_AT)

    def compare(self, values: Collection[Any]) -> None:
        """Counts the steps of sorting values."""
        lengths = sum(len(value) // COMPARED for value in values if isinstance(value, str))
        self.step(lengths * len(values).bit_length())

    def make(self, size: int) -> None:
        """Counts text of ``size`` characters before it is made. Raises Refusal where it is too much."""
        self._made += size
        if self._made > MAX_MADE:
            mebibytes = MAX_MADE // 2**20
            hint = "Make less of it, or make several templates."
            raise Refusal(TEMPLATE_LIMIT, f"the template makes more than {mebibytes} MiB of text and values", hint)

    def made(self, value: Any) -> Any:
        """Counts what an operation has just made and gives it back; it is at most as large as what was read."""
        if isinstance(value, str):
            self.make(len(value))
        elif isinstance(value, (list, tuple, dict)):
            self.make(ITEM * len(value))
        return self.number(value)

    def number(self, value: Any) -> Any:
        """The same value. Raises Refusal for a number that is too large to be one of 64 bits."""
        if isinstance(value, (int, float)) and not abs(value) < (MAX_NUMBER if isinstance(value, int) else inf):
            raise Refusal(TEMPLATE_LIMIT, "a number beyond 64 bits", "Compute with smaller ones.")
        return value

    def read(self, given: Iterable[Any]) -> None:
        """Counts the steps of a function that may read all of a text that it is given."""
        self.step(1 + sum(len(value) // LOOKED_AT for value in given if isinstance(value, str)))

    def look(self, *values: Any) -> int:
        """Counts the steps of reading values as a whole, as comparing or printing them does; about how many characters
        they are in print. Raises Refusal where they are too large or nested too deep, and for anything that is no
        plain value.
        """
        size = 0
        waiting = [(value, 0) for value in values]
        while waiting:
            value, depth = waiting.pop()
            self.step()
            size += ITEM
            if isinstance(value, str):
                self.step(len(value) // LOOKED_AT)
                size += len(value)
                if depth and isinstance(value, Json):
                    hint = "Write | tojson once, behind the whole of it."
                    raise Refusal(TEMPLATE_VALUE, f"text of tojson within {kind([])} or {kind({})}", hint)
            elif type(value) is dict:
                waiting += [(item, depth + 1) for pair in value.items() for item in pair]
            elif type(value) in (list, tuple):
                waiting += [(item, depth + 1) for item in value]
            elif isinstance(value, range):
                self.step(len(value))
            elif not (value is None or isinstance(value, (bool, int, float))):
                needed(value)
                hint = _WHOLE if isinstance(value, (Once, View)) else "Call it, or use one of its fields."
                raise Refusal(TEMPLATE_VALUE, f"{kind(value)} is no value", hint)
            if depth > MAX_NESTING:
                message = f"a value that is nested more than {MAX_NESTING} levels deep"
                raise Refusal(TEMPLATE_LIMIT, message, "Nest it less.")
        return size

    def text(self, value: Any) -> str:
        """A value as it is printed. Raises Refusal for one that is missing or empty."""
        if isinstance(value, str):
            return value
        if isinstance(value, Blank):
            return ""
        size = self.look(value)
        self.make(size)
        if value is None:
            hint = "Give it a value; or write what counts without one: {{ name or 1 }}."
            raise Refusal(TEMPLATE_VALUE, "the value is empty, and would be printed as the word None", hint)
        text = str(value)
        self.make(max(len(text) - size, 0))  # escapes are longer than what they stand for
        return text

    def items(self, value: Any) -> list[Any]:
        """What a loop over a value sees. Raises Refusal where it has no items."""
        if isinstance(value, (list, tuple, str, range)) or type(value) is dict:
            if isinstance(value, Once):
                if value.is_read:
                    raise Refusal(TEMPLATE_VALUE, f"{kind(value)} was read before, and is empty now", _WHOLE)
                value.is_read = True
            self.step(len(value))
            self.make(ITEM * len(value))
            return list(value)
        if isinstance(value, Blank):
            return []
        needed(value)
        raise Refusal(TEMPLATE_VALUE, f"{kind(value)} has no items", "Loop over a list, a mapping or range(NUMBER).")


def needed(value: Any) -> Any:
    """The same value. Raises Refusal where it is missing."""
    if not isinstance(value, Missing):
        return value
    names = sorted(cut(str(name)) for name in value.known if name != "loop")
    shown = shortened(names, _NAMED) or "nothing"
    raise Refusal(TEMPLATE_UNDEFINED, f"{cut(value.name)} is not defined; defined: {shown}", near(value))


def near(value: Missing) -> str:
    """How a missing value is mended."""
    name = value.name.rpartition(".")[2]
    otherwise = f"Define it in default-values, or give it with --set {cut(name)}=VALUE."
    return did_you_mean(name, sorted(map(str, value.known)), otherwise)


def cut(name: str) -> str:
    """A name as a message shows it."""
    return name if len(name) <= _SHOWN else f"{name[:_SHOWN]}..."


def truth(value: Any) -> bool:
    """Whether a value counts as true. Raises Refusal where it is missing."""
    if isinstance(value, Once):
        raise Refusal(TEMPLATE_VALUE, f"{kind(value)} is true, even without items", _WHOLE)
    return isinstance(value, Namespace) or (not isinstance(value, Blank) and bool(needed(value)))


def kind(value: Any) -> str:
    """What a value is, in words."""
    names: Iterable[tuple[type | tuple[type, ...], str]] = (
        (bool, "true or false"),
        ((int, float), "a number"),
        (str, "text"),
        (Once, "what a filter gives item by item"),
        (View, "what a method of a mapping gives"),
        ((list, tuple, range), "a list"),
        (Namespace, "a namespace"),
        (Loop, "the loop"),
        (dict, "a mapping"),
        (type(None), "an empty value"),
        (Missing, "a value that is not defined"),
        (Blank, "an if without else that gives nothing"),
    )
    return next((name for types, name in names if isinstance(value, types)), "a macro")
