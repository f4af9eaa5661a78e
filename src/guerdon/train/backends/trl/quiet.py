"""Quiet while TRL runs: the terminal is the monitor's, and what users cannot act upon is left out of it."""

from __future__ import annotations

import contextlib
import importlib
import logging
import os
import warnings
from collections.abc import Iterator
from typing import Any

_LIBRARIES = ("accelerate", "datasets", "huggingface_hub", "peft", "torch", "transformers", "trl", "vllm")


@contextlib.contextmanager
def quiet(debug: bool) -> Iterator[None]:
    """Leave warnings and log lines of TRL and what it stands on out, unless ``debug`` is set.

    What they were set to before is put back.
    """
    if debug:
        yield
        return
    bars_of: list[Any] = [
        importlib.import_module(f"{library}.utils.logging") for library in ("datasets", "transformers")
    ]

    levels = {name: logging.getLogger(name).level for name in _LIBRARIES}
    shown = [bars for bars in bars_of if bars.is_progress_bar_enabled()]
    advice = os.environ.get("TRANSFORMERS_NO_ADVISORY_WARNINGS")
    with warnings.catch_warnings():
        for name in _LIBRARIES:
            warnings.filterwarnings("ignore", module=rf"{name}(\.|$)")
            logging.getLogger(name).setLevel(logging.ERROR)
        for bars in shown:
            bars.disable_progress_bar()
        os.environ["TRANSFORMERS_NO_ADVISORY_WARNINGS"] = "1"
        try:
            yield
        finally:
            for name, level in levels.items():
                logging.getLogger(name).setLevel(level)
            for bars in shown:
                bars.enable_progress_bar()
            if advice is None:
                os.environ.pop("TRANSFORMERS_NO_ADVISORY_WARNINGS", None)
            else:
                os.environ["TRANSFORMERS_NO_ADVISORY_WARNINGS"] = advice
