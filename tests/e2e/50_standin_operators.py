#!/usr/bin/env python3
"""Operators are exact: every call in the window, below its caller, on every kind of library and thread, however its end is seen."""
import collections
import os
import re
import subprocess
import sys

import harness as h
import standin_support as s

PLAN = s.CALLS_PLAN
PUSH = rb"(\x41)?[\x50-\x57]"
TEST_JE = rb"\x80[\x7c\x7d\xbc\xbd].{2,6}?(\x74|\x0f\x84)"  # cmpb $0, OFFSET(%rsp or %rbp); je
LEA_CALL = rb"\x48\x83\xec\x08" + rb"\x48\x8d\x3d.{4}\xe8"  # sub $8, %rsp; lea; call
LEA_CALL_LONG = rb"\x48\x83\xec\x08" + rb"\x66\x48\x8d\x3d.{4}\x66\x66\x48\xe8"
CHECK_SITES = os.path.join("tests", "check_sites")

# How the functions begin in the real libraries of each release; where tpbpf looks depends on it.
SHAPES = {
    "_ZN5torch8autograd6Engine17evaluate_functionE": dict.fromkeys(s.FLAVOURS, PUSH),
    "_ZN2at15sequence_number17get_and_incrementEv": {"standin": LEA_CALL, "standin-stripped": LEA_CALL, "standin-2.4": LEA_CALL_LONG,
                                                     "standin-1.13": LEA_CALL_LONG},
    "_ZN2at14RecordFunction15currentThreadIdEv": {"standin": LEA_CALL, "standin-stripped": LEA_CALL, "standin-2.4": LEA_CALL_LONG,
                                                  "standin-1.13": LEA_CALL_LONG},
    "_ZN3c1025ProfiledCPUMemoryReporter3NewEPvm": {**dict.fromkeys(s.FLAVOURS, PUSH), "standin-2.4": rb"\x48\x85\xd2\x75"},
    "_ZN3c1025ProfiledCPUMemoryReporter6DeleteEPv": dict.fromkeys(s.FLAVOURS, PUSH),
    "_ZN3c1025ProfiledCPUMemoryReporter11OutOfMemoryEm": dict.fromkeys(s.FLAVOURS, PUSH),
    "_ZN3c1027reportMemoryUsageToProfilerEPv": {**dict.fromkeys(s.FLAVOURS, rb"\x48\x8b\x05.{4}" + PUSH), "standin-2.4": PUSH,
                                                "standin-1.13": PUSH},
    "_ZN3c1027reportOutOfMemoryToProfilerE": dict.fromkeys(s.FLAVOURS, PUSH),
}
DYNAMIC = ("standin-stripped", "standin-1.13")


def functions_of(path, dynamic):
    names = subprocess.run(["nm", "-S", *(["-D"] if dynamic else []), path], stdout=subprocess.PIPE, text=True, check=True).stdout
    words = [line.split() for line in names.splitlines()]
    return {w[3].split("@")[0]: (int(w[0], 16), int(w[1], 16)) for w in words if len(w) == 4 and w[2] in "tT" and ".cold" not in w[3]}


def code_of(flavour, library):
    path = os.path.join(s.built(), flavour, "torch/lib", library)
    with open(path, "rb") as f:
        return f.read(), functions_of(path, flavour in DYNAMIC)


def standin_is_shaped_as_the_real_one():
    """Else every other test here would prove less than it says."""
    for flavour in s.FLAVOURS:
        libraries = [code_of(flavour, name) for name in ("libtorch_cpu.so", "libc10.so")]
        for prefix, begins in SHAPES.items():
            found = [code[at : at + 24] for code, functions in libraries for name, (at, _) in functions.items() if name.startswith(prefix)]
            h.equal(len(found), 1, "functions %s of %s" % (prefix, flavour))
            h.check(re.match(begins[flavour], found[0], re.S), "%s: %s begins with %s" % (flavour, prefix, found[0].hex()))


def operators_are_shaped_as_the_real_ones():
    """About fifty, with the work behind an indirect call and the test of an optional behind it, and a schema each."""
    for flavour in s.FLAVOURS:
        code, functions = code_of(flavour, "libtorch_cpu.so")
        operators = {re.match(r"_ZN2at4_ops\d+(\w+?)4callE", name).group(1): at for name, at in functions.items()
                     if re.match(r"_ZN2at4_ops\d+\w+?4callE", name)}
        h.check(len(operators) >= 40, "%s has %d operators" % (flavour, len(operators)))
        for name, (at, size) in operators.items():
            body = code[at : at + size]
            h.check(re.match(PUSH, body), "%s: %s begins with %s" % (flavour, name, body[:8].hex()))
            h.check(re.search(rb"\xff[\x10-\x17\x50-\x57\xd0-\xd7]", body), "%s: %s calls nothing indirectly" % (flavour, name))
            h.check(re.search(TEST_JE, body, re.S), "%s: %s tests no optional" % (flavour, name))
            schemas = re.findall(rb"(?<=[\0:])([a-z_]+)(?:\.(\w+))?(?=\([^\0]*\) -> [^\0]*\0)", code)
            wanted = {b"_".join(filter(None, schema)) for schema in schemas}
            h.check(name.encode() in wanted, "%s has no schema of %s" % (flavour, name))


