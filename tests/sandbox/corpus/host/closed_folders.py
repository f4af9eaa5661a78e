"""Makes folders that nobody may open, or that have the names which clearing them would use. The run still ends well.

What is written into them counts as scratch all the same, so no more than four times of it may be had for long.

Limits: scratch_mb=4, cpu_s=1, wall_s=3
Ends: ok, killed
Variants: unreadable, nested, taken_names, hidden, too_deep
"""

import time

from attack import BURST, VARIANT, breach, os, say

taken = 0
try:
    if VARIANT == "unreadable":
        os.mkdir("closed", 0o300)
        open("closed/file", "w").close()
        os.mkdir("empty", 0)
    elif VARIANT == "nested":
        os.makedirs("above/between")
        os.mkdir("above/between/closed", 0)
        os.mkdir("above/closed", 0o300)
        os.makedirs("above/closed/below/below")
    elif VARIANT == "taken_names":
        os.mkdir("first")
        number = os.stat("first").st_ino
        for count in range(5):
            os.makedirs(f".up-{count}-{number}/taken")
            os.makedirs(f".up-{count}/taken/taken")
        os.mkdir("last")
        os.rename("first", "last/first")
    else:
        if VARIANT == "hidden":
            os.mkdir("closed", 0o300)
            os.chdir("closed")
        for _ in range(20 if VARIANT == "too_deep" else 0):
            os.mkdir("d" * 250)
            os.chdir("d" * 250)
        for number in range(12):
            with open(f"file{number}", "wb", 0) as file:
                taken += file.write(bytes(BURST)) + file.write(bytes(BURST))
            time.sleep(0.05)
except OSError as refusal:
    say(f"refused after {taken >> 20} MiB: {refusal}")
if taken > 16 * BURST:
    breach(f"{taken >> 20} MiB of scratch")
