"""ms-swift: swift rlhf --rlhf_type grpo --external_plugins swift_plugin.py --reward_funcs last_number …"""

from my_rewards import last_number
from swift.rewards import orms

orms["last_number"] = last_number.to_swift()
