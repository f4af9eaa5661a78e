"""Where a sentence gives one of the forms of an accepted answer."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from guerdon.rewards.short_answer.dates import contradicts, date_of, within
from guerdon.rewards.short_answer.forms import Forms, Words
from guerdon.rewards.short_answer.reading import NormalizedSentence
from guerdon.rewards.short_answer.words import FUNCTION_WORDS, SMALL, TITLES, VERBS

_BETWEEN = 3
"""Words that may stand between a first and a last name."""
_AMONG = 2
"""Other words that may stand among those of an answer."""
SHARE = 2 / 3
"""Share of an answer's words that a loose match has to have."""
_LONG = 9
"""Letters from which a word alone may be misspelled in strict mode."""


@dataclass(frozen=True, slots=True)
class Match:
    """The words of a sentence that give an accepted answer."""

    start: int
    end: int
    how: str


def matches(reading: NormalizedSentence, wanted: Forms, tolerant: bool) -> Iterator[Match]:
    """Every place of a sentence that gives the answer, the surest kind of match first."""
    for phrase in wanted.phrases:
        yield from _dates(reading.plain, phrase)
        for match in _runs(reading.plain, phrase, "word for word"):
            if not _is_other_word(reading, match, phrase, wanted):
                yield match
    for phrase in wanted.singular:
        for match in _runs(reading.singular, phrase, "but for the form of a word"):
            if not _is_other_word(reading, match, phrase, wanted):
                yield match
    for name in wanted.names:
        yield from _named(reading, name)
    for phrase in wanted.phrases:
        yield from _misspelled(reading.plain, phrase, tolerant)
    yield from _rearranged(reading, wanted)
    if tolerant:
        yield from _loosely(reading, wanted)


def _is_other_word(reading: NormalizedSentence, match: Match, phrase: Words, wanted: Forms) -> bool:
    """Whether an acronym is met by a word in small letters: "us" is not the US."""
    is_small = len(phrase) == 1 and reading.cased[match.start].islower() and len(reading.cased) > 1
    return is_small and phrase[0] in wanted.acronyms


def _runs(words: Words, phrase: Words, how: str) -> Iterator[Match]:
    length, start = len(phrase), -1
    while True:
        try:
            start = words.index(phrase[0], start + 1)
        except ValueError:
            return
        if words[start : start + length] == phrase:
            yield Match(start, start + length, how)


def _dates(words: Words, phrase: Words) -> Iterator[Match]:
    """A date that is as precise as the one wanted, or more."""
    if len(phrase) == 1 and date_of(phrase[0]):
        for i, word in enumerate(words):
            if word != phrase[0] and within(word, phrase[0]):
                yield Match(i, i + 1, "a date")


def disputed(reading: NormalizedSentence, match: Match, golds: list[Forms]) -> bool:
    """Whether the date of a match contradicts a more precise one that is accepted for the same year."""
    word = reading.plain[match.start]
    if match.end - match.start != 1 or not (mine := date_of(word)) or mine[1] is None:
        return False
    precise = [
        phrase[0]
        for gold in golds
        for phrase in gold.phrases
        if len(phrase) == 1 and (date := date_of(phrase[0])) and date[1] and date[0] in (None, mine[0])
    ]
    return bool(precise) and all(contradicts(word, date) for date in precise)


def _named(reading: NormalizedSentence, name: Words) -> Iterator[Match]:
    """A person's name with other or no middle names, or with initials."""
    first, *middle, last = name
    for end, word in enumerate(reading.plain):
        if word != last:
            continue
        parts: list[str] = []
        for start in range(end - 1, max(-1, end - 2 - _BETWEEN), -1):
            cased = reading.cased[start]
            parts = [*_initials(reading.plain[start], cased), *parts]
            if _is_first(parts[0], first) and _are_middle(parts[1:], middle):
                yield Match(start, end + 1, "a name with other middle names")
                break
            if middle and start == end - 1 and parts == middle[-1:] and len(parts[0]) > 2:
                yield Match(start, end + 1, "the last two names")
                break
            if not (cased[:1].isupper() or cased in SMALL):
                break


def _initials(word: str, cased: str) -> list[str]:
    """The letters of "JK", which stands for J. K.; else the word."""
    return list(word) if 2 <= len(word) <= 3 and cased.isupper() else [word]


