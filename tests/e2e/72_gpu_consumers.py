#!/usr/bin/env python3
"""The traces of a simulated job of two ranks, read by HolisticTraceAnalysis and by TensorBoard's plugin: every analysis
and view runs, and gives the figures that the simulated device implies."""
import functools
import os
import tempfile

import consumers
import gpu_demo
import harness as h

HTA = ["parse", "profiler_steps", "user_annotation_breakdown", "trace_diff", "temporal_breakdown", "idle_time_breakdown", "gpu_kernel_breakdown",
       "gpu_kernels_with_user_annotations", "gpu_user_annotation_breakdown", "comm_comp_overlap", "queue_length_time_series", "queue_length_summary",
       "time_blocked_on_full_queue", "memory_bw_time_series", "memory_bw_summary", "cuda_kernel_launch_stats", "aten_op_kernels_and_delay",
       "frequent_cuda_kernel_sequences", "critical_path", "critical_path_overlay", "trace_with_counters"]


@functools.lru_cache(maxsize=None)
def traces():
    directory = tempfile.mkdtemp(prefix="tpbpf-gpu-demo-", dir=h.BUILD)
    gpu_demo.demo(os.path.join(directory, "demo"))
    return os.path.join(directory, "demo")


def holistic_trace_analysis():
    python = consumers.environment("hta")
    # exit 3 is a figure that differs
    rows = {r["analysis"]: r for r in consumers.checker(python, "check_hta.py", traces() + "/trace", "--require", "gpu", "--truth", traces() + "/truth.json")}
    h.equal([name for name in HTA if not rows[name]["ok"]], [], "analyses that failed")
    h.equal(rows["TOTAL"]["figures_wrong"], [], "figures")


def tensorboard_plugin():
    python = consumers.environment("tb")
    rows = consumers.checker(python, "check_tb.py", traces() + "/trace", "--truth", traces() + "/truth.json",
                             "--views", "overall,operator,kernel,trace,distributed,memory,module")
    total = next(r for r in rows if r["part"] == "TOTAL")
    h.equal((total["failed"], total["figures_wrong"]), ([], []), "views and figures")
    plugin = next(r for r in rows if r["part"] == "plugin")
    h.equal(set(plugin["views"]), {"Overview", "Operator", "Kernel", "Trace", "Distributed", "Memory", "Module"}, "views")


h.main(holistic_trace_analysis, tensorboard_plugin)
