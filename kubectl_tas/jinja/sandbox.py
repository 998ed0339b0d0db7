"""Interprets Jinja's syntax tree with values, and returns the text; a template can reach nothing but these values.

Jinja only parses the template; it compiles and runs nothing. A function below evaluates each node on plain values and
counts it. So a template cannot reach Python, a file or a clock, and cannot run or grow without end. Features that
OSMO's sandbox allows and this one lacks are refused by name. A text with tokens such as ``{{USER_CPU}}``, in pod
templates and resource validations, is a small template of its own.
"""

from __future__ import annotations

import operator
from collections import ChainMap
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any

from jinja2 import Environment, TemplateError, nodes
from jinja2.filters import FILTERS as JINJA_FILTERS
from jinja2.tests import TESTS as JINJA_TESTS

from kubectl_tas.base.late import dataclass, late_pattern
from kubectl_tas.jinja.bounds import (
    ITEM,
    MAX_ITEMS,
    MAX_NESTING,
    TEMPLATE_LIMIT,
    TEMPLATE_UNSUPPORTED,
    TEMPLATE_VALUE,
    Blank,
    Budget,
    Json,
    Loop,
    Missing,
    Once,
    Refusal,
    TemplateNamespace,
    View,
    kind,
    needed,
    truth,
)
from kubectl_tas.jinja.filters import (
    FILTERS,
    TESTS,
    Operation,
    applied,
    by_item,
    field,
    formatted,
    known,
    method,
    number,
    ordered,
    same,
    within,
)

Scope = ChainMap[str, Any]
_NOT_AVAILABLE = frozenset({"cycler", "joiner", "kwargs", "lipsum", "self", "varargs"})
"""Names with a meaning of their own in every Jinja template, or in a macro."""
_ESCAPES = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;", "'": "&#39;", '"': "&#34;"})
_BLANK = Blank()
_COMPARE = "Compare Jinja's docs."
_OTHER_FILES: Mapping[type[nodes.Node], str] = {
    nodes.Include: "include",
    nodes.Import: "import",
    nodes.FromImport: "import",
    nodes.Extends: "extends",
}
_OTHER_TAGS: Mapping[type[nodes.Node], str] = {
    nodes.Scope: "autoescape",
    nodes.Block: "block",
}


@dataclass(frozen=True, slots=True)
class Piece:
    """A part of the expanded text: the text of a node, or the value that the node printed."""

    text: str
    node: nodes.Node


@dataclass(frozen=True, slots=True)
class _Function:
    """A macro, or the block of a call."""

    name: str
    parameters: Sequence[nodes.Name]
    defaults: Sequence[nodes.Expr]
    body: Sequence[nodes.Node]
    scope: Scope


def expanded(template: nodes.Template, values: Mapping[str, Any], budget: Budget) -> list[Piece]:
    """Returns the expanded text in order. Raises Refusal, with its line, if the expansion fails."""
    run = _Run(budget)
    try:
        run.block(template.body, ChainMap({}, dict(values)))
    except Refusal as refusal:
        refusal.line, refusal.node = refusal.line or run.line, run.printed
        raise
    except RecursionError as error:
        raise Refusal(TEMPLATE_LIMIT, "the template nests too deep", "Nest it less.", run.line) from error
    except (TypeError, ValueError, LookupError, ArithmeticError, AttributeError) as error:
        raise Refusal(
            TEMPLATE_VALUE, "a value is used in a way that its type does not allow", _COMPARE, run.line
        ) from error
    except MemoryError as error:
        raise Refusal(TEMPLATE_LIMIT, "there is no memory left for it", "Make less text.", run.line) from error
    finally:
        budget.pause()
    return run.pieces


