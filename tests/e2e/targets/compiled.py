#!/usr/bin/env python3
"""A model under torch.compile; the optimizer runs uncompiled."""
import common
from common import now


def main():
    p = common.parser(__doc__)
    p.add_argument("--backend", default="inductor")
    opt = p.parse_args()
    torch = common.setup()
    if not hasattr(torch, "compile"):
        common.skip("torch %s has no torch.compile" % torch.__version__)
    model = common.mlp(torch, 64)
    job = common.Job(opt, model)
    sgd = torch.optim.SGD(model.parameters(), lr=0.01)
    loss_of = torch.nn.CrossEntropyLoss()
    x, y = torch.randn(32, 64), torch.randint(0, 10, (32,))
    try:
        fast = torch.compile(model, backend=opt.backend)
        loss_of(fast(x), y).backward()
    except Exception as e:  # no compiler, no Python headers, an unsupported Python: each has its own exception
        common.skip("torch.compile(backend=%s) does not work here: %s" % (opt.backend, " ".join(str(e).split())[:200]))
    job.ready(torch=torch.__version__)
    for i in job.attempts():
        with torch.profiler.record_function("train_step"):
            sgd.zero_grad()
            loss_of(fast(x), y).backward()
            a = now()
            sgd.step()
            b = now()
        job.attempt(i, a, b)
    job.done()


main()
