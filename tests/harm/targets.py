"""The rows of the matrix: what a target does while it is watched. Most do it all the time; some do a deed, once, when they are told.

A target tells after every attempt what it has computed so far, so that one unwatched run, however long, is what all watched runs of that
row are compared with, wherever they were stopped."""
import collections
import contextlib
import fcntl
import hashlib
import json
import os
import re
import shutil
import signal
import subprocess
import tempfile
import time

import harness as h
import standin_support as s

TORCH_ERRORS = 12  # an attempt
PATIENCE_S = 180  # for anything that should take moments; this suite is run beside others
CHILDREN = 3  # of the deeds fork and orphan, as in deeds.cpp
IN_THE_DEED = {"aten::linear": 3, "aten::t": 3, "aten::transpose": 3, "aten::as_strided": 3, "aten::mm": 3, "aten::addmm": 3}

Row = collections.namedtuple("Row", "name what args deed by status throws options flavour make step_us torch")


def row(name, what, *args, deed=None, by=None, status=None, throws=True, options=(), flavour="standin", make="plain", step_us=5000, torch=None):
    """deed: done when told. by: the target itself ("target"), we ("us"), or the target before anybody attaches ("before").
    status: of the target's own end, if the deed ends it. throws: calls are unwound, and how calls lie in each other is not compared."""
    return Row(name, what, args, deed, by, status, throws, tuple(options), flavour, make, step_us, torch)


WORK = ("--operators", 1)
SOME = (*WORK, "--throw-all", 1)
TICK = ("--step", "symbol:libtorch_cpu.so:standin_tick")

ROWS = [
    row("plain", "operators, ranges and memory", *WORK, throws=False),
    row("throws", "exceptions through every operator, range, node, function, guard and allocator report", *WORK, "--throw-all", 5,
        "--scaler", "cpu", "--throw", 9, options=("--exact",)),
    row("errors", "exceptions from deep within, caught in the frame of an operator, on three threads", *WORK, "--op-threads", 2,
        "--op-errors", 70, "--throw", 90),
    row("retries", "allocations on two devices that fail and are tried again smaller", "--operators", 4, "--device-memory", throws=False),
    row("threads", "160 threads an attempt that come, throw and go", *WORK, "--spawn-threads", 160),
    row("signals", "a timer signal every 0.3 ms, in probed instructions too", *SOME, "--timer-us", 300),
    row("stripped", "exceptions, in libraries with nothing but dynamic symbols", *WORK, "--throw-all", 3, flavour="standin-stripped"),
    row("old-abi", "exceptions, as PyTorch 2.4 with the old string ABI", *WORK, "--throw-all", 3, flavour="standin-2.4"),
    row("oldest", "exceptions, as PyTorch 1.13 with stack protector", *WORK, "--throw-all", 3, flavour="standin-1.13"),
    row("limits", "limits of 0 on files, their size, memory, locked memory, cores, processes, signals", *SOME, deed="limits", by="before"),
    row("seccomp", "a filter that kills at any system call it does not make by itself", *SOME, deed="seccomp", by="before"),
    row("seccomp-nop", "the same, with the step counted at a 5-byte nop, which newer kernels make a system call of", *SOME, deed="seccomp",
        by="before", options=TICK),
    row("chroot", "a root, a mount and a pid namespace of its own", *SOME, make="chroot"),
    row("fork", "forks in the middle of an operator; the children leave it, work on, and outlive tpbpf", *SOME, deed="fork", by="target"),
    row("orphan", "forks in the middle of an operator and ends; the children outlive it and tpbpf", *SOME, deed="orphan", by="target", status=0),
    row("exec", "execs in the middle of an operator", *SOME, deed="exec", by="target", status="exec"),
    row("exit", "exits in the middle of an operator", *SOME, deed="exit", by="target", status=7),
    row("abort", "aborts in the middle of an operator", *SOME, deed="abort", by="target", status=-signal.SIGABRT),
    row("segv", "writes to nowhere in the middle of an operator", *SOME, deed="segv", by="target", status=-signal.SIGSEGV),
    row("stopped", "is stopped with SIGSTOP, and goes on later", *SOME, deed="stop", by="us"),
    row("deleted", "its library is deleted under it", *SOME, deed="delete", by="us", make="copy"),
    row("replaced", "its library is replaced by another build under it", *SOME, deed="replace", by="us", make="copy"),
    row("dlclose", "gives the probed libraries up and loads them again", *SOME, deed="unload", by="target", make="host"),
    row("torch-errors", "PyTorch itself: shape errors, out of memory, errors in nodes", "--errors", TORCH_ERRORS, torch="retry", step_us=50000),
    row("torch-loader", "PyTorch itself: a DataLoader that forks its workers anew every two batches", "--batches", 2, torch="dataloader",
        step_us=50000),
]
BY_NAME = {r.name: r for r in ROWS}
ATTEMPT = '{"attempt"'  # how its line begins


