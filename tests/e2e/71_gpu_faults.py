#!/usr/bin/env python3
"""What can go wrong with CUPTI, the agent and the collector: each fault has its named degradation, the CPU's part of the
capture is whole, and the job computes what it computes."""
import os
import signal
import time

import gpu_support as g
import harness as h
import standin_support as s


def run(d, *args, seconds=h.USER, code=0, lossless=True, has_operators=True, **kw):
    """(capture, closing line, truth) of a job with a fault. The capture itself is checked as every other is."""
    job = g.Job(**kw)
    out = job.capture(d + "/out", *args, seconds=seconds, code=code)
    done, truth = job.stop()
    h.check_output(out, lossless=lossless)
    counts = s.begun(s.active_truth(out, job.target))
    h.equal(counts["train_step"], len(out.in_phase("active")), "active attempts")
    h.check(counts["train_step"] >= 5 and any(r["name"] == "aten::mm" for r in out.rows) == (has_operators and h.has_bulk()), "the CPU's part is not whole")
    return out, done, truth


def says(out, part):
    gpu = out.profile["activities"]["gpu"]
    said = [gpu["reason"] or ""] + out.profile["gpu"]["remarks"]
    h.check(any(part in text for text in said), "%r is not said: %s" % (part, said))
    h.check(part in out.run.out, "%r is not said in the terminal: %s" % (part, out.run.out))


def by_probes(faults, reason, *args, has_operators=True, **kw):
    """The agent has said that it cannot, or nothing: the calls are seen as where there is none, each once; nothing is lost."""
    with h.scratch() as d:
        out, _, truth = run(d, "--max-overhead", 10000, *args, faults=faults, has_operators=has_operators, **kw)
        says(out, reason)
        if not h.has_bulk():
            h.equal((out.cuda_calls, out.profile["gpu"]["calls_by"]), ([], None), "calls")
            h.check("nor can this kernel probe the calls" in out.profile["activities"]["gpu"]["reason"], "gpu: %s" % out.profile["activities"]["gpu"])
            return
        calls = g.check_probed_calls(out, truth)
        if has_operators:
            g.check_probed_operators(out)
        g.check_probed_said(out, calls, reason)
        h.check("the calls that ask for it are probed instead" in out.run.err, out.run.err)


def another_tool_has_cupti():
    by_probes("err39", "another tool has CUPTI in this job (cuptiActivityRegisterCallbacks: error 39)")


def cupti_fails():
    by_probes("err999", "CUPTI fails for an unknown reason (cupti")


def cupti_fails_from_the_start():
    by_probes("err999all", "CUPTI fails for an unknown reason (cuptiGetVersion: error 999)")


def privileges_are_missing():
    by_probes("privileges", "the driver does not permit this job to use CUPTI (cuptiActivityEnable: error 35)")


def kernels_are_refused():
    by_probes("refuse=10", "CUPTI refuses cuptiActivityEnable (error 21)")


def runtime_calls_are_refused():
    """Nothing ties a kernel to an operator or an attempt then."""
    by_probes("refuse=5", "CUPTI refuses cuptiActivityEnable (error 21)")


def cupti_is_too_old():
    by_probes("", "the job's CUPTI is too old (API version 17", env={"FAKE_CUPTI_VERSION": "17"})


def no_cupti_is_mapped():
    by_probes("", "the job has no libcupti mapped", env={"STANDIN_CUPTI": "libcudart.so.12"})


def no_answer_in_time():
    """CUPTI does not return for longer than is waited for; when it does, the agent has been given up."""
    by_probes("hangopen=60000", "CUPTI does not return from open after ")


def an_answer_that_comes_too_late():
    """In the window, which is long enough for it."""
    by_probes("hangopen=6000", "CUPTI does not return from open after ", "--active", 50, step_us=100000)


def in_every_cycle():
    by_probes("err39", "another tool has CUPTI in this job", "--repeat", 3)


def in_a_later_cycle():
    """What the first window has of the GPU stays; that the others have nothing is said."""
    with h.scratch() as d:
        out, _, _ = run(d, "--max-overhead", 10000, "--wait", 600, "--repeat", 3, faults="onlyN=1")  # more than a second: it notices that it is not asked
        says(out, "a later window has nothing of the GPU: another tool has CUPTI in this job")
        h.equal((out.profile["gpu"]["timing"], out.profile["activities"]["gpu"]["state"]), ("available", "degraded"), "the GPU's state")
        steps = [s for s in out.steps if s.phase == "active"]
        begins = {e["name"]: e["ts"] for e in out.events if e["name"].startswith("ProfilerStep#")}
        first, second = (begins["ProfilerStep#%d" % steps[i].attempt] for i in (0, 5))
        kernels = [e["ts"] for e in out.on_device if e["cat"] == "kernel"]
        h.check(len(steps) == 15 and kernels and first < min(kernels) and max(kernels) < second, "kernels are not those of the first window")


def without_operators():
    by_probes("err39", "another tool has CUPTI in this job", "--activities", "ranges", has_operators=False)


def with_every_end_probed():
    by_probes("err39", "another tool has CUPTI in this job", "--exact")


def replayed():
    """The agent's words and the probes' calls come from the file as they came from the job."""
    with h.scratch() as d:
        first, _, _ = run(d, "--keep-raw", faults="err39")
        h.tpbpf("report", d + "/out/capture.raw", "-o", d + "/again").exits(0)
        second = h.Output(d + "/again")
        h.equal((second.trace, second.profile["gpu"], second.profile["loss"]), (first.trace, first.profile["gpu"], first.profile["loss"]), "replay")


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
        job = g.Job("--exit-at", 1000)
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


h.main(another_tool_has_cupti, cupti_fails, cupti_fails_from_the_start, privileges_are_missing, kernels_are_refused, runtime_calls_are_refused, cupti_is_too_old, no_cupti_is_mapped,
       no_answer_in_time, an_answer_that_comes_too_late, in_every_cycle, in_a_later_cycle, without_operators, with_every_end_probed, replayed, the_clock_fits_none, records_without_times, records_dropped_by_cupti,
       callbacks_taken_by_another_profiler, a_flush_that_hangs, tpbpf_killed_in_wait, tpbpf_killed_in_active, the_job_ends_in_the_window, interrupted)
