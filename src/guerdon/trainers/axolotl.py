"""axolotl: TRL's trainers behind a YAML file, which take TRL's rewards."""

from __future__ import annotations

from guerdon.trainers.registry import SetupGuide, SetupRequest, Trainer
from guerdon.trainers.templates import identifier, module_source
from guerdon.trainers.trl import make


def _setup_guide(request: SetupRequest) -> SetupGuide:
    name = identifier(request)
    module = f"{name}_axolotl"
    return SetupGuide(
        files={
            f"{module}.py": module_source(
                request, f"{module}.py", title="axolotl", attribute=name, trainer="trl"
            )
        },
        lines=f"rl: grpo\ntrl:\n  reward_funcs:\n    - {module}.{name}",
        note=(
            f"Run `axolotl train CONFIG.yaml` where {module}.py is, with PYTHONPATH=. set: what axolotl cannot "
            "import it takes for a model to download."
        ),
    )


TRAINER = Trainer(name="axolotl", title="axolotl 0.19", make=make, setup_guide=_setup_guide)
