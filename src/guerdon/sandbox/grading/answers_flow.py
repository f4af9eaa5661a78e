"""Where in a test's code the values go that a program returned: back to the program, or to what runs them as code."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Sequence, Set

from guerdon.sandbox.grading.live_objects import aliases_of

_RUNS_CODE = frozenset(
    {"eval", "exec", "execfile", "__import__", "import_module", "exec_module", "run_path", "run_module",
     "FunctionType", "LambdaType", "CodeType"}
)  # fmt: skip
_RUNNING_MODULES = frozenset(
    {"pickle", "_pickle", "cPickle", "marshal", "cloudpickle", "dill", "code", "codeop", "ctypes", "doctest",
     "runpy", "pdb", "bdb", "imp", "pkgutil", "zipimport", "_testcapi", "_xxsubinterpreters"}
)  # fmt: skip
# They run text, or reach by its name what runs it, where the name or text is the program's.
_RUNS_GIVEN = frozenset(
    {"getattr", "setattr", "attrgetter", "methodcaller", "globals", "locals", "vars", "modules", "get_type_hints",
     "ForwardRef", "timeit", "Timer", "repeat", "runctx", "loadTestsFromName", "loadTestsFromNames", "locate"}
)  # fmt: skip


def reason_for_running_code(
    nodes: Sequence[ast.AST], setup: Sequence[ast.AST], functions: Iterable[str]
) -> str:
    """What in the test's code may run a program's answer as code, in a few words; empty if nothing does.

    Whoever has such a test run its answer decides the test, and no second process is between them.
    """
    every = [*nodes, *setup]
    literal = {id(node.func) for node in every if isinstance(node, ast.Call) and _is_literal(node)}
    for node in every:
        if isinstance(node, ast.Import | ast.ImportFrom):
            imported = [alias.name for alias in node.names]
            modules = imported if isinstance(node, ast.Import) else [node.module or ""]
            found = {name.partition(".")[0] for name in modules} & _RUNNING_MODULES
            if isinstance(node, ast.ImportFrom):
                found |= _RUNS_CODE & {*imported}
            if found:
                return f"may run what the program returned: {min(found)}"
        elif id(node) not in literal and (name := _running_name(node)):
            return f"may run what the program returned: {name}"
    if not any(_last_name(node) in _RUNS_GIVEN for node in every):
        return ""
    answers = names_with_answers(every, functions)
    for node in every:
        if isinstance(node, ast.Call) and _last_name(node.func) in _RUNS_GIVEN:
            given = node.args[1:] if _last_name(node.func) in ("getattr", "setattr") else node.args
            if any(_mentioned(part) & answers for part in given):
                return f"takes a name from what the program returned: {_last_name(node.func)}"
        elif isinstance(node, ast.Subscript) and _mentioned(node.slice) & answers:
            value = node.value.func if isinstance(node.value, ast.Call) else node.value
            if _last_name(value) in _RUNS_GIVEN:
                return f"takes a name from what the program returned: {_last_name(value)}"
    return ""


def lines_that_hand_back(nodes: Sequence[ast.AST], functions: Iterable[str]) -> set[int]:
    """The lines of calls of the program whose arguments are made of what it returned before."""
    aliases = aliases_of(nodes, functions)
    answers = names_with_answers(nodes, functions)
    return {
        node.lineno
        for node in nodes
        if isinstance(node, ast.Call) and _last_name(node.func) in aliases
        if any(_mentioned(part) & answers for part in (*node.args, *(word.value for word in node.keywords)))
    }


def names_with_answers(nodes: Sequence[ast.AST], functions: Iterable[str]) -> Set[str]:
    """The names that may hold something of what the program returned, wherever in the code they stand."""
    found = aliases_of(nodes, functions)
    flows = [(targets, sources) for targets, sources in _flows(nodes) if targets and sources]
    before = -1
    while len(found) > before:
        before = len(found)
        for targets, sources in flows:
            if not sources.isdisjoint(found):
                found |= targets
    return found


def _flows(nodes: Sequence[ast.AST]) -> Iterator[tuple[set[str], set[str]]]:
    """Names that get something, and the names that it is made of."""
    defined = {node.name: node for node in nodes if isinstance(node, ast.FunctionDef)}
    for node in nodes:
        match node:
            case ast.Assign(targets=targets, value=value):
                yield _mentioned(*targets), _mentioned(value)
            case (
                ast.AnnAssign(target=target, value=ast.expr() as value)
                | ast.AugAssign(target=target, value=value)
                | ast.NamedExpr(target=target, value=value)
                | ast.For(target=target, iter=value)
                | ast.comprehension(target=target, iter=value)
                | ast.withitem(context_expr=value, optional_vars=ast.expr() as target)
            ):
                yield _mentioned(target), _mentioned(value)
            case ast.Call(func=function, args=args, keywords=keywords):
                given = _mentioned(*args, *(word.value for word in keywords))
                if isinstance(function, ast.Attribute):
                    yield _mentioned(function.value), given
                elif isinstance(function, ast.Name) and function.id in defined:
                    yield _parameters(defined[function.id]), given
            case ast.FunctionDef(name=name):
                returned = [
                    part.value
                    for part in ast.walk(node)
                    if isinstance(part, ast.Return | ast.Yield | ast.YieldFrom) and part.value is not None
                ]
                yield {name}, _mentioned(*returned)


def _parameters(function: ast.FunctionDef) -> set[str]:
    args = function.args
    extra = [one for one in (args.vararg, args.kwarg) if one is not None]
    return {one.arg for one in (*args.posonlyargs, *args.args, *args.kwonlyargs, *extra)}


def _mentioned(*nodes: ast.AST) -> set[str]:
    return {part.id for node in nodes for part in ast.walk(node) if isinstance(part, ast.Name)}


def _running_name(node: ast.AST) -> str:
    match node:
        case ast.Name(id="compile") | ast.Attribute(value=ast.Name(id="builtins"), attr="compile"):
            return "compile"
        case ast.Name(id=name) | ast.Attribute(attr=name) if name in _RUNS_CODE:
            return name
    return ""


def _is_literal(call: ast.Call) -> bool:
    """Whether what a call is given first stands in the code itself."""
    return bool(call.args) and isinstance(call.args[0], ast.Constant)


def _last_name(node: ast.AST) -> str:
    match node:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
    return ""
