"""Forms of a gold answer that mean the same."""

from __future__ import annotations

import re
from collections.abc import Iterator

from guerdon.accuracy.suites._gold_answers import GoldAnswer, gold_of, number_of
from guerdon.accuracy.suites._rewrites import Rewrite, box, chosen, near_miss

# A fraction behind a digit is the part of a mixed number.
_SIMPLE = re.compile(r"(?<![\d ])\\frac\{(\d+)\}\{(\d+)\}")
_ROOT = re.compile(r"\\sqrt\s*(?:\{(\d+)\}|(\d))")
_FULLWIDTH = str.maketrans("0123456789", "０１２３４５６７８９")
_LOWERED = str.maketrans("0123456789", "₀₁₂₃₄₅₆₇₈₉")


def keeping(text: str, turn: int = 0) -> list[Rewrite]:
    """At least 12 responses with the gold answer ``text`` in other forms, all of them right.

    >>> [rewrite.kind for rewrite in keeping("42")][:3]
    ['with a decimal point', 'as a fraction', 'as a quotient']
    """
    gold = gold_of(text)
    return chosen(
        (Rewrite(kind, box(form)) for kind, form in forms(gold) if form != text), around(gold), turn
    )


def forms(gold: GoldAnswer) -> Iterator[tuple[str, str]]:
    """Names and texts of the forms that apply to this gold; some may be as the gold is."""
    if gold.is_number:
        yield from _numbers(gold)
    elif gold.words:
        yield from _words(gold)
    else:
        yield from _latex(gold)
        yield from _structures(gold)
    yield from _spellings(gold)


def _numbers(gold: GoldAnswer) -> Iterator[tuple[str, str]]:
    value = gold.number
    assert value is not None
    over, under = value.numerator, value.denominator
    sign = "-" if value < 0 else ""
    if under == 1:
        yield "with a decimal point", f"{over}.0"
        yield "as a fraction", rf"\frac{{{2 * over}}}{{2}}"
        yield "as a quotient", f"{3 * over}/3"
        if abs(over) >= 1000:
            yield "with commas", f"{over:,}"
            yield "with LaTeX commas", f"{over:,}".replace(",", "{,}")
            yield "with thin spaces", f"{over:,}".replace(",", r"\,")
            yield "without commas", str(over)
        digits = str(abs(over))
        if len(digits) > 1 and over:
            yield "in scientific notation", rf"{sign}{digits[0]}.{digits[1:]} \times 10^{{{len(digits) - 1}}}"
            yield "with an e", f"{sign}{digits[0]}.{digits[1:]}e{len(digits) - 1}"
        return
    for command in ("dfrac", "tfrac", "cfrac"):
        yield command, rf"{sign}\{command}{{{abs(over)}}}{{{under}}}"
    yield "as a quotient", f"{over}/{under}"
    yield "not reduced", rf"{sign}\frac{{{2 * abs(over)}}}{{{2 * under}}}"
    if over < 0:
        yield "the sign above", rf"\frac{{{over}}}{{{under}}}"
    if abs(over) > under:
        yield "as a mixed number", rf"{sign}{abs(over) // under}\frac{{{abs(over) % under}}}{{{under}}}"
    if 10**6 % under == 0:
        shifted = f"{abs(over) * 10**6 // under:07d}"
        decimal = f"{shifted[:-6]}.{shifted[-6:].rstrip('0')}"
        yield "as a decimal", sign + decimal
        yield "with a nought more", f"{sign}{decimal}0"


def _words(gold: GoldAnswer) -> Iterator[tuple[str, str]]:
    for command in ("text", "textbf", "mathrm", "mbox"):
        yield f"in {command}", rf"\{command}{{{gold.words}}}"
    yield "bare", gold.words
    if len(gold.words) > 3 and gold.words.isalpha() and not gold.words.isupper():
        yield "in upper case", rf"\text{{{gold.words.upper()}}}"
        yield "with a capital letter", rf"\text{{{gold.words.capitalize()}}}"


