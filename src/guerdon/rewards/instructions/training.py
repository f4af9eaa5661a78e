"""The further kinds that trainers' data sets add to those of IFEval, as Pyatkin et al. 2025 name them.

The words of the instruction decide. Where the verifier that was published with the data looks at a part of what
they ask only, or takes a mark of punctuation for a word, the whole is looked at here, and words only.
"""

from __future__ import annotations

import itertools
import re
from collections import Counter

from guerdon.errors import InputError
from guerdon.rewards.common.parameters import shown
from guerdon.rewards.instructions.kinds import (
    CheckResult,
    KindTable,
    character,
    compared,
    exactly,
    phrase,
    positive,
    relation,
    whole,
)
from guerdon.rewards.instructions.length import DIVIDER, exactly_parted
from guerdon.rewards.instructions.sentences import sentences, words
from guerdon.rewards.instructions.words import frequency, letter_frequency, literal, whole_word

KINDS = KindTable()

SHORTEST_PALINDROME = 3
"""Letters; every single letter reads the same both ways."""

_LOWERCASE = re.compile(r"\b[a-z]+\b")
_LETTER = re.compile(r"[A-Za-z]")

# Two are kinds of IFEval under another name.
KINDS.kind("keywords:word_count_different_numbers", keyword=phrase, frequency=whole, relation=relation)(
    frequency
)
KINDS.kind("letters:letter_counting2", letter=character, let_frequency=whole, let_relation=relation)(
    letter_frequency
)


# Copies.


@KINDS.kind("copy:copy", prompt_to_repeat=phrase)
@KINDS.kind("copy:copying_simple", prompt_to_repeat=phrase)
def copy(text: str, prompt_to_repeat: str) -> CheckResult:
    """The text is the prompt and nothing else, in whatever case."""
    same = _alike(text, prompt_to_repeat)
    return CheckResult(same, f"{'the' if same else 'not the'} prompt as it is")


@KINDS.kind("copy:copying_multiple", prompt_to_repeat=phrase, N=positive)
def copying_multiple(text: str, prompt_to_repeat: str, N: int) -> CheckResult:
    """The prompt so many times and nothing else, parted by ``******``."""
    copies = text.split("******")
    wrong = sum(not _alike(part, prompt_to_repeat) for part in copies)
    return (
        CheckResult(not wrong, f"parts that are not a copy: {wrong}")
        if wrong
        else exactly(len(copies), N, "copies")
    )


@KINDS.kind("new:copy_span_idx", prompt_to_repeat=phrase, n_start=whole, n_end=positive)
def copy_span_idx(text: str, prompt_to_repeat: str, n_start: int, n_end: int) -> CheckResult:
    """The characters of the prompt from the one index up to the other and nothing else."""
    span = prompt_to_repeat[n_start:n_end]
    if not span.strip():
        raise InputError(f"new:copy_span_idx: the prompt has nothing from {n_start} to {n_end}")
    same = _alike(text, span)
    return CheckResult(same, f"{'the' if same else 'not the'} span of the prompt")


@KINDS.kind("copy:repeat_phrase", phrase=phrase, small_n=positive)
def repeat_phrase(text: str, phrase: str, small_n: int) -> CheckResult:
    """The phrase so many times, each time with exactly one of its inner words replaced."""
    parts = phrase.split()
    if len(parts) < 3:
        raise InputError(f"copy:repeat_phrase: {shown(phrase)} has no word in its middle to replace")
    inner = rf"(?:\s++\S++){{{len(parts) - 2}}}"
    pattern = rf"(?<!\w){re.escape(parts[0])}{inner}\s++{re.escape(parts[-1])}(?!\w)"
    found = [match[0].split() for match in re.finditer(pattern, text)]
    changes = [sum(map(str.__ne__, each, parts)) for each in found]
    if any(count != 1 for count in changes):
        return CheckResult(False, f"changed words in the repetitions: {', '.join(map(str, changes))}")
    return exactly(len(found), small_n, "repetitions")


def _alike(text: str, wanted: str) -> bool:
    return text.strip().lower() == wanted.strip().lower()


# Words.


@KINDS.kind("keywords:word_once", keyword=phrase)
def word_once(text: str, keyword: str) -> CheckResult:
    """The keyword occurs once, in whatever case, be it inside of a longer word."""
    return exactly(_occurrences(text, keyword), 1, shown(keyword))


