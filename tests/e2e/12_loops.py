#!/usr/bin/env python3
"""Loops of other shapes: two optimizers, gradient accumulation, evaluation and a checkpoint between two attempts."""
import harness as h

WINDOW = ("--wait", 2, "--warmup", 2, "--active", 5)


def two_optimizers_are_one_attempt(python):
    with h.scratch() as d:
        t = h.torch_target(python, "two_optimizers")
        out = h.capture(t, d + "/out", *WINDOW)
        t.stop()
        h.check_output(out)
        h.check_plan(out, wait=2, warmup=2, active=5)
        h.match_attempts(out, t, first=0)
        calls = h.calls(out)
        for name in ("train_step", "Optimizer.step#SGD.step", "Optimizer.step#Adam.step", "Optimizer.zero_grad#SGD.zero_grad",
                     "Optimizer.zero_grad#Adam.zero_grad", "ProfilerStep*"):
            h.equal(calls.get(name), 5, name)


def four_micro_batches_are_one_attempt(python):
    with h.scratch() as d:
        t = h.torch_target(python, "accumulate", "--micro", 4)
        out = h.capture(t, d + "/out", *WINDOW, "--activities", "ranges")
        t.stop()
        h.check_output(out)
        h.check_plan(out, wait=2, warmup=2, active=5)
        h.match_attempts(out, t, first=0)
        h.equal(h.calls(out), {"micro_batch": 20, "Optimizer.zero_grad#SGD.zero_grad": 5, "Optimizer.step#SGD.step": 5, "ProfilerStep*": 5},
                "calls in cpu_ops.txt")
        for step in out.marks:
            h.equal(sum(h.contains(step, e) for e in out.named("micro_batch")), 4, "micro-batches in " + step["name"])


def evaluation_and_checkpoint_lengthen_the_step_that_they_delay(python):
    with h.scratch() as d:
        t = h.torch_target(python, "eval_checkpoint", "--every", 4, "--eval-ms", 60)
        out = h.capture(t, d + "/out", "--wait", 2, "--warmup", 2, "--active", 8)
        t.stop()
        h.check_output(out)
        h.check_plan(out, wait=2, warmup=2, active=8)
        truth = h.match_attempts(out, t, first=0)
        for s, a in zip(out.steps[1:], truth[1:]):
            h.check(s.duration_ns >= a["delayed_by"], "attempt %d took %d ns, delayed by %d" % (s.attempt, s.duration_ns, a["delayed_by"]))
        delayed = [m for s, m in zip(out.in_phase("active"), out.marks) if truth[s.attempt]["delayed_by"]]
        h.equal(len(delayed), 2, "delayed attempts in a window of 8, one in 4")
        for m in out.marks:
            within = [sum(h.contains(m, e) for e in out.named(name)) for name in ("evaluate", "checkpoint")]
            h.equal(within, [1, 1] if m in delayed else [0, 0], "evaluate and checkpoint in " + m["name"])
            h.check(m not in delayed or m["dur"] * 1000 >= 60e6, "%s lasts %s us" % (m["name"], m["dur"]))
        h.equal((h.calls(out)["evaluate"], h.calls(out)["checkpoint"]), (2, 2), "evaluate and checkpoint")


h.main(two_optimizers_are_one_attempt, four_micro_batches_are_one_attempt,
       evaluation_and_checkpoint_lengthen_the_step_that_they_delay, torch=True)
