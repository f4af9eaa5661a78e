"""From the first fork server to the last: crashes, interruptions, forks, and every end that a process can come to."""

from __future__ import annotations

import asyncio
import itertools
import json
import multiprocessing
import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from guerdon.sandbox import NO_VERDICT, Execution, Limits, Sandbox
from guerdon.sandbox.execution import SandboxJob, Tier
from guerdon.sandbox.isolation import tiers
from guerdon.sandbox.local import pool, server
from guerdon.sandbox.local.environment import Spec
from support.marks import some_of

TIERS = ("native", "bubblewrap", "landlock", "none")
GONE_S = 10.0


@pytest.fixture(params=TIERS)
def tier(request: pytest.FixtureRequest) -> Tier:
    name: Tier = request.param
    if name != "none" and not tiers.examine(name).available:
        pytest.skip(f"no {name} tier on this machine")
    return name


def children(pid: int) -> list[int]:
    """The processes that were started by one and are still there, dead ones that nobody waited for among them."""
    found: list[int] = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal():
            try:
                parent = (entry / "stat").read_text(errors="replace").rpartition(")")[2].split()[1]
            except OSError:
                continue
            if int(parent) == pid:
                found.append(int(entry.name))
    return found


def below(pid: int) -> list[int]:
    """All processes below one."""
    found: list[int] = []
    for child in children(pid):
        found += [child, *below(child)]
    return found


def forkers() -> list[int]:
    """The processes of fork servers below this one, walls and all."""
    return [pid for pid in below(os.getpid()) if b"inside.boot" in command_line(pid)]


