#!/usr/bin/env python3
"""Runs the simulated job as two ranks under tpbpf, and says what its device did.

    gpu_demo.py OUT [--ranks 2] [--steps 4]

Leaves the ranks' traces in OUT/trace/ and the device's own truth in OUT/truth.json: the figures that follow from the
simulated device's list of calls and work alone, whatever the traces say of them; only where the steps begin is tpbpf's.
"""
import argparse
import concurrent.futures
import json
import os
import shutil
import subprocess
import sys

import gpu_support as g
import harness as h
import standin_support as s


def union(spans):
    out = []
    for a, b in sorted(spans):
        if out and a <= out[-1][1]:
            out[-1][1] = max(out[-1][1], b)
        else:
            out.append([a, b])
    return out


def length(spans):
    return sum(b - a for a, b in spans)


def intersection(left, right):
    return union([(max(a, c), min(b, d)) for a, b in left for c, d in right if max(a, c) < min(b, d)])


def demangled(name):
    return subprocess.run(["c++filt", name], stdout=subprocess.PIPE, text=True).stdout.strip() or name


COPY = {1: "Memcpy HtoD (Pinned -> Device)", 2: "Memcpy DtoH (Device -> Pinned)"}


def work_name(op):
    if op["kind"] == "kernel":
        return demangled(op["name"])
    return "Memset (Device)" if op["kind"] == "memset" else COPY[op["copy_kind"]]


def rows_of(calls, ops):
    """In microseconds."""
    rows = []
    for op in ops:
        call = calls[op["correlation"]]
        rows.append({"kind": op["kind"], "name": work_name(op), "stream": op["stream"], "begin": op["start_ns"] / 1e3, "end": op["end_ns"] / 1e3,
                     "launch": call["start_ns"] / 1e3, "call": g.plain(call["name"]), "call_us": (call["end_ns"] - call["start_ns"]) / 1e3, "bytes": op["bytes"]})
    return rows


DELAY_US = 30  # HTA's own default for what may pass between two kernels


def is_communication(row):
    return row["name"].startswith("nccl")


def idle(rows):
    """Gaps of each stream, by cause: the host was late, the one before was, or neither is sure (a short gap is the device's own)."""
    causes = {}
    for stream in sorted({r["stream"] for r in rows}):
        before = None
        for r in sorted((r for r in rows if r["stream"] == stream), key=lambda r: r["begin"]):
            if before is not None:
                gap = r["begin"] - before
                cause = "host_wait" if r["launch"] > before else "kernel_wait" if gap < DELAY_US else "other"
                of = causes.setdefault(str(stream), {})
                if gap:
                    of[cause] = of.get(cause, 0) + gap
            before = r["end"]
    return causes


def queues(rows):
    longest = {}
    for stream in sorted({r["stream"] for r in rows}):
        points = [(r["launch"], 1, 1) for r in rows if r["stream"] == stream] + [(r["begin"], 0, -1) for r in rows if r["stream"] == stream]
        now = most = 0
        for _, _, change in sorted(points):
            now += change
            most = max(most, now)
        longest[str(stream)] = most
    return longest


def figures(rows):
    spans = lambda chosen: union([(r["begin"], r["end"]) for r in rows if chosen(r)])
    busy, communication = spans(lambda r: True), spans(is_communication)
    compute = spans(lambda r: r["kind"] == "kernel" and not is_communication(r))
    whole = busy[-1][1] - busy[0][0]
    by_name, bandwidth = {}, {}
    for r in rows:
        by_name[r["name"]] = by_name.get(r["name"], 0) + r["end"] - r["begin"]
        if r["kind"] != "kernel":
            bandwidth.setdefault("Memset" if r["kind"] == "memset" else r["name"][:11], []).append(r["bytes"] / ((r["end"] - r["begin"]) * 1000))
    launches = [r for r in rows if r["call"] != "cuLaunchKernel"]
    return {
        "kernel_time_us": whole, "idle_us": whole - length(busy), "compute_us": length(compute), "non_compute_us": length(busy) - length(compute),
        "comm_us": length(communication), "overlap_pct": round(100 * length(intersection(compute, communication)) / length(communication), 2),
        "idle_breakdown_us": idle(rows), "gpu_rows": len(rows), "kernels": sum(r["kind"] == "kernel" for r in rows),
        "copies": sum(r["kind"] == "memcpy" for r in rows), "sets": sum(r["kind"] == "memset" for r in rows), "sum_us_by_name": by_name,
        "max_queue_length": queues(rows), "launch_stats_rows": len(launches),
        "mean_launch_delay_us": round(sum(max(0, r["begin"] - r["launch"] - r["call_us"]) for r in launches) / len(launches), 3),
        "mean_bw_GBs": {name: round(sum(v) / len(v), 4) for name, v in bandwidth.items()},
    }


