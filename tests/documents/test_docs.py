"""Every example of the README and of docs/ runs, and the runner notices one that is wrong."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from support.docs_runner import PageError, Report, blocks, commands, matches, run_page

ROOT = Path(__file__).resolve().parents[2]
LONG_PAGE = [pytest.mark.slow(seconds=10)]
# Pages with many commands, and what a page needs beyond the extra test.
MARKS = {
    **dict.fromkeys(
        [
            "accuracy",
            "code",
            "coming-from",
            "judge",
            "languages",
            "math",
            "rewards",
            "sandbox",
            "serving",
            "sql",
            "style",
            "testing",
        ],
        LONG_PAGE,
    ),
    "training": [*LONG_PAGE, pytest.mark.torch],
}


def marks_of(page: Path) -> Sequence[pytest.MarkDecorator]:
    """The pages of single trainers are alike, so that of TRL stands for them in make test."""
    if page.parent.name == "trainers" and page.stem not in ("README", "trl"):
        return LONG_PAGE
    if page.name == "README.md" and page.parent == ROOT:
        return [*LONG_PAGE, pytest.mark.torch]  # it trains a model
    return MARKS.get(page.stem, ()) if page.parent.name == "docs" else ()


PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]


@pytest.mark.parametrize(
    "page",
    [pytest.param(page, id=page.relative_to(ROOT).as_posix(), marks=marks_of(page)) for page in PAGES],
)
def test_every_example_runs(page: Path, not_run_in_docs: list[str]) -> None:
    report = run_page(page, ROOT / "examples")
    not_run_in_docs += [f"{page.relative_to(ROOT)}:{line}" for line in report.not_run]


def test_the_readme_has_examples() -> None:
    assert any(block.language == "python" for block in blocks(PAGES[0].read_text(encoding="utf-8")))


def test_given_directories_are_there_to_use(tmp_path: Path) -> None:
    (tmp_path / "examples").mkdir()
    (tmp_path / "examples" / "a.txt").write_text("here", encoding="utf-8")
    page = tmp_path / "page.md"
    page.write_text(fenced("console", "$ ls\nexamples\n$ cat examples/a.txt\nhere"), encoding="utf-8")
    assert run_page(page, tmp_path / "examples").ran == 1


@pytest.mark.parametrize(
    ("shown", "says"),
    [("x = 1", None), ("x = 2", r"-x = 1\n\+x = 2"), ("x = 1\n", "not the file")],
)
def test_a_block_that_is_a_file(tmp_path: Path, shown: str, says: str | None) -> None:
    (tmp_path / "examples").mkdir()
    (tmp_path / "examples" / "a.py").write_text("x = 1\n", encoding="utf-8")
    page = tmp_path / "page.md"
    page.write_text(fenced("python", shown, "<!-- same: examples/a.py -->"), encoding="utf-8")
    if says is None:
        assert run_page(page, tmp_path / "examples") == Report(same=1)
    else:
        with pytest.raises(PageError, match=says):
            run_page(page, tmp_path / "examples")


def fenced(language: str, body: str, comment: str = "") -> str:
    return f"{comment}\n```{language}\n{body}\n```\n"


PYTHON_SHARES = fenced("python", "x = 1") + "Text.\n" + fenced("python", "x += 1\nassert x == 2")
FILE = fenced("python", "def f():\n    return 3", "<!-- file: pkg/mine.py -->")
ROWS = fenced("json", '{"a": "…"}', "<!-- file: rows.jsonl -->")
SOURCE = fenced(
    "python",
    "import inspect, pickle\n"
    "def f():\n    return 4\n"
    "class C:\n    pass\n"
    "assert inspect.getsource(f) == 'def f():\\n    return 4\\n'\n"
    "assert inspect.getsource(C) == 'class C:\\n    pass\\n'\n"
    "assert __name__ == '__main__' and pickle.loads(pickle.dumps(f)) is f",
)
PRINTS = fenced(
    "console", "$ python -c 'print(1); print(2)'\n1\n2\n\n$ python -c 'print(\"took 3.2 s\")'\ntook … s"
)
SERVES = fenced(
    "console",
    "$ guerdon serve length --param minimum=1\nGuerdon … serves 1 reward at http://127.0.0.1:8123\n…",
    "<!-- background: 8123 -->",
) + fenced("console", '$ curl -s http://127.0.0.1:8123/health/live\n{"status":"ok"}')


@pytest.mark.parametrize(
    ("page", "ran", "written", "not_run"),
    [
        (PYTHON_SHARES, 2, 0, []),
        (FILE + fenced("python", "from pkg.mine import f\nassert f() == 3"), 1, 1, []),
        (ROWS + fenced("bash", "$ cat rows.jsonl\n{\"a\": \"…\"}"), 1, 1, []),
        (SOURCE, 1, 0, []),
        (PRINTS, 1, 0, []),
        (fenced("bash", "$ python -c \\\n    'print(5)'\n5"), 1, 0, []),
        (fenced("bash", "$ A=5 python -c 'import os; print(os.environ[\"A\"])'\n5"), 1, 0, []),
        (fenced("console", "$ python -c 'raise SystemExit(2)'", "<!-- exit: 2 -->"), 1, 0, []),
        (fenced("console", "$ python -c 'print(\"scoring 3/40, 0.29/s, 2:08 left\"); print(1)'\n1"), 1, 0, []),
        (fenced("python", "print(7)") + fenced("text", "7", "<!-- output -->"), 1, 0, []),
        (SERVES, 2, 0, []),
        (fenced("python", "1 / 0", "<!-- no-run: shows an error -->"), 0, 0, ["3: shows an error"]),
        (fenced("bash", "pip install guerdon", "<!-- no-run: installs -->"), 0, 0, ["3: installs"]),
        (fenced("text", "what it is not") + fenced("", "$ rm -rf"), 0, 0, []),
        ("- a list\n\n  ```python\n  assert True\n  ```\n", 1, 0, []),
        ("````markdown\n```python\n1 / 0\n```\n````\n", 0, 0, []),
    ],
)  # fmt: skip
def test_a_right_page_runs(tmp_path: Path, page: str, ran: int, written: int, not_run: list[str]) -> None:
    path = tmp_path / "page.md"
    path.write_text(page, encoding="utf-8")
    assert run_page(path) == Report(ran, written, not_run)


@pytest.mark.parametrize(
    ("page", "says"),
    [
        (fenced("python", "1 / 0"), r"page\.md:3: (.|\n)*line 3(.|\n)*ZeroDivisionError"),
        (fenced("python", "assert 1 == 2"), "AssertionError"),
        (SERVES.replace("length", "lenght"), r"did not come to print(.|\n)*did you mean length"),
        (fenced("python", "def"), "SyntaxError"),
        (fenced("python", "raise SystemExit(0)"), "SystemExit"),
        (fenced("python", "import os; os._exit(0)"), r"page\.md:"),
        (PYTHON_SHARES + fenced("python", "assert x == 3"), r"page\.md:13: (.|\n)*line 13"),
        (fenced("python", "print(7)") + fenced("text", "8", "<!-- output -->"), r"-8\n\+7"),
        (fenced("text", "8", "<!-- output -->"), "without a Python block"),
        (fenced("console", "$ python -c 'print(1)'\n2"), r"-2\n\+1"),
        (fenced("console", "$ python -c 'print(1)'\n1\n2"), r"-2"),
        (fenced("console", "$ python -c 'print(1); print(2)'\n1"), r"\+2"),
        (fenced("console", "$ python -c 'raise SystemExit(2)'"), "status 2, expected 0"),
        (fenced("console", "$ python -c 'pass'", "<!-- exit: 2 -->"), "status 0, expected 2"),
        (fenced("console", "$ python -c 'exit(2)'\n$ python -c 1", "<!-- exit: 2 -->"), "expected 0"),
        (fenced("bash", "$ rm -rf x"), "no-run"),
        (fenced("bash", "pip install guerdon"), "must start with a command"),
        (fenced("bash", ""), "without a command"),
        (fenced("python", "x", "<!-- no-run: -->"), "needs a reason"),
        (fenced("python", "x", "<!-- file: ../up.py -->"), "not a file name below"),
        (fenced("python", "x", "<!-- file: -->"), "not a file name below"),
        (fenced("python", "x", "<!-- same: a.py -->"), "cannot be read"),
        ("<!-- exit: 2 -->\nText.\n", "no block follows"),
        ("<!-- exit: 2 -->\n", "no block follows"),
        ("```python\nx = 1\n", "never closed"),
    ],
)  # fmt: skip
def test_a_wrong_page_fails(tmp_path: Path, page: str, says: str) -> None:
    path = tmp_path / "page.md"
    path.write_text(page, encoding="utf-8")
    with pytest.raises(PageError, match=says):
        run_page(path)


@pytest.mark.parametrize(
    ("expected", "printed", "fits"),
    [
        ("a\nb", "a\nb\n", True),
        ("a  b", "a b   \n\n", True),
        ("12 samples in … s", "12 samples in 0.3 s", True),
        ("12 samples in … s", "13 samples in 0.3 s", False),
        ("a … b", "a x\ny b", False),
        ("a\n…\nb", "a\nx\ny\nb", True),
        ("a\n…\nb", "a\nb", True),
        ("a\n…", "a\nx\ny", True),
        ("a\n…\nb", "a\nx", False),
        ("a.c", "abc", False),
        ("a", "", False),
    ],
)
def test_an_ellipsis_stands_for_what_varies(expected: str, printed: str, fits: bool) -> None:
    assert matches(expected, printed) is fits


def test_a_block_knows_its_line_and_its_comments() -> None:
    page = "# Title\n\n<!-- file: a.py -->\n\n```python title\nx\n```\n```console\n$ python a.py\n```\n"
    assert [(b.language, b.line, b.body, b.directives) for b in blocks(page)] == [
        ("python", 6, "x", {"file": "a.py"}),
        ("console", 9, "$ python a.py", {}),
    ]


def test_commands_keep_their_own_output() -> None:
    assert commands("$ guerdon a \\\n    --b\nout\n\n$ guerdon c") == [
        ("guerdon a --b", ["out", ""]),
        ("guerdon c", []),
    ]


def test_the_marks_are_of_pages() -> None:
    assert set(MARKS) <= {page.stem for page in PAGES}
