"""The reward ``code`` on the real sandbox: verdicts, scores, metrics, limits, and what is not a verdict."""

from __future__ import annotations

import base64
import json
import pickle
import subprocess
import sys
import zlib
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

import guerdon
from guerdon.errors import InputError, SandboxError
from guerdon.rewards.code.forms import suite_of
from guerdon.rewards.code.judging import _CHECKER_LIMITS, Judge, limits_for
from guerdon.rewards.code.reward import code
from guerdon.rewards.code.suite import SampleTests
from guerdon.sandbox.execution import Report, SandboxJob
from guerdon.sandbox.grading.cases import CallTest, StdinTest
from guerdon.sandbox.grading.comparison import Comparison
from guerdon.sandbox.limits import Limits
from guerdon.sandbox.sandbox import Sandbox

SUM = "print(sum(map(int, input().split())))"
TESTS = [{"input": "1 2", "output": "3"}, {"input": "4 5 6", "output": "15"}, {"input": "7", "output": "7"}]
METRICS = {
    *("program_found", "compiles", "tests_passed", "pass_rate", "first_failure"),
    *("cpu_s", "memory_mb", "isolated", "tamper_resistant"),
}


def fenced(program: str, tag: str = "python") -> str:
    return f"Here it is:\n```{tag}\n{program}\n```\n"


HUMANEVAL = {
    "prompt": (
        "from typing import List\n\n\ndef square(x):\n    return x * x\n\n\n"
        "def squares(xs: List[int]) -> List[int]:\n    '''The squares of numbers.'''\n"
    ),
    "metadata": {
        "test": "def check(candidate):\n"
        "    assert candidate([]) == []\n    assert candidate([1, 3]) == [square(1), square(3)]\n",
        "entry_point": "squares",
    },
}
MBPP = {
    "prompt": "Write a function to double a number.",
    "metadata": {
        "test_list": [
            "assert double(2) == 4",
            "assert double(-1) == -2",
            "assert abs(double(0.5) - 1) < 1e-9",
        ],
        "test_setup_code": "",
        "challenge_test_list": [],
    },
}
APPS_CALL = {
    "metadata": {"input_output": json.dumps({"fn_name": "pair", "inputs": [[1, 2]], "outputs": [[[2, 1]]]})}
}
LIVE = {
    "metadata": {
        "public_test_cases": json.dumps([{"input": "[1, 2]", "output": "3", "testtype": "functional"}]),
        "private_test_cases": base64.b64encode(
            zlib.compress(
                pickle.dumps(json.dumps([{"input": "[]", "output": "0", "testtype": "functional"}]))
            )
        ).decode(),
        "func_name": "total",
    }
}
FORCES = {
    "metadata": {
        "official_tests": [{"input": "5\n", "output": "2 3\n"}, {"input": "2\n", "output": "1 1\n"}],
        "generated_checker": (
            "import sys\n"
            "n = int(open(sys.argv[1]).read())\n"
            "found = [int(x) for x in open(sys.argv[3]).read().split()]\n"
            "print(1 if len(found) == 2 and min(found) > 0 and sum(found) == n else 0)\n"
        ),
        "input_mode": "stdio",
        "time_limit": 1.0,
        "memory_limit": 256.0,
    }
}
CONTEST = {"metadata": {"public_tests": {"input": ["1 2\n"], "output": ["3\n"]}}}
VERL = {"ground_truth": json.dumps({"inputs": ["1 2\n", "4"], "outputs": ["3\n", "4"]})}

