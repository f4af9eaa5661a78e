"""``guerdon journal``: what was recorded is listed, shown and scored again; nothing is sent anywhere."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from guerdon.cli.commands.journal import parse_since, parse_status
from guerdon.errors import InputError
from guerdon.serve.journal.migrations import Score
from guerdon.serve.journal.store import Journal, JournalEntry
from support.cli_work import Run

EXACT = "my_rewards.py::exact"
BATCHED = '''
from guerdon import reward_function

@reward_function(mode="batch")
def rank(messages):
    """The share of the batch that is not longer."""
    responses = [conversation[-1].text for conversation in messages]
    return [sum(len(other) <= len(r) for other in responses) / len(responses) for r in responses]
'''


def turns(response: str, answer: str = "a", **more: Any) -> dict[str, Any]:
    return {"turns": [{"role": "assistant", "content": response}], "metadata": {"answer": answer, **more}}


def entry(body: Any, scores: Sequence[Score], **fields: Any) -> JournalEntry:
    """A request in Adaptive's format, answered with these scores."""
    given: dict[str, Any] = {
        "request_id": "r-1",
        "time": 1_700_000_000.0,
        "method": "POST",
        "path": "/score",
        "status": 200,
        "ms": 12.5,
        "headers": [(b"host", b"127.0.0.1:1"), (b"content-type", b"application/json")],
        "reward": "exact",
        "version": "0ld",
        "format": "adaptive",
        "op": "batch_score" if isinstance(body, dict) and "requests" in body else "score",
        "scores": scores,
        "request": body if isinstance(body, bytes) else json.dumps(body).encode(),
        "response": b'{"reward":1.0}',
    }
    return JournalEntry(**{**given, **fields})


def write(*entries: JournalEntry) -> str:
    """The name of a journal of these, in the working directory."""
    Path("journal.db").unlink(missing_ok=True)
    with Journal("journal.db") as journal:
        for each in entries:
            journal.record(each)
    return "journal.db"


@pytest.fixture
def file(work: Path) -> str:
    """A journal of four requests to the reward exact, one of them refused, and one to another reward."""
    batch = {"requests": [turns("a"), turns("b"), turns("c")]}
    return write(
        entry(turns("a"), [1.0], request_id="r-1"),
        entry(batch, [1.0, 0.0, None], request_id="r-2", failures={"timeout": 1}, path="/batch_score?key=no"),
        entry(turns("b"), [1.0], request_id="r-3", time=time.time() - 60),
        entry(b"nonsense", [], request_id="r-4", status=422, time=time.time()),
        entry(turns("a"), [0.25], request_id="r-5", reward="other", time=time.time()),
    )


# list


def test_list(guerdon: Run, file: str) -> None:
    result = guerdon("journal", "list", file, COLUMNS="100")
    assert result.exit_code == 0, result.stderr
    head, *rows = result.stdout.splitlines()
    assert head.split() == ["id", "time", "reward", "asked", "status", "took", "scores"]
    assert [row.split()[0] for row in rows] == ["1", "2", "3", "4", "5"]
    assert rows[1].endswith("exact   adaptive batch_score     200  12.5 ms  1 0 none (1 failed)")
    assert "422" in rows[3]


@pytest.mark.parametrize(
    ("flags", "found"),
    [
        ((), [1, 2, 3, 4, 5]),
        (("--reward", "other"), [5]),
        (("--status", "4xx"), [4]),
        (("--status", "200", "--reward", "exact"), [1, 2, 3]),
        (("--failed",), [2, 4]),
        (("--since", "30s"), [4, 5]),
        (("--since", "5m"), [3, 4, 5]),
        (("--since", "2023-01-01"), [1, 2, 3, 4, 5]),
        (("--limit", "2"), [4, 5]),
        (("--status", "504"), []),
    ],
)
def test_filters(guerdon: Run, file: str, flags: tuple[str, ...], found: list[int]) -> None:
    result = guerdon("journal", "list", file, "--json", *flags)
    assert result.exit_code == 0, result.stderr
    assert [json.loads(line)["id"] for line in result.stdout.splitlines()] == found


def test_list_of_nothing(guerdon: Run, file: str) -> None:
    assert guerdon("journal", "list", file, "--status", "504").stdout == "No such requests.\n"


def test_list_for_machines(guerdon: Run, file: str) -> None:
    row = json.loads(guerdon("journal", "list", file, "--json", "--limit", "4").stdout.splitlines()[0])
    assert row["path"] == "/batch_score?key=[redacted]"
    assert (row["scores"], row["failures"], row["failed"]) == ([1.0, 0.0, None], {"timeout": 1}, 1)
    assert "request" not in row


