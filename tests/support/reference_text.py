"""Cuts the code out of the reference documents and brings it back into a shape that runs.

The documents are read where they lie when the tests run. Two of them have lost the indentation of their
code, one also its line breaks: what is lost is rebuilt here from the grammar.
"""

from __future__ import annotations

import ast
import io
import re
import textwrap
import tokenize
from dataclasses import dataclass, replace
from pathlib import Path
from types import ModuleType

from guerdon.reward.loading.modules import load_file

PACKAGES = ("reward_kit", "adaptive_sdk.external", "agent_tunix.rewards")


def translated(source: str) -> str:
    """The source with nothing changed but the package's name."""
    return re.sub(r"\b(" + "|".join(map(re.escape, PACKAGES)) + r")\b", "guerdon", source)


def fenced(text: str) -> list[str]:
    """The Python blocks of a Markdown document, in order."""
    return re.findall(r"^```python\n(.*?)^```", text, re.MULTILINE | re.DOTALL)


def between(text: str, start: str, end: str) -> str:
    """The lines from the first that starts with ``start`` to the next one that starts with ``end``."""
    lines = text.splitlines()
    first = next(i for i, line in enumerate(lines) if line.startswith(start))
    last = next(i for i, line in enumerate(lines) if i > first and line.startswith(end))
    return "\n".join(lines[first:last]) + "\n"


def loaded(folder: Path, name: str, source: str) -> ModuleType:
    """The source as a file in ``folder`` and as the module made of it."""
    file = folder / f"{name}.py"
    file.write_text(source, encoding="utf-8")
    return load_file(file)


# Statements, from lines without indentation or from a single line.

OPENERS = ["def", "class", "if", "elif", "else", "for", "while", "try", "except", "finally", "with", "async"]
CONTINUING = {
    "elif": {"if", "elif"},
    "else": {"if", "elif", "for", "while", "except"},
    "except": {"try", "except"},
    "finally": {"try", "except", "else"},
}
ENDING = {"return", "raise", "pass", "break", "continue"}
START = re.compile(
    r"""(?:return|if|elif|else|for|while|try|except|finally|def|class|import|from|raise|assert|async|with)\b
    | [A-Za-z_][\w.]*(?:\s(?:[-+*/]?=)\s | \() | \#.*| \"{3} | \Z""",
    re.VERBOSE | re.DOTALL,
)


def keyword(statement: str) -> str:
    match = re.match(r"@|[a-z]+", statement)
    word = match[0] if match else ""
    return "def" if word == "async" else word


def is_opener(statement: str) -> bool:
    return keyword(statement) in OPENERS and statement.rstrip().endswith(":")


def parses(statement: str) -> bool:
    """Whether this is one whole statement, or the whole head of one with a body."""
    before = {
        "elif": "if x: pass\n",
        "else": "if x: pass\n",
        "except": "try: pass\n",
        "finally": "try: pass\n",
    }
    word = keyword(statement)
    body = " pass" if is_opener(statement) else ""
    after = "\nfinally: pass" if word == "try" else ""
    if (word in OPENERS and not body) or statement in ("return", "raise"):
        return False
    try:
        tree = ast.parse(before.get(word, "") + statement + body + after)
    except (SyntaxError, ValueError):
        return False
    return len(tree.body) == 1


def of_lines(source: str) -> list[str]:
    """The statements of a source whose lines have lost their indentation; comments are dropped."""
    statements, pending = [], ""
    for line in source.splitlines():
        pending += line.strip() + "\n"
        try:
            tokens = list(tokenize.generate_tokens(io.StringIO(pending).readline))
        except tokenize.TokenError:
            continue
        code = [t for t in tokens if t.type not in (tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE)]
        if any(t.string for t in code):
            last = tokens[-3] if len(tokens) > 2 else tokens[0]
            is_head = "#" in pending and "\n" not in pending.strip() and last.type == tokenize.COMMENT
            statements.append(pending[: last.start[1]].strip() if is_head else pending.strip())
        pending = ""
    if pending.strip():
        raise ValueError(f"the last statement has no end: {pending[:80]}")
    return statements


def of_one_line(source: str) -> list[str]:
    """The statements of a source that has become a single line; comments are dropped.

    Neither a comment nor a statement says where it ends, so the ends are searched: the first that leaves
    something which can be taken apart to the end.
    """
    text = " ".join(source.split())
    ends = [m.start() for m in re.finditer(" |$", text) if START.match(text, m.start() + 1)]
    hopeless: set[int] = set()

    def rest(at: int) -> list[str] | None:
        if at >= len(text):
            return []
        if at in hopeless:
            return None
        for end in (e for e in ends if e > at):
            piece = text[at:end]
            if piece.startswith("#"):
                found = rest(end + 1)
                if found is not None:
                    return found
            elif parses(piece) and (found := rest(end + 1)) is not None:
                return [piece, *found]
        hopeless.add(at)
        return None

    found = rest(0)
    if found is None:
        raise ValueError(f"no statements can be told in: {text[:80]}")
    return found


# Indentation, from statements.


@dataclass(frozen=True)
class Block:
    kind: str
    size: int = 0
    ended: bool = False


def indented(statements: list[str]) -> str:
    """The statements with the indentation that they must have had.

    A body that nothing ends goes on, but for one under an ``if``: that is taken to be one statement long
    unless what follows could not be read then.
    """
    found = _placed(statements, 0, ())
    if found is None:
        raise ValueError(f"no indentation fits: {statements[0][:80]}")
    lines = [
        textwrap.indent(statement, "    " * level, lambda line: True)
        if '"""' not in statement
        else "    " * level + statement
        for statement, level in zip(statements, found, strict=True)
    ]
    source = "\n".join(lines) + "\n"
    compile(source, "<reference>", "exec")
    return source


def _placed(statements: list[str], i: int, stack: tuple[Block, ...]) -> list[int] | None:
    if i == len(statements):
        return None if stack and not stack[-1].size else []
    statement = statements[i]
    word = keyword(statement)
    for level in _levels(statement, stack):
        if word == "return" and not any(block.kind == "def" for block in stack[:level]):
            continue
        outer = stack[:level]
        if outer:
            grown = replace(outer[-1], size=outer[-1].size + 1, ended=word in ENDING)
            outer = (*outer[:-1], grown)
        inner = (*outer, Block(word)) if is_opener(statement) else outer
        found = _placed(statements, i + 1, inner)
        if found is not None:
            return [level, *found]
    return None


def _levels(statement: str, stack: tuple[Block, ...]) -> list[int]:
    """The levels on which a statement may stand, the likeliest first."""
    depth, word = len(stack), keyword(statement)
    if stack and not stack[-1].size:
        return [depth]
    if word in CONTINUING and is_opener(statement):
        return [at for at in range(depth - 1, -1, -1) if stack[at].kind in CONTINUING[word]]
    if word in ("def", "class", "@"):
        inside = [at + 1 for at, block in enumerate(stack) if block.kind == "class"]
        return inside[-1:] if "(self" in statement else [0]
    if statement.startswith("if __name__"):
        return [0]
    possible = [at for at in range(depth, -1, -1) if at == 0 or not stack[at - 1].ended]
    short = [at for at in possible if at and stack[at - 1].kind in ("if", "elif", "else")]
    return [at for at in possible if at not in short] + short
