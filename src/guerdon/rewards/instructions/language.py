"""The language of a text for instructions, as the field's checkers tell it: by langdetect."""

from __future__ import annotations

import difflib
import threading
from functools import cache
from typing import Any

from guerdon.errors import MissingExtraError

SEED = 0
"""langdetect draws the pieces that it looks at; from this seed, so that a text has one language."""
LONGEST = 20_000
"""Characters that are looked at; langdetect itself stops at 10,000 after taking addresses out."""
LANGUAGES = frozenset(
    {
        *("af", "ar", "bg", "bn", "ca", "cs", "cy", "da", "de", "el", "en", "es", "et", "fa"),
        *("fi", "fr", "gu", "he", "hi", "hr", "hu", "id", "it", "ja", "kn", "ko", "lt", "lv"),
        *("mk", "ml", "mr", "ne", "nl", "no", "pa", "pl", "pt", "ro", "ru", "sk", "sl", "so"),
        *("sq", "sv", "sw", "ta", "te", "th", "tl", "tr", "uk", "ur", "vi", "zh", "zh-cn", "zh-tw"),
    }
)
"""The codes that can be asked for; ``zh`` is either script."""

_lock = threading.Lock()


def language_code(value: Any) -> str:
    """A code that can be asked for, in lower case. Raises ValueError with the nearest ones."""
    code = value.strip().lower().replace("_", "-") if isinstance(value, str) else ""
    if code not in LANGUAGES:
        near = difflib.get_close_matches(code, sorted(LANGUAGES), cutoff=0.5)
        raise ValueError(f"a language code such as {' or '.join(near or ('en', 'de'))}")
    return code


def language_of(text: str) -> str | None:
    """The code of the language that a text is most likely in, ``unknown`` where none is likely, None where there is
    nothing to tell it by.

    Words in capital letters are ignored, so that a text all in capitals has none. Raises
    MissingExtraError without the extra ``instructions``.

    >>> language_of("Der Hund bellt, und die Katze schläft."), language_of("42!")
    ('de', None)
    """
    detector = _factory().create()
    detector.append(text[:LONGEST])
    from langdetect import LangDetectException

    try:
        return str(detector.detect())
    except LangDetectException:
        return None


def _factory() -> Any:
    with _lock:  # of two threads that come first, one loads
        return _loaded()


@cache
def _loaded() -> Any:
    try:
        from langdetect.detector_factory import PROFILES_DIRECTORY, DetectorFactory
    except ImportError:
        raise MissingExtraError.of("instructions", "telling the language of a text") from None
    factory = DetectorFactory()
    factory.load_profile(PROFILES_DIRECTORY)
    factory.set_seed(SEED)
    return factory
