"""The contract that every reward of the catalogue keeps, as a check for any other reward."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from guerdon.errors import InputError, MissingExtraError
from guerdon.reward.function import RewardFunction
from guerdon.reward.registry import resolve
from guerdon.scoring.outcome import Outcome
from guerdon.scoring.run import score
from guerdon.settings import setting
from guerdon.testing.adversarial import MALFORMED_TRUTHS, malformed_rows
from guerdon.testing.call_modes import (
    CALL_MODES,
    CheckedReward,
    HangError,
    call_by_mode,
    in_workers,
    is_sendable,
)
from guerdon.testing.inputs import ContractInput, inputs_of
from guerdon.types import Sample

REPEATS = 3
_SHOWN = 5
"""How many examples of one violation are listed."""
_EXCERPT = 80
_LARGE = 500_000
"""Adversarial responses of more characters are scored in fewer modes."""
# Failures that a reward may give in place of a score. All others are violations.
_CLEAN = frozenset({"input", "binding", "not_applicable"})


@dataclass(frozen=True, slots=True)
class ContractReport:
    """What a reward that keeps the contract was checked with."""

    reward: str
    version: str
    scale: tuple[float, float] | None
    """The lowest and the highest score that it may give; None where it declares none and none was given."""
    rows: int
    adversarial: int
    """Adversarial responses, malformed rows and malformed expected answers."""
    modes: tuple[str, ...]
    left_out: dict[str, str]
    """Modes that were not tried, and why: a package that is not installed."""
    failures: dict[str, int]
    """How many of all of them it answered with a failure, by kind."""
    lowest: float | None
    highest: float | None
    slowest: str
    """What took longest: a row or the name of an adversarial response."""
    slowest_seconds: float


def check_reward(
    reward: Any,
    rows: str | Path | Iterable[Mapping[str, Any] | Sample],
    *,
    scale: tuple[float, float] | None = None,
    timeout: float | None = None,
    modes: Sequence[str] | None = None,
    tolerance: float = 0.0,
    ignore: Sequence[str] = (),
    malformed: Sequence[Any] = MALFORMED_TRUTHS,
    seed: int = 0,
    **parameters: Any,
) -> ContractReport:
    """Fail unless a reward keeps the contract that every entry of the catalogue keeps.

    ``reward`` is anything that resolves, ``parameters`` are its parameters; ``rows`` are samples that suit
    it: a file or a list of cases or of rows in chat form. Then

    - every row gives the same verdict, score and metrics, three times over, alone, in a batch that holds it
      twice, in another order, from 16 threads, in worker processes and over HTTP;
    - every score is finite and in the reward's ``scale``, by default the one that it declares;
    - every row is done within ``timeout`` seconds, by default the reward's own limit, else 10;
    - some 70 adversarial responses in place of the first row's (empty, 1 MB, 10,000 nested brackets, NUL, lone
      surrogates, what makes regular expressions or numbers explode) give a score in the scale or a failure
      of the kind ``input``; one that ends at the deadline is allowed to a reward that states a ``timeout``;
    - rows that are not a conversation, and ``malformed`` expected answers where the reward needs one, are
      failures and never a score.

    ``modes`` names the ways to call it, by default all; ``http`` needs the extra ``serve``, without which it is
    named in ``left_out``, and leaves out texts with lone surrogates, which JSON cannot carry. ``tolerance`` is how far
    scores and metrics of one sample may be apart, for models whose sums depend on the batch; ``ignore``
    names metrics that may differ, such as times.

    Raises AssertionError that lists each violation with its row; InputError where no row suits the reward.

    >>> def brief(response: str) -> float:
    ...     return 1.0 if len(response) < 100 else 0.0
    >>> check_reward(brief, [{"response": "Yes."}], scale=(0, 1), modes=("call", "thread")).lowest
    0.0
    """
    __tracebackhide__ = True
    found = resolve(reward, **parameters)
    wanted = tuple(CALL_MODES if modes is None else modes)
    if unknown := [mode for mode in wanted if mode not in CALL_MODES]:
        raise InputError(f"modes must be some of {', '.join(CALL_MODES)}, not {unknown[0]!r}")
    own = timeout if timeout is not None else found.timeout
    scale = scale if scale is not None else found.options.scale
    inputs = inputs_of(found, rows, malformed)
    checked = CheckedReward(
        found, setting("timeout", own), seed, sum(not given.adversarial for given in inputs)
    )
    check = _Check(checked, scale, tolerance, frozenset(ignore), inputs)
    check.baseline()
    check.malformed()
    if not check.broken and (refusal := check.refusal()) is not None:
        raise InputError(f"{found.name} scores none of the rows, so that nothing is checked: {refusal}")
    left_out: dict[str, str] = {}
    for mode in wanted:
        try:
            check.in_mode(mode)
        except MissingExtraError as error:
            if modes is not None or mode != "http":
                raise
            left_out[mode] = str(error)
    if check.broken:
        raise AssertionError(_described(found, check.broken))
    return _report(check, wanted, left_out)


# The check.


class _Check:
    """One reward under check, and the violations found so far."""

    def __init__(
        self,
        checked: CheckedReward,
        scale: tuple[float, float] | None,
        tolerance: float,
        ignore: frozenset[str],
        inputs: list[ContractInput],
    ) -> None:
        self.checked, self.scale, self.inputs = checked, scale, inputs
        self._tolerance, self._ignore = tolerance, ignore
        self.broken: dict[str, list[str]] = {}
        """Each violation with its examples."""
        self.refused = 0

    def _add(self, what: str, example: str) -> None:
        self.broken.setdefault(what, []).append(" ".join(example.split()))

    def baseline(self) -> None:
        """Score everything in a worker process, which survives what a reward does, and judge it."""
        outcomes, seconds = in_workers(self.checked, [given.sample for given in self.inputs])
        for given, outcome, took in zip(self.inputs, outcomes, seconds, strict=True):
            given.outcome = outcome
            given.seconds = max(took, self.checked.timeout) if outcome.kind == "timeout" else took
            if fault := self._fault(given):
                self._add(fault.partition(" ")[0], f"{given.name}: {fault}{_excerpt(given)}")
        # The adversarial ones are repeated by the call modes.
        rows = [given for given in self._repeatable() if not given.adversarial]
        again, _ = in_workers(self.checked, [given.sample for _ in range(REPEATS - 1) for given in rows])
        repeats = [[again[n + r * len(rows)] for r in range(REPEATS - 1)] for n in range(len(rows))]
        self._compare(rows, repeats, "when it is scored again")

    def malformed(self) -> None:
        """Score what is not a conversation, among rows that are."""
        good = self.inputs[0].sample
        rows = malformed_rows()
        results = score(
            self.checked.reward,
            [good, *rows.values()],
            timeout=self.checked.timeout,
            workers=1,
            on_error="result",
        )
        self.refused = len(rows)
        for name, result in zip(rows, list(results)[1:], strict=True):
            if result.error_kind != "input":
                got = (
                    f"a failure of kind {result.error_kind}" if result.failed else f"the score {result.score}"
                )
                self._add("refuses", f"a row with {name}: should be refused as input, and gives {got}")

    def refusal(self) -> str | None:
        """Why no row has a score, such as a parameter that the reward lacks; None where one has."""
        rows = [given for given in self.inputs if not given.adversarial]
        if any(given.outcome.score is not None for given in rows):
            return None
        return rows[0].outcome.error or rows[0].outcome.reason or "it does not apply to them"

    def in_mode(self, name: str) -> None:
        """Compare with the verdicts of another call mode."""
        repeatable = self._repeatable()
        if name == "http":
            repeatable = [given for given in repeatable if is_sendable(given.sample)]
        elif name != "call":  # a megabyte takes long and shows nothing new in batches and threads
            repeatable = [
                given for given in repeatable if len(given.sample.response) <= _LARGE or not given.adversarial
            ]
        try:
            outcomes = call_by_mode(name, self.checked, [given.sample for given in repeatable])
        except HangError:
            self._add(f"in mode {name}", f"in mode {name}: it does not end")
            return
        self._compare(repeatable, outcomes, f"in mode {name}")

    def _repeatable(self) -> list[ContractInput]:
        """The inputs that can be run anywhere: what overran or ended its process would do so here."""
        return [t for t in self.inputs if t.outcome.kind not in ("timeout", "crash", "memory")]

    def _fault(self, given: ContractInput) -> str | None:
        """What is wrong with a verdict; None if nothing is."""
        outcome = given.outcome
        if outcome.error is not None:
            return self._failure_fault(given)
        if given.must_fail:
            return f"should be a failure, and gives {_verdict(outcome)}"
        if outcome.score is None:
            return None
        if not math.isfinite(outcome.score):
            return f"the score {outcome.score} is not finite"
        if self.scale is not None and not self.scale[0] <= outcome.score <= self.scale[1]:
            return (
                f"the score {outcome.score:g} is outside of the scale {self.scale[0]:g} to {self.scale[1]:g}"
            )
        return None

    def _failure_fault(self, given: ContractInput) -> str | None:
        kind, error = given.outcome.kind, given.outcome.error
        if kind in _CLEAN or kind in given.may_fail:
            return None
        if kind == "timeout":
            if given.adversarial and self.checked.reward.timeout is not None:
                return None
            return f"takes more than {self.checked.timeout:g} s"
        said = {
            "exception": "raises",
            "crash": "ends the process",
            "memory": "outgrows the memory that a worker may have",
            "invalid_result": "gives something that is not a result",
        }.get(kind or "", f"fails with {kind}")
        return f"{said}: {error}"

    def _compare(
        self, inputs: Sequence[ContractInput], outcomes: Sequence[Sequence[Outcome]], when: str
    ) -> None:
        for given, several in zip(inputs, outcomes, strict=True):
            for outcome in several:
                if difference := self._difference(given.outcome, outcome):
                    self._add(when, f"{given.name}: {when}, {difference}{_excerpt(given)}")
                    break

    def _difference(self, first: Outcome, second: Outcome) -> str | None:
        """How two verdicts on one sample differ; None if they do not."""
        if first.kind != second.kind or not self._close(first.score, second.score):
            return f"it gives {_verdict(second)} in place of {_verdict(first)}"
        one, other = (dict(outcome.metrics or {}) for outcome in (first, second))
        for name in {**one, **other}:
            if name in self._ignore:
                continue
            a, b = one.get(name), other.get(name)
            if a is None or b is None:
                return f"the metric {name} {'appears' if a is None else 'is gone'}"
            if not self._close(a[0], b[0]) or a[1] != b[1]:
                return f"the metric {name} is {b[0]:.10g} in place of {a[0]:.10g}"
        return None

    def _close(self, first: float | None, second: float | None) -> bool:
        if first is None or second is None:
            return first is second
        return first == second or abs(first - second) <= self._tolerance


def _verdict(outcome: Outcome) -> str:
    if outcome.error is not None:
        return f"a failure of kind {outcome.kind} ({outcome.error})"
    return "no score, since it does not apply" if outcome.score is None else f"the score {outcome.score:.10g}"


def _excerpt(given: ContractInput) -> str:
    """The response, so that the row can be found."""
    if given.adversarial:
        return ""
    text = given.sample.response
    return f"; response {text if len(text) <= _EXCERPT else text[: _EXCERPT - 1] + '…'!r}"


def _described(reward: RewardFunction, broken: Mapping[str, Sequence[str]]) -> str:
    count = f"{len(broken)} {'way' if len(broken) == 1 else 'ways'}"
    lines = [f"{reward.name} breaks the contract of a reward in {count}:"]
    for examples in broken.values():
        lines += [f"- {example}" for example in examples[:_SHOWN]]
        if len(examples) > _SHOWN:
            lines.append(f"  and {len(examples) - _SHOWN:,} more like these")
    return "\n".join(lines)


def _report(check: _Check, modes: tuple[str, ...], left_out: dict[str, str]) -> ContractReport:
    inputs, reward = check.inputs, check.checked.reward
    scores = [given.outcome.score for given in inputs if given.outcome.score is not None]
    failures: dict[str, int] = {}
    for given in inputs:
        if given.outcome.error is not None:
            kind = given.outcome.kind or "error"
            failures[kind] = failures.get(kind, 0) + 1
    adversarial = sum(given.adversarial for given in inputs)
    slowest = max(inputs, key=lambda given: given.seconds)
    return ContractReport(
        reward=reward.name,
        version=reward.version,
        scale=check.scale,
        rows=len(inputs) - adversarial,
        adversarial=adversarial + check.refused,
        modes=tuple(mode for mode in modes if mode not in left_out),
        left_out=left_out,
        failures=failures,
        lowest=min(scores, default=None),
        highest=max(scores, default=None),
        slowest=slowest.name,
        slowest_seconds=slowest.seconds,
    )
