"""A resources server of NeMo Gym: resources_servers/last_number/app.py"""

from my_rewards import last_number
from nemo_gym.server_utils import is_nemo_gym_fastapi_entrypoint

Server = last_number.to_nemo_gym()

if __name__ == "__main__":
    Server.run_webserver()
elif is_nemo_gym_fastapi_entrypoint(__file__):
    app = Server.run_webserver()
