#!/usr/bin/env python3
"""Entry and exit sites over every at::_ops::*::call of each PyTorch at hand: all found but those known to have none."""
import os
import re
import subprocess

import harness as h

CHECK = os.path.join(h.BUILD, "tests", "check_sites")

JUMP_TABLES = {"item", "_local_scalar_dense"}
TWO_GUARDS = {"tril_", "eye_out", "randint_out", "set__source_Tensor_storage_offset"}

# release -> functions, functions without an exit site, how many sites are of each kind (the second opcode digit of jcc)
KNOWN = {
    "1.13": (2952, set(), {"branch-5": 2951, "jump": 1}),
    "2.4": (3118, set(), {"branch-4": 2902, "branch-c": 139, "branch-5": 74, "call": 3}),
    "2.13": (3101, JUMP_TABLES | TWO_GUARDS, {"branch-4": 3059, "branch-5": 36}),
    "2.14": (3103, JUMP_TABLES | TWO_GUARDS | {"triu_"}, {"branch-4": 3060, "branch-5": 36}),
}


def library_of(python):
    probe = "import torch, time; print(next(l.split()[-1] for l in open('/proc/self/maps') if '/libtorch_cpu.so' in l))"
    run = subprocess.run([python.path, "-c", probe], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=120)
    h.equal(run.returncode, 0, "exit code of the interpreter: %s" % run.stderr)
    return run.stdout.strip()


def check_sites(library):
    run = subprocess.run([CHECK, "-v", library], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=120)
    h.equal(run.returncode, 0, "exit code of check_sites: %s" % run.stderr)
    lines = run.stdout.splitlines()
    sums = re.search(r"^functions (\d+) entry-emulated (\d+) exit (\d+)$", run.stdout, re.M)
    h.check(sums, "no sums in the output: %s" % run.stdout[:200])
    functions, entries, exits = (int(n) for n in sums.groups())
    refused = {line.split()[1].rstrip(":") for line in lines if line.startswith("refused ")}
    kinds = {}
    for line in lines:
        words = line.split()
        if len(words) > 2 and words[0] != "refused" and words[1] == "exit":
            kinds[words[2]] = kinds.get(words[2], 0) + 1
    return functions, entries, exits, refused, kinds


def every_operator_has_its_sites(python):
    if not os.access(CHECK, os.X_OK):
        h.skip("build/tests/check_sites is not built")
    release = "%d.%d" % h.version(python)
    functions, entries, exits, refused, kinds = check_sites(library_of(python))
    h.equal(entries, functions, "operators whose entry is emulated")
    h.equal(exits + len(refused), functions, "operators with an exit site or a reason for none")
    if release not in KNOWN:
        h.check(exits >= 0.99 * functions, "exit sites: %d of %d operators" % (exits, functions))
        return
    h.equal((functions, refused, kinds), KNOWN[release], "operators, refused ones, kinds of exit sites of %s" % release)


h.main(every_operator_has_its_sites, torch=True, bpf=False)
