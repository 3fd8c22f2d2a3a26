#!/usr/bin/env python3
"""GPU jobs without the agent: the calls of the CUDA runtime and driver are seen by probes, on a simulated device against
the device's own list, and in a real libcudart; what a GPU did with them is said to be unknown."""
import collections
import contextlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

import consumers
import gpu_support as g
import harness as h
import standin_support as s

REASON = "no agent in the job; start it with CUDA_INJECTION64_PATH="


def job(*args, **kw):
    return g.Job(*args, agent_path="", **kw)


def watched(*args, options=(), code=0, **kw):
    h.need_bulk("probing calls of CUDA takes")
    with h.scratch() as d:
        j = job(*args, **kw)
        out = j.capture(d + "/out", "--max-overhead", 10000, *options)
        h.check_unmodified(j.target.pid)
        done, truth = j.stop()
        h.check_output(out)
        calls = g.check_probed_calls(out, truth)
        g.check_probed_operators(out)
        g.check_probed_said(out, calls, REASON)
        return out


def the_jobs_own_calls():
    watched()


def with_every_end_probed():
    watched(options=("--exact",))


def launches_by_the_driver():
    """As Triton's: rows of the driver. A launch of the runtime's that ends in the driver's function is one row."""
    h.need_bulk("probing calls of CUDA takes")
    with h.scratch() as d:
        j = job(env={"STANDIN_GPU_DRIVER": "1"})
        out = j.capture(d + "/out", "--max-overhead", 10000)
        _, truth = j.stop()
        h.check_output(out)
        calls, _ = g.expected(out, truth)
        h.check(any(g.of_the_runtimes_own(c, calls.values()) for c in calls.values()), "no launch of the runtime's ended in the driver")
        g.check_probed_said(out, g.check_probed_calls(out, truth), REASON)
        names = {e["args"]["External id"]: e["name"] for e in out.events}
        driver = [e for e in out.cuda_calls if e["cat"] == "cuda_driver"]
        h.check(len(driver) >= 5, "calls of the driver: %d" % len(driver))
        h.equal({(e["name"], names[e["args"]["External id"]]) for e in driver}, {("cuLaunchKernel", "aten::relu")}, "calls of the driver")


def operators_of_many_threads():
    """Which do not ask the device for anything, while the training thread does."""
    watched("--operators", 1, "--op-threads", 4, "--op-errors", 50)


def without_operators():
    """Calls alone: no operator to tie them to."""
    h.need_bulk("probing calls of CUDA takes")
    with h.scratch() as d:
        j = job()
        out = j.capture(d + "/out", "--activities", "ranges")
        _, truth = j.stop()
        h.check_output(out)
        g.check_probed_said(out, g.check_probed_calls(out, truth), REASON)
        h.equal({e["args"].get("External id") for e in out.cuda_calls}, {None}, "operators of the calls")


