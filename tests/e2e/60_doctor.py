#!/usr/bin/env python3
"""`tpbpf doctor`: what it says is so, as root, as nobody, with some capabilities, in containers; and it does nothing to the job."""
import os
import re
import shutil
import subprocess

import harness as h
import rights_support as r
import standin_support as s

NEEDED = ("CAP_BPF", "CAP_PERFMON")
NAMES = ("kernel", "BTF", "CAP_BPF", "CAP_PERFMON", "CAP_SYS_PTRACE", "CAP_DAC_READ_SEARCH", "CAP_CHECKPOINT_RESTORE", "CAP_SYS_NICE",
         "CAP_SYS_ADMIN", "CAP_SYS_RESOURCE", "kernel settings", "lockdown", "locked memory", "open files", "user namespace", "pid namespace",
         "bpf()", "trial")
TRIED = ("uprobe_multi", "attach one by one", "cost of a hit")
CATALOG = ("range enter", "range exit", "gradient unscale", "gradient scale update", "autograd node", "guard end", "sequence number",
           "CPU allocation", "CPU free", "device memory", "compiled region", "torch.ops call", "autograd.Function")


class Told:
    """The lines, by name."""

    def __init__(self, text):
        self.text, self.rows = text, {}
        for line in text.splitlines():
            found = re.match(r"^(ok|note|missing|unknown) {1,8}(\S.{25}\S*) (\S.*)$", line)
            if found:
                name = found.group(2).rstrip()
                h.check(name not in self.rows, "two lines for %r:\n%s" % (name, text))
                self.rows[name] = (found.group(1), found.group(3))

    def verdict(self, name):
        h.check(name in self.rows, "no line for %r:\n%s" % (name, self.text))
        return self.rows[name][0]

    def words(self, name):
        self.verdict(name)
        return self.rows[name][1]

    def missing(self):
        return sorted(name for name, (verdict, _) in self.rows.items() if verdict == "missing")

    def end(self):
        lines = [line for line in self.text.splitlines() if line.startswith(("everything that", "a capture cannot"))]
        h.equal(len(lines), 1, "closing lines:\n%s" % self.text)
        return lines[0]


def check_end(told, code, works=0):
    """The exit code, the closing line and the lines say the same."""
    missing = told.missing()
    h.equal(code == works, not missing, "exit code %d with %s missing" % (code, missing))
    if missing:
        said = told.end()
        h.check(all(name in said for name in missing), "the closing line does not name %s: %s" % (missing, said))
    else:
        h.check(told.end().startswith("everything that a capture needs works here"), "closing line: %s" % told.end())
    for verdict in ("note", "unknown"):
        count = sum(v == verdict for v, _ in told.rows.values())
        words = {"note": r"(\d+) notes? sa", "unknown": r"(\d+) could not be"}[verdict]
        found = re.search(words, told.end())
        h.equal(int(found.group(1)) if found else 0, count, "%s lines" % verdict)


def as_root(*args, **kw):
    run = h.tpbpf("doctor", *args, **kw)
    return Told(run.out), run


def as_user(d, *args, caps=(), **kw):
    run = r.run(d, "doctor", *args, caps=caps, **kw)
    return Told(run.out), run


def can_capture():
    """What a capture itself comes to is what the doctor must say."""
    with h.scratch() as d:
        t = s.standin("--step-us", 3000, gate=False).wait_attempts(2)
        code = h.tpbpf("-p", t.pid, "-o", d + "/out", "--wait", 1, "--warmup", 1, "--active", 2, "--activities", "ranges").code
        h.check(code in (0, 5), "exit code %d of a capture" % code)
        return code == 0


def root():
    told, run = as_root()
    for name in NAMES:
        told.verdict(name)
    check_end(told, run.code)
    h.equal(run.code, 0 if can_capture() else 5, "exit code, and that of a capture")
    if run.code == 0:
        for name in TRIED:
            told.verdict(name)
        if told.verdict("uprobe_multi") == "ok":
            cost = re.match(r"(\d+\.\d+) us", told.words("cost of a hit"))
            h.check(cost and 0.05 < float(cost.group(1)) < 1000, "cost of a hit: %s" % told.words("cost of a hit"))
    h.check(os.uname().release in told.words("kernel"), "kernel: %s" % told.words("kernel"))


def lists_jobs():
    t = s.standin("--step-us", 3000, gate=False).wait_attempts(2)
    run = h.tpbpf("doctor")
    h.check(any(line.split()[:1] == [str(t.pid)] for line in run.out.splitlines()), "the job is not listed:\n%s" % run.out)


def nobody():
    """Says what is missing, what could not be looked at, and that sudo is the mend."""
    with h.scratch() as d:
        told, run = as_user(d)
        run.exits(5)
        for name in NAMES:
            told.verdict(name)
        h.equal(told.missing(), sorted([*NEEDED, "bpf()", "trial"]), "what is missing")
        for name in NEEDED:
            h.check("run as root" in told.words(name), "no mend for %s: %s" % (name, told.words(name)))
        check_end(told, run.code)
        h.check("sudo tpbpf doctor" in run.out, "sudo is not named:\n%s" % run.out)
        h.check("error" not in run.err, "more than the lines is said: %s" % run.err)


