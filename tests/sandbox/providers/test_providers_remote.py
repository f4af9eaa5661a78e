"""Call tests at a remote provider: a script that travels with the program, and never what is expected."""

from __future__ import annotations

import base64
import json
import zlib
from collections.abc import Iterator
from typing import Any

import pytest

from guerdon.sandbox.execution import Executor, Report, SandboxJob
from guerdon.sandbox.inside import encoding
from guerdon.sandbox.limits import Limits
from guerdon.sandbox.providers import E2B, Piston, Provider, RemoteExecutor, Retries, SandboxFusion
from support.provider_services import E2BService, FusionService, PistonService, Service, served, status

QUICK = Retries(attempts=2, first_wait_s=0.01)
BRISK = Limits(cpu_s=0.5, wall_s=3.0, memory_mb=300)
OPTIONS = json.dumps({"prelude": "", "live": None}).encode()
READY = b'["ready"]\n'


def made(service: Service) -> Provider:
    if isinstance(service, FusionService):
        return SandboxFusion(service.address, retries=QUICK)
    if isinstance(service, PistonService):
        return Piston(service.address, retries=QUICK)
    return E2B(service.address, sandbox_address=service.address, api_key="e2b_secret", retries=QUICK)


class Here(Executor):
    """An executor of this machine."""

    def execute(self, job: SandboxJob) -> Report:
        return Report(status="ok", stdout=b"here: " + job.files["answer.txt"])


@pytest.fixture(params=[FusionService, PistonService, E2BService], ids=["fusion", "piston", "e2b"])
def service(request: pytest.FixtureRequest) -> Iterator[Service]:
    with served(request.param()) as service:
        yield service


@pytest.fixture
def executor(service: Service) -> Iterator[RemoteExecutor]:
    executor = RemoteExecutor(made(service))
    yield executor
    executor.close()


@pytest.fixture
def fusion() -> Iterator[tuple[FusionService, RemoteExecutor]]:
    with served(FusionService()) as service:
        executor = RemoteExecutor(made(service))
        yield service, executor
        executor.close()


def asked(executor: RemoteExecutor, program: str, *calls: tuple[str, list[Any]], **more: Any) -> Report:
    """A test of one call each."""
    lines = [encoding.dumps([(name, arguments, {})]) for name, arguments in calls]
    return executor.execute(
        SandboxJob(
            kind="calls",
            program=program.encode(),
            questions=b"\n".join([OPTIONS, *lines]),
            steps=max(1, len(calls)),
            limits=more.pop("limits", BRISK),
            **more,
        )
    )


def answers(report: Report) -> list[Any]:
    return [json.loads(line) for line in report.answers.splitlines()]


def test_calls_are_answered(executor: RemoteExecutor) -> None:
    program = "print('loading')\ndef double(x):\n    print('called')\n    return x * 2"
    report = asked(executor, program, ("double", [4]), ("double", ["é"]), ("double", [(1, 2)]))
    assert answers(report) == [
        ["ready"],
        [0, 0, None, "value", 8],
        [1, 0, None, "value", "éé"],
        [2, 0, None, "value", {"tuple": [1, 2, 1, 2]}],
    ]
    assert (report.status, report.exit_code, report.tier) == ("ok", 0, "remote")
    assert report.stdout == b"loading\n" + b"called\n" * 3
    assert 0 < report.cpu_s < 2
    assert 1 < report.memory_mb < 200


@pytest.mark.sample(4, seconds=3)
@pytest.mark.parametrize(
    ("program", "expected", "answered"),
    [
        ("def f(x):\n    while x > 1: pass\n    return x", "timeout", 2),
        ("import time\ndef f(x):\n    if x > 1: time.sleep(60)\n    return x", "timeout", 2),
        (
            "def f(x):\n    if x > 1: print('x' * 999_999, flush=True); sum(range(10**9))\n    return x",
            "output_limit",
            2,
        ),
        ("import os\nos._exit(0)", "ok", 0),
        ("import os\nos._exit(7)", "error", 0),
        ("import os\nos.abort()", "killed", 0),
        ("import os\nos.kill(os.getppid(), 9)", None, 0),
        ("import os\nos.closerange(0, 99)\ndef f(x): return x", None, 0),
    ],
)
def test_what_a_program_does_to_itself(
    executor: RemoteExecutor, program: str, expected: str | None, answered: int
) -> None:
    # Long enough for an interpreter to start on a busy machine; what ends by itself may take far longer.
    seconds = 15.0 if expected in ("ok", "error", "killed") else 3.0
    limits = Limits(cpu_s=seconds / 3, wall_s=seconds, memory_mb=300, output_kb=100)
    report = asked(executor, program, ("f", [1]), ("f", [2]), limits=limits)
    assert report.status == expected or (expected is None and report.status in ("error", "killed", "timeout"))
    assert len(answers(report)) == answered


