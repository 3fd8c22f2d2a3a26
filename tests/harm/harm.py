#!/usr/bin/env python3
"""The harm suite: what targets do (rows, targets.py) against what tpbpf does (columns, actions.py); what must hold: cell.py.

    harm.py [--cells PATTERN] [--short] [--jobs N] [--list] [--sums]

PATTERN is a part of ROW/COLUMN, or several, with commas. The last line is
    harm: N cells, N failed, N skipped, N throws, N rounds
and the exit code 1 where a cell failed, or where a whole run threw or attached too rarely to show anything."""
import argparse
import multiprocessing
import os
import shutil
import signal
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(os.path.dirname(HERE), "e2e")]
sys.dont_write_bytecode = True

import harness as h
import standin_support as s

import actions
import cell
import targets

MIN_THROWS, MIN_ROUNDS = 1000000, 1000  # of a whole run
CELL_S, ROUNDS_S = 600, 1800


def chosen(opt):
    found, patterns = [], [p for p in (opt.cells or "").split(",") if p]
    for row in targets.ROWS:
        for action in actions.ACTIONS:
            name = "%s/%s" % (row.name, action.name)
            if actions.excluded(row, action):
                continue
            if opt.short and action.name not in actions.SHORT.get(row.name, ()):
                continue
            if patterns and not any(p in name for p in patterns):
                continue
            found.append((row, action))
    # the longest first, so that no slot waits for one of them in the end
    return sorted(found, key=lambda pair: pair[1].kind != "rounds")


def child(row, action, directory, seconds, pipe):
    os.setpgid(0, 0)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    pipe.send(tuple(cell.play(row, action, directory, seconds)))


class Slot:
    """One cell in a process of its own: what a cell leaves behind in ours would be the next one's."""

    def __init__(self, row, action, scratch):
        self.row, self.action = row, action
        self.directory = tempfile.mkdtemp(prefix="%s-%s-" % (row.name, action.name), dir=scratch)
        os.chmod(self.directory, 0o755)
        self.pipe, theirs = multiprocessing.Pipe(False)
        self.seconds = ROUNDS_S if action.kind == "rounds" else CELL_S
        self.begun = time.monotonic()
        self.process = multiprocessing.Process(target=child, args=(row, action, self.directory, self.seconds, theirs))
        self.process.start()
        theirs.close()

    def result(self):
        """None: not done yet."""
        why = None
        if self.pipe.poll():
            try:
                found = cell.Result(*self.pipe.recv())
                self.process.join()
                return found
            except EOFError:
                self.process.join()
                why = "the cell's process ended with %s" % self.process.exitcode
        elif time.monotonic() > self.begun + self.seconds + 120:
            self.process.kill()
            self.process.join()
            why = "the cell's process hung"
        if why:
            shutil.rmtree(self.directory, ignore_errors=True)
            return cell.Result(self.row.name, self.action.name, "FAIL", why, time.monotonic() - self.begun, 0, 0, 0)
        return None


def play_all(cells, jobs, scratch):
    waiting, running, results = list(cells), [], []
    try:
        while waiting or running:
            while waiting and len(running) < jobs:
                running.append(Slot(*waiting.pop(0), scratch))
            for slot in list(running):
                found = slot.result()
                if found:
                    running.remove(slot)
                    results.append(found)
                    report(found)
            time.sleep(0.02)
    finally:
        for slot in running:
            slot.process.terminate()
        for slot in running:
            slot.process.join()
    return results


def report(r):
    print("%-5s %-30s %6.1f s%s" % (r.state, "%s/%s" % (r.row, r.action), r.seconds, ": " + r.why if r.why else ""), flush=True)


MARKS = {"ok": "ok", "FAIL": "FAIL", "skip": "skip"}


