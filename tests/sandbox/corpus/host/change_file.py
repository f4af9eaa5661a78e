"""Changes a file or folder of the host. All must be as before: content, mode, owner, times, attributes, names.

Variants: write, append, truncate, chmod, fchmodat, chown, utime, attribute, rename, replace, unlink, rmdir, link_in
"""

from attack import TARGETS, VARIANT, attempt, ctypes, os, syscall

secret, folder, open_folder = TARGETS["secret_file"], TARGETS["folder"], TARGETS["open_folder"]


def attribute():
    result = syscall(
        "setxattr", ctypes.c_char_p(secret.encode()), ctypes.c_char_p(b"user.breach"), b"x", 1, 0
    )
    if result:
        raise OSError(-result, os.strerror(-result))


def replace():
    open("mine", "w").close()
    os.replace("mine", secret)


ways = {
    "write": lambda: open(secret, "w").write("changed"),
    "append": lambda: open(secret, "a").write("changed"),
    "truncate": lambda: os.truncate(secret, 0),
    "chmod": lambda: os.chmod(secret, 0o777),
    "fchmodat": lambda: os.chmod(
        os.path.basename(folder), 0o777, dir_fd=os.open(os.path.dirname(folder), os.O_PATH)
    ),
    "chown": lambda: os.chown(secret, os.getuid(), os.getgid()),
    "utime": lambda: os.utime(secret, (1, 1)),
    "attribute": attribute,
    "rename": lambda: os.rename(secret, secret + TARGETS["mark"]),
    "replace": replace,
    "unlink": lambda: os.unlink(secret),
    "rmdir": lambda: os.rmdir(open_folder),
    "link_in": lambda: os.link(secret, "mine"),
}
attempt(VARIANT, ways[VARIANT])
