"""NeMo Gym (0.4): a reward as a resources server whose ``/verify`` scores with it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from guerdon.data.gym_rollouts import field_name, sample_of_rollout
from guerdon.errors import BindingError
from guerdon.trainers.adapter import Adapter, OnFailure
from guerdon.trainers.columns import plain, read_sample
from guerdon.trainers.optional_imports import package, refuse_skip
from guerdon.trainers.registry import SetupGuide, SetupRequest, Trainer
from guerdon.trainers.templates import docstring_name, imports_source, options_source, reward_source, slug
from guerdon.trainers.weighted_parts import WeightedParts
from guerdon.types import EvaluateResult

_VERDICT = frozenset({"reward_components", "mask_sample", "failure_kind", "failure_reason"})
_INSTALL = "pip install nemo-gym (on Python 3.12 or later)"


class NemoGymAdapter(Adapter):
    """What a resources server asks: the fields of the answer to a row that was run."""

    trainer: ClassVar[str] = "nemo-gym"
    default_failure: ClassVar[OnFailure] = 0.0

    def __init__(self, reward: Any, **options: Any) -> None:
        super().__init__(reward, **options)
        refuse_skip(self, "NeMo Gym")
        self._weighted_parts = WeightedParts(self)

    async def verify(self, row: Mapping[str, Any]) -> dict[str, Any]:
        """The answer to ``/verify``: the row with its ``reward``, a field for each component, and ``failed``.

        A weighted sum has ``reward_components``, too, which add up to the reward. A failed sample has
        ``mask_sample``, which says that it is not to be trained on, ``failure_kind`` and ``failure_reason``.
        """
        (result,) = await self.aresults([read_sample(sample_of_rollout, plain(dict(row)))])
        # A row that is verified again brings the fields of the first time.
        kept = {name: value for name, value in row.items() if name not in _VERDICT}
        return {**kept, **self.fields(result)}

    def fields(self, result: EvaluateResult) -> dict[str, Any]:
        """The fields that a verdict adds to its row: those of the components are there for every sample."""
        number = self.number(result)
        parts = {**self.parts(result), **{name: metric.score for name, metric in result.metrics.items()}}
        found: dict[str, Any] = {field_name(name): score for name, score in parts.items()}
        found |= {"reward": number, "failed": float(result.failed)}
        if self._weighted_parts.keys:
            found["reward_components"] = self._weighted_parts.parts(result, number or 0.0)
        if result.failed:
            found |= {"mask_sample": True, "failure_kind": result.error_kind, "failure_reason": result.error}
        return found


def make(reward: Any, **options: Any) -> Any:
    """A subclass of NeMo Gym's ``SimpleResourcesServer``: ``Server.run_webserver()`` in its ``app.py`` runs it.

    ``options`` are those of Adapter. ``on_failure`` is a number, 0 by default, or ``"raise"``, for which the server
    answers 500. Raises BindingError for ``"skip"``; MissingExtraError where nemo-gym is not installed.
    """
    adapter = NemoGymAdapter(reward, **options)
    gym = package("nemo_gym.base_resources_server", _INSTALL, "a resources server of NeMo Gym")
    config_dict = package("pydantic", "pip install pydantic", "a resources server").ConfigDict
    request_base: Any = gym.BaseVerifyRequest
    response_base: Any = gym.BaseVerifyResponse
    server_base: Any = gym.SimpleResourcesServer

    class RolloutVerifyRequest(request_base):  # type: ignore[misc]
        """A finished rollout; every further field is a column of its row."""

        model_config = config_dict(extra="allow")

    class RolloutVerifyResponse(response_base):  # type: ignore[misc]
        """The request with its reward; each component is a field of its own."""

        model_config = config_dict(extra="allow")

    async def verify(self: Any, body: Any) -> Any:
        return RolloutVerifyResponse(**await adapter.verify(body.model_dump()))

    # FastAPI reads them, and would look for the names of local classes in vain.
    verify.__annotations__ = {"body": RolloutVerifyRequest, "return": RolloutVerifyResponse}
    members = {"__doc__": adapter.__doc__, "__module__": __name__, "verify": verify}
    server = type(server_base)("RewardResourcesServer", (server_base,), members)
    server.__qualname__ = f"RewardResourcesServer[{adapter.__name__}]"
    return server


def _setup_guide(request: SetupRequest) -> SetupGuide:
    """The folder of a resources server as ``gym env start`` runs it, and its configuration."""
    if request.options.get("on_failure") == "skip":
        raise BindingError('NeMo Gym cannot skip a sample: on_failure must be "raise" or a number')
    name = f"guerdon_{slug(request.reward.name)}"
    folder = f"resources_servers/{name}"
    app = (
        f'"""The reward {docstring_name(request)} as a resources server of NeMo Gym."""\n\n'
        "from nemo_gym.server_utils import is_nemo_gym_fastapi_entrypoint\n\n"
        f"{imports_source(request)}\n"
        f"Server = {reward_source(request, f'{folder}/app.py')}.to_nemo_gym({options_source(request.options)})\n\n"
        'if __name__ == "__main__":\n'
        "    Server.run_webserver()\n"
        "elif is_nemo_gym_fastapi_entrypoint(__file__):\n"
        "    app = Server.run_webserver()\n"
    )
    config = _CONFIG.format(name=name)
    files = {
        f"{folder}/app.py": app,
        f"{folder}/requirements.txt": "nemo-gym\nguerdon\n",
        f"{folder}/configs/{name}.yaml": config,
    }
    lines = (
        f'gym env start "+config_paths=[{folder}/configs/{name}.yaml,<the configuration of your model>]"\n'
    )
    note = (
        "Each row's `expected_answer` or `ground_truth` is the ground truth, its other fields are columns. To score "
        f"on a server instead, run `guerdon serve {request.spec}` and adapt its address: "
        "guerdon adapt http://HOST:8000 --for nemo-gym."
    )
    return SetupGuide(files=files, lines=lines, note=note)


_CONFIG = """\
{name}_resources_server:
  resources_servers:
    {name}:
      entrypoint: app.py
      domain: other
      verified: false
{name}_simple_agent:
  responses_api_agents:
    simple_agent:
      entrypoint: app.py
      resources_server:
        type: resources_servers
        name: {name}_resources_server
      model_server:
        type: responses_api_models
        name: policy_model
"""

TRAINER = Trainer(
    name="nemo-gym", title="NeMo Gym 0.4", make=make, setup_guide=_setup_guide, aliases=("nemogym",)
)
