#!/usr/bin/env python3
"""Inference under no_grad and under inference_mode; no optimizer, so that an attempt is named with --step: range:infer_step
or op:argmax, each of which comes once in an attempt. Every attempt does the same work."""
import common
from common import now


def main():
    p = common.parser(__doc__)
    p.add_argument("--mode", choices=("no_grad", "inference_mode", "both"), default="both")
    opt = p.parse_args()
    torch = common.setup()
    model = torch.nn.Sequential(torch.nn.Linear(64, 128), torch.nn.ReLU(), torch.nn.LayerNorm(128), torch.nn.Linear(128, 10)).eval()
    job = common.Job(opt, model)
    x = torch.randn(32, 64)
    modes = [getattr(torch, m) for m in ("no_grad", "inference_mode") if opt.mode in (m, "both")]
    seen = 0
    job.ready(torch=torch.__version__)
    for i in job.attempts():
        with torch.profiler.record_function("infer_step"):
            out = 0
            for mode in modes:
                with mode():
                    out = torch.softmax(model(x), dim=1) + out
            a = now()
            best = out.argmax(1)
        b = now()
        seen += int(best[0])
        job.attempt(i, a, b)
    job.done(seen=seen)


main()
