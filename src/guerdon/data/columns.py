"""Columns: which of a row's columns are the prompt, the response and the answer."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from guerdon.data.json_rows import parse_json
from guerdon.data.rows import quoted
from guerdon.errors import InputError
from guerdon.types import Sample, as_messages

_PROMPTS = ("prompt", "question", "input", "instruction", "problem", "query")
_RESPONSES = ("response", "completion", "output", "generation", "generated_text", "model_response")
_STRUCTURED = ("messages", "original_messages", "metadata")


@dataclass(frozen=True, kw_only=True)
class Columns:
    """Which columns make the sample; without any, rows are in chat form and have ``messages``.

    Columns that are named here no longer appear under their own name, all others become metadata; one
    that is wanted twice is given a name as well: ``rename={"question": "question"}``.
    Raises InputError if the parts contradict each other.

    >>> columns = Columns(prompt="question", response="reply", rename={"ground_truth": "gold"})
    >>> sample = columns.sample({"question": "2 + 2?", "reply": "4", "gold": "4", "level": 1})
    >>> sample.prompt, sample.response, sample.ground_truth, sample.metadata
    ('2 + 2?', '4', '4', {'level': 1})
    """

    prompt: str | None = None
    """Holds the prompt: text, a message or a list of messages."""
    response: str | None = None
    """Holds the completion: text, a message or a list of messages. Without a prompt it stands alone."""
    answer: str | None = None
    """Becomes the sample's ``ground_truth``."""
    rename: Mapping[str, str] = field(default_factory=dict)
    """Name that the reward reads to name of the column."""
    _named: Mapping[str, None] = field(init=False, repr=False, compare=False)
    _made: Mapping[str, None] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if self.prompt is not None and self.response is None:
            raise InputError(
                f"--prompt-column {self.prompt} needs --response-column too: "
                "the column that holds what the model answered"
            )
        if self.response is not None and "messages" in self.rename:
            raise InputError(
                f"--map messages={self.rename['messages']} and --response-column {self.response} "
                "both make the conversation; give one of them"
            )
        if self.answer is not None and "ground_truth" in self.rename:
            raise InputError(
                f"--answer-column {self.answer} and --map ground_truth={self.rename['ground_truth']} "
                "both set the ground truth; give one of them"
            )
        object.__setattr__(self, "rename", dict(self.rename))
        roles = (self.prompt, self.response, self.answer)
        named = dict.fromkeys(c for c in (*roles, *self.rename.values()) if c is not None)
        made = dict.fromkeys(self.rename)
        made.update({"messages": None} if self.response is not None else {})
        made.update({"ground_truth": None} if self.answer is not None else {})
        object.__setattr__(self, "_named", named)
        object.__setattr__(self, "_made", made)

    def sample(self, row: Mapping[str, Any]) -> Sample:
        """The sample of a row; raises InputError that says what is wrong with the row."""
        return Sample.from_row(self.row(row))

    def row(self, row: Mapping[str, Any]) -> Mapping[str, Any]:
        """The row in chat form, from which ``Sample.from_row`` makes the sample.

        Raises InputError for columns that are missing; what they hold is checked by ``sample`` alone.
        """
        if not self._named:
            if "messages" not in row:
                raise InputError(self.lacking(row) or "")
            return _parsed(row)
        if (problem := self.lacking(row)) is not None:
            raise InputError(problem)
        mapped = {key: value for key, value in row.items() if key not in self._named}
        for name, column in self.rename.items():
            mapped[name] = row[column]
        if self.answer is not None:
            mapped["ground_truth"] = row[self.answer]
        if self.response is not None:
            mapped["messages"] = self._conversation(row, self.response)
        return _parsed(mapped)

    def checked(self, row: Mapping[str, Any]) -> Mapping[str, Any]:
        """The row of ``row``; raises what ``sample`` raises."""
        mapped = self.row(row)
        Sample.from_row(mapped)
        return mapped

    def lacking(self, names: Iterable[str]) -> str | None:
        """What is wrong with a row or a table that has the columns ``names``; None if nothing is."""
        there = names if isinstance(names, Mapping) else dict.fromkeys(names)
        for column in self._named:
            if column not in there:
                return f"no column {quoted(column)} ({self._flag(column)}); {_listing(there)}"
        for name in self._made:
            if name in there and name not in self._named:
                return (
                    f"the row has a column {quoted(name)} already, which {self._maker(name)} would "
                    f"overwrite; keep that one under another name: --map old_{name}={name}"
                )
        if "messages" in there or "messages" in self._made:
            return None
        prompt = next((c for c in _PROMPTS if c in there), "NAME")
        response = next((c for c in _RESPONSES if c in there), "NAME")
        return (
            f'no column "messages"; {_listing(there)}; say which hold the conversation: '
            f"--prompt-column {prompt} --response-column {response}"
        )

    def _conversation(self, row: Mapping[str, Any], response: str) -> list[Any]:
        prompt = [] if self.prompt is None else _messages(row[self.prompt], "user", self.prompt)
        return prompt + _messages(row[response], "assistant", response)

    def _flag(self, column: str) -> str:
        for flag, name in (("prompt", self.prompt), ("response", self.response), ("answer", self.answer)):
            if name == column:
                return f"--{flag}-column"
        return next(f"--map {name}={column}" for name, c in self.rename.items() if c == column)

    def _maker(self, name: str) -> str:
        if name in self.rename:
            return f"--map {name}={self.rename[name]}"
        if name == "messages":
            return f"--response-column {self.response}"
        return f"--answer-column {self.answer}"


