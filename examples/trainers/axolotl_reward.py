"""The reward that axolotl.yaml names."""

from my_rewards import last_number as reward

last_number = reward.to_trl()
