"""The reward ``short_answer``: does the response give an accepted answer to a question of fact?"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from guerdon.reward.decorator import reward_function
from guerdon.rewards._golds import accepted
from guerdon.rewards._parameters import one_of, response_text, shown
from guerdon.rewards._short_forms import Forms, forms, polarity
from guerdon.rewards._short_matching import disputed, matches
from guerdon.rewards._short_reading import read
from guerdon.rewards._short_stance import guesses, is_answer, objection, standing
from guerdon.rewards._text_answers import claims, places, said
from guerdon.types import EvaluateResult, MetricResult

MODES = ("strict", "tolerant")
MAX_RESPONSE = 20_000
MAX_QUESTION = 2_000
PLACES = ("boxed", "tag", "hashes", "label", "phrase", "all")


@reward_function(scale=(0, 1))
def short_answer(
    response: str,
    ground_truth: Any = None,
    answers: Any = None,
    aliases: Any = None,
    prompt: str = "",
    *,
    mode: str = "strict",
    extract: str | Sequence[str] | None = None,
) -> EvaluateResult:
    """Scores 1"""
    tolerant = one_of(mode, MODES, "mode") == "tolerant"
    question = prompt[-MAX_QUESTION:]
    golds = [forms(gold, question) for gold in accepted(ground_truth, answers, aliases)]
    found = claims(said(response_text(response)), places(extract, PLACES))
    metric = MetricResult(float(bool(found)), success=bool(found))
    if not found:
        return EvaluateResult(0.0, reason="no answer found", metrics={"answer_found": metric})
    for claim in found:
        right, how = _judge(claim.text, golds, question, tolerant)
        if not right:
            break
    reason = f"{shown(claim.text)}: {how}"
    return EvaluateResult(float(right), reason=reason, metrics={"answer_found": metric})


def _judge(text: str, golds: list[Forms], prompt: str, tolerant: bool) -> tuple[bool, str]:
    """Whether a text gives an accepted answer, and how or why not."""
    if len(text) > MAX_RESPONSE:
        return False, f"it has {len(text):,} characters, over {MAX_RESPONSE:,}"
    if all(gold.polarity is not None for gold in golds):
        return _polar(text, golds)
    asked = read(prompt)
    if (listed := guesses(text, prompt)) and _is_spray(listed, golds):
        return False, f"it lists {len(listed)} guesses"
    readings = [reading for sentence in standing(text) if (reading := read(sentence)).cased]
    if not tolerant and len(readings) > 1 and is_answer(readings[0]):
        readings = readings[:1]
    why = "no accepted answer in it"
    for reading in readings:
        for gold in golds:
            for match in matches(reading, gold, tolerant):
                against = objection(reading, match, asked)
                if against is None and disputed(reading, match, golds):
                    against = "its date contradicts a more precise one"
                if against is None:
                    return True, match.how
                why = against
    return False, why


def _is_spray(listed: list[str], golds: list[Forms]) -> bool:
    """Whether at most one of the items is an accepted answer."""
    hits = sum(any(True for gold in golds for _ in matches(read(item), gold, False)) for item in listed)
    return hits <= 1


def _polar(text: str, golds: list[Forms]) -> tuple[bool, str]:
    """Yes or no, by the word that the text opens with."""
    first = next((polarity(word) for word in read(text[:200]).plain[:3] if polarity(word) is not None), None)
    if first is None:
        return False, "neither yes nor no"
    return any(gold.polarity is first for gold in golds), "yes" if first else "no"
