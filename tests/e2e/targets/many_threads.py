#!/usr/bin/env python3
"""A training loop among 160 other threads: most of them sleep, some compute a little, some are born and die all the time."""
import threading

import common
from common import now


def main():
    p = common.parser(__doc__)
    p.add_argument("--threads", type=int, default=160)
    opt = p.parse_args()
    torch = common.setup()
    model = common.mlp(torch, 64)
    job = common.Job(opt, model)
    stop = threading.Event()
    made = [0]

    def idle():
        stop.wait()

    def busy():
        while not stop.wait(0.05):
            with torch.profiler.record_function("helper"):
                torch.ones(8).sum()

    def breeder():
        def short():
            with torch.profiler.record_function("short_lived"):
                torch.ones(8).sum()

        while not stop.wait(0.01):
            t = threading.Thread(target=short)
            t.start()
            t.join()
            made[0] += 1

    threads = [threading.Thread(target=breeder)]
    threads += [threading.Thread(target=busy if i % 16 == 0 else idle) for i in range(opt.threads - 1)]
    for t in threads:
        t.start()
    sgd = torch.optim.SGD(model.parameters(), lr=0.01)
    loss_of = torch.nn.CrossEntropyLoss()
    x, y = torch.randn(32, 64), torch.randint(0, 10, (32,))
    job.ready(torch=torch.__version__)
    for i in job.attempts():
        with torch.profiler.record_function("train_step"):
            sgd.zero_grad()
            loss_of(model(x), y).backward()
            a = now()
            sgd.step()
            b = now()
        job.attempt(i, a, b)
    stop.set()
    for t in threads:
        t.join()
    job.done(short_lived=made[0], threads=len(threads))


main()
