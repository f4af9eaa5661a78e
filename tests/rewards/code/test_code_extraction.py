"""Programs in completions: fences, tags, thoughts, continuations."""

from __future__ import annotations

import ast
import time
import warnings

import pytest

from guerdon.rewards.code.extraction import blocks, extract, language_named, stub_in
from guerdon.rewards.code.python import (
    compiles,
    continued,
    missing_imports,
    parsed,
    preamble,
    with_before,
)

STUB = 'from typing import List\n\n\ndef f(x: int) -> int:\n    """Doubles.\n\n    >>> f(2)\n    4\n    """\n'

IN_STRINGS = (
    '```python\ndef f():\n    """Use it so:\n    ```\n    f()\n    ```\n    """\n    return 1\n```\nDone.'
)
IN_STRING = 'def f():\n    """Use it so:\n    ```\n    f()\n    ```\n    """\n    return 1\n'

PYTHON = [
    ("a fence with a tag", "So:\n```python\nx = 1\n```\nDone.", "x = 1\n"),
    ("py", "```py\nx = 1\n```", "x = 1\n"),
    ("Python3 in capitals", "```Python3\nx = 1\n```", "x = 1\n"),
    ("a space before the tag", "``` python\nx = 1\n```", "x = 1\n"),
    ("attributes", '```python title="a.py"\nx = 1\n```', "x = 1\n"),
    ("Pandoc's tag", "```{.python .numberLines}\nx = 1\n```", "x = 1\n"),
    ("a file name behind the tag", "```python:main.py\nx = 1\n```", "x = 1\n"),
    ("tildes", "~~~python\nx = 1\n~~~", "x = 1\n"),
    ("long fences", "`````python\nx = '```'\n`````", "x = '```'\n"),
    ("a longer closing fence", "```python\nx = 1\n`````", "x = 1\n"),
    ("no tag", "```\nx = 1\n```", "x = 1\n"),
    ("an unknown tag", "```solution\nx = 1\n```", "x = 1\n"),
    ("the last of two", "```python\nx = 1\n```\nBetter:\n```python\nx = 2\n```", "x = 2\n"),
    ("the tag before no tag", "```python\nx = 1\n```\nIt prints\n```\n5\n```", "x = 1\n"),
    ("output is not a program", "```\nx = 1\n```\n```output\n5\n```", "x = 1\n"),
    ("another language", "```cpp\nint x;\n```\n```python\nx = 1\n```\n```bash\nls\n```", "x = 1\n"),
    ("never closed", "```python\nx = 1\ny = 2", "x = 1\ny = 2\n"),
    ("closed on the last line of code", "```python\nx = 1\ny = 2```", "x = 1\ny = 2\n"),
    ("CRLF", "```python\r\nx = 1\r\ny = 2\r\n```\r\n", "x = 1\ny = 2\n"),
    ("an indented fence", "1. Write\n\n   ```python\n   if x:\n       y = 1\n   ```\n", "if x:\n    y = 1\n"),
    ("a fence in a list item", "- ```python\n  if x:\n      y = 1\n  ```\n", "if x:\n    y = 1\n"),
    ("a quoted fence", "> ```python\n> if x:\n>     y = 1\n> ```\n", "if x:\n    y = 1\n"),
    ("an indented block", "```python\n    x = 1\n    y = 2\n```", "x = 1\ny = 2\n"),
    ("a fence in a docstring", IN_STRINGS, IN_STRING),
    ("a tagged fence in a docstring", IN_STRINGS.replace("    ```\n    f", "    ```py\n    f"), None),
    ("a session", "```python\n>>> x = 1\n>>> if x:\n...     y = 2\n...\n>>> y\n2\n```",
     "x = 1\nif x:\n    y = 2\n\ny\n"),
    ("a broken program is a program", "```python\nx = (\n```", "x = (\n"),
    ("a broken block before another", "```python\nx = (\n```\nNo:\n```python\nx = 1\n```", "x = 1\n"),
    ("an empty last block", "```python\nx = 1\n```\n```python\n```", "x = 1\n"),
    ("inline code is no fence", "Use ```x``` here.\n```python\nx = 1\n```", "x = 1\n"),
    ("a thought", "<think>\n```python\nx = 1\n```\n</think>\n```python\nx = 2\n```", "x = 2\n"),
    ("a thought without its beginning", "```python\nx = 1\n```</think>\n```python\nx = 2\n```", "x = 2\n"),
    ("<reasoning>", "<reasoning>```python\nx = 1\n```</reasoning>\n```python\nx = 2\n```", "x = 2\n"),
    ("a tag in the program", "```python\nx = '<think>'\n```", "x = '<think>'\n"),
    ("an answer", "```python\nx = 1\n```\n<answer>\n```python\nx = 2\n```\n</answer> bye", "x = 2\n"),
    ("a bare answer", "So <answer>x = 2\n</answer>", "x = 2\n"),
    ("an answer never closed", "<answer>\n```python\nx = 2\n```", "x = 2\n"),
    ("a fence that the prompt opened", "x = 1\nprint(x)\n```\nIt prints 1.", "x = 1\nprint(x)"),
    ("the whole text", "import math\nprint(math.pi)\n", "import math\nprint(math.pi)\n"),
    ("the whole text, indented", "    x = 1\n    y = 2\n", "x = 1\ny = 2"),
]  # fmt: skip

