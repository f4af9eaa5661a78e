"""OpenRLHF's executor on rollouts: openrlhf_executor.py FILE.py|URL < rows.jsonl > answers.jsonl.

A row is ``{"prompt", "response", "label"}``: what its engine would generate is given, everything after that is
OpenRLHF's. All rows are under way at once, as in a rollout.
"""

import asyncio
import json
import sys
from array import array
from contextlib import redirect_stdout
from types import SimpleNamespace

with redirect_stdout(sys.stderr):  # where its log goes is decided when it is imported
    from openrlhf_agent import SingleTurnAgentExecutor


class Letters:
    """A tokenizer of one token a character, with a token of its own at the start and the end of a query."""

    def __call__(self, text: str, add_special_tokens: bool, return_tensors: str) -> dict:
        return {"input_ids": [array("l", [1, *map(ord, text)])]}

    def decode(self, ids: list, skip_special_tokens: bool) -> str:
        return "".join("<s>" if number == 1 else chr(number) for number in ids)


class Engine:
    """Generates what it was told to."""

    def __init__(self, response: str) -> None:
        self.response = response

    async def generate(self, ids: list, params: object, multi_modal_data: object) -> SimpleNamespace:
        tokens = list(map(ord, self.response))
        return SimpleNamespace(
            outputs=[SimpleNamespace(token_ids=tokens, finish_reason="stop", logprobs=None)]
        )


async def run(endpoint: str, rows: list) -> list:
    executor = SingleTurnAgentExecutor(endpoint)
    params = SimpleNamespace(max_tokens=4096, logprobs=None)
    calls = (
        executor.execute(row["prompt"], row["label"], params, 9000, Letters(), Engine(row["response"]))
        for row in rows
    )
    return await asyncio.wait_for(asyncio.gather(*calls), 120)


def main(endpoint: str) -> None:
    rows = [json.loads(line) for line in sys.stdin]
    for answer in asyncio.run(run(endpoint, rows)):
        print(json.dumps({name: answer[name] for name in ("reward", "scores", "extra_logs")}))


main(sys.argv[1])
