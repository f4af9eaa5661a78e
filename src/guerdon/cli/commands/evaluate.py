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
@option("--reward", metavar="REWARD", help="Score with this reward, not with the one that the run names.")
@option(
    "--trust", is_flag=True, help="Load the code that a run names which another user or machine has made."
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
    reward: str | None,
    trust: bool,
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

    The reward is code that the run's configuration names. If your guerdon has not made RUN on this machine, that
    is loaded once you confirm it, with --trust, or not at all with --reward.

    Exits with status 1 if every answer after training failed, which the first line says with the reason.
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

    check_variables()
    with prints_to_stderr():
        folder, number, checkpoint = checkpoint_of(run, step)
        config, made, problems = _read(folder, reward, trust)
        known = config.evaluation
        inference, num_passes = inference or known.inference_config, num_passes or known.num_passes
        request = EvaluationRequest(
            checkpoint=checkpoint, step=number, inference=inference, passes=num_passes
        )
        criteria = EvalCriteria.of(made, accuracy_component, format_component)
        evaluator = Evaluator(config=config, reward=made, problems=problems.test[:limit], criteria=criteria)
        first = _evaluated(evaluator, _untrained(request), "before")[0] if before else None
        after, answers = _evaluated(evaluator, request, f"step {number:,}")
        found = Evaluation(
            made_by=made.provenance,
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


def _untrained(request: EvaluationRequest) -> EvaluationRequest:
    return dataclasses.replace(request, checkpoint=None, step=0)


def _read(folder: RunFolder, reward: str | None, trust: bool) -> tuple[Config, RewardFunction, Problems]:
    """What a run was made of, with its reward or another one."""
    from guerdon.cli.commands.train.shared import asks_trust
    from guerdon.console.working import Working
    from guerdon.train.run.runner import loaded

    with Working(f"reading {folder.path}"):
        return loaded(folder, trust=trust or asks_trust, reward=reward)


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
