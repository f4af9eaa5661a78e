"""The doctor tells the truth in every surrounding that can be made here."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import pytest

from guerdon.errors import InputError
from guerdon.sandbox import Sandbox
from guerdon.sandbox.isolation.doctor import advice_of, doctor
from guerdon.sandbox.isolation.machine import Machine, machine
from guerdon.sandbox.isolation.self_test import SelfTestResult
from guerdon.sandbox.isolation.tiers import TierReport
from support.unprivileged_users import Readable, readable, readable_python

ROOT = os.geteuid() == 0
ASK = """
import json, os, sys
from guerdon.sandbox import Sandbox, doctor
found = doctor(limits=len(sys.argv) > 2)
# What it says is held against what a program of ours comes to, which is no part of the doctor.
program = '''
import os, socket, sys
def tried(what):
    try:
        what()
    except OSError:
        return False
    return True
file = sys.argv[1]
print(tried(lambda: open(file)), tried(lambda: os.stat(file)), tried(lambda: socket.socket()), os.getuid())
'''
told = found.as_dict()
told["programs"] = {}
for tier in ["auto", *(report.tier for report in found.tiers)]:
    with Sandbox(tier, workers=1) as sandbox:
        done = sandbox.run(program, arguments=[sys.argv[1]])
        told["programs"][tier] = [done.tier, done.status, done.stdout.split(), done.detail]
print(json.dumps(told))
"""


@dataclass(frozen=True)
class Surrounding:
    """What is made, and what must come of it."""

    made: tuple[str, ...]
    tier: str | None
    said: dict[str, str]
    """Part of what is said of a tier that is not used."""
    advised: str = ""
    """Part of a command that would help; nothing where nothing needs to be done."""
    root: bool = False
    """Whether only root can make it."""
    limits: bool = False
    """Whether the limits are tried as well, which takes a while."""


FORBIDDEN = "namespaces are forbidden here"
NONE_LEFT = "user.max_user_namespaces"
MAX = "sysctl -w user.max_user_namespaces=15000"
DOCKER = "docker run --security-opt seccomp=unconfined"
CASES = {
    "root": Surrounding((), "native", {}, root=True),
    "ordinary user": Surrounding(("user",), "native", {}, limits=True),
    "root without the right to mount": Surrounding(("no admin",), "native", {}, root=True),
    "no bubblewrap": Surrounding(
        ("user", "no bubblewrap"), "native", {"bubblewrap": "apt-get install bubblewrap"}
    ),
    "namespaces off, user": Surrounding(
        ("user", "sysctl"), "landlock", {"native": NONE_LEFT, "bubblewrap": "bwrap: "}, MAX
    ),
    "namespaces off, root": Surrounding(("sysctl",), "native", {"bubblewrap": "bwrap: "}, root=True),
    "namespaces off, root in name": Surrounding(
        ("sysctl", "no capabilities"), "landlock", {"native": NONE_LEFT}, MAX, root=True
    ),
    "container, user": Surrounding(("user", "container"), "landlock", {"native": FORBIDDEN}, DOCKER),
    "container, root": Surrounding(
        ("container",), "landlock", {"native": FORBIDDEN}, DOCKER, root=True, limits=True
    ),
    "no Landlock": Surrounding(("user", "no landlock"), "native", {"landlock": "landlock"}, "lsm=landlock"),
    "nothing": Surrounding(("user", "no landlock", "container"), None, {"native": FORBIDDEN}, DOCKER),
    "32-bit processor": Surrounding(
        ("other processor",), None, {"native": "x86_64 and aarch64 only, not on i686"}
    ),
}


@pytest.fixture(scope="module")
def place() -> Iterator[Readable]:
    python = readable_python()
    if python is None:
        pytest.skip("no Python that an ordinary user may read")
    if machine().namespaces:
        pytest.skip(f"no user namespaces: {machine().namespaces}")
    with readable(python) as made:
        yield made


@pytest.mark.sample(2, seconds=4)
@pytest.mark.parametrize("name", [name for name, case in CASES.items() if ROOT or not case.root])
def test_the_doctor_tells_the_truth(place: Readable, name: str) -> None:
    case = CASES[name]
    secret = place.folder / "secret"
    secret.write_text("x")
    done = place.run(case.made, "-c", ASK, str(secret), *(["limits"] if case.limits else []))
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert told["tier"] == case.tier
    assert told["sound"] is (case.tier is not None), told["tiers"]
    reports = {report["tier"]: report for report in told["tiers"]}
    for tier, words in case.said.items():
        assert not reports[tier]["sound"]
        absent = tier == "bubblewrap" and shutil.which("bwrap") is None
        assert ("apt-get install bubblewrap" if absent else words) in said_of(reports[tier])
    commands = " ".join(command for advice in told["advice"] for command in advice["commands"])
    assert case.advised in commands if case.advised else not commands
    assert_true(told, reports, case)


def said_of(report: dict[str, Any]) -> str:
    return str(report["reason"]) + " ".join(f["what"] for f in report["findings"] if not f["held"])


def assert_true(told: dict[str, Any], reports: dict[str, Any], case: Surrounding) -> None:
    """A program in each tier comes to what the doctor says of it, and to a result only where it holds."""
    for tier, (used, status, tried, detail) in told["programs"].items():
        if tier == "auto":
            assert (used, status) == ((case.tier, "ok") if case.tier else ("native", "unavailable"))
            assert case.tier or "guerdon sandbox doctor" in detail
            continue
        assert status == ("ok" if reports[tier]["sound"] else "unavailable")
        if status == "ok":
            held = {finding["what"]: finding["held"] for finding in reports[tier]["findings"]}
            read, seen, connected, user = tried
            assert read == str(not held["reading host files"]) == "False"
            assert seen == str(not held["seeing that host files exist"])
            assert connected == str(not held["network and sockets"]) == "False"
            assert user != "0" or "no capabilities" in case.made


@pytest.mark.slow(seconds=6)
def test_all_is_tried_and_held() -> None:
    found = doctor()
    assert found.tier is not None
    chosen = next(report for report in found.tiers if report.tier == found.tier)
    words = [finding.what for finding in chosen.findings]
    assert len(words) == len(set(words)) == 29
    assert {"using more memory", "leaving something for the next program", "network and sockets"} <= set(
        words
    )
    assert chosen.sound
    json.dumps(found.as_dict())


def test_one_tier_alone() -> None:
    found = doctor("landlock", limits=False)
    assert [report.tier for report in found.tiers] == ["landlock"]


def test_an_unknown_tier_is_refused() -> None:
    with pytest.raises(InputError, match="auto, native, bubblewrap, landlock, not 'chroot'"):
        doctor("chroot")


def test_bubblewrap_is_here() -> None:
    # So that its tier is tried wherever the project's checks run.
    if shutil.which("bwrap") is None:
        pytest.skip("no bubblewrap")
    assert machine().bubblewrap


LINUX = Machine(
    system="Linux 6.8.0",
    architecture="x86_64",
    python="3.12.3",
    interpreter="/usr/bin/python3.12",
    user=1000,
    landlock=4,
    sysctls={"user.max_user_namespaces": "15000"},
)
DOWN = TierReport("native", False, "namespaces are forbidden here")
SOUND = TierReport("landlock", True, "", (SelfTestResult("reading host files", True),))
UBUNTU = replace(
    LINUX,
    sysctls={"user.max_user_namespaces": "15000", "kernel.apparmor_restrict_unprivileged_userns": "1"},
)


@pytest.mark.parametrize(
    ("about", "words"),
    [
        (UBUNTU, ["kernel.apparmor_restrict_unprivileged_userns=0", "profile guerdon /usr/bin/python3.12"]),
        (replace(LINUX, sysctls={"kernel.unprivileged_userns_clone": "0"}), ["kernel.unprivileged_userns_clone=1"]),
        (replace(LINUX, container="kubernetes"), ["Kubernetes", "seccompProfile: {type: Unconfined}"]),
        (replace(LINUX, filtered=True), ["docker run --security-opt seccomp=unconfined"]),
        (replace(LINUX, namespaces="they cannot be made (EPERM)"), ["they cannot be made (EPERM)"]),
        (replace(LINUX, landlock=2), ["Before Linux 6.2"]),
        (replace(LINUX, architecture="aarch64"), ["has not been run on aarch64"]),
        (replace(LINUX, system="Darwin 24.1.0"), ["Linux only", "provider"]),
    ],
)  # fmt: skip
def test_advice_for_machines_that_are_not_here(about: Machine, words: list[str]) -> None:
    advice = advice_of(about, [DOWN, SOUND], "landlock")
    text = " ".join(part for each in advice for part in (each.text, *each.commands))
    for word in words:
        assert word in text


def test_no_advice_where_all_is_well() -> None:
    sound = TierReport("native", True, "", (SelfTestResult("reading host files", True),))
    assert advice_of(replace(UBUNTU, container="docker"), [sound, SOUND], "native") == []


MAC = """
import os, signal, socket, sys, platform
sys.platform = "darwin"
platform.system = lambda: "Darwin"
for name in ("sched_getaffinity", "memfd_create", "pidfd_open", "MFD_CLOEXEC"):
    delattr(os, name)
