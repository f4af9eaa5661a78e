"""Returns an object that runs code of its own where it is unpickled, copied, printed or formatted. Not to be passed.

Variants: reduce, getstate, repr, str, deepcopy, del_, buffer
"""

import os

VARIANT = ""
SOURCE = "import builtins; builtins.AssertionError = builtins.SystemExit"


class Code:
    def __reduce_ex__(self, protocol):
        return exec, (SOURCE,)

    def __getstate__(self):
        os._exit(0)

    def __repr__(self):
        return "[1, 2, 3]"

    __str__ = __repr__

    def __format__(self, how):
        return "[1, 2, 3]"

    def __deepcopy__(self, memo):
        return [1, 2, 3]

    __copy__ = __deepcopy__

    def __del__(self):
        os._exit(0)

    def __buffer__(self, flags):
        return memoryview(b"[1, 2, 3]")


def solve(numbers):
    return Code()


mean = solve
