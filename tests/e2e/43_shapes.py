#!/usr/bin/env python3
"""--record-shapes: sizes, strides and types of the tensors that operators are given, and what is counted from them, as torch.profiler has
them; rows apart by shape."""
import collections
import json

import harness as h
import torch_truth as truth

JOBS = ("lesson", "cnn", "transformer", "embedding", "custom_function", "no_grad")
ARGUMENTS_MAX = 8  # tpbpf looks at so many arguments, and at so many dimensions of each
DIMENSIONS_MAX = 8


def plain(value):
    return json.loads(json.dumps(value, default=float))


def tensor_arguments(args):
    """What an event's arguments say of tensors: [(position, sizes, strides, type)]. A list of tensors is none."""
    sizes, types, strides = (plain(args.get(k, [])) for k in ("Input Dims", "Input type", "Input Strides"))
    found = []
    for i, (s, t) in enumerate(zip(sizes, types)):
        is_tensor = t not in ("", "Scalar", "ScalarList", "TensorList", "GenericList") and all(not isinstance(x, list) for x in s)
        if is_tensor and i < ARGUMENTS_MAX and len(s) <= DIMENSIONS_MAX:
            found.append((i, tuple(s), tuple(strides[i]) if i < len(strides) else None, t))
    return tuple(found)


def by_operator(events, with_strides):
    """Operator and its tensor arguments -> how often."""
    counts = collections.Counter()
    for e in events:
        if e["ph"] == "X" and e["cat"] == "cpu_op" and e["name"].startswith("aten::"):
            found = tensor_arguments(e.get("args", {}))
            counts[e["name"], found if with_strides else tuple(a[:2] + a[3:] for a in found)] += 1
    return counts


def listed(counter):
    return "\n  ".join("%s %s: %d" % (name, arguments, n) for (name, arguments), n in sorted(counter.items(), key=repr)[:40])


def same(ours, theirs, what):
    missing, more = theirs - ours, ours - theirs
    h.check(not missing and not more, "%s that only torch.profiler has:\n  %s\nthat only tpbpf has:\n  %s" % (what, listed(missing), listed(more)))


def record(python, name, d, *options):
    job = truth.JOBS[name]
    want = truth.truth(python, job, d, "--record-shapes")
    out, _ = truth.capture(python, job, d, "--record-shapes", *options)
    h.equal(out.profile["activities"]["shapes"]["state"], "on", "activity shapes")
    return out, want


def in_the_trace(python, name):
    with h.scratch() as d:
        out, want = record(python, name, d)
        if want.events is None:
            h.skip("the trace of this torch.profiler holds no shapes")
        with_strides = any("Input Strides" in e.get("args", {}) for e in want.events)
        ours, theirs = (by_operator(events, with_strides) for events in (out.trace["traceEvents"], want.events))
        same(ours, theirs, "tensor arguments")


def tensor_shapes(shapes):
    """Of a row's shapes the tensors' alone: scalars and missing tensors are [], lists of tensors are longer than what is recorded."""
    return tuple((i, tuple(s)) for i, s in enumerate((shapes or [])[:ARGUMENTS_MAX]) if s and not isinstance(s[0], list))


def grouped(python, name):
    """--group-by shape. Integer lists are no tensors and have no shape in torch.profiler; tpbpf must not tell rows apart by them."""
    with h.scratch() as d:
        out, want = record(python, name, d, "--group-by", "shape")
        ours, theirs = collections.Counter(), collections.Counter()
        for r in out.rows:
            if r["name"].startswith("aten::"):
                shapes = json.loads((r["shapes"] or "[]").replace("?", '"unreadable"'))
                ours[r["name"], tensor_shapes(shapes)] += r["count"]
        for (name, shapes), row in want.rows_by(lambda n: (n.name, tensor_shapes(want.shapes.get(n.id)))).items():
            if name.startswith("aten::"):
                theirs[name, shapes] += row.count
        same(ours, theirs, "rows")
        h.check("Input Shapes" in out.table_rows[0], "columns of cpu_ops.txt: %s" % list(out.table_rows[0]))


def flops(python, name):
    """Of what both count: matrix products and convolutions."""
    with h.scratch() as d:
        out, want = record(python, name, d, "--with-flops")
        counted = ("aten::mm", "aten::addmm", "aten::bmm", "aten::baddbmm", "aten::conv2d")
        ours = {r["name"]: r["flops"] for r in out.rows if r["name"] in counted and r["flops"]}
        theirs = {r["name"]: r["flops"] for r in want.key_averages if r["name"] in counted and r["flops"]}
        h.equal(ours, theirs, "floating point operations")
        h.check(theirs, "torch.profiler counts none")
        h.check(any("FLOPs" in c for c in out.table_rows[0]), "columns of cpu_ops.txt: %s" % list(out.table_rows[0]))


def cases_of(check, names):
    for name in names:
        def case(python, name=name):
            check(python, name)

        case.__name__ = "%s_%s" % (check.__name__, name)
        yield case


def the_counts_are_the_same(python):
    with h.scratch() as d:
        out, want = record(python, "lesson", d)
        truth.check_same(truth.our_counts(out), want.counts, "calls with shapes")


def not_asked_for(python):
    with h.scratch() as d:
        out, _ = truth.capture(python, truth.JOBS["lesson"], d)
        h.check(not any("Input Dims" in e["args"] for e in out.events), "shapes without --record-shapes")
        h.equal(out.profile["activities"]["shapes"]["state"], "off", "activity shapes")


h.main(*cases_of(in_the_trace, JOBS), *cases_of(grouped, ("lesson", "cnn", "transformer")),
       *cases_of(flops, ("lesson", "cnn", "transformer")), the_counts_are_the_same, not_asked_for, torch=True)
