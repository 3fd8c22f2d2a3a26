#!/usr/bin/env python3
"""Operators called through torch.ops, and one of the script's own: they go past at::_ops::*::call. Every attempt does the same work."""
import common
from common import now


def main():
    opt = common.parser(__doc__).parse_args()
    torch = common.setup()
    library = torch.library.Library("tpbpftest", "DEF")
    library.define("halve(Tensor x) -> Tensor")
    library.impl("halve", lambda x: x * 0.5, "CompositeImplicitAutograd" if common.version(torch) < (2, 0) else "CPU")
    model = common.mlp(torch, 64)
    job = common.Job(opt, model)
    sgd = torch.optim.SGD(model.parameters(), lr=0.01)
    loss_of = torch.nn.CrossEntropyLoss()
    x, y = torch.randn(32, 64), torch.randint(0, 10, (32,))
    aten = torch.ops.aten
    job.ready(torch=torch.__version__)
    for i in job.attempts():
        with torch.profiler.record_function("train_step"):
            sgd.zero_grad()
            with torch.no_grad():
                z = aten.mm(x, aten.t.default(model[0].weight))
                z = torch.ops.tpbpftest.halve(aten.add.Tensor(z, x, alpha=2))
            loss_of(model(z), y).backward()
            a = now()
            sgd.step()
            b = now()
        job.attempt(i, a, b)
    job.done()


main()
