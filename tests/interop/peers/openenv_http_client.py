"""OpenEnv's client over HTTP: openenv_http_client.py URL < actions.jsonl > results.jsonl."""

import json
import sys
from dataclasses import asdict

from openenv_core import HTTPEnvClient, StepResult


class Client(HTTPEnvClient):
    def _step_payload(self, action):
        return action

    def _parse_result(self, payload):
        return StepResult(payload["observation"], payload.get("reward"), payload.get("done", False))

    def _parse_state(self, payload):
        return payload


client = Client(sys.argv[1])
print(json.dumps(asdict(client.reset())))
for line in sys.stdin:
    print(json.dumps(asdict(client.step(json.loads(line)))))
print(json.dumps(client.state()))
