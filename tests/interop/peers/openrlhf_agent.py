"""OpenRLHF's module ``openrlhf.utils.agent`` without the packages above it, whose own imports are heavy."""

import importlib
import importlib.util
import sys
import types
from pathlib import Path

folder = Path(importlib.util.find_spec("openrlhf").submodule_search_locations[0])
for name, path in (("openrlhf", folder), ("openrlhf.utils", folder / "utils")):
    package = types.ModuleType(name)
    package.__path__ = [str(path)]
    sys.modules[name] = package
SingleTurnAgentExecutor = importlib.import_module("openrlhf.utils.agent").SingleTurnAgentExecutor
