"""axolotl: TRL's trainers behind a YAML file, which take TRL's rewards."""

from __future__ import annotations

from guerdon.trainers._thin import module_name, module_text, word
from guerdon.trainers.registry import Recipe, Trainer, Wanted
from guerdon.trainers.trl import make


def _recipe(wanted: Wanted) -> Recipe:
    name, module = word(wanted), module_name(wanted, "axolotl")
    return Recipe(
        files={f"{module}.py": module_text(wanted, "axolotl", "to_trl")},
        lines=f"rl: grpo\ntrl:\n  reward_funcs:\n    - {module}.{name}",
        note=(
            f"Run `axolotl train CONFIG.yaml` where {module}.py is, with PYTHONPATH=. set: what axolotl cannot "
            "import it takes for a model to download."
        ),
    )


TRAINER = Trainer(name="axolotl", title="axolotl 0.19", make=make, recipe=_recipe)