class _Run:
    def __init__(self, budget: Budget) -> None:
        self.pieces: list[Piece] = []
        self.line = 1
        self.printed = 0
        """The id() of the node that is being printed; 0 if no node is."""
        self._budget = budget
        self._depth = 0
        self._callers: dict[int, bool] = {}
        """Whether each macro, by the id() of its body, uses the block of its call."""

    # Statements

    def block(self, body: Sequence[nodes.Node], scope: Scope) -> None:
        """Runs statements one after another."""
        self._down()
        for node in body:
            self._at(node)
            self.printed = 0
            run = _STATEMENTS.get(type(node))
            if run is None:
                raise _no_statement(node)
            run(self, node, scope)
        self._depth -= 1

    def _run_output(self, node: nodes.Output, scope: Scope) -> None:
        for piece in node.nodes:
            self._at(piece)
            self.printed = id(piece)
            text = piece.data if isinstance(piece, nodes.TemplateData) else self._budget.text(self._value(piece, scope))
            self._budget.make(len(text))
            self.pieces.append(Piece(text, piece))

    def _run_if(self, node: nodes.If, scope: Scope) -> None:
        for branch in (node, *node.elif_):
            if truth(self._value(branch.test, scope)):
                return self.block(branch.body, scope)
        return self.block(node.else_, scope)

    def _run_for(self, node: nodes.For, scope: Scope) -> None:
        if node.recursive:
            raise Refusal(TEMPLATE_UNSUPPORTED, "a recursive loop is not available", "Write loops within loops.")
        values = self._budget.items(self._value(node.iter, scope))
        if node.test is not None:
            values = [value for value in values if truth(self._value(node.test, self._with(scope, node.target, value)))]
        for index in range(len(values)):
            self._budget.step()
            inner = self._with(scope, node.target, values[index])
            length = len(values)
            fields = {
                "index": index + 1,
                "index0": index,
                "revindex": length - index,
                "revindex0": length - index - 1,
                "first": index == 0,
                "last": index == length - 1,
                "length": length,
            }
            if index:
                fields["previtem"] = values[index - 1]
            if index + 1 < length:
                fields["nextitem"] = values[index + 1]
            inner["loop"] = Loop(fields)
            self.block(node.body, inner)
        if not values:
            self.block(node.else_, scope.new_child())

    def _run_assign(self, node: nodes.Assign, scope: Scope) -> None:
        self._assign(scope, node.target, self._value(node.node, scope))

    def _run_assignblock(self, node: nodes.AssignBlock, scope: Scope) -> None:
        text: Any = self._captured(node.body, scope.new_child())
        self._assign(scope, node.target, self._filtered_block(node.filter, text, scope) if node.filter else text)

    def _run_filterblock(self, node: nodes.FilterBlock, scope: Scope) -> None:
        text = self._captured(node.body, scope.new_child())
        filtered = self._filtered_block(node.filter, text, scope)
        if not isinstance(filtered, str):
            message = f"the filters of a block give {kind(filtered)}, not text"
            raise Refusal(TEMPLATE_VALUE, message, "End with | string.")
        self.pieces.append(Piece(filtered, node))

    def _run_with(self, node: nodes.With, scope: Scope) -> None:
        inner = scope.new_child()
        for target, value in zip(node.targets, node.values, strict=True):
            self._assign(inner, target, self._value(value, scope))
        self.block(node.body, inner)

    def _run_macro(self, node: nodes.Macro, scope: Scope) -> None:
        scope[node.name] = _Function(node.name, node.args, node.defaults, node.body, scope)

    def _run_callblock(self, node: nodes.CallBlock, scope: Scope) -> None:
        caller = _Function("caller", node.args, node.defaults, node.body, scope)
        self.pieces.append(Piece(self._budget.text(self._call(node.call, scope, caller)), node))

    def _captured(self, body: Sequence[nodes.Node], scope: Scope) -> str:
        """Runs statements and returns their text as a value."""
        outer, self.pieces = self.pieces, []
        try:
            self.block(body, scope)
            self._budget.make(sum(len(piece.text) for piece in self.pieces))
            return "".join(piece.text for piece in self.pieces)
        finally:
            self.pieces = outer

    def _with(self, scope: Scope, target: nodes.Node, value: Any) -> Scope:
        inner = scope.new_child()
        self._assign(inner, target, value)
        return inner

    def _assign(self, scope: Scope, target: nodes.Node, value: Any) -> None:
        needed(value)
        if isinstance(target, nodes.Name):
            scope[target.name] = value
        elif isinstance(target, nodes.NSRef):
            space = scope.get(target.name)
            if not isinstance(space, TemplateNamespace):
                hint = f"Write {{% set {target.name} = namespace() %}} before."
                raise Refusal(TEMPLATE_VALUE, f"{target.name} is no namespace, which alone has fields to set", hint)
            space[target.attr] = value
        else:
            targets, values = target.items, self._budget.items(value)  # type: ignore[attr-defined]
            if len(targets) != len(values):
                message = f"{len(targets)} names for {len(values)} values"
                raise Refusal(TEMPLATE_VALUE, message, "Write a name for each.")
            for inner_target, inner_value in zip(targets, values, strict=True):
                self._assign(scope, inner_target, inner_value)

    # Expressions

    def _value(self, node: nodes.Node, scope: Scope) -> Any:
        self.line = node.lineno or self.line
        self._budget.step()
        self._depth += 1
        if self._depth > MAX_NESTING:
            self._too_deep()
        evaluate = _EXPRESSIONS.get(type(node))
        if evaluate is None:
            message = f"{type(node).__name__} is not available in a template here"
            raise Refusal(TEMPLATE_UNSUPPORTED, message, "Compute with values and filters.")
        value = evaluate(self, node, scope)
        self._depth -= 1
        return value

    def _value_const(self, node: nodes.Const, _scope: Scope) -> Any:
        return self._budget.made(node.value)

    def _value_name(self, node: nodes.Name, scope: Scope) -> Any:
        name = node.name
        for values in scope.maps:
            if name in values:
                return values[name]
        if name in _NOT_AVAILABLE:
            raise Refusal(TEMPLATE_UNSUPPORTED, f"{name} of Jinja is not available", "Compute with values and filters.")
        return _GLOBAL if name in FUNCTIONS else Missing(name, scope)

    def _value_list(self, node: nodes.List, scope: Scope) -> list[Any]:
        self._budget.make(ITEM * len(node.items))
        return [needed(self._value(member, scope)) for member in node.items]

    def _value_tuple(self, node: nodes.Tuple, scope: Scope) -> tuple[Any, ...]:
        self._budget.make(ITEM * len(node.items))
        return tuple(needed(self._value(member, scope)) for member in node.items)

    def _value_dict(self, node: nodes.Dict, scope: Scope) -> dict[Any, Any]:
        self._budget.make(2 * ITEM * len(node.items))
        pairs = [(self._value(pair.key, scope), needed(self._value(pair.value, scope))) for pair in node.items]
        for key, _ in pairs:
            if not isinstance(needed(key), (str, int, float, bool)):
                raise Refusal(TEMPLATE_VALUE, f"{kind(key)} cannot be a key", "Use text.")
        return dict(pairs)

    def _value_condexpr(self, node: nodes.CondExpr, scope: Scope) -> Any:
        if truth(self._value(node.test, scope)):
            return self._value(node.expr1, scope)
        return self._value(node.expr2, scope) if node.expr2 is not None else _BLANK

    def _value_and(self, node: nodes.And, scope: Scope) -> Any:
        left_value = self._value(node.left, scope)
        return self._value(node.right, scope) if truth(left_value) else left_value

    def _value_or(self, node: nodes.Or, scope: Scope) -> Any:
        left_value = self._value(node.left, scope)
        return left_value if truth(left_value) else self._value(node.right, scope)

    def _value_not(self, node: nodes.Not, scope: Scope) -> bool:
        return not truth(self._value(node.node, scope))

    def _value_neg(self, node: nodes.Neg, scope: Scope) -> Any:
        return -number(self._value(node.node, scope))

    def _value_pos(self, node: nodes.Pos, scope: Scope) -> Any:
        return +number(self._value(node.node, scope))

    def _value_concat(self, node: nodes.Concat, scope: Scope) -> str:
        texts = [self._budget.text(self._value(operand, scope)) for operand in node.nodes]
        self._budget.make(sum(map(len, texts)))
        return "".join(texts)

    def _value_pow(self, node: nodes.Pow, scope: Scope) -> Any:
        """Returns a power. Jinja writes ``-2 ** n``, and ``(-2) ** n``, as Python's ``-2 ** n``, which is -(2 ** n):
        its optimizer makes one number of -2, and its code generator puts no brackets around it (Jinja 3.1.6).
        """
        base, exponent = number(self._value(node.left, scope)), number(self._value(node.right, scope))
        if exponent > 64 and abs(base) > 1 and isinstance(base, int) and isinstance(exponent, int):
            raise Refusal(TEMPLATE_LIMIT, "a number beyond 64 bits", "Use smaller numbers.")
        is_negated = base < 0 and _is_written(node.left) and not _is_written(node.right)
        power = self._done(lambda: -((-base) ** exponent) if is_negated else base**exponent, "**", (base, exponent))
        if isinstance(power, complex):
            raise Refusal(TEMPLATE_VALUE, "the root of a negative number", "Write a number from 0.")
        return self._budget.number(power)

    def _value_add(self, node: nodes.Add, scope: Scope) -> Any:
        left_value, right_value = self._sides(node, scope)
        if isinstance(left_value, str) and isinstance(right_value, str):
            if not isinstance(left_value, Json) and not isinstance(right_value, Json):
                self._budget.make(len(left_value) + len(right_value))
                return left_value + right_value
            self._budget.make((len(left_value) + len(right_value)) * 6)
            sides = (side if isinstance(side, Json) else side.translate(_ESCAPES) for side in (left_value, right_value))
            return Json("".join(sides))
        if type(left_value) is type(right_value) and type(left_value) in (list, tuple):
            self._budget.make(ITEM * (len(left_value) + len(right_value)))
            return left_value + right_value
        return self._compute(node, left_value, right_value, lambda: left_value + right_value)

    def _value_mul(self, node: nodes.Mul, scope: Scope) -> Any:
        left_value, right_value = self._sides(node, scope)
        many, times = (right_value, left_value) if type(left_value) is int else (left_value, right_value)
        if isinstance(many, (str, list, tuple)) and not isinstance(many, (Once, View)) and type(times) is int:
            self._budget.make((1 if isinstance(many, str) else ITEM) * len(many) * max(times, 0))
            return Json(many * times) if isinstance(many, Json) else many * times
        return self._compute(node, left_value, right_value, lambda: left_value * right_value)

    def _value_mod(self, node: nodes.Mod, scope: Scope) -> Any:
        left_value, right_value = self._sides(node, scope)
        if isinstance(left_value, str):
            return self._done(lambda: formatted(self._budget, left_value, right_value), "%", (left_value, right_value))
        return self._compute(node, left_value, right_value, lambda: left_value % right_value)

    def _value_arithmetic(self, node: nodes.BinExpr, scope: Scope) -> Any:
        left_value, right_value = self._sides(node, scope)
        return self._compute(node, left_value, right_value, lambda: _ARITHMETIC[type(node)](left_value, right_value))

    def _sides(self, node: nodes.BinExpr, scope: Scope) -> tuple[Any, Any]:
        sides = needed(self._value(node.left, scope)), needed(self._value(node.right, scope))
        self._at(node)
        return sides

    def _compute(self, node: nodes.BinExpr, left_value: Any, right_value: Any, compute: Callable[[], Any]) -> Any:
        """Returns the result of an operation on two numbers, with at most 64 bits."""
        if not (isinstance(left_value, (int, float)) and isinstance(right_value, (int, float))):
            hint = "Join texts with ~; make a number of text with | int." if node.operator == "+" else "Use numbers."
            message = f"{node.operator} is not for {kind(left_value)} and {kind(right_value)}"
            raise Refusal(TEMPLATE_VALUE, message, hint)
        return self._budget.number(self._done(compute, node.operator, (left_value, right_value)))

    def _value_compare(self, node: nodes.Compare, scope: Scope) -> bool:
        left_value = self._value(node.expr, scope)
        for operand in node.ops:
            right_value = self._value(operand.expr, scope)
            if not self._compares(left_value, operand.op, right_value):
                return False
            left_value = right_value
        return True

    def _compares(self, left_value: Any, operator: str, right_value: Any) -> bool:
        for value in (left_value, right_value):
            needed(value)
        match operator:
            case "eq" | "ne":
                return same(self._budget, left_value, right_value) == (operator == "eq")
            case "in" | "notin":
                return within(self._budget, left_value, right_value) == (operator == "in")
        return ordered(self._budget, left_value, operator, right_value)

    def _value_getattr(self, node: nodes.Getattr, scope: Scope) -> Any:
        return self._named(field(self._value(node.node, scope), node.attr, dotted=True), node)

    def _value_getitem(self, node: nodes.Getitem, scope: Scope) -> Any:
        value = needed(self._value(node.node, scope))
        if isinstance(node.arg, nodes.Slice):
            return self._sliced(value, node.arg, scope)
        return self._named(field(value, needed(self._value(node.arg, scope))), node)

    def _sliced(self, value: Any, node: nodes.Slice, scope: Scope) -> Any:
        if not isinstance(value, (str, list, tuple, range)) or isinstance(value, (Once, View)):
            raise Refusal(TEMPLATE_VALUE, f"{kind(value)} has no items in order", "Slice text or a list.")
        bounds = [None if bound is None else self._value(bound, scope) for bound in (node.start, node.stop, node.step)]
        self._budget.read((value,))
        slice_ = self._budget.made(self._done(lambda: value[slice(*bounds)], "[:]", bounds))
        return Json(slice_) if isinstance(value, Json) else slice_

    @staticmethod
    def _named(value: Any, node: nodes.Node) -> Any:
        """Returns an undefined value with its full dotted name."""
        if not isinstance(value, Missing) or not isinstance(node, nodes.Getattr):
            return value
        owner: list[str] = []
        inner: nodes.Node = node
        while isinstance(inner, nodes.Getattr):
            owner.insert(0, inner.attr)
            inner = inner.node
        return Missing(".".join((inner.name, *owner)) if isinstance(inner, nodes.Name) else value.name, value.known)

    def _value_filter(self, node: nodes.Filter, scope: Scope) -> Any:
        return self._filtered(node, self._value(node.node, scope), scope)  # type: ignore[arg-type]

    def _filtered_block(self, node: Any, text: Any, scope: Scope) -> Any:
        """Returns the text of a block after its filters. The innermost node is the first filter."""
        self._down()
        inner = text if node.node is None else self._filtered_block(node.node, text, scope)
        self._depth -= 1
        return self._filtered(node, inner, scope)

    def _filtered(self, node: nodes.Filter, value: Any, scope: Scope) -> Any:
        operation = known("filter", node.name, FILTERS)
        arguments, named = self._arguments(node, scope)
        self._at(node)
        return self._applied(f'the filter "{node.name}"', operation, (value, *arguments), named)

    def _value_test(self, node: nodes.Test, scope: Scope) -> bool:
        operation = known("test", node.name, TESTS)
        value = self._value(node.node, scope)
        arguments, named = self._arguments(node, scope)
        self._at(node)
        return bool(self._applied(f'the test "{node.name}"', operation, (value, *arguments), named))

    def _value_call(self, node: nodes.Call, scope: Scope) -> Any:
        return self._call(node, scope, None)

    def _call(self, node: nodes.Call, scope: Scope, caller: _Function | None) -> Any:
        arguments, named = self._arguments(node, scope)
        target = node.node
        if isinstance(target, nodes.Name) and target.name in FUNCTIONS and target.name not in scope:
            return self._applied(f"{target.name}()", FUNCTIONS[target.name], arguments, named)
        if isinstance(target, nodes.Getattr):
            value = needed(self._value(target.node, scope))
            if isinstance(value, Loop) and target.attr == "cycle":
                if named or not arguments:
                    message = "loop.cycle() has no values to choose from in order"
                    raise Refusal(TEMPLATE_VALUE, message, "Write loop.cycle('a', 'b').")
                return arguments[value["index0"] % len(arguments)]
            operation = method(value, target.attr)
            return self._applied(f"{target.attr}()", operation, (value, *arguments), named)
        called = self._value(target, scope)
        self._at(node)
        if not isinstance(needed(called), _Function):
            raise Refusal(TEMPLATE_VALUE, f"{kind(called)} cannot be called", "Only macros and methods can.")
        return self._macro(called, arguments, named, caller)

    def _macro(self, macro: _Function, args: Sequence[Any], named: dict[str, Any], caller: _Function | None) -> str:
        names = [parameter.name for parameter in macro.parameters]
        if len(args) > len(names) or not set(names[len(args) :]) >= named.keys():
            message = f"{macro.name} takes ({', '.join(names)})"
            raise Refusal(TEMPLATE_VALUE, message, "Give it these alone.")
        inner = macro.scope.new_child({name: Missing(name, macro.scope) for name in names})
        inner.maps[0].update(zip(names, args, strict=False))
        inner.maps[0].update(named)
        for name, default in zip(names[len(names) - len(macro.defaults) :], macro.defaults, strict=True):
            if isinstance(inner.maps[0][name], Missing):
                inner[name] = self._value(default, inner)
        if self._calls_back(macro):
            inner["caller"] = caller or Missing("caller")
        elif caller is not None:
            hint = "Print {{ caller() }} in it."
            raise Refusal(TEMPLATE_VALUE, f"the macro {macro.name} uses no block of its call", hint)
        return self._captured(macro.body, inner)

    def _calls_back(self, macro: _Function) -> bool:
        """Whether a macro uses the block of its call; each macro is searched once."""
        calls_back = self._callers.get(id(macro.body))
        if calls_back is None:
            inner = (node for statement in macro.body for node in walk(statement))
            calls_back = any(isinstance(node, nodes.Name) and node.name == "caller" for node in inner)
            self._callers[id(macro.body)] = calls_back
        return calls_back

    def _arguments(self, node: Any, scope: Scope) -> tuple[tuple[Any, ...], dict[str, Any]]:
        if node.dyn_args is not None or node.dyn_kwargs is not None:
            message = "arguments by * or ** are not available"
            raise Refusal(TEMPLATE_UNSUPPORTED, message, "Write them one by one.")
        arguments = tuple(needed(self._value(argument, scope)) for argument in node.args)
        return arguments, {argument.key: needed(self._value(argument.value, scope)) for argument in node.kwargs}

    def _applied(self, called: str, operation: Operation, arguments: Sequence[Any], named: dict[str, Any]) -> Any:
        value = self._done(lambda: applied(self._budget, operation, arguments, named), called, arguments)
        return value if isinstance(value, (Missing, TemplateNamespace)) else self._budget.made(value)

    def _done(self, compute: Callable[[], Any], called: str, operands: Sequence[Any]) -> Any:
        """Returns the result of a computation. Raises Refusal if it fails for these values."""
        try:
            return compute()
        except ZeroDivisionError as error:
            raise Refusal(TEMPLATE_VALUE, f"{called} divides by zero", "Test first whether it is zero.") from error
        except (TypeError, ValueError, LookupError, ArithmeticError, AttributeError) as error:  # Unicode's among them
            kinds = ", ".join(map(kind, operands)) or "nothing"
            raise Refusal(TEMPLATE_VALUE, f"{called} cannot be used this way, on: {kinds}", _COMPARE) from error

    def _at(self, node: nodes.Node) -> None:
        self.line = node.lineno or self.line  # what a tag wraps around its body has none
        self._budget.step()

    def _down(self) -> None:
        self._depth += 1
        if self._depth > MAX_NESTING:
            self._too_deep()

    @staticmethod
    def _too_deep() -> None:
        message = f"the template nests more than {MAX_NESTING} levels deep"
        raise Refusal(TEMPLATE_LIMIT, message, "Does a macro call itself without end? Otherwise nest it less.")


