#!/usr/bin/env python3
"""Counts are exact: every range in the window is in the trace and the tables, on every kind of library and thread."""
import os
import re
import subprocess
from unittest import mock

import harness as h
import standin_support as s


PUSH = r"(\x41)?[\x50-\x57]"
SHAPES = {  # how the functions begin in the official wheels; the choice of probe sites depends on it
    r"_ZN2at14RecordFunction3endEv$": r"\x80\x7f\x68\x00\x74",  # cmpb $0, 104(%rdi); je
    r"_ZN2at14RecordFunctionC1ENS_11RecordScopeE$": PUSH,
    r"record_function_enter_newE": PUSH,
    r"record_function_enterE": PUSH,
    r"record_function_exit_newE": r"\x48\x8b\x3f\x48\x83\xc7\x10[\xe9\xeb]",  # mov (%rdi), %rdi; add $16, %rdi; jmp
    r"_ZN3c106ivalue14ConstantString6createE(Ss|NSt7)": PUSH,
    r"_ZN2at4_ops\w+4callE": PUSH,
}


def standin_is_shaped_as_the_wheels():
    """Else every other test here would prove less than it says."""
    for flavour in s.FLAVOURS:
        library = os.path.join(s.built(), flavour, "torch/lib/libtorch_cpu.so")
        with open(library, "rb") as f:
            code = f.read()
        stripped = flavour in ("standin-stripped", "standin-1.13")
        names = subprocess.run(["nm", *(["-D"] if stripped else []), library], stdout=subprocess.PIPE, text=True, check=True).stdout
        functions = [line.split() for line in names.splitlines() if re.search(r" [Tt] ", line) and ".cold" not in line]
        for name, begins in SHAPES.items():
            found = [int(f[0], 16) for f in functions if re.search(name, f[2].split("@")[0])]
            h.check(found or stripped and ("exit_newE" in name or "enterE" in name), "%s has no %s" % (flavour, name))
            for at in found:  # file offset and address are the same in these libraries
                h.check(re.match(begins.encode("latin-1"), code[at : at + 16], re.S),
                        "%s: %s begins with %s" % (flavour, name, code[at : at + 8].hex()))


def counted(*args, flavour="standin", plan=("--wait", 2, "--warmup", 2, "--active", 5), **kw):
    t, out, _ = s.watched_in_full(*args, flavour=flavour, plan=plan, **kw)
    truth = s.active_truth(out, t)
    h.equal(len(truth), plan[plan.index("--active") + 1], "active attempts")
    s.check_counts(out, truth)
    s.check_outcomes(out, h.match_attempts(out, t, 0))
    return t, out, truth


def plain():
    _, out, _ = counted("--step-us", 3000, "--ranges", 7)
    h.check_plan(out, wait=2, warmup=2, active=5)
    h.check(all(h.finished(e) for e in out.events), "a range without an end")
    h.equal(out.profile["job"]["torch_version"], "2.13.0+standin", "PyTorch version")


def attached_to_a_running_loop():
    with h.scratch() as d:
        t = s.standin("--step-us", 1000, gate=False).wait_attempts(20)
        out = h.capture(t, d + "/out", "--wait", 2, "--warmup", 2, "--active", 5, open_gate=False)
        t.stop()
        h.check_output(out)
        s.check_counts(out, s.active_truth(out, t, first=None))


def without_a_wait():
    """Everything is attached at once, to a loop that has not begun."""
    _, out, _ = counted("--step-us", 3000, plan=("--wait", 0, "--warmup", 1, "--active", 4), options=("--activities", "ranges"))
    h.equal([x.phase for x in out.steps[:5]], ["warmup"] + ["active"] * 4, "phases")


def stripped_library():
    counted("--step-us", 3000, flavour="standin-stripped")


def old_string_abi():
    _, out, _ = counted("--step-us", 3000, "--compiled-region", flavour="standin-2.4")
    h.equal(out.profile["job"]["torch_version"], "2.4.1+standin", "PyTorch version")


def legacy_record_function():
    _, out, _ = counted("--step-us", 3000, "--nested", flavour="standin-1.13")
    h.equal(out.profile["job"]["torch_version"], "1.13.1+standin", "PyTorch version")


