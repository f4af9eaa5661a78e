"""Answers and ground truths, read: from text to a value."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from itertools import product

from guerdon.rewards._math_expressions import Expression
from guerdon.rewards._math_forms import (
    ONE,
    UNIT,
    Form,
    Rational,
    UnknownError,
    constant,
    negative,
    symbol,
    times,
)
from guerdon.rewards._math_numeric import real
from guerdon.rewards._math_tokens import Token, tokens
from guerdon.rewards._math_units import PERCENT, SCALES, Unit, known, unit
from guerdon.rewards._math_values import (
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
)

MAX_ITEMS = 200
_MAX_ALTERNATIVES = 16
_EXPONENTS = (-3, -2, -1, 1, 2, 3)
_RELATIONS = frozenset({"=", "<", ">", "<=", ">=", "!=", "∈", "≈"})
_CLOCK = re.compile(
    r"(\d{1,2}):([0-5]\d)\s*(?:\\text\s*\{)?\s*~?\s*([ap])?\.?\s*(?(3)m)\.?\s*\}?", re.IGNORECASE
)
_BASES = dict(
    zip(
        [
            "two",
            "three",
            "four",
            "five",
            "six",
            "seven",
            "eight",
            "nine",
            "ten",
            "eleven",
            "twelve",
            "sixteen",
        ],
        (2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 16),
        strict=True,
    )
)
_SET = Token("open", "set")
_MINUS_INFINITY, _INFINITY = negative(symbol("oo")), symbol("oo")
_REALS = Interval(_MINUS_INFINITY, _INFINITY, (False, False))


def read(text: str) -> Value:
    """The value of a text. Raises UnknownError where it is no mathematics that is read here, UndefinedError
    where it has no value, TooLargeError where it has one beyond evaluation.

    >>> from guerdon.rewards._math_values import Collection
    >>> isinstance(read(r"\\{1, 2\\}"), Collection)
    True
    """
    plain = text.strip()
    if (clock := _CLOCK.fullmatch(plain)) and (clock[3] or clock[2].startswith("0")):
        half = (clock[3] or "").lower()
        return Clock(int(clock[1]) * 60 + int(clock[2]), half)
    found = tokens(plain)
    if not found:
        raise UnknownError("nothing")
    return _value(found)


def _depths(found: Sequence[Token]) -> list[int]:
    """For each token how many brackets are open around it; brackets of an interval need not match."""
    depths, depth = [], 0
    for token in found:
        if token.kind == "close":
            depth -= 1
            if depth < 0:
                raise UnknownError("a bracket that was not opened")
        depths.append(depth)
        if token.kind == "open":
            depth += 1
    if depth:
        raise UnknownError("a bracket that is not closed")
    return depths


def _split(found: Sequence[Token], at: Iterable[int]) -> list[Sequence[Token]]:
    parts, start = [], 0
    for place in at:
        parts.append(found[start:place])
        start = place + 1
    return [*parts, found[start:]]


def _value(found: Sequence[Token]) -> Value:
    """A list without brackets, or one element."""
    items = _items(found)
    if len(items) == 1:
        return items[0]
    return Collection("list", tuple(items))


def _items(found: Sequence[Token]) -> list[Value]:
    """The elements between commas; an element with ± is several."""
    depths = _depths(found)
    commas = [at for at, token in enumerate(found) if token.kind == "comma" and not depths[at]]
    parts = _split(found, commas)
    if len(parts) > MAX_ITEMS:
        raise UnknownError("too many items")
    items: list[Value] = []
    for number, part in enumerate(parts):
        if not part:
            # "1, 2, and 3" has two separators side by side.
            follows = number < len(commas) and found[commas[number]].text == "and" and number > 0
            if follows:
                continue
            raise UnknownError("an empty item")
        items.extend(_element(each) for each in _alternatives(part))
    return items


def _alternatives(part: Sequence[Token]) -> list[Sequence[Token]]:
    """An element once for each choice of its signs ±; with ∓ in it, the upper and the lower signs."""
    places, sets = [], 0
    for at, token in enumerate(part):
        sets += (token == _SET) - (token.kind == "close" and token.text == "set")
        if token.kind == "sign" and token.text in ("±", "∓") and not sets:  # a set has its own elements
            places.append(at)
    if not places:
        return [part]
    together = any(part[at].text == "∓" for at in places)
    if not together and 2 ** len(places) > _MAX_ALTERNATIVES:
        raise UnknownError("too many signs ±")
    if together:
        choices: Iterable[tuple[str, ...]] = [
            tuple(signs[part[at].text == "∓"] for at in places) for signs in ("+-", "-+")
        ]
    else:
        choices = product("+-", repeat=len(places))
    made: list[Sequence[Token]] = []
    for choice in choices:
        each = list(part)
        for at, sign in zip(places, choice, strict=True):
            each[at] = Token("sign", sign)
        made.append(each)
    return made


def _element(found: Sequence[Token]) -> Value:
    depths = _depths(found)
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
        return Ratio(tuple(_element(part) for part in _nonempty(_split(found, places))))
    if (name := _overlined(found) or _based(found)) is not None:
        return name
    return quantity(found)


def _single(token: Token) -> Value:
    if token.kind == "dots":
        return Dots()
    if token.kind == "field":
        if token.text != "R":
            return Word(f"field {token.text}")
        return _REALS
    if len(token.text) == 1 and token.text.isalpha():
        return Quantity(symbol(token.text))
    return Word(_spoken(token.text))


def _spoken(text: str) -> str:
    return " ".join(re.findall(r"[^\W_]+", text.casefold()))


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
    number = _BASES.get(base, 0) if base.isalpha() else int(base) if base.isdecimal() and len(base) < 3 else 0
    if not digits.isalnum() or not 2 <= number <= 36 or any(int(digit, 36) >= number for digit in digits):
        return None
    return Based(digits.lstrip("0") or "0", number)


def _nonempty(parts: list[Sequence[Token]]) -> list[Sequence[Token]]:
    if not all(parts):
        raise UnknownError("something is missing beside a sign")
    return parts


def _relation(found: Sequence[Token], depths: Sequence[int]) -> Value:
    places = [
        at
        for at, token in enumerate(found)
        if token.kind == "sign" and token.text in _RELATIONS and not depths[at]
    ]
    if places[0] == 0 and found[0].text == "=":
        found, places = found[1:], [at - 1 for at in places[1:]]
        if not places:
            return _element(found)
    sides = [_side(part) for part in _nonempty(_split(found, places))]
    return Relation(tuple(found[at].text for at in places), tuple(sides))


def _side(part: Sequence[Token]) -> Value:
    """One side of a relation; words on it are a name."""
    if all(token.kind == "text" for token in part):
        return Word(_spoken(" ".join(token.text for token in part)))
    return _element(part)


def _union(found: Sequence[Token], depths: Sequence[int]) -> Value:
    places = [
        at
        for at, token in enumerate(found)
        if token.kind == "sign" and token.text in ("∪", "∖") and not depths[at]
    ]
    parts = [_element(part) for part in _nonempty(_split(found, places))]
    signs = [found[at].text for at in places]
    if "∖" not in signs:
        return Union(tuple(_flat(parts)))
    if signs != ["∖"] or parts[0] != _REALS or not isinstance(parts[1], Collection) or parts[1].kind != "set":
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
            raise UnknownError("a point that is no number")
        points.append((value, item.form))
    ends = [form for _, form in sorted(points, key=lambda point: point[0])]
    lows, highs = [_MINUS_INFINITY, *ends], [*ends, _INFINITY]
    return Union(tuple(Interval(low, high, (False, False)) for low, high in zip(lows, highs, strict=True)))


def as_interval(value: Value) -> Interval | None:
    """The open interval that a pair may be."""
    if isinstance(value, Interval):
        return value
    if isinstance(value, Collection) and value.kind == "tuple" and len(value.items) == 2:
        low, high = value.items
        if isinstance(low, Quantity) and isinstance(high, Quantity):
            return Interval(low.form, high.form, (False, False))
    return None


def _bracketed(found: Sequence[Token]) -> Value | None:
    """A tuple, a set, an interval, a matrix; None where the brackets only hold an expression together."""
    opening, closing, inside = found[0].text, found[-1].text, found[1:-1]
    if "matrix" in opening or opening == "array":
        return _matrix(inside)
    if opening in ("floor", "ceil"):
        return None
    if opening == "set":
        return Collection("set", tuple(_items(inside)) if inside else ())
    if not inside:
        raise UnknownError("empty brackets")
    depths = _depths(inside)
    if not any(token.kind == "comma" and not depths[at] for at, token in enumerate(inside)):
        if opening == "(" and len(inside) == 1 and inside[0].kind == "text":
            return _single(inside[0])
        if inside[0].text == "array" and not any(
            _depths(inside)[at] == 0 for at in range(1, len(inside) - 1)
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


def _interval(items: Sequence[Value], closed: tuple[bool, bool]) -> Value:
    if len(items) == 2 and isinstance(items[0], Quantity) and isinstance(items[1], Quantity):
        return Interval(items[0].form, items[1].form, closed)
    if closed == (True, True):
        return Collection("tuple", tuple(items))
    raise UnknownError("an interval of more than two ends")


def _matrix(inside: Sequence[Token]) -> Value:
    depths = _depths(inside)
    rows = _split(inside, [at for at, token in enumerate(inside) if token.kind == "row" and not depths[at]])
    if rows and not rows[-1]:
        rows.pop()
    made = []
    for row in rows:
        depths = _depths(row)
        cells = _split(row, [at for at, t in enumerate(row) if t == Token("sign", "&") and not depths[at]])
        made.append(tuple(_element(cell) for cell in _nonempty(cells)))
    if not made or len({len(row) for row in made}) != 1:
        raise UnknownError("a matrix with rows of different lengths")
    return Matrix(tuple(made))


def quantity(found: Sequence[Token]) -> Value:
    """An expression with its unit, percent sign or currency."""
    found, money = _without_money(list(found))
    found, words = _without_words(found)
    if not found:
        return Word(_spoken(words))
    scale, is_percent, measured = _scale(words)
    if found[-1] == Token("sign", "%"):
        found, is_percent = found[:-1], True
    if found and found[-1] == Token("sign", "%"):
        raise UnknownError("a percentage of a percentage")
    celsius = found[-1].text if len(found) > 2 and found[-2] == Token("sign", "°") else ""
    if celsius in ("C", "F"):
        found, measured = found[:-2], Unit(f"°{celsius}")
        measured = unit(f"°{celsius}")
    expression = Expression(found)
    form = expression.read()
    if expression.has_degrees and measured is None:
        measured = unit("degree")
    if money is not None and (measured is None or not measured.is_known):
        measured = unit(money)
    if scale != 1:
        form = times(form, constant(scale))
    return Quantity(form, expression.is_decimal, _places(found, scale), is_percent, measured, scale)


def _without_money(found: list[Token]) -> tuple[list[Token], str | None]:
    for at in (0, 1):
        if len(found) > at + 1 and found[at].kind == "money":
            if at == 1 and not (found[0].kind == "sign" and found[0].text in "+-"):
                break
            return found[:at] + found[at + 1 :], found[at].text
    if len(found) > 1 and found[-1].kind == "money":
        return found[:-1], found[-1].text
    return found, None


def _without_words(found: list[Token]) -> tuple[list[Token], str]:
    """The tokens before the words at the end, and these words."""
    at = len(found)
    while at:
        token = found[at - 1]
        is_per = token == Token("sign", "/") and 2 <= at < len(found) and found[at - 2].kind == "text"
        if token.kind == "text" or is_per:
            at -= 1
        elif (end := _power_of_unit(found, at)) is not None:
            at = end
        else:
            break
    words = found[at:]
    if at and found[at - 1] == Token("sign", "-") and words:
        at -= 1  # 5-inch
    return found[:at], " ".join(
        token.text.strip("{}") for token in words if token.kind not in ("open", "close")
    )


def _power_of_unit(found: Sequence[Token], at: int) -> int | None:
    """Where a unit starts whose power ends before a place: cm^2, cm^{2}."""
    for length, digit in ((3, -1), (5, -2)):
        part = found[at - length : at] if at >= length else ()
        if len(part) == length and part[0].kind == "text" and part[1] == Token("sign", "^"):
            digits = part[digit]
            if digits.kind == "number" and digits.text in ("2", "3"):
                return at - length
    return None


def _scale(words: str) -> tuple[Rational, bool, Unit | None]:
    """What words behind a number say: a factor, a percentage, a unit."""
    scale: Rational = 1
    rest = words.split()
    while rest and rest[0].lower().rstrip("s") in SCALES:
        scale *= SCALES[rest.pop(0).lower().rstrip("s")]
    if any(word.lower().rstrip("s") in SCALES for word in rest):
        raise UnknownError("a number behind a unit")
    if rest and rest[0].lower() in PERCENT:
        return scale, True, None
    return scale, False, unit(" ".join(rest)) if rest else None


def _places(found: Sequence[Token], scale: Rational) -> int | None:
    numbers = [token for token in found if token.kind != "sign" or token.text not in "+-"]
    if scale != 1 or len(numbers) != 1 or numbers[0].kind != "number" or "." not in numbers[0].text:
        return None
    digits, _, exponent = numbers[0].text.lower().partition("e")
    return max(0, len(digits.partition(".")[2]) - int(exponent or 0))


def as_measure(value: Quantity) -> Quantity | None:
    """The other reading of an expression such as 5m or 3m/s: a number with units of one letter."""
    form = value.form
    if form.under != UNIT or len(form.over) != 1 or value.unit is not None:
        return None
    ((terms, factor),) = form.over.items()
    letters = {atom: exponent for atom, exponent in terms if isinstance(atom, str) and len(atom) == 1}
    if not letters or not all(
        known(letter) and exponent in _EXPONENTS for letter, exponent in letters.items()
    ):
        return None
    over = [f"{letter}^{exponent}" for letter, exponent in letters.items() if exponent > 0]
    under = [f"/ {letter}^{-exponent}" for letter, exponent in letters.items() if exponent < 0]
    kept = frozenset((atom, exponent) for atom, exponent in terms if atom not in letters)
    bare = Form({kept or ONE: factor}, UNIT)
    return Quantity(bare, value.is_decimal, value.places, False, unit(" ".join([*over, *under])))