@pytest.mark.sample(1, seconds=2)
def test_each_answer_restarts_the_clocks(executor: RemoteExecutor) -> None:
    program = "import time\ndef f(x):\n    time.sleep(0.25)\n    return x"
    report = asked(executor, program, *[("f", [n]) for n in range(5)], limits=Limits(wall_s=1.1))
    assert report.status == "ok"
    assert len(answers(report)) == 6
    assert report.wall_s > 1.2


def test_files_and_input_reach_the_program(executor: RemoteExecutor) -> None:
    program = "import sys\nline = sys.stdin.readline()\ndef f():\n    return open('d/x').read() + line"
    report = asked(executor, program, ("f", []), files={"d/x": b"file "}, stdin=b"input\n")
    assert answers(report)[1:] == [[0, 0, None, "value", "file input\n"]]


def test_nothing_that_is_expected_is_in_any_request(service: Service, executor: RemoteExecutor) -> None:
    # The host keeps what it expects (64206) to itself: a SandboxJob of calls has no place for it.
    assert answers(asked(executor, "def f(x): return x + 1", ("f", [64205])))[1] == [
        0,
        0,
        None,
        "value",
        64206,
    ]
    live = {"setup": "", "code": "assert f(64205) == 64206", "entry_point": "f"}
    questions = json.dumps({"prelude": "", "live": live, "nonce": 7}).encode()
    refused = executor.execute(
        SandboxJob(kind="calls", program=b"def f(x): return 64206", questions=questions)
    )
    assert refused.status == "unavailable"
    assert "must not learn what is expected" in refused.detail
    paired = executor.execute(SandboxJob(kind="pair", program=b"f = 1", questions=b"assert f == 64206"))
    assert paired.status == "unavailable"
    assert "use a local sandbox for such tests" in paired.detail
    checker = SandboxJob(kind="program", program=b"", files={"answer.txt": b"64206"}, reveals=True)
    assert executor.execute(checker).status == "unavailable"
    near = RemoteExecutor(executor.provider, near=Here())
    assert near.execute(checker).stdout == b"here: 64206"
    sent = b"\n".join(sent.body + sent.path.encode() for sent in service.sent)
    plain = sent + b"".join(decoded(sent))
    assert b"64205" in plain  # so it would be seen
    assert b"64206" not in plain


def decoded(sent: bytes) -> Iterator[bytes]:
    """Every stretch of base64 in the bytes, read."""
    for word in sent.replace(b"\\", b'"').split(b'"'):
        if len(word) >= 8 and len(word) % 4 == 0:
            try:
                yield base64.b64decode(word, validate=True)
            except ValueError:
                continue


def test_programs_run_as_they_are(executor: RemoteExecutor) -> None:
    report = executor.execute(SandboxJob(kind="program", program=b"print(input()[::-1])", stdin=b"abc\n"))
    assert (report.status, report.stdout) == ("ok", b"cba\n")
    assert executor.execute(SandboxJob(kind="program", program=b"\xff")).status == "error"


def test_programs_of_other_languages() -> None:
    with served(FusionService()) as service:
        executor = RemoteExecutor(made(service), language="sh")
        report = executor.execute(SandboxJob(kind="program", program=b"read x; echo $x$x", stdin=b"ab\n"))
        assert (report.status, report.stdout) == ("ok", b"abab\n")
        report = asked(executor, "def f(): return 1", ("f", []))
        assert report.status == "unavailable"
        assert "only Python programs can be called, not bash" in report.detail
        executor.close()


@pytest.mark.parametrize(
    ("job", "detail"),
    [
        (
            SandboxJob(kind="command", arguments=("/bin/true",)),
            "runs no commands: give it a program and a language",
        ),
        (SandboxJob(kind="program", collect=("a.out",)), "brings no files back: use a local sandbox"),
    ],
)
def test_what_cannot_be_done_there(
    fusion: tuple[FusionService, RemoteExecutor], job: SandboxJob, detail: str
) -> None:
    service, executor = fusion
    report = executor.execute(job)
    assert (report.status, report.detail) == ("unavailable", f"SandboxFusion {detail}")
    assert service.sent == []


