"""OpenAI's Responses format: its items as messages in chat format."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from guerdon.types import Message, as_messages

_TEXTS = {"input_text": "text", "output_text": "text", "text": "text", "refusal": "refusal"}


def conversation_of(items: Iterable[Mapping[str, Any]]) -> list[Message]:
    """Items of a request's ``input`` or a response's ``output`` as messages.

    What the model said in one turn is one message: its reasoning as ``reasoning_content``, its text, its function
    calls as ``tool_calls``. A function's output is a message of the role ``tool``. Items that have no chat form,
    such as a search that the provider made, are left out. Raises ValueError that names the item that is malformed.

    >>> [dict(m) for m in conversation_of([{"role": "user", "content": "2 + 2?"}])]
    [{'role': 'user', 'content': '2 + 2?'}]
    """
    messages: list[dict[str, Any]] = []
    turn: dict[str, Any] | None = None
    """The assistant's message that is still open."""
    for i, item in enumerate(items):
        kind = item.get("type", "message" if "role" in item else None)
        if not isinstance(kind, str | None):
            raise ValueError(f"item {i}: the type must be text, not {type(kind).__name__}")
        if kind == "message" and item.get("role") == "assistant":
            turn = _fresh(turn, messages)
            turn["content"] = _text(item, i)
        elif kind == "reasoning":
            turn = _fresh(turn, messages)
            thought = _reasoning(item)
            turn["reasoning_content"] = "\n".join(filter(None, (turn.get("reasoning_content"), thought)))
        elif kind == "function_call":
            turn = _fresh(None, messages) if turn is None else turn
            turn.setdefault("tool_calls", []).append(_call(item, i))
        elif kind == "function_call_output":
            turn = None
            content = _content(item.get("output"), f"item {i}: output")
            called = _optional_text(item, "call_id", i)
            messages.append({"role": "tool", "content": content, "tool_call_id": called})
        elif kind == "message":
            turn = None
            if not isinstance(role := item.get("role"), str):
                raise ValueError(f"item {i}: a message needs a role")
            messages.append({"role": role, "content": _text(item, i)})
        elif kind is None:
            raise ValueError(f"item {i} has neither a type nor a role")
    return as_messages(messages, "item")


def _fresh(turn: dict[str, Any] | None, messages: list[dict[str, Any]]) -> dict[str, Any]:
    """The open turn as long as nothing was said in it, else a new one."""
    if turn is None or turn["content"] or "tool_calls" in turn:
        turn = {"role": "assistant", "content": ""}
        messages.append(turn)
    return turn


def _text(item: Mapping[str, Any], position: int) -> Any:
    if "content" not in item:
        raise ValueError(f"item {position}: a message needs a content")
    return _content(item["content"], f"item {position}: content")


def _content(content: Any, what: str) -> Any:
    """Text as it is or of its parts; a list where a part is not text, such as an image."""
    if content is None or isinstance(content, str):
        return content or ""
    if not isinstance(content, list) or not all(isinstance(part, Mapping) for part in content):
        raise ValueError(f"{what} must be text or a list of parts, not {type(content).__name__}")
    texts: list[str] = []
    for part in content:
        kind = part.get("type", "text")
        if not isinstance(kind, str):
            raise ValueError(f"{what} has a part whose type is no text")
        if kind in _TEXTS and not isinstance(part.get(_TEXTS[kind]), str):
            raise ValueError(f"{what} has a part of the type {kind} without its text")
        if kind in _TEXTS:
            texts.append(part[_TEXTS[kind]])
    return "".join(texts) if len(texts) == len(content) else list(content)


def _optional_text(item: Mapping[str, Any], name: str, position: int) -> str | None:
    value = item.get(name)
    if value is not None and not isinstance(value, str):
        raise ValueError(f"item {position}: {name} must be text, not {type(value).__name__}")
    return value


def _reasoning(item: Mapping[str, Any]) -> str:
    """The reasoning itself where it is given, else its summary."""
    for name in ("content", "summary"):
        parts = item.get(name)
        listed = parts if isinstance(parts, list) else []
        found = [part.get("text") for part in listed if isinstance(part, Mapping)]
        if texts := [text for text in found if isinstance(text, str)]:
            return "\n".join(texts)
    return ""


def _call(item: Mapping[str, Any], position: int) -> dict[str, Any]:
    name = item.get("name")
    if not isinstance(name, str):
        raise ValueError(f"item {position}: a function_call needs a name")
    arguments = item.get("arguments", "")
    if not isinstance(arguments, str | dict):
        raise ValueError(f"item {position}: arguments must be text, not {type(arguments).__name__}")
    return {
        "id": _optional_text(item, "call_id", position),
        "type": "function",
        "function": {"name": name, "arguments": arguments},
    }
