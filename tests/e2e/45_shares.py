#!/usr/bin/env python3
"""Shares of self time, coarsely: the rows that are largest in torch.profiler's table are about as large here. tools/bench_overhead.py
measures it closely, in alternating windows of one process; this finds what is wrong by more than noise."""
import os
import statistics

import forest
import harness as h
import torch_truth as truth

STEPS, LARGEST, POINTS = 40, 10, 10
# A process is slow at first, and not at everything alike: its first hundred steps may take twice as long. Attaching takes about as many.
SETTLED = 200
# How a heap happens to lie tells whether the C library keeps a freed gradient of 1 MB or gives it back, and where it does not keep it
# each mm takes half as long again, by page faults. torch.profiler's own memory lies in that heap.
KEEPS_MEMORY = {"MALLOC_TRIM_THRESHOLD_": str(1 << 30), "MALLOC_MMAP_THRESHOLD_": str(1 << 25)}
# A busy machine may be slow at one kind of work for seconds, which is most of three windows: where they disagree, more are taken.
WINDOWS, MOST_WINDOWS = 3, 9
JOB = truth.JobSpec("lesson", ("--pace-ms", 0), ())


def shares(roots):
    """Of each row in a step, in percent; a step's figure is the median of all, since a busy machine takes its time anywhere."""
    steps = [n for root in roots for n in root.walk() if n.name == "train_step"]
    rows = [forest.rows_of([step]) for step in steps]
    median = {name: statistics.median(float(r[name].self_ns) if name in r else 0 for r in rows) for name in {n for r in rows for n in r}}
    total = sum(median.values())
    return {n: 100 * v / total for n, v in median.items()}


def measure(python, theirs, ours, *options):
    """One window of each, one after the other."""
    with h.scratch() as d:
        theirs.append(shares(truth.truth(python, JOB, d, wait=SETTLED, active=STEPS).roots))
        out, _ = truth.capture(python, JOB, d, *options, window=("--wait", SETTLED, "--warmup", 10, "--active", STEPS))
        ours.append(shares(forest.grow(out.events, lambda e: e["ts"], h.end)))


def median(windows, name):
    return statistics.median(w.get(name, 0) for w in windows)


def disagreements(theirs, ours):
    names = sorted({n for w in theirs for n in w}, key=lambda n: -median(theirs, n))[:LARGEST]
    return ["%s: %.1f %%, by torch.profiler %.1f %%" % (n, median(ours, n), median(theirs, n)) for n in names
            if abs(median(ours, n) - median(theirs, n)) > POINTS]


def compare(python, *options):
    if os.getloadavg()[0] > os.cpu_count():
        h.skip("the machine is busy: a load of %.1f on %d processors" % (os.getloadavg()[0], os.cpu_count()))
    os.environ.update(KEEPS_MEMORY)
    theirs, ours = [], []
    while len(ours) < WINDOWS or (disagreements(theirs, ours) and len(ours) < MOST_WINDOWS):
        measure(python, theirs, ours, *options)
    odd = disagreements(theirs, ours)
    h.check(not odd, "shares of self time, medians of %d windows each: %s" % (len(ours), "; ".join(odd)))


def by_default(python):
    compare(python)


def exact(python):
    compare(python, "--exact")


h.main(by_default, exact, torch=True)
