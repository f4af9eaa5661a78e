from __future__ import annotations

import shutil
import socket
import threading
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from guerdon.errors import InputError
from guerdon.sandbox import AssertTest, CallTest, Execution, Limits, Sandbox, StdinTest
from guerdon.sandbox.execution import Report, SandboxJob
from guerdon.sandbox.isolation import tiers
from guerdon.sandbox.languages import runner, toolchains
from guerdon.sandbox.languages.build_cache import BuildCache
from guerdon.sandbox.local.usage import descendants
from support import language_samples as samples

LANGUAGES = tuple(samples.ADDS)
COMPILED = ("c", "cpp", "rust", "go", "java")
SHORT = Limits(cpu_s=1.0, wall_s=20.0, memory_mb=128)


@pytest.fixture(scope="module")
def sandbox() -> Iterator[Sandbox]:
    with Sandbox(workers=2) as made:
        yield made


def need(language: str) -> None:
    language_spec = toolchains.find_language(language)
    assert language_spec is not None
    if toolchains.find_toolchain(language_spec) is None:
        pytest.skip(f"no tools for {toolchains.how_to_install(language_spec)}")


def of(table: Mapping[str, str]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("language", table)


def run(sandbox: Sandbox, table: Mapping[str, str], language: str, **options: object) -> Execution:
    need(language)
    return sandbox.run(table[language], language=language, **options)  # type: ignore[arg-type]


@of(samples.ADDS)
def test_a_program_reads_and_prints(sandbox: Sandbox, language: str) -> None:
    done = run(sandbox, samples.ADDS, language, stdin="1 2\n39\n")
    assert (done.status, done.exit_code, done.stdout, done.stderr) == ("ok", 0, "42\n", "")
    assert done.compiled is (True if language in COMPILED else None)
    assert done.tier == sandbox.tier


@of(samples.ADDS)
def test_tests_of_what_is_printed(sandbox: Sandbox, language: str) -> None:
    need(language)
    tests = [StdinTest("1 2", "3"), StdinTest("5", "6"), StdinTest("", "0")]
    found = sandbox.run_tests(samples.ADDS[language], tests, language=language)
    assert [one.passed for one in found] == [True, False, True]
    assert [one.status for one in found] == ["ok", "ok", "ok"]


@of(samples.EXITS_WITH_3)
def test_the_exit_code_comes_back(sandbox: Sandbox, language: str) -> None:
    done = run(sandbox, samples.EXITS_WITH_3, language)
    assert (done.status, done.exit_code) == ("error", 3)


@pytest.mark.parametrize("language", COMPILED)
def test_what_does_not_compile(sandbox: Sandbox, language: str) -> None:
    done = run(sandbox, dict.fromkeys(COMPILED, "this is (no program\n"), language)
    assert (done.status, done.compiled) == ("error", False)
    assert done.detail.startswith("compile error: ")
    assert "main." in done.stderr.lower()
    results = sandbox.run_tests("this is (no program\n", [StdinTest("", "")] * 3, language=language)
    assert [(one.passed, one.status) for one in results] == [(False, "error")] * 3
    assert all(one.detail.startswith("compile error: ") for one in results)
    assert len(sandbox.run_tests("no", [StdinTest("", "")] * 3, language=language, stop_on_failure=True)) == 1


@pytest.mark.sample(2, seconds=3)
@of(samples.SPINS)
def test_processor_time_is_limited(sandbox: Sandbox, language: str) -> None:
    done = run(sandbox, samples.SPINS, language, limits=Limits(cpu_s=0.4, wall_s=30.0))
    assert done.status == "timeout"
    assert 0.3 < done.cpu_s < 1.5


@pytest.mark.sample(3, seconds=3)
@of(samples.EATS_MEMORY)
def test_memory_is_limited(sandbox: Sandbox, language: str) -> None:
    done = run(sandbox, samples.EATS_MEMORY, language, limits=Limits(cpu_s=5, wall_s=30, memory_mb=64))
    assert done.status == "memory_limit", done
    language_spec = toolchains.find_language(language)
    assert language_spec is not None
    assert done.memory_mb < 64 + language_spec.overhead_mb + 64


@pytest.mark.sample(2, seconds=3)
@of(samples.FLOODS)
def test_output_is_limited(sandbox: Sandbox, language: str) -> None:
    done = run(sandbox, samples.FLOODS, language, limits=Limits(cpu_s=1, wall_s=30, output_kb=64))
    assert done.status == "output_limit"
    assert len(done.stdout) == 64 * 1024


@pytest.mark.sample(3, seconds=3)
@of(samples.READS)
def test_only_the_working_directory_is_read(sandbox: Sandbox, tmp_path: Path, language: str) -> None:
    given = run(sandbox, samples.READS, language, files={"given.txt": "for you"}, arguments=["given.txt"])
    assert (given.status, given.stdout) == ("ok", "for you")
    secret = tmp_path / "secret.txt"
    secret.write_text("not for you")
    done = sandbox.run(samples.READS[language], language=language, arguments=[str(secret)])
    assert (done.status, done.stdout) == ("error", "")


@pytest.mark.parametrize(
    "path", ["/etc/passwd", "/etc/shadow", "/proc/1/environ", "/proc/self/environ", "/root"]
)
def test_files_of_the_host_are_not_read(sandbox: Sandbox, path: str) -> None:
    done = run(sandbox, samples.READS, "bash", arguments=[path])
    assert (done.status, done.stdout) == ("error", "")


@of(samples.CONNECTS)
def test_there_is_no_network(sandbox: Sandbox, language: str) -> None:
    need(language)
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(0.05)
        done = run(sandbox, samples.CONNECTS, language, arguments=[str(server.getsockname()[1])])
        assert (done.status, done.stdout) == ("error", "")
        with pytest.raises(TimeoutError):
            server.accept()


@of(samples.FORKS_WITHOUT_END)
def test_processes_are_limited(sandbox: Sandbox, language: str) -> None:
    done = run(sandbox, samples.FORKS_WITHOUT_END, language, limits=SHORT)
    assert done.status != "worker_lost"
    after = run(sandbox, samples.ADDS, language, stdin="40 2")
    assert (after.status, after.stdout) == ("ok", "42\n")


# Each process alone keeps to the limits; together they do not.
MANY = {
    "memory_limit": "char *some = malloc(60 << 20); memset(some, 1, 60 << 20); sleep(5); return some[getpid()];",
    "timeout": "for (;;);",
}


@pytest.mark.sample(2, seconds=4)
@pytest.mark.parametrize("status", MANY)
@pytest.mark.parametrize("tier", tiers.TIERS)
def test_limits_hold_for_processes_together(tier: str, status: str) -> None:
    need("c")
    source = f"""
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
int main(void) {{
    for (int i = 0; i < 6; i++) if (fork() == 0) {{ {MANY[status]} }}
    while (wait(0) > 0);
}}
"""
    with Sandbox(tier, workers=1) as sandbox:
        if not tiers.examine(sandbox.tier).available:
            pytest.skip(f"no {tier} tier on this machine: {tiers.examine(sandbox.tier).reason}")
        limits = Limits(cpu_s=1.0, wall_s=20, memory_mb=128, processes=8)
        done = sandbox.run(source, language="c", limits=limits)
        assert done.status == status
        alone = sandbox.run(source, language="c", limits=SHORT)
        assert alone.status == "ok"  # no fork at all
        assert sandbox.run("int main(void) { return 0; }", language="c").status == "ok"


def test_memory_that_is_shared_counts_once() -> None:
    need("c")
    source = """
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
int main(int count, char **arguments) {
    long size = (count > 1 ? 300L : 60L) << 20;
    if (mmap(0, 8192, PROT_READ, MAP_SHARED | MAP_ANONYMOUS, -1, 0) != MAP_FAILED) return 1;
    char *shared = mmap(0, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED) { perror("mmap"); return 2; }
    memset(shared, 1, size);
    for (int i = 0; i < 4; i++) if (fork() == 0) {
        for (long at = 0, sum = 0; at < size; at += 4096) sum += shared[at];
        usleep(200000);
        return 0;
    }
    while (wait(0) > 0);
}
"""
    limits = Limits(cpu_s=5, wall_s=20, memory_mb=128, processes=8)
    with Sandbox(workers=1) as sandbox:
        assert sandbox.run(source, language="c", limits=limits).status == "ok"
        assert sandbox.run(source, language="c", limits=limits, arguments=["much"]).status == "memory_limit"


def test_a_script_uses_the_systems_commands(sandbox: Sandbox) -> None:
    script = "mkdir d; echo text > d/file; ls -l d | wc -l; printf '1\\n2\\n' | sort -r | tr '\\n' ' '"
    done = sandbox.run(script, language="sh")
    assert (done.status, done.stdout, done.stderr) == ("ok", "2\n2 1 ", "")


@pytest.mark.parametrize(
    "script", ["kill -9 0", "kill -TERM 0; sleep 9", "kill -9 -1; exit 1", "kill -9 1 $PPID"]
)
def test_a_script_ends_nothing_but_itself(sandbox: Sandbox, script: str) -> None:
    done = sandbox.run(script, language="bash")
    assert done.status in ("killed", "error")
    assert sandbox.run("echo still", language="bash").stdout == "still\n"


@pytest.mark.parametrize("tier", tiers.TIERS)
def test_nothing_outlives_a_script(tier: str) -> None:
    with Sandbox(tier, workers=1) as sandbox:
        if not tiers.examine(sandbox.tier).available:
            pytest.skip(f"no {tier} tier on this machine: {tiers.examine(sandbox.tier).reason}")
        script = "(setsid sleep 987 || sleep 987) & sleep 987 & disown -a; nohup sleep 987 & echo left"
        done = sandbox.run(script, language="bash")
        assert (done.status, done.stdout) == ("ok", "left\n")
        assert done.wall_s < 5
        lines = []
        for pid in descendants(1) or []:
            try:
                lines.append(Path(f"/proc/{pid}/cmdline").read_bytes())
            except OSError:
                continue
        assert b"sleep\0987\0" not in lines


class Counting:
    """An executor that counts the command lines that it passes on."""

    def __init__(self, sandbox: Sandbox) -> None:
        self.sandbox = sandbox
        self.tools: list[str] = []

    def execute(self, job: SandboxJob) -> Report:
        self.tools.append(Path(job.arguments[0]).name)
        return self.sandbox.execute(job)


def test_a_source_is_compiled_once(sandbox: Sandbox) -> None:
    need("c")
    language_spec = toolchains.find_language("c")
    assert language_spec is not None
    chain = toolchains.find_toolchain(language_spec)
    counting, build_cache = Counting(sandbox), BuildCache()

    def add(source: str, files: Mapping[str, bytes] = {}) -> Report:
        program = runner.LanguageRunner(
            counting, language_spec, build_cache, source.encode(), files, toolchain=chain
        )
        return program.execute(SandboxJob(kind="program", program=source.encode(), stdin=b"1 1", files=files))

    threads = [threading.Thread(target=add, args=(samples.ADDS["c"],)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(counting.tools)[:4] == ["main"] * 4
    assert len(counting.tools) == 5
    counting.tools.clear()
    assert add(samples.ADDS["c"] + " ").stdout == b"2\n"
    assert len(counting.tools) == 2
    # A header is part of what is compiled.
    source = '#include <stdio.h>\n#include "word.h"\nint main(void) { puts(WORD); }'
    for word in (b"one", b"two"):
        assert add(source, {"word.h": b'#define WORD "' + word + b'"'}).stdout == word + b"\n"
    counting.tools.clear()
    assert [add("int main(").status for _ in range(3)] == ["error"] * 3
    assert len(counting.tools) == 1


def test_compiling_is_limited(sandbox: Sandbox) -> None:
    need("cpp")
    endless = "template<int n> struct A { A<n * 2> a, b; };\n#include __FILE__\nint main() {}"
    started = time.monotonic()
    done = sandbox.run(endless, language="cpp")
    assert (done.status, done.compiled) == ("error", False)
    assert time.monotonic() - started < 30


@pytest.mark.parametrize(
    "source",
    ['#include "/etc/passwd"\nint main(void) {}', '__asm__(".incbin \\"/etc/passwd\\"");\nint main(void) {}'],
)
def test_compilers_read_no_file_of_the_host(sandbox: Sandbox, source: str) -> None:
    need("c")
    done = sandbox.run(source, language="c")
    assert (done.status, done.compiled) == ("error", False)
    assert "root:" not in done.stderr


def test_threads_are_allowed(sandbox: Sandbox) -> None:
    need("cpp")
    source = """
#include <atomic>
#include <iostream>
#include <thread>
#include <vector>
int main() {
    std::atomic<int> sum = 0;
    std::vector<std::thread> threads;
    for (int i = 0; i < 40; i++) threads.emplace_back([&sum, i] { sum += i; });
    for (auto &thread : threads) thread.join();
    std::cout << sum << "\\n";
}
"""
    done = sandbox.run(source, language="c++", limits=Limits(memory_mb=512))
    assert (done.status, done.stdout) == ("ok", "780\n")


@pytest.mark.parametrize(
    ("language", "source"),
    [
        ("c", "int down(int n) { volatile char pad[200]; pad[0] = n; return n ? down(n - 1) + pad[0] * 0 : 0; }\n"
         "int main(void) { return down(200000); }"),
        ("javascript", "const down = n => n ? down(n - 1) : 0; process.exit(down(50000))"),
        ("java", "class Main { static int down(int n) { return n == 0 ? 0 : down(n - 1); }\n"
         "public static void main(String[] arguments) { System.exit(down(50000)); } }"),
    ],
)  # fmt: skip
def test_recursion_may_be_deep(sandbox: Sandbox, language: str, source: str) -> None:
    need(language)
    assert sandbox.run(source, language=language).status == "ok"


def test_a_module_is_told_by_its_imports(sandbox: Sandbox) -> None:
    need("javascript")
    done = sandbox.run('import { EOL } from "os";\nprocess.stdout.write("so" + EOL);', language="js")
    assert (done.status, done.stdout) == ("ok", "so\n")


@pytest.mark.parametrize("tier", tiers.TIERS)
def test_input_has_a_name_too(tier: str) -> None:
    with Sandbox(tier, workers=1) as sandbox:
        if not tiers.examine(sandbox.tier).available:
            pytest.skip(f"no {tier} tier on this machine: {tiers.examine(sandbox.tier).reason}")
        script = "sort -r /dev/stdin; cat <(echo 3); echo no > /dev/stderr"
        done = sandbox.run(script, language="bash", stdin="1\n2\n")
        assert (done.status, done.stdout, done.stderr) == ("ok", "2\n1\n3\n", "no\n")
        names = "ls /proc; ls /proc/1/root; cat /proc/self/environ; cat /proc/self/cwd/../etc/passwd; cat /proc/cpuinfo"
        assert sandbox.run(names, language="bash").stdout == ""


def test_an_uncaught_error_is_told(sandbox: Sandbox) -> None:
    need("javascript")
    done = sandbox.run("null.x", language="node")
    assert done.status == "error"
    assert done.detail.startswith("TypeError: Cannot read properties of null")


def test_only_python_has_functions_to_call(sandbox: Sandbox) -> None:
    for test in (CallTest("f", [1], expected=1), AssertTest("assert f(1) == 1")):
        with pytest.raises(InputError, match=r"test 1 is a .*: programs in c take StdinTest only"):
            sandbox.run_tests("int f(int x) { return x; }", [test], language="c")


def test_an_unknown_language_is_an_error_that_lists_what_is_known(sandbox: Sandbox) -> None:
    with pytest.raises(InputError, match=r"language must be one of python, javascript, c, cpp.* not 'cobol'"):
        sandbox.run("", language="cobol")


def test_a_language_without_tools_is_unavailable(sandbox: Sandbox) -> None:
    language_spec = toolchains.Language(
        name="algol",
        tools=("a68g-of-nowhere",),
        install="algol68g",
        file="main.a68",
        run=("{a68g}", "{file}"),
    )
    chain = runner.LanguageRunner(sandbox, language_spec, BuildCache(), b"", {}, toolchain=None)
    report = chain.execute(SandboxJob(kind="program"))
    assert report.status == "unavailable"
    assert report.detail == "algol: a68g-of-nowhere is not installed: apt-get install algol68g"


def test_what_is_available_is_what_is_installed() -> None:
    found = toolchains.available_languages()
    assert sorted(found) == sorted(LANGUAGES)
    assert bool(found["javascript"]) == bool(shutil.which("node"))
    assert "bash" in found["bash"]


@pytest.mark.sample(2, seconds=3)
@pytest.mark.parametrize(
    ("source", "file"),
    [
        ("public class Solution { public static void main(String[] a) {} }", "Solution.java"),
        ("class Helper {}\nclass Start { public static void main(String[] a) {} }", "Start.java"),
        ("interface A {}\npublic final class B {}", "B.java"),
        ("class Unfinished {", "Main.java"),
    ],
)
def test_a_java_file_is_called_as_its_class(source: str, file: str) -> None:
    language_spec = toolchains.find_language("java")
    assert language_spec is not None
    assert language_spec.source_file(source.encode()) == (file, source.encode())
