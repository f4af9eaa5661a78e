"""The version of a reward: a short hash of what decides its verdicts.

Hashed are the source text of the function (without its decorators), of the functions, classes and
constants that it refers to in its own package or folder, the values that it closed over, its defaults,
and its parameters. Text, not bytecode, and no addresses, paths or hash seeds: the same reward has the
same version in every process, on every machine and under every Python.
"""

from __future__ import annotations

import ast
import dataclasses
import dis
import enum
import functools
import hashlib
import importlib.util
import inspect
import json
import linecache
import re
import sys
import textwrap
import threading
import types
from collections.abc import Iterator, Mapping, Sequence, Set
from importlib.machinery import PathFinder
from pathlib import Path, PurePath
from typing import Any

from pydantic import BaseModel

from guerdon.reward.loading.modules import is_file_module

_LENGTH = 12
_SIMPLE = (str, int, float, bool, bytes, type(None))
_CONSTANTS = (*_SIMPLE, tuple, list, dict, set, frozenset, re.Pattern)
# The machinery around a reward does not decide its verdicts; only the catalogue's own modules do.
_OWN_PACKAGE = "guerdon"
_OWN_REWARDS = "guerdon.rewards"
_WATCHED_SIZE = 1000


class _InProgress(threading.local):
    """The rewards whose versions are being computed in this thread, one inside the other."""

    def __init__(self) -> None:
        self.open: set[int] = set()
        self.looped = False
        """Whether one of them was met again."""


in_progress = _InProgress()


def digest(value: Any) -> str:
    """A short hash of a JSON-able value.

    >>> digest({"a": 1}) == digest({"a": 1}) != digest({"a": 2})
    True
    """
    text = json.dumps(value, sort_keys=True, ensure_ascii=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:_LENGTH]


class DependencySnapshot:
    """What the globals were that a picture was drawn from.

    A cell of a notebook that is run again, or a module that is reloaded, gives a name another meaning; the
    function that refers to it stays the same object, and its version must not.
    """

    def __init__(self) -> None:
        self._globals: list[tuple[Mapping[str, Any], str, Any, Any]] = []
        self._rewards: list[tuple[Any, str]] = []

    def record_global(self, names: Mapping[str, Any], name: str, target: Any) -> None:
        """Remember what a global name stands for, and what a small container holds."""
        held = target.copy() if type(target) in (list, dict, set) and len(target) <= _WATCHED_SIZE else None
        self._globals.append((names, name, target, held))

    def record_reward(self, reward: Any) -> str:
        """Remember the version of a reward that this one is made of, and give it."""
        version: str = reward.version
        self._rewards.append((reward, version))
        return version

    def is_current(self) -> bool:
        """Whether everything still is what it was."""
        for names, name, target, held in self._globals:
            if names.get(name) is not target or (held is not None and not _same(target, held)):
                return False
        return all(reward.version == version for reward, version in self._rewards)


def _same(left: Any, right: Any) -> bool:
    try:
        return bool(left == right)
    except Exception:  # comparing runs the code of what the container holds
        return False


def fingerprint(value: Any, home: Any = None, snapshot: DependencySnapshot | None = None) -> Any:
    """A JSON-able picture of a value that is the same in every process.

    ``home`` is the function or class whose package and folder count as the reward's own; by default the
    first function or class that is met. ``snapshot`` takes down what the picture was drawn from.
    """
    walk = _Walk(snapshot)
    if home is not None:
        walk.settle(home)
    return walk.value(value)


