#!/usr/bin/env python3
"""A raw capture gives the same outputs again, without privileges; a damaged one gives a message, never a crash."""
import os
import random
import shutil
import subprocess

import harness as h
import standin_support as s

MUTATIONS = int(os.environ.get("TPBPF_TEST_MUTATIONS", 500))


def raw_capture(d, *args, code=0, plan=("--wait", 2, "--warmup", 2, "--active", 3)):
    t = s.standin("--step-us", 3000, *args)
    out = h.capture(t, d + "/out", *plan, "--keep-raw", code=code)
    t.stop()
    h.check(os.path.getsize(out.path + "/capture.raw") > 0, "capture.raw is empty")
    return out


def report(raw, path, user=None):
    prefix = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"] if user else []
    return subprocess.run([*prefix, h.TPBPF, "report", raw, "-o", path], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, timeout=h.patience(60))


def comparable(profile):
    """Without what the second run has of its own: its command line, and files whose size that changes."""
    files = {f["name"]: f["size_bytes"] for f in profile["files"] if f["name"] not in ("capture.raw", "profile.json")}
    return {**profile, "tool": {**profile["tool"], "command_line": None}, "files": files}


def same_outputs(first, raw, path, code=0):
    done = report(raw, path)
    h.equal(done.returncode, code, "exit code of report; it says %r" % done.stderr)
    second = h.Output(path)
    h.equal(second.trace, first.trace, "trace")
    h.equal(second.table_text, first.table_text, "cpu_ops.txt")
    h.equal(second.steps, first.steps, "steps.csv")
    h.equal(comparable(second.profile), comparable(first.profile), "profile.json")
    return second


def replayed():
    with h.scratch() as d:
        first = raw_capture(d, "--nested", "--leak-ranges", "--cross-thread-end", "--threads", 3, "--scaler", "fused", "--overflow-every", 3)
        same_outputs(first, d + "/out/capture.raw", d + "/again")


def hostile_names_replayed():
    with h.scratch() as d:
        same_outputs(raw_capture(d, "--hostile-names"), d + "/out/capture.raw", d + "/again")


def partial_replayed():
    """The target ended in the window: the same state, reason and exit code."""
    with h.scratch() as d:
        t = s.standin("--step-us", 20000, "--exit-at", 8)
        first = h.capture(t, d + "/out", "--wait", 2, "--warmup", 2, "--active", 50, "--keep-raw", code=3)
        same_outputs(first, d + "/out/capture.raw", d + "/again", code=3)


def without_privileges():
    with h.scratch() as d:
        raw_capture(d)
        os.chmod(d, 0o777)
        tool = d + "/tpbpf"  # the tree it was built in need not be open to others
        shutil.copy(h.TPBPF, tool)
        shutil.copy(d + "/out/capture.raw", d + "/raw")
        os.chmod(d + "/raw", 0o644)
        done = subprocess.run(["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", tool, "report", d + "/raw", "-o", d + "/again"],
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=h.patience(60))
        h.equal(done.returncode, 0, "exit code of report; it says %r" % done.stderr)
        h.equal(os.stat(d + "/again/profile.json").st_uid, 65534, "owner of the files")


def mutated(raw, rng):
    data = bytearray(raw)
    kind = rng.randrange(7)
    at = rng.randrange(len(data))
    if kind == 0:
        del data[at:]
    elif kind == 1:
        data[at] ^= 1 << rng.randrange(8)
    elif kind == 2:
        data[at : at + 4] = rng.choice([b"\xff" * 4, b"\0" * 4, b"\0\0\0\x80", b"\xff\xff\xff\x7f"])
    elif kind == 3:
        for _ in range(rng.randrange(1, 64)):
            data[rng.randrange(len(data))] = rng.randrange(256)
    elif kind == 4:
        del data[at : at + rng.randrange(1, 64)]
    elif kind == 5:
        data[at:at] = data[at : at + rng.randrange(1, 256)]
    else:  # the first bytes steer the most
        data[rng.randrange(min(512, len(data)))] = rng.choice([0, 1, 0x7F, 0x80, 0xFF, rng.randrange(256)])
    return bytes(data)


def check_survives(data, d, what):
    path = d + "/garbled"
    with open(d + "/garbled.raw", "wb") as f:
        f.write(data)
    try:
        done = report(d + "/garbled.raw", path)
    except subprocess.TimeoutExpired:
        raise h.Failure("report hangs on " + what) from None
    h.check(done.returncode in (0, 1, 3), "report on %s ended with %d: %r" % (what, done.returncode, done.stderr[-1000:]))
    h.check(b"Sanitizer" not in done.stderr and b"runtime error" not in done.stderr, "report on %s: %r" % (what, done.stderr[-2000:]))
    if done.returncode == 1:
        h.check(done.stderr.strip(), "report on %s failed without a word" % what)
    else:
        h.Output(path)  # valid files
        with open(path + "/profile.json", "rb") as f:
            s.strict_json(f.read())
    shutil.rmtree(path, ignore_errors=True)
    return done.returncode


def garbled():
    with h.scratch() as d:
        raw_capture(d, "--nested", "--hostile-names", plan=("--wait", 1, "--warmup", 1, "--active", 2))
        with open(d + "/out/capture.raw", "rb") as f:
            raw = f.read()
        rng = random.Random(3)
        for i in range(MUTATIONS):
            data = mutated(raw, rng)
            try:
                check_survives(data, d, "mutation %d of %d" % (i, MUTATIONS))
            except h.Failure:
                keep = os.path.join(h.BUILD, "garbled-%d.raw" % i)
                with open(keep, "wb") as f:
                    f.write(data)
                print("kept as " + keep)
                raise


def cut_short():
    """What ends early is not called complete: exit code 1 or 3, wherever it was cut."""
    with h.scratch() as d:
        raw_capture(d, plan=("--wait", 1, "--warmup", 1, "--active", 2))
        with open(d + "/out/capture.raw", "rb") as f:
            raw = f.read()
        for part in (0, 1, 7, 8, 16, 64, len(raw) // 4, len(raw) // 2, len(raw) * 3 // 4, len(raw) - 1):
            code = check_survives(raw[:part], d, "the first %d of %d bytes" % (part, len(raw)))
            h.check(code in (1, 3), "the first %d of %d bytes gave exit code %d" % (part, len(raw), code))


def not_a_capture():
    with h.scratch() as d:
        for what, data in (("text", b"hello\n" * 100), ("zeros", b"\0" * 4096), ("noise", random.Random(1).randbytes(65536))):
            h.equal(check_survives(data, d, what), 1, "exit code on " + what)
        h.equal(report(d + "/absent", d + "/out").returncode, 1, "exit code on no file")
        h.equal(report(d, d + "/out").returncode, 1, "exit code on a directory")


h.main(replayed, hostile_names_replayed, partial_replayed, without_privileges, garbled, cut_short, not_a_capture)
