"""axolotl: TRL's trainers behind a YAML file, which take TRL's rewards."""

from __future__ import annotations

from guerdon.trainers.registry import Recipe, Trainer, Wanted
from guerdon.trainers.templates import thin_file, word
from guerdon.trainers.trl import make


def _recipe(wanted: Wanted) -> Recipe:
    name = word(wanted)
    module = f"{name}_axolotl"
    return Recipe(
        files={f"{module}.py": thin_file(wanted, title="axolotl", attribute=name, trainer="trl")},
        lines=f"rl: grpo\ntrl:\n  reward_funcs:\n    - {module}.{name}",
        note=(
            f"Run `axolotl train CONFIG.yaml` where {module}.py is, with PYTHONPATH=. set: what axolotl cannot "
            "import it takes for a model to download."
        ),
    )


TRAINER = Trainer(name="axolotl", title="axolotl 0.19", make=make, recipe=_recipe)
