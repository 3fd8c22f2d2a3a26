#!/usr/bin/env python3
"""The lesson's model: Linear 512-512, ReLU, Linear 512-10, SGD, batch 64, one range round each step. Every attempt does the same work."""
import common
from common import now


def main():
    p = common.parser(__doc__)
    p.add_argument("--rank", help="only shown; the environment tells the rank")
    p.add_argument("--width", type=int, default=512)
    opt = p.parse_args()
    torch = common.setup()
    model = common.mlp(torch, opt.width)
    job = common.Job(opt, model)
    sgd = torch.optim.SGD(model.parameters(), lr=0.01)
    loss_of = torch.nn.CrossEntropyLoss()
    x, y = torch.randn(64, opt.width), torch.randint(0, 10, (64,))
    job.ready(torch=torch.__version__)
    for i in job.attempts():
        begin = now()
        with torch.profiler.record_function("train_step"):
            sgd.zero_grad()
            loss_of(model(x), y).backward()
            a = now()
            sgd.step()
            b = now()
        job.attempt(i, a, b, begin=begin, end=now())
    job.done()


main()
