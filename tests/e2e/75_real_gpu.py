#!/usr/bin/env python3
"""A real GPU (make e2e-gpu): a PyTorch job that trains on it, with the agent and without, against torch.profiler's account of the
same job. Skipped by name where there is none. How the two are compared (gpu_compare.py) is tested anywhere, on accounts of the
simulated device that are equal, and on such with one difference each, which must be found."""
import copy
import functools
import json
import os
import subprocess

import gpu_compare as c
import gpu_support as g
import harness as h
import torch_truth as tt

JOB = tt.JobSpec("cuda_train", (), ())
# every end probed and nothing given up: an operator that is not recorded has no work
WHOLE = tt.WINDOW + tt.ROOM + ("--exact",)
# cuBLAS has a runtime of its own, whose calls are not in the job's libcudart
LIBRARIES_OWN = r"aten::(mm|addmm|_addmm_activation|linear|matmul|bmm)"


# ---- the real one ----------------------------------------------------------------------------------------------------


@functools.lru_cache(None)
def python_with_gpu():
    """(interpreter, why there is none)."""
    reasons = []
    for python in h.interpreters():
        argv = [python.path, os.path.join(h.TARGETS, JOB.script + ".py"), "--check"]
        run = subprocess.run(argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=h.patience(180))
        if run.returncode == 0:
            return python, None
        said = [json.loads(line)["skip"] for line in run.stdout.splitlines() if line.startswith('{"skip"')]
        h.check(said, "%s --check: exit code %d: %s" % (JOB.script, run.returncode, run.stderr[-2000:]))
        reasons += said
    return None, "no GPU for a PyTorch here: " + ("; ".join(reasons) or "no PyTorch in this run (tools/setup.sh provides one)")


def need_gpu():
    python, reason = python_with_gpu()
    return python or h.skip(reason)


def by_attempt(events):
    return c.Account(events, lambda name: name == "attempt")


def theirs_of(python, directory):
    events = tt.kineto_events(tt.profiled(python, JOB, directory) + ".trace")
    h.check(events is not None, "torch.profiler's trace cannot be read")
    theirs = by_attempt(events)
    h.equal(len(theirs.attempts), tt.ACTIVE, "attempts in torch.profiler's trace")
    first = theirs.attempts[0].work
    # or the job would not show what is to be compared
    h.equal({w.kind for w in first}, {"kernel", "copy", "set"}, "kinds of work in torch.profiler's trace")
    h.equal({w.name[:11] for w in first if w.kind == "copy"}, {"Memcpy HtoD", "Memcpy DtoH"}, "copies in torch.profiler's trace")
    h.equal(len({w.stream for w in first if w.kind == "kernel"}), 2, "streams of kernels in torch.profiler's trace")
    return theirs


def watched(python, directory, *options, agent=True, args=()):
    """(output, target, which has ended)."""
    env = {"CUBLAS_WORKSPACE_CONFIG": ":4096:8"}
    if agent:
        h.make("agent")
        env["CUDA_INJECTION64_PATH"] = g.agent()
    t = h.torch_target(python, JOB.script, *args, env=env)
    out = h.capture(t, directory + "/out", *WHOLE, *options)
    h.check_unmodified(t.pid)
    t.done = t.finish() if args else t.stop()
    h.check_output(out)
    return out, t


def check_same(lines):
    h.check(not lines, "%d differences:\n  %s" % (len(lines), "\n  ".join(lines[:40])))


def check_watched(out, theirs):
    """The same as torch.profiler's, and consistent in itself."""
    gpu = out.profile["gpu"]
    if any("CUPTI is linked into" in (text or "") for text in [gpu["timing_reason"]] + gpu["remarks"]):
        h.skip("this PyTorch has CUPTI linked into itself: %s" % gpu["timing_reason"])
    h.equal((gpu["timing"], gpu["calls_by"]), ("available", "agent"), "gpu: %s" % gpu["timing_reason"])
    for remark in gpu["remarks"]:
        print("note: the agent says: %s" % remark)
    ours = by_attempt(out.trace["traceEvents"])
    print("note: %d kernels, %d copies, %d sets; calls that are not compared: %s"
          % (gpu["kernels"], gpu["copies"], gpu["sets"], c.uncompared_calls(ours, theirs)))
    check_same(c.differences(ours, theirs))
    g.check_operators(out)
    work = [e for e in out.on_device if e["cat"] in c.WORK]
    g.check_totals(out, [{"start_ns": int(e["ts"] * 1000), "end_ns": int(h.end(e) * 1000)} for e in work])


def with_the_agent():
    python = need_gpu()
    with h.scratch() as d:
        theirs = theirs_of(python, d)
        out, _ = watched(python, d)
        check_watched(out, theirs)


