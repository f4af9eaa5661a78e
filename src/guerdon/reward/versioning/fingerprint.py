"""A fingerprint of a value: JSON-able data, the same in every process, of everything that it refers to.

Of a function these are its source text (without its decorators), the functions, classes and constants that it
refers to in its own package or folder, the values that it closed over, and its defaults. Text, not bytecode, and no
addresses, paths or hash seeds.
"""

from __future__ import annotations

import dataclasses
import enum
import functools
import hashlib
import inspect
import json
import re
import sys
import types
from collections.abc import Mapping, Sequence, Set
from pathlib import Path, PurePath
from typing import Any

from pydantic import BaseModel

from guerdon.reward.loading.modules import is_file_module
from guerdon.reward.versioning.code_objects import global_names, imported_modules, source_file_of
from guerdon.reward.versioning.snapshot import DependencySnapshot
from guerdon.reward.versioning.source import class_source, plain, source_of

_SIMPLE = (str, int, float, bool, bytes, type(None))
_CONSTANTS = (*_SIMPLE, tuple, list, dict, set, frozenset, re.Pattern)
# The machinery around a reward does not decide its verdicts; only the catalogue's own modules do.
_OWN_PACKAGE = "guerdon"
_OWN_REWARDS = "guerdon.rewards"


def fingerprint(value: Any, home: Any = None, snapshot: DependencySnapshot | None = None) -> Any:
    """JSON-able data that describes a value and is the same in every process.

    ``home`` is the function or class whose package and folder count as the reward's own; by default the
    first function or class that is met. ``snapshot`` records what was read.
    """
    walk = _Walk(snapshot)
    if home is not None:
        walk.settle(home)
    return walk.value(value)


class _Walk:
    """One walk over everything that a value refers to; each function and class is described once."""

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
            for describe in (self._container, self._code_object, self._instance, self._data):
                if (found := describe(value, depth)) is not None:
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
            return self.class_(value, depth)
        if callable(value) and "__wrapped__" in getattr(value, "__dict__", ()):  # such as lru_cache's
            return ["wrapper", self._type_name(type(value)), self.value(value.__wrapped__, depth + 1)]
        return None

    def _instance(self, value: Any, depth: int) -> Any:
        if isinstance(value, BaseModel):
            fields = {**value.__dict__, **(value.__pydantic_extra__ or {})}
            return ["model", self.class_(type(value), depth), self.value(fields, depth + 1)]
        followed = dataclasses.is_dataclass(value) or callable(value) or self._is_followed(type(value))
        if hasattr(value, "__dict__") and followed:
            return ["instance", self.class_(type(value), depth), self.value(_state(vars(value)), depth + 1)]
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
            source_of(function) or _code_text(function.__code__),
            self.value([function.__defaults__, function.__kwdefaults__], depth + 1),
            cells,
            self._references(function.__code__, function.__globals__, depth),
        ]

    def _cell(self, cell: types.CellType, depth: int) -> Any:
        try:
            return self.value(cell.cell_contents, depth + 1)
        except ValueError:  # not filled in yet
            return ["empty"]

    def class_(self, cls: type, depth: int) -> Any:
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
        bases = [self.class_(base, depth + 1) for base in cls.__bases__ if base is not object]
        return ["class", cls.__qualname__, class_source(cls), parts, bases]

    def _counts(self, target: Any) -> bool:
        """Whether what a name stands for is part of the reward, besides modules."""
        return isinstance(target, _CONSTANTS) or self._is_followed(target) or self._is_followed(type(target))

    def _type_name(self, cls: type) -> str:
        """The class's name; in the reward's own code without the module, whose name depends on the call."""
        own = is_file_module(cls.__module__) or cls.__module__ in ("__main__", self.home)
        return cls.__qualname__ if own else f"{cls.__module__}.{cls.__qualname__}"

    def _references(self, code: types.CodeType, names: dict[str, Any], depth: int) -> dict[str, Any]:
        """The global functions, classes and constants that the code names, described."""
        found: dict[str, Any] = {}
        for name in sorted(set(global_names(code))):
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
        for module in sorted(set(imported_modules(code, names))):
            origin = source_file_of(module)
            if origin is not None and module != self.home and self._is_near(module, str(origin)):
                text = origin.read_text(encoding="utf-8", errors="replace")
                found[f"import {module.rpartition('.')[2]}"] = plain(text.splitlines())
        return found

    def _module_members(self, code: types.CodeType, module: types.ModuleType, depth: int) -> dict[str, Any]:
        if not self._is_near(module.__name__, getattr(module, "__file__", None)):
            return {}
        members = {n: vars(module)[n] for n in global_names(code) if n in vars(module)}
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
    """The attributes that define an instance.

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


def _code_text(code: types.CodeType) -> str:
    """What stands in for the source of code that has none, such as a function made by ``exec``."""
    walk = _Walk()
    constants = [_code_text(c) if isinstance(c, types.CodeType) else walk.value(c) for c in code.co_consts]
    return json.dumps([code.co_name, code.co_varnames, code.co_names, constants, code.co_code.hex()])
