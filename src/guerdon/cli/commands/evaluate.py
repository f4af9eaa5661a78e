"""``guerdon evaluate``: how right a trained model is on held-out problems, before and after."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import TYPE_CHECKING

import click

from guerdon.cli.options import POSITIVE, check_variables, debug_option, option
from guerdon.cli.scoring_run import say_all_failed

if TYPE_CHECKING:
    from guerdon.reward.function import RewardFunction
    from guerdon.train.config.schema import Config
    from guerdon.train.data.problems import Problems
    from guerdon.train.evaluation.eval_metrics import EvalMetrics
    from guerdon.train.evaluation.evaluate import Evaluation, EvaluationRequest, Evaluator, ScoredCompletion
    from guerdon.train.records.folder import RunFolder


@click.command(short_help="Evaluate a trained model on held-out problems.")
@click.argument("run", type=click.Path(path_type=Path))
@option(
    "--inference",
    type=click.Choice(["greedy", "standard", "liberal"]),
    help="How answers are sampled: greedily; with temperature 0.7, top-p 0.95, top-k 50; or with temperature 0.85, "
    "top-k 2000. By default as the run is configured.",
)
@option("--num-passes", type=POSITIVE, help="Answers per problem, for pass@k.")
@option("--step", type=int, help="Evaluate the checkpoint of this step; by default the latest.")
@option(
    "--before/--no-before",
    default=True,
    envvar="GUERDON_BEFORE",
    help="Also evaluate the model before training.",
)
@option("--limit", type=POSITIVE, help="Use at most this many held-out problems.")
@option("--accuracy-component", metavar="NAME", help="The component that says whether an answer is right.")
@option("--format-component", metavar="NAME", help="The component that says whether the format is right.")
@option(
    "-o",
    "--output",
    metavar="FILE",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Write the figures to this file; by default into the run's folder evaluations.",
)
@option("--verbose", is_flag=True, help="Show every answer.")
@option("--json", "as_json", is_flag=True, help="Print one JSON object instead of the table.")
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
    """\b
    guerdon evaluate runs/first
    guerdon evaluate runs/first --step 100 --inference standard --num-passes 8

    Let the model of RUN answer the held-out problems, and score the answers with the run's reward.

    RUN is the folder of a run or of one of its checkpoints. The table has accuracy (answers with the full score of
    the reward or of its accuracy component), partial accuracy (half of the full score or more), format accuracy
    and pass@k, each with its 95 % interval, before and after training.

    Exits with status 1 if every answer after training failed, which the first line says with the reason.
    """
    from guerdon.cli.output import prints_to_stderr
    from guerdon.train.evaluation.eval_metrics import EvalCriteria
    from guerdon.train.evaluation.evaluate import (
        Evaluation,
        EvaluationRequest,
        Evaluator,
        write,
    )

    check_variables()
    with prints_to_stderr():
        (folder, number, checkpoint), (config, reward, problems) = _read(run, step)
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
    if found.all_failed is not None:
        raise SystemExit(1)


def _read(
    run: Path, step: int | None
) -> tuple[tuple[RunFolder, int, Path], tuple[Config, RewardFunction, Problems]]:
    """The folder of a run with one of its checkpoints, and what the run was made of."""
    from guerdon.console.working import Working
    from guerdon.train.evaluation.evaluate import checkpoint_of
    from guerdon.train.run.runner import loaded

    with Working(f"reading {run}"):
        found = checkpoint_of(run, step)
        return found, loaded(found[0])


def _evaluated(
    evaluator: Evaluator, request: EvaluationRequest, what: str
) -> tuple[EvalMetrics, list[ScoredCompletion]]:
    from guerdon.cli.output import ProgressBar

    with ProgressBar(f"evaluating {what}", patience=0.0) as bar:
        bar.count(0, len(evaluator.problems) * request.passes, "loading the model")
        return evaluator.evaluate(request, lambda done, total: bar.count(done, total))


def _show(found: Evaluation, path: Path, verbose: bool, as_json: bool) -> None:
    from guerdon.cli.output import output
    from guerdon.console.sample import print_all_failed
    from guerdon.report.evaluation import print_answers, print_evaluation

    if as_json:
        say_all_failed(found.all_failed)
        click.echo(json.dumps({**found.to_dict(), "file": str(path)}, default=str))
        return
    console = output()
    print_all_failed(found.all_failed, console)
    if verbose:
        print_answers(found.answers, console)
    print_evaluation(found, console)
    click.echo(f"wrote {path}")
