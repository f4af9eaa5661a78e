"""The sandbox: programs that nobody trusts, run and tested on this machine."""

from __future__ import annotations

import asyncio
import os
import threading
import weakref
from collections import deque
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from guerdon.errors import InputError
from guerdon.sandbox.execution import Execution, Executor, Report, SandboxJob, Tier
from guerdon.sandbox.grading.cases import Test, TestResult
from guerdon.sandbox.grading.comparison import Comparison
from guerdon.sandbox.grading.judging import run_tests
from guerdon.sandbox.isolation import tiers
from guerdon.sandbox.languages import runner as language_runner
from guerdon.sandbox.languages import toolchains
from guerdon.sandbox.languages.build_cache import BuildCache
from guerdon.sandbox.limits import Limits
from guerdon.sandbox.local.environment import Spec, check_preload
from guerdon.sandbox.local.pool import Pool

if TYPE_CHECKING:
    from guerdon.sandbox.providers import Provider

Files = Mapping[str, str | bytes]


class Sandbox:
    """Runs programs that a model wrote, so that they can neither harm this machine nor bribe their judge.

    ``isolation`` is ``auto`` (the strongest tier that holds here), ``native``, ``bubblewrap``, ``landlock``, or
    ``none``, which confines nothing and marks every result so. ``workers`` programs run at a time (default:
    the processors that this process may use). ``preload`` names modules that are imported before a program
    starts, such as ``numpy``, so that no program pays for them. Nothing is started before it is needed.

    With a ``provider`` (``"piston:http://host:2000"``, or an object of ``guerdon.sandbox.providers``) programs run
    at that service; only a dataset's own checkers, which know what is expected, still run here.

    Safe to share between threads. Use it as a context manager, or close it; what is left open ends with the
    process, however that ends.

    Raises InputError for an unknown isolation or provider, a module that is not installed, or no workers.

    >>> with Sandbox() as sandbox:
    ...     done = sandbox.run("print(sum(map(int, input().split())))", stdin="1 2 3")
    >>> done.status, done.stdout
    ('ok', '6\\n')
    """

    def __init__(
        self,
        isolation: str = "auto",
        *,
        workers: int | None = None,
        preload: Sequence[str] = (),
        limits: Limits | None = None,
        provider: Provider | str | None = None,
    ) -> None:
        if isolation not in tiers.ISOLATIONS:
            raise InputError(f"isolation must be one of {', '.join(tiers.ISOLATIONS)}, not {isolation!r}")
        if workers is not None and (not isinstance(workers, int) or isinstance(workers, bool) or workers < 1):
            raise InputError(f"workers must be a whole number of 1 or more, not {workers!r}")
        self.isolation = isolation
        self.workers = workers or _processors()
        self.preload = (preload,) if isinstance(preload, str) else tuple(preload)
        check_preload(self.preload)
        self.limits = limits or Limits()
        self.provider = None if provider is None else _provider_of(provider)
        self._pool = Pool(self.workers)
        self._build_cache = BuildCache()
        self._lock = threading.Lock()
        self._threads: ThreadPoolExecutor | None = None
        _SANDBOXES.add(self)
        self._chosen: tuple[Tier, str] | None = None

    @property
    def tier(self) -> Tier:
        """What stands between programs and this machine; found out by trying, the first time it is asked for."""
        if self.provider is not None:
            return "remote"
        return self._tier_and_reason()[0]

    def _tier_and_reason(self) -> tuple[Tier, str]:
        with self._lock:
            if self._chosen is None:
                self._chosen = tiers.chosen(self.isolation)
            return self._chosen

    def execute(self, job: SandboxJob) -> Report:
        """Runs a job; everything else is built on this. Never raises for how the job ended."""
        tier, reason = self._tier_and_reason()
        if reason:
            return Report(status="unavailable", detail=reason, tier=tier)
        spec = Spec(
            tier,
            preload=self.preload,
            scratch_mb=max(job.limits.scratch_mb, self.limits.scratch_mb),
        )
        if job.kind == "command":
            # One kind for all languages, their compilers among them.
            room = max(language_runner.COMPILE.scratch_mb, job.limits.scratch_mb)
            spec = Spec(tier, scratch_mb=room, commands=True, shown=toolchains.toolchain_paths())
        return self._pool.do(spec, job)

    def run(
        self,
        program: str,
        *,
        language: str = "python",
        stdin: str | bytes = "",
        files: Files | None = None,
        arguments: Sequence[str] = (),
        limits: Limits | None = None,
    ) -> Execution:
        """Runs a program and waits for it.

        ``files`` (relative path to content) lie in its working directory, which is empty otherwise. ``limits``
        takes the place of the sandbox's own. What went wrong is in the execution's ``status``: nothing is
        raised for what a program did.

        ``language`` is python, javascript, c, cpp, rust, go, java or bash, or a common other name of one. What
        is compiled is kept for the next run of the same source; one that does not compile has the status
        ``error`` and ``compiled=False``. Without the language's tools the status is ``unavailable``.

        Raises InputError for a path that leads out of the working directory, and for an unknown language.
        """
        if self.provider is not None:
            return self.provider.run(
                program,
                language=language,
                stdin=_bytes(stdin),
                files=checked_files(files or {}),
                arguments=tuple(arguments),
                limits=limits or self.limits,
            )
        job = SandboxJob(
            kind="program",
            program=_bytes(program),
            stdin=_bytes(stdin),
            files=checked_files(files or {}),
            arguments=tuple(arguments),
            limits=limits or self.limits,
        )
        runner = self._language_runner(language, job.program, job.files)
        return _execution((runner or self).execute(job))

    def _language_runner(
        self, language: str, source: bytes, files: Mapping[str, bytes]
    ) -> language_runner.LanguageRunner | None:
        """What runs programs of another language; None for Python."""
        found = toolchains.find_language(language)
        if found is None:
            return None
        toolchain = toolchains.find_toolchain(found)
        return language_runner.LanguageRunner(
            self, found, self._build_cache, source, files, toolchain=toolchain
        )

    def run_tests(
        self,
        program: str,
        tests: Sequence[Test],
        *,
        language: str = "python",
        compare: Comparison | str = "lines",
        stop_on_failure: bool = False,
        files: Files | None = None,
        limits: Limits | None = None,
        total_wall_s: float | None = None,
        tuples_as_lists: bool = False,
    ) -> list[TestResult]:
        """Tests a program, each test with its own ``limits``; the results are in the tests' order.

        ``compare`` says when output is as expected (see Comparison). With ``stop_on_failure`` the list ends
        with the first test that failed. With ``total_wall_s`` all runs of the program together may take so many
        seconds by the clock; the tests that are left then fail with the status ``timeout``. ``tuples_as_lists``
        lets a call return a tuple where a list is expected, for data whose JSON knows no tuples. A result whose
        status is ``worker_lost`` or ``unavailable`` says nothing of the program. In languages other than Python
        only what is printed can be tested.

        Raises InputError for a test that is malformed or of a kind that ``language`` has not.

        >>> from guerdon.sandbox import CallTest
        >>> with Sandbox() as sandbox:
        ...     results = sandbox.run_tests("def double(x): return 2 * x", [CallTest("double", [3], expected=6)])
        >>> results[0].passed
        True
        """
        laid_out = checked_files(files or {})
        executor: Executor = self
        if self.provider is not None:
            from guerdon.sandbox.providers import RemoteExecutor

            executor = RemoteExecutor(self.provider, language=language, near=self)
        elif (runner := self._language_runner(language, _bytes(program), laid_out)) is not None:
            if failed := runner.refusal(tests):
                # It comes to the same for all of them.
                return [failed] * (min(1, len(tests)) if stop_on_failure else len(tests))
            executor = runner
        return run_tests(
            executor,
            program,
            tests,
            compare=compare,
            stop_on_failure=stop_on_failure,
            files=laid_out,
            limits=limits or self.limits,
            total_wall_s=total_wall_s,
            tuples_as_lists=tuples_as_lists,
        )

    def map(self, programs: Iterable[str | Mapping[str, Any]], **options: Any) -> Iterator[Execution]:
        """Runs many programs, ``workers`` at a time, and gives their executions in order as they come.

        A program is its source, or a mapping of arguments of ``run``; ``options`` are arguments of ``run`` for
        all of them. Reads no further ahead than twice ``workers``, so that ``programs`` may be endless.

        >>> with Sandbox() as sandbox:
        ...     [done.stdout for done in sandbox.map(["print(1)", {"program": "print(input())", "stdin": "2"}])]
        ['1\\n', '2\\n']
        """
        waiting: deque[Future[Execution]] = deque()
        try:
            for program in programs:
                given = {"program": program} if isinstance(program, str) else dict(program)
                waiting.append(self._executor().submit(self.run, **(options | given)))
                if len(waiting) >= 2 * self.workers:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        finally:
            for future in waiting:
                future.cancel()

    async def arun(self, program: str, **options: Any) -> Execution:
        """``run`` for use with asyncio."""
        future = self._executor().submit(self.run, program, **options)
        return await asyncio.wrap_future(future)

    async def amap(
        self, programs: Iterable[str | Mapping[str, Any]], **options: Any
    ) -> AsyncIterator[Execution]:
        """``map`` for use with asyncio."""
        waiting: deque[asyncio.Future[Execution]] = deque()
        try:
            for program in programs:
                given = {"program": program} if isinstance(program, str) else dict(program)
                submitted = self._executor().submit(self.run, **(options | given))
                waiting.append(asyncio.wrap_future(submitted))
                if len(waiting) >= 2 * self.workers:
                    yield await waiting.popleft()
            while waiting:
                yield await waiting.popleft()
        finally:
            for future in waiting:
                future.cancel()

    def _executor(self) -> ThreadPoolExecutor:
        with self._lock:
            if self._threads is None:
                self._threads = ThreadPoolExecutor(self.workers, thread_name_prefix="guerdon-sandbox")
            return self._threads

    def abandon_threads(self) -> None:
        """Forgets, in a fork of the process that made the sandbox, threads that are the other's, and what they
        are about to compile."""
        self._lock = threading.Lock()
        self._threads = None
        self._build_cache = BuildCache()

    def close(self) -> None:
        """Ends everything that was started for it. What runs is waited for."""
        with self._lock:
            threads, self._threads = self._threads, None
        if threads is not None:
            threads.shutdown(cancel_futures=True)
        self._pool.close()
        if self.provider is not None:
            self.provider.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await asyncio.to_thread(self.close)


