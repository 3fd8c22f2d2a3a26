#!/usr/bin/env python3
"""The agent in a job on a simulated GPU, switched by the kernel: what comes out is what the device did, and the job never notices."""
import collections
import contextlib
import functools
import json
import os
import shutil
import signal
import subprocess
import tempfile
import time

import agent_wire
import harness as h

JOB = os.path.join(h.BUILD, "cuda_job")
AGENT = os.path.join(h.BUILD, "libtpbpf-agent.so")
CAPTURE = os.path.join(h.BUILD, "tests", "agent", "capture")
FAKES = os.path.join(h.BUILD, "fakes")
SLACK_NS = 20000  # two clocks read one after the other, on a busy machine
MUTED = {"cudaGetDevice_v3020", "cudaSetDevice_v3020", "cudaGetLastError_v3020", "cudaEventCreateWithFlags_v3020", "cudaEventDestroy_v3020"}


@functools.lru_cache(maxsize=None)
def built():
    h.make("agent", "agent-capture", "cuda-job")


class Job(h.Target):
    """A simulated job that waits at a gate, and again when its steps are done, until release()."""

    def __init__(self, *args, cupti="libcupti.so.12", agent=AGENT, program=JOB, env=None, **kw):
        built()
        files = tempfile.mkdtemp(prefix="tpbpf-cuda-")
        self.files, self.truth_path = files, os.path.join(files, "truth")
        self.hold = os.path.join(files, "hold")
        argv = [program, *map(str, args), "--truth", self.truth_path, "--hold", self.hold]
        if cupti:
            argv += ["--cupti", os.path.join(FAKES, cupti)]
        super().__init__(argv, env={**({"CUDA_INJECTION64_PATH": agent} if agent else {}), **(env or {})}, **kw)

    def finished(self):
        h.until(lambda: any("finished" in row for row in self.rows()) or not self.alive(), "the job's steps are done")
        return next(row for row in self.rows() if "finished" in row)

    def release(self):
        open(self.hold, "w").close()
        self.end = self.finish()
        with open(self.truth_path) as f:
            self.truth = json.load(f)
        shutil.rmtree(self.files)
        return self.end

    def clean(self):
        super().clean()
        shutil.rmtree(self.files, ignore_errors=True)

    def threads(self):
        names = {}
        for tid in os.listdir("/proc/%d/task" % self.pid):
            with contextlib.suppress(OSError):
                with open("/proc/%d/task/%s/comm" % (self.pid, tid)) as f:
                    names[int(tid)] = f.read().strip()
        return names

    def has_thread(self, name):
        return name in self.threads().values()


class Capture:
    def __init__(self, job, *options, agent=AGENT):
        self.job = job
        self.path = os.path.join(job.files, "batches-%d" % time.monotonic_ns())
        self.process = subprocess.Popen([CAPTURE, str(job.pid), agent, self.path, *options], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.STDOUT, text=True, bufsize=1)
        self.said = []
        self.wait("listening")

    def wait(self, word):
        for line in self.process.stdout:
            self.said.append(line.strip())
            if self.said[-1] == word or self.said[-1].startswith(word + " "):
                return self.said[-1]
        raise h.Failure("the capture ended without %r: %s" % (word, self.said))

    def collect(self, until="open"):
        self.process.stdin.write("collect\n")
        self.wait(until)
        return self

    def stop(self):
        self.process.stdin.write("stop\n")
        self.process.stdin.flush()
        out = self.process.stdout.read()
        code = self.process.wait(h.patience())
        h.check(code == 0, "the capture ended with %d: %s %s" % (code, self.said, out))
        h.check("lost 0 unreadable 0" in out, "batches were lost: %s" % out)
        return agent_wire.read(self.path, self.job.pid)

    def kill(self):
        self.process.kill()
        self.process.wait()
        self.process.stdin.close()
        self.process.stdout.close()


def near(got, want, slack, what):
    h.check(abs(got - want) <= slack, "%s: off by %d ns, at most %d" % (what, got - want, slack))


def same_times(row, want, slack, what):
    near(row["start_ns"], want["start_ns"], slack, what + " start")
    near(row["end_ns"], want["end_ns"], slack, what + " end")


