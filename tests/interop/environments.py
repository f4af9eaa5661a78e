"""Environments of their own for the packages that guerdon is tried against.

Each is a virtual environment with the versions of ``peers/NAME.txt``, made at its first use by uv, else by pip, and
kept in ``$GUERDON_PEERS``, else in the user's cache folder. The benchmarks use them, too.

``python -m interop.environments`` makes all of them, some at a time.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
import sysconfig
import time
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

PEERS = Path(__file__).resolve().parent / "peers"
INSTALL_SECONDS = 900
AT_ONCE = 4
"""So many environments are made side by side: most of the time goes into downloads."""

# What uv calls the settings of pip that say where packages come from.
UV_SETTINGS = {
    "PIP_INDEX_URL": "UV_DEFAULT_INDEX",
    "PIP_EXTRA_INDEX_URL": "UV_INDEX",
    "PIP_FIND_LINKS": "UV_FIND_LINKS",
}

# Packages that are used without what they declare to need, because that is a training stack of several
# gigabytes, and for one interpreter only; the parts that call a reward over HTTP need none of it.
ALONE = {
    "trainers": ("openrlhf==0.11.2", ["--python-version=3.11", "--abi=cp311", "--platform=manylinux1_x86_64"])
}

# Packages that stand on this environment, whose torch and transformers they share: what they do with a reward
# needs no more of their own than the list says.
ON_TOP = {"axolotl", "swift"}

# Packages that need a later Python than guerdon does.
LATER: Mapping[str, tuple[int, int]] = {"nemo_gym": (3, 12)}


class PeerError(Exception):
    """An environment that could not be made; the message ends with what pip said."""


def cache_directory() -> Path:
    """Where the environments are kept: ``GUERDON_PEERS``, else ``guerdon/peers`` in the user's cache."""
    if given := os.environ.get("GUERDON_PEERS"):
        return Path(given)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "guerdon" / "peers"


def python_of(peer: str) -> Path:
    """The interpreter of a peer's environment, made now if there is none yet. Raises PeerError."""
    base = base_python(LATER.get(peer, (3, 11)))
    made_with = sys.version if str(base) == sys.executable else str(base)
    wanted = (PEERS / f"{peer}.txt").read_bytes() + repr((made_with, ALONE.get(peer))).encode()
    wanted += sys.prefix.encode() if peer in ON_TOP else b""
    folder = cache_directory() / f"{peer}-{hashlib.sha256(wanted).hexdigest()[:12]}"
    python, stamp = folder / "bin" / "python", folder / "complete"
    folder.parent.mkdir(parents=True, exist_ok=True)
    with open(folder.with_suffix(".lock"), "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not stamp.exists():
            shutil.rmtree(folder, ignore_errors=True)
            _make(peer, folder, python, base)
            stamp.touch()
    return python


def environment() -> dict[str, str]:
    """The environment variables for a process of a peer: none that lead to this project's packages."""
    hidden = ("PYTHON", "GUERDON_", "VIRTUAL_ENV", "PYTEST_")
    return {k: v for k, v in os.environ.items() if not k.startswith(hidden)} | {"PYTHONUNBUFFERED": "1"}


def base_python(least: tuple[int, int]) -> Path:
    """An interpreter of at least this version that can make environments: this one where it will do.

    Raises PeerError where there is none on the path, nor among pyenv's.
    """
    if sys.version_info >= least:
        return Path(sys.executable)
    names = [f"python3.{minor}" for minor in range(least[1], least[1] + 4)]
    kept = Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv") / "versions"
    found = [shutil.which(name) for name in names]
    # The program that pyenv puts on the path in front of its versions runs only the one that is chosen.
    found += [str(path) for name in names for path in sorted(kept.glob(f"*/bin/{name}"))]
    for candidate in filter(None, found):
        asked = f"import sys, venv, ensurepip; sys.exit(sys.version_info < {least})"
        if subprocess.run([candidate, "-c", asked], capture_output=True).returncode == 0:
            return Path(candidate)
    raise PeerError(f"no Python {least[0]}.{least[1]} or later")


def _make(peer: str, folder: Path, python: Path, base: Path) -> None:
    uv = _uv()
    try:
        if uv is None or peer in ALONE:
            _make_with_pip(peer, folder, python, base)
        else:
            _make_with_uv(uv, peer, folder, python, base)
    except PeerError:
        if uv is None or peer in ALONE:
            raise
        # uv does not read pip's configuration files, which may say where packages come from.
        shutil.rmtree(folder, ignore_errors=True)
        _make_with_pip(peer, folder, python, base)
    if peer in ON_TOP:
        here = sysconfig.get_path("purelib")
        site = next(folder.glob("lib/python*/site-packages"))
        (site / "on_top.pth").write_text(f"import site; site.addsitedir({here!r})\n")


def _uv() -> str | None:
    beside = Path(sys.executable).with_name("uv")
    return str(beside) if beside.exists() else shutil.which("uv")


def _make_with_uv(uv: str, peer: str, folder: Path, python: Path, base: Path) -> None:
    _run(peer, [uv, "venv", "--quiet", "--python", str(base), str(folder)])
    listed = ["--no-deps", "-r", str(PEERS / f"{peer}.txt")]
    _run(peer, [uv, "pip", "install", "--quiet", "--python", str(python), *listed])


def _make_with_pip(peer: str, folder: Path, python: Path, base: Path) -> None:
    _run(peer, [str(base), "-m", "venv", str(folder)])
    pip = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps"]
    _run(peer, [*pip, "-r", str(PEERS / f"{peer}.txt")])
    if peer in ALONE:
        package, options = ALONE[peer]
        site = next(folder.glob("lib/python*/site-packages"))
        _run(
            peer, [*pip, *options, "--implementation=cp", "--only-binary=:all:", f"--target={site}", package]
        )


def _run(peer: str, command: list[str]) -> None:
    variables = environment()
    variables |= {uv: variables[pip] for pip, uv in UV_SETTINGS.items() if pip in variables}
    try:
        done = subprocess.run(command, env=variables, capture_output=True, text=True, timeout=INSTALL_SECONDS)
    except subprocess.TimeoutExpired:
        raise PeerError(f"{peer} was not installed within {INSTALL_SECONDS} s") from None
    if done.returncode:
        lines = [line for line in done.stderr.splitlines() if "ERROR" in line] or done.stderr.splitlines()
        raise PeerError(f"{peer} cannot be installed: {' '.join(lines[-2:])}")


def main() -> None:
    """Make all environments that are not there yet; one that cannot be made is told, its tests are skipped."""

    def make(peer: str) -> None:
        start = time.monotonic()
        try:
            python_of(peer)
        except PeerError as error:
            print(error, flush=True)
        else:
            print(f"{peer}: {time.monotonic() - start:.1f} s", flush=True)

    with ThreadPoolExecutor(AT_ONCE) as pool:
        list(pool.map(make, sorted(path.stem for path in PEERS.glob("*.txt"))))


if __name__ == "__main__":
    main()