VERDICTS: list[tuple[str, dict[str, Any], str, float]] = [
    ("HumanEval, a body", HUMANEVAL, "    return [square(x) for x in xs]\n", 1.0),
    ("HumanEval, a function", HUMANEVAL, fenced("def squares(xs):\n    return [square(x) for x in xs]"), 1.0),
    ("HumanEval, wrong", HUMANEVAL, fenced("def squares(xs):\n    return xs"), 0.0),
    ("HumanEval, not defined", HUMANEVAL, fenced("def cubes(xs):\n    return xs"), 0.0),
    ("MBPP", MBPP, fenced("def double(x):\n    return 2 * x"), 1.0),
    ("MBPP, wrong", MBPP, fenced("def double(x):\n    return x ** 2"), 0.0),
    ("MBPP, its exit", MBPP, fenced("import os\ndef double(x):\n    os._exit(0)"), 0.0),
    ("APPS, in a list of one", APPS_CALL, fenced("def pair(a, b):\n    return [b, a]"), 1.0),
    ("APPS, as it stands", APPS_CALL, fenced("def pair(a, b):\n    return [[b, a]]"), 1.0),
    ("APPS, wrong", APPS_CALL, fenced("def pair(a, b):\n    return [a, b]"), 0.0),
    ("LiveCodeBench", LIVE, fenced("class Solution:\n    def total(self, xs: List):\n        return sum(xs)"), 1.0),
    ("LiveCodeBench, wrong", LIVE, fenced("class Solution:\n    def total(self, xs):\n        return 3"), 0.0),
    ("Codeforces, another answer", FORCES, fenced("print(1, int(input()) - 1)"), 1.0),
    ("Codeforces, wrong", FORCES, fenced("print(0, input())"), 0.0),
    ("Codeforces, no numbers", FORCES, fenced("print('1')"), 0.0),
    ("CodeContests", CONTEST, fenced(SUM), 1.0),
    ("CodeContests, wrong", CONTEST, fenced("print(4)"), 0.0),
    ("verl", VERL, f"<think>easy</think>{fenced(SUM)}", 1.0),
    ("verl, only in the thought", VERL, f"<think>{fenced(SUM)}</think>{fenced('print(3)')}", 0.0),
    ("verl, nothing after the thought", VERL, f"<think>{fenced(SUM)}</think>", 0.0),
]  # fmt: skip


@pytest.mark.parametrize(
    ("row", "response", "score"), [v[1:] for v in VERDICTS], ids=[v[0] for v in VERDICTS]
)
def test_a_verdict_in_each_form(row: dict[str, Any], response: str, score: float) -> None:
    result = code(response, **row)
    assert result.score == score, result.error or result.reason
    assert set(result.metrics) == METRICS
    assert result.metrics["isolated"].score == 1
    assert result.metrics["tamper_resistant"].score == 1


def metric(result: guerdon.EvaluateResult, name: str) -> tuple[float, str | None]:
    found = result.metrics[name]
    return found.score, found.reason


WRONG_FROM_2 = "xs = input().split()\nprint(3 if len(xs) == 2 else 7)"


@pytest.mark.parametrize(
    ("program", "parameters", "score", "passed", "first"),
    [
        (SUM, {}, 1.0, 3, 0),
        (WRONG_FROM_2, {}, 0.0, 1, 2),
        (WRONG_FROM_2, {"stop_on_failure": False}, 0.0, 2, 2),
        (WRONG_FROM_2, {"scoring": "fraction"}, 2 / 3, 2, 2),
        (WRONG_FROM_2, {"scoring": "weighted", "weights": [1, 2, 5]}, 0.75, 2, 2),
        ("print(7)", {"scoring": "fraction"}, 1 / 3, 1, 1),
        ("print(0)", {"scoring": "fraction"}, 0.0, 0, 1),
    ],
)
def test_scoring(program: str, parameters: dict[str, Any], score: float, passed: int, first: int) -> None:
    result = code(fenced(program), TESTS, **parameters)
    assert result.score == pytest.approx(score)
    assert result.metrics["tests_passed"].score == passed
    assert result.metrics["pass_rate"].score == pytest.approx(passed / 3)
    assert result.metrics["first_failure"].score == first


def test_weights_of_the_tests_themselves() -> None:
    tests = [{**test, "weight": weight} for test, weight in zip(TESTS, (1, 2, 5), strict=True)]
    assert code(fenced(WRONG_FROM_2), tests, scoring="weighted").score == 0.75


@pytest.mark.parametrize(
    ("compare", "output", "score"),
    [
        ("exact", "3", 0.0),
        ("exact", "3\n", 1.0),
        ("lines", "3 \n\n", 1.0),
        ("lines", " 3", 0.0),
        ("tokens", " 3", 1.0),
        ("tokens", "3.0", 0.0),
        ("floats", "3.0000001", 1.0),
        ("floats", "3.1", 0.0),
    ],
)
def test_how_output_is_compared(compare: str, output: str, score: float) -> None:
    program = fenced(f"import sys\nsys.stdout.write({output!r})")
    assert code(program, [{"input": "", "output": "3\n"}], compare=compare).score == score


