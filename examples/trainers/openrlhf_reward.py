"""OpenRLHF: --reward.remote_url openrlhf_reward.py --data.label_key ground_truth"""

from my_rewards import last_number

reward_func = last_number.to_openrlhf()