class _Walk:
    """One walk over everything that a value refers to; each function and class is pictured once."""

    def __init__(self, snapshot: DependencySnapshot | None = None) -> None:
        self.snapshot = snapshot or DependencySnapshot()
        self.seen: set[int] = set()
        self.open: set[int] = set()
        self.home: str | None = None
        self.folder: Path | None = None

    def settle(self, owner: Any) -> None:
        """Take the first function or class that is met as the place where the reward lives."""
        if self.home is None:
            self.home = getattr(owner, "__module__", None) or ""
            code = getattr(inspect.unwrap(owner), "__code__", None)
            file = code.co_filename if code else getattr(sys.modules.get(self.home), "__file__", None)
            folder = Path(file).parent if file else None
            installed = folder is not None and {"site-packages", "dist-packages"} & set(folder.parts)
            self.folder = None if installed else folder

    def value(self, value: Any, depth: int = 0) -> Any:
        if type(value) in (bool, str, type(None)):
            return value
        if type(value) in (int, float, complex, bytes):
            return [type(value).__name__, value.hex() if type(value) is bytes else _number(value)]
        if depth > 20:
            return ["deep", type(value).__name__]
        if id(value) in self.open:
            return ["loop"]
        self.open.add(id(value))
        try:
            for picture in (self._container, self._code_object, self._instance, self._data):
                if (found := picture(value, depth)) is not None:
                    return found
        except Exception:  # looking at the user's objects runs their code, which may raise anything
            pass
        finally:
            self.open.discard(id(value))
        return ["object", self._type_name(type(value))]

    def _container(self, value: Any, depth: int) -> Any:
        if isinstance(value, str | bytearray):
            return [type(value).__name__, value if isinstance(value, str) else value.hex()]
        if isinstance(value, Mapping):
            items = [[self.value(k, depth + 1), self.value(v, depth + 1)] for k, v in value.items()]
            return ["map", sorted(items, key=json.dumps)]
        if isinstance(value, Set):
            return ["set", sorted((self.value(v, depth + 1) for v in value), key=json.dumps)]
        if isinstance(value, Sequence) and not isinstance(value, memoryview):
            return ["list", [self.value(v, depth + 1) for v in value]]
        if isinstance(value, enum.Enum):
            return ["enum", self._type_name(type(value)), value.name, self.value(value.value, depth + 1)]
        if isinstance(value, re.Pattern):
            return ["pattern", self.value(value.pattern), value.flags]
        if isinstance(value, PurePath):
            return ["path", value.as_posix()]
        return None

    def _code_object(self, value: Any, depth: int) -> Any:
        if _is_reward(value):
            return ["reward", self.snapshot.record_reward(value)]
        if isinstance(value, functools.partial):
            return ["partial", self.value([value.func, value.args, value.keywords], depth + 1)]
        if isinstance(value, types.MethodType):
            return ["method", self.value([value.__func__, value.__self__], depth + 1)]
        if isinstance(value, types.ModuleType):
            return ["module", value.__name__]
        if inspect.isbuiltin(value):
            return ["builtin", value.__qualname__]
        if isinstance(value, types.FunctionType):
            return self.function(value, depth)
        if isinstance(value, type):
            return self.klass(value, depth)
        if callable(value) and "__wrapped__" in getattr(value, "__dict__", ()):  # such as lru_cache's
            return ["wrapper", self._type_name(type(value)), self.value(value.__wrapped__, depth + 1)]
        return None

    def _instance(self, value: Any, depth: int) -> Any:
        if isinstance(value, BaseModel):
            fields = {**value.__dict__, **(value.__pydantic_extra__ or {})}
            return ["model", self.klass(type(value), depth), self.value(fields, depth + 1)]
        followed = dataclasses.is_dataclass(value) or callable(value) or self._is_followed(type(value))
        if hasattr(value, "__dict__") and followed:
            return ["instance", self.klass(type(value), depth), self.value(_state(vars(value)), depth + 1)]
        return None

    def _data(self, value: Any, depth: int) -> Any:
        """What holds plain data without being a container: an array, a date, a decimal."""
        try:
            data = hashlib.sha256(memoryview(value).cast("B")).hexdigest()
        except (TypeError, ValueError):
            text = repr(value)
            if text.startswith("<") or " at 0x" in text:
                return None
            return ["repr", text]
        return ["bytes", self._type_name(type(value)), getattr(value, "shape", None), data]

    def function(self, function: types.FunctionType, depth: int) -> Any:
        if id(function) in self.seen:
            return ["seen", function.__name__]
        self.seen.add(id(function))
        self.settle(function)
        cells = {
            name: self._cell(cell, depth)
            for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True)
        }
        return [
            "function",
            source_of(function),
            self.value([function.__defaults__, function.__kwdefaults__], depth + 1),
            cells,
            self._references(function.__code__, function.__globals__, depth),
        ]

    def _cell(self, cell: types.CellType, depth: int) -> Any:
        try:
            return self.value(cell.cell_contents, depth + 1)
        except ValueError:  # not filled in yet
            return ["empty"]

    def klass(self, cls: type, depth: int) -> Any:
        self.settle(cls)
        if id(cls) in self.seen or not self._is_followed(cls):
            return ["class", self._type_name(cls)]
        self.seen.add(id(cls))
        parts: dict[str, Any] = {}
        for name, member in sorted(vars(cls).items()):
            inner = _function_in(member)
            if inner is not None:
                if (
                    self._is_followed(inner) and inner.__code__.co_filename != "<string>"
                ):  # as dataclasses make
                    parts[name] = self.function(inner, depth + 1)
            elif not name.startswith("__") and self._counts(member):
                parts[name] = self.value(member, depth + 1)
        bases = [self.klass(base, depth + 1) for base in cls.__bases__ if base is not object]
        return ["class", cls.__qualname__, _class_source(cls), parts, bases]

    def _counts(self, target: Any) -> bool:
        """Whether what a name stands for is part of the reward, besides modules."""
        return isinstance(target, _CONSTANTS) or self._is_followed(target) or self._is_followed(type(target))

    def _type_name(self, cls: type) -> str:
        """The class's name; in the reward's own code without the module, whose name depends on the call."""
        own = is_file_module(cls.__module__) or cls.__module__ in ("__main__", self.home)
        return cls.__qualname__ if own else f"{cls.__module__}.{cls.__qualname__}"

    def _references(self, code: types.CodeType, names: dict[str, Any], depth: int) -> dict[str, Any]:
        """The global functions, classes and constants that the code names, pictured."""
        found: dict[str, Any] = {}
        for name in sorted(set(_global_names(code))):
            if name not in names:
                continue
            target = names[name]
            if isinstance(target, types.ModuleType):
                found.update(self._module_members(code, target, depth))
            elif self._counts(target):
                self.snapshot.record_global(names, name, target)
                found[name] = self.value(target, depth + 1)
        return {**found, **self._imports(code, names)}

    def _imports(self, code: types.CodeType, names: dict[str, Any]) -> dict[str, Any]:
        """The files of the reward's own that the code imports when it runs, by their text.

        They are not imported here: that would run them.
        """
        found: dict[str, Any] = {}
        for module in sorted(set(_imported_modules(code, names))):
            origin = _origin(module)
            if origin is not None and module != self.home and self._is_near(module, str(origin)):
                text = origin.read_text(encoding="utf-8", errors="replace")
                found[f"import {module.rpartition('.')[2]}"] = _plain(text.splitlines())
        return found

    def _module_members(self, code: types.CodeType, module: types.ModuleType, depth: int) -> dict[str, Any]:
        if not self._is_near(module.__name__, getattr(module, "__file__", None)):
            return {}
        members = {n: vars(module)[n] for n in _global_names(code) if n in vars(module)}
        for name, member in members.items():
            self.snapshot.record_global(vars(module), name, member)
        return {
            f"{module.__name__.rpartition('.')[2]}.{name}": self.value(member, depth + 1)
            for name, member in sorted(members.items())
            if not isinstance(member, types.ModuleType)
        }

    def _is_followed(self, target: Any) -> bool:
        """Whether a function or class counts as part of the reward."""
        if isinstance(target, type):
            module = sys.modules.get(target.__module__)
            return self._is_near(target.__module__, getattr(module, "__file__", None))
        if isinstance(target, functools.partial):
            return True
        function = inspect.unwrap(target) if callable(target) else target
        if isinstance(function, types.FunctionType):
            return self._is_near(function.__module__ or "", function.__code__.co_filename)
        return _is_reward(target)

    def _is_near(self, module: str, file: str | None) -> bool:
        """Whether a module is of the reward's package, or lies in the folder of its file."""
        home = self.home or ""
        package = module.partition(".")[0]
        if module == home:
            return module != "builtins"
        if package == _OWN_PACKAGE:
            return module.startswith(_OWN_REWARDS) and home.startswith(_OWN_REWARDS)
        if package == home.partition(".")[0]:
            return True
        if file is None or self.folder is None or package in sys.stdlib_module_names:
            return False
        return self.folder in Path(file).parents


