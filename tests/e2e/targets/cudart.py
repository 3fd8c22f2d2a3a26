#!/usr/bin/env python3
"""A training loop that calls a real CUDA runtime. Without a driver every call fails, but it is made all the same, and returns."""
import ctypes

import common
from common import now

CALLS = ("cudaMalloc", "cudaMemGetInfo", "cudaStreamSynchronize", "cudaDeviceSynchronize", "cudaGetDevice", "cudaRuntimeGetVersion")


def main():
    p = common.parser(__doc__)
    p.add_argument("--cudart", required=True, help="the library")
    opt = p.parse_args()
    torch = common.setup()
    cudart = ctypes.CDLL(opt.cudart)
    model = common.mlp(torch, 64)
    job = common.Job(opt, model)
    sgd = torch.optim.SGD(model.parameters(), lr=0.01)
    a, b = ctypes.c_size_t(), ctypes.c_size_t()
    given = {"cudaMalloc": (ctypes.byref(a), ctypes.c_size_t(256)), "cudaMemGetInfo": (ctypes.byref(a), ctypes.byref(b)),
             "cudaStreamSynchronize": (None,), "cudaDeviceSynchronize": (), "cudaGetDevice": (ctypes.byref(a),),
             "cudaRuntimeGetVersion": (ctypes.byref(a),)}
    functions = [(getattr(cudart, name), given[name]) for name in CALLS]
    x = torch.randn(64, 64)
    job.ready(torch=torch.__version__, calls=CALLS)
    for i in job.attempts():
        begin = now()
        with torch.profiler.record_function("train_step"):
            sgd.zero_grad()
            model(x).sum().backward()
            for function, arguments in functions:
                function(*arguments)
            c = now()
            sgd.step()
            d = now()
        job.attempt(i, c, d, begin=begin, end=now())
    job.done()


main()
