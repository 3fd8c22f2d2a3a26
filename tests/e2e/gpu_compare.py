"""Two accounts of what a GPU did for a job, each the events of a trace in Kineto's form: ours and torch.profiler's. Nothing here
needs a GPU or a job; 75_real_gpu.py shows on changed traces that each kind of difference is found.

A job whose accounts are compared does the same work in every attempt and marks each attempt by a range: the two windows are of
the same length, but do not cover the same attempts. What belongs to an attempt is told by the call that asked for it, whenever the
device came to it. Numbers that differ from one run to another (correlation ids, External ids, times, the numbers of streams) are
never compared themselves, but what they tie together is.
"""
import collections
import re

WORK = {"kernel": "kernel", "gpu_memcpy": "copy", "gpu_memset": "set"}
CALLS = ("cuda_runtime", "cuda_driver")
# Calls that a job makes as often as it is told to. Others come as an allocator or a library wants them (cudaEventQuery,
# cudaStreamIsCapturing, cudaFuncGetAttributes): they are told apart, see uncompared_calls().
COMPARED = (r"cudaLaunchKernel(ExC)?|cudaMemcpyAsync|cudaMemsetAsync|cudaStreamSynchronize|cudaDeviceSynchronize|cudaStreamWaitEvent|"
            r"cuLaunchKernel(Ex)?")
# How far the sums of what kernels took may be apart: clocks of a GPU change from run to run
DURATION_FACTOR = 2

Work = collections.namedtuple("Work", "kind name stream operator detail microseconds")
Call = collections.namedtuple("Call", "name operator")
Attempt = collections.namedtuple("Attempt", "work calls")


def plain(name):
    """As Kineto names calls, whose versions are cut off in some of its releases only."""
    return re.sub(r"_v\d+$", "", name)


def detail(event):
    """What was asked for: sizes, which an equal number of other kernels or copies would not have."""
    args = event["args"]
    if event["cat"] == "kernel":
        return "grid %s block %s" % (list(map(int, args["grid"])), list(map(int, args["block"])))
    return "%d bytes" % int(args["bytes"])


def ranks_of_streams(events):
    """Streams of one device are numbered as they are made; which number the first one gets is the driver's choice."""
    found = sorted({(e["args"]["device"], e["args"]["stream"]) for e in events})
    return {stream: "device %d stream #%d" % (stream[0], [s for s in found if s[0] == stream[0]].index(stream)) for stream in found}


class Account:
    """The attempts of a trace, in order. is_mark: which annotation of the host goes round each of them."""

    def __init__(self, events, is_mark):
        events = [e for e in events if e.get("ph") == "X"]
        marks = sorted((e for e in events if e["cat"] == "user_annotation" and is_mark(e["name"])), key=lambda e: e["ts"])
        operators = {e["args"]["External id"]: e["name"] for e in events if e["cat"] == "cpu_op" and "External id" in e.get("args", {})}
        tied = lambda e: operators.get(e["args"].get("External id"))
        calls = [e for e in events if e["cat"] in CALLS]
        # a call of the driver inside of one of the runtime may have that one's number: the outer one began first
        self.by_correlation = {e["args"]["correlation"]: e for e in sorted(calls, key=lambda e: e["ts"], reverse=True)
                               if "correlation" in e["args"]}
        work = [e for e in events if e["cat"] in WORK]
        streams = ranks_of_streams(work)
        self.attempts = [Attempt([], []) for _ in marks]
        self.orphans = [e for e in work if e["args"].get("correlation") not in self.by_correlation]
        for e in calls:
            for attempt in self.around(marks, e):
                attempt.calls.append(Call(plain(e["name"]), tied(e)))
        for e in work:
            call = self.by_correlation.get(e["args"].get("correlation"))
            for attempt in self.around(marks, call) if call else []:
                attempt.work.append(Work(WORK[e["cat"]], e["name"], streams[e["args"]["device"], e["args"]["stream"]], tied(e), detail(e),
                                         float(e["dur"])))

    def around(self, marks, call):
        return [a for a, mark in zip(self.attempts, marks) if mark["ts"] <= call["ts"] < mark["ts"] + mark["dur"]]

    def microseconds(self, kind):
        return sum(w.microseconds for a in self.attempts for w in a.work if w.kind == kind)


