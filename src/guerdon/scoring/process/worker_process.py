"""Worker processes as the engine sees them: started once, fed with units, killed when they overrun.

A worker is a fresh interpreter, not a fork: forking a trainer that holds gigabytes costs tens of
milliseconds and is unsafe beside threads, and a fresh interpreter needs no ``__main__`` guard. Workers
that ended a run in good health are kept for the next run of the same reward.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import signal
import subprocess
import sys
from dataclasses import dataclass
from typing import Any

import cloudpickle

from guerdon.errors import BindingError, CrashError
from guerdon.reward.function import RewardFunction
from guerdon.reward.loading.modules import loaded_files
from guerdon.scoring.process.channel import Channel, Ends
from guerdon.scoring.process.descriptors import child_fds, output_stream
from guerdon.scoring.process.program import WorkerProgram
from guerdon.scoring.process.spawner import spawner

_BOOT = (
    "import sys, json; sys.path[:] = json.loads(sys.argv[4]); "
    "from guerdon.scoring.worker.entry import main; main(*map(int, sys.argv[1:4]))"
)
_DEATH_SECONDS = 1.0
"""How long a worker that has closed its socket may take to end."""


@dataclass(frozen=True, slots=True)
class WorkerSpec:
    """What a worker is started with: the reward, pickled, and the limits that hold for the process."""

    reward: bytes
    max_memory: int | None
    key: str
    """Workers of the same key are alike."""
    files: Any
    """The files that rewards were loaded from by their paths, which a worker must know by the same names."""

    @classmethod
    def of(
        cls, reward: RewardFunction, max_memory: int | None, program: WorkerProgram | None = None
    ) -> WorkerSpec:
        """``program`` answers for the reward in place of the engine's own loop.

        Raises BindingError where the reward cannot be pickled.
        """
        try:
            body = cloudpickle.dumps(program or reward, protocol=5)
        except Exception as error:  # whatever the user's objects raise when they are pickled
            raise BindingError(
                f"{reward.name} cannot travel to a worker process ({error}); "
                "make what cannot be pickled inside the function, or score in this process with workers=0",
                reward=reward.name,
            ) from error
        conditions = json.dumps(
            [max_memory, sorted(loaded_files()), sys.path, _working_directory(), sorted(os.environ.items())]
        )
        digest = hashlib.sha256(body + conditions.encode("utf-8", "surrogateescape"))
        return cls(body, max_memory, digest.hexdigest() + reward.version, loaded_files())


class WorkerProcess(Channel):
    """One worker process and the channel to it."""

    def __init__(self, spec: WorkerSpec) -> None:
        self.key = spec.key
        self.ready = False
        self.baseline = 0
        """Bytes of memory it had once the reward was loaded."""
        try:
            with Ends() as ends:
                self._process = spawner.call(lambda: _start(*ends.theirs))
                super().__init__(*ends.take_ours())
        except OSError as error:
            raise CrashError(f"cannot start a worker process: {error.strerror or error}") from error
        self.send({"files": spec.files, "reward": spec.reward, "max_memory": spec.max_memory})

    @property
    def pid(self) -> int:
        return self._process.pid

    def resident_bytes(self) -> int | None:
        """The worker's resident memory; None where the system does not tell."""
        try:
            with open(f"/proc/{self.pid}/statm", "rb") as statm:
                return int(statm.read().split()[1]) * os.sysconf("SC_PAGESIZE")
        except (OSError, IndexError, ValueError):
            return None

    def is_alive(self) -> bool:
        return self._process.poll() is None

    def kill(self) -> None:
        """End the worker and whatever it started, at once."""
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.pid, signal.SIGKILL)
        with contextlib.suppress(ProcessLookupError):
            self._process.kill()
        self._process.wait()

    def close(self) -> None:
        """End the worker and give back what it held."""
        self.kill()
        super().close()

    def cause_of_death(self) -> str:
        """How the process ended, in words."""
        try:
            code = self._process.wait(_DEATH_SECONDS)
        except subprocess.TimeoutExpired:
            self.kill()
            return "closed its connection without ending"
        if code >= 0:
            return f"exited with status {code}"
        name = signal.Signals(-code).name if -code in signal.valid_signals() else f"signal {-code}"
        return f"was killed by {name}" + (" (out of memory?)" if name == "SIGKILL" else "")


def _start(fd: int, status_fd: int) -> subprocess.Popen[bytes]:
    path = [entry or _working_directory() for entry in sys.path]
    environment = {"OMP_NUM_THREADS": "1", **os.environ}
    with child_fds((fd, status_fd)) as passed:
        output = output_stream(2)
        return subprocess.Popen(
            [sys.executable, "-c", _BOOT, *map(str, passed), str(os.getpid()), json.dumps(path)],
            stdin=subprocess.DEVNULL,
            stdout=output,  # what a reward prints must not mix with the results on standard output
            stderr=output,
            pass_fds=passed,
            start_new_session=True,
            env=environment,
        )


def _working_directory() -> str:
    try:
        return os.getcwd()
    except FileNotFoundError:  # it was removed
        return os.sep
