#!/usr/bin/env python3
"""autograd.Functions in Python: one whose backward calls operators, one that runs a backward of its own inside, two outputs,
one input that needs no gradient, activation checkpointing. Every attempt does the same work."""
import common
from common import now


def functions(torch):
    class Swish(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * torch.sigmoid(x)

        @staticmethod
        def backward(ctx, grad):
            (x,) = ctx.saved_tensors
            s = torch.sigmoid(x)
            return grad * (s + x * s * (1 - s))

    class Recomputed(torch.autograd.Function):
        """The engine is entered again from inside a node."""

        @staticmethod
        def forward(ctx, x, weight):
            ctx.save_for_backward(x, weight)
            return torch.tanh(x @ weight)

        @staticmethod
        def backward(ctx, grad):
            x, weight = (t.detach().requires_grad_() for t in ctx.saved_tensors)
            with torch.enable_grad():
                again = torch.tanh(x @ weight)
            return torch.autograd.grad(again, (x, weight), grad)

    class Halves(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, scale):
            ctx.scale = scale
            half = x.shape[1] // 2
            return x[:, :half] * scale, x[:, half:].clone()

        @staticmethod
        def backward(ctx, left, right):
            return torch.cat((left * ctx.scale, right), dim=1), None

    return Swish, Recomputed, Halves


def main():
    p = common.parser(__doc__)
    p.add_argument("--no-early-stop", action="store_true", help="checkpointing recomputes to the end, and throws nothing to stop before")
    opt = p.parse_args()
    torch = common.setup()
    from torch.utils import checkpoint as checkpoints

    swish, recomputed, halves = functions(torch)
    model = torch.nn.ModuleList([torch.nn.Linear(64, 64), torch.nn.Linear(64, 10)])
    model.register_parameter("inner", torch.nn.Parameter(torch.randn(64, 64) / 8))
    job = common.Job(opt, model)
    sgd = torch.optim.SGD(model.parameters(), lr=0.01)
    loss_of = torch.nn.CrossEntropyLoss()
    x, y = torch.randn(32, 64), torch.randint(0, 10, (32,))
    how = {"use_reentrant": True} if common.version(torch) < (2, 0) else {"use_reentrant": False}
    if opt.no_early_stop and hasattr(checkpoints, "set_checkpoint_early_stop"):
        to_the_end = checkpoints.set_checkpoint_early_stop(False)  # kept: it is undone when it goes
        to_the_end.__enter__()
    job.ready(torch=torch.__version__)
    for i in job.attempts():
        with torch.profiler.record_function("train_step"):
            sgd.zero_grad()
            h = recomputed.apply(swish.apply(model[0](x)), model.inner)
            left, right = halves.apply(h, 0.5)
            h = checkpoints.checkpoint(lambda a, b: torch.relu(torch.cat((a, b), dim=1)), left, right, **how)
            loss_of(model[1](h), y).backward()
            a = now()
            sgd.step()
            b = now()
        job.attempt(i, a, b)
    job.done()


main()
