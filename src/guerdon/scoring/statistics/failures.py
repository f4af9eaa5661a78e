"""The one line for samples that all failed."""

from __future__ import annotations

from collections.abc import Mapping

_REASON_LIMIT = 300


def all_failed_line(errors: Mapping[tuple[str, str], int], where: str = "") -> str:
    """That all samples failed, with the most frequent reason; ``errors`` counts samples by kind and message.

    >>> all_failed_line({("exception", "ValueError: no"): 2, ("timeout", "over 5 s"): 1})
    'all 3 samples failed, 2 of them with exception: ValueError: no'
    >>> all_failed_line({("timeout", "over 5 s"): 4}, " of step 1")
    'all 4 samples of step 1 failed with timeout: over 5 s'
    """
    total = sum(errors.values())
    kind, error = max(errors, key=errors.__getitem__)
    most = errors[kind, error]
    reason = " ".join(f"{kind}: {error}".split())
    if len(reason) > _REASON_LIMIT:
        reason = f"{reason[:_REASON_LIMIT]} ..."
    all_samples = "the only sample" if total == 1 else f"all {total:,} samples"
    some = "" if most == total else f", {most:,} of them"
    return f"{all_samples}{where} failed{some} with {reason}"
