"""Whether a sentence that names an answer gives it as the answer: denials, guesses, the question's echo."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache

from guerdon.rewards.answers.text import sentences
from guerdon.rewards.short_answer.dates import with_dates
from guerdon.rewards.short_answer.matching import Match
from guerdon.rewards.short_answer.reading import NormalizedSentence, read
from guerdon.rewards.short_answer.words import (
    ASKING,
    BESIDE,
    BOUNDS,
    DENIALS,
    FUNCTION_WORDS,
    PARTS,
    RELATIVES,
    TURNS,
    VERBS,
)

_BEFORE = 4
"""Words before an answer in which a denial belongs to it."""
_CONTRASTS = (
    *(("rather", "than"), ("instead", "of"), ("other", "than"), ("as", "opposed", "to"), ("unlike",)),
    *(("wrong", "to"), ("incorrect", "to"), ("mistake", "to"), ("misconception", "that")),
    *(("不", "是"), ("并", "非")),
)
_ALL_BUT = frozenset({("anything", "but"), ("everything", "but"), ("all", "but")})
_CERTAIN = re.compile(
    r"\b(?:(?:there (?:is|was) )?no|without(?: any| a)?) (?:doubt|question)\b(?: (?:that|about it))?",
    re.IGNORECASE,
)
# Where a sentence that denies something goes on to say what is so: "It is not X, it is Y."
_NEGATES = re.compile(r"\b(?:not|no|never|pas|nicht|не|não|non)\b|n['’]t\b|不是|并非", re.IGNORECASE)
_CLAUSE = re.compile(
    r"[,;:—–]\s*(?=(?:it|he|she|they|that|this)(?:['’]s|['’]re| (?:is|was|are|were))\b"
    r"|c['’]est\b|(?:es|è|é|это)\b)|[，；]",
    re.IGNORECASE,
)
# "While X is the largest, …", "Many believe X, but …": it is granted only to be passed over.
_CONCEDED = re.compile(
    r"\W*(?:while|although|though|even though|whereas|despite)\b[^,;]*(?:[,;]|$)"
    r"|[^,;]*\b(?:many|some|most|people|often|commonly|sometimes)\b[^,;]*\b(?:believ|sa[yi]|think|thought|claim|assum|suppos)"
    r"[^,;]*[,;—–]\s*(?:but|however|yet|in fact|actually)\b",
    re.IGNORECASE,
)
_LOOKED_AT = 500
"""Characters of a sentence in which names and concessions are looked at: time stays in bounds."""
_OR = re.compile(r"\W*or\b", re.IGNORECASE)
_AND_YES_OR_NO = re.compile(r"\W*(?:and|or|/)\W*(?:yes|no|true|false)\b", re.IGNORECASE)
_YES_OR_NO = re.compile(r"(\bnot\s+)?\b(yes|no|true|false)\b", re.IGNORECASE)
# "No idea", "no doubt": there it belongs to a noun.
_ANSWERS = re.compile(
    r"\W*$|\W*[,.;:!?)*\"”'’—–-]|\s+(?:[A-Z]|(?:it|he|she|they|we|i|you|this|that|these|those|there|the|a|an|not|both"
    r"|neither|because|since|as|although|though|but|his|her|its|their|is|are|was|were|did|does|do)\b)"
)
_DENIED_AFTER = re.compile(
    r"(?:is|was|are|were|would be|has|have|had|did|does|do|can|could) (?:\w+ )?(?:not|never)\b"
    r"|(?:isnt|wasnt|arent|werent|didnt|doesnt)\b|(?:is|was) (?:wrong|incorrect|false)\b"
    r"|(?:で は|じ ゃ) (?:な い|あ り)"
)
_VERBAL = re.compile(r"\b[a-z]{2,}(?:ed|ing)\b")
_MEASURED = (
    ("more", "than"),
    ("less", "than"),
    ("fewer", "than"),
    ("at", "least"),
    ("at", "most"),
    ("up", "to"),
)
_SYNONYM = frozenset({"known", "called", "named", "termed"})
_ITEMS = re.compile(r"(?:,(?!\d{3}\b)|[;\n])+|\bor\b|\band\b|/", re.IGNORECASE)
_BULLET = re.compile(r"^\s*(?:[-*•]|\(?\d+[.)])\s+", re.MULTILINE)
_UNSURE = re.compile(
    r"\b(?:could|might|may|either|possibly|perhaps|maybe|one of)\b.{0,200}\bor\b", re.IGNORECASE
)
_TAKEN_BACK = re.compile(
    r"\W*(?:no\b[,.;:!]|(?:no,? )?wait\b(?:,? no\b)?"
    r"|correction\b|scratch that|on second thoughts?|sorry\b[,.;:]? (?:it|that|I)\b"
    r"|actually,? (?:no|it|that|the)\b|I was (?:wrong|mistaken)|(?:that|this|it)(?:['’]s| is| was) "
    r"(?:actually )?(?:wrong|incorrect|not (?:right|correct|true)|false))",
    re.IGNORECASE,
)
_OPENER = re.compile(
    r"\W*(?:sure|hello|hi|yes|certainly|of course|okay|ok|well|great|thanks|hey)\b", re.IGNORECASE
)
_STATES = re.compile(
    r"\W*(?:(?:it|this|that|he|she|they)(?: is| was| were| are|['’]s|['’]re)) (?!not\b)", re.IGNORECASE
)
_PLACE = re.compile(r"\bwhere\b|\b(?:city|town|located|location)\b", re.IGNORECASE)
_CAPITAL = re.compile(r"[A-Z\d\"“'‘$€£]")
_MOST, _NEW = 0.75, 3
"""Share of the question's words that a sentence takes up, and new words beside them, where it answers the question."""
_FEW = 6
"""Words of a sentence that is an answer and nothing else."""


