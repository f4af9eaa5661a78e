"""System calls by name."""

from __future__ import annotations

import errno
import os
import platform
import sys
import time

import pytest

from guerdon.sandbox.inside import kernel
from guerdon.sandbox.inside.numbers import machine
from support.confined_process import run, told

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="needs Linux")


def test_the_machine() -> None:
    assert machine() == platform.machine()


def test_an_error_is_the_kernels() -> None:
    with pytest.raises(OSError, match="unshare: ") as caught:
        kernel.unshare(1)
    assert caught.value.errno == errno.EINVAL


def test_a_call_that_nobody_knows() -> None:
    with pytest.raises(OSError, match="frobnicate: ") as caught:
        kernel.call("frobnicate")
    assert caught.value.errno == errno.ENOSYS


def test_large_arguments_arrive_whole() -> None:
    descriptor = os.memfd_create("x")
    assert kernel.call("lseek", descriptor, 2**40 + 5, os.SEEK_SET) == 2**40 + 5
    os.close(descriptor)


def test_no_capability_is_left() -> None:
    code = """
kernel.drop_capabilities()
lines = dict(line.split(":", 1) for line in open("/proc/self/status") if line.startswith("Cap"))
print(json.dumps({name: int(value, 16) for name, value in lines.items()}))"""
    left = told(code)
    if os.geteuid():  # who may not change the bounding set keeps it
        left["CapBnd"] = 0
    assert left == {"CapInh": 0, "CapPrm": 0, "CapEff": 0, "CapBnd": 0, "CapAmb": 0}


def test_flags_of_a_process() -> None:
    code = """
kernel.no_new_privileges(); kernel.set_dumpable(False); kernel.set_subreaper(); kernel.die_with_parent()
print(json.dumps([kernel.prctl(kernel.PR_GET_NO_NEW_PRIVS), kernel.prctl(kernel.PR_GET_DUMPABLE)]))"""
    assert told(code) == [1, 0]


def test_who_dies_with_its_parent() -> None:
    code = """
reader, writer = os.pipe()
if not os.fork():
    if not os.fork():
        kernel.die_with_parent()
        os.write(writer, b"x"); time.sleep(30)
    os.read(reader, 1); os._exit(0)
os.close(writer); os.wait()
print(json.dumps(os.read(reader, 1) == b""))  # the grandchild held the last end for writing"""
    started = time.monotonic()
    assert told(code) is True
    assert time.monotonic() - started < 20


def test_ranges_of_descriptors() -> None:
    code = """
a = [os.open("/dev/null", os.O_RDONLY) for _ in range(6)]
os.set_inheritable(a[1], True)
kernel.close_range(a[1], a[1], on_exec=True)
kernel.close_range(a[2], a[4])
print(json.dumps([name_of(lambda: os.fstat(d)) for d in a] + [os.get_inheritable(a[1])]))"""
    assert told(code) == ["done", "done", "EBADF", "EBADF", "EBADF", "done", False]


def test_a_process_by_descriptor() -> None:
    code = """
import select
if not (child := os.fork()):
    time.sleep(30)
descriptor = kernel.open_process(child)
before = select.select([descriptor], [], [], 0)[0]
signal.pidfd_send_signal(descriptor, signal.SIGKILL)
after = select.select([descriptor], [], [], 20)[0]
print(json.dumps([before, after == [descriptor], os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])]))"""
    assert told(code) == [[], True, -9]


def test_processor_time_of_another() -> None:
    code = """
if not (child := os.fork()):
    while time.process_time() < 0.1: pass
    signal.pause()
while (used := kernel.processor_seconds(child)) < 0.1: time.sleep(0.01)
os.kill(child, 9); os.waitpid(child, 0)
print(json.dumps([used, name_of(lambda: kernel.processor_seconds(child))]))"""
    used, gone = told(code)
    assert 0.1 <= used < 1
    assert gone in ("EINVAL", "ESRCH")


def test_a_keyring_of_its_own() -> None:
    code = """
def session(): return kernel.call("keyctl", 0, -3, 0)
before = session()
kernel.join_session_keyring()
print(json.dumps(session() != before))"""
    assert told(code) is True


def test_a_file_system_of_its_own() -> None:
    """Where user namespaces are forbidden, that is what it says."""
    code = """
user, group = os.getuid(), os.getgid()
try:
    kernel.unshare(kernel.CLONE_NEWUSER | kernel.CLONE_NEWNS | kernel.CLONE_NEWUTS)
except OSError as error:
    print(json.dumps(errno.errorcode[error.errno])); sys.exit()
open("/proc/self/setgroups", "w").write("deny")
open("/proc/self/uid_map", "w").write(f"{user} {user} 1")
open("/proc/self/gid_map", "w").write(f"{group} {group} 1")
kernel.mount(None, "/", None, kernel.MS_REC | kernel.MS_PRIVATE)
kernel.mount("tmpfs", "/mnt", "tmpfs", kernel.MS_NOSUID | kernel.MS_NODEV, "size=64k")
os.mkdir("/mnt/old")
kernel.set_host_name("nowhere")
kernel.pivot_root("/mnt", "/mnt/old")
os.chdir("/")
kernel.unmount("/old", kernel.MNT_DETACH)
print(json.dumps([os.listdir("/"), os.listdir("/old"), os.uname().nodename]))"""
    assert told(code) in ([["old"], [], "nowhere"], "EPERM", "ENOSPC", "EACCES")


def test_nothing_is_printed_at_import() -> None:
    assert run("").stdout == ""
