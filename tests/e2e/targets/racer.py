#!/usr/bin/env python3
"""Owns the directory in which somebody else writes, and changes it under their hands: racer.py DIRECTORY NAME VICTIM SECONDS ONLY.

Whatever appears in DIRECTORY/NAME is taken away, or replaced by a link to VICTIM/file or VICTIM, by a second name of a file of its own, by a pipe;
and DIRECTORY/NAME itself by a link to VICTIM. ONLY other than "all": nothing but DIRECTORY/NAME/ONLY is, for moments. Prints how often it did each, as JSON, at SIGTERM.
"""
import collections
import contextlib
import json
import os
import random
import signal
import sys
import time

directory, name, victim, seconds, only = *sys.argv[1:4], float(sys.argv[4]), sys.argv[5]
out = os.path.join(directory, name)
done = collections.Counter()
random.seed(os.getpid())


def replace(path):
    kind = random.choice(("link", "directory link", "second name", "pipe", "gone", "moved away"))
    aside = os.path.join(directory, "aside-%d" % random.getrandbits(48))
    os.rename(path, aside)
    if kind == "link":
        os.symlink(os.path.join(victim, "file"), path)
    elif kind == "directory link":
        os.symlink(victim, path)
    elif kind == "second name":
        with open(aside + "-own", "w") as f:
            f.write("not of tpbpf")
        os.link(aside + "-own", path)
    elif kind == "pipe":
        os.mkfifo(path)
    elif kind == "moved away":
        os.mkdir(path)
    done[kind] += 1


def swap(path, target):
    """For a moment the name means something of the victim's."""
    aside = path + ".aside"  # beside it: a directory of another user cannot be moved to another one
    os.rename(path, aside)
    os.symlink(target, path)
    time.sleep(random.random() / 100)
    os.unlink(path)
    os.rename(aside, path)
    done["swap " + os.path.basename(path)] += 1


def change():
    if only != "all":
        path = os.path.join(out, only)
        swap(path, victim if os.path.isdir(path) else os.path.join(victim, "file"))
        return
    entries = os.listdir(out)
    if random.random() < 0.3:
        swap(out, victim)
    elif entries and random.random() < 0.5:
        replace(os.path.join(out, random.choice(entries)))


stopped = []
signal.signal(signal.SIGTERM, lambda *_: stopped.append(1))
print("ready", flush=True)
end = time.monotonic() + seconds
while time.monotonic() < end and not stopped:
    with contextlib.suppress(OSError):
        change()
    with contextlib.suppress(OSError):  # before it is made
        if only == "all" and random.random() < 0.02 and not os.path.lexists(out):
            os.symlink(victim, out)
            time.sleep(0.002)
            os.unlink(out)
            done["before"] += 1
    time.sleep(random.random() / 1000)
print(json.dumps(done), flush=True)
