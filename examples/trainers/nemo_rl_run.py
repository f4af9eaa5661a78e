"""NeMo RL: uv run nemo_rl_run.py examples/run_grpo.py --config nemo_rl.yaml"""

import runpy
import sys

from guerdon.trainers.nemo_rl import register

register("guerdon")
sys.argv = sys.argv[1:]
runpy.run_path(sys.argv[0], run_name="__main__")
