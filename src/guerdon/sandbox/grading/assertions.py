"""Assertions on calls with literal arguments, read from a test's code without running it.

``assert f([1, 2]) == 3`` is a call and a comparison. Where all of a test is of this kind, the program has only to
be asked; what it answers is compared here, on plain values. Whatever else the code does, ``read_assertions`` declines.
"""

from __future__ import annotations

import ast
import operator
from collections import ChainMap
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from guerdon.sandbox.grading.known_values import (
    ITEMS_A_STEP,
    Answers,
    Constant,
    Deferred,
    ReadingBudget,
    Term,
    constantly,
    literal,
    size_of_result,
    terms_of,
    total_size,
)
from guerdon.sandbox.grading.operations import (
    BINARY,
    BUILTINS,
    COMPARE,
    DISPLAYS,
    MATH,
    UNARY,
    NotPlainError,
    Safe,
    folded,
    number,
    refuse_identity,
)
from guerdon.sandbox.inside import decoding

_CALLS = 1000


@dataclass(frozen=True, slots=True)
class ProgramCall:
    """One call that the test makes."""

    function: str
    arguments: list[Any]
    keywords: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Assertion:
    """What has to hold of the answers."""

    line: int
    text: str
    term: Term

    def holds(self, answers: Answers) -> bool:
        """Whether it does. Raises what the answers raise, and what the comparison of unlike things does."""
        return bool(self.term(answers))


@dataclass(slots=True)
class Assertions:
    """All calls and assertions of a test, in the order of its code."""

    calls: list[ProgramCall] = field(default_factory=list)
    assertions: list[Assertion] = field(default_factory=list)
    shares_values: bool = False
    """Whether a call gets a list or the like that has a name, so that the code can look at it afterwards."""


def read_assertions(
    tree: ast.Module, functions: Sequence[str], after: Sequence[tuple[str, bool]]
) -> Assertions:
    """The calls of ``functions`` and what is asserted of them. Raises NotPlainError where there is more to it.

    ``after`` are functions of the code to be called at its end; true where one takes ``functions[0]``.
    """
    decoding.begin()
    reader = _AssertionReader(functions)
    try:
        reader.body(tree.body, reader.names)
        for name, takes_function in after:
            reader.inline(name, [_CandidateFunction(functions[0])] if takes_function else [], reader.names)
    except NotPlainError:
        raise
    except (ValueError, TypeError, LookupError, ArithmeticError, RecursionError, MemoryError) as error:
        # The code is wrong or odd; run, it will say so itself.
        raise NotPlainError(type(error).__name__) from None
    if not reader.found.calls:
        raise NotPlainError("no calls")
    return reader.found


@dataclass(frozen=True, slots=True)
class _CandidateFunction:
    name: str


@dataclass(frozen=True, slots=True)
class _TestFunction:
    node: ast.FunctionDef


_Thing = Constant | Deferred | _CandidateFunction | _TestFunction | Safe
_Names = ChainMap[str, _Thing]


_MATH: Mapping[str, Constant | Safe] = {
    name: thing if isinstance(thing, Safe) else Constant(thing) for name, thing in MATH.items()
}


