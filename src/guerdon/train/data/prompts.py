"""Prompts: which of a row's columns ask the model something, and what else goes along for the reward."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from guerdon.data.columns import Columns
from guerdon.data.rows import quoted
from guerdon.errors import InputError
from guerdon.trainers.columns import sample_of
from guerdon.types import Sample, as_messages

PROMPTS = ("prompt", "prompts", "messages", "question", "problem")
"""Columns that are taken for the prompt, the first that there is."""

_CONSUMED = ("prompt", "prompts", "messages", "id")


@dataclass(frozen=True, kw_only=True)
class PromptColumns(Columns):
    """Which columns make a problem: a prompt, and no response yet.

    The row that it gives has ``prompt``, ``columns`` and, where there is one, ``id``.
    """

    system_prompt: str | None = None
    _named: Mapping[str, None] = field(init=False, repr=False, compare=False)
    _made: Mapping[str, None] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if self.answer is not None and "ground_truth" in self.rename:
            raise InputError(
                f"training.answer_column={self.answer} and training.mapping both set the ground truth; "
                "give one of them"
            )

    def lacking(self, names: Any) -> str | None:
        """What is wrong with a row or a table that has the columns ``names``; None if nothing is."""
        there = set(names)
        listing = f"the columns are: {', '.join(sorted(map(str, there))[:12])}"
        for key, name in (("prompt_column", self.prompt), ("answer_column", self.answer)):
            if name is not None and name not in there:
                return f"no column {quoted(name)} (training.{key}); {listing}"
        for name, column in self.rename.items():
            if column not in there:
                return f"no column {quoted(column)} (training.mapping: {name}); {listing}"
        if self.prompt is None and not there & set(PROMPTS):
            return f"no column for the prompt; {listing}; name it: training.prompt_column=…"
        return None

    def row(self, row: Mapping[str, Any]) -> Mapping[str, Any]:
        """The problem of a row as a mapping. Raises InputError that says what is wrong with it."""
        if (problem := self.lacking(row)) is not None:
            raise InputError(problem)
        name = self.prompt or next(name for name in PROMPTS if name in row)
        made: dict[str, Any] = {"prompt": _with_system(_prompt(row[name], name), self.system_prompt)}
        columns = {str(key): value for key, value in row.items() if key not in _CONSUMED}
        if isinstance(nested := columns.get("metadata"), Mapping):
            del columns["metadata"]
            columns = {**nested, **columns}
        for new, column in self.rename.items():
            columns[new] = row[column]
        if self.answer is not None:
            columns["ground_truth"] = row[self.answer]
        if columns.get("ground_truth") is None and (gold := _gold_of_verl(row)) is not None:
            columns["ground_truth"] = gold
        identity = row.get("id")
        if isinstance(identity, str | int) and not isinstance(identity, bool):
            made["id"] = identity
        return {**made, "columns": columns}

    def checked(self, row: Mapping[str, Any]) -> Mapping[str, Any]:
        """The same: there is no conversation yet."""
        return self.row(row)

    def sample(self, row: Mapping[str, Any]) -> Sample:
        """The sample of a row, its completion being empty."""
        made = self.row(row)
        return sample_of(made["prompt"], "", made["columns"])


def _prompt(value: Any, column: str) -> Any:
    if isinstance(value, str):
        if column == "messages" and value.lstrip().startswith("["):
            try:
                return _prompt(json.loads(value), column)
            except ValueError as error:
                raise InputError(f"column {quoted(column)}: not JSON: {error}") from None
        if not value.strip():
            raise InputError(f"column {quoted(column)} is empty: every row needs a prompt")
        return value
    if value is None:
        raise InputError(f"column {quoted(column)} is null: every row needs a prompt")
    messages = as_messages([value] if isinstance(value, Mapping) else value, quoted(column))
    if column == "messages":  # a conversation that has been answered asks what the answer was given to
        while messages and messages[-1].role == "assistant":
            messages = messages[:-1]
    if not messages:
        raise InputError(f"column {quoted(column)} holds no message to answer")
    return [message.to_dict() for message in messages]


def _with_system(prompt: Any, system: str | None) -> Any:
    if system is None:
        return prompt
    messages = [{"role": "user", "content": prompt}] if isinstance(prompt, str) else prompt
    if messages[0].get("role") == "system":
        return messages
    return [{"role": "system", "content": system}, *messages]


def _gold_of_verl(row: Mapping[str, Any]) -> Any:
    held = row.get("reward_model")
    return held.get("ground_truth") if isinstance(held, Mapping) else None
