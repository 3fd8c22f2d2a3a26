"""One cell of the matrix: a target, a tpbpf, and what must hold when it is over:
1. what the target computed is what it computes when nobody looks;
2. the probed bytes are the original ones, of its children too;
3. no process, descriptor, link, program or map is left;
4. outputs and exit code say what happened."""
import collections
import contextlib
import json
import os
import random
import resource
import shutil
import signal
import subprocess
import sys
import time
import traceback
from unittest import mock

import harness as h
import standin_support as s

import actions
import kernel
import targets

LONG_US = 150000  # attempts so long that a phase of one of them can be acted in
LONG = ("learn", "after")
TRIES = 4
ROUNDS, TORCH_ROUNDS = 40, 12
ROUNDS_US = 15000
LOOKS, LOOK_S = 100, 0.01  # a second, and longer on a machine so busy that we come to look late: then the original code must be back
FREED_S = 20.0  # the kernel frees programs and maps when all CPUs have been elsewhere
FOREVER = 1000000
PATIENCE_S = targets.PATIENCE_S

Result = collections.namedtuple("Result", "row action state why seconds throws rounds restored_ms")

PLANS = {
    "watch": {
        "wait": ("--wait", 100, "--warmup", 2, "--active", 3),
        "learn": ("--wait", 1, "--warmup", 2, "--active", 3),
        "warmup": ("--wait", 2, "--warmup", 60, "--active", 3),
        "active": ("--wait", 2, "--warmup", 1, "--active", 20),
        "after": ("--wait", 1, "--warmup", 1, "--active", 2),
    },
    "end": {
        "wait": ("--wait", FOREVER, "--warmup", 1, "--active", 1),
        "learn": ("--wait", 1, "--warmup", FOREVER, "--active", 1),
        "warmup": ("--wait", 1, "--warmup", FOREVER, "--active", 1),
        "active": ("--wait", 1, "--warmup", 1, "--active", FOREVER),
        "after": ("--wait", 1, "--warmup", 1, "--active", 2),
    },
}
QUIET = ("--wait", 2, "--warmup", 4, "--active", 5)  # of what does the same all the time


class Missed(Exception):
    """The moment had passed before anything could be done in it."""


