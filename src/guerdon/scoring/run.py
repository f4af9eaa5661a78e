"""score, ascore, stream, astream: a reward over many samples."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import threading
import time
from collections.abc import AsyncIterator, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from guerdon.data.columns import Columns
from guerdon.errors import InputError, ResumeError, error_of_kind
from guerdon.reward.function import RewardFunction
from guerdon.reward.registry import resolve
from guerdon.scoring.column_checks import refuse_columns_as_parameters
from guerdon.scoring.engine.base import Engine, EngineLimits, PendingSample, ScoredSample
from guerdon.scoring.engine.factory import make_engine
from guerdon.scoring.files import RowStream, ScoresFile
from guerdon.scoring.grouping import Grouping
from guerdon.scoring.interrupts import GracefulInterrupt
from guerdon.scoring.outcome import Outcome, unpack
from guerdon.scoring.process.spawner import cpu_count
from guerdon.scoring.progress import OnProgress, shown_progress
from guerdon.scoring.results import Scores
from guerdon.scoring.rows import outcome_of
from guerdon.scoring.samples import StoppableSamples, check_first_rows, given_samples, pending_samples
from guerdon.scoring.texts import NO_TEXT, length_of, text_of
from guerdon.scoring.worker.entry import inside_worker
from guerdon.settings import setting
from guerdon.types import EvaluateResult

_PROGRESS_SECONDS = 0.1
DEFAULT_BATCH = 32


class Interrupted(KeyboardInterrupt):
    """A run was ended by Ctrl-C; ``scores`` holds what was scored, which is also in the output file."""

    def __init__(self, scores: Scores) -> None:
        super().__init__(f"interrupted after {len(scores)} samples")
        self.scores = scores


@dataclass(frozen=True, kw_only=True, slots=True)
class RunOptions:
    """How many samples are scored; each field is an argument of ``score``, where it is explained."""

    timeout: float | None = None
    workers: int | None = None
    concurrency: int | None = None
    max_memory: int | str | None = None
    batch_size: int = DEFAULT_BATCH
    on_error: str | None = None
    group_by: str | None = None
    columns: Columns | Mapping[str, str] | None = None
    text: bool | None = None
    """None for a run that keeps neither the text of samples nor its length."""

    def __post_init__(self) -> None:
        if self.on_error not in (None, "result", "raise"):
            raise InputError(f'on_error must be "result" or "raise", not {self.on_error!r}')
        if isinstance(self.batch_size, bool) or not isinstance(self.batch_size, int) or self.batch_size < 1:
            raise InputError(f"batch_size must be a whole number of 1 or more, not {self.batch_size!r}")


@dataclass(slots=True)
class ScoringRun:
    """A run that is checked and ready to start."""

    reward: RewardFunction
    limits: EngineLimits
    raises: bool
    items: Iterator[PendingSample]
    total: int | None
    workers_given: bool
    found: list[str]
    """The columns that were found and not named, in words."""
    grouping: Grouping

    def engine(self) -> Engine:
        # What has no length is not a list, and its next item may take long to come.
        return make_engine(self.reward, self.items, self.limits, self.workers_given, self.total is None)


def score(
    reward: Any,
    samples: Any,
    *,
    timeout: float | None = None,
    workers: int | None = None,
    concurrency: int | None = None,
    max_memory: int | str | None = None,
    batch_size: int = DEFAULT_BATCH,
    on_error: str | None = None,
    group_by: str | None = None,
    columns: Columns | Mapping[str, str] | None = None,
    output: str | Path | IO[str] | None = None,
    resume: bool = False,
    overwrite: bool = False,
    text: bool = True,
    progress: OnProgress | bool | None = None,
    **parameters: Any,
) -> Scores:
    """Score many samples; works in a thread, a notebook and a script without a ``__main__`` guard.

    ``reward`` is anything that resolves: a RewardFunction, a function in any convention, a class, a
    registered name, ``file.py::name``; further keyword arguments are its parameters. ``samples`` are
    rows such as ``{"prompt": …, "response": …, "ground_truth": …}`` or ``{"messages": […], …}``, Sample
    objects, or bare responses as strings; a list or an iterator, of any length; a pandas or polars
    DataFrame, an Arrow table or a Hugging Face dataset; a Dataset; or the path of a file.

    - ``timeout``: seconds that one sample may take, 10 by default; a sample that overruns is ended and
      recorded as failed, whatever its code does. The reward may have its own default.
    - ``workers``: processes for a sync reward, one a processor by default; 0 scores in this process, for
      debugging, where no deadline can end a call that does not yield.
    - ``concurrency``: calls of an async reward in flight at once, 64 by default.
    - ``max_memory``: bytes, or text such as ``"2GB"``, that one worker may grow by; 4 GiB by default.
    - ``batch_size``: samples that a batched reward gets at once.
    - ``on_error``: ``"result"`` records failures, ``"raise"`` raises the first; by default as the reward
      says.
    - ``group_by``: the column that says which samples answer the same prompt, for the statistics;
      ``group_id`` or ``group`` where there is one, else samples with equal prompts are a group.
    - ``columns``: which columns make the sample, such as ``{"prompt": "question", "response": "reply"}``;
      those that are not named are found by their names, and ``Scores.columns`` says which.
    - ``output``: a ``.jsonl``, ``.csv``, ``.tsv`` or ``.parquet`` file that rows are written to as they
      come; ``resume`` completes one that an interrupted run left, ``overwrite`` replaces it. Or an open
      text file, which gets JSON Lines.
    - ``text``: whether rows and scores keep the samples' prompts, responses and ground truths.
    - ``progress``: whether a bar is shown, by default in terminals and notebooks; or a function that is
      called about ten times a second with a Progress.

    Raises BindingError, ResolutionError or InputError before anything runs; ResumeError where the file
    was made from another reward, version or data; Interrupted on Ctrl-C, with what is in flight finished.

    >>> rows = [{"messages": [{"role": "assistant", "content": "4"}], "answer": a} for a in ("4", "5")]
    >>> [r.score for r in score(lambda response, answer: response == answer, rows, workers=0)]
    [1.0, 0.0]
    """
    options = RunOptions(
        timeout=timeout,
        workers=workers,
        concurrency=concurrency,
        max_memory=max_memory,
        batch_size=batch_size,
        on_error=on_error,
        group_by=group_by,
        text=text,
        columns=columns,
    )
    run = _prepare(_resolved(reward, parameters, samples), samples, options, digests=output is not None)
    scores = Scores(run.reward.provenance, text=text, columns=run.found, grouped_by=run.grouping.name)
    with contextlib.ExitStack() as stack:
        on_progress = stack.enter_context(shown_progress(progress, silent=inside_worker()))
        file: ScoresFile | RowStream | None = None
        resumed = 0
        if output is not None and not isinstance(output, str | Path):
            if resume:
                raise InputError("resume needs the path of a file, not a stream")
            file = RowStream(output)
        elif output is not None:
            mode = "resume" if resume else "overwrite" if overwrite else "new"
            file = scores_file = stack.enter_context(ScoresFile(output, run.reward.provenance, mode))
            scores.path = scores_file.path
            if resume:
                resumed = _skip_scored(run, scores_file, scores)
        _collect(run, scores, file, resumed, on_progress)
        if file is not None:
            file.complete()
    return scores


def _collect(
    run: ScoringRun,
    scores: Scores,
    file: ScoresFile | RowStream | None,
    resumed: int,
    progress: OnProgress | None,
) -> None:
    """Run the engine to its end, or to the end of what is in flight when Ctrl-C was pressed."""
    engine = run.engine()
    started = reported = time.monotonic()
    with GracefulInterrupt(engine) as interrupt:
        for batch in engine:
            for record in batch:
                scores.add(record, record.outcome, record.seconds)
            if file is not None:
                file.append([scores.row(r, r.outcome, r.seconds) for r in batch])
            if run.raises:
                _raise_first(run, batch)
            now = time.monotonic()
            scores.seconds = now - started
            if progress is not None and now - reported > _PROGRESS_SECONDS:
                reported = now
                progress(scores.progress(resumed, run.total, now - started))
    scores.seconds = time.monotonic() - started
    if progress is not None:
        progress(scores.progress(resumed, run.total, scores.seconds))
    if interrupt.pressed:
        raise Interrupted(scores)


def _raise_first(run: ScoringRun, batch: list[ScoredSample]) -> None:
    for record in batch:
        if record.outcome.error is not None:
            raise error_of_kind(
                record.outcome.kind,
                f"sample {record.id!r}: {record.outcome.error}",
                sample=record.id,
                reward=run.reward.name,
            )


def stream(reward: Any, samples: Any, **options: Any) -> Iterator[EvaluateResult]:
    """The streaming form of ``score``: results in order as they come, none of them kept.

    Takes the arguments of ``score`` but for those of the output file. Leaving the loop early ends the
    workers.

    >>> next(stream(lambda response: 1.0, ["a", "b"], workers=0)).score
    1.0
    """
    run = _prepared(reward, samples, options)
    return _results(run)


def _results(run: ScoringRun) -> Iterator[EvaluateResult]:
    made_by = run.reward.provenance
    for batch in run.engine():
        for record in batch:
            if run.raises:
                _raise_first(run, [record])
            yield unpack(record.outcome, made_by)


async def ascore(reward: Any, samples: Any, **options: Any) -> Scores:
    """``score`` for async code: the event loop stays free. Takes the same arguments.

    Cancelling it takes no more samples; what is in flight ends in the background.
    """
    stop = threading.Event()
    loop = asyncio.get_running_loop()
    task = loop.run_in_executor(None, lambda: score(reward, StoppableSamples(samples, stop), **options))
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        stop.set()
        raise


async def astream(reward: Any, samples: Any, **options: Any) -> AsyncIterator[EvaluateResult]:
    """The async form of ``stream``; takes the same arguments."""
    run = _prepared(reward, samples, options)
    made_by = run.reward.provenance
    engine = run.engine()
    batches = iter(engine)
    try:
        while (batch := await asyncio.to_thread(next, batches, None)) is not None:
            for record in batch:
                if run.raises:
                    _raise_first(run, [record])
                yield unpack(record.outcome, made_by)
    finally:
        engine.abort()


def _prepared(reward: Any, samples: Any, options: Mapping[str, Any]) -> ScoringRun:
    for name in ("output", "resume", "overwrite", "text", "progress"):
        if name in options:
            raise InputError(f"stream keeps nothing and takes no {name!r}; use score")
    mine = RunOptions.__dataclass_fields__
    known = RunOptions(**{name: value for name, value in options.items() if name in mine})
    parameters = {name: value for name, value in options.items() if name not in mine}
    return _prepare(_resolved(reward, parameters, samples), samples, known, digests=False)


def _resolved(reward: Any, parameters: Mapping[str, Any], samples: Any) -> RewardFunction:
    refuse_columns_as_parameters(parameters, samples)
    return resolve(reward, **parameters)


def _prepare(reward: RewardFunction, samples: Any, options: RunOptions, digests: bool) -> ScoringRun:
    reward.check_ready()
    given = given_samples(reward, samples, options.columns)
    check_first_rows(reward, given.head)
    grouping = Grouping.of(given.head, options.group_by)
    limits = limits_of(reward, options, given.total)
    raises = (options.on_error or reward.options.on_error) == "raise"
    read_text = (lambda _: NO_TEXT) if options.text is None else text_of if options.text else length_of
    items = pending_samples(given.rows, grouping, digests, read_text)
    workers_given = options.workers is not None
    return ScoringRun(reward, limits, raises, items, given.total, workers_given, given.found, grouping)


def limits_of(reward: RewardFunction, options: RunOptions, total: int | None) -> EngineLimits:
    """The limits of a run: what was given, else what the reward says, else the settings."""
    count = setting("workers", options.workers)
    if count is None:
        count = 0 if inside_worker() else 1 if reward.is_async else cpu_count()
    if total is not None and count:
        count = max(1, min(count, total))
    timeout = options.timeout if options.timeout is not None else reward.timeout
    concurrency = options.concurrency if options.concurrency is not None else reward.concurrency
    return EngineLimits(
        timeout=setting("timeout", timeout),
        workers=count,
        concurrency=setting("concurrency", concurrency),
        max_memory=setting("max_memory", options.max_memory),
        load_timeout=setting("load_timeout"),
        batch_size=options.batch_size,
    )


def _skip_scored(run: ScoringRun, file: ScoresFile, scores: Scores) -> int:
    """Take over the rows of an interrupted run, checking each against its sample."""
    whole: list[tuple[PendingSample, Outcome, float]] = []
    size = run.limits.batch_size if run.reward.is_batch else 1
    count = 0
    for number, row in enumerate(file.rows(), 1):
        item = next(run.items, None)
        if item is None:
            raise ResumeError(
                f"{file.journal} has more rows than there are samples; start again with --overwrite"
            )
        if row["sample"] != item.digest:
            raise ResumeError(
                f"{file.journal}, line {number}: sample {item.id!r} is not the one that was scored, so the "
                "data changed; start again with --overwrite"
            )
        whole.append((item, outcome_of(row), row.get("seconds") or 0.0))
        # A batch counts once it is whole: its verdicts may depend on which samples it had.
        if len(whole) == size:
            for done, outcome, seconds in whole:
                scores.add(done, outcome, seconds)
            count += len(whole)
            whole = []
    return _settle_rest(run, file, scores, whole, count)


def _settle_rest(
    run: ScoringRun,
    file: ScoresFile,
    scores: Scores,
    rest: list[tuple[PendingSample, Outcome, float]],
    count: int,
) -> int:
    """The last rows, where they are less than a batch: kept if the data ends there, else scored again."""
    following = next(run.items, None) if rest else None
    if rest and following is None:
        for item, outcome, seconds in rest:
            scores.add(item, outcome, seconds)
        return count + len(rest)
    if rest:
        file.keep(count)
        again = [item for item, _, _ in rest]
        items = itertools.chain(again, [following] if following else [], run.items)
        run.items = items
    return count
