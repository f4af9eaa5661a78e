"""Calls parts of the kernel that no program under test needs, and that many holes were in. Each must be refused.

Variants: bpf, io_uring_setup, userfaultfd, perf_event_open, keyctl, add_key, request_key, io_setup, kexec_load,
init_module, finit_module, delete_module, acct, swapon, quotactl, syslog, iopl, ioperm, sethostname, setdomainname,
clock_settime, adjtimex, personality, modify_ldt, vhangup, mbind, reboot, pidfd_getfd, ptrace, name_to_handle_at,
fsopen, memfd_secret
"""

from attack import VARIANT, ctypes, forbidden

text = ctypes.create_string_buffer
# Arguments that would be wrong if they were looked at: where the call gets through, no harm is done.
arguments = {
    "bpf": (0, 0, 0),
    "io_uring_setup": (0, 0),
    "perf_event_open": (0, 0, -1, -1, 0),
    "userfaultfd": (1 << 20,),
    "keyctl": (0, -3, 0),
    "add_key": (0, 0, 0, 0, 0),
    "request_key": (0, 0, 0, 0),
    "personality": (0x0040000,),
    "mbind": (1, 1, 77, 0, 0, 0),
    "reboot": (0, 0, 0, 0),
    "ptrace": (0xFFFF, 0, 0, 0),
    "iopl": (77,),
    "ioperm": (-1, -1, 1),
    "adjtimex": (text(b"\xff" * 256),),
    "acct": (text(b"/absent/absent"),),
    "swapon": (text(b"/absent/absent"), 0),
    "memfd_secret": (-1,),
    "syslog": (77, 0, 0),
}
forbidden(VARIANT, *arguments.get(VARIANT, (0, 0, 0, 0, 0)))
