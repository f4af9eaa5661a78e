"""RewardFunction, the one noun for a reward."""

from __future__ import annotations

import functools
import os
import sys
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from types import FunctionType, MethodType, TracebackType
from typing import TYPE_CHECKING, Any, Generic, TypeAlias, cast

from pydantic import ValidationError

from guerdon.checks import reason_of
from guerdon.errors import BindingError, DeadlineError, ExecutionError, InvalidResultError
from guerdon.reward import hooks
from guerdon.reward.binding.returns import is_result_error
from guerdon.reward.direct_call import by_name, coerced_batch, is_batch_call, sample_of
from guerdon.reward.export import as_function
from guerdon.reward.loading.callables import name_of
from guerdon.reward.loading.modules import loaded_files
from guerdon.reward.loading.names import find_target
from guerdon.reward.loading.pickling import LoadedFiles, look_up, look_up_or_raise, pickled_by_cloudpickle
from guerdon.reward.operators import scaled, times, total
from guerdon.reward.options import RewardOptions, is_number
from guerdon.reward.scorers.base import NO_ARGUMENTS, CallArguments, FunctionScorer, Scorer
from guerdon.reward.scorers.composite import Component, Composite
from guerdon.reward.scorers.event_loop import cancelled_itself, gather, run_coroutine
from guerdon.reward.trainer_methods import TrainerMethods
from guerdon.reward.versioning.version import DependencySnapshot, digest, in_progress
from guerdon.types import EvaluateResult, Provenance, Sample

_ERROR_LENGTH = 2000
DEFAULT_CONCURRENCY = 64


if TYPE_CHECKING:
    from typing_extensions import TypeVar  # the default makes a bare RewardFunction one of anything

    Operand: TypeAlias = "RewardFunction | float | Callable[..., Any]"
    Verdict = TypeVar("Verdict", default=Any, covariant=True)
else:
    from typing import TypeVar

    Verdict = TypeVar("Verdict")


