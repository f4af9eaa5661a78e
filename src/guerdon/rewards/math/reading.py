"""Answers and ground truths, read: from text to a value."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from guerdon.rewards.math.functions import determinant
from guerdon.rewards.math.measures import quantity
from guerdon.rewards.math.normal_form import (
    UnknownError,
    constant,
    negative,
    symbol,
)
from guerdon.rewards.math.numeric import real
from guerdon.rewards.math.parts import alternatives, depths_of, nonempty, rows_of, split
from guerdon.rewards.math.relations import solutions, subject
from guerdon.rewards.math.tokens import Token, tokens
from guerdon.rewards.math.values import (
    Based,
    Clock,
    Collection,
    Dots,
    Interval,
    Matrix,
    Quantity,
    Ratio,
    Relation,
    Union,
    Value,
    Word,
    as_interval,
)
from guerdon.rewards.math.words import REALS, lower_words, special_words, value_of_words, whole_number

MAX_ITEMS = 200
MAX_DIGITS = 1_000
_RELATIONS = frozenset({"=", "<", ">", "<=", ">=", "!=", "∈", "≈"})
_CLOCK = re.compile(
    r"(\d{1,2}):([0-5]\d)\s*(?:\\text\s*\{)?\s*~?\s*([ap])?\.?\s*(?(3)m)\.?\s*\}?", re.IGNORECASE
)
_SUCH_THAT = (Token("sign", "|"), Token("sign", ":"))
_MINUS_INFINITY, _INFINITY = negative(symbol("oo")), symbol("oo")


def read(text: str, grouped: bool = True) -> Value:
    """The value of a text; ``grouped`` says whether a comma may stand between thousands.

    Raises UnknownError where it is no mathematics that is read here, UndefinedError where it has no value,
    ExpressionTooLargeError where it has one beyond evaluation.

    >>> from guerdon.rewards.math.values import Collection
    >>> isinstance(read(r"\\{1, 2\\}"), Collection)
    True
    """
    plain = text.strip()
    if plain.isdecimal() and plain.isascii() and len(plain) <= MAX_DIGITS:
        return Quantity(constant(int(plain)))
    if (clock := _CLOCK.fullmatch(plain)) and (clock[3] or clock[2].startswith("0")):
        half = (clock[3] or "").lower()
        return Clock(int(clock[1]) * 60 + int(clock[2]), half)
    if (value := special_words(plain)) is not None:
        return value
    found = tokens(plain, grouped)
    if not found:
        raise UnknownError("nothing")
    return _value(found)


def _value(found: Sequence[Token]) -> Value:
    """A list without brackets, or one element."""
    items = _items(found)
    if len(items) == 1:
        return items[0]
    if len(items) == 2 and Token("comma", "and") in found and (both := _intersection(*items)) is not None:
        return both
    return Collection("list", tuple(items))


def _intersection(first: Value, second: Value) -> Interval | None:
    """What "x > 2 and x < 5" leaves; "x < 2 and x > 5" leaves nothing, and is said of both."""
    if not isinstance(first, Relation) or not isinstance(second, Relation):
        return None
    above, below = solutions(first), solutions(second)
    if above is None or below is None or subject(first) != subject(second):
        return None
    if above.low == _MINUS_INFINITY:
        above, below = below, above
    low, high = real(above.low), real(below.high)
    if low is None or high is None or above.high != _INFINITY or below.low != _MINUS_INFINITY or low >= high:
        return None
    return Interval(above.low, below.high, (above.closed[0], below.closed[1]))


def _items(found: Sequence[Token]) -> list[Value]:
    """The elements between commas; an element with ± is several."""
    depths = depths_of(found)
    commas = [at for at, token in enumerate(found) if token.kind == "comma" and not depths[at]]
    parts = split(found, commas)
    if len(parts) > MAX_ITEMS:
        raise UnknownError("too many items")
    items: list[Value] = []
    for number, part in enumerate(parts):
        if not part:
            # "1, 2, and 3" has two separators side by side.
            follows = number < len(commas) and found[commas[number]].text in ("and", "or") and number > 0
            if follows:
                continue
            raise UnknownError("an empty item")
        items.extend(_element(each) for each in alternatives(part))
    return items


def _element(found: Sequence[Token]) -> Value:
    depths = depths_of(found)
    outer = [token for at, token in enumerate(found) if not depths[at]]
    if len(found) == 1 and found[0].kind in ("dots", "text", "field"):
        return _single(found[0])
    signs = {token.text for token in outer if token.kind == "sign"}
    if signs & _RELATIONS:
        return _relation(found, depths)
    if signs & {"∪", "∖"}:
        return _union(found, depths)
    if found[0].kind == "open" and not any(depths[at] == 0 for at in range(1, len(found) - 1)):
        value = _bracketed(found)
        if value is not None:
            return value
    if ":" in signs:
        places = [at for at, token in enumerate(found) if token == Token("sign", ":") and not depths[at]]
        return Ratio(tuple(_element(part) for part in nonempty(split(found, places))))
    if (name := _overlined(found) or _based(found)) is not None:
        return name
    return quantity(found)


def _single(token: Token) -> Value:
    if token.kind == "dots":
        return Dots()
    if token.kind == "field":
        if token.text != "R":
            return Word(f"field {token.text}")
        return REALS
    if len(token.text) == 1 and token.text.isalpha():
        return Quantity(symbol(token.text))
    return value_of_words(token.text)


def _overlined(found: Sequence[Token]) -> Value | None:
    r"""The line segment of \overline{CD} and of CD."""
    if found[0] == Token("call", "overline") and len(found) >= 2:
        letters = [token.text for token in found[1:] if token.kind == "letter"]
        if letters and len(letters) + 2 * (found[1].kind == "open") == len(found) - 1:
            return Word("overline " + "".join(sorted(letters)))
    return None


def _based(found: Sequence[Token]) -> Based | None:
    """Digits with their base below them: 4210_5, 1A_{16}."""
    texts = [token.text for token in found if token.text != "{"]
    if found[0].kind != "number" or "_" not in texts:
        return None
    at = texts.index("_")
    digits, base = "".join(texts[:at]), "".join(texts[at + 1 :])
    number = (
        (whole_number(base) or 0)
        if base.isalpha()
        else int(base)
        if base.isdecimal() and len(base) < 3
        else 0
    )
    if not digits.isalnum() or not 2 <= number <= 36 or any(int(digit, 36) >= number for digit in digits):
        return None
    return Based(digits.lstrip("0") or "0", number)


def _relation(found: Sequence[Token], depths: Sequence[int]) -> Value:
    places = [
        at
        for at, token in enumerate(found)
        if token.kind == "sign" and token.text in _RELATIONS and not depths[at]
    ]
    if places[0] == 0 and found[0].text in ("=", "≈"):
        found, places = found[1:], [at - 1 for at in places[1:]]
        if not places:
            return _element(*nonempty([found]))
    sides = [_side(part) for part in nonempty(split(found, places))]
    return Relation(tuple(found[at].text for at in places), tuple(sides))


def _side(part: Sequence[Token]) -> Value:
    """One side of a relation; words on it are a name."""
    if all(token.kind == "text" for token in part):
        return Word(lower_words(" ".join(token.text for token in part)))
    return _element(part)


def _union(found: Sequence[Token], depths: Sequence[int]) -> Value:
    places = [
        at
        for at, token in enumerate(found)
        if token.kind == "sign" and token.text in ("∪", "∖") and not depths[at]
    ]
    parts = [_element(part) for part in nonempty(split(found, places))]
    signs = [found[at].text for at in places]
    if "∖" not in signs:
        if all(isinstance(part, Collection) and part.kind == "set" for part in parts):
            return Collection("set", tuple(_flat(parts)))
        return Union(tuple(_flat(parts)))
    if signs != ["∖"] or parts[0] != REALS or not isinstance(parts[1], Collection) or parts[1].kind != "set":
        raise UnknownError("a difference of sets")
    return _without(parts[1].items)


def _flat(parts: Iterable[Value]) -> Iterable[Value]:
    for part in parts:
        if isinstance(part, Union):
            yield from part.parts
        elif isinstance(part, Collection) and part.kind == "set":
            yield from part.items
        elif isinstance(part, Collection) and (interval := as_interval(part)) is not None:
            yield interval
        else:
            yield part


def _without(items: Sequence[Value]) -> Value:
    """The real numbers without some: open intervals between them."""
    points = []
    for item in items:
        value = real(item.form) if isinstance(item, Quantity) else None
        if value is None or not isinstance(item, Quantity):
            raise UnknownError("a point that is not a number")
        points.append((value, item.form))
    ends = [form for _, form in sorted(points, key=lambda point: point[0])]
    lows, highs = [_MINUS_INFINITY, *ends], [*ends, _INFINITY]
    return Union(tuple(Interval(low, high, (False, False)) for low, high in zip(lows, highs, strict=True)))


def _bracketed(found: Sequence[Token]) -> Value | None:
    """A tuple, a set, an interval, a matrix; None where the brackets only hold an expression together."""
    opening, closing, inside = found[0].text, found[-1].text, found[1:-1]
    if opening == "vmatrix":
        return _determinant(_matrix(inside))
    if opening == "cases":
        return Collection("list", _lines(inside))
    if "matrix" in opening or opening == "array":
        return _matrix(inside)
    if opening in ("floor", "ceil"):
        return None
    if opening == "set" and (condition := _condition(inside)):
        return _value(condition)
    if opening == "set":
        return Collection("set", tuple(_items(inside)) if inside else ())
    if not inside:
        raise UnknownError("empty brackets")
    depths = depths_of(inside)
    if not any(token.kind == "comma" and not depths[at] for at, token in enumerate(inside)):
        if opening == "(" and len(inside) == 1 and inside[0].kind == "text":
            return _single(inside[0])
        if inside[0].text == "array" and not any(
            depths_of(inside)[at] == 0 for at in range(1, len(inside) - 1)
        ):
            return _matrix(inside[1:-1])
        if opening == "{" == closing:
            return _element(inside)
        return None
    items = tuple(_items(inside))
    if opening == "{":
        return Collection("list", items)
    if opening == "<" == closing:
        return Collection("vector", items)
    if (opening, closing) == ("(", "("):
        return Collection("tuple", items)
    if opening in ("(", "[") and closing in ("(", "["):
        return _interval(items, (opening == "[", closing == "["))
    raise UnknownError("brackets that do not match")


def _condition(inside: Sequence[Token]) -> Sequence[Token] | None:
    """What is said of the elements of a set, as in {x | 0 < x < 1}."""
    at = 3 if len(inside) > 3 and inside[1] == Token("sign", "∈") and inside[2] == Token("field", "R") else 1
    if len(inside) < at + 3 or inside[0].kind != "letter" or inside[at] not in _SUCH_THAT:
        return None
    return inside[at + 1 :]


def _interval(items: Sequence[Value], closed: tuple[bool, bool]) -> Value:
    if len(items) == 2 and isinstance(items[0], Quantity) and isinstance(items[1], Quantity):
        return Interval(items[0].form, items[1].form, closed)
    if closed == (True, True):
        return Collection("tuple", tuple(items))
    raise UnknownError("an interval of more than two ends")


def _lines(inside: Sequence[Token]) -> tuple[Value, ...]:
    """The equations of a system."""
    lines: list[Sequence[Token]] = [
        [token for token in row if token != Token("sign", "&")] for row in rows_of(inside)
    ]
    lines = [line[:-1] if line and line[-1].kind == "comma" else line for line in lines]
    made = tuple(_element(line) for line in nonempty(lines))
    if not all(isinstance(each, Relation) and each.signs == ("=",) for each in made):
        raise UnknownError("cases that are not a system of equations")
    return made


def _determinant(matrix: Matrix) -> Value:
    rows = [[cell.form for cell in row if isinstance(cell, Quantity)] for row in matrix.rows]
    return Quantity(determinant(rows))


def _matrix(inside: Sequence[Token]) -> Matrix:
    made = []
    for row in rows_of(inside):
        depths = depths_of(row)
        cells = split(row, [at for at, t in enumerate(row) if t == Token("sign", "&") and not depths[at]])
        made.append(tuple(_element(cell) for cell in nonempty(cells)))
    if not made or len({len(row) for row in made}) != 1:
        raise UnknownError("a matrix with rows of different lengths")
    return Matrix(tuple(made))
