"""Words and scripts: what counts as one word, also where words are written without spaces."""

from __future__ import annotations

import functools
import re
import unicodedata

UNSPACED = (
    "\u0e00-\u0e7f\u0e80-\u0eff\u1000-\u109f\u1780-\u17ff"  # Thai, Lao, Burmese, Khmer
    "\u3005-\u3007\u3040-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"  # CJK
)
"""The characters of scripts that put no space between words, for the inside of a character class."""

_UNIT = re.compile(rf"[{UNSPACED}]|[^\s{UNSPACED}]+")
_RUN = re.compile(rf"[{UNSPACED}]+|[^\s{UNSPACED}]+")
_ONE = re.compile(rf"[{UNSPACED}]")
_END = 100_000
_CJK = ("CJK", "HIRAGANA", "KATAKANA", "IDEOGRAPHIC")


def units(text: str) -> list[str]:
    """The text as words without the punctuation around them; a character each where words have no spaces.

    Upper and lower case are alike, and so are composed and decomposed letters. What is punctuation alone is
    left out.

    >>> units("Go, go! 我们 go.")
    ['go', 'go', '我', '们', 'go']
    """
    folded = unicodedata.normalize("NFC", text.casefold())
    stripped = (unit if len(unit) == 1 else _bare(unit) for unit in _UNIT.findall(folded))
    return [unit for unit in stripped if unit and (len(unit) > 1 or unit.isalnum() or is_unspaced(unit))]


def ends(text: str) -> str:
    """The text, or its first and last 100,000 characters.

    That is far more than a model writes, and little enough to be judged in good time.
    """
    return text if len(text) <= 2 * _END else f"{text[:_END]}\n{text[-_END:]}"


def runs(text: str) -> list[str]:
    """What stands between spaces, cut where a script without spaces begins or ends.

    >>> runs("我们compute，然后 stop")
    ['我们', 'compute，', '然后', 'stop']
    """
    return _RUN.findall(text)


def is_unspaced(run: str) -> bool:
    """Whether a run of ``runs`` is in a script without spaces."""
    return _ONE.match(run) is not None


def _bare(word: str) -> str:
    start, end = 0, len(word)
    while start < end and not word[start].isalnum():
        start += 1
    # A vowel sign of an Indic script is no alphanumeric, but part of the word.
    while end > start and not (word[end - 1].isalnum() or unicodedata.category(word[end - 1])[0] == "M"):
        end -= 1
    return word[start:end]


@functools.lru_cache(maxsize=4096)
def script_of(character: str) -> str:
    """The script of a letter as Unicode's names have it, such as ``LATIN``; ``CJK`` for Han and kana.

    >>> script_of("é"), script_of("の"), script_of("я")
    ('LATIN', 'CJK', 'CYRILLIC')
    """
    name = unicodedata.name(character, "?").replace("-", " ")
    first, _, rest = name.partition(" ")
    if first in ("FULLWIDTH", "HALFWIDTH"):
        first = rest.partition(" ")[0]
    return "CJK" if first in _CJK else first
