"""The program in a completion: fenced blocks, language tags, continuations of a prompt's code."""

from __future__ import annotations

import ast
import re
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass

from guerdon.rewards.code.python import Broken, closed, compiles, continued, defines, parsed

BLOCKS = ("last", "first", "longest", "all")

_TAGS = {
    "python": ("python", "py", "python3", "py3", "python2", "ipython", "sage", "pycon", "doctest"),
    "javascript": ("javascript", "js", "node", "nodejs", "mjs", "cjs", "ecmascript"),
    "c": ("c", "c99", "c11", "gnu-c"),
    "cpp": ("cpp", "c++", "cxx", "cc", "c++17", "c++20", "cpp17", "cpp20", "hpp"),
    "rust": ("rust", "rs"),
    "go": ("go", "golang"),
    "java": ("java",),
    "bash": ("bash", "sh", "shell", "zsh"),
}
_LANGUAGE_OF = {tag: language for language, tags in _TAGS.items() for tag in tags}
_NO_PROGRAM = frozenset(
    {
        *(
            "text",
            "txt",
            "plaintext",
            "plain",
            "output",
            "stdout",
            "stdin",
            "input",
            "console",
            "log",
            "json",
        ),
        *(
            "yaml",
            "toml",
            "xml",
            "html",
            "css",
            "markdown",
            "md",
            "latex",
            "tex",
            "math",
            "diff",
            "csv",
            "sql",
        ),
        *(
            "typescript",
            "ts",
            "ruby",
            "rb",
            "php",
            "kotlin",
            "swift",
            "csharp",
            "cs",
            "c#",
            "scala",
            "haskell",
        ),
    }
)
"""Tags of blocks that are not a program in a supported language."""

_LOOKS_LIKE = {
    "javascript": r"^[ \t]*(?:function\s*+\w*+\s*+\(|(?:const|let|var)\s+[\w{\[]|console\.log\(|process\.std)",
    "c": r"^[ \t]*#\s*include\b|\bint\s+main\s*\(",
    "cpp": r"^[ \t]*#\s*include\b|\bint\s+main\s*\(",
    "rust": r"^[ \t]*(?:pub\s+)?fn\s+\w+|^[ \t]*use\s+std::",
    "go": r"^[ \t]*package\s+\w+",
    "java": r"^[ \t]*(?:public\s+)?(?:final\s+)?class\s+\w+",
    "bash": r"\A\s*#!.*sh\b",
}

# No two parts of a pattern that may follow each other match the same characters: a completion may consist of
# spaces, or of empty lines, for which the time would grow with the square of their number.
_OPENING = re.compile(
    r"^(?P<indent>[ \t>]*(?:(?:[-*+]|\d{1,9}[.)])[ \t]*)?)(?P<fence>`{3,}|~{3,})(?P<info>.*)$"
)
_CLOSING = re.compile(r"^[ \t>]*(?P<fence>`{3,}|~{3,})[ \t]*$")
_THOUGHT = r"(?:think|thinking|thought|reasoning|scratchpad)"
_THOUGHT_ENDS = re.compile(rf"</{_THOUGHT}>", re.IGNORECASE)
_THOUGHT_STARTS = re.compile(rf"<{_THOUGHT}>", re.IGNORECASE)
_TRIES = 8
"""How many fences a block of Python may run over until it compiles."""


@dataclass(frozen=True, slots=True)
class Block:
    """A fenced block of a completion."""

    tag: str
    """The language that it is marked with, in small letters; ``""`` for none."""
    text: str
    is_closed: bool = True

    @property
    def language(self) -> str | None:
        """The language of the tag; ``""`` where it says nothing, None where it is not supported."""
        if self.tag in _NO_PROGRAM:
            return None
        return _LANGUAGE_OF.get(self.tag, "")


@dataclass(frozen=True, slots=True)
class Extraction:
    """The program that was found in a completion, or why there is none."""

    program: str | None
    how: str
    """Where it was found, or why nothing was."""


def language_named(name: str) -> str | None:
    """The name of a supported language, from what people call it; None for one that is not known.

    >>> language_named("C++"), language_named("Python 3")
    ('cpp', 'python')
    """
    return _LANGUAGE_OF.get("".join(name.lower().split()))


