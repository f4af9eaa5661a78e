"""Calls in a model's text, in the forms that models are taught to write them in.

Calls are what a program that runs the model would carry out: elements and tokens made for it, a response
that is nothing but calls, fenced blocks of calls, objects of JSON that name a tool and its arguments. What a
text says of calls is none, and neither is what stands in a comment or in the thinking part.
"""

from __future__ import annotations

import bisect
import itertools
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field

from guerdon.rewards.common.json_text import (
    Fence,
    balanced,
    comments,
    fences,
    outside,
    read_json,
    read_json_at,
    said,
)
from guerdon.rewards.tool_calls.calls import ParsedCall, Untyped, arguments_of, broken, calls_of_json
from guerdon.rewards.tool_calls.python import python_calls, python_literal

_MARKER = re.compile(
    r"<tool_call>|<function=(?P<llama>[^\s<>]{1,200})>|<invoke\s+name=\"(?P<invoke>[^\"<>]{1,200})\"\s*>"
    r"|\[TOOL_CALLS\]|<\|python_tag\|>"
)
_SPACE = re.compile(r"\s*")
_QWEN_PARAMETER = re.compile(r"\s*<parameter=([^\s<>]{1,200})>")
_XML_PARAMETER = re.compile(r"\s*<parameter\s+name=\"([^\"<>]{1,200})\"\s*>")
_MISTRAL_NAME = re.compile(r"\s*([\w.-]{1,200})(?:\[CALL_ID\][\w-]{1,200})?(?:\[ARGS\])?\s*(?=\{)")
_SEPARATORS = re.compile(r"[\s;,]*")
_COMMENT = re.compile(r"\s*(?:#|//)")
_PYTHONIC = re.compile(r"\[?\s*[^\W\d][\w.]*\(")
_LINE = re.compile(r"^[ \t]*(\[\s*[^\W\d][\w.]*\(.*\)\s*\])[ \t]*$", re.MULTILINE)
# What a tool would have said, where a model makes it up: no call of its own stands there.
_RESULT = re.compile(r"^[ \t]*<tool_(response|result)>.*?(?:</tool_\1>|\Z)", re.MULTILINE | re.DOTALL)
_CALL_KEY = re.compile(r'"(?:name|function|tool_calls|function_call)"')
_FENCE_LABELS = frozenset(
    {*("", "json", "jsonl", "python", "py", "tool_call", "tool_calls", "tool_code", "function_call", "xml")}
)

MAX_CALLS = 1_000
"""After so many calls the rest of a text is not read."""
_MAX_BROKEN = 20


def calls_in_text(text: str, names: Iterable[str] | None = None) -> list[ParsedCall]:
    """The calls that a response makes in its text, in order.

    ``names`` are those of the tools there are: a block of Python that calls something else is only code.

    >>> [call.name for call in calls_in_text('<tool_call>{"name": "f", "arguments": {}}</tool_call>')]
    ['f']
    >>> calls_in_text("I have called f() for you.")
    []
    """
    text = _RESULT.sub(" ", said(text))
    if marked := _marked(text):
        return marked
    if (whole := _only_calls(text.strip(), lenient=True)) is not None:
        return whole
    known = None if names is None else set(names)
    blocks = fences(text)
    found = [*_in_fences(blocks, known), *_in_prose(text, blocks)]
    return [call for _, call in sorted(found, key=lambda item: item[0])]


# Elements and tokens.


@dataclass(slots=True)
class _Scan:
    """A text that is read once from left to right."""

    text: str
    _last: dict[str, int] = field(default_factory=dict)

    def find(self, sign: str, at: int) -> int:
        """Where a closing sign is found from a place on; -1 if nowhere, without looking for it again."""
        if sign not in self._last:
            self._last[sign] = self.text.rfind(sign)
        if at > self._last[sign]:
            return -1
        return self.text.find(sign, at)

    def space(self, at: int) -> int:
        """Where white space ends."""
        match = _SPACE.match(self.text, at)
        return match.end() if match else at


_Found = tuple[list[ParsedCall], int]
"""Calls and where they end."""


def _marked(text: str) -> list[ParsedCall]:
    scan = _Scan(text)
    found: list[ParsedCall] = []
    at = line = 0
    holes = comments(text)
    starts = [start for start, _ in holes]
    bad = 0
    while bad < _MAX_BROKEN and len(found) < MAX_CALLS and (marker := _MARKER.search(text, at)):
        line = max(line, text.rfind("\n", at, marker.start()) + 1)
        at = marker.end()
        start = marker.start()
        hole = bisect.bisect(starts, start) - 1
        if _COMMENT.match(text, line, start) or (hole >= 0 and start < holes[hole][1]):
            continue
        calls, at = _reader(marker[0])(scan, marker)
        line = max(line, text.rfind("\n", start, at) + 1)
        found.extend(calls)
        bad += any(call.problem for call in calls)
    return found


def _reader(marker: str) -> Callable[[_Scan, re.Match[str]], _Found]:
    if marker.startswith("<function="):
        return _function
    if marker.startswith("<invoke"):
        return _invoke
    return {"<tool_call>": _tool_call, "[TOOL_CALLS]": _mistral}.get(marker, _python_tag)


def _tool_call(scan: _Scan, marker: re.Match[str]) -> _Found:
    """Hermes and Qwen: objects of JSON in the element. Before anything else the element is only named."""
    at = scan.space(marker.end())
    found: list[ParsedCall] = []
    while scan.text.startswith(("{", "["), at):
        read = read_json_at(scan.text, at)
        if read.problem:
            closing = scan.find("</tool_call>", at)
            value, is_literal = python_literal(scan.text[at:closing]) if closing >= 0 else (None, False)
            if not is_literal:
                return [*found, broken(read.problem)], max(read.end, marker.end())
            end = closing
        else:
            value, end = read.value, read.end
        calls = calls_of_json(value, lenient=True)
        found.extend([broken("the JSON names no tool")] if calls is None else calls)
        at = scan.space(end)
        if scan.text.startswith("</tool_call>", at):
            return found, at + len("</tool_call>")
    if found:
        return [broken("<tool_call> is never closed")], at
    return [], marker.end()


