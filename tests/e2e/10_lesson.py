#!/usr/bin/env python3
"""The lesson's model: the table, steps.csv and the trace hold exactly what the job did, and the job is left as it was found."""
import harness as h

WINDOW = ("--wait", 2, "--warmup", 2, "--active", 5)
# a CUDA build maps CUDA, whose calls warmup would learn from
RANGES_ALONE = ("--activities", "ranges", "--gpu", "off")
RANGES = {"train_step": 5, "Optimizer.step#SGD.step": 5, "Optimizer.zero_grad#SGD.zero_grad": 5}


def check_lesson(out, truth):
    h.check_output(out)
    h.check_plan(out, skip_first=0, wait=2, warmup=2, active=5, repeat=1)
    h.equal([site["point"] for site in out.profile["plan"]["probe_sites"] if site["found"] and not site["emulated"]], [],
            "sites that are single-stepped, at ten times the cost")
    h.equal(h.calls(out), {**RANGES, "ProfilerStep*": 5}, "calls in cpu_ops.txt")
    h.equal({r["name"]: r["count"] for r in out.profile["regions"] if not r["name"].startswith("ProfilerStep")}, RANGES, "regions")
    h.equal((out.window["applied_attempts"], out.window["skipped_attempts"], out.window["unknown_attempts"]),
            (len(out.steps), 0, 0), "outcomes")

    h.equal(out.counts(), {**RANGES, **{"ProfilerStep#%d" % s.attempt: 1 for s in out.in_phase("active")}}, "events in the trace")
    h.equal({e["cat"] for e in out.events}, {"user_annotation"}, "categories")
    h.check(all(h.finished(e) for e in out.events), "every range ended in sight")
    order = lambda name: sorted(out.named(name), key=lambda e: e["ts"])
    for n, (step, train, zero, opt) in enumerate(zip(out.marks, order("train_step"),
                                                     order("Optimizer.zero_grad#SGD.zero_grad"), order("Optimizer.step#SGD.step"))):
        h.check(h.contains(step, train), "train_step %d lies outside its %s: %r %r" % (n, step["name"], train, step))
        h.check(h.contains(train, zero) and h.contains(train, opt), "zero_grad and step lie outside train_step %d" % n)
        h.check(h.end(zero) <= opt["ts"], "zero_grad %d ends after step begins" % n)

    # durations as the job itself saw them: tpbpf's lie within the script's, whose clock is read further out
    active = [truth[s.attempt] for s in out.in_phase("active")]
    for e, t in zip(order("train_step"), active):
        h.check(e["dur"] * 1000 <= t["end"] - t["begin"], "train_step of %s us, %s us by the script" % (e["dur"], (t["end"] - t["begin"]) / 1000))
    for e, t in zip(order("Optimizer.step#SGD.step"), active):
        h.check(e["dur"] * 1000 <= t["step_end"] - t["step_begin"], "Optimizer.step of %s us" % e["dur"])
    apart = lambda a, b: (b["ts"] - a["ts"]) * 1000
    for (a, b), (s, t) in zip(zip(order("train_step"), order("train_step")[1:]), zip(active, active[1:])):
        h.check(s["begin"] <= t["begin"] and abs(apart(a, b) - (t["begin"] - s["begin"])) < max(s["end"] - s["begin"], t["end"] - t["begin"]),
                "train_steps %s us apart" % (apart(a, b) / 1000))


def attached_before_the_first_attempt(python):
    with h.scratch() as d:
        t = h.torch_target(python, "lesson")
        out = h.capture(t, d + "/out", *WINDOW, *RANGES_ALONE)
        h.check(t.alive(), "the job ended")
        h.check_unmodified(t.pid)
        t.stop()
        check_lesson(out, h.match_attempts(out, t, first=0))
        job = out.profile["job"]
        h.equal(job["pid"], t.pid, "job.pid")
        h.check(job["torch_version"] and h.version(python) == tuple(int(x) for x in job["torch_version"].split(".")[:2]),
                "torch %s found as %r" % (python.version, job["torch_version"]))
        h.check("lesson.py" in " ".join(job["command_line"]) if isinstance(job["command_line"], list) else "lesson.py" in job["command_line"],
                "job.command_line is %r" % job["command_line"])
        h.check("complete" in out.run.out and "train_step" in out.run.out, "summary on stdout: %s" % out.run.out)


