"""A sample of v1 without messages: ``{"prompt": …, "response": …, "ground_truth": …}``, the rest as metadata."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping
from functools import lru_cache
from itertools import islice
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, StrictInt, StrictStr

from guerdon.data.columns import Columns, RewardNeeds
from guerdon.data.paths import ABSENT, value_at
from guerdon.errors import InputError
from guerdon.serve.formats.base import RefusedError, RewardInfo, as_model, as_sample, refused
from guerdon.types import Message, Sample

ROLES = ("prompt", "response", "ground_truth", "answer", "metadata", "id")
_NAMES = (*ROLES, "columns", "messages")
_CHAT_NAMES = ("messages", "original_messages", "ground_truth", "answer", "metadata", "id")
_COMPARED, _LONGEST = 100, 40
"""So many names of a row are compared with ours, and of those no longer ones."""
_SENTENCE = 900
_SIMILAR = 0.85
"""From this likeness on, the name of a field is taken for a misspelt one."""


class PlainScoreRequest(BaseModel):
    """One sample as a prompt and a response. Every further field goes into its metadata."""

    model_config = ConfigDict(extra="allow", protected_namespaces=())

    prompt: StrictStr | list[Message] = Field("", description="The prompt as text, or as messages.")
    response: StrictStr | list[Message] = Field(
        description="The completion as text, or as messages that end with the assistant's."
    )
    ground_truth: Any = None
    answer: Any = None
    metadata: dict[str, Any] | None = Field(None, description="Further columns; a field of its own wins.")
    id: StrictStr | StrictInt | None = Field(None, description="Comes back in the result.")
    columns: Any = Field(
        None, description='Which fields hold what, where they have other names: {"prompt": "question"}.'
    )


def plain_sample(row: Mapping[str, Any], reward: RewardInfo, *where: str | int) -> tuple[Sample, str | None]:
    """The sample of a row, at ``where`` in the body, and which columns were found where its fields have other names.

    Raises RefusedError that names the field at fault.

    >>> row = {"question": "2 + 2?", "completion": "4", "level": 1}
    >>> sample, found = plain_sample(row, RewardInfo("exact", "1"))
    >>> sample.prompt, sample.response, sample.metadata["level"], found
    ('2 + 2?', '4', 1, 'prompt=question, response=completion')
    """
    reads = reward.reads or frozenset()
    fields = _mapped(row, reads, *where)
    _refuse_misspelt(fields, reads, *where)
    if "response" not in fields:
        return _found(fields, reward, *where)
    return _named(fields, *where), None


def _found(fields: Mapping[str, Any], reward: RewardInfo, *where: str | int) -> tuple[Sample, str | None]:
    """The sample of a row whose columns are found by their names."""
    try:
        needs = RewardNeeds(reads=reward.reads, any_ending=reward.any_ending)
        layout = Columns.of(None).layout([fields], needs=needs)
        rows = layout.rows(fields)
        if len(rows) != 1:
            raise InputError(f"the row holds {len(rows)} responses; send one a sample")
        line = layout.line
        return layout.sample(rows[0]), None if line is None else line.removeprefix("columns: ")
    except InputError as error:
        raise refused(str(error)[:_SENTENCE], *where) from None  # it repeats names, of any length


def _named(fields: Mapping[str, Any], *where: str | int) -> Sample:
    """The sample of a row with a response and, of the other roles, what it has."""
    request = as_model(PlainScoreRequest, fields, *where)
    before: list[Any] = (
        [Message(role="user", content=request.prompt)] if isinstance(request.prompt, str) else request.prompt
    )
    if isinstance(request.response, str):
        after: list[Any] = [Message(role="assistant", content=request.response)]
    elif not request.response:
        raise refused("response is empty: it must have the completion", *where, "response")
    else:
        after = request.response
    more = dict(request.__pydantic_extra__ or {})
    if request.columns is not None:
        more["columns"] = request.columns
    sample = {name: getattr(request, name) for name in ("ground_truth", "answer", "id")}
    metadata = {**(request.metadata or {}), **more}
    context = [message for message in before if message.content != "" or message.role != "user"]
    return as_sample(
        {
            **sample,
            "messages": [*context, *after],
            "original_messages": [*context, *after[:-1]],
            "metadata": metadata,
        },
        *where,
    )


def _mapped(row: Mapping[str, Any], reads: frozenset[str], *where: str | int) -> dict[str, Any]:
    """The row with its fields under the names that ``columns`` gives them."""
    if "columns" in reads:  # its own column
        return dict(row)
    columns = row.get("columns")
    fields = {name: value for name, value in row.items() if name != "columns"}
    if columns is None:
        return fields
    if not isinstance(columns, Mapping):
        kind = type(columns).__name__
        raise refused(
            f'columns must be an object such as {{"prompt": "question"}}, not {kind}', *where, "columns"
        )
    roles = (*ROLES, *sorted(reads - set(ROLES)))
    for role, name in columns.items():
        place = (*where, "columns", role[:_LONGEST])
        if role not in roles:
            text = f"there is no {role[:_LONGEST]!r} to map a column to{_hint(role, roles)}"
            raise refused(text, *place)
        if not isinstance(name, str) or value_at(fields, name) is ABSENT:
            raise refused(f"there is no field {name!r:.80}{_hint(str(name), fields)}", *place)
    taken = {role: value_at(fields, name) for role, name in columns.items()}
    for name in columns.values():
        fields.pop(name, None)
    if twice := sorted(set(fields) & set(taken)):
        text = f"columns maps {columns[twice[0]]!r:.80} to {twice[0]}, which is there too"
        raise refused(text, *where, "columns")
    return {**fields, **taken}


def _refuse_misspelt(fields: Mapping[str, Any], reads: frozenset[str], *where: str | int) -> None:
    """A field whose name is nearly one of ours, and which the reward does not read, is not silently metadata."""
    absent = [name for name in _NAMES if name not in fields]
    for name in islice(fields, _COMPARED):
        if name in _NAMES or name in reads or len(name) > _LONGEST:
            continue
        if (close := _near(name, tuple(absent))) is not None:
            text = f"unknown field {name!r}; did you mean {close!r}? Else give it under metadata"
            raise refused(text, *where, name)


def with_near_names(error: RefusedError) -> RefusedError:
    """The refusal of a sample in chat form, with the name that each unknown field is nearly called."""
    for problem in error.detail if isinstance(error.detail, list) else ():
        name = problem["loc"][-1]
        if problem["type"] != "extra_forbidden" or not isinstance(name, str) or len(name) > _LONGEST:
            continue
        if (close := _near(name, _CHAT_NAMES)) is not None:
            problem["msg"] += f"; did you mean {close!r}?"
    return error


@lru_cache(1024)
def _near(name: str, names: tuple[str, ...]) -> str | None:
    close = difflib.get_close_matches(name, names, n=1, cutoff=_SIMILAR)
    return close[0] if close else None


def _hint(name: str, names: Iterable[str]) -> str:
    listed = [other[:_LONGEST] for other in islice(names, _COMPARED)]
    if close := difflib.get_close_matches(name[:_LONGEST], listed, n=1):
        return f"; did you mean {close[0]!r}?"
    return f"; there are: {', '.join(listed[:12]) or 'none'}"
