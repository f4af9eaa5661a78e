"""Every tier that there is here: what it holds against, who its processes are, and that nothing is left of it."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

import guerdon
from guerdon.errors import InputError
from guerdon.sandbox import Limits
from guerdon.sandbox.execution import Report, SandboxJob, Tier
from guerdon.sandbox.isolation import tiers
from guerdon.sandbox.isolation.self_test import run_escape_attempts
from guerdon.sandbox.isolation.tiers import SelfTestResult, TierReport
from guerdon.sandbox.local.environment import Spec
from guerdon.sandbox.local.server import ForkServerHandle, ServerLostError
from guerdon.sandbox.local.usage import descendants

EVERY: tuple[Tier, ...] = (*tiers.TIERS, "none")
FAMILY = """
import os, time
for _ in range(3):
    if os.fork() == 0:
        time.sleep(60)
        os._exit(0)
print("up", flush=True)
time.sleep(60)
"""
MANY = SandboxJob(kind="program", program=FAMILY.encode(), limits=Limits(processes=8, wall_s=30))
PATIENCE = 10.0


@contextmanager
def serving(tier: Tier) -> Iterator[ForkServerHandle]:
    if tier != "none" and not tiers.examine(tier).available:
        pytest.skip(f"no {tier} tier: {tiers.examine(tier).reason}")
    server = ForkServerHandle(Spec(tier))
    try:
        yield server
    finally:
        server.close()


def until(what: Callable[[], bool]) -> bool:
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        if what():
            return True
        time.sleep(0.01)
    return False


def runs(pid: int) -> bool:
    """Not one that has ended and whose new parent, the machine's first process, has not looked yet."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"


def gone(pids: list[int]) -> bool:
    return until(lambda: not any(map(runs, pids)))


def run(server: ForkServerHandle, program: str) -> Report:
    return server.do(SandboxJob(kind="program", program=program.encode()))


@pytest.mark.parametrize("tier", tiers.TIERS)
def test_nothing_gets_out_of_a_tier(tier: Tier) -> None:
    with serving(tier) as server:
        leaks = {found.what for found in run_escape_attempts(server) if not found.held}
    assert leaks == ({"seeing that host files exist"} if tier == "landlock" else set())


def test_attempts_succeed_where_nothing_confines() -> None:
    with serving("none") as server:
        out = {found.what for found in run_escape_attempts(server) if not found.held}
        folder = os.stat("/").st_mode, os.uname().nodename
        assert run_escape_attempts(server)
        # What succeeds must not harm the machine either.
        assert (os.stat("/").st_mode, os.uname().nodename) == folder
    assert {
        "reading host files",
        "listing host folders",
        "seeing that host files exist",
        "writing outside of the working directory",
        "changing what files are",
        "network and sockets",
        "starting processes",
        "executing files",
        "signalling other processes",
        "tracing other processes",
        "namespaces",
        "mounts",
        "kernel interfaces",
        "memory that is not counted",
        "leaving host files as they are",
    } <= out


@pytest.mark.parametrize("tier", EVERY)
def test_the_process_that_forks_is_known(tier: Tier) -> None:
    with serving(tier) as server:
        assert run(server, "print(1)").stdout == b"1\n"
        status = Path(f"/proc/{server.pid}/status").read_text()
        name = Path(f"/proc/{server.pid}/cmdline").read_bytes()
        assert b"inside.boot" in name
        inner = next(line.split() for line in status.splitlines() if line.startswith("NSpid:"))
        assert inner[-1] == ("1" if tier in ("native", "bubblewrap") else str(server.pid))


