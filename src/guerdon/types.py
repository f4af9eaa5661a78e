"""The nouns that flow through everything: messages, samples, results."""

from __future__ import annotations

from collections.abc import ItemsView, Iterator, KeysView, Mapping, Sequence, ValuesView
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    ValidationError,
    field_validator,
    model_validator,
)

from guerdon.checks import finite, reason_of, refuse_infinities, text_of
from guerdon.errors import InputError, NotApplicableError, error_of_kind, kind_of

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
    """The function half of a tool call, in OpenAI's chat form."""

    name: str
    arguments: str | dict[str, Any] = ""


class ToolCall(MappingModel):
    """One tool call of an assistant's message, in OpenAI's chat form."""

    function: FunctionCall
    id: str | None = None
    type: str = "function"


class Message(MappingModel):
    """One message of a conversation, in OpenAI's chat form; other keys are kept.

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
            raise InputError(f"{what}[{i}] has a key that is no string") from None
    return messages


class _ResultModel(BaseModel):
    """What results share: every field readable by name as in a mapping, numbers checked on assignment."""

    model_config = ConfigDict(
        extra="forbid", validate_assignment=True, protected_namespaces=(), defer_build=True
    )

    def __getitem__(self, key: str) -> Any:
        if key in type(self).model_fields:
            return getattr(self, key)
        raise KeyError(key)

    def __contains__(self, key: object) -> bool:
        return key in type(self).model_fields

    def __iter__(self) -> Iterator[str]:  # type: ignore[override]
        return iter(type(self).model_fields)

    def get(self, key: str, default: Any = None) -> Any:
        return getattr(self, key) if key in type(self).model_fields else default

    def keys(self) -> KeysView[str]:
        return type(self).model_fields.keys()

    def items(self) -> list[tuple[str, Any]]:
        return [(key, getattr(self, key)) for key in type(self).model_fields]

    def values(self) -> list[Any]:
        return [getattr(self, key) for key in type(self).model_fields]

    def __repr_args__(self) -> Iterator[tuple[str, Any]]:
        # What is absent is left out: most of it is, in most results.
        for key, value in self.items():
            if value is not None and value != {}:
                yield key, value


class MetricResult(_ResultModel):
    """One component of a verdict.

    >>> MetricResult(0.5, reason="2 of 4 keywords").score
    0.5
    """

    score: float
    """Any finite number; negative ones are legal."""
    success: bool | None = None
    """Whether the component counts as passed, where that has a meaning."""
    reason: str | None = None
    weight: float | None = None
    """The component's weight in the composition that it belongs to."""

    def __init__(
        self,
        score: Any,
        success: bool | None = None,
        reason: str | None = None,
        **more: Any,
    ) -> None:
        # reward-kit's word for success: its rewards set it to whether the metric is met.
        met = more.pop("is_score_valid", None)
        success = met if success is None else success
        super().__init__(**{"score": score, "success": success, "reason": reason, **more})

    @field_validator("score", mode="before")
    @classmethod
    def _finite(cls, value: Any) -> float:
        return finite(value)

    @field_validator("weight", mode="before")
    @classmethod
    def _finite_weight(cls, value: Any) -> float | None:
        return None if value is None else finite(value, "weight")


class StepOutput(_ResultModel):
    """The reward of one step of a rollout, for trainers that credit steps."""

    step_index: int | str
    """The index of the assistant's message or turn that the step is, or the user's own name for it."""
    base_reward: float
    metrics: dict[str, Any] = Field(default_factory=dict)
    reason: str | None = None

    @field_validator("metrics")
    @classmethod
    def _all_finite(cls, value: dict[str, Any]) -> dict[str, Any]:
        refuse_infinities(value, "metrics")
        return value

    @field_validator("base_reward", mode="before")
    @classmethod
    def _finite(cls, value: Any) -> float:
        return finite(value, "base_reward")


@dataclass(frozen=True, slots=True)
class Provenance:
    """What made a score: the reward's name, its version and its parameters."""

    reward: str
    version: str
    parameters: Mapping[str, Any] = field(default_factory=dict)


