"""Layouts: how the rows of one table become samples, found once for the table and not for each row."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from guerdon.data.conversation import list_in_text, messages_in, messages_in_text, responses_in
from guerdon.data.gym_rollouts import sample_of_rollout
from guerdon.data.paths import ABSENT, unknown_column, value_at
from guerdon.data.rows import quoted
from guerdon.data.strict_json import parse_json
from guerdon.errors import InputError
from guerdon.types import Sample, check_ending

_STRUCTURED = ("messages", "original_messages", "metadata")


class RowLayout(Protocol):
    """How the rows of a table become samples."""

    @property
    def line(self) -> str | None:
        """Which columns were found, as ``columns: prompt=question, …``; None where nothing had to be."""

    def rows(self, row: Mapping[str, Any]) -> Sequence[Mapping[str, Any]]:
        """The rows in chat form that a row holds: one, or one for each response of a list.

        Raises InputError for columns that are missing; what they hold is checked by ``sample``.
        """

    def sample(self, row: Mapping[str, Any]) -> Sample:
        """The sample of a row in chat form. Raises InputError that says what is wrong with it."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ChatLayout:
    """The columns that make a sample, all of them known."""

    prompt: str | None = None
    response: str | None = None
    conversation: str | None = None
    """Holds the whole conversation, where it is not ``messages`` itself."""
    truth: str | None = None
    """Becomes ``ground_truth``; a null and a row without the column have none, unless it was named."""
    rename: Mapping[str, str] = field(default_factory=dict)
    flags: Mapping[str, str] = field(default_factory=dict)
    """Columns that were named, each with how: these must be there, and lose their own name."""
    found: Mapping[str, str] = field(default_factory=dict)
    """Role to column, for the roles that nobody named."""
    in_text: bool = False
    """Whether cells are text only, as in CSV, so that messages are written as JSON."""
    lists_in_text: bool = False
    """Whether the cells of the response are text, each of them a list of responses as JSON."""
    any_ending: bool = False
    """Whether the last message may be another's than the assistant's."""
    dropped: frozenset[str] = frozenset()
    """Columns that do not keep their name."""

    @property
    def is_chat(self) -> bool:
        """Whether rows are in chat form as they stand."""
        return not (self.response or self.conversation or self.prompt or self.truth or self.rename)

    @property
    def line(self) -> str | None:
        if not self.found:
            return None
        shown = dict(self.found)
        for role, column in (
            ("prompt", self.prompt),
            ("response", self.response),
            ("ground_truth", self.truth),
        ):
            if column is not None:
                shown.setdefault(role, column)
        order = ("messages", "prompt", "response", "ground_truth")
        pairs = [(role, shown[role]) for role in order if role in shown]
        return "columns: " + ", ".join(r if r == c else f"{r}={c}" for r, c in pairs)

    def rows(self, row: Mapping[str, Any]) -> Sequence[Mapping[str, Any]]:
        """The rows in chat form that a row holds."""
        if self.is_chat:
            if "messages" not in row:
                raise InputError(unknown_column("messages", row))
            return (_structured(row),)
        mapped = self._mapped(row)
        if self.response is not None:
            return self._answered(row, mapped, self.response)
        if self.conversation is not None:
            held = self._needed(row, self.conversation)
            if isinstance(held, str):
                held = _json(held, self.conversation)
            mapped["messages"] = messages_in(held, "user", self.conversation)
        elif self.prompt is not None:  # of which a reward wants no response
            mapped["messages"] = self._prompt(row, self.prompt)
        if "messages" not in mapped:
            raise InputError(unknown_column("messages", row))
        return (_structured(mapped),)

    def sample(self, row: Mapping[str, Any]) -> Sample:
        """The sample of a row in chat form."""
        sample = Sample.from_row(row)
        if not self.any_ending:
            check_ending(sample.messages)
        return sample

    def _mapped(self, row: Mapping[str, Any]) -> dict[str, Any]:
        mapped = {key: value for key, value in row.items() if key not in self.dropped}
        for name, column in self.rename.items():
            mapped[name] = self._needed(row, column)
        if self.truth is not None:
            truth = value_at(row, self.truth)
            if truth is ABSENT and self.truth in self.flags:
                self._needed(row, self.truth)
            mapped["ground_truth"] = None if truth is ABSENT else truth
        return mapped

    def _needed(self, row: Mapping[str, Any], column: str) -> Any:
        if (value := value_at(row, column)) is ABSENT:
            raise InputError(unknown_column(column, row, self.flags.get(column, "")))
        return value

    def _prompt(self, row: Mapping[str, Any], column: str) -> list[Any]:
        value = self._needed(row, column)
        return messages_in(messages_in_text(value) if self.in_text else value, "user", column)

    def _answered(
        self, row: Mapping[str, Any], mapped: dict[str, Any], column: str
    ) -> Sequence[Mapping[str, Any]]:
        before = [] if self.prompt is None else self._prompt(row, self.prompt)
        value = self._needed(row, column)
        if isinstance(value, str) and not self.lists_in_text:
            mapped["messages"] = [*before, {"role": "assistant", "content": value}]
            return (_structured(mapped),)
        responses = responses_in(list_in_text(value, column) if self.lists_in_text else value, column)
        if not isinstance(value, list) and len(responses) == 1:
            mapped["messages"] = [*before, *responses[0]]
            return (_structured(mapped),)
        return [
            _structured(
                {
                    **mapped,
                    **_member(row, i, len(responses), alone=not before),
                    "messages": [*before, *response],
                }
            )
            for i, response in enumerate(responses)
        ]


def _member(row: Mapping[str, Any], position: int, count: int, *, alone: bool) -> dict[str, Any]:
    """What the responses of one list differ in, and their group where no prompt says that they belong together."""
    made: dict[str, Any] = {}
    identity = row.get("id")
    if count > 1 and isinstance(identity, str | int) and not isinstance(identity, bool):
        made["id"] = f"{identity}-{position}"
        if alone and "group_id" not in row and "group" not in row:
            made["group_id"] = identity
    return made


@dataclass(frozen=True, kw_only=True, slots=True)
class RolloutLayout:
    """NeMo Gym's rollouts: a request, and the model's Response beside it."""

    any_ending: bool = False

    @property
    def line(self) -> str | None:
        return "columns: messages=responses_create_params + response, as NeMo Gym writes rollouts"

    def rows(self, row: Mapping[str, Any]) -> Sequence[Mapping[str, Any]]:
        """The rollout as a row in chat form."""
        try:
            return (sample_of_rollout(row).to_row(),)
        except (KeyError, TypeError, AttributeError):
            raise InputError("not a rollout of NeMo Gym, as the first rows are") from None

    def sample(self, row: Mapping[str, Any]) -> Sample:
        """The sample of a row in chat form."""
        return Sample.from_row(row)


def _structured(row: Mapping[str, Any]) -> Mapping[str, Any]:
    """The row with the columns as values that some files, CSV among them, hold as JSON text."""
    for name in _STRUCTURED:
        if isinstance(written := row.get(name), str):
            row = {**row, name: _json(written, name)}
    return row


def _json(text: str, column: str) -> Any:
    """The value of JSON text; None for blank text."""
    if not (stripped := text.strip()):
        return None
    try:
        value, end = parse_json(stripped)
        if end != len(stripped):
            raise InputError(f"not JSON: more after its end, from column {end + 1}")
    except InputError as error:
        raise InputError(f"column {quoted(column)}: {error}") from None
    return value