NONE = [
    ("", "it is empty"),
    ("I cannot do that.", "no fenced block, and the text is not a program"),
    ("Sorry", "no fenced block, and the text is not a program"),
    ("42", "no fenced block, and the text is not a program"),
    ("x = (", "'(' was never closed"),
    ("<think>\n```python\nx = 1\n```\n</think>", "it is empty"),
    ("<think>\n```python\nx = 1\n```\nand then", "there is nothing after what was thought"),
    ("<think>\n```python\nx = 1\n```\n</think>\nIt is 5, I think.", "no fenced block"),
    ("```python\nx = 1\n```\n<answer>see above</answer>", "no fenced block"),
    ("```cpp\nint main() {}\n```", "no block of python, only of cpp"),
    ("```output\n5\n```", "no block of python, only of output"),
    ("```python\n```", "the block is empty"),
    ("```python\n   \n```", "the block is empty"),
]


@pytest.mark.parametrize(("completion", "program"), [c[1:] for c in PYTHON], ids=[c[0] for c in PYTHON])
def test_the_program_of_a_completion(completion: str, program: str | None) -> None:
    found = extract(completion)
    assert found.program == (program or IN_STRING.replace("    ```\n    f", "    ```py\n    f")), found.how


@pytest.mark.parametrize(("completion", "why"), NONE)
def test_where_there_is_no_program_it_is_said_why(completion: str, why: str) -> None:
    found = extract(completion)
    assert found.program is None
    assert why in found.how


THREE = "```python\na = 1\n```\n```python\nb = 22222\n```\n```python\nc = 3\n```"


@pytest.mark.parametrize(
    ("block", "program"),
    [
        ("last", "c = 3\n"),
        ("first", "a = 1\n"),
        ("longest", "b = 22222\n"),
        ("all", "a = 1\n\nb = 22222\n\nc = 3\n"),
    ],
)
def test_which_block(block: str, program: str) -> None:
    assert extract(THREE, block=block).program == program


def test_the_last_block_is_the_last_that_defines_the_function() -> None:
    usage = "```python\ndef f(x):\n    return x\n```\nUse it:\n```python\nprint(f(1))\n```"
    assert extract(usage, entry_point="f").program == "def f(x):\n    return x\n"
    assert extract(usage, entry_point="g").program == "print(f(1))\n"
    assert extract(usage, entry_point="f", block="first").how == "block 1 of 2"
    method = "```python\nclass Solution:\n    def f(self): pass\n```\n```python\nprint(1)\n```"
    assert extract(method, entry_point="f").how == "block 1 of 2"


