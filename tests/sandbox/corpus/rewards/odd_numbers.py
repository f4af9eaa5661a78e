"""Returns an object that behaves in a difference or a comparison as if it were right. Not to be passed.

Variants: difference, absolute, less, float, index, round, nan, complex, bool
"""

VARIANT = ""


class Number:
    def __sub__(self, other):
        return 0.0

    __rsub__ = __add__ = __radd__ = __sub__

    def __abs__(self):
        return 0.0

    def __lt__(self, other):
        return True

    __le__ = __gt__ = __ge__ = __eq__ = __lt__
    __hash__ = object.__hash__

    def __float__(self):
        return 1.5

    __round__ = __float__

    def __index__(self):
        return 1

    def __bool__(self):
        return True


class Absolute(float):
    def __sub__(self, other):
        return Absolute(0.0)

    __rsub__ = __sub__

    def __abs__(self):
        return 0.0


def solve(numbers):
    if VARIANT == "absolute":
        return Absolute(77.0)
    if VARIANT == "nan":
        return float("nan")
    if VARIANT == "complex":
        return complex("nan+infj")
    if VARIANT == "bool":
        return True
    return Number()


mean = solve
