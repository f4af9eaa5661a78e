"""adaptive-sdk's own client: adaptive_client.py URL score|batch|ws < requests.jsonl > responses.jsonl."""

import asyncio
import json
import sys

from adaptive_sdk.external import Request, RewardClient

BATCH = 64


async def main(url: str, way: str) -> None:
    requests = [Request(**json.loads(line)) for line in sys.stdin]
    client = RewardClient(url, timeout=60)
    info = await client.info()
    print(json.dumps({"info": info.model_dump()}))
    if way == "ws":
        await client.connect_websocket()
    if way == "batch":
        responses = []
        for start in range(0, len(requests), BATCH):
            responses += await client.batch_score(requests[start : start + BATCH])
    else:
        responses = await asyncio.gather(*map(client.score, requests))
    if requests:
        checked = await client.validate_metadata(requests[0].metadata)
        print(json.dumps({"valid": checked.is_valid, "error": checked.error_message}))
    for response in responses:
        print(response.model_dump_json())
    if way == "ws":
        await client.drop_websocket()


asyncio.run(asyncio.wait_for(main(*sys.argv[1:]), 120))
