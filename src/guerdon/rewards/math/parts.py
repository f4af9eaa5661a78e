"""The parts of an answer: its tokens taken apart at commas, rows and signs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import product

from guerdon.rewards.math.normal_form import UnknownError
from guerdon.rewards.math.tokens import Token

_MAX_ALTERNATIVES = 16
SET = Token("open", "set")


def depths_of(found: Sequence[Token]) -> list[int]:
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


def split(found: Sequence[Token], at: Iterable[int]) -> list[Sequence[Token]]:
    parts, start = [], 0
    for place in at:
        parts.append(found[start:place])
        start = place + 1
    return [*parts, found[start:]]


def nonempty(parts: list[Sequence[Token]]) -> list[Sequence[Token]]:
    if not all(parts):
        raise UnknownError("something is missing beside a sign")
    return parts


def rows_of(inside: Sequence[Token]) -> list[Sequence[Token]]:
    depths = depths_of(inside)
    rows = split(inside, [at for at, token in enumerate(inside) if token.kind == "row" and not depths[at]])
    if rows and not rows[-1]:
        rows.pop()
    return rows


def alternatives(part: Sequence[Token]) -> list[Sequence[Token]]:
    """An element once for each choice of its signs ±; with ∓ in it, the upper and the lower signs."""
    places, sets = [], 0
    for at, token in enumerate(part):
        sets += (token == SET) - (token.kind == "close" and token.text == "set")
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