def _latex(gold: GoldAnswer) -> Iterator[tuple[str, str]]:
    text = gold.text
    plain = re.sub(r"\\left|\\right(?!arrow)", "", text)
    yield "dfrac", re.sub(r"\\[dt]?frac(?![A-Za-z])", r"\\dfrac", text)
    yield "tfrac", re.sub(r"\\[dt]?frac(?![A-Za-z])", r"\\tfrac", text)
    yield "fractions as quotients", _SIMPLE.sub(r"(\1/\2)", text)
    yield "brackets without left and right", plain
    if "(" in plain and "_" not in plain and "f(" not in plain:
        # A half-open interval pairs unlike brackets, which \left and \right allow.
        yield (
            "brackets with left and right",
            re.sub(r"([)\]])", r"\\right\1", re.sub(r"([(\[])", r"\\left\1", plain)),
        )
    yield "roots in braces", re.sub(r"\\sqrt\s*(\d)", r"\\sqrt{\1}", text)
    yield "roots without braces", re.sub(r"\\sqrt\{(\d)\}", r"\\sqrt\1", text)
    yield "degrees in braces", text.replace(r"^\circ", r"^{\circ}")
    yield "degree signs", re.sub(r"\s*\^\{?\\circ\}?", "°", text)
    yield "commas of LaTeX", text.replace(r",\!", "{,}")
    yield "without thousands separators", text.replace(r",\!", "").replace("{,}", "")
    yield "another matrix environment", text.replace("pmatrix", "bmatrix")
    yield "another command for text", re.sub(r"\\(?:text|mbox)\{", r"\\mathrm{", text)
    if re.fullmatch(r"\\\$\s?[\d.,\\!]+", text):
        amount = re.sub(r"[^\d.]", "", text)
        yield "without the currency", amount
        yield "dollars after it", rf"{amount} \text{{ dollars}}"
    if gold.bare != gold.text and len(gold.parts) == 1:
        yield "without the unit", gold.bare
        yield "white space before the unit", f"{gold.bare} {gold.text[len(gold.bare) :].strip()}"


def _structures(gold: GoldAnswer) -> Iterator[tuple[str, str]]:
    text = gold.text
    if gold.is_list:
        parts = list(gold.parts)
        yield "in another order", ", ".join(reversed(parts))
        yield "turned round", ", ".join([*parts[1:], parts[0]])
        yield "as a set", rf"\{{{', '.join(parts)}\}}"
        yield "with and", rf"{', '.join(parts[:-1])} \text{{ and }} {parts[-1]}"
        yield "a name for each", ", ".join(f"x={part}" for part in parts)
        yield "with or", r" \text{ or } ".join(f"x={part}" for part in parts)
    if gold.is_tuple or gold.is_interval:
        inside = ", ".join(_decimal(part) for part in gold.parts)
        yield "decimals inside", f"{gold.opening}{inside}{gold.closing}"
        yield "wider", f"{gold.opening} {' , '.join(gold.parts)} {gold.closing}"
        yield "narrower", f"{gold.opening}{','.join(gold.parts)}{gold.closing}"
    if gold.is_union:
        yield "the union turned round", r" \cup ".join(reversed(re.split(r"\s*\\cup\s*", text)))
        yield "plus infinity", re.sub(r"(?<!-)\\infty", r"+\\infty", text)
    if gold.is_expression:
        yield from _sums(text)
        yield "a name for it", f"{'y' if 'y' not in text else 'w'} = {text}"
        yield "a dot after the coefficient", re.sub(r"(\d)\s*(\\sqrt|\\pi)", r"\1 \\cdot \2", text)
        yield (
            "a root over a number",
            re.sub(r"\\[dt]?frac\{(\\sqrt(?:\{\d+\}|\d))\}\{(\d+)\}", r"\\frac{1}{\2}\1", text),
        )
        yield "powers in place of roots", _ROOT.sub(r"{\1\2}^{1/2}", text)
    if found := re.fullmatch(r"([a-zA-Z])\s*=\s*([^=]+)", text):
        if found[1] not in "y":
            yield "without the name", found[2]
        yield "the sides exchanged", f"{found[2]} = {found[1]}"
    if found := re.fullmatch(r"(\w+)_\{?(\d+)\}?", text):
        yield "the base in braces", f"{found[1]}_{{{found[2]}}}"
        yield "the base as text", rf"{found[1]}_{{\text{{{found[2]}}}}}"
        yield "the base lowered", found[1] + found[2].translate(_LOWERED)
    if found := re.fullmatch(r"(\d+):(\d+)", text):
        yield "the ratio wider", f"{found[1]} : {found[2]}"


