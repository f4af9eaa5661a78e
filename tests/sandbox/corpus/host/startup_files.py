"""Puts modules into its working directory under the names of those that a later run or the sandbox may import.

No later run must import them.
"""

from attack import os

names = [
    "json",
    "sitecustomize",
    "usercustomize",
    "unittest",
    "encodings",
    "inside",
    "solution",
    "re",
    "math",
]
for place in (".", "..", "/tmp", os.path.dirname(os.getcwd())):
    for name in names:
        try:
            with open(os.path.join(place, f"{name}.py"), "w") as file:
                file.write("print('BREACH imported from the run before')\n")
        except OSError:
            continue