class RewardFunction(TrainerMethods, Generic[Verdict]):
    """A reward, whatever is behind it: a function in any calling convention, a class, a composition, a server.

    Called like the function, it gives an EvaluateResult; an exception inside becomes a result whose
    ``error`` says what happened. It has a ``name``, a ``version`` (a hash of what decides its verdicts),
    and composes: ``0.7 * correct + 0.3 * brief``.

    >>> def exact(response: str, answer: str) -> bool:
    ...     return response == answer
    >>> RewardFunction(exact)(response="4", answer="4").score
    1.0

    ``func_path`` takes ``file.py::name``, ``pkg.mod:name`` or ``pkg.mod.name``; further keyword arguments
    are fixed arguments of the function. Raises BindingError where the function has no such parameter,
    ResolutionError where the path leads nowhere.

    A reward that a server scores: ``RewardFunction(endpoint="http://host:8000/rewards/math", mode="remote")``,
    ``RewardFunction(name="math", mode="remote")`` on the server of GUERDON_BASE_URL, and
    ``RewardFunction(model_id="…", mode="hosted")`` for a hosted reward model. Of the further arguments,
    ``api_key``, ``base_url``, ``format`` (``"v1"``, ``"adaptive"`` or ``"reward-kit"``; detected otherwise),
    ``timeout``, ``retries`` and ``ca_file`` say how it is called; the rest is sent with every sample.
    """

    def __init__(
        self,
        func: Any = None,
        func_path: str | None = None,
        *,
        mode: str = "local",
        name: str | None = None,
        endpoint: str | None = None,
        model_id: str | None = None,
        options: RewardOptions | None = None,
        **fixed_arguments: Any,
    ) -> None:
        if mode in hooks.REMOTE_MODES:
            if func is not None or func_path is not None:
                raise BindingError(
                    f'a reward in mode="{mode}" is not made of a function here; leave out func'
                )
            assert hooks.make_remote_scorer is not None
            spec = hooks.RemoteRewardSpec(
                mode=mode, name=name, endpoint=endpoint, model_id=model_id, arguments=fixed_arguments
            )
            self._set(hooks.make_remote_scorer(spec), replace(options or RewardOptions(), name=name))
            return
        if mode != "local":
            words = ", ".join(f'"{known}"' for known in ("local", *hooks.REMOTE_MODES))
            raise BindingError(
                f"mode must be one of {words}, not {mode!r} (pointwise or batch is said to reward_function)",
                mode=mode,
            )
        if endpoint is not None or model_id is not None:
            raise BindingError('endpoint and model_id belong to remote modes; this reward is mode="local"')
        if (func is None) == (func_path is None):
            raise BindingError("give either func or func_path")
        if func_path is not None or isinstance(func, str | os.PathLike):
            func = find_target(func_path if func_path is not None else func)
        self._build(func, fixed_arguments, options or RewardOptions(), name)

    @classmethod
    def of_target(cls, target: Any, parameters: Mapping[str, Any], name: str | None = None) -> RewardFunction:
        """A reward of a function, a class or a reward with parameters of any name, also ``name`` or ``mode``."""
        self = cls.__new__(cls)
        self._build(target, parameters, RewardOptions(), name)
        return self

    def _build(
        self, func: Any, fixed_arguments: Mapping[str, Any], options: RewardOptions, name: str | None
    ) -> None:
        if isinstance(func, RewardFunction):
            options = options if options != RewardOptions() else func.options
            func, fixed_arguments = func._refixed(fixed_arguments)
            composed = getattr(func, "composition", None)
            if composed is not None:  # another composition, with another scale
                options = replace(options, scale=composed.options.scale)
        batch = None if options.mode is None else options.mode == "batch"
        found = func if isinstance(func, Scorer) else hooks.foreign_scorer(func, fixed_arguments)
        scorer: Scorer = found or FunctionScorer(
            func, fixed_arguments, batch=batch, metadata_schema=options.metadata_schema
        )
        self._set(scorer, replace(options, name=name) if name is not None else options)

    @classmethod
    def of_scorer(cls, scorer: Scorer, options: RewardOptions) -> RewardFunction:
        """A reward around a scorer; the seam for what is not a function, such as a composition."""
        self = cls.__new__(cls)
        self._set(scorer, options)
        return self

    def _set(self, scorer: Scorer, options: RewardOptions) -> None:
        self._scorer = scorer
        self.options = options
        self.is_async = scorer.is_async
        """Whether it is scored on an event loop, many calls at once."""
        self.is_batch = scorer.is_batch
        """Whether the function behind takes lists of samples."""
        target = getattr(scorer, "target", None)
        behind = name_of(target) if target is not None else _name_of_scorer(scorer)
        self.name: str = options.name or behind
        self._version: str | None = None
        self._snapshot = DependencySnapshot()
        self._provenance: Provenance | None = None
        if target is not None:
            functools.update_wrapper(self, target, updated=())
        self.__name__ = self.name

    def _refixed(self, more: Mapping[str, Any]) -> tuple[Any, dict[str, Any]]:
        """What to build a reward from that has this one's function and more fixed arguments."""
        if isinstance(self._scorer, FunctionScorer):
            return self._scorer.target, {**self._scorer.parameters, **more}
        if more and not self._scorer.takes_parameters:
            raise BindingError(f"{self.name} is a composition and takes no parameters: {', '.join(more)}")
        return self._scorer.with_parameters(more) if more else self._scorer, {}

    # What a reward is.

    @property
    def version(self) -> str:
        """A short hash over source, parameters and components; the same in every process.

        Computed anew where a notebook's cell or a reload gave another meaning to a global name that the
        function refers to.
        """
        if (remote := self._scorer.remote_provenance()) is not None:
            return remote.version
        if id(self) in in_progress.open:  # a reward that calls itself
            in_progress.looped = True
            return "itself"
        outermost = not in_progress.open
        in_progress.open.add(id(self))
        try:
            if self._version is not None and self._snapshot.is_current():
                return self._version
            schema = self.options.metadata_schema
            fields = schema.model_json_schema() if schema is not None else None
            snapshot = DependencySnapshot()
            version = digest([self._scorer.fingerprint_data(snapshot), fields])
            # Seen from within a circle, a reward looks different than from outside.
            if outermost or not in_progress.looped:
                self._version, self._snapshot, self._provenance = version, snapshot, None
            return version
        finally:
            in_progress.open.discard(id(self))
            if outermost:
                in_progress.looped = False

    @property
    def provenance(self) -> Provenance:
        """Name, version and parameters, as every result of this reward carries them."""
        if (remote := self._scorer.remote_provenance()) is not None:
            return replace(remote, reward=self.options.name) if self.options.name else remote
        version = self.version  # before the rest: it forgets a provenance that holds no longer
        if self._provenance is None:
            self._provenance = Provenance(self.name, version, self.parameters)
        return self._provenance

    @property
    def parameters(self) -> Mapping[str, Any]:
        """The fixed arguments, or the make-up of a composition."""
        return self._scorer.parameters

    @property
    def func(self) -> Callable[..., Any] | None:
        """The user's own function, class or instance; None for a composition that no factory made."""
        target: Callable[..., Any] | None = getattr(self._scorer, "target", None)
        return target

    @property
    def components(self) -> tuple[Component, ...]:
        """The parts of a composition; empty for a plain reward."""
        components: tuple[Component, ...] = getattr(self._scorer, "components", ())
        return components

    @property
    def scorer(self) -> Scorer:
        """What is behind this reward."""
        return self._scorer

    @property
    def timeout(self) -> float | None:
        """Seconds that one call may take, where the reward or its components say so."""
        return self.options.timeout if self.options.timeout is not None else self._scorer.timeout

    @property
    def returns_awaitable(self) -> bool:
        """Whether calling the reward gives an awaitable; not where it is async because a server is asked."""
        return self._scorer.returns_awaitable

    @property
    def concurrency(self) -> int | None:
        """How many calls of an async reward may be in flight at once, where the reward says so."""
        return self.options.concurrency

    def missing(self, samples: Sequence[Sample]) -> tuple[str, list[str]] | None:
        """A required parameter that none of the samples supplies, with the columns that there are."""
        return self._scorer.missing(samples)

    def with_name(self, name: str) -> RewardFunction:
        """The same reward under another name, which is the name of its metric in a composition."""
        return RewardFunction.of_scorer(self._scorer, replace(self.options, name=name))

    def prepare(self) -> None:
        """Have the reward and its components do what they do once in a process, before the first sample."""
        for component in self.components:
            component.reward.prepare()
        if self.options.prepare is not None:
            self.options.prepare(**self.parameters)

    # Scoring one sample or a batch: never raises but for what is no Exception.

    def evaluate(self, sample: Sample, explicit: CallArguments = NO_ARGUMENTS) -> EvaluateResult:
        """The verdict on one sample, in this process and without a deadline; failures are results."""
        if self.is_async:
            return run_coroutine(self.aevaluate(sample, explicit))
        if self.is_batch:
            return self.evaluate_batch([sample], explicit)[0]
        try:
            result = self._scorer.score(sample, explicit)
        except (Exception, SystemExit) as error:  # the edge: what a reward raises is its sample's failure
            result = self.failure_of(error)
        result.__dict__["provenance"] = self._provenance or self.provenance
        return result

    async def aevaluate(self, sample: Sample, explicit: CallArguments = NO_ARGUMENTS) -> EvaluateResult:
        """The async twin of ``evaluate``; a sync reward is called as it is."""
        if not self.is_async:
            return self.evaluate(sample, explicit)
        if self.is_batch:
            return (await self.aevaluate_batch([sample], explicit))[0]
        try:
            result = await self._scorer.ascore(sample, explicit)
        except BaseException as error:  # the edge, as above
            if not isinstance(error, Exception | SystemExit) and not cancelled_itself(error):
                raise
            result = self.failure_of(error)
        if self._scorer.is_remote and result.provenance is not None:
            if self.options.name:
                result.__dict__["provenance"] = replace(result.provenance, reward=self.options.name)
        else:
            result.__dict__["provenance"] = self._provenance or self.provenance
        return result

    def evaluate_batch(
        self, samples: Sequence[Sample], explicit: CallArguments = NO_ARGUMENTS
    ) -> list[EvaluateResult]:
        """The verdicts on a batch, in order; where a batch call fails, each sample is scored alone."""
        if self.is_async and samples:
            return run_coroutine(self.aevaluate_batch(samples, explicit))
        if not self.is_batch or not samples:
            return [self.evaluate(sample, explicit) for sample in samples]
        try:
            results = self._scorer.score_batch(samples, explicit)
        except (Exception, SystemExit) as error:  # the edge, as above
            if len(samples) > 1:
                return [self.evaluate_batch([sample], explicit)[0] for sample in samples]
            results = [self.failure_of(error)]
        return self._stamped(results)

    async def aevaluate_batch(
        self, samples: Sequence[Sample], explicit: CallArguments = NO_ARGUMENTS
    ) -> list[EvaluateResult]:
        """The async twin of ``evaluate_batch``."""
        if not self.is_batch or not samples:
            calls = (self.aevaluate(sample, explicit) for sample in samples)
            return await gather(calls, self.concurrency or DEFAULT_CONCURRENCY)
        if not self.is_async:
            return self.evaluate_batch(samples, explicit)
        try:
            results = await self._scorer.ascore_batch(samples, explicit)
        except BaseException as error:  # the edge, as above
            if not isinstance(error, Exception | SystemExit) and not cancelled_itself(error):
                raise
            if len(samples) > 1:
                return [(await self.aevaluate_batch([sample], explicit))[0] for sample in samples]
            results = [self.failure_of(error)]
        return self._stamped(results)

    def _stamped(self, results: list[EvaluateResult]) -> list[EvaluateResult]:
        provenance = self.provenance
        for result in results:
            result.__dict__["provenance"] = provenance
        return results

    def failure_of(self, error: BaseException) -> EvaluateResult:
        """The result for what the reward raised, with the place in its source; the edge where errors end."""
        if isinstance(error, ValidationError) and is_result_error(error):
            text = f"{self.name} made an invalid result: {reason_of(error)}"
            error = InvalidResultError(text, reward=self.name).with_traceback(error.__traceback__)
        if isinstance(error, SystemExit):
            error = ExecutionError(f"{self.name} tried to exit: SystemExit({error.code!r})", reward=self.name)
        result = EvaluateResult.failure(error)
        text = (result.error or "")[:_ERROR_LENGTH]
        result.__dict__["error"] = text + self._where(error.__traceback__)
        return result

    def _where(self, traceback: TracebackType | None) -> str:
        """The deepest line of the user's own file that the exception came through."""
        code = getattr(getattr(self.func, "__call__", None), "__code__", None)
        file = getattr(getattr(self.func, "__code__", code), "co_filename", None)
        line = 0
        while traceback is not None and file is not None:
            if traceback.tb_frame.f_code.co_filename == file:
                line = traceback.tb_lineno
            traceback = traceback.tb_next
        return f" ({file.replace(chr(92), '/').rpartition('/')[2]}, line {line})" if line and file else ""

    # Calling it like the function.

    def __call__(self, *args: Any, **kwargs: Any) -> Verdict:
        """Call the reward as the function is called, by position or by name.

        Gives an EvaluateResult; an awaitable of one where the reward is async; a list where it scores
        batches and is called with lists. With a ``timeout`` the call runs in a worker process that is
        killed when it overruns, unless it ``enforces_timeout``. Raises BindingError and InputError for arguments
        that do not fit.
        """
        return cast("Verdict", self._called(args, kwargs))

    def _called(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        explicit = by_name(
            self.name,
            self._scorer.signature(),
            self.parameters,
            args,
            kwargs,
            any_name=self.options.metadata_schema is not None,
        )
        if self.is_batch and is_batch_call(explicit):
            return self._call_batch(explicit)
        sample, explicit = sample_of(explicit)
        self._scorer.check(sample, explicit)
        self.provenance  # noqa: B018  a notebook may have given anew what the function refers to
        if self.returns_awaitable:
            return self._acall(sample, explicit)
        trusted = self.options.enforces_timeout or self._scorer.is_remote
        if self.timeout is not None and hooks.run_isolated is not None and not trusted:
            result = hooks.run_isolated(self, sample, explicit, self.timeout)
            result.__dict__["provenance"] = self.provenance
        else:
            result = self.evaluate(sample, explicit)
        return self._delivered(result)

    async def _acall(self, sample: Sample, explicit: CallArguments) -> EvaluateResult:
        if self.timeout is not None and hooks.run_isolated is not None and not self.options.enforces_timeout:
            import asyncio

            result = await asyncio.to_thread(hooks.run_isolated, self, sample, explicit, self.timeout)
            result.__dict__["provenance"] = self.provenance
            return self._delivered(result)
        return self._delivered(await self._within_timeout(self.aevaluate(sample, explicit)))

    async def _within_timeout(self, verdict: Awaitable[EvaluateResult]) -> EvaluateResult:
        """The verdict of an async call on this event loop, which is cancelled at its deadline."""
        import asyncio

        try:
            async with asyncio.timeout(self.timeout) as deadline:
                return await verdict
        except TimeoutError:
            if not deadline.expired():
                raise
            error = DeadlineError(f"{self.name} did not end within {self.timeout:g} s", reward=self.name)
            return self._stamped([EvaluateResult.failure(error)])[0]

    def _delivered(self, result: EvaluateResult) -> EvaluateResult:
        if result.failed and self.options.on_error == "raise":
            result.unwrap()
        return result

    def _call_batch(self, explicit: dict[str, Any]) -> Any:
        """The function called with the lists as they are given."""
        scorer = self._scorer
        if not isinstance(scorer, FunctionScorer):
            raise BindingError(f"{self.name} is a composition: call it with one sample, or score many")
        size = max((len(v) for v in explicit.values() if isinstance(v, list | tuple)), default=1)
        samples = [Sample(messages=[]) for _ in range(size)]
        explicit = {name: coerced_batch(name, value) for name, value in explicit.items()}

        async def run_async() -> list[EvaluateResult]:
            try:
                results = await scorer.ascore_batch(samples, explicit)
            except BindingError:
                raise
            except (Exception, SystemExit) as error:  # the edge, as above
                results = [self.failure_of(error) for _ in samples]
            return self._delivered_all(results)

        if self.is_async:
            return run_async()
        try:
            results = scorer.score_batch(samples, explicit)
        except BindingError:
            raise
        except (Exception, SystemExit) as error:  # the edge, as above
            results = [self.failure_of(error) for _ in samples]
        return self._delivered_all(results)

    def _delivered_all(self, results: list[EvaluateResult]) -> list[EvaluateResult]:
        return [self._delivered(result) for result in self._stamped(results)]

    def __get__(self, instance: Any, owner: type | None = None) -> RewardFunction:
        """As a method, the reward is bound to its instance like any function."""
        target = self.func
        if instance is None or not isinstance(target, FunctionType):
            return self
        return RewardFunction(MethodType(target, instance), options=self.options, **self.parameters)

    # Arithmetic: sums are weighted compositions, products of rewards are products.

    @property
    def mergeable(self) -> Composite | None:
        """The composition whose parts a larger one may take over; a name of its own keeps it whole."""
        scorer = self._scorer
        if isinstance(scorer, Composite) and self.options.name is None and scorer.on_failure == "fail":
            return scorer
        return None

    def __add__(self, other: Operand) -> RewardFunction:
        operand = _operand(other)
        return NotImplemented if operand is None else composition(total(self, operand))

    __radd__ = __add__

    def __sub__(self, other: Operand) -> RewardFunction:
        operand = _operand(other)
        return NotImplemented if operand is None else composition(total(self, operand, sign=-1.0))

    def __rsub__(self, other: Operand) -> RewardFunction:
        return -self + other

    def __neg__(self) -> RewardFunction:
        return composition(scaled(self, -1.0))

    def __mul__(self, other: Operand) -> RewardFunction:
        operand = _operand(other)
        if operand is None:
            return NotImplemented
        return composition(
            times(self, operand) if isinstance(operand, RewardFunction) else scaled(self, operand)
        )

    __rmul__ = __mul__

    def __truediv__(self, other: float) -> RewardFunction:
        if not is_number(other):
            return NotImplemented
        if other == 0:
            raise BindingError("a reward cannot be divided by 0")
        return composition(scaled(self, 1.0 / other))

    # Other forms of the same reward.

    def as_function(self, convention: str, on_failure: str | float | None = None) -> Callable[..., Any]:
        """The reward as a function in one of the field's conventions; a trainer's is what ``to`` gives.

        ``convention`` is ``trl``, ``tunix``, ``verl``, ``openrlhf``, ``response`` or ``reward-kit``;
        ``on_failure`` is ``"raise"``, ``"skip"`` (None in place of a score) or a number, by default what
        the convention's caller can bear. Raises BindingError for an unknown convention.
        """
        return as_function(self, convention, on_failure)

    def __repr__(self) -> str:
        return f"<RewardFunction {self.name} {self.version}>"

    def __eq__(self, other: object) -> bool:
        """Rewards are equal that have the same name and the same version."""
        if not isinstance(other, RewardFunction):
            return NotImplemented
        return self is other or (self.name, self.version) == (other.name, other.version)

    def __hash__(self) -> int:
        return hash((self.name, self.version))

    def __reduce__(self) -> tuple[Any, ...]:
        # By reference where the name leads back here: what the function's module holds (a loaded model, a
        # lock) need not pickle then. By value otherwise, with the version, since source may not travel.
        # A script's own names are references for pickle, whose other processes know the script (those of
        # multiprocessing), but not for cloudpickle, whose processes need not.
        module, qualname = getattr(self, "__module__", None), getattr(self, "__qualname__", "")
        here = module != "__main__" or not pickled_by_cloudpickle(sys._getframe(1))
        if module and here and look_up(module, qualname) is self:
            files = {n: p for n, p in loaded_files().items() if n == module}
            return look_up_or_raise, (module, qualname, files)
        self.provenance  # noqa: B018  computed before it travels
        state = {k: v for k, v in self.__dict__.items() if k not in ("__wrapped__", "_snapshot")}
        return _restored, (LoadedFiles(), state)


def _restored(_: Any, state: dict[str, Any]) -> RewardFunction:
    reward = RewardFunction.__new__(RewardFunction)
    reward.__dict__.update(state, _snapshot=DependencySnapshot())
    return reward


def _operand(other: Any) -> RewardFunction | float | None:
    """What stands beside a reward in a sum or a product; a plain function becomes a reward."""
    if isinstance(other, RewardFunction):
        return other
    if is_number(other):
        return float(other)
    return RewardFunction(other) if callable(other) else None


def _name_of_scorer(scorer: Scorer) -> str:
    return str(getattr(scorer, "name", None) or getattr(scorer, "op", "reward"))


def composition(scorer: Composite, name: str | None = None) -> RewardFunction:
    """A reward around a composite scorer."""
    return RewardFunction.of_scorer(scorer, RewardOptions(name=name))
