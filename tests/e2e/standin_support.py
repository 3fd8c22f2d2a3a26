"""The stand-in target: start it, run it unwatched, and compare a capture with its own counts."""
import collections
import contextlib
import fcntl
import functools
import json
import os
import shutil
import subprocess

import harness as h

FLAVOURS = ("standin", "standin-stripped", "standin-2.4", "standin-1.13")
STEP = "Optimizer.step#SGD.step"


@functools.lru_cache(maxsize=None)
def built():
    """Builds what is not built yet; a test that is run alone finds a stand-in too."""
    if not shutil.which("make") or not shutil.which("g++"):
        h.skip("the stand-in target needs make and g++ (tools/setup.sh)")
    make = ["make", "-s", "-f", os.path.join(h.TARGETS, "standin", "standin.mk"), "BUILD=" + os.path.relpath(h.BUILD, h.ROOT)]
    make.append("standin")
    with open(os.path.join(h.BUILD, ".standin.lock"), "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        done = subprocess.run(make, cwd=h.ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    h.check(done.returncode == 0, "the stand-in does not build: " + done.stdout[-2000:])
    return h.BUILD


def program(flavour="standin"):
    return os.path.join(built(), flavour, "standin")


def standin(*args, flavour="standin", path=None, **kw):
    return h.Target([path or program(flavour), *map(str, args)], **kw)


def unwatched(*args, flavour="standin"):
    """What the same command line does when nobody looks."""
    return standin(*args, flavour=flavour, gate=False, wait=False).finish(300)


def same_result(watched, alone):
    for key in alone:
        h.equal(watched[key], alone[key], "the target's %s, watched and unwatched" % key)


def begun(rows):
    total = collections.Counter()
    for row in rows:
        total.update(row["begun"])
    return dict(total)


def active_truth(out, target, first=0):
    """The target's rows of the active attempts."""
    rows = h.match_attempts(out, target, first)
    return [row for row, step in zip(rows, out.steps) if step.phase == "active"]


def without_steps(counts):
    return {name: n for name, n in counts.items() if not name.startswith("ProfilerStep")}


def check_counts(out, truth):
    """Every range that began in the window is in the trace, the table and the regions; nothing else is."""
    want = begun(truth)
    h.equal(without_steps(out.counts()), want, "ranges in the trace")
    h.equal(without_steps(h.calls(out)), want, "calls in cpu_ops.txt")
    h.equal(h.calls(out).get("ProfilerStep*"), len(truth), "calls of ProfilerStep*")
    h.equal(without_steps({r["name"]: r["count"] for r in out.profile["regions"]}), want, "regions")


def check_outcomes(out, rows):
    """As the target counts them, or `unknown` where rows is None."""
    got = [s.outcome for s in out.steps]
    h.equal(got, [r["outcome"] for r in rows] if rows is not None else ["unknown"] * len(got), "outcomes")


def watched_in_full(*args, plan=("--wait", 2, "--warmup", 2, "--active", 5), flavour="standin", options=(), seconds=120, attempts=0, lossless=True):
    """One target, one complete capture from its first attempt on. Returns both and the target's last word."""
    with h.scratch() as d:
        t = standin(*args, "--attempts", attempts, flavour=flavour)
        out = h.capture(t, d + "/out", *plan, *options, seconds=seconds)
        h.check(attempts or t.alive(), "the target ended: %s" % t.errors())
        if t.alive():
            h.check_unmodified(t.pid)
        done = t.finish(seconds) if attempts else t.stop(seconds)
        h.check_output(out, lossless=lossless)
        return t, out, done


@contextlib.contextmanager
def capturing(target, *args, gate=True):
    """A capture under way, and its output directory."""
    with h.scratch() as d:
        run = h.Run("-p", target.pid, "-v", "-o", d + "/out", *args)
        run.wait_attached()
        if gate:
            target.open_gate()
        yield run, d + "/out"


def no_control_bytes(data, what, allowed=b"\n"):
    """Neither in ASCII nor, as UTF-8, in C1; and no character that turns the direction of what follows."""
    bad = sorted({c for c in data if c < 0x20 and bytes([c]) not in allowed or c == 0x7F})
    h.check(not bad, "%s holds control bytes %s" % (what, bad))
    text = data.decode("utf-8")  # strict
    bad = sorted({c for c in text if 0x80 <= ord(c) < 0xA0 or c in "\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\u2028\u2029"})
    h.check(not bad, "%s holds %r" % (what, bad))


def strict_json(data):
    """JSON as its grammar has it: UTF-8, no raw control characters, no key twice, no NaN."""

    def pairs(items):
        h.check(len({k for k, _ in items}) == len(items), "a key twice in %r" % [k for k, _ in items])
        return dict(items)

    def constant(name):
        raise h.Failure("%s is not JSON" % name)

    return json.loads(data.decode("utf-8"), object_pairs_hook=pairs, parse_constant=constant, strict=True)
