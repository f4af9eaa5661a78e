"""Calls written in Python's way, ``[get_weather(city="Paris"), uber.ride(seats=2)]``: read, never run."""

from __future__ import annotations

import ast
import re
from typing import Any

from guerdon.rewards.common.json_text import MAX_DEPTH, integer, real
from guerdon.rewards.tool_calls.calls import ParsedCall

_MAX_TEXT = 200_000
_TOKEN = re.compile(
    r"""\s+ | \#[^\n]* | \\\n
    | (?P<string> [rRuU]? (?: \"{3}(?:[^\\]|\\.)*?\"{3} | '{3}(?:[^\\]|\\.)*?'{3}
                            | \"(?:[^\"\\\n]|\\.)*+\" | '(?:[^'\\\n]|\\.)*+' ) )
    | (?P<real> (?: \d+\.\d* | \.\d+ ) (?: [eE][+-]?\d+ )? | \d+[eE][+-]?\d+ )
    | (?P<integer> 0+(?!\d) | [1-9]\d* )
    | (?P<name> [^\W\d]\w* (?: \. [^\W\d]\w* )*+ )
    | (?P<sign> [\[\](){},:=;+-] )
    """,
    re.VERBOSE | re.DOTALL,
)
_ESCAPE = re.compile(r"\\([4-7][0-7]{2}|.)", re.DOTALL)
_ESCAPES = frozenset("\\'\"abfnrtvxuUN01234567\n")
_CONSTANTS = {"True": True, "true": True, "False": False, "false": False, "None": None, "null": None}


class _NotLiteralError(Exception):
    """The text is not a row of calls with literal arguments."""


def python_calls(text: str) -> list[ParsedCall] | None:
    """The calls of a text that is nothing but calls, alone or in a list; None where it is something else.

    Arguments are literals of Python, and ``true``, ``false`` and ``null``. An argument without a name makes
    a call that cannot be compared, since its name is not known.

    >>> python_calls('[f(a=[1, "x"]), g.h()]')
    [ParsedCall(name='f', arguments={'a': [1, 'x']}, problem='', is_native=False), \
ParsedCall(name='g.h', arguments={}, problem='', is_native=False)]
    """
    try:
        return _PythonCallParser(text).calls()
    except _NotLiteralError:
        return None


def python_literal(text: str) -> tuple[Any, bool]:
    """The value of a text that is one literal of Python, and whether it is one."""
    try:
        reader = _PythonCallParser(text)
        value = reader.value(0)
        reader.expect("")
    except _NotLiteralError:
        return None, False
    return value, True


class _PythonCallParser:
    def __init__(self, text: str) -> None:
        self._tokens = _tokens(text)
        self._at = 0

    def _peek(self) -> str:
        """The sign that comes next; empty at the end, and the kind of what is no sign."""
        if self._at == len(self._tokens):
            return ""
        kind, text = self._tokens[self._at]
        return text if kind == "sign" else kind

    def _take(self) -> str:
        self._at += 1
        return self._tokens[self._at - 1][1]

    def _skip(self, sign: str) -> bool:
        if self._peek() != sign:
            return False
        self._at += 1
        return True

    def expect(self, sign: str) -> None:
        """Go on after this sign, or be at the end."""
        if self._peek() != sign:
            raise _NotLiteralError
        self._at += bool(sign)

    def calls(self) -> list[ParsedCall]:
        found: list[ParsedCall] = []
        while self._peek():
            if self._skip("["):
                while not self._skip("]"):
                    found.append(self._call())
                    if self._peek() != "]":
                        self.expect(",")
            else:
                found.append(self._call())
            while self._skip(";") or self._skip(","):
                pass
        return found

    def _call(self) -> ParsedCall:
        if self._peek() != "name":
            raise _NotLiteralError
        name = self._take()
        self.expect("(")
        arguments: dict[str, Any] = {}
        problem = ""
        while not self._skip(")"):
            if self._peek() == "name" and self._tokens[self._at + 1 : self._at + 2] == [("sign", "=")]:
                argument = self._take()
                self.expect("=")
                problem = f"the argument {argument} is given twice" if argument in arguments else problem
                arguments[argument] = self.value(1)
            else:
                self.value(1)
                problem = "an argument has no name"
            if self._peek() != ")":
                self.expect(",")
        return ParsedCall(name, arguments, problem)

    def value(self, depth: int) -> Any:
        """The literal that comes next."""
        if depth > MAX_DEPTH:
            raise _NotLiteralError
        match self._peek():
            case "string":
                parts = []
                while self._peek() == "string":
                    parts.append(_string(self._take()))
                return "".join(parts)
            case "[":
                return self._items("]", depth)
            case "(":
                return self._group(depth)
            case "{":
                return self._members(depth)
            case "name" if (name := self._take()) in _CONSTANTS:
                return _CONSTANTS[name]
            case "integer" | "real" | "+" | "-":
                return self._number()
        raise _NotLiteralError

    def _number(self) -> Any:
        negative = self._peek() == "-"
        if self._peek() in ("+", "-"):
            self._at += 1
        kind = self._peek()
        if kind not in ("integer", "real"):
            raise _NotLiteralError
        value = (integer if kind == "integer" else real)(self._take())
        return -value if negative else value

    def _items(self, closing: str, depth: int) -> list[Any]:
        self._at += 1
        found = []
        while not self._skip(closing):
            found.append(self.value(depth + 1))
            if self._peek() != closing:
                self.expect(",")
        return found

    def _group(self, depth: int) -> Any:
        """A tuple, as a list; or a literal in brackets."""
        found = self._items(")", depth)
        is_tuple = len(found) != 1 or self._tokens[self._at - 2] == ("sign", ",")
        return found if is_tuple else found[0]

    def _members(self, depth: int) -> dict[str, Any]:
        self._at += 1
        found: dict[str, Any] = {}
        while not self._skip("}"):
            name = self.value(depth + 1)
            if not isinstance(name, str) or name in found:
                raise _NotLiteralError
            self.expect(":")
            found[name] = self.value(depth + 1)
            if self._peek() != "}":
                self.expect(",")
        return found


def _tokens(text: str) -> list[tuple[str, str]]:
    if len(text) > _MAX_TEXT:
        raise _NotLiteralError
    found: list[tuple[str, str]] = []
    at = 0
    while at < len(text):
        token = _TOKEN.match(text, at)
        if token is None:
            raise _NotLiteralError
        at = token.end()
        if token.lastgroup:
            found.append((token.lastgroup, token[0]))
    return found


def _string(token: str) -> str:
    """The text of a string literal. An escape that Python does not know stands for itself, as it does there."""
    if "\\" not in token and token[0] in "'\"" and token[:3] not in ('"""', "'''"):
        return token[1:-1]
    if token[0] not in "rR":
        token = _ESCAPE.sub(lambda pair: pair[0] if pair[1] in _ESCAPES else "\\" + pair[0], token)
    try:
        return str(ast.literal_eval(token))
    except (SyntaxError, ValueError) as error:  # such as \x of nothing
        raise _NotLiteralError from error
