"""A short answer in words, read into words of one spelling, sentence by sentence."""

from __future__ import annotations

import re
from dataclasses import dataclass

from guerdon.rewards.common.text import words
from guerdon.rewards.short_answer.dates import with_dates
from guerdon.rewards.short_answer.number_words import with_figures

_IGNORE = frozenset({"punctuation", "articles", "accents", "unicode"})
# A raised number after a word or a full stop is a footnote; after a unit it is a power.
_FOOTNOTE = re.compile(
    r"(?:(?<=[^\W\d_]{4})|(?<=[.,;:!?\"”’)])|(?<=[.,;:!?\"”’)] )|(?<= ))[¹²³⁰⁴-⁹]+|(?<=[\w.,;!?])\[\d{1,3}\]"
)
_INITIALS = re.compile(r"\b([A-Z])\.\s*(?=[A-Z]\.)")
_SLASH = re.compile(r"(?<=[^\W\d_])\s*/\s*(?=\w)(?!h\b)|(?<=\d)\s*/\s*(?=[^\W\d_])")
_NUMBER = re.compile(r"\b[Nn]o\.? ?(?=\d)")
_POSSESSIVE = re.compile(r"(?<=\w)['’`]s\b")
_NAMES = (
    (re.compile(r"\b(?:[Tt]he )?(?:United States(?: of America)?|U\.\s?S\.\s?A\b\.?|U\.\s?S\b\.?|USA)(?!\w)"), "US"),
    (re.compile(r"\b(?:[Tt]he )?(?:United Kingdom(?: of Great Britain[\w ]+Ireland)?|U\.\s?K\b\.?)(?!\w)"), "UK"),
    (re.compile(r"\b(?:[Tt]he )?(?:United Nations|U\.\s?N\b\.?)(?!\w)"), "UN"),
    (re.compile(r"\b(?:[Tt]he )?(?:European Union|E\.\s?U\b\.?)(?!\w)"), "EU"),
    (re.compile(r"\b(?:New York City|N\.\s?Y\.\s?C\b\.?)(?!\w)"), "NYC"),
    (re.compile(r"\bSaint (?=[A-Z])"), "St "),
    (re.compile(r"\bMount (?=[A-Z])"), "Mt "),
    (re.compile(r"\bDoctor (?=[A-Z])"), "Dr "),
    (re.compile(r"\bJunior\b"), "Jr"),
    (re.compile(r"\bSenior\b"), "Sr"),
    (re.compile(r"\b(?:versus|vs)\b\.?"), "v"),
    (re.compile(r"\bLtd\b\.?"), "Limited"),
    (re.compile(r"(?<=\d)\s*B\.?\s?C\.?(?:\s?E\b\.?)?(?!\w)"), " BC"),
)  # fmt: skip
_ENDINGS = (
    *(("our", "or"), ("tre", "ter"), ("ise", "ize"), ("ised", "ized"), ("ising", "izing"), ("yse", "yze")),
    *(("isation", "ization"), ("ogue", "og"), ("aeology", "eology")),
)
_RANGE = re.compile(r"\b([12]\d{3}) (?:to|through|until|till) ([12]\d{3})\b")
_NAMED = re.compile(r"Unit|Europ|[UNE]\.|USA|New York|Saint|Mount|Doctor|Junior|Senior|vers|vs|Ltd|\d\s*B")


@dataclass(frozen=True, slots=True)
class NormalizedSentence:
    """A sentence in words of one spelling, with and without the difference of capitals."""

    cased: tuple[str, ...]
    plain: tuple[str, ...]
    singular: tuple[str, ...]
    """In lower case, common nouns in the singular."""
    source: str
    """As it was written."""

    @property
    def joined(self) -> str:
        return f" {' '.join(self.plain)} "


def read(sentence: str) -> NormalizedSentence:
    """The words of a sentence: numbers in figures, dates as ``1776-07-04``, no accents, no articles.

    >>> read("The U.S. declared it on July 4th, 1776.").plain
    ('us', 'declared', 'it', 'on', '1776-07-04')
    """
    text = _FOOTNOTE.sub("", sentence)
    text = _SLASH.sub(" or ", text)
    text = _NUMBER.sub("number ", text)
    if _NAMED.search(text):
        for pattern, name in _NAMES:
            text = pattern.sub(name, text)
    if "." in text:
        text = _INITIALS.sub(r"\1.", text)
    text = with_dates(with_figures(text))
    text = _RANGE.sub(r"\1-\2", _POSSESSIVE.sub("", text))
    cased = tuple(words(text, _IGNORE))
    return NormalizedSentence(cased, tuple(map(str.casefold, cased)), tuple(map(common, cased)), sentence)


def singular(word: str) -> str:
    """A word without the ending of the plural.

    >>> singular("languages"), singular("parties"), singular("churches"), singular("glass"), singular("gas")
    ('language', 'party', 'church', 'glass', 'gas')
    """
    if len(word) > 4 and word.endswith("ies"):
        return word[:-3] + "y"
    if len(word) > 4 and word.endswith(("ches", "shes", "sses", "xes")):
        return word[:-2]
    if len(word) > 3 and word[-1] == "s" and word[-2] not in "sui":
        return word[:-1]
    return word


def common(word: str) -> str:
    """A word in lower case and American spelling; a common noun, which has no capital, in the singular."""
    if not word.isalpha():
        return word.casefold()
    found = singular(word) if word.islower() else word.casefold()
    if len(found) > 5:
        for ending, other in _ENDINGS:
            if found.endswith(ending):
                return found[: -len(ending)] + other
    return found
