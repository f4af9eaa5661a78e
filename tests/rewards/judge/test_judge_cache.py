"""The cache of verdicts."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from support.judge_server import (
    JudgeServer,
    always,
    ask,
    in_turn,
    saying,
)

KEY = "sk-test-0123456789abcdef"


def test_a_verdict_is_kept(server: JudgeServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "verdicts.sqlite"
    first = ask(server, cache=file)
    second = ask(server, cache=str(file))
    assert (first.score, second.score, second.reason) == (0.75, 0.75, first.reason)
    assert (second.metrics["cached"].score, second.metrics["requests"].score) == (1, 0)
    assert second.metrics["prompt_tokens"].score == 0
    assert len(server.asked) == 1
    monkeypatch.setenv("GUERDON_JUDGE_CACHE", str(file))
    assert ask(server).metrics["cached"].score == 1
    for other in (
        {"seed": 1},
        {"model": "m2"},
        {"points": 4},
        {"rubric": "x"},
        {"temperature": 1},
        {"max_tokens": 99},
    ):
        ask(server, **other)
    assert len(server.asked) == 7


def test_what_is_unreadable_is_not_kept(server: JudgeServer, tmp_path: Path) -> None:
    server.script = in_turn(saying("Hm."), saying("Hm."), always(score=4))
    assert ask(server, cache=tmp_path / "c").failed
    assert ask(server, cache=tmp_path / "c").score == 0.75


def test_neither_the_key_nor_a_text_that_was_judged_is_in_the_cache(
    server: JudgeServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GUERDON_JUDGE_API_KEY", KEY)
    ask(server, cache=tmp_path / "c")
    content = (tmp_path / "c").read_bytes()
    assert KEY.encode() not in content
    assert b"Red Sea" not in content


def test_a_cache_that_cannot_be_used_is_said_so(server: JudgeServer, tmp_path: Path) -> None:
    (tmp_path / "c").write_bytes(b"no database, only some text that is long enough" * 50)
    result = ask(server, cache=tmp_path / "c")
    assert result.error_kind == "input"
    assert "cannot be used: file is not a database" in str(result.error)
    assert ask(server, cache=tmp_path / "no" / "folder").error_kind == "input"
    assert ask(server, cache=3).error_kind == "input"


def test_several_processes_use_one_cache(server: JudgeServer, tmp_path: Path) -> None:
    code = (
        "import asyncio, sys\n"
        "from guerdon.rewards.judge.reward import judge\n"
        "async def all():\n"
        "    calls = [judge([{'role': 'assistant', 'content': f'Sea {n}'}], model='m', base_url=sys.argv[1],\n"
        "        cache=sys.argv[2]) for n in range(30)]\n"
        "    return await asyncio.gather(*calls)\n"
        "assert [r.score for r in asyncio.run(all())] == [0.75] * 30\n"
    )
    command = [sys.executable, "-W", "error", "-c", code, server.address, str(tmp_path / "c")]
    running = [subprocess.Popen(command) for _ in range(3)]
    assert [process.wait(60) for process in running] == [0, 0, 0]
    with sqlite3.connect(tmp_path / "c") as connection:
        assert connection.execute("select count(*) from answers").fetchone() == (30,)
    connection.close()