def index(rows, *keys):
    found = collections.defaultdict(list)
    for row in rows:
        found[tuple(row[k] for k in keys)].append(row)
    return found


def compare_ops(session, truth, slack, timed=True):
    kernels = index(session.kernel, "correlation", "graph_node")
    copies, sets = index(session.memcpy, "correlation"), index(session.memset, "correlation")
    for op in truth["ops"]:
        if op["kind"] == "kernel":
            found = kernels.pop((op["correlation"], op["graph_node"]), [])
            want = [op["name"], op["device"], op["context"], op["stream"], *op["grid"], *op["block"], op["registers"], op["static_shared"],
                    op["dynamic_shared"], op["graph_id"]]
            fields = "name device context stream gx gy gz bx by bz registers static_shared dynamic_shared graph_id"
        elif op["kind"] == "memset":
            found = sets.pop((op["correlation"],), [])
            want = [op["bytes"], op["value"], op["device"], op["context"], op["stream"], op["target_kind"]]
            fields = "bytes value device context stream memory_kind"
        else:
            found = copies.pop((op["correlation"],), [])
            want = [op[k] for k in "bytes copy_kind source_kind target_kind device context stream source_device target_device".split()]
            fields = "bytes copy_kind source_kind target_kind device context stream source_device target_device"
            h.equal(bool(found and found[0]["flags"] & agent_wire.HAS_PEER), op["kind"] == "peer", "peer flag of %s" % op)
        h.equal(len(found), 1, "records of %s" % op)
        h.equal([found[0][f] for f in fields.split()], want, "fields of %s" % op)
        if timed:
            same_times(found[0], op, slack, "%(kind)s %(correlation)d" % op)
    h.check(not kernels and not copies and not sets, "records of nothing: %s" % [kernels, copies, sets])


def wanted_calls(truth):
    return [c for c in truth["calls"] if (c["name"] not in MUTED if c["domain"] == "runtime" else c["name"] == "cuLaunchKernel")]


def compare_calls(session, truth, slack, timed=True):
    calls = index(session.api, "correlation")
    for call in wanted_calls(truth):
        found = calls.pop((call["correlation"],), [])
        h.equal(len(found), 1, "records of %s" % call)
        row = found[0]
        h.equal([row["name"], row["thread"], row["callback"], row["result"], row["domain"]],
                [call["name"], call["thread"], call["cbid"], call["result"], 1 if call["domain"] == "driver" else 2], "fields of %s" % call)
        if timed:
            same_times(row, call, slack, "%(name)s %(correlation)d" % call)
    h.check(not calls, "records of nothing: %s" % dict(calls))


def compare(session, truth, slack=SLACK_NS, sync=False):
    h.equal(session.end, "asked", "end of the session")
    h.check(len(truth["ops"]) > 50, "the job did nothing")
    compare_ops(session, truth, slack)
    compare_calls(session, truth, slack)
    h.equal((len(session.sync), len(session.event)), (len(truth["syncs"]), len(truth["events"])) if sync else (0, 0), "synchronizations")
    for s, want in zip(sorted(session.sync, key=lambda r: r["correlation"]), sorted(truth["syncs"], key=lambda r: r["correlation"])):
        h.equal([s[k] for k in ("correlation", "type", "context", "stream", "event")],
                [want[k] for k in ("correlation", "type", "context", "stream", "event")], "a synchronization")
        same_times(s, want, slack, "synchronization %d" % s["correlation"])
    launches = {c["correlation"]: c["start_ns"] for c in session.api}
    for k in session.kernel:
        h.check(k["start_ns"] >= launches[k["correlation"]], "kernel %d begins before its launch" % k["correlation"])
    lost = {k: n for k, n in session.counts.items() if n and k not in ("records", "muted")}
    h.equal(lost, {}, "losses")


def alone(*args):
    """The same job when nobody looks, without the agent."""
    job = Job(*args, agent=None, gate=False, wait=False)
    open(job.hold, "w").close()
    return job.release()["checksum"]


