"""Trains a little while threads of its own wait in every way that Python has; says what came out."""
import hashlib
import os
import queue
import select
import sys
import threading
import time

import torch

torch.set_num_threads(2)
torch.manual_seed(7)
over = threading.Event()
calls = queue.Queue()
held = threading.Lock()
held.acquire()
ends = os.pipe()
wrong = []


def until_over():
    over.wait()


def asleep():
    while not over.is_set():
        begun = time.monotonic()
        time.sleep(0.05)
        if time.monotonic() - begun < 0.05:
            wrong.append("woken early")


def takes():
    for want in iter(calls.get, None):
        if want != "call":
            wrong.append("got %r" % want)


def selects():
    if select.select([ends[0]], [], []) != ([ends[0]], [], []):
        wrong.append("select")


waiting = [threading.Thread(target=f) for f in (until_over, asleep, takes, selects, held.acquire)]
for t in waiting:
    t.start()
model = torch.nn.Sequential(torch.nn.Linear(64, 64), torch.nn.ReLU(), torch.nn.Linear(64, 8))
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
data = torch.randn(32, 64)
print("ready %d" % os.getpid(), flush=True)
while not os.path.exists(sys.argv[1]):
    calls.put("call")
    time.sleep(0.001)
for _ in range(400):
    optimizer.zero_grad()
    model(data).pow(2).sum().backward()
    optimizer.step()
    calls.put("call")
over.set()
held.release()
calls.put(None)
os.write(ends[1], b".")
for t in waiting:
    t.join()
digest = hashlib.sha256(b"".join(p.detach().numpy().tobytes() for p in model.parameters())).hexdigest()
print('{"done": true, "weights": "%s", "wrong": %d}' % (digest, len(wrong)), flush=True)
