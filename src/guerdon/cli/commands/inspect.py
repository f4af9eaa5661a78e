"""``guerdon inspect``: the samples of a scores file or of a training run that are worth reading."""

from __future__ import annotations

import difflib
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from guerdon.cli.completion import complete_files
from guerdon.cli.options import POSITIVE, Decorator, debug_option, option, option_group
from guerdon.errors import InputError

if TYPE_CHECKING:
    from guerdon.scoring.results import Scores
    from guerdon.scoring.selection import SampleResult

_OVERVIEW = 3
_IDS_SEARCHED = 50_000


@dataclass(frozen=True, kw_only=True, slots=True)
class Selection:
    """Which samples are shown."""

    worst: int | None
    best: int | None
    failed: bool
    disputed: bool
    ids: tuple[str, ...]
    number: int

    def sections(self, scores: Scores) -> Iterator[Section]:
        """What was asked for, by default some of each kind.

        Raises InputError for an id that there is not.
        """
        wanted = self if self._any else Selection.overview()
        for identity in wanted.ids:
            yield Section(title=f"Id {identity}", samples=_of_id(scores, identity))
        if wanted.worst is not None:
            yield Section(title="Worst", samples=scores.worst(wanted.worst))
        if wanted.best is not None:
            yield Section(title="Best", samples=scores.best(wanted.best))
        if wanted.failed:
            failed = scores.failed()
            yield Section(title="Failed", samples=failed[: wanted.number], total=len(failed))
        if wanted.disputed:
            yield from _disputed(scores, wanted.number if self._any else 1)

    @property
    def _any(self) -> bool:
        return bool(
            self.ids or self.failed or self.disputed or self.worst is not None or self.best is not None
        )

    @classmethod
    def overview(cls) -> Selection:
        """Some samples of each kind."""
        return cls(worst=_OVERVIEW, best=_OVERVIEW, failed=True, disputed=True, ids=(), number=_OVERVIEW)


@dataclass(frozen=True, kw_only=True, slots=True)
class Section:
    """Samples under a heading."""

    title: str
    samples: Sequence[SampleResult]
    total: int | None = None
    """How many there are, where not all are shown."""


def _disputed(scores: Scores, number: int) -> Iterator[Section]:
    groups = scores.disputed(number)
    if not groups:
        yield Section(title="Disputed", samples=())
    for place, group in enumerate(groups, 1):
        title = f"Disputed {place}: scores from {min(group.scores):.3g} to {max(group.scores):.3g}"
        yield Section(title=title, samples=group.samples)


def _of_id(scores: Scores, identity: str) -> list[SampleResult]:
    ids = [str(each) for each in scores.ids]
    found = [scores.sample(position) for position, each in enumerate(ids) if each == identity]
    if not found:
        close = difflib.get_close_matches(identity, ids[:_IDS_SEARCHED], n=3)
        hint = (
            f"did you mean {', '.join(close)}?"
            if close
            else f"there are {', '.join(ids[:5])}{', …' if len(ids) > 5 else ''}"
        )
        raise InputError(f"{scores.path} has no sample with the id {identity!r}; {hint}")
    return found


def _selectors() -> Decorator:
    how_many: dict[str, Any] = {"type": POSITIVE, "is_flag": False, "flag_value": 5}
    return option_group(
        Selection,
        "selection",
        [
            option("--worst", metavar="[N]", help="The N samples with the lowest scores, 5 by default.", **how_many),
            option("--best", metavar="[N]", help="The N samples with the highest scores, 5 by default.", **how_many),
            option("--failed", is_flag=True, help="The samples that failed."),
            option("--disputed", is_flag=True, help="The groups whose scores lie farthest apart."),
            option("--id", "ids", metavar="ID", multiple=True, help="The sample with this id. Repeatable."),
            option(
                "-n", "--number", type=POSITIVE, default=5, show_default=True,
                help="Show at most this many failed samples or disputed groups.",
            ),
        ],
    )  # fmt: skip


@click.command("inspect", short_help="Show samples of a scores file: the worst, the failed, one by its id.")
@click.argument("file", shell_complete=complete_files)
@_selectors()
@option("--full", is_flag=True, help="Show texts whole, however long.")
@option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@debug_option
def inspect(file: str, selection: Selection, full: bool, as_json: bool) -> None:
    """\b
    guerdon inspect scores.jsonl --worst 5
    guerdon inspect scores.csv --id q17 --full

    Show samples of FILE with their prompts, responses, scores and reasons.

    FILE is what guerdon score -o wrote (.jsonl, .csv, .tsv or .parquet, also of a run that is not complete), the
    answers of guerdon evaluate, or the folder of a training run, whose ids are STEP/POSITION. Without a choice, some
    of the worst, the best and the failed samples are shown, and of the groups whose scores lie farthest apart.
    """
    scores = _scores(file)
    sections = list(selection.sections(scores))
    if as_json:
        click.echo(json.dumps(_plain(scores, sections), default=str))
    else:
        _print(scores, sections, full)


def _scores(file: str) -> Scores:
    if Path(file).is_dir():
        from guerdon.train.records.run_reader import RunReader
        from guerdon.train.views.run_scores import scores_of

        return scores_of(RunReader.of(file))
    from guerdon.cli.output import ProgressBar
    from guerdon.scoring.reading import read_scores

    with ProgressBar("reading") as bar:
        return read_scores(file, progress=lambda rows: bar.count(rows, None))


def _plain(scores: Scores, sections: Sequence[Section]) -> dict[str, Any]:
    return {
        "file": str(scores.path),
        "reward": scores.reward,
        "version": scores.version,
        "sections": [
            {
                "title": section.title,
                "total": len(section.samples) if section.total is None else section.total,
                "samples": [scores.row_at(one.position) for one in section.samples],
            }
            for section in sections
        ],
    }


def _print(scores: Scores, sections: Sequence[Section], full: bool) -> None:
    from guerdon.cli.output import output
    from guerdon.console import print_heading, print_labelled
    from guerdon.console.inspected import TEXT_LIMIT, InspectedSample, print_inspected

    console = output()
    print_heading(console, Path(str(scores.path)).name)
    print_labelled(console, "reward", f"{scores.reward} {scores.version}")
    print_labelled(console, "scores", str(scores.statistics()))
    for section in sections:
        console.print()
        print_heading(console, section.title)
        for one in section.samples:
            print_inspected(InspectedSample.of_result(one), console, None if full else TEXT_LIMIT)
        if not section.samples:
            console.print("none")
        if section.total is not None and (more := section.total - len(section.samples)) > 0:
            console.print(f"\nand {more:,} more; -n {section.total} shows all")
