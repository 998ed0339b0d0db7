"""Limits templates: allows only plain values, and counts all steps and all text that a template makes.

``jinja.sandbox`` evaluates a template and reports every step here, so nothing runs, grows or nests without end.
"""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Collection, Iterable
from math import inf
from time import thread_time
from typing import Any

from kubectl_tas.base.diagnostics import Rule, Severity
from kubectl_tas.base.late import dataclass
from kubectl_tas.base.words import did_you_mean, shortened

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
"""The most steps in all expansions of one file. A step reads or makes one value, and takes about 2 microseconds."""
MAX_SECONDS = 30.0
"""The most seconds of processor time in all expansions of one file. MAX_STEPS ends any template much earlier. This
limit is for work that takes longer than its steps suggest.
"""
WATCHED = 2_000
"""Steps between two checks of the clock; a shorter expansion never checks the clock."""
MAX_MADE = 8 * 1024 * 1024
"""The most characters, and items of lists times ``ITEM``, that all expansions of one file make."""
MAX_NESTING = 60
"""The deepest nesting of expressions, blocks, macros and values."""
MAX_ITEMS = 100_000
"""The most items of a range."""
MAX_NUMBER = 2**63
"""The bound of whole numbers: every absolute value is below."""
ITEM = 16
"""The cost of an item of a list, in characters: about the memory of the item."""
LOOKED_AT = 64
"""Characters that are read in one step."""
COMPARED = 1024
"""Characters of two texts that are compared in one step."""
_NAMED = 20
"""The most values that a message lists."""
_SHOWN = 100
"""The most characters of a name that a message shows."""
_WHOLE = "Write | list behind it."
_WITHOUT = "Write what counts without it: {{ value | default(1) }}."


class Refusal(Exception):  # noqa: N818 - no error of ours
    """A template cannot be expanded.

    ``line`` is the line in the template, from 1, or 0 if unknown so far. ``node`` is the id() of the node that failed
    to print.
    """

    def __init__(self, rule: Rule, message: str, hint: str = "", line: int = 0) -> None:
        super().__init__(message)
        self.rule, self.message, self.hint, self.line = rule, message, hint, line
        self.node = 0


@dataclass(frozen=True, slots=True)
class Missing:
    """An undefined value. A template may test whether it is defined, or give a default; any other use is refused."""

    name: str
    known: Collection[str] = ()
    """The names that are defined."""


class Blank:
    """The value of an ``if`` expression without ``else``: prints as nothing, and counts as undefined."""


class Json(str):
    """Text from ``tojson``. Jinja marks such text as safe for HTML, and escapes text that ``+`` joins to it."""

    __slots__ = ()


class View(list[Any]):
    """The result of ``keys()``, ``values()`` and ``items()``: has items, but no indices and no text."""


class Once(list[Any]):
    """The result of ``map``, ``select`` and similar filters: items that can be read only once, in order."""

    def __init__(self, values: Iterable[Any]) -> None:
        super().__init__(values)
        self.is_read = False


class TemplateNamespace(dict[str, Any]):
    """The result of ``namespace()``: fields that a loop may set for later code. A template cannot use it as a value."""


class Loop(dict[str, Any]):
    """The variables that describe a loop. A template cannot use them as a value."""


