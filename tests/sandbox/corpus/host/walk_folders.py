"""Walks all folders from the top, looking for what is the host's. Nothing of it must be found."""

from attack import TARGETS, breach, os, say

sought = {os.path.basename(TARGETS["folder"]), *TARGETS["names"]}
for place, folders, files in os.walk("/"):
    if sought & {*folders, *files}:
        breach(f"found in {place}")
        break
say("walked")