def close_to_what_they_took():
    """The tables' times are less what the probes cost inside a call, and no less: most of what a stepped end costs comes behind it."""
    h.need_bulk("probing calls of CUDA takes")
    with h.scratch() as d:
        j = job()
        out = j.capture(d + "/out", "--max-overhead", 10000, "--active", 30)
        _, truth = j.stop()
        calls = g.check_probed_calls(out, truth)
        # the one that is always longer than what its probes cost
        name = "cudaDeviceSynchronize"
        true_ns = [c["end_ns"] - c["start_ns"] for c in sorted(calls.values(), key=lambda c: c["start_ns"]) if g.plain(c["name"]) == name]
        seen_ns = [int(e["dur"] * 1000) for e in sorted(out.cuda_calls, key=lambda e: e["ts"]) if e["name"] == name]
        longer = sorted(seen - true for seen, true in zip(seen_ns, true_ns))[len(true_ns) // 2]
        row = next(r for r in out.rows if r["name"] == name)
        less = (row["raw_total_ns"] - row["total_ns"]) / row["count"]
        h.check(0 < less < longer + 1000, "calls are seen %d ns longer than they are, and the tables take off %d" % (longer, less))


def result_is_unchanged():
    h.need_bulk("probing calls of CUDA takes")
    alone = s.unwatched("--step-us", 3000, "--attempts", 60)
    with h.scratch() as d:
        j = job("--attempts", 60, step_us=30000)
        out = j.capture(d + "/out", "--active", 2)
        done = j.target.finish()
        h.check(out.cuda_calls, "no call was seen")
        s.same_result({k: done[k] for k in ("checksum",)}, {k: alone[k] for k in ("checksum",)})


def replayed():
    h.need_bulk("probing calls of CUDA takes")
    with h.scratch() as d:
        j = job()
        first = j.capture(d + "/out", "--keep-raw")
        j.stop()
        run = subprocess.run([h.TPBPF, "report", d + "/out/capture.raw", "-o", d + "/again"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        h.equal(run.returncode, 0, "exit code of report; it says %r" % run.stderr)
        second = h.Output(d + "/again")
        h.check(len(first.cuda_calls) > 100, "calls: %d" % len(first.cuda_calls))
        h.equal(second.trace, first.trace, "trace")
        h.equal(second.table_text, first.table_text, "cpu_ops.txt")
        h.equal((second.profile["gpu"], second.profile["operators"]), (first.profile["gpu"], first.profile["operators"]), "profile.json")
        h.check("cuda timing: unavailable" in run.stdout, run.stdout)


@contextlib.contextmanager
def libraries(change):
    """The stand-ins of CUDA in a directory of their own, changed."""
    with h.scratch() as d:
        shutil.copytree(g.fakes(), d + "/fakes")
        change(d + "/fakes")
        yield d + "/fakes"


def stripped():
    if not shutil.which("strip"):
        h.skip("needs strip (binutils)")

    def strip(directory):
        for name in ("libcudart.so.12", "libcuda.so.1"):
            subprocess.run(["strip", "--strip-all", os.path.join(directory, name)], check=True)
    with libraries(strip) as directory:
        watched(directory=directory)


def renamed(name):
    def rename(directory):
        os.rename(os.path.join(directory, "libcudart.so.12"), os.path.join(directory, name))
        os.symlink(name, os.path.join(directory, "libcudart.so.12"))
    return libraries(rename)


def named_as_in_a_bundle():
    with renamed("libcudart-1ab2c3d4.so.12.8.57") as directory:
        watched(directory=directory)


def linked_statically():
    """No libcudart is mapped: the runtime is part of a library of PyTorch's."""
    with renamed("libtorch_cuda.so") as directory, h.scratch() as d:
        j = job(directory=directory)
        out = j.capture(d + "/out")
        j.stop()
        h.check_output(out)
        h.equal(out.cuda_calls, [], "calls")
        lost = "calls of the CUDA runtime, which is linked statically into libtorch_cuda.so"
        h.check("not seen: " + lost in out.run.out, out.run.out)
        h.equal([p["lost"] for p in out.profile["plan"]["probe_sites"] if "libcudart" in p["point"]], [lost], "what profile.json has missing")


def the_agent_alone_where_there_is_one():
    with h.scratch() as d:
        j = g.Job()
        out = j.capture(d + "/out")
        _, truth = j.stop()
        g.check_all(out, truth, 200)
        h.equal((out.profile["gpu"]["calls_by"], out.profile["gpu"]["functions_probed"]), ("agent", 0), "calls")


def switched_off():
    with h.scratch() as d:
        j = job()
        run = h.tpbpf("-p", j.target.pid, "--describe", "--gpu", "off").exits(0)
        h.check("calls of CUDA" not in run.out, run.out)
        out = j.capture(d + "/out", "--gpu", "off")
        j.stop()
        h.check_output(out)
        gpu = out.profile["gpu"]
        h.equal((out.cuda_calls, gpu["calls"], gpu["calls_by"], gpu["functions_probed"]), ([], 0, None, 0), "calls")
        h.check("cuda timing" not in out.run.out and not os.path.exists(out.path + "/cuda_ops.txt"), out.run.out)


def described():
    j = job()
    run = h.tpbpf("-p", j.target.pid, "--describe", "-v").exits(0)
    j.stop()
    functions = re.search(r"calls of CUDA: (\d+) functions of \S*/libcudart\.so\.12, probed in the window", run.out)
    h.check(functions and int(functions.group(1)) >= 10, run.out)
    h.check(re.search(r"calls of CUDA: 1 functions of \S*/libcuda\.so\.1\b", run.out), run.out)
    h.check(re.search(r"^  cudaLaunchKernel +window +\w+ +0x[0-9a-f]+  ret 0x[0-9a-f]+", run.out, re.M), run.out)
    h.check("cudaGetLastError" not in run.out, run.out)
    h.check("the agent" not in run.out, run.out)
    j = g.Job()
    run = h.tpbpf("-p", j.target.pid, "--describe").exits(0)
    j.stop()
    h.check(re.search(r"calls of CUDA: \d+ functions of \S*/libcudart\.so\.12, probed in the window if the agent cannot report them", run.out), run.out)


def left_out_one_by_one():
    """As on a kernel without uprobe_multi."""
    with h.scratch() as d:
        j = job()
        out = j.capture(d + "/out", "--attach", "single")
        j.stop()
        h.check_output(out)
        h.equal((out.cuda_calls, out.profile["gpu"]["calls_by"]), ([], None), "calls")
        h.check("calls of CUDA are not recorded" in out.run.err, out.run.err)
        reason = out.profile["activities"]["gpu"]
        h.check(reason["state"] == "off" and "nor can this kernel probe the calls" in reason["reason"], "gpu: %s" % reason)


def given_up_for_the_bound():
    """What they cost is held against --max-overhead as what operators cost is; calls and what is said of them agree."""
    h.need_bulk("probing calls of CUDA takes")
    with h.scratch() as d:
        j = job(step_us=500)
        out = j.capture(d + "/out", "--max-overhead", "1%")
        j.stop()
        h.check_output(out)
        modes = {m["name"]: m for m in out.profile["timing"]["modes"] if m["name"].startswith("cuda")}
        launch = modes["cudaLaunchKernel"]
        h.check(launch["exact_cost_ns"] > 0 and launch["mode"] != "exact", "a launch is %s" % launch)
        seen = collections.Counter(e["name"] for e in out.cuda_calls)
        h.equal({n for n, m in modes.items() if m["mode"] == "off"} & set(seen), set(), "calls that were given up")
        h.equal(out.profile["gpu"]["calls"], sum(seen.values()), "calls")
        for e in out.cuda_calls:
            h.equal(e["args"].get("inferred end", False), modes[e["name"]]["mode"] == "begin_only", "the end of %r" % e)


def traces(d):
    h.need_bulk("probing calls of CUDA takes")
    j = job()
    out = j.capture(d + "/out", "--max-overhead", 10000)
    j.stop()
    h.check(len(out.cuda_calls) > 100, "calls: %d" % len(out.cuda_calls))
    return out


def holistic_trace_analysis():
    python = consumers.environment("hta")
    with h.scratch() as d:
        out = traces(d)
        rows = {r["analysis"]: r for r in consumers.checker(python, "check_hta.py", out.path + "/trace", "--require", "cpu")}
        # it leaves out the last of several steps, but not when it counts rows
        h.equal(rows["profiler_steps"]["steps"], [t.attempt for t in out.in_phase("active")][:4], "steps")
        h.check(rows["parse"]["rows_by_category"]["0"]["cuda_runtime"] > 100, "rows: %s" % rows["parse"])


def tensorboard_plugin():
    python = consumers.environment("tb")
    with h.scratch() as d:
        out = traces(d)
        rows = consumers.checker(python, "check_tb.py", out.path + "/trace", "--views", "overall,operator,trace")
        parsed = next(r for r in rows if r["part"].startswith("parse "))
        h.equal(parsed["steps"], [str(t.attempt) for t in out.in_phase("active")], "steps")
        h.check(not parsed.get("log"), "the parser complains: %s" % parsed.get("log"))


# ---- the real libraries ----------------------------------------------------------------------------------------------

RUNTIMES = {"libcudart.so.11.0": "nvidia-cuda-runtime-cu11==11.8.89", "libcudart.so.12": "nvidia-cuda-runtime-cu12==12.9.79",
            "libcudart.so.13": "nvidia-cuda-runtime==13.5.37"}
MUTED = {"cudaGetDevice", "cudaSetDevice", "cudaGetLastError", "cudaEventCreate", "cudaEventCreateWithFlags", "cudaEventDestroy"}
CHECK = os.path.join(h.BUILD, "tests", "check_sites")


def real(name):
    """A real libcudart from the package index, kept under build/; skipped by name where there is none."""
    directory = os.path.join(h.BUILD, "cudart", name)
    path = os.path.join(directory, name)
    if os.path.exists(path):
        return path
    os.makedirs(os.path.dirname(directory), exist_ok=True)
    with tempfile.TemporaryDirectory(dir=os.path.dirname(directory)) as d:
        got = subprocess.run([sys.executable, "-m", "pip", "download", "-q", "--no-deps", "--only-binary", ":all:", "--timeout", "30", "--retries", "1",
                              "-d", d, RUNTIMES[name]], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        if got.returncode:
            h.skip("the package index does not give %s" % RUNTIMES[name])
        shutil.unpack_archive(next(os.path.join(d, f) for f in os.listdir(d) if f.endswith(".whl")), d + "/files", "zip")
        found = next(os.path.join(at, name) for at, _, files in os.walk(d + "/files") if name in files)
        os.makedirs(directory, exist_ok=True)
        shutil.move(found, path)
    return path


def exported(path):
    run = subprocess.run(["readelf", "-W", "--dyn-syms", path], stdout=subprocess.PIPE, text=True, check=True)
    rows = re.findall(r"^ *\d+: ([0-9a-f]+) +(\d+) FUNC +GLOBAL +DEFAULT +\d+ (\w+)@", run.stdout, re.M)
    return {name: (int(at, 16), int(size)) for at, size, name in rows if re.match(r"cuda[A-Z]", name)}


def real_sites(name):
    """Every function that torch.profiler shows has a beginning that is emulated, and each of its rets."""
    if not os.access(CHECK, os.X_OK):
        h.skip("build/tests/check_sites is not built")
    path = real(name)
    functions = exported(path)
    run = subprocess.run([CHECK, "--cuda", path], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    h.equal(run.returncode, 0, "exit code of check_sites: " + run.stderr)
    lines = run.stdout.splitlines()
    by_address = collections.defaultdict(set)
    for function, (address, _) in functions.items():
        if function not in MUTED:
            by_address[address].add(function)
    h.check(len(by_address) > 300, "the library has %d functions" % len(by_address))
    h.equal(lines[0], "calls %d left-out 0" % len(by_address), "functions of %s" % name)
    with open(path, "rb") as f:
        code = f.read()
    for line in lines[1:]:
        words = line.split()
        entry, ends = int(words[4], 16), [int(w, 16) for w in words[7:]]
        address, size = functions[words[0]]
        h.equal((words[3], words[6]), ("push", "ret"), "sites of " + words[0])
        # text is mapped where it lies in the file
        h.check(entry == address and code[entry] in (0x55, 0x53, 0x41), "the beginning of %s" % line)
        h.equal({code[end] for end in ends}, {0xc3}, "ends of " + line)
        h.check(all(entry < end < entry + size for end in ends), "ends of " + line)
        h.equal(len(ends), returns(path, address, size), "rets of " + words[0])
    numbered = [line for line in lines[1:] if line.split()[1] != "0"]
    h.check(len(numbered) >= 0.7 * len(by_address), "functions with a number: %d" % len(numbered))


def returns(path, address, size):
    """How many rets binutils finds there."""
    return len([1 for at, name in disassembly(path) if name == "ret" and address <= at < address + size])


def disassembly(path, known={}):
    if path not in known:
        run = subprocess.run(["objdump", "-d", "--no-show-raw-insn", "-j", ".text", path], stdout=subprocess.PIPE, text=True, check=True)
        known[path] = [(int(at, 16), name) for at, name in re.findall(r"^ *([0-9a-f]+):\t(ret)", run.stdout, re.M)]
    return known[path]


def sites_of_a_real_runtime_11():
    real_sites("libcudart.so.11.0")


def sites_of_a_real_runtime_12():
    real_sites("libcudart.so.12")


def sites_of_a_real_runtime_13():
    real_sites("libcudart.so.13")


def real_calls(name):
    """A real libcudart, called by a real job: without a driver calls fail, but they are made, and return."""
    path = real(name)
    with h.scratch() as d:
        t = h.torch_target(h.torch_python(), "cudart", "--cudart", path)
        out = h.capture(t, d + "/out", "--wait", 2, "--warmup", 2, "--active", 5, "--max-overhead", 10000)
        h.check_unmodified(t.pid)
        facts = t.facts
        t.stop()
        h.check_output(out)
        want = {n: 5 for n in facts["calls"] if n not in MUTED}
        h.equal(dict(collections.Counter(e["name"] for e in out.cuda_calls)), want, "calls")
        for e in out.cuda_calls:
            h.check(e["args"].keys() <= {"cbid"} and e["args"]["cbid"], "%r" % e)
            h.check(0 < e["dur"] < 1e5, "%r" % e)
        h.equal(out.profile["gpu"]["calls_by"], "probes", "calls")


def calls_of_a_real_runtime_11():
    real_calls("libcudart.so.11.0")


def calls_of_a_real_runtime_12():
    real_calls("libcudart.so.12")


def calls_of_a_real_runtime_13():
    real_calls("libcudart.so.13")


h.main(the_jobs_own_calls, with_every_end_probed, launches_by_the_driver, operators_of_many_threads, without_operators, close_to_what_they_took, result_is_unchanged, replayed,
       stripped, named_as_in_a_bundle, linked_statically, the_agent_alone_where_there_is_one, switched_off, described, left_out_one_by_one,
       given_up_for_the_bound, holistic_trace_analysis, tensorboard_plugin, sites_of_a_real_runtime_11, sites_of_a_real_runtime_12,
       sites_of_a_real_runtime_13, calls_of_a_real_runtime_11, calls_of_a_real_runtime_12, calls_of_a_real_runtime_13)
