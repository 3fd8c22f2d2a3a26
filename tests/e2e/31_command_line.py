#!/usr/bin/env python3
"""Usage, wrong targets and `list`: each refusal has its exit code, one sentence that names what is wrong, and leaves no file."""
import os
import pwd
import re
import shutil
import subprocess

import harness as h

WRONG = ["1.5", "true", "-1", "", "99999999999999999999", "3x", "0x3", "nan"]


def refused(directory, words, *args):
    before = set(os.listdir(directory))
    run = h.tpbpf(*args, cwd=directory, seconds=20).exits(2)
    for word in words:
        h.check(word in run.err, "%s: the message does not name %s: %r" % (args, word, run.err))
    h.equal(run.out, "", "%s: stdout" % (args,))
    h.check("Traceback" not in run.err and len(run.err.strip().splitlines()) <= 4, "%s: more than a sentence: %r" % (args, run.err))
    h.equal(set(os.listdir(directory)), before, "%s: files made" % (args,))


def bad_numbers():
    with h.scratch() as d:
        for option in ("--active", "--warmup", "--wait", "--repeat", "--skip-first"):
            for value in WRONG:
                refused(d, [option], "-p", os.getpid(), "-o", "out", option, value)
                refused(d, [option], "-p", os.getpid(), "-o", "out", "%s=%s" % (option, value))
        for option in ("--active", "--warmup"):
            refused(d, [option], "-p", os.getpid(), "-o", "out", option, "0")
        for value in ("", "x", "-1", "true", "nan"):
            refused(d, ["--timeout"], "-p", os.getpid(), "-o", "out", "--timeout", value)
        for value in ("2", "-1", "true", ""):
            refused(d, ["--skip-first-wait"], "-p", os.getpid(), "-o", "out", "--skip-first-wait", value)


def bad_usage():
    with h.scratch() as d:
        refused(d, [], "-o", "out")
        refused(d, ["--nonsense"], "-p", os.getpid(), "--nonsense")
        refused(d, ["--active"], "-p", os.getpid(), "--active")
        for pid in ("", "x", "0", "-5", "1.5", "99999999999999999999"):
            refused(d, ["pid"], "-p", pid, "-o", "out")
        for step in ("", "nonsense", "range:", "op:", "symbol:", "symbol:x", "symbol:x:", "auto:x"):
            refused(d, ["--step"], "-p", os.getpid(), "-o", "out", "--step", step)
        refused(d, ["extra"], "-p", os.getpid(), "-o", "out", "extra")
        refused(d, ["-o"], "report", "capture.raw")
        refused(d, [], "report", "-o", "out")


def help_and_version():
    with h.scratch() as d:
        for args, words in ((["--help"], ["--active", "--warmup", "report", "list"]), (["--version"], ["tpbpf"])):
            run = h.tpbpf(*args, cwd=d).exits(0)
            for word in words:
                h.check(word in run.out, "%s does not say %s" % (args, word))
            h.equal(run.err, "", "stderr of %s" % args)
        h.equal(os.listdir(d), [], "files made")


def wrong_targets():
    with h.scratch() as d:
        gone = subprocess.Popen(["true"])
        gone.wait()
        plain = subprocess.Popen(["sleep", "60"])
        try:
            for pid, word in ((gone.pid, str(gone.pid)), (plain.pid, "PyTorch"), (2 ** 22 + 12345, str(2 ** 22 + 12345))):
                run = h.tpbpf("-p", pid, "-o", "out", cwd=d).exits(4)
                h.check(word in run.err, "pid %d: %r does not say %s" % (pid, run.err, word))
                h.equal((run.out, os.listdir(d)), ("", []), "stdout and files for pid %d" % pid)
        finally:
            plain.kill()
            plain.wait()


def a_zombie_is_no_target():
    with h.scratch() as d:
        zombie = subprocess.Popen(["true"])
        h.until(lambda: " Z " in open("/proc/%d/stat" % zombie.pid).read(), "a zombie")
        h.tpbpf("-p", zombie.pid, "-o", "out", cwd=d).exits(4)
        h.equal(os.listdir(d), [], "files made")
        zombie.wait()


def without_root():
    """Another user's job: refused with the reason."""
    python = h.torch_python()
    with h.scratch() as d:
        os.chmod(d, 0o777)
        tool = os.path.join(d, "tpbpf")
        subprocess.run(["cp", h.TPBPF, tool], check=True)
        t = h.torch_target(python, "lesson", gate=False)
        nobody = pwd.getpwnam("nobody")
        env = {"LD_LIBRARY_PATH": os.environ.get("LD_LIBRARY_PATH", "")}
        run = subprocess.run(["setpriv", "--reuid=%d" % nobody.pw_uid, "--regid=%d" % nobody.pw_gid, "--clear-groups", tool, "-p", str(t.pid), "-o", d + "/out"],
                             cwd=d, env={**os.environ, **env}, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=h.patience(60))
        h.equal(run.returncode, 5, "exit code: %s" % run.stderr)
        h.check("root" in run.stderr or "sudo" in run.stderr, "the message does not say what is needed: %r" % run.stderr)
        h.check(not os.path.exists(d + "/out"), "a directory was made")
        t.stop()


def list_shows_the_job():
    python = h.torch_python()
    plain = subprocess.Popen(["sleep", "60"])
    try:
        t = h.torch_target(python, "lesson", gate=False, env={"RANK": "3", "LOCAL_RANK": "1", "WORLD_SIZE": "8"})
        run = h.tpbpf("list").exits(0)
        rows = [line for line in run.out.splitlines() if str(t.pid) in line.split()]
        h.equal(len(rows), 1, "rows for the job in:\n%s" % run.out)
        words = rows[0].split()
        h.check("root" in words, "no user: %s" % rows[0])
        h.check("3" in words or "3/8" in words, "no rank: %s" % rows[0])
        h.check("8" in words or "3/8" in words, "no world size: %s" % rows[0])
        h.check("%d.%d" % h.version(python) in rows[0], "no PyTorch version %s: %s" % (python.version, rows[0]))
        h.check("lesson.py" in rows[0], "no command line: %s" % rows[0])
        h.check(str(plain.pid) not in run.out.split(), "a process without PyTorch is listed")
        t.stop()
        h.check(str(t.pid) not in h.tpbpf("list").exits(0).out.split(), "a process that ended is listed")
    finally:
        plain.kill()
        plain.wait()


def copies_to_another_machine():
    """What the program asks for at run time is on any machine that has libelf."""
    if os.environ.get("TPBPF_TEST_SANITIZED"):
        h.skip("a sanitizer needs its own libraries")
    readelf = shutil.which("readelf") or h.skip("no readelf")
    out = subprocess.run([readelf, "-d", h.TPBPF], stdout=subprocess.PIPE, text=True, check=True).stdout
    needed = set(re.findall(r"NEEDED.*\[(.*)\]", out))
    h.check(needed <= {"libc.so.6", "libelf.so.1", "libz.so.1", "ld-linux-x86-64.so.2"}, "needs %s" % sorted(needed))


h.main(copies_to_another_machine, bad_numbers, bad_usage, help_and_version, wrong_targets, a_zombie_is_no_target, without_root, list_shows_the_job)