def sites_are_refused_where_they_are_in_pytorch():
    check = os.path.join(s.built(), CHECK_SITES)
    if not os.access(check, os.X_OK):
        h.skip("build/tests/check_sites is not built")
    for flavour in s.FLAVOURS:
        library = os.path.join(s.built(), flavour, "torch/lib/libtorch_cpu.so")
        run = subprocess.run([check, library], stdout=subprocess.PIPE, text=True, timeout=h.patience(60))
        h.equal(run.returncode, 0, "exit code of check_sites")
        functions, entries = map(int, re.search(r"functions (\d+) entry-emulated (\d+)", run.stdout).groups())
        h.equal(entries, functions, "operators of %s whose entry is emulated" % flavour)
        refused = set(re.findall(r"^refused (\w+): .*\(ret at", run.stdout, re.M))
        h.equal(refused, {"item", "_local_scalar_dense"} if flavour in ("standin", "standin-stripped") else set(),
                "operators of %s without an exit site" % flavour)


watched, both_ways = s.watched_calls, s.watched_both_ways


def plain():
    both_ways("--step-us", 3000)


def stripped_library():
    both_ways("--step-us", 3000, flavour="standin-stripped")


def old_string_abi():
    both_ways("--step-us", 3000, flavour="standin-2.4")


def oldest_release():
    both_ways("--step-us", 3000, flavour="standin-1.13")


def many_a_step():
    """Twenty rounds in an attempt, some thousands of calls."""
    both_ways("--step-us", 3000, "--operators", 20)


@h.bulk
def attached_to_a_running_loop():
    with h.scratch() as d:
        t = s.standin("--operators", 1, "--step-us", 2000, gate=False).wait_attempts(20)
        out = h.capture(t, d + "/out", *PLAN, "--exact", open_gate=False)
        t.stop()
        h.check_output(out)
        calls = s.Calls(s.active_truth(out, t, first=None))
        s.check_calls(out, calls, exact=True)
        s.check_pairs(out, calls)


@h.bulk
def repeated_windows():
    plan = ("--skip-first", 1, "--wait", 1, "--warmup", 3, "--active", 2, "--repeat", 2)
    t, out, _ = s.watched_in_full("--operators", 1, "--step-us", 3000, plan=plan, options=(*s.ALL, "--exact"))
    truth = s.active_truth(out, t)
    h.equal(len(truth), 4, "active attempts")
    s.check_calls(out, s.Calls(truth), exact=True)


def overloads_apart():
    _, out, calls = watched("--step-us", 3000, options=("--group-by", "overload"), exact=True)
    rows = collections.Counter()
    for r in s.operator_rows(out):
        if r["kind"] == "operator":
            rows[r["name"] + ("." + r["overload"] if r["overload"] else "")] += r["count"]
    s.same_counts(rows, {name: n for name, n in calls.overloads.items() if n}, "rows by overload")


def deep():
    """A hundred and twenty deep, of one name and of two in turn; merged calls are one row's one call, and all in the trace."""
    both_ways("--step-us", 3000, "--op-depth", 120)


@h.bulk
def deeper_than_is_kept():
    """What is deeper than tpbpf follows is counted as lost; everything else is right."""
    t, out, _ = s.watched_in_full("--operators", 1, "--op-depth", 1500, "--step-us", 3000, plan=PLAN, options=(*s.ALL, "--exact"),
                                  lossless=False, code=3)
    calls = s.Calls(s.active_truth(out, t))
    got = collections.Counter(e["name"] for e in out.events if s.is_call(e))
    dropped = {"aten::relu", "aten::clone", "aten::contiguous", "aten::empty_like", "aten::empty_strided", "aten::copy_"}
    want = calls.counts()
    s.same_counts({n: c for n, c in got.items() if n not in dropped}, {n: c for n, c in want.items() if n not in dropped}, "other calls")
    for name in dropped:
        h.check(got[name] <= want[name], "%s: %d calls, by the target %d" % (name, got[name], want[name]))
    h.check(any(out.profile["loss"].values()), "calls are missing, and nobody says so")


