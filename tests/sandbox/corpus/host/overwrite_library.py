"""Overwrites what later runs load: the standard library, its byte code, the sandbox's own modules, the interpreter.

Variants: source, byte_code, own_modules, interpreter, chmod
"""

import glob
import sys

from attack import TARGETS, VARIANT, attempt, os

library = os.path.dirname(os.__file__)
places = {
    "source": [os.__file__, os.path.join(library, "json", "__init__.py")],
    "byte_code": glob.glob(os.path.join(library, "__pycache__", "a*.pyc"))[:5],
    "own_modules": [
        m.__file__
        for n, m in list(sys.modules.items())
        if getattr(m, "__file__", None) and n.startswith(("inside", "guerdon"))
    ],
    "interpreter": [sys.executable or "/usr/bin/python3", TARGETS["executable"], "/proc/self/exe"],
    "chmod": [os.__file__, TARGETS["executable"]],
}[VARIANT]
places += [f for s in TARGETS["sources"] for f in glob.glob(s + "/*.py")[:3]]
for path in places:
    if VARIANT == "chmod":
        attempt(path, os.chmod, path, 0o777)
    else:
        attempt(path, os.open, path, os.O_WRONLY)
