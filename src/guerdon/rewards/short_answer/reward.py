"""The reward ``short_answer``: does the response give an accepted answer to a question of fact?"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from guerdon.errors import MissingExtraError
from guerdon.reward.decorator import reward_function
from guerdon.rewards.answers.text import claims, places
from guerdon.rewards.answers.visible import visible
from guerdon.rewards.common.parameters import among, needs, one_of, parameter_check, response_text, shown
from guerdon.rewards.common.references import accepted
from guerdon.rewards.short_answer.assertion import (
    certain,
    guesses,
    is_answer,
    is_hedged,
    objection,
    says_yes,
    stated_clauses,
)
from guerdon.rewards.short_answer.forms import Forms, forms
from guerdon.rewards.short_answer.matching import disputed, matches
from guerdon.rewards.short_answer.reading import read
from guerdon.types import EvaluateResult, MetricResult

MODES = ("strict", "tolerant")
MAX_RESPONSE = 20_000
"""Characters that a short answer may have."""
MAX_QUESTION = 2_000
"""Characters at the end of a prompt that are its question."""
PLACES = ("boxed", "tag", "hashes", "label", "phrase", "all")


def _reach(**_: Any) -> None:
    for module in ("rapidfuzz", "text_to_num"):
        needs(module, "text", "the short_answer reward")()


@reward_function(
    reach=_reach,
    scale=(0, 1),
    check=parameter_check(mode=among(MODES), extract=lambda value, _: places(value, ())),
)
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
    r"""Scores 1 where the response gives an accepted answer to a question of fact, else 0.

    The response is a phrase or whole sentences. Numbers in words and in figures are the same
    (``twenty-four``, ``24``; ``World War Two``, ``World War II``), and so are dates however they are written; a
    date may be more precise than the accepted one, not less. Case, accents, articles, punctuation, British
    spelling and the plural of common nouns do not count. A name may have its middle names left out,
    added or as initials, no title, an acronym in brackets ("World Health Organization (WHO)"), or another name
    after "also known as". Words that the question says already may be left out: "Uralic" for "Uralic languages". One
    letter of a long word may be wrong.

    It is not an answer where it is denied ("not Paris", "anything but Paris"), granted only to be passed over ("While
    Paris is larger, it is Bonn"), part of another name ("South Sudan" for "Sudan") or of another person's relative
    ("Obama's wife"), one of several guesses ("Paris or London", a bare list),
    only an echo of the question, in a question of its own, or taken back; and where the response says in a
    box, a tag, after ``Answer:``, in "the answer is …" or in a first sentence that is nothing but an answer
    something else, a later mention does not count. ``extract`` names the places to look at, out of ``boxed``,
    ``tag``, ``hashes``, ``label``, ``phrase`` and ``all``. These are rules: a wrong answer in a sentence of
    many words, with the right one beside it, scores 1.

    ``mode="tolerant"`` also accepts a person's last name, more misspelling, two thirds of an answer's
    words in one sentence with all of its names and figures, and a mention after another answer.

    Accepted answers come from ``ground_truth`` and the columns ``answers`` and ``aliases``: a text, a number,
    a list, or an object of SQuAD or TriviaQA; any of them is enough. The question is the ``prompt``. Yes and no
    are judged by the word that the response opens with. A response of more than 20,000 characters is no
    short answer. Figures and dates in words are read in English.

    Scale: 0 or 1.

    The metric ``answer_found`` says whether there was an answer in the places named.

    Source: the kinds of correct answers that lexical matching misses, as people judged them (Kamalloo et al.
    2023; Wang et al. 2023, EVOUNA).

    Raises InputError where there is no accepted answer, MissingExtraError without the extra ``text``.

    >>> short_answer("It was signed on July 4th, 1776.", "4 July 1776").score
    1.0
    >>> short_answer("It is not Paris.", "Paris").score, short_answer("Paris or Rome", "Paris").score
    (0.0, 0.0)
    """
    _require_extra()
    tolerant = one_of(mode, MODES, "mode") == "tolerant"
    question = prompt[-MAX_QUESTION:]
    golds = [forms(gold, question) for gold in accepted(ground_truth, answers, aliases)]
    found = claims(visible(response_text(response)), places(extract, PLACES))
    metric = MetricResult(float(bool(found)), success=bool(found))
    if not found:
        return EvaluateResult(0.0, reason="no answer found", metrics={"answer_found": metric})
    for claim in found:
        right, how = _judge(claim.text, golds, question, tolerant)
        if not right:
            break
    return EvaluateResult(
        float(right), reason=f"{shown(claim.text)}: {how}", metrics={"answer_found": metric}
    )


def _require_extra() -> None:
    """Raises MissingExtraError at the first sample, not at the first that has a number in words."""
    try:
        import rapidfuzz.distance.OSA  # noqa: F401
        import text_to_num  # noqa: F401
    except ImportError as error:
        raise MissingExtraError.of("text", "the short_answer reward") from error


def _judge(text: str, golds: list[Forms], prompt: str, tolerant: bool) -> tuple[bool, str]:
    """Whether a text gives an accepted answer, and how or why not."""
    if len(text) > MAX_RESPONSE:
        return False, f"it has {len(text):,} characters, over {MAX_RESPONSE:,}"
    if all(gold.polarity is not None for gold in golds):
        return _polar(text, golds)
    text = certain(text)
    asked = read(prompt)
    if is_hedged(text):
        return False, "it offers another answer after it"
    if not _is_gold(text, golds) and (listed := guesses(text, prompt)) and _is_spray(listed, golds):
        return False, f"it lists {len(listed)} guesses"
    readings = [reading for sentence in stated_clauses(text) if (reading := read(sentence)).cased]
    if not tolerant and len(readings) > 1 and is_answer(readings[0], asked):
        readings = readings[:1]
    why = "no accepted answer in it"
    for reading in readings:
        found = [match for gold in golds for match in matches(reading, gold, tolerant)]
        for match in found:
            against = objection(reading, match, asked, found)
            if against is None and disputed(reading, match, golds):
                against = "its date contradicts a more precise one"
            if against is None:
                return True, match.how
            why = against
    return False, why


def _is_gold(text: str, golds: list[Forms]) -> bool:
    """Whether a text is an accepted answer as it stands, which may have commas of its own."""
    plain = read(text).plain
    return any(plain in gold.phrases for gold in golds)


def _is_spray(listed: list[str], golds: list[Forms]) -> bool:
    """Whether at most one of the items is an accepted answer."""
    hits = sum(any(True for gold in golds for _ in matches(read(item), gold, False)) for item in listed)
    return hits <= 1


def _polar(text: str, golds: list[Forms]) -> tuple[bool, str]:
    """Yes or no, by the word that the text opens with."""
    says = says_yes(" ".join(stated_clauses(text[:MAX_QUESTION])[:1]))
    if says is None:
        return False, "neither yes nor no, or both"
    return any(gold.polarity is says for gold in golds), "yes" if says else "no"
