#!/usr/bin/env python3
"""Gradient accumulation: four micro-batches, each in a range of its own, for one optimizer step."""
import common
from common import now


def main():
    p = common.parser(__doc__)
    p.add_argument("--micro", type=int, default=4)
    opt = p.parse_args()
    torch = common.setup()
    model = common.mlp(torch, 64)
    job = common.Job(opt, model)
    sgd = torch.optim.SGD(model.parameters(), lr=0.01)
    loss_of = torch.nn.CrossEntropyLoss()
    x, y = torch.randn(32, 64), torch.randint(0, 10, (32,))
    job.ready(torch=torch.__version__)
    for i in job.attempts():
        begin = now()
        sgd.zero_grad()
        for _ in range(opt.micro):
            with torch.profiler.record_function("micro_batch"):
                (loss_of(model(x), y) / opt.micro).backward()
        a = now()
        sgd.step()
        b = now()
        job.attempt(i, a, b, begin=begin, end=now())
    job.done()


main()
