"""How two trainers ask for a reward: trainers_client.py openrlhf|slime URL < samples.jsonl > answers.jsonl.

OpenRLHF's is its own code, loaded without the training stack that its package imports. slime is in no registry:
its request is made as its rm_hub makes it.
"""

import asyncio
import json
import sys

import aiohttp
from openrlhf_agent import SingleTurnAgentExecutor


async def openrlhf(url: str, samples: list) -> list:
    executor = SingleTurnAgentExecutor(url)
    queries = [s["prompt"] + s["response"] for s in samples]
    prompts, labels = [s["prompt"] for s in samples], [s["label"] for s in samples]
    whole = await executor._fetch_rewards_via_http(queries, prompts, labels)
    # Rollouts send one sample at a time.
    single = [
        (await executor._fetch_rewards_via_http([q], [p], [label]))[0]
        for q, p, label in zip(queries[:20], prompts[:20], labels[:20], strict=True)
    ]
    return [whole[0], *single]


async def slime(url: str, samples: list) -> list:
    async with aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=120)) as session:

        async def one(sample: dict) -> float:
            async with session.post(url, json=sample) as answer:
                answer.raise_for_status()
                return await answer.json()

        return await asyncio.gather(*map(one, samples))


def main(trainer: str, url: str) -> None:
    samples = [json.loads(line) for line in sys.stdin]
    ask = {"openrlhf": openrlhf, "slime": slime}[trainer]
    for answer in asyncio.run(asyncio.wait_for(ask(url, samples), 120)):
        print(json.dumps(answer))


main(*sys.argv[1:])
