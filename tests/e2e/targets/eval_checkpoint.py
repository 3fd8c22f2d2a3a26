#!/usr/bin/env python3
"""Training with an evaluation and a checkpoint after every Nth attempt: they delay the attempt that follows."""
import os
import tempfile
import time

import common
from common import now


def main():
    p = common.parser(__doc__)
    p.add_argument("--every", type=int, default=4)
    p.add_argument("--eval-ms", type=float, default=60, help="how long an evaluation takes at least")
    opt = p.parse_args()
    torch = common.setup()
    model = common.mlp(torch, 64)
    job = common.Job(opt, model)
    sgd = torch.optim.SGD(model.parameters(), lr=0.01)
    loss_of = torch.nn.CrossEntropyLoss()
    x, y = torch.randn(32, 64), torch.randint(0, 10, (32,))
    path = os.path.join(tempfile.mkdtemp(prefix="tpbpf-ckpt-"), "model.pt")
    job.ready(torch=torch.__version__)
    delay = 0
    for i in job.attempts():
        with torch.profiler.record_function("train_step"):
            sgd.zero_grad()
            loss_of(model(x), y).backward()
            a = now()
            sgd.step()
            b = now()
        job.attempt(i, a, b, delayed_by=delay)
        delay = 0
        if i % opt.every == opt.every - 1:
            t = now()
            with torch.profiler.record_function("evaluate"), torch.no_grad():
                model.eval()
                end = time.monotonic() + opt.eval_ms / 1000
                while time.monotonic() < end:
                    loss_of(model(x), y)
                model.train()
            with torch.profiler.record_function("checkpoint"):
                torch.save({"model": model.state_dict(), "optimizer": sgd.state_dict()}, path)
            delay = now() - t
    os.unlink(path) if os.path.exists(path) else None
    os.rmdir(os.path.dirname(path))
    job.done()


main()
