"""A server process and the one that started it: what each learns of the other."""

from __future__ import annotations

import contextlib
import os
import signal
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from guerdon.errors import InputError
from guerdon.serve.child_process import ServerProcess, ServerProgram, StopSignals
from guerdon.serve.http.server import HttpServer
from guerdon.serve.launch import RewardRef, bind_socket, load_specs, new_server
from guerdon.serve.options import ServeOptions


@dataclass
class Program(ServerProgram):
    """Serves a reward, or fails to start in the way that is asked for."""

    start: str = "serve"

    @contextlib.contextmanager
    def open_server(self) -> Iterator[HttpServer]:
        if self.start == "refuse":
            raise InputError("a wrong option")
        if self.start == "break":
            raise ValueError("a bug")
        if self.start == "exit":
            raise SystemExit(3)
        if self.start == "die":
            os._exit(3)
        options = ServeOptions(port=0, drain=1.0, workers=1)
        with new_server(options, load_specs([RewardRef("exact_match")], options)) as server:
            yield server

    def on_parent_gone(self, server: HttpServer) -> None:
        server.stop()

    def ready_details(self) -> tuple[Any, ...]:
        return ("details",)

    def failure_details(self, error: BaseException) -> tuple[Any, ...]:
        return (type(error).__name__,)


@contextlib.contextmanager
def started(start: str = "serve") -> Iterator[ServerProcess]:
    with bind_socket("127.0.0.1", 0) as listener:
        process = ServerProcess(Program(start), listener)
    try:
        yield process
    finally:
        process.close()


def all_messages(process: ServerProcess) -> Iterator[tuple[Any, ...]]:
    while True:
        for message in process.messages():
            yield message
            if message == ("gone",):
                return


@pytest.mark.sample(2, seconds=1)
@pytest.mark.parametrize(
    ("start", "first"),
    [
        ("refuse", ("failed", "input", "a wrong option", "InputError")),
        ("break", ("failed", "exception", "ValueError: a bug", "ValueError")),
        ("exit", ("failed", "exception", "SystemExit: 3", "SystemExit")),
        ("die", ("gone",)),
    ],
)
def test_a_server_that_does_not_start_says_why(start: str, first: tuple[Any, ...]) -> None:
    with started(start) as process:
        assert next(all_messages(process)) == first


@pytest.mark.sample(1, seconds=2)
@pytest.mark.parametrize("order", ["stop", "hand_over"])
def test_a_server_reports_its_life(order: str) -> None:
    with started() as process:
        messages = all_messages(process)
        assert next(messages) == ("ready", "details")
        getattr(process, order)()
        kinds = [kind for kind, *_ in messages]
        assert kinds == ["stopping", "ended", "gone"]
        assert process.wait(10.0)


def test_a_closed_process_is_gone_and_takes_orders_in_silence() -> None:
    with started() as process:
        assert next(all_messages(process))[0] == "ready"
        process.close()
        process.stop()
        assert process.messages() == [("gone",)]
        assert process.wait(0.0)


@pytest.mark.parametrize(
    ("sent", "at_once"),
    [
        ([signal.SIGTERM, signal.SIGTERM], False),
        ([signal.SIGINT], False),
        ([signal.SIGINT, signal.SIGINT], True),
        ([signal.SIGTERM, signal.SIGINT], True),
    ],
)
def test_a_ctrl_c_after_another_signal_means_at_once(sent: list[signal.Signals], at_once: bool) -> None:
    before = signal.getsignal(signal.SIGINT)
    with StopSignals() as signals:
        for number in sent:
            signal.raise_signal(number)
    assert (signals.count, signals.at_once) == (len(sent), at_once)
    assert signal.getsignal(signal.SIGINT) is before
