"""What a trainer hands over, as samples: prompts and completions of either form, columns as Python values."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence, Set, Sized, ValuesView
from typing import Any, ParamSpec

from pydantic import ValidationError

from guerdon.checks import reason_of, text_of
from guerdon.errors import InputError
from guerdon.trainers.adapter import MalformedSample
from guerdon.types import Message, Sample

P = ParamSpec("P")


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
    elif isinstance(prompt, list | tuple):
        context = list(prompt)
    elif prompt is not None:
        raise InputError(f"a prompt must be text or a list of messages, not {type(prompt).__name__}")
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


def read_sample(read: Callable[P, Sample], *args: P.args, **kwargs: P.kwargs) -> Sample:
    """The sample that ``read`` makes of what a trainer handed over; a MalformedSample where it cannot."""
    try:
        return read(*args, **kwargs)
    except InputError as error:
        return MalformedSample(error)
    except ValidationError as error:
        return MalformedSample(InputError(reason_of(error)))
    except (LookupError, TypeError, AttributeError, ValueError) as error:  # a message without a role, say
        return MalformedSample(InputError(f"the sample cannot be read: {text_of(error)}"))


def samples_of(
    prompts: Sequence[Any] | None, completions: Sequence[Any], columns: Mapping[str, Any]
) -> list[Sample]:
    """The samples of a batch; one that cannot be read is a MalformedSample. A column that is a list has a value for
    each sample; what is no list holds for all of them.

    Raises InputError where a list is not as long as the batch.
    """
    completions = listed("completions", completions)
    count = len(completions)
    given = [None] * count if prompts is None else listed("prompts", prompts)
    if len(given) != count:
        raise InputError(f"{len(given)} prompts for {count} completions")
    series: dict[str, Sequence[Any]] = {}
    shared: dict[str, Any] = {}
    for name, value in columns.items():
        values = values_of(name, value)
        if not isinstance(values, list | tuple):
            shared[name] = values
        elif len(values) == count:
            series[name] = values
        else:
            raise InputError(wrong_column(name, len(values), count))
    return [
        read_sample(sample_of, given[i], completions[i], {**shared, **{n: v[i] for n, v in series.items()}})
        for i in range(count)
    ]


def wrong_column(name: str, values: int, completions: int) -> str:
    """The sentence for a column whose length is not that of the batch."""
    return f"the column {name!r} has {values} values for {completions} completions; it needs one for each"


def listed(name: str, value: Any) -> Sequence[Any]:
    """The entries of a batch. Raises InputError for what is no list: text has a length, too."""
    values = values_of(name, value)
    if not isinstance(values, list | tuple):
        raise InputError(f"{name} must be a list with one entry for each sample, not {type(value).__name__}")
    return values


def values_of(name: str, value: Any) -> Any:
    """A column's values as Python's own: a list for every kind of sequence, such as a column of a data set.

    Raises InputError for what has values that cannot be told by their positions: an iterator, a set, a table.

    >>> from collections import deque
    >>> values_of("level", deque([1, 2])), values_of("task", "sums")
    ([1, 2], 'sums')
    """
    values = plain(value)
    if isinstance(values, list | tuple | str | bytes | bytearray | Mapping) or values is None:
        return values
    for method in ("to_pylist", "to_list"):  # Arrow and polars
        if isinstance(values, Sized) and hasattr(values, method):
            return plain(getattr(values, method)())
    if isinstance(values, Iterator | Set) or (isinstance(values, Sized) and hasattr(values, "keys")):
        kind = type(value).__name__
        raise InputError(f"{name} must be a list with one entry for each sample, not {kind}")
    if isinstance(values, Sequence | ValuesView) or (_is_series(values)):
        return [plain(item) for item in values]
    return values


def _is_series(value: Any) -> bool:
    return all(hasattr(type(value), name) for name in ("__len__", "__getitem__", "__iter__"))
