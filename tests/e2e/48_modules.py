#!/usr/bin/env python3
"""--with-modules: every call of an nn.Module that torch.profiler (with_modules, with_stack) has, by the same name and inside of the same other one,
with the same operators in its time."""
import collections
import decimal

import harness as h
import torch_truth as truth

JOBS = ("lesson", "cnn", "transformer", "custom_function")
KNOWN = ("3.11", "3.12", "3.13")


def modules_of(events):
    return [e for e in events if e["ph"] == "X" and e.get("cat") == "python_function" and "Python module id" in e.get("args", {})]


def with_parents(events):
    """(module, the one that it was called in) -> how often. torch.profiler's parents are functions of Python; modules are some of them."""
    functions = {e["args"]["Python id"]: e for e in events if e["ph"] == "X" and e.get("cat") == "python_function"}
    counts = collections.Counter()
    for e in modules_of(events):
        at = functions.get(e["args"].get("Python parent id"))
        while at is not None and "Python module id" not in at["args"]:
            at = functions.get(at["args"].get("Python parent id"))
        counts[e["name"], at["name"] if at else None] += 1
    return counts


def exact(number):
    return decimal.Decimal(str(number))


def inside(events):
    """(module, operator) -> how many begin and end in the time of its calls."""
    operators = collections.defaultdict(list)
    for e in events:
        if e["ph"] == "X" and e.get("cat") == "cpu_op" and e["name"].startswith("aten::"):
            operators[e["tid"]].append((exact(e["ts"]), exact(e["ts"]) + exact(e["dur"]), e["name"]))
    counts = collections.Counter()
    for m in modules_of(events):
        begin, end = exact(m["ts"]), exact(m["ts"]) + exact(m["dur"])
        counts.update((m["name"], name) for a, b, name in operators[m["tid"]] if a >= begin and b <= end)
    return counts


def listed(counter):
    return "\n  ".join("%s in %s: %d" % (a, b, n) for (a, b), n in sorted(counter.items(), key=repr)[:40])


def same(ours, theirs, what):
    h.check(ours == theirs, "%s that only torch.profiler has:\n  %s\nthat only tpbpf has:\n  %s" % (what, listed(theirs - ours), listed(ours - theirs)))


def record(python, job, d):
    path = truth.profiled(python, job, d, "--with-modules")
    out, _ = truth.capture(python, job, d, "--with-modules")
    return out, truth.kineto_events(path + ".trace")


def of_job(python, job):
    with h.scratch() as d:
        out, theirs = record(python, job, d)
        ours = out.trace["traceEvents"]
        if out.profile["job"]["python_version"] not in KNOWN:
            h.equal(out.profile["activities"]["modules"]["state"], "off", "modules of a Python that is not known")
            h.equal(modules_of(ours), [], "rows of modules")
            return
        h.equal(out.profile["activities"]["modules"]["state"], "on", "activity modules")
        if theirs is None:
            calls = collections.Counter(e["name"] for e in out.modules)
            h.check(calls and all(n % truth.ACTIVE == 0 for n in calls.values()), "as many in each attempt: %s" % calls)
            h.skip("the trace of this torch.profiler cannot be read: only that each attempt has as many calls was checked")
        h.check(modules_of(theirs), "torch.profiler has no modules")
        same(with_parents(ours), with_parents(theirs), "calls of modules")
        same(inside(ours), inside(theirs), "operators in modules")


def every_other_way(python):
    of_job(python, truth.JobSpec("modules", (), ()))


def compiled(python):
    """What is inside of a region is no module any more."""
    if h.version(python) < (2, 2):
        h.skip("a compiled region has no name before 2.2")
    of_job(python, truth.JobSpec("compiled", ("--backend", "eager"), ()))


def too_deep(python):
    """Beyond 32 of them, one in the other: those further in are counted, the others are there."""
    with h.scratch() as d:
        t = h.torch_target(python, "modules", "--depth", 40)
        out = h.capture(t, d + "/out", *truth.WINDOW, *truth.ROOM, "--with-modules", code=3)
        h.check_unmodified(t.pid)
        t.stop()
        h.check_output(out, lossless=False)
        if out.profile["job"]["python_version"] not in KNOWN:
            h.skip("a Python that is not known")
        calls = collections.Counter(e["name"] for e in modules_of(out.trace["traceEvents"]))
        deep = [name for name in calls if name.startswith("nn.Module: Deep_")]
        h.equal(len(deep), 31, "modules inside the outermost one")
        h.equal(set(calls[name] for name in deep), {truth.ACTIVE}, "calls of each")
        # nine further ones of the class and the one inside of all
        h.equal(out.profile["loss"]["modules_nested_too_deep"], 10 * truth.ACTIVE, "calls that are too deep")


def not_asked_for(python):
    with h.scratch() as d:
        out, _ = truth.capture(python, truth.JOBS["lesson"], d)
        h.equal(modules_of(out.trace["traceEvents"]), [], "rows of modules")
        h.equal(out.profile["activities"]["modules"], {"state": "off", "reason": "not asked for"}, "activity modules")


def cases():
    for name in JOBS:
        def case(python, name=name):
            of_job(python, truth.JOBS[name])

        case.__name__ = "of_" + name
        yield case


h.main(*cases(), every_other_way, compiled, too_deep, not_asked_for, torch=True)
