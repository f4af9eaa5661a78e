"""Which walls there are on this machine, found out by trying to get through them."""

from __future__ import annotations

import importlib.resources
import json
import threading
from dataclasses import dataclass

from guerdon.errors import InputError
from guerdon.sandbox import inside
from guerdon.sandbox.execution import Job, Tier
from guerdon.sandbox.limits import Limits
from guerdon.sandbox.server import ForkServer, ServerLostError, UnavailableError
from guerdon.sandbox.surroundings import Spec

TIERS: tuple[Tier, ...] = ("native", "bubblewrap", "landlock")
"""From the strongest to the weakest that still is one."""
ISOLATIONS = ("auto", *TIERS, "none")


HARMLESS = frozenset({"seeing that host files exist"})
"""What a tier may leak and still be used; it is reported all the same."""


@dataclass(frozen=True, slots=True)
class Finding:
    """What became of one attempt to get out."""

    what: str
    """Such as ``network`` or ``host files``."""
    held: bool
    detail: str = ""


@dataclass(frozen=True, slots=True)
class TierReport:
    """One tier on this machine: whether it is to be had, and what it holds against."""

    tier: Tier
    available: bool
    reason: str = ""
    """Why it is not to be had."""
    findings: tuple[Finding, ...] = ()

    @property
    def sound(self) -> bool:
        """Whether nothing got out. That a file of the host exists may be seen by the landlock tier."""
        return self.available and all(
            found.held for found in self.findings if found.what != "seeing that host files exist"
        )


_known: dict[Tier, TierReport] = {}
_lock = threading.Lock()


def examine(tier: Tier) -> TierReport:
    """Starts a fork server of the tier and tries to get out of it; asked once a process."""
    with _lock:
        if tier not in _known:
            _known[tier] = _examine(tier)
        return _known[tier]


def _examine(tier: Tier) -> TierReport:
    try:
        server = ForkServer(Spec(tier))
    except UnavailableError as error:
        return TierReport(tier, False, str(error))
    escapes = importlib.resources.files(inside).joinpath("escapes.py").read_bytes()
    try:
        report = server.do(Job(kind="program", program=escapes, limits=Limits(cpu_s=5)))
    except ServerLostError as error:
        return TierReport(tier, False, str(error))
    finally:
        server.close()
    if report.status != "ok":
        return TierReport(tier, False, f"its self-test failed: {report.detail}")
    found = json.loads(report.stdout)
    return TierReport(tier, True, "", tuple(Finding(what, held, detail) for what, held, detail in found))


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
        leaks = ", ".join(found.what for found in report.findings if not found.held)
        reasons.append(f"{tier}: {report.reason or f'its walls leak ({leaks})'}")
    return wanted[0], "; ".join(reasons) + ". Run `guerdon sandbox doctor` to see what to do."
