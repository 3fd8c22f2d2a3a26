#!/usr/bin/env python3
"""Shares of self time, coarsely: the rows that are largest in torch.profiler's table are about as large here. tools/bench_overhead.py
measures it closely, in alternating windows of one process; this finds what is wrong by more than noise."""
import os
import statistics

import forest
import harness as h
import torch_truth as truth

STEPS, WINDOWS, LARGEST, POINTS = 40, 3, 10, 10
JOB = truth.JobSpec("lesson", ("--pace-ms", 0), ())


def shares(roots):
    """Of each row in a step, in percent; a step's figure is the median of all, since a busy machine takes its time anywhere."""
    steps = [n for root in roots for n in root.walk() if n.name == "train_step"]
    rows = [forest.rows_of([step]) for step in steps]
    median = {name: statistics.median(float(r[name].self_ns) if name in r else 0 for r in rows) for name in {n for r in rows for n in r}}
    total = sum(median.values())
    return {n: 100 * v / total for n, v in median.items()}


def compare(python, *options):
    if os.getloadavg()[0] > os.cpu_count():
        h.skip("the machine is busy: a load of %.1f on %d processors" % (os.getloadavg()[0], os.cpu_count()))
    theirs, ours = [], []
    for _ in range(WINDOWS):
        with h.scratch() as d:
            theirs.append(shares(truth.truth(python, JOB, d, active=STEPS).roots))
            out, _ = truth.capture(python, JOB, d, *options, window=("--wait", 2, "--warmup", 10, "--active", STEPS))
            ours.append(shares(forest.grow(out.events, lambda e: e["ts"], h.end)))
    median = lambda windows, name: statistics.median(w.get(name, 0) for w in windows)
    names = sorted({n for w in theirs for n in w}, key=lambda n: -median(theirs, n))[:LARGEST]
    odd = ["%s: %.1f %%, by torch.profiler %.1f %%" % (n, median(ours, n), median(theirs, n)) for n in names
           if abs(median(ours, n) - median(theirs, n)) > POINTS]
    h.check(not odd, "shares of self time: %s" % "; ".join(odd))
    return [(n, median(ours, n), median(theirs, n)) for n in names]


def by_default(python):
    compare(python)


def exact(python):
    compare(python, "--exact")


h.main(by_default, exact, torch=True)
