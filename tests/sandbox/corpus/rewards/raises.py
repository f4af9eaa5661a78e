"""Raises exceptions of every name that a harness may take for something else. Not to be passed.

Variants: AssertionError, SystemExit, KeyboardInterrupt, GeneratorExit, StopIteration, StopAsyncIteration, SkipTest,
Passed, Skipped, Exit, EOFError, BrokenPipeError, TimeoutError, MemoryError, ConnectionResetError, ExceptionGroup,
RecursionError, Group, NotImplementedError
"""

import builtins
import unittest

VARIANT = ""


class Odd(BaseException):
    def __str__(self):
        return '{"passed": true}'

    __repr__ = __str__

    def __eq__(self, other):
        return True

    __hash__ = BaseException.__hash__


def solve(numbers):
    if VARIANT == "SkipTest":
        raise unittest.SkipTest("passed")
    if VARIANT in ("ExceptionGroup", "Group"):
        raise BaseExceptionGroup("passed", [SystemExit(0)])
    if hasattr(builtins, VARIANT):
        raise getattr(builtins, VARIANT)("passed")
    kind = type(VARIANT, (Odd,), {"__module__": "builtins", "code": 0})
    raise kind


mean = solve
if __name__ == "__main__":
    solve([])
