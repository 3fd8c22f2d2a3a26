#!/usr/bin/env python3
"""Two optimizers, SGD and then Adam, each stepping once in every iteration."""
import common
from common import now


def main():
    opt = common.parser(__doc__).parse_args()
    torch = common.setup()
    model = common.mlp(torch, 64)
    job = common.Job(opt, model)
    sgd = torch.optim.SGD(model[0].parameters(), lr=0.01)
    adam = torch.optim.Adam(model[2].parameters(), lr=0.001)
    loss_of = torch.nn.CrossEntropyLoss()
    x, y = torch.randn(32, 64), torch.randint(0, 10, (32,))
    job.ready(torch=torch.__version__)
    for i in job.attempts():
        begin = now()
        with torch.profiler.record_function("train_step"):
            sgd.zero_grad()
            adam.zero_grad()
            loss_of(model(x), y).backward()
            a = now()
            sgd.step()
            b = now()
            adam.step()
        job.attempt(i, a, b, begin=begin, end=now())
    job.done()


main()
