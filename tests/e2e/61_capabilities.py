#!/usr/bin/env python3
"""What tpbpf may do is given up phase by phase; and what it can do without root, with four capabilities, with fewer, and with more."""
import os
import shutil
import signal
import subprocess
import threading
import time

import harness as h
import rights_support as r
import standin_support as s

PLAN = ("--wait", 2, "--warmup", 2, "--active", 3)
SHORT = (*PLAN, "--activities", "ranges")  # few records: on a busy machine none is lost
STEP = ("--step-us", 20000, "--ranges", 3, "--operators", 1)


def reads(path):
    with open(path) as f:
        return f.read()


# ---- what is given up, and when --------------------------------------------------------------------------------------


class Watch:
    """The capabilities of a process and its children for as long as it runs, by what it has said so far."""

    def __init__(self, run):
        self.run, self.seen, self.children, self.stop = run, [], [], False
        self.thread = threading.Thread(target=self.look, daemon=True)
        self.thread.start()

    def look(self):
        while not self.stop and self.run.running():
            said = self.run.err
            try:
                status = r.status(self.run.pid)
                self.seen.append((said, r.capabilities_of(status), status["NoNewPrivs"]))
                for pid in reads("/proc/%d/task/%d/children" % (self.run.pid, self.run.pid)).split():
                    self.children.append((said, r.status(int(pid))["Name"], r.capabilities(int(pid))))
            except (OSError, KeyError, ValueError):
                pass
            time.sleep(0.001)

    def end(self):
        self.stop = True
        self.thread.join()
        return self

    def since(self, text, until=None):
        return [row for row in self.seen if text in row[0] and not (until and until in row[0])]


def watched(*args, env=None, attempts=12, owner=0):
    """A capture as root in a directory of owner's, with one look after the other at what it may do."""
    with h.scratch() as d:
        os.chown(d, owner, owner)
        t = s.standin(*STEP, gate=False, user=r.OTHER).wait_attempts(2)
        run = h.Run("-p", t.pid, "-v", "-o", d + "/out", "--wait", attempts, "--warmup", 2, "--active", 3, *args, env=env)
        watch = Watch(run)
        run.wait(120)
        h.check(run.code == 0 or (run.code == 3 and "LOST" in run.out), "exit code %d: %s%s" % (run.code, run.out, run.err))  # a busy machine
        watch.end()
        h.check_unmodified(t.pid)
        return watch


def nothing_is_held_while_the_job_is_read():
    """From the moment that it says that it is attached to its end, in every phase: no capability at all."""
    h.need_bulk("to give everything up as early needs")
    sudo = {"SUDO_UID": str(r.USER), "SUDO_GID": str(r.USER)}
    for env, owner in (({}, 0), (sudo, r.USER), (sudo, 0)):
        watch = watched(env=env, owner=owner)
        for begin, end in (("attached to", "window probes attached"), ("window probes attached", "window probes in place"),
                           ("window probes in place", "window probes detached"), ("window probes detached", None)):
            rows = watch.since(begin, end)
            h.check(rows, "no look between %r and %r" % (begin, end))
            h.equal({caps for _, caps, _ in rows}, {(0, 0, 0, 0)}, "capabilities after %r" % begin)
        h.equal({locked for _, _, locked in watch.since("attached to")}, {"1"}, "no_new_privs")


def root_in_a_directory_of_another_user():
    """What takes a capability to write to is written to with that one alone."""
    h.need_bulk("to give everything up as early needs")
    rows = watched(owner=r.OTHER).since("attached to")
    one = r.mask("dac_override")
    h.equal({caps for _, caps, _ in rows}, {(one, one, 0, 0)}, "capabilities")


def children_hold_nothing():
    """Those that take probes off; and those that put the window's on."""
    h.need_bulk("to give everything up as early needs")
    watch = watched()
    rows = [row for row in watch.children if "attached to" in row[0]]
    h.check(any(name == "tpbpf-links" for _, name, _ in rows), "no child was seen: %s" % rows)
    h.equal({caps for _, _, caps in rows}, {(0, 0, 0, 0)}, "capabilities of the children")


