"""Whether a test's code needs the program's own objects, which cannot be sent between processes."""

from __future__ import annotations

import ast
import builtins
import collections
import datetime
import decimal
import fractions
import sys
from collections.abc import Iterable, Iterator, Sequence, Set

_PLAIN = (
    list, dict, set, frozenset, tuple, str, bytes, bytearray, int, float, complex, range,
    collections.deque, datetime.datetime, datetime.time, datetime.timedelta, decimal.Decimal, fractions.Fraction,
)  # fmt: skip
_ARRAY = ("shape", "dtype", "ndim", "size", "tolist", "T", "sum", "mean", "all", "any", "flatten", "astype")
_ATTRIBUTES = frozenset(name for kind in _PLAIN for name in dir(kind)) | frozenset(_ARRAY)
_OF_A_FUNCTION = frozenset({"__name__", "__qualname__"})
_CAPTURING = frozenset(
    {"redirect_stdout", "redirect_stderr", "patch", "MagicMock", "Mock", "capsys", "monkeypatch"}
)
_STREAMS = frozenset({"stdin", "stdout", "stderr"})
_FILES = frozenset({"open", "StringIO", "BytesIO", "NamedTemporaryFile", "TemporaryFile"})
# What works with the program's files has to be where they are: the tester has no folder at all.
_FILE_MODULES = frozenset(
    {"dbm", "filecmp", "fileinput", "glob", "shelve", "shutil", "sqlite3", "tarfile", "tempfile", "zipfile"}
)
_FILE_FUNCTIONS = frozenset(
    {"open", "access", "chdir", "chmod", "exists", "getcwd", "getsize", "isdir", "isfile", "islink", "lexists",
     "link", "listdir", "makedirs", "mkdir", "remove", "removedirs", "rename", "replace", "rmdir", "samefile",
     "scandir", "stat", "symlink", "unlink", "walk"}
)  # fmt: skip
_FILE_METHODS = frozenset(
    {"is_dir", "is_file", "iterdir", "read_bytes", "read_text", "rglob", "touch", "write_bytes", "write_text"}
)


def reason_for_live_objects(
    nodes: Sequence[ast.AST], setup: Sequence[ast.AST], functions: Iterable[str], missing: Set[str]
) -> str:
    """What in the test's code needs the program's own objects, in a few words; empty if nothing does.

    ``functions`` are the names that are called over the border, ``missing`` those that nobody defines: they
    must be the program's.
    """
    if missing:
        return f"uses the program's {', '.join(sorted(missing))}"
    foreign = sorted(set(_imported(nodes)) | set(_imported(setup)))
    if foreign:
        return f"uses {foreign[0]}, whose objects cannot travel"
    if any(map(_uses_files, (*nodes, *setup))):
        return "works with files"
    return next(_LiveObjectFinder(nodes, setup, functions).reasons(), "")


def _uses_files(node: ast.AST) -> bool:
    match node:
        case ast.Import(names=names):
            return any(alias.name.partition(".")[0] in _FILE_MODULES for alias in names)
        case ast.ImportFrom(module=str(module), names=names):
            of_os = module in ("os", "os.path") and any(alias.name in _FILE_FUNCTIONS for alias in names)
            return of_os or module.partition(".")[0] in _FILE_MODULES
        case ast.Call(func=ast.Name(id="open")):
            return True
        case (
            ast.Attribute(value=ast.Name(id="os" | "io" | "codecs" | "path"), attr=name)
            | ast.Attribute(value=ast.Attribute(value=ast.Name(id="os"), attr="path"), attr=name)
        ):
            return name in _FILE_FUNCTIONS
        case ast.Attribute(attr=name):
            return name in _FILE_METHODS
    return False


def _imported(nodes: Sequence[ast.AST]) -> Iterator[str]:
    """What is neither of the standard library nor numpy."""
    for node in nodes:
        names: list[str] = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            names = [node.module or ""]
        for name in names:
            root = name.partition(".")[0]
            if root not in sys.stdlib_module_names and root != "numpy":
                yield root


def aliases_of(nodes: Sequence[ast.AST], functions: Iterable[str]) -> set[str]:
    """The names that the code has for the functions: parameters that get them, variables that hold them."""
    aliases = set(functions)
    defined = {node.name: node for node in nodes if isinstance(node, ast.FunctionDef)}
    check = defined.get("check")
    if check is not None and check.args.args:
        aliases.add(check.args.args[0].arg)
    for _ in range(3):  # an alias of an alias of an alias; no test goes further
        for node in nodes:
            if isinstance(node, ast.Assign) and isinstance(node.value, ast.Name) and node.value.id in aliases:
                aliases.update(target.id for target in node.targets if isinstance(target, ast.Name))
            elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in defined:
                parameters = defined[node.func.id].args.args
                for parameter, argument in zip(parameters, node.args, strict=False):
                    if isinstance(argument, ast.Name) and argument.id in aliases:
                        aliases.add(parameter.arg)
    return aliases