def extract(
    completion: str,
    language: str = "python",
    *,
    block: str = "last",
    entry_point: str | None = None,
    stub: str = "",
) -> Extraction:
    """The program in a completion.

    What a model thought before it answered is left out, and where there is an ``<answer>`` only that is
    looked at. Of the fenced blocks those count that are marked with the language, else those that are not
    marked; ``block`` picks among them. ``"last"`` is the last one that defines ``entry_point``, where one
    does. Without fences the whole text is the program if it is one. ``stub`` is code that a completion may
    go on with.

    >>> extract("So:\\n```python\\nprint(1)\\n```\\nIt prints 1.").program
    'print(1)\\n'
    """
    said = answered(completion.replace("\r\n", "\n").replace("\r", "\n"))
    found = blocks(said, language)
    if found and found[0].tag == "":
        # A prompt may end with an opening fence; then the first fence of the completion closes it.
        head = _before_fences(said)
        before = _unfenced(head, language, entry_point, stub) if head.strip() else None
        if before is not None and before.program is not None and language == "python":
            return before
    if not found:
        return _unfenced(said, language, entry_point, stub)
    chosen = _chosen(found, language)
    if not chosen:
        tags = ", ".join(sorted({one.tag for one in found}))
        return Extraction(None, f"no block of {language}, only of {tags}")
    text, how = _picked([one for one in chosen if one.text.strip()], block, entry_point, language)
    if not text:
        return Extraction(None, "the block is empty")
    whole = _continuation(text, language, entry_point, stub)
    if whole is not None:
        return Extraction(whole, f"{how}, continuing the prompt's code")
    return Extraction(text, how)


def _continuation(text: str, language: str, name: str | None, stub: str) -> str | None:
    """The prompt's code with the text as the rest of its function; None where the text is no such thing."""
    if language != "python" or not stub or not name:
        return None
    tree = parsed(text)
    apart = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
    if isinstance(tree, ast.Module) and (defines(text, name) or any(isinstance(n, apart) for n in tree.body)):
        return None
    return continued(stub, text, name)


def stub_in(prompt: str) -> str:
    """The Python code in a prompt that a completion may go on with: the prompt, or its last block of code.

    >>> stub_in("Complete this:\\n```python\\ndef double(x):\\n```")
    'def double(x):\\n'
    >>> stub_in("What is 2 + 2?")
    ''
    """
    if not re.search(r"^[ \t]*(?:async |def |class |import |from )", prompt, re.MULTILINE):
        return ""
    prompt = prompt.replace("\r\n", "\n")
    if closed(prompt) is not None:
        return prompt
    found = [one.text for one in blocks(prompt) if one.language in ("python", "")]
    return next((text for text in reversed(found) if closed(text) is not None), "")


def answered(text: str) -> str:
    """What a completion says after it has thought; of that, what stands in ``<answer>``, if anything does.

    >>> answered("<think>maybe 5</think><answer>4</answer>")
    '4'
    """
    ends = list(_THOUGHT_ENDS.finditer(text))
    if ends:
        text = text[ends[-1].end() :]
    close = text.rfind("</answer>")
    start = text.rfind("<answer>", 0, close if close >= 0 else len(text))
    if start < 0:
        return text
    return text[start + len("<answer>") : close if close > start else len(text)]


def blocks(text: str, language: str = "python") -> list[Block]:
    """The fenced blocks of a text, outside of what is thought and never ended.

    A block of Python goes on over fences in its own strings: where it does not compile up to the first
    closing fence, but up to a later one, that is its end.
    """
    lines = text.split("\n")
    found: list[Block] = []
    i = 0
    while i < len(lines):
        opening = _OPENING.match(lines[i])
        if opening is None or (opening["fence"][0] == "`" and "`" in opening["info"]):
            if _THOUGHT_STARTS.search(lines[i]):
                break
            i += 1
            continue
        tag = _tag(opening["info"])
        end = _end(lines, i + 1, opening["fence"], tag, language)
        body = lines[i + 1 : end]
        if end == len(lines) and body and body[-1].rstrip().endswith(opening["fence"]):
            body[-1] = body[-1].rstrip()[: -len(opening["fence"])]
        found.append(Block(tag, _tidy(body, len(opening["indent"])), is_closed=end < len(lines)))
        i = end + 1
    return found


def _before_fences(text: str) -> str:
    lines = text.split("\n")
    return "\n".join(lines[: next(i for i, line in enumerate(lines) if _OPENING.match(line))])


def _tag(info: str) -> str:
    first = re.match(r"[\s{.]*([\w+#-]*)", info)
    return first[1].lower() if first else ""