def _function(scan: _Scan, marker: re.Match[str]) -> _Found:
    """Llama 3.1: an object of JSON in the element; Qwen3-Coder: an element for each argument."""
    name = marker["llama"]
    at = scan.space(marker.end())
    if not scan.text.startswith("{", at):
        return _elements(scan, at, name, _QWEN_PARAMETER, "</function>")
    read = read_json_at(scan.text, at)
    if read.problem:
        return [broken(read.problem, name)], max(read.end, marker.end())
    end = scan.space(read.end)
    if not scan.text.startswith("</function>", end):
        return [broken("<function> is never closed", name)], end
    return [ParsedCall(name, arguments_of(read.value))], end + len("</function>")


def _invoke(scan: _Scan, marker: re.Match[str]) -> _Found:
    return _elements(scan, marker.end(), marker["invoke"], _XML_PARAMETER, "</invoke>")


def _elements(scan: _Scan, at: int, name: str, opening: re.Pattern[str], closing: str) -> _Found:
    arguments: dict[str, Untyped] = {}
    problem = ""
    while parameter := opening.match(scan.text, at):
        end = scan.find("</parameter>", parameter.end())
        if end < 0:
            return [broken("<parameter> is never closed", name)], parameter.end()
        if parameter[1] in arguments:
            problem = f"the argument {parameter[1]} is given twice"
        value = scan.text[parameter.end() : end]
        arguments[parameter[1]] = Untyped(value.removeprefix("\n").removesuffix("\n"))
        at = end + len("</parameter>")
    at = scan.space(at)
    if not scan.text.startswith(closing, at):
        return [broken(f"{closing} is missing", name)], at
    return [ParsedCall(name, arguments, problem)], at + len(closing)


def _mistral(scan: _Scan, marker: re.Match[str]) -> _Found:
    """Mistral: a list of JSON after the token, or in newer models a name and an object."""
    at = scan.space(marker.end())
    name = _MISTRAL_NAME.match(scan.text, at)
    if name is None and not scan.text.startswith("[", at):
        return [], marker.end()
    read = read_json_at(scan.text, name.end() if name else at)
    if read.problem:
        return [broken(read.problem)], max(read.end, marker.end())
    calls = (
        [ParsedCall(name[1], arguments_of(read.value))] if name else calls_of_json(read.value, lenient=True)
    )
    return [broken("the JSON names no tool")] if calls is None else calls, read.end


def _python_tag(scan: _Scan, marker: re.Match[str]) -> _Found:
    """Llama 3: calls up to the end of the turn."""
    calls = _only_calls(scan.text[marker.end() :].strip(), lenient=True)
    return [broken("what follows <|python_tag|> is not a call")] if calls is None else calls, len(scan.text)


# Texts and blocks.


def _only_calls(text: str, *, lenient: bool = False) -> list[ParsedCall] | None:
    """The calls of a text that is nothing but calls; None where it is something else."""
    if text.startswith(("{", "[")) and (found := _json_sequence(text, lenient)) is not None:
        return found
    if _PYTHONIC.match(text) and text.endswith((")", "]", ";")):
        return python_calls(text)
    return None


def _json_sequence(text: str, lenient: bool) -> list[ParsedCall] | None:
    found: list[ParsedCall] = []
    at = 0
    while at < len(text):
        read = read_json_at(text, at)
        calls = None if read.problem else calls_of_json(read.value)
        # An empty list says that there are no calls, and says it once.
        if calls is None or (at and not calls) or len(found) > MAX_CALLS:
            return None
        found.extend(calls)
        separators = _SEPARATORS.match(text, read.end)
        at = separators.end() if separators else read.end
    return found


def _in_fences(blocks: list[Fence], known: set[str] | None) -> Iterator[tuple[int, ParsedCall]]:
    for fence in blocks[:MAX_CALLS]:
        if fence.label in _FENCE_LABELS:
            for call in _of_fence(fence, known):
                yield fence.start, call


def _of_fence(fence: Fence, known: set[str] | None) -> list[ParsedCall]:
    block = fence.text.strip()
    found = _only_calls(block)
    if not found:
        return []
    is_code = not block.startswith(("[", "{")) and fence.label not in ("tool_call", "tool_calls", "tool_code")
    if is_code and any(call.problem or (known is not None and call.name not in known) for call in found):
        return []
    return found


def _in_prose(text: str, blocks: list[Fence]) -> Iterator[tuple[int, ParsedCall]]:
    """Objects of JSON that are calls, and lists of calls on lines of their own, outside of fences and comments."""
    holes = sorted([*comments(text), *((fence.start, fence.end) for fence in blocks)])
    line = last = 0
    spans = (span for span in balanced(text) if _CALL_KEY.search(text, *span))
    for start, end in itertools.islice(outside(spans, holes), MAX_CALLS):
        line = max(line, text.rfind("\n", last, start) + 1)
        last = start
        if not _COMMENT.match(text, line, start):
            read = read_json(text[start:end])
            for call in (None if read.problem else calls_of_json(read.value)) or ():
                yield start, call
    lines = {match.start(): match[1] for match in _LINE.finditer(text)}
    for start, _ in itertools.islice(outside(((at, at + 1) for at in lines), holes), MAX_CALLS):
        for call in python_calls(lines[start]) or ():
            yield start, call