def objection(
    reading: NormalizedSentence, match: Match, asked: NormalizedSentence, others: Sequence[Match]
) -> str | None:
    """Why a match does not give the answer; None where it does. ``others`` are all matches of the sentence."""
    if _is_denied(reading, match):
        return "it is denied"
    if _is_guess(reading, match, others):
        return "it is one of several guesses"
    if _is_beside(reading, match):
        return "it only bounds the answer"
    if _is_of_another(reading, match, asked):
        return "it is part of the name of something else, or somebody else's relative"
    return "it only repeats the question" if _is_echo(reading, match, asked) else None


def _is_denied(reading: NormalizedSentence, match: Match) -> bool:
    words, start = reading.plain, match.start
    before = list(words[max(0, start - _BEFORE) : start])
    if tuple(before[-2:]) in _ALL_BUT:
        return True
    turns = [
        i for i, word in enumerate(before) if word in TURNS and tuple(before[i : i + 2]) not in _CONTRASTS
    ]
    before = before[turns[-1] + 1 :] if turns else before
    if any(word in DENIALS for word in before):
        return True
    if any(tuple(before[i : i + len(c)]) == c for c in _CONTRASTS for i in range(len(before))):
        return True
    if _DENIED_AFTER.match(" ".join(words[match.end : match.end + 4])):
        return True
    return match.end <= _granted(reading.source[:_LOOKED_AT])


@lru_cache(maxsize=256)
def _granted(sentence: str) -> int:
    """How many words at the beginning of a sentence are granted only to be passed over."""
    conceded = _CONCEDED.match(sentence)
    return len(read(conceded[0]).plain) if conceded else 0


def _is_guess(reading: NormalizedSentence, match: Match, others: Sequence[Match]) -> bool:
    words = reading.plain
    after, before = words[match.end : match.end + 1], words[max(0, match.start - 1) : match.start]
    if after == ("or",) and any(other.start == match.end + 1 for other in others):
        # Both sides of this "or" are accepted.
        after = ()
    if before == ("or",) and any(other.end == match.start - 1 for other in others):
        before = ()
    if _SYNONYM & set(words[max(0, match.start - _BEFORE) : match.start]):
        # "known as the uvea or uveal tract" has two names for one thing.
        return False
    return after == ("or",) or before in (("or",), ("either",)) or _is_unsure(reading.source)


@lru_cache(maxsize=256)
def _is_unsure(sentence: str) -> bool:
    return _UNSURE.search(sentence) is not None


def _is_beside(reading: NormalizedSentence, match: Match) -> bool:
    """Whether what is named is compared with the answer: "near X", "more than 6"."""
    before = reading.plain[max(0, match.start - 2) : match.start]
    if not before:
        return False
    is_figure = reading.plain[match.start][:1].isdigit()
    if is_figure and (before in _MEASURED or before[-1] in BOUNDS):
        return True
    return before[-1] in BESIDE and before != ("more", "than")