def _range(budget: Budget, *arguments: Any) -> range:
    numbers = range(*map(number, arguments))
    try:
        length = len(numbers)
    except OverflowError:
        length = MAX_ITEMS + 1
    if length > MAX_ITEMS:
        raise Refusal(TEMPLATE_LIMIT, f"a range of more than {MAX_ITEMS:,} numbers", "Make it shorter.")
    budget.step()
    return numbers


def _no_statement(node: nodes.Node) -> Refusal:
    line = next((inner.lineno for inner in walk(node) if inner.lineno), 0)
    if type(node) in _OTHER_FILES:
        message = f"{_OTHER_FILES[type(node)]} is not available: a template reads no other file"
        return Refusal(TEMPLATE_UNSUPPORTED, message, "Write what it holds into this file.", line)
    name = _OTHER_TAGS.get(type(node), type(node).__name__.lower())
    message = f"{{% {name} %}} is not available in a template here"
    hint = "Available: for, if, set, with, macro, call, filter, raw."
    return Refusal(TEMPLATE_UNSUPPORTED, message, hint, line)


_GLOBAL = object()
"""A function that every template has, which can only be called."""
FUNCTIONS: Mapping[str, Operation] = {
    "dict": Operation(by_item, lambda budget, /, **fields: budget.made(fields)),
    "namespace": Operation(by_item, lambda budget, /, **fields: TemplateNamespace(budget.made(fields))),
    "range": Operation(by_item, _range),
}
"""The functions that every template has."""
_ARITHMETIC: Mapping[type[nodes.Node], Callable[[Any, Any], Any]] = {
    nodes.Sub: operator.sub,
    nodes.Div: operator.truediv,
    nodes.FloorDiv: operator.floordiv,
}


