"""The reward ``reward_model``: what does a trained reward model say of the response?"""

from __future__ import annotations

import math
import os
from collections.abc import Mapping
from typing import Any

from guerdon.checks import refuse_unreachable
from guerdon.errors import InputError, RemoteError
from guerdon.reward.binding.annotations import Setting
from guerdon.reward.decorator import reward_function
from guerdon.rewards.common.parameters import among, needs, one_of, parameter_check, shown
from guerdon.rewards.reward_model.api import APIS, KEY_VARIABLE, RewardModelServer
from guerdon.rewards.reward_model.local import Loading, model_of
from guerdon.types import EvaluateResult, Message, MetricResult

NORMALIZATIONS = ("none", "sigmoid", "softmax")
TEMPLATES = ("auto", "chat", "pair")
TRUNCATIONS = ("error", "left", "right")
DEVICES = ("auto", "cpu", "cuda", "mps")
PRECISIONS = ("auto", "float32", "bfloat16", "float16")


def _prepare(**parameters: Any) -> None:
    """Load the model in a worker before its first sample."""
    if not parameters.get("base_url"):
        model_of(_loading(**parameters))


def _check(base_url: Any = None, **given: Any) -> None:
    parameter_check(api=among(APIS), normalize=among(NORMALIZATIONS))(**given)
    _loading(**{"model": "any", **given})
    if base_url is not None:
        _address(base_url)


def _reach(base_url: Any = None, **given: Any) -> None:
    if base_url is not None:
        refuse_unreachable(_address(base_url), "the reward model")
        return
    _loading(**given)
    for module in ("torch", "transformers"):
        needs(module, "reward-model", "a reward model that runs here")()


@reward_function(
    timeout=60,
    enforces_timeout=True,
    concurrency=256,
    scale=(-math.inf, math.inf),
    prepare=_prepare,
    check=_check,
    reach=_reach,
)
async def reward_model(
    messages: list[Message],
    *,
    model: Setting[str | os.PathLike[str] | None] = None,
    base_url: Setting[str | None] = None,
    api: Setting[str] = "vllm-classify",
    label: Setting[str | int | None] = None,
    normalize: Setting[str | None] = None,
    template: Setting[str] = "auto",
    truncation: Setting[str] = "error",
    max_length: Setting[int | None] = None,
    batch_tokens: Setting[int] = 16_384,
    device: Setting[str] = "auto",
    dtype: Setting[str] = "auto",
    revision: Setting[str | None] = None,
) -> EvaluateResult:
    """Scores what a reward model gives the conversation, one that runs here or behind vLLM or TEI.

    ``model`` is a sequence-classification model of Hugging Face: an id on its hub, at a ``revision``, or a
    folder. It is loaded once in a process, on the GPU in bfloat16 where there is one, else on the processor in
    float32 (``device``, ``dtype``); calls that come together are scored in batches of like length, of up to
    ``batch_tokens`` tokens. The conversation is laid out by the model's chat template; a model without one gets
    prompt and response as a pair (``template`` is ``auto``, ``chat`` or ``pair``). Texts that spell a special
    token of the model are taken apart, so that a response cannot open a turn of its own. A conversation of more
    than ``max_length`` tokens, by default what the model takes, is an error, or cut on the ``left`` or the
    ``right`` as ``truncation`` says.

    With ``base_url`` a server is asked instead: ``api`` is ``vllm-classify``, ``vllm-pooling`` (which get the
    conversation), ``vllm-score``, ``tei-predict`` or ``tei-rerank`` (which get prompt and response). A key for it
    is read from the variable GUERDON_REWARD_MODEL_API_KEY. What does not answer is tried again three times.

    A model with one output gives that as it is; of several, ``label`` says which counts, by name or number, and
    the score is its probability. ``normalize`` chooses otherwise: ``none``, ``sigmoid`` or ``softmax``.

    Scale: that of the model, mostly any number; 0 to 1 with ``sigmoid`` and ``softmax``.

    The metric ``raw`` is the output before normalisation, ``tokens`` the length where the model runs here.

    Source: the Bradley-Terry reward model of RLHF (Ouyang et al. 2022), as Hugging Face's
    AutoModelForSequenceClassification stores it; the interfaces of vLLM and text-embeddings-inference.

    Columns with the names of these parameters are ignored. Scores in a batch
    and alone agree up to rounding, some 1e-6 in float32 and 1e-2 in bfloat16. Raises InputError where the model
    cannot be had, is no classifier or cannot take the conversation, RemoteError for a server that fails,
    MissingExtraError without the extra ``reward-model``, or ``client`` for a server.

    >>> import asyncio
    >>> from guerdon import get_reward_function
    >>> asks = get_reward_function("reward_model", base_url="http://127.0.0.1:9", api="tei-predict")
    >>> asks.is_async, asks.options.timeout
    (True, 60)
    """
    if not messages:
        raise InputError("there is no conversation to score")
    if normalize is not None:
        normalize = one_of(normalize, NORMALIZATIONS, "normalize")
    if base_url is not None:
        api = one_of(api, APIS, "api")
        endpoint = RewardModelServer(_address(base_url), api, "" if model is None else str(model))
        outputs = await endpoint.outputs(messages)
        about, metrics = f"{api} at {endpoint.base_url}", {}
    else:
        loading = _loading(
            model=model,
            template=template,
            truncation=truncation,
            max_length=max_length,
            batch_tokens=batch_tokens,
            device=device,
            dtype=dtype,
            revision=revision,
        )
        read = await model_of(loading).outputs(messages)
        outputs, about = read.outputs, read.about
        metrics = {"tokens": MetricResult(read.tokens, reason=f"{read.tokens} tokens")}
    chosen = _chosen(outputs, label)
    raw = outputs[chosen]
    score = _normalized(list(outputs.values()), list(outputs).index(chosen), normalize)
    if not math.isfinite(score):
        raise RemoteError(f"the reward model gave {score}, which is not a score")
    metrics["raw"] = MetricResult(raw, reason=f"output {chosen}")
    return EvaluateResult(score, reason=about, metrics=metrics)


