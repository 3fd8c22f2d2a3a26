"""What the PyTorch jobs of the tests share: options, the start gate, the truth as JSON lines, the closing checksum.

Every time in the truth is time.monotonic_ns(), the clock of steps.csv, taken on both sides of a call: the moment that a
tracer reports for it must lie between the two.
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


def parser(doc):
    p = argparse.ArgumentParser(description=doc)
    p.add_argument("--seconds", type=float, default=120, help="end after this long (default 120)")
    p.add_argument("--attempts", type=int, default=0, help="end after so many attempts (default: at the time limit)")
    p.add_argument("--gate", help="print 'ready PID', then do nothing until this file exists")
    p.add_argument("--pace-ms", type=float, default=2, help="idle time after each attempt (default 2)")
    p.add_argument("--quiet", action="store_true", help="no line for each attempt")
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
            yield self.seen
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
