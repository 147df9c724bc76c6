"""Take from a process what computing does not need: files, processes, memory, network, and signals to others.

Root gives up its rights, limits of the system cap memory and forbid new processes, and on Linux Landlock closes the
files. `protection` tries whether all of that holds on this machine.
"""

import ctypes
import importlib.util
import os
import resource
import signal
import socket
import struct
import sys
import sysconfig
import tempfile
from pathlib import Path

import matplotlib as mpl

LIBC = ctypes.CDLL(None, use_errno=True)
# Landlock: rights of files by the version of its interface, see `man landlock`.
READ, WRITE_FILE, TRUNCATE = 1 << 0 | 1 << 2 | 1 << 3, 1 << 1, 1 << 14
RIGHTS = {1: (1 << 13) - 1, 2: (1 << 14) - 1, 3: (1 << 15) - 1, 4: (1 << 15) - 1, 5: (1 << 16) - 1}
READABLE = ("/usr", "/lib", "/lib64", "/bin", "/etc", "/proc", "/sys/devices/system/cpu", "/dev/urandom", "/dev/null")
PACKAGES = ("numpy", "scipy", "pandas", "sklearn", "matplotlib", "clustcal")


def own_user():
    """The number of a user that owns nothing, another one for every process that grades."""
    return 60_000 + os.getpid() % 5_000


def lock_down(folder, memory):
    """Take from this process what computing does not need. Where the system lacks a lock, `protection` says so."""
    os.setsid()
    os.chdir(folder)
    os.environ.update(HOME=folder, TMPDIR=folder)
    mpl.use("Agg")  # nothing is shown
    tempfile.tempdir = folder
    nothing = os.open(os.devnull, os.O_RDWR)
    for number in (0, 1, 2):
        os.dup2(nothing, number)
    os.closerange(4, resource.getrlimit(resource.RLIMIT_NOFILE)[0])  # 3 is the connection
    sys.stdin, sys.stdout, sys.stderr = (os.fdopen(number, mode) for number, mode in enumerate("rww"))
    used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize() if on_linux() else 0
    for limit, most in (("AS", used + memory), ("FSIZE", 100_000_000), ("CORE", 0), ("NPROC", 0), ("CPU", 3600)):
        with_least(getattr(resource, f"RLIMIT_{limit}"), most)
    if os.geteuid() == 0:
        if on_linux():
            LIBC.unshare(0x4000_0000 | 0x0800_0000)  # a network and shared memory of its own, empty
        give_up_root(os.stat(folder).st_uid)
    end_with_parent()
    if on_linux():
        LIBC.prctl(38, 1, 0, 0, 0)  # no new privileges, as by sudo
        restrict_files(folder)


def give_up_root(user):
    """Become a user that owns nothing.

    Where Python itself is installed for root alone, the right to read all files is kept if Landlock then limits
    reading; without Landlock this process stays root, and `protection` will show it.
    """
    read_all = 0 if all(map(others_can_read, readable())) else 1 << 2  # CAP_DAC_READ_SEARCH
    if read_all and landlock_version() < 1:
        return
    if read_all:
        LIBC.prctl(8, 1, 0, 0, 0)  # keep capabilities for the moment
    os.setgroups([])
    os.setresgid(user, user, user)
    os.setresuid(user, user, user)
    if read_all:
        LIBC.capset(struct.pack("Ii", 0x2008_0522, 0), struct.pack("6I", read_all, read_all, 0, 0, 0, 0))


def others_can_read(path):
    """Whether any user can read a file or folder, if it exists."""
    path = Path(path).resolve()
    if not path.exists():
        return True
    return bool(path.stat().st_mode & 0o004) and all(parent.stat().st_mode & 0o001 for parent in path.parents)


def end_with_parent():
    if on_linux():
        LIBC.prctl(1, signal.SIGKILL, 0, 0, 0)


def on_linux():
    return sys.platform == "linux"


def with_least(limit, most):
    hard = resource.getrlimit(limit)[1]
    most = most if hard == resource.RLIM_INFINITY else min(most, hard)
    resource.setrlimit(limit, (most, most))


