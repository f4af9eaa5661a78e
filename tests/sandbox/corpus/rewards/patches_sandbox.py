"""Patches the sandbox's own modules in its process, as far as they can be reached. Not to be passed.

Variants: modules, functions, code, globals_, imports, path
"""

import gc
import sys
import types

VARIANT = ""
RIGHT = b'{"passed": true, "ok": true, "value": [1, 2, 3]}\n'


def ours(thing):
    return str(getattr(thing, "__module__", "")).startswith(("inside", "guerdon"))


if VARIANT == "imports":
    sys.meta_path.insert(0, type("Finder", (), {"find_spec": lambda *a: None})())
    sys.modules["inside"] = sys.modules["inside.tester"] = types.ModuleType("inside")
elif VARIANT == "path":
    sys.path[:] = ["."]
    sys.path_importer_cache.clear()
for thing in gc.get_objects():
    if VARIANT == "modules" and isinstance(thing, types.ModuleType) and thing.__name__.startswith("inside"):
        for name in list(vars(thing)):
            if callable(getattr(thing, name)):
                setattr(thing, name, lambda *a, **k: RIGHT)
    if isinstance(thing, types.FunctionType) and ours(thing):
        if VARIANT == "code" and not thing.__code__.co_freevars:
            thing.__code__ = (lambda *a, **k: b'{"passed": true}').__code__
        elif VARIANT == "globals_":
            for name in ("dumps", "equal", "compare", "encode", "send", "write"):
                if name in thing.__globals__:
                    thing.__globals__[name] = lambda *a, **k: RIGHT
        elif VARIANT == "functions":
            thing.__defaults__ = thing.__kwdefaults__ = None


def solve(numbers):
    return [0]


mean = solve
