"""The stand-in target: start it, run it unwatched, and compare a capture with its own counts."""
import collections
import contextlib
import functools
import json
import os
import shutil

import forest
import harness as h
import torch_truth

FLAVOURS = ("standin", "standin-stripped", "standin-2.4", "standin-1.13")
STEP = "Optimizer.step#SGD.step"


@functools.lru_cache(maxsize=None)
def built():
    if "TPBPF_TEST_BUILT" not in os.environ and not (shutil.which("make") and shutil.which("g++")):
        h.skip("the stand-in target needs make and g++ (tools/setup.sh)")
    h.make("standin")
    return h.BUILD


def program(flavour="standin"):
    return os.path.join(built(), flavour, "standin")


def standin(*args, flavour="standin", path=None, **kw):
    return h.Target([path or program(flavour), *map(str, args)], **kw)


def unwatched(*args, flavour="standin"):
    """What the same command line does when nobody looks."""
    return standin(*args, flavour=flavour, gate=False, wait=False).finish(300)


def same_result(watched, alone):
    for key in alone:
        h.equal(watched[key], alone[key], "the target's %s, watched and unwatched" % key)


def begun(rows):
    total = collections.Counter()
    for row in rows:
        total.update(row["begun"])
    return dict(total)


def active_truth(out, target, first=0):
    """The target's rows of the active attempts."""
    rows = h.match_attempts(out, target, first)
    return [row for row, step in zip(rows, out.steps) if step.phase == "active"]


def without_steps(counts):
    return {name: n for name, n in counts.items() if not name.startswith("ProfilerStep")}


def is_call(event):
    """An operator, a node or a function; compiled regions are of their category too."""
    return event["cat"] == "cpu_op" and not event["name"].startswith("Torch-Compiled Region")


def operator_rows(out):
    return out.profile["operators"]["rows"] if "operators" in out.profile else []


def count_rows(rows):
    counts = collections.Counter()
    for r in rows:
        counts[r["name"]] += r["count"]
    return dict(counts)


def check_counts(out, truth):
    """Every range that began in the window is in the trace, the table and the regions; nothing else is but calls."""
    want = begun(truth)
    ranges = collections.Counter(e["name"] for e in out.events if not is_call(e))
    h.equal(without_steps(ranges), want, "ranges in the trace")
    # only children of their parent's name, which torch.profiler's tables do not count apart
    for row in truth:
        for name, n in row["merged"].items():
            want[name] -= n
    h.equal(without_steps(count_rows(out.profile["regions"])), want, "regions")
    operators = {h.shown(r["name"]) for r in operator_rows(out)}
    listed = {name: n for name, n in h.calls(out).items() if name not in operators}
    h.equal(without_steps(listed), {h.shown(name): n for name, n in want.items()}, "calls in cpu_ops.txt")
    h.equal(h.calls(out).get("ProfilerStep*"), len(truth), "calls of ProfilerStep*")


# ---- operators -------------------------------------------------------------------------------------------------------

# what Python calls by local symbols: nobody can see it in a library without .symtab
LOCAL = {"standin-stripped": {"Doubling", "mylib::scale"}}
CALLS_PLAN = ("--wait", 2, "--warmup", 4, "--active", 5)
ALL = ("--activities", "ranges,operators,autograd,memory", "--max-overhead", 10000)  # nothing is given up, whatever it costs
CALLS, MERGED, UNWOUND, OUT_OF_MEMORY = range(4)
OUTER = "autograd::engine::evaluate_function: "
NODELESS = "torch::autograd::AccumulateGrad"  # takes no sequence number


def row_name(name):
    """The row of an overload: aten::add_.Tensor is in that of aten::add_."""
    return name.split(".")[0] if name.startswith("aten::") else name


