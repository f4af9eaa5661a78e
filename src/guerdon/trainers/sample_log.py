"""SampleLog: tables of scored samples for a run of Weights & Biases or trackio."""

from __future__ import annotations

import json
import logging
import sys
import threading
from collections.abc import Sequence
from types import ModuleType
from typing import Any

from guerdon.errors import InputError
from guerdon.trainers.adapter import ScoredBatch
from guerdon.types import EvaluateResult, Message, Sample

logger = logging.getLogger("guerdon.trainers")
TRACKERS = ("wandb", "trackio")
ROWS, TABLE = 16, "tables/samples"
_CHARACTERS = 10_000
"""The length to which a text in a table is cut."""
Scored = tuple[Sample, EvaluateResult]


class SampleLog:
    """Logs tables of prompts, responses, scores and metrics: ``reward.to_trl(observe=SampleLog(run))``.

    ``run`` is a run of wandb or trackio, as their ``init`` returns it, or the package itself for the run that is
    going on. A table has at most ``rows`` samples of a batch, from the lowest score to the highest, failures first;
    every ``every``-th batch has one, under ``name``, and batches of an evaluation under ``name/eval``.
    Single samples, as some trainers have them scored, gather until a table is full. What the tracker cannot take
    is logged once, and the training goes on without tables.

    Raises InputError for what is no run of theirs.
    """

    def __init__(self, run: Any, *, rows: int = ROWS, every: int = 1, name: str = TABLE) -> None:
        package = run.__name__ if isinstance(run, ModuleType) else type(run).__module__.partition(".")[0]
        if package not in TRACKERS:
            raise InputError(f"a SampleLog needs a run of wandb or trackio, not {type(run).__name__}")
        for label, value in (("rows", rows), ("every", every)):
            if isinstance(value, bool) or not isinstance(value, int) or value < 1:
                raise InputError(f"{label} must be a whole number of 1 or more, not {value!r}")
        self._run, self._package = run, package
        self._rows, self._every, self._name = rows, every, name
        self._lock = threading.Lock()
        self._waiting: list[Scored] = []
        self._batches = 0
        self._lost = False

    def __call__(self, batch: ScoredBatch) -> None:
        """Take a batch; an adapter calls this as its ``observe``."""
        pairs = list(zip(batch.samples, batch.results, strict=True))
        with self._lock:
            if len(pairs) == 1 and batch.mode != "eval":
                self._waiting += pairs
                if len(self._waiting) < self._rows:
                    return
                pairs, self._waiting = self._waiting, []
            self._batches += 1
            if self._lost or (self._batches - 1) % self._every:
                return
            try:
                self._log(pairs, batch)
            except Exception as error:  # the edge to the tracker: a training does not end for it
                self._lost = True
                logger.warning("%s takes no more tables of samples: %s", self._package, error)

    def _log(self, pairs: Sequence[Scored], batch: ScoredBatch) -> None:
        columns, data = sample_table(pairs, self._rows)
        name = f"{self._name}/eval" if batch.mode == "eval" else self._name
        table = {name: sys.modules[self._package].Table(columns=columns, data=data)}
        if self._package == "wandb":
            self._run.log(table, commit=False)  # with what the trainer logs next: the step is its own
        else:
            self._run.log(table, step=batch.step)


def sample_table(pairs: Sequence[Scored], rows: int) -> tuple[list[str], list[list[Any]]]:
    """Column names, and at most ``rows`` of the samples: failures first, then from the lowest score to the highest.

    >>> sample = Sample([{"role": "user", "content": "2 + 2?"}, {"role": "assistant", "content": "4"}])
    >>> columns, data = sample_table([(sample, EvaluateResult(1.0, reason="right"))], 16)
    >>> dict(zip(columns, data[0]))["response"], dict(zip(columns, data[0]))["score"]
    ('4', 1.0)
    """
    ranked = sorted(pairs, key=lambda pair: float("-inf") if pair[1].score is None else pair[1].score)
    if len(ranked) > rows:
        last = len(ranked) - 1
        ranked = [ranked[round(i * last / max(rows - 1, 1))] for i in range(rows)]
    names = list(dict.fromkeys(name for _, result in ranked for name in result.metrics))
    columns = ["prompt", "response", "ground_truth", "score", "reason", "error", "reward"]
    return [*columns, *(f"metrics/{name}" for name in names)], [_row(*pair, names) for pair in ranked]


def _row(sample: Sample, result: EvaluateResult, names: Sequence[str]) -> list[Any]:
    truth = sample.ground_truth if sample.ground_truth is not None else sample.answer
    metrics = result.metrics
    return [
        _cut(_conversation(sample.original_messages)),
        _cut(sample.response),
        None if truth is None else _cut(truth if isinstance(truth, str) else json.dumps(truth, default=str)),
        result.score,
        None if result.reason is None else _cut(result.reason),
        None if result.error is None else _cut(f"{result.error_kind or 'error'}: {result.error}"),
        result.reward,
        *(metrics[name].score if name in metrics else None for name in names),
    ]


def _conversation(messages: Sequence[Message]) -> str:
    """One message as it is, several each with its role."""
    if len(messages) == 1:
        return messages[0].text
    return "\n\n".join(f"{message.role}: {message.text}" for message in messages)


def _cut(text: str) -> str:
    short = text if len(text) <= _CHARACTERS else text[:_CHARACTERS] + "…"
    return short.encode("utf-8", "replace").decode()
