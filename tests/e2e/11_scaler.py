#!/usr/bin/env python3
"""A GradScaler: attempts, applied and skipped are exactly the script's own count, fused optimizer or not."""
import harness as h

# two of every five attempts: wherever the window of five falls, it holds exactly two
OVERFLOW = ",".join(str(i) for i in range(1000) if i % 5 in (1, 3))


def scaler(python, *options, overflow=OVERFLOW):
    with h.scratch() as d:
        t = h.torch_target(python, "scaler", "--overflow", overflow, *options)
        out = h.capture(t, d + "/out", "--wait", 2, "--warmup", 2, "--active", 5)
        t.stop()
        h.check_output(out)
        h.check_plan(out, wait=2, warmup=2, active=5)
        truth = h.match_attempts(out, t, first=0)
        h.equal([s.outcome for s in out.steps], [a["outcome"] for a in truth], "outcomes in steps.csv")
        skipped = [s.attempt for s in out.steps if s.outcome == "skipped"]
        h.equal(out.window["skipped_attempts"], len(skipped), "skipped_attempts")
        h.equal(out.window["applied_attempts"], len(out.steps) - len(skipped), "applied_attempts")
        h.equal(h.calls(out)["train_step"], 5, "train_step")
        h.equal(h.calls(out)["ProfilerStep*"], 5, "ProfilerStep*")
        return h.calls(out), sum(s.outcome == "skipped" for s in out.in_phase("active"))


def skips_in_every_phase(python):
    calls, skipped = scaler(python)
    # the optimizer's range runs in applied attempts only
    h.equal((calls["Optimizer.step#SGD.step"], skipped), (3, 2), "Optimizer.step and skipped attempts in the window")


def skips_with_a_fused_optimizer(python):
    calls, skipped = scaler(python, "--fused")
    # a fused optimizer is always called, and skips by itself
    h.equal((calls["Optimizer.step#SGD.step"], skipped), (5, 2), "Optimizer.step and skipped attempts in the window")


def gradients_unscaled_by_the_script(python):
    calls, skipped = scaler(python, "--unscale")
    h.equal((calls["Optimizer.step#SGD.step"], skipped), (3, 2), "Optimizer.step and skipped attempts in the window")


def the_first_attempts_are_skipped(python):
    calls, _ = scaler(python, overflow="0,1")
    h.equal(calls["Optimizer.step#SGD.step"], 5, "Optimizer.step")


def every_attempt_is_skipped(python):
    calls, skipped = scaler(python, overflow=",".join(map(str, range(1000))))
    h.equal(skipped, 5, "skipped attempts in the window")
    h.check("Optimizer.step#SGD.step" not in calls, "Optimizer.step in an attempt that was skipped")


def nothing_is_skipped(python):
    calls, skipped = scaler(python, overflow="")
    h.equal((calls["Optimizer.step#SGD.step"], skipped), (5, 0), "Optimizer.step and skipped attempts in the window")


def attached_in_the_middle(python):
    for options in ((), ("--fused",)):
        with h.scratch() as d:
            t = h.torch_target(python, "scaler", "--overflow-every", 3, *options, gate=False).wait_attempts(7)
            out = h.capture(t, d + "/out", "--wait", 2, "--warmup", 2, "--active", 6, open_gate=False)
            t.stop()
            h.check_output(out)
            h.check_plan(out, wait=2, warmup=2, active=6)
            truth = h.match_attempts(out, t)
            # the first attempt's beginning was not seen, so that its outcome may honestly be unknown
            h.check(out.steps[0].outcome in (truth[0]["outcome"], "unknown"), "outcome of attempt 0")
            h.equal([s.outcome for s in out.steps[1:]], [a["outcome"] for a in truth[1:]], "outcomes in steps.csv")


h.main(skips_in_every_phase, skips_with_a_fused_optimizer, gradients_unscaled_by_the_script, the_first_attempts_are_skipped,
       every_attempt_is_skipped, nothing_is_skipped, attached_in_the_middle, torch=True, since=(2, 3))
