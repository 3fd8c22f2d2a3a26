#!/usr/bin/env python3
"""--describe prints the plan and does nothing: no probe in the job, no file."""
import os

import harness as h


def attaches_and_writes_nothing(python):
    with h.scratch() as d:
        t = h.torch_target(python, "lesson", gate=False).wait_attempts(3)
        run = h.Run("-p", t.pid, "-o", "out", "--describe", "--wait", 7, "--warmup", 11, "--active", 13, cwd=d)
        while run.running():
            h.equal(h.modified_code_bytes(t.pid), [], "code while --describe runs")
        run.wait().exits(0)
        h.equal(h.modified_code_bytes(t.pid), [], "code after --describe")
        h.equal(os.listdir(d), [], "files made")
        for word in ("7", "11", "13", "libtorch_cpu"):
            h.check(word in run.out, "the plan does not show %s:\n%s" % (word, run.out))
        h.check("tpbpf: attached to " not in run.err, "it says that it attached: %s" % run.err)
        t.stop()


def pattern_that_matches_nothing_yet(python):
    """The plan also stands for a job that has not begun to train."""
    with h.scratch() as d:
        t = h.torch_target(python, "lesson")
        for step in ("auto", "range:train_step", "range:train*", "op:addmm"):
            run = h.tpbpf("-p", t.pid, "--describe", "--step", step, cwd=d).exits(0)
            h.check(step == "auto" or step.split(":")[1] in run.out, "the plan does not show %s:\n%s" % (step, run.out))
        h.equal(os.listdir(d), [], "files made")


h.main(attaches_and_writes_nothing, pattern_that_matches_nothing_yet, torch=True)