class Cell:
    def __init__(self, row, action, directory, step_us):
        self.row, self.action, self.directory, self.step_us = row, action, directory, step_us
        self.target = self.run = self.footprint = None
        self.out_path = directory + "/out"
        self.rounds, self.restored_ms = 0, 0

    # ---- beginning

    def start(self):
        self.target = targets.start(self.row, self.directory, self.step_us)
        self.target.wait_more(2)
        self.before = kernel.descriptors(self.target.watched_pid)

    def tpbpf(self, *args, prefix=(), out=None):
        """Its options are those under which everything is probed."""
        self.footprint = kernel.Footprint()
        self.run = h.Run("-p", self.target.watched_pid, "-v", "-o", out or self.out_path, *args, *s.ALL, "--with-modules", *self.row.options, prefix=prefix,
                         env=self.footprint.environment)
        self.rounds += 1
        return self.run

    def acts(self):
        return actions.acts(self.row)

    def plan(self):
        if self.action.kind == "nomem":
            return ("--wait", 20, "--warmup", 1, "--active", FOREVER)
        if self.action.kind in ("int", "term", "kill", "oomkill"):
            return PLANS["end"][self.action.phase]
        return PLANS["watch"][self.action.phase] if self.acts() else QUIET

    def reach(self, phase):
        """Returns when tpbpf is in this phase; check_phase() says whether it still is."""
        run, target = self.run, self.target
        if phase == "wait":
            self.wait_word("tpbpf: attached to ")
            target.wait_more(2)
        elif phase == "learn":
            self.wait_word("window probes attached")
        elif phase == "after":
            self.wait_word("window probes detached")
        else:
            self.wait_word("warmup counts")
            target.wait_more(2 if phase == "warmup" else 4)
        self.check_phase(phase)

    def wait_word(self, word):
        h.until(lambda: word in self.run.err or not self.run.running() or not self.target.alive(), "%r on stderr of tpbpf" % word,
                PATIENCE_S, 0.001)
        h.check(word in self.run.err, "tpbpf (%s) or the target (%s) ended without %r: %s"
                % (self.run.process.poll(), self.target.process.poll(), word, self.run.err))

    OVER = {"wait": "window probes attached", "learn": "modes decided", "warmup": "window probes detached", "active": "window probes detached"}

    def check_phase(self, phase):
        if self.OVER.get(phase, "\0") in self.run.err:
            raise Missed("%s was over" % phase)
        h.check(self.run.running() or phase == "after", "tpbpf ended (%s): %s" % (self.run.process.poll(), self.run.err))

    # ---- the four checks

    def pids(self):
        """The target and its children, those that live."""
        found = [self.target.watched_pid] if self.target.alive() else []
        return found + [pid for pid in self.target.children() if targets.alive(pid)]

    def check_probed(self):
        probed = h.modified_code_bytes(self.target.watched_pid)
        if not probed and self.action.phase == "after":
            raise Missed("after was over")
        h.check(probed, "no probe is in the target: this cell shows nothing")

    def soon(self, what_is_left):
        """Waits until it says that nothing is."""
        for _ in range(LOOKS):
            left = what_is_left()
            if not left:
                return
            time.sleep(LOOK_S)
        raise h.Failure("still there after a second: %s" % left)

    def changed_code(self):
        for pid in self.pids():
            with contextlib.suppress(FileNotFoundError, ProcessLookupError):  # it ended meanwhile
                changed = h.modified_code_bytes(pid)
                if changed:
                    return "breakpoints in process %d: %s" % (pid, changed)
        return ""

    def check_restored(self):
        begun = time.monotonic()
        self.soon(self.changed_code)
        self.restored_ms = max(self.restored_ms, int(1000 * (time.monotonic() - begun)))

    def check_nothing_left(self):
        """Processes and links are gone with tpbpf, or soon after; the kernel takes its time for programs and maps."""
        pid = self.target.watched_pid
        self.soon(lambda: self.footprint.busy(pid))
        h.until(lambda: not self.footprint.left(pid), "the kernel has freed programs and maps", FREED_S)
        if self.target.alive() and self.row.status is None:
            h.equal(kernel.descriptors(pid), self.before, "what the target has open")

    def check_target(self):
        """It lives, goes on with its own code, and has computed what it should."""
        row, target = self.row, self.target
        if row.status in (None, "exec"):
            target.wait_more(2)
            h.check(target.alive(), "the target ended with %s: %s" % (target.process.poll(), target.errors()))
        else:
            h.equal(target.process.wait(PATIENCE_S), row.status, "the target's own end")
        h.equal(self.changed_code(), "", "the code of the target and its children, later")
        targets.stop(row, target, self.directory)
        targets.is_as_alone(row, target)

    # ---- the outputs

    def unordered(self):
        """Calls that an exception left at once last no time: who lay in whom cannot be told by it (tests/e2e/51)."""
        return mock.patch.object(h, "check_tables") if self.row.throws else contextlib.nullcontext()

    def output(self, state, reason):
        out = h.Output(self.out_path)
        if out.profile["loss"].get("ring_full"):  # that it is counted and said is asked elsewhere (tests/e2e/26); here all of it is needed
            h.check(self.run.code == 3 and "LOST" in self.run.out, "events were lost, and nobody says so")
            raise Missed("events were lost")
        with self.unordered():
            h.check_output(out, state, reason)
        return out

    def check_complete(self):
        out = self.output("complete", "window_finished")
        self.run.exits(0)
        if self.row.torch:
            h.match_attempts(out, self.target)
            return
        truth = s.active_truth(out, self.target, first=None)
        h.check(truth, "no active attempts")
        calls = s.Calls(truth, self.row.flavour)
        s.check_counts(out, truth)
        s.check_calls(out, calls, exact="--exact" in self.row.options, nesting=not self.row.throws)
        if not self.row.throws:
            s.check_bytes(out, calls)

    def check_partial(self, reasons):
        """What is there is what the whole attempts did, and at most what the next one would have done besides."""
        with open(self.out_path + "/profile.json") as f:
            reason = json.load(f)["window"]["stop_reason"]
        h.check(reason in reasons, "stop reason %s, want one of %s" % (reason, reasons))
        out = self.output("partial", reason)
        if self.row.torch:
            h.match_attempts(out, self.target)
            return
        truth = s.active_truth(out, self.target, first=None)
        h.check(truth, "no active attempts")
        after = [r for r in self.target.attempts() if r["attempt"] == truth[-1]["attempt"] + 1] or truth[-1:]
        least, more = s.Calls(truth, self.row.flavour).counts(), s.Calls(after, self.row.flavour).counts()
        self.bounds(collections.Counter(e["name"] for e in out.events if s.is_call(e)), least, more, "calls")
        got = s.without_steps(collections.Counter(e["name"] for e in out.events if not s.is_call(e)))
        self.bounds(got, s.begun(truth), s.begun(after), "ranges")

    def bounds(self, got, least, more, what):
        deed = targets.IN_THE_DEED if self.row.deed else {}
        odd = ["%s: %d, by the target %d to %d" % (k, got.get(k, 0), least.get(k, 0), least.get(k, 0) + more.get(k, 0) + deed.get(k, 0))
               for k in sorted(set(got) | set(least))
               if not least.get(k, 0) <= got.get(k, 0) <= least.get(k, 0) + more.get(k, 0) + deed.get(k, 0)]
        h.check(not odd, "%s: %s" % (what, "; ".join(odd)))

    def check_no_capture(self, reasons, phases):
        with open(self.out_path + "/profile.json") as f:
            reason = json.load(f)["window"]["stop_reason"]
        h.check(reason in reasons, "stop reason %s, want one of %s" % (reason, reasons))
        out = self.output("no_capture", reason)
        h.check({x.phase for x in out.steps} <= set(phases), "phases %s" % {x.phase for x in out.steps})

    def check_killed(self):
        with open(self.out_path + "/profile.json") as f:
            h.equal(json.load(f)["window"]["state"], "pending", "state in what is left of the capture")
        h.check(not os.path.exists(self.out_path + "/trace.json.gz") or self.action.phase == "after", "a trace of a killed capture")

    # ---- what ends it

    def expect(self, phase, reasons):
        """Exit code and outputs of a tpbpf that was ended, or whose target ended, in this phase."""
        if phase == "after":
            self.check_complete()
        else:
            self.run.exits(3)
            if phase == "active":
                self.check_partial(reasons)
            else:
                self.check_no_capture(reasons, ("wait",) if phase == "wait" else ("wait", "warmup"))

    def own_reason(self):
        return {"exec": "target_exec"}.get(self.row.status, "target_exited")

    def do_deed(self):
        if self.acts():
            targets.do(self.row, self.target, self.directory)

    def watch(self):
        """One window to its end, with the deed in the middle of it."""
        self.tpbpf(*self.plan())
        if self.acts():
            self.reach(self.action.phase)
            self.footprint.look()
            self.do_deed()
            if self.row.status is None:
                self.check_phase(self.action.phase)
            if self.row.deed == "stop":
                time.sleep(0.2)
                targets.undo(self.row, self.target)
        else:
            self.wait_word("modes decided")
            self.footprint.look()
        self.run.wait(PATIENCE_S)
        self.check_restored()
        if self.row.status is None:
            finish = self.check_complete
        else:
            finish = lambda: self.expect(self.action.phase, (self.own_reason(),))
        self.check_nothing_left()
        self.check_target()
        finish()

    def ended(self):
        """Stopped by a signal, at the same moment as the deed if the target ends by it, else after it."""
        number = {"int": signal.SIGINT, "term": signal.SIGTERM, "kill": signal.SIGKILL}[self.action.kind]
        is_race = self.row.status is not None
        self.tpbpf(*self.plan())
        self.reach(self.action.phase)
        self.footprint.look()
        self.do_deed()
        if is_race:
            time.sleep(random.random() * 0.004)
        else:
            self.check_phase(self.action.phase)
            self.check_probed()
        if self.run.running():
            self.run.signal(number)
        self.run.wait(PATIENCE_S)
        self.check_restored()
        if self.action.kind == "kill":
            self.check_nothing_left()
            targets.undo(self.row, self.target)
            self.check_target()
            if self.run.code != -signal.SIGKILL and is_race:  # the target was sooner
                self.expect(self.action.phase, (self.own_reason(),))
                return
            if self.run.code == 0 and self.action.phase == "after":
                raise Missed("tpbpf was through before the signal")
            self.run.exits(-signal.SIGKILL)
            self.check_killed()
            return
        self.check_nothing_left()
        targets.undo(self.row, self.target)
        self.check_target()
        self.expect(self.action.phase, ("interrupted", self.own_reason()) if is_race else ("interrupted",))

    def out_of_memory(self):
        self.tpbpf(*self.plan())
        self.reach(self.action.phase)
        self.footprint.look()
        self.do_deed()
        with open("/proc/%d/statm" % self.run.pid) as f:
            size = int(f.read().split()[0]) * resource.getpagesize()
        resource.prlimit(self.run.pid, resource.RLIMIT_AS, (size, size))
        targets.undo(self.row, self.target)
        self.run.wait(PATIENCE_S)
        self.check_restored()
        self.check_nothing_left()
        self.check_target()
        self.run.exits(1)
        h.check("allocate memory" in self.run.err, "the reason is not said: %s" % self.run.err)
        h.check(not os.path.exists(self.out_path), "exit code 1, and files: %s" % (os.path.exists(self.out_path) and os.listdir(self.out_path)))

    def killed_by_cgroup(self):
        group = Cgroup("tpbpf-harm-%d-%d" % (os.getpid(), time.monotonic_ns()))
        try:
            self.tpbpf(*self.plan())
            self.reach(self.action.phase)
            self.footprint.look()
            self.do_deed()
            targets.undo(self.row, self.target)
            group.put(self.run.pid, 1 << 20)
            self.run.wait(PATIENCE_S)
            self.check_restored()
            self.check_nothing_left()
        finally:
            group.remove()
        self.check_target()
        self.run.exits(-signal.SIGKILL)
        self.check_killed()

    def no_room(self):
        """Room for what is set aside and for a first profile.json, and not for a trace."""
        small = self.directory + "/small"
        os.mkdir(small)
        made = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=148k", "tmpfs", small], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              text=True)
        if made.returncode:
            h.skip("mount is not permitted here: %s" % made.stdout.strip())
        try:
            self.out_path = small + "/out"
            self.window_with_deed(moment="warmup")
            self.check_target()
            with open(self.out_path + "/profile.json") as f:
                window = json.load(f)["window"]
            if window["state"] == "no_capture" and actions.ends(self.row):
                raise Missed("the target ended before there was anything to write")
            self.run.exits(3)
            h.check("space" in (self.run.err + self.run.out).lower(), "the reason is not said: %s%s" % (self.run.out, self.run.err))
            h.equal((window["state"], window["stop_reason"]), ("partial", "output_error"), "state")
            left = [f for _, _, fs in os.walk(self.out_path) for f in fs if f.endswith((".tmp", "~")) or f.startswith(".")]
            h.equal(left, [], "temporary files left")
        finally:
            subprocess.run(["umount", "-l", small], check=True)

    def window_with_deed(self, prefix=(), moment="active"):
        self.tpbpf(*self.plan(), prefix=prefix)
        if self.acts():
            if moment == "warmup":
                self.wait_word("warmup counts")
            else:
                self.reach(moment)
            self.footprint.look()
            self.do_deed()
            targets.undo(self.row, self.target)
        else:
            self.wait_word("modes decided")
            self.footprint.look()
        self.run.wait(PATIENCE_S)
        self.check_restored()
        self.check_nothing_left()

    def no_stdout(self):
        self.window_with_deed(prefix=("sh", "-c", 'exec "$@" <&- >&-', "sh"))
        self.check_target()
        h.equal(self.run.out, "", "stdout")
        if self.row.status is None:
            self.check_complete()
        else:
            self.expect("active", (self.own_reason(),))

    def two_at_once(self):
        first = self.tpbpf(*self.plan())
        footprint = self.footprint
        if self.acts():
            self.reach("active")
            footprint.look()
            self.do_deed()
        else:
            self.wait_word("tpbpf: attached to ")
        refused = 0
        while first.running() and not (refused and self.row.deed == "stop"):
            second = h.Run("-p", self.target.watched_pid, "-o", self.directory + "/second", env=footprint.environment).wait(PATIENCE_S)
            if first.running():
                second.exits(5)
                h.check("another tpbpf" in second.err and not second.out, "what it says: %r %r" % (second.out, second.err))
                h.check(not os.path.exists(self.directory + "/second"), "the refused capture left files")
                refused += 1
            elif second.code != 5:  # the first was just over
                shutil.rmtree(self.directory + "/second", ignore_errors=True)
        h.check(refused, "no second tpbpf was refused while the first one ran")
        targets.undo(self.row, self.target)
        self.run, self.footprint = first, footprint
        first.wait(PATIENCE_S)
        self.check_restored()
        self.check_nothing_left()
        self.check_target()
        self.check_complete()

    # ---- many rounds

    def many_rounds(self):
        """Each is ended in another way; the deed is done in the middle of one."""
        n = TORCH_ROUNDS if self.row.torch else ROUNDS
        for i in range(n):
            self.out_path = "%s/out%d" % (self.directory, i)
            if i == n // 2:
                self.deed_between(i)
            else:
                self.one_round(i)
            shutil.rmtree(self.out_path, ignore_errors=True)
        self.check_nothing_left()
        self.check_target()

    def deed_between(self, i):
        self.tpbpf(*PLANS["end"]["wait"])
        self.wait_word("tpbpf: attached to ")
        self.do_deed()
        targets.undo(self.row, self.target)
        self.run.signal(signal.SIGINT).wait(PATIENCE_S).exits(3)
        self.check_restored()

    def one_round(self, i):
        how = i % 4
        if how == 0:
            self.tpbpf("--wait", 1, "--warmup", 1, "--active", 1).wait(PATIENCE_S).exits(0)
            self.output("complete", "window_finished")
        elif how == 1:
            self.tpbpf(*PLANS["end"]["wait"])
            self.wait_word("tpbpf: attached to ")
            self.run.signal(signal.SIGINT).wait(PATIENCE_S).exits(3)
            self.output("no_capture", "interrupted")
        elif how == 2:
            self.tpbpf(*PLANS["end"]["learn"])
            self.wait_word("window probes attached")
            self.footprint.look()
            self.run.signal(signal.SIGTERM).wait(PATIENCE_S).exits(3)
            self.output("no_capture", "interrupted")
        else:  # at whatever moment
            self.tpbpf(*PLANS["end"]["active"])
            self.wait_word("tpbpf: attached to ")
            time.sleep(random.random() * 0.3)
            self.footprint.look()
            self.run.signal(signal.SIGKILL).wait(PATIENCE_S).exits(-signal.SIGKILL)
        self.check_restored()
        self.soon(lambda: self.footprint.busy(self.target.watched_pid))

    KINDS = {"watch": watch, "int": ended, "term": ended, "kill": ended, "nomem": out_of_memory, "oomkill": killed_by_cgroup, "full": no_room,
             "nostdout": no_stdout, "two": two_at_once, "rounds": many_rounds}

    def go(self):
        self.start()
        self.KINDS[self.action.kind](self)


