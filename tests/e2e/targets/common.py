"""What the PyTorch jobs of the tests share: options, the start gate, the truth as JSON lines, the closing checksum.

Every time in the truth is time.monotonic_ns(), the clock of steps.csv, taken on both sides of a call: the moment that a
tracer reports for it must lie between the two.

With --torch-profiler the job runs under torch.profiler as well, stepped right after each attempt: the truth that its
operators are held against. A job whose truth is asked for does the same work in every attempt.
"""
import argparse
import ctypes
import hashlib
import json
import os
import signal
import sys
import threading
import time

now = time.monotonic_ns
SLOW = float(os.environ.get("TPBPF_TEST_SLOW", 1))  # as in harness.py


def parser(doc):
    p = argparse.ArgumentParser(description=doc)
    p.add_argument("--seconds", type=float, default=120 * SLOW, help="end after this long (default 120; TPBPF_TEST_SLOW times as long)")
    p.add_argument("--attempts", type=int, default=0, help="end after so many attempts (default: at the time limit)")
    p.add_argument("--gate", help="print 'ready PID', then do nothing until this file exists")
    p.add_argument("--pace-ms", type=float, default=2, help="idle time after each attempt (default 2)")
    p.add_argument("--quiet", action="store_true", help="no line for each attempt")
    p.add_argument("--torch-profiler", metavar="FILE", help="run under torch.profiler, write its rows here, its trace beside, and end")
    p.add_argument("--schedule", default="2,2,5", help="wait, warmup and active of torch.profiler (default 2,2,5)")
    p.add_argument("--profile-memory", action="store_true", help="of torch.profiler; the same for the next ones")
    p.add_argument("--record-shapes", action="store_true", help="and with_flops")
    p.add_argument("--with-modules", action="store_true", help="and with_stack")
    p.add_argument("--all-threads", action="store_true", help="where this PyTorch can; by default only the training thread")
    p.add_argument("--overloads", action="store_true", help="likewise: the names of overloads")
    return p


def emit(**row):
    os.write(1, (json.dumps(row) + "\n").encode())


def skip(reason):
    emit(skip=reason)
    sys.exit(77)


def die_with_parent():
    parent = os.getppid()
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG
    if os.getppid() != parent:
        sys.exit(1)


class Job:
    """The loop of a job: `for i in job.attempts():` runs until the limits, or until SIGTERM asks for the closing lines."""

    def __init__(self, opt, model=None):
        self.opt, self.model = opt, model
        self.count = {"applied": 0, "skipped": 0}
        self.stopping = False
        self.seen = 0
        self.truth = TorchProfiler(opt) if opt.torch_profiler else None
        die_with_parent()

    def ready(self, **facts):
        signal.signal(signal.SIGTERM, lambda *_: setattr(self, "stopping", True))
        emit(facts={**{"pid": os.getpid(), "train_tid": threading.get_native_id()}, **facts})
        os.write(1, b"ready %d\n" % os.getpid())
        while self.opt.gate and not os.path.exists(self.opt.gate) and not self.stopping:
            time.sleep(0.005)
        self.deadline = time.monotonic() + self.opt.seconds

    def attempts(self):
        while not self.stopping and time.monotonic() < self.deadline:
            if self.opt.attempts and self.seen >= self.opt.attempts:
                break
            if self.truth and not self.truth.before_attempt():
                break
            yield self.seen
            if self.truth:
                self.truth.after_attempt()
            self.seen += 1
            if self.opt.pace_ms:
                time.sleep(self.opt.pace_ms / 1000)

    def attempt(self, index, step_begin, step_end, outcome="applied", **more):
        """step_begin and step_end: just before and just after the call at whose end the attempt ends."""
        self.count[outcome] += 1
        if not self.opt.quiet:
            emit(attempt=index, outcome=outcome, step_begin=step_begin, step_end=step_end, **more)

    def done(self, **more):
        # Python gives SIGTERM back its default while it shuts down: a late one would then look like a failure
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        emit(done=True, attempts=self.seen, checksum=checksum(self.model) if self.model else None, **self.count, **more)


