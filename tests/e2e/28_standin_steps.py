#!/usr/bin/env python3
"""What counts as an attempt: what the user names, and what is said where nothing was seen."""
import harness as h
import standin_support as s

PLAN = ("--wait", 2, "--warmup", 2, "--active", 5)


def stepped(source, *args, per_attempt=1, flavour="standin", name="user_0"):
    """A range that runs per_attempt times between two beats is there so many times in each active attempt."""
    t, out, _ = s.watched_in_full("--step-us", 5000, *args, options=("--step", source), flavour=flavour, plan=PLAN)
    h.check_plan(out, wait=2, warmup=2, active=5)
    h.equal(out.counts().get(name), 5 * per_attempt, "ranges %s in 5 attempts" % name)
    return t, out


def a_range():
    stepped("range:report")


def a_range_by_its_beginning():
    stepped("range:repo*")


def a_range_without_an_optimizer():
    stepped("range:train_step", "--no-optimizer-range")


def an_operator():
    stepped("op:_fused_sgd_", "--scaler", "fused", "--no-optimizer-range")


def an_operator_of_a_stripped_library():
    stepped("op:_fused_adam_", "--scaler", "fused", "--optimizer", "adam", flavour="standin-stripped")


def a_symbol():
    symbol = "_ZN2at4_ops18_foreach_add__List4callEN3c108ArrayRefINS_6TensorEEES5_RKNS2_6ScalarE"
    stepped("symbol:libtorch_cpu.so:" + symbol, "--no-optimizer-range")


def no_attempt_is_said():
    """A compiled optimizer has no range: the timeout ends it, and the message names the way out."""
    with h.scratch() as d:
        t = s.standin("--step-us", 5000, "--no-optimizer-range")
        out = h.capture(t, d + "/out", *PLAN, "--timeout", 2, code=3)
        t.stop()
        h.check_output(out, "no_capture", "timeout")
        h.equal(out.window["attempts_seen"], 0, "attempts seen")
        h.check("--step" in out.run.err + out.run.out, "the way out is not named: %s" % out.run.err)


def timeout_in_active():
    with h.scratch() as d:
        t = s.standin("--step-us", 20000)
        out = h.capture(t, d + "/out", "--wait", 1, "--warmup", 1, "--active", 10000, "--timeout", 3, code=3)
        h.check_unmodified(t.pid)
        t.stop()
        h.check_output(out, "partial", "timeout")
        truth = s.active_truth(out, t)
        h.check(len(truth) > 20, "%d active attempts in 3 s" % len(truth))
        got, want = out.counts(), s.begun(truth)
        for name in want:  # what began after the last whole attempt may be there too
            h.check(want[name] <= got.get(name, 0) <= want[name] + 1, "%s: %s, %d by the target" % (name, got.get(name), want[name]))


def a_name_that_is_not_there():
    with h.scratch() as d:
        t = s.standin("--step-us", 5000)
        for source in ("op:no_such_operator", "symbol:libtorch_cpu.so:no_such_symbol"):
            run = h.tpbpf("-p", t.pid, "-o", d + "/out", "--step", source)
            h.check(run.code not in (0, 3) and run.code > 0, "exit code %d on --step %s" % (run.code, source))
            h.check("no_such" in run.err, "what it says: %s" % run.err)
            h.equal(h.modified_code_bytes(t.pid), [], "bytes changed in the target")


h.main(a_range, a_range_by_its_beginning, a_range_without_an_optimizer, an_operator, an_operator_of_a_stripped_library, a_symbol,
       no_attempt_is_said, timeout_in_active, a_name_that_is_not_there)
