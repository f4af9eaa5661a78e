"""Swaps a folder and a link to the host's all the time, so that whoever removes it may follow the link.

The host's folder must be as before. Ends: timeout, killed
Limits: cpu_s=0.5, wall_s=0.5
"""

from attack import TARGETS, os

os.mkdir("folder")
for name in TARGETS["names"]:
    open(f"folder/{name}", "w").close()
os.symlink(TARGETS["open_folder"], "link")
while True:
    try:
        os.rename("folder", "aside")
        os.rename("link", "folder")
        os.rename("folder", "link")
        os.rename("aside", "folder")
    except OSError:
        continue
