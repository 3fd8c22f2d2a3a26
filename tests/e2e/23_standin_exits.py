#!/usr/bin/env python3
"""The target ends, execs or dies under watch: valid files with the reason, exit code 3, and tpbpf does not hang."""
import collections
import signal


import harness as h
import standin_support as s

STEP_US = 30000  # so that a phase is long enough to be ended in
# Attaching and learning take from 0.1 s to a second of a busy machine: by this attempt the window is open.
LATE = 60
OPEN = ("--wait", 2, "--warmup", 2, "--active", 500)


def ended(*args, plan, state, reason="target_exited", status=0, kill_after=None, options=()):
    with h.scratch() as d:
        t = s.standin("--step-us", STEP_US, *args)
        with s.capturing(t, *plan, *options) as (run, path):
            if kill_after is not None:
                t.wait_attempts(kill_after)
                t.process.send_signal(signal.SIGKILL)
            run.wait().exits(3)
            h.equal(t.process.wait(h.patience()), status, "the target's own end")
            out = h.Output(path)
            h.check_output(out, state, reason)
            return t, out


def in_window(out, seen):
    """Every attempt that the target ended was seen, and the window was open (how soon is not the question here)."""
    h.equal(out.window["attempts_seen"], seen, "attempts seen")
    h.check(out.window["active_attempts"] >= 1, "no active attempt")


def in_wait():
    _, out = ended("--exit-at", 5, plan=("--wait", 50, "--warmup", 1, "--active", 1), state="no_capture", status=7)
    h.equal(out.window["attempts_seen"], 5, "attempts seen")


def before_the_first_attempt():
    _, out = ended("--exit-at", 0, plan=("--wait", 2, "--warmup", 1, "--active", 1), state="no_capture", status=7)
    h.equal(out.window["attempts_seen"], 0, "attempts seen")


def in_warmup():
    _, out = ended("--exit-at", 10, plan=("--wait", 2, "--warmup", 50, "--active", 1), state="no_capture", status=7)
    h.equal(out.window["attempts_seen"], 10, "attempts seen")


def in_active():
    t, out = ended("--exit-at", LATE, plan=OPEN, state="partial", status=7)
    in_window(out, LATE)
    truth = s.active_truth(out, t)
    got = s.without_steps(collections.Counter(e["name"] for e in out.events if not s.is_call(e)))
    want = s.begun(truth)
    # what began after the last whole attempt may be there too, as far as it went: one report, one train_step without an end
    for name, n in want.items():
        more = 1 if name in ("report", "train_step") else 0
        h.check(n <= got.get(name, 0) <= n + more, "%s: %s in the trace, %d by the target" % (name, got.get(name), n))
    h.equal(set(got) - set(want), set(), "ranges that never were")


def normal_end_in_active():
    """A job that comes to its end: exit status 0, everything seen."""
    t, out = ended("--attempts", LATE, plan=OPEN, state="partial")
    in_window(out, LATE)


def killed_in_wait():
    ended(plan=("--wait", 500, "--warmup", 1, "--active", 1), state="no_capture", status=-signal.SIGKILL, kill_after=4)


def killed_in_active():
    ended(plan=OPEN, state="partial", status=-signal.SIGKILL, kill_after=LATE)


def aborted_in_active():
    t, out = ended("--abort-at", LATE, plan=OPEN, state="partial", status=-signal.SIGABRT)
    in_window(out, LATE)


def executes(at, plan, state):
    """The new program is not the one that was watched: it goes on alone, with untouched code."""
    attempts = at + int(20 * h.SLOW)  # it is still there when the capture has ended
    alone = s.unwatched("--step-us", 1000, "--attempts", attempts)
    with h.scratch() as d:
        t = s.standin("--step-us", STEP_US, "--attempts", attempts, "--exec-at", at)
        with s.capturing(t, *plan) as (run, path):
            run.wait().exits(3)
            out = h.Output(path)
            h.check_output(out, state, "target_exec")
            h.check(t.alive(), "the target ended with its exec: %s" % t.errors())
            h.check_unmodified(t.pid)
            done = t.finish()
            for key in ("attempts", "begun", "ended", "checksum"):
                h.equal(done[key], alone[key], "%s of the new program" % key)
            return out


def exec_in_wait():
    out = executes(5, ("--wait", 50, "--warmup", 1, "--active", 1), "no_capture")
    h.equal(out.window["attempts_seen"], 5, "attempts seen")


def exec_in_warmup():
    executes(8, ("--wait", 2, "--warmup", 50, "--active", 1), "no_capture")


def exec_in_active():
    out = executes(LATE, OPEN, "partial")
    in_window(out, LATE)


h.main(in_wait, before_the_first_attempt, in_warmup, in_active, normal_end_in_active, killed_in_wait, killed_in_active, aborted_in_active,
       exec_in_wait, exec_in_warmup, exec_in_active)
