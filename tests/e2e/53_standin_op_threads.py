#!/usr/bin/env python3
"""Operators of many threads at once: every call, on its thread, below its caller, and every arrow."""
import collections

import harness as h
import standin_support as s


def threads_of(out, name):
    return {e["tid"] for e in out.named(name)}


def many(threads, *args, **kw):
    t, out, calls = s.watched_calls("--op-threads", threads, *args, **kw)
    h.equal(len(threads_of(out, "aten::special_erf")), threads + 1, "threads that called operators")
    return t, out, calls


def makers(out):
    """The threads whose forward calls made the nodes that a thread runs, by thread."""
    begin, found = {e["id"]: e for e in out.flows if e["ph"] == "s"}, collections.defaultdict(set)
    for e in out.flows:
        if e["ph"] == "f":
            found[e["tid"]].add(begin[e["id"]]["tid"])
    return found


def own_backward(out):
    """Each thread runs the nodes that it made, though all of them take the same numbers."""
    h.equal({tid: of for tid, of in makers(out).items() if of != {tid}}, {}, "nodes of other threads")


def eight():
    for exact in (False, True):
        own_backward(many(8, "--step-us", 3000, exact=exact)[1])


def eight_of_every_flavour():
    for flavour in s.FLAVOURS[1:]:
        many(8, "--step-us", 3000, flavour=flavour, exact=True)


def a_hundred_and_sixty():
    """Some hundred thousand hits in an attempt; the pauses are there because a machine of two cores has to keep up with them."""
    many(160, "--step-us", 3000, "--op-pause-us", 100000, exact=True, seconds=250)


def a_hundred_and_sixty_by_default():
    many(160, "--step-us", 3000, "--op-pause-us", 100000, seconds=250)


@h.bulk
def a_hundred_and_sixty_as_fast_as_they_can():
    """All of it, or what was lost is counted and said; attempts and the job come to no harm."""
    args = ("--operators", 1, "--op-threads", 160, "--step-us", 3000, "--attempts", 500)
    alone = s.unwatched(*args)
    with h.scratch() as d:
        t = s.standin(*args)
        run = h.Run("-p", t.pid, "-o", d + "/out", "--wait", 1, "--warmup", 1, "--active", 4, *map(str, s.ALL), "--exact").wait_attached()
        t.open_gate()
        run.wait(250)
        s.same_result(t.finish(250), alone)
        out = h.Output(d + "/out")
        lost = {cause: n for cause, n in out.profile["loss"].items() if n}
        run.exits(3 if lost else 0)
        h.equal((out.window["state"], out.window["active_attempts"]), ("complete", 4), "window")
        calls = s.Calls(s.active_truth(out, t))
        if lost:
            h.check("lost" in (run.out + run.err).lower(), "the loss is not said: %s" % run.out)
        else:
            s.check_calls(out, calls, exact=True)
        want = calls.counts()
        for name, n in collections.Counter(e["name"] for e in out.events if s.is_call(e)).items():
            h.check(n <= want.get(name, 0), "%s: %d calls, by the target %s" % (name, n, want.get(name, 0)))


def beside_threads_with_ranges():
    own_backward(many(8, "--step-us", 3000, "--threads", 8, "--ranges", 3, exact=True)[1])


def backward_of_each_on_its_own_thread():
    """A thread lives for one backward; its number may be another's in the next attempt."""
    _, out, calls = many(8, "--step-us", 3000, "--backward-thread", exact=True)
    h.check(not threads_of(out, "DoublingBackward") & threads_of(out, "aten::special_erf"), "a node on the thread of its forward")
    h.equal([of for of in makers(out).values() if len(of) > 1], [], "makers of what one thread runs")


h.main(eight, eight_of_every_flavour, a_hundred_and_sixty, a_hundred_and_sixty_by_default,
       a_hundred_and_sixty_as_fast_as_they_can, beside_threads_with_ranges, backward_of_each_on_its_own_thread)
