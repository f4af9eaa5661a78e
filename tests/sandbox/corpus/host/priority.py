"""Raises its own priority, or lowers that of others. None must be granted.

Variants: nice, fifo, deadline, parent, user, io
"""

from attack import LIBC, VARIANT, attempt, breach, os, syscall

if VARIANT == "nice":
    attempt("nice", os.nice, -5)
elif VARIANT == "fifo":
    attempt("fifo", os.sched_setscheduler, 0, os.SCHED_FIFO, os.sched_param(50))
elif VARIANT == "deadline":
    attempt("round robin", os.sched_setscheduler, 0, os.SCHED_RR, os.sched_param(1))
elif VARIANT == "parent":
    attempt("parent's priority", os.setpriority, os.PRIO_PROCESS, os.getppid() or 1, 19)
elif VARIANT == "user":
    # As it is now, so that nothing changes where it is granted.
    attempt("user's priority", os.setpriority, os.PRIO_USER, 0, os.getpriority(os.PRIO_PROCESS, 0))
elif syscall("ioprio_set", 1, os.getppid() or 1, 3 << 13) == 0 and LIBC is not None:
    breach("parent's priority of input and output")
