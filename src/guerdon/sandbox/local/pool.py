"""A pool of fork servers: as many as may work at once, of whatever kinds are asked for."""

from __future__ import annotations

import os
import threading
import weakref

from guerdon.sandbox.execution import Report, SandboxJob
from guerdon.sandbox.local.environment import Spec
from guerdon.sandbox.local.server import ForkServerHandle, ServerLostError, UnavailableError

TRIES = 2
"""How often a job is run whose fork server was lost. A program has no effect beyond its run, so it may be."""

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
        self._closed = False
        weakref.finalize(self, _close_all, self._idle)
        _POOLS.add(self)

    def do(self, spec: Spec, job: SandboxJob) -> Report:
        """Runs a job on a server of that kind. Never raises for what became of it: see the report's status."""
        lost = ""
        for _ in range(TRIES):
            try:
                return self._try(spec, job)
            except UnavailableError as error:
                return Report(status="unavailable", detail=str(error), tier=spec.tier)
            except ServerLostError as error:
                lost = str(error)
        return Report(status="worker_lost", detail=lost, tier=spec.tier)

    def _try(self, spec: Spec, job: SandboxJob) -> Report:
        permit = _Permit()
        server = self._take(spec, permit)
        # Whatever interrupts it, a server that has not answered is not handed the next job: the answer that is
        # still to come would be taken for that job's.
        answered = False
        try:
            report = server.do(job)
            answered = True
            return report
        except UnavailableError:
            answered = True
            raise
        finally:
            self._give_back(server, permit, answered)

    def _take(self, spec: Spec, permit: _Permit) -> ForkServerHandle:
        with self._lock:
            while len(self._permits) >= self.workers and not self._closed:
                # A permit that an interruption gave up notifies nobody.
                self._lock.wait(_POLL_S)
            if self._closed:
                raise UnavailableError("the sandbox is closed")
            self._permits.add(permit)
            of_kind = next((server for server in reversed(self._idle) if server.spec == spec), None)
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
            server.close()
        self._release(permit)

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
        _close_all(idle)

    def abandon(self) -> None:
        """Forgets, in a fork of the process that made the pool, servers that are the other's."""
        self._lock = threading.Condition()
        for server in list(self._servers):
            server.abandon()
        self._idle.clear()
        self._permits.clear()


_POOLS: weakref.WeakSet[Pool] = weakref.WeakSet()


def _close_all(servers: list[ForkServerHandle]) -> None:
    while servers:
        servers.pop().close()


def _after_fork() -> None:
    for pool in list(_POOLS):
        pool.abandon()


os.register_at_fork(after_in_child=_after_fork)
