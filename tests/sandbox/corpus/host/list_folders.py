"""Lists folders of the host. None of the host's names must be seen.

Unconfined: breaches
Variants: canary, parents, etc, home, devices
"""

from attack import TARGETS, VARIANT, breach, os, say

folder = TARGETS["folder"]
if VARIANT == "canary":
    places = [folder]
elif VARIANT == "parents":
    places, rest = [], folder
    while rest != "/":
        rest = os.path.dirname(rest)
        places.append(rest)
else:
    places = {
        "etc": ["/etc", "/etc/ssl"],
        "home": ["/home", "/root", "/var", "/srv", "/opt", os.path.dirname(folder)],
        "devices": ["/dev", "/sys", "/sys/class/net", "/sys/block", "/proc"],
    }[VARIANT]
for place in places:
    try:
        names = os.listdir(place)
    except OSError as refusal:
        say(f"refused {refusal}")
        continue
    say(f"{place}: {names}")
    known = {"passwd", "hostname", "resolv.conf", "kmsg", "mem", "lo", "vda", os.path.basename(folder)}
    known |= set(TARGETS["names"])
    if VARIANT == "parents" and place == "/":
        known = {os.path.basename(folder)}
    if found := known & set(names):
        breach(f"{place} has {found}")
