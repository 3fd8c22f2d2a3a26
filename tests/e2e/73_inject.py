#!/usr/bin/env python3
"""The agent is put into a job that was started without it: the job does not notice, and what it cannot be done with is left alone."""
import collections
import contextlib
import functools
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import time

import gpu_support as g
import harness as h

TIMES = 200
HELD_MS = 5 * h.SLOW if h.SLOW < 10 else float("inf")  # at most, of one thread; an emulated processor tells nothing of it
WAITS = os.path.join(h.BUILD, "inject", "waits")
MANY = os.path.join(h.BUILD, "inject", "inject_many")
CREW = ("--threads", 2)  # they wait between their rounds, as PyTorch's own do
# what the job waits in, and whether a thread may be taken there
TAKEN = {"poll", "ppoll", "select", "read", "condition", "condition until", "semaphore", "nanosleep", "clock_nanosleep until", "registers poll",
         "registers read", "signals", "rings", "the agent's own"}
LEFT = {"allocates", "epoll_wait", "futex"}


@functools.lru_cache(maxsize=None)
def built():
    h.make("inject-test")


class Waits(h.Target):
    """64 threads that allocate and wait, and look whether anything is not as it was."""

    def __init__(self, program=WAITS, **kw):
        built()
        super().__init__([program], **kw)
        self.kinds = {row["thread"]: row["kind"] for row in self.rows() if "thread" in row}

    def end(self):
        """It ends: a wake-up that was lost would keep it."""
        done = self.stop()
        h.equal(done["wrong"], {k: 0 for k in done["wrong"]}, "what the job saw that was not as it should be")
        h.equal((done["lost"], done["seen"]), (0, done["rung"]), "wake-ups")
        h.equal(done["signals_seen"], done["signals_sent"], "signals")
        h.check(done["rung"] > 50 and done["allocations"] > 1000, "the job did nothing: %s" % done)
        return done


def mappings(pid):
    """What is mapped, less what moves in a job that allocates: anonymous memory is the allocator's."""
    with open("/proc/%d/maps" % pid) as f:
        rows = [line.split(None, 5) for line in f]
    return collections.Counter(r[5].strip() for r in rows if len(r) == 6 and r[5].startswith("/"))


def descriptors(pid):
    return sorted(int(n) for n in os.listdir("/proc/%d/fd" % pid))


def none_left(pid, before):
    """A thread whose tracer was killed may be opening the library still, and the agent reads what is mapped now and then."""
    h.until(lambda: descriptors(pid) == before, "no descriptor is left in the job", 5)


def thread_names(pid):
    names = collections.Counter()
    for tid in os.listdir("/proc/%d/task" % pid):
        with contextlib.suppress(OSError):
            names[open("/proc/%d/task/%s/comm" % (pid, tid)).read().strip()] += 1
    return names


def tracers(pid):
    found = set()
    for tid in os.listdir("/proc/%d/task" % pid):
        with contextlib.suppress(OSError):
            found.add(re.search(r"TracerPid:\t(\d+)", open("/proc/%d/task/%s/status" % (pid, tid)).read()).group(1))
    return found


def many(job, count, directory, agent=None):
    done = subprocess.run([MANY, str(job.pid), str(count), agent or g.agent(), directory], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          timeout=400)
    rows = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    h.check(done.returncode == 0 and len(rows) == count, "%d of %d: %s" % (len(rows), count, done.stdout[-600:]))
    return rows


