#!/usr/bin/env python3
"""The lesson's trace is read by torch-tb-profiler's own parser and routes, and by HTA as far as a CPU trace can."""
import harness as h
from consumers import checker, environment


def lesson(directory):
    t = h.torch_target(h.torch_python(), "lesson")
    out = h.capture(t, directory + "/out", "--wait", 2, "--warmup", 2, "--active", 5, "--activities", "operators,autograd,memory", "--max-overhead", 1000,
                    "--with-modules")
    t.stop()
    h.check_output(out)
    return out


def tensorboard_plugin():
    python = environment("tb")
    with h.scratch() as d:
        out = lesson(d)
        has_modules = out.profile["activities"]["modules"]["state"] == "on"  # not every Python is known
        views = "overall,operator,trace,memory" + (",module" if has_modules else "")
        rows = checker(python, "check_tb.py", out.path + "/trace", "--views", views)
        parsed = next(r for r in rows if r["part"].startswith("parse "))
        h.equal(parsed["steps"], [str(s.attempt) for s in out.in_phase("active")], "steps")
        marks = [float(e["dur"]) for e in out.marks]
        h.check(abs(parsed["avg_step_us"]["Total"] - sum(marks) / len(marks)) < 1,
                "average step %s us, by the trace %s us" % (parsed["avg_step_us"]["Total"], sum(marks) / len(marks)))
        h.check(not parsed.get("log"), "the parser complains: %s" % parsed.get("log"))
        plugin = next(r for r in rows if r["part"] == "plugin")
        h.equal(plugin["views"], ["Overview", "Operator", "Trace", "Memory"] + ["Module"] * has_modules, "views")


def holistic_trace_analysis():
    python = environment("hta")
    with h.scratch() as d:
        out = lesson(d)
        rows = {r["analysis"]: r for r in checker(python, "check_hta.py", out.path + "/trace", "--require", "cpu")}
        # HTA leaves out the last of several steps
        h.equal(rows["profiler_steps"]["steps"], [s.attempt for s in out.in_phase("active")][:4], "steps")
        h.equal(rows["parse"]["ranks"], [0], "ranks")
        names = set(rows["user_annotation_breakdown"]["names"])
        h.check({"train_step", "Optimizer.step#SGD.step", "Optimizer.zero_grad#SGD.zero_grad"} <= names, "annotations: %s" % sorted(names))


h.main(tensorboard_plugin, holistic_trace_analysis)
