"""What the sandbox can do on this machine, what it cannot, and what would help."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import os
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from typing import Any

from guerdon.errors import InputError
from guerdon.sandbox.execution import Tier
from guerdon.sandbox.isolation import tiers
from guerdon.sandbox.isolation.machine import Machine, machine
from guerdon.sandbox.isolation.tiers import TierReport
from guerdon.sandbox.languages import toolchains

MODULES = ("numpy", "scipy", "pandas", "sympy", "networkx", "sortedcontainers", "sklearn", "torch")
"""What programs of models import beside the standard library."""
_PROVIDERS = {
    "sandboxfusion": "SANDBOX_FUSION_ENDPOINT",
    "piston": "PISTON_ENDPOINT",
    "e2b": "E2B_API_KEY",
}


@dataclass(frozen=True, slots=True)
class Advice:
    """Something that would make it better."""

    text: str
    commands: tuple[str, ...] = ()
    """Lines to run or to write, any one of which will do unless ``text`` says otherwise."""


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """What was found out. ``as_dict`` has it as plain JSON."""

    tier: Tier | None
    """What a sandbox uses here; None where no tier holds."""
    why: str
    """Why not a stronger one, or why none."""
    machine: Machine
    tiers: tuple[TierReport, ...]
    advice: tuple[Advice, ...]
    languages: Mapping[str, str]
    """Languages beside Python, and for each what is installed for it; nothing where nothing is."""
    modules: Mapping[str, str]
    """Modules that may be preloaded, with their versions."""
    providers: Mapping[str, str]
    """Remote providers, and for each what sets it up here; nothing where nothing does."""

    @property
    def sound(self) -> bool:
        """Whether there is a tier, and all that was tried of it held."""
        return any(report.tier == self.tier and report.sound for report in self.tiers)

    def as_dict(self) -> dict[str, Any]:
        """The diagnosis as JSON would have it."""
        found = asdict(self) | {"sound": self.sound}
        for plain, report in zip(found["tiers"], self.tiers, strict=True):
            plain["sound"] = report.sound
        return found


def doctor(isolation: str = "auto", *, limits: bool = True) -> Diagnosis:
    """Examines this machine: starts each tier, tries to get out of it, and tries its limits.

    Takes a few seconds; without ``limits``, which leaves those out, less than one. With an ``isolation``
    other than ``auto`` only that tier is examined. Raises InputError for one that is no tier.

    >>> found = doctor(limits=False)
    >>> found.tier is None or found.tier in ("native", "bubblewrap", "landlock")
    True
    """
    if isolation != "auto" and isolation not in tiers.TIERS:
        raise InputError(f"isolation must be one of auto, {', '.join(tiers.TIERS)}, not {isolation!r}")
    wanted = [tier for tier in tiers.TIERS if isolation in ("auto", tier)]
    about = machine()
    reports = [tiers.examine(tier) for tier in wanted]
    tier = next((report.tier for report in reports if report.sound), None)
    if limits:
        with ThreadPoolExecutor(len(reports)) as threads:
            reports = list(threads.map(tiers.examine_limits, reports))
    better = reports[: [report.tier for report in reports].index(tier)] if tier else reports
    return Diagnosis(
        tier=tier,
        why="; ".join(f"{report.tier}: {report.failing}" for report in better),
        machine=about,
        tiers=tuple(reports),
        advice=tuple(advice_of(about, reports, tier)),
        languages=toolchains.available_languages(),
        modules=_modules(),
        providers={name: key if os.environ.get(key) else "" for name, key in _PROVIDERS.items()},
    )


def _modules() -> dict[str, str]:
    distributions = {"sklearn": "scikit-learn"}
    found = {}
    for name in MODULES:
        if importlib.util.find_spec(name) is not None:
            try:
                found[name] = importlib.metadata.version(distributions.get(name, name))
            except importlib.metadata.PackageNotFoundError:
                found[name] = ""
    return found


def advice_of(about: Machine, reports: list[TierReport], tier: Tier | None) -> list[Advice]:
    """What would make the sandbox stronger on that machine, given how its tiers did."""
    by_tier = {report.tier: report for report in reports}
    if not about.linux:
        text = "Programs are confined on Linux only. Use a Linux machine, a container or a virtual machine "
        return [Advice(f"{text}such as WSL 2, or a remote provider: Sandbox(provider=…).")]
    if about.architecture not in ("x86_64", "aarch64"):
        text = "Programs are confined on x86_64 and aarch64 only. Use such a machine, or a remote provider: "
        return [Advice(f"{text}Sandbox(provider=…).")]
    found = []
    if "native" in by_tier and not by_tier["native"].sound:
        found += _for_namespaces(about)
    if about.landlock == 0:
        text = (
            "Landlock is off, which the landlock tier needs and the others add to. It needs Linux 6.2, and "
        )
        found.append(
            Advice(
                f"{text}its name in the kernel's list of security modules; add it to what is there.", _BOOT
            )
        )
    elif about.landlock < 3 and tier in ("landlock", None):
        found.append(Advice("Before Linux 6.2 Landlock lets programs cut off the files of their user."))
    if tier is not None and any(leak.what == "starting more threads" for leak in by_tier[tier].leaks):
        text = "The kernel does not count root's threads, so that memory alone bounds them. Start as an ordinary "
        found.append(Advice(f"{text}user for a limit of them."))
    if about.architecture == "aarch64":
        found.append(
            Advice(
                "The sandbox has not been run on aarch64 by its authors: its table of system calls is read, "
                "not tried. What this report says was tried here."
            )
        )
    return found


_BOOT = (
    "cat /sys/kernel/security/lsm",
    "GRUB_CMDLINE_LINUX=lsm=landlock,…   # in /etc/default/grub, then:",
    "update-grub && reboot",
)
_DOCKER = "docker run --security-opt seccomp=unconfined --security-opt apparmor=unconfined …"
_KUBERNETES = "securityContext: {seccompProfile: {type: Unconfined}, appArmorProfile: {type: Unconfined}}"


def _for_namespaces(about: Machine) -> list[Advice]:
    """What forbids user namespaces here, and how to allow them."""
    sysctls = about.sysctls or {}
    found = []
    if sysctls.get("user.max_user_namespaces") == "0":
        found.append(
            Advice("User namespaces are switched off.", ("sysctl -w user.max_user_namespaces=15000",))
        )
    if sysctls.get("kernel.unprivileged_userns_clone") == "0" and about.user != 0:
        found.append(
            Advice(
                "User namespaces are root's alone here.", ("sysctl -w kernel.unprivileged_userns_clone=1",)
            )
        )
    if sysctls.get("kernel.apparmor_restrict_unprivileged_userns") == "1" and about.user != 0:
        found.append(_for_apparmor(about.interpreter))
    if about.filtered or (about.container and not found):
        what = "Kubernetes" if about.container == "kubernetes" else "this container"
        text = f"The seccomp profile of {what} forbids namespaces, or its AppArmor profile mounts. Loosen them, or "
        command = _KUBERNETES if about.container == "kubernetes" else _DOCKER
        found.append(
            Advice(
                f"{text}allow clone, unshare, mount, umount2 and pivot_root in one of your own.", (command,)
            )
        )
    if not found and about.namespaces:
        found.append(
            Advice(f"User namespaces are forbidden here: {about.namespaces}. Ask who runs the machine.")
        )
    return found


def _for_apparmor(interpreter: str) -> Advice:
    profile = f"abi <abi/4.0>,\\nprofile guerdon {interpreter} flags=(unconfined) {{ userns, }}\\n"
    file = "/etc/apparmor.d/guerdon"
    return Advice(
        "AppArmor forbids user namespaces to programs without a profile, as Ubuntu does from 23.10 on. Allow "
        "them to all programs, or write a profile for the interpreter and load it.",
        (
            "sysctl -w kernel.apparmor_restrict_unprivileged_userns=0",
            f"printf '{profile}' > {file} && apparmor_parser -r {file}",
        ),
    )
