"""The reward ``judge``: what does another model say of the response?"""

from __future__ import annotations

import asyncio
import inspect
import os
import time
from typing import Any, cast

from guerdon.checks import refuse_unreachable
from guerdon.errors import DeadlineError, InvalidResultError, RemoteError, RewardError
from guerdon.reward.binding.annotations import Setting
from guerdon.reward.decorator import reward_function
from guerdon.rewards.common.http import SESSIONS, library
from guerdon.rewards.common.parameters import plain_text
from guerdon.rewards.judge.client import JudgeClient, Usage
from guerdon.rewards.judge.endpoint import OPENAI, JudgeEndpoint, checked_address, endpoint
from guerdon.rewards.judge.inputs import is_empty
from guerdon.rewards.judge.prompts import check_template
from guerdon.rewards.judge.settings import JudgeSettings
from guerdon.rewards.judge.task import JudgeCriteria, JudgeTask, task_of
from guerdon.rewards.judge.verdicts import Judgement
from guerdon.rewards.judge.votes import Vote, combined, explanation_of, metrics_of
from guerdon.types import EvaluateResult, Message


def _check(**given: Any) -> None:
    defaults = {name: p.default for name, p in inspect.signature(cast("Any", judge.func)).parameters.items()}
    text = {
        name: plain_text(given[name], name) for name in ("model", "base_url") if given.get(name) is not None
    }
    address = checked_address(text["base_url"]) if "base_url" in text else OPENAI
    settings = JudgeSettings.from_parameters({**defaults, **given}, JudgeEndpoint(address, "any"))
    if settings.template is not None:
        check_template(settings.template, settings.kind)


def _reach(**given: Any) -> None:
    library()
    asked = endpoint(given.get("base_url"), given.get("model"), given.get("key_variable"))
    refuse_unreachable(asked.address, "the judge")


@reward_function(timeout=120, enforces_timeout=True, scale=(0, 1), check=_check, reach=_reach)
async def judge(
    messages: list[Message],
    ground_truth: Any = None,
    rubric: Any = None,
    checklist: Any = None,
    rubrics: Any = None,
    reference_response: Any = None,
    baseline: Any = None,
    *,
    kind: Setting[str] = "rubric",
    points: Setting[int] = 5,
    model: Setting[str | None] = None,
    base_url: Setting[str | None] = None,
    key_variable: Setting[str | None] = None,
    system_prompt: Setting[str | None] = None,
    template: Setting[str | None] = None,
    reasoning: Setting[bool] = False,
    max_characters: Setting[int] = 50_000,
    votes: Setting[int] = 1,
    voting: Setting[str] = "mean",
    temperature: Setting[float | None] = None,
    seed: Setting[int] = 0,
    max_tokens: Setting[int] = 2048,
    retries: Setting[int] = 4,
    request_seconds: Setting[float] = 60.0,
    seconds: Setting[float] = 110.0,
    prompt_price: Setting[float | None] = None,
    completion_price: Setting[float | None] = None,
    cache: Setting[str | os.PathLike[str] | None] = None,
) -> EvaluateResult:
    """Scores a response by the verdict of another model, behind any OpenAI-compatible endpoint.

    ``kind`` says what is asked:

    - ``rubric``: a grade from 1 to ``points`` by the text ``rubric`` (a column or a parameter; without one, how
      well the request is answered). The grades are spread evenly over 0 to 1.
    - ``verdict``: whether the criteria in ``rubric`` are met. PASS scores 1, FAIL 0; where the judge says NA the
      reward does not apply.
    - ``checklist``: which items of ``checklist``, ``rubric`` or ``rubrics`` are met. The score is the weights met
      over the positive weights, cut to 0 to 1, and 0 where an essential item comes out badly.
    - ``reference``: whether the final answer means the same as ``ground_truth``.
    - ``pairwise``: whether the response is better than ``reference_response`` or ``baseline``, asked in both
      orders. 1 where it wins both, 0.5 for a tie and where the orders contradict each other, 0 where it loses.

    ``model`` and ``base_url`` name the judge, else GUERDON_JUDGE_MODEL and GUERDON_JUDGE_BASE_URL (or
    OPENAI_BASE_URL, else OpenAI); the key is in GUERDON_JUDGE_API_KEY, in the variable ``key_variable`` or, for
    OpenAI, in OPENAI_API_KEY. A row never sets the keyword parameters. An empty response scores 0 without a request.
    docs/judge.md describes every parameter and metric, the prompts and how they resist a response that argues.

    Scale: 0 to 1.

    Source: grading by a model as in Zheng et al. 2023, "Judging LLM-as-a-Judge with MT-Bench and Chatbot Arena",
    whose remedy for position bias is the change of order; checklists as in HealthBench (Arora et al. 2025). The
    wire format is OpenAI's chat completions with structured outputs, and without them where a server has none.

    Raises InputError where no model is set or a parameter or a column cannot be used; RemoteError where the judge
    does not answer; InvalidResultError where it refuses or gives no readable verdict, which is never a score;
    DeadlineError after ``seconds``; MissingExtraError without the extra ``judge``.

    >>> import asyncio
    >>> one = dict(model="any", base_url="http://localhost:9/v1", kind="verdict", rubric="It names a sea.")
    >>> asyncio.run(judge([{"role": "assistant", "content": "Thought process:"}], **one)).score
    0.0
    >>> asyncio.run(judge([{"role": "assistant", "content": "The Red Sea"}], **one, retries=0)).error_kind
    'remote'
    """
    settings = JudgeSettings.from_parameters(locals())
    listed = checklist if checklist is not None else rubrics
    other = reference_response if reference_response is not None else baseline
    task = task_of(messages, JudgeCriteria(ground_truth, rubric, listed, other), settings)
    if is_empty(task.response):
        return _unasked(0.0, "the response is empty; the judge was not asked", settings)
    if task.response == task.baseline:
        return _unasked(0.5, "the two responses are the same; the judge was not asked", settings)
    return await _judged(task, settings)


