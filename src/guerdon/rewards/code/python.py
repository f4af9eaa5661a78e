"""Python source, read and never run: whether it compiles, what it defines, what it lacks."""

from __future__ import annotations

import ast
import builtins
import contextlib
import functools
import importlib
import textwrap
import warnings
from collections.abc import Iterator
from dataclasses import dataclass

from guerdon.sandbox.grading.syntax import alone, too_long

MAX_SOURCE = 400_000
"""Characters of a program; what is longer is refused before it is parsed."""
MAX_TOKENS = 50_000
"""Words, signs and line ends of a program; parsing takes about 1 kB for each."""
_MAX_COMPILED = 50_000
"""Characters of a program that is compiled here; names times functions is what that may cost."""
_FILE = "<program of a completion>"
_QUIET = r"<program of a completion>\Z"
"""Which modules' warnings are not for anybody: sources that bear the name above."""


@dataclass(frozen=True, slots=True)
class Broken:
    """Why a text is not Python."""

    message: str
    line: int | None = None

    def __str__(self) -> str:
        return self.message if self.line is None else f"{self.message} (line {self.line})"


def parsed(source: str) -> ast.Module | Broken:
    """The syntax tree of a program that compiles, or why it does not.

    A program that could make the compiler write far more code than there is source is only parsed: what else is
    wrong with it, the sandbox finds.

    >>> str(parsed("return 1"))
    "'return' outside function (line 1)"
    """
    return _parsed(source) if len(source) <= _KEPT else _parsed_long(source)


def _parse(source: str) -> ast.Module | Broken:
    if len(source) > MAX_SOURCE:
        return Broken(f"the program has {len(source):,} characters, over {MAX_SOURCE:,}")
    if why := too_long(source, MAX_TOKENS):
        return Broken(f"the program has {why}")
    _be_quiet()
    try:
        tree = alone(lambda: ast.parse(source, _FILE))
        if len(source) <= _MAX_COMPILED and not any(map(_multiplies, ast.walk(tree))):
            alone(lambda: compile(tree, _FILE, "exec", dont_inherit=True))
    except SyntaxError as error:
        return Broken(error.msg, error.lineno)
    except (ValueError, RecursionError, MemoryError, OverflowError) as error:
        # Zero bytes, lone surrogates, numbers of too many digits, brackets nested too deep.
        return Broken(str(error) or type(error).__name__)
    return tree


_KEPT = 20_000
"""Characters of a program of whose like more than one are kept: their trees take memory."""
_parsed = functools.lru_cache(maxsize=16)(_parse)
_parsed_long = functools.lru_cache(maxsize=1)(_parse)


def _multiplies(node: ast.AST) -> bool:
    """Whether the compiler may write the code of it many times: what is in ``finally`` it writes twice for each
    level, and for each of a pattern's names it moves all of them. 30 lines can take all memory so."""
    match node:
        case ast.Try(finalbody=[_, *_]) | ast.TryStar(finalbody=[_, *_]) | ast.Match():
            return True
    return False


def _be_quiet() -> None:
    """Have warnings of a completion's source, such as of a bad escape, neither be printed nor be raised.

    The filter holds for the file name of such sources only. It has to be the first each time, since others
    put theirs before it, and whoever saves and restores the filters, as pytest does, drops it.
    """
    for kind, _, category, module, _ in warnings.filters[:1]:
        if kind == "ignore" and category is Warning and getattr(module, "pattern", None) == _QUIET:
            return
    with contextlib.suppress(ValueError):  # another thread was faster to remove the same filter
        warnings.filterwarnings("ignore", category=Warning, module=_QUIET)


def compiles(source: str) -> bool:
    """Whether a text is a Python program."""
    return isinstance(parsed(source), ast.Module)


def defined(tree: ast.Module) -> Iterator[tuple[str, ast.stmt]]:
    """The names that a program binds at its top, each with the statement, and the methods of ``Solution``."""
    for node in tree.body:
        match node:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                yield name, node
            case ast.ClassDef(name=name):
                yield name, node
                if name == "Solution":
                    for part in node.body:
                        if isinstance(part, ast.FunctionDef | ast.AsyncFunctionDef):
                            yield part.name, node
            case ast.Assign(targets=targets):
                for target in targets:
                    for leaf in ast.walk(target):
                        if isinstance(leaf, ast.Name):
                            yield leaf.id, node
            case ast.AnnAssign(target=ast.Name(id=name)):
                yield name, node
            case ast.Import(names=aliases) | ast.ImportFrom(names=aliases):
                for alias in aliases:
                    yield alias.asname or alias.name.partition(".")[0], node


def defines(source: str, name: str) -> bool:
    """Whether a text is a Python program that binds a name at its top, or as a method of ``Solution``.

    >>> defines("def f(): pass", "f"), defines("def f(", "f")
    (True, False)
    """
    tree = parsed(source)
    wanted = name.rpartition(".")[2]
    return isinstance(tree, ast.Module) and any(found in (name, wanted) for found, _ in defined(tree))


