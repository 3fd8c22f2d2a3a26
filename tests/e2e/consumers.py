"""The readers of traces, each in an environment of its own, and the checkers of tests/consumers that run them."""
import json
import os
import subprocess

import harness as h

CONSUMERS = os.path.join(h.ROOT, "tests", "consumers")


def environment(name):
    if "TPBPF_TEST_BUILT" in os.environ:  # and no package index
        h.skip("%s is not on this machine" % name)
    made = subprocess.run([os.path.join(CONSUMERS, "setup.sh")], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    python = os.path.join(h.BUILD, "consumers", name, "bin", "python")
    if made.returncode == h.EXIT_SKIP:
        h.skip(made.stdout.strip().split("skip: ")[-1])
    h.check(made.returncode == 0, "tests/consumers/setup.sh: %s%s" % (made.stdout, made.stderr))
    return python


def checker(python, name, *args):
    run = subprocess.run([python, os.path.join(CONSUMERS, name), *args], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=300)
    h.check(run.returncode == 0, "%s exits %d:\n%s\n%s" % (name, run.returncode, run.stdout, run.stderr[-2000:]))
    return [json.loads(line) for line in run.stdout.splitlines()]