def test_a_tolerance() -> None:
    tests = [{"input": "", "output": "3.0"}]
    assert code(fenced("print(3.05)"), tests, compare="floats", tolerance=0.1).score == 1
    assert code(fenced("print(3.05)"), tests, compare="floats", tolerance=0.01).score == 0


def test_no_program_is_a_verdict() -> None:
    result = code("I cannot do that.", TESTS)
    assert result.score == 0
    assert metric(result, "program_found") == (
        0,
        "no fenced block, and the text is not a program: invalid syntax (line 1)",
    )
    assert metric(result, "isolated") == (1, "nothing was run")
    assert result.reason is not None
    assert result.reason.startswith("no program found")
    assert set(result.metrics) == METRICS


def test_a_program_that_does_not_compile_is_a_verdict() -> None:
    result = code(fenced("print((1"), TESTS)
    assert (result.score, result.reason) == (0, "the program does not compile: '(' was never closed (line 1)")
    assert metric(result, "compiles") == (0, "'(' was never closed (line 1)")


@pytest.mark.parametrize(
    ("program", "status"),
    [
        ("raise ValueError('no')", "error"),
        ("while True: pass", "timeout"),
        ("x = bytearray(10**10)", "error"),
        ("import os\nos.kill(os.getpid(), 9)", "killed"),
    ],
)
def test_the_first_failure_is_named(program: str, status: str) -> None:
    result = code(fenced(program), TESTS, limits={"cpu_s": 0.5})
    number, reason = metric(result, "first_failure")
    assert (result.score, number) == (0, 1)
    assert reason is not None
    assert status in reason or "memory" in reason


def test_inputs_stay_hidden_unless_they_are_to_be_revealed() -> None:
    tests = [{"input": "4711", "output": "0815"}]
    hidden, shown = (
        code(fenced("print('x' + input()[:0])"), tests, reveal=reveal) for reveal in (False, True)
    )
    said = json.dumps([hidden.reason, *(m.reason for m in hidden.metrics.values())])
    assert "4711" not in said
    assert "0815" not in said
    assert shown.reason is not None
    assert "4711" in shown.reason
    assert "0815" in shown.reason


def test_findings_are_metrics_and_change_no_score() -> None:
    honest, hacking = code(fenced(SUM), TESTS, findings=True), code(
        fenced(f"import os, builtins\nbuiltins.x = 1\nif input == '4 5 6': os._exit(0)\n{SUM}"), TESTS, findings=True
    )  # fmt: skip
    found = {
        "found_patches",
        "found_exits",
        "found_frames",
        "found_system",
        "found_equality",
        "found_hard_coded",
    }
    assert set(honest.metrics) == set(hacking.metrics) == METRICS | found
    assert [honest.metrics[name].score for name in sorted(found)] == [0] * 6
    assert (honest.score, hacking.score) == (1, 1)
    assert metric(hacking, "found_patches") == (1, "builtins.x (line 2)")
    assert metric(hacking, "found_hard_coded") == (1, "test 2")
    assert metric(hacking, "found_exits") == (1, "_exit (line 3)")


# Counts as many steps as the output says, holds as many numbers, or says what was printed.
COUNTING = """
import sys
wanted, said = int(open(sys.argv[1]).read()), open(sys.argv[3]).read().split()
if said[0] == "-1":
    print("not", said[0])
elif said[0] == "-2":
    sys.exit(7)
else:
    print(int(len([0] * int(said[0])) == wanted))
"""


@pytest.mark.parametrize(
    ("output", "score"), [("5", 1), ("4", 0), ("10**12", 0), ("-1", 0), ("-2", 0), ("'x'", 0), ("''", 0)]
)
def test_output_that_a_checker_stumbles_over_is_wrong(output: str, score: float) -> None:
    result = code(fenced(f"print({output})"), [{"input": "5", "output": "5"}], checker=COUNTING)
    assert (result.score, result.error) == (score, None)


def test_a_checker_has_room_for_large_tests() -> None:
    same = "import sys; print(int(open(sys.argv[3]).read().strip() == open(sys.argv[2]).read()))"
    large = [{"input": "1" * (17 << 20), "output": "3"}]
    assert code(fenced("print(3)"), large, checker=same).score == 1


LIVE = '[{"input": "2", "output": "[[2, 2]]", "testtype": "functional"}]'