def with_the_agent_injected():
    python = need_gpu()
    with h.scratch() as d:
        theirs = theirs_of(python, d)
        out, _ = watched(python, d, "--gpu", "inject", agent=False)
        refused = [line for line in out.run.err.splitlines() if "the agent is not put into the job" in line]
        if refused:
            h.skip(refused[0])
        check_watched(out, theirs)


def without_the_agent():
    """Calls by probes: those that PyTorch makes itself, in the operators that it makes them in."""
    python = need_gpu()
    with h.scratch() as d:
        theirs = theirs_of(python, d)
        out, _ = watched(python, d, agent=False)
        gpu = out.profile["gpu"]
        h.equal((gpu["timing"], gpu["calls_by"], gpu["kernels"], out.on_device), ("unavailable", "probes", 0, []), "gpu")
        h.check("cuda timing: unavailable (no agent in the job" in out.run.out, out.run.out)
        ours = by_attempt(out.trace["traceEvents"])
        wanted = c.of_operators(LIBRARIES_OWN)
        h.check(sum(map(wanted, theirs.attempts[0].calls)) > 10, "torch.profiler's trace has no calls to compare")
        check_same(c.probed_differences(ours, theirs, LIBRARIES_OWN))


def result_is_unchanged():
    python = need_gpu()
    args = ("--attempts", 1000, "--pace-ms", 5, "--quiet")
    alone = h.torch_target(python, JOB.script, *args, gate=False, env={"CUBLAS_WORKSPACE_CONFIG": ":4096:8"}).finish()
    with h.scratch() as d:
        _, t = watched(python, d, args=args)
        h.equal({k: t.done[k] for k in ("checksum", "attempts")}, {k: alone[k] for k in ("checksum", "attempts")}, "the job's result")


# ---- the comparison --------------------------------------------------------------------------------------------------


@functools.lru_cache(None)
def simulated(version=28, agent_path=None):
    """The events of a capture of the simulated job, which does the same in every attempt."""
    with h.scratch() as d:
        job = g.Job(version=version, agent_path=agent_path)
        out = job.capture(d + "/out", "--max-overhead", 10000, "--exact")
        job.stop()
        h.check_output(out)
        return json.dumps(out.trace["traceEvents"], default=float)


def events_of(**kw):
    return json.loads(simulated(**kw))


def by_step(events):
    return c.Account(events, lambda name: name.startswith("ProfilerStep#"))


def two_accounts_are_equal():
    """Of two runs of a job, with other numbers in them, and each of itself."""
    one, other = by_step(events_of(version=18)), by_step(events_of(version=130001))
    h.equal(len(one.attempts), 5, "attempts")
    for a in one.attempts:
        h.check({w.kind for w in a.work} == {"kernel", "copy", "set"} and len({w.stream for w in a.work}) == 3, "work: %s" % (a.work,))
        h.check(len(a.calls) >= len(a.work) > 20, "%d calls, %d works" % (len(a.calls), len(a.work)))
        h.check({w.operator for w in a.work} > {"aten::mm", None}, "operators: %s" % {w.operator for w in a.work})
    for a, b in ((one, one), (one, other), (other, one)):
        h.equal(c.differences(a, b), [], "differences")
    h.equal(c.uncompared_calls(one, other), {}, "calls that are not compared")


def of_step(events, i, category, name=""):
    """Something of that kind in attempt i, and its call."""
    step = sorted((e for e in events if e.get("cat") == "user_annotation" and e["name"].startswith("ProfilerStep#")), key=lambda e: e["ts"])[i]
    calls = {e["args"]["correlation"]: e for e in events if e.get("cat") in c.CALLS and step["ts"] <= e["ts"] < h.end(step)}
    event = next(e for e in events if e.get("cat") == category and name in e["name"] and e["args"]["correlation"] in calls)
    return event, calls[event["args"]["correlation"]]


def changed(change):
    """The differences of an account with one change are those that the change says, (where, what, one less or one more), and no others,
    whichever of the two accounts has it."""
    plain = events_of()
    events = copy.deepcopy(plain)
    wanted = change(events)
    account, original = by_step(events), by_step(plain)
    for ours, theirs, sign in ((account, original, 1), (original, account, -1)):
        lines = c.differences(ours, theirs)
        h.equal(len(lines), len(wanted), "differences %s" % lines)
        for where, what, more in wanted:
            hits = [line for line in lines if line.startswith("%s: %s: " % (where, what))]
            h.equal(len(hits), 1, "lines of %s: %s in %s" % (where, what, lines))
            numbers = hits[0][len("%s: %s: " % (where, what)):].split(", by torch.profiler ")
            h.equal(int(numbers[0]) - int(numbers[1]), sign * more, hits[0])


