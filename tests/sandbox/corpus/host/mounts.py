"""Changes what is mounted, or the root. Each must be refused.

Variants: tmpfs, bind, proc, remount, unmount, pivot, chroot, chroot_escape, open_tree, fsopen, move, attributes
"""

from attack import VARIANT, breach, ctypes, os, say, syscall

text = ctypes.create_string_buffer
os.mkdir("point")
point, here = text(b"point"), text(b".")
calls = {
    "tmpfs": ("mount", text(b"none"), point, text(b"tmpfs"), 0, 0),
    "bind": ("mount", text(b"/"), point, 0, 0x1000, 0),
    "proc": ("mount", text(b"none"), point, text(b"proc"), 0, 0),
    "remount": ("mount", 0, text(b"/"), 0, 0x20 | 0x1000, 0),
    "unmount": ("umount2", here, 2),
    "pivot": ("pivot_root", here, point),
    "open_tree": ("open_tree", -100, here, 1),
    "fsopen": ("fsopen", text(b"tmpfs"), 0),
    "move": ("move_mount", -100, here, -100, point, 0),
    "attributes": ("mount_setattr", -100, text(b"/"), 0, (ctypes.c_uint64 * 4)(), 32),
}
if VARIANT in calls:
    result = syscall(*calls[VARIANT])
    say(str(result))
    if result >= 0:
        breach(f"{VARIANT} gave {result}")
else:
    outside = os.open("/", os.O_RDONLY) if VARIANT == "chroot_escape" else -1
    os.chroot("point")
    breach("another root")
    if outside >= 0:
        os.fchdir(outside)
        os.chdir("../" * 40)
        os.chroot(".")
