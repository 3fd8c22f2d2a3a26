#!/usr/bin/env python3
"""C++ exceptions through operators that are all probed: nobody dies, the result is the same, and the counts stay exact."""
import os
import signal
import time
from unittest import mock

import harness as h
import standin_support as s

MANY = ("--operators", 1, "--step-us", 1000, "--op-errors", 2000)
LINEAR = ("aten::linear", "aten::t", "aten::transpose", "aten::as_strided")


def unwound(*args, flavour="standin", options=("--exact",), attempts=40):
    """Ten thousand in the window, many more in warmup. Bytes are not compared: what a frame frees while it is unwound cannot be told
    from what the frame below it would have freed."""
    alone = s.unwatched(*args, "--attempts", attempts, flavour=flavour)
    with mock.patch.object(h, "check_tables"):  # calls that are unwound at once last no time: who lay in whom cannot be told by it
        t, out, done = s.watched_in_full(*args, flavour=flavour, plan=s.CALLS_PLAN, options=(*s.ALL, *options), attempts=attempts)
    s.same_result(done, alone)
    truth = s.active_truth(out, t)
    h.equal(len(truth), 5, "active attempts")
    calls = s.Calls(truth, flavour)
    s.check_counts(out, truth)
    s.check_calls(out, calls, exact="--exact" in options, nesting=False)
    s.check_pairs(out, calls)
    return out, calls


def check_unwound(out, calls):
    """Which calls an exception left has been compared; those that go on after they caught one are not among them."""
    got = {r["name"]: r["unwound"] for r in s.operator_rows(out)}
    h.check(calls.unwound()["aten::_to_copy"] > 0, "the target threw nothing through aten::_to_copy")
    h.equal(got["aten::to"], 0, "unwound calls of the operator that catches what its copy throws")


@h.bulk
def ten_thousand():
    out, calls = unwound(*MANY)
    for name in LINEAR:
        h.check(calls.unwound()[name] >= 1000, "the target threw through %s %s times" % (name, calls.unwound().get(name)))
    check_unwound(out, calls)


@h.bulk
def ten_thousand_by_default():
    unwound(*MANY, options=())


@h.bulk
def stripped_library():
    check_unwound(*unwound(*MANY, flavour="standin-stripped"))


@h.bulk
def old_string_abi():
    check_unwound(*unwound(*MANY, flavour="standin-2.4"))


@h.bulk
def oldest_release():
    check_unwound(*unwound(*MANY, flavour="standin-1.13"))


@h.bulk
def through_ranges_too():
    """Those of test 21, with every operator probed besides."""
    check_unwound(*unwound("--operators", 1, "--step-us", 1000, "--throw", 2000, "--op-errors", 70))


@h.bulk
def on_many_threads():
    check_unwound(*unwound("--operators", 1, "--step-us", 1000, "--op-threads", 8, "--op-errors", 196, attempts=150))


@h.bulk
def before_one_with_arguments_on_the_stack():
    """Called from the same frame as the unwound one before it, at a lower stack pointer, and yet not from within: it is above where
    that one's own frame ended."""
    out, _ = unwound("--operators", 1, "--step-us", 1000, "--op-threads", 2, "--op-errors", 4, attempts=300)
    h.equal(s.edges(e for e in out.events if s.is_call(e))["aten::linear", "aten::to"], 0, "calls of aten::to by aten::linear")


@h.bulk
def deep_ones():
    check_unwound(*unwound("--operators", 1, "--step-us", 1000, "--op-depth", 60, "--op-errors", 70, attempts=300))


KILLED = ("--operators", 2, "--op-threads", 4, "--op-errors", 14, "--step-us", 10000, "--attempts", 150)


def killed(plan, when, options=("--exact",), flavour="standin", args=KILLED):
    """tpbpf is killed while every site of every operator is probed."""
    alone = s.unwatched(*args, flavour=flavour)
    t = s.standin(*args, flavour=flavour)
    with s.capturing(t, *plan, *s.ALL, *options) as (run, path):
        when(t, run)
        h.check(t.alive() and run.running(), "one of the two ended early: %s" % run.err)
        modified = h.modified_code_bytes(t.pid, limit=100000)
        h.check(len(modified) >= 80, "%d bytes of the target are changed: not every operator is probed" % len(modified))
        run.signal(signal.SIGKILL).wait()
        h.check_unmodified(t.pid, seconds=1)
        h.check(os.path.exists(os.path.join(path, "profile.json")), "nothing is left of the capture")
        s.same_result(t.finish(), alone)


def in_window(t, run):
    run.wait_window()
    t.wait_attempts(len(t.attempts()) + 50)


@h.bulk
def killed_in_warmup():
    killed(("--wait", 1, "--warmup", 1000, "--active", 1), in_window)


@h.bulk
def killed_in_active():
    killed(("--wait", 1, "--warmup", 1, "--active", 1000), in_window)


@h.bulk
def killed_in_active_oldest_release():
    killed(("--wait", 1, "--warmup", 1, "--active", 1000), in_window, flavour="standin-1.13")


@h.bulk
def killed_while_it_settles():
    """Between warmup and active some probes come off. The kernel takes no breakpoint out for a task that has SIGKILL pending
    ("failed to unregister, leaking uprobe"), so whoever detaches must not be the one who is killed."""
    args = ("--operators", 1, "--step-us", 3000)
    for i in range(12):
        t = s.standin(*args)
        with s.capturing(t, "--wait", 1, "--warmup", 1, "--active", 100000) as (run, _):
            h.until(lambda: "modes decided" in run.err, "the modes are decided", pause=0.0005)
            time.sleep(0.002 * i)
            run.signal(signal.SIGKILL).wait()
            h.check_unmodified(t.pid, seconds=1)
        t.stop()


@h.bulk
def detached_after_the_window():
    """In the middle of it all: the target goes on with its own code."""
    with h.scratch() as d:
        t = s.standin("--operators", 5, "--op-threads", 8, "--op-errors", 14, "--step-us", 0)
        out = h.capture(t, d + "/out", *s.CALLS_PLAN, *s.ALL, "--exact")
        h.check_unmodified(t.pid)
        t.stop()
        with mock.patch.object(h, "check_tables"):
            h.check_output(out)
        s.check_calls(out, s.Calls(s.active_truth(out, t)), exact=True, nesting=False)


h.main(ten_thousand, ten_thousand_by_default, stripped_library, old_string_abi, oldest_release, through_ranges_too, on_many_threads,
       before_one_with_arguments_on_the_stack, deep_ones, killed_in_warmup, killed_in_active, killed_in_active_oldest_release,
       killed_while_it_settles, detached_after_the_window)
