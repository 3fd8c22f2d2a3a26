#!/usr/bin/env python3
"""One probe at a time, as on kernels before 6.6, where it is the only way: fewer things are recorded, those exactly; few sites, taken off in
a bounded time that the output tells."""
import re
import signal
import time

import harness as h
import standin_support as s

SINGLE = ("--attach", "single")
SITES_MAX = 64
DETACH_MAX_S = 30  # after that tpbpf goes on without waiting for the kernel, and says so
LONG = ("--wait", 1, "--warmup", 1, "--active", 1000000)


def check_single(out):
    """What holds for each such capture."""
    for name in ("operators", "autograd", "memory", "shapes"):
        h.equal(out.profile["activities"][name]["state"], "off", "activity " + name)
    h.check("uprobe_multi" in out.profile["activities"]["operators"]["reason"], "why no operators: %s" % out.profile["activities"]["operators"])
    h.equal([e for e in out.events if s.is_call(e)], [], "operators in the trace")
    for key in ("attach_ns", "detach_ns"):
        took = out.profile["timing"][key]
        h.check(took and 0 < took <= h.patience(DETACH_MAX_S) * 1e9, "timing.%s: %s" % (key, took))
    said = re.search(r"note: (\d+) probes, attached one by one \(no uprobe_multi\); it took up to \S+ \S+ at a time; to take them off up to \S+", out.run.out)
    h.check(said, "the summary does not say what was attached and what that took: %s" % out.run.out)
    h.check(0 < int(said.group(1)) <= SITES_MAX, "probes by the summary: %s" % said.group(1))
    return int(said.group(1))


def watched(*args, options=(), **kw):
    t, out, done = s.watched_in_full("--step-us", 3000, *args, options=(*SINGLE, *options), **kw)
    check_single(out)
    return t, out, done


def counted(*args, **kw):
    t, out, _ = watched(*args, **kw)
    truth = s.active_truth(out, t)
    h.equal(len(truth), 5, "active attempts")
    s.check_counts(out, truth)
    s.check_outcomes(out, h.match_attempts(out, t, 0))


def ranges_of_every_flavour():
    for flavour in s.FLAVOURS:
        counted("--ranges", 7, "--nested", "--operators", 1, flavour=flavour)


def ranges_on_other_threads():
    counted("--threads", 8, "--ranges", 2, "--loop-thread", "--cross-thread-end")


def attempts_with_loss_scaling():
    for scaler in ("cpu", "fused", "cuda"):
        counted("--scaler", scaler, "--overflow-every", 3)


def exceptions_through_all_that_is_probed():
    args = ("--step-us", 1000, "--throw", 500, "--inside-step")
    alone = s.unwatched(*args, "--attempts", 30)
    t, out, done = s.watched_in_full(*args, attempts=30, options=SINGLE)
    check_single(out)
    s.same_result(done, alone)
    s.check_counts(out, s.active_truth(out, t))


def steps_that_the_user_names():
    symbol = "symbol:libtorch_cpu.so:_ZN2at4_ops18_foreach_add__List4callEN3c108ArrayRefINS_6TensorEEES5_RKNS2_6ScalarE"
    for step, args in (("range:train_step", ()), ("op:_foreach_add_.List", ("--no-optimizer-range",)), (symbol, ("--no-optimizer-range",))):
        with h.scratch() as d:
            t = s.standin("--step-us", 3000, *args)
            out = h.capture(t, d + "/out", "--step", step, "--wait", 2, "--warmup", 2, "--active", 5, *SINGLE)
            h.check_unmodified(t.pid)
            t.stop()
            h.check_output(out)
            check_single(out)
            h.equal(out.window["active_attempts"], 5, "active attempts of --step " + step)
            h.equal(s.without_steps(out.counts())["train_step"], 5, "train_step with --step " + step)


def sites_in(target):
    return len(h.modified_code_bytes(target.pid, limit=10 * SITES_MAX))


def few_sites_and_off_in_the_time_that_is_told():
    """Both by what stands in the job's code, in the middle of the window and until it is the original again."""
    t = s.standin("--step-us", 2000, "--operators", 1, "--threads", 2)
    with s.capturing(t, *LONG, *SINGLE) as (run, path):
        run.wait_window()
        t.wait_attempts(len(t.attempts()) + 5)
        sites = sites_in(t)
        h.check(0 < sites <= SITES_MAX, "%d probes in the job's code" % sites)
        begun = time.monotonic()
        run.signal(signal.SIGINT)
        h.until(lambda: not h.modified_code_bytes(t.pid), "the job's code is the original again", DETACH_MAX_S, 0.001)
        off_s = time.monotonic() - begun
        run.wait().exits(3)
        ended_s = time.monotonic() - begun
        out = h.Output(path)
        out.run = run
        h.check_output(out, "partial", "interrupted")
    h.check(sites <= check_single(out), "%d probes in the code, and the summary: %s" % (sites, run.out))
    told_s = out.profile["timing"]["detach_ns"] / 1e9
    print("note: %d probes came off in %.3f s; the output tells %.3f s" % (sites, off_s, told_s))
    h.check(told_s <= ended_s, "it tells %.3f s and ended after %.3f s" % (told_s, ended_s))
    h.check(off_s <= told_s + h.patience(0.5), "off after %.3f s, and it tells %.3f s" % (off_s, told_s))
    t.stop()


def killed_in_the_window():
    """The kernel takes off what a killed tpbpf had attached, each by itself; the job computes what it would have."""
    args = ("--step-us", 5000, "--scaler", "cpu", "--overflow-every", 5, "--attempts", 200)
    alone = s.unwatched(*args)
    t = s.standin(*args)
    with s.capturing(t, *LONG, *SINGLE) as (run, _):
        run.wait_window()
        h.check(sites_in(t), "no probe is in the target: this test shows nothing")
        run.signal(signal.SIGKILL).wait()
        h.check_unmodified(t.pid, seconds=5)
    s.same_result(t.finish(120), alone)


h.main(ranges_of_every_flavour, ranges_on_other_threads, attempts_with_loss_scaling, exceptions_through_all_that_is_probed,
       steps_that_the_user_names, few_sites_and_off_in_the_time_that_is_told, killed_in_the_window)