def _sums(text: str) -> Iterator[tuple[str, str]]:
    """The terms of a sum in other orders."""
    terms = _terms(text)
    if len(terms) > 1:
        for name, order in (
            ("the sum turned round", terms[::-1]),
            ("the sum from its second term", terms[1:] + terms[:1]),
        ):
            yield name, " ".join(order).removeprefix("+").strip()


def _terms(text: str) -> list[str]:
    """The terms of a sum, each with its sign."""
    found, depth, start = [], 0, 0
    for at, character in enumerate(text):
        depth += (character in "([{") - (character in ")]}")
        if character in "+-" and depth == 0 and text[start:at].strip():
            found.append(text[start:at].strip())
            start = at
    found.append(text[start:].strip())
    return [term if term[0] in "+-" else f"+ {term}" for term in found]


def _decimal(part: str) -> str:
    value = number_of(part)
    if value is None or 1000 % value.denominator:
        return part
    return f"{float(value):g}" if value.denominator > 1 else part


def _spellings(gold: GoldAnswer) -> Iterator[tuple[str, str]]:
    text = gold.text
    yield "the minus of Unicode", text.replace("-", "−")
    if "\\text" not in text:
        yield "digits of full width", text.translate(_FULLWIDTH)
    yield "pi as a letter", re.sub(r"\\pi(?![A-Za-z])\s*", "π", text)
    yield "roots as signs", _ROOT.sub(r"√{\1\2}", text)
    yield "infinity as a sign", text.replace(r"\infty", "∞")
    yield "unions as signs", text.replace(r"\cup", "∪")
    yield "powers as signs", re.sub(r"\^2(?!\d)", "²", text).replace("^3", "³") if "^{" not in text else text


def around(gold: GoldAnswer) -> Iterator[Rewrite]:
    """Responses that give the gold as it is, in other places and with other things around it."""
    right, wrong = gold.text, near_miss(gold)
    inside = {
        "a full stop in the box": f"{right}.",
        "white space in the box": f"  {right} ",
        "dollar signs in the box": f"${right}$",
        "braces in the box": f"{{{right}}}",
        "a thin space in the box": rf"{right}\,",
        "display style": rf"\displaystyle {right}",
        "a space without a width": f"\u200b{right}\u200b",
        "spaces that do not break": f"\u00a0{right}\u00a0",
        "marks of direction": f"\u2066{right}\u2069",
        "a byte order mark": f"\ufeff{right}",
    }
    for kind, text in inside.items():
        yield Rewrite(kind, box(text))
    outside = {
        "a framed box": rf"Thus \fbox{{{right}}}",
        "a displayed box": f"We add them up.\n\\[\n\\boxed{{{right}}}\n\\]\n",
        "lines of Windows": f"First we add.\r\n\r\nThen:\r\n\r\n\\boxed{{{right}}}\r\n",
        "an answer tag": f"<answer>{right}</answer>",
        "an answer tag after reasoning": f"<reasoning>Is it {wrong}?</reasoning>\n<answer>\n{right}\n</answer>",
        "a sentence": f"The answer is ${right}$.",
        "the final answer": f"Everything taken together, the final answer is: ${right}$",
        "a label": f"We add them up.\n\n**Answer:** ${right}$",
        "a heading": f"We add them up.\n\n## Final Answer\n\n$${right}$$",
        "in German": f"Wir zählen zusammen. Die Antwort ist ${right}$.",
        "in Spanish": f"Sumamos todo. La respuesta final es ${right}$.",
        "in French": f"On additionne. La réponse est ${right}$.",
        "in Chinese": f"把它们加起来，答案是 ${right}$。",
        "wrong while thinking": f"<think>Perhaps \\boxed{{{wrong}}}.</think>\nIt is \\boxed{{{right}}}.",
        "corrected": f"\\boxed{{{wrong}}}\n\nNo, that is wrong, I forgot a term. \\boxed{{{right}}}",
        "a user who doubts": f"\\boxed{{{right}}}\nUser: Is it not \\boxed{{{wrong}}}?",
        "a wrong answer in a comment": f"\\boxed{{{right}}} <!-- \\boxed{{{wrong}}} -->",
        "the box announced": rf"I shall put the answer in \boxed{{}}. It is \boxed{{{right}}}.",
        "the tag announced": f"I put it in <answer> tags. <answer>{right}</answer>",
        "said twice": rf"We get \boxed{{{right}}}. So the final answer is ${right}$.",
    }
    for kind, text in outside.items():
        yield Rewrite(kind, text)
