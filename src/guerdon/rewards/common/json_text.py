"""JSON in a model's text: read strictly, found where it stands."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

MAX_DEPTH = 128
"""How deep values may be nested; deeper ones are read as broken, in every Python and on every stack alike."""

_SPACE = " \t\n\r"
_BRACKET = re.compile(r"[\[\]{}]")
# A string that is not closed goes on to the end of its line: looked for once, so that time stays linear.
_TOKEN = re.compile(r'"(?:[^"\\\n]|\\.)*+"?|[\[\]{}]')
_RESCANS = 8
_RESCANNED = 100_000
_FENCE = re.compile(r"^[ \t>]*(`{3,}|~{3,})[ \t]*([\w+.-]*)[^\n`]*$", re.MULTILINE)
_SURROGATE = re.compile("[\ud800-\udfff]")
_TURN = re.compile(r"<\|(?:im_end|im_start|eot_id|eom_id|start_header_id|endoftext|end_of_text)\|>")
_OWN_TURN = re.compile(r"\s*<\|(?:im_start|start_header_id)\|>assistant(?:<\|end_header_id\|>)?\s*")


@dataclass(frozen=True, slots=True)
class Read:
    """What was read at a place of a text."""

    value: Any
    end: int
    """Where it ends; for what is broken, where reading stopped."""
    problem: str = ""
    """What is wrong with it; empty where nothing is."""


def read_json(text: str) -> Read:
    """The text as one JSON value with nothing but white space around it.

    >>> read_json(' {"a": 1} ').value, read_json('{"a": 1, "a": 2}').problem
    ({'a': 1}, 'the name "a" occurs twice in one object')
    """
    at = len(text) - len(text.lstrip(_SPACE))
    read = read_json_at(text, at)
    if not read.problem and text[read.end :].strip(_SPACE):
        return Read(None, read.end, "something follows the JSON")
    return read


def read_json_at(text: str, at: int) -> Read:
    """The JSON value that starts at a place, as RFC 8259 defines it: no NaN, and here no name twice."""
    problems: list[str] = []

    def members(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(pairs)
        if len(found) < len(pairs):
            seen: set[str] = set()
            double = next(name for name, _ in pairs if name in seen or seen.add(name))  # type: ignore[func-returns-value]
            problems.append(f"the name {json.dumps(double[:40])} occurs twice in one object")
        return found

    def constant(name: str) -> None:
        problems.append(f"{name} is not JSON")

    decoder = json.JSONDecoder(
        object_pairs_hook=members, parse_constant=constant, parse_float=real, parse_int=integer
    )
    try:
        value, end = decoder.raw_decode(text, at)
    except json.JSONDecodeError as error:
        return Read(None, max(error.pos, at), f"not JSON: {error.msg} at character {error.pos}")
    except RecursionError:
        return Read(None, len(text), f"nested more than {MAX_DEPTH} deep")
    if is_deep(value):
        return Read(None, end, f"nested more than {MAX_DEPTH} deep")
    return Read(value, end, problems[0] if problems else "")


def real(digits: str) -> float | Decimal:
    """A float, or the exact number where a float would make infinity or zero of it."""
    number = float(digits)
    if number in (float("inf"), float("-inf")) or (not number and re.search("^[^eE]*[1-9]", digits)):
        return Decimal(digits)
    return number


def integer(digits: str) -> int | Decimal:
    """An int, or the exact number where Python refuses to make an int: by default from 4,300 digits on."""
    return int(digits) if len(digits) <= 4000 else Decimal(digits)


def is_deep(value: Any, limit: int = MAX_DEPTH) -> bool:
    """Whether lists and mappings are nested deeper than ``limit``."""
    level = [value]
    for _ in range(limit + 1):
        level = [
            item
            for outer in level
            if isinstance(outer, dict | list | tuple)
            for item in (outer.values() if isinstance(outer, dict) else outer)
            if isinstance(item, dict | list | tuple)
        ]
        if not level:
            return False
    return True


def same_json(one: Any, other: Any) -> bool:
    """Whether two values are the same JSON: 1 is 1.0 and is not true; the order of names means nothing.

    >>> same_json({"a": [1, True]}, {"a": [1.0, True]}), same_json([1], [True])
    (True, False)
    """
    if isinstance(one, dict):
        return (
            isinstance(other, dict)
            and one.keys() == other.keys()
            and all(same_json(value, other[name]) for name, value in one.items())
        )
    if isinstance(one, list | tuple):
        return isinstance(other, list | tuple) and len(one) == len(other) and all(map(same_json, one, other))
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    if isinstance(one, int | float | Decimal):
        return isinstance(other, int | float | Decimal) and one == other
    return type(one) is type(other) and bool(one == other)


def without_surrogates(value: Any) -> Any:
    """The value with a replacement character for each half of a surrogate pair that stands alone."""
    if isinstance(value, str):
        return _SURROGATE.sub("\ufffd", value)
    if isinstance(value, list):
        return [without_surrogates(item) for item in value]
    if isinstance(value, dict):
        return {without_surrogates(name): without_surrogates(item) for name, item in value.items()}
    return value


def said(text: str) -> str:
    """What a model said: without what it thought before, and without turns of others that it made up.

    >>> said("<think>{}?</think>[1]<|im_end|><|im_start|>user")
    '[1]'
    """
    if own := _OWN_TURN.match(text):
        text = text[own.end() :]
    _, _, after = text.rpartition("</think>")
    after, _, _ = after.partition("<think>")
    if turn := _TURN.search(after):
        after = after[: turn.start()]
    return after


@dataclass(frozen=True, slots=True)
class Fence:
    """A fenced block of a text in Markdown."""

    label: str
    """The language it is labelled with, in lower case; mostly empty or ``json``."""
    text: str
    start: int
    end: int


def fences(text: str) -> list[Fence]:
    """The fenced blocks that are closed, in order."""
    found: list[Fence] = []
    opened: re.Match[str] | None = None
    for line in _FENCE.finditer(text):
        if opened is None:
            opened = line
        elif line[1].startswith(opened[1]) and not line[2]:
            body = text[opened.end() : line.start()]
            found.append(Fence(opened[2].lower(), body, opened.start(), line.end()))
            opened = None
    return found


def comments(text: str) -> list[tuple[int, int]]:
    """Where the comments of HTML stand, in order; one that is not closed goes on to the end."""
    found = []
    at = text.find("<!--")
    while at >= 0:
        end = text.find("-->", at + 4)
        found.append((at, end + 3 if end >= 0 else len(text)))
        at = text.find("<!--", end + 3) if end >= 0 else -1
    return found


def outside(places: Iterable[tuple[int, int]], holes: Iterable[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """The places that do not start inside of a hole; both in order."""
    gaps = iter(holes)
    hole = next(gaps, None)
    for place in places:
        while hole is not None and hole[1] <= place[0]:
            hole = next(gaps, None)
        if hole is None or place[0] < hole[0]:
            yield place


def balanced(text: str) -> list[tuple[int, int]]:
    """Where the outermost ``{…}`` and ``[…]`` stand that are closed; brackets in strings do not count.

    Time grows with the text only. A bracket that is never closed, as in prose, hides nothing after it.

    >>> [(s, e) for s, e in balanced('a { then {"b": "}"} and [1]')]
    [(9, 19), (24, 27)]
    """
    found: list[tuple[int, int]] = []
    at = 0
    for _ in range(_RESCANS):
        spans, unclosed = _spans(text, at)
        # After a bracket that opens nothing, quotation marks may have been taken in the wrong pairs.
        if unclosed < 0 or len(text) - unclosed > _RESCANNED:
            return found + spans
        found += [span for span in spans if span[0] < unclosed]
        at = unclosed + 1
    return found + [span for span in spans if span[0] >= at]


def _spans(text: str, at: int) -> tuple[list[tuple[int, int]], int]:
    """The outermost spans from a place on, and where the first bracket stands that is never closed, else -1."""
    stack: list[tuple[str, int]] = []
    waiting = {"{": 0, "[": 0}
    found: list[tuple[int, int]] = []
    # Quotation marks outside of all brackets are those of prose.
    while token := (_TOKEN if stack else _BRACKET).search(text, at):
        at = token.end()
        sign = token[0]
        if sign[0] == '"':
            continue
        if sign in waiting:
            stack.append((sign, token.start()))
            waiting[sign] += 1
        elif waiting[opening := "{" if sign == "}" else "["]:
            while (last := stack.pop())[0] != opening:
                waiting[last[0]] -= 1
            waiting[opening] -= 1
            while found and found[-1][0] > last[1]:
                found.pop()
            found.append((last[1], token.end()))
    return found, stack[0][1] if stack else -1
