#!/usr/bin/env python3
"""Stopping early: Ctrl-C once and twice, SIGTERM, --timeout, the job's end. The job runs on, its code is the original again."""
import glob
import os
import signal
import time

import harness as h

LONG = ("--wait", 1, "--warmup", 1, "--active", 1000000)


def job(**kw):
    return h.torch_target(h.torch_python(), "lesson", gate=False, **kw).wait_attempts(3)


def runs_on(target):
    h.check_unmodified(target.pid)
    n = len(target.attempts())
    target.wait_attempts(n + 10)
    h.check(target.alive(), "the job ended")
    target.stop()


def interrupted_in_active():
    for number in (signal.SIGINT, signal.SIGTERM):
        with h.scratch() as d:
            t = job()
            run = h.Run("-p", t.pid, "-o", d + "/out", "-v", *LONG).wait_window()
            n = len(t.attempts())
            t.wait_attempts(n + 30)
            begun = time.monotonic()
            run.signal(number).wait().exits(3)
            h.check(time.monotonic() - begun < h.patience(10), "took %.1f s to stop" % (time.monotonic() - begun))
            out = h.Output(d + "/out")
            h.check_output(out, "partial", "interrupted")
            h.check(out.window["active_attempts"] >= 10, "only %d attempts recorded" % out.window["active_attempts"])
            h.check(h.calls(out)["train_step"] >= 10, "train_step: %s" % h.calls(out))
            h.check("partial" in run.out, "the summary does not say partial: %s" % run.out)
            h.match_attempts(out, t)
            runs_on(t)


def interrupted_in_wait():
    with h.scratch() as d:
        t = job()
        run = h.Run("-p", t.pid, "-o", d + "/out", "--wait", 1000000).wait_attached()
        n = len(t.attempts())
        t.wait_attempts(n + 10)
        run.signal(signal.SIGINT).wait().exits(3)
        out = h.Output(d + "/out")
        h.check_output(out, "no_capture", "interrupted")
        h.equal(sorted(os.listdir(out.path)), ["profile.json", "steps.csv"], "files")
        h.check(out.steps and {s.phase for s in out.steps} == {"wait"}, "phases: %s" % {s.phase for s in out.steps})
        runs_on(t)


def interrupted_in_warmup():
    with h.scratch() as d:
        t = job()
        run = h.Run("-p", t.pid, "-o", d + "/out", "-v", "--wait", 1, "--warmup", 1000000).wait_window()
        run.signal(signal.SIGINT).wait().exits(3)
        out = h.Output(d + "/out")
        h.check_output(out, "no_capture", "interrupted")
        h.equal(sorted(os.listdir(out.path)), ["profile.json", "steps.csv"], "files")
        runs_on(t)


def interrupted_twice():
    """The second Ctrl-C while the first is being obeyed: nothing is left, and the exit does not wait."""
    for args in (("--wait", 1000000), LONG):
        codes = []
        while 130 not in codes:
            # it may finish what there is before the second signal comes, but not every time
            h.check(len(codes) < 8, "a second Ctrl-C is never obeyed: exit codes %s with %s" % (codes, args))
            with h.scratch() as d:
                t = job()
                run = h.Run("-p", t.pid, "-o", d + "/out", "-v", *args)
                run.wait_window() if args == LONG else run.wait_attached()
                t.wait_attempts(len(t.attempts()) + 20)
                while run.running():
                    run.signal(signal.SIGINT)
                    time.sleep(0.001)
                codes.append(run.wait().code)
                if codes[-1] == 130:
                    h.equal(os.listdir(d), [], "files left with %s" % (args,))
                else:
                    run.exits(3)
                    h.Output(d + "/out")
                runs_on(t)


def timeout_in_active():
    with h.scratch() as d:
        t = job()
        begun = time.monotonic()
        run = h.tpbpf("-p", t.pid, "-o", d + "/out", "--timeout", 3, *LONG).exits(3)
        h.check(2.5 < time.monotonic() - begun < h.patience(20), "ended after %.1f s" % (time.monotonic() - begun))
        out = h.Output(d + "/out")
        h.check_output(out, "partial", "timeout")
        h.equal(out.profile["plan"]["timeout_s"], 3, "plan.timeout_s")
        h.check("timeout" in run.out + run.err, "the reason is not shown: %s%s" % (run.out, run.err))
        runs_on(t)


def timeout_without_an_attempt():
    """The job sits at its gate: no attempt is ever seen, and the message says how to name one."""
    with h.scratch() as d:
        t = h.torch_target(h.torch_python(), "lesson")
        run = h.tpbpf("-p", t.pid, "-o", d + "/out", "--timeout", 2).exits(3)
        out = h.Output(d + "/out")
        h.check_output(out, "no_capture", "timeout")
        h.equal(out.steps, [], "steps")
        h.check("--step" in run.out + run.err, "no word of --step: %s%s" % (run.out, run.err))
        t.open_gate()
        runs_on(t)


def the_job_ends():
    for phase, args, n, state in (("wait", ("--wait", 1000), 30, "no_capture"),
                                  ("active", ("--wait", 1, "--warmup", 1, "--active", 1000), 400, "partial")):
        with h.scratch() as d:
            t = h.torch_target(h.torch_python(), "lesson", "--attempts", n)
            run = h.Run("-p", t.pid, "-o", d + "/out", *args).wait_attached()
            t.open_gate().finish()
            run.wait().exits(3)
            out = h.Output(d + "/out")
            h.check_output(out, state, "target_exited")
            h.equal(len(out.steps), n, "attempts seen until the job ended in %s" % phase)


def killed_outright():
    """SIGKILL leaves nothing behind in the job: the kernel takes the probes out."""
    for phase, args in (("wait", ("--wait", 1000000)), ("warmup", ("--wait", 1, "--warmup", 1000000)), ("active", LONG)):
        with h.scratch() as d:
            t = job()
            run = h.Run("-p", t.pid, "-o", d + "/out", "-v", *args)
            run.wait_attached() if phase == "wait" else run.wait_window()
            h.until(lambda: h.modified_code_bytes(t.pid), "probes in the job", 5)
            run.signal(signal.SIGKILL).wait()
            h.check_unmodified(t.pid, 1)
            runs_on(t)
            h.equal(glob.glob(d + "/out/*.json.gz"), [], "traces of a killed capture")


h.main(interrupted_in_active, interrupted_in_wait, interrupted_in_warmup, interrupted_twice, timeout_in_active,
       timeout_without_an_attempt, the_job_ends, killed_outright)
