"""The program under test as a module, and what can be called in it."""

from __future__ import annotations

import importlib
import linecache
import re
import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any

from . import encoding

NAME = "solution"
FILE = "solution.py"
_MESSAGE = 200
_WORD = re.compile(rb"[A-Za-z_]\w*")

# What programs written for online judges use without importing it.
_PRELUDE: dict[str, tuple[str, ...]] = {
    "typing": ("Any", "Callable", "Deque", "Dict", "FrozenSet", "Iterable", "Iterator", "List", "Optional",
               "Sequence", "Set", "Tuple", "Union"),
    "collections": ("Counter", "OrderedDict", "defaultdict", "deque"),
    "functools": ("cache", "cmp_to_key", "lru_cache", "reduce"),
    "itertools": ("accumulate", "chain", "combinations", "permutations", "product", "zip_longest"),
    "heapq": ("heapify", "heappop", "heappush", "heappushpop", "heapreplace", "nlargest", "nsmallest"),
    "bisect": ("bisect_left", "bisect_right", "insort"),
    "math": ("ceil", "comb", "factorial", "floor", "gcd", "inf", "isqrt", "lcm", "log2", "sqrt"),
}  # fmt: skip
_PRELUDE_MODULES = (
    "bisect", "collections", "copy", "datetime", "functools", "heapq", "itertools", "json", "math", "operator",
    "random", "re", "statistics", "string", "sys",
)  # fmt: skip
_PROVIDED = {name.encode(): (module, name) for module, names in _PRELUDE.items() for name in names} | {
    name.encode(): (name, "") for name in _PRELUDE_MODULES
}


class MissingFunctionError(Exception):
    """The program does not define what is to be called."""


def load(source: bytes, *, prelude: bool = False, setup: str = "") -> ModuleType:
    """Runs the program as the module ``solution`` and returns it. Raises whatever the program raises.

    With ``prelude`` the names that programs for online judges take for granted are there, such as ``List``.
    ``setup`` runs first, in the same module.
    """
    module = ModuleType(NAME)
    module.__file__ = FILE
    sys.modules[NAME] = module  # dataclasses, pickle and typing look their module up by name
    code = compile(source, FILE, "exec", dont_inherit=True)
    text = source.decode("utf-8", "replace")
    linecache.cache[FILE] = (len(text), None, text.splitlines(keepends=True), FILE)
    if prelude:
        _provide(module, source)
    if setup:
        exec(compile(setup, "setup.py", "exec", dont_inherit=True), module.__dict__)
    exec(code, module.__dict__)
    return module


def _provide(module: ModuleType, source: bytes) -> None:
    """Only what the source mentions: an import costs more than a test."""
    for word in {*_WORD.findall(source)} & _PROVIDED.keys():
        origin, name = _PROVIDED[word]
        found = importlib.import_module(origin)
        setattr(module, word.decode(), getattr(found, name) if name else found)


def find(module: ModuleType, name: str) -> Callable[..., Any]:
    """The function: at the top of the program, dotted, or a method of ``Solution``.

    A class on the way to a method is made without arguments. Raises MissingFunctionError, and whatever the
    class raises.
    """
    first, *rest = name.split(".")
    found: Any = module.__dict__.get(first, module)
    if found is module:
        found = module.__dict__.get("Solution")
        rest = [first, *rest]
        if not isinstance(found, type):
            raise MissingFunctionError(name)
    for part in rest:
        if isinstance(found, type):
            if not hasattr(found, part):
                raise MissingFunctionError(name)
            found = found()
        try:
            found = getattr(found, part)
        except AttributeError:
            raise MissingFunctionError(name) from None
    if not callable(found):
        raise MissingFunctionError(name)
    return found  # type: ignore[no-any-return]


def describe_exception(error: BaseException) -> list[Any]:
    """An exception as data: names of its class and of those it descends from, message, line."""
    kind = type(error)
    names = [str.__str__(type.__dict__["__name__"].__get__(base))[:80] for base in type.mro(kind)[:20]]
    try:
        message = str.__str__(str(error))[:_MESSAGE]
    except BaseException:  # the class is the program's, and may raise anything
        message = ""
    line = getattr(error, "lineno", None) if isinstance(error, SyntaxError) else _line(error)
    return [names, message, line if type(line) is int else 0]


def _line(error: BaseException) -> int:
    """The deepest line of the program that the exception passed; 0 where there is none."""
    found = 0
    trace = error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == FILE:
            found = trace.tb_lineno
        trace = trace.tb_next
    return found


def call_outcome(number: list[int], function: Callable[[], Any], changed: list[Any] | None = None) -> bytes:
    """Calls, and says what came of it, as inside.encoding writes it: ``[*number, changed, word, …]``.

    The words: ``"value", value``; ``"raised", names, message, line``; ``"missing"``; ``"foreign", why`` for a
    result that is not plain data. ``changed`` holds arguments to show as the call leaves them. What ends a
    program, such as SystemExit, is an exception like any other.
    """
    try:
        return encoding.dumps([*number, changed, "value", function()])
    except encoding.EncodingError as error:
        said = ["foreign", str(error)]
    except MissingFunctionError:
        said = ["missing"]
    except BaseException as error:  # whatever the program raises is its answer
        said = ["raised", *describe_exception(error)]
        try:
            return encoding.dumps([*number, changed, *said])
        except encoding.EncodingError:
            pass  # it has left something foreign in the arguments
    return encoding.dumps([*number, None, *said])
