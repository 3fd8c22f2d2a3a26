"""torch.profiler's own account of a job (targets/common.py, --torch-profiler), and how ours differs from it.

A job whose accounts are compared does the same work in every attempt: the two windows are of the same length, but do not cover
the same attempts. Counts are compared row by row, over all rows of both.
"""
import collections
import json
import os
import re
import subprocess

import forest
import harness as h

WAIT, WARMUP, ACTIVE = 2, 2, 5
WINDOW = ("--wait", WAIT, "--warmup", WARMUP, "--active", ACTIVE)
OUTER = "autograd::engine::evaluate_function: "
# how to run a job: targets/SCRIPT.py ARGS, and what tpbpf needs to see its attempts
JobSpec = collections.namedtuple("JobSpec", "script args options")

RANGE_STEP = ("--step", "range:infer_step")
JOBS = {
    "lesson": JobSpec("lesson", (), ()),
    "two_optimizers": JobSpec("two_optimizers", (), ()),
    "accumulate": JobSpec("accumulate", (), ()),
    "scaler": JobSpec("scaler", (), ()),
    "thread_loop": JobSpec("thread_loop", (), ()),
    "ranges": JobSpec("ranges", (), ()),
    "cnn": JobSpec("cnn", (), ()),
    "cnn_foreach": JobSpec("cnn", ("--foreach",), ()),
    "transformer": JobSpec("transformer", (), ()),
    "embedding": JobSpec("embedding", (), ()),
    "embedding_sgd": JobSpec("embedding", ("--optimizer", "sgd"), ()),
    "custom_function": JobSpec("custom_function", (), ()),
    "boxed": JobSpec("boxed", (), ()),
    "no_grad": JobSpec("inference", ("--mode", "no_grad"), RANGE_STEP),
    "inference_mode": JobSpec("inference", ("--mode", "inference_mode"), RANGE_STEP),
    "inference_by_operator": JobSpec("inference", (), ("--step", "op:argmax")),
    "retry": JobSpec("retry", (), ()),
}


# ---- torch.profiler's -------------------------------------------------------------------------------------------------


def kineto_events(path):
    """None: a build without Kineto, or a trace that its writer broke (a quote in a name)."""
    with open(path) as f:
        try:
            trace = json.load(f)
        except ValueError:
            return None
    return trace["traceEvents"] if isinstance(trace, dict) else None


class Truth:
    """The rows stand for torch.profiler's own tree: equal to key_averages(), which before 2.5 rounds times to microseconds and then
    finds parents and owners of memory by them."""

    def __init__(self, path):
        with open(path) as f:
            data = json.load(f)
        self.key_averages = data["rows"]
        self.by_overload = data["by_overload"]
        self.shapes = {int(k): v for k, v in data["shapes"].items()}
        self.events = kineto_events(path + ".trace")
        self.raw_counts = collections.Counter()
        self.nodes, stack, roots = [], [], []
        for depth, name, start, end, tid, sequence, size, is_backward, ident in data["tree"]:
            n = forest.Node(name, start, end, tid, sequence=sequence, size=size, is_backward=is_backward, id=ident)
            del stack[depth:]
            if stack:
                n.parent = stack[-1]
                stack[-1].children.append(n)
            else:
                roots.append(n)
            stack.append(n)
            self.nodes.append(n)
        self.raw_counts.update(n.name for n in self.nodes if n.is_call and n.name not in forest.HIDDEN)
        self.memory = [n for n in self.nodes if n.name == "[memory]"]
        self.out_of_memory = [n for n in self.nodes if n.name == "[OutOfMemory]"]
        self.pairs = self.pairs_by_sequence()
        self.roots = forest.hide(roots)
        self.rows = self.rows_by(lambda n: n.name)
        self.counts = {n: r.count for n, r in self.rows.items()}

    def rows_by(self, key):
        return forest.rows_of(self.roots, key)

    def pairs_by_sequence(self):
        """Forward call and backward node of one sequence number, as Kineto draws its arrows: (names) -> how often."""
        forward, pairs = {}, collections.Counter()
        for n in sorted((n for n in self.nodes if n.sequence >= 0), key=lambda n: n.start):
            if n.is_backward:
                if n.sequence in forward:
                    pairs[forward.pop(n.sequence), n.name] += 1
            elif not n.name.startswith(OUTER):
                forward[n.sequence] = n.name
        return pairs