def _methods(prefix: str) -> dict[type[nodes.Node], Callable[[_Run, Any, Scope], Any]]:
    """Returns the methods for nodes, by the node types in their names; nodes without a method are refused."""
    types = {name.lower(): kind for name, kind in vars(nodes).items() if isinstance(kind, type)}
    named = ((name.removeprefix(prefix), run) for name, run in vars(_Run).items() if name.startswith(prefix))
    return {types[name]: run for name, run in named if name in types}


_STATEMENTS = _methods("_run_")
_EXPRESSIONS = _methods("_value_") | dict.fromkeys(_ARITHMETIC, _Run._value_arithmetic)


def names_used(template: nodes.Template) -> frozenset[str]:
    """Returns the names of values that a template looks up, without names that the template has already set.

    Raises Refusal if a block looks up a name that is set outside only on a later line: Jinja finds nothing there.
    """
    names = _Names(set())
    names.look_up(template.body)
    return frozenset(names.found)


class _Names:
    """The names that a block looks up outside itself, and the names that it sets. A name that every branch of an ``if``
    sets counts as set afterwards.
    """

    def __init__(self, set_names: set[str], outside: Collection[str] = ()) -> None:
        self.own = set_names
        self.found: set[str] = set()
        self._outside = outside
        """Names that the surrounding blocks look up or set."""
        self._below: set[str] = set()
        """Names that inner blocks have looked up, and this block has not."""

    def look_up(self, nodes_: Iterable[nodes.Node]) -> None:
        for node_ in nodes_:
            match node_:
                case nodes.For():
                    self.look_up([node_.iter])
                    self._within(node_.else_)
                    inner = [node_.target, *([node_.test] if node_.test else ()), *node_.body]
                    self._within(inner, "loop")
                case nodes.If():
                    self.look_up([node_.test, *(branch_.test for branch_ in node_.elif_)])
                    before, after = self.own, []
                    for branch in (node_.body, *(elif_branch.body for elif_branch in node_.elif_), node_.else_):
                        self.own = set(before)
                        self.look_up(branch)
                        after.append(self.own)
                    self.own = before | set.intersection(*after)
                case nodes.Assign():
                    self.look_up([node_.node, node_.target])
                case nodes.AssignBlock():
                    self._within([*node_.body, *([node_.filter] if node_.filter else ())])
                    self.look_up([node_.target])
                case nodes.With():
                    self.look_up(node_.values)
                    self._within([*node_.targets, *node_.body])
                case nodes.Macro():
                    self._set({node_.name}, node_)
                    self._within([*node_.args, *node_.defaults, *node_.body], "caller")
                case nodes.CallBlock():
                    self.look_up([node_.call])
                    self._within([*node_.args, *node_.defaults, *node_.body])
                case nodes.FilterBlock():
                    self._within([*node_.body, node_.filter])
                case _:
                    uses = [node for node in walk(node_) if isinstance(node, nodes.Name)]
                    looked = {node.name for node in uses if node.ctx == "load"} - self.own
                    self.found |= looked
                    self._below -= looked
                    self._set({node.name for node in uses if node.ctx != "load"}, node_)

    def _set(self, names: set[str], setter: nodes.Node) -> None:
        for name in sorted(names & self._below - self.own):
            if name not in self._outside:
                message = f"{name} is set here, and a block above looks it up, where it is not defined yet"
                hint = "Set it above the block, or under another name."
                raise Refusal(TEMPLATE_VALUE, message, hint, setter.lineno)
        self.own |= names

    def _within(self, block: Iterable[nodes.Node], *names: str) -> None:
        """Examines a block within this one, which knows additional names."""
        inner = _Names({*self.own, *names}, {*self._outside, *self.own, *self.found - self._below})
        inner.look_up(block)
        self._below |= inner.found - self.found
        self.found |= inner.found


