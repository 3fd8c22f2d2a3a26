#!/usr/bin/env python3
"""Root writes where another user may change every name: what lies elsewhere stays as it is, whatever becomes of the outputs."""
import collections
import json
import os
import re
import shutil
import stat
import subprocess
import sys

import harness as h
import rights_support as r
import standin_support as s

SHORT = ("--wait", 1, "--warmup", 1, "--active", 2, "--activities", "ranges")  # few records: on a busy machine none is lost
STEP = ("--step-us", 2000, "--ranges", 3)
RACER = os.path.join(h.TARGETS, "racer.py")
ROUNDS = ["all", "all", "all", "trace", "trace.json.gz", "trace", "trace.json.gz", "trace", ".trace.json.gz.tmp", ".steps.csv.tmp"]


def job():
    return s.standin(*STEP, gate=False, user=r.OTHER).wait_attempts(2)


class Victim:
    """A directory and a file of root's: nothing of them may change."""

    def __init__(self, directory):
        self.path = os.path.join(directory, "victim")
        os.mkdir(self.path, 0o755)
        with open(self.path + "/file", "w") as f:
            f.write("precious")
        os.chmod(self.path + "/file", 0o600)
        self.before = self.state()

    def state(self):
        rows = {}
        for name in [""] + os.listdir(self.path):
            st = os.lstat(os.path.join(self.path, name))
            links = 0 if stat.S_ISDIR(st.st_mode) else st.st_nlink
            rows[name] = (st.st_mode, st.st_uid, st.st_gid, links, st.st_mtime_ns, st.st_ino)
        with open(self.path + "/file") as f:
            rows["content"] = f.read()
        return rows

    def check(self, what):
        h.equal(self.state(), self.before, "the directory of somebody else after " + what)


def slowed():
    """Holds tpbpf up where it changes names, so that there is time to come in between."""
    if not shutil.which("strace") or r.is_sanitized():
        return ()
    return ("strace", "-f", "--seccomp-bpf", "-o", "/dev/null", "-e", "trace=linkat,renameat,mkdirat", "-e",
            "inject=linkat,renameat,mkdirat:delay_enter=15000:delay_exit=15000")


def race(env, uid):
    """Captures one after the other into a directory whose owner changes all names as fast as it can."""
    with h.scratch() as d:
        victim = Victim(d)
        shared = d + "/shared"
        os.mkdir(shared)
        os.chown(shared, r.OTHER, r.OTHER)
        os.chmod(shared, 0o777)  # so that whoever writes can
        racer_path = d + "/racer.py"
        with open(RACER) as f, open(racer_path, "w") as g:
            g.write(f.read())
        t = job()
        codes, done = [], collections.Counter()
        for number, only in enumerate(ROUNDS):
            name = "out%d" % number
            if number:  # also what is in it is the owner's to change
                os.mkdir(os.path.join(shared, name))
                os.chown(os.path.join(shared, name), r.OTHER, r.OTHER)
                os.chmod(os.path.join(shared, name), 0o777)
            racer = subprocess.Popen(["setpriv", "--reuid=%d" % r.OTHER, "--regid=%d" % r.OTHER, "--clear-groups", sys.executable, racer_path,
                                      shared, name, victim.path, "600", only], stdout=subprocess.PIPE, text=True)
            try:
                racer.stdout.readline()
                run = h.tpbpf("-p", t.pid, "-o", "%s/%s" % (shared, name), "--keep-raw", *SHORT, seconds=120, env=env, prefix=slowed())
                codes.append(run.code)
                h.check(run.code in (0, 1, 3), "exit code %s: %s" % (run.code, run.err))
                told = shared in run.err or "LOST" in run.out  # held up, it may also lose records
                h.check(run.code == 0 or told, "no reason is told: %s%s" % (run.out, run.err))
            finally:
                racer.terminate()
                done.update(json.loads(racer.communicate()[0]))
            victim.check("capture %d (%s)" % (number, run.err[-500:]))
            for path, _, files in os.walk(shared):
                for f in files:
                    st = os.lstat(os.path.join(path, f))
                    h.check(st.st_uid in (uid, r.OTHER), "%s/%s belongs to %d" % (path, f, st.st_uid))
            h.check_unmodified(t.pid)
        print("exit codes %s; %s" % (codes, dict(done)))
        h.check(any(codes[:3]) and done["swap trace"] and done["swap trace.json.gz"], "not every change came in between: %s, %s" % (codes, dict(done)))
        h.check(t.alive(), "the job ended")


