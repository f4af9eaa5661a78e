"""Evaluating what was trained: the held-out problems, answered and scored, before and after."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from guerdon.errors import InputError
from guerdon.reward.function import RewardFunction
from guerdon.scoring.statistics.accumulator import measured_lengths
from guerdon.scoring.statistics.failures import all_failed_line
from guerdon.scoring.statistics.summary import Lengths
from guerdon.train.backend import Policy
from guerdon.train.backends.registry import find_backend
from guerdon.train.config.schema import Config
from guerdon.train.data.problem import Problem
from guerdon.train.evaluation.eval_metrics import EvalCriteria, EvalMetrics, compute_metrics
from guerdon.train.records.folder import RunFolder
from guerdon.trainers.adapter import Adapter
from guerdon.trainers.columns import samples_of
from guerdon.types import EvaluateResult, Provenance

_AT_ONCE = 64
"""Prompts that are answered in one call."""


@dataclass(frozen=True, slots=True)
class Inference:
    """How answers are sampled."""

    temperature: float
    top_p: float
    top_k: int | None


INFERENCES: Mapping[str, Inference] = {
    "greedy": Inference(0.0, 1.0, None),
    "standard": Inference(0.7, 0.95, 50),
    "liberal": Inference(0.85, 1.0, 2000),
}
"""By the names that agent-tunix has for them; the figures are Tunix's."""


@dataclass(frozen=True, kw_only=True, slots=True)
class EvaluationRequest:
    """What is to be evaluated, and how."""

    checkpoint: Path | None
    """None for the model before training."""
    step: int
    inference: str = "greedy"
    passes: int = 1
    batch: int = _AT_ONCE


@dataclass(frozen=True, kw_only=True, slots=True)
class ScoredCompletion:
    """One completion with its verdict."""

    problem: Problem
    number: int
    """Which of the passes it is of, from 0."""
    completion: str
    result: EvaluateResult


@dataclass(frozen=True, kw_only=True, slots=True)
class Evaluation:
    """A model before and after training, on the same problems."""

    made_by: Provenance
    inference: str
    criteria: EvalCriteria
    after: EvalMetrics
    before: EvalMetrics | None = None
    answers: Sequence[ScoredCompletion] = field(default=(), repr=False)
    """Those of the model after training."""

    @property
    def changes(self) -> tuple[int, int] | None:
        """Problems that are right more often after training than before, and less often."""
        if self.before is None:
            return None
        pairs = list(zip(self.before.right, self.after.right, strict=True))
        known = [(b, a) for b, a in pairs if b is not None and a is not None]
        return sum(a > b for b, a in known), sum(a < b for b, a in known)

    @property
    def all_failed(self) -> str | None:
        """Where answers after training failed and none has a score, one line that says so with the commonest reason."""
        results = [answer.result for answer in self.answers]
        errors = Counter((r.error_kind or "error", r.error) for r in results if r.error is not None)
        if not errors or any(result.score is not None for result in results):
            return None
        return all_failed_line(errors, " after training")

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        accuracy, form = self.criteria.accuracy, self.criteria.format
        better, worse = self.changes or (None, None)
        return {
            "reward": self.made_by.reward,
            "version": self.made_by.version,
            "parameters": dict(self.made_by.parameters),
            "inference": self.inference,
            "all_failed": self.all_failed,
            "accuracy_component": accuracy.component,
            "full_score": accuracy.full,
            "format_component": None if form is None else form.component,
            "before": None if self.before is None else self.before.to_dict(),
            "after": self.after.to_dict(),
            "better": better,
            "worse": worse,
        }


