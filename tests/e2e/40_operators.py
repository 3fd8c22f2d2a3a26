#!/usr/bin/env python3
"""Operators, nodes and functions: every row has torch.profiler's count, for each kind of job, and no row is too many."""
import harness as h
import torch_truth as truth

LESSON = {"train_step": 5, "aten::addmm": 10, "aten::mm": 15, "aten::add_": 20, "aten::t": 45, "aten::sum": 10,
          "Optimizer.step#SGD.step": 5, "autograd::engine::evaluate_function: AddmmBackward0": 10}

# ranges of a compiled job that exist only while torch.profiler runs
ONLY_PROFILED = (r"## Call CompiledFxGraph \w+ ##", "Pregraph bytecode", "AOTDispatcher Runtime Wrapper Prologue")


def check_counts(out, want):
    truth.check_same(truth.our_counts(out), want.counts, "calls in profile.json")
    truth.check_same(truth.our_raw_counts(out), want.raw_counts, "events of the trace")


def compare(python, job, *options, **kw):
    with h.scratch() as d:
        want = truth.truth(python, job, d)
        out, _ = truth.capture(python, job, d, *options, **kw)
        check_counts(out, want)
        return out


def case_of(name):
    def case(python):
        compare(python, truth.JOBS[name])

    case.__name__ = name
    return case


def the_lesson(python):
    """The counts that the lesson shows; before 2.0 zero_grad() fills the gradients with zeros, and each is added to."""
    out = compare(python, truth.JOBS["lesson"], bound=())
    if h.version(python) >= (2, 0):
        h.equal({n: truth.our_counts(out).get(n) for n in LESSON}, LESSON, "the lesson's calls")
        h.equal({n: h.calls(out).get(h.shown(n)) for n in LESSON}, LESSON, "the lesson's calls in cpu_ops.txt")


def the_lesson_exact(python):
    compare(python, truth.JOBS["lesson"], "--exact")


def the_transformer_exact(python):
    compare(python, truth.JOBS["transformer"], "--exact")


def the_lesson_in_two_windows(python):
    with h.scratch() as d:
        want = truth.truth(python, truth.JOBS["lesson"], d, active=6)
        out, _ = truth.capture(python, truth.JOBS["lesson"], d, window=("--wait", 1, "--warmup", 1, "--active", 3, "--repeat", 2))
        check_counts(out, want)


def attached_in_the_middle(python):
    with h.scratch() as d:
        want = truth.truth(python, truth.JOBS["lesson"], d)
        t = h.torch_target(python, "lesson", gate=False).wait_attempts(5)
        out = h.capture(t, d + "/out", *truth.WINDOW, open_gate=False)
        t.stop()
        h.check_output(out)
        check_counts(out, want)


def overloads_apart(python):
    """--group-by overload: the rows of key_averages(group_by_overload_name=True)."""
    with h.scratch() as d:
        want = truth.truth(python, truth.JOBS["transformer"], d, "--overloads")
        out, _ = truth.capture(python, truth.JOBS["transformer"], d, "--group-by", "overload")
        ours = {(r["name"], r.get("overload") or ""): r["count"] for r in out.rows if not truth.is_step(r["name"])}
        theirs = {(r["name"], r["overload"]): r["count"] for r in want.by_overload}
        spell = lambda rows: {"%s %r" % k: v for k, v in rows.items()}
        truth.check_same(spell(ours), spell(theirs), "rows by overload")


def without_operators(python):
    """--activities ranges: what issue 3 recorded, no more."""
    with h.scratch() as d:
        out, _ = truth.capture(python, truth.JOBS["lesson"], d, "--activities", "ranges")
        h.equal(set(truth.our_counts(out)), {"train_step", "Optimizer.step#SGD.step", "Optimizer.zero_grad#SGD.zero_grad"}, "rows")
        h.equal(out.memory, [], "memory events")


def compiled(python):
    """What is compiled calls no operators that anyone could see; what is left is as torch.profiler has it."""
    for backend in ("eager", "inductor"):
        job = truth.JobSpec("compiled", ("--backend", backend), ())
        with h.scratch() as d:
            want = truth.truth(python, job, d)
            out, _ = truth.capture(python, job, d)
            truth.check_same(truth.our_counts(out), want.counts, "calls with backend %s" % backend, ignore=ONLY_PROFILED)
            regions = {n: c for n, c in truth.our_counts(out).items() if n.startswith("Torch-Compiled Region")}
            if h.version(python) >= (2, 2):
                h.equal(sum(regions.values()), truth.ACTIVE, "compiled regions: %s" % regions)


h.main(the_lesson, the_lesson_exact, the_transformer_exact, the_lesson_in_two_windows, attached_in_the_middle, overloads_apart,
       without_operators, compiled, *[case_of(name) for name in truth.JOBS if name != "lesson"], torch=True)
