"""reward-kit's own remote reward: reward_kit_client.py ENDPOINT < calls.jsonl > results.jsonl."""

import json
import sys

from reward_kit import RewardFunction

remote = RewardFunction(mode="remote", endpoint=sys.argv[1])
for line in sys.stdin:
    try:
        result = remote(**json.loads(line))
    except Exception as error:
        print(json.dumps({"raised": f"{type(error).__name__}: {error}"}))
    else:
        print(result.model_dump_json())
