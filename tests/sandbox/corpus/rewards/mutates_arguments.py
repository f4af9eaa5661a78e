"""Changes the arguments so that what is expected becomes what it returns. Not to be passed.

Variants: clear, equal_items, same, swap
"""

VARIANT = ""


class Equal(int):
    def __eq__(self, other):
        return True

    def __lt__(self, other):
        return True

    __hash__ = int.__hash__


def solve(numbers):
    if VARIANT == "clear":
        numbers.clear()
        return []
    if VARIANT == "equal_items":
        numbers[:] = [Equal(n) for n in numbers]
        return numbers
    if VARIANT == "swap":
        numbers[:] = [0]
        return [0]
    return numbers


mean = solve
