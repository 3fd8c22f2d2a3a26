"""The stand-in with a simulated device: its own list of what the device did, against what a capture shows."""
import collections
import json
import math
import os
import re

import harness as h
import standin_support as s

# the libcupti whose records have the layout of that version
CUPTI = {18: "libcupti.so.11.8", 24: "libcupti.so.12", 28: "libcupti.so.12", 130001: "libcupti.so.13", 130400: "libcupti.so.13"}
MUTED = {"cudaGetDevice", "cudaSetDevice", "cudaGetLastError", "cudaEventCreate", "cudaEventCreateWithFlags", "cudaEventDestroy"}
DRIVER_SHOWN = {"cuLaunchKernel", "cuLaunchKernelEx"}
CATEGORY = {"kernel": "kernel", "memcpy": "gpu_memcpy", "peer": "gpu_memcpy", "memset": "gpu_memset"}
EDGE_NS = 100  # rows that touch are drawn some ns apart
# what each operator of the stand-in asks of the device, see targets/standin/gpu.cpp
LAUNCHES = {"aten::mm", "aten::addmm", "aten::relu", "aten::_log_softmax", "aten::add_", "aten::_foreach_add_"}
PLAN = ("--wait", 2, "--warmup", 2, "--active", 5)


def fakes():
    """The directory of the stand-ins of the CUDA libraries."""
    h.make("fakes", "agent")
    return os.path.join(h.BUILD, "fakes")


def agent():
    """The one that tpbpf takes: beside it, if there is one."""
    beside = os.path.join(os.path.dirname(os.environ.get("TPBPF_BINARY", h.TPBPF)), "libtpbpf-agent.so")
    return beside if os.path.exists(beside) else os.path.join(h.BUILD, "libtpbpf-agent.so")


class Job:
    """One stand-in with a device."""

    def __init__(self, *args, version=28, clock="real", faults="", agent_path=None, env=None, step_us=3000, directory=None, **kw):
        directory = directory or fakes()
        self.truth_path = os.path.join(h.BUILD, "gpu-truth-%d-%d" % (os.getpid(), len(h.Target.live)))
        given = {"STANDIN_CUPTI": CUPTI[version], "FAKE_CUPTI_VERSION": str(version), "FAKE_CUPTI_CLOCK": clock, "FAKE_CUPTI_FAULTS": faults,
                 "CUDA_INJECTION64_PATH": agent() if agent_path is None else agent_path, **(env or {})}
        self.target = s.standin("--step-us", step_us, "--gpu", directory, "--gpu-truth", self.truth_path, *args, env=given, **kw)

    def capture(self, path, *args, **kw):
        return h.capture(self.target, path, *PLAN, *args, **kw)

    def stop(self):
        done = self.target.stop()
        with open(self.truth_path) as f:
            truth = json.load(f)
        os.unlink(self.truth_path)
        return done, truth


def plain(name):
    return re.sub(r"_v\d+$", "", name)


def is_shown(call):
    name = plain(call["name"])
    return name in DRIVER_SHOWN if call["domain"] == "driver" else name not in MUTED


def expected(out, truth):
    """The calls that began in a window and are shown, and what the device did for them."""
    spans = [(s.start_ns, s.start_ns + s.duration_ns) for s in out.in_phase("active")]
    calls = {c["correlation"]: c for c in truth["calls"] if is_shown(c) and any(begin <= c["start_ns"] < end for begin, end in spans)}
    return calls, [o for o in truth["ops"] if o["correlation"] in calls]


def near(got, want, slack_ns, what):
    h.check(abs(got - want) <= slack_ns, "%s: %d, true %d" % (what, got, want))


def check_calls(out, calls, slack_ns):
    got = {e["args"]["correlation"]: e for e in out.cuda_calls}
    h.equal(len(got), len(out.cuda_calls), "correlation ids of calls, used once")
    h.equal(set(got), set(calls), "calls of the window")
    for correlation, call in calls.items():
        e = got[correlation]
        h.equal((e["name"], e["cat"], e["tid"], e["args"]["cbid"]), (plain(call["name"]), "cuda_" + call["domain"], call["thread"], call["cbid"]),
                "call %d" % correlation)
        near(h.monotonic_ns(out, e["ts"]), call["start_ns"], slack_ns, "start of call %d" % correlation)
        near(int(e["dur"] * 1000), call["end_ns"] - call["start_ns"], slack_ns, "duration of call %d" % correlation)


