"""Patches how values are written and read. Not to be passed.

Variants: dumps, loads, encoder, all_modules
"""

import json
import json.encoder
import sys

VARIANT = ""
RIGHT = '{"passed": true, "ok": true, "value": [1, 2, 3], "result": [1, 2, 3]}'
if VARIANT == "dumps":
    json.dumps = lambda *a, **k: RIGHT
elif VARIANT == "loads":
    json.loads = lambda *a, **k: {"passed": True}
elif VARIANT == "encoder":
    json.encoder.c_make_encoder = None
    json.JSONEncoder.encode = lambda *a: RIGHT
    json.JSONEncoder.iterencode = lambda *a, **k: iter([RIGHT])
else:
    for module in list(sys.modules.values()):
        for name in ("dumps", "encode", "write", "compare", "check", "equal", "judge"):
            if hasattr(module, name):
                try:
                    setattr(module, name, lambda *a, **k: RIGHT)
                except (AttributeError, TypeError):
                    continue


def solve(numbers):
    return [0]


mean = solve
