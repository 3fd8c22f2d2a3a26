#!/usr/bin/env python3
"""A small convolutional net: batch norm, max pooling, dropout, SGD with momentum. Every attempt does the same work."""
import common
from common import now


def main():
    p = common.parser(__doc__)
    p.add_argument("--foreach", action="store_true", help="the optimizer's multi-tensor form")
    opt = p.parse_args()
    torch = common.setup()
    nn = torch.nn
    model = nn.Sequential(nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(2),
                          nn.Conv2d(8, 16, 3, stride=2, groups=2), nn.BatchNorm2d(16), nn.ReLU(inplace=True),
                          nn.AdaptiveAvgPool2d(2), nn.Flatten(), nn.Dropout(0.3), nn.Linear(64, 10))
    job = common.Job(opt, model)
    sgd = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9, weight_decay=1e-4, foreach=opt.foreach)
    loss_of = nn.CrossEntropyLoss()
    x, y = torch.randn(8, 3, 16, 16), torch.randint(0, 10, (8,))
    job.ready(torch=torch.__version__)
    for i in job.attempts():
        with torch.profiler.record_function("train_step"):
            sgd.zero_grad()
            loss_of(model(x), y).backward()
            a = now()
            sgd.step()
            b = now()
        job.attempt(i, a, b)
    job.done()


main()