_SANDBOXES: weakref.WeakSet[Sandbox] = weakref.WeakSet()


def _after_fork() -> None:
    for sandbox in list(_SANDBOXES):
        sandbox.abandon_threads()


os.register_at_fork(after_in_child=_after_fork)


def _provider_of(provider: Provider | str) -> Provider:
    # The HTTP providers are imported only when one is chosen.
    from guerdon.sandbox.providers import provider_of

    return provider_of(provider)


def _processors() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1  # not Linux, where nothing is run


def _bytes(text: str | bytes) -> bytes:
    return text if isinstance(text, bytes) else text.encode("utf-8", "surrogatepass")


def checked_files(files: Files) -> dict[str, bytes]:
    """Files as bytes. Raises InputError for a path that is empty, absolute or leads out of its folder."""
    for name in files:
        parts = name.split("/")
        if not name or "\0" in name or name.startswith("/") or any(part in ("", ".", "..") for part in parts):
            raise InputError(
                f"files: {name!r} must be a path within the working directory, such as data/in.txt"
            )
    return {name: _bytes(content) for name, content in files.items()}


def _execution(report: Report) -> Execution:
    return Execution(
        status=report.status,
        exit_code=report.exit_code,
        stdout=report.stdout.decode("utf-8", "replace"),
        stderr=report.stderr.decode("utf-8", "replace"),
        cpu_s=report.cpu_s,
        wall_s=report.wall_s,
        memory_mb=report.memory_mb,
        tier=report.tier,
        detail=report.detail,
        compiled=report.compiled,
    )