def root_where_somebody_else_changes_all_names():
    r.need_setpriv()
    race({}, 0)


def who_called_sudo_where_somebody_else_changes_all_names():
    r.need_setpriv()
    race({"SUDO_UID": str(r.USER), "SUDO_GID": str(r.USER)}, r.USER)


def links_of_others_are_not_followed():
    """As root: whoever owns the link could turn it elsewhere. As who called sudo it is that user's business."""
    with h.scratch() as d:
        victim = Victim(d)
        os.mkdir(d + "/theirs")
        os.symlink(victim.path, d + "/theirs/link")
        os.lchown(d + "/theirs/link", r.OTHER, r.OTHER)
        t = job()
        run = h.tpbpf("-p", t.pid, "-o", d + "/theirs/link/out", *SHORT).exits(1)
        h.check("another user" in run.err and "theirs/link/out" in run.err, "the message does not say why: %s" % run.err)
        victim.check("a capture through a link")
        os.symlink(d + "/theirs", d + "/link")
        h.tpbpf("-p", t.pid, "-o", d + "/link/out", *SHORT).exits(0)
        h.check_output(h.Output(d + "/theirs/out"))


def what_stands_in_place_of_the_directory():
    """Pipes, devices, sockets, links: refused at once, and nothing is opened."""
    with h.scratch() as d:
        victim = Victim(d)
        t = job()
        os.mkfifo(d + "/pipe")
        os.mknod(d + "/device", stat.S_IFCHR | 0o666, os.makedev(1, 7))  # /dev/full
        os.symlink(victim.path, d + "/link")
        os.symlink("link", d + "/second")
        for name in ("pipe", "device", "link", "second", "link/", "pipe/out", "device/out"):
            run = h.tpbpf("-p", t.pid, "-o", d + "/" + name, *SHORT, seconds=20).exits(1)
            h.check(d in run.err, "the message does not name the directory: %s" % run.err)
        victim.check("captures into what is no directory")


def where_the_caller_may_not_write():
    """The files are root's then, not given away: a directory of that user's must not appear where the user could not make one."""
    with h.scratch() as d:
        t = job()
        env = {"SUDO_UID": str(r.USER), "SUDO_GID": str(r.USER)}
        run = h.tpbpf("-p", t.pid, "-o", d + "/out", *SHORT, env=env).exits(0)
        h.check(re.search(r"%d.*may not write" % r.USER, run.err), "the message does not say whose the files are: %s" % run.err)
        h.equal(r.owners(d + "/out"), {(0, 0)}, "owners")
        os.mkdir(d + "/closed", 0o755)
        h.tpbpf("-p", t.pid, "-o", d + "/closed", *SHORT, env=env).exits(0)
        h.equal(r.owners(d + "/closed"), {(0, 0)}, "owners")
        h.check_output(h.Output(d + "/closed"))


def a_directory_that_was_there_stays_whose_it_was():
    with h.scratch() as d:
        t = job()
        os.mkdir(d + "/out")
        os.chown(d + "/out", r.OTHER, r.OTHER)
        os.chmod(d + "/out", 0o777)
        h.tpbpf("-p", t.pid, "-o", d + "/out", *SHORT, env={"SUDO_UID": str(r.USER), "SUDO_GID": str(r.USER)}).exits(0)
        h.equal(os.stat(d + "/out").st_uid, r.OTHER, "owner of the directory")
        h.equal(os.stat(d + "/out/profile.json").st_uid, r.USER, "owner of a file")
        h.check_output(h.Output(d + "/out"))


def report_writes_as_who_called_sudo():
    with h.scratch() as d:
        t = job()
        h.tpbpf("-p", t.pid, "-o", d + "/out", "--keep-raw", *SHORT).exits(0)
        os.mkdir(d + "/mine")
        os.chown(d + "/mine", r.USER, r.USER)
        h.tpbpf("report", d + "/out/capture.raw", "-o", d + "/mine/out", env={"SUDO_UID": str(r.USER), "SUDO_GID": str(r.USER)}).exits(0)
        h.equal(r.owners(d + "/mine/out"), {(r.USER, r.USER)}, "owners")


h.main(root_where_somebody_else_changes_all_names, who_called_sudo_where_somebody_else_changes_all_names, links_of_others_are_not_followed,
       what_stands_in_place_of_the_directory, where_the_caller_may_not_write, a_directory_that_was_there_stays_whose_it_was,
       report_writes_as_who_called_sudo)
