#!/usr/bin/env python3
"""Ranges of every shape: nested, recursive, left by an exception, ended by another thread, never ended; names to be escaped."""
import harness as h

WINDOW = ("--wait", 2, "--warmup", 2, "--active", 5)
EACH = {"outer": 1, "middle": 1, "inner": 1, "recursive": 3, "raises_outside": 1, "raises_inside": 1, "operator_raises": 1,
        "ended_elsewhere": 1, "train_step": 1, "Optimizer.step#SGD.step": 1, "Optimizer.zero_grad#SGD.zero_grad": 1}


def check_ranges(out, more=()):
    counts = out.counts()
    odd = [n for n in counts if n.startswith("quoted")]
    h.equal(len(odd), 1, "spellings of the odd name: %s" % odd)
    h.check('quoted "name"' in odd[0], "quotes in a name: %r" % odd[0])
    h.equal(counts.pop(odd[0]), 5, odd[0])
    for name, n in EACH.items():
        h.equal(counts.pop(name, 0), 5 * n, name)
    for step in out.marks:
        h.equal(counts.pop(step["name"]), 1, step["name"])
    h.equal(set(counts), set(more), "other events")
    h.check("\x1b" not in out.table_text and "\t" not in out.table_text, "control bytes in cpu_ops.txt")


def nesting(out):
    order = lambda name: sorted(out.named(name), key=lambda e: e["ts"])
    for parent, child in (("outer", "middle"), ("middle", "inner"), ("raises_outside", "raises_inside"), ("outer", "raises_outside"),
                          ("outer", "operator_raises"), ("outer", "train_step"), ("train_step", "Optimizer.step#SGD.step")):
        for a, b in zip(order(parent), order(child)):
            h.check(h.contains(a, b), "%s does not contain %s: %r %r" % (parent, child, a, b))
    deep = order("recursive")
    for i in range(0, len(deep), 3):
        h.check(h.contains(deep[i], deep[i + 1]) and h.contains(deep[i + 1], deep[i + 2]), "recursion %d: %r" % (i // 3, deep[i : i + 3]))
    for n, outer in enumerate(order("outer")):
        # a range that never ends cannot nest with the steps that it runs across: these may then have a row of their own
        inside = h.spans if out.named("never_ended") else h.contains
        h.check(inside(out.marks[n], outer), "outer %d lies outside its step" % n)


def every_shape(python):
    with h.scratch() as d:
        t = h.torch_target(python, "ranges")
        out = h.capture(t, d + "/out", *WINDOW, "--activities", "ranges")
        t.stop()
        h.check_output(out)
        h.match_attempts(out, t, first=0)
        check_ranges(out)
        h.check(all(h.finished(e) for e in out.events), "unfinished: %s" % sorted({e["name"] for e in out.events if not h.finished(e)}))
        nesting(out)


def never_ended(python):
    with h.scratch() as d:
        t = h.torch_target(python, "ranges", "--leak")
        out = h.capture(t, d + "/out", *WINDOW, "--activities", "ranges")
        t.stop()
        h.check_output(out)
        h.match_attempts(out, t, first=0)
        check_ranges(out, more=["never_ended"])
        h.equal([h.finished(e) for e in out.named("never_ended")], [False] * 5, "`finished` of the ranges that never end")
        h.equal({e["name"] for e in out.events if not h.finished(e)}, {"never_ended"}, "unfinished ranges")
        nesting(out)


h.main(every_shape, never_ended, torch=True)
