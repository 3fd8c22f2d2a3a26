"""Runs targets and tpbpf, reads what tpbpf wrote, and checks what is true of every capture.

A test file holds functions and ends in `harness.main(f, g, ..., torch=True)`. Each function gets an interpreter (torch=True)
or nothing. A file exits 0 (passed), 1 (failed) or 77 (every case was skipped); a skipped case prints `skip: CASE: REASON`;
a line `note: ...` is shown also where all went well.
    FILE --variants            the variants of the test, one a line (run.sh asks)
    FILE [--variant LABEL] [CASE...]
    TPBPF_TEST_SANITIZED       set where tpbpf is built with ASan, or runs under valgrind
    TPBPF_TEST_SLOW            how many times as slow as a machine of today this one is (1): all patience is multiplied
    TPBPF_TEST_BUILT           set: all that a test needs is built, and there is no make here
    TPBPF_TEST_LEAVE_OUT       cases that are not run, one a line: FILE/CASE REASON
"""
import argparse
import bisect
import collections
import contextlib
import csv
import decimal
import fcntl
import functools
import gzip
import itertools
import json
import numbers
import os
import platform
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import traceback

import forest

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
BUILD = os.path.join(ROOT, "build")
TPBPF = os.environ.get("TPBPF", os.path.join(BUILD, "tpbpf"))
TARGETS = os.path.join(HERE, "targets")
EXIT_SKIP = 77
USER = 60  # seconds: how long anything that should take moments may take on a busy machine
SLOW = float(os.environ.get("TPBPF_TEST_SLOW", 1))

Interpreter = collections.namedtuple("Interpreter", "label path version")
Step = collections.namedtuple("Step", "attempt phase start_ns duration_ns outcome")


class Failure(AssertionError):
    pass


class Skip(Exception):
    pass


def skip(reason):
    raise Skip(reason)


def check(condition, message):
    if not condition:
        raise Failure(message)


def equal(got, want, what):
    if got != want:
        raise Failure("%s: got %r, want %r" % (what, got, want))


def patience(seconds=USER):
    """How long a machine as slow as this one may take for what takes another that long."""
    return seconds * SLOW


def until(condition, what, seconds=USER, pause=0.02):
    """The first true value of condition(), or a failure that names what never came."""
    seconds = patience(seconds)
    end = time.monotonic() + seconds
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > end:
            raise Failure("not within %d s: %s" % (seconds, what))
        time.sleep(pause)


# ---- interpreters ----------------------------------------------------------------------------------------------------


def interpreters():
    """Every PyTorch at hand, one interpreter for each version of it. run.sh finds them once and hands them on."""
    known = os.environ.get("TPBPF_TEST_INTERPRETERS")
    if known is not None:
        return [Interpreter(*line.split("\t")) for line in known.split("\n") if line]
    paths = os.environ.get("TPBPF_TEST_PYTHONS", "").split(":")
    with contextlib.suppress(OSError):
        with open(os.path.join(BUILD, "python")) as f:
            paths.insert(0, f.read().strip())
    paths += [os.path.join(BUILD, "venv", "bin", "python"), "/usr/bin/python3"]
    probe = "import sys, torch; print(torch.__version__, '%d.%d' % sys.version_info[:2])"
    found = {}
    for path in paths:
        if not path or not os.access(path, os.X_OK):
            continue
        try:
            out = subprocess.run([path, "-c", probe], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, timeout=patience(120), text=True)
        except (OSError, subprocess.TimeoutExpired):
            continue
        words = out.stdout.split()
        if out.returncode == 0 and len(words) == 2:
            found.setdefault(words[0], Interpreter("torch-%s" % words[0], path, words[0]))
    return list(found.values())


def torch_python():
    found = interpreters()
    return found[0] if found else skip("no PyTorch in this run (tools/setup.sh provides one)")


def version(interpreter):
    return tuple(int(x) for x in re.match(r"(\d+)\.(\d+)", interpreter.version).groups())


# ---- targets ---------------------------------------------------------------------------------------------------------


