#!/usr/bin/env python3
"""Errors that are caught: an allocation far too large, retried smaller; wrong shapes; a target out of range; a second backward;
a node that raises. --errors of them in every attempt. The loss depends on what is computed after each. Every attempt does the same work."""
import hashlib

import common
from common import now

FAR_TOO_LARGE = 1 << 46  # floats: 256 TiB, beyond what x86-64 can map


def main():
    p = common.parser(__doc__)
    p.add_argument("--errors", type=int, default=6)
    opt = p.parse_args()
    torch = common.setup()
    functional = torch.nn.functional

    class Raises(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, grad):
            torch.sum(grad)
            raise ValueError("from inside a node")

    model = common.mlp(torch, 64)
    job = common.Job(opt, model)
    sgd = torch.optim.SGD(model.parameters(), lr=0.01)
    loss_of = torch.nn.CrossEntropyLoss()
    x, y = torch.randn(32, 64), torch.randint(0, 10, (32,))
    wide, far = torch.ones(3, 5), torch.full((32,), 10)
    spent = torch.ones(4, requires_grad=True).exp().sum()
    spent.backward()

    def too_large():
        size = FAR_TOO_LARGE
        while True:
            try:
                return torch.empty(size).fill_(0.5)
            except RuntimeError:
                size = 64 if size == FAR_TOO_LARGE else size // 2

    def caught(call):
        try:
            call()
        except (RuntimeError, IndexError, ValueError):
            return torch.full((64,), 0.25)
        raise AssertionError("no error")

    kinds = [too_large,
             lambda: caught(lambda: torch.mm(wide, wide)),
             lambda: caught(lambda: functional.linear(x, wide)),
             lambda: caught(lambda: loss_of(model(x), far)),
             lambda: caught(lambda: spent.backward()),
             lambda: caught(lambda: Raises.apply(model[0].weight).sum().backward())]
    curve = hashlib.sha256()
    job.ready(torch=torch.__version__)
    for i in job.attempts():
        with torch.profiler.record_function("train_step"):
            sgd.zero_grad()
            shift = torch.zeros(64)
            for n in range(opt.errors):
                with torch.profiler.record_function("attempted"):
                    shift = shift + kinds[n % len(kinds)]()
            loss = loss_of(model(x + shift / (1 + opt.errors)), y)
            loss.backward()
            a = now()
            sgd.step()
            b = now()
        value = float(loss.detach()).hex()
        curve.update(value.encode())
        job.attempt(i, a, b, loss=value)
    job.done(curve=curve.hexdigest(), errors=job.seen * opt.errors)


main()
