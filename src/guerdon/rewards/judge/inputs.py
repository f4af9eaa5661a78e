"""What a judge is shown of a sample: the conversation, the response, what it is compared with."""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Sequence
from typing import Any

from guerdon.errors import InputError
from guerdon.rewards.common.parameters import shown
from guerdon.types import Message

_ANNOUNCING_WORDS, _ANNOUNCING_CHARACTERS = 8, 200
_DECORATION = "*_#>`~-= \t"


def response_of(messages: Sequence[Message], *, reasoning: bool, most: int) -> str:
    """The text and the tool calls of the last message; what stands before ``</think>`` only with ``reasoning``.

    An unclosed ``<think>`` hides what follows it. Of a text of over ``most`` characters its middle is left out.
    """
    if not messages:
        raise InputError("there are no messages, so there is nothing to judge")
    last = messages[-1]
    text = last.text if reasoning else without_reasoning(last.text)
    return shortened("\n".join(part for part in (text.strip(), _calls(last)) if part), most)


def without_reasoning(text: str) -> str:
    """A response without what the model wrote for itself.

    >>> without_reasoning("<think>2 and 2</think>4"), without_reasoning("5 <think>or rather")
    ('4', '5 ')
    """
    return text.rpartition("</think>")[2].partition("<think>")[0]


def is_empty(text: str) -> bool:
    """Whether a response says nothing, so that nobody need be asked.

    It has only white space and punctuation, or it is a single line of a few words that ends in a colon and so
    announces what does not come.

    >>> [is_empty(text) for text in (" ", ":", "**Thought process:**", "4", "Yes: 4", "∞")]
    [True, True, True, False, False, False]
    """
    bare = text.strip()
    if all(unicodedata.category(c)[0] in "PZC" for c in bare):
        return True
    line = bare.strip(_DECORATION) if len(bare) < _ANNOUNCING_CHARACTERS else ""
    announces = line.endswith((":", "：")) and "\n" not in line
    return announces and len(line.split()) <= _ANNOUNCING_WORDS


def shortened(text: str, most: int) -> str:
    """The text, or its two ends where it is longer than ``most`` characters."""
    if len(text) <= most:
        return text
    head = (most + 1) // 2
    tail = most - head
    left_out = f"\n[{len(text) - most} characters are left out here]\n"
    return text[:head] + left_out + (text[-tail:] if tail else "")


def request_of(messages: Sequence[Message], most: int) -> str:
    """The conversation before the response; with the roles where it is more than a user's message."""
    before = messages[:-1]
    if len(before) == 1 and before[0].role == "user":
        return shortened(before[0].text, most)
    parts = ["\n".join(part for part in (f"{m.role}:", m.text.strip(), _calls(m)) if part) for m in before]
    return shortened("\n\n".join(parts), most)


def _calls(message: Message) -> str:
    calls = [call.model_dump(exclude_none=True) for call in message.tool_calls or ()]
    return f"tool calls: {json.dumps(calls, ensure_ascii=False, default=str)}" if calls else ""


def reference_of(value: Any) -> str:
    """The reference answer as text; several acceptable ones on a line each. Empty where there is none."""
    if value is None:
        return ""
    if isinstance(value, str):
        return value.strip()
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, list | tuple) and value and all(isinstance(item, str) for item in value):
        return (
            "Any one of these:\n" + "\n".join(f"- {item}" for item in value)
            if len(value) > 1
            else str(value[0])
        )
    try:
        return json.dumps(value, ensure_ascii=False)
    except (TypeError, ValueError, RecursionError):
        raise InputError(f"the ground truth must be text or JSON, not {shown(value)}") from None


def text_of_rubric(value: Any) -> str:
    """The rubric as text. Raises InputError for a list of items, which is a checklist."""
    if not isinstance(value, str):
        raise InputError(f'the rubric must be text, not {shown(value)}; items are judged by kind="checklist"')
    if re.search(r"\w", value) is None:
        raise InputError("the rubric is empty")
    return value.strip()


def baseline_of(value: Any, most: int) -> str:
    """The response to compare with. Raises InputError where there is none."""
    if isinstance(value, list | tuple) and value and isinstance(value[-1], dict):
        value = value[-1].get("content")
    if not isinstance(value, str) or not value.strip():
        raise InputError(
            f"a pairwise judge compares with reference_response= or baseline=, a text; got {shown(value)}"
        )
    return shortened(without_reasoning(value).strip(), most)