# ---- one target ------------------------------------------------------------------------------------------------------


class Watched(h.Target):
    """A target whose lines are read as they come, and only once. Those of attempts are many and long: they are parsed when asked for."""

    def __init__(self, argv, **kw):
        self._read, self._rest, self._lines, self._rows, self._count, self._seen = 0, "", [], [], 0, 0
        super().__init__([str(a) for a in argv], gate=False, **kw)
        self.watched_pid = self.pid  # as the host sees it

    def lines(self):
        with open(self.out_path, "rb") as f:
            f.seek(self._read)
            new = f.read()
        self._read += len(new)
        parts = (self._rest + new.decode("utf-8", "replace")).split("\n")
        self._rest = parts.pop()
        self._lines += parts
        return self._lines

    def rows(self):
        """All but attempts."""
        self._look()
        return self._rows

    def count(self):
        """Attempts so far."""
        self._look()
        return self._count

    def _look(self):
        lines = self.lines()
        for line in lines[self._seen :]:
            if line.startswith(ATTEMPT):
                self._count += 1
            elif line.startswith("{"):
                self._rows.append(json.loads(line))
        self._seen = len(lines)

    def wait_more(self, n, seconds=PATIENCE_S):
        want = self.count() + n
        h.until(lambda: self.count() >= want or not self.alive(), "%d more attempts of the target" % n, seconds, 0.002)

    def attempts(self):
        """Those of the program that was watched; what an exec began is another."""
        lines = self.lines()
        ready = [i for i, line in enumerate(lines) if line.startswith("ready ")]
        end = ready[1] if len(ready) > 1 else len(lines)
        found, was_anew = [], False
        for line in lines[:end]:
            if line.startswith("{\"unloaded\""):
                was_anew = True
            elif line.startswith(ATTEMPT):
                found.append(json.loads(line))
                if was_anew:  # the range behind an attempt counts with the next one, which knows nothing of it here
                    found[-1]["begun"]["report"] = 1
                    was_anew = False
        return found

    def lives(self):
        """What was told after each attempt, apart for each time that it began anew."""
        found = [[]]
        for line in self.lines():
            if line.startswith("ready ") or line.startswith("{\"unloaded\""):
                found.append([])
            elif line.startswith(ATTEMPT):
                found[-1].append(told(json.loads(line)))
        return [life for life in found if life]

    def children(self):
        return [r["forked"] for r in self.rows() if "forked" in r]

    def thrown(self):
        lives = self.lives()
        return sum(life[-1][1] for life in lives) + sum(r["thrown"] for r in self.rows() if "child" in r)

    def clean(self):
        if os.path.exists(self.out_path):
            for pid in self.children():
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
        super().clean()


def told(attempt):
    if "loss" in attempt:  # of PyTorch
        return [attempt["loss"], 0]
    return [attempt["result"], attempt["thrown"], attempt["outcome"], attempt["begun"]]


def trigger_args(target_row, directory):
    return ("--deed", target_row.deed, "--trigger", directory + "/trigger") if target_row.by in ("target", "before") else ()


def start(target_row, directory, step_us=None):
    """A target of this row, running; directory is where it is told, and where it lives if it has a home of its own."""
    step_us = target_row.step_us if step_us is None else step_us
    if target_row.torch:
        interpreter = torch_of()
        t = Watched([interpreter.path, os.path.join(h.TARGETS, target_row.torch + ".py"), *target_row.args, "--pace-ms", step_us // 1000,
                     "--seconds", 600])
        return t
    args = [*target_row.args, "--step-us", step_us, *trigger_args(target_row, directory)]
    if target_row.by == "before":
        with open(directory + "/trigger", "w"):
            pass
    t = MAKERS[target_row.make](target_row, directory, args)
    if target_row.by == "before":
        h.until(lambda: "deed " + target_row.deed in t.lines() or not t.alive(), "the target has done %s" % target_row.deed)
        h.check(t.alive(), "the target ended: %s" % t.errors())
    return t


