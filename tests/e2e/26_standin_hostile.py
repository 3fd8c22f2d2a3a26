#!/usr/bin/env python3
"""What the target controls is untrusted: names, arguments, environment, and how fast it goes."""
import gzip
import json
import os
import pty
import re
import signal
import subprocess
from unittest import mock

import harness as h
import standin_support as s

PLAN = ("--wait", 1, "--warmup", 2, "--active", 3, "--activities", "ranges")  # the names are those of ranges


def as_bytes(name):
    return name.encode("latin-1")


def read(path):
    with open(path, "rb") as f:
        return f.read()


def strict_trace(path):
    with gzip.open(os.path.join(path, "trace.json.gz"), "rb") as f:
        return s.strict_json(f.read())


def check_names(out, truth):
    """Every range is there; a name that is valid, short text stands in the trace as it was given."""
    trace = strict_trace(out.path)
    s.strict_json(read(out.path + "/profile.json"))
    got = [e["name"] for e in trace["traceEvents"] if e["ph"] == "X" and not e["name"].startswith("ProfilerStep#")]
    want = {as_bytes(name): n for name, n in s.begun(truth).items()}
    h.equal(len(got), sum(want.values()), "ranges in the trace")
    for name, n in want.items():
        try:
            text = name.decode("utf-8")
        except UnicodeDecodeError:
            continue
        if name in (b"", b"<unreadable>") or b"\0" in name:
            continue  # what stands for it is the tool's choice
        if len(name) <= 64:
            h.equal(got.count(text), n, "ranges named %r" % text)
        else:
            whole = lambda g: g.rstrip("\ufffd.\u2026")  # the mark of a cut, if there is one
            cut = [g for g in got if len(g) > 30 and text.startswith(whole(g)[:30]) and text.startswith(whole(g))]
            h.equal(len(cut), n, "beginnings of the name of %d bytes %r..." % (len(name), text[:10]))


def captured_bytes(target, path, *args):
    """tpbpf's two streams as they are, with no terminal."""
    with open(path + ".out", "wb") as out, open(path + ".err", "wb") as err:
        p = subprocess.Popen([h.TPBPF, "-p", str(target.pid), "-v", "-o", path, *map(str, args)], stdin=subprocess.DEVNULL,
                             stdout=out, stderr=err)
    try:
        h.until(lambda: b"attached to " in read(path + ".err") or p.poll() is not None, "tpbpf is attached")
        target.open_gate()
        p.wait(h.patience())
    finally:
        p.kill()
    h.equal(p.returncode, 0, "exit code; it says %r" % read(path + ".err")[-500:])
    return read(path + ".out"), read(path + ".err")


def lost(out):
    return {cause: n for cause, n in out.profile["loss"].items() if n}


def hostile(*args, flavour="standin", gate=True):
    with h.scratch() as d:
        t = s.standin("--hostile-names", "--step-us", 5000, *args, flavour=flavour, gate=gate)
        out, err = captured_bytes(t, d + "/out", *PLAN)
        h.check(t.alive(), "the target ended")
        t.stop()
        s.no_control_bytes(out, "stdout")
        s.no_control_bytes(err, "stderr")
        s.no_control_bytes(read(d + "/out/cpu_ops.txt"), "cpu_ops.txt")
        s.no_control_bytes(read(d + "/out/steps.csv"), "steps.csv")
        output = h.Output(d + "/out")
        truth = s.active_truth(output, t)
        check_names(output, truth)
        table = {name: n for name, n in h.calls(output).items() if name != "ProfilerStep*"}
        h.equal(sum(table.values()), sum(s.begun(truth).values()), "calls in cpu_ops.txt")
        h.check_output(output, lossless=False)
        h.equal(set(lost(output)) - {"name_truncated", "name_unreadable"}, set(), "lost")
        longest = max(len(e["name"]) for e in output.events)
        h.check(lost(output).get("name_truncated") or longest == 10000, "names were cut, and nobody says so")


def hostile_names():
    hostile()


def hostile_names_old_string_abi():
    hostile(flavour="standin-2.4")


def hostile_names_legacy():
    hostile(flavour="standin-1.13")


