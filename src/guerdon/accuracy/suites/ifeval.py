"""IFEval: responses of a model to prompts with verifiable instructions, and the published checker's verdicts."""

from __future__ import annotations

import functools
import json
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from guerdon.accuracy.suite import CatalogueVerifier, ExternalVerifier, LabelledCase, Suite

FILE = "ifeval_phi3_dev.jsonl"


def verdicts(mode: str, data: Path) -> Iterator[LabelledCase]:
    """A case for each instruction of each response; its kind is the instruction's id."""
    for line in (data / FILE).read_text(encoding="utf-8").split("\n"):
        if not line.strip():
            continue
        row = json.loads(line)
        messages = [
            {"role": "user", "content": row["prompt"]},
            {"role": "assistant", "content": row["response"]},
        ]
        given = zip(row["instruction_id_list"], row["kwargs"], row[f"{mode}_list"], strict=True)
        for number, (instruction, arguments, followed) in enumerate(given):
            columns = {"instruction_id_list": [instruction], "kwargs": [arguments]}
            yield LabelledCase(
                f"{row['id']}/{number}", {"messages": messages, **columns}, followed, instruction
            )


def strict_verdict(row: Mapping[str, Any]) -> bool | None:
    """What the package if-verifiable, which carries the published checker, says of a case."""
    result = _if_verifiable(row)
    return None if result is None else bool(result.strict_pass)


def loose_verdict(row: Mapping[str, Any]) -> bool | None:
    """The same in loose mode."""
    result = _if_verifiable(row)
    return None if result is None else bool(result.loose_pass)


def _if_verifiable(row: Mapping[str, Any]) -> Any:
    from if_verifiable import evaluate_output_for_sample
    from if_verifiable.types import IFEvalSample

    prompt, response = (message["content"] for message in row["messages"])
    sample = IFEvalSample(0, prompt, row["instruction_id_list"], row["kwargs"])
    try:
        results, _ = evaluate_output_for_sample("ifeval", sample, response)
    except Exception:  # whatever it raises, such as for want of NLTK's data, it decides nothing then
        return None
    return results[0] if results else None


def _suite(mode: str, verdict: Callable[[Mapping[str, Any]], bool | None]) -> Suite:
    return Suite(
        name=f"ifeval-{mode}",
        title=f"IFEval, each instruction of responses of Phi-3, {mode}",
        files=(FILE,),
        cases=functools.partial(verdicts, mode),
        catalogue=(CatalogueVerifier(f"instructions ({mode})", "instructions", {"mode": mode}),),
        external=(ExternalVerifier(f"if-verifiable ({mode})", "if_verifiable", verdict),),
        aim="the published checker's verdict on at least 99.5 % of the instructions",
    )


SUITES = (_suite("strict", strict_verdict), _suite("loose", loose_verdict))
