#!/usr/bin/env python3
"""How fast the collector makes its outputs from a raw capture, and in how much memory, beside torch.profiler's export.

Makes captures of the given numbers of events (operators, nodes, ranges and memory events, as they stand in the trace) of a training
step repeated, runs `tpbpf report` on each, and prints the events per second and the peak memory. Then lets torch.profiler, in a
process of its own, record as many events as it can hold and export them: its time after the last step, and its peak memory.

    tools/bench_collector.py [--events 1000000,10000000] [--micro N] [--torch-events 1000000] [--check]

With --check the exit code is 1 unless the peak memory at the largest number is at most 1.2 times that at the smallest. Needs no root.
"""
import argparse
import array
import ctypes
import json
import os
import re
import struct
import subprocess
import sys
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))

# include/wire.h
ATTEMPT, RANGE_BEGIN, RANGE_END, OP_BEGIN, OP_END, NODE_BEGIN, GUARD_END, SYMBOL, SEQUENCE, MEMORY = 2, 3, 4, 5, 6, 7, 8, 10, 11, 12
SESSION, THREAD, CLOCK, STOP, PROBES, OPERATOR, COST = 64, 66, 67, 69, 70, 71, 73
TAKEN, VALUE = 0, 1
WARMUP, ACTIVE, AFTER = 2, 3, 4
ALL_ACTIVITIES = 15
SEQUENCE_NONE = (1 << 64) - 1
TID, START_NS, STACK = 4242, 10**12, 0x7FFD00000000


def record(kind, time_ns, body, subject=0, tid=TID):
    body += bytes(-len(body) % 8)
    return struct.pack("<IHHIIQ", 24 + len(body), kind, 0, tid, subject, time_ns) + body


def text(value, size):
    return value.encode().ljust(size, b"\0")


def wire_abi():
    with open(os.path.join(ROOT, "include", "wire.h")) as f:
        return int(re.search(r"#define WIRE_ABI (\d+)", f.read()).group(1))


class Step:
    """The records of one training step, and which words of them grow from step to step."""

    def __init__(self):
        self.words, self.growing = array.array("Q"), []
        self.now, self.depth, self.taken, self.events, self.address = 0, 0, 0, 0, 0x7F0000000000
        self.operators, self.symbols, self.live = {}, {}, []

    def put(self, kind, body, subject=0, grows=()):
        at = len(self.words)
        self.now += 700
        self.words.frombytes(record(kind, START_NS + self.now, body, subject))
        self.growing.append((at + 2, None))  # the time
        self.growing += [(at + word, by) for word, by in grows]

    def sp(self):
        return STACK - 0x300 * self.depth

    def index(self, name):
        return self.operators.setdefault(name, len(self.operators))

    def range(self, name, *inside):
        target = 0x560000000000 + 0x100 * self.depth
        self.put(RANGE_BEGIN, struct.pack("<QHB5x", target, len(name), 0) + name.encode() + b"\0")
        self.depth += 1
        self.run(inside)
        self.depth -= 1
        self.put(RANGE_END, struct.pack("<Q", target))
        self.events += 1

    def op(self, name, *inside, makes_node=False, allocates=0, lasts=2000):
        self.depth += 1
        self.put(OP_BEGIN, struct.pack("<Q", self.sp()), self.index(name))
        if makes_node:
            self.put(SEQUENCE, struct.pack("<QQQ", self.taken, 0, self.sp() - 0x100), TAKEN, [(3, "taken")])
            self.taken += 1
        if allocates:
            self.address += 0x1000
            self.live.append(self.address)
            self.memory(0, self.address, allocates)
        self.run(inside)
        self.now += lasts
        self.put(OP_END, struct.pack("<Q", self.sp() - 0x80), self.index(name))
        self.depth -= 1
        self.events += 1

    def memory(self, action, address, size):
        self.put(MEMORY, struct.pack("<QQqQQBb6x", self.sp() - 0x200, address, size, 0, 0, 0, -1), action)
        self.events += 1

    def free(self, count):
        for _ in range(count):
            self.memory(1, self.live.pop(), 0)

    def node(self, mangled, number, *inside):
        """number: the forward call's, from 0 in this step; None: of a leaf."""
        kind = self.symbols.setdefault(mangled, 0x7F1000000000 + 0x100 * len(self.symbols))
        self.depth += 1
        sequence, grows = (SEQUENCE_NONE, ()) if number is None else (1000 + number, [(5, "taken")])
        self.put(NODE_BEGIN, struct.pack("<QQQQ", self.sp(), kind, sequence, 1), 0, grows)
        self.run(inside)
        self.put(GUARD_END, struct.pack("<QQ", self.sp(), 0x7FFD10000000))
        self.depth -= 1
        self.events += 2

    def run(self, calls):
        for call in calls:
            call()


