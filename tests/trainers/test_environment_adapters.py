"""What holds of the adapters for verifiers, tinker and ART where their packages are not installed."""

from __future__ import annotations

import pickle
import tomllib
from typing import Any

import pytest

from guerdon import RewardFunction, get_reward_function
from guerdon.errors import BindingError, InputError, MissingExtraError
from guerdon.reward.versioning.snapshot import DependencySnapshot
from guerdon.trainers import SetupRequest, find_trainer
from guerdon.trainers.foreign.autoevals import from_autoevals
from guerdon.trainers.foreign.base import fingerprint_data_of, slug
from guerdon.trainers.foreign.deepeval import from_deepeval
from guerdon.trainers.foreign.openevals import from_openevals
from guerdon.trainers.tinker import TinkerReward
from guerdon.trainers.verifiers import VerifiersReward, from_verifiers


def right(response: str, answer: str) -> bool:
    return response == answer


@pytest.mark.parametrize("name", ["verifiers", "prime-rl", "tinker", "art", "openpipe-art"])
def test_thin_files_are_python(name: str) -> None:
    options = {"on_failure": 0.5, "timeout": 3.0}
    guide = find_trainer(name).setup_guide(
        SetupRequest(spec="exact_match", reward=get_reward_function("exact_match"), options=options)
    )
    ((file, text),) = guide.files.items()
    assert file.startswith("exact_match_")
    compile(text, file, "exec")
    assert "on_failure=0.5, timeout=3.0" in text


def test_the_lines_for_verifiers_are_toml() -> None:
    request = SetupRequest(spec="exact_match", reward=get_reward_function("exact_match"))
    rewards = tomllib.loads(find_trainer("verifiers").setup_guide(request).lines)["env"]["taskset"]["task"][
        "rewards"
    ]
    assert rewards == {"exact_match": {"fn": "exact_match_verifiers:exact_match", "weight": 1.0}}


def test_a_mark_of_verifiers_leaves_the_reward_in_place() -> None:
    adapter = RewardFunction(right).to_verifiers()
    adapter.reward = True  # as vf.reward does
    adapter._vf_weight = 2.0
    assert isinstance(adapter, VerifiersReward)
    assert adapter.reward.name == "right"


def test_a_group_builder_is_pickled_and_its_copies_share_the_reward() -> None:
    reward = RewardFunction(right).to_tinker(on_failure=0.25)
    dataset = reward.dataset([{"prompt": "?", "answer": "4"}] * 5, None, batch_size=2, group_size=3)
    assert [len(dataset), len(dataset.get_batch(1))] == [2, 2]
    copies = [pickle.loads(pickle.dumps(builder)) for builder in dataset.get_batch(0)]
    assert all(copy.reward is reward for copy in copies)
    assert copies[0].columns == {"answer": "4"}
    assert copies[0].logging_tags() == ["right"]


async def _verdict(reward: TinkerReward) -> Any:
    return await reward.verdict("?", "4", answer="4")


def test_a_verdict_without_the_cookbook() -> None:
    import asyncio

    verdict = asyncio.run(_verdict(RewardFunction(right).to_tinker(workers=0)))
    assert (verdict.reward, verdict.metrics) == (1.0, {"right/failed": 0.0})


def test_what_is_no_row_is_said() -> None:
    with pytest.raises(InputError, match="row 1 has no prompt; its columns: question"):
        RewardFunction(right).to_tinker().dataset([{"question": "?"}], None, batch_size=1, group_size=1)


@pytest.mark.parametrize("trainer", ["verifiers", "tinker"])
def test_trainers_that_need_a_number_do_not_skip(trainer: str) -> None:
    with pytest.raises(BindingError, match="needs a number for every sample"):
        RewardFunction(right).to(trainer, on_failure="skip")


def test_a_rubric_names_what_to_install() -> None:
    with pytest.raises(MissingExtraError, match="pip install"):
        RewardFunction(right).to_verifiers().rubric()


@pytest.mark.parametrize(
    ("make", "given", "text"),
    [
        (from_verifiers, right, "no rubric, task or task set of verifiers"),
        (from_autoevals, right, "no scorer of autoevals"),
        (from_deepeval, right, "no metric of DeepEval"),
        (from_openevals, 3, "no evaluator of OpenEvals"),
    ],
)
def test_other_objects_are_refused(make: Any, given: Any, text: str) -> None:
    with pytest.raises(BindingError, match=text):
        make(given)


def test_any_function_in_the_form_of_openevals_will_do() -> None:
    def near(*, outputs: str, reference_outputs: str, unit: str = "") -> dict[str, Any]:
        return {"key": "near", "score": float(outputs == reference_outputs + unit), "comment": "as it is"}

    result = from_openevals(near)(response="4 m", ground_truth="4", unit=" m")
    assert (result.score, result.reason) == (1.0, "as it is")


def test_the_picture_follows_the_users_own_source_and_not_addresses() -> None:
    class Held:
        def __init__(self) -> None:
            self.mine = f"made at {id(self)}"
            self.limit = 4

        def __call__(self) -> int:
            return self.limit

    pictures = [fingerprint_data_of(held, __name__, DependencySnapshot()) for held in (Held(), Held())]
    assert pictures[0] == pictures[1]
    assert pictures[0][1].endswith("Held")
    assert slug("JSONDiff") == "json_diff"
