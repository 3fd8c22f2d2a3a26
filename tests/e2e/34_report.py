#!/usr/bin/env python3
"""`tpbpf report` makes the same outputs from capture.raw, as any user and with the job long gone."""
import gzip
import json
import os
import pwd
import subprocess

import harness as h


def as_nobody(directory, *args):
    nobody = pwd.getpwnam("nobody")
    tool = os.path.join(directory, "tpbpf")
    if not os.path.exists(tool):
        subprocess.run(["cp", h.TPBPF, tool], check=True)
    return subprocess.run(["setpriv", "--reuid=%d" % nobody.pw_uid, "--regid=%d" % nobody.pw_gid, "--clear-groups", tool, *args],
                          cwd=directory, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=h.patience(60))


def same(first, second):
    for name in ("steps.csv", "cpu_ops.txt"):
        a, b = (open(os.path.join(o.path, name)).read() for o in (first, second))
        h.equal(b, a, name)
    h.equal(second.trace, first.trace, "trace.json.gz, parsed")
    a, b = (gzip.open(o.trace_path).read() for o in (first, second))
    h.check(a == b, "trace.json.gz differs, unpacked")
    h.equal(os.listdir(second.path + "/trace"), os.listdir(first.path + "/trace"), "name in trace/")
    for part in first.profile:
        if part in ("tool", "files"):
            continue
        h.equal(second.profile[part], first.profile[part], "profile.json: " + part)


def report(directory, raw):
    raw_copy = directory + "/copy.raw"
    subprocess.run(["cp", raw, raw_copy], check=True)
    os.chmod(raw_copy, 0o644)
    os.mkdir(directory + "/open", 0o777)
    os.chmod(directory + "/open", 0o777)
    run = as_nobody(directory, "report", raw_copy, "-o", directory + "/open/again")
    h.equal(run.returncode, 0, "exit code of report: %s" % run.stderr)
    return h.Output(directory + "/open/again")


def complete_capture():
    with h.scratch() as d:
        t = h.torch_target(h.torch_python(), "ranges", "--leak")
        out = h.capture(t, d + "/out", "--keep-raw", "--wait", 2, "--warmup", 2, "--active", 5)
        t.stop()
        h.check_output(out)
        h.check(os.path.getsize(d + "/out/capture.raw") > 100, "capture.raw is empty")
        again = report(d, d + "/out/capture.raw")
        same(out, again)


def partial_capture():
    with h.scratch() as d:
        t = h.torch_target(h.torch_python(), "lesson", gate=False).wait_attempts(3)
        run = h.Run("-p", t.pid, "-o", d + "/out", "-v", "--keep-raw", "--wait", 1, "--warmup", 1, "--active", 1000000).wait_window()
        n = len(t.attempts())
        t.wait_attempts(n + 20)
        run.signal(2).wait().exits(3)
        out = h.Output(d + "/out")
        h.check_output(out, "partial", "interrupted")
        raw = d + "/copy.raw"
        subprocess.run(["cp", d + "/out/capture.raw", raw], check=True)
        os.chmod(raw, 0o644)
        os.mkdir(d + "/open")
        os.chmod(d + "/open", 0o777)
        run = as_nobody(d, "report", raw, "-o", d + "/open/again")
        h.equal(run.returncode, 3, "exit code of report on a partial capture: %s" % run.stderr)
        same(out, h.Output(d + "/open/again"))


def no_raw_file_unless_asked():
    with h.scratch() as d:
        t = h.torch_target(h.torch_python(), "lesson")
        out = h.capture(t, d + "/out", "--wait", 1, "--warmup", 1, "--active", 1)
        h.check(not os.path.exists(d + "/out/capture.raw"), "capture.raw without --keep-raw")
        h.check_output(out)


def damaged_file():
    """A cut or foreign file is refused or read as far as it goes; it never makes the tool die or write nonsense."""
    with h.scratch() as d:
        os.chmod(d, 0o777)
        t = h.torch_target(h.torch_python(), "lesson")
        h.capture(t, d + "/out", "--keep-raw", "--wait", 1, "--warmup", 1, "--active", 2)
        t.stop()
        data = open(d + "/out/capture.raw", "rb").read()
        cases = {"empty": b"", "foreign": b"not a capture" * 50, "one_byte": data[:1], "header_cut": data[:20],
                 "half": data[: len(data) // 2], "last_byte": data[:-1], "zeros": data[: len(data) // 2] + bytes(len(data) // 2),
                 "ones": data[: len(data) // 2] + b"\xff" * 4096}
        for name, content in cases.items():
            path = "%s/%s.raw" % (d, name)
            with open(path, "wb") as f:
                f.write(content)
            os.chmod(path, 0o644)
            run = as_nobody(d, "report", path, "-o", "%s/from_%s" % (d, name))
            h.check(run.returncode in (1, 3), "%s: exit code %d: %s" % (name, run.returncode, run.stderr))
            h.check(run.stderr.strip(), "%s: no word on what is wrong" % name)
            if run.returncode == 3:
                json.load(open("%s/from_%s/profile.json" % (d, name)))
        run = as_nobody(d, "report", d + "/nowhere.raw", "-o", d + "/from_nowhere")
        h.equal(run.returncode, 1, "exit code for a file that is not there")
        h.check("nowhere.raw" in run.stderr and not os.path.exists(d + "/from_nowhere"), "message and directory: %s" % run.stderr)


def directory_in_place():
    with h.scratch() as d:
        t = h.torch_target(h.torch_python(), "lesson")
        h.capture(t, d + "/out", "--keep-raw", "--wait", 1, "--warmup", 1, "--active", 1)
        before = sorted(os.listdir(d + "/out"))
        run = h.tpbpf("report", d + "/out/capture.raw", "-o", d + "/out").exits(1)
        h.check("empty" in run.err, run.err)
        h.equal(sorted(os.listdir(d + "/out")), before, "files")


h.main(complete_capture, partial_capture, no_raw_file_unless_asked, damaged_file, directory_in_place)