from guerdon.sandbox import Sandbox, doctor
found = doctor()
print(found.tier, [report.available for report in found.tiers], found.advice[0].text)
for isolation in ("auto", "landlock", "none"):
    with Sandbox(isolation) as sandbox:
        done = sandbox.run("print(1)")
        print(done.status, done.detail)
"""


def test_where_there_is_no_linux_it_says_so(place: Readable) -> None:
    done = place.run((), "-c", MAC)
    assert done.returncode == 0, done.stderr
    first, *rest = done.stdout.splitlines()
    assert first.startswith("None [False, False, False] Programs are confined on Linux only.")
    assert len(rest) == 3
    for line in rest:
        assert line.startswith("unavailable ")
        assert "64-bit Linux only, not on darwin" in line


def test_it_needs_nothing_but_the_standard_library(place: Readable) -> None:
    code = (
        "import sys, guerdon.sandbox\n"
        "print(sorted({name.partition('.')[0] for name in sys.modules} - sys.stdlib_module_names))"
    )
    done = place.run((), "-S", "-c", code)
    assert done.stdout.strip() in ("['__main__', 'guerdon']", "['guerdon']"), done.stdout + done.stderr


def test_the_tier_of_a_sandbox_is_the_doctors() -> None:
    with Sandbox(workers=1) as sandbox:
        assert sandbox.tier == doctor(limits=False).tier
