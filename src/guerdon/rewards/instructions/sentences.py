"""Sentences and words as the field's checkers of instructions count them: Punkt and the Penn Treebank's tokens."""

from __future__ import annotations

import functools
import re
import string
from collections.abc import Callable, Iterator

from guerdon.errors import MissingExtraError

# What cannot be inside of a word. Typographic quotation marks are no part of it in the NLTK of the published
# checkers: a mark right before one ends no sentence.
_NO_WORD = ")\";}]*:@'({["
_SHORT = 100
_CLOSING = re.compile(r"[\"')\]}]+?(?:\s+|(?=--)|$)")

_WORD_BREAKS = re.compile(
    r"[«»“”„‘’`\"]|[;@#$%&*?!\[\](){}<>\u2012-\u2015]|\.{2,}|--|''|[:,](?!\d)|'(?!re|ve|ll|[mtsdn])(?=\w\b)",
    re.IGNORECASE,
)
# A contraction at the end of a sentence stands before its period.
_CLITICS = re.compile(r"(?<=[^' \s])('(?:[sS]|[mM]|[dD]|ll|LL|re|RE|ve|VE)?|n't|N'T)(?=\.?(?:\s|$))")
_FUSED = re.compile(
    r"\b(?:(can)(not)|(d)('ye)|(gim)(me)|(gon)(na)|(got)(ta)|(lem)(me)|(more)('n))\b"
    r"|\b(wan)(na)(?=\.?(?:\s|$))|(?<!\S)('t)(is|was)\b",
    re.IGNORECASE,
)


def sentences(text: str) -> Iterator[str]:
    """The sentences of an English text, one by one, as Punkt (Kiss and Strunk 2006) in NLTK cuts them.

    The model is the one for English that NLTK has always used. Of a run of marks at the end of the text the last
    one is a sentence of its own, as there: ``Wow!!`` counts as two. Raises MissingExtraError without the extra
    ``instructions``.

    >>> list(sentences("Dr. Smith came at 5 p.m. on Friday. He left."))
    ['Dr. Smith came at 5 p.m. on Friday.', 'He left.']
    """
    start = 0
    for end, following in _breaks(text):
        if end <= start:
            continue
        # Quotation marks and brackets that close belong to the sentence before them.
        closing = _CLOSING.match(text, following)
        yield text[start : following + len(closing[0].rstrip()) if closing else end]
        start = closing.end() if closing else following
    if text[start:].strip():
        yield text[start:].rstrip()


def _breaks(text: str) -> Iterator[tuple[int, int]]:
    """Where a sentence ends, and where the next one starts."""
    candidates, ends_sentence = _punkt()
    word_start, word_end = 0, 0
    last: re.Match[str] | None = None
    for match in candidates(text):
        space = _last_space(text, word_end, match.start())
        start = space + 1 if space > word_end else word_start
        # A mark inside of a run of marks is no candidate; the last one of the run is.
        if last is not None and word_end <= start and ends_sentence(_context(text, word_start, last)):
            yield _edges(last)
        last, word_start, word_end = match, start, match.start()
    if last is not None and ends_sentence(_context(text, word_start, last)):
        yield _edges(last)


def _last_space(text: str, start: int, end: int) -> int:
    """Where the last white space before ``end`` is, or ``start`` where there is none after it."""
    for at in range(end - 1, start, -1):
        if text[at] in string.whitespace:
            return at
    return start


def _context(text: str, word_start: int, mark: re.Match[str]) -> str:
    return text[word_start : mark.end()] + mark["after_tok"]


def _edges(mark: re.Match[str]) -> tuple[int, int]:
    return mark.end(), mark.start("next_tok") if mark["next_tok"] else mark.end()


@functools.cache
def _punkt() -> tuple[Callable[[str], Iterator[re.Match[str]]], Callable[[str], bool]]:
    """What finds the marks that may end a sentence, and what says of one in its context whether it does."""
    try:
        import punkt
    except ImportError:
        raise MissingExtraError.of("instructions", "counting sentences") from None
    model = punkt.load_model("english")
    rules = punkt.LanguageVars(non_word_chars=_NO_WORD)
    tokenizer = punkt.PunktWordTokenizer(rules)

    def ends_sentence(context: str) -> bool:
        ended = False
        for token in punkt.annotate_tokens(tokenizer.tokenize_annotated(context), model, rules):
            if ended:  # the last token is there for those before it only
                return True
            ended = bool(token.sentbreak)
        return False

    remembered = functools.lru_cache(maxsize=4096)(ends_sentence)
    return (
        punkt.PunktBoundaryDetector(rules).match,
        lambda context: remembered(context) if len(context) < _SHORT else ends_sentence(context),
    )


def words(text: str) -> list[str]:
    """The words of an English text as NLTK's ``word_tokenize`` parts them, without tokens of punctuation alone.

    Hyphens and slashes hold words together, apostrophes part them where a contraction does. A period stays with
    its word, but for the last one.

    >>> words("Don't SHOUT: it's well-known, JOHN'S too.")
    ['Do', "n't", 'SHOUT', 'it', "'s", 'well-known', 'JOHN', "'S", 'too']
    """
    parted = _CLITICS.sub(r" \1 ", _WORD_BREAKS.sub(" ", text.strip().removesuffix(".")))
    tokens = _FUSED.sub(lambda pair: f" {' '.join(filter(None, pair.groups()))} ", parted).split()
    return [token for token in tokens if token.isalnum() or any(map(str.isalnum, token))]