def closed(stub: str) -> str | None:
    """A prompt's code as a program: as it is, or with a body where it ends in a function's head; else None."""
    for text in (stub, f"{stub.rstrip()}\n    pass\n"):
        if text.strip() and compiles(text):
            return text
    return None


def preamble(stub: str, name: str) -> str:
    """What stands in a prompt's code beside the function that is to be written: imports and helpers.

    >>> preamble("import math\\n\\ndef f(x):\\n    '''Doubles.'''\\n", "f")
    'import math'
    """
    source = closed(stub)
    tree = parsed(source) if source is not None else None
    if source is None or not isinstance(tree, ast.Module):
        return ""
    left_out: set[int] = set()
    for found, node in defined(tree):
        if found == name:
            decorators = getattr(node, "decorator_list", [])
            first = min([node.lineno, *(d.lineno for d in decorators)])
            left_out.update(range(first, (node.end_lineno or first) + 1))
    lines = source.split("\n")
    return "\n".join(line for i, line in enumerate(lines, 1) if i not in left_out).strip()


_STOPS = ("\ndef ", "\nclass ", "\nif __name__", "\nprint(", "\n#", "\nassert ", "\n```")


def continued(stub: str, body: str, name: str) -> str | None:
    """The program that a prompt's code and its continuation make up; None where they make none.

    The continuation may have lost its indentation, and what follows the function is cut off where the
    program does not compile with it.

    >>> continued("def f(x):\\n    '''Doubles.'''\\n", "return 2 * x", "f")
    "def f(x):\\n    '''Doubles.'''\\n    return 2 * x\\n"
    """
    source = closed(stub)
    if source is None or not defines(source, name):
        return None
    head = stub.rstrip() + "\n"
    for text in _cut(body.strip("\n")):
        indented = textwrap.indent(textwrap.dedent(text), "    ")
        for way in (text, indented, "    " + text.lstrip()):
            program = f"{head}{way}\n"
            if way.strip() and way[0].isspace() and compiles(program):
                return program
    return None


def _cut(body: str) -> Iterator[str]:
    yield body
    ends = sorted({at for stop in _STOPS if (at := body.find(stop)) > 0})
    for end in ends[:1]:
        yield body[:end]


def with_before(source: str, lines: str) -> str:
    """A program with lines put before its first statement, after docstring and ``__future__``."""
    tree = parsed(source)
    if not lines or not isinstance(tree, ast.Module):
        return source
    at = 0
    for i, node in enumerate(tree.body):
        is_docstring = i == 0 and isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        is_future = isinstance(node, ast.ImportFrom) and node.module == "__future__"
        if not is_docstring and not is_future:
            break
        if is_future:
            at = node.end_lineno or 0
    rows = source.split("\n")
    return "\n".join([*rows[:at], lines, *rows[at:]])


_CUSTOMARY = (
    *("string", "re", "datetime", "collections", "heapq", "bisect", "copy", "math", "random", "statistics"),
    *("itertools", "functools", "operator", "io", "sys", "json", "typing"),
)
"""What the harnesses of APPS and LiveCodeBench import with a star, in their order, and then by name."""


@functools.cache
def _customary() -> dict[str, str]:
    """The line that imports each name which those harnesses have in store; later modules win."""
    found: dict[str, str] = {}
    for module in _CUSTOMARY:
        contents = importlib.import_module(module)
        names = getattr(contents, "__all__", None) or [n for n in dir(contents) if not n.startswith("_")]
        found.update({name: f"from {module} import {name}" for name in names if not hasattr(builtins, name)})
    return found | {module: f"import {module}" for module in _CUSTOMARY}


def missing_imports(source: str) -> str:
    """Import lines for the names that a program uses and binds nowhere, where it is known whence they come.

    >>> missing_imports("def f(xs: List[int]):\\n    return math.prod(xs)")
    'from typing import List\\nimport math'
    """
    tree = parsed(source)
    if not isinstance(tree, ast.Module):
        return ""
    used: set[str] = set()
    bound: set[str] = set()
    for node in ast.walk(tree):
        match node:
            case ast.Name(id=name, ctx=ast.Load()):
                used.add(name)
            case ast.Name(id=name) | ast.arg(arg=name):
                bound.add(name)
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                bound.add(name)
            case ast.alias(name=name, asname=other):
                bound.add(other or name.partition(".")[0])
            case ast.ExceptHandler(name=str(name)) | ast.MatchAs(name=str(name)):
                bound.add(name)
            case ast.Constant(value=str(text)) if text.isidentifier():
                used.add(text)  # an annotation may be quoted
    if "*" in bound:
        return ""
    return "\n".join(sorted(_customary()[name] for name in used - bound if name in _customary()))
