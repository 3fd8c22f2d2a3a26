#!/usr/bin/env python3
"""Errors that the job catches, thrown through probed operators, nodes and ranges: the job's losses are, bit for bit, those of an
unwatched run, and the counts stay exact. TPBPF_TEST_ERRORS sets how many errors a run has (2,000)."""
import os

import harness as h
import torch_truth as truth

ERRORS = int(os.environ.get("TPBPF_TEST_ERRORS", 2000))
PER_ATTEMPT = 60  # ten of each kind
BEFORE = 60  # attempts that may go by until all probes are in place
SECONDS = h.USER + ERRORS // 200


def watched(python, *options):
    attempts = ERRORS // PER_ATTEMPT
    args = ("--errors", PER_ATTEMPT, "--attempts", attempts + BEFORE, "--pace-ms", 0, "--seconds", SECONDS)
    alone = h.torch_target(python, "retry", *args).open_gate().finish(SECONDS)
    h.check(alone["errors"] >= ERRORS, "%d errors of %d in %d attempts" % (alone["errors"], ERRORS, alone["attempts"]))
    with h.scratch() as d:
        t = h.torch_target(python, "retry", *args)
        # every attempt but a few is watched: the window ends with the job
        run = h.Run("-p", t.pid, "-o", d + "/out", "--wait", 1, "--warmup", 1, "--active", 1000000, *options)
        run.wait_attached()
        t.open_gate()
        done = t.finish(SECONDS)
        run.wait(SECONDS).exits(3)
        for key in ("curve", "checksum", "errors", "attempts"):
            h.equal(done[key], alone[key], "the job's %s, watched and unwatched" % key)
        out = h.Output(d + "/out")
        h.check_output(out, "partial", "target_exited")
        steps = out.window["active_attempts"]
        h.check(PER_ATTEMPT * steps >= ERRORS - PER_ATTEMPT, "%d of %d attempts were watched" % (steps, attempts + BEFORE))
        counts = out.counts()
        # each attempt tries so often; of the last one, which is in no row of steps.csv, a part may be there
        tried = counts["attempted"]
        h.check(PER_ATTEMPT * steps <= tried <= PER_ATTEMPT * (steps + 1), "%d ranges in %d attempts" % (tried, steps))
        return out, steps


def every_operator_probed(python):
    out, steps = watched(python, "--exact")
    h.check(not any(e["args"].get("inferred end") for e in out.events), "ends that were not seen in --exact")
    unwound = [e["name"] for e in out.events if e["args"].get("unwound")]
    for name in ("aten::mm", "aten::linear", "aten::empty"):
        h.check(name in unwound, "no unwound %s: %s" % (name, sorted(set(unwound))))


def as_by_default(python):
    watched(python)


def counts_beside_torch_profiler(python):
    job = truth.JobSpec("retry", ("--errors", PER_ATTEMPT), ())
    for options in (("--exact",), ()):
        with h.scratch() as d:
            want = truth.truth(python, job, d)
            out, _ = truth.capture(python, job, d, *options)
            truth.check_same(truth.our_counts(out), want.counts, "calls %s" % (options,))
            truth.check_same(truth.our_raw_counts(out), want.raw_counts, "events of the trace %s" % (options,))


def an_unwound_call_lasts_as_long_as_it_was_seen(python):
    """It does not last until the next call, which Python may make much later."""
    with h.scratch() as d:
        out, _ = truth.capture(python, truth.JOBS["retry"], d, "--exact")
        for e in out.events:
            if e["args"].get("unwound"):
                inside = [c for c in out.events if h.contains(e, c)]
                h.check(e["dur"] < 20000, "%s was left by an exception, and lasts %s us, with %d calls inside"
                        % (e["name"], e["dur"], len(inside)))


h.main(every_operator_probed, as_by_default, counts_beside_torch_profiler, an_unwound_call_lasts_as_long_as_it_was_seen, torch=True)