def at_the_start_only_what_a_capture_may_need():
    """Before anything is looked at: nothing of networks, modules, devices, other users' signals and so on."""
    allowed = r.mask("bpf", "perfmon", "sys_admin", "sys_ptrace", "dac_read_search", "checkpoint_restore", "sys_nice", "dac_override")
    allowed |= 1 << 6 | 1 << 7  # setgid, setuid: to be who called sudo
    watch = watched()
    early = [caps for said, caps, locked in watch.seen if "attached to" not in said and locked == "1"][1:]  # the first may be half way
    h.check(early, "no look before it was attached")
    for _, held, inheritable, ambient in early:
        h.equal((held & ~allowed, inheritable, ambient), (0, 0, 0), "capabilities at the start beyond what a capture needs")


def one_by_one_they_stay_until_the_last_probe():
    """Each perf event is asked for anew: what attaching takes goes when nothing more will be attached."""
    watch = watched("--attach", "single")
    needed = r.mask("bpf", "perfmon", "sys_admin")
    rows = [held for _, (_, held, _, _), _ in watch.since("attached to")]
    before = [held for _, (_, held, _, _), _ in watch.since("attached to", "window probes attached")]
    h.check(before, "no look before the window's probes are attached")
    h.equal(set(before), {needed}, "capabilities held before the window's probes are attached")
    h.equal(rows, sorted(rows, reverse=True), "capabilities in the order of time")
    h.equal((set(rows), rows[-1]), ({needed, 0}, 0), "capabilities held, and at the end")


# ---- without root ----------------------------------------------------------------------------------------------------


def four_capabilities():
    """A job of another user, every activity; counts are the target's own."""
    h.need_bulk("a capture without CAP_SYS_ADMIN needs")
    with h.scratch() as d:
        mine, _ = r.places(d)
        t = s.standin(*STEP, user=r.OTHER, env={"RANK": "3", "WORLD_SIZE": "8"})
        run = r.Run(d, "-p", t.pid, "-o", mine + "/out", *PLAN, "--record-shapes", *s.ALL).wait_attached()
        h.equal(r.capabilities(run.pid), (0, 0, 0, 0), "capabilities while it waits")
        t.open_gate()
        run.wait(120).exits(0)
        out = h.Output(mine + "/out")
        t.stop()
        h.check_output(out)
        truth = s.active_truth(out, t)
        s.check_counts(out, truth)
        s.check_calls(out, s.Calls(truth))
        h.equal((out.profile["job"]["rank"], out.profile["job"]["world_size"]), (3, 8), "rank")
        h.equal(r.owners(mine + "/out"), {(r.USER, r.USER)}, "owners of the outputs")


def four_capabilities_and_pytorch():
    h.need_bulk("a capture without CAP_SYS_ADMIN needs")
    with h.scratch() as d:
        mine, _ = r.places(d)
        t = h.torch_target(h.torch_python(), "lesson")
        run = r.Run(d, "-p", t.pid, "-o", mine + "/out", *PLAN).wait_attached()
        t.open_gate()
        run.wait(240).exits(0)
        h.check_unmodified(t.pid)
        t.stop()
        out = h.Output(mine + "/out")
        h.check_output(out)
        h.check(any(e["name"].startswith("aten::") for e in out.events), "no operator was recorded")
        h.equal(r.owners(mine + "/out"), {(r.USER, r.USER)}, "owners of the outputs")


def given_to_the_file():
    """As an administrator would do it: setcap on the program, for whoever may run it."""
    h.need_bulk("a capture without CAP_SYS_ADMIN needs")
    setcap = shutil.which("setcap") or shutil.which("setcap", path="/usr/sbin:/sbin") or h.skip("no setcap (libcap2-bin)")
    r.need_setpriv()
    with h.scratch() as d:
        mine, _ = r.places(d)
        tool = r.installed(d)
        made = subprocess.run([setcap, ",".join("cap_" + name for name in r.FOUR) + "=ep", tool], stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True)
        if made.returncode:
            h.skip("the file system keeps no capabilities: " + made.stdout)
        t = s.standin(*STEP, gate=False, user=r.OTHER).wait_attempts(2)
        done = r.without_capabilities([tool, "-p", str(t.pid), "-o", mine + "/out", *map(str, SHORT)], r.USER)
        h.equal(done.returncode, 0, "exit code: %s" % done.stdout)
        h.check_output(h.Output(mine + "/out"))
        h.equal(r.owners(mine + "/out"), {(r.USER, r.USER)}, "owners of the outputs")
        what_the_file_gives_is_not_the_users(d, tool, t)