class Calls:
    """What the target says that it did in these attempts, under the names of the rows."""

    def __init__(self, truth, flavour="standin"):
        self.attempts = {row["attempt"] for row in truth}
        self.hidden = LOCAL.get(flavour, set())
        self.numbers = collections.defaultdict(lambda: [0, 0, 0, 0])
        self.overloads, self.nodes = collections.Counter(), collections.Counter()
        self.pairs, self.edges = collections.Counter(), collections.Counter()
        self.bytes = collections.defaultdict(lambda: {0: [0, 0], 1: [0, 0]})  # name -> device -> [self, total]
        self.memory = {0: [0, 0, 0], 1: [0, 0, 0]}  # device -> [events, bytes, frees of older blocks]
        for row in truth:
            self.add(row)

    def add(self, row):
        for part in ("operators", "nodes", "functions"):
            for name, numbers in row[part].items():
                if name in self.hidden:
                    continue
                total = self.numbers[row_name(name)]
                for i, n in enumerate(numbers):
                    total[i] += n
                if part == "operators":
                    self.overloads[name] += numbers[CALLS] - numbers[MERGED]
                if part == "nodes" and not name.startswith(OUTER):
                    self.nodes[name] += numbers[CALLS]
        for counts, key in ((self.pairs, "pairs"), (self.edges, "edges")):
            for a, b, n in row[key]:
                if a not in self.hidden and b not in self.hidden:
                    counts[row_name(a), row_name(b)] += n
        for name, device, block_from, _, own, total in row["bytes"]:
            if name not in self.hidden and (block_from < 0 or block_from in self.attempts):
                self.bytes[row_name(name)][device][0] += own
                self.bytes[row_name(name)][device][1] += total
        for device, block_from, events, size in row["memory"]:
            if block_from < 0 or block_from in self.attempts:
                self.memory[device][0] += events
                self.memory[device][1] += size
            else:
                self.memory[device][2] += events

    def counts(self):
        return {name: n[CALLS] for name, n in self.numbers.items() if n[CALLS]}

    def table(self):
        return {name: n[CALLS] - n[MERGED] for name, n in self.numbers.items() if n[CALLS] > n[MERGED]}

    def unwound(self):
        return {name: n[UNWOUND] for name, n in self.numbers.items() if n[UNWOUND]}

    def out_of_memory(self):
        return sum(n[OUT_OF_MEMORY] for n in self.numbers.values())

    def unlinked(self):
        return sum(n for name, n in self.nodes.items() if name != NODELESS) - sum(self.pairs.values())


def watched_calls(*args, flavour="standin", options=(), plan=CALLS_PLAN, exact=False, nesting=True, memory=True, **kw):
    """One capture of a target that calls operators, compared with its own account."""
    h.need_bulk()
    more = (*ALL, *options, "--exact") if exact else (*ALL, *options)
    t, out, _ = watched_in_full("--operators", 1, *args, flavour=flavour, plan=plan, options=more, **kw)
    truth = active_truth(out, t)
    h.equal(len(truth), plan[plan.index("--active") + 1], "active attempts")
    calls = Calls(truth, flavour)
    check_counts(out, truth)
    check_calls(out, calls, exact=exact, nesting=nesting)
    check_pairs(out, calls)
    if memory:
        check_bytes(out, calls)
    return t, out, calls


def watched_both_ways(*args, **kw):
    """As it is by default, and with every end probed."""
    for exact in (False, True):
        watched_calls(*args, exact=exact, **kw)


def same_counts(got, want, what):
    odd = ["%s: %s, by the target %s" % (k, got.get(k, 0), want.get(k, 0)) for k in sorted(set(got) | set(want), key=str)
           if got.get(k, 0) != want.get(k, 0)]
    h.check(not odd, "%s: %d of %d differ:\n  %s" % (what, len(odd), len(set(got) | set(want)), "\n  ".join(odd)))


def edges(events):
    """Who called whom, by time: (caller, called) -> how often."""
    found = collections.Counter()
    by_thread = collections.defaultdict(list)
    for e in events:
        by_thread[e["tid"]].append(e)
    for mine in by_thread.values():
        for root in forest.grow(mine, lambda e: e["ts"], h.end):
            for n in root.walk():
                found.update((n.name, c.name) for c in n.children)
    return found


def check_calls(out, calls, exact=False, nesting=True):
    """Every operator, node and function that began in the window is in the trace and the tables, once, below what called it."""
    events = [e for e in out.events if is_call(e)]
    same_counts(collections.Counter(e["name"] for e in events), calls.counts(), "calls in the trace")
    same_counts(count_rows(operator_rows(out)), calls.table(), "calls in profile.json")
    listed, shown = collections.Counter(), collections.Counter()  # long names are cut, and some are equal then
    for r in out.table_rows:
        listed[r["Name"]] += int(r["# of Calls"])
    for name, n in calls.table().items():
        shown[h.shown(name)] += n
    same_counts({name: listed[name] for name in shown}, shown, "calls in cpu_ops.txt")
    if nesting:
        same_counts(edges(events), calls.edges, "who called whom")
    if exact:
        inferred = {r["name"]: r["inferred"] for r in operator_rows(out) if r["inferred"] and r["name"] not in LOCAL["standin-stripped"]}
        h.equal(inferred, {}, "inferred ends with --exact")
        unwound = {r["name"]: r["unwound"] for r in operator_rows(out) if r["kind"] == "operator"}
        same_counts(unwound, {name: n for name, n in calls.unwound().items() if name.startswith("aten::")}, "unwound calls with --exact")
        unfinished = {r["name"]: r["unfinished"] for r in operator_rows(out) if r["unfinished"]}
        h.equal(unfinished, {}, "unfinished calls with --exact")


def check_pairs(out, calls):
    """The arrows lead from each forward call to its node, and there are no others, whatever threads take the same numbers at once."""
    same_counts(torch_truth.arrows(out.trace["traceEvents"]), calls.pairs, "arrows")
    h.equal(out.profile["autograd"], {"flows": sum(calls.pairs.values()), "unlinked_nodes": calls.unlinked()}, "autograd in profile.json")


