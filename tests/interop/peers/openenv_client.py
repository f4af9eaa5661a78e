"""OpenEnv's client over a WebSocket: openenv_client.py URL < actions.jsonl > results.jsonl."""

import asyncio
import json
import sys
from dataclasses import asdict

from openenv.core.generic_client import GenericEnvClient


async def main(url: str) -> None:
    async with GenericEnvClient(base_url=url, message_timeout_s=30) as env:
        print(json.dumps(asdict(await env.reset())))
        for line in sys.stdin:
            print(json.dumps(asdict(await env.step(json.loads(line)))))
        print(json.dumps(await env.state()))


asyncio.run(main(sys.argv[1]))