def restrict_files(folder):
    """Let Landlock refuse writing outside of a folder, reading outside of the libraries, TCP, and signals to others."""
    version = landlock_version()
    if version < 1:
        return
    files = RIGHTS[min(version, 5)]
    size = 24 if version >= 6 else 16 if version >= 4 else 8
    rules = LIBC.syscall(444, struct.pack("QQQ", files, 0b11, 0b11)[:size], size, 0)
    truncate = TRUNCATE if version >= 3 else 0
    allowed = {folder: files, os.devnull: READ | WRITE_FILE | truncate}
    allowed |= {str(path): READ for path in readable() if str(path) not in allowed}
    for path, rights in allowed.items():
        if os.path.exists(path):
            file = os.open(path, os.O_PATH | os.O_CLOEXEC)
            if not os.path.isdir(path):
                rights &= ~(1 << 3) & (1 << 0 | 1 << 1 | 1 << 2 | truncate)
            if LIBC.syscall(445, rules, 1, struct.pack("=Qi", rights, file), 0):
                raise OSError(ctypes.get_errno(), f"no rule for {path}")
            os.close(file)
    if LIBC.syscall(446, rules, 0):
        raise OSError(ctypes.get_errno(), "the files could not be locked")
    os.close(rules)


def landlock_version():
    """Return the version of Landlock's interface, -1 or 0 where there is none."""
    return LIBC.syscall(444, None, 0, 1) if on_linux() else 0


def readable():
    """Yield what a notebook has to read: the system, Python and the libraries, but nothing beside the checks."""
    yield from READABLE
    yield from map(sysconfig.get_path, ("stdlib", "platstdlib", "purelib", "platlib"))
    for name in PACKAGES:
        if spec := importlib.util.find_spec(name):
            package = Path(spec.origin).parent
            yield from (package, package.parent / "results", package.parent / f"{name}.libs")


# What a notebook might try. ``outside`` is a folder with a folder open to all and a secret file; a port listens.
ATTEMPTS = {
    "write outside of its temporary folder": lambda outside, port: outside.joinpath("open", "new").write_text("x"),
    "change a file of the grader": lambda outside, port: outside.joinpath("secret").open("a"),
    "read the checks or other notebooks": lambda outside, port: outside.joinpath("secret").read_text(),
    "start processes": lambda outside, port: os.fork() or os._exit(0),
    "use more memory than it may": lambda outside, port: bytearray(10**9),
    "open a TCP connection": lambda outside, port: socket.create_connection(("127.0.0.1", port), timeout=5),
    "send UDP packets": lambda outside, port: socket.socket(type=socket.SOCK_DGRAM).sendto(b"x", ("127.0.0.1", port)),
    "end the grader": lambda outside, port: os.kill(os.getppid(), 0),
}


def protection():
    """Try on this machine what a notebook might try; return the attempts as {what: whether it was stopped}."""
    return {what: is_stopped(attempt) for what, attempt in ATTEMPTS.items()}


def is_stopped(attempt):
    """Whether a process that is locked down fails in an attempt."""
    with (
        tempfile.TemporaryDirectory() as outside,
        tempfile.TemporaryDirectory() as folder,
        socket.socket() as listening,
    ):
        outside = Path(outside)
        outside.chmod(0o755)
        outside.joinpath("open").mkdir()
        outside.joinpath("open").chmod(0o777)
        outside.joinpath("secret").touch(0o600)
        listening.bind(("127.0.0.1", 0))
        listening.listen()
        port = listening.getsockname()[1]
        if os.geteuid() == 0:
            os.chown(folder, own_user(), own_user())
        if (process := os.fork()) == 0:
            status = 2
            try:
                lock_down(folder, 100_000_000)
                status = 1
                attempt(outside, port)
                status = 0
            finally:
                os._exit(status)
        status = os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])
    if status == 2:
        raise RuntimeError("A process could not be locked down on this machine, so no notebook may be run on it.")
    return status != 0