# show


@pytest.mark.parametrize("identity", ["2", "r-2"])
def test_show(guerdon: Run, file: str, identity: str) -> None:
    result = guerdon("journal", "show", file, identity)
    assert result.exit_code == 0, result.stderr
    for words in ("id          2  r-2", "POST /batch_score?key=[redacted]", "200 after 12.5 ms", "1 timeout"):
        assert words in result.stdout
    assert '"answer": "a"' in result.stdout
    row = json.loads(guerdon("journal", "show", file, identity, "--json").stdout)
    assert row["request"]["requests"][1] == turns("b")
    assert row["response"] == {"reward": 1.0}


def test_show_of_what_is_no_json(guerdon: Run, file: str) -> None:
    assert "request\nnonsense\n" in guerdon("journal", "show", file, "r-4").stdout


def test_hostile_values_are_shown_not_obeyed(guerdon: Run, work: Path) -> None:
    hostile = "\x1b[31m\u202ered"
    name = write(entry(turns(hostile), [1.0], reward=hostile, path=f"/{hostile}", request_id=hostile))
    for result in (guerdon("journal", "list", name), guerdon("journal", "show", name, "1")):
        assert "\x1b" not in result.stdout
        assert "\u202e" not in result.stdout


# replay


def test_replay_tells_how_many_changed(guerdon: Run, file: str) -> None:
    result = guerdon("journal", "replay", file, EXACT, "--workers", "0")
    assert result.exit_code == 0, result.stderr
    skipped, summary = result.stdout.splitlines()
    assert skipped == "not scored again: 4: it was answered 422 and not scored"
    assert summary.startswith("3 requests, 5 samples with exact ")
    assert summary.endswith(", recorded with 0ld: 3 as recorded, 2 changed")


def test_diff_shows_each_and_exits_with_1(guerdon: Run, file: str) -> None:
    result = guerdon("journal", "replay", file, EXACT, "--diff", "--workers", "0")
    assert result.exit_code == 1
    assert result.stdout.splitlines()[:2] == ["2[2]  timeout -> 0", "3  1 -> 0"]


@pytest.mark.parametrize(
    ("flags", "status", "samples"),
    [
        (("--id", "1"), 0, 1),
        (("--id", "r-3"), 1, 1),
        (("--id", "1", "--id", "r-2"), 1, 4),
        (("--since", "5m"), 1, 1),
        (("--last", "4"), 1, 5),
        (("--as", "other"), 1, 1),
        (("--workers", "1", "--timeout", "5", "--id", "1"), 0, 1),
    ],
)
def test_a_part_of_it(guerdon: Run, file: str, flags: tuple[str, ...], status: int, samples: int) -> None:
    workers = () if "--workers" in flags else ("--workers", "0")
    result = guerdon("journal", "replay", file, EXACT, "--diff", "--json", *flags, *workers)
    assert result.exit_code == status, result.output
    assert sum(request["samples"] for request in json.loads(result.stdout)) == samples


def test_replay_for_machines(guerdon: Run, file: str) -> None:
    result = guerdon("journal", "replay", file, EXACT, "--json", "--workers", "0")
    first, second, third, fourth = json.loads(result.stdout)
    assert first == {"id": 1, "request_id": "r-1", "version": "0ld", "samples": 1, "changes": []}
    assert second["changes"] == [{"sample": 2, "before": "timeout", "after": 0.0, "reason": None}]
    assert third["changes"][0]["after"] == 0.0
    assert fourth["skipped"] == "it was answered 422 and not scored"


def test_a_failure_and_its_reason(guerdon: Run, work: Path) -> None:
    name = write(
        entry(turns("b"), [1.0], reward="fails_on_b"),
        entry(turns("b"), [None], reward="fails_on_b", failures={"exception": 1}),
        entry(turns("b"), [None], reward="fails_on_b", failures={"timeout": 1}),
    )
    result = guerdon("journal", "replay", name, "my_rewards.py::fails_on_b", "--diff", "--workers", "0")
    assert result.exit_code == 1
    first, second, _ = result.stdout.splitlines()
    assert first.startswith("1  1 -> exception  ValueError: b is not for me")
    assert second.startswith("3  timeout -> exception  ValueError")