def on_a_terminal():
    """With progress lines: the tool's own carriage returns and line erasures are all that reaches the terminal."""
    with h.scratch() as d:
        t = s.standin("--hostile-names", "--step-us", 20000)
        master, slave = pty.openpty()
        p = subprocess.Popen([h.TPBPF, "-p", str(t.pid), "-o", d + "/out", *map(str, PLAN)], stdin=slave, stdout=slave, stderr=slave,
                             env={**os.environ, "TERM": "xterm"})
        os.close(slave)
        seen = b""
        while True:
            try:
                data = os.read(master, 65536)
            except OSError:  # EIO: nobody holds the other end any more
                break
            if not data:
                break
            seen += data
            if b"attached to " in seen:
                t.open_gate()
        h.equal(p.wait(h.patience()), 0, "exit code; the terminal shows %r" % seen[-500:])
        t.stop()
        own = re.sub(rb"\x1b\[[0-9;]*[Km]", b"", seen)
        s.no_control_bytes(own, "the terminal", allowed=b"\r\n")
        for sequence in (b"\x1b[31m", b"\x1b]0;", b"\x1b[2J"):
            h.check(sequence not in seen, "the terminal got %r from a name" % sequence)


def hostile_command_line_and_environment():
    with h.scratch() as d:
        gate = d + "/gate-\x1b[31m\x1b]0;owned\x07\n\"quote\\"
        environment = {"RANK": "1\x1b[31m; x", "LOCAL_RANK": "-5", "WORLD_SIZE": "99999999999999999999", "MASTER_ADDR": "\x1b[2J"}
        t = s.standin("--step-us", 5000, "--gate", gate, gate=False, env=environment)
        listed = subprocess.run([h.TPBPF, "list"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=h.patience())
        h.check(str(t.pid).encode() in listed.stdout, "the target is not in the list: %r" % listed)
        s.no_control_bytes(listed.stdout, "tpbpf list")
        t.gate = gate
        out, err = captured_bytes(t, d + "/out", *PLAN)
        s.no_control_bytes(out, "stdout")
        s.no_control_bytes(err, "stderr")
        t.stop()
        job = s.strict_json(read(d + "/out/profile.json"))["job"]
        h.check("owned" in str(job["command_line"]), "command line: %r" % job["command_line"])
        for key in ("rank", "local_rank", "world_size"):
            h.equal(job[key], None, key)
        h.equal(strict_trace(d + "/out")["distributedInfo"]["rank"], 0, "rank in the trace")


def outputs_are_clean(run, out):
    for what, text in (("stdout", run.out), ("stderr", run.err)):
        s.no_control_bytes(text.encode(), what)
    for name in ("cpu_ops.txt", "cpu_memory.txt", "steps.csv"):
        s.no_control_bytes(read(out.path + "/" + name), name)
    strict_trace(out.path)
    s.strict_json(read(out.path + "/profile.json"))


def lied_to(flavour, *lies, code, allowed):
    """Every pointer that is read leads nowhere, or to what is not there: calls are counted all the same, and the job computes as ever."""
    args = ("--operators", 1, "--step-us", 2000, "--attempts", 60, *lies)
    alone = s.unwatched(*args, flavour=flavour)
    with h.scratch() as d:
        t = s.standin(*args, flavour=flavour)
        out = h.capture(t, d + "/out", "--wait", 1, "--warmup", 2, "--active", 3, "--record-shapes", "--group-by", "shape", "--exact", *s.ALL,
                        code=code, seconds=200)
        s.same_result(t.finish(200), alone)
        outputs_are_clean(out.run, out)
        with mock.patch.object(h, "check_tables"):  # which takes names and sizes that fit the columns for granted
            h.check_output(out, lossless=False)
        h.check("" not in {e["name"] for e in out.events}, "a call without any name")
        h.equal(set(lost(out)) - set(allowed), set(), "causes of loss")
        truth = s.active_truth(out, t)
        want = s.Calls(truth, flavour).counts()
        got = {}
        for e in out.events:
            if s.is_call(e):
                got[e["name"]] = got.get(e["name"], 0) + 1
        operators = lambda counts: {name: n for name, n in counts.items() if name.startswith("aten::")}
        s.same_counts(operators(got), operators(want), "operators")
        outer = lambda counts: sum(n for name, n in counts.items() if name.startswith(s.OUTER))
        h.equal(outer(got), outer(want), "nodes, whatever they are called")
        return out


def pointers_that_lie():
    h.need_bulk()
    for flavour in s.FLAVOURS:
        out = lied_to(flavour, "--lies", code=0, allowed={"name_unreadable", "name_truncated", "argument_unreadable"})
        h.check(lost(out).get("name_unreadable"), "no name was unreadable: this test shows nothing")


def memory_that_cannot_be():
    """Sizes beyond any address space are no events: they are counted as what failed validation."""
    h.need_bulk()
    lied_to("standin", "--lies", "--memory-lies", code=3, allowed={"name_unreadable", "name_truncated", "argument_unreadable", "bad_record"})


def burst():
    """A million ranges in an attempt, as fast as it goes: all of them, or the loss is counted and said."""
    with h.scratch() as d:
        t = s.standin("--step-us", 0, "--range-rate", 1000000)
        run = h.Run("-p", t.pid, "-o", d + "/out", "--wait", 1, "--warmup", 1, "--active", 1, "--activities", "ranges").wait_attached()
        t.open_gate()
        run.wait(200)
        h.check(t.alive(), "the target ended")
        h.check_unmodified(t.pid)
        t.stop()
        with open(d + "/out/profile.json") as f:
            profile = json.load(f)
        with gzip.open(d + "/out/trace.json.gz", "rb") as f:  # too large to be parsed for pleasure
            bursts = sum(line.count(b'"burst"') for line in f)
        loss = {cause: n for cause, n in profile["loss"].items() if n}
        h.equal((profile["window"]["state"], profile["window"]["active_attempts"]), ("complete", 1), "window")
        h.equal(run.code, 3 if loss else 0, "exit code with loss %s" % loss)
        if loss:
            # the others of the attempt may be among the lost ones
            begun = {sum(row["begun"].values()) - sum(row["merged"].values()) for row in t.attempts()[1:]}
            h.equal(len(begun), 1, "numbers of ranges in an attempt")
            seen = sum(s.without_steps(s.count_rows(profile["regions"])).values())
            h.equal(seen + profile["rings"]["lost"]["range_begins"], begun.pop(), "ranges in the tables, and lost")
            h.equal(bursts, s.count_rows(profile["regions"])["burst"], "bursts in the trace, and in the tables")
            h.check("lost" in (run.out + run.err).lower(), "the loss is not said: %s" % run.out)
        else:
            h.equal(bursts, 1000000, "ranges in the trace")


def stopped_collector():
    """tpbpf does not run while the ring fills: what did not fit is counted, attempts are counted all the same."""
    with h.scratch() as d:
        alone = s.unwatched("--step-us", 1000, "--range-rate", 200000, "--attempts", 14)
        t = s.standin("--step-us", 1000, "--range-rate", 200000, "--attempts", 14)
        run = h.Run("-p", t.pid, "-v", "-o", d + "/out", "--wait", 1, "--warmup", 2, "--active", 6, "--activities", "ranges").wait_attached()
        t.open_gate()
        run.wait_window()
        t.wait_attempts(3)
        run.signal(signal.SIGSTOP)
        t.wait_attempts(10, 120)
        run.signal(signal.SIGCONT)
        run.wait(300).exits(3)
        s.same_result(t.finish(120), alone)
        out = h.Output(d + "/out")
        h.check(lost(out), "nothing was lost: %s" % out.profile["loss"])
        h.check("lost" in (run.out + run.err).lower(), "the loss is not said: %s" % run.out)
        h.equal(len(out.in_phase("active")), 6, "active attempts")
        h.equal([x.attempt for x in out.steps], list(range(len(out.steps))), "attempt numbers")
        strict_trace(out.path)
        h.check(len(out.named("burst")) <= 6 * 200000, "more ranges than there were")


h.main(hostile_names, hostile_names_old_string_abi, hostile_names_legacy, on_a_terminal, hostile_command_line_and_environment,
       pointers_that_lie, memory_that_cannot_be, burst, stopped_collector)
