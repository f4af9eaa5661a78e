"""How an assert test is run, decided by its text alone: what the program does cannot change it.

``calls``: the test only compares what calls with literal arguments give, so the program is asked and the answers
are compared on the host. ``pair``: the test code runs in a process of its own, and the program is called from
there. ``live``: the test needs the program's own objects, so both share a process, and the verdict can be forged.
"""

from __future__ import annotations

import ast
import builtins
import importlib
import symtable
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal

from guerdon.errors import InputError
from guerdon.sandbox.grading.answers_flow import lines_that_hand_back, reason_for_running_code
from guerdon.sandbox.grading.assertions import Assertions, read_assertions
from guerdon.sandbox.grading.cases import AssertTest
from guerdon.sandbox.grading.live_objects import aliases_of, reason_for_live_objects
from guerdon.sandbox.grading.operations import NotPlainError
from guerdon.sandbox.grading.syntax import alone, too_long

Mode = Literal["calls", "pair", "live"]
# Modules that test code uses without importing them, because its authors ran it behind the program's imports.
_TAKEN_FOR_GRANTED = frozenset(
    {"bisect", "cmath", "collections", "copy", "datetime", "decimal", "fractions", "functools", "heapq",
     "itertools", "json", "math", "operator", "random", "re", "string", "sys"}
)  # fmt: skip
_MODULE_NAMES = frozenset({"__name__", "__file__", "__doc__", "__builtins__", "__annotations__"})
_TOKENS = 500_000
"""Words, signs and line ends of a test's code, which may hold large inputs."""
_KEPT = 20_000
"""Characters of a test whose plan is kept for the next sample."""
_EXPECTING = frozenset({"assertRaises", "assertRaisesRegex", "raises", "suppress"})


@dataclass(frozen=True, slots=True)
class AssertPlan:
    """How one assert test is to be run."""

    mode: Mode
    reason: str
    """What the code does that needs this mode; empty for ``calls``."""
    test_plan: dict[str, Any]
    """For ``pair`` and ``live``: the fields of inside.testcode.TestPlan."""
    assertions: Assertions
    """For ``calls``: what is asked and what has to hold."""

    @property
    def tamper_resistant(self) -> bool:
        """Whether a program cannot make a failed test look passed."""
        return self.mode != "live"


def plan_assert_test(test: AssertTest) -> AssertPlan:
    """How the test is to be run. Raises InputError for code that does not compile or names nothing to test.

    >>> plan_assert_test(AssertTest("assert double(2) == 4")).mode
    'calls'
    >>> plan_assert_test(AssertTest("xs = [2]; double_all(xs); assert xs == [4]")).mode
    'pair'
    >>> plan_assert_test(AssertTest("assert Stack().push(1).size == 1")).reason
    'uses an attribute of what the program returned: push'
    """
    extra = tuple(test.proxied)
    plan = _kept_plan if len(test.code) + len(test.setup) <= _KEPT else _plan_assert_test
    return plan(test.code, test.entry_point, test.setup, extra, test.live_objects)


def _plan_assert_test(
    code: str, entry_point: str | None, setup: str, proxied: tuple[str, ...], live_objects: bool | None
) -> AssertPlan:
    tree = _parsed(code, "the test's code")
    nodes = list(ast.walk(tree))
    after = list(_left_uncalled(tree, nodes))
    if entry_point is not None and not live_objects:
        try:
            found = read_assertions(tree, [entry_point, *proxied], after)
        except NotPlainError:
            pass
        else:
            if not found.shares_values or not _copied_back(nodes, [entry_point, *proxied]):
                return AssertPlan("calls", "", {}, found)
    used, defined = _names(code, nodes)
    setup_tree = _parsed(setup, "the test's set-up")
    given = list(ast.walk(setup_tree))
    missing = used - defined - _names(setup, given)[1] - _MODULE_NAMES - vars(builtins).keys()
    if entry_point is None:
        entry_point = _guessed(missing - _TAKEN_FOR_GRANTED - set(proxied), proxied, after)
        if entry_point is not None:
            return _plan_assert_test(code, entry_point, setup, proxied, live_objects)
    functions = [name for name in (entry_point, *proxied) if name is not None]
    reason = reason_for_live_objects(nodes, given, functions, missing - _TAKEN_FOR_GRANTED - set(functions))
    test_plan: dict[str, Any] = {
        "code": code,
        "setup": setup,
        "entry_point": entry_point or "",
        "proxied": list(proxied),
        "imports": sorted(missing & _TAKEN_FOR_GRANTED),
        "after": after,
        "expects": sorted(_expected(nodes)),
        "copied_back": sorted(_copied_back(nodes, functions)),
        "handed_back": sorted(lines_that_hand_back(nodes, functions)),
    }
    if runs := reason_for_running_code(nodes, given, functions):
        return AssertPlan("live", runs, test_plan, Assertions())
    if live_objects or (live_objects is None and reason):
        return AssertPlan("live", reason or "live_objects is set", test_plan, Assertions())
    return AssertPlan("pair", "does more than ask and compare", test_plan, Assertions())


_kept_plan = lru_cache(maxsize=2048)(_plan_assert_test)


def _guessed(missing: set[str], proxied: Sequence[str], after: Sequence[tuple[str, bool]]) -> str | None:
    """The function under test where nobody named it: what the code uses and does not define."""
    if len(missing) == 1:
        return next(iter(missing))
    if proxied:
        return proxied[0]
    if not missing:
        raise InputError("the test's code uses no name that it does not define; give entry_point")
    if any(takes for _, takes in after):
        raise InputError("the test's code uses several names that it does not define; give entry_point")
    return None


