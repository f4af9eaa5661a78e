"""A child of vfork that shares its parent's memory and never returns, while the parent waits uninterruptibly.

The run must end in time, with both. Limits: processes=4, wall_s=0.6
"""

from attack import ctypes, machine_code, platform, say

if platform.machine() == "x86_64":
    # vfork(); then in both: pause() for ever.
    code = b"\xb8\x3a\x00\x00\x00\x0f\x05" + b"\xb8\x22\x00\x00\x00\x0f\x05" + b"\xeb\xf7"
    say("vfork")
    machine_code(code)()
else:
    ctypes.CDLL(None).pause()
