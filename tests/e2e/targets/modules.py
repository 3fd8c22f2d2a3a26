#!/usr/bin/env python3
"""Modules called in every way that is not plain: one in a loop, one inside of its own class, one inside of itself, with hooks, left by an exception, by forward()
itself, by checkpoint a second time in backward, in a row without an operator, far inside of others."""
import common
from common import now


def main():
    p = common.parser(__doc__)
    p.add_argument("--depth", type=int, default=12, help="of modules, one in the other (default 12)")
    opt = p.parse_args()
    torch = common.setup()
    nn = torch.nn
    from torch.utils.checkpoint import checkpoint

    class Loop(nn.Module):
        """The same module three times from one place, nothing in between."""

        def __init__(self):
            super().__init__()
            self.layer = nn.Linear(16, 16)

        def forward(self, x):
            for _ in range(3):
                x = self.layer(x)
            return x

    class Deep(nn.Module):
        def __init__(self, depth):
            super().__init__()
            self.inner = Deep(depth - 1) if depth > 1 else nn.ReLU()

        def forward(self, x):
            return self.inner(x)

    class Fails(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = nn.Linear(3, 3)

        def forward(self, x):
            return self.layer(x)  # of another size

    class Careful(nn.Module):
        def __init__(self):
            super().__init__()
            self.fails, self.other = Fails(), nn.Tanh()

        def forward(self, x):
            try:
                return self.fails(x)
            except RuntimeError:
                return self.other(x)

    class Again(nn.Module):
        """Calls itself."""

        def forward(self, x, times=2):
            return self(x.relu(), times - 1) if times else x

    class Keys(nn.Module):
        """Python that C calls and that is no module."""

        def forward(self, x):
            return x * sorted(range(5), key=lambda i: -i)[0]

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.loop, self.deep, self.careful, self.keys, self.itself = Loop(), Deep(opt.depth), Careful(), Keys(), Again()
            self.empty = nn.Sequential(*(nn.Identity() for _ in range(3)))
            self.hooked, self.again, self.direct = nn.Linear(16, 16), nn.Linear(16, 16), nn.Linear(16, 16)
            self.norm = nn.LayerNorm(16)
            self.hooked.register_forward_hook(lambda module, given, result: self.norm(result))

        def forward(self, x):
            x = self.careful(self.deep(self.loop(x)))
            x = self.hooked(self.keys(self.empty(self.itself(x))))
            x = checkpoint(self.again, x, use_reentrant=False)
            return self.direct.forward(x)

    model = Model()
    job = common.Job(opt, model)
    sgd = torch.optim.SGD(model.parameters(), lr=0.001)
    x, loss_of = torch.randn(8, 16), nn.MSELoss()
    job.ready(torch=torch.__version__)
    for i in job.attempts():
        with torch.profiler.record_function("train_step"):
            sgd.zero_grad()
            loss_of(model(x), x).backward()
            a = now()
            sgd.step()
            b = now()
        job.attempt(i, a, b)
    job.done()


main()
