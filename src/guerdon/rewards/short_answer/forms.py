"""The forms in which an accepted short answer may be given."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from guerdon.rewards.common.text import is_unspaced
from guerdon.rewards.short_answer.reading import NormalizedSentence, common, read, singular
from guerdon.rewards.short_answer.words import FUNCTION_WORDS, LEADING, SMALL, SUFFIXES, TITLES

Words = tuple[str, ...]

_ALSO = re.compile(
    r"[,;(\s]+(?:also|formerly|originally|better|commonly|sometimes|otherwise|previously)\s+"
    r"(?:known|called|named|referred to|written|spelled)"
    r"(?:\s+as)?\s+|[,;(\s]+(?:a\.?k\.?a\.?|n[ée]e|born|or)\s+(?!more\b|less\b)",
    re.IGNORECASE,
)
_BRACKETS = re.compile(r"\s*[(\[]([^()\[\]]*)[)\]]")
_ORDINAL = re.compile(r"(\d+)(?:st|nd|rd|th)")
_CAPITAL = re.compile(r"[A-Z]\w*")
_PROPER = re.compile(r"(?:[A-Z][\w.'’-]*\s?){1,4}")
_PERSON = re.compile(
    r"\b(?:who\w*|actor|actress|singer|author|writer|president|king|queen|name)\b", re.IGNORECASE
)
_PLACE = re.compile(r"\b(?:where|city|town|located|location)\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Forms:
    """What counts as one accepted answer."""

    phrases: tuple[Words, ...]
    """Any of these, word by word."""
    singular: tuple[Words, ...]
    """The same with common nouns in the singular."""
    names: tuple[Words, ...]
    """Names of persons, first name first: middle names may be absent, added or initials."""
    content: frozenset[str]
    """The words that carry its meaning, in the singular."""
    proper: frozenset[str]
    """Those of them that are names or figures."""
    acronyms: frozenset[str]
    """Its words that are written in capitals, and in small letters may be other words."""
    is_person: bool
    """Whether the question asks for a person."""
    polarity: bool | None
    """What it says where it is yes or no."""


@lru_cache(maxsize=4096)
def forms(gold: str, question: str) -> Forms:
    """The forms of an accepted answer, given its question.

    >>> forms("World Health Organization (WHO)", "").phrases
    (('world', 'health', 'organization', 'who'), ('world', 'health', 'organization'), ('who',))
    """
    asked = read(question)
    asks_person = _PERSON.search(question) is not None
    found: dict[Words, None] = {}
    names: dict[Words, None] = {}
    for reading in map(read, _spellings(gold)):
        for phrase in _phrases(reading.cased, asked):
            found[phrase] = None
        if (not question or asks_person) and (name := _name(reading.cased)):
            names[name] = None
    if _PLACE.search(question):
        for place in _places(gold):
            found[place] = None
    phrases = dict.fromkeys(tuple(map(str.casefold, phrase)) for phrase in found if phrase)
    singulars = dict.fromkeys(tuple(map(common, phrase)) for phrase in found if phrase)
    words = frozenset(map(common, read(gold).cased))
    content = words - FUNCTION_WORDS or words
    proper = frozenset(common(word) for word in read(gold).cased if not word.islower())
    acronyms = frozenset(word.casefold() for word in read(gold).cased if word.isupper())
    says = polarity(read(gold).plain[0]) if len(words) == 1 else None
    return Forms(
        tuple(phrases), tuple(singulars), tuple(names), content, proper & content, acronyms, asks_person, says
    )


def polarity(word: str) -> bool | None:
    """True for yes, False for no, None for another word."""
    return True if word in ("yes", "true") else False if word in ("no", "false") else None


def _spellings(gold: str) -> Iterator[str]:
    """The gold, without what stands in brackets, and each of several names."""
    yield gold
    outside = _BRACKETS.sub("", gold).strip()
    if outside and outside != gold:
        yield outside
        for inside in _BRACKETS.findall(gold):
            if _is_acronym(inside, outside):
                yield inside
    parts = [part.strip(" ,;()") for part in _ALSO.split(gold)]
    if len(parts) > 1:
        yield from filter(None, parts)
        for inside in _BRACKETS.findall(gold):
            yield _ALSO.sub("", f" {inside}").strip()


def _is_acronym(short: str, long: str) -> bool:
    letters = re.sub(r"[.\s]", "", short)
    capitals = "".join(word[0] for word in long.split() if word[0].isupper())
    initials = "".join(word[0] for word in re.split(r"[\s-]+", long) if word)
    return len(letters) > 1 and letters.isupper() and letters in (capitals, initials.upper())


def _phrases(cased: Words, asked: NormalizedSentence) -> Iterator[Words]:
    """The words, and the same without what may be left out at the edges."""
    yield cased
    while len(cased) > 1 and cased[0].casefold() in LEADING:
        cased = cased[1:]
        yield cased
    yield _untitled(cased)
    yield from _numbered(cased, asked)
    yield from _counted(cased)
    yield from _elided(cased, asked)


def _untitled(cased: Words) -> Words:
    while len(cased) > 2 and cased[0].casefold() in TITLES:
        cased = cased[1:]
    return cased


def _numbered(cased: Words, asked: NormalizedSentence) -> Iterator[Words]:
    """ "season 8" for "the eighth season", whose noun may stand in the question."""
    match = _ORDINAL.fullmatch(cased[0]) if cased else None
    if match and len(cased) <= 2:
        for noun in cased[1:] or asked.plain:
            if noun.isalpha() and len(noun) > 3 and noun.casefold() not in FUNCTION_WORDS:
                yield (noun, match[1])


def _counted(cased: Words) -> Iterator[Words]:
    """ "Louis the Fourteenth" for "Louis XIV", and the other way round; articles are left out."""
    if len(cased) > 1 and cased[-1].isdigit() and len(cased[-1]) <= 2:
        number = int(cased[-1])
        ending = "th" if 10 < number < 20 else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
        yield (*cased[:-1], f"{number}{ending}")
    elif len(cased) > 1 and cased[0][:1].isupper() and (match := _ORDINAL.fullmatch(cased[-1])):
        yield (*cased[:-1], match[1])


def _elided(cased: Words, asked: NormalizedSentence) -> Iterator[Words]:
    """Without the words at its edges that the question names already."""
    given = {singular(word) for word in asked.plain}
    start, end = 0, len(cased)
    while end - start > 1 and _is_given(cased[end - 1], given):
        end -= 1
        yield cased[:end]
    while end - start > 1 and _is_given(cased[start], given):
        start += 1
    if start and _carries(cased[start:end]):
        yield cased[start:end]
        yield cased[start:]


def _is_given(word: str, given: set[str]) -> bool:
    # A character of a script without spaces is a part of a word: that of 首都 is not that of 京都.
    return singular(word.casefold()) in given and not _is_figure(word) and not is_unspaced(word)


def _carries(words: Words) -> bool:
    """Whether words without their neighbours still say something."""
    return not {word.casefold() for word in words} <= FUNCTION_WORDS


def _is_figure(word: str) -> bool:
    return any(map(str.isdigit, word))


def _name(cased: Words) -> Words | None:
    """First to last name where the words are those of a person's name."""
    words = _untitled(cased)
    while len(words) > 2 and words[-1].casefold() in SUFFIXES:
        words = words[:-1]
    if not 2 <= len(words) <= 5 or not all(_CAPITAL.fullmatch(w) or w in SMALL for w in words):
        return None
    if {words[0].casefold(), words[-1].casefold()} & SMALL:
        return None
    parts = [list(word) if 2 <= len(word) <= 3 and word.isupper() else [word] for word in words]
    return tuple(part.casefold() for group in parts for part in group)


def _places(gold: str) -> Iterator[Words]:
    """ "Dhaka" for "Dhaka, Bangladesh"."""
    head, _, tail = gold.partition(",")
    if _PROPER.fullmatch(head.strip()) and re.match(r"\s*[A-Z]", tail):
        yield read(head).cased
