"""Words of a text in one spelling, so that texts which say the same compare as equal."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection
from functools import lru_cache

KINDS = ("case", "whitespace", "punctuation", "articles", "accents", "unicode")
"""What a comparison may ignore."""

_SIGNS = str.maketrans(
    {
        **dict.fromkeys("‘’ʼ‛′`´", "'"),
        **dict.fromkeys("“”„‟«»″", '"'),
        **dict.fromkeys("‐‑‒–—―−﹣－", "-"),
        **dict.fromkeys("\u200b\u200c\u200d\u2060\ufeff\u00ad\u200e\u200f\u202a\u202b\u202c\u202d\u202e", ""),
        **dict.fromkeys("™®©℠", ""),
        # Compatibility forms that NFKC would fuse with what stands before them: x² is not x2, 3½ not 31/2.
        **{chr(code): f"^{unicodedata.normalize('NFKC', chr(code))}" for code in (0xB2, 0xB3, 0xB9, 0x2070)},
        **{chr(code): f"^{unicodedata.normalize('NFKC', chr(code))}" for code in range(0x2074, 0x207A)},
        **dict.fromkeys("½", " 1/2"),
        **dict.fromkeys("¼", " 1/4"),
        **dict.fromkeys("¾", " 3/4"),
    }
)
# Letters with a stroke or a ligature, which no normalisation form takes apart.
_LETTERS = str.maketrans(
    {"ø": "o", "Ø": "O", "ł": "l", "Ł": "L", "đ": "d", "Đ": "D", "ð": "d", "þ": "th", "ı": "i", "ħ": "h"}
    | {"æ": "ae", "Æ": "AE", "œ": "oe", "Œ": "OE"}
)
_DIGIT = re.compile(r"(?![0-9])\d")
_ACCENTS = re.compile("[\u0300-\u036f]+")
_ARTICLE = re.compile(r"(?:(?<!\S)(?:[Tt]he|THE|[Aa]n|a)|^\W*A)(?=\s+\w)")
_THOUSANDS = re.compile(r"(?<=\d),(?=\d{3}(?!\d))")
_PERCENT = re.compile(r"(?<=\d)\s+%")
_FUSED = re.compile(r"'|(?<!\d)\.(?![\s\d])|(?<=\d)\.(?=[^\W\d_])|\.(?=\s|$)")
_KEPT = re.compile(r"(?<=\d)[-.:/](?=\d)|(?<![\w)])[-.](?=\.?\d)|(?<=\d)%|(?<=[^\W\d_])\#(?!\w)")
# Scripts that are written without spaces: Thai to Khmer, kana, Han.
_UNSPACED = re.compile(
    "[\u0e01-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
    "\U00020000-\U0003ffff]+"
)


class _Marks(dict[int, int | str | None]):
    """For str.translate: every mark of punctuation becomes a space, everything else stays."""

    def __missing__(self, code: int) -> int | str:
        found: int | str = " " if unicodedata.category(chr(code))[0] == "P" else code
        if len(self) < 20_000:
            self[code] = found
        return found


class _PunctuationTable:
    """Holds the marks met so far, as private state: using a reward must not change its version."""

    def __init__(self) -> None:
        self._marks = _Marks({ord("&"): " and "})

    def cleared(self, text: str) -> str:
        return text.translate(self._marks)


_MARKS = _PunctuationTable()
# Marks that stay, while the others go; an ASCII text stays one, which is far quicker.
_HELD = {"-": "\x01", ".": "\x02", ":": "\x03", "/": "\x04", "%": "\x05", "#": "\x06"}
_BACK = str.maketrans({held: mark for mark, held in _HELD.items()})
MAX_TEXT = 100_000
"""Characters of a response that are compared word by word."""
DEFAULT = frozenset({"case", "whitespace", "punctuation", "articles", "unicode"})


def normal(text: str, ignore: Collection[str] = DEFAULT) -> str:
    """The text without the differences that are to be ignored.

    Punctuation is ignored where it changes nothing: signs and points of numbers, ``%`` and the marks of
    ``C#`` and ``C++`` stay. Articles are those of English that a word follows, so ``vitamin A`` stays whole.
    What would be left empty by ignoring its articles or its punctuation keeps them.

    >>> normal("The  U.S.A. – 1,000 %"), normal("-1.5 is not 15"), normal("vitamin A"), normal("The The!")
    ('usa 1000%', '-1.5 is not 15', 'vitamin a', 'the')
    """
    if "unicode" in ignore:
        text = text if text.isascii() else _compatible(text)
    if "accents" in ignore:
        text = without_accents(text)
    if "punctuation" in ignore:
        text = _without_punctuation(text) or text
    if "articles" in ignore:
        text = _ARTICLE.sub("", text)
    if "case" in ignore:
        text = unicodedata.normalize("NFC", text.casefold())
    return " ".join(text.split()) if "whitespace" in ignore else text


def _compatible(text: str) -> str:
    """The text in plain forms of its characters, its digits in those of ASCII."""
    text = unicodedata.normalize("NFKC", text.translate(_SIGNS)).replace("⁄", "/")
    return _DIGIT.sub(lambda match: str(unicodedata.decimal(match[0])), text)


def without_accents(text: str) -> str:
    """The text without accents on letters; other marks, such as vowel signs, belong to their scripts.

    >>> without_accents("Röntgen, Łódź, São Tomé, が")
    'Rontgen, Lodz, Sao Tome, が'
    """
    if text.isascii():
        return text
    bare = _ACCENTS.sub("", unicodedata.normalize("NFD", text)).translate(_LETTERS)
    return unicodedata.normalize("NFC", bare)


def _without_punctuation(text: str) -> str:
    text = _PERCENT.sub("%", _THOUSANDS.sub("", text))
    text = _KEPT.sub(lambda match: _HELD[match[0]], text)
    text = _FUSED.sub("", text)
    return _MARKS.cleared(text).translate(_BACK).strip()


def is_unspaced(text: str) -> bool:
    """Whether a text is of a script that is written without spaces.

    >>> is_unspaced("京"), is_unspaced("Kyoto")
    (True, False)
    """
    return _UNSPACED.fullmatch(text) is not None


def words(text: str, ignore: Collection[str] = DEFAULT) -> list[str]:
    """The words of a text in normal form; of scripts without spaces each character is one.

    >>> words("The cat's 2 lives"), words("東京 2020")
    (['cats', '2', 'lives'], ['東', '京', '2020'])
    """
    found = normal(text, {*ignore, "whitespace"})
    return (found if found.isascii() else _UNSPACED.sub(lambda run: f" {' '.join(run[0])} ", found)).split()


@lru_cache(maxsize=4096)
def gold_words(text: str, ignore: frozenset[str] = DEFAULT) -> tuple[str, ...]:
    """``words`` of a ground truth, which comes again for every response to its question."""
    return tuple(words(text, ignore))


def occurs(phrase: tuple[str, ...], text: list[str]) -> bool:
    """Whether the words of a phrase stand side by side in a text.

    >>> occurs(("new", "york"), ["in", "new", "york"]), occurs(("york", "new"), ["new", "york"])
    (True, False)
    """
    return bool(phrase) and f" {' '.join(phrase)} " in f" {' '.join(text)} "
