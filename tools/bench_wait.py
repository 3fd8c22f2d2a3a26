#!/usr/bin/env python3
"""What the wait phase costs a job: its median step time with the attempt probes attached against unwatched.

Runs the bundled model in an endless loop, attaches tpbpf with a wait that never ends, detaches it, and so on in
alternating windows of one run, since machines drift. The job times its own steps. Each attached window is held against
the two unwatched ones around it; printed is the median of these ratios, with the interval that covers the true median in
95 of 100 runs. Printed as well: the same of the fastest tenth of the steps, which a busy machine moves less.

    tools/bench_wait.py [--python PYTHON] [--windows N] [--seconds S] [--hidden H,H,...] [--short]

The hidden size sets how long a step is: a probe hit costs the same in a short one and a long one.

In a wait of more than a second ends of attempts are soon watched no longer (user/wait_probes.h); what is measured begins
--settle seconds after tpbpf has attached. With --short the wait is one of 0.9 s, in which they stay watched.
"""
import argparse
import bisect
import math
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))

JOB = """
import sys, time, torch
torch.manual_seed(0)
torch.set_num_threads(1)
hidden = int(sys.argv[1])
model = torch.nn.Sequential(torch.nn.Linear(512, hidden), torch.nn.ReLU(), torch.nn.Linear(hidden, 10))
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
loss_of = torch.nn.CrossEntropyLoss()
x, y = torch.randn(64, 512), torch.randint(0, 10, (64,))
out = open(sys.argv[2], "w", buffering=4096)
before = time.monotonic_ns()
while True:
    with torch.profiler.record_function("train_step"):
        optimizer.zero_grad()
        loss_of(model(x), y).backward()
        optimizer.step()
    now = time.monotonic_ns()
    out.write("%d %d\\n" % (now, now - before))
    before = now
"""


def interpreter():
    try:
        with open(os.path.join(ROOT, "build", "python")) as f:
            return f.read().strip()
    except OSError:
        return sys.executable


def read_steps(path):
    """The end and the duration of each step, in nanoseconds."""
    with open(path) as f:
        return [tuple(map(int, line.split())) for line in f if line.endswith("\n")]


def between(steps, begin_ns, end_ns):
    """The durations of the steps within, sorted."""
    first = bisect.bisect_left(steps, (begin_ns,))
    last = bisect.bisect_right(steps, (end_ns,))
    return sorted(d for t, d in steps[first:last] if begin_ns <= t - d)


def tenth(ordered):
    """What a tenth of them is faster than: the steps that nothing else on the machine has held up."""
    return ordered[len(ordered) // 10]


def interval(ratios):
    """Order statistics between which the median lies with 95 %, whatever the ratios' distribution."""
    ordered, n = sorted(ratios), len(ratios)
    outside, k = 0.0, 0
    while k < n // 2 and (outside + math.comb(n, k) / 2**n) <= 0.025:
        outside += math.comb(n, k) / 2**n
        k += 1
    return ordered[max(k - 1, 0)], ordered[n - max(k, 1)]


def attach(pid, directory, attempts):
    tpbpf = subprocess.Popen([os.path.join(ROOT, "build", "tpbpf"), "-p", str(pid), "--wait", str(attempts), "-o", directory],
                             stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    for line in tpbpf.stderr:
        if line.startswith("tpbpf: attached to"):
            return tpbpf
    raise SystemExit("tpbpf did not attach; run as root")


def attempts_to_wait(opt, path):
    """A wait that does not end before the window does; a short one is one in which ends stay watched."""
    if not opt.short:
        return 1000000
    return int(0.9e9 / statistics.median(duration for _, duration in read_steps(path)))


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--python", default=interpreter())
    p.add_argument("--windows", type=int, default=100)
    p.add_argument("--seconds", type=float, default=0.3)
    p.add_argument("--settle", type=float, help="default 0.5, with --short 0.1")
    p.add_argument("--short", action="store_true", help="a wait in which both ends of ranges are watched")
    p.add_argument("--verbose", action="store_true", help="each pair of windows")
    p.add_argument("--hidden", default="512,1024,2048")
    opt = p.parse_args()
    if opt.settle is None:
        opt.settle = 0.1 if opt.short else 0.5
    for hidden in opt.hidden.split(","):
        measure(opt, int(hidden))


def measure(opt, hidden):
    with tempfile.TemporaryDirectory() as work:
        path = os.path.join(work, "steps")
        job = subprocess.Popen([opt.python, "-c", JOB, str(hidden), path])
        try:
            time.sleep(5)
            unwatched, attached, attempts = [], [], attempts_to_wait(opt, path)
            for i in range(opt.windows):
                unwatched.append(window(opt.seconds))
                tpbpf = attach(job.pid, os.path.join(work, f"out{i}"), attempts)
                time.sleep(opt.settle)
                attached.append(window(opt.seconds))
                tpbpf.send_signal(signal.SIGINT)
                tpbpf.wait()
                time.sleep(0.1)
            unwatched.append(window(opt.seconds))
            time.sleep(1)
        finally:
            job.send_signal(signal.SIGKILL)
            job.wait()
        steps = read_steps(path)
        unwatched, attached = ([between(steps, *w) for w in windows] for windows in (unwatched, attached))
        for name, statistic in ("median", statistics.median), ("fastest tenth", tenth):
            report(opt, f"hidden {hidden}, {name}", [statistic(w) for w in unwatched], [statistic(w) for w in attached])


def window(seconds):
    begin = time.monotonic_ns()
    time.sleep(seconds)
    return begin, time.monotonic_ns()


def report(opt, name, unwatched, attached):
    ratios = [a / math.sqrt(before * after) for a, before, after in zip(attached, unwatched, unwatched[1:])]
    idle = [b / math.sqrt(a * c) for a, b, c in zip(unwatched, unwatched[1:], unwatched[2:])]
    if opt.verbose:
        for before, during, ratio in zip(unwatched, attached, ratios):
            print(f"unwatched {before / 1e3:9.1f} us   wait probes {during / 1e3:9.1f} us   ratio {ratio:.4f}")
    low, high = interval(ratios)
    print(f"{name}: step {statistics.median(unwatched) / 1e3:.0f} us unwatched, with the wait phase's probes "
          f"{statistics.median(ratios):.4f} times that (95 %: {low:.4f} to {high:.4f}, {len(ratios)} windows; the same ratio of "
          f"unwatched windows alone: {statistics.median(idle):.4f})", flush=True)


main()