def walk(root: nodes.Node) -> Iterator[nodes.Node]:
    """Yields a node and all nodes below it; nodes that print text follow the order of the text."""
    waiting = [root]
    while waiting:
        node = waiting.pop()
        yield node
        waiting += reversed(list(node.iter_child_nodes()))


def prepared(root: nodes.Node, table: Mapping[int, str]) -> None:
    """Replaces characters in all text of a template that is not evaluated yet. Raises Refusal for constructs that Jinja
    refuses anywhere, although its parser accepts them.
    """
    for node in walk(root):
        if isinstance(node, nodes.TemplateData):
            node.data = node.data.translate(table)
        elif isinstance(node, nodes.Const):
            node.value = node.value.translate(table) if isinstance(node.value, str) else node.value
        elif type(node) in _CHECKED:
            _check(node)


_CHECKED: frozenset[type[nodes.Node]] = frozenset(
    {
        nodes.Call,
        nodes.CallBlock,
        nodes.Extends,
        nodes.Filter,
        nodes.For,
        nodes.Macro,
        nodes.Scope,
        nodes.Test,
        nodes.Tuple,
    }
)


def _check(node: Any) -> None:
    match node:
        case nodes.Extends() | nodes.Scope():
            raise _no_statement(node)
        case nodes.Tuple() if any(isinstance(member, nodes.Slice) for member in node.items):
            raise Refusal(TEMPLATE_UNSUPPORTED, "a slice among items is not available", "Slice once.", node.lineno)
        case nodes.Filter() if node.name not in JINJA_FILTERS:
            known("filter", node.name, FILTERS, node.lineno)
        case nodes.Test() if node.name not in JINJA_TESTS:
            known("test", node.name, TESTS, node.lineno)
        case nodes.Macro() | nodes.CallBlock() if len({argument.name for argument in node.args}) < len(node.args):
            raise Refusal(TEMPLATE_VALUE, "two parameters have one name", "Rename one.", node.lineno)
        case nodes.For() if any(isinstance(each, nodes.Name) and each.name == "loop" for each in walk(node.target)):
            message = "loop is the state of a loop, and cannot name an item"
            raise Refusal(TEMPLATE_VALUE, message, "Use another name.", node.lineno)
    named = getattr(node, "kwargs", ())
    if len({argument.key for argument in named}) < len(named):
        raise Refusal(TEMPLATE_VALUE, "an argument is given twice", "Remove one.", node.lineno)


