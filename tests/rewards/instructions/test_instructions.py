"""``instructions``: several at once, strictly and loosely, from rows of every shape."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

import guerdon
from guerdon.rewards.instructions.reward import instructions
from guerdon.testing import assert_cases

COMMA, WORDS, QUOTED = "punctuation:no_comma", "length_constraints:number_words", "startend:quotation"
FEW = {"num_words": 3, "relation": "less than"}


def test_cases() -> None:
    assert_cases(
        "guerdon.rewards.instructions.reward:instructions",
        Path(__file__).parents[1] / "cases/instructions.jsonl",
    )


@pytest.mark.parametrize(
    "columns",
    [
        {"instruction_id_list": [COMMA, WORDS], "kwargs": [{}, FEW]},
        {"instruction_id_list": [COMMA, WORDS], "kwargs": [None, FEW]},
        {"instruction_id_list": (COMMA, WORDS), "kwargs": ({}, json.dumps(FEW))},
        {"instruction_id_list": json.dumps([COMMA, WORDS]), "kwargs": json.dumps([{}, FEW])},
        {"instruction_id_list": f"{COMMA}, {WORDS}", "kwargs": str([{}, FEW])},
        {
            "instruction_id_list": [COMMA, WORDS],
            "kwargs": [
                {"num_words": None, "relation": None},
                {**FEW, "keyword": None, "num_bullets": float("nan")},
            ],
        },
        {"instruction_id_list": [COMMA, WORDS], "kwargs": [{}, {"num_words": 3.0, "relation": "less than"}]},
        {"instruction_id_list": [COMMA, WORDS], "kwargs": [{}, FEW], "ground_truth": "of another reward"},
        {"ground_truth": {"instruction_id": [COMMA, WORDS], "kwargs": [None, FEW]}},
        {"ground_truth": json.dumps({"instruction_id_list": [COMMA, WORDS], "kwargs": [{}, FEW]})},
        {"ground_truth": str([{"instruction_id": [COMMA, WORDS], "kwargs": [None, FEW]}])},
        {"ground_truth": [{"instruction_id": COMMA}, {"instruction_id": WORDS, "kwargs": FEW}]},
        {
            "ground_truth": [
                json.dumps({"func_name": "validate_no_commas", "N": None}),
                {"func_name": "validate_word_constraint", "N": 2, "quantifier": "at most", "letter": None},
            ]
        },
    ],
)
def test_shapes_of_rows(columns: dict[str, Any]) -> None:
    def scored(response: str) -> list[bool | None]:
        return [metric.success for metric in instructions(response, **columns).metrics.values()]

    assert scored("one two") == [True, True]
    assert scored("one, two, three") == [False, False]
    assert scored("one two three") == [True, False]


@pytest.mark.parametrize(
    ("columns", "says"),
    [
        ({}, "there is no instruction to check: give instruction_id_list and kwargs"),
        ({"kwargs": [{}]}, "there is kwargs, but no instruction_id_list that it belongs to"),
        ({"ground_truth": 4}, "ground_truth must hold instructions, not 4"),
        ({"ground_truth": "four"}, 'ground_truth is not JSON: "four"'),
        ({"ground_truth": "[" * 5000}, "ground_truth is not JSON"),
        (
            {"ground_truth": [{"ids": [COMMA]}]},
            "ground_truth must hold objects with instruction_id and kwargs",
        ),
        ({"ground_truth": [7]}, "ground_truth must hold objects with instruction_id and kwargs"),
        ({"instruction_id_list": [WORDS, COMMA], "kwargs": [FEW]}, "there are 2 instructions, but 1 kwargs"),
        ({"instruction_id_list": [WORDS], "kwargs": "{"}, "kwargs is not JSON"),
        ({"instruction_id_list": [WORDS], "kwargs": 3}, "kwargs must be a list of objects"),
        (
            {"instruction_id_list": [WORDS], "kwargs": [3]},
            "kwargs must hold an object for each instruction, not 3",
        ),
        ({"instruction_id_list": [7.5]}, "instruction_id_list must hold texts"),
        (
            {"instruction_id_list": ["keyword:existance"]},
            '"keyword:existance" is not a kind of instruction; the nearest known ones are keywords:existence, ',
        ),
        ({"instruction_id_list": [COMMA], "mode": "lax"}, "mode must be one of strict, loose"),
        ({"instruction_id_list": [COMMA], "scoring": "any"}, "scoring must be one of all, fraction"),
        ({"instruction_id_list": [COMMA], "skip_thinking": "perhaps"}, "skip_thinking must be true or false"),
        ({"instruction_id_list": [COMMA], "extra_kinds": ["a"]}, "extra_kinds must be functions by id"),
    ],
)
def test_rows_that_cannot_be_read(columns: dict[str, Any], says: str) -> None:
    result = instructions("one two", **columns)
    assert (result.score, result.error_kind) == (None, "input")
    assert says in str(result.error)


def test_metrics_carry_the_ids_and_say_what_was_found() -> None:
    ids = [COMMA, WORDS, WORDS]
    arguments = [{}, FEW, {"num_words": 2, "relation": "at least"}]
    result = instructions("one, two three", instruction_id_list=ids, kwargs=arguments, scoring="fraction")
    found = {name: (metric.score, metric.success, metric.reason) for name, metric in result.metrics.items()}
    assert found == {
        COMMA: (0.0, False, "commas: 1"),
        WORDS: (0.0, False, "words: 3, expected less than 3"),
        f"{WORDS}#2": (1.0, True, "words: 3, expected at least 2"),
    }
    assert result.score == pytest.approx(1 / 3)
    assert (
        result.reason == f"1 of 3 followed; not {COMMA} (commas: 1), {WORDS} (words: 3, expected less than 3)"
    )


@pytest.mark.parametrize(
    ("response", "kind", "strict", "loose"),
    [
        ('"a"', QUOTED, 1, 1),
        ('Sure:\n"a"', QUOTED, 0, 1),
        ('"a"\nBye', QUOTED, 0, 1),
        ('Sure:\n"a"\nBye', QUOTED, 0, 1),
        ('**"a"**', QUOTED, 0, 1),
        ('Sure:\n**"a"**', QUOTED, 0, 1),
        ('**"a"**\nBye', QUOTED, 0, 1),
        ('Sure:\n*"a"*\nBye', QUOTED, 0, 1),
        ('Sure:\nWell:\n"a"', QUOTED, 0, 0),
        ('"a"\n\nBye\nbye', QUOTED, 0, 0),
        ('_"a"_', QUOTED, 0, 0),
        # What is left of a single line is empty, and that follows nothing.
        ("a, b", COMMA, 0, 0),
        ("a, b\n***", COMMA, 0, 1),
        ("a, b\nc", COMMA, 0, 1),
        ("", COMMA, 0, 0),
        ("***", COMMA, 1, 1),
    ],
)
def test_loosely_a_form_of_the_response_may_follow(response: str, kind: str, strict: int, loose: int) -> None:
    for mode, score in (("strict", strict), ("loose", loose)):
        assert instructions(response, instruction_id_list=[kind], mode=mode).unwrap() == score


@pytest.mark.parametrize(
    ("response", "skipped", "kept"),
    [
        ("<think>a, b</think>c", 1, 0),
        ("a, b</think>\nc", 1, 0),
        ("<think>a</think>b, c", 0, 0),
        ("<think>a</think>", 0, 1),
        ("<think>a", 0, 1),
        ("say <think> and go", 1, 1),
    ],
)
def test_thinking(response: str, skipped: int, kept: int) -> None:
    for skip, score in ((True, skipped), ("false", kept)):
        assert instructions(response, instruction_id_list=[COMMA], skip_thinking=skip).unwrap() == score


def longest_line(text: str, limit: int) -> bool:
    """Whether no line is longer than the limit."""
    return max(map(len, text.split("\n"))) <= limit


def test_kinds_of_ones_own_travel_to_workers() -> None:
    reward = guerdon.get_reward_function("instructions", extra_kinds={"own:longest_line": longest_line})
    rows = [
        {
            "messages": [{"role": "assistant", "content": content}],
            "instruction_id_list": ["own:longest_line", COMMA],
            "kwargs": [{"limit": 5, "num_words": None}, {}],
        }
        for content in ("short\nlines", "a long line", "a, b")
    ]
    for workers in (0, 1):
        assert guerdon.score(reward, rows, workers=workers).scores == [1.0, 0.0, 0.0]


def test_a_row_without_instructions_does_not_apply() -> None:
    result = instructions("a", instruction_id_list=[], kwargs=[])
    assert (result.score, result.error, result.reason) == (None, None, "the row asks for no instruction")


@pytest.mark.parametrize("mode", ["strict", "loose"])
def test_agrees_with_the_published_checker(data_dir: Path, mode: str) -> None:
    off, count = [], 0
    for line in (data_dir / "ifeval_phi3_dev.jsonl").read_text(encoding="utf-8").split("\n"):
        if not line:
            continue
        row = json.loads(line)
        result = instructions(
            row["response"], instruction_id_list=row["instruction_id_list"], kwargs=row["kwargs"], mode=mode
        )
        for (name, metric), label in zip(result.metrics.items(), row[f"{mode}_list"], strict=True):
            count += 1
            if metric.success != label:
                off.append((row["id"], name, metric.reason))
    assert count > 400
    assert len(off) <= 0.005 * count, off


def test_every_prompt_of_the_benchmark_is_understood(data_dir: Path) -> None:
    for line in (data_dir / "ifeval_prompts_half.jsonl").read_text(encoding="utf-8").split("\n"):
        if line:
            row = json.loads(line)
            result = instructions("a", instruction_id_list=row["instruction_id_list"], kwargs=row["kwargs"])
            assert result.score is not None, result.error


def test_agrees_with_a_trainer(data_dir: Path) -> None:
    path = data_dir / "nemo_gym" / "instruction_following.example_rollouts.jsonl"
    for line in path.read_text(encoding="utf-8").split("\n"):
        if not line:
            continue
        row = json.loads(line)
        messages = [item for item in row["response"]["output"] if item["type"] == "message"]
        text = "".join(part["text"] for message in messages for part in message["content"])
        result = instructions(text, instruction_id_list=row["instruction_id_list"], kwargs=row["kwargs"])
        assert result.score == row["reward"]
        assert [metric.success for metric in result.metrics.values()] == row["follow_instruction_list"]


@pytest.mark.sample(5, seconds=1)
@pytest.mark.parametrize(
    "unit", ["a, b. ", "! ", "[", "<<", "* ", "*", "\n", " ", "'", "n't. \" ", "x", "- ", "a.b@", "Section "]
)
def test_a_megabyte_takes_no_long_time(unit: str) -> None:
    kinds: dict[str, dict[str, Any]] = {
        "keywords:forbidden_words": {"forbidden_words": ["sea"]},
        "detectable_content:number_placeholders": {"num_placeholders": 3},
        "detectable_content:postscript": {"postscript_marker": "P.P.S"},
        "detectable_format:number_bullet_lists": {"num_bullets": 3},
        "detectable_format:number_highlighted_sections": {"num_highlights": 2_000_000},
        "detectable_format:multiple_sections": {"section_spliter": "Section", "num_sections": 2},
        "detectable_format:title": {},
        "length_constraints:number_sentences": {"num_sentences": 20, "relation": "at least"},
        "change_case:capital_word_frequency": {"capital_frequency": 3, "capital_relation": "at least"},
        "language:response_language": {"language": "de"},
    }
    text = unit * (1_000_000 // len(unit))
    for kind, arguments in kinds.items():
        started = time.process_time()
        assert instructions(text, instruction_id_list=[kind], kwargs=[arguments]).score in (0.0, 1.0)
        assert time.process_time() - started < 5, kind  # what is quadratic takes minutes


@pytest.mark.parametrize(
    ("kind", "arguments", "module", "score"),
    [
        ("language:response_language", {"language": "en"}, "langdetect", None),
        ("length_constraints:number_sentences", {"num_sentences": 1, "relation": "at least"}, "punkt", None),
        (COMMA, {}, "langdetect", 1.0),
    ],
)
def test_only_kinds_that_need_the_extra_ask_for_it(
    kind: str, arguments: dict[str, Any], module: str, score: float | None
) -> None:
    program = (
        f"import sys; sys.modules[{module!r}] = None\n"
        "from guerdon.rewards.instructions.reward import instructions\n"
        f"result = instructions('A text.', instruction_id_list=[{kind!r}], kwargs=[{arguments!r}])\n"
        "print(result.score, result.error_kind, result.error)"
    )
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    if score is None:
        assert ran.stdout.startswith("None missing_extra ")
        assert 'pip install "guerdon[instructions]"' in ran.stdout
    else:
        assert ran.stdout == f"{score} None None\n"