OnProgress = Callable[[int, int], None]
"""Called with how many completions there are and are to be."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Evaluator:
    """Answers problems with the models of a run and has the answers scored.

    ``config`` is the run's; ``problems`` are those held out.
    """

    config: Config
    reward: RewardFunction
    problems: Sequence[Problem]
    criteria: EvalCriteria

    def evaluate(
        self, request: EvaluationRequest, progress: OnProgress | None = None
    ) -> tuple[EvalMetrics, list[ScoredCompletion]]:
        """The figures of one model, and every answer.

        Raises InputError for an inference that there is not, or where there are no problems or passes.
        """
        if request.inference not in INFERENCES:
            raise InputError(f"inference {request.inference!r} is unknown; there are {', '.join(INFERENCES)}")
        if request.passes < 1:
            raise InputError(f"num_passes must be 1 or more, not {request.passes}")
        if not self.problems:
            raise InputError("there are no held-out problems: see training.train_fraction")
        adapter = Adapter(  # before the model, which takes longer to load
            self.reward,
            timeout=self.config.training.reward_timeout,
            workers=self.config.training.reward_workers,
            concurrency=self.config.training.reward_concurrency,
        )
        policy = find_backend(self.config.backend).policy(self.config, request.checkpoint)
        try:
            answers = list(self._answers(policy, adapter, request, progress))
        finally:
            policy.close()
            adapter.close()
        by_problem: list[list[EvaluateResult]] = [[] for _ in self.problems]
        for position, answer in enumerate(answers):
            by_problem[position % len(self.problems)].append(answer.result)
        metrics = compute_metrics(by_problem, self.criteria, step=request.step, passes=request.passes)
        return replace(metrics, lengths=_lengths(answers)), answers

    def _answers(
        self, policy: Policy, adapter: Adapter, request: EvaluationRequest, progress: OnProgress | None
    ) -> Iterator[ScoredCompletion]:
        """Pass by pass, in the problems' order."""
        total, done = len(self.problems) * request.passes, 0
        for number in range(request.passes):
            for start in range(0, len(self.problems), request.batch):
                problems = self.problems[start : start + request.batch]
                completions = self._complete(policy, problems, request, number)
                columns: dict[str, list[Any]] = {
                    name: [problem.columns.get(name) for problem in problems]
                    for name in dict.fromkeys(n for problem in problems for n in problem.columns)
                }
                samples = samples_of([problem.prompt for problem in problems], completions, columns)
                results = adapter.results(samples, step=request.step, mode="eval")
                for problem, completion, result in zip(problems, completions, results, strict=True):
                    yield ScoredCompletion(
                        problem=problem, number=number, completion=completion, result=result
                    )
                done += len(problems)
                if progress is not None:
                    progress(done, total)

    def _complete(
        self, policy: Policy, problems: Sequence[Problem], request: EvaluationRequest, number: int
    ) -> list[str]:
        how = INFERENCES[request.inference]
        return policy.generate(
            [problem.prompt for problem in problems],
            temperature=how.temperature,
            top_p=how.top_p,
            top_k=how.top_k,
            max_new_tokens=self.config.generation.max_generation_steps,
            seed=self.config.seed + number,
        )


def _lengths(answers: Sequence[ScoredCompletion]) -> Lengths | None:
    """The length of the answers that have a score."""
    known = [(len(a.completion), a.result.score) for a in answers if a.result.score is not None]
    return measured_lengths([n for n, _ in known], [score for _, score in known]) if known else None


def checkpoint_of(place: Path, step: int | None = None) -> tuple[RunFolder, int, Path]:
    """The run, the step and the checkpoint that a path means: a run's folder, its latest unless ``step`` names
    another, or a checkpoint.

    Raises InputError where it is neither, or there is no such checkpoint.
    """
    of = RunFolder.of_checkpoint(place)
    if of is not None:
        found = {path.name: (number, path) for number, path in of.saved()}
        name = place.absolute().name
        if name not in found:
            raise InputError(f"{place} is not a complete checkpoint of a run")
        return of, *found[name]
    folder = RunFolder(place)
    if not folder.config.is_file():
        raise InputError(
            f"{place} is not the folder of a run of guerdon train: it has no {folder.config.name}"
        )
    saved = dict(folder.saved())
    if not saved:
        raise InputError(f"{place} has no checkpoint yet")
    wanted = max(saved) if step is None else step
    if wanted not in saved:
        there = ", ".join(map(str, saved))
        raise InputError(f"{place} has no checkpoint of step {wanted}; there are {there}")
    return folder, wanted, saved[wanted]


def write(evaluation: Evaluation, path: Path) -> Path:
    """Write the figures to a JSON file, and every answer to a ``.samples.jsonl`` beside it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with open(path.with_suffix(".samples.jsonl"), "w", encoding="utf-8") as lines:
        for answer in evaluation.answers:
            lines.write(json.dumps(_row(answer), ensure_ascii=False, default=str) + "\n")
    written = {"made": datetime.now(UTC).isoformat(timespec="seconds"), **evaluation.to_dict()}
    path.write_text(json.dumps(written, indent=2, ensure_ascii=False, default=str) + "\n", encoding="utf-8")
    return path


def _row(answer: ScoredCompletion) -> dict[str, Any]:
    result = answer.result
    return {
        "id": answer.problem.id,
        "pass": answer.number,
        "prompt": answer.problem.prompt,
        "response": answer.completion,
        **answer.problem.columns,
        "score": result.score,
        "error": result.error,
        "reason": result.reason,
        "metrics": {name: metric.score for name, metric in result.metrics.items()},
        "reward": result.reward,
        "version": result.version,
    }
