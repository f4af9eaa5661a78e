"""What a program printed, compared with what was expected."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, replace
from typing import Literal

from guerdon.errors import InputError
from guerdon.sandbox.execution import Executor, Report, SandboxJob
from guerdon.sandbox.limits import Limits

ComparisonName = Literal["exact", "lines", "tokens", "floats", "checker"]
VerdictSource = Literal["exit_code", "stdout"]
_WORDS = ("exact", "lines", "tokens", "floats")
_FILES = {"input": "input.txt", "output": "output.txt", "answer": "answer.txt"}
_NUMBER = re.compile(rb"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d{1,4})?")
_INTEGER = re.compile(rb"[+-]?\d+")
_LONGEST = 400
"""Characters of a token that is read as a number."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """How output is compared; most often named by one word.

    - ``exact``: byte for byte.
    - ``lines``: white space at the end of a line and empty lines at the end do not count.
    - ``tokens``: only what stands between white space counts, and its order.
    - ``floats``: tokens, of which numbers may differ by ``absolute`` or by ``relative`` times the expected one.
      Two whole numbers have to be the same. The tolerance holds for floats that calls return, too.

    Output that is shorter than what is expected, or longer, is never right. Raises InputError for an unknown
    word or a tolerance that is not a number from 0 up.

    >>> Comparison.of("floats").accepts("0.5 3", b"0.50000001 3.0\\n")
    True
    >>> Comparison.of("tokens").accepts("1", b"1.0")
    False
    """

    word: ComparisonName = "lines"
    absolute: float = 1e-6
    relative: float = 1e-6
    checker: str = ""
    """``checker``: the Python source of a program that judges; see ``by``."""
    arguments: tuple[str, ...] = ()
    verdict: VerdictSource = "exit_code"
    limits: Limits | None = None

    def __post_init__(self) -> None:
        if self.word not in _WORDS and not (self.word == "checker" and self.checker):
            words = ", ".join(_WORDS)
            raise InputError(f"unknown comparison {self.word!r}; choose {words}, or Comparison.by(source)")
        for name in ("absolute", "relative"):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < math.inf:
                raise InputError(f"{name} must be a number from 0 up, not {value!r}")

    @classmethod
    def of(cls, what: Comparison | str) -> Comparison:
        """The comparison of this name; one that is given comes back as it is."""
        return what if isinstance(what, Comparison) else cls(word=what)  # type: ignore[arg-type]

    @classmethod
    def by(
        cls,
        checker_source: str,
        *,
        arguments: tuple[str, ...] = ("input", "output", "answer"),
        verdict: VerdictSource = "exit_code",
        limits: Limits | None = None,
    ) -> Comparison:
        """A data set's own checker, a Python program that runs in the sandbox as well.

        It finds the test's input, the jury's answer and the program's output in ``input.txt``, ``answer.txt``
        and ``output.txt``, and their names in ``sys.argv`` in the order of ``arguments`` (testlib's by
        default). Exit code 0 accepts, 1 and 2 reject, anything else is not a verdict. With ``verdict="stdout"``
        what it prints decides where the exit code is 0: a number above 0 accepts, 0 rejects. Where a test gets
        no verdict on a program's output, and the jury's answer is accepted, the output is wrong.
        """
        unknown = [name for name in arguments if name not in _FILES]
        if unknown:
            raise InputError(f"unknown argument {unknown[0]!r} of a checker; choose from {', '.join(_FILES)}")
        if verdict not in ("exit_code", "stdout"):
            raise InputError(f"verdict must be exit_code or stdout, not {verdict!r}")
        return cls(
            word="checker", checker=checker_source, arguments=arguments, verdict=verdict, limits=limits
        )

    @property
    def tolerance(self) -> tuple[float, float] | None:
        """Absolute and relative tolerance for floats that calls return; None for exact ones."""
        return (self.absolute, self.relative) if self.word == "floats" else None

    def accepts(self, expected: str, output: bytes) -> bool:
        """Whether the output is right. Raises InputError for a checker, which needs ``judge``."""
        wanted = expected.encode("utf-8", "surrogatepass")
        match self.word:
            case "exact":
                return output == wanted
            case "lines":
                return _lines(output) == _lines(wanted)
            case "tokens":
                return output.split() == wanted.split()
            case "floats":
                return self._floats(wanted.split(), output.split())
        raise InputError("a checker has to be run: use judge")

    def judge(
        self, executor: Executor, stdin: str, expected: str, output: bytes, limits: Limits
    ) -> bool | Report:
        """Whether the output is right; the report of a checker that gave no verdict."""
        if self.word != "checker":
            return self.accepts(expected, output)
        files = {
            "input.txt": stdin.encode("utf-8", "surrogatepass"),
            "answer.txt": expected.encode("utf-8", "surrogatepass"),
            "output.txt": output,
        }
        job = SandboxJob(
            kind="program",
            program=self.checker.encode("utf-8", "surrogatepass"),
            files=files,
            arguments=tuple(_FILES[name] for name in self.arguments),
            limits=_with_room(self.limits or limits, sum(map(len, files.values()))),
            reveals=True,
        )
        report = executor.execute(job)
        if report.status == "error" and report.exit_code in (1, 2):
            return False
        if report.status != "ok":
            return report
        if self.verdict == "exit_code":
            return True
        said = report.stdout.strip()
        return float(said) > 0 if len(said) <= _LONGEST and _NUMBER.fullmatch(said) else report

    def _floats(self, wanted: list[bytes], output: list[bytes]) -> bool:
        return len(wanted) == len(output) and all(map(self._near, wanted, output))

    def _near(self, wanted: bytes, output: bytes) -> bool:
        if wanted == output:
            return True
        if max(len(wanted), len(output)) > _LONGEST:
            return False
        if _INTEGER.fullmatch(wanted) and _INTEGER.fullmatch(output):
            return int(wanted) == int(output)
        if not (_NUMBER.fullmatch(wanted) and _NUMBER.fullmatch(output)):
            return False
        numbers = float(wanted), float(output)
        return all(map(math.isfinite, numbers)) and near(*numbers, (self.absolute, self.relative))


def _with_room(limits: Limits, size: int) -> Limits:
    """Limits with scratch space for files of so many bytes; few different ones, since each has its fork server."""
    room = limits.scratch_mb
    while room << 20 < 2 * size:
        room *= 4
    return limits if room == limits.scratch_mb else replace(limits, scratch_mb=room)


def near(wanted: float, got: float, tolerance: tuple[float, float]) -> bool:
    """Whether a number is as near to the wanted one as (absolute, relative) tolerance asks; NaN never is.

    >>> near(100.0, 100.05, (0.0, 1e-3)), near(0.0, 1e-9, (0.0, 1e-3))
    (True, False)
    """
    if wanted == got:
        return True
    absolute, relative = tolerance
    return math.isfinite(wanted) and abs(wanted - got) <= max(absolute, relative * abs(wanted))


def _lines(text: bytes) -> list[bytes]:
    lines = [line.rstrip() for line in text.split(b"\n")]
    while lines and not lines[-1]:
        lines.pop()
    return lines
