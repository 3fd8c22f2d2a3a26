#!/usr/bin/env python3
"""The output directory: refused where it cannot be used, never at the cost of what lies there, owned by who called sudo."""
import hashlib
import json
import os
import subprocess

import harness as h

SHORT = ("--wait", 1, "--warmup", 1, "--active", 2)


def job():
    return h.torch_target(h.torch_python(), "lesson", gate=False).wait_attempts(3)


def digest(path):
    with open(path, "rb") as f:
        return hashlib.sha256(f.read()).hexdigest()


def refused(target, path, *words):
    run = h.tpbpf("-p", target.pid, "-o", path, *SHORT).exits(1)
    for word in words:
        h.check(word in run.err, "the message does not say %r: %r" % (word, run.err))
    h.check_unmodified(target.pid)
    return run


def not_empty():
    with h.scratch() as d:
        t = job()
        h.capture(t, d + "/out", *SHORT, open_gate=False)
        before = {f: digest(d + "/out/" + f) for f in ("trace.json.gz", "profile.json", "steps.csv", "cpu_ops.txt")}
        refused(t, d + "/out", d + "/out", "empty")
        h.equal({f: digest(d + "/out/" + f) for f in before}, before, "files of the earlier capture")
        os.mkdir(d + "/other")
        with open(d + "/other/.hidden", "w"):
            pass
        refused(t, d + "/other", "empty")
        h.equal(os.listdir(d + "/other"), [".hidden"], "files")


def empty_is_used():
    with h.scratch() as d:
        t = job()
        os.mkdir(d + "/out")
        h.check_output(h.capture(t, d + "/out", *SHORT, open_gate=False))


def default_name():
    with h.scratch() as d:
        t = job()
        h.tpbpf("-p", t.pid, *SHORT, cwd=d).exits(0)
        made = os.listdir(d)
        h.equal(len(made), 1, "directories made: %s" % made)
        prefix, stamp = made[0].rsplit("-", 1)
        h.equal(prefix, "tpbpf-%d" % t.pid, "name")
        h.check(len(stamp) == 16 and stamp[8] == "T" and stamp[15] == "Z", "time in the name %s" % made[0])
        h.check_output(h.Output(os.path.join(d, made[0])))


def not_a_directory():
    with h.scratch() as d:
        t = job()
        with open(d + "/file", "w") as f:
            f.write("precious")
        refused(t, d + "/file", d + "/file")
        refused(t, d + "/file/out")
        refused(t, d + "/missing/parents/out")
        h.equal(open(d + "/file").read(), "precious", "the file in place")
        os.symlink(d + "/elsewhere", d + "/dangling")
        refused(t, d + "/dangling")
        h.check(not os.path.exists(d + "/elsewhere"), "a directory was made through a link")


def mount(*args):
    made = subprocess.run(["mount", *args], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if made.returncode:
        h.skip("mount is not permitted here: %s" % made.stdout.strip())


def not_writable():
    with h.scratch() as d:
        t = job()
        os.mkdir(d + "/ro")
        mount("-t", "tmpfs", "-o", "ro,size=64k", "tmpfs", d + "/ro")
        try:
            refused(t, d + "/ro/out", d + "/ro/out")
            refused(t, d + "/ro", d + "/ro")
        finally:
            subprocess.run(["umount", d + "/ro"], check=True)


def full_file_system():
    """Sizes from nothing at all to nearly enough: refused or partial with the reason, and the earlier archive untouched."""
    with h.scratch() as d:
        t = job()
        os.mkdir(d + "/small")
        mount("-t", "tmpfs", "-o", "size=1m", "tmpfs", d + "/small")
        try:
            first = h.capture(t, d + "/small/first", *SHORT, open_gate=False)
            before = digest(first.trace_path)
            outcomes = []
            # pages left; tpbpf sets 32 aside, so that it can say in the end what became of the rest
            for room in (0, 1, 16, 31, 32, 33, 34, 35, 36, 37, 38, 40, 44):
                ballast = d + "/small/ballast"
                with open(ballast, "wb", buffering=0) as f:
                    try:
                        while True:
                            f.write(b"x" * 4096)
                    except OSError:
                        pass
                os.truncate(ballast, max(0, os.path.getsize(ballast) - room * 4096))
                path = "%s/small/out%d" % (d, room)
                run = h.tpbpf("-p", t.pid, "-o", path, *SHORT)
                outcomes.append(run.code)
                h.check(run.code in (0, 1, 3), "exit code %s with %d pages free: %s" % (run.code, room, run.err))
                if run.code:
                    h.check("space" in (run.err + run.out).lower(), "%d pages free: the reason is not shown: %s%s" % (room, run.out, run.err))
                if run.code == 3:
                    with open(path + "/profile.json") as f:
                        window = json.load(f)["window"]
                    h.equal((window["state"], window["stop_reason"]), ("partial", "output_error"), "state with %d pages free" % room)
                if run.code == 0:
                    h.check_output(h.Output(path))
                h.equal(digest(first.trace_path), before, "the earlier trace.json.gz")
                left = [f for _, _, fs in os.walk(path) for f in fs if f.endswith((".tmp", "~")) or f.startswith(".")]
                h.equal(left, [], "temporary files left with %d pages free" % room)
                h.check_unmodified(t.pid)
                subprocess.run(["rm", "-rf", path, ballast], check=True)
            h.check(any(outcomes), "the file system was never full: %s" % outcomes)
        finally:
            subprocess.run(["umount", d + "/small"], check=True)
        h.check(t.alive(), "the job ended")


def owned_by_who_called_sudo():
    with h.scratch() as d:
        t = job()
        os.chown(d, 54321, 54322)
        out = h.capture(t, d + "/out", "--keep-raw", *SHORT, open_gate=False,
                        env={"SUDO_UID": "54321", "SUDO_GID": "54322", "SUDO_USER": "nobody-here"})
        h.check_output(out)
        paths = [os.path.join(x, n) for x, ds, fs in os.walk(d + "/out") for n in ds + fs] + [d + "/out"]
        h.check(len(paths) >= 7, "files: %s" % paths)
        for p in paths:
            st = os.lstat(p)
            h.equal((st.st_uid, st.st_gid), (54321, 54322), "owner of " + p)
            h.check(not st.st_mode & 0o022, "%s is writable by others: %o" % (p, st.st_mode))


def nonsense_in_sudo_uid():
    """The environment is the caller's: what is no number changes no owner."""
    with h.scratch() as d:
        t = job()
        out = h.capture(t, d + "/out", *SHORT, open_gate=False, env={"SUDO_UID": "12x", "SUDO_GID": "-7"})
        h.check_output(out)
        h.equal(os.stat(out.trace_path).st_uid, 0, "owner")


def pending_while_it_lasts():
    """From the moment of attaching, profile.json says that a capture is under way."""
    with h.scratch() as d:
        t = job()
        run = h.Run("-p", t.pid, "-o", d + "/out", "--wait", 1000000).wait_attached()
        h.until(lambda: os.path.exists(d + "/out/profile.json"), "profile.json")
        for _ in range(20):
            with open(d + "/out/profile.json") as f:
                h.equal(json.load(f)["window"]["state"], "pending", "state")
        run.signal(2).wait().exits(3)


h.main(not_empty, empty_is_used, default_name, not_a_directory, not_writable, full_file_system, owned_by_who_called_sudo,
       nonsense_in_sudo_uid, pending_while_it_lasts)