def truth_of(out, job, truth):
    calls, ops = g.expected(out, truth)
    rows = rows_of(calls, ops)
    last = out.in_phase("active")[-1].start_ns / 1e3  # HTA leaves out the last of several steps
    of = figures([r for r in rows if r["launch"] < last])
    done = s.active_truth(out, job.target)
    of["all_kernels"] = sum(r["kind"] == "kernel" for r in rows)
    of["all_gpu_rows"] = len(rows)
    of["cpu_ops"] = sum(n[0] for row in done for part in ("operators", "nodes", "functions") for n in row[part].values())
    return of


# attempts so long that the probes are in place within one, so that the ranks' steps have the same numbers
STEP_US = (1000000, 2000000, 4000000)


def rank(directory, number, ranks, steps, step_us):
    job = g.Job("--ranges", 1, step_us=step_us, env={"RANK": str(number), "WORLD_SIZE": str(ranks), "LOCAL_RANK": str(number)})
    path = os.path.join(directory, "rank%d" % number)
    out = h.capture(job.target, path, "--wait", 2, "--warmup", 2, "--active", steps, "--exact", "--max-overhead", 10000, "--with-modules")
    _, truth = job.stop()
    h.check_output(out)
    shutil.copy(os.path.join(path, "trace", os.listdir(os.path.join(path, "trace"))[0]), os.path.join(directory, "trace"))
    return out, truth_of(out, job, truth)


def run_ranks(directory, ranks, steps, step_us):
    """None: on a machine this busy the probes were late, and the ranks' steps are numbered differently."""
    shutil.rmtree(directory, ignore_errors=True)
    os.makedirs(os.path.join(directory, "trace"))
    with concurrent.futures.ThreadPoolExecutor(ranks) as pool:
        results = list(pool.map(lambda number: rank(directory, number, ranks, steps, step_us), range(ranks)))
    numbers = [[step.attempt for step in out.in_phase("active")] for out, _ in results]
    return results if all(n == numbers[0] for n in numbers) else None


def demo(directory, ranks=2, steps=4):
    if os.path.exists(directory) and os.listdir(directory):
        raise FileExistsError("%s is not empty" % directory)
    g.fakes()
    s.built()
    for step_us in STEP_US:
        results = run_ranks(directory, ranks, steps, step_us)
        if results:
            break
    h.check(results, "the steps of the ranks are numbered differently")
    numbers = [step.attempt for step in results[0][0].in_phase("active")]
    truth = {"ranks": ranks, "steps": numbers, "hta_steps": numbers[:-1] if len(numbers) > 1 else numbers}
    for number, (_, of) in enumerate(results):
        truth["rank%d" % number] = of
    with open(os.path.join(directory, "truth.json"), "w") as f:
        json.dump(truth, f, indent=1)
    return [out for out, _ in results], truth


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("out")
    p.add_argument("--ranks", type=int, default=2)
    p.add_argument("--steps", type=int, default=4)
    opt = p.parse_args()
    try:
        h.need_capture()
        outs, truth = demo(opt.out, opt.ranks, opt.steps)
    except (h.Failure, h.Skip, FileExistsError) as e:
        sys.exit("gpu_demo: %s" % e)
    finally:
        h.clean_up()
    for number, out in enumerate(outs):
        print("rank %d\n%s" % (number, out.run.out))
    print("traces: %s\ntruth:  %s" % (os.path.join(opt.out, "trace"), os.path.join(opt.out, "truth.json")))


if __name__ == "__main__":
    main()
