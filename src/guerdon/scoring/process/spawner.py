"""The thread that starts all worker processes."""

from __future__ import annotations

import os
import queue
import threading
from collections.abc import Callable
from typing import Any, TypeVar

T = TypeVar("T")


def cpu_count() -> int:
    """How many processors this process may use."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # not on this system
        return os.cpu_count() or 1


class Spawner:
    """A thread that lives as long as the process and starts all workers.

    The kernel ends a worker when the *thread* that started it ends; threads of callers come and go.
    """

    def __init__(self) -> None:
        self.forget()

    def forget(self) -> None:
        """Start anew, in a forked child that does not have the thread."""
        self._lock = threading.Lock()
        self._jobs: queue.SimpleQueue[tuple[Callable[[], Any], queue.SimpleQueue[Any]]] | None = None

    def call(self, job: Callable[[], T]) -> T:
        """Run a job on the spawning thread and give its result or raise its exception."""
        with self._lock:
            if self._jobs is None:
                self._jobs = queue.SimpleQueue()
                threading.Thread(
                    target=self._work, args=(self._jobs,), name="guerdon-spawner", daemon=True
                ).start()
        answer: queue.SimpleQueue[tuple[T | None, BaseException | None]] = queue.SimpleQueue()
        self._jobs.put((job, answer))
        result, error = answer.get()
        if error is not None:
            raise error
        return result  # type: ignore[return-value]

    @staticmethod
    def _work(jobs: queue.SimpleQueue[tuple[Callable[[], Any], queue.SimpleQueue[Any]]]) -> None:
        while True:
            job, answer = jobs.get()
            try:
                answer.put((job(), None))
            except BaseException as error:  # handed to the caller, whose error it is
                answer.put((None, error))


spawner = Spawner()

if hasattr(os, "register_at_fork"):
    # A forked child does not have the thread.
    os.register_at_fork(after_in_child=spawner.forget)
