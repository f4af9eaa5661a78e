"""Which walls there are on this machine, found out by trying to get through them."""

from __future__ import annotations

import os
import threading
from dataclasses import dataclass, replace

from guerdon.errors import InputError
from guerdon.sandbox.execution import Tier
from guerdon.sandbox.isolation.self_test import (
    SelfTestError,
    SelfTestResult,
    run_escape_attempts,
    run_limit_tests,
)
from guerdon.sandbox.local.environment import Spec
from guerdon.sandbox.local.server import ForkServerHandle, ServerLostError, UnavailableError

TIERS: tuple[Tier, ...] = ("native", "bubblewrap", "landlock")
"""From the strongest to the weakest that still is one."""
ISOLATIONS = ("auto", *TIERS, "none")
TOLERATED = frozenset({"seeing that host files exist", "starting more threads"})
"""What a tier need not hold to be used; it is reported all the same. Where the kernel does not count threads,
as it never does for root, memory bounds them."""


@dataclass(frozen=True, slots=True)
class TierReport:
    """One tier on this machine: whether it is to be had, and what it holds against."""

    tier: Tier
    available: bool
    reason: str = ""
    """Why it is not to be had."""
    findings: tuple[SelfTestResult, ...] = ()

    @property
    def leaks(self) -> tuple[SelfTestResult, ...]:
        """What did not hold."""
        return tuple(found for found in self.findings if not found.held)

    @property
    def sound(self) -> bool:
        """Whether programs that nobody trusts may be run in it: all holds but what is tolerated."""
        return self.available and all(found.what in TOLERATED for found in self.leaks)

    @property
    def failing(self) -> str:
        """Why it is not used, in a line; nothing where it is sound."""
        if not self.available:
            return self.reason
        serious = [found.what for found in self.leaks if found.what not in TOLERATED]
        return f"does not hold against {', '.join(serious)}" if serious else ""


_known: dict[Tier, TierReport] = {}
_lock = threading.Lock()


def _after_fork() -> None:
    global _lock
    # Another thread of the process that this one was forked from may have held it.
    _lock = threading.Lock()


os.register_at_fork(after_in_child=_after_fork)


def examine(tier: Tier) -> TierReport:
    """Starts a fork server of the tier and tries to get out of it; asked once a process."""
    with _lock:
        if tier not in _known:
            _known[tier] = _examine(tier)
        return _known[tier]


def _examine(tier: Tier) -> TierReport:
    try:
        server = ForkServerHandle(Spec(tier))
        try:
            return TierReport(tier, True, "", tuple(run_escape_attempts(server)))
        finally:
            server.close()
    except (UnavailableError, ServerLostError, SelfTestError) as error:
        return TierReport(tier, False, str(error))


def examine_limits(report: TierReport) -> TierReport:
    """The report with whether each limit holds, which takes a second or two to try."""
    if not report.available:
        return report
    try:
        found = tuple(run_limit_tests(lambda: ForkServerHandle(Spec(report.tier))))
    except (UnavailableError, ServerLostError) as error:
        found = (SelfTestResult("limits", False, str(error)),)
    return replace(report, findings=report.findings + found)


def chosen(isolation: str) -> tuple[Tier, str]:
    """The tier for an ``isolation``, and why there is none: one of the two says something.

    Raises InputError for an unknown word. Without any sound tier the answer is ``native`` and the reason; no
    isolation at all has to be asked for by name.
    """
    if isolation not in ISOLATIONS:
        raise InputError(f"isolation must be one of {', '.join(ISOLATIONS)}, not {isolation!r}")
    if isolation == "none":
        return "none", ""
    wanted: tuple[Tier, ...] = TIERS if isolation == "auto" else (isolation,)  # type: ignore[assignment]
    reasons = []
    for tier in wanted:
        report = examine(tier)
        if report.sound:
            return tier, ""
        reasons.append(f"{tier}: {report.failing}")
    return wanted[0], "; ".join(reasons) + ". Run `guerdon sandbox doctor` to see what to do."