def watched(*args, env=None, options=(), until="open", **kw):
    """The job from the first step to the last one under a session; that session, and the job."""
    job = Job(*args, env=env, **kw)
    capture = Capture(job, *options).collect(until)
    job.open_gate().finished()
    sessions = capture.stop()
    h.equal(len(sessions), 1, "sessions")
    job.release()
    return sessions[0], job


def every_version_and_clock():
    same = alone("--threads", 3, "--steps", 12)
    for cupti, version, clock, options in (("libcupti.so.11.8", 18, "mono", ()), ("libcupti.so.12", 24, "real", ("--sync",)),
                                           ("libcupti-1ab2c3d4.so.12", 28, "tsc", ()), ("libcupti.so.13", 130001, "real", ()),
                                           ("libcupti.so.13", 130400, "tsc", ("--sync",)), ("libcupti.so.13", 130500, "mono", ("--sync",))):
        session, job = watched("--threads", 3, "--steps", 12, cupti=cupti, options=options,
                               env={"FAKE_CUPTI_VERSION": str(version), "FAKE_CUPTI_CLOCK": clock})
        compare(session, job.truth, 0 if clock == "mono" else SLACK_NS, sync=bool(options))
        h.equal(job.end["checksum"], same, "the job's result")
        h.equal(session.domain, {"real": "realtime", "mono": "monotonic", "tsc": "tsc"}[clock], "clock")
        last = session.session[-1]
        h.equal((last["cupti_version"], last["driver_version"], os.path.basename(last["text"])), (version, 12080, cupti), "session")
        h.equal([d["text"] for d in session.device], ["Simulated GPU 0", "Simulated GPU 1"], "devices")
        h.equal(session.statuses(), [], "statuses")


def a_long_run_in_many_batches():
    session, job = watched("--threads", 4, "--steps", 400, env={"FAKE_CUPTI_FAULTS": "shuffle"})
    compare(session, job.truth)
    h.check(session.batches > 20, "only %d batches" % session.batches)


def in_the_middle_of_a_run():
    """Attached while the job works: what came is right, and all from between is there."""
    job = Job("--threads", 3, "--steps", 2500, "--pause-us", 2000)
    job.open_gate()
    capture = Capture(job).collect()
    time.sleep(0.7)
    first = time.monotonic_ns()
    time.sleep(0.7)
    last = time.monotonic_ns()
    session = capture.stop()[0]
    h.check(not any("finished" in row for row in job.rows()), "the job ended too early for this test")
    job.finished()
    job.release()
    came = {(k["correlation"], k["graph_node"]) for k in session.kernel}
    between = {(o["correlation"], o["graph_node"]) for o in job.truth["ops"] if o["kind"] == "kernel" and first < o["start_ns"] < last}
    h.check(len(between) > 100, "the job did nothing meanwhile")
    h.check(between <= came, "%d kernels of the window are missing" % len(between - came))
    truth = {(o["correlation"], o["graph_node"]): o for o in job.truth["ops"] if o["kind"] == "kernel"}
    for k in session.kernel:
        same_times(k, truth[k["correlation"], k["graph_node"]], SLACK_NS, "kernel %d" % k["correlation"])


def the_job_ends_in_the_middle():
    """It exits by itself, and by exit() of another thread's making: all of it is there, and nothing holds it up."""
    for options in ((), ("--fork",)):
        job = Job("--threads", 2, "--steps", 300, "--pause-us", 2000, *options)
        capture = Capture(job).collect()
        open(job.hold, "w").close()
        begun = time.monotonic()
        job.open_gate().finish()
        h.check(time.monotonic() - begun < h.patience(6), "the end took %.1f s" % (time.monotonic() - begun))
        session = capture.stop()[0]
        job.release()
        compare(session, job.truth)


def killed_it_goes_dormant():
    for _ in range(3):
        job = Job("--threads", 2, "--steps", 3000, "--pause-us", 500)
        job.open_gate()
        capture = Capture(job).collect()
        h.until(lambda: job.has_thread("tpbpf-cupti"), "the agent's second thread")
        capture.kill()
        begun = time.monotonic()
        h.until(lambda: not job.has_thread("tpbpf-cupti"), "the agent is dormant")
        took = time.monotonic() - begun
        h.check(took < h.patience(1.5), "dormant only after %.1f s" % took)
        # and another collector finds it as it was
        session = Capture(job).collect().stop()[0]
        h.equal(session.end, "asked", "end of the second session")
        h.check(session.kernel, "nothing in the second session")
        job.process.kill()
        job.process.wait()