def _parsed(code: str, what: str) -> ast.Module:
    if why := too_long(code, _TOKENS):
        raise InputError(f"{what} has {why}")
    try:
        return alone(lambda: ast.parse(code))
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        line = f" in line {error.lineno}" if isinstance(error, SyntaxError) else ""
        raise InputError(f"{what} does not compile: {error.__class__.__name__}{line}") from None


def _names(code: str, nodes: Sequence[ast.AST]) -> tuple[set[str], set[str]]:
    """The names of the module's level that the code uses, built-in ones among them, and those it defines."""
    try:
        table = symtable.symtable(code, "test.py", "exec")
    except SyntaxError as error:
        raise InputError(f"the test's code does not compile: SyntaxError in line {error.lineno}") from None
    used: set[str] = set()
    defined: set[str] = set()
    for scope in _scopes(table):
        for symbol in scope.get_symbols():
            outer = scope is table or symbol.is_global()
            if outer and symbol.is_referenced():
                used.add(symbol.get_name())
            if outer and (symbol.is_assigned() or symbol.is_imported() or symbol.is_namespace()):
                defined.add(symbol.get_name())
    return used, defined | set(_starred(nodes))


def _scopes(table: symtable.SymbolTable) -> Iterator[symtable.SymbolTable]:
    yield table
    for child in table.get_children():
        yield from _scopes(child)


def _starred(nodes: Sequence[ast.AST]) -> Iterator[str]:
    """The names that ``from module import *`` brings; of the standard library, the rest is not here."""
    for node in nodes:
        if not (isinstance(node, ast.ImportFrom) and node.names[0].name == "*" and node.module):
            continue
        if node.module.partition(".")[0] in sys.stdlib_module_names:
            module = importlib.import_module(node.module)
            yield from getattr(module, "__all__", vars(module))


def _left_uncalled(tree: ast.Module, nodes: Sequence[ast.AST]) -> Iterator[tuple[str, bool]]:
    """``check`` and the test functions that the code defines and does not mention again."""
    mentioned = {node.id for node in nodes if isinstance(node, ast.Name)}
    for node in tree.body:
        if not isinstance(node, ast.FunctionDef) or node.name in mentioned:
            continue
        required = len(node.args.args) - len(node.args.defaults)
        if node.name == "check":
            yield node.name, required > 0
        elif node.name.startswith("test") and required == 0:
            yield node.name, False


def _expected(nodes: Sequence[ast.AST]) -> set[str]:
    """The built-in exceptions that the code waits for by name."""
    places: list[ast.AST] = []
    for node in nodes:
        if isinstance(node, ast.ExceptHandler) and node.type is not None:
            places.append(node.type)
        elif isinstance(node, ast.Call) and _last_name(node.func) in _EXPECTING:
            places.extend(node.args)
    named = {name.id for place in places for name in ast.walk(place) if isinstance(name, ast.Name)}
    return {name for name in named if _is_exception(name)}


def _is_exception(name: str) -> bool:
    kind = getattr(builtins, name, None)
    return isinstance(kind, type) and issubclass(kind, BaseException)


def _last_name(node: ast.expr) -> str:
    match node:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
    return ""


def _copied_back(nodes: Sequence[ast.AST], functions: Iterable[str]) -> set[int]:
    """The lines of calls whose arguments the test looks at afterwards, as it must for a function in place.

    That is so where the result is thrown away, and where an argument is compared with something that neither
    the program's result nor the argument has part in. ``f(xs) == sorted(xs)`` is none of these: a program
    that empties ``xs`` would be right.
    """
    aliases = aliases_of(nodes, functions)
    calls = [node for node in nodes if isinstance(node, ast.Call) and _last_name(node.func) in aliases]
    results = {
        name.id
        for node in nodes if isinstance(node, ast.Assign)
        if any(call in calls for call in ast.walk(node.value))
        for target in node.targets for name in ast.walk(target) if isinstance(name, ast.Name)
    }  # fmt: skip
    thrown_away = {id(node.value) for node in nodes if isinstance(node, ast.Expr)}
    looked_at = set(_looked_at(nodes, aliases, results))
    return {
        call.lineno
        for call in calls
        if any(_name(argument) for argument in _arguments(call))
        if id(call) in thrown_away or any(_name(argument) in looked_at for argument in _arguments(call))
    }


def _looked_at(nodes: Sequence[ast.AST], aliases: set[str], results: set[str]) -> Iterator[str]:
    for node in nodes:
        sides: list[ast.expr] = []
        if isinstance(node, ast.Compare) and len(node.ops) == 1:
            sides = [node.left, node.comparators[0]]
        elif isinstance(node, ast.Call) and _last_name(node.func).startswith("assert"):
            sides = node.args[:2]
        if len(sides) != 2:
            continue
        for side, other in (sides, sides[::-1]):
            subject = side.value if isinstance(side, ast.Subscript) else side
            mentioned = {name.id for name in ast.walk(other) if isinstance(name, ast.Name)}
            if isinstance(subject, ast.Name) and not mentioned & (aliases | results | {subject.id}):
                yield subject.id


def _arguments(call: ast.Call) -> list[ast.expr]:
    return [*call.args, *(keyword.value for keyword in call.keywords)]


def _name(node: ast.expr) -> str | None:
    return node.id if isinstance(node, ast.Name) else None
