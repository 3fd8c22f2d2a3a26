#!/usr/bin/env python3
"""C++ exceptions through probed functions: nobody dies, nothing is computed differently, and the counts stay exact."""
import harness as h
import standin_support as s


def thrown(*args, flavour="standin", counts=True):
    args = (*args, "--step-us", 1000, "--throw", 2000)
    alone = s.unwatched(*args, "--attempts", 30, flavour=flavour)
    h.check(alone["thrown"] >= 30 * 2000, "the target threw %d" % alone["thrown"])
    t, out, done = s.watched_in_full(*args, flavour=flavour, attempts=30)
    s.same_result(done, alone)
    truth = s.active_truth(out, t)
    h.equal(len(truth), 5, "active attempts")
    s.check_counts(out, truth)
    # such a range is ended by its destructor alone, which is not probed where nodes are begin-only, or not seen at all (before 6.6)
    modes = out.profile["timing"]["modes"]
    if modes is not None and not any(m["name"] == "autograd nodes" and m["mode"] != "exact" for m in modes):
        h.check(all(h.finished(e) for e in out.named("thrown")), "an unwound range has no end")
    return t, out


def ten_thousand_in_active():
    thrown()


def with_loss_scaling():
    """_amp_update_scale_ throws in every attempt, once it is done: still one attempt each."""
    t, out = thrown("--scaler", "cpu", "--overflow-every", 3)
    s.check_outcomes(out, h.match_attempts(out, t, 0))


def fused():
    t, out = thrown("--scaler", "fused", "--overflow-every", 3)
    s.check_outcomes(out, h.match_attempts(out, t, 0))


def beside_other_threads():
    thrown("--threads", 4, "--loop-thread", "--nested", "--cross-thread-end")


def inside_the_optimizer():
    """Among them record_function_enter that throws: a range was named and never begun, an attempt ends all the same."""
    thrown("--inside-step")


def stripped_library():
    thrown(flavour="standin-stripped")


def old_string_abi():
    thrown(flavour="standin-2.4")


def legacy_record_function():
    thrown(flavour="standin-1.13")


def an_operator_that_throws_as_the_step():
    """--step op: probes the operator itself, and every third of its calls throws."""
    args = ("--step-us", int(1000 * h.SLOW), "--throw", 60, "--attempts", int(20 * h.SLOW))  # which outlast attaching
    alone = s.unwatched(*args)
    with h.scratch() as d:
        t = s.standin(*args)
        out = h.capture(t, d + "/out", "--step", "op:mm", "--wait", 5, "--warmup", 5, "--active", 200, "--activities", "ranges")
        s.same_result(t.finish(), alone)
        h.check_output(out)


h.main(ten_thousand_in_active, with_loss_scaling, fused, beside_other_threads, inside_the_optimizer, stripped_library, old_string_abi,
       legacy_record_function, an_operator_that_throws_as_the_step)