def _unasked(score: float, reason: str, settings: JudgeSettings) -> EvaluateResult:
    return EvaluateResult(score, reason=reason, metrics=Usage().metrics(settings))


async def _judged(task: JudgeTask, settings: JudgeSettings) -> EvaluateResult:
    """The verdict of the judge; where there is none, the failure, with what it cost."""
    usage = Usage()
    try:
        async with asyncio.timeout(settings.seconds), SESSIONS.session() as session:
            client = JudgeClient(settings, session, usage, ends=time.monotonic() + settings.seconds)
            votes = await _votes(client, task, settings)
    except TimeoutError:
        failure: RewardError = DeadlineError(f"the judge gave no verdict within {settings.seconds:g} s")
    except (RemoteError, InvalidResultError) as error:
        failure = error
    else:
        score = combined(votes, settings.voting)
        metrics = {**usage.metrics(settings), **metrics_of(votes, settings.votes), **task.metrics(votes)}
        return EvaluateResult(score, reason=explanation_of(votes, score), metrics=metrics)
    failed = EvaluateResult.failure(failure)
    failed.metrics.update(usage.metrics(settings))
    return failed


async def _votes(client: JudgeClient, task: JudgeTask, settings: JudgeSettings) -> list[Vote]:
    """The votes that can be read. Raises the first failure where half of the votes or more failed."""
    questions = task.questions()

    async def one(number: int) -> Vote:
        calls = (client.judgement(question, settings.seed + number) for question in questions)
        given = await asyncio.gather(*calls, return_exceptions=True)  # all end before the connections close
        for error in given:
            if isinstance(error, BaseException):
                raise error
        return task.vote([answer for answer in given if isinstance(answer, Judgement)])

    found = await asyncio.gather(*map(one, range(settings.votes)), return_exceptions=True)
    votes = [vote for vote in found if isinstance(vote, Vote)]
    failures = [error for error in found if isinstance(error, BaseException)]
    for error in failures:
        if not isinstance(error, RemoteError | InvalidResultError):
            raise error
    if failures and len(votes) <= len(failures):
        raise failures[0]
    return votes
