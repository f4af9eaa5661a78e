"""Makes empty files, folders and links without end. The host pays for each; 20,000 is too many.

Limits: scratch_mb=4, cpu_s=2, wall_s=4
Variants: files, folders, hard_links, symbolic_links
"""

from attack import VARIANT, breach, os, say

ways = {
    "files": lambda n: os.close(os.open(f"f{n}", os.O_CREAT, 0o600)),
    "folders": lambda n: os.mkdir(f"d{n}"),
    "hard_links": lambda n: os.link("first", f"h{n}"),
    "symbolic_links": lambda n: os.symlink("x" * 200, f"s{n}"),
}
open("first", "w").close()
made = 0
try:
    while made < 20_000:
        ways[VARIANT](made)
        made += 1
    breach(f"{made} {VARIANT}")
except OSError as refusal:
    say(f"refused after {made}: {refusal}")
