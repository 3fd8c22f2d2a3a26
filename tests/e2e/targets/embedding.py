#!/usr/bin/env python3
"""Embeddings with sparse gradients: SparseAdam, or SGD. Every attempt does the same work."""
import common
from common import now


def main():
    p = common.parser(__doc__)
    p.add_argument("--optimizer", choices=("sparse_adam", "sgd"), default="sparse_adam")
    opt = p.parse_args()
    torch = common.setup()
    nn = torch.nn
    model = nn.ModuleList([nn.Embedding(500, 16, sparse=True), nn.EmbeddingBag(300, 16, sparse=True, mode="sum")])
    job = common.Job(opt, model)
    if opt.optimizer == "sgd":
        optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    else:
        optimizer = torch.optim.SparseAdam(list(model.parameters()), lr=0.01)
    users, items = torch.randint(0, 500, (32,)), torch.randint(0, 300, (32, 4))
    y = torch.rand(32)
    job.ready(torch=torch.__version__)
    for i in job.attempts():
        with torch.profiler.record_function("train_step"):
            optimizer.zero_grad()
            score = (model[0](users) * model[1](items)).sum(1)
            nn.functional.binary_cross_entropy_with_logits(score, y).backward()
            a = now()
            optimizer.step()
            b = now()
        job.attempt(i, a, b)
    job.done()


main()
