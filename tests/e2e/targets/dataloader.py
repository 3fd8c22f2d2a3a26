#!/usr/bin/env python3
"""A DataLoader with two worker processes; checks the order of the data and the workers' exit codes itself."""
import common
from common import emit, now


def main():
    p = common.parser(__doc__)
    p.add_argument("--workers", type=int, default=2)
    p.add_argument("--batches", type=int, default=24, help="batches in an epoch")
    opt = p.parse_args()
    torch = common.setup()

    class Numbers(torch.utils.data.Dataset):
        def __len__(self):
            return opt.batches * 8

        def __getitem__(self, i):
            return torch.full((64,), float(i) / 1000), i

    model = common.mlp(torch, 64)
    job = common.Job(opt, model)
    sgd = torch.optim.SGD(model.parameters(), lr=0.01)
    loss_of = torch.nn.CrossEntropyLoss()
    loader = torch.utils.data.DataLoader(Numbers(), batch_size=8, num_workers=opt.workers, shuffle=False)
    job.ready(torch=torch.__version__)
    epoch, disorder, bad_exits, workers_seen, it, want = 0, 0, [], 0, None, 0
    for i in job.attempts():
        batch = None
        while batch is None:
            if it is None:
                it, want = iter(loader), 0
                workers = list(getattr(it, "_workers", []))
                workers_seen += len(workers)
            a = now()
            batch = next(it, None)
            emit(load=i, begin=a, end=now(), last=batch is None)
            if batch is None:
                it = None
                epoch += 1
                for w in workers:
                    w.join(20)
                    if w.exitcode != 0:
                        bad_exits.append(w.exitcode)
        x, n = batch
        disorder += n.tolist() != list(range(want, want + len(n)))
        want += len(n)
        with torch.profiler.record_function("train_step"):
            sgd.zero_grad()
            loss = loss_of(model(x), n % 10)
            loss.backward()
            a = now()
            sgd.step()
            b = now()
        job.attempt(i, a, b, loss=float(loss.detach()).hex())
    job.done(epochs=epoch, disorder=disorder, bad_exits=bad_exits, workers=workers_seen)


main()