class TorchProfiler:
    """torch.profiler through one window; works in the thread that trains, the only one that it sees by default."""

    def __init__(self, opt):
        self.opt, self.profiler, self.is_done = opt, None, False
        self.with_gpu = getattr(opt, "cuda", False)  # set by a job that has one

    def before_attempt(self):
        """False: the window is over and written."""
        if self.is_done:
            return False
        if not self.profiler:
            from torch import profiler

            wait, warmup, active = map(int, self.opt.schedule.split(","))
            more = {}
            wanted = {"profile_all_threads": self.opt.all_threads, "capture_overload_names": self.opt.overloads}
            if any(wanted.values()):
                try:
                    more["experimental_config"] = profiler._ExperimentalConfig(**{k: True for k, v in wanted.items() if v})
                except TypeError:
                    skip("this torch.profiler has no %s" % ", ".join(k for k, v in wanted.items() if v))
            shapes = {"record_shapes": True, "with_flops": True} if self.opt.record_shapes else {}
            if self.opt.with_modules:
                more.update(with_stack=True, with_modules=True)
            activities = [profiler.ProfilerActivity.CPU] + ([profiler.ProfilerActivity.CUDA] if self.with_gpu else [])
            self.profiler = profiler.profile(activities=activities, on_trace_ready=self.ready,
                                             schedule=profiler.schedule(wait=wait, warmup=warmup, active=active, repeat=1),
                                             profile_memory=self.opt.profile_memory, **shapes, **more)
            # Its own ProfilerStep annotation calls operators in 1.13, which would count as the job's
            self.profiler.record_steps = False
            self.profiler.start()
        return True

    def after_attempt(self):
        self.profiler.step()

    def ready(self, profiler):
        self.is_done = True
        profiler.export_chrome_trace(self.opt.torch_profiler + ".trace")
        if self.with_gpu or self.opt.with_modules:  # what is held against ours is in the trace
            return self.write({})
        result = profiler.profiler.kineto_results
        events = [e for e in result.events() if not e.name().startswith("[")]
        out = {"rows": rows_of(profiler.key_averages()), "by_overload": [], "tree": [],
               "shapes": {e.correlation_id(): e.shapes() for e in events} if self.opt.record_shapes else {}}
        for root in sorted(result.experimental_event_tree(), key=lambda n: n.start_time_ns):
            put_tree(out["tree"], root, 0)
        if self.opt.overloads:
            out["by_overload"] = rows_of(profiler.key_averages(group_by_overload_name=True))
        self.write(out)

    def write(self, out):
        """Appears in one go: whoever waits for the file reads all of it."""
        with open(self.opt.torch_profiler + ".new", "w") as f:
            json.dump(out, f)
        os.rename(self.opt.torch_profiler + ".new", self.opt.torch_profiler)


def put_tree(rows, node, depth):
    """torch.profiler's own tree in preorder: [depth, name, start_ns, end_ns, tid, sequence, bytes, is_backward, id]. Unlike
    key_averages and the trace of old releases it has nanoseconds."""
    fields = node.extra_fields
    is_op = str(node.tag).endswith("TorchOp")
    is_out = str(node.tag).endswith("OutOfMemory")
    rows.append([depth, "[OutOfMemory]" if is_out else node.name, node.start_time_ns, node.end_time_ns, node.start_tid,
                 fields.sequence_number if is_op else -1, getattr(fields, "alloc_size", None),
                 is_op and str(fields.scope).endswith("BACKWARD_FUNCTION"), node.correlation_id])
    for child in node.children:
        put_tree(rows, child, depth + 1)


def rows_of(averages):
    return [{"name": a.key, "count": a.count, "self_cpu_us": a.self_cpu_time_total, "cpu_us": a.cpu_time_total,
             "self_cpu_bytes": a.self_cpu_memory_usage, "cpu_bytes": a.cpu_memory_usage, "flops": a.flops,
             "overload": getattr(a, "overload_name", None) or ""} for a in averages]


def checksum(model):
    digest, total = hashlib.sha256(), 0.0
    for p in model.parameters():
        flat = p.detach().double().reshape(-1)
        total += float(flat.sum())
        digest.update(repr([x.hex() for x in flat[:: max(1, flat.numel() // 997)].tolist()]).encode())
    return "%s %s" % (total.hex(), digest.hexdigest()[:16])


def setup():
    import torch

    torch.manual_seed(1234)
    torch.set_num_threads(1)
    return torch


def version(torch):
    return tuple(int(x) for x in torch.__version__.split("+")[0].split("a")[0].split(".")[:2])


def mlp(torch, width=512):
    nn = torch.nn
    return nn.Sequential(nn.Linear(width, width), nn.ReLU(), nn.Linear(width, 10))
