"""The reward ``keywords``: does the response name what it should, and not what it should not?"""

from __future__ import annotations

import functools
import re
import unicodedata
from collections.abc import Sequence
from typing import Any

from guerdon.errors import InputError
from guerdon.reward.decorator import reward_function
from guerdon.rewards.common.parameters import (
    non_negative,
    parameter_check,
    response_text,
    text_list,
    yes_or_no,
)
from guerdon.rewards.common.words import UNSPACED, is_unspaced
from guerdon.types import EvaluateResult, MetricResult

# A low line is part of a word within one, as in a name of a program, and a mark of emphasis around one.
_LETTER = rf"[^\W_{UNSPACED}]"
_START, _END = rf"(?<!{_LETTER})(?<!{_LETTER}_)", rf"(?!_?{_LETTER})"
# Joiners are left out with the other characters without a width: what is looked for is folded in the same way.
_SPELLINGS = {
    **dict.fromkeys((0xAD, 0x200B, 0x200C, 0x200D, 0x2060, 0xFEFF)),
    **dict.fromkeys((0x2018, 0x2019, 0x02BC), "'"),
}


def _check(**given: Any) -> None:
    parameter_check(
        keywords=text_list,
        required=text_list,
        forbidden=text_list,
        case_sensitive=yes_or_no,
        whole_words=yes_or_no,
        penalty=non_negative,
    )(**given)
    _refuse_both(
        text_list(given.get("required"), "required"),
        text_list(given.get("forbidden"), "forbidden"),
        yes_or_no(given.get("case_sensitive", False), "case_sensitive"),
    )


@reward_function(scale=(0, 1), check=_check)
def keywords(
    response: str,
    keywords: str | Sequence[str] | None = None,
    *,
    required: str | Sequence[str] | None = None,
    forbidden: str | Sequence[str] | None = None,
    case_sensitive: bool = False,
    whole_words: bool = True,
    penalty: float | None = None,
) -> EvaluateResult:
    """Scores the share of the required keywords that the response contains, 0 if a forbidden one occurs.

    Required are those of the parameter ``required`` and those of the row's column ``keywords``; each is a
    list or a text with commas. Keywords may be phrases. ``penalty`` takes that much off for each forbidden
    keyword that occurs, down to 0, in place of everything. With only ``forbidden`` the score is 1 where
    none occurs. Where the row's list is empty and there is nothing else the reward does not apply.

    Case is ignored unless ``case_sensitive``; composed and decomposed letters are alike, and so are straight and
    curly apostrophes. Characters without a width, which could hide a word, do not count. Keywords match as whole
    words, also inside of Markdown's ``_emphasis_``; set ``whole_words=false`` to find them inside words too. In
    scripts without spaces between words, such as Chinese, they match anywhere.

    Scale: 0 to 1.

    The metric ``required`` is the share found, ``forbidden`` is 1 where none occurs.

    Source: the keyword existence and forbidden words checks of IFEval (Zhou et al. 2023), with a share in
    place of all or nothing.

    Raises InputError where there is nothing to look for, or where a keyword is both required and forbidden.

    >>> result = keywords("Paris lies on the Seine.", required="Paris, Loire")
    >>> result.score, result.metrics["required"].reason
    (0.5, 'missing: Loire')
    >>> keywords("As an AI model, I like Paris.", ["Paris"], forbidden=["as an AI"]).score
    0.0
    """
    exact, whole = yes_or_no(case_sensitive, "case_sensitive"), yes_or_no(whole_words, "whole_words")
    fine = non_negative(penalty, "penalty")
    wanted = list(dict.fromkeys([*text_list(required, "required"), *text_list(keywords, "keywords")]))
    banned = list(dict.fromkeys(text_list(forbidden, "forbidden")))
    if not wanted and not banned:
        if keywords is None:
            raise InputError("there are no keywords: give required=, forbidden= or a column keywords")
        return EvaluateResult(reason="the row asks for no keyword")
    _refuse_both(wanted, banned, exact)
    text = _folded(response_text(response), exact)
    says = any(map(str.isalnum, text))
    missing = [word for word in wanted if not _occurs(word, text, exact, whole)]
    present = [word for word in banned if _occurs(word, text, exact, whole)]
    share = 1 - len(missing) / len(wanted) if wanted else float(says)
    score = share if not present else 0.0 if fine is None else max(0.0, share - fine * len(present))
    reason = _reason(missing, present) if wanted or says else "says nothing: no letter and no digit"
    return EvaluateResult(score, reason, _metrics(wanted, missing, banned, present, share))


def _refuse_both(wanted: list[str], banned: list[str], exact: bool) -> None:
    if both := {_folded(word, exact) for word in wanted} & {_folded(word, exact) for word in banned}:
        raise InputError(f"{', '.join(sorted(both))}: both required and forbidden")


def _folded(text: str, exact: bool) -> str:
    composed = unicodedata.normalize("NFC", text if text.isascii() else text.translate(_SPELLINGS))
    # Folding may decompose again, as it does with a dotted capital I.
    return composed if exact else unicodedata.normalize("NFC", composed.casefold())


def _occurs(word: str, text: str, exact: bool, whole: bool) -> bool:
    return _pattern(_folded(word, exact), whole).search(text) is not None


@functools.lru_cache(maxsize=4096)
def _pattern(word: str, whole: bool) -> re.Pattern[str]:
    body = r"\s+".join(re.escape(part) for part in word.split())
    if whole and not is_unspaced(word[:1]):
        body = _START + body
    return re.compile(body + _END if whole and not is_unspaced(word[-1:]) else body)


def _reason(missing: list[str], present: list[str]) -> str:
    parts = [f"missing: {', '.join(missing)}"] if missing else []
    parts += [f"forbidden: {', '.join(present)}"] if present else []
    return "; ".join(parts) or "as expected"


def _metrics(
    wanted: list[str], missing: list[str], banned: list[str], present: list[str], share: float
) -> dict[str, MetricResult]:
    metrics = {}
    if wanted:
        reason = f"missing: {', '.join(missing)}" if missing else f"all {len(wanted)} found"
        metrics["required"] = MetricResult(share, success=not missing, reason=reason)
    if banned:
        reason = f"found: {', '.join(present)}" if present else "none found"
        metrics["forbidden"] = MetricResult(float(not present), success=not present, reason=reason)
    return metrics
