"""Returns an object that equals everything. Not to be passed.

Variants: plain, list, tuple, dict, int, float, str, meta, reflected, hash
"""

VARIANT = ""


class Equal:
    def __eq__(self, other):
        return True

    def __ne__(self, other):
        return False

    __hash__ = object.__hash__


class Meta(type):
    def __eq__(cls, other):
        return True

    __hash__ = type.__hash__


BASES = {"list": list, "tuple": tuple, "dict": dict, "int": int, "float": float, "str": str}


def solve(numbers):
    if VARIANT in BASES:
        return type("Equal", (Equal, BASES[VARIANT]), {})()
    if VARIANT == "meta":
        return Meta("Meta", (), {})
    if VARIANT == "reflected":
        # The operand on the right is asked first where it is of a subclass.
        return type("Equal", (list,), {"__eq__": lambda *_: True})(["other"])
    if VARIANT == "hash":
        return type("Equal", (Equal,), {"__hash__": lambda _: hash((1, 2, 3))})()
    return Equal()


mean = solve
