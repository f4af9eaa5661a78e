"""What a reward is checked with: rows, adversarial responses in place of a row's, malformed expected answers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from guerdon.errors import InputError
from guerdon.reward.function import RewardFunction
from guerdon.scoring.outcome import Outcome
from guerdon.testing.adversarial import responses
from guerdon.testing.rows import chat_of, rows_of
from guerdon.types import Sample


@dataclass(slots=True)
class ContractInput:
    """One sample to check, and its outcome."""

    name: str
    sample: Sample
    adversarial: bool = False
    must_fail: bool = False
    """Whether any score is a violation."""
    may_fail: frozenset[str] = frozenset()
    """Kinds of failure that are allowed."""
    outcome: Outcome = field(default_factory=lambda: Outcome(None))
    seconds: float = 0.0


def inputs_of(reward: RewardFunction, rows: Any, malformed: Sequence[Any]) -> list[ContractInput]:
    """The rows first. Raises InputError where there are none, or none that the reward can be called with."""
    inputs = list(_rows(rows))
    if not inputs:
        raise InputError("there are no rows to check the reward with")
    if (lack := reward.missing([given.sample for given in inputs])) is not None:
        parameter, columns = lack
        raise InputError(
            f"{reward.name} needs {parameter!r}, and the rows have {', '.join(columns) or 'no columns'}: "
            "give rows that suit it"
        )
    first = next((given for given in inputs if not given.may_fail), inputs[0]).sample
    for name, text in responses().items():
        inputs.append(
            ContractInput(f"adversarial response: {name}", _answered(first, text), adversarial=True)
        )
    bare = replace(first, ground_truth=None, answer=None)
    if reward.missing([bare]) is not None:
        for truth in malformed:
            sample = replace(first, ground_truth=truth, answer=truth)
            name = f"malformed expected answer: {truth!r:.60}"
            inputs.append(ContractInput(name, sample, adversarial=True, must_fail=True))
    return inputs


def _rows(rows: Any) -> Iterable[ContractInput]:
    if isinstance(rows, list | tuple) and any(isinstance(row, Sample) for row in rows):
        for number, sample in enumerate(rows, 1):
            yield ContractInput(_name(number, sample), sample)
        return
    for where, number, row in rows_of(rows):
        try:
            sample = Sample.from_row(chat_of(row))
        except InputError as error:
            raise InputError(f"{where}: {error}") from None
        expected = row.get("expected")
        kind = expected.get("error") if isinstance(expected, Mapping) else None
        allowed = frozenset({kind} if isinstance(kind, str) else {"exception", "timeout"} if kind else ())
        yield ContractInput(_name(number, sample), sample, may_fail=allowed)


def _name(number: int, sample: Sample) -> str:
    return f"row {number if sample.id is None else sample.id}"


def _answered(sample: Sample, text: str | None) -> Sample:
    """The sample with another response."""
    answer = {"role": "assistant", "content": text}
    return replace(sample, messages=[*sample.messages[:-1], answer])  # type: ignore[list-item]