def plain(target_row, directory, args):
    return Watched([s.program(target_row.flavour), *args])


def copy(target_row, directory, args):
    s.built()
    home = directory + "/job"
    shutil.copytree(os.path.join(h.BUILD, target_row.flavour), home)
    return Watched([home + "/standin", *args])


def host(target_row, directory, args):
    s.built()
    return Watched([os.path.join(h.BUILD, target_row.flavour, "standin-host"), *args])


SETTLE = """
mount -t tmpfs tmpfs "$1" && cp -r "$2" "$1/job" && mkdir "$1/proc" && mount -t proc proc "$1/proc" || exit 97
for f in $(ldd "$2/standin" | sed -n 's/.*=> \\(\\/[^ ]*\\).*/\\1/p; s/^\\t\\(\\/[^ ]*\\) (.*/\\1/p' | grep -v torch); do
	mkdir -p "$1$(dirname "$f")" && cp -L "$f" "$1$f" || exit 97
done
inside=$1
shift 2
exec chroot "$inside" /job/standin "$@"
"""


def chroot(target_row, directory, args):
    own = ["unshare", "-p", "-m", "--fork", "--kill-child"]
    if subprocess.run([*own, "mount", "-t", "tmpfs", "tmpfs", "/mnt"], stderr=subprocess.DEVNULL).returncode:
        h.skip("no mount and pid namespaces here")
    inside = directory + "/inside"
    os.mkdir(inside)
    s.built()
    t = Watched([*own, "sh", "-c", SETTLE, "sh", inside, os.path.join(h.BUILD, target_row.flavour), *args], wait=False)
    h.until(lambda: "ready 1" in t.lines() or not t.alive(), "the target in its root is ready")
    h.check(t.alive(), "the target in its root ended: %s" % t.errors())
    with open("/proc/%d/task/%d/children" % (t.pid, t.pid)) as f:
        t.watched_pid = int(f.read().split()[0])
    return t


MAKERS = {"plain": plain, "copy": copy, "host": host, "chroot": chroot}


def torch_of():
    """The newest PyTorch at hand that is not a distribution's, or skip."""
    found = [i for i in h.interpreters() if h.version(i) >= (2, 0)]
    if not found:
        h.skip("no Python here imports torch 2 (tools/setup.sh provides one)")
    return max(found, key=h.version)


# ---- its deed --------------------------------------------------------------------------------------------------------


def do(target_row, target, directory):
    """Has the deed done. A target that ends by it may still be ending when this returns."""
    deed = target_row.deed
    if target_row.by == "target":
        with open(directory + "/trigger", "w"):
            pass
        if target_row.status is None:
            h.until(lambda: "deed " + deed in target.lines() or not target.alive(), "the target has done %s" % deed, seconds=PATIENCE_S, pause=0.002)
            h.check(target.alive(), "the target ended: %s" % target.errors())
        if deed == "unload":  # at the end of the attempt, and soon after that it has them again
            h.until(lambda: any("unloaded" in r for r in target.rows()) or not target.alive(), "the target gives its libraries up",
                    PATIENCE_S, 0.002)
            h.until(lambda: h.libraries_mapped(target.watched_pid) or not target.alive(), "the target loads its libraries again",
                    PATIENCE_S, 0.002)
    elif deed == "stop":
        os.kill(target.watched_pid, signal.SIGSTOP)
        h.until(lambda: state_of(target.watched_pid) == "T", "the target is stopped", pause=0.001)
    elif deed in ("delete", "replace"):
        path = directory + "/job/torch/lib/libtorch_cpu.so"
        if deed == "replace":
            shutil.copy(os.path.join(h.BUILD, "standin-1.13/torch/lib/libtorch_cpu.so"), path + ".new")
            os.rename(path + ".new", path)
        else:
            os.unlink(path)


def undo(target_row, target):
    if target_row.deed == "stop":
        os.kill(target.watched_pid, signal.SIGCONT)