def a_kernel_that_is_missing():
    def change(events):
        kernel, _ = of_step(events, 2, "kernel")
        events.remove(kernel)
        return [("attempt 2", "kernel " + kernel["name"], -1)]
    changed(change)


def a_set_too_many():
    def change(events):
        found, _ = of_step(events, 4, "gpu_memset")
        events.append(copy.deepcopy(found))
        return [("attempt 4", "set Memset (Device)", 1)]
    changed(change)


def a_copy_of_another_kind():
    def change(events):
        found, _ = of_step(events, 1, "gpu_memcpy")
        before, found["name"] = found["name"], "Memcpy HtoD (Pageable -> Device)"
        return [("attempt 1", "copy " + before, -1), ("attempt 1", "copy " + found["name"], 1)]
    changed(change)


def a_copy_of_another_size():
    def change(events):
        found, _ = of_step(events, 1, "gpu_memcpy")
        before, found["args"]["bytes"] = found["args"]["bytes"], 12
        return [("attempt 1, size", "copy %s, %d bytes" % (found["name"], before), -1), ("attempt 1, size", "copy %s, 12 bytes" % found["name"], 1)]
    changed(change)


def a_kernel_of_another_grid():
    def change(events):
        found, _ = of_step(events, 0, "kernel")
        before, found["args"]["grid"] = found["args"]["grid"], [7, 7, 7]
        of = lambda grid: "kernel %s, grid %s block %s" % (found["name"], grid, found["args"]["block"])
        return [("attempt 0, size", of(before), -1), ("attempt 0, size", of([7, 7, 7]), 1)]
    changed(change)


def a_kernel_on_another_stream():
    def change(events):
        kernel, _ = of_step(events, 3, "kernel", "cutlass")
        other, _ = of_step(events, 3, "kernel", "nccl")
        numbers = sorted({e["args"]["stream"] for e in events if e.get("cat") in c.WORK})
        of = lambda e: "kernel %s on device 0 stream #%d" % (kernel["name"], numbers.index(e["args"]["stream"]))
        before = of(kernel)
        kernel["args"]["stream"] = other["args"]["stream"]
        return [("attempt 3, stream", before, -1), ("attempt 3, stream", of(kernel), 1)]
    changed(change)


def a_kernel_of_another_operator():
    def change(events):
        names = {e["args"]["External id"]: e["name"] for e in events if e.get("cat") == "cpu_op"}
        kernel, _ = of_step(events, 3, "kernel", "cutlass")
        of = lambda: "kernel %s of %s" % (kernel["name"], names[kernel["args"]["External id"]])
        before = of()
        kernel["args"]["External id"] = next(i for i, name in names.items() if name != names[kernel["args"]["External id"]])
        return [("attempt 3, operator", before, -1), ("attempt 3, operator", of(), 1)]
    changed(change)


def a_kernel_of_no_operator():
    def change(events):
        names = {e["args"]["External id"]: e["name"] for e in events if e.get("cat") == "cpu_op"}
        kernel, _ = of_step(events, 3, "kernel", "cutlass")
        operator = names[kernel["args"].pop("External id")]
        return [("attempt 3, operator", "kernel %s of %s" % (kernel["name"], operator), -1),
                ("attempt 3, operator", "kernel %s of None" % kernel["name"], 1)]
    changed(change)


def a_kernel_of_another_attempt():
    def change(events):
        kernel, _ = of_step(events, 1, "kernel", "cutlass")
        _, call = of_step(events, 2, "kernel", "cutlass")
        kernel["args"]["correlation"] = call["args"]["correlation"]
        return [("attempt 1", "kernel " + kernel["name"], -1), ("attempt 2", "kernel " + kernel["name"], 1)]
    changed(change)


def a_call_that_is_missing():
    def change(events):
        _, launch = of_step(events, 1, "kernel")
        call = next(e for e in events if e.get("cat") == "cuda_runtime" and e["name"] == "cudaDeviceSynchronize" and e["ts"] > launch["ts"])
        events.remove(call)
        return [("attempt 1, calls", "cudaDeviceSynchronize", -1)]
    changed(change)


def a_kernel_of_no_call():
    events = events_of()
    kernel, _ = of_step(events, 0, "kernel")
    kernel["args"]["correlation"] = 1 << 40
    lines = c.differences(by_step(events), by_step(events_of()))
    h.check("work of no call: " + kernel["name"] in lines, "differences %s" % lines)


def an_attempt_that_is_missing():
    events = events_of()
    events.remove(next(e for e in events if e["name"].startswith("ProfilerStep#") and e["cat"] == "user_annotation"))
    lines = c.differences(by_step(events), by_step(events_of()))
    h.check("4 attempts, by torch.profiler 5" in lines, "differences %s" % lines)


