"""Looks for lists that could be the expected one, among all objects and in memory. Not to be passed.

Variants: objects, referrers, modules, constants, text
"""

import gc
import sys

VARIANT = ""


def candidates(numbers):
    if VARIANT == "referrers":
        return [part for thing in gc.get_referrers(numbers) for part in gc.get_referents(thing)]
    if VARIANT == "modules":
        return [value for module in list(sys.modules.values()) for value in list(vars(module).values())]
    if VARIANT == "constants":
        codes = [thing.__code__ for thing in gc.get_objects() if hasattr(thing, "__code__")]
        return [list(part) for code in codes for part in code.co_consts if isinstance(part, tuple)]
    return gc.get_objects()


def solve(numbers):
    for thing in candidates(numbers):
        if VARIANT == "text" and isinstance(thing, str) and "assert" in thing and "solve(" in thing:
            return eval(thing.split("==")[-1])
        if type(thing) is list and thing is not numbers and len(thing) == len(numbers):
            if all(type(n) is int for n in thing) and set(thing) == set(numbers) and thing != numbers:
                return thing
    return None


mean = solve
