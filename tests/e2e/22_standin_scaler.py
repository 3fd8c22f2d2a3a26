#!/usr/bin/env python3
"""Loss scaling: one attempt each, applied or skipped as the target knows it, and unknown where it cannot be known."""
import harness as h
import standin_support as s

PLAN = ("--wait", 2, "--warmup", 2, "--active", 5)


def scaled(*args, flavour="standin", known=True, plan=PLAN):
    t, out, _ = s.watched_in_full("--step-us", 3000, "--overflow-every", 3, *args, flavour=flavour, plan=plan)
    rows = h.match_attempts(out, t, 0)
    s.check_outcomes(out, rows if known else None)
    truth = s.active_truth(out, t)
    h.equal(len(truth), 5, "active attempts")
    if known:
        h.check(any(r["outcome"] == "skipped" for r in truth), "no skipped attempt in the window")
    s.check_counts(out, truth)
    return t, out, rows


def on_the_cpu():
    scaled("--scaler", "cpu")


def on_the_cpu_fused():
    scaled("--scaler", "fused")


def on_the_cpu_fused_adam():
    scaled("--scaler", "fused", "--optimizer", "adam")


def on_a_device():
    """The tensors cannot be read; that the optimizer was not called can be seen."""
    scaled("--scaler", "cuda")


def on_a_device_fused():
    """Nothing outside the device knows."""
    scaled("--scaler", "fused-cuda", known=False)


def on_a_device_with_readable_memory():
    """A device pointer may lead to host memory by chance: what stands there is not the answer."""
    scaled("--scaler", "cuda", "--decoy")


def on_a_device_fused_with_readable_memory():
    scaled("--scaler", "fused-cuda", "--decoy", known=False)


def older_tensor_layout():
    scaled("--scaler", "fused", flavour="standin-2.4")


def oldest_tensor_layout():
    scaled("--scaler", "cpu", flavour="standin-1.13")


def stripped_library():
    scaled("--scaler", "fused", flavour="standin-stripped")


def every_attempt_skipped():
    t, out, _ = s.watched_in_full("--step-us", 3000, "--overflow-every", 1, "--scaler", "cpu", plan=PLAN)
    h.equal({x.outcome for x in out.steps}, {"skipped"}, "outcomes")
    h.equal(out.window["active_attempts"], 5, "active attempts")
    s.check_counts(out, s.active_truth(out, t))


def attached_at_any_moment():
    """Between two of its calls as well: one attempt is never counted as two, and none is lost."""
    for i in range(24):
        kind = ("cpu", "fused")[i % 2]
        # One by one takes so long that attempts end while half of the sites are there.
        attach = ("--attach", "single") if i % 4 < 3 else ()
        with h.scratch() as d:
            t = s.standin("--scaler", kind, "--overflow-every", 3, "--step-us", 300 + 70 * i, "--attempts", 0, gate=False)
            t.wait_attempts(5)
            out = h.capture(t, d + "/out", "--wait", 20, "--warmup", 1, "--active", 2, *attach, open_gate=False)
            t.stop(120)
            h.check_output(out)
            truth = h.match_attempts(out, t)
            h.check(out.steps[0].outcome in (truth[0]["outcome"], "unknown"), "outcome of attempt 0")
            h.equal([x.outcome for x in out.steps[1:]], [a["outcome"] for a in truth[1:]], "outcomes in steps.csv")


def without_a_scaler():
    t, out, _ = s.watched_in_full("--step-us", 3000, plan=PLAN)
    h.equal({x.outcome for x in out.steps}, {"applied"}, "outcomes")


h.main(on_the_cpu, on_the_cpu_fused, on_the_cpu_fused_adam, on_a_device, on_a_device_fused, on_a_device_with_readable_memory,
       on_a_device_fused_with_readable_memory, older_tensor_layout, oldest_tensor_layout, stripped_library, every_attempt_skipped,
       attached_at_any_moment, without_a_scaler)
