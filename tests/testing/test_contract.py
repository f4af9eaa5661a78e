"""``check_reward``: a sound reward passes, and each defect is found and said with its row."""

from __future__ import annotations

import itertools
import os
import random
import re
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from guerdon import EvaluateResult, MetricResult, reward_function
from guerdon.errors import InputError
from guerdon.scoring.worker.entry import inside_worker
from guerdon.testing import check_reward

ROWS = [
    {"id": "yes", "response": "4", "ground_truth": "4"},
    {"id": "no", "response": "5", "ground_truth": "4"},
    {"id": "long", "response": "It is 4, I think.", "ground_truth": "4"},
]
HERE = ("call", "batch", "permuted", "thread", "worker")
_seen: set[str] = set()
_count = itertools.count()


def _gold(ground_truth: Any) -> str:
    if not isinstance(ground_truth, str) or not ground_truth:
        raise InputError("no expected answer")
    return ground_truth


@reward_function(scale=(0, 1))
def sound(response: str, ground_truth: str) -> EvaluateResult:
    same = _gold(ground_truth) == response
    return EvaluateResult(float(same), metrics={"length": MetricResult(len(response))})


def test_a_sound_reward_keeps_it_in_every_way() -> None:
    report = check_reward(sound, ROWS)
    assert (report.reward, report.scale, report.rows) == ("sound", (0, 1), 3)
    assert report.modes == ("call", "batch", "permuted", "thread", "worker", "http")
    assert (report.lowest, report.highest) == (0.0, 1.0)
    # None and "" as expected answers.
    assert report.failures == {"binding": 1, "input": 1}
    assert report.adversarial > 70
    assert report.slowest_seconds > 0


def test_rows_may_be_a_file_and_expect_failures(tmp_path: Path) -> None:
    table = tmp_path / "cases.jsonl"
    table.write_text(
        '{"response": "4", "ground_truth": "4", "expected": 1}\n'
        '{"response": "boom", "ground_truth": "4", "expected": {"error": "exception"}}\n',
        encoding="utf-8",
    )

    def booms(response: str, ground_truth: str) -> float:
        if response == "boom":
            raise ValueError("boom")
        return float(response == _gold(ground_truth))

    assert check_reward(booms, table, modes=("call",)).failures["exception"] == 1


def test_parameters_reach_it() -> None:
    def short(response: str, most: int = 0) -> float:
        return float(len(response) <= most)

    assert check_reward(short, ROWS, modes=("call", "worker"), most=3).highest == 1.0


# Defects


def never_the_same(response: str) -> float:
    return random.random()


def too_high(response: str) -> float:
    return float(len(response))


def raises_on_nothing(response: str) -> float:
    return 1.0 if response[0] == "4" else 0.0


def slow_on_what_is_long(response: str) -> float:
    if len(response) >= 1_000_000:
        time.sleep(20)
    return 0.5


def ends_the_process(response: str) -> float:
    if "\x00" in response:
        os._exit(3)
    return 0.5


def not_finite(response: str) -> float:
    return float("nan") if response == "." else 0.5


def no_result(response: str) -> Any:
    return "good" if response == "." else 0.5


def pays_a_missing_gold(response: str, ground_truth: str) -> float:
    return float(response == ground_truth)


def other_in_threads(response: str) -> float:
    return float(threading.current_thread() is threading.main_thread())


def other_in_workers(response: str) -> float:
    return float(inside_worker())


def remembers(response: str) -> float:
    if response in _seen:
        return 0.0
    _seen.add(response)
    return 1.0


@reward_function(mode="batch")
def relative_to_the_batch(messages: list[list[Any]]) -> list[float]:
    lengths = [len(conversation[-1].text) for conversation in messages]
    return [length / (max(lengths) or 1) for length in lengths]


def another_metric_each_time(response: str) -> EvaluateResult:
    return EvaluateResult(0.5, metrics={"calls": MetricResult(next(_count))})


def reads_a_type_that_does_not_travel(response: str, metadata: Mapping[str, Any]) -> float:
    return float(isinstance(metadata.get("pair"), tuple))