def matrix(results, cells):
    """Rows and columns; '-' is a pair that makes no cell, '.' one that was not chosen."""
    found = {(r.row, r.action): MARKS[r.state] for r in results}
    rows = [r for r in targets.ROWS if any(c[0] is r for c in cells)]
    columns = [a for a in actions.ACTIONS if any(c[1] is a for c in cells)]
    width = max(len(r.name) for r in rows) + 1
    height = max(len(a.name) for a in columns)
    print()
    for i in range(height):  # names of columns, read downwards
        print(" " * width + "".join("%5s" % (a.name.rjust(height)[i],) for a in columns))
    for r in rows:
        marks = [found.get((r.name, a.name), "-" if actions.excluded(r, a) else ".") for a in columns]
        print("%-*s%s" % (width, r.name, "".join("%5s" % m for m in marks)))
    print()


def describe():
    print("rows: what the target does")
    for r in targets.ROWS:
        print("  %-13s %s" % (r.name, r.what))
    print("columns: what tpbpf does")
    for a in actions.ACTIONS:
        print("  %-13s %s" % (a.name, a.what))
    print("no cells:")
    for why in dict.fromkeys(why for _, why in actions.EXCLUSIONS):
        pairs = ["%s/%s" % (r.name, a.name) for r in targets.ROWS for a in actions.ACTIONS if actions.excluded(r, a) == why]
        print("  %d: %s (%s)" % (len(pairs), why, ", ".join(pairs[:3]) + (", ..." if len(pairs) > 3 else "")))


def close(opt, cells, results, seconds):
    failed = [r for r in results if r.state == "FAIL"]
    skipped = [r for r in results if r.state == "skip"]
    throws, rounds = sum(r.throws for r in results), sum(r.rounds for r in results)
    killed = [r.restored_ms for r in results if r.action.startswith(("kill", "oomkill", "rounds"))]
    matrix(results, cells)
    for r in failed + skipped:
        print("%s: %s/%s: %s" % (r.state, r.row, r.action, r.why.split("\n")[0]))
    is_whole = not opt.cells and not opt.short
    short = is_whole and not skipped and (throws < MIN_THROWS or rounds < MIN_ROUNDS)
    if short:
        print("too few to show anything: %d throws of %d, %d rounds of %d" % (throws, MIN_THROWS, rounds, MIN_ROUNDS))
    print("%d s, %d cells at a time%s" % (seconds, opt.jobs, "; the original code was back at the latest %d ms after a tpbpf was killed" % max(killed)
                                         if killed else ""))
    if opt.sums:
        print("%d passed, %d failed, %d skipped" % (len(results) - len(failed) - len(skipped), len(failed) + short, len(skipped)))
    print("harm: %d cells, %d failed, %d skipped, %d throws, %d rounds" % (len(results), len(failed), len(skipped), throws, rounds))
    return 1 if failed or short or not results else 0


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--cells", help="those whose ROW/COLUMN holds this")
    p.add_argument("--short", action="store_true", help="a selection of about two minutes")
    p.add_argument("--jobs", type=int, default=2, help="cells at a time (2)")
    p.add_argument("--list", action="store_true", help="say what there is and run nothing")
    p.add_argument("--sums", action="store_true", help="also the line that tests/run.sh adds up")
    opt = p.parse_args()
    if opt.list:
        describe()
        return 0
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    cells, begun = chosen(opt), time.monotonic()
    try:
        h.need_capture()
        s.built()
    except h.Skip as skip:
        print("skip  the harm suite: %s" % skip)
        if opt.sums:
            print("0 passed, 0 failed, %d skipped" % len(cells))
        print("harm: %d cells, 0 failed, %d skipped, 0 throws, 0 rounds" % (len(cells), len(cells)))
        return 0
    scratch = tempfile.mkdtemp(prefix="tpbpf-harm-")
    os.chmod(scratch, 0o755)
    os.environ["TPBPF_HARM_REFERENCES"] = scratch
    try:
        results = play_all(cells, opt.jobs, scratch)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    return close(opt, cells, results, time.monotonic() - begun)


if __name__ == "__main__":
    sys.exit(main())
