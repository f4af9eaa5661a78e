"""A sample: the conversation to score, with all else that its row holds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from guerdon.errors import InputError
from guerdon.types.messages import Message, as_messages

_SAMPLE_KEYS = frozenset({"messages", "original_messages", "ground_truth", "answer", "metadata", "id"})


@dataclass(slots=True)
class Sample:
    """One thing to score.

    >>> s = Sample(messages=[{"role": "user", "content": "2 + 2?"},
    ...                      {"role": "assistant", "content": "4"}], ground_truth="4")
    >>> s.response, s.prompt, len(s.original_messages)
    ('4', '2 + 2?', 1)
    """

    messages: list[Message]
    """The conversation; the last message is the completion."""
    original_messages: list[Message] = None  # type: ignore[assignment]
    """The context of the completion; all messages but the last unless given."""
    ground_truth: Any = None
    answer: Any = None
    metadata: dict[str, Any] = field(default_factory=dict)
    """Every other column of the row."""
    id: str | int | None = None

    if TYPE_CHECKING:

        def __init__(
            self,
            messages: Sequence[Message | Mapping[str, Any]],
            original_messages: Sequence[Message | Mapping[str, Any]] | None = None,
            ground_truth: Any = None,
            answer: Any = None,
            metadata: dict[str, Any] = ...,
            id: str | int | None = None,
        ) -> None: ...

    def __post_init__(self) -> None:
        self.messages = as_messages(self.messages)
        if self.original_messages is None:
            self.original_messages = self.messages[:-1]
        else:
            self.original_messages = as_messages(self.original_messages, "original_messages")

    @property
    def response(self) -> str:
        """The text of the last message."""
        return self.messages[-1].text if self.messages else ""

    @property
    def prompt(self) -> str:
        """The text of the last user message before the completion; ``""`` where there is none."""
        for message in reversed(self.original_messages):
            if message.role == "user":
                return message.text
        return ""

    @classmethod
    def from_row(cls, row: Mapping[str, Any]) -> Sample:
        """A sample from a row in chat form; columns with other names become metadata.

        A ``metadata`` column that is an object is merged with them; a column of its own wins.
        Raises InputError that says which key is wrong.
        """
        if type(row) is not dict and not isinstance(row, Mapping):
            raise InputError(f"a row must be an object with messages, not {type(row).__name__}")
        if "messages" not in row:
            names = ", ".join(sorted(map(str, row))[:12]) or "none"
            raise InputError(
                f'the row has no "messages" (its columns: {names}); '
                "map columns to a conversation with a prompt and a response column"
            )
        if not row["messages"]:
            raise InputError('"messages" is empty: the last message must be the completion')
        nested = row.get("metadata")
        if nested is not None and not isinstance(nested, Mapping):
            raise InputError(f'"metadata" must be an object, not {type(nested).__name__}')
        metadata = dict(nested) if nested else {}
        for key, value in row.items():
            if key not in _SAMPLE_KEYS:
                metadata[key] = value
        identity = row.get("id")
        if identity is not None and (isinstance(identity, bool) or not isinstance(identity, str | int)):
            raise InputError(f'"id" must be a string or a whole number, not {type(identity).__name__}')
        return cls(
            messages=row["messages"],
            original_messages=row.get("original_messages"),
            ground_truth=row.get("ground_truth"),
            answer=row.get("answer"),
            metadata=metadata,
            id=identity,
        )

    def to_row(self) -> dict[str, Any]:
        """The plain row of this sample; ``Sample.from_row`` reads it back."""
        row: dict[str, Any] = {"messages": [m.to_dict() for m in self.messages]}
        if self.original_messages != self.messages[:-1]:
            row["original_messages"] = [m.to_dict() for m in self.original_messages]
        for name in ("ground_truth", "answer", "id"):
            value = getattr(self, name)
            if value is not None:
                row[name] = value
        if self.metadata:
            row["metadata"] = dict(self.metadata)
        return row
