"""Problems: the rows of a data set as prompts to learn from, held-out ones set apart, all checked first."""

from __future__ import annotations

import difflib
import hashlib
import json
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from guerdon.data.columns import NO_REWARD, RewardNeeds
from guerdon.data.dataset import open_dataset
from guerdon.data.rows import SHOWN, BadRow, BadRowsError
from guerdon.errors import InputError
from guerdon.reward.binding.conventions import columns_of
from guerdon.reward.binding.signature import missing_parameter
from guerdon.reward.function import RewardFunction
from guerdon.scoring.column_checks import check_parameters
from guerdon.train.config.schema import TrainingConfig
from guerdon.train.data.arithmetic import arithmetic
from guerdon.train.data.problem import Problem
from guerdon.train.data.prompts import PromptColumns
from guerdon.trainers.columns import sample_of
from guerdon.types import Sample

GSM8K = "openai/gsm8k:main"
_MADE = "arithmetic"
_NAMED = {"gsm8k": GSM8K, "huggingface": GSM8K}
_PEEK = 64
"""The first problems, by which misspelt parameters are noticed."""
_ELSEWHERE = ("tfds", "kaggle")


@dataclass(frozen=True, kw_only=True, slots=True)
class Problems:
    """What is learnt from and what is held out."""

    train: Sequence[Problem]
    test: Sequence[Problem]
    source: str
    """What they were read from, in words."""
    columns: Sequence[str] = ()
    """The columns that were found and not named, as ``columns: prompt=question, …``."""

    @property
    def digest(self) -> str:
        """A hash over all of them in their order, by which a run knows its data again."""
        digest = hashlib.sha256()
        for part in (self.train, self.test):
            for problem in part:
                entry = [problem.id, problem.prompt, dict(problem.columns)]
                digest.update(json.dumps(entry, sort_keys=True, default=str).encode() + b"\n")
            digest.update(b"\0")
        return digest.hexdigest()[:16]


def load_problems(
    config: TrainingConfig, seed: int, reward: RewardFunction | None = None, rejected: Path | None = None
) -> Problems:
    """The problems that a configuration asks for, shuffled by the seed.

    With a ``reward``, every problem is held to what it reads: its metadata schema, and the parameters that it has
    no default for. Rows that will not do are listed, all of them, in the file ``rejected``.

    Raises InputError where there are no data, BadRowsError where rows will not do.

    >>> from guerdon.train.config.schema import TrainingConfig
    >>> made = load_problems(TrainingConfig(data_source="arithmetic", train_fraction=0.8), seed=1)
    >>> len(made.train), len(made.test)
    (40, 10)
    """
    where = _places(config)
    learnt = (
        _Rows.from_arithmetic()
        if where.train == _MADE
        else _read(where.train, where.train_split, config, reward)
    )
    held_out = _Rows() if where.test is None else _read(where.test, where.test_split, config, reward)
    _check({where.train: learnt, f"{where.test} (held out)": held_out}, reward, rejected)
    train, test = list(learnt.good.values()), list(held_out.good.values())
    random.Random(seed).shuffle(train)
    if where.test is None:
        train, test = _split(train, config.train_fraction)
    if config.num_test_batches is not None:
        test = test[: config.num_test_batches * config.micro_batch_size]
    found = list(dict.fromkeys([*learnt.found, *held_out.found]))
    return Problems(train=train, test=test, source=where.train, columns=found)


def _split(problems: list[Problem], fraction: float) -> tuple[list[Problem], list[Problem]]:
    """What is learnt from, one at least, and the rest."""
    count = max(1, round(len(problems) * fraction))
    return problems[:count], problems[count:]


# Where the data are.


@dataclass(frozen=True, slots=True)
class _Places:
    """What is opened, and which split of it."""

    train: str
    train_split: str | None
    test: str | None
    test_split: str | None


def _places(config: TrainingConfig) -> _Places:
    source, given = config.data_source, config.train_data_dir
    if source == _MADE and given is None:
        return _Places(_MADE, None, None, None)
    if source in _ELSEWHERE and given is None:
        raise InputError(f"training.data_source={source} is unknown; write gsm8k, or the name of a file")
    # agent-tunix's folders are where it caches what it loads; there is nothing in them at first.
    if source in _NAMED and (given is None or not Path(given).exists()):
        return _of_hub(config, _NAMED[source])
    place = given if given is not None else source
    if place == "file":
        raise InputError(
            "there is no data to train on: give training.train_data_dir=FILE, or training.data_source=gsm8k "
            f"or {_MADE}"
        )
    split = config.split
    if split is None and _has_split(place, "train"):
        split = "train"
    if config.test_data_dir is not None:
        test_split = "test" if _has_split(config.test_data_dir, "test") else None
        return _Places(place, split, config.test_data_dir, test_split)
    if split == "train" and _has_split(place, "test"):
        return _Places(place, split, place, "test")
    return _Places(place, split, None, None)


def _of_hub(config: TrainingConfig, name: str) -> _Places:
    test = config.test_data_dir
    if test is not None and Path(test).exists():
        return _Places(name, config.split or "train", test, None)
    return _Places(name, config.split or "train", name, "test")


