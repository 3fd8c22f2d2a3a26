#!/usr/bin/env python3
"""--with-modules is exact: every call of a module in the window, inside of the one that called it, with its operators in it and no others."""
import collections
import os
import re
import signal
import subprocess

import harness as h
import standin_support as s

PUSH = rb"(\x41)?[\x50-\x57]"
INTERPRETER = "_PyEval_EvalFrameDefault"
MODULES = (*s.ALL, "--with-modules")
MODEL = {"Net": 1, "Linear": 3, "ReLU": 3, "LogSoftmax": 1}  # instances in each
INSIDE = {"Net": None, "Linear": "Net", "ReLU": "Net", "LogSoftmax": None}
# what a model calls in them, and nothing else calls; its detach comes from a frame that lies where that of Net lay
CALLED_IN = {"aten::linear": "Linear", "aten::addmm": "Linear", "aten::relu": "ReLU", "aten::_log_softmax": "LogSoftmax"}
PLACES = 19  # of a model, that throw in turn


def modules_of(out):
    """In order of beginning."""
    return sorted(out.modules, key=lambda e: e["args"]["Python id"])


def class_of(row):
    return re.fullmatch(r"nn\.Module: (\w+)_\d+", row["name"]).group(1)


def called_in(truth):
    calls = collections.Counter()
    for row in truth:
        calls.update(row["modules"])
    return calls


def check_rows(out, models):
    """What is true of each row; so many models were called."""
    rows = modules_of(out)
    ids = [e["args"]["Python id"] for e in rows]
    h.equal(len(set(ids)), len(ids), "Python ids, each once")
    last = {}
    for e in rows:
        h.check(last.get(e["tid"], 0) < e["ts"], "%r began before one of a lower id" % e)
        last[e["tid"]] = e["ts"]
        h.equal(e["pid"], out.profile["job"]["namespace_pid"], "pid of %r" % e)
        h.check(h.finished(e), "%r has no end" % e)
    names, modules = collections.defaultdict(set), collections.defaultdict(set)
    for e in rows:
        names[e["args"]["Python module id"]].add(e["name"])
        modules[e["name"]].add(e["args"]["Python module id"])
    h.equal({m: of for m, of in names.items() if len(of) > 1}, {}, "modules of two names")
    h.equal({n: of for n, of in modules.items() if len(of) > 1}, {}, "names of two modules")
    want = {"nn.Module: %s_%d" % (name, i) for name, each in MODEL.items() for i in range(each * models)}
    h.equal(set(modules), want, "names of modules")


def check_parents(out):
    rows = {e["args"]["Python id"]: e for e in modules_of(out)}
    for e in rows.values():
        parent = rows.get(e["args"]["Python parent id"])
        h.equal(class_of(parent) if parent else None, INSIDE[class_of(e)], "what %r was called in" % e)
        h.check((parent is None) == (e["args"]["Python parent id"] is None), "the parent of %r is nowhere" % e)
        h.check(not parent or h.contains(parent, e), "%r is not within %r" % (e, parent))


def on_threads(events):
    found = collections.defaultdict(list)
    for e in events:
        found[e["tid"]].append(e)
    return found


def innermost(rows, event):
    around = [m for m in rows if h.contains(m, event)]
    return class_of(min(around, key=lambda m: m["dur"])) if around else None


def check_operators(out):
    """A module's operators lie in it. None lies in another, or across an end of one; nor does a range."""
    modules = on_threads(modules_of(out))
    others = [e for e in out.events if e["cat"] in ("cpu_op", "user_annotation")]
    in_operators = collections.Counter()
    for e in others:
        if e["name"] in CALLED_IN:
            in_operators[e["name"]] += 1
            h.equal(innermost(modules[e["tid"]], e), CALLED_IN[e["name"]], "the module that %r lies in" % e)
        elif e["cat"] == "user_annotation" or e["name"] == "aten::detach" or "Backward" in e["name"]:
            h.equal(innermost(modules[e["tid"]], e), None, "the module that %r lies in" % e)
    h.nested(on_threads(others + modules_of(out)))
    return in_operators


def check_modules(out, truth, models=1):
    h.equal(out.profile["activities"]["modules"], {"state": "on", "reason": None}, "activity modules")
    s.same_counts(collections.Counter(class_of(e) for e in modules_of(out)), +called_in(truth), "calls of modules")
    check_rows(out, models)
    check_parents(out)
    operators = check_operators(out)
    called = called_in(truth)
    h.equal((operators["aten::linear"], operators["aten::_log_softmax"]), (called["Linear"], called["LogSoftmax"]), "operators of modules")


