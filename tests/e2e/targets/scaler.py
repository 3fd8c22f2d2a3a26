#!/usr/bin/env python3
"""Mixed-precision style training on the CPU with torch.amp.GradScaler; gradients overflow at known attempts."""
import common
from common import now


def main():
    p = common.parser(__doc__)
    p.add_argument("--fused", action="store_true")
    p.add_argument("--overflow", default="", help="attempts whose gradients overflow, comma separated")
    p.add_argument("--overflow-every", type=int, default=0, help="and every Nth attempt")
    p.add_argument("--unscale", action="store_true", help="call unscale_ and clip before the step, as many scripts do")
    opt = p.parse_args()
    torch = common.setup()
    if not hasattr(getattr(torch, "amp", None), "GradScaler"):
        common.skip("torch %s has no torch.amp.GradScaler" % torch.__version__)
    if opt.fused and common.version(torch) < (2, 4):
        common.skip("torch %s has no fused SGD on the CPU" % torch.__version__)
    overflow = {int(i) for i in opt.overflow.split(",") if i}
    model = common.mlp(torch, 64)
    job = common.Job(opt, model)
    sgd = torch.optim.SGD(model.parameters(), lr=0.01, **({"fused": True} if opt.fused else {}))
    scaler = torch.amp.GradScaler("cpu", init_scale=1024.0, growth_interval=1 << 30)
    loss_of = torch.nn.CrossEntropyLoss()
    x, y = torch.randn(32, 64), torch.randint(0, 10, (32,))
    first = next(model.parameters())
    job.ready(torch=torch.__version__)
    for i in job.attempts():
        begin = now()
        inject = i in overflow or (opt.overflow_every and i % opt.overflow_every == opt.overflow_every - 1)
        with torch.profiler.record_function("train_step"):
            sgd.zero_grad()
            scaler.scale(loss_of(model(x), y)).backward()
            if inject:
                first.grad[0, 0] = float("inf")
            before = first.detach().clone()
            if opt.unscale:
                scaler.unscale_(sgd)
                torch.nn.utils.clip_grad_norm_(model.parameters(), 10.0)
            scaler.step(sgd)
            applied = not torch.equal(before, first)
            a = now()
            scaler.update()
            b = now()
            # A small scale would round gradients away, and a skipped attempt could then not be told from an applied one.
            if scaler.get_scale() < 64:
                scaler.update(1024.0)
        assert applied == (not inject), "attempt %d: applied %s, overflow %s" % (i, applied, inject)
        job.attempt(i, a, b, "applied" if applied else "skipped", begin=begin, end=now())
    job.done()


main()
