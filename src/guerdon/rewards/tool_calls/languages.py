"""Arguments in the notation of Java and JavaScript, as BFCL has them in text: read by their declared type."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from guerdon.rewards.tool_calls.python import python_literal

LANGUAGES = ("python", "java", "javascript")
_MAX_TEXT = 20_000
_NUMBERS: Mapping[str, Mapping[str, str]] = {
    "java": {
        **dict.fromkeys(("byte", "short", "integer"), r"(-?\d+)"),
        "long": r"(-?\d+)[lL]",
        "float": r"(-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?)[fF]",
        "double": r"(-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?)",
    },
    "javascript": {"integer": r"(-?\d+)", "float": r"(-?\d+(?:\.\d+)?)", "Bigint": r"(-?\d+)n"},
}
_REAL = frozenset({"float", "double"})
_LISTS = frozenset({"Array", "ArrayList", "array"})
_MAPPINGS = frozenset({"HashMap", "dict"})
_TRUTH = {"true": True, "false": False}

# What a collection is written around its items. Each is tried on the whole text.
_JAVA_LISTS = (
    re.compile(r"new\s+[\w.]+(?:<[^<>{}()]*>)?\s*\[\s*\]\s*\{(?P<items>.*)\}", re.DOTALL),
    re.compile(
        r"(?:new\s+ArrayList\s*<[^{}()]*>\s*\(\s*)?(?:Arrays\.asList|List\.of)\s*\((?P<items>.*?)\)\s*\)?",
        re.DOTALL,
    ),
    re.compile(r"new\s+ArrayList\s*<[^{}()]*>\s*\(\s*\)\s*(?:\{\s*\{(?P<calls>.*)\}\s*\})?", re.DOTALL),
)
_JAVA_MAPPING = re.compile(
    r"new\s+HashMap\s*<[^{}()]*>\s*\(\s*+\)\s*+(?:\{\s*+\{?(?P<calls>.*?)(?:\}\s*+)?\})?", re.DOTALL
)
_JAVASCRIPT_LIST = re.compile(r"new\s+Array\s*\((?P<items>.*)\)", re.DOTALL)
_TOKEN = re.compile(
    r"""(?P<string>"(?:[^"\\]|\\.)*+"|'(?:[^'\\]|\\.)*+')|(?P<number>(?<![\w.])\d[\d.]*(?:[eE][+-]?\d+)?)[lLfFdDn]?\b"""
    r"""|(?P<name>[^\W\d][\w$.]*)""",
    re.DOTALL,
)


def value_in(language: str, text: str, schema: Any) -> Any:
    """The value of an argument's text under its declared type; the text where it is none of that type."""
    kind = schema.get("type") if isinstance(schema, Mapping) else None
    if not isinstance(kind, str) or kind in ("any", "char") or (kind == "String" and language == "java"):
        return text
    text = text.strip()
    if kind in _NUMBERS[language]:
        number = re.fullmatch(_NUMBERS[language][kind], text)
        return (float if kind in _REAL else int)(number[1]) if number and len(text) < 1_000 else text
    if kind in ("boolean", "Boolean"):
        return _TRUTH.get(text, text)
    if kind in _LISTS or kind in _MAPPINGS:
        return _collection(language, text, kind in _LISTS)
    if (
        language == "javascript"
        and kind == "String"
        and len(text) > 1
        and text[0] == text[-1]
        and text[0] in "\"'"
    ):
        return text[1:-1]
    return text


def _collection(language: str, text: str, is_list: bool) -> Any:
    if len(text) > _MAX_TEXT:
        return text
    source = _java(text, is_list) if language == "java" else _javascript(text)
    value, is_literal = python_literal(_TOKEN.sub(_token, source)) if source else (None, False)
    if language == "java" and not is_list and isinstance(value, list) and _are_pairs(value):
        value = dict(zip(value[::2], value[1::2], strict=True))
    return value if is_literal and isinstance(value, list if is_list else dict) else text


def _are_pairs(value: Any) -> bool:
    return (
        isinstance(value, list) and len(value) % 2 == 0 and all(isinstance(name, str) for name in value[::2])
    )


def _java(text: str, is_list: bool) -> str:
    """The items of a list, or names and values of a mapping in turn, as a list of Python; empty for none."""
    for form in _JAVA_LISTS if is_list else (_JAVA_MAPPING,):
        if found := form.fullmatch(text):
            groups = found.groupdict()
            return f"[{groups.get('items') or _arguments(groups.get('calls') or '')}]"
    return ""


def _arguments(calls: str) -> str:
    """The arguments of ``add(1); add(2);`` one after another."""
    joined = re.sub(r"\)\s*+;?+\s*+(?:add|put)\s*+\(", ", ", calls.strip().rstrip("; \t\n"))
    return re.sub(r"^(?:add|put)\s*\(|\)$", "", joined)


def _javascript(text: str) -> str:
    found = _JAVASCRIPT_LIST.fullmatch(text)
    return f"[{found['items']}]" if found else text


def _token(token: re.Match[str]) -> str:
    """Numbers without the letter of their type, and names, of variables or of members, as texts."""
    if token["number"]:
        return token["number"]
    name = token["name"]
    return token[0] if not name or name in ("true", "false", "null") else f'"{name}"'
