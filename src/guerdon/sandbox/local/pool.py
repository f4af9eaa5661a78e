"""A pool of fork servers: as many as may work at once, of whatever kinds are asked for."""

from __future__ import annotations

import os
import threading
import time
import weakref
from contextlib import suppress
from dataclasses import replace

from guerdon.sandbox.execution import Report, SandboxJob
from guerdon.sandbox.local.environment import Spec
from guerdon.sandbox.local.server import (
    ForkServerHandle,
    ServerGoneError,
    ServerLostError,
    UnavailableError,
)

TRIES = 2
"""How often a job is run whose fork server was lost. A program has no effect beyond its run, so it may be."""

CLEAN_S = 1.0
"""Seconds that a job waits for a working directory to be emptied; then another server takes it."""
_MOST = 0.8
"""The share of its time that a second try must have had, to be held against the program."""
_POLL_S = 0.2
"""Seconds between two looks for a permit while one waits."""


class _Permit:
    """The right to have a job done, one for each worker."""


class Pool:
    """Fork servers that are started when they are needed, and kept for the next job.

    Any number of threads may ask at once; ``workers`` of them are served at a time. What is left open ends when
    the pool is collected, or at the end of the interpreter.
    """

    def __init__(self, workers: int) -> None:
        self.workers = workers
        self._lock = threading.Condition()
        self._servers: weakref.WeakSet[ForkServerHandle] = weakref.WeakSet()
        """All of them, those at work among them."""
        self._idle: list[ForkServerHandle] = []
        self._permits: weakref.WeakSet[_Permit] = weakref.WeakSet()
        """Of the jobs at work. Held by the calls alone: one that is interrupted anywhere gives up its permit."""
        self._retiring: list[threading.Thread] = []
        """Those that end servers which nobody waits for."""
        self._closed = False
        weakref.finalize(self, _close_all, self._idle)
        _POOLS.add(self)

    def do(self, spec: Spec, job: SandboxJob) -> Report:
        """Runs a job on a server of that kind. Never raises for what became of it: see the report's status."""
        lost, left = "", job.longest_s
        for number in range(TRIES):
            again = number > 0
            try:
                # All tries together take no longer than one may.
                report = self._begun(spec, replace(job, total_wall_s=left) if again else job)
            except UnavailableError as error:
                return Report(status="unavailable", detail=str(error), tier=spec.tier)
            except ServerLostError as error:
                lost = str(error)
                left -= error.after_s
                if left <= 0:
                    break
                continue
            if again and report.status == "timeout" and left <= report.wall_s < _MOST * job.longest_s:
                break
            return report
        took = job.longest_s - left
        return Report(status="worker_lost", detail=lost, wall_s=took, tier=spec.tier)

    def _begun(self, spec: Spec, job: SandboxJob) -> Report:
        """Runs a job on the first server that takes it: what an earlier program did to one is no loss of this one."""
        for _ in range(self.workers + 1):
            with suppress(ServerGoneError):
                return self._try(spec, job)
        return self._try(spec, job)

    def _try(self, spec: Spec, job: SandboxJob) -> Report:
        permit = _Permit()
        server = self._take(spec, permit, job.queue_s)
        # Whatever interrupts it, a server that has not answered is not handed the next job: the answer that is
        # still to come would be taken for that job's.
        answered = False
        try:
            if not server.is_clean(CLEAN_S):
                raise ServerGoneError("it empties a working directory")
            report = server.do(job)
            answered = True
            return report
        except UnavailableError:
            answered = True
            raise
        finally:
            self._give_back(server, permit, answered)

    def _take(self, spec: Spec, permit: _Permit, queue_s: float | None) -> ForkServerHandle:
        ends = float("inf") if queue_s is None else time.monotonic() + queue_s
        with self._lock:
            while len(self._permits) >= self.workers and not self._closed:
                if time.monotonic() >= ends:
                    raise UnavailableError(
                        f"all {self.workers} workers of the sandbox were busy for {queue_s:g} s: use fewer threads"
                    )
                # A permit that an interruption gave up notifies nobody.
                self._lock.wait(_POLL_S)
            if self._closed:
                raise UnavailableError("the sandbox is closed")
            self._permits.add(permit)
            of_kind = None
            for server in self._idle:
                # The last that was used, and rather one whose working directory is empty.
                if server.spec == spec and (of_kind is None or of_kind.cleaning or not server.cleaning):
                    of_kind = server
            # No more processes than workers: one of another kind makes way for a new one.
            too_many = of_kind is None and len(self._idle) + len(self._permits) > self.workers
            superfluous = self._idle.pop(0) if too_many and self._idle else None
            if of_kind is not None:
                self._idle.remove(of_kind)
                return of_kind
        try:
            if superfluous is not None:
                superfluous.close()
            server = ForkServerHandle(spec)
            self._servers.add(server)
            return server
        except BaseException:
            self._release(permit)
            raise

    def _give_back(self, server: ForkServerHandle, permit: _Permit, answered: bool) -> None:
        with self._lock:
            keep = answered and not self._closed
            if keep:
                self._idle.append(server)
        if not keep:
            if server.cleaning:
                self._retire(server)
            else:
                server.close()
        self._release(permit)

    def _retire(self, server: ForkServerHandle) -> None:
        """Ends a server whose working directory takes long to remove, while others go on."""
        thread = threading.Thread(target=server.close, name="guerdon-sandbox-retire", daemon=True)
        with self._lock:
            self._retiring = [one for one in self._retiring if one.is_alive()] + [thread]
        thread.start()

    def _release(self, permit: _Permit) -> None:
        with self._lock:
            self._permits.discard(permit)
            self._lock.notify()

    def close(self) -> None:
        """Ends all servers; those at work when they have answered. Nobody waits for one any more."""
        with self._lock:
            self._closed = True
            idle = self._idle.copy()
            self._idle.clear()
            self._lock.notify_all()
            retiring, self._retiring = self._retiring, []
        _close_all(idle)
        for thread in retiring:
            thread.join()

    def abandon(self) -> None:
        """Forgets, in a fork of the process that made the pool, servers that are the other's."""
        self._lock = threading.Condition()
        for server in list(self._servers):
            server.abandon()
        self._idle.clear()
        self._permits.clear()
        self._retiring.clear()


_POOLS: weakref.WeakSet[Pool] = weakref.WeakSet()


def _close_all(servers: list[ForkServerHandle]) -> None:
    while servers:
        servers.pop().close()


def _after_fork() -> None:
    for pool in list(_POOLS):
        pool.abandon()


os.register_at_fork(after_in_child=_after_fork)
