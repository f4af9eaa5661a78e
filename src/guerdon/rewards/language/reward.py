"""The reward ``language``: how much of the response is in the language that is wanted?"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from guerdon.errors import InputError
from guerdon.reward.decorator import reward_function
from guerdon.rewards.common.parameters import among, needs, one_of, parameter_check, response_text
from guerdon.rewards.common.prose import PARTS, part_of, prose
from guerdon.rewards.common.words import ends, is_unspaced, runs, script_of
from guerdon.rewards.language.detection import alike, code_of, confidence_in, detect, name_of
from guerdon.types import EvaluateResult, MetricResult

OF_PROMPT = "prompt"
_SENTENCE_END = re.compile(r"(?<=[.!?…:;])\s+|(?<=[。！？；।॥؟۔])|[\r\n]+")
_NOT_A_WORD = re.compile(r"[\d_@/\\=^{}<>|]")
# A chunk is what is detected at once: long enough to be detected, short enough to catch a change within a sentence.
_CHUNK = 10.0
_CHUNKS = 2_000
_CONFIDENT, _RULED_OUT, _LIKELY = 0.3, 33.0, 0.1
"""The confidence from which a language is detected; how many times likelier than the wanted one rules that out; the
confidence from which the wanted one is not ruled out at all.
"""
_SHORT = 3.0
_LONGEST_WORD = 60
# In scripts without spaces a word is two characters, more or less.
_CHARACTERS_A_WORD = 2
_WRITTEN_IN = {
    "ARABIC": "ar fa ku pa ps ug ur",
    "ARMENIAN": "hy",
    "BENGALI": "as bn",
    "CJK": "ja ko zh",
    "CYRILLIC": "az ba be bg bs kk ky mk mn ru sr tg tk tt uk uz",
    "DEVANAGARI": "hi mr ne sa",
    "ETHIOPIC": "am",
    "GEORGIAN": "ka",
    "GREEK": "el",
    "GUJARATI": "gu",
    "GURMUKHI": "pa",
    "HANGUL": "ko",
    "HEBREW": "he",
    "KANNADA": "kn",
    "KHMER": "km",
    "LAO": "lo",
    "MALAYALAM": "ml",
    "MYANMAR": "my",
    "ORIYA": "or",
    "SINHALA": "si",
    "TAMIL": "ta",
    "TELUGU": "te",
    "THAI": "th",
    "TIBETAN": "dz",
}
_ALSO_LATIN = frozenset(["az", "bs", "kk", "ku", "sr", "tk", "uz"])


@dataclass(slots=True)
class _Chunk:
    """Words in a row, of one script and one sentence."""

    script: str
    text: str
    words: int
    """How many; in scripts without spaces, two characters are one."""
    is_name: bool
    """Whether every word is capitalised, as in a name or an abbreviation."""


@reward_function(
    reach=needs("py3langid", "language", "telling the language of a text"),
    scale=(0, 1),
    check=parameter_check(
        target=lambda value, _: None if value == OF_PROMPT else code_of(value), part=among(PARTS)
    ),
)
def language(
    response: str,
    *,
    target: str | None = None,
    part: str = "response",
    prompt: str = "",
) -> EvaluateResult:
    """Scores the proportion of the words that are in the wanted language.

    ``target`` is an ISO 639-1 code such as ``de``, an English name such as ``German``, or ``prompt`` for the
    language of the prompt; a region, as in ``pt-BR``, does not matter. ``part`` is ``response``, ``thinking``
    for what stands before ``</think>``, or ``answer`` for what stands after it.

    Code, formulas, tags, addresses, numbers, single letters and names are left out; of a response that is nothing
    but code, what stands in it is looked at. The rest is detected ten words at a time and never across sentences,
    each script apart; what cannot be detected by itself is joined with the rest of its kind, and left out where that
    does not help. Where all there is are one or two words that could be of many languages, such as "OK", the
    reward does not apply. Names are capitalised words within a sentence, unless most words are capitalised, and
    capitalised words of Latin script in a language of another script. Where no words are left, as in an empty
    response, the score is 0. Bosnian, Croatian and Serbian count as one language, Indonesian and Malay, and the
    forms of Norwegian: short texts in them cannot be distinguished. Of more than 200,000 characters both ends are
    looked at.

    Scale: 0 to 1.

    The metric ``words`` is how many were counted; ``language`` is 1 where most are in the target.

    Source: the language consistency reward of DeepSeek-R1 (Guo et al. 2025), the proportion of words in the
    target language; languages are detected by py3langid, extra ``language``.

    Raises InputError without a target, or for one that is not a language.

    >>> language("Der Zug fährt um neun Uhr ab. Er hält in jedem Dorf.", target="de").score
    1.0
    >>> language("So we add them. Dann teilen wir die Summe durch drei.", target="German").reason
    '6 of 10 words are German; en 4'
    """
    place = one_of(part, PARTS, "part")
    text = part_of(response_text(response), place)
    if target is None:
        raise InputError('there is no target: give target="de", target="prompt" or a column target')
    code = _of_prompt(prompt) if target == OF_PROMPT else code_of(target)
    if code is None:
        return EvaluateResult(reason="the prompt has no words to tell its language by")
    counted = _counted(_chunks(_language_in(ends(text))), code)
    named = name_of(code)
    if counted is None:
        return EvaluateResult(reason="too few words to tell a language by")
    total = sum(counted.values())
    if not total:
        metrics = _metrics(0.0, 0, f"no words in the {place} to tell a language by", named)
        return EvaluateResult(0.0, reason=metrics["words"].reason, metrics=metrics)
    share = counted[code] / total
    others = [f"{other} {count}" for other, count in counted.most_common() if other != code and count]
    reason = f"{counted[code]} of {total} words are {named}" + "".join(f"; {o}" for o in others[:5])
    return EvaluateResult(share, reason=reason, metrics=_metrics(share, total, reason, named))


def _language_in(text: str) -> str:
    """The prose of a text; of one that is nothing but code, what stands in it."""
    said = prose(text)
    return said if any(map(str.isalpha, said)) else prose(text.replace("`", " ").replace("~~~", " "))


def _metrics(share: float, total: int, reason: str, named: str) -> dict[str, MetricResult]:
    mostly = share > 0.5
    return {
        "words": MetricResult(total, success=total > 0, reason=reason),
        "language": MetricResult(
            float(mostly), success=mostly, reason=f"{'mostly' if mostly else 'not mostly'} {named}"
        ),
    }


def _of_prompt(prompt: str) -> str | None:
    ranking = detect(" ".join(chunk.text for chunk in _chunks(prose(ends(prompt)))))
    return ranking[0][0] if ranking else None


# Cutting the text into chunks.


def _chunks(text: str) -> Iterator[_Chunk]:
    """The text in chunks, no more of them than can be detected in good time."""
    found = [chunk for sentence in _SENTENCE_END.split(text) for chunk in _of_sentence(sentence)]
    size = math.ceil(len(found) / _CHUNKS)
    if size <= 1:
        yield from found
        return
    by_script: dict[str, list[_Chunk]] = {}
    for chunk in found:
        by_script.setdefault(chunk.script + " name" * chunk.is_name, []).append(chunk)
    for chunks in by_script.values():
        for at in range(0, len(chunks), size):
            yield _joined(chunks[at : at + size])


def _joined(chunks: Sequence[_Chunk]) -> _Chunk:
    # What is said again is no further evidence.
    text = " ".join(dict.fromkeys(chunk.text for chunk in chunks))
    words = sum(chunk.words for chunk in chunks)
    return _Chunk(chunks[0].script, text, words, all(chunk.is_name for chunk in chunks))


def _of_sentence(sentence: str) -> Iterator[_Chunk]:
    words = _words(sentence)
    capitals = [next(filter(str.isalpha, word)).isupper() for word, _ in words]
    # Where most words are capitalised, as in a title, capitals tell nothing.
    names = [capital and i > 0 for i, capital in enumerate(capitals)]
    keeps_names = 2 * sum(names) > len(words)
    kept = [(w, s, c) for (w, s), c, n in zip(words, capitals, names, strict=True) if keeps_names or not n]
    start = 0
    for end in range(1, len(kept) + 1):
        if end == len(kept) or kept[end][1] != kept[start][1]:
            yield from _cut(kept[start][1], kept[start:end])
            start = end


def _words(sentence: str) -> list[tuple[str, str]]:
    """The words of a sentence with their scripts, without what is not a word of any language."""
    words = []
    for run in runs(sentence):
        letter = next(filter(str.isalpha, run), "")
        if not letter:
            continue
        if not is_unspaced(run) and (len(run) > _LONGEST_WORD or _NOT_A_WORD.search(run)):
            continue
        script = script_of(letter)
        word = run.strip("\"'“”„«»‚‘’()[]*_#.,!?;:…–—-")
        # A single letter is a name for a number more often than a word.
        if len(word) > 1 or script not in ("LATIN", "GREEK", "MATHEMATICAL"):
            words.append((run, script))
    return words


def _cut(script: str, words: Sequence[tuple[str, str, bool]]) -> Iterator[_Chunk]:
    """A row of words of one script in chunks of about the same size."""
    if script in ("CJK", "THAI", "LAO", "KHMER", "MYANMAR"):
        text = "".join(word for word, _, _ in words)
        pieces = math.ceil(len(text) / _CHARACTERS_A_WORD / _CHUNK / 2)
        step = math.ceil(len(text) / pieces)
        for at in range(0, len(text), step):
            piece = text[at : at + step]
            yield _Chunk(script, piece, math.ceil(len(piece) / _CHARACTERS_A_WORD), False)
        return
    step = math.ceil(len(words) / math.ceil(len(words) / _CHUNK))
    for at in range(0, len(words), step):
        part = words[at : at + step]
        text = " ".join(word for word, _, _ in part)
        yield _Chunk(script, text, len(part), all(capital for _, _, capital in part))


# Telling the language of each.


def _counted(chunks: Iterator[_Chunk], code: str) -> Counter[str] | None:
    """How many words are in each language; those in the target under its own code.

    None where all there is are a few words that could be of many languages.
    """
    wanted, scripts = alike(code), _scripts(code)
    counts: Counter[str] = Counter({code: 0})
    unsure: list[_Chunk] = []
    for chunk in chunks:
        if chunk.script not in scripts:
            # Names and abbreviations keep their script in every language.
            if not (chunk.is_name and chunk.words <= _SHORT and chunk.script == "LATIN"):
                counts[_foreign(chunk)] += chunk.words
        elif (detected := _detected(chunk, wanted)) is not None:
            counts[code if detected in wanted else detected] += chunk.words
        else:
            unsure.append(chunk)
    if not unsure:
        return counts
    together = _joined(unsure)
    ranking = detect(together.text)
    first, confidence = ranking[0]
    own = confidence_in(wanted, ranking)
    if first in wanted or own >= _LIKELY or 2 * own >= confidence:
        counts[code] += together.words
    elif confidence >= _CONFIDENT or (not counts.total() and together.words >= _SHORT):
        counts[first] += together.words
    elif not counts.total():
        return None
    return counts


def _scripts(code: str) -> set[str]:
    """The scripts that a language is written in."""
    scripts = {script for script, codes in _WRITTEN_IN.items() if code in codes.split()}
    return scripts | {"LATIN"} if not scripts or code in _ALSO_LATIN else scripts


def _detected(chunk: _Chunk, wanted: frozenset[str]) -> str | None:
    """The language of one chunk; None where it cannot be detected by itself."""
    ranking = detect(chunk.text)
    first = ranking[0][0]
    return first if first in wanted or (chunk.words >= _SHORT and _is_sure(ranking, wanted)) else None


def _is_sure(ranking: list[tuple[str, float]], wanted: frozenset[str]) -> bool:
    """Whether another language is detected, and the wanted one ruled out."""
    confidence = ranking[0][1]
    return confidence >= _CONFIDENT and confidence_in(wanted, ranking) * _RULED_OUT < confidence


def _foreign(chunk: _Chunk) -> str:
    """What to call a chunk in a script that the target is not written in."""
    ranking = detect(chunk.text)
    return ranking[0][0] if ranking[0][1] >= _CONFIDENT else f"{chunk.script.capitalize()} script"
