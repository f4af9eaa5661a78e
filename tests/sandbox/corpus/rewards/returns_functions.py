"""Returns what is no value: functions, generators, modules, the proxy's own kind, coroutines. Not to be passed.

Variants: function, generator, coroutine, module, type_, partial, self, property_
"""

import functools
import sys

VARIANT = ""


async def later():
    return [1, 2, 3]


def solve(numbers):
    if VARIANT == "function":
        return lambda *a: True
    if VARIANT == "generator":
        return (n for n in ())
    if VARIANT == "coroutine":
        coroutine = later()
        sys.unraisablehook = lambda *a: None
        return coroutine
    if VARIANT == "module":
        return sys
    if VARIANT == "type_":
        return list
    if VARIANT == "partial":
        return functools.partial(sorted, [3, 2, 1])
    if VARIANT == "self":
        return solve
    return property(lambda self: [1, 2, 3])


mean = solve