class EvaluateResult(_ResultModel):
    """The verdict on one sample: a score, or a failure, or "does not apply".

    - scored: ``score`` is a finite float;
    - failed: ``error`` says what happened, ``error_kind`` is its family, ``score`` is None;
    - not applicable: ``score`` and ``error`` are both None.

    A result that is built with an ``error`` keeps no score: a failure is never a score.

    >>> EvaluateResult(0.75, metrics={"clarity": MetricResult(0.8)}).unwrap()
    0.75
    >>> EvaluateResult(error="no ground truth").score is None
    True
    """

    score: float | None = None
    reason: str | None = None
    metrics: dict[str, MetricResult] = Field(default_factory=dict)
    step_outputs: list[StepOutput] | None = None
    error: str | None = None
    error_kind: str | None = None
    """``exception``, ``timeout``, ``crash``, ``memory``, ``invalid_result``, … (see guerdon.errors)."""
    provenance: Provenance | None = None
    """What made the score; filled in by the RewardFunction."""

    def __init__(
        self,
        score: Any = None,
        reason: str | None = None,
        metrics: Mapping[str, Any] | None = None,
        **more: Any,
    ) -> None:
        # reward-kit's rewards set this to whether the score is a full one, which the score says itself.
        more.pop("is_score_valid", None)
        given: Any = {} if metrics is None else metrics
        if isinstance(given, Mapping):
            given = {n: MetricResult(v) if isinstance(v, int | float) else v for n, v in given.items()}
        super().__init__(**{"score": score, "reason": reason, "metrics": given, **more})

    @field_validator("score", mode="before")
    @classmethod
    def _finite(cls, value: Any) -> float | None:
        return None if value is None else finite(value)

    @model_validator(mode="after")
    def _failure_has_no_score(self) -> EvaluateResult:
        if self.error is not None:
            self.__dict__["score"] = None
            if self.error_kind is None:
                self.__dict__["error_kind"] = "exception"
        return self

    @classmethod
    def of_score(cls, score: float, provenance: Provenance | None = None) -> EvaluateResult:
        """The result that has nothing but a score and what made it; a third of the price of building it otherwise.

        Raises ValueError where the score is not finite.
        """
        # What pydantic's model_construct does, without asking every field for its default and its alias.
        result = cls.__new__(cls)
        put = object.__setattr__
        fields = {**_DEFAULTS, "metrics": {}, "score": finite(score), "provenance": provenance}
        put(result, "__dict__", fields)
        put(result, "__pydantic_fields_set__", {"score"} if provenance is None else {"score", "provenance"})
        put(result, "__pydantic_extra__", None)
        put(result, "__pydantic_private__", None)
        return result

    @classmethod
    def failure(cls, error: BaseException | str, kind: str | None = None) -> EvaluateResult:
        """The result for a failure; an exception is kept so that ``unwrap`` raises it again."""
        if isinstance(error, str):
            return cls(error=error, error_kind=kind or "error")
        result = cls(error=text_of(error), error_kind=kind or kind_of(error))
        result.__dict__["_exception"] = error
        return result

    def __getstate__(self) -> dict[Any, Any]:
        # The exception stays behind: it may not pickle, and it holds on to the frames it passed through.
        state = dict(super().__getstate__())
        state["__dict__"] = {k: v for k, v in state["__dict__"].items() if k != "_exception"}
        return state

    @property
    def is_score_valid(self) -> bool:
        """Whether there is a score, under the name that Reward Kit's results have for it."""
        return self.score is not None

    @property
    def failed(self) -> bool:
        """Whether there is an error in place of a score."""
        return self.error is not None

    @property
    def reward(self) -> str | None:
        """The name of the reward that made this score."""
        return self.provenance.reward if self.provenance else None

    @property
    def version(self) -> str | None:
        """The version of the reward that made this score."""
        return self.provenance.version if self.provenance else None

    def unwrap(self) -> float:
        """The score; raises the failure instead if there is one.

        Raises the exception that the reward raised where it happened in this process, otherwise the
        RewardError of its kind; NotApplicableError where the reward does not apply.
        """
        if self.score is not None:
            return self.score
        if self.error is None:
            raise NotApplicableError(self.reason or "the reward does not apply to this sample")
        self._raise()

    def _raise(self) -> NoReturn:
        original = self.__dict__.get("_exception")
        if isinstance(original, BaseException):
            raise original
        raise error_of_kind(self.error_kind, self.error or "", reward=self.reward)

    def __float__(self) -> float:
        return self.unwrap()


_DEFAULTS = {name: f.default for name, f in EvaluateResult.model_fields.items()}

RewardOutput = EvaluateResult
MetricRewardOutput = MetricResult

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
