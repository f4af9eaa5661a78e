"""How long a text is, in words, characters or the tokens of a tokenizer."""

from __future__ import annotations

import functools
import os
import re
import unicodedata
from typing import Any

from guerdon.errors import InputError, MissingExtraError
from guerdon.rewards.common.parameters import one_of, shown

UNITS = ("words", "characters", "tokens")
_SURROGATE = re.compile("[\ud800-\udfff]")


def unit_of(unit: Any, tokenizer: Any) -> str:
    """The unit, checked against the tokenizer, which ``tokens`` need and the others have no use for.

    Raises InputError where they do not fit together.
    """
    found = one_of(unit, UNITS, "unit")
    if tokenizer is not None and not isinstance(tokenizer, str | os.PathLike):
        raise InputError(f"tokenizer must be a folder, a file or a name on the hub, not {shown(tokenizer)}")
    if found == "tokens" and not tokenizer:
        raise InputError('unit="tokens" needs tokenizer=: a folder, a tokenizer.json, or a name on the hub')
    if found != "tokens" and tokenizer:
        raise InputError(f'a tokenizer counts tokens: set unit="tokens" in place of {shown(found)}')
    return found


def length_of(text: str, unit: str, tokenizer: str | os.PathLike[str] | None = None) -> int:
    """The length in a unit that ``unit_of`` gave.

    Words are what white space separates. Characters are code points after composition (NFC), a run of white
    space as one and none at the ends. Tokens are without those that a chat template adds.

    >>> length_of(" to be  or not ", "words"), length_of(" to be  or not ", "characters")
    (4, 12)
    """
    if unit == "tokens":
        return len(
            _tokenizer(os.fspath(tokenizer or "")).encode(_printable(text), add_special_tokens=False).ids
        )
    words = text.split()
    return len(words) if unit == "words" else len(unicodedata.normalize("NFC", " ".join(words)))


def length_text(count: int, unit: str) -> str:
    """A length in words.

    >>> length_text(1, "words"), length_text(2, "words")
    ('1 word', '2 words')
    """
    return f"{count} {unit.removesuffix('s') if count == 1 else unit}"


def _printable(text: str) -> str:
    """The text as UTF-8 can write it; a lone surrogate counts as the replacement character."""
    return _SURROGATE.sub("\ufffd", text)


@functools.lru_cache(maxsize=8)
def _tokenizer(name: str) -> Any:
    try:
        from tokenizers import Tokenizer
    except ImportError as error:
        raise MissingExtraError.of("tokens", "counting tokens") from error
    file = os.path.join(name, "tokenizer.json") if os.path.isdir(name) else name
    local = os.path.exists(name) or name.endswith(".json")
    try:
        return Tokenizer.from_file(file) if local else Tokenizer.from_pretrained(name)
    except Exception as error:  # the edge to a library that raises plain Exception for every failure
        raise InputError(
            f"cannot load the tokenizer {shown(name)}: give a folder with a tokenizer.json, or a name on the hub"
        ) from error
