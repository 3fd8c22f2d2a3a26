#!/usr/bin/env python3
"""What finds a ring full is counted to the last record, said, and marked; and nothing is paired across a hole."""
import collections
import os
import signal
import struct
import time

import harness as h
import standin_support as s

ATTEMPT, RANGE_BEGIN, RANGE_END, OP_BEGIN, OP_END, NODE_BEGIN, FUNCTION_BEGIN, MEMORY, HOLE = 2, 3, 4, 5, 6, 7, 9, 12, 76  # enum wire_kind
NAMES = {RANGE_BEGIN: "range_begins", OP_BEGIN: "operator_begins", OP_END: "operator_ends", NODE_BEGIN: "node_begins",
         FUNCTION_BEGIN: "function_begins", MEMORY: "memory_events"}
Hole = collections.namedtuple("Hole", "first last count kinds tid")


class Raw:
    """capture.raw as far as it is asked for here: the records of the window by kind, and the holes."""

    def __init__(self, path):
        with open(path + "/capture.raw", "rb") as f:
            data = f.read()
        kinds, times, attempts, self.holes = [], [], [], []
        at = 16
        while at < len(data):
            size, kind, _, tid, _, time_ns = struct.unpack_from("<IHHIIQ", data, at)
            if kind == ATTEMPT:
                attempts.append((time_ns, *struct.unpack_from("<IHBB", data, at + 24)))
            elif kind == HOLE:
                last, count, mask, _ = struct.unpack_from("<QQII", data, at + 24)
                self.holes.append(Hole(time_ns, last, count, mask, tid))
            kinds.append(kind)
            times.append(time_ns)
            at += size
        begin = next(a[0] for a in attempts if a[4] == 3 and a[3] != 3)
        end = [a[0] for a in attempts if a[3] == 3][-1]
        self.seen = collections.Counter(k for k, t in zip(kinds, times) if begin < t <= end)
        self.range_ends = sum(k == RANGE_END for k in kinds)  # of a range that the window's end lies in, too


def did(truth):
    """Records that the target knows it has given cause for, by kind."""
    calls = s.Calls(truth)
    total = lambda part, i: sum(numbers[i] for row in truth for numbers in row[part].values())
    return {
        RANGE_BEGIN: sum(s.begun(truth).values()),
        OP_BEGIN: total("operators", s.CALLS),
        OP_END: total("operators", s.CALLS) - total("operators", s.UNWOUND),
        NODE_BEGIN: total("nodes", s.CALLS) // 2,  # two rows each
        FUNCTION_BEGIN: sum(row["functions"].get("Doubling", [0])[0] for row in truth),  # the others are guards
        MEMORY: sum(events + old for events, _, old in calls.memory.values()) + calls.out_of_memory(),
    }


def check_account(out, raw, truth):
    """Seen and lost together are what the target did, kind by kind."""
    rings, want = out.profile["rings"], did(truth)
    lost = rings["lost"]
    got = {NAMES[k]: "%d seen, %d lost" % (raw.seen[k], lost[NAMES[k]]) for k in want if raw.seen[k] + lost[NAMES[k]] != want[k]}
    h.equal(got, {}, "what does not add up to %s" % {NAMES[k]: n for k, n in want.items() if NAMES[k] in got})
    # the end of a range is recorded only if its beginning was, and comes behind the window for train_step
    missing = raw.seen[RANGE_BEGIN] - raw.range_ends - lost["range_ends"]
    h.check(0 <= missing <= rings["lost_after"], "%d ends of ranges neither seen nor lost" % missing)
    total = sum(lost.values()) + rings["lost_after"]
    h.equal(out.profile["loss"]["ring_full"], total, "loss.ring_full")
    h.equal(sum(hole.count for hole in raw.holes), total + rings["lost_in_warmup"], "records in all holes")
    said = out.run.out
    h.check("LOST: ring_full %d\n" % total in said, "the loss is not said: %s" % said)
    for name, n in lost.items():
        h.check(not n or "%d %s" % (n, name.replace("_", " ")) in said, "%d %s are not said: %s" % (n, name, said))


