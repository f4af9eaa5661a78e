"""What of a response is language: without code, formulas, tags, addresses and numbers."""

from __future__ import annotations

import re

from guerdon.rewards.common.words import UNSPACED

PARTS = ("response", "thinking", "answer")

# Each pattern stops at its own next opening, so that a row of them that are never closed is read once.
_CODE = re.compile(r"```.*?(?:```|\Z)|~~~.*?(?:~~~|\Z)|`[^`\n]+`", re.DOTALL)
_COMMENT = re.compile(r"<!--.*?(?:-->|\Z)", re.DOTALL)
_TAG = re.compile(r"</?[A-Za-z!][^<>\n]{0,300}>")
_FORMULA = re.compile(
    r"\$\$[^$]*\$\$|\$[^$\n]+\$"
    r"|\\\((?:(?!\\\().)*?\\\)|\\\[(?:(?!\\\[).)*?\\\]"
    r"|\\begin\{[A-Za-z]+\*?\}(?:(?!\\begin).)*?\\end\{[A-Za-z]+\*?\}",
    re.DOTALL,
)
_COMMAND = re.compile(r"\\[A-Za-z]+")
# Four words in a row, or as much without spaces: nobody writes that in a formula.
_SENTENCE = re.compile(rf"(?<!\\)(?<![^\W\d_])(?:[^\W\d_]{{2,}}+,?\s++){{3}}[^\W\d_]{{2,}}|[{UNSPACED}]{{6}}")


def part_of(text: str, part: str) -> str:
    """The thinking or the answer of a response, or all of it.

    The thinking ends at the last ``</think>`` and the answer begins there; where there is none, all is the answer,
    unless a ``<think>`` was opened and never closed.

    >>> part_of("<think>Hm, six.</think>It is 6.", "thinking"), part_of("It is 6.", "answer")
    ('Hm, six.', 'It is 6.')
    """
    if part == "response":
        return text
    before, closed, after = text.rpartition("</think>")
    if not closed:
        after, _, before = text.partition("<think>")
    return before.replace("<think>", " ").strip() if part == "thinking" else after


def without_code(text: str) -> str:
    """The text without fenced blocks, code in a line and comments.

    >>> without_code("Call `f(x)` now.")
    'Call   now.'
    """
    return _COMMENT.sub(" ", _CODE.sub(" ", text))


def prose(text: str) -> str:
    r"""The text without what has no language, which is a space in its place.

    >>> prose(r"Also ist $x = 3$, wie `f(x)` sagt: \boxed{3}").split()
    ['Also', 'ist', ',', 'wie', 'sagt:', '{3}']
    """
    return _COMMAND.sub(" ", _TAG.sub(" ", _FORMULA.sub(_of_formula, without_code(text))))


def _of_formula(match: re.Match[str]) -> str:
    return match[0] if _SENTENCE.search(match[0]) else " "
