#!/usr/bin/env python3
"""Ranges of every shape: nested, recursive under one name, left by an exception, ended by another thread, never ended."""
import threading
import queue

import common
from common import now


def main():
    p = common.parser(__doc__)
    p.add_argument("--leak", action="store_true", help="also enter a range in each attempt that is never left")
    opt = p.parse_args()
    torch = common.setup()
    rf = torch.profiler.record_function
    model = common.mlp(torch, 64)
    job = common.Job(opt, model)
    sgd = torch.optim.SGD(model.parameters(), lr=0.01)
    loss_of = torch.nn.CrossEntropyLoss()
    x, y = torch.randn(32, 64), torch.randint(0, 10, (32,))
    handed, closed, leaked = queue.Queue(), queue.Queue(), []

    def closer():
        for r in iter(handed.get, None):
            r.__exit__(None, None, None)
            closed.put(None)

    def recurse(depth):
        with rf("recursive"):
            if depth > 1:
                recurse(depth - 1)

    t = threading.Thread(target=closer)
    t.start()
    job.ready(torch=torch.__version__)
    for i in job.attempts():
        with rf("outer"):
            with rf("middle"):
                with rf("inner"):
                    loss = loss_of(model(x), y)
            recurse(3)
            try:
                with rf("raises_outside"):
                    with rf("raises_inside"):
                        raise ValueError("caught further out")
            except ValueError:
                pass
            try:
                with rf("operator_raises"):
                    torch.mm(torch.ones(2, 3), torch.ones(2, 3))
            except RuntimeError:
                pass
            with rf('quoted "name" \\ with <angle>, tab\t and \u00e9\u4e2d'):
                pass
            handover = rf("ended_elsewhere")
            handover.__enter__()
            handed.put(handover)
            closed.get()
            if opt.leak:
                never = rf("never_ended")
                never.__enter__()
                leaked.append(never)
            with rf("train_step"):
                sgd.zero_grad()
                loss.backward()
                a = now()
                sgd.step()
                b = now()
        job.attempt(i, a, b)
    handed.put(None)
    t.join()
    job.done(leaked=len(leaked))


main()
