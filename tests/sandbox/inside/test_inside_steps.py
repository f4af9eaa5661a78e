"""Which answers wind up a run's clocks: complete ones, in order, each once."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from guerdon.sandbox.inside import steps
from guerdon.sandbox.inside.steps import StepCounter


@pytest.fixture
def answers() -> Iterator[int]:
    descriptor = os.memfd_create("answers")
    yield descriptor
    os.close(descriptor)


def advances(counter: StepCounter, answers: int, *written: bytes) -> list[bool]:
    found = []
    for piece in written:
        os.write(answers, piece)
        found.append(counter.advanced())
    return found


def test_a_step_is_done_once_its_line_is_complete(answers: int) -> None:
    pieces = (b'["ready"]', b"\n", b"[0,0,null", b',"value",1]\n', b"", b"[1,0]\n[2,0]\n")
    assert advances(StepCounter(answers, 9), answers, *pieces) == [False, True, False, True, False, True]


def test_what_is_no_new_answer_counts_for_nothing(answers: int) -> None:
    counter = StepCounter(answers, 9)
    assert advances(counter, answers, b'["ready"]\n', b"[0,0]\n") == [True, True]
    junk = (
        b" ",
        b"\n",
        b"\n" * 70_000,
        b"x" * 70_000 + b"\n",
        b"[0,1]\n",
        b"[0,0]\n",
        b"[2,0]\n",
        b"x[1,0]\n",
    )
    assert not any(advances(counter, answers, *junk))
    assert advances(counter, answers, b"[1,0]\n") == [True]


def test_there_are_no_more_steps_than_were_asked_for(answers: int) -> None:
    lines = [b'["ready"]\n', *(b"[%d,0]\n" % number for number in range(5))]
    assert advances(StepCounter(answers, 3), answers, *lines) == [True, True, True, False, False, False]


def test_an_answer_may_lie_across_what_is_read_at_once(answers: int) -> None:
    for before in range(steps._SIZE - 12, steps._SIZE + 2):
        os.ftruncate(answers, 0)
        os.lseek(answers, 0, os.SEEK_SET)
        filler = b'["ready"]\n' + b"x" * (before - 11) + b"\n"
        counter = StepCounter(answers, 9)
        assert advances(counter, answers, filler, b"[0,0]", b"\n", b"[1,0]\n") == [True, False, True, True]


def test_nothing_of_the_answers_is_kept(answers: int) -> None:
    advances(StepCounter(answers, 9), answers, b'["ready"]\n[0,0,"secret"]\n')
    assert not any(steps._BUFFER)


@pytest.mark.parametrize("at", [0, 12, 18])
def test_what_was_written_over_is_noticed(answers: int, at: int) -> None:
    counter = StepCounter(answers, 9)
    assert advances(counter, answers, b'["ready"]\n[0,0,"value"]\n', b"[1,0") == [True, False]
    os.write(answers, b"]\n")
    assert not counter.changed()
    os.pwrite(answers, b"?", at)
    assert counter.changed()


def test_cutting_the_answers_off_is_noticed(answers: int) -> None:
    counter = StepCounter(answers, 9)
    assert advances(counter, answers, b'["ready"]\n[0,0]\n') == [True]
    os.ftruncate(answers, 3)
    assert counter.changed()
