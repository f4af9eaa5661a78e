"""The scorer for a function in this process, a class or an instance."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, SupportsIndex

from pydantic import BaseModel, ValidationError

from guerdon.checks import reason_of, text_of
from guerdon.errors import BindingError, InputError, RewardError
from guerdon.reward.binding.annotations import wants_dicts
from guerdon.reward.binding.batch_plan import BatchPlan, called_with_lists
from guerdon.reward.binding.parameter_checks import check_values, constructor_of
from guerdon.reward.binding.pointwise_plan import PointwisePlan
from guerdon.reward.binding.returns import to_result, to_results
from guerdon.reward.binding.signature import Parameter, Signature, no_such_parameter, signature_of
from guerdon.reward.loading.callables import callable_behind, constructor_names, is_async_callable, name_of
from guerdon.reward.loading.pickling import look_up, look_up_or_raise, pickled_by_cloudpickle
from guerdon.reward.scorers.base import Scorer
from guerdon.reward.scorers.component import CallArguments
from guerdon.reward.scorers.event_loop import run_coroutine
from guerdon.reward.versioning.fingerprint import fingerprint
from guerdon.reward.versioning.snapshot import DependencySnapshot
from guerdon.types import EvaluateResult, Sample

_NUMBERS = (float, int, bool, EvaluateResult)


class FunctionScorer(Scorer):
    """A function of the user's, a class or an instance, called in this process."""

    def __init__(
        self,
        target: Any,
        fixed: Mapping[str, Any],
        *,
        batch: bool | None = None,
        metadata_schema: type[BaseModel] | None = None,
    ) -> None:
        self.target = target
        self._parameters = dict(fixed)
        self._function, left = callable_behind(target, fixed)
        self.name = name_of(target)
        self._signature = signature_of(self._function, self.name)
        if isinstance(target, type):
            self._refuse_unknown(target, left)
        self._schema = metadata_schema
        self.is_async = is_async_callable(self._function)
        self.is_batch = self._signature.is_batched if batch is None else batch
        self._plan = None if self.is_batch else PointwisePlan(self._signature, left)
        self._batch_plan = BatchPlan(self._function, self._signature, left) if self.is_batch else None
        self._gives_model = metadata_schema is not None and not wants_dicts(
            next((p.annotation for p in self._signature.parameters if p.name == "metadata"), "")
        )

    def check_parameters(self, check: Callable[..., object] | None) -> None:
        """Raise where a fixed parameter has a value that does not fit: by ``check``, else by the annotations."""
        mine = self._parameters
        if check is not None:
            check_values(self.name, self._function, {n: v for n, v in mine.items() if v is None})
            try:
                check(**mine)
            except RewardError:
                raise
            except Exception as error:  # the edge to the author's own check
                raise BindingError(f"{self.name}: a parameter does not fit: {text_of(error)}") from error
            return
        if isinstance(self.target, type):
            names = constructor_names(self.target)
            check_values(
                self.name, constructor_of(self.target), {n: v for n, v in mine.items() if n in names}
            )
            mine = {n: v for n, v in mine.items() if n not in names}
        check_values(self.name, self._function, mine)

    def _refuse_unknown(self, cls: type, left: Mapping[str, Any]) -> None:
        """Name the constructor's parameters too where an argument fits neither it nor the call."""
        unknown = [name for name in left if name not in self._signature.names]
        if unknown and not self._signature.takes_kwargs:
            text = no_such_parameter(self._signature, unknown[0], constructor_names(cls))
            raise BindingError(text, parameter=unknown[0])

    def __reduce_ex__(self, protocol: SupportsIndex) -> str | tuple[Any, ...]:
        # A decorated function's own name leads to the reward made of it, so pickle cannot refer to it by that.
        module, qualname = getattr(self.target, "__module__", None), getattr(self.target, "__qualname__", "")
        here = module != "__main__" or not pickled_by_cloudpickle(sys._getframe(1))
        if module and here and getattr(look_up(module, qualname), "func", None) is self.target:
            return _rebuild, (module, qualname, self._parameters, self.is_batch, self._schema)
        return super().__reduce_ex__(protocol)

    def __getstate__(self) -> dict[str, Any]:
        # The unpickling process makes a new instance of a class: the old one may hold a lock or a connection.
        made_here = isinstance(self.target, type)
        return {n: v for n, v in self.__dict__.items() if n != "_function" or not made_here}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        if "_function" not in state:
            self._function, _ = callable_behind(self.target, self._parameters)

    @property
    def parameters(self) -> Mapping[str, Any]:
        return self._parameters

    @property
    def function(self) -> Callable[..., Any]:
        """What is called in the end."""
        return self._function

    @property
    def reads(self) -> frozenset[str]:
        fields = self._schema.model_fields if self._schema is not None else ()
        return frozenset({*(p.name for p in self.open_parameters()), *fields})

    def signature(self) -> Signature:
        return self._signature

    def open_parameters(self) -> list[Parameter]:
        """The parameters that are not fixed."""
        return [p for p in self._signature.parameters if p.name not in self._parameters]

    def score(self, sample: Sample, explicit: CallArguments) -> EvaluateResult:
        value = self._call(sample, explicit)
        if type(value) not in _NUMBERS and inspect.isawaitable(value):
            value = run_coroutine(_await(value))
        return to_result(value, self.name)

    async def ascore(self, sample: Sample, explicit: CallArguments) -> EvaluateResult:
        return to_result(await self._call(sample, explicit), self.name)

    def _call(self, sample: Sample, explicit: CallArguments) -> Any:
        assert self._plan is not None
        if self._schema is not None:
            sample, explicit = self._validated(sample, explicit)
        positional, named = self._plan.arguments(sample, explicit)
        return self._function(*positional, **named)

    def score_batch(self, samples: Sequence[Sample], explicit: CallArguments) -> list[EvaluateResult]:
        value = self._call_batch(samples, explicit)
        if inspect.isawaitable(value):
            value = run_coroutine(_await(value))
        return to_results(value, self.name, len(samples))

    async def ascore_batch(self, samples: Sequence[Sample], explicit: CallArguments) -> list[EvaluateResult]:
        return to_results(await self._call_batch(samples, explicit), self.name, len(samples))

    def _call_batch(self, samples: Sequence[Sample], explicit: CallArguments) -> Any:
        assert self._batch_plan is not None
        if self._schema is not None:
            if called_with_lists(samples):
                rows = [replace(s, metadata=_entry(explicit, i)) for i, s in enumerate(samples)]
                samples, explicit = rows, {n: v for n, v in explicit.items() if n != "metadata"}
            samples = [self._validated(sample, {})[0] for sample in samples]
            explicit = {n: v for n, v in explicit.items() if n not in self._schema.model_fields}
        positional, named = self._batch_plan.arguments(samples, explicit)
        return self._function(*positional, **named)

    def _validated(self, sample: Sample, explicit: CallArguments) -> tuple[Sample, CallArguments]:
        """The sample with its metadata checked against the schema; the schema's defaults filled in."""
        assert self._schema is not None
        given = dict(sample.metadata)
        for name in ("ground_truth", "answer"):
            if name in self._schema.model_fields and getattr(sample, name) is not None:
                given.setdefault(name, getattr(sample, name))
        try:
            model = self._schema.model_validate(given)
        except ValidationError as error:
            raise InputError(f"metadata.{reason_of(error)}", reward=self.name) from None
        values = {name: getattr(model, name) for name in type(model).model_fields}
        checked = Sample(
            messages=sample.messages,
            original_messages=sample.original_messages,
            ground_truth=sample.ground_truth,
            answer=sample.answer,
            metadata={**sample.metadata, **values},
            id=sample.id,
        )
        given_again = {name: values.get(name, value) for name, value in explicit.items()}
        if self._gives_model and not self.is_batch:
            given_again["metadata"] = model
        elif "metadata" in explicit:
            given_again["metadata"] = checked.metadata
        return checked, given_again

    def fingerprint_data(self, snapshot: DependencySnapshot) -> Any:
        home = self.target if isinstance(self.target, type) else None
        code = fingerprint(self.target if home is None else self._function, home, snapshot)
        return ["function", code, fingerprint(self._parameters, home, snapshot), self.is_batch]

    def check(self, sample: Sample, explicit: CallArguments) -> None:
        if self._plan is not None and self._schema is None:
            self._plan.arguments(sample, explicit)

    def missing(self, samples: Sequence[Sample]) -> tuple[str, list[str]] | None:
        if self._schema is not None:  # the schema decides, and its defaults count
            return None
        plan = self._plan or self._batch_plan
        assert plan is not None
        return plan.missing(samples)


def _rebuild(
    module: str,
    qualname: str,
    parameters: Mapping[str, Any],
    batch: bool,
    schema: type[BaseModel] | None,
) -> FunctionScorer:
    target = look_up_or_raise(module, qualname).func
    return FunctionScorer(target, parameters, batch=batch, metadata_schema=schema)


def _entry(explicit: CallArguments, position: int) -> dict[str, Any]:
    """One sample's metadata out of the lists that a batched function is called with."""
    lists = {name: value for name, value in explicit.items() if isinstance(value, list | tuple)}
    entry = {name: value[position] for name, value in lists.items() if position < len(value)}
    nested = entry.pop("metadata", None)
    return {**nested, **entry} if isinstance(nested, Mapping) else entry


async def _await(value: Any) -> Any:
    return await value
