"""What a person reads of a sample: its prompt and its response as text, and what was expected."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from guerdon.types import Message, Sample


class SampleText(NamedTuple):
    """The text of a sample, as the rows of a scores file have it; None for what is absent or left out."""

    prompt: str | None = None
    response: str | None = None
    ground_truth: Any = None
    length: int | None = None
    """Characters of the response, known where the text itself is left out, too."""

    def without_text(self) -> SampleText:
        """Only the length."""
        return SampleText(length=self.length)


NO_TEXT = SampleText()


def length_of(row: Any) -> SampleText:
    """Only the length of the response of a row or a Sample."""
    return text_of(row).without_text()


def text_of(row: Any) -> SampleText:
    """The text of a row in chat form or of a Sample; nothing where the row is malformed.

    One message before the response, whatever system message stands above it, is the prompt as it is. Of
    several each begins with its role.

    >>> text_of({"messages": [{"role": "user", "content": "2 + 2?"},
    ...                       {"role": "assistant", "content": "4"}], "ground_truth": "4"})
    SampleText(prompt='2 + 2?', response='4', ground_truth='4', length=1)
    """
    try:
        if isinstance(row, Mapping) and not row.get("messages"):
            row = Sample.from_row(row)
        if isinstance(row, Sample):
            messages, context, truth = row.messages, row.original_messages, (row.ground_truth, row.answer)
        else:
            messages = row["messages"]
            context = row.get("original_messages") or messages[:-1]
            truth = (row.get("ground_truth"), row.get("answer"))
        response = _content(messages[-1])
        expected = truth[0] if truth[0] is not None else truth[1]
        return SampleText(_prompt(context), response, _plain(expected), len(response))
    except Exception:  # whatever the row's objects raise: what is wrong with a row is said by its failure
        return NO_TEXT


def _prompt(context: Sequence[Any]) -> str | None:
    asked = context if len(context) == 1 else [message for message in context if message["role"] != "system"]
    if len(asked) == 1:
        return _content(asked[0])
    return "\n\n".join(f"{message['role']}: {_content(message)}" for message in context) or None


def _content(message: Message | Mapping[str, Any]) -> str:
    """The text of a message; each tool call is a line such as ``calls search({"query": "Paris"})``."""
    content = message.get("content")
    text = str(content) if isinstance(content, str) else _joined(content or ())
    calls = message.get("tool_calls")
    return "\n".join([*([text] if text else ()), *map(_call, calls)]) if calls else text


def _joined(parts: Iterable[Mapping[str, Any]]) -> str:
    return "".join(str(text) for part in parts if isinstance(text := part.get("text"), str))


def _call(call: Mapping[str, Any]) -> str:
    function = call["function"]
    arguments = function.get("arguments") or ""
    return f"calls {function['name']}({arguments if isinstance(arguments, str) else json.dumps(_plain(arguments))})"


def _plain(value: Any) -> Any:
    """A value as JSON has it; text for what JSON lacks."""
    if value is None or type(value) in (str, int, float, bool):
        return value
    if isinstance(value, str):
        return str(value)
    try:
        return json.loads(json.dumps(value, default=str))
    except (TypeError, ValueError, RecursionError):  # keys that are no text, or a value that holds itself
        return str(value)
