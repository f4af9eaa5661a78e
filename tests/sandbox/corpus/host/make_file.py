"""Makes files, folders, pipes, devices and sockets outside of its working directory. None must remain.

Variants: file, folder, pipe, device, socket, link, library, interpreter, package
"""

import socket
import stat

from attack import TARGETS, VARIANT, attempt, os, say

places = [
    TARGETS["folder"],
    TARGETS["open_folder"],
    TARGETS["cwd"],
    "/tmp",
    "/var/tmp",
    "/dev/shm",
    "/",
    "/run",
    "/usr",
]
if VARIANT == "library":
    places = [os.path.dirname(os.__file__), os.path.dirname(os.__file__) + "/__pycache__"]
elif VARIANT == "interpreter":
    places = ["/usr/bin", "/usr/lib", os.path.dirname(TARGETS["executable"])]
elif VARIANT == "package":
    places = TARGETS["sources"]


def bind(path):
    with socket.socket(socket.AF_UNIX) as one:
        one.bind(path)


ways = {
    "folder": os.mkdir,
    "pipe": os.mkfifo,
    "device": lambda p: os.mknod(p, stat.S_IFBLK | 0o666, os.makedev(254, 0)),
    "socket": bind,
    "link": lambda p: os.symlink("/etc/passwd", p),
}
private = ("/tmp", "/var/tmp", "/dev/shm", "/", "/run")
for place in places:
    path = os.path.join(place, TARGETS["mark"])
    make = ways.get(VARIANT, lambda p: open(p, "w").close())
    if place in private:
        # A folder of the sandbox's own may bear such a name: whether the host's was reached shows outside.
        try:
            make(path)
            say(f"made {path}")
        except OSError as refusal:
            say(f"refused {refusal}")
    else:
        attempt(path, make, path)
