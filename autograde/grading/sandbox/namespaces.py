"""Shut one process in: its own users, mounts and process ids, an empty scratch folder, no rights. Linux only.

Runs inside the bubblewrap sandbox, where the network is gone and every file is read-only already. What is added here
keeps submissions that the same sandbox runs one after the other from one another.
"""

import ctypes
import os
import resource
import signal

from autograde.grading.sandbox.limits import Limits

SCRATCH = "/scratch"  # each submission's own; what lies under it is used while the libraries are imported
_libc = ctypes.CDLL(None, use_errno=True)
NEWNS, NEWIPC, NEWUSER, NEWPID = 0x00020000, 0x08000000, 0x10000000, 0x20000000  # sched.h
NOSUID, NODEV = 0x2, 0x4  # sys/mount.h
PDEATHSIG, DUMPABLE, CAPBSET_DROP, NO_NEW_PRIVS = 1, 4, 24, 38  # sys/prctl.h
CAP_VERSION_3 = 0x20080522  # linux/capability.h


def _done(result: int, what: str) -> None:
    if result != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}")


def prctl(option: int, value: int) -> None:
    _done(_libc.prctl(option, value, 0, 0, 0), f"prctl {option}")


def die_with_parent() -> None:
    prctl(PDEATHSIG, signal.SIGKILL)


def unshare() -> None:
    """Leave the other submissions' namespaces. The next child is process 1 of a new process-id namespace."""
    uid, gid = os.getuid(), os.getgid()
    _done(_libc.unshare(NEWUSER | NEWNS | NEWPID | NEWIPC), "unshare")
    for name, content in (("setgroups", "deny"), ("uid_map", f"{uid} {uid} 1"), ("gid_map", f"{gid} {gid} 1")):
        _write(f"/proc/self/{name}", content)


def _write(path: str, content: str) -> None:
    with open(path, "w", encoding="ascii") as file:
        file.write(content)


def private_files(limits: Limits) -> None:
    """As process 1: a /proc that shows only this namespace, an empty scratch folder, and no way to more rights."""
    _done(_libc.mount(b"proc", b"/proc", b"proc", NOSUID | NODEV, None), "mount /proc")
    # Whoever may make a user namespace has every right inside it, and could undo the mounts.
    _write("/proc/sys/user/max_user_namespaces", "0")
    options = f"size={limits.scratch_bytes},nr_inodes=20000,mode=700".encode()
    for folder in (SCRATCH, "/dev/shm"):
        _done(_libc.mount(b"tmpfs", folder.encode(), b"tmpfs", NOSUID | NODEV, options), f"mount {folder}")


def drop_rights() -> None:
    """Give up every capability, for good."""

    class Header(ctypes.Structure):
        _fields_ = (("version", ctypes.c_uint32), ("pid", ctypes.c_int))

    capability = 0
    while _libc.prctl(CAPBSET_DROP, capability, 0, 0, 0) == 0:
        capability += 1
    prctl(NO_NEW_PRIVS, 1)
    nothing = (ctypes.c_uint32 * 6)()
    _done(_libc.capset(ctypes.byref(Header(CAP_VERSION_3, 0)), nothing), "capset")


def set_limits(limits: Limits) -> None:
    """Limits that the kernel keeps for each process; the totals are kept by whoever started it."""
    for which, amount in (
        (resource.RLIMIT_CPU, limits.cpu_seconds),
        (resource.RLIMIT_DATA, limits.memory_bytes),
        (resource.RLIMIT_FSIZE, limits.file_bytes),
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_NOFILE, 256),
    ):
        resource.setrlimit(which, (amount, amount))


def limit_processes(limits: Limits) -> None:
    """Before Linux 5.14 this counted all processes of the user, those outside included; then the total must do."""
    release = tuple(int(part) for part in os.uname().release.split("-")[0].split(".")[:2])
    if release >= (5, 14):
        resource.setrlimit(resource.RLIMIT_NPROC, (limits.processes, limits.processes))


# Calls that no lesson needs: memory that no limit counts, other processes, the kernel's larger interfaces. Numbers of
# x86-64 and of arm64, from the kernel's tables.
FORBIDDEN = {
    "memfd_create": (319, 279),
    "memfd_secret": (447, 447),
    "shmget": (29, 194),
    "msgget": (68, 186),
    "ptrace": (101, 117),
    "process_vm_readv": (310, 270),
    "process_vm_writev": (311, 271),
    "add_key": (248, 217),
    "request_key": (249, 218),
    "keyctl": (250, 219),
    "bpf": (321, 280),
    "perf_event_open": (298, 241),
    "userfaultfd": (323, 282),
    "io_uring_setup": (425, 425),
}
MACHINES = {"x86_64": (0, 0xC000003E), "aarch64": (1, 0xC00000B7)}  # column above, audit's name of the architecture
SECCOMP, FILTER = 22, 2
LOAD, EQUAL, AT_LEAST, RETURN = 0x20, 0x15, 0x35, 0x06  # classic BPF: load a word, jump if, return
OTHER_CALLS = 0x40000000  # x86-64 numbers the same calls once more from here, for another width of pointers
ALLOW, REFUSE, KILL = 0x7FFF0000, 0x00050000 | 1, 0x80000000  # REFUSE: the call fails with EPERM


def forbid_calls() -> None:
    """Refuse the calls in FORBIDDEN from now on, to this process and what it starts. Nothing on other machines."""
    if os.uname().machine not in MACHINES:
        return
    column, architecture = MACHINES[os.uname().machine]
    numbers = [each[column] for each in FORBIDDEN.values()]
    program = [(LOAD, 0, 0, 4), (EQUAL, 1, 0, architecture), (RETURN, 0, 0, KILL), (LOAD, 0, 0, 0)]
    program += [(AT_LEAST, 0, 1, OTHER_CALLS), (RETURN, 0, 0, KILL)]
    program += [(EQUAL, len(numbers) - i, 0, number) for i, number in enumerate(numbers)]
    program += [(RETURN, 0, 0, ALLOW), (RETURN, 0, 0, REFUSE)]

    class Instruction(ctypes.Structure):
        _fields_ = (("code", ctypes.c_uint16), ("yes", ctypes.c_uint8), ("no", ctypes.c_uint8), ("k", ctypes.c_uint32))

    class Program(ctypes.Structure):
        _fields_ = (("length", ctypes.c_ushort), ("instructions", ctypes.POINTER(Instruction)))

    code = (Instruction * len(program))(*program)
    whole = Program(len(program), code)
    _done(_libc.prctl(SECCOMP, FILTER, ctypes.byref(whole), 0, 0), "seccomp")
