#!/usr/bin/env python3
"""The training loop runs in a thread of its own; the main thread, whose id is the pid, only waits."""
import threading

import common
from common import now


def main():
    opt = common.parser(__doc__).parse_args()
    torch = common.setup()
    model = common.mlp(torch, 64)
    job = common.Job(opt, model)
    go = threading.Event()
    tid = []

    def loop():
        tid.append(threading.get_native_id())
        sgd = torch.optim.SGD(model.parameters(), lr=0.01)
        loss_of = torch.nn.CrossEntropyLoss()
        x, y = torch.randn(32, 64), torch.randint(0, 10, (32,))
        go.wait()
        for i in job.attempts():
            with torch.profiler.record_function("train_step"):
                sgd.zero_grad()
                loss_of(model(x), y).backward()
                a = now()
                sgd.step()
                b = now()
            job.attempt(i, a, b)

    t = threading.Thread(target=loop)
    t.start()
    while not tid:
        pass
    job.ready(torch=torch.__version__, train_tid=tid[0])
    go.set()
    while t.is_alive():  # a bare join() would keep Python from running the SIGTERM handler
        t.join(0.1)
    job.done()


main()
