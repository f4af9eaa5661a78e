"""What a user gets wrong is one line that says what to do, and exit status 2."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from support.cli_work import Run, row, write_rows

SCORE = ("score", "my_rewards.py::exact", "samples.jsonl")
LENGTH = ("score", "my_rewards.py::length", "samples.jsonl")


@pytest.fixture
def crowded(work: Path) -> Path:
    """The working directory with more to trip over."""
    (work / "broken.py").write_text("def f(:\n", encoding="utf-8")
    (work / "raises.py").write_text("raise RuntimeError('no\\nluck')\n", encoding="utf-8")
    (work / "empty_folder").mkdir()
    (work / "data.jsonl.d").mkdir()
    (work / "many").mkdir()
    (work / "empty.jsonl").write_text("", encoding="utf-8")
    (work / "data.xyz").write_text("{}", encoding="utf-8")
    (work / "bad.jsonl").write_text('{"messages": 1}\n{nonsense\n', encoding="utf-8")
    (work / "there.jsonl").write_text("something\n", encoding="utf-8")
    write_rows(work / "flat.jsonl", [{"question": "?", "reply": "a", "level": 1}])
    write_rows(work / "many" / "one.jsonl", [row("a")])
    return work


MISTAKES: dict[str, tuple[tuple[str, ...], str]] = {
    # The reward.
    "no such reward": (("score", "exxact", "samples.jsonl"), "there is no reward 'exxact'"),
    "a registered name misspelt": (("score", "lenght", "samples.jsonl"), "did you mean length?"),
    "a function misspelt": (("score", "my_rewards.py::exakt", "samples.jsonl"), "did you mean exact?"),
    "a file without a function": (
        ("score", "my_rewards.py", "samples.jsonl"),
        "name one of them: guerdon score my_rewards.py::exact samples.jsonl, or guerdon",
    ),
    "no such file": (("score", "my_reward.py::exact", "samples.jsonl"), "did you mean my_rewards.py?"),
    "no such module": (("score", "no_package.mod:f", "samples.jsonl"), "there is no module 'no_package'"),
    "a folder without main.py": (("score", "empty_folder", "samples.jsonl"), "has no main.py"),
    "a syntax error": (("score", "broken.py::f", "samples.jsonl"), "broken.py, line 1"),
    "a module that raises": (("score", "raises.py::f", "samples.jsonl"), "RuntimeError: no luck"),
    "a class that raises": (
        ("score", "my_rewards.py::Angry", "samples.jsonl"),
        "cannot make a Angry: KeyError: 'temper'",
    ),
    "a generator": (("score", "my_rewards.py::yields", "samples.jsonl"), "instead of yielding"),
    "an empty name": (("score", "", "samples.jsonl"), "see: guerdon rewards"),
    "a column that is not there": (
        ("score", "my_rewards.py::needs_gold", "samples.jsonl"),
        "needs 'gold_standard', which nothing supplies",
    ),
    # Its parameters.
    "a parameter without a value": ((*LENGTH, "--param", "most"), "not of the form name=value"),
    "a parameter without a name": ((*LENGTH, "--param", "=5"), "not of the form name=value"),
    "a parameter misspelt": ((*LENGTH, "--param", "mots=5"), "did you mean 'most'?"),
    "a parameter twice": ((*LENGTH, "--param", "most=5", "--param", "most=6"), "'most' is given twice"),
    "a word of our own": (
        ("score", "http://localhost:9", "samples.jsonl", "--param", "name=x"),
        "--param cannot set 'name'",
    ),
    "a parameter it lacks, of a name that we use": (
        (*LENGTH, "--param", "name=x"),
        "length has no parameter 'name'",
    ),
    # The data.
    "no such data": (("score", "my_rewards.py::exact", "sample.jsonl"), "did you mean samples.jsonl"),
    "an unknown kind of file": (("score", "my_rewards.py::exact", "data.xyz"), 'unknown extension ".xyz"'),
    "no rows": (("score", "my_rewards.py::exact", "empty.jsonl"), "empty.jsonl holds no rows"),
    "malformed rows": (("score", "my_rewards.py::exact", "bad.jsonl"), "2 of 2 rows are malformed"),
    "malformed rows only": (
        ("score", "my_rewards.py::exact", "bad.jsonl", "--skip-bad-rows"),
        "2 of 2 rows are malformed",
    ),
    "rows without messages": (
        ("score", "my_rewards.py::exact", "flat.jsonl"),
        "say which holds it: --response-column reply",
    ),
    "a split of a file": ((*SCORE, "--split", "test"), "leave out --split test"),
    "a limit of none": ((*SCORE, "--limit", "0"), "give a whole number of 1 or more"),
    # Its columns.
    "an unknown prompt column": (
        ("score", "my_rewards.py::exact", "flat.jsonl", "--prompt-column", "q", "--response-column", "reply"),
        'no column "q" (--prompt-column)',
    ),
    "a prompt without a response": ((*SCORE, "--prompt-column", "q"), 'no column "q" (--prompt-column)'),
    "a map without a column": ((*SCORE, "--map", "gold"), "not of the form name=column"),
    "a map of an unknown column": ((*SCORE, "--map", "gold=g"), 'no column "g" (--map gold=g)'),
    "a map twice": ((*SCORE, "--map", "gold=a", "--map", "gold=b"), 'gives "gold" twice'),
    "an unknown group": (
        (*SCORE, "--group-by", "model"),
        'no column "model"; the columns are: messages, id',
    ),
    "a group that was renamed": (
        (
            *("score", "my_rewards.py::length", "flat.jsonl", "--response-column", "reply"),
            *("--map", "difficulty=level", "--group-by", "level"),
        ),
        "--map level=level",
    ),
    # The output.
    "an output that is there": ((*SCORE, "-o", "there.jsonl"), "complete it with --resume"),
    "an output of another kind": ((*SCORE, "-o", "s.xlsx"), "ends in .jsonl, .csv, .tsv or .parquet"),
    "rows and a summary on standard output": ((*SCORE, "-o", "-", "--json"), "--json needs a file"),
    "a stream to resume": ((*SCORE, "-o", "-", "--resume"), "--resume needs a file"),
    "an output nowhere": ((*SCORE, "-o", "nowhere/s.jsonl"), "there is no folder nowhere"),
    "an output that is a folder": ((*SCORE, "-o", "data.jsonl.d/../many"), "ends in .jsonl"),
    "an output that is the data": ((*SCORE, "-o", "samples.jsonl", "--overwrite"), "is read from"),
    "an output among the data": (
        ("score", "my_rewards.py::length", "many", "-o", "many/scores.jsonl"),
        "write the scores elsewhere",
    ),
    "resume without a file": ((*SCORE, "--resume"), "--resume needs the file: -o scores.jsonl"),
    "overwrite without a file": ((*SCORE, "--overwrite"), "--overwrite needs the file"),
    "resume and overwrite": ((*SCORE, "-o", "s.jsonl", "--resume", "--overwrite"), "give one of them"),
    "resume what is no run": ((*SCORE, "-o", "there.jsonl", "--resume"), "is not as guerdon wrote it"),
    # The limits.
    "a negative timeout": ((*SCORE, "--timeout", "-1"), "'-1' is not a number of seconds"),
    "a timeout in words": ((*SCORE, "--timeout", "soon"), "'soon' is not a number of seconds"),
    "workers in words": ((*SCORE, "--workers", "abc"), "'abc' is not a count"),
    "no concurrency": ((*SCORE, "--concurrency", "0"), "give a whole number of 1 or more"),
    "memory in words": ((*SCORE, "--max-memory", "lots"), "write it as 512MB or 2GiB"),
    "an empty batch": ((*SCORE, "--batch-size", "0"), "give a whole number of 1 or more"),
    # The command line.
    "a flag misspelt": ((*SCORE, "--tiemout", "3"), "--timeout"),
    "a command misspelt": (("scroe",), "did you mean score?"),
    "an unknown command": (("frobnicate",), "there are examples, preview, score, rewards, test"),
    "no data": (("score", "my_rewards.py::exact"), "Missing argument 'DATA'; see: guerdon score --help"),
    "one word too many": ((*SCORE, "another"), "unexpected extra argument"),
    "a flag without its value": ((*SCORE, "--timeout"), "--timeout"),
    # Preview, rewards, test.
    "nothing to preview": (("preview", "--samples", "samples.jsonl"), "nothing to preview"),
    "a preview of no samples": (
        ("preview", "my_rewards.py::exact"),
        "name the data: --samples answers.jsonl",
    ),
    "a preview of few": (
        ("preview", "my_rewards.py::exact", "--samples", "samples.jsonl", "--max-samples", "few"),
        "'few' is not a count",
    ),
    "a metrics folder without a name": (
        ("preview", "--metrics-folders", "./empty_folder", "--samples", "samples.jsonl"),
        "not of the form name=folder",
    ),
    "a metrics folder nowhere": (
        ("preview", "--metrics-folders", "a=./nowhere", "--samples", "samples.jsonl"),
        "there is no reward './nowhere'",
    ),
    "a reward twice": (
        ("preview", "my_rewards.py::exact", "my_rewards.py::exact", "--samples", "samples.jsonl"),
        "my_rewards.py::exact is given twice",
    ),
    "an unknown reward to show": (("rewards", "show", "exxact"), "there is no reward 'exxact'"),
    "a negative tolerance": (
        ("test", "my_rewards.py::exact", "samples.jsonl", "--tolerance", "-1"),
        "give a number of 0 or more",
    ),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_is_a_line_and_status_2(mistake: str, guerdon: Run, crowded: Path) -> None:
    args, fragment = MISTAKES[mistake]
    result = guerdon(*args)
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.startswith("Error: ")
    assert fragment in result.stderr
    listed = "malformed" in mistake or mistake == "rows without messages" or "unknown prompt" in mistake
    assert len(result.stderr.splitlines()) == 1 or listed or "map of an unknown" in mistake
    assert not list(crowded.glob("s*.jsonl.*"))
    assert (crowded / "there.jsonl").read_text(encoding="utf-8") == "something\n"
    assert len((crowded / "samples.jsonl").read_text(encoding="utf-8").splitlines()) == 3


@pytest.mark.parametrize(
    ("variable", "value", "fragment"),
    [
        ("GUERDON_TIMEOUT", "soon", "GUERDON_TIMEOUT: 'soon' is not a number of seconds"),
        ("GUERDON_WORKERS", "-2", "GUERDON_WORKERS: '-2' is not a count"),
        ("GUERDON_MAX_MEMORY", "lots", "GUERDON_MAX_MEMORY: 'lots' is not an amount of memory"),
        ("GUERDON_LIMIT", "none", "GUERDON_LIMIT"),
        ("GUERDON_OUTPUT", "scores.txt", "ends in .jsonl"),
        ("GUERDON_MAP", "gold", "not of the form name=column"),
        ("GUERDON_DEBUG", "perhaps", "GUERDON_DEBUG"),
    ],
)
def test_a_mistake_in_a_variable_too(guerdon: Run, variable: str, value: str, fragment: str) -> None:
    result = guerdon(*SCORE, **{variable: value})
    assert (result.exit_code, result.stdout) == (2, "")
    assert fragment in result.stderr


def scored(guerdon: Run, *more: str) -> None:
    assert guerdon(*SCORE, "-o", "s.jsonl", "--workers", "0", *more).exit_code == 0


def test_a_run_of_another_reward_is_not_resumed(guerdon: Run, work: Path) -> None:
    scored(guerdon)
    before = (work / "s.jsonl").read_bytes()
    result = guerdon(*LENGTH, "-o", "s.jsonl", "--resume", "--workers", "0")
    assert result.exit_code == 2
    assert "was scored by exact" in result.stderr
    assert "the reward is now length" in result.stderr
    assert (work / "s.jsonl").read_bytes() == before


def test_a_run_over_other_data_is_not_resumed(guerdon: Run, work: Path) -> None:
    scored(guerdon)
    write_rows(work / "samples.jsonl", [row(r, id=f"s-{r}", answer="x") for r in "abc"])
    result = guerdon(*SCORE, "-o", "s.jsonl", "--resume", "--workers", "0")
    assert result.exit_code == 2
    assert "sample 's-a' is not the one that was scored, so the data changed" in result.stderr


def test_a_complete_parquet_file_is_not_resumed(guerdon: Run, work: Path) -> None:
    pytest.importorskip("pyarrow", reason="an extra is absent: pyarrow")
    assert guerdon(*SCORE, "-o", "s.parquet", "--workers", "0").exit_code == 0
    result = guerdon(*SCORE, "-o", "s.parquet", "--resume", "--workers", "0")
    assert result.exit_code == 2
    assert "s.parquet is complete; start again with --overwrite" in result.stderr


def test_malformed_rows_are_counted_and_the_first_20_listed(guerdon: Run, work: Path) -> None:
    bad = [{"messages": i} for i in range(1, 26)]
    rows = [item for pair in zip(bad, [row("a")] * 25, strict=True) for item in pair]
    write_rows(work / "bad.jsonl", rows)
    result = guerdon("score", "my_rewards.py::length", "bad.jsonl", "-o", "s.jsonl")
    assert result.exit_code == 2
    assert "25 of 50 rows are malformed" in result.stderr
    assert "bad.jsonl:1, 3, 5" in result.stderr
    assert "39:" in result.stderr
    assert "and 5 more" in result.stderr
    assert not (work / "s.jsonl").exists()


@pytest.mark.parametrize("how", ["before", "after", "variable"])
def test_debug_shows_the_traceback(guerdon: Run, how: str) -> None:
    (Path("raises.py")).write_text("raise RuntimeError('no luck')\n", encoding="utf-8")
    args = ["score", "raises.py::f", "samples.jsonl"]
    if how == "variable":
        result = guerdon(*args, GUERDON_DEBUG="1")
    else:
        result = guerdon(*["--debug"] * (how == "before"), *args, *["--debug"] * (how == "after"))
    assert result.exit_code == 2
    assert "Traceback (most recent call last)" in result.stderr
    assert "RuntimeError: no luck" in result.stderr
    assert result.stderr.splitlines()[-1].startswith("Error: importing raises.py raised")


def test_an_error_cannot_act_on_the_terminal(guerdon: Run, work: Path) -> None:
    (work / "raises.py").write_text("raise RuntimeError('\\x1b[2J\\u202e')\n", encoding="utf-8")
    result = guerdon("score", "raises.py::f", "samples.jsonl")
    assert "RuntimeError: \\x1b[2J\\u202e" in result.stderr


def test_a_bug_is_a_traceback(guerdon: Run, work: Path) -> None:
    (work / "hostile.py").write_text(
        "class Odd(type):\n"
        "    def __getattr__(cls, name):\n"
        "        raise ZeroDivisionError\n"
        "class Reward(metaclass=Odd):\n"
        "    pass\n",
        encoding="utf-8",
    )
    with pytest.raises(ZeroDivisionError):
        guerdon("score", "hostile.py::Reward", "samples.jsonl")


def test_errors_leave_standard_output_to_json(guerdon: Run) -> None:
    result = guerdon("score", "exxact", "samples.jsonl", "--json")
    assert (result.exit_code, result.stdout) == (2, "")
    assert json.loads(guerdon(*SCORE, "--json", "--workers", "0").stdout)["reward"] == "exact"