class Cgroup:
    """Of the first version or the second, whichever holds the memory controller here."""

    def __init__(self, name):
        for base, limit in (("/sys/fs/cgroup/memory", "memory.limit_in_bytes"), ("/sys/fs/cgroup", "memory.max")):
            self.path, self.limit = os.path.join(base, name), limit
            try:
                os.mkdir(self.path)
            except OSError:
                continue
            if os.path.exists(os.path.join(self.path, limit)):
                return
            os.rmdir(self.path)
        h.skip("no cgroup with a memory limit can be made here")

    def put(self, pid, limit_bytes):
        for name, value in ((self.limit, limit_bytes), ("cgroup.procs", pid)):
            with open(os.path.join(self.path, name), "w") as f:
                f.write(str(value))

    def remove(self):
        with contextlib.suppress(h.Failure):
            h.until(self.removed, "the cgroup is empty", 5)

    def removed(self):
        with contextlib.suppress(OSError):
            os.rmdir(self.path)
        return not os.path.exists(self.path)


# ---- all of it, with what may go wrong -------------------------------------------------------------------------------


def on_alarm(*_):
    raise h.Failure("the cell is not done within its time")


def words_of(error):
    if isinstance(error, h.Failure):
        return str(error)
    return repr(error)


def play(row, action, directory, seconds):
    """Runs one cell. A moment that passed too soon (a busy machine) is tried again with longer attempts."""
    begun = time.monotonic()
    state, why, cell = "ok", "", None
    throws = rounds = restored = 0
    is_long = action.phase in LONG and (action.kind != "watch" or actions.acts(row))
    step_us = LONG_US if is_long else max(row.step_us, ROUNDS_US) if action.kind == "rounds" else row.step_us
    signal.signal(signal.SIGALRM, on_alarm)
    signal.alarm(seconds)
    try:
        for n in range(TRIES):
            here = os.path.join(directory, str(n))
            os.mkdir(here)
            cell = Cell(row, action, here, step_us << n)
            try:
                cell.go()
                break
            except Missed as missed:
                if n == TRIES - 1:
                    raise h.Failure("the moment was missed %d times: %s" % (TRIES, missed)) from None
            finally:
                if cell.target:
                    throws += thrown(row, cell.target)
                rounds += cell.rounds
                restored = max(restored, cell.restored_ms)
                if isinstance(sys.exc_info()[1], Missed):
                    h.clean_up()
    except h.Skip as skip:
        state, why = "skip", str(skip)
    except Exception as e:
        state, why = "FAIL", words_of(e)
        why += details(cell, e)
    finally:
        signal.alarm(0)
        h.clean_up()
        shutil.rmtree(directory, ignore_errors=True)
    return Result(row.name, action.name, state, why, time.monotonic() - begun, throws, rounds, restored)


def thrown(row, target):
    try:
        if row.torch:
            return targets.TORCH_ERRORS * target.count() if row.torch == "retry" else 0
        return target.thrown()
    except Exception:
        return 0


def details(cell, error):
    lines = ["  at %s:%d: %s" % (os.path.basename(f.filename), f.lineno, f.line) for f in traceback.extract_tb(error.__traceback__)]
    if cell and cell.target and not cell.target.alive():
        lines.append("  the target ended with %s: %s" % (cell.target.process.poll(), cell.target.errors()))
    if cell and cell.run:
        lines.append("  $ %s -> %s" % (" ".join(cell.run.argv), cell.run.process.poll()))
        lines += ["  | " + line for line in (cell.run.out[-1500:] + cell.run.err[-1500:]).splitlines()]
    return "\n" + "\n".join(lines)