def command_line(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""


def kill(pids: list[int]) -> None:
    for pid in pids:
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            continue


def gone(pids: list[int]) -> bool:
    deadline = time.monotonic() + GONE_S
    while left := [pid for pid in pids if Path(f"/proc/{pid}").exists()]:
        if time.monotonic() > deadline:
            print({pid: command_line(pid) for pid in left})
            return False
        time.sleep(0.02)
    return True


def test_an_idle_fork_server_that_was_killed_is_replaced(tier: str) -> None:
    with Sandbox(tier, workers=1) as sandbox:
        for number in range(3):
            done = sandbox.run(f"print({number})")
            assert (done.status, done.stdout) == ("ok", f"{number}\n")
            kill(forkers())


def test_the_next_program_does_not_suffer_from_idle_fork_servers_that_are_gone(tier: str) -> None:
    with Sandbox(tier, workers=3) as sandbox:
        list(sandbox.map(["import time; time.sleep(0.3)"] * 3))
        kill(forkers())
        assert [done.status for done in sandbox.map(["pass"] * 3)] == ["ok"] * 3


LEAVES_MUCH = """
import os
for n in range(900):
    os.mkdir("d" * 200)
    os.chdir("d" * 200)
print("done")
"""


def test_a_verdict_does_not_wait_for_the_working_directory_to_be_emptied(tier: Tier) -> None:
    handle = server.ForkServerHandle(Spec(tier))
    try:
        for program, leaves_something in ((LEAVES_MUCH, True), ("import os; print(os.listdir())", False)) * 2:
            report = handle.do(SandboxJob(kind="program", program=program.encode()))
            assert report.status in ("ok", "killed")
            assert leaves_something or report.stdout == b"[]\n"
            assert handle.cleaning is leaves_something
    finally:
        handle.close()


def test_files_of_a_run_that_could_not_be_started_are_gone_in_the_next(tier: Tier) -> None:
    with Sandbox(tier, workers=1) as sandbox:
        refused = sandbox.run("print(1)", files={"secret": "of one sample", "x" * 300: ""})
        assert refused.status == "worker_lost"
        assert sandbox.run("import os; print(os.listdir())").stdout == "[]\n"


def test_a_source_that_is_larger_than_its_memory_is_the_programs_own_fault(tier: Tier) -> None:
    handle = server.ForkServerHandle(Spec(tier))
    try:
        for kind, questions in (("program", b""), ("calls", b'{"prelude": false}'), ("pair", b"{}")):
            job = SandboxJob(
                kind=kind,  # type: ignore[arg-type]
                program=b"#" * (48 << 20),
                questions=questions,
                limits=Limits(memory_mb=16),
            )
            assert handle.do(job).status != "worker_lost"
        assert handle.do(SandboxJob(kind="program", program=b"print(1)")).stdout == b"1\n"
    finally:
        handle.close()


def test_a_fork_server_that_empties_for_too_long_is_replaced(
    tier: Tier, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = forkers()
    monkeypatch.setattr(pool, "CLEAN_S", 0.0)
    with Sandbox(tier, workers=1) as sandbox:
        for _ in range(3):
            assert sandbox.run(LEAVES_MUCH).status in ("ok", "killed")
        assert sandbox.run("import os; print(os.listdir())").stdout == "[]\n"
    assert {*forkers()} <= {*before}


@pytest.mark.sample(2, seconds=2)
def test_a_job_whose_fork_server_was_killed_is_run_once_more(tier: str) -> None:
    with Sandbox(tier, workers=1) as sandbox:
        sandbox.run("pass")
        killer = threading.Timer(0.3, lambda: kill(forkers()))
        killer.start()
        done = sandbox.run("import time; time.sleep(0.8); print('whole')")
        killer.join()
        assert (done.status, done.stdout) == ("ok", "whole\n")


@pytest.mark.sample(2, seconds=1)
def test_a_job_that_never_ends_its_course_is_lost(tier: str) -> None:
    over = threading.Event()

    def keep_killing() -> None:
        while not over.wait(0.3):
            kill(forkers())

    with Sandbox(tier, workers=1) as sandbox:
        sandbox.run("pass")
        killer = threading.Thread(target=keep_killing)
        killer.start()
        done = sandbox.run("import time; time.sleep(5); print('whole')")
        over.set()
        killer.join()
        assert done.status in NO_VERDICT
        assert done.stdout == ""
        assert sandbox.run("print(1)").stdout == "1\n"


@pytest.mark.slow(seconds=15)
def test_results_are_right_or_lost_when_fork_servers_are_killed_at_random() -> None:
    over, killed = threading.Event(), 0
    dice = random.Random(4)

    def kill_at_random() -> None:
        nonlocal killed
        while killed < 20 and not over.wait(dice.uniform(0.01, 0.15)):
            if found := forkers():
                kill([dice.choice(found)])
                killed += 1

    with Sandbox("native", workers=2) as sandbox:
        sandbox.run("pass")
        killer = threading.Thread(target=kill_at_random)
        killer.start()
        done = list(sandbox.map(f"print({number} * 7)" for number in range(1000)))
        over.set()
        killer.join()
    assert len(done) == 1000
    wrong = [x for n, x in enumerate(done) if x.status not in NO_VERDICT and x.stdout != f"{n * 7}\n"]
    assert not wrong
    # The two that are lost at a time may be tried again once.
    assert sum(x.status in NO_VERDICT for x in done) <= killed


def test_nothing_is_left_when_it_is_closed(tier: str) -> None:
    before, descriptors = below(os.getpid()), len(os.listdir("/proc/self/fd"))
    with Sandbox(tier, workers=2) as sandbox:
        assert [done.stdout for done in sandbox.map(["print(1)", "print(2)"])] == ["1\n", "2\n"]
        started = set(below(os.getpid())) - {*before}
        states = {Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] for pid in started}
        assert "Z" not in states
    assert set(below(os.getpid())) <= {*before}
    assert len(os.listdir("/proc/self/fd")) == descriptors


def test_a_sandbox_that_is_dropped_takes_its_processes_with_it() -> None:
    before = below(os.getpid())
    sandbox = Sandbox("native", workers=1)
    sandbox.run("pass")
    del sandbox
    assert set(below(os.getpid())) <= {*before}


# Of this module, and of the helpers that it imports.
FOLDERS = [str(Path(__file__).parent), str(Path(__file__).parents[1])]

OPENING = """
import os, signal, sys, threading, time
sys.path[:0] = {folders!r}
from guerdon.sandbox import Sandbox
from test_sandbox_lifecycle import below, forkers
sandbox = Sandbox({tier!r}, workers=2)
assert [x.stdout for x in sandbox.map(["print(1)"] * 4)] == ["1\\n"] * 4

def at_work():
    threading.Thread(target=sandbox.run, args=("import time; time.sleep(60)",), daemon=True).start()
    time.sleep(0.5)

def say():
    print(*[pid for pid in below(os.getpid())], flush=True)
"""
HOLDERS = """
for _ in range(2):
    if os.fork() == 0:
        time.sleep(3)
        os._exit(0)
"""


ENDS = {
    "the end of the file": ("say()", 0),
    "sys.exit": ("say(); sys.exit(3)", 3),
    "an exception": ("say(); raise SystemExit(4)", 4),
    "os._exit": ("say(); os._exit(5)", 5),
    "os._exit at work": ("at_work(); say(); os._exit(5)", 5),
    "SIGTERM": ("say(); os.kill(os.getpid(), signal.SIGTERM)", -15),
    "SIGKILL": ("say(); os.kill(os.getpid(), signal.SIGKILL)", -9),
    "SIGKILL at work": ("at_work(); say(); os.kill(os.getpid(), signal.SIGKILL)", -9),
    "SIGKILL beside forks that hold what it held": (
        f"say()\n{HOLDERS}\nos.kill(os.getpid(), signal.SIGKILL)",
        -9,
    ),
}


@pytest.mark.parametrize("end", some_of(ENDS, "SIGKILL at work", seconds=2))
def test_nothing_outlives_the_process_that_opened_it(tier: str, end: str, tmp_path: Path) -> None:
    code, status = ENDS[end]
    mounts = Path("/proc/self/mounts").read_text()
    opening = OPENING.format(folders=FOLDERS, tier=tier)
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", opening + code],
        env={**os.environ, "TMPDIR": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (done.returncode, done.stderr) == (status, "")
    pids = [int(pid) for pid in done.stdout.split()]
    assert pids
    assert gone(pids)
    assert not list(tmp_path.iterdir())
    assert Path("/proc/self/mounts").read_text() == mounts


ODD_PARENTS = {
    "SIGCHLD is ignored": "signal.signal(signal.SIGCHLD, signal.SIG_IGN)",
    "a handler waits for everything": """
def reap(*_):
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    except ChildProcessError:
        pass
signal.signal(signal.SIGCHLD, reap)
""",
    "few descriptors": "import resource; resource.setrlimit(resource.RLIMIT_NOFILE, (40, 40))",
    "no standard streams": "os.close(0)",
    "a limit on processor time": "import resource; resource.setrlimit(resource.RLIMIT_CPU, (60, 60))",
    "a limit on memory": "import resource; resource.setrlimit(resource.RLIMIT_AS, (2 << 30, 2 << 30))",
    "all signals blocked": "signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())",
    "another working directory": "os.chdir('/')",
}


@pytest.mark.parametrize("oddity", some_of(ODD_PARENTS, "no standard streams", seconds=2))
def test_it_works_in_processes_that_are_unlike_others(oddity: str) -> None:
    code = f"""
import os, signal
{ODD_PARENTS[oddity]}
from guerdon.sandbox import Sandbox
with Sandbox(workers=2) as sandbox:
    done = list(sandbox.map(f"print({{n}})" for n in range(30)))
    assert [x.stdout for x in done] == [f"{{n}}\\n" for n in range(30)], done[0]
    slow = sandbox.run("while True: pass")
    assert slow.status == "timeout", slow
"""
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, timeout=60, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.slow(seconds=10)
def test_too_little_memory_for_a_program_is_said_and_not_scored() -> None:
    code = """
import resource
resource.setrlimit(resource.RLIMIT_AS, (400 << 20, 400 << 20))
from guerdon.sandbox import Limits, Sandbox
with Sandbox("none", workers=1) as sandbox:
    done = sandbox.run("print(1)", limits=Limits(memory_mb=512))
    assert done.status == "unavailable", done
    assert "ulimit -v" in done.detail, done
    assert sandbox.run("print(1)", limits=Limits(memory_mb=64)).stdout == "1\\n"
"""
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_too_few_descriptors_are_said_and_not_scored() -> None:
    with Sandbox("native", workers=1) as sandbox:
        assert sandbox.run("print(1)").ok
        held: list[int] = []
        try:
            try:
                while True:
                    held.append(os.dup(0))
            except OSError:
                os.close(held.pop())
            done = sandbox.run("print(1)")
        finally:
            for descriptor in held:
                os.close(descriptor)
        assert done.status == "unavailable"
        assert sandbox.run("print(1)").ok


def _in_a_fork(sandbox: Sandbox, answers: multiprocessing.Queue[list[str]]) -> None:
    answers.put([done.stdout for done in sandbox.map(f"print({n})" for n in range(20))])


def test_a_fork_of_the_process_has_servers_of_its_own() -> None:
    forking = multiprocessing.get_context("fork")
    answers: multiprocessing.Queue[list[str]] = forking.Queue()
    expected = [f"{n}\n" for n in range(20)]
    with Sandbox("native", workers=2) as sandbox:
        assert [done.stdout for done in sandbox.map(f"print({n})" for n in range(20))] == expected
        mine = forkers()
        child = forking.Process(target=_in_a_fork, args=(sandbox, answers))
        child.start()
        assert [done.stdout for done in sandbox.map(f"print({n})" for n in range(20))] == expected
        assert answers.get(timeout=30) == expected
        child.join(30)
        assert child.exitcode == 0
        assert sandbox.run("print(1)").stdout == "1\n"
        assert {*mine} <= {*forkers(), *mine}


def test_many_threads_share_one() -> None:
    with Sandbox("native", workers=2) as sandbox, ThreadPoolExecutor(12) as threads:
        done = threads.map(lambda n: sandbox.run(f"print({n})", stdin=str(n)).stdout, range(150))
        assert list(done) == [f"{n}\n" for n in range(150)]


def test_closing_while_others_run() -> None:
    sandbox = Sandbox("native", workers=1)
    sandbox.run("pass")
    with ThreadPoolExecutor(4) as threads:
        waiting = [threads.submit(sandbox.run, "import time; time.sleep(0.5); print(1)") for _ in range(4)]
        time.sleep(0.2)
        sandbox.close()
        done = [future.result(timeout=20) for future in waiting]
    assert {(x.status, x.stdout) for x in done} == {("ok", "1\n"), ("unavailable", "")}
    assert "closed" in sandbox.run("pass").detail
    assert not forkers()


REWARD = """
import os, sys
sys.path[:0] = {folders!r}
from guerdon import reward_function
from guerdon.sandbox import Limits, Sandbox
from test_sandbox_lifecycle import below
sandbox = Sandbox(workers=1, limits=Limits(wall_s=60))

@reward_function
def prints_its_number(response: str, answer: str) -> float:
    sandbox.run("pass")
    with open({pids!r}, "a") as file:
        print(*below(os.getpid()), file=file)
    return float(sandbox.run(response).stdout.strip() == answer)
"""


@pytest.mark.slow(seconds=8)
def test_a_worker_of_the_engine_that_overran_its_deadline_takes_its_servers_along(tmp_path: Path) -> None:
    pids, out = tmp_path / "pids", tmp_path / "out.jsonl"
    (tmp_path / "rewards.py").write_text(REWARD.format(folders=FOLDERS, pids=str(pids)))
    rows = [
        {
            "prompt": "?",
            "response": "import time; time.sleep(50)" if n % 5 == 4 else f"print({n})",
            "answer": f"{n}",
        }
        for n in range(10)
    ]
    (tmp_path / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    line = [sys.executable, "-m", "guerdon", "score", f"{tmp_path}/rewards.py::prints_its_number"]
    columns = ["--prompt-column", "prompt", "--response-column", "response", "--answer-column", "answer"]
    done = subprocess.run(
        [*line, f"{tmp_path}/rows.jsonl", *columns, "--workers", "2", "--timeout", "4", "-o", str(out)],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    scored = [json.loads(text) for text in out.read_text().splitlines()]
    assert [row.get("score") for row in scored] == [None if n % 5 == 4 else 1.0 for n in range(10)]
    seen = [int(pid) for pid in pids.read_text().split()]
    assert seen
    assert gone(seen)


class Interruption(BaseException):
    """As KeyboardInterrupt, but for this test alone."""


# Interrupted where a socket was made a moment ago, it is left to the collector, which says so.
@pytest.mark.slow(seconds=6)
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_a_run_that_is_interrupted_leaves_no_answer_for_the_next() -> None:
    dice = random.Random(11)

    def interrupt(*_: object) -> None:
        raise Interruption

    before = signal.signal(signal.SIGALRM, interrupt)
    interrupted = 0
    try:
        with Sandbox("native", workers=1) as sandbox:
            for number in range(60):
                sandbox.run("pass")
                try:
                    signal.setitimer(signal.ITIMER_REAL, dice.uniform(0.0002, 0.02))
                    sandbox.run(f"import time; time.sleep(0.01); print('old {number}')")
                    signal.setitimer(signal.ITIMER_REAL, 0)
                except Interruption:
                    interrupted += 1
                assert sandbox.run(f"print('new {number}')").stdout == f"new {number}\n"
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert interrupted > 5


def test_map_reads_no_further_than_it_must_and_may_be_left() -> None:
    read: list[int] = []

    def endless() -> Iterator[str]:
        for number in itertools.count():
            read.append(number)
            yield f"print({number})"

    with Sandbox("native", workers=2) as sandbox:
        running = sandbox.map(endless())
        assert not read
        assert [next(running).stdout for _ in range(5)] == [f"{n}\n" for n in range(5)]
        assert len(read) <= 5 + 2 * 2
        running.close()  # type: ignore[attr-defined]
        assert sandbox.run("print('next')").stdout == "next\n"


def test_map_passes_on_what_its_source_raises() -> None:
    def failing() -> Iterator[str]:
        yield "print(1)"
        raise LookupError("no more")

    with Sandbox("native", workers=2) as sandbox:
        with pytest.raises(LookupError, match="no more"):
            list(sandbox.map(failing()))
        assert sandbox.run("print(1)").ok


def test_map_keeps_the_order_of_its_source() -> None:
    programs = [f"import time; time.sleep({0.05 * (n % 3)}); print({n})" for n in range(12)]
    with Sandbox("native", workers=4) as sandbox:
        assert [done.stdout for done in sandbox.map(programs)] == [f"{n}\n" for n in range(12)]


def test_a_cancelled_task_disturbs_nobody() -> None:
    async def work() -> list[Execution]:
        async with Sandbox("native", workers=1, limits=Limits(wall_s=5)) as sandbox:
            slow = asyncio.create_task(sandbox.arun("import time; time.sleep(0.5); print('slow')"))
            queued = asyncio.create_task(sandbox.arun("print('queued')"))
            await asyncio.sleep(0.2)
            slow.cancel()
            queued.cancel()
            await asyncio.gather(slow, queued, return_exceptions=True)
            assert slow.cancelled()
            assert queued.cancelled()
            return [done async for done in sandbox.amap(["print(1)", "print(2)", "print(3)"])]

    assert [done.stdout for done in asyncio.run(work())] == ["1\n", "2\n", "3\n"]