@pytest.mark.parametrize(
    "row",
    [
        {"tests": [{"function": "pairs", "args": [2], "expected": [[2, 2]]}]},
        {"input_output": json.dumps({"fn_name": "pairs", "inputs": [[2]], "outputs": [[[2, 2]]]})},
        {"inputs": [[2]], "outputs": [[[2, 2]]], "fn_name": "pairs"},
        {"public_test_cases": LIVE, "func_name": "pairs"},
    ],
)
@pytest.mark.parametrize(
    ("returned", "score"),
    [("[(n, n)]", 1), ("([n, n],)", 1), ("[[n, n]]", 1), ("[{n, n}]", 0), ("(n,)", 0)],
)
def test_a_tuple_is_a_list_where_json_says_what_is_expected(
    row: dict[str, Any], returned: str, score: float
) -> None:
    assert code(fenced(f"def pairs(n): return {returned}"), metadata=row).score == score


def test_a_tuple_is_no_list_where_the_test_can_tell_them_apart() -> None:
    program = fenced("def pair(n): return (n, n)")
    assert code(program, [CallTest("pair", [2], {}, [2, 2])]).score == 0
    assert code(program, [CallTest("pair", [2], {}, (2, 2))]).score == 1
    assert code(program, ["assert pair(2) == [2, 2]"]).score == 0


def test_with_a_checker_nothing_need_be_expected() -> None:
    even = "import sys; print(int(int(open(sys.argv[3]).read() or 2) % 2 == 0))"
    tests = [{"input": "5", "output": ""}]
    assert [code(fenced(f"print({n})"), tests, checker=even).score for n in (4, 5)] == [1, 0]


ERRORS: list[tuple[dict[str, Any], str]] = [
    ({}, "there are no tests"),
    ({"tests": []}, "there are no tests"),
    ({"tests": TESTS, "scoring": "some"}, "scoring must be one of all, fraction, weighted"),
    ({"tests": TESTS, "scoring": "weighted"}, "needs weights"),
    ({"tests": TESTS, "scoring": "weighted", "weights": [1]}, "1 weights and 3 tests"),
    ({"tests": TESTS, "scoring": "weighted", "weights": [0, 0, 0]}, "all 0"),
    ({"tests": TESTS, "compare": "fuzzy"}, "compare must be one of exact, lines, tokens, floats"),
    ({"tests": TESTS, "tolerance": 0.1}, "a tolerance belongs to compare=floats"),
    ({"tests": TESTS, "checker": "print("}, "the checker is not Python"),
    ({"tests": TESTS, "checker": True}, "no generated_checker"),
    ({"tests": TESTS, "checker": "print(0)"}, "the checker refuses the data's own output"),
    ({"tests": [{"input": "1", "output": ""}, {"input": "2", "output": "\n"}]}, "no test expects any output"),
    ({"tests": TESTS, "checker": "print('yes')"}, "the checker fails on the data's own output"),
    ({"tests": ["assert f(1)"], "checker": "print(1)"}, "a checker decides about printed output"),
    ({"tests": TESTS, "language": "cobol"}, "language must be one that the sandbox runs"),
    ({"tests": TESTS, "block": "middle"}, "block must be one of last, first, longest, all"),
    ({"tests": TESTS, "limits": {"cpu": 1}}, 'limits has no "cpu"; it has cpu_s'),
    ({"tests": TESTS, "limits": {"cpu_s": 0}}, "cpu_s must be a number above 0"),
    ({"tests": TESTS, "limits": 5}, "limits must be an object"),
    ({"tests": TESTS, "total_wall_s": 0}, "total_wall_s must be a number above 0, not 0"),
    ({"tests": TESTS, "reveal": "perhaps"}, "reveal must be true or false"),
]


@pytest.mark.parametrize(("given", "says"), ERRORS)
def test_what_makes_no_sense_is_a_failure_and_never_a_score(given: dict[str, Any], says: str) -> None:
    result = code(fenced("print(0)"), **given)
    assert (result.score, result.error_kind) == (None, "input")
    assert says in str(result.error)


def test_whoever_runs_the_reward_says_how_it_is_isolated_and_no_row_does() -> None:
    unconfined = guerdon.get_reward_function("code", isolation="none")
    result = unconfined(fenced(SUM), TESTS)
    assert (result.score, metric(result, "isolated")) == (1, (0, "none"))
    assert result.metrics["tamper_resistant"].score == 0
    with pytest.raises(InputError, match="isolation must be one of"):
        guerdon.get_reward_function("code", isolation="docker")
    row = rows()[0] | {"isolation": "none", "preload": "no_such_module", "reveal": "perhaps"}
    (result,) = guerdon.score("code", [row])
    assert (result.score, result.metrics["isolated"].score) == (1, 1)


