"""What trainers and environments send: OpenRLHF's and OpenEnv's own code, slime's and NeMo Gym's requests."""

from __future__ import annotations

from typing import Any

import pytest

from interop.conftest import Case, Client
from support.served import Process, ask


def rows(samples: list[Case]) -> list[dict[str, Any]]:
    return [{"prompt": "Tell me. ", "response": case.completion, "label": case.letter} for case in samples]


@pytest.mark.parametrize("path", ["/get_reward", "/", "/score", "/reward", "/rewards/scary/get_reward"])
def test_openrlhf(client: Client, our_function: Process, samples: list[Case], path: str) -> None:
    whole, *single = client(
        "trainers", "trainers_client.py", rows(samples), "openrlhf", our_function.url + path
    )
    expected = [case.reward for case in samples]
    assert whole["rewards"] == whole["scores"] == expected
    assert whole["extra_logs"]["count"] == [pytest.approx(1 / (1 + case.count)) for case in samples]
    assert [answer["rewards"] for answer in single] == [[reward] for reward in expected[:20]]


@pytest.mark.parametrize("path", ["/", "/score", "/reward", "/rewards/scary/"])
def test_slime(client: Client, our_function: Process, samples: list[Case], path: str) -> None:
    answers = client("trainers", "trainers_client.py", rows(samples), "slime", our_function.url + path)
    assert answers == [case.reward for case in samples]


def verify_request(case: Case) -> dict[str, Any]:
    """A row of a NeMo Gym data set with the Response of a model, as OpenAI's Responses have it."""
    part = {"type": "output_text", "text": case.completion, "annotations": [], "logprobs": None}
    message = {
        "type": "message",
        "id": "msg_1",
        "role": "assistant",
        "status": "completed",
        "content": [part],
    }
    thought = {"type": "reasoning", "id": "rs_1", "summary": [{"type": "summary_text", "text": case.letter}]}
    return {
        "responses_create_params": {"input": [{"role": "user", "content": "Tell me.", "type": "message"}]},
        "response": {
            "id": "resp_1",
            "created_at": 1753983920.0,
            "model": "dummy",
            "object": "response",
            "output": [thought, message],
            "parallel_tool_calls": True,
            "tool_choice": "auto",
            "tools": [],
            "usage": None,
        },
        "scary_letter": case.letter,
        "uuid": "row-1",
    }


def test_nemo_gym(our_function: Process, samples: list[Case]) -> None:
    assert ask(our_function.port, "POST", "/seed_session", {}) == (200, {})
    answers = []
    for case in samples[:60]:
        asked = verify_request(case)
        status, answer = ask(our_function.port, "POST", "/verify", asked)
        assert status == 200, answer
        assert answer["reward"] == case.reward
        assert answer["count"] == pytest.approx(1 / (1 + case.count))
        assert {name: answer[name] for name in asked} == asked
        assert isinstance(answer["reward"], float)
        answers.append(answer)
    status, answer = ask(our_function.port, "POST", "/aggregate_metrics", {"verify_responses": answers})
    assert status == 200, answer


def actions(samples: list[Case]) -> list[dict[str, Any]]:
    return [{"response": case.completion, "scary_letter": case.letter} for case in samples]


def test_openenv_over_http(client: Client, our_function: Process, samples: list[Case]) -> None:
    reset, *steps, state = client(
        "openenv_http", "openenv_http_client.py", actions(samples), our_function.url
    )
    assert reset["done"] is False
    assert [(step["reward"], step["done"]) for step in steps] == [(case.reward, True) for case in samples]
    assert "step_count" in state


def test_openenv_over_a_socket(client: Client, our_function: Process, samples: list[Case]) -> None:
    reset, *steps, state = client("openenv", "openenv_client.py", actions(samples), our_function.url)
    assert reset["done"] is False
    assert [(step["reward"], step["done"]) for step in steps] == [(case.reward, True) for case in samples]
    assert state["step_count"] == 500
