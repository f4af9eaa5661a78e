"""Prompts: which of a row's columns ask the model something, and what else goes along for the reward."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from guerdon.data.columns import NO_REWARD, Columns, RewardNeeds
from guerdon.data.conversation import is_turns, messages_in, messages_in_text
from guerdon.data.detection import CONVERSATIONS, detect
from guerdon.data.paths import ABSENT, listing, may_hold, unknown_column, value_at
from guerdon.data.rows import quoted
from guerdon.errors import InputError
from guerdon.trainers.columns import sample_of
from guerdon.types import Sample, as_messages

PROMPTS = ("prompt", "prompts", "messages")
"""Columns that are taken for the prompt, the first that there is; then those of ``data.detection``."""

_CONSUMED = ("prompt", "prompts", "messages", "id")


@dataclass(frozen=True, kw_only=True)
class PromptColumns(Columns):
    """Which columns make a problem: a prompt, and no response yet.

    The row that it gives has ``prompt``, ``columns`` and, where there is one, ``id``.
    """

    system_prompt: str | None = None

    def __post_init__(self) -> None:
        if self.answer is not None and "ground_truth" in self.rename:
            raise InputError(
                f"training.answer_column={self.answer} and training.mapping both set the ground truth; "
                "give one of them"
            )

    def lacking(self, names: Any) -> str | None:
        """What is wrong with a row or a table that has the columns ``names``; None if nothing is."""
        there = list(map(str, names))
        named = {f"training.mapping: {name}": column for name, column in self.rename.items()}
        for key, column in (("prompt_column", self.prompt), ("answer_column", self.answer)):
            if column is not None:
                named = {f"training.{key}": column, **named}
        for flag, column in named.items():
            if not may_hold(there, column):
                return unknown_column(column, there, flag)
        return None

    def layout(
        self, rows: Sequence[Mapping[str, Any]], *, needs: RewardNeeds = NO_REWARD, in_text: bool = False
    ) -> PromptLayout:
        """How rows become problems; raises InputError where a role has no column, or two."""
        names = dict.fromkeys(name for row in rows for name in row if isinstance(name, str))
        if (problem := self.lacking(names)) is not None:
            raise InputError(problem)
        found = detect(names, rows, [c for c in (self.answer, *self.rename.values()) if c is not None])
        prompts = [name for name in PROMPTS if name in names][:1] or found.prompt
        if not prompts and found.conversation is not None:
            prompts = [found.conversation]
        if self.prompt is None and not prompts:
            raise InputError(
                f"no column for the prompt; {listing(names)}; name it: training.prompt_column=NAME"
            )
        if self.prompt is None and len(prompts) > 1:
            raise InputError(_choose("prompt", prompts, "prompt_column"))
        prompt = self.prompt or prompts[0]
        truth = None
        if self.answer is None and "ground_truth" not in self.rename:
            truth = self._truth([name for name in found.truth if name != prompt], needs)
        return PromptLayout(columns=self, prompt=prompt, truth=truth, in_text=in_text)

    def _truth(self, found: list[str], needs: RewardNeeds) -> str | None:
        """The column of the ground truth, where it is not called so or ``answer``, by which names a reward reads it."""
        if "ground_truth" in found or "answer" in found:
            return None
        if len(found) > 1 and needs.reads_truth:
            raise InputError(_choose("ground truth", found, "answer_column"))
        return found[0] if len(found) == 1 else None

    def sample(self, row: Mapping[str, Any]) -> Sample:
        """The sample of a row, its completion being empty."""
        layout = self.layout([row])
        return layout.sample(layout.rows(row)[0])


def _choose(what: str, columns: list[str], key: str) -> str:
    ways = " or ".join(f"training.{key}={column}" for column in columns)
    both = " and ".join((", ".join(columns[:-1]), columns[-1]))
    return f"{len(columns)} columns may be the {what}: {both}; choose one: {ways}"


@dataclass(frozen=True, kw_only=True, slots=True)
class PromptLayout:
    """The columns that make a problem, all of them known."""

    columns: PromptColumns
    prompt: str
    truth: str | None
    in_text: bool = False

    @property
    def line(self) -> str | None:
        """Which columns were found, in words."""
        found = {"prompt": self.prompt} if self.columns.prompt is None else {}
        found |= {"ground_truth": self.truth} if self.truth is not None else {}
        if all(role == column for role, column in found.items()) or [*found.values()] == ["messages"]:
            return None
        return "columns: " + ", ".join(f"{role}={column}" for role, column in found.items())

    def rows(self, row: Mapping[str, Any]) -> Sequence[Mapping[str, Any]]:
        """The problem of a row as a mapping. Raises InputError that says what is wrong with it."""
        given = self.columns
        if (problem := given.lacking(row)) is not None:
            raise InputError(problem)
        name = self.prompt if may_hold(row, self.prompt) else next((n for n in PROMPTS if n in row), None)
        if name is None:
            raise InputError(unknown_column(self.prompt, row))
        value = value_at(row, name)
        prompt = _prompt(messages_in_text(value) if self.in_text else value, name)
        made: dict[str, Any] = {"prompt": _with_system(prompt, given.system_prompt)}
        columns = {str(key): value for key, value in row.items() if key not in _CONSUMED}
        if isinstance(nested := columns.get("metadata"), Mapping):
            del columns["metadata"]
            columns = {**nested, **columns}
        for new, column in given.rename.items():
            columns[new] = _value(row, column)
        if given.answer is not None:
            columns["ground_truth"] = _value(row, given.answer)
        elif self.truth is not None and columns.get("ground_truth") is None:
            columns["ground_truth"] = _value(row, self.truth)
        if columns.get("ground_truth") is None and (gold := _value(row, _VERL)) is not None:
            columns["ground_truth"] = gold
        identity = row.get("id")
        if isinstance(identity, str | int) and not isinstance(identity, bool):
            made["id"] = identity
        return ({**made, "columns": columns},)

    def sample(self, row: Mapping[str, Any]) -> Sample:
        """The sample of a problem, its completion being empty."""
        return sample_of(row["prompt"], "", row["columns"])


_VERL = "reward_model.ground_truth"


def _value(row: Mapping[str, Any], path: str) -> Any:
    value = value_at(row, path)
    return None if value is ABSENT else value


def _prompt(value: Any, column: str) -> Any:
    if isinstance(value, str):
        if column in CONVERSATIONS and value.lstrip().startswith("["):
            try:
                return _prompt(json.loads(value), column)
            except ValueError as error:
                raise InputError(f"column {quoted(column)}: not JSON: {error}") from None
        if not value.strip():
            raise InputError(f"column {quoted(column)} is empty: every row needs a prompt")
        return value
    if value is None:
        raise InputError(f"column {quoted(column)} is null: every row needs a prompt")
    if is_turns(value):
        value = messages_in(value, "user", column)
    messages = as_messages([value] if isinstance(value, Mapping) else value, quoted(column))
    if column in CONVERSATIONS:  # a conversation that has been answered asks what the answer was given to
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