def kernels_that_take_too_long():
    events = events_of()
    for e in events:
        if e.get("cat") == "kernel":
            e["dur"] *= 2.5
    for a, b in ((events, events_of()), (events_of(), events)):
        lines = c.differences(by_step(a), by_step(b))
        h.check(len(lines) == 1 and lines[0].startswith("kernel: "), "differences %s" % lines)


def calls_by_probes_alone():
    """Against the agent's account: equal, and a call less is found, but not in an operator that is left out."""
    probed, theirs = events_of(agent_path=""), by_step(events_of())
    h.check(len(by_step(probed).attempts[0].calls) > 20, "no calls were seen by probes")
    h.equal(c.probed_differences(by_step(probed), theirs, "aten::addmm"), [], "differences")
    ids = {name: {e["args"]["External id"] for e in probed if e.get("cat") == "cpu_op" and e["name"] == name} for name in ("aten::mm", "aten::addmm")}
    for name, want in (("aten::mm", 1), ("aten::addmm", 0)):
        less = copy.deepcopy(probed)
        less.remove(next(e for e in less if e.get("cat") == "cuda_runtime" and e["name"] == "cudaLaunchKernel" and e["args"].get("External id") in ids[name]))
        lines = c.probed_differences(by_step(less), theirs, "aten::addmm")
        h.equal(len(lines), want, "differences %s" % lines)
        h.check(all("cudaLaunchKernel of aten::mm: " in line for line in lines), "differences %s" % lines)


def in_the_form_of_torch_profiler():
    """As Kineto writes it: whole numbers, rows of other kinds, a call of the driver inside of the runtime's, work without an operator."""
    x = lambda cat, name, ts, dur, pid=9, tid=9, **args: {"ph": "X", "cat": cat, "name": name, "pid": pid, "tid": tid, "ts": ts, "dur": dur, "args": args}
    account = by_attempt([
        {"ph": "M", "name": "process_name", "ts": 0, "pid": 9, "tid": 0, "args": {"name": "python"}},
        x("user_annotation", "attempt", 100, 50, **{"External id": 1}),
        x("cpu_op", "aten::mm", 110, 20, **{"External id": 2}),
        x("cuda_runtime", "cudaLaunchKernel_v7000", 112.5, 8, **{"External id": 2, "cbid": 211, "correlation": 100}),
        x("cuda_driver", "cuLaunchKernel", 113, 6, **{"External id": 2, "cbid": 307, "correlation": 100}),
        x("cuda_runtime", "cudaMemcpyAsync", 140, 2, cbid=41, correlation=101),
        x("cuda_runtime", "cudaDeviceSynchronize", 160, 2, cbid=165, correlation=102),
        x("kernel", "sgemm", 190, 12.25, 0, 7, **{"External id": 2, "device": 0, "stream": 7, "correlation": 100, "grid": [1, 2, 3], "block": [4, 5, 6]}),
        x("gpu_memcpy", "Memcpy HtoD (Pinned -> Device)", 204, 1.5, 0, 13, device=0, stream=13, correlation=101, bytes=256),
        x("gpu_user_annotation", "attempt", 189, 20, 0, 7, **{"External id": 1}),
        {"ph": "X", "cat": "Trace", "name": "PyTorch Profiler (0)", "pid": "Spans", "tid": "PyTorch Profiler", "ts": 1, "dur": 900},
        {"ph": "s", "id": 100, "pid": 9, "tid": 9, "ts": 112.5, "cat": "ac2g", "name": "ac2g"},
    ])
    h.equal(account.attempts, [c.Attempt(
        [c.Work("kernel", "sgemm", "device 0 stream #0", "aten::mm", "grid [1, 2, 3] block [4, 5, 6]", 12.25),
         c.Work("copy", "Memcpy HtoD (Pinned -> Device)", "device 0 stream #1", None, "256 bytes", 1.5)],
        [c.Call("cudaLaunchKernel", "aten::mm"), c.Call("cuLaunchKernel", "aten::mm"), c.Call("cudaMemcpyAsync", None)])], "the account")
    h.equal((c.differences(account, account), account.orphans), ([], []), "differences")


os.environ.pop("CUDA_INJECTION64_PATH", None)
h.main(with_the_agent, with_the_agent_injected, without_the_agent, result_is_unchanged, two_accounts_are_equal, a_kernel_that_is_missing, a_set_too_many,
       a_copy_of_another_kind, a_copy_of_another_size, a_kernel_of_another_grid, a_kernel_on_another_stream, a_kernel_of_another_operator,
       a_kernel_of_no_operator, a_kernel_of_another_attempt, a_call_that_is_missing, a_kernel_of_no_call, an_attempt_that_is_missing,
       kernels_that_take_too_long, calls_by_probes_alone, in_the_form_of_torch_profiler)
