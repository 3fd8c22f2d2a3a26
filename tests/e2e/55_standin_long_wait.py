#!/usr/bin/env python3
"""A long wait is cheap: ends of attempts are not watched in it, and still every attempt is counted once. The window is none the worse."""
import os
import signal
import time

import harness as h
import standin_support as s

STEP = ("--step-us", 500)
ATTEMPTS = 6000  # far more than a second of them, on a fast machine too
PLAN = ("--wait", ATTEMPTS, "--warmup", 2, "--active", 5)
TOLD = "attempts are told by their begin alone: the wait is long"
WATCHED = "ends of attempts are watched again"


def check_active(out, rows):
    """Both edges of each active attempt are ends of the optimizer's range."""
    for row, step in zip(rows, out.steps):
        if step.phase == "active":
            h.check(row["step_begin"] <= step.start_ns + step.duration_ns <= row["step_end"], "active attempt %d ends elsewhere" % step.attempt)


def captured(*args, plan=PLAN, seconds=120, only_child=None, **kw):
    """only_child: a range whose only child has its name in each attempt where operators are not seen."""
    t, out, _ = s.watched_in_full(*STEP, *args, plan=plan, options=("-v",), seconds=seconds, **kw)
    rows = h.match_attempts(out, t, 0)
    check_active(out, rows)
    active = [row for row, step in zip(rows, out.steps) if step.phase == "active"]
    if only_child and not h.has_bulk():
        active = [{**row, "merged": {only_child: 1}} for row in active]
    s.check_counts(out, active)
    s.check_outcomes(out, rows)
    return out


def check_told(out, least):
    if not h.has_bulk():  # one by one, they stay where they are
        h.equal(out.window["attempts_told_by_begin"], 0, "attempts told by their begin")
        return
    h.check(least <= out.window["attempts_told_by_begin"] < out.window["attempts_seen"],
            "%d of %d attempts told by their begin" % (out.window["attempts_told_by_begin"], out.window["attempts_seen"]))
    h.equal(out.window["attempts_doubtful"], 0, "doubtful attempts")


def counted():
    out = captured("--ranges", 3)
    h.check_plan(out, wait=ATTEMPTS, warmup=2, active=5)
    check_told(out, ATTEMPTS // 10)
    h.need_bulk("all else of it takes")
    h.equal(sum(x.start_ns is None for x in out.steps), 3, "attempts without a duration: the first, and one at each change")
    h.check(0 <= out.run.err.find(TOLD) < out.run.err.find(WATCHED) < out.run.err.find("window probes attached"),
            "the order of what was done: %s" % out.run.err)


def in_each_cycle():
    out = captured(plan=("--skip-first", 5, *PLAN, "--repeat", 2), seconds=240)
    h.check_plan(out, skip_first=5, wait=ATTEMPTS, warmup=2, active=5, repeat=2)
    check_told(out, ATTEMPTS // 10)
    h.need_bulk("all else of it takes")
    h.equal(out.run.err.count(TOLD), 2, "waits in which ends were not watched")


def loop_on_another_thread():
    check_told(captured("--loop-thread", "--threads", 3), ATTEMPTS // 10)


def a_short_wait_watches_both():
    out = captured(plan=("--wait", 60, "--warmup", 2, "--active", 5))
    h.equal(out.window["attempts_told_by_begin"], 0, "attempts told by their begin")


def a_scaler_ends_attempts():
    out = captured("--scaler", "cpu", "--overflow-every", 7)
    h.equal(out.window["attempts_told_by_begin"], 0, "attempts told by their begin")


def steps_within_steps():
    """An optimizer whose step() calls its parent's: begins alone would count it twice."""
    out = captured("--nested-step-from", 1, only_child=s.STEP)
    h.check_plan(out, wait=ATTEMPTS, warmup=2, active=5)
    h.equal(out.window["attempts_told_by_begin"], 0, "attempts told by their begin")


def a_step_within_a_step_all_at_once():
    """What cannot be told is counted, said, and the end of it."""
    h.need_bulk("attempts told by their begin take")
    first = ATTEMPTS // 2
    t, out, _ = s.watched_in_full(*STEP, "--nested-step-from", first, plan=PLAN, options=("-v",))
    doubtful = out.window["attempts_doubtful"]
    h.check(doubtful > 0, "no attempt is doubtful")
    h.check("%d attempts of the wait were told by a begin that may lie inside" % doubtful in out.run.out, "it is not said: %s" % out.run.out)
    h.check("ranges change their place" in out.run.err and out.run.err.count(TOLD) == 1, "ends stay unwatched: %s" % out.run.err)
    before = [row for row in t.attempts() if row["attempt"] < first]
    for row, step, after in list(zip(before, out.steps, out.steps[1:]))[1:]:
        h.check(row["range_begin"] <= after.start_ns <= row["step_end"] if after.start_ns is not None else step.start_ns is not None,
                "attempt %d is none of the job's" % step.attempt)
    # behind it: of each attempt of the job one, and no more
    active = out.in_phase("active")
    ends = [next(row for row in t.attempts() if row["step_begin"] <= x.start_ns + x.duration_ns <= row["step_end"]) for x in active]
    h.equal([row["attempt"] for row in ends], list(range(ends[0]["attempt"], ends[0]["attempt"] + 5)), "active attempts")
    last = ends[-1]["attempt"] - active[-1].attempt
    h.check(-doubtful <= last <= 0, "%d more attempts counted than the job made, %d of them doubtful" % (-last, doubtful))


def wait_told(run):
    run.wait_err(TOLD)
    time.sleep(0.2)  # said once they are off; the kernel's last breakpoint may come off a moment later


def half_of_the_code_is_its_own_again():
    h.need_bulk("taking half of the probes off takes")
    with h.scratch() as d:
        t = s.standin(*STEP, gate=False)
        run = h.Run("-p", t.pid, "-v", "-o", d + "/out", "--wait", 300).wait_attached()
        with_ends = len(h.modified_code_bytes(t.pid))
        run.signal(signal.SIGINT).wait()
        run = h.Run("-p", t.pid, "-v", "-o", d + "/more", "--wait", 1000000)
        wait_told(run)
        without = len(h.modified_code_bytes(t.pid))
        h.check(0 < without < with_ends, "%d probes with those of ends, %d without" % (with_ends, without))
        run.signal(signal.SIGINT).wait().exits(3)
        h.check_output(h.Output(d + "/more"), "no_capture", "interrupted")
        h.check_unmodified(t.pid)
        t.stop()


def killed_meanwhile():
    h.need_bulk("taking half of the probes off takes")
    with h.scratch() as d:
        t = s.standin(*STEP, gate=False)
        run = h.Run("-p", t.pid, "-v", "-o", d + "/out", "--wait", 1000000)
        wait_told(run)
        os.kill(run.pid, signal.SIGKILL)
        run.wait()
        deadline = time.monotonic() + h.patience(5)
        while h.modified_code_bytes(t.pid) and time.monotonic() < deadline:
            time.sleep(0.05)
        h.check_unmodified(t.pid)
        t.stop()


h.main(counted, in_each_cycle, loop_on_another_thread, a_short_wait_watches_both, a_scaler_ends_attempts, steps_within_steps,
       a_step_within_a_step_all_at_once, half_of_the_code_is_its_own_again, killed_meanwhile)