BODIES = [
    ("a body", "    return 2 * x\n"),
    ("a body in a fence", "```python\n    return 2 * x\n```"),
    ("a body that lost its indentation", "return 2 * x"),
    ("a fenced body that lost its indentation", "```python\nreturn 2 * x\n```"),
    ("a first line that lost its indentation", "if True:\n        return 2 * x\n    return 0"),
    ("a body without a return", "    y = 2 * x\n    y\n"),
    ("a fence that the prompt opened", "    return 2 * x\n```\nThat is it."),
    ("more than the body", "    return 2 * x\n\n\nprint(f(2)) and so on, in prose"),
]


@pytest.mark.parametrize("body", [b[1] for b in BODIES], ids=[b[0] for b in BODIES])
def test_a_continuation_of_the_prompt(body: str) -> None:
    found = extract(body, entry_point="f", stub=STUB)
    assert found.program is not None
    assert found.program.startswith(STUB)
    assert "prose" not in found.program
    assert compiles(found.program)
    assert "continuing the prompt's code" in found.how


@pytest.mark.parametrize(
    "program",
    [
        "def f(x):\n    return 2 * x\n",
        "```python\ndef f(x):\n    return 2 * x\n```",
        "def g(x):\n    return 2\n",
    ],
)
def test_a_whole_function_continues_nothing(program: str) -> None:
    found = extract(program, entry_point="f", stub=STUB)
    assert found.program in program
    assert "continuing" not in found.how


def test_a_continuation_needs_a_stub_of_the_function() -> None:
    assert extract("    return 2", entry_point="f").program is None
    assert extract("    return 2", entry_point="g", stub=STUB).program is None
    assert continued("What is 2?", "    return 2", "f") is None


OTHERS = [
    ("cpp", "```c++\nint main() {}\n```", "int main() {}\n"),
    ("cpp", "```cpp\nint main() {}\n```\n```python\nx = 1\n```", "int main() {}\n"),
    ("cpp", "#include <cstdio>\nint main() {}\n", "#include <cstdio>\nint main() {}\n"),
    ("cpp", "I do not know.", None),
    ("javascript", "```js\nconsole.log(1)\n```", "console.log(1)\n"),
    ("javascript", "console.log(1)", "console.log(1)"),
    ("rust", "```rust\nfn main() {}\n```", "fn main() {}\n"),
    ("java", "public class Main {}", "public class Main {}"),
    ("go", "package main\n", "package main\n"),
    ("bash", "#!/bin/bash\necho 1\n", "#!/bin/bash\necho 1\n"),
    ("bash", "echo 1", None),
    ("c", "```cpp\nint main() {}\n```", None),
]


@pytest.mark.parametrize(("language", "completion", "program"), OTHERS)
def test_other_languages(language: str, completion: str, program: str | None) -> None:
    assert extract(completion, language).program == program


@pytest.mark.parametrize(
    ("name", "language"),
    [("C++17", "cpp"), (" Py ", "python"), ("node", "javascript"), ("golang", "go"), ("cobol", None)],
)
def test_names_of_languages(name: str, language: str | None) -> None:
    assert language_named(name) == language


@pytest.mark.parametrize(
    ("prompt", "stub"),
    [
        (STUB, STUB),
        (f"Complete this.\n```python\n{STUB}```\nBe brief.", STUB),
        ("Complete this.\n\ndef f(x):", ""),
        ("def f(x):\n", "def f(x):\n"),
        ("Define f, from 1 on.", ""),
        ("", ""),
    ],
)
def test_the_code_in_a_prompt(prompt: str, stub: str) -> None:
    assert stub_in(prompt) == stub


@pytest.mark.parametrize(
    ("stub", "before"),
    [
        (STUB, "from typing import List"),
        ("def g(y):\n    return y\n\n\n@g\ndef f(x):\n    '''It.'''\n", "def g(y):\n    return y"),
        ("def f(x):", ""),
        ("nonsense (", ""),
    ],
)
def test_what_a_prompt_gives_beside_the_function(stub: str, before: str) -> None:
    assert preamble(stub, "f") == before