def check_marks(out):
    """A line at either end of each hole; profile.json has the same ones."""
    holes = out.profile["rings"]["holes"]
    h.check(holes, "lost, and no hole is told")
    marks = lambda name: [h.monotonic_ns(out, e["ts"]) for e in out.trace["traceEvents"] if e["ph"] == "i" and e["name"] == name]
    h.equal(marks("Records lost from here"), [x["first_ns"] for x in holes], "marks where something is missing")
    h.equal(marks("Records lost up to here"), [x["last_ns"] for x in holes], "marks where that ends")
    args = [e["args"] for e in out.trace["traceEvents"] if e["name"] == "Records lost from here"]
    h.equal([(a["records"], a["kinds"]) for a in args], [(x["records"], x["kinds"]) for x in holes], "what the marks tell")


def check_pairing(out, raw, truth):
    """No call that was open in a hole has an end that was measured: it may be another one's."""
    of_calls = [x for x in raw.holes if any(x.kinds >> k & 1 for k in (5, 6, 7, 8, 9))]
    for e in out.events:
        if not s.is_call(e) or not h.finished(e) or e["args"].get("inferred end"):
            continue
        begin, end = h.monotonic_ns(out, e["ts"]), h.monotonic_ns(out, h.end(e))
        across = [x for x in of_calls if x.tid in (0, e["tid"]) and begin <= x.first and end >= x.last]
        h.check(not across, "%r is paired across the hole %r" % (e, across and across[0]))
    thrown = {s.row_name(name) for row in truth for part in ("operators", "nodes", "functions") for name, n in row[part].items() if n[s.UNWOUND]}
    unwound = {e["name"] for e in out.events if e["args"].get("unwound")}
    h.equal(unwound - thrown, set(), "calls that no exception left, and that are told to be left by one")


def check_whole_attempts(out, raw, truth, at_least):
    """Attempts that no hole touches are all there: every call, once, with its end."""
    steps = out.in_phase("active")
    whole = [(step, row) for step, row in zip(steps, truth)
             if not any(x.first <= step.start_ns + step.duration_ns and x.last >= step.start_ns for x in raw.holes)]
    h.check(len(whole) >= at_least, "%d whole attempts, want %d at least; holes: %s" % (len(whole), at_least, raw.holes))
    numbers = {step.attempt for step, _ in whole} | {steps[-1].attempt + 1}
    events = sorted(((h.monotonic_ns(out, e["ts"]), e) for e in out.events if not e["name"].startswith("ProfilerStep")), key=lambda x: x[0])
    times, at = [t for t, _ in events], 0
    for step, row in whole:
        while at < len(times) and times[at] <= step.start_ns:
            at += 1
        mine = []
        while at < len(times) and times[at] <= step.start_ns + step.duration_ns:
            mine.append(events[at][1])
            at += 1
        s.same_counts(collections.Counter(e["name"] for e in mine if s.is_call(e)), s.Calls([row]).counts(), "calls of attempt %d" % step.attempt)
        s.same_counts(collections.Counter(e["name"] for e in mine if not s.is_call(e)), row["begun"], "ranges of attempt %d" % step.attempt)
        endless = [e["name"] for e in mine if not h.finished(e)]  # train_step ends in the next attempt
        h.check(not endless or endless == ["train_step"] and step.attempt + 1 not in numbers, "attempt %d: no end of %s" % (step.attempt, endless[:5]))
        s.same_counts(s.edges([e for e in mine if s.is_call(e)]), s.Calls([row]).edges, "who called whom in attempt %d" % step.attempt)
    return whole


def pinned(*args, **kw):
    """On one CPU, so that it fills one ring."""
    cpu = max(os.sched_getaffinity(0))
    return h.Target(["taskset", "-c", str(cpu), s.program(), *map(str, args)], **kw)


def stopped(run, target, attempts, seconds=0.0):
    """tpbpf does not run for so long, and so many attempts. Returns how long that was."""
    begin, before = time.monotonic(), len(target.attempts())
    run.signal(signal.SIGSTOP)
    try:
        time.sleep(seconds)
        target.wait_attempts(before + attempts + 1)
    finally:
        run.signal(signal.SIGCONT)
    return time.monotonic() - begin


def read(run, path):
    out = h.Output(path)
    out.run = run
    return out, Raw(path)


def check_all(out, raw, t, whole=0):
    h.check_output(out, lossless=False)
    h.equal({k for k, n in out.profile["loss"].items() if n} - {"name_unreadable"}, {"ring_full"}, "causes of loss")
    truth = s.active_truth(out, t)
    check_account(out, raw, truth)
    check_marks(out)
    check_pairing(out, raw, truth)
    return check_whole_attempts(out, raw, truth, whole)