def watched(*args, flavour="standin", options=(), plan=s.CALLS_PLAN, models=1, **kw):
    """One capture of a target that calls modules, compared with its own account."""
    t, out, _ = s.watched_in_full("--step-us", 3000, *args, flavour=flavour, plan=plan, options=(*MODULES, *options), **kw)
    truth = s.active_truth(out, t)
    s.check_counts(out, truth)
    check_modules(out, truth, models)
    return t, out, truth


def code_of(flavour):
    path = os.path.join(s.built(), flavour, "torch/lib/libpython3.11.so")
    names = subprocess.run(["nm", "-D", path], stdout=subprocess.PIPE, text=True, check=True).stdout
    at = [int(line.split()[0], 16) for line in names.splitlines() if line.split()[-1].split("@")[0] == INTERPRETER]
    h.equal(len(at), 1, "functions %s of %s" % (INTERPRETER, flavour))
    with open(path, "rb") as f:
        return f.read()[at[0] : at[0] + 16]


def standin_is_shaped_as_the_real_one():
    """Else every other test here would prove less than it says."""
    for flavour in s.FLAVOURS:
        h.check(re.match(PUSH, code_of(flavour)), "%s: %s begins with %s" % (flavour, INTERPRETER, code_of(flavour).hex()))


@h.bulk
def the_kernel_takes_the_programs_types():
    """It takes the programs without them as well, but then verifies again what is called twice, and knows no loop but those that it can unroll."""
    with h.scratch() as d:
        t = s.standin("--step-us", 1000)
        out = h.capture(t, d + "/out", "-v", "--wait", 1, "--warmup", 1, "--active", 2, *MODULES)
        h.check("BTF" not in out.run.err, "libbpf has to say of types: %s" % out.run.err)
        t.stop()


@h.bulk
def once_a_step():
    """Each of the eight once, by default and with every end probed."""
    for options in ((), ("--exact",)):
        _, out, truth = watched("--ranges", 0, options=options)
        h.equal(len(truth), 5, "active attempts")
        h.equal(set(collections.Counter(e["name"] for e in modules_of(out)).values()), {5}, "calls of each module")


@h.bulk
def in_ranges():
    """Three times a step, two of them in ranges of the job's."""
    _, out, _ = watched("--ranges", 2)
    ranges = out.named("user_0") + out.named("user_1")
    h.equal([sum(h.contains(r, m) for m in modules_of(out)) for r in ranges], [sum(MODEL.values())] * len(ranges), "modules in each range")


@h.bulk
def stripped_library():
    watched(flavour="standin-stripped")


@h.bulk
def old_string_abi():
    watched(flavour="standin-2.4")


@h.bulk
def oldest_release():
    """Where a module's call and what it calls are one."""
    watched(flavour="standin-1.13")


@h.bulk
def not_asked_for():
    _, out, _ = s.watched_in_full("--step-us", 3000, plan=s.CALLS_PLAN, options=s.ALL)
    h.equal(modules_of(out), [], "rows of modules")
    h.equal(out.profile["activities"]["modules"], {"state": "off", "reason": "not asked for"}, "activity modules")
    h.check(not any(m["name"] == "module calls" for m in out.profile["timing"]["modes"]), "a mode of what was not asked for")


@h.bulk
def over_an_old_frame():
    """Backward is called from a frame that ends behind the place of the last module's, which still looks as it did: that call is over."""
    watched("--ranges", 0, "--old-frames")


@h.bulk
def where_nothing_is_seen_after_an_operator():
    """No memory that is freed: a module ends as its last operator does, and yet one lies in the other where a reader counts in doubles."""
    options = ("--activities", "ranges,operators,autograd", "--max-overhead", 10000, "--with-modules")
    t, out, _ = s.watched_in_full("--step-us", 3000, "--ranges", 2, plan=s.CALLS_PLAN, options=options)
    check_modules(out, s.active_truth(out, t))
    h.nested(on_threads({**e, "ts": float(e["ts"]), "dur": float(e["dur"])} for e in out.events + out.modules))


