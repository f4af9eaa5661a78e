"""Workers that ended a run in good health, kept for the next run of the same reward."""

from __future__ import annotations

import atexit
import contextlib
import os
import threading

from guerdon.scoring.process.ipc import BrokenFrameError
from guerdon.scoring.process.spawner import cpu_count
from guerdon.scoring.process.worker_process import WorkerProcess


class IdlePool:
    """Workers that wait for the next run of the same reward."""

    def __init__(self) -> None:
        self.forget()

    def forget(self) -> None:
        """Start empty, in a forked child that has no business with the parent's workers."""
        self._lock = threading.Lock()
        self._workers: list[WorkerProcess] = []

    def take(self, key: str) -> WorkerProcess | None:
        """A worker that has this very reward loaded, if one waits."""
        with self._lock:
            mine = [w for w in self._workers if w.key == key]
            for worker in mine:
                self._workers.remove(worker)
                with contextlib.suppress(BrokenFrameError):
                    if worker.is_alive() and worker.receive() == []:
                        return worker
                worker.close()
        return None

    def put(self, worker: WorkerProcess) -> None:
        """Keep a worker that has nothing in flight; the one that waited longest makes room."""
        with self._lock:
            self._workers.append(worker)
            surplus = self._workers[: -2 * cpu_count()]
            del self._workers[: -2 * cpu_count()]
        for old in surplus:
            old.close()

    def close(self) -> None:
        """End all workers."""
        with self._lock:
            workers, self._workers = self._workers, []
        for worker in workers:
            worker.close()


idle_workers = IdlePool()
atexit.register(idle_workers.close)

if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=idle_workers.forget)