@h.bulk
def a_ring_that_is_too_small():
    """It holds less than an attempt makes, and three times nobody reads it for some."""
    args = ("--operators", 8, "--step-us", 15000, "--attempts", 150)
    alone = s.unwatched(*args)
    with h.scratch() as d:
        t = pinned(*args)
        run = h.Run("-p", t.pid, "-v", "-o", d + "/out", "--wait", 2, "--warmup", 2, "--active", 60, "--keep-raw", "--exact",
                    "--ring-size", "128K", *s.ALL).wait_attached()
        t.open_gate()
        run.wait_window()
        t.wait_attempts(len(t.attempts()) + 6)
        for _ in range(3):
            stopped(run, t, 2)
            t.wait_attempts(len(t.attempts()) + 2)
        run.wait(120).exits(3)
        s.same_result(t.finish(), alone)
        out, raw = read(run, d + "/out")
        h.check_plan(out, wait=2, warmup=2, active=60)
        h.equal(out.profile["rings"]["ring_bytes"], 128 * 1024, "size of a ring")
        check_all(out, raw, t)
        h.check(len(raw.holes) >= 3, "holes: %s" % raw.holes)


@h.bulk
def a_collector_stopped_for_two_seconds():
    """In the window: the attempts after it are whole again."""
    args = ("--operators", 1, "--step-us", 8000, "--attempts", 600)
    alone = s.unwatched(*args)
    with h.scratch() as d:
        t = pinned(*args)
        run = h.Run("-p", t.pid, "-v", "-o", d + "/out", "--wait", 2, "--warmup", 2, "--active", 320, "--keep-raw", "--exact",
                    "--ring-size", "512K", *s.ALL).wait_attached()
        t.open_gate()
        run.wait_window()
        t.wait_attempts(len(t.attempts()) + 10)
        lasted = stopped(run, t, 60, 2)  # attempts: more than the ring holds, however slow the machine
        run.wait(120).exits(3)
        s.same_result(t.finish(120), alone)
        out, raw = read(run, d + "/out")
        whole = check_all(out, raw, t, whole=10)
        longest = max(x.last - x.first for x in raw.holes)
        h.check(longest < lasted * 1e9, "a hole of %d ns by a stop of %.3f s" % (longest, lasted))
        last = max(raw.holes, key=lambda x: x.last - x.first).last
        after = [step for step, _ in whole if step.start_ns > last]
        h.check(len(after) >= 10, "%d whole attempts after the stop" % len(after))


@h.bulk
def what_warmup_learns_from():
    """While it learns, everything is recorded: what is lost then is no loss of the window, and the window begins with room."""
    with h.scratch() as d:
        t = pinned("--operators", 8, "--step-us", 15000)
        run = h.Run("-p", t.pid, "-v", "-o", d + "/out", "--wait", 2, "--warmup", 1, "--active", 5, "--ring-size", "128K",
                    "--max-overhead", "1%").wait_attached()
        t.open_gate()
        run.wait_err("window probes attached")
        stopped(run, t, 2)
        run.wait(120).exits(0)
        t.stop()
        out = h.Output(d + "/out")
        h.check_output(out)
        h.check(out.profile["rings"]["lost_in_warmup"] > 0, "nothing was lost: this test shows nothing")
        h.equal(out.profile["rings"]["holes"], [], "holes in the window")
        h.check("LOST" not in run.out, "a loss of warmup is said: %s" % run.out)


@h.bulk
def a_burst():
    """More calls in one attempt than any ring takes, as fast as they go: all of them, or those that are lost are counted."""
    with h.scratch() as d:
        t = pinned("--operators", 900)
        run = h.Run("-p", t.pid, "-o", d + "/out", "--wait", 1, "--warmup", 1, "--active", 1, "--keep-raw", "--exact", "--ring-size", "128K",
                    *s.ALL).wait_attached()
        t.open_gate()
        run.wait(200)
        t.stop()
        out, raw = read(run, d + "/out")
        truth = s.active_truth(out, t)
        h.check(did(truth)[OP_BEGIN] > 50000, "that was no burst")
        run.exits(3 if out.profile["loss"]["ring_full"] else 0)
        if run.code:
            check_all(out, raw, t)
        else:
            h.check_output(out)
            h.equal({k: raw.seen[k] for k in did(truth)}, did(truth), "records")


h.main(a_ring_that_is_too_small, a_collector_stopped_for_two_seconds, what_warmup_learns_from, a_burst)
