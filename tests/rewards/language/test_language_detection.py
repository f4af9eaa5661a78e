"""``_language``: languages of short texts, their names and codes, and what has no language."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest

from guerdon.errors import InputError
from guerdon.rewards.language.detection import alike, code_of, confidence_in, detect, name_of

SENTENCES = {
    "ar": "أين تقع محطة القطار من فضلك؟",
    "cs": "Kde je tady prosím vlakové nádraží?",
    "de": "Entschuldigung, wo ist hier der Bahnhof?",
    "el": "Συγγνώμη, πού είναι ο σταθμός του τρένου;",
    "en": "Excuse me, where is the railway station?",
    "es": "Perdone, ¿dónde está la estación de tren?",
    "fi": "Anteeksi, missä rautatieasema on?",
    "fr": "Excusez-moi, où se trouve la gare ?",
    "he": "סליחה, איפה תחנת הרכבת?",
    "hi": "क्षमा करें, रेलवे स्टेशन कहाँ है?",
    "hu": "Elnézést, hol van a vasútállomás?",
    "it": "Mi scusi, dove si trova la stazione?",
    "ja": "すみません、駅はどこですか。",
    "ko": "실례합니다, 기차역이 어디에 있나요?",
    "nl": "Neem me niet kwalijk, waar vind ik hier het station?",
    "pl": "Przepraszam, gdzie jest dworzec kolejowy?",
    "pt": "Desculpe, onde fica a estação de comboios?",
    "ru": "Извините, где находится вокзал?",
    "sv": "Ursäkta, var ligger järnvägsstationen?",
    "th": "ขอโทษครับ สถานีรถไฟอยู่ที่ไหน",
    "tr": "Affedersiniz, tren istasyonu nerede?",
    "uk": "Перепрошую, як мені дістатися до вокзалу?",
    "vi": "Xin lỗi, nhà ga xe lửa ở đâu?",
    "zh": "请问，火车站在哪里？",
}


@pytest.mark.parametrize(("code", "sentence"), SENTENCES.items(), ids=str)
def test_a_short_sentence_is_told(code: str, sentence: str) -> None:
    ranking = detect(sentence)
    assert ranking[0][0] == code
    assert sum(confidence for _, confidence in ranking) == pytest.approx(1, abs=1e-3)
    assert all(len(found) == 2 for found, _ in ranking)


@pytest.mark.parametrize("text", ["", " \n", "42", "1 + 1 = 2", "!?…", "\x00", "\ud800", "🙂"])
def test_what_has_no_letter_has_no_language(text: str) -> None:
    assert detect(text) == []


@pytest.mark.parametrize("text", ["a\ud800b", "x" * 1_000_000, "(a" * 10_000, "\x00a", "ａｂｃ"])
def test_hostile_texts_get_a_ranking(text: str) -> None:
    assert 0 <= detect(text)[0][1] <= 1


def test_threads_agree() -> None:
    texts = list(SENTENCES.values()) * 4
    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(detect, texts)) == [detect(text) for text in texts]


@pytest.mark.parametrize(
    ("name", "code"),
    [
        ("de", "de"),
        ("German", "de"),
        (" FRENCH ", "fr"),
        ("zh-CN", "zh"),
        ("zh_Hant_TW", "zh"),
        ("pt-BR", "pt"),
        ("Farsi", "fa"),
        ("Scottish Gaelic", "gd"),
        ("Norwegian Bokmål", "nb"),
        ("nb", "nb"),
    ],
)
def test_names_and_codes(name: str, code: str) -> None:
    assert code_of(name) == code


@pytest.mark.parametrize("name", ["", "Klingon", "xx", "deu", None, 5, True, ["de"]])
def test_what_names_no_language(name: object) -> None:
    with pytest.raises(InputError, match="target must be an ISO 639-1 code such as de, or an English name"):
        code_of(name)


def test_kin_count_as_one() -> None:
    ranking = [("hr", 0.5), ("sr", 0.25), ("sl", 0.25)]
    assert confidence_in(alike("bs"), ranking) == 0.75
    assert (name_of("nb"), name_of("el")) == ("Norwegian Bokmål", "Greek")
