#!/usr/bin/env python3
"""torch.compile: each call of a compiled region is one range."""
import shutil

import harness as h

REGION = "Torch-Compiled Region"


def capture(python, backend):
    with h.scratch() as d:
        t = h.torch_target(python, "compiled", "--backend", backend)
        out = h.capture(t, d + "/out", "--wait", 2, "--warmup", 2, "--active", 5)
        t.stop()
        h.check_output(out)
        h.match_attempts(out, t, first=0)
        regions = [e for e in out.events if e["name"].startswith(REGION)]
        h.equal(len(regions), 5, "compiled regions: %s" % out.counts())
        for step, e in zip(out.marks, sorted(regions, key=lambda e: e["ts"])):
            h.check(h.contains(step, e), "a region lies outside " + step["name"])
        h.equal(h.calls(out)["train_step"], 5, "train_step")


def eager_backend(python):
    capture(python, "eager")


def inductor_backend(python):
    if not (shutil.which("g++") or shutil.which("c++")):
        h.skip("no C++ compiler")
    capture(python, "inductor")


# before 2.2 a compiled region has no name that can be seen
h.main(eager_backend, inductor_backend, torch=True, since=(2, 2))
