"""Unsloth: TRL's trainers made faster, which take TRL's rewards."""

from __future__ import annotations

from guerdon.trainers.registry import Recipe, Trainer, Wanted
from guerdon.trainers.templates import thin_file, word
from guerdon.trainers.trl import make


def _recipe(wanted: Wanted) -> Recipe:
    name = word(wanted)
    module = f"{name}_unsloth"
    return Recipe(
        files={f"{module}.py": thin_file(wanted, title="Unsloth", attribute=name, trainer="trl")},
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


TRAINER = Trainer(name="unsloth", title="Unsloth 2026.10", make=make, recipe=_recipe)
