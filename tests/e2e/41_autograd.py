#!/usr/bin/env python3
"""Autograd: each arrow that torch.profiler draws from a forward call to its backward node is drawn here as well; a node's row lies
in its evaluate_function's, on the thread that ran it, and carries the forward call's number."""
import collections

import harness as h
import torch_truth as truth

JOBS = ("lesson", "accumulate", "cnn", "transformer", "embedding", "custom_function", "thread_loop", "retry")


def check_nodes(out, tid):
    """Each evaluate_function row has the node's of its name directly inside, with the same number."""
    inner = collections.defaultdict(list)
    for e in out.events:
        inner[e["tid"], e["name"]].append(e)
    outer = [e for e in out.events if e["name"].startswith(truth.OUTER)]
    h.check(outer, "no autograd nodes")
    for e in outer:
        h.equal(e["tid"], tid, "thread of %s" % e["name"])
        found = [i for i in inner[e["tid"], e["name"][len(truth.OUTER) :]] if h.contains(e, i)]
        # autograd.grad() takes the input of this node without running it
        captured = e["name"].endswith("torch::autograd::AccumulateGrad")
        h.check(found or captured, "%s at %s has no node inside" % (e["name"], e["ts"]))
        number, inside = e["args"].get("Sequence number"), {i["args"].get("Sequence number") for i in found}
        h.check(number in inside or captured and not found, "%s is number %r, the node inside %r" % (e["name"], number, inside))


def check_numbers(out):
    """An arrow's two ends have one sequence number."""
    at = collections.defaultdict(list)
    for e in out.events:
        at[e["tid"], e["ts"]].append(e)
    begin = {e["id"]: e for e in out.flows if e["ph"] == "s"}
    for f in (e for e in out.flows if e["ph"] == "f"):
        s = begin[f["id"]]
        h.check(s["ts"] <= f["ts"], "an arrow points back in time: %r %r" % (s, f))
        numbers = [{x["args"].get("Sequence number") for x in at[e["tid"], e["ts"]]} - {None} for e in (s, f)]
        h.check(numbers[0] & numbers[1], "numbers at the ends of an arrow: %s: %r, %r" % (numbers, s, f))
        h.check(any(x["args"].get("Fwd thread id") for x in at[f["tid"], f["ts"]]), "no forward thread at %r" % f)


def compare(python, name, *options):
    with h.scratch() as d:
        job = truth.JOBS[name]
        want = truth.truth(python, job, d)
        if want.events is not None:
            h.equal(truth.arrows(want.events), want.pairs, "torch.profiler's arrows and its sequence numbers")
        out, t = truth.capture(python, job, d, *options)
        ours = truth.arrows(out.trace["traceEvents"])
        missing = want.pairs - ours
        h.check(not missing, "%d of torch.profiler's %d arrows are missing: %s"
                % (sum(missing.values()), sum(want.pairs.values()), dict(missing)))
        more = ours - want.pairs
        h.check(not more, "arrows that torch.profiler does not draw: %s" % dict(more))
        check_nodes(out, t.facts["train_tid"])
        check_numbers(out)
        h.equal(out.profile["activities"]["autograd"]["state"], "on", "activity autograd")


def case_of(name):
    def case(python):
        compare(python, name)

    case.__name__ = name
    return case


def the_transformer_exact(python):
    compare(python, "transformer", "--exact")


def a_second_window(python):
    """The numbers of the threads are known in each window, not only in the first."""
    with h.scratch() as d:
        want = truth.truth(python, truth.JOBS["lesson"], d, active=6)
        out, _ = truth.capture(python, truth.JOBS["lesson"], d, window=("--wait", 1, "--warmup", 1, "--active", 3, "--repeat", 2))
        h.equal(truth.arrows(out.trace["traceEvents"]), want.pairs, "arrows")


def without_autograd(python):
    with h.scratch() as d:
        out, _ = truth.capture(python, truth.JOBS["lesson"], d, "--activities", "ranges,operators")
        h.equal(out.flows, [], "arrows")
        h.check(not any("evaluate_function" in n for n in out.counts()), "nodes: %s" % sorted(out.counts()))
        h.equal(truth.our_counts(out).get("aten::mm"), 15, "aten::mm")


h.main(*[case_of(name) for name in JOBS], the_transformer_exact, a_second_window, without_autograd, torch=True)
