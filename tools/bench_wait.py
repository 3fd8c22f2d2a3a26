#!/usr/bin/env python3
"""What the wait phase costs a job: its median step time with the attempt probes attached against unwatched.

Runs the bundled model in an endless loop, attaches tpbpf with a wait that never ends, detaches it, and so on in
alternating windows of one run, since machines drift. The job times its own steps. Prints the medians of each pair of
windows and the median of their ratios.

    tools/bench_wait.py [--python PYTHON] [--windows N] [--seconds S] [--hidden H,H,...]

The hidden size sets how long a step is: a probe hit costs the same in a short one and a long one.
"""
import argparse
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


def median_between(path, begin_ns, end_ns):
    with open(path) as f:
        rows = [line.split() for line in f if line.endswith("\n")]
    steps = [int(d) for t, d in rows if begin_ns <= int(t) - int(d) and int(t) <= end_ns]
    return statistics.median(steps), len(steps)


def attach(pid, directory):
    tpbpf = subprocess.Popen([os.path.join(ROOT, "build", "tpbpf"), "-p", str(pid), "--wait", "1000000", "-o", directory],
                             stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    for line in tpbpf.stderr:
        if line.startswith("tpbpf: attached to"):
            return tpbpf
    raise SystemExit("tpbpf did not attach; run as root")


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--python", default=interpreter())
    p.add_argument("--windows", type=int, default=24)
    p.add_argument("--seconds", type=float, default=0.8)
    p.add_argument("--verbose", action="store_true", help="each pair of windows")
    p.add_argument("--hidden", default="512,1024,2048")
    opt = p.parse_args()
    for hidden in opt.hidden.split(","):
        measure(opt, int(hidden))


def measure(opt, hidden):
    ratios = []
    with tempfile.TemporaryDirectory() as work:
        steps = os.path.join(work, "steps")
        job = subprocess.Popen([opt.python, "-c", JOB, str(hidden), steps])
        try:
            time.sleep(5)
            windows = []
            for i in range(opt.windows):
                begin = time.monotonic_ns()
                time.sleep(opt.seconds)
                unwatched = (begin, time.monotonic_ns())
                tpbpf = attach(job.pid, os.path.join(work, f"out{i}"))
                time.sleep(0.2)
                begin = time.monotonic_ns()
                time.sleep(opt.seconds)
                attached = (begin, time.monotonic_ns())
                tpbpf.send_signal(signal.SIGINT)
                tpbpf.wait()
                time.sleep(0.2)
                windows.append((unwatched, attached))
            time.sleep(1)
        finally:
            job.send_signal(signal.SIGKILL)
            job.wait()
        unwatched_us = []
        for unwatched, attached in windows:
            before, count = median_between(steps, *unwatched)
            during, watched_count = median_between(steps, *attached)
            ratios.append(during / before)
            unwatched_us.append(before / 1e3)
            if opt.verbose:
                print(f"unwatched {before / 1e3:9.1f} us ({count} steps)   wait probes {during / 1e3:9.1f} us "
                      f"({watched_count} steps)   ratio {during / before:.4f}")
    quarter = statistics.quantiles(ratios, n=4)
    print(f"hidden {hidden}: step {statistics.median(unwatched_us):.0f} us unwatched, with the wait phase's probes "
          f"{statistics.median(ratios):.4f} times that (quartiles {quarter[0]:.4f} to {quarter[2]:.4f}, {len(ratios)} pairs)", flush=True)


main()