def attached_in_the_middle(python):
    with h.scratch() as d:
        t = h.torch_target(python, "lesson", gate=False).wait_attempts(5)
        out = h.capture(t, d + "/out", *WINDOW, *RANGES_ALONE, open_gate=False)
        t.stop()
        check_lesson(out, h.match_attempts(out, t))


def the_job_computes_the_same(python):
    """A job of 300 attempts watched through its window ends with the parameters of one that nobody watched."""
    with h.scratch() as d:
        alone = h.torch_target(python, "lesson", "--attempts", 300).open_gate().finish()
        t = h.torch_target(python, "lesson", "--attempts", 300)
        h.check_output(h.capture(t, d + "/out", *WINDOW))
        h.equal(t.finish()["checksum"], alone["checksum"], "checksum of the parameters")


def phases_as_the_schedule_counts(python):
    with h.scratch() as d:
        t = h.torch_target(python, "lesson", "--pace-ms", 200)
        out = h.capture(t, d + "/out", "--skip-first", 3, "--wait", 1, "--warmup", 1, "--active", 2, "--repeat", 2,
                        *RANGES_ALONE)
        t.stop()
        h.check_output(out)
        h.check_plan(out, exact=True, skip_first=3, wait=1, warmup=1, active=2, repeat=2)
        h.equal([s.attempt for s in out.in_phase("active")], [5, 6, 9, 10], "active attempts")
        h.equal(h.calls(out)["train_step"], 4, "train_step")
        h.match_attempts(out, t, first=0)


def steps_are_numbered_as_the_attempts(python):
    with h.scratch() as d:
        t = h.torch_target(python, "lesson", "--pace-ms", 200)
        out = h.capture(t, d + "/out", *WINDOW, *RANGES_ALONE)
        t.stop()
        check_lesson(out, h.match_attempts(out, t, first=0))
        h.check_plan(out, exact=True, wait=2, warmup=2, active=5)
        h.equal([e["name"] for e in out.marks], ["ProfilerStep#%d" % n for n in range(4, 9)], "steps")


def without_a_wait_phase(python):
    with h.scratch() as d:
        t = h.torch_target(python, "lesson")
        out = h.capture(t, d + "/out", "--wait", 0, "--warmup", 1, "--active", 3)
        t.stop()
        h.check_output(out)
        h.check_plan(out, wait=0, warmup=1, active=3)
        h.equal(h.calls(out)["train_step"], 3, "train_step")
        h.match_attempts(out, t, first=0)


def in_a_long_wait(python):
    """Attempts are told by their begin alone there, where the build has a probe of its own for Python's ends."""
    with h.scratch() as d:
        t = h.torch_target(python, "lesson", "--pace-ms", 0)
        out = h.capture(t, d + "/out", "--wait", 4000, "--warmup", 2, "--active", 5, *RANGES_ALONE, seconds=240)
        h.check_unmodified(t.pid)
        t.stop()
        h.check_output(out)
        h.check_plan(out, wait=4000, warmup=2, active=5)
        rows = h.match_attempts(out, t)
        for row, step in zip(rows, out.steps):
            h.check(step.phase != "active" or row["step_begin"] <= step.start_ns + step.duration_ns <= row["step_end"],
                    "active attempt %d ends elsewhere" % step.attempt)
        told = out.window["attempts_told_by_begin"]
        h.equal(out.window["attempts_doubtful"], 0, "doubtful attempts")
        if any(site["point"] == "range enter" and site["found"] for site in out.profile["plan"]["probe_sites"]):
            h.check(1000 <= told < 4000, "%d attempts told by their begin" % told)
        else:
            h.equal(told, 0, "attempts told by their begin")


h.main(attached_before_the_first_attempt, attached_in_the_middle, the_job_computes_the_same, phases_as_the_schedule_counts,
       steps_are_numbered_as_the_attempts, without_a_wait_phase, in_a_long_wait, torch=True)
