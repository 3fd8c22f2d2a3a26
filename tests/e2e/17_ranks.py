#!/usr/bin/env python3
"""Several processes on one library: only the captured one has probes in its code."""
import signal

import harness as h


def the_other_rank_takes_no_hit(python):
    with h.scratch() as d:
        ranks = [h.torch_target(python, "lesson", gate=False, wait=False, env={"RANK": str(r), "LOCAL_RANK": str(r), "WORLD_SIZE": "2"})
                 for r in range(2)]
        for t in ranks:
            t.wait_ready().wait_attempts(3)
        mine, other = ranks
        h.equal(h.libraries_mapped(mine.pid), h.libraries_mapped(other.pid), "libraries of the two ranks")
        h.equal([h.modified_code_bytes(t.pid) for t in ranks], [[], []], "code before the capture")
        run = h.Run("-p", mine.pid, "-o", d + "/out", "-v", "--wait", 1, "--warmup", 1, "--active", 1000000)
        run.wait_window()
        h.until(lambda: h.modified_code_bytes(mine.pid), "probes in the captured rank")
        before = len(other.attempts())
        other.wait_attempts(before + 20)
        h.equal(h.modified_code_bytes(other.pid), [], "code of the other rank during the capture")
        h.check(h.modified_code_bytes(mine.pid), "the captured rank has no probe")
        run.signal(signal.SIGINT).wait().exits(3)
        h.check_unmodified(mine.pid)
        h.check_unmodified(other.pid)
        for t in ranks:
            t.stop()
        out = h.Output(d + "/out")
        h.check_output(out, "partial", "interrupted")
        h.equal((str(out.profile["job"]["rank"]), str(out.profile["job"]["world_size"])), ("0", "2"), "rank and world size")


def each_rank_its_own_capture(python):
    with h.scratch() as d:
        ranks = [h.torch_target(python, "lesson", wait=False, env={"RANK": str(r), "LOCAL_RANK": str(r), "WORLD_SIZE": "2"})
                 for r in range(2)]
        runs = []
        for r, t in enumerate(ranks):
            t.wait_ready()
            runs.append(h.Run("-p", t.pid, "-o", "%s/out%d" % (d, r), "--wait", 2, "--warmup", 2, "--active", 5).wait_attached())
        for t in ranks:
            t.open_gate()
        for r, (t, run) in enumerate(zip(ranks, runs)):
            run.wait().exits(0)
            t.stop()
            out = h.Output("%s/out%d" % (d, r))
            h.check_output(out)
            h.match_attempts(out, t, first=0)
            h.equal(h.calls(out)["train_step"], 5, "train_step of rank %d" % r)
            h.equal(out.trace["distributedInfo"]["rank"], r, "rank in the trace")


h.main(the_other_rank_takes_no_hit, each_rank_its_own_capture, torch=True)
