#!/usr/bin/env python3
"""A DataLoader with two workers: its ranges are there, and its processes, forked under the probes, are not disturbed."""
import harness as h

NAME = "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__"


def loads_in_the_window(target, begin, stop):
    return [r for r in target.rows() if "load" in r and begin <= r["begin"] and r["end"] <= stop]


def ranges_of_the_loader(python):
    with h.scratch() as d:
        t = h.torch_target(python, "dataloader", "--batches", 5000)
        out = h.capture(t, d + "/out", "--wait", 2, "--warmup", 2, "--active", 5)
        closing = t.stop()
        h.check_output(out)
        h.check_plan(out, wait=2, warmup=2, active=5)
        h.match_attempts(out, t, first=0)
        h.equal((closing["disorder"], closing["bad_exits"]), (0, []), "order of the data and the workers' exit codes")
        h.equal(out.counts().get(NAME), 5, "loads in the trace")
        h.equal(out.region(NAME)["count"], 5, "loads in profile.json")
        for step in out.marks:
            h.equal(sum(h.contains(step, e) for e in out.named(NAME)), 1, "loads in " + step["name"])


def workers_forked_during_the_window(python):
    """Epochs of two batches: workers are forked and end while every probe is in place."""
    with h.scratch() as d:
        alone = h.torch_target(python, "dataloader", "--batches", 2, "--attempts", 60).open_gate().finish()
        t = h.torch_target(python, "dataloader", "--batches", 2, "--attempts", 60)
        out = h.capture(t, d + "/out", "--wait", 2, "--warmup", 2, "--active", 12)
        closing = t.finish()
        h.check_output(out)
        h.match_attempts(out, t, first=0)
        h.equal((closing["disorder"], closing["bad_exits"]), (0, []), "order of the data and the workers' exit codes")
        h.equal((closing["checksum"], closing["workers"]), (alone["checksum"], alone["workers"]), "result and workers, unwatched and watched")
        active = out.in_phase("active")
        loads = loads_in_the_window(t, active[0].start_ns, active[-1].start_ns + active[-1].duration_ns)
        h.check(any(r["last"] for r in loads), "the window holds no end of an epoch")
        h.equal(out.counts().get(NAME), len(loads), "loads, each epoch's last and empty one included")
        h.equal({e["pid"] for e in out.events}, {t.pid}, "processes in the trace")


h.main(ranges_of_the_loader, workers_forked_during_the_window, torch=True)
