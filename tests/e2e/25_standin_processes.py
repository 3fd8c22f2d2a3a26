#!/usr/bin/env python3
"""Processes beside the target: forked workers, another job on the same library, another tpbpf, namespaces, a deleted library."""
import os
import shutil
import subprocess
import time

import harness as h
import standin_support as s

PLAN = ("--wait", 2, "--warmup", 2, "--active", 5)


def workers_of(target):
    return [int(line.split()[1]) for line in target.lines() if line.startswith("worker ")]


def fork_workers(at, plan=PLAN):
    """The workers are forked while the target is probed, so they inherit what is written in its code."""
    args = ("--step-us", 20000, "--fork-workers", 3, "--worker-iterations", 300)
    alone = s.unwatched(*args, "--fork-at", 0, "--attempts", 1)
    with h.scratch() as d:
        t = s.standin(*args, "--fork-at", at)
        out = h.capture(t, d + "/out", *plan)
        pids = workers_of(t)
        h.equal(len(pids), 3, "forked workers")
        for pid in [t.pid, *pids]:
            h.check_unmodified(pid)
        done = t.stop()
        h.equal(done["worker_statuses"], [0, 0, 0], "how the workers ended")
        h.equal(done["worker_checksums"], alone["worker_checksums"], "what the workers computed")
        h.check_output(out)
        s.check_counts(out, s.active_truth(out, t))  # nothing of the workers'


def forked_in_wait():
    fork_workers(0)


def forked_in_active():
    fork_workers(6, ("--wait", 2, "--warmup", 2, "--active", 15))


def another_job_takes_no_breakpoint():
    with h.scratch() as d:
        other = s.standin("--step-us", 1000, "--attempts", 2000)
        alone = s.unwatched("--step-us", 1000, "--attempts", 2000)
        t = s.standin("--step-us", 10000)
        h.equal(h.libraries_mapped(other.pid), h.libraries_mapped(t.pid), "the library of both")
        with s.capturing(t, "--wait", 2, "--warmup", 2, "--active", 20) as (run, path):
            run.wait_window()
            other.open_gate()
            h.check(h.modified_code_bytes(t.pid), "no probe is in the target: this test shows nothing")
            while run.running():
                h.equal(h.modified_code_bytes(other.pid), [], "bytes changed in the other job")
                time.sleep(0.02)
            run.wait().exits(0)
            out = h.Output(path)
            h.check_output(out)
        s.same_result(other.finish(), alone)
        t.stop()
        s.check_counts(out, s.active_truth(out, t))


def two_captures_side_by_side():
    with h.scratch() as d:
        a, b = s.standin("--step-us", 5000, "--ranges", 1), s.standin("--step-us", 4000, "--ranges", 5)
        runs = [h.Run("-p", t.pid, "-o", "%s/%d" % (d, t.pid), *PLAN) for t in (a, b)]
        for run, t in zip(runs, (a, b)):
            run.wait_attached()
            t.open_gate()
        for run, t in zip(runs, (a, b)):
            run.wait().exits(0)
            h.check_unmodified(t.pid)
        for t in (a, b):
            t.stop()
            out = h.Output("%s/%d" % (d, t.pid))
            h.check_output(out)
            s.check_counts(out, s.active_truth(out, t))


def second_capture_of_one_target_is_refused():
    with h.scratch() as d:
        t = s.standin("--step-us", 10000)
        with s.capturing(t, "--wait", 2, "--warmup", 2, "--active", 30) as (run, path):
            second = h.tpbpf("-p", t.pid, "-o", d + "/second", *PLAN).exits(5)
            h.check(str(t.pid) in second.err and not second.out, "what it says: %r %r" % (second.out, second.err))
            h.check(not os.path.exists(d + "/second"), "the refused capture left files")
            run.wait().exits(0)
            out = h.Output(path)
            h.check_output(out)
        t.stop()
        s.check_counts(out, s.active_truth(out, t))


def copied(directory, flavour="standin"):
    s.built()
    shutil.copytree(os.path.join(h.BUILD, flavour), directory)
    return directory


def changed_library(change):
    with h.scratch() as d:
        home = copied(d + "/job")
        t = s.standin("--step-us", 3000, path=home + "/standin")
        change(home)
        out = h.capture(t, d + "/out", *PLAN)
        h.check_unmodified(t.pid)
        t.stop()
        h.check_output(out)
        s.check_counts(out, s.active_truth(out, t))


def deleted_library():
    changed_library(lambda home: os.unlink(home + "/torch/lib/libtorch_cpu.so"))


def library_replaced_by_another():
    """What the path names now is another build, with its functions elsewhere."""

    def change(home):
        path = home + "/torch/lib/libtorch_cpu.so"
        os.unlink(path)
        shutil.copy(os.path.join(h.BUILD, "standin-1.13/torch/lib/libtorch_cpu.so"), path)

    changed_library(change)


def library_replaced_by_garbage():
    def change(home):
        path = home + "/torch/lib/libtorch_cpu.so"
        os.unlink(path)
        with open(path, "wb") as f:
            f.write(b"\x7fELF" + os.urandom(5000))

    changed_library(change)


def everything_deleted():
    changed_library(shutil.rmtree)


def own_namespaces():
    """Its pid is 1 where it lives, and its library is on a file system that only it sees."""
    if subprocess.run(["unshare", "-p", "-m", "--fork", "--mount-proc", "true"], stderr=subprocess.DEVNULL).returncode:
        h.skip("no pid and mount namespaces here")
    with h.scratch() as d:
        s.built()
        inside = d + "/inside"
        os.mkdir(inside)
        script = "mount -t tmpfs tmpfs %s && cp -r %s/standin %s/ && exec %s/standin/standin \"$@\"" % (inside, h.BUILD, inside, inside)
        own = ["unshare", "-p", "-m", "--fork", "--kill-child", "--mount-proc"]
        t = h.Target([*own, "sh", "-c", script, "sh", "--step-us", "3000", "--threads", "3"], wait=False)
        h.until(lambda: "ready 1" in t.lines(), "the target in its namespaces is ready")
        h.equal(os.listdir(inside), [], "the library as seen from outside")
        with open("/proc/%d/task/%d/children" % (t.pid, t.pid)) as f:
            host_pid = int(f.read().split()[0])
        run = h.Run("-p", host_pid, "-o", d + "/out", *PLAN).wait_attached()
        t.open_gate()
        run.wait().exits(0)
        h.check_unmodified(host_pid)
        os.kill(host_pid, 15)
        t.finish()
        out = h.Output(d + "/out")
        h.check_output(out)
        s.check_counts(out, s.active_truth(out, t))
        h.equal((out.profile["job"]["pid"], out.profile["job"]["namespace_pid"]), (host_pid, 1), "pids")
        h.equal({e["pid"] for e in out.events}, {1}, "pids in the trace")
        tids = {e["tid"] for e in out.events}
        h.check(1 in tids and len(tids) == 4 and max(tids) < 50, "thread numbers in the trace are those of the namespace: %s" % sorted(tids))


h.main(forked_in_wait, forked_in_active, another_job_takes_no_breakpoint, two_captures_side_by_side, second_capture_of_one_target_is_refused,
       deleted_library, library_replaced_by_another, library_replaced_by_garbage, everything_deleted, own_namespaces)
