"""``guerdon judge calibrate``: labels of every shape, the report, what is refused, Ctrl-C and resuming."""

from __future__ import annotations

import json
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from support.cli_work import Run, row, start, write_rows
from support.judge_server import Asked, JudgeServer, Reply, better_is_longer, judge_server, verdict

CALIBRATE = ("judge", "calibrate")


def by_length(asked: Asked) -> Reply:
    """A grade of 1 to 5 by the number of letters."""
    return verdict(asked, score=min(5, len(asked.blocks()["response"])))


@pytest.fixture
def server() -> Iterator[JudgeServer]:
    with judge_server(by_length) as running:
        yield running


def parameters(server: JudgeServer, **more: Any) -> list[str]:
    given = {"model": "m", "base_url": server.address, "retries": 0, **more}
    return [word for name, value in given.items() for word in ("--param", f"{name}={value}")]


@pytest.fixture
def labelled(work: Path) -> Path:
    """Twenty rows of 1 to 5 letters; right from 3 on, but for one of each sort."""
    rows = [row("x" * (n % 5 + 1), id=f"r{n}", label=n % 5 + 1 >= 3) for n in range(20)]
    rows[0]["label"], rows[4]["label"] = True, False
    write_rows(work / "labelled.jsonl", rows)
    return work


@pytest.fixture
def pairs(work: Path) -> Path:
    rows = [
        {"prompt": "Longer?", "response_a": "x" * a, "response_b": "y" * b, "label": label}
        for a, b, label in ((3, 1, "A"), (1, 3, "B"), (4, 2, "B"), (2, 2, "tie"))
    ]
    write_rows(work / "pairs.jsonl", rows)
    return work


def test_verdicts(guerdon: Run, labelled: Path, server: JudgeServer) -> None:
    result = guerdon(
        *CALIBRATE, "judge", "labelled.jsonl", *parameters(server), "--report", "r.json", "--json"
    )
    assert result.exit_code == 0, result.stderr
    told = json.loads(result.stdout)
    assert told == json.loads((labelled / "r.json").read_text())
    assert (told["reward"], told["data"], told["labels"], told["rows"]) == (
        "judge",
        "labelled.jsonl",
        "verdicts",
        20,
    )
    assert told["accuracy"]["value"] == 0.9
    assert told["precision"]["value"] == told["recall"]["value"] == pytest.approx(11 / 12)
    assert told["accuracy"]["low"] == pytest.approx(0.699, abs=1e-3)  # Wilson's interval of 18 of 20
    assert told["accuracy"]["high"] == pytest.approx(0.972, abs=1e-3)
    assert told["kappa"] == pytest.approx((0.9 - 0.52) / 0.48)
    assert told["best"]["threshold"] == 0.5
    assert told["spent"]["requests"] == 20
    assert told["spent"]["prompt_tokens"] == 2000
    assert not any("label" in asked.user for asked in server.asked)


def test_on_the_terminal(guerdon: Run, labelled: Path, server: JudgeServer) -> None:
    result = guerdon(
        *CALIBRATE, "judge", "labelled.jsonl", *parameters(server, prompt_price=1), "--threshold", "0.8"
    )
    assert result.exit_code == 0
    for words in ("scored", "20 of 20", "Cohen's kappa", "best threshold", "2,000 + 400", "cost 0.002"):
        assert words in result.stdout
    assert "75.0 %" in result.stdout  # of the four that are paid three are right


def test_grades(guerdon: Run, work: Path, server: JudgeServer) -> None:
    write_rows(work / "g.jsonl", [row("x" * n, stars=n * 2) for n in (1, 2, 3, 4)])
    result = guerdon(*CALIBRATE, "judge", "g.jsonl", "--label", "stars", *parameters(server), "--json")
    assert result.exit_code == 0, result.stderr
    assert json.loads(result.stdout)["spearman"] == pytest.approx(1.0)


def test_pairs_in_both_orders(guerdon: Run, pairs: Path, server: JudgeServer) -> None:
    server.script = better_is_longer
    result = guerdon(*CALIBRATE, "judge", "pairs.jsonl", *parameters(server, kind="pairwise"), "--json")
    assert result.exit_code == 0, result.stderr
    told = json.loads(result.stdout)
    assert told["agreement"]["value"] == 0.75
    assert {place: rate["value"] for place, rate in told["agreement_by_first_shown"].items()} == {
        "A": 0.75,
        "B": 0.75,
    }
    assert (told["position_consistency"]["value"], told["position_bias"]) == (1.0, 0.0)
    assert len(server.asked) == 8


def test_pairs_for_a_judge_that_looks_at_the_place_only(
    guerdon: Run, pairs: Path, server: JudgeServer
) -> None:
    server.script = lambda asked: verdict(asked, better="A")
    result = guerdon(*CALIBRATE, "judge", "pairs.jsonl", *parameters(server, kind="pairwise"), "--json")
    told = json.loads(result.stdout)
    assert (told["ties"], told["position_consistency"]["value"], told["position_bias"]) == (4, 0.0, 1.0)


def test_pairs_for_a_reward_that_scores_each(guerdon: Run, pairs: Path) -> None:
    result = guerdon(*CALIBRATE, "my_rewards.py::length", "pairs.jsonl", "--json", "-o", "s.jsonl")
    assert result.exit_code == 0, result.stderr
    told = json.loads(result.stdout)
    assert (told["agreement"]["value"], told["rows"]) == (0.75, 4)
    assert len((pairs / "s.jsonl").read_text().splitlines()) == 8