def _is_first(word: str, first: str) -> bool:
    return word == first or (min(len(word), len(first)) == 1 and word[0] == first[0])


def _are_middle(mine: Sequence[str], wanted: Sequence[str]) -> bool:
    """Whether two rows of middle names can be those of one person: one is the beginning of the other."""
    names, others = ([word for word in words if word not in SMALL] for words in (mine, wanted))
    return all(
        a == b or (min(len(a), len(b)) == 1 and a[0] == b[0]) for a, b in zip(names, others, strict=False)
    )


def _misspelled(words: Words, phrase: Words, tolerant: bool) -> Iterator[Match]:
    """The phrase with one word spelled a little differently."""
    known = set(words)
    absent = [i for i, word in enumerate(phrase) if word not in known]
    if len(absent) != 1:
        return
    at, length = absent[0], len(phrase)
    wanted = phrase[at]
    # Alone, a word that goes on where the other ends is derived from it, as Dominican is from Dominica.
    derived = length == 1 and any(word.startswith(wanted) or wanted.startswith(word) for word in words)
    if derived or not _allowance(wanted, tolerant) or (not tolerant and length == 1 and len(wanted) < _LONG):
        return
    for i, word in enumerate(words):
        start = i - at
        if start < 0 or not _is_near(word, wanted, tolerant):
            continue
        if words[start:i] == phrase[:at] and words[i + 1 : start + length] == phrase[at + 1 :]:
            yield Match(start, start + length, "but for a letter")


def _allowance(word: str, tolerant: bool) -> int:
    if not word.isalpha():
        return 0
    if tolerant:
        return 2 if len(word) >= 10 else 1 if len(word) >= 5 else 0
    return 1 if len(word) >= 6 else 0


def _is_near(word: str, wanted: str, tolerant: bool) -> bool:
    allowed = _allowance(wanted, tolerant)
    if not allowed or word[:1] != wanted[0] or abs(len(word) - len(wanted)) > allowed or not word.isalpha():
        return False
    from rapidfuzz.distance.OSA import distance

    return int(distance(word, wanted, score_cutoff=allowed)) <= allowed


def _rearranged(reading: NormalizedSentence, wanted: Forms) -> Iterator[Match]:
    """All words that carry meaning side by side: "the churches in Galatia" for "the churches of Galatia"."""
    size = len(wanted.content)
    if size < 2 or not wanted.content <= set(reading.singular):
        return
    places = [(i, word) for i, word in enumerate(reading.singular) if word in wanted.content]
    for k in range(len(places) - size + 1):
        group = places[k : k + size]
        if len({word for _, word in group}) == size and group[-1][0] - group[0][0] < size + _AMONG:
            yield Match(group[0][0], group[-1][0] + 1, "its words in another order")


def _loosely(reading: NormalizedSentence, wanted: Forms) -> Iterator[Match]:
    """All words that carry meaning in any order; a person's last name alone; related words."""
    at = {word: i for i, word in enumerate(reading.singular)}
    for name in wanted.names if wanted.is_person else ():
        if len(name[-1]) > 3 and name[-1] in at and _is_last_alone(reading, at[name[-1]], name[0]):
            yield Match(at[name[-1]], at[name[-1]] + 1, "the last name")
    found = {word: place for word in wanted.content if (place := _related(word, at)) is not None}
    if len(found) > 1 and len(found) >= SHARE * len(wanted.content) and wanted.proper <= found.keys():
        yield Match(min(found.values()), max(found.values()) + 1, "most of its words, and every name")


def _is_last_alone(reading: NormalizedSentence, at: int, first: str) -> bool:
    """Whether a name stands without a first name of another person; Ben may be Benjamin."""
    before = reading.cased[at - 1] if at else ""
    plain = before.casefold()
    is_name = before[:1].isupper() and plain not in TITLES | FUNCTION_WORDS | VERBS
    is_name = is_name and plain[:3] != first[:3]
    return reading.cased[at][:1].isupper() and not is_name


def _related(word: str, at: dict[str, int]) -> int | None:
    """Where a word stands, or one of the same stem."""
    if word in at or not word.isalpha() or word in FUNCTION_WORDS:
        return at.get(word)
    stem = word[: max(5, round(0.7 * len(word)))]
    if len(stem) > len(word):
        return None
    return next(
        (i for other, i in at.items() if other.startswith(stem) and len(other) <= len(word) + 4), None
    )