@KINDS.kind("count:count_increment_word", keyword1=phrase, keyword2=phrase)
def count_increment_word(text: str, keyword1: str, keyword2: str) -> CheckResult:
    """The one keyword occurs once, the other twice."""
    once, twice = _occurrences(text, keyword1), _occurrences(text, keyword2)
    return CheckResult((once, twice) == (1, 2), f"{once} and {twice} times, expected 1 and 2")


def _occurrences(text: str, keyword: str) -> int:
    return sum(1 for _ in literal(keyword).finditer(text))


@KINDS.kind("keywords:exclude_word_harder", keyword=phrase)
def exclude_word_harder(text: str, keyword: str) -> CheckResult:
    """The keyword occurs nowhere as a whole word, in whatever case."""
    there = whole_word(keyword).search(text) is not None
    return CheckResult(not there, f"{shown(keyword)} is {'there' if there else 'not there'}")


@KINDS.kind("keywords:no_adjacent_consecutive")
def no_adjacent_consecutive(text: str) -> CheckResult:
    """No word starts with the letter of the alphabet that follows the one that the word before it starts with."""
    pairs = itertools.pairwise(word.lower() for word in text.split())
    for first, second in pairs:
        if first[0].isalpha() and second[0].isalpha() and ord(second[0]) == ord(first[0]) + 1:
            return CheckResult(False, f"{shown(first)} stands before {shown(second)}")
    return CheckResult(True, "no such pair")


@KINDS.kind("keywords:palindrome")
def palindrome(text: str) -> CheckResult:
    """A word of three letters or more reads the same both ways."""
    for word in text.split():
        bare = _bare(word)
        if len(bare) >= SHORTEST_PALINDROME and bare == bare[::-1]:
            return CheckResult(True, shown(bare))
    return CheckResult(False, "no palindrome")


@KINDS.kind("keywords:keyword_specific_position", keyword=phrase, n=positive, m=positive)
def keyword_specific_position(text: str, keyword: str, n: int, m: int) -> CheckResult:
    """The mth word of the nth sentence is the keyword."""
    sentence = next(itertools.islice(sentences(text), n - 1, None), None)
    if sentence is None:
        return CheckResult(False, f"there is no sentence {n}")
    found = words(sentence)[m - 1 : m]
    return CheckResult(
        found == [keyword], f"word {m} of sentence {n} is {shown(found[0]) if found else 'not there'}"
    )


@KINDS.kind("count:count_unique")
def count_unique(text: str) -> CheckResult:
    """No word occurs twice, in whatever case."""
    word, count = max(Counter(map(str.lower, words(text))).items(), key=lambda item: item[1], default=("", 0))
    return CheckResult(
        count <= 1, f"{shown(word)} occurs {count} times" if count > 1 else "no word occurs twice"
    )


@KINDS.kind("count:lowercase_counting", N=whole)
def lowercase_counting(text: str, N: int) -> CheckResult:
    """At most so many words in lowercase letters."""
    count = sum(1 for _ in _LOWERCASE.finditer(text))
    return CheckResult(count <= N, f"lowercase words: {count}, expected at most {N}")


@KINDS.kind("letters:letter_counting", N=whole, relation=relation)
def letter_counting(text: str, N: int, relation: str) -> CheckResult:
    """How many letters of the English alphabet there are."""
    return compared(sum(1 for _ in _LETTER.finditer(text)), N, relation, "letters")


# First and last words.


@KINDS.kind("first_word:first_word_sent", first_word=phrase)
def first_word_sent(text: str, first_word: str) -> CheckResult:
    """Each sentence starts with the word, in whatever case."""
    return _everywhere(text, 0, first_word)


@KINDS.kind("last_word:last_word_sent", last_word=phrase)
def last_word_sent(text: str, last_word: str) -> CheckResult:
    """Each sentence ends with the word, in whatever case, but for punctuation."""
    return _everywhere(text, -1, last_word)


@KINDS.kind("first_word:first_word_answer", first_word=phrase)
def first_word_answer(text: str, first_word: str) -> CheckResult:
    """The text starts with the word, in whatever case."""
    return _placed(text, 0, first_word)