def arrows(events):
    """Names at both ends of each fwdbwd arrow, bound by thread and time: (names) -> how often."""
    at = collections.defaultdict(list)
    for e in events:
        if e["ph"] == "X":
            at[e["pid"], e["tid"], e["ts"]].append(e)
    begin = {e["id"]: e for e in events if e["ph"] == "s" and e["cat"] == "fwdbwd"}
    pairs = collections.Counter()
    for e in events:
        if e["ph"] == "f" and e["cat"] == "fwdbwd":
            a, b = (at.get((x["pid"], x["tid"], x["ts"])) for x in (begin[e["id"]], e))
            h.check(a and b, "an arrow is bound to no event: %r %r" % (begin[e["id"]], e))
            # of those that start at one moment the innermost
            name = lambda found: min(found, key=lambda x: x["dur"])["name"]
            pairs[name(a), name(b).replace(OUTER, "")] += 1
    return pairs


def profiled(python, job, directory, *more, wait=WAIT, active=ACTIVE, seconds=180):
    """Runs the job under torch.profiler alone through wait, warmup and active attempts; the path of its rows, the trace beside."""
    path = os.path.join(directory, "truth.json")
    argv = [python.path, os.path.join(h.TARGETS, job.script + ".py"), "--quiet", "--torch-profiler", path, "--schedule",
            "%d,%d,%d" % (wait, WARMUP, active), *map(str, job.args), *map(str, more)]
    run = subprocess.run(argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=seconds,
                         env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1", "OMP_NUM_THREADS": "1"})
    for line in run.stdout.splitlines():
        if line.startswith('{"skip"'):
            h.skip(json.loads(line)["skip"])
    h.equal(run.returncode, 0, "exit code of the job under torch.profiler: %s" % run.stderr[-2000:])
    return path


def truth(*args, **kw):
    return Truth(profiled(*args, **kw))


# ---- ours ------------------------------------------------------------------------------------------------------------


def is_step(name):
    return name.startswith("ProfilerStep")


def our_rows(output):
    """The rows of profile.json by name; the steps, which are tpbpf's own, left out."""
    return {r["name"]: r for r in output.rows if not is_step(r["name"])}


def our_counts(output):
    counts = collections.Counter()
    for r in output.rows:
        if not is_step(r["name"]):
            counts[r["name"]] += r["count"]
    return dict(counts)


def our_raw_counts(output):
    return {n: c for n, c in output.counts().items() if not is_step(n)}


def differences(ours, theirs, ignore=()):
    """One line for each name whose count is not the same in both; ignore: patterns of names that only one of them can have."""
    lines = []
    for name in sorted(set(ours) | set(theirs)):
        a, b = ours.get(name, 0), theirs.get(name, 0)
        if a != b and not any(re.fullmatch(p, name) for p in ignore):
            lines.append("%s: %d, by torch.profiler %d" % (name, a, b))
    return lines


def check_same(ours, theirs, what, ignore=()):
    lines = differences(ours, theirs, ignore)
    h.check(not lines, "%s: %d of %d rows differ:\n  %s" % (what, len(lines), len(set(ours) | set(theirs)), "\n  ".join(lines)))


# Whatever it costs: on a small step and a slow machine, what is predicted to double it would be given up
ROOM = ("--max-overhead", "1000%")
MEMORY = ("--activities", "ranges,operators,autograd,memory")


def capture(python, job, directory, *options, window=WINDOW, bound=ROOM, **kw):
    """A capture of the job from its first attempt on: the output, and the target, which has ended."""
    t = h.torch_target(python, job.script, *job.args)
    out = h.capture(t, directory + "/out", *window, *job.options, *bound, *options, **kw)
    h.check_unmodified(t.pid)
    t.done = t.stop()
    h.check_output(out)
    return out, t