@pytest.mark.parametrize("tier", ["native", "landlock"])
def test_programs_of_root_are_nobodys(tier: Tier) -> None:
    mine = os.geteuid()
    with serving(tier) as server:
        status = Path(f"/proc/{server.pid}/status").read_text()
    uid = mine or 65534
    assert f"Uid:\t{uid}\t{uid}\t{uid}\t{uid}" in status
    # That one capability lets it read a Python which only root may read; what is read, Landlock says.
    may_keep = ["0" * 16, f"{1 << 2:016x}"] if tier == "landlock" and mine == 0 else ["0" * 16]
    assert any(f"CapEff:\t{kept}" in status for kept in may_keep)
    # Whoever has no capability cannot give up those that others could be given.
    assert any(f"CapBnd:\t{kept}" in status for kept in may_keep) or mine


@pytest.mark.parametrize("tier", EVERY)
def test_nothing_is_left_when_a_server_is_closed(tier: Tier) -> None:
    before = descendants(os.getpid())
    with serving(tier) as server:
        assert run(server, "open('left', 'w').write('x')").status == "ok"
        mine = [pid for pid in descendants(os.getpid()) if pid not in before]
        assert server.pid in mine
    assert gone(mine)


@pytest.mark.parametrize("tier", EVERY)
def test_nothing_is_left_when_a_server_is_killed_at_work(tier: Tier) -> None:
    said: list[str] = []

    def work() -> None:
        try:
            said.append(server.do(MANY).status)
        except ServerLostError:
            said.append("lost")

    before = descendants(os.getpid())
    with serving(tier) as server:
        thread = threading.Thread(target=work)
        thread.start()
        assert until(lambda: len(descendants(server.pid)) >= 4)
        mine = [pid for pid in descendants(os.getpid()) if pid not in before]
        os.kill(server.pid, signal.SIGKILL)
        thread.join(PATIENCE)
    assert said == ["lost"]
    assert gone(mine)


OWNER = """
import sys
from guerdon.sandbox.execution import SandboxJob
from guerdon.sandbox.limits import Limits
from guerdon.sandbox.local.server import ForkServerHandle
from guerdon.sandbox.local.environment import Spec
server = ForkServerHandle(Spec(sys.argv[1]))
print(server._box or "", flush=True)
server.do(SandboxJob(kind="program", program=sys.argv[2].encode(), limits=Limits(processes=8, wall_s=30)))
"""


@pytest.mark.parametrize("tier", EVERY)
def test_nothing_is_left_when_the_owner_is_killed(tier: Tier) -> None:
    if tier != "none" and not tiers.examine(tier).available:
        pytest.skip(f"no {tier} tier: {tiers.examine(tier).reason}")
    owner = subprocess.Popen([sys.executable, "-c", OWNER, tier, FAMILY], stdout=subprocess.PIPE, text=True)
    assert owner.stdout is not None
    with owner, owner.stdout as told:
        box = told.readline().strip()
        assert until(lambda: len(descendants(owner.pid)) >= 5)
        pids = descendants(owner.pid)
        owner.kill()
    assert bool(box) == (tier in ("landlock", "none"))
    assert gone(pids)
    assert not box or until(lambda: not os.path.exists(box))


FLOOD = """
import array, socket, time
one, other = socket.socketpair()
rights = array.array("i", [one.fileno(), other.fileno()] * 120)
sent = 0
try:
    for _ in range(8):
        one.sendmsg([b"x"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, rights)])
        sent += 1
except OSError:
    pass
time.sleep(1.5)
print(sent)
"""


@pytest.mark.sample(1, seconds=2)
@pytest.mark.parametrize("tier", tiers.TIERS)
def test_descriptors_on_their_way_hold_up_nobody_else(tier: Tier) -> None:
    flooded: list[Report] = []
    with serving(tier) as one, serving(tier) as other:
        thread = threading.Thread(target=lambda: flooded.append(run(one, FLOOD)))
        thread.start()
        time.sleep(0.75)
        assert [run(other, "print(1)").stdout for _ in range(3)] == [b"1\n"] * 3
        thread.join(PATIENCE)
    assert flooded[0].status == "ok"


