"""The reward ``short_answer``: does the response give an accepted answer to a question of fact?"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from guerdon.errors import MissingExtraError
from guerdon.reward.decorator import reward_function
from guerdon.rewards._answers_visible import visible
from guerdon.rewards._golds import accepted
from guerdon.rewards._parameters import one_of, response_text, shown
from guerdon.rewards._short_forms import Forms, forms, polarity
from guerdon.rewards._short_matching import disputed, matches
from guerdon.rewards._short_reading import read
from guerdon.rewards._short_stance import guesses, is_answer, objection, standing
from guerdon.rewards._text_answers import claims, places
from guerdon.types import EvaluateResult, MetricResult

MODES = ("strict", "tolerant")
MAX_RESPONSE = 20_000
"""Characters that a short answer may have."""
MAX_QUESTION = 2_000
"""Characters at the end of a prompt that are its question."""
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
    r"""Scores 1 where the response gives an accepted answer to a question of fact, else 0.

    The response is a phrase or whole sentences. Numbers in words and in figures are the same
    (``twenty-four``, ``24``; ``World War Two``, ``World War II``), and so are dates however they are written; a
    date may be more precise than the accepted one, not less. Case, accents, articles, punctuation, British
    spelling and the plural of common nouns do not count. A name may have its middle names left out,
    added or as initials, no title, an acronym in brackets ("World Health Organization (WHO)"), or another name
    after "also known as". Words that the question says already may be left out: "Uralic" for "Uralic languages". One
    letter of a long word may be wrong.

    It is no answer where it is denied ("not Paris"), one of several guesses ("Paris or London", a bare list),
    only an echo of the question, in a question of its own, or taken back; and where the response says in a
    box, a tag, after ``Answer:``, in "the answer is …" or in a first sentence that is nothing but an answer
    something else, a later mention does not count. ``extract`` names the places to look at, out of ``boxed``,
    ``tag``, ``hashes``, ``label``, ``phrase`` and ``all``. These are rules: a wrong answer in a sentence of
    many words, with the right one beside it, is paid.

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
    asked = read(prompt)
    if (listed := guesses(text, prompt)) and _is_spray(listed, golds):
        return False, f"it lists {len(listed)} guesses"
    readings = [reading for sentence in standing(text) if (reading := read(sentence)).cased]
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


def _is_spray(listed: list[str], golds: list[Forms]) -> bool:
    """Whether at most one of the items is an accepted answer."""
    hits = sum(any(True for gold in golds for _ in matches(read(item), gold, False)) for item in listed)
    return hits <= 1


def _polar(text: str, golds: list[Forms]) -> tuple[bool, str]:
    """Yes or no, by the word that the text opens with."""
    words = read(text[:200]).plain
    says = [(i, what) for i, word in enumerate(words[:5]) if (what := polarity(word)) is not None]
    if not says or says[0][0] > 2:
        return False, "neither yes nor no"
    first, next_words = says[0][1], words[says[0][0] + 1 :][:2]
    if next_words[:1] in (("or",), ("and",)) and polarity(next_words[-1]) is not None:
        return False, "both yes and no"
    return any(gold.polarity is first for gold in golds), "yes" if first else "no"