def what_the_file_gives_is_not_the_users(d, tool, target):
    """To read every file and to search every directory is for looking at jobs: neither report nor -o hand it on."""
    secret = d + "/secret"
    os.mkdir(secret, 0o700)
    os.mkdir(secret + "/open")
    os.chmod(secret + "/open", 0o777)
    shutil.copy("/etc/passwd", secret + "/open/file")
    for args in (["report", secret + "/open/file", "-o", d + "/mine/report"], ["-p", str(target.pid), "-o", secret + "/open/out"]):
        done = r.without_capabilities([tool, *args], r.USER)
        h.equal(done.returncode, 1, "exit code of %s: %s" % (args, done.stdout))
        h.check("Permission denied" in done.stdout, "%s: %s" % (args, done.stdout))
    h.equal(sorted(os.listdir(secret + "/open")), ["file"], "files in the directory that is closed to the user")
    h.equal(os.path.exists(d + "/mine/report"), False, "a directory of a report that failed")


def refused(d, target, words, *args, caps, code=5):
    run = r.run(d, "-p", target.pid, "-o", d + "/mine/out", *SHORT, *args, caps=caps).exits(code)
    for word in words:
        h.check(word in run.err, "with %s alone the message does not say %r: %s" % (caps, word, run.err))
    h.check(not os.path.exists(d + "/mine/out"), "a directory was made")
    h.check_unmodified(target.pid)


def three_of_four():
    """Each is needed, and the message says what for."""
    with h.scratch() as d:
        r.places(d)
        t = s.standin(*STEP, gate=False, user=r.OTHER).wait_attempts(2)
        refused(d, t, ["load", "doctor"], caps=("perfmon", "sys_ptrace", "dac_read_search"))
        refused(d, t, ["load", "doctor"], caps=("bpf", "sys_ptrace", "dac_read_search"))
        refused(d, t, ["not permitted to look into"], caps=("bpf", "perfmon", "dac_read_search"))


def files_that_only_the_job_may_read():
    h.need_bulk("a capture without CAP_SYS_ADMIN needs")
    with h.scratch() as d:
        mine, theirs = r.places(d)
        t = s.standin(*STEP, path=r.private_standin(theirs), gate=False, user=r.OTHER).wait_attempts(2)
        refused(d, t, ["cannot be opened"], caps=("bpf", "perfmon", "sys_ptrace"))
        r.run(d, "-p", t.pid, "-o", mine + "/out", *SHORT).exits(0)
        h.check_output(h.Output(mine + "/out"))


def own_job():
    """Of one's own user two are enough."""
    h.need_bulk("a capture without CAP_SYS_ADMIN needs")
    with h.scratch() as d:
        mine, _ = r.places(d)
        t = s.standin(*STEP, gate=False, user=r.USER).wait_attempts(2)
        r.run(d, "-p", t.pid, "-o", mine + "/out", *SHORT, caps=("bpf", "perfmon")).exits(0)
        h.check_output(h.Output(mine + "/out"))


def who_called_sudo_sees_what_root_sees():
    """Files are made as that user; the job is looked at as root all the same."""
    with h.scratch() as d:
        mine, theirs = r.places(d)
        t = s.standin(*STEP, path=r.private_standin(theirs), gate=False, user=r.OTHER, env={"RANK": "5"}).wait_attempts(2)
        h.tpbpf("-p", t.pid, "-o", mine + "/out", *SHORT, env={"SUDO_UID": str(r.USER), "SUDO_GID": str(r.USER)}).exits(0)
        out = h.Output(mine + "/out")
        h.check_output(out)
        h.equal(out.profile["job"]["rank"], 5, "rank")
        h.equal(r.owners(mine + "/out"), {(r.USER, r.USER)}, "owners of the outputs")


