"""The matter that is judged, by kind: which questions it makes, and what a judge's verdicts mean for it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from guerdon.errors import InputError
from guerdon.rewards.judge.checklists import ChecklistItem, entries, share, shown_to_judge
from guerdon.rewards.judge.inputs import (
    baseline_of,
    reference_of,
    request_of,
    response_of,
    text_of_rubric,
)
from guerdon.rewards.judge.prompts import DEFAULT_RUBRIC, FIELDS, JudgeQuestion, check_template, question
from guerdon.rewards.judge.verdicts import Judgement, bounded
from guerdon.rewards.judge.votes import Vote, of_pair
from guerdon.types import Message, MetricResult

KINDS = tuple(FIELDS)
_CRITERION = 200


@dataclass(frozen=True, slots=True)
class JudgeCriteria:
    """What a response is judged by, as the columns and the parameters give it."""

    ground_truth: Any = None
    rubric: Any = None
    checklist: Any = None
    baseline: Any = None


@dataclass(frozen=True, slots=True)
class Style:
    """How it is asked."""

    kind: str
    points: int
    system_prompt: str | None
    template: str | None
    reasoning: bool
    most: int
    """Characters of the response, and of the conversation, that are shown."""


@dataclass(frozen=True, slots=True)
class JudgeTask:
    """A response and what it is judged by."""

    style: Style
    response: str
    blocks: Mapping[str, str]
    items: tuple[ChecklistItem, ...] = ()
    rival: str = ""
    """Of a pair, the other response."""

    def questions(self) -> tuple[JudgeQuestion, ...]:
        """What the judge is asked for one vote: of a pair both orders, else one question."""
        if self.style.kind != "pairwise":
            return (self._question({"response": self.response}),)
        return (
            self._question({"response_a": self.response, "response_b": self.rival}),
            self._question({"response_a": self.rival, "response_b": self.response}),
        )

    def _question(self, judged: Mapping[str, str]) -> JudgeQuestion:
        style = self.style
        return question(
            style.kind,
            {**self.blocks, **judged},
            points=style.points,
            items=len(self.items),
            system_prompt=style.system_prompt,
            template=style.template,
        )

    def vote(self, judgements: Sequence[Judgement]) -> Vote:
        """What the answers to the questions of one vote come to."""
        if self.style.kind == "pairwise":
            return of_pair(*judgements)
        found = judgements[0]
        value = share(self.items, found.met) if self.items else found.value
        return Vote(value, found.label, found.explanation, found.met)

    def metrics(self, votes: Sequence[Vote]) -> dict[str, MetricResult]:
        """What the votes say of the matter besides the score."""
        if self.style.kind == "rubric":
            values = [vote.value for vote in votes if vote.value is not None]
            return {"grade": MetricResult(1 + (self.style.points - 1) * sum(values) / len(values))}
        if not self.items:
            return {}
        found: dict[str, MetricResult] = {}
        for number, entry in enumerate(self.items):
            met = sum(vote.met[number] for vote in votes) / len(votes)
            found[f"item_{number + 1}"] = MetricResult(
                met,
                success=entry.is_well(met > 0.5),
                reason=bounded(entry.text, _CRITERION),
                weight=entry.weight,
            )
        together = sum(metric.score for metric in found.values()) / len(found)
        return {"items_met": MetricResult(together), **found}


def task_of(messages: Sequence[Message], against: JudgeCriteria, style: Style) -> JudgeTask:
    """What there is to judge. Raises InputError where what the kind needs is missing or cannot be read."""
    kind, most = style.kind, style.most
    if style.template is not None:
        check_template(style.template, kind)
    response = response_of(messages, reasoning=style.reasoning, most=most)
    reference = reference_of(against.ground_truth)
    blocks = {"request": request_of(messages, most), "reference": reference}
    if kind == "checklist":
        given = against.checklist if against.checklist is not None else against.rubric
        if given is None:
            raise InputError(
                'kind="checklist" needs items: checklist=, or a column checklist, rubric or rubrics'
            )
        items = tuple(entries(given))
        return JudgeTask(style, response, {**blocks, "checklist": shown_to_judge(items)}, items)
    if kind == "reference":
        if not reference:
            raise InputError('kind="reference" needs the reference answer: a column ground_truth or answer')
        return JudgeTask(style, response, blocks)
    if kind == "verdict":
        if against.rubric is None:
            raise InputError('kind="verdict" needs the criteria: rubric=, or a column rubric')
        return JudgeTask(style, response, {**blocks, "criteria": text_of_rubric(against.rubric)})
    blocks["rubric"] = text_of_rubric(DEFAULT_RUBRIC if against.rubric is None else against.rubric)
    if kind == "rubric":
        return JudgeTask(style, response, blocks)
    return JudgeTask(style, response, blocks, rival=baseline_of(against.baseline, most))
