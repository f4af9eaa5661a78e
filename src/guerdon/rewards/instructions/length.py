"""Instructions about how long a text is and how it is divided."""

from __future__ import annotations

import itertools
import re

from guerdon.rewards.common.parameters import shown
from guerdon.rewards.instructions.kinds import (
    CheckResult,
    KindTable,
    compared,
    exactly,
    nth_of,
    phrase,
    positive,
    relation,
    whole,
)
from guerdon.rewards.instructions.sentences import sentences

KINDS = KindTable()

_WORD = re.compile(r"\w+")
DIVIDER = re.compile(r"\s?\*\*\*\s?")
_WORD_ENDS = re.compile(r"[.,?!'\"]")


@KINDS.kind("length_constraints:number_words", num_words=whole, relation=relation)
def number_words(text: str, num_words: int, relation: str) -> CheckResult:
    """Runs of letters, digits and underscores: ``well-known`` is two."""
    return compared(sum(1 for _ in _WORD.finditer(text)), num_words, relation, "words")


@KINDS.kind("length_constraints:number_sentences", num_sentences=whole, relation=relation)
def number_sentences(text: str, num_sentences: int, relation: str) -> CheckResult:
    """Sentences as Punkt cuts them; the number that is wanted decides, so none beyond it is looked for."""
    count = sum(1 for _ in itertools.islice(sentences(text), num_sentences))
    more = " or more" if count == num_sentences else ""
    return CheckResult(
        (count < num_sentences) == (relation == "less than"),
        f"sentences: {count}{more}, expected {relation} {num_sentences}",
    )


@KINDS.kind("length_constraints:number_paragraphs", num_paragraphs=whole)
def number_paragraphs(text: str, num_paragraphs: int) -> CheckResult:
    """Paragraphs parted by ``***``, which may also stand at the start and at the end."""
    return exactly_parted(DIVIDER.split(text), num_paragraphs)


def exactly_parted(parts: list[str], wanted: int) -> CheckResult:
    """Whether there are so many parts, none of them empty but the first and the last, which then do not count."""
    empty = [not part.strip() for part in parts]
    if any(empty[1:-1]):
        return CheckResult(False, "an empty paragraph between two dividers")
    return exactly(len(parts) - sum(empty), wanted, "paragraphs")


@KINDS.kind(
    "length_constraints:nth_paragraph_first_word",
    num_paragraphs=positive,
    nth_paragraph=positive,
    first_word=phrase,
)
def nth_paragraph_first_word(
    text: str, num_paragraphs: int, nth_paragraph: int, first_word: str
) -> CheckResult:
    """So many paragraphs parted by empty lines, and the nth starts with the word, in whatever case.

    An empty part counts as no paragraph, yet keeps its place in the order.
    """
    nth_of(nth_paragraph, num_paragraphs, "nth_paragraph", "num_paragraphs")
    parts = text.split("\n\n")
    count = sum(1 for part in parts if part.strip())
    if count != num_paragraphs:
        return exactly(count, num_paragraphs, "paragraphs")
    if not parts[nth_paragraph - 1].strip():
        return CheckResult(False, f"paragraph {nth_paragraph} is not there")
    first = parts[nth_paragraph - 1].split(maxsplit=1)[0].lstrip("'").lstrip('"')
    found = _WORD_ENDS.split(first, maxsplit=1)[0].lower()
    return CheckResult(found == first_word.lower(), f"paragraph {nth_paragraph} starts with {shown(found)}")
