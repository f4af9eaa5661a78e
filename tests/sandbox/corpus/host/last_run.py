"""Looks in memory, scratch and descriptors for what the run before it was given: program, input, files.

None of it must be there.
"""

import gc
import sys

from attack import LIBC, ctypes, os, say

# In two halves, so that it is not this program that is found, nor a constant of it.
needle = b"".join((b"-of-the", b"-victim-"))


def look(data, where):
    index = data.find(needle)
    # What lies before it and after it tells the victim's from the needle itself.
    if index >= 0 and (data[:index].endswith((b"the-input", b"the-file", b"the-program"))):
        say(f"BREACH {where}: {data[max(0, index - 20) : index + 40]!r}")


for thing in gc.get_objects():
    if isinstance(thing, dict | list | tuple | set):
        for part in list(thing.copy().values()) if isinstance(thing, dict) else list(thing):
            if isinstance(part, str | bytes | bytearray) and part is not needle:
                look(
                    part.encode("utf-8", "replace") if isinstance(part, str) else bytes(part),
                    type(thing).__name__,
                )
frame = sys._getframe()
while frame:
    for value in frame.f_locals.values():
        if isinstance(value, str | bytes) and value is not needle:
            look(value.encode("utf-8", "replace") if isinstance(value, str) else value, frame.f_code.co_name)
    frame = frame.f_back
sink = os.open("sink", os.O_RDWR | os.O_CREAT, 0o600)
LIBC.write.argtypes = [ctypes.c_int, ctypes.c_void_p, ctypes.c_size_t]
LIBC.sbrk.restype = ctypes.c_void_p
LIBC.sbrk.argtypes = [ctypes.c_long]
regions = [(LIBC.sbrk(0) - (8 << 20), 8 << 20)]
regions += [
    ((id(thing) & ~0xFFFFF), 1 << 20) for thing in gc.get_objects()[:: max(1, len(gc.get_objects()) // 40)]
]
for start, size in sorted(set(regions)):
    for page in range(start, start + size, 65536):
        os.lseek(sink, 0, os.SEEK_SET)
        written = LIBC.write(sink, page, 65536)
        if written > 0:
            look(os.pread(sink, written, 0), f"memory at {page:#x}")
for place, _, names in os.walk("."):
    for name in names:
        if name != "sink":
            look(name.encode("utf-8", "replace"), place)
            look(open(os.path.join(place, name), "rb").read(), name)
