"""How fast a client package asks ``/score``, 32 at a time: client_load.py PACKAGE URL SECONDS, prints JSON.

It runs under the interpreter of the package, so it uses nothing that both packages do not have.
"""

import asyncio
import importlib
import json
import resource
import sys
import time

CONCURRENT = 32
COMPLETION = "The Baltic Sea is the one that touches it, as maps show us."


async def main(package: str, url: str, seconds: float) -> None:
    module = importlib.import_module(package)
    client_class = getattr(module, "AsyncRewardClient", None) or module.RewardClient
    client = client_class(base_url=url, max_connections=CONCURRENT)
    request = module.Request(
        turns=[
            module.Turn(role="user", content="What sea touches Stockholm?"),
            module.Turn(role="assistant", content=COMPLETION),
        ],
        metadata={"scary_letter": "z"},
    )
    done = 0

    async def ask(until: float) -> None:
        nonlocal done
        while time.perf_counter() < until:
            response = await client.score(request)
            assert response.reward == 1.0
            done += 1

    await asyncio.gather(*(ask(time.perf_counter() + 0.5) for _ in range(CONCURRENT)))
    done, begun, used = 0, time.perf_counter(), cpu()
    await asyncio.gather(*(ask(begun + seconds) for _ in range(CONCURRENT)))
    print(json.dumps({"done": done, "seconds": time.perf_counter() - begun, "cpu": cpu() - used}))


def cpu() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


asyncio.run(main(sys.argv[1], sys.argv[2], float(sys.argv[3])))
