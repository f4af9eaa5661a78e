"""The source text of functions and classes, in a form that is the same on every machine."""

from __future__ import annotations

import ast
import functools
import inspect
import linecache
import textwrap
import types
from collections.abc import Sequence


def source_of(function: types.FunctionType) -> str:
    """The function's source text: dedented, without decorators, with plain line ends; empty where it has none."""
    linecache.checkcache(function.__code__.co_filename)
    lines = linecache.getlines(function.__code__.co_filename, function.__globals__)
    node = _node_of(function, "".join(lines)) if lines else None
    if node is None:
        return ""
    if isinstance(node, ast.Lambda):
        return ast.get_source_segment("".join(lines), node) or ""
    end = node.end_lineno or node.lineno
    return plain(lines[node.lineno - 1 : end])


_FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda


def _node_of(function: types.FunctionType, source: str) -> _FunctionNode | None:
    code = function.__code__
    candidates = [n for n in _function_nodes(source) if _first_line(n) == code.co_firstlineno]
    if function.__name__ != "<lambda>":
        return next((n for n in candidates if getattr(n, "name", None) == code.co_name), None)
    lambdas = [n for n in candidates if isinstance(n, ast.Lambda)]
    columns = [p[2] for p in code.co_positions() if p[0] is not None and p[2] is not None]
    inside = [n for n in lambdas if columns and n.col_offset <= max(columns) <= (n.end_col_offset or 0)]
    found = inside or lambdas
    return found[-1] if found else None


@functools.lru_cache(maxsize=64)
def _function_nodes(source: str) -> tuple[_FunctionNode, ...]:
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError):
        return ()
    return tuple(
        n for n in ast.walk(tree) if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
    )


def _first_line(node: _FunctionNode) -> int:
    decorators: list[ast.expr] = getattr(node, "decorator_list", [])
    return min([node.lineno, *(d.lineno for d in decorators)])


def class_source(cls: type) -> str:
    """The class's source text; empty for a class without source, of which the members are hashed."""
    try:
        return plain(inspect.getsource(cls).splitlines())
    except (OSError, TypeError, SyntaxError, IndexError):
        return ""


def plain(lines: Sequence[str]) -> str:
    """Lines as one text: dedented, without spaces at their ends."""
    return textwrap.dedent("\n".join(line.rstrip() for line in lines)).strip("\n")