def key(device, stream, correlation, start):
    return device, stream, correlation, start


def occupancy(op):
    """Percent of the simulated device's threads: it is as an H200, of compute capability 9.0."""
    up = lambda value, unit: -(-value // unit) * unit
    threads = math.prod(op["block"])
    warps = up(threads, 32) // 32
    shared = up(op["static_shared"] + op["dynamic_shared"] + 1024, 128)
    held = min(64 // warps, 32, 16384 // up(op["registers"] * 32, 256) * 4 // warps, 233472 // shared)
    return int(min(held, math.prod(op["grid"]) / 132) * threads / 2048 * 100 + 0.5)


def check_work(out, ops, slack_ns):
    """In the order of each stream, so that times need not be equal to the last nanosecond."""
    shown = [e for e in out.on_device if e["cat"] in ("kernel", "gpu_memcpy", "gpu_memset")]
    h.equal(len(shown), len(ops), "kernels, copies and sets")
    order = lambda e: (e["args"]["correlation"], e["ts"])
    for e, o in zip(sorted(shown, key=order), sorted(ops, key=lambda o: (o["correlation"], o["start_ns"]))):
        what = "%s of call %d" % (o["kind"], o["correlation"])
        h.equal((e["cat"], e["pid"], e["tid"], e["args"]["device"], e["args"]["stream"], e["args"]["context"], e["args"]["correlation"]),
                (CATEGORY[o["kind"]], o["device"], o["stream"], o["device"], o["stream"], o["context"], o["correlation"]), what)
        near(h.monotonic_ns(out, e["ts"]), o["start_ns"], slack_ns, "start of the " + what)
        near(int(e["dur"] * 1000), o["end_ns"] - o["start_ns"], slack_ns, "duration of the " + what)
        if o["kind"] == "kernel":
            h.equal((e["args"]["grid"], e["args"]["block"], e["args"]["registers per thread"], e["args"]["shared memory"]),
                    (o["grid"], o["block"], o["registers"], o["static_shared"] + o["dynamic_shared"]), what)
            h.equal(e["args"]["est. achieved occupancy %"], occupancy(o), "occupancy of the " + what)
        else:
            h.equal(e["args"]["bytes"], o["bytes"], "bytes of the " + what)


def innermost(out, call):
    """The operator around a call by the trace alone; None: none."""
    around = [e for e in out.events if e["cat"] == "cpu_op" and e["tid"] == call["tid"] and e["ts"] <= call["ts"] < h.end(e)]
    return max(around, key=lambda e: (e["ts"], e["args"]["External id"]))["args"]["External id"] if around else None


def check_operators(out):
    """Calls and work carry the id of the innermost operator; arrows lead from the one to the other."""
    calls = {e["args"]["correlation"]: e for e in out.cuda_calls}
    for e in calls.values():
        h.equal(e["args"].get("External id"), innermost(out, e), "operator of call %d" % e["args"]["correlation"])
    work = [e for e in out.on_device if e["cat"] in ("kernel", "gpu_memcpy", "gpu_memset")]
    for e in work:
        h.equal(e["args"].get("External id"), calls[e["args"]["correlation"]]["args"].get("External id"), "operator of %r" % e)
    arrows = [e for e in out.trace["traceEvents"] if e["ph"] in "sf" and e["cat"] == "ac2g"]
    starts = {e["id"]: e for e in arrows if e["ph"] == "s"}
    heads = collections.Counter((e["id"], e["pid"], e["tid"], e["ts"]) for e in arrows if e["ph"] == "f")
    h.equal(heads, collections.Counter((e["args"]["correlation"], e["pid"], e["tid"], e["ts"]) for e in work), "heads of the arrows")
    for e in work:
        start, call = starts[e["args"]["correlation"]], calls[e["args"]["correlation"]]
        h.equal((start["pid"], start["tid"], start["ts"]), (call["pid"], call["tid"], call["ts"]), "start of an arrow")
        h.check(e["ts"] >= call["ts"], "%r begins before its call" % e)


def check_totals(out, ops):
    """cuda_ops.txt adds up to the durations of the work, and operators have what their calls asked for."""
    total = sum(o["end_ns"] - o["start_ns"] for o in ops)
    rows = [r for r in out.device_rows if r["kind"] == "device"]
    near(out.profile["gpu"]["self_total_ns"], total, 5 * len(ops), "device time in all")
    near(sum(r["device_self_ns"] for r in rows), total, 5 * len(ops), "device time of the rows")
    h.equal(sum(r["count"] for r in rows), len(ops), "calls of the rows of the device")
    by_operator = collections.Counter()
    for e in out.on_device:
        if e["cat"] in ("kernel", "gpu_memcpy", "gpu_memset") and "External id" in e["args"]:
            by_operator[e["args"]["External id"]] += int(e["dur"] * 1000)
    names = collections.Counter()
    for e in out.events:
        names[e["name"]] += by_operator.get(e["args"]["External id"], 0) if e["cat"] == "cpu_op" else 0
    for r in out.rows:
        if r["kind"] == "operator":
            near(r["device_self_ns"], names[r["name"]], 5 * r["count"], "device time of " + r["name"])
    text = open(os.path.join(out.path, "cuda_ops.txt")).read()
    shown = re.search(r"Self CUDA time total: ([\d.]+)(us|ms|s)", text)
    h.check(shown, "no total in cuda_ops.txt")
    us = float(shown.group(1)) * {"us": 1, "ms": 1e3, "s": 1e6}[shown.group(2)]
    h.check(abs(us - total / 1e3) <= 0.001 * total / 1e3 + 0.01, "cuda_ops.txt says %s, true %.3f us" % (shown.group(0), total / 1e3))


def union_ns(spans):
    total, until = 0, 0
    for a, b in sorted(spans):
        total += max(0, b - max(a, until))
        until = max(until, b)
    return total


def check_busy(out, ops, slack_ns):
    steps = {(r["attempt"], r["device"]): r for r in out.profile["gpu"]["steps"]}
    for step in out.in_phase("active"):
        begin, end = step.start_ns, step.start_ns + step.duration_ns
        for device in {o["device"] for o in ops}:
            busy = union_ns([(max(o["start_ns"], begin), min(o["end_ns"], end)) for o in ops
                             if o["device"] == device and o["start_ns"] < end and o["end_ns"] > begin])
            row = steps[step.attempt, device]
            near(row["busy_ns"], busy, 2 * slack_ns + 10 * len(ops), "busy time of attempt %d" % step.attempt)
            h.equal(row["busy_ns"] + row["idle_ns"], step.duration_ns, "busy and idle time of attempt %d" % step.attempt)


def check_all(out, truth, slack_ns):
    calls, ops = expected(out, truth)
    h.check(len(ops) > 100, "the device did %d things" % len(ops))
    check_calls(out, calls, slack_ns)
    check_work(out, ops, slack_ns)
    check_operators(out)
    check_totals(out, ops)
    check_busy(out, ops, slack_ns)
    gpu = out.profile["gpu"]
    h.equal((gpu["timing"], gpu["kernels"], gpu["copies"], gpu["sets"], gpu["calls"]),
            ("available", *(sum(o["kind"] in kinds for o in ops) for kinds in (("kernel",), ("memcpy", "peer"), ("memset",))), len(calls)), "profile.json")


# ---- calls that were seen by probes alone --------------------------------------------------------------------------------------


def in_order(calls, start):
    by_thread = collections.defaultdict(list)
    for call in sorted(calls, key=start):
        by_thread[call.get("tid", call.get("thread"))].append(call)
    return by_thread


def of_the_runtimes_own(call, calls):
    return call["domain"] == "driver" and any(c["domain"] == "runtime" and c["thread"] == call["thread"] and
                                              c["start_ns"] <= call["start_ns"] and call["end_ns"] <= c["end_ns"] for c in calls)


def check_probed_calls(out, truth):
    """Each call of the window once, on its thread, in order, round the true one and little longer."""
    calls, _ = expected(out, truth)
    calls = {i: c for i, c in calls.items() if not of_the_runtimes_own(c, calls.values())}
    h.check(len(calls) > 100, "the device was asked for %d things" % len(calls))
    got, want = in_order(out.cuda_calls, lambda e: e["ts"]), in_order(calls.values(), lambda c: c["start_ns"])
    h.equal({tid: len(rows) for tid, rows in got.items()}, {tid: len(rows) for tid, rows in want.items()}, "calls of each thread")
    longer = []
    for tid, rows in want.items():
        for i, (e, call) in enumerate(zip(got[tid], rows)):
            h.equal((e["name"], e["cat"], e["args"]["cbid"]), (plain(call["name"]), "cuda_" + call["domain"], call["cbid"]), "call %d of thread %d" % (i, tid))
            h.check("correlation" not in e["args"], "a correlation id that nobody gave: %r" % e)
            begin, end = h.monotonic_ns(out, e["ts"]), h.monotonic_ns(out, h.end(e))
            h.check(begin <= call["start_ns"] + EDGE_NS and call["end_ns"] <= end + EDGE_NS,
                    "call %d of thread %d: %d to %d, true %d to %d" % (i, tid, begin, end, call["start_ns"], call["end_ns"]))
            longer.append((call["start_ns"] - begin) + (end - call["end_ns"]))
    longer.sort()
    # on a busy machine a few calls are interrupted between the probe and the true edge
    h.check(longer[len(longer) // 2] < 10000 * h.SLOW, "half of the calls are longer by %d ns" % longer[len(longer) // 2])
    return calls


def check_probed_operators(out):
    """Tied to the innermost operator, which is one that makes such calls."""
    operators = {e["args"]["External id"]: e["name"] for e in out.events if e["cat"] == "cpu_op"}
    for e in out.cuda_calls:
        h.equal(e["args"].get("External id"), innermost(out, e), "operator of %r" % e)
    of = collections.defaultdict(set)
    for e in out.cuda_calls:
        of[e["name"]].add(operators.get(e["args"].get("External id")))
    h.equal(of["cudaMemsetAsync"], {"aten::zero_"}, "operators that set memory")
    h.equal(of["cudaLaunchKernel"] - {None}, LAUNCHES, "operators that launch kernels")
    h.equal(of["cudaDeviceSynchronize"], {None}, "operators that wait for the device")


def check_probed_said(out, calls, reason):
    """What is known and what is not stands in every output; reason: how the sentence begins that says why."""
    gpu, activity = out.profile["gpu"], out.profile["activities"]["gpu"]
    h.equal((gpu["timing"], gpu["calls_by"], gpu["calls"], gpu["kernels"], gpu["launches_without_work"], gpu["steps"]),
            ("unavailable", "probes", len(calls), 0, 0, []), "profile.json")
    h.check(gpu["functions_probed"] >= 10, "functions that were probed: %d" % gpu["functions_probed"])
    for said in (gpu["timing_reason"], activity["reason"]):
        h.check(said.startswith(reason), "the reason is %r" % said)
    h.equal(activity["state"], "degraded", "gpu")
    h.equal(out.on_device, [], "rows of a device")
    h.check("CUDA: %d calls, seen by probes" % len(calls) in out.run.out, out.run.out)
    h.check("cuda timing: unavailable (" + reason in out.run.out, out.run.out)
    with open(os.path.join(out.path, "cuda_ops.txt")) as f:
        h.check(f.read().startswith("cuda timing: unavailable (" + reason), "cuda_ops.txt")
    rows = {r["name"]: r for r in out.rows if r["name"].startswith("cu")}
    counts = collections.Counter(plain(c["name"]) for c in calls.values())
    h.equal({n: r["count"] for n, r in rows.items()}, dict(counts), "rows of calls")
    h.equal({r["Name"]: int(r["# of Calls"]) for r in out.table_rows if r["Name"] in counts}, dict(counts), "rows of cpu_ops.txt")
    h.equal([r["name"] for r in rows.values() if r["inferred"] or r["unwound"]], [], "calls without an end of their own")
