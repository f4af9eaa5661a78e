"""The reward ``judge``: what does another model say of the response?"""

from __future__ import annotations

import asyncio
import os
import time
from typing import Any

from guerdon.errors import DeadlineError, InputError, InvalidResultError, RemoteError, RewardError
from guerdon.reward.binding.annotations import Setting
from guerdon.reward.decorator import reward_function
from guerdon.rewards.common.http import SESSIONS
from guerdon.rewards.common.parameters import one_of, shown, yes_or_no
from guerdon.rewards.judge.client import JudgeClient, Usage
from guerdon.rewards.judge.endpoint import JudgeEndpoint, endpoint
from guerdon.rewards.judge.inputs import is_empty
from guerdon.rewards.judge.settings import JudgeSettings, manner, whole
from guerdon.rewards.judge.task import KINDS, JudgeCriteria, JudgeTask, Style, task_of
from guerdon.rewards.judge.verdicts import Judgement
from guerdon.rewards.judge.votes import Vote, combined, explanation_of, metrics_of
from guerdon.types import EvaluateResult, Message

MOST_POINTS = 100
LEAST_CHARACTERS, MOST_CHARACTERS = 100, 10_000_000


@reward_function(timeout=120, enforces_timeout=True, scale=(0, 1))
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
    - ``checklist``: which items of ``checklist``, ``rubric`` or ``rubrics`` are met. Items are texts or objects
      with a text (``criterion``, ``description``, …), a weight (``weight``, ``points``) and perhaps
      ``essential``. The score is the weights met over the positive weights, cut to 0 to 1: an item of negative
      weight names a fault and takes away. It is 0 where an essential item comes out badly.
    - ``reference``: whether the final answer means the same as ``ground_truth``.
    - ``pairwise``: whether the response is better than ``reference_response`` or ``baseline``, asked in both
      orders. 1 where it wins both, 0.5 for a tie and where the orders contradict each other, 0 where it loses.

    The other kinds show the judge a ``ground_truth`` too, where there is one.

    ``model`` and ``base_url`` say who judges, else the environment: GUERDON_JUDGE_MODEL, GUERDON_JUDGE_BASE_URL or
    OPENAI_BASE_URL, else OpenAI. The key is in GUERDON_JUDGE_API_KEY, or in the variable that ``key_variable``
    names; that of OPENAI_API_KEY goes to OpenAI and to OPENAI_BASE_URL only. All keyword parameters are set by
    whoever runs the reward; columns of these names are not looked at.

    What is quoted to the judge is fenced by marks that occur in none of it, control tokens of chat templates are
    broken up, and the verdict is read only from a JSON object of the judge's own that repeats a code. What stands
    before ``</think>`` is hidden unless ``reasoning``. A response of over ``max_characters`` is judged by its two
    ends. An empty one gets 0 without anyone being asked, and so does one of nothing but punctuation or a single
    line that ends in a colon ("Thought process:").

    ``system_prompt`` replaces our words on the judge's role, ``template`` the rest of the question but for the
    form of the answer; its fields are those of the kind: ``{request}``, ``{response}``, ``{reference}``,
    ``{rubric}``, ``{criteria}``, ``{checklist}``, ``{points}``, ``{response_a}``, ``{response_b}``.

    With ``votes`` the judge is asked so often, under seeds from ``seed`` on, and ``voting`` takes the ``mean`` or
    the ``majority``; ``temperature`` is 0 for one vote and 1 for several unless given. More than half of the
    votes must be readable. A message without a verdict is asked for once more; 429, 5xx and lost connections
    are tried again ``retries`` times, as Retry-After says. One request may take ``request_seconds``, all of them
    ``seconds``. ``cache`` (or GUERDON_JUDGE_CACHE) is a file that keeps verdicts; there is none by default.

    Scale: 0 to 1.

    The metrics are ``judge`` (the version of our prompts; its reason names the model), ``requests``,
    ``prompt_tokens``, ``completion_tokens``, ``cached``, ``cost`` (by ``prompt_price`` and ``completion_price``,
    which are for a million tokens), ``votes`` and ``agreement`` (the share of the most common verdict),
    ``grade``, ``items_met`` and ``item_1`` … of a checklist, and of a pair ``as_first`` and ``as_second`` (what the
    response got in each order), ``position_consistency`` and ``position_bias`` (1 where what stands first wins,
    -1 where it loses).

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
    asked = endpoint(base_url, model, key_variable)
    how = manner(
        votes=votes,
        voting=voting,
        temperature=temperature,
        seed=seed,
        max_tokens=max_tokens,
        retries=retries,
        request_seconds=request_seconds,
        seconds=seconds,
        prompt_price=prompt_price,
        completion_price=completion_price,
        cache=cache,
    )
    style = Style(
        kind=one_of(kind, KINDS, "kind"),
        points=whole(points, "points", 2, MOST_POINTS),
        system_prompt=_text(system_prompt, "system_prompt"),
        template=_text(template, "template"),
        reasoning=yes_or_no(reasoning, "reasoning"),
        most=whole(max_characters, "max_characters", LEAST_CHARACTERS, MOST_CHARACTERS),
    )
    listed = checklist if checklist is not None else rubrics
    rival = reference_response if reference_response is not None else baseline
    matter = task_of(messages, JudgeCriteria(ground_truth, rubric, listed, rival), style)
    if is_empty(matter.response):
        return _settled(0.0, "the response is empty; nobody was asked", asked, how)
    if matter.response == matter.rival:
        return _settled(0.5, "the two responses are the same; nobody was asked", asked, how)
    return await _judged(matter, asked, how)