def test_failures_are_counted_and_no_verdicts(guerdon: Run, labelled: Path, server: JudgeServer) -> None:
    def script(asked: Asked) -> Reply:
        return Reply("no", 400) if len(asked.blocks()["response"]) == 1 else by_length(asked)

    server.script = script
    result = guerdon(*CALIBRATE, "judge", "labelled.jsonl", *parameters(server), "--json")
    assert result.exit_code == 0
    told = json.loads(result.stdout)
    assert (told["scored"], told["failures"], told["accuracy"]["n"]) == (16, {"remote": 4}, 16)


def test_where_all_fail_the_status_is_1(guerdon: Run, labelled: Path, server: JudgeServer) -> None:
    server.script = lambda asked: Reply("no", 400)
    result = guerdon(*CALIBRATE, "judge", "labelled.jsonl", *parameters(server))
    assert result.exit_code == 1
    assert result.stderr.startswith("Error: all 20 samples failed with remote: http://127.0.0.1")
    assert "0 of 20" in result.stdout
    assert "20 failed (remote)" in result.stdout
    assert "first failure: http://127.0.0.1" in result.stdout


@pytest.mark.parametrize("data", ["labelled.jsonl", "absent.jsonl"])
def test_without_a_model_it_says_what_is_missing_before_it_reads_the_data(
    data: str, guerdon: Run, labelled: Path
) -> None:
    result = guerdon(*CALIBRATE, "judge", data)
    assert result.exit_code == 2
    assert result.stderr == "Error: the judge needs a model: give model=, or set GUERDON_JUDGE_MODEL\n"


def test_a_judge_that_does_not_listen_is_told_before_the_data(guerdon: Run, labelled: Path) -> None:
    given = ["--param", "model=m", "--param", "base_url=http://127.0.0.1:9/v1"]
    result = guerdon(*CALIBRATE, "judge", "absent.jsonl", *given)
    assert (result.exit_code, result.stdout, result.stderr.count("\n")) == (2, "", 1)
    assert "cannot be reached" in result.stderr


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("judge", "absent.jsonl"), "absent.jsonl"),
        (("no_such_reward", "labelled.jsonl"), "no_such_reward"),
        (("judge", "labelled.jsonl", "--label", "verdict"), 'row 1 has no label in a column "verdict"'),
        (("judge", "labelled.jsonl", "--label", "id"), "must hold right or wrong"),
        (("judge", "labelled.jsonl", "--threshold", "high"), "'high' is not a number"),
        (("judge", "labelled.jsonl", "--threshold", "nan"), "not a number"),
        (("judge", "labelled.jsonl", "--param", "api_key=sk-1"), "api_key"),
        (("judge", "labelled.jsonl", "--resume"), "--resume needs the file"),
        (("judge", "labelled.jsonl", "--skip-bad-rows"), "leaves no rows out"),
        (("judge", "labelled.jsonl", "--report", "my_rewards.py"), "exists already"),
        (("judge", "labelled.jsonl", "--report", "no/such/r.json"), "is not a file that can be written"),
        (("judge", "labelled.jsonl", "--report", "r.json", "-o", "r.json"), "name the same file"),
        (("judge", "labelled.jsonl", "-o", "labelled.jsonl"), "is read from"),
    ],
)
def test_what_is_refused_before_anything_is_asked(
    arguments: tuple[str, ...], says: str, guerdon: Run, labelled: Path, server: JudgeServer
) -> None:
    result = guerdon(*CALIBRATE, *arguments, *parameters(server))
    assert result.exit_code == 2
    assert says in result.stderr
    assert "Traceback" not in result.stderr


def test_a_pair_without_its_second_response(guerdon: Run, work: Path, server: JudgeServer) -> None:
    pair = {"prompt": "?", "response_a": "x", "response_b": "y", "label": "A"}
    write_rows(work / "p.jsonl", [pair, {**pair, "response_b": None}])
    result = guerdon(*CALIBRATE, "judge", "p.jsonl", *parameters(server))
    assert result.exit_code == 2
    assert 'second response as text in the column "response_b"' in result.stderr


@pytest.mark.slow(seconds=6)
def test_ctrl_c_and_resume(labelled: Path, server: JudgeServer) -> None:
    server.script = lambda asked: Reply(by_length(asked).body, delay=0.15)
    scores = labelled / "s.jsonl"
    arguments = (
        *CALIBRATE,
        "judge",
        "labelled.jsonl",
        *parameters(server),
        "-o",
        "s.jsonl",
        "--concurrency",
        "2",
    )
    process = start(*arguments, folder=labelled)
    end = time.monotonic() + 60
    while not (scores.exists() and len(scores.read_text().splitlines()) >= 4):
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < end
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert (process.returncode, out) == (130, "")
    assert "of 20 samples are scored and kept; continue with: guerdon judge calibrate" in err
    asked = len(server.asked)
    assert asked < 20
    process = start(*arguments, "--resume", "--json", folder=labelled)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 0, err
    told = json.loads(out)
    assert (told["rows"], told["accuracy"]["value"], told["spent"]["requests"]) == (20, 0.9, 20)
    assert len(server.asked) == 20  # none was asked twice


def test_alone_it_shows_its_help(guerdon: Run) -> None:
    result = guerdon("judge")
    assert result.exit_code == 0
    assert "calibrate" in result.stdout
