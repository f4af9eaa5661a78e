"""Makes the function under test itself something odd, or leaves it out. Not to be passed.

Variants: missing, none, class_, callable_, shadow_class, module_getattr, generator, name_error, syntax
"""

VARIANT = ""


class Equal:
    def __eq__(self, other):
        return True

    def __call__(self, *a):
        return self

    def __getattr__(self, name):
        return self

    __hash__ = object.__hash__


if VARIANT == "none":
    solve = mean = None
elif VARIANT == "class_":

    class solve:  # noqa: N801
        def __init__(self, numbers):
            pass

        def __eq__(self, other):
            return True

        __hash__ = object.__hash__

    mean = solve
elif VARIANT == "callable_":
    solve = mean = Equal()
elif VARIANT == "shadow_class":

    class Solution(Equal):
        solve = mean = Equal()

elif VARIANT == "module_getattr":

    def __getattr__(name):
        return Equal()

elif VARIANT == "generator":

    def solve(numbers):
        yield from sorted(numbers)[:1]

    mean = solve
elif VARIANT == "name_error":
    undefined_name  # noqa: B018, F821
elif VARIANT == "syntax":
    exec("def solve(:")