def _is_reward(value: Any) -> bool:
    return isinstance(getattr(value, "version", None), str) and callable(getattr(value, "evaluate", None))


def _number(value: int | float | complex) -> str:
    # Python refuses to print whole numbers of thousands of digits in the decimal system.
    return hex(value) if isinstance(value, int) else repr(value)


def _state(attributes: Mapping[str, Any]) -> dict[str, Any]:
    """The attributes of an instance that tell of its make-up.

    What is private and can change, such as a cache, a lock or a connection, is left out.
    """
    fixed = (*_SIMPLE, tuple, frozenset, re.Pattern)
    return {n: v for n, v in attributes.items() if not n.startswith("_") or isinstance(v, fixed)}


def _function_in(member: Any) -> types.FunctionType | None:
    """The function of a method, static or class method, property or cached property."""
    for name in ("__func__", "fget", "func"):
        if not isinstance(member, types.FunctionType):
            member = getattr(member, name, member)
    return member if isinstance(member, types.FunctionType) else None


def _class_source(cls: type) -> str:
    """The class's source text; empty for a class without source, whose members speak for it."""
    try:
        return _plain(inspect.getsource(cls).splitlines())
    except (OSError, TypeError, SyntaxError, IndexError):
        return ""


def _plain(lines: Sequence[str]) -> str:
    return textwrap.dedent("\n".join(line.rstrip() for line in lines)).strip("\n")


