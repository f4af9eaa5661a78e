"""Samples of trainers that hand over a prompt, a response and one label: OpenRLHF and slime."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from guerdon.types import Message, Sample


def after_prompt(query: str, prompt: str) -> str:
    """The response in a decoded query that starts with its prompt; all of it where the prompt is not found.

    The query may begin with a token that the prompt does not have, so the prompt is looked for. The response keeps
    its special tokens, such as the last one: a reward may ask for them.

    >>> after_prompt("<s>2 + 2? 4</s>", "2 + 2?")
    ' 4</s>'
    """
    start = query.find(prompt)
    return query if start < 0 else query[start + len(prompt) :]


def labelled_sample(
    prompt: str | Sequence[Any] | None,
    response: str,
    label: Any,
    columns: Mapping[str, Any] | None = None,
) -> Sample:
    """The sample of a response and its label, which is the ground truth.

    Where the label is an object, or the JSON text of one, its keys are columns, since such a trainer has no other
    way to hand columns over; its ``ground_truth`` is the ground truth, or else the label as it stands. The label
    itself is the column ``label``. ``columns`` are further ones; those of the label win.

    >>> sample = labelled_sample("2 + 2?", "4", '{"ground_truth": "4", "level": 3}')
    >>> sample.ground_truth, sample.metadata["level"]
    ('4', 3)
    """
    packed = _unpacked(label)
    context: list[Any] = []
    if isinstance(prompt, str):
        context = [Message(role="user", content=prompt)] if prompt else []
    elif prompt is not None:
        context = list(prompt)
    row = {**(columns or {}), **packed}
    if label is not None:
        row["label"] = label
    aside = {name: row.pop(name) for name in ("id", "metadata") if not _fits(name, row.get(name))}
    row["ground_truth"] = packed.get("ground_truth", label)
    row["answer"] = packed.get("answer")
    row.pop("original_messages", None)
    sample = Sample.from_row({**row, "messages": [*context, Message(role="assistant", content=response)]})
    sample.metadata.update(aside)
    return sample


def label_of(columns: Mapping[str, Any]) -> Any:
    """The label that hands columns over: the ground truth where there is nothing else.

    >>> label_of({"ground_truth": "4"}), label_of({"ground_truth": "4", "level": 3}), label_of({})
    ('4', {'ground_truth': '4', 'level': 3}, None)
    """
    return columns.get("ground_truth") if not set(columns) - {"ground_truth"} else dict(columns)


def _fits(name: str, value: Any) -> bool:
    """Whether a column named like a key of a sample holds what that key takes."""
    if name == "metadata":
        return value is None or isinstance(value, Mapping)
    return value is None or (isinstance(value, str | int) and not isinstance(value, bool))


def _unpacked(label: Any) -> dict[str, Any]:
    if isinstance(label, Mapping):
        return dict(label)
    if isinstance(label, str) and label.lstrip().startswith("{"):
        try:
            found = json.loads(label)
        except (ValueError, RecursionError):
            return {}
        return found if isinstance(found, dict) else {}
    return {}
