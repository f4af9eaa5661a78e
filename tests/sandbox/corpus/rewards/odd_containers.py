"""Returns a container that shows another length, other items, another class each time. Not to be passed.

Variants: length, items, iterator, keys, contains, class_, getattr, slots, sorts, growing
"""

VARIANT = ""


class Odd(list):
    turn = 0

    def __len__(self):
        Odd.turn += 1
        return Odd.turn

    def __iter__(self):
        return iter([1, 2, 3] if Odd.turn % 2 else [9])

    def __getitem__(self, index):
        return index

    def __contains__(self, item):
        return True


class Liar:
    __class__ = list

    def __getattr__(self, name):
        return lambda *a: True


class Keys(dict):
    def keys(self):
        return Any()

    items = values = keys


class Any:
    def __eq__(self, other):
        return True

    __hash__ = None

    def __iter__(self):
        return self

    def __next__(self):
        raise StopIteration


def solve(numbers):
    if VARIANT in ("class_", "getattr", "slots"):
        return Liar()
    if VARIANT == "keys":
        return Keys()
    if VARIANT == "growing":
        endless = []
        endless.append(endless)
        return endless
    return Odd()


mean = solve