class _AssertionReader:
    """Follows the code with what is known of each name."""

    def __init__(self, functions: Sequence[str]) -> None:
        self.functions = {name: _CandidateFunction(name) for name in functions}
        self.names: _Names = ChainMap({}, dict(self.functions), dict(BUILTINS))
        self.found = Assertions()
        self.level = 0
        self.budget = ReadingBudget()
        self.texts: dict[ast.expr, str] = {}

    def body(self, statements: Sequence[ast.stmt], names: _Names) -> None:
        for statement in statements:
            self.statement(statement, names)

    def statement(self, node: ast.stmt, names: _Names) -> None:
        self.budget.charge(1)
        match node:
            case ast.Assert():
                self.assertion(node, names)
            case ast.Pass() | ast.Expr(value=ast.Constant()) | ast.Return(value=None):
                if isinstance(node, ast.Return) and node is not self.last:
                    raise NotPlainError("an early return")
            case ast.FunctionDef(decorator_list=[]):
                names[node.name] = _TestFunction(node)
            case ast.Import() | ast.ImportFrom():
                _bind_imported(node, names)
            case ast.Assign(targets=[target], value=value):
                self.bind(target, self.value(value, names), names)
            case ast.AnnAssign(target=ast.Name() as target, value=ast.expr() as value):
                self.bind(target, self.value(value, names), names)
            case ast.For(orelse=[]):
                items = self.known(node.iter, names)
                for item in items.value:
                    self.bind(node.target, Constant(item, items.size), names)
                    self.body(node.body, names)
            case ast.If(orelse=[]) if _is_main(node.test):
                self.body(node.body, names)
            case ast.Expr(value=ast.Call() as call):
                self.called(call, names)
            case _:
                raise NotPlainError(type(node).__name__)

    last: ast.stmt | None = None

    def assertion(self, node: ast.Assert, names: _Names) -> None:
        thing = self.value(node.test, names)
        term = thing.term if isinstance(thing, Deferred) else constantly(thing.value)
        self.asserted(node, node.test, term)

    def bind(self, target: ast.expr, thing: Constant | Deferred, names: _Names) -> None:
        match target:
            case ast.Name(id=name):
                names[name] = thing
            case ast.Tuple(elts=parts) | ast.List(elts=parts) if isinstance(thing, Constant):
                items = list(thing.value)
                if len(items) != len(parts):
                    raise NotPlainError("an uneven assignment")
                for part, item in zip(parts, items, strict=True):
                    self.bind(part, Constant(item, thing.size), names)
            case _:
                raise NotPlainError("an assignment")

    def called(self, node: ast.Call, names: _Names) -> None:
        """A call whose result nobody looks at: of a function of the code, or of the program."""
        if isinstance(node.func, ast.Name) and isinstance(names.get(node.func.id), _TestFunction):
            if node.keywords:
                raise NotPlainError("keyword arguments")
            self.inline(node.func.id, [self.thing(argument, names) for argument in node.args], names)
            return
        thing = self.value(node, names)
        if not isinstance(thing, Deferred):
            raise NotPlainError("a call")
        term = thing.term
        self.asserted(node, node, lambda answers: [term(answers)])

    def asserted(self, node: ast.Assert | ast.Call, shown: ast.expr, term: Term) -> None:
        text = self.texts.get(shown)
        if text is None:
            text = self.texts[shown] = ast.unparse(shown)
        self.found.assertions.append(Assertion(node.lineno, text, term))

    def inline(self, name: str, arguments: list[_Thing], names: _Names) -> None:
        function = names[name]
        if not isinstance(function, _TestFunction):
            raise NotPlainError("a call")
        node = function.node
        given = [argument.arg for argument in node.args.args]
        plain = not (node.args.vararg or node.args.kwarg or node.args.kwonlyargs or node.args.posonlyargs)
        if not plain or len(given) != len(arguments) or self.level > 20:
            raise NotPlainError("parameters")
        self.budget.charge(20)
        outer = self.last
        self.last = node.body[-1]
        self.level += 1
        # A function sees the names of the module; one inside of another is rare enough to be run instead.
        self.body(node.body, ChainMap(dict(zip(given, arguments, strict=True)), *self.names.maps))
        self.level -= 1
        self.last = outer

    def thing(self, node: ast.expr, names: _Names) -> _Thing:
        if isinstance(node, ast.Name):
            if node.id not in names:
                raise NotPlainError(node.id)
            return names[node.id]
        return self.value(node, names)

    def known(self, node: ast.expr, names: _Names) -> Constant:
        thing = self.value(node, names)
        if not isinstance(thing, Constant):
            raise NotPlainError("an answer in another place than an assertion")
        return thing

    def value(self, node: ast.expr, names: _Names) -> Constant | Deferred:
        match node:
            case ast.Constant():
                return literal(node.value)
            case ast.Name() | ast.Attribute():
                thing = _looked_up(node, names)
                if isinstance(thing, Constant | Deferred) and thing != Constant(_MATH):
                    return thing
                raise NotPlainError("a function as a value")
            case ast.List(elts=parts) | ast.Tuple(elts=parts) | ast.Set(elts=parts):
                kind = DISPLAYS[type(node)]
                if all(type(part) is ast.Constant for part in parts):
                    self.budget.charge(len(parts) // 2)
                    literals = [literal(part.value) for part in parts if type(part) is ast.Constant]
                    return self.budget.constant(
                        kind([literal.value for literal in literals]), total_size(literals)
                    )
                return self.combined(lambda *items: kind(items), parts, names)
            case ast.Dict(keys=keys, values=parts) if None not in keys:
                count = len(keys)
                return self.combined(
                    lambda *items: dict(
                        zip(decoding.distinct(list(items[:count])), items[count:], strict=True)
                    ),
                    [*keys, *parts],  # type: ignore[list-item]
                    names,
                )
            case ast.UnaryOp():
                return self.unary(node, names)
            case ast.BinOp():
                return self.binary(node, names)
            case ast.BoolOp():
                return self.boolean(node, names)
            case ast.Compare():
                return self.comparison(node, names)
            case ast.Subscript():
                return self.combined(operator.getitem, [node.value, node.slice], names)
            case ast.Slice():
                parts = [part or ast.Constant(None) for part in (node.lower, node.upper, node.step)]
                return self.combined(slice, parts, names)
            case ast.Call():
                return self.call(node, names)
        raise NotPlainError(type(node).__name__)

    def combined(
        self, function: Callable[..., Any], parts: Sequence[ast.expr], names: _Names
    ) -> Constant | Deferred:
        """The function of the parts: at once where all are known, else when the answers are there."""
        things = [self.value(part, names) for part in parts]
        known = [thing for thing in things if isinstance(thing, Constant)]
        size = total_size(known)
        self.budget.charge(1 + len(things) // 2 + size // ITEMS_A_STEP)
        if len(known) == len(things):
            return self.budget.constant(function(*(thing.value for thing in known)), size)
        terms = terms_of(things)
        return self.budget.deferred(lambda answers: function(*[term(answers) for term in terms]), things)

    def unary(self, node: ast.UnaryOp, names: _Names) -> Constant | Deferred:
        function = UNARY[type(node.op)]
        if isinstance(node.op, ast.Not):
            return self.combined(function, [node.operand], names)
        return self.combined(lambda value: function(number(value)), [node.operand], names)

    def binary(self, node: ast.BinOp, names: _Names) -> Constant | Deferred:
        left, right = self.value(node.left, names), self.value(node.right, names)
        function = BINARY.get(type(node.op))
        if function is None:
            raise NotPlainError("an operator")
        if isinstance(left, Constant) and isinstance(right, Constant):
            size = size_of_result(node.op, left, right)
            self.budget.charge(1 + size // ITEMS_A_STEP)
            return self.budget.constant(folded(node.op, function, left.value, right.value), size)
        numbers = [side.value for side in (left, right) if isinstance(side, Constant)]
        if not isinstance(node.op, ast.Add | ast.Sub) or not numbers or type(numbers[0]) not in (int, float):
            raise NotPlainError("arithmetic with answers")
        one, other = terms_of([left, right])
        return self.budget.deferred(
            lambda answers: function(number(one(answers)), number(other(answers))), [left, right]
        )

    def boolean(self, node: ast.BoolOp, names: _Names) -> Constant | Deferred:
        parts = [self.value(part, names) for part in node.values]
        terms = terms_of(parts)
        stops_at = isinstance(node.op, ast.Or)

        def decide(answers: Answers) -> Any:
            for term in terms:
                result = term(answers)
                if bool(result) is stops_at:
                    break
            return result

        return self.budget.deferred(decide, parts)

    def comparison(self, node: ast.Compare, names: _Names) -> Constant | Deferred:
        sides = [node.left, *node.comparators]
        functions = [COMPARE[type(op)] for op in node.ops]
        refuse_identity(node.ops, sides)

        def compare(*items: Any) -> Any:
            return all(f(a, b) for f, a, b in zip(functions, items, items[1:], strict=False))

        return self.combined(compare, sides, names)

    def call(self, node: ast.Call, names: _Names) -> Constant | Deferred:
        function = _looked_up(node.func, names)
        parts = [*node.args, *(keyword.value for keyword in node.keywords)]
        keys = [keyword.arg for keyword in node.keywords]
        if None in keys or len(set(keys)) < len(keys) or any(isinstance(part, ast.Starred) for part in parts):
            raise NotPlainError("starred arguments")
        count = len(node.args)
        if isinstance(function, _CandidateFunction):
            known = [self.known(part, names).value for part in parts]
            named = [isinstance(part, ast.Name) for part in parts]
            if any(name and not _is_fixed(value) for name, value in zip(named, known, strict=True)):
                self.found.shares_values = True
            if len(self.found.calls) >= _CALLS:
                raise NotPlainError("many calls")
            number = len(self.found.calls)
            keywords = dict(zip(keys, known[count:], strict=True))
            self.found.calls.append(ProgramCall(function.name, known[:count], keywords))  # type: ignore[arg-type]
            return Deferred(lambda answers: answers[number]())
        if not isinstance(function, Safe):
            raise NotPlainError("a call")
        apply = function.apply
        result = self.combined(
            lambda *items: apply(*items[:count], **dict(zip(keys, items[count:], strict=True))),  # type: ignore[arg-type]
            parts,
            names,
        )
        if isinstance(result, Deferred) and not function.later:
            raise NotPlainError("a function of an answer")
        return result


def _looked_up(node: ast.expr, names: _Names) -> _Thing:
    match node:
        case ast.Name(id=name) if name in names:
            return names[name]
        case ast.Attribute(value=ast.Name(id=name), attr=attribute):
            if names.get(name) == Constant(_MATH) and attribute in _MATH:
                return _MATH[attribute]
    raise NotPlainError(ast.unparse(node))


def _bind_imported(node: ast.Import | ast.ImportFrom, names: _Names) -> None:
    for alias in node.names:
        name = alias.asname or alias.name
        if isinstance(node, ast.ImportFrom):
            found = _MATH.get(alias.name) if node.module == "math" else None
        else:
            found = Constant(_MATH) if alias.name == "math" else None
        names.pop(name, None) if name in names.maps[0] else None
        if found is not None:
            names[name] = found
        elif name in names:
            raise NotPlainError(f"another {name}")


def _is_fixed(value: Any) -> bool:
    return isinstance(value, int | float | complex | str | bytes | tuple | type(None))


def _is_main(node: ast.expr) -> bool:
    return ast.unparse(node) == "__name__ == '__main__'"