@pytest.mark.sample(3, seconds=2)
@pytest.mark.parametrize(
    ("reward", "modes", "says"),
    [
        (never_the_same, ("call",), r"row yes: when it is scored again, it gives the score .* in place of"),
        (too_high, (), r"row long: the score 17 is outside of the scale 0 to 1; response 'It is 4, I think\.'"),
        (raises_on_nothing, (), r"adversarial response: empty: raises: IndexError: string index out of range"),
        (raises_on_nothing, (), r"adversarial response: no content: raises: IndexError"),
        (slow_on_what_is_long, (), r"adversarial response: 1 MB of words: takes more than 1 s"),
        (ends_the_process, (), r"adversarial response: NUL: ends the process"),
        (not_finite, (), r"adversarial response: a full stop: gives something that is not a result: .*nan"),
        (no_result, (), r"adversarial response: a full stop: gives something that is not a result"),
        (pays_a_missing_gold, (), r"malformed expected answer: '': should be a failure, and gives the score 0"),
        (other_in_threads, ("thread",), r"row yes: in mode thread, it gives the score 0 in place of the score 1"),
        (other_in_workers, ("call",), r"row yes: in mode call, it gives the score 0 in place of the score 1"),
        (remembers, (), r"row yes: when it is scored again"),
        (relative_to_the_batch, ("call",), r"row no: in mode call, it gives the score 1 in place of"),
        (another_metric_each_time, (), r"row yes: when it is scored again, the metric calls is \d+ in place of"),
    ],
)  # fmt: skip
def test_a_defect(reward: Callable[..., Any], modes: tuple[str, ...], says: str) -> None:
    with pytest.raises(AssertionError) as broken:
        check_reward(reward, ROWS, scale=(0, 1), timeout=1, modes=modes)
    text = str(broken.value)
    assert re.match(rf"{reward.__name__} breaks the contract of a reward in \d+ ways?:\n- ", text)
    assert re.search(says, text), text


def test_a_defect_over_http() -> None:
    rows = [{**ROWS[0], "pair": (1, 2)}]
    with pytest.raises(AssertionError, match="in mode http, it gives the score 0 in place of the score 1"):
        check_reward(reads_a_type_that_does_not_travel, rows, modes=("http",))


def test_five_examples_of_each_thing_that_is_broken() -> None:
    with pytest.raises(AssertionError) as broken:
        check_reward(too_high, ROWS, scale=(0, 0.5), modes=())
    head, *examples, more = str(broken.value).split("\n")
    assert head == "too_high breaks the contract of a reward in 1 way:"
    assert [example.partition(":")[0] for example in examples[:3]] == ["- row yes", "- row no", "- row long"]
    assert len(examples) == 5
    assert re.fullmatch(r"  and \d+ more like these", more)


@reward_function(timeout=30, scale=(0, 1))
def with_a_limit_of_its_own(response: str) -> float:
    if response.startswith("9**9"):
        time.sleep(20)
    return 0.5


def test_a_deadline_that_the_reward_states_is_part_of_its_contract() -> None:
    report = check_reward(with_a_limit_of_its_own, ROWS, timeout=0.5, modes=("call", "thread"))
    assert report.failures == {"timeout": 1}
    assert report.slowest == "adversarial response: a tower in Python"


def jitters(response: str) -> EvaluateResult:
    return EvaluateResult(0.5 + random.random() / 1000, metrics={"seconds": MetricResult(random.random())})


def test_what_may_differ() -> None:
    check_reward(jitters, ROWS, tolerance=0.01, ignore=["seconds"], modes=HERE)
    with pytest.raises(AssertionError, match="the metric seconds"):
        check_reward(jitters, ROWS, tolerance=0.01, modes=())
    with pytest.raises(AssertionError, match="in place of the score"):
        check_reward(jitters, ROWS, ignore=["seconds"], modes=())


def refuses(response: str) -> float:
    raise InputError("there is nothing to look for")


@pytest.mark.parametrize(
    ("reward", "rows", "options", "says"),
    [
        (
            sound,
            ROWS,
            {"modes": ["carrier pigeon"]},
            "modes must be some of call, .* not 'carrier pigeon'",
        ),
        (sound, [], {}, "there are no rows"),
        (
            sound,
            [{"response": "4"}],
            {},
            "sound needs 'ground_truth', and the rows have .* give rows that suit",
        ),
        (sound, [{"prompt": "4"}], {}, 'case 1: a case needs "messages"'),
        (refuses, ROWS, {"modes": ()}, "refuses scores none of the rows, .*: there is nothing to look for"),
    ],
)
def test_mistakes(reward: Any, rows: list[Any], options: Mapping[str, Any], says: str) -> None:
    with pytest.raises(InputError, match=says):
        check_reward(reward, rows, **options)


def test_without_the_extra_for_servers_http_is_left_out_by_name(tmp_path: Path) -> None:
    (tmp_path / "uvicorn.py").write_text("raise ImportError('not installed', name='uvicorn')")
    code = (
        "from guerdon.testing import check_reward\n"
        "def brief(response: str) -> float: return 1.0\n"
        "report = check_reward(brief, [{'response': 'Yes.'}], scale=(0, 1), timeout=1)\n"
        "print(report.modes, report.left_out)"
    )
    environment = {**os.environ, "PYTHONPATH": str(tmp_path)}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment)
    assert "'worker') {'http': " in done.stdout, done.stderr
    assert 'pip install "guerdon[serve]"' in done.stdout