def each_capability_by_its_absence():
    """One after the other is taken from a user that holds all; what is said to be lost is lost, and nothing else is said to be."""
    rows = {"bpf": "CAP_BPF", "perfmon": "CAP_PERFMON", "sys_ptrace": "CAP_SYS_PTRACE", "dac_read_search": "CAP_DAC_READ_SEARCH",
            "checkpoint_restore": "CAP_CHECKPOINT_RESTORE", "sys_nice": "CAP_SYS_NICE"}
    with h.scratch() as d:
        for taken in [None, *rows]:
            told, run = as_user(d, caps=[name for name in rows if name != taken])
            for name, row in rows.items():
                want = "ok" if name != taken else "missing" if row in NEEDED else "note"
                h.equal(told.verdict(row), want, "%s without %s" % (row, taken))
            works = taken not in ("bpf", "perfmon")
            h.equal(run.code, 0 if works and h.has_bulk() else 5, "exit code without %s:\n%s" % (taken, run.out))
            h.equal(told.verdict("CAP_SYS_ADMIN"), "note", "CAP_SYS_ADMIN")
            if works and not h.has_bulk():
                h.equal(told.missing(), ["attach one by one"], "what is missing without CAP_SYS_ADMIN")
            check_end(told, run.code)


def one_does_for_others():
    with h.scratch() as d:
        told, run = as_user(d, caps=("sys_admin",))
        for name in ("CAP_BPF", "CAP_PERFMON", "CAP_CHECKPOINT_RESTORE"):
            h.check(told.verdict(name) == "ok" and "CAP_SYS_ADMIN does it" in told.words(name), "%s: %s" % (name, told.words(name)))
        check_end(told, run.code)
        h.equal(told.verdict("trial"), "ok", "the trial")


def forbidden_by_a_filter():
    """As in a container whose profile forbids bpf(): root, and yet not."""
    python = shutil.which("python3") or h.skip("no python3")
    with h.scratch() as d:
        with open(d + "/confine.py", "w") as f:
            f.write(CONFINE)
        run = h.tpbpf("doctor", prefix=[python, d + "/confine.py"])
        told = Told(run.out)
        run.exits(5)
        h.equal(told.missing(), ["bpf()", "trial"], "what is missing")
        h.check("seccomp" in told.words("bpf()"), "the filter is not named: %s" % told.words("bpf()"))
        check_end(told, run.code)


CONFINE = '''
import ctypes, os, struct, sys
libc = ctypes.CDLL(None, use_errno=True)
EPERM, BPF, X86_64 = 1, 321, 0xC000003E
def op(code, jt, jf, k): return struct.pack("HBBI", code, jt, jf, k)
program = b"".join([op(0x20, 0, 0, 0), op(0x15, 0, 1, BPF), op(0x06, 0, 0, 0x00050000 | EPERM), op(0x06, 0, 0, 0x7FFF0000)])
class Filter(ctypes.Structure): _fields_ = [("len", ctypes.c_ushort), ("filter", ctypes.c_char_p)]
filter = Filter(len(program) // 8, program)
if libc.prctl(22, 2, ctypes.byref(filter), 0, 0): sys.exit("prctl: %d" % ctypes.get_errno())
os.execv(sys.argv[1], sys.argv[1:])
'''


