"""Options that say which rows are scored, and within which limits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

from guerdon.cli.options import (
    POSITIVE,
    LineSeparated,
    option,
    option_group,
    setting_option,
    timeout_option,
    workers_option,
)
from guerdon.settings import SETTINGS

if TYPE_CHECKING:
    from guerdon.data.columns import Columns
    from guerdon.data.dataset import Dataset, Survey
    from guerdon.reward.function import RewardFunction


@dataclass(frozen=True, kw_only=True, slots=True)
class DataFlags:
    """Which rows are read and which of their columns make the sample."""

    prompt_column: str | None
    response_column: str | None
    answer_column: str | None
    mapping: tuple[str, ...]
    split: str | None
    skip_bad_rows: bool

    def columns(self) -> Columns:
        """Raises InputError where flags contradict each other."""
        from guerdon.data.columns import Columns, parse_mappings

        return Columns(
            prompt=self.prompt_column,
            response=self.response_column,
            answer=self.answer_column,
            rename=parse_mappings(self.mapping),
        )

    def open(
        self,
        source: str,
        limit: int | None,
        rewards: Sequence[RewardFunction],
        besides: Sequence[str | None] = (),
    ) -> Dataset:
        """The data that these rewards read; columns ``besides`` have no part in a sample.

        Raises InputError where there is nothing to read.
        """
        from guerdon.console.working import Working
        from guerdon.data.columns import RewardNeeds
        from guerdon.data.dataset import open_dataset

        with Working(f"opening {source}"):
            return open_dataset(
                source,
                columns=self.columns(),
                split=self.split,
                limit=limit,
                needs=RewardNeeds(
                    reads=_read_by(rewards),
                    besides=[name for name in besides if name is not None],
                    any_ending=any(reward.allows_any_ending for reward in rewards),
                ),
            )

    def check(self, data: Dataset) -> Survey:
        """What a pass over all rows finds, shown while it lasts.

        Raises BadRowsError for malformed rows unless they are to be skipped and there are others.
        """
        from guerdon.cli.output import ProgressBar
        from guerdon.data.rows import BadRowsError

        with ProgressBar("checking") as bar:
            survey = data.survey(
                lambda p: bar.share(p.rows, p.share, f"{p.bad:,} malformed" if p.bad else "")
            )
        if survey.bad and not (self.skip_bad_rows and survey.good):
            raise BadRowsError.of(survey.rejected, survey.bad, survey.rows)
        return survey


def say_columns(data: Dataset) -> None:
    """Say which columns were found, where nobody named them."""
    for line in data.lines:
        click.echo(line, err=True)


def _read_by(rewards: Sequence[RewardFunction]) -> frozenset[str] | None:
    parts = [reward.reads for reward in rewards]
    known = [part for part in parts if part is not None]
    return frozenset[str]().union(*known) if len(known) == len(parts) else None


data_options = option_group(
    DataFlags,
    "flags",
    [
        option("--prompt-column", metavar="COLUMN", help="The column that holds the prompt."),
        option("--response-column", metavar="COLUMN", help="The column that holds the response."),
        option("--answer-column", metavar="COLUMN", help="The column that holds the expected answer."),
        option(
            "--map",
            "mapping",
            metavar="NAME=COLUMN",
            type=LineSeparated(),
            multiple=True,
            help="Give a column the name that the reward reads. Repeatable.",
        ),
        option("--split", metavar="NAME", help="The split of a folder or of a Hugging Face dataset."),
        option(
            "--skip-bad-rows",
            is_flag=True,
            help="Leave out malformed rows, and write them to a file that ends in .rejected.jsonl.",
        ),
    ],
)


# What holds while samples are scored.


@dataclass(frozen=True, kw_only=True, slots=True)
class LimitFlags:
    """The limits of a run; None leaves one to the environment, the reward and the default."""

    timeout: float | None
    workers: int | None
    concurrency: int | None
    max_memory: int | None
    batch_size: int

    def options(self) -> dict[str, Any]:
        """As arguments of ``guerdon.score``."""
        return {name: getattr(self, name) for name in self.__dataclass_fields__}


limit_options = option_group(
    LimitFlags,
    "limits",
    [
        timeout_option,
        workers_option,
        setting_option("concurrency", "count", f"the reward's own, or {SETTINGS['concurrency'].default}"),
        setting_option("max_memory", "bytes", f"{SETTINGS['max_memory'].default >> 30}GiB"),
        option(
            "--batch-size",
            type=POSITIVE,
            default=32,
            show_default=True,
            help="Samples per call of a batched reward.",
        ),
    ],
)
