"""Takes rights: another user, capabilities, privileges that were given up, a filter that was laid. None must be had.

Landlock started by root may keep the right to read what it shows, for an interpreter or a working directory that only
root can reach. Leaks: landlock-root-capabilities

Variants: users, capabilities, ambient, no_new_privileges, filter, securebits, set_uid_program
"""

import glob
import stat

from attack import VARIANT, attempt, breach, ctypes, os, say, syscall

if VARIANT == "users":
    # To be whom one is already is allowed.
    for number in (0, 1, 1000, 4242):
        if number != os.getuid():
            attempt(f"user {number}", os.setresuid, number, number, number)
            attempt(f"group {number}", os.setresgid, number, number, number)
            attempt(f"groups {number}", os.setgroups, [number])
elif VARIANT == "capabilities":
    header = (ctypes.c_uint32 * 2)(0x20080522, 0)
    data = (ctypes.c_uint32 * 6)()
    say(f"capget {syscall('capget', header, data)}: {list(data)}")
    if any(data):
        breach(f"capabilities {list(data)}")
    full = (ctypes.c_uint32 * 6)(*[0xFFFFFFFF] * 6)
    if syscall("capset", header, full) == 0:
        breach("all capabilities")
elif VARIANT == "ambient":
    for capability in range(41):
        if syscall("prctl", 47, 2, capability, 0, 0) == 0:
            breach(f"ambient capability {capability}")
elif VARIANT == "no_new_privileges":
    syscall("prctl", 38, 0, 0, 0, 0)
    if syscall("prctl", 39, 0, 0, 0, 0) == 0:
        breach("new privileges")
elif VARIANT == "filter":
    syscall("prctl", 22, 0, 0, 0, 0)
    if syscall("prctl", 21, 0, 0, 0, 0) == 0:
        breach("no filter")
elif VARIANT == "securebits":
    if syscall("prctl", 28, 0x2F, 0, 0, 0) == 0:
        breach("secure bits")
    if syscall("prctl", 24, 1, 0, 0, 0) == 0 and syscall("prctl", 35, 1, 1, 0, 0) == 0:
        breach("memory map")
else:
    for path in glob.glob("/usr/bin/*") + glob.glob("/bin/su"):
        try:
            if os.stat(path).st_mode & stat.S_ISUID:
                os.execv(path, [path, "--version"])
        except OSError as refusal:
            say(f"refused {path}: {refusal}")
