"""Words of a text, whatever its script."""

from __future__ import annotations

from guerdon.rewards.common.words import runs, script_of, units


def test_words_and_scripts() -> None:
    assert units("E\u0301té, (été) — …5! हिन्दी। 東京 a") == ["été", "été", "5", "हिन्दी", "東", "京", "a"]
    assert runs("東京tower 5") == ["東京", "tower", "5"]
    assert [script_of(c) for c in "aΩжش한ｱ一"] == [
        "LATIN",
        "GREEK",
        "CYRILLIC",
        "ARABIC",
        "HANGUL",
        "CJK",
        "CJK",
    ]