def two_sessions():
    job = Job("--threads", 2, "--steps", int(2000 * h.SLOW), "--pause-us", 1000)
    job.open_gate()
    numbers = set()
    for _ in range(3):
        session = Capture(job).collect().stop()[0]
        numbers.add(session.number)
        h.equal(session.end, "asked", "end")
    h.equal(len(numbers), 3, "sessions")
    job.process.kill()
    job.process.wait()


def dormant_it_sleeps():
    job = Job()
    tid = h.until(lambda: next((t for t, name in job.threads().items() if name == "tpbpf-agent"), None), "the agent's thread")
    h.equal([n for n in job.threads().values() if n.startswith("tpbpf")], ["tpbpf-agent"], "threads of the agent")

    def switches():
        with open("/proc/%d/task/%d/status" % (job.pid, tid)) as f:
            return sum(int(line.split()[1]) for line in f if "ctxt_switches" in line)

    with open("/proc/%d/task/%d/status" % (job.pid, tid)) as f:
        blocked = int(next(line.split()[1] for line in f if line.startswith("SigBlk")), 16)
    # no thread can block KILL and STOP, and the C library keeps two for itself
    h.equal({n for n in range(1, 65) if not blocked >> (n - 1) & 1}, {9, 19, 32, 33}, "signals that the agent takes")
    before = switches()
    time.sleep(4)
    h.check(switches() - before <= 5, "%d wake-ups in four seconds" % (switches() - before))
    job.open_gate().finished()
    job.release()


def a_fork_child_is_left_alone():
    session, job = watched("--threads", 2, "--steps", 10, "--fork")
    h.equal(job.rows()[0]["child"], 3, "exit status of the child")
    compare(session, job.truth)


def the_clock_is_stepped():
    for step in (5_000_000_000, -3_000_000, -7_200_000_000_000):
        env = {"LD_PRELOAD": os.path.join(FAKES, "libfakeclock.so"), "FAKE_CLOCK_STEP": "4000:%d" % step, "FAKE_CUPTI_CLOCK": "real"}
        session, job = watched("--threads", 2, "--steps", 1600, "--pause-us", 5000, env=env)
        status = session.status("clock_step")
        h.check(status, "the step was not noticed: %s" % session.statuses())
        near(status["value"], step, SLACK_NS, "size of the step")
        compare_ops(session, job.truth, 0, timed=False)
        truth = {(o["correlation"], o["graph_node"]): o for o in job.truth["ops"] if o["kind"] == "kernel"}
        guessed = untimed = 0
        for k in session.kernel:
            want = truth[k["correlation"], k["graph_node"]]
            untimed += bool(k["flags"] & agent_wire.TIME_NONE)
            guessed += bool(k["flags"] & agent_wire.TIME_GUESSED)
            if not k["flags"] & (agent_wire.TIME_NONE | agent_wire.TIME_GUESSED):
                same_times(k, want, SLACK_NS, "kernel %d" % k["correlation"])
            elif not k["flags"] & agent_wire.TIME_NONE:
                near(k["start_ns"], want["start_ns"], abs(step) + SLACK_NS, "guessed kernel %d" % k["correlation"])
        h.check(guessed + untimed < len(session.kernel) / 50, "%d guessed, %d without times of %d" % (guessed, untimed, len(session.kernel)))


