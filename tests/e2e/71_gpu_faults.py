#!/usr/bin/env python3
"""What can go wrong with CUPTI, the agent and the collector: each fault has its named degradation, the CPU's part of the
capture is whole, and the job computes what it computes."""
import os
import signal
import time

import gpu_support as g
import harness as h
import standin_support as s


def run(d, *args, seconds=h.USER, code=0, lossless=True, **kw):
    """(capture, closing line, truth) of a job with a fault. The capture itself is checked as every other is."""
    job = g.Job(**kw)
    out = job.capture(d + "/out", *args, seconds=seconds, code=code)
    done, truth = job.stop()
    h.check_output(out, lossless=lossless)
    counts = s.begun(s.active_truth(out, job.target))
    h.equal(counts["train_step"], len(out.in_phase("active")), "active attempts")
    h.check(counts["train_step"] >= 5 and any(r["name"] == "aten::mm" for r in out.rows), "the CPU's part is not whole")
    return out, done, truth


def says(out, part):
    gpu = out.profile["activities"]["gpu"]
    said = [gpu["reason"] or ""] + out.profile["gpu"]["remarks"]
    h.check(any(part in text for text in said), "%r is not said: %s" % (part, said))
    h.check(part in out.run.out, "%r is not said in the terminal: %s" % (part, out.run.out))


def unavailable(faults, part, **kw):
    with h.scratch() as d:
        out, _, _ = run(d, faults=faults, **kw)
        h.equal(out.profile["activities"]["gpu"]["state"], "off", "gpu")
        h.equal((out.profile["gpu"]["timing"], out.profile["gpu"]["kernels"]), ("unavailable", 0), "gpu timing, kernels")
        says(out, part)


def another_tool_has_cupti():
    unavailable("err39", "error 39")


def cupti_fails():
    unavailable("err999", "error 999")


def privileges_are_missing():
    with h.scratch() as d:
        out, _, _ = run(d, faults="privileges")
        says(out, "does not permit")
        h.equal(out.profile["gpu"]["kernels"], 0, "kernels")


def the_clock_fits_none():
    """Records whose times mean nothing are counted and left out, never shown."""
    with h.scratch() as d:
        out, _, _ = run(d, clock="none", code=3, lossless=False)
        says(out, "fit no clock")
        h.equal((out.cuda_calls, out.on_device), ([], []), "GPU rows")
        h.check(out.profile["loss"]["device_time_invalid"] > 0, "loss: %s" % out.profile["loss"])


def records_without_times():
    with h.scratch() as d:
        out, _, truth = run(d, faults="untimedN=7", code=3, lossless=False)
        lost = out.profile["loss"]["device_time_invalid"]
        _, ops = g.expected(out, truth)
        shown = sum(out.profile["gpu"][k] for k in ("kernels", "copies", "sets"))
        h.check(lost > 0 and shown < len(ops), "%d shown of %d, %d counted" % (shown, len(ops), lost))
        says(out, "without times")


def records_dropped_by_cupti():
    with h.scratch() as d:
        out, _, _ = run(d, faults="droppedN=9", code=3, lossless=False)
        h.check(out.profile["loss"]["device_records_dropped"] > 0, "loss: %s" % out.profile["loss"])
        says(out, "lost in the job")


def callbacks_taken_by_another_profiler():
    with h.scratch() as d:
        out, _, _ = run(d, "--active", 1500, faults="steal=1", code=3, lossless=False)
        says(out, "took over CUPTI")
        h.equal(out.profile["loss"]["device_watch_ended_early"], 1, "loss")


def a_flush_that_hangs():
    """The job goes on, and so does tpbpf: it waits for the agent for a bounded time."""
    with h.scratch() as d:
        begun = time.monotonic()
        out, _, _ = run(d, faults="hang=60000", code=3, lossless=False, seconds=60)
        h.check(time.monotonic() - begun < h.patience(45), "it took %.0f s" % (time.monotonic() - begun))
        h.check(out.profile["gpu"]["remarks"], "nothing is said")
        h.equal(out.profile["loss"]["device_watch_ended_early"], 1, "loss")


def wait_dormant(pid, seconds=2.5):
    """The agent's thread sleeps a second at a time: its wake-ups are counted over a while."""
    def switches():
        total = 0
        for tid in os.listdir("/proc/%d/task" % pid):
            with open("/proc/%d/task/%s/comm" % (pid, tid)) as f:
                if not f.read().startswith("tpbpf"):
                    continue
            with open("/proc/%d/task/%s/status" % (pid, tid)) as f:
                total += sum(int(line.split()[1]) for line in f if "ctxt_switches" in line)
        return total

    time.sleep(1.2)
    before = switches()
    time.sleep(seconds)
    return (switches() - before) / seconds


def killed(phase, *args):
    """SIGKILL: the kernel takes the switch back, the agent goes to sleep within a second, and a later capture finds it well."""
    with h.scratch() as d:
        job = g.Job()
        run = h.Run("-v", "-p", job.target.pid, "-o", d + "/killed", *args)
        run.wait_attached()
        job.target.open_gate()
        if phase != "wait":
            run.wait_window()
            time.sleep(0.3)
        run.signal(signal.SIGKILL)
        run.wait()
        rate = wait_dormant(job.target.pid)
        h.check(rate <= 8, "the agent's threads wake up %.1f times a second after tpbpf was killed" % rate)
        h.check_unmodified(job.target.pid)
        out = h.capture(job.target, d + "/out", *g.PLAN, open_gate=False)
        done, truth = job.stop()
        h.check_output(out)
        g.check_all(out, truth, 200)


def tpbpf_killed_in_wait():
    killed("wait", "--wait", 5000)


def tpbpf_killed_in_active():
    killed("active", "--wait", 2, "--warmup", 2, "--active", 100000)


def the_job_ends_in_the_window():
    with h.scratch() as d:
        job = g.Job("--exit-at", 150)
        out = job.capture(d + "/out", "--active", 100000, code=3)
        h.check_output(out, state="partial", reason="target_exited", lossless=False)
        h.check(out.profile["gpu"]["kernels"] > 0 or out.profile["gpu"]["remarks"], "nothing is said of the GPU")


def interrupted():
    with h.scratch() as d:
        job = g.Job()
        run = h.Run("-v", "-p", job.target.pid, "-o", d + "/out", "--wait", 2, "--warmup", 2, "--active", 100000)
        run.wait_attached()
        job.target.open_gate()
        run.wait_window()
        time.sleep(0.5)
        run.signal(signal.SIGINT)
        run.wait().exits(3)
        out = h.Output(d + "/out")
        out.run = run
        job.stop()
        h.check_output(out, state="partial", reason="interrupted")
        h.check(out.profile["gpu"]["kernels"] > 0, "no kernels")


h.main(another_tool_has_cupti, cupti_fails, privileges_are_missing, the_clock_fits_none, records_without_times, records_dropped_by_cupti,
       callbacks_taken_by_another_profiler, a_flush_that_hangs, tpbpf_killed_in_wait, tpbpf_killed_in_active, the_job_ends_in_the_window, interrupted)
