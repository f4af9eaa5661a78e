"""Programs of other languages: compiled if need be, and run, as commands in the sandbox."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

from guerdon.errors import InputError
from guerdon.sandbox.execution import NO_VERDICT, Executor, Report, SandboxJob
from guerdon.sandbox.grading.cases import StdinTest, Test, TestResult
from guerdon.sandbox.languages.build_cache import BuildArtifact, BuildCache, key_of
from guerdon.sandbox.languages.toolchains import Language, Toolchain, how_to_install
from guerdon.sandbox.limits import Limits

COMPILE = Limits(cpu_s=10.0, wall_s=60.0, memory_mb=1024, output_kb=256, processes=32, scratch_mb=128)
"""What compiling may use; processor time is the language's own."""
_ERROR_LINE = re.compile(rb"^.*\berror\b.*$", re.M | re.I)
_RAISED = re.compile(rb"^\S.*(?:Error\b|Exception\b|panicked|panic:).*$", re.M)
"""What runtimes say of an error that nobody caught, before or after much else."""


class LanguageRunner:
    """An executor of programs of one language, with another executor for the commands that this takes.

    A job of kind ``program`` whose source is ``source`` is run in the language; every other job goes to the
    other executor as it is, such as a checker that is written in Python. Without a toolchain every run is
    ``unavailable``.
    """

    def __init__(
        self,
        executor: Executor,
        language: Language,
        build_cache: BuildCache,
        source: bytes,
        files: Mapping[str, bytes],
        *,
        toolchain: Toolchain | None,
    ) -> None:
        self.executor = executor
        self.language = language
        self.build_cache = build_cache
        self.source = source
        self.file, self._text = language.source_file(source)
        self.files = {**files, **language.helpers, self.file: self._text}
        self.toolchain = toolchain
        self._made: Report | None = None
        """What came of compiling: a cache may have let go of it, and a program's own tests compile it once."""

    def compiled(self) -> Report:
        """What came of compiling the program: with the status ``ok`` what to run is in ``collected``.

        Compiles once for all who ask with the same source, files and tools.
        """
        if self.toolchain is None:
            return Report(status="unavailable", detail=how_to_install(self.language))
        if not self.language.compile:
            return Report(status="ok", collected=self.files)
        if self._made is not None:
            return self._made
        command = self.toolchain.command(self.language.compile, self.file, COMPILE.memory_mb)
        parts = [self.language.name, self.toolchain.identity, *command, self.file]
        for name in sorted(self.files):
            parts += [name, self.files[name].decode("latin-1")]
        self._made = self.build_cache.get(key_of(parts), lambda: self._compile(command)).report
        return self._made

    def _compile(self, command: tuple[str, ...]) -> BuildArtifact:
        assert self.toolchain is not None
        job = SandboxJob(
            kind="command",
            arguments=command,
            environment=self.toolchain.environment(),
            files=self.files,
            collect=self.language.outputs,
            limits=replace(COMPILE, cpu_s=self.language.compile_cpu_s),
        )
        report = self.executor.execute(job)
        if report.status in NO_VERDICT:
            return BuildArtifact(report, lasting=False)
        if report.status == "ok" and report.collected:
            return BuildArtifact(replace(report, compiled=True))
        said = report.stderr or report.stdout
        if report.status in ("ok", "error"):
            line = _ERROR_LINE.search(said)
            why = line[0] if line else said.strip().partition(b"\n")[0] or b"nothing was made"
            detail = why.strip()[:200].decode("utf-8", "replace")
        else:
            detail = f"the compiler was stopped: {report.detail}"
        failed = replace(
            report,
            status="error",
            stdout=b"",
            stderr=said,
            collected={},
            detail=f"compile error: {detail}",
            compiled=False,
        )
        return BuildArtifact(failed, lasting=report.status in ("ok", "error"))

    def refusal(self, tests: Sequence[Test]) -> TestResult | None:
        """The result of every test of a program that does not compile, or for which there are no tools.

        Raises InputError for a test that is not of what is printed: functions are called in Python only.
        """
        for number, test in enumerate(tests, 1):
            if not isinstance(test, StdinTest):
                kind = type(test).__name__
                raise InputError(
                    f"test {number} is a {kind}: programs in {self.language.name} take StdinTest only"
                )
        made = self.compiled()
        if made.status == "ok":
            return None
        return TestResult(
            passed=False,
            status=made.status,
            detail=made.detail,
            revealing=made.stderr[-2000:].decode("utf-8", "replace"),
            cpu_s=made.cpu_s,
            wall_s=made.wall_s,
            memory_mb=made.memory_mb,
            tier=made.tier,
        )

    def execute(self, job: SandboxJob) -> Report:
        """Runs the job and waits for it. Never raises for what the program did."""
        if job.kind != "program" or job.program != self.source:
            return self.executor.execute(job)
        made = self.compiled()
        if made.status != "ok" or self.toolchain is None:
            return made
        language, asked = self.language, job.limits
        size = sum(map(len, made.collected.values()))
        limits = replace(
            asked,
            memory_mb=asked.memory_mb + language.overhead_mb,
            processes=max(asked.processes, language.processes),
            scratch_mb=asked.scratch_mb + (size >> 20) + 1,
        )
        report = self.executor.execute(
            SandboxJob(
                kind="command",
                arguments=(
                    *self.toolchain.command(language.run, self.file, asked.memory_mb),
                    *job.arguments,
                ),
                environment=self.toolchain.environment(),
                files={**job.files, **made.collected},
                stdin=job.stdin,
                stack_mb=language.stack_mb,
                limits=limits,
                total_wall_s=job.total_wall_s,
            )
        )
        return replace(self._with_runtime_message(report, limits.memory_mb), compiled=made.compiled)

    def _with_runtime_message(self, report: Report, memory_mb: int) -> Report:
        """The report, with what the runtime says of memory, in words of its own, put as every run's is."""
        if report.status not in ("error", "killed"):
            return report
        full = report.signal is not None and report.memory_mb > 0.9 * memory_mb
        if full or re.search(self.language.out_of_memory, report.stderr[-16_384:]):
            return replace(report, status="memory_limit", detail="it outgrew its memory limit")
        raised = _RAISED.search(report.stderr)
        if report.status == "error" and raised is not None:
            return replace(report, detail=raised[0].strip()[:200].decode("utf-8", "replace"))
        return report
