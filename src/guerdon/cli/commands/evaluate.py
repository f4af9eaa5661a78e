"""``guerdon evaluate``: how right a trained model is on held-out problems, before and after."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import TYPE_CHECKING

import click

from guerdon.cli.options import POSITIVE, check_variables, debug_option, option

if TYPE_CHECKING:
    from guerdon.train.evaluation.eval_metrics import EvalMetrics
    from guerdon.train.evaluation.evaluate import Evaluation, EvaluationRequest, Evaluator, ScoredCompletion


@click.command(short_help="Evaluate a trained model on held-out problems.")
@click.argument("run", type=click.Path(path_type=Path))
@option(
    "--inference",
    type=click.Choice(["greedy", "standard", "liberal"]),
    help="How answers are sampled: the likeliest one; temperature 0.7, top-p 0.95, top-k 50; or temperature 0.85, "
    "top-k 2000. By default as the run's configuration says.",
)
@option("--num-passes", type=POSITIVE, help="Answers to each problem, for pass@k.")
@option("--step", type=int, help="The checkpoint of this step; the latest by default.")
@option("--before/--no-before", default=True, help="Evaluate the model before training as well.")
@option("--limit", type=POSITIVE, help="Take that many held-out problems at most.")
@option("--accuracy-component", metavar="NAME", help="The component that says whether an answer is right.")
@option("--format-component", metavar="NAME", help="The component that says whether the format is kept.")
@option(
    "-o",
    "--output",
    metavar="FILE",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Where the figures go; in the run's folder evaluations by default.",
)
@option("--verbose", is_flag=True, help="Show every answer.")
@option("--json", "as_json", is_flag=True, help="Print one JSON object in place of the table.")
@debug_option
def evaluate(
    run: Path,
    inference: str | None,
    num_passes: int | None,
    step: int | None,
    before: bool,
    limit: int | None,
    accuracy_component: str | None,
    format_component: str | None,
    output: Path | None,
    verbose: bool,
    as_json: bool,
) -> None:
    """Have the model of RUN answer the problems that were held out, and score the answers with the run's reward.

    RUN is the folder of a run, or of one of its checkpoints. Shown are accuracy (answers with the full score of
    the component that stands for it, or of the reward), partial accuracy (half of it or more), format accuracy,
    and pass@k, each with its interval of 95 %; before and after training side by side.
    """
    from guerdon.cli.output import prints_to_stderr
    from guerdon.train.evaluation.eval_metrics import EvalCriteria
    from guerdon.train.evaluation.evaluate import (
        Evaluation,
        EvaluationRequest,
        Evaluator,
        checkpoint_of,
        write,
    )
    from guerdon.train.run.runner import loaded

    check_variables()
    with prints_to_stderr():
        folder, number, checkpoint = checkpoint_of(run, step)
        config, reward, problems = loaded(folder)
        known = config.evaluation
        request = EvaluationRequest(
            checkpoint=checkpoint,
            step=number,
            inference=inference or known.inference_config,
            passes=num_passes or known.num_passes,
        )
        criteria = EvalCriteria.of(reward, accuracy_component, format_component)
        evaluator = Evaluator(config=config, reward=reward, problems=problems.test[:limit], criteria=criteria)
        untrained = dataclasses.replace(request, checkpoint=None, step=0)
        first = _evaluated(evaluator, untrained, "before")[0] if before else None
        after, answers = _evaluated(evaluator, request, f"step {number:,}")
        found = Evaluation(
            made_by=reward.provenance,
            inference=request.inference,
            criteria=criteria,
            after=after,
            before=first,
            answers=answers,
        )
    path = write(found, output or folder.evaluations / f"step-{number:06d}-{request.inference}.json")
    _show(found, path, verbose or known.verbose, as_json)


def _evaluated(
    evaluator: Evaluator, request: EvaluationRequest, what: str
) -> tuple[EvalMetrics, list[ScoredCompletion]]:
    from guerdon.cli.output import ProgressBar

    with ProgressBar(f"evaluating {what}", patience=0.0) as bar:
        bar.count(0, len(evaluator.problems) * request.passes)
        return evaluator.evaluate(request, lambda done, total: bar.count(done, total))


def _show(found: Evaluation, path: Path, verbose: bool, as_json: bool) -> None:
    from guerdon.cli.output import output
    from guerdon.report.evaluation import print_answers, print_evaluation

    if as_json:
        click.echo(json.dumps({**found.to_dict(), "file": str(path)}, default=str))
        return
    console = output()
    if verbose:
        print_answers(found.answers, console)
    print_evaluation(found, console)
    click.echo(f"wrote {path}")