def _has_split(place: str, split: str) -> bool:
    """Whether a folder has files of a split; not asked of the hub."""
    if not Path(place).is_dir():
        return False
    try:
        open_dataset(place, split=split)
    except InputError:
        return False
    return True


# From rows to problems.


@dataclass(frozen=True, slots=True)
class _Rows:
    """The rows of one place: problems by their number from 1, and those that are none."""

    good: dict[int, Problem] = field(default_factory=dict)
    bad: list[BadRow] = field(default_factory=list)
    found: list[str] = field(default_factory=list)
    """The columns that were found, in words."""

    @classmethod
    def from_arithmetic(cls) -> _Rows:
        """Those of arithmetic."""
        return cls(dict(enumerate(arithmetic(), start=1)))


def _read(place: str, split: str | None, config: TrainingConfig, reward: RewardFunction | None) -> _Rows:
    columns = PromptColumns(
        prompt=config.prompt_column,
        answer=config.answer_column,
        rename=config.mapping,
        system_prompt=config.system_prompt,
    )
    try:
        data = open_dataset(place, columns=columns, split=split, needs=_reader(reward))
    except InputError as error:
        raise InputError(_without_flags(str(error)) + _named_source(place), place=place) from error
    rows = _Rows()
    try:
        for row in data.good_rows(on_bad=rows.bad.append):
            number = len(rows.good) + len(rows.bad) + 1
            rows.good[number] = Problem(row.get("id", number), row["prompt"], row["columns"])
    except BadRowsError:
        pass  # all of them are; they are listed in full with the others
    rows.found.extend(data.lines)
    return rows


def _reader(reward: RewardFunction | None) -> RewardNeeds:
    return NO_REWARD if reward is None else RewardNeeds(reads=reward.reads)


def _named_source(place: str) -> str:
    close = difflib.get_close_matches(place, (*_NAMED, _MADE), n=1)
    return f"; did you mean training.data_source={close[0]}?" if close else ""


def _without_flags(text: str) -> str:
    """Of what a loader says on other command lines, as it is written on this one."""
    return text.replace("leave out --split", "leave out training.split=").replace(
        "--split ", "training.split="
    )


# Held to what the reward reads.


def _check(parts: Mapping[str, _Rows], reward: RewardFunction | None, rejected: Path | None) -> None:
    bad = [row for rows in parts.values() for row in rows.bad]
    bad += [
        BadRow(part, number, reason, _row(problem), unit="row")
        for part, rows in parts.items()
        for number, problem in rows.good.items()
        if reward is not None and (reason := lacking(problem, reward)) is not None
    ]
    if bad:
        count = sum(len(rows.good) + len(rows.bad) for rows in parts.values())
        raise _offending(bad, count, rejected)
    if reward is not None:
        problems = [problem for rows in parts.values() for problem in rows.good.values()]
        samples = [_in_training(sample_of(p.prompt, "", p.columns)) for p in problems[:_PEEK]]
        check_parameters(reward, samples)


def lacking(problem: Problem, reward: RewardFunction) -> str | None:
    """What a reward, or a part of a composition, lacks to score responses to a problem; None where nothing.

    >>> lacking(Problem(1, "2+2?"), RewardFunction(lambda response, level: 1.0, name="by_level"))
    "by_level needs 'level', which nothing supplies and which has no default; the columns there are: messages"
    """
    sample = sample_of(problem.prompt, "", problem.columns)
    there = columns_of(sample)
    _in_training(sample)
    for each in _leaves(reward):
        if (missing := each.missing([sample])) is not None:
            return missing_parameter(each.name, missing[0], there)
        if (reason := _unfit(sample, each)) is not None:
            return reason
    return None


def _in_training(sample: Sample) -> Sample:
    """The sample with what training supplies."""
    sample.metadata.setdefault("step", 0)
    return sample


def _leaves(reward: Any) -> Iterator[RewardFunction]:
    """The rewards that a composition is made of in the end, or the reward itself."""
    if not reward.components:
        yield reward
    for component in reward.components:
        yield from _leaves(component.reward)


def _unfit(sample: Sample, reward: RewardFunction) -> str | None:
    """Why a sample's metadata does not fit the reward's schema."""
    from pydantic import ValidationError

    from guerdon.checks import reason_of

    schema = reward.options.metadata_schema
    if schema is None:
        return None
    given = dict(sample.metadata)
    for name in ("ground_truth", "answer"):
        if name in schema.model_fields and getattr(sample, name) is not None:
            given.setdefault(name, getattr(sample, name))
    try:
        schema.model_validate(given)
    except ValidationError as error:
        return f"{reward.name}: metadata.{reason_of(error)}"
    return None


def _row(problem: Problem) -> dict[str, Any]:
    return {"id": problem.id, "prompt": problem.prompt, **problem.columns}


def _offending(bad: Sequence[BadRow], rows: int, rejected: Path | None) -> BadRowsError:
    """The error that shows the first rows, all of which are in the file."""
    said = "fix them, or remove them"
    if rejected is not None:
        rejected.parent.mkdir(parents=True, exist_ok=True)
        rejected.write_text("".join(row.to_json() + "\n" for row in bad), encoding="utf-8")
        said += f" (all of them are in {rejected})"
    return BadRowsError.of([row.brief() for row in bad[:SHOWN]], len(bad), rows, said)
