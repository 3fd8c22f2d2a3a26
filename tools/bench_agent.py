#!/usr/bin/env python3
"""What the agent for GPU activity costs a job with a simulated device: while it sleeps, and for each record while it works.

    tools/bench_agent.py [--pairs N] [--attempts N]

Dormant: fresh jobs in turn without the agent and with it, nobody watching; the ratio of the median attempts of each pair.
Active: captures of one job in turn with `--gpu off` and `--gpu auto`; what an attempt takes longer for each record of CUPTI.
As root, after `make all standin fakes`.
"""
import argparse
import os
import statistics
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(ROOT, "tests", "e2e"))

import gpu_support as g  # noqa: E402
import harness as h  # noqa: E402

ACTIVE = 300


def attempts_us(target):
    ends = [row["step_end"] for row in target.attempts()]
    return statistics.median(b - a for a, b in zip(ends[100:], ends[101:])) / 1e3


def unwatched_us(attempts, agent_path):
    job = g.Job("--attempts", attempts, step_us=0, agent_path=agent_path, gate=False, wait=False)
    job.target.finish(300)
    os.unlink(job.truth_path)
    return attempts_us(job.target)


def dormant(opt):
    ratios, alone = [], []
    for i in range(opt.pairs):
        order = ("", None) if i % 2 else (None, "")
        took = {path: unwatched_us(opt.attempts, path) for path in order}
        alone.append(took[""])
        ratios.append(took[None] / took[""])
    quarter = statistics.quantiles(ratios, n=4)
    print("dormant agent: an attempt of %.0f us takes %.4f times that (quartiles %.4f to %.4f, %d pairs of runs)"
          % (statistics.median(alone), statistics.median(ratios), quarter[0], quarter[2], len(ratios)), flush=True)


def captured(target, gpu):
    with h.scratch() as d:
        out = h.capture(target, d + "/out", "--wait", 2, "--warmup", 2, "--active", ACTIVE, "--gpu", gpu, open_gate=False, seconds=300)
        durations = [s.duration_ns for s in out.in_phase("active")]
        gpu = out.profile["gpu"]
        records = sum(gpu[k] or 0 for k in ("kernels", "copies", "sets", "calls"))
        return statistics.median(durations), sum(durations), records


def active(opt):
    job = g.Job("--attempts", 0, step_us=0, gate=False)
    costs, rates = [], []
    job.target.wait_attempts(200)
    for i in range(opt.pairs):
        took = {gpu: captured(job.target, gpu) for gpu in (("off", "auto") if i % 2 else ("auto", "off"))}
        median_ns, total_ns, records = took["auto"]
        h.check(records > ACTIVE, "%d records" % records)
        costs.append((median_ns - took["off"][0]) / (records / ACTIVE))
        rates.append(records / total_ns * 1e9)
    job.stop()
    print("active agent: %.0f records a second, each makes the job's attempt %.0f ns longer (medians of %d pairs of captures)"
          % (statistics.median(rates), statistics.median(costs), opt.pairs), flush=True)


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--pairs", type=int, default=12)
    p.add_argument("--attempts", type=int, default=2000)
    opt = p.parse_args()
    dormant(opt)
    active(opt)


main()
