#!/usr/bin/env python3
"""One job, one tpbpf; and what counts as an attempt when the user names it."""
import os
import signal

import harness as h


def second_capture_of_a_job():
    with h.scratch() as d:
        t = h.torch_target(h.torch_python(), "lesson", gate=False).wait_attempts(3)
        first = h.Run("-p", t.pid, "-o", d + "/first", "--wait", 1000000).wait_attached()
        second = h.tpbpf("-p", t.pid, "-o", d + "/second").exits(5)
        h.check("another tpbpf" in second.err, "the message does not say who is in the way: %s" % second.err)
        h.check(not os.path.exists(d + "/second"), "a directory was made")
        h.check(first.running(), "the first capture ended")
        first.signal(signal.SIGINT).wait().exits(3)
        h.check_output(h.capture(t, d + "/third", "--wait", 1, "--warmup", 1, "--active", 2, open_gate=False))


def after_one_that_was_killed():
    with h.scratch() as d:
        t = h.torch_target(h.torch_python(), "lesson", gate=False).wait_attempts(3)
        h.Run("-p", t.pid, "-o", d + "/first", "--wait", 1000000).wait_attached().signal(signal.SIGKILL).wait()
        h.check_output(h.capture(t, d + "/second", "--wait", 1, "--warmup", 1, "--active", 2, open_gate=False))


def named_range():
    for pattern in ("range:train_step", "range:train*"):
        with h.scratch() as d:
            t = h.torch_target(h.torch_python(), "lesson")
            out = h.capture(t, d + "/out", "--step", pattern, "--activities", "ranges", "--wait", 2, "--warmup", 2, "--active", 5)
            t.stop()
            h.check_output(out)
            h.check_plan(out, step_source=pattern, wait=2, warmup=2, active=5)
            h.equal(h.calls(out), {"train_step": 5, "Optimizer.step#SGD.step": 5, "Optimizer.zero_grad#SGD.zero_grad": 5, "ProfilerStep*": 5},
                    "calls in cpu_ops.txt")


def named_operator():
    with h.scratch() as d:
        t = h.torch_target(h.torch_python(), "lesson")
        out = h.capture(t, d + "/out", "--step", "op:cross_entropy_loss", "--wait", 2, "--warmup", 2, "--active", 5)
        t.stop()
        h.check_output(out)
        h.check_plan(out, step_source="op:cross_entropy_loss", wait=2, warmup=2, active=5)
        h.equal(h.calls(out)["Optimizer.step#SGD.step"], 5, "Optimizer.step")


h.main(second_capture_of_a_job, after_one_that_was_killed, named_range, named_operator)