def two_hundred_into_one_job():
    """A copy of the agent each time, on a thread that is drawn; the first one is the agent, the others see that and stay idle."""
    with h.scratch() as d:
        job = Waits(gate=False)
        before, open_before, threads = mappings(job.pid), descriptors(job.pid), thread_names(job.pid)
        rows = many(job, TIMES, d)
        after = mappings(job.pid)
        h.equal({r["err"] for r in rows}, {0}, "errors")
        worst = max(r["held_ns"] for r in rows) / 1e6
        h.check(worst < HELD_MS, "a thread was held for %.2f ms" % worst)
        h.check(not any(r["memory"] for r in rows), "a memory file was made although the file is there")
        kinds = collections.Counter(job.kinds.get(r["thread"], "the agent's own") for r in rows)
        h.check(set(kinds) <= TAKEN, "threads were taken that are not to be: %s" % kinds)
        h.check(len(kinds) >= 6, "too few kinds of waits for this to mean anything: %s" % kinds)
        copies = {os.path.join(d, "libtpbpf-agent-%d.so" % i) for i in range(TIMES)}
        h.equal(set(after) - set(before), copies, "files that are mapped now")
        h.equal({p: n for p, n in after.items() if p in before}, dict(before), "files that were mapped before")
        none_left(job.pid, open_before)
        threads["tpbpf-agent"] += 1
        h.equal(thread_names(job.pid), threads, "threads: the agent's own is one")
        h.equal(tracers(job.pid), {"0"}, "tracers")
        done = job.end()
        print("held %.2f ms at most, %.2f in the middle; %s; %d wake-ups" % (worst, sorted(r["held_ns"] for r in rows)[TIMES // 2] / 1e6,
                                                                            dict(kinds), done["rung"]))


def killed_at_any_moment():
    """Both the program and its child are killed: whatever was done by then, the job goes on, and the next one works."""
    dice = random.Random(7)
    with h.scratch() as d:
        job = Waits(gate=False)
        open_before = descriptors(job.pid)
        whole = 0
        for i in range(60):
            path = os.path.join(d, "libtpbpf-agent-k%d" % i)
            os.mkdir(path)
            p = subprocess.Popen([MANY, str(job.pid), "1", g.agent(), path], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            time.sleep(0.005 + dice.random() * 0.03)
            p.kill()
            whole += p.wait() == 0
        h.equal(tracers(job.pid), {"0"}, "tracers")
        h.check(whole < 55, "hardly any was killed in time")
        os.mkdir(d + "/last")
        h.equal([r["err"] for r in many(job, 5, d + "/last")], [0] * 5, "errors afterwards")
        none_left(job.pid, open_before)
        job.end()


def the_job_is_killed():
    """While it is worked on: whoever works on it notices, and ends."""
    with h.scratch() as d:
        for i in range(5):
            os.mkdir(d + "/%d" % i)
            job = Waits(gate=False)
            p = subprocess.Popen([MANY, str(job.pid), "500", g.agent(), d + "/%d" % i], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            time.sleep(0.3 + i * 0.111)
            job.process.kill()
            job.process.wait()
            h.check(p.wait(h.USER) == 1, "it ended as if all was done")


def gpu(out):
    return out.profile["activities"]["gpu"]


def agents(pid):
    return sorted(p for p in mappings(pid) if "libtpbpf-agent" in p)


def the_same_as_preloaded():
    """What a job that has it from its start shows, kernel by kernel; and a second capture finds it."""
    with h.scratch() as d:
        job = g.Job(*CREW, agent_path="")
        out = job.capture(d + "/out", "--gpu", "inject")
        h.check("the agent for GPU activity was put into the job" in out.run.err, "it does not say so: " + out.run.err)
        held = float(re.search(r"was held for ([\d.]+) ms", out.run.err).group(1))
        h.check(held < HELD_MS, "a thread was held for %.2f ms" % held)
        first = agents(job.target.pid)
        h.equal(first, [g.agent()], "agents in the job")
        again = h.capture(job.target, d + "/again", *g.PLAN, "--gpu", "inject", open_gate=False)
        h.check("was put into the job" not in again.run.err, "it was put in twice: " + again.run.err)
        h.equal(agents(job.target.pid), first, "agents after the second capture")
        without = h.capture(job.target, d + "/auto", *g.PLAN, open_gate=False)
        h.equal(gpu(without)["state"], "on", "gpu without the option, now that it is there")
        done, truth = job.stop()
        for each in (out, again, without):
            h.check_output(each)
            h.equal(gpu(each)["state"], "on", "gpu: %s" % gpu(each))
            g.check_all(each, truth, 200)


def the_program_is_killed():
    """Its child goes on to the end, or had not begun; the next capture finds what there is, or puts it there."""
    dice = random.Random(11)
    with h.scratch() as d:
        job = g.Job(*CREW, agent_path="", gate=False)
        for i in range(10):
            run = h.Run("-p", job.target.pid, "-o", d + "/out%d" % i, *g.PLAN, "--gpu", "inject")
            time.sleep(0.03 + dice.random() * 0.2)
            run.process.kill()
            run.wait()
        h.until(lambda: tracers(job.target.pid) == {"0"}, "nobody traces it")
        out = h.capture(job.target, d + "/out", *g.PLAN, "--gpu", "inject", open_gate=False)
        h.equal(gpu(out)["state"], "on", "gpu: %s" % gpu(out))
        h.equal(agents(job.target.pid), [g.agent()], "agents in the job")
        h.equal(thread_names(job.target.pid)["tpbpf-agent"], 1, "threads of the agent")
        done, truth = job.stop()
        h.check_output(out)
        g.check_all(out, truth, 200)


def refused(job, *words):
    """The capture goes on, without the GPU, and says why."""
    with h.scratch() as d:
        before = mappings(job.target.pid)
        run = h.Run("-p", job.target.pid, "-o", d + "/out", *g.PLAN, "--gpu", "inject")
        run.wait(120).exits(0)
        out = h.Output(d + "/out")
        h.check_output(out)
        want = ("degraded", True) if h.has_bulk() else ("off", False)  # the calls are probed instead, where that can be
        h.equal((gpu(out)["state"], bool(out.cuda_calls), out.on_device), (*want, []), "gpu")
        for word in words:
            h.check(word in run.err and word in gpu(out)["reason"] and word in run.out, "nobody says %r: %s; %s" % (word, run.err, gpu(out)))
        h.equal(mappings(job.target.pid), before, "mappings")
        h.equal(tracers(job.target.pid) - {"0"} if "traced" not in words[0] else set(), set(), "tracers")


def no_thread_waits():
    """One thread, that works: it is never taken."""
    job = g.Job(agent_path="", gate=False, step_us=0)
    refused(job, "no thread of the job waits where it can be taken safely")
    job.stop()


def traced_by_another():
    built()
    job = g.Job(*CREW, agent_path="", gate=False)
    tracer = h.Target([MANY, str(job.target.pid), "hold", "60"], gate=False)
    refused(job, "the job is being traced")
    tracer.process.kill()
    tracer.process.wait()
    job.stop()


def filtered(number, action, argv):
    return [os.path.join(h.BUILD, "inject", "filtered"), str(number), action, *argv]


MEMFD_CREATE, CLONE3, PERSONALITY = 319, 435, 135


def behind_a_seccomp_filter():
    """Its filter is run on what loading takes: where a call would end the job nothing is tried; where it is a container's, it works."""
    built()
    job = g.Job(*CREW, agent_path="", gate=False, wrap=functools.partial(filtered, MEMFD_CREATE, "kill"))
    refused(job, "its seccomp filter does not allow what loading a library takes")
    job.stop()
    for number, action in ((CLONE3, "errno"), (PERSONALITY, "kill")):
        job = g.Job(*CREW, agent_path="", gate=False, wrap=functools.partial(filtered, number, action))
        with h.scratch() as d:
            out = h.capture(job.target, d + "/out", *g.PLAN, "--gpu", "inject", open_gate=False)
            h.equal(gpu(out)["state"], "on", "gpu with a filter of %d %s: %s" % (number, action, out.run.err))
        job.stop()


def nothing_to_trace():
    """A job that does not use CUDA is left alone, and so is one that is asked for nothing."""
    with h.scratch() as d:
        import standin_support as s
        t = s.standin("--step-us", 3000, *CREW, gate=False)
        before = mappings(t.pid)
        out = h.capture(t, d + "/out", *g.PLAN, "--gpu", "inject", open_gate=False)
        h.check("does not use CUDA" in gpu(out)["reason"], "gpu: %s" % gpu(out))
        h.equal(mappings(t.pid), before, "mappings")
        t.stop()
        job = g.Job(*CREW, agent_path="", gate=False)
        before = mappings(job.target.pid)
        out = h.capture(job.target, d + "/off", *g.PLAN, "--gpu", "off", open_gate=False)
        h.equal(mappings(job.target.pid), before, "mappings")
        job.stop()


def asked(job):
    done = subprocess.run([MANY, str(job.pid), "check"], stdout=subprocess.PIPE, text=True, timeout=60)
    return json.loads(done.stdout)


def a_static_program():
    job = Waits(program=WAITS + "-static", gate=False)
    before = mappings(job.pid)
    answer = asked(job)
    h.equal((answer["err"], "static" in answer["reason"]), (-95, True), "a static program: %s" % answer)
    h.equal(mappings(job.pid), before, "mappings")
    time.sleep(1)
    job.end()


def library_not_to_be_trusted():
    """The agent beside the program that somebody else could have written is not put into any job."""
    with h.scratch() as d:
        shutil.copy(h.TPBPF, d + "/tpbpf")
        shutil.copy(g.agent(), d + "/libtpbpf-agent.so")
        os.chmod(d + "/libtpbpf-agent.so", 0o777)
        job = g.Job(*CREW, agent_path="", gate=False)
        for spoil in (lambda p: os.chmod(p, 0o777), lambda p: (os.chmod(p, 0o755), os.chown(p, 4711, 4711)), os.unlink):
            spoil(d + "/libtpbpf-agent.so")
            run = subprocess.run([d + "/tpbpf", "-p", str(job.target.pid), "-o", d + "/out", *map(str, g.PLAN), "--gpu", "inject"],
                                 stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=120)
            h.equal(run.returncode, 0, "exit code: " + run.stderr)
            h.check("is not beside tpbpf" in run.stderr, "it does not say so: " + run.stderr)
            h.equal(agents(job.target.pid), [], "agents in the job")
            shutil.rmtree(d + "/out")
        job.stop()


def hidden(directory, argv):
    """In a mount namespace of its own, where this directory is another one."""
    script = 'mount --make-rprivate / && mount -t tmpfs none "$1" && shift && exec "$@"'
    return ["unshare", "--mount", "sh", "-c", script, "sh", directory, *argv]


def in_a_container():
    """Where its file is not: through a memory file, of which nothing is left but what is mapped."""
    with h.scratch() as d:
        place = d + "/tool"
        os.mkdir(place)
        for path in (h.TPBPF, g.agent()):
            shutil.copy(path, place)
        job = g.Job(*CREW, agent_path="", wrap=functools.partial(hidden, place))
        before = descriptors(job.target.pid)
        run = h.Run("-p", job.target.pid, "-o", d + "/out", *g.PLAN, "--gpu", "inject", program=place + "/tpbpf").wait_attached()
        job.target.open_gate()
        run.wait(120).exits(0)
        out = h.Output(d + "/out")
        h.check("through a memory file" in run.err, "it does not say so: " + run.err)
        h.check(float(re.search(r"was held for ([\d.]+) ms", run.err).group(1)) < HELD_MS, "held too long: " + run.err)
        h.equal(agents(job.target.pid), ["/memfd:libtpbpf-agent.so (deleted)"], "agents in the job")
        none_left(job.target.pid, before)
        done, truth = job.stop()
        h.check_output(out)
        h.equal(gpu(out)["state"], "on", "gpu: %s" % gpu(out))
        g.check_all(out, truth, 200)


def one(pid, agent):
    done = subprocess.run([MANY, str(pid), "whole", agent], stdout=subprocess.PIPE, text=True, timeout=60)
    return json.loads(done.stdout)


def innermost(pid):
    """The process that the one that was started has become the parent of."""
    def found():
        with open("/proc/%d/task/%d/children" % (pid, pid)) as f:
            return f.read().split()

    while True:
        children = found()
        if not children:
            return pid
        pid = int(children[0])


def with_memory_file(argv):
    script = "import os, sys; os.memfd_create('libtpbpf-agent.so', 0); os.execv(sys.argv[1], sys.argv[1:])"
    return [sys.executable, "-c", script, *argv]


def what_was_left_is_taken():
    """A memory file of one that was killed before it was through: it is filled, loaded, and closed."""
    with h.scratch() as d:
        os.mkdir(d + "/closed", 0o700)  # so that it goes through a memory file
        agent = shutil.copy(g.agent(), d + "/closed")
        job = Waits(gate=False, wrap=with_memory_file)
        before = descriptors(job.pid)
        left = [n for n in before if "memfd" in os.readlink("/proc/%d/fd/%d" % (job.pid, n))]
        h.equal(len(left), 1, "memory files before")
        answer = one(job.pid, agent)
        h.equal((answer["err"], answer["memory"], answer["taken"]), (0, True, 1), "the injection: %s" % answer)
        none_left(job.pid, [n for n in before if n not in left])
        h.equal(agents(job.pid), ["/memfd:libtpbpf-agent.so (deleted)"], "agents in the job")
        time.sleep(1)
        job.end()


def in_namespaces_of_another_user():
    """User, pid and mount namespaces of its own, /proc too: as a container without root."""
    built()
    import rights_support as r
    r.need_setpriv()
    with h.scratch() as d:
        os.mkdir(d + "/closed", 0o700)  # what it cannot reach
        agent = shutil.copy(g.agent(), d + "/closed")
        argv = ["setpriv", "--reuid=%d" % r.OTHER, "--regid=%d" % r.OTHER, "--clear-groups", "unshare", "-U", "-r", "-p", "-f", "--kill-child", "-m", "--mount-proc", WAITS]
        with open(d + "/out", "w+") as out:
            outer = subprocess.Popen(argv, stdout=out, stderr=out)
            try:
                h.until(lambda: "ready 1\n" in open(d + "/out").read() or outer.poll() is not None, "the job is ready")
                if outer.poll() is not None:
                    h.skip("no user namespaces: " + open(d + "/out").read()[-200:])
                pid = innermost(outer.pid)
                before = descriptors(pid)
                answer = one(pid, agent)
                h.equal((answer["err"], answer["memory"], answer["taken"]), (0, True, 2), "the injection: %s" % answer)
                h.equal(agents(pid), ["/memfd:libtpbpf-agent.so (deleted)"], "agents in the job")
                none_left(pid, before)
                os.kill(pid, signal.SIGTERM)
                h.equal(outer.wait(h.USER), 0, "exit code of the job")
            finally:
                outer.kill()
                outer.wait()
        done = json.loads(open(d + "/out").read().splitlines()[-1])
        h.equal((done["lost"], set(done["wrong"].values())), (0, {0}), "what the job saw: %s" % done)


def with_four_capabilities():
    """Without root, and into a job of another user."""
    import rights_support as r
    r.need_setpriv()
    with h.scratch() as d:
        mine, theirs = r.places(d)
        shutil.copy(g.agent(), d)
        os.chmod(d + "/libtpbpf-agent.so", 0o755)
        job = Waits(gate=False, user=r.OTHER)
        open_before = descriptors(job.pid)
        answer = subprocess.run([*r.with_only(*r.FOUR), MANY, str(job.pid), "whole", d + "/libtpbpf-agent.so"], stdout=subprocess.PIPE, text=True)
        h.equal(json.loads(answer.stdout)["err"], 0, "the injection: %s" % answer.stdout)
        none_left(job.pid, open_before)
        time.sleep(1)
        job.end()
        job = Waits(gate=False, user=r.OTHER)
        answer = subprocess.run([*r.with_only("bpf", "perfmon", "dac_read_search"), MANY, str(job.pid), "whole", d + "/libtpbpf-agent.so"],
                                stdout=subprocess.PIPE, text=True)
        h.check(json.loads(answer.stdout)["err"] in (-1, -13), "without CAP_SYS_PTRACE: %s" % answer.stdout)
        h.equal(agents(job.pid), [], "agents in the job")
        time.sleep(1)
        job.end()


def training(python, d, times):
    """Its weights, with that many injections before and while it trains."""
    stop = d + "/stop"
    with contextlib.suppress(FileNotFoundError):
        os.unlink(stop)
    job = h.Target([python, os.path.join(h.TARGETS, "inject", "training.py"), stop], gate=False)
    if times:
        os.mkdir(d + "/copies")
        many(job, times, d + "/copies")
    open(stop, "w").close()
    if times:
        os.mkdir(d + "/more")
        more = subprocess.Popen([MANY, str(job.pid), "1000", g.agent(), d + "/more"], stdout=subprocess.DEVNULL)
    done = job.finish(120)
    if times:
        more.kill()
        more.wait()
        h.check(os.listdir(d + "/more"), "nothing was put into it while it trained")
    h.equal(done["wrong"], 0, "what the job saw that was not as it should be")
    return done["weights"]


def into_pytorch():
    """Python's own threads: what is trained is bit for bit the same."""
    built()
    python = h.torch_python()
    with h.scratch() as d:
        alone = training(python.path, d, 0)
        h.equal(training(python.path, d, 20), alone, "weights, %s" % python.label)


def told(*args):
    run = h.tpbpf("doctor", *args)
    return {line[9:35].strip(): line for line in run.out.splitlines() if len(line) > 36}


def the_doctor_says_it():
    built()
    h.check(told()["GPU agent"].startswith("ok"), "the agent's file")
    job = g.Job(*CREW, agent_path="", gate=False)
    line = told("-p", job.target.pid)["agent in the job"]
    h.check(re.search(r"\d+ threads wait where one could be taken", line), "a job that it works with: " + line)
    tracer = h.Target([MANY, str(job.target.pid), "hold", "60"], gate=False)
    h.check("does not work: the job is being traced" in told("-p", job.target.pid)["agent in the job"], "a job that is traced")
    tracer.process.kill()
    tracer.process.wait()
    h.equal(agents(job.target.pid), [], "agents in the job")
    job.stop()
    job = g.Job(gate=False)
    h.check("there: GPU activity" in told("-p", job.target.pid)["agent in the job"], "a job that has it")
    job.stop()


if __name__ == "__main__":
    h.main(two_hundred_into_one_job, killed_at_any_moment, the_job_is_killed, the_program_is_killed, the_same_as_preloaded,
           no_thread_waits, traced_by_another, nothing_to_trace,
           behind_a_seccomp_filter, a_static_program, library_not_to_be_trusted, in_a_container, what_was_left_is_taken, in_namespaces_of_another_user,
           with_four_capabilities, into_pytorch, the_doctor_says_it)