def test_parameters_of_the_reward(guerdon: Run, work: Path) -> None:
    name = write(entry(turns("abcd"), [0.8], reward="length"))
    args = ("journal", "replay", name, "my_rewards.py::length", "--diff", "--workers", "0")
    assert guerdon(*args).exit_code == 1
    assert guerdon(*args, "--param", "most=5").exit_code == 0


def test_a_deadline_holds(guerdon: Run, work: Path) -> None:
    Path("sleepy.py").write_text("def sleepy(response):\n    while True: pass\n", encoding="utf-8")
    name = write(entry(turns("a"), [1.0], reward="sleepy"))
    result = guerdon(
        "journal", "replay", name, "sleepy.py::sleepy", "--diff", "--workers", "1", "--timeout", "0.3"
    )
    assert result.exit_code == 1
    assert result.stdout.startswith("1  1 -> timeout")


def test_a_batch_is_the_samples_of_one_request(guerdon: Run, work: Path) -> None:
    Path("batched.py").write_text(BATCHED, encoding="utf-8")
    sizes = (1, 3, 2, 3)
    entries = []
    for size in sizes:
        requests = [turns("x" * (i + 1)) for i in range(size)]
        entries.append(entry({"requests": requests}, [(i + 1) / size for i in range(size)], reward="rank"))
    result = guerdon("journal", "replay", write(*entries), "batched.py::rank", "--diff", "--workers", "0")
    assert result.exit_code == 0, result.output
    assert "4 requests, 9 samples" in result.stdout
    assert result.stdout.endswith("9 as recorded, 0 changed\n")


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"format": "morse"}, "the format 'morse' is not known"),
        ({"scores": [1.0, 1.0]}, "2 scores were recorded, and its body holds 1 samples"),
        ({"scores": []}, "it was answered 200 and not scored"),
    ],
)
def test_what_cannot_be_scored_again(guerdon: Run, work: Path, fields: dict[str, Any], reason: str) -> None:
    name = write(entry(turns("a"), **{"scores": [1.0], **fields}))
    result = guerdon("journal", "replay", name, EXACT, "--diff", "--workers", "0")
    assert result.exit_code == 0, result.output
    assert result.stdout.splitlines()[0] == f"not scored again: 1: {reason}"


def test_a_request_that_is_now_refused_has_changed(guerdon: Run, work: Path) -> None:
    name = write(entry(b'{"turns": 5}', [1.0]))
    result = guerdon("journal", "replay", name, EXACT, "--diff", "--workers", "0")
    assert result.exit_code == 1
    assert result.stdout.startswith("1  1 -> input  the request is refused: body.turns: ")


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (("list", "nothing.db"), "there is no journal nothing.db"),
        (("list", "my_rewards.py"), "my_rewards.py is not a journal"),
        (("list", "journal.db", "--since", "long ago"), "'long ago' is not a time"),
        (("list", "journal.db", "--status", "7xx"), "'7xx' is not a status"),
        (("list", "journal.db", "--limit", "0"), "0"),
        (("show", "journal.db", "99"), "journal.db holds no request '99'"),
        (("replay", "journal.db", "nowhere"), "there is no reward 'nowhere'"),
        (("replay", "journal.db", "my_rewards.py::length"), "there are some to exact, other"),
        (("replay", "journal.db", EXACT, "--id", "99"), "holds no matching requests to exact"),
        (("replay", "journal.db", EXACT, "--timeout", "-1"), "not a number of seconds"),
    ],
)
def test_mistakes(guerdon: Run, file: str, args: tuple[str, ...], message: str) -> None:
    result = guerdon("journal", *args)
    assert result.exit_code == 2
    assert result.stdout == ""
    assert result.stderr.count("\n") == 1
    assert message in result.stderr


def test_an_empty_journal(guerdon: Run, work: Path) -> None:
    name = write()
    assert guerdon("journal", "list", name).stdout == "No such requests.\n"
    assert "it is empty" in guerdon("journal", "replay", name, EXACT).stderr


@pytest.mark.parametrize("text", ["", "yesterday", "10", "-5m", "5y", "9999999d", "2025-13-01"])
def test_what_is_no_time(text: str) -> None:
    with pytest.raises(InputError, match="is not a time; write how long ago"):
        parse_since(text)


@pytest.mark.parametrize("text", ["", "xx", "6xx", "99", "2000", "5XY"])
def test_what_is_no_status(text: str) -> None:
    with pytest.raises(InputError, match="is not a status; write 504 or 5xx"):
        parse_status(text)
    assert parse_status("5XX") == (500, 599)
