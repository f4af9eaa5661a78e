"""What a trainer hands over, as samples: prompts and completions of either form, columns as Python values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from guerdon.errors import InputError
from guerdon.types import Message, Sample


def plain(value: Any) -> Any:
    """numpy's and torch's scalars and arrays as Python's own values, also inside lists and mappings.

    >>> import numpy
    >>> plain({"answer": numpy.str_("4"), "levels": numpy.array([1, 2])})
    {'answer': '4', 'levels': [1, 2]}
    """
    if value is None or type(value) in (str, int, float, bool):
        return value
    if hasattr(value, "tolist"):
        value = value.tolist()
        return plain(value) if isinstance(value, list) else value
    if isinstance(value, list):
        return [plain(item) for item in value]
    if isinstance(value, tuple):
        return tuple(plain(item) for item in value)
    if type(value) is dict:
        return {
            key if type(key) is str else plain(key): item if type(item) is str else plain(item)
            for key, item in value.items()
        }
    return value


def messages_of(prompt: Any, completion: Any) -> list[Any]:
    """The conversation of a prompt and a completion, each a text or a list of messages.

    >>> messages_of("2 + 2?", "4")[-1].to_dict()
    {'role': 'assistant', 'content': '4'}
    """
    context: list[Any] = []
    if isinstance(prompt, str):
        context = [Message(role="user", content=prompt)] if prompt else []
    elif prompt is not None:
        context = list(prompt)
    if isinstance(completion, str):
        return [*context, Message(role="assistant", content=completion)]
    if isinstance(completion, Mapping):
        return [*context, completion]
    if not isinstance(completion, list | tuple):
        raise InputError(f"a completion must be text or a list of messages, not {type(completion).__name__}")
    if not completion:  # the prompt's last message must not be taken for what the model said
        return [*context, Message(role="assistant", content="")]
    return [*context, *completion]


def sample_of(prompt: Any, completion: Any, columns: Mapping[str, Any] | None = None) -> Sample:
    """The sample of one completion; columns with a sample's own names are taken for what they are there.

    A column ``messages`` is the data set's and not the conversation that was sampled, so it is left out;
    ``metadata`` that is not a mapping and an ``id`` that is neither text nor a whole number are kept as columns.
    """
    row: dict[str, Any] = {}
    aside: dict[str, Any] = {}
    for name, given in (columns or {}).items():
        value = plain(given)
        if name in ("messages", "original_messages"):
            continue
        if not _fits(name, value):
            aside[name] = value
        elif name not in ("prompt", "completion", "response"):
            row[name] = value
    row["messages"] = messages_of(plain(prompt), plain(completion))
    sample = Sample.from_row(row)
    sample.metadata.update((name, value) for name, value in aside.items() if value is not None)
    return sample


def _fits(name: str, value: Any) -> bool:
    """Whether a column named like a key of a sample holds what that key takes."""
    if name == "metadata":
        return value is None or isinstance(value, Mapping)
    return name != "id" or (isinstance(value, str | int) and not isinstance(value, bool))


def samples_of(
    prompts: Sequence[Any] | None, completions: Sequence[Any], columns: Mapping[str, Any]
) -> list[Sample]:
    """The samples of a batch. A column that is a list as long as the batch has a value for each sample; any
    other value holds for all of them.

    Raises InputError where prompts and completions differ in number.
    """
    completions = plain(completions)
    count = len(completions)
    if prompts is not None and len(prompts) != count:
        raise InputError(f"{len(prompts)} prompts for {count} completions")
    given = [None] * count if prompts is None else plain(prompts)
    series: dict[str, Sequence[Any]] = {}
    shared: dict[str, Any] = {}
    for name, value in columns.items():
        values = plain(value)
        if isinstance(values, list | tuple) and len(values) == count:
            series[name] = values
        else:
            shared[name] = values
    return [
        sample_of(given[i], completions[i], {**shared, **{n: v[i] for n, v in series.items()}})
        for i in range(count)
    ]