def _parsed(row: Mapping[str, Any]) -> Mapping[str, Any]:
    """The row with the columns as values that some files, CSV among them, hold as JSON text."""
    for name in _STRUCTURED:
        if not isinstance(written := row.get(name), str):
            continue
        if not written.strip():
            row = {**row, name: None}
            continue
        try:
            value, end = parse_json(written.strip())
            if end != len(written.strip()):
                raise InputError(f"not JSON: more after its end, from column {end + 1}")
        except InputError as error:
            raise InputError(f"column {quoted(name)}: {error}") from None
        row = {**row, name: value}
    return row


def _messages(value: Any, role: str, column: str) -> list[Any]:
    """The messages that a column holds, text as a plain one: a Message costs more to make and to send."""
    if isinstance(value, str):
        return [{"role": role, "content": value}]
    what = f"column {quoted(column)}"
    if isinstance(value, Mapping):
        value = [value]
    if not isinstance(value, list) or not value:
        shown = "an empty list" if value == [] else "null" if value is None else type(value).__name__
        raise InputError(f"{what} must hold text or a list of messages, not {shown}")
    return as_messages(value, what)


def _listing(names: Iterable[str]) -> str:
    shown = [quoted(name)[1:-1] for name in names]
    more = f" and {len(shown) - 12} more" if len(shown) > 12 else ""
    return f"the columns are: {', '.join(shown[:12])}{more}" if shown else "there are no columns"


def parse_mapping(text: str) -> tuple[str, str]:
    """The two halves of ``name=column``; the column may hold further equals signs.

    Raises InputError if a half is missing.

    >>> parse_mapping("ground_truth=gold")
    ('ground_truth', 'gold')
    """
    name, equals, column = text.partition("=")
    if not (equals and name.strip() and column.strip()):
        raise InputError(
            f"--map {quoted(text)} is not of the form name=column, such as --map ground_truth=gold"
        )
    return name.strip(), column.strip()


def parse_mappings(texts: Iterable[str]) -> dict[str, str]:
    """Several ``name=column`` as a dictionary for ``Columns(rename=…)``.

    Raises InputError if one is malformed or two give the same name.

    >>> parse_mappings(["ground_truth=gold", "level=difficulty"])
    {'ground_truth': 'gold', 'level': 'difficulty'}
    """
    rename: dict[str, str] = {}
    for name, column in map(parse_mapping, texts):
        if rename.setdefault(name, column) != column:
            raise InputError(f"--map gives {quoted(name)} twice: from {rename[name]} and from {column}")
    return rename