class Budget:
    """Counts steps and text. ``spent`` are the steps so far; ``most`` is the limit of steps."""

    def __init__(self, most: int = MAX_STEPS) -> None:
        self.spent = 0
        self._most = most
        self._made = 0
        self._watched = min(WATCHED, most)
        """The number of steps at which the clock is checked next."""
        self._seconds = MAX_SECONDS
        self._until: float | None = None

    def pause(self) -> None:
        """Stops the clock at the end of an expansion, so that later work does not count as its processor time."""
        if self._until is not None:
            self._seconds, self._until = self._until - thread_time(), None

    def step(self, number: int = 1) -> None:
        """Counts steps. Raises Refusal if they are too many."""
        self.spent += number
        if self.spent > self._watched:
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

    def search(self, text: str, *needles: str) -> None:
        """Counts the steps of searching parts in a text: in the worst case, each part is compared at each position."""
        places = sum(max(len(text) - len(needle) + 1, 0) * len(needle) for needle in needles)
        self.step(places // COMPARED + len(text) // LOOKED_AT)

    def compare(self, values: Collection[Any]) -> None:
        """Counts the steps of sorting values."""
        lengths = sum(len(value) // COMPARED for value in values if isinstance(value, str))
        self.step(lengths * len(values).bit_length())

    def make(self, size: int) -> None:
        """Counts text of ``size`` characters before it is made. Raises Refusal if the total is too large."""
        self._made += size
        if self._made > MAX_MADE:
            mebibytes = MAX_MADE // 2**20
            hint = "Generate less, or split the template."
            raise Refusal(TEMPLATE_LIMIT, f"the template makes more than {mebibytes} MiB of text and values", hint)

    def made(self, value: Any) -> Any:
        """Counts and returns the result of an operation that is at most as large as its operands."""
        if isinstance(value, str):
            self.make(len(value))
        elif isinstance(value, (list, tuple, dict)):
            self.make(ITEM * len(value))
        return self.number(value)

    def number(self, value: Any) -> Any:
        """Returns the value. Raises Refusal for a number that exceeds 64 bits."""
        if isinstance(value, (int, float)) and not abs(value) < (MAX_NUMBER if isinstance(value, int) else inf):
            raise Refusal(TEMPLATE_LIMIT, "a number beyond 64 bits", "Use smaller numbers.")
        return value

    def read(self, arguments: Iterable[Any]) -> None:
        """Counts the steps of a function that may read all of a given text."""
        self.step(1 + sum(len(value) // LOOKED_AT for value in arguments if isinstance(value, str)))

    def look(self, *values: Any) -> int:
        """Counts the steps of reading whole values, as comparing or printing does; returns their approximate length.

        Raises Refusal if a value is too large, nested too deep, or not a plain value.
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
                waiting += [(inner, depth + 1) for pair in value.items() for inner in pair]
            elif type(value) in (list, tuple):
                waiting += [(inner, depth + 1) for inner in value]
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
        """Returns a value as printed. Raises Refusal if the value is undefined or None."""
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
        """Returns the items that a loop over a value sees. Raises Refusal if the value has no items."""
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
        raise Refusal(TEMPLATE_VALUE, f"{kind(value)} has no items", "Use a list, a mapping or range(NUMBER).")


def needed(value: Any) -> Any:
    """Returns the value. Raises Refusal if the value is undefined."""
    if not isinstance(value, Missing):
        return value
    names = sorted(cut(str(name)) for name in value.known if name != "loop")
    shown = shortened(names, _NAMED) or "nothing"
    raise Refusal(TEMPLATE_UNDEFINED, f"{cut(value.name)} is not defined; defined: {shown}", near(value))


def near(value: Missing) -> str:
    """Returns a hint for an undefined value."""
    name = value.name.rpartition(".")[2]
    is_part = not isinstance(value.known, ChainMap)  # a field, an item or a block, which no setting can give
    otherwise = _WITHOUT if is_part else f"Define it in default-values, or give it with --set {cut(name)}=VALUE."
    return did_you_mean(name, sorted(map(str, value.known)), otherwise)


def cut(name: str) -> str:
    """Returns a name, shortened for a message."""
    return name if len(name) <= _SHOWN else f"{name[:_SHOWN]}..."


def truth(value: Any) -> bool:
    """Whether a value counts as true. Raises Refusal if the value is undefined."""
    if isinstance(value, Once):
        raise Refusal(TEMPLATE_VALUE, f"{kind(value)} is true, even without items", _WHOLE)
    return isinstance(value, TemplateNamespace) or (not isinstance(value, Blank) and bool(needed(value)))


def kind(value: Any) -> str:
    """Returns the kind of a value in words."""
    names: Iterable[tuple[type | tuple[type, ...], str]] = (
        (bool, "true or false"),
        ((int, float), "a number"),
        (str, "text"),
        (Once, "what a filter gives item by item"),
        (View, "what a method of a mapping gives"),
        ((list, tuple, range), "a list"),
        (TemplateNamespace, "a namespace"),
        (Loop, "the loop"),
        (dict, "a mapping"),
        (type(None), "an empty value"),
        (Missing, "a value that is not defined"),
        (Blank, "an if without else that gives nothing"),
    )
    return next((name for types, name in names if isinstance(value, types)), "a macro")
