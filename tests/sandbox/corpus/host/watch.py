"""Watches files of the host as they change, which needs no right to read them. It must be refused.

Leaks: landlock
Unconfined: breaches
"""

from attack import LIBC, TARGETS, breach, ctypes, os, say, syscall

watcher = LIBC.inotify_init1(0)
for path in (TARGETS["folder"], TARGETS["secret_file"], "/etc", "/tmp/.."):
    watch = syscall("inotify_add_watch", watcher, ctypes.c_char_p(path.encode()), 0xFFF)
    say(f"{path}: {watch}")
    if watch >= 0 and path in (TARGETS["folder"], TARGETS["secret_file"]):
        breach(f"watches {path}")
for flags in (0, 0x200, 0x4):
    group = syscall("fanotify_init", flags, os.O_RDONLY)
    if group >= 0:
        breach("a fanotify group")
