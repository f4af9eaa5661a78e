"""Languages other than Python: how their programs are compiled and run, and where their tools are.

Whatever has an interpreter or compiler on this machine can be run: in the sandbox, with the tools shown
read-only.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache

from guerdon.errors import InputError

_LOOK_S = 20.0
"""Seconds that a tool may take to say where it lives or which version it is."""
SHELL_PROCESSES = 16
"""Processes that a shell script may have at once, at least: pipes and ``$(…)`` take some."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Language:
    """How programs of one language come to run.

    Commands hold ``{tool}`` for the path of each of ``tools``, ``{home}`` for the toolchain's folder,
    ``{file}`` for the source, ``{main}`` for that without its ending, and ``{memory}`` and ``{stack}`` for MiB.
    """

    name: str
    aliases: tuple[str, ...] = ()
    tools: tuple[str, ...]
    """Commands that have to be installed; the first is the language's own."""
    install: str
    """The packages of Debian and Ubuntu that hold the tools."""
    file: str
    """What the source is called; ``file_of`` may call it otherwise."""
    compile: tuple[str, ...] = ()
    outputs: tuple[str, ...] = ()
    """What compiling makes, as patterns of file names."""
    run: tuple[str, ...]
    environment: Mapping[str, str] = field(default_factory=dict)
    overhead_mb: int = 16
    """MiB that the language's own runtime takes, on top of the program's."""
    stack_mb: int = 64
    """MiB of the main thread's stack. Other threads that do not say how much they need reserve as much, too."""
    helpers: Mapping[str, bytes] = field(default_factory=dict)
    """Files of ours that are compiled along."""
    processes: int = 1
    """Processes at once that the runtime itself needs."""
    compile_cpu_s: float = 10.0
    out_of_memory: bytes = rb"(?!)"
    """What the runtime says when it gets no more memory."""
    home: Callable[[str], str | None] = lambda tool: None
    """The folder of the toolchain, by the path of the first tool; None where it lies beside the system's."""
    prepare: Callable[[str], tuple[str, str]] | None = None
    """Source to file name and source, where a fixed name will not do."""

    def source_file(self, source: bytes) -> tuple[str, bytes]:
        """What the file of this source is called, and what it holds."""
        if self.prepare is None:
            return self.file, source
        name, text = self.prepare(source.decode("utf-8", "surrogateescape"))
        return name, text.encode("utf-8", "surrogateescape")


@dataclass(frozen=True, slots=True)
class Toolchain:
    """The tools of one language as they are on this machine."""

    language: Language
    tools: Mapping[str, str]
    """Command to path."""
    home: str
    shown: tuple[str, ...]
    """Files and folders that the tools need, beside the system's own."""
    identity: str
    """Changes when one of the tools is installed anew."""

    def command(self, parts: tuple[str, ...], file: str, memory_mb: int) -> tuple[str, ...]:
        """A command of the language with its gaps filled."""
        gaps = {**self.tools, "home": self.home, "file": file, "memory": str(memory_mb)}
        gaps |= {"main": file.rpartition(".")[0], "stack": str(self.language.stack_mb)}
        return tuple(_GAP.sub(lambda gap: gaps[gap[1]], part) for part in parts)

    def environment(self) -> dict[str, str]:
        """What the tools need in their environment, on top of the sandbox's own."""
        return {name: _GAP.sub(self.home, value) for name, value in self.language.environment.items()}


_GAP = re.compile(r"\{([a-z+.]+)\}")


def _first_line(*command: str) -> str:
    """What a trusted tool prints in one line; nothing where it fails."""
    try:
        done = subprocess.run(
            command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=_LOOK_S, cwd="/"
        )
    except (OSError, subprocess.SubprocessError):
        return ""
    lines = (done.stdout or done.stderr).strip().splitlines() if done.returncode == 0 else []
    return lines[0].strip() if lines else ""


_TOP_CLASS = re.compile(
    r"^\s*public\s+(?:(?:final|abstract|strictfp)\s+)*(?:class|record|enum)\s+(\w+)", re.M
)
_ANY_CLASS = re.compile(r"\b(?:class|record|enum|interface)\s+(\w+)")
_PACKAGE = re.compile(r"^[ \t]*package\s+[\w.]+\s*;", re.M)


def _java_source(source: str) -> tuple[str, str]:
    """A file has to be called as its public class; the package, which would need a folder, is left out."""
    source = _PACKAGE.sub("", source, count=1)
    top = _TOP_CLASS.search(source)
    if top is None:
        before, found, _ = source.partition("static void main")
        classes = _ANY_CLASS.findall(before) if found else []
        return f"{classes[-1] if classes else 'Main'}.java", source
    return f"{top[1]}.java", source