def test_packages_are_there_when_the_owner_of_the_reward_says_so() -> None:
    pytest.importorskip("sympy")
    program = fenced("import sympy\nprint(sympy.Integer(input()) + 1)")
    tests = [{"input": "2", "output": "3"}]
    assert code(program, tests).score == 0
    assert guerdon.get_reward_function("code", preload="sympy")(program, tests).score == 1
    assert guerdon.get_reward_function("code", preload="no_such_module")(program, tests).error_kind == "input"


class Lost(Sandbox):
    """A sandbox whose fork servers are killed from outside, from a given job on."""

    def __init__(self, after: int) -> None:
        super().__init__()
        self.left = after

    def execute(self, job: SandboxJob) -> Report:
        self.left -= 1
        return super().execute(job) if self.left >= 0 else Report(status="worker_lost", detail="it is gone")


@pytest.mark.parametrize(("after", "where"), [(0, "test 1 of 3"), (2, "test 3 of 3")])
def test_a_test_without_a_verdict_is_an_error_and_never_a_score(after: int, where: str) -> None:
    suite = suite_of({"tests": TESTS})
    assert suite is not None
    with Lost(after) as sandbox:
        judge = Judge(sandbox, "python", Comparison(), Limits(), stop_on_failure=True)
        with pytest.raises(SandboxError, match=f"{where} has no verdict: it is gone") as caught:
            judge.results(SUM, suite)
    assert (caught.value.kind, caught.value.status) == ("sandbox", "worker_lost")


@pytest.mark.parametrize(
    ("suite", "language", "given", "factor", "limits"),
    [
        ({}, "python", None, None, Limits()),
        ({"cpu_s": 6.0}, "python", None, None, Limits(cpu_s=6.0, wall_s=18.0)),
        ({"time_limit_s": 2.0, "memory_mb": 64}, "cpp", None, None, Limits(cpu_s=2.0, memory_mb=64)),
        ({"time_limit_s": 2.0}, "python", None, None, Limits(cpu_s=10.0, wall_s=30.0)),
        ({"time_limit_s": 2.0}, "python", None, 1.5, Limits(cpu_s=3.0)),
        ({"time_limit_s": 2.0, "memory_mb": 64}, "cpp", {"cpu_s": 1, "memory_mb": 128}, None,
         Limits(cpu_s=1, memory_mb=128)),
        ({"cpu_s": 6.0}, "python", {"wall_s": 7.0}, None, Limits(cpu_s=6.0, wall_s=7.0)),
        ({"cpu_s": 6.0}, "python", Limits(cpu_s=1), None, Limits(cpu_s=1)),
    ],
)  # fmt: skip
def test_limits(
    suite: dict[str, Any], language: str, given: Any, factor: float | None, limits: Limits
) -> None:
    assert limits_for(SampleTests(form="list", tests=(), **suite), language, given, factor) == limits


def test_both_readings_of_the_tests_share_the_time() -> None:
    suite = SampleTests(form="list", tests=(StdinTest("", "7"),), other=(StdinTest("", "8"),))
    with Sandbox(workers=1) as sandbox:
        judge = Judge(
            sandbox=sandbox,
            language="python",
            comparison=Comparison.of("lines"),
            limits=Limits(),
            stop_on_failure=True,
            total_wall_s=1.2,
        )
        (result,) = judge.results("import time; time.sleep(0.8); print(8)", suite)
    assert not result.passed


def test_a_problem_s_own_limits_hold() -> None:
    slow = fenced("x = 0\nfor i in range(10**9): x += i")
    result = code(slow, metadata={"official_tests": TESTS, "time_limit": 0.05})
    assert result.metrics["first_failure"].reason is not None
    assert "timeout" in result.metrics["first_failure"].reason
    assert 0.2 < result.metrics["cpu_s"].score < 1


def test_time_runs_out_for_the_program_and_not_for_the_reward() -> None:
    waits = fenced("import time\ntime.sleep(0.4)\nprint(input())")
    tests = [{"input": "1", "output": "1"}] * 5
    patient = guerdon.get_reward_function("code", scoring="fraction", total_wall_s=1)
    result = patient(waits, tests)
    assert (result.score, result.metrics["first_failure"].reason) == (
        0.4,
        "timeout: it overran its time limit",
    )
    # A program that takes all the time that it has is judged before the engine gives the sample up.
    assert code.timeout is not None
    assert code.timeout > 120 + _CHECKER_LIMITS.wall_s