class _LiveObjectFinder:
    """Goes over the code once; what a name holds is taken together from all of it."""

    def __init__(self, nodes: Sequence[ast.AST], setup: Sequence[ast.AST], functions: Iterable[str]) -> None:
        self.nodes = nodes
        self.aliases = aliases_of(nodes, functions)
        both = [*nodes, *setup]
        self.classes = {node.name for node in both if isinstance(node, ast.ClassDef)} - self.aliases
        self.functions = {node.name for node in both if isinstance(node, ast.FunctionDef)} - self.aliases
        stored = {node.id for node in both if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
        self.built_in = {name for name, value in vars(builtins).items() if callable(value)} - stored
        self.results: set[str] = set()
        self.live: set[str] = set()
        for _ in range(2):  # what is assigned from what was assigned
            for target, value in _assignments(nodes):
                if self.is_result(value):
                    self.results.add(target)
                if isinstance(value, ast.Lambda) or self.holds_live(value):
                    self.live.add(target)

    def is_result(self, node: ast.expr) -> bool:
        match node:
            case ast.Call(func=ast.Name(id=name)):
                return name in self.aliases
            case ast.Name(id=name):
                return name in self.results
            case ast.Subscript(value=value) | ast.Starred(value=value):
                return self.is_result(value)
        return False

    def holds_live(self, node: ast.expr) -> bool:
        """Whether the expression has a function, a class, an object of one or a file in it as a value."""
        called = {id(part.func) for part in ast.walk(node) if isinstance(part, ast.Call)}
        for part in ast.walk(node):
            match part:
                case ast.Lambda():
                    return True
                case ast.Name(id=name) if id(part) in called:
                    if name in self.classes or name in _FILES:
                        return True
                case ast.Name(id=name):
                    if name in self.live | self.classes | self.functions | self.built_in:
                        return True
                case ast.Attribute(attr=name) if id(part) in called and name in _FILES:
                    return True
        return False

    def reasons(self) -> Iterator[str]:
        for node in self.nodes:
            match node:
                case ast.Call(func=ast.Name(id=name)) if name in self.aliases:
                    if any(map(self.holds_live, [*node.args, *(word.value for word in node.keywords)])):
                        yield "hands over a function, a class or an object"
                case ast.Call(func=function) if self.is_result(function):
                    yield "calls what the program returned"
                case ast.Call(func=ast.Attribute(value=ast.Name(id="inspect"))):
                    yield "inspects the program"
                case ast.Attribute(value=ast.Name(id=name), attr=attribute) if name in self.aliases:
                    if attribute not in _OF_A_FUNCTION:
                        yield f"uses an attribute of {name}: {attribute}"
                case ast.Attribute(value=value, attr=attribute) if self.is_result(value):
                    if attribute not in _ATTRIBUTES:
                        yield f"uses an attribute of what the program returned: {attribute}"
                case ast.Compare(left=left, ops=ops, comparators=[right]) if isinstance(
                    ops[0], ast.Is | ast.IsNot
                ):
                    constant = isinstance(left, ast.Constant) or isinstance(right, ast.Constant)
                    if not constant and (self.is_result(left) or self.is_result(right)):
                        yield "asks whether what the program returned is one object with another"
                case ast.Await() | ast.AsyncFor() | ast.AsyncWith():
                    yield "awaits"
                case ast.withitem(context_expr=value) if self.is_result(value):
                    yield "enters what the program returned"
                case ast.Name(id=name) | ast.arg(arg=name) | ast.Attribute(attr=name) if name in _CAPTURING:
                    yield f"reaches into the program with {name}"
                case ast.Attribute(value=ast.Name(id="sys"), attr=name, ctx=ast.Store()) if name in _STREAMS:
                    yield f"replaces sys.{name}"


def _assignments(nodes: Sequence[ast.AST]) -> Iterator[tuple[str, ast.expr]]:
    for node in nodes:
        match node:
            case ast.Assign(targets=targets, value=value):
                names = [name for target in targets for name in ast.walk(target)]
            case (
                ast.AnnAssign(target=target, value=ast.expr() as value)
                | ast.NamedExpr(target=target, value=value)
            ):
                names = [target]
            case ast.For(target=target, iter=value) | ast.comprehension(target=target, iter=value):
                names = list(ast.walk(target))
            case _:
                continue
        yield from ((name.id, value) for name in names if isinstance(name, ast.Name))