def nodes_on_their_own_thread():
    """As a device's nodes: the arrows lead from the loop's thread to the engine's."""
    _, out, calls = watched("--step-us", 3000, "--backward-thread", exact=True)
    main = {e["tid"] for e in out.named("train_step")}
    nodes = [e for e in out.events if e["name"] == "DoublingBackward"]
    h.equal(len(nodes), calls.nodes["DoublingBackward"], "nodes of Python")
    h.check(not {e["tid"] for e in nodes} & main, "a node of the engine's thread is on the loop's")


def called_through_torch_ops():
    for flavour in ("standin", "standin-2.4", "standin-1.13"):
        _, out, _ = watched("--step-us", 3000, "--boxed", flavour=flavour)
        h.check(out.named("mylib::scale"), "no call of the operator from Python")


def loop_on_another_thread():
    watched("--step-us", 3000, "--loop-thread", exact=True)


def beside_ranges():
    both_ways("--step-us", 3000, "--nested", "--compiled-region", "--ranges", 20)


def loss_scaling():
    watched("--step-us", 3000, "--scaler", "cpu", "--overflow-every", 3, exact=True)


@h.bulk
def two_hundred_attempts():
    """Nothing grows askew, nothing is lost."""
    plan = ("--wait", 5, "--warmup", 10, "--active", 200)
    t, out, _ = s.watched_in_full("--operators", 1, "--step-us", 0, plan=plan, options=(*s.ALL, "--exact"), seconds=200)
    s.check_calls(out, s.Calls(s.active_truth(out, t)), exact=True)


@h.bulk
def operators_alone():
    """What was not asked for is not there, and not probed."""
    t, out, _ = s.watched_in_full("--operators", 1, "--step-us", 3000, plan=PLAN, options=("--exact", "--activities", "ranges,operators"))
    calls = s.Calls(s.active_truth(out, t))
    got = collections.Counter(e["name"] for e in out.events if s.is_call(e))
    aten = lambda counts: {n: c for n, c in counts.items() if n.startswith("aten::")}
    s.same_counts(aten(got), aten(calls.counts()), "operators")
    h.equal([e["name"] for e in out.events if "Backward" in e["name"]], [], "nodes")
    h.equal((out.flows, out.memory), ([], []), "arrows and memory")


def no_operators():
    t, out, _ = s.watched_in_full("--operators", 1, "--step-us", 3000, plan=PLAN, options=("--activities", "ranges"))
    h.equal([e["name"] for e in out.events if s.is_call(e)], [], "calls")
    s.check_counts(out, s.active_truth(out, t))


@h.bulk
def short_work_in_a_long_step():
    """Learned from a part of a step in which little happens: what it costs is held against the whole step."""
    _, out, _ = s.watched_calls("--step-us", 600000, plan=("--wait", 2, "--warmup", 1, "--active", 2))
    timing = out.profile["timing"]
    h.check(1 <= timing["predicted_exact_ratio"] < 1.01, "predicted ratio of everything exact: %r" % timing["predicted_exact_ratio"])
    h.equal(out.profile["activities"]["memory"]["state"], "on", "memory")


@h.bulk
def with_little_room():
    """What --max-overhead gives up is left out as a whole: each row that is there is complete, all overloads of it."""
    for percent in (1, 10, 25, 40):
        t, out, _ = s.watched_in_full("--operators", 10, "--step-us", 0, plan=PLAN, options=("--max-overhead", percent))
        truth = s.active_truth(out, t)
        calls = s.Calls(truth)
        s.check_counts(out, truth)
        got = collections.Counter(e["name"] for e in out.events if s.is_call(e))
        h.check(percent > 1 or sum(got.values()) < sum(calls.counts().values()), "nothing was given up for a bound of 1%")
        kept = {n: c for n, c in got.items() if n.startswith("aten::")}
        s.same_counts(kept, {n: calls.counts().get(n, 0) for n in kept}, "operators that were kept")


sys.setrecursionlimit(20000)  # calls within calls are walked as they were called
h.main(standin_is_shaped_as_the_real_one, operators_are_shaped_as_the_real_ones, sites_are_refused_where_they_are_in_pytorch, plain,
       stripped_library, old_string_abi, oldest_release, many_a_step, attached_to_a_running_loop, repeated_windows, overloads_apart, deep,
       deeper_than_is_kept, nodes_on_their_own_thread, called_through_torch_ops, loop_on_another_thread, beside_ranges, loss_scaling,
       two_hundred_attempts, operators_alone, no_operators, short_work_in_a_long_step, with_little_room)