class Target:
    """A job under watch. Its standard output is a file of JSON lines and a line 'ready PID'; see targets/common.py."""

    live = []

    def __init__(self, argv, cwd=None, env=None, gate=True, user=None, wait=True, wrap=None):
        self.dir = tempfile.mkdtemp(prefix="tpbpf-target-")
        os.chmod(self.dir, 0o755)
        self.out_path = os.path.join(self.dir, "out")
        self.err_path = os.path.join(self.dir, "err")
        self.gate = os.path.join(self.dir, "gate") if gate else None
        argv = list(argv) + (["--gate", self.gate] if gate else [])
        if user is not None:
            argv = ["setpriv", "--reuid=%d" % user, "--regid=%d" % user, "--clear-groups"] + argv
        if wrap:  # what it is started by, and becomes it
            argv = wrap(argv)
        with open(self.out_path, "wb") as out, open(self.err_path, "wb") as err:
            self.process = subprocess.Popen(argv, cwd=cwd, stdin=subprocess.DEVNULL, stdout=out, stderr=err,
                                            env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1", "OMP_NUM_THREADS": "1", **(env or {})})
        self.pid = self.process.pid
        Target.live.append(self)
        if wait:
            self.wait_ready()

    def lines(self):
        with open(self.out_path, errors="replace") as f:
            text = f.read()
        return text[: text.rfind("\n") + 1].splitlines()

    def rows(self):
        return [json.loads(line) for line in self.lines() if line.startswith("{")]

    def errors(self):
        with open(self.err_path, errors="replace") as f:
            return f.read()[-2000:]

    def wait_ready(self, seconds=180):
        def ready():
            has_ended = self.process.poll() is not None  # before its lines are read: a short one may be through already
            if any(line == "ready %d" % self.pid for line in self.lines()):
                return True
            if has_ended:
                for row in self.rows():
                    if "skip" in row:
                        skip(row["skip"])
                raise Failure("the target ended (%s) before it was ready: %s" % (self.process.returncode, self.errors()))
            return False

        until(ready, "the target is ready", seconds, 0.05)
        return self

    @property
    def facts(self):
        return next(row["facts"] for row in self.rows() if "facts" in row)

    def open_gate(self):
        with open(self.gate, "w"):
            pass
        return self

    def wait_attempts(self, n, seconds=USER):
        until(lambda: len(self.attempts()) >= n or self.process.poll() is not None, "%d attempts of the target" % n, seconds)
        return self

    def attempts(self):
        return [row for row in self.rows() if "attempt" in row]

    def alive(self):
        return self.process.poll() is None

    def stop(self, seconds=USER):
        """Asks the job to end after the current attempt; returns its closing line."""
        with contextlib.suppress(ProcessLookupError):
            self.process.send_signal(signal.SIGTERM)
        return self.finish(seconds)

    def finish(self, seconds=USER):
        try:
            code = self.process.wait(patience(seconds))
        except subprocess.TimeoutExpired:
            raise Failure("the target does not end") from None
        check(code == 0, "the target ended with %d: %s" % (code, self.errors()))
        return next((row for row in reversed(self.rows()) if row.get("done")), None)

    def clean(self):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        shutil.rmtree(self.dir, ignore_errors=True)


def torch_target(interpreter, script, *args, **kw):
    """Starts targets/SCRIPT.py; it is ready when this returns, and waits for open_gate() unless gate=False."""
    return Target([interpreter.path, os.path.join(TARGETS, script + ".py"), *map(str, args)], **kw)


# ---- tpbpf -----------------------------------------------------------------------------------------------------------


class Run:
    """One tpbpf process."""

    live = []

    def __init__(self, *args, cwd=None, env=None, prefix=(), stdin=subprocess.DEVNULL, program=None):
        self.argv = [*prefix, program or TPBPF, *map(str, args)]
        base = {k: v for k, v in os.environ.items() if not k.startswith("SUDO_")}
        self.process = subprocess.Popen(self.argv, cwd=cwd, stdin=stdin, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                        env={**base, **(env or {})}, errors="replace", text=True)
        self.pid = self.process.pid
        self.out, self.err = "", ""
        Run.live.append(self)
        self.readers = [threading.Thread(target=self._read, args=a, daemon=True) for a in (("stdout", "out"), ("stderr", "err"))]
        for r in self.readers:
            r.start()

    def _read(self, stream, name):
        for line in getattr(self.process, stream):
            setattr(self, name, getattr(self, name) + line)

    def wait_err(self, text, seconds=USER):
        def seen():
            check(text in self.err or self.process.poll() is None, "tpbpf ended (%s) without %r: %s"
                  % (self.process.returncode, text, self.err))
            return text in self.err

        until(seen, "%r on stderr of tpbpf; it says: %s" % (text, self.err), seconds)
        return self

    def wait_attached(self, seconds=USER):
        return self.wait_err("tpbpf: attached to ", seconds)

    def wait_window(self, seconds=USER):
        return self.wait_err("window probes in place", seconds)

    def signal(self, number):
        self.process.send_signal(number)
        return self

    def running(self):
        return self.process.poll() is None

    def wait(self, seconds=USER):
        try:
            self.process.wait(patience(seconds))
        except subprocess.TimeoutExpired:
            raise Failure("tpbpf does not end: %s\n%s" % (" ".join(self.argv), self.err)) from None
        for r in self.readers:
            r.join(patience(5))
        self.code = self.process.returncode
        return self

    def exits(self, code):
        check(self.code == code, "exit code %s, want %d: %s\nstdout: %s\nstderr: %s"
              % (self.code, code, " ".join(self.argv), self.out[-1500:], self.err[-1500:]))
        return self


def tpbpf(*args, seconds=USER, **kw):
    return Run(*args, **kw).wait(seconds)


def need_capture():
    """Skips where no capture can work."""
    check(os.access(TPBPF, os.X_OK), "%s is not built" % TPBPF)
    if os.geteuid() != 0:
        skip("needs root")
    if platform.system() != "Linux" or platform.machine() != "x86_64":
        skip("needs Linux on x86-64")


def kernel_version():
    return tuple(int(x) for x in re.match(r"(\d+)\.(\d+)", os.uname().release).groups())


def has_bulk():
    return kernel_version() >= (6, 6)


def need_bulk(what="operators need"):
    """Skips where thousands of sites cannot be attached at once. By the kernel's number, not by tpbpf's own word: a tpbpf that
    takes a newer kernel for an older one fails."""
    if not has_bulk():
        skip(what + " uprobe_multi (Linux 6.6)")


def bulk(case):
    """A case of operators."""

    @functools.wraps(case)
    def where_it_can_be(*args):
        need_bulk()
        return case(*args)

    return where_it_can_be


def make(*targets):
    """Builds what is not built yet; a test that is run alone finds what it needs too."""
    if "TPBPF_TEST_BUILT" in os.environ:
        return
    with open(os.path.join(BUILD, ".tests.lock"), "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        done = subprocess.run(["make", "-s", "BUILD=" + os.path.relpath(BUILD, ROOT), *targets], cwd=ROOT, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True)
    check(done.returncode == 0, "make %s: %s" % (" ".join(targets), done.stdout[-2000:]))


def left_out(case):
    """Why this case is not to be run here, or None."""
    name = os.path.basename(sys.argv[0])[: -len(".py")] + "/" + case.__name__
    for line in os.environ.get("TPBPF_TEST_LEAVE_OUT", "").splitlines():
        words = line.split(None, 1)
        if words and words[0] == name:
            return "left out: " + words[1]
    return None


# ---- output ----------------------------------------------------------------------------------------------------------


CUDA_CALLS = ("cuda_runtime", "cuda_driver")
ON_DEVICE = ("kernel", "gpu_memcpy", "gpu_memset", "cuda_sync", "gpu_user_annotation", "overhead")


class Output:
    """The directory of one capture, read."""

    def __init__(self, path):
        self.path = path
        with open(os.path.join(path, "profile.json")) as f:
            self.profile = json.load(f)
        self.window = self.profile["window"]
        with open(os.path.join(path, "steps.csv"), newline="") as f:
            rows = list(csv.reader(f))
        equal(rows[0], ["attempt", "phase", "start_ns", "duration_ns", "outcome"], "header of steps.csv")
        number = lambda s: int(s) if s else None
        self.steps = [Step(int(r[0]), r[1], number(r[2]), number(r[3]), r[4]) for r in rows[1:]]
        self.trace_path = os.path.join(path, "trace.json.gz")
        self.trace = self.trace_text = None
        if os.path.exists(self.trace_path):
            with gzip.open(self.trace_path, "rt") as f:
                self.trace_text = f.read()
            # exact: a float does not hold the nanoseconds of a trace's times
            self.trace = json.loads(self.trace_text, parse_float=decimal.Decimal)
        table = os.path.join(path, "cpu_ops.txt")
        self.table_text = open(table).read() if os.path.exists(table) else None
        self.table_rows = read_table(self.table_text) if self.table_text else []
        self.table = {r["Name"]: r for r in self.table_rows}

    @property
    def events(self):
        """What the job's threads did, less its calls of CUDA and of modules."""
        return [e for e in self.trace["traceEvents"] if e["ph"] == "X" and e["cat"] not in CUDA_CALLS + ON_DEVICE + ("python_function",)]

    @property
    def modules(self):
        return [e for e in self.trace["traceEvents"] if e["ph"] == "X" and e["cat"] == "python_function"]

    @property
    def cuda_calls(self):
        return [e for e in self.trace["traceEvents"] if e["ph"] == "X" and e["cat"] in CUDA_CALLS]

    @property
    def on_device(self):
        return [e for e in self.trace["traceEvents"] if e["ph"] == "X" and e["cat"] in ON_DEVICE]

    @property
    def flows(self):
        return [e for e in self.trace["traceEvents"] if e["ph"] in "sf" and e["cat"] == "fwdbwd"]

    @property
    def memory(self):
        return [e for e in self.trace["traceEvents"] if e["ph"] == "i" and e["name"] in ("[memory]", "[OutOfMemory]")]

    @property
    def rows(self):
        """Of the table: ranges and regions, operators, nodes and functions, calls of CUDA."""
        return self.profile["regions"] + [r for r in self.profile["operators"]["rows"] if r["kind"] not in ("device", "device_annotation")]

    @property
    def device_rows(self):
        return [r for r in self.profile["operators"]["rows"] if r["kind"] in ("device", "device_annotation")]

    def named(self, name):
        return [e for e in self.events if e["name"] == name]

    def counts(self):
        return dict(collections.Counter(e["name"] for e in self.events))

    def region(self, name):
        return next((r for r in self.profile["regions"] if r["name"] == name), None)

    def in_phase(self, phase):
        return [s for s in self.steps if s.phase == phase]

    @property
    def marks(self):
        """The ProfilerStep annotations, in order; check_trace has compared their numbers with steps.csv."""
        return [self.named("ProfilerStep#%d" % s.attempt)[0] for s in self.in_phase("active")]


def read_table(text):
    """Rows of a key_averages() table by name: {column: text}."""
    lines = [line.rstrip() for line in text.splitlines()]
    rules = [i for i, line in enumerate(lines) if re.match(r"^-+(\s+-+)+$", line)]
    check(len(rules) == 3, "cpu_ops.txt has %d separator lines, want 3:\n%s" % (len(rules), text))
        # "Self CUDA Mem" is wider than its column, in torch's tables too
    columns = re.split(r"\s{2,}", lines[rules[0] + 1].strip())
    spans = [m.span() for m in re.finditer(r"-+", lines[rules[0]])]
    equal(len(columns), len(spans), "columns of the header and of the line above it")
    cells = lambda line: [line.ljust(spans[-1][1])[a:b].strip() for a, b in spans]
    rows = [dict(zip(columns, cells(line))) for line in lines[rules[1] + 1 : rules[2]]]
    check(lines[rules[2] + 1].startswith("Self CPU time total: "), "cpu_ops.txt has no total under the table:\n%s" % text)
    return rows


def shown(name):
    """As the tables show it."""
    name = "".join(c if c.isprintable() else "?" for c in name)
    return name if len(name) < 52 else name[:52] + "..."


def calls(output):
    return {name: int(row["# of Calls"]) for name, row in output.table.items()}


def end(event):
    return event["ts"] + event["dur"]


def spans(outer, inner):
    return outer["ts"] <= inner["ts"] and end(inner) <= end(outer)


def contains(outer, inner):
    return (outer["pid"], outer["tid"]) == (inner["pid"], inner["tid"]) and spans(outer, inner)


def finished(event):
    return event.get("args", {}).get("finished", True)


PHASES = ["skip_first", "wait", "warmup", "active", "detach", "after"]


def check_output(output, state="complete", reason="window_finished", lossless=True):
    """What holds for every capture, whatever was captured."""
    p, w = output.profile, output.window
    equal(set(p), {"schema_version", "session_id", "tool", "job", "plan", "window", "timing", "loss", "rings", "activities", "operators", "autograd", "memory",
                   "gpu", "regions", "files"}, "keys of profile.json")
    for part, keys in {
        "tool": "name version command_line",
        "job": "pid namespace_pid host command_line rank local_rank world_size torch_version python_version cuda_version",
        "plan": "skip_first skip_first_wait wait warmup active repeat step_source activities max_overhead timeout_s probe_sites",
        "window": "state stop_reason attempts_seen active_attempts applied_attempts skipped_attempts unknown_attempts started_at ended_at",
        "timing": "wait_median_ns active_median_ns after_median_ns active_ratio predicted_ratio predicted_exact_ratio site_cost_ns modes attach_ns detach_ns",
        "operators": "found without_exit inferred_ends unwound_calls rows",
        "rings": "count ring_bytes lost lost_after lost_in_warmup holes",
        "autograd": "flows unlinked_nodes",
        "gpu": "timing devices calls kernels copies sets waits launches_without_work work_outside_window self_total_ns steps remarks",
        "memory": "events old_frees out_of_memory net_cpu_bytes net_device_bytes",
    }.items():
        missing = set(keys.split()) - set(p[part])
        check(not missing, "profile.json: %s lacks %s" % (part, sorted(missing)))
    equal((w["state"], w["stop_reason"]), (state, reason), "state and stop reason")
    if lossless:
        equal({k: v for k, v in p["loss"].items() if v}, {}, "lost")
    equal(set(p["activities"]), {"ranges", "operators", "autograd", "memory", "shapes", "modules", "gpu"}, "activities")
    for name, a in p["activities"].items():
        check(a["state"] in ("on", "off", "degraded"), "activity %s is %r" % (name, a))

    steps = output.steps
    equal([s.attempt for s in steps], list(range(len(steps))), "attempt numbers in steps.csv")
    equal(w["attempts_seen"], len(steps), "attempts_seen")
    equal(w["active_attempts"], len(output.in_phase("active")), "active_attempts")
    for outcome in ("applied", "skipped", "unknown"):
        equal(w[outcome + "_attempts"], sum(s.outcome == outcome for s in steps), outcome + "_attempts")
    for s in steps:
        check(s.phase in PHASES, "phase %r" % s.phase)
        check(s.outcome in ("applied", "skipped", "unknown"), "outcome %r" % s.outcome)
        check((s.start_ns is None) == (s.duration_ns is None), "attempt %d has only one of start and duration" % s.attempt)
        check(s.start_ns is not None or s.attempt == 0 or changes_over(output, s), "attempt %d has no start" % s.attempt)
    if steps:
        check(steps[0].start_ns is None, "attempt 0 has a start, which nobody saw")
    for a, b in zip(steps[1:], steps[2:]):
        if a.start_ns is None or b.start_ns is None:
            continue
        equal(a.start_ns + a.duration_ns, b.start_ns, "attempt %d ends where %d begins" % (a.attempt, b.attempt))

    listed = {f["name"]: f["size_bytes"] for f in p["files"]}
    present = {os.path.relpath(os.path.join(d, f), output.path) for d, _, fs in os.walk(output.path) for f in fs}
    equal(set(listed) | {"profile.json"}, present | {"profile.json"}, "files listed and there")
    for name, size in listed.items():
        if name != "profile.json":
            equal(size, os.path.getsize(os.path.join(output.path, name)), "size of " + name)
    if state == "no_capture":
        check(present <= {"profile.json", "steps.csv", "capture.raw"}, "files of a capture without a window: %s" % sorted(present))
        return
    check_trace(output)


def changes_over(output, step):
    """In a long wait attempts are told by their begin; of the first such, and the first that is not, no duration is known."""
    told = output.window["attempts_told_by_begin"]
    return told and step.phase in ("skip_first", "wait", "warmup") and sum(s.start_ns is None for s in output.steps[1:]) <= told + 1


def check_trace(output):
    t, pid = output.trace, output.profile["job"]["namespace_pid"]
    links = os.listdir(os.path.join(output.path, "trace"))
    equal(len(links), 1, "files in trace/")
    check(re.match(r"^[^/]+_\d+\.\d+\.pt\.trace\.json\.gz$", links[0]), "name %s in trace/" % links[0])
    check(os.path.samefile(os.path.join(output.path, "trace", links[0]), output.trace_path), "trace/ holds no hard link")
    equal(t["distributedInfo"]["rank"], int(output.profile["job"]["rank"] or 0), "rank in the trace")
    check('"rank": %d' % t["distributedInfo"]["rank"] in output.trace_text, 'HTA looks for `"rank": N` with the blank')
    check(t["traceEvents"][-1]["name"] == "Record Window End", "the last event is %r" % t["traceEvents"][-1]["name"])
    by_thread, with_modules = collections.defaultdict(list), collections.defaultdict(list)
    for e in output.events + output.modules:
        for key, kind in {"cat": str, "name": str, "pid": int, "tid": int, "ts": numbers.Number, "dur": numbers.Number}.items():
            check(isinstance(e.get(key), kind), "%s of event %r" % (key, e))
        equal(e["pid"], pid, "pid of event %s" % e["name"])
        check(e["dur"] >= 0, "event %r has a negative duration" % e)
        with_modules[e["tid"]].append(e)
    for e in output.events:
        by_thread[e["tid"]].append(e)
    named = {(e["pid"], e["tid"]) for e in t["traceEvents"] if e["ph"] == "M" and e["name"] == "thread_name"}
    check({(pid, tid) for tid in with_modules} <= named, "a thread with events has no thread_name row")
    check(any(e["ph"] == "M" and e["name"] == "process_name" and e["pid"] == pid for e in t["traceEvents"]), "no process_name row")
    active = [s.attempt for s in output.in_phase("active")]
    marks = [e for e in output.events if e["name"].startswith("ProfilerStep#")]
    equal([e["name"] for e in sorted(marks, key=lambda e: e["ts"])], ["ProfilerStep#%d" % n for n in active], "steps in the trace")
    nested(with_modules)
    check_modules(output)
    repeated = [i for i, n in collections.Counter(e["args"]["External id"] for e in output.events).items() if n > 1]
    check(not repeated, "External ids used twice: %s" % repeated[:10])
    check_times(output)
    check_arrows(output)
    check_tables(output, by_thread)


def check_modules(output):
    """A call of a module lies in its parent, and has a number of its own."""
    by_id = {e["args"]["Python id"]: e for e in output.modules}
    equal(len(by_id), len(output.modules), "numbers of calls of modules")
    for tid in {e["tid"] for e in output.modules}:  # of several threads only about so (user/ingest/merge.h)
        rows = [e for e in output.modules if e["tid"] == tid]
        numbers = [e["args"]["Python id"] for e in sorted(rows, key=lambda e: e["ts"])]
        equal(numbers, sorted(numbers), "calls of modules in order of beginning")
    for e in output.modules:
        parent = by_id.get(e["args"]["Python parent id"]) if e["args"]["Python parent id"] is not None else e
        check(parent and parent["tid"] == e["tid"] and contains(parent, e), "%r lies not in its parent %r" % (e, parent))
    names = {(e["args"]["Python module id"], e["name"]) for e in output.modules}
    equal(len(names), len({i for i, _ in names}), "names of modules and their numbers")


def windows(output):
    """[first moment, last moment] of each run of active attempts, CLOCK_MONOTONIC; None: not known."""
    found = []
    for phase, steps in itertools.groupby(output.steps, key=lambda s: s.phase):
        steps = list(steps)
        if phase == "active":
            found.append([steps[0].start_ns, steps[-1].start_ns + steps[-1].duration_ns if steps[-1].start_ns is not None else None])
    if output.window["state"] != "complete":  # a last attempt that did not end is in no row of steps.csv
        found = [[found[0][0], None]] if found else [[None, None]]
    return found


def monotonic_ns(output, ts):
    return output.trace["baseTimeNanoseconds"] + int(ts * 1000) - output.profile["timing"]["real_time_offset_ns"]


def check_times(output):
    """What the trace shows began in the window; what was not seen to end ends with it, or with what encloses it there."""
    spans_of = windows(output)
    last = max((end(e) for e in output.events if finished(e)), default=0)
    within = lambda t: any((a is None or a <= t) and (b is None or t <= b) for a, b in spans_of)
    for e in output.events + output.memory + output.modules:
        check(within(monotonic_ns(output, e["ts"])), "%r began outside of the window %s" % (e, spans_of))
        if e["ph"] == "X" and not finished(e):
            check(end(e) <= last or within(monotonic_ns(output, end(e))), "%r has no end of its own, and ends outside of the window %s" % (e, spans_of))
    # a program may be interrupted between taking the time and writing: then another thread's record comes before (user/ingest/merge.h)
    order = collections.defaultdict(list)
    for e in output.memory:
        order[e["tid"]].append(e["ts"])
    check(all(times == sorted(times) for times in order.values()), "memory events of a thread are not in order of time")


def check_arrows(output):
    """Each arrow has two ends, each bound to an event that begins on its thread at its time."""
    begins = {(e["pid"], e["tid"], e["ts"]) for e in output.events}
    ends = {ph: {e["id"]: e for e in output.flows if e["ph"] == ph} for ph in "sf"}
    equal(len(output.flows), len(ends["s"]) + len(ends["f"]), "flow events, and their ids")
    equal(set(ends["s"]), set(ends["f"]), "arrows with both ends")
    for e in output.flows:
        check((e["pid"], e["tid"], e["ts"]) in begins, "flow event %r is bound to no event" % e)
        check(e["ph"] == "s" or e.get("bp") == "e", "flow event %r is not bound to the event that encloses it" % e)


def check_tables(output, by_thread):
    """The tables say what the trace shows, less only children of their parent's name, which torch.profiler does not count apart."""
        # what stands for a byte that cannot be shown is the tool's choice: such rows are compared by their calls alone
    listed = output.rows + output.device_rows
    plain = [r for r in listed if r["name"].isascii() and r["name"].isprintable()]
    names = {shown(r["name"]) for r in plain}
    equal(collections.Counter((r["Name"], int(r["# of Calls"])) for r in output.table_rows if r["Name"] in names),
          collections.Counter((shown(r["name"]), r["count"]) for r in plain), "rows of cpu_ops.txt and profile.json")
    equal(sorted(int(r["# of Calls"]) for r in output.table_rows), sorted(r["count"] for r in listed), "calls in cpu_ops.txt and profile.json")
    step = lambda name: "ProfilerStep*" if name.startswith("ProfilerStep#") else name
    roots = []
    on_thread = collections.defaultdict(list)
    for e in output.cuda_calls:
        on_thread[e["tid"]].append(e)
    for tid in set(by_thread) | set(on_thread):
        roots += forest.grow([e for e in by_thread.get(tid, []) + on_thread[tid] if finished(e)], lambda e: e["ts"], end)
    times = forest.rows_of(roots, lambda n: step(n.name))
    trace = {n: r.count for n, r in times.items()}
    for e in output.events + output.cuda_calls:
        if not finished(e):
            trace[e["name"]] = trace.get(e["name"], 0) + 1
    table = collections.Counter()
    for r in output.rows:
        table[r["name"]] += r["count"]
    equal(output.profile["operators"]["inferred_ends"], sum(bool(e["args"].get("inferred end")) for e in output.events + output.cuda_calls), "inferred ends")
    equal(output.profile["operators"]["unwound_calls"], sum(bool(e["args"].get("unwound")) for e in output.events + output.cuda_calls), "unwound calls")
    equal(output.profile["autograd"]["flows"], len(output.flows) // 2, "arrows")
    equal(output.profile["memory"]["events"], len(output.memory), "memory events")
    children = collections.Counter()
    for root in roots:
        for node in root.walk():
            children[step(node.name)] += len(node.children)
    if all(finished(e) for e in output.events) and not any(r.get("asynchronous") for r in output.rows):
        for name in set(table) - {"ProfilerStep*"}:
            # the trace keeps edges at one moment a few nanoseconds apart: its own, and those of the children
            moved = 100 * table[name] + 20 * children[name]
            for key, want in (("raw_total_ns", times[name].total_ns * 1000), ("raw_self_ns", times[name].self_ns * 1000)):
                got = sum(r[key] for r in output.rows if r["name"] == name)
                check(abs(got - want) <= moved + want / 50, "%s of %s: %d, in the trace %d" % (key, name, got, want))
    odd = {n: (table[n], trace.get(n, 0)) for n in set(table) | set(trace) if table[n] != trace.get(n, 0)}
    check(not odd, "calls in the tables and in the trace: %s" % odd)


def nested(by_thread):
    """Rows of a thread nest strictly; a range whose end was not seen, or came from elsewhere, is nobody's parent."""
    for events in by_thread.values():
        stack = []
        for e in sorted((e for e in events if finished(e)), key=lambda e: (e["ts"], -e["dur"])):
            while stack and end(stack[-1]) <= e["ts"]:
                stack.pop()
            check(not stack or end(e) <= end(stack[-1]), "%r overlaps %r" % (e, stack and stack[-1]))
            stack.append(e)


def check_plan(output, exact=False, **plan):
    """The phases of steps.csv are the plan's, in order and complete; then come attempts
    during which the probes come off, and a few honest ones. Warmup lasts until the
    probes are in place, and so may take more attempts than asked where they are short, unless exact."""
    have = output.profile["plan"]
    for key, value in plan.items():
        equal(have[key], value, "plan." + key)
    want = [("skip_first", have["skip_first"])]
    for _ in range(have["repeat"]):
        want += [("wait", have["wait"]), ("warmup", have["warmup"]), ("active", have["active"])]
    want = [(phase, n) for phase, n in want if n]
    got = [(phase, len(list(rows))) for phase, rows in itertools.groupby(s.phase for s in output.steps)]
    after = got[len(want) :]
    equal([phase for phase, _ in got[: len(want)]], [phase for phase, _ in want], "order of the phases")
    for (phase, n), (_, m) in zip(got, want):
        check(n == m or (phase == "warmup" and n > m and not exact), "phase %s of %d attempts, want %d: %s" % (phase, n, m, got))
    check([phase for phase, _ in after] in ([], ["detach"], ["after"], ["detach", "after"]), "attempts after the window: %s" % after)
    check(dict(after).get("after", 0) <= 3, "more than a few attempts after the window: %s" % after)


def candidates(truth, time_ns, first_moment):
    """Those of the target's attempts, in order of time, that end around a moment."""
    at = bisect.bisect_right(truth, time_ns, key=first_moment)
    return [t for t in truth[max(at - 2, 0):at + 1] if first_moment(t) <= time_ns <= t["step_end"]]


def match_attempts(output, target, first=None):
    """Which attempt of the target each row of steps.csv is. Every boundary that tpbpf reports lies within the target's own
    call that ends the attempt, so that no tolerance is needed. first: the target's index of row 0, where the test knows it."""
    truth = target.attempts()
    told_by_begin = output.window["attempts_told_by_begin"] > 0
    first_moment = lambda t: t.get("range_begin", t["step_begin"]) if told_by_begin else t["step_begin"]
    next_start = {s.attempt - 1: s.start_ns for s in output.steps}
    boundary = lambda s: s.start_ns + s.duration_ns if s.start_ns is not None else next_start.get(s.attempt) or 0
    found = []
    for s in output.steps[1:]:
        hit = candidates(truth, boundary(s), first_moment)
        check(len(hit) == 1, "attempt %d ends at %d, within no optimizer call of the target" % (s.attempt, boundary(s)))
        found.append(hit[0])
    index = [t["attempt"] for t in found]
    equal(index, list(range(index[0], index[0] + len(index))), "the target's attempts, none skipped or seen twice")
    if first is not None:
        equal(index[0], first + 1, "the target's index of attempt 1")
    zero = [t for t in truth if t["attempt"] == index[0] - 1]
    check(zero and zero[0]["step_begin"] <= output.steps[1].start_ns <= zero[0]["step_end"], "attempt 0 does not end where the target's does")
    return zero + found


# ---- the target's code -----------------------------------------------------------------------------------------------


def modified_code_bytes(pid, pattern=r"/(lib(torch|c10|python3)[^/]*\.so|python3[^/]*$)", limit=64):
    """Where the executable mappings of the named libraries differ from their files: [(path, file offset, file byte, byte)].
    The file is read through map_files, so that a deleted or replaced one is the one that is mapped."""
    found = []
    with open("/proc/%d/maps" % pid) as f:
        maps = [line.split(None, 5) for line in f]
    with open("/proc/%d/mem" % pid, "rb", buffering=0) as mem:
        for fields in maps:
            if len(fields) < 6 or "x" not in fields[1] or not re.search(pattern, fields[5]):
                continue
            start, stop = (int(x, 16) for x in fields[0].split("-"))
            offset, path = int(fields[2], 16), fields[5].strip()
            with open("/proc/%d/map_files/%x-%x" % (pid, start, stop), "rb") as f:
                at = start
                while at < stop and len(found) < limit:
                    size = min(1 << 20, stop - at)
                    f.seek(offset + at - start)
                    want = f.read(size)
                    mem.seek(at)
                    got = mem.read(size)[: len(want)]
                    if got != want[: len(got)]:
                        found += [(path, offset + at - start + i, a, b) for i, (a, b) in enumerate(zip(want, got)) if a != b]
                    at += size
    return found[:limit]


def libraries_mapped(pid, pattern=r"/libtorch_cpu"):
    with open("/proc/%d/maps" % pid) as f:
        return sorted({line.split(None, 5)[5].strip() for line in f if re.search(pattern, line)})


def check_unmodified(pid, seconds=2):
    """The probed instructions are the original ones; a short time is allowed, the kernel removes them after the tool ends."""
    check(libraries_mapped(pid) or libraries_mapped(pid, r"/lib(torch|c10)"), "nothing to compare: no library of PyTorch is mapped")
    until(lambda: not modified_code_bytes(pid), "the target's code is the original again", seconds, 0.05)


# ---- cases -----------------------------------------------------------------------------------------------------------


@contextlib.contextmanager
def scratch():
    path = tempfile.mkdtemp(prefix="tpbpf-test-")
    os.chmod(path, 0o755)
    try:
        yield path
    finally:
        shutil.rmtree(path, ignore_errors=True)


def clean_up():
    for run in Run.live:
        if run.process.poll() is None:
            run.process.kill()
            run.process.wait()
    for target in Target.live:
        target.clean()
    Run.live.clear()
    Target.live.clear()


def capture(target, out, *args, seconds=USER, code=0, open_gate=True, **kw):
    """Attaches, opens the target's gate, waits for the end of tpbpf, and reads and checks what it wrote."""
    run = Run("-p", target.pid, "-o", out, *args, **kw)
    if open_gate:
        run.wait_attached()
        target.open_gate()
    run.wait(seconds).exits(code)
    output = Output(out)
    output.run = run
    return output


def main(*cases, torch=False, since=(1, 13), bpf=True):
    p = argparse.ArgumentParser(description=sys.modules["__main__"].__doc__)
    p.add_argument("--variants", action="store_true")
    p.add_argument("--variant")
    p.add_argument("cases", nargs="*")
    opt = p.parse_args()
    if opt.variants:
        labels = [i.label for i in interpreters()] if torch else ["-"]
        print("\n".join(labels or ["-"]))
        sys.exit(0)
    chosen = [None]
    if torch:
        chosen = [i for i in interpreters() if opt.variant in (None, "-", i.label)]
        if not chosen:
            print("skip: no PyTorch in this run%s" % (" as %s" % opt.variant if opt.variant not in (None, "-") else ""))
            sys.exit(EXIT_SKIP)
        for i in chosen:
            if version(i) < since:
                print("skip: %s: needs PyTorch %d.%d" % (i.label, *since))
        chosen = [i for i in chosen if version(i) >= since]
    passed = failed = 0
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    for interpreter in chosen:
        for case in cases:
            if opt.cases and case.__name__ not in opt.cases:
                continue
            name = case.__name__ + (" [%s]" % interpreter.label if interpreter else "")
            begun = time.monotonic()
            try:
                if left_out(case):
                    skip(left_out(case))
                if bpf:
                    need_capture()
                case(interpreter) if torch else case()
                passed += 1
                print("ok: %s (%.1f s)" % (name, time.monotonic() - begun), flush=True)
            except Skip as s:
                print("skip: %s: %s" % (name, s), flush=True)
            except Exception as e:
                failed += 1
                print("FAIL: %s: %s" % (name, e if isinstance(e, Failure) else repr(e)), flush=True)
                if isinstance(e, Failure):
                    for f in traceback.extract_tb(e.__traceback__):
                        if f.filename != os.path.abspath(__file__):
                            print("  at %s:%d: %s" % (os.path.basename(f.filename), f.lineno, f.line), file=sys.stderr)
                else:
                    traceback.print_exc()
                for target in Target.live:
                    if not target.alive():
                        print("target %d ended with %s: %s" % (target.pid, target.process.returncode, target.errors()), file=sys.stderr)
                for run in Run.live:
                    print("$ %s -> %s\n%s%s" % (" ".join(run.argv), run.process.poll(), run.out[-1500:], run.err[-1500:]), file=sys.stderr)
            finally:
                clean_up()
    sys.exit(1 if failed else 0 if passed else EXIT_SKIP)


if __name__ == "__main__":
    # run.sh asks once, and hands the answer to every test
    for i in interpreters():
        print("%s\t%s\t%s" % i)
