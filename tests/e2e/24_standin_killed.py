#!/usr/bin/env python3
"""tpbpf is killed with SIGKILL: the target runs on, with its original code within a second and the result of an unwatched run."""
import json
import os
import resource
import signal

import harness as h
import standin_support as s

ARGS = ("--step-us", 10000, "--scaler", "cpu", "--overflow-every", 5, "--threads", 2, "--attempts", 150)


def killed(plan, when, flavour="standin"):
    alone = s.unwatched(*ARGS, flavour=flavour)
    t = s.standin(*ARGS, flavour=flavour)
    with s.capturing(t, *plan) as (run, path):
        when(t, run)
        h.check(t.alive() and run.running(), "one of the two ended early: %s" % run.err)
        h.check(h.modified_code_bytes(t.pid), "no probe is in the target: this test shows nothing")
        run.signal(signal.SIGKILL).wait()
        h.check_unmodified(t.pid, seconds=1)
        with open(os.path.join(path, "profile.json")) as f:
            h.equal(json.load(f)["window"]["state"], "pending", "state in what is left of the capture")
        s.same_result(t.finish(), alone)


def in_wait():
    killed(("--wait", 1000, "--warmup", 1, "--active", 1), lambda t, run: t.wait_attempts(5))


def in_warmup():
    killed(("--wait", 1, "--warmup", 1000, "--active", 1), lambda t, run: (run.wait_window(), t.wait_attempts(len(t.attempts()) + 3)))


def in_active():
    killed(("--wait", 1, "--warmup", 1, "--active", 1000), lambda t, run: (run.wait_window(), t.wait_attempts(len(t.attempts()) + 10)))


def in_active_legacy():
    killed(("--wait", 1, "--warmup", 1, "--active", 1000), lambda t, run: (run.wait_window(), t.wait_attempts(len(t.attempts()) + 10)),
           flavour="standin-1.13")


def and_captured_again():
    """Nothing of a killed tpbpf stands in the way of the next."""
    with h.scratch() as d:
        t = s.standin("--step-us", 5000)
        with s.capturing(t, "--wait", 1, "--warmup", 1, "--active", 100000) as (run, _):
            run.wait_window()
            run.signal(signal.SIGKILL).wait()
        out = h.capture(t, d + "/again", "--wait", 2, "--warmup", 2, "--active", 5, open_gate=False)
        t.stop()
        h.check_output(out)
        s.check_counts(out, s.active_truth(out, t, first=None))


def out_of_memory():
    """What it cannot keep, it does not leave behind as a capture that is still under way."""
    if os.environ.get("TPBPF_TEST_SANITIZED"):
        h.skip("the sanitizer ends a process that gets no memory")
    t = s.standin("--step-us", 2000, "--operators", 1)
    with s.capturing(t, "--wait", 1, "--warmup", 1, "--active", 1000000) as (run, path):
        run.wait_window()
        with open("/proc/%d/statm" % run.pid) as f:
            size = int(f.read().split()[0]) * resource.getpagesize()
        resource.prlimit(run.pid, resource.RLIMIT_AS, (size, size))
        run.wait().exits(1)
        h.check("allocate memory" in run.err, "the reason is not said: %s" % run.err)
        h.check(not os.path.exists(path), "exit code 1, and files: %s" % (os.path.exists(path) and os.listdir(path)))
        h.check_unmodified(t.pid, seconds=1)
    t.stop()


h.main(in_wait, in_warmup, in_active, in_active_legacy, and_captured_again, out_of_memory)