def in_a_user_namespace():
    """Root there holds every capability, and none is worth anything to bpf()."""
    with h.scratch() as d:
        tool = r.installed(d)
        before = ["unshare", "--user", "--map-root-user"]
        if not shutil.which("unshare") or subprocess.run([*before, "true"], stderr=subprocess.DEVNULL).returncode:
            h.skip("no user namespace can be made here")
        done = subprocess.run([*before, tool, "doctor"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=h.patience())
        told = Told(done.stdout)
        h.equal(done.returncode, 5, "exit code:\n%s" % done.stdout)
        h.check("user namespace" in told.missing() and "trial" in told.missing(), "missing: %s" % told.missing())
        check_end(told, done.returncode)


def in_a_pid_namespace():
    """A container that may probe: only the jobs in it are seen."""
    before = ["unshare", "--pid", "--fork", "--mount-proc"]
    if not shutil.which("unshare") or subprocess.run([*before, "true"], stderr=subprocess.DEVNULL).returncode:
        h.skip("no pid namespace can be made here")
    told, run = as_root(prefix=before)
    h.equal(told.verdict("pid namespace"), "note", "the pid namespace")
    check_end(told, run.code)


# ---- a job -----------------------------------------------------------------------------------------------------------


def the_stand_in():
    """Every row of the catalogue; what a build lacks is what is said to be lost. The job is as it was, and may be captured meanwhile."""
    t = s.standin("--step-us", 3000, gate=False).wait_attempts(2)
    told, run = as_root("-p", t.pid)
    run.exits(0)
    h.check_unmodified(t.pid)
    check_end(told, run.code)
    for name in ("job", "PyTorch", "layout of tensors", "layout of nodes", "libtorch_cpu", "libtorch_python", "libc10", *CATALOG, "operators",
                 "shadow stack"):
        h.equal(told.verdict(name), "ok", name)
    h.check("2.13.0+standin" in told.words("PyTorch") and "with .symtab" in told.words("libtorch_cpu"), told.text)
    h.check(str(t.pid) in told.words("job"), "the job: %s" % told.words("job"))
    t.stop()


def a_stripped_build():
    t = s.standin("--step-us", 3000, flavour="standin-stripped", gate=False).wait_attempts(2)
    told, run = as_root("-p", t.pid)
    run.exits(0)
    h.check("stripped" in told.words("libtorch_cpu"), told.words("libtorch_cpu"))
    for name in ("autograd.Function", "torch.ops call"):
        h.check(told.verdict(name) == "note" and "lost:" in told.words(name), "%s: %s" % (name, told.words(name)))
    check_end(told, run.code)


def older_builds():
    for flavour, version in (("standin-2.4", "2.4"), ("standin-1.13", "1.13")):
        t = s.standin("--step-us", 3000, flavour=flavour, gate=False).wait_attempts(2)
        told, run = as_root("-p", t.pid)
        run.exits(0)
        h.check(told.words("PyTorch").startswith(version) and told.verdict("PyTorch") == "ok", told.words("PyTorch"))
        check_end(told, run.code)


def a_step_that_is_not_there():
    t = s.standin("--step-us", 3000, gate=False).wait_attempts(2)
    told, run = as_root("-p", t.pid, "--step", "op:no_such_operator")
    run.exits(5)
    h.equal(told.missing(), ["attempts"], "what is missing")
    check_end(told, run.code)


def a_library_that_was_deleted():
    with h.scratch() as d:
        program = r.private_standin(d, 0)
        t = s.standin("--step-us", 3000, path=program, gate=False).wait_attempts(2)
        shutil.rmtree(os.path.dirname(program) + "/torch/lib")
        told, run = as_root("-p", t.pid)
        run.exits(0)
        h.check("deleted since" in told.words("libtorch_cpu"), told.words("libtorch_cpu"))


def a_stopped_job():
    t = s.standin("--step-us", 3000, gate=False).wait_attempts(2)
    t.process.send_signal(19)
    h.until(lambda: r.status(t.pid)["State"].startswith("T"), "the job is stopped")
    told, run = as_root("-p", t.pid)
    h.equal(told.verdict("state"), "note", "a stopped job")
    t.process.send_signal(18)
    run.exits(0)


def no_job():
    """The exit codes are those of a capture."""
    plain = subprocess.Popen(["sleep", "60"])
    gone = subprocess.Popen(["true"])
    gone.wait()
    try:
        for pid, word in ((gone.pid, "no such process"), (plain.pid, "no PyTorch process")):
            told, run = as_root("-p", pid)
            run.exits(4)
            h.check("job" in told.missing() and word in told.words("job"), told.text)
    finally:
        plain.kill()
        plain.wait()


def somebody_elses_job():
    """As a plain user: it may not be looked into, which is not the same as being no job."""
    with h.scratch() as d:
        t = s.standin("--step-us", 3000, gate=False, user=r.OTHER).wait_attempts(2)
        told, run = as_user(d, "-p", t.pid)
        run.exits(5)
        h.check("may not be looked into" in told.words("job") and "sudo" in told.words("job"), told.words("job"))
        told, run = as_user(d, "-p", t.pid, caps=r.FOUR)
        run.exits(0 if h.has_bulk() else 5)  # one by one takes CAP_SYS_ADMIN
        h.equal(told.verdict("libtorch_cpu"), "ok", "the library of another user's job")


def pytorch_itself():
    python = h.torch_python()
    t = h.torch_target(python, "lesson", gate=False).wait_attempts(2)
    told, run = as_root("-p", t.pid, seconds=240)
    run.exits(0)
    h.check_unmodified(t.pid)
    check_end(told, run.code)
    h.check(told.words("PyTorch").startswith(python.version), "PyTorch: %s" % told.words("PyTorch"))
    operators = int(told.words("operators").split()[0])
    h.check(operators > 1000, "operators: %s" % told.words("operators"))


h.main(root, lists_jobs, nobody, each_capability_by_its_absence, one_does_for_others, forbidden_by_a_filter, in_a_user_namespace,
       in_a_pid_namespace, the_stand_in, a_stripped_build, older_builds, a_step_that_is_not_there, a_library_that_was_deleted, a_stopped_job,
       no_job, somebody_elses_job, pytorch_itself)