def counts(rows, what):
    return collections.Counter(what(r) for r in rows)


def lines_of(where, ours, theirs):
    """One line for each key whose count is not the same in both."""
    return ["%s: %s: %d, by torch.profiler %d" % (where, key, ours[key], theirs[key]) for key in sorted(set(ours) | set(theirs))
            if ours[key] != theirs[key]]


# What of each piece of work must be the same, each by itself, so that a difference is named as what it is
ASPECTS = {
    "name": lambda w: "%s %s" % (w.kind, w.name),
    "size": lambda w: "%s %s, %s" % (w.kind, w.name, w.detail),
    "stream": lambda w: "%s %s on %s" % (w.kind, w.name, w.stream),
    "operator": lambda w: "%s %s of %s" % (w.kind, w.name, w.operator),
}


def is_compared(call):
    return re.fullmatch(COMPARED, call.name) is not None


def work_differences(ours, theirs):
    lines = []
    for i, (a, b) in enumerate(zip(ours.attempts, theirs.attempts)):
        named = lines_of("attempt %d" % i, counts(a.work, ASPECTS["name"]), counts(b.work, ASPECTS["name"]))
        lines += named
        # where the names differ the rest does so as well
        for aspect in () if named else ("size", "stream", "operator"):
            lines += lines_of("attempt %d, %s" % (i, aspect), counts(a.work, ASPECTS[aspect]), counts(b.work, ASPECTS[aspect]))
    return lines


def call_differences(ours, theirs, is_wanted=is_compared, what=lambda c: c.name):
    lines = []
    for i, (a, b) in enumerate(zip(ours.attempts, theirs.attempts)):
        lines += lines_of("attempt %d, calls" % i, counts(filter(is_wanted, a.calls), what), counts(filter(is_wanted, b.calls), what))
    return lines


def duration_differences(ours, theirs, factor=DURATION_FACTOR):
    lines = []
    for kind in WORK.values():
        a, b = ours.microseconds(kind), theirs.microseconds(kind)
        # a few copies of a microsecond have no steady sum
        if kind == "kernel" and not b / factor <= a <= b * factor:
            lines.append("%s: %.1f us in all, by torch.profiler %.1f us" % (kind, a, b))
    return lines


def attempt_differences(ours, theirs):
    if len(ours.attempts) == len(theirs.attempts):
        return []
    return ["%d attempts, by torch.profiler %d" % (len(ours.attempts), len(theirs.attempts))]


def differences(ours, theirs):
    """All that must be the same where the agent recorded: one line for each difference."""
    lines = attempt_differences(ours, theirs) + work_differences(ours, theirs) + call_differences(ours, theirs)
    lines += ["work of no call: %s" % e["name"] for e in ours.orphans]
    return lines + duration_differences(ours, theirs)


def of_operators(but):
    """Compared calls inside of operators, less some: those that a library makes which has a runtime of its own."""
    return lambda call: is_compared(call) and call.operator is not None and not re.fullmatch(but, call.operator)


def probed_differences(ours, theirs, but):
    """Where calls were seen by probes alone: the calls of each operator, but for operators that match."""
    what = lambda c: "%s of %s" % (c.name, c.operator)
    return attempt_differences(ours, theirs) + call_differences(ours, theirs, of_operators(but), what)


def uncompared_calls(ours, theirs):
    """Calls that both may make as they like: {name: (ours, theirs)} where the sums differ."""
    sums = [counts((c for a in account.attempts for c in a.calls if not is_compared(c)), lambda c: c.name) for account in (ours, theirs)]
    return {n: (sums[0][n], sums[1][n]) for n in sorted(set(sums[0]) | set(sums[1])) if sums[0][n] != sums[1][n]}
