"""Returns what is hard to write down or to read: deep, long, cyclic, huge, ill-formed. Not to be passed, nor to hurt.

Variants: deep, long, cyclic, digits, surrogate, zero, tuple_keys, nan_keys, set_of_sets, bytes_, huge_text, collisions
"""

VARIANT = ""


def deep():
    value = []
    for _ in range(100_000):
        value = [value]
    return value


def cyclic():
    value = {}
    value["self"] = [value]
    return value


WAYS = {
    "deep": deep,
    "long": lambda: [0] * 2_000_000,
    "cyclic": cyclic,
    "digits": lambda: 10**20_000,
    "surrogate": lambda: "\ud800",
    "zero": lambda: [-0.0, "\0"],
    "tuple_keys": lambda: {(1, 2): {3: 4}, None: 1, True: 2},
    "nan_keys": lambda: {float("nan"): 1},
    "set_of_sets": lambda: {frozenset({frozenset()})},
    "bytes_": lambda: bytearray(range(256)),
    "huge_text": lambda: "x" * 60_000_000,
    "collisions": lambda: {n * ((1 << 61) - 1) for n in range(20_000)},
}


def solve(numbers):
    return WAYS[VARIANT]()


mean = solve
