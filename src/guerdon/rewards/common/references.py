"""The accepted answers of a question, in whatever form the data sets of the field hold them."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from typing import Any

from guerdon.errors import InputError
from guerdon.rewards.common.parameters import shown

_KEYS = ("value", "text", "answer", "answers", "aliases", "name")
MAX_GOLD = 20_000
"""Characters that an accepted answer may have."""


def accepted(*columns: Any) -> tuple[str, ...]:
    """The accepted answers out of a ground truth and columns beside it; an absent column is None.

    Each is a text, a number, a list of them, or an object as SQuAD (``{"text": […]}``) and TriviaQA
    (``{"value": …, "aliases": […]}``) have it; lists and objects may come as JSON in a text. Raises
    InputError where there is no answer at all, or where something cannot be one.

    >>> accepted("Paris"), accepted({"text": ["Paris", "Paris, France"], "answer_start": [3, 3]})
    (('Paris',), ('Paris', 'Paris, France'))
    >>> accepted(None, '["4", "four"]')
    ('4', 'four')
    """
    found = dict.fromkeys(text for column in columns for text in _texts(column))
    if not found:
        raise InputError("there is no accepted answer: give a ground truth that is not empty")
    return tuple(found)


def _texts(value: Any) -> Iterable[str]:
    if value is None:
        return
    if isinstance(value, str):
        decoded = _decoded(value)
        if not isinstance(decoded, str):
            yield from _texts(decoded)
        elif text := decoded.strip():
            if len(text) > MAX_GOLD:
                raise InputError(f"an accepted answer has {len(text):,} characters, over {MAX_GOLD:,}")
            yield text
    elif isinstance(value, bool):
        yield str(value)
    elif isinstance(value, int | float):
        if not math.isfinite(value):
            raise InputError(f"an accepted answer must be finite, not {value}")
        yield str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)
    elif isinstance(value, Mapping):
        if not any(key in value for key in _KEYS):
            raise InputError(f"an accepted answer that is an object needs one of {', '.join(_KEYS)}")
        for key in _KEYS:
            yield from _texts(value.get(key))
    elif isinstance(value, Iterable) and not isinstance(value, bytes):
        for item in value:
            if item is None:
                raise InputError("a list of accepted answers holds None; leave it out")
            yield from _texts(item)
    else:
        raise InputError(f"an accepted answer must be text or a number, not {shown(value)}")


def _decoded(text: str) -> Any:
    """The list or object of texts that a text holds as JSON; else the text."""
    if text.lstrip()[:1] not in ("[", "{"):
        return text
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        # "[Ar] 3d10 4s1" is a ground truth as it stands.
        return text
    if isinstance(value, Mapping) and not any(key in value for key in _KEYS):
        return text
    return value
