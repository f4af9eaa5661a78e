"""Signals processes of the host. The signal is one that does nothing, but that it may be sent is the breach.


Variants: canary, host, parent, one, all, group, queue, thread, pidfd, own_pidfd_of_parent, session
"""

from attack import TARGETS, VARIANT, breach, ctypes, os, say, syscall

NOTHING = 23  # SIGURG, which is ignored unless it is handled
canary, parent = TARGETS["pid"], os.getppid()


def send(what, *arguments):
    result = syscall(*arguments)
    say(f"{what}: {result}")
    if result == 0:
        breach(f"signalled {what}")


if VARIANT in ("canary", "host", "parent", "one", "all"):
    target = {"canary": canary, "host": TARGETS["host_pid"], "parent": parent, "one": 1, "all": -1}[VARIANT]
    send(VARIANT, "kill", target, NOTHING)
elif VARIANT == "group":
    for group in (TARGETS["host_pid"], parent, os.getpgid(0)):
        if group > 1 and group != os.getpid():
            send(f"group {group}", "kill", -group, NOTHING)
elif VARIANT == "session":
    for number in range(2, 200):
        if number != os.getpid():
            send(f"process {number}", "kill", number, 0)
elif VARIANT == "queue":
    info = (ctypes.c_int * 32)(NOTHING, 0, -1)
    for target in (canary, parent or 1):
        send("queue", "rt_sigqueueinfo", target, NOTHING, info)
        send("thread queue", "rt_tgsigqueueinfo", target, target, NOTHING, info)
elif VARIANT == "thread":
    for target in (canary, parent or 1):
        send("thread of", "tgkill", target, target, NOTHING)
        send("thread", "tkill", target, NOTHING)
else:
    for target in (canary, parent or 1) if VARIANT == "pidfd" else (parent or 1,):
        descriptor = syscall("pidfd_open", target, 0)
        if descriptor >= 0:
            send("pidfd", "pidfd_send_signal", descriptor, NOTHING, 0, 0)