def deleted_library():
    """What is mapped is opened through /proc/PID/map_files, and that takes a fifth one."""
    h.need_bulk("a capture without CAP_SYS_ADMIN needs")
    with h.scratch() as d:
        mine, theirs = r.places(d)
        program = r.private_standin(theirs)
        t = s.standin(*STEP, path=program, gate=False, user=r.OTHER).wait_attempts(2)
        shutil.rmtree(os.path.dirname(program) + "/torch/lib")
        refused(d, t, ["CAP_CHECKPOINT_RESTORE"], caps=r.FOUR)
        r.run(d, "-p", t.pid, "-o", mine + "/out", *SHORT, caps=(*r.FOUR, "checkpoint_restore")).exits(0)
        h.check_output(h.Output(mine + "/out"))


def one_by_one():
    """Takes CAP_SYS_ADMIN, but on kernels without commit ba677dbe77af."""
    with h.scratch() as d:
        mine, _ = r.places(d)
        t = s.standin(*STEP, gate=False, user=r.OTHER).wait_attempts(2)
        run = r.run(d, "-p", t.pid, "-o", mine + "/out", *SHORT, "--attach", "single")
        if run.code:
            run.exits(5)
            h.check("CAP_SYS_ADMIN" in run.err, "the message does not say what it takes: %s" % run.err)
            h.check(not os.path.exists(mine + "/out"), "a directory was made")
            run = r.run(d, "-p", t.pid, "-o", mine + "/out", *SHORT, "--attach", "single", caps=(*r.FOUR, "sys_admin"))
        run.exits(0)
        h.check_output(h.Output(mine + "/out"))


def hidden_processes():
    """Where /proc hides other users' processes, the one capability that sees them stays while the job is read."""
    h.need_bulk("a capture without CAP_SYS_ADMIN needs")
    with h.scratch() as d:
        mine, _ = r.places(d)
        t = s.standin(*STEP, "--op-threads", 2, gate=False, user=r.OTHER).wait_attempts(2)
        before = ["unshare", "--mount", "sh", "-c", 'mount -t proc -o hidepid=2 proc /proc && exec "$@"', "sh"]
        if subprocess.run([*before, "true"], stderr=subprocess.DEVNULL).returncode:
            h.skip("a second /proc cannot be mounted here")
        run = r.Run(d, "-p", t.pid, "-o", mine + "/out", "--wait", 20, "--warmup", 2, "--active", 3, before=before).wait_attached()
        h.equal(r.capabilities(run.pid)[1], r.mask("sys_ptrace"), "capabilities while it waits")
        run.wait(120).exits(0)
        out = h.Output(mine + "/out")
        h.check_output(out)
        names = {e["args"]["name"] for e in out.trace["traceEvents"] if e["ph"] == "M" and e["name"] == "thread_name"}
        h.check(any("standin" in name for name in names), "names of threads: %s" % names)


def who_runs_it_may_not_look_into_it():
    """It holds what was another user's: neither by ptrace nor through /proc."""
    h.need_bulk("a capture without CAP_SYS_ADMIN needs")
    if r.is_sanitized():
        h.skip("a sanitized build looks into itself, and so is open to its user")
    with h.scratch() as d:
        mine, _ = r.places(d)
        t = s.standin(*STEP, gate=False, user=r.OTHER).wait_attempts(2)
        run = r.Run(d, "-p", t.pid, "-o", mine + "/out", "--wait", 1000000).wait_attached()
        for name in ("environ", "fd/", "map_files/"):
            done = r.without_capabilities(["ls" if name.endswith("/") else "cat", "/proc/%d/%s" % (run.pid, name)], r.USER)
            h.check(done.returncode and "denied" in done.stdout, "%s can be read, %d bytes" % (name, len(done.stdout)))
        run.signal(signal.SIGINT).wait().exits(3)


h.main(nothing_is_held_while_the_job_is_read, root_in_a_directory_of_another_user, children_hold_nothing, at_the_start_only_what_a_capture_may_need,
       one_by_one_they_stay_until_the_last_probe, four_capabilities, four_capabilities_and_pytorch, given_to_the_file, three_of_four,
       files_that_only_the_job_may_read, who_called_sudo_sees_what_root_sees, own_job, deleted_library, one_by_one, hidden_processes, who_runs_it_may_not_look_into_it)