def ranges_within_ranges_of_one_name():
    _, out, truth = counted("--step-us", 3000, "--nested")
    for step in (e for e in out.events if e["name"].startswith("ProfilerStep#")):
        inside = sorted((e for e in out.named("nested") if h.contains(step, e)), key=lambda e: (e["ts"], -e["dur"]))
        h.equal(len(inside), 8, "nested ranges in " + step["name"])
        for outer, inner in zip(inside, inside[1:]):
            h.check(h.contains(outer, inner), "%r does not hold %r" % (outer, inner))


def ends_on_another_thread():
    _, out, _ = counted("--step-us", 3000, "--cross-thread-end")
    loop = {e["tid"] for e in out.named("train_step")}
    for e in out.named("crossing"):
        h.check(h.finished(e) and e["dur"] > 0, "no end seen: %r" % e)
        h.equal({e["tid"]}, loop, "thread of a range that another thread ended")


def never_ended():
    _, out, truth = counted("--step-us", 3000, "--leak-ranges")
    h.check(out.named("leaked") and not any(h.finished(e) for e in out.named("leaked")), "a range that never ended has an end")
    h.check(all(h.finished(e) for e in out.events if e["name"] != "leaked"), "a range that ended has none")


def compiled_regions():
    counted("--step-us", 3000, "--compiled-region")


def range_from_cpp_takes_no_name_of_another():
    """A user scope from C++ tells its name to nobody: the counts of all others stay exact."""
    t, out, _ = s.watched_in_full("--step-us", 3000, "--native-scope", lossless=False)
    h.check(set(k for k, n in out.profile["loss"].items() if n) <= {"name_unreadable"}, "lost: %s" % out.profile["loss"])
    want = s.begun(s.active_truth(out, t))
    got = s.without_steps(out.counts())
    h.equal({name: got.get(name) for name in want}, want, "ranges in the trace")


def backward_nodes_are_no_ranges():
    """Scope 0 guards begin and end all the time, at addresses that ranges have had and will have."""
    _, out, _ = counted("--step-us", 1000, "--ranges", 50)
    h.check(not [e for e in out.events if "evaluate" in e["name"] and not s.is_call(e)], "a guard became a range")


def loop_on_another_thread():
    t, out, _ = counted("--step-us", 3000, "--loop-thread")
    loop = {e["tid"] for e in out.named("train_step")}
    h.check(len(loop) == 1 and t.pid not in loop, "thread of the loop: %s, pid %d" % (loop, t.pid))
    h.equal({e["tid"] for e in out.events if e["name"].startswith("ProfilerStep#")}, loop, "thread of the steps")


def hundred_and_sixty_threads():
    t, out, truth = counted("--step-us", 3000, "--threads", 160, "--ranges", 2)
    h.equal(s.begun(truth)["crew"], 160 * 2 * 5, "the target's own count")
    h.equal(len({e["tid"] for e in out.named("crew")}), 160, "threads in the trace")


def inside_the_optimizer():
    """Hooks of the optimizer begin and forget ranges, end them elsewhere and nest them: the step still ends where it ends."""
    for mixed in (["--nested"], ["--leak-ranges"], ["--cross-thread-end"]):
        counted("--step-us", 3000, "--inside-step", *mixed)


def across_the_ends_of_the_optimizer():
    """A range that ends inside the step, and one that begins there and ends after it."""
    with mock.patch.object(h, "nested"):  # these do not nest in the job either
        for flavour in ("standin", "standin-1.13"):
            counted("--step-us", 3000, "--interleave", flavour=flavour)


def repeated_windows():
    plan = ("--skip-first", 1, "--wait", 1, "--warmup", 1, "--active", 2, "--repeat", 2)
    t, out, _ = s.watched_in_full("--step-us", 3000, plan=plan)
    h.check_plan(out, skip_first=1, wait=1, warmup=1, active=2, repeat=2)
    s.check_counts(out, s.active_truth(out, t))


def two_thousand_attempts():
    """No window of a handful of steps: nothing grows askew, nothing is lost."""
    counted("--step-us", 0, "--ranges", 3, plan=("--wait", 5, "--warmup", 5, "--active", 2000), seconds=200)


h.main(standin_is_shaped_as_the_wheels, plain, attached_to_a_running_loop, without_a_wait, stripped_library, old_string_abi,
       legacy_record_function, ranges_within_ranges_of_one_name, ends_on_another_thread, never_ended, compiled_regions, range_from_cpp_takes_no_name_of_another,
       backward_nodes_are_no_ranges, loop_on_another_thread, hundred_and_sixty_threads, inside_the_optimizer,
       across_the_ends_of_the_optimizer, repeated_windows, two_thousand_attempts)
