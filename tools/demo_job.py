#!/usr/bin/env python3
"""The job of `make demo`: the lesson's model in an endless loop. It ends by itself after some minutes, or with its parent."""
import ctypes
import os
import signal
import sys
import time

import torch

MINUTES = 5


def main():
    parent = os.getppid()
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG
    if os.getppid() != parent:
        sys.exit(1)
    torch.manual_seed(0)
    torch.set_num_threads(1)
    model = torch.nn.Sequential(torch.nn.Linear(512, 512), torch.nn.ReLU(), torch.nn.Linear(512, 10))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    loss_of = torch.nn.CrossEntropyLoss()
    x, y = torch.randn(64, 512), torch.randint(0, 10, (64,))
    end = time.monotonic() + 60 * MINUTES
    step = 0
    while time.monotonic() < end:
        with torch.profiler.record_function("train_step"):
            optimizer.zero_grad()
            loss = loss_of(model(x), y)
            loss.backward()
            optimizer.step()
        step += 1
        if step == 3:
            print("training: pid %d, PyTorch %s" % (os.getpid(), torch.__version__), flush=True)


main()
