"""Adapter: a reward as one trainer calls it, with what all trainers need alike."""

from __future__ import annotations

import asyncio
import logging
import re
import threading
import time
import weakref
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from guerdon.checks import finite
from guerdon.errors import BindingError, InputError, InvalidResultError, WrongLengthError
from guerdon.reward.binding.returns import not_asked_again
from guerdon.reward.function import RewardFunction
from guerdon.reward.registry import resolve
from guerdon.scoring.column_checks import check_parameters
from guerdon.scoring.persistent import PersistentEngine
from guerdon.scoring.run import RunOptions, limits_of, score
from guerdon.types import EvaluateResult, Sample

OnFailure = Literal["raise", "skip"] | float
logger = logging.getLogger("guerdon.trainers")
_LARGEST = 3.4028234663852886e38
"""The largest finite number of 32 bits (IEEE 754)."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ScoredBatch:
    """What was scored in one call by a trainer, for the observer."""

    samples: Sequence[Sample]
    results: Sequence[EvaluateResult]
    seconds: float
    """From the call to the last verdict."""
    step: int | None
    """The training step, if the trainer gives it."""
    mode: str
    """``train`` or ``eval``."""
    adapter: Adapter


class MalformedSample(Sample):
    """In place of a sample that a trainer handed over malformed: it fails with the ``error``, the others are scored."""

    __slots__ = ("error",)

    def __init__(self, error: InputError) -> None:
        super().__init__(messages=[])
        self.error = error

    def __reduce__(self) -> tuple[Any, ...]:
        return MalformedSample, (self.error,)


class Failures:
    """How many samples a trainer had scored, and what failed of them. Safe in threads."""

    def __init__(self) -> None:
        self.calls = 0
        """Samples scored so far, failed ones included."""
        self.not_applicable = 0
        self.by_kind: dict[str, int] = {}
        self._lock = threading.Lock()

    @property
    def total(self) -> int:
        """Samples that failed."""
        return sum(self.by_kind.values())

    def count(self, name: str, results: Iterable[EvaluateResult]) -> None:
        """Count a batch; of each kind the first, second, fourth, eighth … failure is logged."""
        for result in results:
            with self._lock:
                self.calls += 1
                if result.error is None:
                    self.not_applicable += result.score is None
                    continue
                kind = result.error_kind or "error"
                count = self.by_kind[kind] = self.by_kind.get(kind, 0) + 1
                total, calls = self.total, self.calls
            if count & (count - 1) == 0:
                logger.warning(
                    "%s: %s: %s (%d of %d samples failed so far)", name, kind, result.error, total, calls
                )

    def __reduce__(self) -> tuple[Any, ...]:
        return Failures, ()


class Adapter:
    """A reward as a trainer calls it; each trainer's module has its own subclass.

    ``reward`` is anything that resolves. ``on_failure`` says what a failed sample becomes: ``"raise"``,
    ``"skip"`` (None) or a number, by default what the trainer can bear; a sample to which the reward does not
    apply is None, or 0 under a number. ``components`` names the component keys where they are to be constant and
    the reward is no composition, which names its own. ``timeout``, ``workers``, ``concurrency`` and ``max_memory``
    are those of ``guerdon.score``. ``observe`` is called with each ScoredBatch.

    Raises BindingError for an unknown policy, ResolutionError where the reward is not found, MissingExtraError or
    RemoteError where a package or a server that the reward needs is not there.

    >>> from guerdon import Sample
    >>> adapter = Adapter(lambda response: float(len(response)), on_failure=0.0, workers=0)
    >>> [result.score for result in adapter.results([Sample([{"role": "assistant", "content": "four"}])])]
    [4.0]
    """

    trainer: ClassVar[str] = "any"
    default_failure: ClassVar[OnFailure] = 0.0

    def __init__(
        self,
        reward: Any,
        *,
        on_failure: OnFailure | None = None,
        name: str | None = None,
        components: Sequence[str] | None = None,
        timeout: float | None = None,
        workers: int | None = None,
        concurrency: int | None = None,
        max_memory: int | str | None = None,
        observe: Callable[[ScoredBatch], None] | None = None,
    ) -> None:
        self.reward: RewardFunction = resolve(reward)
        self.reward.check_ready()
        self.on_failure = _policy(self.default_failure if on_failure is None else on_failure)
        self.observe = observe
        self.failures = Failures()
        self.components = tuple(components or (c.name for c in self.reward.components))
        """The keys that ``parts`` gives for every sample."""
        self.__name__ = self.__qualname__ = _names.unique(name or self.reward.name, self)
        self.__doc__ = self.reward.__doc__
        self._options = RunOptions(
            timeout=timeout, workers=workers, concurrency=concurrency, max_memory=max_memory
        )
        self._limits = limits_of(self.reward, self._options, None)
        self._checked = False
        self._refusal: str | None = None
        """What every sample fails with, once the reward has returned a wrong number of results."""
        self._engine: PersistentEngine | None = None
        self._lock = threading.Lock()

    # Scoring.

    def results(
        self, samples: Sequence[Sample], *, step: int | None = None, mode: str = "train"
    ) -> list[EvaluateResult]:
        """The verdicts in order, from the engine; each sample has its deadline from when its call starts.

        A MalformedSample fails; the reward does not see it. Raises BindingError where no sample supplies a parameter
        that the reward needs.
        """
        samples, good = self._begin(samples, step)
        started = time.perf_counter()
        if self._refusal is not None:
            results = self._refused(good)
        elif self.reward.is_batch and len(good) > 1:
            results = self._in_batches(good)
        else:
            results = self._awaited(good)
        return self._end(samples, results, started, step, mode)

    async def aresults(
        self, samples: Sequence[Sample], *, step: int | None = None, mode: str = "train"
    ) -> list[EvaluateResult]:
        """The async twin of ``results``: the event loop stays free, any number of calls are under way."""
        samples, good = self._begin(samples, step)
        started = time.perf_counter()
        if self._refusal is not None:
            results = self._refused(good)
        elif self.reward.is_batch and len(good) > 1:
            results = await asyncio.to_thread(self._in_batches, good)
        elif self._limits.workers == 0 and not self.reward.is_async:
            results = await asyncio.to_thread(self._awaited, good)
        else:
            answers = self._ensure_engine().submit(good)
            results = list(await asyncio.gather(*map(asyncio.wrap_future, answers)))
        return self._end(samples, results, started, step, mode)

    def _begin(self, samples: Sequence[Sample], step: int | None) -> tuple[list[Sample], list[Sample]]:
        """All samples of a call, and those that can be scored."""
        samples = list(samples)
        if step is not None:
            for sample in samples:
                sample.metadata.setdefault("step", step)  # a column of that name is the data's own
        good = [sample for sample in samples if type(sample) is not MalformedSample]
        if not self._checked and good:
            check_parameters(self.reward, good)
            self._checked = True
        return samples, good

    def _end(
        self,
        samples: list[Sample],
        results: list[EvaluateResult],
        started: float,
        step: int | None,
        mode: str,
    ) -> list[EvaluateResult]:
        """The verdicts on all samples, the malformed ones among them, once they are counted and observed."""
        wrong = next((r.error for r in results if r.error_kind == WrongLengthError.kind), None)
        if wrong is not None and self._refusal is None:
            self._refusal = not_asked_again(wrong)
        if len(results) < len(samples):
            results = self._with_malformed(samples, results)
        self.failures.count(self.__name__, results)
        if self.observe is not None:
            self.observe(
                ScoredBatch(
                    samples=samples,
                    results=results,
                    seconds=time.perf_counter() - started,
                    step=step,
                    mode=mode,
                    adapter=self,
                )
            )
        return results

    def _with_malformed(
        self, samples: Sequence[Sample], results: Sequence[EvaluateResult]
    ) -> list[EvaluateResult]:
        made_by, scored = self.reward.provenance, iter(results)
        return [
            EvaluateResult.failure(sample.error).with_provenance(made_by)
            if isinstance(sample, MalformedSample)
            else next(scored)
            for sample in samples
        ]

    def _awaited(self, samples: list[Sample]) -> list[EvaluateResult]:
        answers = self._ensure_engine().submit(samples)
        try:
            return [answer.result() for answer in answers]
        except BaseException:  # Ctrl-C, say: what nobody waits for is not begun
            for answer in answers:
                answer.cancel()
            raise

    def _in_batches(self, samples: list[Sample]) -> list[EvaluateResult]:
        options = self._options
        return list(
            score(
                self.reward,
                samples,
                timeout=options.timeout,
                workers=options.workers,
                concurrency=options.concurrency,
                max_memory=options.max_memory,
                on_error="result",
                text=False,
                progress=False,
            )
        )

    def _refused(self, samples: list[Sample]) -> list[EvaluateResult]:
        """The failures of samples for which a reward that returned a wrong number of results is not asked."""
        made_by = self.reward.provenance
        error = self._refusal or ""
        return [
            EvaluateResult(error=error, error_kind=WrongLengthError.kind, provenance=made_by) for _ in samples
        ]

    def _ensure_engine(self) -> PersistentEngine:
        with self._lock:
            if self._engine is None:
                self._engine = PersistentEngine(self.reward, self._limits)
            return self._engine

    # What a trainer gets.

    def number(self, result: EvaluateResult) -> float | None:
        """The score, or what the policy makes of a sample without one; None under ``"skip"`` only.

        A score beyond what a trainer's 32-bit floats hold counts as a failure, since it would be infinite there.
        Raises the failure, or NotApplicableError, under ``"raise"``.
        """
        if result.score is not None and abs(result.score) <= _LARGEST:
            return result.score
        if self.on_failure == "raise":
            if result.score is not None:
                raise InvalidResultError(f"{self.__name__}: {result.score:g} is too large for a 32-bit float")
            return result.unwrap()
        if self.on_failure == "skip":
            return None
        return float(self.on_failure) if result.failed or result.score is not None else 0.0

    def parts(self, result: EvaluateResult) -> dict[str, float]:
        """The components' scores, always under the same keys; where one is absent, what the policy says, or 0."""
        absent = 0.0 if isinstance(self.on_failure, str) or not result.failed else float(self.on_failure)
        metrics: Mapping[str, Any] = result.metrics
        return {name: metrics[name].score if name in metrics else absent for name in self.components}

    def close(self) -> None:
        """Stop the worker processes; a further call starts new ones."""
        with self._lock:
            if self._engine is not None:
                self._engine.close()
                self._engine = None

    def __getstate__(self) -> dict[str, Any]:
        left = ("_lock", "_engine", "observe", "failures")
        return {name: value for name, value in self.__dict__.items() if name not in left}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state, _lock=threading.Lock(), _engine=None, observe=None, failures=Failures())
        _names.unique(self.__name__, self)  # no other reward is to get it in this process

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.__name__} of {self.reward!r}>"


class _Names:
    """The names under which trainers know rewards, so that no two rewards share one while both are in use."""

    def __init__(self) -> None:
        self._holders: weakref.WeakValueDictionary[str, Adapter] = weakref.WeakValueDictionary()
        self._lock = threading.Lock()

    def unique(self, name: str, adapter: Adapter) -> str:
        """The name in letters that metrics can bear, with the version added where another reward has it."""
        known, version = re.sub(r"[^\w.-]", "_", name) or "reward", adapter.reward.version
        with self._lock:
            for candidate in (known, f"{known}_{version[:6]}", f"{known}_{version}"):
                holder = self._holders.get(candidate)
                if holder is None or holder.reward.version == version:
                    self._holders[candidate] = adapter
                    return candidate
        return f"{known}_{version}"


_names = _Names()


def _policy(given: Any) -> OnFailure:
    if given in ("raise", "skip"):
        return "raise" if given == "raise" else "skip"
    try:
        number = finite(given, "on_failure")
        if abs(number) <= _LARGEST:
            return number
        raise ValueError
    except ValueError:
        raise BindingError(f'on_failure must be "raise", "skip" or a number, not {given!r}') from None
