"""What is judged, by kind: the questions to the judge, and the score that its verdicts give."""

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
from guerdon.rewards.judge.prompts import DEFAULT_RUBRIC, JudgeQuestion, check_template, question
from guerdon.rewards.judge.settings import JudgeSettings
from guerdon.rewards.judge.verdicts import Judgement, bounded
from guerdon.rewards.judge.votes import Vote, of_pair
from guerdon.types import Message, MetricResult

_CRITERION = 200


@dataclass(frozen=True, slots=True)
class JudgeCriteria:
    """What a response is judged by, from the row's columns or the parameters."""

    ground_truth: Any = None
    rubric: Any = None
    checklist: Any = None
    baseline: Any = None


@dataclass(frozen=True, slots=True)
class JudgeTask:
    """A response and what it is judged by."""

    settings: JudgeSettings
    response: str
    blocks: Mapping[str, str]
    items: tuple[ChecklistItem, ...] = ()
    baseline: str = ""
    """Of a pair, the other response."""

    def questions(self) -> tuple[JudgeQuestion, ...]:
        """What the judge is asked for one vote: of a pair both orders, else one question."""
        if self.settings.kind != "pairwise":
            return (self._question({"response": self.response}),)
        return (
            self._question({"response_a": self.response, "response_b": self.baseline}),
            self._question({"response_a": self.baseline, "response_b": self.response}),
        )

    def _question(self, judged: Mapping[str, str]) -> JudgeQuestion:
        settings = self.settings
        return question(
            settings.kind,
            {**self.blocks, **judged},
            points=settings.points,
            items=len(self.items),
            system_prompt=settings.system_prompt,
            template=settings.template,
        )

    def vote(self, judgements: Sequence[Judgement]) -> Vote:
        """The vote that the answers to its questions make."""
        if self.settings.kind == "pairwise":
            return of_pair(*judgements)
        found = judgements[0]
        value = share(self.items, found.met) if self.items else found.value
        return Vote(value, found.label, found.explanation, found.met)

    def metrics(self, votes: Sequence[Vote]) -> dict[str, MetricResult]:
        """The metrics of the votes besides the score."""
        if self.settings.kind == "rubric":
            values = [vote.value for vote in votes if vote.value is not None]
            return {"grade": MetricResult(1 + (self.settings.points - 1) * sum(values) / len(values))}
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


def task_of(messages: Sequence[Message], criteria: JudgeCriteria, settings: JudgeSettings) -> JudgeTask:
    """The task of a row. Raises InputError where a column that the kind needs is missing or unreadable."""
    kind, most = settings.kind, settings.max_characters
    if settings.template is not None:
        check_template(settings.template, kind)
    response = response_of(messages, reasoning=settings.reasoning, most=most)
    reference = reference_of(criteria.ground_truth)
    blocks = {"request": request_of(messages, most), "reference": reference}
    if kind == "checklist":
        given = criteria.checklist if criteria.checklist is not None else criteria.rubric
        if given is None:
            raise InputError(
                'kind="checklist" needs items: checklist=, or a column checklist, rubric or rubrics'
            )
        items = tuple(entries(given))
        return JudgeTask(settings, response, {**blocks, "checklist": shown_to_judge(items)}, items)
    if kind == "reference":
        if not reference:
            raise InputError('kind="reference" needs the reference answer: a column ground_truth or answer')
        return JudgeTask(settings, response, blocks)
    if kind == "verdict":
        if criteria.rubric is None:
            raise InputError('kind="verdict" needs the criteria: rubric=, or a column rubric')
        return JudgeTask(settings, response, {**blocks, "criteria": text_of_rubric(criteria.rubric)})
    blocks["rubric"] = text_of_rubric(DEFAULT_RUBRIC if criteria.rubric is None else criteria.rubric)
    if kind == "rubric":
        return JudgeTask(settings, response, blocks)
    return JudgeTask(settings, response, blocks, baseline=baseline_of(criteria.baseline, most))