def _global_names(code: types.CodeType) -> Iterator[str]:
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _global_names(constant)


def _imported_modules(code: types.CodeType, names: Mapping[str, Any]) -> Iterator[str]:
    """The modules that the code imports when it runs, by their full names."""
    level: int = 0
    listed: Any = None
    for step in dis.get_instructions(code):
        if step.opname in ("LOAD_CONST", "LOAD_SMALL_INT"):
            level, listed = (listed if isinstance(listed, int) else 0), step.argval
        elif step.opname == "IMPORT_NAME":
            module = step.argval
            if level:
                parents = str(names.get("__package__") or "").split(".")
                module = ".".join([*parents[: len(parents) - level + 1], *filter(None, [module])])
            yield module
            yield from (f"{module}.{name}" for name in listed or () if isinstance(listed, tuple))
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _imported_modules(constant, names)


def _origin(module: str) -> Path | None:
    """The source file of a module, without importing it; None where there is none."""
    package, *rest = module.split(".")
    try:
        found = importlib.util.find_spec(package)
    except (ImportError, AttributeError, ValueError):
        return None
    # Step by step, since asking for the whole name would import the package.
    for part in rest:
        if found is None or found.submodule_search_locations is None:
            return None
        package = f"{package}.{part}"
        found = PathFinder.find_spec(package, list(found.submodule_search_locations))
    origin = None if found is None else found.origin
    return Path(origin) if origin and origin.endswith(".py") and Path(origin).is_file() else None


def source_of(function: types.FunctionType) -> str:
    """The function's source text: dedented, without decorators, with plain line ends.

    For code without source, such as a function made by ``exec``, its constants and names stand in.
    """
    linecache.checkcache(function.__code__.co_filename)
    lines = linecache.getlines(function.__code__.co_filename, function.__globals__)
    node = _node_of(function, "".join(lines)) if lines else None
    if node is None:
        return _without_source(function.__code__)
    if isinstance(node, ast.Lambda):
        return ast.get_source_segment("".join(lines), node) or _without_source(function.__code__)
    end = node.end_lineno or node.lineno
    return _plain(lines[node.lineno - 1 : end])


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


def _without_source(code: types.CodeType) -> str:
    walk = _Walk()
    constants = [
        _without_source(c) if isinstance(c, types.CodeType) else walk.value(c) for c in code.co_consts
    ]
    return json.dumps([code.co_name, code.co_varnames, code.co_names, constants, code.co_code.hex()])