def _is_of_another(reading: NormalizedSentence, match: Match, asked: NormalizedSentence) -> bool:
    """Whether the words are part of a longer name, of a year of another era, or name whose relative is meant."""
    before, first, last = (
        reading.cased[max(0, match.start - 1) : match.start],
        reading.cased[match.start],
        reading.cased[match.end - 1],
    )
    after, source = reading.plain[match.end : match.end + 3], reading.source[:_LOOKED_AT]
    if before and before[-1] in PARTS and first[:1].isupper() and before[-1].casefold() not in asked.plain:
        return True
    if last.isdigit():
        return after[:1] == ("bc",)
    if (
        last[:1].isupper()
        and not match.how.startswith("a name")
        and re.search(rf"\b{re.escape(last)}(?:-[A-Z]| (?:\d{{1,2}}|[IVX]+)\W*$)", source)
    ):
        return True
    if RELATIVES & set(asked.singular):
        return False
    near = reading.plain[max(0, match.start - 2) : match.start]
    if len(near) == 2 and near[0] in RELATIVES and near[1] in ("of", "to"):
        return True
    return bool(RELATIVES & set(after)) and re.search(rf"\b{re.escape(last)}['’]", source) is not None


def _is_echo(reading: NormalizedSentence, match: Match, asked: NormalizedSentence) -> bool:
    """Whether the match lies in words of the question that the response takes up."""
    if not asked.plain:
        return False
    words, start, end = reading.plain, match.start, match.end
    if f" {' '.join(words[start:end])} " not in asked.joined:
        return False
    for low, high in ((start - 1, end), (start, end + 1)):
        if low >= 0 and high <= len(words) and f" {' '.join(words[low:high])} " in asked.joined:
            return True
    return False


def stated_clauses(text: str) -> list[str]:
    """The sentences of a text that it does not take back, as far as they state something."""
    found = sentences(text)
    for i in range(len(found) - 1, 0, -1):
        if match := _TAKEN_BACK.match(found[i]):
            found = [found[i][match.end() :].lstrip(" ,.;:!—–-"), *found[i + 1 :]]
            break
    # A question states nothing, but "Paris?" is an answer.
    stated = [sentence for sentence in found if not sentence.endswith("?") or len(sentence.split()) <= 2]
    return [
        clause
        for sentence in stated
        for clause in (_CLAUSE.split(sentence) if _NEGATES.search(sentence) else [sentence])
    ]


def is_hedged(text: str) -> bool:
    """Whether a later sentence of a text offers another answer: "X. Or maybe Y."."""
    return any(_OR.match(sentence) for sentence in sentences(text)[1:])


def certain(text: str) -> str:
    """The text without words of certainty that sound like a denial: "no doubt", "without question"."""
    return _CERTAIN.sub(" ", text)


def says_yes(text: str) -> bool | None:
    """Whether a text opens with yes or with no; None where with neither, or with both.

    >>> says_yes("Yes, it is."), says_yes("Not true."), says_yes("I have no idea."), says_yes("Yes and no.")
    (True, False, None, None)
    """
    match = _YES_OR_NO.search(text)
    if match is None or len(text[: match.start()].split()) > 2 or _AND_YES_OR_NO.match(text, match.end()):
        return None
    word = match[2].lower()
    if word == "no" and not _ANSWERS.match(text, match.end()):
        return None
    return (word in ("yes", "true")) is (match[1] is None)


def is_answer(reading: NormalizedSentence, asked: NormalizedSentence) -> bool:
    """Whether a sentence says what the answer is and nothing else: "It is X.", "X.", "The capital of Y is X."."""
    source = reading.source
    if (
        not source.endswith(".")
        or _OPENER.match(source)
        or _BULLET.match(source)
        or not _CAPITAL.match(source)
        or DENIALS & set(reading.plain)
    ):
        return False
    if len(reading.plain) <= _FEW and (_STATES.match(source) or not VERBS & set(reading.plain)):
        return True
    given = set(asked.singular) - FUNCTION_WORDS - VERBS - ASKING
    taken = given & set(reading.singular)
    new = set(reading.singular) - set(asked.singular) - FUNCTION_WORDS - VERBS
    return len(taken) >= max(2, _MOST * len(given)) and 0 < len(new) <= _NEW


def guesses(text: str, question: str) -> list[str]:
    """The items of a text that is nothing but a list; none where it has a sentence, or is a place in its country."""
    if len(text) > 2_000 or VERBS & set(text.casefold().split()) or _VERBAL.search(text):
        return []
    parts = [part.strip(" .*") for part in _ITEMS.split(with_dates(_BULLET.sub("", text)))]
    if len(parts) == 1 and all(word.strip(",.").isdigit() for word in text.split()):
        parts = text.split()
    found = [part for part in parts if part]
    bullets = sum(1 for _ in _BULLET.finditer(text))
    least = 2 if bullets > 1 else 3 if question and not _PLACE.search(question) else 5
    return found if len(found) >= least and all(len(item.split()) <= _FEW for item in found) else []
