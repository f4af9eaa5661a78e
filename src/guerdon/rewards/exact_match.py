"""The reward ``exact_match``: is the response, or the answer in it, an accepted answer word for word?"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from guerdon.errors import InputError
from guerdon.reward.decorator import reward_function
from guerdon.rewards.answers.text import bare, claims, places
from guerdon.rewards.answers.visible import visible
from guerdon.rewards.common.parameters import parameter_check, response_text, shown, text_list
from guerdon.rewards.common.references import accepted
from guerdon.rewards.common.text import DEFAULT, KINDS, gold_words, normal, words
from guerdon.types import EvaluateResult, MetricResult


@reward_function(
    scale=(0, 1),
    check=parameter_check(
        ignore=lambda value, _: _ignored(value), extract=lambda value, _: places(value, ())
    ),
)
def exact_match(
    response: str,
    ground_truth: Any = None,
    answers: Any = None,
    aliases: Any = None,
    *,
    ignore: str | Sequence[str] | None = None,
    extract: str | Sequence[str] | None = None,
) -> EvaluateResult:
    r"""Scores 1 where the response is one of the accepted answers, word for word, else 0.

    ``ignore`` lists the differences that do not count, out of ``case``, ``whitespace``, ``punctuation``,
    ``articles`` (of English), ``accents`` and ``unicode`` (compatibility forms, as full-width letters); by
    default all of them but ``accents``; ``none`` compares character by character. Signs and points of
    numbers are no punctuation: ``-5`` is not ``5``, ``1.5`` not ``15``.

    ``extract`` says where the answer stands: ``all`` (the default) is the whole response after ``</think>``;
    ``boxed``, ``tag`` (``<answer>``), ``hashes`` (``####``), ``label`` (``Answer:``) and ``phrase`` ("the
    answer is") are places in it, of which the first that exists counts. Where a place comes more than
    once, all of its answers have to be accepted, unless they are corrected afterwards.

    Accepted answers come from ``ground_truth`` and the columns ``answers`` and ``aliases``: a text, a number,
    a list, or an object of SQuAD or TriviaQA.

    Scale: 0 or 1.

    The metric ``answer_found`` says whether there was an answer in the places named.

    Source: exact match of SQuAD (Rajpurkar et al. 2016), with numbers left whole and Unicode in place of
    ASCII.

    Raises InputError where there is no accepted answer, and for unknown names in ``ignore`` or ``extract``.

    >>> exact_match("The Eiffel Tower.", ["Eiffel Tower", "La Tour Eiffel"]).score
    1.0
    >>> exact_match("It is tall. <answer>eiffel tower</answer>", "Eiffel Tower", extract="tag").score
    1.0
    """
    dropped = _ignored(ignore)
    golds = accepted(ground_truth, answers, aliases)
    where = places(extract, ("all",))
    text = visible(response_text(response))
    found = claims(text, where)
    metric = MetricResult(float(bool(found)), success=bool(found))
    if not found:
        return EvaluateResult(0.0, reason="no answer found", metrics={"answer_found": metric})
    given = [claim.text if where == ("all",) else bare(claim.text) for claim in found]
    right = all(any(_is_same(text, gold, dropped) for gold in golds) for text in given)
    reason = f"{shown(given[-1])} {'is' if right else 'is not'} {shown(golds[0])}"
    return EvaluateResult(float(right), reason=reason, metrics={"answer_found": metric})


def _ignored(value: Any) -> frozenset[str]:
    if value is None:
        return DEFAULT
    if value == "none":
        return frozenset()
    names = text_list(value, "ignore")
    if unknown := [name for name in names if name not in KINDS]:
        raise InputError(f"ignore knows {', '.join(KINDS)} and none, not {shown(unknown[0])}")
    return frozenset(names)


def _is_same(text: str, gold: str, dropped: frozenset[str]) -> bool:
    # What is far longer cannot be the same, whatever is left out of it that people write.
    if len(text) > 20 * len(gold) + 1_000:
        return False
    if "whitespace" in dropped:
        return tuple(words(text, dropped)) == gold_words(gold, dropped)
    return normal(text, dropped) == normal(gold, dropped)