def training_step(micro):
    """As many operators as a step of a small model has, nested as there; micro: forward and backward so many times."""
    s = Step()
    op = lambda *a, **k: lambda: s.op(*a, **k)
    view = lambda name: op(name, op("aten::as_strided", lasts=300), lasts=300)
    transposed = lambda **k: op("aten::t", op("aten::transpose", op("aten::as_strided", lasts=300), lasts=300), lasts=300, **k)
    conj = op("aten::resolve_conj", lasts=200)
    product_and_bias = lambda: op("aten::addmm", view("aten::expand"), op("aten::copy_"), conj, conj, makes_node=True, allocates=16384, lasts=20000)
    layer = lambda: op("aten::linear", transposed(makes_node=True), product_and_bias())
    loss = op("aten::cross_entropy_loss",
              op("aten::log_softmax", op("aten::to", lasts=200), op("aten::_log_softmax", makes_node=True, allocates=2560)),
              op("aten::nll_loss_nd", op("aten::nll_loss", op("aten::nll_loss_forward", makes_node=True, allocates=4))))
    product = lambda: op("aten::mm", conj, conj, allocates=16384, lasts=20000)
    generated = lambda name: "N5torch8autograd9generated%d%sE" % (len(name), name)
    taken_before = [0]  # numbers of the earlier micro batches
    node = lambda name, number, *inside: lambda: s.node(generated(name), taken_before[0] + number, *inside)
    leaf = lambda: s.node("N5torch8autograd14AccumulateGradE", None, op("aten::detach", lasts=300))
    addmm = lambda number: node("AddmmBackward0", number, transposed(), product(), transposed(), product(), transposed(),
                                op("aten::sum", view("aten::as_strided"), op("aten::fill_"), allocates=256), op("aten::view", lasts=300))
    backward = [op("aten::ones_like", op("aten::empty_like", op("aten::empty_strided", allocates=4)), op("aten::fill_")),
                node("NllLossBackward0", 6, op("aten::nll_loss_backward", op("aten::zero_"), allocates=2560)),
                node("LogSoftmaxBackward0", 5, op("aten::_log_softmax_backward_data", allocates=2560)),
                addmm(4), leaf, node("TBackward0", 3, transposed()), leaf,
                node("ReluBackward0", 2, op("aten::threshold_backward", allocates=16384)),
                addmm(1), leaf, node("TBackward0", 0, transposed()), leaf]
    forward = [layer(), op("aten::relu", op("aten::clamp_min", allocates=16384), makes_node=True), layer(), loss]
    batch = [*forward, *backward, lambda: s.free(len(s.live)), lambda: taken_before.__setitem__(0, s.taken)]
    s.range("train_step", lambda: s.range("Optimizer.zero_grad#SGD.zero_grad"), *batch * micro,
            lambda: s.range("Optimizer.step#SGD.step", *[op("aten::add_")] * 4))
    s.events += 1  # its ProfilerStep
    return s


