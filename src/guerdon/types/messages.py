"""Messages of a conversation, in OpenAI's chat format."""

from __future__ import annotations

from collections.abc import ItemsView, Iterator, KeysView, Mapping, Sequence, ValuesView
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from guerdon.checks import reason_of
from guerdon.errors import InputError

_TEXT_PARTS = ("text", "output_text", "input_text")
_INSTEAD_OF_CONTENT = (
    *("tool_calls", "function_call", "refusal", "audio"),
    *("reasoning_content", "reasoning", "thinking", "thinking_blocks"),
)
"""What a model may answer with where it says nothing."""

# Validators are built at the first use of a model (defer_build): a fifth of what importing guerdon costs.


class MappingModel(BaseModel):
    """A model that reads both ways: ``r.role`` and ``r["role"]``, ``r.get("role")``, ``dict(r)``.

    As a mapping it holds the fields that were given, so ``"name" in message`` is true only of a message
    that has a name.
    """

    model_config = ConfigDict(extra="allow", frozen=True, protected_namespaces=(), defer_build=True)

    def _mapping(self) -> dict[str, Any]:
        given = self.model_fields_set
        view = {k: v for k, v in self.__dict__.items() if k in given}
        if self.__pydantic_extra__:
            view.update(self.__pydantic_extra__)
        return view

    def __getitem__(self, key: str) -> Any:
        return self._mapping()[key]

    def __contains__(self, key: object) -> bool:
        return key in self._mapping()

    def __iter__(self) -> Iterator[str]:  # type: ignore[override]
        return iter(self._mapping())

    def __len__(self) -> int:
        return len(self._mapping())

    def get(self, key: str, default: Any = None) -> Any:
        return self._mapping().get(key, default)

    def keys(self) -> KeysView[str]:
        return self._mapping().keys()

    def values(self) -> ValuesView[Any]:
        return self._mapping().values()

    def items(self) -> ItemsView[str, Any]:
        return self._mapping().items()

    def __rich_repr__(self) -> Iterator[tuple[str, Any]]:
        yield from self._mapping().items()

    def __repr_args__(self) -> Iterator[tuple[str, Any]]:
        yield from self._mapping().items()


class FunctionCall(MappingModel):
    """The function half of a tool call, in OpenAI's chat format."""

    name: str
    arguments: str | dict[str, Any] = ""


class ToolCall(MappingModel):
    """One tool call of an assistant's message, in OpenAI's chat format."""

    function: FunctionCall
    id: str | None = None
    type: str = "function"


class Message(MappingModel):
    """One message of a conversation, in OpenAI's chat format; other keys are kept.

    Reads as attributes and as a mapping, and cannot be changed, so that a reward cannot alter what
    another one sees.

    >>> m = Message(role="user", content="What is 2 + 2?")
    >>> m.role, m["content"], m.get("name", "nobody"), dict(m)
    ('user', 'What is 2 + 2?', 'nobody', {'role': 'user', 'content': 'What is 2 + 2?'})
    """

    role: str = Field(strict=True)
    content: Annotated[str, Field(strict=True)] | list[dict[str, Any]] | None = ""
    name: str | None = None
    tool_calls: list[ToolCall] | None = None
    tool_call_id: str | None = None

    @property
    def text(self) -> str:
        """The content as one string: the text parts joined, an absent content as ``""``."""
        if isinstance(self.content, str):
            return self.content
        parts = self.content or []
        return "".join(t for part in parts if isinstance(t := part.get("text"), str))

    def to_dict(self) -> dict[str, Any]:
        """A fresh plain dict with the keys that were given."""
        return self.model_dump(exclude_unset=True)


# Registered, not inherited: pydantic's metaclass and Mapping's would clash, and `match` needs only this.
Mapping.register(MappingModel)


def as_messages(value: Any, what: str = "messages") -> list[Message]:
    """A list of messages from a list of mappings or Message objects.

    Raises InputError with the index and the field that is wrong.
    """
    if type(value) is not list and (
        isinstance(value, str | bytes | Mapping) or not isinstance(value, Sequence)
    ):
        raise InputError(
            f"{what} must be a list of messages such as "
            f'[{{"role": "user", "content": "…"}}], not {type(value).__name__}'
        )
    messages: list[Message] = []
    for i, item in enumerate(value):
        if type(item) is Message:
            messages.append(item)
            continue
        if type(item) is not dict and not isinstance(item, Mapping):
            raise InputError(
                f"{what}[{i}] must be an object with a role and a content, not {type(item).__name__}"
            )
        try:
            messages.append(Message(**item))
        except ValidationError as error:
            raise InputError(f"{what}[{i}].{reason_of(error)}") from None
        except TypeError:
            raise InputError(f"{what}[{i}] has a key that is not a string") from None
    return messages


def check_ending(messages: Sequence[Message]) -> None:
    """Raise InputError for a conversation that does not end with the assistant's words: it holds no response to score.

    >>> check_ending([Message(role="user", content="2 + 2?")])
    Traceback (most recent call last):
    guerdon.errors.InputError: the conversation ends with a message of the role "user"; the last one must be the \
assistant's, which is the response
    """
    if messages and (role := messages[-1].role) != "assistant":
        raise InputError(
            f'the conversation ends with a message of the role "{role[:40]}"; the last one must be the '
            "assistant's, which is the response"
        )
    if messages and (wrong := _unreadable(messages[-1])) is not None:
        raise InputError(f"the last message {wrong}")


def _unreadable(message: Message) -> str | None:
    """Why a message holds no response; None where it does, which may be an empty one."""
    content = message.content
    if isinstance(content, str):
        if content or "content" in message or any(message.get(name) for name in _INSTEAD_OF_CONTENT):
            return None
        others = sorted(message.keys() - {"role", "name"})
        return "has no content" + (f"; its keys: {', '.join(others)[:80]}" if others else "")
    for part in content or ():
        kind = part.get("type", "text")
        if not isinstance(kind, str) or (kind in _TEXT_PARTS and not isinstance(part.get("text"), str)):
            return "has a part without its text"
    return None