_TOKEN = late_pattern(r"\{[{%#]")
_SINGLE_TOKEN = late_pattern(r"\{\{-?\s*([A-Za-z_][A-Za-z0-9_]*)\s*-?\}\}")
MAX_LENGTH = 65_536
"""The most characters of a text with tokens."""
_TOKENS = Environment(keep_trailing_newline=True)


def filled(text: str, values: Mapping[str, Any], budget: Budget) -> str | None:
    """Returns ``text`` with ``values``; None if the text is a single token with the value None. Raises Refusal."""
    if _TOKEN.search(text) is None:
        return text
    alone = _SINGLE_TOKEN.fullmatch(text.strip())
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
        tree = _TOKENS.parse(text)
        if any(isinstance(node, (nodes.For, nodes.Macro, nodes.CallBlock)) for node in walk(tree)):
            raise Refusal(TEMPLATE_VALUE, "there are no loops and macros here", "Use tokens, filters and if.")
        return tree
    except (TemplateError, ValueError, OverflowError, RecursionError, MemoryError) as error:
        message = str(getattr(error, "message", None) or "it nests too deep, or has a number of too many digits")
        raise Refusal(TEMPLATE_VALUE, message[:1].lower() + message[1:].rstrip("."), "Compare Jinja's docs.") from error


def _is_written(node: nodes.Expr) -> bool:
    """Whether a number is written in the template, or computed from such numbers alone."""
    if isinstance(node, nodes.UnaryExpr):
        return _is_written(node.node)
    if isinstance(node, nodes.BinExpr):
        return _is_written(node.left) and _is_written(node.right)
    return isinstance(node, nodes.Const)
