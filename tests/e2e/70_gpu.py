#!/usr/bin/env python3
"""GPU activity through the agent, on a simulated device: kernels, copies and calls are the device's own list, each tied
to its operator and stream, for every layout of CUPTI's records and every clock."""
import gpu_support as g
import harness as h
import standin_support as s


# two clocks cannot be read at one moment: what the agent's best reading of several may be off by
READING_NS = 200


def watched(slack_ns=READING_NS, **kw):
    with h.scratch() as d:
        job = g.Job(**kw)
        out = job.capture(d + "/out")
        done, truth = job.stop()
        h.check_output(out)
        h.equal(out.profile["activities"]["gpu"]["state"], "on", "gpu: %s" % out.profile["activities"]["gpu"])
        g.check_all(out, truth, slack_ns)
        return out


def layout_of_11_8():
    watched(version=18)


def layout_of_12_6():
    watched(version=24)


def layout_of_12_9():
    out = watched(version=28)
    h.equal(out.profile["gpu"]["remarks"], [], "remarks")


def layout_of_13_0():
    watched(version=130001)


def layout_of_13_4():
    watched(version=130400)


def clock_is_monotonic():
    watched(clock="mono", slack_ns=1)


def clock_is_the_tsc():
    watched(clock="tsc", slack_ns=20000)


def records_in_any_order_and_late():
    watched(faults="shuffle,slow=5000,smallbuffers")


def in_every_cycle(wait):
    """Each window has its calls and their work, and what came between the windows is not shown."""
    with h.scratch() as d:
        job = g.Job()
        out = h.capture(job.target, d + "/out", "--wait", wait, "--warmup", 2, "--active", 5, "--repeat", 3)
        _, truth = job.stop()
        h.check_output(out)
        h.equal(len(out.in_phase("active")), 15, "active attempts")
        g.check_all(out, truth, READING_NS)
        h.equal(out.profile["gpu"]["remarks"], [], "remarks")


def in_cycles_without_a_wait():
    in_every_cycle(0)


def in_cycles_whose_wait_is_short():
    """The probes stay, and the agent goes on."""
    in_every_cycle(2)


def in_cycles_whose_wait_is_long():
    """The agent goes to sleep, and is waited for anew."""
    in_every_cycle(200)


def without_operators():
    with h.scratch() as d:
        job = g.Job()
        out = job.capture(d + "/out", "--activities", "ranges")
        _, truth = job.stop()
        h.check_output(out)
        calls, ops = g.expected(out, truth)
        g.check_calls(out, calls, READING_NS)
        g.check_work(out, ops, READING_NS)


def result_is_unchanged():
    alone = s.unwatched("--step-us", 3000, "--attempts", 60)
    with h.scratch() as d:
        job = g.Job("--attempts", 60, step_us=30000)
        job.capture(d + "/out", "--active", 2)
        done = job.target.finish()
        s.same_result({k: done[k] for k in ("checksum",)}, {k: alone[k] for k in ("checksum",)})


def switched_off():
    with h.scratch() as d:
        job = g.Job()
        out = job.capture(d + "/out", "--gpu", "off")
        job.stop()
        h.check_output(out)
        h.equal((out.cuda_calls, out.on_device), ([], []), "GPU rows")
        h.check("not asked for" in out.profile["activities"]["gpu"]["reason"], "gpu: %s" % out.profile["activities"]["gpu"])


h.main(layout_of_12_9, layout_of_11_8, layout_of_12_6, layout_of_13_0, layout_of_13_4, clock_is_monotonic, clock_is_the_tsc,
       records_in_any_order_and_late, in_cycles_without_a_wait, in_cycles_whose_wait_is_short, in_cycles_whose_wait_is_long, without_operators,
       result_is_unchanged, switched_off)