@pytest.mark.parametrize("executable", [False, True])
def test_a_working_directory_is_where_it_may_be(tmp_path: Path, executable: bool) -> None:
    code = "import sys; from guerdon.sandbox.local.workdirs import make; print(make(executable=sys.argv[1] == 'True'))"
    lost = []
    for _ in range(2):
        line = [sys.executable, "-c", code, str(executable)]
        variables = {**os.environ, "TMPDIR": str(tmp_path)}
        done = subprocess.run(line, env=variables, capture_output=True, text=True, check=True)
        lost.append(Path(done.stdout.strip()))
    # Whoever makes one removes those whose makers have ended without doing so.
    assert [box.parents[1] for box in lost] == [tmp_path, tmp_path]
    assert [box.exists() for box in lost] == [False, True]


@pytest.mark.parametrize("tier", tiers.TIERS)
def test_a_working_directory_in_a_private_folder(tmp_path: Path, tier: Tier) -> None:
    private = tmp_path / "private"
    private.mkdir(mode=0o700)
    code = "import sys; from guerdon.sandbox import Sandbox; print(Sandbox(sys.argv[1]).run('print(1)'))"
    variables = {**os.environ, "TMPDIR": str(private)}
    if not tiers.examine(tier).available:
        pytest.skip(f"no {tier} tier: {tiers.examine(tier).reason}")
    done = subprocess.run([sys.executable, "-c", code, tier], env=variables, capture_output=True, text=True)
    assert "status='ok'" in done.stdout, done.stdout + done.stderr


def test_how_a_report_reads() -> None:
    seen, read = (
        SelfTestResult("seeing that host files exist", False),
        SelfTestResult("reading host files", False, "x"),
    )
    held = SelfTestResult("mounts", True)
    assert TierReport("landlock", True, "", (seen, held)).sound
    assert TierReport("landlock", True, "", (seen, held)).failing == ""
    leaking = TierReport("native", True, "", (seen, read, held))
    assert not leaking.sound
    assert leaking.leaks == (seen, read)
    assert leaking.failing == "does not hold against reading host files"
    gone = TierReport("bubblewrap", False, "not installed")
    assert not gone.sound
    assert gone.failing == "not installed"


def test_a_tier_is_examined_once() -> None:
    assert tiers.examine("landlock") is tiers.examine("landlock")


def test_no_isolation_has_to_be_asked_for() -> None:
    assert tiers.chosen("none") == ("none", "")
    assert tiers.chosen("auto")[0] in tiers.TIERS
    with pytest.raises(InputError, match="isolation must be one of auto, native"):
        tiers.chosen("chroot")


def with_landlock(version: int, folder: Path, code: str) -> str:
    """What code prints where the kernel says that it has that version of Landlock."""
    package = folder / "guerdon"
    shutil.copytree(Path(guerdon.__file__).parent, package)
    with (package / "sandbox" / "inside" / "landlock.py").open("a", encoding="utf-8") as file:
        file.write(f"\n\ndef abi() -> int:\n    return {version}\n")
    environment = {**os.environ, "PYTHONPATH": str(folder)}
    line = [sys.executable, "-c", code]
    return subprocess.run(line, env=environment, capture_output=True, text=True, timeout=60).stdout


def test_the_landlock_tier_is_refused_with_the_reason_on_old_kernels(tmp_path: Path) -> None:
    code = "from guerdon.sandbox.isolation import tiers; print(tiers.examine('landlock').reason)"
    assert "Landlock 1 of this kernel does not keep files from being emptied" in with_landlock(
        1, tmp_path, code
    )


def test_commands_see_no_proc_where_landlock_cannot_close_it(tmp_path: Path) -> None:
    if not tiers.examine("native").available:
        pytest.skip("no native tier on this machine")
    code = """
from guerdon.sandbox import Sandbox
with Sandbox("native") as sandbox:
    done = sandbox.run("for f in /proc/1/cmdline /proc/self/mountinfo; do cat $f; done; echo end", language="bash")
    print([done.status, done.stdout])
"""
    assert with_landlock(0, tmp_path, code) == "['ok', 'end\\n']\n"
