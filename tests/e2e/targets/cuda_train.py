#!/usr/bin/env python3
"""Trains on a GPU: the same kernels, copies, a set and a second stream in every attempt. With --torch-profiler its account has the
GPU's part as well."""
import common
from common import now

BATCH, WIDTH = 64, 256


def need_gpu(torch):
    if not torch.version.cuda:
        common.skip("PyTorch %s is built without CUDA" % torch.__version__)
    if not torch.cuda.is_available():
        common.skip("PyTorch %s finds no GPU" % torch.__version__)


def main():
    p = common.parser(__doc__)
    p.add_argument("--check", action="store_true", help="say whether it can run here, and end")
    opt = p.parse_args()
    torch = common.setup()
    need_gpu(torch)
    if opt.check:
        return
    opt.cuda = True
    device, nn = torch.device("cuda", 0), torch.nn
    torch.backends.cuda.matmul.allow_tf32 = False
    model = nn.Sequential(nn.Linear(WIDTH, WIDTH), nn.ReLU(), nn.Linear(WIDTH, 16)).to(device)
    job = common.Job(opt, model)
    sgd = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9, foreach=False)
    loss_of = nn.CrossEntropyLoss()
    side = torch.cuda.Stream()
    # of fixed places: nothing depends on what the allocator has at hand
    host = torch.randn(BATCH, WIDTH).pin_memory()
    x, back = torch.empty(BATCH, WIDTH, device=device), torch.empty(BATCH, 16).pin_memory()
    y = torch.randint(0, 16, (BATCH,), device=device)
    square, product = torch.randn(WIDTH, WIDTH, device=device), torch.empty(WIDTH, WIDTH, device=device)
    large = torch.randn(1 << 24, device=device)
    job.ready(torch=torch.__version__, cuda=torch.version.cuda, device=torch.cuda.get_device_name(0))
    for i in job.attempts():
        with torch.profiler.record_function("attempt"):
            x.copy_(host, non_blocking=True)
            out = model(x)
            loss = loss_of(out, y)
            sgd.zero_grad(set_to_none=True)
            loss.backward()
            side.wait_stream(torch.cuda.current_stream())
            with torch.cuda.stream(side):
                torch.mm(square, square, out=product)
            torch.cuda.current_stream().wait_stream(side)
            # a sum over so many is made by blocks that count themselves, in memory that is set to 0 before
            large.sum()
            back.copy_(out.detach(), non_blocking=True)
            loss.item()
            begin = now()
            sgd.step()
            end = now()
        job.attempt(i, begin, end)
    job.done()


main()
