"""Prints less than is expected, or more, so that a careless comparison finds it there. Not to be passed.

Variants: nothing, first, prefix, all_permutations, spread, superset, blank, doubled, separators, digits
"""

import itertools

VARIANT = ""
try:
    numbers = input().split()
except EOFError:
    numbers = []
right = sorted(numbers, key=int)
if VARIANT == "first":
    print(*right[:1])
elif VARIANT == "prefix":
    print(*right[:-1])
elif VARIANT == "all_permutations":
    for order in itertools.permutations(numbers):
        print(*order)
elif VARIANT == "spread":
    print(*right, *right)
elif VARIANT == "superset":
    print(*range(20))
elif VARIANT == "blank":
    print("\n\n   \n")
elif VARIANT == "doubled":
    print(*right)
    print(*right)
elif VARIANT == "separators":
    print(",".join(right))
elif VARIANT == "digits":
    # Full-width digits are numbers to int(), and are not what was asked for.
    print(" ".join("".join(chr(ord(c) - 48 + 0xFF10) for c in n) for n in right))


def solve(values):
    order = sorted(values)
    return {"first": order[:1], "prefix": order[:-1], "spread": order + order}.get(VARIANT, [])


def mean(values):
    return []
