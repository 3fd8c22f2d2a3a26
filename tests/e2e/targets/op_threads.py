#!/usr/bin/env python3
"""Threads that call operators at once while the main thread trains. In step with it, each of them does one piece of work, the
range thread_work, in every attempt; with --free they run on without end, as fast as they can. With --threads 0 the main thread
does one itself in every attempt, which shows what is in it."""
import threading

import common
from common import emit, now

def one_round(torch, x):
    y = torch.add(torch.add(torch.add(x, x), x), x)
    y = torch.mul(torch.mul(y, 0.5), x)
    return torch.mm(torch.relu(y), x.t())


def main():
    p = common.parser(__doc__)
    p.add_argument("--threads", type=int, default=8)
    p.add_argument("--rounds", type=int, default=20)
    p.add_argument("--free", action="store_true")
    opt = p.parse_args()
    torch = common.setup()
    model = common.mlp(torch, 64)
    job = common.Job(opt, model)
    begin, end = threading.Barrier(opt.threads + 1), threading.Barrier(opt.threads + 1)
    stop = threading.Event()
    made, tids = [0] * opt.threads, [0] * opt.threads

    def piece(x):
        with torch.profiler.record_function("thread_work"), torch.no_grad():
            for _ in range(opt.rounds):
                one_round(torch, x)

    def work(n):
        tids[n] = threading.get_native_id()
        x = torch.full((8, 8), 0.01 * (n + 1))
        begin.wait()
        while not stop.is_set():
            piece(x)
            made[n] += 1
            if not opt.free:
                end.wait()
                begin.wait()

    threads = [threading.Thread(target=work, args=(n,), daemon=True) for n in range(opt.threads)]
    for t in threads:
        t.start()
    sgd = torch.optim.SGD(model.parameters(), lr=0.01)
    loss_of = torch.nn.CrossEntropyLoss()
    x, y = torch.randn(32, 64), torch.randint(0, 10, (32,))
    job.ready(torch=torch.__version__, tids=tids)
    own = torch.full((8, 8), 0.01)
    if opt.free:
        begin.wait()
    for i in job.attempts():
        with torch.profiler.record_function("train_step"):
            if not opt.free:
                begin.wait()  # they work while the step runs, and are done before it ends
            if not threads:
                piece(own)
            sgd.zero_grad()
            loss_of(model(x), y).backward()
            if not opt.free:
                end.wait()
            a = now()
            sgd.step()
            b = now()
        job.attempt(i, a, b)
    stop.set()
    if not opt.free:
        begin.wait()
    for t in threads:
        t.join()
    job.done(made=made)


main()