def session(steps):
    plan = struct.pack("<8I", 0, 0, 0, 1, steps, 1, 0, ALL_ACTIVITIES) + text("auto", 256)
    job = struct.pack("<IIiiiI", TID, TID, -1, -1, -1, 0) + text("bench", 64) + text("python", 64) + text("2.13.0", 64) + text("3.11", 32)
    job += text("", 32) + text("python bench.py", 1024)
    return struct.pack("<II", wire_abi(), 0) + text("bench", 40) + text("0", 32) + text("tpbpf -p 4242", 1024) + plan + job


def write_capture(path, events, micro):
    """A capture of at least so many events; how many it has, and in how many steps."""
    step = training_step(micro)
    steps = -(-events // step.events)
    period = step.now + 5000
    attempt = lambda t, index, phase, following: record(ATTEMPT, t, struct.pack("<IHBBB7x", index, 0, phase, following, 1))
    with open(path, "wb", buffering=1 << 20) as f:
        put = lambda kind, body, subject=0, tid=0: f.write(record(kind, START_NS - 1000, body, subject, tid))
        f.write(struct.pack("<8sII", b"tpbpfcap", wire_abi(), 0))
        put(SESSION, session(steps))
        put(CLOCK, struct.pack("<q", 1790000000 * 10**9))
        put(THREAD, text("python", 32), tid=TID)
        for name, index in step.operators.items():
            put(OPERATOR, struct.pack("<BB6x", 3, 4) + text(name, 112) + text("", 80), index)
        for mangled, kind in step.symbols.items():
            put(SYMBOL, struct.pack("<QH6x", kind, len(mangled)) + mangled.encode() + b"\0")
        put(COST, struct.pack("<7Q4QB7x", *[300] * 7, 0, 0, 0, 1000, 1))
        put(PROBES, struct.pack("<QB7x", 10**7, 1))
        put(SEQUENCE, struct.pack("<QQQ", 0, 1000, STACK), VALUE, TID)
        f.write(attempt(START_NS - 500, 0, WARMUP, ACTIVE))
        by = [(at, period if kind is None else step.taken) for at, kind in step.growing]
        words = step.words
        for i in range(steps):
            f.write(words.tobytes())
            f.write(attempt(START_NS + (i + 1) * period - 500, i + 1, ACTIVE, ACTIVE if i + 1 < steps else AFTER))
            for at, more in by:
                words[at] += more
        end = START_NS + steps * period
        f.write(record(PROBES, end, struct.pack("<QB7x", 10**8, 0), tid=0))
        f.write(record(STOP, end + 1000, struct.pack("<II", 1, 0), tid=0))
    return steps * step.events, steps


PR_SET_CHILD_SUBREAPER = 36


def timed(argv, **kw):
    """Seconds, peak memory in bytes and standard output of a command.

    The kernel counts as the peak of a program at least what the process had that became it by exec; an interpreter has twice what the
    collector has. So a shell starts the command and leaves it to us.
    """
    begin = time.monotonic()
    shell = subprocess.Popen(["sh", "-c", '"$@" & echo $!', "sh", *argv], stdout=subprocess.PIPE, text=True, **kw)
    pid = int(shell.stdout.readline())
    out = shell.stdout.read()
    shell.wait()
    _, status, usage = os.wait4(pid, 0)
    code = os.waitstatus_to_exitcode(status)
    if code:
        raise SystemExit("bench_collector: %s exits %d\n%s" % (" ".join(argv), code, out))
    return time.monotonic() - begin, usage.ru_maxrss * 1024, out


def measure(opt, work, events):
    raw, out = os.path.join(work, "capture.raw"), os.path.join(work, "out%d" % events)
    have, steps = write_capture(raw, events, opt.micro)
    seconds, peak, _ = timed([opt.tpbpf, "report", raw, "-o", out])
    with open(os.path.join(out, "profile.json")) as f:
        profile = json.load(f)
    counted = sum(r["count"] for r in profile["regions"] + profile["operators"]["rows"])
    trace = os.path.getsize(os.path.join(out, "trace.json.gz"))
    print("tpbpf report: %d events in %d steps (%d calls in the tables) from %.0f MB: %.2f s, %.2f million events/s, trace.json.gz %.0f MB, "
          "peak memory %.1f MB" % (have, steps, counted, os.path.getsize(raw) / 1e6, seconds, have / seconds / 1e6, trace / 1e6, peak / 1e6), flush=True)
    lost = {k: v for k, v in profile["loss"].items() if v}
    if lost or profile["window"]["state"] != "complete":
        raise SystemExit("bench_collector: the capture is not read whole: %s, lost %s" % (profile["window"]["state"], lost))
    os.unlink(raw)
    return peak


TORCH = r"""
import json, os, resource, sys, time
import torch
events, directory = int(sys.argv[1]), sys.argv[2]
torch.set_num_threads(1)
model = torch.nn.Sequential(torch.nn.Linear(16, 16), torch.nn.ReLU(), torch.nn.Linear(16, 10))
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
x, y = torch.randn(8, 16), torch.randint(0, 10, (8,))
def step():
    with torch.profiler.record_function("train_step"):
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(model(x), y).backward()
        optimizer.step()
def profile(steps, path):
    p = torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU], profile_memory=True)
    p.start()
    for _ in range(steps):
        step()
    a = time.monotonic()
    p.stop()
    b = time.monotonic()
    p.export_chrome_trace(path)
    return b - a, time.monotonic() - b
step()
path = os.path.join(directory, "torch.json")
profile(20, path)
with open(path) as f:
    per_step = sum(e["ph"] == "X" or e["name"] == "[memory]" for e in json.load(f)["traceEvents"]) / 20
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
steps = int(events / per_step)
stopping, exporting = profile(steps, path + sys.argv[3])
print(json.dumps({"events": int(steps * per_step), "stop_s": stopping, "export_s": exporting, "bytes": os.path.getsize(path + sys.argv[3]),
                  "peak": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024, "before": before}))
"""


def measure_torch(opt, work):
    for suffix in ("", ".gz"):
        _, _, out = timed([opt.python, "-c", TORCH, str(opt.torch_events), work, suffix], stderr=subprocess.DEVNULL)
        r = json.loads(out.splitlines()[-1])
        seconds = r["stop_s"] + r["export_s"]
        print("torch.profiler: %d events: stop %.2f s and export to trace.json%s %.2f s, %.2f million events/s, %.0f MB, "
              "peak memory %.1f MB (%.1f before)" % (r["events"], r["stop_s"], suffix, r["export_s"], r["events"] / seconds / 1e6,
                                                     r["bytes"] / 1e6, r["peak"] / 1e6, r["before"] / 1e6), flush=True)


def interpreter():
    try:
        with open(os.path.join(ROOT, "build", "python")) as f:
            return f.read().strip()
    except OSError:
        return sys.executable


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--python", default=interpreter())
    p.add_argument("--tpbpf", default=os.environ.get("TPBPF", os.path.join(ROOT, "build", "tpbpf")))
    p.add_argument("--events", default="1000000,10000000")
    p.add_argument("--micro", type=int, default=1, help="micro batches in a step, each of some 140 events (default 1: an operator-bound job)")
    p.add_argument("--torch-events", type=int, default=1000000, help="0: without torch.profiler (1000000: it keeps all in memory)")
    p.add_argument("--dir", help="where the captures are made, about 100 bytes an event")
    p.add_argument("--check", action="store_true", help="exit 1 unless the memory does not grow")
    opt = p.parse_args()
    if ctypes.CDLL(None, use_errno=True).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0):
        raise SystemExit("bench_collector: prctl: %s" % os.strerror(ctypes.get_errno()))
    with tempfile.TemporaryDirectory(dir=opt.dir) as work:
        peaks = [measure(opt, work, int(n)) for n in sorted(opt.events.split(","), key=int)]
        if len(peaks) > 1:
            print("peak memory at the largest is %.2f times that at the smallest" % (peaks[-1] / peaks[0]))
        if opt.torch_events:
            measure_torch(opt, work)
    sys.exit(1 if opt.check and peaks[-1] > 1.2 * peaks[0] else 0)


main()
