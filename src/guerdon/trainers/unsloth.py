"""Unsloth: TRL's trainers made faster, which take TRL's rewards."""

from __future__ import annotations

from guerdon.trainers.registry import SetupGuide, SetupRequest, Trainer
from guerdon.trainers.templates import identifier, module_source
from guerdon.trainers.trl import make


def _setup_guide(request: SetupRequest) -> SetupGuide:
    name = identifier(request)
    module = f"{name}_unsloth"
    return SetupGuide(
        files={
            f"{module}.py": module_source(
                request, f"{module}.py", title="Unsloth", attribute=name, trainer="trl"
            )
        },
        lines=(
            "from unsloth import FastLanguageModel\n"
            "from trl import GRPOConfig, GRPOTrainer\n\n"
            f"from {module} import {name}\n\n"
            "trainer = GRPOTrainer(\n"
            f"    model=model, processing_class=tokenizer, reward_funcs=[{name}],\n"
            "    args=GRPOConfig(…), train_dataset=dataset,\n"
            ")"
        ),
        note="unsloth is to be imported before trl.",
    )


TRAINER = Trainer(name="unsloth", title="Unsloth 2026.10", make=make, setup_guide=_setup_guide)