FORGED = """
import base64, json, os, zlib
text = open(f"/proc/{os.getppid()}/cmdline").read()
source = open(text.split("\\0")[1]).read()
marker = source[source.rindex('"marker": "') + 11:].partition('"')[0]
report = {"status": STATUS, "code": 0, "answers": '["ready"]\\n[0, 0, null, "value", 1]\\n', "python": [3, 12]}
packed = base64.b64encode(zlib.compress(json.dumps(report).encode()))
out = os.open(f"/proc/{os.getppid()}/fd/1", os.O_WRONLY)
os.write(out, b"\\n" + marker.encode() + packed + b"\\n")
os.kill(os.getppid(), 9)
"""


@pytest.mark.sample(2, seconds=1)
@pytest.mark.parametrize("word", ["unavailable", "worker_lost", "passed", ["ok"], None])
def test_a_forged_report_excuses_no_program(fusion: tuple[FusionService, RemoteExecutor], word: Any) -> None:
    _, executor = fusion
    report = asked(executor, FORGED.replace("STATUS", repr(word)), ("f", [1]))
    assert report.status == "error"
    assert answers(report) == [["ready"], [0, 0, None, "value", 1]]  # no more than a claim of values


def test_a_failing_service_is_no_verdict(fusion: tuple[FusionService, RemoteExecutor]) -> None:
    service, executor = fusion
    service.faults.extend([status(502)] * 2)
    report = asked(executor, "def f(): return 1", ("f", []))
    assert report.status == "unavailable"
    assert "answered 502 (2 attempts)" in report.detail
    assert asked(executor, "def f(): return 1", ("f", [])).status == "ok"
    assert len(service.sent) == 4  # two that failed, the trial of the context, the program


@pytest.mark.parametrize(
    ("python", "detail"),
    [
        ([3, 10], "SandboxFusion has Python 3.10; call tests need 3.11 or later"),
        (None, "SandboxFusion has Python unknown; call tests need 3.11 or later"),
    ],
)
def test_an_old_python_is_told_before_any_program_runs(
    fusion: tuple[FusionService, RemoteExecutor], python: list[int] | None, detail: str
) -> None:
    service, executor = fusion

    def old(handler: Any) -> None:
        program = service.sent[-1].json()["code"]
        marker = program[program.rindex('"marker": "') + 11 :].partition('"')[0]
        report = json.dumps({"status": "ok", "code": 0, "python": python}).encode()
        said = f"\n{marker}{base64.b64encode(zlib.compress(report)).decode()}\n"
        result = {"status": "Finished", "return_code": 0, "stdout": said, "stderr": ""}
        handler.reply(200, {"status": "Success", "message": "", "run_result": result})

    service.faults.append(old)
    report = asked(executor, "secret = 1", ("f", []))
    assert (report.status, report.detail) == ("unavailable", detail)
    assert len(service.sent) == 1


def test_a_service_that_cuts_long_reports_is_told_before_any_program_runs() -> None:
    with served(PistonService()) as service:
        service.output_max_size = 1024
        executor = RemoteExecutor(made(service))
        report = asked(executor, "def f(): return 1", ("f", []))
        executor.close()
        assert report.status == "unavailable"
        assert "PISTON_OUTPUT_MAX_SIZE=1048576" in report.detail
        assert len(service.sent) == 2  # the runtimes, and a trial without the program


@pytest.mark.sample(4, seconds=1)
@pytest.mark.parametrize(
    ("program", "status", "answered"),
    [
        ("def f(): return ['abc', 12] * 200_000", "ok", 2),  # 3 MB, but a small report
        ("import os\ndef f(): return os.urandom(900_000)", "output_limit", 0),
        ("def f(): return 'x' * 8_000_000\ndef g(): return f()", "ok", 2),
        ("def f(): return ['x' * 5_000_000] * 2", "ok", 2),
    ],
)
def test_long_answers(executor: RemoteExecutor, program: str, status: str, answered: int) -> None:
    report = asked(executor, program, ("f", []), limits=Limits(cpu_s=2))
    assert report.status == status
    assert len(answers(report)) == answered


def test_surroundings_that_cannot_run_the_script(fusion: tuple[FusionService, RemoteExecutor]) -> None:
    service, executor = fusion
    broken = {"status": "Finished", "return_code": 1, "stdout": "", "stderr": "x\nOSError: no fork here\n"}
    service.canned = {"status": "Failed", "message": "", "run_result": broken}
    report = asked(executor, "def f(): return 1", ("f", []))
    assert report.status == "unavailable"
    assert report.detail == "SandboxFusion cannot run the script that call tests need: OSError: no fork here"