def state_of(pid):
    with open("/proc/%d/stat" % pid) as f:
        return f.read().rsplit(")", 1)[1].split()[0]


# ---- what it computes when nobody looks ------------------------------------------------------------------------------


def reference_dir():
    return os.environ["TPBPF_HARM_REFERENCES"]


def cached(key, good, make):
    """make() once for all cells, unless what is there is not good for this one."""
    path = os.path.join(reference_dir(), hashlib.sha256(repr(key).encode()).hexdigest()[:16])
    with open(path + ".lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        value = None
        if os.path.exists(path):
            with open(path) as f:
                value = json.load(f)
        if value is None or not good(value):
            value = make(value)
            with open(path + ".new", "w") as f:
                json.dump(value, f)
            os.rename(path + ".new", path)
        return value


def alone(target_row, attempts):
    """What an unwatched run tells after each of so many attempts."""

    def run(before):
        n = max(attempts + 50, 2 * len(before) if before else 100)
        if target_row.torch:
            t = Watched([torch_of().path, os.path.join(h.TARGETS, target_row.torch + ".py"), *target_row.args, "--pace-ms", 0, "--seconds", 600,
                         "--attempts", n])
        else:
            t = Watched([s.program(target_row.flavour), *target_row.args, "--step-us", 0, "--attempts", n])
        t.finish(2 * PATIENCE_S)
        lives = t.lives()
        t.clean()
        h.equal([len(life) for life in lives], [n], "attempts of the unwatched run")
        return lives[0]

    return cached((target_row.args, target_row.flavour, target_row.torch), lambda v: len(v) >= attempts, run)


def children_alone(target_row):
    """{seed: [checksum, exceptions]} of the children of an unwatched run."""

    def run(_):
        directory = tempfile.mkdtemp(prefix="tpbpf-harm-")
        for name in ("trigger", "trigger.release"):
            with open(os.path.join(directory, name), "w"):
                pass
        t = Watched([s.program(target_row.flavour), *target_row.args, "--step-us", 5000, "--deed", "fork", "--trigger", directory + "/trigger",
                     "--attempts", 20])
        t.finish(PATIENCE_S)
        found = {str(r["seed"]): [r["checksum"], r["thrown"]] for r in t.rows() if "child" in r}
        t.clean()
        shutil.rmtree(directory)
        h.equal(len(found), CHILDREN, "children of the unwatched run")
        return found

    return cached(("children", target_row.args, target_row.flavour), lambda v: True, run)


def is_as_alone(target_row, target):
    """Attempt by attempt, each time that it began anew; and what the children computed."""
    lives = target.lives()
    h.check(lives, "the target has ended no attempt")
    want = alone(target_row, max(map(len, lives)))
    for life in lives:
        for i, (got, wanted) in enumerate(zip(life, want)):
            h.equal(got, wanted, "what the target computed in %d attempts, watched and unwatched" % (i + 1))
    if target.children():
        found = {str(r["seed"]): [r["checksum"], r["thrown"]] for r in target.rows() if "child" in r}
        h.equal(found, children_alone(target_row), "what the children computed")


def stop(target_row, target, directory):
    """Lets the children go on, ends the target in order, and sees that all of them have ended well."""
    with open(directory + "/trigger.release", "w"):
        pass
    if target_row.status in (None, "exec"):
        with contextlib.suppress(ProcessLookupError):
            os.kill(target.watched_pid, signal.SIGTERM)
        h.check(target.finish(PATIENCE_S), "the target has not said that it is done")
    children = target.children()
    h.until(lambda: sum("child" in r for r in target.rows()) >= len(children) or not any(alive(pid) for pid in children),
            "the children are done")
    for pid in children:
        h.until(lambda: not alive(pid), "child %d has ended" % pid)
    h.equal([r["status"] for r in target.rows() if "status" in r], [0] * len(children) if target_row.deed == "fork" else [],
            "how the children ended")
    if target_row.torch == "dataloader":
        done = next(r for r in target.rows() if r.get("done"))
        h.equal((done["disorder"], done["bad_exits"]), (0, []), "order of the data and the workers' exit codes")


def alive(pid):
    try:
        return state_of(pid) not in "ZX"
    except (FileNotFoundError, ProcessLookupError):
        return False
