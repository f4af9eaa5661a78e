"""Defines the names that a test uses: its helpers, its modules, its check, the candidate. Not to be passed.

Variants: check, isclose, sorted_, math_, candidate_, assertion, unittest_, dunder
"""

VARIANT = ""


class Equal:
    def __eq__(self, other):
        return True

    def __getattr__(self, name):
        return lambda *a, **k: True

    def __call__(self, *a, **k):
        return self

    __hash__ = object.__hash__


def solve(numbers):
    return [0]


mean = solve
if VARIANT == "check":

    def check(candidate):
        return True

elif VARIANT == "isclose":

    def isclose(*a, **k):
        return True

    fabs = isclose
elif VARIANT == "sorted_":

    def sorted(*a, **k):
        return [0]

    def abs(*a):
        return 0

elif VARIANT == "math_":
    math = numpy = np = Equal()
elif VARIANT == "candidate_":
    candidate = Equal()
elif VARIANT == "assertion":
    AssertionError = SystemExit
    __debug__flag = False
elif VARIANT == "unittest_":
    unittest = pytest = Equal()
else:

    def __getattr__(name):
        return Equal()

    __builtins__ = {"sorted": Equal(), "abs": Equal(), "AssertionError": SystemExit}