def nodes_as_one(rows):
    """A node's two rows together: where its own work ends and the engine's goes on is not probed (see 42_memory.py)."""
    folded = {}
    for name, of in rows.items():
        if OUTER + name in rows:
            continue
        inner = rows.get(name[len(OUTER) :]) if name.startswith(OUTER) else None
        folded[name] = {device: [own + (inner[device][0] if inner else 0), total] for device, (own, total) in of.items()}
    return folded


def check_bytes(out, calls):
    """Net bytes of every row, on both devices, and every event with its size."""
    rows = {}
    for r in operator_rows(out):
        of = rows.setdefault(r["name"], {0: [0, 0], 1: [0, 0]})
        for device, own, total in ((0, "self_cpu_bytes", "cpu_bytes"), (1, "self_device_bytes", "device_bytes")):
            of[device][0] += r[own]
            of[device][1] += r[total]
    rows, truth = nodes_as_one(rows), nodes_as_one({name: calls.bytes[name] for name in rows})
    odd = ["%s: %s, by the target %s" % (name, rows[name], truth[name]) for name in sorted(rows) if rows[name] != truth[name]]
    h.check(not odd, "[self, total] bytes by device: %d of %d rows differ:\n  %s" % (len(odd), len(rows), "\n  ".join(odd)))
    check_memory_events(out, calls)


def check_memory_events(out, calls):
    blocks = [e["args"] for e in out.memory if e["name"] == "[memory]"]
    for device in (0, 1):
        mine = [a["Bytes"] for a in blocks if a["Device Type"] == device]
        h.equal([len(mine), sum(mine)], calls.memory[device][:2], "events and bytes of device %d" % device)
        h.check(0 not in mine, "an allocation of 0 bytes is shown")
    said = out.profile["memory"]
    h.equal(said["events"], len(out.memory), "memory.events")
    h.equal(said["old_frees"], calls.memory[0][2], "frees of blocks from before the window")
    h.equal((said["net_cpu_bytes"], said["net_device_bytes"]), (calls.memory[0][1], calls.memory[1][1]), "net bytes")
    h.equal(len([e for e in out.memory if e["name"] == "[OutOfMemory]"]), calls.out_of_memory(), "[OutOfMemory] events")
    h.equal(said["out_of_memory"], calls.out_of_memory(), "memory.out_of_memory")


def check_outcomes(out, rows):
    """As the target counts them, or `unknown` where rows is None."""
    got = [s.outcome for s in out.steps]
    h.equal(got, [r["outcome"] for r in rows] if rows is not None else ["unknown"] * len(got), "outcomes")


def watched_in_full(*args, plan=("--wait", 2, "--warmup", 2, "--active", 5), flavour="standin", options=(), seconds=120, attempts=0,
                    lossless=True, code=0):
    """One target, one complete capture from its first attempt on. Returns both and the target's last word."""
    with h.scratch() as d:
        t = standin(*args, "--attempts", attempts, flavour=flavour)
        out = h.capture(t, d + "/out", *plan, *options, seconds=seconds, code=code)
        h.check(attempts or t.alive(), "the target ended: %s" % t.errors())
        try:
            h.check_unmodified(t.pid)
        except (h.Failure, OSError):
            # One with a number of attempts may be through with them; one that ends has no memory before it has ended.
            if t.alive() and h.libraries_mapped(t.pid, "/"):
                raise
        done = t.finish(seconds) if attempts else t.stop(seconds)
        h.check_output(out, lossless=lossless)
        return t, out, done


@contextlib.contextmanager
def capturing(target, *args, gate=True):
    """A capture under way, and its output directory."""
    with h.scratch() as d:
        run = h.Run("-p", target.pid, "-v", "-o", d + "/out", *args)
        run.wait_attached()
        if gate:
            target.open_gate()
        yield run, d + "/out"


def no_control_bytes(data, what, allowed=b"\n"):
    """Neither in ASCII nor, as UTF-8, in C1; and no character that turns the direction of what follows."""
    bad = sorted({c for c in data if c < 0x20 and bytes([c]) not in allowed or c == 0x7F})
    h.check(not bad, "%s holds control bytes %s" % (what, bad))
    text = data.decode("utf-8")  # strict
    bad = sorted({c for c in text if 0x80 <= ord(c) < 0xA0 or c in "\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\u2028\u2029"})
    h.check(not bad, "%s holds %r" % (what, bad))


def strict_json(data):
    """JSON as its grammar has it: UTF-8, no raw control characters, no key twice, no NaN."""

    def pairs(items):
        h.check(len({k for k, _ in items}) == len(items), "a key twice in %r" % [k for k, _ in items])
        return dict(items)

    def constant(name):
        raise h.Failure("%s is not JSON" % name)

    return json.loads(data.decode("utf-8"), object_pairs_hook=pairs, parse_constant=constant, strict=True)