@pytest.mark.parametrize(
    ("program", "lines"),
    [
        ("def f(x: List[int]): return x", "from typing import List"),
        ("def f(x: 'List'): return x", "from typing import List"),
        ("print(deque([1]), math.pi)", "from collections import deque\nimport math"),
        ("import math\nprint(math.pi)", ""),
        ("deque = list\nprint(deque())", ""),
        ("def f(heapq): return heapq", ""),
        ("from collections import *\ndeque()", ""),
        ("print(sum([1]))", ""),
        ("undefined()", ""),
        ("x = (", ""),
    ],
)
def test_imports_that_are_missing(program: str, lines: str) -> None:
    assert missing_imports(program) == lines


@pytest.mark.parametrize(
    ("program", "whole"),
    [
        ("x = 1", "import a\nx = 1"),
        ("from __future__ import annotations\nx = 1", "from __future__ import annotations\nimport a\nx = 1"),
        ('"""Text."""\nfrom __future__ import annotations\nx = 1',
         '"""Text."""\nfrom __future__ import annotations\nimport a\nx = 1'),
        ("x = (", "x = ("),
    ],
)  # fmt: skip
def test_lines_before_a_program(program: str, whole: str) -> None:
    assert with_before(program, "import a") == whole


HOSTILE = {
    "brackets": "(" * 50_000,
    "signs": "-" * 90_000 + "1",
    "sums": "1+" * 90_000 + "1",
    "attributes": "a" + ".a" * 90_000,
    "branches": "if 1:pass\n" + "elif 1:pass\n" * 30_000,
    "zero bytes": "x = 1\0",
    "a surrogate": "x = '\udc80'",
    "digits": "x = " + "9" * 5_000,
    "much text": "x = 1\n" * 80_000,
}


@pytest.mark.parametrize("source", HOSTILE.values(), ids=HOSTILE)
def test_hostile_source_is_no_program_and_no_exception(source: str) -> None:
    assert not compiles(source)
    assert extract(f"```python\n{source}\n```").program is not None


@pytest.mark.parametrize(
    ("completion", "language"),
    [
        (" " * 30_000 + "x", "python"),
        ("> " * 30_000 + "x", "python"),
        ("- " * 30_000 + "x", "python"),
        ("9" * 60_000 + "x", "python"),
        ("\n" * 60_000 + "x", "javascript"),
        ("\n" * 60_000 + "x", "java"),
        ("```\n" * 8_000, "python"),
        ("<think>" * 8_000, "python"),
    ],
)
def test_a_long_completion_takes_no_quadratic_time(completion: str, language: str) -> None:
    def seconds(text: str) -> float:
        started = time.process_time()
        extract(text, language, entry_point="f")
        return time.process_time() - started

    short = min(seconds(completion[: len(completion) // 8]) for _ in range(3))
    # 8 times as long would take 64 times as long; what is too short to be measured counts as 10 ms.
    assert min(seconds(completion) for _ in range(2)) < 30 * max(short, 0.01)


def test_warnings_of_a_program_are_neither_printed_nor_raised(capfd: pytest.CaptureFixture[str]) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert compiles(r"x = '\d' is 1")
        assert compiles(r"y = '\d'")
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        assert compiles(r"z = '\d'")
    assert capfd.readouterr().err == ""


def test_an_error_names_its_line() -> None:
    assert str(parsed("x = 1\nreturn x")) == "'return' outside function (line 2)"


@pytest.mark.parametrize("kind", ["finally", "match"])
def test_a_program_whose_code_would_fill_the_memory_is_only_parsed(kind: str) -> None:
    if kind == "match":
        names = ", ".join(f"a{n}" for n in range(5_000))
        source = f"match x:\n    case [{names}]: pass\n"
    else:
        lines = []
        for level in range(19):
            indent = " " * level
            lines += [f"{indent}try:", f"{indent} pass", f"{indent}finally:"]
        source = "\n".join(lines) + "\n" + " " * 20 + "pass\n"
    started = time.process_time()
    assert isinstance(parsed(source), ast.Module)
    assert time.process_time() - started < 0.5


def test_blocks_know_whether_they_are_closed() -> None:
    assert [(b.tag, b.text, b.is_closed) for b in blocks("```js\n1\n```\n~~~\n2")] == [
        ("js", "1\n", True),
        ("", "2\n", False),
    ]
