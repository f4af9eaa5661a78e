"""Ctrl-C during a run: the first asks for an end, the second ends at once."""

from __future__ import annotations

import os
import signal
import threading

import pytest

from guerdon.train.backends.interrupts import InterruptHandler


def test_the_first_interrupt_is_a_request_and_the_second_raises() -> None:
    before = signal.getsignal(signal.SIGINT)
    with InterruptHandler() as interrupts:
        assert not interrupts.requested
        os.kill(os.getpid(), signal.SIGINT)
        assert interrupts.requested
        with pytest.raises(KeyboardInterrupt):
            os.kill(os.getpid(), signal.SIGINT)
    assert signal.getsignal(signal.SIGINT) is before


def test_in_another_thread_the_handler_is_left_alone() -> None:
    seen: list[object] = []

    def enter() -> None:
        with InterruptHandler() as interrupts:
            seen.extend([interrupts.requested, signal.getsignal(signal.SIGINT)])

    before = signal.getsignal(signal.SIGINT)
    thread = threading.Thread(target=enter)
    thread.start()
    thread.join()
    assert seen == [False, before]
