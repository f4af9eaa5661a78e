"""Runs a fuzz target under libFuzzer, which keeps the inputs that reach new code and changes them further.

    PYTHONPATH=tests python -m fuzz.runner websocket --seconds 600
    PYTHONPATH=tests python -m fuzz.runner websocket --input crash-1f2e…

The second line runs one input, such as the file that a failed run left.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

LONGEST = 1 << 16
"""Bytes of an input."""
HANG_SECONDS = 20
"""An input that takes longer has found something."""
MEMORY_MB = 3072


def fuzz(name: str, seconds: int, runs: int, artifacts: Path) -> None:
    """Feeds a target until the time is over or the runs are done; does not return."""
    import atheris

    with atheris.instrument_imports(include=["guerdon"]):
        from fuzz.targets import load

        target = load(name)
    corpus = Path(tempfile.mkdtemp(prefix=f"fuzz-{name}-"))
    for number, seed in enumerate(target.seeds):
        (corpus / f"seed-{number}").write_bytes(seed)
    options = {
        "max_total_time": seconds,
        "runs": runs,
        "max_len": LONGEST,
        "timeout": HANG_SECONDS,
        "rss_limit_mb": MEMORY_MB,
        "artifact_prefix": f"{artifacts}/",
        "len_control": 0,
        "print_final_stats": 1,
    }
    flags = [f"-{option}={value}" for option, value in options.items()]
    atheris.Setup([sys.argv[0], *flags, str(corpus)], target.check)
    atheris.Fuzz()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("target")
    parser.add_argument("--seconds", type=int, default=600)
    parser.add_argument("--runs", type=int, default=-1, help="inputs at most; -1 for as many as fit")
    parser.add_argument("--artifacts", type=Path, default=Path(), help="where an input that fails is kept")
    parser.add_argument("--input", type=Path, help="run this input only")
    chosen = parser.parse_args()
    if chosen.input is None:
        fuzz(chosen.target, chosen.seconds, chosen.runs, chosen.artifacts)
        return
    from fuzz.targets import load

    load(chosen.target).check(chosen.input.read_bytes())


if __name__ == "__main__":
    main()