_MODULE = re.compile(r"^\s*(?:import\s*[\w{*\"'][^;\n]*|export\s+\w.*)$", re.M)


def _script_source(source: str) -> tuple[str, str]:
    """Node recognises a module with ``import`` statements by the name of its file."""
    return ("main.mjs" if _MODULE.search(source) else "main.js"), source


def _parent_of_bin(tool: str) -> str:
    return os.path.dirname(os.path.dirname(os.path.realpath(tool)))


_THREADS = b"""#define _GNU_SOURCE 1
#include <pthread.h>
__attribute__((constructor(101))) static void threads_take_less_stack_than_main(void) {
    pthread_attr_t usual;
    pthread_attr_init(&usual);
    pthread_attr_setstacksize(&usual, 8 << 20);
    pthread_setattr_default_np(&usual);
}
"""
_C_MEMORY = rb"std::bad_alloc|[Cc]annot allocate memory|[Oo]ut of memory"

_LANGUAGES = (
    Language(
        name="javascript",
        aliases=("js", "node", "nodejs"),
        tools=("node",),
        install="nodejs",
        file="main.js",
        prepare=_script_source,
        run=("{node}", "--max-old-space-size={memory}", "--stack-size={stack}000", "{file}"),
        # Its own configuration would be read from /etc, which is not shown.
        environment={"OPENSSL_CONF": "/dev/null"},
        overhead_mb=256,
        # A dozen threads of its own have stacks as large as the main one's.
        stack_mb=12,
        out_of_memory=rb"JavaScript heap out of memory|Array buffer allocation failed|invalid array length Alloc"
        rb"|Fatal process out of memory|allocation failed",
    ),
    Language(
        name="c",
        aliases=("gcc",),
        tools=("gcc",),
        install="gcc libc6-dev",
        file="main.c",
        compile=(
            "{gcc}",
            "-O2",
            "-std=gnu17",
            "-pipe",
            "-pthread",
            "-o",
            "main",
            "{file}",
            ".threads.c",
            "-lm",
        ),
        helpers={".threads.c": _THREADS},
        outputs=("main",),
        run=("./main",),
        out_of_memory=_C_MEMORY,
    ),
    Language(
        name="cpp",
        aliases=("c++", "cc", "cxx", "g++"),
        tools=("g++",),
        install="g++",
        file="main.cpp",
        compile=("{g++}", "-O2", "-std=gnu++20", "-pipe", "-pthread", "-o", "main", "{file}", ".threads.cc"),
        helpers={".threads.cc": _THREADS.removeprefix(b"#define _GNU_SOURCE 1\n")},
        outputs=("main",),
        run=("./main",),
        out_of_memory=_C_MEMORY,
    ),
    Language(
        name="rust",
        aliases=("rs",),
        tools=("rustc", "cc", "ld.bfd"),
        install="rustc",
        file="main.rs",
        home=lambda tool: _first_line(tool, "--print", "sysroot") or None,
        compile=(
            *("{home}/bin/rustc", "--edition=2021", "-Copt-level=2", "-Cstrip=debuginfo", "--sysroot={home}"),
            # Rust's own linker finds itself through /proc, which is not there.
            *("-Clinker={cc}", "-Clink-arg=-fuse-ld=bfd", "-o", "main", "{file}"),
        ),
        outputs=("main",),
        run=("./main",),
        environment={"LD_LIBRARY_PATH": "{home}/lib"},
        out_of_memory=rb"memory allocation of \d+ bytes failed|capacity overflow",
    ),
    Language(
        name="go",
        aliases=("golang",),
        tools=("go",),
        install="golang-go",
        file="main.go",
        home=lambda tool: _first_line(tool, "env", "GOROOT") or None,
        compile=("{go}", "build", "-ldflags=-s -w", "-o", "main", "{file}"),
        outputs=("main",),
        run=("./main",),
        environment={
            "GOROOT": "{home}",
            "CGO_ENABLED": "0",
            "GOTOOLCHAIN": "local",
            "GOPROXY": "off",
            "GOTELEMETRY": "off",
        },
        overhead_mb=64,
        # From 1.20 on its library is compiled along.
        compile_cpu_s=30.0,
        out_of_memory=rb"runtime: out of memory|cannot allocate memory",
    ),
    Language(
        name="java",
        aliases=("jdk",),
        tools=("java", "javac"),
        install="default-jdk-headless",
        file="Main.java",
        prepare=_java_source,
        home=_parent_of_bin,
        compile=(
            *("{javac}", "-J-XX:+UseSerialGC", "-J-XX:TieredStopAtLevel=1", "-J-XX:-UsePerfData"),
            *("-encoding", "UTF-8", "-nowarn", "{file}"),
        ),
        outputs=("*.class",),
        run=(
            *("{java}", "-XX:+UseSerialGC", "-XX:-UsePerfData", "-XX:-UseContainerSupport"),
            *("-Xss{stack}m", "-Xms8m", "-Xmx{memory}m", "-cp", ".", "{main}"),
        ),
        # It looks for its libraries through /proc, which is not there.
        environment={"LD_LIBRARY_PATH": "{home}/lib"},
        overhead_mb=320,
        # Each of its own threads has a stack as large.
        stack_mb=16,
        out_of_memory=rb"java\.lang\.OutOfMemoryError|There is insufficient memory for the Java Runtime",
    ),
    Language(
        name="bash",
        aliases=("sh", "shell"),
        tools=("bash",),
        install="bash",
        file="main.sh",
        run=("{bash}", "{file}"),
        processes=SHELL_PROCESSES,
        out_of_memory=rb"cannot allocate \d+ bytes|[Cc]annot allocate memory",
    ),
)
_BY_NAME = {name: language for language in _LANGUAGES for name in (language.name, *language.aliases)}
_PYTHON = ("python", "py", "python3")


