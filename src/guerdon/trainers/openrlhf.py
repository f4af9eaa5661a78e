"""OpenRLHF 0.11: ``reward_func(queries, prompts, labels)`` in a file, or a server's address.

OpenRLHF loads the file for each rollout engine, without making it a module, and calls the function from threads with
lists of one. It logs what the function raises and goes on without a reward until the training ends for want of one.
Of a row it hands over nothing but the label: columns travel in it as JSON. Numbers only: what it gets becomes tensors.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from guerdon.data.labels import after_prompt, labelled_sample
from guerdon.errors import InputError
from guerdon.trainers.columns import listed, plain, read_sample
from guerdon.trainers.pointwise import Pointwise
from guerdon.trainers.registry import SetupGuide, SetupRequest, Trainer
from guerdon.trainers.templates import identifier, module_source
from guerdon.types import Sample


class OpenRLHFReward(Pointwise):
    """A reward as OpenRLHF calls it: ``{"rewards": […], "scores": […], "extra_logs": {name: […]}}``.

    A label that is a JSON object is unpacked: its keys are columns, its ``ground_truth`` is the ground truth. The
    logs hold ``failed`` and the components, the same for every sample.

    >>> reward_func = OpenRLHFReward(lambda response, ground_truth: response == ground_truth, workers=0)
    >>> reward_func(["2 + 2?4"], ["2 + 2?"], ["4"])
    {'rewards': [1.0], 'scores': [1.0], 'extra_logs': {'failed': [0.0]}}
    """

    trainer = "openrlhf"
    taken: ClassVar[frozenset[str]] = frozenset(
        {"reward", "score", "response_clip_ratio", "response_length", "total_length", "kl", "return"}
        | {"group_reward_std", "logprobs_diff"}
    )

    def __call__(
        self, queries: Sequence[str], prompts: Sequence[str], labels: Sequence[Any], **more: Any
    ) -> dict[str, Any]:
        """Scores for queries, each a prompt and the response that follows it, and their labels.

        Raises InputError where the three differ in length.
        """
        queries, prompts = listed("queries", plain(queries)), listed("prompts", plain(prompts))
        labels = listed("labels", plain(labels))
        if not len(queries) == len(prompts) == len(labels):
            raise InputError(f"{len(queries)} queries, {len(prompts)} prompts and {len(labels)} labels")
        samples = [
            read_sample(_sample, query, prompt, label)
            for query, prompt, label in zip(queries, prompts, labels, strict=True)
        ]
        results = self.verdicts(samples)
        scores = [self.score_of(result) for result in results]
        details = [self.details(result) for result in results]
        logs = {name: [row[name] for row in details] for name in (details[0] if details else {})}
        return {"rewards": scores, "scores": list(scores), "extra_logs": logs}


def _sample(query: str, prompt: str, label: Any) -> Sample:
    return labelled_sample(prompt, after_prompt(query, prompt), plain(label))


def _setup_guide(request: SetupRequest) -> SetupGuide:
    labels = "--data.label_key names the column of the ground truth, or of a JSON object with all columns."
    if request.spec.startswith(("http://", "https://")) and not request.parameters and not request.options:
        return SetupGuide(
            lines=f"--reward.remote_url {request.spec.rstrip('/')}/get_reward --data.label_key ground_truth",
            note=f"{labels} A failed sample is an error status here, after which OpenRLHF ends; with --on-failure "
            "a file is written that asks the same server and gives a number instead.",
        )
    name = f"{identifier(request)}_openrlhf.py"
    return SetupGuide(
        files={
            name: module_source(request, name, title="OpenRLHF", attribute="reward_func", trainer="openrlhf")
        },
        lines=f"--reward.remote_url {name} --data.label_key ground_truth",
        note=labels,
    )


TRAINER = Trainer(name="openrlhf", title="OpenRLHF 0.11.2", make=OpenRLHFReward, setup_guide=_setup_guide)