def faults_are_named():
    same = alone("--threads", 2, "--steps", 10)
    for faults, status, effect, end in (("err39", "busy", 2, "nothing"), ("err999", "unknown", 2, "nothing"), ("privileges", "privileges", 2, "nothing"),
                                        ("refuse=17", "kind", 1, "asked"), ("droppedN=7", "lost", 1, "asked"),
                                        ("untimedN=4", "untimed", 1, "asked"), ("nothreadids", "thread_ids", 1, "asked")):
        until = "status" if end == "nothing" else "open"
        session, job = watched("--threads", 2, "--steps", 10, env={"FAKE_CUPTI_FAULTS": faults}, until=until)
        found = session.status(status)
        h.check(found, "%s: said %s" % (faults, session.statuses()))
        h.equal((found["effect"], session.end), (effect, end), faults)
        h.equal(job.end["checksum"], same, "the job's result under " + faults)
        if end == "asked":
            h.check(session.api and session.kernel, "%s: nothing recorded" % faults)
        if faults == "untimedN=4":
            h.equal(session.counts["untimed"], len(job.truth["ops"]) // 4, "records without times")


def taken_over_it_says_so():
    job = Job("--threads", 2, "--steps", 4000, "--pause-us", 1000, env={"FAKE_CUPTI_FAULTS": "steal=500"})
    job.open_gate()
    capture = Capture(job).collect()
    capture.wait("status 13")
    session = capture.stop()[0]
    h.equal((session.statuses(), session.end), (["taken"], "taken"), "the end")
    job.process.kill()
    job.process.wait()


def hung_it_says_so():
    job = Job("--threads", 2, "--steps", 100, env={"FAKE_CUPTI_FAULTS": "hang=8000"})
    capture = Capture(job).collect()
    job.open_gate()
    capture.wait("status 14")
    begun = time.monotonic()
    session = capture.stop()[0]
    h.check(time.monotonic() - begun < h.patience(3), "the end waited for the flush")
    h.equal((session.statuses(), session.end), (["hung"], "hung"), "the end")
    job.finished()
    job.release()


def without_cupti_it_says_so():
    for cupti, program, status in ((None, JOB, "no_cupti"), (None, JOB + "-static", "static_cupti")):
        session, job = watched("--threads", 1, "--steps", 5, cupti=cupti, program=program, until="status")
        h.equal((session.statuses(), session.end), ([status], "nothing"), "the end")
        h.check(not session.kernel and not session.api, "records from nowhere")
    h.check(session.status("static_cupti")["text"].endswith("/exe"), "where CUPTI is: %r" % session.status("static_cupti"))


def a_job_without_cuda():
    job = Job("--no-cuda", agent=None, env={"LD_PRELOAD": AGENT})
    session_capture = Capture(job).collect("status")
    job.open_gate().finished()
    session = session_capture.stop()[0]
    h.equal((session.statuses(), session.end), (["no_cuda"], "nothing"), "the end")
    job.release()


def a_second_copy_stays_inert():
    with tempfile.TemporaryDirectory(prefix="tpbpf-agent-") as directory:
        copy = os.path.join(directory, "other.so")
        shutil.copy(AGENT, copy)
        session, job = watched("--threads", 2, "--steps", 10, env={"LD_PRELOAD": AGENT}, agent=copy)
        compare(session, job.truth)
        job = Job(env={"LD_PRELOAD": AGENT}, agent=copy)
        h.until(lambda: job.has_thread("tpbpf-agent"), "the agent's thread")
        h.equal([n for n in job.threads().values() if n.startswith("tpbpf")], ["tpbpf-agent"], "threads of the agents")
        job.open_gate().finished()
        job.release()


def signals_go_to_the_job():
    """The agent's threads take none of the job's signals, and the job's end is not held up by them."""
    job = Job("--threads", 1, "--steps", 100000, "--pause-us", 1000)
    job.open_gate()
    capture = Capture(job).collect()
    begun = time.monotonic()
    job.process.send_signal(signal.SIGTERM)
    h.equal(job.process.wait(h.patience()), -signal.SIGTERM, "how the job ended")
    h.check(time.monotonic() - begun < h.patience(2), "the end took %.1f s" % (time.monotonic() - begun))
    capture.kill()


if __name__ == "__main__":
    h.main(every_version_and_clock, a_long_run_in_many_batches, in_the_middle_of_a_run, the_job_ends_in_the_middle, killed_it_goes_dormant, two_sessions, dormant_it_sleeps,
           a_fork_child_is_left_alone, the_clock_is_stepped, faults_are_named, taken_over_it_says_so, hung_it_says_so, without_cupti_it_says_so,
           a_job_without_cuda, a_second_copy_stays_inert, signals_go_to_the_job)
