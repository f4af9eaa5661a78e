"""Verdicts: the result of a reward, its metrics and steps, and what made it."""

from __future__ import annotations

from collections.abc import Iterator, KeysView, Mapping
from dataclasses import dataclass, field
from typing import Any, NoReturn

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

from guerdon.checks import finite, refuse_infinities, text_of
from guerdon.errors import NotApplicableError, error_of_kind, kind_of


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
    def failure(
        cls, error: BaseException | str, kind: str | None = None, *, message: str | None = None
    ) -> EvaluateResult:
        """The result for a failure; an exception is kept so that ``unwrap`` raises it again.

        ``message`` is the text of the error, by default the exception's own.
        """
        if isinstance(error, str):
            return cls(error=error if message is None else message, error_kind=kind or "error")
        result = cls(error=text_of(error) if message is None else message, error_kind=kind or kind_of(error))
        result.__dict__["_exception"] = error
        return result

    def with_error(self, message: str, metrics: Mapping[str, MetricResult]) -> EvaluateResult:
        """A failure with this one's kind and exception, under another message and with other metrics."""
        result = EvaluateResult(None, None, metrics, error=message, error_kind=self.error_kind)
        if "_exception" in self.__dict__:
            result.__dict__["_exception"] = self.__dict__["_exception"]
        return result

    def with_provenance(self, provenance: Provenance) -> EvaluateResult:
        """This result, signed by what made it. No copy: a result that is signed twice is copied when it is read."""
        self.__dict__["provenance"] = provenance  # past the validation, which every sample would pay for
        return self

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
    def exception(self) -> BaseException | None:
        """The exception that the reward raised, where it raised it in this process."""
        kept: BaseException | None = self.__dict__.get("_exception")
        return kept

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
        if self.exception is not None:
            raise self.exception
        raise error_of_kind(self.error_kind, self.error or "", reward=self.reward)

    def __float__(self) -> float:
        return self.unwrap()


_DEFAULTS = {name: f.default for name, f in EvaluateResult.model_fields.items()}

RewardOutput = EvaluateResult
MetricRewardOutput = MetricResult