@KINDS.kind("last_word:last_word_answer", last_word=phrase)
def last_word_answer(text: str, last_word: str) -> CheckResult:
    """The text ends with the word, in whatever case, but for punctuation."""
    return _placed(text, -1, last_word)


@KINDS.kind("keywords:start_end")
def start_end(text: str) -> CheckResult:
    """The text starts and ends with the same word, with nothing after it."""
    parts = text.split()
    if len(parts) < 2:
        return CheckResult(False, "fewer than two words")
    first, last = _bare(parts[0]), parts[-1].lower()
    return CheckResult(
        first == last.lstrip("\"'([“‘"), f"starts with {shown(first)}, ends with {shown(last)}"
    )


def _everywhere(text: str, place: int, word: str) -> CheckResult:
    for number, sentence in enumerate(sentences(text), 1):
        if not _placed(sentence, place, word).followed:
            where = "ends" if place else "starts"
            return CheckResult(False, f"sentence {number} {where} with another word than {shown(word)}")
    return CheckResult(True, "every sentence")


def _placed(text: str, place: int, word: str) -> CheckResult:
    parts = text.split()
    found = _bare(parts[place]) if parts else ""
    return CheckResult(found == _bare(word), f"the word is {shown(found)}")


def _bare(word: str) -> str:
    """The word in lower case, without marks before and after it."""
    start, end = 0, len(word)
    while start < end and not word[start].isalnum():
        start += 1
    while start < end and not word[end - 1].isalnum():
        end -= 1
    return word[start:end].lower()


# Form.


@KINDS.kind("detectable_format:sentence_hyphens")
def sentence_hyphens(text: str) -> CheckResult:
    """Hyphens and no spaces between the sentences: ``One.-Two.``"""
    for part in text.strip().split("-"):
        if part != part.strip() or len(list(itertools.islice(sentences(part), 2))) != 1:
            return CheckResult(False, f"not one sentence between hyphens: {shown(part)}")
    return CheckResult(True, "hyphens between all sentences")


@KINDS.kind("detectable_format:square_brackets")
def square_brackets(text: str) -> CheckResult:
    """Each word is in square brackets."""
    bare = [word for word in text.split() if not (word[0] == "[" and word[-1] == "]")]
    return CheckResult(not bare, f"words without brackets: {len(bare)}")


@KINDS.kind("detectable_format:bigram_wrapping")
def bigram_wrapping(text: str) -> CheckResult:
    """Each two words are in double angular brackets; one that is left over at the end need not be."""
    parts = text.split()
    pairs = zip(parts[::2], parts[1::2], strict=False)
    bare = sum(not (first.startswith("<<") and second.endswith(">>")) for first, second in pairs)
    return CheckResult(not bare, f"pairs without brackets: {bare}")


@KINDS.kind("paragraphs:paragraphs")
def two_divided_paragraphs(text: str) -> CheckResult:
    """Two paragraphs parted by ``***``."""
    return exactly_parted(DIVIDER.split(text), 2)


@KINDS.kind("paragraphs:paragraphs2")
def two_spaced_paragraphs(text: str) -> CheckResult:
    """Two paragraphs parted by an empty line."""
    return exactly_parted(text.split("\n\n"), 2)


@KINDS.kind("count:counting_composition", n_sent=positive, n_words=positive)
def counting_composition(text: str, n_sent: int, n_words: int) -> CheckResult:
    """Three paragraphs parted by ``***``, of so many sentences of so many words each."""
    parts = DIVIDER.split(text)
    parted = exactly_parted(parts, 3)
    if not parted.followed:
        return parted
    for number, part in enumerate(filter(str.strip, parts), 1):
        counts = [len(words(sentence)) for sentence in sentences(part)]
        if counts != [n_words] * n_sent:
            return CheckResult(
                False, f"words in the sentences of paragraph {number}: {', '.join(map(str, counts))}"
            )
    return CheckResult(True, "3 paragraphs as expected")


@KINDS.kind("punctuation:punctuation_dot")
def punctuation_dot(text: str) -> CheckResult:
    """No full stop."""
    return CheckResult("." not in text, f"full stops: {text.count('.')}")


@KINDS.kind("punctuation:punctuation_exclamation")
def punctuation_exclamation(text: str) -> CheckResult:
    """No exclamation mark."""
    return CheckResult("!" not in text, f"exclamation marks: {text.count('!')}")
