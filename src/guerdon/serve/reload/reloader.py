"""Reload: a server that is loaded anew when the files of its rewards change, without refusing a request.

The process that watches has the listening socket and runs nothing of the rewards. Each server is a process of its
own on that socket. A change starts another one; once it answers, the one before finishes what it has and ends.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import socket
import subprocess
import sys
import sysconfig
import threading
import time
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from guerdon.errors import CrashError, RewardError, error_of_kind, kind_of
from guerdon.reward.loading.modules import loaded_files
from guerdon.reward.registry import get_reward_function
from guerdon.scoring.process.ipc import FrameDecoder, frame
from guerdon.serve.options import ServeOptions
from guerdon.serve.run import RewardSpec, bind_socket, new_server, resolve_rewards, server_url, spec_of

if TYPE_CHECKING:
    from guerdon.serve.http.server import ShutdownReport

_BOOT = (
    "import sys, json; sys.path[:] = json.loads(sys.argv[3]); "
    "from guerdon.serve.reload.reloader import main; main(int(sys.argv[1]), int(sys.argv[2]))"
)
_POLL = 0.1
_LOOK = 0.25
"""Seconds between two looks at the files."""
_SLACK = 10.0
"""Seconds that a server may take to end beyond those in which it drains."""
_PIECE = 1 << 18
Stamp = tuple[int, int, int]


@dataclass(frozen=True, slots=True)
class RewardRef:
    """A reward as somebody asks for it to be served."""

    spec: str
    """A registered name or a path, as ``get_reward_function`` takes it."""
    name: str | None = None
    """What it is served as, if not by its own name."""
    parameters: Mapping[str, Any] = field(default_factory=dict)


def load_specs(wanted: Sequence[RewardRef], options: ServeOptions) -> list[RewardSpec]:
    """Load rewards. Raises what ``get_reward_function`` raises, and InputError where two have one name."""
    rewards = []
    for each in wanted:
        reward = get_reward_function(each.spec, **each.parameters)
        rewards.append(reward if each.name is None else reward.with_name(each.name))
    return [spec_of(reward, options) for reward in resolve_rewards(rewards)]


@dataclass(frozen=True, slots=True)
class ReloadCallbacks:
    """What a server that reloads is to tell, and to whom."""

    ready: Callable[[str, Sequence[RewardSpec]], None]
    """The URL and the rewards, once requests are answered."""
    reloaded: Callable[[Sequence[RewardSpec]], None]
    """The rewards, once a change is served."""
    failed: Callable[[str], None]
    """Why a change is not served."""
    stopping: Callable[[int], None]
    """How many requests are in flight when it is told to stop."""


def serve_reloading(
    options: ServeOptions,
    wanted: Sequence[RewardRef],
    told: ReloadCallbacks,
    listener: socket.socket | None = None,
) -> ShutdownReport:
    """Serve until SIGTERM or Ctrl-C, and load the rewards anew when one of their files changes.

    Files are those of the rewards and of all modules that they import and that are not installed packages. Where a
    change does not load, the server goes on as before. Raises the error for which the rewards do not load at the
    start, CrashError where the server ends by itself, KeyboardInterrupt after a second Ctrl-C.
    """
    with listener or bind_socket(options.host, options.port) as socket_bound:
        return _Supervisor(options, wanted, told, socket_bound).run()


class _Supervisor:
    def __init__(
        self,
        options: ServeOptions,
        wanted: Sequence[RewardRef],
        told: ReloadCallbacks,
        listener: socket.socket,
    ) -> None:
        self._options, self._wanted, self._told, self._listener = options, wanted, told, listener
        self._url = server_url(options, listener)
        self._current: ServerProcess | None = None
        self._next: ServerProcess | None = None
        self._leaving: list[ServerProcess] = []
        self._replaced: tuple[ServerProcess, Sequence[RewardSpec]] | None = None
        """The server that was replaced and still accepts connections, and what replaces it."""
        self._watch = FileWatch()
        self._signals: list[int] = []
        self._reports: list[ShutdownReport] = []

    def run(self) -> ShutdownReport:
        with _signals(self._signals.append):
            try:
                self._next = self._start()
                while not self._signals:
                    self._turn()
                return self._stop()
            finally:
                for server in self._servers():
                    server.kill()

    def _servers(self) -> list[ServerProcess]:
        return [g for g in (self._current, self._next, *self._leaving) if g is not None]

    def _start(self) -> ServerProcess:
        return ServerProcess(self._options, self._wanted, self._listener)

    def _turn(self) -> None:
        """Take what the servers say, and look at the files."""
        self._hear()
        if self._watch.changed():
            if self._next is not None:
                self._next.kill()
            self._next = self._start()

    def _hear(self) -> None:
        servers = self._servers()
        readable, _, _ = select.select(servers, [], [], _POLL)
        for server in servers:
            if server in readable:
                for kind, *said in server.messages():
                    self._take(server, kind, said)

    def _take(self, server: ServerProcess, kind: str, said: list[Any]) -> None:
        if kind == "ready" and server is self._next:
            self._replace_with(server, *said)
        elif kind == "failed" and server is self._next:
            self._failed(*said)
        elif kind == "stopping" and server in self._leaving:
            self._parted(server)
        elif kind == "stopping":
            self._told.stopping(*said)
        elif kind == "ended":
            self._reports += said if server not in self._leaving else ()
        elif kind == "gone":
            self._gone(server)

    def _replace_with(
        self, server: ServerProcess, specs: Sequence[RewardSpec], files: Mapping[str, Stamp]
    ) -> None:
        before, self._current, self._next = self._current, server, None
        self._watch.set(files, since=server.started)
        if before is None:
            self._told.ready(self._url, specs)
        else:
            before.hand_over()
            self._leaving.append(before)
            self._replaced = before, specs

    def _parted(self, server: ServerProcess) -> None:
        """A server that was replaced accepts no connections any more: from here on all is as the change has it."""
        if self._replaced is not None and self._replaced[0] is server:
            (_, specs), self._replaced = self._replaced, None
            self._told.reloaded(specs)

    def _failed(self, kind: str, message: str, files: Mapping[str, Stamp]) -> None:
        if self._current is None:
            raise error_of_kind(kind, message)
        assert self._next is not None
        self._watch.add(files, since=self._next.started)
        self._next.kill()
        self._next = None
        self._told.failed(message)

    def _gone(self, server: ServerProcess) -> None:
        server.kill()
        if server in self._leaving:
            self._parted(server)
            self._leaving.remove(server)
        elif server is self._next:
            self._failed(CrashError.kind, "the server process ended while it loaded the rewards", {})
        elif server is self._current:
            self._current = None
            if not self._signals:
                raise CrashError("the server process ended by itself")

    def _stop(self) -> ShutdownReport:
        from guerdon.serve.http.server import ShutdownReport

        self._listener.close()
        if self._next is not None:
            self._next.kill()
            self._next = None
        for server in self._servers():
            server.stop()
        until = time.monotonic() + self._options.drain + _SLACK
        while self._servers() and time.monotonic() < until:
            if signal.SIGINT in self._signals[1:]:
                raise KeyboardInterrupt
            self._hear()
        return sum(self._reports, ShutdownReport())


@contextlib.contextmanager
def _signals(take: Callable[[int], None]) -> Iterator[None]:
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {n: signal.signal(n, lambda number, _: take(number)) for n in (signal.SIGTERM, signal.SIGINT)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


class ServerProcess:
    """A server process, seen from the one that watches."""

    def __init__(self, options: ServeOptions, wanted: Sequence[RewardRef], listener: socket.socket) -> None:
        self.started = time.time_ns()
        self._frames = FrameDecoder()
        self._link, theirs = socket.socketpair()
        with theirs:
            self._process = _start(theirs, listener)
        with contextlib.suppress(OSError):  # it is gone already, which is heard of below
            self._link.sendall(frame((options, tuple(wanted))))

    def fileno(self) -> int:
        return self._link.fileno()

    def messages(self) -> Iterable[tuple[Any, ...]]:
        """What it said since; ``("gone",)`` once it has ended."""
        try:
            data = self._link.recv(_PIECE)
        except OSError:
            data = b""
        if not data:
            return [("gone",)]
        return list(self._frames.feed(data))

    def stop(self) -> None:
        """Have it drain and end."""
        self._tell(("stop",))

    def hand_over(self) -> None:
        """Have it end, for another one answers what comes from now on."""
        self._tell(("hand over",))

    def _tell(self, message: tuple[str]) -> None:
        with contextlib.suppress(OSError):  # it has ended by itself
            self._link.sendall(frame(message))

    def kill(self) -> None:
        """End it at once; nothing happens where it has ended."""
        self._process.kill()
        self._process.wait()
        self._link.close()


def _start(theirs: socket.socket, listener: socket.socket) -> subprocess.Popen[bytes]:
    path = [entry or os.getcwd() for entry in sys.path]
    numbers = theirs.fileno(), listener.fileno()
    return subprocess.Popen(
        [sys.executable, "-c", _BOOT, *map(str, numbers), json.dumps(path)],
        stdin=subprocess.DEVNULL,
        stdout=sys.__stderr__,  # what a reward prints when it is imported
        pass_fds=numbers,
        start_new_session=True,  # Ctrl-C goes to the process that watches, which passes it on
    )


# In the process that serves.


def main(fd: int, listener_fd: int) -> None:
    """The whole life of a process that serves; what it serves comes over the socket ``fd``."""
    with socket.socket(fileno=fd) as link, socket.socket(fileno=listener_fd) as listener:
        frames = FrameDecoder()
        messages: list[Any] = []
        while not messages:
            if not (data := link.recv(_PIECE)):
                return
            messages.extend(frames.feed(data))
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):  # whoever watched is gone
            _serve(link, frames, listener, *messages[0])


def _serve(
    link: socket.socket,
    frames: FrameDecoder,
    listener: socket.socket,
    options: ServeOptions,
    wanted: Sequence[RewardRef],
) -> None:
    def tell(*message: Any) -> None:
        with sending:
            link.sendall(frame(message))

    sending = threading.Lock()
    ready = threading.Event()
    try:
        specs = load_specs(wanted, options)
        # Not what loads them, which is for the workers alone.
        summary = [RewardSpec(spec.name, spec.version, spec.limits, None) for spec in specs]
        with new_server(options, specs) as server:
            threading.Thread(target=_obey, args=(link, frames, server), daemon=True).start()

            def now_ready() -> None:
                ready.set()
                tell("ready", summary, watched_files())

            report = server.run(listener, now_ready, lambda in_flight: tell("stopping", in_flight))
        tell("ended", report)
    except (Exception, SystemExit) as error:  # the edge: it is for the process that watches
        if ready.is_set():
            raise
        message = str(error) if isinstance(error, RewardError) else f"{type(error).__name__}: {error}"
        tell("failed", kind_of(error), message, watched_files(error))


def _obey(link: socket.socket, frames: FrameDecoder, server: Any) -> None:
    """Stop when the process that watches says so, or is gone."""
    with contextlib.suppress(OSError):
        while data := link.recv(_PIECE):
            for (order,) in frames.feed(data):
                if order == "hand over":
                    server.hand_over()
                else:
                    server.stop()
    server.stop()


# Which files there are, and whether they changed.


def watched_files(error: BaseException | None = None) -> dict[str, Stamp]:
    """The source files of this process that are its user's own, as they are now.

    They are those of modules which are neither Python's, nor installed, nor Guerdon's; and those that an error of
    the import tells of.
    """
    files = {*loaded_files().values(), *_files_of(error)}
    files |= {str(getattr(module, "__file__", None) or "") for module in list(sys.modules.values())}
    own = (file for file in files if file.endswith(".py") and _is_own(Path(file)))
    return {file: stamp for file in own if (stamp := stamp_of(file)) is not None}


def _files_of(error: BaseException | None) -> Iterator[str]:
    while error is not None:
        if isinstance(error, SyntaxError) and error.filename:
            yield error.filename
        yield from (step.filename for step in traceback.extract_tb(error.__traceback__))
        error = error.__cause__ or error.__context__


def _is_own(file: Path) -> bool:
    if {"site-packages", "dist-packages"} & set(file.parts):
        return False
    not_own = (sysconfig.get_path("stdlib"), sysconfig.get_path("platstdlib"), Path(__file__).parents[2])
    return not any(file.is_relative_to(folder) for folder in not_own)


def stamp_of(file: str) -> Stamp | None:
    """What changes when a file does; None where it is not there, as while an editor replaces it."""
    try:
        found = os.stat(file)
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size, found.st_ino


class FileWatch:
    """Files, looked at now and then; a change is told once the files have been still for a moment."""

    def __init__(self, every: float = _LOOK) -> None:
        self._every = every
        self._stamps: dict[str, Stamp] = {}
        self._moving = False
        self._next = 0.0

    def set(self, files: Mapping[str, Stamp], since: int) -> None:
        """Watch these files, and no others, as they were loaded by a process that was started at ``since``."""
        self._stamps = {}
        self.add(files, since)

    def add(self, files: Mapping[str, Stamp], since: int) -> None:
        """Watch these files as well. What was written after ``since``, in ns, may have been loaded before it was."""
        now = time.time_ns()
        self._stamps.update(files)
        self._moving = any(since < written <= now for written, _, _ in files.values())

    def changed(self) -> bool:
        """Whether a file has changed, and none did since the last look."""
        if time.monotonic() < self._next:
            return False
        self._next = time.monotonic() + self._every
        news = {f: s for f, old in self._stamps.items() if (s := stamp_of(f)) is not None and s != old}
        self._stamps.update(news)
        was_moving, self._moving = self._moving, bool(news)
        return was_moving and not news
