#!/usr/bin/env python3
"""Eight threads that call operators at once: each of their calls is there, on its own thread."""
import collections

import harness as h
import torch_truth as truth

THREADS, ROUNDS = 8, 20
JOB = truth.JobSpec("op_threads", ("--threads", THREADS, "--rounds", ROUNDS), ())
# A collector that is as slow as under valgrind falls behind eight threads while it attaches.
RINGS = ("--ring-size", "128M") if h.SLOW > 1 else ()
ALONE = truth.JobSpec("op_threads", ("--threads", 0, "--rounds", ROUNDS), ())


def one_piece(python, directory):
    """What torch.profiler sees in one piece of a thread's work, done by the main thread."""
    found = truth.truth(python, ALONE, directory)
    inside = collections.Counter()
    for root in found.roots:
        for work in (n for n in root.walk() if n.name == "thread_work"):
            inside.update(n.name for n in work.walk() if n is not work and n.is_call)
    h.check(all(c % truth.ACTIVE == 0 for c in inside.values()), "pieces of work differ: %s" % inside)
    return {n: c // truth.ACTIVE for n, c in inside.items()}


def check_pieces(out, tids, want, lasting):
    """Each piece of work that lies in the window as a whole has all its calls inside."""
    end_ns = h.windows(out)[-1][1]
    by_thread = collections.defaultdict(list)
    for e in out.events:
        by_thread[e["tid"]].append(e)
    for tid in tids:
        pieces = [e for e in by_thread[tid] if e["name"] == "thread_work" and h.monotonic_ns(out, h.end(e)) < end_ns]
        h.check(lasting(len(pieces)), "%d pieces of work of thread %d" % (len(pieces), tid))
        for piece in pieces:
            got = collections.Counter(e["name"] for e in by_thread[tid] if e is not piece and h.contains(piece, e))
            truth.check_same(got, want, "calls inside %r" % piece)


def in_step(python):
    """And the main thread as torch.profiler has it, who sees that thread alone."""
    with h.scratch() as d:
        piece = one_piece(python, d)
        want = truth.truth(python, JOB, d).raw_counts
    for options in ((), ("--exact",)):
        with h.scratch() as d:
            out, t = truth.capture(python, JOB, d, *RINGS, *options)
            check_pieces(out, t.facts["tids"], piece, lambda n: n == truth.ACTIVE)
            main = collections.Counter(e["name"] for e in out.events if e["tid"] == t.facts["train_tid"] and not truth.is_step(e["name"]))
            truth.check_same(main, want, "events of the main thread %s" % (options,))


def as_torch_profiler_counts_all_threads(python):
    with h.scratch() as d:
        want = truth.truth(python, JOB, d, "--all-threads")
        out, _ = truth.capture(python, JOB, d, *RINGS)
        truth.check_same(truth.our_counts(out), want.counts, "calls of all threads")


def as_fast_as_they_can(python):
    """The threads do not wait for the main one."""
    with h.scratch() as d:
        piece = one_piece(python, d)
        t = h.torch_target(python, "op_threads", "--threads", THREADS, "--rounds", ROUNDS, "--free", "--pace-ms", 20)
        out = h.capture(t, d + "/out", *truth.WINDOW, *RINGS)
        h.check_unmodified(t.pid)
        done = t.stop()
        h.check(all(done["made"]), "a thread did nothing: %s" % done["made"])
        h.check_output(out)
        check_pieces(out, t.facts["tids"], piece, lambda n: n > 0)


h.main(in_step, as_torch_profiler_counts_all_threads, as_fast_as_they_can, torch=True)