@h.bulk
def repeated_windows():
    """A module is the same one in both."""
    plan = ("--skip-first", 1, "--wait", 1, "--warmup", 3, "--active", 2, "--repeat", 2)
    _, out, truth = watched("--ranges", 1, plan=plan)
    h.equal(len(truth), 4, "active attempts")
    h.equal(set(collections.Counter(e["name"] for e in modules_of(out)).values()), {8}, "calls of each module")


@h.bulk
def left_by_exceptions():
    """From every place of a model in turn: what was called is there, and what is called next lies in none that was left."""
    for options in ((), ("--exact",)):
        t, out, truth = watched("--ranges", 1, "--module-errors", 2 * PLACES, options=options)
        h.check(truth[-1]["thrown"] - truth[0]["thrown"] == 4 * 2 * PLACES, "the target threw %d" % truth[-1]["thrown"])
        unwound = {r["name"] for r in s.operator_rows(out) if r["unwound"]}
        h.check({"aten::linear", "aten::relu", "aten::_log_softmax"} <= unwound, "unwound operators: %s" % unwound)
        rows = t.attempts()
        alone = s.standin("--step-us", 0, "--ranges", 1, "--module-errors", 2 * PLACES, "--attempts", len(rows), gate=False, wait=False)
        alone.finish()
        h.equal([r["result"] for r in rows], [r["result"] for r in alone.attempts()], "the target's results, watched and unwatched")


@h.bulk
def on_many_threads():
    """Each has a model of its own."""
    _, out, truth = watched("--threads", 4, "--ranges", 2, models=5)
    threads = on_threads(modules_of(out))
    h.equal(len(threads), 5, "threads that called modules")
    for tid, rows in threads.items():
        h.equal(collections.Counter(map(class_of, {e["name"]: e for e in rows}.values())), collections.Counter(MODEL), "modules of thread %d" % tid)
    h.equal({len(rows) for rows in threads.values()}, {8 * 2 * len(truth), 8 * 3 * len(truth)}, "calls on each thread")


@h.bulk
def loop_on_another_thread():
    watched("--loop-thread", "--nested", "--scaler", "cpu", "--overflow-every", 3)


@h.bulk
def beside_other_operators():
    """Of which some have the same names."""
    t, out, _ = s.watched_calls("--step-us", 3000, options=("--with-modules",))
    s.same_counts(collections.Counter(class_of(e) for e in modules_of(out)), called_in(s.active_truth(out, t)), "calls of modules")
    check_rows(out, 1)
    check_parents(out)
    h.nested(on_threads(out.events + modules_of(out)))


@h.bulk
def beside_forked_workers():
    """They call modules at the same addresses, and are no part of the job."""
    _, out, _ = watched("--fork-workers", 2, "--worker-iterations", 3000)
    h.equal(len(on_threads(modules_of(out))), 1, "threads that called modules")


@h.bulk
def with_little_room():
    """What --max-overhead gives up is left out as a whole."""
    for percent in (1, 40):
        t, out, _ = s.watched_in_full("--operators", 10, "--step-us", 0, plan=s.CALLS_PLAN, options=("--with-modules", "--max-overhead", percent))
        state = out.profile["activities"]["modules"]
        calls = collections.Counter(class_of(e) for e in modules_of(out))
        s.same_counts(calls, called_in(s.active_truth(out, t)) if state["state"] == "on" else {}, "calls of modules")
        h.check(state["state"] == "on" or state["reason"], "modules are off, and nobody says why")


@h.bulk
def killed_in_active():
    """The interpreter goes on with its own code."""
    t = s.standin("--step-us", 1000)
    with s.capturing(t, "--wait", 1, "--warmup", 1, "--active", 100000, *MODULES) as (run, _):
        run.wait_window()
        t.wait_attempts(len(t.attempts()) + 50)
        h.check(h.modified_code_bytes(t.pid, r"/libpython3"), "the interpreter is not probed")
        run.signal(signal.SIGKILL).wait()
        h.check_unmodified(t.pid, seconds=1)
        h.equal(h.modified_code_bytes(t.pid, r"/libpython3"), [], "bytes of the interpreter that are changed")
    t.stop()


h.main(standin_is_shaped_as_the_real_one, the_kernel_takes_the_programs_types, once_a_step, in_ranges, stripped_library, old_string_abi, oldest_release, not_asked_for, over_an_old_frame,
       where_nothing_is_seen_after_an_operator, repeated_windows, left_by_exceptions, on_many_threads, loop_on_another_thread,
       beside_other_operators, beside_forked_workers, with_little_room, killed_in_active)
