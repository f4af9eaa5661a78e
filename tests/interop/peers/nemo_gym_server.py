"""A resources server of NeMo Gym: nemo_gym_server.py SOURCES APP < requests.jsonl > answers.jsonl.

APP is the ``app.py`` of a resources server whose class is called Server. Each line is a path and a body; all are
asked at once, as agents do. The last answer is the order in which they were finished.
"""

import asyncio
import importlib.util
import json
import sys

import httpx
from nemo_gym.base_resources_server import BaseResourcesServerConfig
from nemo_gym.config_types import BaseServerConfig
from nemo_gym.server_utils import ServerClient
from omegaconf import OmegaConf

sources, path = sys.argv[1:]
sys.path.insert(0, sources)


def application():
    spec = importlib.util.spec_from_file_location("app", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    config = BaseResourcesServerConfig(host="127.0.0.1", port=0, entrypoint="app.py", name="guerdon")
    head = BaseServerConfig(host="127.0.0.1", port=0)
    client = ServerClient(head_server_config=head, global_config_dict=OmegaConf.create({}))
    server = module.Server(config=config, server_client=client)
    app = server.setup_webserver()
    server.setup_exception_middleware(app)
    return app


async def main() -> None:
    transport = httpx.ASGITransport(app=application())
    async with httpx.AsyncClient(transport=transport, base_url="http://gym", timeout=120) as client:
        finished = []

        async def ask(position: int, where: str, body: dict) -> tuple:
            answer = await client.post(where, json=body)
            finished.append(position)
            return answer.status_code, answer.json()

        answers = await asyncio.gather(*[ask(i, *json.loads(line)) for i, line in enumerate(sys.stdin)])
    out = sys.__stdout__
    for answer in [*answers, finished]:
        out.write(json.dumps(answer) + "\n")
    out.flush()


sys.stdout = sys.stderr  # NeMo Gym prints failures; what is on stdout are the answers
asyncio.run(main())
