"""Runs tpbpf as another user, with some capabilities and no others; and says which ones a process has."""
import os
import re
import shutil
import subprocess

import harness as h
import standin_support as s

USER, OTHER = 54321, 54322  # who calls tpbpf, whose job it is

NUMBERS = {"dac_override": 1, "dac_read_search": 2, "sys_ptrace": 19, "sys_admin": 21, "sys_nice": 23, "perfmon": 38, "bpf": 39,
           "checkpoint_restore": 40}
FOUR = ("bpf", "perfmon", "sys_ptrace", "dac_read_search")


def mask(*names):
    return sum(1 << NUMBERS[name] for name in names)


def need_setpriv():
    if not shutil.which("setpriv"):
        h.skip("no setpriv (util-linux)")
    with open("/proc/self/status") as f:
        held = int(re.search(r"^CapPrm:\t(\w+)", f.read(), re.M).group(1), 16)
    lacking = [name for name in FOUR if not held & mask(name)]
    if lacking:
        h.skip("this root does not hold %s itself" % ", ".join(lacking))


def with_only(*names, uid=USER):
    """What to put in front of a command."""
    need_setpriv()
    caps = ",".join(["-all"] + ["+" + name for name in names])
    return ["setpriv", "--reuid=%d" % uid, "--regid=%d" % uid, "--clear-groups", "--inh-caps=" + caps, "--ambient-caps=" + caps,
            "--bounding-set=" + caps]


def is_sanitized():
    """Such a build looks into itself by ptrace at its end: it can be traced by nobody else, and is open to its user."""
    with open(h.TPBPF, "rb") as f:
        return b"__asan_init" in f.read()


def installed(directory):
    """The program where any user can run it: the repository may lie where only root can look."""
    path = os.path.join(directory, "tpbpf")
    if not os.path.exists(path):
        shutil.copy(h.TPBPF, path)
        os.chmod(path, 0o755)
    return path


def places(directory):
    """A directory for each of the two users."""
    for name, uid in (("mine", USER), ("theirs", OTHER)):
        path = os.path.join(directory, name)
        os.mkdir(path)
        os.chown(path, uid, uid)
    return os.path.join(directory, "mine"), os.path.join(directory, "theirs")


class Run(h.Run):
    """One tpbpf of that user."""

    def __init__(self, directory, *args, caps=FOUR, uid=USER, before=(), **kw):
        tool, h.TPBPF = h.TPBPF, installed(directory)
        try:
            super().__init__(*args, prefix=[*before, *with_only(*caps, uid=uid)], **kw)
        finally:
            h.TPBPF = tool


def run(directory, *args, seconds=h.USER, **kw):
    return Run(directory, *args, **kw).wait(seconds)


def status(pid):
    with open("/proc/%d/status" % pid) as f:
        return dict(line.rstrip("\n").split(":\t", 1) for line in f if ":\t" in line)


def capabilities_of(found):
    """(in force, held, inheritable, ambient)"""
    return tuple(int(found[key], 16) for key in ("CapEff", "CapPrm", "CapInh", "CapAmb"))


def capabilities(pid):
    return capabilities_of(status(pid))


def private_standin(directory, uid=OTHER):
    """A copy of the stand-in whose files only its user can read."""
    path = os.path.join(directory, "private")
    shutil.copytree(os.path.dirname(s.program()), path)
    for d, _, files in os.walk(path):
        for name in [d] + [os.path.join(d, f) for f in files]:
            os.chown(name, uid, uid)
    os.chmod(path, 0o700)
    return os.path.join(path, "standin")


def owners(directory):
    return {(os.lstat(p).st_uid, os.lstat(p).st_gid) for d, ds, fs in os.walk(directory) for p in [d] + [os.path.join(d, n) for n in ds + fs]}


def without_capabilities(argv, uid, **kw):
    """A plain process of a user."""
    need_setpriv()
    return subprocess.run(["setpriv", "--reuid=%d" % uid, "--regid=%d" % uid, "--clear-groups", *argv], stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, timeout=h.patience(), **kw)
