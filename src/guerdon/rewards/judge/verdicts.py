"""What a judge answered, read: the verdict is in the judge's own message and nowhere else."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, ValidationError, field_validator

from guerdon.checks import reason_of
from guerdon.errors import InvalidResultError
from guerdon.rewards.judge.prompts import JudgeQuestion

EXPLANATION = 1000
"""Characters of a judge's explanation that are kept."""
_OCCURRENCES = 8
_STARTS = 64
_LABELS = {"PASS": 1.0, "FAIL": 0.0, "NA": None}
_BETTER = {"A": 1.0, "B": 0.0, "TIE": 0.5}
_BLANK = re.compile(r"\s+")


class _VerdictForm(BaseModel):
    """The JSON object that a judge answers with."""

    model_config = ConfigDict(extra="ignore", defer_build=True)

    code: str
    explanation: str = ""


class Grade(_VerdictForm):
    score: int

    @field_validator("score", mode="before")
    @classmethod
    def _no_truth_value(cls, value: Any) -> Any:
        if isinstance(value, bool):
            raise ValueError("a grade is a number")
        return value


class PassVerdict(_VerdictForm):
    verdict: Literal["PASS", "FAIL", "NA"]


class CorrectVerdict(_VerdictForm):
    correct: bool


class PreferenceVerdict(_VerdictForm):
    better: Literal["A", "B", "TIE"]


class ItemVerdict(BaseModel):
    """What a judge found of one item of a checklist."""

    model_config = ConfigDict(extra="ignore", defer_build=True)

    number: int
    explanation: str = ""
    met: bool


class ItemVerdicts(_VerdictForm):
    items: list[ItemVerdict]


@dataclass(frozen=True, slots=True)
class Judgement:
    """A verdict that was read."""

    value: float | None
    """From 0 to 1; of a pair, 1 where the first response is better. None for "does not apply", and of a checklist,
    whose items have weights that the judge does not know."""
    label: str
    """The verdict in the judge's words, such as ``4``, ``PASS`` or ``B``."""
    explanation: str
    met: tuple[bool, ...] = ()
    """Of a checklist, which items are met."""


_FORMS: Mapping[str, type[_VerdictForm]] = {
    "rubric": Grade,
    "verdict": PassVerdict,
    "reference": CorrectVerdict,
    "pairwise": PreferenceVerdict,
    "checklist": ItemVerdicts,
}
"""The model that the answer to a kind of question has to fit."""


def schema_of(question: JudgeQuestion) -> dict[str, Any]:
    """The JSON Schema of the answer as structured output takes it: all is required, nothing else let in."""
    explanation = {"type": "string"}
    last: Mapping[str, dict[str, Any]] = {
        "rubric": {"score": {"type": "integer", "enum": list(range(1, question.points + 1))}},
        "verdict": {"verdict": {"type": "string", "enum": list(_LABELS)}},
        "reference": {"correct": {"type": "boolean"}},
        "pairwise": {"better": {"type": "string", "enum": list(_BETTER)}},
    }
    code = {
        "code": {"type": "string"}
    }  # not which one: servers prepare for a schema, and keep what they prepared
    if question.kind == "checklist":
        numbers = {"type": "integer", "enum": list(range(1, question.items + 1))}
        item = _closed({"number": numbers, "explanation": explanation, "met": {"type": "boolean"}})
        return _closed({**code, "items": {"type": "array", "items": item}})
    return _closed({**code, "explanation": explanation, **last[question.kind]})


def _closed(properties: dict[str, Any]) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def read(text: str, question: JudgeQuestion) -> Judgement:
    """The verdict in a judge's message: its last JSON object that repeats the code.

    Raises InvalidResultError where there is none, or it is not of the form that was asked for.
    """
    found = _last_object(text, question.code)
    if found is None:
        raise InvalidResultError(f"the judge gave no readable verdict: {_excerpt(text)}")
    try:
        form = _FORMS[question.kind].model_validate(found)
    except ValidationError as error:
        raise InvalidResultError(
            f"the judge's verdict is not of the form asked for: {reason_of(error)}"
        ) from None
    return _judgement(form, question)


def _judgement(form: Any, question: JudgeQuestion) -> Judgement:
    if isinstance(form, ItemVerdicts):
        met = {item.number: item.met for item in form.items}
        if sorted(item.number for item in form.items) != list(range(1, question.items + 1)):
            raise InvalidResultError(f"the judge did not decide each of the {question.items} items once")
        findings = [f"{i.number}: {'met' if i.met else 'not met'}. {i.explanation}" for i in form.items]
        ordered = tuple(met[number] for number in sorted(met))
        return Judgement(None, f"{sum(ordered)} of {len(ordered)}", bounded(" ".join(findings)), ordered)
    explanation = bounded(form.explanation)
    if isinstance(form, PassVerdict):
        return Judgement(_LABELS[form.verdict], form.verdict, explanation)
    if isinstance(form, PreferenceVerdict):
        return Judgement(_BETTER[form.better], form.better, explanation)
    if isinstance(form, CorrectVerdict):
        return Judgement(float(form.correct), "correct" if form.correct else "wrong", explanation)
    if not 1 <= form.score <= question.points:
        raise InvalidResultError(f"the judge's grade is {form.score}, not from 1 to {question.points}")
    return Judgement((form.score - 1) / (question.points - 1), str(form.score), explanation)


def _last_object(text: str, code: str) -> Mapping[str, Any] | None:
    """The last JSON object in a text whose ``code`` is the one asked for."""
    end = len(text)
    for _ in range(_OCCURRENCES):
        at = text.rfind(code, 0, end)
        if at < 0:
            return None
        if (found := _object_around(text, at, code)) is not None:
            return found
        end = at
    return None


def _object_around(text: str, at: int, code: str) -> Mapping[str, Any] | None:
    start = at
    decoder = json.JSONDecoder()
    for _ in range(_STARTS):
        start = text.rfind("{", 0, start)
        if start < 0:
            return None
        try:
            value, _ = decoder.raw_decode(text, start)
        except (ValueError, RecursionError):
            continue
        if isinstance(value, dict) and value.get("code") == code:
            return value
    return None


def bounded(text: str, limit: int = EXPLANATION) -> str:
    """Text for a reason: on one line, printable, not long."""
    plain = "".join(c if c.isprintable() else "\ufffd" for c in _BLANK.sub(" ", text[: 4 * limit]).strip())
    return plain if len(plain) <= limit else plain[: limit - 1] + "…"


def _excerpt(text: str) -> str:
    return f'"{bounded(text, 120)}"' if text.strip() else "its message is empty"