def find_language(name: str) -> Language | None:
    """The language of that name or alias; None for Python, which needs no tools.

    Raises InputError for a language that is not known.

    >>> find_language("c++").name
    'cpp'
    """
    word = name.strip().lower() if isinstance(name, str) else ""
    if word in _PYTHON:
        return None
    if word not in _BY_NAME:
        known = ", ".join(["python", *(language.name for language in _LANGUAGES)])
        raise InputError(f"language must be one of {known}, not {name!r}")
    return _BY_NAME[word]


def find_toolchain(language: Language) -> Toolchain | None:
    """The language's tools on this machine; None where one of them is not installed. Looked up once."""
    return _find_toolchain(language.name)


@cache
def _find_toolchain(name: str) -> Toolchain | None:
    language = _BY_NAME[name]
    # Absolute, and of links only those that lead to another name for the same program.
    tools = {tool: shutil.which(tool) or "" for tool in language.tools}
    if not all(tools.values()):
        return None
    first = tools[language.tools[0]]
    home = language.home(first)
    real = {tool: os.path.realpath(path) for tool, path in tools.items()}
    identity = "|".join(_mark(path) for path in (*real.values(), *([home] if home else [])))
    shown = [*real.values(), *([home, *_links_outside(home)] if home else [])]
    return Toolchain(language, real, home or "", tuple(dict.fromkeys(shown)), identity)


def _mark(path: str) -> str:
    about = os.stat(path)
    return f"{path}:{about.st_size}:{about.st_mtime_ns}"


def _links_outside(home: str) -> list[str]:
    """What links near the top of a toolchain's folder lead to, such as its configuration in /etc."""
    found_there = []
    for folder, folders, files in os.walk(home):
        for name in (*folders, *files):
            path = os.path.join(folder, name)
            if os.path.islink(path):
                real = os.path.realpath(path)
                if not real.startswith(f"{home}/") and os.path.exists(real) and real.count("/") > 2:
                    found_there.append(real)
        if folder.removeprefix(home).count("/") >= 2:
            folders.clear()
    return found_there


@cache
def toolchain_paths() -> tuple[str, ...]:
    """All that the tools of all languages need to be shown, so that one kind of sandbox runs them all."""
    chains = [find_toolchain(language) for language in _LANGUAGES]
    return tuple(sorted({path for chain in chains if chain for path in chain.shown}))


_VERSION = {"go": "version", "java": "-version"}


def available_languages() -> dict[str, str]:
    """The languages beside Python and what there is for each: a line with the version, or nothing.

    >>> sorted(available_languages())
    ['bash', 'c', 'cpp', 'go', 'java', 'javascript', 'rust']
    """
    versions = {}
    for language in _LANGUAGES:
        chain = find_toolchain(language)
        tool = language.tools[0]
        if chain is None:
            versions[language.name] = ""
        else:
            path = shutil.which(tool) or chain.tools[tool]
            versions[language.name] = (
                _first_line(path, _VERSION.get(tool, "--version")) or "of unknown version"
            )
    return versions


def how_to_install(language: Language) -> str:
    """One line on what is missing for a language, and how it gets here."""
    missing = [tool for tool in language.tools if not shutil.which(tool)] or [language.tools[0]]
    verb = "are" if len(missing) > 1 else "is"
    return f"{language.name}: {', '.join(missing)} {verb} not installed: apt-get install {language.install}"