def _end(lines: Sequence[str], start: int, fence: str, tag: str, language: str) -> int:
    """The line that closes a block; behind the last line where none does."""
    ends: list[int] = []
    for i in range(start, len(lines)):
        closing = _CLOSING.match(lines[i])
        if closing and closing["fence"][0] == fence[0] and len(closing["fence"]) >= len(fence):
            ends.append(i)
            if len(ends) == _TRIES:
                break
    if not ends:
        return len(lines)
    is_python = language == "python" and _LANGUAGE_OF.get(tag, "python") == "python"
    if is_python and len(ends) > 1 and not compiles(_tidy(lines[start : ends[0]], 0)):
        for end in ends[1:]:
            if compiles(_tidy(lines[start:end], 0)):
                return end
    return ends[0]


def _tidy(lines: Sequence[str], indent: int) -> str:
    """The lines of a block without the indentation of its fence and without the prompts of a session."""
    kept = [line[min(indent, len(line) - len(line.lstrip(" \t>"))) :] for line in lines] if indent else lines
    text = "\n".join(kept)
    if text and not text.strip():
        return ""
    if re.match(r"\s*>>>(?: |$)", text):
        text = _typed(text)
    dedented = textwrap.dedent(text)
    # A block that is indented as a whole is a function's body, unless it stands by itself.
    return (dedented if dedented != text and compiles(dedented) else text) + ("\n" if text else "")


def _typed(text: str) -> str:
    """What was typed in an interactive session."""
    typed = (re.match(r"\s*(?:>>>|\.\.\.)(?: (.*))?$", line) for line in text.split("\n"))
    return "\n".join(line[1] or "" for line in typed if line)


def _chosen(found: Sequence[Block], language: str) -> list[Block]:
    marked = [one for one in found if one.language == language]
    return marked or [one for one in found if one.language == ""]


def _picked(found: Sequence[Block], block: str, name: str | None, language: str) -> tuple[str, str]:
    """The text that ``block`` asks for, and where it was."""
    if not found:
        return "", ""
    if block == "all":
        return "\n".join(one.text for one in found), f"all {len(found)} blocks"
    if block == "first":
        at = 0
    elif block == "longest":
        at = max(range(len(found)), key=lambda i: len(found[i].text))
    else:
        at = len(found) - 1
        if name and language == "python" and len(found) > 1:
            at = next((i for i in reversed(range(len(found))) if defines(found[i].text, name)), at)
    end = "" if found[at].is_closed else ", which is never closed"
    return found[at].text, f"block {at + 1} of {len(found)}{end}"


def _unfenced(text: str, language: str, name: str | None, stub: str) -> Extraction:
    """The program in a completion without fences."""
    thought = _THOUGHT_STARTS.search(text)
    if thought is not None and not compiles(text):
        text = text[: thought.start()]
    if not text.strip():
        return Extraction(None, "there is nothing after what was thought" if thought else "it is empty")
    if language != "python":
        looks = re.search(_LOOKS_LIKE.get(language, r"\A\b"), text, re.MULTILINE)
        return Extraction(text, "the whole text") if looks else Extraction(None, "no fenced block")
    plain = _typed(text) if text.lstrip().startswith(">>> ") else text
    program = None
    for way in (plain, textwrap.dedent(plain.strip("\n"))):
        tree = parsed(way)
        if isinstance(tree, ast.Module) and _does_something(tree):
            if not stub or not name or defines(way, name):
                return Extraction(way, "the whole text")
            program = program or way
    if (whole := _continuation(text, language, name, stub)) is not None:
        return Extraction(whole, "the whole text, continuing the prompt's code")
    if program is not None:
        return Extraction(program, "the whole text")
    why = parsed(plain)
    return Extraction(None, f"no fenced block, and the text is not a program{_because(why)}")


def _because(why: ast.Module | Broken) -> str:
    return f": {why}" if isinstance(why, Broken) else ""


def _does_something(tree: ast.Module) -> bool:
    """Whether a program is more than an answer that happens to be Python, as ``42`` or ``Sorry`` are."""
    idle = (ast.Constant, ast.Name, ast.Compare, ast.BinOp, ast.UnaryOp, ast.Tuple, ast.List, ast.Attribute)
    return any(not isinstance(node, ast.Expr) or not isinstance(node.value, idle) for node in tree.body)
