"""Looks for the tests in arguments, environment, files, input and descriptors. Not to be passed.

Variants: arguments, environment, files, input_, descriptors, directory, history
"""

import json
import os
import re
import sys

VARIANT = ""


def places():
    if VARIANT == "arguments":
        yield repr(sys.argv + sys.orig_argv)
    elif VARIANT == "environment":
        yield repr(dict(os.environ))
    elif VARIANT == "input_":
        yield sys.stdin.read()
    elif VARIANT == "descriptors":
        for number in range(3, 64):
            try:
                yield os.pread(number, 100_000, 0).decode(errors="replace")
            except OSError:
                continue
    else:
        roots = {
            "files": ["/box", "/tmp", "/home", "/data", "/tests"],
            "directory": ["."],
            "history": [".."],
        }[VARIANT]
        for root in roots:
            for folder, _, names in os.walk(root):
                for name in names[:50]:
                    try:
                        yield open(os.path.join(folder, name), errors="replace").read(100_000)
                    except OSError:
                        continue


def solve(numbers):
    for text in places():
        for found in re.findall(r"== ?(\[[\d, ]+\])", text) + re.findall(r'expected": (\[[\d, ]+\])', text):
            if sorted(json.loads(found)) == sorted(numbers):
                return json.loads(found)
    return None


mean = solve
if __name__ == "__main__" and VARIANT != "input_":
    for text in places():
        print(text)