def rows() -> list[dict[str, Any]]:
    answers = [SUM, "print(0)", "while True: pass"]
    return [
        {
            "messages": [
                {"role": "user", "content": "Add."},
                {"role": "assistant", "content": fenced(program)},
            ],
            "tests": TESTS,
        }
        for program in answers
    ]


def test_in_the_engine_s_workers_and_in_threads() -> None:
    reward = guerdon.get_reward_function("code", limits={"cpu_s": 0.5})
    assert guerdon.score(reward, rows(), workers=2).scores == [1.0, 0.0, 0.0]
    assert guerdon.score(reward, rows(), workers=0).scores == [1.0, 0.0, 0.0]
    with ThreadPoolExecutor(4) as pool:
        calls = [pool.submit(reward, fenced(p), TESTS) for p in (SUM, "print(0)") * 8]
        assert [call.result().score for call in calls] == [1.0, 0.0] * 8


def test_in_trainers() -> None:
    reward = guerdon.get_reward_function("code")
    trl = reward.as_function("trl")
    scores = trl(
        prompts=["Add."] * 2, completions=[fenced(SUM), fenced("print(0)")],
        official_tests=[TESTS] * 2, time_limit=[1.0] * 2, input_mode=["stdio"] * 2,
    )  # fmt: skip
    assert scores == [1.0, 0.0]
    verl = reward.to_verl(sync=True, components=sorted(METRICS))
    found = [verl("code", said, VERL["ground_truth"], {}) for said in (fenced(SUM), "no", fenced("print(("))]
    assert [one["score"] for one in found] == [1, 0, 0]
    assert {frozenset(one) for one in found} == {frozenset(METRICS | {"score", "failed"})}
    openrlhf = reward.as_function("openrlhf")
    label = json.dumps({"tests": TESTS})
    assert openrlhf(["Add." + fenced(SUM)], ["Add."], [label])["rewards"] == [1.0]


def test_on_the_command_line(tmp_path: Path) -> None:
    data = tmp_path / "rows.jsonl"
    lines = [
        {
            "prompt": HUMANEVAL["prompt"],
            "response": "    return [x * x for x in xs]",
            **HUMANEVAL["metadata"],
        },
        {"prompt": "Double.", "response": fenced("def double(x): return x"), **MBPP["metadata"]},
    ]
    data.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    out = tmp_path / "scores.jsonl"
    columns = ["--prompt-column", "prompt", "--response-column", "response", "--param", "scoring=fraction"]
    command = [sys.executable, "-m", "guerdon", "score", "code", str(data), "-o", str(out), *columns]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    scores = [json.loads(line)["score"] for line in out.read_text(encoding="utf-8").splitlines()]
    assert scores == [1.0, 0.0]


def test_nothing_is_left_behind() -> None:
    program = (
        "import os, sys\n"
        "from guerdon.rewards.code.reward import code\n"
        f"print(code({fenced(SUM)!r}, {TESTS!r}).score, flush=True)\n"
        "from guerdon.rewards.common import sandboxes\n"
        "assert sandboxes.shared() is sandboxes.shared('auto')\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout, done.stderr) == (0, "1.0\n", "")


def test_errors_of_a_plain_call() -> None:
    with pytest.raises(InputError, match="the response must be text"):
        code.func(5, TESTS)


def test_every_verdict_on_mbpp_equals_its_label(data_dir: Path) -> None:
    text = (data_dir / "code_mbpp_dev.jsonl").read_text(encoding="utf-8")
    found = [json.loads(line) for line in text.split("\n") if line]
    assert len(found) == 240
    data = [
        {
            "messages": [
                {"role": "user", "content": row["prompt"]},
                {"role": "assistant", "content": row["response"]},
            ],
            "test": row["test"],
            "entry_point": row["entry_point"],
        }
        for row in found
    ]
    scores = guerdon.score("code", data)
    wrong = [
        (row["id"], result.score, result.error or result.reason)
        for row, result in zip(found, scores, strict=True)
        if result.score != float(row["label"])
    ]
    assert wrong == []
    resistant = sum(result.metrics["tamper_resistant"].score for result in scores)
    assert resistant >= 0.98 * len(found)
