"""Compositions with parameters: a function that makes one, registered and called like any other reward."""

from __future__ import annotations

import difflib
import inspect
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from guerdon.errors import BindingError, RewardError
from guerdon.reward.binding.parameter_checks import check_values
from guerdon.reward.binding.signature import no_such_parameter, signature_of
from guerdon.reward.function import RewardFunction
from guerdon.reward.loading.pickling import look_up, look_up_or_raise
from guerdon.reward.options import RewardOptions
from guerdon.reward.scorers.base import Scorer
from guerdon.reward.scorers.component import CallArguments
from guerdon.reward.versioning.snapshot import DependencySnapshot
from guerdon.types import EvaluateResult, Sample

Build = Callable[..., RewardFunction]


def composition_factory(build: Build) -> RewardFunction:
    """Make a reward of a function that makes one out of its parameters, each of which has a default.

    The parameters are set where the reward is asked for: ``get_reward_function(name, maximum=500)``, or
    ``--param maximum=500``. What the function gives is a composition, whose components show in the metrics as
    ever; a scale among its options becomes the reward's.

    >>> from guerdon.reward.compose import weighted
    >>> from guerdon.reward.registry import get_reward_function
    >>> @composition_factory
    ... def long_or_loud(loud: float = 0.5) -> RewardFunction:
    ...     long = RewardFunction(lambda response: len(response) > 20, name="long")
    ...     loudly = RewardFunction(lambda response: response.isupper(), name="loudly")
    ...     return weighted(long, loudly, weights=[1 - float(loud), float(loud)])
    >>> long_or_loud(response="YES").score, get_reward_function(long_or_loud, loud=0.9)(response="YES").score
    (0.5, 0.9)

    Raises BindingError where a parameter has no default or a value does not fit its annotation, and what the function
    raises.
    """
    scorer = FactoryScorer(build, {})
    return RewardFunction.of_scorer(
        scorer, RewardOptions(name=build.__name__, scale=scorer.composition.options.scale)
    )


class FactoryScorer(Scorer):
    """A composition, with the function that makes it and the parameters that it was made with."""

    def __init__(self, build: Build, given: Mapping[str, Any]) -> None:
        signature = signature_of(build, build.__name__)
        unknown = [name for name in given if name not in signature.names]
        if unknown and not signature.takes_kwargs:
            raise BindingError(no_such_parameter(signature, unknown[0]), parameter=unknown[0])
        if needed := [p.name for p in signature.parameters if p.required]:
            raise BindingError(
                f"a composition factory needs a default for every parameter; {build.__name__} has none for {needed[0]}"
            )
        self.target = build
        self.given = dict(given)
        own = {n: v for n, v in given.items() if n not in unknown and not _reads_as_number(v)}
        try:
            self.composition = build(**given)
        except BindingError as error:
            # A component refused a parameter that was passed on; it may be one of the composition's own, misspelt.
            name = error.about.get("parameter")
            if name in unknown and difflib.get_close_matches(name, signature.names, n=1):
                raise BindingError(no_such_parameter(signature, name), parameter=name) from None
            raise
        except RewardError:
            raise
        except Exception:
            check_values(build.__name__, build, own)  # it says more than whatever the function stumbled over
            raise
        check_values(build.__name__, build, own)
        self.components = self.composition.components
        self.is_async = self.composition.is_async
        self.is_batch = self.composition.is_batch
        self.timeout = self.composition.timeout

    takes_parameters = True

    @property
    def returns_awaitable(self) -> bool:
        return self.composition.returns_awaitable

    @property
    def parameters(self) -> Mapping[str, Any]:
        shown = {n: v.name if isinstance(v, RewardFunction) else v for n, v in self.given.items()}
        return {**shown, **self.composition.parameters}

    @property
    def settable(self) -> tuple[inspect.Parameter, ...]:
        """The parameters of the function."""
        return tuple(inspect.signature(self.target).parameters.values())

    def with_parameters(self, more: Mapping[str, Any]) -> FactoryScorer:
        return FactoryScorer(self.target, {**self.given, **more})

    def adapted_options(self, options: RewardOptions) -> RewardOptions:
        """The options with the scale of the composition that the parameters make."""
        return replace(options, scale=self.composition.options.scale)

    def fingerprint_data(self, snapshot: DependencySnapshot) -> Any:
        return self.composition.scorer.fingerprint_data(snapshot)

    def score(self, sample: Sample, explicit: CallArguments) -> EvaluateResult:
        return self.composition.scorer.score(sample, explicit)

    async def ascore(self, sample: Sample, explicit: CallArguments) -> EvaluateResult:
        return await self.composition.scorer.ascore(sample, explicit)

    def score_batch(self, samples: Sequence[Sample], explicit: CallArguments) -> list[EvaluateResult]:
        return self.composition.scorer.score_batch(samples, explicit)

    async def ascore_batch(self, samples: Sequence[Sample], explicit: CallArguments) -> list[EvaluateResult]:
        return await self.composition.scorer.ascore_batch(samples, explicit)

    def missing(self, samples: Sequence[Sample]) -> tuple[str, list[str]] | None:
        return self.composition.missing(samples)

    def __reduce__(self) -> str | tuple[Any, ...]:
        # The function's own name leads to the reward made of it, so it does not pickle by reference itself.
        module, qualname = self.target.__module__, self.target.__qualname__
        found = look_up(module, qualname)
        if isinstance(found, RewardFunction) and found.func is self.target:
            return _rebuild, (module, qualname, self.given)
        return super().__reduce__()


def _reads_as_number(value: Any) -> bool:
    """Whether a value is text such as ``"0.5"``, which the function may take for a number."""
    try:
        return isinstance(value, str) and math.isfinite(float(value))
    except ValueError:
        return False


def _rebuild(module: str, qualname: str, given: Mapping[str, Any]) -> FactoryScorer:
    return FactoryScorer(look_up_or_raise(module, qualname).func, given)
