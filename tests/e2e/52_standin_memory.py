#!/usr/bin/env python3
"""Memory is exact: every block with its size, net bytes of every row, on the CPU and on a device, and what did not fit."""
import collections

import harness as h
import standin_support as s

DEVICE = ("--step-us", 3000, "--device-memory")


def on_the_cpu():
    _, out, _ = s.watched_calls("--step-us", 3000, exact=True)
    files = [f["name"] for f in out.profile["files"]]
    h.check("cpu_memory.txt" in files and "cuda_memory.txt" not in files, "files: %s" % files)


def every_flavour():
    for flavour in s.FLAVOURS[1:]:
        s.watched_calls("--step-us", 3000, flavour=flavour, exact=True)


def by_default():
    for flavour in s.FLAVOURS:
        s.watched_calls("--step-us", 3000, flavour=flavour)


def check_totals(out, t):
    """The device's own totals as it told them with each event; the CPU's run from 0 at the window's start."""
    blocks = sorted((e for e in out.memory if e["name"] == "[memory]"), key=lambda e: e["ts"])
    running = 0
    for e in blocks:
        a = e["args"]
        if a["Device Type"] == 0:
            running += a["Bytes"]
            h.equal((a["Device Id"], a["Total Allocated"], a["Total Reserved"]), (-1, running, 0), "totals of the CPU at %r" % e)
    mine = [e["args"] for e in blocks if e["args"]["Device Type"] == 1]
    h.check(mine and all(a["Device Id"] == 0 for a in mine), "devices: %s" % {a["Device Id"] for a in mine})
    for before, after in zip(mine, mine[1:]):
        h.equal(after["Total Allocated"], before["Total Allocated"] + after["Bytes"], "total of the device at %r" % after)
    last = s.active_truth(out, t)[-1]["device_totals"]
    h.equal([mine[-1]["Total Allocated"], mine[-1]["Total Reserved"]], last, "the device's last totals")


def on_a_device():
    for flavour in s.FLAVOURS:
        t, out, calls = s.watched_calls(*DEVICE, flavour=flavour, exact=True)
        h.check(calls.memory[1][0] > 0 and calls.bytes["aten::empty"][1][0] > 0, "the target used no device memory")
        check_totals(out, t)
        files = [f["name"] for f in out.profile["files"]]
        h.check("cpu_memory.txt" in files and "cuda_memory.txt" in files, "files: %s" % files)


def on_a_device_of_many_threads():
    """Totals are told under a lock; the order of the events of several threads is that of their times."""
    t, out, _ = s.watched_calls(*DEVICE, "--op-threads", 6, exact=True)
    blocks = [e["args"] for e in out.memory if e["name"] == "[memory]" and e["args"]["Device Type"] == 1]
    totals = collections.Counter(a["Total Allocated"] for a in blocks)
    h.check(max(totals) > (1 << 22), "the threads never held memory at once: %s" % totals)


def sizes_of_the_blocks():
    """What the target asked for, to the byte: 1000 floats that another thread frees, a block after three that were too large."""
    t, out, calls = s.watched_calls("--step-us", 3000, exact=True)
    sizes = collections.Counter(e["args"]["Bytes"] for e in out.memory if e["name"] == "[memory]")
    for size in (4000, 32000):
        h.equal((sizes[size], sizes[-size]), (5, 5), "blocks of %d bytes, allocated and freed" % size)
    too_large = collections.Counter(e["args"]["Bytes"] for e in out.memory if e["name"] == "[OutOfMemory]")
    h.equal(too_large, {256000: 5, 128000: 5, 64000: 5}, "blocks that were too large")


def freed_on_another_thread():
    t, out, _ = s.watched_calls("--step-us", 3000, exact=True)
    main = {e["tid"] for e in out.named("train_step")}
    by_size = lambda size: {e["tid"] for e in out.memory if e["args"]["Bytes"] == size}
    h.equal(by_size(4000), main, "thread of the allocations")
    h.check(by_size(-4000) and not by_size(-4000) & main, "threads of the frees: %s" % by_size(-4000))


@h.bulk
def as_it_comes():
    """Without a word about memory: it is all there, or it is said to be left out."""
    t, out, _ = s.watched_in_full("--operators", 1, "--step-us", 10000, plan=s.CALLS_PLAN)
    if out.profile["activities"]["memory"]["state"] == "on":
        s.check_bytes(out, s.Calls(s.active_truth(out, t)))
    else:
        h.check(out.profile["activities"]["memory"]["reason"], "memory is off, and nobody says why")
        h.equal(out.memory, [], "memory events")


@h.bulk
def two_windows():
    """A block of the first window that is freed in the second is known; one that comes and goes between them is not."""
    plan = ("--skip-first", 1, "--wait", 2, "--warmup", 3, "--active", 2, "--repeat", 2)
    t, out, _ = s.watched_in_full("--operators", 1, "--step-us", 3000, plan=plan, options=(*s.ALL, "--exact"))
    s.check_bytes(out, s.Calls(s.active_truth(out, t)))


@h.bulk
def without_memory():
    options = ("--exact", "--activities", "ranges,operators,autograd")
    t, out, _ = s.watched_in_full("--operators", 1, *DEVICE, options=options, plan=s.CALLS_PLAN)
    h.equal(out.memory, [], "memory events")
    calls = s.Calls(s.active_truth(out, t))
    s.check_calls(out, calls, exact=True)
    s.check_pairs(out, calls)


h.main(on_the_cpu, every_flavour, by_default, as_it_comes, on_a_device, on_a_device_of_many_threads, sizes_of_the_blocks,
       freed_on_another_thread, two_windows, without_memory)