def _loading(**given: Any) -> Loading:
    """What a model is loaded with. Raises InputError for what makes no sense."""
    model = given.get("model")
    if not isinstance(model, str | os.PathLike) or not str(model).strip():
        raise InputError(
            "name a model: model= takes the id of a sequence-classification model on the hub, or a folder; "
            "base_url= that of a server"
        )
    revision = given.get("revision")
    return Loading(
        model=str(model),
        revision=None if revision is None else str(revision),
        device=_device(given.get("device", "auto")),
        dtype=one_of(given.get("dtype", "auto"), PRECISIONS, "dtype"),
        template=one_of(given.get("template", "auto"), TEMPLATES, "template"),
        truncation=one_of(given.get("truncation", "error"), TRUNCATIONS, "truncation"),
        max_length=_count(given.get("max_length"), "max_length"),
        batch_tokens=_count(given.get("batch_tokens", 16_384), "batch_tokens") or 16_384,
    )


def _device(value: Any) -> str:
    name = str(value)
    return name if name.startswith("cuda:") and name[5:].isdigit() else one_of(name, DEVICES, "device")


def _count(value: Any, what: str) -> int | None:
    if value is None:
        return None
    try:
        number = int(value) if not isinstance(value, bool | float) else 0
    except (TypeError, ValueError):
        number = 0
    if number < 1:
        raise InputError(f"{what} must be a whole number of 1 or more, not {shown(value)}")
    return number


def _address(base_url: Any) -> str:
    text = str(base_url).strip()
    if not text.startswith(("http://", "https://")):
        raise InputError(f"base_url must start with http:// or https://, as {shown(text)} does not")
    if "@" in text.split("/")[2]:
        raise InputError(f"base_url must not hold a password; put the key into {KEY_VARIABLE}")
    return text.rstrip("/").removesuffix("/v1")


def _chosen(outputs: Mapping[str, float], label: Any) -> str:
    """The name of the output that counts."""
    names = list(outputs)
    if label is None:
        if len(names) == 1:
            return names[0]
        raise InputError(
            f"the model has {len(names)} outputs: choose one with label=, of {', '.join(names[:20])}"
        )
    if str(label) in outputs:
        return str(label)
    if str(label).isdigit() and int(label) < len(names):
        return names[int(label)]
    raise InputError(f"the model has no output {shown(label)}; there are {', '.join(names[:20])}")


def _normalized(values: list[float], at: int, how: str | None) -> float:
    """One of the outputs, as the sigmoid or the softmax has it."""
    if how is None:
        how = "none" if len(values) == 1 else "softmax"
    if how == "none" or not all(map(math.isfinite, values)):
        return values[at]
    if how == "sigmoid":
        return 1 / (1 + math.exp(-values[at])) if values[at] > -700 else 0.0
    highest = max(values)
    shares = [math.exp(value - highest) for value in values]
    return shares[at] / sum(shares)
