#!/usr/bin/env python3
"""Threads: a training loop that is not in the main thread, and one among 160 others."""
import harness as h

WINDOW = ("--wait", 2, "--warmup", 2, "--active", 5)


def loop_in_another_thread(python):
    with h.scratch() as d:
        t = h.torch_target(python, "thread_loop")
        out = h.capture(t, d + "/out", *WINDOW, "--activities", "ranges")
        tid = t.facts["train_tid"]
        t.stop()
        h.check(tid != t.pid, "the target trains in its main thread")
        h.check_output(out)
        h.check_plan(out, wait=2, warmup=2, active=5)
        h.match_attempts(out, t, first=0)
        h.equal({e["tid"] for e in out.events}, {tid}, "threads in the trace")
        h.equal(h.calls(out), {"train_step": 5, "Optimizer.step#SGD.step": 5, "Optimizer.zero_grad#SGD.zero_grad": 5, "ProfilerStep*": 5},
                "calls in cpu_ops.txt")


def among_many_threads(python):
    with h.scratch() as d:
        t = h.torch_target(python, "many_threads", "--threads", 160, "--pace-ms", 20)
        out = h.capture(t, d + "/out", *WINDOW)
        tid = t.facts["train_tid"]
        h.check_unmodified(t.pid)
        closing = t.stop()
        h.equal(closing["threads"], 160, "threads of the target")
        h.check_output(out)
        h.check_plan(out, wait=2, warmup=2, active=5)
        h.match_attempts(out, t, first=0)
        calls = h.calls(out)
        h.equal((calls["train_step"], calls["Optimizer.step#SGD.step"], calls["ProfilerStep*"]), (5, 5, 5), "calls in cpu_ops.txt")
        h.equal({e["tid"] for e in out.named("train_step")}, {tid}, "the training thread")
        h.check(len({e["tid"] for e in out.named("helper")}) >= 2, "ranges of the helper threads: %s" % out.counts())
        # born while the probes were in place: a filter by thread would miss them
        h.check(out.named("short_lived"), "no range of a thread that began during the window: %s" % out.counts())
        h.equal([e["tid"] for e in out.marks], [tid] * 5, "thread of the steps")


h.main(loop_in_another_thread, among_many_threads, torch=True)