def _settled(score: float, reason: str, asked: JudgeEndpoint, how: JudgeSettings) -> EvaluateResult:
    return EvaluateResult(score, reason=reason, metrics=how.costs(asked, Usage()))


async def _judged(matter: JudgeTask, asked: JudgeEndpoint, how: JudgeSettings) -> EvaluateResult:
    """The verdict of the judge; where there is none, the failure, with what it cost."""
    usage = Usage()
    try:
        async with asyncio.timeout(how.seconds), SESSIONS.session() as session:
            asking = JudgeClient(
                endpoint=asked,
                session=session,
                usage=usage,
                temperature=how.temperature,
                max_tokens=how.max_tokens,
                retries=how.retries,
                request_seconds=how.request_seconds,
                ends=time.monotonic() + how.seconds,
                cache=how.cache,
            )
            votes = await _votes(asking, matter, how)
    except TimeoutError:
        failure: RewardError = DeadlineError(f"the judge gave no verdict within {how.seconds:g} s")
    except (RemoteError, InvalidResultError) as error:
        failure = error
    else:
        score = combined(votes, how.voting)
        metrics = {**how.costs(asked, usage), **metrics_of(votes, how.votes), **matter.metrics(votes)}
        return EvaluateResult(score, reason=explanation_of(votes, score), metrics=metrics)
    failed = EvaluateResult.failure(failure)
    failed.metrics.update(how.costs(asked, usage))
    return failed


async def _votes(asking: JudgeClient, matter: JudgeTask, how: JudgeSettings) -> list[Vote]:
    """The votes that can be read. Raises what ailed the first of the others where these are half of them or more."""
    questions = matter.questions()

    async def one(number: int) -> Vote:
        calls = (asking.judgement(question, how.seed + number) for question in questions)
        given = await asyncio.gather(*calls, return_exceptions=True)  # all end before the connections close
        for error in given:
            if isinstance(error, BaseException):
                raise error
        return matter.vote([answer for answer in given if isinstance(answer, Judgement)])

    found = await asyncio.gather(*map(one, range(how.votes)), return_exceptions=True)
    votes = [vote for vote in found if isinstance(vote, Vote)]
    failures = [error for error in found if isinstance(error, BaseException)]
    for error in failures:
        if not isinstance(error, RemoteError | InvalidResultError):
            raise error
    if failures and len(votes) <= len(failures):
        raise failures[0]
    return votes


def _text(value: Any, what: str) -> str | None:
    if value is None or (isinstance(value, str) and value.strip()):
        return value
    raise InputError(f"{what} must be a text that is not empty, not {shown(value)}")
